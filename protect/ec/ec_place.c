// SPDX-License-Identifier: GPL-2.0-only
/*
 * A transaction on the members: records, the gate, in place, retirement (P2 to P6).
 * Resynchronisation and the scrub go in place by the same steps, without records.
 */
#include <linux/kernel.h>

#include "protect/ec/ec_priv.h"

/* The next record; once all are durable: the gate. */
enum prot_ec_verdict prot_ec_record_next(struct prot_group *g, struct prot_gop *op,
					 struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 left = e->holders & ~op->sent & ~g->failed;
	u32 member;

	if (left) {
		member = prot_lowest(left);
		op->sent |= PROT_BIT(member);
		prot_ec_record(g, op, member, ev);
		return PROT_EC_EVENT;
	}
	if (!prot_ec_gate(g, op))
		return PROT_EC_WAIT;
	prot_ec_gated(g, op);
	if (op->purpose == PROT_FOR_BARRIER) {
		prot_ec_retire(g, op);
		return PROT_EC_END;
	}
	prot_ec_cache_gated(g, op);
	prot_phase(g, op, PROT_P_EC_PLACE);
	prot_ec_run_take(g, op);
	prot_ec_supersede(g, op);
	prot_ec_notify_joined(g, op, 0);
	op->acked = 1;
	if (PROT_MUTANT(EC_FRAME_EARLY)) {
		u16 buf = op->buf;

		prot_buf_put(g, op);
		op->buf = buf;
	}
	prot_ec_stream_wake(g);
	prot_ec_work_tag(g, op, PROT_EV_DONE, ev);
	op->sent = 0;
	return PROT_EC_EVENT;
}

static u64 place_to(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (op->purpose == PROT_FOR_SYNC)
		return op->targets;
	return op->purpose == PROT_FOR_SCRUB ? e->fix : e->parts | e->joins;
}

static enum prot_ec_verdict place_over(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (op->purpose == PROT_FOR_SCRUB)
		return prot_ec_scrub_next(g, op, e->plan == PROT_PLAN_VERIFY);
	if (op->purpose != PROT_FOR_REQUEST || !e->txid)
		return PROT_EC_END;
	prot_phase(g, op, PROT_P_EC_RETIRE);
	return PROT_EC_WAIT;
}

/* Of members @to, the members to be written now. */
static u64 place_now(struct prot_group *g, struct prot_gop *op, u64 to)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 left = to & ~op->sent & ~g->failed, now = 0, held;
	bool late = false;

	left &= ~(PROT_MUTANT(EC_REWRITE) ? e->skip & e->over : e->skip);
	if (op->purpose != PROT_FOR_REQUEST)
		return left;
	held = prot_ec_run_held(g, op, left);
	left &= ~held;
	for (; left; left &= left - 1) {
		if (prot_ec_may_place(g, op, prot_lowest(left)))
			now |= left & -left;
		else
			late = true;
	}
	if (!late)
		return now;
	prot_ec_run_hurry(g);	/* an older write may wait for a run */
	if (held) {
		/* held strips of this op go in place as well */
		e->flush = 1;
		op->again = 1;
	}
	return now;
}

/* True: after a crash, the missed rows of members that are out will be known. */
static bool place_missed_known(const struct prot_group *g, const struct prot_gop *op)
{
	return prot_missed_durable(g, prot_region_of(g, op->addr)) || PROT_MUTANT(EC_MISSED_LATE);
}

/* True: the rows are in place on all of @to, by this op or a later one. */
static bool place_all(const struct prot_group *g, const struct prot_gop *op, u64 to)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	to = prot_ec_must_have(g, to);
	return !(op->sent & ~op->ended) && !(e->over & to) &&
	       (!(to & ~op->ok & ~e->skip) || op->purpose == PROT_FOR_SCRUB);
}

/* A write in place from a stage takes earlier stages of the same run along. */
static void place_run(const struct prot_ecop *e, u32 member, struct prot_event *ev)
{
	u32 back = e->row - prot_ec_run_row(e, member);

	if (!back)
		return;
	ev->io.addr -= back;
	ev->io.length += back;
	ev->io.stage_back = back;
	ev->io.nr_runs = 0;
}

enum prot_ec_verdict prot_ec_place_next(struct prot_group *g, struct prot_gop *op,
					struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 to = place_to(g, op), left;
	u32 member, strip, from, length;

	if (e->txid && !e->yielded) {
		e->yielded = 1;
		op->again = 1;
		return PROT_EC_WAIT;
	}
	left = place_now(g, op, to);
	/* only the MISSED bit records this write for members that are out */
	if (op->purpose == PROT_FOR_REQUEST && !e->txid && !place_missed_known(g, op))
		return PROT_EC_WAIT;
	if (!left)
		return place_all(g, op, to) ? place_over(g, op) : PROT_EC_WAIT;
	member = prot_lowest(left);
	strip = prot_ec_strip(g, e, member);
	prot_ec_part(g, op, strip, &from, &length);
	op->sent |= PROT_BIT(member);
	if (op->purpose != PROT_FOR_REQUEST || !e->txid)
		prot_ec_cache_forget(g, e->stripe);
	if (op->purpose == PROT_FOR_REQUEST && e->kind == PROT_SLOT_ZERO) {
		prot_zeroes_fill(g, op, member, ev);
		return PROT_EC_EVENT;
	}
	prot_ec_fill_private(g, op, member, PROT_WRITE, prot_ec_new(g, op, strip) + from, from,
			     length, ev);
	if (op->purpose == PROT_FOR_REQUEST && e->txid && e->holders >> member & 1) {
		ev->io.stage_do = PROT_STAGE_LAST;
		ev->io.stage = ev->io.tag;
		if (PROT_MUTANT(EC_STAGE_OLD))
			ev->io.stage = prot_ec_older(g, op, member);
		place_run(e, member, ev);
	}
	return PROT_EC_EVENT;
}

enum prot_ec_verdict prot_ec_retire_next(struct prot_group *g, struct prot_gop *op)
{
	if (!place_missed_known(g, op))
		return PROT_EC_WAIT;
	prot_ec_retire(g, op);
	return PROT_EC_END;
}
