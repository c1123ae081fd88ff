// SPDX-License-Identifier: GPL-2.0-only
/*
 * Staged payloads: the arena blocks of a write are kept with their data, so that a second write of
 * the same bytes, or of some of them, sends only commands.
 *
 *   WRITE with RDDA_IO_STAGE -> io->stage -> WRITE with io->stage -> ... -> put
 *
 *   header  |       cHHHH|             a separate page, free when the command has ended
 *   payload |PPPPPPPPPPPPPPPPPPPP|     kept
 *
 * A stage with room may grow: the next write's payload goes behind the present one (io->behind), in
 * the same block, and one command sends all of them. Each of these I/Os holds a reference to the
 * whole stage.
 *
 *   stage   |AAAA|BBBB|CCCC|c...|....|      room for payloads of whole pages
 *
 * To go in one message with header and payload, the command (c) lies before a header that is right
 * before its payload; otherwise the command lies behind the payload, in the room of the stage, and
 * no payload is placed there before the command has ended.
 *
 * Stages may hold three quarters of a channel's arena: a write that finds no room is an ordinary
 * write, with io->stage left NULL. And a stage is a cache. If other I/O would have to wait for
 * arena, the oldest stage that no command names is dropped; a later use of a dropped stage ends
 * with -ESTALE. I/O that waits for its turn does not hold the memory of its stage: otherwise two
 * I/Os could wait for each other's memory.
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

/* Set up the stages of a channel. Sleeps. Return: 0 or -ENOMEM. */
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

/* Arena pages for @len bytes of commands' payload, at most. */
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

/* Try to place @bytes behind the payload of io->behind. Return: true if the stage allows that. */
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

/*
 * Bytes of room for a new stage: one block, for payloads of whole pages with one command each. 0:
 * none.
 */
static u32 stage_room(struct rdda_chan *ch, const struct rdda_io *io, u32 bytes)
{
	u32 room = min(io->stage_room, RDDA_PAGE << ch->arena.max_order);

	if (bytes % RDDA_PAGE || room < bytes + RDDA_PAGE)
		return 0;
	return stage_fits(ch, stage_pages(ch, room)) ? room : 0;
}

/*
 * Try to have a write's payload kept. @ch: channel, locked. @io: about to be issued. @most: largest
 * payload of a command.
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

/*
 * Keep the payload neither behind another one nor separately: an ordinary write. @slot: its
 * command; the channel is locked. Return: -ENOENT.
 */
static int stage_alone(struct rdda_cmd_slot *slot, struct rdda_io *io)
{
	io->behind = NULL;
	io->stage_room = 0;
	io->stage_at = STAGE_NOWHERE;
	slot->has_arena = true;
	return -ENOENT;
}

/*
 * True if the room left behind an appended payload holds a command. The first payload always has
 * that room.
 */
static bool stage_tail(const struct rdda_stage *st, const struct rdda_io *io)
{
	return st->room - io->stage_at - (io->len - io->stage_offset) >= sizeof(struct rdda_cmd);
}

/*
 * True if the command may go in one message with its payload, behind the payload. @slot: has a
 * tail; its channel is locked. False if another write's payload was placed behind this one
 * meanwhile: the command would lie in the same place.
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

/*
 * Bytes of a command's arena block. @bytes: of the payload; a payload that may be kept gets the
 * stage's room.
 */
u32 rdda_stage_block(const struct rdda_cmd_slot *slot, const struct rdda_io_priv *p, u32 bytes)
{
	return slot->head && slot->has_arena && p->staging ? max(bytes, p->staging->room) : bytes;
}

/*
 * Get memory for a command whose payload is to be kept: behind another payload, or with room for
 * more. @slot: of a write with a header; has a tail if possible; its channel is locked. Return: 0;
 * -ENOENT: neither is possible; -ENOMEM.
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
		/* keep room only if one command carries the write, and such a block is free */
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
 * Try to keep a command's arena block in a stage. @slot: command that succeeded; its channel is
 * locked. Return: true if the stage has the block now; false: the caller frees the block.
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

/* Drop the memory of a stage that no command names. Channel locked. */
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

/* Let I/O that waits for arena pages try again. Channel locked. */
static void stage_wake(struct rdda_chan *ch)
{
	if (ch->open && !list_empty(&ch->queues.turns))
		rdda_sq_later(ch);
}

/* Add a kept stage, named by no command, to the idle ones. Channel locked. */
static void stage_idle(struct rdda_stage *st)
{
	list_add_tail(&st->node, &st->ch->stage.idle);
	st->ch->stage.idle_pages += st->pages;
	stage_wake(st->ch);
}

/* End a stage without users and commands. Channel locked. */
static void stage_end(struct rdda_stage *st)
{
	struct rdda_chan *ch = st->ch;

	stage_forget(st);
	list_add(&st->node, &ch->stage.free);
	stage_wake(ch);
}

/*
 * Drop a reference. Channel locked. Return: the session, for the caller to put after the unlock, or
 * NULL.
 */
static struct rdda_session *stage_unref(struct rdda_stage *st)
{
	if (--st->refs)
		return NULL;
	/* commands in flight need no session reference: their channel lives until they end */
	if (!st->users)
		stage_end(st);
	return st->s;
}

/*
 * Drop the oldest stage that no command names. @ch: locked; its arena has no room. Return: false
 * when there was none.
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

/* Fault point: true if a test wants this stage dropped. */
static bool stage_fails(struct rdda_chan *ch)
{
#ifdef MESH_FAULTS
	return rdda_fault(RDDA_FAULT_STALE) && !(++ch->stage.tries % 7);
#else
	return false;
#endif
}

/*
 * Begin the use of a staged payload by an I/O. @ch: the stage's channel, locked. @io: has a stage
 * of this session. Return: 0; -ESTALE if the stage was dropped; -EINVAL if the I/O does not write a
 * part of the payload.
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
 * Find the part of its stage that an I/O's next command sends. @off: set to the arena offset of the
 * part. Return: bytes of the part, 0 if the stage was dropped.
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

/* Note that a command names a staged payload. @slot: its channel is locked. */
void rdda_stage_take(struct rdda_cmd_slot *slot, struct rdda_stage *st)
{
	lockdep_assert_held(&slot->ch->lock);
	slot->stage = st;
	if (st->users++)
		return;
	list_del_init(&st->node);
	st->ch->stage.idle_pages -= st->pages;
}

/*
 * Keep the payload of an I/O that ended well. Return: true if the stage now holds the payload;
 * channel locked.
 */
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
	/* the payload before has not failed, and the stage was not dropped */
	if (!st->kept || st->bytes != io->stage_at)
		return false;
	st->bytes += io->len - io->stage_offset;
	st->len[0] = st->bytes;
	return true;
}

/* Note the end of a command that names a staged payload. @slot: its channel is locked. */
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

/*
 * End an I/O's use of a stage, for keeping or sending a payload. @io: any; its channel is not
 * locked.
 */
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

/* Take one more reference to a stage; see rdda.h. @st: as io->stage gave it. */
void rdda_stage_get(struct rdda_stage *st)
{
	unsigned long flags;

	spin_lock_irqsave(&st->ch->lock, flags);
	st->refs++;
	spin_unlock_irqrestore(&st->ch->lock, flags);
}

/* Put a reference to a stage; see rdda.h. @st: as io->stage gave it, or NULL. */
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
