// SPDX-License-Identifier: GPL-2.0-only
/*
 * meshd's links against strangers without the key, hosts that hang or die, and
 * peers that hold the key and break the rules: these this program plays itself.
 */
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <sys/wait.h>

#include "tests/unit/link_rig.h"

/* The near or far end of a connection, played byte by byte. */
struct fake {
	int	fd;
	struct tls *tls;
	struct link_rx rx;
	u8	in[TLS_READ_BYTES];
	size_t	at, len;
};

static void wait_ready(const struct fake *f, short events)
{
	struct pollfd p = { .fd = f->fd, .events = events };

	poll(&p, 1, MS);
}

static int fake_shake(struct fake *f, bool server, const struct link_key *key)
{
	int err;

	f->tls = tls_new(f->fd, server, key, 1);
	if (!f->tls)
		abort();
	while ((err = tls_shake(f->tls)) == -EAGAIN)
		wait_ready(f, tls_wants(f->tls));
	return err;
}

static int fake_send(struct fake *f, const void *data, size_t len)
{
	size_t at = 0;
	ssize_t n;

	while (at < len) {
		n = tls_write(f->tls, (const u8 *)data + at, len - at);
		if (n == -EAGAIN)
			wait_ready(f, POLLOUT);
		else if (n < 0)
			return n;
		else
			at += n;
	}
	return 0;
}

static int fake_frame(struct fake *f, enum link_type type, u64 id, u32 total, const void *data)
{
	struct link_frame fr = { .type = type, .id = id, .total = total, .len = link_page(total, 0) };
	u8 b[LINK_HDR];
	int err;

	link_frame_encode(&fr, b);
	err = fake_send(f, b, sizeof(b));
	return err ? err : fake_send(f, data, fr.len);
}

static int fake_hello_of(struct fake *f, u8 n, u8 machine)
{
	struct link_hello h = { .boot = 1, .machine = { { machine } } };
	u8 b[LINK_HELLO_LEN];

	memset(h.host.b, n, 16);
	link_hello_encode(&h, b);
	return fake_frame(f, LINK_HELLO, 0, sizeof(b), b);
}

static int fake_hello(struct fake *f, u8 n)
{
	return fake_hello_of(f, n, 0);
}

/* The next message; PINGs are answered, as long as @pong. The caller frees it. */
static int fake_next(struct fake *f, struct link_msg *m, bool pong)
{
	size_t used;
	ssize_t n;
	int err;

	for (;;) {
		if (f->at == f->len) {
			n = tls_read(f->tls, f->in, sizeof(f->in));
			if (n == -EAGAIN) {
				wait_ready(f, POLLIN);
				continue;
			}
			if (n <= 0)
				return n ? n : -EPIPE;
			f->at = 0;
			f->len = n;
		}
		err = link_rx_feed(&f->rx, f->in + f->at, f->len - f->at, &used, m);
		f->at += used;
		if (err < 0)
			return err;
		if (err && m->type != LINK_PING)
			return 0;
		if (err) {
			free(m->buf);
			if (pong)
				fake_frame(f, LINK_PONG, m->id, 0, "");
		}
	}
}

static int fake_recv(struct fake *f, struct link_msg *m)
{
	return fake_next(f, m, true);
}

static void fake_close(struct fake *f)
{
	tls_free(f->tls);
	close(f->fd);
	link_rx_free(&f->rx);
}

/* From one of the loopback's addresses, "127.0.N.M" or 0 for any. */
static int tcp_to(const struct host *h, unsigned int from)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000 + from) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		abort();
	if (from)
		bind(fd, (void *)&a, sizeof(a));
	a.sin_addr.s_addr = htonl(0x7f000001);
	a.sin_port = htons(h->port);
	if (connect(fd, (void *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void tcp_drop(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* Bytes that come until the end, and whether the end came in @ms. */
static bool ends_silently(int fd, unsigned int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char b[16];

	return poll(&p, 1, ms) == 1 && recv(fd, b, sizeof(b), MSG_DONTWAIT) <= 0;
}

static unsigned int still_open(const int *fd, unsigned int n)
{
	unsigned int open = 0;

	for (unsigned int i = 0; i < n; i++)
		open += !ends_silently(fd[i], 0);
	return open;
}

/* A new connection, and a call over it. */
static void good_fresh(struct host *a, struct host *b)
{
	links_forget(a->l, b->addr, b->port);
	good(a, b);
}

static unsigned int soon_open(const int *fd, unsigned int n, unsigned int want)
{
	for (int i = 0; i < 3000 && still_open(fd, n) > want; i++)
		usleep(10000);
	return still_open(fd, n);
}

/* Strangers that say nothing that ends: places, for an address and in all, and time. */
static void test_strangers(void)
{
	struct host a, b, d;
	int fd[240], i, n = 0;

	host_up(&a, 1, &key1, 1);
	host_make(&b, 2, &key1, 1);
	b.l->times.shake = 1000000;
	CU_ASSERT_EQUAL(links_listen(b.l, b.addr, b.port, serve), 0);
	host_make(&d, 3, &key1, 1);
	d.l->times.shake = 1000;
	CU_ASSERT_EQUAL(links_listen(d.l, d.addr, d.port, serve), 0);
	for (i = 0; i < 40; i++) {
		fd[n] = tcp_to(&b, 9);
		CU_ASSERT_EQUAL(send(fd[n++], "\x16", 1, MSG_NOSIGNAL), 1);
	}
	CU_ASSERT(soon_open(fd, n, 4) <= 4);
	good_fresh(&a, &b);
	for (i = 0; i < 200; i++) {
		fd[n] = tcp_to(&b, 256 + i / 2);
		CU_ASSERT_EQUAL(send(fd[n++], "\x16", 1, MSG_NOSIGNAL), 1);
	}
	CU_ASSERT(soon_open(fd, n, 64) <= 64);
	good_fresh(&a, &b);
	while (n)
		close(fd[--n]);
	for (; n < 3; n++) {
		fd[n] = tcp_to(&d, 9);
		CU_ASSERT_EQUAL(send(fd[n], "\x16", 1, MSG_NOSIGNAL), 1);
	}
	CU_ASSERT_EQUAL(soon_open(fd, n, 0), 0);
	while (n)
		close(fd[--n]);
	host_down(&d);
	host_down(&a);
	host_down(&b);
}

/* What comes stays in the socket, for ends_silently(). */
static ssize_t nothing_yet(gnutls_transport_ptr_t arg, void *buf, size_t len)
{
	(void)arg;
	(void)buf;
	(void)len;
	errno = EAGAIN;
	return -1;
}

/* Offers both groups and a key share of the other one: TLS would request another share. */
static void other_group(struct host *b, const char *identity)
{
	static const char groups[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-SECP256R1:+GROUP-X25519";
	gnutls_certificate_credentials_t cert;
	gnutls_psk_client_credentials_t cred;
	gnutls_datum_t psk = { other1.psk, 32 };
	gnutls_session_t s;
	char prio[160];
	int fd = tcp_to(b, 0);

	snprintf(prio, sizeof(prio), "%s%s", groups, identity ? ":-KX-ALL:+ECDHE-PSK" : "");
	gnutls_init(&s, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_KEY_SHARE_TOP);
	CU_ASSERT_EQUAL(gnutls_priority_set_direct(s, prio, NULL), 0);
	gnutls_psk_allocate_client_credentials(&cred);
	gnutls_certificate_allocate_credentials(&cert);
	if (identity) {
		gnutls_psk_set_client_credentials(cred, identity, &psk, GNUTLS_PSK_KEY_RAW);
		gnutls_credentials_set(s, GNUTLS_CRD_PSK, cred);
	} else {
		gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, cert);
	}
	gnutls_transport_set_int(s, fd);
	gnutls_transport_set_pull_function(s, nothing_yet);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	CU_ASSERT_EQUAL(gnutls_handshake(s), GNUTLS_E_AGAIN);
	CU_ASSERT(ends_silently(fd, MS / 2));
	gnutls_deinit(s);
	gnutls_psk_free_client_credentials(cred);
	gnutls_certificate_free_credentials(cert);
	close(fd);
}

/* Whatever a stranger says, it gets a closed connection and not a byte. */
static void test_talkers(void)
{
	static u8 hello[5 + 9000] = { 0x16, 3, 3, 9000 >> 8, 9000 & 0xff, 1, 0, 0xff, 0xff };
	struct fake f = { 0 };
	struct host a, b;
	int fd, i;

	host_up(&a, 1, &key1, 1);
	host_make(&b, 2, &key1, 1);
	b.l->times.shake = 1000000;
	CU_ASSERT_EQUAL(links_listen(b.l, b.addr, b.port, serve), 0);
	fd = tcp_to(&b, 0);
	CU_ASSERT_EQUAL(send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL), 18);
	CU_ASSERT(ends_silently(fd, MS / 2));
	close(fd);
	/* A first message of 64 KiB would be kept until it is whole. */
	fd = tcp_to(&b, 0);
	for (i = 0; i < 2; i++) {
		send(fd, hello, sizeof(hello), MSG_NOSIGNAL);
		hello[5] = hello[7] = hello[8] = 0;
	}
	CU_ASSERT(ends_silently(fd, MS / 2));
	close(fd);
	f.fd = tcp_to(&b, 0);
	fcntl(f.fd, F_SETFL, O_NONBLOCK);
	/* The orderly end that another key gets; an alert would be another error. */
	CU_ASSERT_EQUAL(fake_shake(&f, false, &other1), -EPIPE);
	fake_close(&f);
	f = (struct fake) { .fd = tcp_to(&b, 0) };
	fcntl(f.fd, F_SETFL, O_NONBLOCK);
	CU_ASSERT_EQUAL(fake_shake(&f, false, &zero), -EPIPE);
	fake_close(&f);
	other_group(&b, NULL);
	other_group(&b, "meshblk 7");
	other_group(&b, "meshblk 1");
	other_group(&b, "meshblk 65537");
	good_fresh(&a, &b);
	host_down(&a);
	host_down(&b);
}

struct flooder {
	struct host *at;
	unsigned int from;
	bool talk;
	int stop;
	unsigned long count;
	pthread_t t;
};

static void *flooder(void *arg)
{
	struct flooder *f = arg;
	int fd[16] = { 0 }, i;

	for (i = 0; !__atomic_load_n(&f->stop, __ATOMIC_RELAXED); i = (i + 1) % 16) {
		if (fd[i] > 0)
			tcp_drop(fd[i]);
		fd[i] = tcp_to(f->at, f->from);
		if (fd[i] >= 0 && f->talk && send(fd[i], "\x16\x03\x03\x01", 4, MSG_NOSIGNAL) == 4)
			__atomic_fetch_add(&f->count, 1, __ATOMIC_RELAXED);
	}
	for (i = 0; i < 16; i++)
		if (fd[i] > 0)
			tcp_drop(fd[i]);
	return NULL;
}

static int flooded(struct flooder *f)
{
	return __atomic_load_n(&f->count, __ATOMIC_RELAXED);
}

/* Strangers that hammer the port cost a host with the key no call. */
static void test_flood(void)
{
	struct flooder f[3];
	struct host a, b;
	int i;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	for (i = 0; i < 3; i++) {
		f[i] = (struct flooder) { .at = &b, .from = 9 + i, .talk = i != 1 };
		if (pthread_create(&f[i].t, NULL, flooder, &f[i]))
			abort();
	}
	/* On a loaded machine the strangers come slowly: the calls go on until they have come. */
	for (i = 0; i < 60 || (i < 3000 && flooded(&f[0]) <= 100); i++) {
		good_fresh(&a, &b);
		good(&b, &a);
		usleep(10000);
	}
	for (i = 0; i < 3; i++) {
		__atomic_store_n(&f[i].stop, 1, __ATOMIC_RELAXED);
		pthread_join(f[i].t, NULL);
	}
	CU_ASSERT(flooded(&f[0]) > 100);
	host_down(&a);
	host_down(&b);
}

static int listen_on(struct host *h, u8 n)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	*h = (struct host) { .addr = "127.0.0.1", .port = free_port() };
	memset(h->uuid.b, n, 16);
	a.sin_port = htons(h->port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) || listen(fd, 16))
		abort();
	return fd;
}

/* It takes connections, by its kernel, and never says a word. */
static void test_silent_server(void)
{
	struct host a, b, mute;
	struct caller c;
	int fd = listen_on(&mute, 3);

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	a.l->times.shake = 1000;
	start(&c, &a, &mute, "echo", MS, 1);
	good(&a, &b);
	bad_in(&a, &mute, 100, -ETIMEDOUT, "does not answer in 0.1 s");
	CU_ASSERT_EQUAL(end(&c), -ETIMEDOUT);
	bad(&a, &mute, -ETIMEDOUT, "does not answer");
	close(fd);
	host_down(&a);
	host_down(&b);
}

enum act { HALF, JUNK, VERSION, UNASKED, TWO_HELLOS, REFUSED, REFUSED_NO_ERROR, TOO_MANY, SILENT,
	   LATE_HELLO, RESET_FIRST };

struct player {
	int	lfd;
	enum act act;
	struct fake f;
	pthread_t t;
};

static void act(struct player *p, const struct link_msg *m)
{
	static u8 page[LINK_PAGE_MAX], junk[LINK_HDR] = { 'M', 'L', 'N', 'K', 2, 3 };
	struct fake *f = &p->f;
	struct link_msg got;
	int i;

	switch (p->act) {
	case HALF:
		fake_frame(f, LINK_ANSWER, m->id, 2 * LINK_PAGE_MAX, page);
		return;
	case JUNK:
		fake_send(f, page, 100);
		break;
	case VERSION:
		fake_send(f, junk, sizeof(junk));
		break;
	case UNASKED:
		fake_frame(f, LINK_ANSWER, m->id + 1, 4, page);
		break;
	case TWO_HELLOS:
		fake_hello(f, 3);
		break;
	case REFUSED:
	case RESET_FIRST:
		page[0] = EOPNOTSUPP;
		fake_frame(f, LINK_REFUSE, m->id, 4, page);
		page[0] = 0;
		break;
	case REFUSED_NO_ERROR:
		fake_frame(f, LINK_REFUSE, m->id, 4, page);
		break;
	case TOO_MANY:
		for (i = 0; i <= LINK_WINDOW; i++)
			fake_frame(f, LINK_REQUEST, i + 1, 2, "g");
		break;
	default:
		break;
	}
	/* Until the host closes it. */
	while (!fake_next(f, &got, p->act != SILENT))
		free(got.buf);
}

static void *player(void *arg)
{
	struct player *p = arg;
	struct link_msg m;

	/* As one that was too many for the port. */
	if (p->act == RESET_FIRST)
		tcp_drop(accept4(p->lfd, NULL, NULL, SOCK_CLOEXEC));
	p->f = (struct fake) { .fd = accept4(p->lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) };
	if (!fake_shake(&p->f, true, &key1)) {
		if (p->act != LATE_HELLO)
			fake_hello(&p->f, 3);
		while (!fake_recv(&p->f, &m)) {
			if (m.type == LINK_REQUEST)
				act(p, &m);
			free(m.buf);
			if (m.type == LINK_REQUEST)
				break;
		}
	}
	fake_close(&p->f);
	return NULL;
}

static void play(struct host *a, struct host *b, enum act act, int err, const char *words)
{
	struct player *p = calloc(1, sizeof(*p));
	struct host fake;

	p->lfd = listen_on(&fake, 3);
	p->act = act;
	if (pthread_create(&p->t, NULL, player, p))
		abort();
	bad(a, &fake, err, words);
	good(a, b);
	links_forget(a->l, fake.addr, fake.port);
	shutdown(p->lfd, SHUT_RD);	/* accept ends, if no peer came */
	pthread_join(p->t, NULL);
	close(p->lfd);
	free(p);
}

static void test_wrong_peers(void)
{
	struct host a, b;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	a.l->times.ping = 400;
	a.l->times.shake = 2000;
	play(&a, &b, HALF, -ECONNRESET, "before it answered");
	play(&a, &b, JUNK, -ECONNRESET, "no message of meshd");
	play(&a, &b, VERSION, -ECONNRESET, "another version");
	play(&a, &b, UNASKED, -ECONNRESET, "no message of meshd");
	play(&a, &b, TWO_HELLOS, -ECONNRESET, "no message of meshd");
	play(&a, &b, REFUSED, -EOPNOTSUPP, "serves nothing");
	play(&a, &b, REFUSED_NO_ERROR, -EPROTO, "refuses the request");
	play(&a, &b, TOO_MANY, -ECONNRESET, "no message of meshd");
	play(&a, &b, SILENT, -ECONNRESET, "has stopped answering");
	play(&a, &b, RESET_FIRST, -EOPNOTSUPP, "serves nothing");
	play(&a, &b, LATE_HELLO, -ETIMEDOUT, "has stopped answering");
	gate_open(true);	/* the handlers of TOO_MANY */
	host_down(&a);
	host_down(&b);
	gate_open(false);
}

/* 48 MiB are in flight, more than the socket takes, when a short answer is ready. */
static void test_interleave(void)
{
	struct fake f = { 0 };
	struct link_msg m = { 0 };
	struct host b;

	host_up(&b, 2, &key1, 1);
	b.l->times.ping = MS;
	f.fd = tcp_to(&b, 0);
	fcntl(f.fd, F_SETFL, O_NONBLOCK);
	CU_ASSERT_EQUAL_FATAL(fake_shake(&f, false, &key1), 0);
	fake_hello(&f, 3);
	CU_ASSERT_EQUAL_FATAL(fake_recv(&f, &m), 0);
	CU_ASSERT_EQUAL(m.type, LINK_HELLO);
	free(m.buf);
	fake_frame(&f, LINK_REQUEST, 1, 4, "big");
	usleep(500000);
	fake_frame(&f, LINK_REQUEST, 2, 6, "short");
	usleep(500000);
	CU_ASSERT_EQUAL_FATAL(fake_recv(&f, &m), 0);
	CU_ASSERT(m.id == 2 && m.len == 6);
	free(m.buf);
	CU_ASSERT_EQUAL_FATAL(fake_recv(&f, &m), 0);
	CU_ASSERT(m.id == 1 && m.len == 48 << 20);
	free(m.buf);
	fake_close(&f);
	host_down(&b);
}

static void fake_dial(struct fake *f, const struct host *h)
{
	*f = (struct fake) { .fd = tcp_to(h, 0) };
	fcntl(f->fd, F_SETFL, O_NONBLOCK);
	CU_ASSERT_EQUAL_FATAL(fake_shake(f, false, &key1), 0);
}

/* Whether its requests are answered. */
static bool fake_served(struct fake *f)
{
	struct link_msg m = { 0 };
	bool answer = false;

	fake_frame(f, LINK_REQUEST, 1, 5, "echo");
	while (!answer && !fake_recv(f, &m)) {
		answer = m.type == LINK_ANSWER;
		free(m.buf);
	}
	return answer;
}

/* Strangers that come later take no place from one that has proved the key by half. */
static void test_half_proved(void)
{
	struct fake f = { 0 };
	struct host b;
	int fd[210], n, err;

	host_make(&b, 2, &key1, 1);
	b.l->times.shake = 1000000;
	CU_ASSERT_EQUAL(links_listen(b.l, b.addr, b.port, serve), 0);
	f.fd = tcp_to(&b, 9);
	fcntl(f.fd, F_SETFL, O_NONBLOCK);
	f.tls = tls_new(f.fd, false, &key1, 1);
	err = tls_shake(f.tls);
	/* A listener that is quick may have answered already. */
	if (err == -EAGAIN)
		wait_ready(&f, POLLIN);
	for (n = 0; n < 210; n++) {
		fd[n] = tcp_to(&b, n < 10 ? 9 : 256 + n / 2);
		CU_ASSERT_EQUAL(send(fd[n], "\x16", 1, MSG_NOSIGNAL), 1);
	}
	CU_ASSERT_EQUAL(soon_open(fd, n, 63), 63);
	while (err == -EAGAIN && (err = tls_shake(f.tls)) == -EAGAIN)
		wait_ready(&f, tls_wants(f.tls));
	CU_ASSERT_EQUAL(err, 0);
	fake_hello(&f, 3);
	CU_ASSERT(fake_served(&f));
	fake_close(&f);
	while (n)
		close(fd[--n]);
	host_down(&b);
}

/* The key that it has proved is replaced before it gives its identity. */
static void test_key_replaced(void)
{
	struct fake f;
	struct host b;

	host_up(&b, 2, &key1, 1);
	fake_dial(&f, &b);
	links_keys(b.l, &key2, 1);
	fake_hello(&f, 3);
	CU_ASSERT(!fake_served(&f));
	fake_close(&f);
	host_down(&b);
}

/* Two machines with one host UUID: the second is refused while the first lives. */
static void test_twins(void)
{
	struct fake f[2];
	struct host b;

	host_up(&b, 2, &key1, 1);
	b.l->times.ping = 300;
	b.l->times.silent = 1000;
	fake_dial(&f[0], &b);
	fake_hello_of(&f[0], 3, 1);
	CU_ASSERT(fake_served(&f[0]));
	fake_dial(&f[1], &b);
	fake_hello_of(&f[1], 3, 2);
	CU_ASSERT(!fake_served(&f[1]));
	fake_close(&f[1]);
	CU_ASSERT(fake_served(&f[0]));
	/* It answers no PING any more: the host was moved to another machine. */
	sleep(2);
	fake_dial(&f[1], &b);
	fake_hello_of(&f[1], 3, 2);
	CU_ASSERT(fake_served(&f[1]));
	fake_close(&f[1]);
	fake_close(&f[0]);
	host_down(&b);
}

struct big {
	struct host *from, *to;
	int err;
};

static void *big_call(void *arg)
{
	void *msg = calloc(48, 1 << 20), *rsp = NULL;
	struct big *c = arg;
	char why[LINK_REASON];
	size_t n;

	c->err = links_call(c->from->l, c->to->addr, c->to->port, &c->to->uuid, msg, 48 << 20, MS, &rsp, &n,
			    why);
	free(rsp);
	free(msg);
	return NULL;
}

/*
 * The answer to a request that waits behind a long one, of which not a byte was sent: what
 * is still to leave must not lose its call. On a very busy machine it has left by then,
 * and is answered as it should be.
 */
static void test_not_begun(void)
{
	struct host a, fake;
	struct big big = { .from = &a, .to = &fake };
	struct caller c[8];
	struct fake f = { 0 };
	struct link_msg m = { 0 };
	unsigned int requests = 0, i;
	pthread_t t;
	int lfd = listen_on(&fake, 3);

	host_make(&a, 1, &key1, 1);
	a.l->times.ping = MS;
	if (pthread_create(&t, NULL, big_call, &big))
		abort();
	f.fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	CU_ASSERT_EQUAL_FATAL(fake_shake(&f, true, &key1), 0);
	CU_ASSERT_EQUAL_FATAL(fake_recv(&f, &m), 0);
	CU_ASSERT_EQUAL(m.type, LINK_HELLO);
	free(m.buf);
	fake_hello(&f, 3);
	/* Each of them finds a little room in the sockets between the two, the last none. */
	for (i = 0; i < 8; i++) {
		usleep(150000);
		start(&c[i], &a, &fake, "echo", MS, 1);
	}
	usleep(150000);
	close(lfd);
	fake_frame(&f, LINK_ANSWER, 1 + i, 5, "echo");
	for (; requests < 1 + i && !fake_recv(&f, &m); free(m.buf))
		requests += m.type == LINK_REQUEST;
	fake_close(&f);
	for (i = 0; i < 7; i++)
		CU_ASSERT(end(&c[i]) < 0);
	CU_ASSERT(end(&c[7]) < 0 || requests == 9);
	pthread_join(t, NULL);
	CU_ASSERT_EQUAL(big.err, -ECONNRESET);
	host_down(&a);
}

static void run_child(const struct host *h)
{
	struct links *l = links_new(&h->uuid);

	if (!l)
		_exit(1);
	links_keys(l, &key1, 1);
	if (links_listen(l, h->addr, h->port, serve))
		_exit(1);
	for (;;)
		pause();
}

/* A meshd that is stopped has a kernel that still acknowledges; then it dies in mid-answer. */
static void test_stopped(void)
{
	struct host a, b, far = { .addr = "127.0.0.1" };
	struct caller c;
	pid_t pid;
	int status;

	far.port = free_port();
	memset(far.uuid.b, 4, 16);
	pid = fork();
	if (!pid)
		run_child(&far);
	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	a.l->times.ping = 200;
	for (int i = 0; i < 1000 && tcp_to(&far, 0) < 0; i++)
		usleep(10000);
	good(&a, &far);
	kill(pid, SIGSTOP);
	bad_in(&a, &far, 100, -ETIMEDOUT, "has not answered in 0.1 s");
	start(&c, &a, &far, "echo", MS, 1);
	good(&a, &b);
	status = end(&c);
	CU_ASSERT(status == -ECONNRESET || status == -ETIMEDOUT);
	kill(pid, SIGCONT);
	good(&a, &far);
	start(&c, &a, &far, "big", MS, 1000000);
	usleep(300000);
	kill(pid, SIGKILL);
	status = end(&c);
	CU_ASSERT(status == -ECONNRESET || status == -EHOSTDOWN);
	bad(&a, &far, -EHOSTDOWN, "nothing listens");
	good(&a, &b);
	waitpid(pid, &status, 0);
	host_down(&a);
	host_down(&b);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "a meshd that is stopped, then killed", test_stopped },
		{ "strangers", test_strangers },
		{ "strangers that talk", test_talkers },
		{ "one that has proved the key by half", test_half_proved },
		{ "flood", test_flood },
		{ "silent server", test_silent_server },
		{ "peers that err", test_wrong_peers },
		{ "an answer too early", test_not_begun },
		{ "a key that is replaced", test_key_replaced },
		{ "two machines", test_twins },
		{ "short answer before a long one", test_interleave },
		{ NULL, NULL },
	};

	rig_start();
	return suite_main("link_strangers", tests);
}
