// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send completions. The send queue has its own CQ, armed only while something waits for a send
 * completion.
 *
 *   a lone write   SEND acknowledged: no event -> answer: the receive CQ's event;
 *                  its handler polls here first, and finds the SEND complete
 *   READs, gathered commands, an answer that came before the acknowledgment
 *                  the CQ is armed -> event -> rdda_sq_poll()
 *
 * So a request costs one interrupt, not two. The receives report a broken queue pair: they are
 * flushed, and their CQ is armed, or read within a tick (recv.c).
 *
 * Handlers run only in rdda_sq_poll(), with the channel's lock held.
 */
#define pr_fmt(fmt) "rdda: " fmt

#include "rdda/client/channel.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"

/* End answered commands that waited only for the send completion of their WRITEs. */
static void sq_wait_run(struct rdda_chan *ch)
{
	struct rdda_cmd_slot *slot, *next;

	list_for_each_entry_safe(slot, next, &ch->poll.waiting, node) {
		if (!rdda_chan_seq_done(ch, slot->seq))
			continue;
		list_del(&slot->node);
		rdda_cmd_slot_free(slot, slot->err, ch->poll.ended);
	}
}

static bool sq_done(struct rdda_chan *ch, struct ib_wc *wc)
{
	if (!rdda_chan_sent(ch, wc))
		return false;
	sq_wait_run(ch);
	return true;
}

/* Send completion of a CMDS message. */
void rdda_batch_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdda_buf *b = container_of(wc->wr_cqe, struct rdda_buf, cqe);
	struct rdda_chan *ch = cq->cq_context;
	u16 idx = b - ch->batch.msg.buf;

	if (!sq_done(ch, wc))
		return;
	ch->batch.all[idx].sending = false;
	rdda_batch_back(ch, idx);
}

/* Send completion of a request that was signalled only to keep count of the send queue. */
void rdda_mark_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	sq_done(cq->cq_context, wc);
}

/* Send completion of a control message. */
void rdda_control_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdda_buf *b = container_of(wc->wr_cqe, struct rdda_buf, cqe);
	struct rdda_chan *ch = cq->cq_context;

	if (!sq_done(ch, wc))
		return;
	ch->ctl.free[ch->ctl.nfree++] = b - ch->ctl.msg.buf;
	wake_up_all(&ch->s->wait);
}

/*
 * Send completion of a command's READs. Only now may the arena block be freed: a WRITE may pass an
 * earlier READ.
 */
void rdda_read_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdda_cmd_slot *slot = container_of(wc->wr_cqe, struct rdda_cmd_slot, read_cqe);
	struct rdda_chan *ch = slot->ch;

	if (!sq_done(ch, wc))
		return;
	if (!--slot->read_out && !slot->read_left)
		rdda_cmd_slot_free(slot, 0, ch->poll.ended);
}

/*
 * Take the present send completions. @ch: locked. @ended: gets I/O that only waited for them. The
 * caller runs the channel afterwards, as completions free room.
 */
void rdda_sq_poll(struct rdda_chan *ch, struct list_head *ended)
{
	int i, n;

	lockdep_assert_held(&ch->lock);
	ch->poll.ended = ended;
	do {
		n = ib_poll_cq(ch->q.send_cq, ARRAY_SIZE(ch->poll.wc), ch->poll.wc);
		for (i = 0; i < n; i++)
			ch->poll.wc[i].wr_cqe->done(ch->q.send_cq, &ch->poll.wc[i]);
		/* fewer completions than fit: the CQ is empty */
	} while (n == ARRAY_SIZE(ch->poll.wc));
	ch->poll.ended = NULL;
}

/*
 * As rdda_sq_poll(), where I/O must not be ended, nor the channel run. Return: true if that leaves
 * work for the softirq; @pending: sending pending commands counts as work.
 */
static bool sq_poll_later(struct rdda_chan *ch, bool pending)
{
	u32 done = ch->sq.sig_done;

	rdda_sq_poll(ch, &ch->poll.finished);
	return ch->sq.sig_done != done &&
	       ((pending && ch->pending.nr) || !list_empty(&ch->poll.finished) ||
		!list_empty(&ch->reads.todo) || !list_empty(&ch->queues.turns));
}

/*
 * Handle send completions now, without an event. @ch: locked by the submitter. I/O is not ended in
 * here, as its end could submit more I/O, and so on. The caller sends as many commands as it can.
 */
void rdda_sq_check(struct rdda_chan *ch)
{
	if (ch->sq.sig_posted != ch->sq.sig_done && sq_poll_later(ch, false))
		rdda_sq_later(ch);
}

/*
 * True if something waits for a send completion. A control message always does, as there are few;
 * setting up or tearing down a channel waits for its posts, too.
 */
static bool sq_wanted(const struct rdda_chan *ch)
{
	return !ch->open || (ch->pending.nr && !ch->gather.waits) ||
	       !list_empty(&ch->poll.waiting) ||
	       !list_empty(&ch->reads.todo) || ch->reads.free != ch->reads.max ||
	       ch->ctl.nfree != ch->ctl.nr;
}

/*
 * Arm the CQ for an event, if something waits for a send completion. @ch: locked. Call it wherever
 * such a wait may begin.
 */
void rdda_sq_arm(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	if (ch->poll.armed || !ch->q.send_cq || !sq_wanted(ch))
		return;
	ch->poll.armed = true;
	if (ib_req_notify_cq(ch->q.send_cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		irq_poll_sched(&ch->poll.irq);
}

/* Event: the CQ has send completions. Context: may be the NIC's interrupt. */
void rdda_sq_event(struct ib_cq *cq, void *context)
{
	struct rdda_chan *ch = context;

	irq_poll_sched(&ch->poll.irq);
}

/*
 * The event's second half. @budget is unused: all completions are taken at once, and the size of
 * the send queue bounds them. The channel counts as armed until the end, when it is armed again if
 * necessary. Events before irq_poll_complete() are lost, so the CQ is polled for their completions
 * afterwards.
 */
int rdda_sq_softirq(struct irq_poll *iop, int budget)
{
	struct rdda_chan *ch = container_of(iop, struct rdda_chan, poll.irq);
	LIST_HEAD(ended);
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	ch->poll.again = false;
	rdda_sq_poll(ch, &ended);
	rdda_chan_run(ch, &ended);
	list_splice_tail_init(&ch->poll.finished, &ended);
	spin_unlock_irqrestore(&ch->lock, flags);
	rdda_ios_end(&ended);

	/* rdda_sq_stop() waits for this lock: no code of the softirq runs after the unlock. */
	spin_lock_irqsave(&ch->lock, flags);
	irq_poll_complete(iop);
	if (sq_poll_later(ch, true) || ch->poll.again)
		irq_poll_sched(iop);
	ch->poll.armed = false;
	rdda_sq_arm(ch);
	spin_unlock_irqrestore(&ch->lock, flags);
	return 0;
}

/*
 * Stop the softirq: no handler runs afterwards. @ch: its queue pair is drained, or it has none.
 * Sleeps.
 */
void rdda_sq_stop(struct rdda_chan *ch)
{
	if (!ch->q.qp)
		return;
	irq_poll_disable(&ch->poll.irq);
	/* The softirq's last lines may be running. The CQ is not armed after this. */
	spin_lock_irq(&ch->lock);
	ch->poll.armed = true;
	spin_unlock_irq(&ch->lock);
}
