// SPDX-License-Identifier: GPL-2.0-only
/* userspace/daemon/job.c: results come once, the loop is woken, a job that hangs is left. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/suite.h"
#include "userspace/daemon/job.h"

struct work {
	sem_t	go, dropped;
	int	result;
	int	runs;
};

static int work_fn(void *arg)
{
	struct work *w = arg;

	sem_wait(&w->go);
	w->runs++;
	return w->result;
}

static void work_drop(void *arg)
{
	struct work *w = arg;

	sem_post(&w->dropped);
}

static void work_init(struct work *w, int result)
{
	*w = (struct work) { .result = result };
	sem_init(&w->go, 0, 0);
	sem_init(&w->dropped, 0, 0);
}

static bool woken(int ms)
{
	struct pollfd p = { .fd = job_wake_fd(), .events = POLLIN };
	u64 n;

	if (poll(&p, 1, ms) != 1)
		return false;
	return read(p.fd, &n, sizeof(n)) == sizeof(n);
}

static void test_result_once(void)
{
	struct work w;
	struct job *j;

	work_init(&w, -ENOSPC);
	j = job_new(work_fn, &w, NULL);
	CU_ASSERT_EQUAL(job_since(j), 0);
	CU_ASSERT_EQUAL(job_run(j), -EINPROGRESS);
	CU_ASSERT_TRUE(job_since(j) > 0);
	CU_ASSERT_EQUAL(job_run(j), -EINPROGRESS);
	CU_ASSERT_FALSE(woken(0));
	sem_post(&w.go);
	CU_ASSERT_TRUE(woken(60000));
	CU_ASSERT_EQUAL(job_since(j), 0);
	CU_ASSERT_EQUAL(job_run(j), -ENOSPC);
	CU_ASSERT_EQUAL(w.runs, 1);
	/* The result was given out: the next call starts it again. */
	w.result = 0;
	CU_ASSERT_EQUAL(job_run(j), -EINPROGRESS);
	sem_post(&w.go);
	CU_ASSERT_TRUE(woken(60000));
	CU_ASSERT_EQUAL(job_run(j), 0);
	CU_ASSERT_EQUAL(w.runs, 2);
	job_free(j);
}

static void test_freed_while_it_runs(void)
{
	struct work w;
	struct job *j;

	work_init(&w, 0);
	j = job_new(work_fn, &w, work_drop);
	CU_ASSERT_EQUAL(job_run(j), -EINPROGRESS);
	job_free(j);
	CU_ASSERT_EQUAL(sem_trywait(&w.dropped), -1);
	CU_ASSERT_EQUAL(w.runs, 0);
	sem_post(&w.go);
	sem_wait(&w.dropped);
	CU_ASSERT_EQUAL(w.runs, 1);
	CU_ASSERT_TRUE(woken(60000));
}

static void test_freed_at_rest(void)
{
	struct work w;
	struct job *j;

	work_init(&w, 0);
	j = job_new(work_fn, &w, work_drop);
	job_free(j);
	CU_ASSERT_EQUAL(sem_trywait(&w.dropped), 0);
	job_free(NULL);
}

static void *wake_thread(void *arg)
{
	job_wake();
	return arg;
}

static void test_wake(void)
{
	pthread_t t;

	CU_ASSERT_FALSE(woken(0));
	pthread_create(&t, NULL, wake_thread, NULL);
	CU_ASSERT_TRUE(woken(60000));
	pthread_join(t, NULL);
	CU_ASSERT_FALSE(woken(0));
}

static const struct suite_test tests[] = {
	{ "a result is given out once", test_result_once },
	{ "freed while it runs: not waited for", test_freed_while_it_runs },
	{ "freed at rest", test_freed_at_rest },
	{ "any thread wakes the loop", test_wake },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("daemon_job", tests);
}
