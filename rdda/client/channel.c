// SPDX-License-Identifier: GPL-2.0-only
/*
 * A channel's queue pair, its buffers, and chains of work requests.
 *
 *   chain_add() chain_end() chain_add() chain_end() ... chain_post()
 *
 * builds one linked post. A signalled request retires itself and every
 * unsignalled one before it: @sig is a ring of those counts, popped in order,
 * since completions of one send queue come in order.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/bitmap.h>
#include <linux/slab.h>

#include "rdda/client/channel.h"
#include "rdda/client/debug.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

#define BUF_STRIDE	ALIGN(RDDA_MSG_MAX, 64)
#define PAGE_BUFS	(PAGE_SIZE / BUF_STRIDE)

/**
 * chan_bufs_alloc() - message buffers, mapped for the channel's device
 * @ch: channel
 * @b: filled in; chan_bufs_free() also after an error
 * @nr: how many
 * @dir: which way they go
 * @done: their completion handler
 *
 * Sleeps. Return: 0 or -ENOMEM.
 */
static int chan_bufs_alloc(struct rdda_chan *ch, struct rdda_bufs *b, unsigned int nr,
			   enum dma_data_direction dir,
			   void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	unsigned int i, pages = DIV_ROUND_UP(nr, PAGE_BUFS);
	struct ib_device *dev = ch->s->dev;

	b->dir = dir;
	b->buf = kvcalloc(nr, sizeof(*b->buf), GFP_KERNEL);
	b->page = kcalloc(pages, sizeof(*b->page), GFP_KERNEL);
	b->page_dma = kcalloc(pages, sizeof(*b->page_dma), GFP_KERNEL);
	if (!b->buf || !b->page || !b->page_dma)
		return -ENOMEM;
	for (i = 0; i < pages; i++) {
		struct page *page = rdda_page_get(ch->s->t);

		if (!page)
			return -ENOMEM;
		b->page_dma[i] = ib_dma_map_page(dev, page, 0, PAGE_SIZE, dir);
		if (ib_dma_mapping_error(dev, b->page_dma[i])) {
			rdda_page_put(ch->s->t, page);
			return -ENOMEM;
		}
		b->page[i] = page;
		b->pages++;
	}
	for (i = 0; i < nr; i++) {
		b->buf[i].ch = ch;
		b->buf[i].cqe.done = done;
		b->buf[i].data = page_address(b->page[i / PAGE_BUFS]) + i % PAGE_BUFS * BUF_STRIDE;
		b->buf[i].dma = b->page_dma[i / PAGE_BUFS] + i % PAGE_BUFS * BUF_STRIDE;
	}
	b->nr = nr;
	return 0;
}

/**
 * chan_bufs_free() - give message buffers back; the queue pair is gone
 * @ch: channel
 * @b: any, also one never filled in
 */
static void chan_bufs_free(struct rdda_chan *ch, struct rdda_bufs *b)
{
	unsigned int i;

	for (i = 0; i < b->pages; i++) {
		ib_dma_unmap_page(ch->s->dev, b->page_dma[i], PAGE_SIZE, b->dir);
		rdda_page_put(ch->s->t, b->page[i]);
	}
	kfree(b->page_dma);
	kfree(b->page);
	kvfree(b->buf);
	memset(b, 0, sizeof(*b));
}

/**
 * rdda_rx_post() - hand a receive buffer to the queue pair
 * @ch: channel
 * @b: buffer of @ch->rx
 *
 * Any context. Return: 0 or a negative errno.
 */
int rdda_rx_post(struct rdda_chan *ch, struct rdda_buf *b)
{
	struct ib_sge sge = {
		.addr = b->dma,
		.length = RDDA_MSG_MAX,
		.lkey = ch->s->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &b->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(ch->s->dev, b->dma, RDDA_MSG_MAX, DMA_FROM_DEVICE);
	return ib_post_recv(ch->q.qp, &wr, NULL);
}

/**
 * rdda_chan_qp() - the queue pair, before what the target grants is known
 * @ch: with a resolved route
 *
 * Return: 0 or a negative errno.
 */
int rdda_chan_qp(struct rdda_chan *ch)
{
	struct rdda_session *s = ch->s;
	struct rdda_qp_size size;
	int ret;

	ch->sge_max = min_t(u32, s->lim.send_sge, RDDA_SGE_MAX);
	ch->read_sge = min_t(u32, s->lim.read_sge, RDDA_SGE_MAX);
	ch->sq_size = RDDA_SQ_MIN + RDDA_CLIENT_CMDS;
	if (s->lim.max_wr < ch->sq_size)
		return -EOPNOTSUPP;
	size = (struct rdda_qp_size) {
		.send_wr = ch->sq_size,
		.recv_wr = RDDA_CLIENT_CMDS + RDDA_CONTROLS_MAX + 2,
		.sge = ch->sge_max,
		.poll = IB_POLL_SOFTIRQ,
		.send_event = rdda_sq_event,
	};
	irq_poll_init(&ch->poll.irq, RDDA_LOCAL_BUDGET, rdda_sq_softirq);
	ret = rdda_qp_create(&ch->q, ch->login.id, s->pd, &size, ch);
	if (ret)
		return ret;
	spin_lock_irq(&ch->lock);
	rdda_sq_arm(ch);
	spin_unlock_irq(&ch->lock);
	return 0;
}

static int chan_arrays(struct rdda_chan *ch)
{
	unsigned int i;

	ch->cmd_slots = kvcalloc(ch->cmds, sizeof(*ch->cmd_slots), GFP_KERNEL);
	ch->drive_queues = kvcalloc(RDDA_DRIVE_QUEUES, sizeof(*ch->drive_queues), GFP_KERNEL);
	ch->slot_free = kvcalloc(ch->cmds, sizeof(*ch->slot_free), GFP_KERNEL);
	ch->batch.all = kcalloc(ch->nr_batches, sizeof(*ch->batch.all), GFP_KERNEL);
	ch->batch.free = kcalloc(ch->nr_batches, sizeof(*ch->batch.free), GFP_KERNEL);
	ch->ctl_free = kcalloc(ch->nr_ctl, sizeof(*ch->ctl_free), GFP_KERNEL);
	ch->sq.sig_mask = roundup_pow_of_two(ch->sq_size) - 1;
	ch->sq.sig = kvcalloc(ch->sq.sig_mask + 1, sizeof(*ch->sq.sig), GFP_KERNEL);
	ch->chain.wr = kvcalloc(RDDA_CHAIN, sizeof(*ch->chain.wr), GFP_KERNEL);
	ch->chain.sge = kvcalloc(RDDA_CHAIN, ch->sge_max * sizeof(*ch->chain.sge), GFP_KERNEL);
	if (!ch->cmd_slots || !ch->drive_queues || !ch->slot_free || !ch->batch.all ||
	    !ch->batch.free || !ch->ctl_free || !ch->sq.sig || !ch->chain.wr ||
	    !ch->chain.sge)
		return -ENOMEM;
	for (i = 0; i < RDDA_DRIVE_QUEUES; i++) {
		INIT_LIST_HEAD(&ch->drive_queues[i].waiting);
		INIT_LIST_HEAD(&ch->drive_queues[i].turn);
	}
	/* Stacks; the lowest number is on top. */
	for (i = 0; i < ch->cmds; i++) {
		ch->cmd_slots[i].ch = ch;
		ch->cmd_slots[i].idx = i;
		ch->cmd_slots[i].read_cqe.done = rdda_read_done;
		ch->slot_free[ch->nslot_free++] = ch->cmds - 1 - i;
	}
	for (i = 0; i < ch->nr_batches; i++)
		ch->batch.free[ch->batch.nfree++] = ch->nr_batches - 1 - i;
	for (i = 0; i < ch->nr_ctl; i++)
		ch->ctl_free[ch->nctl_free++] = ch->nr_ctl - 1 - i;
	ch->sq.mark_cqe.done = rdda_mark_sent;
	ch->sq.free = ch->sq_size;
	return 0;
}

/**
 * rdda_chan_setup() - what an established channel needs, by what it was granted
 * @ch: with a queue pair and an accept that was checked
 *
 * Posts every receive, before the target is sent anything that it could answer.
 * Return: 0 or a negative errno.
 */
int rdda_chan_setup(struct rdda_chan *ch)
{
	unsigned int i, controls = le16_to_cpu(ch->login.accept.controls);
	int ret;

	ch->cmds = min_t(u32, le16_to_cpu(ch->login.accept.cmds), RDDA_CLIENT_CMDS);
	ch->nr_batches = min_t(u32, le16_to_cpu(ch->login.accept.credits), ch->cmds);
	ch->nr_ctl = RDDA_CLIENT_CONTROLS;
	ret = chan_arrays(ch);
	if (!ret)
		ret = chan_bufs_alloc(ch, &ch->rx, ch->cmds + controls + 2, DMA_FROM_DEVICE,
				      rdda_recv_done);
	if (!ret)
		ret = chan_bufs_alloc(ch, &ch->tx, ch->nr_batches, DMA_TO_DEVICE, rdda_batch_sent);
	if (!ret)
		ret = chan_bufs_alloc(ch, &ch->ctl, ch->nr_ctl, DMA_TO_DEVICE, rdda_control_sent);
	if (!ret)
		ret = rdda_dbg_setup(ch);
	for (i = 0; !ret && i < ch->rx.nr; i++)
		ret = rdda_rx_post(ch, &ch->rx.buf[i]);
	return ret;
}

/**
 * rdda_chan_release() - give back what belongs to the device
 * @ch: its queue pair is destroyed
 */
void rdda_chan_release(struct rdda_chan *ch)
{
	chan_bufs_free(ch, &ch->rx);
	chan_bufs_free(ch, &ch->tx);
	chan_bufs_free(ch, &ch->ctl);
	rdda_dbg_free(ch);
}

/* The last of it; staged payloads may have kept it. */
void rdda_chan_free(struct rdda_chan *ch)
{
	kvfree(ch->cmd_slots);
	kvfree(ch->drive_queues);
	kvfree(ch->slot_free);
	bitmap_free(ch->bounce.map);
	kvfree(ch->bounce.cmd);
	kfree(ch->batch.all);
	kfree(ch->batch.free);
	kfree(ch->ctl_free);
	kvfree(ch->sq.sig);
	kvfree(ch->chain.wr);
	kvfree(ch->chain.sge);
	kvfree(ch->buddy_mem);
	kvfree(ch->stage.all);
	kfree(ch);
}

/* The scatter list that belongs to a work request of the chain. */
static struct ib_sge *chain_sge(struct rdda_chan *ch, struct ib_rdma_wr *wr)
{
	return &ch->chain.sge[(wr - ch->chain.wr) * ch->sge_max];
}

/**
 * rdda_chain_post() - post what was built
 * @ch: channel, locked
 *
 * An error ends the session; whatever was in the chain ends with it.
 */
void rdda_chain_post(struct rdda_chan *ch)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&ch->lock);
	if (!ch->chain.nr)
		return;
	for (i = 1; i < ch->chain.nr; i++)
		ch->chain.wr[i - 1].wr.next = &ch->chain.wr[i].wr;
	ch->chain.wr[ch->chain.nr - 1].wr.next = NULL;
	ch->chain.nr = 0;
	/* Once one post has failed, a later one would run without what it needs. */
	if (ch->chain.err || rdda_session_dead(ch->s))
		return;
	ret = ib_post_send(ch->q.qp, &ch->chain.wr[0].wr, NULL);
	if (ret) {
		ch->chain.err = ret;
		rdda_session_fail(ch->s, -ENOLINK, "posting failed: %d", ret);
	}
}

/**
 * rdda_chain_add() - begin a work request at the end of the chain
 * @ch: channel, locked, with room in its send queue
 * @opcode: of it
 *
 * Return: zeroed but for @opcode and its scatter list (chain_sge()).
 */
struct ib_rdma_wr *rdda_chain_add(struct rdda_chan *ch, enum ib_wr_opcode opcode)
{
	struct ib_rdma_wr *wr;

	lockdep_assert_held(&ch->lock);
	if (ch->chain.nr == RDDA_CHAIN)
		rdda_chain_post(ch);
	wr = &ch->chain.wr[ch->chain.nr];
	memset(wr, 0, sizeof(*wr));
	wr->wr.opcode = opcode;
	wr->wr.sg_list = chain_sge(ch, wr);
	return wr;
}

/**
 * rdda_chain_end() - account for a work request that is complete
 * @ch: channel, locked
 * @wr: as rdda_chain_add() gave it, now filled in
 * @cqe: signalled, with this handler; or NULL: signalled only when a quarter
 *	of the send queue would otherwise be unsignalled
 */
void rdda_chain_end(struct rdda_chan *ch, struct ib_rdma_wr *wr, struct ib_cqe *cqe)
{
	struct rdda_sig *sig;

	lockdep_assert_held(&ch->lock);
	ch->chain.nr++;
	ch->sq.free--;
	ch->sq.unsig++;
	if (wr->wr.opcode == IB_WR_RDMA_READ) {
		ch->sq.reads_free--;
		ch->sq.unsig_reads++;
		ch->counts.reads++;
	} else if (wr->wr.opcode == IB_WR_RDMA_WRITE) {
		ch->counts.writes++;
	} else {
		ch->counts.sends++;
	}
	rdda_dbg_posted(ch, wr->wr.sg_list, wr->wr.num_sge, ch->sq.sig_posted + 1);
	if (!cqe && ch->sq.unsig < ch->sq_size / 4)
		return;
	wr->wr.send_flags |= IB_SEND_SIGNALED;
	wr->wr.wr_cqe = cqe ?: &ch->sq.mark_cqe;
	sig = &ch->sq.sig[ch->sq.sig_posted++ & ch->sq.sig_mask];
	sig->wrs = ch->sq.unsig;
	sig->reads = ch->sq.unsig_reads;
	ch->sq.unsig = 0;
	ch->sq.unsig_reads = 0;
}

/**
 * rdda_chan_sent() - account for the send completion of a signalled request
 * @ch: channel, locked
 * @wc: its completion
 *
 * Return: false when the channel is broken; nothing is released then.
 */
bool rdda_chan_sent(struct rdda_chan *ch, struct ib_wc *wc)
{
	struct rdda_sig *sig;

	lockdep_assert_held(&ch->lock);
	if (wc->status != IB_WC_SUCCESS) {
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			rdda_session_fail(ch->s, -ENOLINK, "channel %u: %s", ch->index,
					  ib_wc_status_msg(wc->status));
		else
			rdda_session_fail(ch->s, -ENOLINK, "channel %u was closed", ch->index);
		return false;
	}
	sig = &ch->sq.sig[ch->sq.sig_done++ & ch->sq.sig_mask];
	ch->sq.free += sig->wrs;
	ch->sq.reads_free += sig->reads;
	rdda_dbg_done(ch);
	return true;
}
