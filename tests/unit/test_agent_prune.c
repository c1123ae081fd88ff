// SPDX-License-Identifier: GPL-2.0-only
/* What has ended goes after a while: which of it, and by whom. */
#include "tests/unit/tasks_rig.h"
#include "userspace/agent/prune.h"
#include "userspace/plan/prune.h"

#define DAY	86400ULL
#define NOW	(100 * DAY)

static void t_rule(void)
{
	struct plan_past p[] = { { 40, 1 }, { 40, 3 }, { 50, 0 }, { 60, 2 } };

	CU_ASSERT_EQUAL(plan_prune(p, 0, 100, 10, 3), 0);
	CU_ASSERT_EQUAL(plan_prune(p, 4, 100, 0, 4), 0);
	CU_ASSERT_EQUAL(plan_prune(p, 4, 100, 0, 3), 1);
	CU_ASSERT_EQUAL(plan_prune(p, 4, 100, 0, 0), 4);
	/* by age: more than it, not as much; what is too many goes as well, where it is younger */
	CU_ASSERT_EQUAL(plan_prune(p, 4, 100, 60, 9), 0);
	CU_ASSERT_EQUAL(plan_prune(p, 4, 101, 60, 9), 2);
	CU_ASSERT_EQUAL(plan_prune(p, 4, 111, 60, 9), 3);
	CU_ASSERT_EQUAL(plan_prune(p, 4, 101, 60, 1), 3);
	/* a clock that was set back */
	CU_ASSERT_EQUAL(plan_prune(p, 4, 30, 5, 9), 0);
}

static void put_task(u32 n, u8 state, u64 changed)
{
	struct obj_task x = { .uuid = { .b = { 't', n >> 8, n } }, .state = state, .host = rig_id('h', 1),
			      .verb = "volume paint", .changed = changed };

	if (state == OBJ_TASK_FAILED)
		strcpy(x.error, "no paint");
	rig_put(A, KEY_TASK, &x);
}

static bool has_task(u32 n)
{
	return copy_get(A, &(struct key) { .kind = KEY_TASK, .task = { .b = { 't', n >> 8, n } } });
}

static u32 count(enum key_kind kind)
{
	const struct copy_item *i = NULL;
	u32 n = 0;

	while ((i = copy_next(A, &(struct key) { .kind = kind }, 0, i)))
		n++;
	return n;
}

static u32 prune_all(void)
{
	u32 n = 0;
	int ret = 1;

	for (u32 i = 0; i < 100 && ret; i++) {
		rig_catch_up(con.c);
		ret = prune_tasks(&con.tasks);
		CU_ASSERT(ret == 0 || ret == 1 || ret == -ECANCELED);
		n += ret == 1;
	}
	CU_ASSERT_EQUAL(ret, 0);
	rig_catch_up(A);
	return n;
}

static void t_tasks(void)
{
	begin(1, 0);
	con.tasks.now = NOW;
	put_task(1, OBJ_TASK_DONE, NOW - 7 * DAY - 1);
	put_task(2, OBJ_TASK_FAILED, NOW - 8 * DAY);
	put_task(3, OBJ_TASK_CANCELLED, NOW - 9 * DAY);
	put_task(4, OBJ_TASK_DONE, NOW - 7 * DAY);
	put_task(5, OBJ_TASK_WAITING, NOW - 90 * DAY);
	put_task(6, OBJ_TASK_RUNNING, 0);
	put_task(7, OBJ_TASK_CANCELLING, 0);
	put_task(8, OBJ_TASK_DONE, NOW + DAY);
	/* the controller alone, and not of a store that was put back */
	CU_ASSERT_EQUAL(prune_all(), 0);
	rig_catch_up(con.c);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 1), 1);
	con.tasks.stopped = true;
	CU_ASSERT_EQUAL(prune_all(), 0);
	con.tasks.stopped = false;
	CU_ASSERT_EQUAL(prune_all(), 1);
	for (u32 n = 1; n <= 8; n++)
		CU_ASSERT_EQUAL(has_task(n), n > 3);
	end();
}

/* Others change tasks meanwhile, and controllers die. */
static void t_many_tasks(void)
{
	begin(2, 0);
	con.tasks.now = NOW;
	put_task(0, OBJ_TASK_RUNNING, 1);
	for (u32 n = 1; n <= PLAN_KEPT_MOST + 150; n++)
		put_task(n, n % 2 ? OBJ_TASK_DONE : OBJ_TASK_FAILED, NOW - 5000 + (n * 7) % 5003);
	rig_catch_up(con.c);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 1), 1);
	odds = 2;
	CU_ASSERT_EQUAL(prune_all(), 3);
	CU_ASSERT(crashes);
	CU_ASSERT_EQUAL(count(KEY_TASK), PLAN_KEPT_MOST + 1);
	CU_ASSERT(has_task(0));
	for (u32 n = 1, kept = 0; n <= PLAN_KEPT_MOST + 150; n++) {
		u64 age = 5000 - (n * 7) % 5003;

		/* no task that went is younger than one that is kept */
		kept += has_task(n);
		for (u32 k = 1; !has_task(n) && k <= PLAN_KEPT_MOST + 150; k += 97)
			CU_ASSERT(!has_task(k) || (u64)(5000 - (k * 7) % 5003) <= age);
		CU_ASSERT(kept <= PLAN_KEPT_MOST);
	}
	end();
}

/* A controller that does not lead any more deletes nothing. */
static void t_lead(void)
{
	struct obj_leader other = { .host = rig_id('h', 3) };

	begin(1, 0);
	con.tasks.now = NOW;
	put_task(1, OBJ_TASK_DONE, 1);
	rig_catch_up(con.c);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 1), 1);
	rig_catch_up(A);
	rig_erase(A, &(struct key) { .kind = KEY_LEADER });
	rig_put(A, KEY_LEADER, &other);
	CU_ASSERT_EQUAL(prune_tasks(&con.tasks), 0);
	rig_catch_up(A);
	CU_ASSERT(has_task(1));
	end();
}

static void put_event(u8 host, u64 serial)
{
	struct obj_event e = { .host = rig_id('h', host), .serial = serial, .at = serial, .what = "test", .words = "it was" };

	rig_put(A, KEY_EVENT, &e);
}

static bool has_event(u8 host, u64 serial)
{
	return copy_get(A, &(struct key) { .kind = KEY_EVENT, .host = rig_id('h', host), .serial = serial });
}

/* Each host deletes its own. */
static void t_events(void)
{
	struct muuid host = rig_id('h', 2);
	u32 n = 0;

	begin(1, 0);
	OK(copy_follow(A, &(struct key) { .kind = KEY_EVENT }, 0));
	for (u64 s = 1; s <= PLAN_KEPT_MOST + 70; s++)
		put_event(2, s << 40);
	for (u64 s = 1; s <= 20; s++)
		put_event(1, s);
	while (prune_events(A, &host) == 1)
		n++;
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_EQUAL(count(KEY_EVENT), PLAN_KEPT_MOST + 20);
	CU_ASSERT(!has_event(2, 70ULL << 40));
	CU_ASSERT(has_event(2, 71ULL << 40));
	CU_ASSERT(has_event(1, 1));
	end();
}

static const struct rig_test tests[] = {
	{ "the rule", t_rule },
	{ "tasks", t_tasks },
	{ "many tasks", t_many_tasks },
	{ "not the controller", t_lead },
	{ "events", t_events },
};

int main(void)
{
	return rig_main("agent_prune", tests, sizeof(tests) / sizeof(tests[0]));
}
