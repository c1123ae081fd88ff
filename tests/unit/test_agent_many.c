// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks over more drives, or more extents, than one transaction has room for: they go in pieces, between
 * which controllers die, and a task that cannot go on stands in the way of no other one.
 */
#include "tests/unit/tasks_rig.h"
#include "userspace/format/label.h"

#define MANY	200
#define OF_HOST	130

static struct muuid many_id(u32 n)
{
	return (struct muuid) { .b = { 'm', n >> 8, n } };
}

/* @extents: of another volume, in a row at the start */
static void put_drive(u32 n, u8 host, u32 extents)
{
	struct plan_extent *x = calloc(extents + 1, sizeof(*x));
	struct obj_drive d = { .plan = { .uuid = many_id(n), .host = rig_id('h', host), .wanted = PLAN_IN,
					 .extent = x, .extents = extents },
			       .size = (extents + 1024) * LABEL_AREA, .lba = 512, .path = "/dev/nvme9n1" };

	for (u32 i = 0; i < extents; i++)
		x[i] = (struct plan_extent) { .uuid = { .b = { 'x', n >> 8, n, i >> 8, i } },
					      .volume = rig_id('v', 99), .place = i % 1000, .state = PLAN_READY,
					      .start = (1 + i) * LABEL_AREA, .length = LABEL_AREA };
	rig_put(A, KEY_DRIVE, &d);
	free(x);
}

static const struct obj_drive *many(u32 n)
{
	return copy_obj(A, &(struct key) { .kind = KEY_DRIVE, .drive = many_id(n) });
}

/* All agents, until none has anything to do. */
static void agents_act(void)
{
	bool acts = true;

	while (acts) {
		acts = false;
		for (u32 n = 0; n <= MANY; n++) {
			const struct obj_drive *d = many(n);

			while (d && agent_drive(d)) {
				acts = true;
				d = many(n);
			}
		}
	}
	for (u8 v = 1; v < 4; v++)
		agent_kernel(v);
}

/* Controllers that may die, and agents, as long as the one or the other has a step. */
static void run_all(void)
{
	u64 now = 1;
	int did = 1;

	for (u32 n = 0; n < 800 && did; n++) {
		rig_catch_up(con.c);
		did = lead_turn(&con.lead, now++) == 1 ? tasks_turn(&con.tasks) : 0;
		CU_ASSERT(did >= 0 || did == -ECANCELED);
		if (did < 0 && did != -ECANCELED)
			return;
		if (did == -ECANCELED) {
			con_stop();
			con_start(1 + draw(HOSTS));
		}
		rig_catch_up(A);
		agents_act();
		did |= copy_turn(con.c, 0, NULL, NULL);
	}
	CU_ASSERT_EQUAL(did, 0);
}

static json_t *wide(const char *name, u32 width)
{
	char layout[16];

	snprintf(layout, sizeof(layout), "stripe:%u", width);
	return create_args(name, layout, (json_int_t)width << 20, "drive");
}

/* The nine drives that the rig has are not chosen. */
static void only_many(void)
{
	const struct copy_item *i = NULL;
	const struct obj_drive *d;
	struct obj_drive put[HOSTS * EACH];
	u32 n = 0;

	while ((d = next_drive(&i)))
		put[n++] = *d;
	while (n--) {
		put[n].plan.wanted = PLAN_OUT;
		rig_put(A, KEY_DRIVE, &put[n]);
	}
}

static void drives(u32 with_seed, u32 with_odds)
{
	begin(with_seed, with_odds);
	only_many();
	for (u32 n = 0; n < MANY; n++)
		put_drive(n, 1 + n % HOSTS, 0);
	request(1, 1, "volume create", wide("wide", MANY));
	request(2, 2, "volume create", create_args("behind", "linear", 1 << 20, "drive"));
	run_all();
	CU_ASSERT(done(1, OBJ_TASK_DONE));
	CU_ASSERT(done(2, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(extents_left(), MANY + 1);
	attach(1);
	request(3, 1, "volume extend", json_pack("{s:I}", "bytes", (json_int_t)MANY << 20));
	request(4, 2, "volume set", json_pack("{s:s}", "name", "renamed"));
	run_all();
	check();
	CU_ASSERT(done(3, OBJ_TASK_DONE));
	CU_ASSERT(done(4, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(volume(1)->record->members, 2 * MANY);
	CU_ASSERT_EQUAL(extents_left(), 2 * MANY + 1);
	rig_put(A, KEY_ACCESS, &(struct obj_access) { .volume = rig_id('v', 1), .plan = { .mode = PLAN_NONE,
		.clean = true, .number = mesh_number(1, 7, 0) } });
	request(5, 1, "volume delete", json_object());
	request(6, 2, "volume delete", json_object());
	run_all();
	CU_ASSERT(done(5, OBJ_TASK_DONE));
	CU_ASSERT(done(6, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(extents_left(), 0);
	end();
}

static void t_drives(void)
{
	drives(2, 3);
}

/* Drives that are large in the store: few of them fill a transaction. */
static void t_extents(void)
{
	u32 before;

	begin(3, 3);
	only_many();
	for (u32 n = 0; n < 12; n++)
		put_drive(n, 1 + n % HOSTS, 900);
	before = extents_left();
	CU_ASSERT(before > 10000);
	request(1, 1, "volume create", wide("wide", 12));
	request(2, 2, "volume create", create_args("behind", "mirror:2", 1 << 20, "drive"));
	run_all();
	CU_ASSERT(done(1, OBJ_TASK_DONE));
	CU_ASSERT(done(2, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(extents_left(), before + 14);
	request(3, 1, "volume delete", json_object());
	request(4, 2, "volume delete", json_object());
	run_all();
	CU_ASSERT(done(3, OBJ_TASK_DONE));
	CU_ASSERT(done(4, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(extents_left(), before);
	end();
}

static json_t *on_drive(const char *name, u32 n)
{
	struct muuid drive = many_id(n);
	json_t *args = create_args(name, "linear", 1 << 20, "drive");

	json_object_set_new(args, "drives", json_pack("[s]", muuid_str(&drive).s));
	return args;
}

/* A step that has room in no transaction: the task says so, and those behind it end. */
static void t_stuck(void)
{
	char *text = malloc(700000);
	struct obj_task x = { .uuid = rig_id('t', 1), .volume = rig_id('v', 1), .state = OBJ_TASK_WAITING,
			      .host = rig_id('h', 1), .verb = "volume create" };

	begin(1, 0);
	only_many();
	put_drive(0, 1, LABEL_EXTENTS_MAX - 10);
	put_drive(1, 2, 0);
	memset(text, 'x', 699999);
	text[699999] = 0;
	x.args = on_drive("large", 0);
	/* what a later version writes is kept */
	x.o.kept = json_pack("{s:s}", "note", text);
	rig_put(A, KEY_TASK, &x);
	json_decref(x.o.kept);
	json_decref(x.args);
	request(2, 2, "volume create", on_drive("behind", 1));
	run_all();
	CU_ASSERT(done(1, OBJ_TASK_RUNNING));
	CU_ASSERT_STRING_EQUAL(task(1)->step, "too large for one transaction");
	CU_ASSERT(done(2, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(many(0)->plan.extents, LABEL_EXTENTS_MAX - 10);
	cancel(1);
	run_all();
	CU_ASSERT(done(1, OBJ_TASK_CANCELLED));
	CU_ASSERT_PTR_NULL(volume(1));
	free(text);
	end();
}

/* An extent of drive @n that is taken away behind the controller's back: nothing is decided from it. */
static void taken(u32 n)
{
	struct plan_extent *x;
	struct obj_drive d;

	begin(1, 0);
	only_many();
	for (u32 k = 0; k < MANY; k++)
		put_drive(k, 1 + k % HOSTS, 0);
	request(1, 1, "volume create", wide("wide", MANY));
	run_all();
	request(2, 1, "volume extend", json_pack("{s:I}", "bytes", (json_int_t)MANY << 20));
	controller();
	while (extents_left() < 2 * MANY)
		controller();
	agents_act();
	rig_catch_up(con.c);
	d = *many(n);
	x = calloc(d.plan.extents, sizeof(*x));
	memcpy(x, d.plan.extent, d.plan.extents * sizeof(*x));
	for (u32 k = 0; k < d.plan.extents; k++)
		x[k].state = x[k].version ? x[k].state : PLAN_FREEING;
	d.plan.extent = x;
	rig_put(A, KEY_DRIVE, &d);
	free(x);
	CU_ASSERT_EQUAL(tasks_turn(&con.tasks), 0);
	rig_catch_up(A);
	CU_ASSERT_EQUAL(volume(1)->record->version, 1);
	run_all();
	CU_ASSERT(done(2, OBJ_TASK_FAILED));
	CU_ASSERT_EQUAL(volume(1)->record->version, 1);
	CU_ASSERT_EQUAL(extents_left(), MANY);
	end();
}

static void t_taken(void)
{
	for (u32 k = 0; k < MANY; k += MANY - 1)
		taken(k);
}

/* A host with more drives and wants than one transaction compares. */
static void t_host(void)
{
	const struct key wants = { .kind = KEY_WANT };
	struct muuid host = rig_id('h', 2);

	begin(1, 0);
	only_many();
	for (u32 n = 0; n < OF_HOST; n++) {
		struct obj_want w = { .host = host, .volume = many_id(n), .mode = PLAN_RW };
		struct obj_writer by = { .volume = many_id(n), .host = n % 2 ? host : rig_id('h', 1) };

		put_drive(n, 2, 0);
		rig_put(A, KEY_WANT, &w);
		rig_put(A, KEY_WRITER, &by);
	}
	odds = 4;
	request(1, 0, "host remove", json_pack("{s:s}", "host", muuid_str(&host).s));
	put_drive(OF_HOST, 1, 0);
	request(2, 2, "volume create", on_drive("behind", OF_HOST));
	rig_catch_up(con.c);
	/* the last drive has data by now, which the controller's copy does not know */
	put_drive(OF_HOST - 1, 2, 1);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 1), 1);
	odds = 0;
	tasks_turn(&con.tasks);
	rig_catch_up(A);
	CU_ASSERT_EQUAL(task(1)->state, OBJ_TASK_WAITING);
	put_drive(OF_HOST - 1, 2, 0);
	run_all();
	CU_ASSERT(done(1, OBJ_TASK_DONE));
	CU_ASSERT(done(2, OBJ_TASK_DONE));
	CU_ASSERT_PTR_NULL(copy_next(A, &wants, 0, NULL));
	for (u32 n = 0; n < OF_HOST; n++) {
		CU_ASSERT_EQUAL(many(n)->plan.wanted, PLAN_FORGOTTEN);
		CU_ASSERT_EQUAL(!copy_get(A, &(struct key) { .kind = KEY_WRITER, .volume = many_id(n) }), n % 2);
	}
	end();
}

static const struct rig_test tests[] = {
	{ "many drives", t_drives },
	{ "many extents", t_extents },
	{ "a step without room", t_stuck },
	{ "an extent that is taken away", t_taken },
	{ "a host with many drives", t_host },
};

int main(void)
{
	return rig_main("agent_many", tests, sizeof(tests) / sizeof(tests[0]));
}
