// SPDX-License-Identifier: GPL-2.0-only
/*
 * One connection and its thread:
 *
 *   LINK_DIALS --(TLS, both HELLOs)--> LINK_UP --> LINK_DEAD
 *        |                                            ^
 *        +--------------------------------------------+
 *
 * A connection that a peer opened starts in LINK_DIALS too, with TLS done.
 * Everything else that happens to a connection is a message in its queue or an
 * answer taken from its thread; only the thread touches socket and TLS.
 */
#include <errno.h>
#include <linux/minmax.h>
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

#define READS_AT_ONCE	64	/* records, before what waits to leave gets its turn */

struct link_out *conn_out(enum link_type type, u64 id, const void *data, size_t len)
{
	struct link_out *o = malloc(sizeof(*o) + len);

	if (!o)
		return NULL;
	memset(o, 0, sizeof(*o));
	o->f.type = type;
	o->f.id = id;
	o->f.total = len;
	if (len)
		memcpy(o->data, data, len);
	return o;
}

struct link_conn *conn_new(struct links *l, const char *addr, u16 port, bool dialled)
{
	struct link_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake < 0) {
		free(c);
		return NULL;
	}
	c->l = l;
	c->dialled = dialled;
	c->fd = -1;
	c->refs = 1;
	c->out_end = &c->out;
	c->ready_end = &c->ready;
	snprintf(c->addr, sizeof(c->addr), "%s", addr);
	c->port = port;
	c->next = l->conns;
	l->conns = c;
	return c;
}

void conn_put(struct link_conn *c)
{
	struct link_conn **at;

	if (--c->refs)
		return;
	for (at = &c->l->conns; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	close(c->wake);
	free(c);
}

void conn_kill(struct link_conn *c, int err, const char *why)
{
	if (c->kill || c->state == LINK_DEAD)
		return;
	c->kill = err;
	snprintf(c->why, sizeof(c->why), "%s", why);
	links_wake(c->wake);
}

void conn_send(struct link_conn *c, struct link_out *o, bool first)
{
	if (c->state == LINK_DEAD) {
		free(o);
		return;
	}
	if (first) {
		o->next = c->out;
		c->out = o;
		if (!o->next)
			c->out_end = &o->next;
	} else {
		*c->out_end = o;
		c->out_end = &o->next;
	}
	links_wake(c->wake);
}

static void out_unlink(struct link_conn *c, struct link_out *o)
{
	struct link_out **at;

	for (at = &c->out; *at != o; at = &(*at)->next)
		;
	*at = o->next;
	if (!*at)
		c->out_end = at;
	o->next = NULL;
}

bool conn_unsend(struct link_conn *c, const struct link_call_state *k)
{
	struct link_out *o;

	for (o = c->out; o; o = o->next) {
		if (o->call != k || k->begun)
			continue;
		out_unlink(c, o);
		free(o);
		return true;
	}
	return false;
}

bool conn_preferred(const struct link_conn *a, const struct link_conn *b)
{
	const struct muuid *by_a = a->dialled ? &a->l->host : &a->peer.host;
	const struct muuid *by_b = b->dialled ? &b->l->host : &b->peer.host;

	return muuid_cmp(by_a, by_b) < 0;
}

/* The next message in turn; a long one waits while too much of others is begun. */
static struct link_out *out_next(struct link_conn *c)
{
	struct link_out *o;

	for (o = c->out; o; o = o->next)
		if (o->f.off || o->f.total <= LINK_PAGE_MAX ||
		    c->begun_bytes + o->f.total <= LINK_PARTS_BYTES)
			return o;
	return NULL;
}

static void out_begin_page(struct link_conn *c, struct link_out *o)
{
	if (!o->f.off) {
		if (o->f.total > LINK_PAGE_MAX)
			c->begun_bytes += o->f.total;
		if (o->call)
			o->call->begun = true;
		if (o->f.type == LINK_PONG)
			c->pongs--;
	}
	o->f.len = link_page(o->f.total, o->f.off);
	link_frame_encode(&o->f, c->buf + c->buf_len);
	c->buf_len += LINK_HDR;
	c->page = o;
	c->page_left = o->f.len;
}

static void out_end_page(struct link_conn *c)
{
	struct link_out *o = c->page;

	c->page = NULL;
	out_unlink(c, o);
	o->f.off += o->f.len;
	if (o->f.off < o->f.total) {
		*c->out_end = o;
		c->out_end = &o->next;
		return;
	}
	if (o->f.total > LINK_PAGE_MAX)
		c->begun_bytes -= o->f.total;
	free(o);
}

/* Fill the thread's buffer: pages of all messages by turns. */
static void out_fill(struct link_conn *c)
{
	struct link_out *o;
	u32 n;

	while (c->buf_len < LINK_OUT_BYTES) {
		if (!c->page) {
			o = LINK_OUT_BYTES - c->buf_len < LINK_HDR ? NULL : out_next(c);
			if (!o)
				return;
			out_begin_page(c, o);
		}
		n = min(c->page_left, LINK_OUT_BYTES - c->buf_len);
		memcpy(c->buf + c->buf_len, c->page->data + c->page->f.off + c->page->f.len - c->page_left, n);
		c->buf_len += n;
		c->page_left -= n;
		if (!c->page_left)
			out_end_page(c);
	}
}

static int conn_write(struct link_conn *c)
{
	ssize_t n;

	while (c->buf_at < c->buf_len) {
		n = tls_write(c->tls, c->buf + c->buf_at, c->buf_len - c->buf_at);
		if (n < 0)
			return n == -EAGAIN ? 0 : n;
		c->buf_at += n;
	}
	c->buf_at = c->buf_len = 0;
	return 0;
}

/* It answers a call of this host, which still waits for it or has given up. */
static int take_answer(struct link_conn *c, struct link_msg *m)
{
	struct link_call_state **at, *k;
	u8 *e = m->buf;

	for (at = &c->calls; *at && (*at)->id != m->id; at = &(*at)->next)
		;
	k = *at;
	if (!k || !k->begun)
		return -EPROTO;
	*at = k->next;
	c->nr_calls--;
	c->call_bytes -= k->len;
	c->used = now_ms();
	pthread_cond_broadcast(&c->l->cond);
	if (!k->waited) {
		free(k);
		return 0;
	}
	k->done = true;
	if (m->type == LINK_REFUSE) {
		k->err = -(int)(e[0] | e[1] << 8);
		if (k->err >= 0 || k->err < -4095)
			k->err = -EPROTO;
		return 0;
	}
	k->rsp = m->buf;
	k->rsp_len = m->len;
	m->buf = NULL;
	return 0;
}

/* Another machine that is connected under the same host UUID, alive until it is silent. */
static const struct link_conn *twin_of(const struct link_conn *c, const struct link_hello *h)
{
	const struct link_conn *o;

	for (o = c->l->conns; o; o = o->next)
		if (o != c && o->state == LINK_UP && !o->kill && !o->silent &&
		    muuid_equal(&o->peer.host, &h->host) &&
		    !muuid_equal(&o->peer.machine, &h->machine))
			return o;
	return NULL;
}

static int greet(struct link_conn *c, const struct link_msg *m, char *why)
{
	const struct link_conn *twin;
	struct links *l = c->l;
	struct link_hello h;

	if (link_hello_decode(m->buf, m->len, &h))
		return -EBADMSG;
	if (muuid_equal(&h.host, &l->host) && !muuid_equal(&h.machine, &l->machine)) {
		snprintf(why, LINK_REASON, "the machine at %s has the host UUID of this one: is one of them "
			 "a clone of the other?", c->addr);
		return -ENOTUNIQ;
	}
	twin = twin_of(c, &h);
	if (twin) {
		snprintf(why, LINK_REASON, "the machine at %s has the host UUID of the one at %s, which is "
			 "connected: is one of them a clone of the other?", c->addr, twin->addr);
		return -ENOTUNIQ;
	}
	if (!links_key_valid(l, tls_key(c->tls)))
		return -EKEYEXPIRED;
	c->peer = (struct link_peer) { .host = h.host, .machine = h.machine, .boot = h.boot };
	if (!c->dialled)
		c->port = h.port;
	c->key = *tls_key(c->tls);
	c->greeted = true;
	c->state = LINK_UP;
	c->used = now_ms();
	pthread_cond_broadcast(&l->cond);
	return 0;
}

static int conn_take(struct link_conn *c, struct link_msg *m, char *why)
{
	struct link_out *o = NULL;
	int err = 0;

	if (m->type == LINK_PING)
		o = conn_out(LINK_PONG, m->id, NULL, 0);
	pthread_mutex_lock(&c->l->lock);
	switch (m->type) {
	case LINK_HELLO:
		err = c->greeted ? -EPROTO : greet(c, m, why);
		break;
	case LINK_REQUEST:
		c->used = now_ms();
		err = serve_take(c, m, &o);
		break;
	case LINK_ANSWER:
	case LINK_REFUSE:
		err = take_answer(c, m);
		break;
	case LINK_PING:
		if (c->pongs == 2) {
			free(o);	/* it gets those first */
			o = NULL;
		} else if (o) {
			c->pongs++;
		}
		break;
	default:
		break;
	}
	if (o)
		conn_send(c, o, true);
	pthread_mutex_unlock(&c->l->lock);
	free(m->buf);
	return err;
}

static int conn_read(struct link_conn *c, char *why)
{
	struct link_msg m;
	size_t at, used;
	ssize_t n;
	int i, err;

	for (i = 0; i < READS_AT_ONCE; i++) {
		n = tls_read(c->tls, c->in, sizeof(c->in));
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? n : -EPIPE;
		c->silent = 0;
		for (at = 0; at < (size_t)n; at += used) {
			err = link_rx_feed(&c->rx, c->in + at, n - at, &used, &m);
			if (err > 0)
				err = conn_take(c, &m, why);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Another connection that both sides prefer is up, and this one was made by this host. */
static bool spare(const struct link_conn *c)
{
	const struct link_conn *o;

	if (!c->dialled || c->nr_calls || c->taken || now_ms() - c->used < c->l->times.spare)
		return false;
	for (o = c->l->conns; o; o = o->next)
		if (o != c && o->state == LINK_UP && !o->kill && o->port == c->port &&
		    !strcmp(o->addr, c->addr) && o->peer.boot == c->peer.boot &&
		    muuid_equal(&o->peer.host, &c->peer.host) && conn_preferred(o, c))
			return true;
	return false;
}

static void link_name(const struct link_conn *c, char out[96])
{
	if (c->port)
		snprintf(out, 96, "%s port %u", c->addr, c->port);
	else
		snprintf(out, 96, "%s", c->addr);
}

static void explain(const struct link_conn *c, int err, char *why)
{
	char name[96];

	if (why[0])
		return;
	link_name(c, name);
	switch (err) {
	case -EPIPE:
		snprintf(why, LINK_REASON, "%s closed the connection", name);
		break;
	case -ECONNRESET:
		snprintf(why, LINK_REASON, "the connection to %s was lost", name);
		break;
	case -ETIMEDOUT:
		snprintf(why, LINK_REASON, "%s has stopped answering", name);
		break;
	case -EPROTONOSUPPORT:
		snprintf(why, LINK_REASON, "meshd at %s has another version, which this one does not speak",
			 name);
		break;
	case -EKEYEXPIRED:
		snprintf(why, LINK_REASON, "the key of the connection to %s was replaced", name);
		break;
	case -ENOMEM:
	case -EAGAIN:
		snprintf(why, LINK_REASON, "%s: out of memory or threads here", name);
		break;
	case -ESHUTDOWN:
		snprintf(why, LINK_REASON, "the spare connection to %s is closed", name);
		break;
	default:
		snprintf(why, LINK_REASON, "%s sent what is no message of meshd: %s", name, strerror(-err));
	}
}

static int say_hello(struct link_conn *c)
{
	struct links *l = c->l;
	struct link_hello h = { .host = l->host, .machine = l->machine, .boot = l->boot };
	struct link_out *o;
	u8 bytes[LINK_HELLO_LEN];

	pthread_mutex_lock(&l->lock);
	h.port = l->listens ? l->port : 0;
	pthread_mutex_unlock(&l->lock);
	link_hello_encode(&h, bytes);
	o = conn_out(LINK_HELLO, 0, bytes, sizeof(bytes));
	if (!o)
		return -ENOMEM;
	pthread_mutex_lock(&l->lock);
	conn_send(c, o, true);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* Under the lock: what is to be done before the next wait. */
static int conn_due(struct link_conn *c, struct link_out **ping, char *why)
{
	u64 now = now_ms();

	if (c->kill) {
		memcpy(why, c->why, LINK_REASON);
		return c->kill;
	}
	if (!c->greeted)
		return now - c->pinged < c->l->times.shake ? 0 : -ETIMEDOUT;
	if (spare(c))
		return -ESHUTDOWN;
	if (now - c->pinged < c->l->times.ping)
		return 0;
	if (c->silent >= c->l->times.silent)
		return -ETIMEDOUT;
	/* PINGs, not time, are counted: a pause of this host is not one of the peer. */
	c->silent++;
	c->pinged = now;
	conn_send(c, *ping, true);
	*ping = NULL;
	return 0;
}

static int conn_wait(struct link_conn *c, bool more)
{
	struct pollfd p[2] = { { .fd = c->fd, .events = POLLIN | (c->buf_len ? POLLOUT : 0) },
			       { .fd = c->wake, .events = POLLIN } };
	u64 gone = now_ms() - c->pinged, turn = c->greeted ? c->l->times.ping : c->l->times.shake, junk;

	if (poll(p, 2, more ? 0 : gone < turn ? (int)(turn - gone) : 0) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[1].revents && read(c->wake, &junk, sizeof(junk)) < 0 && errno != EAGAIN)
		return -errno;
	return 0;
}

/* Each round writes one buffer and reads some: neither way holds up the other. */
static int conn_run(struct link_conn *c, char *why)
{
	struct link_out *ping = NULL;
	bool more;
	int err = say_hello(c);

	c->pinged = now_ms();
	while (!err) {
		if (!ping)
			ping = conn_out(LINK_PING, 0, NULL, 0);
		if (!ping)
			return -ENOMEM;
		pthread_mutex_lock(&c->l->lock);
		err = conn_due(c, &ping, why);
		if (!err && !c->buf_len)
			out_fill(c);
		pthread_mutex_unlock(&c->l->lock);
		if (!err)
			err = conn_write(c);
		if (!err)
			err = conn_read(c, why);
		if (err)
			break;
		pthread_mutex_lock(&c->l->lock);
		more = !c->buf_len && out_next(c);
		pthread_mutex_unlock(&c->l->lock);
		err = conn_wait(c, more);
	}
	free(ping);
	return err;
}

/* Calls learn whether the peer can have seen anything of them. */
static void end_calls(struct link_conn *c)
{
	struct link_call_state *k;

	while ((k = c->calls)) {
		c->calls = k->next;
		k->done = true;
		k->err = k->begun ? -ECONNRESET : -ERESTART;
		if (!k->waited)
			free(k);
	}
	c->nr_calls = 0;
}

static void conn_end(struct link_conn *c, int err, const char *why)
{
	struct links *l = c->l;
	struct link_out *o;
	int fd = c->fd;

	tls_free(c->tls);
	if (fd >= 0)
		close(fd);
	link_rx_free(&c->rx);
	pthread_mutex_lock(&l->lock);
	c->state = LINK_DEAD;
	c->err = err;
	snprintf(c->why, sizeof(c->why), "%s", why);
	end_calls(c);
	serve_drop(c);
	c->page = NULL;
	while ((o = c->out)) {
		c->out = o->next;
		free(o);
	}
	if (!c->dialled)
		l->accepted--;
	pthread_cond_broadcast(&l->cond);
	conn_put(c);
	links_thread_end(l);
}

static void conn_tune(int fd)
{
	unsigned int dead = 15000;
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead, sizeof(dead));
}

static void *conn_thread(void *arg)
{
	struct link_conn *c = arg;
	char why[LINK_REASON] = "";
	int err = c->dialled ? dial(c, why) : 0;
	bool was_up = false;

	if (!err) {
		conn_tune(c->fd);
		err = conn_run(c, why);
		was_up = c->greeted;
		explain(c, err, why);
	}
	if (err == -ENOTUNIQ || (!was_up && !c->dialled))
		links_warn(c->l, "%s", why);
	else if (was_up)
		log_debug("links: %s", why);
	conn_end(c, err, why);
	return NULL;
}

int conn_start(struct link_conn *c)
{
	if (links_thread(c->l, conn_thread, c))
		return 0;
	c->state = LINK_DEAD;
	c->err = -EAGAIN;
	snprintf(c->why, sizeof(c->why), "no more threads");
	return -EAGAIN;
}
