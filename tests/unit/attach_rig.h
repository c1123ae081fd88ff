/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Three hosts with an agent of attachments each, over one store in a file; attach_kernel.h has their
 * kernels, records and targets:
 *
 *   store (agent_rig.h)     agent of host 1, 2, 3 <--> its kernel, its record     targets of members
 *        ^--- O: the test's copy                            '---- opens ------------>  1 .. 4
 *
 * Kernels and targets do what they guarantee, and complain where an agent breaks what it guarantees.
 * An agent, or its whole host, dies before or behind any operation, as W.crash_at counts them.
 */
#ifndef TESTS_UNIT_ATTACH_RIG_H
#define TESTS_UNIT_ATTACH_RIG_H

#include <errno.h>

#include "protect/roster/roster.h"
#include "tests/unit/agent_rig.h"
#include "userspace/agent/attach.h"
#include "userspace/format/view.h"
#include "userspace/plan/change.h"
#include "userspace/store/rights.h"

#define HOSTS	3
#define MEMBERS	4
#define SALT	77

struct target {
	u64	number;
	u8	attacher, writer;	/* 1 + host */
	u8	readers;		/* bits of hosts */
	bool	unknown, away;
	u64	version, commit;	/* of the record */
};

struct kernel {
	bool	there, readonly, preempt, fresh, fenced, slow_to_end;
	struct layout l;
	u64	number, served, fenced_by, epoch;
	u8	fencer, held;		/* 1 + host */
	bool	live, may[MEMBERS], open[MEMBERS];
	u32	barred, openers;
	u16	bar[MEMBERS];
	u8	roster[MESHBLK_ROSTER_BYTES];
	struct plan_work work;
	u32	requests;
	struct obj_request request;
	bool	refuses;
	/* of the last VOLUME_SET */
	bool	again;
	u32	forgottens, leavings;
	u16	forgotten[MEMBERS];
	struct obj_leaving leaving[MEMBERS];
	struct layout_member left[MEMBERS];
	struct attach_copy copy[MEMBERS];	/* by places */
};

struct host {
	struct store *s;
	struct copy *c;
	struct attach_agent *a;
	struct kernel k;
	char	*record;		/* its text */
	struct attach_note note;
	bool	notes, answered, dead, away, lags;
	struct attach_note answer;
	u64	lease;
	u32	cut;			/* bits of members that it does not reach */
};

static struct {
	struct host h[HOSTS];
	struct target t[MEMBERS];
	int	cur;			/* whose agent runs; -1: none */
	u64	now;
	char	log[2048];
	bool	slow;			/* each operation goes on for a turn */
	u32	slows;
	int	crash_at;		/* operations until one dies; 0: none does */
	int	crash_next;		/* ... and as many later another one */
	bool	crash_behind, crash_host, crashed;
	bool	no_watch;
	bool	refuses;		/* kernels refuse evictions */
	void	(*hook)(const char *op);	/* called before an operation takes effect */
	int	identity_err;
	u64	fallen;			/* the store was put back: copies have seen that many revisions more */
	struct store_identity is;	/* of the store that was put back; no id: it was not */
	u64	use;			/* of drive 1, where that is local */
} W;

static struct store *other;
static struct copy *O;
static u64 commits;		/* added to versions: commits of the layouts that are made now */

static inline struct muuid hid(int h)
{
	return rig_id('h', 1 + h);
}

static inline struct muuid vid(void)
{
	return rig_id('v', 1);
}

static inline const void *seen(enum key_kind kind, int h)
{
	struct key k = { .kind = kind, .volume = vid(), .host = hid(h) };

	if (kind == KEY_STATUS || kind == KEY_EVENT)
		k = (struct key) { .kind = kind, .host = hid(h), .about = vid() };
	rig_catch_up(O);
	return copy_obj(O, &k);
}

static inline const struct plan_access *access_now(void)
{
	const struct obj_access *a = seen(KEY_ACCESS, 0);

	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	return &a->plan;
}

static inline bool holds(int h)
{
	const struct muuid u = hid(h);

	return access_now()->mode == PLAN_RW && muuid_equal(&access_now()->holder, &u);
}

static inline int host_of(const struct muuid *u)
{
	for (int h = 0; h < HOSTS; h++) {
		struct muuid x = hid(h);

		if (muuid_equal(&x, u))
			return h;
	}
	return -1;
}

static inline u64 acc(u64 number)
{
	return mesh_number_access(number);
}

/* ---- what must never be seen */

static inline void complain(const char *what)
{
	CU_FAIL("a rule is broken");
	printf("%s\n", what);
}

static inline bool record_of(int h, struct obj_attached *r)
{
	memset(r, 0, sizeof(*r));
	return W.h[h].record && !obj_decode(OBJ_ATTACHED, W.h[h].record, strlen(W.h[h].record), r, NULL, 0);
}

/* roster/V, of the attachment that the kernel has, confirms no place that the kernel does not bar. */
static inline void check_bars(int h, const u16 *bar, u32 barred)
{
	const struct obj_roster *r = seen(KEY_ROSTER, h);

	for (u32 i = 0; r && holds(h) && acc(r->plan.number) == acc(W.h[h].k.number) && i < r->plan.barred; i++) {
		if (!plan_place_in(bar, barred, r->plan.bar[i]))
			complain("a place is confirmed as barred, and the kernel lets members join there");
	}
}

static inline void check_world(void)
{
	for (int h = 0; h < HOSTS; h++) {
		const struct kernel *k = &W.h[h].k;

		if (!k->there || k->fenced || W.h[h].dead)
			continue;
		if (!k->readonly && access_now()->mode == PLAN_NONE && access_now()->clean &&
		    acc(k->number) == acc(access_now()->number))
			complain("access is none and clean while a kernel writes");
		check_bars(h, k->bar, k->barred);
	}
}

/* A transaction of host @h that was done. */
static inline void check_txn(int h, const struct plan_access *was)
{
	const struct plan_access *is = access_now();
	const struct muuid u = hid(h);

	if (was->mode == PLAN_RW && muuid_equal(&was->holder, &u) && is->mode == PLAN_NONE) {
		if (W.h[h].record)
			complain("released before the record was erased");
		if (W.h[h].k.there)
			complain("released before the kernel's end");
	}
	if (is->number < was->number)
		complain("the number falls");
}

/* ---- crashes */

static inline void note_op(const char *op)
{
	size_t n = strlen(W.log);

	snprintf(W.log + n, sizeof(W.log) - n, "%s%d ", op, W.cur + 1);
}

/* -1: dies before it takes effect; 1: behind it; 0: lives. */
static inline int dies(const char *op)
{
	if (W.crashed)
		return -1;
	if (W.hook)
		W.hook(op);
	if (!W.crash_at || --W.crash_at)
		return 0;
	W.crashed = true;
	W.crash_at = W.crash_next;
	W.crash_next = 0;
	return W.crash_behind ? 1 : -1;
}

static struct store_page judged;

static inline int judged_get(void *priv, const char *key, const struct store_kv **out)
{
	int err;

	(void)priv;
	if (judged.memory)
		store_page_free(&judged);
	memset(&judged, 0, sizeof(judged));
	err = store_get(other, key, &judged);
	*out = err ? NULL : judged.kv;
	return err;
}

/* A store host lets a client do this. */
static inline void check_rights(int h, const struct store_txn *t)
{
	const struct rights_source from = { .get = judged_get };
	const struct rights_who who = { .role = PLAN_CLIENT, .host = hid(h) };
	char words[RIGHTS_WHY];
	int err;

	if (rights_txn(&who, t, &from, &err, words) == RIGHTS_REFUSED)
		complain(words);
	if (judged.memory)
		store_page_free(&judged);
	memset(&judged, 0, sizeof(judged));
}

int __real_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);
int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);

int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision)
{
	struct plan_access was;
	int die, ret, h = W.cur;

	if (h < 0)
		return __real_store_txn_settle(s, t, deadline_ms, revision);
	die = dies("txn");
	if (die < 0)
		return -EIO;
	was = *access_now();
	check_rights(h, t);
	ret = __real_store_txn_settle(s, t, deadline_ms, revision);
	if (ret == 1) {
		note_op("txn");
		check_txn(h, &was);
	}
	return die ? -EIO : ret;
}

int __real_store_watch(struct store *s, const char *prefix, u64 after, u64 *id);
int __wrap_store_watch(struct store *s, const char *prefix, u64 after, u64 *id);

int __wrap_store_watch(struct store *s, const char *prefix, u64 after, u64 *id)
{
	return W.no_watch ? -EIO : __real_store_watch(s, prefix, after, id);
}

int __real_store_identity(struct store *s, struct store_identity *out);
int __wrap_store_identity(struct store *s, struct store_identity *out);

int __wrap_store_identity(struct store *s, struct store_identity *out)
{
	int err = W.identity_err ? W.identity_err : __real_store_identity(s, out);
	u64 revision = out->revision;

	if (err || !W.is.id[0])
		return err;
	*out = W.is;
	out->revision += revision;
	return 0;
}

u64 __real_copy_revision(const struct copy *c);
u64 __wrap_copy_revision(const struct copy *c);

u64 __wrap_copy_revision(const struct copy *c)
{
	return __real_copy_revision(c) + W.fallen;
}

/* True: it is not done in this turn. */
static inline bool slow(void)
{
	return W.slow && W.slows++ % 2 == 0;
}

#define OP(name)							\
	int die_;							\
	if (slow())							\
		return -EINPROGRESS;					\
	die_ = dies(name);						\
	if (die_ < 0)							\
		return -EIO;						\
	note_op(name)

#define DONE	return die_ ? -EIO : 0

#include "tests/unit/attach_kernel.h"

/* ---- objects */

static inline void put_access(u8 mode, int h, u64 number, bool clean)
{
	struct obj_access a = { .volume = vid(), .plan = { .mode = mode, .number = number, .clean = clean } };

	if (mode == PLAN_RW)
		a.plan.holder = hid(h);
	rig_put(O, KEY_ACCESS, &a);
}

/* A stripe, or a mirror of 2, over the first @members extents. */
static inline void rig_layout(struct layout *l, u8 level, u32 members, u64 version)
{
	struct layout_segment *s = &l->segment[0];
	struct layout_shape shape = { level, level == PROT_STRIPE ? members : 2, 0, 1 };

	memset(l, 0, sizeof(*l));
	*l = (struct layout) { .volume = vid(), .name = "vol", .version = version, .commit = commits + version,
			       .salt = SALT, .lba = 512, .segments = 1 };
	*s = (struct layout_segment) { .length = (64ULL << 20) * (level == PROT_STRIPE ? members : 1),
				       .level = level, .data = shape.data, .groups = 1, .strip = 65536,
				       .fresh = level == PROT_MIRROR, .refs = members };
	for (u32 i = 0; i < members; i++) {
		u64 at = layout_data_at(s, l->lba);

		l->ref[l->refs++] = (struct layout_ref) { i, at };
		l->member[l->members++] = (struct layout_member) {
			.target = rig_id('h', 9), .drive = rig_id('d', 1 + i), .extent = rig_id('x', 1 + i),
			.size = (at + layout_member_bytes(s) + (1 << 20)) >> 20 << 20 };
	}
	l->size = s->length;
}

/* Where nothing is said: a stripe of 2, ready, version 1. */
struct volume_is {
	u8	state, level;
	u32	members;
	u64	version;
	bool	fresh;
	u32	barred;
	u16	bar[2];
	bool	evict;			/* extent 3 is to take the place of extent 2 */
};

static inline void put_volume(const struct volume_is *is)
{
	struct obj_leaving leaving = { .place = 1, .extent = rig_id('x', 2) };
	struct layout *l = calloc(1, sizeof(*l));
	struct obj_volume v = { .plan = { .uuid = vid(), .state = is->state ? is->state : PLAN_VOLUME_READY, .fresh = is->fresh, .barred = is->barred,
					  .bar = is->bar }, .record = l, .domain = "host" };

	rig_layout(l, is->level ? is->level : PROT_STRIPE, is->members ? is->members : 2,
		   is->version ? is->version : 1);
	if (is->evict) {
		l->member[1].extent = rig_id('x', 3);
		l->member[1].drive = rig_id('d', 3);
		v.leaving = &leaving;
		v.leavings = 1;
	}
	rig_put(O, KEY_VOLUME, &v);
	free(l);
}

#define VOLUME(...) put_volume(&(struct volume_is) { __VA_ARGS__ })

/* The record of @version is durable on member @i, and drive/D says so. */
static inline void recorded(u32 i, u64 version)
{
	struct plan_extent x = { .uuid = rig_id('x', 1 + i), .volume = vid(), .place = i, .state = PLAN_READY,
				 .start = 4 << 20, .length = 128 << 20, .version = version,
				 .commit = version ? commits + version : 0 };
	struct obj_drive d = { .plan = { .uuid = rig_id('d', 1 + i), .host = rig_id('h', 9), .wanted = PLAN_IN,
					 .extents = 1, .extent = &x }, .size = 1ULL << 30, .lba = 512, .path = "/dev/x" };

	W.t[i].version = version;
	W.t[i].commit = x.commit;
	rig_put(O, KEY_DRIVE, &d);
}

static inline void put_alive(int h, bool alive)
{
	struct obj_alive a = { .host = hid(h), .boot = rig_id('b', 1 + h), .meshd = "1", .format = 1000 };
	const struct key k = { .kind = KEY_ALIVE, .host = hid(h) };

	rig_catch_up(O);
	if (alive)
		rig_put(O, KEY_ALIVE, &a);
	else if (copy_get(O, &k))
		rig_erase(O, &k);
}

struct want_is {
	u8	mode;
	bool	preempt, force, no_writer, no_boot;
};

/* What meshctl writes. */
static inline void put_want(int h, const struct want_is *is)
{
	struct obj_want w = { .host = hid(h), .volume = vid(), .mode = is->mode, .preempt = is->preempt,
			      .force = is->force, .boot = !is->no_boot };
	struct obj_writer writer = { .volume = vid(), .host = hid(h) };

	if (is->mode == PLAN_RW && !is->no_writer)
		rig_put(O, KEY_WRITER, &writer);
	rig_put(O, KEY_WANT, &w);
}

#define WANT(h, m, ...) put_want(h, &(struct want_is) { .mode = m, __VA_ARGS__ })

/* ---- hosts */

static inline int follow(struct copy *c, bool all)
{
	static const enum key_kind kinds[] = {
		KEY_CLUSTER, KEY_HOST, KEY_ALIVE, KEY_DRIVE, KEY_VOLUME, KEY_ACCESS, KEY_READER, KEY_WANT,
		KEY_WRITER, KEY_ROSTER, KEY_STATUS, KEY_EVENT,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) - (all ? 0 : 2) && !err; i++)
		err = copy_follow(c, &(struct key) { .kind = kinds[i] }, 0);
	return err;
}

static inline void host_start(int h)
{
	struct host *y = &W.h[h];
	struct muuid u = hid(h);

	y->s = store_sqlite_handle(Q);
	y->c = copy_open(y->s);
	OK(follow(y->c, false));
	y->a = attach_open(y->c, &u, &rig_ops, y);
	attach_may(y->a, false, y->lease);
}

static inline void host_stop(int h)
{
	struct host *y = &W.h[h];

	attach_close(y->a);
	copy_close(y->c);
	store_close(y->s);
	y->a = NULL;
}

/* The agent starts again; @power: its kernel is gone, and targets have noticed. */
static inline void host_restart(int h, bool power)
{
	host_stop(h);
	if (power) {
		memset(&W.h[h].k, 0, sizeof(W.h[h].k));
		kernel_close(h);
	}
	host_start(h);
}

/* The host's machine is off: its sessions stay until the targets notice. */
static inline void host_off(int h)
{
	host_stop(h);
	memset(&W.h[h].k, 0, sizeof(W.h[h].k));
	W.h[h].dead = true;
	put_alive(h, false);
}

static inline int host_turn(int h)
{
	struct host *y = &W.h[h];
	int n;

	if (y->dead)
		return 0;
	W.cur = h;
	if (!y->away && !y->lags)
		rig_catch_up(y->c);
	n = attach_turn(y->a, y->away, W.now);
	W.cur = -1;
	if (W.crashed) {
		W.crashed = false;
		host_restart(h, W.crash_host);
		n = 1;
	} else if (n < 0) {
		complain("a turn fails");
	}
	check_world();
	kernel_tick(h);
	check_world();
	return n;
}

/* Turns of all hosts until nothing moves for longer than the agents' own waits. */
static inline const char *settle(void)
{
	W.log[0] = 0;
	for (int i = 0, idle = 0; i < 400 && idle < 16; i++) {
		int n = 0;

		for (int h = 0; h < HOSTS; h++)
			n += host_turn(h) > 0;
		idle = n ? 0 : idle + 1;
		W.now += 500;
	}
	rig_catch_up(O);
	return W.log;
}

static inline void rig_start(void)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', 1), .generation = 1, .format = 1000 } };

	memset(&W, 0, sizeof(W));
	commits = 100;
	W.cur = -1;
	W.now = 1000000;
	rig_begin();
	other = store_sqlite_handle(Q);
	O = copy_open(other);
	OK(follow(O, true));
	rig_put(O, KEY_CLUSTER, &c);
	put_access(PLAN_NONE, 0, 0, true);
	for (u32 i = 0; i < MEMBERS; i++)
		recorded(i, i < 2);
	for (int h = 0; h < HOSTS; h++) {
		struct obj_host o = { .plan = { .uuid = hid(h), .role = PLAN_STORAGE } };

		snprintf(o.name, sizeof(o.name), "host%d", h + 1);
		rig_put(O, KEY_HOST, &o);
		put_alive(h, true);
		OK(store_lease_grant(other, 600, &W.h[h].lease));
		host_start(h);
	}
}

static inline void rig_stop(void)
{
	for (int h = 0; h < HOSTS; h++) {
		if (!W.h[h].dead)
			host_stop(h);
		free(W.h[h].record);
	}
	copy_close(O);
	store_close(other);
	rig_end();
}

static inline bool word(const char *log, const char *w)
{
	return strstr(log, w);
}

static inline bool status_is(int h, const char *state, const char *words)
{
	const struct obj_status *s = seen(KEY_STATUS, h);
	bool ret = s && !strcmp(s->state, state) && (!words || strstr(s->words, words));

	if (!ret)
		printf("status of host %d: %s: %s\n", h + 1, s ? s->state : "none", s ? s->words : "");
	return ret;
}

static inline bool serves(int h)
{
	return W.h[h].k.there && W.h[h].k.live && !W.h[h].k.fenced && !W.h[h].k.served;
}

#endif
