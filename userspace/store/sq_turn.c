// SPDX-License-Identifier: GPL-2.0-only
/*
 * The turn: the one connection for one thread at a time, and the transactions of SQLite.
 *
 * A COMMIT that fails may have left a whole commit in the log, which a later start would carry
 * out. The transaction is reported as unknown, and the next thread that gets the turn first folds
 * the log into the file and cuts it off: what the transaction did is gone for good, before any
 * read could say so. Until that succeeds every call fails.
 */
#include <errno.h>
#include <limits.h>
#include <time.h>

#include "userspace/store/sq.h"

/* Return: true once the mutex is held and the turn is free. */
static int wait_free(struct store_sqlite *q, struct store *s)
{
	const u64 end = store_now_ms() + s->timeout_ms;
	const struct timespec until = { end / 1000, end % 1000 * 1000000 };

	while (q->busy) {
		if (store_interrupted(s))
			return store_fail(s, -ECANCELED, "store: interrupted, nothing was done");
		if (s->timeout_ms == UINT_MAX)
			pthread_cond_wait(&q->turn_ended, &q->lock);
		else if (pthread_cond_timedwait(&q->turn_ended, &q->lock, &until) == ETIMEDOUT && q->busy)
			return store_fail(s, -ETIMEDOUT, "store: another thread waits for the disk since"
					  " %u ms: check the disk of the store's file", s->timeout_ms);
	}
	q->busy = true;
	return 0;
}

/* The log is cut off by a sync too: a power failure must not bring the commit back. */
static int fold_log(struct store_sqlite *q, struct store *s)
{
	sqlite3_file *log = NULL;
	int rc = sqlite3_wal_checkpoint_v2(q->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(q->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (rc == SQLITE_OK && log && log->pMethods)
		rc = log->pMethods->xSync(log, SQLITE_SYNC_FULL);
	return rc == SQLITE_OK ? 0 : sq_fail(q->db, s, rc);
}

static int certain(struct store_sqlite *q, struct store *s)
{
	int err = 0;

	if (q->damaged)
		return store_fail(s, -EUCLEAN, "store: %s is damaged, nothing is read or written any more:"
				  " stop meshd and put a backup back", q->path);
	if (!sqlite3_get_autocommit(q->db))
		err = sq_step(q, s, SQ_ROLLBACK);
	if (!err && q->doubt)
		err = fold_log(q, s);
	if (!err)
		q->doubt = false;
	return err == -EUCLEAN ? err : err ? -EIO : 0;
}

int sq_take(struct store_sqlite *q, struct store *s)
{
	int err;

	pthread_mutex_lock(&q->lock);
	err = wait_free(q, s);
	pthread_mutex_unlock(&q->lock);
	return err;
}

int sq_turn(struct store_sqlite *q, struct store *s)
{
	int err = sq_take(q, s);

	if (err)
		return err;
	err = certain(q, s);
	if (err)
		sq_turn_end(q);
	return err;
}

/* All waiting threads are woken: one of them may be interrupted and leave the turn to others. */
void sq_turn_end(struct store_sqlite *q)
{
	pthread_mutex_lock(&q->lock);
	q->busy = false;
	pthread_cond_broadcast(&q->turn_ended);
	pthread_mutex_unlock(&q->lock);
}

int sq_begin(struct store_sqlite *q, struct store *s)
{
	return sq_step(q, s, SQ_BEGIN);
}

/* A disk that is full, or not writable, refuses before the log has a whole commit. */
static int commit(struct store_sqlite *q, struct store *s)
{
	int err = sq_step(q, s, SQ_COMMIT);

	if (!err || err == -ENOSPC || err == -EROFS)
		return err;
	q->doubt = true;
	return err == -EUCLEAN ? err : -EIO;
}

int sq_end(struct store_sqlite *q, struct store *s, int err)
{
	struct store ignored;

	if (!err)
		err = commit(q, s);
	/* Some errors end a transaction by themselves. */
	if (err && !sqlite3_get_autocommit(q->db)) {
		store_begin(&ignored, NULL);
		sq_step(q, &ignored, SQ_ROLLBACK);
	}
	return err;
}
