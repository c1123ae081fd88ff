/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protection policy: requests in, member I/O out.
 *
 *   request --> prot_op --> one I/O per group --> width 1: the member's I/O
 *               (op.c: level tables cut            width n: prot_group, which
 *               the volume into groups)                     makes member I/O
 *                                                           of it (mirror, ec)
 *
 * Sans I/O: nothing here allocates, locks, sleeps, knows the time or follows a
 * pointer out of the memory it was handed, so a checker may copy any state and
 * branch. What executes I/O is the caller: the kernel's glue or the simulator.
 *
 * How a caller runs an op:
 *
 *	err = prot_op_init(&op, layout, &request);
 *	while ((v = prot_op_next(&op, layout, &io, runs)) != PROT_DONE) {
 *		if (v == PROT_IO)
 *			start it; remember io.tag
 *		else (PROT_WAIT)
 *			when any of those started has ended:
 *			prot_op_result(&op, io.tag, error);
 *			and call prot_op_next() again
 *	}
 *	the request ends with op.err
 *
 * Calls about one op are made one at a time; ops share nothing (groups do, see
 * group.h). A caller may collect the results of a batch before it feeds them.
 */
#ifndef PROTECT_PROT_H
#define PROTECT_PROT_H

#include <linux/types.h>

#include "protect/layout/layout.h"

#define PROT_RUNS_MAX		64	/* runs of one I/O */
#define PROT_BATCH_MAX		320	/* I/Os of one batch */
#define PROT_REQUEST_MAX	(1U << 20)	/* bytes of a READ or WRITE */
#define PROT_ZEROES_MAX		(8U << 20)	/* bytes of ZEROES where there is redundancy */
#define PROT_BUFFER_REQUEST	0	/* the request's own pages */

enum prot_kind {
	PROT_READ,
	PROT_WRITE,
	PROT_DISCARD,		/* reads zero afterwards, like ZEROES, or keeps the data */
	PROT_ZEROES,		/* reads zero afterwards */
	PROT_FLUSH,
};

#define PROT_FUA	1	/* durable when done; members always are */
#define PROT_META	2	/* file system metadata */
#define PROT_NOUNMAP	4	/* ZEROES: keep the space allocated */
#define PROT_UNREAD	8	/* READ of a group: a member could not read some of it (bypass.h) */

/* A request to the volume. */
struct prot_request {
	u64	offset;	/* byte of the volume, a multiple of the LBA */
	u64	length;	/* bytes, a multiple of the LBA, not 0; FLUSH: both 0 */
	u8	kind;	/* enum prot_kind */
	u8	flags;	/* PROT_FUA, PROT_META, PROT_NOUNMAP */
};

/* A piece of a buffer. */
struct prot_run {
	u32	offset;	/* byte within the buffer */
	u32	length;	/* bytes */
	u32	buffer;	/* PROT_BUFFER_REQUEST, or a buffer of the group (group.h) */
};

#define PROT_NO_STAGE		(~0U)

/* Further use of an I/O's payload. */
enum prot_stage {
	PROT_STAGE_NONE,
	PROT_STAGE_KEEP,	/* WRITE of the runs; from @stage_offset on they stay as @stage */
	PROT_STAGE_LAST,	/* WRITE of @stage, which may go afterwards, from @stage_offset: no
				 * runs travel, they are there in case the stage was dropped
				 */
};

/* One I/O to a member, or, for redundant levels, to a group. */
struct prot_io {
	u64	addr;		/* byte of the member; of the group's data where @group_io */
	u64	length;		/* bytes */
	u32	member;	/* index in the member table; of the group's first place where @group_io */
	u32	tag;		/* to be given back with the result */
	u32	stage;		/* number of the staged payload, when @stage_do says so */
	/* KEEP: byte of the payload where the stage begins; LAST: byte of the stage to begin at */
	u32	stage_offset;
	/* KEEP: the stage to lie behind, if possible; or PROT_NO_STAGE */
	u32	stage_after;
	/* KEEP: bytes of room for this and following stages; 0: no room for others */
	u32	stage_room;
	/*
	 * LAST: bytes of earlier stages written as well, part of @length. Not 0: the I/O has no
	 * runs, and ends with -ESTALE if a stage was dropped
	 */
	u32	stage_back;
	/* payload runs in the caller's array, in order; none for DISCARD, ZEROES and FLUSH */
	u16	nr_runs;
	u8	kind;		/* enum prot_kind */
	u8	flags;		/* PROT_FUA, ... */
	u8	stage_do;	/* enum prot_stage */
	bool	group_io;	/* to be given to the group's engine */
};

enum prot_verdict {
	PROT_IO,		/* @io is to be started; call again */
	PROT_WAIT,		/* nothing more before a result */
	PROT_DONE,		/* over, op.err says how */
};

/* A request in flight; all fields are the op's own but @err. */
struct prot_op {
	u64	start;		/* next byte of the volume to plan, start of the part in hand */
	u64	end;		/* end of the request */
	u64	part_end;	/* end of the part of the request within one segment */
	u64	unit;	/* next unit of @column, within the segment, plus one; 0: its first */
	u32	base;		/* byte of the request's pages where the part begins */
	u32	column;		/* column in hand, counted from that of the part's first byte */
	u32	segment;	/* index */
	u32	out;		/* I/Os started and not ended */
	u32	batch;		/* I/Os of the batch in hand */
	u32	tag;		/* of the next I/O */
	s32	err;		/* the first error, the request's result in the end */
	u8	kind;		/* of the request */
	u8	flags;		/* of the request */
};

struct prot_policy;

/* A level; one file each, linear.c the shortest. */
struct prot_level_ops {
	const char *name;			/* human-readable */
	/*
	 * NULL, or the reason for a wrong shape. @columns, @width and @unit are @groups, 1 and
	 * @strip before, and changed where the level has others
	 */
	const char *(*check)(struct prot_segment *s);
	/* the next I/O of the part in hand, into @io and @runs; false: the part has no more */
	bool (*next)(struct prot_op *op, const struct prot_layout *l,
		     struct prot_io *io, struct prot_run *runs);
	const struct prot_policy *policy;	/* of the level's groups; NULL if @width is 1 */
	/* DISCARD is worth its price: ec writes zeroes of incomplete stripes */
	bool discard;
};

/* The table of levels; NULL for an unknown number. */
const struct prot_level_ops *prot_level(unsigned int level);

/**
 * prot_op_init() - begin an op
 * @op: in the caller's memory
 * @l: a layout that passed its check; it stays the same until the op is over
 * @rq: the request
 *
 * Return: 0; -EINVAL for a request that is not aligned, empty or too long;
 * -EIO beyond the end of the volume.
 */
int prot_op_init(struct prot_op *op, const struct prot_layout *l, const struct prot_request *rq);

/**
 * prot_single() - the one I/O to one member, or the one read of one group, that a request is
 * @l: as there
 * @rq: as there
 * @io: filled in; its payload, where it has one, is the request's as it is
 *
 * Most requests to levels without redundancy are one I/O, and most reads of other levels. They
 * need no op: the result of the I/O is the request's.
 *
 * Return: false when an op is needed, also for the error of a request that is wrong.
 */
bool prot_single(const struct prot_layout *l, const struct prot_request *rq, struct prot_io *io);

/**
 * prot_op_next() - what to do now
 * @op: the op
 * @l: as given to prot_op_init()
 * @io: filled in when PROT_IO is returned
 * @runs: room for PROT_RUNS_MAX; filled in likewise
 */
enum prot_verdict prot_op_next(struct prot_op *op, const struct prot_layout *l,
			       struct prot_io *io, struct prot_run *runs);

/* The I/O with @tag has ended with @err (0 or negative). */
void prot_op_result(struct prot_op *op, u32 tag, int err);

/**
 * prot_runs_cut() - the buffers of a piece of an I/O
 * @runs: of the whole
 * @nr: how many
 * @from: byte of the I/O where the piece begins
 * @length: of the piece, which lies within the I/O
 * @out: room for PROT_RUNS_MAX
 *
 * A group takes what lies in one of its regions (prot_group_span()), so a group
 * I/O may have to be given to it in pieces.
 *
 * Return: how many runs the piece has.
 */
u32 prot_runs_cut(const struct prot_run *runs, u32 nr, u32 from, u32 length,
		  struct prot_run *out);

extern const struct prot_level_ops prot_linear_ops, prot_stripe_ops;
extern const struct prot_level_ops prot_mirror_ops, prot_raid10_ops, prot_ec_ops;

/* For more than one level: the next I/O of a striped part. */
bool prot_stripe_next(struct prot_op *op, const struct prot_layout *l,
		      struct prot_io *io, struct prot_run *runs);

#endif
