// SPDX-License-Identifier: GPL-2.0-only
/* I/O to a leaving member, on hold until a chunk is copied, or until the swap. */
#include "driver/group/evict.h"
#include "driver/group/group.h"

/* Return: slots that must not be read from now; with the engine owned. */
u64 mesh_evict_frozen(const struct mesh_group *g)
{
	return g->evict && evict_frozen(g->evict) ? BIT_ULL(g->evict->slot) : 0;
}

/*
 * Return: slots whose successor may be in a roster by now, and is not here; with the engine owned.
 */
u64 mesh_evict_away(const struct mesh_group *g)
{
	const struct mesh_evict *ev = g->evict;

	return ev && ev->state == EVICT_SWAPPING && !evict_up(ev->member) ? BIT_ULL(ev->slot) : 0;
}

/* Before a member I/O is sent; with the engine owned. Return: true if the I/O is put on hold. */
bool mesh_evict_hold(struct mesh_group *g, struct mesh_gio *gio)
{
	struct mesh_evict *ev = evict_at(g, gio->io.member);

	if (!ev || !(evict_frozen(ev) || (ev->chunk && evict_overlaps(ev, gio))))
		return false;
	/* a stage belongs to the present member, so the pages travel instead */
	mesh_group_stage_done(gio);
	gio->staged = false;
	list_add_tail(&gio->node, &ev->held);
	return true;
}

/* Send the I/O on hold for a chunk, or for the swap, when the runner next sends starved I/O. */
void mesh_evict_release(struct mesh_evict *ev)
{
	ev->chunk = 0;
	if (list_empty(&ev->held))
		return;
	list_splice_tail_init(&ev->held, &ev->group->starved);
	set_bit(MESH_G_STATE, &ev->group->flags);
}
