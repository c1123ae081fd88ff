/* SPDX-License-Identifier: GPL-2.0-only */
/* Hosts in one process that talk over loopback: link*.c of meshd as it is. */
#ifndef TESTS_UNIT_LINK_RIG_H
#define TESTS_UNIT_LINK_RIG_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/kernel.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "userspace/meshd/links.h"

#define MS	20000		/* of calls that succeed: a loaded machine is slow */

struct host {
	struct links *l;
	struct muuid uuid;
	char	addr[16];
	u16	port;
	struct host *calls;	/* gets "n" requests passed on */
};

static struct link_key key1, key2, other1, zero;
static struct host *hosts[8];
static int gate;		/* eventfd: 'g' requests wait for it */

/*
 * A port below those that the kernel gives out, and not one that a test program beside this one
 * is given: who still dials it there would take a stranger's place here.
 */
static inline u16 free_port(void)
{
	static unsigned int tried;
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		abort();
	do {
		if (tried == 16384)
			abort();
		a.sin_port = htons(16384 + (getpid() * 64u + tried++) % 16384);
	} while (bind(fd, (void *)&a, sizeof(a)));
	close(fd);
	return ntohs(a.sin_port);
}

static inline int request(struct host *from, const struct host *to, const char *text, unsigned int ms,
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

/* "nHOPS FROM TO": pass it on, there and back, until no hop is left. */
static inline void nested(struct link_req *r, const char *msg)
{
	char text[64], answer[64] = "failed", why[LINK_REASON];
	unsigned int hops, from, to;

	if (sscanf(msg, "n%u %u %u", &hops, &from, &to) == 3 && hops) {
		snprintf(text, sizeof(text), "n%u %u %u", hops - 1, to, from);
		request(hosts[from], hosts[to], text, MS, answer, sizeof(answer), why);
	} else {
		strcpy(answer, "end");
	}
	link_reply(r, answer, strlen(answer) + 1);
}

/* What a host answers: by the first letter of the request. */
static inline void serve(struct link_req *r, const void *msg, size_t len)
{
	const char *s = len ? msg : "";
	struct pollfd p = { .fd = gate, .events = POLLIN };
	char text[MUUID_TEXT];
	u8 *b;

	switch (s[0]) {
	case 'g':
		poll(&p, 1, -1);
		break;
	case 'n':
		nested(r, s);
		return;
	case 'b':	/* 48 MiB */
		b = calloc(48, 1 << 20);
		link_reply(r, b, 48 << 20);
		free(b);
		return;
	case 'h':
		muuid_text(&link_req_peer(r)->host, text);
		link_reply(r, text, sizeof(text));
		return;
	}
	link_reply(r, msg, len);
}

static inline void host_make(struct host *h, u8 n, const struct link_key *keys, size_t nr)
{
	memset(h, 0, sizeof(*h));
	memset(h->uuid.b, n, 16);
	strcpy(h->addr, "127.0.0.1");
	h->port = free_port();
	h->l = links_new(&h->uuid);
	CU_ASSERT_PTR_NOT_NULL_FATAL(h->l);
	h->l->times.ping = 1000;
	hosts[n] = h;
	links_keys(h->l, keys, nr);
}

static inline void host_up(struct host *h, u8 n, const struct link_key *keys, size_t nr)
{
	host_make(h, n, keys, nr);
	CU_ASSERT_EQUAL(links_listen(h->l, h->addr, h->port, serve), 0);
}

static inline void host_down(struct host *h)
{
	links_free(h->l);
}

static inline void good(struct host *from, const struct host *to)
{
	char why[LINK_REASON], answer[64] = "";
	int err = request(from, to, "echo", MS, answer, sizeof(answer), why);

	if (err)
		printf("  %d: %s\n", err, why);
	CU_ASSERT_EQUAL(err, 0);
	CU_ASSERT_STRING_EQUAL(answer, "echo");
}

/* It fails with @err and words that contain @words. */
static inline void bad_in(struct host *from, const struct host *to, unsigned int ms, int err, const char *words)
{
	char why[LINK_REASON], answer[64] = "";
	int got = request(from, to, "echo", ms, answer, sizeof(answer), why);

	CU_ASSERT_EQUAL(got, err);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, words));
	if (got != err || !strstr(why, words))
		printf("  %d (%d wanted): %s\n", got, err, why);
}

static inline void bad(struct host *from, const struct host *to, int err, const char *words)
{
	bad_in(from, to, MS, err, words);
}

static inline unsigned int nr_conns(struct host *h)
{
	struct link_conn *c;
	unsigned int n = 0;

	pthread_mutex_lock(&h->l->lock);
	for (c = h->l->conns; c; c = c->next)
		n += c->state == LINK_UP;
	pthread_mutex_unlock(&h->l->lock);
	return n;
}

static inline bool becomes(struct host *h, unsigned int conns)
{
	for (int i = 0; i < 1000 && nr_conns(h) != conns; i++)
		usleep(10000);
	return nr_conns(h) == conns;
}

/* The port opens and closes on another thread when a key comes or goes. */
static inline void port_opens(struct host *h, bool open)
{
	int fd;

	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&h->l->lock);
		fd = h->l->port_fd[0];
		pthread_mutex_unlock(&h->l->lock);
		if (open == (fd >= 0))
			break;
		usleep(10000);
	}
	usleep(100000);		/* closed is after it is noted */
}

struct caller {
	struct host *from, *to;
	const char *text;
	unsigned int ms, times;
	int err;
	pthread_t t;
};

static inline void *caller(void *arg)
{
	struct caller *c = arg;
	char why[LINK_REASON], answer[64];

	for (unsigned int i = 0; i < c->times && !c->err; i++)
		c->err = request(c->from, c->to, c->text, c->ms, answer, sizeof(answer), why);
	return NULL;
}

static inline void start(struct caller *c, struct host *from, struct host *to, const char *text,
		  unsigned int ms, unsigned int times)
{
	*c = (struct caller) { .from = from, .to = to, .text = text, .ms = ms, .times = times };
	if (pthread_create(&c->t, NULL, caller, c))
		abort();
}

static inline int end(struct caller *c)
{
	pthread_join(c->t, NULL);
	return c->err;
}

static inline void gate_open(bool open)
{
	u64 n = 1;

	if (open ? write(gate, &n, 8) != 8 : read(gate, &n, 8) != 8)
		abort();
}

static inline void rig_start(void)
{
	static const u8 k[2][32] = { "the key of this cluster", "another" };

	signal(SIGPIPE, SIG_IGN);
	gate = eventfd(0, EFD_CLOEXEC);
	link_psk(k[0], 32, 1, &key1);
	link_psk(k[0], 32, 2, &key2);
	link_psk(k[1], 32, 1, &other1);
	link_psk(NULL, 0, 0, &zero);
}

#endif
