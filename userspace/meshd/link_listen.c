// SPDX-License-Identifier: GPL-2.0-only
/*
 * The port. Until it has proved the key a peer is a stranger: it gets no thread,
 * no more than one of 64 places (4 for an address) for 5 s, and 16 KiB of its
 * words are read. One thread serves all of them. When places are short, a
 * stranger that has proved nothing goes first, the one that came first of these;
 * it is reset, which tells a peer with the key to try again. A peer that fails
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
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "userspace/meshd/links.h"

#define GUESTS		64
#define GUESTS_ADDR	4
#define ACCEPTS		8	/* before those that are in get their turn */
#define REOPEN_MS	2000

struct guest {
	int	fd;		/* -1: a free place */
	struct tls *tls;
	u64	since;
	bool	answered;	/* its first message proved the key; its last is awaited */
	char	addr[64];
};

/* The thread's own. */
struct door {
	struct links *l;
	struct guest guest[GUESTS];
	struct link_key keys[LINK_KEYS];
	size_t	n;
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
	/* A connection comes to us with its first words: silent ones take no place for 1 s. */
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof(one));
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 256))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* IPv6 may be off: one socket is enough. */
static int door_open(struct links *l, int out[2])
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

static void set_door(struct links *l, const int fd[2])
{
	pthread_mutex_lock(&l->lock);
	memcpy(l->door, fd, sizeof(l->door));
	pthread_mutex_unlock(&l->lock);
}

static void guest_free(struct guest *g)
{
	tls_free(g->tls);
	g->tls = NULL;
	g->fd = -1;
}

/* A reset: come again. */
static void guest_drop(struct guest *g)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(g->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(g->fd);
	guest_free(g);
}

/* An end: what it has sent is read first, or the kernel would reset. */
static void guest_refuse(struct door *d, struct guest *g, int err)
{
	int id = tls_offered(g->tls);
	char junk[4096];
	ssize_t n = 1;
	int i;

	if (err == -EKEYREJECTED && !id)
		links_warn(d->l, "%s was refused: it runs without a key", g->addr);
	else if (err == -EKEYREJECTED && id > 0)
		links_warn(d->l, "%s was refused: it has another key than this host (its key has id %d)",
			   g->addr, id);
	else
		links_warn(d->l, "%s was refused: it did not prove the key", g->addr);
	shutdown(g->fd, SHUT_WR);
	for (i = 0; i < 8 && n > 0; i++)
		n = recv(g->fd, junk, sizeof(junk), MSG_DONTWAIT);
	close(g->fd);
	guest_free(g);
}

/* It has the key: a connection and a thread. */
static void guest_admit(struct door *d, struct guest *g)
{
	struct links *l = d->l;
	struct link_conn *c = NULL;

	pthread_mutex_lock(&l->lock);
	if (!l->ending && l->accepted < LINK_CONNS_MAX)
		c = conn_new(l, g->addr, 0, false);
	if (c) {
		c->fd = g->fd;
		c->tls = g->tls;
		l->accepted++;
		if (conn_start(c)) {
			l->accepted--;
			conn_put(c);
			c = NULL;
		}
	}
	pthread_mutex_unlock(&l->lock);
	if (!c) {
		guest_drop(g);
		return;
	}
	g->tls = NULL;
	guest_free(g);
}

static void guest_step(struct door *d, struct guest *g)
{
	int err = tls_shake(g->tls);

	if (!err)
		guest_admit(d, g);
	else if (err != -EAGAIN)
		guest_refuse(d, g, err);
	else
		g->answered = tls_answered(g->tls);
}

static bool goes_before(const struct guest *a, const struct guest *b)
{
	return a->answered != b->answered ? b->answered : a->since < b->since;
}

/* A place for one more of @addr. */
static struct guest *make_place(struct door *d, const char *addr)
{
	struct guest *g, *victim = NULL, *place = NULL, *mine = NULL;
	unsigned int same = 0;

	for (g = d->guest; g < d->guest + GUESTS; g++) {
		if (g->fd < 0) {
			place = g;
			continue;
		}
		if (!victim || goes_before(g, victim))
			victim = g;
		if (strcmp(g->addr, addr))
			continue;
		same++;
		if (!mine || goes_before(g, mine))
			mine = g;
	}
	if (same >= GUESTS_ADDR)
		place = mine;
	else if (!place)
		place = victim;
	if (place->fd >= 0)
		guest_drop(place);
	return place;
}

static int door_accept(struct door *d, int lfd)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char addr[64];
	struct guest *g;
	int fd;

	fd = accept4(lfd, (void *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	addr_text(&from, addr);
	g = make_place(d, addr);
	g->fd = fd;
	g->since = now_ms();
	g->answered = false;
	memcpy(g->addr, addr, sizeof(addr));
	g->tls = tls_new(fd, true, d->keys, d->n);
	if (g->tls)
		guest_step(d, g);
	else
		guest_drop(g);
	return 0;
}

/* Keys and sockets as they should be now. False: the end. */
static bool door_update(struct door *d)
{
	struct links *l = d->l;
	static const int none[2] = { -1, -1 };
	int fd[2], err = 0;
	bool open;
	size_t i;

	pthread_mutex_lock(&l->lock);
	open = l->nr_keys && !l->ending;
	d->n = l->nr_keys;
	memcpy(d->keys, l->keys, sizeof(d->keys));
	memcpy(fd, l->door, sizeof(fd));
	pthread_mutex_unlock(&l->lock);
	if (open && fd[0] < 0 && now_ms() >= d->retry) {
		err = door_open(l, fd);
		if (err)
			links_warn(l, "port %u: %s; trying again", l->port, strerror(-err));
		else
			set_door(l, fd);
		d->retry = err ? now_ms() + REOPEN_MS : 0;
	} else if (!open && fd[0] >= 0) {
		set_door(l, none);
		for (i = 0; i < 2; i++)
			if (fd[i] >= 0)
				close(fd[i]);
	}
	return open || !l->ending;
}

static void door_serve(struct door *d, const struct pollfd *p)
{
	u64 now = now_ms();
	int i, k, err;

	for (i = 0; i < GUESTS; i++) {
		struct guest *g = &d->guest[i];

		if (g->fd < 0)
			continue;
		if (now - g->since >= d->l->times.shake)
			guest_drop(g);
		else if (p[3 + i].revents)
			guest_step(d, g);
	}
	for (i = 1; i < 3; i++)
		for (k = 0; p[i].revents && k < ACCEPTS; k++) {
			err = door_accept(d, p[i].fd);
			/* Without files the queue stays readable: not a busy loop. */
			if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
				sleep_ms(50);
			if (err)
				break;
		}
}

static void *door_thread(void *arg)
{
	struct door *d = arg;
	struct links *l = d->l;
	struct pollfd p[3 + GUESTS];
	bool any;
	u64 junk;
	int i;

	while (door_update(d)) {
		p[0] = (struct pollfd) { .fd = l->door_wake, .events = POLLIN };
		for (i = 0; i < 2; i++)
			p[1 + i] = (struct pollfd) { .fd = l->door[i], .events = POLLIN };
		any = d->retry;
		for (i = 0; i < GUESTS; i++) {
			p[3 + i] = (struct pollfd) { .fd = d->guest[i].fd };
			if (d->guest[i].fd >= 0)
				p[3 + i].events = tls_wants(d->guest[i].tls);
			any |= d->guest[i].fd >= 0;
		}
		if (poll(p, 3 + GUESTS, any ? 100 : -1) < 0)
			continue;
		/* New keys hold for whoever connects after them. */
		if (p[0].revents && read(l->door_wake, &junk, sizeof(junk)) > 0)
			continue;
		door_serve(d, p);
	}
	for (i = 0; i < GUESTS; i++)
		if (d->guest[i].fd >= 0)
			guest_drop(&d->guest[i]);
	free(d);
	pthread_mutex_lock(&l->lock);
	links_thread_end(l);
	return NULL;
}

int links_listen(struct links *l, const char *addr, u16 port, link_serve_fn fn)
{
	struct door *d = calloc(1, sizeof(*d));
	int fd[2] = { -1, -1 }, i, err = 0;

	if (!d)
		return -ENOMEM;
	d->l = l;
	for (i = 0; i < GUESTS; i++)
		d->guest[i].fd = -1;
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
			err = door_open(l, fd);
		memcpy(l->door, fd, sizeof(fd));
		if (!err && !links_thread(l, door_thread, d))
			err = -EAGAIN;
		l->listens = !err;
	}
	pthread_mutex_unlock(&l->lock);
	if (err)
		free(d);
	return err;
}
