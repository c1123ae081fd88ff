/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator: protect/ as it is, members in memory, a schedule of actions.
 *
 *   schedule (seed, list or search) ──> action ──> world ──> engine
 *                                                   │ ^          │
 *                                                   │ └─member I/O
 *                                                   └─> oracle: per sector, the
 *                                                       values it may read as
 *
 * A world is one flat memory: the search copies it and branches. An action
 * says all about itself, so a list of them replays, and a shorter list too:
 * what is not possible at its turn is left out.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdint.h>
#include <stdio.h>

#include "protect/engine/group.h"

#ifndef SIM_LBA
#define SIM_LBA		512
#endif
#define SIM_TORN	512		/* bytes of records that land or not */
#if defined(SIM_SMALL_EC)		/* as below, for up to 3+2 */
#ifndef SIM_WIDTH
#define SIM_WIDTH	3
#endif
#define SIM_META	(4 + SIM_WIDTH + 8)
#define SIM_DATA	(2 * (SIM_WIDTH - 1))
#define SIM_IOS		(4 * SIM_WIDTH)
#define SIM_REQS	3
#define SIM_VALUES	8
#define SIM_REQ_SECTORS	4
#define SIM_IO_SECTORS	2
#define SIM_ENGINE	(24576 + 11264 * (SIM_WIDTH - 1))
#elif defined(SIM_SMALL)		/* the search copies worlds all the time */
#define SIM_WIDTH	3
#define SIM_META	8		/* sectors of records, at most */
#define SIM_DATA	2		/* sectors of a volume's data, at most */
#define SIM_IOS		16
#define SIM_REQS	3
#define SIM_VALUES	8		/* a sector may have, at a time */
#define SIM_REQ_SECTORS	1
#define SIM_IO_SECTORS	1
#define SIM_ENGINE	20480		/* bytes of a group, at most */
#else
#define SIM_WIDTH	6
#define SIM_META	36
#define SIM_DATA	32
#define SIM_IOS		64
#define SIM_REQS	8
#define SIM_VALUES	64
#define SIM_REQ_SECTORS	8		/* of a request, at most */
#define SIM_IO_SECTORS	8		/* of a member I/O, at most */
#define SIM_ENGINE	(589824 * (SIM_LBA / 512))
#endif
#ifdef SIM_VOLUME			/* an oracle over all groups of a volume */
#undef SIM_DATA
#define SIM_DATA	64
#undef SIM_IO_SECTORS
#define SIM_IO_SECTORS	9		/* a strip and a header */
#undef SIM_ENGINE
#define SIM_ENGINE	589824
#endif
#if defined(SIM_SMALL_EC) || defined(SIM_SMALL)
#define SIM_STAGES	0		/* whether one is there makes no state more */
#define SIM_SPARES	0		/* no read is set aside */
#define SIM_BUCKETS	0		/* all reads are the engine's */
#else
#define SIM_STAGES	24
#define SIM_SPARES	5		/* of private buffers of each size */
#define SIM_BUCKETS	3		/* of bypass reads */
#define SIM_HAD		8		/* values that one may find, which are ruled out */
#endif
#define SIM_SECTORS	(SIM_META + SIM_DATA)
#define SIM_READ_ROUNDS		120		/* a request waits for no more */
#define SIM_WRITE_ROUNDS	150
#define SIM_NO_MEMBER	63		/* "member" of copies and codec work */

struct sim_config {
	uint8_t copies;			/* ec: members */
	uint8_t k, m;			/* 0: a mirror */
	uint8_t strip, slot;		/* ec: sectors */
	uint8_t rings, slots;
	uint8_t sectors;		/* of data */
	uint8_t region;			/* sectors */
	uint8_t chunk;			/* sectors of a private buffer */
	uint8_t ops;			/* requests at a time */
	uint8_t depth;			/* chunks of background work in flight */
	uint8_t beside;			/* ... as beside requests: of one region */
	uint8_t fresh;			/* extents known to be equal at first */
	uint8_t bits;			/* of a bitmap block; 0: as many as fit */
	uint8_t smalls;			/* private buffers of one sector a strip, besides */
	uint8_t cached;			/* stripes whose data is kept in memory */
	uint8_t plain;			/* members that take no DISCARD and no ZEROES */
	uint8_t noise;			/* what the records' bytes are before */
};

enum sim_action_kind {
	ACT_NONE,
	ACT_SUBMIT,		/* a: kind, b: first sector, c: sectors; seed: and at once more;
				 * m: a read that goes around the engine, if it may
				 */
	ACT_COMPLETE,		/* a: which I/O in flight */
	ACT_TOGETHER,		/* a: op: all its I/Os that are answered end */
	ACT_SILENCE,		/* a: member: no answer from now on; b: even beyond m */
	ACT_FAIL,		/* a: which I/O of silent members ends with an error */
	ACT_HICCUP,		/* a: which write of members that answer fails, others go on;
				 * b: enum sim_hiccup, m: what of it lands
				 */
	ACT_MUTATE,		/* a: request whose buffer changes in flight */
	ACT_COMMIT,		/* the store takes the epoch that was requested, ... */
	ACT_NOTIFY,		/* ... and the engine is notified */
	ACT_EXPEL,		/* a: the store takes one without a request */
	ACT_LEAVE,		/* a: a silent member that catches up: it has gone */
	ACT_MEDIUM,		/* a: member, b: sector that it can't read any more */
	ACT_ROT,		/* a: member, b: sector that changes by itself; scrubbed, c odd:
				 * to repair, from another member if c & 2, which one c >> 2 says
				 */
	ACT_IDLE,		/* long enough for all that is idle; a odd: for half of that */
	ACT_SCRUB,		/* c odd: to repair, if c & 2 from member a; one stops if c & 4 */
	ACT_RETURN,		/* a: absent member comes back, stale */
	ACT_REPLACE,		/* a: a spare takes its place */
	ACT_PROMOTE,		/* the store calls caught-up members in sync */
	ACT_DRAIN,		/* all in flight comes to its end, epochs too */
	ACT_CRASH,		/* a: members lost with it, m: sectors that land */
	ACT_GROW,		/* of a volume (volume.c): one more group */
	ACT_LATE,		/* a: member, that answers nothing until ACT_PROMPT, or the end */
	ACT_PROMPT,		/* a: member */
	ACT_KINDS
};

/* How one write fails. */
enum sim_hiccup {
	HICCUP_RETRY,		/* for now: it is sent again, and the engine never knows */
	HICCUP_MEDIUM,		/* each sector is old or new, or unreadable */
	HICCUP_GONE,		/* the member is said to be gone; it may land later */
	HICCUPS
};

struct sim_action {
	uint8_t kind, a, b, c;
	uint32_t seed;
	uint64_t m;
};

struct sim_io {
	uint8_t used, member, kind, sectors;
	uint8_t work;			/* a copy or codec work: enum prot_event_kind */
	uint8_t out;
	uint8_t dead;			/* ended with an error, may still land */
	uint8_t req;			/* whose buffer, or SIM_REQS: private */
	uint8_t bypass;			/* of a read that the engine does not know */
	uint8_t before;			/* at a member that was replaced: the new one never sees it */
	uint8_t bad;			/* ... which could not read all of it */
	uint16_t first;			/* sector of the member */
	uint32_t tag;
	uint32_t buffer, offset;	/* of the engine, for reads and for checking */
	uint64_t seq;
	uint8_t stage_do;		/* enum prot_stage */
	uint32_t stage, stage_offset;
	uint32_t stage_back;		/* bytes of others, before its own */
	uint8_t roomy;			/* others may be staged behind it */
	uint8_t behind;			/* it is staged behind another one */
	uint8_t loose;			/* dead, and lands as its buffer is then */
	uint8_t aside;			/* a read, dead, that the drive goes on with */
	uint8_t stale;			/* not from memory, and what was staged is gone */
	uint8_t data[SIM_IO_SECTORS * SIM_LBA];	/* private payload, frozen */
};

/* What a member keeps of a record, to write it in place; the fate of each is its own. */
struct sim_stage {
	uint8_t used;
	uint8_t roomy;
	uint32_t number;
	uint32_t at;			/* byte where its own begins, behind those before it */
	uint32_t end;
	uint8_t data[SIM_IO_SECTORS * SIM_LBA];
};

/* How a read goes around the engine. */
enum sim_bypass {
	SIM_BYPASS_NOT,
	SIM_BYPASS_OUT,			/* sent to members */
	SIM_BYPASS_AGAIN,		/* it waits for an op of the engine */
};

struct sim_req {
	uint8_t used, kind, first, count;
	uint8_t bypass;			/* enum sim_bypass */
	uint8_t pieces;			/* of a bypass read, in flight */
	uint8_t failed, flags;		/* ... one of them has; for the engine */
	uint16_t op;
	uint32_t seen;			/* ... the sum of its words when it began */
	uint32_t id;			/* value being written */
	uint64_t began;
	uint32_t rounds;		/* that it has waited for */
	uint32_t got[SIM_REQ_SECTORS];	/* what a read has brought */
};

/* A value that a sector may have. */
struct sim_value {
	uint32_t id;
	uint8_t live;			/* its write is in flight */
	uint8_t changing;		/* its buffer changed in flight */
	uint8_t req;
	uint8_t reserved;
	uint64_t ended;
};

struct sim_oracle {
	uint8_t n;
	uint64_t tainted;		/* when a buffer over it changed in flight; 0 never */
	struct sim_value v[SIM_VALUES];
};

/* What meshd and its store know; outlives crashes. */
struct sim_store {
	uint64_t epoch, in_sync;
	uint64_t left[SIM_WIDTH];
	uint8_t uuid[SIM_WIDTH];
	uint8_t fresh;			/* has never served */
};

struct sim_world {
	struct sim_config cfg;
	uint16_t meta;			/* sectors of records on each member */
	struct sim_store store;
	uint64_t now, io_seq;
	uint32_t next_id, crashes, acks, reads;
	uint8_t silent;			/* members that do not answer */
	uint8_t late;			/* ... that will, and the engine knows that they do not now */
	uint64_t late_since;		/* when they last changed, or who is in sync */
	uint8_t flaky;			/* ... that do, but the engine takes them for gone */
	uint8_t requested;			/* epoch requested without these */
	uint8_t committed;		/* the engine is behind the store */
	uint8_t caught;			/* members that may be promoted */
	uint8_t serving, stopped, attaches;
	uint64_t taken;			/* ops that the engine has not called free again */
	uint8_t beyond;			/* more are silent than it stands: requests may fail */
	uint64_t bad_sectors[SIM_WIDTH];	/* that can't be read until they are written */
	struct {			/* a sector that changed by itself, until scrubbed */
		uint8_t on, member, repair;
		uint8_t named;			/* member that the scrub has to name */
		uint16_t sector;
		uint8_t was[SIM_LBA];
	} rot;
	struct {			/* of the scrub since it began */
		uint8_t stopped;
		uint64_t pos;			/* where it was then */
		uint64_t rotten, changed;	/* sectors that it may find unequal */
		uint8_t replaced;		/* a member that it may have named is another one */
	} scrub;
	uint64_t refused[SIM_WIDTH];		/* of these, what reads were refused */
	uint32_t mediums, medium_errors, rots;
	uint64_t slots_read, places_written, replayed;	/* by attachments */
	uint64_t joined, in_order, cached, folded;	/* writes, and places */
	/* places from a stage; that found it dropped; of several writes; that found it dropped */
	uint64_t staged, stale, runs, undone;
	uint64_t asides;		/* reads that hang, and that nothing waits for */
	uint64_t bypassed, redone;	/* bypass reads that were right; that were not */
	uint64_t round_end;		/* the last I/O of this round */
	uint32_t longest[4];		/* rounds that a request of each kind waited for */
	uint64_t hiccups[HICCUPS];
	struct {			/* what the search may still do */
		uint8_t requests, crashes, silences, idles;
	} left;
	uint32_t alien_id;		/* the write whose data is a copy of a record */
	uint8_t alien[SIM_LBA];
	char bad[160];			/* what went wrong; empty: nothing */
	struct sim_oracle oracle[SIM_DATA];
	struct sim_io io[SIM_IOS];
#if SIM_STAGES
	struct sim_stage stage[SIM_STAGES];
#endif
#if SIM_BUCKETS
	struct {			/* of bypass reads */
		uint64_t members;		/* that may be read */
		uint32_t word[SIM_BUCKETS];
		struct { uint8_t first, count; } write[64];	/* by op; 0 sectors: none */
		/* what a read's sector was, and is not any more: it may be read as that */
		struct { uint32_t n, id[SIM_HAD]; } had[SIM_REQS][SIM_REQ_SECTORS];
	} bypass;
#endif
	struct sim_req req[SIM_REQS];
	uint8_t disk[SIM_WIDTH][SIM_SECTORS][SIM_LBA];
	_Alignas(8) uint8_t engine[SIM_ENGINE];
};

static inline uint64_t sim_all(const struct sim_world *w)
{
	return (1ULL << w->cfg.copies) - 1;
}

/* world.c */
void sim_init(struct sim_world *w, const struct sim_config *c);
void sim_attach(struct sim_world *w);		/* the engine begins again, from the store */
void sim_pump(struct sim_world *w);		/* until it has nothing more to say */
int sim_complete(struct sim_world *w, int n);	/* the n-th of those answered ends */
int sim_together(struct sim_world *w, uint32_t op);	/* all those answered of an op end */
int sim_fail(struct sim_world *w, int n);	/* the n-th of silent members ends with an error */
/* The n-th write of members that answer fails, and seems to land as @m says. */
int sim_hiccup(struct sim_world *w, int n, int how, uint64_t m);
void sim_round(struct sim_world *w);	/* virtual time: what was in flight has ended */
/* What is in flight to @members is over: what @m says lands. */
void sim_resolve(struct sim_world *w, uint64_t members, uint64_t m);
/* A spare is in the place of @member, with I/O of the one before still in flight. */
void sim_replaced(struct sim_world *w, int member);
int sim_flying(const struct sim_world *w);		/* I/O in flight */
const struct sim_io *sim_answered(struct sim_world *w, int n);	/* the n-th of those answered */
/* Of what is in flight, the parts of a sector that land or not by themselves. */
int sim_pieces(const struct sim_world *w, const struct sim_io *io, int sector);
int sim_flying_sectors(const struct sim_world *w);	/* of writes, dead ones too */
struct prot_group *sim_group(struct sim_world *w);
/* One piece of a bypass read, @at that byte of it. */
void sim_bypass_io(struct sim_world *w, struct sim_req *r, const struct prot_io *piece, uint32_t at);
void sim_bad(struct sim_world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
extern int sim_trace;				/* print what happens */

/* mutants.c: by enum prot_mutant */
extern const char *const sim_mutant_names[];

/* action.c */
/* Do it if it is possible now; false: it was not. */
int sim_do(struct sim_world *w, const struct sim_action *a);
/* Run @run; false: it has not come to rest in five seconds of CPU. */
int sim_guarded(void (*run)(void *arg), void *arg);
void sim_print_action(FILE *f, const struct sim_action *a);

/* check.c */
/* Finish everything, then check every sector and copy. */
void sim_settle(struct sim_world *w);
void sim_check_sets(struct sim_world *w);
/* What answers has answered: no read is to wait for the rest. */
void sim_check_reads(struct sim_world *w);
/* All but late members have answered: no read that came since then is to wait for these. */
void sim_check_late(struct sim_world *w);
/* A sector of @member changes; a scrub has to repair it, or to name it. */
int sim_rot(struct sim_world *w, const struct sim_action *a);
int sim_scrub(struct sim_world *w, const struct sim_action *a);
/* An I/O of background work that is only to compare: nothing that can be read is written. */
void sim_check_scrub_io(struct sim_world *w, const struct sim_io *io);
void sim_unrot(struct sim_world *w);		/* something is about to need it */
int sim_rotten(const struct sim_world *w, int first, int count);
int sim_unreadable(const struct sim_world *w);	/* a sector of any member */
void sim_scrubbed(struct sim_world *w);		/* it is through, if it is */

/* aside.c */
/* A read ends with an error for the engine alone; 0: that is not to be. */
int sim_aside(struct sim_world *w, struct sim_io *io);
void sim_aside_over(struct sim_world *w, struct sim_io *io);	/* it is fenced */
void sim_asides(struct sim_world *w);			/* they write into their buffers */

/* stage.c */
/* A write from a private buffer goes out: behind what is staged, or from it. */
void sim_stage_begin(struct sim_world *w, struct sim_io *io, const struct prot_event *ev);
/* A record has ended well, or not: its payload is kept, or not. */
void sim_stage_keep(struct sim_world *w, const struct sim_io *io);
void sim_stage_free(struct sim_world *w, uint32_t op);	/* op is over; PROT_NONE16: all are */

/* bypass.c */
void sim_bypass_wrote(struct sim_world *w, uint32_t op, uint32_t first, uint32_t sectors);
void sim_bypass_free(struct sim_world *w, uint32_t op);		/* a write's rows are free */
void sim_bypass_allow(struct sim_world *w);	/* find out which members may be read */
void sim_bypass_reset(struct sim_world *w);	/* the engine begins again */
/* Send a read to members; 0: it is the engine's. */
int sim_bypass_begin(struct sim_world *w, struct sim_req *r);
int sim_bypass_from(const struct sim_world *w, int member);	/* whether it may be read */
void sim_bypass_ended(struct sim_world *w, const struct sim_io *io, int err);	/* a piece of it */
void sim_bypass_had(struct sim_world *w, uint32_t sector, uint32_t id);	/* ruled out */
int sim_bypass_again(struct sim_world *w);	/* the engine takes those that were not right */

/* oracle.c */
void sim_fill(const struct sim_world *w, uint8_t *sector, uint32_t id, uint32_t where);
uint32_t sim_value_of(const struct sim_world *w, const uint8_t *sector, uint32_t where);
#define SIM_GARBAGE 0xffffffffU
void sim_oracle_init(struct sim_world *w);
void sim_wrote(struct sim_world *w, const struct sim_req *r);
void sim_changed(struct sim_world *w, const struct sim_req *r, uint32_t old);
void sim_acked(struct sim_world *w, const struct sim_req *r, int err);
void sim_crashed(struct sim_world *w);
void sim_read(struct sim_world *w, uint32_t sector, uint32_t value, uint64_t began);
int sim_sectors(const struct sim_world *w);	/* of a member's data */
int sim_tainted(const struct sim_world *w, uint32_t sector);

#endif
