// SPDX-License-Identifier: GPL-2.0-only
/* The group engine: memory, ops, row locks, the order of events. See group.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/group_priv.h"

/* Where @count of @each bytes begin; the end may be beyond what 32 bits count. */
u32 prot_take(u64 *end, u64 count, u32 each)
{
	u64 at = *end;

	*end += round_up(count * each, 8);
	return at;
}

/* Place everything behind the header. */
static void group_arrange(struct prot_shape *h, const struct prot_group_config *c)
{
	const struct prot_policy *policy = prot_level(c->level)->policy;
	u64 end = sizeof(struct prot_group);

	h->region_shift = ilog2(c->region);
	h->nr_regions = (c->bytes + c->region - 1) >> h->region_shift;
	h->nr_blocks = DIV_ROUND_UP(h->nr_regions, prot_bitmap_bits(c->lba));
	h->nr_buckets = c->ops;
	h->nr_queues = PROT_Q_LEVEL;
	h->bucket_shift = min_t(u32, h->region_shift, PROT_BUCKET_SHIFT);
	h->data = 1;
	h->nr_absent = policy->nr_absent ? policy->nr_absent : c->width;
	h->nr_bitmaps = PROT_MISSED + h->nr_absent;
	h->first_op = PROT_OP_FIRST;
	h->zeroes_max = PROT_ZEROES_MAX;
	h->buf_bytes = c->buf_bytes;
	h->meta_buf_bytes = c->lba;
	/* drives may want what they read and write in memory aligned to their blocks */
	h->align = c->lba;
	if (policy->arrange)
		policy->arrange(h, c, &end);
	h->next_ops = h->first_op;
	h->first_op += 2 * (prot_depth(c) - 1);
	h->first_buf = PROT_BUF_FIRST * prot_depth(c);
	h->off_ops = prot_take(&end, c->ops, sizeof(struct prot_gop));
	h->off_regions = prot_take(&end, h->nr_regions, sizeof(struct prot_region));
	h->off_versions = prot_take(&end, h->nr_bitmaps * h->nr_blocks, sizeof(u32));
	h->off_written = prot_take(&end, c->width * h->nr_bitmaps * h->nr_blocks, sizeof(u32));
	h->off_buckets = prot_take(&end, h->nr_buckets, sizeof(u16));
	h->off_free_ops = prot_take(&end, prot_set_words(c->ops), sizeof(u64));
	h->off_queues = prot_take(&end, h->nr_queues, sizeof(struct prot_queue));
	h->off_free_bufs = prot_take(&end, prot_set_words(prot_nr_bufs(c)), sizeof(u64));
	h->off_spare_bufs = prot_take(&end, prot_set_words(prot_nr_bufs(c)), sizeof(u64));
	h->off_own_bufs = prot_take(&end, h->first_buf, sizeof(u16));
	h->off_hung = prot_take(&end, prot_nr_bufs(c) + c->cached, sizeof(u8));
	h->off_unwritten = prot_take(&end, c->width * h->nr_bitmaps, sizeof(u32));
	h->set_words = prot_set_words(h->nr_regions);
	h->off_sets = prot_take(&end, (u64)h->set_words * (PROT_SET_MISSED + h->nr_absent +
							   (policy->intent ? c->width : 0)),
				sizeof(u64));
	h->nr_block_ios = min_t(u32, h->nr_bitmaps * h->nr_blocks, PROT_BLOCK_IOS);
	h->off_blocks = prot_take(&end, c->width * h->nr_block_ios, sizeof(struct prot_block_io));
	h->dirty_words = prot_set_words(h->nr_blocks);
	h->off_dirty = prot_take(&end, c->width * h->nr_bitmaps * h->dirty_words, sizeof(u64));
	end = round_up(end, h->align);
	h->off_bufs = prot_take(&end, c->bufs, h->buf_bytes);
	h->off_smalls = prot_take(&end, c->smalls, h->small_bytes);
	h->off_cached = prot_take(&end, c->cached, h->cached_bytes);
	h->off_meta = prot_take(&end, c->width, h->meta_buf_bytes);
	h->off_block_bufs = prot_take(&end, c->width * h->nr_block_ios, c->lba);
	h->bytes = end >> 32 ? 0 : end;
}

size_t prot_group_bytes(const struct prot_group_config *c)
{
	const struct prot_level_ops *level = prot_level(c->level);
	struct prot_shape h;

	if ((c->lba != 512 && c->lba != 4096) || !c->bytes || c->bytes & (c->lba - 1) ||
	    !is_power_of_2(c->region) || c->region < c->lba ||
	    c->bytes >> ilog2(c->region) >= 1U << 22 ||
	    c->ops < PROT_OP_FIRST + 1 || c->ops > 4096 ||
	    c->bufs < PROT_BUF_FIRST + 1 || c->bufs > 256 || c->smalls > 4096 ||
	    !level || !level->policy || !level->policy->config_ok(c))
		return 0;
	group_arrange(&h, c);
	if (c->depth > PROT_DEPTH_MAX || c->ops <= h.first_op || c->bufs <= h.first_buf)
		return 0;
	return h.bytes;
}

u64 prot_group_meta_bytes(const struct prot_group_config *c)
{
	const struct prot_policy *policy = prot_level(c->level)->policy;
	struct prot_shape h;
	u64 records;

	group_arrange(&h, c);
	records = (u64)c->lba * (2 + h.nr_bitmaps * h.nr_blocks);
	return records + (policy->meta_bytes ? policy->meta_bytes(c, records) : 0);
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
	g->policy = prot_level(c->level)->policy;
	group_arrange(&g->shape, c);
	g->in_sync = c->in_sync;
	g->ready_head = PROT_NONE16;
	g->ready_tail = PROT_NONE16;
	prot_sync_init(g);
	g->allowance = PROT_NO_LIMIT;
	g->chunks = prot_depth(c);
	memset(prot_at(g, g->shape.off_buckets), 0xff, g->shape.nr_buckets * sizeof(u16));
	for (i = 0; i < g->shape.nr_queues; i++)
		*prot_queue(g, i) = (struct prot_queue){ PROT_NONE16, PROT_NONE16 };
	for (i = 0; i < c->ops; i++)
		prot_gop(g, i)->next = PROT_NONE16;
	for (i = g->shape.first_op; i < c->ops; i++)
		prot_set_put(prot_free_ops(g), c->ops, i);
	prot_aside_init(g);
	g->kept = prot_policy(g)->intent ? PROT_BIT(PROT_INTENT) : 0;
	if (prot_policy(g)->init)
		prot_policy(g)->init(g);
	for (i = 0; i < c->width; i++)
		if (!(c->in_sync >> i & 1))
			prot_absent_take(g, i, c->left[i]);
	for (i = 0; i < c->width * g->shape.nr_bitmaps; i++)
		*prot_unwritten(g, i / g->shape.nr_bitmaps, i % g->shape.nr_bitmaps) =
			g->shape.nr_blocks;
	for (i = 0; i < g->shape.nr_bitmaps; i++)
		prot_bitmap_touch_all(g, i);
	g->state = c->ro ? PROT_G_SERVING : c->fresh ? PROT_G_UNITING : PROT_G_LOADING;
	if (!prot_enough(g))
		g->state = PROT_G_STOPPED;
	return g;
}

void *prot_group_buffer(struct prot_group *g, u32 buffer)
{
	if (buffer >= PROT_BUFFER_BLOCK)
		return (u8 *)prot_at(g, g->shape.off_block_bufs) +
		       (buffer - PROT_BUFFER_BLOCK) * g->cfg.lba;
	if (buffer >= PROT_BUFFER_META)
		return (u8 *)prot_at(g, g->shape.off_meta) +
		       (buffer - PROT_BUFFER_META) * g->shape.meta_buf_bytes;
	return prot_private(g, buffer - PROT_BUFFER_PRIVATE);
}

static bool group_may_follow(const struct prot_group *g, u8 before, u8 phase)
{
	if (before == PROT_P_FREE)
		return phase == PROT_P_LOCK;
	if (before == PROT_P_ENDED)
		return phase == PROT_P_FREE;
	return phase == PROT_P_ENDED || prot_policy(g)->phases[before] >> phase & 1;
}

/* @op waits no more, for whatever reason: the next one is the first, or may be. */
static void group_wait_over(struct prot_group *g, struct prot_gop *op)
{
	struct prot_queue *q = prot_queue(g, op->waits - 1);

	if (op->wait_prev != PROT_NONE16)
		prot_gop(g, op->wait_prev)->wait_next = op->wait_next;
	else
		q->head = op->wait_next;
	if (op->wait_next != PROT_NONE16)
		prot_gop(g, op->wait_next)->wait_prev = op->wait_prev;
	else
		q->tail = op->wait_prev;
	if (op->wait_prev == PROT_NONE16)
		prot_wake(g, op->waits - 1);
	if (q->head == PROT_NONE16 && op->waits - 1 == PROT_Q_BUF)
		prot_wake(g, PROT_Q_READ_BUF);
	if (q->head == PROT_NONE16 && op->waits - 1 == PROT_Q_SMALL)
		prot_wake(g, PROT_Q_SMALL_READ);
	op->waits = 0;
	op->wait_next = 0;
	op->wait_prev = 0;
}

/* The one setter of an op's phase. */
void prot_phase(struct prot_group *g, struct prot_gop *op, u8 phase)
{
	if (WARN_ON_ONCE(!group_may_follow(g, op->phase, phase)))
		return;
	if (op->waits)
		group_wait_over(g, op);
	op->phase = phase;
	op->sent = 0;
	op->ended = 0;
	op->ok = 0;
	op->twice = 0;
	op->plain = 0;
	g->repair_ops -= op->repair;
	op->repair = 0;
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

static void group_pop_ready(struct prot_group *g)
{
	struct prot_gop *op = prot_gop(g, g->ready_head);

	op->queued = 0;
	g->ready_head = op->ready;
	if (g->ready_head == PROT_NONE16)
		g->ready_tail = PROT_NONE16;
}

/* Whether @op has to wait for @o, which is before it in its bucket. */
static bool group_excludes(const struct prot_group *g, const struct prot_gop *o,
			   const struct prot_gop *op)
{
	if (PROT_MUTANT(NO_LOCK) && o->purpose == op->purpose)
		return false;
	if (PROT_MUTANT(SYNC_RACE) && o->purpose != op->purpose)
		return false;
	return prot_rows_meet(o, op) && (o->exclusive || op->exclusive) &&
	       (!prot_policy(g)->conflict || prot_policy(g)->conflict(g, o, op));
}

/*
 * Row locks: an op waits for those before it in its bucket that it overlaps. Where that
 * is all there is to it they are counted once, and each one that ends is subtracted; a
 * level's own rule may change its answer while both are there, so it is put each time.
 */
bool prot_lock_free(const struct prot_group *g, const struct prot_gop *op)
{
	u16 i = *prot_bucket(g, op), self = prot_gop_index(g, op);

	if (!prot_policy(g)->conflict)
		return !op->blockers;
	for (; i != self; i = prot_gop(g, i)->next)
		if (group_excludes(g, prot_gop(g, i), op))
			return false;
	return true;
}

static bool group_needs_sync(const struct prot_group *g, u64 addr)
{
	return prot_region_in(g, PROT_SET_UNSYNCED, prot_region_of(g, addr));
}

void prot_start(struct prot_group *g, struct prot_gop *op, u64 addr, u32 length)
{
	u16 *link;

	op->addr = addr;
	op->length = length;
	op->exclusive = op->kind != PROT_READ || op->purpose != PROT_FOR_REQUEST ||
			group_needs_sync(g, addr) || op->retried;
	op->targets = 0;
	op->tried = 0;
	op->pos = 0;
	op->chunk = 0;
	op->err = 0;
	op->unread = 0;
	op->buf = PROT_NONE16;
	op->next = PROT_NONE16;
	op->blockers = 0;
	for (link = prot_bucket(g, op); *link != PROT_NONE16; link = &prot_gop(g, *link)->next)
		op->blockers += group_excludes(g, prot_gop(g, *link), op);
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

/* @op, out of its bucket, blocks those behind it no more; the last blocker sets them going. */
static void group_unblock(struct prot_group *g, const struct prot_gop *op)
{
	u16 i;

	for (i = op->next; i != PROT_NONE16; i = prot_gop(g, i)->next) {
		struct prot_gop *o = prot_gop(g, i);

		if (group_excludes(g, op, o) && !--o->blockers)
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
	if (prot_policy(g)->conflict)
		prot_wake_rows(g, op);
	else
		group_unblock(g, op);
	op->next = PROT_NONE16;
}

/* Whether no op waited for it longer than @op does. */
bool prot_turn(const struct prot_group *g, const struct prot_gop *op, u32 queue)
{
	u16 head = prot_queue(g, queue)->head;

	return head == PROT_NONE16 || head == prot_gop_index(g, op);
}

/*
 * @op waits, as long as it is in this phase, for what others will release: behind
 * those that wait already. It is ready again when it is the first. Return: whether it did not yet.
 */
bool prot_wait(struct prot_group *g, struct prot_gop *op, u32 queue)
{
	struct prot_queue *q = prot_queue(g, queue);
	u16 i = prot_gop_index(g, op);

	if (op->waits)
		return false;
	op->waits = queue + 1;
	op->wait_next = PROT_NONE16;
	op->wait_prev = q->tail;
	if (q->tail == PROT_NONE16)
		q->head = i;
	else
		prot_gop(g, q->tail)->wait_next = i;
	q->tail = i;
	return true;
}

/* Something was released: the first that waits for it checks again. */
void prot_wake(struct prot_group *g, u32 queue)
{
	u16 head = prot_queue(g, queue)->head;

	if (head != PROT_NONE16)
		prot_ready(g, prot_gop(g, head));
}

/* Where the private buffer of a background op is noted. */
u16 *prot_own_buf(const struct prot_group *g, const struct prot_gop *op)
{
	u32 i = prot_gop_index(g, op);

	if (i < g->shape.next_ops)
		return prot_own_bufs(g) + i;
	i -= g->shape.next_ops;
	return prot_own_bufs(g) + PROT_BUF_FIRST * (i / 2 + 1) + i % 2;
}

static u32 group_buf_queue(const struct prot_gop *op, bool small)
{
	if (op->kind == PROT_READ)
		return small ? PROT_Q_SMALL_READ : PROT_Q_READ_BUF;
	return small ? PROT_Q_SMALL : PROT_Q_BUF;
}

/* A free one, from @i on. */
static u32 group_next_buf(const struct prot_group *g, u32 i, bool small)
{
	i = prot_set_next(prot_free_bufs(g), prot_nr_bufs(&g->cfg), i);
	return small || i < g->cfg.bufs ? i : PROT_SET_NONE;
}

/*
 * A buffer for @op, in its turn. All that writes have may wait for an epoch, and without
 * one no read could be served that has to rebuild: so reads have a share that writes
 * leave to them, and wait in a queue of their own. Beyond it, writes that wait come first.
 */
u32 prot_buf_next(const struct prot_group *g, const struct prot_gop *op, bool small)
{
	u32 keep = g->shape.kept_bufs[small];
	u32 i = group_next_buf(g, small ? g->cfg.bufs : 0, small);

	keep -= min(keep, g->read_bufs[small]);
	if (!prot_turn(g, op, group_buf_queue(op, small)))
		return PROT_SET_NONE;
	if (op->kind == PROT_READ)
		return keep || prot_queue(g, small ? PROT_Q_SMALL : PROT_Q_BUF)->head ==
			       PROT_NONE16 ? i : PROT_SET_NONE;
	if (PROT_MUTANT(NO_RESERVE))
		return i;
	for (; keep && i != PROT_SET_NONE; keep--)
		i = group_next_buf(g, i + 1, small);
	return i;
}

/*
 * What fits a small one waits for one of these alone, so large requests never hold it up; it
 * gets another one if that is there at once and it @grows: others could go with it then.
 */
bool prot_buf_get(struct prot_group *g, struct prot_gop *op, bool grows)
{
	bool small = g->cfg.smalls && op->length <= g->cfg.small;
	u32 i = PROT_SET_NONE;

	if (op->purpose != PROT_FOR_REQUEST) {
		op->buf = *prot_own_buf(g, op);
		return true;
	}
	if (!small || grows)
		i = prot_buf_next(g, op, false);
	if (small && i == PROT_SET_NONE)
		i = prot_buf_next(g, op, true);
	if (i == PROT_SET_NONE) {
		g->counts.buffer_waits += prot_wait(g, op, group_buf_queue(op, small));
		return false;
	}
	prot_set_drop(prot_free_bufs(g), prot_nr_bufs(&g->cfg), i);
	g->read_bufs[i >= g->cfg.bufs] += op->kind == PROT_READ;
	op->buf = i;
	return true;
}

/* Ops may have @i. */
void prot_buf_free(struct prot_group *g, u32 i)
{
	bool small = i >= g->cfg.bufs;

	prot_set_put(prot_free_bufs(g), prot_nr_bufs(&g->cfg), i);
	prot_wake(g, small ? PROT_Q_SMALL : PROT_Q_BUF);
	prot_wake(g, small ? PROT_Q_SMALL_READ : PROT_Q_READ_BUF);
}

void prot_buf_put(struct prot_group *g, struct prot_gop *op)
{
	if (op->buf != PROT_NONE16 && op->purpose == PROT_FOR_REQUEST) {
		g->read_bufs[op->buf >= g->cfg.bufs] -= op->kind == PROT_READ;
		if (!prot_aside_keep(g, op->buf))
			prot_buf_free(g, op->buf);
	}
	op->buf = PROT_NONE16;
}

/* An op is over: nothing of it is in flight. Its caller learns by an event. */
void prot_end(struct prot_group *g, struct prot_gop *op, int err)
{
	op->err = err;
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

/* An I/O to the records of @member; the caller completes its tag and place in @buffer. */
void prot_records_io(struct prot_event *ev, u32 member, u8 kind, u64 addr, u32 length,
		     u32 buffer)
{
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
	ev->runs[0].buffer = buffer;
	ev->runs[0].length = length;
}

/* The one I/O of these to @member that is in flight, @from its metadata buffer. */
void prot_meta_io(struct prot_group *g, u32 member, u8 what, u8 kind, u64 addr, u32 from,
		  u32 length, struct prot_event *ev)
{
	struct prot_meta *m = &g->meta[member];

	m->busy = 1;
	m->what = what;
	m->kind = kind;
	prot_records_io(ev, member, kind, addr, length, PROT_BUFFER_META + member);
	ev->runs[0].offset = from;
}

/* To the end of the bucket, and so of the region, where bytes are those of each member. */
u64 prot_region_span(const struct prot_group *g, u64 addr)
{
	u64 end = ((addr >> g->shape.bucket_shift) + 1) << g->shape.bucket_shift;

	return min(end, g->cfg.bytes) - addr;
}

/* Background work of such levels: as much as a buffer takes. */
void prot_region_start_rows(struct prot_group *g, struct prot_gop *op, u64 addr, bool narrow)
{
	prot_start(g, op, addr, min_t(u64, narrow ? g->cfg.lba : g->cfg.buf_bytes,
				      prot_region_span(g, addr)));
}

u64 prot_group_span(const struct prot_group *g, u8 kind, u64 addr)
{
	u64 span = prot_policy(g)->span(g, addr);

	return kind > PROT_WRITE ? min_t(u64, span, g->shape.zeroes_max) : span;
}

int prot_group_submit(struct prot_group *g, u8 kind, u8 flags, u64 addr, u32 length, u64 cookie)
{
	struct prot_gop *op;
	u32 i;

	if (g->state == PROT_G_STOPPED)
		return -EIO;
	if (g->state != PROT_G_SERVING)
		return -EAGAIN;
	if (g->cfg.ro && kind != PROT_READ)
		return -EROFS;
	if (kind > PROT_ZEROES || !length || addr >= g->cfg.bytes * g->shape.data ||
	    length > prot_group_span(g, kind, addr) || (addr | length) & (g->cfg.lba - 1))
		return -EINVAL;
	i = prot_set_next(prot_free_ops(g), g->cfg.ops, 0);
	if (i == PROT_SET_NONE) {
		prot_group_hurry(g);
		return -EAGAIN;
	}
	prot_set_drop(prot_free_ops(g), g->cfg.ops, i);
	op = prot_gop(g, i);
	op->cookie = cookie;
	op->kind = kind;
	/* all copies must read zero afterwards, so a discard is a zeroing */
	if (kind == PROT_DISCARD && !PROT_MUTANT(DISCARD))
		op->kind = PROT_ZEROES;
	op->flags = flags & ~PROT_UNREAD;
	op->purpose = PROT_FOR_REQUEST;
	op->retried = 0;
	op->acked = 0;
	prot_policy(g)->start(g, op, addr, length);
	if (flags & PROT_UNREAD)
		prot_repair_note(g, op, op->addr, op->length);
	return i;
}

/* An op that has ended: background ops go on by themselves, requests are announced. */
static bool group_ended(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	prot_phase(g, op, PROT_P_FREE);
	group_pop_ready(g);
	if (op->purpose == PROT_FOR_SYNC)
		prot_sync_ended(g, op);
	else if (op->purpose == PROT_FOR_SCRUB)
		prot_scrub_ended(g, op);
	if (op->purpose != PROT_FOR_REQUEST)
		return false;
	prot_set_put(prot_free_ops(g), g->cfg.ops, prot_gop_index(g, op));
	memset(ev, 0, sizeof(*ev));
	ev->kind = op->acked ? PROT_EV_FREE : PROT_EV_DONE;
	ev->cookie = op->cookie;
	ev->err = op->acked ? 0 : op->err;
	ev->op = prot_gop_index(g, op);
	ev->freed = true;
	return true;
}

/* What @op wants done, if anything, in this phase or those that follow at once. */
static bool group_op_next(struct prot_group *g, struct prot_gop *op, struct prot_event *ev)
{
	const struct prot_policy *policy = prot_policy(g);
	u8 before;

	if (g->state == PROT_G_STOPPED) {
		if (!(op->sent & ~op->ended))
			policy->stop(g, op);
		return false;
	}
	do {
		before = op->phase;
		if (policy->step(g, op, ev))
			return true;
	} while (op->phase != before && op->phase != PROT_P_ENDED);
	return false;
}

void prot_group_next(struct prot_group *g, struct prot_event *ev)
{
	const struct prot_policy *policy = prot_policy(g);
	u32 turns = 0;

	do {
		if (prot_member_event(g, ev))
			return;
		if (turns++ == PROT_TURNS)
			break;
		while (g->ready_head != PROT_NONE16) {
			struct prot_gop *op = prot_gop(g, g->ready_head);

			if (op->phase == PROT_P_ENDED) {
				if (group_ended(g, op, ev))
					return;
			} else if (group_op_next(g, op, ev)) {
				return;
			} else if (op->phase != PROT_P_ENDED) {
				group_pop_ready(g);
				if (op->again)
					prot_ready(g, op);
				op->again = 0;
			}
		}
		if (g->cfg.ro)
			break;
		if (g->state != PROT_G_STOPPED && policy->meta_next(g, ev))
			return;
		if (prot_bitmap_next(g, ev))
			return;
	} while (prot_sync_next(g) || (policy->background && policy->background(g)));
	/* the last step may have changed what there is to announce */
	if (prot_member_event(g, ev))
		return;
	ev->kind = PROT_EV_NONE;
	ev->freed = false;
	if (turns > PROT_TURNS || g->sync.more || prot_bitmap_age(g))
		ev->kind = PROT_EV_AGAIN;
}

void prot_group_result(struct prot_group *g, u32 tag, int err)
{
	struct prot_gop *op;
	u32 member = tag & ((1U << PROT_TAG_SHIFT) - 1);
	u32 block = (tag & ~PROT_TAG_META) >> PROT_TAG_SHIFT;

	if (tag & PROT_TAG_META) {
		if (block)
			prot_bitmap_written(g, member, block - 1, err);
		else if (g->meta[member].what == PROT_META_BITMAP)
			prot_bitmap_result(g, member, err);
		else
			prot_policy(g)->meta_result(g, member, err);
		return;
	}
	op = prot_gop(g, tag >> PROT_TAG_SHIFT);
	op->ended |= PROT_BIT(member);
	if (!err)
		op->ok |= PROT_BIT(member);
	if (PROT_MUTANT(BACK_ALONE) && !err && g->failed >> member & 1)
		prot_member_believe(g, member);
	prot_policy(g)->result(g, op, member, err);
	prot_ready(g, op);
}

void prot_group_idle(struct prot_group *g)
{
	g->sync.stalled = 0;
	if (g->state == PROT_G_SERVING && !g->failed && !g->cfg.ro && prot_policy(g)->idle)
		prot_policy(g)->idle(g);
}

void prot_group_hurry(struct prot_group *g)
{
	if (prot_policy(g)->hurry)
		prot_policy(g)->hurry(g);
}

bool prot_group_settle(struct prot_group *g)
{
	if (g->state != PROT_G_SERVING)
		return false;
	if (g->cfg.ro)
		return true;
	return (!prot_policy(g)->settle || prot_policy(g)->settle(g)) && prot_bitmap_settled(g);
}

bool prot_group_quiet(const struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++)
		if (prot_gop(g, i)->phase != PROT_P_FREE)
			return false;
	for (i = 0; i < g->cfg.width; i++)
		if (g->meta[i].busy || prot_bitmap_busy(g, i))
			return false;
	return true;
}
