/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two hosts with agents of exports over one store in a file. Disks are in memory; a host dies before or
 * behind any step on a disk, and any transaction, and begins again from what is durable.
 */
#ifndef TESTS_UNIT_EXPORT_RIG_H
#define TESTS_UNIT_EXPORT_RIG_H

#include <errno.h>

#include "tests/unit/agent_rights.h"
#include "tests/unit/agent_rig.h"
#include "userspace/agent/export.h"

#define GIB	(1ULL << 30)
#define DISKS	3

static struct store *other;
static struct copy *O;			/* the test's */
static u32 seed, odds;			/* of a crash: one in @odds; 0: none */
static bool crashed;
static struct label last_label;

/* Disks that both hosts may reach. */
static struct disk {
	struct export_disk d;
	u32	extents;		/* of its label */
	u8	served;			/* by this host; 0: by none */
	bool	open;			/* by a volume */
	u64	labelled;		/* size in its label */
} disks[DISKS];

static int probe_err, label_err, take_err, leave_err, wipe_err, grow_err;
static const char *forbidden;		/* no host may write keys that begin so */
static u32 slow;			/* calls that answer -EINPROGRESS first */
static char log_[1024];

static struct host {
	u8	n, role;		/* @role: enum plan_role */
	struct store *s;
	struct copy *c;
	struct export_agent agent;
} hosts[3];				/* by number */

static void say(const char *what)
{
	size_t n = strlen(log_);

	snprintf(log_ + n, sizeof(log_) - n, "%s ", what);
}

/* The host dies: what it was at has no effect, or no answer. */
static bool dies(void)
{
	seed = seed * 1664525 + 1013904223;
	if (odds && (seed >> 8) % odds == 0)
		crashed = true;
	return crashed;
}

int __real_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);
int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);

int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision)
{
	struct host *h = s == hosts[1].s ? &hosts[1] : s == hosts[2].s ? &hosts[2] : NULL;
	bool agents = h;
	int ret;

	if (agents && (crashed || dies()))
		return -ECANCELED;
	if (agents) {
		const struct muuid id = rig_id('h', h->n);

		rights_check(other, h->role, &id, t);
		for (size_t i = 0; forbidden && i < t->ops; i++) {
			if (!strncmp(t->op[i].key, forbidden, strlen(forbidden)))
				return -EACCES;
		}
	}
	ret = __real_store_txn_settle(s, t, deadline_ms, revision);
	return agents && dies() ? -ECANCELED : ret;
}

static struct disk *disk_at(const char *path)
{
	for (int i = 0; i < DISKS; i++) {
		if (!strcmp(disks[i].d.disk.path, path))
			return &disks[i];
	}
	return NULL;
}

static struct disk *disk_of(const struct muuid *drive)
{
	for (int i = 0; i < DISKS; i++) {
		if (!muuid_null(drive) && muuid_equal(&disks[i].d.drive, drive))
			return &disks[i];
	}
	return NULL;
}

static const struct obj_drive *drive_key(const struct muuid *drive)
{
	rig_catch_up(O);
	return copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = *drive });
}

static const struct obj_task *task(u8 t)
{
	rig_catch_up(O);
	return copy_obj(O, &(struct key) { .kind = KEY_TASK, .task = rig_id('t', t) });
}

static u32 mkfs_after;	/* probes, then there is a file system on the disk; 0: never */

static int op_probe(void *m, const char *path, struct export_disk *out)
{
	struct disk *d = disk_at(path);

	(void)m;
	if (dies() || (slow && slow--))
		return -EINPROGRESS;
	if (probe_err || !d)
		return probe_err ? probe_err : -ENOENT;
	*out = d->d;
	out->bare = d->d.found == EXPORT_LABEL && !d->extents;
	say("probe");
	if (mkfs_after && !--mkfs_after) {
		d->d.found = EXPORT_FOREIGN;
		snprintf(d->d.what, sizeof(d->d.what), "%s has a file system", path);
	}
	return 0;
}

/* A task in the store names the drive, so that a repeat makes the same one. */
static bool is_promised(const struct muuid *drive)
{
	const struct copy_item *i = NULL;

	rig_catch_up(O);
	while ((i = copy_next(O, &(struct key) { .kind = KEY_TASK }, 0, i))) {
		const struct obj_task *t = i->obj;

		if (muuid_equal(&t->drive, drive) && t->state == OBJ_TASK_RUNNING)
			return true;
	}
	return false;
}

static int op_label_first(void *m, const char *path, const struct label *l)
{
	struct disk *d = disk_at(path);

	(void)m;
	if (dies() || (slow && slow--))
		return -EINPROGRESS;
	CU_ASSERT(is_promised(&l->drive));
	CU_ASSERT_PTR_NULL(drive_key(&l->drive));
	CU_ASSERT_EQUAL(label_check(l), 0);
	CU_ASSERT(l->sequence > d->d.sequence);
	if (label_err)
		return label_err;
	last_label = *l;
	d->d.found = EXPORT_LABEL;
	d->d.drive = l->drive;
	d->d.owner = l->owner;
	d->d.cluster = l->cluster;
	d->d.sequence = l->sequence;
	d->d.generation = l->generation;
	d->labelled = l->size;
	d->extents = 0;
	say("label");
	return dies() ? -EINPROGRESS : 0;
}

static int op_take(void *m, const char *path, const struct muuid *drive)
{
	struct disk *d = disk_at(path);
	struct host *h = m;

	if (dies() || (slow && slow--))
		return -EINPROGRESS;
	if (take_err)
		return take_err;
	CU_ASSERT(d->d.found == EXPORT_LABEL && muuid_equal(&d->d.drive, drive));
	CU_ASSERT(d->d.owner.b[1] == h->n);
	CU_ASSERT(!d->served || d->served == h->n);
	d->served = h->n;
	d->d.left = false;
	say("take");
	return dies() ? -EINPROGRESS : 0;
}

static int op_leave(void *m, const struct muuid *drive, unsigned int how)
{
	bool wipe = how & EXPORT_WIPE, preempt = how & EXPORT_PREEMPT;
	struct disk *d = disk_of(drive);
	struct host *h = m;
	const struct obj_drive *key = drive_key(drive);

	if (dies() || (slow && slow--))
		return -EINPROGRESS;
	/* none is placed on it meanwhile, and none that the store knows is lost */
	CU_ASSERT(!key || key->plan.wanted != PLAN_IN);
	CU_ASSERT(!wipe || !key || !key->plan.extents);
	if (!d || d->served != h->n)
		return -ENODEV;
	if (d->open && !preempt)
		return -EBUSY;
	if (leave_err || (wipe && wipe_err))
		return leave_err ? leave_err : wipe_err;
	if (wipe && d->extents)
		return -ENOTEMPTY;
	d->served = 0;
	d->d.left = !wipe;
	if (wipe) {
		d->d.found = EXPORT_EMPTY;
		memset(&d->d.drive, 0, sizeof(d->d.drive));
	}
	d->open = false;
	say(wipe ? "wipe" : preempt ? "take-away" : "leave");
	return dies() ? -EINPROGRESS : 0;
}

static int op_own(void *m, const char *path, const struct muuid *drive, const struct muuid *host)
{
	struct disk *d = disk_at(path);
	const struct obj_drive *key = drive_key(drive);

	(void)m;
	if (dies() || (slow && slow--))
		return -EINPROGRESS;
	CU_ASSERT(muuid_equal(&d->d.drive, drive));
	CU_ASSERT_PTR_NOT_NULL_FATAL(key);
	CU_ASSERT(muuid_equal(&key->plan.host, host));
	d->d.owner = *host;
	say("own");
	return dies() ? -EINPROGRESS : 0;
}

static int op_grow(void *m, const struct muuid *drive, u64 *size)
{
	struct disk *d = disk_of(drive);
	struct host *h = m;

	if (dies() || (slow && slow--))
		return -EINPROGRESS;
	CU_ASSERT(d && d->served == h->n);
	if (!grow_err && d->labelled != d->d.disk.size) {
		d->labelled = d->d.disk.size;
		say("grow");
	}
	*size = d->labelled;
	return dies() ? -EINPROGRESS : grow_err;
}

static const char *op_words(void *m)
{
	(void)m;
	return "the disk says no";
}

static const struct export_ops ops = {
	.probe = op_probe, .label_first = op_label_first, .take = op_take, .leave = op_leave,
	.words = op_words, .own = op_own, .grow = op_grow,
};

static int follow(struct copy *c)
{
	static const enum key_kind kinds[] = { KEY_CLUSTER, KEY_HOST, KEY_ALIVE, KEY_DRIVE, KEY_VOLUME, KEY_TASK,
					       KEY_STATUS };
	int err = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !err; i++)
		err = copy_follow(c, &(struct key) { .kind = kinds[i] }, 0);
	return err;
}

/* Drives that are taken up by themselves when the daemon starts. */
static void rescan(struct host *h)
{
	const struct obj_cluster *c = copy_obj(h->c, &(struct key) { .kind = KEY_CLUSTER });
	struct muuid id = rig_id('h', h->n);
	char words[OBJ_WORDS];

	for (int i = 0; i < DISKS; i++) {
		struct key k = { .kind = KEY_DRIVE, .drive = disks[i].d.drive };
		const struct obj_drive *key = muuid_null(&k.drive) ? NULL : copy_obj(h->c, &k);

		if (disks[i].served == h->n)
			disks[i].served = 0;
		if (export_take(&disks[i].d, key, &id, c, words, sizeof(words))) {
			CU_ASSERT_EQUAL(disks[i].served, 0);
			disks[i].served = h->n;
		}
	}
}

static void host_start(u8 n)
{
	struct host *h = &hosts[n];

	h->n = n;
	h->s = store_sqlite_handle(Q);
	h->c = copy_open(h->s);
	OK(follow(h->c));
	h->agent = (struct export_agent) { .copy = h->c, .host = rig_id('h', n), .ops = &ops, .machine = h,
					   .now = 1000 };
	rescan(h);
}

static void host_stop(u8 n)
{
	export_end(&hosts[n].agent);
	copy_close(hosts[n].c);
	store_close(hosts[n].s);
	hosts[n].s = NULL;
}

static void put_host(u8 n, u8 role, bool removed)
{
	struct obj_host h = { .plan = { .uuid = rig_id('h', n), .role = role, .removed = removed } };

	snprintf(h.name, sizeof(h.name), "s%u", n);
	rig_put(O, KEY_HOST, &h);
	hosts[n].role = role;
}

static void put_alive(u8 n)
{
	struct obj_alive a = { .host = rig_id('h', n), .boot = rig_id('b', n), .meshd = "1", .format = 1000 };

	rig_put(O, KEY_ALIVE, &a);
}

static void begin_with(u32 with_seed, u32 with_odds)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', 1), .generation = 3, .format = 1000 } };

	seed = with_seed;
	odds = with_odds;
	crashed = false;
	probe_err = label_err = take_err = leave_err = wipe_err = grow_err = slow = 0;
	forbidden = NULL;
	memset(disks, 0, sizeof(disks));
	for (int i = 0; i < DISKS; i++) {
		struct obj_disk *d = &disks[i].d.disk;

		snprintf(d->path, sizeof(d->path), "/dev/d%d", i);
		snprintf(d->serial, sizeof(d->serial), "S%d", i);
		strcpy(d->model, "disk");
		d->size = GIB;
		d->lba = 512;
	}
	log_[0] = 0;
	rig_begin();
	other = store_sqlite_handle(Q);
	O = copy_open(other);
	OK(follow(O));
	rig_put(O, KEY_CLUSTER, &c);
	for (u8 h = 1; h <= 2; h++) {
		put_host(h, PLAN_STORAGE, false);
		put_alive(h);
		host_start(h);
	}
}

static void begin(void)
{
	begin_with(1, 0);
}

static void end(void)
{
	host_stop(1);
	host_stop(2);
	copy_close(O);
	store_close(other);
	rig_end();
}

/* Both hosts, until neither does more; one that died starts again. */
static const char *settle(void)
{
	for (int i = 0, idle = 0; i < 400 && idle < 6; i++) {
		struct host *h = &hosts[1 + i % 2];
		int ret;

		rig_catch_up(h->c);
		ret = export_turn(&h->agent);
		CU_ASSERT(ret >= 0 || crashed);
		idle = ret || crashed || slow ? 0 : idle + 1;
		if (crashed) {
			host_stop(h->n);
			crashed = false;
			host_start(h->n);
		}
	}
	rig_catch_up(O);
	return log_;
}

static void put_task_after(u8 t, const char *verb, u8 host, json_t *args, u8 after)
{
	struct muuid before = rig_id('t', after);
	struct obj_task o = { .uuid = rig_id('t', t), .args = args, .state = OBJ_TASK_WAITING,
			      .host = rig_id('h', host), .created = 5, .afters = !!after, .after = &before };

	strcpy(o.verb, verb);
	rig_put(O, KEY_TASK, &o);
	json_decref(args);
	log_[0] = 0;
}

#define put_task(t, verb, host, args)	put_task_after(t, verb, host, args, 0)

static void put_export(u8 t, u8 host, const char *path, const char *flag)
{
	json_t *args = json_pack("{s:s}", "path", path);

	if (flag)
		json_object_set_new(args, flag, json_true());
	put_task(t, "drive export", host, args);
}

static void put_unexport(u8 t, u8 host, const struct muuid *drive, bool force)
{
	json_t *args = json_pack("{s:s}", "drive", muuid_str(drive).s);

	if (force)
		json_object_set_new(args, "force", json_true());
	put_task(t, "drive unexport", host, args);
}

static bool ended_as(u8 t, u8 state, const char *words)
{
	const struct obj_task *o = task(t);
	bool ok = o && o->state == state && strstr(o->error, words) && (words[0] || !o->error[0]);

	if (!ok)
		printf("\n  task %d is %d: \"%s\", and not %d: \"%s\"\n", t, o ? o->state : 0, o ? o->error : "none",
		       state, words);
	return ok;
}

#define DONE(t)		CU_ASSERT(ended_as(t, OBJ_TASK_DONE, ""))
#define FAILED(t, w)	CU_ASSERT(ended_as(t, OBJ_TASK_FAILED, w))

static inline u32 drives(void)
{
	const struct copy_item *i = NULL;
	u32 n = 0;

	rig_catch_up(O);
	while ((i = copy_next(O, &(struct key) { .kind = KEY_DRIVE }, 0, i)))
		n++;
	return n;
}

/* Export /dev/d0 on host 1. */
static struct muuid exported(void)
{
	put_export(1, 1, "/dev/d0", NULL);
	settle();
	DONE(1);
	return disks[0].d.drive;
}

/* Extents of two volumes, of which the store knows one. */
static void put_extents(const struct muuid *drive, u32 n)
{
	struct obj_drive d = *drive_key(drive);
	struct plan_extent x[8];
	struct layout *l = calloc(1, sizeof(*l));
	struct obj_volume v = { .plan = { .uuid = rig_id('v', 1), .state = PLAN_CREATING }, .record = l, .domain = "host" };

	for (u32 i = 0; i < n; i++)
		x[i] = (struct plan_extent) { .uuid = rig_id('x', 1 + i), .volume = rig_id('v', 1 + i), .state = PLAN_READY,
					      .start = (4 + i) << 20, .length = 1 << 20 };
	d.plan.extents = n;
	d.plan.extent = x;
	rig_put(O, KEY_DRIVE, &d);
	disk_of(drive)->extents = n;
	l->volume = v.plan.uuid;
	strcpy(l->name, "data");
	l->version = l->commit = 1;
	l->lba = 512;
	l->members = l->refs = 2;
	for (u8 i = 0; i < 2; i++) {
		l->member[i] = (struct layout_member) { .target = rig_id('h', 1), .drive = i ? rig_id('d', 7) : *drive,
							.extent = rig_id('x', i ? 9 : 1), .size = 64 << 20 };
		l->ref[i] = (struct layout_ref) { i, LAYOUT_DATA };
	}
	l->segment[0] = (struct layout_segment) { .length = 64 << 20, .level = PROT_STRIPE, .data = 2,
						  .groups = 1, .strip = 65536, .refs = 2 };
	l->size = 64 << 20;
	l->segments = 1;
	if (n)
		rig_put(O, KEY_VOLUME, &v);
	free(l);
}

#endif
