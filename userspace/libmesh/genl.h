/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside libmesh: requests and answers over libnl. */
#ifndef LIBMESH_GENL_H
#define LIBMESH_GENL_H

#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <pthread.h>

#include "userspace/libmesh/mesh.h"

/* Attributes are at most 64 KiB: long tables come in several. */
#define MESH_TABLE_PIECE	400
#define MESH_MSG_MAX		(1U << 20)

enum mesh_family { MESH_BLK, MESH_TGT, MESH_FAMILIES };

struct mesh {
	struct nl_sock *sock;
	int	family[MESH_FAMILIES];
	bool	joined[MESH_FAMILIES];
	bool	serving;
	pthread_mutex_t send_lock;	/* of a serving socket */
	char	why[256];
};

typedef int (*mesh_parse_fn)(void *arg, struct nlattr **tb, struct nlmsghdr *h);

/* Callbacks for nl_recvmsgs(), which receives from the kernel alone; nl_cb_put() frees them. */
struct nl_cb *mesh_cb(struct mesh *m);
/* A request of @bytes payload at most; NULL sets m->why. @err: why. */
struct nl_msg *mesh_msg(struct mesh *m, enum mesh_family f, u8 cmd, int flags, size_t bytes,
			int *err);
/* Send, take the answers (each to @fn), wait for the end; frees @msg. */
int mesh_call(struct mesh *m, enum mesh_family f, struct nl_msg *msg, mesh_parse_fn fn, void *arg);

/* What a dump answers: mesh_grow() makes it. */
struct mesh_list {
	void	*array;
	size_t	n;
};

/* Dump with @cmd, each answer to @fn with @l, which has what came before an error, too. */
int mesh_dump(struct mesh *m, enum mesh_family f, u8 cmd, mesh_parse_fn fn, struct mesh_list *l);

void put_uuid(struct nl_msg *msg, int attr, const struct muuid *u);
void get_uuid(const struct nlattr *a, struct muuid *u);
void get_str(const struct nlattr *a, char *out, size_t size);
u32 get_u32(const struct nlattr *a);
u64 get_u64(const struct nlattr *a);
s32 get_s32(const struct nlattr *a);
/* Return: true if there is a roster, of the only size that one has; it is copied. */
bool get_roster(const struct nlattr *a, u8 out[MESHBLK_ROSTER_BYTES]);
void get_stats(struct nlattr *a, struct mesh_stats *s);
/*
 * A table of many entries, each a nest: call it before entry @i with what it
 * returned before, and end the last table. An attribute holds only so much, so
 * now and then there is a new one.
 */
struct nlattr *table_piece(struct nl_msg *msg, struct nlattr *table, int attr, u32 i);

#endif
