// SPDX-License-Identifier: GPL-2.0-only
/*
 * Staged payloads: the arena blocks of a write are kept, with what is in them,
 * so that a second write of the same bytes sends only commands.
 *
 *   WRITE with RDDA_IO_STAGE -> io->stage -> WRITE with io->stage -> ... -> put
 *
 * They may hold half of a channel's arena at most: a write that finds no room
 * is an ordinary one, with io->stage left NULL.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/slab.h>

#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/stage.h"
#include "rdda/wire.h"

/* Channel set-up; sleeps. */
int rdda_stage_setup(struct rdda_chan *ch)
{
	unsigned int i;

	INIT_LIST_HEAD(&ch->stage.free);
	ch->stage.all = kvcalloc(RDDA_STAGES, sizeof(*ch->stage.all), GFP_KERNEL);
	if (!ch->stage.all)
		return -ENOMEM;
	for (i = 0; i < RDDA_STAGES; i++) {
		ch->stage.all[i].ch = ch;
		list_add_tail(&ch->stage.all[i].node, &ch->stage.free);
	}
	return 0;
}

/* Pages that an I/O's commands take from the arena, at most. */
static u32 stage_pages(struct rdda_chan *ch, u32 len)
{
	u32 most = RDDA_PAGE << ch->arena.max_order, n = len / most;
	u32 rest = len % most;

	return (n << ch->arena.max_order) + (rest ? 1U << rdda_buddy_order(rest) : 0);
}

/* Try to have a write's payload kept. @ch: channel, locked. @io: about to be issued. */
void rdda_stage_begin(struct rdda_chan *ch, struct rdda_io *io)
{
	u32 pages = stage_pages(ch, io->len);
	struct rdda_stage *st;

	lockdep_assert_held(&ch->lock);
	st = list_first_entry_or_null(&ch->stage.free, struct rdda_stage, node);
	if (!st || ch->stage.pages + pages > ch->arena.buddy.pages / 2 ||
	    DIV_ROUND_UP(io->len, RDDA_PAGE << ch->arena.max_order) > RDDA_STAGE_CMDS)
		return;
	list_del_init(&st->node);
	kref_get(&ch->s->ref);
	st->s = ch->s;
	st->nr = 0;
	st->bytes = io->len;
	st->pages = pages;
	st->users = 0;
	st->dropped = false;
	memset(st->len, 0, sizeof(st->len));
	ch->stage.pages += pages;
	rdda_io_priv(io)->staging = st;
}

/*
 * Whether a staged payload keeps this command's arena block. @slot: command that succeeded; its
 * channel is locked.
 */
bool rdda_stage_keep(struct rdda_cmd_slot *slot)
{
	struct rdda_stage *st = rdda_io_priv(slot->io)->staging;

	if (!st || slot->part >= RDDA_STAGE_CMDS)
		return false;
	st->off[slot->part] = slot->arena;
	st->len[slot->part] = slot->len;
	st->nr++;
	return true;
}

/* Channel locked; the caller drops the reference to the session. */
static void stage_free(struct rdda_stage *st)
{
	struct rdda_chan *ch = st->ch;
	unsigned int i;

	lockdep_assert_held(&ch->lock);
	for (i = 0; i < RDDA_STAGE_CMDS; i++)
		if (st->len[i])
			rdda_arena_free(ch, st->off[i]);
	ch->stage.pages -= st->pages;
	list_add(&st->node, &ch->stage.free);
	/* I/O that waits for arena pages is sent from there. */
	if (ch->open && !list_empty(&ch->queues.turns))
		rdda_sq_later(ch);
}

/*
 * An I/O sends a staged payload. @ch: the stage's channel, locked. @io: with a stage of this
 * session. Return: 0, or -EINVAL when it is no write of exactly that payload.
 */
int rdda_stage_use(struct rdda_chan *ch, struct rdda_io *io)
{
	lockdep_assert_held(&ch->lock);
	if (io->op != RDDA_WRITE || io->len != io->stage->bytes)
		return -EINVAL;
	io->stage->users++;
	return 0;
}

/* An I/O that keeps or sends a staged payload has ended. @io: any; its channel is not locked. */
void rdda_stage_finish(struct rdda_io *io)
{
	struct rdda_io_priv *p = rdda_io_priv(io);
	struct rdda_stage *st = p->staging ?: io->stage;
	struct rdda_session *s = NULL;
	unsigned long flags;

	if (!st)
		return;
	spin_lock_irqsave(&st->ch->lock, flags);
	if (!p->staging) {
		if (!--st->users && st->dropped)
			s = st->s;
	} else if (io->err || st->nr != p->cmds) {
		s = st->s;
	} else {
		io->stage = st;
	}
	if (s)
		stage_free(st);
	spin_unlock_irqrestore(&st->ch->lock, flags);
	p->staging = NULL;
	if (s)
		rdda_session_put(s);
}

/* Give a staged payload's memory back; see rdda.h. @st: as io->stage gave it, or NULL. */
void rdda_stage_put(struct rdda_stage *st)
{
	struct rdda_session *s = NULL;
	unsigned long flags;

	if (!st)
		return;
	spin_lock_irqsave(&st->ch->lock, flags);
	if (st->users) {
		st->dropped = true;
	} else {
		s = st->s;
		stage_free(st);
	}
	spin_unlock_irqrestore(&st->ch->lock, flags);
	if (s)
		rdda_session_put(s);
}
