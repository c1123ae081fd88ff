/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDDA for its users: targets, opened extents, I/O. No verbs type shows here,
 * and nothing below this header knows of volumes or protection.
 *
 *   rdda_target   one target host: a session that is kept up, with backoff
 *     `- rdda_extent   an extent opened there, reopened by itself after a loss
 *          `- rdda_io       one read, write, discard or zeroing
 *
 * Life of a target            Life of an extent
 *   DOWN -> CONNECTING -> UP    DOWN -> OPENING -> UP
 *     ^--------'----------'       ^-------'--------'   (with its target)
 *                                 `-- GONE: the drive was unplugged
 *                                 `-- REFUSED: held, stale epoch, revoked
 *
 * What an I/O promises: @done is called once, after the last work request that
 * names its pages has completed or its queue pair was destroyed and drained,
 * and its pages are unmapped. -ENOLINK means the channel was lost: a read may
 * be sent again at once by another way; a write may be sent again, or failed,
 * but nothing reaches that drive again before the extent is UP, which a target
 * answers only when the old session's commands on that drive are dead.
 */
#ifndef RDDA_RDDA_H
#define RDDA_RDDA_H

#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/uuid.h>

#include "rdda/common/auth.h"
#include "rdda/common/secret.h"
#include "rdda/state.h"

struct rdda_target;
struct rdda_extent;
struct rdda_stage;

/**
 * struct rdda_identity - the name and the keys of this host at targets
 * @host: the host's UUID, made once by meshd
 * @key: the cluster's key, and the one before it for targets that have no other yet;
 *	RDDA_KEY_NONE: no such. Without the first: no authentication
 */
struct rdda_identity {
	uuid_t	host;
	struct rdda_key key[2];
};

int rdda_client_init(void);
void rdda_client_exit(void);
/* A session with a key that is not in @id any more ends, and is made again. Sleeps. */
int rdda_client_set_identity(const struct rdda_identity *id);

/**
 * struct rdda_target_ops - notifications of a target to its user; called in process
 *	context, may sleep, never after rdda_target_destroy()
 * @state: the session came up or went down; @err says why it is not up
 */
struct rdda_target_ops {
	void (*state)(void *priv, enum rdda_target_state state, int err);
};

struct rdda_target_info {
	enum rdda_target_state state;
	int	err;			/* why not UP: negative errno */
	char	reason[64];		/* the same, human-readable */
	uuid_t	uuid;			/* of the target, once seen */
	u32	session;
	u16	channels;
	u32	arena_bytes;
	u64	sends;			/* messages posted: SENDs, and WRITEs with a command, ... */
	u64	writes;			/* ... RDMA WRITEs ... */
	u64	reads;			/* ... and READs */
	u64	pushes;			/* reads pushed to us */
	u64	commands;
	u64	write_bytes;		/* payload of all RDMA WRITEs */
	u64	inlines;		/* of @sends, WRITEs that carried their command */
	u64	reconnects;
};

/**
 * rdda_target_create() - start keeping a session with a target
 * @addr: IP address and port of its listener
 * @expect: the host UUID it must show, or NULL for any
 * @ops: may be NULL
 * @priv: for @ops
 *
 * Returns at once; connects in the background until rdda_target_destroy().
 */
struct rdda_target *rdda_target_create(const struct sockaddr_storage *addr, const uuid_t *expect,
				       const struct rdda_target_ops *ops, void *priv);
/**
 * rdda_target_expect() - have one that was begun for any host show from now on the one it has
 * @t: the target
 * @host: its host's UUID, not zero
 *
 * Context: any.
 * Return: whether that host is the one that logged in last; if not, nothing is changed.
 */
bool rdda_target_expect(struct rdda_target *t, const uuid_t *host);
/* Ends the session, in order; waits for it. Extents must be closed. Sleeps. */
void rdda_target_destroy(struct rdda_target *t);
void rdda_target_info(struct rdda_target *t, struct rdda_target_info *info);
/*
 * Queues that a user should have: channels that a session may have, at least 1. Queue @q is served
 * by q % channels, as many as it has: the next one may have more.
 */
unsigned int rdda_target_queues(struct rdda_target *t);

/**
 * struct rdda_extent_info - what an opened extent is; valid once UP was seen
 */
struct rdda_extent_info {
	enum rdda_extent_state state;
	int	err;			/* why not UP */
	uuid_t	drive;
	uuid_t	holder;			/* when REFUSED because held */
	u64	attach;			/* highest attach number noted there, 0: none */
	/* of silence there, and any client has noticed that it is cut off; ours may be shorter */
	u32	dead_ms;
	u64	bytes;
	u32	lba_bytes;		/* 512 or 4096 */
	u32	phys_bytes;
	u32	max_bytes;		/* of a command; larger I/O is split by RDDA */
	u32	discard_bytes;		/* granularity; 0: no discard */
	bool	write_zeroes;
	bool	rotational;
};

/**
 * struct rdda_extent_ops - notifications of an extent to its user
 * @state: process context; may sleep, but must not wait for a caller of
 *	rdda_extent_close() or rdda_target_destroy(): those wait for it. In-flight
 *	I/O was ended before DOWN, GONE or REFUSED is reported, but what queue pairs of
 *	a lost session name pages of: that may end after the extent is UP again.
 */
struct rdda_extent_ops {
	void (*state)(void *priv, enum rdda_extent_state state, int err);
};

/**
 * rdda_extent_open() - open an extent and keep it open over reconnects
 * @t: its target
 * @extent: UUID
 * @drive: where it is thought to be; null: not known
 * @rw: for writing, else readers only
 * @preempt: fence another holder first
 * @epoch: refused when the target has seen a higher one
 * @ops: state changes
 * @priv: for @ops
 *
 * Returns at once in state DOWN or OPENING; several opens of one drive are
 * made one after the other, those of different drives in parallel.
 */
struct rdda_extent *rdda_extent_open(struct rdda_target *t, const uuid_t *extent,
				     const uuid_t *drive, bool rw, bool preempt, u64 epoch,
				     const struct rdda_extent_ops *ops, void *priv);
/* All I/O must have ended. Sends CLOSE when the target is there. Sleeps. */
void rdda_extent_close(struct rdda_extent *e);
/*
 * Give an extent without I/O back, and open it no more before rdda_extent_retry().
 * It is DOWN afterwards, or stays REFUSED. Sleeps.
 */
void rdda_extent_release(struct rdda_extent *e);
/*
 * Open a released extent again, now, and if @refused also one that is REFUSED, even
 * where another host had it meanwhile: other refused extents are retried automatically. A mounted
 * volume that is refused a newer layout keeps what it has: the target closes it when the
 * extent ends or is released.
 */
void rdda_extent_retry(struct rdda_extent *e, bool refused);
void rdda_extent_info(struct rdda_extent *e, struct rdda_extent_info *info);
/* Reopens use the new one; a live extent is opened with it at once. */
void rdda_extent_set_epoch(struct rdda_extent *e, u64 epoch);
/**
 * rdda_extent_attach() - have the target note an attach number, durably
 * @e: extent, open for writing, that is UP, or REFUSED for an older number
 * @number: not zero, less than 2^63; every later OPEN of @e carries it, also where this fails
 *
 * One call at a time. I/O goes on meanwhile. Sleeps until it is answered, 30 s at most.
 *
 * Return: 0; -EINVAL; -ESTALE: a higher one is noted, or the same of another host, and the extent
 * is REFUSED, so that I/O waits as for an old epoch; -ENOLINK: not UP, or the target
 * could not note it, though it may do so later.
 */
int rdda_extent_attach(struct rdda_extent *e, u64 number);

enum rdda_io_op {
	RDDA_READ,
	RDDA_WRITE,
	RDDA_DISCARD,
	RDDA_ZEROES,
};

#define RDDA_IO_P2P	1	/* pages of a PCI peer: the CPU must not touch them */
/* WRITE: keep the payload from @stage_offset on staged, set io->stage */
#define RDDA_IO_STAGE	2
#define RDDA_IO_UNMAP	4	/* ZEROES: the drive may deallocate */
#define RDDA_IO_POST	8	/* nothing follows it: post it at once, as rdda_commit() does */
#define RDDA_IO_POLLED	16	/* the submitter calls rdda_poll() until it has ended */

/**
 * struct rdda_io - one I/O to an opened extent
 * @op: what
 * @flags: RDDA_IO_*
 * @queue: blk-mq hardware queue, spreads over channels
 * @addr: byte address within the extent, a multiple of the LBA size
 * @len: bytes
 * @sg: payload, @nents entries; not NULL for READ and WRITE without @stage
 * @nents: entries of @sg
 * @stage: WRITE with a payload staged before, which may be put when the I/O has ended: @sg is
 *	not read. Where the stage was dropped it ends with -ESTALE, and part of it may be
 *	written: send again with @sg
 * @stage_offset: a multiple of the LBA size. With RDDA_IO_STAGE: where what is kept begins in
 *	the payload, a page at most; what is before it, a header, is sent only once. With @stage:
 *	where the payload begins in what was kept. Else not read
 * @behind: RDDA_IO_STAGE, where @stage_offset is not 0: a stage to keep it behind, as one with what
 *	that has, where it has room for whole pages; the caller's reference stays its own. NULL, or
 *	NULL afterwards: it is kept by itself, if at all
 * @stage_at: RDDA_IO_STAGE, afterwards: where in @stage it begins
 * @stage_room: RDDA_IO_STAGE: bytes to have room for, with what is kept behind it; afterwards 0
 *	where there is none
 * @done: any context but hard interrupt; may free the I/O
 * @private: used by RDDA while the I/O is in flight
 */
struct rdda_io {
	enum rdda_io_op	op;
	u8	flags;
	u16	queue;
	u64	addr;
	u32	len;
	struct scatterlist *sg;
	unsigned int nents;
	u32	stage_offset;
	struct rdda_stage *stage;
	struct rdda_stage *behind;
	u32	stage_at;
	u32	stage_room;
	void (*done)(struct rdda_io *io, int err);

	struct list_head node;		/* private to RDDA from here on */
	struct rdda_extent *extent;
	u32	issued;			/* bytes turned into commands */
	atomic_t left;			/* commands in flight + 1 while issuing */
	int	err;			/* the first */
	unsigned long private[6];
};

/**
 * rdda_submit() - send an I/O; it may wait for credits or arena inside
 * @e: extent
 * @io: stays RDDA's until @io->done
 *
 * Any context but hard interrupt; does not sleep; @io->done may be called from
 * within. Nothing need be posted before rdda_commit() of the same extent and
 * queue, or an I/O with RDDA_IO_POST. An extent that is not UP ends
 * the I/O with -ENOLINK, -ENODEV (GONE) or -EACCES (REFUSED, but for -ESTALE).
 */
void rdda_submit(struct rdda_extent *e, struct rdda_io *io);
/* Post what was submitted to the channel that serves @queue. */
void rdda_commit(struct rdda_extent *e, unsigned int queue);
/**
 * rdda_poll() - take what has come by the channel that serves @queue, instead of an interrupt
 * @e: extent
 * @queue: as in the I/Os
 *
 * A help and never a duty: what is not polled for ends nevertheless, in a tick or two. Any I/O
 * of the channel may end in here. Process context with interrupts and softirqs enabled; does
 * not sleep. In an RCU read section of the caller's, after which @e may be closed.
 *
 * Return: how many messages and send completions there were; 0 also where another one takes
 * them, or where the session began without rdda_poll_queues().
 */
int rdda_poll(struct rdda_extent *e, unsigned int queue);
/* Queues that a user should have for I/O that is polled, beside the others; 0: none. */
unsigned int rdda_poll_queues(void);
/*
 * Give a staged payload's memory back; NULL is fine. Any context. A stage is a cache: it ends with
 * its session, and when ordinary I/O needs its memory.
 */
void rdda_stage_put(struct rdda_stage *s);
/* One more reference to it. Any context. */
void rdda_stage_get(struct rdda_stage *s);
/*
 * I/O of this extent is not waited for any longer: all that is in flight ends with
 * -ENOLINK as soon as nothing names its pages, also what is only slow; the extent is
 * DOWN until its drive has let go of the commands. The session, which others use, is
 * ended only for pages that nothing else makes safe, and for those not before a
 * silent target would lose it.
 */
void rdda_extent_kick(struct rdda_extent *e);

#endif
