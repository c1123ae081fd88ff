/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A buddy allocator of arena offsets: blocks of 4 KiB to 128 KiB.
 *
 *   order 0  |4K|4K|4K|4K|      a block begins at a multiple of its size,
 *   order 1  | 8K  | 8K  |      counted in arena offsets, so it never crosses
 *   order 2  |    16K    |      the border of a registered piece that is a
 *                               multiple of the largest block
 *
 * Single pages come out of rows first, a largest block each, one behind the other: what is written
 * to pages that follow one another goes in one work request.
 *
 *   row  |u|u|u|f|f|f|f|u|f| ...   next is the first free one from here on
 *               ^next
 *
 * Some blocks of one page beside those, and of two, that were given back are kept as they are, for
 * the next that need one: a stack of each. They are merged when a block is wanted that is not
 * there, and so are rows that are all free.
 *
 * Pure: the memory is handed in, the caller locks.
 */
#ifndef RDDA_BUDDY_H
#define RDDA_BUDDY_H

#include <linux/types.h>

#include "rdda/wire.h"

#define RDDA_ORDER_MAX		5	/* 4 KiB << 5 = 128 KiB */
#define RDDA_BUDDY_PAGES_MAX	0xffff
#define RDDA_BUDDY_KEEP		32	/* blocks of an order that are kept, at most */
#define RDDA_BUDDY_KEPT		2	/* orders that some are kept of */
#define RDDA_BUDDY_ROWS		4	/* at most, and ... */
#define RDDA_BUDDY_ROW_PART	128	/* ... a row to that many pages */

/* What is known of one page. */
struct rdda_buddy_page {
	/* next free block of this order, by page index; a list end is NO_PAGE. In use: its row */
	u16	next;
	u16	prev;	/* the one before */
	u8	order;	/* of the block that begins here */
	u8	state;	/* a block begins here and is free, kept, used; or none begins */
};

/* Pages that are given out one by one, in order. */
struct rdda_buddy_row {
	u32	free;	/* a bit each */
	u16	first;	/* page index; NO_PAGE: there is none */
	u8	next;	/* the bit to begin with */
};

/* The pages of one run of the arena. */
struct rdda_buddy {
	struct rdda_buddy_page *page;		/* one entry a page, the caller's memory */
	u32	first;				/* page number of the run's start, in the arena */
	u32	pages;				/* how many */
	u32	avail;				/* free ones, those kept with them */
	u8	max_order;			/* largest block */
	u8	nr_rows;			/* that there may be */
	u8	row;				/* the one that pages come from */
	struct rdda_buddy_row rows[RDDA_BUDDY_ROWS];
	u8	nr_kept[RDDA_BUDDY_KEPT];
	u16	kept[RDDA_BUDDY_KEPT][RDDA_BUDDY_KEEP];	/* the last goes first */
	u16	head[RDDA_ORDER_MAX + 1];	/* free blocks per order */
};

int rdda_buddy_init(struct rdda_buddy *b, struct rdda_buddy_page *mem, u32 off, u32 len,
		    unsigned int max_order);
unsigned int rdda_buddy_order(u32 bytes);
int rdda_buddy_alloc(struct rdda_buddy *b, unsigned int order, u32 *off);
int rdda_buddy_alloc_behind(struct rdda_buddy *b, unsigned int order, u32 *off);
int rdda_buddy_free(struct rdda_buddy *b, u32 off);

#endif
