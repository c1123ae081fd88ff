// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's table of a drive, on a thread beside the drive's: the kernel answers when the I/O of
 * what a table takes out has ended, and no grant waits for that.
 *
 *   disk_push(): push_want + 1 --> thread: label, less @out, with @allow --> EXTENTS_SET, DRIVE_ADD
 *                                  push_done, ended of @out  <------------------- 0
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

#define AGAIN_MS	100	/* between messages that the kernel wants again */
#define LOCAL_MS	500

void disk_push(struct disk *d)
{
	d->push_want++;
	pthread_cond_broadcast(&d->wake);
}

enum disk_view disk_kernel_has(struct mesh *m, const struct disk *d)
{
	enum disk_view view = DISK_HAS_NOT;
	struct meshtgt_drive *all;
	size_t i, n;
	int err = meshtgt_drives(m, &all, &n);

	if (err)
		return err == -ENOENT ? view : DISK_SILENT;
	for (i = 0; i < n; i++) {
		if (!muuid_equal(&all[i].uuid, &d->uuid))
			continue;
		view = !strcmp(all[i].state, MESHBLK_STATE_GONE) ? DISK_GONE :
		       strcmp(all[i].path, d->path) ? DISK_OTHER : DISK_HAS;
	}
	meshtgt_drives_free(all, n);
	return view;
}

int disk_kernel_check(const char *path, const struct muuid *drive, char *why, size_t size)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive t = { .nr_extents = 0 };
	int err;

	why[0] = 0;
	if (!m)
		return -ENOMEM;
	if (!mesh_family_id(m, true))
		return -ENOPKG;
	if (drive)
		t.uuid = *drive;
	snprintf(t.path, sizeof(t.path), "%s", path);
	err = meshtgt_drive_check(m, &t);
	if (err)
		snprintf(why, size, "%s", mesh_why(m));
	return err;
}

struct table {
	struct meshtgt_drive d;
	struct disk_allow *allow;	/* a copy, as the drive's may change */
	u64	push;
	bool	any;			/* an extent waits to be out */
};

static void table_free(struct table *t)
{
	free(t->d.extents);
	free(t->allow);
}

static const struct disk_allow *allow_of(const struct table *t, size_t n, const struct muuid *volume)
{
	for (size_t i = 0; i < n; i++) {
		if (muuid_equal(&t->allow[i].volume, volume))
			return &t->allow[i];
	}
	return NULL;
}

static bool out_has(const struct disk *d, const struct muuid *extent)
{
	for (size_t i = 0; i < d->nr_out; i++) {
		if (muuid_equal(&d->out[i].extent, extent))
			return true;
	}
	return false;
}

static void add_extent(const struct disk *d, struct table *t, const struct label_extent *e)
{
	const struct disk_allow *a = allow_of(t, d->nr_allow, &e->volume);

	t->d.extents[t->d.nr_extents++] = (struct meshtgt_extent) {
		.uuid = e->uuid, .start = e->start, .length = e->length, .holder = e->holder,
		.version = e->version, .attach = e->attach, .attacher = e->attacher,
		/* An opening stays; no host gets more of what another one serves. */
		.ready = e->state == LABEL_READY && !d->foreign,
		.allow_all = a && a->all, .allows = a && !a->all ? a->hosts : 0,
		.allow = a && !a->all ? a->host : NULL,
	};
}

/* With d->lock: the table as both copies of the label say. */
static int table_make(const struct disk *d, struct table *t)
{
	const struct label *l = d->both;

	memset(t, 0, sizeof(*t));
	t->push = d->push_want;
	t->d.uuid = d->uuid;
	snprintf(t->d.path, sizeof(t->d.path), "%s", d->path);
	t->d.extents = calloc(l->extents + 1, sizeof(*t->d.extents));
	t->allow = calloc(d->nr_allow + 1, sizeof(*t->allow));
	if (!t->d.extents || !t->allow) {
		table_free(t);
		return -ENOMEM;
	}
	if (d->nr_allow)
		memcpy(t->allow, d->allow, d->nr_allow * sizeof(*t->allow));
	for (size_t i = 0; i < d->nr_out; i++)
		t->any |= !d->out[i].ended;
	for (u32 i = 0; i < l->extents; i++) {
		if (!out_has(d, &l->extent[i].uuid))
			add_extent(d, t, &l->extent[i]);
	}
	return 0;
}

/* Return: 0: the kernel has it, or, where nothing is served, has nothing of it. @pushed: it serves it. */
static int send_table(struct disk *d, struct mesh *m, const struct table *t, bool serving, bool *pushed)
{
	int err;

	*pushed = false;
	switch (disk_kernel_has(m, d)) {
	case DISK_HAS:
		*pushed = true;
		return meshtgt_extents_once(m, &t->d);
	case DISK_OTHER:
		/* Another device below open extents would give their volumes other data. */
		return -EEXIST;
	case DISK_SILENT:
		return -EIO;
	case DISK_GONE:
		/* The kernel has the drive as it was before it went away. */
		err = meshtgt_drive_del(m, &d->uuid, true);
		if (err)
			return err;
		break;
	case DISK_HAS_NOT:
		break;
	}
	/* Without the module no host has anything open; disks_serve() begins again when it is back. */
	if (!serving || !mesh_family_id(m, true))
		return 0;
	err = meshtgt_drive_add(m, &t->d);
	*pushed = !err;
	return err;
}

/* Volumes of this host's own kernel open a local drive by themselves. */
static int local_ended(struct mesh *m, const struct disk_out *out, size_t n)
{
	struct meshblk_volume *v;
	size_t i, nr, volumes;
	struct meshblk_abandoned *a;
	int err = meshblk_volumes(m, &v, &volumes);

	if (err)
		return err == -ENOENT ? 0 : err;
	for (i = 0; i < volumes * n && !err; i++) {
		for (u32 k = 0; k < v[i / n].nr_members; k++) {
			if (muuid_equal(&v[i / n].members[k].extent, &out[i % n].extent))
				err = -EINPROGRESS;
		}
	}
	meshblk_volumes_free(v, volumes);
	if (err || meshblk_abandoned_get(m, &a, &nr))
		return err ? err : -EIO;
	for (i = 0; i < nr * n && !err; i++) {
		if (muuid_equal(&a[i / n].member.extent, &out[i % n].extent))
			err = -EINPROGRESS;
	}
	free(a);
	return err;
}

static int send_local(struct disk *d, struct mesh *m, bool *pushed)
{
	struct disk_out *out __free(free) = NULL;
	size_t n;

	*pushed = true;
	pthread_mutex_lock(&d->lock);
	n = d->nr_out;
	out = calloc(n + 1, sizeof(*out));
	if (out && n)
		memcpy(out, d->out, n * sizeof(*out));
	pthread_mutex_unlock(&d->lock);
	return !out ? -ENOMEM : n ? local_ended(m, out, n) : 0;
}

/* With d->lock. */
static void answered(struct disk *d, const struct table *t, int err, bool pushed, const char *why)
{
	bool logged = err == d->push_err, was = d->pushed;

	d->push_err = err;
	for (size_t i = 0; i < d->nr_out; i++) {
		struct disk_out *o = &d->out[i];

		if (o->ended || o->push > t->push)
			continue;
		o->ended = !err;
		o->err = err == -EINPROGRESS ? 0 : err;
	}
	if (!err)
		d->push_done = t->push;
	d->pushed = pushed && (!err || err == -EINPROGRESS);
	if (err && err != -EINPROGRESS && !logged)
		disk_log(d->s, err == -EEXIST ? "%s: the kernel serves the drive of that label from another device%s" :
			 "%s: the kernel does not take it: %s", d->path, err == -EEXIST ? "" : why);
	/* Extents that are still open are polled: each such answer is none for the loop. */
	if (err != -EINPROGRESS || d->pushed != was)
		job_wake();
}

/* With d->lock, which it gives up meanwhile. Return: for how long to wait before the next message. */
static unsigned int push(struct disk *d)
{
	struct mesh *m __free(mesh_close) = NULL;
	bool serving, pushed = false;
	struct table t;
	int err = table_make(d, &t);

	if (err)
		return d->s->retry_ms;
	d->pushing = true;
	pthread_mutex_unlock(&d->lock);
	pthread_mutex_lock(&d->s->lock);
	serving = d->s->family > 0;
	pthread_mutex_unlock(&d->s->lock);
	m = mesh_open();
	err = !m ? -ENOMEM : d->local ? send_local(d, m, &pushed) : send_table(d, m, &t, serving, &pushed);
	pthread_mutex_lock(&d->lock);
	answered(d, &t, err, pushed, m ? mesh_why(m) : "no memory");
	d->pushing = false;
	pthread_cond_broadcast(&d->wake);
	table_free(&t);
	return !err ? 0 : err != -EINPROGRESS ? d->s->retry_ms : d->local ? LOCAL_MS : AGAIN_MS;
}

void *disk_table_thread(void *arg)
{
	struct disk *d = arg;
	u64 not_before = 0, tried = 0, now;
	unsigned int ms;

	pthread_mutex_lock(&d->lock);
	while (!d->ended) {
		now = disk_now();
		/* Another table is sent at once, the same one again after a while. */
		if (d->push_want == d->push_done || d->leaving) {
			disk_wait(d, 0);
		} else if (d->push_want == tried && now < not_before) {
			disk_wait(d, not_before - now);
		} else {
			tried = d->push_want;
			ms = push(d);
			not_before = disk_now() + ms;
		}
	}
	pthread_mutex_unlock(&d->lock);
	disk_thread_end(d);
	return NULL;
}

int disk_unserve(struct disk *d, bool force)
{
	struct mesh *m __free(mesh_close) = NULL;
	int err = 0;

	/* Only what no volume has here is given up. */
	if (d->local)
		return 0;
	/* A table that is at the kernel would have it serve the drive again. */
	pthread_mutex_lock(&d->lock);
	d->leaving = true;
	while (d->pushing)
		disk_wait(d, 0);
	pthread_mutex_unlock(&d->lock);
	m = mesh_open();
	switch (m ? disk_kernel_has(m, d) : DISK_SILENT) {
	case DISK_HAS:
	case DISK_GONE:
	case DISK_HAS_NOT:
		/* Its device may be being closed still: the target waits for that. */
		err = meshtgt_drive_del(m, &d->uuid, force);
		if (err == -ENOENT)
			err = 0;
		break;
	case DISK_SILENT:
		err = -EIO;
		break;
	case DISK_OTHER:
		/* This drive must not end what is served from another device. */
		break;
	}
	return err;
}
