/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A served drive that is a plain file, with its thread, for tests of what is done
 * with it: label_io.c and drive*.c of meshd as they are, the kernel and the log left out.
 */
#ifndef TESTS_UNIT_DRIVE_RIG_H
#define TESTS_UNIT_DRIVE_RIG_H

#include <fcntl.h>
#include <linux/kernel.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

#define MIB	(1ULL << 20)
#define SIZE	(64 * MIB)

/* The copies of a label that fail, as bits: 1 the first, 2 the last. */
static unsigned int bad_reads, bad_writes;
static int bad_errno = EIO;	/* of such a write */

static ssize_t rig_pread(int fd, void *buf, size_t n, off_t at)
{
	errno = EIO;
	return bad_reads & (at >= (off_t)(SIZE - MIB) ? 2 : 1) ? -1 : pread(fd, buf, n, at);
}

static ssize_t rig_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	errno = bad_errno;
	return bad_writes & (at >= (off_t)(SIZE - MIB) ? 2 : 1) ? -1 : pwrite(fd, buf, n, at);
}

/* The wall clock is set back as soon as it was read: what waits by it waits for ever. */
static int rig_clock(clockid_t which, struct timespec *t)
{
	int err = clock_gettime(which, t);

	if (which != CLOCK_MONOTONIC)
		t->tv_sec += 3600;
	return err;
}

#define pread		rig_pread
#define pwrite		rig_pwrite
#define clock_gettime	rig_clock
#include "userspace/machine/label_io.c"
#include "userspace/meshd/drive.c"
#include "userspace/meshd/drive_kernel.c"
#undef pread
#undef pwrite
#undef clock_gettime

struct meshd D = { .stop = -1 };
static const struct muuid me = { { 1 } }, other = { { 2 } }, vol = { { 3 } };
static const struct muuid ext = { { 4 } }, id = { { 5 } };
static struct tdrive *d;
static const char *kernel_state;	/* of the drive in the kernel; NULL: it has none */
static const char *kernel_path = "/dev/test";	/* where that has it from */
static bool rig_opens;		/* extents of it are open there */
static bool rig_extent;		/* ... and it has orders to have one */
static int rig_hangs;		/* times that commands to it are not back when it is to be given up */
static int rig_closing;		/* times that the kernel has given it up, but not closed its device */
static bool rig_silent;
static int pushes;			/* tables that it was given ... */
static u32 ready;			/* ... and extents that the last one lets be opened */
static u64 clock_ms;			/* what now_ms() says; 0: the time */

u64 now_ms(void)
{
	u64 ms = __atomic_load_n(&clock_ms, __ATOMIC_RELAXED);
	struct timespec t;

	if (ms)
		return ms;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

int thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, fn, arg);

	return err ? -err : pthread_detach(t);
}

#define QUIET(name) void name(const char *fmt, ...) { (void)fmt; }
static int errors;			/* that were logged */
void log_error(const char *fmt, ...) { (void)fmt; errors++; }
QUIET(log_warn) QUIET(log_info) QUIET(log_debug)

void export_rescan(void) { }
static int kept, let_go;		/* local drives */
void local_keep(struct tdrive *t) { (void)t; kept++; }
void local_let_go(struct tdrive *t) { (void)t; let_go++; }
static int backups;			/* of its label that were made at once */
void backup_label(struct tdrive *t, const struct label *l, bool now) { (void)t, (void)l; backups += now; }
void backup_idle(struct tdrive *t) { (void)t; }

struct mesh *mesh_open(void) { return malloc(1); }
void mesh_close(struct mesh *m) { free(m); }
const char *mesh_why(const struct mesh *m) { (void)m; return ""; }

void meshtgt_drives_free(struct meshtgt_drive *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(all[i].extents);
	free(all);
}

int meshtgt_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n)
{
	(void)m;
	if (rig_silent)
		return -EIO;
	*out = calloc(1, sizeof(**out));
	*n = kernel_state ? 1 : 0;
	if (kernel_state) {
		(*out)->uuid = id;
		strcpy((*out)->path, kernel_path);
		strcpy((*out)->state, kernel_state);
		(*out)->nr_extents = rig_extent;
		(*out)->extents = calloc(1, sizeof(*(*out)->extents));
		(*out)->extents->opens = rig_opens;
	}
	return 0;
}

int meshtgt_drive_add(struct mesh *m, const struct meshtgt_drive *t)
{
	u32 i;

	(void)m;
	if (kernel_state && !strcmp(kernel_state, "gone"))
		return -EBUSY;
	kernel_state = "up";
	pushes++;
	for (ready = 0, i = 0; i < t->nr_extents; i++)
		ready += t->extents[i].ready;
	return 0;
}

static int rig_check;			/* what the kernel says before it is given a drive */
int mesh_family_id(struct mesh *m, bool target) { (void)m, (void)target; return 1; }
int meshtgt_drive_check(struct mesh *m, const struct meshtgt_drive *t) { (void)m, (void)t; return rig_check; }

int meshtgt_extents_set(struct mesh *m, const struct meshtgt_drive *t)
{
	return meshtgt_drive_add(m, t);
}

int meshtgt_drive_del(struct mesh *m, const struct muuid *uuid, bool force)
{
	(void)m, (void)uuid;
	if (!kernel_state && !rig_closing)
		return -ENOENT;
	if (rig_opens && !force)
		return -EBUSY;
	if (rig_closing) {
		kernel_state = NULL;
		rig_closing--;
		return -EBUSY;
	}
	kernel_state = rig_hangs ? "gone" : NULL;
	if (!rig_hangs)
		return 0;
	rig_hangs--;
	return -EBUSY;
}

/* Of drives that are left over: this one is not. */
int meshtgt_gone_del(struct mesh *m, const struct muuid *uuid)
{
	return meshtgt_drive_del(m, uuid, true);
}

static void rig_end(void)
{
	bad_reads = bad_writes = 0;
	if (!d)
		return;
	tdrive_stop(d, true);
	tdrive_put(d);
	d = NULL;
}

/*
 * A drive of this host, served, with an extent in @state, or with none: 0. One that is
 * ready is held by this host at version 1.
 */
static void rig_begin(enum label_extent_state state)
{
	struct label *l = calloc(1, sizeof(*l)), *own;
	struct label_disk disk = { 0 };
	struct twin_id none = { 0 };
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600), each[2], err;

	rig_end();
	D.host = me;
	CU_ASSERT_FATAL(l && fd >= 0 && !ftruncate(fd, SIZE));
	*l = (struct label) { .drive = id, .owner = me, .size = SIZE, .lba = 512, .sequence = 1,
			      .extents = state != 0 };
	l->extent[0] = (struct label_extent) { .uuid = ext, .volume = vol, .start = MIB,
					       .length = 4 * MIB, .state = state };
	if (state == LABEL_READY) {
		l->extent[0].holder = me;
		l->extent[0].version = 1;
	}
	CU_ASSERT_EQUAL_FATAL(label_write(fd, l, &disk, each), 0);
	do {		/* the thread of the one before may need a moment to end */
		usleep(1000);
		own = malloc(sizeof(*own));
		memcpy(own, l, sizeof(*own));
		err = tdrive_start("/dev/test", dup(fd), own, &disk, &none, &d);
	} while (err == -EBUSY);
	close(fd);
	free(l);
	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	pthread_mutex_lock(&d->lock);
	d->pushed = true;
	pthread_mutex_unlock(&d->lock);
	kernel_state = "up";
	pushes = backups = 0;
}

/* Which host the label names then. */
static struct muuid taker = { { 2 } };

/* Another host takes the drive over and writes all over it but the labels' own pages. */
static inline void rig_take_over(void)
{
	static u8 data[1 << 20];
	struct label_disk disk;
	struct label *l = malloc(sizeof(*l));
	int each[2];

	CU_ASSERT_EQUAL(label_read(d->fd, SIZE, l, &disk, each), 0);
	l->owner = taker;
	l->sequence++;
	CU_ASSERT_EQUAL(label_write(d->fd, l, &disk, each), 0);
	memset(data, 0x5a, sizeof(data));
	for (u64 at = MIB; at < SIZE - MIB; at += MIB)
		CU_ASSERT_EQUAL(pwrite(d->fd, data, MIB, at), (ssize_t)MIB);
	free(l);
}

/* The bytes between the labels that the other host did not write. */
static inline u64 rig_damage(int fd)
{
	static u8 data[1 << 20];
	u64 at, i, n = 0;

	for (at = MIB; at < SIZE - MIB; at += MIB) {
		CU_ASSERT_EQUAL(pread(fd, data, MIB, at), (ssize_t)MIB);
		for (i = 0; i < MIB; i++)
			n += data[i] != 0x5a;
	}
	return n;
}

/* Whether its label is still there, in both copies. */
static inline bool rig_theirs(int fd)
{
	struct label *l = malloc(sizeof(*l));
	struct label_disk disk;
	int each[2];
	bool is = !label_read(fd, SIZE, l, &disk, each) && !each[0] && !each[1] &&
		  muuid_equal(&l->owner, &taker);

	free(l);
	return is;
}

/* A job that hangs, until it is let go; @in says when it began, and when it ends. */
struct hung {
	struct tjob job;
	sem_t in, go;
};

static inline void hung_fn(struct tdrive *t, struct tjob *j, int err)
{
	struct hung *h = (struct hung *)j;

	(void)t, (void)err;
	sem_post(&h->in);
	sem_wait(&h->go);
	sem_post(&h->in);
}

static inline void rig_hang(struct hung *h)
{
	sem_init(&h->in, 0, 0);
	sem_init(&h->go, 0, 0);
	tdrive_submit(d, &h->job);
	sem_wait(&h->in);
}

/* As drive list has it. */
static inline const char *rig_state(void)
{
	static struct mgmt_drive m;

	tdrive_describe(d, &m);
	return m.state;
}

#endif
