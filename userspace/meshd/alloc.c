// SPDX-License-Identifier: GPL-2.0-only
/* Jobs on a drive's thread: grants noted, extents given out and taken back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/serve.h"

struct grant_job {
	struct tjob job;
	struct mesh *m;
	struct mesh_ask ask;
};

static int grant_note(struct tdrive *d, const struct mesh_ask *q)
{
	struct label *l = tdrive_edit(d);
	struct label_extent *e = l ? label_find(l, &q->extent) : NULL;

	if (!e || e->state != LABEL_READY || q->generation < e->version) {
		int err = !l ? -ENOMEM : !e ? -ENOENT : e->state != LABEL_READY ? -EAGAIN : -ESTALE;

		free(l);
		return err;
	}
	/* Most opens change nothing: a reader's, or the same writer's again. */
	if (q->generation == e->version &&
	    (q->access != 2 || muuid_equal(&e->holder, &q->host))) {
		free(l);
		return 0;
	}
	e->version = q->generation;
	if (q->access == 2)
		e->holder = q->host;
	return tdrive_commit(d, l);
}

static void grant_fn(struct tdrive *d, struct tjob *j, int err)
{
	struct grant_job *g = (struct grant_job *)j;

	if (!err)
		err = grant_note(d, &g->ask);
	mesh_grant_reply(g->m, g->ask.request, err);
	free(g);
}

void grant_submit(struct tdrive *d, struct mesh *m, const struct mesh_ask *ask)
{
	struct grant_job *g = calloc(1, sizeof(*g));

	if (!g) {
		mesh_grant_reply(m, ask->request, -ENOMEM);
		return;
	}
	g->job.fn = grant_fn;
	g->m = m;
	g->ask = *ask;
	tdrive_submit(d, &g->job);
}

struct ask_job {
	struct tjob job;
	struct ask *ask;
};

static void reply_extent(struct tdrive *d, struct ask *a, const struct label_extent *e)
{
	struct mgmt_extent out;

	pthread_mutex_lock(&d->lock);
	tdrive_extent(d, e, &out);
	pthread_mutex_unlock(&d->lock);
	ask_reply(a, 0, NULL, mgmt_extent_pack(&out));
}

static void alloc_fn(struct tdrive *d, struct tjob *j, int err)
{
	struct ask *a = ((struct ask_job *)j)->ask;
	const struct mgmt_req *r = ask_req(a);
	struct label_extent *e;
	struct label *l;

	free(j);
	if (err) {
		ask_reply(a, err, "the drive has just gone", NULL);
		return;
	}
	e = label_find(d->label, &r->extent);
	if (e) {	/* asked before: the same answer */
		if (e->length == r->length && muuid_equal(&e->volume, &r->volume))
			reply_extent(d, a, e);
		else
			ask_reply(a, -EEXIST, "this extent is another's", NULL);
		return;
	}
	l = tdrive_edit(d);
	e = l && r->length % LABEL_AREA == 0 ? label_alloc(l, &r->extent, r->length) : NULL;
	if (!e) {
		free(l);
		ask_reply(a, -ENOSPC, "the drive has no free run of that length", NULL);
		return;
	}
	e->volume = r->volume;
	snprintf(e->name, sizeof(e->name), "%.*s", LABEL_NAME - 1, r->name);
	err = tdrive_commit(d, l);
	crash_point(CRASH_ALLOC_LABEL);
	if (err) {
		ask_reply(a, err, "the drive's label cannot be written", NULL);
		return;
	}
	reply_extent(d, a, label_find(d->label, &r->extent));
	zero_kick(d);
}

/*
 * How often the extent is open, as the kernel knows it; -1 when it has no such
 * drive, not even one that is gone with commands still out.
 */
static int kernel_opens(struct mesh *m, const struct tdrive *d, const struct muuid *extent)
{
	struct mesh_drive *all;
	int opens = -1;
	size_t i, n;
	u32 k;

	if (!m || mesh_drives(m, &all, &n))
		return -1;
	for (i = 0; i < n; i++) {
		if (!muuid_equal(&all[i].uuid, &d->uuid))
			continue;
		opens = 0;
		for (k = 0; k < all[i].nr_extents; k++)
			if (muuid_equal(&all[i].extents[k].uuid, extent))
				opens = all[i].extents[k].opens;
	}
	mesh_drives_free(all, n);
	return opens;
}

/* The kernel first: when it answers, nothing admitted before is under way. */
static int take_back(struct tdrive *d, const struct muuid *extent)
{
	struct label *l = tdrive_edit(d);
	struct label_extent *e = l ? label_find(l, extent) : NULL;
	struct mesh_drive table = { 0 };
	struct mesh *m;
	int err;

	if (!e) {
		free(l);
		return l ? 0 : -ENOMEM;
	}
	label_free(l, e);
	m = mesh_open();
	err = m ? tdrive_table(d, l, &table) : -ENOMEM;
	if (!err)
		err = mesh_extents_set(m, &table);
	/* No kernel, no drive there: then nobody has it open either. */
	if ((err == -ENOENT || err == -ENODEV) && kernel_opens(m, d, extent) < 0)
		err = 0;
	if (err)
		log_warn("%s: an extent is not let go: %s", d->path, m ? mesh_why(m) : "no memory");
	free(table.extents);
	mesh_close(m);
	if (err) {
		free(l);
		return err;
	}
	return tdrive_commit(d, l);
}

static void free_fn(struct tdrive *d, struct tjob *j, int err)
{
	struct ask *a = ((struct ask_job *)j)->ask;
	const struct mgmt_req *r = ask_req(a);
	struct label_extent *e;
	struct mesh *m;
	bool held;

	free(j);
	if (err) {
		ask_reply(a, err, "the drive has just gone", NULL);
		return;
	}
	e = label_find(d->label, &r->extent);
	if (e && !muuid_null(&r->volume) && !muuid_equal(&r->volume, &e->volume)) {
		ask_reply(a, -EPERM, "this extent is another volume's", NULL);
		return;
	}
	m = mesh_open();
	held = e && !muuid_equal(&e->holder, ask_host(a)) && kernel_opens(m, d, &r->extent) > 0;
	mesh_close(m);
	if (held) {
		ask_reply(a, -EBUSY, "another host has this extent open; detach the volume there", NULL);
		return;
	}
	err = take_back(d, &r->extent);
	ask_reply(a, err, err ? "the drive does not let it go" : NULL, err ? NULL : json_object());
}

static void submit(struct tdrive *d, struct ask *a, void (*fn)(struct tdrive *, struct tjob *, int))
{
	struct ask_job *j = calloc(1, sizeof(*j));

	if (!j) {
		ask_reply(a, -ENOMEM, NULL, NULL);
		return;
	}
	j->job.fn = fn;
	j->ask = a;
	tdrive_submit(d, &j->job);
}

void alloc_submit(struct tdrive *d, struct ask *a)
{
	submit(d, a, alloc_fn);
}

void free_submit(struct tdrive *d, struct ask *a)
{
	submit(d, a, free_fn);
}
