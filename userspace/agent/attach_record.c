// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host's record of an attached volume, which is durable before the kernel gets what it says.
 *
 *   volume/V, access/V, roster/V, the kernel ---> the record as it is to be ---> record_put() ---> set()
 *
 * A barred place stays barred in the kernel until roster/V does not confirm it any more: else a change
 * would be decided by a bar that has ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"
#include "userspace/format/view.h"
#include "userspace/plan/change.h"

static bool present(const struct attach_vol *v)
{
	return v->k.state == ATTACH_OPENING || v->k.state == ATTACH_SERVING;
}

/* A version that the kernel which bars does not have yet keeps all bars: it ends what they are for. */
static bool behind(const struct attach_vol *v, const struct attach_objects *o)
{
	return v->k.version != o->volume->plan.layout.version;
}

/* True if roster/V, of this attachment, confirms that the kernel bars the place. */
static bool confirmed(const struct attach_vol *v, const struct attach_objects *o, u16 place)
{
	return o->roster && mesh_number_access(o->roster->plan.number) == mesh_number_access(v->k.number) &&
	       plan_place_in(o->roster->plan.bar, o->roster->plan.barred, place);
}

static bool to_bar(const struct attach_vol *v, const struct attach_objects *o, u16 place)
{
	if (plan_place_in(o->volume->plan.bar, o->volume->plan.barred, place))
		return true;
	if (!present(v) || !plan_place_in(v->k.bar, v->k.barred, place))
		return false;
	return behind(v, o) || confirmed(v, o, place);
}

u32 attach_confirms(const struct attach_vol *v, const struct attach_objects *o, u16 *bar)
{
	u32 n = 0;

	for (u32 i = 0; i < v->k.barred; i++) {
		u16 place = v->k.bar[i];
		bool wanted = plan_place_in(o->volume->plan.bar, o->volume->plan.barred, place);

		/* What the record does not have any more may be lifted while this is written. */
		if (v->rec_has && plan_place_in(v->rec.plan.bar, v->rec.plan.barred, place) &&
		    (wanted || behind(v, o)))
			bar[n++] = place;
	}
	return n;
}

static int layout_copy(struct obj_attached *out, const struct layout *l, const struct obj_leaving *leaving,
		       u32 leavings)
{
	out->record = malloc(sizeof(*out->record));
	out->leaving = calloc(leavings + 1, sizeof(*leaving));
	if (!out->record || !out->leaving)
		return -ENOMEM;
	*out->record = *l;
	if (leavings)
		memcpy(out->leaving, leaving, leavings * sizeof(*leaving));
	out->leavings = leavings;
	return view_layout(l, leaving, leavings, &out->plan.layout);
}

static int bars_copy(struct obj_attached *out, const u16 *bar, u32 barred)
{
	u16 *own = calloc(barred + 1, sizeof(*own));

	if (!own)
		return -ENOMEM;
	if (barred)
		memcpy(own, bar, barred * sizeof(*own));
	out->plan.bar = own;
	out->plan.barred = barred;
	return 0;
}

static int facts_copy(struct obj_attached *out, const struct obj_attached *from)
{
	u16 *own = calloc(from->plan.forgottens + 1, sizeof(*own));

	out->left = calloc(from->lefts + 1, sizeof(*out->left));
	if (!own || !out->left) {
		free(own);
		return -ENOMEM;
	}
	for (u32 i = 0; i < from->plan.forgottens; i++)
		own[i] = from->plan.forgotten[i];
	for (u32 i = 0; i < from->lefts; i++)
		out->left[i] = from->left[i];
	out->plan.forgotten = own;
	out->plan.forgottens = from->plan.forgottens;
	out->lefts = from->lefts;
	return 0;
}

int attach_record_copy(const struct obj_attached *from, u64 number, struct obj_attached *out)
{
	int err;

	*out = (struct obj_attached) { .plan = { .volume = from->plan.volume, .mode = from->plan.mode,
						 .number = number },
				       .fresh = from->fresh, .io = from->io };
	err = layout_copy(out, from->record, from->leaving, from->leavings);
	if (!err)
		err = bars_copy(out, from->plan.bar, from->plan.barred);
	if (!err)
		err = facts_copy(out, from);
	if (err)
		obj_free(OBJ_ATTACHED, out);
	return err;
}

/* True if the volume's layout is a later one than the record's. */
static bool newer(const struct attach_vol *v, const struct plan_layout *l)
{
	if (!v->rec_has || !v->rec.record)
		return true;
	if (l->version != v->rec.record->version)
		return l->version > v->rec.record->version;
	return l->commit != v->rec.record->commit;
}

static const struct plan_extent *extent_of(const struct attach_vol *v, const struct plan_place *p)
{
	const struct key k = { .kind = KEY_DRIVE, .drive = p->drive };
	const struct obj_drive *d = muuid_null(&p->drive) ? NULL : copy_obj(v->a->copy, &k);

	for (u32 i = 0; d && i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, &p->extent))
			return &d->plan.extent[i];
	}
	return NULL;
}

/* The kernel has an earlier version: true if it may get that of the volume. */
static bool may_set(const struct attach_vol *v, const struct plan_layout *l)
{
	const struct plan_layout *has = v->rec_has && v->rec.record ? &v->rec.plan.layout : NULL;
	bool *recorded = calloc(l->places + 1, sizeof(*recorded)), ret;

	if (!recorded)
		return false;
	for (u32 i = 0; i < l->places; i++) {
		const struct plan_extent *x = extent_of(v, &l->place[i]);

		recorded[i] = x && plan_change_recorded(l, x->version, x->commit);
	}
	ret = plan_change_set(l, has, recorded);
	free(recorded);
	return ret;
}

/* Members whose record is the layout's may be opened. */
static void set_opens(const struct attach_vol *v, struct attach_aim *aim)
{
	const struct plan_layout *l = &v->rec.plan.layout;

	aim->some = false;
	memset(aim->open, 0, sizeof(aim->open));
	for (u32 i = 0; i < l->places; i++) {
		const struct plan_extent *x = extent_of(v, &l->place[i]);

		aim->open[i] = x && plan_change_opens(l, x->version, x->commit);
		aim->some = aim->some || !aim->open[i];
	}
}

/* The layout of volume/V; a kernel that begins with it opens what else the store has of the volume. */
static int next_copy(const struct attach_vol *v, const struct attach_objects *o, struct obj_attached *out)
{
	const struct obj_volume *x = o->volume;
	struct obj_leaving *leaving;
	u32 n;
	int err;

	if (present(v))
		return layout_copy(out, x->record, x->leaving, x->leavings);
	err = attach_leavings(v, o, &leaving, &n);
	if (!err)
		err = layout_copy(out, x->record, leaving, n);
	free(leaving);
	return err;
}

/* The record as it is to be, or -EAGAIN: the kernel is not to have the new version yet. */
static int record_make(const struct attach_vol *v, const struct attach_objects *o, u8 mode, u64 number,
		       struct obj_attached *out)
{
	const struct obj_volume *x = o->volume;
	/* What is attached now begins with the layout that its transaction has compared. */
	bool next = !present(v) || newer(v, &x->plan.layout);
	u16 bar[PROT_MEMBERS_MAX];
	u32 barred = 0;
	int err;

	if (next && present(v) && (v->evict.what != PLAN_E_SET || !may_set(v, &x->plan.layout))) {
		if (!v->rec_has || !v->rec.record)
			return -EAGAIN;
		next = false;
	}
	*out = (struct obj_attached) { .plan = { .volume = v->id, .mode = mode, .number = number }, .io = x->io,
				       .fresh = x->plan.fresh };
	if (next) {
		err = next_copy(v, o, out);
	} else {
		err = layout_copy(out, v->rec.record, v->rec.leaving, v->rec.leavings);
		out->fresh = out->fresh && layout_fresh(v->rec.record);
	}
	for (u32 i = 0; !err && i < out->record->members && mode == PLAN_RW; i++) {
		if (to_bar(v, o, i))
			bar[barred++] = i;
	}
	if (!err)
		err = bars_copy(out, bar, barred);
	if (!err)
		err = attach_facts(v, out);
	if (err)
		obj_free(OBJ_ATTACHED, out);
	return err;
}

static bool facts_same(const struct obj_attached *a, const struct obj_attached *b)
{
	if (a->lefts != b->lefts || a->plan.forgottens != b->plan.forgottens)
		return false;
	for (u32 i = 0; i < a->lefts; i++) {
		if (!muuid_equal(&a->left[i].extent, &b->left[i].extent) ||
		    !muuid_equal(&a->left[i].target, &b->left[i].target))
			return false;
	}
	for (u32 i = 0; i < a->plan.forgottens; i++) {
		if (a->plan.forgotten[i] != b->plan.forgotten[i])
			return false;
	}
	return true;
}

static bool record_same(const struct obj_attached *a, const struct obj_attached *b)
{
	if (!a->record || !b->record || a->plan.mode != b->plan.mode || a->plan.number != b->plan.number ||
	    a->fresh != b->fresh || a->record->version != b->record->version ||
	    a->record->commit != b->record->commit || a->plan.barred != b->plan.barred ||
	    a->leavings != b->leavings || memcmp(&a->io, &b->io, sizeof(a->io)) || !facts_same(a, b))
		return false;
	for (u32 i = 0; i < a->leavings; i++) {
		if (a->leaving[i].place != b->leaving[i].place ||
		    !muuid_equal(&a->leaving[i].extent, &b->leaving[i].extent))
			return false;
	}
	return !a->plan.barred || !memcmp(a->plan.bar, b->plan.bar, a->plan.barred * sizeof(*a->plan.bar));
}

int attach_follow(struct attach_vol *v, const struct attach_objects *o, u8 mode, u64 number,
		  const struct attach_aim *aim)
{
	struct attach_aim next = *aim;
	struct obj_attached r;
	int err = record_make(v, o, mode, number, &r);

	if (err)
		return err == -EAGAIN ? 0 : err;
	if (!v->rec_has || !record_same(&v->rec, &r)) {
		v->put = r;
		return attach_begin(v, ATTACH_PUTS);
	}
	obj_free(OBJ_ATTACHED, &r);
	/* The daemon before recorded a version that the kernel has not swapped to, and the copy has ended. */
	if (v->evict.what != PLAN_E_SET && v->k.version != v->rec.record->version)
		return 0;
	if (mode == PLAN_RW)
		set_opens(v, &next);
	if (v->set == attach_sum(v, &next))
		return 0;
	v->aim = next;
	return attach_begin(v, ATTACH_SETS);
}
