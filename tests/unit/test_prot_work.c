// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much the engine of a large group scans: as much as changed, not as much as
 * there is. Built with PROT_COUNT; a million regions, 304 blocks a bitmap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "protect/engine/group_priv.h"
#include "suite.h"

#define LBA	512
#define REGION	(64U << 10)
#define REGIONS	(1U << 20)
#define BLOCK	(3456ULL * REGION)	/* bytes whose bits are in one block */

static u64 broken;	/* members whose I/O ends with -EIO */
static u64 caught_up;	/* of PROT_EV_CAUGHT_UP */
static u32 done, ios, meta_ios;

static void run(struct prot_group *g)
{
	struct prot_event ev;

	for (;;) {
		prot_group_next(g, &ev);
		if (ev.kind == PROT_EV_NONE)
			return;
		done += ev.kind == PROT_EV_DONE;
		if (ev.kind == PROT_EV_CAUGHT_UP)
			caught_up |= ev.members;
		if (ev.kind == PROT_EV_COPY || ev.kind == PROT_EV_CODEC)
			prot_group_result(g, ev.io.tag, 0);
		if (ev.kind != PROT_EV_IO)
			continue;
		ios++;
		meta_ios += !!(ev.io.tag & PROT_TAG_META);
		prot_group_result(g, ev.io.tag, broken >> ev.io.member & 1 ? -EIO : 0);
	}
}

static struct prot_group *make_many(u16 ops, u16 bufs)
{
	struct prot_group_config c = { .bytes = (u64)REGIONS * REGION, .in_sync = 3, .epoch = 1,
				       .region = REGION, .lba = LBA, .buf_bytes = REGION,
				       .ops = ops, .bufs = bufs, .level = PROT_MIRROR, .width = 2,
				       .data = { 1 << 20, 1 << 20 }, .fresh = 1 };
	struct prot_group *g = prot_group_init(calloc(1, prot_group_bytes(&c)), &c);

	broken = caught_up = 0;
	run(g);
	CU_ASSERT_EQUAL_FATAL(g->state, PROT_G_SERVING);
	CU_ASSERT_EQUAL_FATAL(g->shape.nr_regions, REGIONS);
	CU_ASSERT_EQUAL_FATAL(g->shape.nr_blocks, 304);
	return g;
}

static struct prot_group *make(void)
{
	return make_many(8, 4);
}

/* Entries scanned meanwhile. */
static u64 write_at(struct prot_group *g, u64 addr)
{
	u32 before = done;

	prot_looked = 0;
	CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, addr, LBA, 0) >= 0);
	run(g);
	CU_ASSERT_EQUAL(done, before + 1);
	return prot_looked;
}

static u64 scan(struct prot_group *g)
{
	struct prot_event ev;

	prot_looked = 0;
	prot_group_next(g, &ev);
	CU_ASSERT_EQUAL(ev.kind, PROT_EV_NONE);
	return prot_looked;
}

static u64 idle(struct prot_group *g)
{
	prot_looked = 0;
	prot_group_idle(g);
	run(g);
	return prot_looked;
}

static void test_write(void)
{
	struct prot_group *g = make();

	CU_ASSERT(scan(g) <= 16);
	ios = meta_ios = 0;
	write_at(g, 300 * BLOCK);
	CU_ASSERT_EQUAL(meta_ios, 2);
	CU_ASSERT_EQUAL(ios, 4);
	/* its bit is set: two data writes, no bitmap, no search for one */
	CU_ASSERT(write_at(g, 300 * BLOCK + LBA) <= 128);
	CU_ASSERT_EQUAL(meta_ios, 2);
	CU_ASSERT_EQUAL(ios, 6);
	free(g);
}

static void test_idle(void)
{
	struct prot_group *g = make();
	u32 i;

	CU_ASSERT(idle(g) <= 16);
	for (i = 0; i < 5; i++)
		write_at(g, i * 50 * BLOCK + 1000 * REGION);
	/* the first pass only notes what is written from now on */
	meta_ios = 0;
	CU_ASSERT(idle(g) <= 5 * 32);
	CU_ASSERT_EQUAL(meta_ios, 0);
	write_at(g, 50 * BLOCK + 1000 * REGION);
	CU_ASSERT(idle(g) <= 5 * 128);
	CU_ASSERT_EQUAL(meta_ios, 8);
	CU_ASSERT_EQUAL(prot_set_next(prot_regions(g, PROT_SET_INTENT), REGIONS, 0),
			prot_region_of(g, 50 * BLOCK + 1000 * REGION));
	idle(g);
	CU_ASSERT_EQUAL(meta_ios, 10);
	CU_ASSERT(prot_none(g, PROT_SET_INTENT));
	CU_ASSERT(idle(g) <= 16);
	free(g);
}

/* Until the group has nothing more to say; what the longest call of prot_group_next() read. */
static u64 longest(struct prot_group *g, u32 *again)
{
	struct prot_event ev;
	u64 worst = 0;

	do {
		prot_looked = 0;
		prot_group_next(g, &ev);
		worst = max(worst, prot_looked);
		if (ev.kind == PROT_EV_IO) {
			ios++;
			prot_group_result(g, ev.io.tag, 0);
		}
		*again += ev.kind == PROT_EV_AGAIN;
	} while (ev.kind != PROT_EV_NONE);
	return worst;
}

/* With all of a million bits to be cleared, a call clears some of them. */
static void test_idle_steps(void)
{
	struct prot_group *g = make();
	u32 again = 0;

	prot_regions_all(g, PROT_SET_INTENT);
	prot_bitmap_touch_all(g, PROT_INTENT);
	run(g);
	prot_group_idle(g);
	CU_ASSERT(longest(g, &again) <= 4096);
	CU_ASSERT(again >= 1024);
	CU_ASSERT(prot_none(g, PROT_SET_INTENT));
	free(g);
}

/* Blocks are written in turn, several at a time, and none twice at a time. */
static void test_blocks(void)
{
	struct prot_group *g = make_many(16, 4);
	u32 tag[PROT_BLOCK_IOS + 1], n = 0, i;
	struct prot_event ev;
	u64 at[PROT_BLOCK_IOS + 1];

	for (i = 0; i < 8; i++)
		CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, i * 30 * BLOCK, LBA, 0) >= 0);
	for (i = 0; i < 2; i++) {
		for (n = 0, prot_group_next(g, &ev); ev.kind != PROT_EV_NONE;
		     prot_group_next(g, &ev)) {
			CU_ASSERT_EQUAL_FATAL(ev.kind, PROT_EV_IO);
			if (ev.io.member || !(ev.io.tag & PROT_TAG_META))
				continue;	/* does not end */
			CU_ASSERT_FATAL(n < PROT_BLOCK_IOS);
			at[n] = ev.io.addr;
			tag[n++] = ev.io.tag;
		}
		if (i)
			break;
		CU_ASSERT_EQUAL(n, 8);
		/* changed again: while it is in flight it is not written; of those behind it ... */
		prot_bitmap_touch(g, PROT_INTENT, 0);
		prot_bitmap_touch(g, PROT_INTENT, prot_region_of(g, 240 * BLOCK));
		prot_group_result(g, tag[0], 0);
	}
	/* ... the next one has its turn first */
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_EQUAL(at[0], LBA * (2 + 240));
	free(g);
}

/* A copy that missed three regions of a million gets these three. */
static void test_catch_up(void)
{
	struct prot_group *g = make();
	u64 synced;
	u32 i;

	broken = 2;
	prot_group_submit(g, PROT_WRITE, 0, 0, LBA, 0);
	run(g);
	prot_group_epoch(g, 2, 1);
	run(g);
	for (i = 1; i < 3; i++)
		write_at(g, i * 100 * BLOCK);
	CU_ASSERT(scan(g) <= 16);
	broken = 0;
	synced = g->synced;
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	prot_looked = 0;
	run(g);
	CU_ASSERT_EQUAL(g->synced - synced, 3 * REGION);
	CU_ASSERT_EQUAL(caught_up, 2);
	/* ... and while the epoch is awaited nothing is searched for */
	CU_ASSERT(scan(g) <= 32);
	CU_ASSERT(write_at(g, 100 * BLOCK) <= 160);
	prot_group_epoch(g, 3, 3);
	run(g);
	CU_ASSERT(scan(g) <= 16);
	free(g);
}

/* A scrub compares what is written now and then, too, from where it is to begin. */
static void test_scrub(void)
{
	struct prot_group *g = make();
	u32 again = 0;

	write_at(g, (REGIONS - 1ULL) * REGION);
	ios = 0;
	prot_group_scrub(g, &(struct prot_scrub){ .from = (REGIONS - 2ULL) * REGION,
					     .source = PROT_NO_SOURCE });
	longest(g, &again);
	CU_ASSERT_EQUAL(g->scrubbing, 0);
	CU_ASSERT_EQUAL(ios, 4);
	CU_ASSERT_EQUAL(g->skipped, 0);
	free(g);
}

/* What it leaves out it goes through in steps, and counts. */
static void test_scrub_skips(void)
{
	struct prot_group *g = make();
	u32 again = 0;

	prot_regions_all(g, PROT_SET_UNSYNCED);
	g->sync.stalled = 1;	/* nothing of it is resynchronised meanwhile */
	ios = 0;
	prot_group_scrub(g, &(struct prot_scrub){ .from = 10 * REGION,
					     .source = PROT_NO_SOURCE });
	CU_ASSERT(longest(g, &again) <= 4096);
	CU_ASSERT(again >= REGIONS / 1024);
	CU_ASSERT_EQUAL(g->scrubbing, 0);
	CU_ASSERT_EQUAL(ios, 0);
	CU_ASSERT_EQUAL(g->skipped, (REGIONS - 10ULL) * REGION);
	free(g);
	g = make();
	prot_group_epoch(g, 2, 1);
	longest(g, &again);
	ios = 0;
	prot_group_scrub(g, &(struct prot_scrub){ .repair = 1, .source = PROT_NO_SOURCE });
	CU_ASSERT(longest(g, &again) <= 4096);
	CU_ASSERT_EQUAL(g->scrubbing, 0);
	CU_ASSERT_EQUAL(ios, 0);
	CU_ASSERT_EQUAL(g->skipped, (u64)REGIONS * REGION);
	free(g);
}

/* With thousands of requests in flight the next one takes no longer. */
static void test_many(void)
{
	struct prot_group *g = make_many(4096, 4);
	u32 i;

	for (i = 0; i < 4000; i++) {
		prot_looked = 0;
		CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, (u64)i * REGION, LBA, 0) >= 0);
		CU_ASSERT_FATAL(prot_looked <= 16);
	}
	run(g);
	CU_ASSERT(write_at(g, LBA) <= 128);
	free(g);
}

/* Nor does giving a buffer or a slot back scan all ops. */
static void test_many_ec(void)
{
	struct prot_group_config c = { .bytes = 64 << 20, .in_sync = 7, .epoch = 1,
				       .region = 1 << 20, .lba = LBA, .ops = 4096, .bufs = 64,
				       .level = PROT_EC, .width = 3, .k = 2, .m = 1,
				       .strip = 4096, .slot_bytes = 4096, .slot_head = 4096,
				       .rings = 8, .slots = 16, .fresh = 1 };
	struct prot_group *g;
	u32 i, before;

	broken = 0;
	for (i = 0; i < c.width; i++)
		c.data[i] = prot_group_meta_bytes(&c);
	g = prot_group_init(calloc(1, prot_group_bytes(&c)), &c);
	run(g);
	CU_ASSERT_EQUAL_FATAL(g->state, PROT_G_SERVING);
	for (i = 0; i < 100; i++) {
		before = done;
		prot_looked = 0;
		CU_ASSERT_FATAL(prot_group_submit(g, PROT_WRITE, 0, i * 8192, LBA, 0) >= 0);
		run(g);
		CU_ASSERT_EQUAL(done, before + 1);
		CU_ASSERT_FATAL(prot_looked <= 256);
	}
	free(g);
}

/* All of one set into another, against one that got the members one by one. */
static void test_set_add(void)
{
	static const u32 sizes[] = { 1, 64, 65, 4097, 300000 };
	u32 s, k, seed = 2;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		u32 n = sizes[s], words = prot_set_words(n);
		u64 *sets = calloc(3 * words, sizeof(u64));	/* two, and what both are to be */

		for (k = 0; k < 300; k++) {
			seed = seed * 1664525 + 1013904223;
			prot_set_put(sets + seed % 2 * words, n, (seed >> 4) % n);
			prot_set_put(sets + 2 * words, n, (seed >> 4) % n);
		}
		prot_set_add(sets, sets + words, n);
		CU_ASSERT(!memcmp(sets, sets + 2 * words, words * sizeof(u64)));
		free(sets);
	}
}

/* The set by itself, against an array. */
static void test_set(void)
{
	static const u32 sizes[] = { 1, 63, 64, 65, 200, 4096, 4097, 300000 };
	u32 s, i, k, seed = 1;

	CU_ASSERT_EQUAL(prot_set_words(64), 1);
	CU_ASSERT_EQUAL(prot_set_words(65), 3);
	CU_ASSERT_EQUAL(prot_set_words(4097), 65 + 2 + 1);
	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		u32 n = sizes[s], next = PROT_SET_NONE;
		u64 *set = calloc(prot_set_words(n), sizeof(u64));
		u8 *model = calloc(n, 1);

		CU_ASSERT_EQUAL(prot_set_next(set, n, 0), PROT_SET_NONE);
		for (k = 0; k < 3000; k++) {
			seed = seed * 1664525 + 1013904223;
			i = (seed >> 4) % n;
			model[i] = seed >> 30 != 0;
			if (model[i])
				prot_set_put(set, n, i);
			else
				prot_set_drop(set, n, i);
			CU_ASSERT_EQUAL_FATAL(prot_set_has(set, i), model[i]);
			if (k % 100)
				continue;
			i = (seed >> 8) % n;
			for (next = i; next < n && !model[next]; next++)
				;
			CU_ASSERT_EQUAL_FATAL(prot_set_next(set, n, i),
					      next < n ? next : PROT_SET_NONE);
		}
		for (i = n, next = PROT_SET_NONE; i--;) {
			if (model[i])
				next = i;
			CU_ASSERT_EQUAL_FATAL(prot_set_next(set, n, i), next);
		}
		CU_ASSERT_EQUAL(prot_set_next(set, n, n), PROT_SET_NONE);
		for (i = 0; i < n; i++)
			prot_set_drop(set, n, i);
		for (i = 0; i < prot_set_words(n); i++)
			CU_ASSERT_EQUAL_FATAL(set[i], 0);
		free(set);
		free(model);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "set", test_set },
		{ "a set into another", test_set_add },
		{ "write", test_write },
		{ "idle", test_idle },
		{ "idle, step by step", test_idle_steps },
		{ "bitmap blocks", test_blocks },
		{ "catch-up", test_catch_up },
		{ "scrub", test_scrub },
		{ "scrub, what it leaves out", test_scrub_skips },
		{ "thousands of requests", test_many },
		{ "thousands of ops, erasure coding", test_many_ec },
		{ NULL, NULL },
	};

	return suite_main("prot_work", tests);
}
