// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "userspace/meshd/fan.h"
#include "userspace/meshd/meshd.h"

struct fan_group {
	const struct fan *f;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	size_t	refs;		/* lock: the caller's and each thread's */
	size_t	left;		/* lock: threads that have no result yet */
	void	**result;	/* lock: NULL: the caller has gone */
};

struct fan_part {
	struct fan_group *g;
	void	*item;
	size_t	at;
};

/* Gives up g->lock. */
static void group_put(struct fan_group *g)
{
	bool last = !--g->refs;

	pthread_mutex_unlock(&g->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->wake);
	free(g);
}

static void *part_thread(void *arg)
{
	struct fan_part *p = arg;
	struct fan_group *g = p->g;
	const struct fan *f = g->f;
	void *result = f->work(p->item);

	f->drop(p->item);
	pthread_mutex_lock(&g->lock);
	if (g->result) {
		g->result[p->at] = result;
		result = NULL;
	}
	if (!--g->left)
		pthread_cond_signal(&g->wake);
	group_put(g);
	if (result)
		f->discard(result);
	free(p);
	return NULL;
}

static struct fan_group *group_new(const struct fan *f, size_t n, void **result)
{
	struct fan_group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->f = f;
	g->refs = n + 1;
	g->left = n;
	g->result = result;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->wake, NULL);
	return g;
}

static void part_start(struct fan_group *g, void *item, size_t at)
{
	struct fan_part *p = calloc(1, sizeof(*p));

	if (p) {
		*p = (struct fan_part) { g, item, at };
		if (!thread_start(part_thread, p))
			return;
	}
	free(p);
	g->f->drop(item);
	pthread_mutex_lock(&g->lock);
	g->left--;
	g->refs--;
	pthread_mutex_unlock(&g->lock);
}

static unsigned long steps(const struct fan *f, void **item, size_t n)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; f->steps && i < n; i++)
		sum += f->steps(item[i]);
	return sum;
}

void fan_run(const struct fan *f, void **item, size_t n, unsigned int ms, void **result)
{
	struct fan_group *g = group_new(f, n, result);
	unsigned long was = 0, is;
	struct timespec until;
	size_t i;

	for (i = 0; i < n; i++) {
		result[i] = NULL;
		if (!g)
			f->drop(item[i]);
	}
	if (!g)
		return;
	until = ms_from_now(ms);
	for (i = 0; i < n; i++)
		part_start(g, item[i], i);
	pthread_mutex_lock(&g->lock);
	while (g->left) {
		if (pthread_cond_clockwait(&g->wake, &g->lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
			continue;
		is = steps(f, item, n);
		if (is == was)
			break;
		was = is;
		until = ms_from_now(ms);
	}
	g->result = NULL;
	group_put(g);
}
