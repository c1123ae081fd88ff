// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scrub and rejoin: a request in the want of the host that has the volume, then a wait for its answer.
 *
 *   want/H/V with request R ---> status/H/V: request R, and its error if it has one
 *                           `--> the want is another one, or gone: nothing comes any more
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"

#define ANSWER_MS	5000	/* from the want without the request to the status, which another watch brings */

/* Of one volume. */
struct order {
	struct muuid volume, host;
	struct obj_request r;
	bool	put, done;
	u64	taken_ms;	/* the want was first seen without it; 0: it has it */
};

struct orders {
	struct order *o;
	size_t	nr;
	bool	all, failed;
};

static void orders_drop(void *state)
{
	struct orders *s = state;

	free(s->o);
	free(s);
}

static struct key want_key(const struct order *o)
{
	return (struct key) { .kind = KEY_WANT, .host = o->host, .volume = o->volume };
}

/* The want of an attachment for writing that goes on; NULL: there is none. */
static const struct obj_want *want_of(const struct api *a, const struct order *o)
{
	const struct key k = want_key(o);
	const struct obj_want *w = copy_obj(a->d->copy, &k);

	return w && w->mode == PLAN_RW && !w->fenced ? w : NULL;
}

static const json_t *answer_of(const struct api *a, const struct order *o)
{
	const struct obj_status *s = api_status_get(a, &o->host, &o->volume);
	const json_t *r = s ? json_object_get(s->details, "request") : NULL;
	const char *id = json_string_value(json_object_get(r, "id"));

	return id && !strcmp(id, muuid_str(&o->r.id).s) ? r : NULL;
}

static int not_attached(struct api *a, const struct order *o)
{
	return api_fail(a, -ENOTCONN, "refused", "volume %s is not attached for writing: 'meshctl volume attach %s' first",
			api_volume_name(a, &o->volume).s, api_volume_name(a, &o->volume).s);
}

/* Why nothing is there yet. */
static void say(struct api *a, const struct order *o)
{
	const struct obj_status *s = api_status_get(a, &o->host, &o->volume);

	if (!api_host_alive(a, &o->host))
		api_note(a, "host %s is away: it does so when it is back, if it has the volume then; ^C leaves it to that",
			 api_host_name(a, &o->host).s);
	else if (s && s->words[0] && strcmp(s->state, "attached"))
		api_note(a, "host %s: %s", api_host_name(a, &o->host).s, s->words);
}

static int put(struct api *a, struct order *o)
{
	const struct obj_access *x = api_access_get(a, &o->volume);
	const struct obj_want *now;
	struct obj_want w;
	struct deal d;
	int ret;

	if (!x || x->plan.mode != PLAN_RW)
		return not_attached(a, o);
	o->host = x->plan.holder;
	now = want_of(a, o);
	o->put = answer_of(a, o) || (now && muuid_equal(&now->request.id, &o->r.id));
	if (o->put)
		return 0;
	if (!now)
		return not_attached(a, o);
	/* One of another command is before it. */
	if (!muuid_null(&now->request.id)) {
		say(a, o);
		return -EINPROGRESS;
	}
	w = *now;
	w.request = o->r;
	deal_begin(&d, a->d->copy);
	deal_put(&d, KEY_WANT, &w, 0);
	ret = api_deal(a, &d);
	o->put = ret == 1;
	return ret == 1 ? 0 : ret;
}

static int wait_answer(struct api *a, struct order *o)
{
	const struct obj_want *w = want_of(a, o);
	const json_t *r = answer_of(a, o);
	const char *error = json_string_value(json_object_get(r, "error"));

	if (error)
		return api_fail(a, -EIO, "refused", "volume %s: %s", api_volume_name(a, &o->volume).s, error);
	if (r)
		return 0;
	if (!w)
		return api_fail(a, -ECANCELED, "failed", "volume %s was detached from host %s meanwhile",
				api_volume_name(a, &o->volume).s, api_host_name(a, &o->host).s);
	say(a, o);
	if (muuid_equal(&w->request.id, &o->r.id)) {
		o->taken_ms = 0;
		return -EINPROGRESS;
	}
	if (!o->taken_ms)
		o->taken_ms = store_now_ms();
	if (store_now_ms() - o->taken_ms < ANSWER_MS)
		return -EINPROGRESS;
	return api_fail(a, -EIO, "failed", "host %s does not say what became of it: see 'meshctl volume show %s', and repeat it",
			api_host_name(a, &o->host).s, api_volume_name(a, &o->volume).s);
}

static int order_step(struct api *a, struct order *o)
{
	int err;

	if (a->gone)
		return 0;
	err = o->put ? 0 : put(a, o);
	return err ?: wait_answer(a, o);
}

/* All go on; of several, each that fails is noted. */
static int orders_step(struct api *a, struct orders *s)
{
	bool waits = false;
	int ret;

	for (size_t i = 0; i < s->nr; i++) {
		if (s->o[i].done)
			continue;
		ret = order_step(a, &s->o[i]);
		waits = waits || ret == -EINPROGRESS;
		s->o[i].done = ret != -EINPROGRESS;
		if (!ret || ret == -EINPROGRESS)
			continue;
		if (!s->all)
			return ret;
		s->failed = true;
		api_note(a, "%s", a->error);
	}
	if (waits)
		return -EINPROGRESS;
	return s->failed ? api_fail(a, -EIO, "failed", "not every volume is scrubbed") : 0;
}

static struct order *orders_add(struct orders *s)
{
	struct order *more = realloc(s->o, (s->nr + 1) * sizeof(*more));

	if (!more)
		return NULL;
	s->o = more;
	memset(&more[s->nr], 0, sizeof(*more));
	return &more[s->nr++];
}

/* @here: of this host alone. */
static int add_all(struct api *a, struct orders *s, const struct obj_request *r, bool here)
{
	const struct key all = { .kind = KEY_VOLUME };
	const struct copy_item *i = NULL;
	struct order *o;
	int err = 0;

	while (!err && (i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_volume *v = i->obj;
		const struct obj_access *x = v ? api_access_get(a, &v->plan.uuid) : NULL;

		if (!x || x->plan.mode != PLAN_RW || !layout_protected(v->record) ||
		    (here && !muuid_equal(&x->plan.holder, &a->d->host)))
			continue;
		o = orders_add(s);
		if (!o)
			return -ENOMEM;
		o->volume = v->plan.uuid;
		o->r = *r;
		err = api_random(a, &o->r.id);
	}
	return err;
}

/* @member: NULL: none is named. */
static int add_one(struct api *a, struct orders *s, const struct obj_request *r, const char *member)
{
	struct order *o = orders_add(s);
	const struct obj_volume *v;
	u64 place;
	int err = o ? api_volume(a, api_text(a, "volume"), &v) : -ENOMEM;

	if (err)
		return err;
	o->volume = v->plan.uuid;
	o->r = *r;
	if (member) {
		err = api_member(a, v, member, &place);
		if (!err)
			o->r.extent = v->record->member[place].extent;
	}
	if (!err && !api_id(a, &o->r.id))
		err = api_random(a, &o->r.id);
	return err;
}

static struct orders *orders_of(struct api *a)
{
	a->state = calloc(1, sizeof(struct orders));
	a->drop = orders_drop;
	return a->state;
}

int api_volume_scrub(struct api *a)
{
	const struct obj_request r = { .what = api_flag(a, "stop") ? OBJ_SCRUB_STOP :
				       api_flag(a, "repair") ? OBJ_SCRUB_REPAIR : OBJ_SCRUB };
	bool timer = api_flag(a, "timer");
	struct orders *s = a->state;
	int err = 0;

	if (timer && a->d->scrub_never)
		return 0;
	if (!s) {
		s = orders_of(a);
		if (!s)
			return -ENOMEM;
		s->all = timer || api_flag(a, "all");
		err = s->all ? add_all(a, s, &r, timer) : add_one(a, s, &r, api_text(a, "from"));
	}
	return err ?: orders_step(a, s);
}

int api_volume_rejoin(struct api *a)
{
	const struct obj_request r = { .what = OBJ_REJOIN };
	struct orders *s = a->state;
	int err = 0;

	if (!s) {
		s = orders_of(a);
		err = s ? add_one(a, s, &r, api_text(a, "member")) : -ENOMEM;
	}
	return err ?: orders_step(a, s);
}
