// SPDX-License-Identifier: GPL-2.0-only
/* The I/O thread: connections, their frames in and out, and what is due with time. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "userspace/store/engine.h"
#include "userspace/store/link_serve.h"

#define EVENTS_AT_ONCE	64
#define READS_AT_ONCE	16		/* records, before other connections get their turn */
#define WRITE_AT_ONCE	(256U << 10)
#define TICK_MS		100		/* while there are strangers */
#define IDLE_MS		1000

void serve_epoll(struct serve_conn *c, unsigned int events)
{
	struct epoll_event e = { .events = events, .data.ptr = c };

	if (c->events != events && !epoll_ctl(c->s->epoll, EPOLL_CTL_MOD, c->fd, &e))
		c->events = events;
}

static void free_block(struct serve_block *b)
{
	if (!b)
		return;
	if (b->secret)
		explicit_bzero(b->bytes, b->len);
	free(b->bytes);
	free(b);
}

/* Under the lock. */
static void count_block(struct serve_conn *c, const struct serve_block *b, bool in)
{
	size_t n = in ? b->len : -b->len;

	c->out_bytes += n;
	if (!b->event)
		return;
	c->event_bytes += n;
	c->s->event_bytes += n;
}

/* Under the lock. */
static void mark_dirty(struct serve_conn *c)
{
	if (c->dirty || c->state == SERVE_DEAD)
		return;
	c->dirty = true;
	c->refs++;
	c->dirty_next = c->s->dirty;
	c->s->dirty = c;
}

static struct serve_block *make_block(const struct frame *f)
{
	struct serve_block *b = calloc(1, sizeof(*b));

	if (!b || frame_encode(f, &b->bytes, &b->len)) {
		free(b);
		return NULL;
	}
	b->secret = f->type == FRAME_KEYS;
	b->event = f->type == FRAME_EVENT;
	return b;
}

/* Takes @b over; NULL: the connection cannot go on. @answers: a request ends with it. */
static void queue_block(struct serve_conn *c, struct serve_block *b, bool answers)
{
	struct link_server *s = c->s;
	bool dead;

	pthread_mutex_lock(&s->lock);
	dead = c->state == SERVE_DEAD;
	if (!dead && b) {
		*c->out_end = b;
		c->out_end = &b->next;
		count_block(c, b, true);
	}
	c->broken |= !b;
	if (answers) {
		c->taken--;
		serve_ready(c);
	}
	mark_dirty(c);
	pthread_mutex_unlock(&s->lock);
	if (dead)
		free_block(b);
	serve_wake(s);
}

void serve_answer(struct serve_conn *c, const struct frame *f)
{
	struct serve_block *b = make_block(f);

	if (b)
		queue_block(c, b, true);
	else
		serve_error(c, f->id, -EIO, "no memory for the answer, or it is too long");
}

void serve_error(struct serve_conn *c, u64 id, int err, const char *fmt, ...)
{
	char words[FRAME_WORDS];
	struct frame f = { .type = FRAME_ERROR, .id = id, .err = err, .text = words };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	queue_block(c, make_block(&f), true);
}

bool serve_event(struct serve_conn *c, const struct frame *f)
{
	bool room;

	pthread_mutex_lock(&c->s->lock);
	room = f->kind == STORE_RELIST ||
	       (c->event_bytes < c->s->c.events && c->s->event_bytes < c->s->c.events_all);
	pthread_mutex_unlock(&c->s->lock);
	if (room)
		queue_block(c, make_block(f), false);
	return room;
}

/* Under the lock: what waits to leave, and requests that no worker has begun. */
static void drop_queues(struct serve_conn *c)
{
	struct serve_block *b;
	struct serve_job *j;

	while ((b = c->out)) {
		c->out = b->next;
		count_block(c, b, false);
		free_block(b);
	}
	while ((j = c->jobs)) {
		c->jobs = j->next;
		c->s->job_bytes -= j->len;
		c->s->nr_jobs--;
		c->refs--;
		frame_end(&j->f);
		free(j->payload);
		free(j);
	}
	c->out_end = &c->out;
	c->jobs_end = &c->jobs;
}

static void unlink_conn(struct serve_conn *c)
{
	struct serve_conn **at;

	for (at = &c->s->conns; *at != c; at = &(*at)->next)
		;
	*at = c->next;
}

/* Events of this turn may still name it, so it is freed after the turn. */
void serve_kill(struct serve_conn *c)
{
	struct link_server *s = c->s;
	bool up, watches;

	if (c->fd < 0)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	link_tls_free(c->tls);
	close(c->fd);
	c->fd = -1;
	c->tls = NULL;
	s->rx_bytes -= c->rx_room;
	frame_rx_end(&c->rx);
	pthread_mutex_lock(&s->lock);
	up = c->state == SERVE_UP;
	c->state = SERVE_DEAD;
	if (c->sending)
		count_block(c, c->sending, false);
	drop_queues(c);
	s->nr_conns -= up;
	watches = c->watches;
	s->sweep |= watches;
	pthread_mutex_unlock(&s->lock);
	free_block(c->sending);
	c->sending = NULL;
	if (up)
		unlink_conn(c);
	if (watches)
		store_interrupt(s->watch_handle);
	c->next = s->graves;
	s->graves = c;
}

/* A connection of a host too many: its oldest one goes, which may be of before its reboot. */
static void limit_host(struct serve_conn *c)
{
	struct serve_conn *o, *oldest = NULL;
	unsigned int n = 0;

	for (o = c->s->conns; o; o = o->next) {
		if (o->who.role != c->who.role || !muuid_equal(&o->who.uuid, &c->who.uuid))
			continue;
		n++;
		if (!oldest || o->since <= oldest->since)
			oldest = o;
	}
	if (n >= c->s->c.conns_host)
		serve_kill(oldest);
}

/* The handshake has proved the key. */
static void admit(struct serve_conn *c)
{
	struct link_server *s = c->s;
	bool room;

	c->who = *link_tls_who(c->tls);
	limit_host(c);
	pthread_mutex_lock(&s->lock);
	room = s->nr_conns < s->c.conns;
	if (room) {
		c->state = SERVE_UP;
		s->nr_conns++;
	}
	pthread_mutex_unlock(&s->lock);
	if (!room || serve_find(s, &c->who, &c->psk)) {
		if (room) {
			c->next = s->conns;
			s->conns = c;
		} else {
			serve_warn(s, "%s is refused: %u connections are the limit", c->addr, s->c.conns);
		}
		serve_kill(c);
		return;
	}
	c->read_at = store_now_ms();
	c->next = s->conns;
	s->conns = c;
	serve_epoll(c, EPOLLIN);
}

static bool may_read(const struct serve_conn *c, const char *prefix, char why[RIGHTS_WHY])
{
	const struct rights_who who = { c->who.role, c->who.uuid };

	return rights_read(&who, prefix, why) == RIGHTS_ALLOWED;
}

static void take_watch(struct serve_conn *c, const struct frame *f)
{
	char why[RIGHTS_WHY];
	bool room;

	if (!may_read(c, f->text, why)) {
		serve_error(c, f->id, -EACCES, "%s", why);
		return;
	}
	pthread_mutex_lock(&c->s->lock);
	room = c->watches < LINK_WATCHES;
	c->watches += room;
	pthread_mutex_unlock(&c->s->lock);
	if (!room) {
		serve_error(c, f->id, -EACCES, "%u watches of one host are the limit", LINK_WATCHES);
	} else if (!serve_command(c, SERVE_WATCH, f)) {
		pthread_mutex_lock(&c->s->lock);
		c->watches--;
		pthread_mutex_unlock(&c->s->lock);
		serve_error(c, f->id, -ENOMEM, "no memory at the store host");
	}
}

/* A connection that a token proved has one use. */
static bool type_allowed(const struct serve_conn *c, enum frame_type type)
{
	bool token = c->who.role == LINK_TOKEN;

	return type == FRAME_PING || token == (type == FRAME_JOIN);
}

/* False: beyond the window, which no host does. */
static bool count_request(struct serve_conn *c)
{
	bool room;

	pthread_mutex_lock(&c->s->lock);
	room = c->taken < LINK_WINDOW;
	c->taken += room;
	pthread_mutex_unlock(&c->s->lock);
	return room;
}

static int take_request(struct serve_conn *c)
{
	const struct frame *f = &c->rx.f;
	char why[RIGHTS_WHY];

	if (!count_request(c))
		return -EPROTO;
	if (f->type == FRAME_WATCH)
		take_watch(c, f);
	else if ((f->type == FRAME_RANGE || f->type == FRAME_GET) && !may_read(c, f->text, why))
		serve_error(c, f->id, -EACCES, "%s", why);
	else
		serve_job(c);
	return 0;
}

static int take_frame(struct serve_conn *c)
{
	struct frame *f = &c->rx.f, pong = { .type = FRAME_PONG, .id = f->id };
	int err = frame_decode(f, c->rx.payload, c->rx.len);

	if (!err && !type_allowed(c, f->type))
		err = -EPROTO;
	if (!err && c->who.role != LINK_TOKEN && c->s->c.removed(c->s->c.priv, &c->who.uuid))
		err = -EACCES;
	if (err) {
		frame_end(f);
		return err;
	}
	switch (f->type) {
	case FRAME_PING:
		queue_block(c, make_block(&pong), false);
		break;
	case FRAME_UNWATCH:
		err = serve_command(c, SERVE_UNWATCH, f) ? 0 : -ENOMEM;
		break;
	default:
		err = take_request(c);
	}
	/* A job has taken frame and payload over: nothing of them is here any more. */
	frame_end(&c->rx.f);
	frame_next(&c->rx, false);
	return err;
}

/* All bytes of one record. */
static int take_bytes(struct serve_conn *c, size_t len)
{
	struct link_server *s = c->s;
	size_t used, jobs;
	int err;

	for (size_t at = 0; at < len; at += used) {
		err = frame_feed(&c->rx, true, s->in + at, len - at, &used);
		if (err > 0)
			err = take_frame(c);
		if (err)
			return err;
	}
	s->rx_bytes = s->rx_bytes - c->rx_room + c->rx.room;
	c->rx_room = c->rx.room;
	pthread_mutex_lock(&s->lock);
	jobs = s->job_bytes;
	pthread_mutex_unlock(&s->lock);
	return s->rx_bytes + jobs > SERVE_IN_MAX ? -ENOBUFS : 0;
}

static int conn_read(struct serve_conn *c)
{
	ssize_t n;
	int err;

	for (int i = 0; i < READS_AT_ONCE; i++) {
		n = link_tls_read(c->tls, c->s->in, sizeof(c->s->in));
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? n : -EPIPE;
		c->read_at = store_now_ms();
		err = take_bytes(c, n);
		if (err)
			return err;
	}
	return 0;
}

static bool next_block(struct serve_conn *c)
{
	pthread_mutex_lock(&c->s->lock);
	c->sending = c->out;
	if (c->sending) {
		c->out = c->sending->next;
		if (!c->out)
			c->out_end = &c->out;
	}
	pthread_mutex_unlock(&c->s->lock);
	return c->sending;
}

static void end_block(struct serve_conn *c)
{
	pthread_mutex_lock(&c->s->lock);
	count_block(c, c->sending, false);
	serve_ready(c);
	pthread_mutex_unlock(&c->s->lock);
	free_block(c->sending);
	c->sending = NULL;
}

/* 1: more waits to leave; 0: nothing does. */
static int conn_write(struct serve_conn *c)
{
	size_t sent = 0;
	ssize_t n;

	if (!c->sending && !(c->events & EPOLLOUT))
		c->wrote_at = store_now_ms();
	while (sent < WRITE_AT_ONCE && (c->sending || next_block(c))) {
		n = link_tls_write(c->tls, c->sending->bytes + c->sending->at,
				   c->sending->len - c->sending->at);
		if (n == -EAGAIN)
			return 1;
		if (n < 0)
			return n;
		c->wrote_at = store_now_ms();
		c->sending->at += n;
		sent += n;
		if (c->sending->at == c->sending->len)
			end_block(c);
	}
	return sent >= WRITE_AT_ONCE;
}

/* One turn of a connection that is up. */
static void serve_turn(struct serve_conn *c, bool readable)
{
	size_t waiting;
	bool broken;
	int err, more;

	err = readable ? conn_read(c) : 0;
	more = err ? err : conn_write(c);
	pthread_mutex_lock(&c->s->lock);
	waiting = c->out_bytes;
	broken = c->broken;
	pthread_mutex_unlock(&c->s->lock);
	if (more < 0 || broken)
		serve_kill(c);
	else
		/* A peer that does not read its answers is not read either. */
		serve_epoll(c, (waiting < SERVE_OUT_MAX ? EPOLLIN : 0) | (more ? EPOLLOUT : 0));
}

static void serve_dirty(struct link_server *s)
{
	struct serve_conn *c;

	for (;;) {
		pthread_mutex_lock(&s->lock);
		c = s->dirty;
		if (c) {
			s->dirty = c->dirty_next;
			c->dirty = false;
		}
		pthread_mutex_unlock(&s->lock);
		if (!c)
			return;
		if (c->fd >= 0)
			serve_turn(c, false);
		serve_put(c);
	}
}

static void serve_source(struct link_server *s, const struct epoll_event *e)
{
	struct serve_conn *c = e->data.ptr;
	u64 junk;

	if (!c) {
		(void)!read(s->wake, &junk, sizeof(junk));
	} else if (e->data.ptr == &s->listen[0] || e->data.ptr == &s->listen[1]) {
		serve_accept(s, *(int *)e->data.ptr);
	} else if (c->fd >= 0 && c->state == SERVE_STRANGER) {
		if (serve_stranger(c) == 1)
			admit(c);
	} else if (c->fd >= 0) {
		serve_turn(c, e->events & (EPOLLIN | EPOLLHUP | EPOLLERR));
	}
}

/* Keys that are not valid any more, and peers that are silent. */
static void serve_due(struct link_server *s, u64 now)
{
	struct serve_conn *c, *next;
	struct secret psk;
	bool check;

	pthread_mutex_lock(&s->lock);
	check = s->check;
	s->check = false;
	pthread_mutex_unlock(&s->lock);
	for (c = s->conns; c; c = next) {
		next = c->next;
		if (now - c->read_at >= s->c.silent_ms ||
		    ((c->events & EPOLLOUT) && now - c->wrote_at >= s->c.silent_ms))
			serve_kill(c);
		else if (check && (serve_find(s, &c->who, &psk) || !secret_equal(&psk, &c->psk)))
			serve_kill(c);
	}
	explicit_bzero(&psk, sizeof(psk));
}

static void bury(struct link_server *s)
{
	struct serve_conn *c;

	while ((c = s->graves)) {
		s->graves = c->next;
		serve_put(c);
	}
}

static bool ending(struct link_server *s, bool *check)
{
	bool end;

	pthread_mutex_lock(&s->lock);
	end = s->ending;
	*check = s->check;
	pthread_mutex_unlock(&s->lock);
	return end;
}

static void end_all(struct link_server *s)
{
	while (s->conns)
		serve_kill(s->conns);
	/* The longest limit of time: all of them are late. */
	serve_strangers_late(s, ~0ULL);
	serve_dirty(s);
	bury(s);
}

void *serve_io_thread(void *server)
{
	struct epoll_event e[EVENTS_AT_ONCE];
	struct link_server *s = server;
	u64 now, due = 0;
	bool check;
	int n;

	while (!ending(s, &check)) {
		n = epoll_wait(s->epoll, e, EVENTS_AT_ONCE, s->strangers ? TICK_MS : IDLE_MS);
		for (int i = 0; i < n; i++)
			serve_source(s, &e[i]);
		serve_dirty(s);
		now = store_now_ms();
		serve_strangers_late(s, now);
		if (check || now >= due) {
			serve_due(s, now);
			due = now + (s->c.silent_ms < IDLE_MS ? TICK_MS : IDLE_MS);
		}
		bury(s);
	}
	end_all(s);
	return NULL;
}
