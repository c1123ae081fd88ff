// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/agent/export.h"
#include "userspace/agent/task_args.h"
#include "userspace/agent/tasks.h"
#include "userspace/format/printable.h"

#define EXPORT_TXN_MS	5000
#define EXPORT_SLOW	5	/* seconds until the task says what it waits for */

struct export_work {
	struct export_work *next;
	struct muuid task;
	bool	probed;
	struct export_disk disk;
	struct label *label;	/* that is being written; NULL: not yet */
	bool	labelled, owned;
	bool	grown;		/* of an export again, as far as is possible ... */
	u64	size;		/* ... to this one, of the label */
	char	ungrown[OBJ_TEXT];	/* ... or why not */
	bool	left, unwiped;	/* of an unexport: served no more; the label could not be wiped */
	bool	away;		/* ... it was not served before */
};

/* One step of a task. */
struct step {
	struct export_agent *e;
	const struct obj_task *task;
	struct drive_args args;
	struct export_work *w;
};

static struct key drive_key(const struct muuid *drive)
{
	return (struct key) { .kind = KEY_DRIVE, .drive = *drive };
}

static const struct obj_drive *drive_of(const struct export_agent *e, const struct muuid *drive)
{
	struct key k = drive_key(drive);

	return muuid_null(drive) ? NULL : copy_obj(e->copy, &k);
}

static const struct obj_host *host_of(const struct export_agent *e, const struct muuid *host)
{
	struct key k = { .kind = KEY_HOST, .host = *host };

	return copy_obj(e->copy, &k);
}

static void work_free(struct export_work *w)
{
	free(w->label);
	free(w);
}

static void work_drop(struct export_agent *e, const struct muuid *task)
{
	for (struct export_work **at = &e->work; *at; at = &(*at)->next) {
		struct export_work *w = *at;

		if (muuid_equal(&w->task, task)) {
			*at = w->next;
			work_free(w);
			return;
		}
	}
}

static struct export_work *work_of(struct export_agent *e, const struct muuid *task)
{
	struct export_work *w;

	for (w = e->work; w; w = w->next) {
		if (muuid_equal(&w->task, task))
			return w;
	}
	w = calloc(1, sizeof(*w));
	if (w) {
		w->task = *task;
		w->next = e->work;
		e->work = w;
	}
	return w;
}

void export_end(struct export_agent *e)
{
	while (e->work)
		work_drop(e, &e->work->task);
}

/* A task with a drive has begun: its label may be written, or wiped. */
static bool has_begun(const struct obj_task *t)
{
	return !muuid_null(&t->drive);
}

/* Write the task with what else is in @d. Return: 1: done; 0: something had changed; or negative. */
static int write_task(struct step *s, struct deal *d, struct obj_task *t)
{
	struct export_agent *e = s->e;
	struct muuid id = t->uuid;
	bool ends = task_ended(t);
	int ret;

	t->changed = e->now;
	deal_put(d, KEY_TASK, t, 0);
	ret = deal_close(d, EXPORT_TXN_MS);
	if (ret == 1 && ends)
		work_drop(e, &id);
	return ret;
}

static int finish(struct step *s, u8 state, const char *error)
{
	struct obj_task t = *s->task;
	struct deal d;

	t.state = state;
	t.step[0] = 0;
	printable(error, t.error, sizeof(t.error));
	deal_begin(&d, s->e->copy);
	return write_task(s, &d, &t);
}

static int fail(struct step *s, const char *why)
{
	return finish(s, OBJ_TASK_FAILED, why[0] ? why : "it cannot be done");
}

/* An error of the machine, with its own words if it has some. */
static int fail_by(struct step *s, const char *doing, int err)
{
	const char *words = s->e->ops->words(s->e->machine);
	char why[OBJ_WORDS];

	snprintf(why, sizeof(why), "%s: %s", doing, words && words[0] ? words : strerror(-err));
	return fail(s, why);
}

/*
 * What the codec refuses, or the rights of this host, is refused at each turn: a device whose serial is
 * no plain text must not keep its task for ever.
 */
static int write_or_fail(struct step *s, struct deal *d, struct obj_task *t)
{
	char why[OBJ_WHY];
	int ret = d->err;

	if (!ret)
		ret = write_task(s, d, t);
	else
		deal_drop(d);
	if (ret == -ENOMEM || (ret != -EACCES && !d->err))
		return ret;
	snprintf(why, sizeof(why), "%s", d->why);
	return fail(s, why);
}

/* The verdict over the disk as it was probed, and the store as it is now. */
static enum export_answer judge(struct step *s, char *why, size_t size)
{
	const struct export_disk *d = &s->w->disk;
	struct export_agent *e = s->e;
	struct export_request r = { .force = s->args.force, .erase_label = s->args.erase_label,
				    .local = s->args.local, .drive = s->task->drive };
	struct export_facts f = { .cluster = copy_obj(e->copy, &(struct key) { .kind = KEY_CLUSTER }),
				  .self = host_of(e, &e->host) };
	struct key k = drive_key(&d->drive);
	const struct copy_item *i = muuid_null(&d->drive) ? NULL : copy_get(e->copy, &k);

	f.key = i ? i->obj : NULL;
	f.key_refused = i && !i->obj;
	if (f.key) {
		struct key alive = { .kind = KEY_ALIVE, .host = f.key->plan.host };

		f.former = host_of(e, &f.key->plan.host);
		f.former_alive = copy_get(e->copy, &alive);
	}
	return export_verdict(d, &r, &f, why, size);
}

/* The store's own drive/D of this disk, which is not the one that the task has begun with? */
static bool is_another(const struct step *s, enum export_answer a)
{
	if (!has_begun(s->task))
		return false;
	if (a == EXPORT_FRESH)
		return drive_of(s->e, &s->task->drive);
	return a == EXPORT_MOVE || !muuid_equal(&s->task->drive, &s->w->disk.drive);
}

static bool name_taken(const struct export_agent *e, const char *name, const struct muuid *but)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;

	while (name[0] && (i = copy_next(e->copy, &all, 0, i))) {
		const struct obj_drive *d = i->obj;

		if (d && !strcmp(d->name, name) && !muuid_equal(&d->plan.uuid, but))
			return true;
	}
	return false;
}

static int random_uuid(struct muuid *u)
{
	if (getrandom(u->b, sizeof(u->b), 0) != sizeof(u->b))
		return -EIO;
	muuid_mark_random(u);
	return 0;
}

/* From here on the task has its drive; one that moves is this host's, in the same transaction. */
static int begin_export(struct step *s, enum export_answer a)
{
	const struct key label = drive_key(&s->w->disk.drive);
	struct export_agent *e = s->e;
	struct obj_task t = *s->task;
	struct deal d;

	t.state = OBJ_TASK_RUNNING;
	t.drive = s->w->disk.drive;
	if (a == EXPORT_FRESH && random_uuid(&t.drive))
		return -EIO;
	if (name_taken(e, s->args.name, &t.drive))
		return fail(s, "another drive has this name");
	deal_begin(&d, e->copy);
	/* A copy that is behind the store does not know a drive whose label would be lost. */
	if (!muuid_null(&label.drive))
		deal_same(&d, &label);
	if (a == EXPORT_MOVE) {
		struct obj_drive moved = *drive_of(e, &t.drive);

		moved.plan.host = e->host;
		deal_put(&d, KEY_DRIVE, &moved, 0);
	}
	/* That may have taken hours, and what was on the disk before it says nothing of now. */
	s->w->probed = false;
	return write_or_fail(s, &d, &t);
}

/* A sequence above all that the disk has: the copy of a former label must not win over this one. */
static struct label *first_label(const struct step *s)
{
	const struct obj_cluster *c = copy_obj(s->e->copy, &(struct key) { .kind = KEY_CLUSTER });
	const struct export_disk *d = &s->w->disk;
	struct label *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->drive = s->task->drive;
	l->cluster = c->plan.uuid;
	l->generation = c->plan.generation;
	l->owner = s->e->host;
	l->sequence = d->sequence + 1;
	l->size = d->disk.size;
	l->lba = d->disk.lba;
	l->flags = s->args.local ? LABEL_F_LOCAL : 0;
	return l;
}

/* @go: the disk's label is the drive's, of this host. Else it waits, or the task has failed. */
static int write_label(struct step *s, enum export_answer a, bool *go)
{
	struct export_agent *e = s->e;
	struct export_work *w = s->w;
	int err = 0;

	if (a == EXPORT_FRESH && !w->labelled) {
		if (!w->label)
			w->label = first_label(s);
		if (!w->label)
			return -ENOMEM;
		err = e->ops->label_first(e->machine, s->args.path, w->label);
		w->labelled = !err;
	} else if (a == EXPORT_AGAIN && !w->owned && !muuid_equal(&w->disk.owner, &e->host)) {
		err = e->ops->own ? e->ops->own(e->machine, s->args.path, &s->task->drive, &e->host) : -EOPNOTSUPP;
		w->owned = !err;
	}
	*go = !err;
	return !err || err == -EINPROGRESS ? 0 : fail_by(s, "its label cannot be written", err);
}

/* The drive is served: it becomes known, and the task ends. */
static int end_export(struct step *s, enum export_answer a)
{
	const struct obj_disk *disk = &s->w->disk.disk;
	struct export_agent *e = s->e;
	const struct obj_drive *was = drive_of(e, &s->task->drive);
	struct obj_drive out = { .plan.uuid = s->task->drive, .plan.host = e->host };
	const struct key cluster = { .kind = KEY_CLUSTER };
	struct obj_task t = *s->task;
	struct deal d;

	if (was)
		out = *was;
	out.plan.wanted = PLAN_IN;
	memcpy(out.path, disk->path, sizeof(out.path));
	memcpy(out.model, disk->model, sizeof(out.model));
	memcpy(out.wwid, disk->wwid, sizeof(out.wwid));
	memcpy(out.serial, disk->serial, sizeof(out.serial));
	if (s->args.name[0])
		memcpy(out.name, s->args.name, sizeof(out.name));
	if (s->w->size)
		out.size = s->w->size;
	if (a == EXPORT_FRESH) {
		out.size = disk->size;
		out.lba = disk->lba;
		out.local = s->args.local;
		out.sequence = s->w->label->sequence;
	}
	t.state = OBJ_TASK_DONE;
	t.error[0] = 0;
	snprintf(t.step, sizeof(t.step), "%s", s->w->ungrown);
	deal_begin(&d, e->copy);
	deal_same(&d, &cluster);
	deal_put(&d, KEY_DRIVE, &out, 0);
	return write_or_fail(s, &d, &t);
}

/* A drive whose label cannot grow is served as it was. */
static int grow(struct step *s)
{
	struct export_agent *e = s->e;
	struct export_work *w = s->w;
	const char *words;
	int err;

	if (w->grown || !e->ops->grow)
		return 0;
	err = e->ops->grow(e->machine, &s->task->drive, &w->size);
	if (err == -EINPROGRESS)
		return err;
	words = e->ops->words(e->machine);
	if (err)
		snprintf(w->ungrown, sizeof(w->ungrown), "it does not grow: %.40s",
			 words && words[0] ? words : strerror(-err));
	w->grown = true;
	return 0;
}

static int export_step(struct step *s)
{
	struct export_agent *e = s->e;
	struct export_work *w = s->w;
	enum export_answer a;
	char why[OBJ_WORDS];
	bool go = false;
	int ret;

	if (!w->probed) {
		ret = e->ops->probe(e->machine, s->args.path, &w->disk);
		if (ret)
			return ret == -EINPROGRESS ? 0 : fail_by(s, s->args.path, ret);
		w->probed = true;
	}
	a = judge(s, why, sizeof(why));
	if (a == EXPORT_REFUSED)
		return fail(s, why);
	if (is_another(s, a)) {
		snprintf(why, sizeof(why), "%s is another disk than the one that the task began with", s->args.path);
		return fail(s, why);
	}
	if (!has_begun(s->task))
		return begin_export(s, a);
	ret = write_label(s, a, &go);
	if (!go)
		return ret;
	ret = e->ops->take(e->machine, s->args.path, &s->task->drive);
	if (ret)
		return ret == -EINPROGRESS ? 0 : fail_by(s, "it cannot be served", ret);
	if (a == EXPORT_AGAIN && grow(s))
		return 0;
	return end_export(s, a);
}

/* "a, b, c and 4 more" */
static void volumes_on(const struct export_agent *e, const struct obj_drive *d, char *out, size_t size)
{
	const struct muuid *last = NULL;
	size_t n = 0;
	u32 named = 0, more = 0;

	out[0] = 0;
	for (u32 i = 0; i < d->plan.extents; i++) {
		struct key k = { .kind = KEY_VOLUME, .volume = d->plan.extent[i].volume };
		const struct obj_volume *v = copy_obj(e->copy, &k);

		if (last && muuid_equal(last, &k.volume))
			continue;
		last = &d->plan.extent[i].volume;
		if (named == 5) {
			more++;
			continue;
		}
		n += snprintf(out + n, size - n, "%s%s", named++ ? ", " : "",
			      v ? v->record->name : muuid_str(&k.volume).s);
	}
	if (more)
		snprintf(out + n, size - n, " and %u more", more);
}

static int refuse_full(struct step *s, const struct obj_drive *d)
{
	char names[6 * MUUID_TEXT + 8 * LAYOUT_NAME], why[OBJ_WORDS];

	volumes_on(s->e, d, names, sizeof(names));
	snprintf(why, sizeof(why), "the drive has extents of %.*s: 'meshctl volume replace' or 'meshctl volume delete' "
		 "them first. With --force the drive leaves with what is on it, and its volumes do without",
		 (int)(sizeof(why) - 200), names);
	return fail(s, why);
}

/* No extent is given out on a drive that is draining; one that is out by now stays so. */
static int begin_unexport(struct step *s, const struct obj_drive *d)
{
	struct obj_task t = *s->task;
	struct obj_drive out = *d;
	struct deal deal;

	t.state = OBJ_TASK_RUNNING;
	t.drive = d->plan.uuid;
	if (out.plan.wanted == PLAN_IN)
		out.plan.wanted = PLAN_DRAINING;
	deal_begin(&deal, s->e->copy);
	deal_put(&deal, KEY_DRIVE, &out, 0);
	return write_or_fail(s, &deal, &t);
}

/* A drive that hangs keeps the task for as long. Its volumes do not wait. */
static int taken_away(struct step *s)
{
	struct obj_task t = *s->task;
	struct deal d;

	if (!s->args.preempt || t.step[0] || s->e->now - t.changed < EXPORT_SLOW)
		return 0;
	snprintf(t.step, sizeof(t.step), "its volumes have lost it; it goes when its commands have ended");
	deal_begin(&d, s->e->copy);
	return write_or_fail(s, &d, &t);
}

/*
 * @go: the drive is served no more. Else it waits, or the task has failed. A label that cannot be
 * wiped, since the drive fails, is not taken up again: the store does not know it any more.
 */
static int leave(struct step *s, bool wipe, bool *go)
{
	struct export_agent *e = s->e;
	struct export_work *w = s->w;
	unsigned int how = (wipe && !w->unwiped ? EXPORT_WIPE : 0) | (s->args.preempt ? EXPORT_PREEMPT : 0);
	int err = 0;

	if (!w->left)
		err = e->ops->leave(e->machine, &s->task->drive, how);
	if (err == -EINPROGRESS)
		return taken_away(s);
	if (err == -ENOTEMPTY)
		return fail(s, "its label names extents that the store does not know yet: 'meshctl drive list' shows them "
			    "in a while. The drive takes no new ones; 'meshctl drive export' reverts that");
	if (err && err != -ENODEV && err != -EEXIST && wipe && !w->unwiped) {
		w->unwiped = true;
		return leave(s, wipe, go);
	}
	if (err && err != -ENODEV)
		return fail_by(s, "it is served still, and takes no new extents ('meshctl drive export' reverts that)",
			       err);
	w->away = err == -ENODEV;
	w->left = true;
	*go = true;
	return 0;
}

static int end_unexport(struct step *s, const struct obj_drive *d)
{
	struct key k = drive_key(&d->plan.uuid);
	struct obj_task t = *s->task;
	struct obj_drive out = *d;
	struct deal deal;

	t.state = OBJ_TASK_DONE;
	t.step[0] = t.error[0] = 0;
	if (s->w->away)
		snprintf(t.step, sizeof(t.step), "the drive was away: its label was not written now");
	else if (s->w->unwiped)
		snprintf(t.step, sizeof(t.step), "its label could not be wiped");
	deal_begin(&deal, s->e->copy);
	if (d->plan.extents) {
		out.plan.wanted = PLAN_OUT;
		deal_put(&deal, KEY_DRIVE, &out, 0);
	} else {
		deal_erase(&deal, &k);
	}
	return write_or_fail(s, &deal, &t);
}

static int unexport_step(struct step *s)
{
	const struct obj_drive *d = drive_of(s->e, &s->args.drive);
	struct key k = drive_key(&s->args.drive);
	const struct copy_item *i = copy_get(s->e->copy, &k);
	bool go = false;
	int ret;

	if (!d)
		return fail(s, i ? i->why : "there is no such drive");
	if (d->plan.wanted == PLAN_FORGOTTEN)
		return fail(s, "the drive was forgotten");
	if (d->plan.extents && !s->args.force)
		return refuse_full(s, d);
	if (!has_begun(s->task) || d->plan.wanted == PLAN_IN)
		return begin_unexport(s, d);
	ret = leave(s, !d->plan.extents, &go);
	return go ? end_unexport(s, d) : ret;
}

/* The host that carries a task out: the one that has the drive, else the one that is named. */
static const struct muuid *host_for(const struct export_agent *e, const struct obj_task *t,
				    const struct drive_args *a)
{
	const struct obj_drive *d = drive_of(e, &a->drive);

	return d ? &d->plan.host : muuid_null(&a->host) ? &t->host : &a->host;
}

/* The host that requested a task ends it where the other one will not. */
static int for_another(struct step *s, const struct muuid *host)
{
	const struct obj_host *h = host_of(s->e, host);
	struct key alive = { .kind = KEY_ALIVE, .host = *host };
	char why[OBJ_WORDS];

	if (!muuid_equal(&s->task->host, &s->e->host))
		return 0;
	if (!h || h->plan.removed) {
		snprintf(why, sizeof(why), "host %s is no member of the cluster", h ? h->name : muuid_str(host).s);
		return fail(s, why);
	}
	if (s->task->state == OBJ_TASK_CANCELLING && !has_begun(s->task) && !copy_get(s->e->copy, &alive))
		return finish(s, OBJ_TASK_CANCELLED, "");
	return 0;
}

static int run(struct export_agent *e, const struct key *k)
{
	struct step s = { .e = e, .task = copy_obj(e->copy, k) };
	const struct muuid *host;
	char why[OBJ_WHY] = "";
	int err;

	if (!s.task || !drive_args_are(s.task) || task_ended(s.task) || !task_is_due(e->copy, s.task))
		return 0;
	err = drive_args_read(s.task, &s.args, why, sizeof(why));
	if (err == -ENOMEM)
		return err;
	if (err)
		return muuid_equal(&s.task->host, &e->host) ? fail(&s, why) : 0;
	host = host_for(e, s.task, &s.args);
	if (!muuid_equal(host, &e->host))
		return for_another(&s, host);
	if (s.task->state == OBJ_TASK_CANCELLING && !has_begun(s.task))
		return finish(&s, OBJ_TASK_CANCELLED, "");
	s.w = work_of(e, &s.task->uuid);
	if (!s.w)
		return -ENOMEM;
	return muuid_null(&s.args.drive) ? export_step(&s) : unexport_step(&s);
}

/* Works of tasks that have ended in another way, or are no longer kept. */
static void prune(struct export_agent *e)
{
	struct export_work **at = &e->work;

	while (*at) {
		struct key k = { .kind = KEY_TASK, .task = (*at)->task };
		const struct obj_task *t = copy_obj(e->copy, &k);
		struct export_work *w = *at;

		if (t && !task_ended(t)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		work_free(w);
	}
}

int export_turn(struct export_agent *e)
{
	const struct key all = { .kind = KEY_TASK };
	struct key *k;
	size_t n;
	int done = 0, ret = 0;

	prune(e);
	if (e->stopped)
		return 0;
	k = copy_keys(e->copy, &all, 0, &n);
	for (size_t at = 0; at < n && ret >= 0; at++) {
		ret = run(e, &k[at]);
		/* A task that this host must not write is in nothing's way. */
		if (ret == -EACCES)
			ret = 0;
		if (ret > 0)
			done += ret;
	}
	free(k);
	return ret < 0 ? ret : done;
}
