/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cluster store: keys with values, in order, of which one engine keeps the truth.
 *
 *        agent, controller, meshctl's requests
 *                      |
 *                   store.h                      four verbs and an identity
 *        +-------------+--------------+
 *     sqlite.c      etcd.c         link.c        engines: one table of operations each
 *   (this host)   (endpoints)   (another host's meshd, which has one of the others)
 *
 * A key is text without control characters, in segments that '/' divides (key.h), 1 to
 * STORE_KEY_MAX - 1 bytes. A value is 0 to STORE_VALUE_MAX bytes, here opaque. Each transaction that changes
 * something has the next revision; a key knows the revision of its last change. Reads are
 * linearizable: what was acknowledged before a read began, by whichever host, is in it.
 *
 * A handle serves one thread, but for store_interrupt(); several handles of one engine are
 * independent. Every call ends within the handle's time-out.
 *
 * Errors of all calls, negative: -EINVAL (a key, a size, a key twice in a transaction),
 * -E2BIG (more than STORE_OPS_MAX or STORE_TXN_BYTES), -ETIMEDOUT, -EIO and -ECANCELED (the engine
 * or the way to it; store_interrupt(); of a transaction the outcome is unknown), -ENOSPC, -EROFS
 * (refused, nothing has changed), -EACCES (rights), -EUCLEAN (the engine's data is damaged: it
 * answers nothing any more), -ENOMEM. store_why() has the words.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <linux/types.h>
#include <stddef.h>

#define STORE_KEY_MAX	256		/* bytes with the end */
#define STORE_VALUE_MAX	(1U << 20)
#define STORE_OPS_MAX	128		/* compares; and puts and deletes together */
#define STORE_TXN_BYTES	(5U << 18)	/* keys and values of one transaction; etcd takes 1.5 MiB */
#define STORE_PAGE_MAX	1024		/* keys of one page */
#define STORE_ID_MAX	96

struct store;
struct store_engine;

/* A key as it was read. Strings and bytes live as long as what returned them. */
struct store_kv {
	const char *key;
	const void *value;
	size_t	len;
	u64	created;	/* revision of the put that made it */
	u64	modified;	/* ... of the last one: what transactions compare */
	u64	lease;		/* 0: none */
};

/* One answer of store_range(). */
struct store_page {
	struct store_kv *kv;
	size_t	nr;
	bool	more;		/* keys of the prefix follow the last one */
	u64	revision;	/* at which all of it was true */
	void	*memory;	/* the engine's */
};

/**
 * store_range() - the keys that begin with @prefix, in order of their bytes
 * @after: only those behind this key; NULL: all
 * @limit: 1 to STORE_PAGE_MAX; a page of large values may have fewer: @out->more counts
 * @at: the revision to read at (pages of one list), 0: now. -ESTALE: it is compacted, or above the
 *	store's, which was put back
 *
 * A prefix that is a whole key finds that key too: "drive/1" finds "drive/1" and "drive/10".
 */
int store_range(struct store *s, const char *prefix, const char *after, unsigned int limit, u64 at,
		struct store_page *out);
/* The key itself alone. -ENOENT: there is none; @out->revision is set then too. */
int store_get(struct store *s, const char *key, struct store_page *out);
void store_page_free(struct store_page *p);

enum store_compare_kind {
	STORE_SAME = 1,		/* the key's last change is of revision @modified, never 0 */
	STORE_ABSENT,		/* no such key */
	STORE_NONE_BELOW,	/* no key begins with this */
};

struct store_compare {
	enum store_compare_kind kind;
	const char *key;
	u64	modified;
};

struct store_op {
	const char *key;
	const void *value;	/* NULL: delete; a key that is not there is no error */
	size_t	len;		/* 0 if @value is NULL */
	u64	lease;		/* the key goes when this ends; 0: it stays. -ENOENT: no such lease */
};

struct store_txn {
	const struct store_compare *compare;
	size_t	compares;
	const struct store_op *op;
	size_t	ops;		/* 0: only whether the compares hold */
};

/**
 * store_txn() - if all compares hold, do all operations, else nothing
 * @revision: of the store afterwards; NULL: not needed
 *
 * A key is in @op once at most. Return: 1: done; 0: a compare did not hold; negative: see above.
 */
int store_txn(struct store *s, const struct store_txn *t, u64 *revision);

u64 store_now_ms(void);		/* CLOCK_MONOTONIC */

/**
 * store_txn_settle() - store_txn() until its outcome is known
 * @deadline_ms: as store_now_ms()
 *
 * For transactions that compare STORE_SAME or STORE_ABSENT of each key that they put, and whose
 * values no other transaction ever writes (an operation id is in them). One whose outcome is
 * unknown is sent again; when a compare then does not hold, a key that has our value says that
 * the first one was done, and @revision is its. Return: as store_txn(); -ETIMEDOUT: still unknown;
 * -ESTALE: it was not done, or others have changed all of its keys since, or a lease of it has
 * ended: read again and decide from that.
 */
int store_txn_settle(struct store *s, const struct store_txn *t, u64 deadline_ms, u64 *revision);

enum store_event_kind {
	STORE_PUT = 1,
	STORE_DELETED,
	STORE_RELIST,		/* changes were missed: the watch has ended; list and watch again */
};

struct store_event {
	enum store_event_kind kind;
	u64	watch;		/* as store_watch() returned it */
	struct store_kv kv;	/* of STORE_DELETED: key and modified (the revision) alone */
};

/**
 * store_watch() - report changes of keys that begin with @prefix
 * @after: the first change reported has a higher revision: that of the list that was read
 * @id: becomes the watch's, never 0, never used again by this handle
 *
 * Events of one watch come in the order of revisions, each once; those of several watches may
 * overtake each other. A store that is behind @after (it was put back) says STORE_RELIST.
 */
int store_watch(struct store *s, const char *prefix, u64 after, u64 *id);
/* No event of that watch comes any more. */
void store_unwatch(struct store *s, u64 id);
/**
 * store_next() - the next event of any watch
 * @timeout_ms: 0: do not wait; the wait is not bounded by the handle's time-out
 *
 * @e is good until the next call. An error says that the way to the engine is broken for now:
 * watches go on, without a gap, or with STORE_RELIST, when it is there again.
 * Return: 1: an event; 0: none in that time; negative.
 */
int store_next(struct store *s, unsigned int timeout_ms, struct store_event *e);
/* Readable when store_next() may have something; for poll(). */
int store_fd(struct store *s);
/*
 * End a wait in this handle's call with -ECANCELED; any thread. Between calls it is kept for the
 * next one that waits, and store_fd() is readable.
 */
void store_interrupt(struct store *s);

/**
 * Leases: keys that are there as long as their owner says so. A lease ends @seconds after it was
 * granted or kept last, not earlier; keys on it are deleted then, by a transaction. An engine
 * that starts again gives every lease its full time.
 */
int store_lease_grant(struct store *s, unsigned int seconds, u64 *lease);
/* -ENOENT: it has ended, and the keys that were on it are gone. */
int store_lease_keep(struct store *s, u64 lease);
int store_lease_revoke(struct store *s, u64 lease);

/*
 * Which store this is. One that was put back to a copy, or made again, has another @id, or a
 * lower @term or @revision than a host has seen: plan/setback.h decides.
 */
struct store_identity {
	char	id[STORE_ID_MAX];	/* etcd's cluster id; number, inode and birth of SQLite's file */
	u64	term;			/* etcd's raft term; SQLite: raised at each start */
	u64	revision;
};

int store_identity(struct store *s, struct store_identity *out);

/* Of the last call that failed: one sentence for the log, with what to do about it. */
const char *store_why(const struct store *s);
/* Milliseconds that one call may take; 3000 unless set. */
void store_timeout(struct store *s, unsigned int ms);
void store_close(struct store *s);

#endif
