// SPDX-License-Identifier: GPL-2.0-only
/*
 * INTENT and MISSED bitmaps on the members.
 *
 * A block in memory has a version, each member the version that it holds. What
 * differs is written, one block at a time and member, so a set waits for the
 * clear in flight. A bit that an outgoing block does not carry stops counting
 * as durable when the block is sent; one that it carries counts when it has
 * arrived.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "protect/group_priv.h"

/* A block that differs from what @member holds is in its set, and no other. */
static void bitmap_compare(struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	u64 *set = prot_dirty(g, member, bitmap);
	u32 n = g->shape.nr_blocks;

	if (*prot_written(g, member, bitmap, block) != *prot_version(g, bitmap, block)) {
		prot_set_put(set, n, block);
		g->meta[member].dirty |= PROT_BIT(bitmap);
		return;
	}
	prot_set_drop(set, n, block);
	if (prot_set_next(set, n, 0) == PROT_SET_NONE)
		g->meta[member].dirty &= ~PROT_BIT(bitmap);
}

/* @member holds this version now; 0: nothing that counts. */
static void bitmap_holds(struct prot_group *g, u32 member, u32 bitmap, u32 block, u32 version)
{
	u32 *w = prot_written(g, member, bitmap, block);

	*prot_unwritten(g, member, bitmap) += !version - !*w;
	*w = version;
	bitmap_compare(g, member, bitmap, block);
}

static void bitmap_changed(struct prot_group *g, u32 bitmap, u32 block)
{
	u32 *version = prot_version(g, bitmap, block), i;

	if (!++*version)
		++*version;	/* 0 is "never written" */
	for (i = 0; i < g->cfg.width; i++)
		bitmap_compare(g, i, bitmap, block);
}

void prot_bitmap_touch(struct prot_group *g, u32 bitmap, u32 region)
{
	bitmap_changed(g, bitmap, prot_block_of(g, region));
}

void prot_bitmap_touch_all(struct prot_group *g, u32 bitmap)
{
	u32 b;

	for (b = 0; b < g->shape.nr_blocks; b++)
		bitmap_changed(g, bitmap, b);
}

/* @member holds nothing that counts: all its blocks are to be written. */
void prot_bitmap_forget(struct prot_group *g, u32 member)
{
	u32 n, b;

	for (n = 0; n < g->shape.nr_bitmaps; n++)
		for (b = 0; b < g->shape.nr_blocks; b++)
			bitmap_holds(g, member, n, b, 0);
}

/* Bitmaps that are kept on @member: those in use and not about itself. */
static u64 bitmap_kept(const struct prot_group *g, u32 member)
{
	return g->kept & ~PROT_BIT(PROT_MISSED + member);
}

static bool bitmap_dirty(const struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	return bitmap_kept(g, member) >> bitmap & 1 &&
	       prot_set_has(prot_dirty(g, member, bitmap), block);
}

/* Each block of @member was written at least once since it was forgotten. */
bool prot_bitmap_has(struct prot_group *g, u32 member)
{
	u64 left = bitmap_kept(g, member);

	if (PROT_MUTANT(NO_INTENT_JOIN))
		return true;
	for (; left; left &= left - 1)
		if (*prot_unwritten(g, member, prot_lowest(left)))
			return false;
	return true;
}

bool prot_missed_durable(const struct prot_group *g, u32 region)
{
	u64 missed = prot_region(g, region)->missed;
	u32 i, b = prot_block_of(g, region);

	for (; missed; missed &= missed - 1)
		for (i = 0; i < g->cfg.width; i++)
			if (g->in_sync >> i & 1 &&
			    bitmap_dirty(g, i, PROT_MISSED + prot_lowest(missed), b))
				return false;
	return true;
}

/* No member in sync lacks anything of any bitmap. */
bool prot_bitmap_settled(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.width; i++)
		if (g->in_sync >> i & 1 && g->meta[i].dirty & bitmap_kept(g, i))
			return false;
	return true;
}

static void bitmap_fill_header(const struct prot_group *g, struct prot_bitmap_hdr *h, u32 member,
			       u32 bitmap, u32 block)
{
	memset(h, 0, sizeof(*h));
	h->kind = bitmap;
	h->member = member;
	h->block = cpu_to_le32(block);
	if (bitmap >= PROT_MISSED) {
		const struct prot_absent *a = &g->absent[bitmap - PROT_MISSED];

		h->absent = a->member;
		h->epoch = cpu_to_le64(a->left);
		memcpy(h->uuid, g->cfg.uuid[a->member], PROT_UUID_LEN);
	}
}

static bool bitmap_bit_in_memory(const struct prot_group *g, u32 bitmap, u32 region)
{
	const struct prot_region *r = prot_region(g, region);

	if (bitmap == PROT_INTENT)
		return r->flags & PROT_R_INTENT;
	return r->missed >> (bitmap - PROT_MISSED) & 1;
}

static void bitmap_fill_block(struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	u32 bits = prot_bitmap_bits(g->cfg.lba), first = block * bits, i;
	void *mem = prot_group_buffer(g, PROT_BUFFER_META + member);
	u8 *bytes = prot_bitmap_bytes(mem);

	memset(mem, 0, g->cfg.lba);
	bitmap_fill_header(g, mem, member, bitmap, block);
	((struct prot_bitmap_hdr *)mem)->seq = cpu_to_le64(++g->seq);
	for (i = 0; i < bits && first + i < g->shape.nr_regions; i++) {
		if (bitmap_bit_in_memory(g, bitmap, first + i))
			bytes[i / 8] |= 1U << (i & 7);
		else if (bitmap == PROT_INTENT && !PROT_MUTANT(CLEAR_RACE))
			prot_region(g, first + i)->durable &= ~PROT_BIT(member);
	}
	prot_bitmap_seal(mem, g->cfg.lba, &g->cfg.owner);
}

static void bitmap_block_io(struct prot_group *g, u32 member, u8 kind, u32 bitmap, u32 block,
			    struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];

	m->bitmap = bitmap;
	m->block = block;
	m->version = *prot_version(g, bitmap, block);
	prot_meta_io(g, member, PROT_META_BITMAP, kind,
		     g->cfg.meta[member] +
		     (u64)g->cfg.lba * (2 + bitmap * g->shape.nr_blocks + block),
		     0, g->cfg.lba, ev);
}

/* LOADING: the next block that this attachment wants of @member. */
bool prot_bitmap_load(struct prot_group *g, u32 member, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];

	for (; m->cursor < g->shape.nr_bitmaps * g->shape.nr_blocks; m->cursor++) {
		u32 bitmap = m->cursor / g->shape.nr_blocks, block = m->cursor % g->shape.nr_blocks;

		if (!(bitmap_kept(g, member) >> bitmap & 1))
			continue;
		bitmap_block_io(g, member, PROT_READ, bitmap, block, ev);
		return true;
	}
	return false;
}

static bool bitmap_loaded(const struct prot_group *g)
{
	u32 all = g->shape.nr_bitmaps * g->shape.nr_blocks, i;

	for (i = 0; i < g->cfg.width; i++)
		if (g->in_sync >> i & 1 && (g->meta[i].busy || g->meta[i].cursor < all))
			return false;
	return true;
}

/* @member lacks the intent bit of a region that another one has: that is written first. */
static void bitmap_add_bit(struct prot_group *g, u32 member, u32 region)
{
	if (PROT_MUTANT(NO_UNION))
		prot_region(g, region)->durable |= PROT_BIT(member);
	else
		bitmap_holds(g, member, PROT_INTENT, prot_block_of(g, region), 0);
}

/* What was read becomes the union of it, and that goes to all copies first. */
static void bitmap_unite(struct prot_group *g)
{
	bool alone = prot_weight(g->in_sync) == 1;
	u32 i, j, b;

	for (i = 0; i < g->cfg.width; i++)
		for (b = 0; b < g->shape.nr_blocks; b++)
			bitmap_holds(g, i, PROT_INTENT, b, *prot_version(g, PROT_INTENT, b));
	for (j = 0; j < g->shape.nr_regions; j++) {
		struct prot_region *r = prot_region(g, j);

		if (!(r->flags & PROT_R_INTENT))
			continue;
		g->replayed++;
		if (!alone)
			prot_region_flag(g, j, PROT_R_UNSYNCED);
		if (!PROT_MUTANT(NO_MISS))
			prot_mark_missed(g, j, 0);
		for (i = 0; i < g->cfg.width; i++)
			if (g->in_sync & ~r->durable & PROT_BIT(i))
				bitmap_add_bit(g, i, j);
	}
	g->state = PROT_G_UNITING;
}

static void bitmap_check_united(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.width; i++)
		if (g->in_sync >> i & 1 &&
		    g->meta[i].dirty & bitmap_kept(g, i) & PROT_BIT(PROT_INTENT))
			return;
	g->state = PROT_G_SERVING;
}

/* LOADING and UNITING, where the bitmaps are all that there is to be read. */
bool prot_bitmap_attach(struct prot_group *g, struct prot_event *ev)
{
	u32 i;

	if (g->state == PROT_G_LOADING) {
		for (i = 0; i < g->cfg.width; i++)
			if (prot_live(g) >> i & 1 && !g->meta[i].busy && prot_bitmap_load(g, i, ev))
				return true;
		if (!bitmap_loaded(g))
			return false;
		bitmap_unite(g);
	}
	if (g->state == PROT_G_UNITING)
		bitmap_check_united(g);
	return false;
}

/* Write the next block of any member, if there is one. */
bool prot_bitmap_next(struct prot_group *g, struct prot_event *ev)
{
	u64 to = (g->in_sync | g->promoting) & ~g->failed, todo;
	u32 i, n, b;

	if (g->state == PROT_G_STOPPED || g->state == PROT_G_LOADING)
		return false;
	for (i = 0; i < g->cfg.width; i++) {
		if (!(to >> i & 1) || g->meta[i].busy)
			continue;
		todo = g->meta[i].dirty & bitmap_kept(g, i);
		if (!todo)
			continue;
		n = prot_lowest(todo);
		b = prot_set_next(prot_dirty(g, i, n), g->shape.nr_blocks, 0);
		bitmap_fill_block(g, i, n, b);
		bitmap_block_io(g, i, PROT_WRITE, n, b, ev);
		return true;
	}
	return false;
}

/* Whether the block that was read is this one, of this absence. */
static bool bitmap_block_valid(const struct prot_group *g, const struct prot_bitmap_hdr *h,
			       u32 member, u32 bitmap, u32 block)
{
	struct prot_bitmap_hdr want;

	bitmap_fill_header(g, &want, member, bitmap, block);
	if (PROT_MUTANT(OLD_MISSED)) {
		want.epoch = h->epoch;
		memcpy(want.uuid, h->uuid, PROT_UUID_LEN);
	}
	return PROT_MUTANT(NO_SUM) || !prot_bitmap_check(h, g->cfg.lba, &g->cfg.owner, &want);
}

/* A block was read while LOADING; one that is not valid counts as all ones. */
static void bitmap_take_block(struct prot_group *g, u32 member, u32 bitmap, u32 block)
{
	u32 bits = prot_bitmap_bits(g->cfg.lba), first = block * bits, i;
	void *mem = prot_group_buffer(g, PROT_BUFFER_META + member);
	bool valid = bitmap_block_valid(g, mem, member, bitmap, block);

	if (PROT_MUTANT(UNION_ONE) && bitmap == PROT_INTENT && member != prot_lowest(g->in_sync))
		return;
	for (i = 0; i < bits && first + i < g->shape.nr_regions; i++) {
		struct prot_region *r = prot_region(g, first + i);

		if (valid && !(prot_bitmap_bytes(mem)[i / 8] >> (i & 7) & 1))
			continue;
		if (bitmap >= PROT_MISSED) {
			prot_region_miss(g, first + i, bitmap - PROT_MISSED);
			continue;
		}
		prot_region_flag(g, first + i, PROT_R_INTENT);
		if (valid)
			r->durable |= PROT_BIT(member);
	}
}

/* What is durable changes what ops of this block's regions may do. */
static void bitmap_wake_block(struct prot_group *g, u32 block)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++) {
		struct prot_gop *op = prot_gop(g, i);

		if (op->phase != PROT_P_FREE &&
		    prot_block_of(g, prot_region_of(g, op->addr)) == block)
			prot_ready(g, op);
	}
}

static void bitmap_block_arrived(struct prot_group *g, u32 member, u32 block)
{
	u32 bits = prot_bitmap_bits(g->cfg.lba), first = block * bits, i;
	const u8 *bytes = prot_bitmap_bytes(prot_group_buffer(g, PROT_BUFFER_META + member));

	for (i = 0; i < bits && first + i < g->shape.nr_regions; i++)
		if (bytes[i / 8] >> (i & 7) & 1)
			prot_region(g, first + i)->durable |= PROT_BIT(member);
	bitmap_wake_block(g, block);
}

void prot_bitmap_result(struct prot_group *g, u32 member, int err)
{
	struct prot_meta *m = &g->meta[member];

	m->busy = 0;
	if (err) {
		prot_member_failed(g, member);
		return;
	}
	if (g->state == PROT_G_LOADING) {
		bitmap_take_block(g, member, m->bitmap, m->block);
		m->cursor++;
		return;
	}
	if (!((g->in_sync | g->promoting) >> member & 1))
		return;		/* it has left meanwhile */
	bitmap_holds(g, member, m->bitmap, m->block, m->version);
	if (m->bitmap == PROT_INTENT)
		bitmap_block_arrived(g, member, m->block);
	else
		bitmap_wake_block(g, m->block);
}

/* No write uses the region, and what it missed is known without the intent bit. */
static bool bitmap_may_clear(struct prot_group *g, u32 region)
{
	return (!prot_region(g, region)->users || PROT_MUTANT(CLEAR_BUSY)) &&
	       (prot_missed_durable(g, region) || PROT_MUTANT(MISSED_LATE));
}

/* What no write is using needs no intent bit any more. */
void prot_bitmap_clear(struct prot_group *g)
{
	u32 i = 0;

	for (;; i++) {
		i = prot_set_next(prot_regions(g, PROT_SET_CLEARABLE), g->shape.nr_regions, i);
		if (i == PROT_SET_NONE)
			return;
		if (!bitmap_may_clear(g, i))
			continue;
		prot_region_unflag(g, i, PROT_R_INTENT);
		prot_bitmap_touch(g, PROT_INTENT, i);
	}
}
