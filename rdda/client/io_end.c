// SPDX-License-Identifier: GPL-2.0-only
/* The end of a command and of its I/O: memory is freed, users are notified. */
#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/debug.h"
#include "rdda/client/io.h"
#include "rdda/client/recv.h"
#include "rdda/client/session.h"
#include "rdda/client/stage.h"

/*
 * Make scatter entries for the next bytes. @cur: where to begin; moved on. @bytes, @max: limits;
 * the first one reached ends the entries. @sge: array to fill, or NULL to count only. @done: set to
 * the bytes in the entries. Return: number of entries.
 */
unsigned int rdda_cursor_fill(struct rdda_cursor *cur, u32 bytes, struct ib_sge *sge,
			      unsigned int max, u32 lkey, u32 *done)
{
	unsigned int n = 0;
	u32 part;

	*done = 0;
	while (bytes && n < max) {
		part = min(bytes, sg_dma_len(cur->sg) - cur->off);
		if (sge) {
			sge[n].addr = sg_dma_address(cur->sg) + cur->off;
			sge[n].length = part;
			sge[n].lkey = lkey;
		}
		n++;
		*done += part;
		bytes -= part;
		cur->off += part;
		if (cur->off == sg_dma_len(cur->sg)) {
			cur->sg = sg_next(cur->sg);
			cur->off = 0;
		}
	}
	return n;
}

/* Unmap the pages of an I/O: no work request names them any more. */
void rdda_io_unmap(struct rdda_chan *ch, struct rdda_io *io)
{
	struct rdda_io_priv *p = rdda_io_priv(io);
	struct sg_table sgt = { .sgl = io->sg, .nents = p->mapped, .orig_nents = io->nents };

	if (!p->mapped)
		return;
	rdda_dbg_unmap(io);
	ib_dma_unmap_sgtable_attrs(ch->s->dev, &sgt, rdda_io_dir(io), 0);
	p->mapped = 0;
}

/*
 * Report to users that their I/O ended. @ended: list of struct rdda_io; no lock is held. No work
 * request names the pages any more: they are unmapped first.
 */
void rdda_ios_end(struct list_head *ended)
{
	struct rdda_io *io, *next;

	/* done() may free the I/O, or reuse it in another list */
	list_for_each_entry_safe(io, next, ended, node) {
		rdda_io_unmap(rdda_io_priv(io)->ch, io);
		if (unlikely(rdda_io_priv(io)->staging || io->stage))
			rdda_stage_finish(io);
		io->done(io, io->err);
	}
	INIT_LIST_HEAD(ended);
}

/*
 * One event that an I/O waits for has come. @io: its channel is locked; may be gone after its
 * @done. @err: outcome of the event. @ended: gets the I/O after the last event.
 */
void rdda_io_drop(struct rdda_io *io, int err, struct list_head *ended)
{
	if (err && !io->err)
		io->err = err;
	if (!atomic_dec_and_test(&io->left))
		return;
	rdda_recv_end(rdda_io_priv(io)->ch, io);
	list_add_tail(&io->node, ended);
}

/*
 * End a command and free its slot. @slot: nothing names its memory any more; its channel is locked.
 * @ended: gets the I/O after its last command.
 */
void rdda_cmd_slot_free(struct rdda_cmd_slot *slot, int err, struct list_head *ended)
{
	struct rdda_chan *ch = slot->ch;
	struct rdda_io *io = slot->io;

	lockdep_assert_held(&ch->lock);
	if (slot->head)
		rdda_arena_free(ch, slot->head_page);
	if (slot->has_arena &&
	    (err || !io || !rdda_io_priv(io)->staging || !rdda_stage_keep(slot)))
		rdda_arena_free(ch, slot->arena);
	if (slot->stage)
		rdda_stage_release(slot);
	if (slot->push)
		rdda_bounce_give(slot);
	slot->dq->cmds--;
	slot->dq->pages -= slot->pages;
	slot->has_arena = false;
	slot->push = false;
	slot->state = RDDA_SLOT_FREE;
	slot->gen = (slot->gen + 1) & RDDA_GEN_MASK;
	slot->io = NULL;
	ch->slot.free[ch->slot.nfree++] = slot->idx;
	slot->extent = NULL;
	if (io)			/* else abandoned; the extent may be gone */
		rdda_io_drop(io, err, ended);
}
