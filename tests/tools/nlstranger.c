// SPDX-License-Identifier: GPL-2.0-only
/*
 * nlstranger: another process at the machine's netlink sockets, with whatever rights it was
 * started with.
 *
 *   forge        send to every generic netlink socket what only the kernel sends: a GRANT of each
 *                extent to another host, a roster of each volume, events, an acknowledgment;
 *                prints how often each was sent or why not
 *   tap IF FILE  copy all netlink traffic of the nlmon interface IF to FILE until SIGTERM; says
 *                "tapping" when it does; fails if anything was missed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "driver/uapi/meshblk.h"

#define MAX	256

static struct nl_sock *sk;
static int blk, tgt;

static struct extent {
	uint8_t drive[16], uuid[16];
	uint64_t epoch;
} extents[MAX];

static uint8_t volumes[MAX][16];
static uint32_t ports[MAX];
static int nr_extents, nr_volumes, nr_ports;

static void die(const char *what)
{
	fprintf(stderr, "nlstranger: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void add_extent(const uint8_t *drive, struct nlattr *nest)
{
	struct nlattr *x[MESHTGT_X_MAX + 1];
	struct extent *e = &extents[nr_extents];

	if (nr_extents == MAX || nla_parse_nested(x, MESHTGT_X_MAX, nest, NULL) ||
	    !x[MESHTGT_X_UUID])
		return;
	memcpy(e->drive, drive, 16);
	memcpy(e->uuid, nla_data(x[MESHTGT_X_UUID]), 16);
	e->epoch = x[MESHTGT_X_EPOCH] ? nla_get_u64(x[MESHTGT_X_EPOCH]) : 0;
	nr_extents++;
}

static int on_drive(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct nlattr *drive = nlmsg_find_attr(h, GENL_HDRLEN, MESHTGT_A_DRIVE_UUID), *a, *n;
	int left, rest;

	(void)arg;
	nlmsg_for_each_attr(a, h, GENL_HDRLEN, left)
		if (drive && nla_type(a) == MESHTGT_A_EXTENTS)
			nla_for_each_nested(n, a, rest)
				add_extent(nla_data(drive), n);
	return NL_OK;
}

static int on_volume(struct nl_msg *msg, void *arg)
{
	struct nlattr *uuid = nlmsg_find_attr(nlmsg_hdr(msg), GENL_HDRLEN, MESHBLK_A_VOLUME_UUID);

	(void)arg;
	if (uuid && nr_volumes < MAX)
		memcpy(volumes[nr_volumes++], nla_data(uuid), 16);
	return NL_OK;
}

static void dump(int family, int cmd, nl_recvmsg_msg_cb_t fn)
{
	struct nl_msg *m = nlmsg_alloc();

	if (!genlmsg_put(m, 0, NL_AUTO_SEQ, family, 0, NLM_F_DUMP | NLM_F_REQUEST, cmd, 1))
		die("memory");
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, fn, NULL);
	if (nl_send_auto(sk, m) < 0 || nl_recvmsgs_default(sk) < 0)
		die("dump");
	nlmsg_free(m);
}

static void find_ports(void)
{
	FILE *f = fopen("/proc/net/netlink", "r");
	char line[256];
	uint32_t port;
	int proto;

	if (!f)
		die("/proc/net/netlink");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*x %d %u", &proto, &port) == 2 && proto == NETLINK_GENERIC &&
		    port && port != nl_socket_get_local_port(sk) && nr_ports < MAX)
			ports[nr_ports++] = port;
	fclose(f);
}

/* To each port, or to @group alone; frees @m. */
static void send_all(const char *what, struct nl_msg *m, uint32_t group)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_groups = group };
	struct nlmsghdr *h = nlmsg_hdr(m);
	int i, n = group ? 1 : nr_ports;

	h->nlmsg_pid = 0;
	for (i = 0; i < n; i++) {
		to.nl_pid = group ? 0 : ports[i];
		if (sendto(nl_socket_get_fd(sk), h, h->nlmsg_len, 0, (void *)&to, sizeof(to)) < 0)
			printf("%s: %s\n", what, strerror(errno));
		else
			printf("%s: sent\n", what);
	}
	nlmsg_free(m);
}

static struct nl_msg *message(int family, int cmd)
{
	struct nl_msg *m = nlmsg_alloc_size(8192);

	if (!m || !genlmsg_put(m, 0, 0, family, 0, 0, cmd, 1))
		die("memory");
	return m;
}

static void grant(const struct extent *e)
{
	static const uint8_t host[16] = "a stranger host";
	struct nl_msg *m = message(tgt, MESHTGT_CMD_GRANT);

	nla_put_u64(m, MESHTGT_A_REQUEST, 1ULL << 60);
	nla_put(m, MESHTGT_A_DRIVE_UUID, 16, e->drive);
	nla_put(m, MESHTGT_A_EXTENT_UUID, 16, e->uuid);
	nla_put(m, MESHTGT_A_HOST_UUID, 16, host);
	nla_put_u64(m, MESHTGT_A_EPOCH, e->epoch);
	nla_put_u64(m, MESHTGT_A_ATTACH, ~0ULL >> 1);
	nla_put_u8(m, MESHTGT_A_ACCESS, 2);
	send_all("grant", m, 0);
}

static void roster(const uint8_t *volume)
{
	static const uint8_t bytes[MESHBLK_ROSTER_BYTES] = "no roster";
	struct nl_msg *m = message(blk, MESHBLK_CMD_ROSTER_NOTE);

	nla_put(m, MESHBLK_A_VOLUME_UUID, 16, volume);
	nla_put_u32(m, MESHBLK_A_PLACE, 0);
	nla_put(m, MESHBLK_A_ROSTER, sizeof(bytes), bytes);
	send_all("roster", m, 0);
}

static void event(uint32_t group)
{
	struct nl_msg *m = message(blk, MESHBLK_CMD_EVENT);

	nla_put_u32(m, MESHBLK_A_EVENT, MESHBLK_EV_VOLUME_STATE);
	send_all(group ? "multicast" : "event", m, group);
}

static void ack(void)
{
	struct nl_msg *m = nlmsg_alloc();
	struct nlmsgerr e = { 0 };

	if (!m || !nlmsg_put(m, 0, 1, NLMSG_ERROR, 0, 0) ||
	    nlmsg_append(m, &e, sizeof(e), NLMSG_ALIGNTO))
		die("memory");
	send_all("acknowledgment", m, 0);
}

static int forge(void)
{
	int i, group;

	sk = nl_socket_alloc();
	if (!sk || genl_connect(sk))
		die("generic netlink");
	blk = genl_ctrl_resolve(sk, MESHBLK_GENL_NAME);
	tgt = genl_ctrl_resolve(sk, MESHTGT_GENL_NAME);
	group = genl_ctrl_resolve_grp(sk, MESHBLK_GENL_NAME, MESHBLK_GENL_EVENTS);
	if (blk < 0 || tgt < 0 || group < 0)
		die("no families");
	dump(tgt, MESHTGT_CMD_DRIVE_GET, on_drive);
	dump(blk, MESHBLK_CMD_VOLUME_GET, on_volume);
	find_ports();
	for (i = 0; i < nr_extents; i++)
		grant(&extents[i]);
	for (i = 0; i < nr_volumes; i++)
		roster(volumes[i]);
	event(0);
	if (group <= 32)	/* Linux has no address for others */
		event(1u << (group - 1));
	ack();
	return 0;
}

static volatile sig_atomic_t ended;

static void on_term(int sig)
{
	(void)sig;
	ended = 1;
}

static int tap(const char *interface, const char *path)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET, .sll_protocol = htons(0x0003),
				 .sll_ifindex = if_nametoindex(interface) };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), bytes = 64 << 20;
	static char buf[1 << 20];
	struct tpacket_stats lost;
	socklen_t len = sizeof(lost);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	FILE *f = fopen(path, "w");
	ssize_t n;
	int ready;

	if (fd < 0 || !f || !a.sll_ifindex ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) ||
	    bind(fd, (void *)&a, sizeof(a)))
		die(interface);
	signal(SIGTERM, on_term);
	puts("tapping");
	fflush(stdout);
	do {
		ready = poll(&p, 1, ended ? 0 : 100);
		n = ready > 0 ? recv(fd, buf, sizeof(buf), MSG_DONTWAIT) : 0;
		if (n > 0 && fwrite(buf, n, 1, f) != 1)
			die(path);
	} while (ready || !ended);
	if (fclose(f) || getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &len))
		die(path);
	printf("%u messages, %u lost\n", lost.tp_packets, lost.tp_drops);
	return lost.tp_drops ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "forge"))
		return forge();
	if (argc == 4 && !strcmp(argv[1], "tap"))
		return tap(argv[2], argv[3]);
	fprintf(stderr, "usage: nlstranger forge | tap IF FILE\n");
	return 2;
}
