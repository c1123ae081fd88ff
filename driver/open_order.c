// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two hosts that open the same members: neither may hold half of them for ever.
 *
 *   a member REFUSED -+- the volume never had a disk: release all members, wait,
 *                     |    open all again
 *                     '- otherwise: wait, try that member again
 *
 * Members are opened beside each other, on many targets: no order of theirs keeps
 * two hosts apart. The one that is refused gives back what it has, and the waits
 * differ by chance and double, so that one of them gets all. Refused for another
 * reason than a holder, it gives way too: it would keep the rest from a host that
 * can have all of them.
 *
 * A volume that has had a disk gives nothing back: what was written there and
 * what file systems remember of it belong together. While it holds one member,
 * nobody else can have had the whole volume, so others that were taken meanwhile
 * are tried again. When it holds none, a held one is not: another host may have
 * written, and the volume must be attached again.
 */
#include <linux/jiffies.h>
#include <linux/random.h>

#include "driver/volume.h"

#define ORDER_LOOK_MS	100	/* for the layout to become the current one */

static bool order_holds_one(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; i < l->nr; i++)
		if (READ_ONCE(l->slots[i].member->state) == MESH_MEMBER_UP)
			return true;
	return false;
}

static bool order_refused(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; i < l->nr; i++)
		if (READ_ONCE(l->slots[i].member->state) == MESH_MEMBER_REFUSED)
			return true;
	return false;
}

static void order_release(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; i < l->nr; i++)
		if (l->slots[i].member->ops->release)
			l->slots[i].member->ops->release(l->slots[i].member);
}

static void order_retry(struct mesh_layout *l)
{
	bool all = l->order.released || !READ_ONCE(l->vol->disk) || order_holds_one(l);
	u32 i;

	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->slots[i].member;

		if (m->ops->retry && (all || READ_ONCE(m->err) != -EBUSY))
			m->ops->retry(m);
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
	unsigned long now = jiffies;

	if (percpu_ref_is_dying(&l->ref))
		return;
	if (rcu_access_pointer(l->vol->layout) != l) {
		queue_delayed_work(mesh_wq, &o->work, msecs_to_jiffies(ORDER_LOOK_MS));
		return;
	}
	if (o->waiting && time_after_eq(now, o->retry_at)) {
		order_retry(l);
		o->waiting = false;
		o->released = false;
		o->retry_at = now;
	} else if (!o->waiting && order_refused(l)) {
		if (!READ_ONCE(l->vol->disk)) {
			order_release(l);
			o->released = true;
		}
		order_wait(o);
	} else if (!o->waiting) {
		if (READ_ONCE(l->vol->disk))
			o->tries = 0;
		return;
	}
	/* After a retry too: one that is refused again tells no change of state. */
	queue_delayed_work(mesh_wq, &o->work, o->waiting ? max_t(long, o->retry_at - jiffies, 1) :
			   msecs_to_jiffies(ORDER_LOOK_MS));
}

void mesh_order_init(struct mesh_order *o)
{
	INIT_DELAYED_WORK(&o->work, order_work);
}

/* A member was refused: see to it. Any context. */
void mesh_order_refused(struct mesh_layout *l)
{
	queue_delayed_work(mesh_wq, &l->order.work, 0);
}

/**
 * mesh_order_begin() - the members of a layout are linked
 * @l: layout
 *
 * Those that it shares may have been refused before.
 */
void mesh_order_begin(struct mesh_layout *l)
{
	if (order_refused(l))
		mesh_order_refused(l);
}

/* The members are about to be put. Sleeps. */
void mesh_order_end(struct mesh_order *o)
{
	cancel_delayed_work_sync(&o->work);
}
