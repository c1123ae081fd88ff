// SPDX-License-Identifier: GPL-2.0-only
/*
 * Background work: resynchronisation of dirty regions, catch-up and rebuild of joining members.
 * All three copy a region, chunk by chunk, under the row lock of each chunk.
 *
 *   regions in hand   |#####done#####|chunk|chunk|   |chunk|............|
 *
 * A region is done when all its chunks are. To keep chunks in flight meanwhile, the next region
 * is begun once the last chunk of the first region has begun, or a chunk could not be read. No
 * third region is begun before one of the two is done. Beside requests only one region is in
 * hand.
 *
 * From the moment a region is taken in hand, new writes to the region reach the destination of
 * the copy. Older writes that skipped the destination hold their rows, so the chunk waits for
 * these writes and copies their data.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

/* The first region at or after @from, unsynced or missed by a joining member. */
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

/* The hand with @region; PROT_HANDS: none. */
static u32 sync_hand_of(const struct prot_group *g, u32 region)
{
	u32 i;

	for (i = 0; i < PROT_HANDS && g->sync.hand[i].region != region; i++)
		;
	return i;
}

/* The hand with @region; without one, a hand with no slots and no copies. */
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
 * The first unreadable region since a region was done has its turn again after all others, and
 * alone: success or failure then decides whether all background copying waits.
 */
static bool sync_is_last(const struct prot_group *g, u32 region)
{
	return region == g->sync.unread && !sync_all_free(g);
}

/*
 * True: another region may be taken in hand. Beside requests there is one alone, because more
 * would delay the requests.
 */
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

/* Take the next region in hand, to be copied; false: none may be now, or the step is over. */
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
			prot_region_drop(g, PROT_SET_UNSYNCED, i);	/* alone: equal to itself */
			continue;
		}
		sync_pick(g, h, i, missed, unsynced);
		return true;
	}
	g->sync.scan = i;
	g->sync.more = 1;
	return false;
}

/*
 * Promote joining members that miss nothing: the bitmaps go to promoted members. True: a member
 * was promoted.
 */
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

/* Background work takes up the rows at @addr; @narrow: only the first row. */
void prot_sync_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow)
{
	op->flags = 0;
	prot_policy(g)->start_rows(g, op, addr, narrow);
}

/* The @n-th op of the kind of @first: PROT_OP_SYNC or PROT_OP_SCRUB. */
struct prot_gop *prot_sync_op(const struct prot_group *g, u32 first, u32 n)
{
	return prot_gop(g, n ? g->shape.next_ops + 2 * (n - 1) + first : first);
}

static u64 sync_start_of(const struct prot_group *g, const struct prot_hand *h)
{
	return (u64)h->region << g->shape.region_shift;
}

/* True: all chunks of the hand were begun. */
static bool sync_begun(const struct prot_group *g, const struct prot_hand *h)
{
	return h->pos >= g->cfg.region || sync_start_of(g, h) + h->pos >= g->cfg.bytes;
}

/* The hand with the next chunk to begin; NULL: none, or not before other chunks have ended. */
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

/* The next chunk of a region in hand; false: none now, or nothing is allowed. */
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

/* Begin chunks of the regions in hand, or of the next region when there is room. */
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

/* Forget the unreadable sectors of a region. */
static void sync_unread_drop(struct prot_group *g, u32 region)
{
	u32 i, left = 0;

	for (i = 0; i < g->nr_unread; i++)
		if (g->unread[i].addr >> g->shape.region_shift != region)
			g->unread[left++] = g->unread[i];
	g->nr_unread = left;
}

/* A joining member has left: nothing more is copied to the member. */
void prot_sync_forget(struct prot_group *g, u32 member)
{
	u32 i, left = 0;

	for (i = 0; i < PROT_HANDS; i++)
		g->sync.hand[i].slots &= ~PROT_BIT(member);
	/* the noted region may be missed by no other member, and then would get no turn */
	g->sync.unread = PROT_NO_REGION;
	for (i = 0; i < g->nr_unread; i++)
		if (g->unread[i].member != member)
			g->unread[left++] = g->unread[i];
	g->nr_unread = left;
}

/* Members @left have left: no region is made equal on them. */
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

/* A region in hand is whole on all destinations of the copy. */
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
 * A sector of a region in hand cannot be read from any source: the other regions go on. If the
 * region has another turn with no region done meanwhile, all background copying waits.
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

/* A chunk is over. Unreadable rows are read again when the chunks beside are over, too. */
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
