// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send completions: the send queue has a separate CQ, which is armed only while something waits for
 * a send completion. So send completions cost no event, and wake no poller, when nothing waits.
 *
 *   results ---> little room left?  the CQ is polled, without an event
 *      |  '----> room ---> posted
 *      '-------> none ---> they wait; the CQ is armed -> event -> the channel's turn
 *
 * Setting up a channel waits for send completions as well, and so does the teardown: the channel's
 * turns always arm the CQ then. The receives of a broken queue pair report the failure: they are
 * flushed, and their CQ is armed.
 *
 * Handlers run in tgt_sq_poll() alone, under tx.lock.
 */
#include "rdda/target/channel.h"

/*
 * A signalled send completed: this send, and all before, are done. A failed send sets @ch->sq.err.
 */
void tgt_sq_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tgt_channel *ch = cq->cq_context;

	if (wc->status == IB_WC_SUCCESS)
		ch->tx.tail += rdda_sq_retire(&ch->sq);
	else if (!ch->sq.err)
		ch->sq.err = -ECONNRESET;
}

/* Handle the send completions in the CQ. @ch: tx.lock held. Return: true if there were any. */
bool tgt_sq_poll(struct tgt_channel *ch)
{
	struct ib_wc *wc = ch->tx.wc;
	bool found = false;
	int i, n;

	lockdep_assert_held(&ch->tx.lock);
	do {
		n = ib_poll_cq(ch->q.send_cq, ARRAY_SIZE(ch->tx.wc), wc);
		for (i = 0; i < n; i++)
			wc[i].wr_cqe->done(ch->q.send_cq, &wc[i]);
		found |= n > 0;
		/* fewer than fit into the array: the queue is empty */
	} while (n == ARRAY_SIZE(ch->tx.wc));
	return found;
}

/*
 * Request an event for the next send completion. @ch: tx.lock held. Return: true if completions
 * were there already, and have been handled: the caller tries again.
 */
bool tgt_sq_await(struct tgt_channel *ch)
{
	lockdep_assert_held(&ch->tx.lock);
	if (ch->tx.armed)
		return false;
	WRITE_ONCE(ch->tx.armed, true);
	if (ib_req_notify_cq(ch->q.send_cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) <= 0)
		return false;
	WRITE_ONCE(ch->tx.armed, false);
	if (tgt_sq_poll(ch))
		return true;
	/* the NIC reports a missed completion, but the poll finds none: a turn polls again */
	WRITE_ONCE(ch->tx.armed, true);
	tgt_poller_kick(ch);
	return false;
}

/* The CQ has completions. Context: may be the NIC's interrupt. */
void tgt_sq_event(struct ib_cq *cq, void *ctx)
{
	tgt_poller_kick(ctx);
}

/* True while memory is being registered, or the queue pair drained. */
static bool sq_waits(const struct tgt_channel *ch)
{
	return !READ_ONCE(ch->proven) || READ_ONCE(ch->dead);
}

/* In a turn of the channel: handle send completions, then send results that waited for them. */
void tgt_sq_turn(struct tgt_channel *ch)
{
	int err;

	if (likely(!READ_ONCE(ch->tx.armed) && !sq_waits(ch)))
		return;
	spin_lock_bh(&ch->tx.lock);
	WRITE_ONCE(ch->tx.armed, false);
	tgt_sq_poll(ch);
	while (sq_waits(ch) && tgt_sq_await(ch))
		;
	err = ch->sq.err;
	spin_unlock_bh(&ch->tx.lock);
	if (err)
		tgt_channel_kill(ch, err);
	tgt_push_flush(ch);
}
