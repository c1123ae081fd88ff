/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A copy of the cluster's objects, as far as this host follows them: listed once, then kept by
 * watches, decoded.
 *
 *   copy_follow("want/H/") --- store_range(), pages of one revision ---> items, in order of keys
 *                          '-- store_watch() behind that revision -----> changes, one after another
 *
 * The copy may be behind the store. That is safe where each transaction compares the revisions of
 * what was decided from (deal.h); what is decided without a transaction is read again from the
 * store first (copy_fresh()).
 *
 * One thread. Items live until the next call that changes the copy: copy_turn(), copy_fresh(),
 * copy_apply().
 */
#ifndef AGENT_COPY_H
#define AGENT_COPY_H

#include "userspace/format/objects.h"
#include "userspace/store/store.h"

struct copy;

struct copy_item {
	struct key key;
	u64	modified;	/* revision of the last change: what transactions compare */
	u64	lease;
	void	*obj;		/* structure of the key's kind; NULL: the value is refused */
	char	*why;		/* of a refused value; else NULL */
};

/* @s: stays the caller's, and serves the copy alone for watches. NULL: no memory. */
struct copy *copy_open(struct store *s);
void copy_close(struct copy *c);
struct store *copy_store(struct copy *c);

/**
 * copy_follow() - follow the keys of a kind
 * @k: kind, and the first @given segments; all of them: this key alone
 *
 * What is followed by two calls must not overlap: the changes of each key come by one watch.
 * Return: 0; -EINVAL; -ENOMEM; or as store_range(): then copy_turn() tries again.
 */
int copy_follow(struct copy *c, const struct key *k, unsigned int given);
/* No longer; its items go. */
void copy_leave(struct copy *c, const struct key *k, unsigned int given);

/**
 * copy_turn() - take what has changed
 * @timeout_ms: for the first change; 0: do not wait
 * @changed: called for each key that is another one now, or gone; may be NULL
 *
 * Return: number of changes; negative: as store_next(). The copy then keeps what it has.
 */
int copy_turn(struct copy *c, unsigned int timeout_ms,
	      void (*changed)(const struct key *k, void *arg), void *arg);

/*
 * The store is another one than the lists were read from: all are read again by copy_turn(). A watch alone
 * would go on in it, where its revision is high enough.
 */
void copy_again(struct copy *c);

/* True if each list that is followed was read, and its watch runs. */
bool copy_whole(const struct copy *c);
/* Highest revision that the copy has seen of the store as it is: it falls where that was put back. */
u64 copy_revision(const struct copy *c);

/* NULL: there is no such key. */
const struct copy_item *copy_get(const struct copy *c, const struct key *k);
/* The structure alone; NULL: no such key, or its value is refused. */
const void *copy_obj(const struct copy *c, const struct key *k);
/**
 * copy_next() - the keys of a kind, in their order
 * @k: kind, and the first @given segments
 * @after: NULL: the first one
 */
const struct copy_item *copy_next(const struct copy *c, const struct key *k, unsigned int given,
				  const struct copy_item *after);
/**
 * copy_keys() - keys of a kind as they are now, for a caller that changes the copy meanwhile
 * @n: becomes their number
 *
 * Return: malloc()ed; where memory is short, the first ones alone; NULL: none.
 */
struct key *copy_keys(const struct copy *c, const struct key *k, unsigned int given, size_t *n);

/* Read one key from the store now; 0, also where it is gone; or as store_get(). */
int copy_fresh(struct copy *c, const struct key *k);
/* What this host has just written at @revision, before a watch reports it; 0 or -ENOMEM. */
int copy_apply(struct copy *c, const struct store_op *op, u64 revision);

#endif
