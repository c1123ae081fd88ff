// SPDX-License-Identifier: GPL-2.0-only
/* Verbs about hosts, drives, tasks and the cluster: lists as JSON, and what changes them. */
#include "protect/roster/roster.h"
#include "tests/unit/api_rig.h"

static json_t *at(const json_t *j, const char *list, size_t i)
{
	return json_array_get(json_object_get(j, list), i);
}

/* The row of a list whose member @key is @value; NULL: none. */
static json_t *row(const json_t *j, const char *list, const char *key, const char *value)
{
	json_t *r;
	size_t i;

	json_array_foreach(json_object_get(j, list), i, r)
		if (!strcmp(text_of(r, key), value))
			return r;
	return NULL;
}

static u64 num(const json_t *j, const char *key)
{
	return (u64)json_integer_value(json_object_get(j, key));
}

static const struct obj_host *host_obj(u8 h)
{
	rig_catch_up(A);
	return copy_obj(A, &(struct key) { .kind = KEY_HOST, .host = host_id(h) });
}

static const struct obj_drive *drive_obj(const struct muuid *d)
{
	rig_catch_up(A);
	return copy_obj(A, &(struct key) { .kind = KEY_DRIVE, .drive = *d });
}

static const struct obj_cluster *cluster_obj(void)
{
	rig_catch_up(A);
	return copy_obj(A, &(struct key) { .kind = KEY_CLUSTER });
}

static void test_settings(void)
{
	json_t *r;

	api_begin();
	r = works("cluster status", "{}");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(r, "spare_delay")), 600);
	json_decref(r);
	does("cluster set", "{'setting':'spare_delay=20'}");
	does("cluster set", "{'setting':'spare_delay=20'}");
	CU_ASSERT_EQUAL(spare_delay(cluster_obj()), 20);
	does("cluster set", "{'setting':'spare_delay=0'}");
	CU_ASSERT_EQUAL(spare_delay(cluster_obj()), 0);
	does("cluster set", "{'setting':'spare_delay=2592000'}");
	r = works("cluster status", "{}");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(r, "spare_delay")), 2592000);
	json_decref(r);
	fails("cluster set", "{'setting':'spare_delay=2592001'}", "usage", "0 to 2592000");
	fails("cluster set", "{'setting':'spare_delay=-1'}", "usage", "0 to 2592000");
	fails("cluster set", "{'setting':'spare_delay= 1'}", "usage", "0 to 2592000");
	fails("cluster set", "{'setting':'spare_delay='}", "usage", "0 to 2592000");
	fails("cluster set", "{'setting':'spare_delay=1h'}", "usage", "0 to 2592000");
	fails("cluster set", "{'setting':'spare_delay=99999999999999999999'}", "usage", "0 to 2592000");
	fails("cluster set", "{'setting':'spare_delay'}", "usage", "no such setting");
	fails("cluster set", "{'setting':'spare=1'}", "usage", "no such setting");
	CU_ASSERT_EQUAL(spare_delay(cluster_obj()), 2592000);
	CU_ASSERT_EQUAL(cluster_obj()->plan.generation, 1);
	api_end();
}

static void test_hosts(void)
{
	json_t *r;

	api_begin();
	put_alive(S2, false);
	r = works("host list", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "hosts")), 4);
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "hosts", "name", "s1"), "state"), "up");
	CU_ASSERT(json_is_true(json_object_get(row(r, "hosts", "name", "s1"), "this")));
	CU_ASSERT(json_is_true(json_object_get(row(r, "hosts", "name", "s1"), "controller")));
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "hosts", "name", "s2"), "state"), "away");
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "hosts", "name", "g1"), "role"), "client");
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "hosts", "name", "g1"), "addr"), "10.0.0.1");
	json_decref(r);
	does("host maintenance", "{'host':'s2','state':'on'}");
	CU_ASSERT(host_obj(S2)->plan.maintenance);
	does("host maintenance", "{'host':'s2','state':'on'}");
	does("host maintenance", "{'host':'s2','state':'off'}");
	CU_ASSERT(!host_obj(S2)->plan.maintenance);
	fails("host maintenance", "{'host':'s2','state':'maybe'}", "usage", "one of these");
	does("host set", "{'host':'s2','rack':'r7','labels':['room=north','row=4']}");
	CU_ASSERT_STRING_EQUAL(host_obj(S2)->rack, "r7");
	CU_ASSERT_STRING_EQUAL(text_of(host_obj(S2)->labels, "room"), "north");
	does("host set", "{'host':'s2','labels':['room=']}");
	CU_ASSERT_STRING_EQUAL(host_obj(S2)->rack, "r7");
	CU_ASSERT_PTR_NULL(json_object_get(host_obj(S2)->labels, "room"));
	CU_ASSERT_STRING_EQUAL(text_of(host_obj(S2)->labels, "row"), "4");
	does("host set", "{'host':'s2','rack':'','labels':['row=']}");
	CU_ASSERT_STRING_EQUAL(host_obj(S2)->rack, "");
	fails("host set", "{'host':'s2'}", "usage", "name --rack or --label");
	fails("host set", "{'host':'s2','labels':['room']}", "usage", "NAME=VALUE");
	fails("host set", "{'host':'s2','labels':['rack=7']}", "usage", "has a meaning");
	fails("host set", "{'host':'s','rack':'r'}", "not-found", "fits 3 hosts");
	does("host set", "{'host':'68030000-0000','rack':'by-uuid'}");
	CU_ASSERT_STRING_EQUAL(host_obj(G1)->rack, "by-uuid");
	does("host set", "{'host':'g','rack':'by-start'}");
	CU_ASSERT_STRING_EQUAL(host_obj(G1)->rack, "by-start");
	api_end();
}

static void test_host_remove(void)
{
	struct obj_want w = { .host = host_id(G1), .volume = rig_id('v', 1), .mode = PLAN_RW };
	struct obj_writer wr = { .host = host_id(G1), .volume = rig_id('v', 1) };
	json_t *r;

	api_begin();
	fails("host remove", "{'host':'s1'}", "refused", "cluster leave");
	fails("host remove", "{'host':'s2'}", "in-use", "2 drives and attached volumes, the first is drive /dev/nvme0n1");
	fails("host remove", "{'host':'s2','lost':true}", "refused", "is alive");
	r = works("host remove", "{'host':'s2','dry_run':true}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "unreachable")), 2);
	CU_ASSERT(json_is_true(json_object_get(r, "dry_run")));
	json_decref(r);
	CU_ASSERT(!host_obj(S2)->plan.removed);
	put_alive(S2, false);
	does("host remove", "{'host':'s2','lost':true}");
	CU_ASSERT(host_obj(S2)->plan.removed);
	fails("host remove", "{'host':'s2'}", "not-found", "no host 's2'");
	rig_put(A, KEY_WANT, &w);
	rig_put(A, KEY_WRITER, &wr);
	does("host remove", "{'host':'g1'}");
	CU_ASSERT(host_obj(G1)->plan.removed);
	CU_ASSERT_EQUAL(count(KEY_WANT), 0);
	CU_ASSERT_EQUAL(count(KEY_WRITER), 0);
	r = works("host list", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "hosts")), 2);
	json_decref(r);
	api_end();
}

/* A host that holds a volume is not removed, though it has no drives. */
static void test_host_holds(void)
{
	struct obj_access x = { .volume = rig_id('v', 1),
				.plan = { .mode = PLAN_RW, .holder = host_id(G1), .number = mesh_number(1, 7, 0) } };

	api_begin();
	rig_put(A, KEY_ACCESS, &x);
	fails("host remove", "{'host':'g1'}", "in-use", "attachment");
	api_end();
}

static void test_drives(void)
{
	struct client k;
	struct muuid s2_0 = { .b = { 0xd0, S2, 0x11, 0 } };
	json_t *r;

	api_begin();
	r = works("drive scan", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "drives")), 12);
	json_decref(r);
	r = works("drive scan", "{'hosts':['s2']}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "drives")), 4);
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "drives", "path", "/dev/nvme0n1"), "state"), "exported");
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "drives", "path", "/dev/nvme2n1"), "state"), "exportable");
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "drives", "path", "/dev/sda"), "state"), "unusable");
	CU_ASSERT_PTR_NOT_NULL(strstr(text_of(row(r, "drives", "path", "/dev/sda"), "reason"), "mounted"));
	json_decref(r);
	fails("drive scan", "{'hosts':['x']}", "not-found", "no host 'x'");
	does("volume create", "{'name':'data','size':67108864,'layout':'linear','drives':['s2:/dev/nvme0n1']}");
	put_status_of(S3, &(struct muuid) { .b = { 0xd0, S3, 0x11, 1 } }, OBJ_OF_DRIVE, "gone", "it was pulled");
	r = works("drive list", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "drives")), 6);
	CU_ASSERT_EQUAL(num(row(r, "drives", "uuid", muuid_str(&s2_0).s), "extents"), 1);
	CU_ASSERT(num(row(r, "drives", "uuid", muuid_str(&s2_0).s), "free") < GIB - 67108864);
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "drives", "state", "away"), "reason"), "it was pulled");
	json_decref(r);
	/* Three digits may be a name that was mistyped. */
	fails("drive unexport", "{'drive':'d00'}", "not-found", "there is no drive 'd00'");
	fails("drive unexport", "{'drive':'d002'}", "not-found", "fits 2 drives");
	fails("drive unexport", "{'drive':'s2:/dev/nvme0n1'}", "in-use", "1 extents of volumes, the first of data");
	fails("drive unexport", "{'drive':'s2:/dev/nvme0n1','preempt':true}", "in-use", "--force");
	r = works("drive unexport", "{'drive':'d0021100','dry_run':true}");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "unreachable", 0), "name"), "data");
	json_decref(r);
	CU_ASSERT_EQUAL(count(KEY_TASK), 1);
	client_request(&k, "drive unexport", "{'drive':'s3:/dev/nvme0n1','id':'7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11'}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	/* ^C leaves it; a repeat follows it, also where the drive has gone. */
	client_close(&k);
	daemon_step();
	rig_erase(A, &(struct key) { .kind = KEY_DRIVE, .drive = { .b = { 0xd0, S3, 0x11, 0 } } });
	client_request(&k, "drive unexport", "{'drive':'s3:/dev/nvme0n1','id':'7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11'}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	client_close(&k);
	api_end();
}

/* What is on a drive is moved while it is there, and given up only where it is not. */
static void test_drain_forget(void)
{
	struct muuid d = { .b = { 0xd0, S2, 0x11, 1 } };
	json_t *r;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'linear','drives':['s2:/dev/nvme1n1']}");
	does("volume delete", "{'volume':'data','dry_run':true}");
	fails("drive forget", "{'drive':'s2:/dev/nvme1n1'}", "refused", "is there");
	r = works("drive forget", "{'drive':'s2:/dev/nvme1n1','dry_run':true}");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "unreachable", 0), "name"), "data");
	json_decref(r);
	CU_ASSERT_EQUAL(count(KEY_TASK), 1);
	put_status_of(S2, &d, OBJ_OF_DRIVE, "gone", "it was pulled");
	fails("drive drain", "{'drive':'s2:/dev/nvme1n1'}", "refused", "it was pulled");
	CU_ASSERT_EQUAL(count(KEY_TASK), 1);
	does("drive forget", "{'drive':'d0021101'}");
	CU_ASSERT_EQUAL(drive_obj(&d)->plan.wanted, PLAN_FORGOTTEN);
	fails("drive forget", "{'drive':'d0021101'}", "not-found", "no drive 'd0021101'");
	d.b[1] = S3;
	does("drive drain", "{'drive':'s3:/dev/nvme1n1'}");
	CU_ASSERT_NOT_EQUAL(drive_obj(&d)->plan.wanted, PLAN_IN);
	api_end();
}

/* The tasks "drive export" of a host end as its agent says. */
static void end_exports(u8 h, u8 state)
{
	const struct copy_item *i = NULL;
	const char *host = muuid_str(&(struct muuid) { .b = { 'h', h } }).s;
	struct muuid id[16] = { { .b = { 0 } } };
	u32 n = 0;
	char text[MUUID_TEXT];

	snprintf(text, sizeof(text), "%s", host);
	rig_catch_up(A);
	while ((i = copy_next(A, &(struct key) { .kind = KEY_TASK }, 0, i)) && n < 16)
		if (!strcmp(text_of(((const struct obj_task *)i->obj)->args, "host"), text))
			id[n++] = i->key.task;
	while (n--) {
		const struct obj_task *t = copy_obj(A, &(struct key) { .kind = KEY_TASK, .task = id[n] });
		struct obj_task out = *t;

		out.state = state;
		if (state == OBJ_TASK_FAILED)
			snprintf(out.error, sizeof(out.error), "it is swap: swapoff it");
		rig_put(A, KEY_TASK, &out);
	}
}

static void test_export(void)
{
	struct client k;
	json_t *r;

	api_begin();
	fails("drive export", "{}", "usage", "DEVICE is missing");
	fails("drive export", "{'path':'s2:/dev/nvme2n1','hosts':['s2']}", "usage", "goes with --all");
	fails("drive export", "{'all':true,'force':true}", "usage", "erases nothing");
	fails("drive export", "{'path':'nvme2n1'}", "usage", "named by its path");
	fails("drive export", "{'path':'x:/dev/nvme2n1'}", "not-found", "no host 'x'");
	fails("drive export", "{'path':'/dev/sda'}", "refused", "it is mounted at /: unmount it");
	CU_ASSERT_EQUAL(count(KEY_TASK), 0);
	/* A drive already: done. */
	does("drive export", "{'path':'/dev/nvme0n1'}");
	CU_ASSERT_EQUAL(count(KEY_TASK), 0);
	r = works("drive export", "{'all':true,'hosts':['s2','s3'],'dry_run':true}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "exports")), 2);
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "exports", 0), "path"), "/dev/nvme2n1");
	json_decref(r);
	CU_ASSERT_EQUAL(count(KEY_TASK), 0);
	fails("drive export", "{'all':true,'hosts':['g1']}", "unreachable", "has not reported its disks");
	client_request(&k, "drive export", "{'all':true,'hosts':['s2','s3']}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	end_exports(S2, OBJ_TASK_FAILED);
	client_waits(&k, 2);
	end_exports(S3, OBJ_TASK_DONE);
	client_fails(&k, "failed", "/dev/nvme2n1: it is swap: swapoff it");
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	/* One that is forced is judged by its host. */
	client_request(&k, "drive export", "{'path':'/dev/sda','force':true}");
	client_waits(&k, 2);
	CU_ASSERT_EQUAL(count(KEY_TASK), 3);
	end_exports(S1, OBJ_TASK_DONE);
	CU_ASSERT_STRING_EQUAL(text_of(at(client_ok(&k), "drives", 0), "state"), "in");
	client_close(&k);
	api_end();
}

static void test_tasks(void)
{
	struct client k, c;
	struct obj_task t;
	char args[80];
	json_t *r;

	api_begin();
	client_request(&k, "drive export", "{'path':'s2:/dev/nvme2n1'}");
	client_waits(&k, 2);
	r = works("task list", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "tasks")), 1);
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "tasks", 0), "verb"), "drive export");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "tasks", 0), "about"), "/dev/nvme2n1");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "tasks", 0), "state"), "waiting");
	snprintf(args, sizeof(args), "{'task':'%.8s'}", text_of(at(r, "tasks", 0), "uuid"));
	json_decref(r);
	r = works("task show", args);
	CU_ASSERT_STRING_EQUAL(text_of(json_object_get(r, "args"), "path"), "/dev/nvme2n1");
	CU_ASSERT_STRING_EQUAL(text_of(r, "user"), "root");
	json_decref(r);
	client_request(&c, "task cancel", args);
	client_waits(&c, 2);
	CU_ASSERT_EQUAL(last_task()->state, OBJ_TASK_CANCELLING);
	t = *last_task();
	t.state = OBJ_TASK_CANCELLED;
	rig_put(A, KEY_TASK, &t);
	client_ok(&c);
	client_close(&c);
	client_fails(&k, "failed", "was cancelled");
	fails("task cancel", args, "refused", "has ended already");
	/* One that is decided is finished, and the cancel says so. */
	t = *last_task();
	t.state = OBJ_TASK_RUNNING;
	rig_put(A, KEY_TASK, &t);
	client_request(&c, "task cancel", args);
	client_waits(&c, 2);
	t = *last_task();
	t.state = OBJ_TASK_DONE;
	rig_put(A, KEY_TASK, &t);
	client_fails(&c, "refused", "was done before it could be cancelled");
	fails("task show", "{'task':'ffff'}", "not-found", "no task 'ffff'");
	r = works("task list", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "tasks")), 0);
	json_decref(r);
	r = works("task list", "{'all':true}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "tasks")), 1);
	json_decref(r);
	api_end();
}

static void put_event(u8 h, u64 serial, u64 when, const char *what, const struct muuid *volume)
{
	struct obj_event e = { .host = host_id(h), .serial = serial, .at = when, .words = "words" };

	snprintf(e.what, sizeof(e.what), "%s", what);
	if (volume)
		e.volume = *volume;
	rig_put(A, KEY_EVENT, &e);
}

static void test_events(void)
{
	struct muuid v;
	json_t *r;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'linear'}");
	v = volume_id("data");
	put_event(S1, 1, 5000, "third", NULL);
	put_event(S1, 2, 6000, "fourth", &v);
	put_event(S2, 1, 1000, "first", &v);
	put_event(S2, 2, 2000, "second", NULL);
	r = works("event list", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "events")), 4);
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "events", 0), "what"), "first");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "events", 0), "volume"), "data");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "events", 1), "what"), "second");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "events", 3), "what"), "fourth");
	json_decref(r);
	r = works("event list", "{'volume':'data'}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "events")), 2);
	json_decref(r);
	r = works("event list", "{'last':1}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "events")), 1);
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "events", 0), "what"), "fourth");
	json_decref(r);
	api_end();
}

/* The health, and the first problem of a kind. @part: in its words; NULL: there is none. */
static void status_is(const char *health, const char *what, const char *part)
{
	struct client k;
	json_t *r, *p;

	client_request(&k, "cluster status", "{}");
	r = client_ok(&k);
	p = row(r, "problems", "what", what);
	if (strcmp(text_of(r, "health"), health) || !part != !p || (part && !strstr(text_of(p, "words"), part)))
		printf("\n%s wanted with %s \"%s\": %s; %s\n", health, what, part, text_of(r, "words"), text_of(p, "words"));
	CU_ASSERT_STRING_EQUAL(text_of(r, "health"), health);
	CU_ASSERT(!part == !p && (!part || strstr(text_of(p, "words"), part)));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(k.answer, "code")), strcmp(health, "ok") ? 1 : 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text_of(r, "words"), health));
	client_close(&k);
}

/* The last roster of the first group, as its kernel gave it. */
static void put_roster(const struct muuid *v, u32 width, u64 in_sync)
{
	const struct obj_volume *vol = copy_obj(A, &(struct key) { .kind = KEY_VOLUME, .volume = *v });
	const struct layout *l = vol->record;
	struct prot_owner o = { .salt = obj_roster_seed(l->salt, v) };
	struct prot_roster p = { .attach = mesh_number(1, 1, 0), .epoch = 2, .geo = { .width = width, .k = 1 } };
	struct obj_roster r = { .volume = *v };
	u8 block[PROT_ROSTER_BLOCK];

	memcpy(o.volume, v->b, 16);
	p.in_sync = in_sync;
	for (u32 i = 0; i < width; i++)
		memcpy(p.uuid[i], l->member[l->ref[i].member].extent.b, 16);
	prot_roster_seal(block, &p, &o, 0);
	OK(obj_roster_shape(&r, l));
	OK(obj_roster_note(&r, 0, block, l->salt));
	rig_put(A, KEY_ROSTER, &r);
	obj_free(KEY_ROSTER, &r);
}

static void volume_is(const char *name, const char *health, u64 lacks)
{
	char args[80];
	json_t *r;

	snprintf(args, sizeof(args), "{'volume':'%s'}", name);
	r = works("volume show", args);
	CU_ASSERT_STRING_EQUAL(text_of(r, "health"), health);
	CU_ASSERT_EQUAL(num(r, "lacks"), lacks);
	json_decref(r);
}

static void test_status(void)
{
	struct obj_task t = { .uuid = rig_id('t', 1), .verb = "volume extend", .state = OBJ_TASK_FAILED, .host = host_id(S1),
			      .error = "no room" };
	struct muuid v, d = { .b = { 0xd0, S3, 0x11, 1 } };

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'linear','drives':['s2:/dev/nvme0n1']}");
	v = volume_id("data");
	status_is("ok", "host", NULL);
	put_alive(S2, false);
	status_is("trouble", "volume", "volume data is down: 1 of 1 members are away");
	status_is("trouble", "host", "host s2 is away");
	status_is("trouble", "drive", NULL);
	does("volume delete", "{'volume':'data'}");
	status_is("degraded", "volume", NULL);
	does("host maintenance", "{'host':'s2','state':'on'}");
	status_is("ok", "host", "host s2 is in maintenance, and away");
	put_alive(S2, true);
	does("host maintenance", "{'host':'s2','state':'off'}");
	put_status_of(S3, &d, OBJ_OF_DRIVE, "gone", "it was pulled");
	status_is("degraded", "drive", "drive s3:/dev/nvme1n1 with 0 extents: it was pulled");
	put_status_of(S3, &d, OBJ_OF_DRIVE, "up", "");
	rig_put(A, KEY_WANT, &(struct obj_want) { .host = host_id(G1), .volume = v, .mode = PLAN_RW });
	put_status_of(G1, &v, OBJ_OF_VOLUME, "waiting", "member 0 does not answer");
	status_is("trouble", "volume", "host g1, waiting: member 0");
	rig_erase(A, &(struct key) { .kind = KEY_WANT, .host = host_id(G1), .volume = v });
	put_status_of(S2, &(struct muuid) { .b = { 'h', S2 } }, OBJ_OF_HOST, "stopped", "the store was put back");
	status_is("trouble", "host", "host s2 is stopped: the store was put back");
	put_status_of(S2, &(struct muuid) { .b = { 'h', S2 } }, OBJ_OF_HOST, "up", "");
	rig_put(A, KEY_TASK, &t);
	status_is("degraded", "task", "volume extend, has failed: no room");
	snprintf(t.user, sizeof(t.user), "root");
	rig_put(A, KEY_TASK, &t);
	status_is("ok", "task", "volume extend, has failed: no room");
	D.self.state = HOST_TWIN;
	snprintf(D.self.why, sizeof(D.self.why), "a second machine has this UUID");
	status_is("trouble", "host", "a second machine has this UUID");
	api_end();
}

static void test_degraded(void)
{
	struct client k;
	struct muuid v;
	json_t *r;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'mirror:2','drives':['s1:/dev/nvme0n1',"
	     "'s2:/dev/nvme0n1']}");
	does("volume create", "{'name':'whole','size':67108864,'layout':'linear'}");
	v = volume_id("data");
	volume_is("data", "whole", 0);
	put_roster(&v, 2, 3);
	volume_is("data", "whole", 0);
	r = works("volume list", "{'degraded':true}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "volumes")), 0);
	json_decref(r);
	put_roster(&v, 2, 1);
	volume_is("data", "degraded", 1);
	client_request(&k, "volume list", "{'degraded':true}");
	r = client_ok(&k);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "volumes")), 1);
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "volumes", 0), "name"), "data");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(k.answer, "code")), 1);
	client_close(&k);
	status_is("degraded", "volume", "volume data is degraded: 1 of 2");
	/* The same member, away as well; then the other one. */
	put_alive(S2, false);
	put_alive(S1, false);
	volume_is("data", "down", 2);
	put_alive(S1, true);
	put_roster(&v, 2, 3);
	volume_is("data", "degraded", 1);
	api_end();
}

/* Without the store: lists are as they were, changes are refused. */
static void test_away(void)
{
	json_t *r;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'linear'}");
	D.store_away = true;
	D.store_away_ms = store_now_ms() - 61000;
	fails("volume create", "{'name':'x','size':67108864,'layout':'linear'}", "unreachable", "not answered for 61 s");
	fails("volume detach", "{'volume':'data'}", "unreachable", "not answered");
	r = works("volume list", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "volumes")), 1);
	json_decref(r);
	status_is("trouble", "store", "not answered this host for 61 s");
	D.store_away = false;
	api_end();
}

/* A host that decides nothing detaches, and says why it does nothing else. */
static void test_stopped(void)
{
	struct client k;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'linear'}");
	D.self.state = HOST_STOPPED;
	snprintf(D.self.why, sizeof(D.self.why), "the store was put back: 'meshctl cluster recover'");
	fails("volume delete", "{'volume':'data'}", "stopped", "the store was put back");
	fails("volume attach", "{'volume':'data'}", "stopped", "meshctl cluster recover");
	does("volume detach", "{'volume':'data'}");
	does("volume list", "{}");
	/* While the host starts the request waits. */
	D.self.state = HOST_STARTING;
	client_request(&k, "host maintenance", "{'host':'s2','state':'on'}");
	client_waits(&k, 3);
	D.self.state = HOST_UP;
	client_ok(&k);
	client_close(&k);
	/* What the copy has is not in the host's file yet. */
	D.self.seen.plan.revision = 1;
	client_request(&k, "host maintenance", "{'host':'s2','state':'off'}");
	client_waits(&k, 3);
	CU_ASSERT(host_obj(S2)->plan.maintenance);
	D.self.seen.plan.revision = UINT64_MAX;
	client_ok(&k);
	client_close(&k);
	api_end();
}

/* Jobs run on threads: wait for their end, not for a time. */
static json_t *job_works(const char *verb, const char *args, const char *kind, const char *part)
{
	struct pollfd p = { .fd = job_wake_fd(), .events = POLLIN };
	struct client k;
	json_t *r = NULL;
	u64 n;

	client_request(&k, verb, args);
	for (int i = 0; i < 100 && !k.answer; i++) {
		daemon_step();
		client_read(&k);
		if (!k.answer && poll(&p, 1, 100) == 1 && read(p.fd, &n, sizeof(n)) < 0)
			CU_FAIL("the wake cannot be read");
	}
	if (kind)
		client_fails(&k, kind, part);
	else
		r = json_incref(client_ok(&k));
	client_close(&k);
	return r;
}

static void real_token(char *args, size_t size)
{
	struct token t = { .role = PLAN_CLIENT, .key_id = 1, .id = rig_id('i', 1), .addresses = 1,
			   .address = { { .name = "s1", .port = ADDRESS_PORT } } };
	char text[TOKEN_TEXT];

	OK(token_print(&t, text));
	snprintf(args, size, "{'token':'%.500s'}", text);
}

static void test_cluster(void)
{
	char args[600];
	json_t *r;

	api_begin();
	cl.alone = true;
	job_works("cluster token", "{}", "refused", "cluster init");
	cl.ret = -ENOSPC;
	job_works("cluster init", "{'name':'rack7'}", "failed", "the disk is full: make room");
	cl.ret = 0;
	r = job_works("cluster init", "{'name':'rack7'}", NULL, NULL);
	CU_ASSERT_STRING_EQUAL(cl.text, "rack7");
	CU_ASSERT_STRING_EQUAL(text_of(r, "role"), "store");
	json_decref(r);
	job_works("cluster init", "{}", "exists", "in a cluster already");
	CU_ASSERT_EQUAL(cl.inits, 2);
	r = job_works("cluster token", "{'role':'storage','expires':90}", NULL, NULL);
	CU_ASSERT_STRING_EQUAL(text_of(r, "token"), "meshjoin1/word");
	CU_ASSERT_EQUAL(cl.role, PLAN_STORAGE);
	CU_ASSERT_EQUAL(cl.seconds, 90);
	json_decref(r);
	json_decref(job_works("cluster token", "{}", NULL, NULL));
	CU_ASSERT_EQUAL(cl.role, PLAN_CLIENT);
	CU_ASSERT_EQUAL(cl.seconds, 3600);
	fails("cluster token", "{'role':'king'}", "usage", "client, storage or store");
	fails("cluster join", "{}", "usage", "TOKEN is missing");
	fails("cluster join", "{'token':'word'}", "usage", "TOKEN: this is none");
	real_token(args, sizeof(args));
	cl.ret = -EBUSY;
	job_works("cluster join", args, "in-use", "delete it first");
	CU_ASSERT(!D.again);
	cl.ret = -EINVAL;
	job_works("cluster join", args, "refused", "delete it first");
	cl.ret = -ETIMEDOUT;
	job_works("cluster join", args, "unreachable", "delete it first");
	cl.ret = 0;
	json_decref(job_works("cluster join", args, NULL, NULL));
	CU_ASSERT_EQUAL(cl.joins, 4);
	CU_ASSERT_EQUAL(strncmp(cl.text, "meshjoin1/client/", 17), 0);
	args[40] ^= 1;
	fails("cluster join", args, "usage", "copy it again");
	CU_ASSERT(D.again);
	D.again = false;
	json_decref(job_works("cluster leave", "{}", NULL, NULL));
	CU_ASSERT(D.again && cl.leaves == 1);
	r = works("version", "{}");
	CU_ASSERT_STRING_EQUAL(text_of(r, "cluster"), "rack7");
	CU_ASSERT_STRING_EQUAL(text_of(r, "host"), "s1");
	CU_ASSERT_STRING_EQUAL(text_of(r, "version"), MESHD_VERSION);
	json_decref(r);
	api_end();
}

/* The task of a drive that is taken away says so; a drive that has left comes back by its device. */
static void test_drive_taken_away(void)
{
	const char *id = "7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11";
	const struct obj_task *t;
	struct key k = { .kind = KEY_TASK }, drive = { .kind = KEY_DRIVE, .drive = { .b = { 0xd0, S2, 0x11, 0 } } };
	struct obj_drive out;
	struct client c;
	json_t *r;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'mirror:2','drives':['s2:/dev/nvme0n1',"
	     "'s3:/dev/nvme0n1']}");
	muuid_parse(id, &k.task);
	client_request(&c, "drive unexport", "{'drive':'s2:/dev/nvme0n1','force':true,'preempt':true,"
		       "'id':'7c0d5f8e-0b53-4a0e-9a55-1f4f0a9d2c11'}");
	client_waits(&c, 2);
	rig_catch_up(A);
	t = copy_obj(A, &k);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT(json_is_true(json_object_get(t->args, "preempt")) && json_is_true(json_object_get(t->args, "force")));
	client_close(&c);
	out = *(const struct obj_drive *)copy_obj(A, &drive);
	out.plan.wanted = PLAN_OUT;
	rig_put(A, KEY_DRIVE, &out);
	r = works("volume show", "{'volume':'data'}");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "members", 0), "state"), "away");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "members", 0), "reason"), "its drive was unexported");
	CU_ASSERT_STRING_EQUAL(text_of(at(r, "members", 1), "state"), "up");
	json_decref(r);
	client_request(&c, "drive export", "{'path':'s2:/dev/nvme0n1'}");
	client_waits(&c, 2);
	CU_ASSERT_EQUAL(count(KEY_TASK), 3);
	client_close(&c);
	fails("drive export", "{'path':'s2:/dev/sda'}", "refused", "mounted");
	api_end();
}

/* Its host's kernel has it open, and no option takes it away. */
static void test_drive_local(void)
{
	struct key drive = { .kind = KEY_DRIVE, .drive = { .b = { 0xd0, S2, 0x11, 0 } } };
	struct key access = { .kind = KEY_ACCESS };
	struct obj_reader reader = { .plan = { .host = host_id(S2) } };
	struct obj_access x;
	struct obj_drive out;
	struct client c;

	api_begin();
	does("volume create", "{'name':'data','size':67108864,'layout':'linear','drives':['s2:/dev/nvme0n1']}");
	out = *(const struct obj_drive *)copy_obj(A, &drive);
	out.local = true;
	access.volume = reader.volume = out.plan.extent[0].volume;
	rig_put(A, KEY_DRIVE, &out);
	x = *(const struct obj_access *)copy_obj(A, &access);
	x.plan = (struct plan_access) { .mode = PLAN_RW, .holder = host_id(S2), .number = mesh_number(1, 7, 0) };
	rig_put(A, KEY_ACCESS, &x);
	fails("drive unexport", "{'drive':'s2:/dev/nvme0n1','force':true,'preempt':true}", "in-use", "has volume data attached");
	x = *(const struct obj_access *)copy_obj(A, &access);
	x.plan = (struct plan_access) { .mode = PLAN_NONE, .number = mesh_number(1, 7, 0) };
	rig_put(A, KEY_ACCESS, &x);
	rig_put(A, KEY_READER, &reader);
	fails("drive unexport", "{'drive':'s2:/dev/nvme0n1','force':true}", "in-use", "has volume data attached");
	rig_erase(A, &(struct key) { .kind = KEY_READER, .volume = reader.volume, .host = host_id(S2) });
	client_request(&c, "drive unexport", "{'drive':'s2:/dev/nvme0n1','force':true}");
	client_waits(&c, 2);
	CU_ASSERT_EQUAL(count(KEY_TASK), 2);
	client_close(&c);
	api_end();
}

static const struct rig_test tests[] = {
	{ "hosts", test_hosts },
	{ "settings", test_settings },
	{ "host remove", test_host_remove },
	{ "a host that holds", test_host_holds },
	{ "drives", test_drives },
	{ "a drive is taken away", test_drive_taken_away },
	{ "... a local one", test_drive_local },
	{ "drain, forget", test_drain_forget },
	{ "export", test_export },
	{ "tasks", test_tasks },
	{ "events", test_events },
	{ "status", test_status },
	{ "degraded", test_degraded },
	{ "store away", test_away },
	{ "stopped", test_stopped },
	{ "cluster", test_cluster },
};

int main(void)
{
	return rig_main("daemon_api_lists", tests, sizeof(tests) / sizeof(tests[0]));
}
