/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's parts, for those that join them: main.c, loop.c, api_*.c. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <systemd/sd-event.h>

#include "userspace/agent/attach.h"
#include "userspace/agent/drive_say.h"
#include "userspace/agent/event.h"
#include "userspace/agent/export.h"
#include "userspace/agent/host.h"
#include "userspace/agent/spare.h"
#include "userspace/agent/tasks.h"
#include "userspace/daemon/cluster.h"
#include "userspace/daemon/disk.h"
#include "userspace/daemon/volumes.h"

struct control;
struct hook;
struct kernel;
struct loop;
struct this_machine;

struct daemon {
	sd_event *event;
	struct muuid host;
	const char *state, *socket;
	struct cluster *cluster;
	struct store *store;		/* of the loop's thread */
	struct copy *copy;		/* follows everything that any agent does, and verbs list */
	struct host_agent self;
	struct lead lead;
	struct spares spares;
	struct tasks tasks;		/* while this host may lead */
	struct export_agent exports;
	struct drive_say says;
	struct attach_agent *attach;
	struct events events;		/* that wait for the store */
	struct hook *hook;		/* NULL: none is run */
	struct disks *disks;
	struct volumes *volumes;
	struct control *control;
	bool	scrub_never;		/* of the configuration */
	bool	store_away;
	u64	store_away_ms;		/* since */
	bool	again;			/* it is of another cluster now: end, and start from the beginning */
	/* of loop.c, and of main.c that opens them */
	struct this_machine *machine;
	struct kernel *kernel;
	struct loop *loop;
};

/* loop.c: a copy of all that agents decide from, and verbs list. 0 or an errno. */
int daemon_follow(struct daemon *d);
/* Begin with agents: @d has all below them. 0 or an errno. */
int daemon_begin(struct daemon *d);
/* Run all agents until none has a step; after each wake. */
void daemon_turn(struct daemon *d);
/* Until a signal, or until daemon.again. Return: 0 or a negative errno. */
int daemon_run(struct daemon *d);
/* Leases end at once, and what was opened by daemon_begin() goes; drives and volumes stay as they are. */
void daemon_end(struct daemon *d);

/* Any thread. */
void daemon_log(void *priv, const char *words);
/* The same for a change that is no trouble. */
void daemon_note(void *priv, const char *words);

#endif
