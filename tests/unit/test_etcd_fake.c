// SPDX-License-Identifier: GPL-2.0-only
/*
 * The etcd engine and a member that is played: answers that a real one gives rarely, and those that
 * it never gives. What is not sent twice is counted there.
 */
#include "etcd_fake.h"
#include "store_suite.h"
#include "userspace/store/et.h"

/* Not used: the engine under test has a member that is played. */
static const struct suite_engine engine;

static struct store_etcd *E;
static struct fake F;
static char endpoint[64];

/* Answers, one letter each; after the end: 'k'. By the thread of the member. */
static const char *script;
static bool is_txn, is_lease;

static Etcd__Header header = ETCD__HEADER__INIT;

/* The answer of success, packed. */
static size_t success(u8 *out)
{
	Etcd__LeaseRevokeRequest empty = ETCD__LEASE_REVOKE_REQUEST__INIT;
	Etcd__RangeResponse range = ETCD__RANGE_RESPONSE__INIT;
	Etcd__TxnResponse txn = ETCD__TXN_RESPONSE__INIT;
	Etcd__KeyValue kv = ETCD__KEY_VALUE__INIT, *kvs[] = { &kv };

	if (is_lease)
		return etcd__lease_revoke_request__pack(&empty, out);
	if (is_txn) {
		txn.header = &header;
		txn.succeeded = true;
		return etcd__txn_response__pack(&txn, out);
	}
	kv.key = (ProtobufCBinaryData) { 1, (u8 *)"a" };
	kv.value = (ProtobufCBinaryData) { 5, (u8 *)"value" };
	kv.create_revision = kv.mod_revision = 7;
	range.header = &header;
	range.kvs = kvs;
	range.n_kvs = 1;
	return etcd__range_response__pack(&range, out);
}

static bool half_message(struct fake *f, unsigned int stream)
{
	return fake_frame(f, H2_DATA, 0, stream, "\0\0\0\0\x09ha", 7) && fake_status(f, stream, "0", "");
}

static bool answer_broken(struct fake *f, unsigned int stream, char how)
{
	static const u8 cancel[] = { 0, 0, 0, 8 }, away[8];

	switch (how) {
	case 'r':	/* the stream is reset */
		return fake_frame(f, H2_RST, 0, stream, cancel, 4);
	case 'g':	/* the member goes away: it has taken this stream, and ends the connection */
		fake_frame(f, H2_GOAWAY, 0, 0, away, 8);
		return false;
	case 'p':	/* a proxy's page */
		return fake_headers(f, stream, false, PAIRS_OF(":status", "503", "content-type", "text/html")) &&
		       fake_frame(f, H2_DATA, H2_END, stream, "<html>", 6);
	case 'x':
		return false;
	}
	return false;
}

static bool answer_wrong(struct fake *f, unsigned int stream, char how, const u8 *msg, size_t len)
{
	fake_headers(f, stream, false, OK_HEADERS);
	switch (how) {
	case 'n':	/* no status */
		return fake_message(f, stream, msg, len, 8192) && fake_frame(f, H2_DATA, H2_END, stream, NULL, 0);
	case 'h':	/* half a message */
		return half_message(f, stream);
	case 'c':	/* compressed */
		return fake_frame(f, H2_DATA, 0, stream, "\1\0\0\0\1x", 6) && fake_status(f, stream, "0", "");
	case 'l':	/* longer than anything is taken */
		return fake_frame(f, H2_DATA, 0, stream, "\0\x7f\0\0\1x", 6);
	case '2':	/* two messages */
		return fake_message(f, stream, msg, len, 8192) && fake_message(f, stream, msg, len, 8192) &&
		       fake_status(f, stream, "0", "");
	case 'e':	/* none */
		return fake_status(f, stream, "0", "");
	case 'j':	/* no message of this kind */
		return fake_message(f, stream, (const u8 *)"\xff\xff\xff", 3, 8192) && fake_status(f, stream, "0", "");
	}
	return false;
}

/* A status without a message, as headers alone. */
static bool answer_status(struct fake *f, unsigned int stream, const char *status, const char *words)
{
	return fake_headers(f, stream, true, PAIRS_OF(":status", "200", "content-type", "application/grpc",
						      "grpc-status", status, "grpc-message", words));
}

static bool answer(struct fake *f, unsigned int stream, const u8 *request, size_t request_len)
{
	char how = *script ? *script++ : 'k';
	u8 msg[256];
	size_t len = success(msg);

	(void)request;
	(void)request_len;
	switch (how) {
	case 'k':	/* in frames of one byte */
		return fake_headers(f, stream, false, OK_HEADERS) && fake_message(f, stream, msg, len, 1) &&
		       fake_status(f, stream, "0", "");
	case 'f':
		return answer_status(f, stream, "8", "etcdserver%3A mvcc%3A database space exceeded");
	case 'L':
		return answer_status(f, stream, "14", "etcdserver: no leader");
	case 'C':
		return answer_status(f, stream, "14", "etcdserver: leader changed");
	case 'u':
		return answer_status(f, stream, "16", "etcdserver: user name is empty");
	case 'N':
		return answer_status(f, stream, "5", "etcdserver: requested lease not found");
	case 'E':
		return answer_status(f, stream, "9", "etcdserver: lease already exists");
	case 'r': case 'g': case 'p': case 'x':
		return answer_broken(f, stream, how);
	}
	return answer_wrong(f, stream, how, msg, len);
}

static void begin(bool (*fn)(struct fake *, unsigned int, const u8 *, size_t))
{
	struct store_etcd_config c = { .endpoint = { endpoint }, .endpoints = 1, .plain = true, .dial_ms = 500 };

	header.cluster_id = 77;
	header.raft_term = 2;
	header.revision = 9;
	fake_begin(&F);
	F.answer = fn;
	fake_start(&F);
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", F.port);
	E = open_etcd(&c);
	S = store_etcd_handle(E);
	store_timeout(S, 20000);
	watches = 0;
}

static void end(void)
{
	store_close(S);
	store_etcd_close(E);
	fake_end(&F);
}

/* A read with these answers: its value or error; @sent: how often it was sent. */
static void read_as(const char *answers, const char *want, unsigned int sent)
{
	script = answers;
	is_txn = false;
	F.requests = 0;
	IS(get("a"), want);
	CU_ASSERT_EQUAL(F.requests, sent);
}

static void reads(void)
{
	begin(answer);
	read_as("", "value", 1);
	/* sent again: what breaks, and what a member says that has no leader or loses it */
	for (const char *c = "rgxpnhceLC2"; *c; c++)
		read_as(((char []) { *c, 0 }), "value", 2);
	read_as("rLxC", "value", 5);
	/* not again */
	read_as("f", "ENOSPC", 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "etcdserver: mvcc: database space exceeded"));
	read_as("u", "EACCES", 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "users"));
	read_as("l", "EIO", 1);
	read_as("j", "EIO", 1);
	store_timeout(S, 2500);
	F.requests = 0;
	script = "pppppppppppppppppppppppppppppp";
	IS(get("a"), "EIO");
	/* with pauses */
	CU_ASSERT(F.requests > 1 && F.requests < 16);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "HTTP 503"));
	end();
}

static void txn_as(const char *answers, int want, unsigned int sent)
{
	u64 r;

	script = answers;
	is_txn = true;
	F.requests = 0;
	CU_ASSERT_EQUAL(store_txn(S, TXN(ALWAYS, OPS(op_put("a", "x"))), &r), want);
	CU_ASSERT_EQUAL(F.requests, sent);
}

/* A transaction is sent again for one reason: a member says that it was not done. */
static void txns(void)
{
	begin(answer);
	txn_as("", 1, 1);
	for (const char *c = "rgxpnhceC2"; *c; c++)
		txn_as(((char []) { *c, 0 }), -EIO, 1);
	txn_as("L", 1, 2);
	txn_as("LL", 1, 3);
	txn_as("LC", -EIO, 2);
	txn_as("f", -ENOSPC, 1);
	txn_as("j", -EIO, 1);
	end();
}

static int lease_as(const char *answers, bool revoke)
{
	u64 lease = 0;
	int err;

	script = answers;
	is_lease = true;
	err = revoke ? store_lease_revoke(S, 5) : store_lease_grant(S, 10, &lease);
	is_lease = false;
	CU_ASSERT(err || revoke || lease);
	return err;
}

/* A lease that an attempt without an answer has made, or ended, is no error of the next attempt. */
static void leases(void)
{
	begin(answer);
	CU_ASSERT_EQUAL(lease_as("xE", false), 0);
	CU_ASSERT_EQUAL(lease_as("E", false), -EIO);
	CU_ASSERT_EQUAL(lease_as("LE", false), -EIO);
	CU_ASSERT_EQUAL(lease_as("f", false), -ENOSPC);
	CU_ASSERT_EQUAL(lease_as("xN", true), 0);
	CU_ASSERT_EQUAL(lease_as("N", true), -ENOENT);
	CU_ASSERT_EQUAL(lease_as("LN", true), -ENOENT);
	CU_ASSERT_EQUAL(lease_as("x", true), 0);
	end();
}

/* --- a stream of watches --- */

static unsigned int connections;
static u64 starts[8];
static struct fake *watch_on;

static bool say(unsigned int stream, Etcd__WatchResponse *r, s64 id)
{
	u8 msg[1024] = { 0 };
	size_t len;

	r->header = &header;
	r->watch_id = id;
	len = etcd__watch_response__pack(r, msg);
	return fake_message(watch_on, stream, msg, len, 8192);
}

static bool say_created(unsigned int stream, s64 id, u64 revision)
{
	Etcd__WatchResponse r = ETCD__WATCH_RESPONSE__INIT;

	header.revision = revision;
	r.created = true;
	return say(stream, &r, id);
}

/* "10:0 10:1 11:0": revisions and values; "..." at the end: more follows. */
static bool say_events(unsigned int stream, s64 id, const char *text)
{
	Etcd__WatchResponse r = ETCD__WATCH_RESPONSE__INIT;
	Etcd__KeyValue kv[8];
	Etcd__Event e[8], *events[8];
	unsigned int n = 0;
	int at;
	unsigned long long revision;
	static char value[8];

	for (; sscanf(text, "%llu:%c%n", &revision, &value[n], &at) == 2; text += at, n++) {
		etcd__key_value__init(&kv[n]);
		etcd__event__init(&e[n]);
		kv[n].key = (ProtobufCBinaryData) { 1, (u8 *)"a" };
		kv[n].value = (ProtobufCBinaryData) { 1, (u8 *)&value[n] };
		kv[n].mod_revision = revision;
		e[n].kv = &kv[n];
		events[n] = &e[n];
	}
	r.events = events;
	r.n_events = n;
	r.fragment = strstr(text, "...") != NULL;
	return say(stream, &r, id);
}

/* How the watch goes, by connections: from 0. */
static bool (*play)(unsigned int connection, unsigned int stream, s64 id);

static bool answer_watch(struct fake *f, unsigned int stream, const u8 *msg, size_t len)
{
	Etcd__WatchRequest *q = etcd__watch_request__unpack(NULL, len, msg);
	bool ok = true;
	s64 id;

	watch_on = f;
	if (q && q->request_case == ETCD__WATCH_REQUEST__REQUEST_CREATE_REQUEST) {
		id = q->create_request->watch_id;
		starts[connections % 8] = q->create_request->start_revision;
		CU_ASSERT(q->create_request->fragment || id == ET_PING_ID);
		fake_headers(f, stream, false, OK_HEADERS);
		ok = play(connections++, stream, id);
	}
	etcd__watch_request__free_unpacked(q, NULL);
	return ok;
}

static void watch_begin(bool (*fn)(unsigned int, unsigned int, s64), u64 after)
{
	play = fn;
	connections = 0;
	begin(answer_watch);
	watch("", after);
}

/* The values of the next events. */
static const char *values(unsigned int nr)
{
	static char text[16];
	struct store_event e;
	unsigned int n = 0;

	while (n < nr && store_next(S, PATIENCE_MS, &e) == 1 && e.kind == STORE_PUT)
		text[n++] = *(const char *)e.kv.value;
	text[n] = 0;
	return text;
}

static bool in_fragments(unsigned int connection, unsigned int stream, s64 id)
{
	static const char *const said[] = { "10:0 10:1...", "10:0 10:1 10:2...", "10:0 10:1 10:2 10:3", "11:4 12:5", "13:6" };

	say_created(stream, id, 20);
	say_events(stream, id, said[connection < 5 ? connection : 4]);
	return connection >= 4;
}

/* A revision that is cut off in a fragment is begun again, and its events come once. */
static void watch_fragments(void)
{
	watch_begin(in_fragments, 9);
	IS(values(7), "0123456");
	CU_ASSERT(starts[0] == 10 && starts[1] == 10 && starts[2] == 10 && starts[3] == 11 && starts[4] == 13);
	IS(no_event(), "");
	end();
}

static bool behind_with_events(unsigned int connection, unsigned int stream, s64 id)
{
	say_created(stream, id, connection ? 20 : 5);
	say_events(stream, id, connection ? "10:0" : "10:x");
	return true;
}

/* A member that is behind the watch, and has events: of another history, perhaps. */
static void watch_behind(void)
{
	watch_begin(behind_with_events, 9);
	IS(values(1), "0");
	IS(no_event(), "");
	end();
}

static bool other_cluster(unsigned int connection, unsigned int stream, s64 id)
{
	header.cluster_id = connection ? 78 : 77;
	say_created(stream, id, 20 + connection);
	if (connection)
		return say_events(stream, id, "21:x");
	say_events(stream, id, "10:0");
	return false;
}

static void watch_other_cluster(void)
{
	watch_begin(other_cluster, 9);
	IS(values(1), "0");
	IS(event_of(S, PATIENCE_MS, NULL), "1 relist");
	IS(no_event(), "");
	end();
}

static bool ended(unsigned int connection, unsigned int stream, s64 id)
{
	Etcd__WatchResponse r = ETCD__WATCH_RESPONSE__INIT;

	say_created(stream, id, 20);
	if (connection)
		return say_events(stream, id, "10:0");
	r.canceled = true;
	r.cancel_reason = "for a reason of etcd";
	return say(stream, &r, id);
}

/* A watch that etcd ends without a compaction goes on. */
static void watch_ended(void)
{
	watch_begin(ended, 9);
	IS(values(1), "0");
	CU_ASSERT_EQUAL(starts[1], 10);
	end();
}

static bool old_version(unsigned int connection, unsigned int stream, s64 id)
{
	(void)connection;
	say_created(stream, 0, 20);
	return say_events(stream, 0, "10:x") && id;
}

/* etcd before 3.4 does not know numbers of the client's. */
static void watch_old_version(void)
{
	watch_begin(old_version, 9);
	store_timeout(S, 200);
	IS(event_of(S, PATIENCE_MS, NULL), "EIO");
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(S), "3.4"));
	end();
}

static bool silent_first(unsigned int connection, unsigned int stream, s64 id)
{
	if (!connection)
		return true;
	say_created(stream, id, 20);
	return say_events(stream, id, "10:0");
}

/* A member that takes a stream, and says nothing on it. */
static void watch_silent(void)
{
	watch_begin(silent_first, 9);
	IS(values(1), "0");
	end();
}

static bool no_leader_first(unsigned int connection, unsigned int stream, s64 id)
{
	say_created(stream, id, 20);
	if (!connection)
		return fake_status(watch_on, stream, "14", "etcdserver: no leader");
	return say_events(stream, id, "10:0");
}

/* The stream of a member that loses the leader ends. */
static void watch_no_leader(void)
{
	watch_begin(no_leader_first, 9);
	IS(values(1), "0");
	end();
}

static const struct suite_test tests[] = {
	{ "reads", reads },
	{ "transactions", txns },
	{ "leases", leases },
	{ "watch: fragments", watch_fragments },
	{ "watch: a member behind", watch_behind },
	{ "watch: another cluster", watch_other_cluster },
	{ "watch: ended by etcd", watch_ended },
	{ "watch: an old version", watch_old_version },
	{ "watch: silence at the begin", watch_silent },
	{ "watch: the leader is lost", watch_no_leader },
	{ NULL, NULL }
};

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return suite_main("etcd that is played", tests);
}
