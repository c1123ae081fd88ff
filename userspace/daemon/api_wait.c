// SPDX-License-Identifier: GPL-2.0-only
/* The wait for the end of rebuilds, copies and scrubs, by this host's kernel or another host's report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"

struct waits {
	struct muuid volume;
	struct plan_wait w;
};

/* A host that reads the volume, the one that waits before others; null: none does. */
static struct muuid reader_of(const struct api *a, const struct muuid *volume)
{
	const struct key readers = { .kind = KEY_READER, .volume = *volume };
	const struct copy_item *i = NULL;
	struct muuid host = { { 0 } };

	while ((i = copy_next(a->d->copy, &readers, 1, i)))
		if (muuid_null(&host) || muuid_equal(&i->key.host, &a->d->host))
			host = i->key.host;
	return host;
}

/* A host that is about to attach it; null: none is. */
static struct muuid comer_of(const struct api *a, const struct muuid *volume)
{
	const struct key wants = { .kind = KEY_WANT };
	const struct copy_item *i = NULL;

	while ((i = copy_next(a->d->copy, &wants, 0, i))) {
		const struct obj_want *w = i->obj;

		if (w && w->mode != PLAN_NONE && !w->fenced && muuid_equal(&w->volume, volume))
			return w->host;
	}
	return (struct muuid) { { 0 } };
}

/* The host whose kernel knows what is left; null: it is attached nowhere. */
static struct muuid host_of(const struct api *a, const struct muuid *volume)
{
	const struct obj_access *x = api_access_get(a, volume);
	struct muuid host = reader_of(a, volume);

	if (x && x->plan.mode == PLAN_RW)
		return x->plan.holder;
	return muuid_null(&host) ? comer_of(a, volume) : host;
}

/* False: another host, of which nothing is known now; a note says why. */
static bool reported(struct api *a, const struct muuid *host, const struct muuid *volume, struct plan_work *out)
{
	const struct obj_status *s = api_status_get(a, host, volume);

	if (a->d->store_away)
		api_note(a, "the cluster store does not answer, by which host %s says what is left",
			 api_host_name(a, host).s);
	else if (!api_host_alive(a, host))
		api_note(a, "host %s is away: what is left is not known", api_host_name(a, host).s);
	else if (s && !strcmp(s->state, "attached"))
		return attach_work_read(json_object_get(s->details, "work"), out), true;
	else if (s && s->words[0])
		api_note(a, "host %s: %s", api_host_name(a, host).s, s->words);
	return false;
}

static bool known(struct api *a, const struct muuid *host, const struct muuid *volume, struct plan_work *out)
{
	if (!muuid_equal(host, &a->d->host) || !a->d->volumes)
		return reported(a, host, volume, out);
	return volumes_work(a->d->volumes, volume, out);
}

static const char *words(enum plan_wait_for what, const struct plan_work *k)
{
	switch (what) {
	case PLAN_WAIT_REBUILD:
		return "rebuilding";
	case PLAN_WAIT_COPY:
		return "copying a member that leaves";
	case PLAN_WAIT_SCRUB:
		return "scrubbing";
	default:
		return k->why[0] ? k->why : "waiting for its groups";
	}
}

static int late(struct api *a, const char *name, const char *what)
{
	u64 seconds = api_number(a, "timeout");

	if (!seconds || store_now_ms() - a->since_ms < seconds * 1000)
		return -EINPROGRESS;
	return api_fail(a, -ETIMEDOUT, "failed", "volume %s is not done after %llu s: %s; wait longer, or see 'meshctl volume "
			"show %s'", name, (unsigned long long)seconds, what, name);
}

static int wait_step(struct api *a, struct waits *t)
{
	const struct obj_volume *v = api_volume_get(a, &t->volume);
	struct plan_work k = { .health = PLAN_UNSEEN };
	enum plan_wait_for what;
	struct muuid host;

	if (!v)
		return api_fail(a, -ENOENT, "not-found", "the volume has just been deleted");
	host = host_of(a, &t->volume);
	if (muuid_null(&host))
		return api_fail(a, -ENOTCONN, "refused", "volume %s is not attached: 'meshctl volume attach %s' first",
				v->record->name, v->record->name);
	if (!known(a, &host, &t->volume, &k))
		return late(a, v->record->name, "its host does not report");
	what = plan_wait(&t->w, &k, layout_protected(v->record), store_now_ms());
	if (what == PLAN_WAIT_DONE)
		return 0;
	if (what == PLAN_WAIT_STUCK)
		return api_fail(a, -EIO, "failed", "volume %s cannot be made whole: member %u lacks %u bytes at byte %llu of its "
				"data, which no other member can read; it is when something is written there, or a member "
				"that has it is back", v->record->name, k.unread_member, k.unread_bytes,
				(unsigned long long)k.unread_at);
	api_progress(a, words(what, &k), t->w.done, t->w.total);
	return late(a, v->record->name, words(what, &k));
}

int api_volume_wait(struct api *a)
{
	struct waits *t = a->state;
	const struct obj_volume *v;
	int err;

	if (a->gone)
		return 0;
	if (!t) {
		err = api_volume(a, api_text(a, "volume"), &v);
		if (err)
			return err;
		t = calloc(1, sizeof(*t));
		if (!t)
			return -ENOMEM;
		a->state = t;
		t->volume = v->plan.uuid;
	}
	return wait_step(a, t);
}
