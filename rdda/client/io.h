/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command: its states, its memory, and the I/O that it is a part of.
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

/* Ours inside struct rdda_io (its @private). */
struct rdda_io_priv {
	struct rdda_chan *ch;		/* channel that carries it */
	struct rdda_drive_queue *dq;	/* of its drive in @ch */
	struct rdda_cursor cur;		/* where its next command's payload begins */
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
 * What one drive has of a channel; under the channel's lock. Drives share command slots, credits
 * and arena by rdda_share_may(): one that hangs keeps its part, and the others go on with theirs,
 * also those that are opened later.
 */
struct rdda_drive_queue {
	struct list_head waiting;	/* I/O with commands still to be made, oldest first */
	struct list_head turn;		/* in rdda_chan.queues.turns while there is some */
	u16	cmds;			/* commands that have not ended */
	u16	credits;	/* held by messages that begin with a command of this drive */
	u32	pages;			/* of the arena, held by its commands */
};

enum rdda_cmd_slot_state {
	RDDA_SLOT_FREE,
	RDDA_SLOT_PENDING,	/* built, not sent */
	RDDA_SLOT_FLIGHT,	/* sent; the only state that takes a completion */
	RDDA_SLOT_COPY,		/* pushed data is being copied out */
	RDDA_SLOT_READ,		/* completed; its data is to be READ */
	RDDA_SLOT_SQ_WAIT,	/* completed; the send completion of its WRITEs is pending */
};

/* Room for one command, and that command; all under its channel's lock. */
struct rdda_cmd_slot {
	struct rdda_chan *ch;		/* its channel */
	struct rdda_io *io;	/* what it is a part of; NULL: no I/O waits for it any more */
	/*
	 * of @io, also when that was abandoned: to be compared only; NULL when free, or when the
	 * extent has gone
	 */
	struct rdda_extent *extent;
	struct rdda_drive_queue *dq;	/* of its drive */
	struct list_head node;		/* on pending.cmds, reads.todo or poll.waiting */
	struct ib_cqe read_cqe;		/* send completion of its READs */
	struct rdda_cursor at;		/* where its payload lies in the I/O's scatterlist */
	u32	io_off;			/* the same in bytes of the I/O */
	u32	len;	/* payload bytes; of discard and zeroing, bytes of the range */
	u32	arena;			/* offset of its arena block, or in one of a stage */
	struct rdda_stage *stage;	/* whose payload it sends */
	u32	head;			/* bytes of it at the end of a page before @arena */
	u32	head_page;		/* offset of that page, a block by itself */
	u32	bounce;			/* offset of its bounce block */
	u32	wrs;			/* WRITEs that its payload takes */
	/* of the signalled request whose completion says that its WRITEs are done */
	u32	seq;
	u32	read_left;		/* bytes not yet READ */
	u16	read_out;		/* signalled READs posted */
	u16	batch;			/* message it went with */
	u16	batch_gen;		/* that message's generation */
	u16	part;			/* which command of its I/O it is */
	u16	pages;			/* of the arena that its drive queue counts for it */
	u16	idx;			/* its number */
	u8	gen;			/* changes with each use */
	u8	state;			/* enum rdda_cmd_slot_state */
	u8	opcode;			/* enum rdda_opcode */
	bool	has_arena;		/* @arena is its own, to be freed, and @head_page */
	bool	tail;			/* there is room for the command right beside the payload */
	bool	one_run;		/* that page is the one before @arena, in the same piece */
	bool	data;			/* has its own payload to WRITE */
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
