/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Three hosts with an agent of attachments each, over one store in a file:
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
};

struct host {
	struct store *s;
	struct copy *c;
	struct attach_agent *a;
	struct kernel k;
	char	*record;		/* its text */
	struct attach_note note;
	bool	notes, answered, dead, away;
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
	bool	crash_behind, crash_host, crashed;
	bool	no_watch;
	void	(*hook)(const char *op);	/* called before an operation takes effect */
} W;

static struct store *other;
static struct copy *O;

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
	return W.crash_behind ? 1 : -1;
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

/* ---- the kernel */

static inline int op_kernel(void *m, const struct muuid *volume, struct attach_kernel *out)
{
	const struct kernel *k = &((struct host *)m)->k;

	(void)volume;
	memset(out, 0, sizeof(*out));
	if (!k->there)
		return 0;
	*out = (struct attach_kernel) {
		.state = k->fenced ? ATTACH_FENCED : k->live && !k->served ? ATTACH_SERVING :
			 k->live ? ATTACH_SERVING : ATTACH_OPENING,
		.readonly = k->readonly, .number = k->number, .served = k->served, .version = k->l.version,
		.fenced_by = k->fenced_by, .held = k->held, .barred = k->barred, .openers = k->openers,
	};
	if (k->fencer)
		out->fencer = hid(k->fencer - 1);
	if (k->held)
		out->holder = hid(k->held - 1);
	memcpy(out->bar, k->bar, k->barred * sizeof(*k->bar));
	if (k->live)
		strcpy(out->disk, "mesh0");
	return 0;
}

static inline int op_kernels(void *m, struct muuid *out, u32 max)
{
	(void)max;
	out[0] = vid();
	return ((struct host *)m)->k.there;
}

static inline bool reaches(int h, u32 i)
{
	return !W.t[i].away && !(W.h[h].cut >> i & 1);
}

static inline int op_probe(void *m, const struct layout *l, struct attach_found *out)
{
	int h = (struct host *)m - W.h;

	OP("probe");
	for (u32 i = 0; i < l->members; i++) {
		const struct target *t = &W.t[l->member[i].extent.b[1] - 1];

		out[i] = (struct attach_found) { .number = t->number, .unknown = t->unknown, .writers = !!t->writer,
						 .readers = !!t->readers };
		if (t->attacher)
			out[i].attacher = hid(t->attacher - 1);
		if (!reaches(h, t - W.t))
			out[i].err = -EHOSTUNREACH;
	}
	DONE;
}

static inline void kernel_close(int h)
{
	for (u32 i = 0; i < MEMBERS; i++) {
		W.t[i].readers &= ~(1 << h);
		if (W.t[i].writer == h + 1)
			W.t[i].writer = 0;
	}
}

static inline void check_set(int h, const struct attach_set *s)
{
	struct obj_attached r;

	if (!record_of(h, &r)) {
		complain("the kernel gets what no record says");
		return;
	}
	if (acc(r.plan.number) != acc(s->number) || r.record->version != s->layout->version ||
	    r.plan.mode != (s->readonly ? PLAN_RO : PLAN_RW) || r.plan.barred != s->barred ||
	    (s->barred && memcmp(r.plan.bar, s->bar, s->barred * sizeof(*s->bar))) || r.fresh != s->fresh)
		complain("the kernel gets something else than the record says");
	obj_free(OBJ_ATTACHED, &r);
	if (s->number == W.h[h].k.number)
		check_bars(h, s->bar, s->barred);
	for (u32 i = 0; !s->readonly && i < s->layout->members; i++) {
		const struct target *t = &W.t[s->layout->member[i].extent.b[1] - 1];

		if ((!s->open || s->open[i]) && t->version < s->layout->version)
			complain("a member is to be opened whose record is older than the layout");
	}
}

static inline int op_set(void *m, const struct attach_set *s)
{
	struct host *y = m;
	struct kernel *k = &y->k;

	OP("set");
	check_set(y - W.h, s);
	if (!k->there)
		memset(k, 0, sizeof(*k));
	if (k->there && acc(k->number) != acc(s->number)) {
		if (!s->served)
			complain("another number under a live kernel, and no retake");
		kernel_close(y - W.h);
		memset(k->open, 0, sizeof(k->open));
		k->number = s->number;
		k->served = s->served;
	}
	k->there = true;
	k->l = *s->layout;
	if (s->number > k->number)
		k->number = s->number;
	k->readonly = s->readonly;
	k->preempt = s->preempt;
	k->fresh = s->fresh;
	k->barred = s->barred;
	for (u32 i = 0; i < s->barred; i++)
		k->bar[i] = s->bar[i];
	for (u32 i = 0; i < MEMBERS; i++)
		k->may[i] = !s->open || s->open[i];
	DONE;
}

static inline void kernel_rosters(const struct kernel *k, struct obj_roster *r)
{
	static const u8 none[MESHBLK_ROSTER_BYTES];

	if (r->groups && memcmp(k->roster, none, sizeof(none)))
		OK(obj_roster_note(r, r->group[0].first, k->roster, SALT));
}

static inline int op_del(void *m, const struct muuid *volume, bool force, struct obj_roster *last)
{
	struct host *y = m;

	(void)volume;
	OP("del");
	if (y->k.openers && !force)
		return -EBUSY;
	if (y->k.live && !y->k.fenced)
		kernel_rosters(&y->k, last);
	memset(&y->k, 0, sizeof(y->k));
	kernel_close(y - W.h);
	DONE;
}

static inline int op_record_get(void *m, const struct muuid *volume, struct obj_attached *out)
{
	struct host *y = m;

	(void)volume;
	memset(out, 0, sizeof(*out));
	if (!y->record)
		return -ENOENT;
	return obj_decode(OBJ_ATTACHED, y->record, strlen(y->record), out, NULL, 0);
}

static inline int op_records(void *m, struct muuid *out, u32 max)
{
	(void)max;
	out[0] = vid();
	return !!((struct host *)m)->record;
}

static inline int op_record_put(void *m, const struct obj_attached *r)
{
	struct host *y = m;
	char err[OBJ_WHY];

	OP("put");
	/* Its restart is this host's; all else the store gave. */
	if (!y->away && acc(r->plan.number) > access_now()->number)
		complain("a record before its transaction");
	free(y->record);
	if (obj_encode(OBJ_ATTACHED, r, &y->record, err, sizeof(err)))
		complain(err);
	DONE;
}

static inline int op_record_erase(void *m, const struct muuid *volume)
{
	struct host *y = m;

	(void)volume;
	OP("erase");
	free(y->record);
	y->record = NULL;
	DONE;
}

static inline int op_slots(void *m, const struct obj_attached *r, struct plan_slot *slot, bool *reached)
{
	int h = (struct host *)m - W.h;

	OP("slots");
	for (u32 i = 0; i < r->record->members; i++) {
		const struct target *t = &W.t[r->record->member[i].extent.b[1] - 1];

		reached[i] = reaches(h, t - W.t);
		slot[i] = (struct plan_slot) { .extent = r->record->member[i].extent, .number = t->number,
					       .record_version = t->version, .record_commit = t->commit };
		if (t->attacher)
			slot[i].attacher = hid(t->attacher - 1);
	}
	DONE;
}

static inline int op_note(void *m, struct attach_note *n)
{
	struct host *y = m;

	if (!y->notes)
		return -ENOENT;
	y->notes = false;
	*n = y->note;
	return 0;
}

static inline int op_noted(void *m, const struct attach_note *n)
{
	struct host *y = m;

	if (slow())
		return -EINPROGRESS;
	y->answered = true;
	y->answer = *n;
	return 0;
}

static inline int op_rosters(void *m, const struct muuid *volume, struct obj_roster *r)
{
	(void)volume;
	kernel_rosters(&((struct host *)m)->k, r);
	return 0;
}

static inline const char *op_words(void *m)
{
	(void)m;
	return "the machine says no";
}

static const struct attach_ops rig_ops = {
	.kernel = op_kernel, .kernels = op_kernels, .probe = op_probe, .set = op_set, .del = op_del,
	.record_get = op_record_get, .records = op_records, .record_put = op_record_put,
	.record_erase = op_record_erase, .slots = op_slots, .note = op_note, .noted = op_noted,
	.rosters = op_rosters, .words = op_words,
};

static inline void fence(int h, const struct target *t)
{
	struct kernel *k = &W.h[h].k;

	k->fenced = true;
	k->fenced_by = t->number;
	k->fencer = t->attacher;
	kernel_close(h);
}

/* OPEN of one member, and its label that the kernel sees. */
static inline void kernel_open(int h, u32 i, struct target *t)
{
	struct kernel *k = &W.h[h].k;
	bool own = t->attacher == h + 1;

	if (acc(t->number) > acc(k->number) || (!k->readonly && acc(t->number) == acc(k->number) && !own &&
						mesh_number_counter(t->number)) ||
	    (k->served && t->number > (k->served | MESH_NUMBER_RESTART_MAX) && !own)) {
		fence(h, t);
		return;
	}
	if (k->readonly) {
		t->readers |= 1 << h;
		k->open[i] = true;
		return;
	}
	if (t->writer == h + 1) {
		k->open[i] = true;
		return;
	}
	if (!k->preempt && (t->writer || t->readers & ~(1 << h))) {
		k->held = t->writer ? t->writer : 1 + (t->readers & 1 ? 0 : t->readers & 2 ? 1 : 2);
		return;
	}
	if (!k->preempt && t->unknown && !own)
		return;
	t->writer = h + 1;
	t->readers = 0;
	t->attacher = h + 1;
	t->number = k->number;
	k->open[i] = true;
}

static inline bool begins(const struct kernel *k)
{
	struct layout_shape shape = layout_shape(&k->l.segment[0]);
	u32 n = 0;

	for (u32 i = 0; i < k->l.members; i++)
		n += k->open[i];
	return n >= (layout_width(&shape) > 1 ? layout_needs(&shape) : k->l.members);
}

static inline void kernel_roster(struct kernel *k, u64 attach, u64 epoch, u64 in_sync, u8 out[MESHBLK_ROSTER_BYTES])
{
	struct prot_owner o = { .salt = SALT };
	struct prot_roster r = { .attach = attach, .epoch = epoch, .in_sync = in_sync,
				 .geo = { .width = k->l.members, .k = 1 } };
	u8 block[PROT_ROSTER_BLOCK];

	memcpy(o.volume, k->l.volume.b, 16);
	for (u32 i = 0; i < k->l.members; i++)
		memcpy(r.uuid[i], k->l.member[i].extent.b, 16);
	prot_roster_seal(block, &r, &o, 0);
	memcpy(out, block, MESHBLK_ROSTER_BYTES);
}

static inline void kernel_tick(int h)
{
	struct kernel *k = &W.h[h].k;

	for (u32 i = 0; k->there && !k->fenced && i < k->l.members; i++) {
		u32 at = k->l.member[i].extent.b[1] - 1;

		if (k->may[i] && reaches(h, at))
			kernel_open(h, i, &W.t[at]);
	}
	if (!k->there || k->fenced || !begins(k) || (k->live && !k->served))
		return;
	k->live = true;
	k->served = 0;
	if (layout_fresh(&k->l) || k->l.segment[0].level == PROT_MIRROR)
		kernel_roster(k, k->number, ++k->epoch, (1 << k->l.members) - 1, k->roster);
}

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
	*l = (struct layout) { .volume = vid(), .name = "vol", .version = version, .commit = 100 + version,
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
};

static inline void put_volume(const struct volume_is *is)
{
	struct layout *l = calloc(1, sizeof(*l));
	struct obj_volume v = { .plan = { .uuid = vid(), .state = is->state ? is->state : PLAN_VOLUME_READY, .fresh = is->fresh, .barred = is->barred,
					  .bar = is->bar }, .record = l, .domain = "host" };

	rig_layout(l, is->level ? is->level : PROT_STRIPE, is->members ? is->members : 2,
		   is->version ? is->version : 1);
	rig_put(O, KEY_VOLUME, &v);
	free(l);
}

#define VOLUME(...) put_volume(&(struct volume_is) { __VA_ARGS__ })

/* The record of @version is durable on member @i, and drive/D says so. */
static inline void recorded(u32 i, u64 version)
{
	struct plan_extent x = { .uuid = rig_id('x', 1 + i), .volume = vid(), .place = i, .state = PLAN_READY,
				 .start = 4 << 20, .length = 128 << 20, .version = version,
				 .commit = version ? 100 + version : 0 };
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
	bool	preempt, force, no_writer;
};

/* What meshctl writes. */
static inline void put_want(int h, const struct want_is *is)
{
	struct obj_want w = { .host = hid(h), .volume = vid(), .mode = is->mode, .preempt = is->preempt,
			      .force = is->force, .boot = true };
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
	if (!y->away)
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
