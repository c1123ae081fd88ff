// SPDX-License-Identifier: GPL-2.0-only
#include "userspace/machine/guard.h"
#include "userspace/meshd/busy.h"

struct busy {
	struct busy *next;
	struct muuid volume;
	bool	cancel;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t dropped = PTHREAD_COND_INITIALIZER;
static struct busy *first;

static struct busy *busy_find(const struct muuid *volume)
{
	struct busy *b;

	for (b = first; b && !muuid_equal(&b->volume, volume); b = b->next)
		;
	return b;
}

bool busy_take_wait(const struct muuid *volume, unsigned int ms)
{
	struct busy *mine = malloc(sizeof(*mine));
	struct timespec until = ms_from_now(ms);
	bool taken;
	int err = 0;

	if (!mine)
		return false;
	mine->volume = *volume;
	mine->cancel = false;
	pthread_mutex_lock(&lock);
	while (ms && !err && busy_find(volume))
		err = pthread_cond_clockwait(&dropped, &lock, CLOCK_MONOTONIC, &until);
	taken = !busy_find(volume);
	if (taken) {
		mine->next = first;
		first = mine;
	}
	pthread_mutex_unlock(&lock);
	if (!taken)
		free(mine);
	return taken;
}

bool busy_take(const struct muuid *volume)
{
	return busy_take_wait(volume, 0);
}

bool busy_is(const struct muuid *volume)
{
	guard(&lock);
	return busy_find(volume);
}

bool busy_cancel(const struct muuid *volume, unsigned int ms)
{
	struct timespec until = ms_from_now(ms);
	struct busy *b;
	int err = 0;

	guard(&lock);
	while (!err && (b = busy_find(volume))) {
		b->cancel = true;
		err = pthread_cond_clockwait(&dropped, &lock, CLOCK_MONOTONIC, &until);
	}
	return !err;
}

bool busy_cancelled(const struct muuid *volume)
{
	struct busy *b;

	guard(&lock);
	b = busy_find(volume);
	return b && b->cancel;
}

void busy_drop(const struct muuid *volume)
{
	struct busy **p, *b;

	guard(&lock);
	for (p = &first; *p && !muuid_equal(&(*p)->volume, volume); p = &(*p)->next)
		;
	b = *p;
	if (b)
		*p = b->next;
	free(b);
	pthread_cond_broadcast(&dropped);
}
