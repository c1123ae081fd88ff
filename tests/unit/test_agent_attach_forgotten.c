// SPDX-License-Identifier: GPL-2.0-only
/* Drives that were forgotten, and hosts that have records of them. */
#include "tests/unit/attach_rig.h"

static void attached(int h)
{
	WANT(h, PLAN_RW);
	settle();
	CU_ASSERT_FATAL(serves(h));
}

/* The layout has another extent in place of member 1, on a drive that is forgotten; host 3 alone may attach. */
static void forget_member(bool forgotten)
{
	struct muuid allow = hid(2);
	struct obj_volume v;
	struct obj_drive d;
	struct layout l;

	rig_catch_up(O);
	v = *(const struct obj_volume *)copy_obj(O, &(struct key) { .kind = KEY_VOLUME, .volume = vid() });
	d = *(const struct obj_drive *)copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = rig_id('d', 2) });
	l = *v.record;
	l.version = 2;
	l.member[1].extent = rig_id('z', 1);
	v.record = &l;
	v.plan.allow = &allow;
	v.plan.allows = 1;
	rig_put(O, KEY_VOLUME, &v);
	d.plan.wanted = forgotten ? PLAN_FORGOTTEN : PLAN_IN;
	d.plan.extents = 0;
	rig_put(O, KEY_DRIVE, &d);
}

/* A reader's record names a member that was forgotten while its host was off: it goes before it counts again. */
static void t_away_forgotten(void)
{
	for (int forgotten = 0; forgotten < 2; forgotten++) {
		rig_start();
		VOLUME(.level = PROT_MIRROR);
		attached(0);
		WANT(0, PLAN_NONE);
		settle();
		WANT(1, PLAN_RO);
		settle();
		CU_ASSERT(serves(1));
		forget_member(forgotten);
		host_restart(1, true);
		settle();
		CU_ASSERT_FALSE(W.h[1].k.there);
		CU_ASSERT_EQUAL(!W.h[1].record, forgotten);
		W.h[1].away = true;
		settle();
		CU_ASSERT_EQUAL(W.h[1].k.there, !forgotten);
		/* the layout of the day has a member there as well, by an extent that no label bears */
		recorded(0, 2);
		WANT(2, PLAN_RO);
		settle();
		CU_ASSERT_PTR_NOT_NULL(W.h[2].record);
		host_restart(2, true);
		CU_ASSERT_FALSE(word(settle(), "erase"));
		rig_stop();
	}
}

static const struct rig_test tests[] = {
	{ "without the store: a record of what was forgotten", t_away_forgotten },
};

int main(void)
{
	return rig_main("agent_attach_forgotten", tests, sizeof(tests) / sizeof(tests[0]));
}
