// SPDX-License-Identifier: GPL-2.0-only
/* The conformance suite of the store through the link, whose store host has one real member of etcd. */
#define RIG_ENGINE
#include "store_link_rig.h"
#define folder etcd_folder
#include "etcd_rig.h"
/* etcd catches up with the past of a watch ten times a second. */
#define NEVER	300
#include "store_suite.h"
#include "store_suite_keys.h"
#include "store_suite_lease.h"
#include "store_suite_state.h"
#include "store_suite_watch.h"
#define faulty_txn suite_faulty_txn
#define faulty_get suite_faulty_get
#include "store_suite_settle.h"

static struct store_etcd *E;
static struct store_link *L;
static char endpoint[64], root[32];

static void engine_open(void)
{
	struct store_etcd_config c = { .endpoint = { endpoint }, .endpoints = 1, .plain = true, .root = root };

	E = open_etcd(&c);
}

static void engine_close(void)
{
	store_etcd_close(E);
	E = NULL;
}

static struct store *engine_handle(void)
{
	return store_etcd_handle(E);
}

/* Keys of an earlier test whose leases end would make changes in this one. */
static void fresh(void)
{
	static unsigned int nr;

	gateway(0, "/v3/kv/deleterange", "{\"key\":\"AA==\",\"range_end\":\"AA==\"}");
	snprintf(root, sizeof(root), "test/%u/", nr++);
	begin();
	L = client_open(1, PLAN_STORE);
}

static void end_all(void)
{
	store_link_close(L);
	node_end();
}

static struct store *handle(void)
{
	return patient(L);
}

static void shut(int sig)
{
	server_stop(0);
	engine_close();
	member_end(0, sig);
}

static void up(void)
{
	member_start(0);
	wait_healthy(0);
	engine_open();
	server_start(0);
}

static void restart(void)
{
	shut(SIGKILL);
	up();
}

static void keep(void)
{
	shut(SIGTERM);
	folder_keep();
	up();
}

static void put_back(void)
{
	shut(SIGKILL);
	folder_put_back();
	up();
}

static const struct suite_engine engine = { fresh, end_all, handle, restart, keep, put_back, member_compact, NULL };

static const struct suite_test tests[] = {
	STORE_SUITE_KEYS, STORE_SUITE_WATCH, STORE_SUITE_LEASE, STORE_SUITE_SETTLE, STORE_SUITE_STATE,
	{ NULL, NULL }
};

int main(void)
{
	int ret;

	folder_begin();
	members_begin(1);
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", M[0].client);
	wait_healthy(0);
	ret = suite_main("the store through the link, in etcd", tests);
	members_end();
	return ret;
}
