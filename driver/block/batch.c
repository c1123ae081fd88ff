// SPDX-License-Identifier: GPL-2.0-only
/* Members with submitted I/O that need a commit, and groups that received parts. */
#include "driver/block/request.h"
#include "driver/volume/volume.h"

/*
 * Note that a member needs a commit. @batch: the caller stays in an RCU read section until the
 * batch is flushed: the section keeps the members.
 */
void mesh_batch_add(struct mesh_batch *batch, struct mesh_member *m, u16 queue)
{
	unsigned int i;

	for (i = batch->n; i--;)
		if (batch->to[i].member == m && batch->to[i].queue == queue)
			return;
	if (batch->n == ARRAY_SIZE(batch->to))
		mesh_batch_flush(batch);
	batch->to[batch->n].member = m;
	batch->to[batch->n++].queue = queue;
}

/* Run the groups of the batch, so that they take the parts that they received. */
void mesh_batch_run(struct mesh_batch *batch)
{
	unsigned int i, n = batch->nr_groups;

	batch->nr_groups = 0;
	for (i = 0; i < n; i++)
		mesh_group_run(batch->groups[i]);
}

void mesh_batch_flush(struct mesh_batch *batch)
{
	unsigned int i;

	if (unlikely(batch->nr_groups))
		mesh_batch_run(batch);
	for (i = 0; i < batch->n; i++)
		mesh_member_commit(batch->to[i].member, batch->to[i].queue);
	/* pairs with mesh_hctx_flush(): a CPU that sees the batch empty may release the members */
	smp_store_release(&batch->n, 0);
}
