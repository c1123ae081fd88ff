// SPDX-License-Identifier: GPL-2.0-only
/* The list of lent drives, their threads, and their labels in memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/drive.h"

static struct {
	pthread_mutex_t lock;
	struct tdrive *first;
} tdrives = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct tdrive **tdrives_all(size_t *n)
{
	struct tdrive **out = NULL, *d;
	size_t i = 0;

	pthread_mutex_lock(&tdrives.lock);
	for (d = tdrives.first; d; d = d->next)
		i++;
	out = calloc(i + 1, sizeof(*out));
	for (*n = 0, d = tdrives.first; out && d; d = d->next) {
		d->refs++;
		out[(*n)++] = d;
	}
	pthread_mutex_unlock(&tdrives.lock);
	return out;
}

struct tdrive *tdrive_find(const struct muuid *uuid)
{
	struct tdrive *d;

	pthread_mutex_lock(&tdrives.lock);
	for (d = tdrives.first; d && !muuid_equal(&d->uuid, uuid); d = d->next)
		;
	if (d)
		d->refs++;
	pthread_mutex_unlock(&tdrives.lock);
	return d;
}

struct tdrive *tdrive_by_path(const char *path)
{
	struct tdrive *d;

	pthread_mutex_lock(&tdrives.lock);
	for (d = tdrives.first; d && strcmp(d->path, path); d = d->next)
		;
	if (d)
		d->refs++;
	pthread_mutex_unlock(&tdrives.lock);
	return d;
}

struct tdrive *tdrive_of_extent(const struct muuid *extent)
{
	struct tdrive *d;
	bool here = false;

	pthread_mutex_lock(&tdrives.lock);
	for (d = tdrives.first; d; d = d->next) {
		pthread_mutex_lock(&d->lock);
		here = label_find(d->label, extent);
		pthread_mutex_unlock(&d->lock);
		if (here)
			break;
	}
	if (d)
		d->refs++;
	pthread_mutex_unlock(&tdrives.lock);
	return d;
}

void tdrive_get(struct tdrive *d)
{
	pthread_mutex_lock(&tdrives.lock);
	d->refs++;
	pthread_mutex_unlock(&tdrives.lock);
}

void tdrive_put(struct tdrive *d)
{
	bool last;

	if (!d)
		return;
	pthread_mutex_lock(&tdrives.lock);
	last = !--d->refs;
	pthread_mutex_unlock(&tdrives.lock);
	if (!last)
		return;
	close(d->fd);
	free(d->label);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->wake);
	free(d);
}

static void *drive_thread(void *arg)
{
	struct tdrive *d = arg;
	struct tjob *j;
	bool gone;

	pthread_mutex_lock(&d->lock);
	while (d->jobs || !d->gone) {
		j = d->jobs;
		if (!j) {
			pthread_cond_wait(&d->wake, &d->lock);
			continue;
		}
		d->jobs = j->next;
		if (!d->jobs)
			d->jobs_end = &d->jobs;
		gone = d->gone;
		pthread_mutex_unlock(&d->lock);
		j->fn(d, j, gone ? -ENODEV : 0);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	tdrive_put(d);
	return NULL;
}

void tdrive_submit(struct tdrive *d, struct tjob *j)
{
	bool gone;

	j->next = NULL;
	pthread_mutex_lock(&d->lock);
	gone = d->gone;
	if (!gone) {
		*d->jobs_end = j;
		d->jobs_end = &j->next;
		pthread_cond_broadcast(&d->wake);
	}
	pthread_mutex_unlock(&d->lock);
	if (gone)
		j->fn(d, j, -ENODEV);
}

struct waited {
	struct tjob job;
	int (*fn)(struct tdrive *d, void *arg);
	void *arg;
	int err;
	bool done;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

static void waited_fn(struct tdrive *d, struct tjob *j, int err)
{
	struct waited *w = (struct waited *)j;

	if (!err)
		err = w->fn(d, w->arg);
	pthread_mutex_lock(&w->lock);
	w->err = err;
	w->done = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

int tdrive_run(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg)
{
	struct waited w = {
		.job.fn = waited_fn, .fn = fn, .arg = arg,
		.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
	};

	tdrive_submit(d, &w.job);
	pthread_mutex_lock(&w.lock);
	while (!w.done)
		pthread_cond_wait(&w.wake, &w.lock);
	pthread_mutex_unlock(&w.lock);
	return w.err;
}

struct label *tdrive_edit(struct tdrive *d)
{
	struct label *l = malloc(sizeof(*l));

	if (l)
		memcpy(l, d->label, sizeof(*l));
	return l;
}

int tdrive_commit(struct tdrive *d, struct label *l)
{
	struct label *old = d->label;
	int err;

	l->sequence++;
	err = label_write(d->fd, l);
	pthread_mutex_lock(&d->lock);
	d->sick = err;
	if (!err)
		d->label = l;
	pthread_mutex_unlock(&d->lock);
	free(err ? l : old);
	if (err)
		log_error("%s: its label cannot be written: %s", d->path, strerror(-err));
	return err;
}

int tdrive_table(const struct tdrive *d, const struct label *l, struct mesh_drive *out)
{
	u32 i;

	memset(out, 0, sizeof(*out));
	out->uuid = d->uuid;
	snprintf(out->path, sizeof(out->path), "%s", d->path);
	out->nr_extents = l->extents;
	out->extents = calloc(l->extents + 1, sizeof(*out->extents));
	if (!out->extents)
		return -ENOMEM;
	for (i = 0; i < l->extents; i++) {
		const struct label_extent *e = &l->extent[i];

		out->extents[i] = (struct mesh_extent) {
			.uuid = e->uuid, .start = e->start, .length = e->length,
			.holder = e->holder, .generation = e->version,
			.ready = e->state == LABEL_READY,
		};
	}
	return 0;
}

static bool kernel_has(struct mesh *m, const struct tdrive *d, bool *usable)
{
	struct mesh_drive *all;
	bool has = false;
	size_t i, n;

	*usable = false;
	if (mesh_drives(m, &all, &n))
		return false;
	for (i = 0; i < n; i++) {
		if (!muuid_equal(&all[i].uuid, &d->uuid))
			continue;
		has = true;
		*usable = strcmp(all[i].state, "gone") && !strcmp(all[i].path, d->path);
	}
	mesh_drives_free(all, n);
	return has;
}

int tdrive_push(struct tdrive *d)
{
	struct mesh *m = mesh_open();
	struct mesh_drive table;
	bool usable;
	int err;

	if (!m)
		return -ENOMEM;
	err = tdrive_table(d, d->label, &table);
	if (!err && kernel_has(m, d, &usable)) {
		if (usable) {
			err = mesh_extents_set(m, &table);
			goto out;
		}
		/* What the kernel has is the drive before it went away. */
		mesh_drive_del(m, &d->uuid, true);
	}
	if (!err)
		err = mesh_drive_add(m, &table);
out:
	pthread_mutex_lock(&d->lock);
	d->pushed = !err;
	pthread_mutex_unlock(&d->lock);
	if (err)
		log_warn("%s: the kernel does not take it: %s", d->path, mesh_why(m));
	free(table.extents);
	mesh_close(m);
	return err;
}

int tdrive_start(const char *path, int fd, struct label *label, struct tdrive **out)
{
	struct tdrive *d = calloc(1, sizeof(*d));
	int err;

	if (!d) {
		close(fd);
		free(label);
		return -ENOMEM;
	}
	d->refs = 2;			/* the list's, the thread's */
	d->uuid = label->drive;
	d->fd = fd;
	d->label = label;
	d->size = label->size;
	d->lba = label->lba;
	d->jobs_end = &d->jobs;
	snprintf(d->path, sizeof(d->path), "%s", path);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, NULL);
	err = thread_start(drive_thread, d);
	if (err) {
		d->refs = 1;
		tdrive_put(d);
		return err;
	}
	pthread_mutex_lock(&tdrives.lock);
	d->next = tdrives.first;
	tdrives.first = d;
	if (out) {
		d->refs++;
		*out = d;
	}
	pthread_mutex_unlock(&tdrives.lock);
	return 0;
}

void tdrive_stop(struct tdrive *d, bool force)
{
	struct mesh *m = mesh_open();
	struct tdrive **p;
	bool listed = false;

	if (m && mesh_drive_del(m, &d->uuid, force))
		log_debug("%s: %s", d->path, mesh_why(m));
	mesh_close(m);
	pthread_mutex_lock(&tdrives.lock);
	for (p = &tdrives.first; *p; p = &(*p)->next) {
		if (*p == d) {
			*p = d->next;
			listed = true;
			break;
		}
	}
	pthread_mutex_unlock(&tdrives.lock);
	pthread_mutex_lock(&d->lock);
	d->gone = true;
	pthread_cond_broadcast(&d->wake);
	pthread_mutex_unlock(&d->lock);
	if (listed)
		tdrive_put(d);
}

void tdrive_describe(struct tdrive *d, struct mgmt_drive *out)
{
	memset(out, 0, sizeof(*out));
	out->uuid = d->uuid;
	snprintf(out->path, sizeof(out->path), "%s", d->path);
	snprintf(out->model, sizeof(out->model), "%s", d->model);
	snprintf(out->serial, sizeof(out->serial), "%s", d->serial);
	out->size = d->size;
	out->lba = d->lba;
	pthread_mutex_lock(&d->lock);
	out->free = label_room(d->label, &out->longest);
	out->extents = d->label->extents;
	snprintf(out->state, sizeof(out->state), "%s",
		 d->gone ? "gone" : d->sick ? "sick" : d->pushed ? "up" : "down");
	pthread_mutex_unlock(&d->lock);
}

void tdrive_extent(const struct tdrive *d, const struct label_extent *e, struct mgmt_extent *out)
{
	memset(out, 0, sizeof(*out));
	out->uuid = e->uuid;
	out->drive = d->uuid;
	out->volume = e->volume;
	out->holder = e->holder;
	memcpy(out->name, e->name, LABEL_NAME);
	out->start = e->start;
	out->length = e->length;
	out->generation = e->version;
	out->ready = e->state == LABEL_READY;
	out->zeroed = out->ready ? e->length : e->zeroed;
	if (!out->ready && muuid_equal(&d->zero_extent, &e->uuid)) {
		if (d->zero_at > out->zeroed)
			out->zeroed = d->zero_at;
		out->error = d->zero_error;
	}
}
