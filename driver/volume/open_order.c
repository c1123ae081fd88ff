// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two hosts that open the same members: neither may hold half of them for ever.
 *
 *   a member REFUSED -+- the volume never had a disk: release all members, wait,
 *                     |    open all again
 *                     '- otherwise: wait, try that member again
 *
 * Members are opened in parallel, on many targets: no order of the opens keeps two hosts apart. A
 * host that is refused releases all members that it has. The waits differ by chance and double, so
 * that one of the hosts gets all members. A host that is refused for another reason than a holder
 * gives way, too: else it would keep the rest from a host that can have all members.
 *
 * A volume that has had a disk releases nothing: the data that was written, and the file systems'
 * memory of it, belong together. While the volume holds one member, no other host can have had the
 * whole volume, so members that were taken meanwhile are tried again. If the volume holds no
 * member, a member with another holder is not tried again: another host may have written, and the
 * volume must be attached again.
 */
#include <linux/jiffies.h>
#include <linux/random.h>

#include "driver/volume/volume.h"
#include "driver/work.h"

#define ORDER_POLL_MS	100	/* until the layout is the current one */

/*
 * Return: true if a group does without a refused member for good: a member that no other host
 * holds. Once the volume serves, a stale member is tried again: the member may have been away at a
 * change of the layout, and meshd writes the new version to the label when the member is back.
 */
static bool order_does_without(struct mesh_layout *l, u32 i)
{
	int err = READ_ONCE(l->member_slots[i].member->err);

	/* a stale number is for good, or the volume's number is raised */
	if (l->vol->access.numbered && err == -ESTALE)
		return true;
	return l->member_slots[i].grouped && err != -EBUSY &&
	       (err != -ESTALE || !READ_ONCE(l->vol->disk));
}

/*
 * Return: true if a member was refused, is not being tried again, and its group does not do
 * without.
 */
static bool order_refused(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->member_slots[i].member;

		if (order_does_without(l, i))
			continue;
		if (READ_ONCE(m->state) == MESH_MEMBER_REFUSED && !READ_ONCE(m->retrying))
			return true;
	}
	return false;
}

/*
 * Return: true if another host has a member of a volume with an access number and without a disk.
 * A retry could get the extent when the cluster has given the volume to another host.
 */
static bool order_held(struct mesh_layout *l)
{
	u32 i;

	if (!l->vol->access.numbered || READ_ONCE(l->vol->disk))
		return false;
	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->member_slots[i].member;

		if (READ_ONCE(m->state) == MESH_MEMBER_REFUSED && READ_ONCE(m->err) == -EBUSY)
			return true;
	}
	return false;
}

/* Return: true if the layout has a member that the target keeps from other hosts. */
static bool order_holds(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->member_slots[i].member;

		if (m->ops->release && READ_ONCE(m->state) == MESH_MEMBER_UP &&
		    !READ_ONCE(m->retrying))
			return true;
	}
	return false;
}

/* Return: true if a member that is tried again has no answer yet. */
static bool order_retrying(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; i < l->nr; i++)
		if (READ_ONCE(l->member_slots[i].member->retrying))
			return true;
	return false;
}

/* Call @what for each member that can be given back. */
static void order_each(struct mesh_layout *l, void (*what)(struct mesh_member *m))
{
	u32 i;

	for (i = 0; i < l->nr; i++)
		if (l->member_slots[i].member->ops->release)
			what(l->member_slots[i].member);
}

/*
 * Decide whether to give way, and note that at the members, under vol->lock: no disk of the volume
 * may come up in between. Return: true: the members are suspended.
 */
static bool order_gives_way(struct mesh_layout *l)
{
	struct mesh_volume *vol = l->vol;
	bool may;

	mutex_lock(&vol->lock);
	may = !vol->disk && vol->state != MESH_VOLUME_REMOVING &&
	      rcu_access_pointer(vol->layout) == l && order_refused(l);
	if (may)
		order_each(l, mesh_member_suspend);
	mutex_unlock(&vol->lock);
	return may;
}

static void order_release_one(struct mesh_member *m)
{
	m->ops->release(m);
}

static void order_release(struct mesh_layout *l)
{
	l->order.released = order_gives_way(l);
	if (l->order.released)
		order_each(l, order_release_one);
}

static void order_resume(struct mesh_layout *l)
{
	if (!l->order.released)
		return;
	l->order.released = false;
	order_each(l, mesh_member_resume);
	mesh_volume_changed(l->vol);	/* the state work may have seen members as given back */
}

static void order_retry(struct mesh_layout *l)
{
	bool all = !READ_ONCE(l->vol->disk) || order_holds(l);
	u32 i;

	order_resume(l);
	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->member_slots[i].member;

		if (m->ops->retry && !READ_ONCE(m->suspended) &&
		    (all || READ_ONCE(m->err) != -EBUSY))
			mesh_member_retry(m);
	}
}

static void order_wait(struct mesh_order *o)
{
	u32 ms = rdda_backoff_ms(o->tries++, get_random_u32());

	o->retry_at = jiffies + msecs_to_jiffies(ms);
	o->waiting = true;
}

static void order_work(struct work_struct *work)
{
	struct mesh_order *o = container_of(to_delayed_work(work), struct mesh_order, work);
	struct mesh_layout *l = container_of(o, struct mesh_layout, order);
	bool retrying;

	if (percpu_ref_is_dying(&l->ref))
		return;
	if (rcu_access_pointer(l->vol->layout) != l) {
		queue_delayed_work(mesh_wq, &o->work, msecs_to_jiffies(ORDER_POLL_MS));
		return;
	}
	/*
	 * Before order_refused(): a member that is refused between the two calls is found by one of
	 * them.
	 */
	retrying = order_retrying(l);
	if (xchg(&o->again, false)) {
		WRITE_ONCE(o->held, false);
		order_retry(l);
		o->waiting = false;
	} else if (o->held) {
		return;
	} else if (o->waiting && time_after_eq(jiffies, o->retry_at)) {
		order_retry(l);
		o->waiting = false;
	} else if (!o->waiting && order_refused(l)) {
		bool held = order_held(l);

		order_release(l);
		if (held && o->released) {
			WRITE_ONCE(o->held, true);
			mesh_volume_changed(l->vol);
			return;
		}
		order_wait(o);
	} else if (!o->waiting && !retrying) {
		if (READ_ONCE(l->vol->disk))
			o->tries = 0;
		return;
	}
	/* After a retry too: a member that is refused again reports no change of state. */
	queue_delayed_work(mesh_wq, &o->work, o->waiting ? max_t(long, o->retry_at - jiffies, 1) :
			   msecs_to_jiffies(ORDER_POLL_MS));
}

void mesh_order_init(struct mesh_order *o)
{
	INIT_DELAYED_WORK(&o->work, order_work);
}

/* Handle a member that was, or may have been, refused. Any context. */
void mesh_order_refused(struct mesh_layout *l)
{
	queue_delayed_work(mesh_wq, &l->order.work, 0);
}

/*
 * A message has named the layout in use once more: try the members of a volume with an access
 * number, which another host may have given back. Any context.
 */
void mesh_order_again(struct mesh_layout *l)
{
	if (l->vol->access.numbered)
		WRITE_ONCE(l->order.again, true);
	mesh_order_refused(l);
}

/*
 * End the handling of a layout's members, which are unlinked and about to be put; other layouts may
 * have the members, too. Sleeps.
 */
void mesh_order_end(struct mesh_layout *l)
{
	cancel_delayed_work_sync(&l->order.work);
	order_resume(l);
}
