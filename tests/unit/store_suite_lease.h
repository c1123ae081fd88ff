/* SPDX-License-Identifier: GPL-2.0-only */
/* Conformance: leases. Seconds are real ones, so each test has as few as it needs. */
#ifndef TESTS_UNIT_STORE_SUITE_LEASE_H
#define TESTS_UNIT_STORE_SUITE_LEASE_H

#include "store_suite.h"

#define LATE	4000	/* milliseconds by which the end of a lease may be late */

static u64 grant(unsigned int seconds)
{
	u64 lease = 0;

	CU_ASSERT_EQUAL(store_lease_grant(S, seconds, &lease), 0);
	CU_ASSERT_NOT_EQUAL(lease, 0);
	return lease;
}

static void lease_end(void)
{
	u64 lease, from, was, r[2];

	suite_begin();
	put("alive/3", "stays");
	from = store_now_ms();
	lease = grant(1);
	was = revision_of(S);
	change(S, op_lease("alive/1", "x", lease));
	change(S, op_lease("alive/2", "x", lease));
	CU_ASSERT_EQUAL(revision_of(S), was + 2);
	watch("alive/", revision_of(S));
	IS(event_of(S, 1000 + LATE, &r[0]) + 1, " del alive/1");
	CU_ASSERT(store_now_ms() - from >= 1000);
	IS(event_of(S, SOON, &r[1]) + 1, " del alive/2");
	/* one transaction */
	CU_ASSERT(r[0] == r[1] && r[0] == was + 3);
	IS(list(""), "alive/3=stays ");
	CU_ASSERT_EQUAL(store_lease_keep(S, lease), -ENOENT);
	CU_ASSERT_EQUAL(store_lease_revoke(S, lease), -ENOENT);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("b", "x"), op_lease("alive/1", "x", lease))),
				  NULL), -ENOENT);
	IS(list(""), "alive/3=stays ");
	CU_ASSERT_EQUAL(revision_of(S), was + 3);
	IS(no_event(), "");
	suite_end();
}

static void lease_keep(void)
{
	u64 lease, from = 0;

	suite_begin();
	lease = grant(3);
	change(S, op_lease("alive/1", "x", lease));
	for (int i = 0; i < 5; i++) {
		sleep_for(800);
		from = store_now_ms();
		CU_ASSERT_EQUAL(store_lease_keep(S, lease), 0);
		IS(get("alive/1"), "x");
	}
	watch("", revision_of(S));
	IS(event_of(S, 3000 + LATE, NULL), "1 del alive/1");
	CU_ASSERT(store_now_ms() - from >= 3000);
	CU_ASSERT_EQUAL(store_lease_keep(S, lease), -ENOENT);
	suite_end();
}

static void lease_revoke(void)
{
	struct store_page p;
	u64 lease, other, empty, was;

	suite_begin();
	lease = grant(100);
	other = grant(100);
	CU_ASSERT(lease != other);
	change(S, op_lease("a/1", "x", lease));
	change(S, op_lease("a/2", "x", lease));
	change(S, op_lease("a/3", "x", other));
	change(S, op_lease("a/4", "x", lease));
	change(S, op_lease("a/5", "x", lease));
	/* put again: on another lease, and on none */
	change(S, op_lease("a/4", "y", other));
	change(S, op_put("a/5", "y"));
	CU_ASSERT_EQUAL(store_get(S, "a/1", &p), 0);
	CU_ASSERT_EQUAL(p.kv->lease, lease);
	store_page_free(&p);
	was = revision_of(S);
	CU_ASSERT_EQUAL(store_lease_revoke(S, lease), 0);
	CU_ASSERT_EQUAL(revision_of(S), was + 1);
	IS(list(""), "a/3=x a/4=y a/5=y ");
	IS(list_at("a/", NULL, 2, was), "a/1=x a/2=x +");
	CU_ASSERT_EQUAL(store_lease_revoke(S, lease), -ENOENT);
	CU_ASSERT_EQUAL(store_lease_keep(S, other), 0);
	/* no key, no change */
	empty = grant(100);
	CU_ASSERT_EQUAL(store_lease_revoke(S, empty), 0);
	CU_ASSERT_EQUAL(store_lease_keep(S, empty), -ENOENT);
	CU_ASSERT_EQUAL(revision_of(S), was + 1);
	CU_ASSERT_EQUAL(store_lease_keep(S, 4711), -ENOENT);
	CU_ASSERT_EQUAL(store_lease_keep(S, 0), -ENOENT);
	suite_end();
}

static void lease_many(void)
{
	u64 lease[60];
	char key[16];

	suite_begin();
	for (unsigned int i = 0; i < ARRAY_SIZE(lease); i++) {
		/* long enough for the put on a machine that is busy */
		lease[i] = grant(3 + i % 2 * 97);
		snprintf(key, sizeof(key), "alive/%u", i);
		change(S, op_lease(key, "x", lease[i]));
		for (unsigned int k = 0; k < i; k++)
			CU_ASSERT(lease[i] != lease[k]);
	}
	watch("alive/", revision_of(S) - ARRAY_SIZE(lease));
	for (unsigned int i = 0, gone = 0; i < 1000 && gone < ARRAY_SIZE(lease) / 2; i++)
		gone += !strncmp(event_of(S, 3000 + LATE, NULL), "1 del", 5);
	for (unsigned int i = 0; i < ARRAY_SIZE(lease); i++)
		CU_ASSERT_EQUAL(store_lease_keep(S, lease[i]), i % 2 ? 0 : -ENOENT);
	IS(no_event(), "");
	suite_end();
}

static void lease_restart(void)
{
	u64 lease, gone, from;

	suite_begin();
	/* long enough for all before and behind the restart on a machine that is busy */
	lease = grant(4);
	gone = grant(100);
	change(S, op_lease("alive/1", "x", lease));
	change(S, op_lease("alive/2", "x", gone));
	CU_ASSERT_EQUAL(store_lease_revoke(S, gone), 0);
	sleep_for(2500);
	from = store_now_ms();
	suite_between(engine.restart);
	watch("", revision_of(S));
	IS(event_of(S, 1000, NULL), "");
	IS(get("alive/1"), "x");
	IS(event_of(S, 3000 + LATE, NULL), "1 del alive/1");
	CU_ASSERT(store_now_ms() - from >= 4000);
	CU_ASSERT_EQUAL(store_lease_keep(S, lease), -ENOENT);
	CU_ASSERT_EQUAL(store_lease_keep(S, gone), -ENOENT);
	/* the one that has ended stays so */
	suite_between(engine.restart);
	CU_ASSERT_EQUAL(store_lease_keep(S, lease), -ENOENT);
	IS(list(""), "");
	suite_end();
}

#define STORE_SUITE_LEASE						\
	{ "lease: its end", lease_end },				\
	{ "lease: keep", lease_keep },					\
	{ "lease: revoke", lease_revoke },				\
	{ "lease: many", lease_many },					\
	{ "lease: restart", lease_restart }

#endif
