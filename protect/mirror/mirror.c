// SPDX-License-Identifier: GPL-2.0-only
/*
 * mirror: copies, and the rules for equal copies:
 *
 * M1  The intent bit of the region is durable on a copy before data changes
 *     there. Per copy: each changed copy carries the bit itself.
 * M2  Data to all copies; done when each copy has the data, or is out by an epoch.
 * M3  Bits are cleared lazily, when idle (prot_group_idle()).
 * M4  Attached: the union of the bits goes to all copies first (bitmap.c).
 * M5  A read of a region that is dirty since then first makes all copies equal
 *     at these rows, so no later recovery can answer otherwise.
 *
 * No private copy is taken: a sector whose buffer changes in flight may differ between copies
 * until the sector is written again or repaired by a scrub. No other sector may differ.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

/*
 * Life of an op:
 *
 *   LOCK -+-------------> WRITE
 *         +-------------> READ
 *         '-> BUF -> SYNC_READ -> SYNC_WRITE -.
 *             | ^------next chunk-------------+
 *             |                               'READ  (M5)
 *             '-> SCRUB_READ -> SCRUB_FIX -.
 *                   ^---- next chunk ------'
 *
 * A read failed by one member is served by the others. The scrub's op goes to these rows next and
 * rewrites unreadable sectors; a member that fails the rewrite has failed. If several members
 * cannot read, each another row, a request begins again and makes its rows equal itself, sector by
 * sector.
 */
enum {
	PROT_P_MIRROR_READ = PROT_P_LEVEL,
	PROT_P_MIRROR_WRITE,
	PROT_P_MIRROR_SYNC_READ,	/* reads the content to copy */
	PROT_P_MIRROR_SYNC_WRITE,
	PROT_P_MIRROR_SCRUB_READ,	/* reads all copies, ... */
	PROT_P_MIRROR_SCRUB_FIX,	/* ... and rewrites copies with other content */
	PROT_P_MIRROR_END
};

static const u32 mirror_phases[PROT_P_MIRROR_END] = {
	[PROT_P_LOCK] = PROT_TO(LOCK) | PROT_TO(BUF) | PROT_TO(MIRROR_READ) |
			PROT_TO(MIRROR_WRITE),
	[PROT_P_BUF] = PROT_TO(MIRROR_SYNC_READ) | PROT_TO(MIRROR_SCRUB_READ) |
		       PROT_TO(MIRROR_READ),
	[PROT_P_MIRROR_READ] = PROT_TO(LOCK),
	[PROT_P_MIRROR_SYNC_READ] = PROT_TO(MIRROR_SYNC_WRITE) | PROT_TO(LOCK),
	[PROT_P_MIRROR_SYNC_WRITE] = PROT_TO(MIRROR_SYNC_READ) | PROT_TO(MIRROR_READ),
	[PROT_P_MIRROR_SCRUB_READ] = PROT_TO(MIRROR_SCRUB_READ) | PROT_TO(MIRROR_SCRUB_FIX),
	[PROT_P_MIRROR_SCRUB_FIX] = PROT_TO(MIRROR_SCRUB_READ),
};

/* The answering copy with the shortest queue; of equal ones, the copy of a sequential run. */
static int mirror_pick_source(const struct prot_group *g, const struct prot_gop *op)
{
	u64 from = prot_prompt(g, op, prot_live(g) & ~op->tried, 1);
	int best = -1;
	u32 i;

	for (i = 0; i < g->cfg.width; i++) {
		if (!(from >> i & 1))
			continue;
		if (best < 0 || g->load[i] < g->load[best] ||
		    (g->load[i] == g->load[best] && g->last[i] == op->addr &&
		     g->last[best] != op->addr))
			best = i;
	}
	return best;
}

static bool mirror_dirty_read(const struct prot_group *g, const struct prot_gop *op)
{
	bool unsynced = prot_region_in(g, PROT_SET_UNSYNCED, prot_region_of(g, op->addr));

	if (PROT_MUTANT(BALANCED) || PROT_MUTANT(NO_RESOLVE))
		return false;
	return op->purpose == PROT_FOR_REQUEST && op->kind == PROT_READ &&
	       (unsynced || op->retried) && prot_weight(g->in_sync) > 1;
}

/*
 * Bytes for an op to make equal at a time; at the second try one sector, readable perhaps on one
 * copy alone.
 */
static u32 mirror_chunk(const struct prot_group *g, const struct prot_gop *op)
{
	return min_t(u32, op->length - op->pos, op->retried ? g->cfg.lba : g->cfg.buf_bytes);
}

/* No copy could read the whole request: try once more sector by sector, like unequal copies. */
static void mirror_unreadable(struct prot_group *g, struct prot_gop *op)
{
	if (op->purpose != PROT_FOR_REQUEST || op->retried || prot_weight(prot_live(g)) < 2 ||
	    g->cfg.ro) {
		prot_end(g, op, -EIO);
		return;
	}
	op->retried = 1;
	prot_buf_put(g, op);
	prot_unlock(g, op);
	prot_start(g, op, op->addr, op->length);
}

/* Copies are equal where writes go on, too: the rows are locked. */
static bool mirror_scrub_skips(const struct prot_group *g, const struct prot_gop *op)
{
	return prot_scrub_unsynced(g, prot_region_of(g, op->addr)) || prot_weight(g->in_sync) < 2;
}

static void mirror_skip(struct prot_group *g, struct prot_gop *op)
{
	prot_scrub_compared(g, op, op->length, false);
	prot_end(g, op, 0);
}

static void mirror_begin_write(struct prot_group *g, struct prot_gop *op)
{
	u32 region = prot_region_of(g, op->addr);

	op->targets = prot_targets(g, region);
	prot_mark_missed(g, region, op->targets);
	prot_region(g, region)->users++;
	prot_region_put(g, PROT_SET_RECENT, region);
	if (!prot_region_in(g, PROT_SET_INTENT, region)) {
		prot_region_put(g, PROT_SET_INTENT, region);
		prot_bitmap_touch(g, PROT_INTENT, region);
	}
	prot_phase(g, op, PROT_P_MIRROR_WRITE);
}

static void mirror_end_write(struct prot_group *g, struct prot_gop *op)
{
	prot_region(g, prot_region_of(g, op->addr))->users--;
	prot_end(g, op, op->ok & g->in_sync ? 0 : -EIO);
}

/* The row lock was granted. */
static void mirror_begin(struct prot_group *g, struct prot_gop *op)
{
	if (op->purpose == PROT_FOR_REQUEST && op->kind != PROT_READ)
		mirror_begin_write(g, op);
	else if (op->purpose == PROT_FOR_REQUEST && !mirror_dirty_read(g, op))
		prot_phase(g, op, PROT_P_MIRROR_READ);
	else if (op->purpose == PROT_FOR_SCRUB && mirror_scrub_skips(g, op))
		mirror_skip(g, op);
	else
		prot_phase(g, op, PROT_P_BUF);
}

static void mirror_got_buffer(struct prot_group *g, struct prot_gop *op)
{
	op->chunk = op->purpose == PROT_FOR_SCRUB ? op->length : mirror_chunk(g, op);
	if (op->purpose == PROT_FOR_SCRUB)
		prot_phase(g, op, PROT_P_MIRROR_SCRUB_READ);
	else if (op->purpose == PROT_FOR_REQUEST && !mirror_dirty_read(g, op))
		prot_phase(g, op, PROT_P_MIRROR_READ);	/* synced while the op waited */
	else
		prot_phase(g, op, PROT_P_MIRROR_SYNC_READ);
}

/* Members to copy a chunk to, after the read from @src. */
static u64 mirror_sync_targets(const struct prot_group *g, const struct prot_gop *op)
{
	u32 region = prot_region_of(g, op->addr);
	u64 to = g->in_sync | (prot_targets(g, region) & g->joining);

	if (op->purpose == PROT_FOR_SYNC) {
		const struct prot_hand *h = prot_sync_hand(g, region);

		to = h->copies | (h->slots & prot_absent(g));
	}
	return to & ~PROT_BIT(op->src);
}

/*
 * Copies with a durable intent bit before data goes to @member. A member in sync: the member
 * itself. A joining member: all members in sync or promoted, because an epoch in flight may call
 * promoted members in sync. The bit of a joining member would not count after a crash, and each
 * survivor has to know of the change.
 */
static u64 mirror_bits_first(const struct prot_group *g, u32 member)
{
	bool joining = g->joining >> member & 1;
	u64 survivors = g->in_sync | g->promoting;

	if (PROT_MUTANT(BIT_AFTER) || (PROT_MUTANT(BIT_ONE) && member) ||
	    (PROT_MUTANT(JOIN_FIRST) && joining))
		return 0;
	if (PROT_MUTANT(JOIN_PROMOTED))
		survivors = g->in_sync | (g->promoting & PROT_BIT(member));
	return joining ? survivors : PROT_BIT(member);
}

/* True: data may go to @member now. */
static bool mirror_bit_allows(const struct prot_group *g, const struct prot_gop *op, u32 member)
{
	/*
	 * Resync: the bits were set before the group served, or the copies are
	 * equal by now. Catch-up: missed is set.
	 */
	if (op->purpose != PROT_FOR_REQUEST || op->kind == PROT_READ)
		return true;
	return prot_durable_on(g, prot_region_of(g, op->addr), mirror_bits_first(g, member));
}

static void mirror_private_run(struct prot_event *ev, u32 buf)
{
	ev->runs[0].buffer = PROT_BUFFER_PRIVATE + buf;
}

/* Read from the best untried copy; false: nothing to start. */
static bool mirror_start_read(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length,
			      struct prot_event *ev)
{
	int src;

	if (op->sent)
		return false;
	src = mirror_pick_source(g, op);
	if (PROT_MUTANT(NO_RESOLVE))
		src = prot_live(g) & ~op->tried ? (int)prot_lowest(prot_live(g) & ~op->tried) : -1;
	if (src < 0) {
		mirror_unreadable(g, op);
		return false;
	}
	op->src = src;
	op->sent = PROT_BIT(src);
	g->load[src]++;
	g->last[src] = addr + length;
	prot_io_fill(g, op, src, PROT_READ, addr, length, ev);
	if (op->phase != PROT_P_MIRROR_READ)
		mirror_private_run(ev, op->buf);
	return true;
}

static void mirror_fill(const struct prot_group *g, struct prot_gop *op, u32 member,
			struct prot_event *ev)
{
	if (op->kind == PROT_WRITE)
		prot_io_fill(g, op, member, PROT_WRITE, op->addr, op->length, ev);
	else
		prot_zeroes_fill(g, op, member, ev);
}

/* Begin the write of the next copy allowed. */
static bool mirror_start_write(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	u64 to = op->targets & ~op->sent & ~g->failed;
	u32 i;

	for (i = 0; i < g->cfg.width; i++) {
		if (!(to >> i & 1) || !mirror_bit_allows(g, op, i))
			continue;
		op->sent |= PROT_BIT(i);
		if (op->phase == PROT_P_MIRROR_WRITE) {
			mirror_fill(g, op, i, ev);
		} else {
			prot_io_fill(g, op, i, PROT_WRITE, op->addr + op->pos, op->chunk, ev);
			mirror_private_run(ev, op->buf);
		}
		return true;
	}
	return false;
}

/* Copies that must have the data: failed copies as well, until an epoch without the member. */
static u64 mirror_must_have(const struct prot_group *g, const struct prot_gop *op)
{
	if (PROT_MUTANT(LOSE_ACK) && op->ok)
		return 0;
	return PROT_MUTANT(EPOCH_LATE) ? op->targets & ~g->failed : op->targets;
}

/* True: all I/O in flight has ended, and any member without the data is out. */
static bool mirror_written(const struct prot_group *g, const struct prot_gop *op)
{
	return !(op->sent & ~op->ended) && !(mirror_must_have(g, op) & ~op->ok);
}

/* A chunk is equal everywhere: go on to the next chunk, or to the purpose of the op. */
static void mirror_chunk_done(struct prot_group *g, struct prot_gop *op)
{
	op->pos += op->chunk;
	op->tried = 0;
	if (op->pos == op->length) {
		if (op->purpose == PROT_FOR_SYNC) {
			prot_end(g, op, 0);
		} else {
			prot_buf_put(g, op);
			prot_phase(g, op, PROT_P_MIRROR_READ);
		}
		return;
	}
	op->chunk = mirror_chunk(g, op);
	prot_phase(g, op, PROT_P_MIRROR_SYNC_READ);
}

/*
 * A scrub's two buffers hold a chunk of each copy; two each, side by side, where there are
 * more copies than buffers.
 */
static u32 mirror_copies_each(const struct prot_group *g)
{
	return g->cfg.width > 2 ? 2 : 1;
}

/* Bytes of such a chunk, at most. */
static u32 mirror_scrub_bytes(const struct prot_group *g)
{
	return g->shape.buf_bytes / mirror_copies_each(g) & ~(g->cfg.lba - 1);
}

static u32 mirror_scrub_offset(const struct prot_group *g, u32 member)
{
	return member % mirror_copies_each(g) * mirror_scrub_bytes(g);
}

static u8 *mirror_scrub_copy(const struct prot_group *g, const struct prot_gop *op, u32 member)
{
	return prot_private(g, op->buf + member / mirror_copies_each(g)) +
	       mirror_scrub_offset(g, member);
}

static void mirror_scrub_io(struct prot_group *g, struct prot_gop *op, u32 member, u8 kind,
			    struct prot_event *ev)
{
	op->sent |= PROT_BIT(member);
	g->load[member] += kind == PROT_READ;
	prot_io_fill(g, op, member, kind, op->addr + op->pos, op->chunk, ev);
	mirror_private_run(ev, op->buf + member / mirror_copies_each(g));
	ev->runs[0].offset = mirror_scrub_offset(g, member);
}

/* Read the rows from @op->pos on, after other ops had a turn. */
static void mirror_scrub_go_on(struct prot_group *g, struct prot_gop *op)
{
	op->tried = 0;
	if (op->pos == op->length) {
		prot_end(g, op, 0);
		return;
	}
	op->again = 1;
	prot_phase(g, op, PROT_P_MIRROR_SCRUB_READ);
}

static void mirror_scrub_done(struct prot_group *g, struct prot_gop *op)
{
	op->pos += op->chunk;
	mirror_scrub_go_on(g, op);
}

static bool mirror_scrub_equal(const struct prot_group *g, const struct prot_gop *op, u32 a,
			       u32 b, u32 at, u32 length)
{
	return a == b || !memcmp(mirror_scrub_copy(g, op, a) + at,
				 mirror_scrub_copy(g, op, b) + at, length);
}

/*
 * Of members @read, the lowest with the most frequent content. @sole: no other content is as
 * frequent.
 */
static u32 mirror_scrub_right(const struct prot_group *g, const struct prot_gop *op, u64 read,
			      u32 at, bool *sole)
{
	u32 best = prot_lowest(read), most = 0, n;
	u64 a, b;

	*sole = false;
	for (a = read; a; a &= a - 1) {
		for (b = read, n = 0; b; b &= b - 1)
			n += mirror_scrub_equal(g, op, prot_lowest(a), prot_lowest(b), at,
						g->cfg.lba);
		if (n > most) {
			best = prot_lowest(a);
			most = n;
			*sole = true;
		} else if (n == most) {
			*sole &= mirror_scrub_equal(g, op, best, prot_lowest(a), at, g->cfg.lba);
		}
	}
	return best;
}

/* @member gets the content of @right. */
static void mirror_scrub_take(struct prot_group *g, struct prot_gop *op, u32 member, u32 right,
			      u32 at)
{
	memcpy(mirror_scrub_copy(g, op, member) + at, mirror_scrub_copy(g, op, right) + at,
	       g->cfg.lba);
	op->targets |= PROT_BIT(member);
}

/*
 * One sector of the chunk, readable by members @read and unreadable by @unread. If the right
 * content is unknown, no copy is written: one more copy would make a wrong content the most
 * frequent.
 */
static void mirror_scrub_sector(struct prot_group *g, struct prot_gop *op, u64 read, u64 unread,
				u32 at)
{
	bool known, repairs = prot_scrub_repairs(g, op);
	u32 right = mirror_scrub_right(g, op, read, at, &known), source = g->scrub.source, member;

	if (repairs && source != PROT_NO_SOURCE && !PROT_MUTANT(SCRUB_SOURCE)) {
		known = source < g->cfg.width && read >> source & 1;
		if (known)
			right = source;
	}
	for (unread = known ? prot_scrub_unread(g, op, unread) : 0; unread; unread &= unread - 1)
		mirror_scrub_take(g, op, prot_lowest(unread), right, at);
	for (; read && prot_scrub_counts(g, op); read &= read - 1) {
		member = prot_lowest(read);
		if (mirror_scrub_equal(g, op, member, right, at, g->cfg.lba))
			continue;
		prot_scrub_found(g, member, op->addr + op->pos + at);
		if (!repairs || !known)
			continue;
		g->repaired++;
		mirror_scrub_take(g, op, member, right, at);
	}
}

/* All readable copies were read. A chunk with an unreadable copy is read again by sectors. */
static void mirror_scrub_compare(struct prot_group *g, struct prot_gop *op)
{
	u64 read = op->ok & prot_live(g), unread = op->tried & prot_live(g), left;
	bool equal = true;
	u32 at;

	if (unread && op->chunk > g->cfg.lba) {
		op->chunk = g->cfg.lba;
		mirror_scrub_go_on(g, op);
		return;
	}
	prot_scrub_compared(g, op, op->chunk, prot_weight(read) > 1);
	op->targets = 0;
	for (left = read; left; left &= left - 1)
		equal &= mirror_scrub_equal(g, op, prot_lowest(read), prot_lowest(left), 0,
					    op->chunk);
	for (at = 0; read && (unread || !equal) && at < op->chunk; at += g->cfg.lba)
		mirror_scrub_sector(g, op, read, unread, at);
	if (op->targets)
		prot_phase(g, op, PROT_P_MIRROR_SCRUB_FIX);
	else
		mirror_scrub_done(g, op);
}

static bool mirror_scrub_read(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	u64 left = prot_live(g) & ~op->sent;

	if (left)
		mirror_scrub_io(g, op, prot_lowest(left), PROT_READ, ev);
	else if (!(op->sent & ~op->ended))
		mirror_scrub_compare(g, op);
	return left;
}

static bool mirror_scrub_fix(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	u64 left = op->targets & prot_live(g) & ~op->sent;

	if (left)
		mirror_scrub_io(g, op, prot_lowest(left), PROT_WRITE, ev);
	else if (!(op->sent & ~op->ended))
		mirror_scrub_done(g, op);
	return left;
}

static void mirror_stop(struct prot_group *g, struct prot_gop *op)
{
	if (op->phase == PROT_P_MIRROR_WRITE)
		prot_region(g, prot_region_of(g, op->addr))->users--;
	prot_end(g, op, -EIO);
}

static bool mirror_step(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	switch (op->phase) {
	case PROT_P_LOCK:
		if (prot_lock_free(g, op))
			mirror_begin(g, op);
		return false;
	case PROT_P_BUF:
		if (prot_buf_get(g, op, false))
			mirror_got_buffer(g, op);
		return false;
	case PROT_P_MIRROR_READ:
		return mirror_start_read(g, op, op->addr, op->length, ev);
	case PROT_P_MIRROR_SYNC_READ:
		return mirror_start_read(g, op, op->addr + op->pos, op->chunk, ev);
	case PROT_P_MIRROR_WRITE:
		if (mirror_start_write(g, op, ev))
			return true;
		if (mirror_written(g, op))
			mirror_end_write(g, op);
		return false;
	case PROT_P_MIRROR_SYNC_WRITE:
		if (mirror_start_write(g, op, ev))
			return true;
		if (mirror_written(g, op))
			mirror_chunk_done(g, op);
		return false;
	case PROT_P_MIRROR_SCRUB_READ:
		return mirror_scrub_read(g, op, ev);
	case PROT_P_MIRROR_SCRUB_FIX:
		return mirror_scrub_fix(g, op, ev);
	default:
		return false;
	}
}

static void mirror_read_result(struct prot_group *g, struct prot_gop *op, u32 member, int err)
{
	g->load[member]--;
	if (err) {
		if (!prot_read_failed(g, member, err))
			;
		else if (op->phase == PROT_P_MIRROR_SYNC_READ)
			prot_repair_note(g, op, op->addr + op->pos, op->chunk);
		else
			prot_repair_note(g, op, op->addr, op->length);
		op->tried |= PROT_BIT(member);
		op->sent = 0;		/* another copy may do */
		op->ended = 0;
		return;
	}
	if (op->phase == PROT_P_MIRROR_READ) {
		prot_end(g, op, 0);
		return;
	}
	prot_phase(g, op, PROT_P_MIRROR_SYNC_WRITE);
	op->targets = mirror_sync_targets(g, op);
}

static void mirror_result(struct prot_group *g, struct prot_gop *op, u32 member, int err)
{
	switch (op->phase) {
	case PROT_P_MIRROR_READ:
	case PROT_P_MIRROR_SYNC_READ:
		mirror_read_result(g, op, member, err);
		break;
	case PROT_P_MIRROR_SCRUB_READ:
		g->load[member]--;
		if (err && prot_read_failed(g, member, err))
			op->tried |= PROT_BIT(member);
		break;
	default:
		if (err)
			prot_write_failed(g, op, member, err);
	}
}

/* A write in flight has the intent bit set, or not clear on all copies yet. */
static void mirror_miss_unfinished(struct prot_group *g, u32 slot)
{
	u32 i;

	prot_regions_add(g, PROT_SET_MISSED + slot, PROT_SET_INTENT);
	for (i = 0; i < g->cfg.width; i++)
		prot_regions_add(g, PROT_SET_MISSED + slot, prot_durable(g, i));
}

static bool mirror_config_ok(const struct prot_group_config *c)
{
	return c->width >= 2 && c->width <= PROT_COPIES_MAX && c->buf_bytes && !c->smalls &&
	       !(c->buf_bytes & (c->lba - 1)) && c->buf_bytes <= PROT_REQUEST_MAX;
}

/* A block of two copies has to fit a buffer of a scrub. */
static void mirror_arrange(struct prot_shape *h, const struct prot_group_config *c, u64 *end)
{
	(void)end;
	if (c->width > 2)
		h->buf_bytes = max(c->buf_bytes, 2 * c->lba);
}

static void mirror_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow)
{
	u32 most = op->purpose == PROT_FOR_SCRUB ? mirror_scrub_bytes(g) : g->cfg.buf_bytes;

	most = narrow ? g->cfg.lba : prot_pace_most(g, op, most);
	prot_start(g, op, addr, min_t(u64, most, prot_region_span(g, addr)));
}

static const struct prot_policy mirror_policy = {
	.phases = mirror_phases,
	.nr_absent = PROT_ABSENT_MAX,	/* of the format, whatever the width */
	.intent = true,
	.config_ok = mirror_config_ok,
	.arrange = mirror_arrange,
	.span = prot_region_span,
	.start = prot_start,
	.start_rows = mirror_start_rows,
	.step = mirror_step,
	.result = mirror_result,
	.stop = mirror_stop,
	.meta_next = prot_bitmap_attach,
	.miss_unfinished = mirror_miss_unfinished,
	.idle = prot_bitmap_clear,
	.settle = prot_bitmap_settle,
};

static const char *mirror_check_copies(struct prot_segment *s)
{
	if (s->parity)
		return "a mirror has no parity";
	if (s->data < 2 || s->data > PROT_COPIES_MAX)
		return "a mirror has 2 to 4 copies";
	s->width = s->data;
	return NULL;
}

static const char *mirror_check(struct prot_segment *s)
{
	if (s->groups != 1)
		return "mirror is one group of copies; raid10 is more";
	return mirror_check_copies(s);
}

static const char *raid10_check(struct prot_segment *s)
{
	if (s->groups < 2)
		return "raid10 has at least two groups of copies";
	return mirror_check_copies(s);
}

const struct prot_level_ops prot_mirror_ops = {
	.name = "mirror",
	.discard = true,
	.check = mirror_check,
	.next = prot_stripe_next,
	.policy = &mirror_policy,
};

const struct prot_level_ops prot_raid10_ops = {
	.name = "raid10",
	.discard = true,
	.check = raid10_check,
	.next = prot_stripe_next,
	.policy = &mirror_policy,
};
