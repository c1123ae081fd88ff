// SPDX-License-Identifier: GPL-2.0-only
/* An op of an erasure-coded group: stripe, strips, beginning, I/O and work. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/ec/ec_priv.h"

u64 prot_ec_span(const struct prot_group *g, u64 addr)
{
	u32 at;

	div_u64_rem(addr, prot_ec_stripe_bytes(g), &at);
	return prot_ec_stripe_bytes(g) - at;
}

void prot_ec_part(const struct prot_group *g, const struct prot_gop *op, u32 strip,
		  u32 *from, u32 *length)
{
	const struct prot_ec_range *r;

	*from = 0;
	*length = op->length;
	if (op->purpose == PROT_FOR_SCRUB) {
		*from = prot_ecop(g, op)->from;
		*length = prot_ecop(g, op)->length;
	}
	if (strip >= g->cfg.k || op->purpose != PROT_FOR_REQUEST)
		return;
	r = prot_ec_range(g, op, strip);
	*from = r->lo - prot_ecop(g, op)->row;
	*length = r->hi - r->lo;
}

/* The part of @strip in the op's own request. */
struct prot_ec_range prot_ec_own_part(const struct prot_group *g, const struct prot_ecop *e,
				      u32 strip)
{
	u64 base = e->stripe * prot_ec_stripe_bytes(g) + (u64)strip * g->cfg.strip;
	struct prot_ec_range part;

	part.lo = max(e->start, base) - base;
	part.hi = min(e->start + e->bytes, base + g->cfg.strip) - base;
	return part;
}

/* True: the op requests all rows of @strip. */
bool prot_ec_whole(const struct prot_group *g, const struct prot_gop *op, u32 strip)
{
	u32 from, length;

	if (!(prot_ecop(g, op)->data >> strip & 1))
		return false;
	prot_ec_part(g, op, strip, &from, &length);
	return length == op->length;
}

/* The byte of the request's payload for byte @from of @strip. */
u32 prot_ec_payload_at(const struct prot_group *g, const struct prot_gop *op, u32 strip,
		       u32 from)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	return e->stripe * prot_ec_stripe_bytes(g) + (u64)strip * g->cfg.strip + from - e->start;
}

/* Members with requested strips that must not be read now. */
u64 prot_ec_unreadable(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	return prot_ec_members(g, e, e->data) & ~prot_ec_sources(g, op);
}

static void op_set_stripe(struct prot_group *g, struct prot_ecop *e, u64 stripe)
{
	u32 rot;

	memset(e, 0, sizeof(*e));
	e->stripe = stripe;
	div_u64_rem(stripe, g->cfg.width, &rot);
	e->rot = rot;
	div_u64_rem(stripe, g->cfg.rings, &e->ring);
}

/* A request's op begins: @bytes from @start on, in one stripe. */
void prot_ec_start_op(struct prot_group *g, struct prot_gop *op, u64 start, u32 bytes)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u32 at, first, last, strip, rows = bytes;

	op_set_stripe(g, e, div_u64_rem(start, prot_ec_stripe_bytes(g), &at));
	e->start = start;
	e->bytes = bytes;
	first = at / g->cfg.strip;
	last = (at + bytes - 1) / g->cfg.strip;
	e->data = (PROT_BIT(last + 1) - 1) & ~(PROT_BIT(first) - 1);
	e->own = e->data;
	for (strip = first; strip <= last; strip++)
		*prot_ec_range(g, op, strip) = prot_ec_own_part(g, e, strip);
	e->row = at & (g->cfg.strip - 1);
	if (first != last) {
		e->row = 0;
		rows = g->cfg.strip;
	}
	e->strips = e->data;
	if (op->kind == PROT_READ && prot_ec_unreadable(g, op) && !PROT_MUTANT(EC_READ_RACE))
		e->strips = ~0ULL;
	prot_start(g, op, e->stripe * g->cfg.strip + e->row, rows);
}

/* @op begins again, behind all ops submitted meanwhile. */
void prot_ec_start_again(struct prot_group *g, struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	prot_ec_start_op(g, op, e->start, e->bytes);
}

/* Rows of one stripe for background work to take at a time. */
static u32 op_rows_at(const struct prot_group *g, const struct prot_gop *op, u64 addr)
{
	return min_t(u64, prot_pace_most(g, op, g->shape.window),
		     g->shape.window - (addr & (g->shape.window - 1)));
}

void prot_ec_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow)
{
	struct prot_ecop *e = prot_ecop(g, op);

	op_set_stripe(g, e, addr >> ilog2(g->cfg.strip));
	e->row = addr & (g->cfg.strip - 1);
	/* no op reads a strip of a joining member */
	e->strips = op->purpose == PROT_FOR_SYNC ? 0 : ~0ULL;
	prot_start(g, op, addr, narrow ? g->cfg.lba : op_rows_at(g, op, addr));
}

void prot_ec_work_tag(const struct prot_group *g, struct prot_gop *op, u8 kind,
		      struct prot_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = kind;
	ev->op = prot_gop_index(g, op);
	ev->cookie = op->cookie;
	ev->io.tag = ev->op << PROT_TAG_SHIFT | PROT_TAG_WORK;
	op->sent |= PROT_BIT(PROT_TAG_WORK);
}

void prot_ec_fill_private(const struct prot_group *g, const struct prot_gop *op, u32 member,
			  u8 kind, u32 buffer_at, u32 from, u32 length, struct prot_event *ev)
{
	prot_io_fill(g, op, member, kind, op->addr + from, length, ev);
	ev->runs[0].buffer = PROT_BUFFER_PRIVATE + op->buf;
	ev->runs[0].offset = buffer_at;
}
