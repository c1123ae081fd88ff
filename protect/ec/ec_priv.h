/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the files of the erasure-coding policy.
 *
 * Strips are counted 0..k-1 (data) and k..k+m-1 (parity); parity rotates, so strip s of stripe t
 * is on member (s + t) mod (k + m). In a mask of strips bit s is strip s, in a mask of members
 * bit i is member i.
 *
 * A private buffer of an op:
 *
 *   NEW 0: | head | window bytes | NEW 1: | head | window | .. NEW k+m-1 |
 *   OLD 0: | window | .. OLD max(k,m)-1 |
 *
 * A window is a strip long, in a small buffer prot_group_config.small. If the head of a ring slot
 * is a page or more, a head is a page, and windows of whole pages are aligned to pages.
 *
 * A byte of a strip lies at the same place of each window; the op's first row is at 0. A record
 * is one run: the header, in the head's last block or moved up to the first byte of the payload,
 * and the payload behind.
 */
#ifndef PROTECT_EC_PRIV_H
#define PROTECT_EC_PRIV_H

#include <linux/math64.h>
#include <linux/minmax.h>

#include "protect/codec/codec.h"
#include "protect/engine/group_priv.h"

#define PROT_EC_STREAMS		4
#define PROT_Q_STREAM		PROT_Q_LEVEL	/* writes held (ec_stream.c) */
#define PROT_Q_RUN		(PROT_Q_STREAM + 1)	/* ... past their gate (ec_run.c) */
#define PROT_Q_RING		(PROT_Q_RUN + 1)	/* + ring: ops that want its next slot */
#define PROT_OP_BARRIER		2
#define PROT_OP_FILL		3	/* with a cache; the first op of a request is one further */
#define PROT_TAG_WORK		62	/* as a member: a copy or codec work */

/*
 * Life of an op (ec.c draws a write in full):
 *
 *   write     LOCK -> BUF -> COPY -> GATHER -> CODEC -> TXID -> RECORD -> PLACE -> RETIRE
 *   read      LOCK -> READ, or when a member is out:
 *             LOCK -> BUF -> GATHER -> CODEC -> COPY -> READ (strips not lost)
 *   sync      LOCK -> BUF -> GATHER -> CODEC -> PLACE
 *   scrub     LOCK -> BUF -> GATHER -> CODEC -> PLACE (-> GATHER, row by row)
 *   barrier   LOCK -> BUF -> TXID -> RECORD
 *   fill      LOCK -> FILL (ec_cache.c)
 *   a write that goes with an older one: LOCK, or BUF -> JOINED
 */
enum {
	PROT_P_EC_READ = PROT_P_LEVEL,
	PROT_P_EC_COPY,		/* payload to or from private buffers */
	PROT_P_EC_GATHER,	/* reads strips into private buffers */
	PROT_P_EC_CODEC,	/* parity, or lost strips, of them */
	PROT_P_EC_TXID,		/* waits for a slot of the ring */
	PROT_P_EC_RECORD,	/* records in flight to all holders */
	PROT_P_EC_PLACE,	/* in place; a recorded write is acknowledged */
	PROT_P_EC_RETIRE,	/* waits for MISSED bits to be durable */
	PROT_P_EC_JOINED,	/* part of another op */
	PROT_P_EC_REPAIR,	/* waits for the scrub's op to repair its rows one by one */
	PROT_P_EC_FILL,		/* reads strips into the cache */
	PROT_P_EC_END
};

#define PROT_FOR_BARRIER	PROT_FOR_LEVEL	/* moves a ring's watermark */
#define PROT_FOR_FILL		(PROT_FOR_LEVEL + 1)

/* Result of VERIFY for a row, in the first byte of OLD 0: a strip plus one, or a constant below. */
#define PROT_ROW_RIGHT		0
#define PROT_ROW_UNEXPLAINED	0xff

/* The way an op gets its content. */
enum prot_ec_plan {
	PROT_PLAN_DELTA,	/* old data and parity, changed by what differs */
	PROT_PLAN_ENCODE,	/* all data strips, some perhaps rebuilt, give parity */
	PROT_PLAN_REBUILD,	/* strips at hand give lost ones: reads, sync */
	PROT_PLAN_VERIFY,	/* all strips against each other: scrub */
};

/* Further fields of an op of an erasure-coded group. */
struct prot_ecop {
	u64	start;		/* first byte of the op, within the group's data */
	u64	stripe;		/* number */
	u64	strips;		/* strips for which other ops of these rows have to wait */
	u64	data;		/* data strips requested */
	u64	gather;		/* strips to be read into private buffers */
	u64	got;		/* of these, read */
	u64	have;		/* the k strips to rebuild @lost from */
	u64	lost;		/* strips to be rebuilt */
	u64	want;		/* parity strips to be computed */
	u64	copied;		/* strips copied from or to the payload */
	u64	own;		/* of @data, strips of the op's own request, without joined ones */
	u64	holders;	/* members with a record of the op */
	u64	parts;		/* members in sync with changed strips */
	/*
	 * @holders and @parts as named by all records: the gate forgets a member that is out by
	 * an epoch, but differing records belong to no transaction
	 */
	u64	named_holders;
	u64	named_parts;
	u64	joins;		/* joining members, written in place only */
	u64	fix;		/* members to be rewritten by a scrub */
	u64	skip;		/* members written by a later op instead */
	/* strips with newer content by a later gated write, even after the later write is over */
	u64	stale;
	u64	over;		/* of @skip, where the later content is not in place yet */
	/*
	 * ec_run.c: members with room behind the stage; members with the stage behind the earlier
	 * write's
	 */
	u64	kept;
	u64	chained;
	u64	run;		/* members where the op goes in place with earlier writes */
	u64	txid;		/* 0: not recorded */
	u64	mark;		/* watermark in the op's records */
	u32	bytes;		/* requested */
	u32	row;		/* byte of the strip where the op's rows begin */
	u32	from;		/* first byte to be gathered, counted from @row (reads) */
	u32	length;		/* bytes to be gathered */
	u32	ring;		/* ring of the stripe */
	u8	rot;		/* stripe mod width */
	u8	plan;		/* enum prot_ec_plan */
	u8	kind;		/* enum prot_slot_kind */
	u8	waits;		/* for an older write of these rows to be in place */
	u8	remake;		/* scrub: parity is made again where no strip explains a row */
	u8	yielded;	/* let other ops begin before going in place */
	u8	reads;		/* not all content to gather is in memory */
	u16	joined;		/* next op joined to it; 0: none */
	u16	last;		/* the last one */
	u16	copying;	/* the joined op with the payload in hand; 0: the op itself */
	u16	behind;		/* the write behind which the op is held, plus one; 0: not held */
	u32	behind_serial;
	u32	serial;		/* of a write, until begun again; 0: none */
	u32	run_id;		/* of writes in order, able to go in place together; 0: none */
	u32	run_row;	/* of @run: byte of the strip where the first write begins */
	u16	prev;		/* the earlier op of the run, plus one; 0: none */
	u16	succ;		/* ... and the next one */
	u8	grown;		/* begins where an earlier write ends */
	u8	flush;		/* not held back any more */
};

/* Where a write has ended: the next one of a stream begins there. */
struct prot_ec_stream {
	u64	end;		/* byte of the group's data; 0: none */
	u32	serial;		/* of the write, and the op if still the same write */
	u16	op;
};

struct prot_ec_streams {
	struct prot_ec_stream seen[PROT_EC_STREAMS];
	struct prot_ec_stream grown[PROT_EC_STREAMS];
	u32	serial;		/* the last number given out */
	u32	next_seen;
	u32	next_grown;
};

/* The bytes of a data strip requested by an op. */
struct prot_ec_range {
	u32	lo;
	u32	hi;
};

/* Place of the newest gated content of a strip. */
enum prot_ec_at {
	PROT_AT_MEMBER,		/* in place */
	PROT_AT_HAND,		/* in the private buffer of an op, or in the cache */
	PROT_AT_NEITHER,	/* here and there: wait until in place */
};

struct prot_ring {
	u64	next;		/* transaction id to be given out next */
	u64	oldest;		/* the oldest not retired; @next: none */
	u64	durable;	/* watermark known to enough members to survive */
	u64	recorded;	/* the last transaction with rows */
	u64	retired;	/* by ring slot, retired ones from @oldest on */
	u64	known;		/* LOADING: highest watermark found */
};

/* A transaction found in the rings, by ring and slot. */
struct prot_tx {
	u64	txid;		/* 0: none */
	u64	have;		/* members with a valid record */
	u64	unread;		/* members with an unreadable slot */
	u64	holders;
	u64	parts;
	u64	stripe;
	u8	kind;
	u8	complete;
	u8	live;
	u8	reserved[5];
};

/* Stages of an attachment; a stage ends when all members are through. */
enum prot_ec_stage {
	PROT_EC_ATTACH,		/* reads attach records */
	PROT_EC_RINGS,		/* reads bitmaps and rings */
	PROT_EC_ERASE,		/* dropped records become invalid */
	PROT_EC_REPLAY,		/* complete ones go in place */
	PROT_EC_MISS,		/* MISSED bitmaps become durable */
	PROT_EC_BUMP,		/* everything recorded so far is dead from now on */
	PROT_EC_DONE,
};

/* The answer of a phase's own file to ec.c. */
enum prot_ec_verdict {
	PROT_EC_WAIT,		/* nothing to start now; or another phase begins */
	PROT_EC_EVENT,		/* the event is filled in */
	PROT_EC_END,		/* the op is over */
	PROT_EC_AGAIN,		/* a scrub's op: plan the next rows */
};

static inline struct prot_ecop *prot_ecop(const struct prot_group *g, const struct prot_gop *op)
{
	return (struct prot_ecop *)prot_at(g, g->shape.off_ecops) + prot_gop_index(g, op);
}

static inline struct prot_ec_range *prot_ec_range(const struct prot_group *g,
						  const struct prot_gop *op, u32 strip)
{
	return (struct prot_ec_range *)prot_at(g, g->shape.off_ranges) +
	       prot_gop_index(g, op) * g->cfg.k + strip;
}

static inline struct prot_ec_streams *prot_ec_streams(const struct prot_group *g)
{
	return prot_at(g, g->shape.off_streams);
}

/* The code of the group. */
static inline struct prot_code *prot_ec_code(const struct prot_group *g)
{
	return prot_at(g, g->shape.off_code);
}

static inline struct prot_ring *prot_ring(const struct prot_group *g, u32 ring)
{
	return (struct prot_ring *)prot_at(g, g->shape.off_rings) + ring;
}

static inline struct prot_tx *prot_tx(const struct prot_group *g, u32 ring, u32 slot)
{
	return (struct prot_tx *)prot_at(g, g->shape.off_txs) + ring * g->cfg.slots + slot;
}

static inline u32 prot_ec_stripe_bytes(const struct prot_group *g)
{
	return g->cfg.k * g->cfg.strip;
}

static inline u8 prot_ec_member(const struct prot_group *g, const struct prot_ecop *e, u32 strip)
{
	u32 m = strip + e->rot;

	return m < g->cfg.width ? m : m - g->cfg.width;
}

static inline u8 prot_ec_strip(const struct prot_group *g, const struct prot_ecop *e, u32 member)
{
	return member >= e->rot ? member - e->rot : member + g->cfg.width - e->rot;
}

/* Members to read from: in sync and, if enough are left, not late. */
static inline u64 prot_ec_sources(const struct prot_group *g, const struct prot_gop *op)
{
	u64 from = prot_live(g) & ~op->tried;

	/* a scrub checks all members */
	return op->purpose == PROT_FOR_SCRUB ? from : prot_prompt(g, op, from, g->cfg.k);
}

/* Strips as members, and back. */
static inline u64 prot_ec_members(const struct prot_group *g, const struct prot_ecop *e, u64 strips)
{
	u64 all = PROT_BIT(g->cfg.width) - 1;

	return (strips << e->rot | strips >> (g->cfg.width - e->rot)) & all;
}

static inline u64 prot_ec_strips(const struct prot_group *g, const struct prot_ecop *e, u64 members)
{
	u64 all = PROT_BIT(g->cfg.width) - 1;

	return (members >> e->rot | members << (g->cfg.width - e->rot)) & all;
}

static inline u64 prot_ec_all_data(const struct prot_group *g)
{
	return PROT_BIT(g->cfg.k) - 1;
}

static inline u64 prot_ec_all_parity(const struct prot_group *g)
{
	return (PROT_BIT(g->cfg.m) - 1) << g->cfg.k;
}

/* Rows in the op's private buffer. */
static inline u32 prot_ec_window(const struct prot_group *g, const struct prot_gop *op)
{
	return op->buf < g->cfg.bufs ? g->shape.window : g->cfg.small;
}

/* Byte of the op's private buffer where the window of a strip begins. */
static inline u32 prot_ec_new(const struct prot_group *g, const struct prot_gop *op, u32 strip)
{
	return strip * (g->shape.head + prot_ec_window(g, op)) + g->shape.head;
}

static inline u32 prot_ec_old(const struct prot_group *g, const struct prot_gop *op, u32 strip)
{
	u32 window = prot_ec_window(g, op);

	return g->cfg.width * (g->shape.head + window) + strip * window;
}

static inline u8 *prot_ec_frame(const struct prot_group *g, const struct prot_gop *op)
{
	return prot_private(g, op->buf);
}

/* Members of transactions: in sync, or about to be called in sync. */
static inline u64 prot_ec_full(const struct prot_group *g)
{
	return g->in_sync | g->taken;
}

/* True: the op may have changed rows in place, or may do so after a crash. */
static inline bool prot_ec_changing(const struct prot_gop *op)
{
	return op->purpose == PROT_FOR_REQUEST && op->kind != PROT_READ &&
	       op->phase != PROT_P_FREE && op->phase != PROT_P_LOCK &&
	       op->phase != PROT_P_ENDED;
}

/* ec_op.c */
u64 prot_ec_span(const struct prot_group *g, u64 addr);
/* The part of @strip requested by the op, counted from the op's first row. */
void prot_ec_part(const struct prot_group *g, const struct prot_gop *op, u32 strip,
		  u32 *from, u32 *length);
bool prot_ec_whole(const struct prot_group *g, const struct prot_gop *op, u32 strip);
struct prot_ec_range prot_ec_own_part(const struct prot_group *g, const struct prot_ecop *e,
				      u32 strip);
u32 prot_ec_payload_at(const struct prot_group *g, const struct prot_gop *op, u32 strip,
		       u32 from);
u64 prot_ec_unreadable(const struct prot_group *g, const struct prot_gop *op);
void prot_ec_start_op(struct prot_group *g, struct prot_gop *op, u64 start, u32 bytes);
void prot_ec_start_again(struct prot_group *g, struct prot_gop *op);
void prot_ec_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow);
void prot_ec_work_tag(const struct prot_group *g, struct prot_gop *op, u8 kind,
		      struct prot_event *ev);
void prot_ec_fill_private(const struct prot_group *g, const struct prot_gop *op, u32 member,
			  u8 kind, u32 buffer_at, u32 from, u32 length, struct prot_event *ev);

/* ec.c */
void prot_ec_start(struct prot_group *g, struct prot_gop *op, u64 start, u32 bytes);
void prot_ec_repaired(struct prot_group *g, struct prot_gop *op);
bool prot_ec_conflict(const struct prot_group *g, const struct prot_gop *a,
		      const struct prot_gop *b);
bool prot_ec_step(struct prot_group *g, struct prot_gop *op, struct prot_event *ev);
void prot_ec_result(struct prot_group *g, struct prot_gop *op, u32 member, int err);
bool prot_ec_set_aside(struct prot_group *g, struct prot_gop *op, u32 buf);
void prot_ec_stop(struct prot_group *g, struct prot_gop *op);
void prot_ec_strike(struct prot_group *g, u64 left);
void prot_ec_miss_unfinished(struct prot_group *g, u32 slot);

/* ec_place.c */
enum prot_ec_verdict prot_ec_record_next(struct prot_group *g, struct prot_gop *op,
					 struct prot_event *ev);
enum prot_ec_verdict prot_ec_place_next(struct prot_group *g, struct prot_gop *op,
					struct prot_event *ev);
enum prot_ec_verdict prot_ec_retire_next(struct prot_group *g, struct prot_gop *op);

/* ec_plan.c: -EIO when there are not enough members to read from */
int prot_ec_plan_write(struct prot_group *g, struct prot_gop *op);
int prot_ec_plan_rebuild(struct prot_group *g, struct prot_gop *op);
int prot_ec_plan_scrub(struct prot_group *g, struct prot_gop *op);

/* ec_scrub.c */
enum prot_ec_verdict prot_ec_scrub_next(struct prot_group *g, struct prot_gop *op, bool all);
void prot_ec_scrub_computed(struct prot_group *g, struct prot_gop *op);

/* ec_ring.c */
u64 prot_ec_ring_bytes(const struct prot_group_config *c, u64 records);
/* The address of the header in a ring slot. */
u64 prot_ec_slot(const struct prot_group *g, u32 member, u32 ring, u32 slot);
void prot_ec_txid(struct prot_group *g, struct prot_gop *op);
void prot_ec_record(struct prot_group *g, struct prot_gop *op, u32 member,
		    struct prot_event *ev);
u64 prot_ec_must_have(const struct prot_group *g, u64 members);
bool prot_ec_gate(const struct prot_group *g, const struct prot_gop *op);
void prot_ec_gated(struct prot_group *g, struct prot_gop *op);
void prot_ec_retire(struct prot_group *g, struct prot_gop *op);
void prot_ec_rings_reset(struct prot_group *g);
bool prot_ec_barrier(struct prot_group *g);
bool prot_ec_drained(const struct prot_group *g);
bool prot_ec_settled(const struct prot_group *g);

/* ec_rows.c */
bool prot_ec_follows(const struct prot_group *g, const struct prot_gop *o,
		     const struct prot_gop *op);
u64 prot_ec_unplaced(const struct prot_group *g, const struct prot_gop *op);
void prot_ec_supersede(struct prot_group *g, struct prot_gop *op);
void prot_ec_landed(struct prot_group *g, struct prot_gop *op, u32 member);
u32 prot_ec_older(const struct prot_group *g, const struct prot_gop *op, u32 member);
bool prot_ec_may_place(const struct prot_group *g, const struct prot_gop *op, u32 member);
enum prot_ec_at prot_ec_at_hand(const struct prot_group *g, const struct prot_gop *op, u32 strip,
				u32 from, u32 length, const u8 **src);
bool prot_ec_grows(const struct prot_group *g, const struct prot_gop *op);
void prot_ec_join(struct prot_group *g, struct prot_gop *op);
void prot_ec_unjoin(struct prot_group *g, struct prot_gop *op);
void prot_ec_notify_joined(struct prot_group *g, struct prot_gop *op, int err);

/* ec_stream.c */
void prot_ec_stream_note(struct prot_group *g, struct prot_gop *op);
bool prot_ec_stream_holds(struct prot_group *g, struct prot_gop *op);
void prot_ec_stream_wake(struct prot_group *g);

/* ec_run.c */
void prot_ec_run_note(struct prot_group *g, struct prot_gop *o, struct prot_gop *op);
u32 prot_ec_run_room(const struct prot_group *g, const struct prot_gop *op);
u32 prot_ec_run_after(const struct prot_group *g, const struct prot_gop *op, u32 member);
u32 prot_ec_run_row(const struct prot_ecop *e, u32 member);
u64 prot_ec_run_held(struct prot_group *g, struct prot_gop *op, u64 to);
u32 prot_ec_run_back(const struct prot_ecop *e);
void prot_ec_run_leave(struct prot_group *g, const struct prot_gop *op);
void prot_ec_run_hurry(struct prot_group *g);
void prot_ec_run_over(struct prot_group *g, const struct prot_ec_stream *s);
void prot_ec_run_take(struct prot_group *g, struct prot_gop *op);
void prot_ec_run_landed(struct prot_group *g, struct prot_gop *op, u32 member);
bool prot_ec_run_undo(struct prot_group *g, struct prot_gop *op, u32 member);

/* ec_cache.c */
u32 prot_ec_cached_bytes(const struct prot_group_config *c);
const u8 *prot_ec_cached(const struct prot_group *g, const struct prot_ecop *e, u32 strip,
			 u32 lo, u32 hi);
void prot_ec_cache_note(struct prot_group *g, const struct prot_gop *op);
void prot_ec_cache_gated(struct prot_group *g, const struct prot_gop *op);
void prot_ec_cache_forget(struct prot_group *g, u64 stripe);
enum prot_ec_verdict prot_ec_fill_next(struct prot_group *g, struct prot_gop *op,
				       struct prot_event *ev);
void prot_ec_filled(struct prot_group *g, struct prot_gop *op, u32 strip, int err);

/* ec_recover.c */
bool prot_ec_meta_next(struct prot_group *g, struct prot_event *ev);
void prot_ec_meta_result(struct prot_group *g, u32 member, int err);

#endif
