// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases of the SQLite engine: in the file which there are, in memory when each ends.
 *
 * The clock is CLOCK_MONOTONIC: it stands still while the machine is suspended, when no owner
 * could have kept its lease here. A thread of the engine ends leases; each end is a transaction.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/store/sq.h"

#define RETRY_MS	1000	/* after an end that failed, on a full disk say */

static struct sq_lease *find(struct store_sqlite *q, u64 id)
{
	for (size_t i = 0; i < q->nr_leases; i++)
		if (q->leases[i].id == id)
			return &q->leases[i];
	return NULL;
}

bool sq_lease_there(struct store_sqlite *q, u64 id)
{
	return find(q, id);
}

/* The clock is cut to milliseconds: one more, and no lease ends early. */
static u64 deadline(unsigned int seconds)
{
	return store_now_ms() + seconds * 1000ULL + 1;
}

/* With the turn. The thread of leases reads the list under the lock alone. */
static int reserve(struct store_sqlite *q)
{
	size_t room = q->room_leases ? 2 * q->room_leases : 16;
	struct sq_lease *more;

	if (q->nr_leases < q->room_leases)
		return 0;
	pthread_mutex_lock(&q->lock);
	more = realloc(q->leases, room * sizeof(*more));
	if (more) {
		q->leases = more;
		q->room_leases = room;
	}
	pthread_mutex_unlock(&q->lock);
	return more ? 0 : -ENOMEM;
}

static void add(struct store_sqlite *q, u64 id, unsigned int seconds)
{
	pthread_mutex_lock(&q->lock);
	q->leases[q->nr_leases++] = (struct sq_lease) { id, seconds, deadline(seconds) };
	pthread_cond_signal(&q->lease_changed);
	pthread_mutex_unlock(&q->lock);
}

static void forget(struct store_sqlite *q, u64 id)
{
	struct sq_lease *l;

	pthread_mutex_lock(&q->lock);
	l = find(q, id);
	*l = q->leases[--q->nr_leases];
	pthread_mutex_unlock(&q->lock);
}

int sq_lease_load(struct store_sqlite *q, struct store *s)
{
	int ret;

	while ((ret = sq_step(q, s, SQ_LEASES)) == 1) {
		ret = reserve(q);
		if (ret) {
			sq_reset(q, SQ_LEASES);
			return store_fail(s, ret, "store: the host is out of memory");
		}
		add(q, sq_column(q, SQ_LEASES, 0), sq_column(q, SQ_LEASES, 1));
	}
	return ret;
}

/* Delete one key of the lease. Return: 1: done; 0: none is left; negative. */
static int delete_one(struct store_sqlite *q, struct store *s, u64 id)
{
	char key[STORE_KEY_MAX];
	size_t len;
	s64 row;
	int ret;

	sq_num(q, SQ_ON_LEASE, 1, id);
	ret = sq_step(q, s, SQ_ON_LEASE);
	if (ret != 1)
		return ret;
	row = sq_column(q, SQ_ON_LEASE, 0);
	len = sqlite3_column_bytes(q->stmt[SQ_ON_LEASE], 1);
	ret = len < sizeof(key) && sqlite3_column_blob(q->stmt[SQ_ON_LEASE], 1) ? 0 : -ENOMEM;
	if (!ret)
		memcpy(key, sqlite3_column_blob(q->stmt[SQ_ON_LEASE], 1), len);
	sq_reset(q, SQ_ON_LEASE);
	if (ret)
		return store_fail(s, ret, "store: the host is out of memory");
	ret = sq_delete_row(q, s, row, key, len);
	return ret ? ret : 1;
}

/* With the turn: one transaction, after which neither the lease nor a key on it is there. */
static int end_lease(struct store_sqlite *q, struct store *s, u64 id)
{
	bool changed = false;
	int ret, err = sq_begin(q, s);

	if (err)
		return err;
	while ((ret = delete_one(q, s, id)) == 1)
		changed = true;
	if (!ret) {
		sq_num(q, SQ_LEASE_DEL, 1, id);
		ret = sq_step(q, s, SQ_LEASE_DEL);
	}
	err = sq_finish(q, s, changed, ret);
	if (!err)
		forget(q, id);
	return err;
}

static int no_lease(struct store *s)
{
	return store_fail(s, -ENOENT, "store: the lease has ended");
}

int sq_lease_grant(struct store *s, unsigned int seconds, u64 *lease)
{
	struct store_sqlite *q = sq_handle(s)->q;
	u64 id;
	int err = sq_random(&id);

	if (err)
		return store_fail(s, err, "store: the host gives no random numbers");
	err = sq_turn(q, s);
	if (err)
		return err;
	if (reserve(q) < 0) {
		sq_turn_end(q);
		return store_fail(s, -ENOMEM, "store: the host is out of memory");
	}
	err = sq_begin(q, s);
	if (!err) {
		sq_num(q, SQ_LEASE_ADD, 1, id);
		sq_num(q, SQ_LEASE_ADD, 2, seconds);
		err = sq_finish(q, s, false, sq_step(q, s, SQ_LEASE_ADD));
	}
	if (!err) {
		add(q, id, seconds);
		*lease = id;
	}
	sq_turn_end(q);
	return err;
}

/* In memory alone: a start gives the full time anyway. */
int sq_lease_keep(struct store *s, u64 lease)
{
	struct store_sqlite *q = sq_handle(s)->q;
	struct sq_lease *l;
	int err = sq_turn(q, s);

	if (err)
		return err;
	pthread_mutex_lock(&q->lock);
	l = find(q, lease);
	if (l)
		l->deadline_ms = deadline(l->seconds);
	pthread_mutex_unlock(&q->lock);
	sq_turn_end(q);
	return l ? 0 : no_lease(s);
}

int sq_lease_revoke(struct store *s, u64 lease)
{
	struct store_sqlite *q = sq_handle(s)->q;
	int err = sq_turn(q, s);

	if (err)
		return err;
	err = sq_lease_there(q, lease) ? end_lease(q, s, lease) : no_lease(s);
	sq_turn_end(q);
	return err;
}

/* Its owner may have kept the lease while this thread waited for the turn. */
static int end_due(struct store_sqlite *q, u64 id)
{
	struct sq_lease *l;
	struct store words;
	int err;

	store_begin(&words, NULL);
	store_timeout(&words, UINT_MAX);
	err = sq_turn(q, &words);
	if (err)
		return err;
	l = find(q, id);
	if (l && l->deadline_ms <= store_now_ms())
		err = end_lease(q, &words, id);
	sq_turn_end(q);
	return err;
}

static void wait_until(struct store_sqlite *q, u64 ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	pthread_cond_timedwait(&q->lease_changed, &q->lock, &t);
}

static struct sq_lease *first_to_end(struct store_sqlite *q)
{
	struct sq_lease *first = q->leases;

	for (size_t i = 1; i < q->nr_leases; i++)
		if (q->leases[i].deadline_ms < first->deadline_ms)
			first = &q->leases[i];
	return q->nr_leases ? first : NULL;
}

static void *run(void *arg)
{
	struct store_sqlite *q = arg;
	struct sq_lease *l;
	u64 id, retry;
	int err;

	pthread_mutex_lock(&q->lock);
	while (!q->closing) {
		l = first_to_end(q);
		if (!l) {
			pthread_cond_wait(&q->lease_changed, &q->lock);
		} else if (l->deadline_ms > store_now_ms()) {
			wait_until(q, l->deadline_ms);
		} else {
			id = l->id;
			pthread_mutex_unlock(&q->lock);
			err = end_due(q, id);
			retry = store_now_ms() + RETRY_MS;
			pthread_mutex_lock(&q->lock);
			while (err && !q->closing && store_now_ms() < retry)
				wait_until(q, retry);
		}
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* Signals are for the threads of the program. */
int sq_lease_start(struct store_sqlite *q)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&q->thread, NULL, run, q);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

void sq_lease_stop(struct store_sqlite *q)
{
	pthread_mutex_lock(&q->lock);
	q->closing = true;
	pthread_cond_signal(&q->lease_changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
}
