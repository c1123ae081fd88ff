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

/**
 * struct tgt_cmd - a command in flight; preallocated with its channel
 * @bio: what the device is doing for it now
 * @vec: of @bio
 * @ch: where it came from
 * @view: that it was admitted under; put last, at the end of its last bio
 * @p: what it requests
 * @status: enum rdda_status, once ended
 * @queued: waits for its turn
 * @flushing: all of a discard or zeroing is done, and now made durable
 * @by_pages: zeroes are written, the device does not make them
 * @at: next sector of a discard or zeroing
 * @left: sectors left of it
 * @step: sectors that the bio zeroes
 * @cost: bytes it counts for in tgt_drive.inflight
 */
struct tgt_cmd {
	struct bio		bio;
	struct bio_vec		vec[TGT_VECS];
	struct llist_node	done;
	struct list_head	node;
	struct tgt_channel	*ch;
	struct tgt_view		*view;
	struct rdda_parsed	p;
	u16			status;
	bool			flushing;
	bool			by_pages;
	sector_t		at;
	sector_t		left;
	sector_t		step;
	u32			cost;
};

int tgt_cmds_msg(struct tgt_channel *ch, struct rdda_buf *rb);
void tgt_cmd_submit(struct tgt_cmd *c);
void tgt_cmd_abort(struct tgt_cmd *c);
void tgt_cmd_step(struct tgt_cmd *c);
int tgt_cmd_init(void);
void tgt_cmd_exit(void);

#endif
