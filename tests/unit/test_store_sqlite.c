// SPDX-License-Identifier: GPL-2.0-only
/* The store's SQLite engine: the conformance suite, and a disk that hangs or fails beside threads. */
#include "sqlite_rig.h"
#include "store_suite.h"
#include "store_suite_keys.h"
#include "store_suite_lease.h"
#include "store_suite_state.h"
#include "store_suite_watch.h"
#include "store_suite_settle.h"

static void fresh(void)
{
	sync_none = true;
	rig_begin();
	must_open();
}

static struct store *handle(void)
{
	return store_sqlite_handle(Q);
}

static void restart(void)
{
	shut();
	must_open();
}

static void keep(void)
{
	CU_ASSERT_EQUAL(store_sqlite_backup(Q, copy), 0);
}

static void put_back(void)
{
	shut();
	run("mv '%s' '%s'", copy, file);
	must_open();
}

static void compact(void)
{
	struct store *s = handle();

	store_sqlite_history(Q, 1);
	change(s, op_put("zz/compact", ""));
	change(s, op_del("zz/compact"));
	store_sqlite_history(Q, 10000);
	store_close(s);
}

static void full(bool on)
{
	fail_writes(on ? ENOSPC : 0);
}

static const struct suite_engine engine = {
	fresh, rig_end, handle, restart, keep, put_back, compact, full,
};

static void sq_history(void)
{
	u64 first;

	suite_begin();
	store_sqlite_history(Q, 5);
	watch("", revision_of(S));
	first = put("a", "1");
	for (int i = 0; i < 4; i++)
		put("a", "2");
	IS(event(), "1 put a=1");
	for (int i = 0; i < 4; i++)
		IS(event(), "1 put a=2");
	/* five revisions back is kept, six is not */
	put("b", "1");
	IS(list_at("", NULL, 9, first), "a=1 ");
	put("b", "2");
	IS(list_at("", NULL, 9, first), "ESTALE");
	IS(list_at("", NULL, 9, first + 1), "a=2 ");
	watch("a", first);
	IS(event(), "1 put b=1");
	IS(event(), "1 put b=2");
	IS(event(), "2 relist");
	watch("a", first + 1);
	IS(event(), "3 put a=2");
	IS(event(), "3 put a=2");
	IS(event(), "3 put a=2");
	IS(no_event(), "");
	/* a lag of five is none too many, six are */
	count_up(S, 1, 5);
	CU_ASSERT(gapless(1, 5));
	count_up(S, 1, 6);
	IS(event(), "1 relist");
	IS(no_event(), "");
	CU_ASSERT_EQUAL(atoi(get("n/1")), 6);
	suite_end();
}

/* Rows of the past go from the file, also those of keys that are deleted. */
static void sq_file_stays_small(void)
{
	sqlite3 *db;
	char nr[16];
	struct store words;

	suite_begin();
	store_sqlite_history(Q, 3);
	put("stays", "1");
	count_up(S, 1, 50);
	del("n/1");
	put("b", "1");
	put("b", "2");
	put("b", "3");
	put("b", "4");
	suite_between(restart);
	IS(list(""), "b=4 stays=1 ");
	store_close(S);
	S = NULL;
	shut();
	store_begin(&words, NULL);
	CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	CU_ASSERT_EQUAL(sq_pragma(db, &words, "SELECT count(*) FROM kv", nr, sizeof(nr)), 0);
	CU_ASSERT_EQUAL(atoi(nr), 2 + 3);
	sqlite3_close(db);
	engine.end();
}

static void *put_hanging(void *arg)
{
	return store_txn(arg, TXN(ALWAYS, OPS(op_put("a", "hung"))), NULL) == 1 ? arg : NULL;
}

/* A disk that hangs holds up the one thread that is in its call. */
static void sq_disk_hangs(void)
{
	struct store *other;
	struct store_page p;
	pthread_t t, t2;
	void *ok;
	u64 from;

	suite_begin();
	other = handle();
	put("a", "1");
	__atomic_store_n(&sync_hang_ms, 4000, __ATOMIC_RELAXED);
	pthread_create(&t, NULL, put_hanging, other);
	sleep_for(300);
	from = store_now_ms();
	store_timeout(S, 100);
	CU_ASSERT_EQUAL(store_get(S, "a", &p), -ETIMEDOUT);
	CU_ASSERT(store_now_ms() - from >= 100 && store_now_ms() - from < 2500);
	store_timeout(S, 20000);
	pthread_create(&t2, NULL, interrupt_soon, S);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"))), NULL), -ECANCELED);
	CU_ASSERT(store_now_ms() - from < 3500);
	pthread_join(t2, NULL);
	IS(get("a"), "hung");
	__atomic_store_n(&sync_hang_ms, 0, __ATOMIC_RELAXED);
	pthread_join(t, &ok);
	CU_ASSERT_PTR_NOT_NULL(ok);
	put("a", "3");
	store_close(other);
	suite_end();
}

/* Files as a power failure might leave them: all that was written, and no more is done. */
static void snapshot(const char *name)
{
	char to[96];

	snprintf(to, sizeof(to), "%s/%s", folder, name);
	run("mkdir '%s'%s", to, "");
	run("cp '%s' '%s'", file, to);
	run("cp '%s-wal' '%s'", file, to);
}

static const char *value_in_snapshot(const char *name)
{
	static char value[256];
	char was[96];

	store_close(S);
	shut();
	memcpy(was, file, sizeof(was));
	snprintf(file, sizeof(file), "%s/%s/store.db", folder, name);
	must_open();
	S = handle();
	snprintf(value, sizeof(value), "%s", get("a"));
	store_close(S);
	shut();
	memcpy(file, was, sizeof(was));
	must_open();
	S = handle();
	return value;
}

/*
 * A commit whose sync fails may be in the log: it is unknown, and gone before any read says so.
 */
static void sq_unknown_commit(void)
{
	u64 was, r;

	suite_begin();
	was = put("a", "1");
	watch("", was);
	sync_errno = EIO;
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("a", was)), OPS(op_put("a", "2"))), &r), -EIO);
	/* while the disk fails nothing is said about it */
	IS(get("a"), "EIO");
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("b", "2"))), &r), -EIO);
	snapshot("doubt");
	sync_errno = 0;
	IS(get("a"), "1");
	CU_ASSERT_EQUAL(revision_of(S), was);
	snapshot("sure");
	IS(no_event(), "");
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(same("a", was)), OPS(op_put("a", "3"))), &r), 1);
	CU_ASSERT_EQUAL(r, was + 1);
	IS(event(), "1 put a=3");
	IS(value_in_snapshot("sure"), "1");
	IS(value_in_snapshot("doubt"), "2");
	IS(get("a"), "3");
	suite_end();
}

/* The same with a write that fails for a reason other than room. */
static void sq_write_fails(void)
{
	u64 was;

	suite_begin();
	was = put("a", "1");
	fail_writes(EIO);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"))), NULL), -EIO);
	fail_writes(EFBIG);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"))), NULL), -EIO);
	fail_writes(0);
	IS(get("a"), "1");
	fail_writes(EDQUOT);
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"))), NULL), -ENOSPC);
	fail_writes(0);
	CU_ASSERT_EQUAL(put("a", "3"), was + 1);
	suite_end();
}

/* A lease that cannot end for a full disk ends later. */
static void sq_lease_full(void)
{
	u64 lease;

	suite_begin();
	CU_ASSERT_EQUAL(store_lease_grant(S, 1, &lease), 0);
	change(S, op_lease("a", "x", lease));
	watch("", revision_of(S));
	full(true);
	IS(event_of(S, 1500, NULL), "");
	IS(get("a"), "x");
	full(false);
	IS(event_of(S, 4000, NULL), "1 del a");
	CU_ASSERT_EQUAL(store_lease_keep(S, lease), -ENOENT);
	suite_end();
}

static const char *text_of(struct store *s, const char *key)
{
	struct store *was = S;
	const char *text;

	S = s;
	text = get(key);
	S = was;
	return text;
}

/* One transaction puts both keys: a copy has the same value of both. */
static void *put_pairs(void *arg)
{
	char value[16];

	for (int i = 1; i <= 300; i++) {
		snprintf(value, sizeof(value), "%d", i);
		if (store_txn(arg, TXN(ALWAYS, OPS(op_put("a/first", value), op_put("z/last", value))),
			      NULL) != 1)
			return NULL;
	}
	return arg;
}

static void check_copy(unsigned int i)
{
	struct store_identity mine, theirs;
	struct store_sqlite *c;
	struct store *s;
	char first[16];

	CU_ASSERT_EQUAL_FATAL(store_sqlite_open(copy, &c, why, sizeof(why)), 0);
	s = store_sqlite_handle(c);
	snprintf(first, sizeof(first), "%s", text_of(s, "a/first"));
	IS(text_of(s, "z/last"), first);
	IS(text_of(s, "many/7"), "7");
	CU_ASSERT_EQUAL(store_identity(S, &mine), 0);
	CU_ASSERT_EQUAL(store_identity(s, &theirs), 0);
	CU_ASSERT_STRING_NOT_EQUAL(mine.id, theirs.id);
	CU_ASSERT(strncmp(mine.id, theirs.id, 23));	/* also where the file takes the other's place */
	CU_ASSERT(theirs.revision <= mine.revision);
	CU_ASSERT(i || theirs.term == mine.term + 1);
	store_close(s);
	store_sqlite_close(c);
	run("rm -f '%s'%s", copy, "");
}

static void sq_backup(void)
{
	struct store *other;
	unsigned int n;
	pthread_t t;
	void *ok;
	char key[24], value[16];

	suite_begin();
	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "many/%d", i);
		snprintf(value, sizeof(value), "%d", i);
		put(key, value);
	}
	put("a/first", "0");
	put("z/last", "0");
	other = handle();
	pthread_create(&t, NULL, put_pairs, other);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(store_sqlite_backup(Q, copy), 0);
		CU_ASSERT_FALSE(there(copy, "-new"));
		CU_ASSERT_FALSE(there(copy, "-wal"));
		CU_ASSERT_EQUAL(store_sqlite_backup(Q, copy), -EEXIST);
		check_copy(i);
	}
	pthread_join(t, &ok);
	CU_ASSERT_PTR_NOT_NULL(ok);
	store_close(other);
	n = syncs;
	CU_ASSERT_EQUAL(store_sqlite_backup(Q, copy), 0);
	CU_ASSERT(was_synced(copy, n) && was_synced(folder, n));
	/* refused before anything is written */
	full(true);
	CU_ASSERT_EQUAL(store_sqlite_backup(Q, copy), -EEXIST);
	run("rm '%s'%s", copy, "");
	/* nothing that looks like a copy is left by one that failed */
	CU_ASSERT_EQUAL(store_sqlite_backup(Q, copy), -ENOSPC);
	full(false);
	sync_errno = EIO;
	CU_ASSERT_EQUAL(store_sqlite_backup(Q, copy), -EIO);
	sync_errno = 0;
	CU_ASSERT_FALSE(there(copy, ""));
	CU_ASSERT_FALSE(there(copy, "-new"));
	CU_ASSERT_EQUAL(atoi(get("z/last")), 300);
	suite_end();
}

static const struct suite_test tests[] = {
	STORE_SUITE_KEYS,
	STORE_SUITE_WATCH,
	STORE_SUITE_LEASE,
	STORE_SUITE_SETTLE,
	STORE_SUITE_STATE,
	{ "history: as many revisions as set", sq_history },
	{ "history: the file stays small", sq_file_stays_small },
	{ "disk: hangs", sq_disk_hangs },
	{ "disk: a commit whose sync fails", sq_unknown_commit },
	{ "disk: writes fail", sq_write_fails },
	{ "disk: full at the end of a lease", sq_lease_full },
	{ "backup", sq_backup },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("the store in SQLite", tests);
}
