// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel reports of hosts and volumes, as lines of the log, by the names that people know. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/machine/guard.h"
#include "userspace/meshd/event.h"
#include "userspace/meshd/store.h"

#define WAITING_MAX	256

/*
 * The thread that reads events also serves drives, and must not wait for the store: what it reads is
 * logged by the other one.
 */
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mesh_event *waiting;	/* waiting_lock */
static size_t nr_waiting;

/* What was logged last of a host: one that is away is tried again every few seconds. */
struct logged {
	u32	id;
	char	line[192];
};

static struct logged *all;		/* of the thread that logs */
static size_t nr;

static struct logged *logged_of(u32 id)
{
	struct logged *l;
	size_t i;

	for (i = 0; i < nr; i++)
		if (all[i].id == id)
			return &all[i];
	l = mesh_grow((void **)&all, &nr, sizeof(*all));
	if (l)
		*l = (struct logged) { .id = id };
	return l;
}

static void host_name(u32 id, char *out, size_t size)
{
	struct store_host *h __free(free) = NULL;
	size_t i, n;

	snprintf(out, size, "number %u", id);
	if (store_broken() || store_hosts(&h, &n))
		return;
	for (i = 0; i < n; i++)
		if (h[i].id == id && strcmp(h[i].name, h[i].addr))
			snprintf(out, size, "%s (%s)", h[i].name, h[i].addr);
		else if (h[i].id == id)
			snprintf(out, size, "%s", h[i].addr);
}

/* That it is tried again counts where it was up. */
static bool is_new(const struct logged *l, const struct mesh_event *e, const char *line)
{
	return strcmp(l->line, line) && (strcmp(e->state, MESHBLK_STATE_CONNECTING) ||
					 !strcmp(l->line, MESHBLK_STATE_UP));
}

static void host_changed(const struct mesh_event *e)
{
	struct logged *l = logged_of(e->id);
	char name[160], line[sizeof(l->line)];

	snprintf(line, sizeof(line), "%s%s%s", e->state, e->reason[0] ? ": " : "", e->reason);
	if (l && !is_new(l, e, line)) {
		log_debug("host number %u is %s", e->id, line);
		return;
	}
	host_name(e->id, name, sizeof(name));
	log_info("host %s is %s", name, line);
	if (l)
		snprintf(l->line, sizeof(l->line), "%s", line);
}

static void volume_changed(const struct mesh_event *e)
{
	struct store_volume v;

	if (store_broken() || store_volume_get(&e->uuid, &v, NULL))
		snprintf(v.name, sizeof(v.name), "%s", muuid_str(&e->uuid).s);
	log_info("volume %s is %s at version %llu", v.name, e->state, (unsigned long long)e->version);
}

void changes_note(const struct mesh_event *e)
{
	struct mesh_event *copy = NULL;

	if (e->target || (e->event != MESHBLK_EV_TARGET_STATE && e->event != MESHBLK_EV_VOLUME_STATE))
		return;
	pthread_mutex_lock(&waiting_lock);
	if (nr_waiting == WAITING_MAX) {	/* the last word of each counts */
		copy = &waiting[WAITING_MAX - 1];
		memmove(waiting, waiting + 1, (WAITING_MAX - 1) * sizeof(*copy));
	} else {
		copy = mesh_grow((void **)&waiting, &nr_waiting, sizeof(*copy));
	}
	if (copy)
		*copy = *e;
	pthread_mutex_unlock(&waiting_lock);
}

void changes_log(void)
{
	struct mesh_event *list __free(free) = NULL;
	size_t i, n;

	pthread_mutex_lock(&waiting_lock);
	list = waiting;
	n = nr_waiting;
	waiting = NULL;
	nr_waiting = 0;
	pthread_mutex_unlock(&waiting_lock);
	for (i = 0; i < n; i++)
		if (list[i].event == MESHBLK_EV_TARGET_STATE)
			host_changed(&list[i]);
		else
			volume_changed(&list[i]);
}
