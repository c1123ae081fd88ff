// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watches. The connection may end between two events of one revision, so a watch begins again at
 * the revision before the newest event, and events of that revision which had come are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/store/link_client.h"

struct link_watch *link_watch_find(struct link_handle *h, u64 id)
{
	struct link_watch *w = h->watches;

	while (w && w->id != id)
		w = w->next;
	return w;
}

static void forget_seen(struct link_watch *w)
{
	struct link_seen *one;

	while ((one = w->seen)) {
		w->seen = one->next;
		free(one);
	}
}

static void free_event(struct link_event *e)
{
	if (!e)
		return;
	frame_end(&e->f);
	free(e->payload);
	free(e);
}

/* Under the mutex: the watch is the handle's no more. */
static void remove_watch(struct link_handle *h, struct link_watch *w)
{
	struct link_watch **at;

	for (at = &h->watches; *at != w; at = &(*at)->next)
		;
	*at = w->next;
	forget_seen(w);
	free(w);
}

/* Under the mutex: no event of the watch waits any more. */
static void drop_events(struct link_handle *h, u64 id)
{
	struct link_event **at = &h->events, *e;

	while ((e = *at)) {
		if (e->f.watch != id) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		h->event_bytes -= e->len;
		free_event(e);
	}
	h->events_end = at;
}

/* Under the mutex. Without memory the store host goes on, and its events are ignored. */
static void end_at_peer(struct store_link *l, u64 id)
{
	u64 *grown;

	if (!l->up)
		return;
	grown = realloc(l->unwatch, (l->unwatches + 1) * sizeof(*grown));
	if (!grown)
		return;
	l->unwatch = grown;
	l->unwatch[l->unwatches++] = id;
	link_wake(l);
}

int link_watch_begin(struct store *s, const char *prefix, u64 after, u64 *id)
{
	struct link_handle *h = (struct link_handle *)s;
	struct link_watch *w = calloc(1, sizeof(*w));
	struct frame f = { .type = FRAME_WATCH, .text = prefix, .at = after };
	int err;

	if (!w)
		return store_fail(s, -ENOMEM, "no memory for a watch");
	w->after = after;
	memcpy(w->prefix, prefix, strlen(prefix) + 1);
	/* Events may come right behind the answer, so it is there before the request leaves. */
	pthread_mutex_lock(&h->l->lock);
	*id = f.watch = w->id = ++h->l->last_watch;
	w->next = h->watches;
	h->watches = w;
	pthread_mutex_unlock(&h->l->lock);
	err = link_call(h, &f, true);
	if (!err) {
		link_call_end(h);
		return 0;
	}
	/* A new connection may have begun it again by itself meanwhile. */
	link_watch_end(s, *id);
	return err;
}

void link_watch_end(struct store *s, u64 id)
{
	struct link_handle *h = (struct link_handle *)s;
	struct link_watch *w;

	pthread_mutex_lock(&h->l->lock);
	w = link_watch_find(h, id);
	if (w) {
		remove_watch(h, w);
		end_at_peer(h->l, id);
	}
	drop_events(h, id);
	pthread_mutex_unlock(&h->l->lock);
}

void link_watches_free(struct link_handle *h)
{
	while (h->watches)
		link_watch_end(&h->base, h->watches->id);
	pthread_mutex_lock(&h->l->lock);
	while (h->events)
		drop_events(h, h->events->f.watch);
	pthread_mutex_unlock(&h->l->lock);
	free_event(h->current);
	h->current = NULL;
}

/* Under the mutex: takes @e over. */
static void queue_event(struct link_handle *h, struct link_event *e)
{
	*h->events_end = e;
	h->events_end = &e->next;
	h->event_bytes += e->len;
	pthread_cond_broadcast(&h->cond);
	link_poke(h);
}

/* Under the mutex: the watch has ended, and its owner is to list again. */
static void relist(struct link_handle *h, struct link_watch *w, struct link_event *e)
{
	e->f.type = FRAME_EVENT;
	e->f.watch = w->id;
	e->f.kind = STORE_RELIST;
	remove_watch(h, w);
	queue_event(h, e);
}

/* True: the event came over an earlier connection already. */
static bool seen_before(struct link_watch *w, u64 revision, const char *key)
{
	const struct link_seen *one;

	for (one = revision == w->last ? w->seen : NULL; one; one = one->next)
		if (!strcmp(one->key, key))
			return true;
	return revision < w->last;
}

/* False: no memory. */
static bool note_seen(struct link_watch *w, u64 revision, const char *key)
{
	struct link_seen *one = malloc(sizeof(*one) + strlen(key) + 1);

	if (!one)
		return false;
	if (revision != w->last)
		forget_seen(w);
	w->last = revision;
	memcpy(one->key, key, strlen(key) + 1);
	one->next = w->seen;
	w->seen = one;
	return true;
}

static struct link_handle *find_handle(struct store_link *l, u64 watch, struct link_watch **w)
{
	struct link_handle *h;

	for (h = l->handles; h; h = h->next) {
		*w = link_watch_find(h, watch);
		if (*w)
			return h;
	}
	return NULL;
}

void link_watch_event(struct store_link *l, struct frame *f, u8 *payload, size_t len)
{
	struct link_watch *w = NULL;
	struct link_handle *h = find_handle(l, f->watch, &w);
	struct link_event *e = h ? calloc(1, sizeof(*e)) : NULL;
	bool lost;

	if (!h || !e || (f->kind != STORE_RELIST && seen_before(w, f->kv->modified, f->kv->key))) {
		frame_end(f);
		free(payload);
		free(e);
		/* Without memory the watch has a gap: the line ends, and begins it again. */
		l->again |= h && !e;
		return;
	}
	e->f = *f;
	e->payload = payload;
	e->len = len + sizeof(*e);
	lost = f->kind == STORE_RELIST || h->event_bytes > LINK_EVENT_BYTES ||
	       !note_seen(w, f->kv->modified, f->kv->key);
	if (lost && f->kind != STORE_RELIST)
		end_at_peer(l, w->id);
	if (lost)
		relist(h, w, e);
	else
		queue_event(h, e);
}

bool link_watch_answer(struct store_link *l, const struct frame *f)
{
	struct link_event *e;
	struct link_handle *h;
	struct link_watch *w;

	for (h = l->handles; h; h = h->next) {
		for (w = h->watches; w && w->request != f->id; w = w->next)
			;
		if (!w)
			continue;
		w->request = 0;
		if (f->type == FRAME_OK)
			return true;
		e = calloc(1, sizeof(*e));
		if (e)
			relist(h, w, e);
		l->again |= !e;
		return true;
	}
	return false;
}

/* Under the mutex: milliseconds of a wait, at most until @until; 0: there is something. */
static u64 next_wait(struct link_handle *h, u64 now, u64 until)
{
	const struct store_link *l = h->l;
	u64 shown = l->down_since + h->outage_ms;

	if (h->events || now >= until)
		return 0;
	if (l->up || h->outage_shown == l->outage)
		return until - now;
	return shown <= now ? 0 : shown < until ? shown - now : until - now;
}

/* Under the mutex: 1: an event; 0: go on waiting; negative. @until has come: 0 is final. */
static int next_result(struct link_handle *h, bool late)
{
	struct store_link *l = h->l;
	struct link_event *e = h->events;
	u64 junk;

	if (e) {
		h->events = e->next;
		if (!h->events)
			h->events_end = &h->events;
		h->event_bytes -= e->len;
		h->current = e;
		return 1;
	}
	if (!l->up && (late || h->outage_shown != l->outage) &&
	    store_now_ms() >= l->down_since + h->outage_ms) {
		h->outage_shown = l->outage;
		(void)!read(h->fd, &junk, sizeof(junk));
		return store_fail(&h->base, -EIO, "no store host is reached: %.300s", l->why);
	}
	if (late)
		(void)!read(h->fd, &junk, sizeof(junk));
	return 0;
}

static int next_event(struct link_handle *h, u64 until)
{
	u64 now = store_now_ms(), ms, at;
	struct timespec t;
	u64 junk;
	int ret;

	for (;; now = store_now_ms()) {
		if (store_interrupted(&h->base)) {
			if (!h->events)
				(void)!read(h->fd, &junk, sizeof(junk));
			return store_fail(&h->base, -ECANCELED, "interrupted");
		}
		ms = next_wait(h, now, until);
		ret = ms ? 0 : next_result(h, now >= until);
		if (ret || now >= until)
			return ret;
		if (!ms)
			continue;
		at = now + ms;
		t = (struct timespec) { .tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000 };
		pthread_cond_timedwait(&h->cond, &h->l->lock, &t);
	}
}

int link_watch_next(struct store *s, unsigned int timeout_ms, struct store_event *e)
{
	struct link_handle *h = (struct link_handle *)s;
	const struct frame *f;
	int ret;

	free_event(h->current);
	h->current = NULL;
	pthread_mutex_lock(&h->l->lock);
	h->outage_ms = s->timeout_ms;
	ret = next_event(h, store_now_ms() + timeout_ms);
	pthread_mutex_unlock(&h->l->lock);
	if (ret != 1)
		return ret;
	f = &h->current->f;
	e->kind = f->kind;
	e->watch = f->watch;
	if (f->kind != STORE_RELIST)
		e->kv = *f->kv;
	return 1;
}
