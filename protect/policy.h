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

#include "protect/group.h"

#define PROT_TO(phase)	(1U << PROT_P_##phase)

/**
 * struct prot_policy - operations; those that may be NULL say so
 * @phases: by phase, those of the level and PROT_P_LOCK or _BUF that may follow it
 * @nr_absent: MISSED bitmaps on each member; 0: one for each member
 * @intent: INTENT bitmaps are kept, too
 * @config_ok: whether all that is the level's in a config is right
 * @arrange: what of the shape is not as preset by group.c, and, with prot_take(), where
 *	the level's own memory is; or NULL
 * @meta_bytes: bytes of records on a member beyond the @records of bitmaps; or NULL
 * @init: a group begins, before its members are known; or NULL
 * @span: prot_group_span()
 * @start: a request's op: fill it in, then prot_start()
 * @start_rows: an op of background work, likewise, at row @addr; @narrow: one block of it
 * @conflict: whether @b waits for @a, older and of the same rows, one of them
 *	@exclusive; NULL: always
 * @step: start an I/O or work of @op: true, it is @ev; or go on to its next phase
 * @result: of the I/O to @member, or of work
 * @stop: the group has stopped and nothing of @op is in flight: prot_end() it
 * @meta_next: the next I/O of records, in @ev, by prot_meta_io(); first of all what
 *	makes the group serve: prot_bitmap_attach(), where bitmaps are all there is
 * @meta_result: its result, where it is PROT_META_LEVEL or later; or NULL
 * @strike: these members are out by a committed epoch, or joined and failed; or NULL
 * @miss_unfinished: prot_region_miss() the regions that writes in flight may change
 * @may_join: whether @member, which misses nothing, may be called in sync; NULL: it may
 * @repaired: the rows of @op, which waits for that, were rewritten one by one; or NULL
 *	where none waits (prot_repair_queue())
 * @idle: there is time; or NULL
 * @background: start an op of PROT_FOR_LEVEL; false: there is none to start; or NULL
 */
struct prot_policy {
	const u32 *phases;
	u32 nr_absent;
	bool intent;
	bool (*config_ok)(const struct prot_group_config *c);
	void (*arrange)(struct prot_shape *h, const struct prot_group_config *c, u64 *end);
	u64 (*meta_bytes)(const struct prot_group_config *c, u64 records);
	void (*init)(struct prot_group *g);
	u64 (*span)(const struct prot_group *g, u64 addr);
	void (*start)(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length);
	void (*start_rows)(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow);
	bool (*conflict)(const struct prot_group *g, const struct prot_gop *a,
			 const struct prot_gop *b);
	bool (*step)(struct prot_group *g, struct prot_gop *op, struct prot_event *ev);
	void (*result)(struct prot_group *g, struct prot_gop *op, u32 member, int err);
	void (*stop)(struct prot_group *g, struct prot_gop *op);
	bool (*meta_next)(struct prot_group *g, struct prot_event *ev);
	void (*meta_result)(struct prot_group *g, u32 member, int err);
	void (*strike)(struct prot_group *g, u64 left);
	void (*miss_unfinished)(struct prot_group *g, u32 slot);
	bool (*may_join)(const struct prot_group *g, u32 member);
	void (*repaired)(struct prot_group *g, struct prot_gop *op);
	void (*idle)(struct prot_group *g);
	bool (*background)(struct prot_group *g);
};

#endif
