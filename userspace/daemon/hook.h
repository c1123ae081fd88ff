/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program that is run at events of this host: meshd(8), EVENTS. One at a time, in their order;
 * nothing waits for it, and one that hangs is killed.
 *
 *   hook_add() --> 32 wait --> hook_turn(): a job --> spawned, awaited, killed when it is late
 */
#ifndef DAEMON_HOOK_H
#define DAEMON_HOOK_H

#include "userspace/format/objects.h"

struct hook;

struct hook_event {
	char	what[OBJ_TEXT];
	char	volume[LAYOUT_NAME];	/* its name */
	struct muuid uuid;
	char	member[12];		/* its number; empty: the event is of none */
	struct muuid drive;		/* null: likewise */
	char	words[OBJ_WORDS];
};

/* @path: stays the caller's. NULL: no memory. */
struct hook *hook_new(const char *path);
/* One that runs is left to itself. */
void hook_free(struct hook *h);
void hook_add(struct hook *h, const struct hook_event *e);
/* Each turn of the loop: begin the next one when the last has ended. */
void hook_turn(struct hook *h);
/* The reason for which @path must not be run; NULL: it may be. */
const char *hook_wrong(const char *path);

#endif
