/* SPDX-License-Identifier: GPL-2.0-only */
/* RDMA devices and ports of this machine, and what is wrong with the way to a host, in words. */
#ifndef MACHINE_RDMA_H
#define MACHINE_RDMA_H

#include <stdbool.h>
#include <stddef.h>

struct rdma_line {
	bool	bad;
	char	text[200];
};

/**
 * rdma_check() - the way to an address, in lines
 * @connected: a host with a session is there, although a firewall may block other packets
 *
 * May take some seconds. Return: number of lines, @max at most.
 */
size_t rdma_check(const char *addr, bool connected, struct rdma_line *out, size_t max);
/* True if @addr is this machine's own. */
bool rdma_own(const char *addr);

#endif
