/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work that may block, for callers that must not: a function runs on a thread of its own, and the
 * loop is woken when it has returned.
 *
 *   IDLE --job_run()--> RUNNING --the function returns--> DONE --job_run()--> IDLE
 *            -EINPROGRESS            wakes the loop              its result
 */
#ifndef DAEMON_JOB_H
#define DAEMON_JOB_H

#include <linux/types.h>
#include <stdbool.h>

struct job;

/* @arg: stays until job_free(), which the thread may outlive: @drop frees it then. NULL: no memory. */
struct job *job_new(int (*fn)(void *arg), void *arg, void (*drop)(void *arg));

/**
 * job_run() - start it, or get its result
 * Return: what the function returned, once; -EINPROGRESS: it runs (or was just started); -EAGAIN: no
 * thread could be started.
 */
int job_run(struct job *j);
/* For how long it has been running, in milliseconds; 0: it does not run. */
u64 job_since(const struct job *j);
/* Does not wait for a function that hangs. */
void job_free(struct job *j);

/* An eventfd that is readable once any job is done; the loop reads it. */
int job_wake_fd(void);
/* Any thread: wake the loop. */
void job_wake(void);

#endif
