// SPDX-License-Identifier: GPL-2.0-only
/* Drives that are emptied, and spares: tasks that the controller requests itself. */
#include "tests/unit/tasks_rig.h"
#include "userspace/agent/spare.h"

static const struct obj_drive *drive(const struct muuid *d)
{
	return copy_obj(A, &(struct key) { .kind = KEY_DRIVE, .drive = *d });
}

static u32 tasks_of(const char *verb, u8 state)
{
	const struct copy_item *i = NULL;
	u32 n = 0;

	while ((i = copy_next(A, &(struct key) { .kind = KEY_TASK }, 0, i))) {
		const struct obj_task *x = i->obj;

		n += x && !strcmp(x->verb, verb) && (!state || x->state == state);
	}
	return n;
}

static void drain(u8 t, const struct muuid *d)
{
	request(t, 0, "drive drain", json_pack("{s:s}", "drive", muuid_str(d).s));
}

static void last_drives(u8 wanted)
{
	for (u8 h = 1; h <= HOSTS; h++) {
		struct muuid d = rig_id('d', h * 10 + EACH - 1);
		struct obj_drive x = *drive(&d);

		x.plan.wanted = wanted;
		rig_put(A, KEY_DRIVE, &x);
	}
}

/* Four volumes, attached, on all drives but the last one of each host. */
static void volumes(void)
{
	static const char *const layouts[] = { "mirror:2", "ec:2+1", "mirror:3", "linear" };

	last_drives(PLAN_OUT);
	for (u8 v = 1; v <= 4; v++) {
		char name[16];

		snprintf(name, sizeof(name), "vol%u", v);
		request(v, v, "volume create", create_args(name, layouts[v - 1], 50 << 20, "host"));
	}
	settle();
	for (u8 v = 1; v <= 4; v++) {
		CU_ASSERT(done(v, OBJ_TASK_DONE));
		attach(v);
	}
	settle();
	last_drives(PLAN_IN);
}

/* The drive that has most members, and no member of the linear volume. */
static struct muuid crowded(void)
{
	struct muuid lone = volume(4)->record->member[0].drive, best = { 0 };
	const struct copy_item *i = NULL;
	const struct obj_drive *d;
	u32 most = 0;

	while ((d = next_drive(&i))) {
		if (d->plan.extents <= most || muuid_equal(&d->plan.uuid, &lone))
			continue;
		most = d->plan.extents;
		best = d->plan.uuid;
	}
	return best;
}

static void drained(u32 with_seed, u32 with_odds)
{
	struct muuid d;
	u32 n;

	begin(with_seed, with_odds);
	volumes();
	d = crowded();
	n = drive(&d)->plan.extents;
	CU_ASSERT(n > 1);
	drain(10, &d);
	settle();
	CU_ASSERT(done(10, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(drive(&d)->plan.wanted, PLAN_OUT);
	CU_ASSERT_EQUAL(drive(&d)->plan.extents, 0);
	CU_ASSERT_EQUAL(tasks_of("volume evict", OBJ_TASK_DONE), n);
	CU_ASSERT_EQUAL(task(10)->progress.total, n);
	CU_ASSERT_EQUAL(task(10)->progress.done, n);
	end();
}

static void t_drain(void)
{
	drained(1, 0);
	for (u32 s = 1; s < 5; s++)
		drained(s, 3);
}

/* What cannot leave stays, and is named; a drain that is cancelled takes the drive in again. */
static void t_stays(void)
{
	struct muuid lone, other;

	begin(1, 0);
	volumes();
	lone = volume(4)->record->member[0].drive;
	drain(10, &lone);
	settle();
	CU_ASSERT(done(10, OBJ_TASK_RUNNING));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(10)->step, "no redundancy: vol4"));
	CU_ASSERT_EQUAL(drive(&lone)->plan.extents, 1);
	CU_ASSERT_EQUAL(drive(&lone)->plan.wanted, PLAN_DRAINING);
	cancel(10);
	settle();
	CU_ASSERT(done(10, OBJ_TASK_CANCELLED));
	CU_ASSERT_EQUAL(drive(&lone)->plan.wanted, PLAN_IN);
	other = rig_id('d', 99);
	drain(11, &other);
	request(12, 0, "drive drain", json_object());
	settle();
	CU_ASSERT(done(11, OBJ_TASK_FAILED));
	CU_ASSERT(done(12, OBJ_TASK_FAILED));
	end();
}

/* An eviction finds no room: it is not requested again and again. */
static void t_refused(void)
{
	const struct copy_item *i = NULL;
	struct obj_drive x;
	struct muuid d;
	u32 n;

	begin(1, 0);
	volumes();
	d = crowded();
	for (const struct obj_drive *o; (o = next_drive(&i)); ) {
		if (muuid_equal(&o->plan.uuid, &d))
			continue;
		x = *o;
		x.plan.wanted = PLAN_OUT;
		rig_put(A, KEY_DRIVE, &x);
		i = NULL;
		while ((o = next_drive(&i)) && !muuid_equal(&o->plan.uuid, &x.plan.uuid))
			;
	}
	n = drive(&d)->plan.extents;
	drain(10, &d);
	settle();
	CU_ASSERT(done(10, OBJ_TASK_RUNNING));
	CU_ASSERT_EQUAL(tasks_of("volume evict", OBJ_TASK_FAILED), n);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(10)->step, "failed"));
	con.tasks.now += 601;
	controller();
	settle();
	CU_ASSERT_EQUAL(tasks_of("volume evict", OBJ_TASK_FAILED), 2 * n);
	end();
}

static struct spares S;

static int spares(u64 now_ms)
{
	int ret;

	rig_catch_up(con.c);
	ret = spares_turn(&S, now_ms);
	CU_ASSERT(ret >= 0);
	rig_catch_up(A);
	return ret;
}

static void spares_of(u8 v, u16 n)
{
	request(60 + v, v, "volume set", json_pack("{s:i}", "spares", n));
	settle();
}

static u8 host_of(u8 v, u32 place)
{
	return volume(v)->record->member[place].target.b[1];
}

static void maintenance(u8 h, bool on)
{
	struct obj_host x = *(const struct obj_host *)copy_obj(A, &(struct key) { .kind = KEY_HOST,
								.host = rig_id('h', h) });

	x.plan.maintenance = on;
	rig_put(A, KEY_HOST, &x);
}

static struct obj_event spare_event;
static u32 reported;

static void on_spare(void *priv, const struct obj_event *e)
{
	CU_ASSERT_PTR_EQUAL(priv, &S);
	spare_event = *e;
	spare_event.details = NULL;
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(e->details, "member")), 0);
	reported++;
}

/* In the history, with the task, and reported once. */
static void spare_reported(void)
{
	const struct obj_event *e = copy_obj(A, &(struct key) { .kind = KEY_EVENT, .host = spare_event.host,
								.serial = spare_event.serial });

	CU_ASSERT_EQUAL(reported, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT(!strcmp(e->what, "spare") && muuid_equal(&e->host, &con.lead.host));
	CU_ASSERT(e->volume.b[1] == 1 && muuid_equal(&e->drive, &volume(1)->record->member[0].drive));
	CU_ASSERT_PTR_NOT_NULL(strstr(e->words, "a spare takes the place of member 0 (drive "));
	CU_ASSERT_PTR_NOT_NULL(strstr(e->words, "), which is lost; 0 of 1 spares are left"));
}

/* The volume is written again, as it is. */
static void volume_again(u8 v)
{
	struct obj_access x = *(const struct obj_access *)copy_obj(A, &(struct key) { .kind = KEY_ACCESS,
								.volume = rig_id('v', v) });

	rig_put(A, KEY_ACCESS, &x);
}

static void t_spare(void)
{
	u8 h;

	begin(1, 0);
	S = (struct spares) { .tasks = &con.tasks, .report = on_spare, .priv = &S };
	reported = 0;
	OK(copy_follow(A, &(struct key) { .kind = KEY_EVENT }, 0));
	volumes();
	spares_of(1, 1);
	h = host_of(1, 0);
	/* out, but its drive is there: it catches up */
	lost(1, 0);
	CU_ASSERT_EQUAL(spares(1000), 0);
	CU_ASSERT_EQUAL(spares(9000000), 0);
	/* away, but not out */
	lost(1, NO_PLACE);
	put_alive(h, false);
	CU_ASSERT_EQUAL(spares(10000000), 0);
	CU_ASSERT_EQUAL(spares(20000000), 0);
	/* out: since the drive has been away for long, at once; not if the host is back for a moment */
	lost(1, 0);
	put_alive(h, true);
	CU_ASSERT_EQUAL(spares(20000001), 0);
	put_alive(h, false);
	CU_ASSERT_EQUAL(spares(20000002), 0);
	CU_ASSERT_EQUAL(spares(20000002 + 599000), 0);
	/* in maintenance, and then again the whole delay */
	maintenance(h, true);
	CU_ASSERT_EQUAL(spares(20000002 + 600000), 0);
	maintenance(h, false);
	CU_ASSERT_EQUAL(spares(30000000), 0);
	/* a store that was put back */
	con.tasks.stopped = true;
	CU_ASSERT_EQUAL(spares(30000000 + 600000), 0);
	con.tasks.stopped = false;
	/* decided from a copy that is behind: neither a task nor a report */
	volume_again(1);
	CU_ASSERT_EQUAL(spares_turn(&S, 30000000 + 600000), 0);
	CU_ASSERT_EQUAL(reported, 0);
	CU_ASSERT_EQUAL(spares(30000000 + 600000), 1);
	CU_ASSERT_EQUAL(spares(30000000 + 600000), 0);	/* it is requested */
	CU_ASSERT_EQUAL(tasks_of("volume replace", OBJ_TASK_WAITING), 1);
	spare_reported();
	settle();
	CU_ASSERT_EQUAL(tasks_of("volume replace", OBJ_TASK_DONE), 1);
	CU_ASSERT_NOT_EQUAL(host_of(1, 0), h);
	CU_ASSERT_EQUAL(volume(1)->record->spares_used, 1);
	/* no spare is left, and volume 2 has none */
	h = host_of(1, 1);
	put_alive(h, false);
	lost(1, 1);
	spares(40000000);
	CU_ASSERT_EQUAL(spares(50000000), 0);
	spares_end(&S);
	end();
}

/* A drive that its host does not list is away. */
static void t_device(void)
{
	struct obj_disk disk = { .path = "/dev/nvme0n1", .size = GIB, .lba = 512, .exportable = true };
	struct obj_device dev = { .disks = 1, .disk = &disk };

	begin(1, 0);
	S = (struct spares) { .tasks = &con.tasks };
	volumes();
	spares_of(3, 2);
	lost(3, 2);
	dev.host = rig_id('h', host_of(3, 2));
	disk.drive = volume(3)->record->member[2].drive;
	rig_put(A, KEY_DEVICE, &dev);
	CU_ASSERT_EQUAL(spares(1000), 0);
	CU_ASSERT_EQUAL(spares(2000000), 0);
	disk.drive = rig_id('d', 98);
	rig_put(A, KEY_DEVICE, &dev);
	CU_ASSERT_EQUAL(spares(3000000), 0);
	CU_ASSERT_EQUAL(spares(3600000), 1);
	spares_end(&S);
	end();
}

static void detach(u8 v)
{
	struct obj_access a = { .volume = rig_id('v', v), .plan = { .mode = PLAN_NONE, .clean = true,
								   .number = mesh_number(1, 7, 0) } };

	rig_put(A, KEY_ACCESS, &a);
}

static bool on_drive(u8 v, const struct muuid *d, const struct muuid *extent)
{
	const struct layout *l = volume(v)->record;

	for (u32 i = 0; i < l->members; i++) {
		if (muuid_equal(&l->member[i].drive, d) && (!extent || muuid_equal(&l->member[i].extent, extent)))
			return true;
	}
	return false;
}

static void forget(u8 t, const struct muuid *d)
{
	request(t, 0, "drive forget", json_pack("{s:s}", "drive", muuid_str(d).s));
}

/* All its volumes change, or none: while one is attached, or read, the drive is not touched. */
static void forgotten(u32 with_seed, u32 with_odds)
{
	struct obj_reader reader = { .volume = rig_id('v', 2), .plan = { .host = rig_id('h', 3) } };
	struct key k = { .kind = KEY_READER, .volume = reader.volume, .host = reader.plan.host };
	struct plan_extent x[8];
	struct muuid d;
	u32 n;

	begin(with_seed, with_odds);
	volumes();
	d = crowded();
	n = drive(&d)->plan.extents;
	CU_ASSERT_FATAL(n > 1 && n < 8);
	memcpy(x, drive(&d)->plan.extent, n * sizeof(*x));
	for (u8 v = 1; v <= 4; v++) {
		if (v != x[0].volume.b[1])
			detach(v);
	}
	forget(10, &d);
	settle();
	CU_ASSERT(done(10, OBJ_TASK_RUNNING));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(10)->step, "is attached"));
	CU_ASSERT_EQUAL(drive(&d)->plan.wanted, PLAN_IN);
	CU_ASSERT_EQUAL(drive(&d)->plan.extents, n);
	reader.volume = k.volume = x[1].volume;
	rig_put(A, KEY_READER, &reader);
	detach(x[0].volume.b[1]);
	settle();
	CU_ASSERT_EQUAL(drive(&d)->plan.extents, n);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(10)->step, "has readers"));
	rig_erase(A, &k);
	settle();
	CU_ASSERT(done(10, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(drive(&d)->plan.wanted, PLAN_FORGOTTEN);
	CU_ASSERT_EQUAL(drive(&d)->plan.extents, 0);
	for (u32 i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(volume(x[i].volume.b[1])->record->version, 2);
		CU_ASSERT(on_drive(x[i].volume.b[1], &d, NULL));
		CU_ASSERT(!on_drive(x[i].volume.b[1], &d, &x[i].uuid));
	}
	end();
}

static void t_forget(void)
{
	forgets = true;
	forgotten(1, 0);
	for (u32 s = 1; s < 5; s++)
		forgotten(s, 3);
	forgets = false;
}

/* No drive, one that is empty, a volume that is deleted, and a cancel before anything is done. */
static void t_forget_more(void)
{
	struct muuid d, empty = { 0 };
	const struct copy_item *i = NULL;
	const struct obj_drive *o;

	begin(1, 0);
	forgets = true;
	volumes();
	d = rig_id('d', 99);
	forget(10, &d);
	while ((o = next_drive(&i))) {
		if (!o->plan.extents)
			empty = o->plan.uuid;
	}
	CU_ASSERT_FATAL(!muuid_null(&empty));
	forget(11, &empty);
	d = crowded();
	forget(12, &d);
	settle();
	CU_ASSERT(done(10, OBJ_TASK_FAILED));
	CU_ASSERT(done(11, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(drive(&empty)->plan.wanted, PLAN_FORGOTTEN);
	CU_ASSERT(done(12, OBJ_TASK_RUNNING));
	cancel(12);
	settle();
	CU_ASSERT(done(12, OBJ_TASK_CANCELLED));
	CU_ASSERT_EQUAL(drive(&d)->plan.wanted, PLAN_IN);
	/* the linear volume is deleted on a drive that never comes back */
	d = volume(4)->record->member[0].drive;
	for (u8 v = 1; v <= 4; v++)
		detach(v);
	request(13, 4, "volume delete", json_object());
	controller();
	CU_ASSERT_EQUAL(volume(4)->plan.state, PLAN_DELETING);
	forget(14, &d);
	settle();
	CU_ASSERT(done(13, OBJ_TASK_DONE));
	CU_ASSERT(done(14, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(drive(&d)->plan.extents, 0);
	forgets = false;
	end();
}

static void remove_host(u8 t, u8 h, bool is_lost)
{
	struct muuid host = rig_id('h', h);

	request(t, 0, "host remove", is_lost ? json_pack("{s:s, s:b}", "host", muuid_str(&host).s, "lost", true) :
						json_pack("{s:s}", "host", muuid_str(&host).s));
	settle();
}

static bool is_removed(u8 h)
{
	const struct obj_host *x = copy_obj(A, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', h) });

	return x->plan.removed;
}

static void role(u8 h, u8 is)
{
	struct obj_host x = *(const struct obj_host *)copy_obj(A, &(struct key) { .kind = KEY_HOST,
								.host = rig_id('h', h) });

	x.plan.role = is;
	rig_put(A, KEY_HOST, &x);
}

static void removed(u32 with_seed, u32 with_odds)
{
	struct obj_want want = { .host = rig_id('h', 2), .volume = rig_id('v', 1), .mode = PLAN_RW };
	struct muuid d;

	begin(with_seed, with_odds);
	forgets = true;
	volumes();
	remove_host(10, 9, false);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(10)->error, "no such host"));
	remove_host(11, 2, false);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(11)->error, "drives with data"));
	remove_host(12, 2, true);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(12)->error, "alive"));
	put_alive(2, false);
	role(2, PLAN_STORE);
	remove_host(13, 2, true);
	CU_ASSERT_PTR_NOT_NULL(strstr(task(13)->error, "last store host"));
	CU_ASSERT(!is_removed(2));
	CU_ASSERT_EQUAL(tasks_of("drive forget", 0), 0);
	role(1, PLAN_STORE);
	rig_put(A, KEY_WANT, &want);
	for (u8 v = 1; v <= 4; v++)
		detach(v);
	remove_host(14, 2, true);
	CU_ASSERT(done(14, OBJ_TASK_DONE));
	CU_ASSERT(is_removed(2));
	CU_ASSERT_PTR_NULL(copy_get(A, &(struct key) { .kind = KEY_WANT, .host = want.host, .volume = want.volume }));
	CU_ASSERT_EQUAL(tasks_of("drive forget", OBJ_TASK_DONE), EACH);
	for (u8 i = 0; i < EACH; i++) {
		d = rig_id('d', 20 + i);
		CU_ASSERT_EQUAL(drive(&d)->plan.wanted, PLAN_FORGOTTEN);
		CU_ASSERT_EQUAL(drive(&d)->plan.extents, 0);
		d = rig_id('d', 10 + i);
		CU_ASSERT_EQUAL(drive(&d)->plan.wanted, PLAN_IN);
	}
	forgets = false;
	end();
}

static void t_remove(void)
{
	removed(1, 0);
	for (u32 s = 1; s < 4; s++)
		removed(s, 3);
}

static const struct rig_test tests[] = {
	{ "drained", t_drain },
	{ "what stays on a drive", t_stays },
	{ "evictions that fail", t_refused },
	{ "spares", t_spare },
	{ "a drive that is gone", t_device },
	{ "forgotten", t_forget },
	{ "a host is removed", t_remove },
	{ "forgotten, and cancelled, deleted, empty", t_forget_more },
};

int main(void)
{
	return rig_main("agent_drain", tests, sizeof(tests) / sizeof(tests[0]));
}
