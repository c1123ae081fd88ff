// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which lost member is replaced, in every state of two small groups; and what becomes of it: the
 * command is a stand-in that succeeds or fails, threads run when the test says so.
 */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/meshd/spare.c"
#include "suite.h"
#include "req_rig.h"

struct meshd D;

#define GROUPS	2
#define WIDTH	3
#define N	(GROUPS * WIDTH)

static struct meshblk_group group[GROUPS];
static struct meshblk_member member[N];
static struct meshblk_volume kernel;
static u64 since[N];

static void world(void)
{
	memset(group, 0, sizeof(group));
	memset(since, 0, sizeof(since));
	for (u32 i = 0; i < N; i++) {
		group[i / WIDTH].members[i % WIDTH] = i;
		group[i / WIDTH].roles[i % WIDTH] = MESHBLK_ROLE_IN_SYNC;
		group[i / WIDTH].nr = WIDTH;
		member[i].extent = (struct muuid) { { 2, i } };
		strcpy(group[i / WIDTH].state, MESHBLK_STATE_ACTIVE);
	}
	kernel = (struct meshblk_volume) { .uuid = { { 1 } }, .version = 4, .state = MESHBLK_STATE_ACTIVE,
					   .members = member, .nr_members = N, .groups = group,
					   .nr_groups = GROUPS };
}

#define NOW	1000
#define DELAY	100

static u8 role(u32 i) { return group[i / WIDTH].roles[i % WIDTH]; }

static bool may_be_due(u32 i)
{
	return role(i) == MESHBLK_ROLE_OUT && since[i] && since[i] + DELAY <= NOW &&
	       !strcmp(group[i / WIDTH].state, MESHBLK_STATE_ACTIVE);
}

static u32 sick(u32 g)
{
	u32 n = 0;

	for (u32 i = 0; i < WIDTH; i++)
		n += group[g].roles[i] != MESHBLK_ROLE_IN_SYNC;
	return n;
}

/* By the words of the header, in another way than the code does it. */
static bool right(u32 due)
{
	bool blocked = group[0].scrubbing || group[1].scrubbing || group[1].waits, any = false;

	for (u32 i = 0; i < N; i++) {
		blocked = blocked || role(i) == MESHBLK_ROLE_JOINING;
		any = any || may_be_due(i);
	}
	if (blocked || !any)
		return due == MESH_NO_MEMBER;
	if (due >= N || !may_be_due(due))
		return false;
	for (u32 i = 0; i < N; i++) {
		if (!may_be_due(i))
			continue;
		if (sick(i / WIDTH) > sick(due / WIDTH) ||
		    (sick(i / WIDTH) == sick(due / WIDTH) && since[i] < since[due]))
			return false;
	}
	return true;
}

/* Each member: in sync, silent, failed, rebuilding, or out, since several times or unseen. */
static void test_due(void)
{
	static const u64 times[] = { 0, NOW, NOW - DELAY + 1, NOW - DELAY, NOW - DELAY - 5, 1 };
	static const char *const states[] = { MESHBLK_STATE_ACTIVE, MESHBLK_STATE_WAITING };
	static const u8 roles[] = { MESHBLK_ROLE_IN_SYNC, MESHBLK_ROLE_SUSPECT, MESHBLK_ROLE_FAILED,
				    MESHBLK_ROLE_JOINING };
	const u32 kinds = ARRAY_SIZE(roles) + ARRAY_SIZE(times);
	u64 all = 1, n, left, wrong = 0, found = 0;
	u32 i, due;

	for (i = 0; i < N; i++)
		all *= kinds;
	world();
	for (n = 0; n < all * 8; n++) {
		for (left = n / 8, i = 0; i < N; i++, left /= kinds) {
			u32 kind = left % kinds;
			bool out = kind >= ARRAY_SIZE(roles);

			group[i / WIDTH].roles[i % WIDTH] = out ? MESHBLK_ROLE_OUT : roles[kind];
			since[i] = out ? times[kind - ARRAY_SIZE(roles)] : 1;
		}
		strcpy(group[1].state, states[n & 1]);
		group[0].scrubbing = n & 2;
		group[1].waits = n & 4;		/* the third place */
		due = spare_due(&kernel, since, NOW, DELAY);
		wrong += !right(due);
		found += due != MESH_NO_MEMBER;
	}
	CU_ASSERT(!wrong && found > 1000);
}

static void test_allowed(void)
{
	static struct layout l;

	for (u32 n = 0; n < 3 * 3 * 2 * 2; n++) {
		l.spares = n % 3;
		l.spares_used = n / 3 % 3;
		D.spare_auto = n / 9 % 2;
		l.segments = 1;
		l.segment[0].level = n / 18 ? PROT_MIRROR : PROT_STRIPE;
		CU_ASSERT_EQUAL(spare_allowed(&l), n / 18 && (D.spare_auto || l.spares > l.spares_used));
	}
	D.spare_auto = false;
}

/* What is around it: one volume, whose member 1 is out since @out_since. */
static struct layout made;
static struct store_volume stored;
static u64 out_since, clock_ms;
static bool busy, evicting, fails, late_failure;
static u32 commands, warned;
static char warning[512];
static struct event latest;
static u32 reports;
static void *(*thread_fn)(void *);
static void *thread_arg;

u64 now_ms(void) { return clock_ms; }
bool groups_evict(const struct meshblk_volume *k) { (void)k; return evicting; }
bool busy_is(const struct muuid *u) { (void)u; return busy; }
u64 watch_out_since(const struct muuid *v, const struct muuid *x) { (void)v; return x->b[1] == 1 ? out_since : 0; }
void watch_words(const struct layout *l, u32 m, char *out, size_t size) { (void)l; snprintf(out, size, "member %u", m); }
void event_report(const struct event *e) { latest = *e; reports++; }
void reconcile_kick(void) { }
void mesh_close(struct mesh *m) { (void)m; }

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(warning, sizeof(warning), fmt, ap);
	va_end(ap);
	warned++;
}

int thread_start(void *(*fn)(void *), void *arg)
{
	CU_ASSERT_PTR_NULL(thread_fn);
	thread_fn = fn;
	thread_arg = arg;
	return 0;
}

int store_volume_get(const struct muuid *u, struct store_volume *v, struct layout *l)
{
	(void)u;
	*v = stored;
	if (l)
		memcpy(l, &made, sizeof(made));
	return 0;
}

/* Member 1 gets another extent, as the command's own test has it. */
int cmd_volume_replace(struct req *r)
{
	const char *extent = json_string_value(json_object_get(r->args, "member"));

	commands++;
	CU_ASSERT(req_own(r) && !strcmp(extent, muuid_str(&member[1].extent).s));
	if (!fails || late_failure) {
		made.member[1].extent = (struct muuid) { { 2, 9 } };
		made.member[1].drive = (struct muuid) { { 3, 9 } };
		made.spares_used++;
	}
	return fails ? req_fail(r, "no exported drive has a run of 1G free") : 0;
}

static void lose(u64 at)
{
	world();
	memset(&made, 0, sizeof(made));
	made.segments = 1;
	made.segment[0].level = PROT_MIRROR;
	made.members = N;
	made.spares = 1;
	for (u32 i = 0; i < N; i++)
		made.member[i].extent = member[i].extent;
	stored = (struct store_volume) { .uuid = { { 1 } }, .name = "data", .version = 4, .attached = true,
					 .state = STORE_LIVE };
	group[0].roles[1] = MESHBLK_ROLE_OUT;
	out_since = at;
	busy = evicting = fails = late_failure = false;
	commands = warned = reports = 0;
	D.spare_delay = 10;
	spare_done();
	spare_done();
}

/* A pass at @ms, and the thread that it starts, if any; whether there was one. */
static bool pass(u64 ms)
{
	bool began;

	clock_ms = ms;
	spare_check(&stored, &kernel, ms);
	spare_done();
	began = thread_fn;
	if (began)
		thread_fn(thread_arg);
	thread_fn = NULL;
	return began;
}

static void test_used(void)
{
	lose(5000);
	CU_ASSERT(!pass(5000) && !pass(14999) && !commands);
	CU_ASSERT(pass(15000) && commands == 1 && reports == 1 && !warned);
	CU_ASSERT(latest.kind == EVENT_SPARE && !strcmp(latest.member, "1") && latest.drive.b[1] == 9);
	CU_ASSERT_PTR_NOT_NULL(strstr(latest.text, "member 1 now; 0 of 1 spares are left"));
	CU_ASSERT_STRING_EQUAL(latest.volume, "data");
	/* Lost again, but there is no spare left; with spare = auto there is always one. */
	made.member[1].extent = member[1].extent;
	CU_ASSERT(!pass(90000) && commands == 1);
	D.spare_auto = true;
	CU_ASSERT(pass(90000) && commands == 2);
	D.spare_auto = false;
	/* Back before the delay is over. */
	lose(5000);
	out_since = 0;
	group[0].roles[1] = MESHBLK_ROLE_JOINING;
	CU_ASSERT(!pass(20000));
}

/* What a command would be refused for, or wait for. */
static void test_not_ready(void)
{
	for (u32 i = 0; i < 11; i++) {
		lose(5000);
		busy = i == 1;
		stored.pending = i == 2;
		stored.readonly = i == 3;
		stored.attached = i != 4;
		kernel.version -= i == 5;
		strcpy(kernel.state, i == 6 ? MESHBLK_STATE_WAITING : MESHBLK_STATE_ACTIVE);
		made.spares -= i == 7;
		group[1].scrubbing = i == 8;
		evicting = i == 9;
		/* The member that took its place last does not have it yet. */
		group[0].waits = i == 10 ? 1 << 1 : 0;
		CU_ASSERT_EQUAL(pass(20000), !i);
	}
}

/* Said once, tried again in a while or when drives may have come, and said again when it is another reason. */
static void test_no_drive(void)
{
	lose(5000);
	fails = true;
	CU_ASSERT(pass(15000) && warned == 1 && !reports);
	CU_ASSERT_PTR_NOT_NULL(strstr(warning, "volume data: member 1 is lost, and no spare is used for it: no "
				      "exported drive"));
	/* A command at work in between is no reason to forget that. */
	busy = true;
	CU_ASSERT(!pass(16000));
	busy = false;
	CU_ASSERT(!pass(15000 + SPARE_AGAIN_MS - 1));
	CU_ASSERT(pass(15000 + SPARE_AGAIN_MS) && warned == 1 && commands == 2);
	CU_ASSERT(!pass(80000));
	spare_again();
	CU_ASSERT(pass(80001) && warned == 1 && commands == 3);
	fails = false;
	spare_again();
	CU_ASSERT(pass(90000) && warned == 1 && reports == 1);
	/* It failed when all was written already. */
	lose(5000);
	fails = late_failure = true;
	CU_ASSERT(pass(15000) && !warned && reports == 1);
}

/* The second thread is not begun while the first one works. */
static void test_one(void)
{
	void *(*fn)(void *);

	lose(5000);
	spare_check(&stored, &kernel, 20000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(thread_fn);
	fn = thread_fn;
	thread_fn = NULL;
	spare_done();
	spare_done();
	spare_check(&stored, &kernel, 22000);
	CU_ASSERT_PTR_NULL(thread_fn);
	fn(thread_arg);
	CU_ASSERT_EQUAL(commands, 1);
	spare_done();
	spare_done();
	CU_ASSERT_PTR_NULL(spares);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "which member is due, in every state", test_due },
		{ "which volumes may", test_allowed },
		{ "a spare is used", test_used },
		{ "not while something else is at work", test_not_ready },
		{ "no drive fits", test_no_drive },
		{ "one at a time", test_one },
		{ NULL, NULL },
	};

	return suite_main("spare", tests);
}
