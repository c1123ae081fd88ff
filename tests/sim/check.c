// SPDX-License-Identifier: GPL-2.0-only
/* What has to hold: the engine's own books, scrubs, and everything once all is quiet. */
#include <string.h>

#include "protect/codec/codec.h"
#include "protect/engine/group_priv.h"
#include "tests/sim/sim.h"

static int in_set(const struct prot_group *g, uint32_t set, uint32_t region)
{
	return prot_set_has(prot_regions(g, set), region);
}

static void check_blocks(struct sim_world *w, uint32_t member, uint32_t bitmap)
{
	const struct prot_group *g = sim_group(w);
	uint32_t dirty = 0, unwritten = 0;

	for (uint32_t b = 0; b < g->shape.nr_blocks; b++) {
		uint32_t has = *prot_written(g, member, bitmap, b);
		int differs = has != *prot_version(g, bitmap, b);

		if (prot_set_has(prot_dirty(g, member, bitmap), b) != differs)
			sim_bad(w, "bitmap block %u of member %u is wrongly dirty or clean", b, member);
		dirty |= differs;
		unwritten += !has;
	}
	if ((g->meta[member].dirty >> bitmap & 1) != dirty ||
	    *prot_unwritten(g, member, bitmap) != unwritten)
		sim_bad(w, "bitmap %u of member %u is miscounted", bitmap, member);
}

/* A set's upper levels say what is below them. */
static void check_levels(struct sim_world *w, uint32_t set)
{
	const struct prot_group *g = sim_group(w);
	uint32_t n = g->shape.nr_regions, next = PROT_SET_NONE;

	for (uint32_t i = n; i--;) {
		if (in_set(g, set, i))
			next = i;
		if (prot_set_next(prot_regions(g, set), n, i) != next)
			sim_bad(w, "set %u does not find region %u", set, next);
	}
}

/*
 * No op waits for a buffer of its size that it may have: reads have a share, beyond it
 * writes go first.
 */
static void check_buffers(struct sim_world *w, int small)
{
	const struct prot_group *g = sim_group(w);
	int write_waits = prot_queue(g, small ? PROT_Q_SMALL : PROT_Q_BUF)->head != PROT_NONE16;
	int read_waits = prot_queue(g, small ? PROT_Q_SMALL_READ : PROT_Q_READ_BUF)->head !=
			 PROT_NONE16;
	uint32_t unused = 0, reads = 0, kept = g->shape.kept_bufs[small];
	uint32_t first = small ? g->cfg.bufs : 0;
	uint32_t end = small ? prot_nr_bufs(&g->cfg) : g->cfg.bufs;

	for (uint32_t i = first; i < end; i++)
		unused += prot_set_has(prot_free_bufs(g), i);
	for (uint32_t i = g->shape.first_op; i < g->cfg.ops; i++) {
		const struct prot_gop *op = prot_gop(g, i);

		if (op->phase == PROT_P_FREE || op->buf == PROT_NONE16)
			continue;
		if (*prot_hung(g, op->buf))
			sim_bad(w, "op %u has a buffer that a read has yet", i);
		reads += op->buf >= first && op->buf < end && op->kind == PROT_READ;
		if (g->cfg.smalls && op->buf >= g->cfg.bufs && op->length > g->cfg.small)
			sim_bad(w, "op %u has more rows than its small buffer", i);
	}
	if (reads != g->read_bufs[small])
		sim_bad(w, "%u reads have buffers, not %u", reads, g->read_bufs[small]);
	if (g->state != PROT_G_SERVING)
		return;
	if (write_waits && unused + (reads < kept ? reads : kept) > kept)
		sim_bad(w, "a write waits for a buffer, and one is free");
	if (read_waits && unused && (reads < kept || !write_waits))
		sim_bad(w, "a read waits for a buffer, and one is free");
}

/* Ops that wait are in one queue each, whole from either end, and for what is not there. */
static void check_queues(struct sim_world *w)
{
	const struct prot_group *g = sim_group(w);
	uint32_t waiting = 0, queued = 0;

	for (uint32_t i = 0; i < g->cfg.ops; i++)
		waiting += !!prot_gop(g, i)->waits;
	for (uint32_t n = 0; n < g->shape.nr_queues; n++) {
		uint16_t before = PROT_NONE16, i = prot_queue(g, n)->head;

		for (; i != PROT_NONE16 && queued <= waiting; i = prot_gop(g, i)->wait_next) {
			const struct prot_gop *op = prot_gop(g, i);

			if (op->waits != n + 1 || op->wait_prev != before ||
			    (op->phase == PROT_P_BUF) != (n < PROT_Q_LEVEL) ||
			    (n < PROT_Q_LEVEL && (op->kind == PROT_READ) != (n & 1)) ||
			    (n < PROT_Q_LEVEL && (op->length <= g->cfg.small) !=
						 (n >= PROT_Q_SMALL) && g->cfg.smalls))
				sim_bad(w, "op %u waits in the wrong queue", i);
			before = i;
			queued++;
		}
		if (prot_queue(g, n)->tail != before)
			sim_bad(w, "queue %u has lost its end", n);
	}
	for (uint32_t i = g->shape.first_op; i < g->cfg.ops; i++)
		if (prot_set_has(prot_free_ops(g), i) == (w->taken >> i & 1))
			sim_bad(w, "op %u is free, or not, and its submitter knows the contrary", i);
	if (queued != waiting)
		sim_bad(w, "%u ops wait, %u are in queues", waiting, queued);
	check_buffers(w, 0);
	check_buffers(w, 1);
}

/* The scrub names what it counts, and nothing else than what may differ. */
static void check_scrub(struct sim_world *w)
{
	const struct prot_group *g = sim_group(w);
	uint64_t may = w->scrub.rotten | w->scrub.changed, sectors = 0;

	for (uint32_t i = 0; i < g->nr_diffs && i < PROT_DIFFS; i++) {
		const struct prot_diff *d = &g->diffs[i];

		for (uint64_t at = d->addr; at < d->addr + d->length; at += SIM_LBA, sectors++)
			if (!(may >> at / SIM_LBA & 1))
				sim_bad(w, "a scrub finds sector %u wrong, which is right",
					(uint32_t)(at / SIM_LBA));
		if (d->member >= w->cfg.copies &&
		    (d->member != PROT_NO_SOURCE || !(w->cfg.k || w->scrub.replaced)))
			sim_bad(w, "a scrub names member %u", d->member);
	}
	if (g->nr_diffs <= PROT_DIFFS && sectors != g->mismatches)
		sim_bad(w, "a scrub names %u sectors of %u", (uint32_t)sectors,
			(uint32_t)g->mismatches);
	if (w->scrub.stopped && g->scrub_pos != w->scrub.pos)
		sim_bad(w, "a scrub goes on though it was stopped");
}

void sim_check_scrub_io(struct sim_world *w, const struct sim_io *io)
{
	const struct prot_group *g = sim_group(w);
	const struct prot_gop *op = prot_gop(g, io->tag >> PROT_TAG_SHIFT);
	uint64_t sectors = ((1ULL << io->sectors) - 1) << io->first;

	if (io->tag & PROT_TAG_META || io->kind == PROT_READ || op->purpose != PROT_FOR_SCRUB ||
	    (g->scrub.repair && !prot_repairing(g, op)))
		return;
	if (sectors & ~(w->bad_sectors[io->member] | w->refused[io->member]))
		sim_bad(w, "a scrub that is to compare writes what member %u can read", io->member);
}

/* The sets that the engine scans hold what a scan of everything would find. */
void sim_check_sets(struct sim_world *w)
{
	const struct prot_group *g = sim_group(w);
	uint32_t unsynced = 0;

	check_scrub(w);
	if (prot_mutant)
		return;
	check_queues(w);
	for (uint32_t i = 0; i < g->shape.nr_regions; i++) {
		unsynced += in_set(g, PROT_SET_UNSYNCED, i);
		if (!w->cfg.k && in_set(g, PROT_SET_UNSYNCED, i) && !in_set(g, PROT_SET_INTENT, i))
			sim_bad(w, "region %u is unsynced without its intent bit", i);
		for (uint32_t n = 0; n < g->shape.nr_absent; n++)
			if (in_set(g, PROT_SET_MISSED + n, i) && !(prot_absent(g) >> n & 1))
				sim_bad(w, "region %u is missed by a member that is not out", i);
	}
	for (uint32_t n = 0; n < PROT_SET_MISSED + g->shape.nr_absent; n++)
		check_levels(w, n);
	if (unsynced != g->unsynced)
		sim_bad(w, "%u regions are unsynced, not %u", unsynced, g->unsynced);
	for (uint32_t m = 0; m < g->cfg.width; m++)
		for (uint32_t n = 0; n < g->shape.nr_bitmaps; n++)
			check_blocks(w, m, n);
}

/* Whether a write that is not acknowledged has to do with a stripe. */
static int written(const struct sim_world *w, int stripe)
{
	int n = w->cfg.k * w->cfg.strip;

	for (int i = 0; i < SIM_REQS; i++) {
		const struct sim_req *r = &w->req[i];

		if (r->used && r->kind != PROT_READ && r->first / n <= stripe &&
		    stripe <= (r->first + r->count - 1) / n)
			return 1;
	}
	return 0;
}

/* Members that hold what @r reads. */
static uint64_t read_from(const struct sim_world *w, const struct sim_req *r)
{
	const struct prot_group *g = (const struct prot_group *)w->engine;
	int n = w->cfg.k * w->cfg.strip;
	uint64_t members = 0;

	for (int s = r->first; s < r->first + r->count; s++)
		members |= 1ULL << prot_group_member(g, s / n, s % n / w->cfg.strip);
	return members;
}

/* Whether it waits for a member that was sent its read. */
static int waits_for_io(const struct sim_world *w, const struct sim_req *r)
{
	for (int i = 0; i < SIM_IOS; i++)
		if (w->io[i].used && !w->io[i].dead && !(w->io[i].tag & PROT_TAG_META) &&
		    w->io[i].tag >> PROT_TAG_SHIFT == r->op)
			return 1;
	return 0;
}

/* Background work has rows in hand: a scrub waits for writes of them, and reads for it. */
static int scrub_has_rows(const struct prot_group *g)
{
	for (uint32_t i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase != PROT_P_FREE && prot_gop(g, i)->purpose == PROT_FOR_SCRUB)
			return 1;
	return 0;
}

void sim_check_reads(struct sim_world *w)
{
	const struct prot_group *g = sim_group(w);

	if (!w->cfg.k || !w->serving || w->stopped || w->beyond || sim_answered(w, 0) ||
	    scrub_has_rows(g) || g->ready_head != PROT_NONE16 || sim_unreadable(w))
		return;
	for (int i = 0; i < SIM_REQS; i++) {
		const struct sim_req *r = &w->req[i];
		uint64_t from = read_from(w, r);

		if (!r->used || r->kind != PROT_READ || r->bypass || waits_for_io(w, r) ||
		    written(w, r->first / (w->cfg.k * w->cfg.strip)))
			continue;
		if (!sim_flying(w) || !(from & ~(g->in_sync & ~g->failed & ~(uint64_t)(w->silent | w->late))))
			sim_bad(w, "a read of sector %d waits for what it does not read", r->first);
	}
}

/* A write, or background work, has rows of @op, or it has to make copies equal itself. */
static int rows_taken(const struct prot_group *g, const struct prot_gop *op)
{
	if (op->exclusive)
		return 1;
	for (uint32_t i = 0; i < g->cfg.ops; i++) {
		const struct prot_gop *o = prot_gop(g, i);

		if (o != op && o->phase != PROT_P_FREE && prot_rows_meet(o, op) && o->exclusive)
			return 1;
	}
	return 0;
}

/* A read that came before has a buffer, and waits for a late member. */
static int buffer_held(const struct sim_world *w, const struct prot_group *g)
{
	for (int i = 0; i < SIM_REQS; i++) {
		const struct sim_req *r = &w->req[i];

		if (r->used && r->kind == PROT_READ && !r->bypass && r->began <= w->late_since &&
		    prot_gop(g, r->op)->buf != PROT_NONE16)
			return 1;
	}
	return 0;
}

void sim_check_late(struct sim_world *w)
{
	const struct prot_group *g = sim_group(w);
	uint64_t prompt = g->in_sync & ~g->failed & ~(uint64_t)w->late;

	if (!w->serving || w->stopped || w->beyond || w->requested || w->committed ||
	    prot_weight(prompt) < (w->cfg.k ? w->cfg.k : 1) || sim_unreadable(w))
		return;
	for (int i = 0; i < SIM_REQS; i++) {
		const struct sim_req *r = &w->req[i];

		if (!r->used || r->kind != PROT_READ || r->bypass || r->began <= w->late_since ||
		    rows_taken(g, prot_gop(g, r->op)) || buffer_held(w, g))
			continue;
		sim_bad(w, "a read of sector %d waits for a late member", r->first);
	}
}

static int act(struct sim_world *w, struct sim_action a)
{
	return sim_do(w, &a);
}

/* Bytes of the members' rows that have to be left alone while @sector of them is rotten. */
static void around(const struct sim_world *w, int sector, uint64_t *lo, uint64_t *hi)
{
	int n = w->cfg.k ? w->cfg.strip : w->cfg.region;

	*lo = (uint64_t)(sector - sector % n) * SIM_LBA;
	*hi = *lo + (uint64_t)n * SIM_LBA;
}

static int in_use(struct sim_world *w, int sector)
{
	struct prot_group *g = sim_group(w);
	uint64_t lo, hi;

	around(w, sector, &lo, &hi);
	for (int i = 0; i < SIM_REQS; i++)
		if (w->req[i].used && w->req[i].bypass)
			return 1;
	for (uint32_t i = 0; i < g->cfg.ops; i++) {
		const struct prot_gop *op = prot_gop(g, i);

		if (op->phase != PROT_P_FREE && op->addr < hi && lo < op->addr + op->length)
			return 1;
	}
	if (w->cfg.k)
		return 0;
	return in_set(g, PROT_SET_UNSYNCED, prot_region_of(g, lo)) || sim_tainted(w, sector);
}

int sim_scrub(struct sim_world *w, const struct sim_action *a)
{
	struct prot_scrub how = { .repair = a->c & 1, .source = PROT_NO_SOURCE };
	struct prot_group *g = sim_group(w);

	if (!w->serving)
		return 0;
	if (g->scrubbing) {
		if (w->rot.on || !(a->c & 4))
			return 0;
		prot_group_scrub_stop(g);
		w->scrub.stopped = 1;
		w->scrub.pos = g->scrub_pos;
		sim_pump(w);
		return 1;
	}
	if (a->c & 2)
		how.source = a->a;
	w->scrub.stopped = 0;
	w->scrub.replaced = 0;
	w->scrub.rotten = w->rot.on ? 1ULL << w->rot.sector : 0;
	w->scrub.changed = 0;
	for (int s = 0; s < w->cfg.sectors && !w->cfg.k; s++)
		w->scrub.changed |= (uint64_t)sim_tainted(w, s) << s;
	prot_group_scrub(g, &how);
	sim_pump(w);
	return 1;
}

static int is_parity(struct sim_world *w, int member, int sector)
{
	for (int i = w->cfg.k; i < w->cfg.copies; i++)
		if (prot_group_member(sim_group(w), sector / w->cfg.strip, i) == member)
			return 1;
	return 0;
}

/*
 * How the scrub goes that is to find it: the repair is right where a majority or a source
 * says what is, or m > 1, or parity alone has changed. It names who has changed, as far as
 * that can be known.
 */
static struct sim_action rot_scrub(struct sim_world *w, const struct sim_action *a)
{
	struct sim_action scrub = { .kind = ACT_SCRUB, .c = a->c & 3 };
	int member = w->rot.member;

	scrub.a = (member + 1 + (a->c >> 2) % (w->cfg.copies - 1)) % w->cfg.copies;
	w->rot.named = member;
	if (w->cfg.m == 1) {
		w->rot.named = PROT_NO_SOURCE;
		if (!is_parity(w, member, w->rot.sector))
			scrub.c &= ~1;
	}
	w->rot.repair = scrub.c & 1;
	/* Of two copies neither is known to be right, and the second is said to differ. */
	if (!w->cfg.k && w->cfg.copies == 2 && scrub.c != 3) {
		w->rot.repair = 0;
		w->rot.named = 1;
	}
	return scrub;
}

int sim_rot(struct sim_world *w, const struct sim_action *a)
{
	struct prot_group *g = sim_group(w);
	uint64_t all = (1ULL << w->cfg.copies) - 1;
	int member = a->a, sector = a->b;
	uint8_t *at = w->disk[member % SIM_WIDTH][w->meta + sector % SIM_DATA];

	if (w->rot.on || !w->serving || w->stopped || w->silent || w->committed || w->requested ||
	    w->store.in_sync != all || g->in_sync != all || g->failed || g->scrubbing || g->repairs ||
	    g->repairing || sector >= sim_sectors(w) || member >= w->cfg.copies || in_use(w, sector))
		return 0;
	for (int i = 0; i < w->cfg.copies; i++)
		if (w->bad_sectors[i] >> w->meta)
			return 0;
	w->rot.on = 1;
	w->rot.member = member;
	w->rot.sector = sector;
	w->rots++;
	memcpy(w->rot.was, at, SIM_LBA);
	at[w->rots % SIM_LBA] ^= 1 + w->rots % 255;
	return act(w, rot_scrub(w, a));
}

int sim_unreadable(const struct sim_world *w)
{
	for (int i = 0; i < w->cfg.copies; i++)
		if (w->bad_sectors[i])
			return 1;
	return 0;
}

/* It was never so, but a scrub may have read it already. */
void sim_unrot(struct sim_world *w)
{
	if (!w->rot.on)
		return;
	memcpy(w->disk[w->rot.member][w->meta + w->rot.sector], w->rot.was, SIM_LBA);
	w->rot.on = 0;
}

int sim_rotten(const struct sim_world *w, int first, int count)
{
	uint64_t lo, hi, stripe = w->cfg.k ? w->cfg.k * w->cfg.strip : 1;
	uint64_t from = first, to = first + count;

	if (!w->rot.on)
		return 0;
	if (w->cfg.k) {
		from = from / stripe * w->cfg.strip;
		to = (to + stripe - 1) / stripe * w->cfg.strip;
	}
	around(w, w->rot.sector, &lo, &hi);
	return from * SIM_LBA < hi && lo < to * SIM_LBA;
}

/* Whether the scrub has named the sector, or has more to name than it can. */
static int rot_named(const struct sim_world *w, const struct prot_group *g)
{
	uint64_t at = (uint64_t)w->rot.sector * SIM_LBA;

	for (uint32_t i = 0; i < g->nr_diffs && i < PROT_DIFFS; i++) {
		const struct prot_diff *d = &g->diffs[i];

		if (d->member == w->rot.named && d->addr <= at && at < d->addr + d->length)
			return 1;
	}
	return g->nr_diffs > PROT_DIFFS;
}

void sim_scrubbed(struct sim_world *w)
{
	const struct prot_group *g = sim_group(w);
	int same;

	if (!w->rot.on || g->scrubbing)
		return;
	same = !memcmp(w->disk[w->rot.member][w->meta + w->rot.sector], w->rot.was, SIM_LBA);
	if (w->rot.repair != same || !rot_named(w, g) || (same && !g->repaired) ||
	    g->unexplained != (w->cfg.m == 1))
		sim_bad(w, "a scrub did not %s sector %d of member %d, which changed by itself",
			w->rot.repair ? "repair" : "report", w->rot.sector, w->rot.member);
	sim_unrot(w);
}

/* All ends that does not wait for more requests; then what does. No request is to wait for it. */
static void drain_once(struct sim_world *w)
{
	act(w, (struct sim_action){ .kind = ACT_DRAIN });
	for (int i = 0; i < SIM_REQS; i++)
		if (w->req[i].used && !w->beyond && !w->req[i].bypass && w->serving && !w->stopped)
			sim_bad(w, "a request waits for one that waits for more of them");
	if (w->bad[0])
		return;
	prot_group_hurry(sim_group(w));
	act(w, (struct sim_action){ .kind = ACT_DRAIN });
}

/* Everything that can be done is done. */
static void drain(struct sim_world *w)
{
	do
		drain_once(w);
	while (!w->bad[0] && act(w, (struct sim_action){ .kind = ACT_PROMOTE }));
	if (w->beyond && !w->bad[0]) {
		for (int i = 0; i < SIM_REQS; i++)
			if (w->req[i].used)
				sim_bad(w, "a request hangs in a group that lost too much");
		act(w, (struct sim_action){ .kind = ACT_CRASH });
		drain(w);
		return;
	}
	if (!w->bad[0] && (!w->serving || !prot_group_quiet(sim_group(w))))
		sim_bad(w, "hangs: nothing in flight, and not done");
	for (int i = 0; i < SIM_REQS && !w->bad[0]; i++)
		if (w->req[i].used)
			sim_bad(w, "a request is forgotten");
	if (!w->bad[0] && !w->stopped && sim_group(w)->joining & ~w->silent &&
	    !sim_group(w)->sync.stalled)
		sim_bad(w, "a member that came back is never called in sync");
}

/* Each sector, and a read that failed on one member had it repaired. */
static void read_all(struct sim_world *w)
{
	memset(w->refused, 0, sizeof(w->refused));
	for (int s = 0; s < w->cfg.sectors && !w->bad[0]; s++) {
		if (!act(w, (struct sim_action){ .kind = ACT_SUBMIT, .a = PROT_READ, .b = s, .c = 1,
						  .m = s & 1 }))
			sim_bad(w, "a read of sector %d is not taken", s);
		drain(w);
	}
	for (int i = 0; i < w->cfg.copies && !w->bad[0]; i++)
		if (w->store.in_sync >> i & 1 && w->bad_sectors[i] & w->refused[i])
			sim_bad(w, "what member %d could not read was not written again", i);
}

/* A scrub leaves nothing that can't be read on members in sync; nothing is to be recovered. */
static void scrub_all(struct sim_world *w)
{
	act(w, (struct sim_action){ .kind = ACT_IDLE });
	drain(w);
	if (!w->bad[0] && !sim_group(w)->unsynced && !prot_group_settle(sim_group(w)))
		sim_bad(w, "the next attachment would recover what no write is using");
	act(w, (struct sim_action){ .kind = ACT_SCRUB });
	drain(w);
	for (int i = 0; i < w->cfg.copies && !w->bad[0]; i++)
		if (w->store.in_sync >> i & 1 && w->bad_sectors[i] >> w->meta)
			sim_bad(w, "sectors of member %d are left unreadable", i);
}

/* The equations of each row hold for all members in sync. */
static void check_parity(struct sim_world *w)
{
	static struct prot_map map;
	struct prot_code code;
	uint64_t in = w->store.in_sync, have, want;
	uint8_t out[PROT_CODEC_M_MAX][SIM_LBA], *src[SIM_WIDTH], *dst[PROT_CODEC_M_MAX];

	prot_code_init(&code, w->cfg.k, w->cfg.m);
	for (int s = 0; s < sim_sectors(w) && !w->bad[0]; s++) {
		int n = 0, stripe = s / w->cfg.strip, members[SIM_WIDTH], d = 0;

		have = want = 0;
		for (int strip = 0; strip < w->cfg.copies; strip++) {
			int member = prot_group_member(sim_group(w), stripe, strip);

			if (!(in >> member & 1))
				continue;
			if (n < w->cfg.k) {
				have |= 1ULL << strip;
				src[n++] = w->disk[member][w->meta + s];
			} else {
				want |= 1ULL << strip;
				dst[d] = out[d];
				members[d++] = member;
			}
		}
		if (!want || prot_map_init(&map, &prot_codec_portable, &code, have, want))
			continue;
		prot_map_apply(&map, &prot_codec_portable, src, dst, SIM_LBA);
		for (int i = 0; i < d; i++)
			if (memcmp(out[i], w->disk[members[i]][w->meta + s], SIM_LBA))
				sim_bad(w, "row %d of stripe %d is inconsistent at member %d",
					s % w->cfg.strip, stripe, members[i]);
	}
}

/* Copies in sync hold the same, but where a buffer changed in flight. */
static void compare(struct sim_world *w)
{
	uint64_t in = w->store.in_sync;
	int first = __builtin_ctzll(in);

	if (w->cfg.k) {
		check_parity(w);
		return;
	}
	for (int i = first + 1; i < w->cfg.copies && !w->bad[0]; i++)
		for (int s = 0; s < w->cfg.sectors && in >> i & 1; s++)
			if (!sim_tainted(w, s) &&
			    memcmp(w->disk[first][w->meta + s], w->disk[i][w->meta + s], SIM_LBA))
				sim_bad(w, "copies %d and %d differ in sector %d", first, i, s);
}

void sim_settle(struct sim_world *w)
{
	if (w->bad[0])
		return;
	drain(w);
	read_all(w);
	if (!w->bad[0] && w->mediums + w->rots)
		scrub_all(w);
	if (w->bad[0])
		return;
	compare(w);
	/* a second check after one more crash: nothing flips, with any one left */
	if (!w->bad[0] && act(w, (struct sim_action){ .kind = ACT_CRASH, .a = w->silent })) {
		drain(w);
		read_all(w);
		if (!w->bad[0])
			compare(w);
	}
}
