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

static const struct plan_forget_volume *volume_of(const struct plan_forget_drive *f, const struct muuid *uuid)
{
	for (u32 i = 0; i < f->volumes; i++) {
		if (muuid_equal(&f->volume[i].volume->uuid, uuid))
			return &f->volume[i];
	}
	return NULL;
}

static void judge(const struct plan_forget_drive *f, const struct muuid *volume, struct plan_forget_step *s)
{
	const struct plan_forget_volume *v = volume_of(f, volume);

	*s = (struct plan_forget_step) { .what = PLAN_F_WAIT, .volume = *volume };
	if (!v || v->volume->state == PLAN_DELETING) {
		s->what = PLAN_F_DROP;
		return;
	}
	s->verdict = v->busy ? PLAN_WAIT : plan_forget(v->volume, v->access, v->readers, f->stopped, &s->txn);
	if (s->verdict == PLAN_GO)
		s->what = PLAN_F_VOLUME;
}

/* The first volume that may be changed; before the first change all of them must be. */
static void volumes(const struct plan_forget_drive *f, struct plan_forget_step *s)
{
	bool begun = f->drive->wanted == PLAN_FORGOTTEN;
	struct plan_forget_step at;

	s->what = begun ? PLAN_F_END : PLAN_F_MARK;
	for (u32 i = 0; i < f->drive->extents; i++) {
		judge(f, &f->drive->extent[i].volume, &at);
		if (at.what == PLAN_F_WAIT && !begun) {
			*s = at;
			return;
		}
		if (!i || (s->what == PLAN_F_WAIT && at.what != PLAN_F_WAIT))
			*s = at;
	}
}

void plan_forget_drive(const struct plan_forget_drive *f, struct plan_forget_step *s)
{
	*s = (struct plan_forget_step) { .what = PLAN_F_WAIT, .verdict = PLAN_STOPPED };
	if (f->stopped)
		return;
	if (!f->drive)
		s->what = PLAN_F_FAIL;
	else if (f->cancel && f->drive->wanted != PLAN_FORGOTTEN)
		s->what = PLAN_F_END;
	else
		volumes(f, s);
}

bool plan_forget_drops(const struct plan_attached *r, const struct muuid *extent)
{
	return r->mode != PLAN_NONE && plan_layout_names(&r->layout, extent) &&
	       !plan_mutant(PLAN_MUT_FORGET_RECORD);
}

bool plan_forgotten(const struct plan_drive *drive, const struct muuid *extent)
{
	if (!drive || drive->wanted == PLAN_FORGOTTEN)
		return true;
	for (u32 i = 0; i < drive->extents; i++) {
		if (muuid_equal(&drive->extent[i].uuid, extent))
			return false;
	}
	return true;
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
