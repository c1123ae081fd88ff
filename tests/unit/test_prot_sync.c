// SPDX-License-Identifier: GPL-2.0-only
/*
 * Background work with several chunks in flight, whose I/O ends one by one in any order: it goes
 * past regions that no member can give, and comes to rest.
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
#define REGIONS	16
#define MOST	20000U		/* I/Os of work that ends */

static u64 data;
static u32 region;		/* bytes */
static u8 bad[REGIONS];		/* a sector of it on member 0 cannot be read */
static u32 seed;

static void nothing(const struct prot_event *ev)
{
	(void)ev;
}

static u64 sector_of(u32 i)
{
	return data + (u64)i * region + 3 * LBA;
}

static int refuses(const struct prot_event *ev)
{
	u32 i;

	for (i = 0; i < REGIONS; i++)
		if (bad[i] && !ev->io.member && ev->io.kind == PROT_READ &&
		    ev->io.addr <= sector_of(i) && sector_of(i) < ev->io.addr + ev->io.length)
			return -ENODATA;
	return 0;
}

/* Copies, or for three members with @ec 2+1. @chunks: of a region. */
static struct prot_group *make(u8 width, bool ec, u8 depth, u8 chunks)
{
	struct prot_group_config c = { .bytes = REGIONS * chunks * STRIP, .epoch = 1,
				       .region = chunks * STRIP, .lba = LBA,
				       .buf_bytes = STRIP, .ops = 64, .bufs = 48, .depth = depth,
				       .level = PROT_MIRROR, .width = width, .fresh = 1 };

	if (ec)
		rig_ec(&c, 2, 1);
	c.in_sync = PROT_BIT(width) - 1;
	region = c.region;
	data = rig_members(&c);
	memset(disk, 0, sizeof(disk[0]) * width);
	memset(bad, 0, sizeof(bad));
	rig_refuses = refuses;
	saw = nothing;
	seed = depth;
	return rig_start(&c);
}

/* Written while members are out: they lack these regions. */
static void miss(struct prot_group *g, u32 first, u32 end)
{
	u32 unit = g->cfg.k ? g->cfg.k * STRIP : STRIP, i;

	for (i = first * (region / STRIP); i < end * (region / STRIP); i++)
		CU_ASSERT_EQUAL_FATAL(rig_request(g, PROT_WRITE, (u64)i * unit, unit), 0);
}

static u32 lacks(const struct prot_group *g, u8 member)
{
	return prot_group_behind(g, member) / region;
}

static u32 any(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* Whether it comes to rest. */
static bool rests(struct prot_group *g)
{
	u32 n;

	for (n = 0; nr_held && n < MOST; n++)
		rig_end_held(g, any(nr_held));
	return !nr_held;
}

static void past(u8 width, bool ec, u8 depth, u32 lost)
{
	struct prot_group *g = make(width, ec, depth, 4);
	u32 i;

	prot_group_epoch(g, 2, (PROT_BIT(width) - 1) & ~2ULL);
	run(g);
	miss(g, 0, REGIONS);
	for (i = 0; i < lost; i++)
		bad[2 + 3 * i] = 1;
	hold = true;
	CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
	run(g);
	CU_ASSERT(rests(g));
	CU_ASSERT_EQUAL(lacks(g, 1), lost);
	CU_ASSERT_EQUAL(g->nr_unread, lost);
	memset(bad, 0, sizeof(bad));
	prot_group_idle(g);
	run(g);
	CU_ASSERT(rests(g));
	CU_ASSERT(seen >> PROT_EV_CAUGHT_UP & 1);
	free(g);
}

/* However many are lost, all others are copied, and then it waits. */
static void test_past(void)
{
	u32 lost;
	u8 depth;

	for (lost = 1; lost <= 4; lost++) {
		for (depth = 1; depth <= 8; depth *= 2) {
			past(2, false, depth, lost);
			past(3, true, depth, lost);
		}
	}
}

/*
 * Requests come while two lost regions are in hand, so that fewer chunks may be in flight and no
 * other is begun before both are given up: none that can be copied waits for the next idle time.
 */
static void test_beside(void)
{
	u32 i, n;

	for (i = 0; i < 1000; i++) {
		struct prot_group *g = make(2, false, 4, 1);

		prot_group_epoch(g, 2, 1);
		run(g);
		miss(g, 0, REGIONS);
		bad[2] = bad[3] = 1;
		seed = i;
		hold = true;
		CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
		run(g);
		for (n = 0; nr_held && n < MOST; n++) {
			if (!any(10))
				prot_group_allow(g, 1 << 20, true);
			rig_end_held(g, any(nr_held));
		}
		CU_ASSERT_EQUAL(lacks(g, 1), 2);
		free(g);
	}
}

/* The region that is waited for is one that the member which leaves alone lacked. */
static void test_leaves(void)
{
	u8 depth;
	u32 n;

	for (depth = 1; depth <= 2; depth++) {
		struct prot_group *g = make(3, false, depth, 4);

		prot_group_epoch(g, 2, 5);
		run(g);
		miss(g, 1, 2);
		for (n = 0; n < 4; n++) {	/* else who leaves now may lack that one, too */
			prot_group_idle(g);
			run(g);
		}
		prot_group_epoch(g, 3, 1);
		run(g);
		miss(g, 10, 11);
		miss(g, 12, 13);
		bad[1] = bad[10] = bad[12] = 1;
		hold = true;
		CU_ASSERT_EQUAL(prot_group_join(g, 1), 0);
		CU_ASSERT_EQUAL(prot_group_join(g, 2), 0);
		run(g);
		for (n = 0; nr_held && n < MOST && g->sync.unread != 1; n++)
			rig_end_held(g, any(nr_held));
		CU_ASSERT_EQUAL(g->sync.unread, 1);
		prot_group_leave(g, 1);
		run(g);
		CU_ASSERT(rests(g));
		CU_ASSERT(g->sync.stalled);
		free(g);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "past regions that are lost", test_past },
		{ "two lost ones beside requests", test_beside },
		{ "a joining member leaves", test_leaves },
		{ NULL, NULL },
	};

	return suite_main("prot_sync", tests);
}
