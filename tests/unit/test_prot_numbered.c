// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rosters of numbered attachments: the cluster store is the witness. test_prot_roster.c has the
 * rest.
 */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>

#include "driver/uapi/number.h"
#include "protect/roster/membership.h"
#include "suite.h"

static const u8 spare[PROT_UUID_LEN] = { 99 };

static u64 number(u64 counter, u64 restart)
{
	return mesh_number(3, counter, restart);
}

/* Member i is extent i + 1. */
static struct prot_roster roster(u64 attach, u64 epoch, u64 in_sync, u8 k, u8 width)
{
	struct prot_roster r = {
		.attach = attach, .epoch = epoch, .in_sync = in_sync, .flags = PROT_ROSTER_WITNESS,
		.geo = { .level = PROT_EC, .k = k, .width = width },
	};

	for (u32 i = 0; i < width; i++)
		r.uuid[i][0] = i + 1;
	return r;
}

/* An attach under counter 9 that has opened @opened of @found, all facts of @with. */
static int attach(struct prot_membership *m, const struct prot_roster *found,
		  const struct prot_roster *store, u64 opened, const struct prot_attach *with)
{
	u8 uuid[PROT_WIDTH_MAX][PROT_UUID_LEN] = { { 0 } };
	struct prot_attach a = *with;

	a.found = found;
	a.store = store;
	a.highest = ~0ULL;	/* counts for nothing */
	a.opened = uuid;
	a.numbered = true;
	a.number = with->number ? with->number : number(9, 0);
	for (u32 i = 0; i < found->geo.width; i++)
		if (opened >> i & 1)
			uuid[a.n++][0] = i + 1;
	return prot_membership_begin(m, &a);
}

static const struct prot_attach plain = { .witness = true }, deaf = { .witness = false };

static void test_number(void)
{
	struct prot_roster found = roster(number(9, 0), 9, 3, 1, 2);
	struct prot_attach restarted = { .witness = true, .number = number(9, 2) };
	struct prot_membership m;

	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 3, &restarted), 0);
	CU_ASSERT_EQUAL(m.pend.attach, number(9, 2));
	/* a kernel that begins again has its own roster before it */
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 3, &plain), 0);
	CU_ASSERT_EQUAL(m.pend.attach, number(9, 0));
	CU_ASSERT_EQUAL(m.pend.epoch, 10);
	found.attach = number(9, 1);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 3, &plain), -EEXIST);
	found.attach = mesh_number(2, 10, 5);	/* an earlier generation */
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 3, &plain), 0);
	found.attach = mesh_number(4, 1, 0);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 3, &plain), -EEXIST);
}

static void test_witness(void)
{
	struct prot_roster found = roster(number(7, 1), 9, 3, 1, 2);
	struct prot_roster store = roster(number(7, 1), 8, 1, 1, 2);
	struct prot_attach again = { .witness = true, .again = true };
	struct prot_membership m;

	/* The store is behind by an add: it counts, and the roster found is the base. */
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &plain), 0);
	CU_ASSERT_EQUAL(m.pend.in_sync, 2);
	CU_ASSERT_EQUAL(m.pend.epoch, 10);
	CU_ASSERT(prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &deaf), -ESTALE);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &again), -ESTALE);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 3, &again), 0);
	CU_ASSERT_EQUAL(m.pend.flags, 0);
	CU_ASSERT(!prot_membership_must_note(&m));
	/* ... of a later attachment: the store's is the base, whatever host wrote it. */
	store.attach = number(8, 0);
	store.host[0] = 1;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &plain), -ENODATA);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 1, &plain), 0);
	CU_ASSERT_EQUAL(m.pend.in_sync, 1);
	/* An earlier one, by its restart alone, too. */
	store.attach = number(7, 0);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &plain), -ESTALE);
	store.attach = number(8, 0);
	found.flags = 0;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 1, &plain), -ESTALE);
}

/* A member on the only store host: no witness, but what the store speaks for is noted. */
static void test_beside(void)
{
	struct prot_roster found = roster(number(7, 0), 9, 3, 1, 2);
	struct prot_attach beside = { .witness = true, .beside_store = true };
	struct prot_witness w = { .noted = true, .beside_store = true, .here = 3 };
	struct prot_membership m;

	CU_ASSERT_EQUAL(attach(&m, &found, &found, 3, &beside), 0);
	CU_ASSERT_EQUAL(m.pend.flags, 0);
	CU_ASSERT(!prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(attach(&m, &found, &found, 2, &beside), 0);
	CU_ASSERT_EQUAL(m.pend.flags, 0);
	CU_ASSERT(prot_membership_must_note(&m));
	CU_ASSERT(prot_membership_written(&m, 2));
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &w), 0);
	w.beside_store = false;
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &w), 1);
}

static void serving(struct prot_membership *m, u64 in_sync, u8 k, u8 width)
{
	struct prot_roster found = roster(number(7, 0), 9, in_sync, k, width);

	CU_ASSERT_EQUAL(attach(m, &found, &found, in_sync, &plain), 0);
	CU_ASSERT_EQUAL(prot_membership_heard(m), 0);
	CU_ASSERT(prot_membership_written(m, in_sync));
}

static void test_witness_due(void)
{
	struct prot_witness away = { .away = true, .here = 3 }, back = { .noted = true };
	struct prot_membership m;

	serving(&m, 3, 1, 2);
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &back), 0);
	away.here = 1;		/* a commit without a member needs the note that cannot be had */
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &away), 0);
	away.here = 3;
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &away), -1);
	CU_ASSERT_EQUAL(prot_membership_witness(&m, false), 0);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 2);	/* until it is committed */
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &back), 0);
	CU_ASSERT(prot_membership_written(&m, 3));
	CU_ASSERT_EQUAL(prot_membership_held(&m), 1);
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &away), 0);
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &back), 1);
	back.noted = false;
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &back), 0);
	back.noted = true;
	m.cur.flags = PROT_ROSTER_AUTONOMOUS;
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &back), 0);
	serving(&m, 7, 2, 3);
	CU_ASSERT_EQUAL(m.cur.flags, 0);	/* k members exclude all others */
	CU_ASSERT_EQUAL(prot_membership_witness_due(&m, &back), 0);
}

/* Each k of the members of both rosters include one that is heard. */
static void test_held(void)
{
	struct prot_membership m;

	serving(&m, 1, 1, 2);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 1);
	CU_ASSERT_EQUAL(prot_membership_add(&m, 1), 0);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 2);
	CU_ASSERT_EQUAL(prot_membership_heard(&m), 3);
	CU_ASSERT_EQUAL(prot_membership_readers(&m), 1);
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 2), 0);	/* the add may have landed on it */
	CU_ASSERT_EQUAL(prot_membership_heard(&m), 3);
	CU_ASSERT(prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(prot_membership_heard(&m), 1);
	serving(&m, 15, 2, 4);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 3);
	serving(&m, 7, 2, 4);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 2);
	serving(&m, 7, 2, 3);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 2);
	/* A witness that is about to be one lets others go on, too. */
	serving(&m, 3, 1, 2);
	m.cur.flags = 0;
	CU_ASSERT_EQUAL(prot_membership_held(&m), 1);
	CU_ASSERT_EQUAL(prot_membership_witness(&m, true), 0);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 2);
}

static void test_order(void)
{
	struct prot_membership m;

	serving(&m, 3, 1, 3);
	CU_ASSERT_EQUAL(prot_membership_add(&m, 2), 0);
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 3);
	CU_ASSERT(!prot_membership_written(&m, 1));
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 2);
	CU_ASSERT(!prot_membership_written(&m, 2));
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 4);
	CU_ASSERT(prot_membership_written(&m, 4));
	/* What takes a place in sync is new as well. */
	CU_ASSERT_EQUAL(prot_membership_swap(&m, 0, spare), 0);
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 6);
	CU_ASSERT(!prot_membership_written(&m, 6));
	CU_ASSERT_EQUAL(prot_membership_unwritten(&m), 1);
	CU_ASSERT(prot_membership_written(&m, 1));
}

static void test_barred(void)
{
	struct prot_membership m;
	struct prot_attach bars = { .witness = true, .barred = 6 };
	struct prot_roster found = roster(number(7, 0), 9, 3, 1, 3);

	CU_ASSERT_EQUAL(attach(&m, &found, &found, 3, &bars), 0);
	CU_ASSERT(prot_membership_written(&m, 3));
	CU_ASSERT_EQUAL(prot_membership_barred(&m), 6);
	CU_ASSERT_EQUAL(prot_membership_add(&m, 2), -EBUSY);
	CU_ASSERT_EQUAL(prot_membership_swap(&m, 1, spare), -EBUSY);
	m.barred = 0;
	CU_ASSERT_EQUAL(prot_membership_add(&m, 2), 0);
	m.barred = 4;		/* too late for this add, so it is not confirmed */
	CU_ASSERT_EQUAL(prot_membership_barred(&m), 0);
	CU_ASSERT(!prot_membership_written(&m, 3));
	CU_ASSERT(prot_membership_written(&m, 4));
	CU_ASSERT_EQUAL(prot_membership_barred(&m), 4);
}

/* An add that is not committed may be on its member, so its removal is noted, too. */
static void test_note(void)
{
	struct prot_membership m;

	serving(&m, 3, 1, 3);
	CU_ASSERT_EQUAL(prot_membership_add(&m, 2), 0);
	CU_ASSERT(!prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(prot_membership_remove(&m, 4), 0);
	CU_ASSERT(prot_membership_must_note(&m));
	CU_ASSERT(prot_membership_written(&m, 3));
	CU_ASSERT_EQUAL(prot_membership_add(&m, 2), 0);
	CU_ASSERT(!prot_membership_must_note(&m));
}

static void test_forgotten(void)
{
	struct prot_roster found = roster(number(7, 0), 9, 3, 1, 2);
	struct prot_roster store = roster(number(8, 0), 12, 1, 1, 2);
	struct prot_attach gone = { .witness = true, .forgotten = 1 }, silent = { .forgotten = 1 };
	struct prot_membership m;

	/* The store says that member 0 alone has all, and it is gone for good. */
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &plain), -ENODATA);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &gone), 0);
	CU_ASSERT_EQUAL(m.pend.in_sync, 2);
	CU_ASSERT_EQUAL(m.pend.epoch, 13);
	CU_ASSERT(prot_membership_must_note(&m));
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &silent), -EAGAIN);
	CU_ASSERT_EQUAL(attach(&m, &found, NULL, 2, &gone), 0);
	/* Not where the store names another extent at that place. */
	store.in_sync = 2;
	memcpy(store.uuid[1], spare, sizeof(spare));
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &gone), -ENODATA);
	/* Not where another one is missing, in either roster. */
	found = roster(number(7, 0), 9, 7, 1, 3);
	store = roster(number(8, 0), 12, 1, 1, 3);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &gone), -ENODATA);
	/* Member 2, which is out by both, may have a higher roster. */
	found.in_sync = 3;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &gone), -ENODATA);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 6, &gone), 0);
	CU_ASSERT_EQUAL(m.pend.in_sync, 2);
	found.geo.width = store.geo.width = 4;
	found.in_sync = 3;
	store.in_sync = 9;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 6, &gone), -ENODATA);
	gone.forgotten = 9;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 6, &gone), 0);
	gone.forgotten = 5;
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 2, &gone), -ENODATA);
	store.attach = number(6, 0);	/* older than the one found */
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 10, &gone), 0);
	CU_ASSERT_EQUAL(attach(&m, &found, &store, 8, &gone), -ENODATA);
}

static int reading(struct prot_membership *m, const struct prot_roster *found, u64 opened,
		   u64 forgotten)
{
	u8 uuid[PROT_WIDTH_MAX][PROT_UUID_LEN] = { { 0 } };
	struct prot_attach a = {
		.found = found, .opened = uuid, .numbered = true, .number = number(9, 0),
		.forgotten = forgotten,
	};

	for (u32 i = 0; i < found->geo.width; i++)
		if (opened >> i & 1)
			uuid[a.n++][0] = i + 1;
	return prot_membership_read(m, &a);
}

static void test_read(void)
{
	struct prot_roster found = roster(number(9, 3), 9, 3, 1, 2);
	struct prot_membership m;

	found.flags = PROT_ROSTER_CLEAN;	/* the next writer may have a witness */
	CU_ASSERT_EQUAL(reading(&m, &found, 1, 0), -ESTALE);
	CU_ASSERT_EQUAL(reading(&m, &found, 3, 0), 0);
	CU_ASSERT_EQUAL(m.held, 2);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 2);
	CU_ASSERT_EQUAL(prot_membership_heard(&m), 3);
	CU_ASSERT_EQUAL(reading(&m, &found, 2, 1), -ESTALE);
	found.attach = number(10, 0);
	CU_ASSERT_EQUAL(reading(&m, &found, 3, 0), -EEXIST);
	found = roster(number(9, 0), 9, 15, 2, 4);
	found.flags = PROT_ROSTER_CLEAN;
	CU_ASSERT_EQUAL(reading(&m, &found, 7, 0), 0);
	CU_ASSERT_EQUAL(prot_membership_held(&m), 3);
}

static const struct suite_test tests[] = {
	{ "number", test_number },
	{ "witness", test_witness },
	{ "beside the store", test_beside },
	{ "witness due", test_witness_due },
	{ "held", test_held },
	{ "order", test_order },
	{ "barred", test_barred },
	{ "note", test_note },
	{ "forgotten", test_forgotten },
	{ "read", test_read },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("rosters of numbered attachments", tests);
}
