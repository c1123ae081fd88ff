// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/agent/task_child.h"

#define FAIL_TXN_MS	10000

static bool ended(const struct obj_task *t)
{
	return t->state == OBJ_TASK_DONE || t->state == OBJ_TASK_FAILED || t->state == OBJ_TASK_CANCELLED;
}

static const struct obj_task *next(const struct tasks *t, const struct copy_item **i)
{
	const struct key all = { .kind = KEY_TASK };

	while ((*i = copy_next(t->copy, &all, 0, *i))) {
		if ((*i)->obj)
			return (*i)->obj;
	}
	return NULL;
}

static bool is_of(const struct obj_task *x, const struct muuid *drain)
{
	const char *text = json_string_value(json_object_get(x->args, "drain"));

	if (!drain)
		return json_is_true(json_object_get(x->args, "spare"));
	return text && !strcmp(text, muuid_str(drain).s);
}

bool task_child_busy(const struct tasks *t, const struct muuid *volume)
{
	const struct copy_item *i = NULL;
	const struct obj_task *x;

	while ((x = next(t, &i))) {
		if (!ended(x) && muuid_equal(&x->volume, volume))
			return true;
	}
	return false;
}

bool task_child_runs(const struct tasks *t, const struct muuid *drain)
{
	const struct copy_item *i = NULL;
	const struct obj_task *x;

	while ((x = next(t, &i))) {
		if (!ended(x) && is_of(x, drain))
			return true;
	}
	return false;
}

bool task_child_refused(const struct tasks *t, const struct muuid *volume, const struct muuid *drain)
{
	const struct copy_item *i = NULL;
	const struct obj_task *x;

	while ((x = next(t, &i))) {
		if (x->state == OBJ_TASK_FAILED && muuid_equal(&x->volume, volume) && is_of(x, drain) &&
		    x->changed + TASK_CHILD_AGAIN > t->now)
			return true;
	}
	return false;
}

bool task_child_forgets(const struct tasks *t, const struct muuid *drive)
{
	const struct copy_item *i = NULL;
	const struct obj_task *x;

	while ((x = next(t, &i))) {
		const char *text = json_string_value(json_object_get(x->args, "drive"));

		if (!ended(x) && x->plan.kind == PLAN_TASK_FORGET && text && !strcmp(text, muuid_str(drive).s))
			return true;
	}
	return false;
}

int task_child_put(const struct tasks *t, struct deal *d, const char *verb, const struct muuid *volume,
		   json_t *args)
{
	struct obj_task x = { .volume = *volume, .state = OBJ_TASK_WAITING, .host = t->lead->host,
			      .args = args, .created = t->now, .changed = t->now, .user = "meshd" };

	if (getrandom(x.uuid.b, sizeof(x.uuid.b), 0) != sizeof(x.uuid.b))
		return -EIO;
	/* RFC 4122, version 4 */
	x.uuid.b[6] = (x.uuid.b[6] & 0x0f) | 0x40;
	x.uuid.b[8] = (x.uuid.b[8] & 0x3f) | 0x80;
	snprintf(x.verb, sizeof(x.verb), "%s", verb);
	deal_put(d, KEY_TASK, &x, 0);
	return 0;
}

int task_child_fail(struct tasks *t, const struct obj_task *task, const char *why)
{
	struct deal *d = malloc(sizeof(*d));
	struct obj_task x = *task;
	int ret;

	if (!d)
		return -ENOMEM;
	x.stage = PLAN_TASK_ENDED;
	x.state = OBJ_TASK_FAILED;
	x.changed = t->now;
	snprintf(x.error, sizeof(x.error), "%s", why);
	deal_begin(d, t->copy);
	lead_compare(d);
	deal_put(d, KEY_TASK, &x, 0);
	ret = deal_close(d, FAIL_TXN_MS);
	free(d);
	return ret;
}
