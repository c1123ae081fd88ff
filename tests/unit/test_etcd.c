// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store's etcd engine: the conformance suite, over one real member with TLS. Each test has keys of its
 * own: a root, as users of one etcd have.
 */
#include "etcd_rig.h"
#include "etcd_pki.h"
/* etcd catches up with the past of a watch ten times a second. */
#define NEVER	300
#include "store_suite.h"
#include "store_suite_keys.h"
#include "store_suite_lease.h"
#include "store_suite_state.h"
#include "store_suite_watch.h"
#include "store_suite_settle.h"

static struct store_etcd *E;
static char endpoint[64], root[32];

static void open_engine(void)
{
	struct store_etcd_config c = {
		.endpoint = { endpoint }, .endpoints = 1, .ca = in_folder("ca.crt"),
		.cert = in_folder("client.crt"), .key = in_folder("client.key"), .root = root,
	};

	E = open_etcd(&c);
}

/* Keys of an earlier test whose leases end would make changes in this one. */
static void fresh(void)
{
	static unsigned int nr;

	gateway(0, "/v3/kv/deleterange", "{\"key\":\"AA==\",\"range_end\":\"AA==\"}");
	snprintf(root, sizeof(root), "test/%u/", nr++);
	open_engine();
}

static void end_all(void)
{
	store_etcd_close(E);
	E = NULL;
}

static struct store *handle(void)
{
	struct store *s = store_etcd_handle(E);

	store_timeout(s, 20000);
	return s;
}

static void start(void)
{
	member_start(0);
	wait_healthy(0);
}

static void restart(void)
{
	member_end(0, SIGKILL);
	start();
}

static void keep(void)
{
	member_end(0, SIGTERM);
	folder_keep();
	start();
}

static void put_back(void)
{
	member_end(0, SIGKILL);
	folder_put_back();
	start();
}

/* The alarm that etcd raises when its quota is used up; test_etcd_faults uses one up. */
static void full(bool on)
{
	char body[128], text[1024];

	snprintf(text, sizeof(text), "%s", gateway(0, "/v3/maintenance/status", "{}"));
	snprintf(body, sizeof(body), "{\"action\":\"%s\",\"memberID\":\"%llu\",\"alarm\":\"NOSPACE\"}",
		 on ? "ACTIVATE" : "DEACTIVATE", (unsigned long long)number_in(text, "member_id"));
	if (!gateway(0, "/v3/maintenance/alarm", body)[0])
		give_up("etcd takes no alarm: %s", body);
}

static const struct suite_engine engine = { fresh, end_all, handle, restart, keep, put_back, member_compact, full };

static const struct suite_test tests[] = {
	STORE_SUITE_KEYS, STORE_SUITE_WATCH, STORE_SUITE_LEASE, STORE_SUITE_SETTLE, STORE_SUITE_STATE,
	{ NULL, NULL }
};

/* With TLS, and for clients with a certificate of the CA alone. */
static void secure_begin(void)
{
	static char ca[128], cert[128], key[128];
	int n = 0;

	folder_begin();
	pki_all(folder);
	tls = true;
	snprintf(ca, sizeof(ca), "%s/ca.crt", folder);
	snprintf(cert, sizeof(cert), "%s/member.crt", folder);
	snprintf(key, sizeof(key), "%s/member.key", folder);
	member_args[n++] = "--client-cert-auth";
	member_args[n++] = "--trusted-ca-file";
	member_args[n++] = ca;
	member_args[n++] = "--cert-file";
	member_args[n++] = cert;
	member_args[n++] = "--key-file";
	member_args[n++] = key;
	members_begin(1);
}

int main(void)
{
	int ret;

	secure_begin();
	snprintf(endpoint, sizeof(endpoint), "https://127.0.0.1:%u", M[0].client);
	wait_healthy(0);
	ret = suite_main("the store in etcd", tests);
	members_end();
	return ret;
}
