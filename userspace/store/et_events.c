// SPDX-License-Identifier: GPL-2.0-only
/* Responses of a stream of watches, on the engine's thread, within a callback of libcurl. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/et.h"

/* A member answers: the outage, if there was one, is over. */
static void heard(struct et_handle *h)
{
	h->stream.heard = true;
	h->stream.heard_ms = store_now_ms();
	h->stream.ping_ms = 0;
	h->down_ms = 0;
	h->outage_due = h->outage_shown = false;
}

static struct et_store known(const struct et_watch *w)
{
	struct et_store k = w->store;

	k.revision = et_progress_known(&w->at);
	return k;
}

static int created(struct et_handle *h, struct et_watch *w, const struct et_store *now)
{
	struct et_store was = known(w);

	switch (et_same(&was, now, false)) {
	case ET_OTHER:
		return et_watch_lost(h, w);
	case ET_DOUBT:
		w->state = ET_WATCH_DOUBT;
		return 0;
	case ET_SAME:
		break;
	}
	w->state = ET_WATCH_LIVE;
	w->store = *now;
	return 0;
}

static int deliver(struct et_handle *h, struct et_watch *w, const Etcd__Event *e)
{
	const Etcd__KeyValue *from = e->kv;
	struct store_kv kv = { 0 };
	size_t len;
	int err;

	if (!from)
		return -EPROTO;
	kv.key = et_key_of(h->e, from, &len);
	kv.modified = from->mod_revision;
	if (!kv.key || !et_progress_event(&w->at, kv.modified))
		return 0;
	if (e->type == ETCD__EVENT_TYPE__PUT) {
		kv.value = from->value.len ? (void *)from->value.data : "";
		kv.len = from->value.len;
		kv.created = from->create_revision;
		kv.lease = from->lease;
	}
	err = et_watch_event(h, w->id, &kv, len);
	if (!err)
		et_progress_delivered(&w->at, kv.modified);
	return err;
}

static int events(struct et_handle *h, struct et_watch *w, const Etcd__WatchResponse *r)
{
	int err = 0;

	/* Until a read says which store this is, its events may be those of another history. */
	if (r->n_events && w->state != ET_WATCH_LIVE)
		return -EAGAIN;
	for (size_t i = 0; !err && i < r->n_events; i++)
		err = deliver(h, w, r->events[i]);
	if (!err && r->n_events && !r->fragment)
		et_progress_whole(&w->at);
	return err;
}

static int canceled(struct et_handle *h, struct et_watch *w, const Etcd__WatchResponse *r)
{
	if (w && r->compact_revision)
		return et_watch_lost(h, w);
	if (!w && !r->created)
		return 0;	/* requested here */
	snprintf(h->stream.why, sizeof(h->stream.why), "etcd ended a watch: %.160s", r->cancel_reason);
	return -EIO;
}

static int response(struct et_handle *h, const Etcd__WatchResponse *r)
{
	struct et_store now = et_store_of(r->header);
	struct et_watch *w = et_watch_find(h, r->watch_id);
	int err = 0;

	if (r->watch_id == ET_PING_ID)
		return 0;
	if (r->canceled)
		return canceled(h, w, r);
	if (r->watch_id <= (s64)ET_FIRST_ID) {
		snprintf(h->stream.why, sizeof(h->stream.why), "etcd gives watches numbers of its own: its"
			 " version must be 3.4 or later");
		return -EPROTO;
	}
	if (!w)
		return 0;	/* it was ended here meanwhile */
	if (r->created) {
		err = created(h, w, &now);
		if (err || et_watch_find(h, r->watch_id) != w)
			return err;
	}
	err = events(h, w, r);
	if (!err && h->event_bytes > h->e->events) {
		h->stream.full = true;
		err = -ENOBUFS;
	}
	return err;
}

int et_events_message(void *priv, const u8 *msg, size_t len)
{
	Etcd__WatchResponse *r = etcd__watch_response__unpack(NULL, len, msg);
	struct et_handle *h = priv;
	int err;

	if (!r)
		return -EPROTO;
	pthread_mutex_lock(&h->e->lock);
	heard(h);
	err = r->header ? response(h, r) : -EPROTO;
	pthread_mutex_unlock(&h->e->lock);
	etcd__watch_response__free_unpacked(r, NULL);
	return err;
}

static int decide(struct et_handle *h, const struct et_store *now)
{
	struct et_watch *w, *next;
	struct et_store was;
	int err = 0;

	for (w = h->watches; !err && w; w = next) {
		next = w->next;
		if (w->state != ET_WATCH_DOUBT)
			continue;
		was = known(w);
		if (et_same(&was, now, true) == ET_SAME)
			w->state = ET_WATCH_LIVE;
		else
			err = et_watch_lost(h, w);
	}
	return err;
}

int et_events_probed(struct et_handle *h, const struct et_xfer *x)
{
	Etcd__RangeResponse *r = etcd__range_response__unpack(NULL, x->rx.len, x->rx.msg);
	struct et_store now;
	int err = r && r->header ? 0 : -EPROTO;

	if (!err) {
		now = et_store_of(r->header);
		pthread_mutex_lock(&h->e->lock);
		err = decide(h, &now);
		pthread_mutex_unlock(&h->e->lock);
	}
	if (r)
		etcd__range_response__free_unpacked(r, NULL);
	return err;
}
