// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshctl volume delete. All checks come before anything is changed; what they saw
 * goes with each FREE, so that a volume which changed meanwhile is not freed.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/format/json.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/volume.h"
#include "userspace/meshd/witness.h"

#define CANCEL_MS	10000
#define CLOSED_MS	5000
#define PROBES		256	/* places of a volume that are read before it is deleted */
#define PROBE_BYTES	4096

/* What is freed, and what each FREE came to. */
struct freed {
	struct gather g;	/* where it is now */
	struct store_free *f;
	struct outcome *o;
	struct store_host *hosts;
	size_t nr_hosts;
	size_t first;
};

/* The drive may have moved since: each host that answers gets the request. */
static int free_at(const struct store_free *f, const struct store_host *h, char *why)
{
	struct mgmt_req q = { .op = MGMT_FREE, .drive = f->drive, .extent = f->extent,
			      .volume = f->volume, .preempt = f->preempt,
			      .believed = { f->holder, f->version, f->commit } };
	json_t *data;
	int err = peer_call(h, &q, &data, why);

	json_decref(data);
	return err;
}

/* Its drive may be on another host by now. */
static bool not_there(int err)
{
	return err == -ENODEV || err == -EHOSTUNREACH || err == -EHOSTDOWN || err == -EREMOTEIO;
}

static int not_seen(const struct freed *d, const struct store_free *f, char *why)
{
	const struct layout_member m = { .extent = f->extent, .drive = f->drive, .target = f->host };

	gather_away(&d->g, &m, why);
	return -ENODEV;
}

static void free_one(void *arg, size_t i)
{
	struct freed *d = arg;
	const struct store_free *f = &d->f[d->first + i];
	struct outcome *o = &d->o[d->first + i], other;
	/* A host that was silent may answer the next moment: what its label says was not compared. */
	bool known = false, away = !shown_find(&d->g.shown, &f->drive);
	size_t k;

	o->err = -ENODEV;
	snprintf(o->why, REASON, "its host was removed");
	for (k = 0; k < d->nr_hosts; k++) {
		if (!muuid_equal(&d->hosts[k].uuid, &f->host))
			continue;
		known = true;
		o->err = away ? not_seen(d, f, o->why) : free_at(f, &d->hosts[k], o->why);
	}
	for (k = 0; k < d->nr_hosts && not_there(o->err) && !away; k++) {
		if (muuid_equal(&d->hosts[k].uuid, &f->host))
			continue;
		other.err = free_at(f, &d->hosts[k], other.why);
		if (!not_there(other.err))
			*o = other;
	}
	/* A host that was removed takes its extents with it: they are orphans. */
	if (o->err == -ENODEV && !known)
		o->err = 0;
}

/* Another host holds or changed it since. */
static bool is_changed(int err)
{
	return err == -EBUSY || err == -ESTALE || err == -EPERM;
}

/* Then no part of it is freed any more. */
static int undelete(struct store_volume *v, const char *why)
{
	struct store_free *f;
	size_t i, n;
	int err = store_frees(&v->uuid, &f, &n);

	if (err)
		return err;
	log_error("volume %s: its deletion was given up: %s", v->name, why);
	for (i = 0; i < n; i++)
		store_free_del(&f[i].extent);
	free(f);
	v->state = STORE_LIVE;
	snprintf(v->note, sizeof(v->note), NOTE_KEPT ": %.200s", why);
	return store_volume_flags(v);
}

static int free_all(struct store_volume *v, struct freed *d, size_t n, char *why)
{
	int failed = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_changed(d->o[i].err)) {
			snprintf(why, REASON, "%s", d->o[i].why);
			undelete(v, why);
			return d->o[i].err;
		}
	}
	for (i = 0; i < n; i++) {
		if (!d->o[i].err) {
			store_free_del(&d->f[i].extent);
			continue;
		}
		failed = d->o[i].err;
		snprintf(why, REASON, "%s", d->o[i].why);
	}
	return failed;
}

/*
 * What was not seen when the volume was deleted is noted with the host that had used it last, as far
 * as was known. Its label names this host if it was away when the volume was detached here, else
 * none: then an attach of a third host says that it is that one's data by now.
 */
static int believe(const struct gather *g, struct store_free *f, struct outcome *o)
{
	const struct found *at = gather_find(g, &f->extent);
	const struct mgmt_extent *e = at ? &at->e : NULL;
	char who[HOST_WORDS];

	if (!e || muuid_null(&f->holder) || e->version > f->version ||
	    (!muuid_null(&e->holder) && !muuid_equal(&e->holder, &D.host)))
		return 0;
	if (muuid_null(&e->holder) && e->attach && !muuid_equal(&e->attacher, &f->holder) &&
	    !muuid_equal(&e->attacher, &D.host)) {
		host_words(&e->attacher, who);
		snprintf(o->why, REASON, "%s has used it since", who);
		return o->err = -ESTALE;
	}
	f->holder = e->holder;
	f->version = e->version;
	f->commit = e->commit;
	return 0;
}

/*
 * Where the drives are by now, and what their labels say. None is freed while one of them may be a
 * copy, or when another host has used one.
 */
static int find_now(const struct store_volume *v, struct freed *d, size_t n, char *why)
{
	int err = gather(&d->g, &v->uuid, false);
	size_t i;

	snprintf(why, REASON, "%s", store_words(err));
	for (i = 0; i < n && !err; i++) {
		err = gather_home(&d->g, &d->f[i].extent, &d->f[i].drive, &d->f[i].host, why);
		if (!err)
			err = believe(&d->g, &d->f[i], &d->o[i]);
	}
	return err;
}

/* A deletion begins with detaching it: a store that says otherwise is older than the kernel. */
static int not_attached(struct store_volume *v, char *why)
{
	int err = volume_detached(&v->uuid, why);

	if (err == -EBUSY) {
		v->attached = true;
		undelete(v, why);
	}
	return err;
}

static int free_noted(struct store_volume *v, struct freed *d, size_t n, char *why)
{
	int err;

	d->o = calloc(n + 1, sizeof(*d->o));
	snprintf(why, REASON, "%s", store_words(-ENOMEM));
	if (!d->o)
		return -ENOMEM;
	err = find_now(v, d, n, why);
	if (err == -ESTALE)
		return free_all(v, d, n, why);
	if (err)
		return err;
	/* The first alone: if it is another's by now, none of the others is touched. */
	if (n)
		free_one(d, 0);
	crash_point(n && !d->o[0].err ? CRASH_DELETE_SOME : CRASH_NONE);
	d->first = 1;
	if (n > 1 && d->o[0].err != -EBUSY && d->o[0].err != -ESTALE)
		peers_each(n - 1, free_one, d);
	return free_all(v, d, n, why);
}

int volume_finish_delete(struct store_volume *v, char *why)
{
	struct freed d = { 0 };
	size_t n;
	int err = not_attached(v, why);

	if (err)
		return err;
	err = store_frees(&v->uuid, &d.f, &n);
	if (!err)
		err = store_hosts(&d.hosts, &d.nr_hosts);
	if (err)
		snprintf(why, REASON, "%s", store_words(err));
	else
		err = free_noted(v, &d, n, why);
	gather_free(&d.g);
	free(d.f);
	free(d.hosts);
	free(d.o);
	/* The members of an unfinished extend: free by themselves, if no host used them. */
	if (!err)
		err = intents_undo(&v->uuid, why);
	if (err)
		return err;
	crash_point(CRASH_DELETE_ALL);
	noted_forget(&v->uuid);
	return store_volume_erase(&v->uuid);
}

/* 1 and what is on it, 0: nothing, or a negative errno: that cannot be seen. */
static int data_on(const char *device, char *out, size_t size)
{
	blkid_probe pr = blkid_new_probe_from_filename(device);
	const char *type = NULL;
	int rc, err = errno;

	if (!pr)
		return err ? -err : -EIO;
	blkid_probe_enable_partitions(pr, 1);
	errno = 0;
	rc = blkid_do_safeprobe(pr);
	err = errno;
	if (!rc && blkid_probe_lookup_value(pr, "TYPE", &type, NULL) &&
	    blkid_probe_lookup_value(pr, "PTTYPE", &type, NULL))
		type = "something";
	if (rc == -2)
		type = "several things";
	if (type)
		snprintf(out, size, "%s", type);
	blkid_free_probe(pr);
	if (rc < 0 && rc != -2)
		return rc < -2 ? rc : err ? -err : -EIO;
	return type ? 1 : 0;
}

/*
 * The same for what no signature names. A volume reads zero until it is written, so
 * anything else is data; what is only here and there may be missed.
 */
static int written_on(const char *device)
{
	static const u8 zero[PROBE_BYTES];
	int fd = open(device, O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), at;
	u8 buf[PROBE_BYTES];
	ssize_t n;
	int i;

	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (i = 0; i < PROBES && !rc; i++) {
		at = end / PROBES * i / PROBE_BYTES * PROBE_BYTES;
		n = pread(fd, buf, PROBE_BYTES, at);
		if (n < 0)
			rc = -errno;
		else if (memcmp(buf, zero, n))
			rc = 1;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* --force is about data alone: what is there, and what cannot be seen. */
static int data_may_go(struct req *r, const struct store_volume *v)
{
	char device[48], type[64] = "";
	int rc;

	if (arg_bool(r, "force"))
		return 0;
	kernel_device(&v->uuid, device, sizeof(device));
	if (!device[0])
		return req_fail(r, "volume %s is not attached, so what is on it cannot be seen; attach it, "
				"or add --force", v->name);
	strcpy(type, "data of no known kind");
	rc = data_on(device, type, sizeof(type));
	if (!rc)
		rc = written_on(device);
	if (rc > 0)
		return req_fail(r, "volume %s carries %s; add --force to delete it with all that is on it",
				v->name, type);
	if (rc < 0)
		return req_fail(r, "what is on volume %s cannot be read (%s: %s); add --force to delete it "
				"with whatever is on it", v->name, device, strerror(-rc));
	return 0;
}

/* What the labels say of its holder and of what is away. */
static int labels_allow(struct req *r, const struct store_volume *v, const struct layout *l,
			const struct gather *g)
{
	char why[REASON], who[HOST_WORDS];
	u32 i;

	if (gather_unique(g, l, why))
		return req_fail(r, "volume %s cannot be deleted: %s", v->name, why);
	if (!arg_bool(r, "preempt") && gather_held(g, l, who))
		return req_fail(r, "volume %s is held by %s; detach it there, or add --preempt to delete it "
				"under that host", v->name, who);
	if (arg_bool(r, "stale"))
		return 0;
	i = gather_missing(g, l, why);
	if (i < l->members)
		return req_fail(r, "member %u of volume %s does not say which host holds it: %s; or add --stale "
				"to delete it without", i, v->name, why);
	return 0;
}

/* The host that attached the volume last, as far as is seen. */
static struct muuid last_user(const struct gather *g)
{
	const struct found *f = NULL;
	size_t i;

	for (i = 0; i < g->nr_found; i++)
		if (g->found[i].e.attach > (f ? f->e.attach : 0))
			f = &g->found[i];
	return f ? f->e.attacher : D.host;
}

static void fill_free(const struct gather *g, const struct layout *l, u32 i, bool preempt,
		      struct store_free *out)
{
	*out = free_note(g, l, &l->member[i]);
	out->preempt = preempt;
	/* What is not seen is taken to be held as the rest is, or to have been used by the same host. */
	if (gather_find(g, &l->member[i].extent))
		return;
	out->holder = g->nr_found ? g->found[0].e.holder : (struct muuid) { { 0 } };
	if (muuid_null(&out->holder))
		out->holder = last_user(g);
}

/* The volume in this kernel, but for one that is being removed. */
static bool in_kernel(const struct store_volume *v)
{
	struct meshblk_volume k;

	return !kernel_head(&v->uuid, &k) && strcmp(k.state, MESHBLK_STATE_REMOVING);
}

/*
 * Readers are in no label, and this host's store does not know what an earlier session
 * of it has open still: the kernels of the targets do. What was just let go is closed in
 * a moment.
 */
static int only_here(struct req *r, const struct store_volume *v, struct gather *g)
{
	u64 until = now_ms() + CLOSED_MS;
	size_t i;
	u32 own;
	int err;

	for (;;) {
		own = in_kernel(v);
		for (i = 0; i < g->nr_found && g->found[i].e.opens <= own; i++)
			;
		if (i == g->nr_found || arg_bool(r, "preempt"))
			return 0;
		if (now_ms() >= until)
			return req_fail(r, "volume %s is open on another host, for reading perhaps, says host "
					"%s; detach it there, or add --preempt to delete it under that host",
					v->name, g->hosts[g->found[i].host].name);
		sleep_ms(200);
		gather_free(g);
		err = gather(g, &v->uuid, false);
		if (err)
			return req_fail(r, "%s", store_words(err));
	}
}

/* What is being allocated for the volume, but for members of @l: how many, and bytes of it. */
static int count_intents(const struct store_volume *v, const struct layout *l, u64 *extents, u64 *bytes)
{
	struct store_intent *in __free(free) = NULL;
	size_t i, n;
	int err = store_intents(&in, &n);

	for (i = 0; i < n && !err; i++) {
		if (!muuid_equal(&in[i].volume, &v->uuid) || (l && layout_names(l, &in[i].extent)))
			continue;
		*extents += 1;
		*bytes += in[i].length;
	}
	return err;
}

static int in_use(struct req *r, const struct store_volume *v)
{
	return req_fail(r, "volume %s is in use; unmount it first (lsof, lsblk), or detach it with --force",
			v->name);
}

static int dry_run(struct req *r, const struct store_volume *v, const struct layout *l,
		   const struct gather *g)
{
	u64 bytes = 0, extents = l->members;
	char holder[HOST_WORDS];
	json_t *j;
	u32 i;

	if (kernel_openers(&v->uuid))
		return in_use(r, v);
	for (i = 0; i < l->members; i++)
		bytes += l->member[i].size;
	if (count_intents(v, l, &extents, &bytes))
		return req_fail(r, "%s", store_words(-EIO));
	j = req_destroys(r, "volume", v->name);
	jset_uuid(j, "uuid", &v->uuid);
	jset_u64(j, "extents", extents);
	jset_u64(j, "bytes", bytes);
	if (g->nr_found && !muuid_null(&g->found[0].e.holder)) {
		host_words(&g->found[0].e.holder, holder);
		jset_str(j, "holder", holder);
	}
	return 0;
}

/* Out of this kernel: -1 after req_fail(). */
static int let_go(struct req *r, const struct store_volume *v)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	int err = m ? meshblk_volume_del(m, &v->uuid, false) : -ENOMEM;

	if (err == -EBUSY)
		return in_use(r, v);
	return !err || err == -ENOENT ? 0 : req_fail(r, "volume %s cannot be let go: %s", v->name,
						     m ? mesh_why(m) : "no memory");
}

/* What an attempt to free its extents came to, for the administrator. */
static int deleted(struct req *r, const struct store_volume *v, int err, const char *why)
{
	if (is_changed(err))
		return req_fail(r, "volume %s is not deleted, it changed meanwhile: %s", v->name, why);
	if (err)
		return req_fail(r, "volume %s is gone, but not all its extents are free yet: %s; bring "
				"that back and meshd frees them, or forget them with --force", v->name,
				why);
	return 0;
}

/* What was noted when members were replaced, as the labels are now. */
static int renew_frees(const struct store_volume *v, const struct gather *g)
{
	struct store_free *f __free(free) = NULL;
	const struct found *at;
	size_t i, n;
	int err = store_frees(&v->uuid, &f, &n);

	for (i = 0; i < n && !err; i++) {
		at = gather_find(g, &f[i].extent);
		if (!at)
			continue;
		f[i].host = g->hosts[at->host].uuid;
		f[i].holder = at->e.holder;
		f[i].version = at->e.version;
		f[i].commit = at->e.commit;
	}
	return err ? err : store_frees_add(f, n);
}

static int doom(struct req *r, struct store_volume *v, const struct layout *l, const struct gather *g)
{
	struct store_free *f __free(free) = calloc(l->members, sizeof(*f));
	char why[REASON] = "";
	int err = f ? renew_frees(v, g) : -ENOMEM;
	u32 i;

	for (i = 0; !err && i < l->members; i++)
		fill_free(g, l, i, arg_bool(r, "preempt"), &f[i]);
	v->state = STORE_DELETING;
	v->attached = false;
	v->note[0] = 0;
	if (!err)
		err = store_volume_doom(v, f, l->members);
	if (err)
		return req_fail(r, "%s", store_unwritten(err));
	crash_point(CRASH_DELETE_STORED);
	return deleted(r, v, volume_finish_delete(v, why), why);
}

static int delete_live(struct req *r, struct store_volume *v, struct layout *l)
{
	char why[REASON];
	struct truth_pick p;
	struct gather g;
	int err = gather(&g, &v->uuid, false);

	if (err)
		return req_fail(r, "%s", store_words(err));
	/* Another host may have changed it: what counts is deleted, not what is remembered. */
	p = truth_pick(&g.truth);
	if (volume_renamed(v, l, &p, arg_str(r, "volume"), why)) {
		gather_free(&g);
		return req_fail(r, "volume %s is not deleted: %s", arg_str(r, "volume"), why);
	}
	if (p.layout && p.layout->version > l->version) {
		if (!strcmp(v->name, l->name))
			memcpy(v->name, p.layout->name, sizeof(v->name));
		memcpy(l, p.layout, sizeof(*l));
	}
	err = labels_allow(r, v, l, &g);
	if (!err)
		err = data_may_go(r, v);
	if (!err)
		err = only_here(r, v, &g);
	if (!err && arg_bool(r, "dry_run"))
		err = dry_run(r, v, l, &g);
	else if (!err)
		err = let_go(r, v);
	if (!err && !arg_bool(r, "dry_run")) {
		crash_point(CRASH_DELETE_KERNEL);
		err = doom(r, v, l, &g);
	}
	gather_free(&g);
	return err;
}

/* Of one that is being made or deleted: what of it is not free yet. */
static int dry_again(struct req *r, const struct store_volume *v)
{
	u64 extents = 0, bytes = 0;
	struct store_free *f;
	size_t n;
	json_t *j;
	int err = store_frees(&v->uuid, &f, &n);

	if (!err)
		free(f);
	extents = n;
	if (err || count_intents(v, NULL, &extents, &bytes))
		return req_fail(r, "%s", store_words(-EIO));
	j = req_destroys(r, "volume", v->name);
	jset_uuid(j, "uuid", &v->uuid);
	jset_u64(j, "extents", extents);
	/* The store does not know the bytes of those that a deletion left. */
	if (!n)
		jset_u64(j, "bytes", bytes);
	req_note(r, "volume %s is being %s already%s", v->name,
		 v->state == STORE_CREATING ? "made" : "deleted", !arg_bool(r, "force") ? "" :
		 "; with --force what cannot be freed now stays allocated and is forgotten");
	return 0;
}

/* A deletion that waits for drives that are away is tried again or, when forced, forgotten. */
static int delete_again(struct req *r, struct store_volume *v)
{
	char why[REASON] = "";
	int err;

	if (arg_bool(r, "dry_run"))
		return dry_again(r, v);
	err = v->state == STORE_CREATING ? intents_undo(&v->uuid, why) : volume_finish_delete(v, why);
	if (err && !is_changed(err) && arg_bool(r, "force")) {
		req_note(r, "%s; what volume %s has there stays allocated", why, v->name);
		noted_forget(&v->uuid);
		err = store_volume_erase(&v->uuid);
	}
	return deleted(r, v, err, why);
}

/* `volume create` still runs: it undoes what it did. */
static int cancel(struct req *r, const struct store_volume *v)
{
	struct store_volume now;

	if (arg_bool(r, "dry_run"))
		return dry_again(r, v);
	if (!busy_cancel(&v->uuid, CANCEL_MS))
		return req_fail(r, "volume %s is being given up; its hosts take long to answer", v->name);
	if (!store_volume_get(&v->uuid, &now, NULL) && now.state == STORE_LIVE)
		return req_fail(r, "volume %s has just been made; delete it again", v->name);
	return 0;
}

static int delete_volume(struct req *r, struct store_volume *v, struct layout *l)
{
	return v->state == STORE_LIVE ? delete_live(r, v, l) : delete_again(r, v);
}

int cmd_volume_delete(struct req *r)
{
	const char *what = arg_str(r, "volume");
	struct store_volume v;

	if (what[0] && !store_volume_find(what, &v, NULL) && v.state == STORE_CREATING && busy_is(&v.uuid))
		return cancel(r, &v);
	return volume_do(r, delete_volume);
}
