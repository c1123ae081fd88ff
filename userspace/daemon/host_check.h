/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The way from this machine to another host, in words: its addresses, this machine's RDMA devices,
 * and a session of the kernel, which connects and logs in as the members of a volume do.
 */
#ifndef DAEMON_HOST_CHECK_H
#define DAEMON_HOST_CHECK_H

#include "userspace/format/objects.h"

#define HOST_CHECK_LINES	80
#define HOST_CHECK_PLACES	4

enum host_verdict { HOST_CHECK_BAD, HOST_CHECK_OK, HOST_CHECK_NOTE };

struct host_check_line {
	u8	verdict;		/* enum host_verdict */
	char	what[16];		/* "link", "session" */
	char	text[400];
};

struct host_check {
	struct muuid host;		/* null: the address is of no host of the cluster */
	bool	exports;		/* it has a target: a session is tried */
	u32	places;
	struct obj_address place[HOST_CHECK_PLACES];
	u32	lines;			/* of the check */
	struct host_check_line line[HOST_CHECK_LINES];
};

/* A line; of more than HOST_CHECK_LINES the last ones are dropped. */
void host_check_line(struct host_check *c, enum host_verdict v, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Of a job; may take half a minute. */
void host_check_run(struct host_check *c);

#endif
