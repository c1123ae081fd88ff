/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of the target's arena, and the bounce blocks of pushed reads. */
#ifndef RDDA_CLIENT_ARENA_H
#define RDDA_CLIENT_ARENA_H

#include "rdda/client/channel.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"

int rdda_arena_check(struct rdda_session *s);
int rdda_arena_setup(struct rdda_chan *ch);
int rdda_arena_alloc(struct rdda_chan *ch, u32 bytes, u32 *off);
int rdda_arena_alloc_headed(struct rdda_chan *ch, struct rdda_cmd_slot *slot, u32 bytes);
void rdda_arena_free(struct rdda_chan *ch, u32 off);
const struct rdda_piece *rdda_arena_piece(struct rdda_session *s, u32 off);
/*
 * True if at most one drive has had extents opened in the session. @ch: any channel of the session.
 */
static inline bool rdda_chan_alone(const struct rdda_chan *ch)
{
	return READ_ONCE(ch->s->queues.nr) < 2;
}

/* Number of a pushed read's bounce block within the channel's part. */
static inline unsigned int rdda_bounce_block(const struct rdda_cmd_slot *slot)
{
	return (slot->bounce - slot->ch->bounce.off) / slot->ch->s->bounce.push_bytes;
}

bool rdda_bounce_take(struct rdda_chan *ch, struct rdda_cmd_slot *slot);
void rdda_bounce_give(struct rdda_cmd_slot *slot);
int rdda_bounce_setup(struct rdda_session *s, struct rdda_chan *ch);
void rdda_bounce_free(struct rdda_session *s);
void rdda_bounce_copy(struct rdda_cmd_slot *slot);

#endif
