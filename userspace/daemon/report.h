/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens on this host, to where people see it: the log, the hook, the store's history.
 *
 *   kernel: volumes_watch.c, FENCED --+                 +--> log: a warning, or a note
 *   controller: agent/spare.c --------+-> report_event -+--> hook.c
 *                                                       '--> agent/event.c: event/H/S
 */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

#include "userspace/format/objects.h"

enum report_how {
	REPORT_WARN	= 1 << 0,	/* in the log as a warning, else as a note */
	REPORT_QUIET	= 1 << 1,	/* the hook is not run: no alarm in maintenance */
	REPORT_STORED	= 1 << 2,	/* a transaction of an agent writes it */
};

/* @daemon: struct daemon. @how: bits of enum report_how. The loop's thread. */
void report_event(void *daemon, const struct obj_event *e, u32 how);

#endif
