// SPDX-License-Identifier: GPL-2.0-only
/*
 * A channel's queue pair, its buffers, and chains of work requests.
 *
 *   rdda_chain_add() rdda_chain_end() rdda_chain_add() ... rdda_chain_post()
 *
 * builds one linked post.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/bitmap.h>
#include <linux/slab.h>

#include "rdda/client/channel.h"
#include "rdda/client/debug.h"
#include "rdda/client/io.h"
#include "rdda/client/recv.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

#define CHAN_PAGES	(RDDA_CMD_BYTES / RDDA_PAGE)

/*
 * Scatter entries of a work request. A payload in single pages takes as few requests as the device
 * allows, since a READ is one of the few that a connection may have in flight, and these no more
 * entries than that takes: the NIC keeps memory for all, used or not. @most: the device's.
 */
static u32 chan_entries(u32 most)
{
	u32 requests = DIV_ROUND_UP(CHAN_PAGES, most);

	/* of several, one more for a payload that begins within a page */
	return min(most, DIV_ROUND_UP(CHAN_PAGES, requests) + (requests > 1));
}

/* Work requests that all commands take with payloads in single pages, their messages, and room. */
static u32 chan_sends(u32 sge)
{
	u32 each = DIV_ROUND_UP(CHAN_PAGES, sge) + 1;

	return min(RDDA_CLIENT_CMDS * each + RDDA_CLIENT_CMDS / 2, RDDA_SQ_MAX + 0U);
}

/* Make the queue pair, before what the target grants is known. @ch: with a resolved route. */
int rdda_chan_qp(struct rdda_chan *ch)
{
	struct rdda_session *s = ch->s;
	struct rdda_qp_attr attr = {
		.recv_wr = RDDA_CLIENT_CMDS + RDDA_CONTROLS_MAX + 2,
		.sge = chan_entries(s->lim.send_sge),
		.cq_event = rdda_recv_handler(ch),
		.send_event = rdda_sq_event,
	};
	int ret;

	attr.send_wr = chan_sends(attr.sge);
	ch->sq.size = attr.send_wr;
	ch->sq.sge_max = attr.sge;
	ch->reads.sge = min(s->lim.read_sge, attr.sge);
	irq_poll_init(&ch->poll.irq, RDDA_LOCAL_BUDGET, rdda_sq_softirq);
	ret = rdda_qp_create(&ch->q, ch->login.id, s->pd, &attr, ch);
	if (ret)
		return ret;
	rdda_recv_start(ch);
	spin_lock_irq(&ch->lock);
	rdda_sq_arm(ch);
	spin_unlock_irq(&ch->lock);
	return 0;
}

static int chan_arrays(struct rdda_chan *ch)
{
	unsigned int i;

	ch->slot.all = kvcalloc(ch->slot.nr, sizeof(*ch->slot.all), GFP_KERNEL);
	ch->queues.all = kvcalloc(RDDA_DRIVE_QUEUES, sizeof(*ch->queues.all), GFP_KERNEL);
	ch->slot.free = kvcalloc(ch->slot.nr, sizeof(*ch->slot.free), GFP_KERNEL);
	ch->batch.all = kcalloc(ch->batch.nr, sizeof(*ch->batch.all), GFP_KERNEL);
	ch->batch.free = kcalloc(ch->batch.nr, sizeof(*ch->batch.free), GFP_KERNEL);
	ch->ctl.free = kcalloc(ch->ctl.nr, sizeof(*ch->ctl.free), GFP_KERNEL);
	if (!ch->slot.all || !ch->queues.all || !ch->slot.free || !ch->batch.all ||
	    !ch->batch.free || !ch->ctl.free)
		return -ENOMEM;
	for (i = 0; i < RDDA_DRIVE_QUEUES; i++) {
		INIT_LIST_HEAD(&ch->queues.all[i].waiting);
		INIT_LIST_HEAD(&ch->queues.all[i].turn);
	}
	/* Stacks; the lowest number is on top. */
	for (i = 0; i < ch->slot.nr; i++) {
		ch->slot.all[i].ch = ch;
		ch->slot.all[i].idx = i;
		ch->slot.all[i].read_cqe.done = rdda_read_done;
		ch->slot.free[ch->slot.nfree++] = ch->slot.nr - 1 - i;
	}
	for (i = 0; i < ch->batch.nr; i++)
		ch->batch.free[ch->batch.nfree++] = ch->batch.nr - 1 - i;
	for (i = 0; i < ch->ctl.nr; i++)
		ch->ctl.free[ch->ctl.nfree++] = ch->ctl.nr - 1 - i;
	return rdda_sq_init(&ch->sq, &ch->q, RDDA_CHAIN, rdda_mark_sent);
}

/*
 * What an established channel needs, by what it was granted. @ch: with a queue pair and an accept
 * that was checked. Posts every receive, before the target is sent anything that it could answer.
 */
int rdda_chan_setup(struct rdda_chan *ch)
{
	unsigned int i, controls = le16_to_cpu(ch->login.accept.controls);
	struct rdda_pages *kept = &ch->s->t->pages;
	int ret;

	ch->slot.nr = min_t(u32, le16_to_cpu(ch->login.accept.cmds), RDDA_CLIENT_CMDS);
	ch->batch.nr = min_t(u32, le16_to_cpu(ch->login.accept.credits), ch->slot.nr);
	ch->batch.features = le32_to_cpu(ch->login.accept.features);
	ch->ctl.nr = RDDA_CLIENT_CONTROLS;
	ret = chan_arrays(ch);
	if (!ret)
		ret = rdda_bufs_alloc(&ch->rx.msg, ch->s->pd, kept, ch->slot.nr + controls + 2,
				      DMA_FROM_DEVICE, rdda_recv_done);
	if (!ret)
		ret = rdda_bufs_alloc(&ch->batch.msg, ch->s->pd, kept, ch->batch.nr, DMA_TO_DEVICE,
				      rdda_batch_sent);
	if (!ret)
		ret = rdda_bufs_alloc(&ch->ctl.msg, ch->s->pd, kept, ch->ctl.nr, DMA_TO_DEVICE,
				      rdda_control_sent);
	if (!ret)
		ret = rdda_dbg_setup(ch);
	for (i = 0; !ret && i < ch->rx.msg.nr; i++)
		ret = rdda_buf_post(&ch->q, &ch->rx.msg.buf[i]);
	return ret;
}

/* Give back what belongs to the device. @ch: its queue pair is destroyed. */
void rdda_chan_release(struct rdda_chan *ch)
{
	rdda_bufs_free(&ch->rx.msg);
	rdda_bufs_free(&ch->batch.msg);
	rdda_bufs_free(&ch->ctl.msg);
	rdda_dbg_free(ch);
}

/* The last of it; staged payloads may have kept it. */
void rdda_chan_free(struct rdda_chan *ch)
{
	kvfree(ch->slot.all);
	kvfree(ch->queues.all);
	kvfree(ch->slot.free);
	bitmap_free(ch->bounce.map);
	kvfree(ch->bounce.cmd);
	kfree(ch->batch.all);
	kfree(ch->batch.free);
	kfree(ch->ctl.free);
	rdda_sq_free(&ch->sq);
	kvfree(ch->arena.mem);
	kvfree(ch->stage.all);
	kfree(ch);
}

/*
 * Post what was built. @ch: locked. An error ends the session; whatever was in the chain ends with
 * it.
 */
void rdda_chain_post(struct rdda_chan *ch)
{
	int ret;

	lockdep_assert_held(&ch->lock);
	if (rdda_session_dead(ch->s)) {
		ch->sq.nr = 0;
		return;
	}
	ret = rdda_sq_post(&ch->sq);
	if (ret)
		rdda_session_fail(ch->s, -ENOLINK, "posting failed: %d", ret);
}

static void chan_room(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	if (ch->sq.nr == RDDA_CHAIN)
		rdda_chain_post(ch);
}

/*
 * Begin a work request at the end of the chain. @ch: locked, with room in its send queue. Return:
 * as of rdda_sq_add().
 */
struct ib_rdma_wr *rdda_chain_add(struct rdda_chan *ch, enum ib_wr_opcode opcode)
{
	chan_room(ch);
	return rdda_sq_add(&ch->sq, opcode);
}

/*
 * End the chain with the SEND of a message, and post it. @ch: as for rdda_chain_add(). @b: holds
 * the message, and has its handler.
 */
void rdda_chain_send(struct rdda_chan *ch, struct rdda_buf *b, u32 len)
{
	chan_room(ch);
	rdda_chain_end(ch, rdda_sq_send(&ch->sq, b, len), NULL, &b->cqe);
	rdda_chain_post(ch);
}

/*
 * Account for a work request that is complete. @ch: locked. @wr: as rdda_chain_add() gave it, now
 * filled in. @io: whose pages it names, or NULL. @cqe: as for rdda_sq_end().
 */
void rdda_chain_end(struct rdda_chan *ch, struct ib_rdma_wr *wr, const struct rdda_io *io,
		    struct ib_cqe *cqe)
{
	bool read = wr->wr.opcode == IB_WR_RDMA_READ;

	lockdep_assert_held(&ch->lock);
	if (read) {
		ch->reads.free--;
		ch->counts.reads++;
	} else if (wr->wr.opcode == IB_WR_RDMA_WRITE) {
		ch->counts.writes++;
	} else {
		ch->counts.sends++;
	}
	if (io)
		rdda_dbg_posted(ch, io, ch->sq.sig_posted + 1);
	rdda_sq_end(&ch->sq, wr, read, cqe);
}

/*
 * Account for the send completion of a signalled request. @ch: locked. Return: false when the
 * channel is broken; nothing is released then.
 */
bool rdda_chan_sent(struct rdda_chan *ch, struct ib_wc *wc)
{
	lockdep_assert_held(&ch->lock);
	if (wc->status != IB_WC_SUCCESS) {
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			rdda_session_fail(ch->s, -ENOLINK, "channel %u: %s", ch->index,
					  ib_wc_status_msg(wc->status));
		else
			rdda_session_fail(ch->s, -ENOLINK, "channel %u was closed", ch->index);
		return false;
	}
	ch->reads.free += rdda_sq_retire(&ch->sq);
	rdda_dbg_done(ch);
	return true;
}
