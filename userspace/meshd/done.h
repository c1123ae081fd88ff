/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Something that one thread does and others wait for, no longer than they want to. What
 * they share is freed by whichever comes last.
 */
#ifndef MESHD_DONE_H
#define MESHD_DONE_H

#include <errno.h>
#include <pthread.h>

#include "userspace/meshd/meshd.h"

#define DONE_FOREVER	(~0U)

struct done {
	pthread_mutex_t lock;		/* of the two flags */
	pthread_cond_t wake;
	bool	is;
	bool	left;			/* one that waited has given up */
};

#define DONE_INIT { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER }

/* false: nothing waits for it any more. */
static inline bool done_set(struct done *d)
{
	bool waited;

	pthread_mutex_lock(&d->lock);
	d->is = true;
	waited = !d->left;
	pthread_cond_broadcast(&d->wake);
	pthread_mutex_unlock(&d->lock);
	return waited;
}

/* false: it is not done in @ms, and this was the last wait for it. */
static inline bool done_wait(struct done *d, unsigned int ms)
{
	struct timespec until = ms_from_now(ms);
	int err = 0;
	bool is;

	pthread_mutex_lock(&d->lock);
	while (!d->is && !err)
		err = ms == DONE_FOREVER ? pthread_cond_wait(&d->wake, &d->lock) :
		      pthread_cond_clockwait(&d->wake, &d->lock, CLOCK_MONOTONIC, &until);
	is = d->is;
	d->left = !is;
	pthread_mutex_unlock(&d->lock);
	return is;
}

#endif
