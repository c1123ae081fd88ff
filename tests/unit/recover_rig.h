/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recover over a store in a file: three hosts with drives, kernels and records in memory.
 *
 *   W.d[]  labels and layout records        W.k[h][v]  what host h's kernel and record have of volume v
 *     '---- as they are now                       '---- likewise
 *   S.*    objects of the store, as they are at some point: store_write() makes the store of them
 *
 * A test changes the world by what was acknowledged (create, attach, extend, ..), keeps the store's
 * objects of before, writes these, and recovers: world_check() compares what came back.
 */
#ifndef TESTS_UNIT_RECOVER_RIG_H
#define TESTS_UNIT_RECOVER_RIG_H

#include <errno.h>

#include "tests/unit/agent_rights.h"
#include "tests/unit/agent_rig.h"
#include "userspace/agent/drive.h"
#include "userspace/agent/recover.h"
#include "userspace/agent/report.h"
#include "userspace/format/view.h"

#define GIB	(1ULL << 30)
#define LONG	(64ULL << 20)
#define HOSTS	3
#define DRIVES	6		/* two on each host */
#define VOLUMES	4
#define EXTENTS	8		/* of a drive */

static inline struct muuid hid(int h) { return rig_id('h', 1 + h); }
static inline struct muuid did(int d) { return rig_id('d', 1 + d); }
static inline struct muuid vid(int v) { return rig_id('v', 1 + v); }
static inline int host_of(int d) { return d / 2; }

struct rig_drive {
	struct label label;
	struct layout *record[EXTENTS];	/* in the order of the label */
	bool	slow, broken, away;
	bool	waits;			/* of @slow: the answer came */
};

struct rig_kernel {
	bool	there, readonly, record;
	u64	number;
};

/* The truth of the store, as it is acknowledged. */
struct rig_store {
	bool	has[VOLUMES];
	u8	state[VOLUMES];
	bool	fresh[VOLUMES];
	char	name[VOLUMES][16];
	struct layout *l[VOLUMES];	/* never freed while a copy of this may be */
	u64	number[VOLUMES];
	u8	mode[VOLUMES];
	int	holder[VOLUMES];
	bool	wanted[VOLUMES][HOSTS];
	struct muuid allow[VOLUMES];	/* the one host that may; null: all */
	bool	drives, hosts;
	/* drive/D */
	u32	extents[DRIVES];
	struct plan_extent x[DRIVES][EXTENTS];
};

static struct rig_store T;
static struct {
	struct rig_drive d[DRIVES];
	struct rig_kernel k[HOSTS][VOLUMES];
	struct layout *made[32];
	u32	mades;
	u32	next_x;
	bool	off[HOSTS];		/* the host hands in nothing */
	u32	followed[HOSTS];
	u8	role[HOSTS];
	int	cur;			/* host whose agent runs; -1: none */
} W;

static struct store *other, *hs[HOSTS];
static struct copy *O, *hc[HOSTS];
static struct report_agent ra[HOSTS];
static struct drive_agent da[DRIVES];

/* ---- drives */

static inline int index_of(const struct rig_drive *d, const struct muuid *extent)
{
	for (u32 i = 0; i < d->label.extents; i++) {
		if (muuid_equal(&d->label.extent[i].uuid, extent))
			return (int)i;
	}
	return -1;
}

static inline const struct label *op_label(void *dev)
{
	struct rig_drive *d = dev;

	return d->away ? NULL : &d->label;
}

static inline int op_record(void *dev, const struct label_extent *e, struct layout_head *head)
{
	struct rig_drive *d = dev;
	int i = index_of(d, &e->uuid);

	if (d->slow && !d->waits) {
		d->waits = true;
		return -EINPROGRESS;
	}
	d->waits = false;
	if (i < 0 || !d->record[i])
		return -ENODATA;
	*head = (struct layout_head) { .volume = d->record[i]->volume, .version = d->record[i]->version,
				       .commit = d->record[i]->commit };
	return 0;
}

static inline int op_label_write(void *dev, const struct label *l)
{
	struct rig_drive *d = dev;

	if (d->broken)
		return -EIO;
	for (u32 i = 0; i < d->label.extents; i++) {
		if (!label_find(l, &d->label.extent[i].uuid))
			CU_FAIL("an extent is taken out of a label");
	}
	d->label = *l;
	d->label.sequence++;
	return 0;
}

static inline int op_record_write(void *dev, const struct label_extent *e, const struct layout *l)
{
	struct rig_drive *d = dev;
	int i = index_of(d, &e->uuid);

	W.made[W.mades] = malloc(sizeof(*l));
	*W.made[W.mades] = *l;
	d->record[i] = W.made[W.mades++];
	return 0;
}

static inline int op_zero(void *dev, const struct label_extent *e)
{
	struct rig_drive *d = dev;

	d->label.extent[index_of(d, &e->uuid)].state = LABEL_READY;
	return 0;
}

static inline int op_table(void *dev, const struct label_extent *e)
{
	(void)dev, (void)e;
	CU_FAIL("an extent is freed");
	return -EIO;
}

static const struct drive_ops rig_drive_ops = {
	.label = op_label, .record = op_record, .label_write = op_label_write, .record_write = op_record_write,
	.zero = op_zero, .table = op_table,
};

static inline struct drive_agent *op_drive(void *m, struct drive_agent *after)
{
	int h = (int)(long)m, d = after ? (int)(after - da) + 1 : 0;

	while (d < DRIVES && (host_of(d) != h || W.d[d].away))
		d++;
	return d < DRIVES ? &da[d] : NULL;
}

static inline int op_about(void *m, struct drive_agent *a, struct obj_disk *out)
{
	(void)m;
	snprintf(out->path, sizeof(out->path), "/dev/d%d", (int)(a - da));
	snprintf(out->serial, sizeof(out->serial), "SN%d", (int)(a - da));
	return 0;
}

static inline int op_layout(void *m, struct drive_agent *a, const struct muuid *volume, struct layout *out)
{
	struct rig_drive *d = a->dev;
	int err = -ENODATA;

	(void)m;
	for (u32 i = 0; i < d->label.extents; i++) {
		if (!d->record[i] || !muuid_equal(&d->record[i]->volume, volume) ||
		    (!err && d->record[i]->version <= out->version))
			continue;
		*out = *d->record[i];
		err = 0;
	}
	return err;
}

static const struct report_ops rig_report_ops = { .drive = op_drive, .about = op_about, .layout = op_layout };

/* ---- kernels and records */

static inline struct rig_kernel *kernel_of(void *m, const struct muuid *volume)
{
	for (int v = 0; v < VOLUMES; v++) {
		struct muuid u = vid(v);

		if (muuid_equal(&u, volume))
			return &W.k[(long)m][v];
	}
	return NULL;
}

static inline int op_kernel(void *m, const struct muuid *volume, struct attach_kernel *out)
{
	struct rig_kernel *k = kernel_of(m, volume);

	memset(out, 0, sizeof(*out));
	if (k && k->there) {
		out->state = ATTACH_SERVING;
		out->readonly = k->readonly;
		out->number = k->number;
	}
	return 0;
}

static inline int rig_list(void *m, struct muuid *out, bool records)
{
	int n = 0;

	for (int v = 0; v < VOLUMES; v++) {
		if (records ? W.k[(long)m][v].record : W.k[(long)m][v].there)
			out[n++] = vid(v);
	}
	return n;
}

static inline int op_kernels(void *m, struct muuid *out, u32 max)
{
	(void)max;
	return rig_list(m, out, false);
}

static inline int op_records(void *m, struct muuid *out, u32 max)
{
	(void)max;
	return rig_list(m, out, true);
}

static inline int op_record_get(void *m, const struct muuid *volume, struct obj_attached *out)
{
	struct rig_kernel *k = kernel_of(m, volume);
	int v = k ? (int)(k - W.k[(long)m]) : 0;

	memset(out, 0, sizeof(*out));
	if (!k || !k->record)
		return -ENOENT;
	out->plan = (struct plan_attached) { .volume = *volume, .mode = k->readonly ? PLAN_RO : PLAN_RW,
					     .number = k->number };
	out->record = malloc(sizeof(*out->record));
	*out->record = *T.l[v];
	return 0;
}

static const struct attach_ops rig_attach_ops = {
	.kernel = op_kernel, .kernels = op_kernels, .records = op_records, .record_get = op_record_get,
};

/* ---- what is acknowledged: in the store's truth, and in labels and records */

static inline struct layout *layout_new(const struct layout *from)
{
	struct layout *l = calloc(1, sizeof(*l));

	if (from)
		*l = *from;
	l->version++;
	l->commit = 100 + l->version;
	W.made[W.mades++] = l;
	return l;
}

/* An extent on a drive, in both. */
static inline struct muuid extent_new(int d, int v, int place)
{
	struct label *l = &W.d[d].label;
	struct muuid x = rig_id('x', (u8)++W.next_x);
	u32 i = l->extents++;

	l->extent[i] = (struct label_extent) { .uuid = x, .volume = vid(v), .start = LABEL_AREA + i * LONG,
					       .length = LONG, .state = LABEL_READY };
	T.x[d][T.extents[d]++] = (struct plan_extent) { .uuid = x, .volume = vid(v), .place = (u16)place,
							.state = PLAN_READY, .start = l->extent[i].start, .length = LONG };
	return x;
}

/* Record, label, and drive/D have the layout's version. */
static inline void roll(int v)
{
	const struct layout *l = T.l[v];

	for (int d = 0; d < DRIVES; d++) {
		for (u32 i = 0; i < W.d[d].label.extents; i++) {
			struct label_extent *e = &W.d[d].label.extent[i];

			if (!layout_names(l, &e->uuid))
				continue;
			W.d[d].record[i] = (struct layout *)l;
			e->version = l->version;
			e->commit = l->commit;
			for (u32 n = 0; n < T.extents[d]; n++) {
				if (muuid_equal(&T.x[d][n].uuid, &e->uuid)) {
					T.x[d][n].version = l->version;
					T.x[d][n].commit = l->commit;
				}
			}
		}
	}
}

#define DATA	(16ULL << 20)		/* of a member */

static inline void add_member(struct layout *l, int d, const struct muuid *x)
{
	const struct layout_segment *s = &l->segment[l->segments - 1];

	l->member[l->members] = (struct layout_member) { .target = hid(host_of(d)), .drive = did(d), .extent = *x,
							 .size = LONG };
	l->ref[l->refs++] = (struct layout_ref) { l->members++, layout_data_at(s, l->lba) };
}

static inline void add_segment(struct layout *l, u8 level, u32 refs)
{
	l->segment[l->segments++] = (struct layout_segment) {
		.start = l->size, .length = level == PROT_MIRROR ? DATA : DATA * refs, .level = level,
		.data = (u8)refs, .groups = 1, .strip = level == PROT_LINEAR ? 0 : 65536, .first_ref = l->refs,
		.refs = refs, .fresh = level == PROT_MIRROR };
	l->size += l->segment[l->segments - 1].length;
}

/* @level: PROT_STRIPE over drives a and b, or PROT_MIRROR of them. */
static inline void do_create(int v, const char *name, u8 level, int a, int b)
{
	struct layout *l = layout_new(NULL);
	struct muuid x[2] = { extent_new(a, v, 0), extent_new(b, v, 1) };

	l->volume = vid(v);
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->lba = 512;
	l->salt = 7;
	add_segment(l, level, 2);
	add_member(l, a, &x[0]);
	add_member(l, b, &x[1]);
	CU_ASSERT_EQUAL_FATAL(layout_check(l), 0);
	T.l[v] = l;
	T.has[v] = true;
	T.state[v] = PLAN_VOLUME_READY;
	T.fresh[v] = level == PROT_MIRROR;
	snprintf(T.name[v], sizeof(T.name[v]), "%s", name);
	T.number[v] = mesh_number(1, 0, 0);
	roll(v);
}

static inline void do_attach(int v, int h)
{
	T.number[v] += 1 << MESH_NUMBER_RESTART_BITS;
	T.mode[v] = PLAN_RW;
	T.holder[v] = h;
	T.wanted[v][h] = true;
	T.fresh[v] = false;
	W.k[h][v] = (struct rig_kernel) { .there = true, .record = true, .number = T.number[v] };
	for (int d = 0; d < DRIVES; d++) {
		for (u32 i = 0; i < W.d[d].label.extents; i++) {
			struct label_extent *e = &W.d[d].label.extent[i];

			if (layout_names(T.l[v], &e->uuid)) {
				e->attach = T.number[v];
				e->attacher = e->holder = hid(h);
			}
		}
	}
}

static inline void do_detach(int v, int h)
{
	T.mode[v] = PLAN_NONE;
	T.wanted[v][h] = false;
	memset(&W.k[h][v], 0, sizeof(W.k[h][v]));
}

/* One more segment, on one drive. */
static inline void do_extend(int v, int d)
{
	struct layout *l = layout_new(T.l[v]);
	struct muuid x = extent_new(d, v, (int)l->members);

	add_segment(l, PROT_LINEAR, 1);
	add_member(l, d, &x);
	CU_ASSERT_EQUAL_FATAL(layout_check(l), 0);
	T.l[v] = l;
	roll(v);
}

static inline void drop(int d, const struct muuid *x)
{
	int i = index_of(&W.d[d], x);
	u32 n = 0;

	for (u32 k = 0; k < T.extents[d]; k++) {
		if (!muuid_equal(&T.x[d][k].uuid, x))
			T.x[d][n++] = T.x[d][k];
	}
	T.extents[d] = n;
	if (i < 0)
		return;
	memmove(&W.d[d].record[i], &W.d[d].record[i + 1], (EXTENTS - i - 1) * sizeof(W.d[d].record[0]));
	label_free(&W.d[d].label, &W.d[d].label.extent[i]);
}

/* The member at a place goes to another drive; what it was on is freed. */
static inline void do_replace(int v, int place, int d)
{
	struct layout *l = layout_new(T.l[v]);
	struct layout_member *m = &l->member[place];
	struct muuid x = extent_new(d, v, place), was = m->extent;
	int from = m->drive.b[1] - 1;

	m->target = hid(host_of(d));
	m->drive = did(d);
	m->extent = x;
	T.l[v] = l;
	roll(v);
	drop(from, &was);
}

static inline void do_delete(int v)
{
	for (u32 i = 0; i < T.l[v]->members; i++)
		drop(T.l[v]->member[i].drive.b[1] - 1, &T.l[v]->member[i].extent);
	T.has[v] = false;
}

/* ---- the store */

static inline void put_volume(const struct rig_store *s, int v)
{
	struct obj_volume o = { .plan = { .uuid = vid(v), .state = s->state[v], .fresh = s->fresh[v] },
				.record = s->l[v], .domain = "host" };
	struct obj_access a = { .volume = vid(v), .plan = { .mode = s->mode[v], .number = s->number[v] } };
	struct obj_name n = { .volume = vid(v) };
	struct obj_writer w = { .volume = vid(v) };

	o.plan.allow = &s->allow[v];
	o.plan.allows = !muuid_null(&s->allow[v]);
	snprintf(n.name, sizeof(n.name), "%s", s->name[v]);
	if (s->mode[v] == PLAN_RW)
		a.plan.holder = hid(s->holder[v]);
	rig_put(O, KEY_VOLUME, &o);
	rig_put(O, KEY_ACCESS, &a);
	rig_put(O, KEY_NAME, &n);
	for (int h = 0; h < HOSTS; h++) {
		struct obj_want want = { .host = hid(h), .volume = vid(v), .mode = PLAN_RW, .boot = true };

		if (!s->wanted[v][h])
			continue;
		rig_put(O, KEY_WANT, &want);
		w.host = hid(h);
		rig_put(O, KEY_WRITER, &w);
	}
}

static inline void put_drive(const struct rig_store *s, int d)
{
	struct obj_drive o = { .plan = { .uuid = did(d), .host = hid(host_of(d)), .wanted = PLAN_IN,
					 .extents = s->extents[d], .extent = s->x[d] },
			       .size = GIB, .lba = 512, .local = W.d[d].label.flags & LABEL_F_LOCAL };

	snprintf(o.path, sizeof(o.path), "/dev/d%d", d);
	snprintf(o.serial, sizeof(o.serial), "SN%d", d);
	rig_put(O, KEY_DRIVE, &o);
}

static inline void store_write(const struct rig_store *s)
{
	struct obj_cluster c = { .plan = { .uuid = rig_id('c', 1), .generation = 1, .format = OBJ_FORMAT(1, 0) } };

	rig_put(O, KEY_CLUSTER, &c);
	for (int h = 0; h < HOSTS; h++) {
		struct obj_host o = { .plan = { .uuid = hid(h), .role = W.role[h] } };

		snprintf(o.name, sizeof(o.name), "host%d", h);
		rig_put(O, KEY_HOST, &o);
	}
	for (int v = 0; v < VOLUMES; v++) {
		if (s->has[v])
			put_volume(s, v);
	}
	for (int d = 0; d < DRIVES; d++)
		put_drive(s, d);
}

/* ---- hosts */

int __real_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);
int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);

int __wrap_store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision)
{
	for (int h = 0; h < HOSTS; h++) {
		struct muuid u = hid(h);

		if (s == hs[h])
			rights_check(other, W.role[h], &u, t);
	}
	return __real_store_txn_settle(s, t, deadline_ms, revision);
}

static inline void follow(struct copy *c)
{
	for (int k = KEY_CLUSTER; k < KEY_KINDS; k++) {
		if (k != KEY_TOKEN)
			OK(copy_follow(c, &(struct key) { .kind = (enum key_kind)k }, 0));
	}
}

static inline void world_begin(void)
{
	memset(&W, 0, sizeof(W));
	memset(&T, 0, sizeof(T));
	rig_begin();
	other = store_sqlite_handle(Q);
	O = copy_open(other);
	follow(O);
	for (int h = 0; h < HOSTS; h++) {
		W.role[h] = h ? PLAN_STORAGE : PLAN_STORE;
		W.followed[h] = 1;
		hs[h] = store_sqlite_handle(Q);
		hc[h] = copy_open(hs[h]);
		follow(hc[h]);
		ra[h] = (struct report_agent) { .copy = hc[h], .host = hid(h), .role = W.role[h],
						.ops = &rig_report_ops, .m = (void *)(long)h,
						.attach = &rig_attach_ops, .attach_m = (void *)(long)h };
	}
	for (int d = 0; d < DRIVES; d++) {
		W.d[d].label = (struct label) { .drive = did(d), .cluster = rig_id('c', 1), .owner = hid(host_of(d)),
						.sequence = 1, .size = GIB, .lba = 512, .generation = 1 };
		da[d] = (struct drive_agent) { .copy = hc[host_of(d)], .host = hid(host_of(d)), .drive = did(d),
					       .ops = &rig_drive_ops, .dev = &W.d[d], .begun = true };
	}
}

static inline void world_end(void)
{
	for (int h = 0; h < HOSTS; h++) {
		copy_close(hc[h]);
		store_close(hs[h]);
		hs[h] = NULL;
	}
	copy_close(O);
	store_close(other);
	rig_end();
	for (u32 i = 0; i < W.mades; i++)
		free(W.made[i]);
}

/* A turn of each host: while the mark is there it hands in, and its drives' agents stand still. */
static inline void world_turn(void)
{
	for (int h = 0; h < HOSTS; h++) {
		bool stopped;

		rig_catch_up(hc[h]);
		stopped = copy_get(hc[h], &(struct key) { .kind = KEY_RECOVER });
		if (!W.off[h] && report_turn(&ra[h], W.followed[h]) < 0)
			CU_FAIL("a report is refused");
		for (int d = 0; d < DRIVES; d++) {
			da[d].stopped = stopped;
			if (host_of(d) == h && !W.d[d].away && drive_turn(&da[d]) < 0)
				CU_FAIL("an agent of a drive is refused");
		}
	}
}

#define TURNS	400

/* Return: as recover_turn() in the end; -EINPROGRESS: it waits. */
static inline int recover_run(struct recover *r)
{
	int ret = -EINPROGRESS;

	for (int i = 0; i < TURNS && ret == -EINPROGRESS; i++) {
		world_turn();
		ret = recover_turn(r);
	}
	return ret;
}

static inline struct recover recover_of(int h)
{
	return (struct recover) { .copy = hc[h], .host = hid(h), .cluster = rig_id('c', 1), .followed = W.followed[h] };
}

/* ---- what must have come back */

static inline const void *seen(enum key_kind kind, int v)
{
	const struct key k = { .kind = kind, .volume = vid(v) };

	rig_catch_up(O);
	return copy_obj(O, &k);
}

static inline u32 generation_now(void)
{
	const struct obj_cluster *c = seen(KEY_CLUSTER, 0);

	return c ? c->plan.generation : 0;
}

static inline const struct plan_extent *in_store(int d, const struct muuid *x)
{
	const struct obj_drive *o;

	rig_catch_up(O);
	o = copy_obj(O, &(struct key) { .kind = KEY_DRIVE, .drive = did(d) });
	for (u32 i = 0; o && i < o->plan.extents; i++) {
		if (muuid_equal(&o->plan.extent[i].uuid, x))
			return &o->plan.extent[i];
	}
	return NULL;
}

/* Every extent of every label is in the store, ready, and every number is above all that was seen. */
static inline void labels_check(void)
{
	for (int d = 0; d < DRIVES; d++) {
		const struct label *l = &W.d[d].label;

		for (u32 i = 0; i < l->extents && !W.d[d].away; i++) {
			const struct plan_extent *x = in_store(d, &l->extent[i].uuid);

			CU_ASSERT_PTR_NOT_NULL_FATAL(x);
			CU_ASSERT_EQUAL(x->state, PLAN_READY);
			CU_ASSERT_EQUAL(x->start, l->extent[i].start);
		}
	}
}

/* All of T is in the store, of a new generation, and no other volume. */
static inline void world_check(u32 generation)
{
	CU_ASSERT_EQUAL(generation_now(), generation);
	for (int v = 0; v < VOLUMES; v++) {
		const struct obj_volume *o = seen(KEY_VOLUME, v);
		const struct obj_access *a = seen(KEY_ACCESS, v);
		const struct obj_name *n = copy_obj(O, &(struct key) { .kind = KEY_NAME });

		(void)n;
		CU_ASSERT_EQUAL(!!o, T.has[v]);
		CU_ASSERT_EQUAL(!!a, T.has[v]);
		if (!o || !a || !T.has[v])
			continue;
		CU_ASSERT_EQUAL(o->plan.state, PLAN_VOLUME_READY);
		CU_ASSERT_EQUAL(o->record->version, T.l[v]->version);
		CU_ASSERT_EQUAL(o->record->commit, T.l[v]->commit);
		CU_ASSERT_EQUAL(o->record->size, T.l[v]->size);
		CU_ASSERT_STRING_EQUAL(o->record->name, T.name[v]);
		CU_ASSERT_EQUAL(o->plan.fresh, T.fresh[v]);
		CU_ASSERT_EQUAL(a->plan.mode, PLAN_NONE);
		CU_ASSERT_EQUAL(mesh_number_generation(a->plan.number), generation);
		CU_ASSERT(mesh_number_counter(a->plan.number) > mesh_number_counter(T.number[v]));
		CU_ASSERT_PTR_NULL(seen(KEY_ROSTER, v));
	}
	labels_check();
}

static inline bool is_wanted(int v, int h)
{
	rig_catch_up(O);
	return copy_obj(O, &(struct key) { .kind = KEY_WANT, .host = hid(h), .volume = vid(v) });
}

#endif
