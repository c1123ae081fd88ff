// SPDX-License-Identifier: GPL-2.0-only
/* The control socket, both ends: a request that meshd has no room for is answered, too. */
#define _GNU_SOURCE
#include <pthread.h>

#include "userspace/meshd/control.c"
#include "userspace/meshctl/control.c"
#include "suite.h"

#define OVER	30

static char folder[] = "/tmp/meshd-control-XXXXXX";
static char path[64];
static char said[256];			/* by meshctl */
static bool no_thread;
json_t *json_more;

/* The rest of both */

void log_debug(const char *fmt, ...) { (void)fmt; }
void progress_show(const json_t *progress) { (void)progress; }
void progress_end(void) { }
void note_show(const char *text) { (void)text; }

int complain(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
	return status;
}

int command_run(struct req *r, const char *cmd)
{
	(void)cmd;
	r->result = json_object();
	return 0;
}

int thread_start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	return no_thread ? -EAGAIN : -pthread_create(&t, NULL, fn, arg) ?: -pthread_detach(t);
}

static void *accepts(void *arg)
{
	int *fd = arg;

	for (;;)
		control_accept(*fd);
	return NULL;
}

static void wait_running(unsigned int n)
{
	for (int i = 0; i < 10000 && __atomic_load_n(&running, __ATOMIC_SEQ_CST) != n; i++)
		usleep(1000);
	CU_ASSERT_EQUAL_FATAL(__atomic_load_n(&running, __ATOMIC_SEQ_CST), n);
}

/* @bytes: of an argument. Return: the exit status */
static int call(size_t bytes)
{
	char *filler = calloc(1, bytes + 1);
	json_t *request, *result = NULL;
	int status;

	memset(filler, 'x', bytes);
	request = json_pack("{s:s, s:{s:s}}", "verb", "version", "args", "filler", filler);
	said[0] = 0;
	status = control_call(path, request, &result);
	json_decref(request);
	json_decref(result);
	free(filler);
	return status;
}

static void test_full(void)
{
	int held[REQUESTS_MAX];

	CU_ASSERT_EQUAL(call(1), EXIT_DONE);
	wait_running(0);
	for (int i = 0; i < REQUESTS_MAX; i++) {
		held[i] = connect_to(path);
		CU_ASSERT_FATAL(held[i] >= 0);
	}
	wait_running(REQUESTS_MAX);
	for (int i = 0; i < OVER; i++) {
		/* Long ones are still being sent when meshd has closed. */
		CU_ASSERT_EQUAL(call(i & 1 ? 4 << 20 : 1), EXIT_FAILED);
		CU_ASSERT_STRING_EQUAL(said, "meshd has too many requests in hand; try again");
	}
	wait_running(REQUESTS_MAX);
	for (int i = 0; i < REQUESTS_MAX; i++)
		close(held[i]);
	wait_running(0);
	CU_ASSERT_EQUAL(call(1), EXIT_DONE);
	wait_running(0);
}

static void test_no_thread(void)
{
	no_thread = true;
	CU_ASSERT_EQUAL(call(1), EXIT_FAILED);
	CU_ASSERT_STRING_EQUAL(said, "meshd cannot start another thread; try again");
	no_thread = false;
	wait_running(0);
	CU_ASSERT_EQUAL(call(1), EXIT_DONE);
	wait_running(0);
}

/* More than meshd takes in one line. */
static void test_long(void)
{
	CU_ASSERT_EQUAL(call(4 << 20), EXIT_USAGE);
	CU_ASSERT_STRING_EQUAL(said, "this is no request");
	wait_running(0);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "full", test_full },
		{ "no thread", test_no_thread },
		{ "long", test_long },
		{ NULL, NULL },
	};
	pthread_t t;
	int fd, err;

	alarm(60);
	snprintf(path, sizeof(path), "%s/sock", mkdtemp(folder));
	fd = control_listen(path);
	if (fd < 0 || pthread_create(&t, NULL, accepts, &fd))
		return 2;
	err = suite_main("control", tests);
	return unlink(path) || rmdir(folder) ? 2 : err;
}
