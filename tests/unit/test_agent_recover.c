// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recover: a store that was set back to before each kind of change, one that is empty, hosts that are
 * away, and a daemon that dies before any transaction.
 */
#include "tests/unit/recover_rig.h"

static bool has_key(enum key_kind kind)
{
	rig_catch_up(O);
	return copy_get(O, &(struct key) { .kind = kind });
}

static u32 reports_left(void)
{
	const struct key k = { .kind = KEY_REPORT };
	const struct copy_item *i = NULL;
	u32 n = 0;

	rig_catch_up(O);
	while ((i = copy_next(O, &k, 0, i)))
		n++;
	return n;
}

/* Two volumes that are older than any copy: one is attached, one is not. */
static void before(void)
{
	world_begin();
	do_create(0, "mirror", PROT_MIRROR, 0, 2);
	do_create(1, "stripe", PROT_STRIPE, 1, 3);
	do_attach(0, 1);
}

/* All agents agree with the store afterwards: nothing is freed, nothing waits. */
static void settle(void)
{
	for (int i = 0; i < 20; i++)
		world_turn();
	CU_ASSERT_EQUAL(reports_left(), 0);
	labels_check();
}

static void recover_all(const struct rig_store *copy)
{
	struct recover r = recover_of(0);

	store_write(copy);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	if (r.why[0])
		printf("%s\n", r.why);
	CU_ASSERT(!has_key(KEY_RECOVER));
	world_check(2);
	settle();
	world_check(2);
}

/* Points at which the store was copied: before the change, then everything goes on. */
static void change(int point)
{
	switch (point) {
	case 0:
		do_create(2, "late", PROT_MIRROR, 1, 4);
		return;
	case 1:
		do_attach(1, 2);
		return;
	case 2:
		do_extend(0, 5);
		return;
	case 3:
		do_replace(0, 1, 4);
		return;
	case 4:
		do_delete(1);
		return;
	default:
		do_detach(0, 1);
		return;
	}
}

#define POINTS	6

static void t_points(void)
{
	for (int point = 0; point < POINTS; point++) {
		struct rig_store copy;

		before();
		copy = T;
		change(point);
		recover_all(&copy);
		CU_ASSERT_EQUAL(is_wanted(0, 1), point != 5);
		CU_ASSERT_EQUAL(is_wanted(1, 2), point == 1);
		world_end();
	}
}

/* All of them since one copy. */
static void t_many(void)
{
	struct rig_store copy;

	before();
	copy = T;
	for (int point = 0; point < POINTS; point++) {
		if (point != 1)
			change(point);
	}
	recover_all(&copy);
	world_end();
}

/* No change at all: the number rises, and what is attached is wanted still. */
static void t_same(void)
{
	before();
	recover_all(&T);
	CU_ASSERT(is_wanted(0, 1));
	world_end();
}

static void t_empty(void)
{
	struct recover r;

	before();
	do_extend(0, 5);
	do_create(2, "late", PROT_MIRROR, 1, 4);
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	world_check(2);
	CU_ASSERT(is_wanted(0, 1));
	CU_ASSERT(!is_wanted(1, 1));
	settle();
	world_end();
}

static const struct {
	const char *name;
	bool	empty;
} lost[] = { { "set back", false }, { "empty", true } };

/* The daemon dies before the n-th transaction; the same command again ends the same. */
static int dies_at;

static bool dies(void *arg)
{
	(void)arg;
	return dies_at && !--dies_at;
}

static void t_dies(void)
{
	for (size_t kind = 0; kind < 2; kind++) {
		bool died = true;
		int at;

		for (at = 1; died; at++) {
			struct rig_store copy;
			struct recover r;
			int ret;

			before();
			copy = T;
			change(0);
			change(2);
			change(3);
			if (!lost[kind].empty)
				store_write(&copy);
			r = recover_of(0);
			r.crash = dies;
			dies_at = at;
			ret = recover_run(&r);
			died = ret == -EIO;
			CU_ASSERT(died || ret == 1);
			dies_at = 0;
			r = recover_of(0);
			if (died)
				CU_ASSERT_EQUAL(recover_run(&r), 1);
			world_check(2);
			CU_ASSERT(is_wanted(0, 1));
			settle();
			world_check(2);
			world_end();
		}
		/* mark, what is written, end */
		CU_ASSERT(at > 4);
	}
}

/* A repeated run writes what the first one wrote: numbers do not rise further. */
static void t_repeats(void)
{
	struct recover r;
	u64 number = 0;

	for (int at = 2; at < 4; at++) {
		struct rig_store copy;
		const struct obj_access *a;

		before();
		copy = T;
		change(0);
		store_write(&copy);
		r = recover_of(0);
		r.crash = dies;
		dies_at = at;
		CU_ASSERT_EQUAL(recover_run(&r), -EIO);
		dies_at = 0;
		r = recover_of(0);
		CU_ASSERT_EQUAL(recover_run(&r), 1);
		a = seen(KEY_ACCESS, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(a);
		if (number)
			CU_ASSERT_EQUAL(a->plan.number, number);
		number = a->plan.number;
		world_end();
	}
}

static u32 shown;

static void count(struct recover *r, const struct recover_plan *p)
{
	(void)r;
	for (u32 i = 0; i < p->volumes; i++)
		shown += p->volume[i].fate == RECOVER_BACK;
}

static void t_dry(void)
{
	struct rig_store copy;
	struct recover r;

	before();
	copy = T;
	change(0);
	store_write(&copy);
	r = recover_of(0);
	r.dry = true;
	r.show = count;
	shown = 0;
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT_EQUAL(shown, 1);
	CU_ASSERT(!has_key(KEY_RECOVER));
	CU_ASSERT_EQUAL(generation_now(), 1);
	CU_ASSERT_PTR_NULL(seen(KEY_VOLUME, 2));
	for (int d = 0; d < DRIVES; d++)
		CU_ASSERT_EQUAL(W.d[d].label.generation, 1);
	world_end();
}

/* Labels are marked before they are read, so an agent that was about to free sees it. */
static void t_marks(void)
{
	struct recover r;

	before();
	store_write(&T);
	r = recover_of(0);
	W.off[2] = true;
	CU_ASSERT_EQUAL(recover_run(&r), -EINPROGRESS);
	for (int d = 0; d < DRIVES; d++)
		CU_ASSERT_EQUAL(W.d[d].label.generation, host_of(d) == 2 ? 1 : 2);
	world_end();
}

static void t_waits(void)
{
	struct muuid without[1] = { hid(2) };
	struct recover r;

	before();
	store_write(&T);
	W.off[2] = true;
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), -EINPROGRESS);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.why, "host2"));
	CU_ASSERT_PTR_NULL(strstr(r.why, "host1"));
	CU_ASSERT_EQUAL(generation_now(), 1);
	r.without = without;
	r.withouts = 1;
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT_EQUAL(generation_now(), 2);
	world_end();
}

/* An empty store knows no host: layouts and labels name those that are waited for. */
static void t_waits_empty(void)
{
	struct recover r;

	before();
	do_attach(1, 2);
	W.off[1] = W.off[2] = true;
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), -EINPROGRESS);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.why, muuid_str(&(struct muuid) { .b = { 'h', 2 } }).s));
	CU_ASSERT_PTR_NOT_NULL(strstr(r.why, muuid_str(&(struct muuid) { .b = { 'h', 3 } }).s));
	W.off[1] = W.off[2] = false;
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	world_check(2);
	world_end();
}

/* A member without redundancy that is not found: left to the administrator. */
static void t_doubt(void)
{
	struct muuid partly[1] = { vid(1) }, without[1] = { hid(1) };
	struct recover r;

	before();
	store_write(&T);
	W.off[1] = true;
	r = recover_of(0);
	r.without = without;
	r.withouts = 1;
	CU_ASSERT_EQUAL(recover_run(&r), -EBUSY);
	CU_ASSERT(has_key(KEY_RECOVER));
	CU_ASSERT_EQUAL(generation_now(), 1);
	r.partly = partly;
	r.partlies = 1;
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT_EQUAL(generation_now(), 2);
	/* What is named stays in drive/D of the drive that was not seen. */
	CU_ASSERT_PTR_NOT_NULL(in_store(3, &T.l[1]->member[1].extent));
	CU_ASSERT_PTR_NOT_NULL(in_store(2, &T.l[0]->member[1].extent));
	world_end();
}

/* A drive that cannot be marked is no evidence, and is named. */
static void t_broken(void)
{
	struct recover r;
	const struct obj_report *o;

	before();
	store_write(&T);
	W.d[3].broken = true;
	W.d[2].slow = true;
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), -EBUSY);
	rig_catch_up(O);
	o = copy_obj(O, &(struct key) { .kind = KEY_REPORT, .host = hid(1), .about = hid(1) });
	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT_STRING_EQUAL(o->lacks, "/dev/d3");
	W.d[3].broken = false;
	world_end();
}

/* Hosts and labels of a higher generation than the store: above all of them. */
static void t_generation(void)
{
	struct rig_store copy;
	struct recover r;

	before();
	copy = T;
	store_write(&copy);
	W.followed[2] = 7;
	W.d[5].label.generation = 9;
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT_EQUAL(generation_now(), 10);
	for (int d = 0; d < DRIVES; d++)
		CU_ASSERT_EQUAL(W.d[d].label.generation, 10);
	world_check(10);
	world_end();
}

/* A kernel that serves by the highest number goes on; one that another host has followed does not. */
static void t_writer(void)
{
	struct rig_store copy;
	struct recover r;

	before();
	copy = T;
	/* host 2 took it with --preempt, and host 1 has not noticed */
	do_attach(0, 2);
	store_write(&copy);
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT(is_wanted(0, 2));
	CU_ASSERT(!is_wanted(0, 1));
	world_check(2);
	world_end();
}

/* The label has a higher number than any host that is there. */
static void t_no_writer(void)
{
	struct recover r;

	before();
	do_attach(0, 2);
	memset(&W.k[2], 0, sizeof(W.k[2]));
	store_write(&T);
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT(!is_wanted(0, 1));
	CU_ASSERT(!is_wanted(0, 2));
	CU_ASSERT_PTR_NULL(seen(KEY_WRITER, 0));
	world_end();
}

/* Two volumes of one name, as one was renamed since: both come back. */
static void t_names(void)
{
	const struct obj_volume *a, *b;
	struct rig_store copy;
	struct recover r;

	before();
	copy = T;
	do_create(2, "mirror", PROT_MIRROR, 1, 4);
	store_write(&copy);
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	a = seen(KEY_VOLUME, 0);
	b = copy_obj(O, &(struct key) { .kind = KEY_VOLUME, .volume = vid(2) });
	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_STRING_EQUAL(a->record->name, "mirror");
	CU_ASSERT_STRING_NOT_EQUAL(b->record->name, "mirror");
	CU_ASSERT_EQUAL(b->record->version, T.l[2]->version + 1);
	settle();
	/* The agents have written the record of the new name. */
	CU_ASSERT_EQUAL(W.d[4].label.extent[0].version, T.l[2]->version + 1);
	world_end();
}

/* Work that was in the store: repeated by command, but for what was decided for good. */
static void t_tasks(void)
{
	struct obj_task replace = { .uuid = rig_id('t', 1), .state = OBJ_TASK_RUNNING, .host = hid(0), .volume = vid(0) },
			create = { .uuid = rig_id('t', 2), .state = OBJ_TASK_RUNNING, .host = hid(0), .volume = vid(1) },
			drive = { .uuid = rig_id('t', 3), .state = OBJ_TASK_RUNNING, .host = hid(0) };
	const struct obj_task *t;
	struct recover r;

	before();
	store_write(&T);
	snprintf(replace.verb, sizeof(replace.verb), "volume replace");
	snprintf(create.verb, sizeof(create.verb), "volume create");
	rig_put(O, KEY_TASK, &replace);
	rig_put(O, KEY_TASK, &create);
	for (u8 i = 0; i < 2; i++) {
		snprintf(drive.verb, sizeof(drive.verb), "%s", i ? "drive unexport" : "drive export");
		drive.uuid = rig_id('t', 3 + i);
		rig_put(O, KEY_TASK, &drive);
	}
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	rig_catch_up(O);
	t = copy_obj(O, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', 1) });
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_EQUAL(t->state, OBJ_TASK_FAILED);
	CU_ASSERT_PTR_NOT_NULL(strstr(t->error, "recovered"));
	t = copy_obj(O, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', 2) });
	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	CU_ASSERT_EQUAL(t->state, OBJ_TASK_DONE);
	/* A drive must not leave, nor come, by what was requested before the store was put back. */
	for (u8 i = 0; i < 2; i++) {
		t = copy_obj(O, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', 3 + i) });
		CU_ASSERT_PTR_NOT_NULL_FATAL(t);
		CU_ASSERT_EQUAL(t->state, OBJ_TASK_FAILED);
	}
	world_end();
}

/* A client says what it likes: its layout of exported drives does not count, nor a number far above. */
static void t_client(void)
{
	struct layout *forged;
	struct recover r;

	before();
	memset(&W.k[1], 0, sizeof(W.k[1]));
	W.role[2] = ra[2].role = PLAN_CLIENT;
	store_write(&T);
	forged = layout_new(T.l[0]);
	W.k[2][0] = (struct rig_kernel) { .record = true, .readonly = true, .number = mesh_number(1, 1ULL << 30, 0) };
	T.l[0] = forged;
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT_EQUAL(((const struct obj_volume *)seen(KEY_VOLUME, 0))->record->version, 1);
	CU_ASSERT(mesh_number_counter(((const struct obj_access *)seen(KEY_ACCESS, 0))->plan.number) < 1 << 20);
	world_end();
}

/* Of a drive that was not found what no layout names is in the store no more. */
static void t_unseen(void)
{
	struct muuid without[1] = { hid(2) }, x = rig_id('x', 77);
	struct recover r;

	before();
	T.x[5][T.extents[5]++] = (struct plan_extent) { .uuid = x, .volume = vid(0), .state = PLAN_FREEING,
							.start = LABEL_AREA, .length = LONG };
	store_write(&T);
	W.off[2] = W.d[4].away = W.d[5].away = true;
	r = recover_of(0);
	r.without = without;
	r.withouts = 1;
	CU_ASSERT_PTR_NOT_NULL(in_store(5, &x));
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT_PTR_NULL(in_store(5, &x));
	world_end();
}

/* The mark goes while this run is about to write: nothing of it is written. */
static bool ends_elsewhere(void *arg)
{
	struct store_op op = { .key = "recover" };
	struct store_txn t = { .op = &op, .ops = 1 };

	(void)arg;
	if (dies_at && !--dies_at)
		CU_ASSERT_EQUAL(store_txn(other, &t, NULL), 1);
	return false;
}

static void t_ended_elsewhere(void)
{
	struct recover r;

	before();
	store_write(&T);
	r = recover_of(0);
	r.crash = ends_elsewhere;
	dies_at = 2;
	CU_ASSERT_EQUAL(recover_run(&r), -ECANCELED);
	CU_ASSERT_EQUAL(generation_now(), 1);
	CU_ASSERT_EQUAL(((const struct obj_access *)seen(KEY_ACCESS, 0))->plan.number, T.number[0]);
	world_end();
}

/* Rosters of before would be the witness that nothing newer exists. */
static void t_rosters(void)
{
	struct obj_roster o = { .volume = vid(0) };
	struct recover r;

	before();
	store_write(&T);
	OK(obj_roster_shape(&o, T.l[0]));
	rig_put(O, KEY_ROSTER, &o);
	obj_free(KEY_ROSTER, &o);
	CU_ASSERT_PTR_NOT_NULL(seen(KEY_ROSTER, 0));
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	world_check(2);
	world_end();
}

/* What a host has handed in counts once all of it is there. */
static void t_part_of_a_host(void)
{
	struct obj_found f = { .slot = { .extent = rig_id('x', 99), .volume = vid(0), .number = mesh_number(1, 5000, 0),
					 .zeroed = true }, .start = LABEL_AREA, .length = LONG };
	struct obj_report o = { .host = hid(8), .about = rig_id('d', 99), .subject = OBJ_OF_DRIVE, .role = PLAN_STORAGE,
				.marked = true, .size = GIB, .lba = 512, .path = "/dev/d99", .extents = 1, .extent = &f };
	const struct obj_recover *m;
	struct recover r;

	before();
	store_write(&T);
	r = recover_of(0);
	rig_catch_up(hc[0]);
	CU_ASSERT_EQUAL(recover_turn(&r), -EINPROGRESS);
	rig_catch_up(O);
	m = copy_obj(O, &(struct key) { .kind = KEY_RECOVER });
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	o.recover = m->recover;
	o.generation = m->generation;
	rig_put(O, KEY_REPORT, &o);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT(mesh_number_counter(((const struct obj_access *)seen(KEY_ACCESS, 0))->plan.number) < 5000);
	CU_ASSERT_PTR_NULL(copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 99) }));
	world_end();
}

/* A drive that was forgotten is erased by command alone, and its label counts for nothing. */
static void t_forgotten(void)
{
	struct obj_drive o = { .plan = { .uuid = did(5), .host = hid(2), .wanted = PLAN_FORGOTTEN }, .path = "/dev/d5",
			       .serial = "SN5", .size = GIB, .lba = 512 };
	const struct obj_drive *d;
	struct rig_store copy;
	struct recover r;

	before();
	copy = T;
	do_create(2, "late", PROT_STRIPE, 5, 5);
	store_write(&copy);
	rig_put(O, KEY_DRIVE, &o);
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), 1);
	CU_ASSERT_PTR_NULL(seen(KEY_VOLUME, 2));
	rig_catch_up(O);
	d = copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = did(5) });
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	CU_ASSERT_EQUAL(d->plan.wanted, PLAN_FORGOTTEN);
	CU_ASSERT_EQUAL(d->plan.extents, 0);
	world_end();
}

/* A controller of before the mark: its transaction compares the leader's key. */
static void t_leader(void)
{
	struct obj_leader leader = { .host = hid(1) };
	struct recover r;
	struct deal d;
	u64 lease;

	before();
	store_write(&T);
	OK(store_lease_grant(other, 60, &lease));
	rig_catch_up(O);
	deal_begin(&d, O);
	deal_put(&d, KEY_LEADER, &leader, lease);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 1);
	r = recover_of(0);
	rig_catch_up(hc[0]);
	CU_ASSERT_EQUAL(recover_turn(&r), -EINPROGRESS);
	CU_ASSERT(has_key(KEY_RECOVER));
	CU_ASSERT(!has_key(KEY_LEADER));
	world_end();
}

/* A value that this version cannot read is not written over. */
static void t_later(void)
{
	struct store_op op = { .key = "volume/76040000-0000-0000-0000-000000000000", .value = "{\"v\":2000}", .len = 10 };
	struct store_txn t = { .op = &op, .ops = 1 };
	struct recover r;

	before();
	store_write(&T);
	CU_ASSERT_EQUAL(store_txn(other, &t, NULL), 1);
	r = recover_of(0);
	CU_ASSERT_EQUAL(recover_run(&r), -EPROTONOSUPPORT);
	CU_ASSERT(!has_key(KEY_RECOVER));
	world_end();
}

static const struct rig_test tests[] = {
	{ "set back to before each change", t_points },
	{ "all changes since one copy", t_many },
	{ "no change", t_same },
	{ "an empty store", t_empty },
	{ "dies before any transaction", t_dies },
	{ "repeats", t_repeats },
	{ "dry run", t_dry },
	{ "marks", t_marks },
	{ "waits for hosts", t_waits },
	{ "waits for hosts that labels name", t_waits_empty },
	{ "doubt", t_doubt },
	{ "a drive that fails", t_broken },
	{ "generation", t_generation },
	{ "writer", t_writer },
	{ "no writer", t_no_writer },
	{ "names", t_names },
	{ "tasks", t_tasks },
	{ "client", t_client },
	{ "a drive that was not found", t_unseen },
	{ "ended elsewhere", t_ended_elsewhere },
	{ "rosters", t_rosters },
	{ "a host that has not ended", t_part_of_a_host },
	{ "a drive that was forgotten", t_forgotten },
	{ "leader", t_leader },
	{ "later version", t_later },
};

int main(void)
{
	return rig_main("agent_recover", tests, sizeof(tests) / sizeof(tests[0]));
}
