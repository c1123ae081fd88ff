// SPDX-License-Identifier: GPL-2.0-only
/*
 * The etcd engine's settings and its TLS, to a real member that wants certificates: strangers on
 * either side, and requests on a connection that was used before.
 */
#include "etcd_proxy.h"
#include "etcd_pki.h"
#include "store_suite.h"

/* Not used: the engine under test has settings of each test. */
static const struct suite_engine engine;

static struct proxy P;
static char endpoint[64];

static struct store_etcd_config config(void)
{
	snprintf(endpoint, sizeof(endpoint), "https://127.0.0.1:%u", P.port);
	return (struct store_etcd_config) {
		.endpoint = { endpoint }, .endpoints = 1, .ca = in_folder("ca.crt"),
		.cert = in_folder("client.crt"), .key = in_folder("client.key"),
	};
}

static char why[512];

static int try_open(const struct store_etcd_config *c)
{
	struct store_etcd *e;
	int err = store_etcd_open(c, &e, why, sizeof(why));

	store_etcd_close(e);
	return err;
}

static void settings(void)
{
	struct store_etcd_config c = config(), good = c;

	CU_ASSERT_EQUAL(try_open(&good), 0);
	for (int i = 0; i < 9; i++) {
		static const char *const bad[] = {
			"http://127.0.0.1:1", "https://127.0.0.1", "https://127.0.0.1:", "127.0.0.1:2379",
			"https://user:word@127.0.0.1:2379", "https://127.0.0.1:2379/path", "https://:2379",
			"https://127.0.0.1:23x9", "https://a b:1",
		};

		c.endpoint[0] = bad[i];
		CU_ASSERT_EQUAL(try_open(&c), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(why, "https://HOST:PORT"));
		CU_ASSERT_PTR_NULL(strstr(why, "word"));
	}
	c = good;
	c.endpoints = 0;
	CU_ASSERT_EQUAL(try_open(&c), -EINVAL);
	c.endpoints = ETCD_ENDPOINTS_MAX + 1;
	CU_ASSERT_EQUAL(try_open(&c), -EINVAL);
	c = good;
	c.plain = true;
	CU_ASSERT_EQUAL(try_open(&c), -EINVAL);
	c = good;
	c.ca = NULL;
	CU_ASSERT_EQUAL(try_open(&c), -EINVAL);
	c = good;
	for (int i = 0; i < 4; i++) {
		c.root = (const char *const []) { "/", "a", "a//", "\n/" }[i];
		CU_ASSERT_EQUAL(try_open(&c), -EINVAL);
	}
	c.root = "meshblk/";
	CU_ASSERT_EQUAL(try_open(&c), 0);
}

static void files(void)
{
	struct store_etcd_config c = config();

	c.cert = in_folder("none.crt");
	CU_ASSERT_EQUAL(try_open(&c), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "none.crt"));
	c = config();
	c.ca = folder;
	CU_ASSERT_EQUAL(try_open(&c), -EINVAL);
	c = config();
	for (int i = 0; i < 3; i++) {
		chmod(c.key, (const mode_t []) { 0640, 0604, 0610 }[i]);
		CU_ASSERT_EQUAL(try_open(&c), -EACCES);
		CU_ASSERT_PTR_NOT_NULL(strstr(why, "chmod 600"));
	}
	chmod(c.key, 0600);
	CU_ASSERT_EQUAL(try_open(&c), 0);
}

/* What a read comes to with these settings, within two seconds; words in @why. */
static int read_with(const struct store_etcd_config *c)
{
	struct store_etcd *e = open_etcd(c);
	struct store *s = store_etcd_handle(e);
	struct store_page p;
	int err;

	store_timeout(s, 2000);
	err = store_get(s, "none", &p);
	snprintf(why, sizeof(why), "%s", store_why(s));
	store_page_free(&p);
	store_close(s);
	store_etcd_close(e);
	return err;
}

static void member_with(const char *cert)
{
	static char file[2][128];

	snprintf(file[0], sizeof(file[0]), "%s/%s.crt", folder, cert);
	snprintf(file[1], sizeof(file[1]), "%s/%s.key", folder, cert);
	member_args[4] = file[0];
	member_args[6] = file[1];
	member_end(0, SIGKILL);
	member_start(0);
}

static void strangers(void)
{
	struct store_etcd_config c = config();

	UNTIL(read_with(&c) == -ENOENT, "the member does not answer: %s", why);
	/* a client of another CA, and one that has none of the member's */
	c.cert = in_folder("stranger.crt");
	c.key = in_folder("stranger.key");
	CU_ASSERT(read_with(&c) < 0 && read_with(&c) != -ENOENT);
	c = config();
	c.ca = in_folder("other-ca.crt");
	CU_ASSERT_EQUAL(read_with(&c), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(why, "certificate"));
	/* a member whose certificate is of another address */
	c = config();
	member_with("elsewhere");
	UNTIL(read_with(&c) == -EIO && strstr(why, "certificate"), "a member with another's name: %s", why);
	member_with("member");
	UNTIL(read_with(&c) == -ENOENT, "the member does not answer: %s", why);
}

/* The environment may name proxies for other programs. */
static void no_proxy(void)
{
	struct store_etcd_config c = config();

	setenv("https_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	UNTIL(read_with(&c) == -ENOENT, "the member does not answer: %s", why);
	unsetenv("https_proxy");
	unsetenv("ALL_PROXY");
}

struct lost {
	struct store *s;
	int	ret;
};

static void *put_lost(void *arg)
{
	struct lost *l = arg;

	l->ret = store_txn(l->s, TXN(ALWAYS, OPS(op_put("a", "lost"))), NULL);
	return NULL;
}

static u64 revision_now(void)
{
	return number_in(gateway(0, "/v3/kv/range", "{\"key\":\"AA==\",\"count_only\":true}"), "revision");
}

/*
 * A connection that was used before breaks before the answer: libcurl would send the request again
 * by itself, and the transaction would be done twice.
 */
static void sent_once(void)
{
	struct store_etcd_config c = config();
	struct store_etcd *e = open_etcd(&c);
	struct lost l = { .s = store_etcd_handle(e) };
	unsigned int accepted;
	pthread_t t;
	u64 was;

	S = l.s;
	store_timeout(S, 20000);
	UNTIL(!strcmp(get("none"), "ENOENT"), "the member does not answer: %s", store_why(S));
	accepted = proxy_accepted(&P);
	put("a", "1");
	was = put("a", "2");
	IS(get("a"), "2");
	/* one connection for all calls of a handle */
	CU_ASSERT_EQUAL(proxy_accepted(&P), accepted);
	for (int i = 0; i < 3; i++) {
		proxy_mode(&P, MUTE);
		pthread_create(&t, NULL, put_lost, &l);
		UNTIL(revision_now() > was, "the transaction does not come to the member");
		proxy_mode(&P, BREAK);
		pthread_join(t, NULL);
		CU_ASSERT_EQUAL(l.ret, -EIO);
		IS(get("a"), "lost");
		CU_ASSERT_EQUAL(revision_now(), was + 1);
		was = put("a", "3");
	}
	store_close(S);
	store_etcd_close(e);
}

static const struct suite_test tests[] = {
	{ "settings", settings },
	{ "files", files },
	{ "strangers", strangers },
	{ "proxies of the environment", no_proxy },
	{ "a used connection breaks", sent_once },
	{ NULL, NULL }
};

int main(void)
{
	static char ca[128];
	int ret;

	folder_begin();
	pki_all(folder);
	tls = true;
	snprintf(ca, sizeof(ca), "%s/ca.crt", folder);
	member_args[0] = "--client-cert-auth";
	member_args[1] = "--trusted-ca-file";
	member_args[2] = ca;
	member_args[3] = "--cert-file";
	member_args[5] = "--key-file";
	members = 1;
	ports();
	member_with("member");
	proxy_begin(&P, M[0].client);
	wait_healthy(0);
	ret = suite_main("etcd with TLS", tests);
	proxy_end(&P);
	members_end();
	return ret;
}
