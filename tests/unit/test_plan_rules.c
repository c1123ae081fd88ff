// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the cluster, each alone: tables of objects and of what is decided from them. */
#include <linux/kernel.h>

#include "tests/unit/suite.h"
#include "userspace/plan/access.h"
#include "userspace/plan/members.h"
#include "userspace/plan/mutant.h"

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

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a note never takes a later one away", test_raises },
		{ "members beside the layout", test_members },
		{ NULL, NULL },
	};

	return suite_main("plan_rules", tests);
}
