// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/crash.h"
#include "userspace/daemon/volumes_in.h"

#define LEAVINGS_MAX	400	/* one attribute holds 64 KiB */

struct set_arg {
	u32	targets;
	struct vol_target *target;
	struct meshblk_volume mv;
	char	why[400];
};

static void set_drop(void *arg)
{
	struct set_arg *x = arg;

	meshblk_volume_free(&x->mv);
	free(x->target);
	free(x);
}

/* On a thread, whose keyring has the salt meanwhile. */
static int set_run(void *arg)
{
	struct set_arg *x = arg;
	struct mesh *m = mesh_open();
	int err;

	snprintf(x->why, sizeof(x->why), "netlink does not work");
	if (!m)
		return -EIO;
	err = reach_connect(m, x->target, x->targets, x->why, sizeof(x->why));
	if (!err) {
		err = meshblk_volume_set(m, &x->mv);
		if (err)
			snprintf(x->why, sizeof(x->why), "the kernel refuses it: %.200s", mesh_why(m));
		else
			crash_point("after set");
	}
	mesh_close(m);
	return err;
}

/* Checksum of all arguments. */
static u64 set_of(const struct attach_set *a)
{
	const struct {
		u64	version, commit, number, served;
		u32	fresh, readonly, preempt, again, barred, timeout_ms, queue_depth;
	} head = {
		a->layout->version, a->layout->commit, a->number, a->served, a->fresh, a->readonly,
		a->preempt, a->again, a->barred, a->io ? a->io->timeout_ms : 0, a->io ? a->io->queue_depth : 0,
	};
	u64 of = xxh64(&head, sizeof(head), 0);

	if (a->barred)
		of = xxh64(a->bar, a->barred * sizeof(*a->bar), of);
	if (a->forgottens)
		of = xxh64(a->forgotten, a->forgottens * sizeof(*a->forgotten), of + 1);
	for (u32 i = 0; i < a->leavings; i++)
		of = xxh64(&a->leaving[i].extent, sizeof(a->leaving[i].extent), of + a->leaving[i].place);
	return a->open ? xxh64(a->open, a->layout->members * sizeof(*a->open), of) : of;
}

static int fill_segment(const struct layout *l, u32 i, bool fresh, struct meshblk_segment *out)
{
	const struct layout_segment *s = &l->segment[i];

	*out = (struct meshblk_segment) {
		.start = s->start, .length = s->length, .level = s->level,
		.strip = s->strip ? s->strip : LAYOUT_NO_STRIP, .data = s->data,
		.parity = s->parity, .groups = s->groups, .nr_places = s->refs,
		.fresh = fresh && s->fresh,
	};
	out->members = calloc(s->refs, sizeof(*out->members));
	out->offsets = calloc(s->refs, sizeof(*out->offsets));
	if (!out->members || !out->offsets)
		return -ENOMEM;
	for (u32 k = 0; k < s->refs; k++) {
		out->members[k] = l->ref[s->first_ref + k].member;
		out->offsets[k] = l->ref[s->first_ref + k].offset;
	}
	return 0;
}

static bool among(const u16 *place, u32 places, u32 member)
{
	for (u32 i = 0; i < places; i++)
		if (place[i] == member)
			return true;
	return false;
}

/* A place of the kernel is a reference; one of decisions is a member. */
static int fill_places(const struct layout *l, const u16 *place, u32 places, u32 **out, u32 *n)
{
	*out = calloc(l->refs + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (u32 r = 0; r < l->refs; r++)
		if (among(place, places, l->ref[r].member))
			(*out)[(*n)++] = r;
	return 0;
}

void set_member(const struct layout_member *mb, const struct reach *r, bool preempt,
		struct meshblk_member *out)
{
	/* A member without a way is away, which a group may serve without. */
	u8 kind = r->err ? MESHBLK_KIND_BDEV : r->kind;

	*out = (struct meshblk_member) {
		.kind = kind, .extent = mb->extent, .drive = mb->drive, .size = mb->size,
		.target_id = r->target, .preempt = preempt, .start = r->start,
	};
	if (kind == MESHBLK_KIND_BDEV && r->disk)
		snprintf(out->path, sizeof(out->path), "%s", disk_path(r->disk));
}

/* The extent that leaves, as drive/D has it now; else as the record has it. False: neither does. */
static bool left_member(const struct volumes *s, const struct attach_set *a, const struct muuid *extent,
			struct layout_member *out)
{
	const struct key all = { .kind = KEY_DRIVE };
	const struct copy_item *i = NULL;
	bool is = false;

	*out = (struct layout_member) { .extent = *extent };
	for (u32 k = 0; k < a->lefts && !is; k++) {
		is = muuid_equal(&a->left[k].extent, extent);
		if (is)
			*out = a->left[k];
	}
	while ((i = copy_next(s->c.copy, &all, 0, i))) {
		const struct obj_drive *d = i->obj;

		for (u32 e = 0; d && e < d->plan.extents; e++) {
			if (!muuid_equal(&d->plan.extent[e].uuid, extent))
				continue;
			out->drive = d->plan.uuid;
			out->size = d->plan.extent[e].length;
			return true;
		}
	}
	return is;
}

/* What leaves, behind the members: one for each reference to the place. */
struct leavings {
	u32	n;
	struct layout_member *member;
	u32	*place;		/* of decisions */
};

static void leavings_free(struct leavings *x)
{
	free(x->member);
	free(x->place);
}

static int leavings_of(const struct volumes *s, const struct attach_set *a, struct leavings *x)
{
	*x = (struct leavings) {
		.member = calloc(a->leavings + 1, sizeof(*x->member)),
		.place = calloc(a->leavings + 1, sizeof(*x->place)),
	};
	if (!x->member || !x->place)
		return -ENOMEM;
	for (u32 i = 0; i < a->leavings; i++) {
		x->place[x->n] = a->leaving[i].place;
		x->n += left_member(s, a, &a->leaving[i].extent, &x->member[x->n]);
	}
	return 0;
}

/* @r: of what leaves; without a way it is as good as away, as the kernel takes no other one later. */
static int fill_leavings(const struct attach_set *a, const struct leavings *x, const struct reach *r,
			 struct meshblk_volume *mv)
{
	const struct layout *l = a->layout;

	mv->leavings = calloc(l->refs + 1, sizeof(*mv->leavings));
	if (!mv->leavings)
		return -ENOMEM;
	for (u32 k = 0; k < l->refs; k++)
		for (u32 i = 0; i < x->n && mv->nr_leavings < LEAVINGS_MAX; i++) {
			struct meshblk_leaving *out = &mv->leavings[mv->nr_leavings];

			if (l->ref[k].member != x->place[i] || r[i].err)
				continue;
			out->place = k;
			set_member(&x->member[i], &r[i], a->preempt, &out->member);
			mv->nr_leavings++;
		}
	return 0;
}

/* The only store host; null: there are several, or none is known. */
static struct muuid only_store(const struct volumes *s)
{
	const struct key hosts = { .kind = KEY_HOST };
	const struct copy_item *i = NULL;
	struct muuid found = { 0 };
	u32 n = 0;

	while ((i = copy_next(s->c.copy, &hosts, 0, i))) {
		const struct obj_host *h = i->obj;

		if (!h || h->plan.role != PLAN_STORE || h->plan.removed)
			continue;
		found = h->plan.uuid;
		n++;
	}
	return n == 1 ? found : (struct muuid) { 0 };
}

/* The death of such a host takes a copy and the witness at once: writes elsewhere would wait for it. */
static bool beside_store(const struct volumes *s, const struct attach_set *a, const struct reach *r)
{
	const struct muuid store = only_store(s);

	if (muuid_null(&store) || muuid_equal(&store, &s->c.host))
		return false;
	for (u32 i = 0; i < a->layout->members; i++)
		if (muuid_equal(&r[i].host, &store))
			return true;
	return false;
}

static int fill(const struct volumes *s, const struct attach_set *a, const struct reach *r,
		const struct leavings *x, struct meshblk_volume *mv)
{
	const struct layout *l = a->layout;
	int err;

	*mv = (struct meshblk_volume) {
		.uuid = l->volume, .version = l->version, .size = l->size, .lba = l->lba,
		.readonly = a->readonly, .numbered = true, .attach = a->number, .served = a->served,
		.again = a->again, .beside_store = beside_store(s, a, r),
		.io_timeout_ms = a->io ? a->io->timeout_ms : 0,
		.queue_depth = a->io ? a->io->queue_depth : 0,
		.salt = layout_protected(l) ? l->salt : 0,
	};
	snprintf(mv->name, sizeof(mv->name), "%s", l->name);
	mv->members = calloc(l->members, sizeof(*mv->members));
	mv->segments = calloc(l->segments, sizeof(*mv->segments));
	if (!mv->members || !mv->segments)
		return -ENOMEM;
	mv->nr_members = l->members;
	mv->nr_segments = l->segments;
	for (u32 i = 0; i < l->members; i++)
		set_member(&l->member[i], &r[i], a->preempt, &mv->members[i]);
	err = fill_places(l, a->bar, a->barred, &mv->bars, &mv->nr_bars);
	if (!err)
		err = fill_places(l, a->forgotten, a->forgottens, &mv->forgotten, &mv->nr_forgotten);
	if (!err)
		err = fill_leavings(a, x, &r[l->members], mv);
	for (u32 i = 0; i < l->segments && !err; i++)
		err = fill_segment(l, i, a->fresh, &mv->segments[i]);
	return err;
}

/* A label whose number is above is of an attachment that has followed. */
static int local_said(struct volumes *s, const struct reach *r, const struct muuid *drive, int err)
{
	if (err == -EBUSY)
		return vol_fail(s, err, "local drive %s (%.79s) is mounted, or another program or driver holds it: end "
				"that first; the volume does not know what it wrote", muuid_str(drive).s,
				disk_path(r->disk));
	if (err == -ESTALE)
		return vol_fail(s, err, "the label of local drive %s has a higher number", muuid_str(drive).s);
	if (err && err != -EINPROGRESS)
		return vol_fail(s, err, "the number cannot be written to the label of local drive %s: %s",
				muuid_str(drive).s, strerror(-err));
	return err;
}

int set_local(struct volumes *s, const struct reach *r, const struct muuid *extent, const struct muuid *drive,
	      u64 number, u64 served)
{
	return local_said(s, r, drive, disk_number(r->disk, extent, &s->c.host, number, served));
}

static int check_local(struct volumes *s, const struct attach_set *a, const struct layout_member *mb,
		       const struct reach *r)
{
	/* Readers open the device alone: they note nothing in its label. */
	if (!a->readonly)
		return set_local(s, r, &mb->extent, &mb->drive, a->number, a->served);
	return local_said(s, r, &mb->drive, disk_reader(r->disk, &mb->extent, &s->c.host, a->number));
}

static bool kernel_has(const struct vol *v, const struct muuid *extent)
{
	for (u32 i = 0; v->there && i < v->k.nr_members; i++)
		if (muuid_equal(&v->k.members[i].extent, extent))
			return true;
	return false;
}

/* True if the agent of a member's drive can write the layout's record there. */
static bool can_roll(const struct volumes *s, const struct reach *r, const struct muuid *drive)
{
	const struct obj_drive *d = copy_obj(s->c.copy, &(struct key) { .kind = KEY_DRIVE, .drive = *drive });
	const struct obj_device *has = copy_obj(s->c.copy, &(struct key) { .kind = KEY_DEVICE, .host = r->host });

	if (!copy_get(s->c.copy, &(struct key) { .kind = KEY_ALIVE, .host = r->host }))
		return false;
	if (!d || (d->plan.wanted != PLAN_IN && d->plan.wanted != PLAN_DRAINING))
		return false;
	for (u32 i = 0; has && i < has->disks; i++)
		if (muuid_equal(&has->disk[i].drive, drive))
			return true;
	return false;
}

/*
 * The kernel opens each member of a layout that it can reach, so a layout with a member that must
 * not be opened yet waits, as long as the agent of that member can roll it forward. A drive that is
 * away on a host that is alive keeps no volume: nothing of it can be opened either.
 */
static int check_closed(struct volumes *s, const struct vol *v, const struct attach_set *a, u32 i,
			const struct reach *r)
{
	const struct layout_member *mb = &a->layout->member[i];

	if (!a->open || a->open[i] || kernel_has(v, &mb->extent) || !can_roll(s, r, &mb->drive))
		return 0;
	return vol_fail(s, -EAGAIN, "member %u on host %s does not have the layout's version yet", i,
			muuid_str(&r->host).s);
}

/*
 * A local drive of a group that does not answer, or fails, counts as away: the group decides whether it
 * goes on without it. One that is in use, or whose number is above, refuses the volume; an extent that is
 * not ready yet will be.
 */
static int check_grouped(struct volumes *s, const struct attach_set *a, const struct layout_member *mb,
			 struct reach *r)
{
	int err = disk_hangs(r->disk) ? -ETIMEDOUT : check_local(s, a, mb, r);

	switch (err) {
	case 0:
		reach_took(s, &mb->drive, true);
		return 0;
	case -EINPROGRESS:
	case -EBUSY:
	case -ESTALE:
	case -EAGAIN:
	case -ENOMEM:
		return err;
	}
	if (reach_took(s, &mb->drive, false))
		vol_log(s, "local drive %s (%.79s) does not take a number, and counts as away: %s",
			muuid_str(&mb->drive).s, disk_path(r->disk), strerror(-err));
	r->failed = r->disk;
	r->disk = NULL;
	r->err = err;
	return 0;
}

/* No member without a group may be away. */
static int check_member(struct volumes *s, const struct vol *v, const struct attach_set *a, u32 i,
			struct reach *r)
{
	const struct layout_member *mb = &a->layout->member[i];
	bool grouped;
	u32 first;
	int err = check_closed(s, v, a, i, r);

	if (err)
		return err;
	grouped = layout_group_of(a->layout, i, &first);
	if (r->err && !grouped)
		return vol_fail(s, r->err, "member %u: %s", i, r->why[0] ? r->why : strerror(-r->err));
	if (r->err || r->kind != MESHBLK_KIND_BDEV)
		return 0;
	return grouped ? check_grouped(s, a, mb, r) : check_local(s, a, mb, r);
}

/*
 * All results of disk_number() are taken in one call: one that was taken alone would be due again.
 */
static void end_numbers(struct volumes *s, const struct attach_set *a, const struct leavings *x,
			const struct reach *r)
{
	u32 n = a->layout->members;

	for (u32 i = 0; i < n + x->n; i++) {
		const struct layout_member *mb = i < n ? &a->layout->member[i] : &x->member[i - n];

		struct disk *d = r[i].failed ? r[i].failed : !r[i].err && r[i].kind == MESHBLK_KIND_BDEV ?
				 r[i].disk : NULL;

		if (d)
			disk_number_end(d, &mb->extent, &s->c.host, a->number, a->readonly ? 0 : a->served);
	}
}

/* The members, and what leaves behind them. NULL: no memory. To be freed. */
static struct reach *reach_all(struct volumes *s, const struct vol *v, const struct attach_set *a,
			       const struct leavings *x)
{
	u32 n = a->layout->members;
	struct reach *r = reach_layout(s, v, a->layout), *all;

	all = r ? realloc(r, (n + x->n + 1) * sizeof(*r)) : NULL;
	if (!all) {
		free(r);
		return NULL;
	}
	memset(&all[n], 0, (x->n + 1) * sizeof(*all));
	for (u32 i = 0; i < x->n; i++)
		reach_member(s, v, a->layout->version, &x->member[i], &all[n + i]);
	return all;
}

static int check_all(struct volumes *s, const struct vol *v, const struct attach_set *a,
		     const struct leavings *x, struct reach *r)
{
	u32 n = a->layout->members;
	bool waits = false;
	int err = 0;

	/* Each local drive writes its label at once: the numbers do not wait for each other. */
	for (u32 i = 0; i < n + x->n && !err; i++) {
		if (i < n)
			err = check_member(s, v, a, i, &r[i]);
		else if (!r[i].err && r[i].kind == MESHBLK_KIND_BDEV)
			err = check_grouped(s, a, &x->member[i - n], &r[i]);
		waits |= err == -EINPROGRESS;
		err = err == -EINPROGRESS ? 0 : err;
	}
	if (!err && waits)
		return -EINPROGRESS;
	end_numbers(s, a, x, r);
	return err;
}

static int set_begin(struct volumes *s, struct vol *v, const struct attach_set *a, u64 of)
{
	struct set_arg *x = calloc(1, sizeof(*x));
	struct leavings leaving;
	struct reach *r = NULL;
	int err = leavings_of(s, a, &leaving);

	if (!err)
		r = reach_all(s, v, a, &leaving);
	if (!r || !x)
		err = -ENOMEM;
	if (!err)
		err = check_all(s, v, a, &leaving, r);
	if (!err) {
		x->target = reach_targets(s, r, a->layout->members + leaving.n, &x->targets);
		err = x->target ? fill(s, a, r, &leaving, &x->mv) : -ENOMEM;
	}
	leavings_free(&leaving);
	free(r);
	if (!err)
		return work_begin(&v->set, of, set_run, x, set_drop);
	if (x)
		set_drop(x);
	return err == -ENOMEM ? vol_fail(s, err, "no memory") : err;
}

int vol_set(void *m, const struct attach_set *a)
{
	struct volumes *s = m;
	struct vol *v = vol_get(s, &a->volume);
	u64 of = set_of(a);
	int err;

	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	v->salt = a->layout->salt;
	if (!s->m)
		return vol_fail(s, -ENOPKG, "the kernel's module meshblk is not loaded");
	if (work_runs(&v->end) || vol_sweeping(s))
		return -EINPROGRESS;
	err = work_result(&v->set, of);
	if (err == WORK_NONE) {
		v->known = false;
		err = vol_look(s, v);
		/* Another host may have attached it since the rosters of this one's last time. */
		if (!err && !v->there)
			vol_forget_rosters(v);
		return err ? err : set_begin(s, v, a, of);
	}
	if (err == -EINPROGRESS)
		return err;
	v->known = false;
	if (err)
		vol_fail(s, err, "%s", ((struct set_arg *)v->set.arg)->why);
	work_end(&v->set);
	return err;
}
