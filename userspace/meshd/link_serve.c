// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of peers. A peer has up to LINK_WINDOW of them outstanding, which it
 * keeps to by itself: a connection is always read, since it carries the answers
 * to our own requests as well. A worker is made when a request comes and ends
 * when none is left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/links.h"

/* The connections take turns, so that a busy peer leaves workers to the others. */
static struct link_req *next_ready(struct links *l)
{
	struct link_conn *c, *best = NULL;
	struct link_req *r;

	for (c = l->conns; c; c = c->next)
		if (c->ready && c->running < LINK_PEER_RUNS && (!best || c->running < best->running))
			best = c;
	if (!best)
		return NULL;
	r = best->ready;
	best->ready = r->next;
	if (!best->ready)
		best->ready_end = &best->ready;
	best->running++;
	best->refs++;
	return r;
}

static void *worker(void *arg)
{
	struct links *l = arg;
	struct link_conn *c;
	struct link_req *r;
	link_serve_fn fn;

	pthread_mutex_lock(&l->lock);
	while ((r = next_ready(l))) {
		c = r->conn;
		fn = l->fn;
		pthread_mutex_unlock(&l->lock);
		fn(r, r->msg, r->len);		/* r may be gone after it */
		pthread_mutex_lock(&l->lock);
		c->running--;
		conn_put(c);
	}
	l->workers--;
	links_thread_end(l);
	return NULL;
}

static struct link_out *refusal(u64 id, int err)
{
	u8 e[4] = { -err & 0xff, -err >> 8 };

	return conn_out(LINK_REFUSE, id, e, sizeof(e));
}

int serve_take(struct link_conn *c, struct link_msg *m, struct link_out **refuse)
{
	struct links *l = c->l;
	struct link_req *r;

	if (c->state != LINK_UP || c->taken >= LINK_WINDOW ||
	    c->taken_bytes + m->len > LINK_WINDOW_BYTES)
		return -EPROTO;
	r = l->fn ? calloc(1, sizeof(*r)) : NULL;
	if (!r) {
		*refuse = refusal(m->id, l->fn ? -ENOMEM : -EOPNOTSUPP);
		return *refuse ? 0 : -ENOMEM;
	}
	r->conn = c;
	r->id = m->id;
	r->msg = m->buf;
	r->len = m->len;
	m->buf = NULL;
	c->refs++;
	c->taken++;
	c->taken_bytes += r->len;
	*c->ready_end = r;
	c->ready_end = &r->next;
	if (l->workers < LINK_WORKERS && c->running < LINK_PEER_RUNS) {
		l->workers++;
		if (!links_thread(l, worker, l))
			l->workers--;
	}
	/* Without any worker nothing takes it later: the connection goes, and says so. */
	return l->workers ? 0 : -EAGAIN;
}

void serve_drop(struct link_conn *c)
{
	struct link_req *r;

	while ((r = c->ready)) {
		c->ready = r->next;
		free(r->msg);
		free(r);
		conn_put(c);
	}
	c->ready_end = &c->ready;
}

const struct link_peer *link_req_peer(const struct link_req *r)
{
	return &r->conn->peer;
}

void link_reply(struct link_req *r, const void *msg, size_t len)
{
	struct link_conn *c = r->conn;
	struct links *l = c->l;
	struct link_out *o;

	o = len > LINK_MSG_MAX ? refusal(r->id, -EMSGSIZE) : conn_out(LINK_ANSWER, r->id, msg, len);
	if (!o)
		o = refusal(r->id, -ENOMEM);
	pthread_mutex_lock(&l->lock);
	c->taken--;
	c->taken_bytes -= r->len;
	c->used = now_ms();
	if (o)
		conn_send(c, o, false);
	else
		conn_kill(c, -ENOMEM, "out of memory");
	conn_put(c);
	pthread_mutex_unlock(&l->lock);
	free(r->msg);
	free(r);
}
