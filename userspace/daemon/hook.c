// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/daemon/hook.h"
#include "userspace/daemon/job.h"
#include "userspace/daemon/log.h"

#define HOOK_MS		60000
#define HOOK_QUEUE	32
#define HOOK_ENV	7
#define HOOK_PATH	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct hook {
	const char *path;
	struct hook_event queue[HOOK_QUEUE];
	unsigned int first, queued;
	struct job *job;		/* NULL: none runs */
	bool	failed;			/* no thread to run it: that was logged */
};

/* Of a job. */
struct run {
	char	path[OBJ_WORDS];
	struct hook_event e;
	unsigned int ms;
};

static unsigned int hook_ms = HOOK_MS;
static uid_t hook_owner;		/* root */

/* It runs as root: a file that others may write would make them root. */
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

/* The signals that the daemon blocks or ignores are as usual in a new program. */
static int spawn(pid_t *pid, const char *path, char *const env[])
{
	char *const argv[] = { (char *)path, NULL };
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
		err = posix_spawn(pid, path, &files, &attr, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return err;
}

/* Until it ends, or its time is over: what it has started goes with it then. Return: true: killed. */
static bool await(pid_t pid, unsigned int ms, int *status)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool late = fd < 0 || poll(&p, 1, ms) != 1;

	if (late)
		kill(-pid, SIGKILL);
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return late;
}

static void run(const struct run *r, char *const env[])
{
	const char *wrong = hook_wrong(r->path);
	int status = 0, err;
	bool killed;
	pid_t pid;

	if (wrong) {
		log_warn("hook %s is not run at %s of volume %s: %s", r->path, r->e.what, r->e.volume, wrong);
		return;
	}
	err = spawn(&pid, r->path, env);
	if (err) {
		log_warn("hook %s cannot be run: %s", r->path, strerror(err));
		return;
	}
	killed = await(pid, r->ms, &status);
	if (killed)
		log_warn("hook %s, run at %s of volume %s, was killed: it did not end in %u s", r->path, r->e.what,
			 r->e.volume, r->ms / 1000);
	else if (WIFSIGNALED(status))
		log_warn("hook %s, run at %s of volume %s, was ended by signal %d", r->path, r->e.what, r->e.volume,
			 WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warn("hook %s, run at %s of volume %s, ended with status %d", r->path, r->e.what, r->e.volume,
			 WEXITSTATUS(status));
}

static int run_job(void *arg)
{
	char text[HOOK_ENV][OBJ_WORDS + 32], *env[HOOK_ENV + 1] = { NULL };
	const struct run *r = arg;
	const struct hook_event *e = &r->e;
	int n = 0;

	snprintf(text[n++], sizeof(text[0]), "%s", HOOK_PATH);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_EVENT=%s", e->what);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_VOLUME=%s", e->volume);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_UUID=%s", muuid_str(&e->uuid).s);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_MEMBER=%s", e->member);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_DRIVE=%s",
		 muuid_null(&e->drive) ? "" : muuid_str(&e->drive).s);
	snprintf(text[n++], sizeof(text[0]), "MESHBLK_TEXT=%s", e->words);
	for (int i = 0; i < n; i++)
		env[i] = text[i];
	run(r, env);
	return 0;
}

void hook_add(struct hook *h, const struct hook_event *e)
{
	if (h->queued == HOOK_QUEUE) {
		log_warn("hook %s does not keep up: it is not run at %s of volume %s", h->path, e->what, e->volume);
		return;
	}
	h->queue[(h->first + h->queued++) % HOOK_QUEUE] = *e;
}

static struct job *next_job(const struct hook *h)
{
	struct run *r = calloc(1, sizeof(*r));
	struct job *job;

	if (!r)
		return NULL;
	snprintf(r->path, sizeof(r->path), "%s", h->path);
	r->e = h->queue[h->first];
	r->ms = hook_ms;
	job = job_new(run_job, r, free);
	if (!job)
		free(r);
	return job;
}

/* Begin the first of the queue. False: there is no thread, or memory, for it. */
static bool begin(struct hook *h)
{
	h->job = next_job(h);
	if (!h->job)
		return false;
	if (job_run(h->job) == -EINPROGRESS) {
		h->first = (h->first + 1) % HOOK_QUEUE;
		h->queued--;
		return true;
	}
	job_free(h->job);
	h->job = NULL;
	return false;
}

void hook_turn(struct hook *h)
{
	bool failed;

	if (h->job) {
		if (job_run(h->job) == -EINPROGRESS)
			return;
		job_free(h->job);
		h->job = NULL;
	}
	if (!h->queued)
		return;
	failed = !begin(h);
	if (failed && !h->failed)
		log_warn("hook %s: no thread to run it; this is tried again", h->path);
	h->failed = failed;
}

struct hook *hook_new(const char *path)
{
	struct hook *h = calloc(1, sizeof(*h));

	if (h)
		h->path = path;
	return h;
}

void hook_free(struct hook *h)
{
	if (h && h->job)
		job_free(h->job);
	free(h);
}
