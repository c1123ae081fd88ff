// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights on tasks that export and unexport drives, and on drives that end so; what an agent may change
 * of a task or a drive is in test_store_rights_values.c.
 */
#include "rights_rig.h"
#include "suite.h"

/* A client exports for itself alone. */
static void test_task_drive(void)
{
	const char *good = drive_task(NONE, "drive export", LOCAL_ARGS);

	rights_begin();
	YES(CLIENT("task/" NONE, good, 0));
	YES(CLIENT("task/" NONE, edit(good, "args.host", Q(SELF)), 0));
	NO(CLIENT("task/" NONE, edit(good, "args.host", Q(OTHER)), 0), "drives of its own");
	NO(CLIENT("task/" NONE, edit(good, "args.host", "5"), 0), "no UUID");
	NO(CLIENT("task/" NONE, edit(good, "args.local", "false"), 0), "local drives");
	NO(CLIENT("task/" NONE, edit(good, "args.local", NULL), 0), "local drives");
	NO(CLIENT("task/" NONE, edit(good, "host", Q(OTHER)), 0), "must name the host");
	NO(CLIENT("task/" NONE, edit(good, "verb", Q("drive export all")), 0), "may only create");
	YES(CLIENT("task/" NONE, drive_task(NONE, "drive unexport", "{\"drive\":" Q(D1) "}"), 0));
	YES(CLIENT("task/" NONE, drive_task(NONE, "drive unexport", "{\"drive\":" Q(NONE) "}"), 0));
	NO(CLIENT("task/" NONE, drive_task(NONE, "drive unexport", "{\"drive\":" Q(D2) "}"), 0), "of its own");
	NO(CLIENT("task/" NONE, drive_task(NONE, "drive unexport", "{\"drive\":" Q(D3) "}"), 0), "local drives");
	NO(CLIENT("task/" NONE, drive_task(NONE, "drive unexport", "{}"), 0), "no UUID");
	YES(STORAGE("task/" NONE, edit(edit(good, "args.local", NULL), "args.host", Q(OTHER)), 0));
	rights_end();
}

/* An unexport ends so. */
static void test_drive_end(void)
{
	static const char *const drives[] = { D1, D2, D3, D5, D6 };
	struct store_op o = { .key = "drive/" D1 };
	struct store_txn t = { .op = &o, .ops = 1 };
	char key[STORE_KEY_MAX];

	rights_begin();
	NO(CLIENT("drive/" D1, NULL, 0), "has extents");
	NO(STORAGE("drive/" D3, NULL, 0), "has extents");
	for (size_t i = 0; i < ARRAY_SIZE(drives); i++) {
		snprintf(key, sizeof(key), "drive/%s", drives[i]);
		rig_change(key, edit(rig_now(key), "extents", "[]"));
	}
	YES(CLIENT("drive/" D1, NULL, 0));
	YES(STORAGE("drive/" D1, NULL, 0));
	YES(STORAGE("drive/" D3, NULL, 0));
	NO(CLIENT("drive/" D3, NULL, 0), "not local");
	NO(CLIENT("drive/" D2, NULL, 0), "another host");
	NO(STORAGE("drive/" D2, NULL, 0), "another host");
	NO(CLIENT("drive/" D6, NULL, 0), "another host");
	NO(CLIENT("drive/" D5, NULL, 0), "forgotten");
	NO(STORAGE("drive/" D5, NULL, 0), "forgotten");
	/* an extent may have been given out since */
	NO(judge(PLAN_STORAGE, &t), "compare");
	rights_end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "task of a drive", test_task_drive },
		{ "drive ends", test_drive_end },
		{ NULL, NULL },
	};

	return suite_main("rights on drives", tests);
}
