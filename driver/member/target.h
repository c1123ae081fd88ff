/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Targets as meshd names them: a number for a session that is kept up.
 *
 *   TARGET_SET -> mesh_target -> rdda_target
 *                    ^-- references of members; TARGET_DEL is refused with any
 *
 * An rdda_target is only the session: RDDA knows neither meshd's numbers nor the users of the
 * session. A mesh_target adds the number, the references and the request of meshd, to recognize a
 * TARGET_SET that changes nothing.
 */
#ifndef DRIVER_TARGET_H
#define DRIVER_TARGET_H

#include <linux/inet.h>
#include <linux/mutex.h>

#include "rdda/rdda.h"

struct netlink_ext_ack;

#define MESH_ADDR_MAX	64

/* How a target is reached. */
struct mesh_target_conf {
	u32	id;			/* key */
	u16	port;			/* port of the target's listener */
	char	addr[MESH_ADDR_MAX];	/* as text */
	uuid_t	host;			/* UUID that the target must show; zero: any */
};

/* UUID of this host, set by IDENTITY_SET; rosters name it. Written by netlink/target.c. */
extern uuid_t mesh_host_uuid;

/* A target. */
struct mesh_target {
	/* fixed, except @conf.host, which is set once known, under the registry's lock */
	struct mesh_target_conf	conf;
	/* one for each member, one for the registration; under the registry's lock */
	unsigned int		refs;
	struct list_head	node;	/* in the registry */
	struct mutex		lock;	/* makes the first callbacks wait until @rdda is known */
	struct rdda_target	*rdda;	/* the session */
};

int mesh_target_set(const struct mesh_target_conf *conf, struct netlink_ext_ack *extack);
int mesh_target_del(u32 id, struct netlink_ext_ack *extack);
struct mesh_target *mesh_target_get(u32 id);
struct mesh_target *mesh_target_next(unsigned int skip);
void mesh_target_put(struct mesh_target *t);
void mesh_targets_exit(void);

const char *mesh_target_state_name(enum rdda_target_state s);

#endif
