// SPDX-License-Identifier: GPL-2.0-only
/*
 * The link when something breaks: connections cut at each byte, servers that end, engines that
 * hang, hosts that do not read, many hosts at once.
 */
#include "store_link_rig.h"

#define HOSTS	200

/*
 * A proxy before the server of place 0. Once armed it forwards @left more bytes of direction
 * @way, then ends both sides; what it forwards to the server it keeps.
 */
static struct proxy {
	int	listen, stop;
	u16	port;
	pthread_t t;
	int	armed, way;
	long	left;
	long	passed[2];	/* bytes since it was armed */
	int	cuts;
	u8	kept[8192];	/* of the first connection, to the server */
	size_t	nr_kept;
} P;

/* A loop that goes on after its first failure would wait in vain each time. */
#define each_until_failure(i, n, step) \
	long i = 0, failed_ = CU_get_number_of_failures(); \
	i < (n) && CU_get_number_of_failures() == failed_; i += step

static void proxy_pass(int fd[2])
{
	struct pollfd p[2] = { { .fd = fd[0], .events = POLLIN }, { .fd = fd[1], .events = POLLIN } };
	u8 b[4096];
	ssize_t n;

	while (!__atomic_load_n(&P.stop, __ATOMIC_ACQUIRE)) {
		poll(p, 2, 20);
		for (int i = 0; i < 2; i++) {
			if (!p[i].revents)
				continue;
			n = recv(fd[i], b, sizeof(b), MSG_DONTWAIT);
			if (n <= 0 && !(n < 0 && errno == EAGAIN))
				return;
			if (n <= 0)
				continue;
			if (i == 0 && P.nr_kept + n <= sizeof(P.kept)) {
				memcpy(P.kept + P.nr_kept, b, n);
				P.nr_kept += n;
			}
			if (__atomic_load_n(&P.armed, __ATOMIC_ACQUIRE)) {
				if (i == P.way && n > P.left) {
					if (P.left)
						(void)!send(fd[!i], b, P.left, MSG_NOSIGNAL);
					__atomic_store_n(&P.armed, 0, __ATOMIC_RELEASE);
					__atomic_fetch_add(&P.cuts, 1, __ATOMIC_RELEASE);
					return;
				}
				P.left -= i == P.way ? n : 0;
				__atomic_fetch_add(&P.passed[i], n, __ATOMIC_RELAXED);
			}
			if (send(fd[!i], b, n, MSG_NOSIGNAL) != n)
				return;
		}
	}
}

static void *proxy_thread(void *arg)
{
	struct pollfd p = { .fd = P.listen, .events = POLLIN };
	int fd[2];

	(void)arg;
	while (!__atomic_load_n(&P.stop, __ATOMIC_ACQUIRE)) {
		if (poll(&p, 1, 20) < 1)
			continue;
		fd[0] = accept(P.listen, NULL, NULL);
		fd[1] = tcp_to(N.port[0]);
		if (fd[0] >= 0 && fd[1] >= 0)
			proxy_pass(fd);
		close(fd[0]);
		if (fd[1] >= 0)
			close(fd[1]);
	}
	return NULL;
}

static void proxy_begin(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	memset(&P, 0, sizeof(P));
	P.listen = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(P.listen, (void *)&a, sizeof(a)) || listen(P.listen, 64) ||
	    getsockname(P.listen, (void *)&a, &len) || pthread_create(&P.t, NULL, proxy_thread, NULL))
		abort();
	P.port = ntohs(a.sin_port);
}

static void proxy_end(void)
{
	__atomic_store_n(&P.stop, 1, __ATOMIC_RELEASE);
	pthread_join(P.t, NULL);
	close(P.listen);
}

static void arm(int way, long left)
{
	P.way = way;
	P.left = left;
	__atomic_store_n(&P.passed[0], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&P.passed[1], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&P.armed, 1, __ATOMIC_RELEASE);
}

static bool disarm(void)
{
	return __atomic_exchange_n(&P.armed, 0, __ATOMIC_ACQ_REL);
}

static struct store_link *through_proxy(void)
{
	struct store_link_config c = config_of(1, PLAN_STORE);

	c.address[0].port = P.port;
	c.pause_ms = 20;
	return open_config(&c);
}

/* A put whose compare holds once: its outcome is what is in the key. */
static void put_once(struct store *s, struct store *d, const char *key, bool settle, int *known)
{
	struct store_compare c = { STORE_ABSENT, key, 0 };
	struct store_op o = { key, key, strlen(key), 0 };
	struct store_txn t = { &c, 1, &o, 1 };
	int ret = settle ? store_txn_settle(s, &t, store_now_ms() + SLOW_MS, NULL) : store_txn(s, &t, NULL);

	if (settle || ret == 1) {
		CU_ASSERT_EQUAL(ret, 1);
		CU_ASSERT(holds(d, key, key));
		++*known;
		return;
	}
	CU_ASSERT_EQUAL(ret, -EIO);
	CU_ASSERT(strlen(store_why(s)) > 10);
	/* settled afterwards: it is done, whatever became of the first attempt */
	ret = store_txn_settle(s, &t, store_now_ms() + SLOW_MS, NULL);
	CU_ASSERT(ret == 1 || ret == 0);
	CU_ASSERT(holds(d, key, key));
}

static void cut_each_byte(int way)
{
	struct store_link *l;
	struct store *s, *d;
	int known = 0, unknown = 0, cuts, was;
	char key[64];
	long length;

	begin();
	proxy_begin();
	d = direct();
	l = through_proxy();
	s = patient(l);
	put_once(s, d, "first", false, &known);
	arm(way, 1000000);
	put_once(s, d, "length", false, &known);
	CU_ASSERT(disarm());
	length = __atomic_load_n(&P.passed[way], __ATOMIC_RELAXED);
	CU_ASSERT(length > 40 && length < 400);
	for (each_until_failure(at, length, 1)) {
		for (int settle = 0; settle < 2; settle++) {
			snprintf(key, sizeof(key), "cut/%d/%ld/%d", way, at, settle);
			/* the connection is up before the exchange that is cut */
			CU_ASSERT_FALSE(holds(s, key, key));
			was = known;
			arm(way, at);
			put_once(s, d, key, settle, &known);
			unknown += known == was;
			disarm();
		}
	}
	cuts = __atomic_load_n(&P.cuts, __ATOMIC_ACQUIRE);
	/* keys are of some lengths, so that a few exchanges are shorter than the first one */
	CU_ASSERT(cuts >= 2 * length - 40);
	CU_ASSERT(unknown >= length - 20);
	store_close(s);
	store_close(d);
	store_link_close(l);
	proxy_end();
	node_end();
}

static void test_cut_request(void)
{
	cut_each_byte(0);
}

static void test_cut_answer(void)
{
	cut_each_byte(1);
}

/* The server of this place has begun each watch of the host that was requested before this one. */
static unsigned int watches_begun(struct store *s, int place)
{
	unsigned int n;
	u64 id;

	CU_ASSERT_EQUAL(store_watch(s, "barrier/", 0, &id), 0);
	n = counts(place).watches;
	store_unwatch(s, id);
	return n - 1;
}

/*
 * store_next() for an event that comes. While it is late, the watch must be there: a host begins its
 * watches again before it sends any other request.
 */
static int next_of(struct store *s, int place, struct store_event *e)
{
	int ret = store_next(s, 1000, e);

	if (ret)
		return ret;
	if (watches_begun(s, place))
		return store_next(s, SLOW_MS, e);
	printf("\n  the server has no watch of this host, which waits for an event\n");
	return 0;
}

/* Three events of one revision, cut at each byte: each comes once. */
static void test_cut_events(void)
{
	static const char *const keys[] = { "e/1", "e/2", "e/3" };
	struct store_op o[3];
	struct store_txn t = { NULL, 0, o, 3 };
	struct store_event e;
	struct store_link *l;
	struct store *s, *d;
	unsigned int seen[3], wrong = 0;
	char value[24];
	u64 id, r, from;

	begin();
	proxy_begin();
	d = direct();
	l = through_proxy();
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(d, "e/0", "x", &from), 1);
	CU_ASSERT_EQUAL(store_watch(s, "e/", from, &id), 0);
	for (long at = 0; at < 330 && !wrong; at += 3) {
		memset(seen, 0, sizeof(seen));
		snprintf(value, sizeof(value), "%ld", at);
		for (int i = 0; i < 3; i++)
			o[i] = (struct store_op) { keys[i], value, strlen(value), 0 };
		arm(1, at);
		CU_ASSERT_EQUAL(store_txn(d, &t, &r), 1);
		for (int i = 0; i < 3; i++) {
			if (wrong || next_of(s, 0, &e) != 1 || e.kind != STORE_PUT || e.kv.modified != r ||
			    e.watch != id || e.kv.len != strlen(value) || memcmp(e.kv.value, value, e.kv.len))
				wrong++;
			else
				seen[e.kv.key[2] - '1']++;
		}
		wrong += seen[0] != 1 || seen[1] != 1 || seen[2] != 1;
		disarm();
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(__atomic_load_n(&P.cuts, __ATOMIC_ACQUIRE) > 50);
	CU_ASSERT_EQUAL(store_next(s, 100, &e), 0);
	store_close(s);
	store_close(d);
	store_link_close(l);
	proxy_end();
	node_end();
}

/* All bytes of a session that put a key, sent again: no handshake, no change. */
static void test_replay(void)
{
	struct store_link *l;
	struct store *s, *d;
	u64 was, now;
	int fd;

	begin();
	proxy_begin();
	d = direct();
	l = through_proxy();
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(s, "a", "1", &was), 1);
	CU_ASSERT(P.nr_kept > 200);
	store_close(s);
	store_link_close(l);
	fd = tcp_to(N.port[0]);
	CU_ASSERT_EQUAL(send(fd, P.kept, P.nr_kept, MSG_NOSIGNAL), (ssize_t)P.nr_kept);
	CU_ASSERT(SOON_TRUE(({
		char b[4096];

		recv(fd, b, sizeof(b), MSG_DONTWAIT) == 0 || errno == ECONNRESET;
	})));
	close(fd);
	CU_ASSERT_EQUAL(put_in(d, "b", "1", &now), 1);
	CU_ASSERT_EQUAL(now, was + 1);
	store_close(d);
	proxy_end();
	node_end();
}

/* Watches over restarts of the server: no gap, nothing twice. */
static void test_restart(void)
{
	struct store_event e;
	struct store_link *l;
	struct store *s, *d;
	char value[16];
	u64 a, b, r;

	begin();
	d = direct();
	l = client_open(1, PLAN_STORE);
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(d, "a/0", "x", &r), 1);
	CU_ASSERT_EQUAL(store_watch(s, "a/", r, &a), 0);
	CU_ASSERT_EQUAL(store_watch(s, "b/", r, &b), 0);
	for (int i = 0; i < 8; i++) {
		if (i % 2)
			server_stop(0);
		snprintf(value, sizeof(value), "%d", i);
		CU_ASSERT_EQUAL(put_in(d, "a/1", value, NULL), 1);
		if (i % 2) {
			server_start(0);
			CU_ASSERT_EQUAL_FATAL(watches_begun(s, 0), 2);
		}
		CU_ASSERT_EQUAL_FATAL(next_of(s, 0, &e), 1);
		CU_ASSERT(e.watch == a && e.kind == STORE_PUT && e.kv.len == 1 && !memcmp(e.kv.value, value, 1));
	}
	CU_ASSERT_EQUAL(put_in(d, "b/1", "y", NULL), 1);
	CU_ASSERT_EQUAL(store_next(s, SLOW_MS, &e), 1);
	CU_ASSERT_EQUAL(e.watch, b);
	CU_ASSERT_EQUAL(store_next(s, 100, &e), 0);
	CU_ASSERT(SOON_TRUE(counts(0).watches == 2));
	store_close(s);
	CU_ASSERT(SOON_TRUE(counts(0).watches == 0));
	store_close(d);
	store_link_close(l);
	node_end();
}

/* What a watch missed is compacted: it says so, and ends. */
static void test_restart_compacted(void)
{
	struct store_event e;
	struct store_link *l;
	struct store *s, *d;
	u64 a, r;

	begin();
	d = direct();
	l = client_open(1, PLAN_STORE);
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(d, "a/0", "x", &r), 1);
	CU_ASSERT_EQUAL(store_watch(s, "a/", r, &a), 0);
	server_stop(0);
	store_sqlite_history(N.q, 1);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(put_in(d, "a/1", "y", NULL), 1);
	server_start(0);
	CU_ASSERT_EQUAL_FATAL(store_next(s, SLOW_MS, &e), 1);
	CU_ASSERT(e.kind == STORE_RELIST && e.watch == a);
	CU_ASSERT_EQUAL(put_in(d, "a/1", "z", NULL), 1);
	CU_ASSERT_EQUAL(store_next(s, 200, &e), 0);
	CU_ASSERT(SOON_TRUE(counts(0).watches == 0));
	store_close(s);
	store_close(d);
	store_link_close(l);
	node_end();
}

static struct store_link *of_two(unsigned int dead_ms)
{
	struct store_link_config c = config_of(1, PLAN_STORE);

	/* the first attempt is at place 0 */
	c.self.uuid.b[15] = 2;
	psk_of(&c.self, &c.psk);
	c.addresses = 2;
	c.address[1] = c.address[0];
	c.address[1].port = N.port[1];
	c.dead_ms = dead_ms;
	return open_config(&c);
}

static void test_fail_over(void)
{
	struct store_event e;
	struct store_link *l;
	struct store *s;
	u64 id, r;

	begin();
	server_start(1);
	l = of_two(SLOW_MS);
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(s, "a/1", "1", &r), 1);
	CU_ASSERT(counts(0).conns == 1 && counts(1).conns == 0);
	CU_ASSERT_EQUAL(store_watch(s, "a/", r, &id), 0);
	server_stop(0);
	CU_ASSERT(holds(s, "a/1", "1"));
	CU_ASSERT_EQUAL(counts(1).conns, 1);
	CU_ASSERT_EQUAL_FATAL(watches_begun(s, 1), 1);
	CU_ASSERT_EQUAL(put_in(s, "a/2", "2", NULL), 1);
	CU_ASSERT_EQUAL_FATAL(next_of(s, 1, &e), 1);
	CU_ASSERT(e.kind == STORE_PUT && !strcmp(e.kv.key, "a/2"));
	server_start(0);
	server_stop(1);
	CU_ASSERT(holds(s, "a/2", "2"));
	CU_ASSERT_EQUAL(counts(0).conns, 1);
	store_close(s);
	store_link_close(l);
	node_end();
}

/* A store host whose engine does not answer, and one that accepts and says nothing. */
static void test_fail_over_engine(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct store_link_config c;
	socklen_t len = sizeof(a);
	struct store_link *l;
	struct store_page p;
	struct store *s;
	int mute, bad = 0;

	begin();
	server_start(1);
	l = of_two(SLOW_MS);
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(s, "a", "1", NULL), 1);
	__atomic_store_n(&engine_error[0], -EIO, __ATOMIC_RELEASE);
	while (bad < 3 && store_get(s, "a", &p)) {
		store_page_free(&p);
		bad++;
	}
	store_page_free(&p);
	CU_ASSERT_EQUAL(bad, 2);
	CU_ASSERT(counts(1).conns == 1);
	store_close(s);
	store_link_close(l);
	mute = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(mute, (void *)&a, sizeof(a)) || listen(mute, 8) || getsockname(mute, (void *)&a, &len))
		abort();
	c = config_of(2, PLAN_STORE);
	c.self.uuid.b[15] = 0;
	psk_of(&c.self, &c.psk);
	c.addresses = 2;
	c.address[1] = c.address[0];
	c.address[1].port = N.port[1];
	c.address[0].port = ntohs(a.sin_port);
	c.dial_ms = 300;
	l = open_config(&c);
	s = patient(l);
	CU_ASSERT(holds(s, "a", "1"));
	store_close(s);
	store_link_close(l);
	close(mute);
	node_end();
}

/* An engine that hangs: calls end in their time, pings go on, and then all is well. */
static void test_engine_hangs(void)
{
	struct store_link_config c;
	struct store_link *l;
	struct store_page p;
	struct store *s;
	u64 from;

	begin();
	c = config_of(1, PLAN_STORE);
	c.ping_ms = 100;
	l = open_config(&c);
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(s, "a", "1", NULL), 1);
	__atomic_store_n(&gate_closed, 1, __ATOMIC_RELEASE);
	store_timeout(s, 200);
	for (int i = 0; i < 6; i++) {
		from = store_now_ms();
		CU_ASSERT_EQUAL(store_get(s, "a", &p), -ETIMEDOUT);
		CU_ASSERT(store_now_ms() - from >= 200);
		CU_ASSERT_EQUAL(put_in(s, "b", "late", NULL), -ETIMEDOUT);
	}
	CU_ASSERT_EQUAL(counts(0).conns, 1);
	__atomic_store_n(&gate_closed, 0, __ATOMIC_RELEASE);
	store_timeout(s, SLOW_MS);
	CU_ASSERT(holds(s, "a", "1"));
	CU_ASSERT_EQUAL(put_in(s, "a", "2", NULL), 1);
	store_close(s);
	store_link_close(l);
	node_end();
}

/* A transaction that has not left by its time-out never leaves. */
static void test_never_sent(void)
{
	struct store_link *l;
	struct store *s;

	begin();
	server_stop(0);
	l = client_open(1, PLAN_STORE);
	s = patient(l);
	store_timeout(s, 100);
	CU_ASSERT_EQUAL(put_in(s, "a", "1", NULL), -ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(s), "no store host is reached"));
	server_start(0);
	store_timeout(s, SLOW_MS);
	CU_ASSERT_EQUAL(put_in(s, "b", "1", NULL), 1);
	CU_ASSERT_FALSE(holds(s, "a", "1"));
	store_close(s);
	store_link_close(l);
	node_end();
}

/* Once the server has the request, which hangs there. */
static void *interrupt_soon(void *s)
{
	if (!SOON_TRUE(counts(0).jobs == 1))
		printf("\n  the request did not come to the server\n");
	store_interrupt(s);
	return NULL;
}

static void test_interrupt(void)
{
	struct store_link *l;
	struct store_page p;
	struct store *s;
	pthread_t t;

	begin();
	l = client_open(1, PLAN_STORE);
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(s, "a", "1", NULL), 1);
	__atomic_store_n(&gate_closed, 1, __ATOMIC_RELEASE);
	pthread_create(&t, NULL, interrupt_soon, s);
	CU_ASSERT_EQUAL(store_get(s, "a", &p), -ECANCELED);
	pthread_join(t, NULL);
	__atomic_store_n(&gate_closed, 0, __ATOMIC_RELEASE);
	CU_ASSERT(holds(s, "a", "1"));
	store_close(s);
	store_link_close(l);
	node_end();
}

/* store_next() says that the way is broken, and goes on when it is there again. */
static void test_outage(void)
{
	struct pollfd p = { .events = POLLIN };
	struct store_event e;
	struct store_link *l;
	struct store *s, *d;
	u64 id, r, from;

	begin();
	d = direct();
	l = client_open(1, PLAN_STORE);
	s = patient(l);
	CU_ASSERT_EQUAL(put_in(d, "a/0", "x", &r), 1);
	CU_ASSERT_EQUAL(store_watch(s, "a/", r, &id), 0);
	store_timeout(s, 300);
	CU_ASSERT_EQUAL(store_next(s, 50, &e), 0);
	server_stop(0);
	from = store_now_ms();
	/* after the handle's time-out, and long before the end of the wait */
	CU_ASSERT_EQUAL(store_next(s, 10 * SLOW_MS, &e), -EIO);
	CU_ASSERT(store_now_ms() - from >= 200 && store_now_ms() - from < 2 * SLOW_MS);
	CU_ASSERT_PTR_NOT_NULL(strstr(store_why(s), "no store host is reached"));
	/* the same outage is reported at the end of each wait, not at once */
	from = store_now_ms();
	CU_ASSERT_EQUAL(store_next(s, 200, &e), -EIO);
	CU_ASSERT(store_now_ms() - from >= 200);
	CU_ASSERT_EQUAL(put_in(d, "a/1", "y", NULL), 1);
	server_start(0);
	store_timeout(s, SLOW_MS);
	CU_ASSERT_EQUAL_FATAL(watches_begun(s, 0), 1);
	store_timeout(s, 300);
	CU_ASSERT_FATAL(SOON_TRUE(store_next(s, 100, &e) == 1));
	CU_ASSERT(e.kind == STORE_PUT && !strcmp(e.kv.key, "a/1"));
	/* its descriptor says so for one who polls */
	CU_ASSERT_EQUAL(store_next(s, 0, &e), 0);
	server_stop(0);
	p.fd = store_fd(s);
	CU_ASSERT_EQUAL(poll(&p, 1, SLOW_MS), 1);
	CU_ASSERT_EQUAL(store_next(s, 0, &e), -EIO);
	store_close(s);
	store_close(d);
	store_link_close(l);
	node_end();
}

static void put_long(struct store *d, int nr, size_t len)
{
	char *value = malloc(len + 1);

	memset(value, 'v', len);
	value[len] = 0;
	for (int i = 0; i < nr; i++)
		CU_ASSERT_EQUAL(put_in(d, "f/1", value, NULL), 1);
	free(value);
}

/* A host that does not read its events costs their bound, and is to list again. */
static void test_flood(void)
{
	struct frame f = { .type = FRAME_WATCH, .id = 1, .ms = 60000, .watch = 1, .text = "f/" };
	unsigned int puts = 0, relists = 0;
	struct store *d, *o;
	struct store_link *l;
	struct raw r;

	N.c.events = 128 << 10;
	N.c.silent_ms = 600000;		/* it is alive */
	begin();
	d = direct();
	CU_ASSERT_EQUAL(put_in(d, "f/0", "x", &f.at), 1);
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_STORE), 0);
	CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	CU_ASSERT_EQUAL(raw_recv(&r), 0);
	for (int i = 0; i < 100; i++) {
		put_long(d, 1, 256 << 10);
		CU_ASSERT(counts(0).events <= (128 << 10) + (257 << 10));
	}
	CU_ASSERT(SOON_TRUE(counts(0).watches == 0));
	/* others are not held up */
	l = client_open(2, PLAN_STORE);
	o = patient(l);
	CU_ASSERT(holds(o, "f/0", "x"));
	while (!relists && raw_recv(&r) == 0) {
		puts += r.rx.f.type == FRAME_EVENT && r.rx.f.kind == STORE_PUT;
		relists += r.rx.f.type == FRAME_EVENT && r.rx.f.kind == STORE_RELIST;
	}
	CU_ASSERT(puts < 100 && relists == 1);
	CU_ASSERT(SOON_TRUE(counts(0).events == 0));
	raw_close(&r);
	store_close(o);
	store_close(d);
	store_link_close(l);
	node_end();
}

/* The same for a handle that is not read while others of its host are. */
static void test_flood_handle(void)
{
	unsigned int puts = 0;
	struct store_event e;
	struct store_link *l;
	struct store *s, *o, *d;
	u64 id, r;
	int ret;

	N.c.events = 64 << 20;
	begin();
	d = direct();
	l = client_open(1, PLAN_STORE);
	s = patient(l);
	o = patient(l);
	CU_ASSERT_EQUAL(put_in(d, "f/0", "x", &r), 1);
	CU_ASSERT_EQUAL(store_watch(s, "f/", r, &id), 0);
	put_long(d, 12, 1 << 20);
	CU_ASSERT(holds(o, "f/0", "x"));
	/* this side ends the watch */
	CU_ASSERT(SOON_TRUE(counts(0).watches == 0));
	while ((ret = store_next(s, SLOW_MS, &e)) == 1 && e.kind == STORE_PUT)
		puts++;
	CU_ASSERT(ret == 1 && e.kind == STORE_RELIST && e.watch == id);
	CU_ASSERT(puts >= 4 && puts < 12);
	store_close(s);
	store_close(o);
	store_close(d);
	store_link_close(l);
	node_end();
}

/* A peer that requests pages and does not read them: no more than its bound waits. */
static void test_answers_unread(void)
{
	struct frame f = { .type = FRAME_RANGE, .ms = 600000, .text = "f/", .limit = 1000 };
	struct store *d, *o;
	struct store_link *l;
	char key[16], *value = calloc(1, (1 << 20) + 1);
	struct raw r;

	N.c.silent_ms = 600000;
	begin();
	d = direct();
	memset(value, 'v', 1 << 20);
	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "f/%d", i);
		CU_ASSERT_EQUAL(put_in(d, key, value, NULL), 1);
	}
	free(value);
	CU_ASSERT_EQUAL(raw_host(&r, 1, PLAN_STORE), 0);
	for (f.id = 1; f.id <= LINK_WINDOW; f.id++)
		CU_ASSERT_EQUAL(raw_send(&r, &f), 0);
	/* some wait unbegun behind answers that are not read */
	CU_ASSERT(SOON_TRUE(counts(0).jobs && counts(0).jobs < LINK_WINDOW));
	/* workers are idle, as those of others are served, and leave these alone */
	l = client_open(2, PLAN_STORE);
	o = patient(l);
	for (int i = 0; i < 100; i++)
		CU_ASSERT_FALSE(holds(o, "f/9", "x"));
	CU_ASSERT(counts(0).jobs > 0);
	for (f.id = 1; f.id <= LINK_WINDOW; f.id++) {
		CU_ASSERT_EQUAL_FATAL(raw_recv(&r), 0);
		CU_ASSERT(r.rx.f.type == FRAME_PAGE && r.rx.f.nr == 3);
	}
	CU_ASSERT(SOON_TRUE(counts(0).jobs == 0));
	raw_close(&r);
	store_close(o);
	store_close(d);
	store_link_close(l);
	node_end();
}

static void test_many_hosts(void)
{
	static struct store_link *l[HOSTS];
	static struct store *s[HOSTS];
	char key[64], value[128];
	int done = 0;

	begin();
	for (int i = 0; i < HOSTS; i++) {
		l[i] = client_open(i + 1, i % 2 ? PLAN_CLIENT : PLAN_STORAGE);
		s[i] = patient(l[i]);
		store_timeout(s[i], 60000);
	}
	for (int i = 0; i < HOSTS && done == i; i++) {
		struct muuid u = uuid_of(i + 1);

		snprintf(key, sizeof(key), "device/%s", muuid_str(&u).s);
		snprintf(value, sizeof(value), "{\"v\":1000,\"op\":\"a\",\"host\":\"%s\",\"disks\":[]}", muuid_str(&u).s);
		done += put_in(s[i], key, value, NULL) == 1;
	}
	CU_ASSERT_EQUAL(done, HOSTS);
	CU_ASSERT(done < HOSTS || counts(0).conns == HOSTS);
	for (int i = 0; i < HOSTS; i++) {
		store_close(s[i]);
		store_link_close(l[i]);
	}
	CU_ASSERT(SOON_TRUE(counts(0).conns == 0));
	node_end();
}

static const struct suite_test tests[] = {
	{ "a request cut at each byte", test_cut_request },
	{ "an answer cut at each byte", test_cut_answer },
	{ "events cut at each byte", test_cut_events },
	{ "a session that is sent again", test_replay },
	{ "a server that starts again", test_restart },
	{ "the same, compacted meanwhile", test_restart_compacted },
	{ "two servers", test_fail_over },
	{ "two servers, one without its engine", test_fail_over_engine },
	{ "an engine that hangs", test_engine_hangs },
	{ "a transaction that never left", test_never_sent },
	{ "interrupt", test_interrupt },
	{ "an outage", test_outage },
	{ "a host that does not read events", test_flood },
	{ "a handle that is not read", test_flood_handle },
	{ "answers that are not read", test_answers_unread },
	{ "many hosts at once", test_many_hosts },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("the link to the store, with faults", tests);
}
