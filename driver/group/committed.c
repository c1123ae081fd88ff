// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last committed roster of a group whose volume has an access number, as the cluster's store
 * has it: reported at each commit, in VOLUME_GET, and in the answer to VOLUME_DEL.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/group/group.h"
#include "driver/netlink/events.h"
#include "driver/volume/volume.h"

int mesh_group_committed_init(struct mesh_group *g)
{
	if (g->cfg.ro || !g->vol->access.numbered)
		return 0;
	g->block = kzalloc(PROT_ROSTER_BLOCK, GFP_KERNEL);
	g->kept = kzalloc(sizeof(*g->kept), GFP_KERNEL);
	return g->block && g->kept ? 0 : -ENOMEM;
}

void mesh_group_committed_exit(struct mesh_group *g)
{
	kfree(g->block);
	kfree(g->kept);
}

/* The current roster is committed now; with group->lock. */
void mesh_group_committed(struct mesh_group *g)
{
	lockdep_assert_held(&g->lock);
	if (!g->block)
		return;
	prot_roster_seal(g->block, &g->ms.cur, &g->cfg.owner, 0);
	spin_lock_bh(&g->state_lock);
	memcpy(g->kept->roster, g->block, sizeof(g->kept->roster));
	g->committed = true;
	spin_unlock_bh(&g->state_lock);
	mesh_event_roster(g->vol, g->cfg.owner.group, g->block);
}

/* The group has ended: its volume keeps the roster. */
void mesh_group_keep(struct mesh_group *g)
{
	struct mesh_kept *kept = NULL;

	spin_lock_bh(&g->state_lock);
	if (g->committed)
		swap(kept, g->kept);
	g->committed = false;
	spin_unlock_bh(&g->state_lock);
	if (!kept)
		return;
	kept->place = g->cfg.owner.group;
	mesh_kept_add(g->vol, kept);
}

/* Copy the last committed roster, MESHBLK_ROSTER_BYTES. Return: false if there is none. */
bool mesh_group_last_roster(struct mesh_group *g, void *roster)
{
	bool any;

	spin_lock_bh(&g->state_lock);
	any = g->committed;
	if (any)
		memcpy(roster, g->kept->roster, MESHBLK_ROSTER_BYTES);
	spin_unlock_bh(&g->state_lock);
	return any;
}
