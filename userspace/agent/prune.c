// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "userspace/agent/prune.h"
#include "userspace/plan/prune.h"

#define PRUNE_TXN_MS	10000
#define PRUNE_AT_ONCE	64

/* Keys that are past, in the copy's order. */
struct past {
	struct plan_past *at;
	struct key *key;
	u32	n, room;
};

static int add(struct past *p, const struct key *k, u64 at)
{
	if (p->n == p->room) {
		u32 room = 2 * p->room + 64;
		struct plan_past *more = realloc(p->at, room * sizeof(*more));
		struct key *keys;

		if (!more)
			return -ENOMEM;
		p->at = more;
		keys = realloc(p->key, room * sizeof(*keys));
		if (!keys)
			return -ENOMEM;
		p->key = keys;
		p->room = room;
	}
	p->key[p->n] = *k;
	p->at[p->n] = (struct plan_past) { .at = at, .index = p->n };
	p->n++;
	return 0;
}

/* The oldest first; of one time in the order of their keys. */
static int older(const void *a, const void *b)
{
	const struct plan_past *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The first ones, as many as go at once. @t: the controller's transaction; NULL: a host's own. */
static int drop(struct copy *c, const struct tasks *t, const struct past *p, u32 go)
{
	struct deal *d = malloc(sizeof(*d));
	int ret;

	if (!d)
		return -ENOMEM;
	deal_begin(d, c);
	if (t)
		lead_compare(d);
	for (u32 i = 0; i < go && i < PRUNE_AT_ONCE; i++)
		deal_erase(d, &p->key[p->at[i].index]);
	if (t && t->crash && t->crash(t->arg)) {
		deal_drop(d);
		ret = -ECANCELED;
	} else {
		ret = deal_close(d, PRUNE_TXN_MS);
	}
	free(d);
	return ret;
}

static int prune(struct copy *c, const struct tasks *t, struct past *p, int err, u64 age)
{
	u32 go = 0;

	if (!err && p->n) {
		qsort(p->at, p->n, sizeof(*p->at), older);
		go = plan_prune(p->at, p->n, t ? t->now : 0, age, PLAN_KEPT_MOST);
	}
	if (go)
		err = drop(c, t, p, go);
	free(p->at);
	free(p->key);
	return err;
}

int prune_tasks(struct tasks *t)
{
	const struct key all = { .kind = KEY_TASK };
	const struct copy_item *i = NULL;
	struct past p = { 0 };
	int err = 0;

	if (!lead_is(t->lead) || t->stopped)
		return 0;
	/* A value that the codec refuses is of a task that may not have ended. */
	while (!err && (i = copy_next(t->copy, &all, 0, i))) {
		const struct obj_task *x = i->obj;

		if (x && task_ended(x))
			err = add(&p, &i->key, x->changed);
	}
	return prune(t->copy, t, &p, err, PLAN_TASK_AGE);
}

int prune_events(struct copy *c, const struct muuid *host)
{
	const struct key own = { .kind = KEY_EVENT, .host = *host };
	const struct copy_item *i = NULL;
	struct past p = { 0 };
	int err = 0;

	while (!err && (i = copy_next(c, &own, 1, i)))
		err = add(&p, &i->key, i->key.serial);
	return prune(c, NULL, &p, err, 0);
}
