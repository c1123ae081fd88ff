// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store's etcd engine over one real member, with faults between them: silence, connections
 * that break in the middle, lost answers, compactions meanwhile, a store put back, a full quota.
 */
#include "etcd_proxy.h"
#include "store_suite.h"
#include "userspace/store/et.h"

static struct store_etcd *E;
static struct proxy P[2];
static char endpoint[3][64];

/* Not used: the engine under test has faults. */
static const struct suite_engine engine;

static struct store_etcd_config config(void)
{
	struct store_etcd_config c = { .endpoints = 1, .plain = true, .ping_ms = 300, .dead_ms = 3000 };

	for (int i = 0; i < 2; i++) {
		snprintf(endpoint[i], sizeof(endpoint[i]), "http://127.0.0.1:%u", P[i].port);
		c.endpoint[i] = endpoint[i];
	}
	return c;
}

static struct store *handle(unsigned int ms)
{
	struct store *s = store_etcd_handle(E);

	store_timeout(s, ms);
	return s;
}

/* A handle by the proxies, and the member without its keys of earlier tests. */
static void begin_with(const struct store_etcd_config *c)
{
	proxy_begin(&P[0], M[0].client);
	proxy_begin(&P[1], M[0].client);
	gateway(0, "/v3/kv/deleterange", "{\"key\":\"AA==\",\"range_end\":\"AA==\"}");
	struct store_etcd_config with = config();

	if (c) {
		with.endpoints = c->endpoints;
		with.root = c->root;
		with.events = c->events;
		with.dead_ms = c->dead_ms ? c->dead_ms : with.dead_ms;
		with.ping_ms = c->ping_ms ? c->ping_ms : with.ping_ms;
	}
	E = open_etcd(&with);
	S = handle(20000);
	watches = 0;
}

static void end(void)
{
	store_close(S);
	store_etcd_close(E);
	proxy_end(&P[0]);
	proxy_end(&P[1]);
}

static u64 revision_now(void)
{
	return number_in(gateway(0, "/v3/kv/range", "{\"key\":\"AA==\",\"count_only\":true}"), "revision");
}

static void compact_now(void)
{
	char body[96];

	snprintf(body, sizeof(body), "{\"revision\":\"%llu\",\"physical\":true}",
		 (unsigned long long)revision_now());
	if (!gateway(0, "/v3/kv/compaction", body)[0])
		give_up("etcd does not compact: %s", body);
}

/* Without the engine: KEY in base64. */
static void put_aside(const char *key64)
{
	char body[96];

	snprintf(body, sizeof(body), "{\"key\":\"%s\",\"value\":\"eA==\"}", key64);
	if (!gateway(0, "/v3/kv/put", body)[0])
		give_up("etcd puts nothing: %s", body);
}

/* A member that accepts and never answers: the next endpoint, and no call without an end. */
static void silent_member(void)
{
	u64 from;

	begin_with(&(struct store_etcd_config) { .endpoints = 2 });
	put("a", "1");
	proxy_mode(&P[0], HOLD);
	store_close(S);
	S = handle(6000);
	__atomic_store_n(&((struct et_handle *)S)->e->current, 0, __ATOMIC_RELAXED);
	from = store_now_ms();
	IS(get("a"), "1");
	CU_ASSERT(store_now_ms() - from >= 2500 && store_now_ms() - from < 6000);
	/* the one that answers is in use from now on */
	from = store_now_ms();
	IS(get("a"), "1");
	CU_ASSERT(store_now_ms() - from < 2000);
	proxy_mode(&P[1], HOLD);
	store_close(S);
	S = handle(500);
	from = store_now_ms();
	IS(get("a"), "ETIMEDOUT");
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"))), NULL), -ETIMEDOUT);
	CU_ASSERT(store_now_ms() - from >= 1000 && store_now_ms() - from < 4000);
	end();
}

struct lost {
	struct store *s;
	int	ret;
	u64	revision;
};

static void *put_lost(void *arg)
{
	struct lost *l = arg;

	l->ret = store_txn(l->s, TXN(ALWAYS, OPS(op_put("a", "lost"))), &l->revision);
	return NULL;
}

/* Done, and the answer lost: unknown, and not sent a second time. */
static void answer_lost_by(struct store *s, u64 was)
{
	struct lost l = { .s = s };
	pthread_t t;

	proxy_mode(&P[0], MUTE);
	pthread_create(&t, NULL, put_lost, &l);
	UNTIL(revision_now() > was, "the transaction does not come to the member");
	proxy_mode(&P[0], BREAK);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(l.ret, -EIO);
	CU_ASSERT_EQUAL(revision_now(), was + 1);
}

static void answer_lost(void)
{
	u64 was;

	begin_with(NULL);
	was = put("a", "1");
	answer_lost_by(S, was);
	IS(get("a"), "lost");
	CU_ASSERT_EQUAL(revision_now(), was + 1);
	end();
}

static void *settle_lost(void *arg)
{
	struct lost *l = arg;

	l->ret = store_txn_settle(l->s, TXN(COMPARES(absent("a")), OPS(op_put("a", "id"))),
				  store_now_ms() + PATIENCE_MS, &l->revision);
	return NULL;
}

static void settled(void)
{
	struct lost l;
	pthread_t t;
	u64 was;

	begin_with(NULL);
	was = put("b", "1");
	l.s = S;
	proxy_mode(&P[0], MUTE);
	pthread_create(&t, NULL, settle_lost, &l);
	UNTIL(revision_now() > was, "the transaction does not come to the member");
	proxy_mode(&P[0], BREAK);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(l.ret, 1);
	CU_ASSERT_EQUAL(l.revision, was + 1);
	CU_ASSERT_EQUAL(revision_now(), was + 1);
	end();
}

/* A member that is not there is left for another before anything is sent. */
static void refused(void)
{
	u64 was;

	begin_with(&(struct store_etcd_config) { .endpoints = 2 });
	was = put("a", "1");
	proxy_mode(&P[0], CUT);
	__atomic_store_n(&E->current, 0, __ATOMIC_RELAXED);
	proxy_end(&P[0]);
	CU_ASSERT_EQUAL(put("a", "2"), was + 1);
	proxy_begin(&P[0], M[0].client);
	end();
}

/* Watches go on over broken connections, without a gap and without a repeat. */
static void watch_breaks(void)
{
	struct store *other;
	struct store_event e;
	unsigned int n = 0, wrong = 0;
	u64 from;

	begin_with(NULL);
	other = store_etcd_handle(E);
	store_timeout(other, 20000);
	from = put("n/1", "0");
	watch("n/", from);
	watch("n/", from - 1);
	IS(event() + 1, " put n/1=0");
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 5; i++)
			put_aside("bi8x");		/* n/1 */
		proxy_mode(&P[0], CUT);
		for (int i = 0; i < 5; i++)
			put_aside("bi8x");
		proxy_mode(&P[0], PASS);
	}
	u64 last[3] = { 0, from, from };

	while (n < 80 && store_next(S, PATIENCE_MS, &e) == 1) {
		wrong += e.kind != STORE_PUT || e.kv.modified != last[nth_watch(e.watch)] + 1;
		last[nth_watch(e.watch)] = e.kv.modified;
		n++;
	}
	CU_ASSERT_EQUAL(n, 80);
	CU_ASSERT_EQUAL(wrong, 0);
	IS(no_event(), "");
	store_close(other);
	end();
}

static bool was_cut(void)
{
	return __atomic_load_n(&P[0].mode, __ATOMIC_RELAXED) == CUT;
}

/*
 * A response in fragments that is cut off in the third event: the member splits what is above two
 * MiB, and the stream begins again after the first fragment.
 */
static void watch_fragments(void)
{
	static char big[1 << 20];
	struct store_event e;
	char key[16];
	u64 from;

	begin_with(NULL);
	from = revision_of(S);
	for (int i = 0; i < 6; i++) {
		snprintf(key, sizeof(key), "big/%d", i);
		change(S, (struct store_op) { key, big, sizeof(big), 0 });
	}
	__atomic_store_n(&P[0].limit, 2800000, __ATOMIC_RELAXED);
	watch("big/", from);
	UNTIL(was_cut(), "no connection was cut");
	proxy_mode(&P[0], BREAK);
	for (int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL_FATAL(store_next(S, PATIENCE_MS, &e), 1);
		snprintf(key, sizeof(key), "big/%d", i);
		IS(e.kv.key, key);
		CU_ASSERT(e.kv.len == sizeof(big) && e.kv.modified == from + 1 + i);
	}
	IS(no_event(), "");
	end();
}

/* A handle that does not read keeps a bounded number of bytes, and misses nothing. */
static void watch_unread(void)
{
	static char big[1 << 18];
	struct store_event e;
	char key[16];
	u64 from;
	size_t most = 0;

	begin_with(&(struct store_etcd_config) { .endpoints = 1, .events = 1 << 20 });
	from = revision_of(S);
	watch("big/", from);
	for (int i = 0; i < 32; i++) {
		snprintf(key, sizeof(key), "big/%d", i);
		change(S, (struct store_op) { key, big, sizeof(big), 0 });
		pthread_mutex_lock(&E->lock);
		most = et_handle(S)->event_bytes > most ? et_handle(S)->event_bytes : most;
		pthread_mutex_unlock(&E->lock);
	}
	for (int i = 0; i < 32; i++) {
		CU_ASSERT_EQUAL_FATAL(store_next(S, PATIENCE_MS, &e), 1);
		CU_ASSERT_EQUAL(e.kv.modified, from + 1 + i);
	}
	/* one response more than the limit */
	CU_ASSERT(most > 0 && most < 4 << 20);
	IS(no_event(), "");
	end();
}

/* A watch that is where the compaction is misses nothing; one that is further back may have. */
static void watch_compaction(void)
{
	u64 from;

	begin_with(NULL);
	from = put("a", "1");
	watch("a", from);
	watch("c", from);
	put("a", "2");
	IS(event(), "1 put a=2");
	put("c", "1");
	put("c", "2");
	IS(event(), "2 put c=1");
	IS(event(), "2 put c=2");
	proxy_mode(&P[0], CUT);
	compact_now();
	proxy_mode(&P[0], PASS);
	IS(event_of(S, PATIENCE_MS, NULL), "1 relist");
	put_aside("Yw==");			/* c */
	IS(event_of(S, PATIENCE_MS, NULL), "2 put c=x");
	/* now it has missed some */
	proxy_mode(&P[0], CUT);
	for (int i = 0; i < 4; i++)
		put_aside("Yw==");
	compact_now();
	proxy_mode(&P[0], PASS);
	IS(event_of(S, PATIENCE_MS, NULL), "2 relist");
	put_aside("Yw==");
	IS(no_event(), "");
	end();
}

/* Silence on a connection that stays: found by probes, and the watch goes on elsewhere. */
static void watch_silent(void)
{
	u64 from;

	begin_with(&(struct store_etcd_config) { .endpoints = 2, .ping_ms = 100, .dead_ms = 500 });
	from = put("a", "1");
	watch("a", from);
	put("a", "2");
	IS(event(), "1 put a=2");
	proxy_mode(&P[__atomic_load_n(&E->current, __ATOMIC_RELAXED)], HOLD);
	put_aside("YQ==");
	IS(event_of(S, PATIENCE_MS, NULL), "1 put a=x");
	IS(no_event(), "");
	end();
}

/* A quiet stream is not taken for a silent one: probes are answered. */
static void watch_quiet(void)
{
	unsigned int was;

	begin_with(&(struct store_etcd_config) { .endpoints = 1, .ping_ms = 20, .dead_ms = 4000 });
	watch("a", revision_of(S));
	put("a", "1");
	IS(event(), "1 put a=1");
	was = proxy_accepted(&P[0]);
	IS(event_of(S, 5000, NULL), "");
	CU_ASSERT_EQUAL(proxy_accepted(&P[0]), was);
	put_aside("YQ==");
	IS(event(), "1 put a=x");
	end();
}

/* No member at all: one error once the time-out has passed, then silence, then events. */
static void watch_outage(void)
{
	struct pollfd p = { .events = POLLIN };
	unsigned int tried;
	u64 from;

	begin_with(NULL);
	watch("a", put("a", "1"));
	put("a", "2");
	IS(event(), "1 put a=2");
	proxy_mode(&P[0], CUT);
	store_timeout(S, 400);
	p.fd = store_fd(S);
	IS(event_of(S, 0, NULL), "");
	from = store_now_ms();
	CU_ASSERT_EQUAL(poll(&p, 1, PATIENCE_MS), 1);
	IS(event_of(S, PATIENCE_MS, NULL), "EIO");
	CU_ASSERT(store_now_ms() - from >= 200);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "127.0.0.1"));
	tried = proxy_accepted(&P[0]);
	IS(event_of(S, 2000, NULL), "");
	/* with pauses, of a second at last */
	CU_ASSERT(proxy_accepted(&P[0]) > tried && proxy_accepted(&P[0]) < tried + 12);
	put_aside("YQ==");
	proxy_mode(&P[0], PASS);
	IS(event_of(S, PATIENCE_MS, NULL), "1 put a=x");
	/* the next outage is reported again */
	proxy_mode(&P[0], CUT);
	IS(event_of(S, PATIENCE_MS, NULL), "EIO");
	end();
}

static void member_copy(void)
{
	member_end(0, SIGTERM);
	folder_keep();
	member_start(0);
	wait_healthy(0);
}

static void member_put_back(void)
{
	member_end(0, SIGKILL);
	folder_put_back();
	member_start(0);
	wait_healthy(0);
}

/* Put back under a watch: behind its revision; or ahead of it again, but with an older term. */
static void watch_put_back(bool ahead)
{
	u64 from;

	begin_with(NULL);
	put("a", "1");
	member_copy();
	if (ahead) {
		for (int i = 0; i < 2; i++) {
			member_end(0, SIGKILL);
			member_start(0);
			wait_healthy(0);
		}
	}
	from = put("a", "2");
	watch("a", from);
	watch("b", from);
	put_aside("YQ==");
	IS(event_of(S, PATIENCE_MS, NULL), "1 put a=x");
	proxy_mode(&P[0], CUT);
	member_put_back();
	for (int i = 0; ahead && i < 9; i++)
		put_aside("Yw==");
	proxy_mode(&P[0], PASS);
	/* of either watch first */
	for (int i = 0; i < 2; i++) {
		const char *got = event_of(S, PATIENCE_MS, NULL);

		CU_ASSERT(!strcmp(got, "1 relist") || !strcmp(got, "2 relist"));
	}
	put_aside("YQ==");
	IS(no_event(), "");
	watch("a", revision_of(S));
	put_aside("YQ==");
	IS(event_of(S, PATIENCE_MS, NULL), "3 put a=x");
	end();
}

static void watch_behind(void)
{
	watch_put_back(false);
}

static void watch_older_term(void)
{
	watch_put_back(true);
}

/* Keys beside the root are another user's. */
static void root_apart(void)
{
	u64 from;

	begin_with(&(struct store_etcd_config) { .endpoints = 1, .root = "mine/" });
	from = put("a", "1");
	put_aside("bWluZQ==");			/* mine */
	put_aside("bWluZTA=");			/* mine0 */
	put_aside("bWluZS9i");			/* mine/b */
	IS(list(""), "a=1 b=x ");
	IS(get("mine/a"), "ENOENT");
	watch("", from);
	IS(event(), "1 put b=x");
	IS(no_event(), "");
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_del("a"), op_del("b"))), NULL), 1);
	CU_ASSERT_EQUAL(store_txn(S, TXN(COMPARES(none_below("")), NOTHING), NULL), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(gateway(0, "/v3/kv/range", "{\"key\":\"bWluZTA=\"}"), "bWluZTA="));
	end();
}

/* Pages are small where values are large, and grow again. */
static void pages_grow(void)
{
	static char big[1 << 20];
	struct store_page p;
	char key[24], last[24] = "";
	unsigned int pages = 0, nr = 0;
	bool more = true;

	begin_with(NULL);
	for (int i = 0; i < 5; i++) {
		snprintf(key, sizeof(key), "big/%d", i);
		change(S, (struct store_op) { key, big, sizeof(big), 0 });
	}
	for (int i = 100; i < 200; i++) {
		snprintf(key, sizeof(key), "small/%d", i);
		put(key, "x");
	}
	for (; more && pages < 100; pages++) {
		CU_ASSERT_EQUAL_FATAL(store_range(S, "", last[0] ? last : NULL, 1000, 0, &p), 0);
		CU_ASSERT_FATAL(p.nr > 0);
		nr += p.nr;
		more = p.more;
		snprintf(last, sizeof(last), "%s", p.kv[p.nr - 1].key);
		store_page_free(&p);
	}
	CU_ASSERT_EQUAL(nr, 105);
	CU_ASSERT(pages > 2 && pages < 12);
	end();
}

static void *get_slow(void *arg)
{
	struct store_page p;
	int *ret = arg;

	*ret = store_get(S, "a", &p);
	store_page_free(&p);
	return NULL;
}

/* An interrupt ends a call that waits for a silent member. */
static void interrupted(void)
{
	u64 from = store_now_ms();
	pthread_t t;
	int ret = 0;

	begin_with(NULL);
	proxy_mode(&P[0], HOLD);
	store_timeout(S, PATIENCE_MS);
	pthread_create(&t, NULL, get_slow, &ret);
	UNTIL(proxy_accepted(&P[0]), "no call is sent");
	store_interrupt(S);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(ret, -ECANCELED);
	CU_ASSERT(store_now_ms() - from < PATIENCE_MS);
	end();
}

static void alarm_off(void)
{
	char body[128], text[1024];

	compact_now();
	if (!gateway(0, "/v3/maintenance/defragment", "{}")[0])
		give_up("etcd does not defragment");
	snprintf(text, sizeof(text), "%s", gateway(0, "/v3/maintenance/status", "{}"));
	snprintf(body, sizeof(body), "{\"action\":\"DEACTIVATE\",\"memberID\":\"%llu\",\"alarm\":\"NOSPACE\"}",
		 (unsigned long long)number_in(text, "member_id"));
	if (!gateway(0, "/v3/maintenance/alarm", body)[0])
		give_up("etcd keeps its alarm");
}

/* A quota that is used up: what could make the store larger is refused until an operator acts. */
static void quota(void)
{
	static char big[1 << 20];
	u64 lease = 0, r = 0, was;
	int ret = 1;

	member_args[0] = "--quota-backend-bytes";
	member_args[1] = "6000000";
	member_end(0, SIGTERM);
	member_start(0);
	wait_healthy(0);
	begin_with(NULL);
	alarm_off();
	was = put("a", "1");
	for (int i = 0; i < 20 && ret == 1; i++) {
		ret = store_txn(S, TXN(ALWAYS, OPS(((struct store_op) { "big", big, sizeof(big), 0 }))), &r);
		was = ret == 1 ? r : was;
	}
	CU_ASSERT_EQUAL(ret, -ENOSPC);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "disarm the alarm"));
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "2"), op_del("big"))), &r), -ENOSPC);
	CU_ASSERT_EQUAL(store_lease_grant(S, 100, &lease), -ENOSPC);
	CU_ASSERT_EQUAL(revision_of(S), was);
	IS(get("a"), "1");
	/* what makes it smaller is not */
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_del("big"))), &r), 1);
	alarm_off();
	CU_ASSERT_EQUAL(put("a", "3"), was + 2);
	CU_ASSERT_EQUAL(store_lease_grant(S, 100, &lease), 0);
	end();
	member_args[0] = NULL;
}

static const struct suite_test tests[] = {
	{ "calls: a silent member", silent_member },
	{ "calls: an answer is lost", answer_lost },
	{ "calls: a lost answer is settled", settled },
	{ "calls: a member that is not there", refused },
	{ "calls: interrupt", interrupted },
	{ "calls: pages grow again", pages_grow },
	{ "watch: connections break", watch_breaks },
	{ "watch: cut off in fragments", watch_fragments },
	{ "watch: a handle that does not read", watch_unread },
	{ "watch: compaction during a break", watch_compaction },
	{ "watch: a silent member", watch_silent },
	{ "watch: a quiet member", watch_quiet },
	{ "watch: no member", watch_outage },
	{ "watch: a store put back, behind", watch_behind },
	{ "watch: a store put back, ahead", watch_older_term },
	{ "root: keys of others", root_apart },
	{ "a quota that is used up", quota },
	{ NULL, NULL }
};

int main(void)
{
	int ret;

	folder_begin();
	members_begin(1);
	wait_healthy(0);
	ret = suite_main("etcd with faults", tests);
	members_end();
	return ret;
}
