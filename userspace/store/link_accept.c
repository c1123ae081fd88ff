// SPDX-License-Identifier: GPL-2.0-only
/*
 * The port. Until a peer has proved a key it is a stranger: it has one of 128 places (16 for an
 * address) for 5 s, and 16 KiB of its input are read. When places are short, a stranger that has
 * proved nothing goes first, the oldest of these; it is reset, so a peer with a key tries again. A
 * peer whose proof fails gets an orderly end and not a byte.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "userspace/store/engine.h"
#include "userspace/store/link_serve.h"

#define ACCEPTS		16	/* before the connections get their turn */
#define BACKLOG		512

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
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static u16 port_of(int fd)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);

	if (getsockname(fd, (void *)&a, &len))
		return 0;
	return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port :
		     ((struct sockaddr_in6 *)&a)->sin6_port);
}

/* IPv6 may be off: one socket is enough. */
int serve_listen(struct link_server *s)
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE }, *all, *ai;
	int n = 0, fd, err = -EADDRNOTAVAIL;
	struct epoll_event e = { .events = EPOLLIN };
	char port[8];

	snprintf(port, sizeof(port), "%u", s->c.port);
	if (getaddrinfo(s->c.addr, port, &hint, &all))
		return -EINVAL;
	/* A port that the kernel chooses would be another one for each family. */
	for (ai = all; ai && n < (s->c.port ? 2 : 1); ai = ai->ai_next) {
		fd = open_one(ai);
		if (fd >= 0)
			s->listen[n++] = fd;
		else if (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL)
			err = fd;
	}
	freeaddrinfo(all);
	if (!n || err == -EADDRINUSE)
		return err;
	s->port = port_of(s->listen[0]);
	for (int i = 0; i < n; i++) {
		e.data.ptr = &s->listen[i];
		if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listen[i], &e))
			return -errno;
	}
	return 0;
}

static void show_strangers(struct link_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->strangers_shown = s->nr_strangers;
	pthread_mutex_unlock(&s->lock);
}

static void unlink_stranger(struct serve_conn *c)
{
	struct serve_conn **at;

	for (at = &c->s->strangers; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	c->s->nr_strangers--;
	show_strangers(c->s);
}

/* A reset: the peer may try again. */
static void drop_stranger(struct serve_conn *c)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	unlink_stranger(c);
	serve_kill(c);
}

/* An orderly end: what it has sent is read first, or the kernel would reset. */
static void refuse_stranger(struct serve_conn *c, int err)
{
	const struct link_identity *who = link_tls_who(c->tls);
	char name[LINK_IDENTITY], junk[4096];
	ssize_t n = 1;

	link_identity_text(who, name);
	if (err == -EKEYREJECTED && who->key_id)
		serve_warn(c->s, "%s was refused: it offers \"%s\", and that key is not valid here", c->addr,
			   name);
	else
		serve_warn(c->s, "%s was refused: it did not prove a key", c->addr);
	shutdown(c->fd, SHUT_WR);
	for (int i = 0; i < 8 && n > 0; i++)
		n = recv(c->fd, junk, sizeof(junk), MSG_DONTWAIT);
	unlink_stranger(c);
	serve_kill(c);
}

/* A stranger whose first message has proved a key is the last to go. */
static bool goes_before(const struct serve_conn *a, const struct serve_conn *b)
{
	bool x = link_tls_answered(a->tls), y = link_tls_answered(b->tls);

	return x != y ? y : a->since < b->since;
}

/* Room for one more stranger of @addr. */
static void make_room(struct link_server *s, const char *addr)
{
	struct serve_conn *c, *victim = NULL, *mine = NULL;
	unsigned int same = 0;

	for (c = s->strangers; c; c = c->next) {
		if (!victim || goes_before(c, victim))
			victim = c;
		if (strcmp(c->addr, addr))
			continue;
		same++;
		if (!mine || goes_before(c, mine))
			mine = c;
	}
	if (same >= s->c.strangers_addr)
		drop_stranger(mine);
	else if (s->nr_strangers >= s->c.strangers)
		drop_stranger(victim);
}

/* The kernel gives up on a peer that takes no bytes when this server would. */
static void tune(int fd, unsigned int dead)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead, sizeof(dead));
}

static struct serve_conn *new_stranger(struct link_server *s, int fd, const char *addr)
{
	struct serve_conn *c = calloc(1, sizeof(*c));
	struct epoll_event e = { .events = EPOLLIN };

	if (!c)
		return NULL;
	c->tls = link_tls_server(fd, serve_find, s);
	e.data.ptr = c;
	if (!c->tls || epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e)) {
		link_tls_free(c->tls);
		free(c);
		return NULL;
	}
	c->s = s;
	c->fd = fd;
	c->events = e.events;
	c->since = c->read_at = c->wrote_at = store_now_ms();
	c->refs = 1;
	c->out_end = &c->out;
	c->jobs_end = &c->jobs;
	memcpy(c->addr, addr, sizeof(c->addr));
	c->next = s->strangers;
	s->strangers = c;
	s->nr_strangers++;
	show_strangers(s);
	return c;
}

static int accept_one(struct link_server *s, int listener)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char addr[SERVE_ADDR];
	int fd = accept4(listener, (void *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (getnameinfo((void *)&from, len, addr, sizeof(addr), NULL, 0, NI_NUMERICHOST))
		strcpy(addr, "?");
	make_room(s, addr);
	tune(fd, s->c.silent_ms);
	/* The first bytes are there: epoll reports them. */
	if (!new_stranger(s, fd, addr))
		close(fd);
	return 0;
}

void serve_accept(struct link_server *s, int listener)
{
	int err = 0;

	for (int i = 0; i < ACCEPTS && !err; i++)
		err = accept_one(s, listener);
	/* Without files the queue stays readable: not a busy loop. */
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		usleep(50000);
}

int serve_stranger(struct serve_conn *c)
{
	int err = link_tls_shake(c->tls);

	if (err == -EAGAIN) {
		serve_epoll(c, link_tls_wants(c->tls));
		return 0;
	}
	if (err) {
		refuse_stranger(c, err);
		return err;
	}
	unlink_stranger(c);
	return 1;
}

void serve_strangers_late(struct link_server *s, u64 now)
{
	struct serve_conn *c, *next;

	for (c = s->strangers; c; c = next) {
		next = c->next;
		if (now - c->since >= s->c.shake_ms)
			drop_stranger(c);
	}
}
