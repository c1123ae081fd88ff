// SPDX-License-Identifier: GPL-2.0-only
/*
 * Background work: resynchronisation of dirty regions, catch-up and rebuild of
 * joining members (all three are one thing: copy a region, chunk by chunk,
 * under its row lock), and the scrub.
 *
 *   region in hand   |#####done#####|chunk|......|
 *
 * From the moment a region is taken in hand, new writes to it reach the member
 * it is copied for; older ones that skipped that member hold their rows, so
 * the chunk waits for them and copies what they wrote.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/group_priv.h"

/* Absent slots whose member is joining. */
static u64 joining_slots(const struct prot_group *g)
{
	u64 slots = 0;
	u32 i;

	for (i = 0; i < g->shape.nr_absent; i++)
		if (g->absent[i].used && g->joining >> g->absent[i].member & 1)
			slots |= PROT_BIT(i);
	return slots;
}

static void region_synced(struct prot_group *g, struct prot_region *r)
{
	if (r->flags & PROT_R_UNSYNCED) {
		r->flags &= ~PROT_R_UNSYNCED;
		g->unsynced--;
	}
}

/* Take the next region that needs it in hand; false: none does. */
static bool pick_region(struct prot_group *g)
{
	u64 joining = joining_slots(g);
	u32 n;

	if (!joining && !g->unsynced)
		return false;
	for (n = 0; n < g->shape.nr_regions; n++) {
		u32 i = g->sync.scan + n < g->shape.nr_regions ? g->sync.scan + n :
							   g->sync.scan + n - g->shape.nr_regions;
		struct prot_region *r = prot_region(g, i);
		bool unsynced = r->flags & PROT_R_UNSYNCED;

		if (unsynced && prot_weight(g->in_sync) == 1 && !(r->missed & joining)) {
			region_synced(g, r);	/* with itself */
			continue;
		}
		if (!unsynced && !(r->missed & joining))
			continue;
		g->sync.region = i;
		g->sync.pos = 0;
		g->sync.scan = i;
		g->sync.slots = r->missed & joining;
		g->sync.copies = unsynced ? g->in_sync : 0;
		return true;
	}
	return false;
}

/* Joining members that miss nothing are promoted: they get the bitmaps. */
static void promote(struct prot_group *g)
{
	u64 missing = 0, joining = joining_slots(g);
	u32 i;

	if (!joining)
		return;
	for (i = 0; i < g->shape.nr_regions; i++)
		missing |= prot_region(g, i)->missed;
	for (i = 0; i < g->shape.nr_absent; i++)
		if (joining & ~missing & PROT_BIT(i))
			g->promoting |= PROT_BIT(g->absent[i].member);
}

static void start_chunk(struct prot_group *g)
{
	struct prot_gop *op = prot_gop(g, PROT_OP_SYNC);
	u64 addr = ((u64)g->sync.region << g->shape.region_shift) + g->sync.pos;

	op->kind = PROT_WRITE;
	op->flags = 0;
	op->purpose = PROT_FOR_SYNC;
	prot_start(g, op, addr, min_t(u64, g->cfg.buf_bytes, prot_group_span(g, addr)));
}

static void start_scrub(struct prot_group *g)
{
	struct prot_gop *op = prot_gop(g, PROT_OP_SCRUB);

	if (!g->scrubbing || op->phase != PROT_P_FREE)
		return;
	op->kind = PROT_READ;
	op->flags = 0;
	op->purpose = PROT_FOR_SCRUB;
	prot_start(g, op, g->scrub_pos,
		   min_t(u64, g->cfg.buf_bytes, prot_group_span(g, g->scrub_pos)));
}

void prot_sync_next(struct prot_group *g)
{
	if (g->state != PROT_G_SERVING)
		return;
	start_scrub(g);
	if (prot_gop(g, PROT_OP_SYNC)->phase != PROT_P_FREE || g->sync.stalled)
		return;
	if (g->sync.region == PROT_NO_REGION && !pick_region(g)) {
		promote(g);
		return;
	}
	start_chunk(g);
}

/* The region in hand is whole for all that it was copied to. */
static void region_done(struct prot_group *g)
{
	struct prot_region *r = prot_region(g, g->sync.region);
	u32 i;

	if (g->sync.copies)
		region_synced(g, r);
	for (i = 0; i < g->shape.nr_absent; i++)
		if (r->missed & g->sync.slots & PROT_BIT(i)) {
			r->missed &= ~(PROT_BIT(i));
			prot_bitmap_touch(g, PROT_MISSED + i, g->sync.region);
		}
	g->sync.region = PROT_NO_REGION;
	g->sync.slots = 0;
}

void prot_sync_ended(struct prot_group *g, const struct prot_gop *op)
{
	if (op->err) {
		/* nothing could be read: begin the region anew when members change */
		g->sync.stalled = 1;
		g->sync.region = PROT_NO_REGION;
		g->sync.slots = 0;
		return;
	}
	g->sync.pos += op->length;
	g->synced += op->length;
	if (g->sync.pos >= g->cfg.region || op->addr + op->length == g->cfg.bytes)
		region_done(g);
}

void prot_group_scrub(struct prot_group *g)
{
	g->scrubbing = 1;
	g->scrub_pos = 0;
}

void prot_scrub_ended(struct prot_group *g, const struct prot_gop *op)
{
	g->scrub_pos = op->addr + op->length;
	if (g->scrub_pos >= g->cfg.bytes || g->state != PROT_G_SERVING)
		g->scrubbing = 0;
}
