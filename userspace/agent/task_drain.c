// SPDX-License-Identifier: GPL-2.0-only
/* "drive drain": a task that requests an eviction for each member on a drive, as plan/drain.h has it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/task_args.h"
#include "userspace/agent/task_child.h"
#include "userspace/plan/drain.h"

#define DRAIN_TXN_MS	10000

struct draining {
	struct tasks *t;
	const struct obj_task *task;
	const struct obj_drive *drive;	/* NULL: there is none */
	struct plan_drain facts;
	struct plan_drain_volume *volume;
};

static bool is_known(const struct draining *d, const struct muuid *volume)
{
	for (u32 i = 0; i < d->facts.volumes; i++) {
		if (muuid_equal(&d->volume[i].volume->uuid, volume))
			return true;
	}
	return false;
}

/* Return: 0; -EUCLEAN: an object of the volume is refused by the codec. */
static int add_volume(struct draining *d, const struct muuid *volume)
{
	struct plan_drain_volume *out = &d->volume[d->facts.volumes];
	struct key k = { .volume = *volume };
	const void *obj[3] = { NULL };

	for (int n = 0; n < 3; n++) {
		const struct copy_item *i;

		k.kind = (const enum key_kind[]) { KEY_VOLUME, KEY_ACCESS, KEY_ROSTER }[n];
		i = copy_get(d->t->copy, &k);
		if (i && !i->obj)
			return -EUCLEAN;
		obj[n] = i ? i->obj : NULL;
	}
	if (!obj[0] || !obj[1])
		return 0;
	*out = (struct plan_drain_volume) {
		.volume = &((const struct obj_volume *)obj[0])->plan,
		.access = &((const struct obj_access *)obj[1])->plan,
		.rosters = obj[2] ? &((const struct obj_roster *)obj[2])->plan : NULL,
		.busy = task_child_busy(d->t, volume),
		.refused = task_child_refused(d->t, volume, &d->task->uuid),
	};
	d->facts.volumes++;
	return 0;
}

static int facts(struct draining *d, const struct muuid *drive)
{
	const struct copy_item *i = copy_get(d->t->copy, &(struct key) { .kind = KEY_DRIVE, .drive = *drive });
	int err = 0;

	if (i && !i->obj)
		return -EUCLEAN;
	d->drive = i ? i->obj : NULL;
	d->facts = (struct plan_drain) {
		.drive = d->drive ? &d->drive->plan : NULL, .cancel = d->task->plan.cancel,
		.stopped = d->t->stopped, .running = task_child_runs(d->t, &d->task->uuid),
	};
	d->volume = calloc(d->drive ? d->drive->plan.extents + 1 : 1, sizeof(*d->volume));
	if (!d->volume)
		return -ENOMEM;
	for (u32 n = 0; d->drive && n < d->drive->plan.extents && !err; n++) {
		const struct muuid *volume = &d->drive->plan.extent[n].volume;

		if (!is_known(d, volume))
			err = add_volume(d, volume);
	}
	d->facts.volume = d->volume;
	return err;
}

static void put_wanted(struct draining *d, struct deal *deal, u8 wanted)
{
	struct obj_drive out = *d->drive;

	out.plan.wanted = wanted;
	deal_put(deal, KEY_DRIVE, &out, 0);
}

static void finish(struct obj_task *task, u8 state)
{
	task->stage = PLAN_TASK_ENDED;
	task->state = state;
}

/* The eviction is decided from these objects, and requested once. */
static int evict(struct draining *d, struct deal *deal, const struct plan_drain_step *s)
{
	const struct muuid *drive = &d->drive->plan.uuid;
	struct key k = { .volume = s->volume };
	json_t *args = json_pack("{s:i, s:s}", "place", s->place, "drain", muuid_str(&d->task->uuid).s);
	int err = args ? 0 : -ENOMEM;

	for (int n = 0; n < 3; n++) {
		k.kind = (const enum key_kind[]) { KEY_VOLUME, KEY_ACCESS, KEY_ROSTER }[n];
		deal_same(deal, &k);
	}
	k = (struct key) { .kind = KEY_DRIVE, .drive = *drive };
	deal_same(deal, &k);
	if (!err)
		err = task_child_put(d->t, deal, "volume evict", &s->volume, args);
	json_decref(args);
	return err;
}

static void words(const struct draining *d, const struct plan_drain_step *s, char *to, size_t size)
{
	static const char *const why[] = {
		[PLAN_D_RUNS] = "a member leaves", [PLAN_D_DETACHED] = "not attached",
		[PLAN_D_ALONE] = "no redundancy", [PLAN_D_REFUSED] = "an eviction failed",
		[PLAN_D_FREED] = "freeing an extent", [PLAN_D_STOPPED] = "the store was put back",
	};
	const struct obj_volume *v = copy_obj(d->t->copy, &(struct key) { .kind = KEY_VOLUME,
					      .volume = s->volume });

	snprintf(to, size, "%.24s%s%.36s", why[s->why], v ? ": " : "", v ? v->record->name : "");
}

static int waits(struct draining *d, struct deal *deal, struct obj_task *task, const struct plan_drain_step *s)
{
	bool same;

	words(d, s, task->step, sizeof(task->step));
	same = task->state == d->task->state && !strcmp(task->step, d->task->step) &&
	       task->progress.done == d->task->progress.done;
	if (!same)
		deal_put(deal, KEY_TASK, task, 0);
	return same;
}

static int act(struct draining *d, const struct plan_drain_step *s)
{
	struct obj_task task = *d->task;
	struct deal *deal = malloc(sizeof(*deal));
	u32 extents = d->drive ? d->drive->plan.extents : 0;
	bool idle = false;
	int err = 0;

	if (!deal)
		return -ENOMEM;
	deal_begin(deal, d->t->copy);
	lead_compare(deal);
	task.changed = d->t->now;
	task.step[0] = 0;
	if (task.state == OBJ_TASK_WAITING)
		task.state = OBJ_TASK_RUNNING;
	if (task.progress.total < extents)
		task.progress.total = extents;
	task.progress.done = task.progress.total - extents;
	switch (s->what) {
	case PLAN_D_WAIT:
		idle = waits(d, deal, &task, s);
		break;
	case PLAN_D_FAIL:
		snprintf(task.error, sizeof(task.error), "there is no such drive in the cluster");
		finish(&task, OBJ_TASK_FAILED);
		break;
	case PLAN_D_BEGIN:
		put_wanted(d, deal, PLAN_DRAINING);
		break;
	case PLAN_D_EVICT:
		err = evict(d, deal, s);
		break;
	case PLAN_D_OUT:
		put_wanted(d, deal, PLAN_OUT);
		finish(&task, OBJ_TASK_DONE);
		break;
	case PLAN_D_BACK:
		if (d->drive->plan.wanted == PLAN_DRAINING)
			put_wanted(d, deal, PLAN_IN);
		finish(&task, OBJ_TASK_CANCELLED);
		break;
	}
	if (s->what != PLAN_D_WAIT)
		deal_put(deal, KEY_TASK, &task, 0);
	if (!err && !idle && d->t->crash && d->t->crash(d->t->arg))
		err = -ECANCELED;
	if (!err && !idle)
		err = deal_close(deal, DRAIN_TXN_MS);
	deal_drop(deal);
	free(deal);
	/* The caller makes no further step of a task that waits. */
	return err > 0 && s->what == PLAN_D_WAIT ? 0 : err;
}

int task_drain(struct tasks *t, const struct obj_task *task)
{
	struct draining d = { .t = t, .task = task };
	struct plan_drain_step s;
	struct task_args a;
	char why[OBJ_WHY];
	int ret = task_args_read(task, &a, why, sizeof(why));

	if (ret == -EINVAL)
		ret = task_child_fail(t, task, why);
	else if (!ret && !(ret = facts(&d, &a.on))) {
		plan_drain(&d.facts, &s);
		ret = act(&d, &s);
	}
	free(d.volume);
	task_args_free(&a);
	return ret == -EUCLEAN ? 0 : ret;
}
