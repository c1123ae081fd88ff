// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member's place goes to the successor with a copy: from WHOLE to OVER in evict.c.
 *
 * From FREEZING on, nothing goes to the place until the roster with the successor's UUID is
 * committed (prot_membership_swap()): another host may take the new roster or the one before.
 */
#define pr_fmt(fmt) "meshblk: " fmt

#include "driver/group/evict.h"
#include "driver/group/group.h"
#include "driver/netlink/events.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

/*
 * Request the successor's target to note the attachment, without group->lock, because the note may
 * take half a minute.
 */
void mesh_evict_note(struct mesh_group *g, struct mesh_evict *ev)
{
	u64 attach;
	int err;

	mutex_lock(&g->lock);
	attach = ev->noted ? 0 : ev->note;
	ev->note = 0;
	mutex_unlock(&g->lock);
	if (!attach)
		return;
	err = mesh_group_note(g, ev->member, attach);
	mutex_lock(&g->lock);
	/* another attachment may have begun meanwhile */
	ev->noted = !err && attach == g->ms.cur.attach;
	mutex_unlock(&g->lock);
	if (!err)
		mod_delayed_work(mesh_wq, &g->start_work, 0);
}

/* True: the slot's place may go to @m; any context that sleeps. */
bool mesh_evict_ready(struct mesh_group *g, u32 slot, const struct mesh_member *m)
{
	bool ready;

	mesh_group_own(g);
	ready = g->evict && g->evict->slot == slot && g->evict->member == m &&
		g->evict->state >= EVICT_WHOLE && g->evict->state < EVICT_OVER;
	mesh_group_release(g);
	return ready;
}

/* True: nothing is in flight at the place or the successor; owned. */
static bool swap_drained(struct mesh_evict *ev)
{
	const struct mesh_group_slot *slot = &ev->group->slots[ev->slot];
	const struct mesh_gio *gio;

	list_for_each_entry(gio, &ev->group->starved, node)
		if (gio->io.member == ev->slot)
			return false;
	return !slot->nr_flying && list_empty(&slot->held) && list_empty(&ev->flying) &&
	       list_empty(&ev->again);
}

/*
 * True: the other members suffice, no other change is being written, and meshd can note the change.
 */
static bool swap_may(struct mesh_group *g, u32 slot)
{
	lockdep_assert_held(&g->lock);
	/* otherwise the place would be frozen until meshd is there */
	if (g->ms.cur.flags & PROT_ROSTER_WITNESS &&
	    (!mesh_nl_witness() || (g->ms.numbered && g->witness.open_since)))
		return false;
	return g->state == MESH_GROUP_ACTIVE && !g->ms.pending && !g->slots[slot].before &&
	       !(g->engine->failed & g->ms.cur.in_sync) &&
	       hweight64(g->ms.cur.in_sync & ~g->engine->avoid & ~BIT_ULL(slot)) >= g->geo.k;
}

/*
 * The layout in use names @m for the slot, which is in sync: take the next step of the swap. With
 * group->lock. Return: true if an eviction to @m goes on; the start work then comes again.
 */
bool mesh_evict_swap(struct mesh_group *g, u32 slot, const struct mesh_member *m)
{
	struct mesh_evict *ev = g->evict;
	bool mine, may;

	lockdep_assert_held(&g->lock);
	if (!mesh_evict_ready(g, slot, m))
		return false;
	mesh_group_own(g);
	may = swap_may(g, slot);
	mesh_group_release(g);
	/* an extent with a number counts as used: no note before the others suffice */
	if (ev->state == EVICT_WHOLE && !ev->noted && may)
		ev->note = g->ms.cur.attach;
	mesh_group_own(g);
	mine = ev->state != EVICT_OVER;
	if (ev->state == EVICT_WHOLE && ev->noted && swap_may(g, slot))
		WRITE_ONCE(ev->state, EVICT_FREEZING);
	if (ev->state == EVICT_FREEZING && !swap_may(g, slot)) {
		WRITE_ONCE(ev->state, EVICT_WHOLE);
		mesh_evict_release(ev);
	} else if (ev->state == EVICT_FREEZING && swap_drained(ev)) {
		WRITE_ONCE(ev->state, EVICT_SWAPPING);
	}
	mesh_group_release(g);
	if (mine)
		mod_delayed_work(mesh_wq, &g->evict_work, 1);
	return mine;
}

/* Propose the successor's roster, if due; with group->lock. Return: 0 or -EBUSY. */
int mesh_evict_propose(struct mesh_group *g)
{
	struct mesh_evict *ev = g->evict;
	int err;

	lockdep_assert_held(&g->lock);
	if (!ev || READ_ONCE(ev->state) != EVICT_SWAPPING || ev->taken ||
	    !memcmp(g->ms.cur.uuid[ev->slot], &ev->member->conf.uuid, PROT_UUID_LEN))
		return 0;
	err = prot_membership_swap(&g->ms, ev->slot, (u8 *)&ev->member->conf.uuid);
	if (!err) {
		/* the successor's blocks have not been written */
		g->slots[ev->slot].next_block = 0;
		return 0;
	}
	mesh_group_own(g);
	WRITE_ONCE(ev->state, EVICT_WHOLE);
	mesh_evict_release(ev);
	mesh_group_release(g);
	return err;
}

/* Return: the member to take the slot's rosters; with group->lock. */
struct mesh_member *mesh_evict_roster(const struct mesh_group *g, u32 slot)
{
	const struct mesh_evict *ev = g->evict;

	/* a roster proposed for another reason is not for the successor */
	return ev && ev->slot == slot && READ_ONCE(ev->state) == EVICT_SWAPPING && !ev->taken &&
	       g->ms.pending &&
	       !memcmp(g->ms.pend.uuid[slot], &ev->member->conf.uuid, PROT_UUID_LEN) ?
	       ev->member : g->slots[slot].member;
}

/* A roster is committed: a roster with the successor ends the eviction; with group->lock. */
void mesh_evict_committed(struct mesh_group *g)
{
	struct mesh_evict *ev = g->evict;
	struct prot_roster *r = &g->ms.cur;
	u32 i;

	lockdep_assert_held(&g->lock);
	if (!ev || READ_ONCE(ev->state) != EVICT_SWAPPING || ev->taken ||
	    memcmp(r->uuid[ev->slot], &ev->member->conf.uuid, PROT_UUID_LEN))
		return;
	i = ev->slot;
	ev->taken = r->in_sync >> i & 1;
	if (ev->taken)
		mesh_group_take_place(g, i, ev->member);
	mesh_group_own(g);
	if (ev->taken) {
		g->evict_wait = 0;
		memcpy(g->cfg.uuid[i], r->uuid[i], PROT_UUID_LEN);
		memcpy(g->engine->cfg.uuid[i], r->uuid[i], PROT_UUID_LEN);
		g->slots[i].noted = true;
	}
	mesh_evict_over(ev, NULL);
	mesh_group_release(g);
}

/*
 * No roster can do without a lost member. If too few members are left besides the place frozen by
 * the swap, fail the place: the group stops, and is attached by the rosters found; with
 * group->lock.
 */
void mesh_evict_stuck(struct mesh_group *g)
{
	const struct mesh_evict *ev;

	lockdep_assert_held(&g->lock);
	mesh_group_own(g);
	ev = g->evict;
	if (ev && ev->state == EVICT_SWAPPING && !ev->taken && g->state == MESH_GROUP_ACTIVE &&
	    hweight64(g->engine->in_sync & ~g->engine->failed & ~BIT_ULL(ev->slot)) < g->geo.k)
		mesh_evict_lost(g);
	mesh_group_release(g);
}
