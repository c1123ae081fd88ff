// SPDX-License-Identifier: GPL-2.0-only
/* Volumes of a kernel that is made up: work of groups, requests for it, counters. */
#include "tests/unit/kernel_rig.h"

static struct meshblk_group group[2];

/* Two groups, of which nothing is missing. */
static void groups(void)
{
	struct attach_set a = the_set();

	begin();
	OK(set(&a));
	for (u32 i = 0; i < 2; i++) {
		group[i] = (struct meshblk_group) { .segment = i, .nr = 2, .members = { 2 * i, 2 * i + 1 },
			.roles = { MESHBLK_ROLE_IN_SYNC, MESHBLK_ROLE_IN_SYNC }, .bytes = 1000 };
		strcpy(group[i].state, MESHBLK_STATE_ACTIVE);
	}
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.v.groups = group;
	K.v.nr_groups = 2;
}

static struct plan_work work(void)
{
	struct attach_kernel k;
	struct plan_work w;

	op->kernels(V, NULL, 0);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT(volumes_work(V, &L.volume, &w));
	CU_ASSERT(!memcmp(&k.work, &w, sizeof(w)));
	return w;
}

static void test_health(void)
{
	static const struct {
		const char *state;
		u8 role[4], health;
		const char *why;
	} tries[] = {
		{ "active", { MESHBLK_ROLE_IN_SYNC }, PLAN_WHOLE, "" },
		{ "active", { MESHBLK_ROLE_JOINING }, PLAN_REBUILDING, "group 1.0: member 2 is rebuilding" },
		{ "active", { MESHBLK_ROLE_OUT }, PLAN_DEGRADED, "group 1.0: member 2 is out" },
		{ "active", { MESHBLK_ROLE_OPENING }, PLAN_DEGRADED, "" },
		{ "active", { MESHBLK_ROLE_SUSPECT }, PLAN_DEGRADED, "group 1.0: member 2 is silent" },
		{ "waiting", { MESHBLK_ROLE_IN_SYNC }, PLAN_DOWN, "" },
	};
	struct plan_work w;

	groups();
	K.v.nr_groups = 0;
	w = work();
	CU_ASSERT(w.health == PLAN_UNSEEN && !w.behind);
	K.v.nr_groups = 2;
	for (u32 i = 0; i < ARRAY_SIZE(tries); i++) {
		strcpy(group[1].state, tries[i].state);
		group[1].roles[0] = tries[i].role[0];
		w = work();
		CU_ASSERT_EQUAL(w.health, tries[i].health);
		CU_ASSERT_STRING_EQUAL(w.why, tries[i].why);
	}
	/* the worst counts, wherever it is; one whose reads wait is down */
	strcpy(group[1].state, MESHBLK_STATE_ACTIVE);
	group[1].roles[0] = MESHBLK_ROLE_JOINING;
	group[1].roles[1] = MESHBLK_ROLE_OUT;
	group[1].waits = 2;
	group[0].roles[1] = MESHBLK_ROLE_JOINING;
	w = work();
	CU_ASSERT_EQUAL(w.health, PLAN_DEGRADED);
	group[1].roles[0] = MESHBLK_ROLE_IN_SYNC;
	w = work();
	CU_ASSERT_EQUAL(w.health, PLAN_DEGRADED);
	CU_ASSERT_STRING_EQUAL(w.why, "group 1.0: member 3 is out, and waits for its place");
	strcpy(group[0].reason, "reads wait");
	w = work();
	CU_ASSERT(w.health == PLAN_DOWN && !strcmp(w.why, "group 0.0: reads wait"));
	K.there = false;
	op->kernels(V, NULL, 0);
	CU_ASSERT(!volumes_work(V, &L.volume, &w));
	end();
}

static void test_work(void)
{
	struct plan_work w;

	groups();
	group[0].behind[0] = 1;
	group[0].behind[1] = 2;
	group[1].behind[1] = 4;
	group[0].copied = 8;
	group[0].copy_bytes = 16;
	group[1].copied = 32;
	group[1].copy_bytes = 64;
	w = work();
	CU_ASSERT(w.behind == 7 && w.copied == 40 && w.copies == 80);
	CU_ASSERT(!w.scrubs && !w.scrubbed && !w.bytes && !w.unread_bytes);
	/* one has ended its scrub, the other is in it; a third was never scrubbed */
	group[0].scrubbed = 900;
	group[1].scrubbing = true;
	group[1].scrubbed = 300;
	group[1].unread[0] = (struct mesh_diff) { 4096, 512, 3 };
	group[1].nr_unread = 1;
	w = work();
	CU_ASSERT(w.scrubs && w.scrubbed == 1300 && w.bytes == 2000);
	CU_ASSERT(w.unread_member == 3 && w.unread_bytes == 512 && w.unread_at == 4096);
	end();
}

static int request(u8 id, u8 what, u8 extent)
{
	struct obj_request r = { .id = rig_id(id, 1), .what = what };
	int err;

	if (extent)
		r.extent = rig_id('x', extent);
	while ((err = op->request(V, &L.volume, &L, &r)) == -EINPROGRESS)
		await_wake();
	return err;
}

static bool said(const char *part)
{
	bool is = strstr(op->words(V), part);

	if (!is)
		printf("\n%s\n", op->words(V));
	return is;
}

static void test_request(void)
{
	u32 gets;

	groups();
	L.segment[0].data = 3;
	group[0].nr = 3;
	group[0].roles[2] = MESHBLK_ROLE_IN_SYNC;
	group[1].roles[0] = MESHBLK_ROLE_OUT;
	OK(request(1, OBJ_SCRUB, 0));
	CU_ASSERT(K.requests == 1 && !K.rejoins && !K.scrub.repair && !K.scrub.stop && !K.scrub.from);
	OK(request(2, OBJ_SCRUB_STOP, 0));
	CU_ASSERT(K.requests == 2 && K.scrub.stop && !K.scrub.repair);
	OK(request(3, OBJ_SCRUB_REPAIR, 0));
	CU_ASSERT(K.requests == 3 && K.scrub.repair && !K.scrub.from);
	OK(request(4, OBJ_SCRUB_REPAIR, 2));
	CU_ASSERT(K.requests == 4 && K.scrub.repair && K.scrub.from && K.scrub.index == 1);
	OK(request(5, OBJ_REJOIN, 2));
	CU_ASSERT(K.requests == 5 && K.rejoins && K.scrub.index == 1);
	/* a result is taken once, and what the kernel has is read again behind it */
	gets = K.gets;
	OK(request(5, OBJ_REJOIN, 1));
	CU_ASSERT(K.requests == 6 && K.scrub.index == 0);
	CU_ASSERT(volumes_work(V, &L.volume, &(struct plan_work) { 0 }));
	CU_ASSERT(K.gets > gets);
	K.request_err = -EBUSY;
	CU_ASSERT_EQUAL(request(6, OBJ_SCRUB, 0), -EBUSY);
	CU_ASSERT(said("the kernel's words"));
	end();
}

static void test_request_wrong(void)
{
	groups();
	/* A mirror of two; of three with two in sync; without groups. */
	CU_ASSERT_EQUAL(request(1, OBJ_SCRUB_REPAIR, 0), -EINVAL);
	CU_ASSERT(said("--from"));
	group[0].roles[1] = group[1].roles[1] = MESHBLK_ROLE_OUT;
	CU_ASSERT_EQUAL(request(1, OBJ_SCRUB_REPAIR, 0), -EINVAL);
	group[0].roles[1] = group[1].roles[1] = MESHBLK_ROLE_IN_SYNC;
	L.segment[0].data = 3;
	CU_ASSERT_EQUAL(request(1, OBJ_SCRUB_REPAIR, 0), -EINVAL);
	group[0].roles[1] = MESHBLK_ROLE_JOINING;
	group[1].segment = 7;
	OK(request(1, OBJ_SCRUB_REPAIR, 0));
	L.segment[0].level = PROT_EC;
	L.segment[0].data = 2;
	group[0].roles[1] = MESHBLK_ROLE_IN_SYNC;
	OK(request(1, OBJ_SCRUB_REPAIR, 0));
	CU_ASSERT_EQUAL(request(2, OBJ_SCRUB_REPAIR, 2), -EINVAL);
	CU_ASSERT(said("member 1 is no copy of a mirror"));
	CU_ASSERT_EQUAL(request(3, OBJ_REJOIN, 9), -ENOENT);
	CU_ASSERT(said("not one of the volume any more"));
	K.v.nr_groups = 0;
	op->kernels(V, NULL, 0);
	CU_ASSERT_EQUAL(request(4, OBJ_SCRUB, 0), -EOPNOTSUPP);
	CU_ASSERT(said("no redundancy"));
	K.there = false;
	op->kernels(V, NULL, 0);
	CU_ASSERT_EQUAL(request(5, OBJ_SCRUB, 0), -ENOENT);
	CU_ASSERT_EQUAL(K.requests, 2);
	end();
}

static const char *text(const json_t *j, const char *key)
{
	const char *t = json_string_value(json_object_get(j, key));

	return t ? t : "";
}

static json_int_t counter(const json_t *row, const char *key)
{
	const json_t *j = json_object_get(json_object_get(row, "stats"), key);

	return json_is_integer(j) ? json_integer_value(j) : -1;
}

static void test_stats(void)
{
	struct meshblk_member m[2] = {
		{ .stats = { .kept = 1U << MESHBLK_S_READS, .v[MESHBLK_S_READS] = 3 } },
		{ .stats = { .kept = 1U << MESHBLK_S_READS, .v[MESHBLK_S_READS] = 4 } },
	};
	struct muuid peer = rig_id('h', 3);
	json_t *j, *row;

	groups();
	strcpy(K.v.disk, "mesh0");
	strcpy(K.v.name, "db");
	K.v.members = m;
	K.v.nr_members = 2;
	K.target[0].stats = (struct mesh_stats) { .kept = 1U << MESHBLK_S_WRITES, .v[MESHBLK_S_WRITES] = 5 };
	K.sessions = 2;
	K.session = (struct meshtgt_session) { .id = 9, .host = peer, .state = "up", .channels = 4, .memory = 77 };
	K.session.stats = m[1].stats;
	j = volumes_stats();
	CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(j, "volumes")), 2);
	row = json_array_get(json_object_get(j, "volumes"), 1);
	CU_ASSERT(!strcmp(text(row, "name"), "db") && !strcmp(text(row, "device"), "/dev/mesh0"));
	CU_ASSERT_STRING_EQUAL(text(row, "uuid"), muuid_str(&L.volume).s);
	CU_ASSERT(counter(row, "reads") == 7 && counter(row, "writes") == -1);
	CU_ASSERT(json_is_null(json_object_get(json_object_get(row, "stats"), "writes")));
	CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(j, "targets")), K.targets);
	row = json_array_get(json_object_get(j, "targets"), 0);
	CU_ASSERT_STRING_EQUAL(text(row, "addr"), K.target[0].addr);
	CU_ASSERT_STRING_EQUAL(text(row, "uuid"), muuid_str(&K.target[0].host).s);
	CU_ASSERT(!strcmp(text(row, "state"), "up") && counter(row, "writes") == 5 && counter(row, "reads") == -1);
	CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(j, "sessions")), 2);
	row = json_array_get(json_object_get(j, "sessions"), 1);
	CU_ASSERT(json_integer_value(json_object_get(row, "session")) == 9 && counter(row, "reads") == 4);
	CU_ASSERT(json_integer_value(json_object_get(row, "channels")) == 4 &&
		  json_integer_value(json_object_get(row, "memory")) == 77);
	CU_ASSERT(!strcmp(text(row, "host"), muuid_str(&peer).s) && !strcmp(text(row, "state"), "up"));
	json_decref(j);
	end();
}

int main(void)
{
	static const struct rig_test tests[] = {
		{ "health of groups", test_health },
		{ "work of groups", test_work },
		{ "requests", test_request },
		{ "requests that are refused", test_request_wrong },
		{ "counters", test_stats },
	};

	return rig_main("work of a kernel's volumes", tests, ARRAY_SIZE(tests));
}
