// SPDX-License-Identifier: GPL-2.0-only
/* Tasks end, lose no space and remove nothing that is used, in any order, with actors that are behind or die. */
#include <linux/kernel.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/suite.h"
#include "tests/unit/task_world.h"
#include "userspace/plan/mutant.h"

#define RUNS	1500
#define STEPS	600

/* Runs until one is wrong; *@changed: how many decided a version. Return: what is wrong; NULL. */
static const char *runs(unsigned int n, unsigned int *changed)
{
	const char *wrong = NULL;
	bool done;

	*changed = 0;
	for (unsigned int i = 0; i < n && !wrong; i++) {
		wrong = tworld_run(i, i & 1, STEPS, &done);
		*changed += done;
		if (wrong && !plan_mutation)
			fprintf(stderr, "seed %u: %s\n", i, wrong);
	}
	return wrong;
}

static void test_tasks(void)
{
	unsigned int changed;

	CU_ASSERT_PTR_NULL(runs(RUNS, &changed));
	CU_ASSERT(changed > RUNS / 10);
	CU_ASSERT(tworld_left > RUNS / 30);
}

/* What is not here is the search's: tests/sim/cluster. */
static void test_mutants(void)
{
	static const enum plan_mutant must[] = {
		PLAN_MUT_ATTACH_DELETED, PLAN_MUT_EXTENT_UNZEROED, PLAN_MUT_EXTENT_KEY,
		PLAN_MUT_CHANGE_VERSION, PLAN_MUT_DELETE_HELD, PLAN_MUT_EXTENT_VERSION,
	};
	unsigned int changed;

	for (size_t i = 0; i < ARRAY_SIZE(must); i++) {
		const char *wrong;

		plan_mutation = must[i];
		wrong = runs(RUNS, &changed);
		if (!wrong)
			fprintf(stderr, "mutant %d is not noticed\n", must[i]);
		CU_ASSERT_PTR_NOT_NULL(wrong);
	}
	plan_mutation = PLAN_MUT_NONE;
}

/* A begun roster may name less than the committed one before it. */
static void test_begun(void)
{
	static const struct plan_volume v = { .state = PLAN_VOLUME_READY, .layout = { .version = 2 } };
	static const struct plan_access a = { .mode = PLAN_RW, .number = 1 << 16 };
	static const struct plan_roster roster = { .attach = 1, .members = 2, .in_sync = 1 };
	struct plan_rosters r = { .number = 1 << 16, .version = 2, .groups = 1, .roster = &roster };
	struct plan_extent x = { .uuid = { .b = { 'x' } }, .state = PLAN_READY };
	struct plan_txn t;

	CU_ASSERT_EQUAL(plan_freeable(&x, &v, &a, &r, false, &t), PLAN_WAIT);
	plan_mutation = PLAN_MUT_FREE_BEGUN;
	CU_ASSERT_EQUAL(plan_freeable(&x, &v, &a, &r, false, &t), PLAN_GO);
	plan_mutation = PLAN_MUT_NONE;
	r.committed = true;
	CU_ASSERT_EQUAL(plan_freeable(&x, &v, &a, &r, false, &t), PLAN_GO);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "tasks in any order", test_tasks },
		{ "rules taken out", test_mutants },
		{ "freed by committed rosters alone", test_begun },
		{ NULL, NULL },
	};

	return suite_main("plan_task", tests);
}
