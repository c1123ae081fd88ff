/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection of a session: its queues, buffers and chain of work requests. */
#ifndef RDDA_CLIENT_CHANNEL_H
#define RDDA_CLIENT_CHANNEL_H

#include <linux/completion.h>
#include <linux/irq_poll.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "rdda/buddy.h"
#include "rdda/common/verbs.h"
#include "rdda/wire.h"

struct rdda_dbg;
struct rdda_drive_queue;
struct rdda_session;
struct rdda_slot;
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

/* A DMA-mapped message buffer, of either direction. */
struct rdda_buf {
	struct ib_cqe cqe;
	struct rdda_chan *ch;
	void	*data;
	u64	dma;
};

/**
 * struct rdda_bufs - message buffers, several to a page
 * @buf: the buffers
 * @nr: how many
 * @page: their memory, of the target's pages
 * @page_dma: its mapping
 * @pages: how many
 * @dir: of the mapping
 */
struct rdda_bufs {
	struct rdda_buf *buf;
	unsigned int nr;
	struct page **page;
	u64	*page_dma;
	unsigned int pages;
	enum dma_data_direction dir;
};

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

/* What a signalled work request retires when it completes. */
struct rdda_sig {
	u16	wrs;
	u16	reads;
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
 * Set up before the channel is used and constant then: @s, @index, @id, @q,
 * @slots, @batches, the buffers, sizes and arrays.
 * Written by the CQ handler alone: @rx_copy.
 * All else is under @lock unless it says so.
 *
 * @open: I/O may be posted
 * @drive_queues: RDDA_DRIVE_QUEUES drives
 * @turns: drive queues where I/O waits; the first comes next
 * @pending: commands that are built, oldest first
 * @to_read: commands whose data is to be READ, oldest first
 * @sq_wait: commands that wait for a send completion only
 * @bounce_map: bounce blocks in use, one bit each
 * @bounce_slot: the command that each of them was last taken for
 * @bounce_next: where the search for the next one begins
 * @sq_free: work requests that may be posted
 * @reads_max: READs that may be in flight, constant once connected
 * @reads_free: of them, those that may still be posted
 * @unsig: requests posted since the last signalled one; @unsig_reads the same
 * @sig_posted: signalled requests posted, counts on
 * @sig_done: of them, completed
 * @sends_out: CMDS messages without a send completion
 * @wc: send completions being handled
 * @ended: where their handlers put I/O that ended; set while they run
 * @finished: I/O that ended where that could not be reported; for the softirq
 * @again: and something for it to do besides
 * @armed: an event will come for the next send completion, or its softirq runs
 * @sq_poll: that softirq
 * @last_rx: jiffies of the last message, written by the CQ handler
 * @unsettled: it may carry commands for an extent that was taken away since the last
 *	PING for order; used by the work item only, as
 * @settle: tag of that PING
 * @settled: tag of the last PONG to one, written by the CQ handler
 */
struct rdda_chan {
	struct rdda_session *s;
	unsigned int index;

	/* connecting; cm_err is written before cm_done completes */
	struct rdma_cm_id *id;
	struct completion cm_done;
	int	cm_err;
	unsigned int cm_reason;
	struct rdda_join join;		/* any but channel 0 */
	struct rdda_joined joined;
	struct rdda_accept accept;	/* of channel 0, in each */
	struct rdda_proof proof;	/* channel 0 */
	struct rdda_proved proved;
	bool	got_proved;
	u32	peer_qpn;

	struct rdda_qp q;
	u32	sq_size;
	u32	sge_max;
	u32	read_sge;
	u16	cmds;
	u16	nr_batches;
	u16	nr_ctl;
	u32	arena_off;
	u32	arena_len;
	u32	max_order;
	u32	bounce_off;
	u16	nr_bounce;

	/* all that follows, up to @last_rx */
	spinlock_t lock ____cacheline_aligned_in_smp;
	bool	open;
	struct rdda_drive_queue *drive_queues;
	struct list_head turns;
	struct list_head pending;
	struct list_head to_read;
	struct list_head sq_wait;
	u32	npending;
	struct rdda_slot *slots;
	u16	*slot_free;
	u16	nslot_free;
	unsigned long *bounce_map;
	u16	*bounce_slot;
	u16	bounce_next;
	struct rdda_batch *batches;
	u16	*batch_free;
	u16	nbatch_free;
	struct rdda_buddy buddy;
	struct rdda_buddy_page *buddy_mem;
	struct rdda_stage *stages;
	struct list_head stage_free;
	u32	staged_pages;

	u32	sq_free;
	u32	reads_max;
	u32	reads_free;
	u32	unsig;
	u32	unsig_reads;
	u32	sig_posted;
	u32	sig_done;
	struct rdda_sig *sig;
	u32	sig_mask;
	struct ib_cqe mark_cqe;
	u32	sends_out;
	struct ib_wc wc[16];
	struct list_head *ended;
	struct list_head finished;
	bool	again;
	bool	armed;
	struct irq_poll sq_poll;
	struct ib_rdma_wr *wr;
	struct ib_sge *sge;
	u32	chain;
	int	post_err;
	struct rdda_counts counts;
	u16	*ctl_free;
	u16	nctl_free;

	unsigned long last_rx;
	unsigned long last_ping;	/* keep-alive timer only */
	bool	unsettled;
	u64	settle;
	u64	settled;
	struct rdda_bufs rx;
	struct rdda_bufs tx;		/* of batches */
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
int rdda_bufs_alloc(struct rdda_chan *ch, struct rdda_bufs *b, unsigned int nr,
		    enum dma_data_direction dir, void (*done)(struct ib_cq *cq, struct ib_wc *wc));
void rdda_bufs_free(struct rdda_chan *ch, struct rdda_bufs *b);
int rdda_rx_post(struct rdda_chan *ch, struct rdda_buf *b);
struct ib_rdma_wr *rdda_chain_add(struct rdda_chan *ch, enum ib_wr_opcode opcode);
struct ib_sge *rdda_chain_sge(struct rdda_chan *ch, struct ib_rdma_wr *wr);
void rdda_chain_end(struct rdda_chan *ch, struct ib_rdma_wr *wr, struct ib_cqe *cqe);
void rdda_chain_post(struct rdda_chan *ch);
bool rdda_chan_sent(struct rdda_chan *ch, struct ib_wc *wc);
static inline bool rdda_chan_seq_done(struct rdda_chan *ch, u32 seq)
{
	return (s32)(ch->sig_done - seq) >= 0;
}

#endif
