// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel reports of hosts and volumes, against the lines that come of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>

#include "userspace/meshd/changes.c"
#include "userspace/libmesh/grow.c"
#include "suite.h"

static char said[256];		/* the last line; "": none since */
static bool broken;		/* the store */

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...) { (void)fmt; }

bool store_broken(void) { return broken; }

int store_hosts(struct store_host **out, size_t *n)
{
	CU_ASSERT_FALSE(broken);
	*out = calloc(3, sizeof(**out));
	*n = 3;
	(*out)[0] = (struct store_host) { .id = 3, .name = "gpu3", .addr = "10.0.0.3" };
	(*out)[1] = (struct store_host) { .id = 4, .name = "gpu4", .addr = "10.0.0.4" };
	/* It has not said what it is called. */
	(*out)[2] = (struct store_host) { .id = 5, .name = "10.0.0.5", .addr = "10.0.0.5" };
	return 0;
}

int store_volume_get(const struct muuid *uuid, struct store_volume *v, struct layout *l)
{
	(void)l;
	if (uuid->b[0] != 1)
		return -ENOENT;
	*v = (struct store_volume) { .name = "data" };
	return 0;
}

static const char *host(u32 id, const char *state, const char *reason)
{
	struct mesh_event e = { .event = MESHBLK_EV_TARGET_STATE, .id = id };

	snprintf(e.state, sizeof(e.state), "%s", state);
	snprintf(e.reason, sizeof(e.reason), "%s", reason);
	said[0] = 0;
	changes_note(&e);
	CU_ASSERT_STRING_EQUAL(said, "");
	changes_log();
	return said;
}

static void test_hosts(void)
{
	CU_ASSERT_STRING_EQUAL(host(4, "connecting", "not connected yet"), "");
	CU_ASSERT_STRING_EQUAL(host(4, "up", ""), "host gpu4 (10.0.0.4) is up");
	/* It is away, and tried again, for a year. */
	CU_ASSERT_STRING_EQUAL(host(4, "connecting", "it is silent"), "host gpu4 (10.0.0.4) is connecting: it is silent");
	CU_ASSERT_STRING_EQUAL(host(4, "down", "no route"), "host gpu4 (10.0.0.4) is down: no route");
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_STRING_EQUAL(host(4, "connecting", "no route"), "");
		CU_ASSERT_STRING_EQUAL(host(4, "down", "no route"), "");
	}
	CU_ASSERT_STRING_EQUAL(host(3, "down", "no route"), "host gpu3 (10.0.0.3) is down: no route");
	CU_ASSERT_STRING_EQUAL(host(4, "down", "another key"), "host gpu4 (10.0.0.4) is down: another key");
	CU_ASSERT_STRING_EQUAL(host(4, "up", ""), "host gpu4 (10.0.0.4) is up");
	CU_ASSERT_STRING_EQUAL(host(5, "up", ""), "host 10.0.0.5 is up");
	broken = true;
	CU_ASSERT_STRING_EQUAL(host(4, "down", "no route"), "host number 4 is down: no route");
	broken = false;
}

static void test_volumes(void)
{
	struct mesh_event e = { .event = MESHBLK_EV_VOLUME_STATE, .uuid = { { 1 } }, .state = "active", .version = 7 };

	changes_note(&e);
	changes_log();
	CU_ASSERT_STRING_EQUAL(said, "volume data is active at version 7");
	e.uuid.b[0] = 2;
	changes_note(&e);
	changes_log();
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "volume 02000000-"));
	said[0] = 0;
	e.target = true;
	changes_note(&e);
	changes_log();
	CU_ASSERT_STRING_EQUAL(said, "");
}

/* Of more than may wait the first are dropped. */
static void test_many(void)
{
	struct mesh_event e = { .event = MESHBLK_EV_VOLUME_STATE, .uuid = { { 1 } }, .state = "active" };

	for (e.version = 1; e.version <= WAITING_MAX + 5; e.version++)
		changes_note(&e);
	CU_ASSERT_EQUAL(nr_waiting, WAITING_MAX);
	CU_ASSERT_EQUAL(waiting[0].version, 6);
	changes_log();
	CU_ASSERT_STRING_EQUAL(said, "volume data is active at version 261");
	said[0] = 0;
	changes_log();
	CU_ASSERT_STRING_EQUAL(said, "");
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "hosts that come and go", test_hosts },
		{ "volumes by their names", test_volumes },
		{ "more than may wait", test_many },
		{ NULL, NULL },
	};
	int ret = suite_main("changes", tests);

	free(all);
	return ret;
}
