// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probing disks and taking drives up, with deadlines: whatever reads or writes a
 * disk that may hang does so on a thread that nothing else waits for. A disk on
 * which such a thread is still at work is left alone until that is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/meshd/fan.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/store.h"

#define PROBE_MS	5000
#define TAKE_MS		10000

struct busy_disk {
	struct busy_disk *next;
	char	path[80];
	u64	since;
	bool	late;		/* its deadline is over; said in the log */
};

static struct {
	pthread_mutex_t lock;
	struct busy_disk *first;
} disks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct busy_disk *disk_find(const char *path)
{
	struct busy_disk *b;

	for (b = disks.first; b && strcmp(b->path, path); b = b->next)
		;
	return b;
}

/* false: a thread is at work on it. */
static bool disk_take(const char *path)
{
	struct busy_disk *b = calloc(1, sizeof(*b));
	bool taken;

	pthread_mutex_lock(&disks.lock);
	taken = b && !disk_find(path);
	if (taken) {
		snprintf(b->path, sizeof(b->path), "%s", path);
		b->since = now_ms();
		b->next = disks.first;
		disks.first = b;
	}
	pthread_mutex_unlock(&disks.lock);
	if (!taken)
		free(b);
	return taken;
}

static void disk_drop(const char *path)
{
	struct busy_disk **at, *b = NULL;
	bool late;

	pthread_mutex_lock(&disks.lock);
	for (at = &disks.first; *at && strcmp((*at)->path, path); at = &(*at)->next)
		;
	if (*at) {
		b = *at;
		*at = b->next;
	}
	pthread_mutex_unlock(&disks.lock);
	late = b && b->late;
	free(b);
	if (late) {
		log_info("%s: answers again", path);
		export_rescan();
	}
}

static void disk_late(const char *path)
{
	struct busy_disk *b;
	bool first;

	pthread_mutex_lock(&disks.lock);
	b = disk_find(path);
	first = b && !b->late;
	if (b)
		b->late = true;
	pthread_mutex_unlock(&disks.lock);
	if (first)
		log_error("%s: does not answer; it is left alone until it does", path);
}

unsigned int take_silent(const char *path)
{
	const struct busy_disk *b;

	guard(&disks.lock);
	b = disk_find(path);
	return b && b->late ? (now_ms() - b->since + 999) / 1000 : 0;
}

/* Another thread's check of it ends soon, or is found to be late. */
static bool disk_wait(const char *path, unsigned int ms)
{
	u64 until = now_ms() + ms;

	while (!disk_take(path)) {
		if (take_silent(path) || now_ms() >= until)
			return false;
		sleep_ms(20);
	}
	return true;
}

struct probing {
	char	path[80];
	bool	labelled_only;
};

static void *probe_work(void *item)
{
	struct probing *w = item;
	struct probe *p;

	if (!disk_wait(w->path, PROBE_MS))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (p && w->labelled_only && !probe_labelled(w->path)) {
		snprintf(p->path, sizeof(p->path), "%s", w->path);
	} else if (p) {
		p->err = probe_device(w->path, p);
		if (p->err)
			snprintf(p->why, sizeof(p->why), "cannot be opened: %s", strerror(-p->err));
	}
	disk_drop(w->path);
	return p;
}

void take_probes(char **path, size_t n, bool labelled_only, struct probe **out)
{
	static const struct fan f = { probe_work, free, probe_free, NULL };
	void **item __free(free) = calloc(n + 1, sizeof(*item));
	struct probing *w;
	size_t i, k = 0;

	for (i = 0; i < n; i++)
		out[i] = NULL;
	for (i = 0; item && i < n; i++) {
		w = calloc(1, sizeof(*w));
		if (!w)
			break;
		snprintf(w->path, sizeof(w->path), "%s", path[i]);
		w->labelled_only = labelled_only;
		item[k++] = w;
	}
	if (item)
		fan_run(&f, item, k, PROBE_MS, (void **)out);
	for (i = 0; i < k; i++)
		if (!out[i])
			disk_late(path[i]);
}

int take_probe(const char *path, struct probe *p)
{
	char *one = (char *)path;
	struct probe *out __free(free) = NULL;

	memset(p, 0, sizeof(*p));
	if (access(path, F_OK))
		return -errno;
	take_probes(&one, 1, false, &out);
	if (!out)
		return -ETIMEDOUT;
	*p = *out;
	return p->err;
}

/* The name may be another device's since it was probed. */
static int open_probed(const struct probe *p, int flags)
{
	int fd = open(p->path, O_RDWR | O_DIRECT | O_DSYNC | O_CLOEXEC | flags);

	if (fd < 0)
		return errno == EBUSY ? -ETXTBSY : -errno;
	if (probe_same_disk(p, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

/* Only cheap insurance: the target's writes carry FUA anyway. */
static void cache_off(struct tdrive *d)
{
	u32 result;

	tdrive_set(d, &d->cache_off,
		   d->nvme && !d->local && !nvme_set_features_volatile_wc(d->fd, false, false, &result));
}

/* On a grown device the last copy of before stands in the middle of free room. */
static void forget_old_end(struct tdrive *d, u64 size)
{
	void *zero __free(free) = aligned_alloc(4096, 4096);

	if (!zero)
		return;
	memset(zero, 0, 4096);
	if (pwrite(d->fd, zero, 4096, size - LABEL_AREA) != 4096)
		log_warn("%s: the old last copy of its label cannot be wiped", d->path);
}

/* What the label of a drive that is taken up again lacks. */
static int put_right(struct tdrive *d, const struct take_how *how, const int each[2])
{
	const struct label *is = d->label;
	u64 was = is->size, newer = backup_newer(is);
	struct label *l;
	int err;

	if (!newer && !(is->flags & LABEL_F_UNEXPORTED) && muuid_equal(&is->owner, &D.host) &&
	    !each[0] && !each[1] && is->size == d->size &&
	    (muuid_null(&D.cluster) || muuid_equal(&is->cluster, &D.cluster) ||
	     (!muuid_null(&is->cluster) && !how->over)))
		return 0;
	l = tdrive_edit(d);
	if (!l)
		return -ENOMEM;
	if (newer) {
		/* Only by command: its sequence goes on above the former one. */
		backup_aside(&d->uuid);
		d->disk.tried = newer > d->disk.tried ? newer : d->disk.tried;
	}
	l->flags &= ~LABEL_F_UNEXPORTED;
	l->owner = D.host;
	l->size = d->size;
	if (muuid_null(&l->cluster) || (how->over && !muuid_null(&D.cluster)))
		l->cluster = D.cluster;
	err = tdrive_commit(d, l);
	if (!err && how->grow && was < d->size)
		forget_old_end(d, was);
	return err;
}

struct taking {
	struct probe p;		/* its label is ours */
	struct take_how how;
	void	*ends;		/* what a fresh label was written over; NULL: unknown */
	struct tdrive *d;	/* the result, with a reference */
	int	err;
};

struct up {
	struct take_how how;
	int	each[2];
};

/* What is taken up by itself is given to the kernel again later; a command is done or not. */
static bool refused(int err, const struct take_how *how)
{
	return err && (how->by_hand || err == -EEXIST);
}

/*
 * Its device is noted before it is served: at no point would another one be taken for the
 * device of last time while this one is written to.
 */
static int serve_noted(struct tdrive *d, const struct take_how *how)
{
	bool known, unexported = unexported_noted(&d->uuid);
	struct twin_id was;
	int err;

	tdrive_home_begin(d);
	unexported_forget(&d->uuid);
	known = !device_noted(&d->uuid, &was);
	err = device_note(&d->uuid, &d->id);
	if (err)
		log_warn("%s: which device it is cannot be noted: %s", d->path, strerror(-err));
	tdrive_home_end(d);
	err = tdrive_push(d);
	if (!refused(err, how))
		return err;
	tdrive_home_begin(d);
	if (unexported)
		unexported_note(&d->uuid);
	if (!known)
		device_forget(&d->uuid);
	else if (device_note(&d->uuid, &was))
		log_warn("%s: it stays noted as the device of its label, although it is not served", d->path);
	tdrive_home_end(d);
	return err;
}

/* The label of before, under a higher number: the drive is as it was before put_right(). */
static void put_back(struct tdrive *d, const struct label *was)
{
	struct label *l = tdrive_edit(d);
	int err = l ? 0 : -ENOMEM;

	if (l) {
		l->flags = was->flags;
		l->owner = was->owner;
		l->cluster = was->cluster;
		l->size = was->size;
		err = tdrive_commit(d, l);
	}
	if (err)
		log_error("%s: not taken, and its label of before cannot be written again: %s",
			  d->path, strerror(-err));
}

/*
 * The kernel checks first: what it refuses is neither written to nor noted as the drive. Nor is a
 * copy of a drive that is served.
 */
static int up_job(struct tdrive *d, void *arg)
{
	const struct up *u = arg;
	struct label *was __free(free) = tdrive_edit(d);
	int err = 0;

	if (!was)
		err = -ENOMEM;
	else if (u->how.by_hand)
		err = tdrive_check(d);
	else if (tdrive_elsewhere(d))
		err = -EEXIST;
	if (!err)
		err = put_right(d, &u->how, u->each);
	if (!refused(err, &u->how)) {
		cache_off(d);
		err = serve_noted(d, &u->how);
	}
	if (refused(err, &u->how)) {
		if (was && was->sequence != d->label->sequence)
			put_back(d, was);
		return err;
	}
	d->taken = true;
	tdrive_home_begin(d);
	store_drive_put(&d->uuid, d->path);
	tdrive_home_end(d);
	backup_label(d, d->label, true);
	zero_kick(d);
	return err;
}

static int write_fresh(struct taking *t, int fd)
{
	struct label *l = calloc(1, sizeof(*l));
	int err, each[2];

	if (!l)
		return -ENOMEM;
	l->drive = t->how.drive;
	if (muuid_null(&l->drive))
		uuid_random(&l->drive);
	l->owner = D.host;
	l->flags = t->how.local ? LABEL_F_LOCAL : 0;
	l->cluster = D.cluster;
	l->size = t->p.size;
	l->lba = t->p.lba;
	l->sequence = 1;
	memset(&t->p.disk, 0, sizeof(t->p.disk));
	/* First: with it the drive of before could be restored over what this one gets. */
	err = backup_erased(&t->p.id) ? -EROFS : label_forget(fd, l->size);
	if (!err)
		err = label_write(fd, l, &t->p.disk, each);
	if (!err && (each[0] || each[1]))
		err = -EIO;
	if (err) {
		free(l);
		return err;
	}
	t->p.label = l;
	memset(t->p.each, 0, sizeof(t->p.each));
	if (t->p.verdict == PROBE_FOREIGN || t->p.verdict == PROBE_DAMAGED)
		ioctl(fd, BLKRRPART);
	return 0;
}

/* What was there before @t's label, if nothing else has the device by now. */
static void unlabel(const struct taking *t)
{
	int fd = t->ends ? open_probed(&t->p, O_EXCL) : -ENODATA;
	int err = fd < 0 ? fd : label_ends_write(fd, t->p.size, t->ends);

	if (err)
		log_error("%s: not taken, and what its first and last MiB had cannot be written again: %s",
			  t->p.path, strerror(-err));
	else
		ioctl(fd, BLKRRPART);
	if (fd >= 0)
		close(fd);
}

/*
 * What is wiped is held alone meanwhile: it cannot be mounted, and nothing that is in use
 * is lost. The kernel, which takes it next, would be kept away in turn.
 */
static int fresh_label(struct taking *t)
{
	char why[160];
	int alone, err = t->how.local ? 0 : kernel_check(t->p.path, why, sizeof(why));

	if (err) {
		log_warn("%s: the kernel does not take it: %s", t->p.path, why);
		return err == -EBUSY ? -ETXTBSY : err;
	}
	alone = open_probed(&t->p, O_EXCL);
	if (alone < 0)
		return alone;
	t->ends = label_ends_read(alone, t->p.size);
	err = write_fresh(t, alone);
	close(alone);
	/* Nothing was written yet where what is kept could not be set aside. */
	if (err && err != -EROFS)
		unlabel(t);
	return err;
}

/* @fd: taken over, whatever is returned. */
static int take_labelled(struct taking *t, int fd)
{
	struct up u = { .how = t->how };
	struct tdrive *d;
	int err;

	memcpy(u.each, t->p.each, sizeof(u.each));
	err = tdrive_start(t->p.path, fd, t->p.label, &t->p.disk, &t->p.id, &d);
	t->p.label = NULL;
	if (err)
		return err;
	d->size = t->p.size;
	d->nvme = t->p.nvme;
	log_info("%s: %s, %u extents", d->path, !t->how.fresh ? "taken up" : d->local ? "a local drive" : "exported",
		 d->label->extents);
	err = tdrive_run(d, up_job, &u);
	if (refused(err, &t->how)) {
		tdrive_stop(d, false);
		tdrive_put(d);
		return err;
	}
	t->d = d;
	return err;
}

/* Whole, or nothing has changed. */
static int take(struct taking *t)
{
	int fd = open_probed(&t->p, 0), err = fd < 0 ? fd : 0;

	if (!err && t->how.fresh)
		err = fresh_label(t);
	if (err && fd >= 0)
		close(fd);
	if (!err) {
		err = take_labelled(t, fd);
		if (t->how.fresh && !t->d)
			unlabel(t);
	}
	free(t->ends);
	t->ends = NULL;
	return err;
}

static void *take_work(void *item)
{
	struct taking *t = item, *out = calloc(1, sizeof(*out));

	if (!out || !disk_wait(t->p.path, TAKE_MS)) {
		free(out);
		return NULL;
	}
	t->err = take(t);
	*out = *t;
	out->p.label = NULL;
	disk_drop(t->p.path);
	return out;
}

static void take_drop(void *item)
{
	struct taking *t = item;

	probe_clear(&t->p);
	free(t);
}

static void take_discard(void *result)
{
	struct taking *t = result;

	tdrive_put(t->d);
	free(t);
}

int take_up(struct probe *p, const struct take_how *how, struct tdrive **out)
{
	static const struct fan f = { take_work, take_drop, take_discard, NULL };
	struct taking *t = calloc(1, sizeof(*t)), *done __free(free) = NULL;

	*out = NULL;
	if (!t)
		return -ENOMEM;
	t->p = *p;
	t->how = *how;
	p->label = NULL;
	fan_run(&f, (void **)&t, 1, TAKE_MS, (void **)&done);
	if (!done) {
		disk_late(p->path);
		return -ETIMEDOUT;
	}
	*out = done->d;
	return done->err;
}
