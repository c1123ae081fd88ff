/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses by which other hosts reach this one.
 *
 *   addresses of interfaces  --- one is a GID of an RDMA port, or its interface is IP over InfiniBand
 *                            '-- all, where the machine has no RDMA device: the link alone uses them
 *
 * Loopback and link-local addresses are none that another host could use.
 */
#ifndef DAEMON_MACHINE_NET_H
#define DAEMON_MACHINE_NET_H

#include "userspace/format/objects.h"

/**
 * machine_addresses() - in the order of their texts, so that two calls compare
 * @listen: the one address that is used; NULL, or any: those above
 * @port: of each; 0: the usual one
 * @out: malloc()ed; NULL if there are none
 *
 * Return: 0 or a negative errno.
 */
int machine_addresses(const char *listen, u16 port, struct obj_address **out, u32 *n);

#endif
