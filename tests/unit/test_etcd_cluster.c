// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store's etcd engine over three real members: the leader is killed, two are lost and come
 * back, one hangs. ETCD_ROUNDS is how often members are killed and paused under load: 2 unless set.
 */
#include "etcd_rig.h"
#include "store_suite.h"
#include "userspace/store/et.h"

#define LONG_MS	60000

static struct store_etcd *E;
static char endpoint[MEMBERS][64];

/* Not used: the engine under test has several members. */
static const struct suite_engine engine;

static void begin(void)
{
	struct store_etcd_config c = { .endpoints = MEMBERS, .plain = true, .ping_ms = 300, .dead_ms = 700 };

	for (int i = 0; i < MEMBERS; i++) {
		snprintf(endpoint[i], sizeof(endpoint[i]), "http://127.0.0.1:%u", M[i].client);
		c.endpoint[i] = endpoint[i];
	}
	E = open_etcd(&c);
	S = store_etcd_handle(E);
	store_timeout(S, 20000);
	watches = 0;
	CU_ASSERT_EQUAL(store_txn_settle(S, TXN(COMPARES(none_below("begin")), OPS(op_del("n/1"))),
					 store_now_ms() + LONG_MS, NULL), 1);
}

static void end(void)
{
	store_close(S);
	store_etcd_close(E);
}

/* A put that is done once, whatever members do meanwhile. */
static u64 settle_put(const char *key, const char *value)
{
	u64 revision = 0, was = modified_of(key);
	struct store_compare c = was ? same(key, was) : absent(key);

	CU_ASSERT_EQUAL(store_txn_settle(S, TXN(COMPARES(c), OPS(op_put(key, value))),
					 store_now_ms() + LONG_MS, &revision), 1);
	return revision;
}

static unsigned int leader(void)
{
	unsigned int i = 0;

	UNTIL(leads(i = (i + 1) % MEMBERS), "no member of etcd becomes the leader");
	return i;
}

static u64 seen;

/* Events of n/1, whose values are numbers that rise by one. */
static void count_events(unsigned int from, unsigned int to)
{
	struct store_event e;
	char want[16];

	for (unsigned int i = from; i <= to; i++) {
		int ret = store_next(S, LONG_MS, &e);

		while (ret == -EIO)
			ret = store_next(S, LONG_MS, &e);
		CU_ASSERT_EQUAL_FATAL(ret, 1);
		CU_ASSERT_EQUAL_FATAL(e.kind, STORE_PUT);
		snprintf(want, sizeof(want), "%u", i);
		CU_ASSERT(e.kv.len == strlen(want) && !memcmp(e.kv.value, want, e.kv.len));
		CU_ASSERT(e.kv.modified > seen);
		seen = e.kv.modified;
	}
}

static unsigned int put_numbers(unsigned int from, unsigned int nr)
{
	char value[16];

	for (unsigned int i = from; i < from + nr; i++) {
		snprintf(value, sizeof(value), "%u", i);
		settle_put("n/1", value);
	}
	return from + nr;
}

/* A transaction in flight has an answer or is settled; watches go on elsewhere. */
static void leader_killed(void)
{
	unsigned int rounds = getenv("ETCD_ROUNDS") ? atoi(getenv("ETCD_ROUNDS")) : 2, n = 1, from = 1, l;

	begin();
	seen = revision_of(S);
	watch("n/", seen);
	for (unsigned int i = 0; i < rounds; i++) {
		n = put_numbers(n, 5);
		l = leader();
		member_end(l, SIGKILL);
		n = put_numbers(n, 5);
		count_events(from, n - 1);
		from = n;
		member_start(l);
		wait_healthy(l);
	}
	CU_ASSERT_EQUAL(atoi(get("n/1")), (int)n - 1);
	IS(no_event(), "");
	end();
}

/* Without a majority nothing is answered, least of all by the member that is left. */
static void two_lost(void)
{
	struct store_page p;
	u64 from, was;

	begin();
	was = settle_put("a", "1");
	seen = was;
	watch("n/", was);
	put_numbers(1, 2);
	count_events(1, 2);
	member_end(1, SIGKILL);
	member_end(2, SIGKILL);
	store_timeout(S, 1500);
	from = store_now_ms();
	CU_ASSERT(store_get(S, "a", &p) < 0);
	store_page_free(&p);
	CU_ASSERT(store_txn(S, TXN(COMPARES(same("a", was)), NOTHING), NULL) < 0);
	CU_ASSERT(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"))), NULL) < 0);
	CU_ASSERT(store_lease_keep(S, 4711) < 0);
	CU_ASSERT(store_now_ms() - from < 15000);
	IS(event_of(S, LONG_MS, NULL), "EIO");
	member_start(1);
	wait_healthy(1);
	store_timeout(S, 20000);
	put_numbers(3, 2);
	count_events(3, 4);
	member_start(2);
	wait_healthy(2);
	put_numbers(5, 2);
	count_events(5, 6);
	end();
}

/* A member that hangs longer than a call may take: reads and watches go elsewhere. */
static void one_paused(void)
{
	unsigned int l, in_use;
	u64 from;

	begin();
	seen = revision_of(S);
	watch("n/", seen);
	put_numbers(1, 2);
	count_events(1, 2);
	for (int turn = 0; turn < 2; turn++) {
		l = leader();
		in_use = turn ? l : (l + 1) % MEMBERS;
		__atomic_store_n(&E->current, in_use, __ATOMIC_RELAXED);
		kill(M[in_use].pid, SIGSTOP);
		store_timeout(S, 9000);
		put_numbers(3 + 2 * turn, 2);
		from = store_now_ms();
		IS(get("n/1"), turn ? "6" : "4");
		CU_ASSERT(store_now_ms() - from < 9000);
		count_events(3 + 2 * turn, 4 + 2 * turn);
		kill(M[in_use].pid, SIGCONT);
		wait_healthy(in_use);
	}
	end();
}

/* A member that was away is behind the watch for a moment: no list is needed again. */
static void member_behind(void)
{
	begin();
	member_end(2, SIGKILL);
	put_numbers(1, 30);
	seen = revision_of(S);
	member_start(2);
	__atomic_store_n(&E->current, 2, __ATOMIC_RELAXED);
	watch("n/", seen);
	put_numbers(31, 2);
	count_events(31, 32);
	wait_healthy(2);
	end();
}

static const struct suite_test tests[] = {
	{ "the leader is killed", leader_killed },
	{ "two of three are lost and come back", two_lost },
	{ "one hangs", one_paused },
	{ "one is behind", member_behind },
	{ NULL, NULL }
};

int main(void)
{
	int ret;

	folder_begin();
	members_begin(MEMBERS);
	for (unsigned int i = 0; i < MEMBERS; i++)
		wait_healthy(i);
	ret = suite_main("etcd of three members", tests);
	members_end();
	return ret;
}
