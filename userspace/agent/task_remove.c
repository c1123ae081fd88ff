// SPDX-License-Identifier: GPL-2.0-only
/* "host remove": the tombstone, then a task "drive forget" for each drive, as plan/remove.h has it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/agent/task_args.h"
#include "userspace/agent/task_child.h"
#include "userspace/plan/remove.h"

#define REMOVE_TXN_MS	10000

struct removal {
	struct tasks *t;
	const struct obj_task *task;
	const struct obj_host *host;	/* NULL: there is none */
	struct plan_remove facts;
	struct plan_drive *drive;
	struct obj_task next;		/* as it is to be written */
	struct deal deal;
};

/* Return: 0; -EUCLEAN: a key is refused by the codec, which may be a drive of the host; -ENOMEM. */
static int drives(struct removal *r, const struct muuid *host)
{
	const struct copy_item *i = NULL;
	struct plan_drive *more;

	while ((i = copy_next(r->t->copy, &(struct key) { .kind = KEY_DRIVE }, 0, i))) {
		const struct obj_drive *d = i->obj;

		if (!d)
			return -EUCLEAN;
		if (!muuid_equal(&d->plan.host, host))
			continue;
		more = realloc(r->drive, (r->facts.drives + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->drive = more;
		r->drive[r->facts.drives++] = d->plan;
		r->facts.forgets = r->facts.forgets || task_child_forgets(r->t, &d->plan.uuid);
	}
	r->facts.drive = r->drive;
	return 0;
}

static int facts(struct removal *r, const struct task_args *a)
{
	const struct copy_item *i = NULL;

	r->facts = (struct plan_remove) { .lost = a->lost, .cancel = r->task->plan.cancel,
					  .stopped = r->t->stopped };
	while ((i = copy_next(r->t->copy, &(struct key) { .kind = KEY_HOST }, 0, i))) {
		const struct obj_host *h = i->obj;

		if (!h)
			return -EUCLEAN;
		if (muuid_equal(&h->plan.uuid, &a->host))
			r->host = h;
		else
			r->facts.stores += h->plan.role == PLAN_STORE && !h->plan.removed;
	}
	r->facts.host = r->host ? &r->host->plan : NULL;
	r->facts.wants = copy_next(r->t->copy, &(struct key) { .kind = KEY_WANT, .host = a->host }, 1, NULL);
	r->facts.alive = copy_get(r->t->copy, &(struct key) { .kind = KEY_ALIVE, .host = a->host });
	return drives(r, &a->host);
}

/* What the host wants attached, as much as has room. */
static void erase_wants(struct removal *r)
{
	const struct muuid *host = &r->host->plan.uuid;
	struct key k = { .kind = KEY_WANT, .host = *host };
	const struct copy_item *i = NULL;

	while ((i = copy_next(r->t->copy, &k, 1, i)) && r->deal.compares < STORE_OPS_MAX - 4) {
		const struct key writer = { .kind = KEY_WRITER, .volume = i->key.volume };
		const struct obj_writer *w = copy_obj(r->t->copy, &writer);

		deal_erase(&r->deal, &i->key);
		if (w && muuid_equal(&w->host, host))
			deal_erase(&r->deal, &writer);
	}
}

/*
 * That it is not alive, and its drives, are what was decided from. A controller alone writes extents:
 * this one has, as the deal compares, or the drive's agent, which adopts what a label has. Drives that
 * have no room among the compares are read from the store now.
 */
static int bury(struct removal *r)
{
	struct key k = { .kind = KEY_ALIVE, .host = r->host->plan.uuid };
	struct obj_host out = *r->host;
	int err = 0;

	if (r->facts.lost)
		deal_same(&r->deal, &k);
	for (u32 d = 0; d < r->facts.drives && !r->facts.lost && !err; d++) {
		const struct key drive = { .kind = KEY_DRIVE, .drive = r->drive[d].uuid };
		const struct obj_drive *now;

		if (r->deal.compares < STORE_OPS_MAX / 2) {
			deal_same(&r->deal, &drive);
			continue;
		}
		err = copy_fresh(r->t->copy, &drive);
		now = err ? NULL : copy_obj(r->t->copy, &drive);
		if (now && now->plan.extents)
			err = -EAGAIN;
	}
	out.plan.removed = true;
	deal_put(&r->deal, KEY_HOST, &out, 0);
	erase_wants(r);
	return err;
}

static int forget(struct removal *r, const struct muuid *drive)
{
	static const struct muuid none;
	json_t *args = json_pack("{s:s}", "drive", muuid_str(drive).s);
	int err = args ? task_child_put(r->t, &r->deal, "drive forget", &none, args) : -ENOMEM;

	json_decref(args);
	return err;
}

static void finish(struct removal *r, u8 state, const char *error)
{
	r->next.stage = PLAN_TASK_ENDED;
	r->next.state = state;
	snprintf(r->next.error, sizeof(r->next.error), "%s", error);
}

static int act(struct removal *r, const struct plan_remove_step *s)
{
	static const char *const why[] = {
		[PLAN_R_NONE] = "there is no such host in the cluster",
		[PLAN_R_DATA] = "the host has drives with data; drain them first, or say that it is lost",
		[PLAN_R_ALIVE] = "the host is alive, so it is not lost; stop its meshd first, or drain its drives",
		[PLAN_R_LAST] = "the host is the last store host; add another one first",
	};
	int err = 0;

	switch (s->what) {
	case PLAN_R_WAIT:
		return 0;
	case PLAN_R_FAIL:
		finish(r, OBJ_TASK_FAILED, why[s->why]);
		break;
	case PLAN_R_TOMB:
		err = bury(r);
		break;
	case PLAN_R_WANTS:
		erase_wants(r);
		break;
	case PLAN_R_FORGET:
		err = forget(r, &s->drive);
		break;
	case PLAN_R_END:
		finish(r, r->task->plan.cancel ? OBJ_TASK_CANCELLED : OBJ_TASK_DONE, "");
		break;
	}
	if (err == -EAGAIN)
		return 0;
	deal_put(&r->deal, KEY_TASK, &r->next, 0);
	if (!err && r->t->crash && r->t->crash(r->t->arg))
		err = -ECANCELED;
	return err ? err : deal_close(&r->deal, REMOVE_TXN_MS);
}

int task_remove(struct tasks *t, const struct obj_task *task)
{
	struct removal *r = calloc(1, sizeof(*r));
	struct plan_remove_step s;
	struct task_args a;
	char why[OBJ_WHY];
	int ret;

	if (!r)
		return -ENOMEM;
	r->t = t;
	r->task = task;
	r->next = *task;
	r->next.changed = t->now;
	r->next.state = task->state == OBJ_TASK_WAITING ? OBJ_TASK_RUNNING : task->state;
	ret = task_args_read(task, &a, why, sizeof(why));
	if (ret == -EINVAL) {
		ret = task_child_fail(t, task, why);
	} else if (!ret && !(ret = facts(r, &a))) {
		plan_remove(&r->facts, &s);
		deal_begin(&r->deal, t->copy);
		lead_compare(&r->deal);
		ret = act(r, &s);
		deal_drop(&r->deal);
	}
	task_args_free(&a);
	free(r->drive);
	free(r);
	return ret == -EUCLEAN ? 0 : ret;
}
