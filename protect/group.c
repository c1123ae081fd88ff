// SPDX-License-Identifier: GPL-2.0-only
/* The group engine: memory, ops, row locks, the order of events. See group.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/ec_priv.h"

#ifdef PROT_MUTANTS
enum prot_mutant prot_mutant;
#endif
#ifdef PROT_COUNT
u64 prot_looked;
#endif

/* Where @count of @each bytes begin; the end may be beyond what 32 bits count. */
static u32 take(u64 *end, u64 count, u32 each)
{
	u64 at = *end;

	*end += round_up(count * each, 8);
	return at;
}

static u32 config_regions(const struct prot_group_config *c)
{
	return (c->bytes + c->region - 1) >> ilog2(c->region);
}

/* MISSED bitmaps: one a member, mirrors keep the four of their format. */
static u32 config_absent(const struct prot_group_config *c)
{
	return c->level == PROT_MIRROR ? PROT_ABSENT_MAX : c->width;
}

static u32 config_blocks(const struct prot_group_config *c)
{
	return DIV_ROUND_UP(config_regions(c), prot_bitmap_bits(c->lba));
}

/* Place everything behind the header. */
static void arrange(struct prot_shape *h, const struct prot_group_config *c)
{
	u64 end = sizeof(struct prot_group);

	h->region_shift = ilog2(c->region);
	h->nr_regions = config_regions(c);
	h->nr_blocks = config_blocks(c);
	h->nr_buckets = c->ops;
	h->bucket_shift = h->region_shift;
	h->data = 1;
	h->nr_absent = config_absent(c);
	h->nr_bitmaps = PROT_MISSED + h->nr_absent;
	h->buf_bytes = c->buf_bytes;
	h->meta_buf_bytes = c->lba;
	if (c->level == PROT_EC)
		prot_ec_arrange(h, c);
	h->off_ops = take(&end, c->ops, sizeof(struct prot_gop));
	h->off_regions = take(&end, h->nr_regions, sizeof(struct prot_region));
	h->off_versions = take(&end, h->nr_bitmaps * h->nr_blocks, sizeof(u32));
	h->off_written = take(&end, c->width * h->nr_bitmaps * h->nr_blocks, sizeof(u32));
	h->off_buckets = take(&end, h->nr_buckets, sizeof(u16));
	h->off_free_ops = take(&end, prot_set_words(c->ops), sizeof(u64));
	h->off_waiting = take(&end, prot_set_words(c->ops), sizeof(u64));
	h->off_free_bufs = take(&end, prot_set_words(c->bufs), sizeof(u64));
	h->off_unwritten = take(&end, c->width * h->nr_bitmaps, sizeof(u32));
	h->set_words = prot_set_words(h->nr_regions);
	h->off_sets = take(&end, (PROT_SET_MISSED + h->nr_absent) * h->set_words, sizeof(u64));
	h->dirty_words = prot_set_words(h->nr_blocks);
	h->off_dirty = take(&end, c->width * h->nr_bitmaps * h->dirty_words, sizeof(u64));
	h->off_bufs = take(&end, c->bufs, h->buf_bytes);
	h->off_meta = take(&end, c->width, h->meta_buf_bytes);
	if (c->level == PROT_EC) {
		h->off_rings = take(&end, c->rings, sizeof(struct prot_ring));
		h->off_ecops = take(&end, c->ops, sizeof(struct prot_ecop));
		h->off_ranges = take(&end, (u64)c->ops * c->k, sizeof(struct prot_ec_range));
		h->off_txs = take(&end, (u64)c->rings * c->slots, sizeof(struct prot_tx));
	}
	h->bytes = end >> 32 ? 0 : end;
}

size_t prot_group_bytes(const struct prot_group_config *c)
{
	struct prot_shape h;

	if ((c->lba != 512 && c->lba != 4096) || !c->bytes || c->bytes & (c->lba - 1) ||
	    !is_power_of_2(c->region) || c->region < c->lba ||
	    c->bytes >> ilog2(c->region) >= 1U << 22 ||
	    c->ops < PROT_OP_FIRST + 1 || c->ops > 4096 ||
	    c->bufs < PROT_BUF_FIRST + 1 || c->bufs > 256)
		return 0;
	if (c->level == PROT_MIRROR) {
		if (c->width < 2 || c->width > PROT_COPIES_MAX ||
		    !c->buf_bytes || c->buf_bytes & (c->lba - 1) || c->buf_bytes > PROT_REQUEST_MAX)
			return 0;
	} else if (c->level != PROT_EC || !prot_ec_config_ok(c)) {
		return 0;
	}
	arrange(&h, c);
	return h.bytes;
}

u64 prot_group_meta_bytes(const struct prot_group_config *c)
{
	u64 records = (u64)c->lba * (2 + (PROT_MISSED + config_absent(c)) * config_blocks(c));

	return c->level == PROT_EC ? records + prot_ec_ring_bytes(c, records) : records;
}

/* Ops whose rows may overlap are in one. */
u16 *prot_bucket(const struct prot_group *g, const struct prot_gop *op)
{
	u32 i;

	div_u64_rem(op->addr >> g->shape.bucket_shift, g->shape.nr_buckets, &i);
	return (u16 *)prot_at(g, g->shape.off_buckets) + i;
}

struct prot_group *prot_group_init(void *mem, const struct prot_group_config *c)
{
	struct prot_group *g = mem;
	u32 i;

	g->cfg = *c;
	arrange(&g->shape, c);
	g->in_sync = c->in_sync;
	g->ready_head = PROT_NONE16;
	g->ready_tail = PROT_NONE16;
	g->sync.region = PROT_NO_REGION;
	memset(prot_at(g, g->shape.off_buckets), 0xff, g->shape.nr_buckets * sizeof(u16));
	for (i = 0; i < c->ops; i++)
		prot_gop(g, i)->next = PROT_NONE16;
	for (i = c->level == PROT_EC ? PROT_OP_BARRIER + 1 : PROT_OP_FIRST; i < c->ops; i++)
		prot_set_put(prot_free_ops(g), c->ops, i);
	for (i = PROT_BUF_FIRST; i < c->bufs; i++)
		prot_set_put(prot_free_bufs(g), c->bufs, i);
	g->kept = prot_is_ec(g) ? 0 : PROT_BIT(PROT_INTENT);
	for (i = 0; i < c->width; i++)
		if (!(c->in_sync >> i & 1))
			prot_absent_take(g, i, c->left[i]);
	for (i = 0; i < c->width * g->shape.nr_bitmaps; i++)
		*prot_unwritten(g, i / g->shape.nr_bitmaps, i % g->shape.nr_bitmaps) =
			g->shape.nr_blocks;
	for (i = 0; i < g->shape.nr_bitmaps; i++)
		prot_bitmap_touch_all(g, i);
	g->state = c->fresh ? PROT_G_UNITING : PROT_G_LOADING;
	if (prot_is_ec(g))
		prot_ec_init(g);
	if (!prot_enough(g))
		g->state = PROT_G_STOPPED;
	return g;
}

void *prot_group_buffer(struct prot_group *g, u32 buffer)
{
	if (buffer >= PROT_BUFFER_META)
		return (u8 *)prot_at(g, g->shape.off_meta) +
		       (buffer - PROT_BUFFER_META) * g->shape.meta_buf_bytes;
	return (u8 *)prot_at(g, g->shape.off_bufs) +
	       (size_t)(buffer - PROT_BUFFER_PRIVATE) * g->shape.buf_bytes;
}

/* The one setter of an op's phase; the table is the diagram in group.h. */
void prot_phase(struct prot_group *g, struct prot_gop *op, enum prot_phase phase)
{
#define TO(p) (1U << PROT_P_##p)
	static const u32 allowed[PROT_PHASES] = {
		[PROT_P_FREE]		= TO(LOCK),
		[PROT_P_LOCK]		= TO(BUF) | TO(READ) | TO(WRITE) | TO(LOCK) | TO(JOINED) |
					  TO(ENDED),
		[PROT_P_BUF]		= TO(SYNC_READ) | TO(SCRUB_READ) | TO(READ) | TO(COPY) |
					  TO(GATHER) | TO(CODEC) | TO(TXID) | TO(JOINED) |
					  TO(REPAIR) | TO(ENDED),
		[PROT_P_READ]		= TO(LOCK) | TO(BUF) | TO(GATHER) | TO(REPAIR) | TO(ENDED),
		[PROT_P_WRITE]		= TO(ENDED),
		[PROT_P_SYNC_READ]	= TO(SYNC_WRITE) | TO(LOCK) | TO(ENDED),
		[PROT_P_SYNC_WRITE]	= TO(SYNC_READ) | TO(READ) | TO(ENDED),
		[PROT_P_SCRUB_READ]	= TO(SCRUB_PEER) | TO(ENDED),
		[PROT_P_SCRUB_PEER]	= TO(SCRUB_PEER) | TO(SCRUB_FIX) | TO(ENDED),
		[PROT_P_SCRUB_FIX]	= TO(SCRUB_PEER) | TO(ENDED),
		[PROT_P_COPY]		= TO(GATHER) | TO(CODEC) | TO(TXID) | TO(READ) |
					  TO(REPAIR) | TO(ENDED),
		[PROT_P_GATHER]		= TO(GATHER) | TO(CODEC) | TO(TXID) | TO(READ) |
					  TO(REPAIR) | TO(ENDED),
		[PROT_P_CODEC]		= TO(COPY) | TO(TXID) | TO(PLACE) | TO(ENDED),
		[PROT_P_TXID]		= TO(RECORD) | TO(PLACE) | TO(ENDED),
		[PROT_P_RECORD]		= TO(PLACE) | TO(ENDED),
		[PROT_P_PLACE]		= TO(RETIRE) | TO(ENDED),
		[PROT_P_RETIRE]		= TO(ENDED),
		[PROT_P_JOINED]		= TO(LOCK) | TO(ENDED),
		[PROT_P_REPAIR]		= TO(LOCK) | TO(ENDED),
		[PROT_P_ENDED]		= TO(FREE),
	};
#undef TO

	if (WARN_ON_ONCE(!(allowed[op->phase] & (1U << phase))))
		return;
	prot_set_drop(prot_waiting(g), g->cfg.ops, prot_gop_index(g, op));
	op->phase = phase;
	op->sent = 0;
	op->ended = 0;
	op->ok = 0;
}

void prot_ready(struct prot_group *g, struct prot_gop *op)
{
	u16 i = prot_gop_index(g, op);

	if (op->queued)
		return;
	op->queued = 1;
	op->ready = PROT_NONE16;
	if (g->ready_tail == PROT_NONE16)
		g->ready_head = i;
	else
		prot_gop(g, g->ready_tail)->ready = i;
	g->ready_tail = i;
}

void prot_ready_all(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase != PROT_P_FREE)
			prot_ready(g, prot_gop(g, i));
}

static void pop_ready(struct prot_group *g)
{
	struct prot_gop *op = prot_gop(g, g->ready_head);

	op->queued = 0;
	g->ready_head = op->ready;
	if (g->ready_head == PROT_NONE16)
		g->ready_tail = PROT_NONE16;
}

/* Row locks: an op waits for those before it in its bucket that it overlaps. */
bool prot_lock_free(const struct prot_group *g, const struct prot_gop *op)
{
	u16 i = *prot_bucket(g, op), self = prot_gop_index(g, op);

	for (; i != self; i = prot_gop(g, i)->next) {
		const struct prot_gop *o = prot_gop(g, i);

		if (o->phase == PROT_P_REPAIR)
			continue;
		if (PROT_MUTANT(NO_LOCK) && o->purpose == op->purpose)
			continue;
		if (PROT_MUTANT(SYNC_RACE) && o->purpose != op->purpose)
			continue;
		if (prot_rows_meet(o, op) && (o->exclusive || op->exclusive) &&
		    (!prot_is_ec(g) || prot_ec_conflict(g, o, op)))
			return false;
	}
	return true;
}

static bool needs_sync(const struct prot_group *g, u64 addr)
{
	return prot_region(g, prot_region_of(g, addr))->flags & PROT_R_UNSYNCED;
}

void prot_start(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length)
{
	u16 *link;

	op->addr = addr;
	op->length = length;
	op->exclusive = op->kind != PROT_READ || op->purpose != PROT_FOR_REQUEST ||
			needs_sync(g, addr) || op->retried;
	op->targets = 0;
	op->tried = 0;
	op->pos = 0;
	op->chunk = 0;
	op->err = 0;
	op->buf = PROT_NONE16;
	op->next = PROT_NONE16;
	for (link = prot_bucket(g, op); *link != PROT_NONE16; link = &prot_gop(g, *link)->next)
		;
	*link = prot_gop_index(g, op);
	prot_phase(g, op, PROT_P_LOCK);
	prot_ready(g, op);
}

/* What @op does changes what others of its rows may do. */
void prot_wake_rows(struct prot_group *g, const struct prot_gop *op)
{
	u16 i;

	for (i = *prot_bucket(g, op); i != PROT_NONE16; i = prot_gop(g, i)->next) {
		struct prot_gop *o = prot_gop(g, i);

		if (o != op && prot_rows_meet(o, op))
			prot_ready(g, o);
	}
}

/* Take an op out of its bucket and let others of its rows check again. */
void prot_unlock(struct prot_group *g, struct prot_gop *op)
{
	u16 *link = prot_bucket(g, op), self = prot_gop_index(g, op);

	while (*link != self)
		link = &prot_gop(g, *link)->next;
	*link = op->next;
	prot_wake_rows(g, op);
	op->next = PROT_NONE16;
}

/* @op waits, in this phase, for what others will release. */
void prot_wait(struct prot_group *g, struct prot_gop *op)
{
	prot_set_put(prot_waiting(g), g->cfg.ops, prot_gop_index(g, op));
}

/* Those that wait in @phase check again. */
void prot_wake(struct prot_group *g, u8 phase)
{
	u64 *set = prot_waiting(g);
	u32 i = prot_set_next(set, g->cfg.ops, 0);

	for (; i != PROT_SET_NONE; i = prot_set_next(set, g->cfg.ops, i + 1))
		if (prot_gop(g, i)->phase == phase)
			prot_ready(g, prot_gop(g, i));
}

bool prot_buf_get(struct prot_group *g, struct prot_gop *op)
{
	u32 i;

	if (op->purpose != PROT_FOR_REQUEST) {
		op->buf = prot_gop_index(g, op);
		return true;
	}
	i = prot_set_next(prot_free_bufs(g), g->cfg.bufs, 0);
	if (i == PROT_SET_NONE) {
		prot_wait(g, op);
		return false;
	}
	prot_set_drop(prot_free_bufs(g), g->cfg.bufs, i);
	op->buf = i;
	return true;
}

void prot_buf_put(struct prot_group *g, struct prot_gop *op)
{
	if (op->buf != PROT_NONE16 && op->buf >= PROT_BUF_FIRST) {
		prot_set_put(prot_free_bufs(g), g->cfg.bufs, op->buf);
		prot_wake(g, PROT_P_BUF);
	}
	op->buf = PROT_NONE16;
}

/* An op is over: nothing of it is in flight. Its caller learns by an event. */
void prot_end(struct prot_group *g, struct prot_gop *op, int err)
{
	op->err = err;
	if (prot_is_ec(g))
		prot_ec_tell_joined(g, op, err);
	prot_buf_put(g, op);
	prot_phase(g, op, PROT_P_ENDED);
	prot_unlock(g, op);
	prot_ready(g, op);
}

void prot_io_fill(const struct prot_group *g, const struct prot_gop *op, u32 member, u8 kind,
		  u64 addr, u32 length, struct prot_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = PROT_EV_IO;
	ev->op = prot_gop_index(g, op);
	ev->io.member = member;
	ev->io.kind = kind;
	ev->io.flags = op->flags | PROT_FUA;
	ev->io.addr = g->cfg.data[member] + addr;
	ev->io.length = length;
	ev->io.tag = ev->op << PROT_TAG_SHIFT | member;
	if (kind <= PROT_WRITE) {
		ev->io.nr_runs = 1;
		ev->runs[0].length = length;
	}
}

/* The one I/O to the records of @member that is in flight, @from its metadata buffer. */
void prot_meta_io(struct prot_group *g, u32 member, u8 what, u8 kind, u64 addr, u32 from,
		  u32 length, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];

	m->busy = 1;
	m->what = what;
	memset(ev, 0, sizeof(*ev));
	ev->kind = PROT_EV_IO;
	ev->op = PROT_NONE16;
	ev->io.member = member;
	ev->io.kind = kind;
	ev->io.flags = PROT_FUA | PROT_META;
	ev->io.addr = addr;
	ev->io.length = length;
	ev->io.tag = PROT_TAG_META | member;
	if (kind > PROT_WRITE)
		return;
	ev->io.nr_runs = 1;
	ev->runs[0].buffer = PROT_BUFFER_META + member;
	ev->runs[0].offset = from;
	ev->runs[0].length = length;
}

u64 prot_group_span(const struct prot_group *g, u64 addr)
{
	u64 end = round_down(addr, (u64)g->cfg.region) + g->cfg.region;

	if (prot_is_ec(g))
		return prot_ec_span(g, addr);
	return min(end, g->cfg.bytes) - addr;
}

int prot_group_submit(struct prot_group *g, u8 kind, u8 flags, u64 addr, u32 length, u64 cookie)
{
	struct prot_gop *op;
	u32 i;

	if (g->state == PROT_G_STOPPED)
		return -EIO;
	if (g->state != PROT_G_SERVING)
		return -EAGAIN;
	if (kind > PROT_ZEROES || !length || addr >= g->cfg.bytes * g->shape.data ||
	    length > prot_group_span(g, addr) || (addr | length) & (g->cfg.lba - 1))
		return -EINVAL;
	i = prot_set_next(prot_free_ops(g), g->cfg.ops, 0);
	if (i == PROT_SET_NONE)
		return -EAGAIN;
	prot_set_drop(prot_free_ops(g), g->cfg.ops, i);
	op = prot_gop(g, i);
	op->cookie = cookie;
	op->kind = kind;
	/* all copies must read zero afterwards, so a discard is a zeroing */
	if (kind == PROT_DISCARD && !PROT_MUTANT(DISCARD))
		op->kind = PROT_ZEROES;
	op->flags = flags;
	op->purpose = PROT_FOR_REQUEST;
	op->retried = 0;
	op->acked = 0;
	if (prot_is_ec(g))
		prot_ec_start(g, op, addr, length);
	else
		prot_start(g, op, addr, length);
	return i;
}

/* An op that has ended: background ops go on by themselves, requests are announced. */
static bool ended(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	prot_phase(g, op, PROT_P_FREE);
	pop_ready(g);
	if (op->purpose == PROT_FOR_SYNC)
		prot_sync_ended(g, op);
	else if (op->purpose == PROT_FOR_SCRUB)
		prot_scrub_ended(g, op);
	if (op->purpose != PROT_FOR_REQUEST)
		return false;
	prot_set_put(prot_free_ops(g), g->cfg.ops, prot_gop_index(g, op));
	if (op->acked)
		return false;
	memset(ev, 0, sizeof(*ev));
	ev->kind = PROT_EV_DONE;
	ev->cookie = op->cookie;
	ev->err = op->err;
	ev->op = prot_gop_index(g, op);
	return true;
}

/* The group has lost too much: what has nothing in flight ends with an error. */
static void op_stop(struct prot_group *g, struct prot_gop *op)
{
	/* one that was joined ends with the other */
	if (op->sent & ~op->ended || op->phase == PROT_P_JOINED)
		return;
	if (!prot_is_ec(g))
		prot_mirror_stop(g, op);
	if (op->phase != PROT_P_ENDED)
		prot_end(g, op, -EIO);
	op->err = op->err ? op->err : -EIO;
}

/* What @op wants done, if anything, in this phase or those that follow at once. */
static bool op_next(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	u8 before;

	if (g->state == PROT_G_STOPPED) {
		op_stop(g, op);
		return false;
	}
	do {
		before = op->phase;
		if (prot_is_ec(g) ? prot_ec_step(g, op, ev) : prot_mirror_step(g, op, ev))
			return true;
	} while (op->phase != before && op->phase != PROT_P_ENDED);
	return false;
}

void prot_group_next(struct prot_group *g, struct prot_event *ev)
{
	do {
		if (prot_member_event(g, ev))
			return;
		while (g->ready_head != PROT_NONE16) {
			struct prot_gop *op = prot_gop(g, g->ready_head);

			if (op->phase == PROT_P_ENDED) {
				if (ended(g, op, ev))
					return;
			} else if (op_next(g, op, ev)) {
				return;
			} else if (op->phase != PROT_P_ENDED) {
				pop_ready(g);
				if (op->again)
					prot_ready(g, op);
				op->again = 0;
			}
		}
		if (prot_is_ec(g) && prot_ec_meta_next(g, ev))
			return;
		if (prot_bitmap_next(g, ev))
			return;
	} while (prot_sync_next(g) || (prot_is_ec(g) && prot_ec_barrier(g)));
	/* the last step may have changed what there is to announce */
	if (prot_member_event(g, ev))
		return;
	memset(ev, 0, sizeof(*ev));
}

void prot_group_result(struct prot_group *g, u32 tag, int err)
{
	struct prot_gop *op;
	u32 member = tag & ((1U << PROT_TAG_SHIFT) - 1);

	if (tag & PROT_TAG_META) {
		if (g->meta[member].what == PROT_META_BITMAP)
			prot_bitmap_result(g, member, err);
		else
			prot_ec_meta_result(g, member, err);
		return;
	}
	op = prot_gop(g, tag >> PROT_TAG_SHIFT);
	op->ended |= PROT_BIT(member);
	if (!err)
		op->ok |= PROT_BIT(member);
	if (prot_is_ec(g))
		prot_ec_result(g, op, member, err);
	else
		prot_mirror_result(g, op, member, err);
	prot_ready(g, op);
}

bool prot_group_quiet(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase != PROT_P_FREE)
			return false;
	for (i = 0; i < g->cfg.width; i++)
		if (g->meta[i].busy)
			return false;
	return true;
}
