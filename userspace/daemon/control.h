/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket, as meshctl knows it: a request is one line with one JSON object, an answer some
 * lines: {"progress":..}, {"note":..}, then {"ok":true,"result":..} or {"ok":false,"error":..,
 * "hint":..,"kind":..,"code":..}. Requests are steps on the loop, so that each may wait for what the
 * store says without a thread of its own.
 *
 *   line --> api table: verb_find(), verb_ok() --> api_step() after each turn of the copy --> lines
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include <jansson.h>

#include "userspace/daemon/daemon.h"
#include "userspace/format/verbs.h"

struct control;

/* One request. */
struct api {
	struct daemon *d;
	const char *verb;
	json_t	*args;		/* an object */
	json_t	*result;	/* the step sets it */
	int	code;		/* of an answer with a result: exit status of meshctl */
	u32	uid;		/* of the peer; rights are root's alone */
	u64	since_ms;
	void	*state;		/* the verb's own ... */
	void	(*drop)(void *state);	/* ... ended by this; NULL: by free() */
	bool	gone;		/* the peer has closed: a last step may undo */
	/* of api_fail() */
	const char *kind;
	char	error[600];
};

/* Return: -EINPROGRESS: call again after the next turn; 0: done; negative: failed, by api_fail(). */
typedef int api_step(struct api *a);

/*
 * @kind: a word, stable, for scripts: not-found, exists, in-use, refused, no-space, unreachable,
 * stopped, usage, failed. The sentence says what to do next. Return: @err.
 */
int api_fail(struct api *a, int err, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same again is not sent: a step may say each time what it waits for. */
void api_note(struct api *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Shown as a bar with the time left on a terminal. @total 0: not known. The same again is not sent. */
void api_progress(struct api *a, const char *what, u64 done, u64 total);

/* @path: of the socket. 0 or a negative errno. */
int control_open(struct daemon *d, const char *path, struct control **out);
void control_close(struct control *c);
/* A step of each request that waits; after each turn of the agents. */
void control_turn(struct control *c);

/* api.c: NULL: this daemon knows no such verb. */
api_step *api_find(const char *verb);
/* The n-th verb of this daemon; NULL: there are fewer. */
const char *api_verb(unsigned int n);
/**
 * api_may() - true if a verb may begin now
 *
 * Called before the first step. Return: 0; -EINPROGRESS: what it needs was not read yet; negative:
 * failed, by api_fail(): the store is away, or this host decides nothing.
 */
int api_may(struct api *a);

#endif
