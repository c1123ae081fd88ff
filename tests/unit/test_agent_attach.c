// SPDX-License-Identifier: GPL-2.0-only
/* Attach, readers, HELD, preempt, detach: the agent of attachments on three hosts. */
#include "tests/unit/attach_rig.h"

static void t_life(void)
{
	struct obj_attached r;

	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	CU_ASSERT_STRING_EQUAL(settle(), "probe1 txn1 put1 set1 txn1 ");
	CU_ASSERT(serves(0));
	CU_ASSERT(holds(0));
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 1, 0));
	CU_ASSERT_EQUAL(W.h[0].k.number, mesh_number(0, 1, 0));
	CU_ASSERT(status_is(0, "attached", NULL));
	CU_ASSERT_FATAL(record_of(0, &r));
	CU_ASSERT_EQUAL(r.plan.mode, PLAN_RW);
	obj_free(OBJ_ATTACHED, &r);
	/* the kernel's own count is recorded */
	W.h[0].k.number++;
	CU_ASSERT_STRING_EQUAL(settle(), "put1 ");
	WANT(0, PLAN_NONE);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 txn1 txn1 ");
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT(access_now()->clean);
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 1, 0));
	CU_ASSERT_PTR_NULL(seen(KEY_WANT, 0));
	CU_ASSERT_PTR_NULL(seen(KEY_WRITER, 0));
	CU_ASSERT_PTR_NULL(seen(KEY_STATUS, 0));
	CU_ASSERT_STRING_EQUAL(settle(), "");
	rig_stop();
}


/* Each operation goes on for a turn. */
static void t_slow(void)
{
	rig_start();
	W.slow = true;
	VOLUME(0);
	WANT(0, PLAN_RW);
	CU_ASSERT_STRING_EQUAL(settle(), "probe1 txn1 put1 set1 txn1 ");
	CU_ASSERT(serves(0));
	WANT(0, PLAN_NONE);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 txn1 txn1 ");
	CU_ASSERT(access_now()->clean);
	rig_stop();
}

/* The holder lives: refused, by name; with preempt it is fenced, and does not come back by itself. */
static void t_preempt(void)
{
	const struct obj_want *w;
	const struct copy_item *e;

	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	WANT(1, PLAN_RW);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(1, "refused", "host1"));
	CU_ASSERT(serves(0));
	WANT(1, PLAN_RW, .preempt = true);
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT(holds(1));
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 2, 0));
	w = seen(KEY_WANT, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	CU_ASSERT_FALSE(w->preempt);
	CU_ASSERT_FALSE(W.h[1].k.preempt);
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT_PTR_NULL(W.h[0].record);
	w = seen(KEY_WANT, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	CU_ASSERT(w->fenced);
	CU_ASSERT_EQUAL(w->mode, PLAN_RW);
	CU_ASSERT(status_is(0, "fenced", "another host"));
	e = copy_next(O, &(struct key) { .kind = KEY_EVENT, .host = hid(0) }, 1, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_STRING_EQUAL(((const struct obj_event *)e->obj)->what, "fenced");
	CU_ASSERT_PTR_NOT_NULL(strstr(((const struct obj_event *)e->obj)->words, "host2"));
	CU_ASSERT_PTR_NULL(copy_next(O, &(struct key) { .kind = KEY_EVENT, .host = hid(0) }, 1, e));
	/* also when the volume is free, and this agent starts again */
	WANT(1, PLAN_NONE);
	settle();
	host_restart(0, false);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT(access_now()->clean);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT(serves(0));
	rig_stop();
}

static bool is_writer(int h)
{
	const struct obj_writer *w = copy_obj(O, &(struct key) { .kind = KEY_WRITER, .volume = vid() });

	return w && muuid_equal(&w->host, &(struct muuid) { .b = { 'h', 1 + h } });
}

/* A holder that is dead: not while a target has a member open for it, or does not know. */
static void t_dead(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	host_off(0);
	WANT(1, PLAN_RW, .no_writer = true);
	CU_ASSERT(word(settle(), "probe2"));
	CU_ASSERT_FALSE(word(W.log, "txn2"));
	/* it would attach again after a reboot */
	CU_ASSERT(is_writer(0));
	CU_ASSERT(status_is(1, "refused", "host1"));
	kernel_close(0);
	W.t[1].unknown = true;
	settle();
	CU_ASSERT(status_is(1, "waiting", "just started"));
	CU_ASSERT(holds(0));
	W.t[1].unknown = false;
	/* a reader whose lease has ended reads on */
	W.t[0].readers = 4;
	settle();
	CU_ASSERT(holds(0));
	CU_ASSERT(status_is(1, "refused", "still open"));
	W.t[0].readers = 0;
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT(is_writer(1));
	/* the former holder is there again: its record is of the past */
	W.h[0].dead = false;
	host_start(0);
	put_alive(0, true);
	CU_ASSERT_STRING_EQUAL(settle(), "erase1 ");
	CU_ASSERT(status_is(0, "refused", "another host is to write"));
	/* its own targets need not know */
	W.t[1].unknown = true;
	WANT(1, PLAN_NONE);
	settle();
	WANT(1, PLAN_RW);
	settle();
	CU_ASSERT(serves(1));
	rig_stop();
}

/* A take-over that cannot succeed fences no host. */
static void t_reached(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	W.h[1].cut = 2;
	WANT(1, PLAN_RW, .preempt = true);
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT(holds(0));
	CU_ASSERT(status_is(1, "waiting", "1 of 2"));
	W.h[1].cut = 0;
	settle();
	CU_ASSERT(serves(1));
	rig_stop();
	/* of a mirror one is enough */
	rig_start();
	VOLUME(.level = PROT_MIRROR, .fresh = true);
	W.h[0].cut = 1;
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT(serves(0));
	rig_stop();
	rig_start();
	VOLUME(.level = PROT_MIRROR, .fresh = true);
	W.h[0].cut = 3;
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	rig_stop();
}

/* Only the host that writer/V names, while the volume is ready. */
static void t_refused(void)
{
	struct obj_writer w = { .volume = vid(), .host = hid(2) };

	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW, .no_writer = true);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "refused", "another host is to write"));
	rig_put(O, KEY_WRITER, &w);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	VOLUME(.state = PLAN_DELETING);
	WANT(0, PLAN_RW);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "waiting", "deleted"));
	rig_erase(O, &(struct key) { .kind = KEY_VOLUME, .volume = vid() });
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "refused", "no such volume"));
	rig_stop();
}

static u8 taker;

static void other_opens(const char *op)
{
	if (strcmp(op, "set") || W.cur != 1 || !taker)
		return;
	W.t[1].writer = taker;
	taker = 0;
}

/* A target has the member open by now: the attach is given up, never as a clean end. */
static void t_held(void)
{
	rig_start();
	VOLUME(0);
	taker = 3;
	W.hook = other_opens;
	WANT(1, PLAN_RW);
	settle();
	CU_ASSERT(word(W.log, "probe2 txn2 put2 set2 del2 erase2 txn2"));
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT_FALSE(access_now()->clean);
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 1, 0));
	CU_ASSERT_FALSE(W.h[1].k.there);
	CU_ASSERT(status_is(1, "refused", "host3"));
	/* it tries again after a while, by probes alone */
	CU_ASSERT_STRING_EQUAL(settle(), "");
	W.t[1].attacher = 3;
	W.now += 30000;
	CU_ASSERT(!word(settle(), "txn"));
	CU_ASSERT(word(W.log, "probe2"));
	CU_ASSERT(status_is(1, "refused", "host3"));
	/* readers do not attach before a clean end */
	WANT(0, PLAN_RO);
	settle();
	CU_ASSERT(status_is(0, "refused", "not detached cleanly"));
	W.t[1].writer = 0;
	settle();
	CU_ASSERT(serves(1));
	rig_stop();
}

/* A crash between the attach and its end: what access names is given up where the members are not free. */
static void t_left(void)
{
	rig_start();
	VOLUME(0);
	put_access(PLAN_RW, 0, mesh_number(0, 4, 0), false);
	W.t[0].writer = W.t[0].attacher = 2;
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT_FALSE(access_now()->clean);
	CU_ASSERT(status_is(0, "refused", "host2"));
	W.t[0].writer = 0;
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 5, 0));
	rig_stop();
	/* ... or the next want is to read */
	rig_start();
	VOLUME(0);
	put_access(PLAN_RW, 0, mesh_number(0, 4, 0), false);
	WANT(0, PLAN_RO);
	settle();
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT(status_is(0, "refused", "not detached cleanly"));
	rig_stop();
	/* without a want, and a record that is left */
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	rig_erase(O, &(struct key) { .kind = KEY_WANT, .host = hid(0), .volume = vid() });
	rig_catch_up(W.h[0].c);
	host_restart(0, true);
	CU_ASSERT_STRING_EQUAL(settle(), "erase1 txn1 ");
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT_FALSE(access_now()->clean);
	CU_ASSERT_PTR_NULL(W.h[0].record);
	rig_stop();
}

static u64 reader_lease(int h)
{
	const struct copy_item *i;

	rig_catch_up(O);
	i = copy_get(O, &(struct key) { .kind = KEY_READER, .volume = vid(), .host = hid(h) });
	return i ? i->lease : 0;
}

static void publish(void)
{
	WANT(0, PLAN_RW);
	settle();
	WANT(0, PLAN_NONE);
	settle();
	CU_ASSERT(access_now()->clean);
}

static void t_readers(void)
{
	u64 lease;

	rig_start();
	VOLUME(0);
	publish();
	WANT(1, PLAN_RO);
	WANT(2, PLAN_RO);
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT(serves(2));
	CU_ASSERT(W.h[1].k.readonly);
	CU_ASSERT_EQUAL(W.h[1].k.number, mesh_number(0, 1, 0));
	CU_ASSERT_EQUAL(reader_lease(1), W.h[1].lease);
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	/* a writer does not come between */
	WANT(0, PLAN_RW);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "refused", "reading"));
	/* another lease */
	OK(store_lease_grant(other, 600, &lease));
	W.h[1].lease = lease;
	attach_may(W.h[1].a, false, lease);
	CU_ASSERT_STRING_EQUAL(settle(), "txn2 ");
	CU_ASSERT_EQUAL(reader_lease(1), lease);
	WANT(2, PLAN_NONE);
	CU_ASSERT_STRING_EQUAL(settle(), "del3 erase3 txn3 txn3 ");
	CU_ASSERT_EQUAL(reader_lease(2), 0);
	CU_ASSERT_PTR_NULL(seen(KEY_WANT, 2));
	/* the last one is fenced by preempt alone; of one that is dead the key goes, too */
	WANT(2, PLAN_RO);
	settle();
	host_off(2);
	CU_ASSERT_NOT_EQUAL(reader_lease(2), 0);
	WANT(0, PLAN_RW, .preempt = true);
	settle();
	CU_ASSERT_EQUAL(reader_lease(2), 0);
	CU_ASSERT(serves(0));
	CU_ASSERT_EQUAL(reader_lease(1), 0);
	CU_ASSERT(status_is(1, "fenced", NULL));
	CU_ASSERT_FALSE(W.h[1].k.there);
	rig_stop();
}

/* A reader that was preempted and does not notice: no key under another number than its kernel's. */
static void t_reader_above(void)
{
	rig_start();
	VOLUME(0);
	publish();
	WANT(1, PLAN_RO);
	settle();
	W.h[1].cut = 3;
	WANT(0, PLAN_RW, .preempt = true);
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT(serves(1));
	WANT(0, PLAN_NONE);
	settle();
	CU_ASSERT(access_now()->clean);
	CU_ASSERT_EQUAL(reader_lease(1), 0);
	CU_ASSERT(status_is(1, "refused", "by another host since"));
	W.h[1].cut = 0;
	settle();
	CU_ASSERT(status_is(1, "fenced", NULL));
	rig_stop();
}

/* Without a lease no key would protect the reads; a key of an earlier boot is erased, or written again. */
static void t_reader_lease(void)
{
	struct obj_reader r = { .volume = vid(), .plan = { .host = hid(1), .number = 0 } };

	rig_start();
	VOLUME(0);
	attach_may(W.h[1].a, false, 0);
	WANT(1, PLAN_RO);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(1, "waiting", "lease"));
	rig_put(O, KEY_READER, &r);
	attach_may(W.h[1].a, false, W.h[1].lease);
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT_EQUAL(reader_lease(1), W.h[1].lease);
	WANT(1, PLAN_NONE);
	settle();
	rig_put(O, KEY_READER, &r);
	CU_ASSERT_STRING_EQUAL(settle(), "txn2 ");
	rig_catch_up(O);
	CU_ASSERT_PTR_NULL(copy_get(O, &(struct key) { .kind = KEY_READER, .volume = vid(), .host = hid(1) }));
	/* one that is refused, and reads nothing, does not keep a writer away */
	put_access(PLAN_NONE, 0, 0, false);
	rig_put(O, KEY_READER, &r);
	WANT(1, PLAN_RO);
	settle();
	rig_catch_up(O);
	CU_ASSERT_PTR_NULL(copy_get(O, &(struct key) { .kind = KEY_READER, .volume = vid(), .host = hid(1) }));
	rig_stop();
}

/* One host: from writing to reading, and back. */
static void t_modes(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	WANT(0, PLAN_RO);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 txn1 txn1 put1 set1 ");
	CU_ASSERT(serves(0));
	CU_ASSERT(W.h[0].k.readonly);
	WANT(0, PLAN_RW);
	CU_ASSERT(word(settle(), "del1 erase1 txn1 probe1 txn1 put1 set1 "));
	CU_ASSERT(serves(0));
	CU_ASSERT_FALSE(W.h[0].k.readonly);
	CU_ASSERT_EQUAL(reader_lease(0), 0);
	rig_stop();
}

/* The disk is in use: nothing ends, all goes on; unless it is forced. */
static void t_busy(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	W.h[0].k.openers = 2;
	WANT(0, PLAN_NONE);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "refused", "2 openers"));
	CU_ASSERT(serves(0));
	VOLUME(.version = 2);
	recorded(0, 2);
	recorded(1, 2);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 2);
	CU_ASSERT(status_is(0, "refused", "2 openers"));
	/* a want that is gone is not forced */
	rig_erase(O, &(struct key) { .kind = KEY_WANT, .host = hid(0), .volume = vid() });
	CU_ASSERT_STRING_EQUAL(settle(), "");
	WANT(0, PLAN_NONE, .force = true);
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT(access_now()->clean);
	rig_stop();
}

static u64 status_revision(int h)
{
	const struct key k = { .kind = KEY_STATUS, .host = hid(h), .about = vid() };
	const struct copy_item *i;

	rig_catch_up(O);
	i = copy_get(O, &k);
	return i ? i->modified : 0;
}

/* A status is written when it is another one; another sentence of one state at most once in 5 s. */
static void t_status(void)
{
	u64 revision;

	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	W.h[0].k.openers = 2;
	WANT(0, PLAN_NONE);
	settle();
	revision = status_revision(0);
	settle();
	CU_ASSERT_EQUAL(status_revision(0), revision);
	W.h[0].k.openers = 3;
	host_turn(0);
	W.h[0].k.openers = 4;
	host_turn(0);
	CU_ASSERT(status_is(0, "refused", "3 openers"));
	W.now += 5000;
	host_turn(0);
	CU_ASSERT(status_is(0, "refused", "4 openers"));
	/* another state is said at once */
	WANT(0, PLAN_RW);
	host_turn(0);
	CU_ASSERT(status_is(0, "attached", NULL));
	rig_stop();
}

/* A kernel that was never open at all members ends as one that was held. */
static void t_opening(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	recorded(1, 0);
	settle();
	CU_ASSERT(W.h[0].k.there);
	CU_ASSERT_FALSE(serves(0));
	CU_ASSERT(status_is(0, "attaching", NULL));
	CU_ASSERT_EQUAL(W.t[1].number, 0);
	WANT(0, PLAN_NONE);
	settle();
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT_FALSE(access_now()->clean);
	/* it is opened when its record is there */
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FALSE(serves(0));
	recorded(1, 1);
	CU_ASSERT_STRING_EQUAL(settle(), "set1 txn1 ");
	CU_ASSERT(serves(0));
	/* drives that move are set again, and nothing else is */
	put_alive(2, false);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	rig_stop();
}

/* Preempted before it has opened all: what follows is not its. */
static void t_overtaken(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	recorded(1, 0);
	settle();
	CU_ASSERT_FALSE(serves(0));
	host_off(2);
	put_alive(2, true);
	put_access(PLAN_RW, 2, mesh_number(0, 2, 0), false);
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT_PTR_NULL(W.h[0].record);
	CU_ASSERT(holds(2));
	CU_ASSERT(status_is(0, "refused", "host3"));
	rig_stop();
	/* a store that is behind the kernel was put back: that ends nothing */
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	recorded(1, 0);
	settle();
	put_access(PLAN_NONE, 0, 0, true);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(W.h[0].k.there);
	CU_ASSERT(status_is(0, "waiting", "put back"));
	rig_stop();
}

/* Lists that were not read end nothing; an object that the codec refuses, neither. */
static void t_unread(void)
{
	struct store_op op = { .value = "{}", .len = 2 };
	char key[STORE_KEY_MAX];

	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	W.no_watch = true;
	host_stop(0);
	W.h[0].s = store_sqlite_handle(Q);
	W.h[0].c = copy_open(W.h[0].s);
	CU_ASSERT_EQUAL(follow(W.h[0].c, false), -EIO);
	W.h[0].a = attach_open(W.h[0].c, &(struct muuid) { .b = { 'h', 1 } }, &rig_ops, &W.h[0]);
	CU_ASSERT_EQUAL(host_turn(0), 0);
	CU_ASSERT(serves(0));
	W.no_watch = false;
	host_restart(0, false);
	OK(key_text(&(struct key) { .kind = KEY_WANT, .host = hid(0), .volume = vid() }, key));
	op.key = key;
	CU_ASSERT_EQUAL(store_txn(other, &(struct store_txn) { .op = &op, .ops = 1 }, NULL), 1);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(serves(0));
	CU_ASSERT(status_is(0, "waiting", "cannot be used"));
	rig_stop();
}

/* An agent that starts again finds all as it should be. */
static void t_restart(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	host_restart(0, false);
	CU_ASSERT_STRING_EQUAL(settle(), "set1 ");
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 1, 0));
	/* after a reboot it is another attachment */
	host_restart(0, true);
	CU_ASSERT(word(settle(), "probe1 txn1 put1 set1"));
	CU_ASSERT_EQUAL(access_now()->number, mesh_number(0, 2, 0));
	CU_ASSERT(serves(0));
	rig_stop();
}

/* Until the host is off, if that is requested. */
static void t_boot(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW, .no_boot = true);
	settle();
	CU_ASSERT(serves(0));
	host_restart(0, false);
	settle();
	CU_ASSERT(serves(0));
	host_restart(0, true);
	CU_ASSERT_STRING_EQUAL(settle(), "txn1 erase1 txn1 txn1 ");
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT_PTR_NULL(seen(KEY_WANT, 0));
	rig_stop();
}

/* A probe of a while ago is not what an attach is decided from. */
static void t_old_probe(void)
{
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	host_turn(0);
	CU_ASSERT_STRING_EQUAL(W.log, "probe1 ");
	W.t[0].writer = W.t[0].attacher = 3;
	W.now += 60000;
	settle();
	CU_ASSERT(word(W.log, "probe1"));
	CU_ASSERT_FALSE(word(W.log, "txn"));
	CU_ASSERT(status_is(0, "refused", "host3"));
	rig_stop();
}

static u8 race;

static void before_txn(const char *op)
{
	struct obj_writer w = { .volume = vid(), .host = hid(2) };

	if (strcmp(op, "txn") || W.cur || !race)
		return;
	W.cur = -1;
	if (race == 1)
		rig_put(O, KEY_WRITER, &w);
	else if (race == 2)
		WANT(0, PLAN_NONE);
	else if (race == 3)
		VOLUME(.state = PLAN_DELETING);
	else
		put_access(PLAN_NONE, 0, mesh_number(0, 9, 0), true);
	race = 0;
	W.cur = 0;
}

/* What an attach is decided from changes right before its transaction. */
static void t_race(void)
{
	for (u8 i = 1; i <= 4; i++) {
		rig_start();
		VOLUME(0);
		race = i;
		W.hook = before_txn;
		WANT(0, PLAN_RW);
		for (int n = 0; n < 9 && race; n++)
			host_turn(0);
		CU_ASSERT_EQUAL(race, 0);
		CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
		settle();
		CU_ASSERT_EQUAL(serves(0), i == 4);
		rig_stop();
	}
}

/* A target has a higher number than the store: that was put back, unless the copy is behind it. */
static void t_above(void)
{
	char said[OBJ_WORDS] = "";

	rig_start();
	VOLUME(0);
	W.t[1].number = mesh_number(0, 9, 3);
	W.t[1].attacher = 3;
	CU_ASSERT_FALSE(attach_above(W.h[0].a, said, sizeof(said)));
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FALSE(word(W.log, "txn") || word(W.log, "set"));
	CU_ASSERT(status_is(0, "waiting", "cluster recover"));
	CU_ASSERT(attach_above(W.h[0].a, said, sizeof(said)));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "a drive has volume vol under a later attachment"));
	CU_ASSERT_FALSE(attach_above(W.h[0].a, said, sizeof(said)));
	rig_stop();
	/* Away, it says nothing. */
	rig_start();
	VOLUME(0, .level = PROT_MIRROR);
	W.t[1].number = mesh_number(0, 9, 3);
	W.t[1].away = true;
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FALSE(attach_above(W.h[0].a, said, sizeof(said)));
	CU_ASSERT(serves(0));
	rig_stop();
	rig_start();
	VOLUME(0);
	WANT(0, PLAN_RW);
	rig_catch_up(W.h[0].c);
	W.h[0].lags = true;
	put_access(PLAN_NONE, 0, mesh_number(0, 9, 0), true);
	W.t[1].number = mesh_number(0, 9, 0);
	W.t[1].attacher = 3;
	settle();
	CU_ASSERT_FALSE(attach_above(W.h[0].a, said, sizeof(said)));
	W.h[0].lags = false;
	settle();
	CU_ASSERT(serves(0) && mesh_number_counter(access_now()->number) == 10);
	CU_ASSERT_FALSE(attach_above(W.h[0].a, said, sizeof(said)));
	rig_stop();
}

static const struct rig_test tests[] = {
	{ "above the store", t_above },
	{ "life", t_life },
	{ "operations that go on", t_slow },
	{ "preempt", t_preempt },
	{ "a dead holder", t_dead },
	{ "members that are reached", t_reached },
	{ "refused", t_refused },
	{ "held by a target", t_held },
	{ "left by a crash", t_left },
	{ "readers", t_readers },
	{ "a reader that was preempted", t_reader_above },
	{ "the lease of readers", t_reader_lease },
	{ "one mode to the other", t_modes },
	{ "in use", t_busy },
	{ "status", t_status },
	{ "opening", t_opening },
	{ "overtaken", t_overtaken },
	{ "unread", t_unread },
	{ "restart", t_restart },
	{ "not after a reboot", t_boot },
	{ "an old probe", t_old_probe },
	{ "races", t_race },
};

int main(void)
{
	return rig_main("agent_attach", tests, sizeof(tests) / sizeof(tests[0]));
}
