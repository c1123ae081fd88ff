// SPDX-License-Identifier: GPL-2.0-only
/* The link: keys of hosts and tokens, rights, leases, limits of a server, and its strangers. */
#include "store_link_rig.h"

#define SELF	"01010101-0101-0101-0101-010101010101"
#define OTHER	"02020202-0202-0202-0202-020202020202"
#define VOL	"03030303-0303-0303-0303-030303030303"

#define DEVICE(host)	"{\"v\":1000,\"op\":\"a\",\"host\":\"" host "\",\"disks\":[]}"
#define ALIVE(host)	"{\"v\":1000,\"op\":\"a\",\"host\":\"" host "\",\"boot\":\"" VOL "\",\"meshd\":\"1\"," \
			"\"format\":1000,\"started\":0}"
#define HOST(host, role) "{\"v\":1000,\"op\":\"a\",\"host\":\"" host "\",\"name\":\"h\",\"role\":\"" role "\"," \
			"\"maintenance\":false,\"removed\":false,\"addresses\":[]}"
#define CLUSTER		"{\"v\":1000,\"op\":\"a\",\"cluster\":\"" VOL "\",\"generation\":0,\"format\":1000}"

/* Read a key that exists: the link works. */
static int try_read(struct store *s)
{
	struct store_identity i;

	return store_identity(s, &i);
}

static int connect_with(const struct store_link_config *c, unsigned int ms, char words[LINK_WHY])
{
	struct store_link *l = open_config(c);
	struct store *s = store_link_handle(l);
	int err;

	store_timeout(s, ms);
	err = try_read(s);
	snprintf(words, LINK_WHY, "%s", store_why(s));
	store_close(s);
	store_link_close(l);
	return err;
}

static void good(const struct store_link_config *c)
{
	char words[LINK_WHY];
	int err = connect_with(c, SLOW_MS, words);

	if (err)
		printf("\n  %s\n", words);
	CU_ASSERT_EQUAL(err, 0);
}

/* A key that is refused is tried again for the whole time-out, and the words say so. */
static void refused(const struct store_link_config *c)
{
	char words[LINK_WHY];

	CU_ASSERT_EQUAL(connect_with(c, 400, words), -ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(words, "refuses this host's key"));
	if (!strstr(words, "refuses"))
		printf("\n  %s\n", words);
}

static void test_keys(void)
{
	struct store_link_config c;

	begin();
	for (u8 role = PLAN_CLIENT; role <= PLAN_STORE; role++) {
		c = config_of(1, role);
		good(&c);
		/* its own key under another role, another UUID, another id of the master */
		for (u8 as = PLAN_CLIENT; as <= PLAN_STORE; as++) {
			c.self.role = as;
			if (as != role)
				refused(&c);
		}
		c.self.role = role;
		c.self.uuid = uuid_of(2);
		refused(&c);
		c = config_of(1, role);
		c.self.key_id = 4;
		refused(&c);
	}
	c = config_of(1, PLAN_CLIENT);
	c.psk.b[0] ^= 1;
	refused(&c);
	/* a host key or a login key is no TLS key */
	secret_host(&secrets.masters.now, &c.self.uuid, PLAN_CLIENT, &c.psk);
	refused(&c);
	secret_login(&c.psk, &c.psk);
	refused(&c);
	node_end();
}

static void test_removed(void)
{
	struct store_link_config c;
	struct store_link *l;
	struct store *s;

	begin();
	c = config_of(7, PLAN_STORAGE);
	l = open_config(&c);
	s = patient(l);
	CU_ASSERT_EQUAL(try_read(s), 0);
	pthread_mutex_lock(&rig_lock);
	removed_host = uuid_of(7);
	pthread_mutex_unlock(&rig_lock);
	/* the connection that is up ends with its next request, without an answer */
	store_timeout(s, 400);
	CU_ASSERT(try_read(s) < 0);
	CU_ASSERT(SOON_TRUE(counts(0).conns == 0));
	refused(&c);
	store_close(s);
	store_link_close(l);
	node_end();
}

static void test_removed_idle(void)
{
	struct raw r;

	begin();
	CU_ASSERT_EQUAL(raw_host(&r, 7, PLAN_CLIENT), 0);
	CU_ASSERT(SOON_TRUE(counts(0).conns == 1));
	pthread_mutex_lock(&rig_lock);
	removed_host = uuid_of(7);
	pthread_mutex_unlock(&rig_lock);
	link_server_check(N.s[0]);
	CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
	raw_close(&r);
	node_end();
}

/* Both masters of a rotation are good; then the former one ends, with its sessions. */
static void test_rotation(void)
{
	struct store_link_config old_key, new_key;
	struct link_identity next;
	struct link_keys keys;
	struct store_link *l;
	struct secret psk;
	struct store *s;

	begin();
	old_key = config_of(1, PLAN_CLIENT);
	l = open_config(&old_key);
	s = patient(l);
	CU_ASSERT_EQUAL(try_read(s), 0);
	pthread_mutex_lock(&rig_lock);
	CU_ASSERT_EQUAL(secret_rotate(&secrets.masters), 0);
	pthread_mutex_unlock(&rig_lock);
	link_server_check(N.s[0]);
	CU_ASSERT_EQUAL(store_link_keys(s, &keys), 0);
	CU_ASSERT(keys.key_id == 4 && keys.role == PLAN_CLIENT && !keys.knows);
	CU_ASSERT(muuid_equal(&keys.cluster, &secrets.cluster));
	secret_tls(&keys.host, &psk);
	new_key = old_key;
	new_key.self.key_id = 4;
	new_key.psk = psk;
	good(&old_key);
	good(&new_key);
	next = new_key.self;
	store_link_identity(l, &next, &psk);
	CU_ASSERT_EQUAL(try_read(s), 0);
	pthread_mutex_lock(&rig_lock);
	secrets.masters.before.id = 0;
	pthread_mutex_unlock(&rig_lock);
	link_server_check(N.s[0]);
	refused(&old_key);
	CU_ASSERT_EQUAL(try_read(s), 0);
	store_close(s);
	store_link_close(l);
	node_end();
}

static void test_former_sessions_end(void)
{
	struct raw r;

	begin();
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_CLIENT), 0);
	CU_ASSERT(SOON_TRUE(counts(0).conns == 1));
	pthread_mutex_lock(&rig_lock);
	secrets.masters.now.key.b[0] ^= 1;
	pthread_mutex_unlock(&rig_lock);
	link_server_check(N.s[0]);
	CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
	raw_close(&r);
	node_end();
}

static int get_of(struct store *s, const char *key)
{
	struct store_page p;
	int err = store_get(s, key, &p);

	store_page_free(&p);
	return err;
}

static void test_rights(void)
{
	struct store_link *l, *up;
	struct store_page p;
	struct store *s, *m, *d;
	u64 id, lease;

	begin();
	d = direct();
	CU_ASSERT_EQUAL(put_in(d, "volume/" VOL, "{\"allow\":\"all\"}", NULL), 1);
	l = client_open(1, PLAN_CLIENT);
	up = client_open(2, PLAN_STORE);
	s = patient(l);
	m = patient(up);
	CU_ASSERT_EQUAL(get_of(s, "volume/" VOL), 0);
	CU_ASSERT_EQUAL(get_of(s, "token/" VOL), -EACCES);
	CU_ASSERT_EQUAL(get_of(m, "token/" VOL), -ENOENT);
	CU_ASSERT_EQUAL(store_range(s, "", NULL, 9, 0, &p), -EACCES);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(s), "client must not read"));
	CU_ASSERT_EQUAL(store_range(s, "volume/", NULL, 9, 0, &p), 0);
	store_page_free(&p);
	CU_ASSERT_EQUAL(store_watch(s, "", 0, &id), -EACCES);
	CU_ASSERT_EQUAL(store_watch(s, "token/", 0, &id), -EACCES);
	CU_ASSERT_EQUAL(store_watch(s, "volume/", 0, &id), 0);
	CU_ASSERT_EQUAL(put_in(s, "cluster", "{}", NULL), -EACCES);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(s), "client must not write"));
	CU_ASSERT_EQUAL(put_in(s, "device/" OTHER, DEVICE(OTHER), NULL), -EACCES);
	CU_ASSERT_EQUAL(put_in(s, "device/" SELF, DEVICE(SELF), NULL), 1);
	/* the codec's sentence, and another error than that of a right */
	CU_ASSERT_EQUAL(put_in(s, "device/" SELF, DEVICE("x"), NULL), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(s), "device/" SELF ": device: host is not a UUID"));
	CU_ASSERT_EQUAL(put_in(m, "cluster", "{}", NULL), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(m), "cluster: cluster: v is missing"));
	CU_ASSERT_EQUAL(put_in(m, "cluster", CLUSTER, NULL), 1);
	CU_ASSERT_EQUAL(get_of(d, "device/" OTHER), -ENOENT);
	CU_ASSERT_EQUAL(store_lease_grant(s, 100, &lease), 0);
	store_close(s);
	store_close(m);
	store_close(d);
	store_link_close(l);
	store_link_close(up);
	node_end();
}

/* The judged value is read for a compare; where that does not hold, nothing is done, and it says so. */
static void test_rights_by_value(void)
{
	const char *value = HOST(SELF, "client");
	struct store_compare c = { STORE_ABSENT, "host/" SELF, 0 };
	struct store_op o = { "host/" SELF, value, strlen(value), 0 };
	struct store_txn t = { &c, 1, &o, 1 };
	struct store_link *l;
	struct store *s;
	u64 r = 0, was;

	begin();
	l = client_open(1, PLAN_CLIENT);
	s = patient(l);
	CU_ASSERT_EQUAL(store_txn(s, &t, &was), 1);
	CU_ASSERT_EQUAL(store_txn(s, &t, &r), 0);
	CU_ASSERT_EQUAL(r, was);
	c = (struct store_compare) { STORE_SAME, "host/" SELF, was + 1 };
	CU_ASSERT_EQUAL(store_txn(s, &t, &r), 0);
	c.modified = was;
	CU_ASSERT_EQUAL(store_txn(s, &t, &r), 1);
	CU_ASSERT_EQUAL(r, was + 1);
	t.compares = 0;
	CU_ASSERT_EQUAL(store_txn(s, &t, &r), -EACCES);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(s), "must compare"));
	store_close(s);
	store_link_close(l);
	node_end();
}

static int put_leased(struct store *s, const char *key, const char *value, u64 lease)
{
	struct store_op o = { key, value, strlen(value), lease };

	return store_txn(s, &(struct store_txn) { NULL, 0, &o, 1 }, NULL);
}

static void test_leases(void)
{
	struct frame f = { .type = FRAME_REVOKE, .id = 1, .ms = SLOW_MS };
	struct store_link *a, *b;
	struct store *s, *same, *o;
	struct raw r;
	u64 lease;

	begin();
	a = client_open(1, PLAN_CLIENT);
	b = client_open(2, PLAN_CLIENT);
	s = patient(a);
	same = patient(a);
	o = patient(b);
	CU_ASSERT_EQUAL(store_lease_grant(s, 100, &lease), 0);
	CU_ASSERT_EQUAL(put_leased(s, "alive/" SELF, ALIVE(SELF), lease), 1);
	/* another handle of the host may use it, another host may not */
	CU_ASSERT_EQUAL(store_lease_keep(same, lease), 0);
	CU_ASSERT_EQUAL(put_leased(same, "alive/" SELF, ALIVE(SELF), lease), 1);
	CU_ASSERT_EQUAL(put_leased(o, "alive/" OTHER, ALIVE(OTHER), lease), -ENOENT);
	CU_ASSERT_EQUAL(store_lease_keep(o, lease), -ENOENT);
	CU_ASSERT_EQUAL(store_lease_revoke(o, lease), -ENOENT);
	CU_ASSERT_EQUAL(raw_host(&r, 2, PLAN_STORE), 0);
	f.lease = lease;
	CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), 0);
	CU_ASSERT(r.rx.f.type == FRAME_ERROR && r.rx.f.err == -ENOENT);
	raw_close(&r);
	/* it survives a restart of the server */
	server_stop(0);
	server_start(0);
	CU_ASSERT_EQUAL(store_lease_keep(s, lease), 0);
	CU_ASSERT(holds(s, "alive/" SELF, ALIVE(SELF)));
	CU_ASSERT_EQUAL(store_lease_revoke(s, lease), 0);
	CU_ASSERT_EQUAL(get_of(s, "alive/" SELF), -ENOENT);
	store_close(s);
	store_close(same);
	store_close(o);
	store_link_close(a);
	store_link_close(b);
	node_end();
}

/* A token as meshctl prints it. */
static struct token token_for(struct store *s, u8 role, unsigned int seconds)
{
	struct token t = { .role = role, .key_id = 3, .addresses = 1 };
	char words[JOIN_WHY];

	strcpy(t.address[0].name, "localhost");
	t.address[0].port = N.port[0];
	CU_ASSERT_EQUAL(join_issue(s, &t, seconds, words), 0);
	secret_token(&secrets.masters.now, &t.id, &t.secret);
	secret_cluster(&secrets.label, &secrets.cluster, t.cluster);
	return t;
}

static int join(const struct token *t, u8 host, struct link_keys *keys, const char *words)
{
	struct muuid u = uuid_of(host);
	char why[LINK_WHY];
	int err = link_join(t, &u, SLOW_MS, keys, why);

	if (words && !strstr(why, words))
		printf("\n  \"%s\" lacks \"%s\"\n", why, words);
	CU_ASSERT(!words || strstr(why, words));
	return err;
}

static void join_as(struct store *s, u8 role, u8 host)
{
	struct token t = token_for(s, role, 100);
	struct store_link_config c = config_of(host, role);
	struct link_keys keys, again;
	struct muuid u = uuid_of(host);
	struct secret key;

	CU_ASSERT_EQUAL(join(&t, host, &keys, NULL), 0);
	secret_host(&secrets.masters.now, &u, role, &key);
	CU_ASSERT(secret_equal(&keys.host, &key));
	CU_ASSERT(keys.key_id == 3 && keys.role == role && muuid_equal(&keys.cluster, &secrets.cluster));
	CU_ASSERT_EQUAL(keys.knows, role != PLAN_CLIENT);
	CU_ASSERT_EQUAL(secret_equal(&keys.masters.now.key, &secrets.masters.now.key), keys.knows);
	CU_ASSERT_EQUAL(secret_equal(&keys.label, &secrets.label), keys.knows);
	/* again, by the same host: the same; by another one: refused */
	CU_ASSERT_EQUAL(join(&t, host, &again, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(&keys.host, &again.host, sizeof(keys.host)), 0);
	CU_ASSERT_EQUAL(join(&t, host + 1, &again, "another host has used"), -EACCES);
	secret_tls(&keys.host, &c.psk);
	good(&c);
}

static void test_join(void)
{
	char words[JOIN_WHY], key[STORE_KEY_MAX];
	struct token t, forged;
	struct link_keys keys;
	struct muuid u;
	struct store *d;

	begin();
	d = direct();
	join_as(d, PLAN_CLIENT, 0x10);
	join_as(d, PLAN_STORAGE, 0x20);
	join_as(d, PLAN_STORE, 0x30);
	CU_ASSERT_EQUAL(get_of(d, "host/10101010-1010-1010-1010-101010101010"), 0);
	/* a host that is known joins no second time, and none is made for the refused ones */
	t = token_for(d, PLAN_STORE, 100);
	CU_ASSERT_EQUAL(join(&t, 0x10, &keys, "knows a host"), -EACCES);
	CU_ASSERT_EQUAL(get_of(d, "host/11111111-1111-1111-1111-111111111111"), -ENOENT);
	/* another role than the token's: by its text, and by the request alone */
	forged = t;
	forged.role = PLAN_CLIENT;
	CU_ASSERT_EQUAL(join(&forged, 0x40, &keys, "role store"), -EACCES);
	u = uuid_of(0x40);
	CU_ASSERT_EQUAL(join_bind(d, &t.id, &u, PLAN_STORAGE, words), -EACCES);
	/* the cluster is another one than the token says */
	forged = t;
	forged.cluster[0] ^= 1;
	CU_ASSERT_EQUAL(join(&forged, 0x41, &keys, "not the one"), -EXDEV);
	CU_ASSERT(keys.host.b[0] == 0 && keys.host.b[31] == 0);
	pthread_mutex_lock(&rig_lock);
	removed_host = uuid_of(0x42);
	pthread_mutex_unlock(&rig_lock);
	t = token_for(d, PLAN_CLIENT, 100);
	CU_ASSERT_EQUAL(join(&t, 0x42, &keys, "removed"), -EACCES);
	CU_ASSERT_EQUAL(join(&t, 0, &keys, "removed"), -EACCES);
	CU_ASSERT_EQUAL(join(&t, 0x43, &keys, NULL), 0);
	/* a value that cannot be read admits no host */
	t = token_for(d, PLAN_CLIENT, 100);
	snprintf(key, sizeof(key), "token/%s", muuid_str(&t.id).s);
	CU_ASSERT_EQUAL(put_in(d, key, "{\"role\":\"client\"}", NULL), 1);
	CU_ASSERT_EQUAL(join(&t, 0x44, &keys, "token: v is missing"), -EACCES);
	store_close(d);
	node_end();
}

static void test_join_expired(void)
{
	struct link_keys keys;
	struct store *d;
	struct token t;

	begin();
	d = direct();
	t = token_for(d, PLAN_CLIENT, 1);
	CU_ASSERT(SOON_TRUE(({
		char key[64];

		snprintf(key, sizeof(key), "token/%s", muuid_str(&t.id).s);
		get_of(d, key) == -ENOENT;
	})));
	CU_ASSERT_EQUAL(join(&t, 0x51, &keys, "expired"), -ENOENT);
	/* one that never was, with the right secret */
	t.id = uuid_of(0x77);
	secret_token(&secrets.masters.now, &t.id, &t.secret);
	CU_ASSERT_EQUAL(join(&t, 0x52, &keys, "expired"), -ENOENT);
	store_close(d);
	node_end();
}

/* A token's connection may request nothing else, and a host's may not join. */
static void test_token_is_no_host(void)
{
	struct frame get = { .type = FRAME_GET, .id = 1, .ms = 1000, .text = "cluster" };
	struct frame renew = { .type = FRAME_RENEW, .id = 1, .ms = 1000 };
	struct frame join_it = { .type = FRAME_JOIN, .id = 1, .ms = 1000, .host = uuid_of(1), .role = PLAN_STORE };
	struct link_identity who = { 3, LINK_TOKEN, { { 1 } } };
	struct secret psk;
	struct store *d;
	struct token t;
	struct raw r;

	begin();
	d = direct();
	t = token_for(d, PLAN_STORE, 100);
	who.uuid = t.id;
	secret_tls(&t.secret, &psk);
	CU_ASSERT_EQUAL(raw_open(&r, &who, &psk), 0);
	CU_ASSERT_EQUAL(raw_send(&r, &get), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
	raw_close(&r);
	CU_ASSERT_EQUAL(raw_open(&r, &who, &psk), 0);
	CU_ASSERT_EQUAL(raw_send(&r, &renew), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
	raw_close(&r);
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_CLIENT), 0);
	CU_ASSERT_EQUAL(raw_send(&r, &join_it), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
	raw_close(&r);
	store_close(d);
	node_end();
}

static void test_window(void)
{
	struct frame f = { .type = FRAME_GET, .ms = 60000, .text = "cluster" };
	struct raw r;

	begin();
	__atomic_store_n(&gate_closed, 1, __ATOMIC_RELEASE);
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_CLIENT), 0);
	for (f.id = 1; f.id <= LINK_WINDOW; f.id++)
		CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	CU_ASSERT(SOON_TRUE(counts(0).jobs == LINK_WINDOW));
	CU_ASSERT_EQUAL(counts(0).conns, 1);
	raw_send(&r, &f);
	CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
	__atomic_store_n(&gate_closed, 0, __ATOMIC_RELEASE);
	CU_ASSERT(SOON_TRUE(counts(0).jobs == 0));
	raw_close(&r);
	/* the server ends while no worker has begun most of them: a leak would end this program */
	__atomic_store_n(&gate_closed, 1, __ATOMIC_RELEASE);
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_CLIENT), 0);
	for (f.id = 1; f.id <= LINK_WINDOW; f.id++)
		CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	CU_ASSERT(SOON_TRUE(counts(0).jobs == LINK_WINDOW));
	raw_close(&r);
	node_end();
}

static void test_watch_limit(void)
{
	struct frame f = { .type = FRAME_WATCH, .ms = 60000, .text = "host/" };
	unsigned int ok = 0, refused = 0;
	struct raw r;

	begin();
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_CLIENT), 0);
	for (f.id = 1; f.id <= LINK_WATCHES + 5; f.id++) {
		f.watch = f.id;
		CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
		CU_ASSERT_EQUAL_FATAL(raw_recv(&r), 0);
		ok += r.rx.f.type == FRAME_OK;
		refused += r.rx.f.type == FRAME_ERROR && r.rx.f.err == -EACCES;
	}
	CU_ASSERT(ok == LINK_WATCHES && refused == 5);
	/* a watch twice; then one ends, and there is room */
	f = (struct frame) { .type = FRAME_UNWATCH, .watch = 9 };
	CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	CU_ASSERT(SOON_TRUE(counts(0).watches == LINK_WATCHES - 1));
	f = (struct frame) { .type = FRAME_WATCH, .id = 999, .ms = 60000, .text = "host/", .watch = 10 };
	CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), 0);
	CU_ASSERT(r.rx.f.type == FRAME_ERROR && r.rx.f.err == -EINVAL);
	f.watch = 9;
	CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), 0);
	CU_ASSERT_EQUAL(r.rx.f.type, FRAME_OK);
	raw_close(&r);
	CU_ASSERT(SOON_TRUE(counts(0).watches == 0));
	node_end();
}

static void test_conn_limits(void)
{
	struct frame ping = { .type = FRAME_PING, .id = 1 };
	struct raw r[10], other;

	N.c.conns_host = 4;
	N.c.conns = 6;
	begin();
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(raw_host(&r[i], 1, PLAN_CLIENT), 0);
	CU_ASSERT(SOON_TRUE(counts(0).conns == 4));
	/* the oldest one goes for a fifth; another host is none of theirs */
	CU_ASSERT_EQUAL(raw_host(&r[4], 1, PLAN_CLIENT), 0);
	CU_ASSERT_EQUAL(raw_recv(&r[0]), -EPIPE);
	CU_ASSERT_EQUAL(raw_host(&other, 2, PLAN_CLIENT), 0);
	CU_ASSERT(SOON_TRUE(counts(0).conns == 5));
	for (int i = 1; i < 5; i++) {
		CU_ASSERT_EQUAL(raw_send(&r[i], &ping), 0);
		CU_ASSERT_EQUAL(raw_recv(&r[i]), 0);
		CU_ASSERT_EQUAL(r[i].rx.f.type, FRAME_PONG);
	}
	CU_ASSERT_EQUAL(counts(0).conns, 5);
	for (u8 i = 5; i < 7; i++) {
		CU_ASSERT_EQUAL(raw_host(&r[i], i, PLAN_CLIENT), 0);
		CU_ASSERT(SOON_TRUE(counts(0).conns == 6));
	}
	/* the seventh of six */
	CU_ASSERT_EQUAL(raw_recv(&r[6]), -EPIPE);
	CU_ASSERT_EQUAL(counts(0).conns, 6);
	for (int i = 0; i < 7; i++)
		raw_close(&r[i]);
	raw_close(&other);
	node_end();
}

/* Frames that no host sends end the connection, and no other one. */
static void test_garbage_frames(void)
{
	static const u8 bad[][FRAME_HDR] = {
		{ "MSTX" }, { "MSTR\2" }, { "MSTR\1\377" }, { "MSTR\1\0" }, { "MSTR\1\40" },	/* types */
		{ "MSTR\1\2\1" }, { "MSTR\1\2\0\0\0\0\0\0\0\0\0\0" },			/* flags, no id */
		{ "MSTR\1\2\0\0\1\0\0\0\0\0\0\0\377\377\377\377" },				/* length */
		{ "MSTR\1\14\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0" },			/* a ping with a byte */
	};
	struct raw r, whole;
	struct frame ping = { .type = FRAME_PING, .id = 1 };

	begin();
	CU_ASSERT_EQUAL(raw_host(&whole, 2, PLAN_CLIENT), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_CLIENT), 0);
		raw_bytes(&r, bad[i], FRAME_HDR);
		if (i == 8)
			raw_bytes(&r, "x", 1);
		CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
		raw_close(&r);
	}
	CU_ASSERT_EQUAL(raw_send(&whole, &ping), 0);
	CU_ASSERT_EQUAL(raw_recv(&whole), 0);
	raw_close(&whole);
	node_end();
}

static void test_silent_peer(void)
{
	struct raw r;

	N.c.silent_ms = 300;
	begin();
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_CLIENT), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), -EPIPE);
	raw_close(&r);
	CU_ASSERT(SOON_TRUE(counts(0).conns == 0));
	node_end();
}

/* A limit of time that is over now, as the server counts as well. */
static void pass(u64 from, unsigned int ms)
{
	while (store_now_ms() - from < ms)
		usleep(10000);
}

/* A host whose handshake may be late itself, on a machine that is busy. */
static void host_in(struct raw *r)
{
	CU_ASSERT_FATAL(SOON_TRUE(({
		int err = raw_host(r, 1, PLAN_CLIENT);

		if (err)
			raw_close(r);
		!err;
	})));
}

/* Strangers that begin and say no more have their time, and not a turn of the server longer. */
static void test_stranger_time(void)
{
	struct raw host;
	u64 from;
	int fd[8];

	N.c.shake_ms = 1000;
	begin();
	host_in(&host);
	raw_turn(&host);
	CU_ASSERT_EQUAL(counts(0).strangers, 0);
	from = store_now_ms();
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = tcp_to(N.port[0]);
		CU_ASSERT_EQUAL(send(fd[i], "\x16", 1, MSG_NOSIGNAL), 1);
	}
	raw_turn(&host);
	CU_ASSERT(counts(0).strangers == ARRAY_SIZE(fd) || store_now_ms() - from >= 1000);
	/* all of them are accepted by now */
	pass(store_now_ms(), 1000);
	raw_turn(&host);
	CU_ASSERT_EQUAL(counts(0).strangers, 0);
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	raw_close(&host);
	node_end();
}

/* Strangers that say nothing that ends: places of an address and time, and others go on. */
static void test_strangers(void)
{
	struct store_link_config c;
	char words[LINK_WHY];
	bool all = true;
	int fd[80];

	N.c.shake_ms = 3000;
	begin();
	c = config_of(1, PLAN_CLIENT);
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = tcp_to(N.port[0]);
		CU_ASSERT(fd[i] >= 0);
		if (i % 2)
			CU_ASSERT_EQUAL(send(fd[i], "\x16", 1, MSG_NOSIGNAL), 1);
		if (i == 40) {
			CU_ASSERT(counts(0).strangers <= 16);
			CU_ASSERT_EQUAL(connect_with(&c, SLOW_MS, words), 0);
		}
	}
	CU_ASSERT(counts(0).strangers <= 16);
	/* the silent ones are not accepted at once: one deadline for all of them */
	for (size_t i = 0; i < ARRAY_SIZE(fd) && all; i++)
		all = ended(fd[i], SLOW_MS);
	CU_ASSERT(all);
	CU_ASSERT(!all || SOON_TRUE(counts(0).strangers == 0));
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	node_end();
}

/* A byte now and then: the time is that of the whole handshake. */
static void test_slow_stranger(void)
{
	static const u8 hello[] = { 0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3 };
	struct raw host;
	u64 from;
	int fd;

	N.c.shake_ms = 500;
	begin();
	host_in(&host);
	fd = tcp_to(N.port[0]);
	for (size_t i = 0; i < sizeof(hello); i++) {
		from = store_now_ms();
		(void)!send(fd, hello + i, 1, MSG_NOSIGNAL);
		if (!i)
			raw_turn(&host);
		pass(from, 100);
	}
	/* twice its time has passed since its first byte, and 100 ms since its last one */
	raw_turn(&host);
	CU_ASSERT_EQUAL(counts(0).strangers, 0);
	close(fd);
	raw_close(&host);
	node_end();
}

/* Text, a first message without an end: a closed connection, and not a byte. */
static void test_talkers(void)
{
	static u8 hello[5 + 9000] = { 0x16, 3, 3, 9000 >> 8, 9000 & 0xff, 1, 0, 0xff, 0xff };
	int fd;

	N.c.shake_ms = 1000000;
	begin();
	fd = tcp_to(N.port[0]);
	CU_ASSERT_EQUAL(send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL), 18);
	CU_ASSERT(ended(fd, SLOW_MS));
	close(fd);
	fd = tcp_to(N.port[0]);
	for (int i = 0; i < 2; i++) {
		send(fd, hello, sizeof(hello), MSG_NOSIGNAL);
		hello[5] = hello[7] = hello[8] = 0;
	}
	CU_ASSERT(ended(fd, SLOW_MS));
	close(fd);
	node_end();
}

static void test_identity_text(void)
{
	static const char *const bad[] = {
		"", "meshblk", "meshblk 3", "meshblk 3 client", "meshblk 3 client x", "meshblk 0 client " SELF,
		"meshblk 65536 client " SELF, "meshblk 03 client " SELF, "meshblk +3 client " SELF,
		"meshblk 3 root " SELF, "meshblk 3 Client " SELF, "meshblk  3 client " SELF,
		"meshblk 3 client  " SELF, "meshblk 3 client " SELF " ", "meshblk 3 client " SELF "x",
		"xmeshblk 3 client " SELF, "meshblk 3 client ABABABAB-0101-0101-0101-010101010101",
		"meshblk -3 client " SELF, "meshblk 3\tclient " SELF,
	};
	static const char *const roles[] = { "token", "client", "storage", "store" };
	char text[LINK_IDENTITY], want[LINK_IDENTITY];
	struct link_identity i, back;

	for (u8 role = LINK_TOKEN; role <= PLAN_STORE; role++) {
		i = (struct link_identity) { 65535, role, uuid_of(1) };
		link_identity_text(&i, text);
		snprintf(want, sizeof(want), "meshblk 65535 %s " SELF, roles[role]);
		CU_ASSERT_STRING_EQUAL(text, want);
		CU_ASSERT_EQUAL(link_identity_parse(text, strlen(text), &back), 0);
		CU_ASSERT(back.key_id == 65535 && back.role == role && muuid_equal(&back.uuid, &i.uuid));
	}
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++)
		CU_ASSERT_EQUAL(link_identity_parse(bad[k], strlen(bad[k]), &back), -EINVAL);
	/* a zero inside */
	CU_ASSERT_EQUAL(link_identity_parse("meshblk 3 client " SELF "\0", strlen("meshblk 3 client " SELF) + 1,
					    &back), -EINVAL);
}

static const struct suite_test tests[] = {
	{ "text of an identity", test_identity_text },
	{ "keys, roles and UUIDs that do not match", test_keys },
	{ "a host that was removed", test_removed },
	{ "a host that was removed, idle", test_removed_idle },
	{ "rotation of the master", test_rotation },
	{ "sessions of a former master", test_former_sessions_end },
	{ "rights", test_rights },
	{ "rights by value", test_rights_by_value },
	{ "leases of other hosts", test_leases },
	{ "join", test_join },
	{ "join with a token that has expired", test_join_expired },
	{ "a token is no host, a host no token", test_token_is_no_host },
	{ "more requests than the window", test_window },
	{ "more watches than allowed", test_watch_limit },
	{ "more connections than allowed", test_conn_limits },
	{ "frames that no host sends", test_garbage_frames },
	{ "a peer that is silent", test_silent_peer },
	{ "time of a stranger", test_stranger_time },
	{ "strangers", test_strangers },
	{ "a slow stranger", test_slow_stranger },
	{ "strangers that talk", test_talkers },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("the link to the store", tests);
}
