/* SPDX-License-Identifier: GPL-2.0-only */
/* Staged payloads: kept in the arena, to be sent again. */
#ifndef RDDA_CLIENT_STAGE_H
#define RDDA_CLIENT_STAGE_H

#include <linux/list.h>
#include <linux/types.h>

struct rdda_chan;
struct rdda_io;
struct rdda_io_priv;
struct rdda_session;
struct rdda_cmd_slot;

#define RDDA_STAGES		256	/* staged payloads per channel */
#define RDDA_STAGE_CMDS		8

/* A payload kept in the arena; under its channel's lock. */
struct rdda_stage {
	struct list_head node;		/* in stage.free or stage.idle of its channel */
	struct rdda_session *s;		/* a counted reference, until @refs is 0 */
	struct rdda_chan *ch;		/* channel whose arena part holds the payload */
	u32	off[RDDA_STAGE_CMDS];	/* arena blocks, one for each command of the write */
	u32	len[RDDA_STAGE_CMDS];	/* payload bytes in each block */
	unsigned int nr;		/* number of blocks */
	u32	bytes;			/* bytes of the whole payload */
	u32	room;			/* bytes of the one block, if more may follow; or 0 */
	u32	tail;			/* bytes of @room in use, also by I/O in flight */
	u32	pages;			/* arena pages counted for the stage */
	u32	refs;			/* owners of a reference, and I/O about to send it */
	u32	users;			/* commands that name the stage: the memory stays */
	bool	kept;			/* the stage has its memory; false: dropped */
	const struct rdda_cmd_slot *cmd; /* slot with its command at @tail, or NULL */
};

int rdda_stage_setup(struct rdda_chan *ch);
void rdda_stage_begin(struct rdda_chan *ch, struct rdda_io *io, u32 most);
bool rdda_stage_keep(struct rdda_cmd_slot *slot);
void rdda_stage_finish(struct rdda_io *io);
int rdda_stage_use(struct rdda_chan *ch, struct rdda_io *io);
u32 rdda_stage_part(const struct rdda_io *io, u32 *off);
void rdda_stage_take(struct rdda_cmd_slot *slot, struct rdda_stage *st);
void rdda_stage_release(struct rdda_cmd_slot *slot);
bool rdda_stage_inline(const struct rdda_cmd_slot *slot);
bool rdda_stage_drop(struct rdda_chan *ch);
u32 rdda_stage_block(const struct rdda_cmd_slot *slot, const struct rdda_io_priv *p, u32 bytes);
int rdda_stage_memory(struct rdda_cmd_slot *slot, struct rdda_io *io, u32 bytes);

#endif
