// SPDX-License-Identifier: GPL-2.0-only
/*
 * sim-volume random N [FIRST]   N schedules over a volume of several groups
 * sim-volume seed S             one, minimised if it fails
 * sim-volume mutants [N]        rules taken out: which seed catches it
 *
 * Requests of a volume go through prot_op to two to four groups, mirrors or erasure
 * coded, each its own world (world.c) with its members, epochs, losses and
 * oracle; groups are appended while requests are in flight. A crash takes all groups
 * at once. Above them is one more oracle, per sector of
 * the volume: what one request wrote to several groups is acknowledged when all
 * of it is there, and a read puts the right pieces together.
 */
#include <stdlib.h>
#include <string.h>

#include "protect/mutant.h"
#include "protect/layout/prot.h"
#include "tests/sim/sim.h"

#define STEPS_MAX	500
#define GROUPS		4
#define STRIP		((int)(PROT_STRIP_MIN / SIM_LBA))	/* sectors */
#define REQUESTS	4
#define PIECES		128
#define IDS		8192
#define EVERYBODY	0xff		/* target of an action: the volume */

struct vreq {
	struct prot_op op;
	uint8_t used, done;
	uint32_t out;			/* pieces */
	const struct prot_layout *l;	/* of when it began */
};

struct piece {
	uint8_t used, sent, group, kind, req, slot, first, count;
	uint8_t of[SIM_REQ_SECTORS];	/* which sector of the request each is */
	uint32_t tag;
	int *left;			/* pieces of the same I/O */
};

struct volume {
	uint8_t groups, copies, k, rows;	/* copies: members of a group */
	uint8_t first_groups;		/* of these, in the first segment; the others were appended */
	uint8_t growing;		/* one more is attached, but in no layout yet */
	struct sim_config of_group;
	struct sim_world *g[GROUPS], *front;
	struct prot_layout *l[GROUPS + 1];	/* of that many groups */
	struct vreq req[REQUESTS];
	struct piece piece[PIECES];
	int left[PIECES + 1];		/* pieces of an I/O that are out */
	uint32_t vid[GROUPS][IDS];	/* volume's write of a group's write */
};

struct step {
	uint8_t target;
	struct sim_action a;
};

struct schedule {
	uint8_t groups, copies, k, slots, rows, region;
	int n;
	struct step step[STEPS_MAX];
};

static uint64_t state;

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 20) % below;
}

static const char *bad(struct volume *v)
{
	for (int i = 0; i < v->groups + v->growing; i++)
		if (v->g[i]->bad[0])
			return v->g[i]->bad;
	return v->front->bad[0] ? v->front->bad : NULL;
}

/* Sectors of a turn of one group. */
static uint32_t turn(const struct volume *v)
{
	return v->k ? v->k * STRIP : STRIP;
}

static struct prot_layout *layout(const struct volume *v, uint32_t groups)
{
	uint32_t n = groups * v->copies, segs = 1 + groups - v->first_groups, bytes;
	struct prot_layout *l = prot_layout_init(calloc(1, prot_layout_bytes(segs, n, n)), SIM_LBA,
						 segs, n, n);
	struct prot_segment *seg = prot_segments(l);

	bytes = v->rows * turn(v) * SIM_LBA;
	for (uint32_t i = 0; i < segs; i++) {
		uint32_t before = i ? v->first_groups + i - 1 : 0;

		seg[i] = (struct prot_segment){
			.strip = PROT_STRIP_MIN, .level = v->k ? PROT_EC : PROT_RAID10,
			.data = v->k ? v->k : v->copies, .parity = v->k ? v->copies - v->k : 0,
			.groups = i ? 1 : v->first_groups, .first = before * v->copies,
			.start = (uint64_t)before * bytes,
			.length = (uint64_t)(i ? 1 : v->first_groups) * bytes };
		if (i && !v->k)
			seg[i].level = PROT_MIRROR;
	}
	for (uint32_t i = 0; i < n; i++) {
		prot_places(l)[i].member = i;
		prot_member_sizes(l)[i] = 1 << 30;
	}
	if (prot_layout_check(l))
		sim_bad(v->front, "simulator: no layout: %s", prot_layout_check(l));
	return l;
}

static void make(struct volume *v, const struct schedule *s)
{
	for (int i = 0; i <= GROUPS; i++) {
		free(v->l[i]);
		v->l[i] = NULL;
	}
	v->of_group = (struct sim_config){ .copies = s->copies, .k = s->k, .m = s->copies - s->k,
					   .sectors = STRIP * s->rows, .region = s->region,
					   .chunk = 2, .ops = 6, .fresh = 1 };
	if (s->k) {
		v->of_group.strip = STRIP;
		v->of_group.slot = STRIP;
		v->of_group.rings = 1;
		v->of_group.slots = s->slots;
		v->of_group.region = STRIP * 2;
		v->of_group.sectors *= s->k;
	} else {
		v->of_group.m = 0;
	}
	v->groups = v->first_groups = s->groups;
	v->growing = 0;
	v->copies = s->copies;
	v->k = s->k;
	v->rows = s->rows;
	memset(v->req, 0, sizeof(v->req));
	memset(v->piece, 0, sizeof(v->piece));
	memset(v->left, 0, sizeof(v->left));
	for (int i = 0; i < s->groups; i++)
		sim_init(v->g[i], &v->of_group);
	memset(v->front, 0, sizeof(*v->front));
	v->front->cfg.sectors = s->groups * s->rows * turn(v);
	v->front->next_id = 1;
	sim_oracle_init(v->front);
	v->l[v->groups] = layout(v, v->groups);
}

/*
 * One more group at the end: it is attached first; then an epoch has a layout with
 * it, and requests from then on see a larger volume. Those in flight go on by the
 * layout that they began with.
 */
static int grow(struct volume *v)
{
	uint32_t sectors = v->front->cfg.sectors + v->rows * turn(v);

	if (!v->growing) {
		if (v->groups == GROUPS || sectors > SIM_DATA)
			return 0;
		v->growing = 1;
		sim_init(v->g[v->groups], &v->of_group);
		return 1;
	}
	if (!v->g[v->groups]->serving)
		return 0;
	v->growing = 0;
	v->groups++;
	v->front->cfg.sectors = sectors;
	if (!v->l[v->groups])
		v->l[v->groups] = layout(v, v->groups);
	return 1;
}

/* Where a sector of the volume is, counted out strip by strip. */
static void locate(const struct volume *v, uint32_t sector, uint32_t *group, uint32_t *at)
{
	uint32_t first = 0, n = v->first_groups, one = v->rows * turn(v);

	if (sector >= n * one) {	/* segments behind the first are of one group each */
		sector -= n * one;
		first = n + sector / one;
		sector %= one;
		n = 1;
	}
	*group = first;
	*at = 0;
	for (; sector >= turn(v); sector -= turn(v))
		if (++*group == first + n) {
			*group = first;
			*at += turn(v);
		}
	*at += sector;
}

static struct piece *new_piece(struct volume *v)
{
	for (struct piece *p = v->piece; p < v->piece + PIECES; p++)
		if (!p->used)
			return p;
	sim_bad(v->front, "simulator: too many pieces");
	return NULL;
}

/* A group's I/O, in pieces that it takes; each sector where it should be. */
static void cut(struct volume *v, int req, const struct prot_io *io, const struct prot_run *runs)
{
	const struct sim_req *r = &v->front->req[req];
	struct prot_run out[PROT_RUNS_MAX];
	uint32_t group = io->member / v->copies;
	int *left = v->left;

	while (*left)		/* as many as there are pieces, so one is free */
		left++;
	for (uint64_t at = 0; at < io->length;) {
		uint64_t n = prot_group_span(sim_group(v->g[group]), io->kind, io->addr + at);
		struct piece *p = new_piece(v);
		uint32_t runs_of = 0, k = 0;

		if (!p)
			return;
		n = n < io->length - at ? n : io->length - at;
		n = n < SIM_REQ_SECTORS * SIM_LBA ? n : SIM_REQ_SECTORS * SIM_LBA;
		*p = (struct piece){ .used = 1, .group = group, .kind = io->kind, .req = req,
				     .first = (io->addr + at) / SIM_LBA, .count = n / SIM_LBA,
				     .tag = io->tag, .left = left };
		++*left;
		v->req[req].out++;
		if (io->nr_runs)
			runs_of = prot_runs_cut(runs, io->nr_runs, at, n, out);
		for (uint32_t i = 0; i < runs_of; i++)
			for (uint32_t b = 0; b < out[i].length; b += SIM_LBA, k++) {
				uint32_t g, s;

				p->of[k] = (out[i].offset + b) / SIM_LBA;
				locate(v, r->first + p->of[k], &g, &s);
				if (g != group || s != p->first + k)
					sim_bad(v->front, "sector %u goes to sector %u of group %u",
						r->first + p->of[k], p->first + k, group);
			}
		at += n;
	}
}

static void go_on(struct volume *v, int req)
{
	struct vreq *q = &v->req[req];
	struct sim_req *r = &v->front->req[req];
	struct prot_run runs[PROT_RUNS_MAX];
	enum prot_verdict verdict;
	struct prot_io io;

	while (!q->done && (verdict = prot_op_next(&q->op, q->l, &io, runs)) != PROT_WAIT) {
		if (verdict == PROT_IO) {
			cut(v, req, &io, runs);
			continue;
		}
		q->done = 1;
		v->front->now++;
		if (q->op.err)
			sim_bad(v->front, "request failed (%d)", q->op.err);
		if (r->kind != PROT_READ)
			sim_acked(v->front, r, q->op.err);
		v->front->acks += r->kind != PROT_READ;
		v->front->reads += r->kind == PROT_READ;
	}
	if (q->done && !q->out)
		q->used = r->used = 0;
}

static int submit(struct volume *v, const struct sim_action *a)
{
	struct prot_request rq = { .kind = a->a, .offset = a->b * SIM_LBA,
				   .length = (uint64_t)a->c * SIM_LBA };
	int req = 0;

	while (req < REQUESTS && v->req[req].used)
		req++;
	if (req == REQUESTS || !a->c || a->b + a->c > v->front->cfg.sectors)
		return 0;
	memset(&v->req[req], 0, sizeof(v->req[req]));
	v->req[req].l = v->l[v->groups];
	if (prot_op_init(&v->req[req].op, v->req[req].l, &rq))
		return 0;
	v->req[req].used = 1;
	v->front->now++;
	v->front->req[req] = (struct sim_req){ .used = 1, .kind = a->a, .first = a->b,
					       .count = a->c, .began = v->front->now };
	if (a->a == PROT_WRITE)
		v->front->req[req].id = v->front->next_id++;
	if (a->a != PROT_READ)
		sim_wrote(v->front, &v->front->req[req]);
	go_on(v, req);
	return 1;
}

/* Give a piece to its group, if that takes it now. */
static void send(struct volume *v, struct piece *p)
{
	struct sim_action a = { .kind = ACT_SUBMIT, .a = p->kind, .b = p->first, .c = p->count };
	struct sim_world *w = v->g[p->group];
	uint8_t before[SIM_REQS];

	for (int i = 0; i < SIM_REQS; i++)
		before[i] = w->req[i].used;
	if (!sim_do(w, &a))
		return;
	for (p->slot = 0; p->slot < SIM_REQS; p->slot++)
		if (w->req[p->slot].used && !before[p->slot])
			break;
	if (p->slot == SIM_REQS) {
		sim_bad(w, "simulator: a piece was lost");
		return;
	}
	if (p->kind == PROT_WRITE && w->req[p->slot].id < IDS)
		v->vid[p->group][w->req[p->slot].id] = v->front->req[p->req].id;
	p->sent = 1;
}

/* A value is checked when it comes: by the end of all pieces it may be an old one. */
static void piece_done(struct volume *v, struct piece *p)
{
	const struct sim_req *r = &v->g[p->group]->req[p->slot], *up = &v->front->req[p->req];
	struct vreq *q = &v->req[p->req];

	v->front->now++;
	for (int k = 0; k < p->count && p->kind == PROT_READ; k++) {
		uint32_t id = r->got[k];

		sim_read(v->front, up->first + p->of[k],
			 !id || id >= IDS ? id : v->vid[p->group][id], up->began);
	}
	p->used = 0;
	q->out--;
	if (!--*p->left)
		prot_op_result(&q->op, p->tag, 0);
	go_on(v, p->req);
}

/* What has ended goes up, then what waits goes down. */
static void pump(struct volume *v)
{
	for (struct piece *p = v->piece; p < v->piece + PIECES && !bad(v); p++)
		if (p->used && p->sent && !v->g[p->group]->req[p->slot].used)
			piece_done(v, p);
	for (struct piece *p = v->piece; p < v->piece + PIECES && !bad(v); p++)
		if (p->used && !p->sent)
			send(v, p);
}

static int crash(struct volume *v, const struct sim_action *a)
{
	v->growing = 0;		/* no host knows of it */
	for (int i = 0; i < v->groups; i++) {
		struct sim_action c = { .kind = ACT_CRASH, .a = a->seed >> (4 * i) & 15,
					.m = a->m << i ^ a->m >> (64 - 7 * i - 1) };

		if (!sim_do(v->g[i], &c)) {
			c.a = 0;
			if (!sim_do(v->g[i], &c))
				sim_bad(v->front, "simulator: group %d cannot crash", i);
		}
	}
	v->front->now++;
	v->front->crashes++;
	sim_crashed(v->front);
	memset(v->front->req, 0, sizeof(v->front->req));
	memset(v->req, 0, sizeof(v->req));
	memset(v->piece, 0, sizeof(v->piece));
	memset(v->left, 0, sizeof(v->left));
	return 1;
}

static int act(struct volume *v, const struct step *s)
{
	int done;

	if (s->target != EVERYBODY)
		done = s->target < v->groups + v->growing && sim_do(v->g[s->target], &s->a);
	else if (s->a.kind == ACT_GROW)
		done = grow(v);
	else if (s->a.kind == ACT_CRASH)
		done = crash(v, &s->a);
	else
		done = submit(v, &s->a);
	pump(v);
	return done;
}

/* One thing after the other, so that what ends first goes up first. */
static int finish_one(struct volume *v)
{
	static const uint8_t kinds[] = { ACT_COMPLETE, ACT_FAIL, ACT_COMMIT, ACT_NOTIFY };

	for (int g = 0; g < v->groups + v->growing; g++)
		for (uint32_t k = 0; k < sizeof(kinds); k++) {
			const struct sim_action a = { .kind = kinds[k] };

			if (sim_do(v->g[g], &a)) {
				pump(v);
				return 1;
			}
		}
	return 0;
}

static void drain(struct volume *v)
{
	while (!bad(v) && finish_one(v))
		;
	for (int r = 0; r < REQUESTS && !bad(v); r++)
		if (v->req[r].used)
			sim_bad(v->front, "a request of the volume hangs");
}

static void settle(struct volume *v)
{
	drain(v);
	for (int s = 0; s < v->front->cfg.sectors && !bad(v); s += 3) {
		struct sim_action a = { .kind = ACT_SUBMIT, .a = PROT_READ, .b = s, .c = 3 };

		if (s + 3 > v->front->cfg.sectors)
			a.c = v->front->cfg.sectors - s;
		if (!submit(v, &a))
			sim_bad(v->front, "a read of sector %d is not taken", s);
		pump(v);
		drain(v);
	}
	for (int g = 0; g < v->groups && !bad(v); g++)
		sim_settle(v->g[g]);
}

static void random_step(const struct volume *v, struct step *s)
{
	static const uint8_t kinds[] = { PROT_WRITE, PROT_WRITE, PROT_WRITE, PROT_READ, PROT_READ,
					 PROT_DISCARD, PROT_ZEROES };
	static const uint8_t of_group[] = { ACT_FAIL, ACT_FAIL, ACT_COMMIT, ACT_NOTIFY, ACT_IDLE,
					    ACT_RETURN, ACT_RETURN, ACT_PROMOTE, ACT_SILENCE,
					    ACT_SCRUB, ACT_REPLACE, ACT_EXPEL, ACT_LEAVE,
					    ACT_MEDIUM, ACT_HICCUP };
	const struct sim_world *w;

	memset(s, 0, sizeof(*s));
	s->target = rnd(v->groups + v->growing);
	w = v->g[s->target];
	if (!rnd(5)) {
		s->target = EVERYBODY;
		s->a = (struct sim_action){ .kind = ACT_SUBMIT, .a = kinds[rnd(sizeof(kinds))],
					    .b = rnd(v->front->cfg.sectors),
					    .c = 1 + rnd(rnd(2) ? 4 : v->front->cfg.sectors) };
		if (s->a.b + s->a.c > v->front->cfg.sectors)
			s->a.c = v->front->cfg.sectors - s->a.b;
	} else if (!rnd(v->growing ? 20 : 80)) {
		s->target = EVERYBODY;
		s->a.kind = ACT_GROW;
	} else if (!rnd(60)) {
		s->target = EVERYBODY;
		s->a.kind = ACT_CRASH;
		s->a.seed = rnd(3) ? 0 : 1U << rnd(4 * v->groups);
		s->a.m = (uint64_t)rnd(1 << 22) << 42 | (uint64_t)rnd(1 << 22) << 21 | rnd(1 << 22);
	} else if (rnd(4)) {
		s->a.kind = ACT_COMPLETE;
		s->a.a = sim_flying(w) ? rnd(sim_flying(w)) : 0;
	} else {
		s->a.kind = of_group[rnd(sizeof(of_group))];
		s->a.a = s->a.kind == ACT_FAIL ? rnd(4) : rnd(v->copies);
		s->a.m = rnd(2) ? ~0ULL : 0;
		if (s->a.kind == ACT_HICCUP)
			s->a.b = rnd(HICCUPS);
		if (s->a.kind == ACT_MEDIUM)
			s->a.b = w->meta + rnd(sim_sectors(w));
	}
}

static void run_seed(struct volume *v, uint64_t seed, struct schedule *s)
{
	int steps;

	state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	for (int i = 0; i < 8; i++)
		rnd(2);
	s->k = rnd(2) ? 2 : 0;
	s->groups = 2 + rnd(s->k ? 2 : 3);
	s->copies = (s->k ? 3 : 2) + rnd(2);
	s->slots = 2;
	s->rows = s->k ? 1 : 1 + rnd(SIM_DATA / STRIP / s->groups);
	if (s->rows > 2)
		s->rows = 2;
	s->region = 2 << rnd(3);
	s->n = 0;
	make(v, s);
	steps = 40 + rnd(STEPS_MAX - 40);
	for (int i = 0; i < steps && !bad(v); i++) {
		struct step t;

		random_step(v, &t);
		if (act(v, &t))
			s->step[s->n++] = t;
	}
	settle(v);
}

static void run_list(struct volume *v, const struct schedule *s)
{
	make(v, s);
	for (int i = 0; i < s->n && !bad(v); i++)
		act(v, &s->step[i]);
	settle(v);
}

static void minimise(struct volume *v, struct schedule *s)
{
	static struct schedule t;

	for (int piece = s->n / 2; piece; piece /= 2)
		for (int at = 0; at + piece <= s->n;) {
			t = *s;
			memmove(t.step + at, t.step + at + piece,
				(s->n - at - piece) * sizeof(t.step[0]));
			t.n -= piece;
			run_list(v, &t);
			if (bad(v))
				*s = t;
			else
				at += piece;
		}
	run_list(v, s);
}

static void print(struct volume *v, const struct schedule *s)
{
	if (s->k)
		printf("ec:%d+%d, ", s->k, s->copies - s->k);
	printf("%d groups of %d members, %d rows of %d sectors, regions of %d\n",
	       s->groups, s->copies, s->rows, STRIP, s->region);
	for (int i = 0; i < s->n; i++) {
		printf("  %2d ", i + 1);
		if (s->step[i].target == EVERYBODY)
			printf("volume:  ");
		else
			printf("group %d: ", s->step[i].target);
		sim_print_action(stdout, &s->step[i].a);
	}
	printf("  => %s\n", bad(v) ? bad(v) : "fine");
}

static struct volume *new_volume(void)
{
	struct volume *v = calloc(1, sizeof(*v));

	for (int i = 0; i < GROUPS; i++)
		v->g[i] = aligned_alloc(64, (sizeof(struct sim_world) + 63) & ~63UL);
	v->front = aligned_alloc(64, (sizeof(struct sim_world) + 63) & ~63UL);
	return v;
}

struct seeded {
	struct volume *v;
	struct schedule *s;
	uint64_t seed;
};

static void run_seeded(void *arg)
{
	const struct seeded *a = arg;

	run_seed(a->v, a->seed, a->s);
}

/* How many schedules until one fails; 0: none did. */
static uint64_t many(struct volume *v, uint64_t first, uint64_t n, uint64_t *sum, uint64_t *crashes)
{
	static struct schedule s;

	for (uint64_t i = first; i < first + n; i++) {
		struct seeded a = { v, &s, i };

		if (!sim_guarded(run_seeded, &a))
			sim_bad(v->front, "an engine does not come to rest");
		*sum += v->front->acks;
		*crashes += v->front->crashes;
		if (bad(v))
			return i - first + 1;
	}
	return 0;
}

static int one(struct volume *v, uint64_t seed)
{
	static struct schedule s;

	run_seed(v, seed, &s);
	printf("seed %llu\n", (unsigned long long)seed);
	if (bad(v))
		minimise(v, &s);
	print(v, &s);
	return bad(v) != NULL;
}

static int mutants(struct volume *v, uint64_t n)
{
	static const struct { enum prot_mutant m; const char *name; } of[] = {
		{ PROT_MUT_OP_EARLY, "request ended by its first group" },
		{ PROT_MUT_LOSE_ACK, "acknowledged when one copy has it" },
		{ PROT_MUT_NO_LOCK, "overlapping writes not ordered" },
	};
	uint64_t sum = 0, crashes = 0;
	int failed = 0, count = sizeof(of) / sizeof(of[0]);

	for (int i = 0; i < count; i++) {
		uint64_t after;

		prot_mutant = of[i].m;
		after = many(v, 0, n, &sum, &crashes);
		if (after)
			printf("ok    volume mutant %-33s caught after %3llu schedules: %s\n",
			       of[i].name, (unsigned long long)after, bad(v));
		else
			printf("FAIL  volume mutant %-45s not caught in %llu\n", of[i].name,
			       (unsigned long long)n);
		failed += !after;
	}
	printf("%d passed, %d failed\n", count - failed, failed);
	return failed != 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "random";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000, sum = 0, crashes = 0, after;
	uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	struct volume *v = new_volume();

	if (!strcmp(mode, "seed"))
		return one(v, n);
	if (!strcmp(mode, "mutants"))
		return mutants(v, n);
	after = many(v, first, n, &sum, &crashes);
	printf("volumes: %llu schedules, %llu changes acknowledged, %llu crashes\n",
	       (unsigned long long)(after ? after : n), (unsigned long long)sum,
	       (unsigned long long)crashes);
	return after ? one(v, first + after - 1) : 0;
}
