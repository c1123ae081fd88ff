/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits of a message's handler. Each wait has an end, and ends early when the caller is killed:
 * other messages of the host, of any family, may wait behind the handler.
 */
#ifndef DRIVER_UNTIL_H
#define DRIVER_UNTIL_H

#include <linux/mutex.h>
#include <linux/wait.h>

#define MESH_OPEN_MS	5000	/* wait for members to open; the others come up later */
/* wait for a close or a lock; after it the handler refuses, or returns */
#define MESH_SETTLE_MS	10000

int mesh_wait_until(struct wait_queue_head *wq, struct mutex *lock, bool (*busy)(void *arg),
		    void *arg, unsigned long until);
int mesh_lock_until(struct mutex *lock, unsigned long until);
void mesh_run_until(void (*fn)(void *arg), void *arg, unsigned long until);

#endif
