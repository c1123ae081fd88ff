// SPDX-License-Identifier: GPL-2.0-only
/* struct export_ops: drives come and go. Each call is a job of its own, since a disk may hang. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/disk_dev.h"
#include "userspace/daemon/disk_local.h"
#include "userspace/daemon/disk_probe.h"
#include "userspace/daemon/disk_record.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

enum work_kind { WORK_TAKE, WORK_FIRST, WORK_LEAVE, WORK_OWN, WORK_GROW };

/* Arguments and results of a job. */
struct work_arg {
	struct disks *s;
	char	path[OBJ_PATH];
	struct muuid drive;
	unsigned int how;	/* of a drive that leaves: EXPORT_WIPE, EXPORT_PREEMPT */
	u64	number;		/* of the device that was judged; 0: any */
	struct muuid owner;	/* that the label is to have */
	struct label *label;	/* to be written first */
	struct disk *d;		/* to be left, NULL: the kernel's alone; or taken, until the loop has it */
	bool	taken;		/* @d is this job's */
	char	words[DISK_WORDS];
};

struct disk_work {
	struct disk_work *next;
	enum work_kind kind;
	struct work_arg *arg;
	struct job *job;
	bool	done;		/* the job is, with @err */
	int	err;
};

static int fail(struct work_arg *a, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int fail(struct work_arg *a, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->words, sizeof(a->words), fmt, ap);
	va_end(ap);
	return err;
}

static void work_drop(void *arg)
{
	struct work_arg *a = arg;

	if (a->taken && a->d)
		disk_free(a->d);
	free(a->label);
	free(a);
}

static struct disk *disk_new(struct work_arg *a, int fd, const struct disk_dev *dev, struct label *l)
{
	struct disk *d = calloc(1, sizeof(*d));
	char real[PATH_MAX];

	if (!d)
		return NULL;
	d->s = a->s;
	d->uuid = l->drive;
	/* Names in /dev/disk are links, and the kernel says the device's own. */
	snprintf(d->path, sizeof(d->path), "%.*s", OBJ_PATH - 1, realpath(a->path, real) ? real : a->path);
	disk_identify(dev->name, &d->about);
	memcpy(d->about.path, d->path, sizeof(d->about.path));
	d->about.size = dev->size;
	d->about.lba = dev->lba;
	d->about.drive = l->drive;
	d->size = l->size;
	d->local = l->flags & LABEL_F_LOCAL;
	d->fd = fd;
	d->alone = -1;
	d->number = dev->number;
	d->label = d->both = l;
	d->both_no = 1;
	pthread_mutex_init(&d->io, NULL);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, NULL);
	return d;
}

/* Records as they are now: the agent decides from them, and does not wait for a disk. */
static int read_heads(struct disk *d)
{
	for (u32 i = 0; i < d->label->extents; i++) {
		const struct label_extent *e = &d->label->extent[i];
		struct disk_head *h;

		if (e->state != LABEL_READY)
			continue;
		h = mesh_grow((void **)&d->heads, &d->nr_heads, sizeof(*h));
		if (!h)
			return -ENOMEM;
		h->extent = e->uuid;
		h->err = disk_record_head(d->fd, e, &h->head);
	}
	return 0;
}

/* Sequence of the copy that the state folder has, if it is above the label's; else 0. */
static u64 newer(const struct disks *s, const struct label *l)
{
	struct label *kept __free(free) = malloc(sizeof(*kept));

	return kept && s->config.state && !disk_backup_read(s->config.state, &l->drive, kept) &&
	       kept->sequence > l->sequence ? kept->sequence : 0;
}

/* Reasons against taking it up; a drive that was put back must not be believed. */
static int judge(struct work_arg *a, const struct disk_dev *dev, const struct label *l)
{
	u64 written = newer(a->s, l);
	char why[200];
	int err;

	if (!muuid_equal(&l->drive, &a->drive))
		return fail(a, -ESTALE, "the disk is another drive: %s", muuid_str(&l->drive).s);
	if (!muuid_equal(&l->owner, &a->s->config.host))
		return fail(a, -EPERM, "it was exported last by host %s", muuid_str(&l->owner).s);
	if (l->size > dev->size)
		return fail(a, -EUCLEAN, "the disk is smaller than its label says");
	/* Its volumes could not be written in the blocks that they are made of. */
	if (l->lba != dev->lba)
		return fail(a, -EUCLEAN, "the disk has blocks of %u bytes, and its label is of one with %u: it was "
			    "formatted again, or is a copy", dev->lba, l->lba);
	if (written)
		return fail(a, -ESTALE, "the disk was put back to an older state: its label is the %lluth, and "
			    "this host has written the %lluth", (unsigned long long)l->sequence,
			    (unsigned long long)written);
	err = l->flags & LABEL_F_LOCAL ? 0 : disk_kernel_check(a->path, &l->drive, why, sizeof(why));
	/* -EEXIST: the kernel has this drive, from this device or another; its table says so later. */
	if (err && err != -ENOPKG && err != -ENOENT && err != -EEXIST)
		return fail(a, err, "the kernel does not take it: %s", why);
	return 0;
}

/*
 * What the label of a drive that is taken up again lacks: the copies differ after a crash between
 * them. Where only one can be written it is tried again by the drive's thread, and meanwhile nothing
 * that changes the label succeeds.
 */
static int put_right(struct disk *d, const int each[2])
{
	int err, now[2];
	struct label *l;
	bool alike = !each[0] && !each[1] && d->on.head[0].sequence == d->on.head[1].sequence;

	if (alike && !(d->both->flags & LABEL_F_UNEXPORTED))
		return 0;
	l = disk_edit(d);
	if (!l)
		return -ENOMEM;
	l->flags &= ~LABEL_F_UNEXPORTED;
	l->sequence = d->on.tried + 1;
	err = label_write(d->fd, l, &d->on, now);
	if (err) {
		free(l);
		return err;
	}
	d->label = l;
	/* Until both copies have one label, none is shown to the agent. */
	if (now[0] || now[1]) {
		d->both_no = 0;
	} else {
		free(d->both);
		d->both = l;
	}
	return 0;
}

/* While the store is away this device is the drive's, and no other one. */
static void known(const struct disk *d)
{
	const char *state = d->s->config.state;
	int err = state ? disk_known_put(state, &d->uuid, &d->about) : 0;

	if (err)
		disk_log(d->s, "%s: which device it is cannot be noted in %s/labels (%s): while the store is away it "
			 "is not taken up again", d->path, state, strerror(-err));
}

/* The device that was judged: its name may be another's by now. */
static int open_judged(struct work_arg *a, int flags, struct disk_dev *dev)
{
	int fd = disk_dev_open(a->path, flags, dev);

	if (fd < 0)
		return fail(a, fd, "the disk cannot be opened: %s", strerror(-fd));
	if (!a->number || dev->number == a->number)
		return fd;
	close(fd);
	return fail(a, -ESTALE, "another disk has its name by now");
}

static int read_judged(struct work_arg *a, int fd, const struct disk_dev *dev, struct label *l,
		       struct label_disk *on, int each[2])
{
	int err = label_read(fd, dev->size, l, on, each);

	return err ? fail(a, err, "its label cannot be read: %s", strerror(-err)) : judge(a, dev, l);
}

/* The same device and label: another process may have written it since it was judged. */
static int open_to_write(struct work_arg *a, struct disk *d, int each[2])
{
	u64 was = d->label->sequence;
	struct disk_dev dev;
	int fd = open_judged(a, O_RDWR | O_DSYNC, &dev), err;

	if (fd < 0)
		return fd;
	close(d->fd);
	d->fd = fd;
	err = read_judged(a, fd, &dev, d->label, &d->on, each);
	return err || d->label->sequence == was ? err : fail(a, -ESTALE, "its label was written meanwhile");
}

/*
 * Each close of a device that was open for writing is a change for udev, and that has disks scanned
 * again: so one that is refused is not opened so, else that would have no end.
 */
static int take(void *arg)
{
	struct label *l = malloc(sizeof(*l));
	struct work_arg *a = arg;
	struct label_disk on;
	struct disk_dev dev;
	int fd, err, each[2];

	fd = l ? open_judged(a, O_RDONLY, &dev) : -ENOMEM;
	if (fd < 0) {
		free(l);
		return fd;
	}
	a->number = dev.number;
	err = read_judged(a, fd, &dev, l, &on, each);
	a->d = err ? NULL : disk_new(a, fd, &dev, l);
	if (!a->d) {
		close(fd);
		free(l);
		return err ? err : -ENOMEM;
	}
	a->taken = true;
	a->d->on = on;
	if (a->d->local && disk_local_take(a->d))
		return fail(a, -EBUSY, "it is mounted, or another program or driver holds it");
	err = open_to_write(a, a->d, each);
	if (err)
		return err;
	err = read_heads(a->d);
	if (!err)
		err = put_right(a->d, each);
	if (!err && !a->d->local)
		disk_dev_cache_off(a->d->fd, dev.name);
	if (!err) {
		known(a->d);
		disk_backup_due(a->d, a->d->both, true);
	}
	return err ? fail(a, err, "%s", strerror(-err)) : 0;
}

/* Over whatever is there; a repeat, and a drive that comes from another host, keep what is on it. */
static int first_write(struct work_arg *a, int fd, const struct disk_dev *dev, struct label *was)
{
	struct label_disk on;
	int err, each[2];

	if (a->label->size > dev->size || a->label->lba != dev->lba || label_check(a->label))
		return fail(a, -EINVAL, "the disk is not as it was when its label was made");
	err = label_read(fd, dev->size, was, &on, each);
	if (!err && a->s->config.state && disk_backup(a->s->config.state, was))
		return fail(a, -EIO, "the label that it has cannot be copied to %s/labels", a->s->config.state);
	if (err || !muuid_equal(&was->drive, &a->label->drive)) {
		err = label_forget(fd, dev->size);
		if (err)
			return fail(a, err, "the disk cannot be written: %s", strerror(-err));
		memset(&on, 0, sizeof(on));
	}
	if (a->label->sequence <= on.tried)
		a->label->sequence = on.tried + 1;
	err = label_write(fd, a->label, &on, each);
	if (!err && (each[0] || each[1]))
		err = each[0] ? each[0] : each[1];
	return err ? fail(a, err, "its label cannot be written: %s", strerror(-err)) : 0;
}

static int first(void *arg)
{
	struct work_arg *a = arg;
	struct label *was = malloc(sizeof(*was));
	struct disk_dev dev;
	int fd = was ? open_judged(a, O_RDWR | O_DSYNC | O_EXCL, &dev) : -ENOMEM, err = fd;

	if (fd >= 0) {
		err = first_write(a, fd, &dev, was);
		close(fd);
	}
	free(was);
	return err;
}

static int own_write(struct work_arg *a, int fd, const struct disk_dev *dev, struct label *l)
{
	struct label_disk on;
	int err, each[2];

	err = label_read(fd, dev->size, l, &on, each);
	if (err)
		return fail(a, err, "its label cannot be read: %s", strerror(-err));
	if (!muuid_equal(&l->drive, &a->drive))
		return fail(a, -ESTALE, "the disk is another drive: %s", muuid_str(&l->drive).s);
	if (muuid_equal(&l->owner, &a->owner) && !each[0] && !each[1])
		return 0;
	if (a->s->config.state && disk_backup(a->s->config.state, l))
		return fail(a, -EIO, "its label cannot be copied to %s/labels", a->s->config.state);
	l->owner = a->owner;
	l->sequence = on.tried + 1;
	err = label_write(fd, l, &on, each);
	if (!err && (each[0] || each[1]))
		err = each[0] ? each[0] : each[1];
	return err ? fail(a, err, "its label cannot be written: %s", strerror(-err)) : 0;
}

static int own(void *arg)
{
	struct work_arg *a = arg;
	struct label *l = malloc(sizeof(*l));
	struct disk_dev dev;
	int fd = l ? open_judged(a, O_RDWR | O_DSYNC | O_EXCL, &dev) : -ENOMEM, err = fd;

	if (fd >= 0) {
		err = own_write(a, fd, &dev, l);
		close(fd);
	}
	free(l);
	return err;
}

/* With its label: not to be taken up by itself. */
static int mark_left(struct disk *d)
{
	struct label *l = disk_edit(d);

	if (!l)
		return -ENOMEM;
	l->flags |= LABEL_F_UNEXPORTED;
	return disk_commit(d, l);
}

/*
 * On the drive's thread. A drive that fails is what an operator takes away: it goes without the mark
 * then, and drive/D says that it has left.
 */
static int leave_it(struct disk *d, void *arg)
{
	struct work_arg *a = arg;
	bool wipe = a->how & EXPORT_WIPE;
	int err = disk_current(d);

	if (!err && d->s->config.state)
		err = disk_backup(d->s->config.state, d->label);
	if (!err)
		err = wipe ? label_forget(d->fd, d->size) : mark_left(d);
	/* A drive of which another host is the owner by now is left as it is. */
	if (err && !wipe && err != -EBADE && a->how & EXPORT_PREEMPT)
		disk_log(d->s, "%s: it is served no more, and its label cannot say so: %s. A daemon that starts "
			 "while the store is away takes it up again", d->path, strerror(-err));
	else if (err && (err != -EBADE || wipe))
		return fail(a, err, "its label cannot be %s: %s", wipe ? "erased" : "written", strerror(-err));
	disk_end(d);
	return 0;
}

/* Nothing takes a device from a kernel that has it open, or that waits for I/O to it still. */
static int local_busy(struct work_arg *a, const struct disk *d)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshblk_abandoned *gone = NULL;
	struct meshblk_volume *v;
	size_t i, n;
	int err = m ? meshblk_volumes(m, &v, &n) : -ENOMEM;

	if (err)
		return err == -ENOENT ? 0 : fail(a, err, "the kernel does not say what is open");
	for (i = 0; i < n; i++) {
		for (u32 k = 0; k < v[i].nr_members; k++) {
			if (muuid_equal(&v[i].members[k].drive, &d->uuid))
				err = fail(a, -EBUSY, "volume %s has it open, as a local drive of this host: detach "
					   "that first", v[i].name);
		}
	}
	meshblk_volumes_free(v, n);
	if (err)
		return err;
	err = meshblk_abandoned_get(m, &gone, &n);
	for (i = 0; !err && i < n; i++) {
		if (muuid_equal(&gone[i].member.drive, &d->uuid))
			err = fail(a, -EBUSY, "it has not ended I/O that a volume has given up");
	}
	free(gone);
	return err && !a->words[0] ? fail(a, err, "the kernel does not say which I/O to it goes on") : err;
}

/*
 * Its volumes lose what is taken by force at once; the kernel gives the drive up when all commands to
 * it are back, which may take as long as the drive hangs.
 */
static int unserve(struct work_arg *a, struct disk *d)
{
	bool force = a->how & EXPORT_PREEMPT;
	int err = disk_unserve(d, force);

	while (err == -EBUSY && force) {
		usleep(a->s->retry_ms * 1000);
		err = disk_unserve(d, true);
	}
	if (err == -EBUSY)
		return fail(a, err, "volumes have extents of it open: detach them, or add --preempt, by which their I/O "
			    "to it fails");
	return err ? fail(a, err, "the kernel does not give it up: %s", strerror(-err)) : 0;
}

static int leave(void *arg)
{
	struct work_arg *a = arg;
	struct disk *d = a->d;
	int err;

	/* No label is known to be its own, so none is written. */
	if (!d)
		return disk_left_end(a->s, &a->drive, a->how & EXPORT_PREEMPT, a->words, sizeof(a->words));
	pthread_mutex_lock(&d->lock);
	err = d->ended ? -ENODEV : a->how & EXPORT_WIPE && d->label->extents ? -ENOTEMPTY : 0;
	d->leaving = !err;
	pthread_mutex_unlock(&d->lock);
	if (err)
		return fail(a, err, err == -ENODEV ? "it has gone" : "its label names extents");
	err = d->local ? local_busy(a, d) : unserve(a, d);
	if (!err)
		err = disk_call(d, leave_it, a);
	pthread_mutex_lock(&d->lock);
	d->leaving = false;
	if (err)
		disk_push(d);
	pthread_mutex_unlock(&d->lock);
	return err;
}

static int grow_it(struct disk *d, void *arg)
{
	(void)arg;
	return disk_grow(d);
}

static int grow(void *arg)
{
	struct work_arg *a = arg;
	int err = disk_call(a->d, grow_it, NULL);

	return err ? fail(a, err, "its label cannot be written: %s", strerror(-err)) : 0;
}

static struct disk_work *work_find(struct disks *s, enum work_kind kind, const char *path,
				   const struct muuid *drive)
{
	struct disk_work *w;

	for (w = s->works; w; w = w->next) {
		if (w->kind == kind && !strcmp(w->arg->path, path) && muuid_equal(&w->arg->drive, drive))
			break;
	}
	return w;
}

static struct disk_work *work_new(struct disks *s, enum work_kind kind, const char *path,
				  const struct muuid *drive)
{
	static int (*const fn[])(void *arg) = { [WORK_TAKE] = take, [WORK_FIRST] = first, [WORK_LEAVE] = leave,
						[WORK_OWN] = own, [WORK_GROW] = grow };
	struct disk_work *w = calloc(1, sizeof(*w));
	struct work_arg *a = calloc(1, sizeof(*a));

	if (w && a) {
		*w = (struct disk_work) { .kind = kind, .arg = a };
		a->s = s;
		a->drive = *drive;
		snprintf(a->path, sizeof(a->path), "%s", path);
		w->job = job_new(fn[kind], a, work_drop);
	}
	if (!w || !w->job) {
		free(a);
		free(w);
		return NULL;
	}
	w->next = s->works;
	s->works = w;
	return w;
}

static void work_free(struct disks *s, struct disk_work *w)
{
	struct disk_work **at = &s->works;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	job_free(w->job);
	free(w);
}

/* -EINPROGRESS, or the result: then the work has gone, and its words are said. */
static int work_run(struct disks *s, struct disk_work *w)
{
	struct work_arg *a = w->arg;
	int err = w->done ? w->err : job_run(w->job);

	if (!w->done && (err == -EINPROGRESS || err == -EAGAIN))
		return -EINPROGRESS;
	w->done = true;
	w->err = err;
	if (!err && a->taken) {
		err = disk_begin(s, a->d);
		if (err == -EINPROGRESS)
			return err;
		a->taken = err;
		if (err)
			fail(a, err, "it is served from another disk");
	}
	snprintf(s->words, sizeof(s->words), "%s", a->words[0] || !err ? a->words : strerror(-err));
	work_free(s, w);
	return err;
}

int disk_take(struct disks *s, const char *path, const struct muuid *drive, u64 number)
{
	struct disk_work *w = work_find(s, WORK_TAKE, path, drive);
	const struct disk *d = disks_served(s, drive);

	if (!w && d && d == disks_at(s, path))
		return 0;
	/* Until then it may hold the device alone. */
	if (!w && disks_ending(s, drive))
		return -EINPROGRESS;
	if (!w) {
		w = work_new(s, WORK_TAKE, path, drive);
		if (!w)
			return -ENOMEM;
		w->arg->number = number;
	}
	return work_run(s, w);
}

static int op_take(void *m, const char *path, const struct muuid *drive)
{
	return disk_take(m, path, drive, disk_judged(m, path));
}

static int op_first(void *m, const char *path, const struct label *l)
{
	struct disks *s = m;
	struct disk_work *w = work_find(s, WORK_FIRST, path, &l->drive);

	if (!w && disks_at(s, path)) {
		snprintf(s->words, sizeof(s->words), "the disk is a drive that is served");
		return -EBUSY;
	}
	if (!w) {
		w = work_new(s, WORK_FIRST, path, &l->drive);
		if (!w)
			return -ENOMEM;
		w->arg->number = disk_judged(s, path);
		w->arg->label = malloc(sizeof(*l));
		if (!w->arg->label) {
			work_free(s, w);
			return -ENOMEM;
		}
		memcpy(w->arg->label, l, sizeof(*l));
	}
	return work_run(s, w);
}

static int op_own(void *m, const char *path, const struct muuid *drive, const struct muuid *host)
{
	struct disks *s = m;
	struct disk_work *w = work_find(s, WORK_OWN, path, drive);

	if (!w && disks_at(s, path)) {
		snprintf(s->words, sizeof(s->words), "the disk is a drive that is served");
		return -EBUSY;
	}
	if (!w) {
		w = work_new(s, WORK_OWN, path, drive);
		if (!w)
			return -ENOMEM;
		w->arg->owner = *host;
		w->arg->number = disk_judged(s, path);
	}
	return work_run(s, w);
}

static int op_leave(void *m, const struct muuid *drive, unsigned int how)
{
	struct disks *s = m;
	struct disk_work *w = work_find(s, WORK_LEAVE, "", drive);

	/* It may be about to be taken up. */
	if (!w && !s->scanned && !disks_served(s, drive))
		return -EINPROGRESS;
	if (!w) {
		w = work_new(s, WORK_LEAVE, "", drive);
		if (!w)
			return -ENOMEM;
		w->arg->d = disks_served(s, drive);
		w->arg->how = how;
	}
	return work_run(s, w);
}

static int op_grow(void *m, const struct muuid *drive, u64 *size)
{
	struct disks *s = m;
	struct disk_work *w = work_find(s, WORK_GROW, "", drive);
	struct disk *d = w ? w->arg->d : disks_served(s, drive);
	int err;

	if (!d) {
		snprintf(s->words, sizeof(s->words), "it is not served here");
		return -ENODEV;
	}
	if (!w) {
		w = work_new(s, WORK_GROW, "", drive);
		if (!w)
			return -ENOMEM;
		w->arg->d = d;
	}
	err = work_run(s, w);
	guard(&d->lock);
	*size = d->size;
	return err;
}

static int op_probe(void *m, const char *path, struct export_disk *out)
{
	return disk_look_judged(m, path, out);
}

static const char *op_words(void *m)
{
	return ((struct disks *)m)->words;
}

const struct export_ops disks_export_ops = {
	.probe = op_probe, .label_first = op_first, .take = op_take, .leave = op_leave, .words = op_words,
	.own = op_own, .grow = op_grow,
};

bool disks_take_end(struct disks *s, u64 until)
{
	bool all = true;

	while (s->works) {
		while (job_since(s->works->job) && disk_now() < until)
			usleep(1000);
		all &= !job_since(s->works->job);
		work_free(s, s->works);
	}
	return all;
}
