/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cluster store in a file of a folder of its own, for tests of what daemons do with it: the
 * copy of the daemon that is tested, and one by which the test sees and writes.
 */
#ifndef TESTS_UNIT_AGENT_RIG_H
#define TESTS_UNIT_AGENT_RIG_H

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/agent/deal.h"
#include "userspace/store/sqlite.h"

#define OK(x)	CU_ASSERT_EQUAL((x), 0)

static char folder[64], file[80], why[256];
static struct store_sqlite *Q;

/* No file of these tests has to outlive the host. */
int fdatasync(int fd)
{
	return fd < 0 ? -1 : 0;
}

int fsync(int fd)
{
	return fd < 0 ? -1 : 0;
}

static inline void rig_begin(void)
{
	snprintf(folder, sizeof(folder), "/tmp/agent-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/store", folder);
	OK(store_sqlite_open(file, &Q, why, sizeof(why)));
}

/* All handles are closed. */
static inline void rig_end(void)
{
	char rm[96];

	store_sqlite_close(Q);
	snprintf(rm, sizeof(rm), "rm -rf %s", folder);
	OK(system(rm));
}

static inline struct muuid rig_id(u8 kind, u8 n)
{
	return (struct muuid) { .b = { kind, n } };
}

static inline void rig_catch_up(struct copy *c)
{
	while (copy_turn(c, 0, NULL, NULL) > 0)
		;
}

/* Write an object of the test's, whatever the key has. */
static inline void rig_put(struct copy *c, enum key_kind kind, void *x)
{
	struct deal d;

	rig_catch_up(c);
	deal_begin(&d, c);
	deal_put(&d, kind, x, 0);
	if (deal_close(&d, 1000) != 1) {
		CU_FAIL("the test's own object is refused");
		printf("%s\n", d.why);
	}
}

static inline void rig_erase(struct copy *c, const struct key *k)
{
	struct deal d;

	rig_catch_up(c);
	deal_begin(&d, c);
	deal_erase(&d, k);
	CU_ASSERT_EQUAL(deal_close(&d, 1000), 1);
}

struct rig_test {
	const char *name;
	void	(*fn)(void);
};

static inline int rig_main(const char *name, const struct rig_test *t, size_t n)
{
	unsigned int failed;
	CU_pSuite s;

	CU_initialize_registry();
	s = CU_add_suite(name, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		CU_add_test(s, t[i].name, t[i].fn);
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}

#endif
