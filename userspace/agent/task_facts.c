// SPDX-License-Identifier: GPL-2.0-only
/* What concerns one task, out of the copy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/agent/tasks.h"

static const enum key_kind followed[] = {
	KEY_CLUSTER, KEY_LEADER, KEY_HOST, KEY_ALIVE, KEY_DEVICE, KEY_DRIVE, KEY_VOLUME, KEY_NAME, KEY_ACCESS,
	KEY_READER, KEY_WANT, KEY_WRITER, KEY_ROSTER, KEY_TASK,
};

int tasks_follow(struct copy *c)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]) && !err; i++)
		err = copy_follow(c, &(struct key) { .kind = followed[i] }, 0);
	return err;
}

/* An object that is refused is not one that is absent. */
static int want(const struct copy *c, const struct key *k, const void **obj, char *why, size_t size)
{
	const struct copy_item *i = copy_get(c, k);

	*obj = i ? i->obj : NULL;
	if (!i || i->obj)
		return 0;
	snprintf(why, size, "%s", i->why);
	return -EUCLEAN;
}

static bool concerns(const struct obj_drive *d, const struct obj_task *task)
{
	for (u32 i = 0; i < d->plan.extents; i++) {
		if (muuid_equal(&d->plan.extent[i].volume, &task->volume))
			return true;
	}
	for (u32 i = 0; i < task->plan.puts; i++) {
		if (muuid_equal(&task->plan.put[i].drive, &d->plan.uuid))
			return true;
	}
	return false;
}

static int drives(const struct copy *c, struct task_facts *f, char *why, size_t size)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;
	u32 room = 0, n = 0;

	while ((i = copy_next(c, &all, 0, i))) {
		const struct obj_drive *d = i->obj;

		/* Its extents are not known: none of them may be freed, or given out again. */
		if (!d) {
			snprintf(why, size, "%s", i->why);
			return -EUCLEAN;
		}
		if (!concerns(d, f->task))
			continue;
		if (n == room) {
			struct plan_drive *more = realloc(f->drive, (2 * room + 8) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			f->drive = more;
			room = 2 * room + 8;
		}
		f->drive[n++] = d->plan;
	}
	f->f.drive = f->drive;
	f->f.drives = n;
	return 0;
}

int task_facts_get(const struct tasks *t, const struct obj_task *task, struct task_facts *out,
		   char *why, size_t size)
{
	struct key k = { .volume = task->volume };
	const struct copy_item *i = NULL;
	const struct obj_access *access;
	const struct obj_roster *roster;
	const void *obj[3];
	int err = 0;

	memset(out, 0, sizeof(*out));
	out->task = task;
	out->f.task = &task->plan;
	out->f.stopped = t->stopped;
	if (muuid_null(&task->volume))
		return 0;
	for (int n = 0; n < 3 && !err; n++) {
		k.kind = (const enum key_kind[]) { KEY_VOLUME, KEY_ACCESS, KEY_ROSTER }[n];
		err = want(t->copy, &k, &obj[n], why, size);
	}
	if (err)
		return err;
	if (obj[0] && !obj[1]) {
		snprintf(why, size, "volume %s has no access key", muuid_str(&task->volume).s);
		return -EUCLEAN;
	}
	out->volume = obj[0];
	access = obj[1];
	roster = obj[2];
	out->f.volume = out->volume ? &out->volume->plan : NULL;
	out->f.access = access ? &access->plan : NULL;
	out->f.rosters = roster ? &roster->plan : NULL;
	k.kind = KEY_READER;
	while ((i = copy_next(t->copy, &k, 1, i)))
		out->f.readers++;
	return drives(t->copy, out, why, size);
}

void task_facts_free(struct task_facts *f)
{
	free(f->drive);
	memset(f, 0, sizeof(*f));
}
