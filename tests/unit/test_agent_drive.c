// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent of a drive over a store in a file and a label in memory: it dies before any step that
 * changes either, and begins again from what is durable.
 */
#include <errno.h>

#include "tests/unit/agent_rig.h"
#include "userspace/agent/drive.h"

#define GIB	(1ULL << 30)
#define SLOTS	8

static struct store *S, *other;
static struct copy *C, *O;		/* the agent's, the test's */
static u32 seed, odds;

/* The machine. */
static struct {
	struct label label;
	bool away;
	u32 raise_at;			/* calls until another attach raises the number; 0: none does */
	/* records by extent */
	struct {
		struct muuid extent;
		u64 version, commit;
	} record[SLOTS];
	struct muuid in_table;		/* this extent's I/O has not ended */
	char log[512];			/* what was done, in order */
} dev;

static struct drive_agent agent;

static void say(const char *what)
{
	size_t n = strlen(dev.log);

	snprintf(dev.log + n, sizeof(dev.log) - n, "%s ", what);
}

/* A crash before it takes effect looks like an error of the drive. */
static bool dies(void)
{
	seed = seed * 1664525 + 1013904223;
	return odds && (seed >> 8) % odds == 0;
}

static const struct label *op_label(void *d)
{
	(void)d;
	if (dev.raise_at && !--dev.raise_at)
		dev.label.extent[0].attach += mesh_number(0, 1, 0);
	return dev.away ? NULL : &dev.label;
}

static int op_record(void *d, const struct label_extent *e, struct layout_head *head)
{
	(void)d;
	for (u32 i = 0; i < SLOTS; i++) {
		if (!muuid_equal(&dev.record[i].extent, &e->uuid))
			continue;
		memset(head, 0, sizeof(*head));
		head->volume = e->volume;
		head->version = dev.record[i].version;
		head->commit = dev.record[i].commit;
		return 0;
	}
	return -ENODATA;
}

static const struct label_extent *label_has(u8 x)
{
	struct muuid u = rig_id('x', x);

	return label_find(&dev.label, &u);
}

static int op_label_write(void *d, const struct label *l)
{
	(void)d;
	if (dies())
		return -EIO;
	/* what is in the kernel's table is in the label */
	for (u32 i = 0; i < dev.label.extents; i++) {
		bool stays = false;

		for (u32 k = 0; k < l->extents; k++)
			stays = stays || muuid_equal(&l->extent[k].uuid, &dev.label.extent[i].uuid);
		if (!stays && muuid_equal(&dev.label.extent[i].uuid, &dev.in_table))
			CU_FAIL("an extent leaves the label while its I/O has not ended");
	}
	/* a version is never ahead of its record */
	for (u32 i = 0; i < l->extents; i++) {
		struct layout_head head;

		if (l->extent[i].version &&
		    (op_record(NULL, &l->extent[i], &head) || head.version < l->extent[i].version))
			CU_FAIL("the label has a version that no record has");
	}
	dev.label = *l;
	dev.label.sequence++;
	say("label");
	return 0;
}

static int op_record_write(void *d, const struct label_extent *e, const struct layout *l)
{
	(void)d;
	if (dies())
		return -EIO;
	for (u32 i = 0; i < SLOTS; i++) {
		if (!muuid_null(&dev.record[i].extent) && !muuid_equal(&dev.record[i].extent, &e->uuid))
			continue;
		dev.record[i].extent = e->uuid;
		dev.record[i].version = l->version;
		dev.record[i].commit = l->commit;
		break;
	}
	say("record");
	return 0;
}

static int op_zero(void *d, const struct label_extent *e)
{
	struct label_extent *x = label_find(&dev.label, &e->uuid);

	(void)d;
	if (dies())
		return -EINPROGRESS;
	x->state = LABEL_READY;
	x->zeroed = x->length;
	say("zero");
	return 0;
}

static int op_table(void *d, const struct label_extent *e)
{
	(void)d;
	if (dies())
		return -EINPROGRESS;
	if (muuid_equal(&e->uuid, &dev.in_table))
		memset(&dev.in_table, 0, sizeof(dev.in_table));
	say("table");
	return 0;
}

static void op_report(void *d, const struct muuid *extent, enum plan_extent_step what)
{
	(void)d;
	(void)extent;
	say(what == PLAN_X_STOP ? "STOP" : what == PLAN_X_OVER ? "OVER" : "LOST");
}

static const struct drive_ops ops = {
	.label = op_label, .record = op_record, .label_write = op_label_write,
	.record_write = op_record_write, .zero = op_zero, .table = op_table, .report = op_report,
};

static int follow(struct copy *c)
{
	int err = 0;

	for (enum key_kind k = KEY_CLUSTER; k < KEY_KINDS && !err; k++) {
		if (k == KEY_CLUSTER || k == KEY_DRIVE || k == KEY_VOLUME || k == KEY_ACCESS)
			err = copy_follow(c, &(struct key) { .kind = k }, 0);
	}
	return err;
}

static void put_cluster(u32 generation)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', 1), .generation = generation, .format = 1000 } };

	rig_put(O, KEY_CLUSTER, &c);
}

static void put_access(u64 number)
{
	struct obj_access a = { .volume = rig_id('v', 1), .plan = { .number = number, .clean = true } };

	rig_put(O, KEY_ACCESS, &a);
}

/* A stripe over extents x1 of this drive and x9 of another. */
static void put_volume(u8 state, u64 version)
{
	struct layout *l = calloc(1, sizeof(*l));
	struct obj_volume v = { .plan = { .uuid = rig_id('v', 1), .state = state }, .record = l, .domain = "host" };

	l->volume = v.plan.uuid;
	strcpy(l->name, "vol");
	l->version = version;
	l->commit = 100 + version;
	l->lba = 512;
	l->members = l->refs = 2;
	for (u8 i = 0; i < 2; i++) {
		l->member[i] = (struct layout_member) { .target = rig_id('h', 1), .drive = rig_id('d', 1 + i),
							.extent = rig_id('x', i ? 9 : 1), .size = 64 << 20 };
		l->ref[i] = (struct layout_ref) { i, LAYOUT_DATA };
	}
	l->segment[0] = (struct layout_segment) { .length = 64 << 20, .level = PROT_STRIPE, .data = 2,
						  .groups = 1, .strip = 65536, .refs = 2 };
	l->size = 64 << 20;
	l->segments = 1;
	rig_put(O, KEY_VOLUME, &v);
	free(l);
}

struct want {
	u8	x, state;
	u64	version, start;		/* MiB */
};

static void put_drive(const struct want *w, u32 n, u8 host)
{
	struct plan_extent x[SLOTS];
	struct obj_drive d = { .plan = { .uuid = rig_id('d', 1), .host = rig_id('h', host), .wanted = PLAN_IN,
					 .extents = n, .extent = x }, .size = GIB, .lba = 512, .path = "/dev/x" };

	for (u32 i = 0; i < n; i++)
		x[i] = (struct plan_extent) { .uuid = rig_id('x', w[i].x), .volume = rig_id('v', 1), .state = w[i].state,
					      .start = w[i].start << 20, .length = 64 << 20,
					      .version = w[i].version, .commit = w[i].version ? 100 + w[i].version : 0 };
	rig_put(O, KEY_DRIVE, &d);
}

static void agent_start(void)
{
	S = store_sqlite_handle(Q);
	C = copy_open(S);
	OK(follow(C));
	agent = (struct drive_agent) { .copy = C, .host = rig_id('h', 1), .drive = rig_id('d', 1), .ops = &ops };
	OK(drive_begin(&agent));
}

static void agent_stop(void)
{
	copy_close(C);
	store_close(S);
}

static void begin(u32 with_odds)
{
	odds = with_odds;
	memset(&dev, 0, sizeof(dev));
	dev.label = (struct label) { .drive = rig_id('d', 1), .cluster = rig_id('c', 1), .owner = rig_id('h', 1),
				     .sequence = 1, .size = GIB, .lba = 512, .generation = 1 };
	rig_begin();
	other = store_sqlite_handle(Q);
	O = copy_open(other);
	OK(follow(O));
	put_cluster(1);
	put_access(0);
	agent_start();
}

static void end(void)
{
	agent_stop();
	copy_close(O);
	store_close(other);
	rig_end();
}

static const char *settle(void)
{
	dev.log[0] = 0;
	for (int i = 0, idle = 0; i < 300 && idle < (odds ? 20 : 2); i++) {
		rig_catch_up(C);
		idle = drive_turn(&agent) ? 0 : idle + 1;
		/* what a crash leaves is the label, the records and the store */
		if (odds && i % 3 == 2) {
			agent_stop();
			agent_start();
		}
	}
	rig_catch_up(O);
	return dev.log;
}

static const struct plan_extent *key_of(u8 x)
{
	const struct obj_drive *d = copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 1) });
	struct muuid u = rig_id('x', x);

	for (u32 i = 0; d && i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, &u))
			return &d->plan.extent[i];
	}
	return NULL;
}

#define DRIVE(...) put_drive((struct want[]) { __VA_ARGS__ }, \
	sizeof((struct want[]) { __VA_ARGS__ }) / sizeof(struct want), 1)

/* A new extent of a volume that is created; a new version; freed. */
static void life(void)
{
	put_volume(PLAN_CREATING, 1);
	DRIVE({ 1, PLAN_WANTED, 0, 4 });
	settle();
	if (!odds)
		CU_ASSERT_STRING_EQUAL(dev.log, "label zero record label ");
	CU_ASSERT_PTR_NOT_NULL_FATAL(key_of(1));
	CU_ASSERT_EQUAL(key_of(1)->state, PLAN_READY);
	CU_ASSERT_EQUAL(key_of(1)->version, 1);
	CU_ASSERT_EQUAL(key_of(1)->commit, 101);
	CU_ASSERT_EQUAL(label_has(1)->start, 4 << 20);
	CU_ASSERT_STRING_EQUAL(label_has(1)->name, "vol");
	put_volume(PLAN_VOLUME_READY, 2);
	settle();
	if (!odds)
		CU_ASSERT_STRING_EQUAL(dev.log, "record label ");
	CU_ASSERT_EQUAL(key_of(1)->version, 2);
	CU_ASSERT_EQUAL(label_has(1)->version, 2);
	CU_ASSERT_EQUAL(label_has(1)->commit, 102);
	put_volume(PLAN_DELETING, 2);
	DRIVE({ 1, PLAN_FREEING, 2, 4 });
	dev.in_table = rig_id('x', 1);
	settle();
	if (!odds)
		CU_ASSERT_STRING_EQUAL(dev.log, "table label ");
	CU_ASSERT_PTR_NULL(key_of(1));
	CU_ASSERT_PTR_NULL(label_has(1));
}

static void t_life(void)
{
	begin(0);
	life();
	end();
	for (u32 s = 1; s <= 20; s++) {
		seed = s;
		begin(2 + s % 3);
		life();
		end();
	}
}

static void t_away(void)
{
	begin(0);
	put_volume(PLAN_VOLUME_READY, 1);
	DRIVE({ 1, PLAN_WANTED, 0, 4 });
	dev.away = true;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	dev.away = false;
	/* another host's by now */
	put_drive((struct want[]) { { 1, PLAN_WANTED, 0, 4 } }, 1, 2);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	/* a drive that comes is acted for by what the store says then */
	agent.begun = false;
	DRIVE({ 1, PLAN_WANTED, 0, 4 });
	CU_ASSERT_STRING_EQUAL(settle(), "");
	OK(drive_begin(&agent));
	settle();
	CU_ASSERT_EQUAL(key_of(1)->state, PLAN_READY);
	end();
}

/* What the store does not know comes back from the label; never removed. */
static void t_adopt(void)
{
	struct obj_drive x;

	begin(0);
	put_volume(PLAN_VOLUME_READY, 1);
	dev.label.extents = 2;
	for (u8 i = 0; i < 2; i++)
		dev.label.extent[i] = (struct label_extent) { .uuid = rig_id('x', 1 + i), .volume = rig_id('v', 1),
			.start = (4 + 64 * i) << 20, .length = 64 << 20, .state = i ? LABEL_ZEROING : LABEL_READY,
			.version = !i, .commit = i ? 0 : 101 };
	dev.record[0].extent = rig_id('x', 1);
	dev.record[0].version = 1;
	dev.record[0].commit = 101;
	/* not of a drive that was forgotten */
	put_drive(NULL, 0, 1);
	rig_catch_up(O);
	x = *(const struct obj_drive *)copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = agent.drive });
	x.plan.wanted = PLAN_FORGOTTEN;
	rig_put(O, KEY_DRIVE, &x);
	settle();
	CU_ASSERT_PTR_NULL(key_of(1));
	CU_ASSERT_PTR_NULL(key_of(2));
	put_drive(NULL, 0, 1);
	settle();
	CU_ASSERT_PTR_NOT_NULL_FATAL(key_of(1));
	CU_ASSERT_PTR_NOT_NULL_FATAL(key_of(2));
	CU_ASSERT_EQUAL(key_of(1)->state, PLAN_READY);
	CU_ASSERT_EQUAL(key_of(1)->version, 1);
	CU_ASSERT_EQUAL(key_of(1)->place, 0);
	CU_ASSERT_EQUAL(key_of(2)->version, 0);
	CU_ASSERT_PTR_NOT_NULL(label_has(1));
	CU_ASSERT_PTR_NOT_NULL(label_has(2));
	end();
}

static void t_refused(void)
{
	struct obj_drive *d;

	begin(0);
	put_volume(PLAN_VOLUME_READY, 1);
	/* bytes that the label has for another extent */
	dev.label.extents = 1;
	dev.label.extent[0] = (struct label_extent) { .uuid = rig_id('x', 7), .volume = rig_id('v', 1), .start = 32 << 20,
						      .length = 64 << 20, .state = LABEL_READY };
	DRIVE({ 1, PLAN_WANTED, 0, 4 });
	settle();
	CU_ASSERT_PTR_NOT_NULL(strstr(dev.log, "OVER"));
	CU_ASSERT_PTR_NULL(label_has(1));
	CU_ASSERT_PTR_NOT_NULL(label_has(7));
	/* a label above the store's number, generation: the store was put back */
	dev.label.extents = 0;
	settle();
	CU_ASSERT_PTR_NOT_NULL_FATAL(label_has(1));
	dev.label.extent[0].attach = mesh_number(1, 5, 0);
	dev.label.extent[0].attacher = rig_id('h', 2);
	DRIVE({ 1, PLAN_FREEING, 0, 4 });
	put_volume(PLAN_DELETING, 1);
	CU_ASSERT_PTR_NULL(strstr(agent.above, "put back"));
	CU_ASSERT_PTR_NOT_NULL(strstr(settle(), "STOP"));
	CU_ASSERT_PTR_NOT_NULL(label_has(1));
	CU_ASSERT_PTR_NOT_NULL(strstr(agent.above, "a later attachment"));
	put_access(mesh_number(1, 5, 0));
	dev.label.generation = 2;
	CU_ASSERT_PTR_NOT_NULL(strstr(settle(), "STOP"));
	CU_ASSERT_PTR_NOT_NULL(label_has(1));
	CU_ASSERT_PTR_NOT_NULL(strstr(agent.above, "a later generation"));
	agent.above[0] = 0;
	put_cluster(2);
	settle();
	CU_ASSERT_PTR_NULL(label_has(1));
	CU_ASSERT_STRING_EQUAL(agent.above, "");
	/* ready in the store, and not in the label */
	DRIVE({ 3, PLAN_READY, 1, 4 });
	CU_ASSERT_PTR_NOT_NULL(strstr(settle(), "LOST"));
	d = (struct obj_drive *)copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 1) });
	CU_ASSERT_EQUAL(d->plan.extents, 1);
	agent.stopped = true;
	DRIVE({ 4, PLAN_WANTED, 0, 4 });
	CU_ASSERT_PTR_NOT_NULL(strstr(settle(), "STOP"));
	CU_ASSERT_PTR_NULL(label_has(4));
	end();
}

/* The copy says that the extent is to go; the store, that it is named again. */
static void t_behind(void)
{
	begin(0);
	put_volume(PLAN_DELETING, 1);
	dev.label.extents = 1;
	dev.label.extent[0] = (struct label_extent) { .uuid = rig_id('x', 1), .volume = rig_id('v', 1), .start = 4 << 20,
		.length = 64 << 20, .state = LABEL_READY, .version = 1, .commit = 101 };
	dev.record[0].extent = rig_id('x', 1);
	dev.record[0].version = 1;
	dev.record[0].commit = 101;
	DRIVE({ 1, PLAN_FREEING, 1, 4 });
	rig_catch_up(C);
	put_volume(PLAN_VOLUME_READY, 1);
	dev.log[0] = 0;
	/* without a turn of the copy */
	CU_ASSERT_EQUAL(drive_turn(&agent), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(dev.log, "STOP"));
	CU_ASSERT_PTR_NOT_NULL(label_has(1));
	end();
}

/* An attach that the copy does not have yet is in the label: no store was put back. */
static void t_attached_since(void)
{
	for (u32 raise = 0; raise < 8; raise++) {
		begin(0);
		put_volume(PLAN_VOLUME_READY, 1);
		DRIVE({ 1, PLAN_WANTED, 0, 4 });
		settle();
		put_access(mesh_number(1, 5, 0));
		dev.label.extent[0].attach = mesh_number(1, 5, 0);
		/* ... and another one behind that, while the agent reads the store */
		dev.raise_at = raise;
		dev.log[0] = 0;
		CU_ASSERT_EQUAL(drive_turn(&agent), 0);
		/* The first read of the label in a turn is of no extent yet. */
		CU_ASSERT_EQUAL(agent.above[0], raise == 1 || raise == 2 ? 't' : 0);
		CU_ASSERT_EQUAL(!!strstr(dev.log, "STOP"), raise == 1 || raise == 2);
		end();
	}
}

static void t_mark(void)
{
	begin(0);
	OK(drive_mark(&agent, 3));
	CU_ASSERT_EQUAL(dev.label.generation, 3);
	CU_ASSERT_EQUAL(dev.label.sequence, 2);
	OK(drive_mark(&agent, 2));
	CU_ASSERT_EQUAL(dev.label.generation, 3);
	CU_ASSERT_EQUAL(dev.label.sequence, 2);
	dev.away = true;
	CU_ASSERT_EQUAL(drive_mark(&agent, 4), -ENODEV);
	end();
}

static const struct rig_test tests[] = {
	{ "life", t_life },
	{ "away", t_away },
	{ "adopt", t_adopt },
	{ "refused", t_refused },
	{ "behind", t_behind },
	{ "attached a moment ago", t_attached_since },
	{ "mark", t_mark },
};

int main(void)
{
	return rig_main("agent_drive", tests, sizeof(tests) / sizeof(tests[0]));
}
