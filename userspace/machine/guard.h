/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a scope takes is given back when it ends, by whichever return, as the kernel's
 * <linux/cleanup.h> does it:
 *
 *	guard(&d->lock);				held until the end of the block
 *	struct label *l __free(free) = malloc(...);	freed then
 *	struct mesh *m __free(mesh_close) = mesh_open();
 *
 * The value of a return is computed before that. The last one taken is the first given back.
 */
#ifndef MACHINE_GUARD_H
#define MACHINE_GUARD_H

#include <pthread.h>
#include <stdlib.h>

#include "userspace/libmesh/mesh.h"

static inline pthread_mutex_t *guard_begin(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	return lock;
}

static inline void guard_end(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define guard(lock) pthread_mutex_t *guard_of_scope					\
	__attribute__((cleanup(guard_end), unused)) = guard_begin(lock)

#define __free(fn) __attribute__((cleanup(end_##fn)))

static inline void end_free(void *p)
{
	free(*(void **)p);
}

static inline void end_mesh_close(struct mesh **m)
{
	mesh_close(*m);
}

#endif
