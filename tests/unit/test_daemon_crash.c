// SPDX-License-Identifier: GPL-2.0-only
/* The test build's orders to die or to wait: by name, the Nth time, once. */
#define MESHD_CRASH_POINTS
#include "userspace/daemon/crash.c"

#include <CUnit/Basic.h>
#include <stdarg.h>
#include <sys/wait.h>

static char file[32];

void log_info(const char *fmt, ...)
{
	(void)fmt;
}

static void order_file(const char *line)
{
	FILE *f = fopen(file, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(line, f);
	fclose(f);
}

/* In another process: true if it dies, of SIGKILL. */
static bool dies(void (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		crash_at(file);
		fn();
		_exit(0);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void pass_once(void)
{
	crash_point("after label");
	crash_point("after labels");
	crash_point("after");
}

static void pass_twice(void)
{
	pass_once();
	crash_point("zero");
	pass_once();
}

static void t_names(void)
{
	CU_ASSERT_FALSE(dies(pass_once));
	order_file("after label\n");
	CU_ASSERT(dies(pass_once));
	/* The order is carried out: the next daemon lives. */
	CU_ASSERT_EQUAL(access(file, F_OK), -1);
	CU_ASSERT_FALSE(dies(pass_once));
	order_file("after lab");
	CU_ASSERT_FALSE(dies(pass_once));
	order_file("after label:2");
	CU_ASSERT_FALSE(dies(pass_once));
	CU_ASSERT(dies(pass_twice));
	order_file("after label:3");
	CU_ASSERT_FALSE(dies(pass_twice));
	order_file("after label:0");
	CU_ASSERT_FALSE(dies(pass_twice));
	unlink(file);
}

/* The count begins with the order. */
static void ordered_late(void)
{
	pass_once();
	order_file("after label:2");
	pass_once();
}

static void ordered_again(void)
{
	order_file("after label:2");
	pass_once();
	order_file("zero:2");
	crash_point("zero");
	unlink(file);
	crash_point("zero");
	order_file("zero:2");
	crash_point("zero");
}

static void t_counts(void)
{
	CU_ASSERT_FALSE(dies(ordered_late));
	CU_ASSERT_FALSE(dies(ordered_again));
	unlink(file);
}

static struct deal deal;

static void passes(void)
{
	deal_passes(&deal, false);
	deal_passes(&deal, true);
}

/* Two drives, a volume and the controller's key in one transaction: each kind counts once. */
static void t_transactions(void)
{
	static const char *const keys[] = { "drive/1", "leader", "drive/2", "drives/3", "volume/1" };

	for (deal.ops = 0; deal.ops < sizeof(keys) / sizeof(keys[0]); deal.ops++)
		deal.op[deal.ops].key = keys[deal.ops];
	for (size_t i = 0; i < 4; i++) {
		order_file((const char *[]) { "before drive", "after drive", "after leader", "before volume" }[i]);
		CU_ASSERT(dies(passes));
		order_file((const char *[]) { "before drive:2", "after drive:2", "leader", "before volume/1" }[i]);
		CU_ASSERT_FALSE(dies(passes));
	}
	unlink(file);
}

static void waits_here(void)
{
	crash_pause_at(file);
	crash_point("zero");
	/* It goes on, and is not alone: the file of the order is gone. */
	_exit(access(file, F_OK) ? 7 : 8);
}

static void t_pause(void)
{
	char here[64];
	int status = 0;
	pid_t pid;

	snprintf(here, sizeof(here), "%s.here", file);
	order_file("zero");
	pid = fork();
	if (!pid)
		waits_here();
	while (access(here, F_OK))
		nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
	CU_ASSERT_EQUAL(waitpid(pid, &status, WNOHANG), 0);
	unlink(file);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CU_ASSERT_EQUAL(access(here, F_OK), -1);
}

int main(void)
{
	unsigned int failed;
	CU_pSuite s;

	snprintf(file, sizeof(file), "/tmp/crash-%d", getpid());
	CU_initialize_registry();
	s = CU_add_suite("daemon_crash", NULL, NULL);
	CU_add_test(s, "names", t_names);
	CU_add_test(s, "counts", t_counts);
	CU_add_test(s, "transactions", t_transactions);
	CU_add_test(s, "pause", t_pause);
	CU_basic_set_mode(CU_BRM_NORMAL);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
