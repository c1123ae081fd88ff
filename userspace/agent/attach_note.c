// SPDX-License-Identifier: GPL-2.0-only
/* Rosters: what the kernel has committed, what it requests to be noted, and the end of fresh. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/attach_in.h"

#define NOTES_MAX	64	/* of one turn */

static const struct obj_group *group_at(const struct obj_roster *r, u32 first)
{
	for (u32 i = 0; r && i < r->groups; i++) {
		if (r->group[i].first == first)
			return &r->group[i];
	}
	return NULL;
}

void attach_rosters_free(struct obj_roster *r)
{
	r->o.kept = NULL;	/* of the copy's */
	obj_free(KEY_ROSTER, r);
}

/* The higher one of a group. Return: true if that is what the kernel has committed. */
static bool higher(const struct obj_roster *noted, const struct obj_group *kernel, struct obj_group *out)
{
	const struct obj_group *was = group_at(noted, kernel->first);

	*out = *kernel;
	if (!was || !was->plan.attach)
		return kernel->plan.attach;
	if (kernel->plan.attach && plan_note_raises(&was->plan, &kernel->plan))
		return true;
	*out = *was;
	return false;
}

int attach_rosters(const struct attach_vol *v, const struct attach_objects *o, const struct obj_roster *kernel,
		   u64 number, u64 version, struct obj_roster *out)
{
	u16 *bar = calloc(v->k.barred + 1, sizeof(*bar));

	*out = (struct obj_roster) { .volume = v->id, .plan = { .committed = true } };
	if (o->roster)
		out->o = o->roster->o;
	out->group = calloc(kernel->groups + 1, sizeof(*out->group));
	out->plan.bar = bar;
	if (!bar || !out->group) {
		attach_rosters_free(out);
		return -ENOMEM;
	}
	out->groups = kernel->groups;
	for (u32 i = 0; i < kernel->groups; i++)
		out->plan.committed &= higher(o->roster, &kernel->group[i], &out->group[i]);
	out->plan.number = mesh_number_access(number);
	out->plan.version = version;
	if (o->volume && v->k.state == ATTACH_SERVING)
		out->plan.barred = attach_confirms(v, o, bar);
	return obj_view(KEY_ROSTER, out);
}

static bool same(const struct obj_roster *a, const struct obj_roster *b)
{
	if (!a || a->plan.number != b->plan.number || a->plan.version != b->plan.version ||
	    a->plan.committed != b->plan.committed || a->groups != b->groups || a->plan.barred != b->plan.barred)
		return false;
	for (u32 i = 0; i < a->groups; i++) {
		if (a->group[i].first != b->group[i].first ||
		    memcmp(a->group[i].kernel, b->group[i].kernel, sizeof(a->group[i].kernel)))
			return false;
	}
	return !a->plan.barred || !memcmp(a->plan.bar, b->plan.bar, a->plan.barred * sizeof(*a->plan.bar));
}

/* roster/V, compared with all that it says something about. 1, 0 or an error, as steps are. */
static int put(struct attach_vol *v, const struct attach_objects *o, struct obj_roster *r)
{
	enum plan_verdict verdict;
	struct key volume = attach_key(v, KEY_VOLUME);
	struct plan_txn t;
	struct deal *d;

	verdict = plan_note(&o->volume->plan, &o->access->plan, &v->a->host, v->k.number, v->a->stopped, &t);
	d = verdict == PLAN_GO ? attach_deal(v, &t) : NULL;
	if (!d)
		return verdict == PLAN_GO ? -ENOMEM : 0;
	/* A bar that volume/V has again meanwhile must not be confirmed by what the kernel had before. */
	deal_same(d, &volume);
	deal_put(d, KEY_ROSTER, r, 0);
	return attach_close_deal(v, d);
}

int attach_note(struct attach_vol *v, const struct attach_objects *o)
{
	struct obj_roster kernel = { .volume = v->id }, next;
	int err;

	if (v->k.state != ATTACH_SERVING || !v->rec.record || v->k.version != v->rec.record->version)
		return 0;
	err = obj_roster_shape(&kernel, v->rec.record);
	if (!err)
		err = v->a->ops->rosters(v->a->m, &v->id, &kernel);
	if (!err)
		err = attach_rosters(v, o, &kernel, v->k.number, v->k.version, &next);
	obj_free(KEY_ROSTER, &kernel);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (!same(o->roster, &next))
		err = put(v, o, &next);
	attach_rosters_free(&next);
	return err;
}

int attach_fresh(struct attach_vol *v, const struct attach_objects *o)
{
	struct obj_volume x = *o->volume;
	struct plan_txn t;
	struct deal *d;

	if (plan_fresh_over(&o->volume->plan, &o->access->plan, o->roster ? &o->roster->plan : NULL, &v->a->host,
			    v->k.number, v->a->stopped, &t) != PLAN_GO)
		return 0;
	d = attach_deal(v, &t);
	if (!d)
		return -ENOMEM;
	x.plan.fresh = false;
	deal_put(d, KEY_VOLUME, &x, 0);
	return attach_close_deal(v, d);
}

/* roster/V with one group's roster as the kernel requests it; @n becomes the higher one if it is lower. */
static int request(struct attach_vol *v, const struct attach_objects *o, struct attach_note *n,
		   struct obj_roster *next, bool *lower)
{
	struct obj_roster kernel = { .volume = v->id };
	const struct obj_group *was = group_at(o->roster, n->place);
	int err = obj_roster_shape(&kernel, v->rec.record);

	if (!err)
		err = obj_roster_note(&kernel, n->place, n->roster, v->rec.record->salt);
	if (!err)
		err = attach_rosters(v, o, &kernel, v->k.number, v->k.version, next);
	*lower = !err && was && was->plan.attach &&
		 !plan_note_raises(&was->plan, &group_at(&kernel, n->place)->plan);
	obj_free(KEY_ROSTER, &kernel);
	if (*lower)
		memcpy(n->roster, was->kernel, sizeof(n->roster));
	return err;
}

/* 1: @n is noted, or a higher one, which is in @n then. */
static int note_one(struct attach_vol *v, const struct attach_objects *o, struct attach_note *n)
{
	const struct obj_group *was = group_at(o->roster, n->place);
	struct obj_roster next;
	bool lower;
	int ret;

	if (was && !memcmp(was->kernel, n->roster, sizeof(n->roster)) &&
	    mesh_number_access(o->roster->plan.number) == mesh_number_access(v->k.number))
		return 1;
	ret = request(v, o, n, &next, &lower);
	if (ret)
		return ret == -ENOMEM ? ret : 0;
	/* It was begun, and counts when the members have it. */
	next.plan.committed = false;
	ret = lower ? 1 : put(v, o, &next);
	attach_rosters_free(&next);
	return ret;
}

/* The roster that the store has now: a copy that is behind could name a member that is out. */
static int noted_now(struct attach_vol *v, struct attach_note *n)
{
	const struct key k = attach_key(v, KEY_ROSTER);
	const struct obj_group *g;
	int err = copy_fresh(v->a->copy, &k);

	if (err)
		return err;
	g = group_at(copy_obj(v->a->copy, &k), n->place);
	n->any = g && g->plan.attach;
	if (n->any)
		memcpy(n->roster, g->kernel, sizeof(n->roster));
	return 1;
}

static int evaluate(struct attach_agent *a, struct attach_note *n)
{
	struct attach_objects o;
	struct attach_vol *v = a->vol;

	while (v && !muuid_equal(&v->id, &n->volume))
		v = v->next;
	if (!v || !v->rec_has || !v->rec.record || a->ops->kernel(a->m, &v->id, &v->k))
		return 0;
	attach_look(v, &o);
	/* Of an attachment that access does not name another host may have noted what is later. */
	if (o.refused || !o.volume || !o.access || !attach_names(v, &o, v->k.number))
		return 0;
	return n->any ? note_one(v, &o, n) : noted_now(v, n);
}

int attach_answer(struct attach_agent *a, bool decides)
{
	int n = 0, ret;

	for (int i = 0; i < NOTES_MAX; i++) {
		if (!a->answers) {
			if (a->ops->note(a->m, &a->answer))
				break;
			ret = decides ? evaluate(a, &a->answer) : 0;
			if (ret < 0)
				return ret;
			a->answers = ret;
		}
		if (!a->answers)
			continue;
		if (a->ops->noted(a->m, &a->answer) == -EINPROGRESS)
			break;
		a->answers = false;
		n++;
	}
	return n;
}
