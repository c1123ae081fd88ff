/* SPDX-License-Identifier: GPL-2.0-only */
/* A command in flight. */
#ifndef TGT_CMD_H
#define TGT_CMD_H

#include <linux/bio.h>
#include <linux/llist.h>

#include "rdda/wire.h"

struct rdda_buf;
struct tgt_channel;
struct tgt_view;

#define TGT_VECS		6	/* runs, cut where pieces end */

/* A command in flight; preallocated with its channel. */
struct tgt_cmd {
	struct bio		bio;		/* I/O that the device does now */
	struct bio_vec		vec[TGT_VECS];	/* of @bio */
	struct llist_node	done;		/* in tgt_channel.cmd.done or .free */
	/* in tgt_sdrive.queue, tgt_drive.slow or tgt_channel.tx.pend */
	struct list_head	node;
	struct tgt_channel	*ch;		/* channel of the command */
	/* view under which the command was admitted; put last, at the end of the last bio */
	struct tgt_view		*view;
	struct rdda_parsed	p;		/* the parsed request */
	u16			status;		/* enum rdda_status, once ended */
	/* all of a discard or zeroing is done; the flush makes the result durable */
	bool			flushing;
	/* pages of zeroes are written, since the device does not zero */
	bool			by_pages;
	sector_t		at;		/* next sector of a discard or zeroing */
	sector_t		left;		/* sectors left of a discard or zeroing */
	sector_t		step;		/* sectors that the bio zeroes */
	u32			cost;		/* bytes added to tgt_drive.inflight */
	bool			taken;		/* @cost is counted in tgt_sdrive.taken, too */
};

int tgt_cmds_msg(struct tgt_channel *ch, struct rdda_buf *rb);
int tgt_inline_msg(struct tgt_channel *ch, struct rdda_buf *rb, u32 imm, u32 len);
void tgt_cmd_submit(struct tgt_cmd *c);
void tgt_cmd_abort(struct tgt_cmd *c);
void tgt_cmd_step(struct tgt_cmd *c);
int tgt_cmd_init(void);
void tgt_cmd_exit(void);

#endif
