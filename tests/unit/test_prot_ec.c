// SPDX-License-Identifier: GPL-2.0-only
/*
 * An erasure-coded group by hand: what the simulator's schedules do not ask for.
 * Sizes, refusals, commands counted, reads rebuilt, medium errors, scrub, a group
 * that lost too much, large strips and sectors.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "protect/codec.h"
#include "protect/group.h"
#include "suite.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define STRIPES	8
#define DATA	(STRIPES * STRIP)
#define DISK	(512 * 1024)

static u8 disk[PROT_WIDTH_MAX][DISK];
static u64 meta;		/* bytes of records on a member */
static u64 broken, unreadable;	/* members whose I/O (reads) ends with -EIO */
static u8 payload[PROT_DATA_MAX * STRIP];
static u32 done;
static s32 last_err;
static u64 seen;		/* events, a bit each */
static struct {
	u32 reads, records, places, zeroes;
	u64 read_bytes;
	u32 staged, used;
} cost;

static struct prot_group_config config(u8 k, u8 m)
{
	struct prot_group_config c = { .bytes = DATA, .in_sync = (1ULL << (k + m)) - 1, .epoch = 1,
				       .region = 2 * STRIP, .lba = LBA, .ops = 8, .bufs = 6,
				       .level = PROT_EC, .width = k + m, .k = k, .m = m,
				       .strip = STRIP, .slot_bytes = STRIP, .slot_head = 4096,
				       .lanes = 2, .slots = 4, .fresh = 1 };
	u32 i;

	meta = prot_group_meta_bytes(&c);
	for (i = 0; i < c.width; i++)
		c.data[i] = meta;
	return c;
}

static void count(const struct prot_event *ev)
{
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
}

static void io(struct prot_group *g, const struct prot_event *ev)
{
	u8 *at = disk[ev->io.member] + ev->io.addr, *buf = payload;

	CU_ASSERT_FATAL(ev->io.addr + ev->io.length <= meta + g->cfg.bytes);
	count(ev);
	if (broken >> ev->io.member & 1 ||
	    (ev->io.kind == PROT_READ && unreadable >> ev->io.member & 1)) {
		prot_group_result(g, ev->io.tag, -EIO);
		return;
	}
	if (ev->runs[0].buffer)
		buf = prot_group_buffer(g, ev->runs[0].buffer);
	buf += ev->runs[0].offset;
	if (ev->io.kind == PROT_READ)
		memcpy(buf, at, ev->io.length);
	else if (ev->io.kind == PROT_WRITE)
		memcpy(at, buf, ev->io.length);
	else
		memset(at, 0, ev->io.length);
	prot_group_result(g, ev->io.tag, 0);
}

static void work(struct prot_group *g, const struct prot_event *ev)
{
	static struct prot_map map;
	u8 *buf;

	if (ev->kind == PROT_EV_CODEC) {
		prot_group_codec(g, ev->op, &prot_codec_portable, &map, 0,
				 prot_group_codec_bytes(g, ev->op));
	} else {
		buf = (u8 *)prot_group_buffer(g, ev->copy.buffer) + ev->copy.offset;
		if (ev->copy.out)
			memcpy(payload + ev->copy.request, buf, ev->copy.length);
		else
			memcpy(buf, payload + ev->copy.request, ev->copy.length);
	}
	prot_group_result(g, ev->io.tag, 0);
}

static void run(struct prot_group *g)
{
	struct prot_event ev;
	u32 i;

	for (i = 0; i < 5000; i++) {
		prot_group_next(g, &ev);
		seen |= 1 << ev.kind;
		if (ev.kind == PROT_EV_NONE)
			return;
		if (ev.kind == PROT_EV_IO)
			io(g, &ev);
		if (ev.kind == PROT_EV_COPY || ev.kind == PROT_EV_CODEC)
			work(g, &ev);
		if (ev.kind == PROT_EV_DONE) {
			done++;
			last_err = ev.err;
		}
	}
	CU_FAIL_FATAL("runs in circles");
}

static struct prot_group *start(const struct prot_group_config *c)
{
	struct prot_group *g;

	memset(&cost, 0, sizeof(cost));
	broken = unreadable = seen = done = 0;
	g = prot_group_init(calloc(1, prot_group_bytes(c)), c);
	run(g);
	CU_ASSERT_EQUAL_FATAL(g->state, PROT_G_SERVING);
	return g;
}

static struct prot_group *make(u8 k, u8 m)
{
	struct prot_group_config c = config(k, m);

	memset(disk, 0, sizeof(disk));
	return start(&c);
}

static s32 request(struct prot_group *g, u8 kind, u64 addr, u32 length)
{
	u32 before = done;

	memset(&cost, 0, sizeof(cost));
	CU_ASSERT_FATAL(prot_group_submit(g, kind, 0, addr, length, 7) >= 0);
	run(g);
	return done == before + 1 ? last_err : 1;	/* 1: waits */
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
	BAD(slot_bytes, 256);
	BAD(slot_head, 256);
	BAD(lanes, 0);
	BAD(lanes, PROT_LANES_MAX + 1);
	BAD(slots, 1);
	BAD(slots, PROT_SLOTS_MAX + 1);
	BAD(ops, 3);
	BAD(bufs, 3);
#undef BAD
	c = config(32, 4);
	CU_ASSERT(prot_group_bytes(&c) > 0);
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

/* Only what is asked for is rebuilt. */
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

/* One strip of a row wrong: found and repaired where m >= 2, else counted. */
static void test_scrub(void)
{
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
			prot_group_scrub(g);
			run(g);
			CU_ASSERT_EQUAL(g->scrubbing, 0);
			CU_ASSERT_EQUAL(g->mismatches, m > 1 ? 2 : 0);
			CU_ASSERT_EQUAL(g->unexplained, m > 1 ? 0 : 2);
			if (m > 1)
				CU_ASSERT(!memcmp(was, disk[member] + meta + STRIP + LBA, LBA));
			prot_group_scrub(g);
			run(g);
			CU_ASSERT_EQUAL(g->mismatches, m > 1 ? 2 : 0);
			free(g);
		}
	}
}

/* Strips larger than a slot: cut into windows, still right. */
static void test_windows(void)
{
	struct prot_group_config c = config(2, 2);
	struct prot_group *g;

	c.slot_bytes = LBA;
	c.data[0] = c.data[1] = c.data[2] = c.data[3] = meta = prot_group_meta_bytes(&c);
	memset(disk, 0, sizeof(disk));
	g = start(&c);
	CU_ASSERT_EQUAL(prot_group_span(g, 0), LBA);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_WRITE, 0, 0, 2 * LBA, 0), -EINVAL);
	fill(LBA, 1);
	CU_ASSERT_EQUAL(request(g, PROT_WRITE, STRIP + LBA, LBA), 0);
	unreadable = 3;
	memset(payload, 0, LBA);
	CU_ASSERT_EQUAL(request(g, PROT_READ, STRIP + LBA, LBA), 0);
	CU_ASSERT(filled(LBA, 0, 1));
	free(g);
}

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

/* A number that the store knows to be higher is taken. */
static void test_attach_number(void)
{
	struct prot_group_config c = config(2, 1);
	struct prot_group *g;

	memset(disk, 0, sizeof(disk));
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
		{ "strips larger than slots", test_windows },
		{ "cost of attaching", test_attach_cost },
		{ "attach number", test_attach_number },
		{ NULL, NULL },
	};

	return suite_main("prot_ec", tests);
}
