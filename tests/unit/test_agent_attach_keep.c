// SPDX-License-Identifier: GPL-2.0-only
/* What is attached stays as the store says: new versions, bars, rosters, retake; and without the store. */
#include "tests/unit/attach_rig.h"

static const struct obj_roster *noted(void)
{
	const struct obj_roster *r = seen(KEY_ROSTER, 0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	return r;
}

static void attached(int h)
{
	WANT(h, PLAN_RW);
	settle();
	CU_ASSERT_FATAL(serves(h));
}

/* The kernel gets a version that is on all its members, and roster/V says that it has it. */
static void t_change(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	CU_ASSERT_EQUAL(noted()->plan.version, 1);
	VOLUME(.version = 2, .members = 3);
	recorded(0, 2);
	recorded(1, 2);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 1);
	recorded(2, 2);
	CU_ASSERT_STRING_EQUAL(settle(), "put1 set1 txn1 ");
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 2);
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(0, 1, 0));
	CU_ASSERT_EQUAL(noted()->plan.version, 2);
	CU_ASSERT_EQUAL(noted()->plan.number, mesh_number(0, 1, 0));
	CU_ASSERT_EQUAL(W.t[2].writer, 1);
	/* a host that is not named gets no version: another one has it by now */
	host_off(1);
	put_alive(1, true);
	W.h[0].cut = 7;
	put_access(PLAN_RW, 1, mesh_number(0, 2, 0), false);
	VOLUME(.version = 3, .members = 3);
	for (u32 i = 0; i < 3; i++)
		recorded(i, 3);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 2);
	CU_ASSERT(status_is(0, "waiting", "host2"));
	rig_stop();
}

/* A version that recover gave up, and another one of its number; an attach begins with the store's. */
static void t_commit(void)
{
	struct obj_attached r;

	rig_start();
	VOLUME(0);
	attached(0);
	commits = 200;
	VOLUME(0);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_EQUAL(W.h[0].k.l.commit, 101);
	recorded(0, 1);
	recorded(1, 1);
	CU_ASSERT_STRING_EQUAL(settle(), "put1 set1 ");
	CU_ASSERT_EQUAL(W.h[0].k.l.commit, 201);
	VOLUME(.version = 2);
	recorded(0, 2);
	recorded(1, 2);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 2);
	host_restart(0, true);
	VOLUME(.version = 1);
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT_FATAL(record_of(0, &r));
	CU_ASSERT_EQUAL(r.record->version, 1);
	obj_free(OBJ_ATTACHED, &r);
	rig_stop();
}

static void t_addresses(void)
{
	struct obj_host o = { .plan = { .uuid = rig_id('h', 9), .role = PLAN_STORAGE }, .name = "store9" };

	rig_start();
	VOLUME(0);
	attached(0);
	rig_put(O, KEY_HOST, &o);
	CU_ASSERT_STRING_EQUAL(settle(), "set1 ");
	o.plan.uuid = hid(2);
	strcpy(o.name, "other");
	rig_put(O, KEY_HOST, &o);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	rig_stop();
}

static bool barred(const u16 *bar, u32 n, u16 place)
{
	return plan_place_in(bar, n, place);
}

/* Recorded, then barred, then confirmed; lifted in the store, in the record, in the kernel. */
static void t_bars(void)
{
	struct obj_attached r;

	rig_start();
	VOLUME(.level = PROT_MIRROR, .fresh = true);
	attached(0);
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
	CU_ASSERT_STRING_EQUAL(settle(), "put1 set1 txn1 ");
	CU_ASSERT(barred(W.h[0].k.bar, W.h[0].k.barred, 1));
	CU_ASSERT(barred(noted()->plan.bar, noted()->plan.barred, 1));
	CU_ASSERT_FATAL(record_of(0, &r));
	CU_ASSERT(barred(r.plan.bar, r.plan.barred, 1));
	obj_free(OBJ_ATTACHED, &r);
	/* given up: the confirmation goes first */
	VOLUME(.level = PROT_MIRROR);
	CU_ASSERT_STRING_EQUAL(settle(), "txn1 put1 set1 ");
	CU_ASSERT_EQUAL(W.h[0].k.barred, 0);
	CU_ASSERT_EQUAL(noted()->plan.barred, 0);
	/* decided: it stays until the kernel has the version */
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 0 });
	settle();
	CU_ASSERT_EQUAL(noted()->plan.barred, 1);
	VOLUME(.level = PROT_MIRROR, .version = 2);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	CU_ASSERT_EQUAL(noted()->plan.barred, 1);
	recorded(0, 2);
	recorded(1, 2);
	CU_ASSERT_STRING_EQUAL(settle(), "put1 set1 txn1 put1 set1 ");
	CU_ASSERT_EQUAL(W.h[0].k.barred, 0);
	CU_ASSERT_EQUAL(noted()->plan.barred, 0);
	CU_ASSERT_EQUAL(noted()->plan.version, 2);
	rig_stop();
}

static void requests(int h, u32 place, u64 attach, u64 epoch, u64 in_sync)
{
	struct host *y = &W.h[h];

	y->note = (struct attach_note) { .volume = vid(), .place = place, .any = attach };
	if (attach)
		kernel_roster(&y->k, attach, epoch, in_sync, y->note.roster);
	y->notes = true;
	y->answered = false;
}

static bool again_barred;

static void bar_again(const char *op)
{
	int cur = W.cur;

	if (strcmp(op, "set") || !again_barred)
		return;
	again_barred = false;
	W.cur = -1;
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
	W.cur = cur;
}

/* The bar is wanted again while the kernel lifts it. */
static void t_bar_again(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
	settle();
	CU_ASSERT_EQUAL(noted()->plan.barred, 1);
	W.slow = true;
	W.hook = bar_again;
	again_barred = true;
	VOLUME(.level = PROT_MIRROR);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	CU_ASSERT_EQUAL(noted()->plan.barred, 1);
	rig_stop();
}

/* ... and a roster is noted for the kernel in between: it confirms no bar that is being lifted. */
static void t_bar_note(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
	settle();
	CU_ASSERT_EQUAL(noted()->plan.barred, 1);
	VOLUME(.level = PROT_MIRROR);
	W.log[0] = 0;
	for (int i = 0; i < 9 && !word(W.log, "put1"); i++)
		host_turn(0);
	W.slow = true;
	for (int i = 0; i < 3; i++) {
		W.slows = 0;
		host_turn(0);
		if (i)
			continue;
		VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
		requests(0, 0, mesh_number(0, 1, 0), 9, 1);
	}
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 9);
	CU_ASSERT_EQUAL(noted()->plan.barred, 0);
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	settle();
	CU_ASSERT(W.h[0].answered);
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	CU_ASSERT_EQUAL(noted()->plan.barred, 1);
	rig_stop();
}

static bool decides;

static void decide(const char *op)
{
	if (strcmp(op, "txn") || !decides)
		return;
	decides = false;
	W.cur = -1;
	VOLUME(.level = PROT_MIRROR, .version = 2);
	W.h[0].lags = true;
	W.cur = 0;
}

/* A version is decided by a bar that was to be lifted, and this host's copy does not have it yet. */
static void t_bar_race(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
	settle();
	VOLUME(.level = PROT_MIRROR);
	decides = true;
	W.hook = decide;
	settle();
	CU_ASSERT_FALSE(decides);
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 1);
	W.h[0].lags = false;
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	rig_stop();
}

/* A version is decided by a bar; a retake, whose number confirms nothing yet, does not lift it. */
static void t_bar_retake(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
	settle();
	VOLUME(.level = PROT_MIRROR, .version = 2);
	put_access(PLAN_NONE, 0, mesh_number(2, 7, 0), false);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(2, 8, 0));
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 1);
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	recorded(0, 2);
	recorded(1, 2);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 2);
	CU_ASSERT_EQUAL(W.h[0].k.barred, 0);
	rig_stop();
}

/* What the first attachment commits ends fresh, then the kernel is not called so any more. */
static void t_fresh(void)
{
	const struct obj_volume *v;

	rig_start();
	VOLUME(.level = PROT_MIRROR, .fresh = true);
	recorded(0, 0);
	recorded(1, 0);
	WANT(0, PLAN_RW);
	settle();
	v = seen(KEY_VOLUME, 0);
	CU_ASSERT(v->plan.fresh);
	CU_ASSERT(W.h[0].k.fresh);
	recorded(0, 1);
	recorded(1, 1);
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT(noted()->plan.committed);
	CU_ASSERT_EQUAL(noted()->group[0].plan.attach, W.h[0].k.number);
	v = seen(KEY_VOLUME, 0);
	CU_ASSERT_FALSE(v->plan.fresh);
	CU_ASSERT_FALSE(W.h[0].k.fresh);
	CU_ASSERT_EQUAL(v->plan.layout.version, 1);
	rig_stop();
}

/* Not before each group has a roster, and all of them are committed. */
static void t_fresh_over(void)
{
	struct plan_roster roster[2] = { { .attach = 1 }, { .attach = 1 } };
	struct plan_rosters r = { .committed = true, .groups = 2, .roster = roster };
	struct plan_volume v = { .state = PLAN_VOLUME_READY, .fresh = true, .layout = { .groups = 2 } };
	struct plan_access a = { .mode = PLAN_RW, .holder = hid(0), .number = 1 << 16 };
	const struct muuid h = hid(0), g = hid(1);
	struct plan_txn t;

	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, &r, &h, 1 << 16, false, &t), PLAN_GO);
	CU_ASSERT_EQUAL(t.put, PLAN_OBJ_VOLUME);
	CU_ASSERT_EQUAL(t.compare, PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS | PLAN_OBJ_ROSTER);
	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, &r, &g, 1 << 16, false, &t), PLAN_NOT_HOLDER);
	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, &r, &h, 1 << 16, true, &t), PLAN_STOPPED);
	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, NULL, &h, 1 << 16, false, &t), PLAN_WAIT);
	r.committed = false;
	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, &r, &h, 1 << 16, false, &t), PLAN_WAIT);
	r.committed = true;
	r.groups = 1;
	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, &r, &h, 1 << 16, false, &t), PLAN_WAIT);
	r.groups = 2;
	roster[1].attach = 0;
	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, &r, &h, 1 << 16, false, &t), PLAN_WAIT);
	v.fresh = false;
	CU_ASSERT_EQUAL(plan_fresh_over(&v, &a, &r, &h, 1 << 16, false, &t), PLAN_DONE);
}

static void t_notes(void)
{
	u64 one = mesh_number(0, 1, 0);

	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	/* the kernel requests what is noted */
	requests(0, 0, 0, 0, 0);
	settle();
	CU_ASSERT(W.h[0].answered);
	CU_ASSERT(W.h[0].answer.any);
	CU_ASSERT(!memcmp(W.h[0].answer.roster, W.h[0].k.roster, sizeof(W.h[0].k.roster)));
	/* ... and that a removal is noted, before it counts */
	requests(0, 0, one, 5, 1);
	CU_ASSERT_STRING_EQUAL(settle(), "txn1 ");
	CU_ASSERT(W.h[0].answered);
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 5);
	CU_ASSERT_EQUAL(noted()->group[0].plan.in_sync, 1);
	CU_ASSERT_FALSE(noted()->plan.committed);
	CU_ASSERT(!memcmp(W.h[0].answer.roster, W.h[0].note.roster, sizeof(W.h[0].note.roster)));
	/* again: it is noted already */
	requests(0, 0, one, 5, 1);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(W.h[0].answered);
	/* the kernel's report of an earlier one changes nothing */
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 5);
	/* a lower one: the answer is what is noted */
	requests(0, 0, one, 4, 3);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(W.h[0].answered);
	CU_ASSERT(!memcmp(W.h[0].answer.roster, noted()->group[0].kernel, MESHBLK_ROSTER_BYTES));
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 5);
	/* a higher restart begins at any epoch */
	requests(0, 0, one + 1, 1, 3);
	CU_ASSERT_STRING_EQUAL(settle(), "txn1 ");
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 1);
	CU_ASSERT_EQUAL(noted()->group[0].plan.attach, one + 1);
	/* committed */
	kernel_roster(&W.h[0].k, one + 1, 1, 3, W.h[0].k.roster);
	CU_ASSERT_STRING_EQUAL(settle(), "txn1 ");
	CU_ASSERT(noted()->plan.committed);
	/* no roster of the volume, and none of its groups */
	requests(0, 0, one + 1, 2, 1);
	W.h[0].note.roster[MESHBLK_ROSTER_BYTES - 1] ^= 1;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_FALSE(W.h[0].answered);
	requests(0, 1, one + 1, 2, 1);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_FALSE(W.h[0].answered);
	rig_stop();
}

/* Another host has the volume: nothing is noted, and no answer is given. */
static void t_notes_foreign(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	host_off(1);
	put_alive(1, true);
	put_access(PLAN_RW, 1, mesh_number(0, 2, 0), false);
	requests(0, 0, mesh_number(0, 1, 0), 9, 1);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_FALSE(W.h[0].answered);
	requests(0, 0, 0, 0, 0);
	settle();
	CU_ASSERT_FALSE(W.h[0].answered);
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 1);
	/* the agent that may decide nothing */
	put_access(PLAN_RW, 0, mesh_number(0, 1, 0), false);
	settle();
	attach_may(W.h[0].a, true, W.h[0].lease);
	requests(0, 0, mesh_number(0, 1, 0), 9, 1);
	settle();
	CU_ASSERT_FALSE(W.h[0].answered);
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 1);
	requests(0, 0, 0, 0, 0);
	settle();
	CU_ASSERT_FALSE(W.h[0].answered);
	rig_stop();
}

/* The copy is behind: the store itself is read before the kernel is answered. */
static void t_notes_behind(void)
{
	struct obj_roster r = { .volume = vid(), .plan = { .number = mesh_number(0, 1, 0), .version = 1 } };
	u8 higher[MESHBLK_ROSTER_BYTES];

	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	rig_catch_up(W.h[0].c);
	kernel_roster(&W.h[0].k, mesh_number(0, 1, 0), 7, 1, higher);
	OK(obj_roster_shape(&r, &W.h[0].k.l));
	OK(obj_roster_note(&r, 0, higher, SALT));
	rig_put(O, KEY_ROSTER, &r);
	obj_free(KEY_ROSTER, &r);
	requests(0, 0, 0, 0, 0);
	W.cur = 0;
	CU_ASSERT(attach_turn(W.h[0].a, false, W.now) >= 0);
	W.cur = -1;
	CU_ASSERT(W.h[0].answered);
	CU_ASSERT(!memcmp(W.h[0].answer.roster, higher, sizeof(higher)));
	rig_stop();
}

/* The last rosters are in the release. */
static void t_last(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	W.hook = NULL;
	WANT(0, PLAN_NONE);
	kernel_roster(&W.h[0].k, mesh_number(0, 1, 0), 8, 3, W.h[0].k.roster);
	settle();
	CU_ASSERT(access_now()->clean);
	CU_ASSERT_EQUAL(noted()->group[0].plan.epoch, 8);
	CU_ASSERT(noted()->plan.committed);
	CU_ASSERT_EQUAL(noted()->plan.number, mesh_number(0, 1, 0));
	CU_ASSERT_EQUAL(noted()->plan.barred, 0);
	rig_stop();
}

/* access names no host, as after recover, or a dead one: the kernel that serves is named again. */
static void t_retake(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	put_access(PLAN_NONE, 0, mesh_number(2, 7, 0), false);
	CU_ASSERT(word(settle(), "txn1 put1 set1 set1 txn1 "));
	CU_ASSERT(holds(0));
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(2, 8, 0));
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(2, 8, 0));
	CU_ASSERT_EQUAL(W.h[0].k.served, 0);
	CU_ASSERT_FALSE(W.h[0].k.preempt);
	CU_ASSERT_EQUAL(W.t[0].number, mesh_number(2, 8, 0));
	/* a dead holder, that has nothing open */
	host_off(1);
	put_access(PLAN_RW, 1, mesh_number(2, 9, 0), false);
	CU_ASSERT(word(settle(), "probe1 txn1 put1 set1"));
	CU_ASSERT(holds(0));
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(2, 10, 0));
	/* ... while a target has a member open for it */
	W.t[0].writer = W.t[0].attacher = 2;
	W.t[0].number = mesh_number(2, 9, 0);
	put_access(PLAN_RW, 1, mesh_number(2, 11, 0), false);
	settle();
	CU_ASSERT(holds(1));
	CU_ASSERT(status_is(0, "waiting", "host2"));
	W.t[0].writer = 0;
	settle();
	CU_ASSERT(holds(0));
	/* ... and not while it is alive */
	put_alive(1, true);
	put_access(PLAN_RW, 1, mesh_number(2, 20, 0), false);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(holds(1));
	/* a store that is behind the kernel */
	put_alive(1, false);
	put_access(PLAN_NONE, 0, mesh_number(2, 3, 0), false);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "waiting", "put back"));
	rig_stop();
}

/* A second retake, begun before the first one has opened all, names what the first one named. */
static void t_retake_twice(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	W.h[0].cut = 2;
	put_access(PLAN_NONE, 0, mesh_number(2, 7, 0), false);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(2, 8, 0));
	CU_ASSERT_EQUAL(W.h[0].k.served, mesh_number(0, 1, 0));
	put_access(PLAN_NONE, 0, mesh_number(3, 9, 0), false);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(3, 10, 0));
	CU_ASSERT_EQUAL(W.h[0].k.served, mesh_number(0, 1, 0));
	/* its end is not a clean one: another kernel may have served meanwhile */
	WANT(0, PLAN_NONE);
	settle();
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT_FALSE(access_now()->clean);
	rig_stop();
}

/* Another host has served since: the retake's OPEN finds that, and access is given up. */
static void t_retake_fenced(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	W.t[1] = (struct target) { .number = mesh_number(1, 1, 0), .attacher = 3, .version = 1, .commit = 101 };
	W.h[0].cut = 2;
	put_access(PLAN_NONE, 0, mesh_number(2, 7, 0), false);
	settle();
	CU_ASSERT(holds(0));
	W.h[0].cut = 0;
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT_FALSE(access_now()->clean);
	CU_ASSERT(status_is(0, "fenced", NULL));
	rig_stop();
}

/* The restart has no next value some time: the counter has. */
static void t_overflow(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	W.h[0].k.number |= PLAN_RESTART_HIGH - 1;
	CU_ASSERT_STRING_EQUAL(settle(), "put1 ");
	W.h[0].k.number++;
	settle();
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 2, 0));
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(0, 2, 0));
	CU_ASSERT(serves(0));
	rig_stop();
}

static void reboot_alone(int h)
{
	host_restart(h, true);
	W.h[h].away = true;
}

/* The store is away when a host starts: its record, where labels say that it was the last one. */
static void t_away(void)
{
	struct obj_attached r;

	rig_start();
	VOLUME(0);
	attached(0);
	reboot_alone(0);
	W.h[0].cut = 2;
	CU_ASSERT_FALSE(word(settle(), "put"));
	W.h[0].cut = 0;
	settle();
	CU_ASSERT(word(W.log, "slots1 put1 set1 "));
	CU_ASSERT(serves(0));
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(0, 1, 1));
	CU_ASSERT_FATAL(record_of(0, &r));
	CU_ASSERT_EQUAL(r.plan.number, mesh_number(0, 1, 1));
	obj_free(OBJ_ATTACHED, &r);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	/* it is there again: the attachment is the one that it names */
	W.h[0].away = false;
	CU_ASSERT_STRING_EQUAL(settle(), "set1 ");
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 1, 0));
	CU_ASSERT(serves(0));
	/* a number that labels have already is not used again */
	W.t[1].number = mesh_number(0, 1, 6);
	reboot_alone(0);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(0, 1, 7));
	/* another host has followed at one member */
	reboot_alone(0);
	W.t[1].number = mesh_number(0, 2, 0);
	W.t[1].attacher = 2;
	CU_ASSERT_FALSE(word(settle(), "set"));
	CU_ASSERT_FALSE(W.h[0].k.there);
	rig_stop();
}

/* Of groups what is reached; more when it is; without the store's word. A place stays barred. */
static void t_away_group(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	VOLUME(.level = PROT_MIRROR, .barred = 1, .bar = { 1 });
	settle();
	reboot_alone(0);
	W.h[0].cut = 2;
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT(barred(W.h[0].k.bar, W.h[0].k.barred, 1));
	CU_ASSERT_FALSE(W.h[0].k.may[1]);
	W.h[0].cut = 0;
	settle();
	CU_ASSERT(W.h[0].k.may[1]);
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(0, 1, 1));
	rig_stop();
	/* a member whose label is of an earlier number, or whose record is older, is not opened */
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	attached(0);
	reboot_alone(0);
	W.t[1].number = 0;
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT_FALSE(W.h[0].k.may[1]);
	W.h[0].k.there = false;
	reboot_alone(0);
	W.t[1].number = W.t[0].number;
	W.t[1].version = 0;
	settle();
	CU_ASSERT_FALSE(W.h[0].k.may[1]);
	rig_stop();
}

static void t_away_reader(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	WANT(0, PLAN_NONE);
	settle();
	WANT(1, PLAN_RO);
	settle();
	CU_ASSERT(serves(1));
	reboot_alone(1);
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT(W.h[1].k.readonly);
	W.h[1].away = false;
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT(status_is(1, "attached", NULL));
	reboot_alone(1);
	W.t[0].number = mesh_number(0, 2, 0);
	W.t[0].attacher = 1;
	settle();
	CU_ASSERT_FALSE(W.h[1].k.there);
	rig_stop();
}

/* The store goes away while all is attached: nothing changes. Nothing is attached without a record. */
static void t_away_idle(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	W.h[0].away = W.h[1].away = true;
	WANT(0, PLAN_NONE);
	WANT(1, PLAN_RO);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(serves(0));
	W.h[0].away = W.h[1].away = false;
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT(serves(1));
	rig_stop();
}

static const struct rig_test tests[] = {
	{ "a new version", t_change },
	{ "a commit", t_commit },
	{ "addresses", t_addresses },
	{ "bars", t_bars },
	{ "a bar again", t_bar_again },
	{ "a bar again, and a note", t_bar_note },
	{ "a bar and a change", t_bar_race },
	{ "a bar and a retake", t_bar_retake },
	{ "fresh", t_fresh },
	{ "the end of fresh", t_fresh_over },
	{ "notes", t_notes },
	{ "notes of a host that is not the holder", t_notes_foreign },
	{ "notes, the copy is behind", t_notes_behind },
	{ "last rosters", t_last },
	{ "retake", t_retake },
	{ "retake twice", t_retake_twice },
	{ "retake is refused", t_retake_fenced },
	{ "restart overflows", t_overflow },
	{ "the store is away", t_away },
	{ "... groups", t_away_group },
	{ "... readers", t_away_reader },
	{ "... while all is attached", t_away_idle },
};

int main(void)
{
	return rig_main("agent_attach_keep", tests, sizeof(tests) / sizeof(tests[0]));
}
