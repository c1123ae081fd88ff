// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the store wants against what the kernel has; every two seconds, and
 * when something happened. It undoes and completes what a killed meshd left.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/meshd/busy.h"
#include "userspace/meshd/identity.h"
#include "userspace/meshd/lend.h"
#include "userspace/meshd/serve.h"
#include "userspace/meshd/volume.h"

#define TICK_MS	2000

static int kick_fd = -1;
static int told_family;

void reconcile_kick(void)
{
	u64 one = 1;

	if (kick_fd >= 0 && write(kick_fd, &one, sizeof(one)) < 0)
		log_debug("a look is pending already");
}

/* Intents whose command is no more: the extents go back. */
static void undo_intents(void)
{
	struct store_intent *in;
	char why[REASON];
	size_t i, n;

	store_intents(&in, &n);
	for (i = 0; i < n; i++) {
		if (!busy_take(&in[i].volume))
			continue;
		if (intent_undo(&in[i], why))
			log_debug("an extent of %s stays for now: %s", in[i].name, why);
		else
			log_info("an extent of %s, half made, was given back", in[i].name);
		busy_drop(&in[i].volume);
	}
	free(in);
}

static const struct mesh_volume *in_kernel(const struct mesh_volume *k, size_t n,
					   const struct muuid *uuid)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (muuid_equal(&k[i].uuid, uuid))
			return &k[i];
	return NULL;
}

static void settle(struct mesh *m, const struct store_volume *v, const struct mesh_volume *k)
{
	struct store_volume had = *v;
	char why[REASON] = "";
	int err = 0;

	/* It was taken from another host once: not again at every start. */
	if (v->preempt && k && !strcmp(k->state, "active")) {
		had.preempt = false;
		store_volume_flags(&had);
	}
	if (v->state == STORE_DELETING) {
		if (k)
			err = mesh_volume_del(m, &v->uuid, false);
		if (!err || err == -ENOENT)
			err = volume_finish_delete(&v->uuid, why);
	} else if (!v->attached && k) {
		err = mesh_volume_del(m, &v->uuid, false);
	} else if ((v->recorded < v->version && (v->attached || v->version == 1)) || (v->attached && (!k || k->version < v->version))) {
		err = commit_volume(&v->uuid, 0, why);
		if (!err)
			log_info("volume %s: at version %llu everywhere", v->name,
				 (unsigned long long)v->version);
	}
	if (err)
		log_debug("volume %s: not settled: %s", v->name, why[0] ? why : mesh_why(m));
}

static void settle_volumes(struct mesh *m)
{
	struct store_volume *v, fresh;
	struct mesh_volume *k;
	size_t i, n, nk;

	if (mesh_volumes(m, &k, &nk))
		return;
	store_volumes(&v, &n);
	for (i = 0; i < n; i++) {
		if (!busy_take(&v[i].uuid))
			continue;
		/* It may have changed between the list and this turn. */
		if (!store_volume_get(&v[i].uuid, &fresh, NULL) && fresh.version == v[i].version &&
		    fresh.attached == v[i].attached && fresh.state == v[i].state)
			settle(m, &fresh, in_kernel(k, nk, &fresh.uuid));
		busy_drop(&v[i].uuid);
	}
	free(v);
	mesh_volumes_free(k, nk);
}

static void look(void)
{
	struct mesh *m = mesh_open();
	int id;

	target_tick();
	if (!m)
		return;
	id = mesh_family_id(m, false);
	if (id && id != told_family && !identity_push(m))
		told_family = id;
	if (id && !peers_push(m)) {
		settle_volumes(m);
		undo_intents();
	}
	mesh_close(m);
}

static void on_event(void *priv, const struct mesh_event *e)
{
	(void)priv;
	if (e->target && e->event == MESHTGT_EV_DRIVE_GONE)
		lend_gone(&e->uuid);
	else if (!e->target && e->event == MESHBLK_EV_TARGET_STATE)
		log_info("host %u is %s%s%s", e->id, e->state, e->reason[0] ? ": " : "", e->reason);
	else if (!e->target && e->event == MESHBLK_EV_VOLUME_STATE)
		log_info("a volume is %s at version %llu", e->state, (unsigned long long)e->version);
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
		look();
		if (poll(fds, 2, TICK_MS) < 0 && errno != EINTR)
			break;
		if (fds[0].revents && read(kick_fd, &count, sizeof(count)) < 0)
			continue;
		/* A burst of events is one reason to look. */
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
