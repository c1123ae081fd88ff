// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim random N [FIRST]   N schedules from seed FIRST on; stops at a failure
 * sim seed S             one schedule, minimised if it fails; SIM_TRACE=1 in the
 *                        environment prints each I/O of it
 * sim mutants [N]        each rule taken out in turn: which seed catches it
 *
 * SIM_LEVEL=mirror or ec in the environment; mutants are of both.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "protect/mutant.h"
#include "tests/sim/story.h"

static uint64_t state;
static int ec;			/* erasure-coded groups, else mirrors */

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 20) % below;
}

static uint64_t rnd64(void)
{
	return (uint64_t)rnd(1u << 22) << 44 ^ (uint64_t)rnd(1u << 22) << 22 ^ rnd(1u << 22);
}

static void seed_random(uint64_t seed)
{
	state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	for (int i = 0; i < 8; i++)
		rnd(2);
}

static void random_ec(struct sim_config *c, uint64_t seed)
{
	static const uint8_t shapes[][2] = { { 2, 1 }, { 2, 1 }, { 2, 2 }, { 2, 2 }, { 3, 1 },
					     { 3, 2 }, { 4, 2 }, { 2, 3 }, { 2, 4 } };
	uint32_t shape = rnd(sizeof(shapes) / sizeof(shapes[0])), regions, blocks;

	c->k = shapes[shape][0];
	c->m = shapes[shape][1];
	c->copies = c->k + c->m;
	c->strip = 1 << rnd(2);
	c->slot = rnd(4) ? c->strip : 2;
	c->rings = 1 + rnd(2);
	c->slots = 2 + rnd(c->copies > 5 ? 2 : 3);
	c->region = c->strip << rnd(3);
	c->sectors = c->k * c->strip * (2 + rnd(3));
	c->ops = 2 + rnd(5);
	c->fresh = 1;
	c->bits = 1 + rnd(2);
	regions = c->sectors / c->k / c->region + 1;
	blocks = (regions + c->bits - 1) / c->bits;
	c->smalls = c->strip > 1 && seed % 3 ? 3 : 0;
	c->cached = seed % 4 % 3;
	if (rnd(2) || 2 + (1 + c->copies) * blocks + c->rings * c->slots * (1 + c->slot) > SIM_META)
		c->bits = 0;
}

/* A schedule of writes in order, each when all before has ended most of the time. */
static int one_by_one_seed(uint64_t seed)
{
	return ec && seed % 8 == 6;
}

/* Strips of several writes, and room to hold them. */
static void orderly_config(struct sim_config *c)
{
	c->strip = 4;
	c->slot = 4;
	c->region = 4;
	c->rings = 1;
	c->slots = 5;
	c->sectors = c->k * c->strip * 2;
	c->smalls = 6;
	c->ops = 6;
	c->bits = 0;
}

static void random_config(struct sim_config *c, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	c->noise = rnd(2) ? 0 : 1 + rnd(255);
	c->depth = rnd(2) ? 0 : 2 + rnd(2);
	c->beside = c->depth && rnd(2);
	c->plain = rnd(4) ? 0 : rnd(1 << SIM_WIDTH);
	if (ec) {
		random_ec(c, seed);
		if (one_by_one_seed(seed))
			orderly_config(c);
		return;
	}
	c->copies = 2 + rnd(3);
	c->region = 2 << rnd(3);
	c->sectors = rnd(2) ? c->region + rnd(3) : 4 + rnd(SIM_DATA - 3);
	c->chunk = 1 + rnd(4);
	c->ops = 2 + rnd(5);
	c->fresh = rnd(8) != 0;
	c->bits = rnd(2) ? 0 : 3 + rnd(2);
}

/*
 * Which sectors in flight land: by write (whole, not at all, or torn), with those
 * that began last more likely than the others or the other way round; or all,
 * none, most, few, any.
 */
static uint64_t random_landing(const struct sim_world *w)
{
	uint64_t m = 0, seq, cut = w->io_seq - rnd(8);
	uint32_t torn = rnd(3) ? 0 : 1 + rnd(254);	/* all alike: only headers, only payloads */
	int bit = 0, newest = rnd(2);

	for (seq = rnd(2) ? 1 : ~0ULL; seq <= w->io_seq; seq++)
		for (int i = 0; i < SIM_IOS; i++) {
			const struct sim_io *io = &w->io[i];
			uint32_t how;

			if (!io->used || io->seq != seq || io->kind == PROT_READ)
				continue;
			how = rnd(3);
			if ((seq > cut) != newest && (torn || rnd(4)))
				how = 0;
			else if (torn && io->sectors > 1)
				how = 3;
			for (int k = 0; k < io->sectors; k++)
				for (int p = sim_pieces(w, io, k); p; p--, bit++)
					m |= (uint64_t)(how == 1 || (how == 2 && rnd(2)) ||
							(how == 3 && torn >> (k & 7) & 1)) <<
					     (bit & 63);
		}
	if (bit)
		return m;
	switch (rnd(5)) {
	case 0:
		return 0;
	case 1:
		return ~0ULL;
	case 2:
		return rnd64() & rnd64();
	case 3:
		return rnd64() | rnd64();
	}
	return rnd64();
}

/* What a schedule likes besides. */
static int newest_first;	/* what was started last ends first */
static int hot;			/* sectors that requests stay in */
static int (*starved)(const struct sim_world *w, const struct sim_io *io);
static int slow_member;
static int bypass;		/* reads go around the engine */
static int log_sector;		/* where the next write in order goes; -1: there are none */
static int one_by_one;		/* ... most often when all that was sent before has ended */

static int is_bitmap(const struct sim_world *w, const struct sim_io *io)
{
	const struct prot_group *g = (const struct prot_group *)w->engine;

	return io->kind == PROT_WRITE && io->first >= 2 &&
	       (uint32_t)io->first < 2 + (PROT_MISSED + w->cfg.copies) * g->shape.nr_blocks;
}

static int is_attach(const struct sim_world *w, const struct sim_io *io)
{
	(void)w;
	return io->kind == PROT_WRITE && io->first < 2;
}

static int is_slow(const struct sim_world *w, const struct sim_io *io)
{
	(void)w;
	return io->member == slow_member;
}

static int is_bypass(const struct sim_world *w, const struct sim_io *io)
{
	(void)w;
	return io->bypass;
}

/* Which I/O ends next; those that are starved go last, most of the time. */
static int random_completion(struct sim_world *w)
{
	int flying = sim_flying(w), n = 0;

	for (int tries = 0; tries < 4; tries++) {
		const struct sim_io *io;

		n = rnd(4) ? 0 : rnd(8);
		if (rnd(2) && flying)
			n = rnd(flying);
		if (newest_first && rnd(8) && flying)
			n = flying - 1;
		io = sim_answered(w, n);
		if (!starved || !io || !starved(w, io) || !rnd(16))
			break;
	}
	return n;
}

/* Swarm testing: each schedule likes some kinds of action and shuns others. */
static void random_weights(uint32_t *weight, uint64_t seed)
{
	static const uint32_t base[ACT_KINDS] = {
		[ACT_SUBMIT] = 30, [ACT_COMPLETE] = 60, [ACT_SILENCE] = 3, [ACT_FAIL] = 8,
		[ACT_MUTATE] = 2, [ACT_COMMIT] = 8, [ACT_NOTIFY] = 12, [ACT_IDLE] = 6,
		[ACT_SCRUB] = 2, [ACT_RETURN] = 10, [ACT_REPLACE] = 3, [ACT_PROMOTE] = 12,
		[ACT_CRASH] = 3, [ACT_DRAIN] = 6, [ACT_EXPEL] = 3, [ACT_LEAVE] = 3,
		[ACT_MEDIUM] = 2, [ACT_ROT] = 2, [ACT_HICCUP] = 8,
	};
	static const uint32_t factor[] = { 0, 1, 1, 1, 4 };
	static int (*const starving[])(const struct sim_world *w, const struct sim_io *io) = {
		NULL, NULL, NULL, is_bitmap, is_attach, is_slow,
	};

	newest_first = !rnd(4);
	hot = rnd(3) ? 0 : 1 + rnd(4);
	starved = starving[rnd(sizeof(starving) / sizeof(starving[0]))];
	if (seed / 4 % 4 == 3)		/* writes come between */
		starved = is_bypass;
	slow_member = rnd(SIM_WIDTH);
	one_by_one = one_by_one_seed(seed);
	log_sector = rnd(3) && !one_by_one ? -1 : 0;
	bypass = seed / 4 % 2;
	for (int k = 0; k < ACT_LATE; k++)
		weight[k] = base[k] * factor[rnd(5)];
	if (rnd(2))		/* no more than what protocols are made for */
		for (int k = 0; k < ACT_KINDS; k++)
			if (k == ACT_MEDIUM || k == ACT_ROT || k == ACT_EXPEL || k == ACT_LEAVE ||
			    k == ACT_HICCUP)
				weight[k] = 0;
	weight[ACT_SUBMIT] += 5;
	weight[ACT_COMPLETE] += 5 + rnd(60);
	weight[ACT_RETURN] += 2;
	weight[ACT_PROMOTE] += 4;
	weight[ACT_FAIL] += 1;
	weight[ACT_COMMIT] += 1;
	weight[ACT_NOTIFY] += 1;
	/* in one of four, for a late member keeps schedules from getting far */
	weight[ACT_LATE] = seed % 4 == 3 ? 6 : 0;
	weight[ACT_PROMPT] = seed % 4 == 3 ? 4 : 0;
}

static int next_sector;		/* where a write goes that is submitted with the one before; -1 */

/* Writes submitted together, next to each other or one over the other. */
static int random_batch(const struct sim_world *w, struct sim_action *a)
{
	int stripe = w->cfg.k * w->cfg.strip, end;

	if (next_sector < 0 || !rnd(6))
		return 0;
	a->kind = ACT_SUBMIT;
	a->a = PROT_WRITE;
	a->b = next_sector;
	if (!rnd(4) && a->b % stripe)
		a->b -= 1 + rnd(a->b % stripe);
	end = a->b - a->b % stripe + stripe;
	a->c = 1 + rnd(rnd(2) ? 1 : end - a->b);
	a->seed = a->b + a->c < end && rnd(5);
	next_sector = a->seed ? a->b + a->c : -1;
	return 1;
}

static void random_submit(const struct sim_world *w, struct sim_action *a)
{
	static const uint8_t kinds[] = { PROT_WRITE, PROT_WRITE, PROT_WRITE, PROT_READ, PROT_READ,
					 PROT_DISCARD, PROT_ZEROES };
	uint32_t stripe = w->cfg.k * w->cfg.strip;

	a->a = PROT_WRITE;
	a->c = 1;
	if (one_by_one && log_sector && !rnd(8)) {
		/* to rows just written in order, of any strip */
		a->b = (log_sector - 1) % w->cfg.sectors;
		a->b = a->b / stripe * stripe + rnd(w->cfg.k) * w->cfg.strip +
		       a->b % w->cfg.strip;
		a->b -= rnd(1 + a->b % w->cfg.strip);
		return;
	}
	if (ec && log_sector >= 0 && rnd(one_by_one ? 16 : 4)) {
		a->b = log_sector++ % w->cfg.sectors;
		return;
	}
	a->a = kinds[rnd(sizeof(kinds))];
	a->b = rnd(hot && rnd(8) ? hot : w->cfg.sectors) % w->cfg.sectors;
	a->c = 1 + rnd(w->cfg.region);
	a->m = bypass && a->a == PROT_READ && rnd(4);
	if (!ec)
		return;
	if (!rnd(4))
		a->b -= a->b % stripe;
	a->c = rnd(3) ? 1 + rnd(stripe - a->b % stripe) : stripe - a->b % stripe;
	a->seed = !rnd(4);
	if (a->seed)
		next_sector = a->b + (a->c % stripe ? a->c : 0);
}

/* The next of writes in order, when all before has ended. */
static int random_orderly(struct sim_world *w, struct sim_action *a)
{
	if (!one_by_one || !rnd(16))
		return 0;
	a->kind = sim_answered(w, 0) && rnd(16) ? ACT_COMPLETE : ACT_SUBMIT;
	if (a->kind == ACT_SUBMIT)
		random_submit(w, a);
	return 1;
}

static void random_crash(const struct sim_world *w, struct sim_action *a)
{
	switch (rnd(8)) {
	case 0:		/* one that is in sync goes with it, most often */
	case 1:
		a->a = 1 << rnd(w->cfg.copies);
		break;
	case 2:
		a->a = rnd(1 << w->cfg.copies);
	}
	if (rnd(4))
		a->a |= w->silent;
	a->m = random_landing(w);
}

static void random_scrub(const struct sim_world *w, struct sim_action *a)
{
	a->kind = ACT_SCRUB;
	a->a = rnd(w->cfg.copies);
	a->c = rnd(8);
}

static void random_action(struct sim_world *w, const uint32_t *weight, struct sim_action *a)
{
	uint32_t sum = 0, pick;

	memset(a, 0, sizeof(*a));
	if (ec && random_batch(w, a))
		return;
	next_sector = -1;
	if (random_orderly(w, a))
		return;
	for (int k = 0; k < ACT_KINDS; k++)
		sum += weight[k];
	pick = rnd(sum);
	while (pick >= weight[a->kind])
		pick -= weight[a->kind++];
	switch (a->kind) {
	case ACT_SUBMIT:
		random_submit(w, a);
		break;
	case ACT_COMPLETE:
		a->a = random_completion(w);
		break;
	case ACT_FAIL:
		a->a = rnd(4) ? 0 : rnd(8);
		break;
	case ACT_HICCUP:
		a->a = rnd(rnd(2) ? 1 : 8);
		a->b = rnd(HICCUPS);
		a->m = rnd64();
		a->m = rnd(2) ? a->m : rnd(2) ? ~0ULL >> 1 : rnd(2) ? 1ULL << 63 : 0;
		break;
	case ACT_MUTATE:
		a->a = rnd(SIM_REQS);
		break;
	case ACT_SILENCE:
		a->a = rnd(w->cfg.copies);
		a->b = !rnd(6);
		break;
	case ACT_MEDIUM:
	case ACT_ROT:
		a->a = rnd(w->cfg.copies);
		a->b = rnd(sim_sectors(w));
		a->c = a->kind == ACT_ROT ? rnd(16) : 0;
		if (a->kind == ACT_MEDIUM)
			a->b = rnd(8) ? w->meta + a->b : rnd(w->meta);
		break;
	case ACT_CRASH:
		random_crash(w, a);
		break;
	case ACT_SCRUB:
		random_scrub(w, a);
		break;
	default:
		a->a = rnd(w->cfg.copies);
		a->m = random_landing(w);
	}
}

/* Make a schedule as it goes; what was done is kept in @s. */
static void run_seed(struct sim_world *w, uint64_t seed, struct schedule *s)
{
	uint32_t weight[ACT_KINDS];
	int steps, soon = 0, scrub = 0;

	if (sim_story(w, seed, ec, s))
		return;
	seed_random(seed);
	random_config(&s->cfg, seed);
	random_weights(weight, seed);
	steps = 20 + rnd(STEPS_MAX - 20);
	next_sector = -1;
	s->n = 0;
	sim_init(w, &s->cfg);
	for (int i = 0; i < steps && !w->bad[0]; i++) {
		struct sim_action a;

		random_action(w, weight, &a);
		/* recovery is short: what crashes in it has to be meant */
		if (soon && !--soon) {
			a.kind = ACT_CRASH;
			a.a = (rnd(3) ? 1 << rnd(w->cfg.copies) : 0) | (rnd(2) ? w->silent : 0);
			a.m = random_landing(w);
		}
		/* what a crash left dirty is made equal soon: a scrub beside that has to be meant, too */
		if (scrub && !--scrub)
			random_scrub(w, &a);
		if (!sim_do(w, &a))
			continue;
		s->act[s->n++] = a;
		if (a.kind == ACT_CRASH && !rnd(4))
			scrub = 1 + rnd(20);
		if (a.kind == ACT_CRASH && !rnd(2))
			soon = 1 + rnd(30);
		if ((a.kind == ACT_PROMOTE || a.kind == ACT_NOTIFY || a.kind == ACT_IDLE) && !rnd(4))
			soon = 1 + rnd(8);
	}
	sim_settle(w);
}

struct seeded {
	struct sim_world *w;
	struct schedule *s;
	uint64_t seed;
};

static void run_seeded(void *arg)
{
	const struct seeded *a = arg;

	run_seed(a->w, a->seed, a->s);
}

/* The same, of an engine that may never come to rest. False: it did not. */
static int run_guarded(struct sim_world *w, uint64_t seed, struct schedule *s)
{
	struct seeded a = { w, s, seed };
	int rests = sim_guarded(run_seeded, &a);

	if (!rests)
		sim_bad(w, "the engine does not come to rest");
	return rests;
}

static void run_list(struct sim_world *w, const struct schedule *s)
{
	sim_init(w, &s->cfg);
	for (int i = 0; i < s->n && !w->bad[0]; i++)
		sim_do(w, &s->act[i]);
	sim_settle(w);
}

/* Leave out what the failure does not need, in ever smaller pieces. */
static void minimise(struct sim_world *w, struct schedule *s)
{
	struct schedule t;

	for (int piece = s->n / 2; piece; piece /= 2)
		for (int at = 0; at + piece <= s->n;) {
			t = *s;
			memmove(t.act + at, t.act + at + piece,
				(s->n - at - piece) * sizeof(t.act[0]));
			t.n -= piece;
			run_list(w, &t);
			if (w->bad[0])
				*s = t;
			else
				at += piece;
		}
	run_list(w, s);
}

static void print_schedule(const struct sim_world *w, const struct schedule *s)
{
	if (s->cfg.k)
		printf("ec:%d+%d, strip %d, slots of %d, %d rings of %d, ", s->cfg.k, s->cfg.m,
		       s->cfg.strip, s->cfg.slot, s->cfg.rings, s->cfg.slots);
	printf("%d copies, %d sectors, regions of %d, chunks of %d, %d requests at a time\n",
	       s->cfg.copies, s->cfg.sectors, s->cfg.region, s->cfg.chunk, s->cfg.ops);
	for (int i = 0; i < s->n; i++) {
		printf("  %2d ", i + 1);
		sim_print_action(stdout, &s->act[i]);
	}
	printf("  => %s\n", w->bad[0] ? w->bad : "fine");
}

struct totals {
	uint64_t schedules, actions, acks, reads, crashes, attaches;
	uint64_t slots_read, replayed, places, joined, in_order, cached, folded, staged, stale;
	uint64_t runs, undone, asides;
	uint64_t bypassed, redone;
	uint64_t hiccups[HICCUPS];
	uint32_t longest[4];		/* by kind of request */
};

static void add_counts(struct totals *t, const uint64_t *hiccups, const uint32_t *longest)
{
	for (int i = 0; i < HICCUPS; i++)
		t->hiccups[i] += hiccups[i];
	for (int i = 0; i < 4; i++)
		t->longest[i] = t->longest[i] > longest[i] ? t->longest[i] : longest[i];
}

static int random_mode(uint64_t first, uint64_t n, uint64_t step, struct totals *t, uint64_t *bad)
{
	struct sim_world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~63UL);
	struct schedule *s = malloc(sizeof(*s));
	int failed = 0;

	for (uint64_t i = first; i < first + n && !failed; i += step) {
		run_guarded(w, i, s);
		t->schedules++;
		t->actions += s->n;
		t->acks += w->acks;
		t->reads += w->reads;
		t->crashes += w->crashes;
		t->attaches += w->attaches;
		t->slots_read += w->slots_read;
		t->replayed += w->replayed;
		t->places += w->places_written;
		t->joined += w->joined;
		t->in_order += w->in_order;
		t->cached += w->cached;
		t->folded += w->folded;
		t->staged += w->staged;
		t->stale += w->stale;
		t->runs += w->runs;
		t->undone += w->undone;
		t->asides += w->asides;
		t->bypassed += w->bypassed;
		t->redone += w->redone;
		add_counts(t, w->hiccups, w->longest);
		if (w->bad[0]) {
			*bad = i;
			failed = 1;
		}
	}
	free(w);
	free(s);
	return failed;
}

static int one_seed(uint64_t seed)
{
	struct sim_world *w = aligned_alloc(64, (sizeof(*w) + 63) & ~63UL);
	struct schedule *s = malloc(sizeof(*s));
	int bad, rests = run_guarded(w, seed, s);

	printf("seed %llu\n", (unsigned long long)seed);
	bad = w->bad[0];
	if (bad && rests)
		minimise(w, s);
	print_schedule(w, s);
	sim_trace = getenv("SIM_TRACE") != NULL;
	if (sim_trace && rests)
		run_list(w, s);
	free(w);
	free(s);
	return bad ? 1 : 0;
}

static void print_totals(const struct totals *t)
{
	printf("%s: %llu schedules, %llu actions, %llu writes acknowledged, ",
	       ec ? "ec" : "mirror", (unsigned long long)t->schedules, (unsigned long long)t->actions,
	       (unsigned long long)t->acks);
	printf("%llu reads, %llu crashes, %llu attachments\n", (unsigned long long)t->reads,
	       (unsigned long long)t->crashes, (unsigned long long)t->attaches);
	printf("    %llu reads around the engine, %llu read again by it; ",
	       (unsigned long long)t->bypassed, (unsigned long long)t->redone);
	printf("%llu writes sent again, %llu and %llu failed of members that answer; ",
	       (unsigned long long)t->hiccups[HICCUP_RETRY],
	       (unsigned long long)t->hiccups[HICCUP_MEDIUM],
	       (unsigned long long)t->hiccups[HICCUP_GONE]);
	printf("longest wait: reads %u rounds, writes %u, zeroes %u\n", t->longest[PROT_READ],
	       t->longest[PROT_WRITE], t->longest[PROT_ZEROES]);
	if (ec) {
		printf("    attaching: %llu slots read, %llu records replayed, %llu writes in place\n",
		       (unsigned long long)t->slots_read, (unsigned long long)t->replayed,
		       (unsigned long long)t->places);
		printf("    %llu writes joined to others, %llu held in order, %llu with all in memory, "
		       "%llu writes in place folded\n",
		       (unsigned long long)t->joined, (unsigned long long)t->in_order,
		       (unsigned long long)t->cached, (unsigned long long)t->folded);
		printf("    %llu written in place from a stage, %llu found it dropped\n",
		       (unsigned long long)t->staged, (unsigned long long)t->stale);
		printf("    %llu of them several writes in order, %llu found these dropped; "
		       "%llu reads set aside\n", (unsigned long long)t->runs,
		       (unsigned long long)t->undone, (unsigned long long)t->asides);
	}
}

/* N schedules on all cores (or SIM_JOBS of them). */
static int many(uint64_t n, uint64_t first)
{
	long jobs = getenv("SIM_JOBS") ? atol(getenv("SIM_JOBS")) : sysconf(_SC_NPROCESSORS_ONLN);
	struct { struct totals t; uint64_t bad; int failed; } r;
	struct totals sum = { 0 };
	uint64_t bad = ~0ULL;
	int fd[2];

	if (pipe(fd))
		return 2;
	for (long j = 0; j < jobs; j++)
		if (!fork()) {
			memset(&r, 0, sizeof(r));
			r.failed = random_mode(first + j, n > (uint64_t)j ? n - j : 0, jobs,
					       &r.t, &r.bad);
			_exit(write(fd[1], &r, sizeof(r)) != sizeof(r));
		}
	close(fd[1]);
	for (long j = 0; j < jobs; j++) {
		if (read(fd[0], &r, sizeof(r)) != sizeof(r)) {
			printf("a simulator process died\n");
			return 2;
		}
		sum.schedules += r.t.schedules;
		sum.actions += r.t.actions;
		sum.acks += r.t.acks;
		sum.reads += r.t.reads;
		sum.crashes += r.t.crashes;
		sum.attaches += r.t.attaches;
		sum.slots_read += r.t.slots_read;
		sum.replayed += r.t.replayed;
		sum.places += r.t.places;
		sum.joined += r.t.joined;
		sum.in_order += r.t.in_order;
		sum.cached += r.t.cached;
		sum.folded += r.t.folded;
		sum.staged += r.t.staged;
		sum.stale += r.t.stale;
		sum.runs += r.t.runs;
		sum.undone += r.t.undone;
		sum.asides += r.t.asides;
		sum.bypassed += r.t.bypassed;
		sum.redone += r.t.redone;
		add_counts(&sum, r.t.hiccups, r.t.longest);
		if (r.failed && r.bad < bad)
			bad = r.bad;
	}
	while (wait(NULL) > 0)
		;
	print_totals(&sum);
	if (bad == ~0ULL)
		return 0;
	one_seed(bad);
	return 1;
}

/* Rules that both levels live by, as they read for erasure coding. */
static const uint8_t shared[] = {
	PROT_MUT_SYNC_RACE, PROT_MUT_MISSED_EMPTY, PROT_MUT_NO_MISS, PROT_MUT_STALE_BACK,
	PROT_MUT_DISCARD, PROT_MUT_NO_SUM, PROT_MUT_OLD_MISSED, PROT_MUT_NO_LOCK,
	PROT_MUT_NO_REPAIR, PROT_MUT_BACK_ALONE, PROT_MUT_ERROR_DONE, PROT_MUT_AVOID_NONE,
	PROT_MUT_AVOID_OUT, PROT_MUT_SCRUB_REWRITES, PROT_MUT_HELD_LIVE, PROT_MUT_HELD_TWICE,
	PROT_MUT_BYPASS_OPEN,
};

static int one_mutant(int m, uint64_t n)
{
	struct totals t = { 0 };
	uint64_t bad = 0;
	int caught;

	prot_mutant = m;
	caught = random_mode(0, n, 1, &t, &bad);
	if (caught)
		printf("ok    %-6s mutant %-52s caught after %5llu schedules (seed %llu)\n",
		       ec ? "ec" : "mirror", sim_mutant_names[m], (unsigned long long)t.schedules,
		       (unsigned long long)bad);
	else
		printf("FAIL  %-6s mutant %-52s not caught in %llu\n", ec ? "ec" : "mirror",
		       sim_mutant_names[m], (unsigned long long)n);
	fflush(stdout);
	return caught;
}

static int mutants(uint64_t n)
{
	const char *level = getenv("SIM_LEVEL");
	int passed = 0, tried = 0;

	ec = 0;
	for (int m = 1; m <= PROT_MUT_LOSE_ACK && (!level || strcmp(level, "ec")); m++, tried++)
		passed += one_mutant(m, n);
	ec = 1;
	for (unsigned int i = 0; i < sizeof(shared); i++, tried++)
		passed += one_mutant(shared[i], n);
	if (getenv("SIM_MUTANT"))
		return !one_mutant(atoi(getenv("SIM_MUTANT")), n);
	for (int m = PROT_MUT_LOSE_ACK + 1; m < PROT_MUT_OP_EARLY; m++, tried++)
		passed += one_mutant(m, n);
	printf("%d passed, %d failed\n", passed, tried - passed);
	return passed != tried;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "random";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000;

	ec = getenv("SIM_LEVEL") && !strcmp(getenv("SIM_LEVEL"), "ec");
	if (getenv("SIM_MUTANT"))
		prot_mutant = atoi(getenv("SIM_MUTANT"));
	if (!strcmp(mode, "random"))
		return many(n, argc > 3 ? strtoull(argv[3], NULL, 0) : 0);
	if (!strcmp(mode, "seed"))
		return one_seed(n);
	if (!strcmp(mode, "mutants"))
		return mutants(n);
	fprintf(stderr, "sim random N [FIRST] | seed S | mutants [N]\n");
	return 2;
}
