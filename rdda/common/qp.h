/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue pair of a connection, its message buffers and its send queue: one implementation for
 * client and target.
 *
 *   rdda_bufs --- rdda_buf_post() ------------------------> receives --.
 *       '-------- rdda_sq_send() --.                                   rdda_qp
 *   rdda_sq_add() ... rdda_sq_end() -'-- rdda_sq_post() ---> sends ----'
 *
 * A queue pair and its CQs have room for every work request, signalled or not: a queue pair in
 * error flushes all of them.
 *
 * Left to the owner, and why:
 *   moving it       the CM moves the client's; the target moves its own through its states, so
 *                   that there are no remote rights before the key is proved: the CM would
 *                   give them
 *   CQs             the target polls its receives' CQ, to know where a batch ends; the core
 *                   polls the client's, unless its submitters may; a send queue has a separate
 *                   CQ, armed only when something waits for a send completion
 *   what to signal  the client: requests that a command waits for; the target: one in some
 *                   buffers
 */
#ifndef RDDA_COMMON_QP_H
#define RDDA_COMMON_QP_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

struct page;

/**
 * struct rdda_pages - pages that are kept from one session to the next
 * @lock: of @list
 * @list: the pages, linked by page.lru, with old contents: rdda_page_get() zeroes a page
 * @no_wait: do not wait for memory that is short: ending sessions will give their pages back
 */
struct rdda_pages {
	spinlock_t lock;	/* @list */
	struct list_head list;
	bool no_wait;
};

/**
 * struct rdda_qp - a queue pair of a connection, and its CQs
 * @id: its connection
 * @qp: NULL before rdda_qp_create() and after rdda_qp_destroy()
 * @cq: NULL likewise; CQ of both queues, or of the receives only
 * @send_cq: CQ of the send queue in the second case, polled by the owner
 * @own_cq: the owner polls @cq, too
 */
struct rdda_qp {
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct ib_cq *send_cq;
	bool own_cq;
};

/**
 * struct rdda_qp_attr - sizes and handlers of a queue pair
 * @send_wr: work requests of the send queue, drain marker not counted
 * @recv_wr: receives, drain marker not counted
 * @sge: scatter entries of a send work request
 * @cq_event: event of the CQ, polled by its owner; NULL: the core polls it, in softirq
 * @send_event: event of the send queue's separate CQ; NULL: there is no such CQ
 * @by_hand: the owner, not the CM, moves the queue pair through its states
 * @qp_failed: handles errors that the NIC reports, in its interrupt; NULL: logged
 * @cq_failed: the same for a CQ polled by its owner
 */
struct rdda_qp_attr {
	u32 send_wr;
	u32 recv_wr;
	u32 sge;
	ib_comp_handler cq_event;
	ib_comp_handler send_event;
	bool by_hand;
	void (*qp_failed)(struct ib_event *event, void *context);
	void (*cq_failed)(struct ib_event *event, void *context);
};

/**
 * struct rdda_buf - a DMA-mapped message buffer, of either direction
 * @cqe: completion handler; the owner is the CQ's context
 * @node: for the owner, while a received message waits in the buffer
 * @len: likewise: bytes received
 * @data: in no memory region: a private copy of the message
 * @sge: the mapping, as a work request names it
 */
struct rdda_buf {
	struct ib_cqe cqe;
	struct list_head node;
	u32	len;
	void	*data;
	struct ib_sge sge;
};

/**
 * struct rdda_bufs - message buffers, several to a page
 * @buf: the buffers
 * @nr: number of buffers
 * @page: their memory
 * @page_dma: mapping of each page
 * @pages: number of pages
 * @dir: direction of the mapping
 * @dev: device of the mapping
 * @kept: source of the pages, which return there; see rdda_page_get()
 */
struct rdda_bufs {
	struct rdda_buf *buf;
	unsigned int nr;
	struct page **page;
	u64	*page_dma;
	unsigned int pages;
	enum dma_data_direction dir;
	struct ib_device *dev;
	struct rdda_pages *kept;
};

/* Counts that a signalled work request retires when it completes. */
struct rdda_sig {
	u16	wrs;
	u16	held;
};

/**
 * struct rdda_sq - RDDA's count of a send queue, and the chain being built for it
 * @q: its queue pair
 * @size: work requests that may be outstanding
 * @free: work requests that may be posted now
 * @sge_max: scatter entries of a work request
 * @unsig: work requests since the last signalled one ...
 * @unsig_held: ... and the sum of @held of rdda_sq_end(): READs, message buffers
 * @sig_posted: signalled requests posted, counts on
 * @sig_done: signalled requests completed, counts on
 * @sig_mask: index mask of @sig
 * @sig: ring of counts, retired by the completion of each signalled request
 * @mark: handler of requests signalled without another handler
 * @quiet: handler of unsignalled requests, completed only when they fail
 * @nr: work requests of the chain
 * @err: error of the first post that failed, or an owner's send: no post follows
 * @wr: the chain
 * @sge: @sge_max for each of @wr; a SEND uses the entry of its buffer
 * @chain_max: room in @wr
 *
 * A signalled request retires itself and every unsignalled one before: send completions of one
 * queue come in order. The owner's lock guards every field.
 */
struct rdda_sq {
	struct rdda_qp *q;
	u32	size;
	u32	free;
	u32	sge_max;
	u32	unsig;
	u32	unsig_held;
	u32	sig_posted;
	u32	sig_done;
	u32	sig_mask;
	struct rdda_sig *sig;
	struct ib_cqe mark;
	struct ib_cqe quiet;
	u32	nr;
	int	err;
	struct ib_rdma_wr *wr;
	struct ib_sge *sge;
	u32	chain_max;
};

int rdda_qp_create(struct rdda_qp *q, struct rdma_cm_id *id, struct ib_pd *pd,
		   const struct rdda_qp_attr *a, void *context);
void rdda_qp_drain(struct rdda_qp *q);
void rdda_qp_destroy(struct rdda_qp *q);

void rdda_pages_init(struct rdda_pages *kept);
void rdda_pages_free(struct rdda_pages *kept);
struct page *rdda_page_get(struct rdda_pages *kept);
void rdda_page_put(struct rdda_pages *kept, struct page *page);
int rdda_bufs_alloc(struct rdda_bufs *b, struct ib_pd *pd, struct rdda_pages *kept,
		    unsigned int nr, enum dma_data_direction dir,
		    void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void rdda_bufs_free(struct rdda_bufs *b);
size_t rdda_bufs_memory(const struct rdda_bufs *b);
int rdda_buf_post(struct rdda_qp *q, struct rdda_buf *b);

int rdda_sq_init(struct rdda_sq *sq, struct rdda_qp *q, u32 chain_max,
		 void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void rdda_sq_free(struct rdda_sq *sq);
size_t rdda_sq_memory(const struct rdda_sq *sq);
int rdda_sq_post(struct rdda_sq *sq);
u32 rdda_sq_retire(struct rdda_sq *sq);

/* Inline: run for each work request. */

/**
 * rdda_sq_add() - begin a work request at the end of the chain
 * @sq: locked, with room in the queue and in the chain
 * @opcode: of the work request
 *
 * Fields that @opcode does not use keep the values of an earlier request.
 * Return: the request, for rdda_sq_end() once its scatter list and its fields are filled in.
 */
static inline struct ib_rdma_wr *rdda_sq_add(struct rdda_sq *sq, enum ib_wr_opcode opcode)
{
	struct ib_rdma_wr *wr = &sq->wr[sq->nr];

	wr->wr.next = &wr[1].wr;	/* rdda_sq_post() ends the chain */
	wr->wr.opcode = opcode;
	wr->wr.send_flags = 0;
	wr->wr.sg_list = &sq->sge[sq->nr * sq->sge_max];
	return wr;
}

/**
 * rdda_sq_send() - begin the SEND of a message at the end of the chain
 * @sq: as for rdda_sq_add()
 * @b: holds the message; the CPU does not touch it any more
 * @len: bytes of the message
 */
static inline struct ib_rdma_wr *rdda_sq_send(struct rdda_sq *sq, struct rdda_buf *b, u32 len)
{
	struct ib_rdma_wr *wr;

	ib_dma_sync_single_for_device(sq->q->qp->device, b->sge.addr, len, DMA_TO_DEVICE);
	b->sge.length = len;
	wr = rdda_sq_add(sq, IB_WR_SEND);
	wr->wr.sg_list = &b->sge;
	wr->wr.num_sge = 1;
	return wr;
}

/**
 * rdda_sq_end() - account for a work request that is filled in
 * @sq: locked
 * @wr: as rdda_sq_add() gave it
 * @held: units held by the request, counted by the owner
 * @cqe: signalled, with this handler; or NULL: signalled only when a quarter of the
 *	send queue would otherwise be unsignalled
 *
 * A request that fails completes though it was not signalled, so each has a handler.
 */
static inline void rdda_sq_end(struct rdda_sq *sq, struct ib_rdma_wr *wr, u32 held,
			       struct ib_cqe *cqe)
{
	struct rdda_sig *sig;

	sq->nr++;
	sq->free--;
	sq->unsig++;
	sq->unsig_held += held;
	wr->wr.wr_cqe = cqe ?: &sq->quiet;
	if (!cqe && sq->unsig < sq->size / 4)
		return;
	if (!cqe)
		wr->wr.wr_cqe = &sq->mark;
	wr->wr.send_flags |= IB_SEND_SIGNALED;
	sig = &sq->sig[sq->sig_posted++ & sq->sig_mask];
	sig->wrs = sq->unsig;
	sig->held = sq->unsig_held;
	sq->unsig = 0;
	sq->unsig_held = 0;
}

#endif
