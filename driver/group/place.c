// SPDX-License-Identifier: GPL-2.0-only
/* A slot's member changes: by join.c, where the slot is out, and by swap.c for a copy. */
#define pr_fmt(fmt) "meshblk: " fmt

#include "driver/group/group.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define PLACE_AGAIN	(HZ / 2)	/* a later try of work not possible now */

/*
 * Put the slot's earlier member, once all its I/O has ended or was abandoned: reads around the
 * engine may still be in flight there. Until then the start work comes again.
 */
void mesh_group_forget(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];

	if (!slot->before)
		return;
	if (mesh_member_wanted(slot->before)) {
		if (!test_bit(MESH_G_CLOSING, &g->flags))
			queue_delayed_work(mesh_wq, &g->start_work, PLACE_AGAIN);
		return;
	}
	mesh_member_put_later(slot->before);	/* the close may take any time */
	slot->before = NULL;
}

/*
 * Give the slot to another member. The slot is out, or @m has a copy of the slot's earlier member.
 */
void mesh_group_take_place(struct mesh_group *g, u32 i, struct mesh_member *m)
{
	struct mesh_group_slot *slot = &g->slots[i];
	struct mesh_member *old = slot->member;
	struct mesh_member_stats s;

	lockdep_assert_held(&g->lock);
	mesh_member_unlink(old, &slot->link);
	mesh_member_stats(m, &s);
	mesh_group_own(g);
	mesh_group_stages_end(g, BIT_ULL(i));
	WRITE_ONCE(slot->member, m);
	atomic64_andnot(BIT_ULL(i), &g->unfit);
	slot->noted = false;
	slot->failing = false;
	slot->barred = false;
	slot->leaves = 0;
	slot->join_wait = 0;
	slot->join_at = jiffies;
	slot->late_since = jiffies;
	slot->ended = s.ended;
	slot->ended_at = jiffies;
	trace_mesh_group_member(g, i, MESH_TURN_REPLACED);
	mesh_group_release(g);
	mesh_member_link(m, &slot->link);
	/*
	 * contexts that saw the old member in sync, or read the pointer, have sent all I/O to the
	 * member
	 */
	synchronize_rcu();
	slot->before = old;
	mesh_group_forget(g, i);
	pr_info("%s: member %u of group %u.%u is replaced\n", g->vol->conf.name, i, g->segment,
		g->column);
}
