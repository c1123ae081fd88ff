// SPDX-License-Identifier: GPL-2.0-only
/* I/O that its submitter has given up, and that the member's device has not ended: abandoned.h. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/rcupdate.h>

#include "driver/member/member.h"
#include "driver/netlink/events.h"
#include "driver/work.h"

/* To be called before the I/O is sent to @m. */
void mesh_abandoned_init(struct mesh_abandoned *a, const struct mesh_member *m)
{
	atomic_set(&a->fate, m->ops->keeps ? MESH_IO_FLIES : MESH_IO_STAYS);
}

/*
 * Leave an I/O to its member. @m: the member, with a reference of the caller. @free: frees the
 * I/O's memory after the I/O has ended, possibly before this returns. Any context. Return: true:
 * the I/O is left. False: the I/O has ended, or must not be left; done() is or was called.
 */
bool mesh_abandon(struct mesh_abandoned *a, struct mesh_member *m,
		  void (*free)(struct mesh_abandoned *a))
{
	if (atomic_read(&a->fate) != MESH_IO_FLIES)
		return false;
	a->member = m;
	a->free = free;
	refcount_inc(&m->refs);
	atomic_inc(&m->abandoned);
	if (atomic_cmpxchg(&a->fate, MESH_IO_FLIES, MESH_IO_LEFT) != MESH_IO_FLIES) {
		atomic_dec(&m->abandoned);
		/* the work may have seen the count */
		queue_work(mesh_kick_wq, &m->abandoned_work);
		refcount_dec(&m->refs);
		return false;
	}
	queue_work(mesh_kick_wq, &m->abandoned_work);
	return true;
}

/*
 * For the I/O's done(). Any context. Return: true if the I/O was left: done() must not notify the
 * submitter.
 */
bool mesh_abandoned_ended(struct mesh_abandoned *a)
{
	struct mesh_member *m;

	if (atomic_read(&a->fate) == MESH_IO_STAYS ||
	    atomic_cmpxchg(&a->fate, MESH_IO_FLIES, MESH_IO_ENDED) == MESH_IO_FLIES)
		return false;
	m = a->member;
	rcu_read_lock();	/* the member's work may see the I/O at once, and put the member */
	llist_add(&a->node, &m->returned);
	queue_work(mesh_kick_wq, &m->abandoned_work);
	rcu_read_unlock();
	return true;
}

static void abandoned_say(struct mesh_member *m, int left)
{
	char path[MESH_PATH_MAX];

	if (m->said == !!left)
		return;
	m->said = left;
	mesh_member_path(m, path);
	if (left)
		pr_warn("%s: the device has %d I/O that was given up: it is busy until it has ended them\n",
			path, left);
	else
		pr_info("%s: the device has ended all I/O that was given up\n", path);
	mesh_event_abandoned(m, left);
}

/* I/O was left to the member, or has ended. */
void mesh_abandoned_work(struct work_struct *work)
{
	struct mesh_member *m = container_of(work, struct mesh_member, abandoned_work);
	struct llist_node *list = llist_del_all(&m->returned);
	unsigned int noio = mesh_noio_begin();
	struct mesh_abandoned *a, *next;
	int n = 0;

	llist_for_each_entry_safe(a, next, list, node) {
		a->free(a);
		n++;
	}
	atomic_sub(n, &m->abandoned);
	mesh_member_refit(m);
	abandoned_say(m, atomic_read(&m->abandoned));
	if (n)
		synchronize_rcu();	/* CPUs in mesh_abandoned_ended() */
	while (n--)
		mesh_member_put_later(m);
	mesh_noio_end(noio);
}
