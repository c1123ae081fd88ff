// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that is run at events of volumes. One at a time, on a thread that is there while
 * events are queued: nothing in meshd waits for it, and one that hangs is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/machine/guard.h"
#include "userspace/meshd/event.h"

#define HOOK_MS		60000
#define HOOK_QUEUE	32
#define HOOK_POLL_MS	50
#define HOOK_ENV	8
#define HOOK_PATH	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event queue[HOOK_QUEUE];
static unsigned int first, queued;
static bool runs;			/* the thread is there */
static unsigned int hook_ms = HOOK_MS;
static uid_t hook_owner;		/* root */

static const char *const names[] = {
	[EVENT_DEGRADED] = "degraded", [EVENT_DOWN] = "down", [EVENT_SPARE] = "spare",
	[EVENT_REBUILDING] = "rebuilding", [EVENT_HEALED] = "healed",
	[EVENT_MISMATCHES] = "mismatches",
};

/* It runs as root: what others may write would make them root. */
const char *hook_wrong(const char *path)
{
	struct stat s;

	if (stat(path, &s))
		return strerror(errno);
	if (!S_ISREG(s.st_mode))
		return "it is no file";
	if (s.st_uid != hook_owner)
		return "it is not owned by root: chown root it";
	if (s.st_mode & 022)
		return "others than its owner may write it: chmod go-w it";
	return access(path, X_OK) ? "it is not executable: chmod u+x it" : NULL;
}

/* The signals that meshd blocks or ignores are what they always are in a new program. */
static int spawn(pid_t *pid, char *const env[])
{
	char *const argv[] = { (char *)D.hook, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	int err;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGHUP);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
				 POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn(pid, D.hook, &files, &attr, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return err;
}

/* Until it ends, or time is over; false: meshd ends before. What it has started goes with it. */
static bool wait_for(pid_t pid, int *status, bool *killed)
{
	u64 until = now_ms() + hook_ms;

	*killed = false;
	while (!waitpid(pid, status, WNOHANG)) {
		if (stopping())
			return false;
		if (now_ms() >= until) {
			*killed = true;
			kill(-pid, SIGKILL);
			return waitpid(pid, status, 0) == pid;
		}
		sleep_ms(HOOK_POLL_MS);
	}
	return true;
}

static void run(const struct event *e, char *const env[])
{
	const char *wrong = hook_wrong(D.hook);
	bool killed = false;
	int status = 0, err;
	pid_t pid;

	if (wrong) {
		log_warn("hook %s is not run at %s of volume %s: %s", D.hook, names[e->kind], e->volume,
			 wrong);
		return;
	}
	err = spawn(&pid, env);
	if (err)
		log_warn("hook %s cannot be run: %s", D.hook, strerror(err));
	if (err || !wait_for(pid, &status, &killed))
		return;
	if (killed)
		log_warn("hook %s, run at %s of volume %s, was killed: it did not end in %u s", D.hook,
			 names[e->kind], e->volume, hook_ms / 1000);
	else if (WIFSIGNALED(status))
		log_warn("hook %s, run at %s of volume %s, was ended by signal %d", D.hook,
			 names[e->kind], e->volume, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warn("hook %s, run at %s of volume %s, ended with status %d", D.hook,
			 names[e->kind], e->volume, WEXITSTATUS(status));
}

static void run_with(const struct event *e)
{
	char text[HOOK_ENV][EVENT_TEXT + 32], *env[HOOK_ENV + 1] = { NULL };
	int n = 0, i;

	snprintf(text[n++], sizeof(text[0]), "%s", HOOK_PATH);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_EVENT=%s", names[e->kind]);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_VOLUME=%s", e->volume);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_UUID=%s", muuid_str(&e->uuid).s);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_MEMBER=%s", e->member);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_DRIVE=%s",
		 muuid_null(&e->drive) ? "" : muuid_str(&e->drive).s);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_TEXT=%s", e->text);
	for (i = 0; i < n; i++)
		env[i] = text[i];
	run(e, env);
}

/* false: none is left, and the thread ends. */
static bool next_event(struct event *e)
{
	guard(&lock);
	runs = queued && !stopping();
	if (!runs)
		return false;
	*e = queue[first];
	first = (first + 1) % HOOK_QUEUE;
	queued--;
	return true;
}

static void *hook_thread(void *arg)
{
	struct event e;

	(void)arg;
	while (next_event(&e))
		run_with(&e);
	return NULL;
}

static void enqueue(const struct event *e)
{
	guard(&lock);
	if (queued == HOOK_QUEUE) {
		log_warn("hook %s does not keep up: it is not run at %s of volume %s", D.hook,
			 names[e->kind], e->volume);
		return;
	}
	queue[(first + queued++) % HOOK_QUEUE] = *e;
	if (runs)
		return;
	runs = !thread_start(hook_thread, NULL);
	if (!runs)
		log_warn("hook %s: no thread to run it; it is run at the next event", D.hook);
}

void event_report(const struct event *e)
{
	if (e->kind == EVENT_DEGRADED || e->kind == EVENT_DOWN || e->kind == EVENT_MISMATCHES)
		log_warn("%s", e->text);
	else
		log_info("%s", e->text);
	if (D.hook)
		enqueue(e);
}
