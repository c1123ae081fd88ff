// SPDX-License-Identifier: GPL-2.0-only
/* Verbs of the daemon: what each writes into the store, waits for, refuses, and undoes. */
#include "tests/unit/api_rig.h"

#define ID "7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11"

static struct muuid made(const char *name, const char *layout)
{
	char args[200];

	snprintf(args, sizeof(args), "{'name':'%s','size':67108864,'layout':'%s'}", name, layout);
	does("volume create", args);
	return volume_id(name);
}

static void attached(u8 h, const char *name, const char *args)
{
	struct muuid v = volume_id(name);
	struct client k;

	client_request(&k, "volume attach", args);
	client_waits(&k, 2);
	play_attach(h, &v);
	client_ok(&k);
	client_close(&k);
}

static void test_create(void)
{
	struct muuid v;
	json_t *r;

	api_begin();
	r = works("volume create", "{'name':'data','size':67108864,'layout':'mirror:2','spares':1,'allow':['g1','s1'],"
		  "'drives':['s1:/dev/nvme0n1','s2:/dev/nvme1n1']}");
	v = volume_id("data");
	CU_ASSERT_STRING_EQUAL(text_of(r, "uuid"), muuid_str(&v).s);
	CU_ASSERT(json_is_null(json_object_get(r, "device")) || !json_object_get(r, "device"));
	json_decref(r);
	r = works("volume show", "{'volume':'data'}");
	CU_ASSERT_STRING_EQUAL(text_of(r, "domain"), "host");
	CU_ASSERT_STRING_EQUAL(text_of(r, "layout"), "mirror:2");
	CU_ASSERT_STRING_EQUAL(text_of(r, "state"), "detached");
	CU_ASSERT_STRING_EQUAL(text_of(r, "health"), "whole");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(r, "spares")), 1);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "allow")), 2);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "members")), 2);
	CU_ASSERT_STRING_EQUAL(text_of(json_array_get(json_object_get(r, "members"), 1), "path"), "/dev/nvme1n1");
	json_decref(r);
	fails("volume create", "{'name':'data','size':1,'layout':'linear'}", "exists", "there is a volume data already");
	fails("volume create", "{'name':'b','size':1,'layout':'linear','attach':'s9'}", "not-found", "no host 's9'");
	fails("volume create", "{'name':'b','size':1,'layout':'linear','drives':['s1:/dev/x']}", "not-found", "no drive");
	fails("volume create", "{'name':'b','size':1099511627776,'layout':'linear'}", "no-space", "");
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 1);
	does("volume create", "{'name':'all','size':'max','layout':'linear'}");
	r = works("volume show", "{'volume':'all'}");
	CU_ASSERT_STRING_EQUAL(text_of(r, "domain"), "drive");
	CU_ASSERT(json_integer_value(json_object_get(r, "size")) > (json_int_t)(GIB / 2));
	json_decref(r);
	api_end();
}

/* A repeat with its id is one operation, and an id is of one operation. */
static void test_create_again(void)
{
	struct client k;
	json_t *r;

	api_begin();
	r = works("volume create", "{'name':'data','size':67108864,'layout':'linear','id':'" ID "'}");
	CU_ASSERT_STRING_EQUAL(text_of(r, "name"), "data");
	json_decref(r);
	r = works("volume create", "{'name':'data','size':67108864,'layout':'linear','id':'" ID "'}");
	CU_ASSERT_STRING_EQUAL(text_of(r, "name"), "data");
	json_decref(r);
	CU_ASSERT_EQUAL(count(KEY_TASK), 1);
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 1);
	fails("volume delete", "{'volume':'data','id':'" ID "'}", "exists", "another operation");
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 1);
	does("volume delete", "{'volume':'data','id':'7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c12'}");
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 0);
	/* The volume has gone, and the operation was this one. */
	does("volume delete", "{'volume':'data','id':'7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c12'}");
	fails("volume delete", "{'volume':'data'}", "not-found", "no volume 'data'");
	/* A second request with the id follows the first one. */
	client_request(&k, "volume create", "{'name':'x','size':67108864,'layout':'linear','id':"
		       "'7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c13'}");
	daemon_step();
	does("volume create", "{'name':'x','size':67108864,'layout':'linear','id':'7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c13'}");
	client_ok(&k);
	client_close(&k);
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 1);
	api_end();
}

/* ^C at a create: the task is cancelled, and nothing stays. */
static void test_create_gone(void)
{
	const struct obj_task *t;
	struct client k;

	api_begin();
	client_request(&k, "volume create", "{'name':'data','size':67108864,'layout':'linear'}");
	daemon_step();
	t = last_task();
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_STRING_EQUAL(t->verb, "volume create");
	CU_ASSERT_STRING_EQUAL(t->user, "root");
	CU_ASSERT_EQUAL(t->state, OBJ_TASK_WAITING);
	client_close(&k);
	daemon_step();
	CU_ASSERT_EQUAL(last_task()->state, OBJ_TASK_CANCELLING);
	play();
	CU_ASSERT_EQUAL(last_task()->state, OBJ_TASK_CANCELLED);
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 0);
	CU_ASSERT_EQUAL(count(KEY_NAME), 0);
	api_end();
}

/* Progress, and what a task waits for, are shown once each. */
static void test_progress(void)
{
	struct obj_task t;
	struct client k;

	api_begin();
	client_request(&k, "drive export", "{'path':'s2:/dev/nvme2n1','name':'fast'}");
	daemon_step();
	CU_ASSERT_PTR_NOT_NULL_FATAL(last_task());
	t = *last_task();
	CU_ASSERT_STRING_EQUAL(t.verb, "drive export");
	CU_ASSERT_STRING_EQUAL(text_of(t.args, "host"), muuid_str(&(struct muuid) { .b = { 'h', S2 } }).s);
	CU_ASSERT_STRING_EQUAL(text_of(t.args, "path"), "/dev/nvme2n1");
	CU_ASSERT_STRING_EQUAL(text_of(t.args, "name"), "fast");
	t.state = OBJ_TASK_RUNNING;
	t.progress = (struct obj_progress) { 1, 4 };
	snprintf(t.step, sizeof(t.step), "label");
	snprintf(t.error, sizeof(t.error), "the disk is slow");
	rig_put(A, KEY_TASK, &t);
	client_waits(&k, 5);
	CU_ASSERT_EQUAL(k.progress, 1);
	CU_ASSERT_EQUAL(k.total, 4);
	CU_ASSERT_STRING_EQUAL(k.notes, "the disk is slow\n");
	t = *last_task();
	t.state = OBJ_TASK_FAILED;
	snprintf(t.error, sizeof(t.error), "the disk is foreign: --force");
	snprintf(t.fault, sizeof(t.fault), "refused");
	rig_put(A, KEY_TASK, &t);
	client_fails(&k, "refused", "the disk is foreign: --force");
	api_end();
}

/* How far an eviction is, the status of the host says that has the volume. */
static void test_progress_copy(void)
{
	struct obj_access access = { .plan = { .mode = PLAN_RW, .holder = host_id(S2), .number = mesh_number(1, 1, 0) } };
	struct obj_status s = { .host = host_id(S2), .subject = OBJ_OF_VOLUME, .state = "attached" };
	struct obj_task t;
	struct client k;
	json_t *r, *row;

	api_begin();
	access.volume = s.about = made("data", "mirror:2");
	rig_put(A, KEY_ACCESS, &access);
	client_request(&k, "volume evict", "{'volume':'data','member':'0'}");
	daemon_step();
	CU_ASSERT_PTR_NOT_NULL_FATAL(task_of("volume evict"));
	s.details = json_pack("{s:s, s:{s:i, s:i}}", "disk", "mesh0", "copying", "copied", 3, "bytes", 7);
	rig_put(A, KEY_STATUS, &s);
	t = *task_of("volume evict");
	t.state = OBJ_TASK_RUNNING;
	snprintf(t.step, sizeof(t.step), "copying");
	rig_put(A, KEY_TASK, &t);
	client_waits(&k, 5);
	CU_ASSERT_EQUAL(k.total, 7);
	r = works("task list", "{}");
	row = json_array_get(json_object_get(r, "tasks"), 0);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(row, "done")), 3);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(row, "total")), 7);
	json_decref(r);
	json_decref(s.details);
	s.details = NULL;
	rig_put(A, KEY_STATUS, &s);
	t = *task_of("volume evict");
	t.state = OBJ_TASK_FAILED;
	snprintf(t.error, sizeof(t.error), "no");
	rig_put(A, KEY_TASK, &t);
	client_fails(&k, "failed", "no");
	api_end();
}

static void test_attach(void)
{
	struct muuid v;
	struct client k;
	json_t *r, *row;

	api_begin();
	v = made("data", "linear");
	client_request(&k, "volume attach", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(want(S1, &v));
	CU_ASSERT_EQUAL(want(S1, &v)->mode, PLAN_RW);
	CU_ASSERT(want(S1, &v)->boot && !want(S1, &v)->preempt);
	CU_ASSERT_PTR_NOT_NULL_FATAL(writer(&v));
	CU_ASSERT(muuid_equal(&writer(&v)->host, &D.host));
	/* The status alone is no attachment, nor is access alone. */
	put_status_of(S1, &v, OBJ_OF_VOLUME, "attached", "");
	client_waits(&k, 2);
	put_status_of(S1, &v, OBJ_OF_VOLUME, "attaching", "members are probed");
	play_take(S1, &v);
	client_waits(&k, 2);
	play_attach(S1, &v);
	r = client_ok(&k);
	CU_ASSERT_STRING_EQUAL(text_of(r, "device"), "/dev/mesh0");
	CU_ASSERT(json_is_true(json_object_get(r, "here")));
	client_close(&k);
	/* Attached already: nothing is written. */
	r = works("volume attach", "{'volume':'data'}");
	CU_ASSERT_STRING_EQUAL(text_of(r, "device"), "/dev/mesh0");
	json_decref(r);
	fails("volume attach", "{'volume':'data','readonly':true}", "in-use", "for writing on host s1");
	fails("volume attach", "{'volume':'data','hosts':['g1']}", "in-use", "for writing on host s1");
	fails("volume attach", "{'volume':'data','hosts':['g1'],'readonly':true}", "in-use", "for writing on host s1");
	CU_ASSERT_PTR_NULL(want(G1, &v));
	r = works("volume list", "{}");
	row = json_array_get(json_object_get(r, "volumes"), 0);
	CU_ASSERT_STRING_EQUAL(text_of(row, "state"), "attached");
	CU_ASSERT_STRING_EQUAL(text_of(row, "holder"), "s1");
	CU_ASSERT_STRING_EQUAL(text_of(row, "device"), "/dev/mesh0");
	json_decref(r);
	api_end();
}

/* A take-over: another writer is named; the other host's want is its own agent's to mark. */
static void test_preempt(void)
{
	struct obj_want w;
	struct muuid v;
	struct client k;

	api_begin();
	v = made("data", "linear");
	attached(S1, "data", "{'volume':'data'}");
	client_request(&k, "volume attach", "{'volume':'data','hosts':['g1'],'preempt':true,'id':'" ID "'}");
	client_waits(&k, 2);
	CU_ASSERT_STRING_EQUAL(want(G1, &v)->o.op, ID);
	CU_ASSERT_PTR_NOT_NULL(want(S1, &v));
	CU_ASSERT_PTR_NOT_NULL_FATAL(want(G1, &v));
	CU_ASSERT(want(G1, &v)->preempt);
	CU_ASSERT(muuid_equal(&writer(&v)->host, &(struct muuid) { .b = { 'h', G1 } }));
	play_attach(G1, &v);
	client_ok(&k);
	CU_ASSERT_STRING_EQUAL(text_of(json_object_get(k.answer, "result"), "host"), "g1");
	client_close(&k);
	/* Back again, but a target keeps it for the other one after the agent's transaction. */
	client_request(&k, "volume attach", "{'volume':'data','preempt':true}");
	client_waits(&k, 2);
	w = *want(S1, &v);
	w.preempt = false;
	rig_put(A, KEY_WANT, &w);
	put_status_of(S1, &v, OBJ_OF_VOLUME, "refused", "it is still open at a target (g1)");
	client_fails(&k, "in-use", "still open at a target");
	CU_ASSERT_PTR_NULL(want(S1, &v));
	CU_ASSERT_PTR_NULL(writer(&v));
	api_end();
}

/* A host that has died keeps its want, and no other host away: the agent probes the targets. */
static void test_dead_writer(void)
{
	struct muuid v;
	struct client k;

	api_begin();
	v = made("data", "linear");
	attached(S1, "data", "{'volume':'data'}");
	fails("volume attach", "{'volume':'data','hosts':['g1']}", "in-use", "for writing on host s1");
	put_alive(S1, false);
	client_request(&k, "volume attach", "{'volume':'data','hosts':['g1']}");
	client_waits(&k, 2);
	CU_ASSERT(muuid_equal(&writer(&v)->host, &(struct muuid) { .b = { 'h', S1 } }));
	CU_ASSERT_FALSE(want(G1, &v)->preempt);
	play_attach(G1, &v);
	client_ok(&k);
	client_close(&k);
	api_end();
}

/* The agent refuses: what the command wrote goes again. */
static void test_refused(void)
{
	struct muuid v;
	struct client k;
	struct obj_volume vol;
	struct muuid only = { .b = { 'h', G1 } };
	struct obj_want w;

	api_begin();
	v = made("data", "linear");
	client_request(&k, "volume attach", "{'volume':'data'}");
	client_waits(&k, 2);
	put_status_of(S1, &v, OBJ_OF_VOLUME, "waiting", "a target has just started");
	client_waits(&k, 2);
	CU_ASSERT_STRING_EQUAL(k.notes, "host s1: a target has just started\n");
	put_status_of(S1, &v, OBJ_OF_VOLUME, "refused", "host g1 has it open");
	client_fails(&k, "refused", "host s1: host g1 has it open");
	CU_ASSERT_PTR_NULL(want(S1, &v));
	CU_ASSERT_PTR_NULL(writer(&v));
	/* An answer to the former want is none to this one. */
	client_request(&k, "volume attach", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT_PTR_NOT_NULL(want(S1, &v));
	/* ^C leaves the want, whatever becomes of it. */
	client_close(&k);
	daemon_step();
	put_status_of(S1, &v, OBJ_OF_VOLUME, "refused", "host g1 has it open");
	daemon_step();
	daemon_step();
	CU_ASSERT_PTR_NOT_NULL(want(S1, &v));
	/* One that was fenced is to be wanted again. */
	rig_catch_up(A);
	w = *want(S1, &v);
	w.fenced = true;
	rig_put(A, KEY_WANT, &w);
	client_request(&k, "volume attach", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT(!want(S1, &v)->fenced);
	rig_erase(A, &(struct key) { .kind = KEY_WANT, .host = host_id(S1), .volume = v });
	client_fails(&k, "failed", "by another command");
	vol = *(const struct obj_volume *)copy_obj(A, &(struct key) { .kind = KEY_VOLUME, .volume = v });
	vol.plan.allows = 1;
	vol.plan.allow = &only;
	rig_put(A, KEY_VOLUME, &vol);
	fails("volume attach", "{'volume':'data'}", "refused", "does not allow host s1");
	fails("volume attach", "{'volume':'none'}", "not-found", "no volume 'none'");
	api_end();
}

static void test_readers(void)
{
	struct muuid v;
	struct client k;

	api_begin();
	v = made("data", "linear");
	fails("volume attach", "{'volume':'data','hosts':['s1','g1']}", "usage", "several go with --readonly");
	client_request(&k, "volume attach", "{'volume':'data','hosts':['s1','g1'],'readonly':true}");
	client_waits(&k, 2);
	CU_ASSERT_PTR_NULL(writer(&v));
	play_attach(S1, &v);
	client_waits(&k, 2);
	play_attach(G1, &v);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(client_ok(&k), "attached")), 2);
	client_close(&k);
	fails("volume attach", "{'volume':'data'}", "in-use", "for reading on host s1");
	fails("volume delete", "{'volume':'data'}", "in-use", "attached on host s1 and others");
	client_request(&k, "volume detach", "{'volume':'data','hosts':['s1','g1']}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(want(G1, &v)->mode, PLAN_NONE);
	play_detach(S1, &v);
	client_waits(&k, 2);
	play_detach(G1, &v);
	client_ok(&k);
	client_close(&k);
	api_end();
}

/* The store was put back: a want of now is written, and the kernel's end is all that is waited for. */
static void test_detach_stopped(void)
{
	struct muuid v;
	struct client k;
	u64 was;

	api_begin();
	v = made("data", "linear");
	attached(S1, "data", "{'volume':'data'}");
	D.self.state = HOST_STOPPED;
	client_request(&k, "volume detach", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(want(S1, &v)->mode, PLAN_NONE);
	client_close(&k);
	daemon_step();
	was = copy_get(A, &(struct key) { .kind = KEY_WANT, .volume = v, .host = host_id(S1) })->modified;
	client_request(&k, "volume detach", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT(copy_get(A, &(struct key) { .kind = KEY_WANT, .volume = v, .host = host_id(S1) })->modified > was);
	put_status_of(S1, &v, OBJ_OF_VOLUME, "detached", "the kernel has ended it");
	client_ok(&k);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "the kernel has ended it"));
	client_close(&k);
	/* Not even a want is there: what the kernel has counts, of this host alone. */
	rig_erase(A, &(struct key) { .kind = KEY_WANT, .volume = v, .host = host_id(S1) });
	does("volume detach", "{'volume':'data'}");
	D.volumes = (struct volumes *)&D;
	does("volume detach", "{'volume':'data','hosts':['g1']}");
	client_request(&k, "volume detach", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(want(S1, &v)->mode, PLAN_NONE);
	client_close(&k);
	D.self.state = HOST_UP;
	rig_erase(A, &(struct key) { .kind = KEY_WANT, .volume = v, .host = host_id(S1) });
	does("volume detach", "{'volume':'data'}");
	D.volumes = NULL;
	api_end();
}

static void test_detach(void)
{
	struct muuid v;
	struct client k;

	api_begin();
	v = made("data", "linear");
	attached(S1, "data", "{'volume':'data'}");
	client_request(&k, "volume detach", "{'volume':'data'}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(want(S1, &v)->mode, PLAN_NONE);
	CU_ASSERT(!want(S1, &v)->force);
	CU_ASSERT_PTR_NULL(writer(&v));
	/* In use: it is wanted as before. */
	put_status_of(S1, &v, OBJ_OF_VOLUME, "refused", "2 openers: unmount it");
	client_fails(&k, "in-use", "2 openers: unmount it");
	CU_ASSERT_EQUAL(want(S1, &v)->mode, PLAN_RW);
	CU_ASSERT(want(S1, &v)->boot);
	CU_ASSERT_PTR_NOT_NULL(writer(&v));
	client_request(&k, "volume detach", "{'volume':'data','force':true}");
	client_waits(&k, 2);
	CU_ASSERT(want(S1, &v)->force);
	play_detach(S1, &v);
	client_ok(&k);
	client_close(&k);
	/* It is not attached: said, and no error. */
	client_request(&k, "volume detach", "{'volume':'data'}");
	client_ok(&k);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "not attached on host s1"));
	client_close(&k);
	CU_ASSERT_EQUAL(count(KEY_WANT), 0);
	/* Of a host that is away it waits, and ^C leaves it. */
	attached(G1, "data", "{'volume':'data','hosts':['g1']}");
	put_alive(G1, false);
	client_request(&k, "volume detach", "{'volume':'data','hosts':['g1']}");
	client_waits(&k, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "host g1 is away"));
	client_close(&k);
	daemon_step();
	CU_ASSERT_EQUAL(want(G1, &v)->mode, PLAN_NONE);
	api_end();
}

static void test_create_attach(void)
{
	struct client k;
	struct muuid v;

	api_begin();
	client_request(&k, "volume create", "{'name':'data','size':67108864,'layout':'linear','attach':'g1'}");
	client_waits(&k, 5);
	v = volume_id("data");
	CU_ASSERT_PTR_NOT_NULL_FATAL(want(G1, &v));
	play_attach(G1, &v);
	CU_ASSERT_STRING_EQUAL(text_of(client_ok(&k), "device"), "/dev/mesh0");
	CU_ASSERT(json_is_false(json_object_get(json_object_get(k.answer, "result"), "here")));
	client_close(&k);
	api_end();
}

static void test_delete(void)
{
	struct client k;
	struct muuid v;
	json_t *r;

	api_begin();
	v = made("data", "linear");
	attached(G1, "data", "{'volume':'data','hosts':['g1']}");
	fails("volume delete", "{'volume':'data'}", "in-use", "attached on host g1");
	client_request(&k, "volume delete", "{'volume':'data','dry_run':true}");
	r = client_ok(&k);
	CU_ASSERT(json_is_true(json_object_get(r, "dry_run")));
	CU_ASSERT_STRING_EQUAL(text_of(json_array_get(json_object_get(r, "destroys"), 0), "name"), "data");
	CU_ASSERT_PTR_NOT_NULL(strstr(k.notes, "needs --preempt"));
	client_close(&k);
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 1);
	CU_ASSERT_EQUAL(count(KEY_TASK), 1);
	does("volume delete", "{'volume':'data','preempt':true}");
	CU_ASSERT_EQUAL(count(KEY_VOLUME), 0);
	CU_ASSERT_PTR_NULL(want(G1, &v));
	CU_ASSERT_PTR_NULL(writer(&v));
	api_end();
}

/* A repeat of a change that is there already is done; one that makes it smaller is not. */
static void test_changes(void)
{
	json_t *r;

	api_begin();
	made("data", "linear");
	does("volume extend", "{'volume':'data','size':134217728}");
	r = works("volume show", "{'volume':'data'}");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(r, "size")), 134217728);
	json_decref(r);
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	does("volume extend", "{'volume':'data','size':134217728}");
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	fails("volume extend", "{'volume':'data','size':1048576}", "refused", "does not become smaller");
	does("volume rename", "{'volume':'data','name':'old'}");
	CU_ASSERT_PTR_NULL(copy_get(A, &(struct key) { .kind = KEY_NAME, .name = "data" }));
	made("data", "mirror:2");
	fails("volume rename", "{'volume':'old','name':'data'}", "exists", "a volume data already");
	does("volume set", "{'volume':'data','spares':2,'allow':['s1','s2']}");
	r = works("volume show", "{'volume':'data'}");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(r, "spares")), 2);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "allow")), 2);
	json_decref(r);
	does("volume set", "{'volume':'data','spares':0,'allow':['all']}");
	r = works("volume show", "{'volume':'data'}");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(r, "spares")), 0);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "allow")), 0);
	json_decref(r);
	fails("volume set", "{'volume':'old','spares':1}", "usage", "no redundancy");
	fails("volume replace", "{'volume':'data','member':'7'}", "usage", "members 0 to 1");
	fails("volume replace", "{'volume':'data','member':'1x'}", "usage", "members 0 to 1");
	fails("volume replace", "{'volume':'data','member':'1'}", "refused", "is not attached");
	api_end();
}

/* A replace names the place, and the drive. */
static void test_replace(void)
{
	const struct copy_item *i = NULL;
	const struct obj_task *t = NULL;
	struct client k;

	api_begin();
	made("data", "mirror:2");
	attached(S1, "data", "{'volume':'data'}");
	client_request(&k, "volume replace", "{'volume':'data','member':'1','with':'s3:/dev/nvme1n1'}");
	client_waits(&k, 3);
	while ((i = copy_next(A, &(struct key) { .kind = KEY_TASK }, 0, i)))
		t = !strcmp(((const struct obj_task *)i->obj)->verb, "volume replace") ? i->obj : t;
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_EQUAL(t->plan.puts, 1);
	CU_ASSERT_EQUAL(t->plan.put[0].place, 1);
	CU_ASSERT_EQUAL(t->plan.put[0].drive.b[1], S3);
	CU_ASSERT_EQUAL(t->plan.put[0].drive.b[3], 1);
	/* ^C leaves it. */
	client_close(&k);
	daemon_step();
	play();
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	CU_ASSERT_EQUAL(t->state, OBJ_TASK_RUNNING);
	api_end();
}

static const struct rig_test tests[] = {
	{ "create", test_create },
	{ "create again", test_create_again },
	{ "create, gone", test_create_gone },
	{ "progress", test_progress },
	{ "progress of an eviction", test_progress_copy },
	{ "attach", test_attach },
	{ "preempt", test_preempt },
	{ "writer that died", test_dead_writer },
	{ "refused", test_refused },
	{ "readers", test_readers },
	{ "detach", test_detach },
	{ "... from a store that was put back", test_detach_stopped },
	{ "create and attach", test_create_attach },
	{ "delete", test_delete },
	{ "changes", test_changes },
	{ "replace", test_replace },
};

int main(void)
{
	return rig_main("daemon_api", tests, sizeof(tests) / sizeof(tests[0]));
}
