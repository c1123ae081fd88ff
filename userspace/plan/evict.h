/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A holder's kernel carries out the evictions of a version that it does not have yet.
 *
 *     the version names copy S, and member L as leaving            change.h
 *                |
 *     the kernel has L at the place:
 *         L in sync, copied to no extent        PLAN_E_COPY: VOLUME_EVICT to S
 *         L is copied to another extent than S  PLAN_E_STOP
 *         S lacks bytes, or L is not settled    PLAN_E_WAIT
 *         S has all, or L is out                the place is done
 *                |
 *     all places are done: PLAN_E_SET           the kernel gets the version, and swaps, or rebuilds S
 *
 * Until then the kernel, its host's record and roster/V stay with the version before, so the earlier
 * extent is the member: what is attached by the record needs no copy. A kernel that gets the version
 * at an attach has L as one that leaves, and copies by itself.
 */
#ifndef PLAN_EVICT_H
#define PLAN_EVICT_H

#include "userspace/plan/objects.h"

enum plan_copy_role {
	PLAN_COPY_UNSETTLED,	/* it joins, fails, or is not known yet */
	PLAN_COPY_IN_SYNC,
	PLAN_COPY_OUT,
};

/* What the kernel has at one place. */
struct plan_copy {
	struct muuid member;	/* the extent by its layout; null: the layout has no such place */
	u8	role;		/* enum plan_copy_role */
	struct muuid to;	/* the extent that the member is copied to; null: none */
	u64	copied, bytes;	/* there, of all */
};

/* In their order: a later one is done before an earlier one. */
enum plan_evict_what {
	PLAN_E_SET,		/* no member is left to be copied */
	PLAN_E_WAIT,
	PLAN_E_COPY,		/* the member at ->place, to the extent that the version has there */
	PLAN_E_STOP,		/* the copy of the member at ->place */
};

struct plan_evict_step {
	enum plan_evict_what what;
	u32	place;
	u64	copied, bytes;	/* sums of the copies that run; 0 of 0: none does */
};

/**
 * plan_evict() - the next step before a kernel may get @next
 * @copy: by places of @next; those where no member leaves are not read
 */
void plan_evict(const struct plan_layout *next, const struct plan_copy *copy,
		struct plan_evict_step *s);

#endif
