// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/drive.h"
#include "userspace/format/view.h"
#include "userspace/plan/setback.h"

#define DRIVE_TXN_MS	5000

/* One extent of drive/D, of the label, or of both. */
struct one {
	struct drive_agent *a;
	struct muuid extent, volume_id;
	struct plan_extent_facts f;
	const struct obj_volume *volume;
	const struct label_extent *e;		/* in the label */
	struct plan_slot slot, over;
};

static struct key drive_key(const struct drive_agent *a)
{
	return (struct key) { .kind = KEY_DRIVE, .drive = a->drive };
}

static const struct obj_drive *object(const struct drive_agent *a)
{
	struct key k = drive_key(a);

	return copy_obj(a->copy, &k);
}

int drive_begin(struct drive_agent *a)
{
	struct key k = drive_key(a);
	int err = copy_fresh(a->copy, &k);

	a->begun = !err;
	return err;
}

/* Another extent of the label in the key's bytes. */
static const struct label_extent *over(const struct label *l, const struct plan_extent *key)
{
	for (u32 i = 0; l && i < l->extents; i++) {
		const struct label_extent *e = &l->extent[i];

		if (!muuid_equal(&e->uuid, &key->uuid) && e->start < key->start + key->length &&
		    key->start < e->start + e->length)
			return e;
	}
	return NULL;
}

static void slot_of(const struct drive_agent *a, const struct label_extent *e, struct plan_slot *s)
{
	struct layout_head head;

	view_slot(e, a->ops->record(a->dev, e, &head) ? NULL : &head, s);
}

static const void *about(const struct one *o, enum key_kind kind)
{
	return copy_obj(o->a->copy, &(struct key) { .kind = kind, .volume = o->volume_id });
}

/* What plan_extent_step() decides from, as the copy and the label are now. */
static void look(struct one *o)
{
	const struct label *l = o->a->ops->label(o->a->dev);
	const struct obj_drive *d = object(o->a);
	const struct obj_cluster *c = copy_obj(o->a->copy, &(struct key) { .kind = KEY_CLUSTER });
	const struct obj_access *access;
	bool fresh = o->f.fresh;

	o->f = (struct plan_extent_facts) { .stopped = o->a->stopped, .fresh = fresh,
					    .cluster = c ? &c->plan : NULL };
	/* A cluster key that is away or refused says nothing of generations. */
	o->f.stopped = o->f.stopped || !c;
	o->f.forgotten = d && d->plan.wanted == PLAN_FORGOTTEN;
	o->f.here = l && d && muuid_equal(&d->plan.host, &o->a->host);
	for (u32 i = 0; d && i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, &o->extent))
			o->f.key = &d->plan.extent[i];
	}
	o->e = l ? label_find(l, &o->extent) : NULL;
	if (o->e) {
		slot_of(o->a, o->e, &o->slot);
		o->f.slot = &o->slot;
	}
	if (o->f.key && over(l, o->f.key)) {
		slot_of(o->a, over(l, o->f.key), &o->over);
		o->f.over = &o->over;
	}
	o->volume_id = o->f.key ? o->f.key->volume : o->slot.volume;
	o->volume = muuid_null(&o->volume_id) ? NULL : about(o, KEY_VOLUME);
	access = muuid_null(&o->volume_id) ? NULL : about(o, KEY_ACCESS);
	o->f.volume = o->volume ? &o->volume->plan : NULL;
	o->f.access = access ? &access->plan : NULL;
	if (l)
		o->f.label_generation = l->generation;
}

/* Keys that decide over a removal, or an adoption, are read from the store itself. */
static int read_again(struct one *o)
{
	const struct key keys[] = {
		drive_key(o->a), { .kind = KEY_CLUSTER },
		{ .kind = KEY_VOLUME, .volume = o->volume_id }, { .kind = KEY_ACCESS, .volume = o->volume_id },
	};
	int nr = muuid_null(&o->volume_id) ? 2 : 4, err = 0;

	for (int i = 0; i < nr && !err; i++)
		err = copy_fresh(o->a->copy, &keys[i]);
	o->f.fresh = !err;
	return err;
}

/* An edit of the label, which others may read meanwhile. */
static struct label *label_copy(const struct one *o)
{
	const struct label *l = o->a->ops->label(o->a->dev);
	struct label *out = l ? malloc(sizeof(*out)) : NULL;

	if (out)
		memcpy(out, l, sizeof(*out));
	return out;
}

static int label_done(const struct one *o, struct label *l)
{
	int err = l ? label_check(l) : -ENOMEM;

	if (!err)
		err = o->a->ops->label_write(o->a->dev, l);
	free(l);
	return err;
}

int drive_mark(struct drive_agent *a, u32 generation)
{
	struct one o = { .a = a };
	struct label *l = label_copy(&o);

	if (!l)
		return a->ops->label(a->dev) ? -ENOMEM : -ENODEV;
	if (l->generation >= generation) {
		free(l);
		return 0;
	}
	l->generation = generation;
	return label_done(&o, l);
}

static int add(const struct one *o)
{
	const struct plan_extent *x = o->f.key;
	struct label *l = label_copy(o);
	struct label_extent *e;
	u32 at = 0;

	if (!l || l->extents == LABEL_EXTENTS_MAX) {
		free(l);
		return l ? -ENOSPC : -ENOMEM;
	}
	while (at < l->extents && l->extent[at].start < x->start)
		at++;
	e = &l->extent[at];
	memmove(e + 1, e, (l->extents++ - at) * sizeof(*e));
	*e = (struct label_extent) { .uuid = x->uuid, .volume = x->volume, .start = x->start,
				     .length = x->length, .state = LABEL_ZEROING };
	if (o->volume)
		snprintf(e->name, sizeof(e->name), "%.*s", LABEL_NAME - 1, o->volume->record->name);
	return label_done(o, l);
}

static int roll(const struct one *o)
{
	struct label *l = label_copy(o);
	struct label_extent *e = l ? label_find(l, &o->extent) : NULL;

	if (e) {
		e->version = o->volume->record->version;
		e->commit = o->volume->record->commit;
	}
	return label_done(o, l);
}

/* The kernel first: no I/O under the extent may land when its bytes are another's. */
static int take_out(const struct one *o)
{
	int err = o->a->ops->table(o->a->dev, o->e);
	struct label *l = err ? NULL : label_copy(o);
	struct label_extent *e = l ? label_find(l, &o->extent) : NULL;

	if (err)
		return err;
	if (e)
		label_free(l, e);
	return label_done(o, l);
}

static u16 place_in(const struct one *o)
{
	for (u32 i = 0; o->volume && i < o->volume->record->members; i++) {
		if (muuid_equal(&o->volume->record->member[i].extent, &o->extent))
			return i;
	}
	return 0;
}

static struct plan_extent adopted(const struct one *o)
{
	return (struct plan_extent) { .uuid = o->extent, .volume = o->slot.volume, .place = place_in(o),
				      .state = o->slot.zeroed ? PLAN_READY : PLAN_WANTED,
				      .start = o->e->start, .length = o->e->length,
				      .version = o->slot.zeroed ? o->slot.record_version : 0,
				      .commit = o->slot.zeroed ? o->slot.record_commit : 0 };
}

/* drive/D with this extent as it is now: compared with the copy, so with what was decided from. */
static int write_object(const struct one *o, enum plan_extent_step what)
{
	const struct obj_drive *d = object(o->a);
	struct plan_extent *x = calloc(d->plan.extents + 1, sizeof(*x));
	struct obj_drive out = *d;
	struct deal deal;
	u32 n = 0;
	int ret;

	if (!x)
		return -ENOMEM;
	for (u32 i = 0; i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, &o->extent)) {
			if (what == PLAN_X_ERASE)
				continue;
			x[n] = d->plan.extent[i];
			x[n].state = PLAN_READY;
			x[n].version = o->slot.record_version;
			x[n].commit = o->slot.record_commit;
			n++;
		} else {
			x[n++] = d->plan.extent[i];
		}
	}
	if (what == PLAN_X_ADOPT)
		x[n++] = adopted(o);
	out.plan.extent = x;
	out.plan.extents = n;
	out.sequence = o->a->ops->label(o->a->dev)->sequence;
	deal_begin(&deal, o->a->copy);
	deal_put(&deal, KEY_DRIVE, &out, 0);
	ret = deal_close(&deal, DRIVE_TXN_MS);
	free(x);
	return ret;
}

/* Return: 1: done; 0: it waits; negative: the store's error. */
static int act(struct one *o, enum plan_extent_step what)
{
	int err = 0;

	switch (what) {
	case PLAN_X_ADD:
		err = add(o);
		break;
	case PLAN_X_ZERO:
		err = o->a->ops->zero(o->a->dev, o->e);
		break;
	case PLAN_X_RECORD:
		err = o->a->ops->record_write(o->a->dev, o->e, o->volume->record);
		break;
	case PLAN_X_ROLL:
		err = roll(o);
		break;
	case PLAN_X_REMOVE:
		err = take_out(o);
		break;
	case PLAN_X_READY:
	case PLAN_X_RECORDED:
	case PLAN_X_ERASE:
	case PLAN_X_ADOPT:
		return write_object(o, what);
	case PLAN_X_STOP:
	case PLAN_X_OVER:
	case PLAN_X_LOST:
		if (o->a->ops->report)
			o->a->ops->report(o->a->dev, &o->extent, what);
		return 0;
	case PLAN_X_FRESH:
	case PLAN_X_NONE:
		return 0;
	}
	return !err;
}

/* The label, as it was seen, is above what the copy has now. */
static bool is_above(const struct one *o, const struct plan_slot *slot, u32 generation)
{
	const struct obj_cluster *c = copy_obj(o->a->copy, &(struct key) { .kind = KEY_CLUSTER });
	bool of_none = muuid_null(&o->volume_id);
	const struct obj_volume *v = of_none ? NULL : about(o, KEY_VOLUME);
	const struct obj_access *x = of_none ? NULL : about(o, KEY_ACCESS);

	return c && plan_label_above(slot, generation, &c->plan, v ? &v->plan : NULL, x ? &x->plan : NULL);
}

/*
 * A copy that is behind the store does not know of an attach a moment ago, which the label has. So the
 * store is read after the label, which may have risen again meanwhile.
 * Return: 1: the store was put back; 0: it was not; negative: the store's error.
 */
static int put_back(struct one *o)
{
	const struct plan_slot slot = o->slot;
	u32 generation = o->f.label_generation;
	int err = read_again(o);

	if (err)
		return err;
	if (!is_above(o, &slot, generation))
		return 0;
	snprintf(o->a->above, sizeof(o->a->above), "the store was put back: the label of drive %s has extent %s "
		 "under a later %s than the store knows. Nothing is decided until 'meshctl cluster recover'; what is "
		 "attached goes on", muuid_str(&o->a->drive).s, muuid_str(&o->extent).s,
		 is_above(o, &slot, 0) ? "attachment, or version of its volume," : "generation of the store");
	return 1;
}

static int one_step(struct drive_agent *a, const struct muuid *extent)
{
	struct one o = { .a = a, .extent = *extent };
	enum plan_extent_step what;
	struct plan_txn t;
	int err;

	look(&o);
	what = plan_extent_step(&o.f, &t);
	if (what == PLAN_X_STOP && !o.f.stopped && o.f.slot && is_above(&o, &o.slot, o.f.label_generation)) {
		err = put_back(&o);
		return err == 1 ? act(&o, what) : err;
	}
	if (what == PLAN_X_FRESH) {
		err = read_again(&o);
		if (err)
			return err;
		look(&o);
		what = plan_extent_step(&o.f, &t);
	}
	return act(&o, what);
}

/* UUIDs of all extents of the key and the label: a step changes both. */
static struct muuid *extents_of(const struct drive_agent *a, u32 *nr)
{
	const struct label *l = a->ops->label(a->dev);
	const struct obj_drive *d = object(a);
	struct muuid *u = calloc((d ? d->plan.extents : 0) + (l ? l->extents : 0) + 1, sizeof(*u));
	u32 n = 0;

	for (u32 i = 0; u && d && i < d->plan.extents; i++)
		u[n++] = d->plan.extent[i].uuid;
	for (u32 i = 0; u && l && i < l->extents; i++) {
		bool known = false;

		for (u32 k = 0; d && k < d->plan.extents && !known; k++)
			known = muuid_equal(&d->plan.extent[k].uuid, &l->extent[i].uuid);
		if (!known)
			u[n++] = l->extent[i].uuid;
	}
	*nr = n;
	return u;
}

int drive_turn(struct drive_agent *a)
{
	struct muuid *u;
	int n = 0, ret = 0;
	u32 nr = 0;

	/* A key that the codec refuses names extents that are not known. */
	if (!a->begun || !object(a))
		return 0;
	u = extents_of(a, &nr);
	if (!u)
		return -ENOMEM;
	for (u32 i = 0; i < nr && ret >= 0 && object(a); i++) {
		ret = one_step(a, &u[i]);
		if (ret > 0)
			n += ret;
	}
	free(u);
	return ret < 0 ? ret : n;
}
