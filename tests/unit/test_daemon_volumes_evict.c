// SPDX-License-Identifier: GPL-2.0-only
/* Evictions of a kernel that is made up, and what it gets beside a layout. */
#include "tests/unit/kernel_rig.h"

/* Extent 9, of drive 3 on host 3, is to take the place of member 1. */
static struct layout_member to = { .target = { { 'h', 3 } }, .drive = { { 'd', 3 } }, .extent = { { 'x', 9 } },
				   .size = 64ULL << 20 };

static struct attach_evict the_evict(void)
{
	return (struct attach_evict) { .volume = rig_id('v', 1), .place = 1, .to = &to, .number = NUMBER(5) | 7 };
}

static void test_evict(void)
{
	struct attach_evict e = the_evict();

	begin();
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(evict(&e));
	CU_ASSERT(K.evicts == 1 && K.evict_index == 1 && !K.evict_stops);
	CU_ASSERT(K.evict.kind == MESHBLK_KIND_RDDA && K.evict.size == 64ULL << 20 && !K.evict.preempt);
	CU_ASSERT(muuid_equal(&K.evict.extent, &to.extent) && muuid_equal(&K.evict.drive, &to.drive));
	CU_ASSERT_STRING_EQUAL(K.target[at_of(K.evict.target_id)].addr, "10.0.0.3");
	e.to = NULL;
	OK(evict(&e));
	CU_ASSERT(K.evicts == 2 && K.evict_stops && K.evict_index == 1);
	K.evict_err = -EBUSY;
	e.to = &to;
	CU_ASSERT_EQUAL(evict(&e), -EBUSY);
	CU_ASSERT_STRING_EQUAL(op->words(V), "the kernel's words");
	end();
}

/* What the kernel has is read again behind it. */
static void test_known(void)
{
	struct attach_evict e = the_evict();
	struct attach_copy c;
	u32 gets;

	begin();
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(op->copy(V, &L.volume, 0, &c));
	gets = K.gets;
	OK(op->copy(V, &L.volume, 0, &c));
	CU_ASSERT_EQUAL(K.gets, gets);
	OK(evict(&e));
	OK(op->copy(V, &L.volume, 0, &c));
	CU_ASSERT_EQUAL(K.gets, gets + 1);
	end();
}

/* A local drive: the number is in its label before the kernel opens it. */
static void test_local(void)
{
	struct attach_evict e = the_evict();

	begin();
	put_drive(3, 1, true);
	kernel_has(MESHBLK_STATE_ACTIVE);
	D.away = true;
	CU_ASSERT_EQUAL(evict(&e), -ENODEV);
	CU_ASSERT_PTR_NOT_NULL(strstr(op->words(V), "away"));
	D.away = false;
	D.label.drive = to.drive;
	D.label.extent[0].uuid = to.extent;
	D.err = -EINPROGRESS;
	CU_ASSERT_EQUAL(op->evict(V, &e), -EINPROGRESS);
	CU_ASSERT(D.numbers == 1 && D.number == e.number && !D.served && !K.evicts);
	D.err = -ESTALE;
	CU_ASSERT_EQUAL(evict(&e), -ESTALE);
	CU_ASSERT_EQUAL(K.evicts, 0);
	D.err = 0;
	OK(evict(&e));
	CU_ASSERT(K.evict.kind == MESHBLK_KIND_BDEV && K.evict.start == 5ULL << 20);
	CU_ASSERT_STRING_EQUAL(K.evict.path, "/dev/nvme9n1");
	end();
}

/* Other arguments while it goes on: its result is not theirs. */
static void test_other(void)
{
	struct attach_evict e = the_evict();

	begin();
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.evict_waits = true;
	CU_ASSERT_EQUAL(op->evict(V, &e), -EINPROGRESS);
	e.to = NULL;
	CU_ASSERT_EQUAL(op->evict(V, &e), -EINPROGRESS);
	lock();
	K.evict_waits = false;
	pthread_cond_broadcast(&moved);
	unlock();
	OK(evict(&e));
	CU_ASSERT(K.evicts == 2 && K.evict_stops);
	end();
}

static struct meshblk_member has[2];

static void kernel_groups(struct meshblk_group *g, u32 n)
{
	kernel_has(MESHBLK_STATE_ACTIVE);
	for (u32 i = 0; i < 2; i++)
		has[i] = (struct meshblk_member) { .extent = rig_id('x', i + 1) };
	K.v.members = has;
	K.v.nr_members = 2;
	K.v.groups = g;
	K.v.nr_groups = n;
}

static struct meshblk_group group_of(u8 role)
{
	return (struct meshblk_group) { .nr = 2, .members = { 0, 1 }, .roles = { MESHBLK_ROLE_IN_SYNC, role } };
}

static struct plan_copy copy_at(u32 place)
{
	struct attach_copy c;

	op->kernels(V, NULL, 0);
	OK(op->copy(V, &L.volume, place, &c));
	return c.plan;
}

static bool none(struct muuid u)
{
	return muuid_null(&u);
}

static void test_roles(void)
{
	static const struct { u8 role, is; } tries[] = {
		{ MESHBLK_ROLE_IN_SYNC, PLAN_COPY_IN_SYNC }, { MESHBLK_ROLE_OUT, PLAN_COPY_OUT },
		{ MESHBLK_ROLE_SUSPECT, PLAN_COPY_UNSETTLED }, { MESHBLK_ROLE_FAILED, PLAN_COPY_UNSETTLED },
		{ MESHBLK_ROLE_JOINING, PLAN_COPY_UNSETTLED }, { MESHBLK_ROLE_OPENING, PLAN_COPY_UNSETTLED },
	};
	struct meshblk_group g[2];

	begin();
	for (u32 i = 0; i < ARRAY_SIZE(tries); i++) {
		g[0] = group_of(tries[i].role);
		kernel_groups(g, 1);
		CU_ASSERT_EQUAL(copy_at(1).role, tries[i].is);
		CU_ASSERT_EQUAL(copy_at(0).role, PLAN_COPY_IN_SYNC);
		CU_ASSERT(copy_at(1).member.b[1] == 2 && copy_at(0).member.b[1] == 1);
		/* of two groups, both */
		g[1] = group_of(MESHBLK_ROLE_OUT);
		kernel_groups(g, 2);
		CU_ASSERT_EQUAL(copy_at(1).role, tries[i].is == PLAN_COPY_OUT ? PLAN_COPY_OUT : PLAN_COPY_UNSETTLED);
	}
	CU_ASSERT(none(copy_at(2).member));
	K.there = false;
	CU_ASSERT(none(copy_at(1).member));
	end();
}

static void test_copies(void)
{
	struct meshblk_group g[2];
	struct attach_copy c;

	begin();
	g[0] = g[1] = group_of(MESHBLK_ROLE_IN_SYNC);
	strcpy(g[0].evict_reason, "it was stopped");
	kernel_groups(g, 2);
	OK(op->copy(V, &L.volume, 1, &c));
	CU_ASSERT(muuid_null(&c.plan.to) && !strcmp(c.why, "it was stopped"));
	for (u32 i = 0; i < 2; i++) {
		g[i].evict_reason[0] = 0;
		g[i].evicts = 1;
		g[i].copied = 3 + i;
		g[i].copy_bytes = 10;
		g[i].successor = to.extent;
	}
	CU_ASSERT(copy_at(1).to.b[1] == 9 && copy_at(1).copied == 7 && copy_at(1).bytes == 20);
	CU_ASSERT(none(copy_at(0).to) && !copy_at(0).bytes);
	/* One of two groups is not copied, the first or the last. */
	g[1].successor = (struct muuid) { 0 };
	CU_ASSERT(none(copy_at(1).to));
	g[1].successor = to.extent;
	g[0].successor = (struct muuid) { 0 };
	CU_ASSERT(none(copy_at(1).to));
	end();
}

/* Places of the kernel are references, of which the layout has two in another order. */
static void test_facts(void)
{
	const struct obj_leaving leaving[] = { { .place = 1, .extent = rig_id('x', 8) },
					       { .place = 0, .extent = rig_id('x', 7) } };
	struct layout_member left[] = { { .extent = rig_id('x', 8), .drive = rig_id('d', 8), .target = rig_id('h', 2),
					  .size = 32ULL << 20, .kind = LAYOUT_KIND_RDDA } };
	u16 forgotten[] = { 1 };
	struct attach_set a = the_set();

	begin();
	L.ref[0].member = 1;
	L.ref[1].member = 0;
	a.again = true;
	a.forgottens = 1;
	a.forgotten = forgotten;
	a.leavings = 2;
	a.leaving = leaving;
	a.lefts = 1;
	a.left = left;
	OK(set(&a));
	CU_ASSERT(K.set.again);
	CU_ASSERT(K.set.nr_forgotten == 1 && K.set.forgotten[0] == 0);
	/* Extent 7 is in no drive, and the record does not know where it was. */
	CU_ASSERT_FATAL(K.set.nr_leavings == 1);
	CU_ASSERT(K.set.leavings[0].place == 0 && K.set.leavings[0].member.extent.b[1] == 8 &&
		  K.set.leavings[0].member.drive.b[1] == 8 && K.set.leavings[0].member.size == 32ULL << 20);
	CU_ASSERT_STRING_EQUAL(K.target[at_of(K.set.leavings[0].member.target_id)].addr, "10.0.0.2");
	a.again = false;
	a.forgottens = a.leavings = 0;
	OK(set(&a));
	CU_ASSERT(!K.set.again && !K.set.nr_forgotten && !K.set.nr_leavings);
	end();
}

/* drive/D says more than the record: the extent that leaves is on another host by now. */
static void test_left(void)
{
	const struct obj_leaving leaving[] = { { .place = 1, .extent = rig_id('x', 3) } };
	struct layout_member left[] = { { .extent = rig_id('x', 3), .drive = rig_id('d', 8), .target = rig_id('h', 2),
					  .size = 32ULL << 20, .kind = LAYOUT_KIND_RDDA } };
	struct attach_set a = the_set();

	begin();
	a.leavings = 1;
	a.leaving = leaving;
	a.lefts = 1;
	a.left = left;
	OK(set(&a));
	CU_ASSERT_FATAL(K.set.nr_leavings == 1);
	CU_ASSERT(K.set.leavings[0].member.drive.b[1] == 3 && K.set.leavings[0].member.size == 64ULL << 20);
	CU_ASSERT_STRING_EQUAL(K.target[at_of(K.set.leavings[0].member.target_id)].addr, "10.0.0.3");
	/* Local, and away: it can be opened by no later message, and is left out. */
	put_drive(3, 1, true);
	volumes_close(V);
	open_volumes();
	OK(volumes_begin(V));
	OK(set(&a));
	CU_ASSERT_EQUAL(K.set.nr_leavings, 0);
	D.label.drive = rig_id('d', 3);
	D.label.extent[0].uuid = rig_id('x', 3);
	OK(set(&a));
	CU_ASSERT_FATAL(K.set.nr_leavings == 1);
	CU_ASSERT(K.set.leavings[0].member.kind == MESHBLK_KIND_BDEV && K.set.leavings[0].member.start == 5ULL << 20);
	CU_ASSERT(D.numbers == 1 && D.number == NUMBER(5));
	D.err = -ESTALE;
	a.number = NUMBER(6);
	CU_ASSERT_EQUAL(set(&a), -ESTALE);
	end();
}

/* Another fact while VOLUME_SET goes on is another message. */
static void test_facts_other(void)
{
	struct obj_leaving leaving[] = { { .place = 1, .extent = rig_id('x', 3) } };
	u16 forgotten[] = { 1 };
	struct attach_set a = the_set();

	begin();
	a.forgotten = forgotten;
	a.leaving = leaving;
	for (u32 i = 0; i < 4; i++) {
		lock();
		K.sets = 0;
		K.set_waits = true;
		unlock();
		CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
		if (i == 0)
			a.again = true;
		else if (i == 1)
			a.forgottens = 1;
		else if (i == 2)
			a.leavings = 1;
		CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
		lock();
		K.set_waits = false;
		pthread_cond_broadcast(&moved);
		unlock();
		OK(set(&a));
		CU_ASSERT_EQUAL(K.sets, i < 3 ? 2 : 1);
	}
	CU_ASSERT(K.set.again && K.set.nr_forgotten == 1 && K.set.nr_leavings == 1);
	end();
}

static const struct rig_test tests[] = {
	{ "VOLUME_EVICT", test_evict },
	{ "the kernel is read again", test_known },
	{ "to a local drive", test_local },
	{ "other arguments meanwhile", test_other },
	{ "roles of a member", test_roles },
	{ "copies of a member", test_copies },
	{ "facts beside a layout", test_facts },
	{ "where what leaves is", test_left },
	{ "another fact meanwhile", test_facts_other },
};

int main(void)
{
	return rig_main("evictions of a daemon's kernel", tests, ARRAY_SIZE(tests));
}
