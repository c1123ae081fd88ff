// SPDX-License-Identifier: GPL-2.0-only
/* The side that connects: addresses, keys in turn, errors in words. */
#include <errno.h>
#include <linux/minmax.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "userspace/meshd/links.h"

static struct addrinfo *resolve(const char *addr, u16 port)
{
	struct addrinfo hint = { .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV }, *ai;
	char text[8];

	snprintf(text, sizeof(text), "%u", port);
	return getaddrinfo(addr, text, &hint, &ai) ? NULL : ai;
}

void addr_text(const void *sockaddr, char out[64])
{
	const struct sockaddr *sa = sockaddr;
	socklen_t len = sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
						   sizeof(struct sockaddr_in6);

	if (getnameinfo(sa, len, out, 64, NULL, 0, NI_NUMERICHOST))
		strcpy(out, "?");
}

int addr_normal(const char *addr, char out[64])
{
	struct addrinfo *ai = resolve(addr, 1);

	if (!ai)
		return -EINVAL;
	addr_text(ai->ai_addr, out);
	freeaddrinfo(ai);
	return 0;
}

/* Until the socket is ready, the connection is closed by another thread, or @until. */
static int wait_fd(struct link_conn *c, int fd, short events, u64 until)
{
	struct pollfd p[2] = { { .fd = fd, .events = events },
			       { .fd = c->wake, .events = POLLIN } };
	u64 now;
	int n;

	do {
		now = now_ms();
		if (now >= until)
			return -ETIMEDOUT;
		n = poll(p, 2, until - now);	/* a negative fd is skipped */
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (p[1].revents)
		return -ECANCELED;
	return n ? 0 : -ETIMEDOUT;
}

static int dial_connect(struct link_conn *c, u64 until, char *why)
{
	struct addrinfo *ai = resolve(c->addr, c->port);
	socklen_t len = sizeof(int);
	int fd, err = 0;

	fd = ai ? socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
	if (fd < 0) {
		err = ai ? errno : EINVAL;
	} else if (connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		err = errno;
		if (err == EINPROGRESS) {
			err = -wait_fd(c, fd, POLLOUT, until);
			if (!err && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
				err = errno;
		}
	}
	if (ai)
		freeaddrinfo(ai);
	if (!err) {
		c->fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	switch (err) {
	case ECONNREFUSED:
		snprintf(why, LINK_REASON, "nothing listens at %s port %u: meshd does not run there, "
			 "or it has no key", c->addr, c->port);
		return -EHOSTDOWN;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EADDRNOTAVAIL:
		snprintf(why, LINK_REASON, "no way to %s: is that host up, is the address right?",
			 c->addr);
		return -EHOSTUNREACH;
	case ETIMEDOUT:
		snprintf(why, LINK_REASON, "%s port %u does not answer: is that host up, does a "
			 "firewall keep it quiet?", c->addr, c->port);
		return -ETIMEDOUT;
	}
	snprintf(why, LINK_REASON, "%s port %u: %s", c->addr, c->port, strerror(err));
	return -err;
}

static int dial_shake(struct link_conn *c, const struct link_key *key, u64 until)
{
	int err;

	c->tls = tls_new(c->fd, false, key, 1);
	if (!c->tls)
		return -ENOMEM;
	for (;;) {
		err = tls_shake(c->tls);
		if (err != -EAGAIN)
			return err;
		err = wait_fd(c, c->fd, tls_wants(c->tls), until);
		if (err)
			return err;
	}
}

static void dial_undo(struct link_conn *c)
{
	tls_free(c->tls);
	c->tls = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static int explain(const struct link_conn *c, const struct link_key *newest, int err, char *why)
{
	switch (err) {
	case -EKEYREJECTED:
		if (newest->id)
			snprintf(why, LINK_REASON, "%s: that host has another key, or none (see meshctl "
				 "host key show on both)", c->addr);
		else
			snprintf(why, LINK_REASON, "%s: that host has a key, this one runs without (give it "
				 "the key with meshctl host key set)", c->addr);
		break;
	case -ETIMEDOUT:
		snprintf(why, LINK_REASON, "%s port %u: something is there, and does not answer",
			 c->addr, c->port);
		break;
	case -ECONNRESET:
		snprintf(why, LINK_REASON, "%s port %u closes each connection: strangers keep it busy, or "
			 "it is no meshd", c->addr, c->port);
		break;
	case -ECANCELED:
		snprintf(why, LINK_REASON, "%s port %u: the host was removed", c->addr, c->port);
		break;
	default:
		snprintf(why, LINK_REASON, "%s port %u: %s", c->addr, c->port, strerror(-err));
	}
	return err;
}

/*
 * A peer refuses by an orderly end of the connection (FIN) and drops a
 * connection that is too many by a reset: the one is final, the other is tried
 * again, at another moment than the others that were dropped.
 */
int dial(struct link_conn *c, char *why)
{
	struct link_key keys[LINK_KEYS];
	u64 until = now_ms() + c->l->times.shake;
	size_t k = 0, n;
	u8 jitter;
	int err;

	pthread_mutex_lock(&c->l->lock);
	n = c->l->nr_keys;
	memcpy(keys, c->l->keys, sizeof(keys));
	pthread_mutex_unlock(&c->l->lock);
	while (k < n) {
		err = dial_connect(c, until, why);
		if (err && err != -ECONNRESET)
			return err;
		if (!err)
			err = dial_shake(c, &keys[k], until);
		if (!err)
			return 0;
		dial_undo(c);
		if (err == -EPIPE || err == -EKEYREJECTED) {
			k++;
			continue;
		}
		if (err != -ECONNRESET)
			return explain(c, &keys[0], err, why);
		if (getrandom(&jitter, 1, 0) != 1)
			jitter = 0;
		err = wait_fd(c, -1, 0, min_t(u64, now_ms() + 20 + jitter / 2, until));
		if (err != -ETIMEDOUT)
			return explain(c, &keys[0], err, why);
		if (now_ms() >= until)
			return explain(c, &keys[0], -ECONNRESET, why);
	}
	return explain(c, &keys[0], -EKEYREJECTED, why);
}
