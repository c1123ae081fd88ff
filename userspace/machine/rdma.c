// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/format/verbs.h"
#include "userspace/machine/rdma.h"

#define REACH_MS	5000
#define REACH_EACH_MS	1000

struct report {
	struct rdma_line *out;
	size_t n, max;
};

static void line(struct report *r, bool bad, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void line(struct report *r, bool bad, const char *fmt, ...)
{
	va_list ap;

	if (r->n == r->max)
		return;
	va_start(ap, fmt);
	vsnprintf(r->out[r->n].text, sizeof(r->out->text), fmt, ap);
	va_end(ap);
	r->out[r->n++].bad = bad;
}

/* The address this host would use towards @addr, as a GID shows it. */
static int local_gid(const char *addr, union ibv_gid *gid, char *text, size_t size)
{
	struct addrinfo hint = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST }, *ai;
	struct sockaddr_storage self;
	socklen_t len = sizeof(self);
	int fd, err = -EHOSTUNREACH;

	if (getaddrinfo(addr, MESH_PORT_TEXT, &hint, &ai))
		return -EINVAL;
	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, ai->ai_addr, ai->ai_addrlen) &&
	    !getsockname(fd, (void *)&self, &len))
		err = 0;
	else
		err = -errno;
	if (fd >= 0)
		close(fd);
	freeaddrinfo(ai);
	if (err)
		return err;
	memset(gid, 0, sizeof(*gid));
	if (self.ss_family == AF_INET) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &((struct sockaddr_in *)&self)->sin_addr, 4);
		inet_ntop(AF_INET, gid->raw + 12, text, size);
	} else {
		memcpy(gid->raw, &((struct sockaddr_in6 *)&self)->sin6_addr, 16);
		inet_ntop(AF_INET6, gid->raw, text, size);
	}
	return 0;
}

bool rdma_own(const char *addr)
{
	struct addrinfo hint = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST }, *ai;
	bool own;
	int fd;

	if (getaddrinfo(addr, NULL, &hint, &ai))
		return false;
	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	own = fd >= 0 && !bind(fd, ai->ai_addr, ai->ai_addrlen);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(ai);
	return own;
}

/* What came of packets to a connected socket: 0 when nothing came. */
static int reach_error(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	socklen_t len = sizeof(int);
	int ms, err = 0;

	/* Hosts limit how many of these errors they send: one may be missing. */
	for (ms = 0; ms < REACH_MS && !err; ms += REACH_EACH_MS) {
		if (send(fd, "", 1, 0) < 0)
			err = errno;
		else if (poll(&p, 1, REACH_EACH_MS) == 1)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	}
	return err;
}

/*
 * Whether a host answers at that address. One that is there says that it has no
 * such UDP port, unless a firewall blocks that; for one that is not, our own
 * kernel says so when its ARP gets no answer.
 */
static void reach_check(struct report *r, const char *addr, bool connected)
{
	struct addrinfo hint = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST }, *ai;
	int fd, err = 0, one = 1;

	if (getaddrinfo(addr, MESH_PORT_TEXT, &hint, &ai))
		return;
	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)	/* what may pass, as a missing host may, is reported only on demand */
		setsockopt(fd, ai->ai_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP,
			   ai->ai_family == AF_INET6 ? IPV6_RECVERR : IP_RECVERR, &one, sizeof(one));
	err = fd < 0 || connect(fd, ai->ai_addr, ai->ai_addrlen) ? errno : reach_error(fd);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(ai);
	if (err == EHOSTUNREACH)
		line(r, true, "no host has the address %s on the network: is that host up, is the "
		     "address right?", addr);
	else if (err == ECONNREFUSED)
		line(r, false, "a host answers at %s", addr);
	else if (err)
		line(r, true, "%s cannot be reached: %s", addr, strerror(err));
	else if (!connected)
		line(r, true, "no answer from %s in %d s: the host is down, or a firewall drops packets",
		     addr, REACH_MS / 1000);
}

static bool has_gid(struct ibv_context *ctx, int port, int n, const union ibv_gid *want)
{
	union ibv_gid gid;
	int i;

	for (i = 0; i < n; i++)
		if (!ibv_query_gid(ctx, port, i, &gid) && !memcmp(&gid, want, sizeof(gid)))
			return true;
	return false;
}

/* The kernel gives a port of RoCE the address of loopback's owner, too. */
static bool port_check(struct report *r, struct ibv_context *ctx, int port,
		       const union ibv_gid *gid, const char *self)
{
	const char *name = ibv_get_device_name(ctx->device);
	struct ibv_port_attr a;
	unsigned int mtu;
	bool mine;

	if (ibv_query_port(ctx, port, &a))
		return false;
	mtu = 128u << a.active_mtu;
	mine = a.link_layer == IBV_LINK_LAYER_INFINIBAND || (gid && has_gid(ctx, port, a.gid_tbl_len, gid));
	if (a.state != IBV_PORT_ACTIVE) {
		/* An interface that is down takes its address and route with it. */
		line(r, mine || !gid, "port %s/%d is %s: %s", name, port, ibv_port_state_str(a.state),
		     a.link_layer == IBV_LINK_LAYER_INFINIBAND ?
		     "check the cable and the subnet manager" :
		     "bring its network interface up (ip link set … up)");
		return mine;
	}
	if (!gid)
		line(r, false, "port %s/%d is active", name, port);
	else
		line(r, false, "port %s/%d is active%s the address %s", name, port,
		     mine ? " and has" : ", but has not", self);
	if (!mine)
		return false;
	if (mtu < 4096)
		line(r, mtu < 1024, "port %s/%d has an RDMA MTU of %u: an interface MTU of 9000 gives 4096",
		     name, port, mtu);
	else
		line(r, false, "port %s/%d has an RDMA MTU of %u", name, port, mtu);
	return true;
}

size_t rdma_check(const char *addr, bool connected, struct rdma_line *out, size_t max)
{
	struct report r = { .out = out, .max = max };
	char self[64] = "";
	struct ibv_device **list;
	struct ibv_device_attr a;
	struct ibv_context *ctx;
	union ibv_gid gid;
	bool routed, any = false;
	int i, n = 0, port;

	routed = !local_gid(addr, &gid, self, sizeof(self));
	if (!routed)
		line(&r, true, "there is no route to %s: is its interface up, is the address right?", addr);
	list = ibv_get_device_list(&n);
	if (!n)
		line(&r, true, "this host has no RDMA device: load its driver, or add Soft-RoCE "
		     "(rdma link add rxe0 type rxe netdev …)");
	for (i = 0; i < n; i++) {
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			continue;
		if (list[i]->transport_type == IBV_TRANSPORT_IWARP)
			line(&r, true, "%s is iWARP, which Meshblk does not speak",
			     ibv_get_device_name(list[i]));
		else if (!ibv_query_device(ctx, &a))
			for (port = 1; port <= a.phys_port_cnt; port++)
				any |= port_check(&r, ctx, port, routed ? &gid : NULL, self);
		ibv_close_device(ctx);
	}
	if (list)
		ibv_free_device_list(list);
	if (routed)
		reach_check(&r, addr, connected);
	if (n && routed && !any)
		line(&r, true, "no RDMA port has the address %s, by which %s is reached: "
		     "use an address of the RDMA network", self, addr);
	return r.n;
}
