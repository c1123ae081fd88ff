/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host that starts while the store is away attaches again what its record says, where labels
 * prove that no other host has attached since: each label that is reached has this host as attacher,
 * under exactly the record's number (restart apart), and none is above it.
 *
 *     no redundancy   all members must be so
 *     groups          those that are so; the kernel decides by their rosters, without a witness
 *     readers         no label is above the reader's number
 */
#ifndef PLAN_AGAIN_H
#define PLAN_AGAIN_H

#include "userspace/plan/objects.h"

/* The label of one place of the record's layout; NULL: not reached. */
struct plan_found {
	u32	place;
	const struct plan_slot *slot;
};

/* True if a label lets the record of this host open its extent for writing. */
bool plan_again_opens(const struct plan_attached *r, const struct muuid *host,
		      const struct plan_slot *slot);

/**
 * plan_again() - attach by the record
 * @number: becomes what OPENs have. Of a writer its restart is one above the record's and above
 *	those of all labels of this host; it is recorded before any OPEN has it.
 *
 * Return: PLAN_GO; PLAN_ABOVE: another attachment has followed; PLAN_WAIT: too few members are
 * reached for now; PLAN_EXHAUSTED: the restart has no next value, a retake is needed.
 */
enum plan_verdict plan_again(const struct plan_attached *r, const struct muuid *host,
			     const struct plan_found *found, u32 nr, u64 *number);

/* True if the member at @place may join its group: no change is being decided for the place. */
bool plan_again_joins(const struct plan_attached *r, u32 place);

#endif
