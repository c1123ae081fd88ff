// SPDX-License-Identifier: GPL-2.0-only
/* What meshd's links promise to hosts that keep to the rules. */
#include "tests/unit/link_rig.h"

/* Whether @h has a connection up to @to, by the key of that id. */
static bool connected(struct host *h, const struct host *to, u16 key)
{
	struct link_conn *c;
	bool is = false;

	pthread_mutex_lock(&h->l->lock);
	for (c = h->l->conns; c; c = c->next)
		is = is || (c->state == LINK_UP && !c->kill && c->port == to->port &&
			    muuid_equal(&c->peer.host, &to->uuid) && c->key.id == key);
	pthread_mutex_unlock(&h->l->lock);
	return is;
}

static void test_call(void)
{
	char why[LINK_REASON], answer[64], uuid[MUUID_TEXT];
	struct host a, b, absent = { .addr = "127.0.0.1" };

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	good(&a, &b);
	good(&a, &b);
	good(&b, &a);
	/* The one that a made carries both ways. */
	CU_ASSERT_EQUAL(nr_conns(&a), 1);
	CU_ASSERT_EQUAL(nr_conns(&b), 1);
	CU_ASSERT_EQUAL(request(&a, &b, "hello", MS, answer, sizeof(answer), why), 0);
	muuid_text(&a.uuid, uuid);
	CU_ASSERT_STRING_EQUAL(answer, uuid);
	good(&a, &a);
	CU_ASSERT(connected(&a, &b, key1.id));
	absent.port = free_port();
	bad(&a, &absent, -EHOSTDOWN, "nothing listens");
	links_forget(a.l, absent.addr, absent.port);
	links_forget(a.l, b.addr, b.port);
	CU_ASSERT(becomes(&b, 0));
	good(&a, &b);
	host_down(&a);
	host_down(&b);
}

static void test_derive(void)
{
	static const u8 k[32] = { 1 }, z[32];
	struct link_key x, y;

	link_psk(k, 32, 1, &x);
	link_psk(k, 32, 1, &y);
	CU_ASSERT_EQUAL(memcmp(x.psk, y.psk, 32), 0);
	CU_ASSERT_NOT_EQUAL(memcmp(x.psk, k, 32), 0);
	link_psk(k, 32, 2, &y);
	CU_ASSERT_NOT_EQUAL(memcmp(x.psk, y.psk, 32), 0);
	link_psk(k, 31, 1, &y);
	CU_ASSERT_NOT_EQUAL(memcmp(x.psk, y.psk, 32), 0);
	link_psk(z, 32, 0, &x);
	link_psk(NULL, 0, 0, &y);
	CU_ASSERT_EQUAL(memcmp(x.psk, y.psk, 32), 0);
}

static void test_keys(void)
{
	struct host a, b;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &other1, 1);
	bad(&a, &b, -EKEYREJECTED, "another key, or none");
	bad(&b, &a, -EKEYREJECTED, "another key, or none");
	CU_ASSERT_EQUAL(nr_conns(&a) + nr_conns(&b), 0);
	links_keys(a.l, NULL, 0);
	port_opens(&a, false);
	bad(&b, &a, -EHOSTDOWN, "or it has no key");
	bad(&a, &b, -ENOKEY, "meshctl host key");
	/* Without authentication on both sides it works, and says so; on one side it does not. */
	links_keys(a.l, &zero, 1);
	port_opens(&a, true);
	bad(&a, &b, -EKEYREJECTED, "this one runs without");
	bad(&b, &a, -EKEYREJECTED, "another key, or none");
	links_keys(b.l, &zero, 1);
	good(&a, &b);
	CU_ASSERT(connected(&a, &b, 0));
	host_down(&a);
	host_down(&b);
}

static void test_rotation(void)
{
	struct link_key rotated[2] = { key2, key1 };
	struct host a, b;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	good(&a, &b);
	/* What is up stays up while its key is one of those in force. */
	links_keys(b.l, rotated, 2);
	usleep(200000);
	CU_ASSERT_EQUAL(nr_conns(&b), 1);
	good(&b, &a);
	/* b offers the new key first, which a does not have. */
	links_forget(a.l, b.addr, b.port);
	CU_ASSERT(becomes(&b, 0));
	good(&b, &a);
	links_forget(b.l, a.addr, a.port);
	CU_ASSERT(becomes(&a, 0));
	good(&a, &b);
	/* The old key is gone: so is the connection. */
	links_keys(b.l, &key2, 1);
	CU_ASSERT(becomes(&b, 0));
	CU_ASSERT(becomes(&a, 0));
	bad(&a, &b, -EKEYREJECTED, "another key, or none");
	links_keys(a.l, rotated, 2);
	good(&a, &b);
	host_down(&a);
	host_down(&b);
}

/* No deadline is tried here, and a busy machine is slow to send 64 MiB. */
#define LONG_MS	300000

static void test_long(void)
{
	size_t sizes[] = { 0, 1, 16384 - LINK_HDR, LINK_PAGE_MAX - 1, LINK_PAGE_MAX, LINK_PAGE_MAX + 1,
			   8U << 20, LINK_MSG_MAX };
	u8 *big = malloc(LINK_MSG_MAX + 1);
	char why[LINK_REASON];
	struct host a, b;
	size_t i, n;
	void *rsp;
	int err;

	for (i = 0; i <= LINK_MSG_MAX; i++)
		big[i] = i * 2654435761U >> 24;
	big[0] = 'x';
	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		err = links_call(a.l, b.addr, b.port, &b.uuid, big, sizes[i], LONG_MS,
				 &rsp, &n, why);
		CU_ASSERT_EQUAL(err, 0);
		CU_ASSERT_EQUAL(n, sizes[i]);
		CU_ASSERT(!err && n == sizes[i] && !memcmp(rsp, big, n));
		free(rsp);
	}
	err = links_call(a.l, b.addr, b.port, &b.uuid, big, LINK_MSG_MAX + 1, MS, &rsp, &n, why);
	CU_ASSERT_EQUAL(err, -EMSGSIZE);
	CU_ASSERT_EQUAL(nr_conns(&a), 1);
	free(big);
	host_down(&a);
	host_down(&b);
}

static void test_identity(void)
{
	struct host a, b, clone, dials;
	struct muuid right;
	char why[LINK_REASON];
	size_t n;
	void *rsp;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	right = b.uuid;
	memset(b.uuid.b, 9, 16);
	bad(&a, &b, -EXDEV, "another host");
	b.uuid = right;
	good(&a, &b);
	CU_ASSERT_EQUAL(links_call(a.l, b.addr, b.port, NULL, "x", 1, MS, &rsp, &n, why), 0);
	free(rsp);
	CU_ASSERT_EQUAL(links_call(a.l, "no.address", b.port, NULL, "x", 1, MS, &rsp, &n, why), -EINVAL);
	/* Another machine with the UUID of a: both sides refuse. */
	host_up(&clone, 1, &key1, 1);
	memset(clone.l->machine.b, 7, 16);
	bad(&a, &clone, -ENOTUNIQ, "clone");
	bad(&clone, &a, -ENOTUNIQ, "clone");
	/* A host without a port still calls. */
	host_make(&dials, 3, &key1, 1);
	good(&dials, &b);
	CU_ASSERT(becomes(&b, 2));
	host_down(&dials);
	host_down(&clone);
	host_down(&a);
	host_down(&b);
}

/* Handlers that call back, on the connection that their request came by. */
static void test_nested(void)
{
	struct host a, b;
	char why[LINK_REASON], answer[64] = "";

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	CU_ASSERT_EQUAL(request(&a, &b, "n12 2 1", MS, answer, sizeof(answer), why), 0);
	CU_ASSERT_STRING_EQUAL(answer, "end");
	CU_ASSERT_EQUAL(nr_conns(&a), 1);
	host_down(&a);
	host_down(&b);
}

/* Both sides connect at once, again and again: all calls succeed, one connection stays. */
static void test_both_at_once(void)
{
	struct caller c[2];
	struct host a, b;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	a.l->times.spare = b.l->times.spare = 300;
	for (int i = 0; i < 30; i++) {
		start(&c[0], &a, &b, "echo", MS, 3);
		start(&c[1], &b, &a, "echo", MS, 3);
		CU_ASSERT_EQUAL(end(&c[0]), 0);
		CU_ASSERT_EQUAL(end(&c[1]), 0);
		if (i == 29)
			break;
		links_forget(a.l, b.addr, b.port);
		links_forget(b.l, a.addr, a.port);
		CU_ASSERT(becomes(&a, 0) && becomes(&b, 0));
	}
	CU_ASSERT(becomes(&a, 1) && becomes(&b, 1));
	good(&a, &b);
	good(&b, &a);
	CU_ASSERT_EQUAL(nr_conns(&a), 1);
	host_down(&a);
	host_down(&b);
}

/* Requests that its one peer has outstanding, once they are a whole window. */
static unsigned int window_of(struct host *h)
{
	unsigned int n = 0;

	for (int i = 0; i < 1000 && n < LINK_WINDOW; i++) {
		usleep(10000);
		pthread_mutex_lock(&h->l->lock);
		n = h->l->conns ? h->l->conns->taken : 0;
		pthread_mutex_unlock(&h->l->lock);
	}
	return n;
}

/* More requests than the window and than workers: all are answered in the end. */
static void test_window(void)
{
	static struct caller c[200];
	struct host a, b, d;
	size_t i;
	int bad_calls = 0;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	host_up(&d, 3, &key1, 1);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		start(&c[i], &a, &b, "gate", MS, 1);
	CU_ASSERT_EQUAL(window_of(&b), LINK_WINDOW);
	usleep(500000);
	pthread_mutex_lock(&b.l->lock);
	CU_ASSERT_EQUAL(b.l->conns->running, LINK_PEER_RUNS);
	CU_ASSERT_EQUAL(b.l->conns->taken, LINK_WINDOW);
	pthread_mutex_unlock(&b.l->lock);
	/* Its window to b is full; b's to a, a's to others, and others' to b are not. */
	bad_in(&a, &b, 200, -ETIMEDOUT, "answers none");
	good(&b, &a);
	good(&a, &d);
	good(&d, &b);
	gate_open(true);
	for (i = 0; i < ARRAY_SIZE(c); i++)
		bad_calls += !!end(&c[i]);
	CU_ASSERT_EQUAL(bad_calls, 0);
	gate_open(false);
	good(&a, &b);
	host_down(&a);
	host_down(&b);
	host_down(&d);
}

/* A handler that hangs costs its call, at its deadline, and no other call. */
static void test_deadline(void)
{
	struct host a, b;
	struct caller c;
	u64 before;

	host_up(&a, 1, &key1, 1);
	host_up(&b, 2, &key1, 1);
	before = now_ms();
	start(&c, &a, &b, "gate", 700, 1);
	good(&a, &b);
	CU_ASSERT_EQUAL(end(&c), -ETIMEDOUT);
	CU_ASSERT(now_ms() - before >= 700);
	/* The late answer belongs to no request, and does no harm. */
	gate_open(true);
	good(&a, &b);
	CU_ASSERT_EQUAL(nr_conns(&a), 1);
	CU_ASSERT_EQUAL(a.l->conns->nr_calls, 0);
	host_down(&a);
	host_down(&b);		/* it waits for the handler, which may not have woken up before */
	gate_open(false);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "derived keys", test_derive },
		{ "call", test_call },
		{ "keys", test_keys },
		{ "rotation", test_rotation },
		{ "long messages", test_long },
		{ "identity", test_identity },
		{ "nested", test_nested },
		{ "both at once", test_both_at_once },
		{ "window", test_window },
		{ "deadline", test_deadline },
		{ NULL, NULL },
	};

	rig_start();
	return suite_main("link", tests);
}
