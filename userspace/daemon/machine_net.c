// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/daemon/file.h"
#include "userspace/daemon/machine.h"
#include "userspace/daemon/machine_net.h"

#define PATH_BYTES	512
#define GIDS_MAX	4096

/* GIDs of all ports of all RDMA devices. */
struct gids {
	bool	device;			/* there is one */
	u32	n;
	struct in6_addr gid[GIDS_MAX];
};

/* @fn: with the path of each entry of a folder. Return: false: there is no such folder. */
static bool each(const char *folder, void (*fn)(struct gids *g, const char *path), struct gids *g)
{
	DIR *dir = opendir(folder);
	char path[PATH_BYTES];
	struct dirent *e;

	if (!dir)
		return false;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= (int)sizeof(path))
			continue;
		fn(g, path);
	}
	closedir(dir);
	return true;
}

/* Entries that are not in use cannot be read, or are zero. */
static void add_gid(struct gids *g, const char *path)
{
	char text[64];
	struct in6_addr a;

	if (g->n == GIDS_MAX || file_read(path, text, sizeof(text), false) <= 0)
		return;
	text[strcspn(text, "\n")] = 0;
	if (inet_pton(AF_INET6, text, &a) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&a))
		g->gid[g->n++] = a;
}

static void add_port(struct gids *g, const char *path)
{
	char gids[PATH_BYTES];

	if (snprintf(gids, sizeof(gids), "%s/gids", path) < (int)sizeof(gids))
		each(gids, add_gid, g);
}

static void add_device(struct gids *g, const char *path)
{
	char ports[PATH_BYTES];

	g->device = true;
	if (snprintf(ports, sizeof(ports), "%s/ports", path) < (int)sizeof(ports))
		each(ports, add_port, g);
}

static bool has_gid(const struct gids *g, const struct in6_addr *a)
{
	for (u32 i = 0; i < g->n; i++) {
		if (!memcmp(&g->gid[i], a, sizeof(*a)))
			return true;
	}
	return false;
}

/* An address as a GID shows it. False: it is none that another host could use. */
static bool usable(const struct ifaddrs *i, struct in6_addr *a, char text[LAYOUT_ADDR])
{
	memset(a, 0, sizeof(*a));
	if (!i->ifa_addr || i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
		return false;
	if (i->ifa_addr->sa_family == AF_INET) {
		const struct in_addr *v4 = &((const struct sockaddr_in *)i->ifa_addr)->sin_addr;

		a->s6_addr[10] = a->s6_addr[11] = 0xff;
		memcpy(&a->s6_addr[12], v4, 4);
		return (ntohl(v4->s_addr) >> 16) != 0xa9fe && inet_ntop(AF_INET, v4, text, LAYOUT_ADDR);
	}
	if (i->ifa_addr->sa_family != AF_INET6)
		return false;
	*a = ((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
	return !IN6_IS_ADDR_LINKLOCAL(a) && !IN6_IS_ADDR_LOOPBACK(a) && inet_ntop(AF_INET6, a, text, LAYOUT_ADDR);
}

/*
 * A GID of InfiniBand is no IP address: the interface says that it stands on such a port. An address
 * with a label names it before a colon.
 */
static bool is_ipoib(const struct ifaddrs *all, const char *name)
{
	size_t len = strcspn(name, ":");

	for (; all; all = all->ifa_next) {
		if (all->ifa_addr && all->ifa_addr->sa_family == AF_PACKET &&
		    strlen(all->ifa_name) == len && !memcmp(all->ifa_name, name, len) &&
		    ((const struct sockaddr_ll *)all->ifa_addr)->sll_hatype == ARPHRD_INFINIBAND)
			return true;
	}
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct obj_address *)a)->addr, ((const struct obj_address *)b)->addr);
}

static bool is_listed(const struct obj_address *list, u32 n, const char *text)
{
	for (u32 i = 0; i < n; i++) {
		if (!strcmp(list[i].addr, text))
			return true;
	}
	return false;
}

static void collect(const struct ifaddrs *all, const struct gids *g, struct obj_address *list, u32 *n)
{
	char text[LAYOUT_ADDR];
	struct in6_addr a;

	for (const struct ifaddrs *i = all; i && *n < OBJ_ADDRESSES_MAX; i = i->ifa_next) {
		if (!usable(i, &a, text) || is_listed(list, *n, text))
			continue;
		if (!g->device || has_gid(g, &a) || is_ipoib(all, i->ifa_name))
			snprintf(list[(*n)++].addr, LAYOUT_ADDR, "%s", text);
	}
	if (*n)
		qsort(list, *n, sizeof(*list), by_text);
}

int machine_addresses(const char *listen, u16 port, struct obj_address **out, u32 *n)
{
	struct obj_address *list = calloc(OBJ_ADDRESSES_MAX, sizeof(*list));
	struct gids *g = calloc(1, sizeof(*g));
	struct ifaddrs *all = NULL;
	int err = list && g ? 0 : -ENOMEM;

	*out = NULL;
	*n = 0;
	if (!err && listen && strcmp(listen, "0.0.0.0") && strcmp(listen, "::")) {
		snprintf(list[(*n)++].addr, sizeof(list->addr), "%s", listen);
	} else if (!err && getifaddrs(&all)) {
		err = -errno;
	} else if (!err) {
		each(machine_paths.infiniband, add_device, g);
		collect(all, g, list, n);
		freeifaddrs(all);
	}
	for (u32 i = 0; i < *n; i++)
		list[i].port = port;
	free(g);
	if (*n)
		*out = list;
	else
		free(list);
	return err;
}
