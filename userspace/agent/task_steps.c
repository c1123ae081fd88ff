// SPDX-License-Identifier: GPL-2.0-only
/* One transaction for each step of plan_task(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/choose.h"
#include "userspace/agent/task_args.h"
#include "userspace/agent/tasks.h"
#include "userspace/format/label.h"

#define STEP_TXN_MS	10000

/* A step in the making: the deal, and objects whose arrays are this step's. */
struct making {
	struct tasks *t;
	const struct task_facts *f;
	const struct plan_task_step *s;
	struct obj_task task;		/* as it is to be written */
	u32	drives;			/* that the deal writes */
	struct deal deal;
};

static struct key volume_key(enum key_kind kind, const struct muuid *volume)
{
	return (struct key) { .kind = kind, .volume = *volume };
}

/* What the decision was made from. */
static void compare(struct making *m)
{
	const struct muuid *v = &m->f->task->volume;
	u32 c = m->s->txn.compare;
	struct key k;

	lead_compare(&m->deal);
	if (muuid_null(v))	/* a create whose volume has no name yet */
		return;
	if (c & PLAN_OBJ_VOLUME) {
		k = volume_key(KEY_VOLUME, v);
		deal_same(&m->deal, &k);
	}
	if (c & PLAN_OBJ_ACCESS) {
		k = volume_key(KEY_ACCESS, v);
		deal_same(&m->deal, &k);
	}
	if (c & PLAN_OBJ_ROSTER) {
		k = volume_key(KEY_ROSTER, v);
		deal_same(&m->deal, &k);
	}
	if (c & PLAN_OBJ_READERS) {
		k = volume_key(KEY_READER, v);
		deal_none_below(&m->deal, &k, 1);
	}
}

static void begin(struct making *m, struct tasks *t, const struct task_facts *f,
		  const struct plan_task_step *s)
{
	memset(m, 0, sizeof(*m));
	m->t = t;
	m->f = f;
	m->s = s;
	m->task = *f->task;
	m->task.changed = t->now;
	m->task.step[0] = 0;
	if (m->task.state == OBJ_TASK_WAITING)
		m->task.state = OBJ_TASK_RUNNING;
	deal_begin(&m->deal, t->copy);
	compare(m);
}

static int commit(struct making *m)
{
	if (m->t->crash && m->t->crash(m->t->arg)) {
		deal_drop(&m->deal);
		return -ECANCELED;
	}
	return deal_close(&m->deal, STEP_TXN_MS);
}

/* The task goes with each step, so no step of it is done twice from one state. */
static int end(struct making *m)
{
	deal_put(&m->deal, KEY_TASK, &m->task, 0);
	return commit(m);
}

/* A task that cannot be done frees what it has allocated, as one that is cancelled. */
static int fail(struct making *m, const char *why)
{
	snprintf(m->task.error, sizeof(m->task.error), "%s", why[0] ? why : "it cannot be done");
	if (m->task.plan.state == PLAN_TASK_NEW) {
		m->task.stage = PLAN_TASK_ENDED;
		m->task.state = OBJ_TASK_FAILED;
	} else {
		m->task.state = OBJ_TASK_CANCELLING;
	}
	return end(m);
}

/* A refusal becomes the task's; what the store or memory refused is tried again. */
static int made(struct making *m, int err, const struct task_made *x)
{
	if (!err)
		return 0;
	if (err == -ENOSPC)
		snprintf(m->task.fault, sizeof(m->task.fault), "no-space");
	return x->why[0] ? fail(m, x->why) : err;
}

static int create_volume(struct making *m, const struct task_made *x)
{
	const struct muuid *v = &m->task.volume;
	struct obj_volume volume = { .plan = { .uuid = *v, .state = PLAN_CREATING },
				     .record = x->layout };
	struct obj_access access = { .volume = *v, .plan = { .mode = PLAN_NONE, .clean = true } };
	const struct obj_cluster *c = copy_obj(m->t->copy, &(struct key) { .kind = KEY_CLUSTER });
	struct obj_name name = { .volume = *v };
	struct task_args a;
	char why[OBJ_WHY];
	int err = task_args_read(m->f->task, &a, why, sizeof(why));

	if (!err && copy_get(m->t->copy, &(struct key) { .kind = KEY_VOLUME, .volume = *v }))
		err = -EEXIST;
	if (!err) {
		volume.plan.fresh = layout_fresh(x->layout);
		volume.plan.allows = a.allows;
		volume.plan.allow = a.allow;
		volume.io = a.io;
		memcpy(volume.domain, a.domain, sizeof(volume.domain));
		memcpy(name.name, a.name, sizeof(name.name));
		access.plan.number = mesh_number(c ? c->plan.generation : 0, 0, 0);
		deal_put(&m->deal, KEY_VOLUME, &volume, 0);
		deal_put(&m->deal, KEY_ACCESS, &access, 0);
		deal_put(&m->deal, KEY_NAME, &name, 0);
	}
	task_args_free(&a);
	return err;
}

static bool name_taken(const struct making *m, const char *name)
{
	struct key k = { .kind = KEY_NAME };
	const struct obj_name *n;

	snprintf(k.name, sizeof(k.name), "%s", name);
	n = copy_obj(m->t->copy, &k);
	return n && !muuid_equal(&n->volume, &m->f->task->volume);
}

static int place(struct making *m)
{
	bool create = m->f->task->plan.kind == PLAN_TASK_CREATE;
	const struct layout *old = m->f->volume ? m->f->volume->record : NULL;
	struct task_made x;
	int ret = task_make_place(m->t, m->f, &x);

	if (!ret && create && name_taken(m, x.layout->name)) {
		snprintf(x.why, sizeof(x.why), "there is a volume %s already; take another name", x.layout->name);
		ret = -EEXIST;
	}
	if (ret) {
		ret = made(m, ret, &x);
		task_made_free(&x);
		return ret;
	}
	m->task.volume = x.layout->volume;
	m->task.stage = PLAN_TASK_PLACED;
	m->task.plan.put = x.put;
	m->task.plan.puts = x.puts;
	if (m->f->task->plan.kind == PLAN_TASK_EXTEND) {
		m->task.segment = &x.layout->segment[old->segments];
		m->task.segments = x.layout->segments - old->segments;
	}
	ret = create ? create_volume(m, &x) : 0;
	ret = ret ? fail(m, "its volume is there already") : end(m);
	task_made_free(&x);
	return ret;
}

/*
 * The drive with another list of extents, which ends with this call. The first drive of a transaction
 * goes into it in any case. False: the drive is one of a later transaction.
 */
static bool put_drive(struct making *m, const struct obj_drive *d, struct plan_extent *extent, u32 extents)
{
	struct obj_drive out = *d;

	out.plan.extent = extent;
	out.plan.extents = extents;
	if (m->drives && !deal_put_fits(&m->deal, KEY_DRIVE, &out))
		return false;
	if (!m->drives)
		deal_put(&m->deal, KEY_DRIVE, &out, 0);
	m->drives++;
	return true;
}

static const struct obj_drive *drive(const struct making *m, const struct muuid *uuid)
{
	return copy_obj(m->t->copy, &(struct key) { .kind = KEY_DRIVE, .drive = *uuid });
}

static bool has_extent(const struct obj_drive *d, const struct muuid *extent)
{
	for (u32 i = 0; i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, extent))
			return true;
	}
	return false;
}

static bool overlaps(const struct obj_drive *d, const struct plan_task_put *p)
{
	for (u32 i = 0; i < d->plan.extents; i++) {
		const struct plan_extent *x = &d->plan.extent[i];

		if (x->start < p->start + p->length && p->start < x->start + x->length)
			return true;
	}
	return false;
}

/*
 * All puts of the range that are on one drive. Return: 0; -EAGAIN: they have the next transaction;
 * -ENOSPC: the drive's room is another's by now, or the drive leaves, and its label is perhaps wiped
 * already; -ENOMEM.
 */
static int allocate_on(struct making *m, const struct plan_task_put *put, const struct muuid *uuid)
{
	const struct obj_drive *d = drive(m, uuid);
	struct plan_extent *x = d ? calloc(d->plan.extents + m->s->nr, sizeof(*x)) : NULL;
	u32 n, i;
	int err = 0;

	if (!x)
		return d ? -ENOMEM : -ENOSPC;
	n = d->plan.extents;
	for (i = 0; i < n; i++)
		x[i] = d->plan.extent[i];
	for (i = m->s->first; i < m->s->first + m->s->nr && !err; i++) {
		if (!muuid_equal(&put[i].drive, uuid) || has_extent(d, &put[i].extent))
			continue;
		if (d->plan.wanted != PLAN_IN || overlaps(d, &put[i]) || n == LABEL_EXTENTS_MAX)
			err = -ENOSPC;
		else
			x[n++] = (struct plan_extent) { .uuid = put[i].extent, .volume = m->task.volume,
							.place = put[i].place, .state = PLAN_WANTED,
							.start = put[i].start, .length = put[i].length };
	}
	if (!err && n > d->plan.extents && !put_drive(m, d, x, n))
		err = -EAGAIN;
	free(x);
	return err;
}

/* As many drives as one transaction has room for: the next step does the rest. */
static int allocate(struct making *m)
{
	const struct plan_task_put *put = m->task.plan.put;
	int err = 0;

	deal_put(&m->deal, KEY_TASK, &m->task, 0);
	for (u32 i = m->s->first; i < m->s->first + m->s->nr && !err; i++) {
		bool done = false;

		for (u32 k = m->s->first; k < i && !done; k++)
			done = muuid_equal(&put[k].drive, &put[i].drive);
		if (!done)
			err = allocate_on(m, put, &put[i].drive);
	}
	if (err == -ENOSPC) {
		deal_drop(&m->deal);
		begin(m, m->t, m->f, m->s);
		return fail(m, "the room that was chosen on a drive was taken by another task, or the drive "
			    "leaves; type the command again");
	}
	return err && err != -EAGAIN ? err : commit(m);
}

static int bar(struct making *m)
{
	struct obj_volume v = *m->f->volume;
	u16 *places = malloc((v.plan.barred + 1) * sizeof(*places));
	int ret;

	if (!places)
		return -ENOMEM;
	for (u32 i = 0; i < v.plan.barred; i++)
		places[i] = v.plan.bar[i];
	places[v.plan.barred++] = m->s->place;
	v.plan.bar = places;
	deal_put(&m->deal, KEY_VOLUME, &v, 0);
	ret = end(m);
	free(places);
	return ret;
}

static int ready(struct making *m)
{
	struct obj_volume v = *m->f->volume;

	v.plan.state = PLAN_VOLUME_READY;
	deal_put(&m->deal, KEY_VOLUME, &v, 0);
	m->task.stage = PLAN_TASK_ENDED;
	m->task.state = OBJ_TASK_DONE;
	return end(m);
}

/* Places that are barred for this task's puts need no bar any more. */
static void unbar(struct making *m, struct obj_volume *v, u16 *places)
{
	u32 n = 0;

	for (u32 i = 0; i < v->plan.barred; i++) {
		bool ours = false;

		for (u32 k = 0; k < m->task.plan.puts; k++)
			ours = ours || m->task.plan.put[k].place == v->plan.bar[i];
		if (!ours)
			places[n++] = v->plan.bar[i];
	}
	v->plan.bar = places;
	v->plan.barred = n;
}

/* A new name takes the place of the old one in the same transaction. */
static bool rename_volume(struct making *m, const struct task_args *a)
{
	const struct layout *l = m->f->volume->record;
	struct obj_name name = { .volume = m->task.volume };
	struct key old = { .kind = KEY_NAME };

	if (!a->name[0] || !strcmp(a->name, l->name))
		return true;
	if (name_taken(m, a->name))
		return false;
	memcpy(name.name, a->name, sizeof(name.name));
	memcpy(old.name, l->name, sizeof(old.name));
	deal_put(&m->deal, KEY_NAME, &name, 0);
	deal_erase(&m->deal, &old);
	return true;
}

/* The members at the puts' places leave: added to those that leave already. */
static int leave(struct making *m, struct obj_volume *v, struct obj_leaving **made)
{
	const struct layout *l = m->f->volume->record;
	struct obj_leaving *x = malloc((v->leavings + m->task.plan.puts) * sizeof(*x));

	*made = x;
	if (!x)
		return -ENOMEM;
	for (u32 i = 0; i < v->leavings; i++)
		x[i] = v->leaving[i];
	for (u32 i = 0; i < m->task.plan.puts; i++) {
		u32 place = m->task.plan.put[i].place;

		x[v->leavings++] = (struct obj_leaving) { .place = place, .extent = l->member[place].extent };
	}
	v->leaving = x;
	return 0;
}

static int left(struct making *m)
{
	struct obj_volume v = *m->f->volume;
	struct obj_leaving *x = malloc((v.leavings + 1) * sizeof(*x));
	u32 n = 0;
	int ret;

	if (!x)
		return -ENOMEM;
	for (u32 i = 0; i < v.leavings; i++) {
		if (v.leaving[i].place != m->s->place)
			x[n++] = v.leaving[i];
	}
	v.leaving = x;
	v.leavings = n;
	deal_put(&m->deal, KEY_VOLUME, &v, 0);
	ret = end(m);
	free(x);
	return ret;
}

/* True if the extent of a put is ready, as the copy has it now. */
static bool is_ready(const struct making *m, const struct plan_task_put *p)
{
	const struct obj_drive *d = drive(m, &p->drive);

	for (u32 i = 0; d && i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].uuid, &p->extent))
			return d->plan.extent[i].state == PLAN_READY;
	}
	return false;
}

/*
 * The puts' extents are as was decided from: their drives are compared, as many as one transaction
 * compares. Those of the others are read from the store now. Only a controller takes an extent that
 * is ready away, and the deal compares that this one has led since before these reads.
 *
 * Return: 1; 0: decide again; or the store's error. What the facts have of drives is gone by then.
 */
static int same_puts(struct making *m)
{
	const struct obj_task *task = &m->task;

	for (u32 i = 0; i < task->plan.puts; i++) {
		const struct plan_task_put *p = &task->plan.put[i];
		struct key k = { .kind = KEY_DRIVE, .drive = p->drive };
		bool read = false;
		int err;

		if (deal_has_room(&m->deal, 0)) {
			deal_same(&m->deal, &k);
			continue;
		}
		for (u32 n = 0; n < i && !read; n++)
			read = muuid_equal(&task->plan.put[n].drive, &p->drive);
		err = read ? 0 : copy_fresh(m->t->copy, &k);
		if (err)
			return err;
		if (!is_ready(m, p))
			return 0;
	}
	return 1;
}

static int change(struct making *m)
{
	struct obj_volume v = *m->f->volume;
	u16 *places = malloc((v.plan.barred + 1) * sizeof(*places));
	struct obj_leaving *leaving = NULL;
	struct task_args a = { .name = "" };
	struct task_made x;
	int ret = task_make_layout(m->t, m->f, &x);

	if (!places)
		ret = -ENOMEM;
	if (!ret && m->task.plan.kind == PLAN_TASK_SET) {
		ret = task_args_read(m->f->task, &a, x.why, sizeof(x.why));
		if (!ret && !rename_volume(m, &a)) {
			snprintf(x.why, sizeof(x.why), "there is a volume %s already; take another name", a.name);
			ret = -EEXIST;
		}
		if (a.allow_given) {
			v.plan.allow = a.allow;
			v.plan.allows = a.allows;
		}
	}
	if (!ret && m->s->evict)
		ret = leave(m, &v, &leaving);
	if (ret) {
		ret = made(m, ret, &x);
	} else {
		v.record = x.layout;
		unbar(m, &v, places);
		deal_put(&m->deal, KEY_VOLUME, &v, 0);
		m->task.stage = PLAN_TASK_DECIDED;
		m->task.plan.version = x.layout->version;
		deal_put(&m->deal, KEY_TASK, &m->task, 0);
		ret = same_puts(m);
		ret = ret > 0 ? commit(m) : ret;
	}
	free(leaving);
	task_args_free(&a);
	task_made_free(&x);
	free(places);
	return ret;
}

static int doom(struct making *m)
{
	struct obj_volume v = *m->f->volume;
	const struct obj_access *was = copy_obj(m->t->copy, &(struct key) { .kind = KEY_ACCESS,
						.volume = m->task.volume });
	struct obj_access access = *was;

	v.plan.state = PLAN_DELETING;
	access.plan = m->s->access;
	deal_put(&m->deal, KEY_VOLUME, &v, 0);
	if (m->s->txn.put & PLAN_OBJ_ACCESS)
		deal_put(&m->deal, KEY_ACCESS, &access, 0);
	if (m->task.plan.kind == PLAN_TASK_DELETE)
		m->task.stage = PLAN_TASK_DECIDED;
	return end(m);
}

/* Extents of as many drives as fit: the next step does the rest. */
static int free_extents(struct making *m)
{
	bool room = true;

	deal_put(&m->deal, KEY_TASK, &m->task, 0);
	for (u32 i = 0; i < m->f->f.drives && room && m->drives < PLAN_TASK_DRIVES; i++) {
		const struct obj_drive *d = drive(m, &m->f->f.drive[i].uuid);
		struct plan_extent *x = calloc(d->plan.extents + 1, sizeof(*x));
		bool any = false;

		if (!x)
			return -ENOMEM;
		for (u32 k = 0; k < d->plan.extents; k++) {
			x[k] = d->plan.extent[k];
			if (!plan_task_frees(&m->f->f, &x[k]))
				continue;
			x[k].state = PLAN_FREEING;
			any = true;
		}
		if (any)
			room = put_drive(m, d, x, d->plan.extents);
		free(x);
	}
	return commit(m);
}

static void erase(struct making *m, enum key_kind kind)
{
	struct key k = volume_key(kind, &m->task.volume);

	deal_erase(&m->deal, &k);
}

/* Everything that names the volume; hosts that want it attached, as many as fit. */
static int erase_volume(struct making *m)
{
	const struct key wants = { .kind = KEY_WANT };
	const struct copy_item *i = NULL;
	struct key name = { .kind = KEY_NAME };
	bool all = true;

	while ((i = copy_next(m->t->copy, &wants, 0, i))) {
		if (!muuid_equal(&i->key.volume, &m->task.volume))
			continue;
		all = m->deal.ops < STORE_OPS_MAX - 8;
		if (!all)
			break;
		deal_erase(&m->deal, &i->key);
	}
	if (all) {
		memcpy(name.name, m->f->volume->record->name, sizeof(name.name));
		deal_erase(&m->deal, &name);
		erase(m, KEY_WRITER);
		erase(m, KEY_ROSTER);
		erase(m, KEY_ACCESS);
		erase(m, KEY_VOLUME);
	}
	return end(m);
}

/* A task of another verb that ends since its volume goes has not done what it says. */
static bool overtaken(const struct making *m)
{
	u8 kind = m->task.plan.kind;

	return (!m->f->volume || m->f->volume->plan.state == PLAN_DELETING) && kind != PLAN_TASK_DELETE &&
	       kind != PLAN_TASK_CREATE;
}

static int finish(struct making *m)
{
	u8 state = m->task.plan.state;
	struct obj_volume v;
	u16 *places = NULL;
	int ret;

	m->task.stage = PLAN_TASK_ENDED;
	if (overtaken(m) && state != PLAN_TASK_DECIDED) {
		m->task.state = OBJ_TASK_FAILED;
		if (!m->task.error[0])
			snprintf(m->task.error, sizeof(m->task.error), "the volume was deleted");
	} else if (!m->task.plan.cancel || state == PLAN_TASK_DECIDED) {
		m->task.state = OBJ_TASK_DONE;
	} else {
		m->task.state = m->task.error[0] ? OBJ_TASK_FAILED : OBJ_TASK_CANCELLED;
	}
	/* A replacement that was given up has barred its places. */
	if (m->f->volume && m->task.plan.puts && m->f->volume->plan.barred) {
		v = *m->f->volume;
		places = malloc(v.plan.barred * sizeof(*places));
		if (!places)
			return -ENOMEM;
		unbar(m, &v, places);
		if (v.plan.barred != m->f->volume->plan.barred)
			deal_put(&m->deal, KEY_VOLUME, &v, 0);
	}
	ret = end(m);
	free(places);
	return ret;
}

/* What a task waits for is written when it is another thing. */
static int waits(struct making *m)
{
	static const char *const words[] = {
		[PLAN_WHY_NONE] = "", [PLAN_WHY_ZERO] = "zeroing a new extent",
		[PLAN_WHY_RECORD] = "writing layout records",
		[PLAN_WHY_BARRED] = "the kernel is to bar a place",
		[PLAN_WHY_KERNEL] = "the kernel is to take the layout",
		[PLAN_WHY_COPIED] = "copying the member that leaves",
		[PLAN_WHY_FREED] = "freeing an extent", [PLAN_WHY_VERDICT] = "",
	};
	const char *what = m->s->why == PLAN_WHY_VERDICT ? plan_words(m->s->verdict) : words[m->s->why];
	const struct obj_drive *d = muuid_null(&m->s->drive) ? NULL : drive(m, &m->s->drive);
	int ret;

	snprintf(m->task.step, sizeof(m->task.step), "%.40s%s%.20s", what, d && d->name[0] ? ": " : "",
		 d ? d->name : "");
	if (m->task.state == m->f->task->state && !strcmp(m->task.step, m->f->task->step))
		return 0;
	/* The caller makes no further step of this task for now. */
	ret = end(m);
	return ret < 0 ? ret : 0;
}

int task_step(struct tasks *t, const struct task_facts *f, const struct plan_task_step *s)
{
	struct making *m = malloc(sizeof(*m));
	int ret = 0;

	if (!m)
		return -ENOMEM;
	begin(m, t, f, s);
	switch (s->what) {
	case PLAN_T_WAIT:
		ret = waits(m);
		break;
	case PLAN_T_FAIL:
		ret = fail(m, s->why == PLAN_WHY_VERDICT ? plan_words(s->verdict) :
			   "an extent that it allocated was taken away");
		break;
	case PLAN_T_PLACE:
		ret = place(m);
		break;
	case PLAN_T_ALLOCATE:
		ret = allocate(m);
		break;
	case PLAN_T_BAR:
		ret = bar(m);
		break;
	case PLAN_T_READY:
		ret = ready(m);
		break;
	case PLAN_T_CHANGE:
		ret = change(m);
		break;
	case PLAN_T_LEFT:
		ret = left(m);
		break;
	case PLAN_T_DOOM:
		ret = doom(m);
		break;
	case PLAN_T_FREE:
		ret = free_extents(m);
		break;
	case PLAN_T_ERASE:
		ret = erase_volume(m);
		break;
	case PLAN_T_END:
		ret = finish(m);
		break;
	}
	deal_drop(&m->deal);
	free(m);
	return ret;
}
