// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watches of the SQLite engine. The history in the file is their queue: a commit marks each watch
 * that has one of its keys as behind and wakes the handle, whose thread then reads the changes in
 * batches. A watch that falls behind the compacted revision is lost; no memory grows meanwhile.
 *
 *	idle ---- a commit changes one of its keys ----> behind
 *	 ^                                                 |- a batch is read, more remains
 *	 +------------- all is read -----------------------+
 *	                                                   +- compacted ---> lost: STORE_RELIST, removed
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/store/key.h"
#include "userspace/store/sq.h"

#define BATCH_KEYS	64
#define BATCH_BYTES	(1U << 20)

void sq_wake(struct sq_handle *h)
{
	const u64 one = 1;

	/* It fails if the counter is full, which wakes as well. */
	if (write(h->fd, &one, sizeof(one)) < 0)
		return;
}

static void mark(struct sq_watch *w, u64 revision)
{
	if (w->behind || w->lost)
		return;
	w->behind = true;
	w->revision = revision;
	w->row = 0;
}

/* With @key NULL each watch is marked: one without changes reads no rows and is idle again. */
static void mark_all(struct store_sqlite *q, const char *key)
{
	struct sq_handle *h;
	struct sq_watch *w;

	pthread_mutex_lock(&q->lock);
	for (h = q->handles; h; h = h->next) {
		for (w = h->watches; w; w = w->next) {
			if (key && !store_key_begins(key, w->prefix))
				continue;
			mark(w, q->revision);
			sq_wake(h);
		}
	}
	pthread_mutex_unlock(&q->lock);
}

/* The commit is done. If its keys cannot be read each watch is marked, so that no event is lost. */
void sq_notify(struct store_sqlite *q)
{
	char key[STORE_KEY_MAX];
	struct store ignored;
	size_t len;
	int ret;

	store_begin(&ignored, NULL);
	sq_num(q, SQ_CHANGED, 1, q->revision);
	while ((ret = sq_step(q, &ignored, SQ_CHANGED)) == 1) {
		len = sqlite3_column_bytes(q->stmt[SQ_CHANGED], 0);
		if (len >= sizeof(key) || !sqlite3_column_blob(q->stmt[SQ_CHANGED], 0)) {
			sq_reset(q, SQ_CHANGED);
			ret = -ENOMEM;
			break;
		}
		memcpy(key, sqlite3_column_blob(q->stmt[SQ_CHANGED], 0), len);
		key[len] = 0;
		mark_all(q, key);
	}
	if (ret < 0)
		mark_all(q, NULL);
}

/* A revision above the store's is of a list that was read before the store was put back. */
static void begin(struct store_sqlite *q, struct sq_watch *w, u64 after)
{
	w->lost = after > q->revision;
	w->behind = !w->lost && after < q->revision;
	w->revision = after + 1;
}

int sq_watch(struct store *s, const char *prefix, u64 after, u64 *id)
{
	struct sq_handle *h = sq_handle(s);
	struct sq_watch *w = calloc(1, sizeof(*w)), **end;
	int err = w ? sq_turn(h->q, s) : store_fail(s, -ENOMEM, "store: the host is out of memory");

	if (err) {
		free(w);
		return err;
	}
	w->id = ++h->last_id;
	strcpy(w->prefix, prefix);
	begin(h->q, w, after);
	pthread_mutex_lock(&h->q->lock);
	for (end = &h->watches; *end; end = &(*end)->next)
		;
	*end = w;
	if (w->lost || w->behind)
		sq_wake(h);
	pthread_mutex_unlock(&h->q->lock);
	sq_turn_end(h->q);
	*id = w->id;
	return 0;
}

/* Out of the list; NULL: there is none. With the lock. */
static struct sq_watch *unlink_watch(struct sq_handle *h, u64 id)
{
	struct sq_watch **at, *w;

	for (at = &h->watches; *at && (*at)->id != id; at = &(*at)->next)
		;
	w = *at;
	if (w)
		*at = w->next;
	return w;
}

static void drop_batch(struct sq_handle *h)
{
	store_page_free(&h->batch);
	h->at = 0;
}

void sq_unwatch(struct store *s, u64 id)
{
	struct sq_handle *h = sq_handle(s);
	struct sq_watch *w;

	pthread_mutex_lock(&h->q->lock);
	w = unlink_watch(h, id);
	pthread_mutex_unlock(&h->q->lock);
	free(w);
	if (h->batch_watch == id)
		drop_batch(h);
}

/*
 * The next watch with something to do, moved behind the others so that a busy one holds up none;
 * without any the descriptor is no longer readable. A copy: commits change the watch meanwhile.
 */
static bool choose(struct sq_handle *h, struct sq_watch *out)
{
	struct sq_watch **at, *w;
	u64 count;

	pthread_mutex_lock(&h->q->lock);
	for (w = h->watches; w && !w->behind && !w->lost; w = w->next)
		;
	if (w) {
		unlink_watch(h, w->id);
		for (at = &h->watches; *at; at = &(*at)->next)
			;
		*at = w;
		w->next = NULL;
		*out = *w;
	} else if (read(h->fd, &count, sizeof(count)) < 0) {
		count = 0;	/* nothing was to be read */
	}
	pthread_mutex_unlock(&h->q->lock);
	return w;
}

/* Return: 1: rows are left; 0: all is read; negative. */
static int read_batch(struct store_sqlite *q, struct store *s, struct sq_watch *w, struct store_page *p)
{
	char end[STORE_KEY_MAX];
	size_t bytes = 0;
	int ret;

	store_prefix_end(w->prefix, end);
	sq_text(q, SQ_SINCE, 1, w->prefix);
	sq_text(q, SQ_SINCE, 2, end);
	sq_num(q, SQ_SINCE, 3, BATCH_KEYS + 1);
	sq_num(q, SQ_SINCE, 4, w->revision);
	sq_num(q, SQ_SINCE, 5, w->row);
	while ((ret = sq_step(q, s, SQ_SINCE)) == 1 && p->nr < BATCH_KEYS && bytes < BATCH_BYTES) {
		ret = sq_row_add(q, s, SQ_SINCE, p);
		if (ret)
			break;
		bytes += p->kv[p->nr - 1].len;
		w->revision = p->kv[p->nr - 1].modified;
		w->row = sq_column(q, SQ_SINCE, SQ_ROW_ID);
	}
	sq_reset(q, SQ_SINCE);
	return ret;
}

/* Store the progress of a watch. The caller has the turn, so nothing is committed meanwhile. */
static void advance(struct sq_handle *h, const struct sq_watch *now)
{
	struct sq_watch *w;

	pthread_mutex_lock(&h->q->lock);
	for (w = h->watches; w && w->id != now->id; w = w->next)
		;
	if (w) {
		w->behind = now->behind;
		w->lost = now->lost;
		w->revision = now->revision;
		w->row = now->row;
	}
	pthread_mutex_unlock(&h->q->lock);
}

static int fill(struct sq_handle *h, struct sq_watch *w)
{
	struct store_sqlite *q = h->q;
	int ret = sq_turn(q, &h->base);

	if (ret)
		return ret;
	if (w->revision <= q->compacted) {
		w->lost = true;
		w->behind = false;
	} else {
		ret = read_batch(q, &h->base, w, &h->batch);
		w->behind = ret != 0;
	}
	if (ret < 0)
		drop_batch(h);
	else
		advance(h, w);
	h->batch_watch = w->id;
	sq_turn_end(q);
	return ret < 0 ? ret : 0;
}

static bool deliver(struct sq_handle *h, struct store_event *e)
{
	if (h->at == h->batch.nr) {
		drop_batch(h);
		return false;
	}
	e->kv = h->batch.kv[h->at++];
	e->kind = e->kv.value ? STORE_PUT : STORE_DELETED;
	e->watch = h->batch_watch;
	return true;
}

static void relist(struct sq_handle *h, u64 id, struct store_event *e)
{
	sq_unwatch(&h->base, id);
	e->kind = STORE_RELIST;
	e->watch = id;
}

int sq_next(struct store *s, unsigned int timeout_ms, struct store_event *e)
{
	const u64 end = store_now_ms() + timeout_ms;
	struct sq_handle *h = sq_handle(s);
	struct sq_watch w;
	int err;

	for (;;) {
		if (store_interrupted(s))
			return store_fail(s, -ECANCELED, "store: interrupted");
		if (deliver(h, e))
			return 1;
		if (choose(h, &w)) {
			if (w.lost)
				return relist(h, w.id, e), 1;
			err = fill(h, &w);
			if (err)
				return err;
			continue;
		}
		err = store_wait(s, h->fd, end);
		if (err != 1)
			return err;
	}
}
