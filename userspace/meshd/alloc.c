// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs on a drive's thread: what changes its label. Every one compares what the
 * caller believes with the label first; see format/mgmt.h for the rules.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/local.h"
#include "userspace/meshd/serve.h"

struct grant_job {
	struct tjob job;
	struct mesh *m;
	struct meshtgt_grant grant;
};

/*
 * Only the version whose record is on the drive is opened: no host invents
 * one, and a client that knows an older one has missed something.
 */
static int grant_allowed(const struct label_extent *e, const struct meshtgt_grant *q)
{
	if (!e)
		return -ENOENT;
	if (e->state != LABEL_READY)
		return -EAGAIN;
	/* Before its first record it is opened to be filled, by the host that had it allocated. */
	return q->version != e->version || (!e->version && q->access != 2) ? -ESTALE : 0;
}

int grant_note(struct tdrive *d, const struct meshtgt_grant *q)
{
	struct label_extent *e = label_find(d->label, &q->extent);
	int err = grant_allowed(e, q);
	struct label *l;

	/*
	 * Most opens change nothing: a reader's, or the same writer's again. By then
	 * the drive may be another host's, which writes to it.
	 */
	if (err)
		return err;
	if (q->access != 2)
		return tdrive_current(d);
	if (!label_attach_may(e, &q->host, q->attach)) {
		/* The kernel missed an answer: with the label's number it refuses by itself. */
		tdrive_push(d);
		return -EEXIST;
	}
	if (muuid_equal(&e->holder, &q->host) && q->attach <= e->attach)
		return tdrive_held(d, e);
	l = tdrive_edit(d);
	if (!l)
		return -ENOMEM;
	e = label_find(l, &q->extent);
	e->holder = q->host;
	if (q->attach > e->attach) {
		e->attach = q->attach;
		e->attacher = q->host;
	}
	return tdrive_commit(d, l);
}

static void grant_fn(struct tdrive *d, struct tjob *j, int err)
{
	struct grant_job *g = (struct grant_job *)j;
	char why[MGMT_REASON];

	if (!err && abandoned_bars_now(&g->grant.extent, NULL, why))
		err = -EBUSY;
	if (!err)
		err = grant_note(d, &g->grant);
	meshtgt_grant_reply(g->m, g->grant.request, err);
	free(g);
}

void grant_submit(struct tdrive *d, struct mesh *m, const struct meshtgt_grant *grant)
{
	struct grant_job *g = calloc(1, sizeof(*g));

	if (!g) {
		meshtgt_grant_reply(m, grant->request, -ENOMEM);
		return;
	}
	g->job.fn = grant_fn;
	g->job.prompt = true;		/* the kernel does not wait for long either */
	g->m = m;
	g->grant = *grant;
	tdrive_submit(d, &g->job);
}

bool alloc_believed(const struct label_extent *e, const struct mgmt_believed *b,
		    char why[MGMT_REASON])
{
	char is[MUUID_TEXT] = "no host", was[MUUID_TEXT] = "no host";

	if (muuid_equal(&e->holder, &b->holder) && e->version == b->version &&
	    e->commit == b->commit)
		return true;
	if (!muuid_null(&e->holder))
		muuid_text(&e->holder, is);
	if (!muuid_null(&b->holder))
		muuid_text(&b->holder, was);
	snprintf(why, MGMT_REASON, "the drive's label differs: held by %s at version %llu (commit %llx), "
		 "not by %s at %llu (%llx)", is, (unsigned long long)e->version,
		 (unsigned long long)e->commit, was, (unsigned long long)b->version,
		 (unsigned long long)b->commit);
	return false;
}

struct alloc_job {
	struct tjob job;
	struct serve_req *req;
};

static void reply_extent(struct tdrive *d, struct serve_req *s)
{
	const struct label_extent *e = label_find(d->label, &serve_mgmt(s)->extent);
	struct mgmt_extent out;

	if (!e) {
		serve_refuse(s, -ENOENT, "the extent has just been freed");
		return;
	}
	pthread_mutex_lock(&d->lock);
	tdrive_extent(d, e, &out);
	pthread_mutex_unlock(&d->lock);
	out.recorded = record_there(d, e);
	serve_reply(s, 0, NULL, mgmt_extent_pack(&out));
}

/* A repeated request has the same answer, if the drive still confirms it. */
static bool settled(struct tdrive *d, struct serve_req *s)
{
	int err = tdrive_settled(d);

	if (err == -EBADE)
		serve_refuse(s, err, "drive %s has another owner's label by now", d->path);
	else if (err)
		serve_refuse(s, err, "drive %s is sick: its label cannot be %s", d->path,
			     d->sick ? "written" : "read");
	return !err;
}

static void alloc_fn(struct tdrive *d, struct serve_req *s)
{
	const struct mgmt_req *r = serve_mgmt(s);
	struct label_extent *e = label_find(d->label, &r->extent);
	struct label *l;
	int err;

	if (e && (e->length != r->length || !muuid_equal(&e->volume, &r->volume))) {
		serve_refuse(s, -EEXIST, "this extent is another volume's");
		return;
	}
	if (e) {
		if (!settled(d, s))
			return;
		reply_extent(d, s);
		zero_kick(d);
		return;
	}
	if (d->local && d->label->extents) {
		serve_refuse(s, -EBUSY, "%s is a local drive, which holds one extent: name as many devices as "
			     "the volume has members", d->path);
		return;
	}
	l = tdrive_edit(d);
	e = l && r->length % LABEL_AREA == 0 ? label_alloc(l, &r->extent, r->length) : NULL;
	if (!e) {
		free(l);
		serve_refuse(s, -ENOSPC, "the drive has no free run of that length");
		return;
	}
	e->volume = r->volume;
	snprintf(e->name, sizeof(e->name), "%.*s", LABEL_NAME - 1, r->name);
	err = tdrive_commit(d, l);
	crash_point(CRASH_ALLOC_LABEL);
	if (err) {
		serve_refuse(s, err, "the drive's label cannot be written");
		return;
	}
	reply_extent(d, s);
	zero_kick(d);
}

/*
 * How often the extent is open, as the kernel knows it; -1 when it has no such
 * drive, not even one that is gone with commands still out, -2 when it does not
 * say.
 */
static int kernel_opens(struct mesh *m, const struct tdrive *d, const struct muuid *extent)
{
	struct meshtgt_drive *all;
	int opens = -1, err;
	size_t i, n;
	u32 k;

	if (d->local)
		return local_opens(extent);
	err = m ? meshtgt_drives(m, &all, &n) : -ENOMEM;
	if (err)
		return err == -ENOENT ? -1 : -2;
	for (i = 0; i < n; i++) {
		if (!muuid_equal(&all[i].uuid, &d->uuid))
			continue;
		opens = 0;
		for (k = 0; k < all[i].nr_extents; k++)
			if (muuid_equal(&all[i].extents[k].uuid, extent))
				opens = all[i].extents[k].opens;
	}
	meshtgt_drives_free(all, n);
	return opens;
}

/* Have the kernel give up an extent that @l, the drive's next label, has not. */
static int kernel_take_back(struct tdrive *d, const struct label *l, const struct muuid *extent)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	struct meshtgt_drive table = { 0 };
	int err;

	err = m ? tdrive_table(d, l, &table) : -ENOMEM;
	if (!err)
		err = meshtgt_extents_set(m, &table);
	/* Without the module, or the drive in it, no host has it open either. */
	if ((err == -ENOENT || err == -ENODEV) && kernel_opens(m, d, extent) == -1)
		err = 0;
	free(table.extents);
	if (err)
		log_warn("%s: an extent is not given up: %s", d->path, m ? mesh_why(m) : "no memory");
	return err;
}

/* The kernel first: when it answers, nothing admitted before is in flight. */
static int take_back(struct tdrive *d, const struct muuid *extent)
{
	struct label *l = tdrive_edit(d);
	struct label_extent *e = l ? label_find(l, extent) : NULL;
	int err;

	if (!e) {
		free(l);
		return l ? 0 : -ENOMEM;
	}
	label_free(l, e);
	err = d->local ? 0 : kernel_take_back(d, l, extent);
	if (err) {
		free(l);
		return err;
	}
	err = tdrive_commit(d, l);
	/* It stays allocated: the host that the label allows may open it again. */
	if (err)
		tdrive_push(d);
	return err;
}

/*
 * Whether a host has it, by the label or by what the kernel sees. The holder's own word is
 * not enough: it may be older than what the holder's kernel has open.
 */
static int in_use(struct tdrive *d, const struct label_extent *e, const struct muuid *host,
		  char why[MGMT_REASON])
{
	struct mesh *m __free(mesh_close) = NULL;
	bool mine = muuid_equal(&e->holder, host);
	int opens;

	if (!mine && !muuid_null(&e->holder)) {
		snprintf(why, MGMT_REASON, "host %s holds this extent; detach the volume there",
			 muuid_str(&e->holder).s);
		return -EBUSY;
	}
	m = mesh_open();
	opens = kernel_opens(m, d, &e->uuid);
	if (opens == -2) {
		snprintf(why, MGMT_REASON, "the kernel does not say whether the extent is open");
		return -EIO;
	}
	if (opens <= 0)
		return 0;
	snprintf(why, MGMT_REASON, "%s has this extent open; detach the volume there",
		 mine ? "the requesting host, or a reader," : "another host");
	return mine ? -EAGAIN : -EBUSY;
}

/*
 * Of the drive or the kernel: a block device that became read-only says -EPERM. To the
 * caller these three say that the extent is another host's by now.
 */
static int drive_err(int err)
{
	return err == -EPERM || err == -EBUSY || err == -ESTALE ? -EIO : err;
}

/* Believed never to have been used, and opened by the same host alone, before any record. */
static bool unrecorded(const struct label_extent *e, const struct mgmt_req *r, const struct muuid *host)
{
	return !e->version && !r->believed.version && muuid_null(&r->believed.holder) &&
	       muuid_equal(&e->holder, host);
}

static void free_fn(struct tdrive *d, struct serve_req *s)
{
	const struct mgmt_req *r = serve_mgmt(s);
	struct label_extent *e = label_find(d->label, &r->extent);
	char why[MGMT_REASON] = "";
	int err = 0;

	if (!e) {
		if (settled(d, s))
			serve_reply(s, 0, NULL, json_object());
		return;
	}
	if (!muuid_equal(&r->volume, &e->volume)) {
		serve_refuse(s, -EPERM, "this extent is another volume's");
		return;
	}
	if (!r->preempt)
		err = in_use(d, e, serve_host(s), why);
	/* In that order: what was open a moment ago may have left such I/O since. */
	if (!err)
		err = abandoned_bars_now(&r->extent, NULL, why);
	if (!err && !alloc_believed(e, &r->believed, why) && !unrecorded(e, r, serve_host(s)))
		err = -ESTALE;
	if (err) {
		serve_refuse(s, err, "%s", why);
		return;
	}
	err = take_back(d, &r->extent);
	if (err)
		serve_refuse(s, drive_err(err), "the drive does not give it up: %s", strerror(-err));
	else
		serve_reply(s, 0, NULL, json_object());
}

static void release_fn(struct tdrive *d, struct serve_req *s)
{
	const struct mgmt_req *r = serve_mgmt(s);
	struct label_extent *e = label_find(d->label, &r->extent);
	char why[MGMT_REASON] = "no such extent on the drive";
	struct label *l;
	int err = !e ? -ENOENT : 0;

	if (!err && !muuid_equal(&r->volume, &e->volume)) {
		err = -EPERM;
		snprintf(why, sizeof(why), "this extent is another volume's");
	}
	/* Sent twice: it is released already. */
	if (!err && muuid_null(&e->holder) && e->version == r->believed.version &&
	    e->commit == r->believed.commit) {
		if (settled(d, s))
			reply_extent(d, s);
		return;
	}
	if (!err && !alloc_believed(e, &r->believed, why))
		err = -ESTALE;
	if (!err && !muuid_equal(&e->holder, serve_host(s))) {
		err = -EBUSY;
		snprintf(why, sizeof(why), "another host holds it");
	}
	if (!err)
		err = abandoned_bars_now(&r->extent, NULL, why);
	l = err ? NULL : tdrive_edit(d);
	if (l) {
		memset(&label_find(l, &r->extent)->holder, 0, sizeof(e->holder));
		err = drive_err(tdrive_commit(d, l));
		snprintf(why, sizeof(why), "the drive's label cannot be written");
	}
	if (err || !l) {
		serve_refuse(s, err ? err : -ENOMEM, "%s", why);
		return;
	}
	tdrive_push(d);
	reply_extent(d, s);
}

static void record_fn(struct tdrive *d, struct serve_req *s)
{
	char why[MGMT_REASON] = "";
	int err = record_put(d, serve_mgmt(s), serve_host(s), why);

	if (err)
		serve_refuse(s, err, "%s", why);
	else
		reply_extent(d, s);
}

static void (*const on_thread[MGMT_OPS])(struct tdrive *d, struct serve_req *s) = {
	[MGMT_ALLOC] = alloc_fn,
	[MGMT_FREE] = free_fn,
	[MGMT_RELEASE] = release_fn,
	[MGMT_RECORD_PUT] = record_fn,
};

static void job_fn(struct tdrive *d, struct tjob *t, int err)
{
	struct alloc_job *j = (struct alloc_job *)t;

	if (err == -ETIMEDOUT)
		serve_refuse(j->req, -EREMOTEIO, "drive %s has not answered for %u s", d->path,
			     tdrive_silent(d));
	else if (err)
		serve_refuse(j->req, err, "the drive has just gone");
	else
		on_thread[serve_mgmt(j->req)->op](d, j->req);
	free(j);
}

void alloc_submit(struct tdrive *d, struct serve_req *s)
{
	struct alloc_job *j = calloc(1, sizeof(*j));

	if (!j) {
		serve_refuse(s, -ENOMEM, "out of memory");
		return;
	}
	j->job.fn = job_fn;
	j->job.prompt = true;
	j->req = s;
	tdrive_submit(d, &j->job);
}
