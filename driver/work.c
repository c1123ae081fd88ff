// SPDX-License-Identifier: GPL-2.0-only
/* The module's workqueues, and work that I/O may wait for: work.h. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/sched/mm.h>
#include <linux/workqueue.h>

#include "driver/work.h"

struct workqueue_struct *mesh_wq, *mesh_kick_wq;
static struct lockdep_map mesh_noio_map __maybe_unused;	/* unused without lockdep */

unsigned int mesh_noio_begin(void)
{
	unsigned int noio = memalloc_noio_save();

	lock_map_acquire(&mesh_noio_map);
	return noio;
}

void mesh_noio_end(unsigned int noio)
{
	lock_map_release(&mesh_noio_map);
	memalloc_noio_restore(noio);
}

/*
 * Teach lockdep what it cannot see: reclaim may write to a volume, and that write may wait for work
 * between mesh_noio_begin() and mesh_noio_end().
 */
static void work_teach_noio(void)
{
	static struct lock_class_key key;

	lockdep_init_map(&mesh_noio_map, "mesh_noio", &key, 0);
	fs_reclaim_acquire(GFP_KERNEL);
	lock_map_acquire(&mesh_noio_map);
	lock_map_release(&mesh_noio_map);
	fs_reclaim_release(GFP_KERNEL);
}

int mesh_work_init(void)
{
	work_teach_noio();
	mesh_wq = alloc_workqueue("meshblk", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	mesh_kick_wq = alloc_workqueue("meshblk_kick", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (mesh_wq && mesh_kick_wq)
		return 0;
	if (mesh_wq)
		destroy_workqueue(mesh_wq);
	if (mesh_kick_wq)
		destroy_workqueue(mesh_kick_wq);
	return -ENOMEM;
}

/* Volumes pin the module: only the last steps of volumes that have gone can be queued. */
void mesh_work_exit(void)
{
	destroy_workqueue(mesh_kick_wq);	/* its works queue to mesh_wq */
	destroy_workqueue(mesh_wq);
}
