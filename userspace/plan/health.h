/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of an attached volume with redundancy, as events:
 *
 *              a member more is out                  too few are left
 *   whole ------------------------------> degraded ------------------> down
 *     ^                                    |    ^                       |
 *     |  all in sync     one gets data     |    '-- enough are back ----'
 *     '------------- rebuilding <----------'
 *
 * A volume that is first seen counts as whole: what it lacks is reported once after each start of the
 * daemon. A group that is being attached is not judged yet.
 *
 * The kernel stops a group only when I/O has waited for long, and begins to attach it again at once.
 * So a group is down by how long it has not served: too few of its members answer, or it is attached.
 */
#ifndef PLAN_HEALTH_H
#define PLAN_HEALTH_H

#include "userspace/plan/wait.h"

#define PLAN_DOWN_MS	10000	/* a link that pauses, or another layout, takes less */
#define PLAN_FIRST_MS	60000	/* the first attach may wait for members */

/* Bits: events of one pass, in the order in which they are reported. */
enum plan_event {
	PLAN_EV_DEGRADED	= 1 << 0,	/* of each member that is out and was not reported */
	PLAN_EV_DOWN		= 1 << 1,	/* what lacks then is reported again when it serves */
	PLAN_EV_REBUILDING	= 1 << 2,
	PLAN_EV_HEALED		= 1 << 3,
	PLAN_EV_MISMATCHES	= 1 << 4,	/* a scrub ended and had found some */
	PLAN_EV_EVICT		= 1 << 5,	/* a copy of a member ended before it was whole */
};

/* What one pass over the kernel's answer sees. */
struct plan_health_now {
	u64	ms;		/* CLOCK_MONOTONIC, never 0 */
	u32	groups;		/* that it has */
	u32	stuck;		/* the first one that does not serve, one that waits before others; @groups: none */
	bool	waits;		/* the kernel has stopped that one */
	bool	known;		/* the roles of all members are: none is attached now */
	bool	named;		/* so are their names: the layout of the kernel's version is at hand */
	bool	sound;		/* all members are in sync */
	bool	out;		/* a member is out that was not reported */
	bool	joins;		/* a member is given data */
	bool	scrubs;
	u64	mismatches;	/* of all groups, of the scrub that goes on or was last */
	bool	evicts;		/* a member is copied to the one that follows it */
	u64	evict_why;	/* checksum of the reason for which a copy ended; 0: none */
};

/* What was seen and reported before; zero: nothing. */
struct plan_health_was {
	u8	health;		/* enum plan_health, as it was reported last; UNSEEN: whole */
	bool	seen;		/* in a pass before */
	bool	joining;
	bool	scrubs;
	u32	served;		/* groups that did; those behind them are attached to begin with */
	u64	stuck_ms;	/* since when a group does not serve; 0: all do */
	u64	fell_ms;	/* ... of those that did */
	u64	mismatches;
	u64	evict_why;	/* that was reported */
};

/* Return: bits of enum plan_event; @was becomes what is now. */
u32 plan_health(struct plan_health_was *was, const struct plan_health_now *now);

#endif
