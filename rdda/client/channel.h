/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection of a session: its queues, buffers and chain of work requests. */
#ifndef RDDA_CLIENT_CHANNEL_H
#define RDDA_CLIENT_CHANNEL_H

#include <linux/completion.h>
#include <linux/irq_poll.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "rdda/buddy.h"
#include "rdda/common/qp.h"
#include "rdda/wire.h"

struct rdda_dbg;
struct rdda_drive_queue;
struct rdda_session;
struct rdda_cmd_slot;
struct rdda_stage;

#define RDDA_CLIENT_CMDS	128	/* commands in flight we want per channel */
#define RDDA_CLIENT_CONTROLS	16	/* control messages of ours, per channel */
#define RDDA_CONTROLS_MAX	64	/* that a target may have in flight */
#define RDDA_CHAIN		64	/* work requests built before they are posted */
/*
 * Of a work request: the NIC keeps memory for as many, used or not. A command of
 * 128 KiB in pieces of 16 KiB has 8; one in single pages takes some requests more.
 */
#define RDDA_SGE_MAX		8
/* A command of 128 KiB in 512-byte segments with one SGE a request, and room. */
#define RDDA_SQ_MIN		512

/**
 * struct rdda_batch - one CMDS message and the credit it holds
 * @gen: identifies a late completion of an older use
 * @unsent: its SEND has no send completion yet
 * @credit: no completion of its commands has come yet
 * @dq: that the credit counts for
 */
struct rdda_batch {
	struct rdda_drive_queue *dq;
	u16	gen;
	bool	unsent;
	bool	credit;
};

struct rdda_counts {
	u64	sends;
	u64	writes;
	u64	reads;
	u64	pushes;
	u64	commands;
};

/**
 * struct rdda_chan - one connection of a session
 *
 * Set up before the channel is used and constant then: @s, @index, @login.id, @q,
 * the sizes, the arrays and buffers. All from @lock to @ctl_free is under it.
 * A part names the file that writes it, but for its set-up in channel.c, connect.c.
 *
 * @open: I/O may be posted; set by connect.c, cleared by abandon.c
 * @drive_queues: RDDA_DRIVE_QUEUES drives; io.c
 * @turns: drive queues where I/O waits; the first comes next; io.c, abandon.c
 * @pending: commands that are built, oldest first; io.c, abandon.c
 * @to_read: commands whose data is to be READ, oldest first; complete.c
 * @sq_wait: commands that wait for a send completion only; complete.c, sq.c
 * @npending: entries of @pending
 * @slot_free: numbers of command slots not in use; io.c
 * @last_rx: jiffies of the last message, written by the CQ handler, as @rx_copy
 */
struct rdda_chan {
	struct rdda_session *s;
	unsigned int index;

	/* connect.c, and control.c for @proved */
	struct {
		struct rdma_cm_id *id;
		struct completion cm_done;
		int	cm_err;			/* written before cm_done completes */
		unsigned int cm_reason;
		struct rdda_join join;		/* any but channel 0 */
		struct rdda_joined joined;
		struct rdda_accept accept;	/* of channel 0, in each */
		struct rdda_proof proof;	/* channel 0 */
		struct rdda_proved proved;
		bool	got_proved;
		u32	peer_qpn;
	} login;

	struct rdda_qp q;
	u16	cmds;
	u16	nr_batches;
	u16	nr_ctl;
	u32	arena_off;
	u32	arena_len;
	u32	max_order;
	u32	bounce_off;
	u16	nr_bounce;

	spinlock_t lock ____cacheline_aligned_in_smp;
	bool	open;
	struct rdda_drive_queue *drive_queues;
	struct list_head turns;
	struct list_head pending;
	struct list_head to_read;
	struct list_head sq_wait;
	u32	npending;
	struct rdda_cmd_slot *cmd_slots;
	u16	*slot_free;
	u16	nslot_free;

	/* blocks for pushed reads: arena.c */
	struct {
		unsigned long *map;		/* in use, one bit each */
		u16	*cmd;			/* the command that each was last taken for */
		u16	next;			/* where the search begins */
	} bounce;

	/* CMDS messages: io.c takes, sq.c and complete.c give back */
	struct {
		struct rdda_batch *all;
		u16	*free;
		u16	nfree;
	} batch;

	/* arena.c */
	struct rdda_buddy buddy;
	struct rdda_buddy_page *buddy_mem;

	/* stage.c */
	struct {
		struct rdda_stage *all;
		struct list_head free;
		u32	pages;			/* of the arena, held by all */
	} stage;

	struct rdda_sq sq;			/* channel.c */

	/* READs: channel.c */
	struct {
		u32	sge;			/* of one; constant, as @max once connected */
		u32	max;			/* in flight */
		u32	free;			/* of them, those that may still be posted */
	} reads;

	/* send completions: sq.c, but for what abandon.c adds to @finished */
	struct {
		u32	sends_out;		/* CMDS messages without one; io.c counts up */
		struct ib_wc wc[16];		/* being handled */
		struct list_head *ended;	/* for I/O that ended; set while they run */
		struct list_head finished;	/* the same where that could not be reported */
		bool	again;			/* the softirq has something to do besides */
		bool	armed;			/* an event will come, or the softirq runs */
		struct irq_poll irq;
	} poll;

	struct rdda_counts counts;
	u16	*ctl_free;			/* control.c takes, sq.c gives back */
	u16	nctl_free;

	unsigned long last_rx;
	unsigned long last_ping;		/* keep-alive timer only */

	/* extents that were taken away: abandon.c, from the work item only */
	struct {
		bool	needed;			/* may carry commands of one since the last ... */
		u64	tag;			/* ... PING for order, with this tag */
		u64	seen;			/* of the last PONG; control.c, CQ handler */
	} settle;

	struct rdda_bufs rx;
	struct rdda_bufs tx;			/* of batches */
	struct rdda_bufs ctl;
	u8	rx_copy[RDDA_MSG_MAX] __aligned(8);
#ifdef MESH_FAULTS
	struct rdda_dbg *dbg;
	u32	dbg_first;
	u32	dbg_nr;
#endif
};

int rdda_chan_setup(struct rdda_chan *ch);
int rdda_chan_qp(struct rdda_chan *ch);
void rdda_chan_release(struct rdda_chan *ch);
void rdda_chan_free(struct rdda_chan *ch);
struct ib_rdma_wr *rdda_chain_add(struct rdda_chan *ch, enum ib_wr_opcode opcode);
void rdda_chain_end(struct rdda_chan *ch, struct ib_rdma_wr *wr, struct ib_cqe *cqe);
void rdda_chain_send(struct rdda_chan *ch, struct rdda_buf *b, u32 len);
void rdda_chain_post(struct rdda_chan *ch);
bool rdda_chan_sent(struct rdda_chan *ch, struct ib_wc *wc);
static inline bool rdda_chan_seq_done(struct rdda_chan *ch, u32 seq)
{
	return (s32)(ch->sq.sig_done - seq) >= 0;
}

#endif
