// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members join a group: back after being out, or in the place of another member.
 *
 *   the layout names another extent --> the slot is out, nothing in flight --> member: the extent
 *                                                                                      |
 *   in sync <--roster-- joining <--catch-up, or full copy-- the target notes <-- roster with the
 *                                                           this attachment      extent's UUID
 *
 * The layout in use names the wanted member of each slot, so nothing has to be remembered across a
 * crash: if the roster names another UUID than the layout, the slot is replaced.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>

#include "driver/group/group.h"
#include "driver/trace.h"
#include "driver/until.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

#define JOIN_AGAIN	(HZ / 2)	/* a later try of work not possible now */
#define JOIN_MAX	(60 * HZ)	/* between failing joins of a member */

static bool bar_members = true;
module_param(bar_members, bool, 0644);
MODULE_PARM_DESC(bar_members, "a member that left its group 5 times in an hour stays out until it is let in");

static void join_again(struct delayed_work *work, struct mesh_group *g)
{
	if (!test_bit(MESH_G_CLOSING, &g->flags))
		queue_delayed_work(mesh_wq, work, JOIN_AGAIN);
}

/*
 * Return: the slot's member in the layout in use, with a reference; NULL: the slot has that member,
 * or no layout in use has the group.
 */
static struct mesh_member *join_wanted(struct mesh_group *g, u32 i)
{
	struct mesh_layout *l = mesh_layout_pin(g->vol);
	u32 first = g->cfg.owner.group;
	struct mesh_member *m = NULL;

	if (!l)
		return NULL;
	if (l->groups && first < l->prot->nr_places && l->groups[first] == g) {
		m = l->member_slots[prot_places(l->prot)[first + i].member].member;
		if (m == g->slots[i].member)
			m = NULL;
		else
			refcount_inc(&m->refs);
	}
	mesh_layout_unpin(l);
	return m;
}

/*
 * True: I/O of the group is at the slot's member, or waits for the member; with the engine owned.
 */
static bool join_busy(struct mesh_group *g, u32 i)
{
	const struct mesh_group_slot *slot = &g->slots[i];
	const struct mesh_gio *gio;

	list_for_each_entry(gio, &g->starved, node)
		if (gio->io.member == i)
			return true;
	return slot->nr_flying || !list_empty(&slot->held);
}

/* True: the group can go on without the slot's member; with the engine owned. */
static bool join_spares(struct mesh_group *g, u32 i)
{
	u64 left = g->engine->in_sync & ~g->engine->failed & ~BIT_ULL(i);
	u32 n;

	for (n = 0; n < g->width; n++)
		if (g->slots[n].late)
			left &= ~BIT_ULL(n);
	return hweight64(left) >= g->geo.k;
}

/*
 * True: the slot's member can go, because no roster calls the member in sync and nothing uses the
 * member. A joining member is dropped: the data given so far is of no use. A failing member in sync
 * leaves only if enough other members answer; join_keeps() has kept the good members.
 */
static bool join_vacant(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];
	u64 in_sync = g->ms.cur.in_sync | (g->ms.pending ? g->ms.pend.in_sync : 0);
	struct prot_group *e = g->engine;
	u64 bit = BIT_ULL(i);
	bool vacant;

	lockdep_assert_held(&g->lock);
	mesh_group_own(g);
	if (g->state == MESH_GROUP_ACTIVE && ((e->joining | e->announced | e->in_sync) & bit)) {
		if (!(in_sync & bit) || join_spares(g, i))
			prot_group_fail(e, i);
		in_sync |= bit;
	}
	vacant = !(in_sync & bit) && !join_busy(g, i) &&
		 !mesh_roster_busy(slot) && !slot->before;
	if (!vacant)	/* the member must not join again before leaving the slot */
		slot->join_at = jiffies + 2 * JOIN_AGAIN;
	mesh_group_release(g);
	return vacant;
}

/* True: the slot's member is good, and stays until the wanted member, @m, has a copy. */
static bool join_keeps(struct mesh_group *g, u32 i, const struct mesh_member *m)
{
	bool keeps;

	mesh_group_own(g);
	keeps = g->engine->in_sync >> i & 1 && !(g->engine->failed >> i & 1) &&
		!g->slots[i].failing &&
		(g->state == MESH_GROUP_ACTIVE || READ_ONCE(m->state) != MESH_MEMBER_UP);
	mesh_group_release(g);
	return keeps;
}

/*
 * A slot may have a leaving extent: while the group opens, mesh_group_place() says which of the
 * two has the place. When the layout's has it, the leaving extent is closed. Return: true if the
 * slot is not to be swapped.
 */
static bool join_leaving(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];

	if (!slot->leaving)
		return false;
	if (READ_ONCE(g->state) == MESH_GROUP_OPENING)
		return true;
	if (slot->member != slot->leaving && mesh_group_named(g, i)) {
		mesh_member_put_later(slot->leaving);
		slot->leaving = NULL;
	}
	return false;
}

/*
 * Give each place with a leaving extent to the extent that @r, the roster to go on from, has in
 * sync there. While the group opens. Return: true if a place has changed: the rosters are to be
 * read again.
 */
bool mesh_group_place(struct mesh_group *g, const struct prot_roster *r)
{
	bool changed = false;
	struct mesh_member *m;
	u32 i;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];

		if (!slot->leaving || slot->before || mesh_roster_busy(slot) ||
		    !(r->in_sync >> i & 1) ||
		    !memcmp(r->uuid[i], &slot->member->conf.uuid, PROT_UUID_LEN))
			continue;
		m = join_wanted(g, i);
		if (!m) {
			m = slot->leaving;
			refcount_inc(&m->refs);
		}
		if (memcmp(r->uuid[i], &m->conf.uuid, PROT_UUID_LEN)) {
			mesh_member_put_later(m);
			continue;
		}
		mesh_group_take_place(g, i, m);
		changed = true;
	}
	return changed;
}

/* Give the slots the members of the layout in use; the start work's. */
void mesh_group_swap(struct mesh_group *g)
{
	struct mesh_member *m;
	u32 i;

	for (i = 0; i < g->width; i++) {
		mesh_group_forget(g, i);
		if (join_leaving(g, i))
			continue;
		m = join_wanted(g, i);
		if (!m)
			continue;
		if (mesh_evict_swap(g, i, m)) {
			/* the start work comes again for the next step */
		} else if (join_keeps(g, i, m)) {
			mesh_evict_again(g, i, m);
		} else if (join_vacant(g, i)) {
			mesh_group_take_place(g, i, m);
			continue;
		}
		mesh_member_put_later(m);
		join_again(&g->start_work, g);
	}
}

/* True: a member that is out is here and may join; with group->lock. */
static bool join_due(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];

	return READ_ONCE(g->state) == MESH_GROUP_ACTIVE && !mesh_group_abandoned(g) &&
	       mesh_group_up(slot) && !READ_ONCE(slot->failing) && !slot->barred && !slot->shut &&
	       mesh_group_role(g, i) == MESHBLK_ROLE_OUT && mesh_group_named(g, i) &&
	       time_after_eq(jiffies, READ_ONCE(slot->join_at));
}

/*
 * A roster without @members is committed. A member that leaves too often costs more than the member
 * gives, and is barred.
 */
void mesh_group_left(struct mesh_group *g, u64 members)
{
	u32 i;

	lockdep_assert_held(&g->lock);
	for (i = 0; i < g->width; i++) {
		struct mesh_group_slot *slot = &g->slots[i];
		unsigned long *at = &slot->left[slot->leaves % MESH_GROUP_LEAVES];

		if (!READ_ONCE(bar_members))
			slot->leaves = 0;
		if (!(members >> i & 1) || !READ_ONCE(bar_members))
			continue;
		*at = jiffies;
		slot->leaves++;
		at = &slot->left[slot->leaves % MESH_GROUP_LEAVES];	/* the oldest */
		if (slot->leaves < MESH_GROUP_LEAVES || time_after(jiffies, *at + 3600 * HZ))
			continue;
		WRITE_ONCE(slot->barred, true);
		pr_warn("%s: member %u of group %u.%u has left %d times in an hour: it stays out until it is let in (volume rejoin)\n",
			g->vol->conf.name, i, g->segment, g->column, MESH_GROUP_LEAVES);
	}
}

/*
 * Let a barred member join again. Sleeps, within MESH_SETTLE_MS. Return: 0; -EINVAL: the member is
 * not barred; -EBUSY: a group still writes rosters; -EINTR.
 */
int mesh_groups_rejoin(struct mesh_layout *l, u32 member)
{
	unsigned long until = jiffies + msecs_to_jiffies(MESH_SETTLE_MS);
	bool found = false;
	int err;
	u32 i, n;

	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];

		for (n = 0; g && n < g->width; n++) {
			if (prot_places(l->prot)[i + n].member != member)
				continue;
			err = mesh_lock_until(&g->lock, until);
			if (err)
				return err;
			found |= g->slots[n].barred;
			WRITE_ONCE(g->slots[n].barred, false);
			g->slots[n].leaves = 0;
			mutex_unlock(&g->lock);
			queue_delayed_work(mesh_wq, &g->start_work, 0);
		}
	}
	return found ? 0 : -EINVAL;
}

/*
 * Shut the slot, with group->lock: its member is out, or in sync, and stays so; one that joins is
 * dropped. Return: 0; -EBUSY: a roster with the member in sync is being written.
 */
static int join_shut(struct mesh_group *g, u32 i)
{
	u64 bit = BIT_ULL(i);

	lockdep_assert_held(&g->lock);
	if (g->ms.pending && (g->ms.pend.in_sync & ~g->ms.cur.in_sync & bit ||
			      memcmp(g->ms.pend.uuid[i], g->ms.cur.uuid[i], PROT_UUID_LEN)))
		return -EBUSY;
	WRITE_ONCE(g->slots[i].shut, true);
	mesh_group_own(g);
	if (g->state == MESH_GROUP_ACTIVE && !(g->ms.cur.in_sync & bit) &&
	    (g->engine->joining | g->engine->announced) & bit)
		prot_group_fail(g->engine, i);
	mesh_group_release(g);
	return 0;
}

/*
 * Let no member join at slots with a bit in @bars; at others members may. Sleeps, within
 * MESH_SETTLE_MS. Return: 0; -EBUSY: a member joins right now, or the group still writes rosters;
 * -EINTR.
 */
int mesh_group_bar(struct mesh_group *g, u64 bars)
{
	unsigned long until = jiffies + msecs_to_jiffies(MESH_SETTLE_MS);
	bool differs = false;
	unsigned int noio;
	int err;
	u32 i;

	for (i = 0; i < g->width; i++)
		differs |= READ_ONCE(g->slots[i].shut) != (bars >> i & 1);
	if (!differs)	/* the lock may be held for as long as members do not answer */
		return 0;
	err = mesh_lock_until(&g->lock, until);
	if (err)
		return err;
	noio = memalloc_noio_save();	/* as in evict_start() */
	for (i = 0; i < g->width && !err; i++) {
		bool shut = bars >> i & 1;

		if (shut && !g->slots[i].shut)
			err = join_shut(g, i);
		else if (!shut)
			WRITE_ONCE(g->slots[i].shut, false);
		if (!err)
			g->ms.barred = (g->ms.barred & ~BIT_ULL(i)) | (u64)shut << i;
	}
	mesh_group_barred(g);
	memalloc_noio_restore(noio);
	mutex_unlock(&g->lock);
	queue_delayed_work(mesh_wq, &g->start_work, 0);
	return err;
}

/*
 * Begin to catch the member up, or to give a new member all data. Return: 0, or a negative errno:
 * not now.
 */
static int join_begin(struct mesh_group *g, u32 i)
{
	struct mesh_group_slot *slot = &g->slots[i];
	const struct prot_roster *r = &g->ms.cur;
	int err = -EAGAIN;

	lockdep_assert_held(&g->lock);
	mesh_group_own(g);
	if (slot->noted && g->state == MESH_GROUP_ACTIVE && !slot->nr_flying) {
		err = memcmp(g->engine->cfg.uuid[i], r->uuid[i], PROT_UUID_LEN) ?
		      prot_group_replace(g->engine, i, r->uuid[i], r->left[i]) :
		      prot_group_join(g->engine, i);
	}
	if (!err) {
		set_bit(MESH_G_PACE, &g->flags);	/* starts the pacer */
		trace_mesh_group_member(g, i, MESH_TURN_JOINS);
		slot->join_wait = clamp_t(unsigned long, 2 * slot->join_wait, HZ, JOIN_MAX);
		slot->join_at = jiffies + slot->join_wait;
	}
	mesh_group_release(g);
	return err;
}

/*
 * Join a member. The member's target notes the attachment without group->lock, because the note may
 * take half a minute.
 */
static void join_member(struct mesh_group *g, u32 i)
{
	struct mesh_member *m = NULL;
	bool noted = false;
	u64 attach = 0;
	int err = 0;

	mutex_lock(&g->lock);
	if (join_due(g, i)) {
		m = g->slots[i].member;
		refcount_inc(&m->refs);
		attach = g->ms.cur.attach;
		noted = g->slots[i].noted;
	}
	mutex_unlock(&g->lock);
	if (!m)
		return;
	if (!noted)
		noted = !mesh_group_note(g, m, attach);
	mutex_lock(&g->lock);
	if (join_due(g, i) && g->slots[i].member == m && g->ms.cur.attach == attach) {
		g->slots[i].noted = noted;
		err = join_begin(g, i);
		if (!err)
			pr_info("%s: member %u of group %u.%u is here and catches up\n",
				g->vol->conf.name, i, g->segment, g->column);
	}
	mutex_unlock(&g->lock);
	mesh_member_put_later(m);
	if (err)
		join_again(&g->join_work, g);
	mesh_volume_changed(g->vol);
}

/* Join the members that are out, and here. */
void mesh_group_join_work(struct work_struct *work)
{
	struct mesh_group *g = container_of(to_delayed_work(work), struct mesh_group, join_work);
	unsigned int noio = mesh_noio_begin();
	u32 i;

	for (i = 0; i < g->width; i++)
		join_member(g, i);
	mesh_noio_end(noio);
}
