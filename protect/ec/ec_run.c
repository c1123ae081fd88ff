// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small writes in order, one at a time, go in place together.
 *
 *   records    | W1 | W2 | W3 | W4 |     one write each; the stages lie side by side
 *   staged     |D1|D2|D3|D4|
 *   in place                        |D1 D2 D3 D4|     one write a member
 *
 * Records decide the latency of a write; the write in place is work alone, and half of all
 * commands. W1, durable past its gate, is held back there while the next write of the stream may
 * come. The next write, past its own gate, takes over W1 on each member with both stages side by
 * side: W1 is over when the run is in place, like a write superseded by a later write of the same
 * rows (ec_rows.c). So only the last write of a run is ever sent.
 *
 * A write is held until the end of the strip, or until the run is long enough or enough slots of
 * the ring are in flight, or
 *
 *   the stream goes on elsewhere, or is forgotten
 *   an op waits: for rows, a buffer, a ring slot, or to be an op (prot_ec_run_hurry())
 *   a member fails, is late, or catches up
 *   there is time (prot_group_idle())
 *
 * If a member has dropped the stages of a run, the writes go in place one by one, each from a
 * private buffer: every write of the run still has its own.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "protect/ec/ec_priv.h"

#define RUN_BYTES	65536	/* of a strip, in one write in place */

static bool run_gated(const struct prot_gop *op)
{
	return op->purpose == PROT_FOR_REQUEST && op->phase == PROT_P_EC_PLACE;
}

/* True: @op is, and always was, the next part of the same strip behind @o, in the same run. */
static bool run_continues(const struct prot_group *g, const struct prot_gop *o,
			  const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op), *x = prot_ecop(g, o);

	return e->run_id && x->run_id == e->run_id && x->stripe == e->stripe &&
	       x->data == e->data && x->row + o->length == e->row;
}

/* The write before @op in the run, if not in place yet; or NULL. */
static struct prot_gop *run_before(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	struct prot_gop *o;

	if (!e->prev)
		return NULL;
	o = prot_gop(g, e->prev - 1);
	return run_gated(o) && prot_ecop(g, o)->txid && run_continues(g, o, op) ? o : NULL;
}

/* @op begins at the end of @o, which is in flight. */
void prot_ec_run_note(struct prot_group *g, struct prot_gop *o, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op), *x = prot_ecop(g, o);

	if (o->phase == PROT_P_FREE || o->phase == PROT_P_ENDED || x->stripe != e->stripe ||
	    x->data != e->data || prot_weight(e->data) != 1 || x->row + o->length != e->row)
		return;
	if (!x->run_id)
		x->run_id = x->serial;
	e->run_id = x->run_id;
	e->prev = prot_gop_index(g, o) + 1;
	x->succ = prot_gop_index(g, op) + 1;
}

/* Bytes to keep of the record of @op and of possible next writes; 0: no room for more. */
u32 prot_ec_run_room(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (!e->grown || prot_weight(e->data) != 1 || op->length > RUN_BYTES / 4)
		return 0;
	return min_t(u32, RUN_BYTES, g->cfg.strip - e->row);
}

/* The stage behind which @op is to be staged at @member; PROT_NO_STAGE: none. */
u32 prot_ec_run_after(const struct prot_group *g, const struct prot_gop *op, u32 member)
{
	const struct prot_gop *o = run_before(g, op);

	if (!o || !(prot_ecop(g, o)->kept & ~o->sent & PROT_BIT(member)))
		return PROT_NO_STAGE;
	return (u32)prot_gop_index(g, o) << PROT_TAG_SHIFT | member;
}

void prot_group_staged(struct prot_group *g, u32 tag, bool behind)
{
	struct prot_ecop *e = prot_ecop(g, prot_gop(g, tag >> PROT_TAG_SHIFT));
	u64 bit = PROT_BIT(tag & (PROT_BIT(PROT_TAG_SHIFT) - 1));

	e->kept |= bit;
	if (behind)
		e->chained |= bit;
}

/* True: all members serve and nothing is unusual. */
static bool run_may(const struct prot_group *g)
{
	return g->state == PROT_G_SERVING && prot_weight(g->in_sync) == g->cfg.width &&
	       !(g->failed | g->avoid | g->joining) && !g->draining;
}

/* True: @o only reads strips not written by @op: mostly a fill of the cache. */
static bool run_beside(const struct prot_group *g, const struct prot_gop *op,
		       const struct prot_gop *o)
{
	u64 strips = prot_ecop(g, op)->data | prot_ec_all_parity(g);

	return !o->exclusive && !(prot_ecop(g, o)->strips & strips);
}

/* True: an op waits for a resource that the write has until in place. */
static bool run_needed(const struct prot_group *g, const struct prot_gop *op, u32 row)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	const struct prot_ring *l = prot_ring(g, e->ring);
	u64 from = op->addr - (e->row - row);
	u32 bytes = e->row + op->length - row;
	u16 i;

	for (i = PROT_Q_BUF; i <= PROT_Q_SMALL_READ; i++)
		if (prot_queue(g, i)->head != PROT_NONE16)
			return true;
	/* leave ring slots for next writes while this run goes in place */
	if (l->next - l->oldest >= g->cfg.slots - g->cfg.slots / 4U)
		return true;
	if (prot_queue(g, PROT_Q_RING + e->ring)->head != PROT_NONE16 ||
	    prot_set_next(prot_free_ops(g), g->cfg.ops, 0) == PROT_SET_NONE)
		return true;
	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next) {
		const struct prot_gop *o = prot_gop(g, i);

		if ((o->phase == PROT_P_LOCK || prot_ecop(g, o)->waits) &&
		    prot_overlap(o->addr, o->length, from, bytes) && !run_beside(g, op, o))
			return true;
	}
	return false;
}

/* True: the write behind @op is here, or may come, and is about to take over. */
static bool run_goes_on(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ec_streams *s = prot_ec_streams(g);
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 i;

	if (e->succ) {
		const struct prot_gop *f = prot_gop(g, e->succ - 1);

		return run_continues(g, op, f) && f->phase != PROT_P_FREE &&
		       f->phase != PROT_P_ENDED && f->phase < PROT_P_EC_PLACE;
	}
	for (i = 0; i < PROT_EC_STREAMS; i++)
		if (s->grown[i].end && s->grown[i].op == prot_gop_index(g, op) &&
		    s->grown[i].serial == e->serial)
			return true;
	return false;
}

/* First byte of the write of @op in place at @member, with writes taken over. */
u32 prot_ec_run_row(const struct prot_ecop *e, u32 member)
{
	return e->run >> member & 1 ? e->run_row : e->row;
}

/* Bytes of writes taken over, before the rows of @e's op; not the same on all members. */
u32 prot_ec_run_back(const struct prot_ecop *e)
{
	return e->run ? e->row - e->run_row : 0;
}

/* @op has left the run, or was over before the gate: no write is held for @op any more. */
void prot_ec_run_leave(struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (e->prev && run_gated(prot_gop(g, e->prev - 1)))
		prot_ready(g, prot_gop(g, e->prev - 1));
}

/* Members of @to where @op, past the gate, waits for the next write of the run. */
u64 prot_ec_run_held(struct prot_group *g, struct prot_gop *op, u64 to)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 end = e->row + op->length;
	u64 left = to & e->kept, held = 0;

	if (!left || e->flush || end >= g->cfg.strip || !run_may(g) || !run_goes_on(g, op))
		return 0;
	for (; left; left &= left - 1)
		if (end - prot_ec_run_row(e, prot_lowest(left)) < RUN_BYTES)
			held |= left & -left;
	if (!held || run_needed(g, op, e->row - prot_ec_run_back(e)))
		return 0;
	prot_wait(g, op, PROT_Q_RUN);
	return held;
}

/* None is held any longer: another one waits. */
void prot_ec_run_hurry(struct prot_group *g)
{
	u16 i;

	for (i = prot_queue(g, PROT_Q_RUN)->head; i != PROT_NONE16; i = prot_gop(g, i)->wait_next) {
		if (prot_ecop(g, prot_gop(g, i))->flush)
			continue;
		prot_ecop(g, prot_gop(g, i))->flush = 1;
		prot_ready(g, prot_gop(g, i));
	}
}

/* The stream of that last write goes on elsewhere, or is forgotten. */
void prot_ec_run_over(struct prot_group *g, const struct prot_ec_stream *s)
{
	struct prot_gop *op = prot_gop(g, s->op);

	if (s->end && op->phase != PROT_P_FREE && prot_ecop(g, op)->serial == s->serial)
		prot_ready(g, op);
}

/* True: @o is of some of the @bytes before the own rows of @op, and must not go beside @op. */
static bool run_meets(const struct prot_group *g, const struct prot_gop *op, u32 bytes,
		      const struct prot_gop *o)
{
	return o != op && prot_overlap(o->addr, o->length, op->addr - bytes, bytes) &&
	       !run_beside(g, op, o);
}

/* True: an op outside the run of @op is of the rows to be written. */
static bool run_disputed(const struct prot_group *g, const struct prot_gop *op, u32 row)
{
	u32 bytes = prot_ecop(g, op)->row - row, meets = 0;
	const struct prot_gop *o;
	u16 i;

	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next)
		meets += run_meets(g, op, bytes, prot_gop(g, i));
	/* ops of the run are in the same bucket */
	for (o = run_before(g, op); o && prot_ecop(g, o)->row >= row; o = run_before(g, o))
		meets -= run_meets(g, op, bytes, o);
	return meets && !PROT_MUTANT(EC_RUN_PAST);
}

/* @op has passed the gate, and takes over earlier writes of the run where possible. */
void prot_ec_run_take(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op), *x;
	struct prot_gop *o = run_before(g, op);
	u64 to;
	u32 row;

	if (!o)
		return;
	prot_ready(g, o);
	x = prot_ecop(g, o);
	to = e->chained & e->parts & x->parts & ~o->sent & ~x->skip;
	if (x->run & to)
		to &= x->run;
	row = x->run & to ? x->run_row : x->row;
	if (!to || !run_may(g) || e->row + op->length - row > RUN_BYTES || run_disputed(g, op, row))
		return;
	e->run = to;
	e->run_row = row;
	x->skip |= to;
	if (!PROT_MUTANT(EC_RUN_OVER))
		x->over |= to;
	g->counts.folded += prot_weight(to);
}

/* Wake ops that wait for rows taken over by @op, from @bytes before the rows of @op on. */
static void run_wake(struct prot_group *g, const struct prot_gop *op, u32 bytes)
{
	u16 i = bytes ? *prot_bucket(g, op) : PROT_NONE16;

	for (; i != PROT_NONE16; i = prot_gop(g, i)->next) {
		struct prot_gop *o = prot_gop(g, i);

		if (o != op && prot_overlap(o->addr, o->length, op->addr - bytes, bytes))
			prot_ready(g, o);
	}
}

/*
 * @placed: the run of @op is in place on @member. Otherwise each write of the run goes in place
 * alone.
 */
static void run_end(struct prot_group *g, struct prot_gop *op, u32 member, bool placed)
{
	u32 row = prot_ec_run_row(prot_ecop(g, op), member);
	struct prot_gop *o;

	run_wake(g, op, prot_ecop(g, op)->row - row);

	for (o = run_before(g, op); o && prot_ecop(g, o)->row >= row; o = run_before(g, o)) {
		struct prot_ecop *x = prot_ecop(g, o);

		x->over &= ~PROT_BIT(member);
		if (!placed) {
			x->skip &= ~PROT_BIT(member);
			x->run &= ~PROT_BIT(member);
			x->flush = 1;
		}
		prot_ready(g, o);
	}
}

void prot_ec_run_landed(struct prot_group *g, struct prot_gop *op, u32 member)
{
	run_end(g, op, member, true);
}

/* The stage of @op's run was dropped. Return: true if @op had taken over a run. */
bool prot_ec_run_undo(struct prot_group *g, struct prot_gop *op, u32 member)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (!(e->run >> member & 1))
		return false;
	run_end(g, op, member, false);
	e->run &= ~PROT_BIT(member);
	e->flush = 1;
	op->sent &= ~PROT_BIT(member);
	op->ended &= ~PROT_BIT(member);
	return true;
}
