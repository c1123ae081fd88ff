// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layouts that tasks make. PLACE chooses drives and writes them into the task as puts; each later
 * step makes the same layout again from the arguments and these puts, so that nothing but the
 * task has to be kept.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/agent/choose.h"
#include "userspace/agent/task_args.h"
#include "userspace/agent/tasks.h"

#define STRIP	65536

static int fail(struct task_made *m, int err, const char *words)
{
	snprintf(m->why, sizeof(m->why), "%s", words);
	return err;
}

static bool named(const struct task_args *a, const struct muuid *drive)
{
	for (u32 i = 0; i < a->drives; i++) {
		if (muuid_equal(&a->drive[i], drive))
			return true;
	}
	return !a->drives;
}

static bool alive(const struct tasks *t, const struct muuid *host)
{
	return copy_get(t->copy, &(struct key) { .kind = KEY_ALIVE, .host = *host });
}

static const struct obj_host *host_of(const struct tasks *t, const struct obj_drive *d)
{
	return copy_obj(t->copy, &(struct key) { .kind = KEY_HOST, .host = d->plan.host });
}

/* Drives that may get an extent. A local drive gets one only where the request names the drive. */
static struct choose_drive *candidates(const struct tasks *t, const struct task_args *a, u32 *nr)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;
	struct choose_drive *c = NULL;
	u32 n = 0, room = 0;

	while ((i = copy_next(t->copy, &all, 0, i))) {
		const struct obj_drive *d = i->obj;
		const struct obj_host *h = d ? host_of(t, d) : NULL;

		if (!h || h->plan.removed || h->plan.maintenance || d->plan.wanted != PLAN_IN ||
		    !alive(t, &d->plan.host) || (d->local && !(a->drives && named(a, &d->plan.uuid))))
			continue;
		if (n == room) {
			struct choose_drive *more = realloc(c, (2 * room + 16) * sizeof(*more));

			if (!more)
				break;
			c = more;
			room = 2 * room + 16;
		}
		c[n++] = (struct choose_drive) { .drive = d, .host = h, .wanted = named(a, &d->plan.uuid) };
	}
	*nr = n;
	return c ? c : calloc(1, sizeof(*c));
}

static int request_of(const struct task_facts *f, const struct task_args *a, struct choose_request *r,
		      struct task_made *m)
{
	const struct layout *l = f->volume ? f->volume->record : NULL;
	const char *why;

	*r = (struct choose_request) { .bytes = a->all ? CHOOSE_ALL : a->bytes, .strip = a->strip,
				       .domain = f->volume ? f->volume->domain : a->domain };
	if (a->layout[0]) {
		why = layout_parse(a->layout, &r->shape);
		if (!why && a->groups)
			why = layout_regroup(&r->shape, a->groups);
		if (why)
			return fail(m, -EINVAL, why);
	} else {
		const struct layout_segment *last = &l->segment[l->segments - 1];

		r->shape = layout_shape(last);
		r->strip = r->strip ? r->strip : last->strip;
	}
	if (!r->strip)
		r->strip = STRIP;
	if (l)
		r->lba_max = l->lba;
	return 0;
}

static int random_bytes(void *to, size_t n)
{
	return getrandom(to, n, 0) == (ssize_t)n ? 0 : -EIO;
}

/* RFC 4122, version 4. */
static int random_uuids(struct muuid *u, size_t n)
{
	int err = random_bytes(u, n * sizeof(*u));

	for (size_t i = 0; i < n; i++) {
		u[i].b[6] = (u[i].b[6] & 0x0f) | 0x40;
		u[i].b[8] = (u[i].b[8] & 0x3f) | 0x80;
	}
	return err;
}

static int begin_layout(const struct tasks *t, const struct task_facts *f, const struct task_args *a,
			 struct layout *l)
{
	l->volume = f->task->volume;
	memcpy(l->name, a->name, sizeof(l->name));
	l->version = 1;
	l->lba = 512;
	l->created = t->now;
	l->spares = a->spares;
	return muuid_null(&l->volume) ? random_uuids(&l->volume, 1) : 0;
}

/* Below 2^63, and not 0: as JSON has it. */
static int random_number(u64 *to)
{
	int err = random_bytes(to, sizeof(*to));

	*to = (*to >> 1) | 1;
	return err;
}

static int choose(const struct tasks *t, const struct task_facts *f, const struct task_args *a,
		  struct task_made *m)
{
	struct muuid *id = malloc(PROT_MEMBERS_MAX * sizeof(*id));
	struct choose_request r;
	struct choose_drive *d;
	char why[CHOOSE_WHY] = "";
	u32 n = 0, i;
	int err = id ? random_uuids(id, PROT_MEMBERS_MAX) : -ENOMEM;

	d = err ? NULL : candidates(t, a, &n);
	if (!d) {
		free(id);
		return err ? err : -ENOMEM;
	}
	if (f->task->plan.kind == PLAN_TASK_REPLACE || f->task->plan.kind == PLAN_TASK_EVICT) {
		i = a->place;
		if (i >= m->layout->members)
			err = fail(m, -EINVAL, "the volume has no member of that number");
		else
			err = choose_member(d, n, f->volume->domain, i, m->layout, id, m->put, why);
		m->puts = 1;
	} else {
		err = request_of(f, a, &r, m);
		if (!err)
			err = choose_segment(d, n, &r, m->layout, id, m->put, &m->puts, why);
	}
	if (err && why[0])
		fail(m, err, why);
	free(d);
	free(id);
	return err;
}

static int made_begin(const struct tasks *t, const struct task_facts *f, struct task_args *a,
		      struct task_made *m)
{
	int err;

	memset(m, 0, sizeof(*m));
	m->layout = calloc(1, sizeof(*m->layout));
	m->put = calloc(PROT_MEMBERS_MAX, sizeof(*m->put));
	err = task_args_read(f->task, a, m->why, sizeof(m->why));
	if (!m->layout || !m->put)
		return -ENOMEM;
	if (err)
		return err;
	if (f->volume)
		memcpy(m->layout, f->volume->record, sizeof(*m->layout));
	else
		err = begin_layout(t, f, a, m->layout);
	return err;
}

int task_make_place(const struct tasks *t, const struct task_facts *f, struct task_made *m)
{
	struct task_args a;
	int err = made_begin(t, f, &a, m);

	if (!err)
		err = choose(t, f, &a, m);
	if (!err && f->task->plan.kind == PLAN_TASK_CREATE) {
		err = random_number(&m->layout->commit);
		if (!err && layout_protected(m->layout))
			err = random_number(&m->layout->salt);
	}
	task_args_free(&a);
	return err;
}

/* The members of the puts, at their places. */
static int put_members(const struct tasks *t, const struct task_facts *f, struct task_made *m)
{
	const struct plan_task *p = &f->task->plan;

	for (u32 i = 0; i < p->puts; i++) {
		const struct obj_drive *d = copy_obj(t->copy, &(struct key) { .kind = KEY_DRIVE,
						     .drive = p->put[i].drive });

		if (!d || !host_of(t, d))
			return fail(m, -EINVAL, "a drive that was chosen is no longer in the cluster");
		choose_set(&m->layout->member[p->put[i].place], d, host_of(t, d), &p->put[i]);
	}
	return 0;
}

/* Members and segments behind those of the day: another extension may have come first. */
static int extend(const struct tasks *t, const struct task_facts *f, struct task_made *m)
{
	const struct obj_task *task = f->task;
	const struct plan_task *p = &task->plan;
	struct layout *l = m->layout;
	u32 next = l->members, refs = 0;

	if (!p->puts || p->put[0].place != l->members)
		return fail(m, -ESTALE, "another extension of the volume was decided first; type the command again");
	if (l->members + p->puts > PROT_MEMBERS_MAX || l->refs + p->puts > PROT_PLACES_MAX ||
	    l->segments + task->segments > PROT_SEGMENTS_MAX)
		return fail(m, -EINVAL, "the volume has too many pieces; copy it to a new one");
	for (u32 i = 0; i < p->puts; i++) {
		if (p->put[i].place != l->members + i)
			return fail(m, -EINVAL, "the places of the new members are not in a row");
	}
	for (u32 i = 0; i < task->segments; i++)
		refs += task->segment[i].refs;
	if (refs != p->puts)
		return fail(m, -EINVAL, "the new segments do not have the new members");
	l->members += p->puts;
	for (u32 i = 0; i < task->segments; i++) {
		layout_append(l, &task->segment[i], next);
		next += task->segment[i].refs;
	}
	return put_members(t, f, m);
}

static void set(const struct task_args *a, struct layout *l)
{
	if (a->name[0])
		memcpy(l->name, a->name, sizeof(l->name));
	if (a->spares || a->no_spares) {
		l->spares = a->spares;
		l->spares_used = 0;
	}
}

int task_make_layout(const struct tasks *t, const struct task_facts *f, struct task_made *m)
{
	struct task_args a;
	int err = made_begin(t, f, &a, m);

	if (!err && f->task->plan.kind == PLAN_TASK_EXTEND)
		err = extend(t, f, m);
	else if (!err && (f->task->plan.kind == PLAN_TASK_REPLACE || f->task->plan.kind == PLAN_TASK_EVICT))
		err = put_members(t, f, m);
	else if (!err)
		set(&a, m->layout);
	if (!err && a.spare && layout_spares_left(m->layout))
		m->layout->spares_used++;
	if (!err) {
		m->layout->version++;
		err = random_number(&m->layout->commit);
	}
	task_args_free(&a);
	return err;
}

void task_made_free(struct task_made *m)
{
	free(m->layout);
	free(m->put);
	m->layout = NULL;
	m->put = NULL;
}
