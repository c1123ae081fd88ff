// SPDX-License-Identifier: GPL-2.0-only
/* "drive forget": one transaction for each volume with a member on the drive, as plan/forget.h has it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/agent/task_args.h"
#include "userspace/agent/task_child.h"
#include "userspace/plan/forget.h"

#define FORGET_TXN_MS	10000

struct forgetting {
	struct tasks *t;
	const struct obj_task *task;
	const struct obj_drive *drive;	/* NULL: there is none */
	struct plan_forget_drive facts;
	struct plan_forget_volume *volume;
	struct obj_task next;		/* as it is to be written */
	struct deal deal;
};

static const struct obj_volume *volume(const struct forgetting *f, const struct muuid *uuid)
{
	return copy_obj(f->t->copy, &(struct key) { .kind = KEY_VOLUME, .volume = *uuid });
}

/* Return: 0; -EUCLEAN: the volume or its access is refused by the codec. */
static int add_volume(struct forgetting *f, const struct muuid *uuid)
{
	struct key k = { .kind = KEY_VOLUME, .volume = *uuid };
	const struct copy_item *v = copy_get(f->t->copy, &k), *a, *i = NULL;
	struct plan_forget_volume *out = &f->volume[f->facts.volumes];

	for (u32 n = 0; n < f->facts.volumes; n++) {
		if (muuid_equal(&f->volume[n].volume->uuid, uuid))
			return 0;
	}
	k.kind = KEY_ACCESS;
	a = copy_get(f->t->copy, &k);
	if (!v)
		return 0;
	if (!v->obj || !a || !a->obj)
		return -EUCLEAN;
	*out = (struct plan_forget_volume) {
		.volume = &((const struct obj_volume *)v->obj)->plan,
		.access = &((const struct obj_access *)a->obj)->plan, .busy = task_child_busy(f->t, uuid),
	};
	k.kind = KEY_READER;
	while ((i = copy_next(f->t->copy, &k, 1, i)))
		out->readers++;
	f->facts.volumes++;
	return 0;
}

static int facts(struct forgetting *f, const struct muuid *drive)
{
	const struct copy_item *i = copy_get(f->t->copy, &(struct key) { .kind = KEY_DRIVE, .drive = *drive });
	int err = 0;

	if (i && !i->obj)
		return -EUCLEAN;
	f->drive = i ? i->obj : NULL;
	f->facts = (struct plan_forget_drive) { .drive = f->drive ? &f->drive->plan : NULL,
						.cancel = f->task->plan.cancel, .stopped = f->t->stopped };
	f->volume = calloc(f->drive ? f->drive->plan.extents + 1 : 1, sizeof(*f->volume));
	if (!f->volume)
		return -ENOMEM;
	for (u32 n = 0; f->drive && n < f->drive->plan.extents && !err; n++)
		err = add_volume(f, &f->drive->plan.extent[n].volume);
	f->facts.volume = f->volume;
	return err;
}

/* The tombstone: the drive's key without the extents of @but; NULL: with all. */
static int bury(struct forgetting *f, const struct muuid *but)
{
	struct plan_extent *x = calloc(f->drive->plan.extents + 1, sizeof(*x));
	struct obj_drive out = *f->drive;

	if (!x)
		return -ENOMEM;
	out.plan.extents = 0;
	for (u32 i = 0; i < f->drive->plan.extents; i++) {
		if (!but || !muuid_equal(&f->drive->plan.extent[i].volume, but))
			x[out.plan.extents++] = f->drive->plan.extent[i];
	}
	out.plan.extent = x;
	out.plan.wanted = PLAN_FORGOTTEN;
	deal_put(&f->deal, KEY_DRIVE, &out, 0);
	free(x);
	return 0;
}

/* The next version: members on the drive become ones that no label bears. */
static int take_out(struct forgetting *f, const struct plan_forget_step *s)
{
	struct obj_volume out = *volume(f, &s->volume);
	struct layout *l = malloc(sizeof(*l));
	struct key k = { .kind = KEY_ACCESS, .volume = s->volume };
	int err = 0;

	if (!l)
		return -ENOMEM;
	*l = *out.record;
	l->version++;
	if (getrandom(&l->commit, sizeof(l->commit), 0) != sizeof(l->commit))
		err = -EIO;
	l->commit = (l->commit >> 1) | 1;
	for (u32 i = 0; i < l->members && !err; i++) {
		if (muuid_equal(&l->member[i].drive, &f->drive->plan.uuid) &&
		    getrandom(l->member[i].extent.b, sizeof(l->member[i].extent.b), 0) != 16)
			err = -EIO;
	}
	out.record = l;
	deal_same(&f->deal, &k);
	k.kind = KEY_READER;
	deal_none_below(&f->deal, &k, 1);
	if (!err)
		deal_put(&f->deal, KEY_VOLUME, &out, 0);
	free(l);
	return err ? err : bury(f, &s->volume);
}

static void finish(struct forgetting *f, u8 state, const char *error)
{
	f->next.stage = PLAN_TASK_ENDED;
	f->next.state = state;
	snprintf(f->next.error, sizeof(f->next.error), "%s", error);
}

/* True: what it waits for is written already. */
static bool waits(struct forgetting *f, const struct plan_forget_step *s)
{
	const struct obj_volume *v = volume(f, &s->volume);

	snprintf(f->next.step, sizeof(f->next.step), "%.36s%s%.24s", v ? v->record->name : "", v ? ": " : "",
		 s->verdict == PLAN_WAIT ? "a task has not ended" : s->verdict == PLAN_HELD ? "is attached" :
		 s->verdict == PLAN_READ ? "has readers" : s->verdict == PLAN_STOPPED ? "store put back" :
		 "is created");
	return f->next.state == f->task->state && !strcmp(f->next.step, f->task->step);
}

static int act(struct forgetting *f, const struct plan_forget_step *s)
{
	bool gone = f->drive && f->drive->plan.wanted == PLAN_FORGOTTEN;
	int err = 0;

	switch (s->what) {
	case PLAN_F_WAIT:
		if (waits(f, s))
			return 0;
		break;
	case PLAN_F_FAIL:
		finish(f, OBJ_TASK_FAILED, "there is no such drive in the cluster");
		break;
	case PLAN_F_VOLUME:
		err = take_out(f, s);
		break;
	case PLAN_F_DROP:
		err = bury(f, &s->volume);
		break;
	case PLAN_F_MARK:
		err = bury(f, NULL);
		break;
	case PLAN_F_END:
		finish(f, gone ? OBJ_TASK_DONE : OBJ_TASK_CANCELLED, "");
		break;
	}
	deal_put(&f->deal, KEY_TASK, &f->next, 0);
	if (!err && f->t->crash && f->t->crash(f->t->arg))
		err = -ECANCELED;
	if (!err)
		err = deal_close(&f->deal, FORGET_TXN_MS);
	/* The caller makes no further step of a task that waits. */
	return err > 0 && s->what == PLAN_F_WAIT ? 0 : err;
}

int task_forget(struct tasks *t, const struct obj_task *task)
{
	struct forgetting *f = calloc(1, sizeof(*f));
	struct plan_forget_step s;
	struct task_args a;
	char why[OBJ_WHY];
	int ret;

	if (!f)
		return -ENOMEM;
	f->t = t;
	f->task = task;
	f->next = *task;
	f->next.changed = t->now;
	f->next.step[0] = 0;
	f->next.state = task->state == OBJ_TASK_WAITING ? OBJ_TASK_RUNNING : task->state;
	ret = task_args_read(task, &a, why, sizeof(why));
	if (ret == -EINVAL) {
		ret = task_child_fail(t, task, why);
	} else if (!ret && !(ret = facts(f, &a.on))) {
		plan_forget_drive(&f->facts, &s);
		deal_begin(&f->deal, t->copy);
		lead_compare(&f->deal);
		ret = act(f, &s);
		deal_drop(&f->deal);
	}
	task_args_free(&a);
	free(f->volume);
	free(f);
	return ret == -EUCLEAN ? 0 : ret;
}
