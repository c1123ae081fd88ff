// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O that ends without an answer: all of a dead session, and what an extent has
 * when it is taken away, its drive hangs, or it is closed.
 *
 *   waiting, pending    was never sent: ends at once
 *   in flight           ends with its session; or is abandoned: the I/O ends, and
 *                       the command keeps all that it names until it is answered
 */
#define pr_fmt(fmt) "rdda: " fmt

#include "rdda/client/channel.h"
#include "rdda/client/control.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/common/fault.h"
#include "rdda/wire.h"

/* What waits, of one extent or, when @e is NULL, of all. */
static void chan_drop_waiting(struct rdda_chan *ch, const struct rdda_extent *e, int err,
			      struct list_head *ended)
{
	struct rdda_drive_queue *dq, *ndq;
	struct rdda_io *io, *nio;

	lockdep_assert_held(&ch->lock);
	list_for_each_entry_safe(dq, ndq, &ch->queues.turns, turn) {
		list_for_each_entry_safe(io, nio, &dq->waiting, node) {
			if (e && io->extent != e)
				continue;
			list_del(&io->node);
			rdda_io_drop(io, err, ended);
		}
		if (list_empty(&dq->waiting))
			list_del_init(&dq->turn);
	}
}

/* Whether the queue pair may still read the pages of a command that was sent. @ch: locked. */
static bool chan_names(struct rdda_chan *ch, const struct rdda_cmd_slot *slot)
{
	return slot->data &&
	       (!rdda_chan_seq_done(ch, slot->seq) || rdda_fault(RDDA_FAULT_QP_STAYS));
}

/* End I/O in flight whose pages no queue pair names; @e: of that extent; NULL: of all. */
static void chan_drop_flight(struct rdda_chan *ch, const struct rdda_extent *e,
			     struct list_head *ended)
{
	unsigned int i;

	lockdep_assert_held(&ch->lock);
	rdda_sq_scan(ch, ended);
	for (i = 0; i < ch->slot.nr; i++) {
		struct rdda_cmd_slot *slot = &ch->slot.all[i];
		struct rdda_io *io = slot->io;

		if ((e && slot->extent != e) || slot->state != RDDA_SLOT_FLIGHT || !io ||
		    chan_names(ch, slot))
			continue;
		slot->io = NULL;
		rdda_io_drop(io, -ENOLINK, ended);
	}
}

/*
 * Take no more I/O; end what was never sent, and what the queue pair names no pages of. @ch: of a
 * dead session. @ended: gets that I/O.
 */
void rdda_chan_close(struct rdda_chan *ch, struct list_head *ended)
{
	struct rdda_cmd_slot *slot, *next;
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	ch->open = false;
	rdda_sq_arm(ch);
	chan_drop_waiting(ch, NULL, -ENOLINK, ended);
	list_for_each_entry_safe(slot, next, &ch->pending.cmds, node) {
		list_del(&slot->node);
		rdda_cmd_slot_free(slot, -ENOLINK, ended);
	}
	ch->pending.nr = 0;
	if (test_bit(SESSION_UP, &ch->s->flags))
		chan_drop_flight(ch, NULL, ended);
	spin_unlock_irqrestore(&ch->lock, flags);
}

/* End what was in flight. @ch: channel whose queue pair is drained and destroyed. */
void rdda_chan_fail_all(struct rdda_chan *ch, struct list_head *ended)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&ch->lock, flags);
	for (i = 0; ch->slot.all && i < ch->slot.nr; i++) {
		struct rdda_cmd_slot *slot = &ch->slot.all[i];

		if (slot->state == RDDA_SLOT_FREE)
			continue;
		/* What only waited for its send completion has its outcome. */
		rdda_cmd_slot_free(slot, slot->state == RDDA_SLOT_SQ_WAIT ? slot->err : -ENOLINK,
				   ended);
	}
	INIT_LIST_HEAD(&ch->reads.todo);
	INIT_LIST_HEAD(&ch->poll.waiting);
	list_splice_tail_init(&ch->poll.finished, ended);
	spin_unlock_irqrestore(&ch->lock, flags);
}

/* End an extent's I/O that was never sent. @e: extent without a grant. */
void rdda_chan_fail_extent(struct rdda_chan *ch, struct rdda_extent *e, int err,
			   struct list_head *ended)
{
	struct rdda_cmd_slot *slot, *next;
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	ch->settle.needed = true;
	chan_drop_waiting(ch, e, err, ended);
	list_for_each_entry_safe(slot, next, &ch->pending.cmds, node) {
		if (slot->io->extent != e)
			continue;
		list_del(&slot->node);
		ch->pending.nr--;
		rdda_cmd_slot_free(slot, err, ended);
	}
	/* Others may wait for what it held. */
	rdda_chan_run(ch, ended);
	spin_unlock_irqrestore(&ch->lock, flags);
}

/*
 * End I/O whose commands a drive does not end. @e: extent without a grant. A command in flight
 * names only memory of the target and a bounce block once a send completion says that its WRITEs
 * are done, so its I/O may end with -ENOLINK, while the command keeps all that it names, also of a
 * staged payload, until the target answers. What still names pages stays: it ends by itself, or
 * with the session.
 */
void rdda_chan_abandon(struct rdda_chan *ch, struct rdda_extent *e, struct list_head *ended)
{
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	chan_drop_flight(ch, e, ended);
	rdda_chan_run(ch, ended);
	spin_unlock_irqrestore(&ch->lock, flags);
}

/* Whether a channel has anything of an extent, in flight or not. */
bool rdda_chan_has(struct rdda_chan *ch, struct rdda_extent *e)
{
	struct rdda_drive_queue *dq;
	unsigned long flags;
	struct rdda_io *io;
	bool has = false;

	if (rdda_chan_uses(ch, e, &has))
		return true;
	spin_lock_irqsave(&ch->lock, flags);
	list_for_each_entry(dq, &ch->queues.turns, turn)
		list_for_each_entry(io, &dq->waiting, node)
			has |= io->extent == e;
	spin_unlock_irqrestore(&ch->lock, flags);
	return has;
}

/*
 * Whether a channel has commands of an extent in flight. @io: set when I/O of it has not ended, or
 * its end is still to be reported.
 */
bool rdda_chan_uses(struct rdda_chan *ch, struct rdda_extent *e, bool *io)
{
	struct rdda_io *f;
	unsigned long flags;
	bool uses = false;
	unsigned int i;

	spin_lock_irqsave(&ch->lock, flags);
	for (i = 0; i < ch->slot.nr; i++) {
		if (ch->slot.all[i].extent != e)
			continue;
		uses = true;
		if (ch->slot.all[i].io)
			*io = true;
	}
	list_for_each_entry(f, &ch->poll.finished, node) {
		if (f->extent == e)
			*io = true;
	}
	spin_unlock_irqrestore(&ch->lock, flags);
	return uses || *io;
}

/*
 * An extent goes, or begins as one that was never open. @e: extent; its I/O has ended. What is
 * abandoned has no extent now: another extent may get the same address.
 */
void rdda_chan_forget(struct rdda_chan *ch, const struct rdda_extent *e)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&ch->lock, flags);
	for (i = 0; i < ch->slot.nr; i++)
		if (ch->slot.all[i].extent == e)
			ch->slot.all[i].extent = NULL;
	spin_unlock_irqrestore(&ch->lock, flags);
}

/* The target's PONG comes after it has taken or refused all that was posted before. */
static bool chan_settled(struct rdda_chan *ch)
{
	struct rdda_hdr ping = {
		.type = RDDA_PING,
		.len = cpu_to_le32(sizeof(ping)),
		.tag = cpu_to_le64(ch->settle.tag + 1),
	};

	if (READ_ONCE(ch->settle.seen) != ch->settle.tag)
		return false;
	if (!ch->settle.needed)
		return true;
	/* Before it is sent: no other PONG counts. */
	WRITE_ONCE(ch->settle.tag, ch->settle.tag + 1);
	ch->settle.needed = false;
	if (rdda_control_send(ch, &ping, sizeof(ping))) {
		WRITE_ONCE(ch->settle.tag, ch->settle.tag - 1);
		ch->settle.needed = true;
	}
	return false;
}

/*
 * Whether extents may be opened. Not while a channel may carry commands for an extent that was
 * taken away: one that the target has not seen yet would be admitted under what is opened now, and
 * write over what is newer. The target's work item, which polls until it is so.
 */
bool rdda_session_settled(struct rdda_session *s)
{
	bool settled = true;
	unsigned int i;

	for (i = 0; i < s->nchan; i++)
		settled &= chan_settled(s->chan[i]);
	return settled || rdda_fault(RDDA_FAULT_SETTLE);
}
