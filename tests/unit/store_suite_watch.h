/* SPDX-License-Identifier: GPL-2.0-only */
/* Conformance: watches and interrupts. */
#ifndef TESTS_UNIT_STORE_SUITE_WATCH_H
#define TESTS_UNIT_STORE_SUITE_WATCH_H

#include "store_suite.h"

static bool readable(void)
{
	struct pollfd p = { .fd = store_fd(S), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void watch_order(void)
{
	struct store_event e;
	u64 id, first, r = 0;

	suite_begin();
	first = put("a/0", "before");
	id = watch("a/", first);
	IS(no_event(), "");
	put("a/1", "1");
	put("b/1", "no");
	put("a", "no");
	put("a/1", "2");
	del("a/1");
	put("a/2", "");
	IS(event_of(S, SOON, &r), "1 put a/1=1");
	CU_ASSERT_EQUAL(r, first + 1);
	IS(event_of(S, SOON, &r), "1 put a/1=2");
	CU_ASSERT_EQUAL(r, first + 4);
	CU_ASSERT_EQUAL(store_next(S, SOON, &e), 1);
	CU_ASSERT_EQUAL(e.kind, STORE_DELETED);
	CU_ASSERT_EQUAL(e.watch, id);
	IS(e.kv.key, "a/1");
	CU_ASSERT_EQUAL(e.kv.modified, first + 5);
	CU_ASSERT_EQUAL(store_next(S, SOON, &e), 1);
	CU_ASSERT_EQUAL(e.kind, STORE_PUT);
	CU_ASSERT_EQUAL(e.kv.len, 0);
	CU_ASSERT_EQUAL(e.kv.created, first + 6);
	IS(no_event(), "");
	/* deletes of what is not there, and compares alone, are no events */
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_del("a/9"))), NULL), 1);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("a/9")), NOTHING), NULL), 1);
	IS(no_event(), "");
	suite_end();
}

static void watch_one_txn(void)
{
	u64 r[3];

	suite_begin();
	put("a/2", "x");
	watch("a/", revision_of(S));
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a/1", "y"), op_del("a/2"), op_put("b", "z"),
						      op_put("a/3", "z"))), NULL), 1);
	put("a/1", "last");
	/* the order within a revision is the engine's */
	for (int i = 0; i < 3; i++)
		event_of(S, SOON, &r[i]);
	CU_ASSERT(r[0] == r[1] && r[1] == r[2] && r[0] == revision_of(S) - 1);
	IS(event(), "1 put a/1=last");
	IS(no_event(), "");
	suite_end();
}

static void watch_past(void)
{
	u64 first;

	suite_begin();
	first = put("a/1", "1");
	put("a/2", "1");
	put("b/1", "1");
	put("a/1", "2");
	del("a/2");
	watch("a/", first);
	IS(event(), "1 put a/2=1");
	IS(event(), "1 put a/1=2");
	IS(event(), "1 del a/2");
	put("a/3", "1");
	IS(event(), "1 put a/3=1");
	IS(no_event(), "");
	/* a handle of a later start, from a revision of an earlier one */
	suite_between(engine.restart);
	watch("a/", first + 2);
	IS(event(), "1 put a/1=2");
	IS(event(), "1 del a/2");
	IS(event(), "1 put a/3=1");
	IS(no_event(), "");
	suite_end();
}

/* More than any batch has, of which several are within one revision. */
static void watch_many(void)
{
	static char key[STORE_OPS_MAX][16];
	struct store_op op[STORE_OPS_MAX];
	struct store_txn t = { NULL, 0, op, STORE_OPS_MAX };
	unsigned int seen[STORE_OPS_MAX] = { 0 }, n, wrong = 0;
	u64 first, r, last = 0;
	struct store_event e;

	suite_begin();
	first = revision_of(S);
	for (int i = 0; i < STORE_OPS_MAX; i++) {
		snprintf(key[i], sizeof(key[i]), "m/%03d", i);
		op[i] = op_put(key[i], "x");
	}
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(store_txn(S, &t, &r), 1);
	watch("m/", first);
	for (n = 0; store_next(S, n < 4 * STORE_OPS_MAX ? SOON : NEVER, &e) == 1; n++) {
		wrong += e.kind != STORE_PUT || e.kv.modified < last;
		last = e.kv.modified;
		wrong += last != first + 1 + n / STORE_OPS_MAX;
		wrong += seen[atoi(e.kv.key + 2)]++ != n / STORE_OPS_MAX;
	}
	CU_ASSERT_EQUAL(n, 4 * STORE_OPS_MAX);
	CU_ASSERT_EQUAL(wrong, 0);
	suite_end();
}

static void watch_several(void)
{
	struct store *other;
	u64 a, b, all;
	int nr[4] = { 0 };
	struct store_event e;

	suite_begin();
	other = engine.handle();
	a = watch("a/", revision_of(S));
	b = watch("b/", revision_of(S));
	all = watch("", revision_of(S));
	CU_ASSERT(a != b && b != all && a != all);
	change(other, op_put("a/1", "1"));
	change(other, op_put("b/1", "1"));
	change(other, op_put("c/1", "1"));
	for (int i = 0; i < 5 && store_next(S, SOON, &e) == 1; i++)
		nr[nth_watch(e.watch)]++;
	CU_ASSERT(nr[1] == 1 && nr[2] == 1 && nr[3] == 3);
	IS(no_event(), "");
	/* the other handle has no watch */
	IS(event_of(other, NEVER, NULL), "");
	store_close(other);
	put("a/1", "after the other one");
	IS(event_of(S, SOON, NULL) + 2, "put a/1=after the other one");
	suite_end();
}

static void watch_unwatch(void)
{
	struct store_event e;
	bool past = false;
	u64 a, b, c, from;
	int seen = 0;

	suite_begin();
	from = put("a/0", "0");
	a = watch("a/", revision_of(S) - 1);
	b = watch("a/", revision_of(S));
	put("a/1", "1");
	put("a/2", "2");
	/* what the second watch reports may overtake the past of the first one */
	for (int i = 0; i < 3 && !past; i++) {
		CU_ASSERT_EQUAL_FATAL(store_next(S, SOON, &e), 1);
		past = e.watch == a;
		CU_ASSERT_EQUAL(e.kv.modified, past ? from : from + 1 + seen++);
	}
	CU_ASSERT(past);
	store_unwatch(S, a);
	for (; seen < 2; seen++)
		IS(event(), seen ? "2 put a/2=2" : "2 put a/1=1");
	IS(no_event(), "");
	store_unwatch(S, b);
	put("a/3", "3");
	IS(no_event(), "");
	c = watch("a/", revision_of(S));
	CU_ASSERT(c != a && c != b);
	store_unwatch(S, a);	/* again, and one that never was */
	store_unwatch(S, 77);
	put("a/4", "4");
	IS(event(), "3 put a/4=4");
	suite_end();
}

/* Changes without a gap, then perhaps RELIST: the values are numbers that rise by one. */
static bool gapless(unsigned int from, unsigned int to)
{
	struct store_event e;
	unsigned int n = from;
	char want[16];

	for (; n <= to && store_next(S, SOON, &e) == 1 && e.kind == STORE_PUT; n++) {
		snprintf(want, sizeof(want), "%u", n);
		CU_ASSERT(e.kv.len == strlen(want) && !memcmp(e.kv.value, want, e.kv.len));
	}
	if (n > to)
		return true;
	CU_ASSERT_EQUAL(e.kind, STORE_RELIST);
	return false;
}

static void count_up(struct store *s, unsigned int from, unsigned int to)
{
	char value[16];

	for (; from <= to; from++) {
		snprintf(value, sizeof(value), "%u", from);
		change(s, op_put("n/1", value));
	}
}

/* A handle that does not read while changes come and go. */
static void watch_overflow(void)
{
	struct store *other;
	u64 id, quiet;

	suite_begin();
	id = watch("n/", revision_of(S));
	quiet = watch("quiet/", revision_of(S));
	other = engine.handle();
	count_up(other, 1, 300);
	store_close(other);
	engine.compact();
	count_up(S, 301, 310);
	if (!gapless(1, 310)) {
		/* it has ended; one that missed nothing goes on */
		count_up(S, 311, 312);
		IS(no_event(), "");
		watch("n/", revision_of(S));
		count_up(S, 313, 313);
		IS(event() + 2, "put n/1=313");
	}
	put("quiet/1", "x");
	IS(event() + 2, "put quiet/1=x");
	CU_ASSERT(id != quiet);
	suite_end();
}

static void watch_compacted(void)
{
	u64 old;

	suite_begin();
	old = put("a/1", "1");
	put("a/1", "2");
	put("a/1", "3");
	suite_between(engine.compact);
	watch("a/", old);
	IS(event(), "1 relist");
	put("a/1", "4");
	IS(no_event(), "");
	watch("a/", revision_of(S) - 1);
	IS(event(), "2 put a/1=4");
	IS(no_event(), "");
	suite_end();
}

static void watch_put_back(void)
{
	u64 seen;

	suite_begin();
	put("a/1", "kept");
	suite_between(engine.keep);
	for (int i = 0; i < 40; i++)
		seen = put("a/1", "lost");
	suite_between(engine.put_back);
	CU_ASSERT(revision_of(S) < seen);
	IS(list("a/"), "a/1=kept ");
	IS(list_at("a/", NULL, 9, seen), "ESTALE");
	watch("a/", seen);
	IS(event(), "1 relist");
	watch("a/", revision_of(S));
	put("a/1", "new");
	IS(event(), "2 put a/1=new");
	IS(no_event(), "");
	suite_end();
}

static void watch_fd(void)
{
	struct pollfd p = { .events = POLLIN };

	suite_begin();
	watch("a/", revision_of(S));
	IS(no_event(), "");
	CU_ASSERT_FALSE(readable());
	put("a/1", "1");
	put("a/1", "2");
	p.fd = store_fd(S);
	CU_ASSERT_EQUAL(poll(&p, 1, SOON), 1);
	IS(event(), "1 put a/1=1");
	CU_ASSERT(readable());
	IS(event(), "1 put a/1=2");
	IS(event_of(S, 0, NULL), "");
	CU_ASSERT_FALSE(readable());
	watch("b/", revision_of(S) + 100);
	CU_ASSERT_EQUAL(poll(&p, 1, SOON), 1);
	IS(event(), "2 relist");
	suite_end();
}

static void *interrupt_soon(void *arg)
{
	sleep_for(50);
	store_interrupt(arg);
	return NULL;
}

static void *put_soon(void *arg)
{
	sleep_for(50);
	store_txn(arg, TXN(ALWAYS, OPS(op_put("a/1", "soon"))), NULL);
	return NULL;
}

static void watch_wait(void)
{
	struct store *other;
	pthread_t t;
	u64 from;

	suite_begin();
	other = engine.handle();
	watch("a/", revision_of(S));
	from = store_now_ms();
	IS(event_of(S, 100, NULL), "");
	CU_ASSERT(store_now_ms() - from >= 100);
	pthread_create(&t, NULL, put_soon, other);
	IS(event_of(S, 10000, NULL), "1 put a/1=soon");
	pthread_join(t, NULL);
	pthread_create(&t, NULL, interrupt_soon, S);
	IS(event_of(S, 10000, NULL), "ECANCELED");
	pthread_join(t, NULL);
	CU_ASSERT(store_now_ms() - from < 8000);
	IS(no_event(), "");
	/* between calls it is kept for the next wait, once */
	store_interrupt(S);
	store_interrupt(S);
	CU_ASSERT(readable());
	IS(event_of(S, 10000, NULL), "ECANCELED");
	put("a/1", "x");
	IS(event(), "1 put a/1=x");
	store_close(other);
	suite_end();
}

static void *count_thread(void *arg)
{
	struct store_op op = { .key = "n/1" };
	char value[16];

	for (int i = 1; i <= 200; i++) {
		op.len = snprintf(value, sizeof(value), "%d", i);
		op.value = value;
		if (store_txn(arg, TXN(ALWAYS, OPS(op)), NULL) != 1)
			break;
	}
	return NULL;
}

/* Watches that begin while changes are made have each of them once. */
static void watch_beside_changes(void)
{
	struct store *other;
	struct store_event e;
	pthread_t t;
	u64 from;
	unsigned int n[32] = { 0 }, wrong = 0;

	suite_begin();
	other = engine.handle();
	store_timeout(other, 30000);
	store_timeout(S, 30000);
	from = revision_of(S);
	pthread_create(&t, NULL, count_thread, other);
	for (int i = 1; i < 32; i++) {
		watch("n/", from);
		for (int k = 0; k < 3 && store_next(S, 1, &e) == 1; k++)
			wrong += e.kv.modified != from + ++n[nth_watch(e.watch)];
	}
	pthread_join(t, NULL);
	while (store_next(S, NEVER, &e) == 1)
		wrong += e.kv.modified != from + ++n[nth_watch(e.watch)];
	for (int i = 1; i < 32; i++)
		wrong += n[i] != 200;
	CU_ASSERT_EQUAL(wrong, 0);
	store_close(other);
	suite_end();
}

#define STORE_SUITE_WATCH						\
	{ "watch: order, prefix, kinds", watch_order },			\
	{ "watch: one transaction", watch_one_txn },			\
	{ "watch: from the past, over a restart", watch_past },		\
	{ "watch: more than a batch", watch_many },			\
	{ "watch: several, two handles", watch_several },		\
	{ "watch: unwatch", watch_unwatch },				\
	{ "watch: a handle that does not read", watch_overflow },	\
	{ "watch: from a compacted revision", watch_compacted },	\
	{ "watch: a store that was put back", watch_put_back },		\
	{ "watch: descriptor", watch_fd },				\
	{ "watch: wait and interrupt", watch_wait },			\
	{ "watch: begun beside changes", watch_beside_changes }

#endif
