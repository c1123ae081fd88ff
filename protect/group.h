/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A protection group: the engine below redundant levels.
 *
 *   submit -> ops --row locks--> level policy (mirror.c) --> member I/O
 *              |                     |
 *              |                 bitmap.c: INTENT and MISSED blocks on members
 *              ' member.c: in sync -> failed -> (epoch) absent -> joining -> in sync
 *
 * One flat memory without pointers: the header below, then arrays at offsets.
 * All calls about a group are made one at a time (the caller's lock), none
 * sleeps. After each call, ask prot_group_next() until it says PROT_EV_NONE.
 *
 * Life of a group:
 *
 *   LOADING --all bitmaps read--> UNITING --union durable--> SERVING
 *      |                             |                          |
 *      '-------- a member fails -----+-> STOPPED <--none left---'
 *
 * What stops while LOADING or UNITING is begun anew by the caller, with the
 * layout of the next epoch, from prot_group_init(). What stops while SERVING
 * has lost too much: every request ends with -EIO.
 *
 * What the caller owes: each I/O ends exactly once; after an error nothing is
 * sent to that member any more, and what may still be on its way there is dead
 * before prot_group_join() names the member again or a new attachment begins
 * (fencing). An error of a write means "unknown", never "not written".
 */
#ifndef PROTECT_GROUP_H
#define PROTECT_GROUP_H

#include <linux/types.h>

#include "protect/prot.h"
#include "protect/record.h"

#define PROT_NONE16		0xffff

/* Buffers that runs name; PROT_BUFFER_REQUEST is the op's own payload. */
#define PROT_BUFFER_PRIVATE	1	/* + n: prot_group_config.bufs of buf_bytes */
#define PROT_BUFFER_META	0x10000	/* + member: one block each */
#define PROT_TAG_META		0x80000000U	/* + member */

/**
 * struct prot_group_config - what a group is
 * @owner: volume, salt, group number, for records
 * @uuid: of each member
 * @left: epoch at which an absent member left, or a spare took its place
 * @meta: byte of each member where the records begin
 * @data: byte of each member where data begins
 * @bytes: of data on each member
 * @region: bytes of a region, a power of two
 * @in_sync: members that the committed epoch calls in sync
 * @epoch: the committed one
 * @level: PROT_MIRROR (raid10 is groups of these)
 * @width: members
 * @fresh: first attachment ever, of members that hold the same: nothing is
 *	read, all bitmaps are written empty before the group serves
 * @lba: 512 or 4096
 * @ops: requests in flight, at most
 * @bufs: private buffers, at least 3
 * @buf_bytes: of each
 */
struct prot_group_config {
	struct prot_owner owner;
	u8	uuid[PROT_COPIES_MAX][PROT_UUID_LEN];
	u64	left[PROT_COPIES_MAX];
	u64	meta[PROT_COPIES_MAX];
	u64	data[PROT_COPIES_MAX];
	u64	bytes;
	u64	in_sync;
	u64	epoch;
	u32	region;
	u32	lba;
	u32	buf_bytes;
	u16	ops;
	u16	bufs;
	u8	level;
	u8	width;
	u8	fresh;
};

enum prot_group_state {
	PROT_G_LOADING,
	PROT_G_UNITING,
	PROT_G_SERVING,
	PROT_G_STOPPED,
	PROT_G_STATES
};

/*
 * Life of an op:
 *
 *   FREE -> LOCK -+-------------> WRITE ---------------------+-> ENDED -> FREE
 *                 +-------------> READ ----------------------+
 *                 '-> BUF -> SYNC_READ -> SYNC_WRITE -.      |
 *                     | ^------next chunk-------------+      |
 *                     |                               'READ--+  (M5)
 *                     '-> SCRUB_READ -> SCRUB_PEER -> SCRUB_FIX
 */
enum prot_phase {
	PROT_P_FREE,
	PROT_P_LOCK,		/* waits for overlapping ops before it */
	PROT_P_BUF,		/* waits for private buffers */
	PROT_P_READ,
	PROT_P_WRITE,
	PROT_P_SYNC_READ,	/* reads what copies are to agree on */
	PROT_P_SYNC_WRITE,
	PROT_P_SCRUB_READ,	/* reads the trusted copy, ... */
	PROT_P_SCRUB_PEER,	/* ... another one, ... */
	PROT_P_SCRUB_FIX,	/* ... and makes it equal */
	PROT_P_ENDED,		/* its event was not fetched yet */
	PROT_PHASES
};

/* What an op is for. */
enum prot_purpose {
	PROT_FOR_REQUEST,
	PROT_FOR_SYNC,		/* resynchronisation, catch-up and rebuild */
	PROT_FOR_SCRUB,
};

/**
 * struct prot_gop - an op in a group
 * @cookie: the submitter's
 * @addr: byte of the group's rows (= of each member's data) it begins at
 * @length: bytes; all in one region
 * @targets: members to be written
 * @sent: members that an I/O went to in this phase
 * @ended: of these, whose I/O has ended
 * @ok: of these, without error
 * @tried: sources that could not be read
 * @pos: bytes made equal so far (sync before a read)
 * @chunk: bytes in hand of that
 * @err: result
 * @next: in the list of its bucket, older first
 * @ready: in the list of ops that may have I/O to start
 * @buf: first of its private buffers
 * @kind: enum prot_kind
 * @flags: of the request
 * @phase: enum prot_phase
 * @purpose: enum prot_purpose
 * @src: member read from
 * @queued: on the ready list
 * @exclusive: holds its rows alone, not with other readers
 */
struct prot_gop {
	u64	cookie;
	u64	addr;
	u64	targets;
	u64	sent;
	u64	ended;
	u64	ok;
	u64	tried;
	u32	length;
	u32	pos;
	u32	chunk;
	s32	err;
	u16	next;
	u16	ready;
	u16	buf;
	u8	kind;
	u8	flags;
	u8	phase;
	u8	purpose;
	u8	src;
	u8	queued;
	u8	exclusive;
};

#define PROT_R_INTENT	1	/* its bit is, or is to be, set on all copies */
#define PROT_R_UNSYNCED	2	/* copies may differ: M5 */

/**
 * struct prot_region - what is known of a region
 * @durable: copies on which its INTENT bit is set on the medium
 * @missed: absent slots whose member lacks writes to it
 * @flags: PROT_R_*
 * @users: ops that may change it
 */
struct prot_region {
	u8	durable;
	u8	missed;
	u8	flags;
	u8	reserved;
	u32	users;
};

/* An absent slot, that of the member of the same index: used when it is out. */
struct prot_absent {
	u64	left;		/* epoch */
	u8	member;
	u8	used;
	u8	reserved[6];
};

/* The one bitmap I/O in flight on a member. */
struct prot_meta {
	u32	version;	/* of the block when its content was frozen */
	u32	block;
	u8	bitmap;		/* enum prot_bitmap_kind */
	u8	busy;
	u8	reserved[2];
	u32	cursor;		/* LOADING: blocks read, all bitmaps counted */
};

/* Background work: one region at a time, chunk by chunk. */
struct prot_sync {
	u32	region;		/* PROT_NO_REGION: none in hand */
	u32	pos;		/* bytes of it that are done */
	u32	scan;		/* where to look for the next one */
	u8	slots;		/* absent slots that this pass makes whole */
	u8	copies;		/* in-sync members that it makes equal */
	u8	stalled;	/* no source could be read; until the next epoch */
};

#define PROT_NO_REGION	0xffffffffU

struct prot_group {
	struct prot_group_config cfg;
	u64	in_sync;
	u64	failed;		/* in sync, wrote with an error: wait for an epoch */
	u64	joining;	/* catching up */
	u64	promoting;	/* joining, misses nothing, gets its bitmaps */
	u64	told;		/* ... and the caller was told */
	u64	asked;		/* failed members an epoch was asked for */
	u64	load[PROT_COPIES_MAX];	/* reads in flight, for balancing */
	u64	last[PROT_COPIES_MAX];	/* byte after the last read */
	u64	seq;		/* of bitmap blocks */
	u64	mismatches;	/* sectors that a scrub repaired */
	u64	synced;		/* bytes that background work made equal */
	u64	replayed;	/* dirty regions found when attached */
	u64	scrub_pos;	/* byte the scrub is at */
	struct prot_absent absent[PROT_ABSENT_MAX];
	struct prot_meta meta[PROT_COPIES_MAX];
	struct prot_sync sync;
	u32	region_shift;
	u32	nr_regions;
	u32	nr_blocks;	/* of one bitmap */
	u32	nr_buckets;
	u32	bytes;
	u32	off_ops, off_regions, off_versions, off_written, off_buckets, off_bufused;
	u32	off_bufs, off_meta;
	u32	unsynced;	/* regions */
	u16	ready_head, ready_tail;
	u8	state;
	u8	scrubbing;
	u8	serving_told, stopped_told;
};

size_t prot_group_bytes(const struct prot_group_config *c);
/* Bytes of records on each member. */
u64 prot_group_meta_bytes(const struct prot_group_config *c);

/* Begin an attachment in zeroed memory of prot_group_bytes(): LOADING. */
struct prot_group *prot_group_init(void *mem, const struct prot_group_config *c);

enum prot_event_kind {
	PROT_EV_NONE,
	PROT_EV_IO,		/* @io, @runs: start it */
	PROT_EV_DONE,		/* the request with @cookie has ended with @err */
	PROT_EV_SERVING,	/* attached; @members: dirty regions found */
	PROT_EV_EPOCH,		/* commit an epoch without @members, then tell */
	PROT_EV_CAUGHT_UP,	/* @members may be called in sync by the next epoch */
	PROT_EV_STOPPED,
};

struct prot_event {
	struct prot_io io;
	struct prot_run runs[2];
	u64	cookie;
	u64	members;
	s32	err;
	u16	op;		/* IO: whose payload PROT_BUFFER_REQUEST is */
	u8	kind;
};

/* Bytes from @addr on that one op may cover: it stays within a region. */
u64 prot_group_span(const struct prot_group *g, u64 addr);

/**
 * prot_group_submit() - take a request
 * @kind: READ, WRITE, DISCARD or ZEROES
 * @addr: byte of the group's rows
 * @length: at most prot_group_span()
 * @cookie: comes back with PROT_EV_DONE
 *
 * Return: index of the op (PROT_EV_IO names it), -EAGAIN when the group
 * is not serving yet or all ops are in use, -EIO when it has stopped.
 */
int prot_group_submit(struct prot_group *g, u8 kind, u8 flags, u64 addr, u32 length, u64 cookie);
void prot_group_next(struct prot_group *g, struct prot_event *ev);
void prot_group_result(struct prot_group *g, u32 tag, int err);

/* An epoch is committed: these are the members in sync in it. */
void prot_group_epoch(struct prot_group *g, u64 epoch, u64 in_sync);
/*
 * The absent @member is back and fenced: let it catch up. -EINVAL: it is not
 * out; -EBUSY: an I/O to it has not ended.
 */
int prot_group_join(struct prot_group *g, u8 member);
/* ... or a spare took its place at @epoch: rebuild. Nobody was joining there. */
int prot_group_replace(struct prot_group *g, u8 member, const u8 *uuid, u64 epoch);
/* A joining member has gone again. */
void prot_group_leave(struct prot_group *g, u8 member);
/* There is time: clear intent bits of idle regions. */
void prot_group_idle(struct prot_group *g);
/* Compare and repair all copies once, from the start. */
void prot_group_scrub(struct prot_group *g);
/* Nothing is out, nothing is to be done but what waits for the caller. */
bool prot_group_quiet(const struct prot_group *g);

/* Memory of a private or metadata buffer. */
void *prot_group_buffer(struct prot_group *g, u32 buffer);

#endif
