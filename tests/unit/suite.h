/* SPDX-License-Identifier: GPL-2.0-only */
/* A CUnit program of one suite: a table of tests and suite_main(). */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <stdio.h>
#include <CUnit/Basic.h>

struct suite_test {
	const char *name;
	void (*fn)(void);
};

static inline int suite_main(const char *name, const struct suite_test *t)
{
	CU_pSuite suite;
	int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	suite = CU_add_suite(name, NULL, NULL);
	for (; suite && t->name; t++)
		if (!CU_add_test(suite, t->name, t->fn))
			suite = NULL;
	if (!suite) {
		fprintf(stderr, "%s: %s\n", name, CU_get_error_msg());
		return 2;
	}
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}

#endif
