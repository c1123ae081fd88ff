// SPDX-License-Identifier: GPL-2.0-only
/* The store was put back: nothing is decided, what is attached stays, and a detach of now ends it. */
#include "tests/unit/attach_rig.h"

static void attached(int h)
{
	WANT(h, PLAN_RW);
	settle();
	CU_ASSERT_FATAL(serves(h));
}

/* A store that was put back: nothing is decided. A detach that is requested since ends the kernel. */
static void t_stopped(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	attach_may(W.h[0].a, true, W.h[0].lease);
	attach_may(W.h[1].a, true, W.h[1].lease);
	rig_erase(O, &(struct key) { .kind = KEY_WANT, .host = hid(0), .volume = vid() });
	WANT(1, PLAN_RO);
	put_access(PLAN_NONE, 0, mesh_number(0, 1, 0), true);
	W.h[0].k.number |= 1;		/* so that access is none, and clean, by a store that was put back */
	put_access(PLAN_RW, 2, mesh_number(0, 3, 0), false);
	W.h[2].dead = true;
	VOLUME(.version = 2);
	recorded(0, 2);
	recorded(1, 2);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(serves(0));
	CU_ASSERT_FALSE(W.h[1].k.there);
	put_access(PLAN_RW, 0, mesh_number(0, 1, 0), false);
	WANT(0, PLAN_NONE);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 ");
	CU_ASSERT(holds(0));
	CU_ASSERT(status_is(0, "detached", "cluster recover"));
	attach_may(W.h[0].a, false, W.h[0].lease);
	settle();
	CU_ASSERT(access_now()->clean);
	CU_ASSERT(!seen(KEY_STATUS, 0) && !seen(KEY_WANT, 0));
	W.h[2].dead = false;
	rig_stop();
}

/* A kernel that was fenced meanwhile stays as it is. */
static void t_stopped_fenced(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	attach_may(W.h[0].a, true, W.h[0].lease);
	W.t[0].number = mesh_number(0, 9, 0);
	W.t[0].attacher = 3;
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(W.h[0].k.fenced);
	CU_ASSERT_FALSE(((const struct obj_want *)seen(KEY_WANT, 0))->fenced);
	attach_may(W.h[0].a, false, W.h[0].lease);
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT(status_is(0, "fenced", NULL));
	rig_stop();
}

/* ... but a want of before is not a request of now. */
static void t_stopped_old(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	W.h[0].away = true;
	WANT(0, PLAN_NONE);
	rig_catch_up(W.h[0].c);
	W.h[0].away = false;
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(serves(0));
	rig_stop();
}

/*
 * A detach counts that came after the store was put back, whatever revisions were seen before; after it
 * was put back again to another state what is in it is of before.
 */
static void t_stopped_fallen(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	W.fallen = 1000;
	strcpy(W.is.id, "older");
	W.is.term = 7;
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(serves(0));
	WANT(0, PLAN_NONE);
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 ");
	rig_stop();
	for (int what = 0; what < 2; what++) {
		rig_start();
		VOLUME(0);
		attached(0);
		strcpy(W.is.id, "older");
		W.is.term = 7;
		attach_may(W.h[0].a, true, W.h[0].lease);
		if (what)
			W.is.term--;
		else
			strcpy(W.is.id, "another");
		WANT(0, PLAN_NONE);
		attach_may(W.h[0].a, true, W.h[0].lease);
		CU_ASSERT_STRING_EQUAL(settle(), "");
		CU_ASSERT(serves(0));
		rig_stop();
	}
	/* Stopped a second time: what came in between is of before, and what comes now counts. */
	rig_start();
	VOLUME(0);
	attached(0);
	attach_may(W.h[0].a, true, W.h[0].lease);
	attach_may(W.h[0].a, false, W.h[0].lease);
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	WANT(0, PLAN_NONE);
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 ");
	rig_stop();
	/* The same file, with revisions that fall. */
	rig_start();
	VOLUME(0);
	attached(0);
	strcpy(W.is.id, "older");
	W.is.revision = 1000;
	attach_may(W.h[0].a, true, W.h[0].lease);
	W.is.revision = 0;
	attach_may(W.h[0].a, true, W.h[0].lease);
	WANT(0, PLAN_NONE);
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 ");
	rig_stop();
}

/* Before the store has said what it is no want counts. */
static void t_stopped_away(void)
{
	rig_start();
	VOLUME(0);
	attached(0);
	W.identity_err = -EIO;
	attach_may(W.h[0].a, true, W.h[0].lease);
	WANT(0, PLAN_NONE);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	CU_ASSERT(serves(0));
	W.identity_err = 0;
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "");
	W.identity_err = -EIO;
	WANT(0, PLAN_NONE);
	attach_may(W.h[0].a, true, W.h[0].lease);
	CU_ASSERT_STRING_EQUAL(settle(), "del1 erase1 ");
	rig_stop();
}

static const struct rig_test tests[] = {
	{ "stopped", t_stopped },
	{ "stopped, an old want", t_stopped_old },
	{ "stopped, revisions have fallen", t_stopped_fallen },
	{ "stopped, the store is away", t_stopped_away },
	{ "stopped, and fenced", t_stopped_fenced },
};

int main(void)
{
	return rig_main("agent_attach_stopped", tests, sizeof(tests) / sizeof(tests[0]));
}
