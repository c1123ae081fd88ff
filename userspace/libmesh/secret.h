/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Secrets for the kernel. Netlink can be tapped, so a message names keys of the kernel's keyrings.
 * They are in the calling thread's own keyring while the kernel handles the message, which happens
 * within the send: no other process or thread ever has them.
 */
#ifndef LIBMESH_SECRET_H
#define LIBMESH_SECRET_H

#include "userspace/libmesh/genl.h"

/* Add the key @name, and its serial number to @msg as @attr. */
int put_secret(struct mesh *m, struct nl_msg *msg, int attr, const char *name, const void *bytes,
	       size_t len);
/* @first: the attribute of the first key's id; behind it its serial, the next one's, the role. */
int put_keys(struct mesh *m, struct nl_msg *msg, int first, const struct mesh_key *keys, size_t n);
/* mesh_call() with a message whose secrets were put, or not: @err. Then no secret is left. */
int call_secret(struct mesh *m, enum mesh_family f, struct nl_msg *msg, int err);

#endif
