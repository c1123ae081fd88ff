// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/change.h"
#include "userspace/plan/forget.h"
#include "userspace/plan/mutant.h"

enum plan_verdict plan_forget(const struct plan_volume *volume, const struct plan_access *access,
			      u32 readers, bool stopped, struct plan_txn *t)
{
	if (stopped)
		return PLAN_STOPPED;
	if (volume->state != PLAN_VOLUME_READY)
		return PLAN_NOT_READY;
	if (access->mode == PLAN_RW && !plan_mutant(PLAN_MUT_FORGET_HELD))
		return PLAN_HELD;
	if (readers)
		return PLAN_READ;
	*t = (struct plan_txn) {
		.compare = PLAN_OBJ_LEADER | PLAN_OBJ_VOLUME | PLAN_OBJ_ACCESS | PLAN_OBJ_DRIVES,
		.put = PLAN_OBJ_VOLUME | PLAN_OBJ_DRIVES,
	};
	return PLAN_GO;
}

bool plan_forget_drops(const struct plan_attached *r, const struct muuid *extent)
{
	return r->mode != PLAN_NONE && plan_layout_names(&r->layout, extent) &&
	       !plan_mutant(PLAN_MUT_FORGET_RECORD);
}

bool plan_given_up(const struct plan_group_found *g)
{
	u64 in = g->found->in_sync;

	if (__builtin_popcountll(in & g->found_opened) < g->data)
		return false;
	if (plan_mutant(PLAN_MUT_FORGET_ANY))
		return g->found_forgotten || g->noted_forgotten;
	if (g->away && !plan_mutant(PLAN_MUT_FORGET_AWAY))
		return false;
	if (in & ~g->found_opened & ~g->found_forgotten)
		return false;
	if (!g->noted || plan_roster_cmp(g->noted, g->found) <= 0 || plan_mutant(PLAN_MUT_FORGET_FOUND))
		return true;
	return !(g->noted->in_sync & ~g->noted_opened & ~g->noted_forgotten);
}
