// SPDX-License-Identifier: GPL-2.0-only
/*
 * What recover writes: each object that differs from the plan, as many at a time as a transaction has
 * room for. All hosts stand still meanwhile, so the objects of one volume need not come together; what
 * is written already does not differ any more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/recover.h"
#include "userspace/agent/tasks.h"

/* Bytes of a value's text, at most. */
#define MEMBER_BYTES	360
#define SEGMENT_BYTES	320
#define REF_BYTES	48
#define EXTENT_BYTES	360
#define OTHER_BYTES	4096

struct writing {
	struct recover *r;
	const struct recover_plan *p;
	struct deal d;
	bool	full;
};

static bool has_room(struct writing *w, size_t bytes)
{
	w->full = w->full || (w->d.ops && !deal_has_room(&w->d, bytes)) || w->d.ops > STORE_OPS_MAX - 8;
	return !w->full && !w->d.err;
}

/* @was: the object as the store has it, of which @x is a copy that was changed; NULL: none. */
static void put(struct writing *w, enum key_kind kind, void *x, const struct obj *was, size_t bytes)
{
	if (was && obj_gives(kind, x, was, was) == 1)
		return;
	if (has_room(w, bytes))
		deal_put(&w->d, kind, x, 0);
}

static void erase(struct writing *w, const struct key *k)
{
	if (copy_get(w->r->copy, k) && has_room(w, 0))
		deal_erase(&w->d, k);
}

static const void *object(const struct writing *w, enum key_kind kind, const struct muuid *volume)
{
	return copy_obj(w->r->copy, &(struct key) { .kind = kind, .volume = *volume });
}

/* A volume */

/* A record of another name is another version: labels have one of this version with the former name. */
static struct layout *renamed(const struct recover_volume *v)
{
	struct layout *l = malloc(sizeof(*l));

	if (!l)
		return NULL;
	*l = *v->record;
	snprintf(l->name, sizeof(l->name), "%s", v->name);
	l->version++;
	l->commit++;
	return l;
}

static void fill_volume(const struct recover_volume *v, struct obj_volume *out)
{
	if (v->has)
		*out = *v->has;
	else
		*out = (struct obj_volume) { .plan.uuid = v->id };
	out->plan.state = v->state;
	out->plan.fresh = v->fresh;
	out->plan.barred = 0;
	if (!v->has) {
		out->plan.allow = v->allow;
		out->plan.allows = v->allows;
	}
	if (!v->has)
		snprintf(out->domain, sizeof(out->domain), "%s", v->out.layout->groups ? "host" : "drive");
	if (!v->has && v->writer)
		out->io = v->writer->io;
	if (!v->from)
		return;
	out->record = v->from->record;
	out->leaving = v->from->leaving;
	out->leavings = v->from->leavings;
}

static void put_volume(struct writing *w, const struct recover_volume *v)
{
	size_t bytes = OTHER_BYTES + MEMBER_BYTES * v->record->members + SEGMENT_BYTES * v->record->segments +
		       REF_BYTES * v->record->refs;
	struct layout *l = v->name[0] ? renamed(v) : NULL;
	struct obj_volume out;

	if (v->name[0] && !l) {
		w->d.err = -ENOMEM;
		return;
	}
	fill_volume(v, &out);
	if (l)
		out.record = l;
	put(w, KEY_VOLUME, &out, v->has ? &v->has->o : NULL, bytes);
	free(l);
}

static const char *name_of(const struct recover_volume *v)
{
	return v->name[0] ? v->name : v->record->name;
}

/* The name that the store had for it goes, unless another volume has it now. */
static void put_name(struct writing *w, const struct recover_volume *v)
{
	struct obj_name out = { .volume = v->id };
	struct key k = { .kind = KEY_NAME };
	const struct obj_name *was;

	snprintf(k.name, sizeof(k.name), "%s", name_of(v));
	was = copy_obj(w->r->copy, &k);
	if (was)
		out.o = was->o;
	snprintf(out.name, sizeof(out.name), "%s", name_of(v));
	put(w, KEY_NAME, &out, was ? &was->o : NULL, OTHER_BYTES);
}

static bool is_named(const struct writing *w, const struct obj_name *n)
{
	const struct recover_volume *v = recover_find(w->p, &n->volume);

	return v && (v->fate == RECOVER_DOUBT || (v->fate != RECOVER_GONE && v->record && !strcmp(name_of(v), n->name)));
}

/* Another volume that takes the name writes over the key. */
static void erase_names(struct writing *w)
{
	const struct key all = { .kind = KEY_NAME };
	const struct copy_item *i = NULL;
	bool taken;

	while ((i = copy_next(w->r->copy, &all, 0, i))) {
		const struct obj_name *n = i->obj;

		taken = is_named(w, n);
		for (u32 v = 0; v < w->p->volumes && !taken; v++)
			taken = w->p->volume[v].record && !strcmp(name_of(&w->p->volume[v]), n->name);
		if (!taken)
			erase(w, &i->key);
	}
}

static void put_access(struct writing *w, const struct recover_volume *v)
{
	struct obj_access out = { .volume = v->id };

	if (v->access)
		out = *v->access;
	out.plan = v->out.access;
	out.plan.clean = false;
	put(w, KEY_ACCESS, &out, v->access ? &v->access->o : NULL, OTHER_BYTES);
}

/* Wants: what hosts have attached goes on; what they do not have was detached since */

static const struct obj_report *claim(const struct recover_volume *v, const struct muuid *host)
{
	for (u32 i = 0; i < v->reports; i++) {
		if (muuid_equal(&v->report[i]->host, host) && v->report[i]->mode)
			return v->report[i];
	}
	return NULL;
}

static void put_want(struct writing *w, const struct recover_volume *v, const struct muuid *host, u8 mode)
{
	const struct key k = { .kind = KEY_WANT, .host = *host, .volume = v->id };
	const struct obj_want *was = copy_obj(w->r->copy, &k);
	struct obj_want out = { .host = *host, .volume = v->id, .boot = true };

	if (was && (was->mode == mode || was->mode == PLAN_NONE))
		return;
	if (was)
		out = *was;
	out.mode = mode;
	put(w, KEY_WANT, &out, was ? &was->o : NULL, OTHER_BYTES);
}

/* All that this host has attached is known. */
static bool is_known(const struct writing *w, const struct muuid *host)
{
	return recover_handed_in(w->r, w->p->mark, host) && !recover_left_out(w->r, host);
}

static void erase_wants(struct writing *w, const struct recover_volume *v)
{
	const struct key all = { .kind = KEY_WANT };
	const struct copy_item *i = NULL;

	while ((i = copy_next(w->r->copy, &all, 0, i))) {
		const struct obj_want *want = i->obj;
		bool gone = v->fate == RECOVER_GONE, known;
		const struct obj_report *c;

		if (!muuid_equal(&i->key.volume, &v->id))
			continue;
		known = is_known(w, &i->key.host);
		c = claim(v, &i->key.host);
		if (want->mode == PLAN_RW && (!v->writer || !muuid_equal(&v->writer->host, &i->key.host)))
			gone = gone || v->writer || known;
		if (want->mode == PLAN_RO)
			gone = gone || (known && !(c && c->mode == PLAN_RO));
		if (gone)
			erase(w, &i->key);
	}
}

static void put_writer(struct writing *w, const struct recover_volume *v)
{
	const struct obj_writer *was = object(w, KEY_WRITER, &v->id);
	struct obj_writer out = { .volume = v->id };

	if (!v->writer) {
		if (was && (v->fate == RECOVER_GONE || is_known(w, &was->host)))
			erase(w, &(struct key) { .kind = KEY_WRITER, .volume = v->id });
		return;
	}
	if (was)
		out = *was;
	out.host = v->writer->host;
	put(w, KEY_WRITER, &out, was ? &was->o : NULL, OTHER_BYTES);
	put_want(w, v, &v->writer->host, PLAN_RW);
}

static void wants(struct writing *w, const struct recover_volume *v)
{
	if (v->state != PLAN_VOLUME_READY)
		return;
	erase_wants(w, v);
	put_writer(w, v);
	for (u32 i = 0; i < v->reports; i++) {
		if (v->report[i]->mode == PLAN_RO)
			put_want(w, v, &v->report[i]->host, PLAN_RO);
	}
}

static void volume(struct writing *w, const struct recover_volume *v)
{
	const enum key_kind kinds[] = { KEY_VOLUME, KEY_ACCESS, KEY_ROSTER, KEY_WRITER };

	switch (v->fate) {
	case RECOVER_BARE:
	case RECOVER_DOUBT:
		return;
	case RECOVER_GONE:
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			erase(w, &(struct key) { .kind = kinds[i], .volume = v->id });
		erase_wants(w, v);
		return;
	}
	put_access(w, v);
	erase(w, &(struct key) { .kind = KEY_ROSTER, .volume = v->id });
	wants(w, v);
	if (v->state == PLAN_VOLUME_READY) {
		put_volume(w, v);
		put_name(w, v);
	}
}

/* A drive */

static const struct plan_layout *layout_of(const struct recover_volume *v)
{
	if (!v || v->fate == RECOVER_GONE || v->fate == RECOVER_BARE)
		return NULL;
	return v->fate == RECOVER_DOUBT ? v->has ? &v->has->plan.layout : NULL : v->out.layout;
}

/* The place that has the extent; -1: none. */
static int place_of(const struct plan_layout *l, const struct muuid *extent)
{
	for (u32 i = 0; l && i < l->places; i++) {
		if (muuid_equal(&l->place[i].extent, extent) || muuid_equal(&l->place[i].leaving, extent))
			return (int)i;
	}
	return -1;
}

static const struct plan_extent *key_of(const struct obj_drive *d, const struct muuid *extent)
{
	for (u32 i = 0; d && i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, extent))
			return &d->plan.extent[i];
	}
	return NULL;
}

static bool from_label(const struct writing *w, const struct obj_drive *was, const struct obj_found *f,
		       struct plan_extent *out)
{
	const struct recover_volume *v = recover_find(w->p, &f->slot.volume);
	const struct plan_extent *key = key_of(was, &f->slot.extent);
	int place = place_of(layout_of(v), &f->slot.extent);
	u8 state = plan_recover_extent(key, &f->slot, true, place >= 0);

	/* Of a create that goes on the record comes before an extent is ready. */
	if (v && v->state == PLAN_CREATING && !f->slot.record_version)
		state = PLAN_WANTED;
	*out = (struct plan_extent) { .uuid = f->slot.extent, .volume = f->slot.volume, .state = state,
				      .place = place >= 0 ? place : key ? key->place : 0,
				      .start = f->start, .length = f->length };
	if (state == PLAN_READY) {
		out->version = f->slot.record_version;
		out->commit = f->slot.record_commit;
	}
	return state;
}

static bool from_key(const struct writing *w, const struct plan_extent *key, struct plan_extent *out)
{
	const struct recover_volume *v = recover_find(w->p, &key->volume);

	*out = *key;
	out->state = plan_recover_extent(key, NULL, false, place_of(layout_of(v), &key->uuid) >= 0);
	return out->state;
}

static void put_drive(struct writing *w, struct obj_drive *out, const struct obj_drive *was,
		      struct plan_extent *x, u32 n)
{
	out->plan.extent = x;
	out->plan.extents = n;
	put(w, KEY_DRIVE, out, was ? &was->o : NULL, OTHER_BYTES + (size_t)EXTENT_BYTES * n);
}

/* The host that has it is the one that serves it; one that was out was exported again since. */
static void drive_found(struct writing *w, const struct obj_report *o)
{
	const struct key k = { .kind = KEY_DRIVE, .drive = o->about };
	const struct obj_drive *was = copy_obj(w->r->copy, &k);
	struct plan_extent *x = calloc(o->extents + 1, sizeof(*x));
	struct obj_drive out = { .plan = { .uuid = o->about, .wanted = PLAN_IN } };
	u32 n = 0;

	if (!x) {
		w->d.err = -ENOMEM;
		return;
	}
	if (was)
		out = *was;
	out.plan.host = o->host;
	if (out.plan.wanted == PLAN_OUT)
		out.plan.wanted = PLAN_IN;
	snprintf(out.path, sizeof(out.path), "%s", o->path);
	snprintf(out.model, sizeof(out.model), "%s", o->model);
	snprintf(out.wwid, sizeof(out.wwid), "%s", o->wwid);
	snprintf(out.serial, sizeof(out.serial), "%s", o->serial);
	out.size = o->size;
	out.lba = o->lba;
	out.local = o->local;
	out.sequence = o->sequence;
	for (u32 i = 0; i < o->extents; i++)
		n += from_label(w, was, &o->extent[i], &x[n]);
	put_drive(w, &out, was, x, n);
	free(x);
}

static void drive_unseen(struct writing *w, const struct obj_drive *was)
{
	struct plan_extent *x = calloc(was->plan.extents + 1, sizeof(*x));
	struct obj_drive out = *was;
	u32 n = 0;

	if (!x) {
		w->d.err = -ENOMEM;
		return;
	}
	for (u32 i = 0; i < was->plan.extents; i++)
		n += from_key(w, &was->plan.extent[i], &x[n]);
	put_drive(w, &out, was, x, n);
	free(x);
}

static bool was_seen(const struct recover_plan *p, const struct muuid *drive)
{
	for (u32 i = 0; i < p->drives; i++) {
		if (muuid_equal(&p->seen[i], drive))
			return true;
	}
	return false;
}

static void drives(struct writing *w)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;

	for (u32 d = 0; d < w->p->drives && !w->full; d++)
		drive_found(w, w->p->drive[d]);
	while (!w->full && (i = copy_next(w->r->copy, &all, 0, i))) {
		const struct obj_drive *was = i->obj;

		if (was->plan.wanted != PLAN_FORGOTTEN && !was_seen(w->p, &i->key.drive))
			drive_unseen(w, was);
	}
}

/* Tasks: what was decided for good goes on; the rest is repeated by command, from what there is now */

static u8 task_state(const struct writing *w, const struct obj_task *t)
{
	const struct recover_volume *v = muuid_null(&t->volume) ? NULL : recover_find(w->p, &t->volume);

	if (task_ended(t))
		return t->state;
	/* Of a drive: what was requested is perhaps of long ago. */
	if (!t->plan.kind)
		return OBJ_TASK_FAILED;
	if (v && v->fate != RECOVER_GONE && v->state != PLAN_VOLUME_READY)
		return t->state;
	if (t->plan.kind == PLAN_TASK_CREATE && v && v->fate != RECOVER_GONE)
		return OBJ_TASK_DONE;
	if (t->plan.kind == PLAN_TASK_DELETE && (!v || v->fate == RECOVER_GONE))
		return OBJ_TASK_DONE;
	return OBJ_TASK_FAILED;
}

static void task(struct writing *w, const struct obj_task *was)
{
	struct obj_task out = *was;

	out.state = task_state(w, was);
	if (out.state == was->state)
		return;
	snprintf(out.error, sizeof(out.error), out.state == OBJ_TASK_FAILED ?
		 "the cluster store was recovered while this went on: see what there is now, and repeat it" : "%s", "");
	snprintf(out.fault, sizeof(out.fault), "%s", out.state == OBJ_TASK_FAILED ? "failed" : "");
	put(w, KEY_TASK, &out, NULL, OTHER_BYTES * 8);
}

static void tasks(struct writing *w)
{
	const struct key all = { .kind = KEY_TASK };
	const struct copy_item *i = NULL;

	while (!w->full && (i = copy_next(w->r->copy, &all, 0, i)))
		task(w, i->obj);
}

int recover_write(struct recover *r, const struct recover_plan *p)
{
	struct writing *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return -ENOMEM;
	w->r = r;
	w->p = p;
	deal_begin(&w->d, r->copy);
	for (u32 i = 0; i < p->volumes && !w->full; i++)
		volume(w, &p->volume[i]);
	erase_names(w);
	drives(w);
	tasks(w);
	ret = recover_close(r, &w->d);
	free(w);
	return ret;
}
