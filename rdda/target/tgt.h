/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * meshtgt: the target. It gives out memory and extents, checks commands, forwards
 * them to block devices, and never interprets what is in that memory.
 *
 *   netlink.c  meshd's orders ---> drive.c, grant.c (drives, and who holds what)
 *   sysfs.c    what is spent, and whom it refused, for people
 *   listen.c   logins -----------> session.c, channel.c (who is connected)
 *
 *   queue.c    one channel's completions, batch by batch
 *     |- cmd.c    commands -> checked -> sched.c -> bios
 *     |- open.c   OPEN, CLOSE -> grant.c, holders.c
 *   push.c     results of bios -> pushed data, DONE messages
 *
 *   arena.c    the memory that a session is given
 *   state.[ch] states of a session, and the decision on an OPEN (pure)
 *   main.c     init and exit
 *
 * What each object holds, and what frees it:
 *
 *   tgt_session -- tgt_channel[] -- tgt_cmd[] (bios in flight)
 *        |                             |
 *        `-- tgt_sdrive (per drive) -- tgt_view: the extents a command was
 *                 |                    admitted under; counts its commands
 *                 `-- tgt_open -- tgt_extent -- tgt_drive
 *
 * A view is replaced, never changed. It is gone when the last command admitted
 * under it is; CLOSE, EXTENTS_SET, OPEN after a lost session and the memory of
 * a dead session all wait for views, and for nothing else.
 *
 * Locks, outermost first:
 *   tgt_lock (mutex)		drives, extents, opens, sdrives' views, sessions
 *   tgt_session.lock (spin)	its state and channels
 *   tgt_drive.sched_lock (spin, irqs off)	commands that wait for their turn
 *   tgt_channel.tx_lock (spin, bh off)		the send queue
 */
#ifndef TGT_H
#define TGT_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "driver/compat/bdev.h"
#include "rdda/common/auth.h"
#include "rdda/common/fault.h"
#include "rdda/common/verbs.h"
#include "rdda/target/state.h"
#include "rdda/wire.h"

#define TGT_CHANNELS_MAX	16	/* of a session */
#define TGT_CONTROLS		16	/* control messages in flight, each way */
#define TGT_TX_BUFS		16	/* sends of ours in flight */
#define TGT_CHAIN		32	/* work requests in one post */
#define TGT_SGES		16	/* of one work request: payloads that are pushed together */
#define TGT_VECS		6	/* runs, cut where pieces end */
#define TGT_UNPROVEN_MAX	64	/* connections that have not proved the key, ... */
#define TGT_UNPROVEN_ADDR	4	/* ... of one address */
#define TGT_GRANT_MS		5000
#define TGT_REFUSE_MS		200	/* a client may take to read why it is refused */
#define TGT_CLAIM_MS		15000	/* longer than a client waits between two OPENs */
#define TGT_QUIET_MS		3000	/* a reboot waits that long for queue pairs */
#define TGT_PORT_MS		500	/* between two polls of a port that is down */
#define TGT_CTL_MAX		256	/* answers that wait to be sent */
#define TGT_OPENS_MAX		65536	/* of a session */
#define TGT_DRIVE_CAP	(8 << 20)	/* bytes with a device before sessions take turns */

struct tgt_channel;
struct tgt_drive;
struct tgt_past;
struct tgt_sdrive;
struct tgt_session;
struct tgt_unproven;

/* Memory for sessions: arena.c */

/**
 * struct tgt_piece - physically contiguous pages behind one memory region
 * @page: the first; zeroed before it is given
 * @sg: the piece, mapped for the session's device
 * @mr: remote read and write, zero based
 */
struct tgt_piece {
	struct page *page;
	struct scatterlist sg;
	struct ib_mr *mr;
};

struct tgt_arena {
	u32 bytes;			/* granted in the login */
	u32 shift;			/* of the size of a piece */
	unsigned int nr;
	bool mapped;
	struct tgt_piece *piece;
};

/* Connected clients: session.c */

/**
 * struct tgt_session - one incarnation of one client
 * @ref: the list, channels, sdrives, opens and grants requested from meshd hold it
 * @node: in tgt_sessions; tgt_lock
 * @id: number on the wire and in netlink
 * @host: client's host UUID
 * @addr: of the client, where channel 0 comes from; for the log
 * @boot: first 32 bits of its boot id
 * @number: of the session within that boot
 * @boot_id: whole, set by the proof of channel 0, under tgt_lock
 * @proved: its client has proved the key: only then does it count for others.
 *	Set under tgt_lock, with LIVE; never cleared
 * @left: its client said good-bye, or has a newer session: it is no evidence any more
 *	that its host lives; set once
 * @past: what is left of it when it ends without that
 * @unproven: its place among those that are not; taken away by listen.c
 * @lock: @state, @err, @channel, @taken
 * @state: see state.h
 * @err: why it ended, negative errno
 * @dev: RDMA device all its channels are on
 * @lim: what @dev can do
 * @pd: its own; no other session's keys reach its memory, and no queue pair is on it
 *	that has not proved the key once there is memory
 * @pd_users: the arena and each channel; the last one frees @pd
 * @arena: memory given; reserved and built once before LIVE, read only then
 * @bounce_rkey: of the client's bounce arena; valid once @bounce_len is not 0
 * @bounce_len: set once with release, read with acquire
 * @nr_channels: granted; 0 before the proof
 * @channel: by index
 * @taken: channels that have proved themselves, as bits; never taken again
 * @drives: nsid -> struct tgt_sdrive; changed under tgt_lock, read under RCU
 * @opens: handle -> struct tgt_open; tgt_lock
 * @nr_opens: entries of @opens; tgt_lock
 * @next_nsid: for cyclic allocation; tgt_lock
 * @next_handle: the same
 * @undrained: sdrives whose views live; tgt_lock
 * @freeing: @free is queued or runs; tgt_lock
 * @heard: jiffies of the last message that the client's CPU made
 * @watch: ends the session when @heard is too old
 * @kill: tears down queue pairs and regions
 * @leave: lets go of the connections, after @kill
 * @removed: @dev goes, and waits for that; set once
 * @free: gives memory back when the bios are
 * @shown: its device in sysfs; set before LIVE is announced, cleared by @free
 * @stats: counters
 */
struct tgt_session {
	struct kref		ref;
	struct list_head	node;
	u32			id;
	uuid_t			host;
	struct sockaddr_storage	addr;
	u32			boot;
	u32			number;
	u8			boot_id[RDDA_UUID_LEN];
	bool			proved;
	bool			left;
	struct tgt_past		*past;
	struct tgt_unproven	*unproven;
	spinlock_t		lock;		/* state, err, channel, taken */
	enum tgt_state		state;
	int			err;
	struct ib_device	*dev;
	struct rdda_limits	lim;
	struct ib_pd		*pd;
	refcount_t		pd_users;
	struct tgt_arena	arena;
	u32			bounce_rkey;
	u32			bounce_len;
	unsigned int		nr_channels;
	struct tgt_channel	*channel[TGT_CHANNELS_MAX];
	unsigned long		taken;
	struct xarray		drives;
	struct xarray		opens;
	unsigned int		nr_opens;
	u32			next_nsid;
	u32			next_handle;
	unsigned int		undrained;
	bool			freeing;
	unsigned long		heard;
	struct delayed_work	watch;
	struct work_struct	kill;
	struct delayed_work	leave;
	bool			removed;
	struct work_struct	free;
	struct device		*shown;
	struct {
		atomic64_t reads, read_bytes, writes, write_bytes;
		atomic64_t discards, errors, sends, pushes, commands;
	} stats;
};

/**
 * struct tgt_rbuf - a posted receive; in no memory region: a private copy
 * @cqe: completion
 * @sge: its mapping
 * @node: in tgt_channel.ctl while a control message waits for its work
 * @len: bytes that arrived
 * @msg: what arrived
 */
struct tgt_rbuf {
	struct ib_cqe	cqe;
	struct ib_sge	sge;
	struct list_head node;
	u32		len;
	void		*msg;
};

/**
 * struct tgt_channel - one connection
 * @s: session; set at login
 * @index: in the session
 * @proven: both proofs were right: of channel 0 written by its control work only,
 *	under tgt_lock; of others set when they are made
 * @refused: the login was refused after its proof was read: why, negative errno;
 *	written by the control work only
 * @dead: nothing is posted or admitted any more
 * @drained: @cq is not polled any more; set by the teardown
 * @cm: connection
 * @cq: for everything on @qp; polled by @work alone
 * @qp: queue pair
 * @proof: login and answer of the session; of channel 0, QPN and GID of both sides too
 * @key: that channel 0 was opened with; others prove themselves with it
 * @reads: READs in flight that the client may request
 * @runs: one push may carry several reads
 * @deadline: of the proof
 * @fail: the NIC reported an error
 * @work: polls @cq
 * @kick: tasklet: posts completions when bios end outside of @work
 * @batcher: task that runs @work now and will post by itself
 * @rbuf: receives, @nr_rbufs
 * @ctl: control messages that need to sleep; ctl_lock
 * @ctl_work: handles them
 * @cmd: contexts, @nr_cmds
 * @free_cmds: contexts not in use; taken by @work alone
 * @done: commands that ended, newest first
 * @arena_off: of this channel
 * @arena_len: of this channel
 * @tx_lock: all below
 * @pend: commands that ended, oldest first, not posted yet
 * @ctl_q: control messages to be sent
 * @ctl_nr: how many of them are answers
 * @tx: buffers of sends in flight, a ring
 * @wr: chain being built
 * @sge: of @wr
 */
struct tgt_channel {
	struct tgt_session	*s;
	unsigned int		index;
	bool			proven;
	int			refused;
	bool			dead;
	bool			drained;
	struct rdma_cm_id	*cm;
	struct ib_cq		*cq;
	struct ib_qp		*qp;
	struct rdda_proof	proof;
	struct rdda_key		key;
	u8			reads;
	bool			runs;
	struct delayed_work	deadline;
	struct work_struct	fail;

	struct work_struct	work;
	struct tasklet_struct	kick;
	struct task_struct	*batcher;
	struct tgt_rbuf		*rbuf;
	unsigned int		nr_rbufs;
	spinlock_t		ctl_lock;	/* ctl */
	struct list_head	ctl;
	struct work_struct	ctl_work;
	struct tgt_cmd		*cmd;
	unsigned int		nr_cmds;
	struct llist_head	free_cmds;
	struct llist_head	done;
	u32			arena_off;
	u32			arena_len;

	spinlock_t		tx_lock;	/* all below */
	struct list_head	pend;
	struct list_head	ctl_q;
	unsigned int		ctl_nr;
	void			*tx_msg[TGT_TX_BUFS];
	u64			tx_dma[TGT_TX_BUFS];
	struct ib_cqe		tx_cqe;
	unsigned int		tx_head;	/* buffers taken, ever */
	unsigned int		tx_tail;	/* buffers given back, ever */
	unsigned int		sq_size;
	unsigned int		sq_used;	/* our own count */
	unsigned int		sig_wrs;	/* since the last signalled one */
	unsigned int		sig_bufs;
	unsigned int		sig_head;
	unsigned int		sig_tail;
	struct {
		u16 wrs, bufs;
	} sig[64];				/* what the completion of each frees */
	unsigned int		max_sge;
	struct ib_rdma_wr	wr[TGT_CHAIN];
	struct ib_sge		sge[TGT_CHAIN][TGT_SGES];
};

/* Drives, and which session holds what: drive.c, grant.c */

/**
 * struct tgt_extent - a line of a drive's table
 * @node: in tgt_drive.extents, by start; tgt_lock for all
 * @drive: where it is
 * @uuid: name
 * @start: byte
 * @len: bytes
 * @holder: host last granted rw, as noted in the label
 * @generation: highest granted
 * @ready: zeroed
 * @opens: struct tgt_open
 * @asked: a grant was requested from meshd, which has not answered
 * @claim: host that is preempting, no other host gets it ...
 * @claim_until: ... before that, in jiffies
 */
struct tgt_extent {
	struct list_head	node;
	struct tgt_drive	*drive;
	uuid_t			uuid;
	u64			start;
	u64			len;
	uuid_t			holder;
	u64			generation;
	bool			ready;
	struct list_head	opens;
	bool			asked;
	uuid_t			claim;
	unsigned long		claim_until;
};

/**
 * struct tgt_open - an opened extent of a session
 * @on_extent: in tgt_extent.opens; tgt_lock for all
 * @on_sdrive: in tgt_sdrive.opens by slba, or .closing
 * @sd: session and drive
 * @ext: NULL once revoked
 * @handle: on the wire
 * @slba: first block
 * @blocks: length
 * @rw: access
 * @closing: no command is admitted any more
 * @cut: commands of views older than this may still run
 * @ch: to be answered with CLOSED, may be NULL
 * @tag: of that answer
 */
struct tgt_open {
	struct list_head	on_extent;
	struct list_head	on_sdrive;
	struct tgt_sdrive	*sd;
	struct tgt_extent	*ext;
	u32			handle;
	u64			slba;
	u64			blocks;
	bool			rw;
	bool			closing;
	u64			cut;
	struct tgt_channel	*ch;
	u64			tag;
};

/**
 * struct tgt_view - the extents that a session may reach on a drive
 * @ref: 1 while in force, and one for each command admitted under it
 * @node: in tgt_sdrive.views, whether in force or not; tgt_lock
 * @seq: grows with each view made, on any drive
 * @killed: not in force any more; tgt_lock
 */
struct tgt_view {
	struct percpu_ref	ref;
	struct list_head	node;
	struct tgt_sdrive	*sd;
	u64			seq;
	bool			killed;
	struct work_struct	work;
	struct rcu_head		rcu;
	unsigned int		nr;
	struct rdda_extent_view	ext[];
};

/**
 * struct tgt_sdrive - a drive as one session sees it
 * @s: session, referenced
 * @d: drive, referenced
 * @nsid: its handle on the wire
 * @view: in force; NULL when nothing is open
 * @views: all that live; tgt_lock, as all lists here
 * @opens: by slba
 * @closing: waiting for views
 * @on_drive: in tgt_drive.sdrives
 * @gone: the drive was lost; its commands end with that status
 * @queue: commands waiting for their turn; sched_lock
 * @turn: in tgt_drive.turns; sched_lock
 * @deficit: bytes it may submit in this round; sched_lock
 */
struct tgt_sdrive {
	struct tgt_session	*s;
	struct tgt_drive	*d;
	u32			nsid;
	struct tgt_view __rcu	*view;
	struct list_head	views;
	struct list_head	opens;
	struct list_head	closing;
	struct list_head	on_drive;
	bool			gone;
	struct list_head	queue;
	struct list_head	turn;
	s64			deficit;
	struct rcu_head		rcu;
};

enum tgt_drive_state {
	TGT_DRIVE_UP,
	TGT_DRIVE_GONE,
};

/**
 * struct tgt_drive - a block device that is exported
 * @ref: the list, sdrives and netlink hold it
 * @node: in tgt_drives; tgt_lock
 * @uuid: from its label
 * @host: host UUID of this target when it was given the table; tgt_lock
 * @path: as meshd gave it
 * @handle: how @bd was opened
 * @bd: held exclusively
 * @lba_shift: 9 or 12
 * @cost_min: what the smallest command counts for; keeps the device's tags from
 *	running out, which would make a submitter of other drives' commands sleep
 * @close: gives @bd back
 * @closed: completed by it, may be NULL; tgt_lock
 * @state: written under tgt_lock
 * @removing: DRIVE_DEL is at work; tgt_lock
 * @extents: by start; tgt_lock
 * @sdrives: sessions that use it; tgt_lock
 * @waiters: for views to be gone; tgt_lock
 * @inflight: bytes given to the device
 * @waiting: commands queued; written under sched_lock
 * @sched_lock: @turns and what hangs there
 * @turns: sdrives with queued commands, round robin
 * @dispatch: submits them
 * @slow: commands that take several bios; sched_lock
 */
struct tgt_drive {
	struct kref		ref;
	struct list_head	node;
	uuid_t			uuid;
	uuid_t			host;
	char			*path;
	struct mesh_bdev_handle	handle;
	struct block_device	*bd;
	u32			lba_shift;
	u32			cost_min;
	struct work_struct	close;
	struct completion	*closed;
	enum tgt_drive_state	state;
	bool			removing;
	struct list_head	extents;
	struct list_head	sdrives;
	struct list_head	waiters;
	atomic64_t		inflight ____cacheline_aligned_in_smp;
	unsigned int		waiting;
	spinlock_t		sched_lock;	/* waiting, turns, slow */
	struct list_head	turns;
	struct list_head	slow;
	struct work_struct	dispatch;
};

/**
 * struct tgt_cmd - a command in flight; preallocated with its channel
 * @bio: what the device is doing for it now
 * @vec: of @bio
 * @ch: where it came from
 * @view: that it was admitted under; put last, at the end of its last bio
 * @p: what it requests
 * @status: enum rdda_status, once ended
 * @queued: waits for its turn
 * @flushing: all of a discard or zeroing is done, and now made durable
 * @by_pages: zeroes are written, the device does not make them
 * @at: next sector of a discard or zeroing
 * @left: sectors left of it
 * @step: sectors that the bio zeroes
 * @cost: bytes it counts for in tgt_drive.inflight
 */
struct tgt_cmd {
	struct bio		bio;
	struct bio_vec		vec[TGT_VECS];
	struct llist_node	done;
	struct list_head	node;
	struct tgt_channel	*ch;
	struct tgt_view		*view;
	struct rdda_parsed	p;
	u16			status;
	bool			flushing;
	bool			by_pages;
	sector_t		at;
	sector_t		left;
	sector_t		step;
	u32			cost;
};

/* main.c */
extern struct mutex tgt_lock;
extern struct workqueue_struct *tgt_wq;		/* control: unbound */
extern struct workqueue_struct *tgt_io_wq;	/* completion queues */
extern unsigned long tgt_started;		/* jiffies */
extern uuid_t tgt_boot_id;
extern unsigned int tgt_grace_ms;
extern unsigned int tgt_keepalive_ms;
extern unsigned int tgt_dead_ms;

/* Whatever was set: one keep-alive that is late must not end a session. */
static inline unsigned int tgt_dead(void)
{
	unsigned int every = clamp(READ_ONCE(tgt_keepalive_ms), 1U, UINT_MAX / 3);

	return max(READ_ONCE(tgt_dead_ms), 3 * every);
}

extern unsigned int tgt_proof_ms;
extern unsigned int tgt_credits;
extern unsigned int tgt_cmds;
extern bool tgt_stopping;

/* session.c */
extern struct list_head tgt_sessions;
struct tgt_session *tgt_session_login(struct rdma_cm_id *cm, const struct rdda_login *l,
				      const struct rdda_limits *lim, int *reason);
struct tgt_session *tgt_session_joined(struct rdma_cm_id *cm, const struct rdda_join *j);
bool tgt_session_take(struct tgt_session *s, unsigned int channel);
int tgt_session_attach(struct tgt_channel *ch);
int tgt_session_grant(struct tgt_session *s, const u8 *boot_id);
int tgt_session_live(struct tgt_session *s);
void tgt_session_kill(struct tgt_session *s, int err);
void tgt_session_kill_all(int err);
void tgt_session_quiet(unsigned int ms);
struct tgt_session *tgt_session_find(u32 id);
void tgt_session_put(struct tgt_session *s);
void tgt_session_event(struct tgt_session *s, const void *msg, size_t len);
void tgt_session_pd_put(struct tgt_session *s);
void tgt_session_drained(struct tgt_session *s);
u64 tgt_session_memory(struct tgt_session *s);
enum tgt_state tgt_session_state(struct tgt_session *s);
int tgt_session_init(void);
void tgt_session_exit(void);

static inline void tgt_session_get(struct tgt_session *s)
{
	kref_get(&s->ref);
}

/* channel.c */
struct tgt_channel *tgt_channel_create(struct rdma_cm_id *cm, struct tgt_session *s,
				       unsigned int index, const struct rdda_proof *p,
				       const struct rdda_key *key, u8 reads);
void tgt_channel_part(const struct tgt_session *s, unsigned int index, u32 *off, u32 *len);
int tgt_channel_prove(struct tgt_channel *ch, const struct rdda_prove *m);
int tgt_channel_init(void);
void tgt_channel_exit(void);
void tgt_channel_kill(struct tgt_channel *ch, int err);
void tgt_channel_refuse(struct tgt_channel *ch, int err);
void tgt_channel_stop(struct tgt_channel *ch);
void tgt_channel_leave(struct tgt_channel *ch);
void tgt_channel_free(struct tgt_channel *ch);
unsigned int tgt_channel_memory(const struct tgt_channel *ch);

/* queue.c */
void tgt_queue_work(struct work_struct *work);
void tgt_queue_event(struct ib_cq *cq, void *ctx);
int tgt_rbuf_post(struct tgt_channel *ch, struct tgt_rbuf *rb);
void tgt_ctl_work(struct work_struct *work);
void tgt_bad_peer(struct tgt_channel *ch, const char *why);

/* push.c */
void tgt_push_flush(struct tgt_channel *ch);
void tgt_push_kick(struct tasklet_struct *t);
void tgt_push_done(struct ib_cq *cq, struct ib_wc *wc);
void tgt_push_end(struct tgt_cmd *c);
void tgt_push_drop(struct tgt_channel *ch);
int tgt_push_init(void);
void tgt_push_exit(void);
int tgt_ctl_send(struct tgt_channel *ch, const void *msg, size_t len);
int tgt_ctl_event(struct tgt_channel *ch, const void *msg, size_t len);
int tgt_ctl_pong(struct tgt_channel *ch, u64 tag);

/* arena.c */
extern unsigned long tgt_arena_used;
unsigned long tgt_arena_limit(void);
u32 tgt_arena_reserve(unsigned int *channels, unsigned long old_bytes,
		      unsigned int old_channels);
void tgt_arena_unreserve(u32 bytes, unsigned int channels);
int tgt_arena_alloc(struct tgt_session *s);
int tgt_arena_register(struct tgt_session *s, struct tgt_channel *ch);
void tgt_arena_unregister(struct tgt_session *s);
void tgt_arena_free(struct tgt_session *s);
void tgt_arena_exit(void);
void tgt_arena_send(struct tgt_session *s, struct tgt_channel *ch);
int tgt_arena_bio(struct tgt_session *s, struct bio *bio, u32 off, u32 len);
unsigned int tgt_arena_sge(struct tgt_session *s, struct ib_sge *sge, unsigned int max,
			   u32 off, u32 len);

/* drive.c */
extern struct list_head tgt_drives;
struct tgt_drive *tgt_drive_find(const uuid_t *uuid);
void tgt_drive_put(struct tgt_drive *d);
int tgt_drive_add(const uuid_t *uuid, const char *path, struct list_head *extents,
		  struct netlink_ext_ack *extack);
int tgt_drive_del(const uuid_t *uuid, bool force, struct netlink_ext_ack *extack);
int tgt_table_check(const struct tgt_drive *d, const struct list_head *extents,
		    struct netlink_ext_ack *extack);
bool tgt_drive_there(const struct tgt_drive *d);
void tgt_drive_check(struct tgt_drive *d);
int tgt_drive_init(void);
void tgt_drive_exit(void);

/* grant.c */
struct tgt_ask {
	uuid_t	extent;
	u64	generation;
	bool	rw;
	bool	preempt;
	bool	again;
};

int tgt_grant_open(struct tgt_channel *ch, const struct tgt_ask *ask, bool noted,
		   struct rdda_opened *out);
void tgt_grant_unask(const uuid_t *extent);
int tgt_grant_close(struct tgt_channel *ch, u32 handle, u64 tag);
void tgt_grant_session_end(struct tgt_session *s);
int tgt_grant_table(const uuid_t *uuid, struct list_head *extents,
		    struct netlink_ext_ack *extack);
void tgt_grant_drive_lost(struct tgt_drive *d);
void tgt_grant_drive_forget(struct tgt_drive *d);
void tgt_grant_drive_back(const uuid_t *drive);
bool tgt_grant_drained(struct tgt_drive *d);
int tgt_grant_wait(struct tgt_drive *d);
struct tgt_view *tgt_view_get(struct tgt_session *s, u32 nsid, bool *gone);
void tgt_extents_free(struct list_head *extents);

static inline void tgt_view_put(struct tgt_view *v)
{
	percpu_ref_put(&v->ref);
}

/* holders.c */
int tgt_holders_decide(struct tgt_session *s, const struct tgt_ask *ask, bool noted,
		       struct tgt_extent *e, struct tgt_open **self, struct rdda_opened *out);
void tgt_holders_fence(const struct tgt_session *s, const struct tgt_extent *e);

/* open.c */
void tgt_open_msg(struct tgt_channel *ch, const struct rdda_open *m);
void tgt_close_msg(struct tgt_channel *ch, const struct rdda_close *m);
int tgt_open_answered(u64 request, int err);
int tgt_open_init(void);
void tgt_open_exit(void);

/* cmd.c */
int tgt_cmds_msg(struct tgt_channel *ch, struct tgt_rbuf *rb);
void tgt_cmd_submit(struct tgt_cmd *c);
void tgt_cmd_abort(struct tgt_cmd *c);
void tgt_cmd_step(struct tgt_cmd *c);
int tgt_cmd_init(void);
void tgt_cmd_exit(void);

/* sched.c */
void tgt_sched_submit(struct tgt_cmd *c);
void tgt_sched_done(struct tgt_drive *d, u32 cost);
void tgt_sched_slow(struct tgt_drive *d, struct tgt_cmd *c);
void tgt_sched_work(struct work_struct *work);
void tgt_sched_purge(struct tgt_sdrive *sd);

/* netlink.c */
int tgt_nl_init(void);
void tgt_nl_exit(void);
int tgt_nl_grant(u64 request, const uuid_t *drive, const uuid_t *extent, const uuid_t *host,
		 u64 generation, bool rw);
void tgt_nl_drive_gone(const uuid_t *drive, const char *path);
void tgt_nl_session(struct tgt_session *s);
bool tgt_nl_served(void);

/* listen.c */
int tgt_listen(const char *addr, u16 port, struct netlink_ext_ack *extack);
void tgt_listen_exit(void);
bool tgt_identity(uuid_t *host);
void tgt_identity_set(const uuid_t *host, const struct rdda_key key[2]);
void tgt_unproven_put(struct tgt_session *s);
void tgt_refused(int reason);
u64 tgt_refused_count(int reason);
unsigned int tgt_unproven(void);

/* sysfs.c */
void tgt_sysfs_add(struct tgt_session *s);
void tgt_sysfs_del(struct tgt_session *s);
int tgt_sysfs_init(void);
void tgt_sysfs_exit(void);

#endif
