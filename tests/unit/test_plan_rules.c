// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the cluster, each alone: tables of objects and of what is decided from them. */
#include <linux/kernel.h>

#include "tests/unit/suite.h"
#include "userspace/plan/access.h"
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

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a note never takes a later one away", test_raises },
		{ NULL, NULL },
	};

	return suite_main("plan_rules", tests);
}
