// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fresh extents are zeroed before a host may open them: none reads the last tenant's data, and a new
 * group is consistent from the start. A thread beside the drive's, while there is work, so that
 * grants do not wait; its position goes to the label now and then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/daemon/crash.h"
#include "userspace/daemon/disk_dev.h"
#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/job.h"
#include "userspace/machine/guard.h"

/* The position is noted after that many bytes, or this time. */
#ifdef MESHD_CRASH_POINTS
#define STEP		(8ULL << 20)
#define NOTE_BYTES	STEP
#else
#define STEP		(64ULL << 20)
#define NOTE_BYTES	(4ULL << 30)
#endif
#define NOTE_MS		5000

struct note {
	struct muuid extent;
	u64	zeroed;
};

/* On the drive's thread. */
static int note_it(struct disk *d, void *arg)
{
	const struct note *n = arg;
	struct label *l = disk_edit(d);
	struct label_extent *e = l ? label_find(l, &n->extent) : NULL;

	if (!e) {
		free(l);
		return l ? -ENOENT : -ENOMEM;	/* freed meanwhile */
	}
	e->zeroed = n->zeroed;
	if (e->zeroed == e->length)
		e->state = LABEL_READY;
	return disk_commit(d, l);
}

static int note(struct disk *d, const struct label_extent *e, u64 zeroed)
{
	struct note n = { e->uuid, zeroed };

	/* The position must not be more durable than the zeroes. */
	return fsync(d->fd) ? -EIO : disk_call(d, note_it, &n);
}

/* The extent is still there, to be zeroed. */
static int still(struct disk *d, const struct label_extent *e, u64 done)
{
	guard(&d->lock);
	d->zero_done = done;
	if (d->ended)
		return -ENODEV;
	return label_find(d->both, &e->uuid) ? 0 : -ENOENT;
}

static int zero(struct disk *d, const struct label_extent *e)
{
	u64 at = e->zeroed, noted = at, then = disk_now(), n;
	int err = 0;

	while (at < e->length && !err) {
		n = e->length - at < STEP ? e->length - at : STEP;
		err = still(d, e, at);
		/* Another host that took the drive over may have given the room away. */
		if (!err)
			err = disk_current(d);
		if (!err)
			err = disk_dev_zero(d->fd, e->start + at, n);
		if (err)
			break;
		at += n;
		if (at < e->length && (at - noted >= NOTE_BYTES || disk_now() - then > NOTE_MS)) {
			err = note(d, e, at);
			noted = at;
			then = disk_now();
			crash_point("zero");
		}
	}
	return err ? err : note(d, e, e->length);
}

void *disk_zero_thread(void *arg)
{
	const struct label_extent *found;
	struct label_extent e = { .state = LABEL_READY };
	struct disk *d = arg;
	int err;

	pthread_mutex_lock(&d->lock);
	found = label_find(d->both, &d->zero);
	err = found ? 0 : -ENOENT;
	if (found)
		e = *found;
	pthread_mutex_unlock(&d->lock);
	if (!err && e.state == LABEL_ZEROING)
		err = zero(d, &e);
	if (err && err != -ENOENT && err != -ENODEV)
		disk_log(d->s, "%s: an extent cannot be zeroed: %s", d->path, strerror(-err));
	pthread_mutex_lock(&d->lock);
	d->zeroing = false;
	d->zero_err = err == -ENOENT ? 0 : err;
	d->zero_at = d->zero_err ? disk_now() + d->s->retry_ms : 0;
	pthread_mutex_unlock(&d->lock);
	job_wake();
	disk_thread_end(d);
	return NULL;
}
