// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watches of the etcd engine, as handles see them: requests for the engine's thread, events of it.
 *
 *	new ---- requested on the stream ----> sent ---- answered ----> live
 *	 ^  \                                    |- the member is behind -> doubt -- a read --+-> live
 *	 |   +-- the stream has ended ---- (any)                                              |
 *	 +--------------------------------- (any)     compacted, put back, another store <----+
 *	                                              = lost: STORE_RELIST, removed
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/et.h"

struct et_watch *et_watch_find(struct et_handle *h, u64 id)
{
	struct et_watch *w;

	for (w = h->watches; w && w->id != id; w = w->next)
		;
	return w;
}

/* The last answer to this handle says which store it was that @after is of. */
int et_watch(struct store *s, const char *prefix, u64 after, u64 *id)
{
	struct et_watch *w = calloc(1, sizeof(*w)), **end;
	struct et_handle *h = et_handle(s);

	if (!w)
		return store_fail(s, -ENOMEM, "store: the host is out of memory");
	strcpy(w->prefix, prefix);
	w->id = *id = ++h->last_id;
	et_progress_begin(&w->at, after);
	pthread_mutex_lock(&h->e->lock);
	w->store = h->seen;
	for (end = &h->watches; *end; end = &(*end)->next)
		;
	*end = w;
	pthread_mutex_unlock(&h->e->lock);
	et_signal(h->e->wake_fd);
	return 0;
}

static void unlink_watch(struct et_handle *h, struct et_watch *w)
{
	struct et_watch **at;

	for (at = &h->watches; *at != w; at = &(*at)->next)
		;
	*at = w->next;
}

static void append(struct et_handle *h, struct et_event *e)
{
	*h->events_end = e;
	h->events_end = &e->next;
	h->event_bytes += sizeof(*e) + e->kv.len;
	et_signal(h->fd);
}

static struct et_event *take(struct et_handle *h)
{
	struct et_event *e = h->events;

	if (!e)
		return NULL;
	h->events = e->next;
	if (!h->events)
		h->events_end = &h->events;
	h->event_bytes -= sizeof(*e) + e->kv.len;
	return e;
}

static void drop_events(struct et_handle *h, u64 id)
{
	struct et_event *e, *all = h->events;

	h->events = NULL;
	h->events_end = &h->events;
	h->event_bytes = 0;
	while ((e = all)) {
		all = e->next;
		e->next = NULL;
		if (e->watch == id)
			free(e);
		else
			append(h, e);
	}
}

/* Without memory for the request the stream begins again, without this watch. */
static void request_cancel(struct et_handle *h, u64 id)
{
	struct et_stream *st = &h->stream;
	size_t room = st->cancel_room ? 2 * st->cancel_room : 16;
	u64 *more;

	if (st->cancels == st->cancel_room) {
		more = realloc(st->cancel, room * sizeof(*more));
		if (!more) {
			st->restart = true;
			return;
		}
		st->cancel = more;
		st->cancel_room = room;
	}
	st->cancel[st->cancels++] = id;
}

void et_unwatch(struct store *s, u64 id)
{
	struct et_handle *h = et_handle(s);
	struct et_watch *w;

	pthread_mutex_lock(&h->e->lock);
	w = et_watch_find(h, id);
	if (w) {
		if (w->state != ET_WATCH_NEW)
			request_cancel(h, id);
		unlink_watch(h, w);
	}
	drop_events(h, id);
	pthread_mutex_unlock(&h->e->lock);
	free(w);
	et_signal(h->e->wake_fd);
}

int et_watch_event(struct et_handle *h, u64 id, const struct store_kv *kv, size_t key_len)
{
	struct et_event *e = malloc(sizeof(*e) + kv->len + key_len + 1);

	if (!e)
		return -ENOMEM;
	*e = (struct et_event) { .kind = kv->value ? STORE_PUT : STORE_DELETED, .watch = id, .kv = *kv };
	if (kv->len)
		memcpy(e->bytes, kv->value, kv->len);
	memcpy(e->bytes + kv->len, kv->key, key_len);
	e->bytes[kv->len + key_len] = 0;
	e->kv.value = kv->value ? e->bytes : NULL;
	e->kv.key = e->bytes + kv->len;
	append(h, e);
	return 0;
}

int et_watch_lost(struct et_handle *h, struct et_watch *w)
{
	struct et_event *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->kind = STORE_RELIST;
	e->watch = w->id;
	append(h, e);
	unlink_watch(h, w);
	free(w);
	return 0;
}

/* Under the mutex: 1: an event; 0: none; negative. Without any the descriptor is not readable. */
static int next_result(struct et_handle *h)
{
	h->current = take(h);
	if (h->current)
		return 1;
	et_drain(h->fd);
	if (h->stream.full) {
		h->stream.full = false;
		et_signal(h->e->wake_fd);
	}
	if (!h->outage_due)
		return 0;
	h->outage_due = false;
	h->outage_shown = true;
	return store_fail(&h->base, -EIO, "no member of etcd is reached: %.300s", h->outage);
}

int et_next(struct store *s, unsigned int timeout_ms, struct store_event *e)
{
	const u64 end = store_now_ms() + timeout_ms;
	struct et_handle *h = et_handle(s);
	int ret;

	for (;;) {
		if (store_interrupted(s))
			return store_fail(s, -ECANCELED, "store: interrupted");
		free(h->current);
		pthread_mutex_lock(&h->e->lock);
		h->outage_ms = s->timeout_ms;
		ret = next_result(h);
		pthread_mutex_unlock(&h->e->lock);
		if (ret)
			break;
		ret = store_wait(s, h->fd, end);
		if (ret != 1)
			return ret;
	}
	if (ret < 0)
		return ret;
	e->kind = h->current->kind;
	e->watch = h->current->watch;
	e->kv = h->current->kv;
	return 1;
}

void et_watch_free_all(struct et_handle *h)
{
	struct et_watch *w;

	while ((w = h->watches)) {
		h->watches = w->next;
		free(w);
	}
	free(h->current);
	while ((h->current = take(h)))
		free(h->current);
	free(h->stream.cancel);
}
