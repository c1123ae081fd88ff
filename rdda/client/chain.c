// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains of work requests.
 *
 *   rdda_chain_add() rdda_chain_end() rdda_chain_add() ... rdda_chain_post()
 *
 * builds one linked post.
 */
#include "rdda/client/channel.h"
#include "rdda/client/debug.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"

/*
 * Post the chain. @ch: locked. An error ends the session, and with it every request of the chain.
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

static void chain_room(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	if (ch->sq.nr == RDDA_CHAIN)
		rdda_chain_post(ch);
}

/*
 * Begin a work request at the end of the chain. @ch: locked, with room in its send queue. Return:
 * see rdda_sq_add().
 */
struct ib_rdma_wr *rdda_chain_add(struct rdda_chan *ch, enum ib_wr_opcode opcode)
{
	chain_room(ch);
	return rdda_sq_add(&ch->sq, opcode);
}

/*
 * End the chain with the SEND of a message, and post the chain. @ch: as for rdda_chain_add(). @b:
 * holds the message and its completion handler.
 */
void rdda_chain_send(struct rdda_chan *ch, struct rdda_buf *b, u32 len)
{
	chain_room(ch);
	rdda_chain_end(ch, rdda_sq_send(&ch->sq, b, len), NULL, &b->cqe);
	rdda_chain_post(ch);
}

/*
 * Account for a work request after the caller filled it in. @ch: locked. @wr: as rdda_chain_add()
 * gave it. @io: owner of the pages named by @wr, or NULL. @cqe: as for rdda_sq_end().
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
 * channel is broken; the caller then releases nothing.
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
