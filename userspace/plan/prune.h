/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has ended is kept for a while: tasks by the controller, events by the host that wrote them.
 *
 *      oldest | .. older than @age .. | ... | the @most latest ones |
 *             '------ go -------------'
 *             '------ go: above @most ------'
 */
#ifndef PLAN_PRUNE_H
#define PLAN_PRUNE_H

#include <linux/types.h>

#define PLAN_KEPT_MOST	1000
#define PLAN_TASK_AGE	(7 * 86400)	/* seconds since a task has ended */

struct plan_past {
	u64	at;		/* since when it is past; any unit */
	u32	index;		/* the caller's */
};

/**
 * plan_prune() - how much goes
 * @p: the oldest first
 * @age: in units of @now; 0: no age is too much
 *
 * A time that is ahead of @now, as after a clock was set back, is no age at all.
 * Return: that many of the first ones go.
 */
u32 plan_prune(const struct plan_past *p, u32 n, u64 now, u64 age, u32 most);

#endif
