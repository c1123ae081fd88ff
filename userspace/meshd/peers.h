/* SPDX-License-Identifier: GPL-2.0-only */
/* The client role's way to targets: kernel sessions and management requests. */
#ifndef MESHD_PEERS_H
#define MESHD_PEERS_H

#include "userspace/format/mgmt.h"
#include "userspace/libmesh/mesh.h"
#include "userspace/machine/guard.h"
#include "userspace/meshd/control.h"
#include "userspace/meshd/store.h"

#define REASON	256

/*
 * Send one request to the meshd of a host; this host's own is called directly. @data: set to the
 * answer, a new reference. @why: REASON bytes: set to words when it fails. Return: 0, what the
 * other side refused it with, or -EREMOTEIO when it is unknown whether it was carried out.
 */
int peer_call(const struct store_host *h, const struct mgmt_req *q, json_t **data, char *why);

/*
 * Call @fn for 0 to @n - 1, each on its own thread. Returns when all of them have: what they wait
 * for has a deadline.
 */
void peers_each(size_t n, void (*fn)(void *arg, size_t i), void *arg);

/* What came of one of them. */
struct outcome {
	int	err;
	char	why[REASON];
};

/* One extent of a host. -ENOENT when it is not there. */
int peer_extent(const struct store_host *h, const struct muuid *extent, struct mgmt_extent *out,
		char *why);

/* What the kernel has of a host; NULL: nothing. */
const struct meshblk_target *target_of(const struct meshblk_target *t, size_t n,
				       const struct store_host *h);
/* Announce to the kernel all hosts that it does not know; forget second addresses of one. */
int peers_push(struct mesh *m);
/* A command waits for the host that answers at an address that it adds. */
void peers_adding(bool begin);
/* Out of the kernel and the store. @why: REASON bytes: set to words when it fails. */
int peer_forget(const struct store_host *h, char *why);
/* After a new key: sessions that failed try again. */
int peers_repush(void);
/* Wait until the session is up; -ETIMEDOUT and words. */
int peer_wait_up(const struct store_host *h, unsigned int ms, char *why);
/* The host that the record names: by UUID, else by its address. A hint. */
int peer_of_member(const struct layout_member *mb, struct store_host *out);
/* Greet it and note its UUID. -EEXIST: a host that is known at another address. */
int peer_greet(struct store_host *h, char *why);

/* hosts.c */
int cmd_host_add(struct req *r);
int cmd_host_list(struct req *r);
int cmd_host_remove(struct req *r);
int cmd_host_check(struct req *r);
int cmd_host_key(struct req *r);
int cmd_drive_list(struct req *r);
int cmd_drive_health(struct req *r);

#endif
