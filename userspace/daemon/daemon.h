/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's parts, for those that join them: main.c, loop.c, api_*.c. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <systemd/sd-event.h>

#include "userspace/agent/attach.h"
#include "userspace/agent/export.h"
#include "userspace/agent/host.h"
#include "userspace/agent/tasks.h"
#include "userspace/daemon/cluster.h"
#include "userspace/daemon/disk.h"
#include "userspace/daemon/volumes.h"

struct control;

struct daemon {
	sd_event *event;
	struct muuid host;
	const char *state, *socket;
	struct cluster *cluster;
	struct store *store;		/* of the loop's thread */
	struct copy *copy;		/* follows everything that any agent does, and verbs list */
	struct host_agent self;
	struct lead lead;
	struct tasks tasks;		/* while this host may lead */
	struct export_agent exports;
	struct attach_agent *attach;
	struct disks *disks;
	struct volumes *volumes;
	struct control *control;
	bool	store_away;
	u64	store_away_ms;		/* since */
	bool	again;			/* it is of another cluster now: end, and start from the beginning */
};

/* loop.c: run all agents until none has a step; after each wake. */
void daemon_turn(struct daemon *d);
int daemon_run(struct daemon *d);

void daemon_log(void *priv, const char *words);

#endif
