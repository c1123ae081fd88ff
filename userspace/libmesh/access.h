/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside libmesh: access numbers in messages about volumes. */
#ifndef LIBMESH_ACCESS_H
#define LIBMESH_ACCESS_H

#include "userspace/libmesh/genl.h"

/* The access of a numbered volume, into VOLUME_SET. */
void put_access(struct nl_msg *msg, const struct meshblk_volume *v);
/* The access in an answer to VOLUME_GET. Return: 0 or -ENOMEM. */
int parse_access(struct nlattr **tb, struct meshblk_volume *v);
/* client.c: a member, into its nest. */
void put_member(struct nl_msg *msg, const struct meshblk_member *mb);
/* client.c: the groups of a message, behind the @n that are there. Return: 0 or -ENOMEM. */
int parse_groups(struct nlmsghdr *h, struct meshblk_group **groups, u32 *n);

#endif
