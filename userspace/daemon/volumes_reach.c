// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdda/wire.h"
#include "userspace/daemon/volumes_in.h"

#define LOCAL_AGAIN_MS	10000	/* between two tries of a local drive that failed */

/* The addresses at which a host's target may be. */
struct places {
	u32	n;
	struct obj_address at[OBJ_ADDRESSES_MAX];
};

static void add_place(struct places *p, const char *addr, u16 port)
{
	struct obj_address *a = &p->at[p->n];

	if (!addr[0] || p->n == OBJ_ADDRESSES_MAX)
		return;
	snprintf(a->addr, sizeof(a->addr), "%s", addr);
	a->port = port ? port : RDDA_PORT;
	p->n++;
}

/* host/H says the addresses; the layout has the one of the day on which it was made. */
static void places_of(const struct volumes *s, const struct muuid *host,
		      const struct layout_member *mb, struct places *p)
{
	const struct key k = { .kind = KEY_HOST, .host = *host };
	const struct obj_host *h = copy_obj(s->c.copy, &k);

	p->n = 0;
	for (u32 i = 0; h && i < h->addresses; i++)
		add_place(p, h->address[i].addr, h->address[i].port);
	if (!p->n)
		add_place(p, mb->addr, mb->port);
}

static int place_find(const struct places *p, const struct vol_target *t)
{
	for (u32 i = 0; i < p->n; i++)
		if (p->at[i].port == t->port && !strcmp(p->at[i].addr, t->addr))
			return i;
	return -1;
}

struct vol_target *reach_id(const struct volumes *s, u32 id)
{
	for (size_t i = 0; i < s->targets; i++)
		if (s->target[i].id == id)
			return &s->target[i];
	return NULL;
}

void reach_forget(struct volumes *s, u32 id)
{
	struct vol_target *t = reach_id(s, id);

	if (t)
		*t = s->target[--s->targets];
}

static struct vol_target *target_add(struct volumes *s, const struct muuid *host)
{
	struct vol_target *t;
	u32 id = 1;

	while (reach_id(s, id))
		id++;
	t = mesh_grow((void **)&s->target, &s->targets, sizeof(*t));
	if (t) {
		t->id = id;
		t->host = *host;
	}
	return t;
}

/* A target that the daemon before this one set, and that no session was made with, has no host yet. */
static struct vol_target *target_of(struct volumes *s, const struct muuid *host, const struct places *p)
{
	for (size_t i = 0; i < s->targets; i++)
		if (muuid_equal(&s->target[i].host, host))
			return &s->target[i];
	for (size_t i = 0; i < s->targets; i++) {
		if (!muuid_null(&s->target[i].host) || place_find(p, &s->target[i]) < 0)
			continue;
		s->target[i].host = *host;
		return &s->target[i];
	}
	return NULL;
}

/* Keep the address, unless the host has it no more, or it failed: then the next one, if any. */
static void target_place(struct vol_target *t, const struct places *p)
{
	int at = place_find(p, t);

	if (!p->n || (at >= 0 && !t->failed))
		return;
	at = (at + 1) % (int)p->n;
	memcpy(t->addr, p->at[at].addr, sizeof(t->addr));
	t->port = p->at[at].port;
	t->failed = false;
}

/* The member as the kernel has it; NULL: it does not. */
static const struct meshblk_member *kernel_member(const struct vol *v, const struct muuid *extent)
{
	for (u32 i = 0; v->there && i < v->k.nr_members; i++)
		if (muuid_equal(&v->k.members[i].extent, extent))
			return &v->k.members[i];
	return NULL;
}

/* Of one version of a layout the kernel has each member by one target for good. */
static struct vol_target *target_kept(struct volumes *s, const struct vol *v, u64 version,
				      const struct layout_member *mb, const struct muuid *host)
{
	const struct meshblk_member *k = kernel_member(v, &mb->extent);
	struct vol_target *t = k && k->kind == MESHBLK_KIND_RDDA ? reach_id(s, k->target_id) : NULL;

	if (t && muuid_null(&t->host))
		t->host = *host;
	return t && (muuid_equal(&t->host, host) || v->k.version == version) ? t : NULL;
}

/* A member that was away when the kernel got this version stays so until the next one. */
static bool kept_away(const struct vol *v, u64 version, const struct muuid *extent)
{
	const struct meshblk_member *k = kernel_member(v, extent);

	return k && k->kind == MESHBLK_KIND_BDEV && v->k.version == version;
}

static int reach_target(struct volumes *s, const struct vol *v, u64 version,
			const struct layout_member *mb, struct reach *r)
{
	struct vol_target *t = target_kept(s, v, version, mb, &r->host);
	struct places p;

	r->kind = MESHBLK_KIND_RDDA;
	if (kept_away(v, version, &mb->extent)) {
		snprintf(r->why, sizeof(r->why), "drive %s was away when the volume was attached",
			 muuid_str(&mb->drive).s);
		return -ENODEV;
	}
	places_of(s, &r->host, mb, &p);
	if (!t)
		t = target_of(s, &r->host, &p);
	if (!t && !p.n) {
		snprintf(r->why, sizeof(r->why), "no address of host %s is known; meshctl host list shows "
			 "its addresses", muuid_str(&r->host).s);
		return -EHOSTUNREACH;
	}
	t = t ? t : target_add(s, &r->host);
	if (!t)
		return -ENOMEM;
	if (muuid_equal(&t->host, &r->host))
		target_place(t, &p);
	r->target = t->id;
	return 0;
}

const struct label_extent *reach_label(const struct reach *r, const struct muuid *extent)
{
	const struct label *l = r->disk ? disk_ops.label(r->disk) : NULL;

	return l ? label_find(l, extent) : NULL;
}

/* The kernel knows a local member by its start, too, so that is the same while the drive is away. */
static u64 start_of(const struct obj_drive *d, const struct label_extent *e, const struct muuid *extent)
{
	for (u32 i = 0; d && i < d->plan.extents; i++)
		if (muuid_equal(&d->plan.extent[i].uuid, extent))
			return d->plan.extent[i].start;
	return e ? e->start : 0;
}

static struct muuid *failed_find(const struct volumes *s, const struct muuid *drive)
{
	for (size_t i = 0; i < s->failures; i++)
		if (muuid_equal(&s->failed[i], drive))
			return &s->failed[i];
	return NULL;
}

/* Without memory the drive is tried again where the kernel has it as gone. */
bool reach_took(struct volumes *s, const struct muuid *drive, bool took)
{
	struct muuid *f = failed_find(s, drive);

	if (f && took)
		*f = s->failed[--s->failures];
	if (f || took)
		return false;
	f = mesh_grow((void **)&s->failed, &s->failures, sizeof(*f));
	if (f)
		*f = *drive;
	return true;
}

/* The kernel has a member there as gone, though the drive is served: its open has failed. */
static bool gone_there(const struct volumes *s, const struct muuid *drive)
{
	for (const struct vol *v = s->vol; v; v = v->next) {
		for (u32 i = 0; v->there && i < v->k.nr_members; i++) {
			const struct meshblk_member *k = &v->k.members[i];

			if (k->kind == MESHBLK_KIND_BDEV && muuid_equal(&k->drive, drive) &&
			    !strcmp(k->state, MESHBLK_STATE_GONE))
				return true;
		}
	}
	return false;
}

u64 vol_local(void *m, const struct muuid *drive)
{
	struct volumes *s = m;
	struct disk *d = s->c.disks ? disks_find(s->c.disks, drive) : NULL;
	u64 use = s->c.disks ? disks_use(s->c.disks, drive) : 0;

	if (!d)
		return use;
	if (disk_hangs(d))
		return ~use;
	/* No event reports that such a drive would do by now. */
	if (failed_find(s, drive) || gone_there(s, drive))
		use ^= (1 + s->watch_ms / LOCAL_AGAIN_MS) << 48;
	return use;
}

static int reach_local(struct volumes *s, const struct obj_drive *d, const struct layout_member *mb,
		       struct reach *r)
{
	const struct label_extent *e;

	r->kind = MESHBLK_KIND_BDEV;
	if (!muuid_equal(&r->host, &s->c.host)) {
		snprintf(r->why, sizeof(r->why), "drive %s is a local drive of host %s: attach the volume there",
			 muuid_str(&mb->drive).s, muuid_str(&r->host).s);
		return -EREMOTE;
	}
	r->disk = s->c.disks ? disks_find(s->c.disks, &mb->drive) : NULL;
	e = reach_label(r, &mb->extent);
	r->start = start_of(d, e, &mb->extent);
	if (e)
		return 0;
	snprintf(r->why, sizeof(r->why), r->disk ? "local drive %s does not have the extent" :
		 "local drive %s is away", muuid_str(&mb->drive).s);
	r->disk = NULL;
	return -ENODEV;
}

/* Without the store the layout says where the drive was. */
void reach_member(struct volumes *s, const struct vol *v, u64 version, const struct layout_member *mb,
		  struct reach *r)
{
	const struct key k = { .kind = KEY_DRIVE, .drive = mb->drive };
	const struct obj_drive *d = copy_obj(s->c.copy, &k);

	r->host = d ? d->plan.host : mb->target;
	if (d ? d->local : mb->kind == LAYOUT_KIND_BDEV)
		r->err = reach_local(s, d, mb, r);
	else
		r->err = reach_target(s, v, version, mb, r);
}

struct reach *reach_layout(struct volumes *s, const struct vol *v, const struct layout *l)
{
	struct reach *r = calloc(l->members, sizeof(*r));

	for (u32 i = 0; r && i < l->members; i++)
		reach_member(s, v, l->version, &l->member[i], &r[i]);
	return r;
}

struct vol_target *reach_targets(const struct volumes *s, const struct reach *r, u32 n, u32 *targets)
{
	struct vol_target *out = calloc(n + 1, sizeof(*out));
	u32 k;

	*targets = 0;
	for (u32 i = 0; out && i < n; i++) {
		if (r[i].err || r[i].kind != MESHBLK_KIND_RDDA)
			continue;
		for (k = 0; k < *targets && out[k].id != r[i].target; k++)
			;
		if (k == *targets)
			out[(*targets)++] = *reach_id(s, r[i].target);
	}
	return out;
}

int reach_load(struct volumes *s)
{
	struct meshblk_target *all;
	struct vol_target *t;
	size_t n;
	int err = meshblk_targets(s->m, &all, &n);

	if (err)
		return err;
	s->targets = 0;
	for (size_t i = 0; i < n && !err; i++) {
		t = mesh_grow((void **)&s->target, &s->targets, sizeof(*t));
		if (!t) {
			err = -ENOMEM;
			break;
		}
		t->id = all[i].id;
		t->host = all[i].host;
		t->port = all[i].port;
		memcpy(t->addr, all[i].addr, sizeof(t->addr));
	}
	free(all);
	return err;
}

void reach_event(struct volumes *s, const struct mesh_event *e)
{
	struct vol_target *t = reach_id(s, e->id);

	if (!t)
		return;
	if (!strcmp(e->state, MESHBLK_STATE_UP))
		t->failed = false;
	else if (e->error)
		t->failed = true;
}

int reach_connect(struct mesh *m, const struct vol_target *t, u32 n, char *why, size_t size)
{
	for (u32 i = 0; i < n; i++) {
		int err = meshblk_target_set(m, t[i].id, t[i].addr, t[i].port, &t[i].host);

		/* Members use it by its former address: that may still be right. */
		if (err && err != -EBUSY) {
			snprintf(why, size, "host %s at %s: %.150s", muuid_str(&t[i].host).s, t[i].addr,
				 mesh_why(m));
			return err;
		}
	}
	return 0;
}
