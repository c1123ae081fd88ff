// SPDX-License-Identifier: GPL-2.0-only
/* A buddy allocator of arena offsets. Pure; see buddy.h. */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "rdda/buddy.h"

#define NO_PAGE	0xffff

enum page_state {
	PAGE_INSIDE,		/* no block begins here */
	PAGE_FREE,
	PAGE_KEPT,		/* kept, or free in a row */
	PAGE_USED,
};

static void buddy_push(struct rdda_buddy *b, u32 i, unsigned int order)
{
	struct rdda_buddy_page *p = &b->page[i];

	p->state = PAGE_FREE;
	p->order = order;
	p->prev = NO_PAGE;
	p->next = b->head[order];
	if (p->next != NO_PAGE)
		b->page[p->next].prev = i;
	b->head[order] = i;
}

static void buddy_take(struct rdda_buddy *b, u32 i)
{
	struct rdda_buddy_page *p = &b->page[i];

	if (p->prev != NO_PAGE)
		b->page[p->prev].next = p->next;
	else
		b->head[p->order] = p->next;
	if (p->next != NO_PAGE)
		b->page[p->next].prev = p->prev;
	p->state = PAGE_INSIDE;
}

/*
 * Take over a run of the arena, all free. @mem: one entry for each page of the run. @off: arena
 * offset of the run, a multiple of RDDA_PAGE. @len: bytes of the run, a multiple of RDDA_PAGE, not
 * zero. @max_order: largest block, at most RDDA_ORDER_MAX. Return: 0, or -EINVAL.
 */
int rdda_buddy_init(struct rdda_buddy *b, struct rdda_buddy_page *mem, u32 off, u32 len,
		    unsigned int max_order)
{
	unsigned int order;
	u32 i, n;

	if (off % RDDA_PAGE || len % RDDA_PAGE || !len || off + len < off ||
	    len / RDDA_PAGE > RDDA_BUDDY_PAGES_MAX || max_order > RDDA_ORDER_MAX)
		return -EINVAL;
	b->page = mem;
	b->first = off / RDDA_PAGE;
	b->pages = len / RDDA_PAGE;
	b->avail = b->pages;
	b->max_order = max_order;
	memset(b->nr_kept, 0, sizeof(b->nr_kept));
	b->nr_rows = max_order ? min(b->pages / RDDA_BUDDY_ROW_PART, RDDA_BUDDY_ROWS + 0U) : 0;
	b->row = 0;
	for (i = 0; i < RDDA_BUDDY_ROWS; i++)
		b->rows[i].first = NO_PAGE;
	for (order = 0; order <= RDDA_ORDER_MAX; order++)
		b->head[order] = NO_PAGE;
	for (i = 0; i < b->pages; i++)
		mem[i].state = PAGE_INSIDE;
	for (i = 0; i < b->pages; i += n) {
		for (order = max_order; order; order--)
			if (!((b->first + i) % (1U << order)) && b->pages - i >= 1U << order)
				break;
		n = 1U << order;
		buddy_push(b, i, order);
	}
	return 0;
}

/* Find the smallest order that holds @bytes, RDDA_PAGE << RDDA_ORDER_MAX at most. */
unsigned int rdda_buddy_order(u32 bytes)
{
	unsigned int order = 0;

	while (order < RDDA_ORDER_MAX && RDDA_PAGE << order < bytes)
		order++;
	return order;
}

/* Free a block, merged with its free neighbours. */
static void buddy_merge(struct rdda_buddy *b, u32 i, unsigned int order)
{
	u32 n = b->first + i, mate;

	b->page[i].state = PAGE_INSIDE;
	while (order < b->max_order) {
		mate = (n ^ (1U << order)) - b->first;
		/* A run need not begin or end at a multiple of the largest block. */
		if (mate >= b->pages || b->page[mate].state != PAGE_FREE ||
		    b->page[mate].order != order)
			break;
		buddy_take(b, mate);
		n &= ~(1U << order);
		order++;
	}
	buddy_push(b, n - b->first, order);
}

/*
 * Find the smallest order, from @order on, with a free block. Return: above the largest if there is
 * none.
 */
static unsigned int buddy_find(const struct rdda_buddy *b, unsigned int order)
{
	while (order <= b->max_order && b->head[order] == NO_PAGE)
		order++;
	return order;
}

/* Bits of a row with all pages free. */
static u32 row_full(const struct rdda_buddy *b)
{
	return ~0U >> (32 - (1U << b->max_order));
}

static bool row_make(struct rdda_buddy *b, struct rdda_buddy_row *r)
{
	u32 i, first = b->head[b->max_order];

	if (first == NO_PAGE)
		return false;
	buddy_take(b, first);
	for (i = first; i < first + (1U << b->max_order); i++)
		b->page[i].state = PAGE_KEPT;
	r->first = first;
	r->free = row_full(b);
	r->next = 0;
	return true;
}

static bool row_merge(struct rdda_buddy *b, struct rdda_buddy_row *r)
{
	u32 i;

	if (r->first == NO_PAGE || r->free != row_full(b))
		return false;
	for (i = r->first; i < r->first + (1U << b->max_order); i++)
		b->page[i].state = PAGE_INSIDE;
	buddy_push(b, r->first, b->max_order);
	r->first = NO_PAGE;
	return true;
}

/*
 * Take the next page of the current row, or of another row. Return: false when no row has a free
 * page.
 */
static bool row_take(struct rdda_buddy *b, u32 *i)
{
	u32 half = row_full(b) >> (1U << b->max_order >> 1);
	struct rdda_buddy_row *r;
	unsigned int n, bit;

	/* visit each row twice: to its end, and from its beginning */
	for (n = 0; n < 2U * b->nr_rows; n++) {
		r = &b->rows[b->row];
		if (r->first != NO_PAGE || row_make(b, r)) {
			/* a few pages used again and again stay in caches */
			if (!(r->free & ~0ULL << r->next) && (r->free & half) == half)
				r->next = 0;
			if (r->free & ~0ULL << r->next)
				goto found;
			r->next = 0;
		}
		b->row = (b->row + 1) % b->nr_rows;
	}
	return false;

found:
	bit = __ffs64(r->free & ~0ULL << r->next);
	r->free &= ~(1U << bit);
	r->next = bit + 1;
	*i = r->first + bit;
	b->page[*i].next = b->row;
	return true;
}

static void row_give(struct rdda_buddy *b, u32 i)
{
	struct rdda_buddy_row *r = &b->rows[b->page[i].next];

	b->page[i].state = PAGE_KEPT;
	r->free |= 1U << (i - r->first);
	if (r->free == row_full(b))
		r->next = 0;
}

/* Merge all kept blocks, and rows without used pages. Return: true if there were any. */
static bool buddy_merge_kept(struct rdda_buddy *b)
{
	unsigned int order, n;
	bool any = false;

	for (order = 0; order < RDDA_BUDDY_KEPT; order++)
		for (; b->nr_kept[order]; any = true)
			buddy_merge(b, b->kept[order][--b->nr_kept[order]], order);
	for (n = 0; n < b->nr_rows; n++)
		any |= row_merge(b, &b->rows[n]);
	return any;
}

/*
 * Take a block of RDDA_PAGE << @order bytes. @off: set to the block's arena offset. Return: 0, or
 * -ENOMEM when no block of this size is free now.
 */
int rdda_buddy_alloc(struct rdda_buddy *b, unsigned int order, u32 *off)
{
	unsigned int o;
	u32 i;

	if (!order && row_take(b, &i))
		goto row;
	if (order < RDDA_BUDDY_KEPT && b->nr_kept[order]) {
		i = b->kept[order][--b->nr_kept[order]];
		goto found;
	}
	o = buddy_find(b, order);
	if (o > b->max_order && buddy_merge_kept(b))
		o = buddy_find(b, order);
	if (o > b->max_order)
		return -ENOMEM;
	i = b->head[o];
	buddy_take(b, i);
	while (o > order) {
		o--;
		buddy_push(b, i + (1U << o), o);
	}
found:
	b->page[i].next = NO_PAGE;
row:
	b->page[i].order = order;
	b->page[i].state = PAGE_USED;
	b->avail -= 1U << order;
	*off = (b->first + i) * RDDA_PAGE;
	return 0;
}

/*
 * Take a block and, as a separate block, the page before: data written to the end of that page and
 * to the block is one run. @off: set to the block's arena offset. Return: 0, or -ENOMEM when no
 * block of twice the size is free now.
 */
int rdda_buddy_alloc_behind(struct rdda_buddy *b, unsigned int order, u32 *off)
{
	unsigned int o;
	u32 start, i;

	if (order >= b->max_order || rdda_buddy_alloc(b, order + 1, &start))
		return -ENOMEM;
	i = start / RDDA_PAGE - b->first;
	b->page[i].state = PAGE_INSIDE;
	*off = start + (RDDA_PAGE << order);
	b->page[i + (1U << order)].state = PAGE_USED;
	b->page[i + (1U << order)].order = order;
	b->page[i + (1U << order)].next = NO_PAGE;
	/* free all of the lower half but its last page */
	for (o = order; o--; i += 1U << o)
		buddy_push(b, i, o);
	b->page[i].state = PAGE_USED;
	b->page[i].order = 0;
	b->page[i].next = NO_PAGE;
	b->avail += (1U << order) - 1;
	return 0;
}

/*
 * Free a block. @off: as rdda_buddy_alloc() gave it. Return: 0, or -EINVAL when no used block
 * begins there.
 */
int rdda_buddy_free(struct rdda_buddy *b, u32 off)
{
	u32 n = off / RDDA_PAGE, i = n - b->first;
	unsigned int order;

	if (off % RDDA_PAGE || n < b->first || i >= b->pages || b->page[i].state != PAGE_USED)
		return -EINVAL;
	order = b->page[i].order;
	b->avail += 1U << order;
	if (b->page[i].next != NO_PAGE) {
		row_give(b, i);
		return 0;
	}
	if (order < RDDA_BUDDY_KEPT && b->nr_kept[order] < RDDA_BUDDY_KEEP) {
		b->page[i].state = PAGE_KEPT;
		b->kept[order][b->nr_kept[order]++] = i;
		return 0;
	}
	buddy_merge(b, i, order);
	return 0;
}
