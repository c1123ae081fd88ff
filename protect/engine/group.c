// SPDX-License-Identifier: GPL-2.0-only
/* The group engine: memory, requests, the order of events. See group.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

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
	/* drives may want buffers in memory aligned to their blocks */
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

static void group_pop_ready(struct prot_group *g)
{
	struct prot_gop *op = prot_gop(g, g->ready_head);

	op->queued = 0;
	g->ready_head = op->ready;
	if (g->ready_head == PROT_NONE16)
		g->ready_tail = PROT_NONE16;
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

/* An op has ended: a background op goes on without an event, a request is announced. */
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

/*
 * Let @op begin an event in the current phase, or in phases entered meanwhile. True: @ev is
 * filled in.
 */
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

/* Begin background work. True: there is more to fetch; or @sync.more, with the next call. */
static bool group_background(struct prot_group *g)
{
	g->sync.more = 0;
	if (g->state != PROT_G_SERVING)
		return false;
	/* members without copies use the allowance first, and the scrub uses the rest */
	prot_sync_start(g);
	prot_scrub_start(g);
	return prot_sync_promote(g) || g->ready_head != PROT_NONE16;
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
	} while (group_background(g) || (policy->background && policy->background(g)));
	/* the last step may have changed members or the group */
	if (prot_member_event(g, ev))
		return;
	ev->kind = PROT_EV_NONE;
	ev->freed = false;
	if (turns > PROT_TURNS || g->sync.more || prot_bitmap_age(g))
		ev->kind = PROT_EV_AGAIN;
}

/* An I/O of records has ended: of bitmap blocks, or of the level's own. */
static void group_meta_result(struct prot_group *g, u32 tag, u32 member, int err)
{
	u32 block = (tag & ~PROT_TAG_META) >> PROT_TAG_SHIFT;
	bool failed = false;

	if (block)
		failed = prot_bitmap_written(g, member, block - 1, err);
	else if (g->meta[member].what == PROT_META_BITMAP)
		failed = prot_bitmap_result(g, member, err);
	else
		prot_policy(g)->meta_result(g, member, err);
	if (failed)
		prot_member_failed(g, member);
}

void prot_group_result(struct prot_group *g, u32 tag, int err)
{
	struct prot_gop *op;
	u32 member = tag & ((1U << PROT_TAG_SHIFT) - 1);

	if (tag & PROT_TAG_META) {
		group_meta_result(g, tag, member, err);
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
