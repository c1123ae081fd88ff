// SPDX-License-Identifier: GPL-2.0-only
/*
 * The retry queue: requests that wait for a member that is down, or for memory. A request is due
 * after a change (a member's state, the layout), or after a delay that doubles with each try, at
 * its deadline at the latest. The work item in request.c takes the requests that are due.
 */
#define pr_fmt(fmt) "meshblk: " fmt

#include "driver/block/request.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"

/*
 * Queue a request for a later try. @req: owned by the caller until this call, without a pinned
 * layout. Any context. A wake-up of the queue between the request's failure and this call may miss
 * the request, which costs no more than the first, short wait.
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
	/* a work that is queued already runs within MESH_RETRY_MS_MAX */
	queue_delayed_work(vol->wq, &vol->retry_work, max_t(long, req->retry_at - now, 0));
}

/* Something changed: try all requeued requests now. Any context. */
void mesh_retry_wake(struct mesh_volume *vol)
{
	WRITE_ONCE(vol->woken, true);
	mod_delayed_work(vol->wq, &vol->retry_work, 0);
}

/*
 * Take all requests off the queue. @due: gets the requests to be tried now. @later: gets the
 * others, for mesh_retry_put().
 */
void mesh_retry_take(struct mesh_volume *vol, struct list_head *due, struct list_head *later)
{
	bool all = xchg(&vol->woken, false) || mesh_volume_over(vol);
	struct mesh_req *req, *next;

	spin_lock_irq(&vol->retry_lock);
	list_splice_init(&vol->retry, later);
	spin_unlock_irq(&vol->retry_lock);
	list_for_each_entry_safe(req, next, later, node)
		if (all || time_after_eq(jiffies, req->retry_at))
			list_move_tail(&req->node, due);
}

/*
 * Put the requests in @later back on the queue, after the due requests were tried; some of these
 * may be queued again already.
 */
void mesh_retry_put(struct mesh_volume *vol, struct list_head *later)
{
	unsigned long soonest = jiffies + msecs_to_jiffies(MESH_RETRY_MS_MAX);
	struct mesh_req *req;

	if (list_empty(later))
		return;
	list_for_each_entry(req, later, node)
		if (time_before(req->retry_at, soonest))
			soonest = req->retry_at;
	spin_lock_irq(&vol->retry_lock);
	list_splice(later, &vol->retry);
	spin_unlock_irq(&vol->retry_lock);
	queue_delayed_work(vol->wq, &vol->retry_work,
			   max_t(long, soonest - jiffies, 0));
}

void mesh_retry_init(struct mesh_volume *vol)
{
	spin_lock_init(&vol->retry_lock);
	INIT_LIST_HEAD(&vol->retry);
}
