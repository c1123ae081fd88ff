// SPDX-License-Identifier: GPL-2.0-only
/* Hosts in one process that talk over loopback: link*.c of meshd as it is. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/kernel.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "userspace/meshd/links.h"

#define MS	5000

struct host {
	struct links *l;
	struct muuid uuid;
	char	addr[16];
	u16	port;
};

static struct link_key key1, key2, other1, zero;
static u16 next_port;

/* A port that is free on every loopback address. */
static u16 free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) || getsockname(fd, (void *)&a, &len))
		abort();
	close(fd);
	return ntohs(a.sin_port);
}

/* What a host answers: by the first letter of the request. */
static void serve(struct link_req *r, const void *msg, size_t len)
{
	const char *s = msg;

	if (len && s[0] == 'w') {		/* wait, then echo */
		usleep(500000);
	} else if (len && s[0] == 'n') {	/* the number of bytes */
		char text[32];

		link_reply(r, text, snprintf(text, sizeof(text), "%zu", len));
		return;
	} else if (len && s[0] == 'h') {	/* who asks */
		char text[MUUID_TEXT];

		muuid_text(&link_req_peer(r)->host, text);
		link_reply(r, text, sizeof(text));
		return;
	}
	link_reply(r, msg, len);
}

static void host_up(struct host *h, u8 n, const struct link_key *keys, size_t nr, bool listens)
{
	memset(h, 0, sizeof(*h));
	memset(h->uuid.b, n, 16);
	snprintf(h->addr, sizeof(h->addr), "127.0.0.%u", n);
	h->port = next_port;
	h->l = links_new(&h->uuid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(h->l);
	links_keys(h->l, keys, nr);
	if (listens)
		CU_ASSERT_EQUAL(links_listen(h->l, h->addr, h->port, serve), 0);
}

static void host_down(struct host *h)
{
	links_free(h->l);
}

static int ask(struct host *from, const struct host *to, const char *text, unsigned int ms,
	       char *answer, size_t size, char *why)
{
	size_t n;
	void *rsp;
	int err = links_call(from->l, to->addr, to->port, &to->uuid, text, strlen(text) + 1, ms, &rsp, &n,
			     why);

	if (!err)
		snprintf(answer, size, "%.*s", (int)n, (char *)rsp);
	free(rsp);
	return err;
}

static void good(struct host *from, const struct host *to)
{
	char why[LINK_REASON], answer[64] = "";
	int err = ask(from, to, "echo", MS, answer, sizeof(answer), why);

	if (err)
		printf("  %d: %s\n", err, why);
	CU_ASSERT_EQUAL(err, 0);
	CU_ASSERT_STRING_EQUAL(answer, "echo");
}

/* It fails with @err and words that contain @words. */
static void bad(struct host *from, const struct host *to, int err, const char *words)
{
	char why[LINK_REASON], answer[64] = "";
	int got = ask(from, to, "echo", MS, answer, sizeof(answer), why);

	CU_ASSERT_EQUAL(got, err);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, words));
	if (got != err || !strstr(why, words))
		printf("  %d (%d wanted): %s\n", got, err, why);
}

static void test_call(void)
{
	struct host a, b;

	host_up(&a, 1, &key1, 1, true);
	host_up(&b, 2, &key1, 1, true);
	good(&a, &b);
	good(&a, &b);
	good(&b, &a);
	good(&a, &a);
	host_down(&a);
	host_down(&b);
}

static void test_keys(void)
{
	struct link_key rotated[2] = { key2, key1 };
	struct host a, b;

	host_up(&a, 1, &key1, 1, true);
	host_up(&b, 2, &other1, 1, true);
	bad(&a, &b, -EKEYREJECTED, "another key, or none");
	bad(&b, &a, -EKEYREJECTED, "another key, or none");
	links_keys(b.l, rotated, 2);
	good(&a, &b);
	good(&b, &a);
	links_keys(a.l, &zero, 1);
	bad(&a, &b, -EKEYREJECTED, "this one runs without");
	bad(&b, &a, -EKEYREJECTED, "another key, or none");
	links_keys(b.l, &zero, 1);
	good(&a, &b);
	links_keys(b.l, NULL, 0);
	usleep(200000);		/* its end of the connection goes */
	bad(&a, &b, -EHOSTDOWN, "or it has no key");
	bad(&b, &a, -ENOKEY, "meshctl host key");
	links_keys(b.l, &zero, 1);
	usleep(100000);
	good(&a, &b);
	host_down(&a);
	host_down(&b);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "call", test_call },
		{ "keys", test_keys },
		{ NULL, NULL },
	};
	static const u8 k[2][32] = { "the key of this cluster", "another" };

	signal(SIGPIPE, SIG_IGN);
	link_psk(k[0], 32, 1, &key1);
	link_psk(k[0], 32, 2, &key2);
	link_psk(k[1], 32, 1, &other1);
	link_psk(NULL, 0, 0, &zero);
	next_port = free_port();
	return suite_main("link", tests);
}
