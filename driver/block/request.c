// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: blk-mq's calls, the loop of a request over its batches, its end.
 *
 * A request, once taken, is never given back to blk-mq: it ends, or is requeued. The only
 * synchronisation of a request is req->left: the context that brings the count to zero owns the
 * request and goes on with it.
 *
 * plan.c and retry.c, which this file calls, call no function of this file by name: member I/O ends
 * in mesh_req_io_done(), a part of a group in mesh_req_part_done(), and requests that had to wait
 * go on in two work items.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/slab.h>

#include "driver/block/request.h"
#include "driver/compat/compat.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"
#include "protect/engine/bypass.h"

/* Start value of req->left while a batch is planned: more than a batch has I/Os. */
#define MESH_PLANNING	(1 << 20)

/* An I/O that ended this recently shows that a member is not stuck, ... */
#define MESH_RECENT	(5 * HZ)
/* ... but not once a request is older than this many times io_timeout. */
#define MESH_PATIENCE	3

/* A hardware queue: members whose commit waits for the last request of a dispatch. */
struct mesh_hctx {
	spinlock_t lock;	/* guards batch and its commits; queues are shared by CPUs */
	struct mesh_batch batch;
};

/*
 * Meaning of a member's error: retry until the deadline or not, and the status that the block layer
 * gets in the end.
 */
static const struct mesh_error {
	int err;
	bool retry;
	blk_status_t status;
} mesh_errors[] = {
	{ 0,		false,	BLK_STS_OK },
	{ -ENOLINK,	true,	BLK_STS_IOERR },	/* member or channel down */
	{ -ENOMEM,	true,	BLK_STS_IOERR },
	{ -EAGAIN,	true,	BLK_STS_IOERR },
	{ -EOPNOTSUPP,	false,	BLK_STS_NOTSUPP },
	{ -ENODEV,	false,	BLK_STS_OFFLINE },	/* drive unplugged */
	{ -ENOSPC,	false,	BLK_STS_NOSPC },
	{ -ENODATA,	false,	BLK_STS_MEDIUM },
	{ -EILSEQ,	false,	BLK_STS_PROTECTION },
	{ -EREMOTEIO,	false,	BLK_STS_TARGET },
};

static const struct mesh_error *mesh_req_error(int err)
{
	static const struct mesh_error other = { .status = BLK_STS_IOERR };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mesh_errors); i++)
		if (mesh_errors[i].err == err)
			return &mesh_errors[i];
	return &other;
}

/* Linux 6.1 keeps polled bios in a cache for tasks, and warns when such a bio ends in a softirq. */
static void mesh_mq_uncache(struct request *rq)
{
	struct bio *bio;

	if (!in_interrupt())
		return;
	__rq_for_each_bio(bio, rq)
		if (bio->bi_opf & REQ_POLLED)
			bio->bi_opf &= ~REQ_ALLOC_CACHE;
}

static void mesh_mq_complete(struct request *rq)
{
	struct mesh_req *req = blk_mq_rq_to_pdu(rq);
	struct mesh_volume *vol = rq->q->queuedata;

	if (unlikely(vol->polled_queues))
		mesh_mq_uncache(rq);
	blk_mq_end_request(rq, mesh_req_error(req->op.err)->status);
}

/* End a request; its layout is not pinned any more. */
static void mesh_req_end(struct mesh_req *req, int err)
{
	struct request *rq = blk_mq_rq_from_pdu(req);

	req->op.err = err;
	trace_mesh_request_done(rq, err, req->tries);
	if (!blk_mq_complete_request_remote(rq))
		mesh_mq_complete(rq);
}

static void mesh_req_over(struct mesh_req *req)
{
	struct mesh_volume *vol = blk_mq_rq_from_pdu(req)->q->queuedata;
	int err = req->op.err;

	mesh_layout_unpin(req->layout);
	if (unlikely(err) && mesh_req_error(err)->retry && !mesh_volume_over(vol) &&
	    time_before(jiffies, req->deadline))
		mesh_retry_add(vol, req);
	else
		mesh_req_end(req, err);
}

/* Return: the policy's kind of a request, or -1. */
static int mesh_req_kind(struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return PROT_READ;
	case REQ_OP_WRITE:
		return PROT_WRITE;
	case REQ_OP_FLUSH:
		return PROT_FLUSH;
	case REQ_OP_DISCARD:
		return PROT_DISCARD;
	case REQ_OP_WRITE_ZEROES:
		return PROT_ZEROES;
	default:
		return -1;
	}
}

static void mesh_req_want(struct request *rq, struct prot_request *want)
{
	want->kind = mesh_req_kind(rq);
	want->flags = 0;
	want->offset = 0;
	want->length = 0;
	if (want->kind != PROT_FLUSH) {
		want->offset = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
		want->length = blk_rq_bytes(rq);
	}
	if (rq->cmd_flags & REQ_FUA)
		want->flags |= PROT_FUA;
	if (rq->cmd_flags & REQ_META)
		want->flags |= PROT_META;
	if (rq->cmd_flags & REQ_NOUNMAP)
		want->flags |= PROT_NOUNMAP;
}

static void mesh_req_io_done(struct mesh_mio *mio, int err);
static void mesh_req_part_done(struct mesh_part *part, int err);

/*
 * Plan batch after batch, as long as each ends while it is sent. @req: owned by the caller until
 * this call; all I/O of its last batch has ended. @batch: as for mesh_plan_batch(). Context: an RCU
 * read section.
 */
static void mesh_req_run(struct mesh_req *req, struct mesh_batch *batch)
{
	struct mesh_volume *vol = blk_mq_rq_from_pdu(req)->q->queuedata;
	bool over;
	int sent;

	do {
		mesh_plan_collect(req);
		if (req->planned) {
			req->planned = false;
			break;
		}
		atomic_set(&req->left, MESH_PLANNING);
		over = mesh_plan_batch(req, batch, mesh_req_io_done, mesh_req_part_done, &sent);
		if (!atomic_sub_and_test(MESH_PLANNING - sent, &req->left))
			return;
		if (unlikely(!over && !sent)) {
			llist_add(&req->ready, &vol->ready);
			queue_work(vol->wq, &vol->ready_work);
			return;
		}
	} while (!over);
	mesh_req_over(req);
}

/* Set up the op of a request that needs one. Return: 0, or the error that the request ends with. */
static int mesh_req_plan(struct mesh_req *req)
{
	struct prot_request want;

	mesh_req_want(blk_mq_rq_from_pdu(req), &want);
	return prot_op_init(&req->op, req->layout->prot, &want);
}

/*
 * The I/O of a single request has ended. Return: true if the request is over; false: the request
 * goes on with an op.
 */
static bool mesh_req_single_end(struct mesh_req *req)
{
	u32 bytes = blk_rq_bytes(blk_mq_rq_from_pdu(req));
	u8 unread;
	int err;

	mesh_plan_single_end(req);
	if (likely(!req->direct) ||
	    mesh_group_read_right(req->direct, req->direct_at, bytes, req->seen, req->op.err))
		return true;
	unread = prot_bypass_flags(&req->direct->cfg, req->op.err);
	err = mesh_req_plan(req);
	req->op.flags |= unread;
	req->op.err = err;
	return err;
}

/*
 * Count @n I/Os of a request as ended. @req: not to be used after this call. Any context: local
 * devices end I/O in hard interrupts.
 */
static void mesh_req_drop(struct mesh_req *req, int n)
{
	struct mesh_batch batch __mesh_uninit;

	if (!atomic_sub_and_test(n, &req->left))
		return;
	if (likely(req->single) && mesh_req_single_end(req)) {
		mesh_req_over(req);
		return;
	}
	mesh_batch_init(&batch);
	rcu_read_lock();
	mesh_req_run(req, &batch);
	mesh_batch_flush(&batch);
	rcu_read_unlock();
}

static void mesh_req_io_done(struct mesh_mio *mio, int err)
{
	struct mesh_req *req = mio->priv;

	/* a direct read that failed goes on in the group's engine */
	if (unlikely(err) && req->direct)
		mesh_group_read_failed(req->direct, mio->member, err);
	else if (unlikely(err) && mesh_req_error(err)->retry)
		this_cpu_inc(mio->member->stats->retries);
	WRITE_ONCE(mio->err, err);
	mesh_req_drop(req, 1);
}

/* A part of a request in a group has ended. Any context. */
static void mesh_req_part_done(struct mesh_part *part, int err)
{
	part->err = err;
	mesh_req_drop(part->req, 1);
}

/* Go on with requests whose batch ended in a hard interrupt. */
static void mesh_req_ready_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(work, struct mesh_volume, ready_work);
	struct llist_node *ready = llist_reverse_order(llist_del_all(&vol->ready));
	struct mesh_batch batch __mesh_uninit;
	struct mesh_req *req, *next;

	mesh_batch_init(&batch);
	rcu_read_lock();
	llist_for_each_entry_safe(req, next, ready, ready)
		mesh_req_run(req, &batch);
	mesh_batch_flush(&batch);
	rcu_read_unlock();
}

/*
 * Plan a request from its start, with the current layout. @req: owned by the caller until this
 * call. @batch: as for mesh_plan_batch(). Context: an RCU read section, but no hard interrupt.
 */
static void mesh_req_begin(struct mesh_req *req, struct mesh_batch *batch)
{
	struct request *rq = blk_mq_rq_from_pdu(req);
	struct mesh_layout *l = mesh_layout_pin(rq->q->queuedata);
	struct prot_io io __mesh_uninit;
	struct prot_request want;
	int err;

	if (unlikely(!l)) {
		mesh_req_end(req, -EIO);
		return;
	}
	req->layout = l;
	req->direct = NULL;
	mesh_req_want(rq, &want);
	if (prot_single(l->prot, &want, &io) &&
	    likely(io.group_io ? mesh_plan_direct(req, &io, batch, mesh_req_io_done) :
				 mesh_plan_single(req, &io, batch, mesh_req_io_done)))
		return;
	err = prot_op_init(&req->op, l->prot, &want);
	if (unlikely(err)) {
		mesh_layout_unpin(l);
		mesh_req_end(req, err);
		return;
	}
	mesh_req_run(req, batch);
}

static void mesh_req_retry_work(struct work_struct *work)
{
	struct mesh_volume *vol = container_of(to_delayed_work(work), struct mesh_volume,
					       retry_work);
	struct mesh_req *req, *next;
	struct mesh_batch batch;
	LIST_HEAD(later);
	LIST_HEAD(due);

	mesh_retry_take(vol, &due, &later);
	list_for_each_entry_safe(req, next, &due, node) {
		list_del(&req->node);
		if (mesh_volume_over(vol) || time_after_eq(jiffies, req->deadline)) {
			mesh_req_end(req, -EIO);
			continue;
		}
		mesh_batch_init(&batch);
		rcu_read_lock();
		mesh_req_begin(req, &batch);
		mesh_batch_flush(&batch);
		rcu_read_unlock();
	}
	mesh_retry_put(vol, &later);
}

void mesh_req_init_volume(struct mesh_volume *vol)
{
	mesh_retry_init(vol);
	INIT_DELAYED_WORK(&vol->retry_work, mesh_req_retry_work);
	init_llist_head(&vol->ready);
	INIT_WORK(&vol->ready_work, mesh_req_ready_work);
}

static void mesh_req_take(struct request *rq, struct mesh_batch *batch)
{
	struct mesh_req *req = blk_mq_rq_to_pdu(rq);
	struct mesh_volume *vol = rq->q->queuedata;

	blk_mq_start_request(rq);
	/*
	 * blk-mq finds requests here by tag, above all for its timer. Linux 6.1 does not set the
	 * entry for queue_rqs(); later kernels have just done so.
	 */
	rq->mq_hctx->tags->rqs[rq->tag] = rq;
	trace_mesh_request_start(rq, mesh_req_kind(rq));
	req->mios = NULL;
	req->parts = NULL;
	req->tries = 0;
	req->queue = rq->mq_hctx->queue_num;
	req->deadline = jiffies + READ_ONCE(vol->timeout);
	mesh_req_begin(req, batch);
}

/*
 * Commit the members of a hardware queue's batch. Other CPUs have added members, too: each CPU pins
 * its members by an RCU section, and calls this before the section ends. So the commits are made
 * under the lock, and the batch is empty only after the commits.
 */
static void mesh_hctx_flush(struct mesh_hctx *hc)
{
	/* pairs with mesh_batch_flush() */
	if (!smp_load_acquire(&hc->batch.n))
		return;
	spin_lock(&hc->lock);
	mesh_batch_flush(&hc->batch);
	spin_unlock(&hc->lock);
}

/* blk-mq: one request; called in an RCU read section, does not sleep. */
static blk_status_t mesh_mq_queue_rq(struct blk_mq_hw_ctx *hctx,
				     const struct blk_mq_queue_data *bd)
{
	struct mesh_hctx *hc = hctx->driver_data;
	struct mesh_batch batch __mesh_uninit;
	unsigned int i;

	if (unlikely(mesh_req_kind(bd->rq) < 0))
		return BLK_STS_NOTSUPP;
	mesh_batch_init(&batch);
	batch.last = bd->last;
	mesh_req_take(bd->rq, &batch);
	if (bd->last) {
		mesh_batch_flush(&batch);
		mesh_hctx_flush(hc);
		return BLK_STS_OK;
	}
	mesh_batch_run(&batch);
	spin_lock(&hc->lock);
	for (i = 0; i < batch.n; i++)
		mesh_batch_add(&hc->batch, batch.to[i].member, batch.to[i].queue);
	spin_unlock(&hc->lock);
	return BLK_STS_OK;
}

static void mesh_mq_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	mesh_hctx_flush(hctx->driver_data);
}

/* blk-mq: a plug's worth of requests, in an RCU read section. */
static void mesh_mq_queue_rqs(mesh_rq_list_t *list)
{
	struct mesh_batch batch __mesh_uninit;
	struct request *rq;

	mesh_batch_init(&batch);
	while ((rq = rq_list_peek(list)) && likely(mesh_req_kind(rq) >= 0)) {
		rq_list_pop(list);
		batch.last = !rq_list_peek(list);
		mesh_req_take(rq, &batch);
	}
	mesh_batch_flush(&batch);
}

/*
 * blk-mq: the submitter of a polled request waits for it. Poll the channels of the members now; I/O
 * of other queues on these channels ends here, too. I/O of a group's engine and of members of other
 * kinds ends without polling, and so does a request that waits for its members.
 */
static int mesh_mq_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	struct mesh_volume *vol = hctx->queue->queuedata;
	struct mesh_layout *l;
	int n = 0;
	u32 i;

	/* members of a layout that is not current any more are left to interrupts */
	rcu_read_lock();
	l = rcu_dereference(vol->layout);
	for (i = 0; l && i < l->nr; i++)
		n += mesh_member_poll(l->member_slots[i].member, hctx->queue_num);
	rcu_read_unlock();
	return n;
}

/* blk-mq: map CPUs to queues. blk-mq may have dropped maps, and all queues but one. */
static void mesh_mq_map_queues(struct blk_mq_tag_set *set)
{
	struct mesh_volume *vol = set->driver_data;
	unsigned int polled = set->nr_maps > HCTX_TYPE_POLL ? vol->polled_queues : 0;
	struct blk_mq_queue_map *map = set->map;

	map[HCTX_TYPE_DEFAULT].nr_queues = set->nr_hw_queues - polled;
	blk_mq_map_queues(&map[HCTX_TYPE_DEFAULT]);
	if (!polled)
		return;
	map[HCTX_TYPE_READ].nr_queues = 0;	/* no separate queues for reads */
	map[HCTX_TYPE_POLL].nr_queues = polled;
	map[HCTX_TYPE_POLL].queue_offset = set->nr_hw_queues - polled;
	blk_mq_map_queues(&map[HCTX_TYPE_POLL]);
}

/*
 * A request has been in flight for io_timeout. Kick the members that still have I/O of the request,
 * so that the I/O comes back and the request can end; requeued requests end by themselves. Only the
 * I/O's return ends a request, never this handler.
 *
 * A kick ends all I/O of a member. A member that goes on ending other I/O is not stuck, and is left
 * alone until the request is so old that its I/O must have been lost.
 */
static enum blk_eh_timer_return mesh_mq_timeout(struct request *rq)
{
	struct mesh_req *req = blk_mq_rq_to_pdu(rq);
	struct mesh_volume *vol = rq->q->queuedata;
	unsigned long timeout = READ_ONCE(vol->timeout);
	unsigned long recent = clamp_t(unsigned long, timeout / 2, HZ, MESH_RECENT);
	bool lost = time_after(jiffies, req->deadline + (MESH_PATIENCE - 1) * timeout);
	struct mesh_mio *mio;

	if (!atomic_inc_not_zero(&req->left))
		return BLK_EH_RESET_TIMER;
	/* pairs with mesh_plan_fill(): listed I/Os are filled in */
	mio = smp_load_acquire(&req->mios);
	for (; mio; mio = mio->next) {
		if (READ_ONCE(mio->err) != MESH_MIO_RUNNING)
			continue;
		if (lost || !mesh_member_moves(mio->member, recent))
			mesh_member_kick(mio->member);
	}
	/* time to the next check; the count taken above keeps the request until here */
	rq->timeout = recent;
	mesh_req_drop(req, 1);
	return BLK_EH_RESET_TIMER;
}

static int mesh_mq_init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int i)
{
	struct mesh_hctx *hc = kzalloc_node(sizeof(*hc), GFP_KERNEL, hctx->numa_node);

	if (!hc)
		return -ENOMEM;
	spin_lock_init(&hc->lock);
	hctx->driver_data = hc;
	return 0;
}

static void mesh_mq_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int i)
{
	kfree(hctx->driver_data);
}

const struct blk_mq_ops mesh_mq_ops = {
	.queue_rq = mesh_mq_queue_rq,
	.queue_rqs = mesh_mq_queue_rqs,
	.commit_rqs = mesh_mq_commit_rqs,
	.complete = mesh_mq_complete,
	.timeout = mesh_mq_timeout,
	.poll = mesh_mq_poll,
	.map_queues = mesh_mq_map_queues,
	.init_hctx = mesh_mq_init_hctx,
	.exit_hctx = mesh_mq_exit_hctx,
};
