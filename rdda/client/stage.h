/* SPDX-License-Identifier: GPL-2.0-only */
/* Payloads that stay in the arena, to be sent again. */
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

/* A payload that stays in the arena; under its channel's lock. */
struct rdda_stage {
	struct list_head node;		/* in stage.free or stage.idle of its channel */
	struct rdda_session *s;		/* holds a reference, while it has @refs */
	struct rdda_chan *ch;		/* whose arena part it is in */
	u32	off[RDDA_STAGE_CMDS];	/* arena blocks, one for each command that wrote it */
	u32	len[RDDA_STAGE_CMDS];	/* their payload */
	unsigned int nr;		/* how many */
	u32	bytes;			/* all of it */
	u32	room;			/* of its one block, for more behind it; or 0 */
	u32	tail;			/* bytes of @room that are taken, some by I/O in flight */
	u32	pages;			/* of the arena that are counted for it */
	u32	refs;			/* who was given it, and I/O that is to send it */
	u32	users;			/* commands that name it: its memory stays */
	bool	kept;			/* it has its memory */
	const struct rdda_cmd_slot *cmd; /* whose command lies at @tail, or may; or NULL */
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
