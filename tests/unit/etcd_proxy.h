/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the engine and a member: a port of loopback whose connections stall, break, or lose answers. */
#ifndef TESTS_UNIT_ETCD_PROXY_H
#define TESTS_UNIT_ETCD_PROXY_H

#include <poll.h>
#include <pthread.h>

#include "etcd_rig.h"

#define PAIRS	64

enum proxy_mode {
	PASS,
	HOLD,		/* accept; forward nothing */
	MUTE,		/* requests pass, answers are dropped; BREAK or CUT comes next */
	CUT,		/* connections end, new ones too */
	BREAK,		/* connections end, then PASS */
};

struct proxy {
	unsigned short port, to;
	int	listen_fd;
	int	mode;			/* atomic */
	unsigned int accepted;		/* atomic */
	unsigned int pairs;		/* atomic: open connections */
	size_t	limit;			/* atomic: bytes of answers until CUT; 0: none */
	bool	stop;			/* atomic */
	pthread_t thread;
	struct pollfd fd[1 + 2 * PAIRS];	/* the port; client, member, client, member, ... */
};

static void pair_end(struct proxy *p, int i)
{
	close(p->fd[i].fd);
	close(p->fd[i + 1].fd);
	p->fd[i].fd = p->fd[i + 1].fd = -1;
	__atomic_fetch_sub(&p->pairs, 1, __ATOMIC_RELAXED);
}

static int to_member(const struct proxy *p)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(p->to),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (void *)&a, sizeof(a))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void pair_begin(struct proxy *p, int mode)
{
	int i = 1, client = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC), member = -1;

	if (client < 0)
		return;
	__atomic_fetch_add(&p->accepted, 1, __ATOMIC_RELAXED);
	while (i < 2 * PAIRS && p->fd[i].fd >= 0)
		i += 2;
	if (mode != CUT && i < 2 * PAIRS)
		member = to_member(p);
	if (member < 0) {
		close(client);
		return;
	}
	p->fd[i].fd = client;
	p->fd[i + 1].fd = member;
	__atomic_fetch_add(&p->pairs, 1, __ATOMIC_RELAXED);
}

static bool send_all(int fd, const char *bytes, ssize_t n)
{
	for (ssize_t done = 0, k; done < n; done += k) {
		k = send(fd, bytes + done, n - done, MSG_NOSIGNAL);
		if (k <= 0)
			return false;
	}
	return true;
}

/* @i: of the end that has bytes. False: the pair has ended. */
static bool forward(struct proxy *p, int i, int mode)
{
	const bool answer = !(i & 1);
	char bytes[16384];
	size_t limit = __atomic_load_n(&p->limit, __ATOMIC_RELAXED);
	ssize_t n = recv(p->fd[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0)
		return false;
	if (answer && mode == MUTE)
		return true;
	if (answer && limit) {
		if ((size_t)n >= limit) {
			__atomic_store_n(&p->mode, CUT, __ATOMIC_RELAXED);
			__atomic_store_n(&p->limit, 0, __ATOMIC_RELAXED);
			n = limit;
		} else {
			__atomic_fetch_sub(&p->limit, n, __ATOMIC_RELAXED);
		}
	}
	return send_all(p->fd[answer ? i - 1 : i + 1].fd, bytes, n);
}

static void pair_turn(struct proxy *p, int i, int mode)
{
	bool ok = mode != CUT && mode != BREAK;

	if (ok && mode != HOLD && p->fd[i].revents)
		ok = forward(p, i, mode);
	if (ok && mode != HOLD && p->fd[i + 1].revents)
		ok = forward(p, i + 1, mode);
	if (!ok)
		pair_end(p, i);
}

static void *proxy_run(void *arg)
{
	struct proxy *p = arg;
	int mode, held;

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		mode = __atomic_load_n(&p->mode, __ATOMIC_RELAXED);
		held = mode == HOLD ? 1 : 1 + 2 * PAIRS;
		poll(p->fd, held, 5);
		if (mode != BREAK && p->fd[0].revents & POLLIN)
			pair_begin(p, mode);
		for (int i = 1; i < 2 * PAIRS; i += 2)
			if (p->fd[i].fd >= 0)
				pair_turn(p, i, mode);
		if (mode == BREAK)
			__atomic_store_n(&p->mode, PASS, __ATOMIC_RELAXED);
	}
	for (int i = 1; i < 2 * PAIRS; i += 2)
		if (p->fd[i].fd >= 0)
			pair_end(p, i);
	close(p->listen_fd);
	return NULL;
}

static inline void proxy_begin(struct proxy *p, unsigned short to)
{
	memset(p, 0, sizeof(*p));
	p->to = to;
	p->listen_fd = port_fd(&p->port);
	for (int i = 0; i < 1 + 2 * PAIRS; i++)
		p->fd[i] = (struct pollfd) { .fd = -1, .events = POLLIN };
	p->fd[0].fd = p->listen_fd;
	if (listen(p->listen_fd, 32) || pthread_create(&p->thread, NULL, proxy_run, p))
		give_up("no proxy: %s", strerror(errno));
}

static inline void proxy_end(struct proxy *p)
{
	__atomic_store_n(&p->stop, true, __ATOMIC_RELAXED);
	pthread_join(p->thread, NULL);
}

/* CUT has happened once no connection is open. */
static inline void proxy_mode(struct proxy *p, enum proxy_mode mode)
{
	__atomic_store_n(&p->mode, mode, __ATOMIC_RELAXED);
	if (mode == CUT)
		UNTIL(!__atomic_load_n(&p->pairs, __ATOMIC_RELAXED), "the proxy's connections do not end");
}

static inline unsigned int proxy_accepted(const struct proxy *p)
{
	return __atomic_load_n(&p->accepted, __ATOMIC_RELAXED);
}

#endif
