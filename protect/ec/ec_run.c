// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small writes in order, one at a time, go in place together.
 *
 *   records    | W1 | W2 | W3 | W4 |     one write each; what is staged lies side by side
 *   staged     |D1|D2|D3|D4|
 *   in place                        |D1 D2 D3 D4|     one write a member
 *
 * The first part of each pays for its latency, the second one is work alone: half of all commands.
 * W1 is held back past its gate, as it is durable, while the next write of its stream may come.
 * That one, past its own gate, takes over on each member where both are staged side by side: W1 is
 * over when the run is in place, as with what a later write of the same rows supersedes
 * (ec_rows.c). So of a run only the last write is ever sent.
 *
 * It is held until it is the last of its strip, or the run or what is in flight of its ring is long
 * enough, or
 *
 *   its stream goes on elsewhere, or is forgotten
 *   an op waits: for its rows, a buffer, a ring slot, or to be an op (prot_ec_run_hurry())
 *   a member fails, is late, or catches up
 *   there is time (prot_group_idle())
 *
 * Where a run can't be sent from what is staged, the member has kept it no more: its writes go in
 * place one by one then, each from its private buffer, which all of them still have.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "protect/ec/ec_priv.h"

#define RUN_BYTES	65536	/* of a strip, in one write in place */

static bool run_gated(const struct prot_gop *op)
{
	return op->purpose == PROT_FOR_REQUEST && op->phase == PROT_P_EC_PLACE;
}

/* Whether @op is, and always was, the part of one strip behind that of @o, and of its run. */
static bool run_continues(const struct prot_group *g, const struct prot_gop *o,
			  const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op), *x = prot_ecop(g, o);

	return e->run_id && x->run_id == e->run_id && x->stripe == e->stripe &&
	       x->data == e->data && x->row + o->length == e->row;
}

/* The write before @op in its run, if it is not in place yet; or NULL. */
static struct prot_gop *run_before(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	struct prot_gop *o;

	if (!e->prev)
		return NULL;
	o = prot_gop(g, e->prev - 1);
	return run_gated(o) && prot_ecop(g, o)->txid && run_continues(g, o, op) ? o : NULL;
}

/* @op begins where @o, which is in flight, has ended. */
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

/* Bytes that are to be kept of @op's record, and of those that may follow; 0: as few as it has. */
u32 prot_ec_run_room(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (!e->grown || prot_weight(e->data) != 1 || op->length > RUN_BYTES / 4)
		return 0;
	return min_t(u32, RUN_BYTES, g->cfg.strip - e->row);
}

/* Behind what @op is to be staged at @member; PROT_NO_STAGE: by itself. */
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

/* Whether nothing is out of the ordinary. */
static bool run_may(const struct prot_group *g)
{
	return g->state == PROT_G_SERVING && prot_weight(g->in_sync) == g->cfg.width &&
	       !(g->failed | g->avoid | g->joining) && !g->draining;
}

/* Whether @o only reads strips that @op does not write: the fill of the cache, mostly. */
static bool run_beside(const struct prot_group *g, const struct prot_gop *op,
		       const struct prot_gop *o)
{
	u64 strips = prot_ecop(g, op)->data | prot_ec_all_parity(g);

	return !o->exclusive && !(prot_ecop(g, o)->strips & strips);
}

/* Whether an op waits for what the write has until it is in place. */
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
	/* the next ones find ring slots while this run goes in place */
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

/* Whether the write behind @op is here, or may come, and is about to take over. */
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

/* Where what @op writes at @member begins, with those that it has taken over. */
u32 prot_ec_run_row(const struct prot_ecop *e, u32 member)
{
	return e->run >> member & 1 ? e->run_row : e->row;
}

/* Bytes before its own rows that @e's op puts in place somewhere, with those that it took over. */
u32 prot_ec_run_back(const struct prot_ecop *e)
{
	return e->run ? e->row - e->run_row : 0;
}

/* @op is no part of its run any more, or was over before its gate: none is held for it. */
void prot_ec_run_leave(struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (e->prev && run_gated(prot_gop(g, e->prev - 1)))
		prot_ready(g, prot_gop(g, e->prev - 1));
}

/* Of members @to, where @op, past its gate, waits for the one that follows before it is placed. */
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

/* The stream that ended with that write goes on elsewhere, or is forgotten. */
void prot_ec_run_over(struct prot_group *g, const struct prot_ec_stream *s)
{
	struct prot_gop *op = prot_gop(g, s->op);

	if (s->end && op->phase != PROT_P_FREE && prot_ecop(g, op)->serial == s->serial)
		prot_ready(g, op);
}

/* Whether @o is of rows that @op writes from @bytes before its own on. */
static bool run_meets(const struct prot_group *g, const struct prot_gop *op, u32 bytes,
		      const struct prot_gop *o)
{
	return o != op && prot_overlap(o->addr, o->length, op->addr - bytes, bytes) &&
	       !run_beside(g, op, o);
}

/* Whether an op that is not of @op's run is of the rows that this is to write. */
static bool run_disputed(const struct prot_group *g, const struct prot_gop *op, u32 row)
{
	u32 bytes = prot_ecop(g, op)->row - row, meets = 0;
	const struct prot_gop *o;
	u16 i;

	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next)
		meets += run_meets(g, op, bytes, prot_gop(g, i));
	/* those of the run are in the same bucket */
	for (o = run_before(g, op); o && prot_ecop(g, o)->row >= row; o = run_before(g, o))
		meets -= run_meets(g, op, bytes, o);
	return meets && !PROT_MUTANT(EC_RUN_PAST);
}

/* @op has passed its gate: it goes in place with those before it, where that can be. */
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

/* What waits for rows that @op has taken over, from @bytes before its own on, checks again. */
static void run_wake(struct prot_group *g, const struct prot_gop *op, u32 bytes)
{
	u16 i = bytes ? *prot_bucket(g, op) : PROT_NONE16;

	for (; i != PROT_NONE16; i = prot_gop(g, i)->next) {
		struct prot_gop *o = prot_gop(g, i);

		if (o != op && prot_overlap(o->addr, o->length, op->addr - bytes, bytes))
			prot_ready(g, o);
	}
}

/* @op's run is in place on @member; or not, and each of its writes sees to itself. */
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

/* What was staged of @op's run is there no more. Return: whether it is a run. */
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
