// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O in: an rdda_io becomes commands, commands become messages.
 *
 *   rdda_submit() -> [waiting] -> make commands -> [pending] -> batch -> post
 *                      ^ no command slot, arena or    ^ no credit, no room in
 *                        bounce page: drives take      the send queue, or an
 *                        turns, the oldest of each     earlier message in flight
 *                        first
 *
 * batch.c makes and posts the messages.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/moduleparam.h>

#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/extent.h"
#include "rdda/client/io.h"
#include "rdda/client/recv.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/stage.h"
#include "rdda/common/fault.h"
#include "rdda/wire.h"

/*
 * While this many messages have neither a send completion nor an answer, further commands are
 * gathered: under load a message carries many commands, and a lone command never waits.
 */
static unsigned int sends_ahead = 1;
module_param(sends_ahead, uint, 0644);
MODULE_PARM_DESC(sends_ahead, "command messages in flight before further commands are gathered");

static unsigned int inline_bytes = 4096;
module_param(inline_bytes, uint, 0644);
MODULE_PARM_DESC(inline_bytes, "writes up to this size go in one message with their command, when alone (0: none)");

/* Count the work requests that @bytes from @cur take with @sge entries each; moves @cur. */
static u32 cursor_skip(struct rdda_cursor *cur, u32 bytes, unsigned int sge)
{
	u32 wrs = 0, done;

	for (; bytes; bytes -= done, wrs++)
		rdda_cursor_fill(cur, bytes, NULL, sge, 0, &done);
	return wrs;
}

static bool io_has_pages(const struct rdda_io *io)
{
	return (io->op == RDDA_READ || io->op == RDDA_WRITE) && !io->stage;
}

static int io_map(struct rdda_chan *ch, struct rdda_io *io)
{
	struct rdda_io_priv *p = rdda_io_priv(io);
	struct sg_table sgt = { .sgl = io->sg, .nents = io->nents, .orig_nents = io->nents };
	int ret;

	ret = ib_dma_map_sgtable_attrs(ch->s->dev, &sgt, rdda_io_dir(io), 0);
	/*
	 * Out of mappings, or of bounce buffers: the DMA API returns -EIO, though the lack is
	 * temporary.
	 */
	if (ret && ret != -EREMOTEIO && ret != -EINVAL)
		ret = -ENOMEM;
	if (ret)
		return ret;
	p->mapped = sgt.nents;
	p->cur.sg = io->sg;
	p->cur.off = 0;
	return 0;
}

/* Bytes that a command to this drive may carry. */
static u32 command_most(const struct rdda_chan *ch, const struct rdda_grant *g)
{
	return min(g->max_bytes, le32_to_cpu(ch->login.accept.cmd_bytes));
}

/*
 * True if the payload begins with a header that is not staged with the rest. A command of one page
 * has no room for both.
 */
static bool io_has_head(const struct rdda_chan *ch, const struct rdda_grant *g,
			const struct rdda_io *io)
{
	return io->flags & RDDA_IO_STAGE && io->op == RDDA_WRITE && !io->stage &&
	       io->stage_offset && command_most(ch, g) > RDDA_PAGE;
}

/* Bytes of an I/O for its next command. @head: the first bytes, placed apart from the rest. */
static u32 command_bytes(struct rdda_chan *ch, const struct rdda_grant *g, struct rdda_io *io,
			 u32 head)
{
	u32 left = io->len - io->issued, at;

	switch (io->op) {
	case RDDA_DISCARD:		/* the count of blocks has 32 bits */
		return left;
	case RDDA_ZEROES:		/* the count of blocks has 16 bits */
		return min_t(u64, left, (u64)0x10000 << g->lba_shift);
	default:
		if (io->stage)
			return min(rdda_stage_part(io, &at), command_most(ch, g));
		left = min(left, head + (RDDA_PAGE << ch->arena.max_order));
		return min(left, command_most(ch, g));
	}
}

static bool io_pushes(struct rdda_chan *ch, const struct rdda_io *io)
{
	return io->op == RDDA_READ && !(io->flags & RDDA_IO_P2P) && ch->s->bounce.blocks &&
	       io->len <= ch->s->bounce.push_bytes;
}

static const u8 opcodes[] = {
	[RDDA_READ]	= RDDA_OP_READ,
	[RDDA_WRITE]	= RDDA_OP_WRITE,
	[RDDA_DISCARD]	= RDDA_OP_DSM,
	[RDDA_ZEROES]	= RDDA_OP_WRITE_ZEROES,
};

/* True if enough messages are in flight for a small batch to wait for more commands. */
static bool chan_gathers(const struct rdda_chan *ch)
{
	return ch->batch.out >= max(READ_ONCE(sends_ahead), 1U) &&
	       ch->pending.nr < RDDA_CMDS_MAX && !rdda_gather_late(ch);
}

/*
 * True if a write may go in one message with its command: the payload is small, and no other
 * command is pending.
 */
static bool io_inlines(const struct rdda_chan *ch, const struct rdda_io *io,
		       const struct rdda_io_priv *p, u32 head)
{
	u32 bytes = io->len - head;

	return ch->batch.features & (head ? RDDA_FEAT_INLINE_REST : RDDA_FEAT_INLINE) &&
	       io->op == RDDA_WRITE && !ch->pending.nr &&
	       bytes <= min(READ_ONCE(inline_bytes), RDDA_INLINE_MAX) &&
	       bytes + sizeof(struct rdda_cmd) <= RDDA_PAGE << ch->arena.max_order &&
	       p->mapped && p->mapped < ch->sq.sge_max && (head || !p->staging) &&
	       !chan_gathers(ch) && !rdda_gather_expects(ch);
}

/*
 * Bytes for a command's arena block: the payload, and the command if there may be one behind the
 * payload. With a header (slot->head) the memory has room already.
 */
static u32 command_block(const struct rdda_cmd_slot *slot, u32 bytes)
{
	return bytes - slot->head + (slot->tail && !slot->head ? sizeof(struct rdda_cmd) : 0);
}

static int command_arena(struct rdda_chan *ch, struct rdda_io *io, struct rdda_cmd_slot *slot,
			 u32 bytes)
{
	int err;

	if (slot->head) {
		err = rdda_stage_memory(slot, io, bytes);
		if (err != -ENOENT)
			return err;
		err = rdda_arena_alloc_headed(ch, slot, bytes - slot->head);
		slot->tail &= !err && rdda_inline_head(slot);
		return err;
	}
	if (slot->tail && !rdda_arena_alloc(ch, command_block(slot, bytes), &slot->arena))
		return 0;
	slot->tail = false;
	return rdda_arena_alloc(ch, bytes, &slot->arena);
}

/*
 * Get memory for a command's data: an arena block, and a bounce block if all of a read is pushed; a
 * read without a bounce block is READ. *bytes shrinks when no block is large enough and the drive
 * has no command in flight to free one. Return: 0; -ENOMEM: wait; another errno ends the I/O.
 */
static int command_memory(struct rdda_chan *ch, struct rdda_io *io, struct rdda_cmd_slot *slot,
			  u32 *bytes)
{
	struct rdda_io_priv *p = rdda_io_priv(io);
	const struct rdda_drive_queue *dq = p->dq;
	int err;

	slot->push = !p->mapped && io_pushes(ch, io);
	slot->has_arena = io_has_pages(io);
	if (!slot->has_arena) {
		slot->arena = 0;
		return io->stage && !rdda_stage_part(io, &slot->arena) ? -ESTALE : 0;
	}
	if (!rdda_share_may(dq->pages, ch->arena.buddy.avail + ch->stage.idle_pages,
			    ch->arena.buddy.pages, rdda_chan_alone(ch)))
		return -ENOMEM;
	while (command_arena(ch, io, slot, *bytes)) {
		if (rdda_stage_drop(ch))
			continue;
		if (dq->cmds || *bytes - slot->head <= RDDA_PAGE)
			return -ENOMEM;
		*bytes = slot->head + (RDDA_PAGE << (rdda_buddy_order(*bytes - slot->head) - 1));
	}
	if (!slot->push || (*bytes == io->len && rdda_bounce_take(ch, slot)))
		return 0;
	slot->push = false;
	err = io_map(ch, io);
	if (err)
		rdda_arena_free(ch, slot->arena);
	return err == -ENOMEM ? -EAGAIN : err;	/* no completion here frees mappings: do not wait */
}

static void command_memory_free(struct rdda_chan *ch, const struct rdda_cmd_slot *slot)
{
	if (slot->head)
		rdda_arena_free(ch, slot->head_page);
	if (slot->has_arena)
		rdda_arena_free(ch, slot->arena);
}

/*
 * Make one command, all or nothing. Return: 0; -ENOMEM when something is missing now; -EMSGSIZE
 * when the payload has more pieces than the whole send queue takes; another errno ends the I/O.
 */
static int command_make(struct rdda_chan *ch, const struct rdda_grant *g, struct rdda_io *io)
{
	struct rdda_io_priv *p = rdda_io_priv(io);
	struct rdda_drive_queue *dq = p->dq;
	u32 bytes, block, wrs = 0;
	struct rdda_cursor next;
	struct rdda_cmd_slot *slot;
	int err;

	if (!rdda_share_may(dq->cmds, ch->slot.nfree, ch->slot.nr, rdda_chan_alone(ch)))
		return -ENOMEM;
	slot = &ch->slot.all[ch->slot.free[ch->slot.nfree - 1]];
	slot->head = !io->issued && io_has_head(ch, g, io) ? io->stage_offset : 0;
	bytes = command_bytes(ch, g, io, slot->head);
	slot->tail = bytes == io->len && io_inlines(ch, io, p, slot->head);
	err = command_memory(ch, io, slot, &bytes);
	if (err)
		return err;
	next = p->cur;
	if (p->mapped && slot->head && !slot->one_run)
		wrs = cursor_skip(&next, slot->head, ch->sq.sge_max) +
		      cursor_skip(&next, bytes - slot->head, ch->sq.sge_max);
	else if (p->mapped && bytes == io->len)	/* the whole I/O: no next command */
		wrs = DIV_ROUND_UP(p->mapped, ch->sq.sge_max);
	else if (p->mapped)
		wrs = cursor_skip(&next, bytes, ch->sq.sge_max);
	if (wrs + 1 + RDDA_CLIENT_CONTROLS > ch->sq.size) {
		command_memory_free(ch, slot);	/* a push has wrs 0, so no bounce block here */
		return -EMSGSIZE;
	}
	if (io->stage || (slot->head && !slot->has_arena))
		rdda_stage_take(slot, io->stage ?: io->behind);
	ch->slot.nfree--;
	slot->io = io;
	slot->extent = io->extent;
	slot->dq = dq;
	slot->opcode = opcodes[io->op];
	slot->io_off = io->issued;
	slot->part = p->cmds;
	slot->len = bytes;
	/* also count the part named of a stage: a drive that hangs keeps no more than its share */
	block = rdda_stage_block(slot, p, command_block(slot, bytes));
	slot->pages = slot->has_arena || slot->stage ?
		      (1U << rdda_buddy_order(block)) + !!slot->head : 0;
	dq->cmds++;
	dq->pages += slot->pages;
	slot->data = io->op == RDDA_WRITE && !io->stage;
	slot->err = 0;
	slot->wrs = slot->data ? wrs : 0;
	slot->at = p->cur;
	p->cur = next;
	slot->state = RDDA_SLOT_PENDING;
	list_add_tail(&slot->node, &ch->pending.cmds);
	ch->pending.nr++;
	p->cmds++;
	io->issued += bytes;
	atomic_inc(&io->left);
	return 0;
}

/*
 * Make the commands of an I/O. Context: RCU read section. Return: false when the I/O has to wait
 * for memory or a command slot.
 */
static bool io_issue(struct rdda_chan *ch, struct rdda_io *io, struct list_head *ended)
{
	const struct rdda_grant *g;
	int err = 0;

	g = rcu_dereference(io->extent->grant);
	if (!g || g->s != ch->s)
		err = -ENOLINK;
	while (!err && !io->err && io->issued < io->len)
		err = command_make(ch, g, io);
	if (err == -ENOMEM)
		return false;
	rdda_io_drop(io, err, ended);
	return true;
}

/* Send pending commands, except those that wait for more. @ch: open, locked. */
void rdda_chan_flush(struct rdda_chan *ch)
{
	while (ch->pending.nr && !chan_gathers(ch) && !rdda_gather_waits(ch) &&
	       rdda_batch_post(ch))
		;
	if (ch->pending.nr)
		rdda_gather_held(ch);
	rdda_sq_arm(ch);
}

/* Post submitted commands. Earlier messages may have completed without an event, so check first. */
static void chan_commit(struct rdda_chan *ch)
{
	if (ch->pending.nr && chan_gathers(ch))
		rdda_sq_check(ch);
	rdda_chan_flush(ch);
}

static void io_wait(struct rdda_chan *ch, struct rdda_io *io)
{
	struct rdda_drive_queue *dq = rdda_io_priv(io)->dq;

	list_add_tail(&io->node, &dq->waiting);
	if (list_empty(&dq->turn))
		list_add_tail(&dq->turn, &ch->queues.turns);
}

/*
 * A waiting drive with nothing in flight depends on memory freed by other drives, so the others
 * must take none before it. A drive with commands in flight waits for their memory.
 */
static bool queue_starves(const struct rdda_drive_queue *dq)
{
	return !dq->cmds;
}

/* True if an I/O must queue behind others of its drive, or behind a drive that would starve. */
static bool io_must_wait(struct rdda_chan *ch, struct rdda_io *io)
{
	if (likely(list_empty(&ch->queues.turns)))
		return false;
	return !list_empty(&rdda_io_priv(io)->dq->waiting) ||
	       queue_starves(list_first_entry(&ch->queues.turns, struct rdda_drive_queue, turn));
}

/* Issue one I/O of each drive in turn, as far as there is room. @ch: locked. */
static void turns_run(struct rdda_chan *ch, struct list_head *ended)
{
	struct rdda_drive_queue *dq;
	struct rdda_io *io;
	LIST_HEAD(stuck);

	rcu_read_lock();
	while ((dq = list_first_entry_or_null(&ch->queues.turns, struct rdda_drive_queue, turn))) {
		io = list_first_entry(&dq->waiting, struct rdda_io, node);
		list_del(&io->node);
		if (io_issue(ch, io, ended)) {
			list_move_tail(&dq->turn, &ch->queues.turns);
			if (list_empty(&dq->waiting))
				list_del_init(&dq->turn);
			continue;
		}
		list_add(&io->node, &dq->waiting);
		if (queue_starves(dq))
			break;
		list_move_tail(&dq->turn, &stuck);
	}
	rcu_read_unlock();
	list_splice_tail(&stuck, &ch->queues.turns);
}

/* Use the room freed by completions. @ch: locked. @ended: gets the I/O that ended. */
void rdda_chan_run(struct rdda_chan *ch, struct list_head *ended)
{
	lockdep_assert_held(&ch->lock);
	if (!ch->open)
		return;
	if (!list_empty(&ch->reads.todo))
		rdda_reads_run(ch);
	if (!list_empty(&ch->queues.turns))
		turns_run(ch, ended);
	rdda_chan_flush(ch);
}

static int io_check(const struct rdda_grant *g, const struct rdda_io *io)
{
	if (!io->len || (io->addr | io->len) & ((1U << g->lba_shift) - 1))
		return -EINVAL;
	if (io->addr > g->bytes || io->len > g->bytes - io->addr)
		return -EINVAL;
	if (io->stage && io->stage_offset & ((1U << g->lba_shift) - 1))
		return -EINVAL;
	if (io->flags & RDDA_IO_STAGE &&
	    (io->stage_offset & ((1U << g->lba_shift) - 1) || io->stage_offset > RDDA_PAGE ||
	     io->stage_offset >= io->len))
		return -EINVAL;
	if (io->op != RDDA_READ && !g->rw)
		return -EACCES;
	return 0;
}

/*
 * True if the I/O requests a staged payload, and its first command has room for the header, if any.
 */
static bool io_stages(const struct rdda_chan *ch, const struct rdda_grant *g,
		      const struct rdda_io *io)
{
	return io->flags & RDDA_IO_STAGE && io->op == RDDA_WRITE && !io->stage &&
	       (!io->stage_offset || io_has_head(ch, g, io));
}

/* Fault point: true if a test wants this I/O to find no memory. */
static bool io_starves(void)
{
#ifdef MESH_FAULTS
	static atomic_t tries;

	return rdda_fault(RDDA_FAULT_NOMEM) && !(atomic_inc_return(&tries) % 7);
#else
	return false;
#endif
}

/*
 * Start an I/O. Context: RCU read section, which keeps the session's device. Return: 0, or an errno
 * for the caller to end the I/O with.
 */
static int io_start(struct rdda_extent *e, struct rdda_io *io, struct list_head *ended)
{
	struct rdda_io_priv *p = rdda_io_priv(io);
	const struct rdda_grant *g = rcu_dereference(e->grant);
	struct rdda_chan *ch;
	unsigned long flags;
	int ret;

	if (!g)
		return READ_ONCE(e->io_err);
	ret = io_check(g, io) ?: io_starves() ? -ENOMEM : 0;
	if (ret)
		return ret;
	ch = g->s->chan[io->queue % g->s->nchan];
	if (io->stage) {
		if (io->stage->s != g->s)
			return -ESTALE;
		ch = io->stage->ch;
	}
	p->ch = ch;
	p->dq = &ch->queues.all[g->dq];
	if (io_has_pages(io) && !io_pushes(ch, io)) {
		ret = io_map(ch, io);
		if (ret)
			return ret;
	}
	spin_lock_irqsave(&ch->lock, flags);
	if (!ch->open)
		ret = -ENOLINK;
	else if (io->stage)
		ret = rdda_stage_use(ch, io);
	if (!ret) {
		rdda_recv_begin(ch, io);
		if (io_stages(ch, g, io))
			rdda_stage_begin(ch, io, command_most(ch, g));
		else
			io->behind = NULL;
		/*
		 * I/O from a stage needs no arena and frees some: it does not queue behind I/O that
		 * needs some
		 */
		if ((!io->stage && io_must_wait(ch, io)) || !io_issue(ch, io, ended))
			io_wait(ch, io);
		/* the caller will commit another channel than the stage's */
		if (ch->pending.nr >= RDDA_CMDS_MAX || io->flags & RDDA_IO_POST ||
		    (io->stage && ch != g->s->chan[io->queue % g->s->nchan]))
			chan_commit(ch);
	}
	spin_unlock_irqrestore(&ch->lock, flags);
	if (ret)
		rdda_io_unmap(ch, io);
	return ret;
}

/* Send an I/O; see rdda.h. @io: RDDA's until @done, which may be called before the return. */
void rdda_submit(struct rdda_extent *e, struct rdda_io *io)
{
	LIST_HEAD(ended);
	int ret;

	*rdda_io_priv(io) = (struct rdda_io_priv){};
	io->extent = e;
	io->issued = 0;
	io->err = 0;
	atomic_set(&io->left, 1);
	rcu_read_lock();
	ret = io_start(e, io, &ended);
	if (ret)
		io->done(io, ret);
	/* Still under RCU, as unmapping needs the session's device. */
	rdda_ios_end(&ended);
	rcu_read_unlock();
}

/* Post submitted I/O; see rdda.h. @queue: as in the I/Os. */
void rdda_commit(struct rdda_extent *e, unsigned int queue)
{
	const struct rdda_grant *g;
	struct rdda_chan *ch;
	unsigned long flags;

	rcu_read_lock();
	g = rcu_dereference(e->grant);
	if (g) {
		ch = g->s->chan[queue % g->s->nchan];
		spin_lock_irqsave(&ch->lock, flags);
		if (ch->open)
			chan_commit(ch);
		spin_unlock_irqrestore(&ch->lock, flags);
	}
	rcu_read_unlock();
}
