/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A buddy allocator of arena offsets: blocks of 4 KiB to 128 KiB.
 *
 *   order 0  |4K|4K|4K|4K|      a block begins at a multiple of its size,
 *   order 1  | 8K  | 8K  |      counted in arena offsets, so it never crosses
 *   order 2  |    16K    |      the border of a registered piece that is a
 *                               multiple of the largest block
 *
 * Single pages come out of rows first: a row is a largest block, and its pages are taken one behind
 * the other. Data written to consecutive pages goes in one work request.
 *
 *   row  |u|u|u|f|f|f|f|u|f| ...   next is the first free one from here on
 *               ^next
 *
 * Some freed blocks of one page outside rows, and of two pages, are kept unmerged for the next
 * allocations: one stack for each order. Kept blocks, and rows with all pages free, are merged when
 * no block of the wanted size is free.
 *
 * Pure: the memory is handed in, the caller locks.
 */
#ifndef RDDA_BUDDY_H
#define RDDA_BUDDY_H

#include <linux/types.h>

#include "rdda/wire.h"

#define RDDA_ORDER_MAX		5	/* 4 KiB << 5 = 128 KiB */
#define RDDA_BUDDY_PAGES_MAX	0xffff
#define RDDA_BUDDY_KEEP		32	/* kept blocks of one order, at most */
#define RDDA_BUDDY_KEPT		2	/* orders with kept blocks: 0 and 1 */
#define RDDA_BUDDY_ROWS		4	/* rows, at most, and ... */
#define RDDA_BUDDY_ROW_PART	128	/* ... pages of a run for each row */

/* State of one page. */
struct rdda_buddy_page {
	/*
	 * next free block of this order, by page index; NO_PAGE at the end. Single page in use: its
	 * row
	 */
	u16	next;
	u16	prev;	/* previous free block */
	u8	order;	/* of the block that begins here */
	u8	state;	/* block that begins here: free, kept, used; or none begins */
};

/* Pages handed out one by one, in order. */
struct rdda_buddy_row {
	u32	free;	/* one bit a page: free */
	u16	first;	/* index of the first page; NO_PAGE: no row */
	u8	next;	/* bit where the search begins */
};

/* The pages of one run of the arena. */
struct rdda_buddy {
	struct rdda_buddy_page *page;		/* one entry a page, memory of the caller */
	u32	first;				/* page number of the run's start, in the arena */
	u32	pages;				/* number of pages in the run */
	u32	avail;				/* free pages, kept ones included */
	u8	max_order;			/* largest block */
	u8	nr_rows;			/* rows, at most */
	u8	row;				/* index of the current row */
	struct rdda_buddy_row rows[RDDA_BUDDY_ROWS];
	u8	nr_kept[RDDA_BUDDY_KEPT];
	u16	kept[RDDA_BUDDY_KEPT][RDDA_BUDDY_KEEP];	/* stacks of page indexes */
	u16	head[RDDA_ORDER_MAX + 1];	/* free blocks per order */
};

int rdda_buddy_init(struct rdda_buddy *b, struct rdda_buddy_page *mem, u32 off, u32 len,
		    unsigned int max_order);
unsigned int rdda_buddy_order(u32 bytes);
int rdda_buddy_alloc(struct rdda_buddy *b, unsigned int order, u32 *off);
int rdda_buddy_alloc_behind(struct rdda_buddy *b, unsigned int order, u32 *off);
int rdda_buddy_free(struct rdda_buddy *b, u32 off);

#endif
