/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A protection group: the engine below redundant levels.
 *
 *   submit -> ops --row locks--> level policy (mirror.c, ec.c) --> member I/O
 *              |                     |
 *              |                 bitmap.c: INTENT and MISSED blocks on members
 *              ' member.c: in sync -> failed -> (epoch) absent -> joining -> in sync
 *
 * One flat memory without pointers into itself: the header below, then arrays at offsets. All calls
 * about a group are made one at a time (the caller's lock), none sleeps. After each call, call
 * prot_group_next() until it gives PROT_EV_NONE. A call steps through a bounded number of
 * regions; PROT_EV_AGAIN is a place to let others have the CPU, or the lock.
 *
 * Life of a group:
 *
 *   LOADING --all bitmaps read--> UNITING --union durable--> SERVING
 *      |                             |                          |
 *      '-------- a member fails -----+-> STOPPED <--none left---'
 *
 * A group stopped while LOADING or UNITING is begun again by the caller, with the members of the
 * next epoch, from prot_group_init(). A group stopped while SERVING has lost too much: every
 * request ends with -EIO.
 *
 * Duties of the caller: each I/O ends exactly once, and does not touch its buffer afterwards, a
 * failed read included. The result is of one of these classes:
 *
 *   0                  done; a write is durable
 *   -ENODATA, -EILSEQ  MEDIUM: the member answers. Read: not this range. Write: each
 *                      sector is old, new or unreadable, and nothing is in flight any more
 *   -EOPNOTSUPP        UNSUPPORTED, of DISCARD and ZEROES: nothing was done
 *   -ENOMEM, -EAGAIN   RETRY: the caller's to send again, never to be delivered
 *   any other          GONE: the effect of a write is unknown, and may still come
 *
 * Of a member that is out there are two exceptions: prot_group_lets_go(), prot_group_set_aside().
 *
 * After GONE nothing is sent to the member any more. I/O still in flight there is dead before
 * prot_group_join() names the member again or a new attachment begins (fencing).
 *
 * Response of the engine. A member in sync holds all acknowledged data: reads go there, and
 * recovery waits for the member's records. So a failed write is made good while its rows are
 * still locked, or the member is out by an epoch, whose MISSED bits cover the rows of all writes
 * not over. There is nothing between.
 *
 *   MEDIUM, write      sent once more, the same bytes; failing again is GONE
 *   MEDIUM, read       other members serve, and the rows are rewritten
 *   MEDIUM, often      more than prot_group_config.errors made good since the last
 *                      prot_group_hour(): GONE, if the other members are enough
 *   UNSUPPORTED        zeroes are written there, now and for the rest of the attachment
 *   GONE               an epoch is requested without the member
 *   RETRY              the caller's mistake; as GONE, right in any case
 *
 * Erasure coding (PROT_EC) needs four things more:
 * - PROT_EV_COPY: move bytes between the request's payload and a private buffer;
 * - PROT_EV_CODEC: call prot_group_codec() for the op. Both may be done right
 *   away or in another context, without the caller's lock: nothing else uses those
 *   buffers meanwhile. prot_group_result() reports the end, as of an I/O.
 * - What a write's record stages may be kept behind that of the write before it, so that both go in
 *   place at once: prot_group_staged() says where it is. The last of them may find what is staged
 *   dropped, and ends with -ESTALE then.
 * - A write's PROT_EV_DONE comes when its records are durable; the op goes on in
 *   place from its private copy and does not touch the request's payload again. It
 *   may leave a place to a later op, and what it has staged there unused. Its op is free
 *   only when all is in place: PROT_EV_FREE. What is staged by its numbers goes then.
 * Writes that are submitted before prot_group_next() is called may become one: submit all pieces
 * of a request, and all requests at hand, first.
 */
#ifndef PROTECT_GROUP_H
#define PROTECT_GROUP_H

#include <linux/types.h>

#include "protect/record/journal.h"
#include "protect/layout/prot.h"
#include "protect/record/record.h"

#define PROT_NONE16		0xffff

#define PROT_TAG_SHIFT		6	/* tag of an I/O or work of an op: op << 6 | member */

/* Buffers named by runs; PROT_BUFFER_REQUEST is the op's own payload. */
#define PROT_BUFFER_PRIVATE	1	/* + n: prot_group_config.bufs, .smalls, .cached */
#define PROT_BUFFER_META	0x10000	/* + member: a block each, ec: a ring slot each */
#define PROT_BUFFER_BLOCK	0x20000	/* + number of the block I/O */
#define PROT_TAG_META		0x80000000U	/* + member, 1 + block I/O << 6 */
#define PROT_BUFFER_ZERO	0x30000	/* zeroes of any length, without memory */

/* Configuration of a group. */
struct prot_group_config {
	struct prot_owner owner;	/* volume, salt, group number, for records */
	u8	uuid[PROT_WIDTH_MAX][PROT_UUID_LEN];	/* of each member */
	/* epoch at which an absent member left, or a spare took the place; kept up to date */
	u64	left[PROT_WIDTH_MAX];
	u64	meta[PROT_WIDTH_MAX];	/* byte of each member where the records begin */
	u64	data[PROT_WIDTH_MAX];	/* byte of each member where data begins */
	u64	bytes;			/* of data on each member; ec: whole strips */
	/*
	 * ec: number of this attachment, always growing; the group takes a higher number if members
	 * know one
	 */
	u64	attach;
	u64	in_sync;		/* members in sync by the committed epoch */
	u64	epoch;			/* the committed one */
	u32	region;	/* bytes of a region, a power of two; ec: at least a strip */
	u32	lba;			/* 512 or 4096 */
	u32	buf_bytes;		/* of a private buffer; ec: ignored */
	u32	strip;			/* ec: bytes, a power of two */
	/* ec: bytes of each strip in a small private buffer, a power of two */
	u32	small;
	/*
	 * ec: of payload in a ring slot, a power of two, at least @strip: zeroes of a part of a
	 * strip are a read-modify-write of all parity
	 */
	u32	slot_bytes;
	/* ec: bytes of a ring slot before the payload, at least @lba; 4096 aligns payloads */
	u32	slot_head;
	u16	ops;			/* of requests in flight and of background work */
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
	 * ec: of @bufs and of @smalls, buffers kept for prot_group_set_aside(); 0, or at least
	 * three more than the share of reads: all other buffers may be lost to hanging reads
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
	/* medium errors of a member made good in an hour; 0: PROT_ERRORS_HOUR */
	u16	errors;
	u8	level;			/* enum prot_level, of one with a policy */
	u8	width;			/* members; ec: @k + @m */
	u8	k;			/* ec: data strips of a stripe */
	u8	m;			/* ec: parity strips */
	/*
	 * first attachment ever, of members with equal content: nothing is read, the INTENT
	 * bitmaps, for ec all bitmaps, are written empty before the group serves
	 */
	u8	fresh;
	/*
	 * nothing is written, and all is whole: the group serves at once. The caller delivers
	 * each error of a member as a medium error, so that other members serve and no epoch is
	 * requested
	 */
	u8	ro;
	/*
	 * chunks in flight, at most, of resynchronisation, and the same number of a scrub; at most
	 * PROT_DEPTH_MAX; 0: one. Each chunk after the first takes two of @ops and three of @bufs
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
 * Life of an op: FREE -> LOCK -> the phases of the level (policy.h) -> ENDED -> FREE. Each phase
 * may be followed by ENDED.
 */
enum prot_phase {
	PROT_P_FREE,
	PROT_P_LOCK,		/* waits for earlier overlapping ops */
	PROT_P_BUF,		/* waits for private buffers */
	PROT_P_ENDED,		/* the event was not fetched yet */
	PROT_P_LEVEL,		/* the first of the level's own */
};

/* The purpose of an op. */
enum prot_purpose {
	PROT_FOR_REQUEST,
	PROT_FOR_SYNC,		/* resynchronisation, catch-up and rebuild */
	PROT_FOR_SCRUB,
	PROT_FOR_LEVEL,		/* background work of the level's own */
};

/* An op in a group. */
struct prot_gop {
	u64	cookie;		/* the submitter's */
	u64	addr;	/* first byte, in the group's rows (= in each member's data) */
	u64	targets;	/* members to be written */
	u64	sent;		/* members sent an I/O in this phase */
	u64	ended;		/* of these, members with the I/O ended */
	u64	ok;		/* of these, without error */
	u64	tried;		/* sources that failed a read */
	u64	twice;		/* members with a write sent once more in this phase */
	u64	plain;	/* members written with zeroes, for lack of another zeroing */
	u64	unread;		/* scrub: members that could not read some of the rows */
	u32	length;		/* bytes; all in one region */
	u32	pos;		/* bytes made equal so far (sync before a read), or scrubbed */
	u32	chunk;		/* bytes in hand of the op */
	s32	err;		/* result */
	u16	next;		/* in the list of the bucket, older first */
	u16	ready;		/* in the list of ops with possible I/O to start */
	u16	buf;		/* the first private buffer */
	u16	wait_next;	/* the next op in the queue, or PROT_NONE16 */
	u16	wait_prev;	/* the earlier op there, or PROT_NONE16 */
	/*
	 * earlier ops of the bucket to wait for, counted at the start; for levels without a rule
	 * of their own (prot_policy.conflict)
	 */
	u16	blockers;
	u8	kind;		/* enum prot_kind */
	u8	flags;		/* of the request */
	u8	phase;		/* enum prot_phase, or of the level */
	u8	purpose;	/* enum prot_purpose */
	u8	src;		/* member read from */
	u8	queued;		/* on the ready list */
	u8	exclusive;	/* holds the rows alone, without other readers */
	u8	again;		/* to be tried again, after other ready ops */
	/* how often no source could read all rows, so that the op began again */
	u8	retried;
	u8	repair;	/* waits for a repair of the op's rows, @pos bytes so far */
	u8	acked;		/* the end was reported to the submitter before the op is over */
	u8	waits;		/* the queue of the op, plus one (see prot_wait()); 0: none */
	u8	turn;		/* scrub: prot_group.scrub_turn when the op began */
};

/*
 * Ops waiting for one kind of resource, oldest first: private buffers, and other resources with
 * queues of the level (ec: one a ring, for the next slot). A free resource goes to the first op
 * and to no op beside the queue, so the longest wait is the queue's.
 */
struct prot_queue {
	u16	head;		/* PROT_NONE16: none waits */
	u16	tail;
};

enum {
	PROT_Q_BUF,		/* writes, for a private buffer */
	PROT_Q_READ_BUF,	/* reads, with a share of buffers left alone by writes */
	PROT_Q_SMALL,		/* the same for small ones */
	PROT_Q_SMALL_READ,
	PROT_Q_LEVEL,		/* the first of the level's own */
};

/* Further facts about a region, besides sets of regions. */
struct prot_region {
	u32	users;		/* ops that may change the region */
};

/* The kind of the one record I/O in flight on a member. */
enum prot_meta_what {
	PROT_META_BITMAP,	/* a block is read, LOADING; written ones are prot_block_io */
	PROT_META_LEVEL,	/* the first of the level's own */
	PROT_META_ATTACH = PROT_META_LEVEL,	/* of ec, like all below */
	PROT_META_SLOT,		/* read when attached */
	PROT_META_ERASE,
	PROT_META_REPLAY,	/* read once more, to go in place */
	PROT_META_PLACE,
};

/*
 * A bitmap block in flight to a member. One block is in flight once at most, so a set waits for
 * the clear in flight; several different blocks may be in flight.
 */
struct prot_block_io {
	u32	version;	/* of the block when its content was frozen */
	u32	block;
	u8	bitmap;		/* enum prot_bitmap_kind */
	u8	busy;
	u8	again;		/* failed: kept, to be sent once more */
	u8	twice;		/* was sent once more */
};

#define PROT_BLOCK_IOS	8	/* in flight a member, at most */

/* The one I/O of other records in flight on a member. */
struct prot_meta {
	u32	turn;		/* block, counted over all bitmaps, from which writing goes on */
	u32	block;		/* LOADING: the block being read */
	u8	bitmap;		/* enum prot_bitmap_kind */
	u8	busy;
	u8	what;		/* enum prot_meta_what */
	u8	attach_block;	/* ec: number of the newer of the two blocks */
	u32	cursor;		/* LOADING: blocks read, all bitmaps counted */
	u32	pos;		/* ec, attaching: position in this stage */
	u64	dirty;		/* bitmaps with blocks to be written */
	u8	again;		/* failed writes of blocks, to be sent once more */
	u64	attach;		/* ec, LOADING: highest attach number found */
	u64	last;		/* ec, replay: transaction in hand */
	u8	loaded;		/* ec, replay: the record was read */
	u8	kind;		/* enum prot_kind, of the I/O */
	u8	twice;		/* a write was sent once more */
	u8	reserved[5];
};

/*
 * Sets of regions: a search does not scan all regions. Sets hold the bits of bitmap blocks as
 * written to the medium, 64 bits at a time.
 */
enum prot_set_kind {
	PROT_SET_INTENT,	/* the bit is, or is to be, set on all copies */
	PROT_SET_UNSYNCED,	/* copies may differ: M5 */
	PROT_SET_RECENT,	/* written since the last pass over idle ones */
	PROT_SET_MISSED,	/* by the member of absent slot 0, and so on */
	/* and behind, one a member: PROT_SET_MISSED + nr_absent */
	/* + i: the INTENT bit is set on the medium of member i */
};

/* A region in hand of background work, chunk by chunk. */
struct prot_hand {
	u32	region;		/* PROT_NO_REGION: none */
	u32	pos;		/* byte of the region where the next chunk begins */
	u32	bad;		/* first byte of the first unreadable chunk; or ... */
#define PROT_NO_BAD	0xffffffffU
	u64	slots;		/* absent slots made whole by this pass */
	u8	copies;		/* in-sync members made equal by this pass */
	u8	out;		/* chunks in flight */
	u8	lost;		/* one sector could not be read from any source */
	u8	narrow;		/* a chunk could not be read: sector by sector from there on */
};

/* One is begun while the last chunks of the other are in flight. */
#define PROT_HANDS	2

/* Background work. */
struct prot_sync {
	struct prot_hand hand[PROT_HANDS];
	u32	scan;		/* region at which the next search begins */
	u32	unread;	/* the first unreadable region since a region was done; or PROT_NO_REGION */
	u8	stalled;	/* no source could be read; until the next epoch, or idle time */
	u8	more;		/* the last search stopped at its limit of regions; search again */
};

/* How many chunks of background work are in flight, found out beside requests (pace.c). */
struct prot_pace {
	u64	given, used;	/* bytes in this window: allowed, and begun */
	u64	dry;		/* bytes allowed, since some were left */
	u32	share;		/* in the window before, when others were in flight */
	u8	rest;		/* windows, until another number is tried */
	u8	rests;		/* windows, of the next rest */
	s8	step;		/* chunks more than in the window before */
	u8	down;		/* fewer are tried next */
	u8	beside;		/* requests, in the last allowance */
};

#define PROT_NO_REGION	0xffffffffU

#define PROT_NO_SOURCE	0xff	/* no member, or an unknown one */
#define PROT_DIFFS	16	/* differences of a scrub, kept */

/* Task of a scrub, besides rewriting unreadable sectors. */
struct prot_scrub {
	u64	from;		/* byte of each member's data to begin at */
	u8	repair;		/* differing sectors are changed; 0: counted and left */
	u8	source;		/* mirror: the right member, to repair from; or none */
};

/* Adjacent sectors found unequal by a scrub, or unreadable. */
struct prot_diff {
	u64	addr;		/* byte of the member's data */
	u32	length;
	u8	member;		/* or PROT_NO_SOURCE */
};

#define PROT_UNREADS	8	/* regions that background work could not finish, kept */

#define PROT_REPAIRS	8	/* more are left to the next scrub */
#define PROT_RETRIES	4	/* of a request, after a repair of the rows */
#define PROT_ERRORS_HOUR	20

struct prot_rows {
	u64	addr;
	u32	length;
	u32	narrow;		/* not all at once: a sector each time */
};

/* Places and sizes of everything behind the header. */
struct prot_shape {
	u32	bytes;		/* of all */
	u32	region_shift;
	u32	bucket_shift;	/* no op crosses a bucket of rows */
	u32	data;		/* members with data of a row: at least this number must be left */
	u32	nr_regions;
	u32	nr_blocks;	/* of one bitmap */
	u32	nr_bitmaps;	/* INTENT, and a MISSED one for each absent slot */
	u32	nr_absent;	/* absent slots */
	u32	first_op;	/* of requests: earlier ops are for background work, ... */
	u32	next_ops;	/* ... from here on for further chunks */
	u32	first_buf;	/* of requests */
	u32	nr_buckets;
	u32	nr_queues;
	u32	buf_bytes, small_bytes;	/* of a private buffer */
	u32	cached_bytes;	/* ec: bytes of cached data of a stripe */
	u32	meta_buf_bytes;	/* of a metadata buffer */
	u32	zeroes_max;	/* bytes of a DISCARD or ZEROES */
	u32	kept_bufs[2];	/* private buffers, and small ones, left to reads by writes */
	u32	window;		/* ec: bytes of a strip in a private buffer */
	u32	head;		/* ec: bytes before each NEW window */
	u32	align;		/* of private buffers in memory */
	u32	off_ops, off_regions, off_versions, off_written, off_buckets;
	u32	off_free_ops, off_free_bufs, off_spare_bufs;	/* sets */
	u32	off_own_bufs, off_hung;
	u32	off_queues;	/* of ops waiting for a buffer or a ring slot */
	u32	off_bufs, off_smalls, off_cached, off_meta;
	u32	off_rings, off_ecops, off_ranges, off_txs, off_code, off_streams, off_cache;
	u32	off_sets, off_dirty;	/* of regions; of bitmap blocks to be written */
	u32	off_unwritten;	/* blocks never written, per member and bitmap */
	u32	off_blocks;	/* struct prot_block_io, nr_block_ios a member */
	u32	off_block_bufs;	/* an LBA for each block I/O */
	u32	nr_block_ios;
	u32	set_words, dirty_words;	/* of one set */
};

/*
 * Statistics of an engine: no decision depends on them. The caller may keep the counts when an
 * attachment begins again.
 */
struct prot_counts {
	u64	joined;		/* ec: writes joined to an older one */
	u64	folded;		/* ec: writes in place made by a later op instead */
	u64	full;		/* ec: transactions without reads */
	u64	partial;	/* ec: all others */
	u64	in_order;	/* ec: writes in order that waited for next writes */
	u64	cached;		/* ec: partial transactions without reads */
	u64	bitmap_writes;	/* blocks of bitmaps written to members */
	u64	buffer_waits;	/* ops that waited for a private buffer */
	u64	ring_waits;	/* ec: ops that waited for a slot of the ring */
};

/* The end of an I/O; errors to be sent again by the caller (RETRY) are GONE, too. */
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
	u64	failed;		/* in sync or announced, gone: wait for an epoch */
	u64	no_zeroes;	/* members with neither DISCARD nor ZEROES */
	u64	joining;	/* catching up */
	u64	promoting;	/* joining, misses nothing, gets the bitmaps */
	u64	announced;	/* ... and announced to the caller */
	u64	requested;	/* failed members an epoch was requested for */
	u64	avoid;		/* late members: read from only where the others are too few */
	u64	kept;		/* bitmaps in use: INTENT, MISSED of members out */
	u64	load[PROT_WIDTH_MAX];	/* reads in flight, for balancing */
	u64	last[PROT_WIDTH_MAX];	/* byte after the last read */
	u64	seq;		/* of bitmap blocks */
	/* of the scrub, since the last one that began at byte 0 */
	u64	compared;	/* bytes of each member */
	u64	skipped;	/* ... not compared */
	u64	mismatches;	/* sectors found unequal, ec: one of each such row */
	u64	unexplained;	/* ec: of these, rows explained by no single strip */
	u64	repaired;	/* sectors rewritten, unreadable or unequal; of repairs, too */
	u64	synced;		/* bytes made equal by background work */
	u64	replayed;	/* dirty regions found when attached; ec: records replayed */
	u64	slots_read;	/* ec: of rings, when attached */
	u64	places_written;	/* ec: in place, when attached */
	u64	attach;		/* ec: attach number in records */
	u32	errors[PROT_WIDTH_MAX];	/* medium errors made good this hour */
	u64	rewritten;	/* pieces unreadable on a member and rewritten */
	/* bytes of background work still allowed to begin; PROT_NO_LIMIT: any */
	u64	allowance;
	u64	owed;		/* begun beyond the allowance */
	struct prot_pace pace;
	u64	scrub_pos;	/* byte the scrub's next chunk begins at */
	struct prot_scrub scrub;	/* the last one begun */
	struct prot_diff diffs[PROT_DIFFS];	/* the first differences found */
	struct prot_diff diff_beyond;	/* the last difference not kept */
	u32	nr_diffs;	/* with differences beyond PROT_DIFFS */
	/*
	 * the first sectors of a region unreadable on all sources, with a member to be written;
	 * until the region is whole
	 */
	struct prot_diff unread[PROT_UNREADS];
	u32	nr_unread;
	/* a read failed: the scrub's op goes there first */
	struct prot_rows repair[PROT_REPAIRS];
	struct prot_meta meta[PROT_WIDTH_MAX];
	struct prot_sync sync;
	struct prot_shape shape;
	u32	unsynced;	/* regions */
	u32	read_bufs[2];	/* private buffers, and small ones, in use by reads */
	u16	spares[2];	/* ... for ops with a hanging read only */
	u16	hung_bufs[2];	/* ... with a read set aside */
	u32	aging;		/* pass over idle bits: region plus one; 0: over */
	u8	aging_all;	/* ... with regions written just now, too */
	u16	ready_head, ready_tail;
	u8	state;
	u8	scrubbing;
	u8	scrub_out;	/* chunks of the scrub in flight */
	u8	scrub_stop;	/* the scrub begins no more chunks */
	u8	chunks;		/* chunks of each kind of work allowed in flight now */
	u8	scrub_turn;	/* changes when counts start again */
	u8	repairs;	/* of @repair, in use */
	u16	repair_ops;	/* ops that wait for their rows */
	u16	repair_at;	/* the one in hand, or to be checked next */
	u8	repairing;	/* the scrub's op is at unreadable rows, of @repair or of an op */
	u8	serving_reported, stopped_reported;
	u8	ec_stage;	/* LOADING, UNITING: enum prot_ec_stage */
	u8	draining;	/* ec: no new transactions until the bump is durable */
	u8	bump;		/* ec: attach number is being written */
	u8	barriers;	/* ec: ring to check next, plus one; 0: none */
	u8	cache_next;	/* ec: next entry of the cache to take */
	u64	bumped;		/* ec: members with the new attach number */
	u64	half;		/* ec: members with the number in one of two blocks */
	u64	bumping;	/* ec: members to get the number */
	u64	taken;		/* ec: joining members with records written */
};

size_t prot_group_bytes(const struct prot_group_config *c);
/* Bytes of records on each member. */
u64 prot_group_meta_bytes(const struct prot_group_config *c);

/* Begin an attachment in zeroed memory of prot_group_bytes(): LOADING. */
struct prot_group *prot_group_init(void *mem, const struct prot_group_config *c);

enum prot_event_kind {
	PROT_EV_NONE,
	PROT_EV_IO,		/* start @io with @runs */
	PROT_EV_DONE,		/* the request with @cookie has ended with @err */
	PROT_EV_SERVING,	/* attached; @members: prot_group.replayed */
	PROT_EV_EPOCH,		/* commit an epoch without @members, then prot_group_epoch() */
	PROT_EV_CAUGHT_UP,	/* @members may be called in sync by the next epoch */
	PROT_EV_STOPPED,
	PROT_EV_COPY,		/* do @copy, then prot_group_result(io.tag) */
	PROT_EV_CODEC,		/* prot_group_codec(@op), then prot_group_result(io.tag) */
	PROT_EV_AGAIN,		/* nothing to be done, but there is more: call once more */
	PROT_EV_FREE,		/* @op is free, after an earlier PROT_EV_DONE without @freed */
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
	u16	op;		/* IO: the op of the payload PROT_BUFFER_REQUEST */
	u8	kind;		/* NONE, AGAIN: but for @freed nothing else is set */
	bool	freed;		/* DONE: @op is free as well; else PROT_EV_FREE follows */
};

/*
 * Bytes from @addr on for one op of @kind at most: within a MiB of a region, DISCARD and ZEROES
 * within PROT_ZEROES_MAX; ec: within a stripe (a full one is best).
 */
u64 prot_group_span(const struct prot_group *g, u8 kind, u64 addr);

/**
 * prot_group_submit() - take a request
 * @kind: READ, WRITE, DISCARD or ZEROES
 * @addr: byte of the group's rows; ec: of the group's data, @k strips a stripe
 * @flags: PROT_UNREAD: rows unreadable on members are rewritten, whichever copy is read
 * @length: at most prot_group_span()
 * @cookie: comes back with PROT_EV_DONE
 *
 * Return: index of the op (PROT_EV_IO names it), -EAGAIN when the group is not serving yet or all
 * ops are in use, -EIO when it has stopped, -EROFS for a write when it only reads, -EINVAL for
 * bytes that are no op.
 *
 * The op, with stages named by the op's numbers (prot_io.stage), belongs to the request until an
 * event frees the op. A caller with more requests than ops keeps the rest in an order of its own,
 * and submits the first one at each such event.
 */
int prot_group_submit(struct prot_group *g, u8 kind, u8 flags, u64 addr, u32 length, u64 cookie);
void prot_group_next(struct prot_group *g, struct prot_event *ev);
void prot_group_result(struct prot_group *g, u32 tag, int err);

/*
 * True: the result of a write to a member that is out may be given while the write goes on. The
 * write may land with any later content of the private buffer. False for repairs and copies: no
 * bit notes such rows as missed by the member.
 */
bool prot_group_lets_go(const struct prot_group *g, u32 tag);

/*
 * True: the read with @tag, of a member that is out, may go on in @buffer, as named by the event,
 * and an error may be given as its result now. No op uses @buffer before prot_group_returned(),
 * when the read has ended. False: no other buffer is free, or the op waits for other reads into
 * the same buffer; the answer may be true later.
 */
bool prot_group_set_aside(struct prot_group *g, u32 tag, u32 buffer);
void prot_group_returned(struct prot_group *g, u32 buffer);

/*
 * ec: the stage of the record with @tag has the room requested; @behind: the stage lies behind
 * stage_after. To be called before the result.
 */
void prot_group_staged(struct prot_group *g, u32 tag, bool behind);
/* Writes held back to go in place with next writes go on at once, because none follows. */
void prot_group_hurry(struct prot_group *g);

/* An epoch is committed, with members @in_sync. */
void prot_group_epoch(struct prot_group *g, u64 epoch, u64 in_sync);
/*
 * The absent @member is back and fenced: let the member catch up. -EINVAL: not out; -EBUSY: an
 * I/O of the member has not ended.
 */
int prot_group_join(struct prot_group *g, u8 member);
/* ... or a spare took the place at @epoch: rebuild. No member was joining there. */
int prot_group_replace(struct prot_group *g, u8 member, const u8 *uuid, u64 epoch);
/* A joining member has gone again. */
void prot_group_leave(struct prot_group *g, u8 member);
enum prot_class prot_class(int err);
/* The member is given up, as after an I/O that ended with -ENODEV. */
void prot_group_fail(struct prot_group *g, u8 member);
/*
 * @members, and no others, are late: no answers at present. Reads of requests, of writes and of
 * resynchronisation avoid late members if the others are enough, a scrub reads all members. I/O
 * already in flight is waited for. All other work goes on as with answering members.
 */
void prot_group_avoid(struct prot_group *g, u64 members);
/* Bytes still to be copied to the member; 0 for a member in sync. */
u64 prot_group_behind(const struct prot_group *g, u8 member);
/*
 * There is time, every few seconds: clear intent bits of regions idle since the last call; ec:
 * move watermarks on. Rows unreadable for background work are tried again.
 */
void prot_group_idle(struct prot_group *g);
/*
 * No request is expected any more: clear records that the next attachment would go through again,
 * of all regions without writes in flight: intent bits, ec: records. Return: true if none is
 * left, on members too; otherwise call again, a little later.
 */
bool prot_group_settle(struct prot_group *g);
/*
 * From now on, chunks of background work begin for @bytes in all; PROT_NO_LIMIT, as at first: for
 * any number; 0: none. Chunks already begun go on, because their rows are locked. The rest of an
 * allowance adds to the next one, up to @depth chunks: a chunk longer than the time between two
 * allowances costs no speed, and a pause saves no more up. Bytes begun beyond an allowance come
 * out of the next ones: small allowances allow no more than a large one. The number of
 * chunks in flight is the smallest to use an allowance up before the next one; @beside requests
 * of the application, the smallest to bring speed (pace.c).
 */
void prot_group_allow(struct prot_group *g, u64 bytes, bool beside);
/* An hour has gone by: errors of members are counted from 0 again. */
void prot_group_hour(struct prot_group *g);
/*
 * Go through all copies once, from byte @how->from of each on. Sectors unreadable on a member are
 * always rewritten from the others, also in a group with members out, unless copies differ and
 * the right one is unknown, or @how->source cannot read them. Readable sectors with unequal content
 * are counted and named by member and place (prot_group.diffs), and are changed only with
 * @how->repair:
 *
 *   mirror   to what @how->source has; where it is out, or cannot read it, nothing is changed.
 *            Without a source: to what more copies have than have anything else; where there
 *            is no such thing, those that differ from the lowest in sync are named, and left
 *   ec       the one strip that alone explains it; where none does (m = 1: never), parity is
 *            made again from the data, and no member is named
 *
 * Counts and differences start again with a scrub from byte 0; prot_group.scrubbing is 0 when the
 * scrub is over. Rows of writes in flight are compared after the writes, regions not
 * resynchronised yet are left out.
 */
void prot_group_scrub(struct prot_group *g, const struct prot_scrub *how);
/* No more chunks begin; prot_group.scrubbing is 0 when chunks in flight are over. */
void prot_group_scrub_stop(struct prot_group *g);
/* True: no I/O is in flight, and all work left waits for the caller. */
bool prot_group_quiet(const struct prot_group *g);

/* ec: the member with @strip (data 0..k-1, parity k..) of @stripe. */
u8 prot_group_member(const struct prot_group *g, u64 stripe, u8 strip);

struct prot_codec_ops;
struct prot_map;
/* Bytes of a PROT_EV_CODEC of @op to work through. */
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
 * Touches only the op and the op's private buffers.
 */
void prot_group_codec(struct prot_group *g, u32 op, const struct prot_codec_ops *ops,
		      struct prot_map *map, u32 from, u32 length);

/* Memory of a private or metadata buffer. */
void *prot_group_buffer(struct prot_group *g, u32 buffer);

#endif
