/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between store.c and the engines: one table of operations for each engine.
 *
 * An operation sees checked arguments: valid keys and prefixes, sizes and counts within the
 * limits, no key twice, a revision of STORE_SAME that is not 0. It calls store_fail() for each
 * error, and store_interrupted() where it waits.
 */
#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "userspace/store/store.h"

/* The first member of an engine's handle. */
struct store {
	const struct store_ops *ops;
	unsigned int timeout_ms;
	bool	interrupted;	/* atomic: set by any thread, cleared by store_interrupted() */
	char	why[384];
};

/* The arguments of store_range(). */
struct store_span {
	const char *prefix;
	const char *after;	/* NULL: begin with the first key */
	unsigned int limit;
	u64	at;		/* 0: now */
};

/* Each as the function of store.h that has its name. */
struct store_ops {
	int (*range)(struct store *s, const struct store_span *span, struct store_page *out);
	int (*get)(struct store *s, const char *key, struct store_page *out);
	int (*txn)(struct store *s, const struct store_txn *t, u64 *revision);
	int (*watch)(struct store *s, const char *prefix, u64 after, u64 *id);
	void (*unwatch)(struct store *s, u64 id);
	int (*next)(struct store *s, unsigned int timeout_ms, struct store_event *e);
	int (*fd)(struct store *s);
	void (*interrupt)(struct store *s);	/* wake a wait, which checks store_interrupted() */
	int (*lease_grant)(struct store *s, unsigned int seconds, u64 *lease);
	int (*lease_keep)(struct store *s, u64 lease);
	int (*lease_revoke)(struct store *s, u64 lease);
	int (*identity)(struct store *s, struct store_identity *out);
	void (*close)(struct store *s);
};

void store_begin(struct store *s, const struct store_ops *ops);
/* Keep the words for store_why(). Return: @err. */
__attribute__((format(printf, 3, 4)))
int store_fail(struct store *s, int err, const char *fmt, ...);
/* True once for each store_interrupt(), or for several before the call. */
bool store_interrupted(struct store *s);
/**
 * store_wait() - the wait of an engine's next(), after it found nothing
 * @fd: readable when there is something, and after store_interrupt()
 * @end: as store_now_ms()
 *
 * Return: 1: look again; 0: the time is over; -ECANCELED: interrupted, store_fail() has been called.
 */
int store_wait(struct store *s, int fd, u64 end);

/* Append a copy of @kv, whose key of @key_len bytes needs no end. -ENOMEM: nothing is appended. */
int store_page_add(struct store_page *p, const struct store_kv *kv, size_t key_len);

#endif
