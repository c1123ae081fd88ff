// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes in order: a write of a part of a stripe waits for the writes to follow.
 *
 *   in flight, not answered    | .. D2 | D3 |
 *   comes at the end                        | D0 |             held, in phase LOCK
 *   follow, held too                             | D1 | D2 |
 *   comes, to the stripe's end                             | D3 |   all four begin, as one
 *
 * Alone, D0 would read the other strips to compute parity, and D1 again. A write is held only
 * behind an unanswered write, and only until the answer. A submitter with one write at a time
 * never waits, nor a submitter of random writes or of writes through to the medium. A waiting
 * submitter has room for more writes in flight, so the next writes come meanwhile.
 *
 * Some ends of recent writes are remembered: in @seen the ends of any writes, in @grown only of
 * streams with at least two writes in order, so that random writes do not drive streams out.
 */
#include <linux/kernel.h>

#include "protect/ec/ec_priv.h"

static bool stream_is_write(const struct prot_gop *op)
{
	return op->purpose == PROT_FOR_REQUEST && op->kind == PROT_WRITE;
}

/*
 * True: the write with that number is unanswered. The write may wait itself, for an earlier
 * write, so the first of all waits for none. A write begun again, behind others, has lost the
 * number. Its rows are repaired before, by an op that waits for ops behind the write.
 */
static bool stream_runs(const struct prot_group *g, u16 i, u32 serial)
{
	const struct prot_gop *op = prot_gop(g, i);

	if (PROT_MUTANT(EC_HOLDS_ON))
		return true;
	return serial && prot_ecop(g, op)->serial == serial && !op->acked &&
	       op->phase != PROT_P_FREE && op->phase != PROT_P_ENDED &&
	       op->phase != PROT_P_EC_REPAIR;
}

static struct prot_ec_stream *stream_find(struct prot_group *g, u64 end)
{
	struct prot_ec_streams *s = prot_ec_streams(g);
	u32 i;

	if (!end)
		return NULL;	/* the end of an unused entry */
	for (i = 0; i < PROT_EC_STREAMS; i++)
		if (s->grown[i].end == end)
			return &s->grown[i];
	for (i = 0; i < PROT_EC_STREAMS; i++)
		if (s->seen[i].end == end)
			return &s->seen[i];
	return NULL;
}

/* The entry for the end of a write; @from: the entry of the end continued, or NULL. */
static struct prot_ec_stream *stream_place(struct prot_group *g, struct prot_ec_stream *from)
{
	struct prot_ec_streams *s = prot_ec_streams(g);

	if (!from)
		return &s->seen[s->next_seen++ & (PROT_EC_STREAMS - 1)];
	if (from >= s->seen && from < s->seen + PROT_EC_STREAMS) {
		from->end = 0;
		return &s->grown[s->next_grown++ & (PROT_EC_STREAMS - 1)];
	}
	return from;
}

/* Writes of the stripe of @op are held no more. */
static void stream_let_go(struct prot_group *g, const struct prot_gop *op)
{
	u16 i;

	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next) {
		struct prot_ecop *e = prot_ecop(g, prot_gop(g, i));

		if (!e->behind || e->stripe != prot_ecop(g, op)->stripe)
			continue;
		e->behind = 0;
		prot_ready(g, prot_gop(g, i));
	}
}

/* Hold @op behind the write of stream @s that it continues. */
static void stream_follow(struct prot_group *g, struct prot_gop *op, const struct prot_ec_stream *s)
{
	struct prot_ecop *e = prot_ecop(g, op);
	const struct prot_ecop *x = prot_ecop(g, prot_gop(g, s->op));

	if (x->serial != s->serial)
		return;		/* the earlier write is over */
	prot_ec_run_note(g, prot_gop(g, s->op), op);
	e->behind = s->op + 1;
	e->behind_serial = s->serial;
	/* behind a held write, both are held behind the same third write */
	if (prot_gop(g, s->op)->phase == PROT_P_LOCK && x->behind && x->stripe == e->stripe) {
		e->behind = x->behind;
		e->behind_serial = x->behind_serial;
	}
}

/*
 * @op is new and in its bucket. Of a write the end is remembered, and the write is held behind the
 * write that it continues. Other ops are ignored.
 */
void prot_ec_stream_note(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ec_streams *all = prot_ec_streams(g);
	struct prot_ecop *e = prot_ecop(g, op);
	struct prot_ec_stream *s;
	bool grown;
	u32 at;

	if (!stream_is_write(op))
		return;
	s = stream_find(g, e->start);
	grown = s >= all->grown && s < all->grown + PROT_EC_STREAMS;
	if (s)
		stream_follow(g, op, s);
	e->grown = !!s;
	s = stream_place(g, s);
	prot_ec_run_over(g, s);
	s->end = e->start + e->bytes;
	s->op = prot_gop_index(g, op);
	all->serial = max(all->serial + 1, 1U);
	s->serial = all->serial;
	e->serial = all->serial;
	div_u64_rem(s->end, g->cfg.k * g->cfg.strip, &at);
	/* no write is to follow, or the submitter waits for the medium */
	if (!at || op->flags & PROT_FUA) {
		e->behind = 0;
		stream_let_go(g, op);
	}
	if (grown && (!e->behind || !stream_runs(g, e->behind - 1, e->behind_serial)))
		prot_ec_cache_note(g, op);
}

/*
 * A write is answered, or has ended: writes behind are held no more. All held writes check again,
 * because a write may be held behind another that waits for the rows of a third.
 */
void prot_ec_stream_wake(struct prot_group *g)
{
	u16 i;

	i = prot_queue(g, PROT_Q_STREAM)->head;
	for (; i != PROT_NONE16; i = prot_gop(g, i)->wait_next)
		prot_ready(g, prot_gop(g, i));
}

/* True: @op, with free rows, is to wait for following writes. */
bool prot_ec_stream_holds(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (!e->behind)
		return false;
	if (!(g->failed | g->avoid) && stream_runs(g, e->behind - 1, e->behind_serial)) {
		g->counts.in_order += prot_wait(g, op, PROT_Q_STREAM);
		return true;
	}
	e->behind = 0;
	return false;
}
