// SPDX-License-Identifier: GPL-2.0-only
/* A channel's queue pair and its buffers. */
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
 * Scatter entries of a work request. A READ is one of the few that a connection may have in flight,
 * so a payload in single pages takes as few requests as the device allows. Each request has no more
 * entries than that needs: the NIC keeps memory for every entry, used or not. @most: the device's
 * limit.
 */
static u32 chan_entries(u32 most)
{
	u32 requests = DIV_ROUND_UP(CHAN_PAGES, most);

	/* with several requests: one more entry, for a payload that begins within a page */
	return min(most, DIV_ROUND_UP(CHAN_PAGES, requests) + (requests > 1));
}

/*
 * Work requests for all commands with payloads in single pages, for their messages, and some room.
 */
static u32 chan_sends(u32 sge)
{
	u32 each = DIV_ROUND_UP(CHAN_PAGES, sge) + 1;

	return min(RDDA_CLIENT_CMDS * each + RDDA_CLIENT_CMDS / 2, RDDA_SQ_MAX + 0U);
}

/* Make the queue pair, before the target's grants are known. @ch: with a resolved route. */
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
	/* Free stacks; the lowest number is on top. */
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
 * Allocate the slots and buffers of an established channel, in the numbers granted. @ch: has a
 * queue pair and a checked accept. Posts every receive before the client sends anything for the
 * target to answer.
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

/* Free the buffers mapped for the device. @ch: its queue pair is destroyed. */
void rdda_chan_release(struct rdda_chan *ch)
{
	rdda_bufs_free(&ch->rx.msg);
	rdda_bufs_free(&ch->batch.msg);
	rdda_bufs_free(&ch->ctl.msg);
	rdda_dbg_free(ch);
}

/* Free the channel's memory: the last step. Staged payloads may have delayed it. */
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

