// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layouts: members and policy of one epoch. A request finds the current layout by RCU, and pins it
 * while in flight. A swap replaces the pointer; the old layout is freed when its last pin has gone.
 * No request is frozen for a swap.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/netlink.h>
#include <linux/slab.h>

#include "driver/block/request.h"
#include "driver/netlink/events.h"
#include "driver/until.h"
#include "driver/volume/volume.h"
#include "driver/work.h"

static void mesh_layout_changed(struct mesh_member_link *link, enum mesh_member_state state,
				int err)
{
	struct mesh_member_slot *slot = container_of(link, struct mesh_member_slot, link);
	struct mesh_layout *l = slot->layout;

	if (state == MESH_MEMBER_REFUSED)
		mesh_order_refused(l);
	if (state == MESH_MEMBER_REFUSED && err == -ESTALE)
		mesh_access_refused(l->vol, slot->member);
	/* Only members of the current layout are reported. */
	if (rcu_access_pointer(l->vol->layout) != l)
		return;
	mesh_event_member(l->vol, slot - l->member_slots, state, err);
	mesh_retry_wake(l->vol);
	mesh_volume_changed(l->vol);
}

/* Return: why a member, whose info is known, cannot serve its layout; or NULL. */
static const char *mesh_layout_slot_unfit(const struct mesh_member_slot *slot, u32 lba)
{
	const struct mesh_member_info *info = &slot->member->info;

	if (info->lba > lba)
		return "a member's logical block is larger than the volume's";
	if (info->bytes < slot->size)
		return "a member is smaller than the layout says";
	return NULL;
}

/*
 * A layout that is not in use yet does not refuse members: mesh_layout_unfit() refuses the layout.
 */
static bool mesh_layout_link_unfit(struct mesh_member_link *link)
{
	struct mesh_member_slot *slot = container_of(link, struct mesh_member_slot, link);
	struct mesh_volume *vol = slot->layout->vol;

	return rcu_access_pointer(vol->layout) == slot->layout &&
	       mesh_layout_slot_unfit(slot, vol->conf.lba);
}

static void mesh_layout_close(struct mesh_layout *l)
{
	u32 i;

	mesh_groups_close(l);
	for (i = 0; i < l->nr; i++)
		if (l->member_slots[i].member)
			mesh_member_unlink(l->member_slots[i].member, &l->member_slots[i].link);
	/* No link starts the work any more, and the work needs the members. */
	mesh_order_end(l);
	for (i = l->nr; i--;)
		if (l->member_slots[i].member)
			mesh_member_put(l->member_slots[i].member);
}

static void mesh_layout_less(atomic_t *n, struct completion *none)
{
	if (atomic_dec_and_test(n))
		complete_all(none);
}

static void mesh_layout_free_work(struct work_struct *work)
{
	struct mesh_layout *l = container_of(work, struct mesh_layout, free_work);
	struct mesh_volume *vol = l->vol;
	u64 epoch = l->epoch;

	/* The submitter of the last I/O to a member might not have committed it yet. */
	synchronize_rcu();
	mutex_lock(&vol->layouts_lock);
	list_del(&l->node);
	mutex_unlock(&vol->layouts_lock);
	mesh_layout_less(&vol->draining, &vol->drained);
	mesh_layout_discard(l);
	mesh_event_layout_freed(vol, epoch);
	mesh_layout_less(&vol->closing, &vol->closed);
	mesh_volume_put(vol);
}

static void mesh_layout_release(struct percpu_ref *ref)
{
	struct mesh_layout *l = container_of(ref, struct mesh_layout, ref);

	queue_work(mesh_wq, &l->free_work);
}

/*
 * Make a layout without members. @vol: the volume; a reference is taken when the layout becomes
 * current.
 */
struct mesh_layout *mesh_layout_alloc(struct mesh_volume *vol, u64 epoch, u32 members)
{
	struct mesh_layout *l = kvzalloc(struct_size(l, member_slots, members), GFP_KERNEL);
	u32 i;

	if (!l)
		return NULL;
	if (percpu_ref_init(&l->ref, mesh_layout_release, 0, GFP_KERNEL)) {
		kvfree(l);
		return NULL;
	}
	l->vol = vol;
	l->epoch = epoch;
	l->nr = members;
	INIT_WORK(&l->free_work, mesh_layout_free_work);
	mesh_order_init(&l->order);
	for (i = 0; i < members; i++)
		l->member_slots[i].layout = l;
	return l;
}

static void mesh_layout_drop_now(void *arg)
{
	struct mesh_layout *l = arg;
	struct mesh_volume *vol = l->vol;

	mesh_layout_discard(l);
	mesh_volume_put(vol);
}

/* Free a layout that never became current; a slow close goes on in the background. */
void mesh_layout_drop(struct mesh_layout *l)
{
	mesh_volume_get(l->vol);
	mesh_run_until(mesh_layout_drop_now, l, jiffies + msecs_to_jiffies(MESH_SETTLE_MS));
}

/* Free a layout that never became current, or that has no user any more. Sleeps. */
void mesh_layout_discard(struct mesh_layout *l)
{
	mesh_layout_close(l);
	percpu_ref_exit(&l->ref);
	kvfree(l->forgotten);
	kvfree(l->bars);
	kvfree(l->fresh);
	kvfree(l->prot);
	kvfree(l);
}

/*
 * Refuse a member that is in no group and has abandoned I/O: a late write would land over newer
 * data. Return: 0 or -EBUSY.
 */
static int mesh_layout_late(struct mesh_layout *l, struct netlink_ext_ack *extack)
{
	u32 i;

	for (i = 0; i < l->nr; i++) {
		const struct mesh_member *m = l->member_slots[i].member;

		if (l->member_slots[i].grouped || !m->ops->keeps ||
		    READ_ONCE(m->state) != MESH_MEMBER_DOWN || READ_ONCE(m->err) != -EBUSY)
			continue;
		NL_SET_ERR_MSG(extack,
			       "the device of a member still has I/O that was given up");
		return -EBUSY;
	}
	return 0;
}

/* Open the extents that leave: where one cannot be opened, it is away. */
static void layout_leavings_open(struct mesh_layout *l, const struct mesh_group_conf *groups)
{
	u32 i;

	/* the groups of a volume that is attached already have theirs */
	for (i = 0; i < groups->nr_leavings && !READ_ONCE(l->vol->taken); i++) {
		struct mesh_leaving *x = &groups->leavings[i];

		mesh_access_conf(l->vol, &x->conf);
		if (mesh_member_get(&x->conf, &l->vol->conf.uuid, &x->member, NULL) < 0)
			x->member = NULL;
	}
}

static void layout_leavings_put(const struct mesh_group_conf *groups)
{
	u32 i;

	for (i = 0; i < groups->nr_leavings; i++)
		if (groups->leavings[i].member)
			mesh_member_put_later(groups->leavings[i].member);
}

/*
 * Open the members and their groups. @confs: one for each member slot. open_order.c handles members
 * that another host has. Sleeps. After an error mesh_layout_discard() closes the members that were
 * opened.
 */
int mesh_layout_open(struct mesh_layout *l, const struct mesh_member_conf *confs,
		     const struct mesh_group_conf *groups, struct netlink_ext_ack *extack)
{
	unsigned long until;
	int err;
	u32 i;

	for (i = 0; i < l->nr; i++) {
		struct mesh_member_slot *slot = &l->member_slots[i];
		struct mesh_member_conf conf = confs[i];

		mesh_access_conf(l->vol, &conf);
		err = mesh_member_get(&conf, &l->vol->conf.uuid, &slot->member, extack);
		if (err < 0)
			return err;
		slot->opens = err;
		slot->size = confs[i].size;
		slot->link.changed = mesh_layout_changed;
		slot->link.unfit = mesh_layout_link_unfit;
		mesh_member_link(slot->member, &slot->link);
	}
	/*
	 * Wait for all opens together. A member that takes longer comes up later, as one that was
	 * away.
	 */
	until = jiffies + msecs_to_jiffies(MESH_OPEN_MS);
	for (i = 0; i < l->nr; i++) {
		err = l->member_slots[i].opens ?
		      mesh_member_await(l->member_slots[i].member, until, extack) : 0;
		if (err)
			return err;
	}
	/* Shared members may have been refused before. */
	mesh_order_refused(l);
	layout_leavings_open(l, groups);
	err = mesh_groups_open(l, groups, extack) ?: mesh_layout_late(l, extack);
	layout_leavings_put(groups);
	return err;
}

/*
 * Check if the members that are up can serve the layout. Return: NULL, or why not, a static string.
 */
const char *mesh_layout_unfit(struct mesh_layout *l, u32 lba)
{
	const char *why;
	u32 i;

	for (i = 0; i < l->nr; i++) {
		/* pairs with mesh_member_step(): the member's info is visible */
		if (smp_load_acquire(&l->member_slots[i].member->state) != MESH_MEMBER_UP)
			continue;
		why = mesh_layout_slot_unfit(&l->member_slots[i], lba);
		if (why)
			return why;
	}
	return NULL;
}

/*
 * Check the members for the layout in use: a member is checked when it comes up, but some came up
 * before the layout was in use. A member whose kind says UP is UP afterwards if the member can
 * serve the layout, else REFUSED. Sleeps. Return: why a member is refused for that, or NULL.
 */
const char *mesh_layout_refit(struct mesh_layout *l, u32 lba)
{
	const char *why = NULL;
	u32 i;

	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->member_slots[i].member;

		mesh_member_refit(m);
		if (READ_ONCE(m->state) == MESH_MEMBER_REFUSED && READ_ONCE(m->err) == -EINVAL)
			why = mesh_layout_slot_unfit(&l->member_slots[i], lba) ?: why;
	}
	return why;
}

bool mesh_layout_same(const struct mesh_layout *a, const struct mesh_layout *b)
{
	u32 i;

	if (a->nr != b->nr || a->prot->bytes != b->prot->bytes ||
	    memcmp(a->prot, b->prot, a->prot->bytes))
		return false;
	for (i = 0; i < a->nr; i++)
		if (a->member_slots[i].member != b->member_slots[i].member)
			return false;
	return true;
}

/*
 * Count members. @down: members and groups that are waited for, and members that are given back.
 * @lost: members whose I/O fails.
 */
void mesh_layout_states(struct mesh_layout *l, unsigned int *down, unsigned int *lost)
{
	u32 i;

	*down = mesh_groups_down(l);
	*lost = 0;
	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->member_slots[i].member;
		int err = mesh_member_errno(READ_ONCE(m->state), READ_ONCE(m->err));

		if (l->member_slots[i].grouped)
			continue;
		*down += err == -ENOLINK || READ_ONCE(m->suspended);
		*lost += err && err != -ENOLINK;
	}
}

/*
 * Make a layout the current one. @vol: locked. @new: the layout; NULL: the volume goes. Requests in
 * flight end with the old layout; new requests, and requeued ones, take the new layout.
 */
void mesh_layout_swap(struct mesh_volume *vol, struct mesh_layout *new)
{
	struct mesh_layout *old;

	lockdep_assert_held(&vol->lock);
	if (new) {
		mesh_volume_get(vol);
		atomic_inc(&vol->draining);
		atomic_inc(&vol->closing);
		mutex_lock(&vol->layouts_lock);
		list_add(&new->node, &vol->layouts);
		mutex_unlock(&vol->layouts_lock);
	}
	old = rcu_replace_pointer(vol->layout, new, lockdep_is_held(&vol->lock));
	if (old)
		percpu_ref_kill(&old->ref);
	if (!new) {
		mesh_layout_less(&vol->draining, &vol->drained);
		mesh_layout_less(&vol->closing, &vol->closed);
	}
	mesh_retry_wake(vol);
}

/* The volume's layout goes, and none follows: it is removed, or fenced. @vol: locked. */
void mesh_layout_end(struct mesh_volume *vol)
{
	lockdep_assert_held(&vol->lock);
	if (vol->ended)
		return;
	vol->ended = true;
	mesh_layout_swap(vol, NULL);
}

/*
 * End stuck I/O in all layouts of a volume. Members without I/O in flight are left alone: a kick
 * may cost other volumes the session that they share.
 */
void mesh_layout_kick(struct mesh_volume *vol)
{
	struct mesh_layout *l;
	u32 i;

	mutex_lock(&vol->layouts_lock);
	list_for_each_entry(l, &vol->layouts, node)
		for (i = 0; i < l->nr; i++)
			if (mesh_member_inflight(l->member_slots[i].member))
				mesh_member_kick(l->member_slots[i].member);
	mutex_unlock(&vol->layouts_lock);
}
