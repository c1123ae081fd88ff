// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads around the engine, as a caller of a group has them: engine/bypass.h is its rules and
 * driver/group/read.c the one that is real. Its run of the engine is sim_pump(): which members may
 * be read is found out before it, and again after what changed that.
 */
#include <errno.h>
#include <string.h>

#include "protect/engine/bypass.h"
#include "protect/engine/group_priv.h"
#include "tests/sim/sim.h"

#if SIM_BUCKETS
/* Sectors of the group in a bucket: few, so that reads and writes are of different ones. */
static uint32_t bucket_sectors(const struct sim_world *w)
{
	const struct prot_group *g = (const struct prot_group *)w->engine;

	return w->cfg.k ? prot_bypass_bytes(&g->cfg) / SIM_LBA : w->cfg.region;
}

static void count(struct sim_world *w, uint32_t first, uint32_t sectors, uint32_t add)
{
	uint32_t n = bucket_sectors(w), at;

	for (at = first / n; at <= (first + sectors - 1) / n; at++)
		w->bypass.word[at % SIM_BUCKETS] += add;
}

void sim_bypass_wrote(struct sim_world *w, uint32_t op, uint32_t first, uint32_t sectors)
{
	w->bypass.write[op].first = first;
	w->bypass.write[op].count = sectors;
	count(w, first, sectors, PROT_BYPASS_BEGUN + 1);
}

void sim_bypass_free(struct sim_world *w, uint32_t op)
{
	if (w->bypass.write[op].count)
		count(w, w->bypass.write[op].first, w->bypass.write[op].count, -1);
	w->bypass.write[op].count = 0;
}

void sim_bypass_allow(struct sim_world *w)
{
	w->bypass.members = w->serving && !w->stopped ? prot_bypass_members(sim_group(w)) : 0;
}

int sim_bypass_from(const struct sim_world *w, int member)
{
	return w->bypass.members >> member & 1;
}

void sim_bypass_reset(struct sim_world *w)
{
	for (int i = 0; i < SIM_BUCKETS; i++)
		w->bypass.word[i] = prot_bypass_reset(w->bypass.word[i]);
	memset(w->bypass.write, 0, sizeof(w->bypass.write));
	w->bypass.members = 0;
}

/* The words of a read's buckets, added up. Return: the same, ORed. */
static uint32_t words(const struct sim_world *w, const struct sim_req *r, uint32_t *sum)
{
	uint32_t n = bucket_sectors(w), all = 0, at;

	for (*sum = 0, at = r->first / n; at <= (uint32_t)(r->first + r->count - 1) / n; at++) {
		*sum += w->bypass.word[at % SIM_BUCKETS];
		all |= w->bypass.word[at % SIM_BUCKETS];
	}
	return all;
}

/* Of copies that may be read, any. */
static uint32_t pick(const struct sim_world *w)
{
	uint64_t left = w->bypass.members;

	for (uint32_t n = w->io_seq % prot_weight(left); n; n--)
		left &= left - 1;
	return prot_lowest(left);
}

int sim_bypass_begin(struct sim_world *w, struct sim_req *r)
{
	const struct prot_group_config *c = &sim_group(w)->cfg;
	uint64_t end = (uint64_t)(r->first + r->count) * SIM_LBA, at;
	struct prot_io io[SIM_REQ_SECTORS];
	int n = 0;

	if (!w->bypass.members || !prot_bypass_may(words(w, r, &r->seen)))
		return 0;
	for (at = (uint64_t)r->first * SIM_LBA; at < end; at += io[n++].length) {
		prot_bypass_piece(c, pick(w), at, end - at, &io[n]);
		if (!(w->bypass.members >> io[n].member & 1))
			return 0;
	}
	memset(w->bypass.had[r - w->req], 0, sizeof(w->bypass.had[0]));
	r->bypass = SIM_BYPASS_OUT;
	r->op = PROT_NONE16;
	r->pieces = n;
	at = 0;
	for (int i = 0; i < n; at += io[i++].length)
		sim_bypass_io(w, r, &io[i], at);
	return 1;
}

void sim_bypass_had(struct sim_world *w, uint32_t sector, uint32_t id)
{
	for (int i = 0; i < SIM_REQS; i++) {
		const struct sim_req *r = &w->req[i];
		uint32_t k = sector - r->first;

		if (r->used && r->bypass && k < r->count)
			w->bypass.had[i][k].id[w->bypass.had[i][k].n++ % SIM_HAD] = id;
	}
}

static int had(const struct sim_world *w, const struct sim_req *r, int k)
{
	int i = r - w->req;

	for (uint32_t n = 0; n < w->bypass.had[i][k].n && n < SIM_HAD; n++)
		if (w->bypass.had[i][k].id[n] == r->got[k])
			return 1;
	return 0;
}

/* Whether nothing came between: then it is over. Else it is the engine's. */
void sim_bypass_ended(struct sim_world *w, const struct sim_io *io, int err)
{
	struct sim_req *r = &w->req[io->req];
	uint32_t sum;

	r->failed |= !!err;
	r->flags |= prot_bypass_flags(&sim_group(w)->cfg, err);
	if (prot_bypass_gone(err) && !io->before && sim_group(w)->in_sync >> io->member & 1)
		prot_group_fail(sim_group(w), io->member);
	if (--r->pieces)
		return;
	words(w, r, &sum);
	if (r->failed || !prot_bypass_right(r->seen, sum)) {
		r->bypass = SIM_BYPASS_AGAIN;
		w->redone++;
		return;
	}
	for (int k = 0; k < r->count; k++)
		if (!had(w, r, k))
			sim_read(w, r->first + k, r->got[k], r->began);
	w->reads++;
	w->bypassed++;
	r->used = 0;
}

int sim_bypass_again(struct sim_world *w)
{
	int taken = 0;

	for (struct sim_req *r = w->req; r < w->req + SIM_REQS; r++) {
		int op;

		if (!r->used || r->bypass != SIM_BYPASS_AGAIN)
			continue;
		op = prot_group_submit(sim_group(w), PROT_READ, r->flags,
				       r->first * SIM_LBA, r->count * SIM_LBA, r - w->req);
		if (op == -EAGAIN)
			continue;
		taken = 1;
		r->bypass = SIM_BYPASS_NOT;
		if (op >= 0) {
			r->op = op;
			w->taken |= 1ULL << op;
			continue;
		}
		if (!w->stopped && !w->beyond)
			sim_bad(w, "a bypass read failed (%d) in a group that serves", op);
		r->used = 0;
	}
	return taken;
}
#else
void sim_bypass_wrote(struct sim_world *w, uint32_t op, uint32_t first, uint32_t sectors)
{
	(void)w, (void)op, (void)first, (void)sectors;
}

void sim_bypass_free(struct sim_world *w, uint32_t op) { (void)w, (void)op; }
void sim_bypass_allow(struct sim_world *w) { (void)w; }
int sim_bypass_from(const struct sim_world *w, int member) { (void)w, (void)member; return 0; }
void sim_bypass_reset(struct sim_world *w) { (void)w; }
int sim_bypass_begin(struct sim_world *w, struct sim_req *r) { (void)w, (void)r; return 0; }
void sim_bypass_ended(struct sim_world *w, const struct sim_io *io, int err) { (void)w, (void)io, (void)err; }
int sim_bypass_again(struct sim_world *w) { (void)w; return 0; }
void sim_bypass_had(struct sim_world *w, uint32_t sector, uint32_t id) { (void)w, (void)sector, (void)id; }
#endif
