// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread of a drive: what changes the label or a record. In this order: numbers, since a host
 * waits for them; calls of the drive's other threads; records; the agent's label.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/crash.h"
#include "userspace/daemon/disk_dev.h"
#include "userspace/daemon/disk_local.h"
#include "userspace/daemon/disk_record.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"
#include "userspace/plan/grant.h"

#define NUMBERS_MAX	1024	/* of a drive that hangs; the kernel repeats what is refused */

struct label *disk_edit(const struct disk *d)
{
	struct label *l = malloc(sizeof(*l));

	if (l)
		memcpy(l, d->label, sizeof(*l));
	return l;
}

/* A label was written to it elsewhere: its new owner may give to others what is open here. */
static void strayed(struct disk *d)
{
	struct label *l __free(free) = malloc(sizeof(*l));
	struct label_disk on;
	bool taken;
	int each[2];

	pthread_mutex_lock(&d->lock);
	d->foreign = true;
	disk_push(d);
	pthread_mutex_unlock(&d->lock);
	taken = l && !label_read(d->fd, d->size, l, &on, each) && muuid_equal(&l->drive, &d->uuid) &&
		!muuid_equal(&l->owner, &d->s->config.host);
	if (!taken) {
		disk_log(d->s, "%s: its label is not what this host wrote last: another host or program "
			 "writes to the drive. Its label is not written and nothing is opened any more; "
			 "unexport it on one of the hosts (meshctl drive unexport)", d->path);
		return;
	}
	disk_log(d->s, "%s: host %s has taken it over: it is not served here any more", d->path,
		 muuid_str(&l->owner).s);
	disk_unserve(d, true);
	disk_end(d);
}

int disk_current(struct disk *d)
{
	bool foreign;
	int err;

	pthread_mutex_lock(&d->lock);
	foreign = d->foreign;
	pthread_mutex_unlock(&d->lock);
	if (foreign)
		return -EBADE;
	pthread_mutex_lock(&d->io);
	err = label_same(d->fd, d->label, &d->on);
	pthread_mutex_unlock(&d->io);
	if (err == -EBADE)
		strayed(d);
	return err;
}

/* With d->lock: the label that both copies have by now, in place of the last one. */
static void both_now(struct disk *d, struct label *l)
{
	if (d->both != d->label)
		free(d->both);
	free(d->label);
	d->label = d->both = l;
	d->both_no++;
}

/* With d->io. @was: the size of the label in place of which it is written; 0: it is the same. */
static int write_label(struct disk *d, const struct label *l, u64 was, int each[2])
{
	int err;

	if (!was)
		return label_write(d->fd, l, &d->on, each);
	err = label_same(d->fd, d->label, &d->on);
	return err ? err : label_grow(d->fd, l, was, &d->on, each);
}

static int commit(struct disk *d, struct label *l, u64 was)
{
	int err, each[2] = { 0 };
	bool foreign;

	crash_point("before label");
	pthread_mutex_lock(&d->io);
	/* A write that failed may have landed nevertheless: its number is not used again. */
	l->sequence = (d->on.tried > d->label->sequence ? d->on.tried : d->label->sequence) + 1;
	foreign = d->foreign;
	err = foreign ? -EBADE : write_label(d, l, was, each);
	pthread_mutex_lock(&d->lock);
	if (!err)
		d->size = l->size;
	if (err) {
		free(l);
	} else if (each[0] || each[1]) {
		/* Too little to act on: it holds as long as that copy can be read. */
		if (d->label != d->both)
			free(d->label);
		d->label = l;
	} else {
		both_now(d, l);
		disk_push(d);
	}
	pthread_mutex_unlock(&d->lock);
	pthread_mutex_unlock(&d->io);
	if (!err)
		crash_point("after label");
	if (err == -EBADE && !foreign)
		strayed(d);
	else if (err && !foreign)
		disk_log(d->s, "%s: its label cannot be written: %s", d->path, strerror(-err));
	else if (each[0] || each[1])
		disk_log(d->s, "%s: copy %d of its label cannot be written: %s", d->path, each[0] ? 0 : 1,
			 strerror(-(each[0] ? each[0] : each[1])));
	return err ? err : each[0] || each[1] ? -EIO : 0;
}

int disk_commit(struct disk *d, struct label *l)
{
	return commit(d, l, 0);
}

/* With d->lock: the kernel's table is to lack the extent. */
static bool is_out(const struct disk *d, const struct muuid *extent)
{
	for (size_t i = 0; i < d->nr_out; i++) {
		if (muuid_equal(&d->out[i].extent, extent))
			return true;
	}
	return false;
}

/* The label in memory is in both copies, and the drive still confirms it. */
static int settled(struct disk *d)
{
	struct label *l;
	int err = disk_current(d);

	if (err || d->label == d->both)
		return err;
	l = disk_edit(d);
	return l ? disk_commit(d, l) : -ENOMEM;
}

int disk_grow(struct disk *d)
{
	off_t size = lseek(d->fd, 0, SEEK_END);
	int err = size < 0 ? -errno : settled(d);
	struct label *l;

	/* Less would put the new copy over a part of the former one. */
	if (err || (u64)size < d->label->size + LABEL_AREA)
		return err;
	l = disk_edit(d);
	if (!l)
		return -ENOMEM;
	l->size = size;
	return commit(d, l, d->label->size);
}

static int note(struct disk *d, const struct disk_number *n)
{
	struct label *l = disk_edit(d);
	struct label_extent *e = l ? label_find(l, &n->extent) : NULL;

	if (!e) {
		free(l);
		return -ENOMEM;
	}
	e->holder = n->host;
	e->attach = n->number;
	e->attacher = n->host;
	return disk_commit(d, l);
}

static int number(struct disk *d, const struct disk_number *n)
{
	const struct label_extent *e = label_find(d->label, &n->extent);
	bool out;

	pthread_mutex_lock(&d->lock);
	out = is_out(d, &n->extent);
	pthread_mutex_unlock(&d->lock);
	if (!e || out)
		return -ENOENT;
	if (e->state != LABEL_READY)
		return -EAGAIN;
	if (!n->write)
		return mesh_number_access(e->attach) > mesh_number_access(n->number) ? -EEXIST :
		       disk_current(d);
	switch (plan_grant(e->attach, &e->attacher, &n->host, n->number, n->served)) {
	case PLAN_GRANT_SAME:
		return settled(d);
	case PLAN_GRANT_NOTE:
		return note(d, n);
	case PLAN_GRANT_FAR:
		return -ERANGE;
	case PLAN_GRANT_OLD:
		break;
	}
	/* The kernel missed an answer: with the label's number it refuses by itself. */
	pthread_mutex_lock(&d->lock);
	disk_push(d);
	pthread_mutex_unlock(&d->lock);
	return -EEXIST;
}

/* With d->lock, which the work is done without. A local member's stays for its caller. */
static void number_do(struct disk *d, struct disk_number *n, bool ended)
{
	struct disk_number **at = &d->numbers;
	bool local = !n->m;
	int err;

	if (!local) {
		while (*at != n)
			at = &(*at)->next;
		*at = n->next;
	}
	pthread_mutex_unlock(&d->lock);
	err = ended ? -ENODEV : number(d, n);
	if (!err && local && d->local)
		err = disk_local_let_go(d);
	if (!local) {
		meshtgt_grant_reply(n->m, n->request, err);
		free(n);
	}
	pthread_mutex_lock(&d->lock);
	if (local) {
		n->err = err;
		n->done = true;
	}
	job_wake();
}

static struct disk_number *number_next(const struct disk *d)
{
	struct disk_number *n = d->numbers;

	while (n && n->done)
		n = n->next;
	return n;
}

void disk_grant(struct disk *d, struct mesh *m, const struct meshtgt_grant *g)
{
	struct disk_number *n = calloc(1, sizeof(*n)), **at = &d->numbers;
	int err = n ? 0 : -ENOMEM, queued = 0;

	/* Without a number an OPEN is ordered by nothing that this label keeps. */
	if (!err && !g->numbered)
		err = -EPROTO;
	pthread_mutex_lock(&d->lock);
	for (; *at; at = &(*at)->next)
		queued++;
	if (!err)
		err = d->ended ? -ENODEV : queued >= NUMBERS_MAX ? -ETIMEDOUT : 0;
	if (!err) {
		*n = (struct disk_number) { .extent = g->extent, .host = g->host, .number = g->attach,
					    .write = g->access == 2, .m = m, .request = g->request };
		*at = n;
		pthread_cond_broadcast(&d->wake);
	}
	pthread_mutex_unlock(&d->lock);
	if (err) {
		free(n);
		meshtgt_grant_reply(m, g->request, err);
	}
}

int disk_call(struct disk *d, int (*fn)(struct disk *d, void *arg), void *arg)
{
	struct disk_call *c = malloc(sizeof(*c));
	int err = -ENODEV;

	if (!c)
		return -ENOMEM;
	pthread_mutex_lock(&d->lock);
	if (!d->ended) {
		*c = (struct disk_call) { .next = d->calls, .fn = fn, .arg = arg };
		d->calls = c;
		pthread_cond_broadcast(&d->wake);
		while (!c->done)
			pthread_cond_wait(&d->wake, &d->lock);
		err = c->err;
	}
	pthread_mutex_unlock(&d->lock);
	free(c);
	return err;
}

static void call_do(struct disk *d, bool ended)
{
	struct disk_call *c = d->calls;

	d->calls = c->next;
	pthread_mutex_unlock(&d->lock);
	c->err = ended ? -ENODEV : c->fn(d, c->arg);
	pthread_mutex_lock(&d->lock);
	c->done = true;
	pthread_cond_broadcast(&d->wake);
}

/* With d->lock. */
static void head_set(struct disk *d, const struct muuid *extent, int err, const struct layout_head *head)
{
	struct disk_head *h = NULL;

	for (size_t i = 0; i < d->nr_heads && !h; i++) {
		if (muuid_equal(&d->heads[i].extent, extent))
			h = &d->heads[i];
	}
	if (!h)
		h = mesh_grow((void **)&d->heads, &d->nr_heads, sizeof(*h));
	if (!h)
		return;
	*h = (struct disk_head) { .extent = *extent, .err = err };
	if (!err)
		h->head = *head;
}

static void record_do(struct disk *d)
{
	struct layout *l = d->record;
	const struct label_extent *e;
	struct layout_head head;
	int err, read;

	pthread_mutex_unlock(&d->lock);
	e = label_find(d->label, &d->record_extent);
	/* Another host that took the drive over may have given the room away. */
	err = e ? disk_current(d) : -ENOENT;
	if (!err)
		err = disk_record_put(d->fd, e, l);
	if (!err)
		crash_point("after record");
	read = e ? disk_record_head(d->fd, e, &head) : -ENODATA;
	if (err && err != -ENOENT)
		disk_log(d->s, "%s: a layout record cannot be written: %s", d->path, strerror(-err));
	pthread_mutex_lock(&d->lock);
	head_set(d, &d->record_extent, read, &head);
	d->record = NULL;
	free(l);
	d->record_err = err;
	d->record_at = err ? disk_now() + d->s->retry_ms : 0;
	job_wake();
}

/* Both copies of records that the label names since now; failing is no loss: one of them counts. */
static void rolled(struct disk *d, const struct label *was)
{
	for (u32 i = 0; i < d->label->extents; i++) {
		const struct label_extent *e = &d->label->extent[i], *old = label_find(was, &e->uuid);

		if (!e->version || (old && old->version == e->version && old->commit == e->commit))
			continue;
		if (disk_record_both(d->fd, e))
			disk_log(d->s, "%s: one copy of a layout record cannot be written", d->path);
	}
}

/* With d->lock: what was known of extents that are in the label no more. */
static void prune(struct disk *d)
{
	size_t i, n = 0;

	for (i = 0; i < d->nr_heads; i++) {
		if (label_find(d->label, &d->heads[i].extent))
			d->heads[n++] = d->heads[i];
	}
	d->nr_heads = n;
	for (i = n = 0; i < d->nr_out; i++) {
		if (label_find(d->label, &d->out[i].extent))
			d->out[n++] = d->out[i];
	}
	d->nr_out = n;
}

/* True if the change takes an extent out. */
static bool takes_out(const struct label *want, const struct label *was)
{
	for (u32 i = 0; i < was->extents; i++) {
		if (!label_find(want, &was->extent[i].uuid))
			return true;
	}
	return false;
}

static void want_do(struct disk *d)
{
	struct label *l = d->want, *was;
	int err = 0;

	pthread_mutex_unlock(&d->lock);
	was = disk_edit(d);
	if (!was) {
		err = -ENOMEM;
		free(l);
	} else {
		disk_label_merge(l, d->label);
		if (takes_out(l, was))
			disk_backup_due(d, was, true);
		err = disk_commit(d, l);
	}
	if (!err) {
		rolled(d, was);
		crash_point("after records");
	}
	free(was);
	pthread_mutex_lock(&d->lock);
	if (!err)
		prune(d);
	d->want = NULL;
	d->want_err = err;
	d->want_at = err ? disk_now() + d->s->retry_ms : 0;
	job_wake();
}

/* The drive's own thread: one that hangs with it has nothing else to do. */
static void smart(struct disk *d)
{
	u64 now = disk_now();
	struct obj_smart s;
	bool due;

	pthread_mutex_lock(&d->lock);
	due = !d->smart_ms || now - d->smart_ms >= DISK_SMART_MS;
	pthread_mutex_unlock(&d->lock);
	if (!due)
		return;
	disk_dev_smart(d->fd, &s);
	pthread_mutex_lock(&d->lock);
	d->about.smart = s;
	d->smart_ms = now;
	pthread_mutex_unlock(&d->lock);
}

/* With d->lock, which it gives up meanwhile: nothing else is to be done. */
static void idle(struct disk *d)
{
	bool late = d->label != d->both, failed = d->want_at || d->record_at || d->zero_at;

	pthread_mutex_unlock(&d->lock);
	if (late)
		settled(d);
	else if (!disk_current(d))
		disk_backup_due(d, d->label, false);
	if (d->local && disk_local_gone(d)) {
		disk_log(d->s, "%s: the drive has gone", d->path);
		disk_end(d);
	} else if (d->local) {
		disk_local_keep(d);
	}
	smart(d);
	/* Errors are over after a while: the loop tries again. */
	if (failed)
		job_wake();
	pthread_mutex_lock(&d->lock);
}

bool disk_hangs(struct disk *d)
{
	guard(&d->lock);
	return !d->ended && d->busy_at && disk_now() - d->busy_at >= DISK_LATE_MS;
}

void *disk_label_thread(void *arg)
{
	struct disk *d = arg;
	struct disk_number *n;
	u64 idle_at = disk_now() + d->s->idle_ms, now;

	pthread_mutex_lock(&d->lock);
	while (!d->ended) {
		n = number_next(d);
		now = disk_now();
		d->busy_at = n || d->calls || d->record || d->want || now >= idle_at ? now : 0;
		if (n) {
			number_do(d, n, false);
		} else if (d->calls) {
			call_do(d, false);
		} else if (d->record) {
			record_do(d);
		} else if (d->want) {
			want_do(d);
		} else if (now >= idle_at) {
			idle(d);
			idle_at = disk_now() + d->s->idle_ms;
		} else {
			disk_wait(d, idle_at - now);
		}
	}
	while ((n = number_next(d)))
		number_do(d, n, true);
	while (d->calls)
		call_do(d, true);
	pthread_mutex_unlock(&d->lock);
	disk_thread_end(d);
	return NULL;
}
