// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives that hang; and those that the kernel serves from the daemon before this one, and that this one has not taken up:
 * their labels are damaged, another host's, or of another disk. Clients go on with what they opened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

/* One drive that the kernel has. */
struct left {
	struct muuid drive;
	bool	gone;		/* served no more; commands to it are not back */
};

struct disk_left {
	struct job *job;
	struct left *run;	/* the job's */
	size_t	runs;
	struct left *list;	/* the loop's */
	size_t	nr;
	u64	at;		/* disk_now() of @list; 0: none yet */
};

static int kernel_list(struct mesh *m, struct left **out, size_t *n)
{
	struct meshtgt_drive *all;
	size_t count;
	int err = m ? meshtgt_drives(m, &all, &count) : -ENOMEM;

	*out = NULL;
	*n = 0;
	/* Without the module nothing is served. */
	if (err)
		return err == -ENOENT ? 0 : err;
	*out = calloc(count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < count; i++)
		(*out)[(*n)++] = (struct left) { .drive = all[i].uuid,
						 .gone = !strcmp(all[i].state, MESHBLK_STATE_GONE) };
	meshtgt_drives_free(all, count);
	return *out ? 0 : -ENOMEM;
}

static const struct left *find(const struct left *list, size_t n, const struct muuid *drive)
{
	for (size_t i = 0; i < n; i++) {
		if (muuid_equal(&list[i].drive, drive))
			return &list[i];
	}
	return NULL;
}

/* Repeats end what is gone alone: a drive that comes back meanwhile is served, and stays. */
static int end_it(const struct disks *s, struct mesh *m, const struct muuid *drive, bool gone, bool force)
{
	int err = gone ? meshtgt_gone_del(m, drive) : meshtgt_drive_del(m, drive, force);

	while (err == -EBUSY && (gone || force)) {
		usleep(s->retry_ms * 1000);
		err = meshtgt_gone_del(m, drive);
	}
	return err == -ENOENT ? 0 : err;
}

int disk_left_end(struct disks *s, const struct muuid *drive, bool force, char *why, size_t size)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct left *list __free(free) = NULL;
	const struct left *l;
	size_t n;
	int err = kernel_list(m, &list, &n);

	l = err ? NULL : find(list, n, drive);
	/* A scan has found it since. */
	if (!err && disks_served(s, drive))
		err = -EEXIST;
	if (!err && !l) {
		snprintf(why, size, "it is not served here");
		return -ENODEV;
	}
	if (!err)
		err = end_it(s, m, drive, l->gone, force);
	if (err == -EBUSY)
		snprintf(why, size, "volumes have extents of it open: detach them, or add --preempt, by which their I/O "
			 "to it fails");
	else if (err == -EEXIST)
		snprintf(why, size, "it came back meanwhile, and is served again");
	else if (err)
		snprintf(why, size, "the kernel does not give it up: %s", strerror(-err));
	return err;
}

static int list_job(void *arg)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct disk_left *f = arg;

	free(f->run);
	return kernel_list(m, &f->run, &f->runs);
}

static void left_drop(void *arg)
{
	struct disk_left *f = arg;

	free(f->run);
	free(f->list);
	free(f);
}

static struct disk_left *left_new(void)
{
	struct disk_left *f = calloc(1, sizeof(*f));

	if (f)
		f->job = job_new(list_job, f, left_drop);
	if (f && !f->job) {
		free(f);
		return NULL;
	}
	return f;
}

static void list_again(const struct disks *s, struct disk_left *f)
{
	int err;

	if (f->at && disk_now() - f->at < s->retry_ms)
		return;
	err = job_run(f->job);
	if (err == -EINPROGRESS || err == -EAGAIN)
		return;
	f->at = disk_now();
	if (err)
		return;
	free(f->list);
	f->list = f->run;
	f->nr = f->runs;
	f->run = NULL;
	f->runs = 0;
}

int disks_left(void *m, const struct muuid *drive, char *words, size_t size)
{
	struct disks *s = m;
	struct disk *d = disks_served(s, drive);
	const struct left *l;

	if (d && disk_hangs(d)) {
		snprintf(words, size, "%s does not answer", d->path);
		return 1;
	}
	/* A daemon that starts takes up what the kernel has from the one before. */
	if (!s->scanned)
		return 0;
	if (!s->left)
		s->left = left_new();
	if (!s->left)
		return 0;
	list_again(s, s->left);
	l = d ? NULL : find(s->left->list, s->left->nr, drive);
	if (!l)
		return 0;
	snprintf(words, size, l->gone ?
		 "the kernel waits for commands to it, and does not serve it: it is back when its device is" :
		 "the kernel serves it, meshd does not: see 'meshctl drive scan' for the reason; 'meshctl drive unexport' "
		 "ends that");
	return 1;
}

void disks_left_end(struct disks *s)
{
	if (s->left)
		job_free(s->left->job);
	s->left = NULL;
}
