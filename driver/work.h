/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's workqueues, and work that I/O may wait for. */
#ifndef DRIVER_WORK_H
#define DRIVER_WORK_H

struct workqueue_struct;

/*
 * For what is freed in the background, and for what ends I/O, which memory may
 * wait for; both are flushed at module exit.
 */
extern struct workqueue_struct *mesh_wq, *mesh_kick_wq;

/* Around work that I/O may wait for: it waits for no I/O to get memory. Does not nest. */
unsigned int mesh_noio_begin(void);
void mesh_noio_end(unsigned int noio);

int mesh_work_init(void);
void mesh_work_exit(void);

#endif
