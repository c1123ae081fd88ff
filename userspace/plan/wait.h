/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work of a volume's groups in the background, and the wait for its end.
 *
 *     kernel --> struct plan_work --> plan_wait(), each time that it may have changed --> DONE
 *                                           '--> what is waited for, and how far that is
 */
#ifndef PLAN_WAIT_H
#define PLAN_WAIT_H

#include "userspace/plan/objects.h"

#define PLAN_STUCK_MS	120000	/* a slow member takes that long for a region of a GiB */

/* The worst of all groups. */
enum plan_health {
	PLAN_UNSEEN,		/* the kernel has no groups of the volume, or not yet */
	PLAN_WHOLE,
	PLAN_REBUILDING,	/* members that lack data are being given it */
	PLAN_DEGRADED,		/* members are out */
	PLAN_DOWN,		/* a group does not serve */
};

/* Of all groups together. */
struct plan_work {
	u8	health;			/* enum plan_health */
	u64	behind;			/* bytes that members are to be given */
	u64	copied, copies;		/* bytes of members that leave; 0 of 0: none does */
	bool	scrubs;
	u64	scrubbed, bytes;	/* of the scrub that runs, or of the last one */
	/* A place that a member lacks, and that no other one can read; 0 bytes: there is none. */
	u32	unread_member, unread_bytes;
	u64	unread_at;
	char	why[128];		/* of the group that @health is of; may be empty */
};

enum plan_wait_for {
	PLAN_WAIT_DONE,
	PLAN_WAIT_GROUPS,	/* members that are away, or a group that does not serve */
	PLAN_WAIT_REBUILD,
	PLAN_WAIT_COPY,
	PLAN_WAIT_SCRUB,
	PLAN_WAIT_STUCK,	/* it does not go on: the place is unread */
};

/* One wait; zero at its begin. */
struct plan_wait {
	u64	most;		/* bytes that were behind, at most */
	u64	behind;		/* bytes that are ... */
	u64	since_ms;	/* ... since then, while a place is unread */
	u64	done, total;	/* of the last answer; 0 of 0: not known */
};

/**
 * plan_wait() - what is waited for now
 * @groups: the volume's layout has redundancy
 */
enum plan_wait_for plan_wait(struct plan_wait *w, const struct plan_work *k, bool groups, u64 now_ms);

#endif
