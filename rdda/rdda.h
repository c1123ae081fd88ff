/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDDA for its users: targets, opened extents, I/O. No verbs type shows here, and no code below
 * this header knows of volumes or protection.
 *
 *   rdda_target   one target host: a session that is kept up, with backoff
 *     `- rdda_extent   an extent opened there, reopened automatically after a loss
 *          `- rdda_io       one read, write, discard or zeroing
 *
 * Life of a target            Life of an extent
 *   DOWN -> CONNECTING -> UP    DOWN -> OPENING -> UP
 *     ^--------'----------'       ^-------'--------'   (with its target)
 *                                 `-- GONE: the drive was unplugged
 *                                 `-- REFUSED: held, stale epoch, revoked
 *
 * Promises of an I/O: @done is called once, after the last work request that names its pages has
 * completed or its queue pair was destroyed and drained, and the pages are unmapped. -ENOLINK means
 * that the channel was lost. A read may be sent again at once by another path. A write may be sent
 * again, or failed, but nothing reaches its drive again before the extent is UP; a target opens the
 * extent only when the old session's commands on the drive are dead.
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
 * @key: the cluster's key, and the key before, for targets that have no other yet;
 *	RDDA_KEY_NONE: no such key. Without the first key: no authentication
 */
struct rdda_identity {
	uuid_t	host;
	struct rdda_key key[2];
};

int rdda_client_init(void);
void rdda_client_exit(void);
/* Set name and keys. A session whose key is no longer in @id ends, and is made again. Sleeps. */
int rdda_client_set_identity(const struct rdda_identity *id);

/**
 * struct rdda_target_ops - notifications of a target to its user; called in process
 *	context, may sleep, never after rdda_target_destroy()
 * @state: the session came up or went down; @err: reason for not being UP
 */
struct rdda_target_ops {
	void (*state)(void *priv, enum rdda_target_state state, int err);
};

struct rdda_target_info {
	enum rdda_target_state state;
	int	err;			/* reason for not being UP: negative errno */
	char	reason[64];		/* the same, human-readable */
	uuid_t	uuid;			/* UUID of the target host, once seen */
	u32	session;
	u16	channels;
	u32	arena_bytes;
	u64	sends;			/* messages posted: SENDs, and WRITEs with a command, ... */
	u64	writes;			/* ... RDMA WRITEs ... */
	u64	reads;			/* ... and READs */
	u64	pushes;			/* reads pushed to this host */
	u64	commands;
	u64	write_bytes;		/* payload of all RDMA WRITEs */
	u64	inlines;		/* of @sends: WRITEs that carried a command */
	u64	reconnects;
};

/**
 * rdda_target_create() - start keeping a session with a target
 * @addr: IP address and port of its listener
 * @expect: host UUID that the target must show, or NULL for any
 * @ops: may be NULL
 * @priv: for @ops
 *
 * Returns at once; connects in the background until rdda_target_destroy().
 */
struct rdda_target *rdda_target_create(const struct sockaddr_storage *addr, const uuid_t *expect,
				       const struct rdda_target_ops *ops, void *priv);
/**
 * rdda_target_expect() - accept only the host that logged in last, from now on
 * @t: the target, created for any host
 * @host: UUID of the host, not zero
 *
 * Context: any.
 * Return: true if @host logged in last; if not, nothing is changed.
 */
bool rdda_target_expect(struct rdda_target *t, const uuid_t *host);
/* End the session, in order, and wait for its end. Extents must be closed. Sleeps. */
void rdda_target_destroy(struct rdda_target *t);
void rdda_target_info(struct rdda_target *t, struct rdda_target_info *info);
/*
 * Number of queues that a user should have, at least 1: the channels that a session may have. Queue
 * @q is served by channel @q modulo the session's number of channels; the next session may have
 * more.
 */
unsigned int rdda_target_queues(struct rdda_target *t);

/**
 * struct rdda_extent_info - properties of an opened extent; valid once UP was seen
 */
struct rdda_extent_info {
	enum rdda_extent_state state;
	int	err;			/* reason for not being UP */
	uuid_t	drive;
	uuid_t	holder;			/* if REFUSED because held: the holder */
	/* highest attach number noted at the target, 0: none; also known while REFUSED */
	u64	attach;
	uuid_t	attacher;		/* host for which @attach was noted */
	/* ms of silence after which every client of the target declares it dead; may exceed ours */
	u32	dead_ms;
	u64	bytes;
	u32	lba_bytes;		/* 512 or 4096 */
	u32	phys_bytes;
	u32	max_bytes;		/* largest command; RDDA splits larger I/O */
	u32	discard_bytes;		/* granularity; 0: no discard */
	bool	write_zeroes;
	bool	rotational;
};

/**
 * struct rdda_extent_ops - notifications of an extent to its user
 * @state: process context; may sleep, but must not wait for a caller of
 *	rdda_extent_close() or rdda_target_destroy(): those wait for it. DOWN, GONE or
 *	REFUSED is reported after in-flight I/O was ended, except I/O whose pages are
 *	named by queue pairs of a lost session: such I/O may end after the extent is UP again.
 */
struct rdda_extent_ops {
	void (*state)(void *priv, enum rdda_extent_state state, int err);
};

/**
 * struct rdda_want - the conditions of an OPEN
 * @rw: true: for writing; false: for readers only
 * @preempt: fence another holder first
 * @numbered: access is ordered by @number; @epoch is not compared. A refusal because of the noted
 *	number is REFUSED with -ESTALE, and is for good if mesh_number_fences()
 * @epoch: the target refuses the OPEN if it has seen a higher one
 * @number: access number; a reader's is that of the volume when the reader attached, and 0 if the
 *	volume had none. Without @numbered: 0
 * @served: number under which this host served the volume so far, if it takes the volume again
 *	while serving: an extent that another host has opened for writing since is refused. Else 0
 */
struct rdda_want {
	bool	rw, preempt, numbered;
	u64	epoch, number, served;
};

/**
 * rdda_extent_open() - open an extent and keep it open over reconnects
 * @t: its target
 * @extent: UUID
 * @drive: UUID of the drive that should hold the extent; null: not known
 * @want: copied
 * @ops: state changes
 * @priv: for @ops
 *
 * Returns at once in state DOWN or OPENING. Extents of one drive are opened one after the other,
 * those of different drives in parallel.
 */
struct rdda_extent *rdda_extent_open(struct rdda_target *t, const uuid_t *extent,
				     const uuid_t *drive, const struct rdda_want *want,
				     const struct rdda_extent_ops *ops, void *priv);
/* Close an extent. All I/O must have ended. Sends CLOSE when the target has a session. Sleeps. */
void rdda_extent_close(struct rdda_extent *e);
/*
 * Release an extent without I/O, and do not open it again before rdda_extent_retry(). The extent is
 * DOWN afterwards, or stays REFUSED. Sleeps.
 */
void rdda_extent_release(struct rdda_extent *e);
/*
 * Open a released extent again, now; with @refused also an extent that is REFUSED, even if another
 * host had it meanwhile. Other refused extents are retried automatically. A mounted volume that is
 * refused a newer layout keeps its opening: the target closes it when the extent ends or is
 * released.
 */
void rdda_extent_retry(struct rdda_extent *e, bool refused);
void rdda_extent_info(struct rdda_extent *e, struct rdda_extent_info *info);
/* Set a new epoch. Later OPENs use it; a live extent is opened with the new epoch at once. */
void rdda_extent_set_epoch(struct rdda_extent *e, u64 epoch);
/**
 * rdda_extent_number() - have the target note an attach number, durably
 * @e: extent, open for writing, that is UP, or REFUSED for an older number
 * @number: not zero, less than 2^63; every later OPEN of @e carries it, also after a failure
 * @served: as in struct rdda_want. Later OPENs carry it, too, until the target grants one
 *
 * One call at a time. I/O goes on meanwhile. Sleeps until the answer, 30 s at most.
 *
 * Return: 0; -EINVAL; -ESTALE: an earlier call had a higher number; or a higher number is noted, or
 * the same of another host, and the extent is REFUSED: then I/O waits as for an old epoch, or
 * fails if the number is refused for good; -ENOLINK: not UP, or the target could not note the
 * number, though it may do so later.
 */
int rdda_extent_number(struct rdda_extent *e, u64 number, u64 served);

/* The state of an extent at its target, found without opening it. */
struct rdda_probe {
	u64	number;			/* highest number noted; 0: none */
	uuid_t	attacher;		/* host for which @number was noted */
	u32	writers;		/* openings at the target, also of hosts that are silent */
	u32	readers;		/* the same, of readers */
	bool	unknown;		/* the target just started: openings may be missing */
};

/**
 * rdda_extent_probe() - find the number and the openings of an extent
 * @t: its target
 * @extent: UUID
 * @out: filled in if the return is 0 or -EPERM
 *
 * Changes nothing at the target. Sleeps, killably, 5 s at most.
 *
 * Return: 0; -EPERM: the extent is not for this host; -EAGAIN: it is not zeroed yet; -ENODEV: not
 * there, or its drive is away; -ENOLINK: no session; -ETIMEDOUT; -EINTR.
 */
int rdda_extent_probe(struct rdda_target *t, const uuid_t *extent, struct rdda_probe *out);

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
#define RDDA_IO_POST	8	/* no other I/O follows: post at once, as rdda_commit() does */
#define RDDA_IO_POLLED	16	/* the submitter calls rdda_poll() until the I/O has ended */

/**
 * struct rdda_io - one I/O to an opened extent
 * @op: operation
 * @flags: RDDA_IO_*
 * @queue: blk-mq hardware queue, spreads over channels
 * @addr: byte address within the extent, a multiple of the LBA size
 * @len: bytes
 * @sg: payload, @nents entries; not NULL for READ and WRITE without @stage
 * @nents: entries of @sg
 * @stage: WRITE of a payload staged before; @sg is not read. The stage may be put when the I/O has
 *	ended. If the stage was dropped, the I/O ends with -ESTALE, and part of the payload may be
 *	written: send again with @sg
 * @stage_offset: a multiple of the LBA size. With RDDA_IO_STAGE: offset in the payload, a page at
 *	most, where the part to keep begins; the part before, a header, is sent only once. With
 *	@stage: offset in the kept data where this payload begins. Else not read
 * @behind: RDDA_IO_STAGE with @stage_offset not 0: a stage with room for whole pages; the payload
 *	is kept behind the data there, in the same stage. The caller keeps its own reference. NULL,
 *	or set to NULL: the payload is kept separately, if at all
 * @stage_at: RDDA_IO_STAGE, afterwards: offset of the payload in @stage
 * @stage_room: RDDA_IO_STAGE: bytes of room wanted, for this payload and later ones; afterwards 0
 *	if there is no room
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
	int	err;			/* the first error */
	unsigned long private[6];
};

/**
 * rdda_submit() - send an I/O; the I/O may wait inside RDDA for credits or arena
 * @e: extent
 * @io: owned by RDDA until @io->done
 *
 * Any context but hard interrupt; does not sleep; @io->done may be called before the return. RDDA
 * may post nothing before rdda_commit() of the same extent and queue, or an I/O with RDDA_IO_POST.
 * If the extent is not UP, the I/O ends with -ENOLINK, -ENODEV (GONE) or -EACCES (REFUSED, but
 * for -ESTALE).
 */
void rdda_submit(struct rdda_extent *e, struct rdda_io *io);
/* Post I/O submitted to the channel of @queue. */
void rdda_commit(struct rdda_extent *e, unsigned int queue);
/**
 * rdda_poll() - take completions of the channel of @queue, instead of an interrupt
 * @e: extent
 * @queue: as in the I/Os
 *
 * A help and never a duty: without polling, I/O ends nevertheless, in a tick or two. Any I/O of
 * the channel may end in here. Process context with interrupts and softirqs enabled; does not
 * sleep. Called in the caller's RCU read section; after that, @e may be closed.
 *
 * Return: number of messages and send completions taken; 0 also if another walk takes them, or if
 * the session began without rdda_poll_queues().
 */
int rdda_poll(struct rdda_extent *e, unsigned int queue);
/* Number of queues that a user should have for polled I/O, beside the others; 0: none. */
unsigned int rdda_poll_queues(void);
/*
 * Put a reference to a staged payload; NULL is allowed. Any context. A stage is a cache: its memory
 * ends with its session, or when ordinary I/O needs it.
 */
void rdda_stage_put(struct rdda_stage *s);
/* Take one more reference to a stage. Any context. */
void rdda_stage_get(struct rdda_stage *s);
/*
 * End I/O that is stuck. All I/O of the extent in flight ends with -ENOLINK as soon as no request
 * names its pages, also I/O that is only slow; the extent is DOWN until its drive has ended the
 * commands. The session, used by other extents, ends only for pages that nothing else makes safe,
 * and not before the time after which a silent target would lose it.
 */
void rdda_extent_kick(struct rdda_extent *e);

#endif
