// SPDX-License-Identifier: GPL-2.0-only
/*
 * The controller's tasks over a store in a file: controllers that die before any transaction and
 * are followed by another one, agents of drives and a kernel that act between their steps.
 */
#include "tests/unit/tasks_rig.h"
#include "userspace/format/label.h"

/* Of a mirror and of ec, one by one; a member of no group, and one of a volume that is not attached. */
static void evictions(void)
{
	struct muuid old = volume(5)->record->member[2].extent, other = volume(3)->record->member[0].extent;
	u32 before = extents_left();

	request(53, 3, "volume evict", json_pack("{s:i}", "place", 0));
	request(55, 5, "volume evict", json_pack("{s:i}", "place", 2));
	request(51, 1, "volume evict", json_pack("{s:i}", "place", 0));
	settle();
	CU_ASSERT(done(53, OBJ_TASK_DONE));
	CU_ASSERT(done(55, OBJ_TASK_DONE));
	CU_ASSERT(done(51, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(51)->error, "no group"));
	CU_ASSERT(!muuid_equal(&old, &volume(5)->record->member[2].extent));
	CU_ASSERT(!muuid_equal(&other, &volume(3)->record->member[0].extent));
	CU_ASSERT_EQUAL(volume(3)->leavings + volume(5)->leavings, 0);
	CU_ASSERT_EQUAL(extents_left(), before);
}

static const char *const layouts[] = { "linear", "stripe:3", "mirror:2", "raid10:2x2", "ec:2+1" };

/* Each layout's whole life, with crashes before any transaction. */
static void life(u32 with_seed, u32 with_odds)
{
	begin(with_seed, with_odds);
	for (u8 v = 1; v <= 5; v++) {
		char name[16];

		snprintf(name, sizeof(name), "vol%u", v);
		request(v, v, "volume create", create_args(name, layouts[v - 1], 100 << 20, v % 2 ? "host" : "drive"));
	}
	settle();
	for (u8 v = 1; v <= 5; v++) {
		CU_ASSERT(done(v, OBJ_TASK_DONE));
		CU_ASSERT_PTR_NOT_NULL_FATAL(volume(v));
		CU_ASSERT_EQUAL(volume(v)->plan.state, PLAN_VOLUME_READY);
		CU_ASSERT(volume(v)->record->size >= 100 << 20);
		attach(v);
		request(10 + v, v, "volume extend", json_pack("{s:i}", "bytes", 50 << 20));
		request(20 + v, v, "volume set", json_pack("{s:s, s:i}", "name", layouts[v - 1] + 1, "spares", 2));
	}
	settle();
	for (u8 v = 1; v <= 5; v++) {
		/* a name with a colon is none */
		bool bad = strchr(layouts[v - 1], ':');

		CU_ASSERT(done(10 + v, OBJ_TASK_DONE));
		CU_ASSERT(done(20 + v, bad ? OBJ_TASK_FAILED : OBJ_TASK_DONE));
		CU_ASSERT_EQUAL(volume(v)->record->version, bad ? 2 : 3);
		CU_ASSERT(volume(v)->record->size >= 150 << 20);
	}
	CU_ASSERT_STRING_EQUAL(volume(1)->record->name, "inear");
	lost(3, 1);
	request(33, 3, "volume replace", json_pack("{s:i}", "place", 1));
	request(31, 1, "volume replace", json_pack("{s:i}", "place", 0));
	settle();
	CU_ASSERT(done(31, OBJ_TASK_FAILED));
	CU_ASSERT(done(33, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(volume(3)->plan.barred, 0);
	lost(3, NO_PLACE);
	evictions();
	for (u8 v = 1; v <= 5; v++) {
		struct obj_access none = { .volume = rig_id('v', v), .plan = { .mode = PLAN_NONE, .clean = true,
					   .number = mesh_number(1, 7, 0) } };

		rig_put(A, KEY_ACCESS, &none);
		request(40 + v, v, "volume delete", json_object());
	}
	settle();
	for (u8 v = 1; v <= 5; v++) {
		CU_ASSERT(done(40 + v, OBJ_TASK_DONE));
		CU_ASSERT_PTR_NULL(volume(v));
	}
	CU_ASSERT_EQUAL(extents_left(), 0);
	CU_ASSERT_PTR_NULL(copy_next(A, &(struct key) { .kind = KEY_NAME }, 0, NULL));
	CU_ASSERT_PTR_NULL(copy_next(A, &(struct key) { .kind = KEY_ACCESS }, 0, NULL));
	CU_ASSERT_PTR_NULL(copy_next(A, &(struct key) { .kind = KEY_ROSTER }, 0, NULL));
	end();
}

static void t_life(void)
{
	life(1, 0);
}

static void t_crashes(void)
{
	u32 n = 0;

	copies = 0;
	for (u32 s = 1; s <= 12; s++) {
		life(s, 2 + s % 4);
		n += crashes;
	}
	CU_ASSERT(n > 200);
	CU_ASSERT(copies > 10);
}

static u32 left;			/* transactions before the next crash */

static bool crash_then(void *arg)
{
	(void)arg;
	return !left--;
}

/* Drives leave after they were chosen: nothing is given out on them. */
static void t_leaves(void)
{
	const struct copy_item *i = NULL;
	const struct obj_drive *d;
	struct obj_drive out[HOSTS * EACH];
	u32 n = 0;

	begin(1, 0);
	request(1, 1, "volume create", create_args("vol", "linear", 10 << 20, "host"));
	rig_catch_up(con.c);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 1), 1);
	left = 1;
	con.tasks.crash = crash_then;
	CU_ASSERT_EQUAL(tasks_turn(&con.tasks), -ECANCELED);
	rig_catch_up(A);
	CU_ASSERT_EQUAL(task(1)->plan.puts, 1);
	CU_ASSERT_EQUAL(extents_left(), 0);
	while ((d = next_drive(&i)))
		out[n++] = *d;
	while (n--) {
		out[n].plan.wanted = PLAN_DRAINING;
		rig_put(A, KEY_DRIVE, &out[n]);
	}
	con.tasks.crash = crash;
	settle();
	CU_ASSERT(done(1, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(1)->error, "the drive leaves"));
	CU_ASSERT_EQUAL(extents_left(), 0);
	CU_ASSERT_PTR_NULL(volume(1));
	end();
}

static void t_refused(void)
{
	begin(1, 0);
	request(1, 1, "volume create", create_args("big", "stripe:3", 10 * (json_int_t)GIB, "host"));
	request(2, 2, "volume create", create_args("wide", "mirror:3", 10 << 20, "rack"));
	request(3, 3, "volume create", create_args("good", "mirror:2", 10 << 20, "rack"));
	settle();
	CU_ASSERT(done(1, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(1)->error, "smaller size"));
	CU_ASSERT(done(2, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(2)->error, "one rack"));
	CU_ASSERT(done(3, OBJ_TASK_DONE));
	CU_ASSERT_NOT_EQUAL(volume(3)->record->member[0].target.b[1] % 2, volume(3)->record->member[1].target.b[1] % 2);
	/* a name that is taken, an argument that is misspelt, a size that is missing */
	request(4, 4, "volume create", create_args("good", "linear", 10 << 20, "host"));
	request(5, 5, "volume create", json_pack("{s:s, s:s, s:i, s:s, s:s, s:{}, s:i}", "name", "x", "layout",
		"linear", "bytes", 1 << 20, "domain", "host", "allow", "all", "io", "stripp", 4096));
	request(6, 3, "volume extend", json_object());
	settle();
	CU_ASSERT(done(4, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(4)->error, "good already"));
	CU_ASSERT(done(5, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(5)->error, "stripp"));
	CU_ASSERT(done(6, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(6)->error, "size"));
	/* a create may leave the volume's UUID to the controller */
	request(8, 0, "volume create", create_args("unnamed", "linear", 10 << 20, "host"));
	settle();
	CU_ASSERT(done(8, OBJ_TASK_DONE));
	CU_ASSERT_PTR_NOT_NULL(copy_obj(A, &(struct key) { .kind = KEY_VOLUME, .volume = task(8)->volume }));
	/* a verb that no decision is for is left alone */
	request(7, 3, "volume paint", json_object());
	settle();
	CU_ASSERT(done(7, OBJ_TASK_WAITING));
	CU_ASSERT_PTR_NULL(volume(1));
	CU_ASSERT_EQUAL(extents_left(), 3);
	end();
}

static void t_cancel(void)
{
	begin(1, 0);
	request(1, 1, "volume create", create_args("a", "ec:2+1", 100 << 20, "host"));
	controller();
	CU_ASSERT_EQUAL(extents_left(), 3);
	CU_ASSERT_EQUAL(volume(1)->plan.state, PLAN_CREATING);
	cancel(1);
	settle();
	CU_ASSERT(done(1, OBJ_TASK_CANCELLED));
	CU_ASSERT_PTR_NULL(volume(1));
	CU_ASSERT_EQUAL(extents_left(), 0);
	/* an extension, before it is decided; a replacement, whose place is barred */
	request(2, 2, "volume create", create_args("b", "mirror:2", 100 << 20, "host"));
	settle();
	request(3, 2, "volume extend", json_pack("{s:i}", "bytes", 50 << 20));
	controller();
	CU_ASSERT_EQUAL(extents_left(), 4);
	cancel(3);
	settle();
	CU_ASSERT(done(3, OBJ_TASK_CANCELLED));
	CU_ASSERT_EQUAL(extents_left(), 2);
	attach(2);
	request(4, 2, "volume replace", json_pack("{s:i}", "place", 0));
	controller();
	while (act() && !volume(2)->plan.barred)
		controller();
	CU_ASSERT_EQUAL(volume(2)->plan.barred, 1);
	cancel(4);
	settle();
	CU_ASSERT(done(4, OBJ_TASK_CANCELLED));
	CU_ASSERT_EQUAL(volume(2)->plan.barred, 0);
	CU_ASSERT_EQUAL(volume(2)->record->version, 1);
	CU_ASSERT_EQUAL(extents_left(), 2);
	end();
}

/* A task that is to follow another one. */
static void t_after(void)
{
	struct muuid *first = malloc(sizeof(*first));
	struct obj_task x = { .uuid = rig_id('t', 2), .volume = rig_id('v', 2), .state = OBJ_TASK_WAITING,
			      .host = rig_id('h', 1), .verb = "volume create", .afters = 1, .after = first };

	begin(1, 0);
	*first = rig_id('t', 1);
	request(1, 1, "volume create", create_args("a", "linear", 100 << 20, "host"));
	x.args = create_args("b", "linear", 100 << 20, "host");
	rig_put(A, KEY_TASK, &x);
	json_decref(x.args);
	controller();
	CU_ASSERT_PTR_NOT_NULL(volume(1));
	CU_ASSERT_PTR_NULL(volume(2));
	settle();
	CU_ASSERT(done(2, OBJ_TASK_DONE));
	free(first);
	end();
}

/* Two extensions at once: the second fails, and leaves nothing behind. */
static void t_overtaken(void)
{
	begin(1, 0);
	request(1, 1, "volume create", create_args("a", "linear", 100 << 20, "host"));
	settle();
	request(2, 1, "volume extend", json_pack("{s:i}", "bytes", 50 << 20));
	request(3, 1, "volume extend", json_pack("{s:i}", "bytes", 60 << 20));
	settle();
	CU_ASSERT_EQUAL((task(2)->state == OBJ_TASK_DONE) + (task(3)->state == OBJ_TASK_DONE), 1);
	CU_ASSERT_EQUAL((task(2)->state == OBJ_TASK_FAILED) + (task(3)->state == OBJ_TASK_FAILED), 1);
	CU_ASSERT_EQUAL(extents_left(), 2);
	/* deleted while it is extended */
	request(4, 1, "volume extend", json_pack("{s:i}", "bytes", 50 << 20));
	controller();
	request(5, 1, "volume delete", json_object());
	settle();
	CU_ASSERT(done(4, OBJ_TASK_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(task(4)->error, "deleted"));
	CU_ASSERT(done(5, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(extents_left(), 0);
	end();
}

/* A host that does not lead, or no longer does, writes nothing. */
static void t_lead(void)
{
	struct obj_leader other = { .host = rig_id('h', 3) };
	struct key k = { .kind = KEY_LEADER };

	begin(1, 0);
	controller();
	request(1, 1, "volume create", create_args("a", "linear", 100 << 20, "host"));
	rig_catch_up(con.c);
	/* another host leads by now, which this controller's copy does not know */
	rig_catch_up(A);
	rig_erase(A, &k);
	rig_put(A, KEY_LEADER, &other);
	CU_ASSERT(lead_is(&con.lead));
	CU_ASSERT_EQUAL(tasks_turn(&con.tasks), 0);
	rig_catch_up(A);
	CU_ASSERT(done(1, OBJ_TASK_WAITING));
	CU_ASSERT_PTR_NULL(volume(1));
	rig_catch_up(con.c);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 2), 0);
	CU_ASSERT_EQUAL(tasks_turn(&con.tasks), 0);
	/* a store that was put back decides nothing */
	rig_erase(A, &k);
	con.tasks.stopped = true;
	controller();
	CU_ASSERT_PTR_NULL(volume(1));
	con.tasks.stopped = false;
	settle();
	CU_ASSERT(done(1, OBJ_TASK_DONE));
	end();
}

/* Drives that get nothing: out, of a host that is away, in maintenance, or local ones. */
static void t_candidates(void)
{
	const struct copy_item *i = NULL;
	struct obj_host h;
	struct obj_drive d;

	begin(1, 0);
	put_alive(3, false);
	h = *(const struct obj_host *)copy_obj(A, &(struct key) { .kind = KEY_HOST, .host = rig_id('h', 2) });
	h.plan.maintenance = true;
	rig_put(A, KEY_HOST, &h);
	d = *next_drive(&i);
	d.plan.wanted = PLAN_DRAINING;
	rig_put(A, KEY_DRIVE, &d);
	d = *(const struct obj_drive *)copy_obj(A, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 11) });
	d.local = true;
	rig_put(A, KEY_DRIVE, &d);
	request(1, 1, "volume create", create_args("a", "stripe:2", 10 << 20, "drive"));
	request(2, 2, "volume create", create_args("b", "linear", 10 << 20, "drive"));
	settle();
	CU_ASSERT(done(1, OBJ_TASK_FAILED));
	CU_ASSERT(done(2, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(volume(2)->record->member[0].drive.b[1], 12);
	CU_ASSERT_EQUAL(volume(2)->record->member[0].kind, LAYOUT_KIND_RDDA);
	end();
}

static const struct rig_test tests[] = {
	{ "the life of volumes", t_life },
	{ "controllers that die", t_crashes },
	{ "leaves", t_leaves },
	{ "refused", t_refused },
	{ "cancelled", t_cancel },
	{ "overtaken", t_overtaken },
	{ "one after another", t_after },
	{ "who leads", t_lead },
	{ "candidates", t_candidates },
};

int main(void)
{
	return rig_main("agent_tasks", tests, sizeof(tests) / sizeof(tests[0]));
}
