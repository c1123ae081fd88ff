// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of the target's arena, allocated by the client, and the client's own bounce arena, into
 * which the target pushes small reads.
 *
 *   arena    | channel 0's part | channel 1's part | ...   registered in pieces
 *   bounce   | channel 0        | channel 1        | ...   one registration
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/bitmap.h>
#include <linux/highmem.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/control.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

static unsigned int push_bytes = 4096;
module_param(push_bytes, uint, 0644);
MODULE_PARM_DESC(push_bytes, "reads up to this size are pushed by the target and copied; taken at login");

/*
 * Check that the client can use the pieces named by the target. A block of the buddy allocator must
 * not cross pieces: the alignment of their borders limits the largest block. Return: 0 or -EPROTO.
 */
int rdda_arena_check(struct rdda_session *s)
{
	u32 end = 0, off, len, borders = RDDA_PAGE << RDDA_ORDER_MAX;
	unsigned int i;

	for (i = 0; i < s->arena.nr; i++) {
		off = le32_to_cpu(s->arena.pieces[i].off);
		len = le32_to_cpu(s->arena.pieces[i].len);
		if (off != end || off % RDDA_PAGE || !len || len % RDDA_PAGE || off + len < off)
			return -EPROTO;
		borders |= off;
		end += len;
	}
	if (end != s->arena.bytes)
		return -EPROTO;
	s->arena.max_order = min_t(u32, __ffs(borders) - RDDA_PAGE_SHIFT, RDDA_ORDER_MAX);
	return 0;
}

/*
 * Take over a channel's part of the arena. @ch: proved, with arena.off and arena.len as granted.
 * Return: 0, -EPROTO for a part outside the arena, or -ENOMEM.
 */
int rdda_arena_setup(struct rdda_chan *ch)
{
	u32 off = ch->arena.off, len = ch->arena.len;

	if (off > ch->s->arena.bytes || len > ch->s->arena.bytes - off)
		return -EPROTO;
	ch->arena.mem = kvcalloc(len / RDDA_PAGE + 1, sizeof(*ch->arena.mem), GFP_KERNEL);
	if (!ch->arena.mem)
		return -ENOMEM;
	ch->arena.max_order = ch->s->arena.max_order;
	if (rdda_buddy_init(&ch->arena.buddy, ch->arena.mem, off, len, ch->arena.max_order))
		return -EPROTO;
	/* No command may be larger than the largest free block. */
	while (ch->arena.max_order && ch->arena.buddy.head[ch->arena.max_order] == 0xffff)
		ch->arena.max_order--;
	return 0;
}

/* Allocate a block of at least @bytes. Return: 0 or -ENOMEM. Channel locked. */
int rdda_arena_alloc(struct rdda_chan *ch, u32 bytes, u32 *off)
{
	lockdep_assert_held(&ch->lock);
	return rdda_buddy_alloc(&ch->arena.buddy, rdda_buddy_order(bytes), off);
}

/*
 * Allocate the memory of a payload and its header, which lies at the end of a page before the
 * payload's block: one run of pages if possible, else two blocks. @slot: gets both. @bytes: of the
 * payload, without the header. Return: 0 or -ENOMEM. Channel locked.
 */
int rdda_arena_alloc_headed(struct rdda_chan *ch, struct rdda_cmd_slot *slot, u32 bytes)
{
	unsigned int order = rdda_buddy_order(bytes);

	lockdep_assert_held(&ch->lock);
	slot->one_run = !rdda_buddy_alloc_behind(&ch->arena.buddy, order, &slot->arena);
	if (slot->one_run) {
		slot->head_page = slot->arena - RDDA_PAGE;
		return 0;
	}
	if (rdda_buddy_alloc(&ch->arena.buddy, order, &slot->arena))
		return -ENOMEM;
	if (!rdda_buddy_alloc(&ch->arena.buddy, 0, &slot->head_page))
		return 0;
	rdda_arena_free(ch, slot->arena);
	return -ENOMEM;
}

/* Free a block: nothing reads or writes there any more. Channel locked. */
void rdda_arena_free(struct rdda_chan *ch, u32 off)
{
	lockdep_assert_held(&ch->lock);
	WARN_ON_ONCE(rdda_buddy_free(&ch->arena.buddy, off));
}

/* Find the registered piece that holds a block. */
const struct rdda_piece *rdda_arena_piece(struct rdda_session *s, u32 off)
{
	unsigned int i;

	for (i = 0; i + 1 < s->arena.nr; i++)
		if (off < le32_to_cpu(s->arena.pieces[i + 1].off))
			break;
	return &s->arena.pieces[i];
}

/*
 * Allocate the bounce pages: one page for each entry, mapped separately, so that the CPU can take
 * over each page alone.
 */
static int bounce_pages(struct rdda_session *s)
{
	unsigned int i, n = DIV_ROUND_UP(s->bounce.bytes, PAGE_SIZE);
	struct scatterlist *sg;

	s->bounce.page = kvcalloc(n, sizeof(*s->bounce.page), GFP_KERNEL);
	s->bounce.dma = kvcalloc(n, sizeof(*s->bounce.dma), GFP_KERNEL);
	if (!s->bounce.page || !s->bounce.dma || sg_alloc_table(&s->bounce.sgt, n, GFP_KERNEL))
		return -ENOMEM;
	for_each_sg(s->bounce.sgt.sgl, sg, n, i) {
		u32 len = min_t(u32, PAGE_SIZE, s->bounce.bytes - i * PAGE_SIZE);
		struct page *page = rdda_page_get(&s->t->pages);

		if (!page)
			return -ENOMEM;
		s->bounce.dma[i] = ib_dma_map_page(s->dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
		if (ib_dma_mapping_error(s->dev, s->bounce.dma[i])) {
			rdda_page_put(&s->t->pages, page);
			return -ENOMEM;
		}
		s->bounce.page[i] = page;
		sg_set_page(sg, page, len, 0);
		sg_dma_address(sg) = s->bounce.dma[i];
		sg_dma_len(sg) = len;
	}
	return 0;
}

static int bounce_register(struct rdda_session *s, struct rdda_chan *ch)
{
	unsigned int all;

	/*
	 * One block for each command would be best; the pages of one registration limit the number.
	 */
	s->bounce.push_bytes = ALIGN(clamp_t(u32, READ_ONCE(push_bytes), 1, SZ_64K), RDDA_PAGE);
	all = min_t(u64, s->nchan * ch->slot.nr,
		    (u64)s->lim.mr_pages * RDDA_PAGE / s->bounce.push_bytes);
	s->bounce.bytes = all * s->bounce.push_bytes;
	s->bounce.blocks = all / s->nchan;
	if (bounce_pages(s))
		return -ENOMEM;
	s->bounce.mr = rdda_mr_register(ch->q.qp, s->bounce.sgt.sgl, s->bounce.sgt.orig_nents,
					s->bounce.bytes,
					IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	if (IS_ERR(s->bounce.mr)) {
		int ret = PTR_ERR(s->bounce.mr);

		s->bounce.mr = NULL;
		return ret;
	}
	return 0;
}

/*
 * Set up a channel's part of the bounce arena. @ch: proved; channel 0 comes first and registers the
 * whole bounce arena.
 */
int rdda_bounce_setup(struct rdda_session *s, struct rdda_chan *ch)
{
	int ret = ch->index ? 0 : bounce_register(s, ch);

	if (ret)
		return ret;
	ch->bounce.off = ch->index * s->bounce.blocks * s->bounce.push_bytes;
	ch->bounce.map = bitmap_zalloc(s->bounce.blocks + 1, GFP_KERNEL);
	ch->bounce.cmd = kvcalloc(s->bounce.blocks + 1, sizeof(*ch->bounce.cmd), GFP_KERNEL);
	return ch->bounce.map && ch->bounce.cmd ? 0 : -ENOMEM;
}

/*
 * Take a bounce block for a read to be pushed. @ch: channel, locked. Blocks are taken in turn, so
 * reads submitted one after the other have adjacent blocks and the target may push them together.
 * Return: false when no block is free.
 */
bool rdda_bounce_take(struct rdda_chan *ch, struct rdda_cmd_slot *slot)
{
	unsigned int b, nr = ch->s->bounce.blocks;

	lockdep_assert_held(&ch->lock);
	b = find_next_zero_bit(ch->bounce.map, nr, ch->bounce.next);
	if (b >= nr)
		b = find_first_zero_bit(ch->bounce.map, nr);
	if (b >= nr)
		return false;
	__set_bit(b, ch->bounce.map);
	ch->bounce.cmd[b] = slot->idx;
	ch->bounce.next = b + 1;
	slot->bounce = ch->bounce.off + b * ch->s->bounce.push_bytes;
	return true;
}

/*
 * Free the bounce block of a command: its data was copied out, or will never come. Channel locked.
 */
void rdda_bounce_give(struct rdda_cmd_slot *slot)
{
	struct rdda_chan *ch = slot->ch;

	lockdep_assert_held(&ch->lock);
	__clear_bit(rdda_bounce_block(slot), ch->bounce.map);
}

/* Free the bounce arena. @s: session whose queue pairs are destroyed. */
void rdda_bounce_free(struct rdda_session *s)
{
	unsigned int i, n = DIV_ROUND_UP(s->bounce.bytes, PAGE_SIZE);

	if (s->bounce.mr)
		ib_dereg_mr(s->bounce.mr);
	for (i = 0; s->bounce.page && i < n && s->bounce.page[i]; i++) {
		ib_dma_unmap_page(s->dev, s->bounce.dma[i], PAGE_SIZE, DMA_FROM_DEVICE);
		rdda_page_put(&s->t->pages, s->bounce.page[i]);
	}
	sg_free_table(&s->bounce.sgt);
	kvfree(s->bounce.dma);
	kvfree(s->bounce.page);
	s->bounce.page = NULL;
}

/* Copy bytes into a scatterlist's pages, from byte @at of @sg on. Return: the next byte of @sg. */
static u32 bounce_scatter(struct scatterlist **sg, u32 at, const u8 *from, u32 bytes)
{
	u32 n;

	for (; bytes; bytes -= n, from += n, at += n) {
		if (at == (*sg)->length) {
			*sg = sg_next(*sg);
			at = 0;
		}
		n = offset_in_page((*sg)->offset + at);
		n = min3(bytes, (u32)PAGE_SIZE - n, (*sg)->length - at);
		memcpy_to_page(nth_page(sg_page(*sg), ((*sg)->offset + at) >> PAGE_SHIFT),
			       offset_in_page((*sg)->offset + at), from, n);
	}
	return at;
}

/*
 * Copy pushed data out to the I/O's pages. @slot: all of its I/O; in state COPY, so no other path
 * touches the slot. RDDA does not interpret the data: either the drive sent these bytes or a
 * hostile target did.
 */
void rdda_bounce_copy(struct rdda_cmd_slot *slot)
{
	struct rdda_session *s = slot->ch->s;
	struct scatterlist *sg = slot->io->sg;
	u32 off = slot->bounce, left = slot->len, at = 0;

	while (left) {
		u32 page = off / PAGE_SIZE, in_page = off % PAGE_SIZE;
		u32 n = min_t(u32, left, PAGE_SIZE - in_page);
		u64 dma = s->bounce.dma[page] + in_page;

		ib_dma_sync_single_for_cpu(s->dev, dma, n, DMA_FROM_DEVICE);
		at = bounce_scatter(&sg, at, page_address(s->bounce.page[page]) + in_page, n);
		ib_dma_sync_single_for_device(s->dev, dma, n, DMA_FROM_DEVICE);
		off += n;
		left -= n;
	}
}
