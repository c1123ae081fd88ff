/* SPDX-License-Identifier: GPL-2.0-only */
/* One connection: its queues and buffers. */
#ifndef TGT_CHANNEL_H
#define TGT_CHANNEL_H

#include <linux/hrtimer.h>
#include <linux/llist.h>
#include <linux/workqueue.h>

#include "rdda/common/auth.h"
#include "rdda/common/qp.h"
#include "rdda/wire.h"

struct tgt_cmd;
struct tgt_session;

#define TGT_TX_BUFS		32	/* sends of ours in flight */
#define TGT_CHAIN		32	/* work requests in one post */
#define TGT_SGES		16	/* of one work request: payloads that are pushed together */

/* Counters of a channel; none is ever reset. */
enum tgt_count {
	/* written in turns only */
	TGT_COMMANDS,
	TGT_READS,
	TGT_READ_BYTES,
	TGT_WRITES,
	TGT_WRITE_BYTES,
	TGT_DISCARDS,
	TGT_POLLED,	/* completions that busy polling found */
	/* under tx.lock */
	TGT_ERRORS,
	TGT_SENDS,
	TGT_PUSHES,
	TGT_COUNTS
};

/*
 * One connection. Each group of fields names the file that writes the group; channel.c sets all of
 * them up.
 */
struct tgt_channel {
	struct tgt_session	*s;		/* session; set at login */
	unsigned int		index;		/* in the session */
	/*
	 * the client has proved the key. Channel 0: written by the channel's control work only,
	 * under tgt_lock; other channels: set at creation
	 */
	bool			proven;
	/*
	 * 0, or the negative errno for which the login was refused after the proof was read;
	 * written by the control work only
	 */
	int			refused;
	bool			dead;		/* nothing is posted or admitted any more */
	/* the CQ is not polled any more; set by the teardown */
	bool			drained;
	struct rdma_cm_id	*cm;		/* connection */
	/* queue pair; only turns of the channel poll the receive CQ, for the send CQ see sq.c */
	struct rdda_qp		q;
	/* turns of the channel: poller.c, turns.c */
	struct {
		struct llist_node	node;
		atomic_t		state;
		/*
		 * ns at which busy polling ends and the CQ is armed again, if no completion comes;
		 * 0: no busy polling. Written in turns only (queue.c)
		 */
		u64			until;
	} poll;

	/* channel.c */
	struct {
		/* of channel 0, with QPNs and GIDs; other channels: a copy with their qpn[1] */
		struct rdda_proof	proof;
		struct rdda_session_key	key;	/* in channel 0, for all */
		u8			reads;	/* READs that the client may have in flight */
		u32			features;	/* RDDA_FEAT_* that both sides know */
		/* for the proof; after a refusal, for the disconnect */
		struct delayed_work	deadline;
	} login;
	struct work_struct	fail;		/* the NIC reported an error */

	/* tasklet: posts completions when bios end outside of a turn */
	struct tasklet_struct	kick;
	/* task that polls the CQ now, and posts results itself at the end of the batch; queue.c */
	struct task_struct	*batcher;

	/* receives: queue.c */
	struct {
		struct rdda_bufs	msg;
		spinlock_t		ctl_lock;	/* ctl */
		struct list_head	ctl;	/* control messages that need to sleep */
		struct work_struct	ctl_work;	/* handles the messages of @ctl */
	} rx;

	/* contexts of commands */
	struct {
		struct tgt_cmd		*all;
		unsigned int		nr;
		struct llist_head	free;	/* not in use; taken in a turn only: cmd.c */
		struct llist_head	done;	/* ended, newest first: push.c */
		u32			taken;	/* admitted, ever; in turns only: cmd.c */
	} cmd;
	u32			arena_off;	/* own part of the session's arena, in bytes */
	u32			arena_len;

	/* decides if results wait for others: gather.c; several CPUs write these fields */
	struct {
		atomic_t		ended;	/* commands, ever; push.c */
		/* commands in a row that found their CPU busy */
		u32			busy;
		u32			mute;	/* results that do not wait */
		/* next value of @mute, used when a result has waited in vain */
		u32			mute_next;
		u32			seen;	/* results that waited when @timer was set */
		ktime_t			due;	/* expiry of @timer; any CPU may be setting both */
		ktime_t			until;	/* last time at which @timer is set again */
		struct hrtimer		timer;
	} gather;

	/* results and messages to be sent: push.c */
	struct {
		spinlock_t		lock;	/* this group and @sq */
		unsigned int		nr_ctl;	/* number of answers in @ctl */
		/* ended commands, oldest first; pushed reads in the order of their bounce pages */
		struct list_head	pend;
		u32			collected;	/* commands put into @pend, ever */
		struct list_head	ctl;	/* control messages */
		struct rdda_bufs	msg;	/* of sends in flight, a ring */
		unsigned int		head;	/* buffers taken, ever */
		unsigned int		tail;	/* buffers given back, ever; sq.c */
		/* an event comes with the next send completion, or a turn will poll the CQ; sq.c */
		bool			armed;
		struct ib_wc		wc[4];	/* send completions being handled; sq.c */
	} tx;

	struct rdda_sq		sq;	/* push.c, sq.c; under tx.lock */
	u64			count[TGT_COUNTS];	/* by enum tgt_count */

	/*
	 * completions being handled: queue.c; on the stack many kernels would clear the array first
	 */
	struct ib_wc		wc[16];
};

/* Add @n to a counter. Context: as the comments in enum tgt_count say. */
static inline void tgt_count(struct tgt_channel *ch, enum tgt_count what, u64 n)
{
	WRITE_ONCE(ch->count[what], ch->count[what] + n);
}

struct tgt_channel *tgt_channel_create(struct rdma_cm_id *cm, struct tgt_session *s,
				       unsigned int index, const struct rdda_proof *p,
				       const struct rdda_session_key *key, u8 reads);
int tgt_channel_prove(struct tgt_channel *ch, const struct rdda_prove *m);
void tgt_channel_refuse(struct tgt_channel *ch, int err);
void tgt_channel_stop(struct tgt_channel *ch);
void tgt_channel_leave(struct tgt_channel *ch);
void tgt_channel_free(struct tgt_channel *ch);
unsigned int tgt_channel_memory(const struct tgt_channel *ch);

/* life.c */
void tgt_channel_kill(struct tgt_channel *ch, int err);
void tgt_bad_peer(struct tgt_channel *ch, const char *why);
int tgt_rbuf_post(struct tgt_channel *ch, struct rdda_buf *rb);

/* poller.c */
#define POLLER_QUEUED	1
#define POLLER_RUNS	2
#define POLLER_WAITED	4	/* tgt_poller_quiet() has begun; never cleared */

/* The poller of one CPU. */
struct tgt_poller {
	struct llist_head	ready;	/* tgt_channel.poll.node, newest first */
	struct work_struct	work;	/* queued when a channel comes into an empty @ready */
};

void tgt_poller_kick(struct tgt_channel *ch);
void tgt_poller_add(struct tgt_poller *p, struct tgt_channel *ch);
void tgt_poller_quiet(struct tgt_channel *ch);
void tgt_poller_rests(void);
int tgt_poller_init(work_func_t work);
void tgt_poller_exit(void);

/* turns.c */
void tgt_turns_work(struct work_struct *work);

/* queue.c */
bool tgt_queue_poll(struct tgt_channel *ch);
void tgt_queue_event(struct ib_cq *cq, void *ctx);
void tgt_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void tgt_ctl_work(struct work_struct *work);

/* gather.c */
void tgt_gather_init(struct tgt_channel *ch);
void tgt_gather_stop(struct tgt_channel *ch);
bool tgt_gather_waits(struct tgt_channel *ch, u32 ended, bool first);
void tgt_gather_over(struct tgt_channel *ch);

/* push.c */
void tgt_push_flush(struct tgt_channel *ch);
void tgt_push_run(struct tgt_channel *ch);
void tgt_push_kick(struct tasklet_struct *t);
void tgt_push_end(struct tgt_cmd *c);
void tgt_push_drop(struct tgt_channel *ch);
int tgt_push_init(void);
void tgt_push_exit(void);
int tgt_ctl_send(struct tgt_channel *ch, const void *msg, size_t len);
int tgt_ctl_event(struct tgt_channel *ch, const void *msg, size_t len);
int tgt_ctl_pong(struct tgt_channel *ch, u64 tag);

/* sq.c */
void tgt_sq_done(struct ib_cq *cq, struct ib_wc *wc);
bool tgt_sq_poll(struct tgt_channel *ch);
bool tgt_sq_await(struct tgt_channel *ch);
void tgt_sq_event(struct ib_cq *cq, void *ctx);
void tgt_sq_turn(struct tgt_channel *ch);

#endif
