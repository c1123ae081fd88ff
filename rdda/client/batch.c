// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pending commands become a message.
 *
 *   several, or large   WRITE data, WRITE data, ... SEND header, commands
 *   a small write alone WRITE with immediate: data, command
 *   with a header       WRITE with immediate: command, header, data; a header elsewhere gets
 *                       a WRITE before, and then data, command
 *
 * One post holds the data of up to 16 commands (the WRITEs of each payload) and then the one SEND
 * with the commands. The SEND is signalled: its send completion means that every request of the
 * post is done. A single WRITE with its command is signalled for the same reason.
 */
#define pr_fmt(fmt) "rdda: " fmt

#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/debug.h"
#include "rdda/client/extent.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/stage.h"
#include "rdda/common/fault.h"
#include "rdda/wire.h"

static u32 command_head_at(const struct rdda_cmd_slot *slot)
{
	return slot->head_page + RDDA_PAGE - slot->head;
}

/* PRP1 names the bytes up to the end of its page, PRP2 the rest. */
static void command_prps(const struct rdda_cmd_slot *slot, struct rdda_cmd *cmd)
{
	u32 first = RDDA_PAGE - slot->arena % RDDA_PAGE;

	if (slot->head) {
		cmd->prp1 = cpu_to_le64(command_head_at(slot));
		cmd->prp2 = cpu_to_le64(slot->arena);
		return;
	}
	cmd->prp1 = cpu_to_le64(slot->arena);
	if (slot->len > first)
		cmd->prp2 = cpu_to_le64(slot->arena + first);
}

/* Write a command in wire format. Context: RCU read section. */
static void command_encode(const struct rdda_cmd_slot *slot, struct rdda_cmd *cmd)
{
	const struct rdda_io *io = slot->io;
	const struct rdda_grant *g;
	u64 blocks;

	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = slot->opcode;
	cmd->cid = cpu_to_le16(RDDA_CID(slot->idx, slot->gen));
	g = rcu_dereference(io->extent->grant);
	if (g && g->s == slot->ch->s) {
		blocks = slot->len >> g->lba_shift;
		cmd->nsid = cpu_to_le32(g->nsid);
		cmd->slba = cpu_to_le64(g->slba + ((io->addr + slot->io_off) >> g->lba_shift));
	} else {
		/* The grant was taken away meanwhile: the target answers "no such namespace". */
		blocks = 1;
		cmd->nsid = cpu_to_le32(U32_MAX);
	}
	if (slot->opcode == RDDA_OP_DSM) {
		cmd->nlb = cpu_to_le16(blocks & 0xffff);
		cmd->control = cpu_to_le16(blocks >> 16);
		cmd->cdw13 = cpu_to_le32(RDDA_DSM_AD);
		return;
	}
	cmd->nlb = cpu_to_le16(blocks - 1);
	if (slot->opcode == RDDA_OP_WRITE_ZEROES) {
		if (io->flags & RDDA_IO_UNMAP)
			cmd->control = cpu_to_le16(RDDA_CTRL_DEAC);
		return;
	}
	command_prps(slot, cmd);
	if (slot->push)
		cmd->mptr = cpu_to_le64(slot->bounce | RDDA_MPTR_PUSH);
}

/*
 * Append to the last WRITE of the chain the data that continues its run, as far as that WRITE has
 * scatter entries left. Both parts complete together. The WRITE grows no larger than a command, so
 * that small requests of another channel pass in between. Return: bytes appended.
 */
static u32 data_append(struct rdda_chan *on, const struct rdda_io *io, struct rdda_cursor *cur,
		       u64 to, u32 rkey, u32 left)
{
	struct ib_rdma_wr *wr = rdda_chain_last(on);
	u32 done;

	if (!wr || wr->wr.opcode != IB_WR_RDMA_WRITE || on->batch.data_end != to ||
	    wr->rkey != rkey || wr->wr.num_sge == on->sq.sge_max ||
	    to - wr->remote_addr + left > RDDA_CMD_BYTES_MAX)
		return 0;
	wr->wr.num_sge += rdda_cursor_fill(cur, left, wr->wr.sg_list + wr->wr.num_sge,
					   on->sq.sge_max - wr->wr.num_sge,
					   on->s->pd->local_dma_lkey, &done);
	rdda_dbg_posted(on, io, on->sq.sig_posted + 1);
	return done;
}

static void data_run(struct rdda_chan *on, const struct rdda_io *io, struct rdda_cursor *cur,
		     u32 arena, u32 left)
{
	const struct rdda_piece *piece = rdda_arena_piece(on->s, arena);
	u64 to = arena - le32_to_cpu(piece->off);
	u32 done, rkey = le32_to_cpu(piece->rkey);
	struct ib_rdma_wr *wr;

	on->counts.write_bytes += left;
	done = data_append(on, io, cur, to, rkey, left);
	for (to += done, left -= done; left; left -= done, to += done) {
		wr = rdda_chain_add(on, IB_WR_RDMA_WRITE);
		wr->wr.num_sge = rdda_cursor_fill(cur, left, wr->wr.sg_list, on->sq.sge_max,
						  on->s->pd->local_dma_lkey, &done);
		wr->remote_addr = to;
		wr->rkey = rkey;
		rdda_chain_end(on, wr, io, NULL);
	}
	on->batch.data_end = to;
}

static void data_write(struct rdda_chan *on, struct rdda_cmd_slot *slot)
{
	u32 head = slot->head, at = head ? command_head_at(slot) : slot->arena;
	struct rdda_cursor cur = slot->at;

	if (!head || slot->one_run) {
		data_run(on, slot->io, &cur, at, slot->len);
		return;
	}
	data_run(on, slot->io, &cur, at, head);
	data_run(on, slot->io, &cur, slot->arena, slot->len - head);
}

/* Post the data before its command, on the command's own channel. */
static void data_post(struct rdda_chan *ch, struct rdda_cmd_slot *slot)
{
	struct rdda_chan *other;

	if (rdda_fault(RDDA_FAULT_CHANNEL) && ch->index + 1 < ch->s->nchan) {
		other = ch->s->chan[ch->index + 1];
		spin_lock_nested(&other->lock, 1);
		if (other->open && other->sq.free > slot->wrs + RDDA_CLIENT_CONTROLS) {
			data_write(other, slot);
			rdda_chain_post(other);
			spin_unlock(&other->lock);
			return;
		}
		spin_unlock(&other->lock);
	}
	data_write(ch, slot);
}

/* Put a command in its message. Unless @inlined, post its data before the message. */
static void command_send(struct rdda_chan *ch, struct rdda_cmd_slot *slot, struct rdda_cmd *cmd,
			 u16 idx, bool inlined)
{
	command_encode(slot, cmd);
	if (slot->data && !inlined)
		data_post(ch, slot);
	slot->batch = idx;
	slot->batch_gen = ch->batch.all[idx].gen;
	/* The completion of the next signalled request covers all requests built so far. */
	slot->seq = ch->sq.sig_posted + 1;
	slot->state = RDDA_SLOT_FLIGHT;
}

/*
 * The write to be posted in one WRITE with its command, or NULL. Later commands may be pending too.
 */
static struct rdda_cmd_slot *batch_inlined(struct rdda_chan *ch)
{
	struct rdda_cmd_slot *slot;

	slot = list_first_entry(&ch->pending.cmds, struct rdda_cmd_slot, node);
	if (ch->pending.nr > 1 || !slot->tail || rdda_fault(RDDA_FAULT_CHANNEL))
		return NULL;
	return rdda_stage_inline(slot) ? slot : NULL;
}

/*
 * Bytes of the header to go in one WRITE with command and payload: the whole header if it lies
 * right before the payload and the target supports that, else 0. @slot: has its memory.
 */
u32 rdda_inline_head(const struct rdda_cmd_slot *slot)
{
	return slot->one_run && slot->head < RDDA_PAGE &&
	       slot->ch->batch.features & RDDA_FEAT_INLINE_HEAD ? slot->head : 0;
}

/* Describe, as a scatter entry, the command inside its message buffer. */
static void inline_command(struct rdda_chan *ch, struct ib_sge *sge, const struct rdda_buf *b)
{
	sge->addr = b->sge.addr + offsetof(struct rdda_cmds, cmd);
	sge->length = sizeof(struct rdda_cmd);
	sge->lkey = b->sge.lkey;
	ib_dma_sync_single_for_device(ch->s->dev, sge->addr, sge->length, DMA_TO_DEVICE);
}

/*
 * Post data and command in one WRITE; the command comes first if the WRITE holds a header. @slot:
 * encoded in @b.
 */
static void inline_post(struct rdda_chan *ch, struct rdda_cmd_slot *slot, struct rdda_buf *b)
{
	const struct rdda_piece *piece = rdda_arena_piece(ch->s, slot->arena);
	u32 bytes = slot->len - slot->head, head = rdda_inline_head(slot), done;
	struct rdda_cursor cur = slot->at;
	struct ib_rdma_wr *wr;
	struct ib_sge *sge;

	if (slot->head && !head)
		data_run(ch, slot->io, &cur, command_head_at(slot), slot->head);
	wr = rdda_chain_add(ch, IB_WR_RDMA_WRITE_WITH_IMM);
	sge = wr->wr.sg_list;
	if (head)
		inline_command(ch, sge++, b);
	sge += rdda_cursor_fill(&cur, head + bytes, sge, ch->sq.sge_max - 1,
				ch->s->pd->local_dma_lkey, &done);
	if (!head)
		inline_command(ch, sge++, b);
	wr->wr.num_sge = sge - wr->wr.sg_list;
	wr->wr.ex.imm_data = cpu_to_be32(RDDA_INLINE_IMM(slot->arena, bytes));
	wr->remote_addr = slot->arena - le32_to_cpu(piece->off);
	if (head)
		wr->remote_addr -= head + sizeof(struct rdda_cmd);
	wr->rkey = le32_to_cpu(piece->rkey);
	ch->counts.write_bytes += head + bytes;
	ch->counts.inlines++;
	/* the WRITE of the header may have been signalled */
	slot->seq = ch->sq.sig_posted + 1;
	rdda_chain_end(ch, wr, slot->io, &b->cqe);
	rdda_chain_post(ch);
}

/*
 * Move pending commands to a message, up to 16, as far as credits and the send queue allow.
 * @inlined: the data goes in the same WRITE. Return: number of commands.
 */
static unsigned int batch_fill(struct rdda_chan *ch, u16 idx, bool inlined)
{
	struct rdda_cmds *msg = ch->batch.msg.buf[idx].data;
	u32 room = ch->sq.free, wrs = 1 + RDDA_CLIENT_CONTROLS;
	struct rdda_cmd_slot *slot, *next;
	bool alone = rdda_chan_alone(ch);
	unsigned int n = 0;

	rcu_read_lock();
	list_for_each_entry_safe(slot, next, &ch->pending.cmds, node) {
		if (!rdda_share_may(slot->dq->credits, ch->batch.nfree, ch->batch.nr, alone))
			continue;
		wrs += slot->wrs;
		if (n == RDDA_CMDS_MAX || wrs > room)
			break;
		if (!n)
			ch->batch.all[idx].dq = slot->dq;
		list_del(&slot->node);
		command_send(ch, slot, &msg->cmd[n++], idx, inlined);
	}
	rcu_read_unlock();
	return n;
}

static void batch_send(struct rdda_chan *ch, struct rdda_buf *buf, unsigned int n)
{
	u32 len = sizeof(struct rdda_hdr) + n * sizeof(struct rdda_cmd);
	struct rdda_hdr *hdr = buf->data;

	memset(hdr, 0, sizeof(*hdr));
	hdr->type = RDDA_CMDS;
	hdr->count = cpu_to_le16(n);
	hdr->len = cpu_to_le32(len);
	rdda_chain_send(ch, buf, len);
}

/*
 * Send up to 16 pending commands in one message. @ch: locked, with commands pending. Return: false
 * when nothing could be sent.
 */
bool rdda_batch_post(struct rdda_chan *ch)
{
	struct rdda_cmd_slot *inlined;
	struct rdda_batch *b;
	struct rdda_buf *buf;
	unsigned int n;
	u16 idx;

	if (!ch->batch.nfree)
		return false;
	idx = ch->batch.free[ch->batch.nfree - 1];
	b = &ch->batch.all[idx];
	b->gen++;
	buf = &ch->batch.msg.buf[idx];
	ib_dma_sync_single_for_cpu(ch->s->dev, buf->sge.addr, RDDA_MSG_MAX, DMA_TO_DEVICE);
	inlined = batch_inlined(ch);
	n = batch_fill(ch, idx, inlined);
	if (!n)
		return false;
	ch->batch.nfree--;
	b->dq->credits++;
	b->sending = true;
	b->credit = true;
	ch->pending.nr -= n;
	ch->counts.commands += n;
	ch->batch.out++;
	rdda_gather_sent(ch);
	if (inlined)
		inline_post(ch, inlined, buf);
	else
		batch_send(ch, buf, n);
	return true;
}

/*
 * The send completion of a message came, or its first answer. The earlier of the two shows that the
 * message arrived, as the send completion may be behind READs; after both the buffer is free. @ch:
 * locked. @idx: the message; the caller has cleared the flag (sending, credit) of its event.
 */
void rdda_batch_back(struct rdda_chan *ch, u16 idx)
{
	const struct rdda_batch *b = &ch->batch.all[idx];

	if (b->sending || b->credit)
		ch->batch.out -= !rdda_fault(RDDA_FAULT_OUT);
	else
		ch->batch.free[ch->batch.nfree++] = idx;
}
