// SPDX-License-Identifier: GPL-2.0-only
/*
 * An agent, or its host, dies at each operation and transaction of a story in turn, before it takes
 * effect or behind it: what must never be seen is not seen (attach_rig.h), and the story ends.
 */
#include "tests/unit/attach_rig.h"

typedef void (*story)(bool dies);

/* Attach, a new version, bars, detach; then readers. */
static void life(bool dies)
{
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT(holds(0));
	VOLUME(.version = 2, .members = 3, .barred = 1, .bar = { 1 });
	for (u32 i = 0; i < 3; i++)
		recorded(i, 2);
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT_EQUAL(W.h[0].k.l.version, 2);
	CU_ASSERT_EQUAL(W.h[0].k.barred, 1);
	VOLUME(.version = 2, .members = 3);
	settle();
	CU_ASSERT_EQUAL(W.h[0].k.barred, 0);
	WANT(0, PLAN_NONE);
	settle();
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT_PTR_NULL(W.h[0].record);
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
	CU_ASSERT(access_now()->clean || dies);
	CU_ASSERT_PTR_NULL(seen(KEY_WANT, 0));
	CU_ASSERT_PTR_NULL(seen(KEY_WRITER, 0));
	CU_ASSERT_PTR_NULL(seen(KEY_STATUS, 0));
}

/* Preempted, by a host that is alive; then a retake after recover. */
static void taken(bool dies)
{
	const struct obj_want *w;

	(void)dies;
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT(serves(0));
	WANT(1, PLAN_RW, .preempt = true);
	settle();
	/* A crash may have lost that it was to preempt, and then it is refused. */
	if (!serves(1)) {
		CU_ASSERT(W.h[1].k.there || serves(0) || !holds(1));
		WANT(1, PLAN_RW, .preempt = true);
		settle();
	}
	CU_ASSERT(serves(1));
	CU_ASSERT(holds(1));
	CU_ASSERT_FALSE(serves(0));
	CU_ASSERT_FALSE(W.h[0].k.there);
	CU_ASSERT_PTR_NULL(W.h[0].record);
	w = seen(KEY_WANT, 0);
	CU_ASSERT(w && w->mode == PLAN_RW);
	put_access(PLAN_NONE, 0, mesh_number(2, 40, 0), false);
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT(holds(1));
	CU_ASSERT(mesh_number_generation(W.h[1].k.number) == 2);
	CU_ASSERT_EQUAL(acc(W.h[1].k.number), access_now()->number);
}

static void readers(bool dies)
{
	(void)dies;
	VOLUME(.level = PROT_MIRROR, .fresh = true);
	put_access(PLAN_NONE, 0, mesh_number(1, 3, 0), true);
	WANT(1, PLAN_RO);
	WANT(2, PLAN_RO);
	settle();
	CU_ASSERT(serves(1));
	CU_ASSERT(serves(2));
	WANT(1, PLAN_NONE);
	WANT(2, PLAN_NONE);
	settle();
	CU_ASSERT_FALSE(W.h[1].k.there || W.h[2].k.there);
	CU_ASSERT_PTR_NULL(copy_next(O, &(struct key) { .kind = KEY_READER, .volume = vid() }, 1, NULL));
	CU_ASSERT_FALSE(W.h[1].record || W.h[2].record);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT_FALSE(((const struct obj_volume *)seen(KEY_VOLUME, 0))->plan.fresh);
	CU_ASSERT_FALSE(W.h[0].k.fresh);
}

/* A host that starts without the store. */
static void alone(bool dies)
{
	(void)dies;
	VOLUME(0);
	WANT(0, PLAN_RW);
	settle();
	CU_ASSERT(serves(0));
	host_restart(0, true);
	W.h[0].away = true;
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT_EQUAL(acc(W.h[0].k.number), access_now()->number);
	W.h[0].away = false;
	settle();
	CU_ASSERT(serves(0));
	CU_ASSERT(holds(0));
	WANT(0, PLAN_NONE);
	settle();
	CU_ASSERT_PTR_NULL(W.h[0].record);
	CU_ASSERT_EQUAL(access_now()->mode, PLAN_NONE);
}

/* Return: false: it failed, or the story has fewer operations. */
static bool crash(story play, int at, unsigned int how)
{
	int left;

	rig_start();
	W.crash_at = at;
	W.crash_behind = how & 1;
	W.crash_host = how & 2;
	W.crash_next = how & 4 ? 1 + at % 5 : 0;
	play(true);
	left = W.crash_next ? 1 : how & 4 ? 0 : W.crash_at;
	rig_stop();
	if (!CU_get_number_of_failures())
		return !left;
	printf("died at operation %d, %s, %s%s\n", at, how & 1 ? "behind" : "before",
	       how & 2 ? "the host" : "the agent", how & 4 ? ", twice" : "");
	return false;
}

static void each_crash(story play)
{
	for (unsigned int how = 0; how < 8; how++) {
		int at = 1;

		/* Two deaths: those of each third operation. */
		while (at < 200 && crash(play, at, how))
			at += how & 4 ? 3 : 1;
		CU_ASSERT(at > 8 && at < 200);
	}
	rig_start();
	W.slow = true;
	play(false);
	rig_stop();
}

static void t_life(void)
{
	each_crash(life);
}

static void t_taken(void)
{
	each_crash(taken);
}

static void t_readers(void)
{
	each_crash(readers);
}

static void t_alone(void)
{
	each_crash(alone);
}

static const struct rig_test tests[] = {
	{ "attach, change, detach", t_life },
	{ "preempt, retake", t_taken },
	{ "readers", t_readers },
	{ "by the record", t_alone },
};

int main(void)
{
	return rig_main("agent_attach_crash", tests, sizeof(tests) / sizeof(tests[0]));
}
