// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads of an op of an erasure-coded group, before parity is computed.
 *
 *   partial write, W strips    DELTA: old data and parity, W + m reads
 *                              ENCODE: the other data, k - W reads, or k reads
 *                              when some data has to be rebuilt first
 *   full stripe                ENCODE: no reads
 *   degraded read, catch-up    REBUILD: any k strips
 *   scrub                      VERIFY: all strips, or REBUILD of unreadable strips
 *
 * The cheaper one wins: fewer commands, then fewer bytes. Content in memory, of an older write of
 * the same rows or in the cache, costs nothing.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "protect/ec/ec_priv.h"

/* Strips whose content in place may be read. */
static u64 plan_readable(const struct prot_group *g, const struct prot_gop *op)
{
	return prot_ec_strips(g, prot_ecop(g, op), prot_ec_sources(g, op));
}

/* Add @n more strips of @from to @set, on members with the shortest queues first. */
static u64 plan_pick(const struct prot_group *g, const struct prot_ecop *e, u64 set, u64 from,
		     int n)
{
	for (from &= ~set; n > 0 && from; n--) {
		u32 best = prot_lowest(from), i;

		for (i = best + 1; i < g->cfg.width; i++)
			if (from >> i & 1 && g->load[prot_ec_member(g, e, i)] <
					     g->load[prot_ec_member(g, e, best)])
				best = i;
		set |= PROT_BIT(best);
		from &= ~PROT_BIT(best);
	}
	return set;
}

static int plan_encode(struct prot_group *g, struct prot_gop *op, u64 need)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 can = plan_readable(g, op);

	e->plan = PROT_PLAN_ENCODE;
	e->gather = need;
	if (!(need & ~can))
		return 0;
	e->lost = need & ~can;
	e->have = plan_pick(g, e, need & can, can, g->cfg.k - prot_weight(need & can));
	e->gather = e->have;
	return prot_weight(e->have) == g->cfg.k ? 0 : -EIO;
}

/* True: the old content of @strip costs a read. */
static bool plan_costs(const struct prot_group *g, const struct prot_gop *op, u32 strip, u32 from,
		       u32 length)
{
	const u8 *src;

	return prot_ec_at_hand(g, op, strip, from, length, &src) != PROT_AT_HAND;
}

/* The price of changing parity by a delta, and of computing parity from all data. */
struct price {
	u32 delta, encode;
	u64 delta_bytes, encode_bytes;
};

static void plan_price(const struct prot_group *g, const struct prot_gop *op, u64 need,
		       struct price *p)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 from, length;
	u64 left;

	*p = (struct price){ 0 };
	for (left = e->data | e->want; left; left &= left - 1) {
		prot_ec_part(g, op, prot_lowest(left), &from, &length);
		if (plan_costs(g, op, prot_lowest(left), from, length)) {
			p->delta++;
			p->delta_bytes += length;
		}
	}
	/* once encoding is dearer, the exact price makes no difference */
	for (left = need; left && p->encode <= p->delta; left &= left - 1)
		if (plan_costs(g, op, prot_lowest(left), 0, op->length)) {
			p->encode++;
			p->encode_bytes += op->length;
		}
}

/* Parity strips to write: of members in sync or catching up, but for failed members. */
static u64 plan_wanted(const struct prot_group *g, const struct prot_ecop *e)
{
	return prot_ec_strips(g, e, (prot_ec_full(g) | e->joins) & ~g->failed) &
	       prot_ec_all_parity(g);
}

int prot_ec_plan_write(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 need = prot_ec_all_data(g), can = plan_readable(g, op);
	struct price p;
	u32 strip;

	e->want = plan_wanted(g, e);
	e->from = 0;
	e->length = op->length;
	if (!e->want) {
		e->plan = PROT_PLAN_DELTA;
		return 0;
	}
	for (strip = 0; strip < g->cfg.k; strip++)
		if (prot_ec_whole(g, op, strip))
			need &= ~PROT_BIT(strip);
	plan_price(g, op, need, &p);
	if (need & ~can) {
		p.encode = g->cfg.k;
		p.encode_bytes = (u64)g->cfg.k * op->length;
	}
	if (!((e->data | e->want) & ~can) &&
	    (p.delta < p.encode || (p.delta == p.encode && p.delta_bytes < p.encode_bytes))) {
		e->plan = PROT_PLAN_DELTA;
		e->gather = e->data | e->want;
		return 0;
	}
	return plan_encode(g, op, need);
}

/* The requested rows of all lost strips. */
static void plan_lost_rows(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u32 strip, from, length, lo = op->length, hi = 0;

	for (strip = 0; strip < g->cfg.k; strip++) {
		if (!(e->lost >> strip & 1))
			continue;
		prot_ec_part(g, op, strip, &from, &length);
		lo = min(lo, from);
		hi = max(hi, from + length);
	}
	e->from = lo;
	e->length = hi - lo;
}

/* Strips of members that are out: for a read, or for a joining member. */
int prot_ec_plan_rebuild(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 can = plan_readable(g, op);

	e->plan = PROT_PLAN_REBUILD;
	if (op->purpose == PROT_FOR_SYNC) {
		op->targets = prot_sync_hand(g, prot_region_of(g, op->addr))->slots &
			      prot_absent(g) & g->joining;
		e->lost = prot_ec_strips(g, e, op->targets);
		e->from = 0;
		e->length = op->length;
	} else {
		e->lost = e->data & ~can;
		if (e->lost)
			plan_lost_rows(g, op);
	}
	if (!e->lost)
		return 0;
	e->have = plan_pick(g, e, 0, can, g->cfg.k);
	e->gather = e->have;
	return prot_weight(e->have) == g->cfg.k ? 0 : -EIO;
}

/*
 * Verify all readable strips against each other. An unreadable strip is rebuilt from the others
 * instead. A strip with unreadable rows is gone through row by row.
 */
int prot_ec_plan_scrub(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (prot_live(g) & op->tried && op->chunk > g->cfg.lba) {
		op->chunk = g->cfg.lba;
		op->tried = 0;
	}
	e->plan = PROT_PLAN_VERIFY;
	e->from = op->pos;
	e->length = op->chunk;
	e->remake = prot_scrub_repairs(g, op);
	e->fix = prot_live(g) & op->tried;
	e->gather = plan_readable(g, op);
	if (!e->fix)
		return 0;
	e->plan = PROT_PLAN_REBUILD;
	e->lost = prot_ec_strips(g, e, e->fix);
	e->have = plan_pick(g, e, 0, e->gather, g->cfg.k);
	e->gather = e->have;
	return prot_weight(e->have) == g->cfg.k ? 0 : -EIO;
}
