/* SPDX-License-Identifier: GPL-2.0-only */
/* Conformance: reads, compares, transactions, limits. */
#ifndef TESTS_UNIT_STORE_SUITE_KEYS_H
#define TESTS_UNIT_STORE_SUITE_KEYS_H

#include "store_suite.h"

static void keys_order(void)
{
	suite_begin();
	IS(list(""), "");
	put("drive/10", "b");
	put("drive/2", "c");
	put("drive", "0");
	put("drive/1", "a");
	put("volume/1", "v");
	put("drivel", "l");
	put("drive-x", "x");
	put("host/\xc3\xa9", "e");
	IS(list("drive/"), "drive/1=a drive/10=b drive/2=c ");
	IS(list("drive/1"), "drive/1=a drive/10=b ");
	IS(list("drive"), "drive=0 drive-x=x drive/1=a drive/10=b drive/2=c drivel=l ");
	IS(list("dri"), "drive=0 drive-x=x drive/1=a drive/10=b drive/2=c drivel=l ");
	IS(list("drive/3"), "");
	IS(list(""), "drive=0 drive-x=x drive/1=a drive/10=b drive/2=c drivel=l host/\xc3\xa9=e volume/1=v ");
	IS(list("host/"), "host/\xc3\xa9=e ");
	suite_end();
}

static void keys_pages(void)
{
	struct store_page p;
	u64 at;

	suite_begin();
	put("a/1", "1");
	put("a/2", "2");
	put("a/3", "3");
	at = put("a/4", "4");
	put("b", "b");
	IS(list_at("a/", NULL, 2, 0), "a/1=1 a/2=2 +");
	IS(list_at("a/", "a/2", 2, 0), "a/3=3 a/4=4 ");
	IS(list_at("a/", "a/4", 2, 0), "");
	IS(list_at("a/", NULL, 4, 0), "a/1=1 a/2=2 a/3=3 a/4=4 ");
	IS(list_at("a/", "a/1", 1, 0), "a/2=2 +");
	/* a key that is not there; one before and one behind all of the prefix */
	IS(list_at("a/", "a/20", 9, 0), "a/3=3 a/4=4 ");
	IS(list_at("a/", "A", 1, 0), "a/1=1 +");
	IS(list_at("a/", "b", 9, 0), "");
	/* a page of the list that was begun, not of what has come since */
	put("a/25", "new");
	put("a/3", "new");
	del("a/4");
	IS(list_at("a/", "a/2", 9, at), "a/3=3 a/4=4 ");
	IS(list_at("a/", "a/2", 1, at), "a/3=3 +");
	IS(list_at("a/", "a/2", 9, 0), "a/25=new a/3=new ");
	CU_ASSERT_EQUAL(store_range(S, "a/", NULL, 1, at, &p), 0);
	CU_ASSERT_EQUAL(p.revision, at);
	store_page_free(&p);
	CU_ASSERT_EQUAL(store_range(S, "a/", NULL, 1, 0, &p), 0);
	CU_ASSERT_EQUAL(p.revision, revision_of(S));
	store_page_free(&p);
	suite_end();
}

static void keys_large_pages(void)
{
	struct store_page p;
	bool more = true;
	char *big = malloc(STORE_VALUE_MAX), key[16], last[16] = "";
	unsigned int nr = 0;

	suite_begin();
	memset(big, 'x', STORE_VALUE_MAX);
	for (int i = 10; i < 30; i++) {
		snprintf(key, sizeof(key), "big/%d", i);
		change(S, (struct store_op) { key, big, STORE_VALUE_MAX, 0 });
	}
	while (more) {
		CU_ASSERT_EQUAL_FATAL(store_range(S, "big/", *last ? last : NULL, 20, 0, &p), 0);
		CU_ASSERT_FATAL(p.nr > 0);
		for (size_t i = 0; i < p.nr; i++, nr++) {
			snprintf(key, sizeof(key), "big/%u", nr + 10);
			IS(p.kv[i].key, key);
			CU_ASSERT_EQUAL(p.kv[i].len, STORE_VALUE_MAX);
			CU_ASSERT_EQUAL(memcmp(p.kv[i].value, big, STORE_VALUE_MAX), 0);
		}
		snprintf(last, sizeof(last), "%s", p.kv[p.nr - 1].key);
		more = p.more;
		store_page_free(&p);
	}
	CU_ASSERT_EQUAL(nr, 20);
	free(big);
	suite_end();
}

static void keys_get(void)
{
	struct store_page p;
	u64 first, second;

	suite_begin();
	CU_ASSERT_EQUAL(store_get(S, "k", &p), -ENOENT);
	CU_ASSERT_EQUAL(p.revision, revision_of(S));
	CU_ASSERT(strlen(store_why(S)) > 10);
	store_page_free(&p);
	first = put("k", "one");
	second = put("k", "two");
	CU_ASSERT_EQUAL(second, first + 1);
	CU_ASSERT_EQUAL(store_get(S, "k", &p), 0);
	IS(p.kv->key, "k");
	CU_ASSERT_EQUAL(p.kv->created, first);
	CU_ASSERT_EQUAL(p.kv->modified, second);
	CU_ASSERT_EQUAL(p.kv->lease, 0);
	CU_ASSERT_EQUAL(p.revision, second);
	CU_ASSERT_FALSE(p.more);
	store_page_free(&p);
	put("k2", "");
	CU_ASSERT_EQUAL(store_get(S, "k2", &p), 0);
	CU_ASSERT_PTR_NOT_NULL(p.kv->value);
	CU_ASSERT_EQUAL(p.kv->len, 0);
	store_page_free(&p);
	del("k");
	IS(get("k"), "ENOENT");
	first = put("k", "three");
	CU_ASSERT_EQUAL(store_get(S, "k", &p), 0);
	CU_ASSERT_EQUAL(p.kv->created, first);
	store_page_free(&p);
	/* bytes that are no text */
	change(S, (struct store_op) { "raw", "\0\xff\n", 3, 0 });
	CU_ASSERT_EQUAL(store_get(S, "raw", &p), 0);
	CU_ASSERT_EQUAL(p.kv->len, 3);
	CU_ASSERT_EQUAL(memcmp(p.kv->value, "\0\xff\n", 3), 0);
	store_page_free(&p);
	suite_end();
}

static void keys_at(void)
{
	u64 one, two, three, four;

	suite_begin();
	one = put("a", "1");
	two = put("b", "1");
	three = put("a", "2");
	four = del("b");
	put("c", "1");
	IS(list_at("", NULL, 9, one), "a=1 ");
	IS(list_at("", NULL, 9, two), "a=1 b=1 ");
	IS(list_at("", NULL, 9, three), "a=2 b=1 ");
	IS(list_at("", NULL, 9, four), "a=2 ");
	IS(list_at("", NULL, 9, 0), "a=2 c=1 ");
	IS(list_at("", NULL, 9, revision_of(S)), "a=2 c=1 ");
	IS(list_at("", NULL, 9, revision_of(S) + 1), "ESTALE");
	suite_between(engine.compact);
	IS(list_at("", NULL, 9, three), "ESTALE");
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "compacted"));
	IS(list_at("a", NULL, 9, revision_of(S)), "a=2 ");
	IS(list("a"), "a=2 ");
	suite_end();
}

/* A key's old value stays readable where a later revision is still kept. */
static void keys_at_before_history(void)
{
	u64 at;

	suite_begin();
	put("old", "1");
	suite_between(engine.compact);
	at = put("other", "1");
	put("old", "2");
	IS(list_at("ol", NULL, 9, at), "old=1 ");
	IS(list("ol"), "old=2 ");
	suite_end();
}

static void txn_compares(void)
{
	u64 was, r = 0;

	suite_begin();
	was = put("a/1", "1");
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("a/1", was)), OPS(op_put("a/1", "2"))), &r), 1);
	CU_ASSERT_EQUAL(r, was + 1);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("a/1", was)), OPS(op_put("a/1", "3"))), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("no", was)), OPS(op_put("a/1", "3"))), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("a/1", was + 2)), OPS(op_del("a/1"))), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("a/1")), OPS(op_put("a/1", "3"))), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(none_below("a/")), OPS(op_put("a/1", "3"))), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(none_below("a/1")), OPS(op_put("a/1", "3"))), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(none_below("")), OPS(op_put("a/1", "3"))), &r), 0);
	CU_ASSERT_EQUAL(r, was + 1);
	IS(list(""), "a/1=2 ");
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("a")), OPS(op_put("a", "3"))), &r), 1);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(none_below("b"), none_below("a/2"), absent("a/2"),
						  same("a/1", was + 1)), OPS(op_put("b", "4"))), &r), 1);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("zz"), absent("b")), OPS(op_put("c", "5"))), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("b"), absent("zz")), OPS(op_put("c", "5"))), &r), 0);
	IS(list(""), "a=3 a/1=2 b=4 ");
	/* a key that was deleted is absent, and its revision is of the past */
	was = modified_of("b");
	del("b");
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("b", was)), NOTHING), &r), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("b"), none_below("b")), NOTHING), &r), 1);
	suite_end();
}

static void txn_all_or_nothing(void)
{
	u64 was, r = 0, r2 = 0;

	suite_begin();
	put("a", "1");
	was = put("b", "1");
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"), op_del("b"), op_put("c", "2"),
						      op_del("none"))), &r), 1);
	CU_ASSERT_EQUAL(r, was + 1);
	IS(list(""), "a=2 c=2 ");
	CU_ASSERT_EQUAL(modified_of("a"), r);
	CU_ASSERT_EQUAL(modified_of("c"), r);
	/* the last operation fails: its lease is not there */
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "3"), op_del("c"),
						      op_lease("d", "3", 12345))), &r2), -ENOENT);
	IS(list(""), "a=2 c=2 ");
	CU_ASSERT_EQUAL(revision_of(S), r);
	/* compares come first */
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("a")), OPS(op_lease("d", "3", 12345))), &r2), 0);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("a")), OPS(op_put("x", "1"), op_put("y", "1"))),
				  NULL), 0);
	IS(list(""), "a=2 c=2 ");
	suite_end();
}

/* No change, no revision: watches and copies would differ otherwise. */
static void txn_without_change(void)
{
	u64 was, r = 0;

	suite_begin();
	was = put("a", "1");
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("a", was)), NOTHING), &r), 1);
	CU_ASSERT_EQUAL(r, was);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, NOTHING), &r), 1);
	CU_ASSERT_EQUAL(r, was);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_del("b"), op_del("c"))), &r), 1);
	CU_ASSERT_EQUAL(r, was);
	CU_ASSERT_EQUAL(revision_of(S), was);
	/* the same value again is a change */
	CU_ASSERT_EQUAL(put("a", "1"), was + 1);
	CU_ASSERT_EQUAL(modified_of("a"), was + 1);
	suite_end();
}

static void limits_arguments(void)
{
	struct store_page p;
	struct store_compare c = same("a", 0), kind = { 99, "a", 1 };
	struct store_op lost = { "a", NULL, 3, 0 }, leased = { "a", NULL, 0, 7 };
	u64 id;

	suite_begin();
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "1"), op_put("b", "1"), op_put("a", "2"))),
				  NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "1"), op_del("a"))), NULL), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "twice"));
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a//b", "1"))), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a/", "1"))), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("\xff", "1"))), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(lost)), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(leased)), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(c), OPS(op_put("a", "1"))), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(kind), OPS(op_put("a", "1"))), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(absent("a/")), NOTHING), NULL), -EINVAL);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(none_below("/")), NOTHING), NULL), -EINVAL);
	IS(list(""), "");
	CU_ASSERT_EQUAL(store_range(S, "", NULL, 0, 0, &p), -EINVAL);
	CU_ASSERT_EQUAL(store_range(S, "", NULL, STORE_PAGE_MAX + 1, 0, &p), -EINVAL);
	CU_ASSERT_EQUAL(store_range(S, "/", NULL, 1, 0, &p), -EINVAL);
	CU_ASSERT_EQUAL(store_range(S, "", "a/", 1, 0, &p), -EINVAL);
	CU_ASSERT_EQUAL(store_range(S, NULL, NULL, 1, 0, &p), -EINVAL);
	store_page_free(&p);	/* after an error too */
	CU_ASSERT_EQUAL(store_get(S, "a/", &p), -EINVAL);
	CU_ASSERT_EQUAL(store_get(S, "", &p), -EINVAL);
	CU_ASSERT_EQUAL(store_watch(S, "a\n", 0, &id), -EINVAL);
	CU_ASSERT_EQUAL(store_lease_grant(S, 0, &id), -EINVAL);
	CU_ASSERT_EQUAL(store_lease_grant(S, ~0U, &id), -EINVAL);
	suite_end();
}

static void limits_sizes(void)
{
	static char key[STORE_OPS_MAX + 1][STORE_KEY_MAX + 1];
	struct store_op op[STORE_OPS_MAX + 1];
	struct store_compare c[STORE_OPS_MAX + 1];
	struct store_txn t = { c, STORE_OPS_MAX, op, STORE_OPS_MAX };
	char *big = calloc(1, STORE_VALUE_MAX + 1);
	struct store_page p;

	suite_begin();
	for (int i = 0; i <= STORE_OPS_MAX; i++) {
		snprintf(key[i], sizeof(key[i]), "many/%d", i);
		op[i] = op_put(key[i], "x");
		c[i] = absent(key[i]);
	}
	t.ops++;
	CU_ASSERT_EQUAL(store_txn(S, &t, NULL), -E2BIG);
	t.ops--, t.compares++;
	CU_ASSERT_EQUAL(store_txn(S, &t, NULL), -E2BIG);
	t.compares--;
	CU_ASSERT_EQUAL(store_txn(S, &t, NULL), 1);
	CU_ASSERT_EQUAL(store_range(S, "many/", NULL, STORE_PAGE_MAX, 0, &p), 0);
	CU_ASSERT_EQUAL(p.nr, STORE_OPS_MAX);
	store_page_free(&p);
	memset(key[0], 'k', STORE_KEY_MAX);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put(key[0], "x"))), NULL), -EINVAL);
	key[0][STORE_KEY_MAX - 1] = 0;
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put(key[0], "x"))), NULL), 1);
	IS(get(key[0]), "x");
	op[0] = (struct store_op) { "v", big, STORE_VALUE_MAX + 1, 0 };
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op[0])), NULL), -EINVAL);
	op[0].len--;
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op[0])), NULL), 1);
	op[1] = (struct store_op) { "w", big, STORE_TXN_BYTES - STORE_VALUE_MAX - 1, 0 };
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op[0], op[1])), NULL), -E2BIG);
	op[1].len--;
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op[0], op[1])), NULL), 1);
	free(big);
	suite_end();
}

#define STORE_SUITE_KEYS						\
	{ "range: order and prefixes", keys_order },			\
	{ "range: pages of one list", keys_pages },			\
	{ "range: pages of large values", keys_large_pages },		\
	{ "get", keys_get },						\
	{ "range: at an older revision", keys_at },			\
	{ "range: values older than the history", keys_at_before_history }, \
	{ "txn: each kind of compare", txn_compares },			\
	{ "txn: all or nothing", txn_all_or_nothing },			\
	{ "txn: no change, no revision", txn_without_change },		\
	{ "limits: arguments", limits_arguments },			\
	{ "limits: sizes", limits_sizes }

#endif
