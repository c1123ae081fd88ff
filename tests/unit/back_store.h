/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A handle of a store that is put back under those who follow it, as a link is to them whose store
 * host starts again with an older file: all watches are lost, and revisions are lower.
 *
 *   back_begin() .. back_turn(handle of the older store) .. store_close()
 */
#ifndef TESTS_UNIT_BACK_STORE_H
#define TESTS_UNIT_BACK_STORE_H

#include <stdlib.h>
#include <string.h>

#include "userspace/store/engine.h"

#define BACK_WATCHES	16

struct back_store {
	struct store s;
	struct store *now;
	u64	shift;			/* of this store's watches: numbers are not used again */
	u64	watch[BACK_WATCHES], lost[BACK_WATCHES];
	bool	rests;			/* one lost watch at a time is reported */
};

static inline struct back_store *back_of(struct store *s)
{
	return (struct back_store *)s;
}

static inline int back_range(struct store *s, const struct store_span *p, struct store_page *out)
{
	return store_range(back_of(s)->now, p->prefix, p->after, p->limit, p->at, out);
}

static inline int back_get(struct store *s, const char *key, struct store_page *out)
{
	return store_get(back_of(s)->now, key, out);
}

static inline int back_txn(struct store *s, const struct store_txn *t, u64 *revision)
{
	return store_txn(back_of(s)->now, t, revision);
}

static inline int back_watch(struct store *s, const char *prefix, u64 after, u64 *id)
{
	struct back_store *b = back_of(s);
	int err = store_watch(b->now, prefix, after, id);

	*id += b->shift;
	for (int i = 0; !err && i < BACK_WATCHES; i++) {
		if (b->watch[i])
			continue;
		b->watch[i] = *id;
		break;
	}
	return err;
}

static inline bool back_take(u64 *list, u64 id)
{
	for (int i = 0; i < BACK_WATCHES; i++) {
		if (id && list[i] == id) {
			list[i] = 0;
			return true;
		}
	}
	return false;
}

static inline void back_unwatch(struct store *s, u64 id)
{
	struct back_store *b = back_of(s);

	if (back_take(b->watch, id))
		store_unwatch(b->now, id - b->shift);
	back_take(b->lost, id);
}

static inline int back_next(struct store *s, unsigned int timeout_ms, struct store_event *e)
{
	struct back_store *b = back_of(s);
	int ret;

	for (int i = 0; i < BACK_WATCHES; i++) {
		if (!b->lost[i])
			continue;
		b->rests = !b->rests;
		if (!b->rests)
			return 0;
		memset(e, 0, sizeof(*e));
		e->watch = b->lost[i];
		e->kind = STORE_RELIST;
		b->lost[i] = 0;
		return 1;
	}
	ret = store_next(b->now, timeout_ms, e);
	if (ret > 0)
		e->watch += b->shift;
	return ret;
}

static inline int back_fd(struct store *s)
{
	return store_fd(back_of(s)->now);
}

static inline void back_interrupt(struct store *s)
{
	store_interrupt(back_of(s)->now);
}

static inline int back_grant(struct store *s, unsigned int seconds, u64 *lease)
{
	return store_lease_grant(back_of(s)->now, seconds, lease);
}

static inline int back_keep(struct store *s, u64 lease)
{
	return store_lease_keep(back_of(s)->now, lease);
}

static inline int back_revoke(struct store *s, u64 lease)
{
	return store_lease_revoke(back_of(s)->now, lease);
}

static inline int back_identity(struct store *s, struct store_identity *out)
{
	return store_identity(back_of(s)->now, out);
}

static inline void back_close(struct store *s)
{
	store_close(back_of(s)->now);
	free(s);
}

static const struct store_ops back_ops = {
	.range = back_range, .get = back_get, .txn = back_txn, .watch = back_watch, .unwatch = back_unwatch,
	.next = back_next, .fd = back_fd, .interrupt = back_interrupt, .lease_grant = back_grant,
	.lease_keep = back_keep, .lease_revoke = back_revoke, .identity = back_identity, .close = back_close,
};

/* @now: taken over. */
static inline struct store *back_begin(struct store *now)
{
	struct back_store *b = calloc(1, sizeof(*b));

	store_begin(&b->s, &back_ops);
	b->now = now;
	return &b->s;
}

static inline void back_turn(struct store *s, struct store *now)
{
	struct back_store *b = back_of(s);

	for (int i = 0; i < BACK_WATCHES; i++) {
		b->lost[i] = b->watch[i];
		b->watch[i] = 0;
	}
	store_close(b->now);
	b->now = now;
	b->shift += 1000000;
}

#endif
