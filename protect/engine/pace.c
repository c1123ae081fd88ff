// SPDX-License-Identifier: GPL-2.0-only
/*
 * The amount of background work to begin, and the number of chunks in flight.
 *
 *   no limit               depth
 *   none was left, often   one fewer
 *   some was left, alone   one more
 *   ... beside requests    measured: as many as bring speed
 *
 *   |   window, n   |  n + 1 tried  |        rest       | n - 1 tried |   rest ...
 *          share          share
 *
 * If the latency of a member limits speed, each further chunk adds as much as the first. If a CPU
 * or a link shared with requests limits speed, a further chunk takes from the requests. So one
 * chunk more stays if the gain is at least three quarters of the earlier speed per chunk, and one
 * fewer stays if the loss is smaller. Speed is the begun share of the allowed bytes: no clock is
 * read.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "protect/engine/group_priv.h"

/* For each chunk in flight, a number of chunks: */
#define PACE_WINDOW	16	/* allowed in a window, at least ... */
#define PACE_BEGUN	8	/* ... and begun in the window, or chance is measured ... */
#define PACE_SLOW	1024	/* ... but wait for at most this number */
#define PACE_DRY	4	/* begun before one fewer is trusted to do */
#define PACE_PARTS	2	/* of a chunk, with requests beside */
#define PACE_SHIFT	10	/* shares are in 1/1024 */
#define PACE_REST	4	/* windows, before another number is tried; twice as many ... */
#define PACE_REST_MOST	64	/* ... each time without a gain, up to this */

/* Bytes of a chunk; ec: bytes of a strip in a private buffer. */
static u32 pace_chunk(const struct prot_group *g)
{
	return g->shape.window ?: g->cfg.buf_bytes;
}

/* Bytes of @n chunks, for each chunk that may be in flight. */
static u64 pace_bytes(const struct prot_group *g, u32 n)
{
	return (u64)n * g->chunks * pace_chunk(g);
}

static void pace_again(struct prot_pace *p)
{
	p->given = 0;
	p->used = 0;
}

static void pace_set(struct prot_group *g, u8 chunks)
{
	g->chunks = chunks;
	pace_again(&g->pace);
	g->pace.dry = 0;
	g->pace.step = 0;
	g->pace.down = 0;
	g->pace.rest = 0;
	g->pace.rests = PACE_REST;
}

/* The number of chunks in use is better than one more and one fewer. */
static void pace_rest(struct prot_pace *p)
{
	p->step = 0;
	p->rest = p->rests;
	p->rests = min(2 * p->rests, PACE_REST_MOST);
}

/* True: one more chunk than @n, with @more done in place of @less, is worth the cost. */
static bool pace_worth(u32 less, u32 more, u32 n)
{
	return more && (u64)more * 4 * n >= (u64)less * (4 * n + 3);
}

/* Try one more or one fewer, in turn; if not possible, rest again. */
static void pace_try(struct prot_group *g)
{
	struct prot_pace *p = &g->pace;
	bool may = p->down ? g->chunks > 1 : g->chunks < prot_depth(&g->cfg);

	p->step = !may ? 0 : p->down ? -1 : 1;
	p->down = !p->down;
	g->chunks += p->step;
}

/* A window is over; @share: the part begun of the bytes allowed. */
static void pace_window(struct prot_group *g, u32 share)
{
	struct prot_pace *p = &g->pace;
	bool stays = p->step > 0 ? pace_worth(p->share, share, g->chunks - 1) :
		     p->step < 0 && !pace_worth(share, p->share, g->chunks);

	if (p->step && !stays) {
		g->chunks -= p->step;
		pace_rest(p);
		return;
	}
	if (p->step) {		/* on, the same way */
		p->down = p->step < 0;
		p->rests = PACE_REST;
	} else if (p->rest && p->rest--) {
		return;
	}
	p->share = share;
	pace_try(g);
	if (!p->step)
		pace_rest(p);
}

/* True: chunks are in flight. */
static bool pace_flying(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < PROT_HANDS; i++)
		if (g->sync.hand[i].out)
			return true;
	return false;
}

/* Some was left of the last allowance, beside requests. */
static void pace_left(struct prot_group *g)
{
	struct prot_pace *p = &g->pace;
	u32 share;

	p->dry = 0;
	if (!pace_flying(g) && !g->scrub_out) {	/* nothing in flight could be slow */
		pace_again(p);
		return;
	}
	if (p->given < pace_bytes(g, PACE_WINDOW) ||
	    (p->used < pace_bytes(g, PACE_BEGUN) &&
	     p->given < pace_bytes(g, PACE_SLOW)))
		return;
	share = div64_u64(p->used << PACE_SHIFT, p->given);
	pace_again(p);
	pace_window(g, share);
}

/* None was left of the last allowance. */
static void pace_dry(struct prot_group *g, u64 bytes)
{
	g->pace.dry += bytes;
	if (g->pace.dry >= pace_bytes(g, PACE_DRY))
		pace_set(g, max(g->chunks - 1, 1));
}

/* The next allowance is @bytes. */
static void pace_chunks(struct prot_group *g, u64 bytes, bool beside)
{
	struct prot_pace *p = &g->pace;

	if (bytes == PROT_NO_LIMIT)
		pace_set(g, prot_depth(&g->cfg));
	else if (g->allowance == PROT_NO_LIMIT || (beside && !p->beside))
		pace_set(g, 1);
	else if (!g->allowance)
		pace_dry(g, bytes);
	else if (beside)
		pace_left(g);
	else if (pace_flying(g) || g->scrub_out)
		pace_set(g, min_t(u32, g->chunks + 1, prot_depth(&g->cfg)));
	p->beside = beside;
}

void prot_group_allow(struct prot_group *g, u64 bytes, bool beside)
{
	u64 pays = bytes == PROT_NO_LIMIT ? g->owed : min(g->owed, bytes);
	u64 most = (u64)prot_depth(&g->cfg) * pace_chunk(g);
	u64 left = !bytes || g->allowance == PROT_NO_LIMIT ? 0 : min(g->allowance, most);

	pace_chunks(g, bytes, beside);
	g->owed -= pays;
	g->allowance = bytes == PROT_NO_LIMIT ? bytes : bytes - pays + left;
	if (g->allowance != PROT_NO_LIMIT)
		g->pace.given += bytes;
}

/*
 * A new request waits for chunks in flight, however few. Copies beside requests therefore use
 * smaller chunks; a scrub, which only reads, does not.
 */
u32 prot_pace_most(const struct prot_group *g, const struct prot_gop *op, u32 most)
{
	if (op->purpose != PROT_FOR_SYNC || !g->pace.beside || g->allowance == PROT_NO_LIMIT)
		return most;
	return max(round_down(most / PACE_PARTS, g->cfg.lba), g->cfg.lba);
}

void prot_pace_used(struct prot_group *g, u32 bytes)
{
	u64 may = min_t(u64, g->allowance, bytes);

	if (g->allowance == PROT_NO_LIMIT)
		return;
	g->pace.used += bytes;
	g->allowance -= may;
	g->owed += bytes - may;
}
