// SPDX-License-Identifier: GPL-2.0-only
/*
 * Volumes that a command works on: one command each, others wait, give up or cancel it.
 * The list is gone through with its lock held: what compares there checks that.
 */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <pthread.h>
#include <stdbool.h>

#include "suite.h"
#include "userspace/format/uuid.h"
#include "userspace/libmesh/mesh.h"

static __thread int held;
static unsigned int unheld;

static int lock_it(pthread_mutex_t *m)
{
	held++;
	return pthread_mutex_lock(m);
}

static int unlock_it(pthread_mutex_t *m)
{
	held--;
	return pthread_mutex_unlock(m);
}

static bool equal_locked(const struct muuid *a, const struct muuid *b)
{
	__atomic_add_fetch(&unheld, held != 1, __ATOMIC_RELAXED);
	return muuid_equal(a, b);
}

#define pthread_mutex_lock	lock_it
#define pthread_mutex_unlock	unlock_it
#define muuid_equal		equal_locked
#include "userspace/meshd/busy.c"

static const struct muuid a = { { 1 } }, b = { { 2 } };

static void test_one(void)
{
	CU_ASSERT(busy_take(&a) && busy_take(&b));
	CU_ASSERT(!busy_take(&a) && !busy_take_wait(&a, 20));
	CU_ASSERT(busy_is(&a) && busy_is(&b));
	busy_drop(&a);
	CU_ASSERT(!busy_is(&a) && busy_is(&b) && busy_take(&a));
	busy_drop(&b);
	busy_drop(&a);
	busy_drop(&a);
	CU_ASSERT(!busy_is(&a) && !busy_is(&b));
}

/* One that goes on until it is cancelled. */
static void *works(void *arg)
{
	(void)arg;
	while (!busy_cancelled(&a))
		;
	busy_drop(&a);
	return NULL;
}

static void test_cancel(void)
{
	pthread_t t;

	CU_ASSERT(busy_cancel(&a, 0));
	CU_ASSERT(busy_take(&b) && !busy_cancel(&b, 20) && busy_cancelled(&b));
	CU_ASSERT(busy_take(&a) && !busy_cancelled(&a));
	CU_ASSERT_FATAL(!pthread_create(&t, NULL, works, NULL));
	CU_ASSERT(busy_cancel(&a, 60000) && busy_take_wait(&a, 60000));
	pthread_join(t, NULL);
	busy_drop(&a);
	busy_drop(&b);
}

static void test_locked(void)
{
	CU_ASSERT_EQUAL(unheld, 0);
	CU_ASSERT_EQUAL(held, 0);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "one command a volume", test_one },
		{ "cancelled", test_cancel },
		{ "with the lock", test_locked },
		{ NULL, NULL },
	};

	return suite_main("busy", tests);
}
