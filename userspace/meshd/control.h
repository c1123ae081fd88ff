/* SPDX-License-Identifier: GPL-2.0-only */
/* The control socket: one JSON object a line, each way. */
#ifndef MESHD_CONTROL_H
#define MESHD_CONTROL_H

#include <jansson.h>

#include "userspace/meshd/meshd.h"

/* A request of meshctl, on its own thread. */
struct req {
	int	fd;		/* of the client; negative: meshd's own, and none waits for it */
	json_t	*args;
	json_t	*result;	/* set by the command */
	int	status;		/* 1 failed, 2 wrong usage */
	char	error[480];
};

static inline bool req_own(const struct req *r)
{
	return r->fd < 0;
}

/* Set the one line that says what to do next; always returns -1. */
int req_fail(struct req *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int req_usage(struct req *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void req_note(struct req *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void req_progress(struct req *r, const char *what, u64 done, u64 total);
/* Whether the client has gone (^C at meshctl): long work is undone then. */
bool req_cancelled(const struct req *r);
/*
 * With --dry-run: one thing that the command would destroy, as an object in the
 * result's "destroys"; the caller adds what is known of it with jset_...():
 * uuid, host, drive, volume, extents, bytes, holder.
 * @what: "volume", "extent", "drive", "label", "host"
 */
json_t *req_destroys(struct req *r, const char *what, const char *name);
/* The same for what stays as it is, but could not be reached any more: "unreachable". */
json_t *req_unreachable(struct req *r, const char *what, const char *name);

/* Arguments; a missing one is "", false, 0. */
const char *arg_str(const struct req *r, const char *key);
bool arg_bool(const struct req *r, const char *key);
u64 arg_num(const struct req *r, const char *key);

int control_listen(const char *path);	/* the fd, or a negative errno */
void control_accept(int fd);

/* commands.c */
int command_run(struct req *r, const char *cmd);

#endif
