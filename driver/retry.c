// SPDX-License-Identifier: GPL-2.0-only
/*
 * The retry queue: requests that a member that is down, or a lack of memory,
 * holds up. Each is planned again, with the then current layout, when something
 * changed (a member's state, the layout) or after a while that doubles; at its
 * deadline it ends with an error.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/trace.h"
#include "driver/volume.h"

/**
 * mesh_retry_add() - have a request tried again later
 * @vol: its volume
 * @req: owned by the caller until here, without a pinned layout
 *
 * Any context. A wake-up of the queue between the request's failure and here
 * costs no more than the first, short, wait.
 */
void mesh_retry_add(struct mesh_volume *vol, struct mesh_req *req)
{
	unsigned int ms = min(MESH_RETRY_MS_MIN << min(req->tries, 8U), MESH_RETRY_MS_MAX);
	unsigned long flags, now = jiffies;

	req->tries++;
	req->retry_at = now + msecs_to_jiffies(ms);
	if (time_after(req->retry_at, req->deadline))
		req->retry_at = req->deadline;
	trace_mesh_request_requeue(blk_mq_rq_from_pdu(req), req->tries,
				   max_t(long, req->retry_at - now, 0),
				   max_t(long, req->deadline - now, 0));
	spin_lock_irqsave(&vol->retry_lock, flags);
	list_add_tail(&req->node, &vol->retry);
	spin_unlock_irqrestore(&vol->retry_lock, flags);
	/* when it is queued already: for at most MESH_RETRY_MS_MAX */
	queue_delayed_work(vol->wq, &vol->retry_work, max_t(long, req->retry_at - now, 0));
}

/* Something changed: try all requeued requests now. Any context. */
void mesh_retry_wake(struct mesh_volume *vol)
{
	WRITE_ONCE(vol->woken, true);
	mod_delayed_work(vol->wq, &vol->retry_work, 0);
}

/* Go on with a request, which is owned by the caller until here. Any context. */
void mesh_retry_ready(struct mesh_volume *vol, struct mesh_req *req)
{
	unsigned long flags;

	spin_lock_irqsave(&vol->retry_lock, flags);
	list_add_tail(&req->node, &vol->ready);
	spin_unlock_irqrestore(&vol->retry_lock, flags);
	queue_work(vol->wq, &vol->ready_work);
}

static void mesh_retry_ready_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(work, struct mesh_volume, ready_work);
	struct mesh_batch batch = { .n = 0 };
	struct mesh_req *req, *next;
	LIST_HEAD(todo);

	spin_lock_irq(&vol->retry_lock);
	list_splice_init(&vol->ready, &todo);
	spin_unlock_irq(&vol->retry_lock);
	rcu_read_lock();
	list_for_each_entry_safe(req, next, &todo, node) {
		list_del(&req->node);
		mesh_req_run(req, &batch);
	}
	mesh_batch_flush(&batch);
	rcu_read_unlock();
}

static void mesh_retry_all(struct mesh_volume *vol, struct list_head *todo, bool woken,
			   struct list_head *later)
{
	struct mesh_req *req, *next;
	struct mesh_batch batch;

	list_for_each_entry_safe(req, next, todo, node) {
		list_del(&req->node);
		if (READ_ONCE(vol->dying) || time_after_eq(jiffies, req->deadline)) {
			mesh_req_end(req, -EIO);
		} else if (woken || time_after_eq(jiffies, req->retry_at)) {
			batch.n = 0;
			rcu_read_lock();
			mesh_req_begin(req, &batch);
			mesh_batch_flush(&batch);
			rcu_read_unlock();
		} else {
			list_add_tail(&req->node, later);
		}
	}
}

static void mesh_retry_run(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(to_delayed_work(work), struct mesh_volume,
					       retry_work);
	unsigned long soonest = jiffies + msecs_to_jiffies(MESH_RETRY_MS_MAX);
	LIST_HEAD(todo);
	LIST_HEAD(later);
	struct mesh_req *req;
	bool woken = xchg(&vol->woken, false);

	spin_lock_irq(&vol->retry_lock);
	list_splice_init(&vol->retry, &todo);
	spin_unlock_irq(&vol->retry_lock);
	mesh_retry_all(vol, &todo, woken, &later);
	if (list_empty(&later))
		return;
	list_for_each_entry(req, &later, node)
		if (time_before(req->retry_at, soonest))
			soonest = req->retry_at;
	spin_lock_irq(&vol->retry_lock);
	list_splice(&later, &vol->retry);
	spin_unlock_irq(&vol->retry_lock);
	queue_delayed_work(vol->wq, &vol->retry_work,
			   max_t(long, soonest - jiffies, 0));
}

void mesh_retry_init(struct mesh_volume *vol)
{
	spin_lock_init(&vol->retry_lock);
	INIT_LIST_HEAD(&vol->retry);
	INIT_DELAYED_WORK(&vol->retry_work, mesh_retry_run);
	INIT_LIST_HEAD(&vol->ready);
	INIT_WORK(&vol->ready_work, mesh_retry_ready_work);
}
