/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine for tests of drives: each drive is a file, and the target's kernel is the fake below.
 * Waits are for states: until() goes on when the loop would be woken.
 */
#ifndef TESTS_UNIT_DISK_RIG_H
#define TESTS_UNIT_DISK_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "driver/uapi/number.h"
#include "tests/unit/agent_rig.h"
#include "userspace/daemon/disk_dev.h"
#include "userspace/daemon/disk_own.h"
#include "userspace/daemon/disk_probe.h"
#include "userspace/daemon/disk_record.h"
#include "userspace/daemon/job.h"

#define MIB	(1ULL << 20)
#define SIZE	(128 * MIB)
#define UNTIL_MS	60000	/* on a busy machine */

/* The files. */
static char state_dir[96];

static inline int disk_open(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECT | O_CLOEXEC);

	return fd < 0 && errno == EINVAL ? open(path, flags | O_CLOEXEC) : fd;
}

static u32 dev_lba = 512;
static _Atomic unsigned int to_write;	/* opens for writing, each of which is a change for udev when it ends */
static void (*before_write)(void);	/* ... the next one */

int disk_dev_open(const char *path, int flags, struct disk_dev *dev)
{
	void (*before)(void) = flags & O_RDWR ? before_write : NULL;
	struct stat st;
	int fd;

	if (flags & O_RDWR) {
		to_write++;
		before_write = NULL;
	}
	if (before)
		before();
	fd = disk_open(path, flags & ~O_EXCL);
	memset(dev, 0, sizeof(*dev));
	if (fd < 0)
		return -errno;
	/* Alone: as long as the descriptor is open. */
	if (flags & O_EXCL && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -ETXTBSY;
	}
	if (fstat(fd, &st))
		st.st_size = 0;
	snprintf(dev->name, sizeof(dev->name), "no-such-disk");
	dev->size = st.st_size;
	dev->lba = dev_lba;
	dev->number = st.st_ino;
	return fd;
}

static _Atomic int zero_err;
static _Atomic bool zero_held;		/* zeroing waits */
static _Atomic unsigned int zeroed;

int disk_dev_zero(int fd, u64 at, u64 n)
{
	static u8 none[MIB] __attribute__((aligned(4096)));
	struct timespec ms = { .tv_nsec = 1000000 };

	while (zero_held)
		nanosleep(&ms, NULL);
	if (zero_err)
		return zero_err;
	zeroed++;
	for (; n; at += MIB, n -= MIB)
		if (pwrite(fd, none, MIB, at) != (ssize_t)MIB)
			return -EIO;
	return 0;
}

unsigned int disk_dev_metadata(int fd)
{
	(void)fd;
	return 0;
}

static _Atomic u16 smart_used;		/* 0: the device has no SMART */
static _Atomic unsigned int smart_reads;

void disk_dev_smart(int fd, struct obj_smart *out)
{
	(void)fd;
	smart_reads++;
	*out = (struct obj_smart) { .known = smart_used, .used = smart_used };
}

void disk_dev_cache_off(int fd, const char *name)
{
	(void)fd;
	(void)name;
}

/* Writes at these bytes fail, where they are not 0. */
static _Atomic u64 bad_at[2];
static _Atomic bool bad[2];
static _Atomic bool write_held;		/* the next write waits, and says so */
static _Atomic bool write_waits;
ssize_t __real_pwrite(int fd, const void *buf, size_t n, off_t at);

ssize_t __wrap_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	for (write_waits = write_held; write_held;)
		nanosleep(&ms, NULL);
	for (int i = 0; i < 2; i++) {
		if (bad[i] && bad_at[i] == (u64)at) {
			errno = EIO;
			return -1;
		}
	}
	return __real_pwrite(fd, buf, n, at);
}

/* The close of this descriptor waits, and says so. */
static _Atomic int close_of = -1;
static _Atomic bool close_held, close_waits;
int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	while (fd == close_of && close_held) {
		close_waits = true;
		nanosleep(&ms, NULL);
	}
	return __real_close(fd);
}

static inline void fail_copy(int copy, bool fails)
{
	bad_at[copy] = copy ? SIZE - LABEL_AREA : 0;
	bad[copy] = fails;
}

/* What stands on a drive, by another fd. */
static inline int file_label(const char *path, struct label *l, int each[2])
{
	struct label_disk on;
	int fd = disk_open(path, O_RDONLY), err;
	struct stat st;

	CU_ASSERT_FATAL(fd >= 0 && !fstat(fd, &st));
	err = label_read(fd, st.st_size, l, &on, each);
	close(fd);
	return err;
}

/* The number of an extent that both copies have; 0: they differ. */
static inline u64 file_number(const char *path, const struct muuid *extent)
{
	struct label_disk on;
	struct label *l = malloc(2 * sizeof(*l));
	int fd = disk_open(path, O_RDONLY), each[2];
	const struct label_extent *e;
	u64 number = 0;

	/* Only the header of the other copy is read there; a sequence is never used twice. */
	if (!label_read(fd, SIZE, l, &on, each) && !each[0] && !each[1] &&
	    on.head[0].sequence == on.head[1].sequence) {
		e = label_find(l, extent);
		number = e ? e->attach : 0;
	}
	close(fd);
	free(l);
	return number;
}

#include "tests/unit/disk_kernel.h"

/* Wait for the loop's wake, or a moment: not everything that is waited for wakes the loop. */
static inline void woken(void)
{
	struct pollfd p = { .fd = job_wake_fd(), .events = POLLIN };
	u64 n;

	if (poll(&p, 1, 5) > 0 && read(p.fd, &n, sizeof(n)) < 0)
		return;
}

/* True once @cond holds; false after a minute. */
#define until(cond) ({							\
	u64 end_ = disk_now() + UNTIL_MS;					\
	bool is_;							\
									\
	while (!(is_ = (cond)) && disk_now() < end_)			\
		woken();						\
	is_;								\
})

/* A machine with one drive. */
/* Stands in for the decision, where the agents' own file is not linked. */
__attribute__((weak)) bool export_take(const struct export_disk *d, const struct obj_drive *key,
				       const struct muuid *host, const struct obj_cluster *c, char *why,
				       size_t size)
{
	bool is = key && d->found == EXPORT_LABEL && muuid_equal(&key->plan.host, host) &&
		  muuid_equal(&d->owner, host) && c && muuid_equal(&d->cluster, &c->plan.uuid) && !d->left;

	snprintf(why, size, "%s", is || d->found != EXPORT_LABEL ? "" : "is no drive of this host");
	return is;
}

__attribute__((weak)) bool export_take_alone(const struct export_disk *d, const struct plan_seen *seen,
					     const struct muuid *host, char *why, size_t size)
{
	bool is = d->found == EXPORT_LABEL && muuid_equal(&d->owner, host) &&
		  muuid_equal(&d->cluster, &seen->cluster) && d->known && !strcmp(d->known_wwid, d->disk.wwid);

	snprintf(why, size, "%s", is || d->found != EXPORT_LABEL ? "" : "is no drive of this host");
	return is;
}

static struct disks *S;
static unsigned int idle_ms = 20;	/* between checks of a label; set before begin() */
static struct disk *D;
static char path[128];
static struct label now;		/* the test's edit */
static char logged[4096];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct muuid HOST_ = { .b = { 'h', 1 } }, OTHER_ = { .b = { 'h', 2 } }, DRIVE_ = { .b = { 'd', 1 } };

#define HOST	rig_id('h', 1)
#define OTHER	rig_id('h', 2)
#define DRIVE	rig_id('d', 1)
#define N(g, c, r)	((u64)(g) << 51 | (u64)(c) << 16 | (r))

static inline void take_log(void *priv, const char *words)
{
	(void)priv;
	pthread_mutex_lock(&log_lock);
	snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged), "%s\n", words);
	pthread_mutex_unlock(&log_lock);
}

static inline bool log_has(const char *words)
{
	bool has;

	pthread_mutex_lock(&log_lock);
	has = strstr(logged, words);
	pthread_mutex_unlock(&log_lock);
	return has;
}

static inline void log_clear(void)
{
	pthread_mutex_lock(&log_lock);
	logged[0] = 0;
	pthread_mutex_unlock(&log_lock);
}

/* With its result: an op until it is no longer in progress. */
#define done(call) ({							\
	int err_ = 0;							\
									\
	CU_ASSERT(until((err_ = (call)) != -EINPROGRESS));		\
	err_;								\
})

static inline void disks_begin(void)
{
	struct disks_config c = { .host = HOST, .state = state_dir, .listen = "0.0.0.0", .log = take_log };

	OK(disks_open(&c, &S));
	S->retry_ms = 20;
	S->idle_ms = idle_ms;
}

static inline void disks_end(void)
{
	disks_close(S);
	S = NULL;
	D = NULL;
}

static inline void file_new(const char *name)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s", state_dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, SIZE));
	close(fd);
}

static inline void kernel_reset(void)
{
	for (int i = 0; i < KERNEL_DRIVES; i++)
		free(K.drive[i].d.extents);
	memset(&K, 0, sizeof(K));
	pthread_mutex_init(&K.lock, NULL);
	K.family = 7;
	bad[0] = bad[1] = zero_held = write_held = write_waits = false;
	watched = NULL;
	set_gate = -1;
	zero_err = 0;
	logged[0] = 0;
}

static inline int take(void)
{
	const struct muuid drive = DRIVE;
	int err = done(disks_export_ops.take(S, path, &drive));

	D = disks_find(S, &drive);
	return err;
}

static inline struct label first_label(void)
{
	return (struct label) { .drive = DRIVE, .cluster = rig_id('c', 1), .owner = HOST, .sequence = 1, .size = SIZE,
				.lba = 512, .generation = 1 };
}

/* A drive with its first label, which the kernel serves. */
static inline void begin(void)
{
	snprintf(state_dir, sizeof(state_dir), "/tmp/disk-XXXXXX");
	CU_ASSERT_FATAL(mkdtemp(state_dir) != NULL);
	kernel_reset();
	file_new("drive");
	disks_begin();
	now = first_label();
	OK(done(disks_export_ops.label_first(S, path, &now)));
	OK(take());
	OK(done(disks_serve(S)));
	CU_ASSERT(until(D && D->pushed));
}

static inline void end(void)
{
	char rm[128];

	if (S)
		disks_end();
	kernel_reset();
	idle_ms = 20;
	snprintf(rm, sizeof(rm), "rm -rf %s", state_dir);
	OK(system(rm));
}

static inline const struct label *label(void)
{
	return disk_ops.label(D);
}

static inline const struct label_extent *extent(u8 x)
{
	const struct muuid u = rig_id('x', x);
	const struct label *l = label();

	return l ? label_find(l, &u) : NULL;
}

/* As the agent does: an edit of the label as it is now, until it is durable. */
static inline int write_label(void)
{
	return done(disk_ops.label_write(D, &now));
}

static inline void edit(void)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(label());
	memcpy(&now, label(), sizeof(now));
}

static inline void add(u8 x, u8 labelled)
{
	edit();
	now.extent[now.extents] = (struct label_extent) {
		.uuid = rig_id('x', x), .volume = rig_id('v', 1), .start = (1 + 8 * (now.extents + 0ULL)) * MIB,
		.length = 8 * MIB, .state = labelled,
	};
	now.extents++;
	OK(write_label());
}

static inline int zero(u8 x)
{
	return done(disk_ops.zero(D, extent(x)));
}

static inline void add_ready(u8 x)
{
	add(x, LABEL_ZEROING);
	OK(zero(x));
}

static u64 request;

/* The kernel's request ... */
static inline void grant_send(u8 x, const struct muuid *host, u64 number, u8 access)
{
	request++;
	kernel_lock();
	K.path = path;
	K.grant = (struct meshtgt_grant) { .request = request, .host = *host, .drive = DRIVE,
					   .extent = rig_id('x', x), .attach = number, .access = access,
					   .numbered = true };
	K.pending = true;
	kernel_unlock();
}

static inline bool is_answered(void)
{
	bool is;

	kernel_lock();
	is = K.answered == request;
	kernel_unlock();
	return is;
}

/* ... and its answer. */
static inline int grant_answer(void)
{
	CU_ASSERT(until(is_answered()));
	return K.answer;
}

static inline int grant(u8 x, const struct muuid *host, u64 number, u8 access)
{
	grant_send(x, host, number, access);
	return grant_answer();
}

static inline const struct meshtgt_extent *kernel_extent(u8 x)
{
	const struct muuid d = DRIVE, u = rig_id('x', x);
	struct kernel_drive *k = kernel_find(&d);

	for (u32 i = 0; k && i < k->d.nr_extents; i++) {
		if (muuid_equal(&k->d.extents[i].uuid, &u))
			return &k->d.extents[i];
	}
	return NULL;
}

#define kernel(cond) until(({ bool k_; kernel_lock(); k_ = (cond); kernel_unlock(); k_; }))

static inline struct layout *record_of(u64 version)
{
	struct layout *l = calloc(1, sizeof(*l));

	l->volume = rig_id('v', 1);
	strcpy(l->name, "vol");
	l->version = version;
	l->commit = 100 + version;
	l->lba = 512;
	l->members = l->refs = l->segments = 1;
	l->member[0] = (struct layout_member) { .target = HOST, .drive = DRIVE, .extent = rig_id('x', 1),
						.size = 8 * MIB };
	l->ref[0] = (struct layout_ref) { 0, LAYOUT_DATA };
	l->segment[0] = (struct layout_segment) { .length = 7 * MIB, .level = PROT_LINEAR, .data = 1, .groups = 1,
						  .strip = LAYOUT_NO_STRIP, .refs = 1 };
	l->size = 7 * MIB;
	return l;
}

static inline int record_there(void)
{
	struct layout *l = record_of(1);
	int err = done(disk_ops.record_write(D, extent(1), l));

	free(l);
	return err;
}

/* Version of the record in one copy, as it is on the drive. */
static inline u64 copy_version(int copy)
{
	static u8 buf[LAYOUT_PEEK];
	struct layout_head h = { 0 };
	int fd = open(path, O_RDONLY);
	ssize_t n = pread(fd, buf, sizeof(buf), MIB + copy * LAYOUT_COPY_BYTES);

	close(fd);
	return n == sizeof(buf) && !layout_peek(buf, sizeof(buf), &h) ? h.version : 0;
}

#endif
