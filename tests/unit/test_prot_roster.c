// SPDX-License-Identifier: GPL-2.0-only
/* Rosters on members, the one that counts, the hosts that may attach and what may follow a roster. */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include <asm/byteorder.h>

#include "protect/roster/membership.h"
#include "suite.h"

static const struct prot_owner owner = { .volume = { 1, 2, 3 }, .salt = 77, .group = 5 };
static const u8 self[PROT_UUID_LEN] = { 0x10 }, other[PROT_UUID_LEN] = { 0x20 };

/* Member i is extent i + 1. */
static struct prot_roster roster(u64 attach, u64 epoch, u64 in_sync, u8 k, u8 width)
{
	struct prot_roster r = {
		.attach = attach, .epoch = epoch, .in_sync = in_sync,
		.geo = { .bytes = 1ULL << 40, .region = 1 << 20, .strip = 65536, .slot_bytes = 65536,
			 .slot_head = 4096, .lba = 512, .rings = 4, .slots = 8,
			 .level = PROT_EC, .k = k, .width = width },
	};

	memcpy(r.host, self, sizeof(self));
	for (u32 i = 0; i < width; i++) {
		r.uuid[i][0] = i + 1;
		r.left[i] = in_sync >> i & 1 ? 0 : 100 + i;
	}
	return r;
}

static void test_record(void)
{
	struct prot_roster r = roster(7, 9, 0x2f, 4, 6), back;
	u8 block[PROT_ROSTER_BLOCK];
	struct prot_owner o = owner;

	r.flags = PROT_ROSTER_WITNESS;
	prot_roster_seal(block, &r, &owner, 3);
	CU_ASSERT_EQUAL_FATAL(prot_roster_parse(block, &back, &owner, 3), 0);
	CU_ASSERT_EQUAL(memcmp(&r, &back, sizeof(r)), 0);
	CU_ASSERT_EQUAL(prot_roster_parse(block, &back, &owner, 2), -EBADMSG);
	o.group++;
	CU_ASSERT_EQUAL(prot_roster_parse(block, &back, &o, 3), -EBADMSG);
	o = owner;
	o.salt++;
	CU_ASSERT_EQUAL(prot_roster_parse(block, &back, &o, 3), -EBADMSG);
	o = owner;
	o.volume[15]++;
	CU_ASSERT_EQUAL(prot_roster_parse(block, &back, &o, 3), -EBADMSG);
}

/* Every bit of a record counts: none may flip unseen. */
static void test_flips(void)
{
	struct prot_roster r = roster(7, 9, 0x2f, 4, 6);
	u8 block[PROT_ROSTER_BLOCK];

	prot_roster_seal(block, &r, &owner, 3);
	for (u32 i = 0; i < sizeof(struct prot_roster_rec) * 8; i++) {
		block[i / 8] ^= 1 << (i & 7);
		CU_ASSERT_EQUAL_FATAL(prot_roster_parse(block, &r, &owner, 3), -EBADMSG);
		block[i / 8] ^= 1 << (i & 7);
	}
}

/* Sealed, but by something that is not us, or by a bug: the numbers cannot be used. */
static void test_insane(void)
{
	static const struct { u64 attach, epoch, in_sync; u32 flags; u8 k, width; } bad[] = {
		{ 0, 1, 3, 0, 1, 2 }, { 1, 0, 3, 0, 1, 2 }, { 1, 1, 0, 0, 1, 2 },
		{ 1, 1, 7, 0, 1, 2 }, { 1, 1, 3, 8, 1, 2 }, { 1, 1, 3, 0, 0, 2 },
		{ 1, 1, 3, 0, 3, 2 }, { 1, 1, 1, 0, 2, 3 },
		{ 1, 1, 3, PROT_ROSTER_WITNESS | PROT_ROSTER_AUTONOMOUS, 1, 2 },
	};
	u8 block[PROT_ROSTER_BLOCK];
	struct prot_roster r;

	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		r = roster(bad[i].attach, bad[i].epoch, bad[i].in_sync, bad[i].k, bad[i].width);
		r.flags = bad[i].flags;
		prot_roster_seal(block, &r, &owner, 0);
		CU_ASSERT_EQUAL(prot_roster_parse(block, &r, &owner, 0), -EBADMSG);
	}
	r = roster(1, 1, 3, 1, 2);
	prot_roster_seal(block, &r, &owner, 2);		/* of a member that it does not have */
	CU_ASSERT_EQUAL(prot_roster_parse(block, &r, &owner, 2), -EBADMSG);
}

static void test_pick(void)
{
	struct prot_roster old = roster(7, 50, 3, 1, 2), new = roster(8, 9, 1, 1, 2), r;
	u8 blocks[2 * PROT_ROSTER_BLOCK] = { 0 };

	CU_ASSERT_EQUAL(prot_roster_pick(blocks, &r, &owner, 0), -EBADMSG);
	prot_roster_seal(blocks, &old, &owner, 0);
	CU_ASSERT_EQUAL(prot_roster_pick(blocks, &r, &owner, 0), 0);
	CU_ASSERT_EQUAL(r.attach, 7);
	/* The attachment counts before the epoch. */
	prot_roster_seal(blocks + PROT_ROSTER_BLOCK, &new, &owner, 0);
	CU_ASSERT_EQUAL(prot_roster_pick(blocks, &r, &owner, 0), 1);
	CU_ASSERT_EQUAL(r.attach, 8);
	blocks[PROT_ROSTER_BLOCK + 600] ^= 1;		/* torn */
	CU_ASSERT_EQUAL(prot_roster_pick(blocks, &r, &owner, 0), 0);
	memset(blocks, 0, PROT_ROSTER_BLOCK);
	blocks[PROT_ROSTER_BLOCK + 600] ^= 1;
	CU_ASSERT_EQUAL(prot_roster_pick(blocks, &r, &owner, 0), 1);
	CU_ASSERT(prot_roster_cmp(&new, &old) > 0);
	CU_ASSERT(prot_roster_cmp(&old, &new) < 0);
	new = old;
	new.epoch++;
	CU_ASSERT(prot_roster_cmp(&new, &old) > 0);
	CU_ASSERT_EQUAL(prot_roster_cmp(&old, &old), 0);
}

static int attach(struct prot_membership *m, const struct prot_roster *found,
		  const struct prot_roster *store, u64 opened, bool witness, bool stale)
{
	u8 uuid[PROT_WIDTH_MAX][PROT_UUID_LEN] = { { 0 } };
	struct prot_attach a = {
		.found = found, .store = store, .highest = 20, .opened = uuid,
		.witness = witness, .stale = stale,
	};

	memcpy(a.host, self, sizeof(self));
	for (u32 i = 0; i < found->geo.width; i++)
		if (opened >> i & 1)
			uuid[a.n++][0] = i + 1;
	return prot_membership_begin(m, &a);
}

static void test_attach(void)
{
	struct prot_roster found = roster(7, 9, 3, 1, 2), store = roster(7, 10, 2, 1, 2);
	struct prot_membership m;

	found.flags = PROT_ROSTER_WITNESS;
	store.flags = PROT_ROSTER_WITNESS;
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 3, false, false), 0);
	CU_ASSERT_EQUAL(m.pend.attach, 21);
	CU_ASSERT_EQUAL(m.pend.epoch, 10);
	CU_ASSERT_EQUAL(m.pend.flags, 0);
	CU_ASSERT_EQUAL(prot_membership_readers(&m), 0);	/* nothing is served yet */
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 0, true, true), -ENODATA);
	/* Half of a mirror: only a store that saw each removal can say that it is all. */
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 1, true, false), -ESTALE);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 1, true, true), 0);
	CU_ASSERT_EQUAL(m.pend.in_sync, 1);
	CU_ASSERT_EQUAL(m.pend.left[1], 10);
	CU_ASSERT_EQUAL(attach(&m, &found, &found, 1, true, false), 0);
	CU_ASSERT_EQUAL(attach(&m, &found, &found, 1, false, false), -ESTALE);
	/* What it saw is what counts. */
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 1, true, false), -ENODATA);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, true, false), 0);
	CU_ASSERT_EQUAL(m.pend.epoch, 11);
	/* Older, another host's, or of a time when it was not to be noted: no witness. */
	store.epoch = 8;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, true, false), -ESTALE);
	store.epoch = 10;
	store.attach = 6;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, true, false), -ESTALE);
	store.attach = 7;
	memcpy(found.host, other, sizeof(other));
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, true, false), -ESTALE);
	memcpy(found.host, self, sizeof(self));
	found.flags = 0;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, true, false), -ESTALE);
	found.flags = PROT_ROSTER_AUTONOMOUS;
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 3, true, false), 0);
	CU_ASSERT_EQUAL(m.pend.flags, PROT_ROSTER_AUTONOMOUS);
}

/* What is given up must not be what the store speaks for at the next attach. */
static void test_attach_stale(void)
{
	struct prot_roster found = roster(7, 9, 3, 1, 2), store = roster(7, 10, 2, 1, 2);
	struct prot_membership m;

	found.flags = PROT_ROSTER_WITNESS;
	store.flags = PROT_ROSTER_WITNESS;
	CU_ASSERT_EQUAL(attach(&m, &found, &found, 1, false, true), -EAGAIN);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 1, false, true), -EAGAIN);
	CU_ASSERT_EQUAL(attach(&m, &found, &found, 3, false, true), 0);	/* nothing is */
	CU_ASSERT_EQUAL(attach(&m, &found, &found, 1, true, true), 0);
	CU_ASSERT(prot_membership_must_note(&m));
	/* The copy that the store knows to be behind, at the administrator's word. */
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 1, true, false), -ENODATA);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 1, true, true), 0);
	CU_ASSERT_EQUAL(m.pend.in_sync, 1);
	CU_ASSERT_EQUAL(m.pend.epoch, 10);
	CU_ASSERT(prot_membership_must_note(&m));
	/* Also where this roster names no witness: an older one on another member may. */
	found.flags = 0;
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 1, false, true), -EAGAIN);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 1, true, true), 0);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 0, true, true), -ENODATA);
}

/* Fewer than k away: no other host can have had enough. */
static void test_attach_ec(void)
{
	struct prot_roster found = roster(7, 9, 0x3f, 4, 6);
	struct prot_membership m;

	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 0x0f, true, false), 0);
	CU_ASSERT_EQUAL(m.pend.in_sync, 0x0f);
	CU_ASSERT_EQUAL(m.pend.left[5], 10);
	/* k > m: a host alone with k members is the only one that can be. */
	CU_ASSERT_EQUAL(m.pend.flags, 0);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 0x07, true, true), -ENODATA);
}

static void serving(struct prot_membership *m, u64 in_sync, u8 width)
{
	struct prot_roster found = roster(7, 9, in_sync, 1, width);

	CU_ASSERT_EQUAL_FATAL(attach(m, &found, NULL, in_sync, true, false), 0);
	CU_ASSERT(prot_membership_must_note(m));
	CU_ASSERT_EQUAL(prot_membership_unwritten(m), in_sync);
	CU_ASSERT_EQUAL(prot_membership_remove(m, 1), -EBUSY);
	CU_ASSERT(prot_membership_written(m, in_sync));
	CU_ASSERT_EQUAL(prot_membership_readers(m), in_sync);
}

/* Another extent in the place of a member in sync, which has a copy of it. */
static void test_swap(void)
{
	static const u8 spare[PROT_UUID_LEN] = { 99 };
	struct prot_membership m;

	serving(&m, 3, 3);
	CU_ASSERT_EQUAL(prot_membership_swap(&m, 2, spare), -EBUSY);	/* not in sync */
	CU_ASSERT_EQUAL(prot_membership_swap(&m, 1, spare), 0);
	CU_ASSERT(prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(prot_membership_swap(&m, 0, spare), -EBUSY);	/* one thing at a time */
	/* Neither of the two is read, and the member in the other place stays. */
	CU_ASSERT_EQUAL(prot_membership_readers(&m), 1);
	CU_ASSERT_EQUAL(prot_membership_writers(&m), 3);
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 1), -EBUSY);
	CU_ASSERT(!prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 2);
	CU_ASSERT(prot_membership_written(&m, 2));
	CU_ASSERT_EQUAL(m.cur.uuid[1][0], 99);
	CU_ASSERT_EQUAL(prot_membership_readers(&m), 3);
	/* The new one fails before it is committed: the place is lost. */
	CU_ASSERT_EQUAL(prot_membership_swap(&m, 1, self), 0);
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 2), 0);
	CU_ASSERT(prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(m.cur.in_sync, 1);
	CU_ASSERT_EQUAL(prot_membership_swap(&m, 0, spare), -EBUSY);	/* the last one */
}

static void test_changes(void)
{
	static const u8 spare[PROT_UUID_LEN] = { 99 };
	struct prot_membership m;

	serving(&m, 3, 3);
	CU_ASSERT_EQUAL(prot_membership_replace(&m, 1, spare), -EBUSY);	/* in sync */
	CU_ASSERT_EQUAL(prot_membership_replace(&m, 2, spare), 0);
	CU_ASSERT(!prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(prot_membership_add(&m, 2), -EBUSY);	/* one thing at a time */
	CU_ASSERT_EQUAL(prot_membership_clean(&m), -EBUSY);
	CU_ASSERT_EQUAL(prot_membership_witness(&m, false), -EBUSY);
	CU_ASSERT(!prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 2);
	CU_ASSERT(prot_membership_written(&m, 2));
	CU_ASSERT_EQUAL(prot_membership_add(&m, 2), 0);
	CU_ASSERT(!prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(prot_membership_readers(&m), 3);
	CU_ASSERT_EQUAL(prot_membership_writers(&m), 7);
	/* A removal in the middle of it: the member is not added, but written to still. */
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 3), -EBUSY);
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 1), 0);
	CU_ASSERT(prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(m.pend.in_sync, 2);
	CU_ASSERT_EQUAL(prot_membership_readers(&m), 2);
	CU_ASSERT_EQUAL(prot_membership_writers(&m), 7);
	CU_ASSERT(prot_membership_written(&m, 2));
	CU_ASSERT_EQUAL(prot_membership_writers(&m), 2);
	/* meshd is away: the next removal is committed without it. */
	CU_ASSERT_EQUAL(prot_membership_witness(&m, false), 0);
	CU_ASSERT(prot_membership_written(&m, 2));
	CU_ASSERT_EQUAL(prot_membership_add(&m, 0), 0);
	CU_ASSERT(prot_membership_written(&m, 3));
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 2), 0);
	CU_ASSERT(!prot_membership_must_note(&m));
	CU_ASSERT(prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(prot_membership_witness(&m, true), 0);
	CU_ASSERT(prot_membership_must_note(&m));
	CU_ASSERT(prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(prot_membership_clean(&m), 0);
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 1), -EBUSY);
	CU_ASSERT(prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(m.cur.flags, PROT_ROSTER_WITNESS | PROT_ROSTER_CLEAN);
	/* What comes after it does not say that. */
	CU_ASSERT_EQUAL(prot_membership_add(&m, 1), 0);
	CU_ASSERT_EQUAL(m.pend.flags, PROT_ROSTER_WITNESS);
	CU_ASSERT(prot_membership_written(&m, 3));
	CU_ASSERT_EQUAL(prot_membership_clean(&m), 0);
	CU_ASSERT(prot_membership_written(&m, 3));
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 2), 0);
	CU_ASSERT_EQUAL(m.pend.flags, PROT_ROSTER_WITNESS);
}

/* Bitmap blocks of a member that is out count for the epoch of the roster that is committed. */
static void test_two_leave(void)
{
	struct prot_membership m;

	serving(&m, 7, 3);
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 1), 0);
	CU_ASSERT_EQUAL(m.pend.left[0], m.pend.epoch);
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 2), 0);
	CU_ASSERT_EQUAL(m.pend.epoch, m.cur.epoch + 2);
	CU_ASSERT_EQUAL(m.pend.left[0], m.pend.epoch);
	CU_ASSERT_EQUAL(m.pend.left[1], m.pend.epoch);
	CU_ASSERT(prot_membership_written(&m, 4));
	CU_ASSERT_EQUAL(m.cur.in_sync, 4);
}

static const struct suite_test tests[] = {
	{ "two leave", test_two_leave },
	{ "record", test_record },
	{ "flipped bits", test_flips },
	{ "numbers out of bounds", test_insane },
	{ "two blocks", test_pick },
	{ "attach", test_attach },
	{ "attach, at a word", test_attach_stale },
	{ "attach, erasure coding", test_attach_ec },
	{ "changes", test_changes },
	{ "another extent in a place in sync", test_swap },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("rosters", tests);
}
