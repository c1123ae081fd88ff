// SPDX-License-Identifier: GPL-2.0-only
/* meshctl volume attach, detach */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/volume.h"

#define ACTIVE_MS	20000
#define LET_GO_MS	3000
#define CANCEL_MS	30000	/* what waits for a drive that hangs ends by then */

/* Detached while the store could not be written: until it can be, only memory says so. */
static pthread_mutex_t off_lock = PTHREAD_MUTEX_INITIALIZER;
static struct umap off;		/* 1: it is */

static void off_set(const struct muuid *volume, bool is)
{
	bool fresh;
	u32 *at;

	guard(&off_lock);
	at = is ? umap_put(&off, volume, &fresh) : umap_get(&off, volume);
	if (at)
		*at = is;
}

bool volume_off(struct store_volume *v)
{
	const u32 *at;
	bool is;

	pthread_mutex_lock(&off_lock);
	at = umap_get(&off, &v->uuid);
	is = at && *at;
	pthread_mutex_unlock(&off_lock);
	if (!is)
		return false;
	v->attached = false;
	if (!store_volume_flags(v))
		off_set(&v->uuid, false);
	return true;
}

void volume_give_up(const struct store_volume *was, const struct layout *l, const struct bring *b)
{
	u64 until = now_ms() + LET_GO_MS;
	struct store_volume now = *was;
	char why[REASON];
	int err;

	if (!store_volume_get(&was->uuid, &now, NULL)) {
		now.attached = was->attached;
		now.readonly = was->readonly;
		store_volume_flags(&now);
	}
	/*
	 * What an older call attached goes on waiting, but not with this one's preempt: that
	 * would fence a host that gets the volume later. meshd brings it up again without.
	 */
	if (was->attached && !b->preempt)
		return;
	/* Only what this call put into the kernel; udev may have it open for a moment. */
	do {
		err = b->made ? kernel_del(&was->uuid, false) : 0;
		if (err == -EBUSY)
			sleep_ms(100);
	} while (err == -EBUSY && now_ms() < until);
	if (err && err != -ENOENT)
		log_warn("volume %s stays in the kernel: %s", was->name, strerror(-err));
	else if (!was->attached && !was->readonly && volume_release(&now, l, why))
		log_info("volume %s stays noted as held by this host: %s", was->name, why);
}

/* The kernel has each member at one host, for as long as it has the volume. */
static void note_moved(struct req *r, const struct store_volume *v)
{
	struct meshblk_volume k;
	const struct found *f;
	struct gather g;
	u32 i;

	if (kernel_volume(&v->uuid, &k))
		return;
	if (volume_health(&k) != HEALTH_WHOLE && !gather(&g, &v->uuid, false)) {
		for (i = 0; i < k.nr_members; i++) {
			f = gather_find(&g, &k.members[i].extent);
			if (f && k.members[i].kind != MESHBLK_KIND_BDEV &&
			    g.hosts[f->host].id != k.members[i].target_id)
				req_note(r, "the drive of member %u of volume %s is on host %s now, and is taken at "
					 "the next attach: unmount the volume, then meshctl volume detach, and "
					 "attach", i, v->name, g.hosts[f->host].name);
		}
		gather_free(&g);
	}
	meshblk_volume_free(&k);
}

/* Of members of the volume, or of former ones. */
static void note_abandoned(struct req *r, const struct store_volume *v)
{
	char words[MGMT_REASON];
	struct abandoned a;
	size_t i;

	abandoned_get(&a);
	for (i = 0; i < a.n; i++) {
		if (!muuid_equal(&a.io[i].volume, &v->uuid))
			continue;
		abandoned_words(&a.io[i], words);
		req_note(r, "%s: its extent stays with this host, and is no member of volume %s, until the device "
			 "ends them or is removed", words, v->name);
	}
	abandoned_free(&a);
}

/* What was begun before is not undone under a device that is there. */
static int attached_already(struct req *r, const struct store_volume *v)
{
	note_moved(r, v);
	if (v->pending && arg_bool(r, "stale"))
		req_note(r, "volume %s is attached: its unfinished change is not undone; unmount it, then "
			 "meshctl volume detach %s --stale first", v->name, v->name);
	return volume_result(r, &v->uuid);
}

static int attach(struct req *r, struct store_volume *v, struct layout *l)
{
	struct bring b = { .r = r, .wait_ms = ACTIVE_MS, .preempt = arg_bool(r, "preempt"),
			   .stale = arg_bool(r, "stale"), .named = arg_str(r, "volume") };
	const struct store_volume was = *v;
	char device[48], why[REASON], left[REASON];
	struct meshblk_volume k;
	int err;

	if (volume_dying(r, v))
		return -1;
	kernel_device(&v->uuid, device, sizeof(device));
	if (device[0] && v->attached && v->readonly == arg_bool(r, "readonly"))
		return attached_already(r, v);
	if (device[0] && v->attached)
		return req_fail(r, "volume %s is attached for %s as %s; detach it first", v->name,
				v->readonly ? "reading only" : "writing", device);
	if (v->pending && !arg_bool(r, "readonly") && pending_settle(v, why)) {
		err = b.stale ? pending_undo(v, b.preempt, why) : -EAGAIN;
		/* To attach it now would take the layout before the change out of the store. */
		if (err && err != -EAGAIN)
			return req_fail(r, "volume %s cannot be attached: an earlier change of it is not undone "
					"yet: %s", v->name, why);
		if (!err)
			req_note(r, "an earlier change of volume %s is undone, and what could be on its "
				 "new members given up", v->name);
		else
			req_note(r, "an earlier change of volume %s is not finished: %s%s", v->name, why,
				 b.stale || !pending_undoable(v) ? "" :
				 "; if that is lost for good, --stale undoes it");
	}
	if (store_volume_get(&v->uuid, v, l))
		return req_fail(r, "the store has lost the volume");
	v->attached = true;
	v->readonly = arg_bool(r, "readonly");
	v->recorded = 0;	/* until its labels were seen to agree */
	err = store_volume_flags(v);
	if (err)
		return req_fail(r, "%s", store_unwritten(err));
	off_set(&v->uuid, false);
	err = volume_bring(v, l, &b, why);
	/* A member was replaced that has all writes, and the new one none: it is a member again. */
	if (err && !replace_undo(v, l, b.stale, left))
		err = volume_bring(v, l, &b, why);
	if (!err && v->note[0]) {
		v->note[0] = 0;		/* what it waited for, or why it was not deleted */
		store_volume_flags(v);
	}
	if (!err) {
		note_abandoned(r, v);
		return volume_result(r, &v->uuid);
	}
	/* Its own I/O has the drive yet: no other program does. */
	if (!kernel_head(&v->uuid, &k) && !strcmp(k.state, MESHBLK_STATE_REMOVING))
		snprintf(why, REASON, "its forced detach has not ended: it does when its stuck I/O does");
	volume_give_up(&was, l, &b);
	return req_fail(r, "volume %s cannot be attached: %s", v->name, why);
}

int volume_do(struct req *r, int (*fn)(struct req *r, struct store_volume *v, struct layout *l))
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct store_volume v;
	int err = l ? volume_take(r, arg_str(r, "volume"), &v, l) : req_fail(r, "out of memory");

	if (err)
		return err;
	err = fn(r, &v, l);
	busy_drop(&v.uuid);
	return err;
}

int cmd_volume_attach(struct req *r)
{
	const char *what = arg_str(r, "volume");
	struct store_volume v;

	if (store_volume_find(what, &v, NULL) == -ENOENT && import_volume(r, what, &v))
		return -1;
	return volume_do(r, attach);
}

int volume_detached(const struct muuid *volume, char *why)
{
	struct meshblk_volume k;
	int err = kernel_head(volume, &k);

	if (err == -ENOENT || (!err && !strcmp(k.state, MESHBLK_STATE_REMOVING)))
		return 0;
	snprintf(why, REASON, err ? "the kernel does not say whether it is attached here" :
		 "it is attached here");
	return !err ? -EBUSY : err == -EBUSY ? -EAGAIN : err;
}

/* @r: notes what is not seen, and so cannot be released; NULL: no request waits. */
static int release(struct req *r, const struct store_volume *v, const struct layout *l, char *why)
{
	struct put *p __free(free) = NULL;
	char words[MGMT_REASON];
	const struct found *f;
	struct abandoned a;
	struct gather g;
	size_t n = 0;
	int err;
	u32 i;

	/* Only while this host has held it since is it certain that no other used the change. */
	if (v->pending) {
		snprintf(why, REASON, "a change of it is not finished");
		return -EAGAIN;
	}
	err = volume_detached(&v->uuid, why);
	if (err)
		return err;
	err = gather(&g, &v->uuid, false);
	snprintf(why, REASON, "%s", store_words(err ? err : -ENOMEM));
	if (err)
		return err;
	abandoned_get(&a);
	p = calloc(l->members, sizeof(*p));
	for (i = 0; p && i < l->members; i++) {
		f = gather_find(&g, &l->member[i].extent);
		/* Released by the reconciler when that is over. */
		if (abandoned_bars(&a, &l->member[i].extent, NULL, words) == -EAGAIN)
			abandoned_owe(&v->uuid);
		else if (f && muuid_equal(&f->e.holder, &D.host))
			p[n++] = put_to(&g, f, MGMT_RELEASE, NULL);
		if (!f && r)
			req_note(r, "member %u is away, and stays noted as held by this host if it was: detach "
				 "volume %s again when it is back", i, v->name);
	}
	abandoned_free(&a);
	puts_run(p, n);
	err = p ? puts_result(p, n, why) : -ENOMEM;
	gather_free(&g);
	return err;
}

int volume_release(const struct store_volume *v, const struct layout *l, char *why)
{
	return release(NULL, v, l, why);
}

/*
 * One that was detached while members were away is held there still. A device that is being
 * removed may have I/O in flight, which no other host is to meet.
 */
static bool left_held(const struct store_volume *v)
{
	struct meshblk_volume k;

	return v->state == STORE_LIVE && kernel_head(&v->uuid, &k) == -ENOENT;
}

static int in_use(struct req *r, const struct store_volume *v)
{
	return req_fail(r, "volume %s is in use; unmount it first (lsof, lsblk), or add --force and what "
			"uses it fails", v->name);
}

/*
 * Changes of the volume that are not settled need this host to hold it. What overrides
 * that must not take the device from under a file system as well.
 */
static int settle_first(struct req *r, struct store_volume *v)
{
	char why[REASON];

	if (!v->pending || arg_bool(r, "force") || !pending_settle(v, why) || arg_bool(r, "stale"))
		return 0;
	if (kernel_openers(&v->uuid))
		return in_use(r, v);
	return req_fail(r, "a change of volume %s is not finished: %s; wait, or add --stale and it is "
			"finished or undone later", v->name, why);
}

/*
 * The store first: killed between the two, the reconciler ends the work. A store that
 * cannot be written, on a full disk, does not keep the device from being removed.
 */
static int detach(struct req *r, struct store_volume *v, struct layout *l)
{
	bool was = v->attached, stuck = false, pending = v->pending;
	char why[REASON];
	struct mesh *m;
	int err, lost;

	if (settle_first(r, v))
		return -1;
	/* An extend that is settled by now has more members to release. */
	if (pending && !v->pending && store_volume_get(&v->uuid, v, l))
		return req_fail(r, "the store has lost the volume");
	kernel_keep(v);
	m = mesh_open();
	v->attached = false;
	lost = m ? store_volume_flags(v) : 0;
	err = m ? meshblk_volume_del(m, &v->uuid, arg_bool(r, "force")) : -ENOMEM;
	if (err == -ENOENT && !was)
		req_note(r, "volume %s was not attached", v->name);
	if (err == -EBUSY) {
		v->attached = was;
		store_volume_flags(v);
	}
	/* What was forced off must not come back because a member is stuck. */
	if (err == -ETIMEDOUT || err == -EINTR) {
		req_note(r, "volume %s goes when its stuck I/O does", v->name);
		stuck = true;
		err = 0;
	}
	if (lost && was && (!err || err == -ENOENT)) {
		off_set(&v->uuid, true);
		req_note(r, "the store in %s cannot be written (full, or read-only; see meshd's log): volume "
			 "%s is attached again when meshd starts before it can be", D.state, v->name);
	}
	if (err == -EBUSY)
		in_use(r, v);
	else if (err && err != -ENOENT)
		req_fail(r, "volume %s: %s", v->name, m ? mesh_why(m) : strerror(-err));
	else if (!stuck && (was || left_held(v)) && !v->readonly && release(r, v, l, why))
		req_note(r, "%s; volume %s stays noted there as held by this host, and needs --preempt "
			 "elsewhere", why, v->name);
	if (!r->error[0])
		note_abandoned(r, v);
	mesh_close(m);
	return r->error[0] ? -1 : 0;
}

/*
 * An extend zeroes for hours, or waits for a drive that hangs: it is given up for a device
 * that is to go at once. What is being made has none.
 */
static void make_way(struct req *r)
{
	struct store_volume v;

	if (!arg_bool(r, "force") || store_volume_find(arg_str(r, "volume"), &v, NULL) ||
	    v.state != STORE_LIVE)
		return;
	if (!busy_cancel(&v.uuid, CANCEL_MS))
		log_warn("volume %s: what is done with it takes long to be given up", v.name);
}

int cmd_volume_detach(struct req *r)
{
	make_way(r);
	return volume_do(r, detach);
}
