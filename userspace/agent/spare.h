/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller replaces lost members by spares: it requests tasks "volume replace".
 *
 *   alive/H, device/H, host/H  -->  since when each member's drive is away (in memory)
 *   volume/V, access/V, roster/V --> plan_spare() --> task/T: replace, which counts the spare; event/H/S
 *
 * A controller that begins to lead counts from then on: a spare comes later, never too early.
 */
#ifndef AGENT_SPARE_H
#define AGENT_SPARE_H

#include "userspace/agent/tasks.h"

#define SPARE_DELAY	600	/* seconds, unless the cluster's settings have "spare_delay" */

struct spare_watch;

struct spares {
	struct tasks *tasks;	/* its copy follows device/, too */
	/* The event of a request, which is in the store; NULL: reported there alone. */
	void	(*report)(void *priv, const struct obj_event *e);
	void	*priv;
	struct spare_watch *watch;	/* of this file, as the next one */
	u32	watches;
};

/**
 * spares_turn() - request at most one replacement for each volume
 * @now_ms: CLOCK_MONOTONIC
 *
 * Return: number of tasks that were requested; 0; negative: the store's error.
 */
int spares_turn(struct spares *s, u64 now_ms);
/* Seconds that a drive is away before a spare takes its place. NULL: the usual one. */
u64 spare_delay(const struct obj_cluster *c);
/* Forget what was seen: to be called when this host does not lead, and at the end. */
void spares_end(struct spares *s);

#endif
