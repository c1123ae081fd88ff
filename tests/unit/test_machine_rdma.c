// SPDX-License-Identifier: GPL-2.0-only
/* What host check says of the way to a host: this one's addresses, no RDMA device. */
#define _GNU_SOURCE
#include <poll.h>
#include <string.h>

static int waits;

/* What does not come at once does not come: a shorter wait will do. */
static int test_poll(struct pollfd *p, nfds_t n, int ms)
{
	waits += ms;
	return poll(p, n, ms / 20);
}

#define poll	test_poll
#include "userspace/machine/rdma.c"
#undef poll
#include "suite.h"

/* libibverbs: one device with one active port that has no GIDs. */
static struct ibv_device device = { .transport_type = IBV_TRANSPORT_IB };
static struct ibv_context context;
static bool with_device;

struct ibv_device **ibv_get_device_list(int *n)
{
	static struct ibv_device *list[2] = { &device };

	*n = with_device;
	return list;
}

void ibv_free_device_list(struct ibv_device **list) { (void)list; }
const char *ibv_get_device_name(struct ibv_device *d) { (void)d; return "rxe0"; }
const char *ibv_port_state_str(enum ibv_port_state s) { (void)s; return "down"; }
int ibv_close_device(struct ibv_context *c) { (void)c; return 0; }

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	context.device = d;
	return &context;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	(void)c;
	*a = (struct ibv_device_attr) { .phys_port_cnt = 1 };
	return 0;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int i, union ibv_gid *gid)
{
	(void)c, (void)port, (void)i, (void)gid;
	return -1;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
	struct ibv_port_attr *p = (void *)a;

	(void)c, (void)port;
	p->state = IBV_PORT_ACTIVE;
	p->link_layer = IBV_LINK_LAYER_ETHERNET;
	p->active_mtu = IBV_MTU_4096;
	return 0;
}

static struct rdma_line lines[16];
static size_t n;

/* Whether one of the lines has @text, and is bad or not. */
static bool says(bool bad, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (lines[i].bad == bad && strstr(lines[i].text, text))
			return true;
	return false;
}

static void check(const char *addr, bool connected)
{
	memset(lines, 0, sizeof(lines));
	waits = 0;
	n = rdma_check(addr, connected, lines, 16);
}

static void test_answers(void)
{
	check("127.0.0.1", false);
	CU_ASSERT(says(false, "a host answers at 127.0.0.1") && !says(true, "no answer"));
	CU_ASSERT(says(true, "no RDMA device"));
}

/* The port is there, so no error comes: as from a host behind a firewall, or none. */
static void test_silent(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(MESH_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CU_ASSERT_FATAL(fd >= 0 && !bind(fd, (void *)&sa, sizeof(sa)));
	check("127.0.0.2", false);
	CU_ASSERT(says(true, "no answer from 127.0.0.2 in 5 s: the host is down, or a firewall"));
	CU_ASSERT_EQUAL(waits, REACH_MS);
	/* A session shows that it is there. */
	check("127.0.0.2", true);
	CU_ASSERT(!says(true, "no answer") && !says(false, "answer"));
	close(fd);
}

/* Nothing is said of an address that is not known. */
static void test_no_route(void)
{
	with_device = true;
	check("127.0.0.1", true);
	CU_ASSERT(says(false, "port rxe0/1 is active, but has not the address 127.0.0.1"));
	CU_ASSERT(says(true, "no RDMA port has the address 127.0.0.1"));
	check("240.0.0.1", false);
	if (says(true, "there is no route")) {
		CU_ASSERT(!says(false, "address") && says(false, "port rxe0/1 is active"));
		CU_ASSERT_EQUAL(n, 2);
	}
	check("nonsense", false);
	CU_ASSERT(says(true, "there is no route") && !says(false, "the address"));
	CU_ASSERT_EQUAL(n, 2);
	with_device = false;
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a host that answers", test_answers },
		{ "no answer", test_silent },
		{ "no route", test_no_route },
		{ NULL, NULL },
	};

	return suite_main("machine_rdma", tests);
}
