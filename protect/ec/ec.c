// SPDX-License-Identifier: GPL-2.0-only
/*
 * ec: erasure coding. Steps are numbered as in docs/protection.md.
 *
 * A write, from locked rows to free rows:
 *
 *   COPY     private copy of the payload: parity and data must be of the same bytes
 *   GATHER   P0: old data and parity, or the other data strips; nothing for full
 *            stripes
 *   CODEC    new parity
 *   TXID     P1: a ring slot; from here on the contents stay as they are
 *   RECORD   P2: header and payload to each changing member
 *   (gate)   P3: all records durable, or the member out by a committed epoch;
 *            acknowledged
 *   PLACE    P4: the same payload in place
 *   RETIRE   P5, P6: in place everywhere; the transaction is over
 *
 * No other op changes these rows before the gate. No op reads a changing strip before the strip
 * is in place, except the next write of the rows (ec_rows.c, also for queued writes becoming
 * one). The epoch strikes off a failed member; the rest of the transaction stays: new content of
 * a lost data strip lives in parity.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "protect/ec/ec_priv.h"
#include "protect/engine/geometry.h"

u8 prot_group_member(const struct prot_group *g, u64 stripe, u8 strip)
{
	return prot_geometry_member(g->cfg.width, stripe, strip);
}

void prot_ec_start(struct prot_group *g, struct prot_gop *op, u64 start, u32 bytes)
{
	prot_ec_start_op(g, op, start, bytes);
	prot_ec_stream_note(g, op);
}

/* True: @b waits for @a, an earlier op of the same rows. */
bool prot_ec_conflict(const struct prot_group *g, const struct prot_gop *a,
		      const struct prot_gop *b)
{
	if (a->phase == PROT_P_EC_REPAIR)
		return false;
	if (a->exclusive && b->exclusive)
		return !prot_ec_follows(g, a, b);
	return prot_ec_unplaced(g, a) & prot_ecop(g, b)->strips;
}

static bool ec_zeroes(const struct prot_gop *op)
{
	return op->kind == PROT_ZEROES || op->kind == PROT_DISCARD;
}

static void ec_plan(struct prot_group *g, struct prot_gop *op);

static void ec_end(struct prot_group *g, struct prot_gop *op, int err)
{
	prot_ec_notify_joined(g, op, err);
	prot_end(g, op, err);
	prot_ec_run_leave(g, op);
	if (op->purpose == PROT_FOR_REQUEST && op->kind == PROT_WRITE && !op->acked)
		prot_ec_stream_wake(g);
}

/* Follow the verdict of a phase's file. True: there is an event. */
static bool ec_follow(struct prot_group *g, struct prot_gop *op, enum prot_ec_verdict verdict)
{
	if (verdict == PROT_EC_END)
		ec_end(g, op, 0);
	else if (verdict == PROT_EC_AGAIN)
		ec_plan(g, op);
	return verdict == PROT_EC_EVENT;
}

static void ec_gathered(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (e->plan == PROT_PLAN_VERIFY &&
	    (prot_weight(e->gather) < g->cfg.width || !prot_scrub_counts(g, op)))
		/* all can be read; without all, no more can be said */
		ec_follow(g, op, prot_ec_scrub_next(g, op, false));
	else if (e->want || e->lost || e->plan == PROT_PLAN_VERIFY ||
		 (op->purpose == PROT_FOR_REQUEST && ec_zeroes(op)))
		prot_phase(g, op, PROT_P_EC_CODEC);
	else
		prot_phase(g, op, PROT_P_EC_TXID);
}

/*
 * No k members could read all of the rows. Some may fail to read one row and some
 * another, or have been repaired since: the op begins again after the rows were
 * checked one by one.
 */
static void ec_too_few(struct prot_group *g, struct prot_gop *op, int err)
{
	if (op->purpose == PROT_FOR_REQUEST && prot_enough(g) && !g->cfg.ro &&
	    prot_repair_wait(op)) {
		prot_ec_unjoin(g, op);
		prot_buf_put(g, op);
		prot_phase(g, op, PROT_P_EC_REPAIR);
		prot_repair_queue(g, op);
		prot_ready_all(g);	/* @op blocks no other op now */
		return;
	}
	if (op->purpose == PROT_FOR_SCRUB)
		ec_follow(g, op, prot_ec_scrub_next(g, op, false));
	else
		ec_end(g, op, err);
}

/* The scrub's op has repaired the rows of @op as far as possible. */
void prot_ec_repaired(struct prot_group *g, struct prot_gop *op)
{
	prot_unlock(g, op);
	prot_ec_start_again(g, op);
}

/* Plan the reads; again whenever a source fails. */
static void ec_plan(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	bool write = op->purpose == PROT_FOR_REQUEST && op->kind != PROT_READ;
	int err;

	e->got = 0;
	e->waits = 0;
	e->gather = 0;
	e->have = 0;
	e->lost = 0;
	e->want = 0;
	if (op->purpose == PROT_FOR_SCRUB)
		err = prot_ec_plan_scrub(g, op);
	else
		err = write ? prot_ec_plan_write(g, op) : prot_ec_plan_rebuild(g, op);
	if (err)
		ec_too_few(g, op, err);
	else if (e->gather)
		prot_phase(g, op, PROT_P_EC_GATHER);
	else if (write)
		ec_gathered(g, op);
	else if (op->purpose == PROT_FOR_REQUEST)
		prot_phase(g, op, PROT_P_EC_READ);	/* nothing is lost any more */
	else
		ec_end(g, op, 0);
}

/* A read has to rebuild, and excludes writers of other strips of the same rows as well. */
static void ec_degrade(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (e->strips != ~0ULL && !PROT_MUTANT(EC_READ_RACE)) {
		u64 tried = op->tried;
		u32 rows = op->length;

		e->strips = ~0ULL;
		prot_unlock(g, op);
		prot_start(g, op, op->addr, rows);
		op->tried = tried;
		if (prot_lock_free(g, op))
			prot_phase(g, op, PROT_P_BUF);
	} else if (op->buf == PROT_NONE16) {
		prot_phase(g, op, PROT_P_BUF);
	} else {
		ec_plan(g, op);
	}
}

/* The row lock was granted. */
static void ec_begin(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u32 region = prot_region_of(g, op->addr);

	if (op->purpose == PROT_FOR_FILL) {
		prot_phase(g, op, PROT_P_EC_FILL);
		return;
	}
	if (op->purpose == PROT_FOR_REQUEST && op->kind == PROT_READ) {
		if (prot_ec_unreadable(g, op))
			ec_degrade(g, op);
		else
			prot_phase(g, op, PROT_P_EC_READ);
		return;
	}
	if (op->purpose == PROT_FOR_REQUEST) {
		/*
		 * Now a member that is out either gets the write in place or misses the region: a
		 * member with all writes may be promoted.
		 */
		e->joins = prot_targets(g, region) & g->joining;
		prot_mark_missed(g, region, g->in_sync | e->joins);
	}
	prot_phase(g, op, PROT_P_BUF);
}

static void ec_got_buffer(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (op->purpose == PROT_FOR_BARRIER) {
		e->kind = PROT_SLOT_BARRIER;
		prot_phase(g, op, PROT_P_EC_TXID);
	} else if (op->purpose != PROT_FOR_REQUEST || op->kind == PROT_READ) {
		op->chunk = op->length;
		ec_plan(g, op);
	} else if (!ec_zeroes(op)) {
		e->kind = PROT_SLOT_PAYLOAD;
		prot_ec_join(g, op);
		prot_phase(g, op, PROT_P_EC_COPY);
	} else if (e->bytes == prot_ec_stripe_bytes(g)) {
		e->kind = PROT_SLOT_ZERO;
		prot_phase(g, op, PROT_P_EC_TXID);
	} else {
		e->kind = PROT_SLOT_PAYLOAD;
		ec_plan(g, op);
	}
}

/* The op with the payload in hand: @op, or an op joined to @op. */
static struct prot_gop *ec_copying(const struct prot_group *g, struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	return e->copying ? prot_gop(g, e->copying) : op;
}

/* Strips of @op still to be copied. */
static u64 ec_to_copy(const struct prot_group *g, struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (op->kind == PROT_READ)
		return e->lost & e->data & ~e->copied;
	return prot_ecop(g, ec_copying(g, op))->own & ~e->copied;
}

static void ec_copied_all(struct prot_group *g, struct prot_gop *op)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	if (op->kind == PROT_READ)
		prot_phase(g, op, PROT_P_EC_READ);
	else if (e->got || e->gather)
		ec_gathered(g, op);
	else
		ec_plan(g, op);
}

/* The next strip to be copied from, or to, the payload; of later writes last. */
static bool ec_copy(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	struct prot_ec_range part;
	struct prot_gop *src;
	u64 left;
	u32 strip;

	if (op->sent & ~op->ended)
		return false;
	src = ec_copying(g, op);
	for (left = ec_to_copy(g, op); !left; left = ec_to_copy(g, op)) {
		if (op->kind == PROT_READ || !prot_ecop(g, src)->joined) {
			ec_copied_all(g, op);
			return false;
		}
		e->copying = prot_ecop(g, src)->joined;
		e->copied = 0;
		src = ec_copying(g, op);
	}
	strip = prot_lowest(left);
	part = prot_ec_own_part(g, prot_ecop(g, src), strip);
	prot_ec_work_tag(g, op, PROT_EV_COPY, ev);
	op->ended &= ~PROT_BIT(PROT_TAG_WORK);
	ev->op = prot_gop_index(g, src);
	ev->cookie = src->cookie;
	ev->copy.request = prot_ec_payload_at(g, src, strip, part.lo);
	ev->copy.buffer = PROT_BUFFER_PRIVATE + op->buf;
	ev->copy.offset = prot_ec_new(g, op, strip) + part.lo - e->row;
	ev->copy.length = part.hi - part.lo;
	ev->copy.out = op->kind == PROT_READ;
	return true;
}

/* Bytes of @strip to gather, and the place in the private buffer. Return: the place. */
static u32 ec_gather_part(const struct prot_group *g, const struct prot_gop *op, u32 strip,
			  u32 *from, u32 *length)
{
	const struct prot_ecop *e = prot_ecop(g, op);

	*from = 0;
	*length = op->length;
	if (e->plan >= PROT_PLAN_REBUILD) {
		*from = e->from;
		*length = e->length;
	} else if (strip < g->cfg.k) {
		if (e->plan == PROT_PLAN_DELTA)
			prot_ec_part(g, op, strip, from, length);
		return prot_ec_old(g, op, strip) + *from;
	}
	return prot_ec_new(g, op, strip) + *from;
}

/* Read the next of strips @left. A strip not in place yet is at hand, or waited for. */
static bool ec_gather_one(struct prot_group *g, struct prot_gop *op, u64 left,
			  struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	const u8 *src;
	u32 strip, member, at, from, length;

	for (; left; left &= left - 1) {
		strip = prot_lowest(left);
		at = ec_gather_part(g, op, strip, &from, &length);
		switch (prot_ec_at_hand(g, op, strip, from, length, &src)) {
		case PROT_AT_HAND:
			memcpy(prot_ec_frame(g, op) + at, src, length);
			e->got |= PROT_BIT(strip);
			break;
		case PROT_AT_MEMBER:
			member = prot_ec_member(g, e, strip);
			op->sent |= PROT_BIT(member);
			g->load[member]++;
			e->reads = 1;
			prot_ec_fill_private(g, op, member, PROT_READ, at, from, length, ev);
			return true;
		case PROT_AT_NEITHER:
			break;
		}
	}
	return false;
}

/* The next strip to be read into the private buffer; or all are there. */
static bool ec_gather(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 can = prot_ec_strips(g, e, prot_ec_sources(g, op) & ~op->sent);

	if (ec_gather_one(g, op, e->gather & ~e->got & can, ev))
		return true;
	if (e->gather & ~e->got & can) {
		/* older writes of these rows must not wait for this op */
		if (!e->waits) {
			e->waits = 1;
			prot_wake_rows(g, op);
		}
		prot_ec_run_hurry(g);
		return false;
	}
	if (op->sent & ~op->ended)
		return false;
	if (!(e->gather & ~e->got)) {
		ec_gathered(g, op);
		return false;
	}
	ec_plan(g, op);
	return op->phase == PROT_P_EC_GATHER && ec_gather(g, op, ev);
}

static bool ec_codec(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	if (op->sent)
		return false;
	prot_ec_work_tag(g, op, PROT_EV_CODEC, ev);
	return true;
}

/* Strips readable in place go straight to the payload. */
static bool ec_read_strips(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	struct prot_ecop *e = prot_ecop(g, op);
	u64 left = e->data & ~e->lost & ~prot_ec_strips(g, e, op->sent);
	u64 can = prot_ec_strips(g, e, prot_ec_sources(g, op));
	u32 strip, member, from, length;

	if (!(left & can)) {
		if (op->sent & ~op->ended)
			return false;
		if (left || (op->sent & ~op->ok))
			ec_degrade(g, op);
		else
			ec_end(g, op, 0);
		return false;
	}
	strip = prot_lowest(left & can);
	member = prot_ec_member(g, e, strip);
	prot_ec_part(g, op, strip, &from, &length);
	op->sent |= PROT_BIT(member);
	g->load[member]++;
	prot_io_fill(g, op, member, PROT_READ, op->addr + from, length, ev);
	ev->runs[0].offset = prot_ec_payload_at(g, op, strip, e->row + from);
	return true;
}

/* A joined op ends with the op that took it along. */
void prot_ec_stop(struct prot_group *g, struct prot_gop *op)
{
	if (op->phase != PROT_P_EC_JOINED)
		ec_end(g, op, -EIO);
}

/* A read planned with a rebuild waits for fewer strips once all members needed are readable. */
static void ec_narrow(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (op->purpose != PROT_FOR_REQUEST || op->kind != PROT_READ || e->strips == e->data ||
	    prot_ec_unreadable(g, op))
		return;
	e->strips = e->data;
	prot_wake_rows(g, op);
}

bool prot_ec_step(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	switch (op->phase) {
	case PROT_P_LOCK:
		ec_narrow(g, op);
		if (!prot_lock_free(g, op))
			prot_ec_run_hurry(g);
		else if (!prot_ec_stream_holds(g, op))
			ec_begin(g, op);
		return false;
	case PROT_P_BUF:
		if (prot_buf_get(g, op, prot_ec_grows(g, op)))
			ec_got_buffer(g, op);
		else
			prot_ec_run_hurry(g);
		return false;
	case PROT_P_EC_COPY:
		return ec_copy(g, op, ev);
	case PROT_P_EC_GATHER:
		return ec_gather(g, op, ev);
	case PROT_P_EC_CODEC:
		return ec_codec(g, op, ev);
	case PROT_P_EC_READ:
		return ec_read_strips(g, op, ev);
	case PROT_P_EC_FILL:
		return ec_follow(g, op, prot_ec_fill_next(g, op, ev));
	case PROT_P_EC_TXID:
		prot_ec_txid(g, op);
		if (op->phase != PROT_P_EC_RECORD)
			prot_wake_rows(g, op);	/* no op may wait for a waiting op */
		return false;
	case PROT_P_EC_RECORD:
		return ec_follow(g, op, prot_ec_record_next(g, op, ev));
	case PROT_P_EC_PLACE:
		return ec_follow(g, op, prot_ec_place_next(g, op, ev));
	case PROT_P_EC_RETIRE:
		return ec_follow(g, op, prot_ec_retire_next(g, op));
	default:
		return false;
	}
}

/* Copy the data once more, and leave parity unchanged. */
static void ec_copy_again(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	e->copied = 0;
	e->copying = 0;
	e->want = 0;
	e->lost = 0;
	e->gather = 1;
	prot_phase(g, op, PROT_P_EC_COPY);
}

static void ec_work_done(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	bool out = op->kind == PROT_READ;

	if (op->phase == PROT_P_EC_COPY) {
		e->copied |= PROT_BIT(prot_lowest(ec_to_copy(g, op)));
		return;
	}
	if (op->purpose == PROT_FOR_SYNC || op->purpose == PROT_FOR_SCRUB) {
		if (op->purpose == PROT_FOR_SCRUB)
			prot_ec_scrub_computed(g, op);
		prot_phase(g, op, PROT_P_EC_PLACE);
	} else if (out) {
		e->copied = 0;
		prot_phase(g, op, PROT_P_EC_COPY);
	} else if (PROT_MUTANT(EC_LIVE_PAGES) && !ec_zeroes(op) && e->want) {
		ec_copy_again(g, op);
	} else {
		prot_phase(g, op, PROT_P_EC_TXID);
	}
}

void prot_ec_result(struct prot_group *g, struct prot_gop *op, u32 member, int err)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (member == PROT_TAG_WORK) {
		ec_work_done(g, op);
		return;
	}
	if (op->phase == PROT_P_EC_GATHER || op->phase == PROT_P_EC_READ ||
	    op->phase == PROT_P_EC_FILL) {
		g->load[member]--;
		if (op->phase == PROT_P_EC_FILL)
			prot_ec_filled(g, op, prot_ec_strip(g, e, member), err);
		if (err) {
			op->tried |= PROT_BIT(member);
			if (prot_read_failed(g, member, err))
				prot_repair_note(g, op, op->addr, op->length);
		} else {
			e->got |= PROT_BIT(prot_ec_strip(g, e, member));
		}
	} else if (err == -ESTALE && prot_ec_run_undo(g, op, member)) {
		return;
	} else if (err) {
		prot_write_failed(g, op, member, err);
	} else if (op->phase == PROT_P_EC_PLACE && op->purpose == PROT_FOR_REQUEST) {
		prot_ec_landed(g, op, member);
	}
}

/* The copied payload of @op moves to buffer @to. All gathered strips are read again. */
static void ec_move(struct prot_group *g, struct prot_gop *op, u16 to)
{
	const struct prot_ecop *e = prot_ecop(g, op);
	u8 *old = prot_ec_frame(g, op), *new = prot_private(g, to);
	bool payload = op->purpose == PROT_FOR_REQUEST && op->kind == PROT_WRITE;
	u64 left = payload ? e->data : 0;
	u32 from, length, at;

	for (; left; left &= left - 1) {
		prot_ec_part(g, op, prot_lowest(left), &from, &length);
		at = prot_ec_new(g, op, prot_lowest(left)) + from;
		memcpy(new + at, old + at, length);
	}
	op->buf = to;
	if (op->purpose != PROT_FOR_REQUEST)
		*prot_own_buf(g, op) = to;
}

bool prot_ec_set_aside(struct prot_group *g, struct prot_gop *op, u32 buf)
{
	u64 left = op->sent & ~op->ended;
	u16 to;

	if (op->phase == PROT_P_EC_FILL) {
		prot_ec_cache_forget(g, prot_ecop(g, op)->stripe);
		return true;
	}
	/* other reads would still fill the old buffer, whatever the state of their members */
	if (op->phase != PROT_P_EC_GATHER || op->buf != buf || left & prot_live(g) ||
	    prot_weight(left) != 1)
		return false;
	to = prot_aside_take(g, op, buf);
	if (to == PROT_NONE16)
		return false;
	ec_move(g, op, to);
	return true;
}

static void ec_leave_out_parity(const struct prot_group *g, struct prot_ecop *e, u64 left)
{
	u64 parity = prot_ec_members(g, e, prot_ec_all_parity(g)) & e->parts & ~left;

	e->parts &= ~parity;
	e->holders &= ~parity;
}

/* Members @left are out by a committed epoch, or have joined and failed. */
void prot_ec_strike(struct prot_group *g, u64 left)
{
	u32 i;

	g->taken &= ~left;
	g->bumped &= ~left;
	g->half &= ~left;
	for (i = 0; i < g->cfg.ops; i++) {
		struct prot_gop *op = prot_gop(g, i);
		struct prot_ecop *e = prot_ecop(g, op);

		if (op->phase == PROT_P_FREE)
			continue;
		if (PROT_MUTANT(EC_NO_PARITY) && e->parts & left && op->phase == PROT_P_EC_RECORD)
			ec_leave_out_parity(g, e, left);
		e->holders &= ~left;
		e->parts &= ~left;
		e->joins &= ~left;
		e->skip &= ~left;
		e->over &= ~left;
		e->run &= ~left;
	}
}

/* The member of this absent slot misses all writes in flight. */
void prot_ec_miss_unfinished(struct prot_group *g, u32 slot)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++) {
		struct prot_gop *op = prot_gop(g, i);

		if (prot_ec_changing(op))
			prot_region_miss(g, prot_region_of(g, op->addr), slot);
	}
}
