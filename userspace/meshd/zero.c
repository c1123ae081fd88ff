// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fresh extents are zeroed before a host may open them: none reads the last
 * tenant's data, and a new group is consistent from the start. A thread a
 * drive, while there is work; its position goes to the label now and then.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/drive.h"

#define STEP		(64ULL << 20)
/* The label is written at least this often. */
#ifdef MESHD_CRASH_POINTS
#define NOTE_BYTES	STEP
#else
#define NOTE_BYTES	(4ULL << 30)
#endif
#define NOTE_MS		5000

static bool next_extent(struct tdrive *d, struct label_extent *out)
{
	u32 i;

	guard(&d->lock);
	for (i = 0; i < d->label->extents && !d->gone && !d->foreign; i++) {
		if (d->label->extent[i].state != LABEL_ZEROING)
			continue;
		*out = d->label->extent[i];
		d->zero_extent = out->uuid;
		d->zero_at = out->zeroed;
		d->zero_error = 0;
		return true;
	}
	d->zeroing = false;
	return false;
}

static int write_step(int fd, u64 at, u64 n)
{
	static const size_t piece = 1 << 20;
	void *buf __free(free) = aligned_alloc(4096, piece);

	if (!buf)
		return -ENOMEM;
	memset(buf, 0, piece);
	for (; n; at += piece, n -= piece)
		if (pwrite(fd, buf, piece, at) != (ssize_t)piece)
			return errno ? -errno : -EIO;
	return 0;
}

/*
 * A discard promises nothing: a drive may keep what it likes. The block layer's
 * own promise counts, that what was punched reads zero: Write Zeroes that may
 * deallocate where the drive has it, or refused; then zeroes that may be written
 * by the drive or by the kernel; then by us.
 */
static int zero_step(struct tdrive *d, u64 at, u64 n)
{
	u64 range[2] = { at, n };

	if (!fallocate(d->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n))
		return 0;
	if (!ioctl(d->fd, BLKZEROOUT, range))
		return 0;
	return write_step(d->fd, at, n);
}

struct note {
	struct muuid extent;
	u64 zeroed;
};

/* On the drive's thread. */
static int note_job(struct tdrive *d, void *arg)
{
	struct note *n = arg;
	struct label *l = tdrive_edit(d);
	struct label_extent *e = l ? label_find(l, &n->extent) : NULL;
	int err;

	if (!e) {
		free(l);
		return l ? -ENOENT : -ENOMEM;	/* freed meanwhile */
	}
	e->zeroed = n->zeroed;
	if (e->zeroed == e->length)
		e->state = LABEL_READY;
	err = tdrive_commit(d, l);
	if (!err && e->state == LABEL_READY)
		tdrive_push(d);
	return err;
}

static int note(struct tdrive *d, const struct label_extent *e, u64 zeroed)
{
	struct note n = { e->uuid, zeroed };
	int err;

	/* The position must not be more durable than the zeroes. */
	if (fsync(d->fd))
		return -EIO;
	err = tdrive_run(d, note_job, &n);
	if (!err && zeroed < e->length)
		crash_point(CRASH_ZERO_SOME);
	return err;
}

/* On the drive's thread. */
static int current_job(struct tdrive *d, void *arg)
{
	(void)arg;
	return tdrive_current(d);
}

static int zero_extent(struct tdrive *d, const struct label_extent *e)
{
	u64 at = e->zeroed, noted = at, n, then = now_ms();
	int err = 0;

	while (at < e->length && !err) {
		n = e->length - at < STEP ? e->length - at : STEP;
		/* Another host that took the drive over may have given the room away. */
		err = tdrive_run(d, current_job, NULL);
		if (!err)
			err = zero_step(d, e->start + at, n);
		if (err)
			break;
		at += n;
		pthread_mutex_lock(&d->lock);
		d->zero_at = at;
		if (d->gone)
			err = -ENODEV;
		else if (!label_find(d->label, &e->uuid))
			err = -ENOENT;
		pthread_mutex_unlock(&d->lock);
		if (!err && at < e->length && (at - noted >= NOTE_BYTES || now_ms() - then > NOTE_MS)) {
			err = note(d, e, at);
			noted = at;
			then = now_ms();
		}
	}
	return err ? err : note(d, e, e->length);
}

/* Before it is tried again; a drive that goes away is not kept for that. */
static void rest(struct tdrive *d)
{
	bool gone = false;
	int i;

	for (i = 0; i < 100 && !gone && !stopping(); i++) {
		sleep_ms(100);
		gone = tdrive_is(d, &d->gone);
	}
}

static void *zero_thread(void *arg)
{
	struct tdrive *d = arg;
	struct label_extent e;
	int err;

	while (!stopping() && next_extent(d, &e)) {
		err = zero_extent(d, &e);
		if (!err || err == -ENOENT || err == -EBADE)
			continue;
		log_error("%s: an extent cannot be zeroed: %s", d->path, strerror(-err));
		pthread_mutex_lock(&d->lock);
		d->zero_error = err;
		pthread_mutex_unlock(&d->lock);
		rest(d);
	}
	tdrive_put(d);
	return NULL;
}

void zero_kick(struct tdrive *d)
{
	bool start;

	pthread_mutex_lock(&d->lock);
	start = !d->zeroing && !d->gone;
	d->zeroing = d->zeroing || start;
	pthread_mutex_unlock(&d->lock);
	if (!start)
		return;
	tdrive_get(d);
	if (thread_start(zero_thread, d)) {
		tdrive_set(d, &d->zeroing, false);
		tdrive_put(d);
	}
}
