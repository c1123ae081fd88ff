// SPDX-License-Identifier: GPL-2.0-only
/* The list of exported drives, their threads, and their labels in memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/meshd/done.h"
#include "userspace/meshd/drive.h"
#include "userspace/meshd/export.h"

#define SILENT_MS	5000	/* for which a job may last */
#define IDLE_MS		3000
#define READERS_MAX	64	/* threads that read it at once, beside its own */

static struct {
	pthread_mutex_t lock;
	struct tdrive *first;
	struct tdrive *ending;		/* not listed any more, but still referenced */
} tdrives = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct tdrive **tdrives_all(size_t *n)
{
	struct tdrive **out = NULL, *d;
	size_t i = 0;

	guard(&tdrives.lock);
	for (d = tdrives.first; d; d = d->next)
		i++;
	out = calloc(i + 1, sizeof(*out));
	for (*n = 0, d = tdrives.first; out && d; d = d->next) {
		d->refs++;
		out[(*n)++] = d;
	}
	return out;
}

struct mgmt_drive *tdrives_draining(size_t *n)
{
	struct mgmt_drive *out, *m;
	const struct tdrive *d;
	size_t i = 0;

	*n = 0;
	guard(&tdrives.lock);
	for (d = tdrives.ending; d; d = d->next)
		i++;
	out = calloc(i + 1, sizeof(*out));
	for (d = tdrives.ending; out && d; d = d->next) {
		m = &out[(*n)++];
		*m = (struct mgmt_drive) { .uuid = d->uuid, .size = d->size, .lba = d->lba,
					   .state = MGMT_DRAINING };
		snprintf(m->path, sizeof(m->path), "%s", d->path);
	}
	return out;
}

struct tdrive *tdrive_find(const struct muuid *uuid)
{
	struct tdrive *d;

	guard(&tdrives.lock);
	for (d = tdrives.first; d && !muuid_equal(&d->uuid, uuid); d = d->next)
		;
	if (d)
		d->refs++;
	return d;
}

struct tdrive *tdrive_by_path(const char *path)
{
	struct tdrive *d;

	guard(&tdrives.lock);
	for (d = tdrives.first; d && strcmp(d->path, path); d = d->next)
		;
	if (d)
		d->refs++;
	return d;
}

void tdrive_get(struct tdrive *d)
{
	guard(&tdrives.lock);
	d->refs++;
}

static bool unlink_from(struct tdrive **list, const struct tdrive *d)
{
	for (; *list; list = &(*list)->next) {
		if (*list == d) {
			*list = d->next;
			return true;
		}
	}
	return false;
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
	/* Only now may it be taken up again: nothing of this use writes to it. */
	close(d->fd);
	if (d->alone >= 0)
		close(d->alone);
	pthread_mutex_lock(&tdrives.lock);
	last = unlink_from(&tdrives.ending, d);
	pthread_mutex_unlock(&tdrives.lock);
	if (last)
		export_rescan();
	free(d->label);
	free(d->both);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->wake);
	free(d);
}

/* One attempt: what fails then is tried again with the next change of the label. */
static void repair(struct tdrive *d)
{
	int err = tdrive_settled(d);

	d->damaged = false;
	if (err)
		log_error("%s: the damaged copy of its label cannot be written again: %s", d->path,
			  strerror(-err));
	else
		log_info("%s: both copies of its label are good again", d->path);
}

/*
 * With d->lock. While there is nothing else to do a backup that is due is made, and the
 * label checked: the kernel grants by what it was given, without a request here.
 */
static void wait_for_job(struct tdrive *d)
{
	struct timespec until = ms_from_now(IDLE_MS);

	if (pthread_cond_clockwait(&d->wake, &d->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT ||
	    d->jobs || d->gone)
		return;
	d->job_since = now_ms();
	pthread_mutex_unlock(&d->lock);
	backup_idle(d);
	if (d->damaged)
		repair(d);
	else
		tdrive_current(d);
	tdrive_push_again(d);
	pthread_mutex_lock(&d->lock);
	d->job_since = 0;
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
			wait_for_job(d);
			continue;
		}
		d->jobs = j->next;
		if (!d->jobs)
			d->jobs_end = &d->jobs;
		gone = d->gone;
		d->job_since = now_ms();
		pthread_mutex_unlock(&d->lock);
		j->fn(d, j, gone ? -ENODEV : 0);
		pthread_mutex_lock(&d->lock);
		d->job_since = 0;
	}
	pthread_mutex_unlock(&d->lock);
	tdrive_put(d);
	return NULL;
}

/* With d->lock: seconds, 0: it is not late. */
static unsigned int silent(const struct tdrive *d)
{
	u64 ms = d->job_since ? (d->home_since ?: now_ms()) - d->job_since : 0;

	return ms > SILENT_MS ? ms / 1000 : 0;
}

unsigned int tdrive_silent(struct tdrive *d)
{
	guard(&d->lock);
	return silent(d);
}

bool tdrive_read_begin(struct tdrive *d)
{
	bool may;

	guard(&d->lock);
	may = !silent(d) && d->readers < READERS_MAX;
	d->readers += may;
	return may;
}

void tdrive_read_end(struct tdrive *d)
{
	guard(&d->lock);
	d->readers--;
}

/* The host's own disk may hang: that is no silence of the drive. */
void tdrive_home_begin(struct tdrive *d)
{
	guard(&d->lock);
	d->home_since = now_ms();
}

void tdrive_home_end(struct tdrive *d)
{
	guard(&d->lock);
	d->job_since += d->job_since ? now_ms() - d->home_since : 0;
	d->home_since = 0;
}

/* Said once each time. */
static void home_check(struct tdrive *d)
{
	bool late;

	pthread_mutex_lock(&d->lock);
	late = d->home_since && d->home_since != d->home_said && now_ms() - d->home_since > SILENT_MS;
	if (late)
		d->home_said = d->home_since;
	pthread_mutex_unlock(&d->lock);
	if (late)
		log_error("%s: what changes on it waits for %s: the disk of that folder does not answer",
			  d->path, D.state);
}

void tdrive_submit(struct tdrive *d, struct tjob *j)
{
	int err;

	j->next = NULL;
	pthread_mutex_lock(&d->lock);
	err = d->gone ? -ENODEV : j->prompt && silent(d) ? -ETIMEDOUT : 0;
	if (!err) {
		*d->jobs_end = j;
		d->jobs_end = &j->next;
		pthread_cond_broadcast(&d->wake);
	}
	pthread_mutex_unlock(&d->lock);
	if (err)
		j->fn(d, j, err);
}

/* Those that wait behind a job that hangs, taken off its queue. */
static struct tjob *take_prompt(struct tdrive *d)
{
	struct tjob *out = NULL, **end = &out, **at = &d->jobs, *j;

	guard(&d->lock);
	while (silent(d) && (j = *at)) {
		if (!j->prompt) {
			at = &j->next;
			continue;
		}
		*at = j->next;
		j->next = NULL;
		*end = j;
		end = &j->next;
	}
	for (d->jobs_end = &d->jobs; *d->jobs_end; d->jobs_end = &(*d->jobs_end)->next)
		;
	return out;
}

void tdrives_tick(void)
{
	struct tdrive **all __free(free) = NULL;
	struct tjob *j, *next;
	size_t i, n;

	all = tdrives_all(&n);
	for (i = 0; all && i < n; i++) {
		home_check(all[i]);
		for (j = take_prompt(all[i]); j; j = next) {
			next = j->next;
			j->fn(all[i], j, -ETIMEDOUT);
		}
		tdrive_put(all[i]);
	}
}

struct waited {
	struct tjob job;
	int (*fn)(struct tdrive *d, void *arg);
	void *arg;
	void (*drop)(void *arg);
	int err;
	struct done done;
};

static void waited_free(struct waited *w)
{
	if (w->drop)
		w->drop(w->arg);
	free(w);
}

static void waited_fn(struct tdrive *d, struct tjob *j, int err)
{
	struct waited *w = (struct waited *)j;

	w->err = err ? err : w->fn(d, w->arg);
	if (!done_set(&w->done))
		waited_free(w);
}

int tdrive_run_for(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg,
		   void (*drop)(void *arg), unsigned int ms)
{
	struct waited *w = calloc(1, sizeof(*w));
	int err;

	if (!w) {
		if (drop)
			drop(arg);
		return -ENOMEM;
	}
	*w = (struct waited) { .job.fn = waited_fn, .fn = fn, .arg = arg, .drop = drop, .done = DONE_INIT };
	tdrive_submit(d, &w->job);
	if (!done_wait(&w->done, ms))
		return -ETIMEDOUT;
	err = w->err;
	waited_free(w);
	return err;
}

int tdrive_run(struct tdrive *d, int (*fn)(struct tdrive *d, void *arg), void *arg)
{
	return tdrive_run_for(d, fn, arg, NULL, DONE_FOREVER);
}

struct label *tdrive_edit(struct tdrive *d)
{
	struct label *l = malloc(sizeof(*l));

	if (l)
		memcpy(l, d->label, sizeof(*l));
	return l;
}

/* Words for the log and the state, from what became of the two copies. */
static void commit_failed(struct tdrive *d, int err, const int each[2])
{
	if (err == -EBADE)
		log_error("%s: its label is not what this host wrote last: another host or program "
			  "writes to the drive. Its label is not written and nothing is opened any more; "
			  "unexport it on one of the hosts (meshctl drive unexport)", d->path);
	else if (err)
		log_error("%s: its label cannot be written: %s", d->path, strerror(-err));
	else
		log_error("%s: copy %d of its label cannot be written (%s): nothing more is given out "
			  "on it until it can", d->path, each[0] ? 0 : 1,
			  strerror(-(each[0] ? each[0] : each[1])));
}

/* The same table of extents, apart from holders. */
static bool same_table(const struct label *a, const struct label *b)
{
	u32 i;

	if (a->extents != b->extents)
		return false;
	for (i = 0; i < a->extents; i++)
		if (!muuid_equal(&a->extent[i].uuid, &b->extent[i].uuid) ||
		    a->extent[i].version != b->extent[i].version ||
		    a->extent[i].attach != b->extent[i].attach)
			return false;
	return true;
}

/* By its label: its new owner may open what is open here, since this host was declared off. */
static bool taken_over(const struct tdrive *d, struct muuid *owner)
{
	struct label *l __free(free) = malloc(sizeof(*l));
	struct label_disk disk;
	int each[2];

	if (!l || label_read(d->fd, d->size, l, &disk, each) || !muuid_equal(&l->drive, &d->uuid) ||
	    muuid_equal(&l->owner, &D.host))
		return false;
	*owner = l->owner;
	return true;
}

/* A label was written to it elsewhere. */
static void strayed(struct tdrive *d)
{
	static const int none[2];
	struct muuid owner;

	pthread_mutex_lock(&d->lock);
	d->foreign = d->sick = true;
	pthread_mutex_unlock(&d->lock);
	if (!taken_over(d, &owner)) {
		commit_failed(d, -EBADE, none);
		tdrive_push(d);
		return;
	}
	log_error("%s: host %s has taken it over: %s", d->path, muuid_str(&owner).s, d->local ?
		  "it is no local drive here any more; a volume that is attached writes to it until it is detached" :
		  "it is not served here any more, and what was open is taken away");
	tdrive_stop(d, true);
}

int tdrive_commit(struct tdrive *d, struct label *l)
{
	struct label *old = d->label;
	bool was = d->sick, use;
	int err, each[2] = { 0 };

	if (d->foreign) {
		free(l);
		return -EBADE;
	}
	/* What failed may have landed nevertheless: its number is not used again. */
	l->sequence = (d->disk.tried > old->sequence ? d->disk.tried : old->sequence) + 1;
	err = label_write(d->fd, l, &d->disk, each);
	use = !err;
	pthread_mutex_lock(&d->lock);
	d->sick = err || each[0] || each[1];
	if (use)
		d->label = l;
	pthread_mutex_unlock(&d->lock);
	if (use)
		backup_label(d, l, !same_table(l, old));
	if (use && d->sick && !d->both)
		d->both = old;
	else
		free(use ? old : l);
	if (!d->sick) {
		free(d->both);
		d->both = NULL;
	}
	if (err == -EBADE)
		strayed(d);
	else if (d->sick && !was)
		commit_failed(d, err, each);
	/*
	 * With one copy of two the change holds as long as that copy can be read:
	 * too little to act on it. The caller sends the request again.
	 */
	return err ? err : d->sick ? -EIO : 0;
}

/*
 * Not written at once: of a drive that is being erased both copies are gone at the
 * next check, and it is not touched any more.
 */
static void damaged(struct tdrive *d)
{
	tdrive_set(d, &d->sick, true);
	d->damaged = true;
	log_error("%s: copy %d of its label is damaged, the other one is good; it is written again in a "
		  "moment", d->path, d->disk.known[0] ? 1 : 0);
}

int tdrive_current(struct tdrive *d)
{
	bool known = d->disk.known[0] && d->disk.known[1];
	int err = d->foreign ? -EBADE : label_same(d->fd, d->label, &d->disk);

	if (!err && known && !(d->disk.known[0] && d->disk.known[1]))
		damaged(d);
	if (err == -EBADE && !d->foreign)
		strayed(d);
	return err;
}

/* What failed before is done now, or fails again: it is not answered with success. */
int tdrive_settled(struct tdrive *d)
{
	int err = tdrive_current(d);
	struct label *l;

	if (err || !d->sick)
		return err;
	l = tdrive_edit(d);
	err = l ? tdrive_commit(d, l) : -ENOMEM;
	if (!err)
		tdrive_push(d);
	return err;
}

int tdrive_held(struct tdrive *d, const struct label_extent *e)
{
	const struct label_extent *was = d->both ? label_find(d->both, &e->uuid) : e;

	return was && muuid_equal(&was->holder, &e->holder) && was->attach == e->attach ?
	       tdrive_current(d) : tdrive_settled(d);
}

static struct tdrive *tdrive_new(const char *path, int fd, struct label *label)
{
	struct tdrive *d = calloc(1, sizeof(*d));

	if (!d) {
		close(fd);
		free(label);
		return NULL;
	}
	d->refs = 3;			/* the list's, the thread's, the caller's */
	d->uuid = label->drive;
	d->fd = fd;
	d->alone = -1;
	d->label = label;
	d->size = label->size;
	d->lba = label->lba;
	d->local = label->flags & LABEL_F_LOCAL;
	d->jobs_end = &d->jobs;
	snprintf(d->path, sizeof(d->path), "%s", path);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, NULL);
	return d;
}

/* Return: 0, or why its UUID cannot be listed now. */
static int list_it(struct tdrive *d)
{
	const struct tdrive *o;

	guard(&tdrives.lock);
	for (o = tdrives.first; o; o = o->next)
		if (muuid_equal(&o->uuid, &d->uuid))
			return -EEXIST;
	for (o = tdrives.ending; o; o = o->next)
		if (muuid_equal(&o->uuid, &d->uuid))
			return -EBUSY;
	d->next = tdrives.first;
	tdrives.first = d;
	return 0;
}

int tdrive_start(const char *path, int fd, struct label *label, const struct label_disk *disk,
		 const struct twin_id *id, struct tdrive **out)
{
	struct tdrive *d = tdrive_new(path, fd, label);
	int err;

	if (!d)
		return -ENOMEM;
	d->id = *id;
	d->disk = *disk;
	err = list_it(d);
	if (err) {
		d->refs = 1;
		tdrive_put(d);
		return err;
	}
	err = thread_start(drive_thread, d);
	if (err) {
		tdrive_put(d);			/* the thread's */
		tdrive_stop(d, false);
		tdrive_put(d);
		return err;
	}
	*out = d;
	return 0;
}

void tdrive_stop(struct tdrive *d, bool force)
{
	bool listed;

	tdrive_set(d, &d->ending, true);
	tdrive_unserve(d, force);
	pthread_mutex_lock(&tdrives.lock);
	listed = unlink_from(&tdrives.first, d);
	if (listed) {
		d->next = tdrives.ending;
		tdrives.ending = d;
	}
	pthread_mutex_unlock(&tdrives.lock);
	pthread_mutex_lock(&d->lock);
	d->gone = true;
	pthread_cond_broadcast(&d->wake);
	pthread_mutex_unlock(&d->lock);
	if (listed)
		tdrive_put(d);
}

/* With d->lock. */
static const char *state_word(const struct tdrive *d)
{
	if (d->gone)
		return "gone";
	if (d->leaving)
		return "unexporting";
	if (d->sick)
		return "sick";
	if (silent(d))
		return "silent";
	return !d->pushed ? "down" : d->local ? MGMT_LOCAL : "up";
}

void tdrive_describe(struct tdrive *d, struct mgmt_drive *out)
{
	memset(out, 0, sizeof(*out));
	out->uuid = d->uuid;
	snprintf(out->path, sizeof(out->path), "%s", d->path);
	snprintf(out->model, sizeof(out->model), "%s", d->id.model);
	snprintf(out->serial, sizeof(out->serial), "%s", d->id.serial);
	out->size = d->size;
	out->lba = d->lba;
	guard(&d->lock);
	out->free = label_room(d->label, &out->longest);
	out->extents = d->label->extents;
	out->sequence = d->label->sequence;
	if (!d->foreign)
		out->owner = d->label->owner;
	if (d->twin[0] && !d->gone && !d->leaving && !d->sick)
		snprintf(out->state, sizeof(out->state), "same label as %.48s", d->twin);
	else
		snprintf(out->state, sizeof(out->state), "%s", state_word(d));
}

void tdrive_extent(const struct tdrive *d, const struct label_extent *e, struct mgmt_extent *out)
{
	memset(out, 0, sizeof(*out));
	out->uuid = e->uuid;
	out->drive = d->uuid;
	out->volume = e->volume;
	out->holder = e->holder;
	out->attach = e->attach;
	out->attacher = e->attacher;
	memcpy(out->name, e->name, LABEL_NAME);
	out->start = e->start;
	out->length = e->length;
	out->version = e->version;
	out->commit = e->commit;
	out->ready = e->state == LABEL_READY;
	out->zeroed = out->ready ? e->length : e->zeroed;
	if (!out->ready && muuid_equal(&d->zero_extent, &e->uuid)) {
		if (d->zero_at > out->zeroed)
			out->zeroed = d->zero_at;
		out->error = d->zero_error;
	}
}
