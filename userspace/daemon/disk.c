// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

#define STACK_BYTES	(512U << 10)
#define CLOSE_MS	10000	/* for threads of drives; those of a drive that hangs are left */
#define NUMBERS_KEPT	256	/* results of local members that no caller collects */

u64 disk_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

void disk_log(const struct disks *s, const char *fmt, ...)
{
	char line[DISK_WORDS + OBJ_PATH];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (s->config.log)
		s->config.log(s->config.priv, line);
}

/* Start a thread of a drive, which is counted; 0 or -EAGAIN. With d->lock. */
static int start_thread(struct disk *d, void *(*fn)(void *arg))
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	d->threads++;
	err = pthread_create(&thread, &attr, fn, d);
	pthread_attr_destroy(&attr);
	d->threads -= !!err;
	return err ? -EAGAIN : 0;
}

/* With d->lock, of the last thread: what no other thread uses any more. */
static void empty(struct disk *d)
{
	if (d->fd >= 0)
		close(d->fd);
	if (d->alone >= 0)
		close(d->alone);
	d->fd = d->alone = -1;
	if (d->both != d->label)
		free(d->both);
	free(d->label);
	free(d->want);
	free(d->record);
	free(d->heads);
	free(d->out);
	d->label = d->both = d->want = NULL;
	d->record = NULL;
	d->heads = NULL;
	d->out = NULL;
	d->nr_heads = d->nr_out = 0;
}

void disk_thread_end(struct disk *d)
{
	int fd = -1, alone = -1;

	pthread_mutex_lock(&d->lock);
	/* A close may wait for a disk that hangs, and the loop must not wait for that. */
	if (d->threads == 1 && d->ended) {
		fd = d->fd;
		alone = d->alone;
		d->fd = d->alone = -1;
	}
	pthread_mutex_unlock(&d->lock);
	if (fd >= 0)
		close(fd);
	if (alone >= 0)
		close(alone);
	pthread_mutex_lock(&d->lock);
	if (!--d->threads && d->ended)
		empty(d);
	pthread_cond_broadcast(&d->wake);
	pthread_mutex_unlock(&d->lock);
	job_wake();
}

void disk_wait(struct disk *d, unsigned int ms)
{
	struct timespec t;

	if (!ms) {
		pthread_cond_wait(&d->wake, &d->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000L;
	}
	pthread_cond_clockwait(&d->wake, &d->lock, CLOCK_MONOTONIC, &t);
}

void disk_end(struct disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->ended = true;
	pthread_cond_broadcast(&d->wake);
	pthread_mutex_unlock(&d->lock);
	job_wake();
}

static bool is_ended(struct disk *d)
{
	guard(&d->lock);
	return d->ended;
}

struct disk *disks_served(struct disks *s, const struct muuid *drive)
{
	struct disk *d;

	guard(&s->lock);
	for (d = s->first; d; d = d->next) {
		if (muuid_equal(&d->uuid, drive) && !is_ended(d))
			return d;
	}
	return NULL;
}

struct disk *disks_find(struct disks *s, const struct muuid *drive)
{
	return disks_served(s, drive);
}

u64 disks_use(struct disks *s, const struct muuid *drive)
{
	struct disk *d;

	guard(&s->lock);
	/* The last one is the first in the list; each stays there. */
	for (d = s->first; d; d = d->next) {
		if (muuid_equal(&d->uuid, drive))
			return (uintptr_t)d;
	}
	return 0;
}

struct disk *disks_next(struct disks *s, struct disk *after)
{
	struct disk *d;

	guard(&s->lock);
	for (d = after ? after->next : s->first; d && is_ended(d); d = d->next)
		;
	return d;
}

const struct muuid *disk_uuid(const struct disk *d)
{
	return &d->uuid;
}

const char *disk_path(const struct disk *d)
{
	return d->path;
}

int disks_open(const struct disks_config *config, struct disks **out)
{
	struct disks *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->retry_ms = DISK_RETRY_MS;
	s->idle_ms = DISK_IDLE_MS;
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

struct disk *disks_at(struct disks *s, const char *path)
{
	char real[PATH_MAX];
	struct disk *d;

	if (realpath(path, real))
		path = real;
	guard(&s->lock);
	for (d = s->first; d; d = d->next) {
		if (!strcmp(d->path, path) && !is_ended(d))
			return d;
	}
	return NULL;
}

bool disks_ending(struct disks *s, const struct muuid *drive)
{
	bool is = false;

	guard(&s->lock);
	for (struct disk *d = s->first; d && !is; d = d->next) {
		guard(&d->lock);
		is = muuid_equal(&d->uuid, drive) && d->ended && d->threads;
	}
	return is;
}

/* With s->lock: 0, or why a drive of that UUID cannot be served now. */
static int may_begin(struct disks *s, const struct muuid *drive)
{
	for (struct disk *d = s->first; d; d = d->next) {
		guard(&d->lock);
		if (muuid_equal(&d->uuid, drive) && (!d->ended || d->threads))
			return d->ended ? -EINPROGRESS : -EEXIST;
	}
	return 0;
}

int disk_begin(struct disks *s, struct disk *d)
{
	int err;

	guard(&s->lock);
	err = may_begin(s, &d->uuid);
	if (err)
		return err;
	pthread_mutex_lock(&d->lock);
	err = start_thread(d, disk_label_thread);
	if (!err)
		err = start_thread(d, disk_table_thread);
	/* One thread without the other ends, and frees what it has. */
	d->ended = err;
	if (!err || d->threads) {
		disk_push(d);
		d->next = s->first;
		s->first = d;
		err = 0;
	}
	pthread_mutex_unlock(&d->lock);
	return err;
}

static void numbers_free(struct disk *d)
{
	struct disk_number *n;

	while ((n = d->numbers)) {
		d->numbers = n->next;
		free(n);
	}
}

void disk_free(struct disk *d)
{
	if (d->fd >= 0)
		empty(d);
	disk_report_end(d);
	numbers_free(d);
	free(d->shown);
	free(d->allow);
	free(d->said);
	pthread_mutex_destroy(&d->io);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->wake);
	free(d);
}

/* False: a thread of it hangs, and has it for ever. */
static bool disk_close(struct disk *d, u64 until)
{
	bool left;
	u64 now;

	disk_end(d);
	pthread_mutex_lock(&d->lock);
	while (d->threads && (now = disk_now()) < until)
		disk_wait(d, until - now);
	left = d->threads;
	pthread_mutex_unlock(&d->lock);
	if (!left)
		disk_free(d);
	return !left;
}

void disks_close(struct disks *s)
{
	u64 until = disk_now() + CLOSE_MS;
	struct disk *d, *next;
	bool all;

	if (!s)
		return;
	all = disks_take_end(s, until);
	all &= disks_look_end(s, until);
	disks_left_end(s);
	for (d = s->first; d; d = d->next)
		disk_end(d);
	/* The kernel's socket is for answers of the drives' threads, too. */
	for (d = s->first; d; d = next) {
		next = d->next;
		all &= disk_close(d, until);
	}
	disks_serve_end(s);
	if (!all)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static const struct label *op_label(void *dev)
{
	struct disk *d = dev;
	const struct label *l;

	guard(&d->lock);
	if (d->ended || d->foreign || !d->both_no)
		return NULL;
	l = d->both;
	if (!d->shown)
		d->shown = malloc(sizeof(*d->shown));
	else if (d->shown_no == d->both_no)
		return d->shown;
	if (!d->shown)
		return NULL;
	memcpy(d->shown, l, offsetof(struct label, extent) + l->extents * sizeof(l->extent[0]));
	d->shown_no = d->both_no;
	return d->shown;
}

static int op_record(void *dev, const struct label_extent *e, struct layout_head *head)
{
	struct disk *d = dev;

	/* An extent that is being zeroed has what stood there before. */
	if (e->state != LABEL_READY)
		return -ENODATA;
	guard(&d->lock);
	for (size_t i = 0; i < d->nr_heads; i++) {
		if (!muuid_equal(&d->heads[i].extent, &e->uuid))
			continue;
		if (!d->heads[i].err)
			*head = d->heads[i].head;
		return d->heads[i].err;
	}
	return -ENODATA;
}

/* With d->lock: what the last one failed with is said once, and then there is a rest. */
static int rest(const struct disk *d, int *err, u64 at)
{
	int was = *err;

	*err = 0;
	return d->ended ? -ENODEV : d->foreign ? -EBADE : was ? was : at > disk_now() ? -EINPROGRESS : 0;
}

static int op_label_write(void *dev, const struct label *l)
{
	struct disk *d = dev;
	int err;

	guard(&d->lock);
	if (d->want)
		return -EINPROGRESS;
	err = rest(d, &d->want_err, d->want_at);
	if (err)
		return err;
	d->want = malloc(sizeof(*d->want));
	if (!d->want)
		return -ENOMEM;
	memcpy(d->want, l, sizeof(*l));
	disk_label_merge(d->want, d->label);
	if (d->label == d->both && disk_label_equal(d->want, d->label)) {
		free(d->want);
		d->want = NULL;
		return 0;
	}
	pthread_cond_broadcast(&d->wake);
	return -EINPROGRESS;
}

/* With d->lock: the record is the one that counts there. */
static bool recorded(const struct disk *d, const struct label_extent *e, const struct layout *l)
{
	for (size_t i = 0; i < d->nr_heads; i++) {
		const struct disk_head *h = &d->heads[i];

		if (muuid_equal(&h->extent, &e->uuid))
			return !h->err && h->head.version == l->version && h->head.commit == l->commit;
	}
	return false;
}

static int op_record_write(void *dev, const struct label_extent *e, const struct layout *l)
{
	struct disk *d = dev;
	int err;

	guard(&d->lock);
	if (d->record)
		return -EINPROGRESS;
	err = rest(d, &d->record_err, d->record_at);
	if (err)
		return err;
	if (recorded(d, e, l))
		return 0;
	d->record = malloc(sizeof(*d->record));
	if (!d->record)
		return -ENOMEM;
	memcpy(d->record, l, sizeof(*l));
	d->record_extent = e->uuid;
	pthread_cond_broadcast(&d->wake);
	return -EINPROGRESS;
}

static int op_zero(void *dev, const struct label_extent *e)
{
	const struct label_extent *is;
	struct disk *d = dev;
	int err;

	guard(&d->lock);
	if (d->zeroing)
		return -EINPROGRESS;
	err = rest(d, &d->zero_err, d->zero_at);
	if (err)
		return err;
	is = label_find(d->both, &e->uuid);
	if (!is || is->state == LABEL_READY)
		return is ? 0 : -ENOENT;
	d->zero = e->uuid;
	d->zeroing = true;
	err = start_thread(d, disk_zero_thread);
	d->zeroing = !err;
	return err ? err : -EINPROGRESS;
}

static int op_table(void *dev, const struct label_extent *e)
{
	struct disk *d = dev;
	struct disk_out *o = NULL;
	int err;

	guard(&d->lock);
	if (d->ended || d->foreign)
		return d->ended ? -ENODEV : -EBADE;
	for (size_t i = 0; i < d->nr_out && !o; i++) {
		if (muuid_equal(&d->out[i].extent, &e->uuid))
			o = &d->out[i];
	}
	if (o) {
		err = o->err;
		o->err = 0;
		return o->ended ? 0 : err ? err : -EINPROGRESS;
	}
	o = mesh_grow((void **)&d->out, &d->nr_out, sizeof(*o));
	if (!o)
		return -ENOMEM;
	disk_push(d);
	*o = (struct disk_out) { .extent = e->uuid, .push = d->push_want };
	return -EINPROGRESS;
}

/* With d->lock: the agent says so each turn, the log once. */
static bool said(struct disk *d, const struct muuid *extent, enum plan_extent_step what)
{
	struct disk_said *x = NULL;

	for (size_t i = 0; i < d->nr_said && !x; i++) {
		if (muuid_equal(&d->said[i].extent, extent))
			x = &d->said[i];
	}
	if (x && x->what == what)
		return true;
	if (!x)
		x = mesh_grow((void **)&d->said, &d->nr_said, sizeof(*x));
	if (x)
		*x = (struct disk_said) { *extent, what };
	return false;
}

static void op_report(void *dev, const struct muuid *extent, enum plan_extent_step what)
{
	struct disk *d = dev;
	bool again;

	pthread_mutex_lock(&d->lock);
	again = said(d, extent, what);
	pthread_mutex_unlock(&d->lock);
	if (again)
		return;
	disk_log(d->s, "%s: extent %s %s", d->path, muuid_str(extent).s,
		 what == PLAN_X_STOP ? "is not changed: the cluster store was put back (meshctl cluster recover)" :
		 what == PLAN_X_OVER ? "has no room: the label has another one in its place" :
		 "is not in the label, and the cluster store says that it is there");
}

const struct drive_ops disk_ops = {
	.label = op_label, .record = op_record, .label_write = op_label_write,
	.record_write = op_record_write, .zero = op_zero, .table = op_table, .report = op_report,
};

/* Callers may give up: the oldest result that none collects goes. */
static void number_forget(struct disk *d)
{
	struct disk_number **at = &d->numbers, *n;

	while (*at && ((*at)->m || !(*at)->done))
		at = &(*at)->next;
	n = *at;
	if (n)
		*at = n->next;
	free(n);
}

static bool same_number(const struct disk_number *n, const struct disk_number *is)
{
	return !n->m && n->write == is->write && muuid_equal(&n->extent, &is->extent) && muuid_equal(&n->host, &is->host) &&
	       n->number == is->number && n->served == is->served;
}

/* A local member's number, on the drive's thread. */
static int local_number(struct disk *d, const struct disk_number *is)
{
	struct disk_number **at, *n;
	int kept = 0;

	guard(&d->lock);
	for (at = &d->numbers; (n = *at); at = &n->next) {
		if (same_number(n, is))
			break;
		kept += !n->m;
	}
	if (n && !n->done)
		return -EINPROGRESS;
	if (n)
		return n->err == -EEXIST || n->err == -ERANGE ? -ESTALE : n->err;
	if (d->ended)
		return -ENODEV;
	n = malloc(sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = *is;
	*at = n;
	if (kept >= NUMBERS_KEPT)
		number_forget(d);
	pthread_cond_broadcast(&d->wake);
	return -EINPROGRESS;
}

int disk_number(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number, u64 served)
{
	return local_number(d, &(struct disk_number) { .extent = *extent, .host = *host, .number = number,
						       .served = served, .write = true });
}

int disk_reader(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number)
{
	return local_number(d, &(struct disk_number) { .extent = *extent, .host = *host, .number = number });
}

void disk_number_end(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number, u64 served)
{
	struct disk_number is = { .extent = *extent, .host = *host, .number = number, .served = served };
	struct disk_number **at = &d->numbers, *n;

	guard(&d->lock);
	for (; (n = *at); at = &n->next) {
		is.write = n->write;
		if (same_number(n, &is) && n->done)
			break;
	}
	if (!n)
		return;
	*at = n->next;
	free(n);
}
