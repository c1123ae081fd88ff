// SPDX-License-Identifier: GPL-2.0-only
/* Start and end of the SQLite engine, and its handles. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "userspace/store/sq.h"

#define HISTORY	10000

static int identity(struct store *s, struct store_identity *out)
{
	struct store_sqlite *q = sq_handle(s)->q;
	int err = sq_turn(q, s);

	if (err)
		return err;
	memcpy(out->id, q->id, sizeof(out->id));
	out->term = q->term;
	out->revision = q->revision;
	sq_turn_end(q);
	return 0;
}

static int fd(struct store *s)
{
	return sq_handle(s)->fd;
}

/* A wait is for the turn, or for an event. */
static void interrupt(struct store *s)
{
	struct sq_handle *h = sq_handle(s);

	sq_wake(h);
	pthread_mutex_lock(&h->q->lock);
	pthread_cond_broadcast(&h->q->turn_ended);
	pthread_mutex_unlock(&h->q->lock);
}

static void close_handle(struct store *s)
{
	struct sq_handle *h = sq_handle(s), **at;
	struct sq_watch *w, *next;

	pthread_mutex_lock(&h->q->lock);
	for (at = &h->q->handles; *at != h; at = &(*at)->next)
		;
	*at = h->next;
	pthread_mutex_unlock(&h->q->lock);
	for (w = h->watches; w; w = next) {
		next = w->next;
		free(w);
	}
	store_page_free(&h->batch);
	close(h->fd);
	free(h);
}

static const struct store_ops ops = {
	.range = sq_range,
	.get = sq_get,
	.txn = sq_txn,
	.watch = sq_watch,
	.unwatch = sq_unwatch,
	.next = sq_next,
	.fd = fd,
	.interrupt = interrupt,
	.lease_grant = sq_lease_grant,
	.lease_keep = sq_lease_keep,
	.lease_revoke = sq_lease_revoke,
	.identity = identity,
	.close = close_handle,
};

struct store *store_sqlite_handle(struct store_sqlite *q)
{
	struct sq_handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	store_begin(&h->base, &ops);
	h->q = q;
	h->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->fd < 0) {
		free(h);
		return NULL;
	}
	pthread_mutex_lock(&q->lock);
	h->next = q->handles;
	q->handles = h;
	pthread_mutex_unlock(&q->lock);
	return &h->base;
}

static void free_engine(struct store_sqlite *q)
{
	sq_finalize(q);
	sqlite3_close(q->db);
	/* Last: the next process may begin once it is closed. */
	if (q->lock_fd >= 0)
		close(q->lock_fd);
	pthread_cond_destroy(&q->turn_ended);
	pthread_cond_destroy(&q->lease_changed);
	pthread_mutex_destroy(&q->backup);
	pthread_mutex_destroy(&q->lock);
	free(q->leases);
	free(q->path);
	free(q);
}

static struct store_sqlite *new_engine(const char *path)
{
	struct store_sqlite *q = calloc(1, sizeof(*q));
	pthread_condattr_t clock;

	if (!q)
		return NULL;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&q->lock, NULL);
	pthread_mutex_init(&q->backup, NULL);
	pthread_cond_init(&q->turn_ended, &clock);
	pthread_cond_init(&q->lease_changed, &clock);
	pthread_condattr_destroy(&clock);
	q->lock_fd = -1;
	q->history = HISTORY;
	q->path = strdup(path);
	if (q->path)
		return q;
	free_engine(q);
	return NULL;
}

int store_sqlite_open(const char *path, struct store_sqlite **out, char *why, size_t size)
{
	struct store_sqlite *q = new_engine(path);
	struct store words;
	int err;

	store_begin(&words, NULL);
	store_timeout(&words, UINT_MAX);
	err = q ? sq_lock(q, &words) : store_fail(&words, -ENOMEM, "store: the host is out of memory");
	if (!err)
		err = sq_open(q, &words);
	if (!err)
		err = sq_lease_load(q, &words);
	if (!err) {
		err = sq_lease_start(q);
		if (err)
			store_fail(&words, err, "store: no thread can be made: %s", strerror(-err));
	}
	if (err && q)
		free_engine(q);
	snprintf(why, size, "%s", err ? store_why(&words) : "");
	*out = err ? NULL : q;
	return err;
}

void store_sqlite_close(struct store_sqlite *q)
{
	if (!q)
		return;
	sq_lease_stop(q);
	free_engine(q);
}

/* One revision at least: a watch that is not behind must find the change that wakes it. */
void store_sqlite_history(struct store_sqlite *q, u64 revisions)
{
	__atomic_store_n(&q->history, revisions ? revisions : 1, __ATOMIC_RELAXED);
}
