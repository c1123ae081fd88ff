// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/event.h"
#include "userspace/agent/spare.h"
#include "userspace/agent/task_child.h"
#include "userspace/plan/spare.h"

#define SPARE_TXN_MS	10000

/* A drive that is away, of any volume. */
struct spare_watch {
	struct muuid drive;
	u64	since;
	bool	seen;	/* in this turn */
};

/* True if the drive is in no machine that is alive; one in maintenance comes back. */
static bool is_away(const struct copy *c, const struct obj_drive *d)
{
	const struct obj_host *h = copy_obj(c, &(struct key) { .kind = KEY_HOST, .host = d->plan.host });
	const struct obj_device *dev;

	if (h && h->plan.maintenance)
		return false;
	if (!copy_get(c, &(struct key) { .kind = KEY_ALIVE, .host = d->plan.host }))
		return true;
	dev = copy_obj(c, &(struct key) { .kind = KEY_DEVICE, .host = d->plan.host });
	for (u32 i = 0; dev && i < dev->disks; i++) {
		if (muuid_equal(&dev->disk[i].drive, &d->plan.uuid))
			return false;
	}
	return dev != NULL;
}

static struct spare_watch *watch_of(struct spares *s, const struct muuid *drive)
{
	for (u32 i = 0; i < s->watches; i++) {
		if (muuid_equal(&s->watch[i].drive, drive))
			return &s->watch[i];
	}
	return NULL;
}

static int note(struct spares *s, const struct muuid *drive, u64 now_ms)
{
	struct spare_watch *w = watch_of(s, drive), *more;

	if (!w) {
		more = realloc(s->watch, (s->watches + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->watch = more;
		w = &s->watch[s->watches++];
		*w = (struct spare_watch) { .drive = *drive, .since = now_ms ? now_ms : 1 };
	}
	w->seen = true;
	return 0;
}

/* Since when each drive is away. One that was back for a moment counts from then on. */
static int watch(struct spares *s, u64 now_ms)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;
	u32 n = 0;
	int err = 0;

	for (u32 k = 0; k < s->watches; k++)
		s->watch[k].seen = false;
	while (!err && (i = copy_next(s->tasks->copy, &all, 0, i))) {
		const struct obj_drive *d = i->obj;

		if (d && is_away(s->tasks->copy, d))
			err = note(s, &d->plan.uuid, now_ms);
	}
	for (u32 k = 0; !err && k < s->watches; k++) {
		if (s->watch[k].seen)
			s->watch[n++] = s->watch[k];
	}
	if (!err)
		s->watches = n;
	return err;
}

u64 spare_delay(const struct obj_cluster *c)
{
	const json_t *x = c ? json_object_get(c->settings, "spare_delay") : NULL;

	return json_is_integer(x) && json_integer_value(x) >= 0 ? (u64)json_integer_value(x) : SPARE_DELAY;
}

static u64 delay_ms(const struct copy *c)
{
	return spare_delay(copy_obj(c, &(struct key) { .kind = KEY_CLUSTER })) * 1000;
}

static void describe(struct spares *s, const struct obj_volume *v, u32 place, struct obj_event *e)
{
	const struct layout_member *m = &v->record->member[place];
	const struct obj_drive *d = copy_obj(s->tasks->copy, &(struct key) { .kind = KEY_DRIVE, .drive = m->drive });
	const struct obj_host *h = copy_obj(s->tasks->copy, &(struct key) { .kind = KEY_HOST,
					    .host = d ? d->plan.host : m->target });
	u32 left = layout_spares_left(v->record);

	event_begin(e, &s->tasks->lead->host, "spare");
	e->volume = v->plan.uuid;
	e->drive = m->drive;
	event_words(e, "volume %s: a spare takes the place of member %u (drive %s, host %s), which is lost; %u of "
		    "%u spares are left", v->record->name, place, muuid_str(&m->drive).s, h ? h->name : muuid_str(&m->target).s,
		    left ? left - 1 : 0, v->record->spares);
	e->details = json_pack("{s:i}", "member", place);
}

/* The replacement is decided from these objects. */
static int request(struct spares *s, const struct obj_volume *v, u32 place)
{
	struct tasks *t = s->tasks;
	struct key k = { .volume = v->plan.uuid };
	struct deal *d = malloc(sizeof(*d));
	json_t *args = json_pack("{s:i, s:b}", "place", place, "spare", 1);
	struct obj_event e;
	int ret = d && args ? 0 : -ENOMEM;

	describe(s, v, place, &e);
	if (!ret) {
		deal_begin(d, t->copy);
		lead_compare(d);
		for (int n = 0; n < 3; n++) {
			k.kind = (const enum key_kind[]) { KEY_VOLUME, KEY_ACCESS, KEY_ROSTER }[n];
			deal_same(d, &k);
		}
		ret = task_child_put(t, d, "volume replace", &v->plan.uuid, args);
		deal_put(d, KEY_EVENT, &e, 0);
		if (!ret)
			ret = deal_close(d, SPARE_TXN_MS);
		deal_drop(d);
	}
	if (ret == 1 && s->report)
		s->report(s->priv, &e);
	obj_free(KEY_EVENT, &e);
	json_decref(args);
	free(d);
	return ret;
}

static int volume(struct spares *s, const struct obj_volume *v, u64 now_ms)
{
	const struct copy *c = s->tasks->copy;
	struct key k = { .kind = KEY_ACCESS, .volume = v->plan.uuid };
	const struct obj_access *access = copy_obj(c, &k);
	const struct obj_roster *roster;
	u64 *away = calloc(v->plan.layout.places + 1, sizeof(*away));
	struct plan_spare f = {
		.volume = &v->plan, .stopped = s->tasks->stopped, .left = layout_spares_left(v->record),
		.away = away, .now = now_ms, .delay = delay_ms(c),
	};
	u32 place = PLAN_NO_PLACE;

	k.kind = KEY_ROSTER;
	roster = copy_obj(c, &k);
	if (access && away) {
		f.access = &access->plan;
		f.rosters = roster ? &roster->plan : NULL;
		f.busy = task_child_busy(s->tasks, &v->plan.uuid) ||
			 task_child_refused(s->tasks, &v->plan.uuid, NULL);
		for (u32 i = 0; i < v->plan.layout.places; i++) {
			const struct spare_watch *w = watch_of(s, &v->plan.layout.place[i].drive);

			away[i] = w ? w->since : 0;
		}
		place = plan_spare(&f);
	}
	free(away);
	if (!away)
		return -ENOMEM;
	return place == PLAN_NO_PLACE ? 0 : request(s, v, place);
}

int spares_turn(struct spares *s, u64 now_ms)
{
	const struct key all = { .kind = KEY_VOLUME };
	const struct copy_item *i = NULL;
	int ret;

	if (!lead_is(s->tasks->lead)) {
		spares_end(s);
		return 0;
	}
	ret = watch(s, now_ms);
	/* A request changes the copy: the next volume has the next turn. */
	while (!ret && (i = copy_next(s->tasks->copy, &all, 0, i))) {
		const struct obj_volume *v = i->obj;

		if (v && v->record->spares)
			ret = volume(s, v, now_ms);
	}
	return ret;
}

void spares_end(struct spares *s)
{
	free(s->watch);
	s->watch = NULL;
	s->watches = 0;
}
