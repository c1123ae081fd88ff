// SPDX-License-Identifier: GPL-2.0-only
/* Small writes in order to an erasure-coded group, one at a time: what they read, and what not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "prot_rig.h"
#include "protect/ec/ec_priv.h"

#define LBA	512
#define STRIP	(8 * LBA)
#define STRIPE	(4 * STRIP)
#define DATA	(4 * STRIP)	/* of a member */

static u64 meta;		/* bytes of records on a member */
static u32 reads;
static u8 want[4 * STRIPE];	/* what the group holds */
static u32 turn;		/* makes what is written differ */

static void count(const struct prot_event *ev)
{
	reads += ev->io.kind == PROT_READ;
}

static struct prot_group *make(u8 k, u8 m)
{
	struct prot_group_config c = { .bytes = DATA, .in_sync = (1ULL << (k + m)) - 1, .epoch = 1,
				       .region = STRIP, .lba = LBA, .ops = 16, .bufs = 10,
				       .level = PROT_EC, .width = k + m, .k = k, .m = m,
				       .strip = STRIP, .slot_bytes = STRIP, .slot_head = 4096,
				       .rings = 2, .slots = 8, .fresh = 1, .cached = 2 };

	meta = rig_members(&c);
	memset(disk, 0, sizeof(disk[0]) * c.width);
	memset(want, 0, sizeof(want));
	saw = count;
	return rig_start(&c);
}

/* Payload at @at goes to byte @at of the group. */
static void submit(struct prot_group *g, u32 at, u32 length)
{
	u32 i;

	turn++;
	for (i = at; i < at + length; i++)
		payload[i] = want[i] = i * 7 + (i >> 8) * 13 + turn * 31;
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, at, length, at) >= 0);
}

/* Alone. Return: what it read. */
static u32 write_one(struct prot_group *g, u32 at, u32 length)
{
	u32 before = done;

	reads = 0;
	submit(g, at, length);
	run(g);
	CU_ASSERT_EQUAL(done, before + 1);
	CU_ASSERT_EQUAL(last_err, 0);
	return reads;
}

/* Three in a row, of which the last begins the fill. */
static void begin(struct prot_group *g, u32 at)
{
	CU_ASSERT_EQUAL(write_one(g, at, LBA), 3);
	CU_ASSERT_EQUAL(write_one(g, at + LBA, LBA), 3);
	CU_ASSERT_EQUAL(write_one(g, at + 2 * LBA, LBA), 3 + 3);
}

/* All reads as written, whichever member cannot be read. */
static void check(struct prot_group *g)
{
	u32 i, stripe;

	CU_ASSERT(prot_group_quiet(g));
	for (i = 0; i < g->cfg.width; i++)
		for (stripe = 0; stripe < 4; stripe++) {
			u32 bytes = g->cfg.k * STRIP;

			unreadable = 1ULL << i;
			CU_ASSERT_EQUAL(rig_request(g, PROT_READ, stripe * bytes, bytes), 0);
			CU_ASSERT(!memcmp(payload, want + stripe * bytes, bytes));
		}
	unreadable = 0;
	free(g);
}

/*
 * From the fourth on nothing is read, but the rows of the first two, which were not kept; in the
 * next stripe, from the second on.
 */
static void test_log(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	begin(g, 0);
	for (i = 3; i < STRIPE / LBA; i++)
		CU_ASSERT_EQUAL(write_one(g, i * LBA, LBA), i * LBA % STRIP < 2 * LBA);
	CU_ASSERT_EQUAL(g->counts.cached, STRIPE / LBA - 3 - 2 * 3);
	CU_ASSERT_EQUAL(write_one(g, STRIPE, LBA), 3 + 3);
	for (i = 1; i < STRIPE / LBA; i++)
		CU_ASSERT_EQUAL(write_one(g, STRIPE + i * LBA, LBA), 0);
	check(g);
}

/* What is written besides is what those in order compute with; what they wrote is, too. */
static void test_overwritten(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	begin(g, 0);
	for (i = 1; i < 4; i++)		/* the first strip is not known there */
		CU_ASSERT_EQUAL(write_one(g, i * STRIP + 3 * LBA, 2 * LBA), 1);
	CU_ASSERT_EQUAL(write_one(g, 3 * LBA, LBA), 0);
	CU_ASSERT_EQUAL(write_one(g, 2 * STRIP + 2 * LBA, 2 * LBA), 0);
	CU_ASSERT_EQUAL(write_one(g, 4 * LBA, LBA), 0);
	check(g);
}

/* What is before the third one in its strip is not known: that is read. */
static void test_from_the_middle(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	begin(g, 3 * LBA);
	for (i = 6; i < 2 * STRIP / LBA; i++)
		CU_ASSERT_EQUAL(write_one(g, i * LBA, LBA), i >= 8 && i < 8 + 5);
	check(g);
}

/* Zeroes, of all or of a part; and what is written a stripe at a time. */
static void test_forgotten(void)
{
	struct prot_group *g = make(4, 2);

	begin(g, 0);
	CU_ASSERT_EQUAL(rig_request(g, PROT_ZEROES, STRIP, LBA), 0);
	memset(want + STRIP, 0, LBA);
	CU_ASSERT_EQUAL(write_one(g, 3 * LBA, LBA), 0);
	CU_ASSERT_EQUAL(write_one(g, 2 * STRIP + 2 * LBA, 2 * LBA), 0);
	CU_ASSERT_EQUAL(rig_request(g, PROT_ZEROES, 0, STRIPE), 0);
	memset(want, 0, STRIPE);
	CU_ASSERT(write_one(g, 3 * STRIP + LBA, LBA) > 0);
	begin(g, STRIPE);
	CU_ASSERT_EQUAL(write_one(g, STRIPE, STRIPE), 0);
	CU_ASSERT(write_one(g, STRIPE + 3 * STRIP + LBA, LBA) > 0);
	check(g);
}

/* A drive lies, and a scrub believes it: parity is that of what the drive says. */
static void test_scrubbed(void)
{
	static const struct prot_scrub how = { .repair = 1, .source = PROT_NO_SOURCE };
	struct prot_group *g = make(4, 1);
	u8 *at = disk[prot_group_member(g, 0, 2)] + meta + 4 * LBA;

	CU_ASSERT_EQUAL(write_one(g, 0, LBA), 2);
	CU_ASSERT_EQUAL(write_one(g, LBA, LBA), 2);
	CU_ASSERT_EQUAL(write_one(g, 2 * LBA, LBA), 2 + 3);
	*at ^= 0x55;
	want[2 * STRIP + 4 * LBA] ^= 0x55;
	prot_group_scrub(g, &how);
	run(g);
	CU_ASSERT_EQUAL(g->unexplained, 1);
	CU_ASSERT(write_one(g, STRIP + 4 * LBA, LBA) > 0);
	check(g);
}

/* Neither at random, nor in large pieces, nor for the end of a stripe, nor with a member out. */
static void test_none(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	for (i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(write_one(g, i * 5 % 6 * 2 * LBA, LBA), 3);
	for (i = 0; i < 6; i++)
		CU_ASSERT(write_one(g, STRIPE + i * 2 * STRIP, 2 * STRIP) <= 2);
	for (i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(write_one(g, 2 * STRIPE + 2 * STRIP + i * LBA, LBA), 3);
	check(g);
	g = make(4, 2);
	prot_group_avoid(g, 1ULL << prot_group_member(g, 0, 3));
	for (i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(write_one(g, i * LBA, LBA), 3);
	prot_group_avoid(g, 0);
	prot_group_epoch(g, 2, 0x3f & ~(1ULL << prot_group_member(g, 0, 3)));
	run(g);
	for (i = 6; i < 8; i++)
		CU_ASSERT_EQUAL(write_one(g, i * LBA, LBA), 3);
	CU_ASSERT_EQUAL(g->counts.cached, 0);
	check(g);
}

static struct prot_event slow;	/* the read of a fill that is left */

/* Take the read of a fill of @strip out of what is held. */
static bool held_fill(const struct prot_group *g, u32 strip)
{
	u32 i;

	for (i = 0; i < nr_held; i++)
		if (held[i].io.kind == PROT_READ && held[i].io.length == STRIP &&
		    held[i].io.member == prot_group_member(g, 0, strip)) {
			slow = held[i];
			held[i] = held[--nr_held];
			return true;
		}
	return false;
}

/* All of the fill is read but its last strip, and the writes behind it go on. */
static struct prot_group *fill_slowly(void)
{
	struct prot_group *g = make(4, 2);

	CU_ASSERT_EQUAL(write_one(g, 0, LBA), 3);
	CU_ASSERT_EQUAL(write_one(g, LBA, LBA), 3);
	hold = true;
	submit(g, 2 * LBA, LBA);
	run(g);
	CU_ASSERT_EQUAL_FATAL(nr_held, 6);
	CU_ASSERT_FATAL(held_fill(g, 3));
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 3);
	return g;
}

/* A write of the strip that is still read waits, those of others do not; none loses its data. */
static void test_slow_fill(void)
{
	struct prot_group *g = fill_slowly();

	submit(g, STRIP, LBA);
	run(g);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 4);
	submit(g, 3 * STRIP, LBA);
	run(g);
	CU_ASSERT_EQUAL(nr_held, 0);
	rig_end_io(g, &slow);
	run(g);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 5);
	hold = false;
	CU_ASSERT_EQUAL(write_one(g, 2 * STRIP + 2 * LBA, LBA), 0);
	check(g);
}

/* Its last strip cannot be read: nothing waits for it, and what is needed of it is read then. */
static void test_failed_fill(void)
{
	struct prot_group *g = fill_slowly();

	hold = false;
	prot_group_result(g, slow.io.tag, -ENODATA);
	run(g);
	CU_ASSERT_EQUAL(write_one(g, 3 * LBA, LBA), 1);
	CU_ASSERT_EQUAL(write_one(g, 3 * STRIP + 2 * LBA, 2 * LBA), 0);
	CU_ASSERT_EQUAL(write_one(g, 2 * STRIP + 2 * LBA, 2 * LBA), 0);
	check(g);
}

/*
 * A write that came before the fill is gated while the fill waits for it; what the fill then reads
 * over it is not right, and is not taken for it.
 */
static void test_spoiled_fill(void)
{
	struct prot_group *g = make(4, 2);
	bool found = false;

	CU_ASSERT_EQUAL(write_one(g, 0, LBA), 3);
	CU_ASSERT_EQUAL(write_one(g, LBA, LBA), 3);
	hold = true;
	submit(g, STRIP + 4 * LBA, LBA);
	run(g);
	submit(g, 2 * LBA, LBA);
	run(g);
	CU_ASSERT(!held_fill(g, 1));
	while (nr_held && !found) {
		let_go(g);
		found = held_fill(g, 1);
	}
	CU_ASSERT_FATAL(found);
	memset((u8 *)prot_group_buffer(g, slow.runs[0].buffer) + slow.runs[0].offset, 0xee, STRIP);
	prot_group_result(g, slow.io.tag, -EILSEQ);
	run(g);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 4);
	hold = false;
	CU_ASSERT_EQUAL(write_one(g, 4 * LBA, LBA), 1);
	check(g);
}

/* A third stripe takes the place of the first. */
static void test_replaced(void)
{
	struct prot_group *g = make(4, 2);
	u32 i;

	for (i = 0; i < 3; i++)
		begin(g, i * STRIPE);
	CU_ASSERT(write_one(g, STRIP + 2 * LBA, LBA) > 0);
	CU_ASSERT_EQUAL(write_one(g, STRIPE + STRIP + 2 * LBA, LBA), 0);
	CU_ASSERT_EQUAL(write_one(g, 2 * STRIPE + STRIP + 2 * LBA, LBA), 0);
	check(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a log", test_log },
		{ "written besides", test_overwritten },
		{ "from the middle of a strip", test_from_the_middle },
		{ "forgotten", test_forgotten },
		{ "after a scrub", test_scrubbed },
		{ "where there is none", test_none },
		{ "a slow fill", test_slow_fill },
		{ "a fill that fails", test_failed_fill },
		{ "a fill over what is there", test_spoiled_fill },
		{ "more stripes than fit", test_replaced },
		{ NULL, NULL },
	};

	return suite_main("prot_ec_cache", tests);
}
