// SPDX-License-Identifier: GPL-2.0-only
/* The table of volumes, and the step that each needs. See attach.h, attach_in.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"
#include "userspace/plan/change.h"
#include "userspace/plan/forget.h"

#define VOLUMES_MAX	4096

struct key attach_key(const struct attach_vol *v, enum key_kind kind)
{
	struct key k = { .kind = kind, .volume = v->id };

	if (kind == KEY_WANT)
		k.host = v->a->host;
	return k;
}

/* An object of the volume; one that is there and cannot be read keeps all steps away. */
static const void *object(const struct attach_vol *v, const struct key *k, const struct copy_item **item,
			  struct attach_objects *o)
{
	const struct copy_item *i = copy_get(v->a->copy, k);

	if (item)
		*item = i;
	if (i && !i->obj)
		o->refused = i->why ? i->why : "an object cannot be read";
	return i ? i->obj : NULL;
}

void attach_look(const struct attach_vol *v, struct attach_objects *o)
{
	const struct key want = attach_key(v, KEY_WANT), volume = attach_key(v, KEY_VOLUME),
			 access = attach_key(v, KEY_ACCESS), writer = attach_key(v, KEY_WRITER),
			 roster = attach_key(v, KEY_ROSTER);
	struct key reader = attach_key(v, KEY_READER);

	reader.host = v->a->host;
	memset(o, 0, sizeof(*o));
	o->want = object(v, &want, &o->want_item, o);
	o->volume = object(v, &volume, NULL, o);
	o->access = object(v, &access, NULL, o);
	o->writer = object(v, &writer, NULL, o);
	o->roster = object(v, &roster, NULL, o);
	o->reader = object(v, &reader, &o->reader_item, o);
}

bool attach_names(const struct attach_vol *v, const struct attach_objects *o, u64 number)
{
	const struct plan_access *a = o->access ? &o->access->plan : NULL;

	return a && a->mode == PLAN_RW && muuid_equal(&a->holder, &v->a->host) &&
	       mesh_number_access(a->number) == mesh_number_access(number);
}

bool attach_alive(const struct attach_vol *v, const struct muuid *host)
{
	const struct key k = { .kind = KEY_ALIVE, .host = *host };

	return !muuid_null(host) && copy_get(v->a->copy, &k);
}

u32 attach_readers(const struct attach_vol *v)
{
	const struct key k = attach_key(v, KEY_READER);
	const struct copy_item *i = NULL;
	u32 n = 0;

	while ((i = copy_next(v->a->copy, &k, 1, i)))
		n += !muuid_equal(&i->key.host, &v->a->host);
	return n;
}

static u8 mode_wanted(const struct attach_objects *o)
{
	return o->want && !o->want->fenced ? o->want->mode : PLAN_NONE;
}

/* A store that was put back may lack wants, or have old ones: those that came since are of now. */
static bool may_end(const struct attach_vol *v, const struct attach_objects *o)
{
	if (!v->a->stopped)
		return true;
	return o->want && o->want->mode == PLAN_NONE && o->want_item->modified > v->a->stopped_at;
}

static int present(struct attach_vol *v, const struct attach_objects *o)
{
	u8 mode = mode_wanted(o);
	bool force = o->want && o->want->mode == PLAN_NONE && o->want->force;

	v->busy = false;
	if (mode != (v->k.readonly ? PLAN_RO : PLAN_RW) && may_end(v, o)) {
		if (!v->k.openers || force)
			return attach_end(v, o, force);
		v->busy = true;
		attach_say(v, "refused", "it is in use: %u openers of %s; close them, or detach with --force",
			   v->k.openers, v->k.disk[0] ? v->k.disk : "its disk");
	}
	if (v->a->stopped)
		return 0;
	if (v->k.readonly)
		return attach_keep_reader(v, o);
	if (v->k.state == ATTACH_OPENING && v->k.held && !v->k.served)
		return attach_held(v, o);
	return attach_keep(v, o);
}

/* The record is of an attachment that the store still knows: else another one may have followed. */
static bool counts(const struct attach_vol *v, const struct attach_objects *o)
{
	const struct obj_attached *r = &v->rec;

	if (!r->record)
		return false;
	if (r->plan.mode == PLAN_RW)
		return attach_names(v, o, r->plan.number);
	return o->access->plan.mode != PLAN_RW && o->access->plan.number == r->plan.number;
}

/* A member of the record is on a drive that was forgotten since: without the store it would be served. */
static bool forgets(const struct attach_vol *v, const struct attach_objects *o)
{
	const struct layout *l = v->rec.record;

	for (u32 i = 0; i < l->members; i++) {
		const struct key k = { .kind = KEY_DRIVE, .drive = l->member[i].drive };
		const struct obj_drive *d = copy_obj(v->a->copy, &k);

		if (d && d->plan.wanted == PLAN_FORGOTTEN && plan_forget_drops(&v->rec.plan, &l->member[i].extent) &&
		    !plan_layout_names(&o->volume->plan.layout, &l->member[i].extent))
			return true;
	}
	return false;
}

/* It was attached until the host was off, and is not to be after that. */
static bool lapsed(const struct attach_vol *v, const struct attach_objects *o)
{
	return !o->want->boot && v->rec_has && !v->taken;
}

/* In the store first: what follows is a detach, also where this agent starts again. */
static int lapse(struct attach_vol *v, const struct attach_objects *o)
{
	struct deal *d = attach_deal(v, NULL);
	struct obj_want want = *o->want;

	if (!d)
		return -ENOMEM;
	want.mode = PLAN_NONE;
	want.preempt = false;
	memset(&want.request, 0, sizeof(want.request));
	deal_put(d, KEY_WANT, &want, 0);
	return attach_close_deal(v, d);
}

static int absent(struct attach_vol *v, const struct attach_objects *o)
{
	if (v->a->stopped && v->ended) {
		if (v->rec_has)
			return attach_begin(v, ATTACH_ERASES);
		attach_say(v, "detached", "this host's kernel has ended it; the store, which was put back, has that after "
			   "'meshctl cluster recover'");
	}
	if (v->a->stopped)
		return 0;
	if (v->ended || mode_wanted(o) == PLAN_NONE)
		return attach_rest(v, o);
	if (lapsed(v, o))
		return lapse(v, o);
	if (!o->volume || !o->access) {
		attach_say(v, "refused", "the cluster has no such volume");
		return 0;
	}
	if (v->rec_has && !v->taken && (!counts(v, o) || forgets(v, o)))
		return attach_begin(v, ATTACH_ERASES);
	return mode_wanted(o) == PLAN_RW ? attach_take(v, o) : attach_take_reader(v, o);
}

/* The record, once: then this agent alone writes it. */
static int read_record(struct attach_vol *v)
{
	int err = v->rec_read ? 0 : v->a->ops->record_get(v->a->m, &v->id, &v->rec);

	if (v->rec_read || err == -EINPROGRESS)
		return err;
	v->rec_read = true;
	v->rec_has = err != -ENOENT;
	/* A damaged one says nothing, and goes when another one is written, or by a detach. */
	if (err)
		obj_free(OBJ_ATTACHED, &v->rec);
	return 0;
}

static int step(struct attach_vol *v)
{
	struct attach_objects o;
	u64 want;

	if (v->doing)
		return attach_go_on(v);
	if (v->a->ops->kernel(v->a->m, &v->id, &v->k)) {
		attach_say(v, "waiting", "the kernel cannot be read: %s", v->a->ops->words(v->a->m));
		return 0;
	}
	if (read_record(v))
		return 0;
	if (v->a->away)
		return v->a->alone ? attach_again(v) : 0;
	v->again = 0;
	v->evict = (struct plan_evict_step) { .what = PLAN_E_SET };
	attach_look(v, &o);
	want = o.want_item ? o.want_item->modified : 0;
	if (want != v->want)
		v->again_ms = 0;
	v->want = want;
	if (v->a->now < v->again_ms)
		return 0;
	if (o.refused) {
		attach_say(v, "waiting", "an object of it in the store cannot be used: %s", o.refused);
		return 0;
	}
	switch (v->k.state) {
	case ATTACH_ABSENT:
		return absent(v, &o);
	case ATTACH_FENCED:
		return attach_fenced(v, &o);
	case ATTACH_ENDING:
		return 0;
	default:
		return present(v, &o);
	}
}

static int concerns(struct attach_agent *a, const struct muuid *id)
{
	struct attach_vol **at = &a->vol, *v;

	while (*at && !muuid_equal(&(*at)->id, id))
		at = &(*at)->next;
	v = *at;
	if (!v) {
		v = calloc(1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		v->id = *id;
		v->a = a;
		*at = v;
	}
	v->listed = true;
	return 0;
}

static int list_by(struct attach_agent *a, int (*get)(void *m, struct muuid *out, u32 max))
{
	struct muuid *id = calloc(VOLUMES_MAX, sizeof(*id));
	int n = id ? get(a->m, id, VOLUMES_MAX) : -ENOMEM, err = 0;

	for (int i = 0; i < n && !err; i++)
		err = concerns(a, &id[i]);
	free(id);
	return n < 0 ? n : err;
}

/* Volumes whose object of this kind names this host. */
static int list_kind(struct attach_agent *a, enum key_kind kind, unsigned int given)
{
	const struct key k = { .kind = kind, .host = a->host };
	const struct copy_item *i = NULL;
	int err = 0;

	while (!err && (i = copy_next(a->copy, &k, given, i))) {
		const struct obj_access *x = i->obj;
		bool ours = kind == KEY_ACCESS ? x && x->plan.mode == PLAN_RW && muuid_equal(&x->plan.holder, &a->host)
					       : muuid_equal(&i->key.host, &a->host);

		if (ours)
			err = concerns(a, &i->key.volume);
	}
	return err;
}

static int list(struct attach_agent *a)
{
	int err;

	for (struct attach_vol *v = a->vol; v; v = v->next)
		v->listed = v->doing || v->rec_has || v->ended || v->said[0];
	if (!a->begun)
		a->begun = list_by(a, a->ops->records) >= 0;
	/* A kernel without the module has no volumes. */
	err = list_by(a, a->ops->kernels) == -ENOMEM ? -ENOMEM : 0;
	if (!err && !a->away)
		err = list_kind(a, KEY_WANT, 1);
	if (!err && !a->away)
		err = list_kind(a, KEY_ACCESS, 0);
	if (!err && !a->away)
		err = list_kind(a, KEY_READER, 0);
	return err;
}

static void drop_unlisted(struct attach_agent *a)
{
	struct attach_vol **at = &a->vol, *v;

	while ((v = *at)) {
		if (v->listed) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		attach_vol_free(v);
	}
}

int attach_turn(struct attach_agent *a, bool store_away, u64 now_ms)
{
	int n, err, ret = 0;

	/* A list that was not read yet has no wants: nothing is to be ended by that. */
	a->alone = store_away;
	a->away = store_away || !copy_whole(a->copy);
	a->now = now_ms;
	err = list(a);
	if (err || !a->begun)
		return err;
	drop_unlisted(a);
	for (struct attach_vol *v = a->vol; v; v = v->next) {
		n = step(v);
		if (n < 0)
			return n;
		ret += n;
	}
	n = attach_answer(a, !a->away && !a->stopped);
	return n < 0 ? n : ret + n;
}

struct attach_agent *attach_open(struct copy *copy, const struct muuid *host,
				 const struct attach_ops *ops, void *machine)
{
	struct attach_agent *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->copy = copy;
	a->host = *host;
	a->ops = ops;
	a->m = machine;
	return a;
}

void attach_close(struct attach_agent *a)
{
	if (!a)
		return;
	while (a->vol) {
		struct attach_vol *v = a->vol;

		a->vol = v->next;
		attach_vol_free(v);
	}
	free(a);
}

bool attach_above(struct attach_agent *a, char *why, size_t size)
{
	bool is = a->above[0];

	if (is)
		snprintf(why, size, "%s", a->above);
	a->above[0] = 0;
	return is;
}

/*
 * Wants count that are later than the first sight of the store as it is. Revisions of a store that was
 * put back begin again lower, and those of another state of it say nothing of this one's.
 */
static void stop(struct attach_agent *a)
{
	const struct obj_cluster *c = copy_obj(a->copy, &(struct key) { .kind = KEY_CLUSTER });
	struct plan_seen now = { .cluster = c ? c->plan.uuid : (struct muuid) { { 0 } },
				 .generation = c ? c->plan.generation : 0 };
	struct store_identity id;

	if (!a->stopped)
		a->stopped_at = UINT64_MAX;
	if (store_identity(copy_store(a->copy), &id))
		return;
	snprintf(now.id, sizeof(now.id), "%s", id.id);
	now.term = id.term;
	now.revision = id.revision;
	if (a->stopped_at == UINT64_MAX || plan_store_judge(&a->stopped_as, &now) != PLAN_STORE_SAME)
		a->stopped_at = now.revision;
	a->stopped_as = now;
}

void attach_may(struct attach_agent *a, bool stopped, u64 lease)
{
	if (stopped)
		stop(a);
	a->stopped = stopped;
	a->lease = lease;
}
