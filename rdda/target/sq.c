// SPDX-License-Identifier: GPL-2.0-only
/*
 * Send completions: the send queue has a CQ of its own, which is armed only while
 * something waits for one. So they cost no event, and wake no poller for nothing else.
 *
 *   results ---> little room left?  the CQ is polled, without an event
 *      |  '----> room ---> posted
 *      '-------> none ---> they wait; the CQ is armed -> event -> the channel's turn
 *
 * Setting a channel up waits for them as well, and tearing it down: its turns arm it
 * always then. A broken queue pair is reported by its receives, which are flushed, whose
 * CQ is armed.
 *
 * Handlers run in tgt_sq_poll() alone, under tx.lock.
 */
#include "rdda/target/channel.h"

/*
 * The completion of a signalled send: it, and all before it, are done. One that failed is known
 * from @ch->sq.err.
 */
void tgt_sq_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tgt_channel *ch = cq->cq_context;

	if (wc->status == IB_WC_SUCCESS)
		ch->tx.tail += rdda_sq_retire(&ch->sq);
	else if (!ch->sq.err)
		ch->sq.err = -ECONNRESET;
}

/* Take the send completions that are there. @ch: tx.lock held. Return: whether there were any. */
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
		/* fewer than there is room for: it is empty */
	} while (n == ARRAY_SIZE(ch->tx.wc));
	return found;
}

/*
 * Have an event come with the next send completion. @ch: tx.lock held. Return: some were there
 * already, and are taken: the caller tries again.
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
	/* said to have been missed, and not to be found: a turn looks again */
	WRITE_ONCE(ch->tx.armed, true);
	tgt_poller_kick(ch);
	return false;
}

/* The CQ has something. Context: may be the NIC's interrupt. */
void tgt_sq_event(struct ib_cq *cq, void *ctx)
{
	tgt_poller_kick(ctx);
}

/* Memory is being registered, or the queue pair drained. */
static bool sq_waits(const struct tgt_channel *ch)
{
	return !READ_ONCE(ch->proven) || READ_ONCE(ch->dead);
}

/* In a turn of the channel: what waited for send completions goes on. */
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
