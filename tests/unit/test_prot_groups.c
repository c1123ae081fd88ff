// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests cut into I/O of protection groups: mirror, raid10, ec, and segments
 * of all kinds behind each other, against a dealer that walks the volume sector by
 * sector and hands them to the groups like cards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "protect/layout/prot.h"
#include "suite.h"

#define SECTOR	512
#define STRIP	8192	/* 16 sectors */
#define ROWS	7	/* of a segment */
#define SEGS	6
#define VOLUME	(SEGS * ROWS * 16 * 64)	/* sectors, more than any has */

struct shape {
	u8 level, data, parity;
	u16 groups;
};

static const struct shape shapes[] = {
	{ PROT_MIRROR, 2, 0, 1 }, { PROT_MIRROR, 4, 0, 1 },
	{ PROT_RAID10, 2, 0, 2 }, { PROT_RAID10, 3, 0, 5 },
	{ PROT_EC, 2, 1, 1 }, { PROT_EC, 4, 2, 1 }, { PROT_EC, 4, 2, 2 }, { PROT_EC, 3, 4, 3 },
	{ PROT_LINEAR, 1, 0, 1 }, { PROT_STRIPE, 1, 0, 3 }, { PROT_STRIPE, 4, 0, 1 },
};

/* Where a sector of the volume is: index of a place, byte from its beginning. */
static struct { u32 place; u64 addr; } map[VOLUME];
static u32 sectors;	/* of the volume */
static u32 seed = 7;

static u32 rnd(u32 below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* How many columns that are dealt to, places of each, strips in a turn. */
static void columns(const struct shape *s, u32 *n, u32 *width, u32 *turn)
{
	*n = s->groups;
	*width = s->data + s->parity;
	*turn = s->level == PROT_EC ? s->data : 1;
	if (s->level == PROT_STRIPE) {
		*n = s->groups * s->data;
		*width = 1;
	}
}

/* Deal a segment; returns the places that it takes. */
static u32 deal(const struct shape *s, u32 first)
{
	u32 n, width, turn, row, c, k;
	u64 next[64] = { 0 };

	columns(s, &n, &width, &turn);
	for (row = 0; row < ROWS; row++)
		for (c = 0; c < n; c++)
			for (k = 0; k < turn * (STRIP / SECTOR); k++, next[c] += SECTOR) {
				map[sectors].place = first + c * width;
				map[sectors++].addr = next[c];
			}
	return n * width;
}

static struct prot_layout *make(const struct shape *s, u32 nr)
{
	u32 places = 0, first = 0, i, n, width, turn, start = 0;
	struct prot_layout *l;

	for (i = 0; i < nr; i++) {
		columns(&s[i], &n, &width, &turn);
		places += n * width;
	}
	l = prot_layout_init(calloc(1, prot_layout_bytes(nr, places, places)), SECTOR, nr, places,
			     places);
	sectors = 0;
	for (i = 0; i < nr; i++) {
		u32 took = deal(&s[i], first);

		prot_segments(l)[i] = (struct prot_segment){
			.start = (u64)start * SECTOR, .length = (u64)(sectors - start) * SECTOR,
			.strip = STRIP, .level = s[i].level, .data = s[i].data,
			.parity = s[i].parity, .groups = s[i].groups, .first = first };
		start = sectors;
		first += took;
	}
	for (i = 0; i < places; i++) {
		prot_places(l)[i].member = places - 1 - i;
		prot_places(l)[i].offset = 4096 + i * SECTOR;
		prot_member_sizes(l)[i] = 64 << 20;
	}
	return l;
}

/* The place that an I/O names, and its address counted from that place's beginning. */
static void named(const struct prot_layout *l, const struct prot_io *io, u32 *place, u64 *addr)
{
	if (io->group_io) {
		*place = io->member;
		*addr = io->addr;
		return;
	}
	*place = l->nr_places - 1 - io->member;
	*addr = io->addr - prot_places(l)[*place].offset;
}

static bool redundant(const struct prot_layout *l, u64 sector)
{
	u8 level = prot_segments(l)[prot_segment_at(l, sector * SECTOR)].level;

	return level == PROT_MIRROR || level == PROT_RAID10 || level == PROT_EC;
}

/* What needs no op is the I/O @io that its op would give: all but a group's writes. */
static void single(const struct prot_layout *l, const struct prot_request *rq,
		   const struct prot_io *io, bool alone)
{
	struct prot_io one;

	alone = alone && (rq->kind == PROT_READ || (rq->kind == PROT_WRITE && !io->group_io));
	CU_ASSERT_EQUAL_FATAL(prot_single(l, rq, &one), alone);
	if (alone)
		CU_ASSERT(one.group_io == io->group_io && one.member == io->member &&
			  one.addr == io->addr && one.length == io->length &&
			  one.nr_runs == 1 && one.kind == io->kind && one.flags == io->flags);
}

static void run_op(const struct prot_layout *l, const struct prot_request *rq)
{
	static u8 seen[VOLUME];
	struct prot_run runs[PROT_RUNS_MAX];
	enum prot_verdict v;
	struct prot_op op;
	struct prot_io io, first = {};
	u32 out = 0, ios = 0, i, r;
	u64 total = 0;

	memset(seen, 0, sectors);
	CU_ASSERT_EQUAL_FATAL(prot_op_init(&op, l, rq), 0);
	while ((v = prot_op_next(&op, l, &io, runs)) != PROT_DONE) {
		u32 place, s;
		u64 addr;

		if (v == PROT_WAIT) {
			prot_op_result(&op, --out, 0);
			continue;
		}
		out++;
		if (!ios++)
			first = io;
		total += io.length;
		named(l, &io, &place, &addr);
		CU_ASSERT_EQUAL_FATAL(io.kind, rq->kind);
		if (rq->kind > PROT_WRITE) {	/* without runs: all that lies there */
			CU_ASSERT_EQUAL_FATAL(io.nr_runs, 0);
			for (s = 0; s < sectors; s++)
				if (map[s].place == place && map[s].addr >= addr &&
				    map[s].addr < addr + io.length) {
					CU_ASSERT_EQUAL_FATAL(io.group_io, redundant(l, s));
					CU_ASSERT_EQUAL_FATAL(seen[s]++, 0);
				}
			continue;
		}
		for (r = 0; r < io.nr_runs; r++)
			for (i = 0; i < runs[r].length; i += SECTOR, addr += SECTOR) {
				s = (rq->offset + runs[r].offset + i) / SECTOR;
				CU_ASSERT_EQUAL_FATAL(io.group_io, redundant(l, s));
				CU_ASSERT_EQUAL_FATAL(map[s].place, place);
				CU_ASSERT_EQUAL_FATAL(map[s].addr, addr);
				CU_ASSERT_EQUAL_FATAL(seen[s]++, 0);
			}
	}
	CU_ASSERT_EQUAL_FATAL(total, rq->length);
	for (i = 0; i < sectors; i++)
		CU_ASSERT_EQUAL_FATAL(seen[i], i >= rq->offset / SECTOR &&
					       i < (rq->offset + rq->length) / SECTOR);
	single(l, rq, &first, ios == 1);
}

static void random_requests(const struct prot_layout *l, u32 n)
{
	static const u8 kinds[] = { PROT_READ, PROT_WRITE, PROT_DISCARD, PROT_ZEROES };

	CU_ASSERT_EQUAL_FATAL(l->size, (u64)sectors * SECTOR);
	while (n--) {
		struct prot_request rq = { .kind = kinds[rnd(4)] };
		u32 most = sectors, first = rnd(sectors);

		if (rq.kind <= PROT_WRITE && most > PROT_REQUEST_MAX / SECTOR)
			most = PROT_REQUEST_MAX / SECTOR;
		if (most > sectors - first)
			most = sectors - first;
		if (rnd(3) == 0 && most > 40)
			most = 40;
		rq.offset = (u64)first * SECTOR;
		rq.length = (1 + rnd(most)) * SECTOR;
		run_op(l, &rq);
	}
}

static void test_each(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct prot_layout *l = make(&shapes[i], 1);

		CU_ASSERT_PTR_NULL_FATAL(prot_layout_check(l));
		random_requests(l, 200);
		free(l);
	}
}

static void test_mixed(void)
{
	struct shape s[SEGS];
	u32 round, i;

	for (round = 0; round < 12; round++) {
		struct prot_layout *l;

		for (i = 0; i < SEGS; i++)
			s[i] = shapes[rnd(ARRAY_SIZE(shapes))];
		l = make(s, SEGS);
		CU_ASSERT_PTR_NULL_FATAL(prot_layout_check(l));
		random_requests(l, 60);
		free(l);
	}
}

/* 1 MiB over two groups of 4+2: one I/O a group, not one a row. */
static void test_merged(void)
{
	struct prot_layout *l = make(&shapes[6], 1);
	struct prot_request rq = { .kind = PROT_WRITE, .length = 6 * 2 * 4 * STRIP };
	struct prot_run runs[PROT_RUNS_MAX];
	struct prot_limits lim;
	struct prot_op op;
	struct prot_io io;
	u32 i;

	CU_ASSERT_PTR_NULL_FATAL(prot_layout_check(l));
	prot_layout_limits(l, &lim);
	CU_ASSERT_EQUAL(lim.io_min, STRIP);
	CU_ASSERT_EQUAL(lim.io_opt, 2 * 4 * STRIP);
	CU_ASSERT(!lim.discard);
	CU_ASSERT_EQUAL(lim.max_zeroes, PROT_ZEROES_MAX);
	CU_ASSERT_EQUAL_FATAL(prot_op_init(&op, l, &rq), 0);
	for (i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, runs), PROT_IO);
		CU_ASSERT_EQUAL(io.nr_runs, 6);
		CU_ASSERT_EQUAL(io.member, 6 * i);
		CU_ASSERT_EQUAL(io.length, 6 * 4 * STRIP);
		CU_ASSERT(io.group_io);
	}
	CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, runs), PROT_WAIT);
	free(l);
}

static void says(struct prot_layout *l, const char *part)
{
	const char *why = prot_layout_check(l);

	CU_ASSERT(why && strstr(why, part));
}

static void refused(u8 level, u16 groups, u8 data, u8 parity, const char *part)
{
	struct shape s = { level, data, parity, groups };
	struct prot_layout *l = make(&s, 1);

	says(l, part);
	free(l);
}

static void test_refused(void)
{
	struct prot_layout *l;

	refused(PROT_MIRROR, 1, 1, 0, "2 to 4 copies");
	refused(PROT_MIRROR, 1, 5, 0, "2 to 4 copies");
	refused(PROT_MIRROR, 2, 2, 0, "one group");
	refused(PROT_MIRROR, 1, 2, 1, "no parity");
	refused(PROT_RAID10, 1, 2, 0, "two groups");
	refused(PROT_RAID10, 2, 1, 0, "2 to 4 copies");
	refused(PROT_RAID10, 2, 2, 1, "no parity");
	refused(PROT_EC, 1, 1, 1, "2 to 32 data");
	refused(PROT_EC, 1, 33, 1, "2 to 32 data");
	refused(PROT_EC, 1, 4, 0, "1 to 4 parity");
	refused(PROT_EC, 1, 4, 5, "1 to 4 parity");
	/* rows must be whole, and no member twice in a group, though in two of them */
	l = make(&shapes[6], 1);
	prot_segments(l)->length -= STRIP;
	says(l, "whole number of rows");
	prot_segments(l)->length += STRIP;
	prot_places(l)[4].member = prot_places(l)[1].member;
	prot_places(l)[4].offset = 32 << 20;
	says(l, "twice in one protection group");
	prot_places(l)[4].member = prot_places(l)[7].member;
	CU_ASSERT_PTR_NULL(prot_layout_check(l));
	free(l);
}

/* A piece of an I/O has the bytes that the whole has there. */
static void test_cut(void)
{
	struct prot_run runs[PROT_RUNS_MAX], cut[PROT_RUNS_MAX];
	u32 round, i, k;

	for (round = 0; round < 500; round++) {
		u32 n = 1 + rnd(PROT_RUNS_MAX), at = 0, total = 0, from, length, got = 0, b = 0;
		static u32 whole[PROT_RUNS_MAX * 9];

		for (i = 0; i < n; i++) {
			at += rnd(5);
			runs[i] = (struct prot_run){ .offset = at, .length = 1 + rnd(8),
						     .buffer = i % 3 };
			for (k = 0; k < runs[i].length; k++)
				whole[total++] = (i % 3) << 24 | at++;
		}
		from = rnd(total);
		length = 1 + rnd(total - from);
		n = prot_runs_cut(runs, n, from, length, cut);
		for (i = 0; i < n; i++) {
			CU_ASSERT_FATAL(cut[i].length > 0);
			for (k = 0; k < cut[i].length; k++, b++)
				CU_ASSERT_EQUAL_FATAL(whole[from + b],
						      cut[i].buffer << 24 | (cut[i].offset + k));
			got += cut[i].length;
		}
		CU_ASSERT_EQUAL_FATAL(got, length);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "each level", test_each },
		{ "segments of all kinds", test_mixed },
		{ "merged", test_merged },
		{ "refused", test_refused },
		{ "cut", test_cut },
		{ NULL, NULL },
	};

	return suite_main("prot_groups", tests);
}
