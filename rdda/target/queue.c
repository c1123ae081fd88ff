// SPDX-License-Identifier: GPL-2.0-only
/*
 * A channel's completion queue, batch by batch.
 *
 * The target polls the queue (poller.c), not the core, to know where a batch ends: bios of a batch
 * leave under one plug, completions that arrive meanwhile leave in one post. Messages that need to
 * sleep go to ctl_work and keep their receive buffer until ctl_work has copied them, which bounds
 * their number.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/sched/stat.h>

#include "rdda/common/fault.h"
#include "rdda/target/channel.h"
#include "rdda/target/cmd.h"
#include "rdda/target/grant.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define POLL_ROUNDS	8	/* then others of this CPU have a turn */

/* Answer an unknown control message, so that newer clients can probe. */
static void rx_unknown(struct tgt_channel *ch, struct rdda_buf *rb)
{
	const struct rdda_hdr *h = rb->data;
	struct rdda_note m = {
		.hdr.type = RDDA_ERROR,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.hdr.tag = h->tag,
		.err = cpu_to_le32(EOPNOTSUPP),
	};

	if (!tgt_rbuf_post(ch, rb))
		tgt_ctl_send(ch, &m, sizeof(m));
}

static void rx_sleeping(struct tgt_channel *ch, struct rdda_buf *rb)
{
	spin_lock(&ch->rx.ctl_lock);
	list_add_tail(&rb->node, &ch->rx.ctl);
	spin_unlock(&ch->rx.ctl_lock);
	queue_work(tgt_wq, &ch->rx.ctl_work);
}

static void rx_control(struct tgt_channel *ch, struct rdda_buf *rb)
{
	const struct rdda_hdr *h = rb->data;
	u64 tag = le64_to_cpu(h->tag);

	switch (h->type) {
	case RDDA_PING:
		if (!tgt_rbuf_post(ch, rb))
			tgt_ctl_pong(ch, tag);
		return;
	case RDDA_BYE:
		WRITE_ONCE(ch->s->client.left, true);
		tgt_channel_kill(ch, 0);
		return;
	case RDDA_PONG:
	case RDDA_ERROR:
		break;
	default:	/* PROVE, BOUNCE, OPEN, CLOSE */
		rx_sleeping(ch, rb);
		return;
	}
	tgt_rbuf_post(ch, rb);
}

/*
 * Note a message that the client's CPU made, not the NIC. CPUs of other channels read the fields
 * beside @heard, so @heard is written only on a change. CPUs of other channels also write @heard,
 * so jiffies is taken no earlier than here, and @heard is not set back.
 */
static void rx_heard(struct tgt_channel *ch)
{
	unsigned long now = jiffies;

	if (READ_ONCE(ch->s->client.heard) != now)
		WRITE_ONCE(ch->s->client.heard, now);
}

/* A WRITE with an immediate came; the receive is empty. */
static void rx_inline(struct tgt_channel *ch, struct rdda_buf *rb, const struct ib_wc *wc)
{
	if (READ_ONCE(ch->dead))
		return;
	if (!READ_ONCE(ch->proven) || !(ch->login.features & RDDA_FEAT_INLINE)) {
		tgt_bad_peer(ch, "a WRITE with an immediate");
		return;
	}
	rx_heard(ch);
	tgt_inline_msg(ch, rb, be32_to_cpu(wc->ex.imm_data), wc->byte_len);
}

/* A message came. */
void tgt_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdda_buf *rb = container_of(wc->wr_cqe, struct rdda_buf, cqe);
	struct tgt_channel *ch = cq->cq_context;
	const struct rdda_hdr *h = rb->data;
	int ret;

	if (wc->status != IB_WC_SUCCESS) {
		tgt_channel_kill(ch, -ECONNRESET);
		return;
	}
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
		rx_inline(ch, rb, wc);
		return;
	}
	ib_dma_sync_single_for_cpu(ch->s->dev, rb->sge.addr, RDDA_MSG_MAX, DMA_FROM_DEVICE);
	/* The end of the connection may overtake the good-bye before it. */
	if (READ_ONCE(ch->dead) && h->type != RDDA_BYE)
		return;
	rb->len = wc->byte_len;
	ret = rdda_msg_check(rb->data, wc->byte_len, true);
	if (ret && ret != -EOPNOTSUPP) {
		tgt_bad_peer(ch, "malformed message");
		return;
	}
	if (!READ_ONCE(ch->proven)) {
		if (ret || h->type != RDDA_PROVE)
			tgt_bad_peer(ch, "message before proof");
		else
			rx_sleeping(ch, rb);
		return;
	}
	rx_heard(ch);
	if (ret)
		rx_unknown(ch, rb);
	else if (h->type == RDDA_CMDS)
		tgt_cmds_msg(ch, rb);
	else
		rx_control(ch, rb);
}

/* The completion queue has something. */
void tgt_queue_event(struct ib_cq *cq, void *ctx)
{
	tgt_poller_kick(ctx);
}

static int queue_poll_batch(struct tgt_channel *ch)
{
	struct ib_wc *wc = ch->wc;
	struct blk_plug plug;
	int i, n = ib_poll_cq(ch->q.cq, ARRAY_SIZE(ch->wc), wc);

	if (n <= 0)
		return n;
	WRITE_ONCE(ch->batcher, current);
	blk_start_plug(&plug);
	for (i = 0; i < n; i++)
		if (wc[i].wr_cqe && wc[i].wr_cqe->done)
			wc[i].wr_cqe->done(ch->q.cq, &wc[i]);
	blk_finish_plug(&plug);
	/* First clear @batcher, then flush: a result that ends meanwhile is not left behind. */
	WRITE_ONCE(ch->batcher, NULL);
	tgt_push_flush(ch);
	return n;
}

/*
 * True if the channel is to go on without an event (tgt_busy_poll_us). Other channels of this CPU
 * have a turn in between, and other tasks come first, as control work is among them. @found:
 * completions of this turn.
 */
static bool queue_busy(struct tgt_channel *ch, unsigned int found)
{
	u64 us = min_t(u64, READ_ONCE(tgt_busy_poll_us), USEC_PER_SEC), now;

	if (!us || READ_ONCE(ch->dead)) {
		ch->poll.until = 0;
		return false;
	}
	now = ktime_get_ns();
	if (found) {
		if (ch->poll.until)
			tgt_count(ch, TGT_POLLED, found);
		ch->poll.until = now + us * NSEC_PER_USEC;
	} else if (now >= ch->poll.until ||
		   !(single_task_running() || rdda_fault(RDDA_FAULT_ALONE))) {
		ch->poll.until = 0;
	}
	return ch->poll.until;
}

/*
 * One turn: handle completions, then request an event. Context: work; does not sleep for a device.
 * Return: true if the channel needs another turn.
 */
bool tgt_queue_poll(struct tgt_channel *ch)
{
	unsigned int rounds = 0, found = 0;
	int n;

	if (READ_ONCE(ch->drained))	/* set in channel_qp_end() */
		return false;
	if ((rdda_fault(RDDA_FAULT_DEAF) || (rdda_fault(RDDA_FAULT_DEAF_1) && ch->index == 1)) &&
	    !READ_ONCE(ch->dead))
		return true;	/* after a while: turns.c */
	tgt_sq_turn(ch);
	do {
		do {
			n = queue_poll_batch(ch);
			found += max(n, 0);
			if (n > 0 && (++rounds == POLL_ROUNDS || rdda_fault(RDDA_FAULT_TURN))) {
				queue_busy(ch, found);
				return true;
			}
			/* fewer than fit into the array: the queue is empty */
		} while (n == ARRAY_SIZE(ch->wc));
		if (queue_busy(ch, found))
			return true;
	} while (ib_req_notify_cq(ch->q.cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0);
	return false;
}

static void ctl_bounce(struct tgt_channel *ch, const struct rdda_bounce *m)
{
	struct tgt_session *s = ch->s;
	u32 len = le32_to_cpu(m->len);

	if (ch->index || s->bounce.len || !len || len % RDDA_PAGE) {
		tgt_bad_peer(ch, "bad bounce arena");
		return;
	}
	s->bounce.rkey = le32_to_cpu(m->rkey);
	/* Pairs with the acquire in cmd_run_batch(): a reader that sees the length sees the key. */
	smp_store_release(&s->bounce.len, len);
}

static void ctl_handle(struct tgt_channel *ch, const struct rdda_hdr *h)
{
	int ret;

	switch (h->type) {
	case RDDA_PROVE:
		ret = tgt_channel_prove(ch, (const void *)h);
		if (!ret)
			break;
		tgt_channel_refuse(ch, ret);
		break;
	case RDDA_BOUNCE:
		ctl_bounce(ch, (const void *)h);
		break;
	case RDDA_OPEN:
		tgt_open_msg(ch, (const void *)h);
		break;
	case RDDA_CLOSE:
		tgt_close_msg(ch, (const void *)h);
		break;
	}
}

/*
 * Handle control messages that need to sleep, one after the other. A message is copied and its
 * buffer posted again before the answer: the answer lets the client send the next message.
 */
void tgt_ctl_work(struct work_struct *work)
{
	struct tgt_channel *ch = container_of(work, struct tgt_channel, rx.ctl_work);
	unsigned int noio = memalloc_noio_save();
	struct rdda_buf *rb;
	u64 copy[16];		/* none of these messages is longer */

	for (;;) {
		spin_lock(&ch->rx.ctl_lock);
		rb = list_first_entry_or_null(&ch->rx.ctl, struct rdda_buf, node);
		if (rb)
			list_del(&rb->node);
		spin_unlock(&ch->rx.ctl_lock);
		if (!rb || READ_ONCE(ch->dead) || WARN_ON_ONCE(rb->len > sizeof(copy)))
			break;
		memcpy(copy, rb->data, rb->len);
		if (tgt_rbuf_post(ch, rb))
			break;
		ctl_handle(ch, (const struct rdda_hdr *)copy);
	}
	memalloc_noio_restore(noio);
}
