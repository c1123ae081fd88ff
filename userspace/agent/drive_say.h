/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * status/H/D of this host's drives: what drive/D and device/H do not say. Nothing is decided from it.
 *
 *   "away"   the drive does not answer; or the kernel has it from the daemon before this one, which
 *            has not taken it up
 *   no key   else
 */
#ifndef AGENT_DRIVE_SAY_H
#define AGENT_DRIVE_SAY_H

#include "userspace/agent/copy.h"

struct drive_say {
	struct copy *copy;	/* follows drive/ and status/ */
	struct muuid host;
	/* 1: the drive hangs, or the kernel alone has it: a sentence in @words; 0. Does not wait. */
	int	(*left)(void *m, const struct muuid *drive, char *words, size_t size);
	void	*machine;
	u64	now_ms;		/* since 1970 */
	u64	said_ms;	/* the agent's own: its last turn */
};

/* Once a second. Return: number of transactions made; negative: the store's error. */
int drive_say_turn(struct drive_say *a);

#endif
