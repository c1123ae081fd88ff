/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the group engine and the levels; no other file includes this header. */
#ifndef PROTECT_GROUP_PRIV_H
#define PROTECT_GROUP_PRIV_H

#include <linux/bug.h>
#include <linux/kernel.h>

#include "protect/count.h"
#include "protect/engine/group.h"
#include "protect/mutant.h"
#include "protect/engine/policy.h"
#include "protect/engine/set.h"

#define PROT_OP_SYNC	0	/* the op of background resynchronisation, ... */
#define PROT_OP_SCRUB	1	/* ... of the scrub, ... */
#define PROT_OP_FIRST	2	/* ... and the first of the level's own, or of a request */

/*
 * Background ops have the private buffers of their numbers; a scrub also has the next buffer.
 * Buffers for further chunks (prot_group_config.depth) come next, before the requests' buffers.
 */
#define PROT_BUF_FIRST	3

#define PROT_BUCKET_SHIFT	20	/* at most, where bytes are those of each member */

#define PROT_TURNS		64	/* of prot_group_next(), before others get theirs */

#define PROT_BIT(i)	(1ULL << (i))

/* Place @count items of @each bytes. Return: the offset; @end may grow beyond 32 bits. */
static inline u32 prot_take(u64 *end, u64 count, u32 each)
{
	u64 at = *end;

	*end += round_up(count * each, 8);
	return at;
}

static inline void *prot_at(const struct prot_group *g, u32 off)
{
	return (u8 *)g + off;
}

static inline struct prot_gop *prot_gop(const struct prot_group *g, u32 i)
{
	PROT_LOOK();
	return (struct prot_gop *)prot_at(g, g->shape.off_ops) + i;
}

static inline u32 prot_depth(const struct prot_group_config *c)
{
	return c->depth ? c->depth : 1;
}

static inline u32 prot_gop_index(const struct prot_group *g, const struct prot_gop *op)
{
	return op - prot_gop(g, 0);
}

static inline struct prot_region *prot_region(const struct prot_group *g, u32 i)
{
	PROT_LOOK();
	return (struct prot_region *)prot_at(g, g->shape.off_regions) + i;
}

static inline u32 prot_region_of(const struct prot_group *g, u64 addr)
{
	return addr >> g->shape.region_shift;
}

/* Version of a bitmap block in memory; prot_bitmap_touch() makes it grow. */
static inline u32 *prot_version(const struct prot_group *g, u32 bitmap, u32 block)
{
	PROT_LOOK();
	return (u32 *)prot_at(g, g->shape.off_versions) + bitmap * g->shape.nr_blocks + block;
}

/* The version on the medium of @member. */
static inline u32 *prot_written(const struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	PROT_LOOK();
	return (u32 *)prot_at(g, g->shape.off_written) +
	       (member * g->shape.nr_bitmaps + bitmap) * g->shape.nr_blocks + block;
}

/* Blocks of a bitmap with two different versions, in memory and on @member. */
static inline u64 *prot_dirty(const struct prot_group *g, u32 member, u32 bitmap)
{
	return (u64 *)prot_at(g, g->shape.off_dirty) +
	       (member * g->shape.nr_bitmaps + bitmap) * g->shape.dirty_words;
}

/* Number of blocks of a bitmap with no version on @member. */
static inline u32 *prot_unwritten(const struct prot_group *g, u32 member, u32 bitmap)
{
	return (u32 *)prot_at(g, g->shape.off_unwritten) + member * g->shape.nr_bitmaps + bitmap;
}

static inline u64 *prot_regions(const struct prot_group *g, u32 set)
{
	return (u64 *)prot_at(g, g->shape.off_sets) + set * g->shape.set_words;
}

/* Regions with the INTENT bit set on the medium of @member. */
static inline u32 prot_durable(const struct prot_group *g, u32 member)
{
	return PROT_SET_MISSED + g->shape.nr_absent + member;
}

static inline bool prot_region_in(const struct prot_group *g, u32 set, u32 region)
{
	return prot_set_has(prot_regions(g, set), region);
}

static inline struct prot_block_io *prot_block_io(const struct prot_group *g, u32 member, u32 n)
{
	return (struct prot_block_io *)prot_at(g, g->shape.off_blocks) +
	       member * g->shape.nr_block_ios + n;
}

static inline bool prot_none(const struct prot_group *g, u32 set)
{
	return prot_set_next(prot_regions(g, set), g->shape.nr_regions, 0) == PROT_SET_NONE;
}

static inline u32 prot_block_of(const struct prot_group *g, u32 region)
{
	return region / prot_bitmap_bits(g->cfg.lba);
}

/* Unused ops and private buffers of requests. */
static inline u64 *prot_free_ops(const struct prot_group *g)
{
	return prot_at(g, g->shape.off_free_ops);
}

static inline u64 *prot_free_bufs(const struct prot_group *g)
{
	return prot_at(g, g->shape.off_free_bufs);
}

/* Spares, which replace buffers with a hanging read (aside.c). */
static inline u64 *prot_spare_bufs(const struct prot_group *g)
{
	return prot_at(g, g->shape.off_spare_bufs);
}

/* Buffers of background ops, at first those of the op's number. */
static inline u16 *prot_own_bufs(const struct prot_group *g)
{
	return prot_at(g, g->shape.off_own_bufs);
}

/* Number of reads set aside and not back, into a private buffer or a buffer of the cache. */
static inline u8 *prot_hung(const struct prot_group *g, u32 buf)
{
	return (u8 *)prot_at(g, g->shape.off_hung) + buf;
}

static inline u32 prot_nr_bufs(const struct prot_group_config *c)
{
	return c->bufs + c->smalls;
}

static inline u8 *prot_private(const struct prot_group *g, u32 buf)
{
	if (buf >= prot_nr_bufs(&g->cfg))
		return (u8 *)prot_at(g, g->shape.off_cached) +
		       (size_t)(buf - prot_nr_bufs(&g->cfg)) * g->shape.cached_bytes;
	if (buf >= g->cfg.bufs)
		return (u8 *)prot_at(g, g->shape.off_smalls) +
		       (size_t)(buf - g->cfg.bufs) * g->shape.small_bytes;
	return (u8 *)prot_at(g, g->shape.off_bufs) + (size_t)buf * g->shape.buf_bytes;
}

static inline struct prot_queue *prot_queue(const struct prot_group *g, u32 queue)
{
	return (struct prot_queue *)prot_at(g, g->shape.off_queues) + queue;
}

static inline bool prot_overlap(u64 a, u32 a_bytes, u64 b, u32 b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

static inline bool prot_rows_meet(const struct prot_gop *a, const struct prot_gop *b)
{
	return prot_overlap(a->addr, a->length, b->addr, b->length);
}

static inline int prot_weight(u64 mask)
{
	int n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

static inline u32 prot_lowest(u64 mask)
{
	u32 i = 0;

	while (!(mask >> i & 1))
		i++;
	return i;
}

static inline const struct prot_policy *prot_policy(const struct prot_group *g)
{
	return g->policy;
}

/*
 * Absent slots in use, of members that are out. A member's slot is always the member's index. If
 * each attachment gave out slots again, a block of an earlier attachment could be valid for the
 * same absence and know less.
 */
static inline u64 prot_absent(const struct prot_group *g)
{
	return g->kept >> PROT_MISSED;
}

static inline u64 prot_live(const struct prot_group *g)
{
	return g->in_sync & ~g->failed;
}

/* Of members @from, the members for @op to read from: without late members, if @enough are left. */
static inline u64 prot_prompt(const struct prot_group *g, const struct prot_gop *op, u64 from,
			      int enough)
{
	u64 prompt = from & ~g->avoid;

	if (PROT_MUTANT(AVOID_OUT) && g->avoid && op->purpose == PROT_FOR_REQUEST)
		prompt |= g->joining;
	return prot_weight(prompt) < enough || PROT_MUTANT(AVOID_NONE) ? from : prompt;
}

/* True: enough members are left to know all data. */
static inline bool prot_enough(const struct prot_group *g)
{
	return (u32)prot_weight(prot_live(g)) >= g->shape.data;
}

/* True: @op is at rows that were noted as unreadable (repair.c), not at rows of a scrub. */
static inline bool prot_repairing(const struct prot_group *g, const struct prot_gop *op)
{
	return g->repairing && op == prot_gop(g, PROT_OP_SCRUB);
}

/* ready.c */
void prot_phase(struct prot_group *g, struct prot_gop *op, u8 phase);
void prot_ready(struct prot_group *g, struct prot_gop *op);
void prot_ready_all(struct prot_group *g);
bool prot_turn(const struct prot_group *g, const struct prot_gop *op, u32 queue);
bool prot_wait(struct prot_group *g, struct prot_gop *op, u32 queue);
void prot_wake(struct prot_group *g, u32 queue);

/* buffer.c */
bool prot_buf_get(struct prot_group *g, struct prot_gop *op, bool grows);
u32 prot_buf_next(const struct prot_group *g, const struct prot_gop *op, bool small);
void prot_buf_free(struct prot_group *g, u32 i);
void prot_buf_put(struct prot_group *g, struct prot_gop *op);
u16 *prot_own_buf(const struct prot_group *g, const struct prot_gop *op);
bool prot_buf_small(const struct prot_group *g, u32 buf);
void prot_buf_spare(struct prot_group *g, u32 buf);
u32 prot_buf_may_hang(const struct prot_group *g, bool small);

/* rows.c */
u16 *prot_bucket(const struct prot_group *g, const struct prot_gop *op);
bool prot_lock_free(const struct prot_group *g, const struct prot_gop *op);
void prot_start(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length);
void prot_wake_rows(struct prot_group *g, const struct prot_gop *op);
void prot_unlock(struct prot_group *g, struct prot_gop *op);
void prot_end(struct prot_group *g, struct prot_gop *op, int err);
u64 prot_region_span(const struct prot_group *g, u64 addr);
void prot_region_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow);

/* io.c */
void prot_records_io(struct prot_event *ev, u32 member, u8 kind, u64 addr, u32 length,
		     u32 buffer);
void prot_meta_io(struct prot_group *g, u32 member, u8 what, u8 kind, u64 addr, u32 from,
		  u32 length, struct prot_event *ev);
void prot_io_fill(const struct prot_group *g, const struct prot_gop *op, u32 member, u8 kind,
		  u64 addr, u32 length, struct prot_event *ev);
void prot_zeroes_fill(const struct prot_group *g, struct prot_gop *op, u32 member,
		      struct prot_event *ev);

/* error.c */
void prot_write_failed(struct prot_group *g, struct prot_gop *op, u32 member, int err);
void prot_error_count(struct prot_group *g, u32 member);
bool prot_read_failed(struct prot_group *g, u32 member, int err);
bool prot_meta_again(struct prot_group *g, u32 member, int err);

/* aside.c */
void prot_aside_init(struct prot_group *g);
u16 prot_aside_take(struct prot_group *g, const struct prot_gop *op, u32 buf);

/* member.c */
void prot_member_failed(struct prot_group *g, u32 member);
void prot_member_believe(struct prot_group *g, u32 member);	/* a mutant */
u64 prot_targets(const struct prot_group *g, u32 region);
void prot_absent_take(struct prot_group *g, u32 member, u64 left);
bool prot_member_event(struct prot_group *g, struct prot_event *ev);

/* bitmap.c */
void prot_bitmap_touch(struct prot_group *g, u32 bitmap, u32 region);
void prot_bitmap_touch_all(struct prot_group *g, u32 bitmap);
void prot_mark_missed(struct prot_group *g, u32 region, u64 got);
bool prot_bitmap_attach(struct prot_group *g, struct prot_event *ev);
bool prot_bitmap_next(struct prot_group *g, struct prot_event *ev);
bool prot_bitmap_result(struct prot_group *g, u32 member, int err);
bool prot_bitmap_written(struct prot_group *g, u32 member, u32 n, int err);
bool prot_bitmap_busy(const struct prot_group *g, u32 member);
bool prot_bitmap_age(struct prot_group *g);
bool prot_bitmap_load(struct prot_group *g, u32 member, struct prot_event *ev);
bool prot_bitmap_settled(const struct prot_group *g);
void prot_bitmap_forget(struct prot_group *g, u32 member);
bool prot_bitmap_has(struct prot_group *g, u32 member);
void prot_bitmap_clear(struct prot_group *g);
bool prot_bitmap_settle(struct prot_group *g);
bool prot_missed_durable(const struct prot_group *g, u32 region);

/* region.c */
void prot_region_put(struct prot_group *g, u32 set, u32 region);
void prot_region_drop(struct prot_group *g, u32 set, u32 region);
void prot_regions_put(struct prot_group *g, u32 set, u32 from, u64 bits);
void prot_regions_add(struct prot_group *g, u32 set, u32 from);
void prot_regions_none(struct prot_group *g, u32 set);
void prot_regions_all(struct prot_group *g, u32 set);
u64 prot_region_missed(const struct prot_group *g, u32 region);
bool prot_durable_on(const struct prot_group *g, u32 region, u64 members);
void prot_durable_strike(struct prot_group *g, u64 members);
static inline void prot_region_miss(struct prot_group *g, u32 region, u32 slot)
{
	prot_region_put(g, PROT_SET_MISSED + slot, region);
}

/* sync.c */
#define PROT_SYNC_STEPS	512	/* regions for a call to go through without starting anything */

void prot_sync_init(struct prot_group *g);
const struct prot_hand *prot_sync_hand(const struct prot_group *g, u32 region);
struct prot_gop *prot_sync_op(const struct prot_group *g, u32 first, u32 n);
void prot_sync_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow);
void prot_sync_start(struct prot_group *g);
bool prot_sync_promote(struct prot_group *g);
void prot_sync_forget(struct prot_group *g, u32 member);
void prot_sync_strike(struct prot_group *g, u64 left);
void prot_sync_ended(struct prot_group *g, const struct prot_gop *op);

/* pace.c: a chunk of background work begins; bytes of a chunk, at most @most. */
void prot_pace_used(struct prot_group *g, u32 bytes);
u32 prot_pace_most(const struct prot_group *g, const struct prot_gop *op, u32 most);

/* scrub.c */
void prot_scrub_start(struct prot_group *g);
void prot_scrub_ended(struct prot_group *g, const struct prot_gop *op);
bool prot_scrub_counts(const struct prot_group *g, const struct prot_gop *op);
bool prot_scrub_repairs(const struct prot_group *g, const struct prot_gop *op);
bool prot_scrub_unsynced(const struct prot_group *g, u32 region);
void prot_scrub_compared(struct prot_group *g, const struct prot_gop *op, u32 bytes, bool all);
void prot_scrub_found(struct prot_group *g, u8 member, u64 addr);
u64 prot_scrub_unread(struct prot_group *g, struct prot_gop *op, u64 members);

/* repair.c */
void prot_repair_note(struct prot_group *g, const struct prot_gop *op, u64 addr, u32 length);
bool prot_repair_wait(struct prot_gop *op);
void prot_repair_queue(struct prot_group *g, struct prot_gop *op);
bool prot_repair_next(struct prot_group *g, struct prot_rows *rows);
void prot_repair_began(struct prot_group *g, u32 length);
void prot_repair_ended(struct prot_group *g);

#endif
