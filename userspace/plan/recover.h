/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A new generation from labels and records, merged into what the store has, only raising:
 *
 *     number     (new generation, highest counter seen + 1, 0), no holder. A holder that the
 *                labels name may be dead, and another one unseen: who serves retakes.
 *     layout     the highest version of store and records
 *     rosters    none: a roster that was found says what its writer knew, and as the store's it
 *                would be the witness that nothing newer exists
 *     extents    of a drive that was seen: as its label has them, never freeing; of one that was
 *                not seen: what the layout names
 *
 * Before a label counts as evidence, its agent writes the new generation into the label's header: an
 * agent that is about to remove an extent by what it read before sees it there, and stops. A view
 * that is read again before a removal leaves a gap between the two.
 *
 * What would have to be guessed is reported (PLAN_MISSING) and left to the administrator.
 */
#ifndef PLAN_RECOVER_H
#define PLAN_RECOVER_H

#include "userspace/plan/objects.h"

/* One extent that was found, in the label of a drive. */
struct plan_evidence {
	struct muuid drive;
	const struct plan_slot *slot;
	const struct plan_layout *record;	/* the layout record of that extent; NULL: none is whole */
};

struct plan_recover {
	u32	generation;	/* the new one */
	const struct plan_volume *volume;	/* the store's; NULL: it has none */
	const struct plan_access *access;	/* likewise */
	const struct plan_evidence *found;	/* of this volume */
	u32	nr;
	u64	served;		/* highest number that any kernel or record of a host has; 0: none */
	bool	partly;		/* the administrator gives up members that were not found */
	const struct muuid *seen;	/* drives whose labels were found */
	u32	seens;
};

/* A host's kernel, or its record, has the volume. */
struct plan_claim {
	struct muuid host;
	u8	mode;		/* enum plan_mode */
	bool	serves;		/* the disk is there */
	u64	number;
};

struct plan_recovered {
	const struct plan_layout *layout;	/* one of the inputs */
	struct plan_access access;
	bool	rosters;	/* keep what the store has; else erase them */
	u32	absent;		/* places whose drive was not found */
};

/**
 * plan_recover_generation() - the new one
 * @store: generation of the store that was put back
 * @seen: of each label header that was found, and that hosts have seen
 *
 * Return: one above all of them: hosts follow nothing else. 0: there is none.
 */
u32 plan_recover_generation(u32 store, const u32 *seen, u32 nr);

/**
 * plan_recover() - one volume
 *
 * PLAN_MISSING: a label has a higher version than every record that was found, or a volume
 * without redundancy names extents that were not found. PLAN_EXHAUSTED: see plan_attach_rw().
 */
enum plan_verdict plan_recover(const struct plan_recover *r, struct plan_recovered *out);

/**
 * plan_recover_gone() - true if a volume that the store calls ready was deleted since
 *
 * The drive of each place was found, and none has an extent of it; no kernel or record has it.
 */
bool plan_recover_gone(const struct plan_recover *r);

/*
 * The state that the volume gets, of enum plan_volume_state. A delete that was decided goes on, as its
 * UUID is never given again; so does a create, unless a host has opened the volume.
 */
u8 plan_recover_state(const struct plan_recover *r);

/*
 * True if @fresh, as store or record have it, may still be so: once a number was noted there may be
 * rosters, and a kernel that takes the groups for fresh overrules them.
 */
bool plan_recover_fresh(const struct plan_recover *r, bool fresh);

/*
 * The host that is to go on as writer: of the highest number that any kernel or record has, if no label
 * has a higher one. NULL: none.
 */
const struct plan_claim *plan_recover_writer(const struct plan_recover *r, const struct plan_claim *claim, u32 nr);

/**
 * plan_recover_extent() - an extent of a drive in the store after recover
 * @key: as the store had it; NULL: it had not
 * @slot: in the drive's label; NULL: not there
 * @seen: the drive was found
 * @named: the recovered layout names it
 *
 * Return: the state of enum plan_extent_state that it gets; 0: it is not in the store any more.
 */
u8 plan_recover_extent(const struct plan_extent *key, const struct plan_slot *slot, bool seen, bool named);

#endif
