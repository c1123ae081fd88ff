// SPDX-License-Identifier: GPL-2.0-only
/*
 * The port. Until it has proved the key a peer is a stranger: it gets no thread,
 * no more than one of 64 places (4 for an address) for 5 s, and 16 KiB of
 * input are read. One thread serves all of them. When places are short, a
 * stranger that has proved nothing goes first, the one that came first of these;
 * it is reset, so that a peer with the key tries again. A peer that fails
 * the proof gets an orderly end and not a byte.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "userspace/meshd/links.h"

#define STRANGERS		64
#define STRANGERS_ADDR	4
#define ACCEPTS		8	/* before those that are in get their turn */
#define REOPEN_MS	2000

struct stranger {
	int	fd;		/* -1: a free place */
	struct tls *tls;
	u64	since;
	bool	answered;	/* its first message proved the key; its last is awaited */
	char	addr[64];
};

/* The thread's own. */
struct listener {
	struct links *l;
	struct stranger stranger[STRANGERS];
	u64	retry;		/* when to open the port again, after it failed */
};

static int open_one(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	/* Connections are accepted with their first bytes: silent ones take no place for 1 s. */
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof(one));
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 256))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* IPv6 may be off: one socket is enough. */
static int port_open(struct links *l, int out[2])
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE }, *all, *ai;
	int n = 0, fd, err = -EADDRNOTAVAIL;
	char port[8];

	snprintf(port, sizeof(port), "%u", l->port);
	out[0] = out[1] = -1;
	if (getaddrinfo(l->on[0] ? l->on : NULL, port, &hint, &all))
		return -EINVAL;
	for (ai = all; ai && n < 2; ai = ai->ai_next) {
		fd = open_one(ai);
		if (fd >= 0)
			out[n++] = fd;
		else if (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL)
			err = fd;
	}
	freeaddrinfo(all);
	if (n && err != -EADDRINUSE)
		return 0;
	while (n)
		close(out[--n]);
	out[0] = out[1] = -1;
	return err;
}

static void set_port(struct links *l, const int fd[2])
{
	guard(&l->lock);
	memcpy(l->port_fd, fd, sizeof(l->port_fd));
}

static void stranger_free(struct stranger *s)
{
	tls_free(s->tls);
	s->tls = NULL;
	s->fd = -1;
}

/* A reset: the peer may try again. */
static void stranger_drop(struct stranger *s)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(s->fd);
	stranger_free(s);
}

/* An orderly end: what it has sent is read first, or the kernel would reset. */
static void stranger_refuse(struct listener *w, struct stranger *s, int err)
{
	int id = tls_offered(s->tls);
	char junk[4096];
	ssize_t n = 1;
	int i;

	if (err == -EKEYREJECTED && !id)
		links_warn(w->l, "%s was refused: it runs without a key", s->addr);
	else if (err == -EKEYREJECTED && id > 0)
		links_warn(w->l, "%s was refused: it has another key than this host (its key has id %d)",
			   s->addr, id);
	else
		links_warn(w->l, "%s was refused: it did not prove the key", s->addr);
	shutdown(s->fd, SHUT_WR);
	for (i = 0; i < 8 && n > 0; i++)
		n = recv(s->fd, junk, sizeof(junk), MSG_DONTWAIT);
	close(s->fd);
	stranger_free(s);
}

/* It has the key: a connection and a thread. */
static void stranger_admit(struct listener *w, struct stranger *s)
{
	struct links *l = w->l;
	struct link_conn *c = NULL;

	pthread_mutex_lock(&l->lock);
	if (!l->ending && l->accepted < LINK_CONNS_MAX)
		c = conn_new(l, s->addr, 0, false);
	if (c) {
		c->fd = s->fd;
		c->tls = s->tls;
		l->accepted++;
		if (conn_start(c)) {
			l->accepted--;
			conn_put(c);
			c = NULL;
		}
	}
	pthread_mutex_unlock(&l->lock);
	if (!c) {
		stranger_drop(s);
		return;
	}
	s->tls = NULL;
	stranger_free(s);
}

static void stranger_step(struct listener *w, struct stranger *s)
{
	int err = tls_shake(s->tls);

	if (!err)
		stranger_admit(w, s);
	else if (err != -EAGAIN)
		stranger_refuse(w, s, err);
	else
		s->answered = tls_answered(s->tls);
}

static bool less_proved(const struct stranger *a, const struct stranger *b)
{
	return a->answered != b->answered ? b->answered : a->since < b->since;
}

/* A place for one more of @addr. */
static struct stranger *make_place(struct listener *w, const char *addr)
{
	struct stranger *s, *victim = NULL, *place = NULL, *mine = NULL;
	unsigned int same = 0;

	for (s = w->stranger; s < w->stranger + STRANGERS; s++) {
		if (s->fd < 0) {
			place = s;
			continue;
		}
		if (!victim || less_proved(s, victim))
			victim = s;
		if (strcmp(s->addr, addr))
			continue;
		same++;
		if (!mine || less_proved(s, mine))
			mine = s;
	}
	if (same >= STRANGERS_ADDR)
		place = mine;
	else if (!place)
		place = victim;
	if (place->fd >= 0)
		stranger_drop(place);
	return place;
}

static int listener_accept(struct listener *w, int lfd)
{
	struct link_key keys[LINK_KEYS];
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char addr[64];
	struct stranger *s;
	size_t n;
	int fd;

	fd = accept4(lfd, (void *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	addr_text(&from, addr);
	s = make_place(w, addr);
	s->fd = fd;
	s->since = now_ms();
	s->answered = false;
	memcpy(s->addr, addr, sizeof(addr));
	/* Keys hold for each connection that comes after them. */
	pthread_mutex_lock(&w->l->lock);
	n = w->l->nr_keys;
	memcpy(keys, w->l->keys, sizeof(keys));
	pthread_mutex_unlock(&w->l->lock);
	s->tls = tls_new(fd, true, keys, n);
	if (s->tls)
		stranger_step(w, s);
	else
		stranger_drop(s);
	return 0;
}

/* Keys and sockets as they should be now. False: the end. */
static bool listener_update(struct listener *w)
{
	struct links *l = w->l;
	static const int none[2] = { -1, -1 };
	int fd[2], err = 0;
	bool open;
	size_t i;

	pthread_mutex_lock(&l->lock);
	open = l->nr_keys && !l->ending;
	memcpy(fd, l->port_fd, sizeof(fd));
	pthread_mutex_unlock(&l->lock);
	if (open && fd[0] < 0 && now_ms() >= w->retry) {
		err = port_open(l, fd);
		if (err)
			links_warn(l, "port %u: %s; trying again", l->port, strerror(-err));
		else
			set_port(l, fd);
		w->retry = err ? now_ms() + REOPEN_MS : 0;
	} else if (!open && fd[0] >= 0) {
		set_port(l, none);
		for (i = 0; i < 2; i++)
			if (fd[i] >= 0)
				close(fd[i]);
	}
	return open || !l->ending;
}

static void listener_serve(struct listener *w, const struct pollfd *p)
{
	u64 now = now_ms();
	int i, k, err;

	for (i = 0; i < STRANGERS; i++) {
		struct stranger *s = &w->stranger[i];

		if (s->fd < 0)
			continue;
		if (now - s->since >= w->l->times.shake)
			stranger_drop(s);
		else if (p[3 + i].revents)
			stranger_step(w, s);
	}
	for (i = 1; i < 3; i++)
		for (k = 0; p[i].revents && k < ACCEPTS; k++) {
			err = listener_accept(w, p[i].fd);
			/* Without files the queue stays readable: not a busy loop. */
			if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
				sleep_ms(50);
			if (err)
				break;
		}
}

static void *listener_thread(void *arg)
{
	struct listener *w = arg;
	struct links *l = w->l;
	struct pollfd p[3 + STRANGERS];
	bool any;
	u64 junk;
	int i;

	while (listener_update(w)) {
		p[0] = (struct pollfd) { .fd = l->port_wake, .events = POLLIN };
		for (i = 0; i < 2; i++)
			p[1 + i] = (struct pollfd) { .fd = l->port_fd[i], .events = POLLIN };
		any = w->retry;
		for (i = 0; i < STRANGERS; i++) {
			p[3 + i] = (struct pollfd) { .fd = w->stranger[i].fd };
			if (w->stranger[i].fd >= 0)
				p[3 + i].events = tls_wants(w->stranger[i].tls);
			any |= w->stranger[i].fd >= 0;
		}
		if (poll(p, 3 + STRANGERS, any ? 100 : -1) < 0)
			continue;
		if (p[0].revents && read(l->port_wake, &junk, sizeof(junk)) > 0)
			continue;
		listener_serve(w, p);
	}
	for (i = 0; i < STRANGERS; i++)
		if (w->stranger[i].fd >= 0)
			stranger_drop(&w->stranger[i]);
	free(w);
	pthread_mutex_lock(&l->lock);
	links_thread_end(l);
	return NULL;
}

int links_listen(struct links *l, const char *addr, u16 port, link_serve_fn fn)
{
	struct listener *w = calloc(1, sizeof(*w));
	int fd[2] = { -1, -1 }, i, err = 0;

	if (!w)
		return -ENOMEM;
	w->l = l;
	for (i = 0; i < STRANGERS; i++)
		w->stranger[i].fd = -1;
	pthread_mutex_lock(&l->lock);
	if (l->listens)
		err = -EALREADY;
	else if (!port || (addr && addr_normal(addr, l->on)))
		err = -EINVAL;
	if (!err) {
		l->port = port;
		l->fn = fn;
		l->listens = true;
		if (l->nr_keys)
			err = port_open(l, fd);
		memcpy(l->port_fd, fd, sizeof(fd));
		if (!err && !links_thread(l, listener_thread, w))
			err = -EAGAIN;
		l->listens = !err;
	}
	pthread_mutex_unlock(&l->lock);
	if (err)
		free(w);
	return err;
}
