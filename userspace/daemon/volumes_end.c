// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/crash.h"
#include "userspace/daemon/volumes_in.h"

struct end_arg {
	struct muuid volume;
	bool	force;
	u32	groups;
	struct meshblk_group *group;
	char	why[200];
};

static void end_drop(void *arg)
{
	struct end_arg *x = arg;

	free(x->group);
	free(x);
}

static int end_run(void *arg)
{
	struct end_arg *x = arg;
	struct mesh *m = mesh_open();
	int err;

	snprintf(x->why, sizeof(x->why), "netlink does not work");
	if (!m)
		return -EIO;
	err = meshblk_volume_end(m, &x->volume, x->force, &x->group, &x->groups);
	if (err)
		snprintf(x->why, sizeof(x->why), "%.190s", mesh_why(m));
	else
		crash_point("after del");
	mesh_close(m);
	return err;
}

static int end_begin(struct vol *v, bool force)
{
	struct end_arg *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->volume = v->uuid;
	x->force = force;
	return work_begin(&v->end, force, end_run, x, end_drop);
}

static bool removing(const struct vol *v)
{
	return v->there && !strcmp(v->k.state, MESHBLK_STATE_REMOVING);
}

/* The kernel has it no more. */
static int ended(struct volumes *s, struct vol *v, const struct end_arg *x, struct obj_roster *last)
{
	int err = vol_note_kept(s, v, last);

	if (!err && x)
		err = vol_note_groups(s, v, x->group, x->groups, last);
	vol_forget_rosters(v);
	v->known = false;
	s->sweeps = true;
	return err ? vol_fail(s, err, "no memory") : 0;
}

/* The result of a VOLUME_DEL. A removal that takes long goes on in the kernel by itself. */
static int end_result(struct volumes *s, struct vol *v, int err, struct obj_roster *last)
{
	struct end_arg *x = v->end.arg;
	int look;

	v->known = false;
	if (!err || err == -ENOENT) {
		err = ended(s, v, err ? NULL : x, last);
	} else {
		vol_fail(s, err, "%s", x->why);
		look = vol_look(s, v);
		if (!look && removing(v))
			err = -EINPROGRESS;
	}
	work_end(&v->end);
	return err;
}

int vol_del(void *m, const struct muuid *volume, bool force, struct obj_roster *last)
{
	struct volumes *s = m;
	struct vol *v = vol_get(s, volume);
	int err;

	if (!v)
		return vol_fail(s, -ENOMEM, "no memory");
	if (!s->m)
		return vol_fail(s, -ENOPKG, "the kernel's module meshblk is not loaded");
	/* A VOLUME_SET behind the VOLUME_DEL would attach it again. */
	if (work_runs(&v->set))
		return -EINPROGRESS;
	err = work_result(&v->end, force);
	if (err == -EINPROGRESS)
		return err;
	if (err != WORK_NONE)
		return end_result(s, v, err, last);
	v->known = false;
	err = vol_look(s, v);
	if (err)
		return err;
	if (!v->there)
		return ended(s, v, NULL, last);
	if (removing(v))
		return -EINPROGRESS;
	return end_begin(v, force);
}

struct sweep_arg {
	u32	n;
	u32	*id;
	bool	*gone;
};

static void sweep_drop(void *arg)
{
	struct sweep_arg *x = arg;

	free(x->id);
	free(x->gone);
	free(x);
}

/* The kernel refuses the end of a session that members use. */
static int sweep_run(void *arg)
{
	struct sweep_arg *x = arg;
	struct mesh *m = mesh_open();

	for (u32 i = 0; m && i < x->n; i++) {
		int err = meshblk_target_del(m, x->id[i]);

		x->gone[i] = !err || err == -ENOENT;
	}
	mesh_close(m);
	return 0;
}

static int sweep_begin(struct volumes *s)
{
	struct sweep_arg *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->id = calloc(s->targets + 1, sizeof(*x->id));
	x->gone = calloc(s->targets + 1, sizeof(*x->gone));
	if (!x->id || !x->gone) {
		sweep_drop(x);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->targets; i++)
		x->id[x->n++] = s->target[i].id;
	return work_begin(&s->sweep, 0, sweep_run, x, sweep_drop);
}

bool vol_sweeping(struct volumes *s)
{
	const struct sweep_arg *x;
	int err = work_result(&s->sweep, 0);

	if (err == WORK_NONE || err == -EINPROGRESS)
		return err == -EINPROGRESS;
	x = s->sweep.arg;
	for (u32 i = 0; i < x->n; i++)
		if (x->gone[i])
			reach_forget(s, x->id[i]);
	work_end(&s->sweep);
	return false;
}

void vol_sweep(struct volumes *s)
{
	if (vol_sweeping(s) || !s->sweeps || !s->m)
		return;
	/* A target that is set, and has no member yet, is needed by what goes on. */
	for (const struct vol *v = s->vol; v; v = v->next)
		if (v->set.job || v->probe.job || v->end.job || v->evict.job)
			return;
	s->sweeps = sweep_begin(s) != -EINPROGRESS;
}
