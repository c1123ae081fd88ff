// SPDX-License-Identifier: GPL-2.0-only
/*
 * The line's thread:
 *
 *   DIAL the next address --- failed ---> pause, after each round of all addresses --> DIAL
 *     |
 *     up: one frame out at a time, frames in, pings --- the connection ends --> DIAL
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "userspace/store/link_client.h"

#define READS_AT_ONCE	16	/* records, before what waits to leave gets its turn */
#define PING_IN_CALL_MS	1000U
#define PAUSE_MS	50U	/* doubles */
#define STABLE_MS	2000	/* a connection that lived shorter counts as a failed attempt */
#define BAD_ANSWERS	2

static bool is_ending(struct store_link *l)
{
	bool end;

	pthread_mutex_lock(&l->lock);
	end = l->ending;
	pthread_mutex_unlock(&l->lock);
	return end;
}

static void line_up(struct store_link *l)
{
	struct link_handle *h;
	struct link_watch *w;

	pthread_mutex_lock(&l->lock);
	l->up = true;
	l->in_flight = 0;
	l->unwatches = 0;
	for (h = l->handles; h; h = h->next)
		for (w = h->watches; w; w = w->next)
			w->send = w->begun;
	pthread_mutex_unlock(&l->lock);
	l->heard = store_now_ms();
	l->pinged = 0;
	l->ping = false;
	l->bad_answers = 0;
}

static void line_down(struct store_link *l, const char *why)
{
	struct link_handle *h;
	struct link_watch *w;

	link_tls_free(l->tls);
	l->tls = NULL;
	close(l->fd);
	l->fd = -1;
	frame_rx_end(&l->rx);
	free(l->sending);
	l->sending = NULL;
	pthread_mutex_lock(&l->lock);
	l->up = false;
	l->outage++;
	l->down_since = store_now_ms();
	snprintf(l->why, sizeof(l->why), "%s", why);
	for (h = l->handles; h; h = h->next) {
		for (w = h->watches; w; w = w->next)
			w->request = 0;
		if (h->call.state == CALL_SENT)
			h->call.state = CALL_LOST;
		pthread_cond_broadcast(&h->cond);
	}
	pthread_mutex_unlock(&l->lock);
}

/* The frame that leaves next. False: none does now. */
static bool send_frame(struct store_link *l, const struct frame *f)
{
	return !frame_encode(f, &l->sending, &l->sending_len);
}

/* Under the mutex: the oldest call that waits to leave. */
static struct link_handle *next_call(struct store_link *l)
{
	struct link_handle *h, *best = NULL;

	for (h = l->handles; h; h = h->next)
		if (h->call.state == CALL_QUEUED && (!best || h->call.order < best->call.order))
			best = h;
	return best;
}

static struct link_watch *next_watch(struct store_link *l)
{
	struct link_handle *h;
	struct link_watch *w;

	for (h = l->handles; h; h = h->next)
		for (w = h->watches; w; w = w->next)
			if (w->send)
				return w;
	return NULL;
}

static bool send_watch(struct store_link *l, struct link_watch *w)
{
	struct frame f = { .type = FRAME_WATCH, .id = ++l->last_id, .ms = 60000, .watch = w->id,
			   .text = w->prefix, .at = w->last ? w->last - 1 : w->after };

	if (!send_frame(l, &f))
		return false;
	w->send = false;
	w->request = f.id;
	l->in_flight++;
	return true;
}

static bool send_call(struct store_link *l, struct link_handle *h)
{
	l->sending = h->call.bytes;
	l->sending_len = h->call.len;
	h->call.bytes = NULL;
	h->call.state = CALL_SENT;
	l->in_flight++;
	return true;
}

/* Under the mutex. Ends of watches come before requests: the store host may wait for room. */
static bool pick(struct store_link *l)
{
	struct frame f = { .type = FRAME_PING, .id = 1 };
	struct link_watch *w;
	struct link_handle *h;

	if (l->ping) {
		l->ping = false;
		return send_frame(l, &f);
	}
	if (l->unwatches) {
		f = (struct frame) { .type = FRAME_UNWATCH, .watch = l->unwatch[--l->unwatches] };
		return send_frame(l, &f);
	}
	if (l->in_flight >= LINK_WINDOW)
		return false;
	w = next_watch(l);
	if (w)
		return send_watch(l, w);
	h = next_call(l);
	return h && send_call(l, h);
}

static bool next_frame(struct store_link *l)
{
	bool any;

	pthread_mutex_lock(&l->lock);
	l->sending_at = 0;
	any = pick(l);
	pthread_mutex_unlock(&l->lock);
	return any;
}

static int line_write(struct store_link *l)
{
	ssize_t n;

	while (l->sending || next_frame(l)) {
		n = link_tls_write(l->tls, l->sending + l->sending_at, l->sending_len - l->sending_at);
		if (n < 0)
			return n == -EAGAIN ? 0 : n;
		l->sending_at += n;
		if (l->sending_at < l->sending_len)
			continue;
		free(l->sending);
		l->sending = NULL;
	}
	return 0;
}

/* Under the mutex: the call that @f answers; NULL: its caller waits no more. */
static struct link_handle *answered(struct store_link *l, u64 id)
{
	struct link_handle *h;

	for (h = l->handles; h; h = h->next)
		if (h->call.state == CALL_SENT && h->call.id == id)
			return h;
	return NULL;
}

/* A store host whose engine does not answer: another one may reach it. */
static void count_bad(struct store_link *l, const struct frame *f)
{
	bool bad = f->type == FRAME_ERROR && (f->err == -EIO || f->err == -ETIMEDOUT ||
					      f->err == -EUCLEAN || f->err == -ESHUTDOWN);

	l->bad_answers = bad ? l->bad_answers + 1 : 0;
}

/* Under the mutex. The frame and its payload go to the handle. */
static int take_answer(struct store_link *l)
{
	struct frame *f = &l->rx.f;
	struct link_handle *h;
	struct link_watch *w;

	if (!l->in_flight)
		return -EPROTO;
	l->in_flight--;
	h = answered(l, f->id);
	if (!h)
		return link_watch_answer(l, f) ? 0 : 1;
	count_bad(l, f);
	w = h->call.watch ? link_watch_find(h, h->call.watch) : NULL;
	if (w && f->type == FRAME_OK)
		w->begun = true;
	h->call.state = CALL_DONE;
	h->call.f = *f;
	h->call.payload = l->rx.payload;
	h->call.payload_len = l->rx.len;
	memset(f, 0, sizeof(*f));
	l->rx.payload = NULL;
	pthread_cond_broadcast(&h->cond);
	return 0;
}

static int take_frame(struct store_link *l)
{
	struct frame *f = &l->rx.f;
	int err = frame_decode(f, l->rx.payload, l->rx.len);

	if (err || f->type == FRAME_PONG) {
		frame_end(f);
		frame_next(&l->rx, false);
		return err;
	}
	pthread_mutex_lock(&l->lock);
	if (f->type == FRAME_EVENT) {
		link_watch_event(l, f, l->rx.payload, l->rx.len);
		memset(f, 0, sizeof(*f));
		l->rx.payload = NULL;
	} else {
		err = take_answer(l);
	}
	pthread_mutex_unlock(&l->lock);
	frame_end(&l->rx.f);
	frame_next(&l->rx, false);
	return err < 0 ? err : 0;
}

static int line_read(struct store_link *l)
{
	size_t at, used;
	ssize_t n;
	int err;

	for (int i = 0; i < READS_AT_ONCE; i++) {
		n = link_tls_read(l->tls, l->in, sizeof(l->in));
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? n : -EPIPE;
		l->heard = store_now_ms();
		l->pinged = 0;
		for (at = 0; at < (size_t)n; at += used) {
			err = frame_feed(&l->rx, false, l->in + at, n - at, &used);
			if (err > 0)
				err = take_frame(l);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Milliseconds until something is due; an error: the connection is to end. */
static int line_due(struct store_link *l)
{
	u64 now = store_now_ms(), quiet;
	unsigned int turn;
	bool again, in_call, others;

	pthread_mutex_lock(&l->lock);
	again = l->again || l->ending;
	in_call = l->in_flight;
	others = l->addresses > 1;
	pthread_mutex_unlock(&l->lock);
	if (again)
		return -ESHUTDOWN;
	if (others && l->bad_answers >= BAD_ANSWERS)
		return -EHOSTDOWN;
	turn = in_call && l->ping_ms > PING_IN_CALL_MS ? PING_IN_CALL_MS : l->ping_ms;
	quiet = now - l->heard;
	/* Also where the ping itself cannot leave, as the store host does not read. */
	if ((l->pinged && now - l->pinged >= l->dead_ms) || quiet >= turn + l->dead_ms)
		return -ETIMEDOUT;
	if (l->pinged)
		return l->dead_ms - (now - l->pinged);
	if (quiet < turn)
		return turn - quiet;
	l->ping = true;
	l->pinged = now;
	return 0;
}

static int line_wait(struct store_link *l, int ms)
{
	struct pollfd p[2] = { { .fd = l->fd, .events = POLLIN | (l->sending ? POLLOUT : 0) },
			       { .fd = l->wake, .events = POLLIN } };
	u64 junk;

	if (poll(p, 2, ms) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[1].revents)
		(void)!read(l->wake, &junk, sizeof(junk));
	return 0;
}

static int line_run(struct store_link *l)
{
	int err, ms;

	for (;;) {
		err = line_read(l);
		if (err)
			return err;
		ms = line_due(l);
		if (ms < 0)
			return ms;
		err = line_write(l);
		if (!err)
			err = line_wait(l, ms);
		if (err)
			return err;
	}
}

static const char *explain(int err)
{
	switch (err) {
	case -EPIPE:
		return "the store host closed the connection";
	case -ECONNRESET:
		return "the connection was lost";
	case -ETIMEDOUT:
		return "the store host has stopped answering";
	case -EHOSTDOWN:
		return "the engine of that store host does not answer";
	case -ESHUTDOWN:
		return "the connection is made again with another key or other addresses";
	case -EPROTONOSUPPORT:
		return "the store host has another version, which this one does not speak";
	case -ENOMEM:
		return "no memory";
	}
	return "the store host sends what is no message of the link";
}

/* Descriptors become readable when store_next() has an outage to report. */
static void show_outage(struct store_link *l)
{
	u64 now = store_now_ms();
	struct link_handle *h;

	pthread_mutex_lock(&l->lock);
	for (h = l->handles; h; h = h->next)
		if (h->outage_shown != l->outage && now >= l->down_since + h->outage_ms)
			link_poke(h);
	pthread_mutex_unlock(&l->lock);
}

/* Not all hosts at the same moment. */
static void line_pause(struct store_link *l, unsigned int ms)
{
	u8 random = 0;

	(void)!getrandom(&random, 1, GRND_NONBLOCK);
	show_outage(l);
	link_dial_wait(l, -1, 0, store_now_ms() + ms / 2 + (u64)ms * random / 256);
	show_outage(l);
}

static void note_why(struct store_link *l, const char *why)
{
	pthread_mutex_lock(&l->lock);
	snprintf(l->why, sizeof(l->why), "%s", why);
	pthread_mutex_unlock(&l->lock);
}

static unsigned int addresses(struct store_link *l)
{
	unsigned int n;

	pthread_mutex_lock(&l->lock);
	n = l->addresses;
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* One connection from its beginning to its end; true: it lived long enough to be of use. */
static bool line_once(struct store_link *l)
{
	char why[LINK_WHY] = "";
	u64 since;
	int err = link_dial(l, why);

	if (err) {
		note_why(l, why);
		return false;
	}
	since = store_now_ms();
	line_up(l);
	err = line_run(l);
	line_down(l, explain(err));
	return err == -ESHUTDOWN || store_now_ms() - since >= STABLE_MS;
}

void *link_line_thread(void *link)
{
	struct store_link *l = link;
	unsigned int failed = 0, pause = PAUSE_MS;

	while (!is_ending(l)) {
		if (line_once(l)) {
			failed = 0;
			pause = PAUSE_MS;
			continue;
		}
		if (++failed % addresses(l))
			continue;
		line_pause(l, pause);
		pause = 2 * pause < l->pause_ms ? 2 * pause : l->pause_ms;
	}
	return NULL;
}
