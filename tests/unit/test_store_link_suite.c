// SPDX-License-Identifier: GPL-2.0-only
/* The conformance suite of the store through the link: a store host's client, over SQLite. */
#include "store_link_rig.h"
#include "store_suite.h"
#include "store_suite_keys.h"
#include "store_suite_lease.h"
#include "store_suite_state.h"
#include "store_suite_watch.h"
#define faulty_txn suite_faulty_txn
#define faulty_get suite_faulty_get
#include "store_suite_settle.h"

static struct store_link *L;
static char copy[128];

static void fresh(void)
{
	begin();
	L = client_open(1, PLAN_STORE);
	snprintf(copy, sizeof(copy), "%s/copy.db", N.folder);
}

static void end_all(void)
{
	store_link_close(L);
	node_end();
}

static struct store *handle(void)
{
	return store_link_handle(L);
}

static void shut(void)
{
	server_stop(0);
	store_sqlite_close(N.q);
}

static void up(void)
{
	engine_open();
	server_start(0);
}

static void restart(void)
{
	shut();
	up();
}

static void keep(void)
{
	CU_ASSERT_EQUAL(store_sqlite_backup(N.q, copy), 0);
}

static void put_back(void)
{
	shut();
	CU_ASSERT_EQUAL(rename(copy, N.file), 0);
	up();
}

static void compact(void)
{
	struct store *s = direct();

	store_sqlite_history(N.q, 1);
	change(s, op_put("zz/compact", ""));
	change(s, op_del("zz/compact"));
	store_sqlite_history(N.q, 10000);
	store_close(s);
}

static const struct suite_engine engine = { fresh, end_all, handle, restart, keep, put_back, compact, NULL };

static const struct suite_test tests[] = {
	STORE_SUITE_KEYS, STORE_SUITE_WATCH, STORE_SUITE_LEASE, STORE_SUITE_SETTLE, STORE_SUITE_STATE,
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("the store through the link", tests);
}
