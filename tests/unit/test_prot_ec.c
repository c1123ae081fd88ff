// SPDX-License-Identifier: GPL-2.0-only
/*
 * An erasure-coded group by hand: what the simulator's schedules do not reach.
 * Sizes, refusals, commands counted, also of writes that are joined or folded, reads
 * rebuilt, medium errors, scrub, a group that lost too much, large strips.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>

#include "prot_rig.h"
#include "protect/record/record.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define STRIPES	8
#define DATA	(STRIPES * STRIP)

static u64 meta;		/* bytes of records on a member */
static struct {
	u32 reads, records, places, zeroes;
	u64 read_bytes;
	u32 staged, used, meta;
} cost;

static struct prot_group_config config(u8 k, u8 m)
{
	struct prot_group_config c = { .bytes = DATA, .in_sync = (1ULL << (k + m)) - 1, .epoch = 1,
				       .region = 2 * STRIP, .lba = LBA, .ops = 8, .bufs = 6,
				       .level = PROT_EC, .width = k + m, .k = k, .m = m,
				       .strip = STRIP, .slot_bytes = STRIP, .slot_head = 4096,
				       .rings = 2, .slots = 4, .fresh = 1, .errors = 0xffff };

	meta = rig_members(&c);
	return c;
}

static void count(const struct prot_event *ev)
{
	CU_ASSERT_FATAL(ev->io.addr + ev->io.length <= meta + rig_bytes);
	if (ev->io.kind == PROT_READ) {
		cost.reads++;
		cost.read_bytes += ev->io.length;
	} else if (ev->io.kind == PROT_ZEROES) {
		cost.zeroes++;
	} else if (ev->io.addr < meta) {
		cost.records++;
	} else {
		cost.places++;
	}
	cost.staged += ev->io.stage_do == PROT_STAGE_KEEP;
	cost.used += ev->io.stage_do == PROT_STAGE_LAST;
	/* the header is not staged, and what is in place is all that is, by the same number */
	if (ev->io.stage_do)
		CU_ASSERT(ev->io.stage == ev->io.tag && ev->io.stage_offset ==
			  (ev->io.stage_do == PROT_STAGE_KEEP ? LBA : 0));
	cost.meta += !!(ev->io.flags & PROT_META);
}

static struct prot_group *start(const struct prot_group_config *c)
{
	memset(&cost, 0, sizeof(cost));
	saw = count;
	return rig_start(c);
}

static struct prot_group *make(u8 k, u8 m)
{
	struct prot_group_config c = config(k, m);

	memset(disk, 0, sizeof(disk[0]) * (k + m));
	return start(&c);
}

static s32 request(struct prot_group *g, u8 kind, u64 addr, u32 length)
{
	memset(&cost, 0, sizeof(cost));
	return rig_request(g, kind, addr, length);
}

/* Bytes that differ everywhere, and for each call. */
static void fill(u32 length, u8 salt)
{
	u32 i;

	for (i = 0; i < length; i++)
		payload[i] = i * 7 + (i >> 8) * 13 + salt;
}

static bool filled(u32 length, u32 skip, u8 salt)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (payload[i] != (u8)((i + skip) * 7 + ((i + skip) >> 8) * 13 + salt))
			return false;
	return true;
}

static void test_config(void)
{
	struct prot_group_config c = config(4, 2);

	CU_ASSERT(prot_group_bytes(&c) > 0);
	/* two attach records, seven bitmaps of one block, the rings behind them */
	CU_ASSERT_EQUAL(prot_group_meta_bytes(&c), 2 * 4096 + 2 * 4 * (4096 + STRIP));
#define BAD(field, value) do { \
	c = config(4, 2); \
	c.field = value; \
	CU_ASSERT_EQUAL(prot_group_bytes(&c), 0); \
	} while (0)
	BAD(k, 1);
	BAD(k, PROT_DATA_MAX + 1);
	BAD(m, 0);
	BAD(m, PROT_PARITY_MAX + 1);
	BAD(width, 5);
	BAD(strip, 3 * LBA);
	BAD(strip, 256);
	BAD(region, STRIP / 2);
	BAD(bytes, DATA + LBA);
	BAD(slot_bytes, 3 * LBA);
	BAD(slot_bytes, LBA);		/* of strips of four */
	BAD(slot_head, 256);
	BAD(rings, 0);
	BAD(rings, PROT_RINGS_MAX + 1);
	BAD(slots, 1);
	BAD(slots, PROT_SLOTS_MAX + 1);
	BAD(ops, 3);
	BAD(bufs, 4);
#undef BAD
	c = config(32, 4);
	CU_ASSERT(prot_group_bytes(&c) > 0);
	/* more than 32 bits count: refused, not a small number */
	c.bytes = 1 << 20;
	c.region = 1 << 20;
	c.strip = 1 << 19;
	c.slot_bytes = 1 << 19;
	c.bufs = 16;
	CU_ASSERT(prot_group_bytes(&c) > 512 << 20);
	c.bufs = 128;
	CU_ASSERT_EQUAL(prot_group_bytes(&c), 0);
}

/* Commands of each kind of write, as docs/protection.md has them. */
static void test_cost(void)
{
	struct prot_group *g = make(4, 2);

#define COST(r, j, p) do { \
	CU_ASSERT_EQUAL(cost.reads, r); \
	CU_ASSERT_EQUAL(cost.records, j); \
	CU_ASSERT_EQUAL(cost.places, p); \
	CU_ASSERT_EQUAL(cost.staged, j); \
	CU_ASSERT_EQUAL(cost.used, p); \
	} while (0)
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), 0);
	COST(3, 3, 3);			/* one strip: delta */
	CU_ASSERT_EQUAL(cost.read_bytes, 3 * LBA);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 3 * STRIP), 0);
	COST(1, 5, 5);			/* three strips: the fourth is read */
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 4 * STRIP), 0);
	COST(0, 6, 6);			/* the whole stripe: nothing is read */
	CU_ASSERT_EQUAL(request(g, PROT_READ, LBA, 4 * STRIP - LBA), 0);
	CU_ASSERT_EQUAL(cost.reads, 4);
	CU_ASSERT_EQUAL(request(g, PROT_DISCARD, 0, 4 * STRIP), 0);
	CU_ASSERT_EQUAL(cost.records, 3);	/* m + 1 headers */
	CU_ASSERT_EQUAL(cost.zeroes, 6);
	CU_ASSERT_EQUAL(request(g, PROT_ZEROES, 0, STRIP), 0);
	COST(3, 3, 3);
#undef COST
	CU_ASSERT(prot_group_quiet(g));
	free(g);
}

/* All losses of up to m members: everything reads as written. */
static void test_rebuilt_reads(void)
{
	static const u8 shapes[][2] = { { 2, 1 }, { 3, 2 }, { 4, 3 }, { 5, 4 } };
	u32 i, stripe, lost;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct prot_group *g = make(shapes[i][0], shapes[i][1]);
		u32 unit = shapes[i][0] * STRIP, width = shapes[i][0] + shapes[i][1];

		for (stripe = 0; stripe < STRIPES; stripe++) {
			fill(unit, stripe);
			CU_ASSERT_EQUAL(request(g, PROT_WRITE, stripe * unit, unit), 0);
		}
		for (lost = 0; lost < 1U << width; lost++) {
			if (__builtin_popcount(lost) > shapes[i][1])
				continue;
			unreadable = lost;
			for (stripe = 0; stripe < STRIPES; stripe++) {
				memset(payload, 0, unit);
				CU_ASSERT_EQUAL(request(g, PROT_READ, stripe * unit, unit), 0);
				CU_ASSERT(filled(unit, 0, stripe));
				CU_ASSERT_EQUAL(request(g, PROT_READ, stripe * unit + LBA,
							STRIP + LBA), 0);
				CU_ASSERT(filled(STRIP + LBA, LBA, stripe));
			}
		}
		CU_ASSERT(!(seen >> PROT_EV_EPOCH & 1));	/* a read decides nothing */
		unreadable = (2ULL << shapes[i][1]) - 1;
		CU_ASSERT_EQUAL(request(g, PROT_READ, 0, unit), -EIO);
		unreadable = 0;
		CU_ASSERT_EQUAL(request(g, PROT_READ, 0, unit), 0);
		free(g);
	}
}

/* Only what is requested is rebuilt. */
static void test_rebuilt_bytes(void)
{
	struct prot_group *g = make(4, 2);

	prot_group_epoch(g, 2, 0x3e);
	run(g);
	CU_ASSERT_EQUAL(request(g, PROT_READ, LBA, LBA), 0);	/* stripe 0, member 0 */
	CU_ASSERT_EQUAL(cost.reads, 4);
	CU_ASSERT_EQUAL(cost.read_bytes, 4 * LBA);
	CU_ASSERT_EQUAL(request(g, PROT_READ, STRIP, LBA), 0);
	CU_ASSERT_EQUAL(cost.reads, 1);
	free(g);
}

/* Writes with members unreadable, then with others: parity was right all along. */
static void test_media(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	for (i = 0; i < 6; i++) {
		unreadable = 3ULL << i & 0x3f;
		fill(STRIP + LBA, i);
		CU_ASSERT_EQUAL(request(g, PROT_WRITE, LBA * i, STRIP + LBA), 0);
		unreadable = 0x21ULL << i & 0x3f;
		memset(payload, 0, sizeof(payload));
		CU_ASSERT_EQUAL(request(g, PROT_READ, LBA * i, STRIP + LBA), 0);
		CU_ASSERT(filled(STRIP + LBA, 0, i));
	}
	unreadable = 7;		/* more than parity: the write says so, nothing is touched */
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), -EIO);
	CU_ASSERT_EQUAL(cost.records, 0);
	unreadable = 0;
	free(g);
}

static void test_beyond(void)
{
	struct prot_group *g = make(3, 1);

	broken = 1;
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), 1);
	CU_ASSERT(seen >> PROT_EV_EPOCH & 1);
	prot_group_epoch(g, 2, 0xe);
	run(g);
	CU_ASSERT_EQUAL(done, 1);
	CU_ASSERT_EQUAL(last_err, 0);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), 0);
	broken = 3;
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 3 * STRIP), -EIO);
	CU_ASSERT(seen >> PROT_EV_STOPPED & 1);
	broken = 0;
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_READ, 0, 0, LBA, 0), -EIO);
	CU_ASSERT_EQUAL(prot_group_join(g, 0), -EINVAL);
	free(g);
}

/* One strip of a row wrong: found and repaired where m >= 2, else parity is made again. */
static void test_scrub(void)
{
	const struct prot_scrub how = { .repair = 1, .source = PROT_NO_SOURCE };
	struct prot_group *g;
	u32 m, member;

	for (m = 1; m <= 4; m++) {
		for (member = 0; member < 3 + m; member++) {
			u8 was[LBA];

			g = make(3, m);
			fill(3 * STRIP, m);
			CU_ASSERT_EQUAL(request(g, PROT_WRITE, 3 * STRIP, 3 * STRIP), 0);
			memcpy(was, disk[member] + meta + STRIP + LBA, LBA);
			disk[member][meta + STRIP + LBA + 9] ^= 0x40;
			disk[(member + 1) % 3][meta + STRIP + 3 * LBA] ^= 1;
			prot_group_scrub(g, &how);
			run(g);
			CU_ASSERT_EQUAL(g->scrubbing, 0);
			CU_ASSERT_EQUAL(g->mismatches, 2);
			CU_ASSERT_EQUAL(g->unexplained, m > 1 ? 0 : 2);
			CU_ASSERT_EQUAL(g->repaired, 2);
			if (m > 1)
				CU_ASSERT(!memcmp(was, disk[member] + meta + STRIP + LBA, LBA));
			prot_group_scrub(g, &how);
			run(g);
			CU_ASSERT_EQUAL(g->mismatches, 0);
			free(g);
		}
	}
}

#define COST(r, j, p) do { \
	CU_ASSERT_EQUAL(cost.reads, r); \
	CU_ASSERT_EQUAL(cost.records, j); \
	CU_ASSERT_EQUAL(cost.places, p); \
	} while (0)

/* Payload at @at goes to byte @at of the group; run() has it begin. */
static void submit(struct prot_group *g, u32 at, u32 length)
{
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, at, length, at) >= 0);
}

static struct prot_group *make_wide(u32 strip, u32 slot)
{
	struct prot_group_config c = config(4, 2);

	c.ops = 24;
	c.bufs = 12;
	c.strip = strip;
	c.slot_bytes = slot;
	c.region = max(c.region, strip);
	c.bytes = max(c.bytes, (u64)strip);
	meta = rig_members(&c);
	memset(disk, 0, sizeof(disk[0]) * c.width);
	return start(&c);
}

/* All of a stripe reads as filled with @salt, whichever members cannot be read. */
static void check_stripe(struct prot_group *g, u32 length, u8 salt)
{
	u32 i;

	CU_ASSERT(prot_group_quiet(g));
	for (i = 0; i < 6; i++) {
		unreadable = 0x21ULL << i & 0x3f;
		memset(payload, 0, length);
		CU_ASSERT_EQUAL(request(g, PROT_READ, 0, length), 0);
		CU_ASSERT(filled(length, 0, salt));
	}
	unreadable = 0;
}

/* Writes that are queued together and make one of few rows become one. */
static void test_joined(void)
{
	struct prot_group *g = make_wide(STRIP, STRIP);
	u32 i;

	fill(4 * STRIP, 1);
	memset(&cost, 0, sizeof(cost));
	for (i = 0; i < 4; i++)
		submit(g, i * STRIP, STRIP);
	run(g);
	COST(0, 6, 6);			/* strip by strip: a full stripe, without reads */
	CU_ASSERT_EQUAL(done, 4);
	CU_ASSERT_EQUAL(g->counts.joined, 3);
	check_stripe(g, 4 * STRIP, 1);
	fill(4 * STRIP, 2);
	memset(&cost, 0, sizeof(cost));
	for (i = 0; i < 16; i++)
		submit(g, (i * 5 % 16) * LBA, LBA);
	run(g);
	COST(0, 6, 6);			/* sector by sector, in any order */
	check_stripe(g, 4 * STRIP, 2);
	memset(&cost, 0, sizeof(cost));
	submit(g, LBA, LBA);
	submit(g, 2 * LBA, LBA);
	run(g);
	COST(3, 3, 3);			/* neighbours in one strip */
	CU_ASSERT_EQUAL(cost.read_bytes, 3 * 2 * LBA);
	memset(&cost, 0, sizeof(cost));
	submit(g, STRIP - LBA, LBA);
	submit(g, STRIP, LBA);
	run(g);
	COST(6, 6, 6);			/* rows far apart: parity of all between would cost more */
	CU_ASSERT_EQUAL(cost.read_bytes, 6 * LBA);
	CU_ASSERT_EQUAL(g->counts.joined, 3 + 15 + 1);
	free(g);
}

/* A member that is out costs no more reads than it must: parity by what differs, or less parity. */
static void test_degraded_cost(void)
{
	struct prot_group *g = make(4, 2);

	prot_group_epoch(g, 2, 0x37);	/* stripe 0: strip 3 */
	run(g);
	/* once before it counts: that the region is missed is recorded */
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), 0);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), 0);
	COST(3, 3, 3);			/* to compute it again would take all four that are left */
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 3 * STRIP, LBA), 0);
	COST(3, 2, 2);			/* of what cannot be read: only so */
	free(g);
	g = make(4, 2);
	prot_group_epoch(g, 2, 0x1f);	/* stripe 0: Q */
	run(g);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), 0);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, LBA), 0);
	COST(2, 2, 2);
	free(g);
}

/* Two parts of a strip with a sector between: that one is in neither's buffer. */
static void test_joined_gap(void)
{
	static const u32 parts[2][2] = { { STRIP - LBA, 2 * LBA }, { STRIP + 2 * LBA, LBA } };
	u32 i;

	for (i = 0; i < 2; i++) {
		struct prot_group *g = make_wide(STRIP, STRIP);

		fill(4 * STRIP, 1);
		CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 4 * STRIP), 0);
		submit(g, parts[i][0], parts[i][1]);
		submit(g, parts[!i][0], parts[!i][1]);
		run(g);
		CU_ASSERT_EQUAL(done, 1 + 2);
		CU_ASSERT_EQUAL(g->counts.joined, 0);
		check_stripe(g, 4 * STRIP, 1);
		free(g);
	}
}

/* What one of them is flagged with, holds for the I/O of all. */
static void test_joined_flags(void)
{
	struct prot_group *g = make_wide(STRIP, STRIP);
	u32 i;

	for (i = 0; i < 2; i++) {
		memset(&cost, 0, sizeof(cost));
		CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, i ? PROT_META : 0, 0, LBA,
						  0) >= 0);
		CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, i ? 0 : PROT_META, LBA, LBA,
						  LBA) >= 0);
		run(g);
		CU_ASSERT_EQUAL(g->counts.joined, i + 1);
		COST(3, 3, 3);
		CU_ASSERT_EQUAL(cost.meta, 9);
	}
	free(g);
}

/* Of overlapping ones the later counts; a read between keeps its place. */
static void test_joined_order(void)
{
	struct prot_group *g = make_wide(STRIP, STRIP);
	u32 i;

	memset(payload, 1, 3 * LBA);
	memset(payload + 8 * LBA, 2, 2 * LBA);
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, 0, 3 * LBA, 0) >= 0);
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, LBA, LBA, 8 * LBA) >= 0);
	run(g);
	CU_ASSERT_EQUAL(g->counts.joined, 1);
	CU_ASSERT_EQUAL(request(g, PROT_READ, 0, 3 * LBA), 0);
	for (i = 0; i < 3 * LBA; i++)
		CU_ASSERT_EQUAL_FATAL(payload[i], i / LBA == 1 ? 2 : 1);
	hold = true;
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, 0, LBA, 0) >= 0);
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_READ, 0, 0, 2 * LBA, 0) >= 0);
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, LBA, LBA, 0) >= 0);
	run(g);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(g->counts.joined, 1);
	CU_ASSERT_EQUAL(done, 2 + 1 + 3);
	free(g);
}

/* A write may begin when the one before is gated, and goes in place in its stead. */
static void test_folded(void)
{
	struct prot_group *g = make_wide(STRIP, STRIP);

	fill(4 * STRIP, 3);
	hold = true;
	memset(&cost, 0, sizeof(cost));
	submit(g, 0, STRIP);
	run(g);
	let_go(g);
	COST(3, 3, 0);			/* recorded, and ... */
	submit(g, STRIP, STRIP);
	submit(g, 2 * STRIP, STRIP);
	run(g);
	CU_ASSERT_EQUAL(done, 0);
	let_go(g);
	CU_ASSERT_EQUAL(done, 1);	/* ... acknowledged; the next two begin, as one: */
	COST(4, 3, 1);			/* parity and D0 are at hand, D3 is read */
	let_go(g);
	COST(4, 7, 1);
	CU_ASSERT_EQUAL(done, 1);
	let_go(g);
	CU_ASSERT_EQUAL(done, 3);
	COST(4, 7, 1 + 4);		/* parity went in place once */
	CU_ASSERT_EQUAL(g->counts.folded, 2);
	let_go(g);
	submit(g, 3 * STRIP, STRIP);
	run(g);
	while (nr_held)
		let_go(g);
	hold = false;
	check_stripe(g, 4 * STRIP, 3);
	free(g);
}

/* The same rows again and again: one set of writes in place for all in flight. */
static void test_folded_same(void)
{
	struct prot_group *g = make_wide(STRIP, STRIP);
	u32 i;

	hold = true;
	memset(&cost, 0, sizeof(cost));
	fill(LBA, 10);
	submit(g, 0, LBA);
	run(g);
	let_go(g);			/* old values */
	for (i = 1; i < 3; i++) {
		fill(LBA, 10 + i);
		submit(g, 0, LBA);
		run(g);
		let_go(g);		/* the records of the one before */
		CU_ASSERT_EQUAL(done, i);
	}
	COST(3, 9, 0);
	while (nr_held)
		let_go(g);
	COST(3, 9, 3);
	CU_ASSERT_EQUAL(g->counts.folded, 6);
	hold = false;
	memset(payload, 0, LBA);
	CU_ASSERT_EQUAL(request(g, PROT_READ, 0, LBA), 0);
	CU_ASSERT(filled(LBA, 0, 12));
	CU_ASSERT(prot_group_quiet(g));
	free(g);
}

/* An older write that a silent member held up does not write again what was folded. */
static void test_folded_silent(void)
{
	struct prot_group *g = make_wide(STRIP, STRIP);

	fill(4 * STRIP, 4);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 4 * STRIP), 0);
	fill(4 * STRIP, 5);
	hold = true;
	memset(&cost, 0, sizeof(cost));
	submit(g, 0, STRIP);
	run(g);
	let_go(g);
	submit(g, STRIP, STRIP);
	let_go(g);			/* D0, on member 0, is about to go in place */
	broken = 1;
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 1 + 2);
	COST(3 + 1, 6, 1 + 3);
	CU_ASSERT(!prot_group_quiet(g));
	prot_group_epoch(g, 2, 0x3e);
	run(g);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(cost.places, 1 + 3);
	CU_ASSERT(prot_group_quiet(g));
	hold = false;
	memset(payload, 0, 2 * STRIP);
	unreadable = 4;
	CU_ASSERT_EQUAL(request(g, PROT_READ, 0, 2 * STRIP), 0);
	CU_ASSERT(filled(2 * STRIP, 0, 5));
	unreadable = 0;
	free(g);
}

static struct prot_group *notified;	/* of an epoch, when the first record is in flight */
static u64 named[2][2];
static u32 nr_named;

static void notify_between(const struct prot_event *ev)
{
	const struct prot_slot_hdr *h;

	count(ev);
	if (ev->io.kind != PROT_WRITE || ev->io.addr >= meta || ev->io.length <= LBA)
		return;
	h = (const void *)((u8 *)prot_group_buffer(notified, ev->runs[0].buffer) +
			   ev->runs[0].offset);
	CU_ASSERT_FATAL(nr_named < 2);
	named[nr_named][0] = le64_to_cpu(h->holders);
	named[nr_named][1] = le64_to_cpu(h->participants);
	if (!nr_named++)
		prot_group_epoch(notified, 2, 6);
}

/* A member that is out between two records: both name it, or recovery believes none. */
static void test_records_agree(void)
{
	struct prot_group *g = make(2, 1);

	fill(4 * STRIP, 6);
	broken = 1;
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 2 * STRIP), 1);
	notified = g;
	saw = notify_between;
	request(g, PROT_WRITE, 6 * STRIP, 2 * STRIP);
	CU_ASSERT_EQUAL(done, 2);	/* the epoch lets the first one go on, too */
	CU_ASSERT_EQUAL(nr_named, 2);
	CU_ASSERT_EQUAL(named[0][0], named[1][0]);
	CU_ASSERT_EQUAL(named[0][1], named[1][1]);
	free(g);
}

#undef COST

/* The rings are read, and what is not retired is written again; no more. */
static void test_attach_cost(void)
{
	struct prot_group_config c = config(4, 2);
	struct prot_group *g = make(4, 2);

	fill(4 * STRIP, 1);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 4 * STRIP), 0);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 4 * STRIP, LBA), 0);
	free(g);
	/* the place of the first write is lost, as if it had never got there */
	memset(disk[2] + meta, 0xee, STRIP);
	c.fresh = 0;
	g = start(&c);
	CU_ASSERT_EQUAL(g->slots_read, 6 * 2 * 4);
	CU_ASSERT_EQUAL(g->replayed, 2);
	CU_ASSERT_EQUAL(g->places_written, 6 + 3);
	CU_ASSERT_EQUAL(g->attach, 2);
	memset(payload, 0, sizeof(payload));
	CU_ASSERT_EQUAL(request(g, PROT_READ, LBA, 4 * STRIP - LBA), 0);
	CU_ASSERT(filled(4 * STRIP - LBA, LBA, 1));
	free(g);
	/* its records are of an older attachment now */
	g = start(&c);
	CU_ASSERT_EQUAL(g->replayed, 0);
	free(g);
}

/* ... and nothing, where no request came to the group any more. */
static void test_settle(void)
{
	struct prot_group_config c = config(4, 2);
	struct prot_group *g = make(4, 2);

	fill(4 * STRIP, 1);
	CU_ASSERT(prot_group_settle(g));
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 0, 4 * STRIP), 0);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, 4 * STRIP, LBA), 0);
	CU_ASSERT(!prot_group_settle(g));
	run(g);
	CU_ASSERT(prot_group_settle(g));
	free(g);
	c.fresh = 0;
	g = start(&c);
	CU_ASSERT_EQUAL(g->replayed, 0);
	CU_ASSERT_EQUAL(g->places_written, 0);
	free(g);
}

/* A number that the store knows to be higher is taken. */
static void test_attach_number(void)
{
	struct prot_group_config c = config(2, 1);
	struct prot_group *g;

	memset(disk, 0, sizeof(disk[0]) * 3);
	c.attach = 77;
	g = start(&c);
	CU_ASSERT_EQUAL(g->attach, 77);
	free(g);
	c.fresh = 0;
	c.attach = 5;
	g = start(&c);
	CU_ASSERT_EQUAL(g->attach, 78);
	free(g);
}

/* The newest number is never written over: should that tear, nothing would be known. */
static void test_attach_kept(void)
{
	struct prot_group_config c = config(2, 1);
	u64 before = 0;
	u32 n, i;

	memset(disk, 0, sizeof(disk[0]) * 3);
	for (n = 0; n < 5; n++) {
		struct prot_group *g = start(&c);

		for (i = 0; i < 3; i++) {
			const struct prot_attach_rec *r = (const void *)disk[i];
			const struct prot_attach_rec *s = (const void *)(disk[i] + LBA);
			u64 a = le64_to_cpu(r->attach), b = le64_to_cpu(s->attach);

			CU_ASSERT_EQUAL(max(a, b), g->attach);
			CU_ASSERT_EQUAL(min(a, b), before);
		}
		before = g->attach;
		free(g);
		c.fresh = 0;
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "configurations", test_config },
		{ "cost of requests", test_cost },
		{ "rebuilt reads", test_rebuilt_reads },
		{ "bytes of a rebuilt read", test_rebuilt_bytes },
		{ "medium errors", test_media },
		{ "beyond redundancy", test_beyond },
		{ "scrub", test_scrub },
		{ "cost of writes without a member", test_degraded_cost },
		{ "writes joined", test_joined },
		{ "writes with a gap between them", test_joined_gap },
		{ "flags of writes joined", test_joined_flags },
		{ "order of writes joined", test_joined_order },
		{ "writes folded", test_folded },
		{ "writes of the same rows folded", test_folded_same },
		{ "folded next to a silent member", test_folded_silent },
		{ "members that records name", test_records_agree },
		{ "cost of attaching", test_attach_cost },
		{ "nothing to recover", test_settle },
		{ "attach number", test_attach_number },
		{ "attach number kept", test_attach_kept },
		{ NULL, NULL },
	};

	return suite_main("prot_ec", tests);
}
