// SPDX-License-Identifier: GPL-2.0-only
/* Tasks and events: the work of the cluster, and its history. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/api_in.h"
#include "userspace/format/json.h"

#define EVENTS_USUAL	100

static json_t *task_json(const struct api *a, const struct obj_task *t)
{
	const struct obj_progress p = api_task_progress(a, t);
	json_t *j = json_object();
	const char *name = json_string_value(json_object_get(t->args, "name"));

	jset_uuid(j, "uuid", &t->uuid);
	jset_str(j, "verb", t->verb);
	jset_str(j, "state", api_task_state(t->state));
	if (!muuid_null(&t->volume))
		jset_str(j, "about", api_volume_name(a, &t->volume).s);
	else if (name || json_object_get(t->args, "path"))
		jset_str(j, "about", name ? name : json_string_value(json_object_get(t->args, "path")));
	if (!muuid_null(&t->volume))
		jset_uuid(j, "volume", &t->volume);
	jset_str(j, "step", t->step);
	jset_u64(j, "done", p.done);
	jset_u64(j, "total", p.total);
	jset_str(j, "host", api_host_name(a, &t->host).s);
	jset_str(j, "user", t->user);
	jset_u64(j, "created", t->created);
	jset_u64(j, "changed", t->changed);
	if (t->error[0])
		jset_str(j, "reason", t->error);
	return j;
}

int api_task_list(struct api *a)
{
	const struct key all = { .kind = KEY_TASK };
	const struct copy_item *i = NULL;
	json_t *list = json_array();

	while ((i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_task *t = i->obj;

		if (t && (api_flag(a, "all") || !api_task_ended(t)))
			json_array_append_new(list, task_json(a, t));
	}
	a->result = json_pack("{s:o}", "tasks", list);
	return 0;
}

int api_task_show(struct api *a)
{
	const struct obj_task *t;
	json_t *after = json_array();
	int err = api_task(a, api_text(a, "task"), &t);

	if (err) {
		json_decref(after);
		return err;
	}
	a->result = task_json(a, t);
	json_object_set_new(a->result, "args", t->args ? json_deep_copy(t->args) : json_object());
	for (u32 i = 0; i < t->afters; i++)
		json_array_append_new(after, json_string(muuid_str(&t->after[i]).s));
	json_object_set_new(a->result, "after", after);
	return 0;
}

/* Followed by its UUID once it was found: another task may begin with the same digits meanwhile. */
int api_task_cancel(struct api *a)
{
	struct api_work *w = a->state;
	const struct obj_task *t;
	int err;

	if (!w) {
		err = api_task(a, api_text(a, "task"), &t);
		if (err)
			return err;
		if (api_task_ended(t))
			return api_fail(a, -EALREADY, "refused", "task %s has ended already: it is %s",
					muuid_str(&t->uuid).s, api_task_state(t->state));
		w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		a->state = w;
		w->id = t->uuid;
	}
	if (!w->put) {
		err = api_work_cancel(a, &w->id);
		if (err)
			return err;
		w->put = true;
	}
	if (a->gone)
		return 0;
	err = api_work_wait(a, w);
	if (err == -EINPROGRESS)
		return err;
	if (!err)
		return api_fail(a, -EALREADY, "refused", "task %s was done before it could be cancelled",
				muuid_str(&w->id).s);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct obj_event *x = *(const struct obj_event *const *)a, *y = *(const struct obj_event *const *)b;

	return x->at < y->at ? -1 : x->at > y->at ? 1 : x->serial < y->serial ? -1 : x->serial > y->serial;
}

static json_t *event_json(const struct api *a, const struct obj_event *e)
{
	json_t *j = json_object();

	jset_u64(j, "at", e->at);
	jset_str(j, "host", api_host_name(a, &e->host).s);
	jset_str(j, "what", e->what);
	if (!muuid_null(&e->volume))
		jset_str(j, "volume", api_volume_name(a, &e->volume).s);
	if (!muuid_null(&e->drive))
		jset_uuid(j, "drive", &e->drive);
	jset_str(j, "words", e->words);
	if (e->details)
		json_object_set_new(j, "details", json_deep_copy(e->details));
	return j;
}

/* Events of each host are in their order; of several hosts they are put in that of their clocks. */
int api_event_list(struct api *a)
{
	const struct key all = { .kind = KEY_EVENT };
	const struct obj_volume *v = NULL;
	const struct obj_event **event = NULL, **more;
	const struct copy_item *i = NULL;
	size_t n = 0, last = api_number(a, "last") ? api_number(a, "last") : EVENTS_USUAL;
	json_t *list;
	int err = api_text(a, "volume") ? api_volume(a, api_text(a, "volume"), &v) : 0;

	while (!err && (i = copy_next(a->d->copy, &all, 0, i))) {
		const struct obj_event *e = i->obj;

		if (!e || (v && !muuid_equal(&e->volume, &v->plan.uuid)))
			continue;
		more = n & (n - 1) ? event : realloc(event, (n ? 2 * n : 1) * sizeof(*more));
		err = more ? 0 : -ENOMEM;
		event = more ? more : event;
		if (!err)
			event[n++] = e;
	}
	if (!err) {
		list = json_array();
		if (n)
			qsort(event, n, sizeof(*event), by_time);
		for (size_t at = n > last ? n - last : 0; at < n; at++)
			json_array_append_new(list, event_json(a, event[at]));
		a->result = json_pack("{s:o}", "events", list);
	}
	free(event);
	return err;
}
