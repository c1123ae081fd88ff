// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/xxhash.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/daemon/volumes_in.h"
#include "userspace/format/view.h"

/* All sessions come about together, within this time, or their members are not reached. */
#define CONNECT_MS	3000
#define CHECK_MS	20

struct probed {
	struct muuid extent;
	int	err;
	struct meshblk_probe p;
};

struct probe_arg {
	u32	targets, members;
	struct vol_target *target;
	bool	*silent;	/* by targets: no session, or no answer of the last one */
	struct reach *reach;	/* by members, as @probed */
	struct probed *probed;
};

static void probe_drop(void *arg)
{
	struct probe_arg *x = arg;

	free(x->target);
	free(x->silent);
	free(x->reach);
	free(x->probed);
	free(x);
}

static const struct meshblk_target *find(const struct meshblk_target *all, size_t n, u32 id)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].id == id)
			return &all[i];
	return NULL;
}

/* True if each session has come about, or failed; @silent says which. */
static bool settled(struct mesh *m, struct probe_arg *x)
{
	struct meshblk_target *all;
	bool is = true;
	size_t n;

	if (meshblk_targets(m, &all, &n))
		return false;
	for (u32 i = 0; i < x->targets; i++) {
		const struct meshblk_target *t = find(all, n, x->target[i].id);
		bool up = t && !strcmp(t->state, MESHBLK_STATE_UP);

		x->silent[i] = !up;
		is = is && (up || !t || (!strcmp(t->state, MESHBLK_STATE_DOWN) && t->error));
	}
	free(all);
	return is;
}

static u64 ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

static void await(struct mesh *m, struct probe_arg *x)
{
	const struct timespec nap = { .tv_nsec = CHECK_MS * 1000000L };
	u64 until = ms_now() + CONNECT_MS;

	while (!settled(m, x) && ms_now() < until)
		nanosleep(&nap, NULL);
}

static u32 target_at(const struct probe_arg *x, u32 id)
{
	u32 i = 0;

	while (x->target[i].id != id)
		i++;
	return i;
}

static void probe_member(struct mesh *m, struct probe_arg *x, u32 i)
{
	const struct reach *r = &x->reach[i];
	struct probed *p = &x->probed[i];
	u32 at;

	p->err = r->err;
	if (r->err || r->kind != MESHBLK_KIND_RDDA)
		return;
	at = target_at(x, r->target);
	p->err = x->silent[at] ? -ENOLINK : meshblk_member_probe(m, r->target, &p->extent, &p->p);
	/* The next member of a target that does not answer would wait as long. */
	x->silent[at] = p->err == -ENOLINK || p->err == -ETIMEDOUT;
}

static int probe_run(void *arg)
{
	struct probe_arg *x = arg;
	struct mesh *m = mesh_open();
	char why[400];

	if (!m)
		return -EIO;
	/* A target that the kernel refuses is one without a session. */
	for (u32 i = 0; i < x->targets; i++)
		reach_connect(m, &x->target[i], 1, why, sizeof(why));
	await(m, x);
	for (u32 i = 0; i < x->members; i++)
		probe_member(m, x, i);
	mesh_close(m);
	return 0;
}

static int probe_begin(struct volumes *s, struct vol *v, const struct layout *l, u64 of)
{
	struct probe_arg *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->members = l->members;
	x->reach = reach_layout(s, v, l);
	x->probed = calloc(l->members, sizeof(*x->probed));
	if (x->reach)
		x->target = reach_targets(s, x->reach, l->members, &x->targets);
	x->silent = calloc(x->targets + 1, sizeof(*x->silent));
	if (!x->reach || !x->probed || !x->target || !x->silent) {
		probe_drop(x);
		return -ENOMEM;
	}
	for (u32 i = 0; i < l->members; i++)
		x->probed[i].extent = l->member[i].extent;
	return work_begin(&v->probe, of, probe_run, x, probe_drop);
}

/* Probe each member. 0: the results are in @v->probe.arg until work_end(); or a negative errno. */
static int probe(struct volumes *s, const struct layout *l, struct vol **out)
{
	struct vol *v = vol_get(s, &l->volume);
	u64 of = xxh64(&l->commit, sizeof(l->commit), l->version + ((u64)l->members << 48));
	int err;

	*out = v;
	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	if (!s->m)
		return vol_fail(s, -ENOPKG, "the kernel's module meshblk is not loaded");
	if (vol_sweeping(s))
		return -EINPROGRESS;
	err = work_result(&v->probe, of);
	if (err != WORK_NONE) {
		if (err && err != -EINPROGRESS)
			work_end(&v->probe);
		return err && err != -EINPROGRESS ? vol_fail(s, err, "netlink does not work") : err;
	}
	err = vol_look(s, v);
	return err ? err : probe_begin(s, v, l, of);
}

/* The label of a drive that is local may have been written since. */
static const struct label_extent *local_label(struct volumes *s, const struct layout_member *mb)
{
	struct reach r = { .disk = s->c.disks ? disks_find(s->c.disks, &mb->drive) : NULL };

	return reach_label(&r, &mb->extent);
}

static void found(struct volumes *s, const struct layout_member *mb, const struct reach *r,
		  const struct probed *p, struct attach_found *out)
{
	const struct label_extent *e;

	*out = (struct attach_found) { .err = p->err };
	if (p->err)
		return;
	if (r->kind == MESHBLK_KIND_RDDA) {
		out->unknown = p->p.unknown;
		out->number = p->p.attach;
		out->attacher = p->p.attacher;
		out->writers = p->p.writers;
		out->readers = p->p.readers;
		return;
	}
	e = local_label(s, mb);
	if (!e) {
		out->err = -ENODEV;
		return;
	}
	out->number = e->attach;
	out->attacher = e->attacher;
}

int vol_probe(void *m, const struct layout *l, struct attach_found *out)
{
	struct volumes *s = m;
	struct vol *v;
	int err = probe(s, l, &v);
	const struct probe_arg *x = err ? NULL : v->probe.arg;

	if (err)
		return err;
	for (u32 i = 0; i < l->members; i++)
		found(s, &l->member[i], &x->reach[i], &x->probed[i], &out[i]);
	work_end(&v->probe);
	return 0;
}

int vol_slots(void *m, const struct obj_attached *r, struct plan_slot *slot, bool *reached)
{
	const struct layout *l = r->record;
	struct attach_found *found = calloc(l->members, sizeof(*found));
	int err = found ? vol_probe(m, l, found) : -ENOMEM;

	for (u32 i = 0; !err && i < l->members; i++) {
		reached[i] = !found[i].err;
		slot[i] = (struct plan_slot) {
			.extent = l->member[i].extent, .volume = l->volume,
			.attacher = found[i].attacher, .number = found[i].number,
		};
	}
	free(found);
	return err;
}
