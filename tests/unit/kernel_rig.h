/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel that is made up, for tests of a daemon's volumes: libmesh's functions and the drives of
 * this machine are stand-ins, the store is a file, jobs run on threads.
 */
#ifndef TESTS_UNIT_KERNEL_RIG_H
#define TESTS_UNIT_KERNEL_RIG_H

#include <errno.h>
#include <linux/kernel.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "driver/uapi/number.h"
#include "protect/roster/roster.h"
#include "tests/unit/agent_rig.h"
#include "userspace/daemon/job.h"
#include "userspace/daemon/volumes.h"
#include "userspace/format/json.h"
#include "userspace/libmesh/mesh.h"

#define NUMBER(counter)	mesh_number(1, counter, 0)
#define SALT		0x1122334455667788ULL
#define WAIT_MS		20000
#define TARGETS		8

/* The kernel. Jobs call it on threads of their own. */
static struct {
	pthread_mutex_t lock;
	bool	absent;			/* the module is not loaded */
	int	family;
	/* targets */
	u32	targets;
	struct meshblk_target target[TARGETS];
	bool	used[TARGETS];		/* by members; by ids */
	u32	connects;		/* a target is up after that many lists */
	u32	lists;
	/* one volume */
	bool	there;
	struct meshblk_volume v;	/* as VOLUME_GET answers: its arrays are the test's */
	struct meshblk_volume set;	/* the last VOLUME_SET: arrays of its own */
	u32	sets, gets;
	int	set_err, end_err, get_err;
	bool	set_waits, end_waits, del_waits;	/* until the test clears it */
	bool	force;
	u32	ends;			/* VOLUME_DELs that came */
	u32	ended;			/* groups in VOLUME_DEL's answer */
	struct meshblk_group end[2];
	/* evictions */
	u32	evicts;
	bool	evict_waits;
	int	evict_err;
	u32	evict_index;
	bool	evict_stops;
	struct meshblk_member evict;
	/* probes, by the first two bytes of extents */
	struct meshblk_probe probe;
	int	probe_err;
	u32	probes;
	/* VOLUME_SCRUB, VOLUME_REJOIN */
	u32	requests;
	struct mesh_scrub scrub;
	bool	rejoins;
	int	request_err;
	/* other hosts, alike, that use the drives of this one */
	u32	sessions;
	struct meshtgt_session session;
	/* the witness */
	int	pipe[2];
	struct meshblk_note note, noted;
	u32	taken, noteds;
	/* events that wait */
	u32	events;
	struct mesh_event event[8];
} K = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct mesh { int unused; };

static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;	/* a wait of @K has ended */

static void lock(void) { pthread_mutex_lock(&K.lock); }
static void unlock(void) { pthread_mutex_unlock(&K.lock); }

struct mesh *mesh_open(void) { return calloc(1, sizeof(struct mesh)); }
void mesh_close(struct mesh *m) { free(m); }
const char *mesh_why(const struct mesh *m) { (void)m; return "the kernel's words"; }
int mesh_family_id(struct mesh *m, bool target) { (void)m; return target || K.absent ? 0 : K.family; }
int mesh_fd(const struct mesh *m) { (void)m; return 77; }
int mesh_events_join(struct mesh *m) { (void)m; return -ENOENT; }

int mesh_events_read(struct mesh *m, void (*fn)(void *priv, const struct mesh_event *e), void *priv)
{
	(void)m;
	for (u32 i = 0; i < K.events; i++)
		fn(priv, &K.event[i]);
	K.events = 0;
	return 0;
}

const char *mesh_stat_name(unsigned int s)
{
	return s == MESHBLK_S_READS ? "reads" : s == MESHBLK_S_WRITES ? "writes" : NULL;
}

int meshtgt_sessions(struct mesh *m, struct meshtgt_session **out, size_t *n)
{
	(void)m;
	*n = K.sessions;
	*out = calloc(K.sessions + 1, sizeof(**out));
	for (u32 i = 0; i < K.sessions; i++)
		(*out)[i] = K.session;
	return K.sessions ? 0 : -ENOENT;
}

int meshblk_targets(struct mesh *m, struct meshblk_target **out, size_t *n)
{
	(void)m;
	lock();
	K.lists++;
	if (K.connects && !--K.connects)
		for (u32 i = 0; i < K.targets; i++)
			strcpy(K.target[i].state, MESHBLK_STATE_UP);
	*n = K.targets;
	*out = calloc(K.targets + 1, sizeof(**out));
	memcpy(*out, K.target, K.targets * sizeof(**out));
	unlock();
	return 0;
}

static u32 at_of(u32 id)
{
	u32 i = 0;

	while (i < K.targets && K.target[i].id != id)
		i++;
	return i;
}

int meshblk_target_set(struct mesh *m, u32 id, const char *addr, u16 port, const struct muuid *expect)
{
	u32 i;

	(void)m;
	lock();
	i = at_of(id);
	if (i < K.targets && K.used[id] && strcmp(K.target[i].addr, addr)) {
		unlock();
		return -EBUSY;
	}
	if (i == K.targets) {
		CU_ASSERT_FATAL(i < TARGETS);
		K.target[K.targets++] = (struct meshblk_target) { .id = id, .state = "up" };
		if (K.connects)
			strcpy(K.target[i].state, MESHBLK_STATE_CONNECTING);
	}
	snprintf(K.target[i].addr, sizeof(K.target[i].addr), "%s", addr);
	K.target[i].port = port;
	K.target[i].host = *expect;
	unlock();
	return 0;
}

int meshblk_target_del(struct mesh *m, u32 id)
{
	int err = 0;
	u32 i;

	(void)m;
	lock();
	while (K.del_waits)
		pthread_cond_wait(&moved, &K.lock);
	i = at_of(id);
	if (i == K.targets)
		err = -ENOENT;
	else if (K.used[id])
		err = -EBUSY;
	else
		K.target[i] = K.target[--K.targets];
	unlock();
	return err;
}

static void *copy_of(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	memcpy(to, from, bytes);
	return to;
}

static void set_free(void)
{
	for (u32 i = 0; i < K.set.nr_segments; i++) {
		free(K.set.segments[i].members);
		free(K.set.segments[i].offsets);
	}
	free(K.set.members);
	free(K.set.segments);
	free(K.set.bars);
	free(K.set.forgotten);
	free(K.set.leavings);
	memset(&K.set, 0, sizeof(K.set));
}

int meshblk_volume_set(struct mesh *m, const struct meshblk_volume *v)
{
	int err;

	(void)m;
	lock();
	while (K.set_waits)
		pthread_cond_wait(&moved, &K.lock);
	set_free();
	K.sets++;
	K.set = *v;
	K.set.members = copy_of(v->members, v->nr_members * sizeof(*v->members));
	K.set.segments = copy_of(v->segments, v->nr_segments * sizeof(*v->segments));
	K.set.bars = copy_of(v->bars, v->nr_bars * sizeof(*v->bars));
	K.set.forgotten = copy_of(v->forgotten, v->nr_forgotten * sizeof(*v->forgotten));
	K.set.leavings = copy_of(v->leavings, v->nr_leavings * sizeof(*v->leavings));
	for (u32 i = 0; i < v->nr_segments; i++) {
		struct meshblk_segment *s = &K.set.segments[i];

		s->members = copy_of(s->members, s->nr_places * sizeof(*s->members));
		s->offsets = copy_of(s->offsets, s->nr_places * sizeof(*s->offsets));
	}
	err = K.set_err;
	unlock();
	return err;
}

int meshblk_volume_evict(struct mesh *m, const struct muuid *uuid, u32 member, const struct meshblk_member *to)
{
	int err;

	(void)m;
	lock();
	while (K.evict_waits)
		pthread_cond_wait(&moved, &K.lock);
	CU_ASSERT(muuid_equal(uuid, &K.v.uuid));
	K.evicts++;
	K.evict_index = member;
	K.evict_stops = !to;
	if (to)
		K.evict = *to;
	err = K.evict_err;
	unlock();
	return err;
}

int meshblk_volume_end(struct mesh *m, const struct muuid *uuid, bool force, struct meshblk_group **groups,
		       u32 *n)
{
	int err;

	(void)m; (void)uuid;
	lock();
	K.ends++;
	while (K.end_waits)
		pthread_cond_wait(&moved, &K.lock);
	err = K.end_err;
	K.force = force;
	*n = err ? 0 : K.ended;
	*groups = *n ? copy_of(K.end, *n * sizeof(**groups)) : NULL;
	if (!err)
		K.there = false;
	unlock();
	return err;
}

int meshblk_volume_get(struct mesh *m, const struct muuid *uuid, struct meshblk_volume *out)
{
	(void)m;
	K.gets++;
	if (K.get_err)
		return K.get_err;
	if (!K.there || !muuid_equal(uuid, &K.v.uuid))
		return -ENOENT;
	*out = K.v;
	return 0;
}

void meshblk_volume_free(struct meshblk_volume *v)
{
	/* answers have the test's arrays, messages have their own */
	for (u32 i = 0; v->segments && i < v->nr_segments; i++) {
		free(v->segments[i].members);
		free(v->segments[i].offsets);
	}
	if (v->segments) {
		free(v->segments);
		free(v->members);
		free(v->bars);
		free(v->forgotten);
		free(v->leavings);
	}
	memset(v, 0, sizeof(*v));
}

int meshblk_volumes(struct mesh *m, struct meshblk_volume **out, size_t *n)
{
	(void)m;
	*n = K.there ? 2 : 1;
	*out = calloc(2, sizeof(**out));
	(*out)[0].uuid = rig_id('v', 99);	/* of another program */
	if (K.there)
		(*out)[1] = K.v;
	return 0;
}

void meshblk_volumes_free(struct meshblk_volume *v, size_t n) { (void)n; free(v); }

int meshblk_volume_scrub(struct mesh *m, const struct muuid *uuid, const struct mesh_scrub *s)
{
	(void)m;
	lock();
	K.requests++;
	K.scrub = *s;
	K.rejoins = false;
	CU_ASSERT(muuid_equal(uuid, &K.v.uuid));
	unlock();
	return K.request_err;
}

int meshblk_volume_rejoin(struct mesh *m, const struct muuid *uuid, u32 member)
{
	(void)m;
	lock();
	K.requests++;
	K.scrub = (struct mesh_scrub) { .index = member };
	K.rejoins = true;
	CU_ASSERT(muuid_equal(uuid, &K.v.uuid));
	unlock();
	return K.request_err;
}

int meshblk_member_probe(struct mesh *m, u32 target, const struct muuid *extent, struct meshblk_probe *out)
{
	int err;

	(void)m; (void)target;
	lock();
	K.probes++;
	*out = K.probe;
	out->attach += (u64)extent->b[1] << MESH_NUMBER_RESTART_BITS;	/* each another one */
	err = K.probe_err;
	unlock();
	return err;
}

int meshblk_witness_begin(struct mesh *m) { (void)m; return 0; }

int meshblk_witness(struct mesh *m, int stop, void (*fn)(void *priv, struct meshblk_note *note), void *priv)
{
	struct pollfd p[2] = { { .fd = stop, .events = POLLIN }, { .fd = K.pipe[0], .events = POLLIN } };
	char byte;

	(void)m;
	while (poll(p, 2, -1) > 0 && !p[0].revents)
		if (p[1].revents && read(K.pipe[0], &byte, 1) == 1) {
			struct meshblk_note n;

			lock();
			n = K.note;
			unlock();
			fn(priv, &n);
			lock();
			K.taken++;
			unlock();
		}
	return 0;
}

/* I/O that a device has not ended: of a member, and of one that is no member any more. */
static struct meshblk_abandoned ios[2];
static size_t nr_ios;

int meshblk_abandoned_get(struct mesh *m, struct meshblk_abandoned **out, size_t *n)
{
	(void)m;
	*n = nr_ios;
	*out = calloc(nr_ios + 1, sizeof(**out));
	memcpy(*out, ios, nr_ios * sizeof(**out));
	return 0;
}

int meshblk_roster_noted(struct mesh *m, const struct meshblk_note *note)
{
	(void)m;
	K.noted = *note;
	K.noteds++;
	return 0;
}

/* Drives of this machine: one. */
static struct {
	bool	away, hangs;
	struct label label;
	int	err;			/* of disk_number(), disk_reader() */
	u32	numbers, readers;
	u64	number, served, use;
	/* Of each extent: a number is being written, or its result is kept; after that many calls. */
	bool	kept[3];
	u32	calls[3], begun[3];
} D;

static struct disks *const DISKS = (void *)&D;

struct disk *disks_find(struct disks *s, const struct muuid *drive)
{
	(void)s;
	return !D.away && muuid_equal(drive, &D.label.drive) ? (void *)&D : NULL;
}

u64 disks_use(struct disks *s, const struct muuid *drive)
{
	(void)s;
	return muuid_equal(drive, &D.label.drive) ? D.use : 0;
}

bool disk_hangs(struct disk *d)
{
	(void)d;
	return D.hangs;
}

const char *disk_path(const struct disk *d) { (void)d; return "/dev/nvme9n1"; }

int disk_number(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number, u64 served)
{
	(void)d;
	CU_ASSERT_PTR_NOT_NULL(label_find(&D.label, extent));
	CU_ASSERT_EQUAL(host->b[1], 1);
	D.numbers++;
	D.number = number;
	D.served = served;
	D.begun[extent->b[1] % 3] += !D.kept[extent->b[1] % 3];
	D.kept[extent->b[1] % 3] = true;
	if (!D.calls[extent->b[1] % 3])
		return D.err;
	D.calls[extent->b[1] % 3]--;
	job_wake();
	return -EINPROGRESS;
}

void disk_number_end(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number, u64 served)
{
	(void)d;
	(void)host;
	CU_ASSERT(number == D.number && served == D.served);
	D.kept[extent->b[1] % 3] = false;
}

int disk_reader(struct disk *d, const struct muuid *extent, const struct muuid *host, u64 number)
{
	const struct label_extent *e = label_find(&D.label, extent);

	(void)d;
	CU_ASSERT(e && host->b[1] == 1);
	D.readers++;
	D.number = number;
	D.served = 0;
	return e && mesh_number_access(e->attach) > mesh_number_access(number) ? -ESTALE : D.err;
}

static const struct label *label(void *dev) { (void)dev; return D.away ? NULL : &D.label; }

const struct drive_ops disk_ops = { .label = label };

/* The world: this host is 1, drives are of hosts 1 to 3. */
static struct store *agents;
static struct copy *A;
static struct volumes *V;
static struct layout L;
static char logged[512];
static const struct attach_ops *const op = &volumes_ops;

static void on_log(void *priv, const char *words)
{
	(void)priv;
	snprintf(logged, sizeof(logged), "%s", words);
}

static inline void put_host(u8 h, const char *first, const char *second)
{
	struct obj_address addr[2] = { { .port = 0 }, { .port = 999 } };
	struct obj_host host = { .plan = { .uuid = rig_id('h', h), .role = PLAN_STORAGE },
				 .addresses = second ? 2 : 1, .address = addr };

	snprintf(host.name, sizeof(host.name), "s%u", h);
	snprintf(addr[0].addr, sizeof(addr[0].addr), "%s", first);
	snprintf(addr[1].addr, sizeof(addr[1].addr), "%s", second ? second : "");
	rig_put(A, KEY_HOST, &host);
	rig_catch_up(A);
}

static inline void put_alive(u8 h)
{
	struct obj_alive a = { .host = rig_id('h', h), .boot = rig_id('b', h), .meshd = "1", .format = 1000 };

	rig_put(A, KEY_ALIVE, &a);
	rig_catch_up(A);
}

/* The disks of a host: the one with drive @i, 0: none. */
static inline void put_device(u8 h, u8 i)
{
	struct obj_disk disk = { .path = "/dev/nvme0n1", .size = 1ULL << 30, .lba = 512, .drive = rig_id('d', i),
				 .why = "it is exported" };
	struct obj_device dev = { .host = rig_id('h', h), .disks = !!i, .disk = &disk };

	rig_put(A, KEY_DEVICE, &dev);
	rig_catch_up(A);
}

static inline void put_drive(u8 i, u8 h, bool local)
{
	struct plan_extent x = { .uuid = rig_id('x', i), .volume = rig_id('v', 1), .place = i - 1,
				 .state = PLAN_READY, .start = 5ULL << 20, .length = 64ULL << 20 };
	struct obj_drive d = { .plan = { .uuid = rig_id('d', i), .host = rig_id('h', h), .wanted = PLAN_IN,
					 .extents = 1, .extent = &x },
			       .size = 1ULL << 30, .lba = 512, .path = "/dev/nvme0n1", .local = local };

	rig_put(A, KEY_DRIVE, &d);
	rig_catch_up(A);
}

static void segment(u8 level, u8 data, u32 refs)
{
	struct layout_segment *s = &L.segment[L.segments++];

	*s = (struct layout_segment) { .start = L.size, .length = 8ULL << 20, .level = level, .data = data,
				       .strip = level == PROT_LINEAR ? 0 : 65536, .groups = 1, .first_ref = L.refs, .refs = refs,
				       .fresh = level == PROT_MIRROR };
	for (u32 i = 0; i < refs; i++) {
		L.ref[L.refs++] = (struct layout_ref) { .member = L.members, .offset = layout_data_at(s, 512) };
		L.member[L.members] = (struct layout_member) {
			.target = rig_id('h', L.members + 1), .drive = rig_id('d', L.members + 1),
			.extent = rig_id('x', L.members + 1), .size = 64ULL << 20, .addr = "10.9.9.9" };
		L.members++;
	}
	L.size += s->length;
}

/* @linear: one member without a group is before a mirror of two. */
static inline void make_layout(bool linear)
{
	memset(&L, 0, sizeof(L));
	L.volume = rig_id('v', 1);
	strcpy(L.name, "db");
	L.version = 3;
	L.commit = 33;
	L.salt = SALT;
	L.lba = 512;
	if (linear)
		segment(PROT_LINEAR, 1, 1);
	segment(PROT_MIRROR, 2, 2);
	CU_ASSERT_EQUAL(layout_check(&L), 0);
}

/* Events, one after another: "degraded 1;"; a test that has none leaves them. */
static char events[1024];
static struct obj_event event;	/* the last one, without details */
static u32 event_how;

static void on_event(void *priv, const struct obj_event *e, u32 how)
{
	const json_t *member = json_object_get(e->details, "member");
	size_t n = strlen(events);

	(void)priv;
	if (member)
		snprintf(events + n, sizeof(events) - n, "%s %u;", e->what, (u32)json_integer_value(member));
	else
		snprintf(events + n, sizeof(events) - n, "%s;", e->what);
	event = *e;
	event.details = NULL;
	event_how = how;
}

static char noted_words[512];

static void on_note(void *priv, const char *words)
{
	(void)priv;
	snprintf(noted_words, sizeof(noted_words), "%s", words);
}

static void open_volumes(void)
{
	const struct volumes_config c = { .host = rig_id('h', 1), .state = folder, .disks = DISKS, .copy = A,
					  .log = on_log, .note = on_note, .event = on_event };

	OK(volumes_open(&c, &V));
}

static void begin(void)
{
	const struct key all[] = { { .kind = KEY_DRIVE }, { .kind = KEY_HOST }, { .kind = KEY_VOLUME },
				   { .kind = KEY_ALIVE }, { .kind = KEY_DEVICE } };

	rig_begin();
	agents = store_sqlite_handle(Q);
	A = copy_open(agents);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		OK(copy_follow(A, &all[i], 0));
	for (u8 h = 1; h <= 3; h++) {
		char addr[16];

		snprintf(addr, sizeof(addr), "10.0.0.%u", h);
		put_host(h, addr, NULL);
		put_drive(h, h, false);
	}
	K.family = 30;
	K.absent = false;
	OK(pipe(K.pipe));
	D.label = (struct label) { .drive = rig_id('d', 1), .extents = 1 };
	D.label.extent[0] = (struct label_extent) { .uuid = rig_id('x', 1), .volume = rig_id('v', 1),
		.start = 5ULL << 20, .length = 64ULL << 20, .attach = NUMBER(4), .attacher = rig_id('h', 1) };
	logged[0] = 0;
	open_volumes();
	OK(volumes_begin(V));
	make_layout(false);
}

static void end(void)
{
	volumes_close(V);
	copy_close(A);
	store_close(agents);
	rig_end();
	close(K.pipe[0]);
	close(K.pipe[1]);
	set_free();
	lock();
	memset((char *)&K + sizeof(K.lock), 0, sizeof(K) - sizeof(K.lock));
	unlock();
	memset(&D, 0, sizeof(D));
}

/* Until a job has ended, or the witness's thread has a request. */
static inline void await_wake(void)
{
	struct pollfd p = { .fd = job_wake_fd(), .events = POLLIN };
	u64 count;

	CU_ASSERT_EQUAL_FATAL(poll(&p, 1, WAIT_MS), 1);
	CU_ASSERT_EQUAL(read(p.fd, &count, sizeof(count)), sizeof(count));
}

/* A wake may be of an earlier job: a test that needs a state checks that until it is there. */
static inline bool rig_number(const u32 *of, u32 is)
{
	static u32 turns;
	bool same;

	lock();
	same = *of == is;
	unlock();
	turns = same ? 0 : turns + 1;
	CU_ASSERT_FATAL(turns < WAIT_MS);
	if (!same)
		usleep(1000);
	return same;
}

static inline struct attach_set the_set(void)
{
	return (struct attach_set) { .volume = L.volume, .layout = &L, .number = NUMBER(5) };
}

static inline int set(const struct attach_set *a)
{
	int err;

	while ((err = op->set(V, a)) == -EINPROGRESS)
		await_wake();
	return err;
}

static inline int evict(const struct attach_evict *e)
{
	int err;

	while ((err = op->evict(V, e)) == -EINPROGRESS)
		await_wake();
	return err;
}

static inline int probe(struct attach_found *f)
{
	int err;

	while ((err = op->probe(V, &L, f)) == -EINPROGRESS)
		await_wake();
	return err;
}

static inline int del(bool force, struct obj_roster *last)
{
	int err;

	while ((err = op->del(V, &L.volume, force, last)) == -EINPROGRESS)
		await_wake();
	return err;
}

static inline void kernel_has(const char *state)
{
	K.there = true;
	K.v = (struct meshblk_volume) { .uuid = L.volume, .numbered = true, .attach = NUMBER(5) | 7,
					.version = 3, .size = L.size, .lba = 512 };
	strcpy(K.v.state, state);
	op->kernels(V, NULL, 0);
}

#endif
