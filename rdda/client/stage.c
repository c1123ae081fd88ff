// SPDX-License-Identifier: GPL-2.0-only
/*
 * Staged payloads: the arena blocks of a write are kept, with what is in them,
 * so that a second write of the same bytes, or of some of them, sends only commands.
 *
 *   WRITE with RDDA_IO_STAGE -> io->stage -> WRITE with io->stage -> ... -> put
 *
 *   header  |       cHHHH|             a page by itself, free when the command has ended
 *   payload |PPPPPPPPPPPPPPPPPPPP|     kept
 *
 * One with room may grow: the next write's payload goes behind it (io->behind), in the same block,
 * and one command sends them all. Each of these I/Os has a reference to the whole.
 *
 *   stage   |AAAA|BBBB|CCCC|c...|....|      room for pages, whole ones each
 *
 * To go in one message with them, the command lies before a header that is right before its payload
 * (c); else behind the payload in that room: nothing is put there before it has ended.
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

#define STAGE_NOWHERE	(~0U)	/* rdda_io.stage_at */

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

static bool stage_fits(struct rdda_chan *ch, u32 pages)
{
	return ch->stage.pages + pages <= ch->arena.buddy.pages / 4 * 3;
}

/* Whether @bytes are kept behind those of io->behind. */
static bool stage_append(struct rdda_chan *ch, struct rdda_io *io, u32 bytes)
{
	struct rdda_stage *st = io->behind;

	if (!st || st->ch != ch || !st->kept || !st->room || st->cmd ||
	    st->tail % RDDA_PAGE || bytes > st->room - st->tail)
		return false;
	st->refs++;
	io->stage_at = st->tail;
	st->tail += bytes;
	rdda_io_priv(io)->staging = st;
	return true;
}

/* What a stage is to have room for: a block of whole pages, for one command each. */
static u32 stage_room(struct rdda_chan *ch, const struct rdda_io *io, u32 bytes)
{
	u32 room = min(io->stage_room, RDDA_PAGE << ch->arena.max_order);

	if (bytes % RDDA_PAGE || room < bytes + RDDA_PAGE)
		return 0;
	return stage_fits(ch, stage_pages(ch, room)) ? room : 0;
}

/*
 * Try to have a write's payload kept. @ch: channel, locked. @io: about to be issued. @most: what a
 * command carries.
 */
void rdda_stage_begin(struct rdda_chan *ch, struct rdda_io *io, u32 most)
{
	u32 bytes = io->len - io->stage_offset, room = 0, pages;
	struct rdda_stage *st;

	lockdep_assert_held(&ch->lock);
	io->stage_at = 0;
	if (io->len <= most) {
		if (stage_append(ch, io, bytes))
			return;
		room = stage_room(ch, io, bytes);
	}
	io->behind = NULL;
	io->stage_room = 0;
	pages = stage_pages(ch, max(bytes, room));
	st = list_first_entry_or_null(&ch->stage.free, struct rdda_stage, node);
	if (!st || !stage_fits(ch, pages) ||
	    DIV_ROUND_UP(bytes, RDDA_PAGE << ch->arena.max_order) > RDDA_STAGE_CMDS)
		return;
	list_del_init(&st->node);
	kref_get(&ch->s->ref);
	st->s = ch->s;
	st->nr = 0;
	st->bytes = bytes;
	st->room = room;
	st->tail = bytes;
	st->pages = pages;
	st->refs = 1;
	st->users = 0;
	st->kept = true;
	st->cmd = NULL;
	memset(st->len, 0, sizeof(st->len));
	ch->stage.pages += pages;
	io->stage_room = room;
	rdda_io_priv(io)->staging = st;
}

/* It is not kept behind another one, nor at all. @slot: its command; the channel is locked. */
static int stage_alone(struct rdda_cmd_slot *slot, struct rdda_io *io)
{
	io->behind = NULL;
	io->stage_room = 0;
	io->stage_at = STAGE_NOWHERE;
	slot->has_arena = true;
	return -ENOENT;
}

/* Whether the room that is left behind a payload holds its command. Of the first one it does. */
static bool stage_tail(const struct rdda_stage *st, const struct rdda_io *io)
{
	return st->room - io->stage_at - (io->len - io->stage_offset) >= sizeof(struct rdda_cmd);
}

/*
 * Whether the command goes in one message with its payload, behind it. @slot: with a tail; its
 * channel is locked. Not behind that of another where a third has come meanwhile, or may be sent
 * first: its payload has the same place.
 */
bool rdda_stage_inline(const struct rdda_cmd_slot *slot)
{
	struct rdda_stage *st = slot->stage;

	lockdep_assert_held(&slot->ch->lock);
	if (!st)
		return true;
	if (st->off[0] + st->tail != slot->arena + slot->len - slot->head)
		return false;
	st->cmd = slot;
	return true;
}

/* Bytes of the block that a command has whose payload is @bytes and may be kept with room. */
u32 rdda_stage_block(const struct rdda_cmd_slot *slot, const struct rdda_io_priv *p, u32 bytes)
{
	return slot->head && slot->has_arena && p->staging ? max(bytes, p->staging->room) : bytes;
}

/*
 * Memory for a command whose payload is to be kept: behind that of another, or with room. @slot: of
 * a write with a head; its channel is locked; has a tail if it may. Return: 0; -ENOENT: neither;
 * -ENOMEM.
 */
int rdda_stage_memory(struct rdda_cmd_slot *slot, struct rdda_io *io, u32 bytes)
{
	struct rdda_stage *st = rdda_io_priv(io)->staging;
	struct rdda_chan *ch = slot->ch;

	if (!st || !st->room || io->stage_at == STAGE_NOWHERE)
		return -ENOENT;
	if (io->behind && (!st->kept || bytes != io->len))
		return stage_alone(slot, io);
	if (!io->behind) {
		/* its command may be one of several, of less */
		if (bytes == io->len && !rdda_arena_alloc_headed(ch, slot, st->room))
			return 0;
		ch->stage.pages -= st->pages - stage_pages(ch, st->bytes);
		st->pages = stage_pages(ch, st->bytes);
		st->room = 0;
		io->stage_room = 0;
		return -ENOENT;
	}
	slot->one_run = false;
	slot->has_arena = false;
	slot->arena = st->off[0] + io->stage_at;
	slot->tail &= stage_tail(st, io);
	return rdda_arena_alloc(ch, RDDA_PAGE, &slot->head_page);
}

/*
 * Whether a staged payload keeps this command's arena block. @slot: command that succeeded; its
 * channel is locked.
 */
bool rdda_stage_keep(struct rdda_cmd_slot *slot)
{
	struct rdda_stage *st = rdda_io_priv(slot->io)->staging;

	if (!st || slot->part >= RDDA_STAGE_CMDS || slot->io->stage_at == STAGE_NOWHERE)
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

/* An I/O whose payload is to be kept has ended well. Return: whether it is; channel locked. */
static bool stage_kept(struct rdda_stage *st, struct rdda_io *io)
{
	if (io->stage_at == STAGE_NOWHERE)
		return false;
	if (!io->behind) {
		if (st->nr != rdda_io_priv(io)->cmds)
			return false;
		stage_idle(st);
		return true;
	}
	/* what is before it has not failed; and all is still there */
	if (!st->kept || st->bytes != io->stage_at)
		return false;
	st->bytes += io->len - io->stage_offset;
	st->len[0] = st->bytes;
	return true;
}

/* A command that names a staged payload has ended. @slot: its channel is locked. */
void rdda_stage_release(struct rdda_cmd_slot *slot)
{
	struct rdda_stage *st = slot->stage;

	lockdep_assert_held(&slot->ch->lock);
	slot->stage = NULL;
	if (st->cmd == slot)
		st->cmd = NULL;
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
	if (p->staging && !io->err && stage_kept(st, io))
		io->stage = st;
	else
		s = stage_unref(st);
	spin_unlock_irqrestore(&st->ch->lock, flags);
	p->staging = NULL;
	if (s)
		rdda_session_put(s);
}

/* See rdda.h. @st: as io->stage gave it. */
void rdda_stage_get(struct rdda_stage *st)
{
	unsigned long flags;

	spin_lock_irqsave(&st->ch->lock, flags);
	st->refs++;
	spin_unlock_irqrestore(&st->ch->lock, flags);
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
