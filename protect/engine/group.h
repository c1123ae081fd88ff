/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A protection group: the engine below redundant levels.
 *
 *   submit -> ops --row locks--> level policy (mirror.c, ec.c) --> member I/O
 *              |                     |
 *              |                 bitmap.c: INTENT and MISSED blocks on members
 *              ' member.c: in sync -> failed -> (epoch) absent -> joining -> in sync
 *
 * One flat memory without pointers: the header below, then arrays at offsets.
 * All calls about a group are made one at a time (the caller's lock), none
 * sleeps. After each call, call prot_group_next() until it gives PROT_EV_NONE. A call
 * goes through a bounded number of regions, where it goes through any one by one;
 * PROT_EV_AGAIN is a place to let others have the CPU, or the lock.
 *
 * Life of a group:
 *
 *   LOADING --all bitmaps read--> UNITING --union durable--> SERVING
 *      |                             |                          |
 *      '-------- a member fails -----+-> STOPPED <--none left---'
 *
 * What stops while LOADING or UNITING is begun again by the caller, with the
 * layout of the next epoch, from prot_group_init(). What stops while SERVING
 * has lost too much: every request ends with -EIO.
 *
 * What the caller owes: each I/O ends exactly once, and touches its buffer no more
 * then, a failed read included. It ends with one of these classes:
 *
 *   0                  done; a write is durable
 *   -ENODATA, -EILSEQ  MEDIUM: the member answers. Read: not this range. Write: each
 *                      sector is old, new or unreadable, and nothing is in flight any more
 *   -EOPNOTSUPP        UNSUPPORTED, of DISCARD and ZEROES: nothing was done
 *   -ENOMEM, -EAGAIN   RETRY: the caller's to send again, never to be delivered
 *   any other          GONE: what the write did is unknown, and it may still do it
 *
 * Of a member that is out there are two exceptions: prot_group_lets_go(), prot_group_set_aside().
 *
 * After GONE nothing is sent to that member any more, and what may still be in flight
 * there is dead before prot_group_join() names the member again or a new attachment
 * begins (fencing).
 *
 * What the engine makes of it. A member in sync holds all that was acknowledged: it is
 * read from, and recovery waits for its records. So a write that failed there is
 * made good while its rows are still locked, or its member is out by an epoch, whose
 * MISSED bits cover the rows of all that was not over; there is nothing between.
 *
 *   MEDIUM, write      sent once more, the same bytes; failing again is GONE
 *   MEDIUM, read       other members serve, and the rows are rewritten
 *   MEDIUM, often      more than prot_group_config.errors made good since the last
 *                      prot_group_hour(): GONE, if those that are left are enough
 *   UNSUPPORTED        zeroes are written there, now and for the rest of the attachment
 *   GONE               an epoch is requested without the member
 *   RETRY              the caller's mistake; as GONE, which is right whatever happened
 *
 * Erasure coding (PROT_EC) needs four things more:
 * - PROT_EV_COPY: move bytes between the request's payload and a private buffer;
 * - PROT_EV_CODEC: call prot_group_codec() for the op. Both may be done right
 *   away or in another context, without the caller's lock: nothing else uses those
 *   buffers meanwhile. Their end is reported by prot_group_result(), as an I/O's is.
 * - What a write's record stages may be kept behind that of the write before it, so that both go in
 *   place at once: prot_group_staged() says where it is. The last of them may find what is staged
 *   dropped, and ends with -ESTALE then.
 * - A write's PROT_EV_DONE comes when its records are durable; the op goes on in
 *   place from its private copy and does not touch the request's payload again. It
 *   may leave a place to a later op, and what it has staged there unused. Its op is free
 *   only when all is in place: PROT_EV_FREE. What is staged by its numbers goes then.
 * Writes that are submitted before prot_group_next() is called may become one: submit
 * all pieces of a request, and all requests at hand, first.
 */
#ifndef PROTECT_GROUP_H
#define PROTECT_GROUP_H

#include <linux/types.h>

#include "protect/record/journal.h"
#include "protect/layout/prot.h"
#include "protect/record/record.h"

#define PROT_NONE16		0xffff

#define PROT_TAG_SHIFT		6	/* tag of an I/O or work of an op: op << 6 | member */

/* Buffers that runs name; PROT_BUFFER_REQUEST is the op's own payload. */
#define PROT_BUFFER_PRIVATE	1	/* + n: prot_group_config.bufs, .smalls, .cached */
#define PROT_BUFFER_META	0x10000	/* + member: a block each, ec: a ring slot each */
#define PROT_BUFFER_BLOCK	0x20000	/* + which of the bitmap blocks that are written */
#define PROT_TAG_META		0x80000000U	/* + member, and which block << 6 */
#define PROT_BUFFER_ZERO	0x30000	/* zeroes of any length, which have no memory */

/* What a group is. */
struct prot_group_config {
	struct prot_owner owner;	/* volume, salt, group number, for records */
	u8	uuid[PROT_WIDTH_MAX][PROT_UUID_LEN];	/* of each member */
	/* epoch at which an absent member left, or a spare took its place; kept up to date */
	u64	left[PROT_WIDTH_MAX];
	u64	meta[PROT_WIDTH_MAX];	/* byte of each member where the records begin */
	u64	data[PROT_WIDTH_MAX];	/* byte of each member where data begins */
	u64	bytes;			/* of data on each member; ec: whole strips */
	/*
	 * ec: number of this attachment, from the store, always growing; the group takes a higher
	 * one when members know a higher one
	 */
	u64	attach;
	u64	in_sync;		/* members that the committed epoch calls in sync */
	u64	epoch;			/* the committed one */
	u32	region;	/* bytes of a region, a power of two; ec: at least a strip */
	u32	lba;			/* 512 or 4096 */
	u32	buf_bytes;		/* of a private buffer; ec: ignored */
	u32	strip;			/* ec: bytes, a power of two */
	/* ec: bytes of each strip that a small private buffer holds, a power of two */
	u32	small;
	/*
	 * ec: of payload in a ring slot, a power of two, at least @strip: zeroes of a part of a
	 * strip are a read-modify-write of all parity
	 */
	u32	slot_bytes;
	/*
	 * ec: bytes of a ring slot before its payload, at least @lba; 4096, so that payloads are
	 * aligned
	 */
	u32	slot_head;
	u16	ops;			/* requests in flight, at most */
	/*
	 * private buffers, at least 4; ec: at least 5, one per write in flight, of a size that the
	 * group knows (prot_shape.buf_bytes); a quarter, 4 at most, is for reads
	 */
	u16	bufs;
	/*
	 * ec: small private buffers besides, for requests of no more than @small rows; 0, or at
	 * least 2. As many are for reads as of the others
	 */
	u16	smalls;
	/*
	 * ec: of @bufs and of @smalls, those that are kept for prot_group_set_aside(); 0, or at
	 * least three more than the share of reads: there may be no others any more
	 */
	u16	spares[2];
	/*
	 * ec: stripes whose data is kept in memory for small writes in order, PROT_CACHED_MAX at
	 * most, @k strips of memory and an op for all; 0: none
	 */
	u16	cached;
	u16	rings;			/* ec: rings; stripes of different rings share nothing */
	/* ec: of a ring, PROT_SLOTS_MIN..PROT_SLOTS_MAX; one less may be in flight */
	u16	slots;
	/* medium errors of a member that are made good an hour; 0: PROT_ERRORS_HOUR */
	u16	errors;
	u8	level;			/* enum prot_level, of one with a policy */
	u8	width;			/* members; ec: @k + @m */
	u8	k;			/* ec: data strips of a stripe */
	u8	m;			/* ec: parity strips */
	/*
	 * first attachment ever, of members that hold the same: nothing is read, all bitmaps are
	 * written empty before the group serves
	 */
	u8	fresh;
	/*
	 * nothing is written, and all is whole: the group serves at once. The caller delivers each
	 * error of a member as one of the medium, so that others serve and no epoch is wanted
	 */
	u8	ro;
	/*
	 * chunks of background work in flight, of resynchronisation as of a scrub, at most
	 * PROT_DEPTH_MAX; 0: one. Each one further takes two of @ops and three of @bufs
	 */
	u8	depth;
};

#define PROT_DEPTH_MAX		16
#define PROT_CACHED_MAX		4
#define PROT_NO_LIMIT		(~0ULL)

enum prot_group_state {
	PROT_G_LOADING,
	PROT_G_UNITING,		/* ec: erase, replay, bump; see ec_recover.c */
	PROT_G_SERVING,
	PROT_G_STOPPED,
	PROT_G_STATES
};

/*
 * Life of an op: FREE -> LOCK -> the phases of its level (policy.h) -> ENDED -> FREE.
 * From each phase it may go to ENDED.
 */
enum prot_phase {
	PROT_P_FREE,
	PROT_P_LOCK,		/* waits for overlapping ops before it */
	PROT_P_BUF,		/* waits for private buffers */
	PROT_P_ENDED,		/* its event was not fetched yet */
	PROT_P_LEVEL,		/* the first of the level's own */
};

/* What an op is for. */
enum prot_purpose {
	PROT_FOR_REQUEST,
	PROT_FOR_SYNC,		/* resynchronisation, catch-up and rebuild */
	PROT_FOR_SCRUB,
	PROT_FOR_LEVEL,		/* background work of the level's own */
};

/* An op in a group. */
struct prot_gop {
	u64	cookie;		/* the submitter's */
	u64	addr;	/* byte of the group's rows (= of each member's data) it begins at */
	u64	targets;	/* members to be written */
	u64	sent;		/* members that an I/O went to in this phase */
	u64	ended;		/* of these, those whose I/O has ended */
	u64	ok;		/* of these, without error */
	u64	tried;		/* sources that could not be read */
	u64	twice;		/* members whose write was sent once more in this phase */
	u64	plain;	/* members that zeroes were written to, since they take no other zeroing */
	u64	unread;		/* scrub: members that could not read some of it */
	u32	length;		/* bytes; all in one region */
	u32	pos;		/* bytes made equal so far (sync before a read), or scrubbed */
	u32	chunk;		/* bytes in hand of that */
	s32	err;		/* result */
	u16	next;		/* in the list of its bucket, older first */
	u16	ready;		/* in the list of ops that may have I/O to start */
	u16	buf;		/* first of its private buffers */
	u16	wait_next;	/* the op behind it in the queue that it is in, or PROT_NONE16 */
	u16	wait_prev;	/* the op before it there, or PROT_NONE16 */
	/*
	 * those before it in its bucket that it waits for, where the level has no rule of its own
	 * (prot_policy.conflict): counted at its start
	 */
	u16	blockers;
	u8	kind;		/* enum prot_kind */
	u8	flags;		/* of the request */
	u8	phase;		/* enum prot_phase, or of the level */
	u8	purpose;	/* enum prot_purpose */
	u8	src;		/* member read from */
	u8	queued;		/* on the ready list */
	u8	exclusive;	/* holds its rows alone, not with other readers */
	u8	again;		/* to be tried again, after the others that are ready */
	/* how often no source could read all of its rows, so that it began again */
	u8	retried;
	u8	repair;	/* it waits for its rows to be repaired, @pos bytes of them so far */
	u8	acked;		/* its end was reported to the submitter before it is over */
	u8	waits;		/* the queue that it is in, plus one (see prot_wait()); 0: none */
	u8	turn;		/* scrub: prot_group.scrub_turn when it began */
};

/*
 * Ops that wait for one of a kind, oldest first: for private buffers, and what else
 * the level has queues for (ec: one a ring, for its next slot). What is free goes to
 * the first of them and to no op beside it, so the longest wait is that of the queue.
 */
struct prot_queue {
	u16	head;		/* PROT_NONE16: none waits */
	u16	tail;
};

enum {
	PROT_Q_BUF,		/* writes, for a private buffer */
	PROT_Q_READ_BUF,	/* reads, which have a share that writes leave to them */
	PROT_Q_SMALL,		/* the same for small ones */
	PROT_Q_SMALL_READ,
	PROT_Q_LEVEL,		/* the first of the level's own */
};

/* What is known of a region besides the sets that it is in. */
struct prot_region {
	u32	users;		/* ops that may change it */
};

/* What the one I/O of records in flight on a member is about. */
enum prot_meta_what {
	PROT_META_BITMAP,	/* a block is read, LOADING; written ones are prot_block_io */
	PROT_META_LEVEL,	/* the first of the level's own */
	PROT_META_ATTACH = PROT_META_LEVEL,	/* ec, as all that follow */
	PROT_META_SLOT,		/* read when attached */
	PROT_META_ERASE,
	PROT_META_REPLAY,	/* read once more, to go in place */
	PROT_META_PLACE,
};

/*
 * A bitmap block that goes to a member. Of one block there is one at a time, so a set
 * waits for the clear in flight; of different ones there are several.
 */
struct prot_block_io {
	u32	version;	/* of the block when its content was frozen */
	u32	block;
	u8	bitmap;		/* enum prot_bitmap_kind */
	u8	busy;
	u8	again;		/* it failed: kept, to be sent once more */
	u8	twice;		/* it was sent once more */
};

#define PROT_BLOCK_IOS	8	/* in flight a member, at most */

/* The one I/O of other records in flight on a member. */
struct prot_meta {
	u32	turn;		/* block, all bitmaps counted, after which to go on writing */
	u32	block;		/* LOADING: the one that is read */
	u8	bitmap;		/* enum prot_bitmap_kind */
	u8	busy;
	u8	what;		/* enum prot_meta_what */
	u8	attach_block;	/* ec: which of the two is the newer one */
	u32	cursor;		/* LOADING: blocks read, all bitmaps counted */
	u32	pos;		/* ec, attaching: how far it is in this stage */
	u64	dirty;		/* bitmaps with blocks that are to be written */
	u8	again;		/* writes of blocks that are to be sent once more */
	u64	attach;		/* ec, LOADING: highest attach number found */
	u64	last;		/* ec, replay: transaction in hand */
	u8	loaded;		/* ec, replay: its record was read */
	u8	kind;		/* enum prot_kind, of the I/O */
	u8	twice;		/* a write was sent once more */
	u8	reserved[5];
};

/*
 * Sets of regions: a search for one does not scan all, and what bitmap blocks hold is in
 * them as it goes to the medium, 64 bits at a time.
 */
enum prot_set_kind {
	PROT_SET_INTENT,	/* the bit is, or is to be, set on all copies */
	PROT_SET_UNSYNCED,	/* copies may differ: M5 */
	PROT_SET_RECENT,	/* written since the last pass that clears idle ones */
	PROT_SET_MISSED,	/* by the member of absent slot 0, and so on */
	/* and behind those, one a member: PROT_SET_MISSED + nr_absent */
	/* + i: the INTENT bit is set on the medium of member i */
};

/* A region that background work has in hand, chunk by chunk. */
struct prot_hand {
	u32	region;		/* PROT_NO_REGION: none */
	u32	pos;		/* byte of it at which the next chunk begins */
	u32	bad;		/* where the first chunk began that could not be read; or ... */
#define PROT_NO_BAD	0xffffffffU
	u64	slots;		/* absent slots that this pass makes whole */
	u8	copies;		/* in-sync members that it makes equal */
	u8	out;		/* chunks in flight */
	u8	lost;		/* one sector of them could not be read from any source */
	u8	narrow;		/* a chunk could not be read: sector by sector from there on */
};

/* One is begun while the last chunks of the other are in flight. */
#define PROT_HANDS	2

/* Background work. */
struct prot_sync {
	struct prot_hand hand[PROT_HANDS];
	u32	scan;		/* region at which to search on for the next one */
	u32	unread;	/* the first that could not be read since one was; or PROT_NO_REGION */
	u8	stalled;	/* no source could be read; until the next epoch, or idle time */
	u8	more;		/* the last step ended before there was something to start */
};

/* How many chunks of background work are in flight, found out beside requests (pace.c). */
struct prot_pace {
	u64	given, used;	/* bytes, in this window: that might begin, and that began */
	u64	dry;		/* bytes that might begin, since some were left */
	u32	share;		/* in the window before, when others were in flight */
	u8	rest;		/* windows, until another number is tried */
	u8	rests;		/* windows, of the next rest */
	s8	step;		/* chunks, by which this window has more than the one before */
	u8	down;		/* fewer are tried next */
	u8	beside;		/* requests, in the last allowance */
};

#define PROT_NO_REGION	0xffffffffU

#define PROT_NO_SOURCE	0xff	/* no member, or not known which */
#define PROT_DIFFS	16	/* of a scrub, that are kept */

/* What a scrub does, besides rewriting what a member cannot read. */
struct prot_scrub {
	u64	from;		/* byte of each member's data at which it begins */
	u8	repair;		/* what differs is changed; 0: counted and left */
	u8	source;		/* mirror: the member that is right, to repair from; or none */
};

/* Sectors next to each other that a scrub found unequal, or that could not be read. */
struct prot_diff {
	u64	addr;		/* byte of the member's data */
	u32	length;
	u8	member;		/* or PROT_NO_SOURCE */
};

#define PROT_UNREADS	8	/* regions that background work could not finish, that are kept */

#define PROT_REPAIRS	8	/* those beyond are left to the next scrub */
#define PROT_RETRIES	4	/* of a request, after its rows were repaired */
#define PROT_ERRORS_HOUR	20

struct prot_rows {
	u64	addr;
	u32	length;
	u32	narrow;		/* not all at once: a sector each time */
};

/* Where everything lies behind the header, and how much of it there is. */
struct prot_shape {
	u32	bytes;		/* of all */
	u32	region_shift;
	u32	bucket_shift;	/* ops whose rows may overlap are of one bucket: none crosses one */
	u32	data;		/* members that hold data of a row: as many as must be left */
	u32	nr_regions;
	u32	nr_blocks;	/* of one bitmap */
	u32	nr_bitmaps;	/* INTENT, and a MISSED one for each absent slot */
	u32	nr_absent;	/* absent slots */
	u32	first_op;	/* of requests: those before it are for background work, ... */
	u32	next_ops;	/* ... from here on those of its second chunk, and so on */
	u32	first_buf;	/* of requests */
	u32	nr_buckets;
	u32	nr_queues;
	u32	buf_bytes, small_bytes;	/* of a private buffer */
	u32	cached_bytes;	/* ec: of data of a stripe that is kept */
	u32	meta_buf_bytes;	/* of a metadata buffer */
	u32	zeroes_max;	/* bytes of a DISCARD or ZEROES */
	u32	kept_bufs[2];	/* private buffers, and small ones, that writes leave to reads */
	u32	window;		/* ec: bytes of a strip that a private buffer holds */
	u32	head;		/* ec: bytes before each window */
	u32	align;		/* of private buffers in memory */
	u32	off_ops, off_regions, off_versions, off_written, off_buckets;
	u32	off_free_ops, off_free_bufs, off_spare_bufs;	/* sets */
	u32	off_own_bufs, off_hung;
	u32	off_queues;	/* of ops that wait for a buffer or a ring slot */
	u32	off_bufs, off_smalls, off_cached, off_meta;
	u32	off_rings, off_ecops, off_ranges, off_txs, off_code, off_streams, off_cache;
	u32	off_sets, off_dirty;	/* of regions; of bitmap blocks to be written */
	u32	off_unwritten;	/* blocks never written, per member and bitmap */
	u32	off_blocks;	/* struct prot_block_io, nr_block_ios a member */
	u32	off_block_bufs;	/* an LBA for each of them */
	u32	nr_block_ios;
	u32	set_words, dirty_words;	/* of one set */
};

/*
 * What an engine has done: nothing is decided by it. The caller may keep it over an
 * attachment that begins again.
 */
struct prot_counts {
	u64	joined;		/* ec: writes that went with an older one */
	u64	folded;		/* ec: writes in place that a later op made instead */
	u64	full;		/* ec: transactions that read nothing: all of their rows came */
	u64	partial;	/* ec: all others */
	u64	in_order;	/* ec: writes in order that waited for those that follow */
	u64	cached;		/* ec: of the partial ones, those that read nothing */
	u64	bitmap_writes;	/* blocks of bitmaps written to members */
	u64	buffer_waits;	/* ops that waited for a private buffer */
	u64	ring_waits;	/* ec: ops that waited for a slot of their ring */
};

/* How an I/O has ended; what the caller sends again (RETRY) is GONE, too. */
enum prot_class {
	PROT_C_OK,
	PROT_C_MEDIUM,
	PROT_C_UNSUPPORTED,
	PROT_C_GONE,
};

struct prot_group {
	struct prot_group_config cfg;
	const struct prot_policy *policy;	/* of cfg.level; constant */
	struct prot_counts counts;
	u64	in_sync;
	u64	failed;		/* in sync, gone: wait for an epoch */
	u64	no_zeroes;	/* members that take neither DISCARD nor ZEROES */
	u64	joining;	/* catching up */
	u64	promoting;	/* joining, misses nothing, gets its bitmaps */
	u64	announced;	/* ... and announced to the caller */
	u64	requested;	/* failed members an epoch was requested for */
	u64	avoid;		/* late members: read from only where the others are too few */
	u64	kept;		/* bitmaps in use: INTENT, MISSED of members that are out */
	u64	load[PROT_WIDTH_MAX];	/* reads in flight, for balancing */
	u64	last[PROT_WIDTH_MAX];	/* byte after the last read */
	u64	seq;		/* of bitmap blocks */
	/* of the scrub, since the last one that began at byte 0 */
	u64	compared;	/* bytes of each member */
	u64	skipped;	/* ... that it did not compare */
	u64	mismatches;	/* sectors found unequal, ec: one of each such row */
	u64	unexplained;	/* ec: of these, where no strip alone explains it */
	u64	repaired;	/* sectors rewritten, unreadable or unequal; of repairs, too */
	u64	synced;		/* bytes that background work made equal */
	u64	replayed;	/* dirty regions found when attached; ec: records replayed */
	u64	slots_read;	/* ec: of rings, when attached */
	u64	places_written;	/* ec: in place, when attached */
	u64	attach;		/* ec: number that records carry */
	u32	errors[PROT_WIDTH_MAX];	/* medium errors made good this hour */
	u64	rewritten;	/* pieces that a member could not read, and that were rewritten */
	/* bytes of background work that may still begin; PROT_NO_LIMIT: any */
	u64	allowance;
	u64	owed;		/* what the last chunk had beyond it: of the next one */
	struct prot_pace pace;
	u64	scrub_pos;	/* byte the scrub's next chunk begins at */
	struct prot_scrub scrub;	/* the last that was begun */
	struct prot_diff diffs[PROT_DIFFS];	/* the first that it found */
	struct prot_diff diff_beyond;	/* the last one of those that are not kept */
	u32	nr_diffs;	/* those beyond PROT_DIFFS, too */
	/*
	 * the first sectors of a region that no source could read, and a member that is to get
	 * them; until the region is whole
	 */
	struct prot_diff unread[PROT_UNREADS];
	u32	nr_unread;
	/* a read failed: the scrub's op goes there first */
	struct prot_rows repair[PROT_REPAIRS];
	struct prot_meta meta[PROT_WIDTH_MAX];
	struct prot_sync sync;
	struct prot_shape shape;
	u32	unsynced;	/* regions */
	u32	read_bufs[2];	/* private buffers, and small ones, that reads have */
	u16	spares[2];	/* ... that no op gets but in place of one that a read hangs in */
	u16	hung_bufs[2];	/* ... that reads have which were set aside */
	u32	aging;		/* region at which clearing idle bits goes on, plus one; 0: over */
	u8	aging_all;	/* ... of regions that were written just now, too */
	u16	ready_head, ready_tail;
	u8	state;
	u8	scrubbing;
	u8	scrub_out;	/* chunks of it in flight */
	u8	scrub_stop;	/* it begins no more of them */
	u8	chunks;		/* chunks of each kind of work that may be in flight now */
	u8	scrub_turn;	/* changes when counts start again */
	u8	repairs;	/* of @repair, in use */
	u16	repair_ops;	/* that wait for theirs */
	u16	repair_at;	/* the one in hand, or to be checked next */
	u8	repairing;	/* the scrub's op is at one of these */
	u8	serving_reported, stopped_reported;
	u8	ec_stage;	/* LOADING, UNITING: enum prot_ec_stage */
	u8	draining;	/* ec: no new transactions until the bump is durable */
	u8	bump;		/* ec: attach number is being written */
	u8	barriers;	/* ec: ring to check next, plus one; 0: none */
	u8	cache_next;	/* ec: entry of the cache that is taken next */
	u64	bumped;		/* ec: members that have the new attach number */
	u64	half;		/* ec: members that have it in one of their two blocks */
	u64	bumping;	/* ec: members that are to have it */
	u64	taken;		/* ec: joining members that records are written to */
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
	PROT_EV_EPOCH,		/* commit an epoch without @members, then prot_group_epoch() */
	PROT_EV_CAUGHT_UP,	/* @members may be called in sync by the next epoch */
	PROT_EV_STOPPED,
	PROT_EV_COPY,		/* @copy: do it, then prot_group_result(io.tag) */
	PROT_EV_CODEC,		/* prot_group_codec(@op), then prot_group_result(io.tag) */
	PROT_EV_AGAIN,		/* nothing to be done, but there is more: call once more */
	PROT_EV_FREE,		/* @op is free, whose PROT_EV_DONE said that it was not yet */
};

/* Bytes to be moved between the payload of the event's op and a private buffer. */
struct prot_copy {
	u32	request;	/* byte of the payload */
	u32	buffer;
	u32	offset;		/* byte of the buffer */
	u32	length;
	bool	out;		/* from the buffer to the payload (a read) */
};

struct prot_event {
	struct prot_io io;
	struct prot_run runs[2];
	struct prot_copy copy;
	u64	cookie;
	u64	members;
	s32	err;
	u16	op;		/* IO: whose payload PROT_BUFFER_REQUEST is */
	u8	kind;		/* NONE, AGAIN: but for @freed nothing else is set */
	bool	freed;		/* DONE: @op is free with it; else PROT_EV_FREE follows */
};

/*
 * Bytes from @addr on that one op of @kind may cover: it stays within a MiB of a region,
 * DISCARD and ZEROES within PROT_ZEROES_MAX; ec: within a stripe (a full one is best).
 */
u64 prot_group_span(const struct prot_group *g, u8 kind, u64 addr);

/**
 * prot_group_submit() - take a request
 * @kind: READ, WRITE, DISCARD or ZEROES
 * @addr: byte of the group's rows; ec: of the group's data, @k strips a stripe
 * @flags: PROT_UNREAD: what members cannot read of it is rewritten, whichever copy is read
 * @length: at most prot_group_span()
 * @cookie: comes back with PROT_EV_DONE
 *
 * Return: index of the op (PROT_EV_IO names it), -EAGAIN when the group
 * is not serving yet or all ops are in use, -EIO when it has stopped.
 *
 * The op, and what is staged by its numbers (prot_io.stage), is the request's until an
 * event says that it is free. A caller with more requests than ops keeps those beyond in
 * an order of its own, and submits the first of them at each such event.
 */
int prot_group_submit(struct prot_group *g, u8 kind, u8 flags, u64 addr, u32 length, u64 cookie);
void prot_group_next(struct prot_group *g, struct prot_event *ev);
void prot_group_result(struct prot_group *g, u32 tag, int err);

/*
 * Whether the result of a write may be given while it goes on, of a member that is out: then it
 * lands as its private buffer is by that time. Not what repairs or copies rows: nothing notes
 * that the member may miss these.
 */
bool prot_group_lets_go(const struct prot_group *g, u32 tag);

/*
 * Whether the read of that tag, of a member that is out, may go on in @buffer, where its event has
 * it, and its result be given now, an error: no op uses that buffer before prot_group_returned(),
 * when the read has ended. False: for want of another buffer, or as the op waits for other reads,
 * which have that buffer, too; it may be true later.
 */
bool prot_group_set_aside(struct prot_group *g, u32 tag, u32 buffer);
void prot_group_returned(struct prot_group *g, u32 buffer);

/*
 * ec: what the record of that tag has staged has the room that was requested; or lies @behind that
 * of stage_after. Before its result.
 */
void prot_group_staged(struct prot_group *g, u32 tag, bool behind);
/* What is held back to go in place with what follows is so no longer: nothing follows. */
void prot_group_hurry(struct prot_group *g);

/* An epoch is committed: these are the members in sync in it. */
void prot_group_epoch(struct prot_group *g, u64 epoch, u64 in_sync);
/*
 * The absent @member is back and fenced: let it catch up. -EINVAL: it is not
 * out; -EBUSY: an I/O to it has not ended.
 */
int prot_group_join(struct prot_group *g, u8 member);
/* ... or a spare took its place at @epoch: rebuild. No member was joining there. */
int prot_group_replace(struct prot_group *g, u8 member, const u8 *uuid, u64 epoch);
/* A joining member has gone again. */
void prot_group_leave(struct prot_group *g, u8 member);
enum prot_class prot_class(int err);
/* The member is given up, as if an I/O of it had ended with -ENODEV. */
void prot_group_fail(struct prot_group *g, u8 member);
/*
 * These members, and no others, are late: they answer nothing at present. Reads, and what
 * writes and background work read, are of the others where these are enough; what is in
 * flight already is waited for. All else goes on as if they answered.
 */
void prot_group_avoid(struct prot_group *g, u64 members);
/* Bytes that the member has yet to be given; 0 for one in sync. */
u64 prot_group_behind(const struct prot_group *g, u8 member);
/*
 * There is time, every few seconds: clear intent bits of regions that were idle since
 * the last time; ec: move watermarks on. What background work could not read is tried
 * again.
 */
void prot_group_idle(struct prot_group *g);
/*
 * No request is expected any more: clear what the next attachment would go through again, of
 * all regions without writes in flight; intent bits, ec: records. Return: whether none is left,
 * on members too; else to be called again, a little later.
 */
bool prot_group_settle(struct prot_group *g);
/*
 * From now on chunks of background work begin for that many bytes in all; for any, with
 * PROT_NO_LIMIT, as at first; for none, with 0. Those that have begun go on: their rows are
 * locked. What is left of an allowance comes on top of the next one, as far as @depth chunks go: a
 * chunk that takes longer than the time between two costs no speed, and a pause saves no more up.
 * What was begun beyond it comes out of the next ones, so that many small ones allow no more than
 * a large one. As few chunks are in flight as get through it before the next comes; @beside
 * requests of the application, no more than bring speed (pace.c).
 */
void prot_group_allow(struct prot_group *g, u64 bytes, bool beside);
/* An hour has gone by: errors of members are counted from 0 again. */
void prot_group_hour(struct prot_group *g);
/*
 * Go through all copies once, from byte @how->from of each on. What a member cannot read is
 * always rewritten from the others, also in a group with members out, but where nothing says
 * which of copies that differ is right. What members can read, and what is not equal, is counted
 * and named by member and place (prot_group.diffs), and is changed only with @how->repair:
 *
 *   mirror   to what @how->source has; where it is out, or cannot read it, nothing is changed.
 *            Without a source: to what more copies have than have anything else; where there
 *            is no such thing, those that differ from the lowest in sync are named, and left
 *   ec       the one strip that alone explains it; where none does (m = 1: never), parity is
 *            made again from the data, and no member is named
 *
 * Counts and differences start again with a scrub from byte 0; prot_group.scrubbing says when
 * it is over. Rows of writes in flight are compared when these are over, regions that are not
 * resynchronised yet are left out.
 */
void prot_group_scrub(struct prot_group *g, const struct prot_scrub *how);
/* No more chunks begin; prot_group.scrubbing says when those in flight are over. */
void prot_group_scrub_stop(struct prot_group *g);
/* Nothing is out, nothing is to be done but what waits for the caller. */
bool prot_group_quiet(const struct prot_group *g);

/* ec: the member that holds @strip (data 0..k-1, parity k..) of @stripe. */
u8 prot_group_member(const struct prot_group *g, u64 stripe, u8 strip);

struct prot_codec_ops;
struct prot_map;
/* Bytes that a PROT_EV_CODEC of @op has to work through. */
u32 prot_group_codec_bytes(const struct prot_group *g, u32 op);

/**
 * prot_group_codec() - the work of a PROT_EV_CODEC, or a piece of it
 * @op: of the event
 * @ops: which loops; where they want PROT_CODEC_FPU the caller has begun it
 * @map: the caller's scratch, zeroed at first; what is left in it saves the next call work
 * @from: byte to begin at, a multiple of the LBA
 * @length: bytes, likewise; all of [0, prot_group_codec_bytes()) is to be done
 *	once, in any pieces, one after the other
 *
 * Touches this op and its private buffers only.
 */
void prot_group_codec(struct prot_group *g, u32 op, const struct prot_codec_ops *ops,
		      struct prot_map *map, u32 from, u32 length);

/* Memory of a private or metadata buffer. */
void *prot_group_buffer(struct prot_group *g, u32 buffer);

#endif
