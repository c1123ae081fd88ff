// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small writes in order, one at a time, as of a log: old data for parity is in memory.
 *
 *   stripe   D0                D1, D2, D3        P, Q
 *            w w w W . . .     read whole
 *                  '- the third in a row: begins the fill, beside its own reads
 *
 * Without the cache each write reads old data and parity first: twice the commands, and a round
 * trip more. Writes behind W compute parity from all data, and read nothing.
 *
 * The cache holds the content of a strip as left by the last write past its gate:
 *
 *   filled      read with the row lock, as by a reader: never content still to be put in place
 *   gated       a write of at most two strips brings its data at its gate, before the next write
 *               of the same rows begins
 *   forgotten   at any other write: more strips, zeroes of a stripe, a write without a record, a
 *               scrub that rewrites, a member filled again
 *
 * A failing member changes no data, so the cache stays; no stripe is filled then.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "protect/ec/ec_priv.h"

#define CACHE_WRITES	4	/* writes a stripe, at least */

/* Data of a stripe. */
struct prot_ec_cached {
	u64	key;		/* the stripe's number, plus one; 0: none */
	struct prot_ec_range has[];	/* by strip, the cached bytes; none: hi is 0 */
};

u32 prot_ec_cached_bytes(const struct prot_group_config *c)
{
	return sizeof(struct prot_ec_cached) + c->k * sizeof(struct prot_ec_range);
}

static struct prot_ec_cached *cache_entry(const struct prot_group *g, u32 i)
{
	return prot_at(g, g->shape.off_cache + i * prot_ec_cached_bytes(&g->cfg));
}

/* The entry of @stripe; PROT_CACHED_MAX: there is none. */
static u32 cache_of(const struct prot_group *g, u64 stripe)
{
	u32 i;

	for (i = 0; i < g->cfg.cached; i++)
		if (cache_entry(g, i)->key == stripe + 1)
			return i;
	return PROT_CACHED_MAX;
}

static u8 *cache_data(const struct prot_group *g, u32 i, u32 strip)
{
	return prot_private(g, prot_nr_bufs(&g->cfg) + i) + strip * g->cfg.strip;
}

/* The bytes [@lo, @hi) of a strip of @e's stripe; NULL: not all cached. */
const u8 *prot_ec_cached(const struct prot_group *g, const struct prot_ecop *e, u32 strip,
			 u32 lo, u32 hi)
{
	u32 i = cache_of(g, e->stripe);
	const struct prot_ec_range *has;

	if (i == PROT_CACHED_MAX || strip >= g->cfg.k)
		return NULL;
	has = &cache_entry(g, i)->has[strip];
	return has->lo <= lo && hi <= has->hi ? cache_data(g, i, strip) + lo : NULL;
}

void prot_ec_cache_forget(struct prot_group *g, u64 stripe)
{
	u32 i = cache_of(g, stripe);

	if (i != PROT_CACHED_MAX)
		cache_entry(g, i)->key = 0;
}

/* [@lo, @hi) is cached now, together with earlier bytes if the two ranges touch. */
static void cache_add(struct prot_ec_range *has, u32 lo, u32 hi)
{
	bool apart = lo > has->hi || hi < has->lo;

	has->lo = apart ? lo : min(has->lo, lo);
	has->hi = apart ? hi : max(has->hi, hi);
}

/* @op has passed the gate. */
void prot_ec_cache_gated(struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 i = cache_of(g, e->stripe), strip, from, length;

	if (i == PROT_CACHED_MAX || PROT_MUTANT(EC_CACHE_OLD))
		return;
	if (e->kind != PROT_SLOT_PAYLOAD || prot_weight(e->data) > 2) {
		if (!PROT_MUTANT(EC_CACHE_ZEROES))
			prot_ec_cache_forget(g, e->stripe);
		return;
	}
	for (strip = 0; strip < g->cfg.k; strip++) {
		if (!(e->data >> strip & 1))
			continue;
		prot_ec_part(g, op, strip, &from, &length);
		memcpy(cache_data(g, i, strip) + e->row + from,
		       prot_ec_frame(g, op) + prot_ec_new(g, op, strip) + from, length);
		cache_add(&cache_entry(g, i)->has[strip], e->row + from, e->row + from + length);
	}
}

/* True: a fill pays off, since most of the stripe is still to come, in small pieces. */
static bool cache_worth(const struct prot_group *g, const struct prot_ecop *e)
{
	u32 stripe = g->cfg.k * g->cfg.strip;

	return e->bytes <= stripe / CACHE_WRITES &&
	       e->start - e->stripe * stripe < stripe / 2 && prot_weight(e->data) == 1;
}

/* @op continues several writes in order, and waits for none of the earlier writes. */
void prot_ec_cache_note(struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	struct prot_gop *fill = prot_gop(g, PROT_OP_FILL);
	struct prot_ec_cached *c;
	u32 i;

	if (!g->cfg.cached || fill->phase != PROT_P_FREE || !cache_worth(g, e) || g->avoid ||
	    prot_weight(prot_live(g)) < g->cfg.width || cache_of(g, e->stripe) != PROT_CACHED_MAX)
		return;
	i = g->cache_next++ % g->cfg.cached;
	if (*prot_hung(g, prot_nr_bufs(&g->cfg) + i))
		return;
	c = cache_entry(g, i);
	memset(c, 0, prot_ec_cached_bytes(&g->cfg));
	c->key = e->stripe + 1;
	*prot_ecop(g, fill) = (struct prot_ecop) {
		.stripe = e->stripe, .rot = e->rot, .ring = e->ring,
		.gather = prot_ec_all_data(g) & ~e->data,
	};
	fill->kind = PROT_READ;
	fill->flags = 0;
	fill->purpose = PROT_FOR_FILL;
	fill->retried = 0;
	fill->acked = 0;
	if (!PROT_MUTANT(EC_FILL_RACE))
		prot_ecop(g, fill)->strips = prot_ecop(g, fill)->gather;
	prot_start(g, fill, e->stripe * g->cfg.strip, g->cfg.strip);
	fill->exclusive = 0;	/* a read, beside other reads */
}

enum prot_ec_verdict prot_ec_fill_next(struct prot_group *g, struct prot_gop *op,
				       struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u32 i = cache_of(g, e->stripe), strip, member;
	u64 left = e->gather & prot_ec_strips(g, e, prot_live(g) & ~op->sent);

	if (!left || i == PROT_CACHED_MAX)
		return op->sent & ~op->ended ? PROT_EC_WAIT : PROT_EC_END;
	strip = prot_lowest(left);
	member = prot_ec_member(g, e, strip);
	/* a write of the strip may pass its gate meanwhile; a failed read leaves any content */
	cache_entry(g, i)->has[strip] = (struct prot_ec_range){ 0 };
	op->sent |= PROT_BIT(member);
	g->load[member]++;
	prot_io_fill(g, op, member, PROT_READ, op->addr, op->length, ev);
	ev->runs[0].buffer = PROT_BUFFER_PRIVATE + prot_nr_bufs(&g->cfg) + i;
	ev->runs[0].offset = strip * g->cfg.strip;
	return PROT_EC_EVENT;
}

/* @strip was read, or cannot be read: writes of the strip wait for the fill no more. */
void prot_ec_filled(struct prot_group *g, struct prot_gop *op, u32 strip, int err)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u32 i = cache_of(g, e->stripe);

	if (!err && i != PROT_CACHED_MAX)
		cache_entry(g, i)->has[strip] = (struct prot_ec_range){ .hi = g->cfg.strip };
	e->strips &= ~PROT_BIT(strip);
	prot_wake_rows(g, op);
}
