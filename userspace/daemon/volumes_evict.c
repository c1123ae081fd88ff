// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/xxhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/volumes_in.h"

struct evict_arg {
	struct muuid volume;
	u32	place, targets;
	struct vol_target *target;
	bool	stop;
	struct meshblk_member to;
	char	why[400];
};

static void evict_drop(void *arg)
{
	struct evict_arg *x = arg;

	free(x->target);
	free(x);
}

static int evict_run(void *arg)
{
	struct evict_arg *x = arg;
	struct mesh *m = mesh_open();
	int err;

	snprintf(x->why, sizeof(x->why), "netlink does not work");
	if (!m)
		return -EIO;
	err = reach_connect(m, x->target, x->targets, x->why, sizeof(x->why));
	if (!err) {
		err = meshblk_volume_evict(m, &x->volume, x->place, x->stop ? NULL : &x->to);
		if (err)
			snprintf(x->why, sizeof(x->why), "%.200s", mesh_why(m));
	}
	mesh_close(m);
	return err;
}

/* The extent to which the member is copied, and the way there. */
static int reach_copy(struct volumes *s, const struct vol *v, const struct attach_evict *e,
		      struct evict_arg *x)
{
	struct reach r = { 0 };
	int err = 0;

	/* No version that the kernel has names the extent. */
	reach_member(s, v, 0, e->to, &r);
	if (r.err)
		return vol_fail(s, r.err, "%s", r.why[0] ? r.why : strerror(-r.err));
	if (r.kind == MESHBLK_KIND_BDEV) {
		err = set_local(s, &r, &e->to->extent, &e->to->drive, e->number, 0);
		if (err != -EINPROGRESS)
			disk_number_end(r.disk, &e->to->extent, &s->c.host, e->number, 0);
	}
	if (err)
		return err;
	set_member(e->to, &r, false, &x->to);
	x->target = reach_targets(s, &r, 1, &x->targets);
	return x->target ? 0 : -ENOMEM;
}

static int evict_begin(struct volumes *s, struct vol *v, const struct attach_evict *e, u64 of)
{
	struct evict_arg *x = calloc(1, sizeof(*x));
	int err = 0;

	if (!x)
		return vol_fail(s, -ENOMEM, "no memory");
	x->volume = e->volume;
	x->place = e->place;
	x->stop = !e->to;
	if (e->to)
		err = reach_copy(s, v, e, x);
	if (!err)
		return work_begin(&v->evict, of, evict_run, x, evict_drop);
	evict_drop(x);
	return err == -ENOMEM ? vol_fail(s, err, "no memory") : err;
}

int vol_evict(void *m, const struct attach_evict *e)
{
	struct volumes *s = m;
	struct vol *v = vol_get(s, &e->volume);
	u64 of = xxh64(&e->place, sizeof(e->place), e->number);
	int err;

	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	if (!s->m)
		return vol_fail(s, -ENOPKG, "the kernel's module meshblk is not loaded");
	if (work_runs(&v->end) || work_runs(&v->set) || vol_sweeping(s))
		return -EINPROGRESS;
	if (e->to)
		of = xxh64(&e->to->extent, sizeof(e->to->extent), of);
	err = work_result(&v->evict, of);
	if (err == WORK_NONE)
		return evict_begin(s, v, e, of);
	if (err == -EINPROGRESS)
		return err;
	v->known = false;
	if (err)
		vol_fail(s, err, "%s", ((struct evict_arg *)v->evict.arg)->why);
	work_end(&v->evict);
	return err;
}

/* A member that goes, or comes, is neither. */
static u8 role_of(const struct meshblk_group *g, u32 at)
{
	switch (g->roles[at]) {
	case MESHBLK_ROLE_IN_SYNC:
		return PLAN_COPY_IN_SYNC;
	case MESHBLK_ROLE_OUT:
		return PLAN_COPY_OUT;
	}
	return PLAN_COPY_UNSETTLED;
}

/* One group that has the member. @first: no other one has been seen before. */
static void add_group(const struct meshblk_group *g, u32 at, u32 place, bool first, struct attach_copy *out)
{
	bool runs = !muuid_null(&g->successor) && g->evicts == place;
	struct plan_copy *c = &out->plan;

	if (first) {
		c->role = role_of(g, at);
		if (runs)
			c->to = g->successor;
	} else {
		if (c->role != role_of(g, at))
			c->role = PLAN_COPY_UNSETTLED;
		/* All groups of the member are copied, or none is. */
		if (!runs)
			c->to = (struct muuid) { 0 };
	}
	if (runs) {
		c->copied += g->copied;
		c->bytes += g->copy_bytes;
	} else if (g->evict_reason[0]) {
		snprintf(out->why, sizeof(out->why), "%s", g->evict_reason);
	}
}

int vol_copy(void *m, const struct muuid *volume, u32 place, struct attach_copy *out)
{
	struct volumes *s = m;
	struct vol *v = vol_get(s, volume);
	bool first = true;
	int err;

	memset(out, 0, sizeof(*out));
	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	err = vol_look(s, v);
	if (err || !v->there || place >= v->k.nr_members)
		return err;
	out->plan.member = v->k.members[place].extent;
	for (u32 i = 0; i < v->k.nr_groups; i++) {
		const struct meshblk_group *g = &v->k.groups[i];

		for (u32 at = 0; at < g->nr; at++) {
			if (g->members[at] != place)
				continue;
			add_group(g, at, place, first, out);
			first = false;
		}
	}
	return 0;
}
