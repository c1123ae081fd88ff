// SPDX-License-Identifier: GPL-2.0-only
/* Layouts and the ops of linear and stripe, against a byte-by-byte mapping. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "protect/layout/prot.h"
#include "suite.h"

#define TB (1ULL << 40)
#define PB (1ULL << 50)

static u32 seed = 1;

static u32 rnd(u32 below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* One segment of @level over members 0.., data at @offset, members of @size. */
static struct prot_layout *make(u8 level, u16 groups, u8 data, u8 parity, u32 strip,
				u64 length, u64 offset, u64 size)
{
	struct prot_segment seg = { .length = length, .strip = strip, .level = level,
				    .data = data, .parity = parity, .groups = groups };
	u32 n = groups * data, i;
	void *mem = calloc(1, prot_layout_bytes(1, n, n));
	struct prot_layout *l = prot_layout_init(mem, 512, 1, n, n);

	*prot_segments(l) = seg;
	for (i = 0; i < n; i++) {
		prot_places(l)[i].member = i;
		prot_places(l)[i].offset = offset;
		prot_member_sizes(l)[i] = size;
	}
	return l;
}

static void refused(struct prot_layout *l, const char *part)
{
	const char *why = prot_layout_check(l);

	CU_ASSERT_FATAL(why != NULL);
	if (!strstr(why, part))
		fprintf(stderr, "refused with '%s', not '%s'\n", why, part);
	CU_ASSERT(why && strstr(why, part));
}

static void test_check(void)
{
	struct prot_layout *l = make(PROT_STRIPE, 4, 1, 0, 65536, 64 << 20, 4096, 33 << 20);

	CU_ASSERT(!prot_layout_check(l));
	CU_ASSERT_EQUAL(l->size, 64 << 20);
	CU_ASSERT_EQUAL(l->max_bytes, PROT_REQUEST_MAX);
#define BAD(what, bad, why) do { \
	typeof(what) keep = what; \
	what = bad; \
	refused(l, why); \
	what = keep; \
	} while (0)
	BAD(l->lba, 1024, "block size");
	BAD(l->nr_segments, PROT_SEGMENTS_MAX + 1, "too many");
	BAD(prot_segments(l)->level, 0, "unknown level");
	BAD(prot_segments(l)->level, 17, "unknown level");
	BAD(prot_segments(l)->strip, 2048, "strip");
	BAD(prot_segments(l)->strip, 12288, "strip");
	BAD(prot_segments(l)->strip, 2 << 20, "strip");
	BAD(prot_segments(l)->groups, 0, "without members");
	BAD(prot_segments(l)->groups, 1, "at least two");
	BAD(prot_segments(l)->groups, 3, "whole number of rows");
	BAD(prot_segments(l)->groups, 8, "more members than are given");
	BAD(prot_segments(l)->groups, 2, "more members are given");
	BAD(prot_segments(l)->parity, 1, "no parity");
	BAD(prot_segments(l)->start, 4096, "gap");
	BAD(prot_segments(l)->length, 0, "segment length");
	BAD(prot_segments(l)->length, (64 << 20) + 100, "segment length");
	BAD(prot_segments(l)->length, (64 << 20) + 65536, "whole number of rows");
	BAD(prot_segments(l)->length, PROT_SIZE_MAX + 1, "too large");
	BAD(prot_segments(l)->first, 1, "places of segments");
	BAD(prot_places(l)[3].member, 4, "not there");
	BAD(prot_places(l)[3].offset, 100, "not aligned");
	BAD(prot_places(l)[3].offset, (17 << 20) | 512, "beyond the end");
	BAD(prot_places(l)[3].offset, ~0ULL << 12, "beyond the end");
	BAD(prot_places(l)[3].member, 2, "same bytes");
	BAD(prot_member_sizes(l)[2], 16 << 20, "beyond the end");
	BAD(prot_member_sizes(l)[2], PROT_SIZE_MAX + 1, "too large");
#undef BAD
	CU_ASSERT(!prot_layout_check(l));
	CU_ASSERT_EQUAL(prot_layout_bytes(0, 1, 1), 0);
	CU_ASSERT_EQUAL(prot_layout_bytes(1, 1, PROT_MEMBERS_MAX + 1), 0);
	CU_ASSERT_EQUAL(prot_layout_bytes(1, PROT_PLACES_MAX + 1, 1), 0);
	free(l);

	l = make(PROT_LINEAR, 1, 1, 0, 4096, 1 << 20, 0, 1 << 20);
	CU_ASSERT(!prot_layout_check(l));
	prot_segments(l)->data = 2;
	refused(l, "exactly one");
	free(l);
}

/* Two segments: linear on member 0, then stripe over 1 and the rest of 0. */
static struct prot_layout *two(u64 first, u64 second, u64 at0)
{
	struct prot_layout *l = prot_layout_init(calloc(1, prot_layout_bytes(2, 3, 2)), 512, 2, 3, 2);
	struct prot_segment *s = prot_segments(l);

	s[0] = (struct prot_segment){ .length = first, .strip = 4096, .level = PROT_LINEAR,
				      .data = 1, .groups = 1 };
	s[1] = (struct prot_segment){ .start = first, .length = second, .strip = 8192,
				      .level = PROT_STRIPE, .data = 2, .groups = 1, .first = 1 };
	prot_places(l)[1] = (struct prot_place){ .member = 1, .offset = 512 };
	prot_places(l)[2] = (struct prot_place){ .offset = at0 };
	prot_member_sizes(l)[0] = prot_member_sizes(l)[1] = 1 << 20;
	return l;
}

/* What one segment may, two together must not; and the largest strip counts. */
static void test_together(void)
{
	struct prot_layout *l = two(1ULL << 62, 1ULL << 62, 1ULL << 62);
	struct prot_limits lim;
	u32 i;

	prot_member_sizes(l)[0] = prot_member_sizes(l)[1] = PROT_SIZE_MAX;
	refused(l, "volume is too large");
	prot_segments(l)[1].length = 1ULL << 61;
	CU_ASSERT(!prot_layout_check(l));
	free(l);

	l = prot_layout_init(calloc(1, prot_layout_bytes(2, 4, 2)), 512, 2, 4, 2);
	for (i = 0; i < 4; i++)
		prot_places(l)[i] = (struct prot_place){ .member = i & 1, .offset = i / 2 << 16 };
	prot_member_sizes(l)[0] = prot_member_sizes(l)[1] = 1 << 20;
	for (i = 0; i < 2; i++)
		prot_segments(l)[i] = (struct prot_segment){ .start = i << 17, .length = 1 << 17,
							     .strip = 16384 >> i, .data = 1,
							     .level = PROT_STRIPE, .groups = 2,
							     .first = 2 * i };
	CU_ASSERT(!prot_layout_check(l));
	prot_layout_limits(l, &lim);
	CU_ASSERT_EQUAL(lim.io_min, 16384);
	CU_ASSERT(lim.discard);
	CU_ASSERT_EQUAL(lim.max_zeroes, 0);
	CU_ASSERT_EQUAL(lim.io_opt, 0);
	free(l);
}

static void test_segments(void)
{
	struct prot_layout *l = two(10240, 163840, 10240);
	struct prot_limits lim;

	CU_ASSERT(!prot_layout_check(l));
	CU_ASSERT_EQUAL(l->size, 174080);
	CU_ASSERT_EQUAL(prot_segment_at(l, 0), 0);
	CU_ASSERT_EQUAL(prot_segment_at(l, 10239), 0);
	CU_ASSERT_EQUAL(prot_segment_at(l, 10240), 1);
	CU_ASSERT_EQUAL(prot_segment_at(l, 174079), 1);
	prot_layout_limits(l, &lim);
	CU_ASSERT_EQUAL(lim.io_min, 8192);
	CU_ASSERT_EQUAL(lim.io_opt, 0);
	prot_segments(l)[1].start -= 512;
	refused(l, "overlap");
	prot_segments(l)[1].start += 512;
	prot_places(l)[2].offset -= 512;
	refused(l, "same bytes");
	free(l);
}

/* The naive mapping, one byte at a time. */
static void locate(const struct prot_layout *l, u64 byte, u32 *member, u64 *addr)
{
	const struct prot_segment *s = prot_segments(l) + prot_segment_at(l, byte);
	u64 in = byte - s->start, unit = in / s->strip, n = s->columns;
	const struct prot_place *p = prot_places(l) + s->first + unit % n;

	*member = p->member;
	*addr = p->offset + unit / n * s->strip + in % s->strip;
}

/* Runs @rq to the end and holds every I/O against locate(). */
static void run_op(const struct prot_layout *l, const struct prot_request *rq, u32 *ios)
{
	static u8 seen[PROT_REQUEST_MAX];
	struct prot_run runs[PROT_RUNS_MAX];
	struct prot_io io, one, first = { 0 };
	enum prot_verdict v;
	struct prot_op op;
	u64 total = 0;
	u32 out = 0, i, member;

	*ios = 0;
	memset(seen, 0, rq->length);
	CU_ASSERT_EQUAL_FATAL(prot_op_init(&op, l, rq), 0);
	while ((v = prot_op_next(&op, l, &io, runs)) != PROT_DONE) {
		u64 at, pos;
		u32 len, r;

		if (v == PROT_WAIT) {
			CU_ASSERT_FATAL(out > 0);
			prot_op_result(&op, --out, 0);
			continue;
		}
		if (!(*ios)++)
			first = io;
		out++;
		total += io.length;
		CU_ASSERT_EQUAL_FATAL(io.kind, rq->kind);
		CU_ASSERT_FATAL(io.nr_runs >= 1 && io.nr_runs <= PROT_RUNS_MAX);
		for (r = 0, pos = io.addr; r < io.nr_runs; r++) {
			CU_ASSERT_FATAL(runs[r].length > 0);
			len = runs[r].length;
			CU_ASSERT_FATAL((u64)runs[r].offset + len <= rq->length);
			for (i = 0; i < len; i += 512, pos += 512) {
				locate(l, rq->offset + runs[r].offset + i, &member, &at);
				CU_ASSERT_EQUAL_FATAL(member, io.member);
				CU_ASSERT_EQUAL_FATAL(at, pos);
				CU_ASSERT_EQUAL_FATAL(seen[runs[r].offset + i], 0);
				seen[runs[r].offset + i] = 1;
			}
		}
		CU_ASSERT_EQUAL_FATAL(pos, io.addr + io.length);
	}
	CU_ASSERT_EQUAL(total, rq->length);
	CU_ASSERT_EQUAL(op.err, 0);
	CU_ASSERT_EQUAL_FATAL(prot_single(l, rq, &one), *ios == 1);
	if (*ios == 1)		/* what the op planned */
		CU_ASSERT(one.addr == first.addr && one.member == first.member &&
			  one.length == first.length && one.nr_runs == 1 &&
			  one.kind == first.kind && one.flags == first.flags &&
			  !one.group_io && !one.stage_do);
}

static void test_random(void)
{
	static const u32 strips[] = { 4096, 16384, 65536, 1 << 20 };
	u32 round, i, ios;

	for (round = 0; round < 60; round++) {
		u32 n = 2 + rnd(9), strip = strips[rnd(4)];
		u64 row = (u64)n * strip;
		struct prot_layout *l = round % 6 == 0 ? two(10240 + 512 * rnd(4), 163840, 524288) :
			make(PROT_STRIPE, n, 1, 0, strip, row * (1 + rnd(20)), 512 * rnd(99), 1 << 30);

		CU_ASSERT_FATAL(!prot_layout_check(l));
		for (i = 0; i < 20; i++) {
			struct prot_request rq = { .kind = rnd(2) };
			u64 max = l->size < PROT_REQUEST_MAX ? l->size : PROT_REQUEST_MAX;

			if (i % 2)
				max = 8192;	/* many of one I/O */
			rq.length = 512 * (1 + rnd(max / 512));
			rq.offset = (l->size - rq.length) / 512 ?
				    512 * rnd((l->size - rq.length) / 512 + 1) : 0;
			run_op(l, &rq, &ios);
		}
		free(l);
	}
}

/* 1 MiB over four members with 64k strips: one I/O a member, four runs each. */
static void test_merging(void)
{
	struct prot_layout *l = make(PROT_STRIPE, 1, 4, 0, 65536, 64 << 20, 0, 64 << 20);
	struct prot_request rq = { .kind = PROT_WRITE, .length = 1 << 20 };
	struct prot_run runs[PROT_RUNS_MAX];
	struct prot_limits lim;
	struct prot_op op;
	struct prot_io io;
	u32 ios, i;

	CU_ASSERT_FATAL(!prot_layout_check(l));
	prot_layout_limits(l, &lim);
	CU_ASSERT_EQUAL(lim.io_min, 65536);
	CU_ASSERT_EQUAL(lim.io_opt, 262144);
	run_op(l, &rq, &ios);
	CU_ASSERT_EQUAL(ios, 4);
	prot_op_init(&op, l, &rq);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, runs), PROT_IO);
		CU_ASSERT_EQUAL(io.nr_runs, 4);
		CU_ASSERT_EQUAL(io.length, 262144);
	}
	CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, runs), PROT_WAIT);
	free(l);

	/* more runs than fit: several I/Os of one member, still complete */
	l = make(PROT_STRIPE, 2, 1, 0, 4096, 64 << 20, 0, 64 << 20);
	CU_ASSERT_FATAL(!prot_layout_check(l));
	run_op(l, &rq, &ios);
	CU_ASSERT_EQUAL(ios, 4);
	free(l);
}

/* Discards: no runs, one I/O a member, lengths beyond 32 bits, many batches. */
static void test_discard(void)
{
	struct prot_layout *l = make(PROT_STRIPE, 5, 1, 0, 65536, 5 * 20 * TB, 1 << 20, 100 * TB);
	struct prot_request rq = { .kind = PROT_DISCARD, .offset = 65536 + 512,
				   .length = 5 * 20 * TB - 65536 - 1024 };
	u64 want[5] = { 20 * TB, 20 * TB - 512, 20 * TB, 20 * TB, 20 * TB - 512 }, total = 0;
	struct prot_op op;
	struct prot_io io;
	u32 i;

	want[0] -= 65536;
	CU_ASSERT_FATAL(!prot_layout_check(l));
	CU_ASSERT_EQUAL(prot_op_init(&op, l, &rq), 0);
	for (i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL_FATAL(prot_op_next(&op, l, &io, NULL), PROT_IO);
		CU_ASSERT_EQUAL(io.nr_runs, 0);
		CU_ASSERT_EQUAL(io.kind, PROT_DISCARD);
		CU_ASSERT_EQUAL(io.length, want[io.member]);
		CU_ASSERT_EQUAL(io.addr, (1 << 20) + (io.member == 0 ? 65536 : io.member == 1 ? 512 : 0));
		total += io.length;
	}
	CU_ASSERT_EQUAL(total, rq.length);
	CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, NULL), PROT_WAIT);
	/* the first error is the request's, when all are back */
	prot_op_result(&op, 0, 0);
	prot_op_result(&op, 1, -EREMOTEIO);
	prot_op_result(&op, 2, -EIO);
	prot_op_result(&op, 3, 0);
	CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, NULL), PROT_WAIT);
	prot_op_result(&op, 4, 0);
	CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, NULL), PROT_DONE);
	CU_ASSERT_EQUAL(op.err, -EREMOTEIO);
	free(l);
}

static void test_huge(void)
{
	struct prot_layout *l = make(PROT_STRIPE, 11, 1, 0, 1 << 20, 11 * (100 * TB - (1 << 20)),
				     1 << 20, 100 * TB);
	struct prot_request rq = { .kind = PROT_READ, .length = 1 << 20 };
	static const u64 near[] = { 0, 1ULL << 41, (1ULL << 41) - 512, PB - 512, PB };
	u32 ios, i;

	CU_ASSERT_FATAL(!prot_layout_check(l));
	CU_ASSERT(l->size > PB);
	for (i = 0; i < ARRAY_SIZE(near); i++) {
		rq.offset = near[i];
		run_op(l, &rq, &ios);
	}
	rq.offset = l->size - rq.length;
	run_op(l, &rq, &ios);
	free(l);
}

static void test_init(void)
{
	struct prot_layout *l = make(PROT_LINEAR, 1, 1, 0, 4096, 1 << 20, 0, 1 << 20);
	struct prot_op op;
	struct prot_io io;

	CU_ASSERT_FATAL(!prot_layout_check(l));
#define INIT(k, o, n) prot_op_init(&op, l, &(struct prot_request){ .kind = k, .offset = o, .length = n })
	CU_ASSERT_EQUAL(INIT(PROT_READ, 0, 512), 0);
	CU_ASSERT_EQUAL(INIT(PROT_READ, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(INIT(PROT_READ, 1, 512), -EINVAL);
	CU_ASSERT_EQUAL(INIT(PROT_READ, 0, 511), -EINVAL);
	CU_ASSERT_EQUAL(INIT(PROT_WRITE, 0, PROT_REQUEST_MAX + 512), -EINVAL);
	CU_ASSERT_EQUAL(INIT(PROT_WRITE, 1 << 20, 512), -EIO);
	CU_ASSERT_EQUAL(INIT(PROT_WRITE, (1 << 20) - 512, 1024), -EIO);
	CU_ASSERT_EQUAL(INIT(PROT_DISCARD, ~511ULL, 1024), -EIO);
	CU_ASSERT_EQUAL(INIT(9, 0, 512), -EINVAL);
	CU_ASSERT_EQUAL(INIT(PROT_FLUSH, 0, 512), -EINVAL);
	/* each of these is for an op */
#define SINGLE(k, o, n) prot_single(l, &(struct prot_request){ .kind = k, .offset = o, .length = n }, &io)
	CU_ASSERT(SINGLE(PROT_READ, 0, 512));
	CU_ASSERT(!SINGLE(PROT_READ, 0, 0));
	CU_ASSERT(!SINGLE(PROT_READ, 1, 512));
	CU_ASSERT(!SINGLE(PROT_READ, 0, 511));
	CU_ASSERT(!SINGLE(PROT_WRITE, 0, PROT_REQUEST_MAX + 512));
	CU_ASSERT(!SINGLE(PROT_WRITE, 1 << 20, 512));
	CU_ASSERT(!SINGLE(PROT_WRITE, (1 << 20) - 512, 1024));
	CU_ASSERT(!SINGLE(PROT_DISCARD, 0, 512));
	CU_ASSERT(!SINGLE(PROT_FLUSH, 0, 0));
	CU_ASSERT(!SINGLE(9, 0, 512));
#undef SINGLE
	CU_ASSERT_EQUAL(INIT(PROT_FLUSH, 0, 0), 0);
	CU_ASSERT_EQUAL(prot_op_next(&op, l, &io, NULL), PROT_DONE);
	CU_ASSERT_EQUAL(op.err, 0);
#undef INIT
	free(l);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "layout check", test_check },
		{ "segments", test_segments },
		{ "segments together", test_together },
		{ "requests", test_init },
		{ "random requests", test_random },
		{ "merging", test_merging },
		{ "discard", test_discard },
		{ "huge", test_huge },
		{ NULL, NULL },
	};

	return suite_main("prot", tests);
}
