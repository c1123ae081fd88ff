/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an answer of etcd, or the lack of one, means for a call. Pure.
 *
 *	no byte of the request was read by the transport -> not done, another endpoint
 *	the transport failed later, HTTP of a proxy, no status -> unknown, another endpoint
 *	a status of the table below -> what it says
 *	any other status -> unknown, another endpoint
 *
 * "Unknown" is the rule and "not done" the exception: a transaction that is sent twice could undo
 * another host's change, and one that is reported as refused must not have been done.
 */
#ifndef STORE_ET_VERDICT_H
#define STORE_ET_VERDICT_H

#include "userspace/store/et_grpc.h"

struct et_answer {
	int	transport;	/* 0, or a negative error number of the connection */
	bool	sent;		/* the transport has read some of the request */
	bool	reply;		/* a whole message has come */
	bool	cut;		/* the response ended within a message */
	const struct grpc_head *head;
};

struct et_verdict {
	int	err;		/* 0: done */
	bool	unknown;	/* a change may have been made, or may still be */
	bool	other;		/* another endpoint may do better */
};

/* Errors besides those of store.h: -EMSGSIZE (a reply too long), -EEXIST (the lease is there). */
struct et_verdict et_verdict(const struct et_answer *a);

#endif
