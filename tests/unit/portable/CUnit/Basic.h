/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of CUnit's interface that our tests use, for machines that Debian
 * has no CUnit for (s390x under qemu-user). On the build machine the real
 * CUnit is used.
 */
#ifndef PORTABLE_CUNIT_BASIC_H
#define PORTABLE_CUNIT_BASIC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*CU_TestFunc)(void);
typedef struct CU_Suite { int unused; } *CU_pSuite;
#define CUE_SUCCESS	0
#define CU_BRM_NORMAL	0
#define CU_BRM_VERBOSE	1

static struct { const char *name; CU_TestFunc fn; } cu_tests[256];
static unsigned int cu_count, cu_failed;
static struct CU_Suite cu_suite;

static inline int CU_initialize_registry(void) { return CUE_SUCCESS; }
static inline void CU_cleanup_registry(void) { }
static inline void CU_basic_set_mode(int mode) { (void)mode; }
static inline unsigned int CU_get_number_of_failures(void) { return cu_failed; }
static inline const char *CU_get_error_msg(void) { return "too many tests"; }

static inline CU_pSuite CU_add_suite(const char *name, int (*init)(void), int (*clean)(void))
{
	(void)name; (void)init; (void)clean;
	return &cu_suite;
}

static inline void *CU_add_test(CU_pSuite s, const char *name, CU_TestFunc fn)
{
	(void)s;
	if (cu_count == 256)
		return NULL;
	cu_tests[cu_count].name = name;
	cu_tests[cu_count++].fn = fn;
	return &cu_suite;
}

static inline int CU_basic_run_tests(void)
{
	unsigned int i;

	for (i = 0; i < cu_count; i++)
		cu_tests[i].fn();
	return 0;
}

#define CU_CHECK_(c, text, fatal) do { \
	if (!(c)) { \
		cu_failed++; \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text); \
		if (fatal) \
			exit(1); \
	} } while (0)
#define CU_ASSERT(c)			CU_CHECK_(c, #c, 0)
#define CU_ASSERT_FATAL(c)		CU_CHECK_(c, #c, 1)
#define CU_ASSERT_TRUE(c)		CU_CHECK_(c, #c, 0)
#define CU_ASSERT_FALSE(c)		CU_CHECK_(!(c), "!" #c, 0)
#define CU_ASSERT_EQUAL(a, b)	CU_CHECK_((a) == (b), #a " == " #b, 0)
#define CU_ASSERT_NOT_EQUAL(a, b)	CU_CHECK_((a) != (b), #a " != " #b, 0)
#define CU_ASSERT_PTR_NULL(p)	CU_CHECK_(!(p), #p " is NULL", 0)
#define CU_ASSERT_PTR_NOT_NULL(p)	CU_CHECK_((p), #p " is not NULL", 0)
#define CU_ASSERT_STRING_EQUAL(a, b) CU_CHECK_(!strcmp(a, b), #a " is " #b, 0)
#define CU_ASSERT_TRUE_FATAL(c)		CU_CHECK_(c, #c, 1)
#define CU_ASSERT_FALSE_FATAL(c)		CU_CHECK_(!(c), "!" #c, 1)
#define CU_ASSERT_EQUAL_FATAL(a, b)	CU_CHECK_((a) == (b), #a " == " #b, 1)
#define CU_ASSERT_NOT_EQUAL_FATAL(a, b)	CU_CHECK_((a) != (b), #a " != " #b, 1)
#define CU_ASSERT_PTR_NULL_FATAL(p)	CU_CHECK_(!(p), #p " is NULL", 1)
#define CU_ASSERT_PTR_NOT_NULL_FATAL(p)	CU_CHECK_((p), #p " is not NULL", 1)
#define CU_ASSERT_STRING_EQUAL_FATAL(a, b) CU_CHECK_(!strcmp(a, b), #a " is " #b, 1)
#define CU_FAIL(text)			CU_CHECK_(0, text, 0)
#define CU_FAIL_FATAL(text)		CU_CHECK_(0, text, 1)
#define CU_PASS(text)			do { } while (0)

#endif
