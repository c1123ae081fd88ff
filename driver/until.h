/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits of a message's handler. Each has an end, and is over when the caller is killed: other
 * messages of the host may wait behind it, of any family.
 */
#ifndef DRIVER_UNTIL_H
#define DRIVER_UNTIL_H

#include <linux/mutex.h>
#include <linux/wait.h>

#define MESH_OPEN_MS	5000	/* until members that are opened come up later */
#define MESH_SETTLE_MS	10000	/* until what is being closed, or held, is refused */

int mesh_wait_until(struct wait_queue_head *wq, struct mutex *lock, bool (*busy)(void *arg),
		    void *arg, unsigned long until);
int mesh_lock_until(struct mutex *lock, unsigned long until);
void mesh_run_until(void (*fn)(void *arg), void *arg, unsigned long until);

#endif
