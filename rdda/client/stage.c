// SPDX-License-Identifier: GPL-2.0-only
/*
 * Staged payloads: the arena blocks of a write are kept, with what is in them,
 * so that a second write of the same bytes, or of some of them, sends only commands.
 *
 *   WRITE with RDDA_IO_STAGE -> io->stage -> WRITE with io->stage -> ... -> put
 *
 *   header  |    ....HHHH|             a page by itself, free when the command has ended
 *   payload |PPPPPPPPPPPPPPPPPPPP|     kept
 *
 * They may hold three quarters of a channel's arena at most: a write that finds no room
 * is an ordinary one, with io->stage left NULL. And a stage is a cache. What no command names
 * is dropped, the oldest first, where other I/O would have to wait for arena; its use ends with
 * -ESTALE then. I/O that waits for its turn does not hold the memory of its stage: what it waits
 * for may wait for that.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/slab.h>

#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/stage.h"
#include "rdda/common/fault.h"
#include "rdda/wire.h"

/* Channel set-up; sleeps. */
int rdda_stage_setup(struct rdda_chan *ch)
{
	unsigned int i;

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
	u32 bytes = io->len - io->stage_offset, pages = stage_pages(ch, bytes);
	struct rdda_stage *st;

	lockdep_assert_held(&ch->lock);
	st = list_first_entry_or_null(&ch->stage.free, struct rdda_stage, node);
	if (!st || ch->stage.pages + pages > ch->arena.buddy.pages / 4 * 3 ||
	    DIV_ROUND_UP(bytes, RDDA_PAGE << ch->arena.max_order) > RDDA_STAGE_CMDS)
		return;
	list_del_init(&st->node);
	kref_get(&ch->s->ref);
	st->s = ch->s;
	st->nr = 0;
	st->bytes = bytes;
	st->pages = pages;
	st->refs = 1;
	st->users = 0;
	st->kept = true;
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
	st->len[slot->part] = slot->len - slot->head;
	st->nr++;
	return true;
}

/* Nothing is to be sent from it, and nothing names it. Channel locked. */
static void stage_forget(struct rdda_stage *st)
{
	struct rdda_chan *ch = st->ch;
	unsigned int i;

	lockdep_assert_held(&ch->lock);
	if (!st->kept)
		return;
	if (!list_empty(&st->node)) {
		list_del_init(&st->node);
		ch->stage.idle_pages -= st->pages;
	}
	for (i = 0; i < RDDA_STAGE_CMDS; i++)
		if (st->len[i])
			rdda_arena_free(ch, st->off[i]);
	ch->stage.pages -= st->pages;
	st->kept = false;
}

/* I/O that waits for arena pages may have them now. Channel locked. */
static void stage_wake(struct rdda_chan *ch)
{
	if (ch->open && !list_empty(&ch->queues.turns))
		rdda_sq_later(ch);
}

/* It has its memory, and no command names that. Channel locked. */
static void stage_idle(struct rdda_stage *st)
{
	list_add_tail(&st->node, &st->ch->stage.idle);
	st->ch->stage.idle_pages += st->pages;
	stage_wake(st->ch);
}

/* No user knows it, and no command names it. Channel locked. */
static void stage_end(struct rdda_stage *st)
{
	struct rdda_chan *ch = st->ch;

	stage_forget(st);
	list_add(&st->node, &ch->stage.free);
	stage_wake(ch);
}

/* Channel locked. Return: its session, for the caller to put unlocked, or NULL. */
static struct rdda_session *stage_unref(struct rdda_stage *st)
{
	if (--st->refs)
		return NULL;
	/* commands that are in flight have a channel that lives */
	if (!st->users)
		stage_end(st);
	return st->s;
}

/*
 * Drop the oldest that no command names. @ch: locked; its arena has no room. Return: whether
 * there was one.
 */
bool rdda_stage_drop(struct rdda_chan *ch)
{
	struct rdda_stage *st;

	lockdep_assert_held(&ch->lock);
	st = list_first_entry_or_null(&ch->stage.idle, struct rdda_stage, node);
	if (st)
		stage_forget(st);
	return st;
}

/* Whether a test wants this one dropped. */
static bool stage_fails(struct rdda_chan *ch)
{
#ifdef MESH_FAULTS
	return rdda_fault(RDDA_FAULT_STALE) && !(++ch->stage.tries % 7);
#else
	return false;
#endif
}

/*
 * An I/O is to send a staged payload. @ch: the stage's channel, locked. @io: with a stage of this
 * session. Return: 0; -ESTALE where that was dropped; -EINVAL when it is no write of a part of it.
 */
int rdda_stage_use(struct rdda_chan *ch, struct rdda_io *io)
{
	struct rdda_stage *st = io->stage;

	lockdep_assert_held(&ch->lock);
	if (io->op != RDDA_WRITE || io->stage_offset > st->bytes ||
	    io->len > st->bytes - io->stage_offset)
		return -EINVAL;
	if (stage_fails(ch) && !st->users)
		stage_forget(st);
	if (!st->kept)
		return -ESTALE;
	st->refs++;
	return 0;
}

/*
 * What the next command of an I/O sends of its stage. @off: set to where that begins in the arena.
 * Return: its bytes, 0 where the stage was dropped.
 */
u32 rdda_stage_part(const struct rdda_io *io, u32 *off)
{
	const struct rdda_stage *st = io->stage;
	u32 at = io->stage_offset + io->issued;
	unsigned int i;

	if (!st->kept)
		return 0;
	for (i = 0; at >= st->len[i]; i++)
		at -= st->len[i];
	*off = st->off[i] + at;
	return min(st->len[i] - at, io->len - io->issued);
}

/* A command names a staged payload. @slot: its channel is locked. */
void rdda_stage_take(struct rdda_cmd_slot *slot, struct rdda_stage *st)
{
	lockdep_assert_held(&slot->ch->lock);
	slot->stage = st;
	if (st->users++)
		return;
	list_del_init(&st->node);
	st->ch->stage.idle_pages -= st->pages;
}

/* A command that names a staged payload has ended. @slot: its channel is locked. */
void rdda_stage_release(struct rdda_cmd_slot *slot)
{
	struct rdda_stage *st = slot->stage;

	lockdep_assert_held(&slot->ch->lock);
	slot->stage = NULL;
	if (--st->users)
		return;
	if (st->refs)
		stage_idle(st);
	else
		stage_end(st);
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
	if (p->staging && !io->err && st->nr == p->cmds) {
		stage_idle(st);
		io->stage = st;
	} else {
		s = stage_unref(st);
	}
	spin_unlock_irqrestore(&st->ch->lock, flags);
	p->staging = NULL;
	if (s)
		rdda_session_put(s);
}

/* Give a staged payload's memory back; see rdda.h. @st: as io->stage gave it, or NULL. */
void rdda_stage_put(struct rdda_stage *st)
{
	struct rdda_session *s;
	unsigned long flags;

	if (!st)
		return;
	spin_lock_irqsave(&st->ch->lock, flags);
	s = stage_unref(st);
	spin_unlock_irqrestore(&st->ch->lock, flags);
	if (s)
		rdda_session_put(s);
}
