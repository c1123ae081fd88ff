// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the store wants against what the kernel has; every two seconds, and when
 * something happened. It undoes and completes what a killed meshd left. Each volume
 * that needs it gets a thread, so that a host that hangs delays its volumes alone.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/meshd/abandoned.h"
#include "userspace/meshd/busy.h"
#include "userspace/meshd/event.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/local.h"
#include "userspace/meshd/serve.h"
#include "userspace/meshd/spare.h"
#include "userspace/meshd/volume.h"
#include "userspace/meshd/watch.h"
#include "userspace/meshd/witness.h"

#define TICK_MS		2000
#define FREES_MS	10000
#define LATE_MS		30000	/* between tries to find members that were away at a change */
#define BRING_MS	3000	/* commands on the volume wait meanwhile */

static int kick_fd = -1;
static int identity_family;

void reconcile_kick(void)
{
	u64 one = 1;

	if (kick_fd >= 0 && write(kick_fd, &one, sizeof(one)) < 0)
		log_debug("a check is pending already");
}

/* One volume that needs work, on its own thread: its hosts may hang. */
struct work {
	struct muuid volume;
	u64	kernel;		/* its version there; 0: it is not there */
	bool	returned;	/* a local drive that the kernel lacks is here */
};

static int bring(struct store_volume *v, struct layout *l, char *why)
{
	struct bring b = { .wait_ms = BRING_MS };
	int err = volume_bring(v, l, &b, why);

	if (!err && v->recorded == v->version)
		log_info("volume %s: at version %llu everywhere", v->name,
			 (unsigned long long)v->version);
	return err;
}

/*
 * A kernel with the layout before keeps it where a member is replaced that it has in sync; and after
 * a power cut the members that are left may not do without that one.
 */
static int bring_or_undo(struct store_volume *v, struct layout *l, char *why)
{
	char undone[REASON];
	int err = bring(v, l, why);

	return !err || replace_undo(v, l, false, undone) ? err : 0;
}

/* Whether the kernel has it for reading, and the store for writing, or the other way round. */
static bool differs(const struct store_volume *v, const struct meshblk_volume *k)
{
	return v->attached && k->readonly != v->readonly && strcmp(k->state, MESHBLK_STATE_REMOVING);
}

static int settle(struct store_volume *v, struct layout *l, u64 kernel, char *why)
{
	bool readonly = v->readonly;	/* by settle_access(), stored or not */
	char left[REASON] = "";
	int err;

	if (v->state == STORE_CREATING)
		return intents_undo(&v->uuid, why);
	if (v->state == STORE_DELETING) {
		err = volume_finish_delete(v, why);
		/* Given up: what it says of that stays. */
		return v->state == STORE_LIVE ? 0 : err;
	}
	if (!v->attached && kernel) {
		err = kernel_del(&v->uuid, false);
		if (err)
			return err == -ENOENT ? 0 : err;
	}
	if (v->pending) {
		err = pending_settle(v, why);
		if (err)
			return err;
		err = store_volume_get(&v->uuid, v, l);
		if (err)
			return err;
		v->readonly = readonly;
		/* What was written to the labels made this host the holder. */
		if (!v->attached)
			volume_release(v, l, why);
	}
	if (v->attached && volume_off(v))
		return 0;
	if (v->attached && (!kernel || kernel != v->version || v->recorded < v->version)) {
		err = bring_or_undo(v, l, why);
		if (err)
			return err;
		why[0] = 0;
	}
	if (replace_finish(v, l, left))
		log_debug("volume %s: an extent stays for now: %s", v->name, left);
	if (!v->attached && v->version == 1 && !v->recorded)
		return volume_record(v, l, why);
	evict_orphans(v, l);
	/* Left by a command that was killed: a LIVE volume's change that never began. */
	return intents_undo(&v->uuid, why);
}

/* What it waits for is shown in lists, and logged when it changes. @active: the volume was, to begin with. */
static void note(struct store_volume *v, int err, const char *why, bool active)
{
	struct store_volume now;
	char text[sizeof(now.note)] = "";

	if (store_volume_get(&v->uuid, &now, NULL) || now.state == STORE_CREATING)
		return;
	if (!err && (now.pending || !strncmp(now.note, NOTE_KEPT, strlen(NOTE_KEPT))))
		return;
	if (err)
		snprintf(text, sizeof(text), "%s%.*s", active ? NOTE_ACTIVE : "",
			 (int)(sizeof(text) - sizeof(NOTE_ACTIVE)), why);
	if (!strcmp(now.note, text))
		return;
	if (err)
		log_info("volume %s waits: %s", now.name, why);
	memcpy(now.note, text, sizeof(text));
	store_volume_flags(&now);
}

/* Seconds, when the labels of a volume whose late members stay away are read again. */
static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER;
static struct umap late;

static void late_set(const struct muuid *volume)
{
	bool fresh;
	u32 *at;

	guard(&late_lock);
	at = umap_put(&late, volume, &fresh);
	/* not put off by whatever else is settled meanwhile */
	if (at && (fresh || now_ms() / 1000 >= *at))
		*at = (now_ms() + LATE_MS) / 1000;
}

static bool late_due(const struct muuid *volume)
{
	const u32 *at;

	guard(&late_lock);
	at = umap_get(&late, volume);
	return !at || now_ms() / 1000 >= *at;
}

/*
 * What the kernel has changes with a detach only. So the store is wrong: it was put back, or a command
 * to attach the volume in the other way was killed before it could undo that. What cannot be written
 * now counts nevertheless, and is tried again in a while.
 */
static void settle_access(struct store_volume *v)
{
	struct meshblk_volume k;

	if (kernel_head(&v->uuid, &k) || !differs(v, &k))
		return;
	v->readonly = k.readonly;
	if (store_volume_flags(v)) {
		late_set(&v->uuid);
		return;
	}
	log_warn("volume %s is attached for %s, which the store did not say: now it does", v->name,
		 k.readonly ? "reading only" : "writing");
}

/* Once in a while: what holds the device may hold it for long. */
static int reopen(struct store_volume *v, struct layout *l, char *why)
{
	late_set(&v->uuid);
	return v->attached && v->state == STORE_LIVE && !v->pending ? local_reopen(v, l, why) : 0;
}

void reconcile_locals(const struct muuid *volume)
{
	struct layout *l __free(free) = NULL;
	struct meshblk_volume k;
	struct store_volume v;
	char why[REASON];
	bool returned;
	u64 version;

	if (!late_due(volume) || busy_cancelled(volume) || kernel_volume(volume, &k))
		return;
	returned = local_returned(&k);
	version = k.version;
	meshblk_volume_free(&k);
	l = returned ? malloc(sizeof(*l)) : NULL;
	if (!l || store_volume_get(volume, &v, l) || v.version != version)
		return;
	if (reopen(&v, l, why))
		log_info("volume %s: a local drive that is back is not used yet: %s", v.name, why);
}

/* I/O of its drives is over that kept them held when the volume was detached. */
static void release_owed(struct store_volume *v, const struct layout *l)
{
	struct abandoned now;
	char why[REASON];
	bool over;

	abandoned_get(&now);
	over = abandoned_over(&now, &v->uuid);
	abandoned_free(&now);
	if (!over)
		return;
	abandoned_settled(&v->uuid);
	if (v->state == STORE_LIVE && !v->attached && volume_release(v, l, why))
		log_info("volume %s stays noted as held by this host for now: %s", v->name, why);
}

static void *settle_thread(void *arg)
{
	struct layout *l __free(free) = malloc(sizeof(*l));
	struct work *w __free(free) = arg;
	struct store_volume v;
	char why[REASON] = "";
	u64 version;
	bool active = kernel_active(&w->volume, &version);
	int err = l ? store_volume_get(&w->volume, &v, l) : -ENOMEM;

	if (!err) {
		release_owed(&v, l);
		settle_access(&v);
		err = w->returned ? reopen(&v, l, why) : 0;
		if (!err)
			err = settle(&v, l, w->kernel, why);
		/* All is done but for members that are away: that is not repeated all the time. */
		if (!err && v.attached && v.recorded < v.version)
			late_set(&w->volume);
		note(&v, err, why[0] ? why : strerror(err < 0 ? -err : 0), active);
	}
	busy_drop(&w->volume);
	return NULL;
}

/* One thread a volume at most: another one finds it busy. */
static void work_on(const struct muuid *volume, u64 kernel, bool returned)
{
	struct work *w;

	if (!busy_take(volume))
		return;
	w = malloc(sizeof(*w));
	if (w) {
		*w = (struct work) { *volume, kernel, returned };
		if (!thread_start(settle_thread, w))
			return;
	}
	free(w);
	busy_drop(volume);
}

static const struct meshblk_volume *in_kernel(const struct meshblk_volume *k, size_t n,
					      const struct muuid *uuid)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (muuid_equal(&k[i].uuid, uuid))
			return &k[i];
	return NULL;
}

/* Its members, if it has any that may be lost: what happened to them, and what to do. */
static void watch(const struct store_volume *v, const struct meshblk_volume *k)
{
	const u64 now = now_ms();

	if (v->state != STORE_LIVE)
		return;
	watch_volume(v, k, now);
	local_note(k);
	spare_check(v, k, now);
}

static bool has_intents(const struct store_intent *in, size_t n, const struct muuid *volume)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (muuid_equal(&in[i].volume, volume))
			return true;
	return false;
}

static bool needs_work(const struct store_volume *v, u64 kernel)
{
	if (v->state != STORE_LIVE || v->pending)
		return true;
	if (!v->attached)
		return kernel || (v->version == 1 && !v->recorded);
	return !kernel || kernel != v->version || (v->recorded < v->version && late_due(&v->uuid));
}

/* Whether a member of a LIVE volume was replaced, and its extent is not free yet. */
static bool has_frees(const struct store_free *f, size_t n, const struct muuid *volume)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (muuid_equal(&f[i].volume, volume))
			return true;
	return false;
}

/* What waits for drives that are away, for good perhaps, is tried now and then. */
static size_t frees_due(struct store_free **f)
{
	static u64 next;
	size_t n = 0;

	*f = NULL;
	if (now_ms() < next || store_frees(NULL, f, &n))
		return 0;
	next = now_ms() + FREES_MS;
	return n;
}

/* Intents of a volume that the store does not have at all. */
static void undo_strays(const struct store_intent *in, size_t n)
{
	struct store_volume v;
	char why[REASON] = "";
	struct gather g;
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		if (store_volume_get(&in[i].volume, &v, NULL) != -ENOENT || !busy_take(&in[i].volume))
			continue;
		err = gather(&g, &in[i].volume, false);
		if (!err && shown_twice(&g.shown, &in[i].drive, g.hosts, why))
			err = -ENOTUNIQ;
		else if (!err)
			err = intent_undo(&in[i], why);
		gather_free(&g);
		if (err)
			log_debug("an extent of %s stays for now: %s", in[i].name, why);
		busy_drop(&in[i].volume);
	}
}

static void settle_volumes(struct mesh *m)
{
	struct store_intent *in __free(free) = NULL;
	struct store_volume *v __free(free) = NULL;
	struct store_free *f __free(free) = NULL;
	const struct meshblk_volume *here;
	struct meshblk_volume *k;
	size_t i, n, nk, ni, nf;
	struct abandoned a;
	bool returned, over;
	u64 kernel;

	if (meshblk_volumes(m, &k, &nk))
		return;
	abandoned_get(&a);
	abandoned_pass(&a);
	nf = frees_due(&f);
	if (!store_volumes(&v, &n) && !store_intents(&in, &ni)) {
		for (i = 0; i < n; i++) {
			here = in_kernel(k, nk, &v[i].uuid);
			kernel = here ? here->version ? here->version : 1 : 0;
			if (here)
				watch(&v[i], here);
			over = abandoned_over(&a, &v[i].uuid);
			returned = here && v[i].attached && kernel == v[i].version &&
				   (over || late_due(&v[i].uuid)) && local_returned(here);
			if (needs_work(&v[i], kernel) || returned || over ||
			    (here && differs(&v[i], here) && late_due(&v[i].uuid)) ||
			    has_intents(in, ni, &v[i].uuid) || has_frees(f, nf, &v[i].uuid))
				work_on(&v[i].uuid, kernel, returned);
		}
		undo_strays(in, ni);
		watch_done();
		spare_done();
	}
	abandoned_free(&a);
	meshblk_volumes_free(k, nk);
}

static void check(void)
{
	struct mesh *m __free(mesh_close) = mesh_open();
	int id;

	target_tick();
	changes_log();
	if (!m)
		return;
	id = mesh_family_id(m, false);
	if (id && id != identity_family && !identity_push(m))
		identity_family = id;
	witness_tick();
	/* What cannot be read is not empty: nothing is undone or removed because of it. */
	if (id && !store_broken() && !peers_push(m))
		settle_volumes(m);
	if (!store_broken())
		local_tidy();
}

static void on_event(void *priv, const struct mesh_event *e)
{
	(void)priv;
	if (e->target && e->event == MESHTGT_EV_DRIVE_GONE)
		export_gone(&e->uuid);
	if (!e->target && e->event == MESHBLK_EV_TARGET_STATE)
		spare_again();
	changes_note(e);
}

static void *event_thread(void *arg)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct mesh *m = arg;

	fds[0].fd = mesh_fd(m);
	fds[1].fd = D.stop;
	for (;;) {
		mesh_events_join(m);
		if (poll(fds, 2, 1000) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			break;
		if (fds[0].revents) {
			mesh_events_read(m, on_event, NULL);
			reconcile_kick();
		}
		/* Here, since the other thread waits for drives in turn. */
		tdrives_tick();
	}
	mesh_close(m);
	return NULL;
}

static void *reconcile_thread(void *arg)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	u64 count;

	(void)arg;
	fds[0].fd = kick_fd;
	fds[1].fd = D.stop;
	while (!stopping()) {
		check();
		if (poll(fds, 2, TICK_MS) < 0 && errno != EINTR)
			break;
		if (fds[0].revents && read(kick_fd, &count, sizeof(count)) < 0)
			continue;
		/* A burst of events causes one pass. */
		if (fds[0].revents)
			sleep_ms(100);
	}
	return NULL;
}

int reconcile_start(void)
{
	struct mesh *m = mesh_open();

	kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (kick_fd < 0 || !m || thread_start(event_thread, m))
		return -ENOMEM;
	return thread_start(reconcile_thread, NULL);
}
