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

int disk_dev_open(const char *path, int flags, struct disk_dev *dev)
{
	int fd = disk_open(path, flags & ~O_EXCL);
	struct stat st;

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

/* The target's kernel. */
#define KERNEL_DRIVES	4

static struct {
	pthread_mutex_t lock;
	int	family;		/* 0: no module */
	int	add_err, set_err, del_err;
	bool	listens;
	u32	adds, sets, dels, forced;
	struct kernel_drive {
		bool	there, gone;
		struct meshtgt_drive d;
		struct muuid allow[16][MESHTGT_ALLOW_MAX];
	} drive[KERNEL_DRIVES];
	/* GRANT that waits to be read; its answer */
	bool	pending;
	struct meshtgt_grant grant;
	u32	answers;
	u64	answered;
	int	answer;
	bool	before;		/* ... and a record waited for the drive's thread, when the answer came */
	u64	durable;	/* number that both copies had when the answer came */
	bool	event;
	struct muuid event_drive;
	const char *path;	/* of @durable */
	struct muuid member;	/* extent of a volume of this host's own kernel */
	const char *member_path;	/* ... of this drive; NULL: by none */
	bool	abandoned;	/* ... or of I/O that was given up */
} K = { .lock = PTHREAD_MUTEX_INITIALIZER, .family = 7 };

struct mesh { int fd; };

struct mesh *mesh_open(void)
{
	struct mesh *m = calloc(1, sizeof(*m));

	m->fd = -1;
	return m;
}

void mesh_close(struct mesh *m)
{
	if (m && m->fd >= 0)
		close(m->fd);
	free(m);
}

const char *mesh_why(const struct mesh *m)
{
	(void)m;
	return "the fake kernel says so";
}

int mesh_family_id(struct mesh *m, bool target)
{
	(void)m;
	(void)target;
	return K.family;
}

static struct kernel_drive *kernel_find(const struct muuid *u)
{
	for (int i = 0; i < KERNEL_DRIVES; i++) {
		if (K.drive[i].there && muuid_equal(&K.drive[i].d.uuid, u))
			return &K.drive[i];
	}
	return NULL;
}

static inline void kernel_lock(void)
{
	pthread_mutex_lock(&K.lock);
}

static inline void kernel_unlock(void)
{
	pthread_mutex_unlock(&K.lock);
}

static void kernel_table(struct kernel_drive *k, const struct meshtgt_drive *d)
{
	struct meshtgt_extent *e = calloc(d->nr_extents + 1, sizeof(*e));

	for (u32 i = 0; i < d->nr_extents; i++) {
		e[i] = d->extents[i];
		for (u32 h = 0; h < e[i].allows; h++)
			k->allow[i][h] = d->extents[i].allow[h];
		e[i].allow = k->allow[i];
	}
	free(k->d.extents);
	k->d = *d;
	k->d.extents = e;
	strcpy(k->d.state, "up");
}

int meshtgt_drive_add(struct mesh *m, const struct meshtgt_drive *d)
{
	int err;

	(void)m;
	kernel_lock();
	K.adds++;
	err = !K.family ? -ENOENT : kernel_find(&d->uuid) ? -EEXIST : K.add_err;
	for (int i = 0; i < KERNEL_DRIVES && !err; i++) {
		if (K.drive[i].there)
			continue;
		K.drive[i].there = true;
		K.drive[i].gone = false;
		kernel_table(&K.drive[i], d);
		break;
	}
	kernel_unlock();
	return err;
}

int meshtgt_drive_check(struct mesh *m, const struct meshtgt_drive *d)
{
	(void)m;
	(void)d;
	return K.family ? K.add_err : -ENOENT;
}

static _Atomic int set_gate = -1;	/* that many tables more; negative: any */
static _Atomic unsigned int set_waits;	/* tables that came */

int meshtgt_extents_once(struct mesh *m, const struct meshtgt_drive *d)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	struct kernel_drive *k;
	int err = -ENODEV;

	(void)m;
	set_waits++;
	while (!set_gate)
		nanosleep(&ms, NULL);
	if (set_gate > 0)
		set_gate--;
	kernel_lock();
	K.sets++;
	k = kernel_find(&d->uuid);
	if (k && (!K.set_err || K.set_err == -EINPROGRESS))
		kernel_table(k, d);
	if (k)
		err = K.set_err;
	kernel_unlock();
	return err;
}

int meshtgt_drive_del(struct mesh *m, const struct muuid *uuid, bool force)
{
	struct kernel_drive *k;
	int err;

	(void)m;
	kernel_lock();
	K.dels++;
	K.forced += force;
	k = kernel_find(uuid);
	err = !k ? -ENOENT : force ? 0 : K.del_err;
	if (k && !err)
		k->there = false;
	kernel_unlock();
	return err;
}

int meshtgt_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n)
{
	(void)m;
	*out = K.family ? calloc(KERNEL_DRIVES, sizeof(**out)) : NULL;
	*n = 0;
	kernel_lock();
	for (int i = 0; *out && i < KERNEL_DRIVES; i++) {
		if (!K.drive[i].there)
			continue;
		(*out)[*n] = K.drive[i].d;
		(*out)[*n].extents = NULL;
		(*out)[*n].nr_extents = 0;
		strcpy((*out)[*n].state, K.drive[i].gone ? MESHBLK_STATE_GONE : "up");
		++*n;
	}
	kernel_unlock();
	return *out ? 0 : -ENOENT;
}

void meshtgt_drives_free(struct meshtgt_drive *d, size_t n)
{
	(void)n;
	free(d);
}

int meshtgt_listen(struct mesh *m, const char *addr, u16 port)
{
	(void)m;
	(void)addr;
	(void)port;
	kernel_lock();
	/* All drives are there before the first client is. */
	K.listens = true;
	for (int i = 0; i < KERNEL_DRIVES; i++)
		K.listens &= !i || !K.drive[0].there || K.adds;
	kernel_unlock();
	return 0;
}

int meshtgt_serve(struct mesh *m, int stop, void (*fn)(void *priv, struct meshtgt_grant *g), void *priv)
{
	struct pollfd p = { .fd = stop, .events = POLLIN };
	struct meshtgt_grant g;
	bool pending;

	(void)m;
	while (poll(&p, 1, 1) == 0) {
		kernel_lock();
		pending = K.pending;
		g = K.grant;
		K.pending = false;
		kernel_unlock();
		if (pending)
			fn(priv, &g);
	}
	return 0;
}

static struct disk *watched;

/* On the drive's thread. */
int meshtgt_grant_reply(struct mesh *m, u64 request, int err)
{
	u64 durable = K.path ? file_number(K.path, &K.grant.extent) : 0;

	(void)m;
	kernel_lock();
	K.answers++;
	K.before = watched && watched->record;
	K.answered = request;
	K.answer = err;
	K.durable = durable;
	kernel_unlock();
	return 0;
}

int mesh_events_join(struct mesh *m)
{
	(void)m;
	return 0;
}

/* Always readable: an event is there or not. */
int mesh_fd(const struct mesh *m)
{
	if (m->fd < 0)
		((struct mesh *)m)->fd = open("/dev/null", O_RDONLY);
	return m->fd;
}

int mesh_events_read(struct mesh *m, void (*fn)(void *priv, const struct mesh_event *e), void *priv)
{
	struct mesh_event e = { .target = true, .event = MESHTGT_EV_DRIVE_GONE };
	struct timespec ms = { .tv_nsec = 1000000 };
	bool event;

	(void)m;
	kernel_lock();
	event = K.event;
	K.event = false;
	e.uuid = K.event_drive;
	kernel_unlock();
	if (event)
		fn(priv, &e);
	else
		nanosleep(&ms, NULL);
	return 0;
}

static inline void kernel_member(struct meshblk_member *m)
{
	m->kind = MESHBLK_KIND_BDEV;
	m->drive = (struct muuid) { .b = { 'd', 1 } };
	if (K.member_path)
		snprintf(m->path, sizeof(m->path), "%s", K.member_path);
}

int meshblk_volumes(struct mesh *m, struct meshblk_volume **out, size_t *n)
{
	(void)m;
	*n = !muuid_null(&K.member);
	*out = calloc(1, sizeof(**out));
	(*out)->nr_members = 1;
	(*out)->members = calloc(1, sizeof(*(*out)->members));
	(*out)->members[0].extent = K.member;
	kernel_member((*out)->members);
	return 0;
}

void meshblk_volumes_free(struct meshblk_volume *v, size_t n)
{
	(void)n;
	free(v->members);
	free(v);
}

int meshblk_abandoned_get(struct mesh *m, struct meshblk_abandoned **out, size_t *n)
{
	(void)m;
	*n = K.abandoned;
	*out = calloc(1, sizeof(**out));
	kernel_member(&(*out)->member);
	return 0;
}

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
