// SPDX-License-Identifier: GPL-2.0-only
/* Attach, readers, HELD, preempt, detach: the agent of attachments on three hosts. */
#include "tests/unit/attach_rig.h"

static void t_life(void)
{
	struct obj_attached r;

	rig_start();
	VOLUME();
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

static const struct rig_test tests[] = {
	{ "life", t_life },
};

int main(void)
{
	return rig_main("agent_attach", tests, sizeof(tests) / sizeof(tests[0]));
}
