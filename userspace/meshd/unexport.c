// SPDX-License-Identifier: GPL-2.0-only
/* meshctl drive unexport, drive scan. */
#include <errno.h>
#include <libnvme.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/json.h"
#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/serve.h"
#include "userspace/meshd/store.h"

#define UNEXPORT_MS	20000
#define RETRY_MS	1000	/* the kernel itself waits, too, for what is in flight */

void dry_begin(struct req *r)
{
	json_decref(r->result);
	r->result = json_pack("{s:b, s:[]}", "dry_run", true, "destroys");
}

/* As it was before it was exported; the drive decides what it makes of it. */
static void cache_on(struct tdrive *d)
{
	u32 result;
	bool off;

	pthread_mutex_lock(&d->lock);
	off = d->cache_off;
	d->cache_off = false;
	pthread_mutex_unlock(&d->lock);
	if (off && nvme_set_features_volatile_wc(d->fd, true, false, &result))
		log_warn("%s: its volatile write cache cannot be switched on again", d->path);
}

/* On the drive's thread: note in the label that it is not to come back. */
static int unexport_label(struct tdrive *d)
{
	struct label *l;
	int err;

	if (!d->label->extents) {
		/* Idle, it may have become another host's without this one having noticed. */
		err = tdrive_current(d);
		if (!err)
			err = label_forget(d->fd, d->size);
		tdrive_home_begin(d);
		if (!err)
			device_forget(&d->uuid);
		tdrive_home_end(d);
		if (err && err != -EBADE)
			d->disk.known[0] = d->disk.known[1] = false;	/* wiped or not */
		return err;
	}
	l = tdrive_edit(d);
	if (!l)
		return -ENOMEM;
	l->flags |= LABEL_F_UNEXPORTED;
	err = tdrive_commit(d, l);
	/* One copy is enough here: if it rots, too, the drive comes back and nothing is lost. */
	return d->label->flags & LABEL_F_UNEXPORTED ? 0 : err;
}

struct unexport {
	bool	force;
	bool	preempt;
	u64	since;
};

/* It goes although its label cannot say so: the state folder does. */
static bool unwritten(struct tdrive *d, int err)
{
	int failed;

	tdrive_home_begin(d);
	failed = unexported_note(&d->uuid);
	tdrive_home_end(d);
	if (failed)
		return false;
	if (err == -EBADE)
		return true;
	log_error("%s: unexported, but its label cannot be written (%s) and still names this host; only "
		  "%s knows", d->path, strerror(-err), D.state);
	return true;
}

#define UNWRITTEN	1
#define SERVED		2	/* the kernel does not give it up */
#define AT_RISK		3	/* abandoned_bars() */

/*
 * What was taken by force is gone for the volumes, and the drive is not given up before its
 * commands are back: that is waited for, since the client was promised that it goes. Without
 * force it stays, and is served again.
 */
static int unserve(struct tdrive *d, const struct unexport *w)
{
	int err = tdrive_unserve(d, w->preempt);

	while (err == -EBUSY && w->preempt && !stopping()) {
		sleep_ms(RETRY_MS);
		err = tdrive_unserve(d, true);
	}
	if (err == -EBUSY && !w->preempt)
		tdrive_push(d);
	return err;
}

/*
 * The kernel first, which alone knows what is open, and opens nothing after it: killed
 * between the two the drive is taken up again, instead of being held by the kernel alone.
 */
static int unexport_both(struct tdrive *d, const struct unexport *w)
{
	char why[MGMT_REASON];
	int err;

	if (d->label->extents && !w->force)
		return -EBUSY;
	if (abandoned_bars_now(NULL, &d->uuid, why))
		return AT_RISK;
	if (unserve(d, w))
		return SERVED;
	err = unexport_label(d);
	if (err == -EBADE && tdrive_is(d, &d->ending))
		return 0;		/* another host has it */
	/* A label written elsewhere may name this host, as a copy of it does. */
	if (err && (err == -EBADE || w->force) && unwritten(d, err))
		return err == -EBADE ? 0 : UNWRITTEN;
	if (err)
		tdrive_push(d);
	return err;
}

static void leave(struct tdrive *d, bool force)
{
	cache_on(d);
	if (d->local)
		local_let_go(d);
	tdrive_stop(d, force);
	tdrive_home_begin(d);
	store_drive_del(&d->uuid);
	tdrive_home_end(d);
	log_info("%s: %s", d->path, d->local ? "not a local drive any more" : "unexported");
}

/*
 * All of it on the drive's thread: a drive that hung goes when it answers, although
 * the caller waits no more. Jobs that are queued behind find no drive.
 */
static int unexport_job(struct tdrive *d, void *arg)
{
	const struct unexport *w = arg;
	int err = unexport_both(d, w);

	if (err && err != UNWRITTEN) {
		tdrive_set(d, &d->leaving, false);	/* the caller may have given up */
		if (now_ms() - w->since > UNEXPORT_MS)
			log_error("%s: it stays, although it was unexported: %s", d->path, err == SERVED ?
				  "the kernel does not give it up" : err == AT_RISK ?
				  "it has not ended I/O that was given up" : strerror(-err));
		/* The deadline alone is -ETIMEDOUT; a device may say that, too. */
		return err == -ETIMEDOUT ? -EIO : err;
	}
	leave(d, w->preempt);
	return err;
}

int export_leave(struct tdrive *d, bool force)
{
	int err = unexport_label(d);

	if (!err)
		leave(d, force);
	return err;
}

static struct tdrive *named_drive(const char *what)
{
	struct muuid u;
	char path[128];

	if (!muuid_parse(what, &u))
		return tdrive_find(&u);
	snprintf(path, sizeof(path), "%s%s", what[0] == '/' ? "" : "/dev/", what);
	return tdrive_by_path(path);
}

/* What its volumes lose, from memory. */
struct losses {
	u32	extents;
	u32	open;
	bool	unknown;		/* the kernel does not say what is open */
	u64	bytes;
	char	names[200];		/* of volumes, with commas, each once */
};

static void add_name(struct losses *s, const char *name)
{
	size_t at = strlen(s->names), n = strlen(name);
	const char *have = strstr(s->names, name);

	if (have && (have == s->names || have[-1] == ' ') && (!have[n] || have[n] == ','))
		return;
	if (at + n + 8 < sizeof(s->names))
		snprintf(s->names + at, sizeof(s->names) - at, "%s%s", at ? ", " : "", name);
	else if (at && strcmp(s->names + at - 3, "..."))
		snprintf(s->names + at, sizeof(s->names) - at, " ...");
}

static void count_losses(struct tdrive *d, struct losses *s)
{
	struct opens *o = opens_get();
	const struct label_extent *e;
	u32 i;

	memset(s, 0, sizeof(*s));
	s->unknown = !o;
	pthread_mutex_lock(&d->lock);
	for (i = 0; i < d->label->extents; i++) {
		e = &d->label->extent[i];
		s->extents++;
		s->bytes += e->length;
		s->open += opens_of(o, &e->uuid) > 0;
		add_name(s, e->name[0] ? e->name : "?");
	}
	pthread_mutex_unlock(&d->lock);
	opens_free(o);
}

static int unexport_verdict(struct req *r, const char *what, const struct tdrive *d,
			    const struct losses *s)
{
	char why[MGMT_REASON];

	/* Nothing takes a device from the kernel that has it open. */
	if (d->local && s->open)
		return req_fail(r, "%s is a local drive of volume %s, which is attached; detach that first", what,
				s->names);
	if (abandoned_bars_now(NULL, &d->uuid, why))
		return req_fail(r, "%s cannot be unexported: %s", what, why);
	if (s->extents && !arg_bool(r, "force"))
		return req_fail(r, "%s holds extents of volumes (%s); delete those first, or add --force "
				"to take it from them", what, s->names);
	if (s->open && !arg_bool(r, "preempt"))
		return req_fail(r, "%u of its extents are open now (volumes %s); detach those first, or "
				"add --preempt: their I/O fails", s->open, s->names);
	if (s->extents && s->unknown && !arg_bool(r, "preempt"))
		return req_fail(r, "the kernel does not say which extents of %s are open now (volumes %s); "
				"try again, or add --preempt: if some are, their I/O fails", what, s->names);
	return 0;
}

static void unexport_dry(struct req *r, const struct tdrive *d, const struct losses *s)
{
	json_t *j;

	dry_begin(r);
	if (!s->extents) {
		jset_uuid(req_destroys(r, "label", d->path), "uuid", &d->uuid);
		return;
	}
	j = req_unreachable(r, "drive", d->path);
	jset_uuid(j, "uuid", &d->uuid);
	jset_str(j, "volume", s->names);
	jset_u64(j, "extents", s->extents);
	jset_u64(j, "bytes", s->bytes);
	jset_u64(j, "open", s->open);
	req_note(r, "its data stays on the drive, but volumes (%s) cannot reach it until it is exported "
		 "again; %u of its extents are open now", s->names, s->open);
}

static int unexport(struct req *r, struct tdrive *d)
{
	struct unexport *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->force = arg_bool(r, "force");
	w->preempt = arg_bool(r, "preempt");
	w->since = now_ms();
	tdrive_set(d, &d->leaving, true);
	err = tdrive_run_for(d, unexport_job, w, free, UNEXPORT_MS);
	if (err && err != -ETIMEDOUT)
		tdrive_set(d, &d->leaving, false);
	return err;
}

int cmd_drive_unexport(struct req *r)
{
	const char *what = arg_str(r, "drive");
	struct tdrive *d;
	struct losses s;
	int err = 0;

	if (!what[0])
		return req_usage(r, "name a drive: its device or UUID (meshctl drive list)");
	if (!export_lock_for(r))
		return -1;
	d = named_drive(what);
	if (!d) {
		err = left_unexport(r, what);
		pthread_mutex_unlock(&export_lock);
		export_rescan();
		return err;
	}
	count_losses(d, &s);
	if (tdrive_is(d, &d->leaving)) {
		req_fail(r, "%s is being unexported already; it goes when the drive answers", what);
	} else if (!unexport_verdict(r, what, d, &s)) {
		if (arg_bool(r, "dry_run"))
			unexport_dry(r, d, &s);
		else
			err = unexport(r, d);
	}
	pthread_mutex_unlock(&export_lock);
	tdrive_put(d);
	/* A device that was refused beside it need not be refused any more. */
	export_rescan();
	if (err == -ETIMEDOUT)
		return req_fail(r, "%s does not answer; it goes when it does", what);
	if (err == UNWRITTEN)
		req_note(r, "%s is unexported, but its label cannot be written: this host does not take it "
			 "up again, another one is notified that it is exported here", what);
	if (err == SERVED)
		return req_fail(r, "the kernel does not give %s up: its extents may have just been opened, or its "
				"commands hang; it stays, try again%s", what,
				arg_bool(r, "preempt") ? "" : " or add --preempt");
	if (err == AT_RISK)
		return req_fail(r, "%s has not ended I/O that was given up: see meshctl volume show of its volume",
				what);
	if (err == -EBUSY)
		return req_fail(r, "%s has just been given extents of a volume; see meshctl drive extents",
				what);
	if (err < 0)
		return req_fail(r, "the label of %s cannot be written: %s%s", what, strerror(-err),
				arg_bool(r, "force") ? "" : "; add --force to unexport it as it is");
	return r->error[0] ? -1 : 0;
}

static json_t *scan_json(const struct probe *p)
{
	json_t *j = json_object();
	char why[240];
	const char *twin = export_twin_why(p->path, why, sizeof(why));

	jset_str(j, "path", p->path);
	jset_str(j, "model", p->id.model);
	jset_str(j, "serial", p->id.serial);
	jset_str(j, "wwid", p->id.wwid);
	jset_u64(j, "size", p->size);
	jset_u64(j, "lba", p->lba);
	jset_str(j, "state", twin ? twin : p->err || p->unserved[0] ? "refused" : probe_word(p->verdict));
	jset_str(j, "reason", twin ? why : p->unserved[0] ? p->unserved : p->why);
	json_object_set_new(j, "uuid", json_null());
	if (!muuid_null(&p->drive))
		jset_uuid(j, "uuid", &p->drive);
	return j;
}

static json_t *silent_json(const char *path)
{
	char why[80];

	snprintf(why, sizeof(why), "has not answered for %u s", take_silent(path));
	return json_pack("{s:s, s:s, s:s, s:n, s:n, s:n, s:n, s:n, s:n}", "path", path, "state", "silent",
			 "reason", why, "model", "serial", "wwid", "size", "lba", "uuid");
}

int cmd_drive_scan(struct req *r)
{
	struct probe **p __free(free) = NULL;
	json_t *list = json_array();
	size_t i, n, k = 0;
	char **all __free(free) = probe_list(&n, false);

	for (i = 0; i < n; i++) {
		if (!strncmp(all[i], "/dev/nvme", 9) || arg_bool(r, "all"))
			all[k++] = all[i];
		else
			free(all[i]);
	}
	p = calloc(k + 1, sizeof(*p));
	if (p)
		take_probes(all, k, false, p);
	for (i = 0; i < k; i++) {
		json_array_append_new(list, p && p[i] ? scan_json(p[i]) : silent_json(all[i]));
		if (p)
			probe_free(p[i]);
		free(all[i]);
	}
	r->result = json_pack("{s:o}", "drives", list);
	return 0;
}
