// SPDX-License-Identifier: GPL-2.0-only
/*
 * All disks of the machine. A round probes each of them, some at a time, by a job for each path: a
 * disk that hangs keeps its job, and is late until that ends.
 *
 *   disks_list()     device/H            '.   struct disk_round --> disk_look() of each path
 *   disks_rescan()   drives to take up  -'
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/disk_probe.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

#define OLD_MS		5000
#define AT_ONCE		32

struct look_arg {
	char	path[OBJ_PATH];
	char	state[OBJ_PATH];	/* folder; empty: none */
	struct export_disk out;
	u64	at;		/* disk_now(), when it was found */
};

struct disk_look {
	struct disk_look *next;
	struct look_arg *arg;
	struct job *job;
	bool	late;		/* said in the log */
	u64	judged;		/* number of the device that a command was judged by; 0: none was */
	char	why[OBJ_WORDS];	/* it was not taken up; as it was logged */
};

enum round_state { ROUND_TO_DO, ROUND_RUNS, ROUND_DONE, ROUND_TAKE, ROUND_TAKEN };

struct round_disk {
	u8	state;
	struct export_disk found;
};

struct disk_round {
	char	**path;
	size_t	n;
	struct round_disk *disk;
};

/* The device that this host had the drive on. */
static void look_known(struct look_arg *a)
{
	struct export_disk *d = &a->out;
	struct obj_known k;

	if (muuid_null(&d->drive) || !a->state[0] || disk_known_get(a->state, &d->drive, &k))
		return;
	d->known = true;
	memcpy(d->known_wwid, k.wwid, sizeof(d->known_wwid));
	memcpy(d->known_serial, k.serial, sizeof(d->known_serial));
	obj_free(OBJ_KNOWN, &k);
}

static int look(void *arg)
{
	struct look_arg *a = arg;

	disk_probe(a->path, &a->out);
	look_known(a);
	a->at = disk_now();
	return 0;
}

static struct disk_look *look_of(struct disks *s, const char *path)
{
	struct disk_look *l;

	for (l = s->looks; l; l = l->next) {
		if (!strcmp(l->arg->path, path))
			return l;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->arg = calloc(1, sizeof(*l->arg));
	if (l->arg) {
		snprintf(l->arg->path, sizeof(l->arg->path), "%s", path);
		snprintf(l->arg->state, sizeof(l->arg->state), "%s", s->config.state ? s->config.state : "");
	}
	l->job = l->arg ? job_new(look, l->arg, free) : NULL;
	if (!l->job) {
		free(l->arg);
		free(l);
		return NULL;
	}
	l->next = s->looks;
	s->looks = l;
	return l;
}

/* A drive that is served is not read: its own threads do that. */
static void look_served(struct disk *d, struct export_disk *out)
{
	off_t size;

	guard(&d->lock);
	memset(out, 0, sizeof(*out));
	out->disk = d->about;
	/* The device may grow meanwhile. */
	size = d->fd >= 0 ? lseek(d->fd, 0, SEEK_END) : -1;
	if (size > 0)
		out->disk.size = size;
	out->found = EXPORT_LABEL;
	out->drive = d->uuid;
	out->owner = d->s->config.host;
	out->number = d->number;
	if (d->both) {
		out->cluster = d->both->cluster;
		out->sequence = d->both->sequence;
		out->generation = d->both->generation;
		out->bare = !d->both->extents;
	}
	snprintf(out->what, sizeof(out->what), "is drive %s, which is served", muuid_str(&d->uuid).s);
	snprintf(out->disk.why, sizeof(out->disk.why), "%s", out->what);
}

int disk_look(struct disks *s, const char *path, struct export_disk *out)
{
	struct disk *d = disks_at(s, path);
	struct disk_look *l;
	int err;

	if (d) {
		look_served(d, out);
		return 0;
	}
	l = look_of(s, path);
	if (!l)
		return -ENOMEM;
	err = job_run(l->job);
	/* No agent came for it while the store was away: another disk may have the name by now. */
	if (!err && disk_now() - l->arg->at > OLD_MS)
		err = job_run(l->job);
	if (!err) {
		*out = l->arg->out;
		l->late = false;
		return 0;
	}
	if (err != -EINPROGRESS || job_since(l->job) < DISK_LATE_MS)
		return err == -EAGAIN ? -EINPROGRESS : err;
	if (!l->late)
		disk_log(s, "%s: does not answer; it is left alone until it does", path);
	l->late = true;
	snprintf(s->words, sizeof(s->words), "%s does not answer", path);
	return -ETIMEDOUT;
}

int disk_look_judged(struct disks *s, const char *path, struct export_disk *out)
{
	struct disk_look *l;
	int err = disk_look(s, path, out);

	if (err)
		return err;
	l = look_of(s, path);
	if (!l)
		return -ENOMEM;
	l->judged = out->number;
	return 0;
}

u64 disk_judged(const struct disks *s, const char *path)
{
	for (const struct disk_look *l = s->looks; l; l = l->next) {
		if (!strcmp(l->arg->path, path))
			return l->judged;
	}
	return 0;
}

static void round_free(struct disk_round *r)
{
	for (size_t i = 0; r && i < r->n; i++)
		free(r->path[i]);
	if (r)
		free(r->path);
	free(r ? r->disk : NULL);
	free(r);
}

static struct disk_round *round_new(void)
{
	struct disk_round *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->path = disk_paths(&r->n);
	while (r->n > OBJ_DISKS_MAX)
		free(r->path[--r->n]);
	r->disk = calloc(r->n + 1, sizeof(*r->disk));
	if (!r->disk) {
		round_free(r);
		return NULL;
	}
	return r;
}

static void round_late(struct round_disk *d, const char *path)
{
	memset(&d->found, 0, sizeof(d->found));
	d->found.found = EXPORT_UNFIT;
	d->found.disk.lba = 512;	/* of no meaning: its size is not known either */
	snprintf(d->found.disk.path, sizeof(d->found.disk.path), "%s", path);
	snprintf(d->found.what, sizeof(d->found.what), "does not answer");
	snprintf(d->found.disk.why, sizeof(d->found.disk.why), "does not answer");
}

/* Return: 0: each has answered, or is late; -EINPROGRESS. */
static int round_turn(struct disks *s, struct disk_round **at)
{
	struct disk_round *r = *at;
	size_t runs = 0;
	int err;

	if (!r)
		r = *at = round_new();
	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < r->n && runs < AT_ONCE; i++) {
		struct round_disk *d = &r->disk[i];

		if (d->state >= ROUND_DONE)
			continue;
		err = disk_look(s, r->path[i], &d->found);
		d->state = err == -EINPROGRESS ? ROUND_RUNS : ROUND_DONE;
		runs += d->state == ROUND_RUNS;
		if (err && err != -EINPROGRESS)
			round_late(d, r->path[i]);
	}
	return runs ? -EINPROGRESS : 0;
}

int disks_list(void *m, struct obj_disk **out, u32 *n)
{
	struct disks *s = m;
	int err = round_turn(s, &s->list);
	struct disk_round *r = s->list;
	struct obj_disk *all;

	if (err)
		return err;
	s->list = NULL;
	all = calloc(r->n + 1, sizeof(*all));
	*n = 0;
	for (size_t i = 0; all && i < r->n; i++) {
		const struct obj_disk *d = &r->disk[i].found.disk;

		/* An empty logical volume waits for something else: 'export --all' must not take it. */
		if (d->exportable && disk_stacked(r->path[i]))
			continue;
		/* One that has gone since the list was made has no blocks; one that does not answer is named. */
		if (d->lba)
			all[(*n)++] = *d;
	}
	round_free(r);
	*out = all;
	return all ? 0 : -ENOMEM;
}

static void not_taken(struct disks *s, const char *path, const char *why)
{
	struct disk_look *l = look_of(s, path);

	if (!l || !strcmp(l->why, why))
		return;
	snprintf(l->why, sizeof(l->why), "%s", why);
	if (why[0])
		disk_log(s, "%s: %s", path, why);
}

/* True: another disk may be the same drive, so neither is taken: a copy must never be served. */
static bool twin(const struct disk_round *r, size_t at)
{
	for (size_t i = 0; i < r->n; i++) {
		if (i != at && r->disk[i].state >= ROUND_TAKE &&
		    muuid_equal(&r->disk[i].found.drive, &r->disk[at].found.drive))
			return true;
	}
	return false;
}

/* By the store's objects, or, without @c, by what this host has seen of the store. */
static bool may_take(const struct disks *s, const struct export_disk *d, const struct copy *c,
		     const struct plan_seen *seen, char *why, size_t size)
{
	const struct key k = { .kind = KEY_DRIVE, .drive = d->drive };

	return c ? export_take(d, copy_obj(c, &k), &s->config.host, copy_obj(c, &(struct key) { .kind = KEY_CLUSTER }),
			       why, size) :
		   export_take_alone(d, seen, &s->config.host, why, size);
}

static void note_generation(struct disks *s, const struct export_disk *d, const struct copy *c)
{
	const struct obj_cluster *k = c ? copy_obj(c, &(struct key) { .kind = KEY_CLUSTER }) : NULL;

	if (d->found != EXPORT_LABEL || !k || !muuid_equal(&k->plan.uuid, &d->cluster) || d->generation <= s->generation)
		return;
	s->generation = d->generation;
	snprintf(s->generation_path, sizeof(s->generation_path), "%s", d->disk.path);
}

u32 disks_generation(const struct disks *s, const char **path)
{
	*path = s->generation_path;
	return s->generation;
}

/* The disks of a round that are drives of this host. */
static void round_judge(struct disks *s, const struct disk_round *r, const struct copy *c,
			const struct plan_seen *seen)
{
	char why[OBJ_WORDS];

	for (size_t i = 0; i < r->n; i++) {
		struct round_disk *d = &r->disk[i];

		why[0] = 0;
		if (d->state == ROUND_DONE)
			note_generation(s, &d->found, c);
		if (d->state != ROUND_DONE || disks_served(s, &d->found.drive))
			continue;
		if (may_take(s, &d->found, c, seen, why, sizeof(why)))
			d->state = ROUND_TAKE;
		else
			not_taken(s, r->path[i], why);
	}
}

static int round_take(struct disks *s, const struct disk_round *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct round_disk *d = &r->disk[i];
		int err;

		if (d->state != ROUND_TAKE)
			continue;
		if (twin(r, i)) {
			not_taken(s, r->path[i], "another disk has the label of the same drive: neither is served "
				  "until one of them is away");
			continue;
		}
		err = disk_take(s, r->path[i], &d->found.drive, d->found.number);
		if (err == -EINPROGRESS) {
			ret = err;
			continue;
		}
		d->state = ROUND_TAKEN;
		not_taken(s, r->path[i], err ? s->words : "");
	}
	return ret;
}

static int rescan(struct disks *s, const struct copy *c, const struct plan_seen *seen)
{
	int err = round_turn(s, &s->scan);

	if (err)
		return err;
	round_judge(s, s->scan, c, seen);
	err = round_take(s, s->scan);
	if (err == -EINPROGRESS)
		return err;
	round_free(s->scan);
	s->scan = NULL;
	s->scanned = true;
	return 0;
}

int disks_rescan(struct disks *s, const struct copy *c)
{
	return rescan(s, c, NULL);
}

int disks_rescan_alone(struct disks *s, const struct plan_seen *seen)
{
	return rescan(s, NULL, seen);
}

bool disks_look_end(struct disks *s, u64 until)
{
	struct disk_look *l;
	bool all = true;

	round_free(s->list);
	round_free(s->scan);
	while ((l = s->looks)) {
		s->looks = l->next;
		/* Such a job has nothing of @s. */
		while (job_since(l->job) && disk_now() < until)
			usleep(1000);
		job_free(l->job);
		free(l);
	}
	return all;
}
