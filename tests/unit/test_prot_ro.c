// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group that is attached for reading: nothing is ever written, whatever fails; all that can be
 * read from some members is; and who may attach like that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "prot_rig.h"
#include "protect/engine/group_priv.h"
#include "protect/roster/membership.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define STRIPES	16
#define BYTES	(STRIPES * STRIP)

static u32 writes;
static u64 deaf;		/* members that read nothing */

static void count(const struct prot_event *ev)
{
	writes += ev->io.kind != PROT_READ;
}

/* As the caller delivers it, whatever it was. */
static int refuses(const struct prot_event *ev)
{
	return ev->io.kind == PROT_READ && deaf >> ev->io.member & 1 ? -EILSEQ : 0;
}

/* Filled, then attached again for reading: two copies, or ec:4+2 for six members. */
static struct prot_group *make(u8 width, u64 in_sync)
{
	struct prot_group_config c = { .bytes = BYTES, .epoch = 1, .region = 4 * STRIP, .lba = LBA,
				       .buf_bytes = STRIP, .ops = 32, .bufs = 24, .depth = 2,
				       .level = PROT_MIRROR, .width = width, .fresh = 1 };
	struct prot_group *g;
	u32 i, unit = STRIP;

	if (width == 6) {
		rig_ec(&c, 4, 2);
		unit *= 4;
	}
	c.in_sync = PROT_BIT(width) - 1;
	rig_members(&c);
	memset(disk, 0, sizeof(disk[0]) * width);
	rig_refuses = refuses;
	saw = count;
	deaf = 0;
	g = rig_start(&c);
	for (i = 0; i < STRIPES; i++) {
		memset(payload, i + 1, unit);
		CU_ASSERT_EQUAL_FATAL(rig_request(g, PROT_WRITE, (u64)i * unit, unit), 0);
	}
	free(g);
	c.fresh = 0;
	c.ro = 1;
	c.in_sync = in_sync;
	g = rig_start(&c);
	CU_ASSERT(seen >> PROT_EV_SERVING & 1);
	writes = 0;
	return g;
}

/* All of it is read, right; a stripe at a time, and its last sector alone. */
static void reads(struct prot_group *g, s32 want)
{
	u32 unit = g->cfg.level == PROT_EC ? 4 * STRIP : STRIP, i;

	for (i = 0; i < STRIPES; i++) {
		memset(payload, 0, unit);
		CU_ASSERT_EQUAL(rig_request(g, PROT_READ, (u64)i * unit, unit), want);
		CU_ASSERT(want || (payload[0] == i + 1 && payload[unit - 1] == i + 1));
		payload[0] = 0;
		if (want && g->cfg.level == PROT_EC)
			continue;	/* its strip may be one that can be read */
		CU_ASSERT_EQUAL(rig_request(g, PROT_READ, (u64)(i + 1) * unit - LBA, LBA), want);
		CU_ASSERT(want || payload[0] == i + 1);
	}
}

/* Nothing was written, nothing is wanted, and nothing is in hand. */
static void untouched(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		prot_group_idle(g);
		run(g);
	}
	CU_ASSERT_EQUAL(writes, 0);
	CU_ASSERT_EQUAL(g->failed, 0);
	CU_ASSERT_EQUAL(seen >> PROT_EV_EPOCH & 1, 0);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_WRITE, 0, 0, LBA, 0), -EROFS);
	CU_ASSERT_EQUAL(prot_group_submit(g, PROT_ZEROES, 0, 0, LBA, 0), -EROFS);
	CU_ASSERT(prot_group_quiet(g));
	free(g);
}

static void test_mirror(void)
{
	struct prot_group *g = make(2, 3);

	reads(g, 0);
	deaf = 1;
	reads(g, 0);
	deaf = 2;
	reads(g, 0);
	prot_group_avoid(g, 2);
	reads(g, 0);
	prot_group_avoid(g, 0);
	deaf = 3;
	reads(g, -EIO);
	deaf = 0;
	reads(g, 0);
	untouched(g);
	g = make(2, 2);
	disk[0][g->cfg.data[0]] ^= 1;		/* a copy that lacks writes is not read */
	reads(g, 0);
	untouched(g);
}

static void test_ec(void)
{
	struct prot_group *g = make(6, 0x3f);

	reads(g, 0);
	deaf = 0x21;
	reads(g, 0);
	prot_group_avoid(g, 0x21);
	reads(g, 0);
	prot_group_avoid(g, 0);
	deaf = 0x7;
	reads(g, -EIO);
	deaf = 0;
	reads(g, 0);
	untouched(g);
	g = make(6, 0x3c);
	disk[0][g->cfg.data[0]] ^= 1;
	reads(g, 0);
	untouched(g);
}

/* What is opened of a roster of @width members that are all in sync. */
static int attach(u8 k, u8 width, u32 flags, u64 opened, bool stale)
{
	struct prot_roster found = { .attach = 7, .epoch = 9, .in_sync = (1ULL << width) - 1,
				     .flags = flags, .geo = { .k = k, .width = width } };
	u8 uuid[8][PROT_UUID_LEN] = { 0 };
	struct prot_attach a = { .found = &found, .opened = uuid, .stale = stale };
	struct prot_membership m;
	int err, i;

	for (i = 0; i < width; i++) {
		found.uuid[i][0] = i + 1;
		if (opened >> i & 1)
			uuid[a.n++][0] = i + 1;
	}
	err = prot_membership_read(&m, &a);
	if (err)
		return err;
	CU_ASSERT(m.serving && !m.pending);
	CU_ASSERT_EQUAL(prot_roster_cmp(&m.cur, &found), 0);
	CU_ASSERT_EQUAL(prot_membership_readers(&m), found.in_sync);
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 0);
	return 0;
}

static void test_attach(void)
{
	u32 flags, opened, stale;

	for (flags = 0; flags <= PROT_ROSTER_FLAGS; flags++)
		for (opened = 0; opened < 64; opened++)
			for (stale = 0; stale < 2; stale++) {
				bool few = hweight64(opened & 3) < 1;
				bool many = hweight64(~opened & 3) >= 1;
				int dirty = flags & PROT_ROSTER_CLEAN ? 0 : -EUCLEAN;

				CU_ASSERT_EQUAL(attach(1, 2, flags, opened & 3, stale),
						few ? -ENODATA : many && !stale ? -ESTALE : dirty);
				few = hweight64(opened) < 4;
				many = 6 - hweight64(opened) >= 4;
				CU_ASSERT_EQUAL(attach(4, 6, flags, opened, stale),
						few ? -ENODATA : many && !stale ? -ESTALE : dirty);
			}
}

/* How many members must be here for reads of what is attached like that. */
static u32 needed(u8 k, u8 width, u32 flags, bool stale)
{
	struct prot_roster found = { .attach = 7, .epoch = 9, .in_sync = (1ULL << width) - 1,
				     .flags = flags, .geo = { .k = k, .width = width } };
	u8 uuid[8][PROT_UUID_LEN] = { 0 };
	struct prot_attach a = { .found = &found, .opened = uuid, .n = width, .stale = stale };
	struct prot_membership m;
	u32 i;

	for (i = 0; i < width; i++)
		found.uuid[i][0] = uuid[i][0] = i + 1;
	CU_ASSERT_EQUAL(prot_membership_begin(&m, &a), 0);
	CU_ASSERT_EQUAL(m.held, k);
	CU_ASSERT_EQUAL(prot_membership_read(&m, &a), 0);
	return m.held;
}

static void test_held(void)
{
	u32 witness = PROT_ROSTER_CLEAN | PROT_ROSTER_WITNESS;

	CU_ASSERT_EQUAL(needed(1, 2, PROT_ROSTER_CLEAN, false), 1);
	CU_ASSERT_EQUAL(needed(1, 2, witness, false), 2);
	CU_ASSERT_EQUAL(needed(1, 2, witness, true), 1);
	CU_ASSERT_EQUAL(needed(2, 4, witness, false), 3);
	CU_ASSERT_EQUAL(needed(4, 6, PROT_ROSTER_CLEAN, false), 4);
	CU_ASSERT_EQUAL(needed(4, 6, witness, false), 4);
}

/* A writer that has not opened them all waits, but for one that has served all the time. */
static void test_wait(void)
{
	struct prot_roster found = { .attach = 7, .in_sync = 7, .geo = { .k = 2, .width = 3 } };
	u8 uuid[3][PROT_UUID_LEN] = { 0 };
	struct prot_attach a = { .found = &found, .opened = uuid };
	u32 i;

	for (i = 0; i < 3; i++)
		found.uuid[i][0] = uuid[i][0] = i + 1;
	a.n = 3;
	CU_ASSERT(!prot_membership_must_wait(&a));
	a.n = 2;
	CU_ASSERT(prot_membership_must_wait(&a));
	found.in_sync = 3;	/* who took the third one out may not have waited */
	CU_ASSERT(prot_membership_must_wait(&a));
	a.served = 6;
	CU_ASSERT(prot_membership_must_wait(&a));
	a.served = 7;
	CU_ASSERT(!prot_membership_must_wait(&a));
	found.flags = PROT_ROSTER_CLEAN;	/* others may read by it */
	CU_ASSERT(prot_membership_must_wait(&a));
}

static const struct suite_test tests[] = {
	{ "mirror", test_mirror },
	{ "erasure coding", test_ec },
	{ "who may attach", test_attach },
	{ "how many are held", test_held },
	{ "who waits", test_wait },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("attached for reading", tests);
}
