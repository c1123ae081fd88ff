// SPDX-License-Identifier: GPL-2.0-only
/* A member that leaves is copied before the kernel gets the version that names the copy. */
#include "tests/unit/attach_rig.h"

#define BYTES	(128ULL << 20)

static struct attach_copy *copy_of(int h)
{
	return &W.h[h].k.copy[1];
}

static bool copies(int h, u8 extent)
{
	const struct muuid to = rig_id('x', extent);

	return muuid_equal(&copy_of(h)->plan.to, &to);
}

/* A mirror of extents 1 and 2 at version 1, of which the store has version 2 by now. */
static void begin(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FATAL(serves(0));
	VOLUME(.level = PROT_MIRROR, .version = 2, .evict = true);
	recorded(0, 2);
	recorded(2, 2);
}

static u64 noted_version(void)
{
	const struct obj_roster *r = seen(KEY_ROSTER, 0);

	return r ? r->plan.version : 0;
}

static bool has_version(int h, u64 version, u8 extent)
{
	const struct muuid is = rig_id('x', extent);

	return W.h[h].k.l.version == version && noted_version() == version &&
	       muuid_equal(&W.h[h].k.l.member[1].extent, &is);
}

static void t_copy(void)
{
	struct obj_attached r;

	begin();
	CU_ASSERT_STRING_EQUAL(settle(), "evict1 ");
	CU_ASSERT(copies(0, 3) && has_version(0, 1, 2));
	CU_ASSERT(status_is(0, "attached", "0 of 128 MiB"));
	copy_of(0)->plan.copied = BYTES - 512;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "attached", "127 of 128 MiB"));
	/* bars, and all else that needs no version, goes on meanwhile */
	VOLUME(.level = PROT_MIRROR, .version = 2, .evict = true, .barred = 1, .bar = { 0 });
	CU_ASSERT_STRING_EQUAL(settle(), "put1 set1 txn1 ");
	CU_ASSERT(W.h[0].k.barred == 1 && has_version(0, 1, 2));
	copy_of(0)->plan.copied = BYTES;
	CU_ASSERT(word(settle(), "put1 set1 txn1 "));
	CU_ASSERT(has_version(0, 2, 3) && !word(W.log, "evict"));
	CU_ASSERT_FATAL(record_of(0, &r));
	CU_ASSERT(r.record->version == 2 && r.leavings == 1 && r.leaving[0].extent.b[1] == 2);
	obj_free(OBJ_ATTACHED, &r);
	CU_ASSERT(status_is(0, "attached", ""));
	CU_ASSERT_PTR_NULL(strstr(((const struct obj_status *)seen(KEY_STATUS, 0))->words, "leaves"));
	rig_stop();
}

/* The record of the version is not durable yet: the kernel copies, and does not get it. */
static void t_records(void)
{
	begin();
	recorded(0, 1);
	settle();
	copy_of(0)->plan.copied = BYTES;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(has_version(0, 1, 2));
	recorded(0, 2);
	settle();
	CU_ASSERT(has_version(0, 2, 3));
	rig_stop();
}

/* A daemon that starts again goes on with the copy that runs; so it knows when that ends. */
static void t_restart(void)
{
	begin();
	settle();
	host_restart(0, false);
	CU_ASSERT_FALSE(word(settle(), "evict"));
	CU_ASSERT(copies(0, 3) && has_version(0, 1, 2));
	copy_of(0)->plan.to = (struct muuid) { 0 };
	strcpy(copy_of(0)->why, "the drive does not take a write");
	CU_ASSERT(word(settle(), "txn1 "));
	CU_ASSERT_PTR_NOT_NULL_FATAL(copy_next(O, &(struct key) { .kind = KEY_EVENT }, 0, NULL));
	host_restart(0, false);
	settle();
	copy_of(0)->plan.copied = BYTES;
	settle();
	CU_ASSERT(has_version(0, 2, 3));
	rig_stop();
}

/* A kernel that begins with the version copies by itself: it gets the extent that leaves. */
static void t_power(void)
{
	begin();
	settle();
	host_restart(0, true);
	CU_ASSERT_FALSE(word(settle(), "evict"));
	CU_ASSERT(serves(0) && has_version(0, 2, 3));
	CU_ASSERT_FATAL(W.h[0].k.leavings == 1);
	CU_ASSERT(W.h[0].k.leaving[0].place == 1 && W.h[0].k.leaving[0].extent.b[1] == 2);
	/* its figures are seen, too */
	copy_of(0)->plan.to = rig_id('x', 3);
	copy_of(0)->plan.bytes = BYTES;
	copy_of(0)->plan.copied = BYTES / 2;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(status_is(0, "attached", "64 of 128 MiB"));
	rig_stop();
}

static u32 events(const char *words)
{
	const struct copy_item *i = NULL;
	u32 n = 0;

	rig_catch_up(O);
	while ((i = copy_next(O, &(struct key) { .kind = KEY_EVENT }, 0, i))) {
		const struct obj_event *e = i->obj;

		n += e && !strcmp(e->what, "copy-ended") && strstr(e->words, words);
	}
	return n;
}

/* Turns of host 1 for @ms. */
static void turns(u64 ms)
{
	W.log[0] = 0;
	for (u64 until = W.now + ms; W.now < until; W.now += 500)
		host_turn(0);
}

static void t_ends(void)
{
	begin();
	settle();
	copy_of(0)->plan.to = (struct muuid) { 0 };
	strcpy(copy_of(0)->why, "sectors of it cannot be read");
	turns(8000);
	CU_ASSERT_STRING_EQUAL(W.log, "txn1 ");
	CU_ASSERT_EQUAL(events("sectors of it"), 1);
	CU_ASSERT(status_is(0, "attached", "sectors of it"));
	turns(4000);
	CU_ASSERT_STRING_EQUAL(W.log, "evict1 ");
	CU_ASSERT(copies(0, 3) && has_version(0, 1, 2));
	CU_ASSERT_EQUAL(events(""), 1);
	rig_stop();
}

/* The kernel refuses: words, a pause, and all else goes on at once. */
static void t_refused(void)
{
	begin();
	W.refuses = true;
	turns(8000);
	CU_ASSERT_STRING_EQUAL(W.log, "evict1 ");
	CU_ASSERT(status_is(0, "attached", "the machine says no"));
	VOLUME(.level = PROT_MIRROR, .version = 2, .evict = true, .barred = 1, .bar = { 0 });
	turns(1500);
	CU_ASSERT_STRING_EQUAL(W.log, "put1 set1 txn1 ");
	W.refuses = false;
	turns(4000);
	CU_ASSERT_STRING_EQUAL(W.log, "evict1 ");
	CU_ASSERT_EQUAL(events(""), 0);
	rig_stop();
}

/* A member that is out needs no copy; one of which that is not known waits. */
static void t_out(void)
{
	begin();
	copy_of(0)->plan.role = PLAN_COPY_UNSETTLED;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(has_version(0, 1, 2));
	CU_ASSERT(status_is(0, "attached", "not copied yet"));
	copy_of(0)->plan.role = PLAN_COPY_OUT;
	CU_ASSERT(word(settle(), "put1 set1 txn1 "));
	CU_ASSERT(has_version(0, 2, 3));
	rig_stop();
}

static void t_stray(void)
{
	begin();
	copy_of(0)->plan.to = rig_id('x', 4);
	copy_of(0)->plan.copied = copy_of(0)->plan.bytes = BYTES;
	CU_ASSERT_STRING_EQUAL(settle(), "stop1 evict1 ");
	CU_ASSERT(copies(0, 3) && has_version(0, 1, 2));
	rig_stop();
}

static bool dies_now;

static void die_behind_record(const char *op)
{
	if (strcmp(op, "put") || !dies_now)
		return;
	dies_now = false;
	W.crash_at = 1;
	W.crash_behind = true;
}

/* The version is recorded, the daemon dies, and the copy ends before the kernel gets the version. */
static void t_record_ahead(void)
{
	begin();
	settle();
	copy_of(0)->plan.copied = BYTES;
	W.hook = die_behind_record;
	dies_now = true;
	for (int i = 0; i < 20 && !strstr(W.log, "put1"); i++)
		host_turn(0);
	CU_ASSERT_FALSE(dies_now);
	copy_of(0)->plan.to = (struct muuid) { 0 };
	CU_ASSERT_STRING_EQUAL(settle(), "evict1 ");
	CU_ASSERT(has_version(0, 1, 2));
	copy_of(0)->plan.copied = BYTES;
	settle();
	CU_ASSERT(has_version(0, 2, 3));
	rig_stop();
}

/* The kernel opens members: nothing is copied before it serves. */
static void t_opening(void)
{
	rig_start();
	VOLUME(.level = PROT_MIRROR);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT_FATAL(serves(0));
	/* as if its targets had restarted before the disk was there */
	W.h[0].cut = 7;
	W.h[0].k.live = false;
	memset(W.h[0].k.open, 0, sizeof(W.h[0].k.open));
	kernel_close(0);
	VOLUME(.level = PROT_MIRROR, .version = 2, .evict = true);
	recorded(0, 2);
	recorded(2, 2);
	settle();
	CU_ASSERT_FALSE(word(W.log, "evict"));
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 1);
	W.h[0].cut = 0;
	settle();
	CU_ASSERT(copies(0, 3));
	rig_stop();
}

/* An agent, or its host, dies at each operation in turn: it ends with the version. */
static void t_dies(void)
{
	for (u32 n = 0; n < 4; n++) {
		bool more = true;

		for (int at = 1; more && at < 60; at++) {
			begin();
			W.crash_at = at;
			W.crash_behind = n & 1;
			W.crash_host = n & 2;
			for (int i = 0; i < 6 && W.h[0].k.l.version != 2; i++) {
				settle();
				copy_of(0)->plan.copied = copy_of(0)->plan.bytes;
			}
			settle();
			more = !W.crash_at;
			CU_ASSERT(serves(0) && has_version(0, 2, 3));
			rig_stop();
		}
		CU_ASSERT_FALSE(more);
	}
}

static const struct rig_test tests[] = {
	{ "copied, then swapped", t_copy },
	{ "records first", t_records },
	{ "the daemon starts again", t_restart },
	{ "the host starts again", t_power },
	{ "a copy that ends", t_ends },
	{ "a kernel that refuses", t_refused },
	{ "a member that is out", t_out },
	{ "a copy to another extent", t_stray },
	{ "a record ahead of the kernel", t_record_ahead },
	{ "a kernel that opens members yet", t_opening },
	{ "an agent dies at each operation", t_dies },
};

int main(void)
{
	return rig_main("evictions by the agent of attachments", tests, sizeof(tests) / sizeof(tests[0]));
}
