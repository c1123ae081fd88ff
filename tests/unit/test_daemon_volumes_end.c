// SPDX-License-Identifier: GPL-2.0-only
/* Volumes of a kernel that is made up: its rosters, their end, the witness, records, as JSON. */
#include "tests/unit/kernel_rig.h"
#include "userspace/format/objects_sum.h"

static struct obj_roster last;

/* A roster of the mirror, as the kernel gives it: of the first group of make_layout(false). */
static void seal(u64 attach, u64 epoch, u64 salt, u8 out[MESHBLK_ROSTER_BYTES])
{
	struct prot_owner o = { .salt = obj_roster_seed(salt, &L.volume), .group = 0 };
	struct prot_roster r = { .attach = attach, .epoch = epoch, .in_sync = 3,
				 .geo = { .width = 2, .k = 1 } };
	u8 block[PROT_ROSTER_BLOCK];

	memcpy(o.volume, L.volume.b, 16);
	for (u32 i = 0; i < 2; i++)
		memcpy(r.uuid[i], L.member[i].extent.b, 16);
	prot_roster_seal(block, &r, &o, 0);
	memcpy(out, block, MESHBLK_ROSTER_BYTES);
}

static void begin_rosters(void)
{
	struct obj_volume v = { .plan = { .uuid = rig_id('v', 1), .state = PLAN_VOLUME_READY } };

	begin();
	v.record = &L;
	strcpy(v.domain, "drive");
	rig_put(A, KEY_VOLUME, &v);
	rig_catch_up(A);
	memset(&last, 0, sizeof(last));
	OK(obj_roster_shape(&last, &L));
}

static void end_rosters(void)
{
	obj_free(KEY_ROSTER, &last);
	end();
}

static void roster_event(u64 attach, u64 epoch)
{
	static u8 bytes[MESHBLK_ROSTER_BYTES];

	seal(attach, epoch, SALT, bytes);
	K.event[0] = (struct mesh_event) { .event = MESHBLK_EV_ROSTER, .uuid = L.volume, .roster = bytes };
	K.events = 1;
	volumes_events(V);
}

/* The kernel's answer has a roster. */
static void has_roster(u64 attach, u64 epoch, u64 salt)
{
	static struct meshblk_group g;

	g = (struct meshblk_group) { .nr = 2, .members = { 0, 1 }, .any = true };
	seal(attach, epoch, salt, g.roster);
	K.v.groups = &g;
	K.v.nr_groups = 1;
	op->kernels(V, NULL, 0);
}

#define NOTED	(last.group[0].plan)

static void test_rosters(void)
{
	begin_rosters();
	CU_ASSERT_EQUAL(op->rosters(V, &L.volume, &last), -ENOENT);
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT_EQUAL(NOTED.attach, 0);
	has_roster(NUMBER(5), 3, SALT);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT(NOTED.attach == NUMBER(5) && NOTED.epoch == 3 && NOTED.members == 2);
	/* Of an event: also while the volume is being removed, when the answer has none. */
	K.v.nr_groups = 0;
	roster_event(NUMBER(5), 4);
	strcpy(K.v.state, MESHBLK_STATE_REMOVING);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT_EQUAL(NOTED.epoch, 4);
	/* An event that was behind an answer is no step back. */
	roster_event(NUMBER(5), 2);
	roster_event(NUMBER(4), 9);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT(NOTED.attach == NUMBER(5) && NOTED.epoch == 4);
	roster_event(NUMBER(6), 1);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT(NOTED.attach == NUMBER(6) && NOTED.epoch == 1);
	end_rosters();
}

/* Another salt, or bytes that are no roster. */
static void test_rosters_foreign(void)
{
	begin_rosters();
	kernel_has(MESHBLK_STATE_ACTIVE);
	has_roster(NUMBER(5), 3, SALT + 1);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT(NOTED.attach == 0 && strstr(logged, "none of its layout"));
	end_rosters();
}

/* The rosters of a volume that is fenced are another host's. */
static void test_rosters_fenced(void)
{
	begin_rosters();
	kernel_has(MESHBLK_STATE_ACTIVE);
	has_roster(NUMBER(5), 3, SALT);
	OK(op->rosters(V, &L.volume, &last));
	obj_free(KEY_ROSTER, &last);
	OK(obj_roster_shape(&last, &L));
	strcpy(K.v.state, MESHBLK_STATE_FENCED);
	op->kernels(V, NULL, 0);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT_EQUAL(NOTED.attach, 0);
	/* The same by the event alone. */
	strcpy(K.v.state, MESHBLK_STATE_ACTIVE);
	roster_event(NUMBER(5), 4);
	K.v.nr_groups = 0;
	K.event[0] = (struct mesh_event) { .event = MESHBLK_EV_FENCED, .uuid = L.volume };
	K.events = 1;
	volumes_events(V);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT_EQUAL(NOTED.attach, 0);
	end_rosters();
}

static void test_del(void)
{
	begin_rosters();
	kernel_has(MESHBLK_STATE_ACTIVE);
	has_roster(NUMBER(5), 3, SALT);
	K.v.nr_groups = 0;
	K.ended = 2;
	K.end[0] = (struct meshblk_group) { .any = true };
	seal(NUMBER(5), 6, SALT, K.end[0].roster);
	K.end[1] = (struct meshblk_group) { .place = 77, .any = true };
	OK(del(false, &last));
	CU_ASSERT(NOTED.epoch == 6 && !K.force);
	/* There is none any more: as requested. */
	OK(del(true, &last));
	CU_ASSERT(NOTED.epoch == 6 && !K.force);
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.end_err = -EBUSY;
	CU_ASSERT_EQUAL(del(true, &last), -EBUSY);
	CU_ASSERT(K.force && strstr(op->words(V), "the kernel's words"));
	K.end_err = -ENOENT;
	OK(del(true, &last));
	end_rosters();
}

/* A removal that takes long: the kernel ends it by itself. */
static void test_del_late(void)
{
	u32 gets;

	begin_rosters();
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(op->rosters(V, &L.volume, &last));
	roster_event(NUMBER(5), 4);
	K.end_err = -ETIMEDOUT;
	CU_ASSERT_EQUAL(op->del(V, &L.volume, false, &last), -EINPROGRESS);
	strcpy(K.v.state, MESHBLK_STATE_REMOVING);
	/* Its result is taken when the kernel is read. */
	for (gets = K.gets; K.gets == gets; usleep(1000))
		CU_ASSERT_EQUAL_FATAL(op->del(V, &L.volume, false, &last), -EINPROGRESS);
	/* Nothing runs on a thread meanwhile: it would wake the loop, which would begin it again. */
	for (u32 i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(op->del(V, &L.volume, false, &last), -EINPROGRESS);
	volumes_close(V);
	CU_ASSERT_EQUAL(K.ends, 1);
	open_volumes();
	end_rosters();
}

/* When it is gone its last rosters are those of events. */
static void test_del_gone(void)
{
	begin_rosters();
	kernel_has(MESHBLK_STATE_REMOVING);
	CU_ASSERT_EQUAL(op->del(V, &L.volume, false, &last), -EINPROGRESS);
	roster_event(NUMBER(5), 4);
	op->kernels(V, NULL, 0);
	CU_ASSERT_EQUAL(op->del(V, &L.volume, false, &last), -EINPROGRESS);
	K.there = false;
	op->kernels(V, NULL, 0);
	CU_ASSERT_PTR_NULL(volumes_show(V, &L.volume));
	op->kernels(V, NULL, 0);
	OK(op->del(V, &L.volume, false, &last));
	CU_ASSERT(NOTED.epoch == 4 && K.ends == 0);
	end_rosters();
}

/* A VOLUME_SET that goes on ends before the volume does, and the other way round. */
static void test_del_order(void)
{
	struct attach_set a = the_set();

	begin_rosters();
	K.set_waits = true;
	K.end_waits = true;
	CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
	kernel_has(MESHBLK_STATE_OPENING);
	for (u32 i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(op->del(V, &L.volume, false, &last), -EINPROGRESS);
	usleep(1000);
	CU_ASSERT_EQUAL(K.ends, 0);
	lock();
	K.set_waits = false;
	pthread_cond_broadcast(&moved);
	unlock();
	while (!rig_number(&K.ends, 1))
		CU_ASSERT_EQUAL_FATAL(op->del(V, &L.volume, false, &last), -EINPROGRESS);
	for (u32 i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
	usleep(1000);
	CU_ASSERT_EQUAL(K.sets, 1);
	lock();
	K.end_waits = false;
	pthread_cond_broadcast(&moved);
	unlock();
	OK(set(&a));
	CU_ASSERT_EQUAL(K.sets, 2);
	end_rosters();
}

/* Rosters of an attachment before this one count no more: another host may have been between. */
static void test_rosters_before(void)
{
	struct attach_set a = the_set();

	begin_rosters();
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(op->rosters(V, &L.volume, &last));
	roster_event(NUMBER(5), 4);
	K.there = false;
	op->kernels(V, NULL, 0);
	a.number = NUMBER(7);
	OK(set(&a));
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(op->rosters(V, &L.volume, &last));
	CU_ASSERT_EQUAL(NOTED.attach, 0);
	end_rosters();
}

static void test_sweep(void)
{
	struct attach_set a = the_set();
	struct attach_found f[2];

	begin_rosters();
	OK(set(&a));
	CU_ASSERT_EQUAL(K.targets, 2);
	kernel_has(MESHBLK_STATE_ACTIVE);
	K.used[2] = true;
	lock();
	K.set_waits = true;
	unlock();
	OK(del(false, &last));
	/* What is about to use targets keeps all of them. */
	a.number = NUMBER(6);
	CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
	op->kernels(V, NULL, 0);
	lock();
	K.set_waits = false;
	pthread_cond_broadcast(&moved);
	unlock();
	OK(set(&a));
	CU_ASSERT_EQUAL(K.targets, 2);
	while (!rig_number(&K.targets, 1))
		op->kernels(V, NULL, 0);
	CU_ASSERT_EQUAL(K.target[0].id, 2);
	/* It is the one of host 2. */
	put_drive(1, 2, false);
	put_drive(2, 1, false);
	a.number = NUMBER(7);
	OK(set(&a));
	CU_ASSERT(K.set.members[0].target_id == 2 && K.set.members[1].target_id == 1);
	K.v.members = NULL;
	/* Once; and a target comes again as it is needed. */
	op->kernels(V, NULL, 0);
	OK(probe(f));
	CU_ASSERT_EQUAL(K.targets, 2);
	op->kernels(V, NULL, 0);
	OK(probe(f));
	CU_ASSERT_EQUAL(K.targets, 2);
	memset(K.used, 0, sizeof(K.used));
	end_rosters();
}

/* No call counts on targets that are about to go. */
static void test_sweep_first(void)
{
	struct attach_set a = the_set();
	struct attach_found f[2];

	begin_rosters();
	OK(set(&a));
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(del(false, &last));
	lock();
	K.del_waits = true;
	unlock();
	op->kernels(V, NULL, 0);
	for (u32 i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(op->set(V, &a), -EINPROGRESS);
		CU_ASSERT_EQUAL(op->probe(V, &L, f), -EINPROGRESS);
		usleep(1000);
	}
	CU_ASSERT(K.sets == 1 && K.probes == 0);
	lock();
	K.del_waits = false;
	pthread_cond_broadcast(&moved);
	unlock();
	OK(set(&a));
	CU_ASSERT(K.sets == 2 && K.targets == 2);
	end_rosters();
}

static void request(u32 place, bool any, u8 byte)
{
	u32 taken = K.taken;

	lock();
	K.note = (struct meshblk_note) { .volume = L.volume, .place = place, .any = any, .roster = { byte } };
	unlock();
	CU_ASSERT_EQUAL(write(K.pipe[1], "", 1), 1);
	await_wake();
	while (!rig_number(&K.taken, taken + 1))
		;
}

static void test_witness(void)
{
	struct attach_note n;

	begin();
	CU_ASSERT_EQUAL(op->note(V, &n), -ENOENT);
	request(4, true, 1);
	request(8, false, 0);
	request(4, true, 2);	/* the kernel repeats it, with the roster that counts now */
	OK(op->note(V, &n));
	CU_ASSERT(n.place == 4 && n.any && n.roster[0] == 2 && muuid_equal(&n.volume, &L.volume));
	CU_ASSERT_EQUAL(K.noteds, 0);
	OK(op->noted(V, &n));
	CU_ASSERT(K.noteds == 1 && K.noted.place == 4 && K.noted.any && K.noted.roster[0] == 2);
	CU_ASSERT(muuid_equal(&K.noted.volume, &L.volume));
	OK(op->note(V, &n));
	CU_ASSERT(n.place == 8 && !n.any);
	CU_ASSERT_EQUAL(op->note(V, &n), -ENOENT);
	/* The same place of two volumes. */
	request(4, true, 1);
	L.volume.b[5] = 1;
	request(4, true, 2);
	OK(op->note(V, &n));
	CU_ASSERT_EQUAL(n.roster[0], 1);
	OK(op->note(V, &n));
	CU_ASSERT_EQUAL(n.roster[0], 2);
	end();
}

/* The kernel's module comes, goes, and comes again as another family. */
static void test_begin(void)
{
	struct attach_set a = the_set();
	struct attach_kernel k;
	struct attach_found f[2];
	struct attach_note n;

	begin();
	volumes_close(V);
	K.absent = true;
	open_volumes();
	CU_ASSERT_EQUAL(volumes_begin(V), -ENOPKG);
	CU_ASSERT_EQUAL(volumes_fd(V), -1);
	volumes_events(V);
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT(k.state == ATTACH_ABSENT && op->kernels(V, NULL, 0) == 0);
	CU_ASSERT_EQUAL(op->set(V, &a), -ENOPKG);
	CU_ASSERT_EQUAL(op->probe(V, &L, f), -ENOPKG);
	CU_ASSERT_EQUAL(op->note(V, &n), -ENOENT);
	K.absent = false;
	OK(volumes_begin(V));
	CU_ASSERT_EQUAL(volumes_fd(V), 77);
	request(4, true, 1);
	/* Nothing is lost by a call that finds the same one. */
	OK(volumes_begin(V));
	OK(op->note(V, &n));
	kernel_has(MESHBLK_STATE_ACTIVE);
	OK(op->kernel(V, &L.volume, &k));
	K.there = false;
	K.family = 31;
	OK(volumes_begin(V));
	OK(op->kernel(V, &L.volume, &k));
	CU_ASSERT_EQUAL(k.state, ATTACH_ABSENT);
	request(4, true, 1);
	OK(op->note(V, &n));
	end();
}

static struct obj_attached record(u64 number)
{
	struct obj_attached r = { .plan = { .volume = L.volume, .mode = PLAN_RW, .number = number } };

	r.record = &L;
	return r;
}

static void path_of(const char *end, char out[200])
{
	snprintf(out, 200, "%s/attached/%s%s", folder, muuid_str(&L.volume).s, end);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void test_records(void)
{
	struct obj_attached r, got;
	struct muuid all[4];

	begin();
	CU_ASSERT_EQUAL(op->record_get(V, &L.volume, &got), -ENOENT);
	CU_ASSERT_EQUAL(op->records(V, all, 4), 0);
	r = record(NUMBER(5));
	OK(op->record_put(V, &r));
	r = record(NUMBER(6) | 3);
	OK(op->record_put(V, &r));
	CU_ASSERT(op->records(V, all, 4) == 1 && muuid_equal(&all[0], &L.volume));
	CU_ASSERT_EQUAL(op->records(V, all, 0), 0);
	OK(op->record_get(V, &L.volume, &got));
	CU_ASSERT(got.plan.number == (NUMBER(6) | 3) && got.plan.mode == PLAN_RW);
	CU_ASSERT(got.record->salt == SALT && got.plan.layout.places == 2 && got.plan.layout.version == 3);
	/* What was read is written again. */
	OK(op->record_put(V, &got));
	obj_free(OBJ_ATTACHED, &got);
	OK(op->record_erase(V, &L.volume));
	OK(op->record_erase(V, &L.volume));
	CU_ASSERT(op->record_get(V, &L.volume, &got) == -ENOENT && op->records(V, all, 4) == 0);
	/* A number that was never attached is not written. */
	r = record(0);
	CU_ASSERT_EQUAL(op->record_put(V, &r), -EUCLEAN);
	CU_ASSERT_PTR_NOT_NULL(strstr(op->words(V), "never attached"));
	end();
}

static void test_records_damaged(void)
{
	char path[200], aside[200], other[200], *text;
	struct obj_attached r = record(NUMBER(5)), got;
	struct muuid all[4];

	begin();
	r.record = &L;
	path_of("", path);
	path_of(".damaged", aside);
	write_file(path, "{\"v\":1000}");
	CU_ASSERT_EQUAL(op->record_get(V, &L.volume, &got), -ENOENT);
	CU_ASSERT(strstr(logged, "is damaged") && !access(aside, F_OK) && access(path, F_OK));
	CU_ASSERT_EQUAL(op->records(V, all, 4), 0);
	/* A whole file of another volume. */
	r.plan.volume = L.volume;
	OK(op->record_put(V, &r));
	snprintf(other, sizeof(other), "%s/attached/%s", folder, muuid_str(&(struct muuid) { { 'v', 2 } }).s);
	OK(rename(path, other));
	CU_ASSERT_EQUAL(op->record_get(V, &(struct muuid) { { 'v', 2 } }, &got), -ENOENT);
	CU_ASSERT(strstr(logged, "another volume") && access(other, F_OK));
	/* A newer daemon's is refused, and stays. */
	text = sum_append(strdup("{\"v\":2000}"));
	write_file(path, text);
	free(text);
	CU_ASSERT_EQUAL(op->record_get(V, &L.volume, &got), -EPROTONOSUPPORT);
	CU_ASSERT(!access(path, F_OK));
	end();
}

/* Without the store the record says where members were. */
static void test_slots(void)
{
	struct obj_attached r = record(NUMBER(5));
	struct plan_slot slot[2];
	bool reached[2];
	int err;

	begin();
	r.record = &L;
	for (u8 i = 1; i <= 3; i++) {
		rig_erase(A, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', i) });
		rig_erase(A, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', i) });
	}
	L.member[0].kind = LAYOUT_KIND_BDEV;
	L.member[1].port = 700;
	K.probe = (struct meshblk_probe) { .attach = NUMBER(3), .attacher = rig_id('h', 2) };
	while ((err = op->slots(V, &r, slot, reached)) == -EINPROGRESS)
		await_wake();
	OK(err);
	CU_ASSERT(reached[0] && slot[0].number == NUMBER(4) && slot[0].attacher.b[1] == 1);
	CU_ASSERT(reached[1] && slot[1].number == NUMBER(5) && slot[1].attacher.b[1] == 2);
	CU_ASSERT(muuid_equal(&slot[1].extent, &L.member[1].extent) && muuid_equal(&slot[1].volume, &L.volume));
	CU_ASSERT(!strcmp(K.target[0].addr, "10.9.9.9") && K.target[0].port == 700);
	K.probe_err = -ENOLINK;
	while ((err = op->slots(V, &r, slot, reached)) == -EINPROGRESS)
		await_wake();
	OK(err);
	CU_ASSERT(reached[0] && !reached[1]);
	end();
}

static const char *text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static void test_show(void)
{
	struct meshblk_member m[] = {
		{ .kind = MESHBLK_KIND_RDDA, .target_id = 1, .state = "refused", .error = -EBUSY,
		  .holder = rig_id('h', 3), .attach = NUMBER(4), .extent = rig_id('x', 1) },
		{ .kind = MESHBLK_KIND_BDEV, .state = "up", .path = "/dev/a", .stats = { .kept = 1 << MESHBLK_S_READS } },
	};
	static struct meshblk_group g;
	struct attach_set a = the_set();
	const json_t *members, *group;
	json_t *j;

	begin();
	CU_ASSERT_PTR_NULL(volumes_show(V, &L.volume));
	OK(set(&a));
	g = (struct meshblk_group) { .nr = 2, .members = { 0, 1 }, .barred = 2, .witness = true, .place = 0,
				     .roles = { MESHBLK_ROLE_JOINING, MESHBLK_ROLE_OUT }, .behind = { 5, 6 } };
	kernel_has(MESHBLK_STATE_ACTIVE);
	strcpy(K.v.disk, "mesh0");
	K.v.members = m;
	K.v.nr_members = 2;
	K.v.groups = &g;
	K.v.nr_groups = 1;
	ios[0] = (struct meshblk_abandoned) { .volume = L.volume, .member = { .extent = m[1].extent, .path = "/dev/a",
									      .abandoned = 3 } };
	ios[1] = (struct meshblk_abandoned) { .volume = L.volume, .member = { .extent = rig_id('x', 77) } };
	nr_ios = 2;
	j = volumes_show(V, &L.volume);
	CU_ASSERT_PTR_NOT_NULL_FATAL(j);
	members = json_object_get(j, "abandoned");
	CU_ASSERT_EQUAL_FATAL(json_array_size(members), 2);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(members, 0), "member")), 1);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(members, 0), "ios")), 3);
	CU_ASSERT(json_is_null(json_object_get(json_array_get(members, 1), "member")));
	nr_ios = 0;
	CU_ASSERT(!strcmp(text(j, "state"), "active") && !strcmp(text(j, "device"), "/dev/mesh0"));
	CU_ASSERT_STRING_EQUAL(text(j, "number"), "1.5.7");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(j, "size")), (json_int_t)L.size);
	CU_ASSERT(json_is_null(json_object_get(j, "fenced_by")));
	members = json_object_get(j, "members");
	CU_ASSERT_EQUAL_FATAL(json_array_size(members), 2);
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 0), "state"), "refused");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(members, 0), "error")), -EBUSY);
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 0), "holder"), muuid_str(&m[0].holder).s);
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 0), "host"), muuid_str(&K.target[at_of(1)].host).s);
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 0), "number"), "1.4.0");
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 1), "path"), "/dev/a");
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 1), "kind"), "bdev");
	CU_ASSERT(json_is_integer(json_object_get(json_object_get(json_array_get(members, 1), "stats"), "reads")));
	CU_ASSERT(json_is_null(json_object_get(json_object_get(json_array_get(members, 0), "stats"), "reads")));
	group = json_array_get(json_object_get(j, "groups"), 0);
	CU_ASSERT(json_is_true(json_object_get(group, "witness")));
	members = json_object_get(group, "members");
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 0), "role"), "rebuilding");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(members, 0), "behind")), 5);
	CU_ASSERT_STRING_EQUAL(text(json_array_get(members, 1), "role"), "barred");
	json_decref(j);
	end();
}

int main(void)
{
	static const struct rig_test tests[] = {
		{ "rosters", test_rosters },
		{ "rosters of another volume", test_rosters_foreign },
		{ "rosters of a volume that is fenced", test_rosters_fenced },
		{ "rosters of the attachment before", test_rosters_before },
		{ "the end of a volume", test_del },
		{ "the end of a volume takes long", test_del_late },
		{ "the end of a volume goes on", test_del_gone },
		{ "one after the other", test_del_order },
		{ "targets without members", test_sweep },
		{ "targets that are about to go", test_sweep_first },
		{ "the witness", test_witness },
		{ "the kernel's module", test_begin },
		{ "records", test_records },
		{ "damaged records", test_records_damaged },
		{ "labels without the store", test_slots },
		{ "as JSON", test_show },
	};

	return rig_main("ends of a kernel's volumes", tests, ARRAY_SIZE(tests));
}
