// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "userspace/daemon/job.h"

#define JOB_STACK	(512U << 10)

enum job_state {
	JOB_IDLE,
	JOB_RUNNING,
	JOB_DONE,
};

/* Of its owner and, while it runs, of its thread: the last of both frees it. */
struct job {
	int	(*fn)(void *arg);
	void	*arg;
	void	(*drop)(void *arg);
	pthread_mutex_t lock;	/* of all below */
	unsigned int refs;
	enum job_state state;
	int	result;
	u64	since;
};

static pthread_once_t wake_once = PTHREAD_ONCE_INIT;
static int wake_fd = -1;

static void wake_open(void)
{
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int job_wake_fd(void)
{
	pthread_once(&wake_once, wake_open);
	return wake_fd;
}

void job_wake(void)
{
	static const u64 one = 1;
	int fd = job_wake_fd();

	/* A full counter is readable as well. */
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return;
}

static u64 ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

struct job *job_new(int (*fn)(void *arg), void *arg, void (*drop)(void *arg))
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	*j = (struct job) { .fn = fn, .arg = arg, .drop = drop, .refs = 1 };
	pthread_mutex_init(&j->lock, NULL);
	return j;
}

/* With the lock, which it gives up. */
static void put(struct job *j)
{
	bool last = !--j->refs;

	pthread_mutex_unlock(&j->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&j->lock);
	if (j->drop)
		j->drop(j->arg);
	free(j);
}

static void *job_thread(void *arg)
{
	struct job *j = arg;
	int result = j->fn(j->arg);

	pthread_mutex_lock(&j->lock);
	j->state = JOB_DONE;
	j->result = result;
	put(j);
	job_wake();
	return NULL;
}

static int start(struct job *j)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (pthread_attr_init(&attr))
		return -EAGAIN;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, JOB_STACK);
	err = pthread_create(&thread, &attr, job_thread, j);
	pthread_attr_destroy(&attr);
	return err ? -EAGAIN : -EINPROGRESS;
}

int job_run(struct job *j)
{
	int err = -EINPROGRESS;

	pthread_mutex_lock(&j->lock);
	if (j->state == JOB_DONE) {
		err = j->result;
		j->state = JOB_IDLE;
	} else if (j->state == JOB_IDLE) {
		/* Counted before the thread is there: it may have ended when this goes on. */
		j->refs++;
		j->state = JOB_RUNNING;
		j->since = ms_now();
		err = start(j);
		if (err != -EINPROGRESS) {
			j->refs--;
			j->state = JOB_IDLE;
		}
	}
	pthread_mutex_unlock(&j->lock);
	return err;
}

u64 job_since(const struct job *j)
{
	struct job *w = (struct job *)j;
	u64 ms = 0;

	pthread_mutex_lock(&w->lock);
	/* At least 1: the job runs. */
	if (w->state == JOB_RUNNING)
		ms = ms_now() - w->since + 1;
	pthread_mutex_unlock(&w->lock);
	return ms;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	put(j);
}
