// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the cluster, each alone: tables of objects and of what is decided from them. */
#include <linux/kernel.h>

#include "tests/unit/suite.h"
#include "userspace/plan/change.h"
#include "userspace/plan/drain.h"
#include "userspace/plan/extent.h"
#include "userspace/plan/forget.h"
#include "userspace/plan/members.h"
#include "userspace/plan/mutant.h"
#include "userspace/plan/recover.h"
#include "userspace/plan/spare.h"
#include "userspace/plan/task.h"
#include "userspace/plan/wait.h"

/* Recover: what becomes of a volume beside its layout and its number. */
static void test_recover_volume(void)
{
	static const struct muuid D[2] = { { { 'd', 1 } }, { { 'd', 2 } } };
	static const struct { u8 state; u64 label, served; u8 want; bool fresh; } tries[] = {
		{ PLAN_CREATING, 0, 0, PLAN_CREATING, true }, { PLAN_CREATING, 1 << 16, 0, PLAN_VOLUME_READY, false },
		{ PLAN_CREATING, 0, 1 << 16, PLAN_VOLUME_READY, false },
		{ PLAN_VOLUME_READY, 0, 0, PLAN_VOLUME_READY, true },
		{ PLAN_VOLUME_READY, 1 << 16, 0, PLAN_VOLUME_READY, false },
		{ PLAN_DELETING, 1 << 16, 1 << 16, PLAN_DELETING, false },
	};
	struct plan_place place[2] = { { .extent = { { 'x' } }, .drive = D[0] }, { .extent = { { 'y' } }, .drive = D[1] } };
	struct plan_volume v = { .layout = { .places = 2, .place = place } };
	struct plan_slot slot = { .extent = { { 'x' } } };
	struct plan_evidence e = { .drive = D[0], .slot = &slot };
	struct plan_recover r = { .volume = &v, .found = &e, .nr = 1, .seen = D, .seens = 2 };

	for (u32 i = 0; i < ARRAY_SIZE(tries); i++) {
		v.state = tries[i].state;
		slot.number = tries[i].label;
		r.served = tries[i].served;
		CU_ASSERT_EQUAL(plan_recover_state(&r), tries[i].want);
		CU_ASSERT_EQUAL(plan_recover_fresh(&r, true), tries[i].fresh);
		CU_ASSERT(!plan_recover_fresh(&r, false));
		CU_ASSERT(!plan_recover_gone(&r));
	}
	r.volume = NULL;
	CU_ASSERT_EQUAL(plan_recover_state(&r), PLAN_VOLUME_READY);
	r = (struct plan_recover) { .volume = &v, .seen = D, .seens = 2 };
	v.state = PLAN_VOLUME_READY;
	CU_ASSERT(plan_recover_gone(&r));
	v.state = PLAN_CREATING;
	CU_ASSERT(!plan_recover_gone(&r));
	v.state = PLAN_VOLUME_READY;
	r.served = 1 << 16;
	CU_ASSERT(!plan_recover_gone(&r));
	r.served = 0;
	r.seens = 1;
	CU_ASSERT(!plan_recover_gone(&r));
}

/* ... and the host that goes on with it. */
static void test_recover_writer(void)
{
	struct plan_claim c[3] = {
		{ .host = { { 1 } }, .mode = PLAN_RW, .number = mesh_number(1, 3, 9) },
		{ .host = { { 2 } }, .mode = PLAN_RW, .number = mesh_number(1, 4, 0) },
		{ .host = { { 3 } }, .mode = PLAN_RO, .number = mesh_number(1, 9, 0) },
	};
	struct plan_slot slot = { .number = mesh_number(1, 4, 7) };
	struct plan_evidence e = { .slot = &slot };
	struct plan_recover r = { .found = &e, .nr = 1 };

	CU_ASSERT_PTR_EQUAL(plan_recover_writer(&r, c, 3), &c[1]);
	slot.number = mesh_number(1, 5, 0);
	CU_ASSERT_PTR_NULL(plan_recover_writer(&r, c, 3));
	slot.number = 0;
	c[0].number = c[1].number;
	CU_ASSERT_PTR_EQUAL(plan_recover_writer(&r, c, 3), &c[0]);
	c[1].serves = true;
	CU_ASSERT_PTR_EQUAL(plan_recover_writer(&r, c, 3), &c[1]);
	CU_ASSERT_PTR_NULL(plan_recover_writer(&r, c, 0));
}

static void test_raises(void)
{
	static const struct { u64 attach, epoch; int cmp; } tries[] = {
		{ 7, 3, 0 }, { 7, 4, 1 }, { 8, 1, 1 }, { 7, 2, -1 }, { 6, 9, -1 },
	};
	struct plan_roster noted = { .attach = 7, .epoch = 3 }, none = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(tries); i++) {
		struct plan_roster next = { .attach = tries[i].attach, .epoch = tries[i].epoch };

		CU_ASSERT_EQUAL(plan_roster_cmp(&next, &noted), tries[i].cmp);
		CU_ASSERT_EQUAL(plan_roster_cmp(&noted, &next), -tries[i].cmp);
		CU_ASSERT_EQUAL(plan_note_raises(&noted, &next), tries[i].cmp >= 0);
		CU_ASSERT(plan_note_raises(&none, &next));
	}
}

/* One extent of each kind that an attach may meet. */
static void test_members(void)
{
	static const struct muuid V = { { 'v' } }, other = { { 'w' } };
	struct plan_place place[] = {
		{ .extent = { { 'a' } }, .group = 0 },
		{ .extent = { { 'b' } }, .leaving = { { 'l' } }, .group = 0 },
	};
	struct plan_volume v = { .uuid = V, .state = PLAN_VOLUME_READY,
				 .layout = { .version = 3, .places = 2, .place = place } };
	struct plan_extent x[] = {
		{ .uuid = { { 'a' } }, .volume = V, .state = PLAN_READY, .version = 3 },
		{ .uuid = { { 'l' } }, .volume = V, .state = PLAN_READY, .version = 3 },
		{ .uuid = { { 'e' } }, .volume = V, .place = 1, .state = PLAN_READY, .version = 2 },
		{ .uuid = { { 'f' } }, .volume = V, .state = PLAN_FREEING, .version = 2 },
		{ .uuid = { { 'n' } }, .volume = V, .state = PLAN_READY },
		{ .uuid = { { 'm' } }, .volume = V, .state = PLAN_WANTED, .version = 1 },
		{ .uuid = { { 'o' } }, .volume = other, .state = PLAN_READY, .version = 2 },
	};
	struct plan_extent gone[] = {
		{ .uuid = { { 'g' } }, .volume = V, .place = 0, .state = PLAN_READY, .version = 1 },
	};
	struct plan_drive d[] = {
		{ .uuid = { { 1 } }, .wanted = PLAN_DRAINING, .extents = ARRAY_SIZE(x), .extent = x },
		{ .uuid = { { 2 } }, .wanted = PLAN_FORGOTTEN, .extents = 1, .extent = gone },
	};
	struct plan_member m[2] = { 0 };

	CU_ASSERT_EQUAL(plan_attach_members(&v, d, 2, m, 2), 1);
	CU_ASSERT_PTR_EQUAL(m[0].extent, &x[2]);
	CU_ASSERT_PTR_EQUAL(m[0].drive, &d[0]);
	d[1].wanted = PLAN_OUT;
	CU_ASSERT_EQUAL(plan_attach_members(&v, d, 2, m, 2), 2);
	CU_ASSERT_PTR_EQUAL(m[1].extent, gone);
	m[1].extent = NULL;
	CU_ASSERT_EQUAL(plan_attach_members(&v, d, 2, m, 1), 2);
	CU_ASSERT_PTR_NULL(m[1].extent);
}

/* A mirror of two and a lone member, attached by N; a spare extent is ready. */
static struct world {
	struct plan_place place[3];
	struct plan_group group;
	struct plan_volume v;
	struct plan_access a;
	struct plan_roster roster;
	struct plan_rosters r;
	struct plan_extent spare, old;
	struct plan_put put;
	struct plan_change c;
} W;

#define N	mesh_number(1, 4, 0)

static void world(void)
{
	static const struct muuid V = { { 'v' } }, H = { { 'h' } };

	W = (struct world) {
		.place = {
			{ .extent = { { 'a' } }, .group = 0 }, { .extent = { { 'b' } }, .group = 0 },
			{ .extent = { { 'c' } }, .group = PLAN_NO_GROUP },
		},
		.group = { .members = 2, .data = 1 },
		.v = { .uuid = V, .state = PLAN_VOLUME_READY,
		       .layout = { .version = 3, .places = 3, .groups = 1, .place = W.place, .group = &W.group } },
		.a = { .mode = PLAN_RW, .holder = H, .number = N },
		.roster = { .attach = N + 2, .epoch = 5, .members = 2, .in_sync = 3,
			    .extent = { { { 'a' } }, { { 'b' } } } },
		.r = { .number = N + 2, .version = 3, .committed = true, .groups = 1, .roster = &W.roster },
		.spare = { .uuid = { { 's' } }, .volume = V, .state = PLAN_READY },
		.old = { .uuid = { { 'o' } }, .volume = V, .state = PLAN_READY, .version = 2 },
		.put = { .place = 1, .extent = &W.spare },
		.c = { .volume = &W.v, .access = &W.a, .rosters = &W.r, .puts = 1, .put = &W.put, .evict = true },
	};
}

static void test_evict(void)
{
	struct plan_txn t;

	world();
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_GO);
	CU_ASSERT_EQUAL(t.compare, PLAN_OBJ_LEADER | PLAN_OBJ_ROSTER | PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS |
			PLAN_OBJ_DRIVES);
	W.put.place = 2;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_ALONE);
	W.put.place = 3;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_ALONE);
	W.put.place = 1;
	W.spare.state = PLAN_WANTED;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_WAIT);
	world();
	W.a.mode = PLAN_NONE;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_NOT_HOLDER);
	/* it is another attachment's report, of another layout, not committed, or the member is out */
	world();
	W.r.number = mesh_number(1, 3, 0);
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_WAIT);
	world();
	W.r.version = 2;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_WAIT);
	world();
	W.r.committed = false;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_WAIT);
	world();
	W.roster.in_sync = 1;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_WAIT);
	CU_ASSERT(!plan_in_sync(&W.r, &W.a, &W.place[1].extent));
	CU_ASSERT(plan_in_sync(&W.r, &W.a, &W.place[0].extent));
	W.c.rosters = NULL;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_WAIT);
	/* one of a group at a time */
	world();
	W.place[0].leaving.b[0] = 'o';
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_WAIT);
	plan_mutation = PLAN_MUT_EVICT_TWO;
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_GO);
	plan_mutation = PLAN_MUT_NONE;
	world();
	W.place[2].leaving.b[0] = 'o';
	CU_ASSERT_EQUAL(plan_change(&W.c, &t), PLAN_GO);
}

/* An eviction copies a member in sync, replaces one that is out, and waits where that is not known. */
static void test_evict_task(void)
{
	struct plan_task_put put = { .place = 1, .drive = { { 'd' } }, .extent = { { 's' } } };
	struct plan_task task = { .uuid = { { 't' } }, .volume = { { 'v' } }, .kind = PLAN_TASK_EVICT,
				  .state = PLAN_TASK_PLACED, .puts = 1, .put = &put };
	struct plan_drive drive = { .uuid = { { 'd' } }, .extents = 1, .extent = &W.spare };
	struct plan_task_facts f = { .task = &task, .volume = &W.v, .access = &W.a, .rosters = &W.r, .drives = 1,
				     .drive = &drive };
	struct plan_task_step s;

	world();
	plan_task(&f, &s);
	CU_ASSERT(s.what == PLAN_T_CHANGE && s.evict);
	W.roster.in_sync = 1;
	plan_task(&f, &s);
	CU_ASSERT(s.what == PLAN_T_BAR && s.place == 1);
	f.rosters = NULL;
	plan_task(&f, &s);
	CU_ASSERT(s.what == PLAN_T_WAIT && s.why == PLAN_WHY_KERNEL);
	f.rosters = &W.r;
	W.r.committed = false;
	plan_task(&f, &s);
	CU_ASSERT(s.what == PLAN_T_WAIT && s.why == PLAN_WHY_KERNEL);
	W.a.mode = PLAN_NONE;
	plan_task(&f, &s);
	CU_ASSERT(s.what == PLAN_T_FAIL && s.verdict == PLAN_NOT_HOLDER);
	put.place = 2;
	plan_task(&f, &s);
	CU_ASSERT(s.what == PLAN_T_FAIL && s.verdict == PLAN_ALONE);
}

static enum plan_verdict has_left(void)
{
	struct plan_txn t;

	return plan_left(&W.v, 1, &W.a, W.c.rosters, false, &t);
}

static void test_left(void)
{
	struct plan_txn t;

	world();
	CU_ASSERT_EQUAL(has_left(), PLAN_DONE);
	W.place[1].leaving.b[0] = 'o';
	CU_ASSERT_EQUAL(plan_freeable(&W.old, &W.v, &W.a, &W.r, false, &t), PLAN_READ);
	CU_ASSERT_EQUAL(has_left(), PLAN_GO);
	CU_ASSERT_EQUAL(plan_left(&W.v, 1, &W.a, &W.r, true, &t), PLAN_STOPPED);
	CU_ASSERT_EQUAL(plan_left(&W.v, 3, &W.a, &W.r, false, &t), PLAN_DONE);
	/* the swap is not committed; the member is out, and may be added again */
	W.roster.extent[1].b[0] = 'o';
	CU_ASSERT_EQUAL(has_left(), PLAN_WAIT);
	W.roster.in_sync = 1;
	CU_ASSERT_EQUAL(has_left(), PLAN_WAIT);
	plan_mutation = PLAN_MUT_LEFT_EARLY;
	CU_ASSERT_EQUAL(has_left(), PLAN_GO);
	plan_mutation = PLAN_MUT_NONE;
	world();
	W.place[1].leaving.b[0] = 'o';
	W.r.committed = false;
	CU_ASSERT_EQUAL(has_left(), PLAN_WAIT);
	W.r.committed = true;
	W.r.version = 2;
	CU_ASSERT_EQUAL(has_left(), PLAN_WAIT);
	/* no holder: the last one has ended cleanly, or a kernel may serve */
	W.a.mode = PLAN_NONE;
	CU_ASSERT_EQUAL(has_left(), PLAN_WAIT);
	W.a.clean = true;
	CU_ASSERT_EQUAL(has_left(), PLAN_GO);
}

static void test_freeable(void)
{
	struct plan_txn t;

	world();
	CU_ASSERT_EQUAL(plan_freeable(&W.old, &W.v, &W.a, &W.r, false, &t), PLAN_GO);
	W.roster.extent[1].b[0] = 'o';
	W.roster.in_sync = 1;
	CU_ASSERT_EQUAL(plan_freeable(&W.old, &W.v, &W.a, &W.r, false, &t), PLAN_WAIT);
	world();
	W.a.mode = PLAN_NONE;
	CU_ASSERT_EQUAL(plan_freeable(&W.old, &W.v, &W.a, &W.r, false, &t), PLAN_WAIT);
	CU_ASSERT_EQUAL(plan_freeable(&W.old, &W.v, &W.a, NULL, false, &t), PLAN_WAIT);
	/* no kernel has opened what has no record */
	W.old.version = 0;
	CU_ASSERT_EQUAL(plan_freeable(&W.old, &W.v, &W.a, &W.r, false, &t), PLAN_GO);
	W.a.mode = PLAN_RW;
	W.r.version = 2;
	CU_ASSERT_EQUAL(plan_freeable(&W.old, &W.v, &W.a, &W.r, false, &t), PLAN_WAIT);
}

/* A drive that was forgotten comes back with extents that nothing else knows. */
static void test_forgotten(void)
{
	static const struct plan_cluster c = { .generation = 1 };
	const struct plan_slot slot = { .extent = { { 'a' } }, .volume = { { 'v' } }, .zeroed = true };
	struct plan_extent_facts f = { .slot = &slot, .cluster = &c, .here = true, .fresh = true };
	struct plan_txn t;

	world();
	f.volume = &W.v;
	f.access = &W.a;
	CU_ASSERT_EQUAL(plan_extent_step(&f, &t), PLAN_X_ADOPT);
	f.forgotten = true;
	CU_ASSERT_EQUAL(plan_extent_step(&f, &t), PLAN_X_NONE);
	plan_mutation = PLAN_MUT_EXTENT_FORGOTTEN;
	CU_ASSERT_EQUAL(plan_extent_step(&f, &t), PLAN_X_ADOPT);
	plan_mutation = PLAN_MUT_NONE;
}

/* Four members, of which two are out, and a mirror with one out. */
static void test_spare(void)
{
	struct plan_place place[6] = {
		{ .extent = { { 1 } } }, { .extent = { { 2 } } }, { .extent = { { 3 } } }, { .extent = { { 4 } } },
		{ .extent = { { 5 } }, .group = 1 }, { .extent = { { 6 } }, .group = 1 },
	};
	struct plan_roster roster[2] = {
		{ .members = 4, .in_sync = 12, .extent = { { { 1 } }, { { 2 } }, { { 3 } }, { { 4 } } } },
		{ .members = 2, .in_sync = 2, .extent = { { { 5 } }, { { 6 } } } },
	};
	struct plan_volume v = { .state = PLAN_VOLUME_READY, .layout = { .version = 3, .places = 6, .groups = 2,
									 .place = place } };
	struct plan_access a = { .mode = PLAN_RW, .number = N };
	struct plan_rosters r = { .number = N + 1, .version = 3, .committed = true, .groups = 2, .roster = roster };
	u64 away[6] = { 30, 20, 0, 5, 10, 0 };
	struct plan_spare s = { .volume = &v, .access = &a, .rosters = &r, .left = 1, .away = away, .now = 1000,
				.delay = 100 };

	CU_ASSERT_EQUAL(plan_spare(&s), 1);
	away[1] = 0;
	CU_ASSERT_EQUAL(plan_spare(&s), 0);
	away[0] = 0;
	CU_ASSERT_EQUAL(plan_spare(&s), 4);
	away[0] = 901;
	CU_ASSERT_EQUAL(plan_spare(&s), 4);
	away[0] = 900;
	CU_ASSERT_EQUAL(plan_spare(&s), 0);
	place[0].leaving.b[0] = 9;
	CU_ASSERT_EQUAL(plan_spare(&s), 4);
	s.left = 0;
	CU_ASSERT_EQUAL(plan_spare(&s), PLAN_NO_PLACE);
	s.left = 1;
	s.busy = true;
	CU_ASSERT_EQUAL(plan_spare(&s), PLAN_NO_PLACE);
	s.busy = false;
	r.version = 2;
	CU_ASSERT_EQUAL(plan_spare(&s), PLAN_NO_PLACE);
	r.version = 3;
	r.number = N - 1;
	CU_ASSERT_EQUAL(plan_spare(&s), PLAN_NO_PLACE);
	r.number = N;
	r.committed = false;
	CU_ASSERT_EQUAL(plan_spare(&s), PLAN_NO_PLACE);
	r.committed = true;
	CU_ASSERT_EQUAL(plan_spare(&s), 4);
	a.mode = PLAN_NONE;
	CU_ASSERT_EQUAL(plan_spare(&s), PLAN_NO_PLACE);
	s.rosters = NULL;
	a.mode = PLAN_RW;
	CU_ASSERT_EQUAL(plan_spare(&s), PLAN_NO_PLACE);
}

static enum plan_drain_what drains(struct plan_drain_volume *v, const struct plan_drive *drive,
				   enum plan_drain_why *why)
{
	struct plan_drain d = { .drive = drive, .volumes = 1, .volume = v };
	struct plan_drain_step s;

	plan_drain(&d, &s);
	*why = s.why;
	return s.what;
}

/* What stays on a drive, and the reason. */
static void test_drain(void)
{
	struct plan_extent x = { .uuid = { { 'b' } }, .volume = { { 'v' } }, .state = PLAN_READY, .version = 3 };
	struct plan_drive drive = { .wanted = PLAN_DRAINING, .extents = 1, .extent = &x };
	struct plan_drain_volume v;
	struct plan_drain_step s;
	enum plan_drain_why why;
	struct plan_drain d;

	world();
	v = (struct plan_drain_volume) { .volume = &W.v, .access = &W.a, .rosters = &W.r };
	CU_ASSERT_EQUAL(drains(&v, &drive, &why), PLAN_D_EVICT);
	v.busy = true;
	CU_ASSERT(drains(&v, &drive, &why) == PLAN_D_WAIT && why == PLAN_D_RUNS);
	v.busy = false;
	v.refused = true;
	CU_ASSERT(drains(&v, &drive, &why) == PLAN_D_WAIT && why == PLAN_D_REFUSED);
	v.refused = false;
	W.roster.in_sync = 1;
	CU_ASSERT(drains(&v, &drive, &why) == PLAN_D_WAIT && why == PLAN_D_DETACHED);
	W.roster.in_sync = 3;
	W.a.mode = PLAN_NONE;
	CU_ASSERT(drains(&v, &drive, &why) == PLAN_D_WAIT && why == PLAN_D_DETACHED);
	W.a.mode = PLAN_RW;
	x.uuid.b[0] = 'c';
	CU_ASSERT(drains(&v, &drive, &why) == PLAN_D_WAIT && why == PLAN_D_ALONE);
	x.uuid.b[0] = 'n';
	CU_ASSERT(drains(&v, &drive, &why) == PLAN_D_WAIT && why == PLAN_D_FREED);
	x.uuid.b[0] = 'b';
	x.state = PLAN_FREEING;
	CU_ASSERT(drains(&v, &drive, &why) == PLAN_D_WAIT && why == PLAN_D_FREED);
	/* one at a time, of all volumes */
	d = (struct plan_drain) { .drive = &drive, .volumes = 1, .volume = &v, .running = true };
	plan_drain(&d, &s);
	CU_ASSERT(s.what == PLAN_D_WAIT && s.why == PLAN_D_RUNS);
	drive.extents = 0;
	CU_ASSERT_EQUAL(drains(&v, &drive, &why), PLAN_D_OUT);
	drive.wanted = PLAN_IN;
	CU_ASSERT_EQUAL(drains(&v, &drive, &why), PLAN_D_BEGIN);
	drive.wanted = PLAN_FORGOTTEN;
	CU_ASSERT_EQUAL(drains(&v, &drive, &why), PLAN_D_FAIL);
}

/* All volumes of the drive, or none; once it has begun, those that may. */
static void test_forget_drive(void)
{
	static const struct muuid V = { { 'v' } }, U = { { 'u' } };
	struct plan_extent x[2] = { { .uuid = { { 'b' } }, .volume = V, .state = PLAN_READY },
				    { .uuid = { { 'c' } }, .volume = U, .state = PLAN_READY } };
	struct plan_drive drive = { .wanted = PLAN_IN, .extents = 2, .extent = x };
	struct plan_volume u = { .uuid = U, .state = PLAN_VOLUME_READY };
	struct plan_access none = { .mode = PLAN_NONE };
	struct plan_forget_volume v[2];
	struct plan_forget_drive f = { .drive = &drive, .volumes = 2, .volume = v };
	struct plan_forget_step s;

	world();
	W.a.mode = PLAN_NONE;
	v[0] = (struct plan_forget_volume) { .volume = &W.v, .access = &W.a };
	v[1] = (struct plan_forget_volume) { .volume = &u, .access = &none, .busy = true };
	plan_forget_drive(&f, &s);
	CU_ASSERT(s.what == PLAN_F_WAIT && s.verdict == PLAN_WAIT && muuid_equal(&s.volume, &U));
	v[1].busy = false;
	v[1].readers = 1;
	plan_forget_drive(&f, &s);
	CU_ASSERT(s.what == PLAN_F_WAIT && s.verdict == PLAN_READ);
	drive.wanted = PLAN_FORGOTTEN;
	plan_forget_drive(&f, &s);
	CU_ASSERT(s.what == PLAN_F_VOLUME && muuid_equal(&s.volume, &V));
	W.a.mode = PLAN_RW;
	plan_forget_drive(&f, &s);
	CU_ASSERT(s.what == PLAN_F_WAIT && s.verdict == PLAN_HELD && muuid_equal(&s.volume, &V));
	u.state = PLAN_DELETING;
	plan_forget_drive(&f, &s);
	CU_ASSERT(s.what == PLAN_F_DROP && muuid_equal(&s.volume, &U));
	/* too late for a cancel */
	f.cancel = true;
	plan_forget_drive(&f, &s);
	CU_ASSERT_EQUAL(s.what, PLAN_F_DROP);
	drive.wanted = PLAN_IN;
	plan_forget_drive(&f, &s);
	CU_ASSERT_EQUAL(s.what, PLAN_F_END);
}

static void test_wait(void)
{
	struct plan_wait w = { 0 };
	struct plan_work k = { 0 };

	/* Without redundancy there is nothing to wait for; with it, groups that are not there yet. */
	CU_ASSERT_EQUAL(plan_wait(&w, &k, false, 1000), PLAN_WAIT_DONE);
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_GROUPS);
	CU_ASSERT_EQUAL(w.total, 0);
	k.health = PLAN_WHOLE;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_DONE);
	k.health = PLAN_DEGRADED;
	k.behind = 100;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_GROUPS);
	k.health = PLAN_REBUILDING;
	k.scrubs = true;
	k.copies = 10;
	k.behind = 70;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_REBUILD);
	CU_ASSERT(w.done == 30 && w.total == 100);
	k.behind = 160;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_REBUILD);
	CU_ASSERT(w.done == 0 && w.total == 160);
	k.health = PLAN_WHOLE;
	k.behind = 0;
	k.copied = 12;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_COPY);
	CU_ASSERT(w.done == 10 && w.total == 10);
	k.copies = k.copied = 0;
	k.scrubbed = 4;
	k.bytes = 8;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_SCRUB);
	CU_ASSERT(w.done == 4 && w.total == 8);
	k.scrubs = false;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_DONE);
}

/* Given up alone where a place is unread, and nothing has moved for long since it is. */
static void test_wait_stuck(void)
{
	struct plan_wait w = { 0 };
	struct plan_work k = { .health = PLAN_REBUILDING, .behind = 512 };

	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000), PLAN_WAIT_REBUILD);
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000 + 2 * PLAN_STUCK_MS), PLAN_WAIT_REBUILD);
	k.unread_bytes = 512;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 3 * PLAN_STUCK_MS), PLAN_WAIT_REBUILD);
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 1000 + 3 * PLAN_STUCK_MS - 1), PLAN_WAIT_REBUILD);
	k.behind = 256;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 4 * PLAN_STUCK_MS), PLAN_WAIT_REBUILD);
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 5 * PLAN_STUCK_MS - 1), PLAN_WAIT_REBUILD);
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 5 * PLAN_STUCK_MS), PLAN_WAIT_STUCK);
	k.health = PLAN_WHOLE;
	CU_ASSERT_EQUAL(plan_wait(&w, &k, true, 5 * PLAN_STUCK_MS), PLAN_WAIT_DONE);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "recover: what becomes of a volume", test_recover_volume },
		{ "recover: the host that goes on", test_recover_writer },
		{ "a note never takes a later one away", test_raises },
		{ "members beside the layout", test_members },
		{ "evictions", test_evict },
		{ "evictions as tasks", test_evict_task },
		{ "members that have left", test_left },
		{ "freed when no kernel may use it", test_freeable },
		{ "a drive that was forgotten", test_forgotten },
		{ "which member a spare replaces", test_spare },
		{ "which member leaves a drive", test_drain },
		{ "which volumes a forgotten drive leaves", test_forget_drive },
		{ "the end of work in the background", test_wait },
		{ "... that does not come", test_wait_stuck },
		{ NULL, NULL },
	};

	return suite_main("plan_rules", tests);
}
