// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of an attachment: the kernel first, then the record, then the store. A fenced kernel; what
 * a crash has left in the store.
 *
 *   VOLUME_DEL, last rosters --> record erased --> release (all was open once) or held --> want, status
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"

int attach_end(struct attach_vol *v, const struct attach_objects *o, bool force)
{
	const struct layout *l = v->rec_has && v->rec.record ? v->rec.record :
				 o->volume ? o->volume->record : NULL;
	int err;

	obj_free(KEY_ROSTER, &v->last);
	v->last.volume = v->id;
	err = l ? obj_roster_shape(&v->last, l) : 0;
	if (err)
		return err;
	if (!v->held && v->k.state != ATTACH_FENCED)
		attach_say(v, "detaching", "%s", "");
	v->force = force;
	v->ends = v->k;
	return attach_begin(v, ATTACH_DELS);
}

static int erase_one(struct attach_vol *v, enum key_kind kind)
{
	struct deal *d = attach_deal(v, NULL);
	struct key k = attach_key(v, kind);

	if (!d)
		return -ENOMEM;
	k.host = v->a->host;
	deal_erase(d, &k);
	return attach_close_deal(v, d);
}

int attach_reader_end(struct attach_vol *v)
{
	return erase_one(v, KEY_READER);
}

/* Mode none in access/V, with the kernel's @last rosters if @t says so. */
static int leave(struct attach_vol *v, const struct attach_objects *o, const struct plan_access *next,
		 const struct plan_txn *t, const struct obj_roster *last)
{
	struct deal *d = attach_deal(v, t);
	struct obj_access access = *o->access;
	struct obj_roster roster = { 0 };
	int err = 0;

	if (!d)
		return -ENOMEM;
	access.plan = *next;
	deal_put(d, KEY_ACCESS, &access, 0);
	if (t->put & PLAN_OBJ_ROSTER) {
		err = attach_rosters(v, o, last, v->ended, v->ended_version, &roster);
		if (!err)
			deal_put(d, KEY_ROSTER, &roster, 0);
		attach_rosters_free(&roster);
	}
	if (err) {
		deal_drop(d);
		free(d);
		return err;
	}
	return attach_close_deal(v, d);
}

static void refused_by_target(struct attach_vol *v)
{
	attach_say_verdict(v, "refused", PLAN_OPEN, &v->holder);
	v->again_ms = v->a->now + ATTACH_HELD_MS;
	v->held = false;
}

/* The transaction after the kernel's end. */
static int release(struct attach_vol *v, const struct attach_objects *o)
{
	enum plan_verdict verdict = PLAN_NOT_HOLDER;
	struct plan_access next;
	struct plan_txn t;
	int ret = 1;

	if (o->access && v->ended_clean)
		verdict = plan_release(&o->access->plan, &v->a->host, v->ended, &next, &t);
	else if (o->access)
		verdict = plan_held(&o->access->plan, &v->a->host, v->ended, &next, &t);
	if (verdict == PLAN_GO)
		ret = leave(v, o, &next, &t, &v->last);
	if (ret == 1) {
		v->ended = 0;
		obj_free(KEY_ROSTER, &v->last);
		if (v->held)
			refused_by_target(v);
	}
	return ret;
}

int attach_give_up(struct attach_vol *v, const struct attach_objects *o)
{
	struct plan_access next;
	struct plan_txn t;

	if (plan_held(&o->access->plan, &v->a->host, o->access->plan.number, &next, &t) != PLAN_GO)
		return 0;
	if (v->rec_has)
		return attach_begin(v, ATTACH_ERASES);
	return leave(v, o, &next, &t, NULL);
}

/* Status first: it is of no use without a want, and nothing else erases it. */
static int want_end(struct attach_vol *v, const struct attach_objects *o)
{
	struct deal *d;
	struct key writer = attach_key(v, KEY_WRITER);

	attach_unsay(v);
	d = attach_deal(v, NULL);
	if (!d)
		return -ENOMEM;
	deal_erase(d, &o->want_item->key);
	if (o->writer && muuid_equal(&o->writer->host, &v->a->host))
		deal_erase(d, &writer);
	return attach_close_deal(v, d);
}

int attach_rest(struct attach_vol *v, const struct attach_objects *o)
{
	if (v->rec_has)
		return attach_begin(v, ATTACH_ERASES);
	if (v->ended)
		return release(v, o);
	if (o->access && attach_names(v, o, o->access->plan.number))
		return attach_give_up(v, o);
	if (o->reader_item)
		return attach_reader_end(v);
	if (o->want && o->want->mode == PLAN_NONE)
		return want_end(v, o);
	if (o->want && o->want->fenced)
		attach_say(v, "fenced", "was attached by another host since; attach it again when that is right");
	else if (v->said[0])
		attach_unsay(v);
	return 0;
}

/* The want is marked before the kernel forgets: this agent may start again in between. */
static int mark(struct attach_vol *v, const struct attach_objects *o)
{
	struct deal *d = attach_deal(v, NULL);
	struct obj_want want = *o->want;
	char name[OBJ_TEXT], by[OBJ_TEXT];

	if (!d)
		return -ENOMEM;
	want.fenced = true;
	want.preempt = false;
	deal_put(d, KEY_WANT, &want, 0);
	attach_host_name(v, &v->k.fencer, by);
	attach_volume_name(v, name);
	attach_event(v, d, "fenced", "volume %s was attached by host %s since: its disk here is dead, and what "
		     "was not acknowledged may be lost", name, by);
	return attach_close_deal(v, d);
}

int attach_fenced(struct attach_vol *v, const struct attach_objects *o)
{
	if (v->a->stopped)
		return 0;
	if (o->want && o->want->mode != PLAN_NONE && !o->want->fenced)
		return mark(v, o);
	attach_say_verdict(v, "fenced", PLAN_ABOVE, &v->k.fencer);
	return attach_end(v, o, true);
}
