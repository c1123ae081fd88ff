// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hook: the environment that it is run with, one at a time and in order, and that neither one that
 * fails nor one that hangs is in the way. The programs are scripts in a folder of this test's.
 */
#include <pthread.h>
#include <stdarg.h>
#include <time.h>

#include "userspace/daemon/hook.c"
#include "suite.h"

static struct hook *H;
static char folder[] = "/tmp/test-hook-XXXXXX", hook[64], out[64];
static char said[16384];		/* what was logged */
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static bool no_thread;

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	return no_thread ? EAGAIN : __real_pthread_create(t, a, fn, arg);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;
	size_t n;

	pthread_mutex_lock(&said_lock);
	n = strlen(said);
	va_start(ap, fmt);
	vsnprintf(said + n, sizeof(said) - n, fmt, ap);
	va_end(ap);
	n = strlen(said);
	snprintf(said + n, sizeof(said) - n, "\n");
	pthread_mutex_unlock(&said_lock);
}

static u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

/* Until all that is queued has run: a turn after each wake, as of the loop. */
static void finish(void)
{
	struct pollfd p = { .fd = job_wake_fd(), .events = POLLIN };
	u64 n;

	for (hook_turn(H); H->job; hook_turn(H)) {
		CU_ASSERT_EQUAL_FATAL(poll(&p, 1, 30000), 1);
		CU_ASSERT_EQUAL(read(p.fd, &n, sizeof(n)), sizeof(n));
	}
	CU_ASSERT_EQUAL(H->queued, 0);
}

static void script(const char *text)
{
	FILE *f = fopen(hook, "w");

	CU_ASSERT_FATAL(f != NULL);
	fprintf(f, "#!/bin/bash\ncd %s\n%s\n", folder, text);
	fclose(f);
	chmod(hook, 0700);
	unlink(out);
	said[0] = 0;
	hook_free(H);
	H = hook_new(hook);
	hook_owner = getuid();
	hook_ms = 20000;
	no_thread = false;
}

static const char *read_out(void)
{
	static char text[8192];
	FILE *f = fopen(out, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	if (f)
		fclose(f);
	return text;
}

static struct hook_event event_of(const char *what, const char *volume)
{
	struct hook_event e = { .uuid = { { 0xab } }, .member = "2", .drive = { { 0xcd } },
				.words = "volume x is; $(touch evil) it" };

	snprintf(e.what, sizeof(e.what), "%s", what);
	snprintf(e.volume, sizeof(e.volume), "%s", volume);
	return e;
}

static void test_environment(void)
{
	struct hook_event e = event_of("degraded", "data");
	char want[512];

	script("env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD=' | sort >out");
	setenv("SECRET", "the daemon's own", 1);
	hook_add(H, &e);
	finish();
	snprintf(want, sizeof(want), "MESHBLK_DRIVE=%s\nMESHBLK_EVENT=degraded\nMESHBLK_MEMBER=2\n"
		 "MESHBLK_TEXT=volume x is; $(touch evil) it\nMESHBLK_UUID=%s\nMESHBLK_VOLUME=data\n"
		 "%s\n", muuid_str(&e.drive).s, muuid_str(&e.uuid).s, HOOK_PATH);
	CU_ASSERT_STRING_EQUAL(read_out(), want);
	CU_ASSERT_STRING_EQUAL(said, "");
	e.member[0] = 0;
	e.drive = (struct muuid) { { 0 } };
	script("echo \"<$MESHBLK_MEMBER><$MESHBLK_DRIVE>\" >out");
	hook_add(H, &e);
	finish();
	CU_ASSERT_STRING_EQUAL(read_out(), "<><>\n");
}

/* A group of its own, no signal blocked, SIGHUP and SIGPIPE not ignored, nothing on standard input. */
static void test_process(void)
{
	struct hook_event e = event_of("down", "data");
	sigset_t set, was;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	script("read -r pid comm state ppid group rest </proc/self/stat\n[ $group = $$ ] && echo group >>out\n"
	       "grep -q '^SigBlk:.0*$' /proc/self/status && echo mask >>out\n"
	       "grep -q '^SigIgn:.*[02468ace]..[02468ace]$' /proc/self/status && echo ign >>out\n"
	       "[ \"$(readlink /proc/$$/fd/0)\" = /dev/null ] && echo null >>out");
	hook_add(H, &e);
	finish();
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	CU_ASSERT_STRING_EQUAL(read_out(), "group\nmask\nign\nnull\n");
}

static void test_order(void)
{
	char want[512] = "", name[16];

	/* Two at a time would find the folder of the other. */
	script("mkdir busy || echo twice >>out\nsleep 0.05\necho $MESHBLK_VOLUME >>out\nrmdir busy");
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s\n", name);
		hook_add(H, &(struct hook_event[]) { event_of("healed", name) }[0]);
	}
	CU_ASSERT_EQUAL(H->queued, 5);
	finish();
	CU_ASSERT_STRING_EQUAL(read_out(), want);
}

static void test_failing(void)
{
	struct hook_event e = event_of("down", "data");

	script("exit 3");
	hook_add(H, &e);
	finish();
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "run at down of volume data, ended with status 3"));
	script("kill -USR1 $$");
	hook_add(H, &e);
	finish();
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "was ended by signal 10"));
	script("exit 0");
	hook_add(H, &e);
	finish();
	CU_ASSERT_PTR_NULL(strstr(said, "hook"));
	unlink(hook);
	hook_add(H, &e);
	finish();
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "is not run at down of volume data: No such file"));
	/* Neither a script nor a program: it is seen when it is run. */
	script("");
	truncate(hook, 0);
	FILE *f = fopen(hook, "w");

	fprintf(f, "\177ELF none");
	fclose(f);
	hook_add(H, &e);
	finish();
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "cannot be run"));
}

/* With what it has started, which would hold it up no less; the next event is served. */
static void test_hanging(void)
{
	struct hook_event e = event_of("down", "data");
	u64 began = now_ms();
	char gone[256];

	script("[ -e hung ] && echo next >>out && exit\ntouch hung\nsleep 1000 & echo $! >child\nwait");
	hook_ms = 300;
	hook_add(H, &e);
	hook_turn(H);
	CU_ASSERT(H->job && now_ms() - began < 250);		/* it is not waited for */
	hook_add(H, &e);
	finish();
	CU_ASSERT(now_ms() - began >= 300 && now_ms() - began < 15000);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "was killed: it did not end in 0 s"));
	CU_ASSERT_STRING_EQUAL(read_out(), "next\n");
	/* A killed process may stay a zombie where nothing reaps it. */
	snprintf(gone, sizeof(gone), "cd %s; i=0; while grep -q '^State:.[RSD]' /proc/$(cat child)/status 2>/dev/null; "
		 "do i=$((i + 1)); [ $i -lt 50 ] || exit 1; sleep 0.1; done; rm -f child hung", folder);
	CU_ASSERT_EQUAL(system(gone), 0);
}

static void test_queue(void)
{
	struct hook_event e = event_of("down", "data");

	script("echo $MESHBLK_EVENT >>out");
	no_thread = true;
	hook_add(H, &e);
	hook_turn(H);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "no thread to run it; this is tried again"));
	said[0] = 0;
	hook_turn(H);
	CU_ASSERT_STRING_EQUAL(said, "");
	for (int i = 1; i < HOOK_QUEUE; i++)
		hook_add(H, &e);
	CU_ASSERT_STRING_EQUAL(said, "");
	hook_add(H, &e);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "does not keep up: it is not run at down of volume data"));
	no_thread = false;
	finish();
	CU_ASSERT_EQUAL(strlen(read_out()), HOOK_QUEUE * strlen("down\n"));
}

/* The daemon ends: one that runs is left to itself, and the others are not begun. */
static void test_end(void)
{
	struct hook_event e = event_of("down", "data");
	u64 began = now_ms();
	char wait[160];

	script("echo $BASHPID >child\nexec sleep 1000");
	hook_add(H, &e);
	hook_add(H, &e);
	hook_turn(H);
	hook_free(H);
	H = NULL;
	CU_ASSERT(now_ms() - began < 10000);
	snprintf(wait, sizeof(wait), "cd %s; until [ -s child ]; do sleep 0.05; done; kill $(cat child)", folder);
	CU_ASSERT_EQUAL(system(wait), 0);
}

static void test_refused(void)
{
	script("echo run >out");
	CU_ASSERT_PTR_NULL(hook_wrong(hook));
	chmod(hook, 0720);
	CU_ASSERT_PTR_NOT_NULL(strstr(hook_wrong(hook), "others than its owner may write it"));
	chmod(hook, 0702);
	CU_ASSERT_PTR_NOT_NULL(strstr(hook_wrong(hook), "others than its owner may write it"));
	hook_add(H, &(struct hook_event[]) { event_of("down", "data") }[0]);
	finish();
	CU_ASSERT(strstr(said, "chmod go-w") && !read_out()[0]);
	chmod(hook, 0755);
	CU_ASSERT_PTR_NULL(hook_wrong(hook));
	hook_owner = getuid() + 1;
	CU_ASSERT_PTR_NOT_NULL(strstr(hook_wrong(hook), "not owned by root"));
	hook_owner = getuid();
	chmod(hook, 0600);
	CU_ASSERT_PTR_NOT_NULL(strstr(hook_wrong(hook), "not executable"));
	CU_ASSERT_STRING_EQUAL(hook_wrong(folder), "it is no file");
	CU_ASSERT_STRING_EQUAL(hook_wrong("/nowhere/at/all"), "No such file or directory");
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "what it is run with", test_environment },
		{ "its process", test_process },
		{ "one at a time, in order", test_order },
		{ "one that fails", test_failing },
		{ "one that hangs", test_hanging },
		{ "more events than it can serve", test_queue },
		{ "the daemon ends", test_end },
		{ "files that are refused", test_refused },
		{ NULL, NULL },
	};
	char clean[96];
	int ret;

	if (!mkdtemp(folder))
		return 2;
	snprintf(hook, sizeof(hook), "%s/hook", folder);
	snprintf(out, sizeof(out), "%s/out", folder);
	ret = suite_main("daemon_hook", tests);
	hook_free(H);
	snprintf(clean, sizeof(clean), "rm -rf %s", folder);
	return system(clean) ? 2 : ret;
}
