// SPDX-License-Identifier: GPL-2.0-only
/*
 * userspace/etcd: the certificates and the unit that an operator gets are those of three members
 * that work together, whatever port a stranger comes to.
 */
#include "etcd_rig.h"
#include "store_suite.h"

/* Not used: the engine under test has members of its own. */
static const struct suite_engine engine;

static struct store_etcd *E;

/* The unit's command, as systemd would run it. */
static void start_by_unit(unsigned int i)
{
	run("userspace/etcd/etcd-unit --certs %s/certs --data %s/m%u --ports %u,%u m%u m0=127.0.0.1 m1=127.0.0.2"
	    " m2=127.0.0.3 >%s/m%u.service", folder, folder, i, M[0].client, M[0].peer, i, folder, i);
	run("sed -n '/^ExecStart=/,/[^\\\\]$/p' %s/m%u.service | sed 's/^ExecStart=/exec /' >%s/m%u.sh", folder, i,
	    folder, i);
	M[i].pid = fork();
	if (M[i].pid < 0)
		give_up("no process: %s", strerror(errno));
	if (M[i].pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("GOMAXPROCS", "1", 1);
	if (!freopen(in_folder("all.log"), "a", stdout) || dup2(1, 2) < 0)
		_exit(126);
	char script[16];

	snprintf(script, sizeof(script), "m%u.sh", i);
	execl("/bin/sh", "sh", in_folder(script), NULL);
	_exit(127);
}

static void engine_begin(void)
{
	static char endpoint[MEMBERS][64];
	struct store_etcd_config c = {
		.endpoints = MEMBERS, .ca = in_folder("certs/ca.crt"), .cert = in_folder("certs/client.crt"),
		.key = in_folder("certs/client.key"),
	};

	for (int i = 0; i < MEMBERS; i++) {
		snprintf(endpoint[i], sizeof(endpoint[i]), "https://127.0.0.%d:%u", i + 1, M[0].client);
		c.endpoint[i] = endpoint[i];
	}
	E = open_etcd(&c);
	S = store_etcd_handle(E);
	store_timeout(S, 3000);
}

static void work_together(void)
{
	u64 r = 0;

	UNTIL(!strcmp(get("none"), "ENOENT"), "three members do not work together: %s", store_why(S));
	store_timeout(S, 20000);
	CU_ASSERT_EQUAL(store_txn_settle(S, TXN(COMPARES(absent("a")), OPS(op_put("a", "1"))),
					 store_now_ms() + PATIENCE_MS, &r), 1);
	member_end(0, SIGKILL);
	CU_ASSERT_EQUAL(store_txn_settle(S, TXN(COMPARES(same("a", r)), OPS(op_put("a", "2"))),
					 store_now_ms() + PATIENCE_MS, &r), 1);
	IS(get("a"), "2");
}

/* HTTP's status with a certificate, NULL: without; 0: no answer. */
static long knock(unsigned short port, const char *path, const char *cert)
{
	char url[96], file[64];
	struct answer a = { 0 };
	CURL *c = curl_easy_init();
	long code = 0;

	snprintf(url, sizeof(url), "https://127.0.0.2:%u%s", port, path);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(c, CURLOPT_CAINFO, in_folder("certs/ca.crt"));
	curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, 20000L);
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &a);
	if (cert) {
		snprintf(file, sizeof(file), "certs/%s.crt", cert);
		curl_easy_setopt(c, CURLOPT_SSLCERT, in_folder(file));
		snprintf(file, sizeof(file), "certs/%s.key", cert);
		curl_easy_setopt(c, CURLOPT_SSLKEY, in_folder(file));
	}
	if (curl_easy_perform(c) == CURLE_OK)
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &code);
	curl_easy_cleanup(c);
	return code;
}

static void strangers(void)
{
	CU_ASSERT_EQUAL(knock(M[0].peer, "/version", "m1"), 200);
	CU_ASSERT_EQUAL(knock(M[0].peer, "/version", "client"), 0);
	CU_ASSERT_EQUAL(knock(M[0].peer, "/version", NULL), 0);
	CU_ASSERT_EQUAL(knock(M[0].client, "/version", "client"), 200);
	CU_ASSERT_EQUAL(knock(M[0].client, "/version", NULL), 0);
}

/* Certificates that are there stay, when a member is added. */
static void add_member(void)
{
	run("sha256sum %s/certs/*.key %s/certs/*.crt >%s/sums", folder, folder, folder);
	run("userspace/etcd/etcd-certs %s/certs m0=127.0.0.1 m3=127.0.0.4 >>%s/all.log", folder, folder);
	run("sha256sum --quiet -c %s/sums", folder);
	run("test -s %s/certs/m3.crt && test $(stat -c %%a %s/certs/m3.key) = 600", folder, folder);
}

static const struct suite_test tests[] = {
	{ "three members of the unit", work_together },
	{ "strangers", strangers },
	{ "a member is added", add_member },
	{ NULL, NULL }
};

int main(void)
{
	int ret;

	folder_begin();
	members = MEMBERS;
	ports();
	/* From loopback a member comes as the first address, whichever is its own. */
	run("userspace/etcd/etcd-certs %s/certs m0=127.0.0.1 m1=127.0.0.2,127.0.0.1 m2=127.0.0.3,127.0.0.1"
	    " >%s/all.log", folder, folder);
	for (unsigned int i = 0; i < MEMBERS; i++)
		start_by_unit(i);
	engine_begin();
	ret = suite_main("etcd by its unit", tests);
	store_close(S);
	store_etcd_close(E);
	members_end();
	return ret;
}
