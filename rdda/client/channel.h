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

#define RDDA_CLIENT_CMDS	128	/* commands in flight we want per channel */
#define RDDA_CLIENT_CONTROLS	16	/* control messages of ours, per channel */
#define RDDA_CONTROLS_MAX	64	/* that a target may have in flight */
#define RDDA_CHAIN		64	/* work requests built before they are posted */
/* Of the send queue: a command in 512-byte segments with one SGE a request, and room. */
#define RDDA_SQ_MAX		640

/* One CMDS message and the credit it holds. */
struct rdda_batch {
	struct rdda_drive_queue *dq;	/* that the credit counts for */
	u16	gen;			/* identifies a late completion of an older use */
	bool	sending;		/* its SEND has no send completion yet */
	bool	credit;			/* no completion of its commands has come yet */
};

struct rdda_counts {
	u64	sends;
	u64	writes;
	u64	reads;
	u64	pushes;
	u64	commands;
	u64	write_bytes;
	u64	inlines;		/* of @sends, WRITEs with their command */
};

/*
 * One connection of a session. Set up before the channel is used and constant then: @s, @index, @q,
 * and in each part the sizes, the arrays and the buffers. All from @lock to @ctl is under it. A
 * part names the file that writes it, but for its set-up in channel.c, connect.c.
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

	spinlock_t lock ____cacheline_aligned_in_smp;
	bool	open;	/* I/O may be posted; set by connect.c, cleared by abandon.c */

	/* I/O that waits for memory or a command: io.c, abandon.c */
	struct {
		struct rdda_drive_queue *all;	/* of RDDA_DRIVE_QUEUES drives */
		struct list_head turns;		/* those where some waits; the first comes next */
	} queues;

	/* commands that are built, oldest first: io.c, abandon.c */
	struct {
		struct list_head cmds;
		u32	nr;
	} pending;

	/* whether those wait for more: gather.c */
	struct {
		u32	ended;			/* commands since the last message, ... */
		unsigned long last;		/* ... jiffies when the last of them did */
		u32	mute;			/* messages that do not wait */
		u32	mute_next;		/* ... the next time that one has waited in vain */
		bool	waits;			/* @timer is set */
		u32	seen;			/* commands that were pending when it was set */
		ktime_t	until;			/* it is not set again after this */
		struct hrtimer timer;
		unsigned long sent;		/* jiffies of the last message of commands */
		struct timer_list held;		/* what is pending does not wait for it for long */
	} gather;

	/* commands: io.c, io_end.c */
	struct {
		struct rdda_cmd_slot *all;
		u16	*free;			/* numbers of those not in use */
		u16	nfree;
		u16	nr;
	} slot;

	/* blocks for pushed reads: arena.c */
	struct {
		unsigned long *map;		/* in use, one bit each */
		u16	*cmd;			/* the command that each was last taken for */
		u16	next;			/* where the search begins */
		u32	off;			/* of the first, in the session's bounce arena */
	} bounce;

	/* CMDS messages: io.c takes, sq.c and complete.c give back */
	struct {
		struct rdda_batch *all;
		u16	*free;
		u16	nfree;
		u16	nr;
		u32	features;		/* RDDA_FEAT_* that both know; constant */
		u64	data_end;		/* where the last data WRITE of the chain ends */
		u32	out;	/* of which neither a send completion nor an answer has come */
		struct rdda_bufs msg;
	} batch;

	/* its part of the target's arena: arena.c */
	struct {
		struct rdda_buddy buddy;
		struct rdda_buddy_page *mem;	/* of @buddy */
		u32	max_order;		/* of a block; constant */
		u32	off;			/* as granted: connect.c */
		u32	len;
	} arena;

	/* stage.c */
	struct {
		struct rdda_stage *all;
		struct list_head free;
		struct list_head idle;		/* kept, named by no command; oldest first */
		u32	pages;			/* of the arena, held by all */
		u32	idle_pages;		/* ... by those of @idle */
#ifdef MESH_FAULTS
		u32	tries;			/* of sending one */
#endif
	} stage;

	struct rdda_sq sq;			/* chain.c */

	/* READs: chain.c, but for @todo */
	struct {
		struct list_head todo;		/* commands, oldest first: complete.c */
		u32	sge;			/* of one; constant, as @max once connected */
		u32	max;			/* in flight */
		u32	free;			/* of them, those that may still be posted */
	} reads;

	/* send completions: sq.c, but for what abandon.c adds to @finished */
	struct {
		struct list_head waiting;	/* commands, for one only; complete.c adds */
		struct ib_wc wc[16];		/* being handled */
		struct list_head *ended;	/* for I/O that ended; set while they run */
		struct list_head finished;	/* the same where that could not be reported */
		bool	again;			/* the softirq has something to do besides */
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

	/* jiffies of the last message, and of the last PING: CQ handler, keep-alive timer */
	struct {
		unsigned long last_rx;
		unsigned long last_ping;
	} alive;

	/* extents that were taken away: abandon.c, from the work item only */
	struct {
		bool	needed;			/* may carry commands of one since the last ... */
		u64	tag;			/* ... PING for order, with this tag */
		u64	seen;			/* of the last PONG; control.c, CQ handler */
	} settle;

	/* receives: complete.c, CQ handler */
	struct {
		struct rdda_bufs msg;
		struct rdda_cmd_slot *run[RDDA_RUN_MAX];	/* reads of the push in hand */
		u8	copy[RDDA_MSG_MAX] __aligned(8);
	} rx;

	/* who takes their completions: recv.c */
	struct {
		spinlock_t lock;		/* one walk at a time; outside the channel's */
		bool	own;			/* not the core; constant */
		bool	left;			/* not armed: pollers or @timer take what comes */
		u32	others;			/* I/O in flight, not polled; under the channel's */
		unsigned long last;		/* jiffies when one polled */
		struct ib_wc wc[16];		/* being handled */
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

/* The last work request that is built and not posted, or NULL. */
static inline struct ib_rdma_wr *rdda_chain_last(struct rdda_chan *ch)
{
	return ch->sq.nr ? &ch->sq.wr[ch->sq.nr - 1] : NULL;
}

static inline bool rdda_chan_seq_done(struct rdda_chan *ch, u32 seq)
{
	return (s32)(ch->sq.sig_done - seq) >= 0;
}

#endif
