/* SPDX-License-Identifier: GPL-2.0-only */
/* Conformance: transactions whose answer is lost. Faults are between store.c and the engine. */
#ifndef TESTS_UNIT_STORE_SUITE_SETTLE_H
#define TESTS_UNIT_STORE_SUITE_SETTLE_H

#include "store_suite.h"

/*
 * One letter for each call of txn: 'l' done, answer lost; 'n' not done, answer lost; 'o' done,
 * lost, then changed by another; 'f' refused for a full disk; 'i' as 'n', with store_interrupt();
 * '.' and after the end: no fault.
 */
static const char *faults;
static unsigned int sent, failing_reads;
static const struct store_ops *real;
static const char *others_key;

static int faulty_txn(struct store *s, const struct store_txn *t, u64 *revision)
{
	char fault = *faults ? *faults++ : '.';

	sent++;
	if (fault == 'i')
		store_interrupt(s);
	if (fault == 'n' || fault == 'i')
		return store_fail(s, -ETIMEDOUT, "fault: not done");
	if (fault == 'f')
		return store_fail(s, -ENOSPC, "fault: full");
	if (fault == '.')
		return real->txn(s, t, revision);
	CU_ASSERT_EQUAL(real->txn(s, t, revision), 1);
	if (fault == 'o')
		CU_ASSERT_EQUAL(real->txn(s, TXN(ALWAYS, OPS(op_put(others_key, "theirs"))), revision), 1);
	*revision = 0;
	return store_fail(s, -EIO, "fault: answer lost");
}

static int faulty_get(struct store *s, const char *key, struct store_page *out)
{
	if (!failing_reads)
		return real->get(s, key, out);
	failing_reads--;
	return store_fail(s, -EIO, "fault: no read");
}

static int settle_within(const char *script, const struct store_txn *t, unsigned int ms, u64 *revision)
{
	static struct store_ops faulty;
	int ret;

	real = S->ops;
	faulty = *real;
	faulty.txn = faulty_txn;
	faulty.get = faulty_get;
	faults = script;
	sent = 0;
	S->ops = &faulty;
	ret = store_txn_settle(S, t, store_now_ms() + ms, revision);
	S->ops = real;
	return ret;
}

static int settle(const char *script, const struct store_txn *t, u64 *revision)
{
	return settle_within(script, t, 10000, revision);
}

static void settle_done(void)
{
	u64 was, r = 0;

	suite_begin();
	was = put("a", "0");
	/* no fault */
	CU_ASSERT_EQUAL(settle("", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id1"))), &r), 1);
	CU_ASSERT(r == was + 1 && sent == 1);
	CU_ASSERT_EQUAL(settle("", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id2"))), &r), 0);
	CU_ASSERT(r == was + 1 && sent == 1);
	/* done, the answer lost, twice even */
	was = r;
	CU_ASSERT_EQUAL(settle("l", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id3"))), &r), 1);
	CU_ASSERT(r == was + 1 && revision_of(S) == was + 1 && sent == 2);
	was = r;
	CU_ASSERT_EQUAL(settle("nnln", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id4"))), &r), 1);
	CU_ASSERT(r == was + 1 && revision_of(S) == was + 1);
	/* not done */
	was = r;
	CU_ASSERT_EQUAL(settle("n", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id5"))), &r), 1);
	CU_ASSERT(r == was + 1 && sent == 2);
	IS(get("a"), "id5");
	/* a new key; no value; its revision is not needed */
	CU_ASSERT_EQUAL(settle("l", TXN(COMPARES(absent("b")), OPS(op_put("b", ""))), NULL), 1);
	/* compares alone are not in doubt */
	CU_ASSERT_EQUAL(settle("l", TXN(COMPARES(absent("c")), NOTHING), NULL), 1);
	CU_ASSERT_EQUAL(settle("n", TXN(COMPARES(absent("a")), NOTHING), NULL), 0);
	suite_end();
}

static void settle_changed_since(void)
{
	u64 was, r = 0;

	suite_begin();
	was = put("a", "0");
	others_key = "a";
	CU_ASSERT_EQUAL(settle("o", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id1"))), &r), -ESTALE);
	IS(get("a"), "theirs");
	CU_ASSERT_EQUAL(sent, 2);
	/* another key of ours is left: done */
	was = modified_of("a");
	CU_ASSERT_EQUAL(settle("o", TXN(COMPARES(same("a", was), absent("b")),
					OPS(op_put("a", "id2"), op_put("b", "id2"))), &r), 1);
	CU_ASSERT_EQUAL(r, was + 1);
	IS(list(""), "a=theirs b=id2 ");
	/* deletes have no value that says so */
	was = modified_of("b");
	CU_ASSERT_EQUAL(settle("l", TXN(COMPARES(same("b", was)), OPS(op_del("b"))), &r), -ESTALE);
	suite_end();
}

static void settle_refused(void)
{
	u64 was, lease, r = 0;

	suite_begin();
	was = put("a", "0");
	/* a refusal is final where nothing was unknown before, else it says nothing of the first */
	CU_ASSERT_EQUAL(settle("f", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id1"))), &r), -ENOSPC);
	CU_ASSERT_EQUAL(sent, 1);
	CU_ASSERT_EQUAL(settle("lf", TXN(COMPARES(same("a", was)), OPS(op_put("a", "id2"))), &r), 1);
	CU_ASSERT_EQUAL(r, was + 1);
	CU_ASSERT_EQUAL(settle("nf", TXN(COMPARES(same("a", was + 1)), OPS(op_put("a", "id3"))), &r), 1);
	CU_ASSERT_EQUAL(r, was + 2);
	CU_ASSERT_EQUAL(settle_within("nfffffffffffffffff", TXN(COMPARES(same("a", was + 2)),
						       OPS(op_put("a", "id4"))), 300, &r), -ETIMEDOUT);
	/* the lease ended meanwhile, and with it perhaps the key */
	CU_ASSERT_EQUAL(store_lease_grant(S, 100, &lease), 0);
	CU_ASSERT_EQUAL(store_lease_revoke(S, lease), 0);
	CU_ASSERT_EQUAL(settle("n", TXN(COMPARES(absent("l")), OPS(op_lease("l", "x", lease))), &r), -ESTALE);
	CU_ASSERT_EQUAL(settle("", TXN(COMPARES(absent("l")), OPS(op_lease("l", "x", lease))), &r), -ENOENT);
	suite_end();
}

static void settle_unknown(void)
{
	static char none[1000];
	struct store_txn t = { COMPARES(absent("a")), OPS(op_put("a", "id")) };
	unsigned int timeout_ms;
	u64 from, r = 0;

	suite_begin();
	timeout_ms = S->timeout_ms;
	memset(none, 'n', sizeof(none) - 1);
	from = store_now_ms();
	CU_ASSERT_EQUAL(settle_within(none, &t, 300, &r), -ETIMEDOUT);
	CU_ASSERT(store_now_ms() - from >= 290 && store_now_ms() - from < 3000);
	CU_ASSERT(sent > 1 && sent < 20);
	CU_ASSERT_EQUAL(S->timeout_ms, timeout_ms);
	CU_ASSERT_EQUAL(settle_within("", &t, 0, &r), -ETIMEDOUT);
	CU_ASSERT_EQUAL(sent, 0);
	CU_ASSERT_EQUAL(settle("ni", &t, &r), -ECANCELED);
	CU_ASSERT_EQUAL(sent, 2);
	IS(get("a"), "ENOENT");
	/* the reads fail for a while, too */
	failing_reads = 3;
	CU_ASSERT_EQUAL(settle("l", &t, &r), 1);
	CU_ASSERT_EQUAL(failing_reads, 0);
	CU_ASSERT_EQUAL(r, modified_of("a"));
	/* a put that could undo another's change if it were sent again */
	CU_ASSERT_EQUAL(settle("", TXN(ALWAYS, OPS(op_put("b", "x"))), &r), -EINVAL);
	CU_ASSERT_EQUAL(settle("", TXN(COMPARES(none_below("b")), OPS(op_put("b", "x"))), &r), -EINVAL);
	CU_ASSERT_EQUAL(sent, 0);
	CU_ASSERT_EQUAL(settle("", TXN(COMPARES(absent("b//")), OPS(op_put("b//", "x"))), &r), -EINVAL);
	suite_end();
}

#define STORE_SUITE_SETTLE						\
	{ "settle: done once", settle_done },				\
	{ "settle: changed by others since", settle_changed_since },	\
	{ "settle: refused", settle_refused },				\
	{ "settle: unknown", settle_unknown }

#endif
