// SPDX-License-Identifier: GPL-2.0-only
/*
 * The controller's tasks over a store in a file: controllers that die before any transaction and
 * are followed by another one, agents of drives and a kernel that act between their steps.
 */
#include <errno.h>

#include "tests/unit/agent_rig.h"
#include "userspace/agent/tasks.h"
#include "userspace/format/label.h"

#define HOSTS	3
#define EACH	3			/* drives of a host */
#define GIB	(1ULL << 30)

static struct store *agents;
static struct copy *A;			/* what agents and the test see */
static u32 seed, odds;			/* of a crash: one in @odds; 0: none */
static u32 crashes;

/* A controller: a daemon of one host. */
static struct {
	struct store *s;
	struct copy *c;
	struct lead lead;
	struct tasks tasks;
} con;

static u32 draw(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static bool crash(void *arg)
{
	(void)arg;
	if (!odds || draw(odds))
		return false;
	crashes++;
	return true;
}

static void con_start(u8 host)
{
	con.s = store_sqlite_handle(Q);
	con.c = copy_open(con.s);
	OK(tasks_follow(con.c));
	con.lead = (struct lead) { .copy = con.c, .host = rig_id('h', host), .seconds = 60 };
	con.tasks = (struct tasks) { .copy = con.c, .lead = &con.lead, .now = 1000, .crash = crash };
}

/* @clean: it gives its lead back; else the lease ends by itself, which a test does not wait for. */
static void con_stop(void)
{
	lead_end(&con.lead);
	copy_close(con.c);
	store_close(con.s);
}

static void put_alive(u8 h, bool alive)
{
	struct obj_alive a = { .host = rig_id('h', h), .boot = rig_id('b', h), .meshd = "1", .format = 1000 };
	struct key k = { .kind = KEY_ALIVE, .host = a.host };

	if (alive)
		rig_put(A, KEY_ALIVE, &a);
	else
		rig_erase(A, &k);
}

static void put_hosts(void)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', 1), .generation = 1, .format = 1000 } };

	rig_put(A, KEY_CLUSTER, &c);
	for (u8 h = 1; h <= HOSTS; h++) {
		struct obj_address addr = { .port = 0 };
		struct obj_host host = { .plan = { .uuid = rig_id('h', h), .role = PLAN_STORAGE },
					 .addresses = 1, .address = &addr };

		snprintf(host.name, sizeof(host.name), "s%u", h);
		snprintf(host.rack, sizeof(host.rack), "rack%d", h % 2);
		snprintf(addr.addr, sizeof(addr.addr), "10.0.0.%u", h);
		rig_put(A, KEY_HOST, &host);
		put_alive(h, true);
		for (u8 i = 0; i < EACH; i++) {
			struct obj_drive d = { .plan = { .uuid = rig_id('d', h * 10 + i), .host = host.plan.uuid,
							 .wanted = PLAN_IN }, .size = GIB, .lba = 512,
					       .path = "/dev/nvme0n1" };

			rig_put(A, KEY_DRIVE, &d);
		}
	}
}

static void begin(u32 with_seed, u32 with_odds)
{
	seed = with_seed;
	odds = with_odds;
	crashes = 0;
	rig_begin();
	agents = store_sqlite_handle(Q);
	A = copy_open(agents);
	OK(tasks_follow(A));
	put_hosts();
	con_start(1);
}

static void end(void)
{
	con_stop();
	copy_close(A);
	store_close(agents);
	rig_end();
}

static const struct obj_volume *volume(u8 v)
{
	return copy_obj(A, &(struct key) { .kind = KEY_VOLUME, .volume = rig_id('v', v) });
}

static const struct obj_task *task(u8 t)
{
	return copy_obj(A, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', t) });
}

static const struct obj_drive *next_drive(const struct copy_item **i)
{
	*i = copy_next(A, &(struct key) { .kind = KEY_DRIVE }, 0, *i);
	return *i ? (*i)->obj : NULL;
}

/* The agent of a drive does one thing for one extent, as plan/extent.h has it. */
static bool agent_drive(const struct obj_drive *d)
{
	struct plan_extent *x = calloc(d->plan.extents + 1, sizeof(*x));
	struct obj_drive out = *d;
	struct deal deal;
	bool acts = false;

	for (u32 i = 0; i < d->plan.extents; i++) {
		struct key k = { .kind = KEY_VOLUME, .volume = d->plan.extent[i].volume };
		const struct obj_volume *v = copy_obj(A, &k);
		u64 version = v && plan_layout_names(&v->plan.layout, &d->plan.extent[i].uuid) ?
			      v->record->version : 0;

		x[i] = d->plan.extent[i];
		if (acts)
			continue;
		acts = true;
		if (x[i].state == PLAN_FREEING) {
			x[i] = d->plan.extent[d->plan.extents - 1];
			out.plan.extents--;
		} else if (x[i].state == PLAN_WANTED || x[i].version < version) {
			x[i].state = PLAN_READY;
			x[i].version = version;
			x[i].commit = version ? v->record->commit : 0;
		} else {
			acts = false;
		}
	}
	if (acts) {
		out.plan.extent = x;
		deal_begin(&deal, A);
		deal_put(&deal, KEY_DRIVE, &out, 0);
		CU_ASSERT(deal_close(&deal, 1000) >= 0);
	}
	free(x);
	return acts;
}

/* The holder's agent: the kernel takes a new layout, bars places, and reports so. */
static bool agent_kernel(u8 v)
{
	struct key k = { .kind = KEY_ROSTER, .volume = rig_id('v', v) };
	const struct obj_volume *vol = volume(v);
	const struct obj_access *access = copy_obj(A, &(struct key) { .kind = KEY_ACCESS, .volume = rig_id('v', v) });
	const struct obj_roster *old = copy_obj(A, &k);
	struct obj_roster r = { .volume = rig_id('v', v) };
	struct deal d;

	if (!vol || !access || access->plan.mode != PLAN_RW)
		return false;
	if (old && old->plan.version == vol->record->version && old->plan.barred == vol->plan.barred)
		return false;
	OK(obj_roster_shape(&r, vol->record));
	r.plan.number = access->plan.number;
	r.plan.version = vol->record->version;
	r.plan.committed = true;
	r.plan.barred = vol->plan.barred;
	r.plan.bar = vol->plan.bar;
	deal_begin(&d, A);
	if (old)
		r.o.kept = NULL;
	deal_put(&d, KEY_ROSTER, &r, 0);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 1);
	r.plan.bar = NULL;
	r.plan.barred = 0;
	obj_free(KEY_ROSTER, &r);
	return true;
}

static void attach(u8 v)
{
	struct obj_access a = { .volume = rig_id('v', v),
				.plan = { .mode = PLAN_RW, .holder = rig_id('h', 2), .number = mesh_number(1, 7, 0) } };

	rig_put(A, KEY_ACCESS, &a);
}

/* No two extents of a drive overlap, and every extent of a layout is where the layout says. */
static void check(void)
{
	const struct copy_item *i = NULL;
	const struct obj_volume *v;

	while ((i = copy_next(A, &(struct key) { .kind = KEY_VOLUME }, 0, i))) {
		v = i->obj;
		for (u32 m = 0; v && v->plan.state == PLAN_VOLUME_READY && m < v->record->members; m++) {
			const struct layout_member *x = &v->record->member[m];
			const struct obj_drive *d = copy_obj(A, &(struct key) { .kind = KEY_DRIVE, .drive = x->drive });
			bool found = false;

			for (u32 e = 0; d && e < d->plan.extents; e++) {
				if (!muuid_equal(&d->plan.extent[e].uuid, &x->extent))
					continue;
				found = d->plan.extent[e].length == x->size &&
					d->plan.extent[e].state == PLAN_READY;
			}
			if (!found)
				CU_FAIL("a member of a layout has no extent that is ready");
		}
	}
}

static bool act(void)
{
	const struct copy_item *i = NULL;
	const struct obj_drive *d;
	u32 skip = draw(HOSTS * EACH);

	for (u32 pass = 0; pass < 2; pass++) {
		i = NULL;
		while ((d = next_drive(&i))) {
			if (!pass && skip) {
				skip--;
				continue;
			}
			if (agent_drive(d))
				return true;
		}
	}
	for (u8 v = 1; v < 8; v++) {
		if (agent_kernel(v))
			return true;
	}
	return false;
}

/* Controllers and agents until neither has anything to do. */
static void settle(void)
{
	u64 now = 1;

	for (u32 n = 0; n < 4000; n++) {
		int did = 0;

		rig_catch_up(con.c);
		if (lead_turn(&con.lead, now++) == 1)
			did = tasks_turn(&con.tasks);
		if (did == -ECANCELED) {
			con_stop();
			con_start(1 + draw(HOSTS));
			continue;
		}
		CU_ASSERT(did >= 0);
		rig_catch_up(A);
		check();
		if (!act() && !did && !copy_turn(A, 0, NULL, NULL) && !copy_turn(con.c, 0, NULL, NULL))
			return;
	}
	CU_FAIL("it never ends");
}

static void request(u8 t, u8 v, const char *verb, json_t *args)
{
	struct obj_task x = { .uuid = rig_id('t', t), .state = OBJ_TASK_WAITING,
			      .host = rig_id('h', 1), .args = args };

	snprintf(x.verb, sizeof(x.verb), "%s", verb);
	if (v)
		x.volume = rig_id('v', v);
	rig_put(A, KEY_TASK, &x);
	json_decref(args);
}

static json_t *create_args(const char *name, const char *layout, json_int_t bytes, const char *domain)
{
	return json_pack("{s:s, s:s, s:I, s:s, s:s, s:{}}", "name", name, "layout", layout, "bytes", bytes,
			 "domain", domain, "allow", "all", "io");
}

static bool done(u8 t, enum obj_task_state state)
{
	const struct obj_task *x = task(t);

	if (x && x->state == state)
		return true;
	printf("\ntask %u: state %d, stage %d, step \"%s\", error \"%s\"\n", t, x ? x->state : -1,
	       x ? x->stage : -1, x ? x->step : "", x ? x->error : "");
	return false;
}

static u32 extents_left(void)
{
	const struct copy_item *i = NULL;
	const struct obj_drive *d;
	u32 n = 0;

	while ((d = next_drive(&i)))
		n += d->plan.extents;
	return n;
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
	request(33, 3, "volume replace", json_pack("{s:i}", "place", 1));
	request(31, 1, "volume replace", json_pack("{s:i}", "place", 0));
	settle();
	CU_ASSERT(done(31, OBJ_TASK_FAILED));
	CU_ASSERT(done(33, OBJ_TASK_DONE));
	CU_ASSERT_EQUAL(volume(3)->plan.barred, 0);
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

	for (u32 s = 1; s <= 12; s++) {
		life(s, 2 + s % 4);
		n += crashes;
	}
	CU_ASSERT(n > 200);
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

static void cancel(u8 t)
{
	struct obj_task x;

	rig_catch_up(A);
	x = *task(t);
	x.state = OBJ_TASK_CANCELLING;
	rig_put(A, KEY_TASK, &x);
}

/* The controller's steps alone, as far as they go without agents. */
static void controller(void)
{
	rig_catch_up(con.c);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 1), 1);
	CU_ASSERT(tasks_turn(&con.tasks) >= 0);
	rig_catch_up(A);
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
