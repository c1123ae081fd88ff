/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The client of RDDA, inside. What its users see is rdda/rdda.h.
 *
 *   target.c    a target is kept connected: one work item, the only place where
 *      |        states change and sessions come and go
 *      |- connect.c   one session: RDMA-CM, login, proofs, arena, channels
 *      |    |- channel.c  one queue pair: buffers, chains of work requests
 *      |    '- sq.c       its send completions
 *      |- extent.c    OPEN, CLOSE, events
 *      |    '- opened.c   what an answer to OPEN means
 *      |- control.c   messages that are not I/O, calls, keep-alive
 *      '- stats.c
 *   io.c        I/O in: commands, batches    \   one lock a channel,
 *   complete.c  completions, READs, I/O out   |  nothing shared between
 *   abandon.c   I/O that ends unanswered      |  channels
 *   arena.c     pages of target and bounce    |
 *   stage.c     payloads kept in the arena   /
 *   debug.c     MESH_FAULTS builds: who still names which page
 *
 * Life of a command (struct rdda_slot):
 *
 *   FREE -> PENDING -> FLIGHT --------> COPY --------------> FREE   pushed read
 *                         |-----------> READ (to_read list,
 *                         |                   then posted) -> FREE   other read
 *                         '-----------> SQ_WAIT (until the send
 *                                       completion came)    -> FREE   the rest
 *
 * A lost channel ends its session: every queue pair is drained and destroyed,
 * and only then do the I/Os that it had in flight end, with -ENOLINK.
 */
#ifndef RDDA_CLIENT_H
#define RDDA_CLIENT_H

#include <linux/completion.h>
#include <linux/irq_poll.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "rdda/buddy.h"
#include "rdda/common/auth.h"
#include "rdda/common/fault.h"
#include "rdda/common/verbs.h"
#include "rdda/rdda.h"
#include "rdda/wire.h"

#define RDDA_CHANNELS_MAX	16
#define RDDA_CLIENT_CMDS	128	/* commands in flight we want per channel */
#define RDDA_CLIENT_CONTROLS	16	/* control messages of ours, per channel */
#define RDDA_CONTROLS_MAX	64	/* that a target may have in flight */
/* Of those that may be unanswered: PING for life and for order, and PONG. */
#define RDDA_PING_ROOM		3
#define RDDA_CLOSE_ROOM		2	/* the same: CLOSE */
#define RDDA_CHAIN		64	/* work requests built before they are posted */
/*
 * Of a work request: the NIC keeps memory for as many, used or not. A command of
 * 128 KiB in pieces of 16 KiB has 8; one in single pages takes some requests more.
 */
#define RDDA_SGE_MAX		8
/* A command of 128 KiB in 512-byte segments with one SGE a request, and room. */
#define RDDA_SQ_MIN		512
#define RDDA_DRIVE_QUEUES		64	/* drives of a target with their own queues */
#define RDDA_STAGES		32	/* staged payloads per channel */
#define RDDA_STAGE_CMDS		8

struct rdda_session;
struct rdda_chan;

/* A place in a mapped scatterlist. */
struct rdda_cursor {
	struct scatterlist *sg;
	u32 off;
};

/**
 * struct rdda_io_priv - ours inside struct rdda_io (its @private)
 * @ch: channel that carries it
 * @cur: where its next command's payload begins
 * @mapped: DMA-mapped entries, 0: not mapped
 * @staging: payload being kept, for RDDA_IO_STAGE
 * @dq: of its drive in @ch
 */
struct rdda_io_priv {
	struct rdda_chan *ch;
	struct rdda_drive_queue *dq;
	struct rdda_cursor cur;
	u32 mapped;
	u32 cmds;
	struct rdda_stage *staging;
};

static inline struct rdda_io_priv *rdda_io_priv(struct rdda_io *io)
{
	BUILD_BUG_ON(sizeof(struct rdda_io_priv) > sizeof(io->private));
	return (struct rdda_io_priv *)io->private;
}

/**
 * struct rdda_drive_queue - what one drive has of a channel; under the channel's lock
 * @waiting: I/O with commands still to be made, oldest first
 * @turn: in rdda_chan.turns while there is some
 * @slots: commands that have not ended
 * @credits: held by messages that begin with a command of this drive
 * @pages: of the arena, held by its commands
 *
 * Drives share slots, credits and arena by rdda_share_may(): one that hangs keeps
 * its part, and the others go on with theirs, also those that are opened later.
 */
struct rdda_drive_queue {
	struct list_head waiting;
	struct list_head turn;
	u16	slots;
	u16	credits;
	u32	pages;
};

enum rdda_slot_state {
	RDDA_SLOT_FREE,
	RDDA_SLOT_PENDING,	/* built, not sent */
	RDDA_SLOT_FLIGHT,	/* sent; the only state that takes a completion */
	RDDA_SLOT_COPY,		/* pushed data is being copied out */
	RDDA_SLOT_READ,		/* completed; its data is to be READ */
	RDDA_SLOT_SQ_WAIT,	/* completed; the send completion of its WRITEs is pending */
};

/**
 * struct rdda_slot - one command; all under its channel's lock
 * @ch: its channel
 * @io: what it is a part of; NULL: no I/O waits for it any more
 * @extent: of @io, also when that was abandoned: to be compared only; NULL when
 *	free, or when the extent has gone
 * @dq: of its drive
 * @node: on pending, to_read or sq_wait
 * @read_cqe: send completion of its READs
 * @at: where its payload lies in the I/O's scatterlist
 * @io_off: the same in bytes of the I/O
 * @len: payload bytes; of discard and zeroing, bytes of the range
 * @arena: offset of its arena block
 * @bounce: offset of its bounce block
 * @wrs: WRITEs that its payload takes
 * @seq: of the signalled request whose completion says that its WRITEs are done
 * @read_left: bytes not yet READ
 * @read_out: signalled READs posted
 * @batch: message it went with
 * @batch_gen: that message's generation
 * @part: which command of its I/O it is
 * @pages: of the arena that its drive queue counts for it
 * @idx: its number
 * @gen: changes with each use
 * @state: enum rdda_slot_state
 * @opcode: enum rdda_opcode
 * @has_arena: @arena is its own, to be freed
 * @data: has its own payload to WRITE
 * @push: a pushed read
 * @err: outcome
 */
struct rdda_slot {
	struct rdda_chan *ch;
	struct rdda_io *io;
	struct rdda_extent *extent;
	struct rdda_drive_queue *dq;
	struct list_head node;
	struct ib_cqe read_cqe;
	struct rdda_cursor at;
	u32	io_off;
	u32	len;
	u32	arena;
	u32	bounce;
	u32	wrs;
	u32	seq;
	u32	read_left;
	u16	read_out;
	u16	batch;
	u16	batch_gen;
	u16	part;
	u16	pages;
	u16	idx;
	u8	gen;
	u8	state;
	u8	opcode;
	bool	has_arena;
	bool	data;
	bool	push;
	int	err;
};

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

/**
 * struct rdda_grant - an opened extent in one session; read under RCU
 */
struct rdda_grant {
	struct rcu_head rcu;
	struct rdda_session *s;
	u32	number;			/* of @s, which may be gone */
	u32	nsid;
	u32	handle;
	u64	slba;
	u64	bytes;
	u32	max_bytes;
	u8	lba_shift;
	u8	dq;
	bool	rw;
};

/**
 * struct rdda_call - a request that waits for its answer
 * @node: on the session's calls, under call_lock
 * @tag: in both
 * @type: the answer must have
 * @rsp: where the answer goes
 * @rsp_max: room there
 * @err: 0 when answered
 * @waiter: target whose work item takes the answer; NULL: a caller waits for @done
 * @done: completed under call_lock after @node was taken off
 */
struct rdda_call {
	struct list_head node;
	u64	tag;
	u8	type;
	void	*rsp;
	u32	rsp_max;
	int	err;
	struct rdda_target *waiter;
	struct completion done;
};

/**
 * struct rdda_session - one incarnation at a target
 *
 * Memory lives as long as @ref (staged payloads hold one); what belongs to the
 * device dies in rdda_session_end(), in the target's work item.
 *
 * @dead: set once, by rdda_session_fail(); @err and @reason before it, by the
 *	same
 * @up: logged in; from then on a lost connection is the session's end
 * @queue_drive: drives by the number of their queue; used by the work item only
 * @nr_drive_queues: how many; written by the work item
 * @calls: under @call_lock
 * @next_tag: under @call_lock
 * @room: OPENs and CLOSEs that may be sent unanswered, under @call_lock
 */
struct rdda_session {
	struct kref ref;
	struct rdda_target *t;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct rdda_limits lim;
	u32	number;
	u32	id;			/* the target's number for it */
	struct rdda_key key;
	uuid_t	host;

	unsigned long flags;		/* SESSION_*, atomic bits */
	int	err;
	char	reason[64];
	wait_queue_head_t wait;		/* room, buffers */

	unsigned int nchan;
	struct rdda_chan *chan[RDDA_CHANNELS_MAX];

	struct rdda_piece pieces[RDDA_PIECES_MAX];
	unsigned int nr_pieces;
	bool	got_arena;		/* CQ handler of channel 0, then constant */
	u32	arena_bytes;
	u32	max_order;		/* what the borders of pieces allow */

	u32	push_bytes;		/* of one bounce block */
	u32	bounce_bytes;
	struct page **bounce_page;
	struct sg_table bounce_sgt;
	u64	*bounce_dma;
	struct ib_mr *bounce_mr;

	uuid_t	queue_drive[RDDA_DRIVE_QUEUES];
	unsigned int nr_drive_queues;

	u32	keepalive_ms;
	u32	dead_ms;
	struct timer_list alive;

	spinlock_t call_lock;		/* calls, next_tag, room */
	struct list_head calls;
	u64	next_tag;
	unsigned int room;

	struct list_head leave_node;	/* in @t's leaving */
	struct work_struct free_work;
};

#define SESSION_FAILING	0	/* err and reason are being written */
#define SESSION_DEAD	1
#define SESSION_UP	2
#define SESSION_LEAVING	3	/* we end it: nothing to log */
#define SESSION_REMOVED	4	/* its device goes, and waits for us */

static inline bool rdda_session_dead(struct rdda_session *s)
{
	return test_bit(SESSION_DEAD, &s->flags);
}

/**
 * struct rdda_target - a target that is kept connected
 *
 * @work: the one place where states change; @lock guards what others read:
 *	@state, @err, @reason, @session, @extents, @stop, @counts
 * @attempt: logins since a session lasted; used by the work item only, as all that
 *	follows up to @lock
 * @next_try: jiffies
 * @up_at: jiffies when @session came up
 * @older_key: log in with the key before the newest: the target refused that one
 * @leaving: sessions that ended, but for their connections
 * @pages: for messages and bounce blocks, kept from one session to the next: many
 *	sessions are made again at once when memory can be got by their I/O only
 */
struct rdda_target {
	struct sockaddr_storage addr;
	uuid_t	expect;
	bool	expect_any;
	const struct rdda_target_ops *ops;
	void	*priv;

	struct delayed_work work;
	struct completion stopped;
	unsigned int attempt;
	unsigned long next_try;
	unsigned long up_at;
	bool	older_key;
	struct list_head leaving;
	struct list_head pages;

	spinlock_t lock;		/* all that follows, and the extents */
	enum rdda_target_state state;
	int	err;
	char	reason[64];
	struct rdda_session *session;
	struct list_head extents;	/* ascending drive UUID, unknown ones last */
	bool	stop;
	uuid_t	uuid;
	u64	reconnects;
	struct rdda_counts counts;	/* of sessions that ended */
};

/**
 * struct rdda_extent - an extent that is kept open; under its target's lock
 *
 * @grant: not NULL while I/O may be sent; written by the work item
 * @busy: the work item uses it or calls its user
 * @due: jiffies of the next OPEN
 * @news: EXTENT_* bits for the work item
 * @again: it was open before, in this session or another, and not given back since
 * @excused: the next OPEN does not say so: its user still holds what makes that safe;
 *	@lock
 * @told: state that its user was notified of; used by the work item only, as all
 *	that follows
 * @draining: commands of a grant that was taken away have not ended; no
 *	OPEN is sent before they have
 * @ending: nor has I/O of it, and the user is notified of its state when it has
 * @stuck: since @stuck_at: I/O ends where its pages allow it, whatever the drive does
 * @kept: a grant that was taken away, when stuck or REFUSED; the target has it open
 *	until it is closed or opened again; @lock
 * @drain_due: jiffies of the next check
 * @drain_end: the session ends if they have not ended by then
 * @drain_ends: @drain_end counts
 * @open: the OPEN in flight, while @opening
 * @opened: its answer
 * @opening: an OPEN is in flight; @lock. The extent is not freed meanwhile
 * @open_end: jiffies when the target has had time enough for it
 * @released: not to be opened before rdda_extent_retry(); @lock
 * @preempts: @preempt as the user wants it, whenever it begins again
 */
struct rdda_extent {
	struct rdda_target *t;
	struct list_head node;
	uuid_t	uuid;
	bool	rw;
	bool	preempt;
	u64	generation;
	const struct rdda_extent_ops *ops;
	void	*priv;

	struct rdda_grant __rcu *grant;
	struct rdda_extent_info info;
	bool	busy;
	bool	closing;
	bool	ask;
	unsigned int attempt;
	unsigned long due;
	unsigned int news;
	wait_queue_head_t wait;
	bool	again;
	bool	excused;
	enum rdda_extent_state told;
	bool	draining;
	bool	ending;
	bool	stuck;
	unsigned long stuck_at;
	struct rdda_grant *kept;
	unsigned long drain_due;
	unsigned long drain_end;
	bool	drain_ends;
	struct rdda_call open;
	struct rdda_opened opened;
	bool	opening;
	unsigned long open_end;
	bool	released;
	bool	preempts;
};

#define EXTENT_GONE	1
#define EXTENT_BACK	2
#define EXTENT_REVOKED	4
#define EXTENT_RENEW	8
#define EXTENT_STUCK	16

/**
 * struct rdda_stage - a payload that stays in the arena; under its channel's lock
 * @s: holds a reference, while it is in use
 * @ch: whose arena part it is in
 * @off: arena blocks, one for each command that wrote it
 * @len: their payload
 * @nr: how many
 * @bytes: all of it
 * @pages: of the arena that are counted for it
 * @users: I/Os that send it now
 * @dropped: given back while it had users
 */
struct rdda_stage {
	struct list_head node;
	struct rdda_session *s;
	struct rdda_chan *ch;
	u32	off[RDDA_STAGE_CMDS];
	u32	len[RDDA_STAGE_CMDS];
	unsigned int nr;
	u32	bytes;
	u32	pages;
	u32	users;
	bool	dropped;
};

extern struct workqueue_struct *rdda_wq;

/* target.c */
void rdda_identity_get(uuid_t *host, struct rdda_key *key, bool older);
u32 rdda_session_number(void);
const u8 *rdda_boot_id(void);
void rdda_target_kick(struct rdda_target *t);
struct page *rdda_page_get(struct rdda_target *t);
void rdda_page_put(struct rdda_target *t, struct page *page);
struct rdda_session *rdda_session_get(struct rdda_target *t);

/* connect.c */
struct rdda_session *rdda_session_connect(struct rdda_target *t, int *err, char *reason,
					  size_t reason_len);
void rdda_session_end(struct rdda_session *s);
void rdda_session_leave(struct rdda_session *s, bool force);
void rdda_session_put(struct rdda_session *s);
__printf(3, 4)
void rdda_session_fail(struct rdda_session *s, int err, const char *fmt, ...);

/* channel.c */
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

/* control.c */
int rdda_control_send(struct rdda_chan *ch, const void *msg, size_t len);
int rdda_control_recv(struct rdda_chan *ch, const void *msg, size_t len);
void rdda_call_start(struct rdda_session *s, struct rdda_call *c);
int rdda_call_end(struct rdda_session *s, struct rdda_call *c);
void rdda_calls_abort(struct rdda_session *s);
bool rdda_room_try(struct rdda_session *s);
void rdda_room_give(struct rdda_session *s);
void rdda_call_close(struct rdda_session *s, u32 handle, unsigned int timeout_ms);
void rdda_alive_timer(struct timer_list *timer);

/* extent.c */
void rdda_extent_set(struct rdda_extent *e, enum rdda_extent_event ev, int err);
void rdda_extent_sort(struct rdda_extent *e);
struct rdda_grant *rdda_grant_swap(struct rdda_extent *e, struct rdda_grant *g);
void rdda_extents_lost(struct rdda_target *t, struct rdda_session *s);
void rdda_extents_tell_lost(struct rdda_target *t);
unsigned long rdda_extents_run(struct rdda_target *t, struct rdda_session *s);
void rdda_extent_event(struct rdda_session *s, const struct rdda_event *ev);

/* opened.c */
#define RDDA_GONE_RETRY_MS	5000
int rdda_opened_check(const struct rdda_extent *e, const struct rdda_opened *m);
int rdda_extent_errno(const struct rdda_extent *e);
struct rdda_grant *rdda_grant_make(struct rdda_extent *e, struct rdda_session *s,
				   const struct rdda_opened *m);
struct rdda_grant *rdda_opened_apply(struct rdda_extent *e, const struct rdda_opened *m,
				     struct rdda_grant *g);

/* arena.c */
int rdda_arena_check(struct rdda_session *s);
int rdda_arena_setup(struct rdda_chan *ch);
int rdda_arena_alloc(struct rdda_chan *ch, u32 bytes, u32 *off);
void rdda_arena_free(struct rdda_chan *ch, u32 off);
const struct rdda_piece *rdda_arena_piece(struct rdda_session *s, u32 off);
/* Which of its channel's bounce blocks a pushed read has. */
static inline unsigned int rdda_bounce_block(const struct rdda_slot *slot)
{
	return (slot->bounce - slot->ch->bounce_off) / slot->ch->s->push_bytes;
}

bool rdda_bounce_take(struct rdda_chan *ch, struct rdda_slot *slot);
void rdda_bounce_give(struct rdda_slot *slot);
int rdda_bounce_setup(struct rdda_session *s, struct rdda_chan *ch);
void rdda_bounce_free(struct rdda_session *s);
void rdda_bounce_copy(struct rdda_slot *slot);

/* io.c */
void rdda_chan_run(struct rdda_chan *ch, struct list_head *ended);
void rdda_slot_free(struct rdda_slot *slot, int err, struct list_head *ended);
void rdda_io_drop(struct rdda_io *io, int err, struct list_head *ended);
void rdda_ios_end(struct list_head *ended);
unsigned int rdda_cursor_fill(struct rdda_cursor *cur, u32 bytes, struct ib_sge *sge,
			      unsigned int max, u32 lkey, u32 *done);

/* abandon.c */
void rdda_chan_close(struct rdda_chan *ch, struct list_head *ended);
void rdda_chan_fail_all(struct rdda_chan *ch, struct list_head *ended);
void rdda_chan_abandon(struct rdda_chan *ch, struct rdda_extent *e, struct list_head *ended);
void rdda_chan_fail_extent(struct rdda_chan *ch, struct rdda_extent *e, int err,
			   struct list_head *ended);
bool rdda_chan_uses(struct rdda_chan *ch, struct rdda_extent *e, bool *io);
void rdda_chan_forget(struct rdda_chan *ch, const struct rdda_extent *e);
bool rdda_session_settled(struct rdda_session *s);

/* complete.c */
void rdda_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void rdda_reads_run(struct rdda_chan *ch);

/* sq.c */
#define RDDA_LOCAL_BUDGET	256	/* of its softirq, as the core has it */
void rdda_batch_sent(struct ib_cq *cq, struct ib_wc *wc);
void rdda_mark_sent(struct ib_cq *cq, struct ib_wc *wc);
void rdda_control_sent(struct ib_cq *cq, struct ib_wc *wc);
void rdda_read_done(struct ib_cq *cq, struct ib_wc *wc);
void rdda_sq_poll(struct rdda_chan *ch, struct list_head *ended);
void rdda_sq_later(struct rdda_chan *ch);
void rdda_sq_check(struct rdda_chan *ch);
void rdda_sq_arm(struct rdda_chan *ch);
void rdda_sq_event(struct ib_cq *cq, void *context);
int rdda_sq_softirq(struct irq_poll *iop, int budget);
void rdda_sq_stop(struct rdda_chan *ch);

/* The same when something may be there; @ch is locked. */
static inline void rdda_sq_scan(struct rdda_chan *ch, struct list_head *ended)
{
	if (ch->sig_posted != ch->sig_done)
		rdda_sq_poll(ch, ended);
}

/* stage.c */
int rdda_stage_setup(struct rdda_chan *ch);
void rdda_stage_begin(struct rdda_chan *ch, struct rdda_io *io);
bool rdda_stage_keep(struct rdda_slot *slot);
void rdda_stage_finish(struct rdda_io *io);
int rdda_stage_use(struct rdda_chan *ch, struct rdda_io *io);

/* stats.c */
void rdda_counts_add(struct rdda_counts *to, struct rdda_session *s);

/* debug.c: rule 1, asserted; see there */
#ifdef MESH_FAULTS
int rdda_dbg_setup(struct rdda_chan *ch);
void rdda_dbg_free(struct rdda_chan *ch);
void rdda_dbg_posted(struct rdda_chan *ch, const struct ib_sge *sge, unsigned int nr, u32 seq);
void rdda_dbg_done(struct rdda_chan *ch);
void rdda_dbg_unmap(struct rdda_io *io);
void rdda_dbg_destroyed(struct rdda_chan *ch);
#else
static inline int rdda_dbg_setup(struct rdda_chan *ch) { return 0; }
static inline void rdda_dbg_free(struct rdda_chan *ch) { }
static inline void rdda_dbg_posted(struct rdda_chan *ch, const struct ib_sge *sge,
				   unsigned int nr, u32 seq) { }
static inline void rdda_dbg_done(struct rdda_chan *ch) { }
static inline void rdda_dbg_unmap(struct rdda_io *io) { }
static inline void rdda_dbg_destroyed(struct rdda_chan *ch) { }
#endif

#endif
