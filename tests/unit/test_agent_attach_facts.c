// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel gets beside the layout: forgotten places, extents that leave, and "again". */
#include "tests/unit/attach_rig.h"

static void attached(int h)
{
	WANT(h, PLAN_RW);
	settle();
	CU_ASSERT_FATAL(serves(h));
}

static void detached(int h)
{
	WANT(h, PLAN_NONE);
	settle();
	CU_ASSERT_FATAL(!W.h[h].k.there);
}

/* Drive @i as it is wanted, with extent @x, 0: none. Extents from 9 on are of another volume. */
static void put_drive(u32 i, u8 wanted, u32 x)
{
	struct plan_extent e = { .uuid = rig_id('x', x), .volume = rig_id('v', x < 9 ? 1 : 2),
				 .place = i - 1, .state = PLAN_READY, .start = 4 << 20, .length = 128 << 20, .version = 1, .commit = commits + 1 };
	struct obj_drive d = { .plan = { .uuid = rig_id('d', i), .host = rig_id('h', 9), .wanted = wanted,
					 .extents = !!x, .extent = &e }, .size = 1ULL << 30, .lba = 512,
			       .path = "/dev/x" };

	rig_put(O, KEY_DRIVE, &d);
}

static bool forgotten(int h, u32 places)
{
	u32 is = 0;

	for (u32 i = 0; i < W.h[h].k.forgottens; i++)
		is |= 1 << W.h[h].k.forgotten[i];
	return is == places;
}

static void t_forgotten(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	W.h[0].cut = 2;
	attached(0);
	CU_ASSERT(forgotten(0, 0));
	detached(0);
	put_drive(2, PLAN_DRAINING, 2);
	attached(0);
	CU_ASSERT(forgotten(0, 0));
	detached(0);
	put_drive(2, PLAN_FORGOTTEN, 2);
	attached(0);
	CU_ASSERT(forgotten(0, 2));
	detached(0);
	/* in no drive, in that of none, in the drive of others */
	put_drive(2, PLAN_IN, 0);
	attached(0);
	CU_ASSERT(forgotten(0, 2));
	detached(0);
	put_drive(2, PLAN_IN, 9);
	attached(0);
	CU_ASSERT(forgotten(0, 2));
	detached(0);
	rig_erase(O, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 2) });
	attached(0);
	CU_ASSERT(forgotten(0, 2));
	rig_stop();
}

/* A drive whose key cannot be read may have it. */
static void t_unread(void)
{
	const struct key k = { .kind = KEY_DRIVE, .drive = rig_id('d', 2) };
	char key[STORE_KEY_MAX];
	struct store_op op = { .key = key, .value = "{}", .len = 2 };
	const struct store_txn t = { .op = &op, .ops = 1 };

	rig_start();
	VOLUME(.level = PROT_MIRROR);
	W.h[0].cut = 2;
	OK(key_text(&k, key));
	CU_ASSERT_EQUAL(store_txn(other, &t, NULL), 1);
	attached(0);
	CU_ASSERT(forgotten(0, 0));
	detached(0);
	/* It may have the extent that leaves, where the other one is forgotten. */
	VOLUME(.level = PROT_MIRROR, .evict = true);
	recorded(2, 1);
	put_drive(3, PLAN_FORGOTTEN, 3);
	W.h[0].cut = 6;
	attached(0);
	CU_ASSERT(forgotten(0, 0));
	rig_stop();
}

/* Members without a group are all needed: nothing of them is given up. */
static void t_no_group(void)
{
	rig_start();
	VOLUME(0);
	put_drive(2, PLAN_FORGOTTEN, 2);
	attached(0);
	CU_ASSERT(forgotten(0, 0));
	rig_stop();
}

/* A place with two extents, of which one is there, is not forgotten. */
static void t_forgotten_leaving(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR, .evict = true);
	recorded(2, 1);
	W.h[0].cut = 6;
	put_drive(3, PLAN_FORGOTTEN, 3);
	attached(0);
	CU_ASSERT(forgotten(0, 0));
	detached(0);
	put_drive(3, PLAN_IN, 3);
	put_drive(2, PLAN_FORGOTTEN, 2);
	attached(0);
	CU_ASSERT(forgotten(0, 0));
	detached(0);
	put_drive(3, PLAN_FORGOTTEN, 3);
	attached(0);
	CU_ASSERT(forgotten(0, 2));
	rig_stop();
}

/* What the store has of the volume beside the layout is opened at an attach, at its place. */
static void t_beside(void)
{
	const struct kernel *k = &W.h[0].k;

	rig_start();
	VOLUME(.level = PROT_MIRROR, .evict = true);
	recorded(2, 1);
	put_drive(1, PLAN_IN, 1);
	put_drive(4, PLAN_IN, 4);
	attached(0);
	/* extent 4 has a place that the layout does not have */
	CU_ASSERT_EQUAL(k->leavings, 1);
	detached(0);
	recorded(3, 0);
	VOLUME(.level = PROT_MIRROR);
	put_drive(2, PLAN_IN, 2);
	{
		struct plan_extent e[] = {
			{ .uuid = rig_id('x', 4), .volume = vid(), .place = 0, .state = PLAN_READY, .start = 4 << 20,
			  .length = 64 << 20, .version = 1, .commit = 101 },
			{ .uuid = rig_id('x', 5), .volume = vid(), .place = 0, .state = PLAN_READY, .start = 200 << 20,
			  .length = 64 << 20, .version = 1, .commit = 101 },
			{ .uuid = rig_id('x', 6), .volume = rig_id('v', 2), .place = 1, .state = PLAN_READY,
			  .start = 400 << 20, .length = 64 << 20, .version = 1, .commit = 101 },
		};
		struct obj_drive d = { .plan = { .uuid = rig_id('d', 4), .host = rig_id('h', 9), .wanted = PLAN_IN,
						 .extents = 3, .extent = e }, .size = 1ULL << 30, .lba = 512,
				       .path = "/dev/x" };

		rig_put(O, KEY_DRIVE, &d);
	}
	recorded(2, 0);
	attached(0);
	/* one for a place */
	CU_ASSERT_EQUAL_FATAL(k->leavings, 1);
	CU_ASSERT(k->leaving[0].place == 0 && k->leaving[0].extent.b[1] == 4);
	CU_ASSERT(k->left[0].extent.b[1] == 4 && k->left[0].drive.b[1] == 4 && k->left[0].size == 64 << 20);
	CU_ASSERT_EQUAL(k->left[0].target.b[1], 9);
	/* It is the record's: the store has it no more, and the kernel is not given another one. */
	rig_erase(O, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 4) });
	CU_ASSERT_STRING_EQUAL(settle(), "");
	rig_stop();
}

/* A host that missed the version serves by the extent that leaves: its writes are not to be lost. */
static void t_leaving_open(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR, .evict = true);
	recorded(2, 1);
	put_drive(2, PLAN_IN, 2);
	W.t[1].writer = W.t[1].attacher = 3;
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT(word(W.log, "probe1 ") && !word(W.log, "txn1 "));
	W.t[1].writer = 0;
	W.now += 10000;
	settle();
	CU_ASSERT(serves(0));
	detached(0);
	/* it is no place of the layout: without both members of that it waits */
	W.h[0].cut = 1 << 0 | 1 << 2;
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	rig_stop();
}

/* By the record: "again", and the same facts. Once the store is back, not "again". */
static void t_again(void)
{
	const struct kernel *k = &W.h[0].k;

	rig_start();
	VOLUME(.level = PROT_MIRROR, .evict = true);
	recorded(2, 1);
	attached(0);
	CU_ASSERT_FALSE(k->again);
	host_restart(0, true);
	W.h[0].away = true;
	settle();
	CU_ASSERT(serves(0) && k->again);
	CU_ASSERT_FATAL(k->leavings == 1);
	CU_ASSERT(k->leaving[0].extent.b[1] == 2 && k->left[0].extent.b[1] == 2 && k->left[0].target.b[1] == 9);
	W.h[0].away = false;
	CU_ASSERT(word(settle(), "set1 "));
	CU_ASSERT_FALSE(k->again);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	rig_stop();
}

/* Forgotten places are those of the record, which without the store nothing else says. */
static void t_again_forgotten(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	W.h[0].cut = 2;
	put_drive(2, PLAN_FORGOTTEN, 2);
	attached(0);
	CU_ASSERT(forgotten(0, 2));
	host_restart(0, true);
	W.h[0].away = true;
	settle();
	CU_ASSERT(serves(0) && W.h[0].k.again && forgotten(0, 2));
	rig_stop();
}

/* A member that comes later is opened "again", too; also where the operation takes two turns. */
static void t_again_more(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	host_restart(0, true);
	W.h[0].away = true;
	W.h[0].cut = 2;
	W.slow = true;
	settle();
	CU_ASSERT(serves(0) && W.h[0].k.again && !W.h[0].k.may[1]);
	W.h[0].cut = 0;
	W.h[0].k.again = false;
	settle();
	CU_ASSERT(W.h[0].k.may[1] && W.h[0].k.again);
	rig_stop();
}

static const struct rig_test tests[] = {
	{ "forgotten places", t_forgotten },
	{ "a drive that cannot be read", t_unread },
	{ "members without a group", t_no_group },
	{ "forgotten, and leaving", t_forgotten_leaving },
	{ "extents beside the layout", t_beside },
	{ "one that leaves is open elsewhere", t_leaving_open },
	{ "again", t_again },
	{ "again, without what was forgotten", t_again_forgotten },
	{ "again, with more members", t_again_more },
};

int main(void)
{
	return rig_main("facts for the kernel", tests, sizeof(tests) / sizeof(tests[0]));
}
