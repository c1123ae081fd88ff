/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside the SQLite engine.
 *
 * One connection does everything. A thread uses it while it has the *turn*, which waits with the
 * handle's time-out and for store_interrupt(). The mutex guards the turn and what threads share in
 * memory, and is never held over I/O, so a disk that hangs stops no thread for longer than that.
 *
 * Table kv has each change, with the revisions between which it was true:
 *
 *	key a	[ 3 ... 7 )  value		ended = 7, as revision 7 put it again
 *	key a	[ 7 ...      value		ended = 0: now
 *	key b	[ 5 ... 9 )  value
 *	key b	[ 9 . 9 )    no value		revision 9 deleted it: for watches alone
 *
 * A read at a revision, a watch from a revision, and the current keys are one query each, and no
 * value is written twice. Compaction drops rows that ended at or below a revision.
 */
#ifndef STORE_SQ_H
#define STORE_SQ_H

#include <pthread.h>
#include <sqlite3.h>

#include "userspace/store/engine.h"
#include "userspace/store/sqlite.h"

#define SQ_APPLICATION	0x4d627374	/* "Mbst" */
#define SQ_FORMAT	1
#define SQ_FIRST	1		/* the revision of a store without any change; 0 is "now" */

enum sq_stmt {
	SQ_BEGIN,
	SQ_COMMIT,
	SQ_ROLLBACK,
	SQ_META,		/* -> made, term, revision, compacted */
	SQ_META_SET,		/* revision, compacted */
	SQ_COMPACT,		/* revision */
	SQ_NOW,			/* from, to, limit -> SQ_ROW columns */
	SQ_AT,			/* from, to, limit, revision -> SQ_ROW columns */
	SQ_KEY,			/* key -> SQ_ROW columns */
	SQ_SINCE,		/* from, to, limit, revision, row -> SQ_ROW columns */
	SQ_CHANGED,		/* revision -> key */
	SQ_MODIFIED,		/* key -> modified */
	SQ_BELOW,		/* from, to */
	SQ_OLD,			/* key -> row, created */
	SQ_ENDED,		/* row, revision */
	SQ_PUT,			/* key, modified, ended, created, lease, value */
	SQ_ON_LEASE,		/* lease -> row, key */
	SQ_LEASES,		/* -> id, seconds */
	SQ_LEASE_ADD,		/* id, seconds */
	SQ_LEASE_DEL,		/* id */
	SQ_STMTS,
};

/* Columns of a statement that reads keys. */
enum { SQ_ROW_ID, SQ_ROW_KEY, SQ_ROW_VALUE, SQ_ROW_CREATED, SQ_ROW_MODIFIED, SQ_ROW_LEASE };

struct sq_lease {
	u64	id;
	unsigned int seconds;
	u64	deadline_ms;
};

struct sq_watch {
	struct sq_watch *next;
	u64	id;
	bool	behind;		/* changes of @revision and later wait in kv */
	bool	lost;		/* STORE_RELIST is due */
	u64	revision;
	s64	row;		/* of @revision, up to this row all is delivered */
	char	prefix[STORE_KEY_MAX];
};

struct sq_handle {
	struct store base;
	struct store_sqlite *q;
	struct sq_handle *next;
	int	fd;			/* eventfd */
	u64	last_id;
	struct sq_watch *watches;	/* those that were served last are behind the others */
	/* The next events, of one watch; the thread of the handle alone uses them. */
	struct store_page batch;
	size_t	at;
	u64	batch_watch;
};

struct store_sqlite {
	pthread_mutex_t lock;
	pthread_cond_t turn_ended;
	pthread_cond_t lease_changed;
	bool	busy;			/* a thread has the turn */
	bool	closing;
	struct sq_handle *handles;
	struct sq_lease *leases;	/* changed by the thread that has the turn, under the lock */
	size_t	nr_leases;
	size_t	room_leases;
	pthread_t thread;
	pthread_mutex_t backup;
	u64	history;		/* atomic */

	/* Of the thread that has the turn. */
	sqlite3	*db;
	sqlite3_stmt *stmt[SQ_STMTS];
	int	bind;			/* first error of a value given to a statement */
	bool	doubt;			/* the log may hold a commit that was reported as an error */
	bool	damaged;
	u64	revision;
	u64	compacted;

	/* Constant after the start. */
	u64	made;			/* random, of this file; a backup has another one */
	u64	term;
	char	id[STORE_ID_MAX];
	int	lock_fd;
	char	*path;
};

static inline struct sq_handle *sq_handle(struct store *s)
{
	return (struct sq_handle *)s;
}

/* sq_turn.c */
int sq_turn(struct store_sqlite *q, struct store *s);
int sq_take(struct store_sqlite *q, struct store *s);	/* the turn alone: for what is begun already */
void sq_turn_end(struct store_sqlite *q);
int sq_begin(struct store_sqlite *q, struct store *s);
/* COMMIT, or with an error ROLLBACK. Return: @err, or the error of COMMIT. */
int sq_end(struct store_sqlite *q, struct store *s, int err);

/* sq_stmt.c */
int sq_prepare(struct store_sqlite *q, struct store *s);
void sq_finalize(struct store_sqlite *q);
void sq_num(struct store_sqlite *q, enum sq_stmt n, int at, u64 value);
void sq_text(struct store_sqlite *q, enum sq_stmt n, int at, const char *text);
void sq_bytes(struct store_sqlite *q, enum sq_stmt n, int at, const void *bytes, size_t len);
/* Return: 1: a row, the statement goes on; 0: its end; negative. It is reset but for 1. */
int sq_step(struct store_sqlite *q, struct store *s, enum sq_stmt n);
void sq_reset(struct store_sqlite *q, enum sq_stmt n);
u64 sq_column(struct store_sqlite *q, enum sq_stmt n, int at);
/* Bind one key, step once, reset. Return: as sq_step(). */
int sq_only(struct store_sqlite *q, struct store *s, enum sq_stmt n);
int sq_row_add(struct store_sqlite *q, struct store *s, enum sq_stmt n, struct store_page *p);
int sq_exec(sqlite3 *db, struct store *s, const char *sql);
/* Text of the first column of the first row. */
int sq_pragma(sqlite3 *db, struct store *s, const char *sql, char *out, size_t size);
int sq_fail(sqlite3 *db, struct store *s, int rc);

/* sq_file.c */
int sq_lock(struct store_sqlite *q, struct store *s);
int sq_open(struct store_sqlite *q, struct store *s);
int sq_user_version(u64 made, u64 term);

/* sq_path.c: names in folders. */
int sq_sync_file(const char *path);
int sq_sync_folder(const char *path);
int sq_create(const char *path);
/* Rename, unless there is something with the new name (-EEXIST). */
int sq_place(const char *from, const char *to);
int sq_random(u64 *out);	/* 1 to 2^63 - 1 */

/* sq_txn.c */
int sq_range(struct store *s, const struct store_span *span, struct store_page *out);
int sq_get(struct store *s, const char *key, struct store_page *out);
int sq_txn(struct store *s, const struct store_txn *t, u64 *revision);
/* Within a transaction that makes revision q->revision + 1. */
int sq_delete_row(struct store_sqlite *q, struct store *s, s64 row, const char *key, size_t len);
/* End a transaction, whose changes have the next revision if @changed. */
int sq_finish(struct store_sqlite *q, struct store *s, bool changed, int err);

/* sq_watch.c */
int sq_watch(struct store *s, const char *prefix, u64 after, u64 *id);
void sq_unwatch(struct store *s, u64 id);
int sq_next(struct store *s, unsigned int timeout_ms, struct store_event *e);
void sq_wake(struct sq_handle *h);
void sq_notify(struct store_sqlite *q);		/* of the changes of q->revision */

/* sq_lease.c */
int sq_lease_load(struct store_sqlite *q, struct store *s);
int sq_lease_start(struct store_sqlite *q);
void sq_lease_stop(struct store_sqlite *q);
bool sq_lease_there(struct store_sqlite *q, u64 id);	/* with the turn */
int sq_lease_grant(struct store *s, unsigned int seconds, u64 *lease);
int sq_lease_keep(struct store *s, u64 lease);
int sq_lease_revoke(struct store *s, u64 lease);

#endif
