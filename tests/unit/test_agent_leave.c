// SPDX-License-Identifier: GPL-2.0-only
/* Drives that leave by force, that hang meanwhile, or that come back: on two hosts over one store in a file. */
#include "tests/unit/export_rig.h"

/* A drive that a volume has open goes by force alone, and comes back as the drive that it was. */
static void t_preempt(void)
{
	const u8 flags[] = { 1, 2, 3 };		/* bits: force, preempt */
	struct muuid d;

	begin();
	d = exported();
	put_extents(&d, 2);
	disks[0].open = true;
	for (size_t i = 0; i < sizeof(flags); i++) {
		json_t *args = json_pack("{s:s}", "drive", muuid_str(&d).s);

		if (flags[i] & 1)
			json_object_set_new(args, "force", json_true());
		if (flags[i] & 2)
			json_object_set_new(args, "preempt", json_true());
		put_task(2 + i, "drive unexport", 2, args);
		settle();
		CU_ASSERT_EQUAL(disks[0].served, flags[i] == 3 ? 0 : 1);
	}
	FAILED(2, "served still");
	FAILED(3, "--force");
	DONE(4);
	CU_ASSERT_STRING_EQUAL(log_, "take-away ");
	CU_ASSERT(drive_key(&d)->plan.wanted == PLAN_OUT && drive_key(&d)->plan.extents == 2);
	host_stop(1);
	host_start(1);
	CU_ASSERT_EQUAL(disks[0].served, 0);
	put_export(5, 1, "/dev/d0", NULL);
	settle();
	DONE(5);
	CU_ASSERT_STRING_EQUAL(log_, "probe probe take ");
	CU_ASSERT(muuid_equal(&disks[0].d.drive, &d) && drive_key(&d)->plan.extents == 2);
	CU_ASSERT_EQUAL(drive_key(&d)->plan.wanted, PLAN_IN);
	end();
}

/* A drive that hangs: after a while the task says what it waits for, once, and then it ends as done. */
static void t_hangs(void)
{
	struct muuid d;

	for (int preempt = 0; preempt < 2; preempt++) {
		json_t *args;

		begin();
		d = exported();
		put_extents(&d, 1);
		args = json_pack("{s:s, s:b}", "drive", muuid_str(&d).s, "force", 1);
		if (preempt)
			json_object_set_new(args, "preempt", json_true());
		leave_err = -EINPROGRESS;
		put_task(2, "drive unexport", 1, args);
		settle();
		CU_ASSERT(task(2)->state == OBJ_TASK_RUNNING && !task(2)->step[0]);
		hosts[1].agent.now += 5;
		settle();
		CU_ASSERT(task(2)->state == OBJ_TASK_RUNNING && !!strstr(task(2)->step, "have lost it") == preempt);
		hosts[1].agent.now += 5;
		settle();
		CU_ASSERT_EQUAL(task(2)->changed, preempt ? 1005 : 1000);
		leave_err = 0;
		settle();
		DONE(2);
		CU_ASSERT_STRING_EQUAL(task(2)->step, "");
		end();
	}
}

/* The kernel alone had it, and a scan has found it since: it is served, and no label is left behind. */
static void t_came_back(void)
{
	struct muuid d;

	begin();
	d = exported();
	wipe_err = -EEXIST;
	put_unexport(2, 1, &d, false);
	settle();
	FAILED(2, "served still");
	CU_ASSERT(disks[0].served == 1 && drive_key(&d));
	end();
}

/* It had gone before the task, so nothing of it was written: the task does not hide that. */
static void t_away(void)
{
	struct muuid d;

	begin();
	d = exported();
	disks[0].served = 0;
	put_unexport(2, 1, &d, false);
	settle();
	DONE(2);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(2)->step, "was away"));
	put_export(3, 1, "/dev/d0", NULL);
	settle();
	DONE(3);
	put_unexport(4, 1, &disks[0].d.drive, false);
	settle();
	DONE(4);
	CU_ASSERT_STRING_EQUAL(task(4)->step, "");
	end();
}

static const struct rig_test tests[] = {
	{ "by force", t_preempt },
	{ "... that hangs", t_hangs },
	{ "... that came back", t_came_back },
	{ "... that was away", t_away },
};

int main(void)
{
	return rig_main("agent_leave", tests, sizeof(tests) / sizeof(tests[0]));
}
