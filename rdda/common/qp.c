// SPDX-License-Identifier: GPL-2.0-only
/* A connection's queue pair, message buffers and send queue; see qp.h. */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/mm.h>
#include <linux/slab.h>

#include "rdda/common/qp.h"
#include "rdda/common/verbs.h"
#include "rdda/wire.h"

/* Each buffer on separate cache lines, also where DMA is not coherent. */
#define BUF_STRIDE	ALIGN(RDDA_MSG_MAX, 128)
#define PAGE_BUFS	(PAGE_SIZE / BUF_STRIDE)

static void qp_event(struct ib_event *event, void *context)
{
	/* Completions and the connection manager report the important events. */
	pr_debug("QP event %s\n", ib_event_msg(event->event));
}

static void cq_event(struct ib_event *event, void *context)
{
	/* An overrun; it puts the queue pair in error, as its receives report. */
	pr_err_ratelimited("CQ event %s\n", ib_event_msg(event->event));
}

/* Destroy the receives' CQ first: its handler may still run, and polls the other CQ. */
static void cqs_destroy(struct rdda_qp *q)
{
	if (q->own_cq)
		ib_destroy_cq(q->cq);
	else
		ib_free_cq(q->cq);
	if (q->send_cq)
		ib_destroy_cq(q->send_cq);
	q->send_cq = NULL;
	q->cq = NULL;
}

static int cqs_create(struct rdda_qp *q, struct ib_device *dev, const struct rdda_qp_attr *a,
		      void *context)
{
	u32 sends = a->send_wr + RDDA_DRAIN_WR, recvs = a->recv_wr + RDDA_DRAIN_WR;
	void (*failed)(struct ib_event *event, void *context) = a->cq_failed ?: cq_event;
	struct ib_cq_init_attr attr = {
		.cqe = a->send_event ? recvs : sends + recvs,
		.comp_vector = rdda_vector(dev),
	};
	struct ib_cq *cq;

	if (max(attr.cqe, sends) > dev->attrs.max_cqe)
		return -EOPNOTSUPP;
	q->own_cq = a->cq_event;
	if (q->own_cq)
		cq = ib_create_cq(dev, a->cq_event, failed, context, &attr);
	else
		cq = ib_alloc_cq(dev, context, attr.cqe, attr.comp_vector, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	q->cq = cq;
	if (!a->send_event)
		return 0;
	attr.cqe = sends;
	cq = ib_create_cq(dev, a->send_event, failed, context, &attr);
	if (!IS_ERR(cq)) {
		q->send_cq = cq;
		return 0;
	}
	cqs_destroy(q);
	return PTR_ERR(cq);
}

/*
 * Make a queue pair and its CQs for a connection. @id: connection with a device. @context: of the
 * CQs, for completion handlers. Sleeps. Return: 0 or a negative errno, with nothing left behind;
 * -EOPNOTSUPP when @a exceeds the device's limits.
 */
int rdda_qp_create(struct rdda_qp *q, struct rdma_cm_id *id, struct ib_pd *pd,
		   const struct rdda_qp_attr *a, void *context)
{
	struct ib_qp_init_attr attr = {
		.event_handler = a->qp_failed ?: qp_event,
		.qp_context = context,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.port_num = id->port_num,
		.cap = {
			.max_send_wr = a->send_wr + RDDA_DRAIN_WR,
			.max_recv_wr = a->recv_wr + RDDA_DRAIN_WR,
			.max_send_sge = a->sge,
			.max_recv_sge = 1,
		},
	};
	struct ib_qp *qp;
	int ret;

	if (max(attr.cap.max_send_wr, attr.cap.max_recv_wr) > id->device->attrs.max_qp_wr)
		return -EOPNOTSUPP;
	ret = cqs_create(q, id->device, a, context);
	if (ret)
		return ret;
	attr.send_cq = q->send_cq ?: q->cq;
	attr.recv_cq = q->cq;
	if (a->by_hand) {
		qp = ib_create_qp(pd, &attr);
	} else {
		ret = rdma_create_qp(id, pd, &attr);
		qp = ret ? ERR_PTR(ret) : id->qp;
	}
	if (IS_ERR(qp)) {
		cqs_destroy(q);
		return PTR_ERR(qp);
	}
	q->id = id;
	q->qp = qp;
	return 0;
}

/*
 * Put the queue pair in error and wait for every completion. @q: any, also one without a queue
 * pair. No other code may post any more. The handler of each work request has run before the
 * return. Sleeps.
 */
void rdda_qp_drain(struct rdda_qp *q)
{
	if (q->qp)
		ib_drain_qp(q->qp);
}

/*
 * Destroy a drained queue pair and its CQs. @q: any, also one without a queue pair. Afterwards no
 * work request can touch memory. Sleeps.
 */
void rdda_qp_destroy(struct rdda_qp *q)
{
	if (!q->qp)
		return;
	if (q->id->qp)
		rdma_destroy_qp(q->id);
	else			/* state set with ib_modify_qp(): unknown to the CM */
		ib_destroy_qp(q->qp);
	q->qp = NULL;
	cqs_destroy(q);
}

void rdda_pages_init(struct rdda_pages *kept)
{
	spin_lock_init(&kept->lock);
	INIT_LIST_HEAD(&kept->list);
	kept->no_wait = false;
}

/* Give the kept pages back to the system. */
void rdda_pages_free(struct rdda_pages *kept)
{
	struct page *page, *next;
	LIST_HEAD(pages);

	spin_lock(&kept->lock);
	list_splice_init(&kept->list, &pages);
	spin_unlock(&kept->lock);
	list_for_each_entry_safe(page, next, &pages, lru)
		__free_page(page);
}

static struct page *qp_page_take(struct rdda_pages *kept)
{
	struct page *page;

	spin_lock(&kept->lock);
	page = list_first_entry_or_null(&kept->list, struct page, lru);
	if (page)
		list_del(&page->lru);
	spin_unlock(&kept->lock);
	return page;
}

/*
 * Get a zeroed page for messages and bounce blocks. @kept: pages kept from an earlier session,
 * taken first; NULL: there are none. Sleeps, without I/O; with @kept->no_wait does not retry when
 * memory is short. Return: the page, or NULL.
 */
struct page *rdda_page_get(struct rdda_pages *kept)
{
	struct page *page = kept ? qp_page_take(kept) : NULL;
	gfp_t gfp = GFP_NOIO | __GFP_ZERO;

	if (kept && kept->no_wait)
		gfp |= __GFP_NORETRY | __GFP_NOWARN;
	if (!page)
		return alloc_page(gfp);
	clear_page(page_address(page));
	return page;
}

/* Put a page of rdda_page_get(). @kept: the same as there. @page: unmapped. */
void rdda_page_put(struct rdda_pages *kept, struct page *page)
{
	if (!kept) {
		__free_page(page);
		return;
	}
	spin_lock(&kept->lock);
	list_add(&page->lru, &kept->list);
	spin_unlock(&kept->lock);
}

/*
 * Make message buffers, mapped for a device. @b: zeroed; call rdda_bufs_free() also after an error.
 * @kept: as for rdda_page_get(). @done: completion handler of the buffers. Sleeps, without I/O.
 * Return: 0 or -ENOMEM.
 */
int rdda_bufs_alloc(struct rdda_bufs *b, struct ib_pd *pd, struct rdda_pages *kept,
		    unsigned int nr, enum dma_data_direction dir,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	unsigned int i, pages = DIV_ROUND_UP(nr, PAGE_BUFS);
	struct ib_device *dev = pd->device;

	b->dir = dir;
	b->dev = dev;
	b->kept = kept;
	b->buf = kvcalloc(nr, sizeof(*b->buf), GFP_NOIO);
	b->page = kcalloc(pages, sizeof(*b->page), GFP_NOIO);
	b->page_dma = kcalloc(pages, sizeof(*b->page_dma), GFP_NOIO);
	if (!b->buf || !b->page || !b->page_dma)
		return -ENOMEM;
	for (i = 0; i < pages; i++) {
		struct page *page = rdda_page_get(kept);

		if (!page)
			return -ENOMEM;
		b->page_dma[i] = ib_dma_map_page(dev, page, 0, PAGE_SIZE, dir);
		if (ib_dma_mapping_error(dev, b->page_dma[i])) {
			rdda_page_put(kept, page);
			return -ENOMEM;
		}
		b->page[i] = page;
		b->pages++;
	}
	for (i = 0; i < nr; i++) {
		b->buf[i].cqe.done = done;
		b->buf[i].data = page_address(b->page[i / PAGE_BUFS]) + i % PAGE_BUFS * BUF_STRIDE;
		b->buf[i].sge.addr = b->page_dma[i / PAGE_BUFS] + i % PAGE_BUFS * BUF_STRIDE;
		b->buf[i].sge.length = RDDA_MSG_MAX;
		b->buf[i].sge.lkey = pd->local_dma_lkey;
	}
	b->nr = nr;
	return 0;
}

/* Free message buffers after the queue pair was destroyed. @b: any, also one never filled in. */
void rdda_bufs_free(struct rdda_bufs *b)
{
	unsigned int i;

	for (i = 0; i < b->pages; i++) {
		ib_dma_unmap_page(b->dev, b->page_dma[i], PAGE_SIZE, b->dir);
		rdda_page_put(b->kept, b->page[i]);
	}
	kfree(b->page_dma);
	kfree(b->page);
	kvfree(b->buf);
	memset(b, 0, sizeof(*b));
}

/* Memory of message buffers, in bytes. */
size_t rdda_bufs_memory(const struct rdda_bufs *b)
{
	return b->pages * PAGE_SIZE + b->nr * sizeof(*b->buf);
}

/* Post a receive buffer. @b: its message was handled. Any context. */
int rdda_buf_post(struct rdda_qp *q, struct rdda_buf *b)
{
	struct ib_recv_wr wr = {
		.wr_cqe = &b->cqe,
		.sg_list = &b->sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(q->qp->device, b->sge.addr, RDDA_MSG_MAX, DMA_FROM_DEVICE);
	return ib_post_recv(q->qp, &wr, NULL);
}

/*
 * Completion of an unsignalled request: it must be a failure. A success would be counted for the
 * next signalled request, and pages would be released early.
 */
static void sq_quiet_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdda_sq *sq = container_of(wc->wr_cqe, struct rdda_sq, quiet);

	if (!WARN_ON_ONCE(wc->status == IB_WC_SUCCESS))
		sq->mark.done(cq, wc);
}

/*
 * Set up an unused send queue. @sq: zeroed, except @size and @sge_max; call rdda_sq_free() also
 * after an error. @chain_max: work requests of one post. @done: handler of requests signalled
 * without another handler. Sleeps, without I/O. Return: 0 or -ENOMEM.
 */
int rdda_sq_init(struct rdda_sq *sq, struct rdda_qp *q, u32 chain_max,
		 void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	sq->q = q;
	sq->free = sq->size;
	sq->mark.done = done;
	sq->quiet.done = sq_quiet_done;
	sq->chain_max = chain_max;
	sq->sig_mask = roundup_pow_of_two(sq->size) - 1;
	sq->sig = kvcalloc(sq->sig_mask + 1, sizeof(*sq->sig), GFP_NOIO);
	sq->wr = kvcalloc(chain_max, sizeof(*sq->wr), GFP_NOIO);
	sq->sge = kvcalloc(chain_max, sq->sge_max * sizeof(*sq->sge), GFP_NOIO);
	return sq->sig && sq->wr && sq->sge ? 0 : -ENOMEM;
}

/* Release the memory of rdda_sq_init(). @sq: any, also one never set up. */
void rdda_sq_free(struct rdda_sq *sq)
{
	kvfree(sq->sig);
	kvfree(sq->wr);
	kvfree(sq->sge);
}

/* Memory of a send queue, in bytes. */
size_t rdda_sq_memory(const struct rdda_sq *sq)
{
	return (sq->sig_mask + 1) * sizeof(*sq->sig) +
	       sq->chain_max * (sizeof(*sq->wr) + sq->sge_max * sizeof(*sq->sge));
}

/*
 * Post the chain. @sq: locked. After a post has failed there is no other: a later post could depend
 * on the failed one. Return: 0, or the negative errno of the first failure.
 */
int rdda_sq_post(struct rdda_sq *sq)
{
	if (!sq->nr)
		return 0;
	sq->wr[sq->nr - 1].wr.next = NULL;
	sq->nr = 0;
	if (!sq->err)
		sq->err = ib_post_send(sq->q->qp, &sq->wr[0].wr, NULL);
	return sq->err;
}

/*
 * Account for the send completion of a signalled request. @sq: locked; the request succeeded.
 * Return: sum of @held that the owner gave for this request and the unsignalled ones before it.
 */
u32 rdda_sq_retire(struct rdda_sq *sq)
{
	const struct rdda_sig *sig;

	if (WARN_ON_ONCE(sq->sig_done == sq->sig_posted))
		return 0;
	sig = &sq->sig[sq->sig_done++ & sq->sig_mask];
	sq->free += sig->wrs;
	return sig->held;
}
