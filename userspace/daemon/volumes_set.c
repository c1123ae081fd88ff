// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/uapi/number.h"
#include "userspace/daemon/crash.h"
#include "userspace/daemon/volumes_in.h"

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
		u32	fresh, readonly, preempt, barred, timeout_ms, queue_depth;
	} head = {
		a->layout->version, a->layout->commit, a->number, a->served, a->fresh, a->readonly,
		a->preempt, a->barred, a->io ? a->io->timeout_ms : 0, a->io ? a->io->queue_depth : 0,
	};
	u64 of = xxh64(&head, sizeof(head), 0);

	if (a->barred)
		of = xxh64(a->bar, a->barred * sizeof(*a->bar), of);
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

static bool barred(const struct attach_set *a, u32 member)
{
	for (u32 i = 0; i < a->barred; i++)
		if (a->bar[i] == member)
			return true;
	return false;
}

/* A place of the kernel is a reference; one of decisions is a member. */
static int fill_bars(const struct attach_set *a, struct meshblk_volume *mv)
{
	const struct layout *l = a->layout;

	mv->bars = calloc(l->refs + 1, sizeof(*mv->bars));
	if (!mv->bars)
		return -ENOMEM;
	for (u32 r = 0; r < l->refs; r++)
		if (barred(a, l->ref[r].member))
			mv->bars[mv->nr_bars++] = r;
	return 0;
}

static void fill_member(const struct attach_set *a, u32 i, const struct reach *r,
			struct meshblk_member *out)
{
	const struct layout_member *mb = &a->layout->member[i];
	/* A member without a way is away, which a group may serve without. */
	u8 kind = r->err ? MESHBLK_KIND_BDEV : r->kind;

	*out = (struct meshblk_member) {
		.kind = kind, .extent = mb->extent, .drive = mb->drive, .size = mb->size,
		.target_id = r->target, .preempt = a->preempt, .start = r->start,
	};
	if (kind == MESHBLK_KIND_BDEV && r->disk)
		snprintf(out->path, sizeof(out->path), "%s", disk_path(r->disk));
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
		struct meshblk_volume *mv)
{
	const struct layout *l = a->layout;
	int err;

	*mv = (struct meshblk_volume) {
		.uuid = l->volume, .version = l->version, .size = l->size, .lba = l->lba,
		.readonly = a->readonly, .numbered = true, .attach = a->number, .served = a->served,
		.beside_store = beside_store(s, a, r),
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
		fill_member(a, i, &r[i], &mv->members[i]);
	err = fill_bars(a, mv);
	for (u32 i = 0; i < l->segments && !err; i++)
		err = fill_segment(l, i, a->fresh, &mv->segments[i]);
	return err;
}

/* A label whose number is above is of an attachment that has followed. */
static int check_local(struct volumes *s, const struct attach_set *a, const struct layout_member *mb,
		       const struct reach *r)
{
	const struct label_extent *e = reach_label(r, &mb->extent);
	int err = 0;

	/* Readers open the device alone: they note nothing in its label. */
	if (!a->readonly)
		err = disk_number(r->disk, &mb->extent, &s->c.host, a->number, a->served);
	else if (e && mesh_number_access(e->attach) > mesh_number_access(a->number))
		err = -ESTALE;
	if (err == -ESTALE)
		return vol_fail(s, err, "the label of local drive %s has a higher number",
				muuid_str(&mb->drive).s);
	if (err && err != -EINPROGRESS)
		return vol_fail(s, err, "the number cannot be written to the label of local drive %s: %s",
				muuid_str(&mb->drive).s, strerror(-err));
	return err;
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

/* No member without a group may be away. */
static int check_member(struct volumes *s, const struct vol *v, const struct attach_set *a, u32 i,
			const struct reach *r)
{
	const struct layout_member *mb = &a->layout->member[i];
	u32 first;
	int err = check_closed(s, v, a, i, r);

	if (err)
		return err;
	if (r->err && !layout_group_of(a->layout, i, &first))
		return vol_fail(s, r->err, "member %u: %s", i, r->why[0] ? r->why : strerror(-r->err));
	return !r->err && r->kind == MESHBLK_KIND_BDEV ? check_local(s, a, mb, r) : 0;
}

/* All results of disk_number() are taken in one call: one that was taken alone would be due again. */
static void end_numbers(struct volumes *s, const struct attach_set *a, const struct reach *r)
{
	for (u32 i = 0; i < a->layout->members && !a->readonly; i++)
		if (!r[i].err && r[i].kind == MESHBLK_KIND_BDEV)
			disk_number_end(r[i].disk, &a->layout->member[i].extent, &s->c.host, a->number, a->served);
}

static int set_begin(struct volumes *s, struct vol *v, const struct attach_set *a, u64 of)
{
	struct reach *r = reach_layout(s, v, a->layout);
	struct set_arg *x = calloc(1, sizeof(*x));
	bool waits = false;
	int err = 0;

	/* Each local drive writes its label at once: the numbers do not wait for each other. */
	for (u32 i = 0; r && i < a->layout->members && !err; i++) {
		err = check_member(s, v, a, i, &r[i]);
		waits |= err == -EINPROGRESS;
		err = err == -EINPROGRESS ? 0 : err;
	}
	if (!err && waits)
		err = -EINPROGRESS;
	else if (r)
		end_numbers(s, a, r);
	if (r && x && !err) {
		x->target = reach_targets(s, r, a->layout->members, &x->targets);
		err = x->target ? fill(s, a, r, &x->mv) : -ENOMEM;
	}
	if (!r || !x)
		err = -ENOMEM;
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
