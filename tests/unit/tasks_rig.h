/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cluster of three hosts with three drives each, over a store in a file: a controller that may die
 * before any transaction, agents of drives and a kernel, which act between its steps.
 */
#ifndef TESTS_UNIT_TASKS_RIG_H
#define TESTS_UNIT_TASKS_RIG_H

#include <errno.h>

#include "protect/roster/roster.h"
#include "tests/unit/agent_rig.h"
#include "userspace/agent/tasks.h"

#define HOSTS	3
#define EACH	3			/* drives of a host */
#define GIB	(1ULL << 30)
#define NO_PLACE	(~0U)

static struct store *agents;
static struct copy *A;			/* what agents and the test see */
static u32 seed, odds;			/* of a crash: one in @odds; 0: none */
static u32 crashes;
static u32 out;				/* the place of a member that is lost */
static bool forgets;			/* members may be on drives that are forgotten */
static u32 copies;			/* reports from before a swap */

/* A controller: a daemon of one host. */
static struct {
	struct store *s;
	struct copy *c;
	struct lead lead;
	struct tasks tasks;
} con;

static inline u32 draw(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static inline bool crash(void *arg)
{
	(void)arg;
	if (!odds || draw(odds))
		return false;
	crashes++;
	return true;
}

static inline void con_start(u8 host)
{
	con.s = store_sqlite_handle(Q);
	con.c = copy_open(con.s);
	OK(tasks_follow(con.c));
	con.lead = (struct lead) { .copy = con.c, .host = rig_id('h', host), .seconds = 60 };
	con.tasks = (struct tasks) { .copy = con.c, .lead = &con.lead, .now = 1000, .crash = crash };
}

/* @clean: it gives its lead back; else the lease ends by itself, which a test does not wait for. */
static inline void con_stop(void)
{
	lead_end(&con.lead);
	copy_close(con.c);
	store_close(con.s);
}

static inline void put_alive(u8 h, bool alive)
{
	struct obj_alive a = { .host = rig_id('h', h), .boot = rig_id('b', h), .meshd = "1", .format = 1000 };
	struct key k = { .kind = KEY_ALIVE, .host = a.host };

	if (alive)
		rig_put(A, KEY_ALIVE, &a);
	else
		rig_erase(A, &k);
}

static inline void put_hosts(void)
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

static inline void begin(u32 with_seed, u32 with_odds)
{
	seed = with_seed;
	out = NO_PLACE;
	odds = with_odds;
	crashes = 0;
	rig_begin();
	agents = store_sqlite_handle(Q);
	A = copy_open(agents);
	OK(tasks_follow(A));
	put_hosts();
	con_start(1);
}

static inline void end(void)
{
	con_stop();
	copy_close(A);
	store_close(agents);
	rig_end();
}

static inline const struct obj_volume *volume(u8 v)
{
	return copy_obj(A, &(struct key) { .kind = KEY_VOLUME, .volume = rig_id('v', v) });
}

static inline const struct obj_task *task(u8 t)
{
	return copy_obj(A, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', t) });
}

static inline const struct obj_drive *next_drive(const struct copy_item **i)
{
	*i = copy_next(A, &(struct key) { .kind = KEY_DRIVE }, 0, *i);
	return *i ? (*i)->obj : NULL;
}

/* The agent of a drive does one thing for one extent, as plan/extent.h has it. */
static inline bool agent_drive(const struct obj_drive *d)
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

/* Rosters name what the layout does, all but @out in sync; who leaves has its place until @swap. */
static inline void agent_rosters(struct obj_roster *r, const struct obj_volume *v, bool swap)
{
	struct prot_owner o = { .salt = obj_roster_seed(v->record->salt, &r->volume) };

	memcpy(o.volume, r->volume.b, sizeof(o.volume));
	for (u32 g = 0; g < r->groups; g++) {
		struct prot_roster p = { .attach = r->plan.number, .epoch = 2 * v->record->version + swap,
					 .geo = { .width = v->plan.layout.group[g].members,
						  .k = v->plan.layout.group[g].data } };
		u8 block[PROT_ROSTER_BLOCK];
		u32 n = 0;

		for (u32 i = 0; i < v->plan.layout.places; i++) {
			const struct plan_place *at = &v->plan.layout.place[i];
			const struct muuid *x = swap || muuid_null(&at->leaving) ? &at->extent : &at->leaving;

			if (at->group != g)
				continue;
			p.in_sync |= (u64)(i != out) << n;
			memcpy(p.uuid[n++], x->b, PROT_UUID_LEN);
		}
		o.group = r->group[g].first;
		prot_roster_seal(block, &p, &o, 0);
		OK(obj_roster_note(r, o.group, block, v->record->salt));
	}
}

/* The holder's agent: the kernel takes a new layout, bars places, and reports so. */
static inline bool agent_kernel(u8 v)
{
	struct key k = { .kind = KEY_ROSTER, .volume = rig_id('v', v) };
	const struct obj_volume *vol = volume(v);
	const struct obj_access *access = copy_obj(A, &(struct key) { .kind = KEY_ACCESS, .volume = rig_id('v', v) });
	const struct obj_roster *old = copy_obj(A, &k);
	struct obj_roster r = { .volume = rig_id('v', v) };
	struct deal d;
	bool copy;

	if (!vol || !access || access->plan.mode != PLAN_RW)
		return false;
	if (old && old->plan.version == vol->record->version && old->plan.barred == vol->plan.barred)
		return false;
	/* What leaves is copied for a while, and has its place meanwhile. */
	copy = vol->leavings && draw(3);
	copies += copy;
	OK(obj_roster_shape(&r, vol->record));
	r.plan.number = access->plan.number;
	r.plan.version = vol->record->version - copy;
	agent_rosters(&r, vol, !copy);
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

static inline void attach(u8 v)
{
	struct obj_access a = { .volume = rig_id('v', v),
				.plan = { .mode = PLAN_RW, .holder = rig_id('h', 2), .number = mesh_number(1, 7, 0) } };

	rig_put(A, KEY_ACCESS, &a);
}

/* No two extents of a drive overlap, and every extent of a layout is where the layout says. */
static inline void check(void)
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
			if (!found && !(forgets && d && d->plan.wanted == PLAN_FORGOTTEN))
				CU_FAIL("a member of a layout has no extent that is ready");
		}
	}
}

static inline bool act(void)
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
static inline void settle(void)
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

static inline void request(u8 t, u8 v, const char *verb, json_t *args)
{
	struct obj_task x = { .uuid = rig_id('t', t), .state = OBJ_TASK_WAITING,
			      .host = rig_id('h', 1), .args = args };

	snprintf(x.verb, sizeof(x.verb), "%s", verb);
	if (v)
		x.volume = rig_id('v', v);
	rig_put(A, KEY_TASK, &x);
	json_decref(args);
}

static inline json_t *create_args(const char *name, const char *layout, json_int_t bytes, const char *domain)
{
	return json_pack("{s:s, s:s, s:I, s:s, s:s, s:{}}", "name", name, "layout", layout, "bytes", bytes,
			 "domain", domain, "allow", "all", "io");
}

static inline bool done(u8 t, enum obj_task_state state)
{
	const struct obj_task *x = task(t);

	if (x && x->state == state)
		return true;
	printf("\ntask %u: state %d, stage %d, step \"%s\", error \"%s\"\n", t, x ? x->state : -1,
	       x ? x->stage : -1, x ? x->step : "", x ? x->error : "");
	return false;
}

static inline u32 extents_left(void)
{
	const struct copy_item *i = NULL;
	const struct obj_drive *d;
	u32 n = 0;

	while ((d = next_drive(&i)))
		n += d->plan.extents;
	return n;
}

/* The kernel reports that one member is out, or all are in sync. */
static inline void lost(u8 v, u32 place)
{
	struct key k = { .kind = KEY_ROSTER, .volume = rig_id('v', v) };

	out = place;
	rig_erase(A, &k);
	while (agent_kernel(v))
		;
}

static inline void cancel(u8 t)
{
	struct obj_task x;

	rig_catch_up(A);
	x = *task(t);
	x.state = OBJ_TASK_CANCELLING;
	rig_put(A, KEY_TASK, &x);
}

/* The controller's steps alone, as far as they go without agents. */
static inline void controller(void)
{
	rig_catch_up(con.c);
	CU_ASSERT_EQUAL(lead_turn(&con.lead, 1), 1);
	CU_ASSERT(tasks_turn(&con.tasks) >= 0);
	rig_catch_up(A);
}

#endif
