// SPDX-License-Identifier: GPL-2.0-only
/* What members of one object say together: contradictions, bounds, limits, sizes; and the views. */
#include "objects_rig.h"
#include "userspace/store/store.h"

/* A random object of a kind, with one member set; @want: of obj_decode(), @words: in its sentence. */
static void try_set(int kind, const char *path, json_t *value, int want, const char *words)
{
	union obj_any x;
	char why[OBJ_WHY] = "", *text, part[64];
	json_t *root, *j;
	size_t n;
	int err;

	rig_fill(kind, &x);
	text = rig_text(kind, &x, why);
	obj_free(kind, &x);
	root = j = json_loads(text, 0, NULL);
	free(text);
	/* "extents.0.start" */
	while (n = strcspn(path, "."), path[n]) {
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		j = json_is_array(j) ? json_array_get(j, atoi(part)) : json_object_get(j, part);
		CU_ASSERT_PTR_NOT_NULL_FATAL(j);
		path += n + 1;
	}
	if (json_is_array(j))
		json_array_set_new(j, atoi(path), value);
	else
		json_object_set_new(j, path, value);
	text = json_dumps(root, 0);
	err = obj_decode(kind, text, strlen(text), &x, why, sizeof(why));
	if (err != want || (words && !strstr(why, words)))
		printf("%d %s: %d, not %d: %s\n", kind, path, err, want, why);
	CU_ASSERT_EQUAL(err, want);
	CU_ASSERT(!words || strstr(why, words));
	obj_free(kind, &x);
	free(text);
	json_decref(root);
}

#define NUMBER(n)	json_integer(n)
#define UUID_A		"11111111-1111-4111-8111-1111111111ab"

static void test_numbers(void)
{
	const json_int_t max = 0x7fffffffffffffff, one = 65536;

	try_set(KEY_ACCESS, "number", NUMBER(max), -EINVAL, "number is 9223372036854775807");
	try_set(KEY_ACCESS, "number", NUMBER(max - 1), -EUCLEAN, "restart");
	try_set(KEY_ACCESS, "number", NUMBER(max - 65535), 0, NULL);
	try_set(KEY_ACCESS, "number", NUMBER(one + 1), -EUCLEAN, "restart");
	try_set(KEY_ACCESS, "number", NUMBER(0), -EUCLEAN, "never attached");
	try_set(KEY_ACCESS, "number", NUMBER(1LL << 51), -EUCLEAN, "never attached");
	try_set(KEY_ACCESS, "mode", json_string("none"), -EUCLEAN, "holder");
	try_set(KEY_ACCESS, "mode", json_string("ro"), -EUCLEAN, "holder");
	try_set(KEY_ACCESS, "clean", json_true(), -EUCLEAN, "clean");
	try_set(KEY_READER, "number", NUMBER(0), 0, NULL);
	try_set(KEY_READER, "number", NUMBER(one + 1), -EUCLEAN, "restart");
	try_set(KEY_READER, "number", NUMBER(max), -EINVAL, NULL);
	try_set(KEY_CLUSTER, "generation", NUMBER(4095), 0, NULL);
	try_set(KEY_CLUSTER, "generation", NUMBER(4096), -EINVAL, "between 0 and 4095");
	try_set(KEY_CLUSTER, "format", NUMBER(999), -EINVAL, NULL);
}

/* A want that preempts attaches for writing, one that is forced detaches; neither is false in words. */
static void test_want(void)
{
	static const char *const modes[] = { [PLAN_NONE] = "none", [PLAN_RW] = "rw", [PLAN_RO] = "ro" };
	char why[OBJ_WHY], text[512];
	union obj_any x;
	int err;

	for (u32 i = 0; i < 3 * 4; i++) {
		bool preempt = i / 3 & 1, force = i / 6;

		snprintf(text, sizeof(text), "{\"v\":1000,\"op\":\"a\",\"host\":\"%s\",\"volume\":\"%s\","
			 "\"mode\":\"%s\",\"boot\":true%s%s}", "6d0e1c1a-0000-4000-8000-000000000001",
			 "6d0e1c1a-0000-4000-8000-000000000002", modes[i % 3],
			 preempt ? ",\"preempt\":true" : "", force ? ",\"force\":true" : "");
		err = obj_decode(KEY_WANT, text, strlen(text), &x, why, sizeof(why));
		CU_ASSERT_EQUAL(err, (preempt && i % 3 != PLAN_RW) || (force && i % 3 != PLAN_NONE) ? -EUCLEAN : 0);
		if (!err) {
			CU_ASSERT_EQUAL(x.want.mode, i % 3);
			CU_ASSERT_EQUAL(x.want.preempt, preempt);
			CU_ASSERT_EQUAL(x.want.force, force);
		}
		obj_free(KEY_WANT, &x);
	}
	try_set(KEY_WANT, "mode", json_string("fenced"), -EINVAL, "word");
	try_set(KEY_WANT, "fenced", json_false(), -EINVAL, "leaving it out");
	try_set(KEY_WANT, "fenced", json_true(), 0, NULL);
}

/* A request is of a want for writing, whole, and names a member where it is about one. */
static void test_want_request(void)
{
	static const char *const whats[] = { NULL, "scrub", "repair", "stop", "rejoin" };
	char why[OBJ_WHY], text[512];
	union obj_any x;
	int err;

	for (u32 i = 0; i < 5 * 8; i++) {
		bool id = i / 5 & 1, extent = i / 10 & 1, reads = i / 20;
		u32 what = i % 5;
		bool ok = id == !!what && (!what || !reads) && (what == OBJ_REJOIN ? extent :
			  what == OBJ_SCRUB_REPAIR || !extent);

		snprintf(text, sizeof(text), "{\"v\":1000,\"op\":\"a\",\"host\":\"%s\",\"volume\":\"%s\",\"mode\":\"%s\","
			 "\"boot\":true%s%s%s%s%s}", "6d0e1c1a-0000-4000-8000-000000000001",
			 "6d0e1c1a-0000-4000-8000-000000000002", reads ? "ro" : "rw",
			 id ? ",\"request\":\"6d0e1c1a-0000-4000-8000-000000000003\"" : "",
			 extent ? ",\"request_extent\":\"6d0e1c1a-0000-4000-8000-000000000004\"" : "",
			 what ? ",\"request_what\":\"" : "", what ? whats[what] : "", what ? "\"" : "");
		err = obj_decode(KEY_WANT, text, strlen(text), &x, why, sizeof(why));
		if (err != (ok ? 0 : -EUCLEAN))
			printf("%s: %d\n", text, err);
		CU_ASSERT_EQUAL(err, ok ? 0 : -EUCLEAN);
		if (!err) {
			CU_ASSERT_EQUAL(x.want.request.what, what);
			CU_ASSERT_EQUAL(muuid_null(&x.want.request.id), !what);
			CU_ASSERT_EQUAL(muuid_null(&x.want.request.extent), !extent);
		}
		obj_free(KEY_WANT, &x);
	}
}

/* mode none with and without a clean end, and a number that stays. */
static void test_access_none(void)
{
	union obj_any x = { .access = { .o.op = "a", .plan = { .clean = true, .number = 9 << 16 } } }, y;
	char why[OBJ_WHY], *text;

	x.access.volume = rnd_uuid();
	for (int i = 0; i < 2; i++) {
		text = rig_text(KEY_ACCESS, &x, why);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT_PTR_NULL(strstr(text, "holder"));
		CU_ASSERT_EQUAL(obj_decode(KEY_ACCESS, text, strlen(text), &y, why, OBJ_WHY), 0);
		CU_ASSERT(rig_same(KEY_ACCESS, &x, &y));
		obj_free(KEY_ACCESS, &y);
		free(text);
		x.access.plan = (struct plan_access) { .mode = PLAN_NONE };
	}
	/* What cannot be read is not written either. */
	x.access.plan.holder = rnd_uuid();
	CU_ASSERT_PTR_NULL(rig_text(KEY_ACCESS, &x, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "contradict"));
	x.access.plan = (struct plan_access) { .number = 1ULL << 63 };
	CU_ASSERT_PTR_NULL(rig_text(KEY_ACCESS, &x, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "2^63"));
	x.access.plan = (struct plan_access) { .mode = 3 };
	CU_ASSERT_EQUAL(obj_encode(KEY_ACCESS, &x, &text, NULL, 0), -EINVAL);
}

static void test_hosts(void)
{
	struct obj_host h = { .rack = "r 1", .labels = json_pack("{s:s}", "zone", "a") };
	json_t *labels = json_object();
	char name[16];

	CU_ASSERT_STRING_EQUAL(obj_host_label(&h, "rack"), "r 1");
	CU_ASSERT_STRING_EQUAL(obj_host_label(&h, "zone"), "a");
	CU_ASSERT_PTR_NULL(obj_host_label(&h, "row"));
	h.rack[0] = 0;
	CU_ASSERT_PTR_NULL(obj_host_label(&h, "rack"));
	json_decref(h.labels);
	for (int i = 0; i < OBJ_LABELS_MAX; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		json_object_set_new(labels, name, json_string("x"));
	}
	try_set(KEY_HOST, "labels", json_deep_copy(labels), 0, NULL);
	json_object_set_new(labels, "more", json_string("x"));
	try_set(KEY_HOST, "labels", labels, -EUCLEAN, "33 labels");
	try_set(KEY_HOST, "labels", json_pack("{s:s}", "rack", "x"), -EUCLEAN, "label");
	try_set(KEY_HOST, "labels", json_pack("{s:s}", "drive", "x"), -EUCLEAN, "label");
	try_set(KEY_HOST, "labels", json_pack("{s:s}", "a b", "x"), -EUCLEAN, "label");
	try_set(KEY_HOST, "labels", json_pack("{s:s}", "", "x"), -EUCLEAN, "label");
	try_set(KEY_HOST, "labels", json_pack("{s:i}", "a", 1), -EUCLEAN, "label a");
	try_set(KEY_HOST, "labels", json_pack("{s:s}", "a", ""), -EUCLEAN, "label a");
	try_set(KEY_HOST, "labels", json_pack("{s:s}", "a", "\x1b[2J"), -EINVAL, "labels");
	try_set(KEY_HOST, "name", json_string("../x"), -EINVAL, "host: name");
	try_set(KEY_HOST, "rack", json_string(""), -EINVAL, "rack");
	try_set(KEY_HOST, "rack", json_string("a\nb"), -EINVAL, "rack");
	try_set(KEY_HOST, "addresses.0.addr", json_string("a b"), -EINVAL, "addresses[0].addr");
	try_set(KEY_HOST, "addresses.0.addr", json_string("node-7.example.org"), -EUCLEAN, "twice");
	try_set(KEY_HOST, "addresses.1.port", NUMBER(65536), -EINVAL, "addresses[1].port");
	try_set(KEY_HOST, "addresses.1.port", NUMBER(0), -EINVAL, "port");
	try_set(KEY_HOST, "host", json_string("00000000-0000-0000-0000-000000000000"), -EINVAL, "null");
	try_set(KEY_HOST, "host", json_string("11111111-1111-4111-8111-1111111111AB"), -EINVAL, "lower");
	try_set(KEY_CLUSTER, "settings", json_pack("{s:[]}", "a"), -EUCLEAN, "setting");
	try_set(KEY_CLUSTER, "settings", json_pack("{s:i}", "A", 1), -EUCLEAN, "setting");
	try_set(KEY_DEVICE, "disks.0.exportable", json_true(), -EUCLEAN, "disks[0]");
	try_set(KEY_DEVICE, "disks.1.exportable", json_false(), -EUCLEAN, "disks[1]");
	try_set(KEY_DEVICE, "disks.2.path", json_string("/dev/nvme0n1"), -EUCLEAN, "twice");
	try_set(KEY_DEVICE, "disks.0.smart.known", json_false(), -EUCLEAN, "SMART");
	try_set(KEY_DEVICE, "disks.0.smart.warning", NUMBER(256), -EINVAL, "warning");
}

static void test_drives(void)
{
	const json_int_t start = 1LL << 60, length = 1LL << 46, size = 1LL << 62, mib = 1 << 20;

	/* The second one begins where the first one ends. */
	try_set(KEY_DRIVE, "extents.0.length", NUMBER(length + mib), -EUCLEAN, "overlap");
	try_set(KEY_DRIVE, "extents.0.length", NUMBER(length - mib), 0, NULL);
	try_set(KEY_DRIVE, "extents.1.start", NUMBER(start + length - mib), -EUCLEAN, "overlap");
	try_set(KEY_DRIVE, "extents.3.start", NUMBER(start), -EUCLEAN, "overlap");
	try_set(KEY_DRIVE, "extents.0.start", NUMBER(start + 512), -EUCLEAN, "aligned");
	try_set(KEY_DRIVE, "extents.0.length", NUMBER(length - 512), -EUCLEAN, "aligned");
	try_set(KEY_DRIVE, "extents.3.length", NUMBER(size), -EUCLEAN, "beyond");
	try_set(KEY_DRIVE, "extents.3.length", NUMBER(0), -EINVAL, "extents[3].length");
	try_set(KEY_DRIVE, "extents.3.start", NUMBER(size - mib - length), 0, NULL);
	try_set(KEY_DRIVE, "extents.3.start", NUMBER(size - length), -EUCLEAN, "beyond");
	try_set(KEY_DRIVE, "extents.3.start", NUMBER(0), -EINVAL, "extents[3].start");
	try_set(KEY_DRIVE, "extents.3.start", NUMBER(size + mib), -EUCLEAN, "beyond");
	try_set(KEY_DRIVE, "extents.2.place", NUMBER(1024), -EINVAL, "extents[2].place");
	try_set(KEY_DRIVE, "extents.2.state", json_string("wanted"), -EUCLEAN, "record already");
	try_set(KEY_DRIVE, "extents.2.state", json_string("gone"), -EINVAL, "extents[2].state");
	try_set(KEY_DRIVE, "extents.2.version", NUMBER(0), -EINVAL, "extents[2].version");
	try_set(KEY_DRIVE, "lba", NUMBER(1024), -EUCLEAN, "lba");
	try_set(KEY_DRIVE, "size", NUMBER(3 * mib - 1), -EINVAL, "size");
	try_set(KEY_DRIVE, "wanted", json_string("ready"), -EINVAL, "wanted");
	for (int i = 0; i < 2; i++) {
		union obj_any x;
		char why[OBJ_WHY];

		rig_fill(KEY_DRIVE, &x);
		((struct plan_extent *)x.drive.plan.extent)[3].uuid = x.drive.plan.extent[i].uuid;
		CU_ASSERT_PTR_NULL(rig_text(KEY_DRIVE, &x, why));
		CU_ASSERT_PTR_NOT_NULL(strstr(why, "twice"));
		obj_free(KEY_DRIVE, &x);
	}
}

static json_t *uuids(size_t n)
{
	json_t *j = json_array();

	while (n--) {
		struct muuid u = rnd_uuid();

		json_array_append_new(j, json_string(muuid_str(&u).s));
	}
	return j;
}

static void test_volumes(void)
{
	json_t *twice = json_pack("[s,s]", UUID_A, UUID_A);

	try_set(KEY_VOLUME, "allow", json_string("all"), 0, NULL);
	try_set(KEY_VOLUME, "allow", json_string("none"), -EINVAL, "allow");
	try_set(KEY_VOLUME, "allow", json_array(), -EINVAL, "allow");
	try_set(KEY_VOLUME, "allow", uuids(64), 0, NULL);
	try_set(KEY_VOLUME, "allow", uuids(65), -EINVAL, "65 elements");
	try_set(KEY_VOLUME, "allow", twice, -EUCLEAN, "twice");
	try_set(KEY_VOLUME, "domain", json_string("A rack"), -EINVAL, "domain");
	try_set(KEY_VOLUME, "layout.refs.2.member", NUMBER(13), -EUCLEAN, "layout.refs[2]");
	try_set(KEY_VOLUME, "layout.refs.2.member", NUMBER(1024), -EINVAL, "layout.refs[2].member");
	try_set(KEY_VOLUME, "layout.refs.5.member", NUMBER(4), -EUCLEAN, "layout");
	try_set(KEY_VOLUME, "layout.refs.5.offset", NUMBER(0), -EUCLEAN, "layout");
	try_set(KEY_VOLUME, "layout.segments.1.first_ref", NUMBER(2), -EUCLEAN, "segments[1]");
	try_set(KEY_VOLUME, "layout.segments.4.refs", NUMBER(4), -EUCLEAN, "segments[4]");
	try_set(KEY_VOLUME, "layout.segments.0.level", json_string("raid5"), -EINVAL, "level");
	try_set(KEY_VOLUME, "layout.segments", json_array(), -EINVAL, "segments");
	try_set(KEY_VOLUME, "layout.size", NUMBER(1 << 20), -EUCLEAN, "layout");
	try_set(KEY_VOLUME, "layout.lba", NUMBER(513), -EUCLEAN, "layout");
	try_set(KEY_VOLUME, "layout.name", json_string("db-part1"), -EINVAL, "layout.name");
	try_set(KEY_VOLUME, "layout.version", NUMBER(0), -EINVAL, "layout.version");
	try_set(KEY_VOLUME, "layout.salt", json_string("0000000000000000"), -EINVAL, "salt");
	try_set(KEY_VOLUME, "layout.salt", json_string("00000000"), -EINVAL, "16 digits");
	try_set(KEY_VOLUME, "leaving.0.place", NUMBER(13), -EUCLEAN, "place 13");
	try_set(KEY_VOLUME, "leaving.0.place", NUMBER(4), -EUCLEAN, "twice");
	try_set(KEY_VOLUME, "leaving", json_array(), -EINVAL, "leaving");
	for (int i = 0; i < 3; i++) {
		union obj_any x;
		char why[OBJ_WHY];

		rig_fill(KEY_VOLUME, &x);
		x.volume.plan.fresh = true;
		if (i == 0)
			x.volume.record->segment[2].fresh = x.volume.record->segment[3].fresh = false;
		else if (i == 1)
			x.volume.leaving[0].extent = x.volume.record->member[7].extent;
		else
			x.volume.record->member[12].extent = x.volume.record->member[0].extent;
		CU_ASSERT_PTR_NULL(rig_text(KEY_VOLUME, &x, why));
		CU_ASSERT_PTR_NOT_NULL(strstr(why, i == 0 ? "fresh" : i == 1 ? "member still" : "twice"));
		obj_free(KEY_VOLUME, &x);
	}
}

static void test_tasks(void)
{
	union obj_any x;
	char why[OBJ_WHY];

	try_set(KEY_VOLUME, "barred", json_pack("[i,i]", 1, 1), -EUCLEAN, "twice");
	try_set(KEY_VOLUME, "barred", json_pack("[i]", 999), -EUCLEAN, "999");
	try_set(KEY_TASK, "progress.done", NUMBER(1001), -EUCLEAN, "1001 of 1000");
	try_set(KEY_TASK, "after", uuids(64), 0, NULL);
	try_set(KEY_TASK, "after", uuids(65), -EINVAL, "after");
	try_set(KEY_TASK, "after", json_pack("[s,s]", UUID_A, UUID_A), -EUCLEAN, "twice");
	try_set(KEY_TASK, "puts.0.extent", json_string(UUID_A), 0, NULL);
	try_set(KEY_TASK, "puts.0.start", NUMBER(LABEL_AREA - 1), -EINVAL, "start");
	try_set(KEY_TASK, "stage", json_string("new"), -EINVAL, "stage");
	try_set(KEY_TASK, "verb", json_string("Volume"), -EINVAL, "verb");
	try_set(KEY_STATUS, "subject", json_string("host"), -EUCLEAN, "another");
	rig_fill(KEY_TASK, &x);
	x.task.state = OBJ_TASK_FAILED;
	x.task.error[0] = 0;
	CU_ASSERT_PTR_NULL(rig_text(KEY_TASK, &x, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "reason"));
	strcpy(x.task.error, "it broke");
	x.task.after[2] = x.task.uuid;
	CU_ASSERT_PTR_NULL(rig_text(KEY_TASK, &x, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "itself"));
	strcpy(x.task.error, "\xff");
	CU_ASSERT_PTR_NULL(rig_text(KEY_TASK, &x, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "error is not UTF-8"));
	obj_free(KEY_TASK, &x);
}

static void test_task_view(void)
{
	static const char *const verb[] = { "volume show", "volume create", "volume extend", "volume replace",
					    "volume set", "volume delete" };
	union obj_any x;

	for (u32 i = 0; i < ARRAY_SIZE(verb); i++) {
		rig_fill(KEY_TASK, &x);
		strcpy(x.task.verb, verb[i]);
		x.task.state = i == 2 ? OBJ_TASK_CANCELLING : OBJ_TASK_RUNNING;
		x.task.stage = i == 3 ? 0 : PLAN_TASK_DECIDED;
		json_object_set_new(x.task.args, "preempt", json_boolean(i == 5));
		CU_ASSERT_EQUAL(obj_view(KEY_TASK, &x), 0);
		CU_ASSERT_EQUAL(x.task.plan.kind, i);
		CU_ASSERT_EQUAL(x.task.plan.cancel, i == 2);
		CU_ASSERT_EQUAL(x.task.plan.state, i == 3 ? PLAN_TASK_NEW : PLAN_TASK_DECIDED);
		CU_ASSERT_EQUAL(x.task.plan.preempt, i == 5);
		CU_ASSERT(muuid_equal(&x.task.plan.uuid, &x.task.uuid));
		CU_ASSERT(muuid_equal(&x.task.plan.volume, &x.task.volume));
		obj_free(KEY_TASK, &x);
	}
}

static void test_roster_rules(void)
{
	try_set(KEY_ROSTER, "groups.1.attach", NUMBER(5), -EUCLEAN, "groups[1] contradicts");
	try_set(KEY_ROSTER, "groups.1.epoch", NUMBER(5), -EUCLEAN, "groups[1] contradicts");
	try_set(KEY_ROSTER, "groups.1.in_sync", NUMBER(1), -EUCLEAN, "groups[1] contradicts");
	try_set(KEY_ROSTER, "groups.1.in_sync", NUMBER(1LL << 36), -EINVAL, "groups[1].in_sync");
	try_set(KEY_ROSTER, "groups.1.extents.0", json_string(UUID_A), -EUCLEAN, "groups[1] contradicts");
	try_set(KEY_ROSTER, "groups.1.extents", uuids(37), -EINVAL, "groups[1].extents");
	try_set(KEY_ROSTER, "groups.1.first", NUMBER(7), -EUCLEAN, "groups[1].kernel");
	try_set(KEY_ROSTER, "groups.1.first", NUMBER(4), -EUCLEAN, "groups[1] is not behind");
	try_set(KEY_ROSTER, "groups.1.kernel", json_string("0g"), -EINVAL, "hexadecimal");
	try_set(KEY_ROSTER, "groups.1.kernel", json_string("012"), -EINVAL, "even");
	try_set(KEY_ROSTER, "groups.1.kernel", json_string("0100"), -EINVAL, "zero");
	try_set(KEY_ROSTER, "groups.1.kernel", json_string(""), -EINVAL, "empty");
	try_set(KEY_ROSTER, "groups.1.kernel", json_string("01"), -EUCLEAN, "no roster");
	try_set(KEY_ROSTER, "volume", json_string(UUID_A), -EUCLEAN, "no roster");
	try_set(KEY_ROSTER, "barred.0", NUMBER(1023), -EUCLEAN, "twice");
	try_set(KEY_ROSTER, "barred.0", NUMBER(1024), -EINVAL, "barred[0]");
}

static void test_rosters(void)
{
	struct layout *l;
	union obj_any x = { 0 }, y;
	u8 kernel[MESHBLK_ROSTER_BYTES], bad[MESHBLK_ROSTER_BYTES];
	char why[OBJ_WHY], *text;
	struct muuid volume = rnd_uuid();

	/* Groups come with the layout, first without rosters. */
	l = rig_layout(&volume, true);
	CU_ASSERT_EQUAL(obj_roster_shape(&x.roster, l), 0);
	CU_ASSERT(obj_roster_fits(&x.roster, l));
	CU_ASSERT_EQUAL(x.roster.plan.groups, RIG_GROUPS);
	rig_op(&x.o);
	text = rig_text(KEY_ROSTER, &x, why);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_EQUAL(obj_decode(KEY_ROSTER, text, strlen(text), &y, why, OBJ_WHY), 0);
	CU_ASSERT(rig_same(KEY_ROSTER, &x, &y));
	CU_ASSERT(obj_roster_fits(&y.roster, l));
	CU_ASSERT_EQUAL(y.roster.plan.roster[3].attach, 0);
	obj_free(KEY_ROSTER, &y);
	free(text);
	/* A note counts only with the right checksum, group and volume. */
	rig_kernel_roster(l, 10, 3, 2, kernel);
	CU_ASSERT_EQUAL(obj_roster_note(&x.roster, 5, kernel, SALT), -ENOENT);
	CU_ASSERT_EQUAL(obj_roster_note(&x.roster, 8, kernel, SALT), -EBADMSG);
	CU_ASSERT_EQUAL(obj_roster_note(&x.roster, 10, kernel, SALT + 1), -EBADMSG);
	for (size_t i = 0; i < sizeof(kernel); i++) {
		memcpy(bad, kernel, sizeof(bad));
		bad[i] ^= 1;
		CU_ASSERT_EQUAL(obj_roster_note(&x.roster, 10, bad, SALT), -EBADMSG);
	}
	CU_ASSERT_EQUAL(x.roster.plan.roster[3].attach, 0);
	/* HMAC-SHA256 of the UUID under the salt, as the kernel computes it. */
	CU_ASSERT_EQUAL(obj_roster_seed(SALT, &(struct muuid) { { 1, 2, 3, [15] = 16 } }), 0x37e3a939d1d38dd5ULL);
	CU_ASSERT_EQUAL(obj_roster_note(&x.roster, 10, kernel, SALT), 0);
	CU_ASSERT_EQUAL(x.roster.plan.roster[3].members, 3);
	CU_ASSERT_EQUAL(x.roster.plan.roster[3].in_sync, 7);
	CU_ASSERT(muuid_equal(&x.roster.plan.roster[3].extent[2], &l->member[12].extent));
	/* An extend adds groups, and what was noted stays. */
	rig_segment(l, PROT_MIRROR, 2, 0, 1, 1, true);
	CU_ASSERT(!obj_roster_fits(&x.roster, l));
	CU_ASSERT_EQUAL(obj_roster_shape(&x.roster, l), 0);
	CU_ASSERT(obj_roster_fits(&x.roster, l));
	CU_ASSERT_EQUAL(x.roster.plan.groups, RIG_GROUPS + 1);
	CU_ASSERT_EQUAL(x.roster.plan.roster[3].members, 3);
	CU_ASSERT_EQUAL(x.roster.plan.roster[4].members, 0);
	obj_free(KEY_ROSTER, &x);
	free(l);
}

static void test_views(void)
{
	static const u16 group[RIG_MEMBERS] = { 0xffff, 0xffff, 0xffff, 0xffff, 0, 0, 1, 1, 2, 2, 3, 3, 3 };
	static const struct plan_group want[RIG_GROUPS] = { { 2, 1 }, { 2, 1 }, { 2, 1 }, { 3, 2 } };
	union obj_any x, y;
	char why[OBJ_WHY], *text;
	const struct plan_layout *p;
	const struct layout *l;

	rig_fill(KEY_VOLUME, &x);
	l = x.volume.record;
	text = rig_text(KEY_VOLUME, &x, why);
	CU_ASSERT_EQUAL(obj_decode(KEY_VOLUME, text, strlen(text), &y, why, OBJ_WHY), 0);
	free(text);
	p = &y.volume.plan.layout;
	CU_ASSERT_EQUAL(p->version, l->version);
	CU_ASSERT_EQUAL(p->commit, l->commit);
	CU_ASSERT_EQUAL(p->places, RIG_MEMBERS);
	CU_ASSERT_EQUAL(p->groups, RIG_GROUPS);
	CU_ASSERT(!memcmp(p->group, want, sizeof(want)));
	for (u32 i = 0; i < RIG_MEMBERS; i++) {
		CU_ASSERT(muuid_equal(&p->place[i].extent, &l->member[i].extent));
		CU_ASSERT(muuid_equal(&p->place[i].drive, &l->member[i].drive));
		CU_ASSERT_EQUAL(p->place[i].group, group[i]);
		if (i == 12) {
			CU_ASSERT(muuid_equal(&p->place[i].leaving, &x.volume.leaving[0].extent));
		} else if (i == 4) {
			CU_ASSERT(muuid_equal(&p->place[i].leaving, &x.volume.leaving[1].extent));
		} else {
			CU_ASSERT(muuid_null(&p->place[i].leaving));
		}
	}
	CU_ASSERT(muuid_equal(&y.volume.record->volume, &x.volume.plan.uuid));
	/* A change of the record shows after obj_view() alone. */
	y.volume.record->version++;
	y.volume.leavings = 1;
	CU_ASSERT_EQUAL(p->version, l->version);
	CU_ASSERT_EQUAL(obj_view(KEY_VOLUME, &y), 0);
	CU_ASSERT_EQUAL(p->version, l->version + 1);
	CU_ASSERT(muuid_null(&p->place[4].leaving));
	obj_free(KEY_VOLUME, &x);
	obj_free(KEY_VOLUME, &y);
}

static void test_slot(void)
{
	struct label_extent e = { .uuid = rnd_uuid(), .volume = rnd_uuid(), .holder = rnd_uuid(),
				  .attacher = rnd_uuid(), .attach = 77 << 16, .version = 5, .commit = 6,
				  .state = LABEL_READY };
	struct layout_head head = { .volume = e.volume, .version = 7, .commit = 8 };
	struct plan_slot s;

	view_slot(&e, &head, &s);
	CU_ASSERT(muuid_equal(&s.extent, &e.uuid) && muuid_equal(&s.volume, &e.volume));
	CU_ASSERT(muuid_equal(&s.attacher, &e.attacher) && s.number == 77 << 16);
	CU_ASSERT(s.version == 5 && s.commit == 6 && s.record_version == 7 && s.record_commit == 8);
	CU_ASSERT(s.zeroed);
	e.state = LABEL_ZEROING;
	head.volume.b[0] ^= 1;
	view_slot(&e, &head, &s);
	CU_ASSERT(!s.zeroed && !s.record_version && !s.record_commit);
	view_slot(&e, NULL, &s);
	CU_ASSERT(!s.record_version);
}

/* Unknown members stay with the extent that they are of, not with its index. */
static void test_unknown_follow(void)
{
	union obj_any x, y;
	char why[OBJ_WHY], *text;
	struct plan_extent *e;
	json_t *j, *list;

	rig_fill(KEY_DRIVE, &x);
	text = rig_text(KEY_DRIVE, &x, why);
	j = json_loads(text, 0, NULL);
	free(text);
	list = json_object_get(j, "extents");
	for (size_t i = 0; i < 4; i++)
		json_object_set_new(json_array_get(list, i), "later", json_integer(i));
	text = json_dumps(j, 0);
	json_decref(j);
	CU_ASSERT_EQUAL(obj_decode(KEY_DRIVE, text, strlen(text), &y, why, OBJ_WHY), 0);
	free(text);
	/* The first one goes, the others turn round, one is added. */
	e = calloc(4, sizeof(*e));
	e[0] = y.drive.plan.extent[3];
	e[1] = x.drive.plan.extent[0];
	e[1].uuid = rnd_uuid();
	e[2] = y.drive.plan.extent[1];
	e[3] = y.drive.plan.extent[2];
	e[3].state = PLAN_FREEING;
	free((void *)y.drive.plan.extent);
	y.drive.plan.extent = e;
	strcpy(y.o.op, "another");
	text = rig_text(KEY_DRIVE, &y, why);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	j = json_loads(text, 0, NULL);
	list = json_object_get(j, "extents");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 0), "later")), 3);
	CU_ASSERT_PTR_NULL(json_object_get(json_array_get(list, 1), "later"));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 2), "later")), 1);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 3), "later")), 2);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(list, 3), "state")), "freeing");
	json_decref(j);
	free(text);
	obj_free(KEY_DRIVE, &x);
	obj_free(KEY_DRIVE, &y);
}

/* The largest of a kind goes through, and one more does not. @return: bytes */
static size_t through(int kind, union obj_any *x)
{
	union obj_any y;
	char why[OBJ_WHY], *text = rig_text(kind, x, why);
	size_t n = text ? strlen(text) : 0;

	if (!text)
		printf("%s\n", why);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT(n <= STORE_VALUE_MAX);
	CU_ASSERT_EQUAL(obj_decode(kind, text, n, &y, why, OBJ_WHY), 0);
	CU_ASSERT(rig_same(kind, x, &y));
	obj_free(kind, &y);
	free(text);
	return n;
}

static void drive_of(u32 n, union obj_any *x)
{
	rig_fill(KEY_DRIVE, x);
	free((void *)x->drive.plan.extent);
	fill_extents(&x->drive, n);
	memset(x->drive.wwid, 'w', sizeof(x->drive.wwid) - 1);
}

static void test_large_drives(void)
{
	union obj_any x;
	char why[OBJ_WHY];

	drive_of(1000, &x);
	printf("drive of 1000 extents: %zu bytes\n", through(KEY_DRIVE, &x));
	obj_free(KEY_DRIVE, &x);
	drive_of(LABEL_EXTENTS_MAX, &x);
	printf("drive of %u extents: %zu bytes\n", (u32)LABEL_EXTENTS_MAX, through(KEY_DRIVE, &x));
	obj_free(KEY_DRIVE, &x);
	drive_of(LABEL_EXTENTS_MAX + 1, &x);
	CU_ASSERT_PTR_NULL(rig_text(KEY_DRIVE, &x, why));
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "4001 elements"));
	obj_free(KEY_DRIVE, &x);
}

/* 512 mirrors, or 28 groups of 36 members and some: the most members and groups. */
static struct layout *large(const struct muuid *volume, bool mirrors)
{
	struct layout *l = rig_head(volume);

	memset(l->name, 'n', LAYOUT_NAME - 1);
	l->version = l->commit = 0x7ffffffffffffffe;
	for (int i = 0; i < (mirrors ? 4 : 28); i++)
		rig_segment(l, mirrors ? PROT_RAID10 : PROT_EC, mirrors ? 2 : 32, mirrors ? 0 : 4,
			    mirrors ? 128 : 1, 1 << 20, true);
	for (u32 i = 0; i < l->members; i++)
		memset(l->member[i].addr, 'a', LAYOUT_ADDR - 1);
	return l;
}

static void test_large_volumes(void)
{
	union obj_any x, r = { 0 };
	u8 kernel[MESHBLK_ROSTER_BYTES];
	u32 first[PROT_PLACES_MAX], n;

	for (int mirrors = 0; mirrors < 2; mirrors++) {
		rig_fill(KEY_VOLUME, &x);
		free(x.volume.record);
		free((void *)x.volume.plan.allow);
		free(x.volume.leaving);
		x.volume.record = large(&x.volume.plan.uuid, mirrors);
		n = x.volume.record->members;
		x.volume.plan.fresh = true;
		x.volume.plan.allows = 64;
		x.volume.plan.allow = rnd_uuids(64);
		x.volume.leavings = n;
		x.volume.leaving = calloc(n, sizeof(struct obj_leaving));
		for (u32 i = 0; i < n; i++)
			x.volume.leaving[i] = (struct obj_leaving) { .place = i, .extent = rnd_uuid() };
		printf("volume of %u members, each leaving: %zu bytes\n", n, through(KEY_VOLUME, &x));
		x.volume.leavings = 0;
		printf("volume of %u members: %zu bytes\n", n, through(KEY_VOLUME, &x));
		CU_ASSERT_EQUAL(obj_roster_shape(&r.roster, x.volume.record), 0);
		n = view_groups(x.volume.record);
		view_firsts(x.volume.record, first);
		for (u32 i = 0; i < n; i++) {
			rig_kernel_roster(x.volume.record, first[i], mirrors ? 2 : 36, mirrors ? 1 : 32, kernel);
			CU_ASSERT_EQUAL(obj_roster_note(&r.roster, first[i], kernel, SALT), 0);
		}
		rig_op(&r.o);
		printf("its roster of %u groups: %zu bytes\n", n, through(KEY_ROSTER, &r));
		obj_free(KEY_ROSTER, &r);
		x.volume.leavings = 1;
		obj_free(KEY_VOLUME, &x);
	}
}

/* The members of a task that others keep can be of any size; the store's limit is for all. */
static void test_too_large(void)
{
	union obj_any x;
	char why[OBJ_WHY], *text, *much = malloc(STORE_VALUE_MAX + 1);

	memset(much, ' ', STORE_VALUE_MAX + 1);
	rig_fill(KEY_LEADER, &x);
	text = rig_text(KEY_LEADER, &x, why);
	obj_free(KEY_LEADER, &x);
	memcpy(much, text, strlen(text));
	CU_ASSERT_EQUAL(obj_decode(KEY_LEADER, much, STORE_VALUE_MAX, &x, why, OBJ_WHY), 0);
	obj_free(KEY_LEADER, &x);
	CU_ASSERT_EQUAL(obj_decode(KEY_LEADER, much, STORE_VALUE_MAX + 1, &x, why, OBJ_WHY), -EINVAL);
	obj_free(KEY_LEADER, &x);
	free(text);
	rig_fill(KEY_TASK, &x);
	memset(much, 'x', STORE_VALUE_MAX);
	much[STORE_VALUE_MAX] = 0;
	json_object_set_new(x.task.args, "much", json_string(much));
	CU_ASSERT_EQUAL(obj_encode(KEY_TASK, &x, &text, why, OBJ_WHY), -E2BIG);
	CU_ASSERT_PTR_NULL(text);
	obj_free(KEY_TASK, &x);
	free(much);
}

static void test_attached(void)
{
	union obj_any x;
	char why[OBJ_WHY], *text;

	for (int i = 0; i < 6; i++) {
		rig_fill(OBJ_ATTACHED, &x);
		if (i == 1)
			x.attached.plan.number = 5;
		if (i == 2)
			((u16 *)x.attached.plan.bar)[0] = 13;
		if (i >= 3)
			x.attached.plan.mode = PLAN_RO;
		if (i == 3)
			x.attached.plan.number = 65536 + 1;
		if (i >= 4)
			x.attached.plan.number = 0;
		if (i == 5)
			x.attached.plan.mode = PLAN_NONE;
		text = rig_text(OBJ_ATTACHED, &x, why);
		CU_ASSERT_EQUAL(!!text, i == 0 || i == 4);
		free(text);
		obj_free(OBJ_ATTACHED, &x);
	}
}

/* The key report/H/H says that a host has handed in all that it has. */
static void test_report(void)
{
	union obj_any x;
	char why[OBJ_WHY], *text;

	for (int i = 0; i < 4; i++) {
		why[0] = 0;
		rig_fill(KEY_REPORT, &x);
		x.report.subject = i == 1 ? OBJ_OF_HOST : i == 2 ? OBJ_OF_VOLUME : OBJ_OF_DRIVE;
		if (i) {
			x.report.host = x.report.about;
			CU_ASSERT_PTR_NOT_NULL_FATAL(x.report.record);
		}
		text = rig_text(KEY_REPORT, &x, why);
		CU_ASSERT_EQUAL(!!text, i < 2);
		CU_ASSERT(i < 2 || strstr(why, "of something else"));
		free(text);
		obj_free(KEY_REPORT, &x);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "numbers", test_numbers },
		{ "access without a holder", test_access_none },
		{ "a want, and its ends", test_want },
		{ "a want's request", test_want_request },
		{ "hosts and their disks", test_hosts },
		{ "drives", test_drives },
		{ "volumes", test_volumes },
		{ "a task's view", test_task_view },
	{ "tasks", test_tasks },
		{ "rosters", test_rosters },
		{ "what a roster must be", test_roster_rules },
		{ "views of a layout", test_views },
		{ "views of a label", test_slot },
		{ "unknown members follow their element", test_unknown_follow },
		{ "large drives", test_large_drives },
		{ "large volumes", test_large_volumes },
		{ "too large", test_too_large },
		{ "attached volumes", test_attached },
		{ "reports of recover", test_report },
		{ NULL, NULL },
	};

	return suite_main("objects_rules", tests);
}
