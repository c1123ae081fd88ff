// SPDX-License-Identifier: GPL-2.0-only
/* One attempt to connect: a name, its addresses in turn, TCP, TLS. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "userspace/store/link_client.h"

static bool called_off(struct store_link *l)
{
	bool off;

	pthread_mutex_lock(&l->lock);
	off = l->ending || l->again;
	pthread_mutex_unlock(&l->lock);
	return off;
}

int link_dial_wait(struct store_link *l, int fd, short events, u64 until)
{
	struct pollfd p[2] = { { .fd = fd, .events = events }, { .fd = l->wake, .events = POLLIN } };
	u64 now, junk;
	int n;

	for (;;) {
		if (called_off(l))
			return -ECANCELED;
		now = store_now_ms();
		if (now >= until)
			return -ETIMEDOUT;
		n = poll(p, 2, until - now);	/* a negative fd is skipped */
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && p[1].revents)
			(void)!read(l->wake, &junk, sizeof(junk));
		if (n > 0 && p[0].revents)
			return 0;
	}
}

static void tune(int fd)
{
	unsigned int dead = 15000;
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead, sizeof(dead));
}

static int dial_tcp(struct store_link *l, const struct addrinfo *ai, u64 until)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;
	socklen_t len = sizeof(err);

	if (fd < 0)
		return -errno;
	tune(fd);
	if (connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		err = -errno;
		if (err == -EINPROGRESS) {
			err = link_dial_wait(l, fd, POLLOUT, until);
			if (!err && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
				err = -err;
		}
	}
	if (!err) {
		l->fd = fd;
		return 0;
	}
	close(fd);
	return err;
}

static int dial_tls(struct store_link *l, u64 until)
{
	struct link_identity self;
	struct secret psk;
	int err;

	pthread_mutex_lock(&l->lock);
	self = l->self;
	psk = l->psk;
	pthread_mutex_unlock(&l->lock);
	l->tls = link_tls_client(l->fd, &self, &psk);
	explicit_bzero(&psk, sizeof(psk));
	if (!l->tls)
		return -ENOMEM;
	while ((err = link_tls_shake(l->tls)) == -EAGAIN) {
		err = link_dial_wait(l, l->fd, link_tls_wants(l->tls), until);
		if (err)
			break;
	}
	return err;
}

static void undo(struct store_link *l)
{
	link_tls_free(l->tls);
	l->tls = NULL;
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* A store host refuses by an orderly end of the connection, and drops one too many by a reset. */
static void explain(const struct address *a, int err, char why[LINK_WHY])
{
	char where[ADDRESS_TEXT];

	address_text(a, where);
	switch (err) {
	case -ECONNREFUSED:
		snprintf(why, LINK_WHY, "nothing listens at %s: meshd does not run there, or it is no store host",
			 where);
		break;
	case -EPIPE:
	case -EKEYREJECTED:
		snprintf(why, LINK_WHY, "%s refuses this host's key: the host was removed, missed a rotation "
			 "of keys, or that is another cluster", where);
		break;
	case -ECONNRESET:
		snprintf(why, LINK_WHY, "%s drops each connection: too many wait there, or it is no meshd",
			 where);
		break;
	case -ETIMEDOUT:
		snprintf(why, LINK_WHY, "%s does not answer: that host is down, or a firewall keeps it quiet",
			 where);
		break;
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		snprintf(why, LINK_WHY, "there is no way to %s: check its address and this host's routes",
			 where);
		break;
	default:
		snprintf(why, LINK_WHY, "%s: %s", where, strerror(-err));
	}
}

static int dial_address(struct store_link *l, const struct address *a, char why[LINK_WHY])
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *all, *ai;
	char port[8];
	int err;

	snprintf(port, sizeof(port), "%u", a->port);
	err = getaddrinfo(a->name, port, &hint, &all);
	if (err) {
		snprintf(why, LINK_WHY, "the name %s: %s", a->name, gai_strerror(err));
		return -ENOENT;
	}
	err = -EHOSTUNREACH;
	for (ai = all; ai && err && err != -ECANCELED; ai = ai->ai_next) {
		u64 until = store_now_ms() + l->dial_ms;

		err = dial_tcp(l, ai, until);
		if (!err)
			err = dial_tls(l, until);
		if (err)
			undo(l);
	}
	freeaddrinfo(all);
	if (err)
		explain(a, err, why);
	return err;
}

int link_dial(struct store_link *l, char why[LINK_WHY])
{
	struct address a;

	pthread_mutex_lock(&l->lock);
	a = l->address[l->turn++ % l->addresses];
	l->again = false;
	pthread_mutex_unlock(&l->lock);
	return dial_address(l, &a, why);
}
