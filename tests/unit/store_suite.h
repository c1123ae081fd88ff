/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The conformance suite of the cluster store, the same for each engine: a test program defines
 * `engine` and lists STORE_SUITE. What an engine may do in several ways is accepted in all of them.
 *
 *	store_suite.h		the engine under test, and short names
 *	store_suite_keys.h	reads, compares, transactions, limits
 *	store_suite_watch.h	watches and interrupts
 *	store_suite_lease.h	leases
 *	store_suite_settle.h	transactions whose answer is lost
 *	store_suite_state.h	several handles, restarts, copies that are put back, a full disk
 */
#ifndef TESTS_UNIT_STORE_SUITE_H
#define TESTS_UNIT_STORE_SUITE_H

#include <errno.h>
#include <linux/kernel.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/store/engine.h"
#include "userspace/store/key.h"
#include "suite.h"

struct suite_engine {
	void (*fresh)(void);		/* begin with an empty store */
	void (*end)(void);
	struct store *(*handle)(void);
	/* All handles are closed for these three. */
	void (*restart)(void);
	void (*keep)(void);		/* make a copy ... */
	void (*put_back)(void);		/* ... and begin again with it */
	void (*compact)(void);		/* drop each revision below that of now; may make changes */
	void (*full)(bool on);		/* NULL: cannot be tried */
};

static const struct suite_engine engine;

static struct store *S;
/* Watches of S in the order in which they began: numbers of an engine differ. */
static u64 watch_id[40];
static unsigned int watches;

static inline void suite_handle(void)
{
	watches = 0;
	S = engine.handle();
	CU_ASSERT_PTR_NOT_NULL_FATAL(S);
}

static inline void suite_begin(void)
{
	engine.fresh();
	suite_handle();
}

static inline void suite_end(void)
{
	store_close(S);
	S = NULL;
	engine.end();
}

/* The store with something done to it between two handles. */
static inline void suite_between(void (*fn)(void))
{
	store_close(S);
	fn();
	suite_handle();
}

static inline struct store_compare same(const char *key, u64 modified)
{
	return (struct store_compare) { STORE_SAME, key, modified };
}

static inline struct store_compare absent(const char *key)
{
	return (struct store_compare) { STORE_ABSENT, key, 0 };
}

static inline struct store_compare none_below(const char *prefix)
{
	return (struct store_compare) { STORE_NONE_BELOW, prefix, 0 };
}

static inline struct store_op op_put(const char *key, const char *value)
{
	return (struct store_op) { key, value, strlen(value), 0 };
}

static inline struct store_op op_del(const char *key)
{
	return (struct store_op) { .key = key };
}

static inline struct store_op op_lease(const char *key, const char *value, u64 lease)
{
	return (struct store_op) { key, value, strlen(value), lease };
}

#define COMPARES(...) (struct store_compare[]) { __VA_ARGS__ },	\
	sizeof((struct store_compare[]) { __VA_ARGS__ }) / sizeof(struct store_compare)
#define OPS(...) (struct store_op[]) { __VA_ARGS__ },		\
	sizeof((struct store_op[]) { __VA_ARGS__ }) / sizeof(struct store_op)
#define TXN(compares, ops) (&(struct store_txn) { compares, ops })
#define ALWAYS NULL, 0
#define NOTHING NULL, 0

/* Changes that must be done; the revision. */
static inline u64 change(struct store *s, struct store_op op)
{
	u64 revision = 0;

	CU_ASSERT_EQUAL(store_txn(s, TXN(ALWAYS, OPS(op)), &revision), 1);
	return revision;
}

static inline u64 put(const char *key, const char *value)
{
	return change(S, op_put(key, value));
}

static inline u64 del(const char *key)
{
	return change(S, op_del(key));
}

static inline u64 revision_of(struct store *s)
{
	struct store_identity i;

	CU_ASSERT_EQUAL(store_identity(s, &i), 0);
	return i.revision;
}

/* "key=value key=value ", with a "+" at the end if more follow. */
static inline const char *list_at(const char *prefix, const char *after, unsigned int limit, u64 at)
{
	static char text[4096];
	struct store_page p;
	size_t n = 0;
	int err = store_range(S, prefix, after, limit, at, &p);

	text[0] = 0;
	if (err)
		snprintf(text, sizeof(text), "%s", strerrorname_np(-err));
	for (size_t i = 0; !err && i < p.nr; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s=%.*s ", p.kv[i].key, (int)p.kv[i].len,
			      (const char *)p.kv[i].value);
	if (!err && p.more)
		snprintf(text + n, sizeof(text) - n, "+");
	store_page_free(&p);
	return text;
}

static inline const char *list(const char *prefix)
{
	return list_at(prefix, NULL, STORE_PAGE_MAX, 0);
}

/* The value, or the error's name. */
static inline const char *get(const char *key)
{
	static char text[256];
	struct store_page p;
	int err = store_get(S, key, &p);

	snprintf(text, sizeof(text), "%.*s", err ? 64 : (int)p.kv->len,
		 err ? strerrorname_np(-err) : (const char *)p.kv->value);
	store_page_free(&p);
	return text;
}

static inline u64 modified_of(const char *key)
{
	struct store_page p;
	u64 modified = 0;

	if (!store_get(S, key, &p))
		modified = p.kv->modified;
	store_page_free(&p);
	return modified;
}

/* 1: the first one; 0: unknown. */
static inline unsigned int nth_watch(u64 id)
{
	for (unsigned int i = 0; i < watches; i++)
		if (watch_id[i] == id)
			return i + 1;
	return 0;
}

/* The next event as "WATCH put key=value", "WATCH del key", "WATCH relist", "" or an error. */
static inline const char *event_of(struct store *s, unsigned int ms, u64 *revision)
{
	static char text[512];
	struct store_event e;
	int ret = store_next(s, ms, &e);

	if (ret <= 0)
		snprintf(text, sizeof(text), "%s", ret ? strerrorname_np(-ret) : "");
	else if (e.kind == STORE_RELIST)
		snprintf(text, sizeof(text), "%u relist", nth_watch(e.watch));
	else if (e.kind == STORE_DELETED)
		snprintf(text, sizeof(text), "%u del %s", nth_watch(e.watch), e.kv.key);
	else
		snprintf(text, sizeof(text), "%u put %s=%.*s", nth_watch(e.watch), e.kv.key,
			 (int)e.kv.len, (const char *)e.kv.value);
	if (revision)
		*revision = ret > 0 ? e.kv.modified : 0;
	return text;
}

#define SOON	2000	/* milliseconds in which an event comes */
#ifndef NEVER			/* an engine may need longer */
#define NEVER	60	/* ... in which one would have come */
#endif

static inline const char *event(void)
{
	return event_of(S, SOON, NULL);
}

static inline const char *no_event(void)
{
	return event_of(S, NEVER, NULL);
}

static inline u64 watch(const char *prefix, u64 after)
{
	u64 id = 0;

	CU_ASSERT_EQUAL(store_watch(S, prefix, after, &id), 0);
	CU_ASSERT_NOT_EQUAL(id, 0);
	CU_ASSERT_EQUAL(nth_watch(id), 0);
	CU_ASSERT_FATAL(watches < ARRAY_SIZE(watch_id));
	watch_id[watches++] = id;
	return id;
}

static inline void sleep_for(unsigned int ms)
{
	usleep(ms * 1000);
}

#define IS(text, want) CU_ASSERT_STRING_EQUAL(text, want)

#endif
