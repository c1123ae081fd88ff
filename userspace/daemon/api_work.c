// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/daemon/api_in.h"

static struct key task_key(const struct muuid *id)
{
	return (struct key) { .kind = KEY_TASK, .task = *id };
}

static const struct obj_task *find(const struct api *a, const struct muuid *id)
{
	const struct key k = task_key(id);

	return copy_obj(a->d->copy, &k);
}

bool api_task_ended(const struct obj_task *t)
{
	return t->state == OBJ_TASK_DONE || t->state == OBJ_TASK_FAILED || t->state == OBJ_TASK_CANCELLED;
}

const char *api_task_state(u8 state)
{
	static const char *const words[] = {
		[OBJ_TASK_WAITING] = "waiting", [OBJ_TASK_RUNNING] = "running",
		[OBJ_TASK_CANCELLING] = "cancelling", [OBJ_TASK_DONE] = "done",
		[OBJ_TASK_FAILED] = "failed", [OBJ_TASK_CANCELLED] = "cancelled",
	};

	return state < sizeof(words) / sizeof(words[0]) && words[state] ? words[state] : "?";
}

/* Another verb's task has this id: -EEXIST by api_fail(). 1: it is there; 0: not. */
static int is_known(struct api *a, const struct muuid *id, const char *verb)
{
	const struct obj_task *t = find(a, id);

	if (!t)
		return 0;
	if (strcmp(t->verb, verb))
		return api_fail(a, -EEXIST, "exists", "--id %s is of another operation, '%s': take a new UUID",
				muuid_str(id).s, t->verb);
	return 1;
}

static int put(struct api *a, struct api_work *w, const char *verb, json_t *args, const struct muuid *volume)
{
	struct obj_task t = { .uuid = w->id, .args = args, .state = OBJ_TASK_WAITING, .host = a->d->host,
			      .created = api_now(), .changed = api_now() };
	struct deal d;

	snprintf(t.verb, sizeof(t.verb), "%s", verb);
	if (a->uid)
		snprintf(t.user, sizeof(t.user), "uid %u", a->uid);
	else
		snprintf(t.user, sizeof(t.user), "root");
	if (volume)
		t.volume = *volume;
	deal_begin(&d, a->d->copy);
	deal_put(&d, KEY_TASK, &t, 0);
	if (volume)
		deal_same(&d, &(struct key) { .kind = KEY_VOLUME, .volume = *volume });
	return api_deal(a, &d);
}

/* Bytes that the holder's kernel copies for a member that leaves are in its status alone. */
struct obj_progress api_task_progress(const struct api *a, const struct obj_task *t)
{
	const struct obj_access *access = strcmp(t->verb, "volume evict") ? NULL : api_access_get(a, &t->volume);
	const struct obj_status *s = access ? api_status_get(a, &access->plan.holder, &t->volume) : NULL;
	const json_t *c = s ? json_object_get(s->details, "copying") : NULL;
	struct obj_progress p = t->progress;

	if (p.total || !c || api_task_ended(t))
		return p;
	p.done = json_integer_value(json_object_get(c, "copied"));
	p.total = json_integer_value(json_object_get(c, "bytes"));
	return p;
}

int api_work_wait(struct api *a, struct api_work *w)
{
	const struct obj_task *t = find(a, &w->id);
	struct obj_progress p;

	if (!t) {
		if (!w->seen)
			return -EINPROGRESS;
		return api_fail(a, -ENOENT, "failed", "task %s is not listed any more: see 'meshctl cluster status'",
				muuid_str(&w->id).s);
	}
	w->seen = true;
	if (t->state == OBJ_TASK_DONE)
		return 0;
	if (t->state == OBJ_TASK_FAILED)
		return api_fail(a, -EIO, t->fault[0] ? t->fault : "failed", "%s", t->error);
	if (t->state == OBJ_TASK_CANCELLED)
		return api_fail(a, -ECANCELED, "failed", "%s", t->error[0] ? t->error : "it was cancelled");
	if (t->error[0])
		api_note(a, "%s", t->error);
	p = api_task_progress(a, t);
	if (t->step[0] || p.total)
		api_progress(a, t->step[0] ? t->step : t->verb, p.done, p.total);
	return -EINPROGRESS;
}

int api_work(struct api *a, struct api_work *w, const char *verb, json_t *args, const struct muuid *volume)
{
	int ret = 1;

	if (!w->put) {
		if (muuid_null(&w->id) && !api_id(a, &w->id))
			ret = api_random(a, &w->id) ?: 1;
		if (ret == 1)
			ret = is_known(a, &w->id, verb);
		if (!ret)
			ret = put(a, w, verb, args, volume);
		w->put = ret == 1;
	}
	json_decref(args);
	if (ret < 0)
		return ret;
	return a->gone ? 0 : api_work_wait(a, w);
}

int api_work_cancel(struct api *a, const struct muuid *task)
{
	const struct obj_task *t = find(a, task);
	struct obj_task out;
	struct deal d;
	int ret;

	if (!t || api_task_ended(t) || t->state == OBJ_TASK_CANCELLING)
		return 0;
	out = *t;
	out.state = OBJ_TASK_CANCELLING;
	out.changed = api_now();
	deal_begin(&d, a->d->copy);
	deal_put(&d, KEY_TASK, &out, 0);
	ret = api_deal(a, &d);
	return ret == 1 ? 0 : ret;
}
