// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives that come and go by command, on two hosts over one store in a file. The verdicts over disks
 * are in test_export_judge.c.
 */
#include "tests/unit/export_rig.h"
#include "userspace/agent/drive_say.h"

/* Export, unexport by force, move to the other host with all that is on it, wipe there. */
static void life(void)
{
	const struct obj_drive *key;
	struct muuid d;

	put_export(1, 1, "/dev/d0", NULL);
	settle();
	if (!odds)
		CU_ASSERT_STRING_EQUAL(log_, "probe probe label take ");
	DONE(1);
	CU_ASSERT_EQUAL_FATAL(drives(), 1);
	d = disks[0].d.drive;
	CU_ASSERT(muuid_equal(&task(1)->drive, &d) && task(1)->changed == 1000);
	CU_ASSERT_EQUAL(disks[0].served, 1);
	key = drive_key(&d);
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT(key->plan.wanted == PLAN_IN && key->plan.host.b[1] == 1 && !key->plan.extents);
	CU_ASSERT(key->size == GIB && key->lba == 512 && !key->local && key->sequence == disks[0].d.sequence);
	CU_ASSERT_STRING_EQUAL(key->path, "/dev/d0");
	CU_ASSERT_STRING_EQUAL(key->serial, "S0");
	CU_ASSERT_STRING_EQUAL(key->model, "disk");
	CU_ASSERT(last_label.generation == 3 && last_label.cluster.b[0] == 'c' && last_label.size == GIB);
	put_extents(&d, 2);
	put_unexport(2, 2, &d, true);
	settle();
	if (!odds)
		CU_ASSERT_STRING_EQUAL(log_, "leave ");
	DONE(2);
	CU_ASSERT_EQUAL(disks[0].served, 0);
	CU_ASSERT(muuid_equal(&disks[0].d.drive, &d) && disks[0].d.left);
	key = drive_key(&d);
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT(key->plan.wanted == PLAN_OUT && key->plan.extents == 2);
	put_export(3, 2, "/dev/d0", NULL);
	settle();
	if (!odds)
		CU_ASSERT_STRING_EQUAL(log_, "probe probe own take ");
	DONE(3);
	key = drive_key(&d);
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT(key->plan.wanted == PLAN_IN && key->plan.host.b[1] == 2 && key->plan.extents == 2);
	CU_ASSERT(disks[0].served == 2 && disks[0].d.owner.b[1] == 2);
	put_extents(&d, 0);
	put_unexport(4, 1, &d, false);
	settle();
	if (!odds)
		CU_ASSERT_STRING_EQUAL(log_, "wipe ");
	DONE(4);
	CU_ASSERT_EQUAL(drives(), 0);
	CU_ASSERT_EQUAL(disks[0].served, 0);
	if (!odds)
		CU_ASSERT_EQUAL(disks[0].d.found, EXPORT_EMPTY);
}

static void t_life(void)
{
	begin();
	life();
	end();
	for (u32 s = 1; s <= 60; s++) {
		begin_with(s, 3 + s % 5);
		life();
		end();
	}
}

/* Steps that take their time are called again, and made once. */
static void t_slow(void)
{
	struct muuid d;

	begin();
	slow = 5;
	put_export(1, 1, "/dev/d0", NULL);
	settle();
	CU_ASSERT_STRING_EQUAL(log_, "probe probe label take ");
	DONE(1);
	d = disks[0].d.drive;
	slow = 3;
	put_unexport(2, 1, &d, false);
	settle();
	CU_ASSERT_STRING_EQUAL(log_, "wipe ");
	DONE(2);
	end();
}

/* A drive that is one stays it, with what is on it; one that left comes back by command alone. */
static void t_again(void)
{
	struct muuid d;

	begin();
	d = exported();
	put_extents(&d, 1);
	put_export(2, 1, "/dev/d0", NULL);
	settle();
	DONE(2);
	CU_ASSERT_STRING_EQUAL(log_, "probe probe take ");
	CU_ASSERT_EQUAL(drive_key(&d)->plan.extents, 1);
	put_unexport(3, 1, &d, true);
	settle();
	host_stop(1);
	host_start(1);
	CU_ASSERT_EQUAL(disks[0].served, 0);
	put_export(4, 1, "/dev/d0", NULL);
	settle();
	DONE(4);
	CU_ASSERT(disks[0].served == 1 && drive_key(&d)->plan.wanted == PLAN_IN);
	CU_ASSERT_EQUAL(drive_key(&d)->plan.extents, 1);
	host_stop(1);
	host_start(1);
	CU_ASSERT_EQUAL(disks[0].served, 1);
	end();
}

/* A device that has grown: its label, then the store. */
static void grown(void)
{
	struct muuid d = exported();

	put_extents(&d, 1);
	disks[0].d.disk.size = 2 * GIB;
	put_export(2, 1, "/dev/d0", NULL);
	settle();
	DONE(2);
	CU_ASSERT_EQUAL(disks[0].labelled, 2 * GIB);
	CU_ASSERT(drive_key(&d)->size == 2 * GIB && drive_key(&d)->plan.extents == 1);
	CU_ASSERT_STRING_EQUAL(task(2)->step, "");
}

static void t_grown(void)
{
	struct muuid d;

	begin();
	grown();
	CU_ASSERT_STRING_EQUAL(log_, "probe probe take grow ");
	end();
	for (u32 s = 1; s <= 30; s++) {
		begin_with(s, 3 + s % 5);
		grown();
		end();
	}
	/* A label that does not grow is one of a drive that is served, and the store says its size. */
	begin();
	d = exported();
	put_unexport(2, 1, &d, false);
	put_extents(&d, 1);
	put_unexport(3, 1, &d, true);
	settle();
	disks[0].d.disk.size = 2 * GIB;
	grow_err = -EIO;
	put_export(4, 1, "/dev/d0", NULL);
	settle();
	DONE(4);
	CU_ASSERT_STRING_EQUAL(task(4)->step, "it does not grow: the disk says no");
	CU_ASSERT(disks[0].served == 1 && drive_key(&d)->plan.wanted == PLAN_IN && drive_key(&d)->size == GIB);
	end();
}

static void t_move(void)
{
	struct muuid d;

	begin();
	d = exported();
	put_extents(&d, 1);
	put_export(2, 2, "/dev/d0", NULL);
	settle();
	FAILED(2, "has not left it");
	CU_ASSERT(drive_key(&d)->plan.host.b[1] == 1 && disks[0].d.owner.b[1] == 1 && disks[0].served == 1);
	/* its host is gone for good */
	host_stop(1);
	put_host(1, PLAN_STORAGE, true);
	put_export(3, 2, "/dev/d0", NULL);
	host_start(1);
	hosts[1].agent.stopped = true;
	disks[0].served = 0;
	settle();
	DONE(3);
	CU_ASSERT(drive_key(&d)->plan.host.b[1] == 2 && disks[0].d.owner.b[1] == 2 && disks[0].served == 2);
	CU_ASSERT_EQUAL(drive_key(&d)->plan.wanted, PLAN_IN);
	end();
}

static void t_full(void)
{
	struct muuid d;

	begin();
	d = exported();
	put_extents(&d, 8);
	put_unexport(2, 1, &d, false);
	settle();
	FAILED(2, "extents of data, ");
	CU_ASSERT_PTR_NOT_NULL(strstr(task(2)->error, " and 3 more: "));
	CU_ASSERT(drive_key(&d)->plan.wanted == PLAN_IN && disks[0].served == 1);
	CU_ASSERT_STRING_EQUAL(log_, "");
	/* the label has one that the store does not know */
	put_extents(&d, 0);
	disks[0].extents = 1;
	put_unexport(3, 1, &d, false);
	settle();
	FAILED(3, "does not know yet");
	CU_ASSERT(disks[0].served == 1 && disks[0].d.found == EXPORT_LABEL);
	CU_ASSERT_EQUAL(drive_key(&d)->plan.wanted, PLAN_DRAINING);
	put_export(4, 1, "/dev/d0", NULL);
	settle();
	DONE(4);
	CU_ASSERT_EQUAL(drive_key(&d)->plan.wanted, PLAN_IN);
	end();
}

/* An extent is given out while the drive leaves: the agent has to notice. */
/* A file system that is made between the task's begin and the label is not erased. */
static void t_changed(void)
{
	begin();
	mkfs_after = 1;
	put_export(1, 1, "/dev/d0", NULL);
	CU_ASSERT_STRING_EQUAL(settle(), "probe probe ");
	CU_ASSERT_EQUAL(task(1)->state, OBJ_TASK_FAILED);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(1)->error, "file system"));
	CU_ASSERT_EQUAL(disks[0].d.found, EXPORT_FOREIGN);
	CU_ASSERT_EQUAL(drives(), 0);
	end();
}

static void t_raced(void)
{
	struct obj_drive key;
	struct muuid d;

	begin();
	d = exported();
	put_unexport(2, 1, &d, false);
	slow = 1000;
	rig_catch_up(hosts[1].c);
	CU_ASSERT_EQUAL(export_turn(&hosts[1].agent), 1);
	CU_ASSERT_EQUAL(drive_key(&d)->plan.wanted, PLAN_DRAINING);
	CU_ASSERT_EQUAL(export_turn(&hosts[1].agent), 0);
	slow = 0;
	put_extents(&d, 1);
	settle();
	FAILED(2, "extents of data");
	CU_ASSERT_EQUAL(disks[0].served, 1);
	/* it is in again, by another command: extents could be placed while it leaves */
	put_extents(&d, 0);
	put_unexport(3, 1, &d, false);
	slow = 1000;
	rig_catch_up(hosts[1].c);
	CU_ASSERT_EQUAL(export_turn(&hosts[1].agent), 1);
	key = *drive_key(&d);
	key.plan.wanted = PLAN_IN;
	rig_put(O, KEY_DRIVE, &key);
	slow = 0;
	settle();
	DONE(3);
	/* given up for good meanwhile */
	put_export(4, 1, "/dev/d0", NULL);
	settle();
	d = disks[0].d.drive;
	key = *drive_key(&d);
	key.plan.wanted = PLAN_FORGOTTEN;
	rig_put(O, KEY_DRIVE, &key);
	put_unexport(5, 1, &d, true);
	settle();
	FAILED(5, "forgotten");
	CU_ASSERT_EQUAL(drive_key(&d)->plan.wanted, PLAN_FORGOTTEN);
	end();
}

static void t_errors(void)
{
	struct muuid d;

	begin();
	put_export(1, 1, "/dev/none", NULL);
	settle();
	FAILED(1, "/dev/none: the disk says no");
	label_err = -EIO;
	put_export(2, 1, "/dev/d0", NULL);
	settle();
	FAILED(2, "label cannot be written: the disk says no");
	CU_ASSERT_EQUAL(drives(), 0);
	label_err = 0;
	take_err = -EEXIST;
	put_export(3, 1, "/dev/d0", NULL);
	settle();
	FAILED(3, "cannot be served: the disk says no");
	CU_ASSERT_EQUAL(drives(), 0);
	/* its label names nothing that could be lost */
	take_err = 0;
	put_export(4, 1, "/dev/d0", NULL);
	settle();
	DONE(4);
	CU_ASSERT_EQUAL(drives(), 1);
	d = disks[0].d.drive;
	CU_ASSERT(!muuid_equal(&task(3)->drive, &d));
	leave_err = -EBUSY;
	put_unexport(5, 1, &d, false);
	settle();
	FAILED(5, "reverts that): the disk says no");
	CU_ASSERT_EQUAL(drives(), 1);
	/* the drive fails: it leaves with its label on it */
	leave_err = 0;
	wipe_err = -EIO;
	put_unexport(6, 1, &d, false);
	settle();
	DONE(6);
	CU_ASSERT_STRING_EQUAL(task(6)->step, "its label could not be wiped");
	CU_ASSERT(disks[0].served == 0 && drives() == 0);
	/* not there at all */
	wipe_err = 0;
	put_export(7, 1, "/dev/d1", NULL);
	settle();
	d = disks[1].d.drive;
	disks[1].served = 0;
	put_unexport(8, 1, &d, false);
	settle();
	DONE(8);
	CU_ASSERT_EQUAL(drives(), 0);
	end();
}

/* Between the daemon that began and the next one the path has become another disk's. */
static void t_another(void)
{
	struct muuid d;

	begin();
	slow = 1000;
	put_export(1, 1, "/dev/d0", NULL);
	slow = 0;
	take_err = -EINPROGRESS;
	settle();
	CU_ASSERT_EQUAL(task(1)->state, OBJ_TASK_RUNNING);
	CU_ASSERT_EQUAL(drives(), 0);
	d = task(1)->drive;
	CU_ASSERT(muuid_equal(&disks[0].d.drive, &d));
	take_err = 0;
	settle();
	DONE(1);
	put_extents(&d, 1);
	/* taken up again by a task that dies when it has begun */
	put_unexport(2, 1, &d, true);
	settle();
	take_err = -EINPROGRESS;
	put_export(3, 1, "/dev/d0", NULL);
	settle();
	CU_ASSERT_EQUAL(task(3)->state, OBJ_TASK_RUNNING);
	host_stop(1);
	strcpy(disks[0].d.disk.path, "/dev/d1");
	strcpy(disks[1].d.disk.path, "/dev/d0");
	take_err = 0;
	host_start(1);
	settle();
	FAILED(3, "another disk");
	CU_ASSERT_EQUAL(disks[1].d.found, EXPORT_EMPTY);
	CU_ASSERT_EQUAL(drives(), 1);
	/* ... and a drive of this host, too */
	put_export(4, 1, "/dev/d0", NULL);
	settle();
	DONE(4);
	take_err = -EINPROGRESS;
	put_export(5, 1, "/dev/d2", NULL);
	settle();
	CU_ASSERT_EQUAL(task(5)->state, OBJ_TASK_RUNNING);
	host_stop(1);
	strcpy(disks[2].d.disk.path, "/dev/d0");
	strcpy(disks[1].d.disk.path, "/dev/d2");
	take_err = 0;
	host_start(1);
	settle();
	FAILED(5, "another disk");
	end();
}

/* Recover raises the generation while a drive is exported: its end is decided again. */
static void t_recovered(void)
{
	struct obj_cluster c;

	begin();
	take_err = -EINPROGRESS;
	put_export(1, 1, "/dev/d0", NULL);
	settle();
	take_err = 0;
	c = *(const struct obj_cluster *)copy_obj(O, &(struct key) { .kind = KEY_CLUSTER });
	c.plan.generation++;
	rig_put(O, KEY_CLUSTER, &c);
	/* without a turn of the copy */
	CU_ASSERT_EQUAL(export_turn(&hosts[1].agent), 0);
	CU_ASSERT_EQUAL(task(1)->state, OBJ_TASK_RUNNING);
	settle();
	DONE(1);
	end();
}

/* Tasks that are kept no longer leave nothing behind. */
static void t_dropped(void)
{
	begin();
	take_err = -EINPROGRESS;
	put_export(1, 1, "/dev/d0", NULL);
	settle();
	CU_ASSERT_PTR_NOT_NULL(hosts[1].agent.work);
	rig_erase(O, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', 1) });
	settle();
	CU_ASSERT_PTR_NULL(hosts[1].agent.work);
	end();
}

static void cancel(u8 t)
{
	struct obj_task o = *task(t);

	o.state = OBJ_TASK_CANCELLING;
	rig_put(O, KEY_TASK, &o);
}

static void t_cancel(void)
{
	struct muuid d;

	begin();
	put_export(1, 1, "/dev/d0", NULL);
	cancel(1);
	settle();
	CU_ASSERT(ended_as(1, OBJ_TASK_CANCELLED, ""));
	CU_ASSERT_EQUAL(disks[0].d.found, EXPORT_EMPTY);
	/* one that has begun is finished, since its label may be there */
	put_export(2, 1, "/dev/d0", NULL);
	take_err = -EINPROGRESS;
	settle();
	take_err = 0;
	cancel(2);
	settle();
	DONE(2);
	d = disks[0].d.drive;
	put_unexport(3, 1, &d, false);
	cancel(3);
	settle();
	CU_ASSERT(ended_as(3, OBJ_TASK_CANCELLED, ""));
	CU_ASSERT_EQUAL(drive_key(&d)->plan.wanted, PLAN_IN);
	end();
}

/* Which host carries a task out; which tasks are none of an agent. */
static void t_ours(void)
{
	struct muuid d, none = rig_id('d', 99);

	begin();
	put_task(1, "drive export", 1, json_pack("{s:s,s:s,s:s}", "path", "/dev/d0", "host",
						 muuid_str(&(struct muuid) { .b = { 'h', 2 } }).s, "name", "fast"));
	settle();
	DONE(1);
	CU_ASSERT_EQUAL(disks[0].served, 2);
	d = disks[0].d.drive;
	CU_ASSERT_STRING_EQUAL(drive_key(&d)->name, "fast");
	put_task(2, "drive export", 1, json_pack("{s:s,s:s}", "path", "/dev/d1", "name", "fast"));
	settle();
	FAILED(2, "has this name");
	CU_ASSERT_EQUAL(disks[1].d.found, EXPORT_EMPTY);
	/* the host that has the drive does it, wherever that was requested */
	put_unexport(3, 1, &d, false);
	settle();
	DONE(3);
	put_unexport(4, 1, &none, false);
	settle();
	FAILED(4, "no such drive");
	put_task(5, "drive export", 1, json_pack("{s:s,s:b}", "path", "/dev/d1", "forse", true));
	put_task(6, "drive unexport", 1, json_pack("{s:b}", "force", true));
	put_task(7, "drive drain", 1, json_pack("{}"));
	put_task(8, "drive export", 3, json_pack("{s:s}", "path", "/dev/d1"));
	settle();
	FAILED(5, "forse");
	FAILED(6, "drive");
	CU_ASSERT_EQUAL(task(7)->state, OBJ_TASK_WAITING);
	CU_ASSERT_EQUAL(task(8)->state, OBJ_TASK_WAITING);
	end();
}

static void put_export_on(u8 t, u8 host, const char *path)
{
	put_task(t, "drive export", 1, json_pack("{s:s,s:s}", "path", path, "host",
						 muuid_str(&(struct muuid) { .b = { 'h', host } }).s));
}

/* A host that is gone ends no task: the one that requested it does. */
static void t_gone(void)
{
	begin();
	put_export_on(1, 9, "/dev/d0");
	settle();
	FAILED(1, "is no member");
	hosts[2].agent.stopped = true;
	put_export_on(2, 2, "/dev/d0");
	settle();
	cancel(2);
	settle();
	CU_ASSERT_EQUAL(task(2)->state, OBJ_TASK_CANCELLING);
	rig_erase(O, &(struct key) { .kind = KEY_ALIVE, .host = rig_id('h', 2) });
	settle();
	CU_ASSERT(ended_as(2, OBJ_TASK_CANCELLED, ""));
	put_export_on(3, 2, "/dev/d0");
	settle();
	CU_ASSERT_EQUAL(task(3)->state, OBJ_TASK_WAITING);
	put_host(2, PLAN_STORAGE, true);
	settle();
	FAILED(3, "host s2 is no member");
	end();
}

/* The label's drive is known to the store, and not yet to the copy. */
static void t_behind(void)
{
	struct obj_drive d = { .plan = { .uuid = rig_id('d', 5), .host = rig_id('h', 2), .wanted = PLAN_IN },
			       .path = "/dev/x", .size = GIB, .lba = 512, .serial = "S0" };

	begin();
	disks[0].d.found = EXPORT_LABEL;
	disks[0].d.drive = d.plan.uuid;
	disks[0].d.cluster = rig_id('c', 1);
	disks[0].extents = 1;
	put_export(1, 1, "/dev/d0", "erase_label");
	rig_catch_up(hosts[1].c);
	rig_put(O, KEY_DRIVE, &d);
	CU_ASSERT_EQUAL(export_turn(&hosts[1].agent), 0);
	CU_ASSERT_EQUAL(task(1)->state, OBJ_TASK_WAITING);
	settle();
	FAILED(1, "has not left it");
	CU_ASSERT(muuid_equal(&disks[0].d.drive, &d.plan.uuid));
	end();
}

static void t_waits(void)
{
	begin();
	hosts[1].agent.stopped = true;
	put_export(1, 1, "/dev/d0", NULL);
	settle();
	CU_ASSERT_EQUAL(task(1)->state, OBJ_TASK_WAITING);
	put_task(2, "volume create", 1, json_pack("{}"));
	put_task_after(3, "drive export", 1, json_pack("{s:s}", "path", "/dev/d1"), 2);
	hosts[1].agent.stopped = false;
	settle();
	DONE(1);
	CU_ASSERT_EQUAL(task(3)->state, OBJ_TASK_WAITING);
	rig_erase(O, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', 2) });
	settle();
	DONE(3);
	end();
}

/* Flags and the role reach the verdict, and the label. */
static void t_judged(void)
{
	struct muuid d;

	begin();
	disks[0].d.found = EXPORT_FOREIGN;
	strcpy(disks[0].d.what, "has a file system");
	put_export(1, 1, "/dev/d0", NULL);
	settle();
	FAILED(1, "/dev/d0 has a file system. To erase that add --force");
	put_export(2, 1, "/dev/d0", "force");
	settle();
	DONE(2);
	disks[1].d.found = EXPORT_STRANGER;
	disks[1].d.sequence = 500;
	put_export(3, 1, "/dev/d1", "force");
	settle();
	FAILED(3, "--erase-label");
	put_export(4, 1, "/dev/d1", "erase_label");
	settle();
	DONE(4);
	CU_ASSERT_EQUAL(disks[1].d.sequence, 501);
	put_host(1, PLAN_CLIENT, false);
	put_export(5, 1, "/dev/d2", NULL);
	settle();
	FAILED(5, "client");
	put_export(6, 1, "/dev/d2", "local");
	settle();
	DONE(6);
	d = disks[2].d.drive;
	CU_ASSERT(drive_key(&d)->local && last_label.flags == LABEL_F_LOCAL);
	put_unexport(7, 1, &d, false);
	settle();
	DONE(7);
	CU_ASSERT_PTR_NULL(drive_key(&d));
	end();
}

/* A value that no other host could read is none that keeps a task for ever. */
static void t_refused(void)
{
	begin();
	strcpy(disks[0].d.disk.model, "\x1b[0m");
	put_export(1, 1, "/dev/d0", NULL);
	settle();
	FAILED(1, "model");
	CU_ASSERT_EQUAL(drives(), 0);
	/* nor is what the store host refuses; a task that must not be written is in no other's way */
	forbidden = "drive/";
	put_export(2, 1, "/dev/d1", NULL);
	settle();
	CU_ASSERT_EQUAL(task(2)->state, OBJ_TASK_FAILED);
	CU_ASSERT_EQUAL(drives(), 0);
	forbidden = "task/74030000";
	put_export(3, 1, "/dev/d1", NULL);
	put_export(4, 1, "/dev/d2", NULL);
	settle();
	CU_ASSERT_EQUAL(task(3)->state, OBJ_TASK_WAITING);
	DONE(4);
	end();
}

/* Drives that the kernel has, and the daemon does not. */
static struct muuid left;
static const char *left_words;

static int op_left(void *m, const struct muuid *drive, char *words, size_t size)
{
	CU_ASSERT_PTR_EQUAL(m, &hosts[1]);
	if (!muuid_equal(drive, &left))
		return 0;
	snprintf(words, size, "%s", left_words);
	return 1;
}

static const struct obj_status *said(const struct muuid *drive)
{
	rig_catch_up(O);
	return copy_obj(O, &(struct key) { .kind = KEY_STATUS, .host = rig_id('h', 1), .about = *drive });
}

static int say_turn(struct drive_say *a)
{
	rig_catch_up(a->copy);
	a->now_ms += 1000;
	return drive_say_turn(a);
}

static void t_say(void)
{
	struct obj_status volume = { .host = rig_id('h', 1), .about = rig_id('v', 1), .subject = OBJ_OF_VOLUME,
				     .at = 1, .state = "away" };
	struct drive_say a;
	struct obj_drive d;
	struct muuid id;

	begin();
	id = exported();
	rig_put(O, KEY_STATUS, &volume);
	a = (struct drive_say) { .copy = hosts[1].c, .host = rig_id('h', 1), .left = op_left, .machine = &hosts[1],
				 .now_ms = 1000000 };
	CU_ASSERT_EQUAL(say_turn(&a), 0);
	left = id;
	left_words = "the kernel alone";
	CU_ASSERT_EQUAL(drive_say_turn(&a), 0);
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	CU_ASSERT(said(&id) && said(&id)->subject == OBJ_OF_DRIVE && !strcmp(said(&id)->state, "away"));
	CU_ASSERT_STRING_EQUAL(said(&id)->words, left_words);
	CU_ASSERT_EQUAL(say_turn(&a), 0);
	left_words = "its commands";
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	CU_ASSERT_STRING_EQUAL(said(&id)->words, left_words);
	/* another host's drive is for that one to say */
	d = *drive_key(&id);
	d.plan.host = rig_id('h', 2);
	rig_put(O, KEY_DRIVE, &d);
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	CU_ASSERT_PTR_NULL(said(&id));
	CU_ASSERT_EQUAL(say_turn(&a), 0);
	d = *drive_key(&id);
	d.plan.host = rig_id('h', 1);
	rig_put(O, KEY_DRIVE, &d);
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	memset(&left, 0, sizeof(left));
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	CU_ASSERT(!said(&id) && said(&volume.about));
	/* a drive that was forgotten, or is no more */
	left = id;
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	d = *drive_key(&id);
	d.plan.wanted = PLAN_FORGOTTEN;
	rig_put(O, KEY_DRIVE, &d);
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	CU_ASSERT_PTR_NULL(said(&id));
	d = *drive_key(&id);
	d.plan.wanted = PLAN_OUT;
	rig_put(O, KEY_DRIVE, &d);
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	rig_erase(O, &(struct key) { .kind = KEY_DRIVE, .drive = id });
	CU_ASSERT_EQUAL(say_turn(&a), 1);
	CU_ASSERT_PTR_NULL(said(&id));
	end();
}

static const struct rig_test tests[] = {
	{ "life", t_life },
	{ "slow", t_slow },
	{ "again", t_again },
	{ "grown", t_grown },
	{ "move", t_move },
	{ "full", t_full },
	{ "raced", t_raced }, { "file system in between", t_changed },
	{ "errors", t_errors },
	{ "another", t_another },
	{ "recovered", t_recovered },
	{ "dropped", t_dropped },
	{ "cancel", t_cancel },
	{ "ours", t_ours },
	{ "gone", t_gone },
	{ "behind", t_behind },
	{ "waits", t_waits },
	{ "judged", t_judged },
	{ "refused", t_refused },
	{ "status", t_say },
};

int main(void)
{
	return rig_main("agent_export", tests, sizeof(tests) / sizeof(tests[0]));
}
