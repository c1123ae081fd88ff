// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes in order: one that is a part of a stripe waits for those that are to follow it.
 *
 *   in flight, not answered    | .. D2 | D3 |
 *   comes where that ends                   | D0 |             held, in phase LOCK
 *   follow, held too                             | D1 | D2 |
 *   comes, to the stripe's end                             | D3 |   all four begin, as one
 *
 * Alone, D0 would read the other strips to compute parity, and D1 again. It is held only behind a
 * write that is not answered, and until it is at the latest: who has one write at a time never
 * waits, nor who writes at random, or through to the medium. And who waits has room for more in
 * flight, so that what follows comes meanwhile.
 *
 * Some ends of late writes are remembered: of @seen any, of those in @grown one write at least
 * began where another one had ended, so that what is written at random does not drive them out.
 */
#include <linux/kernel.h>

#include "protect/ec/ec_priv.h"

static bool stream_is_write(const struct prot_gop *op)
{
	return op->purpose == PROT_FOR_REQUEST && op->kind == PROT_WRITE;
}

/*
 * Whether the write of that number is not answered yet. It may wait itself, for what came before
 * it, so the first of all waits for none; and one that begins again, behind others, has lost it.
 * Its rows are repaired before that, by an op that waits for those behind it.
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
		return NULL;	/* as of those that are none */
	for (i = 0; i < PROT_EC_STREAMS; i++)
		if (s->grown[i].end == end)
			return &s->grown[i];
	for (i = 0; i < PROT_EC_STREAMS; i++)
		if (s->seen[i].end == end)
			return &s->seen[i];
	return NULL;
}

/* Where the end of a write is remembered: @from is the end that it began at, or NULL. */
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

/* Those of @op's stripe are held no more. */
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

/* What @op, which begins where a write of stream @s has ended, is held behind. */
static void stream_follow(struct prot_group *g, struct prot_gop *op, const struct prot_ec_stream *s)
{
	struct prot_ecop *e = prot_ecop(g, op);
	const struct prot_ecop *x = prot_ecop(g, prot_gop(g, s->op));

	if (x->serial != s->serial)
		return;		/* that one is over */
	prot_ec_run_note(g, prot_gop(g, s->op), op);
	e->behind = s->op + 1;
	e->behind_serial = s->serial;
	/* behind one that is held itself, they are held together */
	if (prot_gop(g, s->op)->phase == PROT_P_LOCK && x->behind && x->stripe == e->stripe) {
		e->behind = x->behind;
		e->behind_serial = x->behind_serial;
	}
}

/* A write comes; in its bucket. */
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
	/* nothing is to follow, or who waits for this one waits for its medium */
	if (!at || op->flags & PROT_FUA) {
		e->behind = 0;
		stream_let_go(g, op);
	}
	if (grown && (!e->behind || !stream_runs(g, e->behind - 1, e->behind_serial)))
		prot_ec_cache_note(g, op);
}

/*
 * A write is answered, or has ended: those behind it are held no more. All of them check again, as
 * one may be held behind another that waits for the rows of a third.
 */
void prot_ec_stream_wake(struct prot_group *g)
{
	u16 i;

	i = prot_queue(g, PROT_Q_STREAM)->head;
	for (; i != PROT_NONE16; i = prot_gop(g, i)->wait_next)
		prot_ready(g, prot_gop(g, i));
}

/* Whether @op, whose rows are free, is to wait for what follows it. */
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
