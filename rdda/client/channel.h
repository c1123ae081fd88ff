/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection of a session: its queues, buffers and chain of work requests. */
#ifndef RDDA_CLIENT_CHANNEL_H
#define RDDA_CLIENT_CHANNEL_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irq_poll.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#include "rdda/buddy.h"
#include "rdda/common/qp.h"
#include "rdda/wire.h"

struct rdda_dbg;
struct rdda_drive_queue;
struct rdda_io;
struct rdda_session;
struct rdda_cmd_slot;
struct rdda_stage;

#define RDDA_CLIENT_CMDS	128	/* commands in flight per channel, at most */
#define RDDA_CLIENT_CONTROLS	16	/* control messages of the client, per channel */
#define RDDA_CONTROLS_MAX	64	/* control messages that a target may have in flight */
#define RDDA_CHAIN		64	/* work requests in one post, at most */
/* Send queue, at most: a command in 512-byte segments with one SGE a request, and room. */
#define RDDA_SQ_MAX		640

/* One CMDS message and the credit held by the message. */
struct rdda_batch {
	struct rdda_drive_queue *dq;	/* drive queue charged with the credit */
	u16	gen;			/* changes with each use: a late completion does not fit */
	bool	sending;		/* the SEND has no send completion yet */
	bool	credit;			/* none of the commands was completed yet */
};

struct rdda_counts {
	u64	sends;
	u64	writes;
	u64	reads;
	u64	pushes;
	u64	commands;
	u64	write_bytes;
	u64	inlines;		/* of @sends: WRITEs that carry a command */
};

/*
 * One connection of a session. The fields @s, @index, @q and, in each part, the sizes, arrays and
 * buffers are set up before the channel is used and constant afterwards. The lock guards everything
 * from @lock to @ctl. The comment of a part names the file that writes the part, except for the
 * set-up in channel.c and connect.c.
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
		struct rdda_accept accept;	/* the same in each channel: from channel 0 */
		struct rdda_proof proof;	/* channel 0 */
		struct rdda_proved proved;
		bool	got_proved;
		u32	peer_qpn;
	} login;

	struct rdda_qp q;

	spinlock_t lock ____cacheline_aligned_in_smp;
	bool	open;	/* I/O may be posted; set by connect.c, cleared by abandon.c */

	/* I/O that waits for memory or a command slot: io.c, abandon.c */
	struct {
		struct rdda_drive_queue *all;	/* one for each of RDDA_DRIVE_QUEUES drives */
		struct list_head turns;		/* those with waiting I/O; the first comes next */
	} queues;

	/* commands that are built and not sent, oldest first: io.c, batch.c, abandon.c */
	struct {
		struct list_head cmds;
		u32	nr;
	} pending;

	/* waiting of pending commands for more commands: gather.c */
	struct {
		u32	ended;			/* commands ended since the last message, ... */
		unsigned long last;		/* ... jiffies when the last one ended */
		u32	mute;			/* next messages that go out without waiting */
		u32	mute_next;		/* ... value of @mute after the next vain wait */
		bool	waits;			/* @timer is set */
		u32	seen;			/* commands pending when @timer was set */
		ktime_t	until;			/* end of the wait: @timer is not set again later */
		struct hrtimer timer;
		unsigned long sent;		/* jiffies of the last message of commands */
		struct timer_list held;		/* bounds the wait for the message in flight */
	} gather;

	/* commands: io.c, io_end.c */
	struct {
		struct rdda_cmd_slot *all;
		u16	*free;			/* stack of numbers of free slots */
		u16	nfree;
		u16	nr;
	} slot;

	/* blocks for pushed reads: arena.c */
	struct {
		unsigned long *map;		/* one bit a block: in use */
		u16	*cmd;			/* slot number of each block's last command */
		u16	next;			/* block where the next search begins */
		u32	off;			/* first block's offset in the bounce arena */
	} bounce;

	/* CMDS messages: batch.c takes, sq.c and complete.c give back */
	struct {
		struct rdda_batch *all;
		u16	*free;
		u16	nfree;
		u16	nr;
		u32	features;		/* RDDA_FEAT_* that both sides know; constant */
		u64	data_end;		/* end of the last data WRITE in the chain */
		u32	out;	/* messages with neither a send completion nor an answer yet */
		struct rdda_bufs msg;
	} batch;

	/* the channel's part of the target's arena: arena.c */
	struct {
		struct rdda_buddy buddy;
		struct rdda_buddy_page *mem;	/* memory of @buddy */
		u32	max_order;		/* largest block; constant */
		u32	off;			/* as granted: connect.c */
		u32	len;
	} arena;

	/* staged payloads: stage.c */
	struct {
		struct rdda_stage *all;
		struct list_head free;
		struct list_head idle;		/* kept, not named by commands; oldest first */
		u32	pages;			/* arena pages held by all stages */
		u32	idle_pages;		/* ... by the stages in @idle */
#ifdef MESH_FAULTS
		u32	tries;			/* uses of a stage, counted for a fault point */
#endif
	} stage;

	struct rdda_sq sq;			/* chain.c */

	/* READs: chain.c, but for @todo */
	struct {
		struct list_head todo;		/* commands, oldest first: complete.c */
		u32	sge;			/* scatter entries of one; constant, like @max */
		u32	max;			/* READs in flight, at most */
		u32	free;			/* READs that may be posted now */
	} reads;

	/* send completions: sq.c; abandon.c empties the lists of a dead session */
	struct {
		struct list_head waiting;	/* commands, only for one; complete.c adds */
		struct ib_wc wc[16];		/* completions being handled */
		struct list_head *ended;	/* gets I/O that ended; set while handlers run */
		struct list_head finished;	/* ended I/O that the context could not report */
		bool	again;			/* the softirq has other work as well */
		bool	armed;			/* an event will come, or the softirq runs */
		struct irq_poll irq;
	} poll;

	struct rdda_counts counts;

	/* control messages: control.c takes, sq.c gives back */
	struct {
		u16	*free;
		u16	nfree;
		u16	nr;
		struct rdda_bufs msg;
	} ctl;

	/* jiffies of the last message received and the last PING: CQ handler, keep-alive timer */
	struct {
		unsigned long last_rx;
		unsigned long last_ping;
	} alive;

	/* order after extents were taken away: abandon.c, from the work item only */
	struct {
		bool	needed;			/* may carry their commands since the last ... */
		u64	tag;			/* ... PING for order, sent with this tag */
		u64	seen;			/* tag of the last PONG; control.c, CQ handler */
	} settle;

	/* receives: complete.c, CQ handler */
	struct {
		struct rdda_bufs msg;
		struct rdda_cmd_slot *run[RDDA_RUN_MAX];	/* reads of the current push */
		u8	copy[RDDA_MSG_MAX] __aligned(8);
	} rx;

	/* taking the completions of receives: recv.c */
	struct {
		spinlock_t lock;		/* one walk at a time; before the channel's */
		bool	own;			/* recv.c polls, not the core; constant */
		bool	left;			/* not armed: pollers or @timer come */
		u32	others;			/* I/O in flight, not polled; channel locked */
		unsigned long last;		/* jiffies of the last poll */
		struct ib_wc wc[16];		/* completions being handled */
		struct irq_poll irq;
		struct timer_list timer;
	} walk;
#ifdef MESH_FAULTS
	/* debug.c */
	struct {
		struct rdda_dbg *ring;
		u32	first;
		u32	nr;
	} dbg;
#endif
};

int rdda_chan_setup(struct rdda_chan *ch);
int rdda_chan_qp(struct rdda_chan *ch);
void rdda_chan_release(struct rdda_chan *ch);
void rdda_chan_free(struct rdda_chan *ch);

/* chain.c */
struct ib_rdma_wr *rdda_chain_add(struct rdda_chan *ch, enum ib_wr_opcode opcode);
void rdda_chain_end(struct rdda_chan *ch, struct ib_rdma_wr *wr, const struct rdda_io *io,
		    struct ib_cqe *cqe);
void rdda_chain_send(struct rdda_chan *ch, struct rdda_buf *b, u32 len);
void rdda_chain_post(struct rdda_chan *ch);
bool rdda_chan_sent(struct rdda_chan *ch, struct ib_wc *wc);

/* The last work request built and not posted yet, or NULL. */
static inline struct ib_rdma_wr *rdda_chain_last(struct rdda_chan *ch)
{
	return ch->sq.nr ? &ch->sq.wr[ch->sq.nr - 1] : NULL;
}

static inline bool rdda_chan_seq_done(struct rdda_chan *ch, u32 seq)
{
	return (s32)(ch->sq.sig_done - seq) >= 0;
}

#endif
