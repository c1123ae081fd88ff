// SPDX-License-Identifier: GPL-2.0-only
/*
 * Background work: resynchronisation of dirty regions, catch-up and rebuild of
 * joining members: all three are one thing, to copy a region, chunk by chunk,
 * under its row lock.
 *
 *   regions in hand   |#####done#####|chunk|chunk|   |chunk|............|
 *
 * A region is done when all its chunks are. So that as many are in flight meanwhile, the next one
 * is begun once the last chunk of this one is, or one of them could not be read, and no further one
 * before this is done. Beside requests one is in hand alone.
 *
 * From the moment a region is taken in hand, new writes to it reach the member
 * it is copied for; older ones that skipped that member hold their rows, so
 * the chunk waits for them and copies what they wrote.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

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

void prot_sync_init(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < PROT_HANDS; i++)
		g->sync.hand[i] = (struct prot_hand){ .region = PROT_NO_REGION,
						      .bad = PROT_NO_BAD };
	g->sync.unread = PROT_NO_REGION;
}

/* Which hand has @region; PROT_HANDS: none. */
static u32 sync_hand_of(const struct prot_group *g, u32 region)
{
	u32 i;

	for (i = 0; i < PROT_HANDS && g->sync.hand[i].region != region; i++)
		;
	return i;
}

/* The hand that has @region; where none has, one for no slots and no copies. */
const struct prot_hand *prot_sync_hand(const struct prot_group *g, u32 region)
{
	static const struct prot_hand none;
	u32 i = sync_hand_of(g, region);

	return i < PROT_HANDS ? &g->sync.hand[i] : &none;
}

static bool sync_all_free(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < PROT_HANDS; i++)
		if (g->sync.hand[i].region != PROT_NO_REGION)
			return false;
	return true;
}

/*
 * The first that could not be read since one was has its turn again when all others had theirs:
 * alone, as whether these could be read says whether all of it waits.
 */
static bool sync_is_last(const struct prot_group *g, u32 region)
{
	return region == g->sync.unread && !sync_all_free(g);
}

/* Whether another one may be taken in hand: not beside requests, which it would delay. */
static bool sync_may_pick(const struct prot_group *g)
{
	return sync_all_free(g) ||
	       (!g->pace.beside && (g->sync.unread == PROT_NO_REGION ||
				    sync_hand_of(g, g->sync.unread) == PROT_HANDS));
}

static void sync_pick(struct prot_group *g, struct prot_hand *h, u32 region, u64 missed,
		      bool unsynced)
{
	h->region = region;
	h->pos = 0;
	h->narrow = 0;
	h->slots = missed;
	h->copies = unsynced ? g->in_sync : 0;
	g->sync.scan = region + 1;
}

/* Take the next region that needs it in hand; false: none does, or the step is over. */
static bool sync_pick_region(struct prot_group *g, struct prot_hand *h)
{
	u64 joining = g->joining & prot_absent(g);
	bool around = false;
	u32 i = g->sync.scan, steps;

	if (!sync_may_pick(g) || (!joining && prot_none(g, PROT_SET_UNSYNCED)))
		return false;
	for (steps = 0; steps < PROT_SYNC_STEPS; steps++, i++) {
		bool unsynced;
		u64 missed;

		i = sync_next_region(g, joining, i);
		if (i == PROT_SET_NONE && !around) {
			around = true;
			i = sync_next_region(g, joining, 0);
		}
		if (i == PROT_SET_NONE || sync_is_last(g, i))
			return false;
		if (sync_hand_of(g, i) < PROT_HANDS)
			continue;
		unsynced = prot_region_in(g, PROT_SET_UNSYNCED, i);
		missed = prot_region_missed(g, i) & joining;
		if (unsynced && prot_weight(g->in_sync) == 1 && !missed) {
			prot_region_drop(g, PROT_SET_UNSYNCED, i);	/* with itself */
			continue;
		}
		sync_pick(g, h, i, missed, unsynced);
		return true;
	}
	g->sync.scan = i;
	g->sync.more = 1;
	return false;
}

/* Joining members that miss nothing are promoted: they get the bitmaps. True: one is. */
bool prot_sync_promote(struct prot_group *g)
{
	u64 joining = g->joining & prot_absent(g);
	u64 before = g->promoting;
	u32 i;

	if (g->sync.stalled || !sync_all_free(g))
		return false;
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

static u64 sync_start_of(const struct prot_group *g, const struct prot_hand *h)
{
	return (u64)h->region << g->shape.region_shift;
}

/* Whether all of its chunks were begun. */
static bool sync_begun(const struct prot_group *g, const struct prot_hand *h)
{
	return h->pos >= g->cfg.region || sync_start_of(g, h) + h->pos >= g->cfg.bytes;
}

/* The hand whose next chunk is to begin; NULL: there is none, or not before others ended. */
static struct prot_hand *sync_next_hand(struct prot_group *g)
{
	struct prot_hand *h = g->sync.hand;
	u32 i;

	for (i = 0; i < PROT_HANDS; i++)
		if (h[i].region != PROT_NO_REGION && h[i].bad == PROT_NO_BAD &&
		    !sync_begun(g, &h[i]))
			return &h[i];
	for (i = 0; i < PROT_HANDS; i++)
		if (h[i].region == PROT_NO_REGION)
			return sync_pick_region(g, &h[i]) ? &h[i] : NULL;
	return NULL;
}

/* The next chunk of a region in hand; false: there is none, or not before others ended. */
static bool sync_start_chunk(struct prot_group *g, struct prot_gop *op)
{
	struct prot_hand *h = sync_next_hand(g);

	if (!h || !g->allowance)
		return false;
	op->kind = PROT_WRITE;
	op->purpose = PROT_FOR_SYNC;
	prot_sync_start_rows(g, op, sync_start_of(g, h) + h->pos, h->narrow);
	prot_pace_used(g, op->length);
	h->pos += op->length;
	h->out++;
	return true;
}

/* Chunks of the regions in hand, or of the next one when there is room for it. */
void prot_sync_start(struct prot_group *g)
{
	u32 i;

	if (g->sync.stalled)
		return;
	for (i = 0; i < g->chunks; i++)
		if (prot_sync_op(g, PROT_OP_SYNC, i)->phase == PROT_P_FREE &&
		    !sync_start_chunk(g, prot_sync_op(g, PROT_OP_SYNC, i)))
			return;
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

/* A joining member has left: nothing is copied to it. */
void prot_sync_forget(struct prot_group *g, u32 member)
{
	u32 i, left = 0;

	for (i = 0; i < PROT_HANDS; i++)
		g->sync.hand[i].slots &= ~PROT_BIT(member);
	/* none may lack that one now: it would have no turn */
	g->sync.unread = PROT_NO_REGION;
	for (i = 0; i < g->nr_unread; i++)
		if (g->unread[i].member != member)
			g->unread[left++] = g->unread[i];
	g->nr_unread = left;
}

/* Members have @left: no region is made equal on them. */
void prot_sync_strike(struct prot_group *g, u64 left)
{
	u32 i;

	for (i = 0; i < PROT_HANDS; i++)
		g->sync.hand[i].copies &= ~left;
}

static void sync_unread_keep(struct prot_group *g, const struct prot_hand *h)
{
	sync_unread_drop(g, h->region);
	if (g->nr_unread < PROT_UNREADS)
		g->unread[g->nr_unread++] = (struct prot_diff) {
			.addr = sync_start_of(g, h) + h->bad,
			.length = g->cfg.lba,
			.member = h->slots ? prot_lowest(h->slots) : PROT_NO_SOURCE,
		};
}

/* A region in hand is whole for all that it was copied to. */
static void sync_region_done(struct prot_group *g, struct prot_hand *h)
{
	u64 slots = prot_region_missed(g, h->region) & h->slots;

	sync_unread_drop(g, h->region);
	if (h->copies)
		prot_region_drop(g, PROT_SET_UNSYNCED, h->region);
	for (; slots; slots &= slots - 1) {
		prot_region_drop(g, PROT_SET_MISSED + prot_lowest(slots), h->region);
		prot_bitmap_touch(g, PROT_MISSED + prot_lowest(slots), h->region);
	}
	h->region = PROT_NO_REGION;
	h->slots = 0;
	g->sync.unread = PROT_NO_REGION;
}

/*
 * A sector of a region in hand cannot be read from any source: the others go on, and when it
 * has its turn again with none of them done meanwhile, all of it waits.
 */
static void sync_region_unread(struct prot_group *g, struct prot_hand *h)
{
	u32 region = h->region;

	sync_unread_keep(g, h);
	h->region = PROT_NO_REGION;
	h->slots = 0;
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
	struct prot_hand *h = &g->sync.hand[sync_hand_of(g, prot_region_of(g, op->addr))];

	h->out--;
	if (op->err) {
		h->bad = min_t(u32, h->bad, op->addr - sync_start_of(g, h));
		h->lost |= op->length <= g->cfg.lba || h->narrow;
	} else {
		g->synced += op->length;
	}
	if (h->out)
		return;
	if (h->lost) {
		sync_region_unread(g, h);
	} else if (h->bad != PROT_NO_BAD) {
		h->narrow = 1;
		h->pos = h->bad;
	} else if (sync_begun(g, h)) {
		sync_region_done(g, h);
	}
	h->bad = PROT_NO_BAD;
	h->lost = 0;
}
