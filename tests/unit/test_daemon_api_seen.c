// SPDX-License-Identifier: GPL-2.0-only
/* Verbs that show how drives and the way to hosts are: drive health, host check, cluster status. */
#include "tests/unit/api_rig.h"

static json_t *row(const json_t *j, const char *list, const char *key, const char *value)
{
	json_t *r;
	size_t i;

	json_array_foreach(json_object_get(j, list), i, r)
		if (!strcmp(text_of(r, key), value))
			return r;
	return NULL;
}

static json_int_t num(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

/* The first drive of a host has these SMART values. */
static void put_smart(u8 h, const struct obj_smart *s)
{
	struct obj_disk disk[2] = {
		{ .path = "/dev/nvme0n1", .size = GIB, .lba = 512, .drive = { .b = { 0xd0, h, 0x11, 0 } }, .why = "a drive",
		  .smart = *s },
		{ .path = "/dev/nvme1n1", .size = GIB, .lba = 512, .drive = { .b = { 0xd0, h, 0x11, 1 } }, .why = "a drive" },
	};
	struct obj_device d = { .host = host_id(h), .disks = 2, .disk = disk };

	rig_put(A, KEY_DEVICE, &d);
}

/* A drive's state, reason and problem with these values. */
static void worn(struct obj_smart s, const char *state, const char *reason, const char *grade)
{
	json_t *r, *d;

	s.known = true;
	put_smart(S2, &s);
	r = works("drive health", "{'drive':'s2:/dev/nvme0n1'}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "drives")), 1);
	d = json_array_get(json_object_get(r, "drives"), 0);
	CU_ASSERT_STRING_EQUAL(text_of(d, "state"), state);
	CU_ASSERT_STRING_EQUAL(text_of(d, "reason"), reason);
	json_decref(r);
	r = works("cluster status", "{}");
	d = row(r, "problems", "about", "s2:/dev/nvme0n1");
	CU_ASSERT_STRING_EQUAL(text_of(d, "grade"), grade);
	CU_ASSERT_EQUAL(!!d, grade[0] != 0);
	CU_ASSERT(!d || (strstr(text_of(d, "words"), "drive s2:/dev/nvme0n1 is worn: ") &&
			 strstr(text_of(d, "words"), reason)));
	CU_ASSERT(!d || strstr(text_of(d, "todo"), "meshctl drive drain s2:/dev/nvme0n1"));
	CU_ASSERT_STRING_EQUAL(text_of(r, "health"), strcmp(grade, "degraded") ? "ok" : "degraded");
	json_decref(r);
}

static void test_health(void)
{
	json_t *r, *d;

	api_begin();
	put_smart(S2, &(struct obj_smart) { .known = true, .temperature = 41, .used = 7, .spare = 100, .media_errors = 3 });
	put_alive(S3, false);
	r = works("drive health", "{}");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(r, "drives")), 6);
	d = row(r, "drives", "uuid", muuid_str(&(struct muuid) { .b = { 0xd0, S2, 0x11, 0 } }).s);
	CU_ASSERT(json_is_true(json_object_get(d, "smart")) && !strcmp(text_of(d, "host"), "s2"));
	CU_ASSERT(num(d, "temperature_c") == 41 && num(d, "used_percent") == 7 && num(d, "spare_percent") == 100);
	CU_ASSERT(num(d, "media_errors") == 3 && num(d, "critical_warning") == 0);
	CU_ASSERT(!strcmp(text_of(d, "state"), "good") && !json_object_get(d, "reason"));
	d = row(r, "drives", "uuid", muuid_str(&(struct muuid) { .b = { 0xd0, S2, 0x11, 1 } }).s);
	CU_ASSERT(json_is_false(json_object_get(d, "smart")) && !json_object_get(d, "used_percent"));
	CU_ASSERT_STRING_EQUAL(text_of(d, "state"), "good");
	d = row(r, "drives", "uuid", muuid_str(&(struct muuid) { .b = { 0xd0, S3, 0x11, 0 } }).s);
	CU_ASSERT(!strcmp(text_of(d, "state"), "away") && !strcmp(text_of(d, "reason"), "its host is away"));
	json_decref(r);
	fails("drive health", "{'drive':'s2:/dev/none'}", "not-found", "there is no drive");
	api_end();
}

/* A drive that is away has one line, which is of that. */
static void away_and_worn(void)
{
	json_t *r, *d;

	put_status_of(S2, &(struct muuid) { .b = { 0xd0, S2, 0x11, 0 } }, OBJ_OF_DRIVE, "gone", "it was pulled");
	r = works("cluster status", "{}");
	d = row(r, "problems", "about", "s2:/dev/nvme0n1");
	CU_ASSERT_PTR_NULL(strstr(text_of(d, "words"), "worn"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text_of(d, "words"), "it was pulled"));
	json_decref(r);
}

static void test_worn(void)
{
	api_begin();
	worn((struct obj_smart) { .used = 89, .spare = 100 }, "good", "", "");
	worn((struct obj_smart) { .used = 90 }, "worn", "90 % of its rated endurance is used", "note");
	worn((struct obj_smart) { .warning = 1 }, "worn", "its spare blocks are nearly used up", "degraded");
	worn((struct obj_smart) { .warning = 2 }, "worn", "its temperature is out of range", "degraded");
	worn((struct obj_smart) { .warning = 4 }, "worn", "it is unreliable by its own account", "degraded");
	worn((struct obj_smart) { .warning = 8 }, "worn", "its media is read-only", "degraded");
	worn((struct obj_smart) { .warning = 16 }, "worn", "the backup of its volatile memory has failed", "degraded");
	worn((struct obj_smart) { .warning = 32 }, "worn", "its persistent memory is unreliable", "degraded");
	worn((struct obj_smart) { .warning = 63, .used = 120 }, "worn", "its media is read-only", "degraded");
	away_and_worn();
	api_end();
}

/* The job has ended. */
static json_t *check(const char *args)
{
	struct client k;
	json_t *r;

	client_request(&k, "host check", args);
	while (!k.answer) {
		struct pollfd p = { .fd = job_wake_fd(), .events = POLLIN };
		u64 n;

		daemon_step();
		client_read(&k);
		if (!k.answer && poll(&p, 1, 10) == 1)
			CU_ASSERT_EQUAL(read(p.fd, &n, sizeof(n)), sizeof(n));
	}
	CU_ASSERT(json_is_true(json_object_get(k.answer, "ok")));
	r = json_incref(json_object_get(k.answer, "result"));
	CU_ASSERT_EQUAL(num(k.answer, "code"), !json_is_true(json_object_get(r, "ok")));
	client_close(&k);
	return r;
}

static void test_check(void)
{
	struct obj_address addr[2] = { { .addr = "10.0.0.2", .port = 4500 }, { .addr = "fd00::2" } };
	struct obj_host h = { .plan = { .uuid = host_id(S2), .role = PLAN_STORAGE }, .name = "s2", .addresses = 2,
			      .address = addr };
	json_t *r;

	api_begin();
	rig_put(A, KEY_HOST, &h);
	r = check("{'host':'s2'}");
	CU_ASSERT(muuid_equal(&checked.host, &h.plan.uuid) && checked.exports && checked.places == 2);
	CU_ASSERT(!strcmp(checked.place[0].addr, "10.0.0.2") && checked.place[0].port == 4500);
	CU_ASSERT_STRING_EQUAL(checked.place[1].addr, "fd00::2");
	CU_ASSERT(json_is_true(json_object_get(r, "ok")));
	CU_ASSERT(json_is_true(json_object_get(row(r, "checks", "what", "store"), "ok")));
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "checks", "what", "meshd"), "says"),
			       "meshd 1 of host s2 reports itself to the store");
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "checks", "what", "link"), "says"), "the test's way");
	CU_ASSERT(json_is_null(json_object_get(row(r, "checks", "what", "session"), "ok")));
	json_decref(r);
	/* One address alone, with its host; one that is of no host; a client. */
	json_decref(check("{'host':'10.0.0.2'}"));
	CU_ASSERT(muuid_equal(&checked.host, &h.plan.uuid) && checked.places == 1 && checked.place[0].port == 4500);
	json_decref(check("{'host':'10.9.9.9'}"));
	CU_ASSERT(muuid_null(&checked.host) && checked.places == 1 && !strcmp(checked.place[0].addr, "10.9.9.9"));
	json_decref(check("{'host':'g1'}"));
	CU_ASSERT(muuid_equal(&checked.host, &(struct muuid) { { 'h', G1 } }) && !checked.exports);
	fails("host check", "{'host':'nonsense'}", "not-found", "there is no host 'nonsense'");
	api_end();
}

static void test_check_bad(void)
{
	json_t *r;

	api_begin();
	check_bad = true;
	r = check("{'host':'s2'}");
	CU_ASSERT(json_is_false(json_object_get(r, "ok")));
	CU_ASSERT(json_is_false(json_object_get(row(r, "checks", "what", "link"), "ok")));
	json_decref(r);
	check_bad = false;
	put_alive(S2, false);
	r = check("{'host':'s2'}");
	CU_ASSERT(json_is_false(json_object_get(r, "ok")));
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "checks", "what", "meshd"), "says"),
			       "host s2 is away from the cluster store: systemctl status meshd, there");
	json_decref(r);
	/* Without the store nothing is known of the other host's meshd. */
	D.store_away = true;
	D.store_away_ms = store_now_ms() - 7000;
	snprintf(D.self.why, sizeof(D.self.why), "no store host answers");
	r = check("{'host':'s2'}");
	CU_ASSERT_PTR_NULL(row(r, "checks", "what", "meshd"));
	CU_ASSERT_STRING_EQUAL(text_of(row(r, "checks", "what", "store"), "says"),
			       "the cluster store has not answered this host for 7 s: no store host answers");
	json_decref(r);
	D.store_away = false;
	D.self.state = HOST_REMOVED;
	r = check("{'host':'s3'}");
	CU_ASSERT(json_is_false(json_object_get(row(r, "checks", "what", "store"), "ok")));
	json_decref(r);
	api_end();
}

/* The peer has gone: the job ends by itself. */
static void test_check_left(void)
{
	unsigned int before = checks;
	struct client k;

	api_begin();
	client_request(&k, "host check", "{'host':'s2'}");
	daemon_step();
	client_close(&k);
	daemon_step();
	daemon_step();
	while (checks == before)
		poll(NULL, 0, 1);
	api_end();
}

int main(void)
{
	static const struct rig_test tests[] = {
		{ "health of drives", test_health },
		{ "drives that are worn", test_worn },
		{ "the way to a host", test_check },
		{ "that is not good", test_check_bad },
		{ "a peer that has gone", test_check_left },
	};

	return rig_main("daemon_api_seen", tests, sizeof(tests) / sizeof(*tests));
}
