// SPDX-License-Identifier: GPL-2.0-only
/*
 * Background work: resynchronisation of dirty regions, catch-up and rebuild of
 * joining members: all three are one thing, to copy a region, chunk by chunk,
 * under its row lock.
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

/* The first region at or after @from that is unsynced or missed by a joining member. */
static u32 sync_next_region(const struct prot_group *g, u64 joining, u32 from)
{
	u32 best = prot_set_next(prot_regions(g, PROT_SET_UNSYNCED), g->shape.nr_regions, from), i;

	for (i = 0; i < g->shape.nr_absent; i++)
		if (joining >> i & 1)
			best = min(best, prot_set_next(prot_regions(g, PROT_SET_MISSED + i),
						       g->shape.nr_regions, from));
	return best;
}

/* Take the next region that needs it in hand; false: none does, or the step is over. */
static bool sync_pick_region(struct prot_group *g)
{
	u64 joining = g->joining & prot_absent(g);
	bool around = false;
	u32 i = g->sync.scan, steps;

	if (!joining && prot_none(g, PROT_SET_UNSYNCED))
		return false;
	for (steps = 0; steps < PROT_SYNC_STEPS; steps++, i++) {
		bool unsynced;
		u64 missed;

		i = sync_next_region(g, joining, i);
		if (i == PROT_SET_NONE && !around) {
			around = true;
			i = sync_next_region(g, joining, 0);
		}
		if (i == PROT_SET_NONE)
			return false;
		unsynced = prot_region_in(g, PROT_SET_UNSYNCED, i);
		missed = prot_region_missed(g, i) & joining;
		if (unsynced && prot_weight(g->in_sync) == 1 && !missed) {
			prot_region_drop(g, PROT_SET_UNSYNCED, i);	/* with itself */
			continue;
		}
		g->sync.region = i;
		g->sync.pos = 0;
		g->sync.narrow = 0;
		g->sync.scan = i;
		g->sync.slots = missed;
		g->sync.copies = unsynced ? g->in_sync : 0;
		return true;
	}
	g->sync.scan = i;
	g->sync.more = 1;
	return false;
}

/* Joining members that miss nothing are promoted: they get the bitmaps. */
static bool sync_promote(struct prot_group *g)
{
	u64 joining = g->joining & prot_absent(g);
	u64 before = g->promoting;
	u32 i;

	for (i = 0; i < g->shape.nr_absent; i++)
		if (joining >> i & 1 && prot_none(g, PROT_SET_MISSED + i))
			g->promoting |= PROT_BIT(i);
	return g->promoting != before;
}

/* Background work takes up the rows at @addr, or only the first of them. */
void prot_sync_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow)
{
	op->flags = 0;
	prot_policy(g)->start_rows(g, op, addr, narrow);
}

/* The @n-th op of those that are like @first. */
struct prot_gop *prot_sync_op(const struct prot_group *g, u32 first, u32 n)
{
	return prot_gop(g, n ? g->shape.next_ops + 2 * (n - 1) + first : first);
}

static u64 sync_region_start(const struct prot_group *g)
{
	return (u64)g->sync.region << g->shape.region_shift;
}

/* The next chunk of the region in hand; false: there is none, or not before others ended. */
static bool sync_start_chunk(struct prot_group *g, struct prot_gop *op)
{
	u64 addr = sync_region_start(g) + g->sync.pos;

	if (g->sync.bad != PROT_NO_BAD || g->sync.pos >= g->cfg.region ||
	    addr >= g->cfg.bytes || !g->allowance)
		return false;
	op->kind = PROT_WRITE;
	op->purpose = PROT_FOR_SYNC;
	prot_sync_start_rows(g, op, addr, g->sync.narrow);
	prot_pace_used(g, op->length);
	g->sync.pos += op->length;
	g->sync.out++;
	return true;
}

/* Chunks of the region in hand, or of the next one when there is none. */
static void sync_start(struct prot_group *g)
{
	u32 i;

	if (g->sync.stalled || (g->sync.region == PROT_NO_REGION && !sync_pick_region(g)))
		return;
	for (i = 0; i < g->chunks; i++)
		if (prot_sync_op(g, PROT_OP_SYNC, i)->phase == PROT_P_FREE &&
		    !sync_start_chunk(g, prot_sync_op(g, PROT_OP_SYNC, i)))
			return;
}

/* True: there is more to fetch from the group than before; or @sync.more, with what is next. */
bool prot_sync_next(struct prot_group *g)
{
	g->sync.more = 0;
	if (g->state != PROT_G_SERVING)
		return false;
	/* of what is allowed, who lacks copies takes what it can before they are compared */
	sync_start(g);
	prot_scrub_start(g);
	if (!g->sync.stalled && g->sync.region == PROT_NO_REGION && sync_promote(g))
		return true;
	return g->ready_head != PROT_NONE16;
}

/* Forget what could not be read of a region. */
static void sync_unread_drop(struct prot_group *g, u32 region)
{
	u32 i, left = 0;

	for (i = 0; i < g->nr_unread; i++)
		if (g->unread[i].addr >> g->shape.region_shift != region)
			g->unread[left++] = g->unread[i];
	g->nr_unread = left;
}

/* Another takes the member's place, or it has all. */
void prot_sync_forget(struct prot_group *g, u32 member)
{
	u32 i, left = 0;

	for (i = 0; i < g->nr_unread; i++)
		if (g->unread[i].member != member)
			g->unread[left++] = g->unread[i];
	g->nr_unread = left;
}

static void sync_unread_keep(struct prot_group *g)
{
	sync_unread_drop(g, g->sync.region);
	if (g->nr_unread < PROT_UNREADS)
		g->unread[g->nr_unread++] = (struct prot_diff) {
			.addr = sync_region_start(g) + g->sync.bad,
			.length = g->cfg.lba,
			.member = g->sync.slots ? prot_lowest(g->sync.slots) : PROT_NO_SOURCE,
		};
}

/* The region in hand is whole for all that it was copied to. */
static void sync_region_done(struct prot_group *g)
{
	u64 slots = prot_region_missed(g, g->sync.region) & g->sync.slots;

	sync_unread_drop(g, g->sync.region);
	if (g->sync.copies)
		prot_region_drop(g, PROT_SET_UNSYNCED, g->sync.region);
	for (; slots; slots &= slots - 1) {
		prot_region_drop(g, PROT_SET_MISSED + prot_lowest(slots), g->sync.region);
		prot_bitmap_touch(g, PROT_MISSED + prot_lowest(slots), g->sync.region);
	}
	g->sync.region = PROT_NO_REGION;
	g->sync.slots = 0;
	g->sync.unread = PROT_NO_REGION;
}

/*
 * A sector of the region in hand cannot be read from any source: the others go on, and when it
 * has its turn again with none of them done meanwhile, all of it waits.
 */
static void sync_region_unread(struct prot_group *g)
{
	u32 region = g->sync.region;

	sync_unread_keep(g);
	g->sync.region = PROT_NO_REGION;
	g->sync.slots = 0;
	g->sync.scan = region + 1;
	if (g->sync.unread == region) {
		g->sync.stalled = 1;
		g->sync.unread = PROT_NO_REGION;
	} else if (g->sync.unread == PROT_NO_REGION) {
		g->sync.unread = region;
	}
}

/* A chunk is over. What could not be read is read again when those beside it are over, too. */
void prot_sync_ended(struct prot_group *g, const struct prot_gop *op)
{
	u32 pos = op->addr - sync_region_start(g);

	g->sync.out--;
	if (op->err) {
		g->sync.bad = min(g->sync.bad, pos);
		g->sync.lost |= op->length <= g->cfg.lba || g->sync.narrow;
	} else {
		g->synced += op->length;
	}
	if (g->sync.out)
		return;
	if (g->sync.lost) {
		sync_region_unread(g);
	} else if (g->sync.bad != PROT_NO_BAD) {
		g->sync.narrow = 1;
		g->sync.pos = g->sync.bad;
	} else if (g->sync.pos >= g->cfg.region ||
		   sync_region_start(g) + g->sync.pos >= g->cfg.bytes) {
		sync_region_done(g);
	}
	g->sync.bad = PROT_NO_BAD;
	g->sync.lost = 0;
}
