// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes of the same rows: a later write need not wait for the end of an earlier one.
 *
 * A write past its gate is durable, though not in place yet. The next write of these rows may
 * then begin, and finds old values not in place yet in the private buffer of the earlier write.
 * When the next write passes its own gate, strips written by both and not in flight yet are
 * superseded: only the later content goes in place. An older write never writes a superseded
 * strip again, and is over when the newer content is in place:
 *
 *   T1 {D0,P,Q}   records | gate: D0 .......... over
 *   T2 {D1,P,Q}           | records | gate: D1, P, Q ... both over
 *
 * T1 therefore holds P and Q back until T2 has passed the gate, as long as T2 waits for no
 * resource of T1: a buffer, a ring slot, a strip only T1 can put in place. Strips covered in part
 * by a later write go in place in order.
 *
 * Writes not begun at all need no transaction of their own: the first write to begin takes the
 * others along, if the joint write fits in few rows of one stripe.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/ec/ec_priv.h"

static bool rows_is_write(const struct prot_gop *op)
{
	return op->purpose == PROT_FOR_REQUEST && op->kind != PROT_READ;
}

/* Recorded durably, and not over. */
static bool rows_gated(const struct prot_group *g, const struct prot_gop *op)
{
	return rows_is_write(op) && prot_ecop(g, op)->txid &&
	       (op->phase == PROT_P_EC_PLACE || op->phase == PROT_P_EC_RETIRE);
}

/* Bytes of @strip written by @op; none: false. */
static bool rows_extent(const struct prot_group *g, const struct prot_gop *op, u32 strip,
			u32 *lo, u32 *hi)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 length;

	if (!((e->data | prot_ec_all_parity(g)) >> strip & 1))
		return false;
	prot_ec_part(g, op, strip, lo, &length);
	*lo += e->row;
	*hi = *lo + length;
	return true;
}

/* The same for writes in place by @op itself, with a run taken over (ec_run.c). */
static bool rows_placed(const struct prot_group *g, const struct prot_gop *op, u32 strip,
			u32 *lo, u32 *hi)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (!rows_extent(g, op, strip, lo, hi))
		return false;
	if (!PROT_MUTANT(EC_RUN_REACH))
		*lo -= e->row - prot_ec_run_row(e, prot_ec_member(g, e, strip));
	return true;
}

/* True: @op writes all bytes of @strip that @o writes in place. */
static bool rows_covers(const struct prot_group *g, const struct prot_gop *op,
			const struct prot_gop *o, u32 strip)
{
	u32 lo, hi, olo, ohi;

	return rows_extent(g, op, strip, &lo, &hi) && rows_placed(g, o, strip, &olo, &ohi) &&
	       lo <= olo && ohi <= hi;
}

/* True: @o, older or newer and of the same stripe, writes in place some bytes of @op. */
static bool rows_clash(const struct prot_group *g, const struct prot_gop *op,
		       const struct prot_gop *o, u32 strip)
{
	u32 lo, hi, olo, ohi;

	return rows_placed(g, op, strip, &lo, &hi) && rows_placed(g, o, strip, &olo, &ohi) &&
	       lo < ohi && olo < hi;
}

static bool rows_meets(const struct prot_group *g, const struct prot_gop *op,
		       const struct prot_gop *o, u32 strip)
{
	u32 lo, hi, olo, ohi;

	return rows_extent(g, op, strip, &lo, &hi) && rows_extent(g, o, strip, &olo, &ohi) &&
	       lo < ohi && olo < hi;
}

/* True: @op may begin while @o, an older write of the same rows, is not over. */
bool prot_ec_follows(const struct prot_group *g, const struct prot_gop *o,
		     const struct prot_gop *op)
{
	return rows_is_write(op) && rows_gated(g, o) && prot_ecop(g, o)->kind == PROT_SLOT_PAYLOAD;
}

/*
 * Strips that a later read must not read in place. Past the gate, a crash ends with the new
 * content, so each strip may be read as soon as it is in place. A strip of a failed member is
 * not read at all.
 */
u64 prot_ec_unplaced(const struct prot_group *g, const struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u64 left = e->parts & prot_live(g) & ~op->ok & ~(e->skip & ~e->over);

	if (!rows_gated(g, op) || PROT_MUTANT(EC_READ_WAITS))
		return e->strips;
	if (op->phase == PROT_P_EC_RETIRE || PROT_MUTANT(EC_READ_EARLY))
		return 0;
	return prot_ec_strips(g, e, left);
}

static u64 rows_met(const struct prot_group *g, const struct prot_gop *op, const struct prot_gop *o)
{
	u64 strips = 0;
	u32 strip;

	for (strip = 0; strip < g->cfg.width; strip++)
		if (rows_meets(g, op, o, strip))
			strips |= PROT_BIT(strip);
	return strips;
}

/* @op has passed the gate, and takes over strips that older writes have not sent yet. */
void prot_ec_supersede(struct prot_group *g, struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u16 i, self = prot_gop_index(g, op);

	for (i = *prot_bucket(g, op); i != self; i = prot_gop(g, i)->next) {
		struct prot_gop *o = prot_gop(g, i);
		struct prot_ecop *x = prot_ecop(g, o);
		u64 left;

		if (!rows_gated(g, o) || !prot_rows_meet(o, op))
			continue;
		x->stale |= rows_met(g, op, o);
		if (o->phase != PROT_P_EC_PLACE)
			continue;
		left = (x->parts | x->joins) & (e->parts | e->joins) & ~o->sent & ~x->skip;
		for (; left; left &= left - 1) {
			u32 member = prot_lowest(left);

			if (!rows_covers(g, op, o, prot_ec_strip(g, e, member)))
				continue;
			x->skip |= PROT_BIT(member);
			x->over |= PROT_BIT(member);
			g->counts.folded++;
		}
	}
	prot_wake_rows(g, op);
}

/* The content of @op is in place on @member, for superseded older writes as well. */
void prot_ec_landed(struct prot_group *g, struct prot_gop *op, u32 member)
{
	u32 strip = prot_ec_strip(g, prot_ecop(g, op), member);
	u16 i, self = prot_gop_index(g, op);

	for (i = *prot_bucket(g, op); i != self; i = prot_gop(g, i)->next) {
		const struct prot_gop *o = prot_gop(g, i);
		struct prot_ecop *x = prot_ecop(g, o);

		if (rows_gated(g, o) && x->over >> member & 1 && prot_rows_meet(o, op) &&
		    rows_covers(g, op, o, strip))
			x->over &= ~PROT_BIT(member);
	}
	prot_ec_run_landed(g, op, member);
	prot_wake_rows(g, op);
}

/* A mutant: the stage on @member of an op superseded by @op there, or @op's own stage. */
u32 prot_ec_older(const struct prot_group *g, const struct prot_gop *op, u32 member)
{
	u16 i, self = prot_gop_index(g, op);

	for (i = *prot_bucket(g, op); i != self; i = prot_gop(g, i)->next)
		if (prot_ecop(g, prot_gop(g, i))->over >> member & 1)
			return (u32)i << PROT_TAG_SHIFT | member;
	return (u32)self << PROT_TAG_SHIFT | member;
}

/* True: @o itself has still to write on @member. */
static bool rows_owes(const struct prot_group *g, const struct prot_gop *o, u32 member)
{
	const struct prot_ecop *x = prot_ecop(g, o);

	return rows_is_write(o) && o->phase == PROT_P_EC_PLACE &&
	       ((x->parts | x->joins) & ~o->ok & ~x->skip) >> member & 1;
}

/* True: @o will soon overwrite the content of @op on @member, and waits for nothing of @op. */
static bool rows_will_replace(const struct prot_group *g, const struct prot_gop *o,
			      const struct prot_gop *op, u32 member)
{
	const struct prot_ecop *x = prot_ecop(g, o);
	u32 strip = prot_ec_strip(g, x, member);

	if (!rows_is_write(o) || !rows_covers(g, o, op, strip))
		return false;
	/* with a failed holder, the wait for an epoch may be long */
	if (o->phase == PROT_P_EC_RECORD)
		return !(x->holders & g->failed) && (x->parts | x->joins) >> member & 1;
	return (o->phase == PROT_P_EC_COPY || o->phase == PROT_P_EC_CODEC ||
		(o->phase == PROT_P_EC_GATHER && !x->waits)) &&
	       (prot_ec_full(g) | x->joins) >> member & 1;
}

/*
 * True: @op may write the strip on @member now: older writes go first, newer writes replace this
 * one.
 */
bool prot_ec_may_place(const struct prot_group *g, const struct prot_gop *op, u32 member)
{
	u32 strip = prot_ec_strip(g, prot_ecop(g, op), member);
	bool newer = false;
	u16 i;

	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next) {
		const struct prot_gop *o = prot_gop(g, i);

		if (o == op) {
			newer = true;
			continue;
		}
		if (prot_ecop(g, o)->stripe != prot_ecop(g, op)->stripe)
			continue;
		if (newer ? rows_will_replace(g, o, op, member) :
			    rows_owes(g, o, member) && rows_clash(g, o, op, strip))
			return false;
	}
	return true;
}

/*
 * Find the newest gated content of a strip, for @op to read. @from: byte, counted from the first
 * row of @op. @src: with PROT_AT_HAND, the content.
 */
enum prot_ec_at prot_ec_at_hand(const struct prot_group *g, const struct prot_gop *op, u32 strip,
				u32 from, u32 length, const u8 **src)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u32 lo = e->row + from, hi = lo + length, olo, ohi, member = prot_ec_member(g, e, strip);
	enum prot_ec_at at = PROT_AT_MEMBER;
	bool placed = true;
	u16 i, self = prot_gop_index(g, op);

	if (PROT_MUTANT(EC_OLD_VALUES))
		return PROT_AT_MEMBER;
	*src = rows_is_write(op) ? prot_ec_cached(g, e, strip, lo, hi) : NULL;
	if (*src)
		return PROT_AT_HAND;
	for (i = *prot_bucket(g, op); i != self; i = prot_gop(g, i)->next) {
		const struct prot_gop *o = prot_gop(g, i);
		const struct prot_ecop *x = prot_ecop(g, o);

		if (!rows_gated(g, o) || !prot_rows_meet(o, op) ||
		    !rows_extent(g, o, strip, &olo, &ohi) || lo >= ohi || olo >= hi)
			continue;
		if (o->phase == PROT_P_EC_PLACE &&
		    !((o->ok | (x->skip & ~x->over)) >> member & 1))
			placed = false;
		at = placed ? PROT_AT_MEMBER : PROT_AT_NEITHER;
		if (x->kind == PROT_SLOT_PAYLOAD && olo <= lo && hi <= ohi &&
		    ((x->data | x->want) & ~x->stale) >> strip & 1) {
			at = PROT_AT_HAND;
			*src = prot_ec_frame(g, o) + prot_ec_new(g, o, strip) + lo - x->row;
		}
	}
	return at;
}

/* A write and another write joined. */
struct joint {
	u64 data;
	u64 addr;
	u32 row;
	u32 length;
};

/* True: both make one write of at most @most rows, not more than the sum of the two. */
static bool rows_fits(const struct prot_group *g, const struct prot_gop *op,
		      const struct prot_gop *f, u32 most, struct joint *j)
{
	const struct prot_ecop *e = prot_ecop(g, op), *x = prot_ecop(g, f);
	u32 strip, end;

	if (f->purpose != PROT_FOR_REQUEST || f->kind != PROT_WRITE ||
	    (f->phase != PROT_P_LOCK && f->phase != PROT_P_BUF) || x->stripe != e->stripe)
		return false;
	for (strip = 0; strip < g->cfg.k; strip++) {
		const struct prot_ec_range *a = prot_ec_range(g, op, strip);
		const struct prot_ec_range *b = prot_ec_range(g, f, strip);

		if (e->data & x->data & PROT_BIT(strip) && (a->lo > b->hi || b->lo > a->hi))
			return false;
	}
	end = max(e->row + op->length, x->row + f->length);
	j->data = e->data | x->data;
	j->row = min(e->row, x->row);
	j->addr = min(op->addr, f->addr);
	j->length = end - j->row;
	return j->length <= op->length + f->length && j->length <= most;
}

/* True: @o, between the two and not begun, has to stay before @f. */
static bool rows_between(const struct prot_group *g, const struct prot_gop *o,
			 const struct prot_gop *f)
{
	return prot_rows_meet(o, f) && prot_ecop(g, o)->strips & prot_ecop(g, f)->strips;
}

/* True: the joint write, in the place of @op, blocks no other op and is blocked by none. */
static bool rows_undisputed(const struct prot_group *g, const struct prot_gop *op,
			    const struct prot_gop *f, const struct joint *j)
{
	bool newer = false, behind = false, free;
	u16 i;

	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next) {
		const struct prot_gop *o = prot_gop(g, i);
		u32 back = PROT_MUTANT(EC_RUN_JOIN) ? 0 : prot_ec_run_back(prot_ecop(g, o));

		newer |= o == op;
		behind |= o == f;
		if (o == op || o == f ||
		    !prot_overlap(o->addr - back, o->length + back, j->addr, j->length) ||
		    (!o->exclusive && !(prot_ecop(g, o)->strips & j->data)))
			continue;
		if (!newer)
			free = prot_ec_follows(g, o, op);
		else
			free = o->phase == PROT_P_LOCK && (behind || !rows_between(g, o, f));
		if (!free)
			return PROT_MUTANT(EC_JOIN_PAST);
	}
	return true;
}

static void rows_take_along(struct prot_group *g, struct prot_gop *op, struct prot_gop *f,
			    const struct joint *j)
{
	struct prot_ecop *e = prot_ecop(g, op), *x = prot_ecop(g, f);
	u32 strip;

	for (strip = 0; strip < g->cfg.k; strip++) {
		struct prot_ec_range *a = prot_ec_range(g, op, strip);
		const struct prot_ec_range *b = prot_ec_range(g, f, strip);

		if (!(x->data >> strip & 1))
			continue;
		if (e->data >> strip & 1) {
			a->lo = min(a->lo, b->lo);
			a->hi = max(a->hi, b->hi);
		} else {
			*a = *b;
		}
	}
	e->data = j->data;
	e->strips = j->data;
	e->row = j->row;
	op->addr = j->addr;
	op->length = j->length;
	op->flags |= f->flags;
	e->run_id = 0;		/* the joint write is another write */
	prot_unlock(g, f);
	prot_phase(g, f, PROT_P_EC_JOINED);
	prot_ec_run_leave(g, op);
	prot_ec_run_leave(g, f);
	if (e->last)
		prot_ecop(g, prot_gop(g, e->last))->joined = prot_gop_index(g, f);
	else
		e->joined = prot_gop_index(g, f);
	e->last = prot_gop_index(g, f);
	g->counts.joined++;
}

/* True: a small buffer is too small for @op together with a write that could be joined. */
bool prot_ec_grows(const struct prot_group *g, const struct prot_gop *op)
{
	struct joint j;
	u16 i;

	if (!rows_is_write(op) || op->kind != PROT_WRITE || op->length > g->cfg.small)
		return false;
	for (i = op->next; i != PROT_NONE16; i = prot_gop(g, i)->next)
		if (rows_fits(g, op, prot_gop(g, i), g->shape.window, &j) &&
		    j.length > g->cfg.small && rows_undisputed(g, op, prot_gop(g, i), &j))
			return true;
	return false;
}

/* @op begins, and takes along writes not begun that make one write with @op. */
void prot_ec_join(struct prot_group *g, struct prot_gop *op)
{
	u32 most = PROT_MUTANT(EC_SMALL_JOIN) ? g->shape.window : prot_ec_window(g, op);
	bool more = true;
	struct joint j;
	u16 i, next;

	while (more) {
		more = false;
		for (i = op->next; i != PROT_NONE16; i = next) {
			struct prot_gop *f = prot_gop(g, i);

			next = f->next;
			if (!rows_fits(g, op, f, most, &j) || !rows_undisputed(g, op, f, &j))
				continue;
			rows_take_along(g, op, f, &j);
			more = true;
		}
	}
}

/* @op begins again, and each write taken along begins again alone. */
void prot_ec_unjoin(struct prot_group *g, struct prot_gop *op)
{
	u16 i = prot_ecop(g, op)->joined;

	while (i) {
		struct prot_gop *f = prot_gop(g, i);

		i = prot_ecop(g, f)->joined;
		prot_ec_start_again(g, f);
	}
	prot_ecop(g, op)->joined = 0;
	prot_ecop(g, op)->last = 0;
}

/* Writes taken along by @op are over, for their submitters. */
void prot_ec_notify_joined(struct prot_group *g, struct prot_gop *op, int err)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u16 i = e->joined;

	while (i) {
		struct prot_gop *f = prot_gop(g, i);

		i = prot_ecop(g, f)->joined;
		prot_ecop(g, f)->joined = 0;
		f->err = err;
		prot_phase(g, f, PROT_P_ENDED);
		prot_ready(g, f);
	}
	e->joined = 0;
	e->last = 0;
}
