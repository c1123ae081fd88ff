// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scrub: what it counts and names, what it changes and what it leaves, of two copies, of
 * three, and of ec:4+2.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "prot_rig.h"
#include "protect/engine/group_priv.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define STRIPES	16
#define SECTORS	(STRIPES * 4)
#define BYTES	(STRIPES * STRIP)

static u64 data;
static u64 bad[6];		/* sectors of a member that cannot be read */
static u8 before[6][BYTES];

static void nothing(const struct prot_event *ev)
{
	(void)ev;
}

static int refuses(const struct prot_event *ev)
{
	u64 sectors;

	if (ev->io.addr < data)
		return 0;
	sectors = ((1ULL << ev->io.length / LBA) - 1) << (ev->io.addr - data) / LBA;
	if (ev->io.kind == PROT_READ)
		return bad[ev->io.member] & sectors ? -ENODATA : 0;
	bad[ev->io.member] &= ~sectors;
	return 0;
}

static u8 *at(u32 member, u32 sector)
{
	return disk[member] + data + sector * LBA;
}

/* The sector changes by itself: to @how, which differs from what is there. */
static void rot(u32 member, u32 sector, u8 how)
{
	at(member, sector)[7] ^= how;
}

static void keep(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.width; i++)
		memcpy(before[i], at(i, 0), BYTES);
}

static bool same(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.width; i++)
		if (memcmp(before[i], at(i, 0), BYTES))
			return false;
	return true;
}

/* ec:4+2 for six members, else copies; all of it written. */
static struct prot_group *make(u8 width, u8 depth)
{
	struct prot_group_config c = { .bytes = BYTES, .epoch = 1, .region = 4 * STRIP, .lba = LBA,
				       .buf_bytes = STRIP, .ops = 32, .bufs = 24, .depth = depth,
				       .level = PROT_MIRROR, .width = width, .fresh = 1 };
	struct prot_group *g;
	u32 i, unit = STRIP;

	if (width == 6) {
		rig_ec(&c, 4, 2);
		unit *= 4;
	}
	c.in_sync = PROT_BIT(width) - 1;
	data = rig_members(&c);
	memset(disk, 0, sizeof(disk[0]) * width);
	memset(bad, 0, sizeof(bad));
	rig_refuses = refuses;
	saw = nothing;
	g = rig_start(&c);
	for (i = 0; i < STRIPES; i++) {
		memset(payload, i + 1, unit);
		CU_ASSERT_EQUAL_FATAL(rig_request(g, PROT_WRITE, (u64)i * unit, unit), 0);
	}
	keep(g);
	return g;
}

static void begin(struct prot_group *g, u8 repair, u8 source)
{
	prot_group_scrub(g, &(struct prot_scrub){ .repair = repair, .source = source });
}

static void scrub(struct prot_group *g, u8 repair, u8 source)
{
	begin(g, repair, source);
	run(g);
	CU_ASSERT_EQUAL(g->scrubbing, 0);
	CU_ASSERT_EQUAL(g->scrub_pos, BYTES);
}

/* The next scrub has nothing to say. */
static void clean(struct prot_group *g)
{
	scrub(g, 0, PROT_NO_SOURCE);
	CU_ASSERT_EQUAL(g->mismatches, 0);
	CU_ASSERT_EQUAL(g->repaired, 0);
	CU_ASSERT_EQUAL(g->nr_diffs, 0);
	CU_ASSERT_EQUAL(g->compared, BYTES);
}

static bool named(const struct prot_group *g, u32 i, u8 member, u32 sector, u32 sectors)
{
	const struct prot_diff *d = &g->diffs[i];

	return d->member == member && d->addr == sector * LBA && d->length == sectors * LBA;
}

static u8 holder(const struct prot_group *g, u32 sector, u8 strip)
{
	return prot_group_member(g, sector / 4, strip);
}

/* Nothing is changed, and all is named. */
static void test_compare(void)
{
	static const u8 widths[] = { 2, 3, 6 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i], 0);

		rot(1, 5, 1);
		rot(1, 6, 1);
		rot(0, 20, 1);
		rot(widths[i] - 1, 40, 1);
		keep(g);
		scrub(g, 0, 0);	/* a source says nothing to one that does not repair */
		CU_ASSERT(same(g));
		CU_ASSERT_EQUAL(g->mismatches, 4);
		CU_ASSERT_EQUAL(g->repaired, 0);
		CU_ASSERT_EQUAL(g->unexplained, 0);
		CU_ASSERT_EQUAL(g->nr_diffs, 3);
		CU_ASSERT_EQUAL(g->compared, BYTES);
		CU_ASSERT_EQUAL(g->skipped, 0);
		CU_ASSERT(named(g, 0, 1, 5, 2));
		CU_ASSERT(named(g, 1, widths[i] == 2 ? 1 : 0, 20, 1));
		CU_ASSERT(named(g, 2, widths[i] - 1, 40, 1));
		free(g);
	}
}

/* Two strips of a row: no member is named, and parity is made of the data as it is. */
static void test_unexplained(void)
{
	struct prot_group *g = make(6, 0);
	u8 a = holder(g, 9, 0), b = holder(g, 9, 2);

	rot(a, 9, 1);
	rot(b, 9, 2);
	keep(g);
	scrub(g, 0, PROT_NO_SOURCE);
	CU_ASSERT(same(g));
	CU_ASSERT_EQUAL(g->mismatches, 1);
	CU_ASSERT_EQUAL(g->unexplained, 1);
	CU_ASSERT(named(g, 0, PROT_NO_SOURCE, 9, 1));
	scrub(g, 1, PROT_NO_SOURCE);
	CU_ASSERT_EQUAL(g->mismatches, 1);
	CU_ASSERT_EQUAL(g->unexplained, 1);
	CU_ASSERT_EQUAL(g->repaired, 2);
	CU_ASSERT(!memcmp(at(a, 0), before[a], BYTES));
	CU_ASSERT(!memcmp(at(b, 0), before[b], BYTES));
	clean(g);
	free(g);
}

/* By the majority, or the equations; where neither says what is right, nothing is changed. */
static void test_repair(void)
{
	static const u8 widths[] = { 3, 4, 6 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i], i & 1 ? 0 : 3);

		rot(1, 5, 1);
		rot(widths[i] - 1, 40, 1);
		rot(0, 20, 1);
		scrub(g, 1, PROT_NO_SOURCE);
		CU_ASSERT(same(g));
		CU_ASSERT_EQUAL(g->mismatches, 3);
		CU_ASSERT_EQUAL(g->repaired, g->mismatches);
		clean(g);
		free(g);
	}
	for (i = 2; i <= 5; i++) {	/* all differ, two and two, or two are alike as no others are */
		struct prot_group *g = make(min(i, 4U), 0);

		rot(1, 5, 1);
		if (i > 2)
			rot(2, 5, i == 4 ? 1 : 2);
		if (i < 5)
			keep(g);
		scrub(g, 1, PROT_NO_SOURCE);
		CU_ASSERT(same(g));
		CU_ASSERT(g->mismatches == (i == 2 ? 1 : 2) && g->repaired == (i < 5 ? 0 : 2));
		CU_ASSERT(named(g, 0, 1, 5, 1));
		CU_ASSERT(i == 2 || named(g, 1, 2, 5, 1));
		free(g);
	}
}

static void test_source(void)
{
	u32 width;
	u8 right[LBA];

	for (width = 2; width <= 3; width++) {
		struct prot_group *g = make(width, 0);
		u8 source = width - 1, i;

		rot(source, 5, 1);
		memcpy(right, at(source, 5), LBA);
		scrub(g, 1, source);
		for (i = 0; i < width; i++)
			CU_ASSERT(!memcmp(at(i, 5), right, LBA));
		CU_ASSERT_EQUAL(g->mismatches, width - 1);
		CU_ASSERT_EQUAL(g->repaired, width - 1);
		CU_ASSERT(named(g, 0, 0, 5, 1));
		clean(g);
		free(g);
	}
}

/* What the source does not say is left, also what could not be read. */
static void test_source_mute(void)
{
	struct prot_group *g = make(3, 0);
	u8 repair;

	rot(0, 5, 1);
	keep(g);
	scrub(g, 1, 3);		/* there is no such member */
	CU_ASSERT(same(g));
	CU_ASSERT_EQUAL(g->mismatches, 1);
	bad[2] = 1 << 5;
	for (repair = 0; repair <= 2; repair++) {	/* the other two differ, so neither is right */
		scrub(g, repair > 0, repair < 2 ? PROT_NO_SOURCE : 2);
		CU_ASSERT(same(g) && bad[2] == 1 << 5 && g->mismatches == 1 && !g->repaired);
	}
	scrub(g, 1, 1);
	CU_ASSERT(!memcmp(at(2, 5), at(1, 5), LBA) && !memcmp(at(0, 5), at(1, 5), LBA));
	CU_ASSERT(!bad[2] && g->repaired == 2);
	rot(0, 5, 1);
	prot_group_epoch(g, 2, 3);
	run(g);
	keep(g);
	scrub(g, 1, 2);		/* it is out */
	CU_ASSERT(same(g));
	CU_ASSERT_EQUAL(g->mismatches, 1);
	free(g);
}

/* What a member cannot read is rewritten in both modes, and nothing beside it. */
static void test_unreadable(void)
{
	static const u8 widths[] = { 2, 3, 6 };
	u32 i, repair;

	for (i = 0; i < 2 * ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i / 2], 0);

		repair = i & 1 && widths[i / 2] > 2;	/* of two copies neither is right */
		memset(at(1, 5), 0xee, LBA);	/* what it would read, if it could */
		bad[1] = 1 << 5;
		rot(1, 6, 1);			/* of the same chunk */
		keep(g);
		memcpy(before[1] + 5 * LBA, at(1, 4), LBA);	/* of a strip, all are alike */
		if (repair)
			before[1][6 * LBA + 7] ^= 1;
		scrub(g, i & 1, PROT_NO_SOURCE);
		CU_ASSERT_EQUAL(bad[1], 0);
		CU_ASSERT(same(g));
		CU_ASSERT_EQUAL(g->mismatches, 1);
		CU_ASSERT_EQUAL(g->repaired, 1 + repair);
		CU_ASSERT_EQUAL(g->rewritten, 1);
		CU_ASSERT(named(g, 0, 1, 6, 1));
		CU_ASSERT_EQUAL(g->skipped, widths[i / 2] == 3 ? 0 : LBA);
		CU_ASSERT_EQUAL(g->compared + g->skipped, BYTES);
		free(g);
	}
}

/* A request's read that failed is repaired, and its rows are no scrub's. */
static void test_request(void)
{
	static const u8 widths[] = { 2, 3, 6 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i], 0);

		scrub(g, 1, PROT_NO_SOURCE);
		bad[0] = 1;
		rot(1, 1, 1);
		keep(g);
		for (n = 0; n < 3; n++)
			CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, 2 * LBA), 0);
		CU_ASSERT_EQUAL(bad[0], 0);
		CU_ASSERT(same(g));
		CU_ASSERT_EQUAL(g->mismatches, 0);
		CU_ASSERT_EQUAL(g->repaired, 1);
		free(g);
	}
}

/* Chunks in flight end, and no more begin; another one goes on from there. */
static void test_stop(void)
{
	static const u8 widths[] = { 2, 3, 6 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i], 2);
		u64 pos;

		rot(1, 0, 1);
		rot(1, SECTORS - 1, 1);
		hold = true;
		begin(g, 0, PROT_NO_SOURCE);
		run(g);
		CU_ASSERT(nr_held > 0);
		prot_group_scrub_stop(g);
		pos = g->scrub_pos;
		CU_ASSERT_EQUAL(pos, widths[i] == 3 ? STRIP : 2 * STRIP);
		CU_ASSERT_EQUAL(g->scrubbing, 1);
		for (n = 0; nr_held && n < 100; n++)
			let_go(g);
		CU_ASSERT_EQUAL(g->scrubbing, 0);
		CU_ASSERT_EQUAL(g->scrub_pos, pos);
		CU_ASSERT_EQUAL(g->compared, pos);
		CU_ASSERT_EQUAL(g->mismatches, 1);
		hold = false;
		prot_group_scrub(g, &(struct prot_scrub){ .from = pos, .source = PROT_NO_SOURCE });
		run(g);
		CU_ASSERT_EQUAL(g->scrubbing, 0);
		CU_ASSERT_EQUAL(g->compared, BYTES);
		CU_ASSERT_EQUAL(g->mismatches, 2);
		begin(g, 0, PROT_NO_SOURCE);
		prot_group_scrub_stop(g);
		CU_ASSERT_EQUAL(g->scrubbing, 0);
		run(g);
		CU_ASSERT_EQUAL(g->compared, 0);
		free(g);
	}
}

/* One that begins again counts nothing that the one before has in flight, nor repairs that. */
static void test_again(void)
{
	static const u8 widths[] = { 2, 6 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i], 2);

		rot(1, 0, 1);
		keep(g);
		hold = true;
		begin(g, 1, PROT_NO_SOURCE);
		run(g);
		begin(g, 0, PROT_NO_SOURCE);
		for (n = 0; nr_held && n < 1000; n++)
			let_go(g);
		CU_ASSERT_EQUAL(g->scrubbing, 0);
		CU_ASSERT(same(g));
		CU_ASSERT_EQUAL(g->compared, BYTES);
		CU_ASSERT_EQUAL(g->mismatches, 1);
		free(g);
	}
}

/* Some copies have a write, some do not yet: it is waited for. */
static void test_writes(void)
{
	static const u8 widths[] = { 2, 3, 6 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i], 2);
		struct prot_event last;

		memset(payload, 0x77, sizeof(payload));
		hold = true;
		CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
		for (n = 0; n < 100 && (held[0].io.kind != PROT_WRITE || held[0].io.addr != data);
		     n++)
			let_go(g);
		CU_ASSERT_FATAL(nr_held > 1);
		last = held[--nr_held];
		hold = false;
		let_go(g);
		begin(g, 1, PROT_NO_SOURCE);
		run(g);
		CU_ASSERT_EQUAL(g->scrubbing, 1);
		CU_ASSERT_EQUAL(g->compared, BYTES - (widths[i] == 3 ? STRIP / 2 : STRIP));
		CU_ASSERT_EQUAL(g->mismatches, 0);
		rig_end_io(g, &last);
		run(g);
		CU_ASSERT_EQUAL(g->scrubbing, 0);
		CU_ASSERT_EQUAL(g->compared, BYTES);
		CU_ASSERT_EQUAL(g->mismatches, 0);
		free(g);
	}
}

/* Copies of a region that is not resynchronised may differ. */
static void test_unsynced(void)
{
	u32 width, repair;

	for (width = 2; width <= 3; width++)
		for (repair = 0; repair < 2; repair++) {
			struct prot_group *g = make(width, 0);

			prot_region_put(g, PROT_SET_UNSYNCED, 1);
			g->sync.stalled = 1;	/* it stays so */
			rot(1, 16, 1);
			rot(1, 31, 1);
			keep(g);
			scrub(g, repair, PROT_NO_SOURCE);
			CU_ASSERT(same(g));
			CU_ASSERT_EQUAL(g->mismatches, 0);
			CU_ASSERT_EQUAL(g->skipped, 4 * STRIP);
			CU_ASSERT_EQUAL(g->compared, BYTES - 4 * STRIP);
			free(g);
		}
}

/* ec: with a member out there is no equation left to check. */
static void test_member_out(void)
{
	struct prot_group *g = make(6, 0);

	prot_group_epoch(g, 2, 0x1f);
	run(g);
	rot(1, 5, 1);
	bad[2] = 1 << 5;
	scrub(g, 1, PROT_NO_SOURCE);
	CU_ASSERT_EQUAL(bad[2], 0);
	CU_ASSERT_EQUAL(g->mismatches, 0);
	CU_ASSERT_EQUAL(g->compared, 0);
	CU_ASSERT_EQUAL(g->skipped, BYTES);
	CU_ASSERT_EQUAL(g->repaired, 1);
	free(g);
}

/* The first ones are kept, all are counted. */
static void test_many(void)
{
	static const u8 widths[] = { 2, 6 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		struct prot_group *g = make(widths[i], 0);

		for (n = 0; n < 20; n++)
			rot(1, 1 + 2 * n, 1);
		rot(1, 40, 1);
		scrub(g, 0, PROT_NO_SOURCE);
		CU_ASSERT_EQUAL(g->mismatches, 21);
		CU_ASSERT_EQUAL(g->nr_diffs, 20);	/* 39 and 40 are one */
		for (n = 0; n < PROT_DIFFS; n++)
			CU_ASSERT(named(g, n, 1, 1 + 2 * n, 1));
		free(g);
	}
}

/*
 * Two regions have a sector that no source can read: all others are copied, and those when it
 * can be read.
 */
static void test_rebuild_past(void)
{
	struct prot_group *g = make(2, 0);
	u32 i, region = 4 * STRIP;

	prot_group_epoch(g, 2, 1);
	run(g);
	for (i = 0; i < BYTES / STRIP; i++)
		CU_ASSERT_EQUAL_FATAL(rig_request(g, PROT_WRITE, (u64)i * STRIP, STRIP), 0);
	CU_ASSERT_EQUAL(prot_group_behind(g, 1), BYTES);
	bad[0] = 1ULL << 5 | 1ULL << 40;
	CU_ASSERT_EQUAL_FATAL(prot_group_join(g, 1), 0);
	run(g);
	CU_ASSERT_EQUAL(prot_group_behind(g, 1), 2 * region);
	prot_group_idle(g);
	run(g);
	CU_ASSERT_EQUAL(prot_group_behind(g, 1), 2 * region);
	CU_ASSERT_EQUAL(g->nr_unread, 2);
	for (i = 0; i < 2; i++) {
		CU_ASSERT(g->unread[i].addr == 5 * LBA || g->unread[i].addr == 40 * LBA);
		CU_ASSERT_EQUAL(g->unread[i].length, LBA);
		CU_ASSERT_EQUAL(g->unread[i].member, 1);
	}
	bad[0] = 1ULL << 40;
	prot_group_idle(g);
	run(g);
	CU_ASSERT_EQUAL(prot_group_behind(g, 1), region);
	CU_ASSERT_EQUAL(g->nr_unread, 1);
	CU_ASSERT_EQUAL(g->unread[0].addr, 40 * LBA);
	CU_ASSERT(!(seen >> PROT_EV_CAUGHT_UP & 1));
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 40 * LBA, LBA), 0);
	prot_group_idle(g);
	run(g);
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	CU_ASSERT_EQUAL(g->nr_unread, 0);
	free(g);
}

/* Background work goes as far as it is allowed to, and on with the next allowance. */
static void test_allowance(void)
{
	struct prot_group *g = make(2, 0);
	u32 i;

	prot_group_epoch(g, 2, 1);
	run(g);
	for (i = 0; i < BYTES / STRIP; i++)
		CU_ASSERT_EQUAL_FATAL(rig_request(g, PROT_WRITE, (u64)i * STRIP, STRIP), 0);
	prot_group_allow(g, 0, false);
	CU_ASSERT_EQUAL_FATAL(prot_group_join(g, 1), 0);
	run(g);
	CU_ASSERT_EQUAL(g->synced, 0);
	prot_group_allow(g, 3 * STRIP, false);
	run(g);
	CU_ASSERT_EQUAL(g->synced, 3 * STRIP);
	for (i = 1; i <= 8; i++) {	/* half a chunk at a time: one begins at every other */
		prot_group_allow(g, STRIP / 2, false);
		run(g);
		CU_ASSERT_EQUAL(g->synced, (3 + (i + 1) / 2) * STRIP);
	}
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 0);
	prot_group_allow(g, PROT_NO_LIMIT, false);
	run(g);
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	prot_group_epoch(g, 3, 3);
	prot_group_allow(g, 5 * STRIP, false);
	begin(g, 0, PROT_NO_SOURCE);
	run(g);
	CU_ASSERT_EQUAL(g->scrub_pos, 5 * STRIP);
	CU_ASSERT_EQUAL(g->scrubbing, 1);
	prot_group_allow(g, BYTES, false);
	run(g);
	CU_ASSERT_EQUAL(g->scrubbing, 0);
	free(g);
}

/* What is left of an allowance is not lost, nor is it saved up for long. */
static void test_left(void)
{
	struct prot_group *g = make(2, 4);
	u32 i;

	prot_group_allow(g, 0, false);
	for (i = 0; i < 3; i++)
		prot_group_allow(g, STRIP, false);
	begin(g, 0, PROT_NO_SOURCE);
	run(g);
	CU_ASSERT_EQUAL(g->scrub_pos, 3 * STRIP);
	for (i = 0; i < 5; i++)
		prot_group_allow(g, 0, false);
	run(g);
	CU_ASSERT_EQUAL(g->scrub_pos, 3 * STRIP);
	prot_group_scrub_stop(g);
	for (i = 0; i < 20; i++)
		prot_group_allow(g, STRIP, false);
	begin(g, 0, PROT_NO_SOURCE);
	run(g);
	CU_ASSERT_EQUAL(g->scrub_pos, 5 * STRIP);	/* as many as may be in flight, and the last */
	prot_group_allow(g, 3 * STRIP / 2, false);		/* two begin, one half on credit */
	run(g);
	CU_ASSERT_EQUAL(g->scrub_pos, 7 * STRIP);
	prot_group_allow(g, STRIP, false);
	run(g);
	CU_ASSERT_EQUAL(g->scrub_pos, 8 * STRIP);
	prot_group_scrub_stop(g);
	prot_group_allow(g, STRIP, false);
	prot_group_allow(g, 0, false);				/* stands, whatever was left */
	begin(g, 0, PROT_NO_SOURCE);
	run(g);
	CU_ASSERT_EQUAL(g->scrub_pos, 0);
	free(g);
}

/* No more chunks are in flight than it takes to get through what is allowed. */
static void test_chunks(void)
{
	struct prot_group *g = make(2, 4);
	u32 i, part;

	CU_ASSERT_EQUAL(g->chunks, 4);
	begin(g, 0, PROT_NO_SOURCE);
	for (i = 1; i <= 6; i++) {	/* none of them ends meanwhile */
		prot_group_allow(g, 8 * STRIP, false);
		prot_scrub_start(g);
		CU_ASSERT_EQUAL(g->scrub_out, min(i, 4U));
	}
	for (i = 4; i > 1; i--)		/* none was left, of what four times as many chunks take */
		for (part = 1; part <= 4 * i; part++) {
			CU_ASSERT_EQUAL(g->chunks, i);
			g->allowance = 0;
			prot_group_allow(g, STRIP, false);
		}
	CU_ASSERT_EQUAL(g->chunks, 1);
	g->allowance = 0;
	prot_group_allow(g, BYTES, false);
	CU_ASSERT_EQUAL(g->chunks, 1);
	run(g);
	CU_ASSERT_EQUAL(g->scrubbing, 0);
	prot_group_allow(g, 8 * STRIP, false);
	prot_group_allow(g, 8 * STRIP, false);
	CU_ASSERT_EQUAL(g->chunks, 1);	/* nothing is in flight that could be slow */
	prot_group_allow(g, PROT_NO_LIMIT, false);
	CU_ASSERT_EQUAL(g->chunks, 4);
	free(g);
}

/* Eighths of an allowance that begin with 1 to 4 chunks in flight. */
static const u8 member_slow[] = { 1, 2, 3, 4 }, cpu_full[] = { 4, 5, 5, 5 },
	two_pay[] = { 3, 6, 7, 7 };

/* Of @parts allowances beside requests, those in which @chunks may be in flight. */
static u32 chunks_are(struct prot_group *g, const u8 *begin, u32 parts, u32 chunks)
{
	u32 i, are = 0;

	for (i = 0; i < parts; i++) {
		g->allowance = STRIP;	/* some is always left, and some in flight */
		g->scrub_out = 1;
		prot_group_allow(g, STRIP, true);
		g->pace.used += STRIP / 8 * begin[g->chunks - 1];
		are += g->chunks == chunks;
	}
	return are;
}

/* Beside requests, as many chunks are in flight as bring speed; others are tried now and then. */
static void test_worth(void)
{
	struct prot_group *g = make(2, 4);

	prot_group_allow(g, STRIP, true);
	CU_ASSERT_EQUAL(g->chunks, 1);
	chunks_are(g, member_slow, 400, 0);
	CU_ASSERT(chunks_are(g, member_slow, 50000, 4) >= 48500);
	CU_ASSERT(chunks_are(g, member_slow, 5000, 3) > 0);
	chunks_are(g, cpu_full, 9000, 0);
	CU_ASSERT(chunks_are(g, cpu_full, 50000, 1) >= 48500);
	CU_ASSERT(chunks_are(g, cpu_full, 5000, 2) > 0);
	chunks_are(g, two_pay, 9000, 0);
	CU_ASSERT(chunks_are(g, two_pay, 50000, 2) >= 47500);
	prot_group_allow(g, STRIP, false);	/* alone, one more and one more */
	prot_group_allow(g, STRIP, false);
	CU_ASSERT_EQUAL(g->chunks, 4);
	prot_group_allow(g, STRIP, true);
	CU_ASSERT_EQUAL(g->chunks, 1);
	g->scrub_out = 0;
	free(g);
}

/*
 * Thousandths of what 10,000 allowances of STRIP bytes each allow that begins, beside requests, when
 * a chunk of @parts of these takes @quarters of the time of one, in quarters.
 */
static u32 begun(struct prot_group *g, u32 parts, u32 quarters)
{
	u32 ends[4] = { 0 }, now, i, n = 0;

	g->shape.window = parts * STRIP;
	prot_group_allow(g, PROT_NO_LIMIT, false);
	for (now = 0; now < 40000; now++) {
		if (!(now % 4))
			prot_group_allow(g, STRIP, true);
		for (i = 0; i < g->chunks; i++) {
			if (ends[i] > now || !g->allowance)
				continue;
			prot_pace_used(g, parts * STRIP);
			ends[i] = now + quarters;
			n += parts;
		}
		for (g->scrub_out = 0, i = 0; i < 4; i++)
			g->scrub_out += ends[i] > now;
	}
	g->shape.window = 0;
	return n / 10;
}

/* What is allowed beside requests is reached, as far as all chunks together can. */
static void test_reached(void)
{
	static const u32 parts[] = { 1, 2, 4, 8 };
	struct prot_group *g = make(2, 4);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		u32 p = parts[i];

		CU_ASSERT(begun(g, p, p * 2) >= 950);
		CU_ASSERT(begun(g, p, p * 7) >= 900);	/* two chunks in flight */
		CU_ASSERT(begun(g, p, p * 10) >= 800);	/* three */
		CU_ASSERT(begun(g, p, p * 20) >= 750);	/* 800 are possible */
		CU_ASSERT(begun(g, p, p * 40) >= 350);	/* 400 */
	}
	free(g);
}

/* Beside requests, what a member lacks is copied in halves of a chunk; alone in whole ones. */
static void test_small(void)
{
	static const u8 widths[] = { 2, 6 };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		u64 others = (PROT_BIT(widths[i]) - 1) & ~PROT_BIT(1);
		struct prot_group *g = make(widths[i], 0);

		prot_group_epoch(g, 2, others);
		run(g);
		for (k = 0; k < STRIPES; k++)
			CU_ASSERT_EQUAL_FATAL(rig_request(g, PROT_WRITE, (u64)k * STRIP * g->shape.data,
							  STRIP * g->shape.data), 0);
		memset(at(1, 0), 0xee, BYTES);
		prot_group_allow(g, 1, true);
		CU_ASSERT_EQUAL_FATAL(prot_group_join(g, 1), 0);
		run(g);
		CU_ASSERT_EQUAL(g->synced, STRIP / 2);
		prot_group_allow(g, STRIP / 2, false);
		run(g);
		/* ec: to the end of the strip */
		CU_ASSERT_EQUAL(g->synced, i ? STRIP : STRIP / 2 + STRIP);
		prot_group_allow(g, 2 * BYTES, true);
		run(g);
		CU_ASSERT_EQUAL(g->synced, BYTES);
		CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
		prot_group_epoch(g, 3, others | PROT_BIT(1));
		prot_group_allow(g, PROT_NO_LIMIT, true);
		begin(g, 0, PROT_NO_SOURCE);
		run(g);
		CU_ASSERT_EQUAL(g->compared, BYTES);
		CU_ASSERT_EQUAL(g->mismatches, 0);
		free(g);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "compare", test_compare },
		{ "unexplained rows", test_unexplained },
		{ "repair", test_repair },
		{ "repair from a source", test_source },
		{ "source that does not say", test_source_mute },
		{ "unreadable sectors", test_unreadable },
		{ "repair for a request", test_request },
		{ "stop", test_stop },
		{ "begun again", test_again },
		{ "writes in flight", test_writes },
		{ "regions not resynchronised", test_unsynced },
		{ "member out", test_member_out },
		{ "more than are kept", test_many },
		{ "allowance", test_allowance },
		{ "allowance left", test_left },
		{ "chunks in flight", test_chunks },
		{ "chunks that bring speed", test_worth },
		{ "what is allowed is reached", test_reached },
		{ "small chunks", test_small },
		{ "rebuild past what cannot be read", test_rebuild_past },
		{ NULL, NULL },
	};

	return suite_main("prot_scrub", tests);
}
