/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Store hosts and hosts in one process: an engine, the link's server, and clients of it over
 * loopback. Between server and engine faults can be set: calls that hang or fail. The engine is
 * SQLite's, unless RIG_ENGINE is defined: then the test has engine_open(), engine_close() and
 * engine_handle() of its own.
 */
#ifndef TESTS_UNIT_STORE_LINK_RIG_H
#define TESTS_UNIT_STORE_LINK_RIG_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/kernel.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "suite.h"
#include "userspace/store/engine.h"
#include "userspace/store/join.h"
#include "userspace/store/link.h"
#include "userspace/store/link_server.h"
#ifndef RIG_ENGINE
#include "userspace/store/sqlite.h"
#endif

#define SLOW_MS	20000U	/* of calls that succeed: a loaded machine is slow */
#define SOON_MS	30000U	/* of states that come: likewise */

/* One engine, and up to two servers of it, as two store hosts have with etcd. */
struct node {
	char	folder[64], file[96];
	struct store_sqlite *q;
	struct link_server *s[2];
	u16	port[2];
	struct link_server_config c;	/* limits of the test */
};

static struct node N;
static struct link_secrets secrets;
static pthread_mutex_t rig_lock = PTHREAD_MUTEX_INITIALIZER;	/* of secrets and removed_host */
static struct muuid removed_host;
static char last_log[512];

#ifdef RIG_ENGINE
static void engine_open(void);
static void engine_close(void);
static struct store *engine_handle(void);
#else
static inline void engine_open(void)
{
	char why[256];

	if (store_sqlite_open(N.file, &N.q, why, sizeof(why))) {
		fprintf(stderr, "%s: %s\n", N.file, why);
		abort();
	}
}

static inline void engine_close(void)
{
	store_sqlite_close(N.q);
}

static inline struct store *engine_handle(void)
{
	return store_sqlite_handle(N.q);
}
#endif

/* Faults, set by any thread. */
static int gate_closed;		/* calls of the engine wait */
static int engine_error[2];	/* calls of the engine fail so, by the server */

static inline struct muuid uuid_of(u8 n)
{
	struct muuid u;

	memset(u.b, n, 16);
	return u;
}

static inline void get_secrets(void *priv, struct link_secrets *out)
{
	(void)priv;
	pthread_mutex_lock(&rig_lock);
	*out = secrets;
	pthread_mutex_unlock(&rig_lock);
}

static inline bool is_removed(void *priv, const struct muuid *host)
{
	bool is;

	(void)priv;
	pthread_mutex_lock(&rig_lock);
	is = muuid_equal(host, &removed_host);
	pthread_mutex_unlock(&rig_lock);
	return is;
}

static inline void note_log(void *priv, const char *words)
{
	(void)priv;
	pthread_mutex_lock(&rig_lock);
	snprintf(last_log, sizeof(last_log), "%s", words);
	pthread_mutex_unlock(&rig_lock);
}

static const struct store_ops *engine_ops;
static struct store_ops faulty_ops[2];

static inline int fault(struct store *s)
{
	int err;

	while (__atomic_load_n(&gate_closed, __ATOMIC_ACQUIRE) && !store_interrupted(s))
		usleep(2000);
	err = __atomic_load_n(&engine_error[s->ops == &faulty_ops[1]], __ATOMIC_ACQUIRE);
	return err ? store_fail(s, err, "fault: the engine fails") : 0;
}

static inline int faulty_range(struct store *s, const struct store_span *span, struct store_page *out)
{
	int err = fault(s);

	return err ? err : engine_ops->range(s, span, out);
}

static inline int faulty_get(struct store *s, const char *key, struct store_page *out)
{
	int err = fault(s);

	return err ? err : engine_ops->get(s, key, out);
}

static inline int faulty_txn(struct store *s, const struct store_txn *t, u64 *revision)
{
	int err = fault(s);

	return err ? err : engine_ops->txn(s, t, revision);
}

/* @priv: the place of its server. */
static inline struct store *node_handle(void *priv)
{
	struct link_server **place = priv;
	struct store *s = engine_handle();

	if (s)
		s->ops = &faulty_ops[place - N.s];
	return s;
}

static inline void faults_begin(void)
{
	struct store *s = engine_handle();

	engine_ops = s->ops;
	store_close(s);
	for (int i = 0; i < 2; i++) {
		faulty_ops[i] = *engine_ops;
		faulty_ops[i].range = faulty_range;
		faulty_ops[i].get = faulty_get;
		faulty_ops[i].txn = faulty_txn;
	}
}

/* The engine without the link. */
static inline struct store *direct(void)
{
	return engine_handle();
}

static inline int server_try(int i)
{
	struct link_server_config c = N.c;
	int err;

	c.addr = "127.0.0.1";
	c.port = N.port[i];
	c.handle = node_handle;
	c.secrets = get_secrets;
	c.removed = is_removed;
	c.log = note_log;
	c.priv = &N.s[i];
	err = link_server_start(&c, &N.s[i]);
	if (!err)
		N.port[i] = link_server_port(N.s[i]);
	return err;
}

static inline void server_start(int i)
{
	int err = server_try(i);

	for (int k = 0; err == -EADDRINUSE && k < 200; k++) {
		usleep(50000);
		err = server_try(i);
	}
	if (err)
		abort();	/* all tests that follow would fail as well */
}

static inline void server_stop(int i)
{
	link_server_stop(N.s[i]);
	N.s[i] = NULL;
}

/* Memory rather than a disk, which other tests keep busy. */
static inline void node_begin(void)
{
	snprintf(N.folder, sizeof(N.folder), "%s/link-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(N.folder))
		abort();
	snprintf(N.file, sizeof(N.file), "%s/store.db", N.folder);
	engine_open();
}

static inline void node_end(void)
{
	char command[128];

	server_stop(0);
	server_stop(1);
	engine_close();
	snprintf(command, sizeof(command), "rm -rf '%s'", N.folder);
	if (system(command))
		abort();
	memset(&N, 0, sizeof(N));
	memset(&removed_host, 0, sizeof(removed_host));
	gate_closed = engine_error[0] = engine_error[1] = 0;
}

static inline void rig_secrets(void)
{
	memset(&secrets, 0, sizeof(secrets));
	secrets.cluster = uuid_of(0xcc);
	secrets.masters.now.id = 3;
	memset(secrets.masters.now.key.b, 0x11, SECRET_BYTES);
	memset(secrets.label.b, 0x22, SECRET_BYTES);
}

/* A test that ended at a fatal assertion left its node running: it is abandoned, and nothing waits. */
static inline void abandon(void)
{
	struct link_server_config c = N.c;

	if (!N.q)
		return;
	memset(&N, 0, sizeof(N));
	N.c = c;
	__atomic_store_n(&gate_closed, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&engine_error[0], 0, __ATOMIC_RELEASE);
	__atomic_store_n(&engine_error[1], 0, __ATOMIC_RELEASE);
}

static inline void begin(void)
{
	signal(SIGPIPE, SIG_IGN);
	abandon();
	rig_secrets();
	node_begin();
	faults_begin();
	server_start(0);
}

static inline void psk_of(const struct link_identity *i, struct secret *psk)
{
	struct secret key;

	secret_host(&secrets.masters.now, &i->uuid, i->role, &key);
	secret_tls(&key, psk);
}

static inline struct store_link_config config_of(u8 host, u8 role)
{
	/* A store host that a loaded machine stops for a while is not dead here. */
	struct store_link_config c = { .addresses = 1, .self = { 3, role, uuid_of(host) },
				       .dial_ms = SLOW_MS, .dead_ms = SLOW_MS };

	strcpy(c.address[0].name, "127.0.0.1");
	c.address[0].port = N.port[0];
	psk_of(&c.self, &c.psk);
	return c;
}

static inline struct store_link *open_config(const struct store_link_config *c)
{
	struct store_link *l = NULL;

	CU_ASSERT_EQUAL_FATAL(store_link_open(c, &l), 0);
	return l;
}

static inline struct store_link *client_open(u8 host, u8 role)
{
	struct store_link_config c = config_of(host, role);

	return open_config(&c);
}

static inline struct store *patient(struct store_link *l)
{
	struct store *s = store_link_handle(l);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	store_timeout(s, SLOW_MS);
	return s;
}

static inline int put_in(struct store *s, const char *key, const char *value, u64 *revision)
{
	struct store_op op = { key, value, strlen(value), 0 };

	return store_txn(s, &(struct store_txn) { NULL, 0, &op, 1 }, revision);
}

static inline bool holds(struct store *s, const char *key, const char *value)
{
	struct store_page p;
	bool is = !store_get(s, key, &p) && p.kv->len == strlen(value) && !memcmp(p.kv->value, value, p.kv->len);

	store_page_free(&p);
	return is;
}

static inline struct link_server_count counts(int i)
{
	struct link_server_count c;

	link_server_count(N.s[i], &c);
	return c;
}

/* True before a deadline that no working machine reaches; else it says what was waited for. */
#define SOON_TRUE(condition) ({							\
	const u64 until_ = store_now_ms() + SOON_MS;				\
	bool is_ = (condition);							\
	while (!is_ && store_now_ms() < until_) {				\
		usleep(5000);							\
		is_ = (condition);						\
	}									\
	if (!is_)								\
		printf("\n  %s:%d: waited %u s in vain for: %s\n", __FILE__,	\
		       __LINE__, SOON_MS / 1000, #condition);			\
	is_; })

static inline int tcp_to(u16 port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		abort();
	if (connect(fd, (void *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A peer that is played frame by frame. */
struct raw {
	int	fd;
	struct link_tls *tls;
	struct frame_rx rx;
	u8	in[LINK_TLS_READ];
	size_t	at, len;
};

/* False: nothing came in a time in which every peer that works says something. */
static inline bool raw_wait(struct raw *r, short events)
{
	struct pollfd p = { .fd = r->fd, .events = events };

	if (poll(&p, 1, SLOW_MS) == 1)
		return true;
	printf("\n  waited %u s in vain for a peer to %s\n", SLOW_MS / 1000,
	       events & POLLOUT ? "read" : "send");
	return false;
}

/* 0, or the error of the handshake. */
static inline int raw_open(struct raw *r, const struct link_identity *who, const struct secret *psk)
{
	int err = -EAGAIN;

	memset(r, 0, sizeof(*r));
	r->fd = tcp_to(N.port[0]);
	r->tls = link_tls_client(r->fd, who, psk);
	while (err == -EAGAIN) {
		err = link_tls_shake(r->tls);
		if (err == -EAGAIN && !raw_wait(r, link_tls_wants(r->tls)))
			return -ETIMEDOUT;
	}
	return err;
}

static inline int raw_host(struct raw *r, u8 host, u8 role)
{
	struct link_identity who = { 3, role, uuid_of(host) };
	struct secret psk;

	psk_of(&who, &psk);
	return raw_open(r, &who, &psk);
}

static inline int raw_bytes(struct raw *r, const void *bytes, size_t len)
{
	size_t at = 0;
	ssize_t n;

	while (at < len) {
		n = link_tls_write(r->tls, (const u8 *)bytes + at, len - at);
		if (n == -EAGAIN && !raw_wait(r, POLLOUT))
			return -ETIMEDOUT;
		if (n < 0 && n != -EAGAIN)
			return n;
		at += n > 0 ? n : 0;
	}
	return 0;
}

static inline int raw_send(struct raw *r, const struct frame *f)
{
	size_t len;
	u8 *bytes;
	int err = frame_encode(f, &bytes, &len);

	if (!err)
		err = raw_bytes(r, bytes, len);
	free(bytes);
	return err;
}

/* 0: r->rx.f is the next frame; -EPIPE: the end. */
static inline int raw_recv(struct raw *r)
{
	size_t used;
	ssize_t n;
	int ret;

	frame_end(&r->rx.f);
	if (r->rx.hdr_got == FRAME_HDR)
		frame_next(&r->rx, false);
	for (;;) {
		while (r->at < r->len) {
			ret = frame_feed(&r->rx, false, r->in + r->at, r->len - r->at, &used);
			r->at += used;
			if (ret)
				return ret < 0 ? ret : frame_decode(&r->rx.f, r->rx.payload, r->rx.len);
		}
		n = link_tls_read(r->tls, r->in, sizeof(r->in));
		if (n == -EAGAIN) {
			if (!raw_wait(r, POLLIN))
				return -ETIMEDOUT;
			continue;
		}
		if (n <= 0)
			return -EPIPE;
		r->at = 0;
		r->len = n;
	}
}

static inline void raw_close(struct raw *r)
{
	frame_end(&r->rx.f);
	frame_rx_end(&r->rx);
	link_tls_free(r->tls);
	close(r->fd);
}

/*
 * Two answers of the server's one thread for all connections: between them it has seen to all that
 * was late when this was called.
 */
static inline void raw_turn(struct raw *r)
{
	struct frame ping = { .type = FRAME_PING, .id = 1 };

	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(raw_send(r, &ping), 0);
		CU_ASSERT_EQUAL(raw_recv(r), 0);
		CU_ASSERT_EQUAL(r->rx.f.type, FRAME_PONG);
	}
}

/* The connection has ended without a byte. */
static inline bool ended(int fd, unsigned int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char b[16];

	return poll(&p, 1, ms) == 1 && recv(fd, b, sizeof(b), MSG_DONTWAIT) <= 0;
}

#endif
