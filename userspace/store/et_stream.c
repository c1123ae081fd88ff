// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's thread: for each handle with watches a stream to one member, with a connection of
 * its own.
 *
 *	a member that is silent: a watch that has no key is made and ended; no answer to that ends the
 *	stream. etcd has progress requests, but versions since 3.5.8 do not answer them as long as one
 *	watch of the stream waits for a revision of the future, and each that is up to date does.
 *
 *	a handle that does not read: the stream ends, and begins again where the events end once they
 *	are read. A pause within the stream would leave a silent member unseen.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/et.h"

#define FIRST_PAUSE_MS	20
#define PROBE_PAUSE_MS	100
#define LIVED_MS	1000	/* a stream that lasted longer was no failure */
#define IDLE_MS		60000

static int put_create(struct et_handle *h, struct et_watch *w)
{
	Etcd__WatchCreate c = ETCD__WATCH_CREATE__INIT;
	Etcd__WatchRequest q = ETCD__WATCH_REQUEST__INIT;
	struct et_key from, to;

	et_key_range(h->e, &from, &to, w->prefix);
	c.key = from.data;
	c.range_end = to.data;
	c.start_revision = et_progress_stream(&w->at);
	c.watch_id = w->id;
	c.fragment = true;
	q.request_case = ETCD__WATCH_REQUEST__REQUEST_CREATE_REQUEST;
	q.create_request = &c;
	w->state = ET_WATCH_SENT;
	return et_xfer_put(&h->stream.x, &q.base);
}

static int put_cancel(struct et_handle *h, u64 id)
{
	Etcd__WatchCancel c = ETCD__WATCH_CANCEL__INIT;
	Etcd__WatchRequest q = ETCD__WATCH_REQUEST__INIT;

	c.watch_id = id;
	q.request_case = ETCD__WATCH_REQUEST__REQUEST_CANCEL_REQUEST;
	q.cancel_request = &c;
	return et_xfer_put(&h->stream.x, &q.base);
}

static int put_ping(struct et_handle *h)
{
	Etcd__WatchCreate c = ETCD__WATCH_CREATE__INIT;
	Etcd__WatchRequest q = ETCD__WATCH_REQUEST__INIT;
	u8 zero = 0;
	int err;

	c.key = (ProtobufCBinaryData) { 1, &zero };
	c.watch_id = ET_PING_ID;
	q.request_case = ETCD__WATCH_REQUEST__REQUEST_CREATE_REQUEST;
	q.create_request = &c;
	err = et_xfer_put(&h->stream.x, &q.base);
	return err ? err : put_cancel(h, ET_PING_ID);
}

/* Under the mutex: requests of the handle since the last turn. */
static int put_requests(struct et_handle *h)
{
	struct et_stream *st = &h->stream;
	struct et_watch *w;
	int err = 0;

	for (size_t i = 0; !err && i < st->cancels; i++)
		err = put_cancel(h, st->cancel[i]);
	st->cancels = 0;
	for (w = h->watches; !err && w; w = w->next)
		if (w->state == ET_WATCH_NEW)
			err = put_create(h, w);
	return err;
}

/* After @fails failures: at once for each endpoint, then a pause that doubles. */
static u64 backoff(const struct store_etcd *e, unsigned int fails)
{
	unsigned int rounds = fails / e->endpoints;
	u64 ms = FIRST_PAUSE_MS;

	if (!rounds)
		return 0;
	while (--rounds && ms < e->pause_ms)
		ms *= 2;
	return ms < e->pause_ms ? ms : e->pause_ms;
}

/* The stream has ended, or does not begin. @leave: for a fault of its member. */
static void end_stream(struct et_handle *h, bool leave)
{
	struct et_stream *st = &h->stream;
	struct et_watch *w;
	u64 now;

	et_xfer_free(&st->x);
	et_xfer_free(&st->probe);
	if (leave)
		et_leave(h->e, st->endpoint);
	pthread_mutex_lock(&h->e->lock);
	st->running = st->probing = st->restart = false;
	st->cancels = 0;
	for (w = h->watches; w; w = w->next)
		w->state = ET_WATCH_NEW;
	if (st->why[0])
		memcpy(h->outage, st->why, sizeof(h->outage));
	pthread_mutex_unlock(&h->e->lock);
	now = store_now_ms();
	if (st->heard && now >= st->began_ms + LIVED_MS)
		st->fails = 0;
	st->retry_ms = now + backoff(h->e, ++st->fails);
}

static void begin_stream(struct et_handle *h, u64 now)
{
	struct et_stream *st = &h->stream;
	struct et_send send = { .method = "Watch/Watch", .connect_ms = h->e->dial_ms, .alone = true };
	int err;

	send.endpoint = st->endpoint = __atomic_load_n(&h->e->current, __ATOMIC_RELAXED);
	st->x.open = true;
	st->x.on_message = et_events_message;
	st->x.priv = h;
	st->why[0] = 0;
	st->heard = false;
	st->ping_ms = 0;
	st->began_ms = st->heard_ms = now;
	st->running = true;
	pthread_mutex_lock(&h->e->lock);
	err = put_requests(h);
	pthread_mutex_unlock(&h->e->lock);
	if (!err)
		err = et_xfer_begin(&st->x, h->e, h->e->multi, &send);
	if (err)
		end_stream(h, false);
}

static void begin_probe(struct et_handle *h)
{
	Etcd__RangeRequest q = ETCD__RANGE_REQUEST__INIT;
	struct et_stream *st = &h->stream;
	struct et_send send = { "KV/Range", st->endpoint, h->e->dial_ms, h->e->dial_ms, true };
	u8 zero = 0;

	q.key = (ProtobufCBinaryData) { 1, &zero };
	q.count_only = true;
	st->probe.priv = h;
	st->probe.out_len = 0;
	st->probing = !et_xfer_put(&st->probe, &q.base) &&
		      !et_xfer_begin(&st->probe, h->e, h->e->multi, &send);
	if (!st->probing)
		st->probe_ms = store_now_ms() + PROBE_PAUSE_MS;
}

static void stream_done(struct et_handle *h, CURLcode code)
{
	struct et_stream *st = &h->stream;
	struct et_verdict v = et_xfer_verdict(&st->x, code);
	const int err = st->x.err;

	if (!st->why[0])
		et_xfer_words(&st->x, h->e, st->endpoint, &v, st->why, sizeof(st->why));
	end_stream(h, err != -ENOBUFS && err != -EAGAIN && err != -ENOMEM);
	if (err == -ENOBUFS)
		st->fails = 0;
}

/* A member that cannot say which store this is does not serve watches either. */
static void probe_done(struct et_handle *h, CURLcode code)
{
	struct et_stream *st = &h->stream;
	struct et_verdict v = et_xfer_verdict(&st->probe, code);

	st->probing = false;
	if (v.err)
		et_xfer_words(&st->probe, h->e, st->endpoint, &v, st->why, sizeof(st->why));
	else
		v.err = et_events_probed(h, &st->probe);
	et_xfer_free(&st->probe);
	if (v.err)
		end_stream(h, true);
}

static void take_done(struct store_etcd *e)
{
	struct et_xfer *x;
	struct et_handle *h;
	CURLMsg *m;
	CURLcode code;
	int left;

	while ((m = curl_multi_info_read(e->multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		code = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&x);
		h = x->priv;
		if (x == &h->stream.probe)
			probe_done(h, code);
		else
			stream_done(h, code);
	}
}

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* When a stream is dead, or is probed, if nothing comes until then. A long message is no silence. */
static u64 life_due(const struct et_handle *h)
{
	const struct store_etcd *e = h->e;
	const struct et_stream *st = &h->stream;

	if (st->ping_ms)
		return later(st->ping_ms, st->x.moved_ms) + e->dead_ms;
	if (!st->heard)
		return later(st->began_ms, st->x.moved_ms) + e->dial_ms;
	return later(st->heard_ms, st->x.moved_ms) + e->ping_ms;
}

/* Probe a quiet stream; a member that is silent for too long: -ETIMEDOUT. */
static int check_life(struct et_handle *h, u64 now)
{
	struct et_stream *st = &h->stream;

	if (now < life_due(h))
		return 0;
	if (!st->ping_ms && st->heard) {
		st->ping_ms = now;
		return put_ping(h);
	}
	snprintf(st->why, sizeof(st->why), "etcd at %.100s: a stream of watches is silent since %llu ms",
		 h->e->endpoint[st->endpoint], (unsigned long long)(now - st->heard_ms));
	return -ETIMEDOUT;
}

/* The end of a handle; its thread waits for this. */
static bool unlink_handle(struct et_handle *h)
{
	struct store_etcd *e = h->e;
	struct et_handle **at;
	bool closing;

	pthread_mutex_lock(&e->lock);
	closing = h->closing;
	pthread_mutex_unlock(&e->lock);
	if (!closing)
		return false;
	et_xfer_free(&h->stream.x);
	et_xfer_free(&h->stream.probe);
	pthread_mutex_lock(&e->lock);
	for (at = &e->handles; *at != h; at = &(*at)->next)
		;
	*at = h->next;
	h->unlinked = true;
	pthread_cond_broadcast(&e->unlinked);
	pthread_mutex_unlock(&e->lock);
	return true;
}

/* What a handle needs, as of now. */
struct need {
	bool	stream;
	bool	probe;
	bool	restart;
};

static struct need need_of(struct et_handle *h, u64 now)
{
	struct need n = { 0 };
	struct et_watch *w;

	pthread_mutex_lock(&h->e->lock);
	n.stream = h->watches && !h->stream.full;
	n.restart = h->stream.restart;
	for (w = h->watches; w; w = w->next)
		n.probe |= w->state == ET_WATCH_DOUBT;
	if (!n.stream || (h->stream.running && h->stream.heard))
		h->down_ms = 0;
	else if (!h->down_ms)
		h->down_ms = now;
	if (h->down_ms && !h->outage_shown && !h->outage_due && now >= h->down_ms + h->outage_ms) {
		h->outage_due = true;
		et_signal(h->fd);
	}
	pthread_mutex_unlock(&h->e->lock);
	return n;
}

static void run_stream(struct et_handle *h, const struct need *n, u64 now)
{
	struct et_stream *st = &h->stream;
	int err;

	pthread_mutex_lock(&h->e->lock);
	err = put_requests(h);
	pthread_mutex_unlock(&h->e->lock);
	if (!err)
		err = check_life(h, now);
	if (err || n->restart) {
		end_stream(h, err == -ETIMEDOUT);
		return;
	}
	et_xfer_go_on(&st->x);
	if (n->probe && !st->probing && now >= st->probe_ms)
		begin_probe(h);
}

static void step(struct et_handle *h, u64 now)
{
	struct et_stream *st = &h->stream;
	struct need n = need_of(h, now);

	if (!n.stream && st->running) {
		end_stream(h, false);
		st->fails = 0;
	} else if (n.stream && st->running) {
		run_stream(h, &n, now);
	} else if (n.stream && now >= st->retry_ms) {
		begin_stream(h, now);
	}
}

static u64 sooner(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* When the next step of a handle is due, but for what wakes the thread. */
static u64 due(struct et_handle *h, u64 now)
{
	const struct et_stream *st = &h->stream;
	u64 at = now + IDLE_MS;

	pthread_mutex_lock(&h->e->lock);
	if (h->down_ms && !h->outage_shown && !h->outage_due)
		at = sooner(at, h->down_ms + h->outage_ms);
	if (h->watches && !st->full && !st->running)
		at = sooner(at, st->retry_ms);
	pthread_mutex_unlock(&h->e->lock);
	if (st->running)
		at = sooner(at, now + et_xfer_wait(&st->x, now, later(life_due(h), now) - now));
	if (st->probing)
		at = sooner(at, now + et_xfer_wait(&st->probe, now, IDLE_MS));
	return !st->probing && st->probe_ms > now ? sooner(at, st->probe_ms) : at;
}

/* One turn for each handle. Return: when the next one is due; 0: the engine ends. */
static u64 turn(struct store_etcd *e)
{
	struct et_handle *h, *next;
	u64 now = store_now_ms(), at = now + IDLE_MS;
	bool closing;

	pthread_mutex_lock(&e->lock);
	h = e->handles;
	closing = e->closing;
	pthread_mutex_unlock(&e->lock);
	for (; h; h = next) {
		next = h->next;
		if (unlink_handle(h))
			continue;
		step(h, now);
		at = sooner(at, due(h, now));
	}
	return closing ? 0 : at;
}

static void *run(void *arg)
{
	struct store_etcd *e = arg;
	struct curl_waitfd wake = { .fd = e->wake_fd, .events = CURL_WAIT_POLLIN };
	u64 at, now;
	int running;

	while ((at = turn(e))) {
		/* The time-outs of libcurl count here too: what a turn began goes on at once. */
		now = store_now_ms();
		wake.revents = 0;
		if (at > now)
			curl_multi_poll(e->multi, &wake, 1, at - now, NULL);
		if (wake.revents)
			et_drain(e->wake_fd);
		curl_multi_perform(e->multi, &running);
		take_done(e);
	}
	return NULL;
}

/* Signals are for the threads of the program. */
int et_stream_start(struct store_etcd *e)
{
	sigset_t all, before;
	int err;

	e->multi = curl_multi_init();
	if (!e->multi)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&e->thread, NULL, run, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		curl_multi_cleanup(e->multi);
		e->multi = NULL;
	}
	return -err;
}

void et_stream_stop(struct store_etcd *e)
{
	pthread_mutex_lock(&e->lock);
	e->closing = true;
	pthread_mutex_unlock(&e->lock);
	et_signal(e->wake_fd);
	pthread_join(e->thread, NULL);
	curl_multi_cleanup(e->multi);
}
