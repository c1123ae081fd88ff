// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <stdlib.h>

#include "userspace/meshd/busy.h"

struct busy {
	struct busy *next;
	struct muuid volume;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct busy *first;

bool busy_take(const struct muuid *volume)
{
	struct busy *b, *mine = malloc(sizeof(*mine));

	if (!mine)
		return false;
	mine->volume = *volume;
	pthread_mutex_lock(&lock);
	for (b = first; b && !muuid_equal(&b->volume, volume); b = b->next)
		;
	if (!b) {
		mine->next = first;
		first = mine;
	}
	pthread_mutex_unlock(&lock);
	if (b)
		free(mine);
	return !b;
}

void busy_drop(const struct muuid *volume)
{
	struct busy **p, *b = NULL;

	pthread_mutex_lock(&lock);
	for (p = &first; *p && !muuid_equal(&(*p)->volume, volume); p = &(*p)->next)
		;
	if (*p) {
		b = *p;
		*p = b->next;
	}
	pthread_mutex_unlock(&lock);
	free(b);
}
