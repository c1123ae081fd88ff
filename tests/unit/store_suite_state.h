/* SPDX-License-Identifier: GPL-2.0-only */
/* Conformance: several handles, restarts, identity, a full disk. */
#ifndef TESTS_UNIT_STORE_SUITE_STATE_H
#define TESTS_UNIT_STORE_SUITE_STATE_H

#include "store_suite.h"

#define RACERS	4
#define ROUNDS	40

static unsigned int number_of(const struct store_kv *kv)
{
	char text[16];

	snprintf(text, sizeof(text), "%.*s", (int)kv->len, (const char *)kv->value);
	return atoi(text);
}

/* Add one to the counter by compare and put. */
static void *race(void *arg)
{
	unsigned int done = 0, failed = 0;
	struct store_page p;
	char value[16];
	int ret;

	while (done < ROUNDS && failed < 20000) {
		if (store_get(arg, "counter", &p)) {
			store_page_free(&p);
			failed++;
			continue;
		}
		snprintf(value, sizeof(value), "%u", number_of(p.kv) + 1);
		ret = store_txn(arg, TXN(COMPARES(same("counter", p.kv->modified)),
					 OPS(op_put("counter", value))), NULL);
		store_page_free(&p);
		done += ret == 1;
		failed += ret != 1;
	}
	return done == ROUNDS ? arg : NULL;
}

static void state_race(void)
{
	struct store *s[RACERS];
	pthread_t t[RACERS];
	void *ok;
	u64 was;

	suite_begin();
	was = put("counter", "0");
	for (int i = 0; i < RACERS; i++) {
		s[i] = engine.handle();
		store_timeout(s[i], 30000);
		pthread_create(&t[i], NULL, race, s[i]);
	}
	for (int i = 0; i < RACERS; i++) {
		pthread_join(t[i], &ok);
		CU_ASSERT_PTR_NOT_NULL(ok);
		store_close(s[i]);
	}
	CU_ASSERT_EQUAL(atoi(get("counter")), RACERS * ROUNDS);
	CU_ASSERT_EQUAL(revision_of(S), was + RACERS * ROUNDS);
	suite_end();
}

/* A change that one handle has acknowledged is in the next read of another. */
static void state_two_handles(void)
{
	struct store *other;
	char value[16];

	suite_begin();
	other = engine.handle();
	for (int i = 0; i < 20; i++) {
		snprintf(value, sizeof(value), "%d", i);
		change(other, op_put("k", value));
		IS(get("k"), value);
		CU_ASSERT_EQUAL(revision_of(S), revision_of(other));
	}
	store_close(other);
	suite_end();
}

static void state_restart(void)
{
	struct store_identity a, b;

	suite_begin();
	put("a", "1");
	put("b", "2");
	CU_ASSERT_EQUAL(store_identity(S, &a), 0);
	CU_ASSERT(strlen(a.id) > 0);
	suite_between(engine.restart);
	CU_ASSERT_EQUAL(store_identity(S, &b), 0);
	IS(b.id, a.id);
	CU_ASSERT(b.term > a.term);
	CU_ASSERT_EQUAL(b.revision, a.revision);
	IS(list(""), "a=1 b=2 ");
	CU_ASSERT_EQUAL(put("a", "3"), a.revision + 1);
	suite_end();
}

static void state_put_back(void)
{
	struct store_identity kept, lost, now;

	suite_begin();
	put("a", "1");
	CU_ASSERT_EQUAL(store_identity(S, &kept), 0);
	suite_between(engine.keep);
	put("a", "2");
	CU_ASSERT_EQUAL(store_identity(S, &lost), 0);
	CU_ASSERT_EQUAL(lost.revision, kept.revision + 1);
	suite_between(engine.put_back);
	CU_ASSERT_EQUAL(store_identity(S, &now), 0);
	CU_ASSERT(strcmp(now.id, lost.id) || now.term < lost.term || now.revision < lost.revision);
	CU_ASSERT_EQUAL(now.revision, kept.revision);
	IS(list(""), "a=1 ");
	suite_end();
}

static void state_full(void)
{
	char *big = calloc(1, 1 << 16);
	u64 was, lease;

	if (!engine.full) {
		free(big);
		return;
	}
	suite_begin();
	put("a", "1");
	was = put("b", "1");
	watch("", was);
	engine.full(true);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"), op_del("b"),
				((struct store_op) { "big", big, 1 << 16, 0 }))), NULL), -ENOSPC);
	CU_ASSERT(strlen(store_why(S)) > 10);
	IS(list(""), "a=1 b=1 ");
	CU_ASSERT_EQUAL(revision_of(S), was);
	/* etcd refuses these too */
	CU_ASSERT_EQUAL(store_lease_grant(S, 100, &lease), -ENOSPC);
	engine.full(false);
	IS(no_event(), "");
	CU_ASSERT_EQUAL(put("a", "3"), was + 1);
	IS(event(), "1 put a=3");
	suite_between(engine.restart);
	IS(list(""), "a=3 b=1 ");
	suite_end();
	free(big);
}

#define STORE_SUITE_STATE						\
	{ "state: a counter, several threads", state_race },		\
	{ "state: two handles", state_two_handles },			\
	{ "state: restart", state_restart },				\
	{ "state: put back", state_put_back },				\
	{ "state: full disk", state_full }

#endif
