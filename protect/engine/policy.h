/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy: the work of a redundant level for its groups. The engine (group.c) calls the policy,
 * and the policy calls the engine (group_priv.h):
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
 * mirror.c is the shorter of the two policies, tests/unit/test_prot_level.c has the shortest.
 */
#ifndef PROTECT_POLICY_H
#define PROTECT_POLICY_H

#include "protect/engine/group.h"

#define PROT_TO(phase)	(1U << PROT_P_##phase)

/* Operations; comments say where NULL is allowed. */
struct prot_policy {
	/* by phase, the level's phases and PROT_P_LOCK or _BUF allowed next */
	const u32 *phases;
	u32 nr_absent;		/* MISSED bitmaps on each member; 0: one for each member */
	bool intent;		/* INTENT bitmaps are kept, too */
	/* true: the level's part of a config is right */
	bool (*config_ok)(const struct prot_group_config *c);
	/*
	 * changes the shape as preset by group.c and, with prot_take(), places the level's own
	 * memory; or NULL
	 */
	void (*arrange)(struct prot_shape *h, const struct prot_group_config *c, u64 *end);
	/* bytes of records on a member beyond the @records of bitmaps; or NULL */
	u64 (*meta_bytes)(const struct prot_group_config *c, u64 records);
	void (*init)(struct prot_group *g);	/* before members are known; or NULL */
	u64 (*span)(const struct prot_group *g, u64 addr);	/* prot_group_span() */
	/* fill in a request's op, then prot_start() */
	void (*start)(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length);
	/* likewise an op of background work at row @addr; @narrow: one block */
	void (*start_rows)(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow);
	/* true: @b waits for @a, an older op. Their rows meet, one is @exclusive. NULL: always */
	bool (*conflict)(const struct prot_group *g, const struct prot_gop *a,
			 const struct prot_gop *b);
	/* start an I/O or work of @op: true, @ev is filled in; or go on to another phase */
	bool (*step)(struct prot_group *g, struct prot_gop *op, struct prot_event *ev);
	/* of the I/O to @member, or of work */
	void (*result)(struct prot_group *g, struct prot_gop *op, u32 member, int err);
	/*
	 * a read of @op into @buf is never ended by the member. True: @op does not need @buf any
	 * more, and has another buffer if needed. NULL: reads are waited for
	 */
	bool (*set_aside)(struct prot_group *g, struct prot_gop *op, u32 buf);
	/* the group has stopped and no I/O of @op is in flight: prot_end() @op */
	void (*stop)(struct prot_group *g, struct prot_gop *op);
	/*
	 * the next I/O of records, in @ev, by prot_meta_io(). The first I/Os make the group
	 * serve: prot_bitmap_attach(), for levels with bitmaps alone
	 */
	bool (*meta_next)(struct prot_group *g, struct prot_event *ev);
	/* the result, for PROT_META_LEVEL and later kinds; or NULL */
	void (*meta_result)(struct prot_group *g, u32 member, int err);
	/* members @left are out by a committed epoch, or joined and failed; or NULL */
	void (*strike)(struct prot_group *g, u64 left);
	/* prot_region_miss() all regions that may be changed by writes in flight */
	void (*miss_unfinished)(struct prot_group *g, u32 slot);
	/* true: @member, which misses nothing, may be called in sync; NULL: always */
	bool (*may_join)(const struct prot_group *g, u32 member);
	/* the rows of waiting @op were rewritten one by one; or NULL if no op ever waits */
	void (*repaired)(struct prot_group *g, struct prot_gop *op);
	void (*idle)(struct prot_group *g);	/* there is time; or NULL */
	/* an op waits for a resource of others: no op holds back work possible now; or NULL */
	void (*hurry)(struct prot_group *g);
	/* prot_group_settle(), apart from bitmap blocks to be written; or NULL */
	bool (*settle)(struct prot_group *g);
	/* start an op of PROT_FOR_LEVEL; false: there is none to start; or NULL */
	bool (*background)(struct prot_group *g);
};

#endif
