// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/tasks.h"

bool task_ended(const struct obj_task *t)
{
	return t->state == OBJ_TASK_DONE || t->state == OBJ_TASK_FAILED || t->state == OBJ_TASK_CANCELLED;
}

bool task_is_due(const struct copy *c, const struct obj_task *task)
{
	for (u32 i = 0; i < task->afters; i++) {
		const struct obj_task *before = copy_obj(c, &(struct key) { .kind = KEY_TASK,
							 .task = task->after[i] });

		if (before && !task_ended(before))
			return false;
	}
	return true;
}

/* Of one task, before the others get their turn. */
#define STEPS_MAX	64
#define STUCK_TXN_MS	10000

/* Those that are of no volume have no step table. */
static int of_drives(struct tasks *t, const struct obj_task *task)
{
	if (task->plan.kind == PLAN_TASK_DRAIN)
		return task_drain(t, task);
	return task->plan.kind == PLAN_TASK_FORGET ? task_forget(t, task) : task_remove(t, task);
}

/* Steps of one task until it waits. Return: transactions made, or negative. */
static int run(struct tasks *t, const struct key *k)
{
	struct plan_task_step step;
	struct task_facts facts;
	char why[OBJ_WHY];
	int n = 0, ret;

	while (n < STEPS_MAX) {
		const struct obj_task *task = copy_obj(t->copy, k);

		/* Verbs that no decision is for are carried out by others. */
		if (!task || task_ended(task) || !task->plan.kind || !task_is_due(t->copy, task))
			return n;
		if (task->plan.kind >= PLAN_TASK_DRAIN) {
			ret = of_drives(t, task);
			if (ret <= 0)
				return ret ? ret : n;
			n++;
			continue;
		}
		ret = task_facts_get(t, task, &facts, why, sizeof(why));
		if (ret == -EUCLEAN) {
			task_facts_free(&facts);
			return n;
		}
		if (!ret) {
			plan_task(&facts.f, &step);
			ret = task_step(t, &facts, &step);
		}
		task_facts_free(&facts);
		if (ret <= 0)
			return ret ? ret : n;
		n++;
	}
	return n;
}

/* An error that the objects of one task have: the store serves the others. */
static bool is_of_one(int err)
{
	return err == -E2BIG || err == -EINVAL || err == -ERANGE || err == -EUCLEAN;
}

/* The reason is written once, and the step is tried again whenever an object has changed. */
static int stuck(struct tasks *t, const struct key *k, int err)
{
	const struct obj_task *task = copy_obj(t->copy, k);
	const char *what = err == -E2BIG ? "too large for one transaction" : strerror(-err);
	struct deal *d;
	struct obj_task x;
	int ret;

	if (!task || !strcmp(task->step, what))
		return 0;
	d = malloc(sizeof(*d));
	if (!d)
		return -ENOMEM;
	x = *task;
	x.changed = t->now;
	snprintf(x.step, sizeof(x.step), "%s", what);
	deal_begin(d, t->copy);
	lead_compare(d);
	deal_put(d, KEY_TASK, &x, 0);
	ret = deal_close(d, STUCK_TXN_MS);
	free(d);
	return is_of_one(ret) || ret > 0 ? 0 : ret;
}

int tasks_turn(struct tasks *t)
{
	const struct key all = { .kind = KEY_TASK };
	struct key *k;
	size_t n;
	int done = 0, ret = 0;

	if (!lead_is(t->lead))
		return 0;
	k = copy_keys(t->copy, &all, 0, &n);
	for (size_t at = 0; at < n && ret >= 0; at++) {
		ret = run(t, &k[at]);
		if (ret > 0)
			done += ret;
		else if (is_of_one(ret))
			ret = stuck(t, &k[at], ret);
	}
	free(k);
	return ret < 0 ? ret : done;
}
