// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages from the target, and the end of I/O.
 *
 *   pushed read   immediate -> copy out of the bounce block -> end
 *   other read    DONE -> READ from the arena, in a later post -> end
 *   the rest      DONE, and a send completion for its WRITEs -> end
 *
 * A completion is taken once, and only for a command in flight with the generation sent; any other
 * completion ends the session. The handlers of one CQ never run in parallel, nor in parallel with
 * pollers (recv.c).
 */
#define pr_fmt(fmt) "rdda: " fmt

#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/control.h"
#include "rdda/client/debug.h"
#include "rdda/client/extent.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/common/fault.h"
#include "rdda/wire.h"

/*
 * Count a completion; on the first one of a message, return the message's credit: the target has
 * posted its receive again.
 */
static void slot_return_credit(struct rdda_chan *ch, struct rdda_cmd_slot *slot)
{
	struct rdda_batch *b = &ch->batch.all[slot->batch];

	rdda_gather_ended(ch);
	if (b->gen != slot->batch_gen || !b->credit)
		return;
	b->credit = false;
	b->dq->credits--;
	rdda_batch_back(ch, slot->batch);
}

/*
 * Find the command in flight that a completion names. @ch: locked. @cid: from the wire: any number.
 * Return: NULL when there is no such command; the caller ends the session.
 */
static struct rdda_cmd_slot *slot_find(struct rdda_chan *ch, u16 cid)
{
	struct rdda_cmd_slot *slot;

	if (RDDA_CID_SLOT(cid) >= ch->slot.nr)
		return NULL;
	slot = &ch->slot.all[RDDA_CID_SLOT(cid)];
	if (slot->state != RDDA_SLOT_FLIGHT)
		return NULL;
	if (slot->gen != RDDA_CID_GEN(cid) && !rdda_fault(RDDA_FAULT_GEN))
		return NULL;
	return slot;
}

/*
 * End a command, unless posted WRITEs may still name its pages: then the command waits for their
 * send completion.
 */
static void slot_end(struct rdda_cmd_slot *slot, int err, struct list_head *ended)
{
	struct rdda_chan *ch = slot->ch;

	if (slot->data && !rdda_chan_seq_done(ch, slot->seq) && !rdda_fault(RDDA_FAULT_SQ_WAIT)) {
		slot->err = err;
		slot->state = RDDA_SLOT_SQ_WAIT;
		list_add_tail(&slot->node, &ch->poll.waiting);
		return;
	}
	rdda_cmd_slot_free(slot, err, ended);
}

/*
 * A posted READ whose own completion does not prove that its data arrived. @slot: its command;
 * NULL: no such READ.
 */
struct proof {
	struct rdda_cmd_slot	*slot;
	u64			addr;
	u32			rkey;
	struct ib_sge		first;
};

/* Number of extra READs behind the last one of a post: 0 or 1. */
static u32 slot_proofs(const struct rdda_chan *ch)
{
	return ch->s->lim.prove_reads && ch->reads.max > 1;
}

/* True if @n READs may be posted, and the extra one behind them. */
static bool slot_reads_room(const struct rdda_chan *ch, u32 n)
{
	n += slot_proofs(ch);
	return ch->reads.free >= n && ch->sq.free >= RDDA_CLIENT_CONTROLS + n;
}

/*
 * Post the extra READ behind the last one of a post.
 *
 * On some devices (lim.prove_reads) the completion of a READ does not prove that the data arrived,
 * but the completion of the next READ does: completions come in order, and none without error once
 * the queue pair is broken. So the next READ reports the end of the one before. Behind the last
 * READ of a post comes a small one: it fetches the first bytes again, so it needs no memory. A
 * WRITE of no bytes would not do: after such a WRITE, Soft-RoCE answers a READ that is requested
 * again with an error.
 */
static void slot_post_proof(struct rdda_chan *ch, const struct proof *p)
{
	struct ib_rdma_wr *wr = rdda_chain_add(ch, IB_WR_RDMA_READ);

	wr->wr.sg_list[0] = p->first;
	wr->wr.sg_list[0].length = min(p->first.length, 4U);
	wr->wr.num_sge = 1;
	wr->remote_addr = p->addr;
	wr->rkey = p->rkey;
	rdda_chain_end(ch, wr, p->slot->io, &p->slot->read_cqe);
}

static struct ib_cqe *slot_proof_take(struct proof *p)
{
	struct rdda_cmd_slot *slot = p->slot;

	p->slot = NULL;
	return slot ? &slot->read_cqe : NULL;
}

/*
 * Post READs for a command's data. @p: proof due for the slot before; set to the one @slot needs.
 */
static void slot_post_reads(struct rdda_chan *ch, struct rdda_cmd_slot *slot, struct proof *p)
{
	const struct rdda_piece *piece = rdda_arena_piece(ch->s, slot->arena);
	bool proof = slot_proofs(ch), last;
	struct ib_cqe *cqe;
	struct ib_rdma_wr *wr;
	u32 done;

	do {
		u32 from = slot->arena + (slot->len - slot->read_left);

		wr = rdda_chain_add(ch, IB_WR_RDMA_READ);
		wr->wr.num_sge = rdda_cursor_fill(&slot->at, slot->read_left, wr->wr.sg_list,
						  ch->reads.sge, ch->s->pd->local_dma_lkey, &done);
		wr->remote_addr = from - le32_to_cpu(piece->off);
		wr->rkey = le32_to_cpu(piece->rkey);
		slot->read_left -= done;
		last = !slot->read_left || !slot_reads_room(ch, 2);
		cqe = proof ? slot_proof_take(p) : last ? &slot->read_cqe : NULL;
		rdda_chain_end(ch, wr, slot->io, cqe);
		if (proof && cqe)	/* this READ has not ended with that completion */
			rdda_dbg_posted(ch, slot->io, ch->sq.sig_posted + 1);
	} while (!last);
	if (proof)
		*p = (struct proof){ slot, wr->remote_addr, wr->rkey, wr->wr.sg_list[0] };
	slot->read_out++;
}

/*
 * READ the data of completed commands, as far as there is room. @ch: locked. READs in flight stay
 * below the number negotiated for the connection. A READ is never in one post with the event that
 * made its data valid: that event was a receive completion.
 */
void rdda_reads_run(struct rdda_chan *ch)
{
	struct rdda_cmd_slot *slot;
	struct proof p = {};

	lockdep_assert_held(&ch->lock);
	while ((slot = list_first_entry_or_null(&ch->reads.todo, struct rdda_cmd_slot, node))) {
		if (!slot_reads_room(ch, 1))
			break;
		slot_post_reads(ch, slot, &p);
		if (slot->read_left)
			break;
		list_del(&slot->node);
		if (rdda_fault(RDDA_FAULT_EARLY)) {
			rdda_arena_free(ch, slot->arena);
			slot->has_arena = false;
		}
	}
	if (p.slot)
		slot_post_proof(ch, &p);
	rdda_chain_post(ch);
}

/* Handle one entry of DONE. Return: false when no command in flight fits the entry. */
static bool done_one(struct rdda_chan *ch, const struct rdda_done *d, struct list_head *ended)
{
	struct rdda_cmd_slot *slot = slot_find(ch, le16_to_cpu(d->cid));
	int err = rdda_status_errno(le16_to_cpu(d->status));

	/*
	 * The extent was closed before the target saw the command: it never ran, and ends as new
	 * I/O does.
	 */
	if (slot && slot->io && le16_to_cpu(d->status) == RDDA_ST_INVALID_NS &&
	    !rcu_access_pointer(slot->io->extent->grant))
		err = READ_ONCE(slot->io->extent->io_err);
	/* Only the immediate reports a push that worked. */
	if (!slot || (slot->push && !err))
		return false;
	slot_return_credit(ch, slot);
	if (slot->opcode != RDDA_OP_READ || err || !slot->io) {
		slot_end(slot, err, ended);
		return true;
	}
	slot->state = RDDA_SLOT_READ;
	slot->read_left = slot->len;
	slot->read_out = 0;
	list_add_tail(&slot->node, &ch->reads.todo);
	return true;
}

static void done_recv(struct rdda_chan *ch, const struct rdda_dones *m)
{
	unsigned int i, n = le16_to_cpu(m->hdr.count);
	LIST_HEAD(ended);
	unsigned long flags;
	bool ok = true;

	spin_lock_irqsave(&ch->lock, flags);
	rdda_sq_scan(ch, &ended);
	for (i = 0; i < n && ok; i++)
		ok = done_one(ch, &m->done[i], &ended);
	if (ok)
		rdda_chan_run(ch, &ended);
	spin_unlock_irqrestore(&ch->lock, flags);
	if (!ok)
		rdda_session_fail(ch->s, -EPROTO, "a completion for no command");
	rdda_ios_end(&ended);
}

/*
 * Find the reads that a push carries: the first one by its CID, the others by the bounce blocks
 * behind the first one's. Return: number of reads, 0 when a read was not requested.
 */
static unsigned int push_take_run(struct rdda_chan *ch, u32 imm, struct rdda_cmd_slot **run)
{
	unsigned int i, block, gens = 0, n = RDDA_IMM_MORE(imm) + 1;
	struct rdda_cmd_slot *slot;

	run[0] = imm & ~RDDA_IMM_VALID ? NULL : slot_find(ch, RDDA_IMM_CID(imm));
	if (!run[0] || !run[0]->push)
		return 0;
	block = rdda_bounce_block(run[0]);
	if (n > ch->s->bounce.blocks - block)
		return 0;
	for (i = 1; i < n; i++) {
		slot = &ch->slot.all[ch->bounce.cmd[block + i]];
		if (slot->state != RDDA_SLOT_FLIGHT || !slot->push ||
		    slot->bounce != run[0]->bounce + i * ch->s->bounce.push_bytes)
			return 0;
		gens += slot->gen;
		run[i] = slot;
	}
	return (gens & RDDA_GEN_MASK) == RDDA_IMM_GENS(imm) ? n : 0;
}

/* End pushed reads. The caller has posted the receive again. */
static void push_recv(struct rdda_chan *ch, u32 imm)
{
	struct rdda_cmd_slot **run = ch->rx.run;
	unsigned int i, n;
	LIST_HEAD(ended);
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	n = push_take_run(ch, imm, run);
	for (i = 0; i < n; i++) {
		run[i]->state = RDDA_SLOT_COPY;
		slot_return_credit(ch, run[i]);
	}
	ch->counts.pushes += n;
	spin_unlock_irqrestore(&ch->lock, flags);
	if (!n) {
		rdda_session_fail(ch->s, -EPROTO, "a push that was not requested");
		return;
	}
	for (i = 0; i < n; i++)
		if (run[i]->io)
			rdda_bounce_copy(run[i]);
	spin_lock_irqsave(&ch->lock, flags);
	rdda_sq_scan(ch, &ended);
	for (i = 0; i < n; i++)
		rdda_cmd_slot_free(run[i], 0, &ended);
	rdda_chan_run(ch, &ended);
	spin_unlock_irqrestore(&ch->lock, flags);
	rdda_ios_end(&ended);
}

/*
 * A receive failed. Poll the send queue first: if a send broke the queue pair, its error is the one
 * to report.
 */
static void recv_failed(struct rdda_chan *ch, enum ib_wc_status status)
{
	LIST_HEAD(ended);
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	rdda_sq_scan(ch, &ended);
	spin_unlock_irqrestore(&ch->lock, flags);
	rdda_ios_end(&ended);
	rdda_session_fail(ch->s, -ENOLINK, "channel %u: %s", ch->index,
			  status == IB_WC_WR_FLUSH_ERR ? "closed" : ib_wc_status_msg(status));
}

/*
 * A message or a push came. The handler copies the message out and posts the receive again before
 * handling the message, as the result may let the target send the next one.
 */
void rdda_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rdda_buf *b = container_of(wc->wr_cqe, struct rdda_buf, cqe);
	bool push = wc->opcode == IB_WC_RECV_RDMA_WITH_IMM;
	struct rdda_chan *ch = cq->cq_context;
	struct rdda_session *s = ch->s;
	u32 len = wc->byte_len, imm = 0;
	int ret;

	if (wc->status != IB_WC_SUCCESS) {
		recv_failed(ch, wc->status);
		return;
	}
	if (rdda_session_dead(s))
		return;
	WRITE_ONCE(ch->alive.last_rx, jiffies);
	if (push) {
		imm = be32_to_cpu(wc->ex.imm_data);
	} else {
		if (len > RDDA_MSG_MAX || wc->wc_flags & IB_WC_WITH_IMM) {
			rdda_session_fail(s, -EPROTO, "a message of %u bytes", len);
			return;
		}
		ib_dma_sync_single_for_cpu(s->dev, b->sge.addr, len, DMA_FROM_DEVICE);
		memcpy(ch->rx.copy, b->data, len);
	}
	ret = rdda_buf_post(&ch->q, b);
	if (ret) {
		rdda_session_fail(s, -ENOLINK, "posting a receive failed: %d", ret);
		return;
	}
	if (push) {
		push_recv(ch, imm);
		return;
	}
	ret = rdda_msg_check(ch->rx.copy, len, false);
	if (!ret && ch->rx.copy[0] == RDDA_DONE && test_bit(SESSION_UP, &s->flags)) {
		done_recv(ch, (const struct rdda_dones *)ch->rx.copy);
		return;
	}
	if (!ret || ret == -EOPNOTSUPP)
		ret = rdda_control_recv(ch, ch->rx.copy, len);
	if (ret)
		rdda_session_fail(s, ret, "a bad message of type %u, %u bytes", ch->rx.copy[0],
				  len);
}
