// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/plan/change.h"
#include "userspace/plan/extent.h"
#include "userspace/plan/mutant.h"
#include "userspace/plan/setback.h"

/* A transaction of the agent: drive/D is as it was read, so the extent and the host are, too. */
static enum plan_extent_step txn(enum plan_extent_step step, struct plan_txn *t)
{
	*t = (struct plan_txn) { .compare = PLAN_OBJ_DRIVES, .put = PLAN_OBJ_DRIVES };
	if (plan_mutant(PLAN_MUT_EXTENT_TXN))
		t->compare = 0;
	return step;
}

/* The record is durable before the label has its version. */
static enum plan_extent_step roll(const struct plan_slot *s, const struct plan_layout *l)
{
	bool record = !plan_change_recorded(l, s->record_version, s->record_commit);
	bool label = !plan_change_recorded(l, s->version, s->commit);

	if (label && (!record || plan_mutant(PLAN_MUT_EXTENT_VERSION)))
		return PLAN_X_ROLL;
	return record ? PLAN_X_RECORD : PLAN_X_NONE;
}

static enum plan_extent_step ready(const struct plan_extent_facts *f, struct plan_txn *t)
{
	const struct plan_slot *s = f->slot;
	bool named;

	if (!s)
		return PLAN_X_LOST;
	named = f->volume && f->volume->state == PLAN_VOLUME_READY &&
		plan_layout_names(&f->volume->layout, &s->extent);
	if (named && roll(s, &f->volume->layout) != PLAN_X_NONE)
		return roll(s, &f->volume->layout);
	if (named && (f->key->version != s->record_version || f->key->commit != s->record_commit))
		return txn(PLAN_X_RECORDED, t);
	return PLAN_X_NONE;
}

static enum plan_extent_step wanted(const struct plan_extent_facts *f, struct plan_txn *t)
{
	if (f->over && !plan_mutant(PLAN_MUT_EXTENT_OVER))
		return PLAN_X_OVER;
	if (!f->slot)
		return PLAN_X_ADD;
	if (!f->slot->zeroed && !plan_mutant(PLAN_MUT_EXTENT_UNZEROED))
		return PLAN_X_ZERO;
	/* Of a new volume the first record comes before: ready and recorded are one transaction. */
	if (f->volume && f->volume->state == PLAN_CREATING &&
	    plan_layout_names(&f->volume->layout, &f->slot->extent) &&
	    roll(f->slot, &f->volume->layout) != PLAN_X_NONE)
		return roll(f->slot, &f->volume->layout);
	return txn(PLAN_X_READY, t);
}

static enum plan_extent_step freeing(const struct plan_extent_facts *f, struct plan_txn *t)
{
	const struct plan_slot *s = f->slot;

	/* Another extent in its place is removed by a plan that does not compare them. */
	if (!s && plan_mutant(PLAN_MUT_EXTENT_ANY))
		s = f->over;
	if (!s || plan_mutant(PLAN_MUT_EXTENT_KEY))
		return txn(PLAN_X_ERASE, t);
	if (plan_mutant(PLAN_MUT_EXTENT_BEHIND))
		return PLAN_X_REMOVE;
	if (!f->fresh)
		return PLAN_X_FRESH;
	/* Named again, since the key was read: by recover. */
	if (f->volume && f->volume->state == PLAN_VOLUME_READY &&
	    plan_layout_names(&f->volume->layout, &s->extent))
		return PLAN_X_STOP;
	return PLAN_X_REMOVE;
}

enum plan_extent_step plan_extent_step(const struct plan_extent_facts *f, struct plan_txn *t)
{
	*t = (struct plan_txn) { 0 };
	if (!f->here) {
		if (f->key && f->key->state == PLAN_FREEING && plan_mutant(PLAN_MUT_EXTENT_ABSENT))
			return txn(PLAN_X_ERASE, t);
		return PLAN_X_NONE;
	}
	if (f->stopped)
		return PLAN_X_STOP;
	if (f->forgotten && !plan_mutant(PLAN_MUT_EXTENT_FORGOTTEN))
		return PLAN_X_NONE;
	if (f->slot && plan_label_above(f->slot, f->label_generation, f->cluster, f->volume, f->access))
		return PLAN_X_STOP;
	if (!f->key) {
		if (!f->slot || plan_mutant(PLAN_MUT_EXTENT_UNKNOWN))
			return PLAN_X_NONE;
		return f->fresh ? txn(PLAN_X_ADOPT, t) : PLAN_X_FRESH;
	}
	switch (f->key->state) {
	case PLAN_WANTED:
		return wanted(f, t);
	case PLAN_READY:
		return ready(f, t);
	case PLAN_FREEING:
		return freeing(f, t);
	}
	return PLAN_X_STOP;
}

bool plan_take_may(u64 taken, u64 view)
{
	return view >= taken || plan_mutant(PLAN_MUT_TAKE_BEHIND);
}
