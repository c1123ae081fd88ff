// SPDX-License-Identifier: GPL-2.0-only
/* I/O to a member that leaves, which waits for a chunk to be copied, or for the swap. */
#include "driver/group/evict.h"
#include "driver/group/group.h"

/* Slots that nothing may be read from now; with the engine owned. */
u64 mesh_evict_frozen(const struct mesh_group *g)
{
	return g->evict && evict_frozen(g->evict) ? BIT_ULL(g->evict->slot) : 0;
}

/* Before a member I/O is sent; with the engine owned. Return: whether it waits here. */
bool mesh_evict_hold(struct mesh_group *g, struct mesh_gio *gio)
{
	struct mesh_evict *ev = evict_at(g, gio->io.member);

	if (!ev || !(evict_frozen(ev) || (ev->chunk && evict_overlaps(ev, gio))))
		return false;
	/* a stage is of the member of now, so the pages travel */
	mesh_group_stage_done(gio);
	gio->staged = false;
	list_add_tail(&gio->node, &ev->held);
	return true;
}

/* What waits for a chunk, or for the swap, is sent; when the runner does that next. */
void mesh_evict_release(struct mesh_evict *ev)
{
	ev->chunk = 0;
	if (list_empty(&ev->held))
		return;
	list_splice_tail_init(&ev->held, &ev->group->starved);
	set_bit(MESH_G_STATE, &ev->group->flags);
}
