/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's workqueues, and work that I/O may wait for. */
#ifndef DRIVER_WORK_H
#define DRIVER_WORK_H

struct workqueue_struct;

/*
 * mesh_wq: background work, above all frees. mesh_kick_wq: work that ends I/O, for which memory
 * reclaim may wait. Module exit flushes both.
 */
extern struct workqueue_struct *mesh_wq, *mesh_kick_wq;

/* Bracket work that I/O may wait for: in between, allocations wait for no I/O. Does not nest. */
unsigned int mesh_noio_begin(void);
void mesh_noio_end(unsigned int noio);

int mesh_work_init(void);
void mesh_work_exit(void);

#endif
