/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command: its states, its memory, and the I/O that the command is a part of.
 *
 *   FREE -> PENDING -> FLIGHT --------> COPY --------------> FREE   pushed read
 *                         |-----------> READ (reads.todo,
 *                         |                   then posted) -> FREE   other read
 *                         '-----------> SQ_WAIT (until the send
 *                                       completion came)    -> FREE   the rest
 *
 * Made in io.c, sent in batch.c, completed in complete.c, given up in abandon.c.
 */
#ifndef RDDA_CLIENT_IO_H
#define RDDA_CLIENT_IO_H

#include "rdda/common/verbs.h"
#include "rdda/rdda.h"

struct rdda_chan;
struct rdda_session;
struct rdda_stage;

/* A place in a mapped scatterlist. */
struct rdda_cursor {
	struct scatterlist *sg;
	u32 off;
};

/* RDDA's part of struct rdda_io (@private). */
struct rdda_io_priv {
	struct rdda_chan *ch;		/* channel of the I/O */
	struct rdda_drive_queue *dq;	/* queue of the I/O's drive in @ch */
	struct rdda_cursor cur;		/* where the next command's payload begins */
	u32 mapped;			/* DMA-mapped entries, 0: not mapped */
	u32 cmds;
	struct rdda_stage *staging;	/* payload being kept, for RDDA_IO_STAGE */
};

static inline struct rdda_io_priv *rdda_io_priv(struct rdda_io *io)
{
	BUILD_BUG_ON(sizeof(struct rdda_io_priv) > sizeof(io->private));
	return (struct rdda_io_priv *)io->private;
}

/*
 * Commands and memory of one drive in a channel; under the channel's lock. Drives share command
 * slots, credits and arena by rdda_share_may(): a drive that hangs keeps only its part, and the
 * others go on with theirs, also drives with extents opened later.
 */
struct rdda_drive_queue {
	struct list_head waiting;	/* I/O with commands still to be made, oldest first */
	struct list_head turn;		/* in rdda_chan.queues.turns while I/O waits */
	u16	cmds;			/* commands that have not ended */
	u16	credits;	/* held by messages that begin with a command of this drive */
	u32	pages;			/* arena pages held by the drive's commands */
};

enum rdda_cmd_slot_state {
	RDDA_SLOT_FREE,
	RDDA_SLOT_PENDING,	/* built, not sent */
	RDDA_SLOT_FLIGHT,	/* sent; the only state that takes a completion */
	RDDA_SLOT_COPY,		/* pushed data is being copied out */
	RDDA_SLOT_READ,		/* completed; the data is to be READ */
	RDDA_SLOT_SQ_WAIT,	/* completed; waits for the send completion of the WRITEs */
};

/* A command slot and its command; all under the channel's lock. */
struct rdda_cmd_slot {
	struct rdda_chan *ch;		/* channel of the slot */
	struct rdda_io *io;	/* I/O of the command; NULL: free, or abandoned */
	/*
	 * extent of the command, also after its I/O was abandoned: compared, never followed; NULL
	 * when free, or when the extent has gone
	 */
	struct rdda_extent *extent;
	struct rdda_drive_queue *dq;	/* queue of the command's drive */
	struct list_head node;		/* on pending.cmds, reads.todo or poll.waiting */
	struct ib_cqe read_cqe;		/* handler of the READs' completion */
	struct rdda_cursor at;		/* payload's place in the I/O's scatterlist */
	u32	io_off;			/* the same place, in bytes of the I/O */
	u32	len;	/* bytes of the payload; discard, zeroing: bytes of the range */
	u32	arena;			/* offset of its arena block, or within a stage's */
	struct rdda_stage *stage;	/* stage with the payload, or NULL */
	u32	head;			/* payload bytes at the end of a page before @arena */
	u32	head_page;		/* with @head: offset of the page, a block to be freed */
	u32	bounce;			/* offset of the bounce block */
	u32	wrs;			/* WRITEs that the payload takes */
	/* number of the signalled request whose completion covers the WRITEs */
	u32	seq;
	u32	read_left;		/* bytes not yet READ */
	u16	read_out;		/* signalled READs posted */
	u16	batch;			/* message that carried the command */
	u16	batch_gen;		/* that message's generation */
	u16	part;			/* index among the commands of its I/O */
	u16	pages;			/* arena pages charged to the drive queue */
	u16	idx;			/* number of the slot */
	u8	gen;			/* changes with each use */
	u8	state;			/* enum rdda_cmd_slot_state */
	u8	opcode;			/* enum rdda_opcode */
	bool	has_arena;		/* @arena is the command's own block, to be freed */
	bool	tail;			/* room for the command right beside the payload */
	bool	one_run;		/* @head_page is right before @arena, in its piece */
	bool	data;			/* the command has a payload to WRITE */
	bool	push;			/* a pushed read */
	int	err;			/* outcome */
};

/* io.c */
void rdda_chan_run(struct rdda_chan *ch, struct list_head *ended);
void rdda_chan_flush(struct rdda_chan *ch);

/* gather.c */
void rdda_gather_init(struct rdda_chan *ch);
void rdda_gather_stop(struct rdda_chan *ch);
void rdda_gather_held(struct rdda_chan *ch);
bool rdda_gather_late(const struct rdda_chan *ch);
bool rdda_gather_expects(const struct rdda_chan *ch);
bool rdda_gather_waits(struct rdda_chan *ch);
void rdda_gather_ended(struct rdda_chan *ch);
void rdda_gather_sent(struct rdda_chan *ch);

/* io_end.c */
static inline enum dma_data_direction rdda_io_dir(const struct rdda_io *io)
{
	return io->op == RDDA_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

void rdda_io_unmap(struct rdda_chan *ch, struct rdda_io *io);
void rdda_cmd_slot_free(struct rdda_cmd_slot *slot, int err, struct list_head *ended);
void rdda_io_drop(struct rdda_io *io, int err, struct list_head *ended);
void rdda_ios_end(struct list_head *ended);
unsigned int rdda_cursor_fill(struct rdda_cursor *cur, u32 bytes, struct ib_sge *sge,
			      unsigned int max, u32 lkey, u32 *done);

/* abandon.c */
void rdda_chan_close(struct rdda_chan *ch, struct list_head *ended);
void rdda_chan_fail_all(struct rdda_chan *ch, struct list_head *ended);
void rdda_chan_abandon(struct rdda_chan *ch, struct rdda_extent *e, struct list_head *ended);
void rdda_chan_fail_extent(struct rdda_chan *ch, struct rdda_extent *e, int err,
			   struct list_head *ended);
bool rdda_chan_uses(struct rdda_chan *ch, struct rdda_extent *e, bool *io);
bool rdda_chan_has(struct rdda_chan *ch, struct rdda_extent *e);
void rdda_chan_forget(struct rdda_chan *ch, const struct rdda_extent *e);
bool rdda_session_settled(struct rdda_session *s);

/* batch.c */
u32 rdda_inline_head(const struct rdda_cmd_slot *slot);
bool rdda_batch_post(struct rdda_chan *ch);
void rdda_batch_back(struct rdda_chan *ch, u16 idx);

/* complete.c */
void rdda_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void rdda_reads_run(struct rdda_chan *ch);

#endif
