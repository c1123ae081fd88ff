/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy: what a redundant level does for its groups. The engine (group.c) calls
 * it, and it calls the engine (group_priv.h):
 *
 *   prot_group_submit()     start() -> prot_start(): an op, in its bucket
 *       |  rows free?       prot_lock_free(), and conflict()
 *       v
 *   prot_group_next()       step()   one event, or on to the next phase
 *       |
 *   prot_group_result()     result() an I/O or work of the op has ended
 *       v
 *   prot_end()              rows free, event to the submitter
 *
 * mirror.c is the shorter of the two that there are, tests/unit/test_prot_level.c
 * has the shortest.
 */
#ifndef PROTECT_POLICY_H
#define PROTECT_POLICY_H

#include "protect/engine/group.h"

#define PROT_TO(phase)	(1U << PROT_P_##phase)

/* Operations; those that may be NULL say so. */
struct prot_policy {
	/* by phase, those of the level and PROT_P_LOCK or _BUF that may follow it */
	const u32 *phases;
	u32 nr_absent;		/* MISSED bitmaps on each member; 0: one for each member */
	bool intent;		/* INTENT bitmaps are kept, too */
	/* whether all that is the level's in a config is right */
	bool (*config_ok)(const struct prot_group_config *c);
	/*
	 * what of the shape is not as preset by group.c, and, with prot_take(), where the level's
	 * own memory is; or NULL
	 */
	void (*arrange)(struct prot_shape *h, const struct prot_group_config *c, u64 *end);
	/* bytes of records on a member beyond the @records of bitmaps; or NULL */
	u64 (*meta_bytes)(const struct prot_group_config *c, u64 records);
	void (*init)(struct prot_group *g);	/* before its members are known; or NULL */
	u64 (*span)(const struct prot_group *g, u64 addr);	/* prot_group_span() */
	/* a request's op: fill it in, then prot_start() */
	void (*start)(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length);
	/* an op of background work, likewise, at row @addr; @narrow: one block of it */
	void (*start_rows)(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow);
	/* whether @b waits for @a, older and of the same rows, one @exclusive; NULL: always */
	bool (*conflict)(const struct prot_group *g, const struct prot_gop *a,
			 const struct prot_gop *b);
	/* start an I/O or work of @op: true, it is @ev; or go on to its next phase */
	bool (*step)(struct prot_group *g, struct prot_gop *op, struct prot_event *ev);
	/* of the I/O to @member, or of work */
	void (*result)(struct prot_group *g, struct prot_gop *op, u32 member, int err);
	/*
	 * a read of @op into @buf, which its member never ends: whether @op needs that buffer no
	 * more, and has another one where it needs any; or NULL where reads are waited for
	 */
	bool (*set_aside)(struct prot_group *g, struct prot_gop *op, u32 buf);
	/* the group has stopped and nothing of @op is in flight: prot_end() it */
	void (*stop)(struct prot_group *g, struct prot_gop *op);
	/*
	 * the next I/O of records, in @ev, by prot_meta_io(); first of all what makes the group
	 * serve: prot_bitmap_attach(), where bitmaps are all there is
	 */
	bool (*meta_next)(struct prot_group *g, struct prot_event *ev);
	/* its result, where it is PROT_META_LEVEL or later; or NULL */
	void (*meta_result)(struct prot_group *g, u32 member, int err);
	/* these members are out by a committed epoch, or joined and failed; or NULL */
	void (*strike)(struct prot_group *g, u64 left);
	/* prot_region_miss() the regions that writes in flight may change */
	void (*miss_unfinished)(struct prot_group *g, u32 slot);
	/* whether @member, which misses nothing, may be called in sync; NULL: it may */
	bool (*may_join)(const struct prot_group *g, u32 member);
	/* @op's rows, which it waits for, were rewritten one by one; or NULL where none waits */
	void (*repaired)(struct prot_group *g, struct prot_gop *op);
	void (*idle)(struct prot_group *g);	/* there is time; or NULL */
	/* an op waits for what others have: none holds back what it can do now; or NULL */
	void (*hurry)(struct prot_group *g);
	/* prot_group_settle(), apart from bitmap blocks to be written; or NULL */
	bool (*settle)(struct prot_group *g);
	/* start an op of PROT_FOR_LEVEL; false: there is none to start; or NULL */
	bool (*background)(struct prot_group *g);
};

#endif
