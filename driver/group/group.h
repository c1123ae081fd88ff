/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A protection group in the kernel: protect/'s engine, fed by requests and by the group's members.
 *
 *   request --part--> inbox --runner--> engine (protect/engine/group.h)
 *                       ^                  | events
 *     member I/O ended -+                  v
 *     work done --------'     I/O to a member, copy, codec, end of a part
 *
 *   group.c   life: found or made by a layout, put; state for readers outside
 *   state.c   states of the group and of its members, for all others to read
 *   start.c   attach: which members, whose roster, a fresh group, again after a stop
 *   join.c    members back in the group, or in another member's place
 *   place.c   ... a slot's member changes
 *   inbox.c   messages to the engine, and who runs it
 *   run.c     ... a turn of the runner
 *   io.c      parts into the engine, events out of the engine
 *   flight.c  I/O to members: memory, sent, delivered
 *   stage.c   payloads kept by members, to cross the network once
 *   read.c    reads around the engine
 *   member.c  a member late, down, failed, back
 *   leave.c   I/O never ended by the device is left to the member, with the I/O's memory
 *   roster.c  rosters read from members, and written to members
 *   witness.c ... and noted by meshd
 *   facts.c   ... under an access number: the store as witness, its facts, and reads
 *   committed.c ... the last one, for meshd: events, answers
 *   evict.h   a member in sync gives its place to a copy
 *   pace.c    the speed of background work
 *   scrub.c   all copies compared, at an administrator's word
 *   clean.c   a detach with nothing left to recover
 *   counts.c  counters for sysfs
 *
 * Execution. The engine is not under a lock: a context posts a message, and if the engine is not
 * run, the poster runs it for all messages posted meanwhile (mesh_group_run()). The runner does the
 * work named by events after letting the engine go, so no byte of payload is touched while others
 * wait for the engine. A poster never waits. A hard interrupt only posts. I/O that ends within a
 * runner or in a walk of a completion queue only posts, too: irq_poll then runs the engine, once
 * for all.
 *
 * Life
 *
 *   OPENING --roster durable--> LOADING --engine serves--> ACTIVE
 *      ^                           |                          |
 *      '------ nothing in flight --+---- STOPPED <------------'
 *
 * A stopped group keeps the parts given to the group, and begins again when enough members are up;
 * parts older than io_timeout end with an error. A group outlives a layout: the next layout takes
 * the group over if the same members are named in the same way.
 *
 * Locks: MESH_G_OWNED (a bit, awaited by mesh_group_own() alone, in process context) guards all
 * fields touched by the runner. group->lock (a mutex) guards the membership. Inside group->lock may
 * be OWNED, witness->lock, and a member's attach_lock and member->lock.
 */
#ifndef DRIVER_GROUP_H
#define DRIVER_GROUP_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irq_poll.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/mempool.h>
#include <linux/timer.h>
#include <linux/wait.h>

#include "driver/member/abandoned.h"
#include "driver/member/member.h"
#include "protect/engine/geometry.h"
#include "protect/engine/group.h"
#include "protect/roster/membership.h"

struct mesh_volume;
struct mesh_layout;
struct mesh_batch;
struct mesh_kept;

enum mesh_group_state {
	MESH_GROUP_OPENING,
	MESH_GROUP_LOADING,
	MESH_GROUP_ACTIVE,
	MESH_GROUP_STOPPED,
};

/* Turns in the life of a group's member; traced. */
enum mesh_group_turn {
	MESH_TURN_LATE,
	MESH_TURN_ANSWERS,
	MESH_TURN_GIVEN_UP,
	MESH_TURN_HELD,		/* an I/O to the member waits until the member is up */
	MESH_TURN_JOINS,
	MESH_TURN_REPLACED,
};

/* Bits of mesh_group.flags; the runner clears the bits of its own work. */
enum {
	MESH_G_OWNED,		/* the engine is run */
	MESH_G_TICK,		/* time has passed */
	MESH_G_PACE,		/* a little time has passed, for background work */
	MESH_G_STATE,		/* a member's state has changed */
	MESH_G_COMMITTED,	/* a roster is committed: @commit */
	MESH_G_BEGUN,		/* the engine was begun again */
	MESH_G_ENDING,		/* no new request comes, begun work is finished; set once */
	MESH_G_CLOSING,		/* nothing new is started; set once */
	MESH_G_WAKE = BIT(MESH_G_TICK) | BIT(MESH_G_STATE) | BIT(MESH_G_COMMITTED) |
		      BIT(MESH_G_BEGUN) | BIT(MESH_G_PACE),
};

enum mesh_group_msg_kind {
	MESH_MSG_PART,		/* a part comes */
	MESH_MSG_IO,		/* a member I/O has ended */
	MESH_MSG_WORK,		/* a copy or the codec's work is done */
};

/* A message to the runner, embedded in the object of the message. */
struct mesh_group_msg {
	struct llist_node	node;
	u8			kind;	/* enum mesh_group_msg_kind */
};

/* A request's part in a group: one I/O of the request's batch. */
struct mesh_part {
	struct mesh_group_msg		msg;
	struct mesh_group	*group;
	struct mesh_req		*req;
	/* any context, hard interrupts too; the call may free the part */
	void			(*done)(struct mesh_part *part, int err);
	struct mesh_part	*next;		/* of the request, newest first */
	struct mesh_part	*ended_next;	/* in the list of parts ended by a run */
	/*
	 * read around the engine, with @pos and @worst: pieces in flight, and the state at the
	 * start:
	 */
	atomic_t		pieces;
	u32			seen;		/* sum of the buckets */
	u64			readable;	/* slots that may be read */
	/* in group->waiting or group->active; the runner's */
	struct list_head	node;
	u64	addr;				/* byte of the group's data */
	u64	length;
	u64	pos;				/* bytes given to the engine; the runner's */
	u32	out;				/* ops in the engine; the runner's */
	u32	left;	/* I/O left to members: the part ends after the last; the runner's */
	bool	over;		/* the part ends when @left is 0; the runner's */
	bool			stale;	/* the part's pages were read into late; the runner's */
	u32	tag;				/* of the policy's I/O */
	unsigned long since;			/* jiffies when the group took it; the runner's */
	int	err;	/* result of the part, MESH_MIO_RUNNING before the end */
	int	worst;	/* worst result of the part's ops so far; the runner's */
	u8	kind;				/* enum prot_kind */
	u8	flags;				/* PROT_FUA, ... */
	u16	nr_runs;
	struct prot_run runs[PROT_RUNS_MAX];	/* pages of the part, @nr_runs runs */
};

/* Memory of an engine. */
struct mesh_group_mem {
	struct kref		ref;
	void			*engine;
	struct page		**pages;	/* pages of @engine */
	struct mesh_group	*group;		/* owner, or NULL; leave.c */
};

/* An I/O to a member of a group. */
struct mesh_gio {
	struct mesh_mio		mio;		/* the member I/O; pages in @sg or of the pool */
	struct mesh_group_msg		msg;
	struct mesh_group	*group;
	struct list_head	node;		/* in slot->flying or slot->held; the runner's */
	struct mesh_gio		*next;		/* next to be sent, or next spare */
	/* destination: a successor; NULL: the slot's member; the runner's */
	struct mesh_member	*twin;
	unsigned long		since;	/* jiffies when first sent, or last sent to a successor */
	struct prot_io		io;
	struct prot_run		runs[2];	/* the payload; io.nr_runs runs */
	int			err;
	u16			op;		/* the op with the payload PROT_BUFFER_REQUEST */
	bool			pooled;		/* the scatterlist is of the pool */
	bool			staged;		/* sent from a stage, the stage's last use */
	bool			over;		/* the engine has the result already: leave.c */
	bool			sent;		/* the member has the I/O, or is about to */
	bool			hung;		/* the engine lacks the I/O's buffer: leave.c */
	struct mesh_abandoned	left;		/* left to the member; then also the next three: */
	struct mesh_group_mem	*mem;		/* a reference */
	struct mesh_part	*part;		/* owner of the I/O's pages; NULL: none */
	void			*behind; /* an earlier stage to be kept behind; with a reference */
	struct scatterlist	sg[4];		/* used if large enough */
};

/* A record's payload kept by a member. */
struct mesh_staged {
	void	*stage;
	u32	at;		/* byte of the stage where the payload begins */
};

/* An op of the engine, and the op's one copy or codec work at a time. */
struct mesh_gop {
	struct mesh_part	*part;		/* owner of the op's piece */
	u32			at;		/* byte of the part where the piece begins */
	u64			addr;		/* of a write */
	u32			length;		/* of a write; 0: no write */
	u16			queue;		/* hardware queue of the request */
	u64			stages;	/* members with a stage of the op's payload: stage.c */
	struct mesh_group_msg		msg;
	struct mesh_gop		*next;		/* next work to be done */
	struct mesh_gop		*payload; /* COPY: the op with the payload; NULL: codec's work */
	struct prot_copy	copy;
	u32			tag;
};

/* Counts besides the engine's (struct prot_counts). */
struct mesh_group_counts {
	u64	held;		/* I/O held until the member was back; the runner's */
	u64	starved;	/* ... or for memory; the runner's */
	u64	wait_ms;	/* the longest time of a part in the group; the runner's */
	u64	run_us;		/* the longest time with the engine owned; the owner's */
};

/* ... and counts taken on any CPU. */
struct mesh_group_cpu_counts {
	u64	direct;		/* reads around the engine */
	u64	codec_vector;	/* works of the codec, with the CPU's vector registers, ... */
	u64	codec_portable;	/* ... and without */
};

#define MESH_GROUP_SG_MAX	264	/* pages of a record of the largest strip, and some */
#define MESH_GROUP_LEAVES	5	/* times in an hour: then the member stays out */

/* A roster being read or written. */
struct mesh_roster_io {
	struct mesh_mio		mio;
	struct mesh_abandoned	left;
	struct scatterlist	sg;
	struct completion	done;
	bool			begun;		/* a roster I/O was sent at least once */
	unsigned long		since;		/* jiffies when last sent */
	void			*block;		/* PROT_ROSTER_BLOCK, twice */
};

/* A member's place in a group. */
struct mesh_group_slot {
	/*
	 * a reference; written with the engine owned, under group->lock, while the slot is out, or
	 * when a successor has a copy of the member
	 */
	struct mesh_member	*member;
	/* a reference to the replaced member, while I/O may be at that member; group->lock */
	struct mesh_member	*before;
	/*
	 * a reference to the extent that the roster found may have here in place of the layout's,
	 * until the layout's has the place; group->lock
	 */
	struct mesh_member	*leaving;
	struct mesh_member_link	link;
	struct mesh_group	*group;
	u64			data;		/* byte of the member where its data begins */
	u64			size;		/* bytes that the member must have */
	struct list_head	flying;		/* I/O at the member; the runner's */
	struct list_head	held;		/* I/O that waits for the member; the runner's */
	u32			nr_flying;	/* the runner's */
	unsigned long		late_since;	/* jiffies, while @late; the runner's */
	/*
	 * I/O ended at the member when last checked; jiffies when last grown, or when nothing was
	 * in flight; the runner's
	 */
	u64			ended;
	unsigned long		ended_at;
	unsigned long		kick_at;	/* jiffies, while @failing; the runner's */
	/* jiffies: no join before @join_at; the last delay, doubled at each join; the runner's */
	unsigned long		join_at, join_wait;
	bool			late;		/* the member does not answer; the runner's */
	bool			failing; /* the member is given up, no I/O is held; the runner's */
	bool			noted;	/* the member has this attachment's number; group->lock */
	/*
	 * attach number of the label when the roster was read, or the roster's; written before the
	 * group serves
	 */
	u64			number;
	/* jiffies when the member left the group, the last times; group->lock */
	unsigned long		left[MESH_GROUP_LEAVES];
	u32			leaves;	/* number of times that the member left; group->lock */
	bool			barred;		/* left too often; group->lock, READ_ONCE() */
	bool			shut;	/* no member joins: BARS; group->lock, READ_ONCE() */
	struct mesh_roster_io	*roster;	/* the last roster; group->lock */
	u8			next_block;	/* the next block to be written; group->lock */
	unsigned long		stuck_at;	/* jiffies, while @failing; 0: not; the runner's */
};

/* An extent that a roster may have in sync at a place for which the layout names another one. */
struct mesh_leaving {
	struct mesh_member_conf	conf;
	u32			place;
	struct mesh_member	*member;	/* while its layout is opened; NULL: not there */
};

/* Facts about the attachment from a message. */
struct mesh_group_conf {
	struct mesh_leaving	*leavings;	/* of the message; not of a group */
	u32			nr_leavings;
	u64	salt;
	u64	attach;		/* the attach number must be above this one; without access */
	bool	fresh;
	bool	stale;
	/* numbered, as the last message has them; READ_ONCE() */
	bool	again, beside_store;
	u64	forgotten;	/* slots; of a group alone, not from the message */
};

/* Rosters noted by this host's meshd; unused in groups whose members decide alone. */
struct mesh_group_witness {
	spinlock_t		lock;		/* guards the answer */
	void			*answer;	/* MESHBLK_ROSTER_BYTES; witness->lock */
	u32			bytes;		/* bytes of @answer: all or none; witness->lock */
	u32			port;		/* port of the answering meshd; witness->lock */
	bool			answered;	/* @answer is new; witness->lock, READ_ONCE() */
	wait_queue_head_t	wait;		/* for @answered */
	void			*block;		/* PROT_ROSTER_BLOCK, to be sent; group->lock */
	struct prot_roster	known;		/* roster of the last answer; group->lock */
	bool			any;		/* @known is valid; group->lock */
	u32			heard;		/* port of the last answer; group->lock */
	/* jiffies of the last request to meshd, and of the last line of the log; group->lock */
	unsigned long		sent_at, said_at;
	/* a roster waits for meshd's note; group->lock, READ_ONCE() */
	bool			waits;
	/* jiffies of the first request without an answer since, 0: none; group->lock */
	unsigned long		open_since;
	unsigned long		heard_at;	/* jiffies of the last answer; group->lock */
};

struct mesh_group {
	struct llist_head	inbox;
	unsigned long		flags;
	/*
	 * a turn; called with the engine owned, lets the engine go. Return: true if more is to do
	 */
	bool			(*run)(struct mesh_group *g);
	/*
	 * the runner's; the engine moves while nothing is in flight, see mesh_group_engine_begin()
	 */
	struct prot_group	*engine;
	struct mesh_group_mem	*mem;		/* memory of @engine; moves with @engine */
	struct mesh_gop		*gops;		/* one for each op of the engine; the runner's */
	struct mesh_staged	*stages;	/* @width for each op; the runner's */
	/* parts not taken by the engine, and parts in the engine; the runner's */
	struct list_head	waiting;
	struct list_head	active;
	struct list_head	starved;	/* gios without memory yet; the runner's */
	struct mesh_gio		*spares;	/* for the next events, by @next; the runner's */
	u32			nr_spares;	/* the runner's */
	/* member I/O and work, started and not handled yet; the runner's */
	u32			flying;
	mempool_t		gios;
	mempool_t		sgs;
	int			iop_cpu;	/* CPU of @iop while scheduled */
	struct irq_poll		iop;
	/* slots to be read around the engine; written by the owner; READ_ONCE() elsewhere */
	u64			readable;
	atomic_t		*writes;	/* see read.c */
	atomic64_t		redone;		/* direct reads disturbed by writes */
	atomic64_t		unfit;	/* slots that failed direct reads; cleared by the owner */
	u64			read;		/* reads through the engine; the runner's */
	struct mesh_group_counts counts;
	struct mesh_group_cpu_counts __percpu *cpu_counts;
	/* too few members are here for reads; the runner's, READ_ONCE() */
	bool			few;
	/* ... because a writer has attached the group; likewise */
	bool			overtaken;
	/* members needed here for reads, of @heard; with the engine owned */
	u8			held;
	u64			heard;	/* slots; 0: those in sync; likewise */
	u64	bars;	/* slots where no member joins, confirmed; group->lock, READ_ONCE() */
	/* jiffies of the last tick that found too few members to go on without one; the runner's */
	unsigned long		lacked_at;
	unsigned long		idle_at, hour_at;	/* jiffies; the runner's */
	/* a scrub was begun, and the end not seen yet; the runner's */
	bool			scrubs;
	u64			paced_at;	/* ktime of the last allowance; the runner's */
	unsigned long		used_at;	/* jiffies of the last request; READ_ONCE() */
	struct hrtimer		pacer;		/* sets MESH_G_PACE */
	struct timer_list	timer;		/* sets MESH_G_TICK */
	unsigned long		tick_at;	/* jiffies of the next MESH_G_TICK; the runner's */

	spinlock_t		state_lock;	/* guards @state and @why, a pair */
	/* READ_ONCE() where read without @why */
	enum mesh_group_state	state;
	const char		*why;		/* reason for not being ACTIVE: a static string */
	struct mesh_volume	*vol;		/* no reference: groups go before it */
	struct prot_group_config cfg;	/* written while the engine is not run */
	struct prot_geometry	geo;
	struct mesh_group_conf	conf;		/* group->lock */
	u32			segment, column;
	u32			width;

	/* one attach, roster or join at a time; guards the fields that name group->lock */
	struct mutex		lock;
	struct prot_membership	ms;		/* group->lock */
	/* valid with MESH_G_COMMITTED; written under group->lock, owned */
	struct { u64 epoch, in_sync; } commit;
	/* jiffies since when enough members are up for an attach, 0: not enough; group->lock */
	unsigned long		since;
	u64			since_up;	/* members up at @since; group->lock */
	/*
	 * jiffies when I/O in flight is left to members, of a group given up; 0: not given up; the
	 * runner's
	 */
	unsigned long		leave_at;
	unsigned long		clean_by;	/* jiffies, deadline while ENDING */
	/* jiffies when a decided attach may serve, 0: no attach waits; group->lock */
	unsigned long		dead_at;
	struct mesh_group_witness witness;
	/* of a volume with an access number, to be written: memory for a block; group->lock */
	void			*block;
	struct mesh_kept	*kept;		/* the last committed roster; under @state_lock */
	bool			committed;	/* @kept has one; likewise */
	int			refused;	/* MESHBLK_P_ERROR; group->lock */
	struct delayed_work	start_work;	/* attach; rosters */
	struct delayed_work	join_work;	/* joins members that are out and up */
	struct delayed_work	evict_work;	/* copies a member to its successor */
	/* written with the engine owned; set under @lock, freed by @evict_work */
	struct mesh_evict	*evict;
	const char		*evict_why; /* reason of the last failure: static; READ_ONCE() */
	/* jiffies: no eviction begins again before @evict_at; under @lock */
	unsigned long		evict_at, evict_wait;
	wait_queue_head_t	idle;		/* @flying came to 0 */
	struct kref		ref;		/* layouts */
	struct list_head	node;	/* in the list of all groups, under mesh_groups_lock */
	bool			ending;	/* no layout has the group; under mesh_groups_lock */
	struct mesh_group_slot	slots[];	/* @width */
};

/* All groups of a layout, as of some moment. */
struct mesh_groups_sum {
	u32	groups;
	u32	out;		/* members that lack writes */
	u32	joining;	/* of these, members being given the missing data */
	u32	scrubbing;	/* groups being scrubbed */
	bool	repair;		/* ... and repaired */
	u64	behind;		/* bytes still to be given to members, */
	u64	synced;		/* ... and bytes given since the attach */
	u64	scrubbed, bytes;	/* of each member of groups being scrubbed */
	u64	mismatches, skipped;
};

/* group.c */
int mesh_groups_open(struct mesh_layout *l, const struct mesh_group_conf *conf,
		     struct netlink_ext_ack *extack);
void mesh_groups_close(struct mesh_layout *l);
const char *mesh_groups_why(struct mesh_layout *l);
void mesh_groups_sum(struct mesh_layout *l, struct mesh_groups_sum *sum);
u32 mesh_groups_down(struct mesh_layout *l);
bool mesh_groups_any(struct mesh_layout *l);
void mesh_groups_wake(struct mesh_layout *l);
void mesh_groups_answered(const uuid_t *volume, u32 place, u32 port, const void *roster,
			  u32 bytes);
void mesh_groups_witness(void);
void mesh_groups_taken(struct mesh_layout *l);
bool mesh_groups_under(struct mesh_layout *l, u64 number);

/* committed.c */
int mesh_group_committed_init(struct mesh_group *g);
void mesh_group_committed_exit(struct mesh_group *g);
void mesh_group_committed(struct mesh_group *g);
void mesh_group_keep(struct mesh_group *g);
bool mesh_group_last_roster(struct mesh_group *g, void *roster);

/* Sums over all groups of a layout; of times, the longest. sysfs shows these counters. */
struct mesh_groups_counts {
	struct prot_counts		engine;
	struct mesh_group_counts	group;
	struct mesh_group_cpu_counts	cpu;
	u64	engine_reads;
	u64	redone;		/* direct reads that writes came between */
};

/* state.c */
int mesh_group_engine_begin(void);
void mesh_group_engine_end(int idx);
void mesh_group_engine_wait(void);
void mesh_group_set_state(struct mesh_group *g, enum mesh_group_state state, const char *why);
const char *mesh_group_stands(struct mesh_group *g, const char **state);
bool mesh_group_abandoned(struct mesh_group *g);
bool mesh_group_up(const struct mesh_group_slot *slot);
u8 mesh_group_role(struct mesh_group *g, u32 slot);
u64 mesh_group_behind(struct mesh_group *g, u32 slot);
bool mesh_group_named(const struct mesh_group *g, u32 slot);	/* with group->lock */
void mesh_group_barred(struct mesh_group *g);			/* likewise */
int mesh_group_note(struct mesh_group *g, struct mesh_member *m, u64 attach);
bool mesh_group_overtaken(const struct mesh_group_slot *slot);
unsigned long mesh_group_member_timeout(void);

/* counts.c */
void mesh_groups_count(struct mesh_layout *l, struct mesh_groups_counts *sum);

/* Task of a scrub where readable copies differ. */
struct mesh_scrub_conf {
	bool	repair;
	s32	source;		/* index of the right member, or -1 */
};

/* scrub.c */
int mesh_groups_scrub(struct mesh_layout *l, const struct mesh_scrub_conf *conf,
		      struct netlink_ext_ack *extack);
void mesh_groups_scrub_stop(struct mesh_layout *l);
void mesh_group_scrub_watch(struct mesh_group *g);
void mesh_group_scrub_lost(struct mesh_group *g);

/* inbox.c */
void mesh_group_post(struct mesh_group *g, struct mesh_group_msg *msg);
void mesh_group_run(struct mesh_group *g);
void mesh_group_flag(struct mesh_group *g, unsigned int flag);
void mesh_group_own(struct mesh_group *g);
void mesh_group_release(struct mesh_group *g);
void mesh_group_inbox_init(struct mesh_group *g);

/* run.c */
void mesh_group_run_init(struct mesh_group *g);
void mesh_group_run_exit(struct mesh_group *g);

/* Work of the runner after the engine is let go. */
struct mesh_group_todo {
	struct mesh_gio		*ios, **last_io;
	struct mesh_gop		*works, **last_work;
	struct mesh_part	*ended;
	u64			kick;		/* members to be kicked */
	struct mesh_member	*kick_next;	/* a successor, with a reference */
	bool			changed;	/* userspace is to see a change */
};

/* flight.c; with the engine owned, but for mesh_group_gio_drop() */
bool mesh_group_gio_spare(struct mesh_group *g);
struct mesh_gio *mesh_group_gio_take(struct mesh_group *g);
void mesh_group_gio_free(struct mesh_group *g, struct mesh_gio *gio);
void mesh_group_gio_drop(struct mesh_gio *gio);
void mesh_group_start(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo);
void mesh_group_send(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo);
void mesh_group_deliver(struct mesh_group *g, struct mesh_gio *gio, int err);
int mesh_group_flight_init(struct mesh_group *g);
void mesh_group_flight_exit(struct mesh_group *g);
int mesh_group_flight_pools_init(void);
void mesh_group_flight_pools_exit(void);

/* io.c; with the engine owned */
void mesh_group_take(struct mesh_group *g, struct mesh_group_msg *msg,
		     struct mesh_group_todo *todo);
bool mesh_group_pull(struct mesh_group *g, struct mesh_group_todo *todo);
void mesh_group_expire(struct mesh_group *g, struct mesh_group_todo *todo);
bool mesh_group_drained(struct mesh_group *g);
void mesh_group_give_up(struct mesh_group *g, struct mesh_group_todo *todo);
void mesh_group_execute(struct mesh_group *g, struct mesh_group_todo *todo);
int mesh_group_io_init(struct mesh_group *g);
void mesh_group_io_exit(struct mesh_group *g);
int mesh_group_pools_init(void);
void mesh_group_pools_exit(void);

/* stage.c; all but the first two with the engine owned */
int mesh_group_stages_init(struct mesh_group *g);
void mesh_group_stage_done(struct mesh_gio *gio);
void mesh_group_stage_use(struct mesh_group *g, struct mesh_gio *gio);
void mesh_group_stage_apart(struct mesh_group *g, struct mesh_gio *gio);
bool mesh_group_stage_ended(struct mesh_group *g, struct mesh_gio *gio);
void mesh_group_stages_put(struct mesh_group *g, u32 op, u64 members);
void mesh_group_stages_end(struct mesh_group *g, u64 members);

/* read.c */
void mesh_group_write_begins(struct mesh_group *g, u64 addr, u64 length);
void mesh_group_write_ended(struct mesh_group *g, u64 addr, u64 length);
void mesh_group_reads_reset(struct mesh_group *g);
void mesh_group_reads_allow(struct mesh_group *g);
struct mesh_member *mesh_group_read_single(struct mesh_group *g, struct prot_io *io, u32 *seen);
bool mesh_group_read_right(struct mesh_group *g, u64 addr, u64 length, u32 seen, int err);
bool mesh_group_read_begin(struct mesh_part *part);
struct mesh_member *mesh_group_read_next(struct mesh_part *part, struct prot_io *io);
void mesh_group_read_ended(struct mesh_part *part, int err);
void mesh_group_read_failed(struct mesh_group *g, const struct mesh_member *m, int err);
void mesh_group_reads_failed(struct mesh_group *g);
int mesh_group_reads_init(struct mesh_group *g);
void mesh_group_reads_exit(struct mesh_group *g);

/*
 * leave.c; _leave(), _leave_all() and _leave_stop() with the engine owned, _mem_renew() with
 * group->lock
 */
struct mesh_group_mem *mesh_group_mem_alloc(struct mesh_group *g);
void mesh_group_mem_end(struct mesh_group *g);
void mesh_group_leave_exit(struct mesh_group *g);
bool mesh_group_mem_renew(struct mesh_group *g);
void mesh_group_leave(struct mesh_group *g, u32 slot);
void mesh_group_leave_all(struct mesh_group *g);
void mesh_group_leave_stop(struct mesh_group *g, u32 slot);
void mesh_group_refill(struct mesh_group *g);

/* member.c; with the engine owned */
void mesh_group_ended(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo);
void mesh_group_watch(struct mesh_group *g, struct mesh_group_todo *todo);
void mesh_group_retry(struct mesh_group *g, struct mesh_group_todo *todo);
void mesh_group_count(struct mesh_group *g);

/*
 * pace.c; _pace(), _arm() and _request() with the engine owned. The rate: bytes a second, 0: no
 * limit
 */
u64 mesh_group_rate(struct mesh_group *g);
void mesh_group_pace(struct mesh_group *g);
void mesh_group_pace_arm(struct mesh_group *g);
void mesh_group_pace_request(struct mesh_group *g);
void mesh_group_pace_init(struct mesh_group *g);
void mesh_group_used(struct mesh_group *g);

/* start.c */
void mesh_group_start_work(struct work_struct *work);

/* clean.c; both sleep */
void mesh_groups_ending(struct mesh_layout *l);
void mesh_group_clean(struct mesh_group *g);

/* place.c; with group->lock */
void mesh_group_forget(struct mesh_group *g, u32 slot);
void mesh_group_take_place(struct mesh_group *g, u32 slot, struct mesh_member *m);

/* join.c; the first three with group->lock */
void mesh_group_swap(struct mesh_group *g);
bool mesh_group_place(struct mesh_group *g, const struct prot_roster *r);
void mesh_group_left(struct mesh_group *g, u64 members);
int mesh_groups_rejoin(struct mesh_layout *l, u32 member);
int mesh_group_bar(struct mesh_group *g, u64 bars);
void mesh_group_join_work(struct work_struct *work);

/* facts.c; all but the first two with group->lock */
int mesh_groups_facts(struct mesh_layout *l, const struct mesh_group_conf *conf,
		      const struct mesh_layout *with);
void mesh_group_facts_init(struct mesh_group *g, const struct mesh_layout *l, u32 first);
void mesh_group_facts(struct mesh_group *g, struct prot_attach *a);
void mesh_group_reads_need(struct mesh_group *g);
int mesh_group_store_step(struct mesh_group *g);
unsigned long mesh_group_store_poll(const struct mesh_group *g);

/* witness.c; all but the first four with group->lock, the last two do not wait for meshd */
int mesh_group_witness_init(struct mesh_group *g);
void mesh_group_witness_exit(struct mesh_group *g);
bool mesh_group_witnessed(const struct mesh_group *g);
void mesh_group_answered(struct mesh_group *g, u32 port, const void *roster, u32 bytes);
const struct prot_roster *mesh_group_recall(struct mesh_group *g, unsigned long wait, bool *here);
bool mesh_group_noted(struct mesh_group *g, const struct prot_roster *r, unsigned long wait);
bool mesh_group_may_write(struct mesh_group *g);
void mesh_group_recall_later(struct mesh_group *g);
int mesh_group_witness_step(struct mesh_group *g);

/* State of an eviction, for readers. */
struct mesh_evict_seen {
	u32	slot;
	uuid_t	extent;		/* the successor's */
	u64	copied, bytes;
};

/* evict_hold.c; with the engine owned */
u64 mesh_evict_frozen(const struct mesh_group *g);
u64 mesh_evict_away(const struct mesh_group *g);
bool mesh_evict_hold(struct mesh_group *g, struct mesh_gio *gio);

/* evict_io.c; likewise */
bool mesh_evict_follow(struct mesh_group *g, struct mesh_gio *gio, struct mesh_group_todo *todo);
void mesh_evict_ended(struct mesh_group *g, struct mesh_gio *gio);
void mesh_evict_watch(struct mesh_group *g, struct mesh_group_todo *todo);
void mesh_evict_lost(struct mesh_group *g);
void mesh_evict_stop(struct mesh_group *g);

/* swap.c; with group->lock, but for the last one, which sleeps */
bool mesh_evict_swap(struct mesh_group *g, u32 slot, const struct mesh_member *m);
int mesh_evict_propose(struct mesh_group *g);
struct mesh_member *mesh_evict_roster(const struct mesh_group *g, u32 slot);
void mesh_evict_committed(struct mesh_group *g);
void mesh_evict_stuck(struct mesh_group *g);
bool mesh_evict_ready(struct mesh_group *g, u32 slot, const struct mesh_member *m);

/* evict.c; all sleep, the first one with group->lock */
void mesh_evict_again(struct mesh_group *g, u32 slot, struct mesh_member *m);
bool mesh_evict_seen(struct mesh_group *g, struct mesh_evict_seen *seen);
int mesh_groups_evict(struct mesh_layout *l, u32 member, const struct mesh_member_conf *conf,
		      struct netlink_ext_ack *extack);
int mesh_groups_evict_stop(struct mesh_layout *l, u32 member);
void mesh_evict_work(struct work_struct *work);
void mesh_evict_exit(struct mesh_group *g);

/* roster.c; with group->lock */
struct mesh_roster_io *mesh_roster_alloc(void);
void mesh_roster_free(struct mesh_roster_io *r);
bool mesh_roster_busy(const struct mesh_group_slot *slot);
void mesh_roster_leave(struct mesh_group_slot *slot);
void mesh_rosters_overdue(struct mesh_group *g);
int mesh_roster_read(struct mesh_group *g, u32 slot, struct prot_roster *r);
u64 mesh_roster_write(struct mesh_group *g, u64 members, u64 *broken);

#endif
