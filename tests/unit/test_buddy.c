// SPDX-License-Identifier: GPL-2.0-only
/* The arena's buddy allocator against a map of the owner of each page. */
#include <stdlib.h>
#include <string.h>

#include "rdda/buddy.h"
#include "suite.h"

#include <linux/errno.h>

#define PAGES	173

static void sizes(void)
{
	CU_ASSERT_EQUAL(rdda_buddy_order(1), 0);
	CU_ASSERT_EQUAL(rdda_buddy_order(4096), 0);
	CU_ASSERT_EQUAL(rdda_buddy_order(4097), 1);
	CU_ASSERT_EQUAL(rdda_buddy_order(65537), 5);
	CU_ASSERT_EQUAL(rdda_buddy_order(131072), 5);
}

/* A block with the page before it leaves the rest of their common block free. */
static void behind(void)
{
	struct rdda_buddy_page mem[32];
	struct rdda_buddy b;
	u32 off;

	CU_ASSERT_EQUAL(rdda_buddy_init(&b, mem, 0, 32 * 4096, 5), 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc_behind(&b, 5, &off), -ENOMEM);
	CU_ASSERT_EQUAL(rdda_buddy_alloc_behind(&b, 4, &off), 0);
	CU_ASSERT_EQUAL(off, 16 * 4096);
	CU_ASSERT_EQUAL(b.avail, 15);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 15 * 4096), 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 4, &off), 0);	/* merged again */
	CU_ASSERT_EQUAL(off, 0);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 0), 0);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 16 * 4096), 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 5, &off), 0);
}

static void refusals(void)
{
	struct rdda_buddy_page mem[4];
	struct rdda_buddy b;
	u32 off;

	CU_ASSERT_EQUAL(rdda_buddy_init(&b, mem, 1, 4096, 5), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_init(&b, mem, 0, 0, 5), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_init(&b, mem, 0, 4097, 5), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_init(&b, mem, 0xfffff000, 8192, 5), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_init(&b, mem, 0, 4096, 6), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_init(&b, mem, 4096, 4 * 4096, 5), 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 2, &off), -ENOMEM); /* pages 1-4: none aligned */
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 1, &off), 0);
	CU_ASSERT_EQUAL(off, 8192);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 12288), -EINVAL);	/* inside */
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 4096), -EINVAL);	/* free */
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 0), -EINVAL);	/* before the run */
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 5 * 4096), -EINVAL);	/* after it */
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 8193), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 8192), 0);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, 8192), -EINVAL);
	CU_ASSERT_EQUAL(b.avail, 4);
}

/* A run that is one largest block is one, before anything has been freed. */
static void whole_run(void)
{
	struct rdda_buddy_page mem[1 << RDDA_ORDER_MAX];
	unsigned int order;
	struct rdda_buddy b;
	u32 off;

	for (order = 0; order <= RDDA_ORDER_MAX; order++) {
		CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, 0, RDDA_PAGE << order, order), 0);
		CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, order, &off), 0);
		CU_ASSERT_EQUAL(off, 0);
		CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &off), -ENOMEM);
	}
}

/* A block that was given out: aligned, inside, and given out once. */
static void hold(const struct rdda_buddy *b, u32 *held, u8 *orders, u8 *owner, unsigned int *n,
		 u32 off, unsigned int order)
{
	unsigned int i;

	CU_ASSERT_EQUAL_FATAL(off % (4096U << order), 0);
	CU_ASSERT_TRUE_FATAL(off / 4096 >= b->first);
	CU_ASSERT_TRUE_FATAL(off / 4096 + (1U << order) <= b->first + PAGES);
	for (i = 0; i < 1U << order; i++) {
		CU_ASSERT_FALSE_FATAL(owner[off / 4096 - b->first + i]);
		owner[off / 4096 - b->first + i] = 1;
	}
	held[*n] = off;
	orders[(*n)++] = order;
}

/* Random use; every block aligned, inside, and given out once. */
static void random_use(void)
{
	static struct rdda_buddy_page mem[PAGES];
	static u32 held[PAGES];
	static u8 orders[PAGES], owner[PAGES + 64];
	unsigned int first, max, n, round, seed = 1;
	struct rdda_buddy b;
	u32 off;

	for (first = 0; first < 40; first += 3) {
		max = first % (RDDA_ORDER_MAX + 1);
		memset(owner, 0, sizeof(owner));
		CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, first * 4096, PAGES * 4096, max), 0);
		n = 0;
		for (round = 0; round < 20000; round++) {
			unsigned int order = rand_r(&seed) % (max + 1);

			/* a block and the page before it */
			if (!(rand_r(&seed) % 4) && n + 2 < PAGES &&
			    !rdda_buddy_alloc_behind(&b, order, &off)) {
				CU_ASSERT_TRUE_FATAL(order < max);
				hold(&b, held, orders, owner, &n, off, order);
				hold(&b, held, orders, owner, &n, off - 4096, 0);
			}
			if (rand_r(&seed) % 2 && !rdda_buddy_alloc(&b, order, &off)) {
				hold(&b, held, orders, owner, &n, off, order);
			} else if (n) {
				unsigned int k = rand_r(&seed) % n;

				CU_ASSERT_EQUAL_FATAL(rdda_buddy_free(&b, held[k]), 0);
				memset(&owner[held[k] / 4096 - first], 0, 1U << orders[k]);
				held[k] = held[--n];
				orders[k] = orders[n];
			}
		}
		while (n)
			CU_ASSERT_EQUAL_FATAL(rdda_buddy_free(&b, held[--n]), 0);
		/* All merged again: as many largest blocks as alignment allows. */
		CU_ASSERT_EQUAL(b.avail, PAGES);
		for (n = 0; !rdda_buddy_alloc(&b, max, &off); n++)
			;
		CU_ASSERT_EQUAL(n, ((first + PAGES) >> max) - ((first + (1U << max) - 1) >> max));
	}
}

/* So are pairs of pages, beside them; a single page is to be had from a pair. */
static void kept_pairs(void)
{
	struct rdda_buddy_page mem[64];
	u32 i, off[32], one, again;
	struct rdda_buddy b;

	CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, 0, 64 * 4096, RDDA_ORDER_MAX), 0);
	for (i = 0; i < 32; i++)
		CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 1, &off[i]), 0);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[5]), 0);
	CU_ASSERT_EQUAL(b.nr_kept[1], 1);
	CU_ASSERT_EQUAL(b.avail, 2);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[5]), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 1, &one), 0);
	CU_ASSERT_EQUAL(one, off[5]);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, one), 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &one), 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &again), 0);
	CU_ASSERT_EQUAL(one ^ again, 4096);
	CU_ASSERT_EQUAL(one & ~4096U, off[5]);
	CU_ASSERT_EQUAL(b.avail, 0);
}

/* Pages that are kept count as free, are refused like free ones, and merge for a large block. */
static void kept_pages(void)
{
	struct rdda_buddy_page mem[64];
	struct rdda_buddy b;
	u32 i, off[64], big, one;

	CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, 0, 64 * 4096, RDDA_ORDER_MAX), 0);
	for (i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &off[i]), 0);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[7]), 0);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[7]), -EINVAL);
	CU_ASSERT_EQUAL(b.avail, 1);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &one), 0);
	CU_ASSERT_EQUAL(one, off[7]);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &one), -ENOMEM);
	for (i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[i]), 0);
	CU_ASSERT_EQUAL(b.avail, 64);
	CU_ASSERT_EQUAL(b.nr_kept[0], RDDA_BUDDY_KEEP);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, RDDA_ORDER_MAX, &big), 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, RDDA_ORDER_MAX, &one), 0);
	CU_ASSERT_EQUAL(big ^ one, 32 * 4096);
	CU_ASSERT_EQUAL(b.avail, 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &one), -ENOMEM);
}

/* Pages of a row follow one another, and those given back are had again when it begins again. */
static void rows_in_order(void)
{
	struct rdda_buddy_page mem[RDDA_BUDDY_ROW_PART];
	struct rdda_buddy b;
	u32 i, off[RDDA_BUDDY_ROW_PART], again;

	CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, 0, sizeof(off) / 4 * 4096, RDDA_ORDER_MAX), 0);
	CU_ASSERT_EQUAL(b.nr_rows, 1);
	for (i = 0; i < 32; i++) {
		CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &off[i]), 0);
		CU_ASSERT_EQUAL(off[i], off[0] + i * 4096);
	}
	CU_ASSERT_EQUAL(off[0] % (32 * 4096), 0);
	for (; i < RDDA_BUDDY_ROW_PART; i++)	/* from the rest */
		CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &off[i]), 0);
	CU_ASSERT_EQUAL(b.avail, 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &again), -ENOMEM);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[20]), 0);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[20]), -EINVAL);
	CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[3]), 0);
	CU_ASSERT_EQUAL(b.avail, 2);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 1, &again), -ENOMEM);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &again), 0);
	CU_ASSERT_EQUAL(again, off[3]);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &again), 0);
	CU_ASSERT_EQUAL(again, off[20]);
	for (i = 0; i < RDDA_BUDDY_ROW_PART; i++)
		CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[i]), 0);
	/* What is kept, rows too, is there for large blocks. */
	for (i = 0; i < RDDA_BUDDY_ROW_PART / 32; i++)
		CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, RDDA_ORDER_MAX, &again), 0);
	CU_ASSERT_EQUAL(b.avail, 0);
	CU_ASSERT_EQUAL(rdda_buddy_alloc(&b, 0, &again), -ENOMEM);
}

/* Whatever is free in a row is found, wherever each begins. */
static void rows_all(void)
{
	static struct rdda_buddy_page mem[512];
	unsigned int k, seed = 3;
	u32 off[512], again, i;
	struct rdda_buddy b;

	CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, 0, 512 * 4096, RDDA_ORDER_MAX), 0);
	for (i = 0; i < 512; i++)
		CU_ASSERT_EQUAL_FATAL(rdda_buddy_alloc(&b, 0, &off[i]), 0);
	for (i = 0; i < 10000; i++) {
		k = rand_r(&seed) % 512;
		CU_ASSERT_EQUAL(rdda_buddy_free(&b, off[k]), 0);
		CU_ASSERT_EQUAL_FATAL(rdda_buddy_alloc(&b, 0, &again), 0);
		CU_ASSERT_EQUAL_FATAL(again, off[k]);
	}
}

/* One page at a time is always the same: it stays in caches. */
static void rows_alone(void)
{
	static struct rdda_buddy_page mem[512];
	struct rdda_buddy b;
	u32 i, first, off;

	CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, 0, 512 * 4096, RDDA_ORDER_MAX), 0);
	CU_ASSERT_EQUAL_FATAL(rdda_buddy_alloc(&b, 0, &first), 0);
	for (i = 0, off = first; i < 1000; i++) {
		CU_ASSERT_EQUAL_FATAL(rdda_buddy_free(&b, off), 0);
		CU_ASSERT_EQUAL_FATAL(rdda_buddy_alloc(&b, 0, &off), 0);
		CU_ASSERT_EQUAL(off, first);
	}
}

/*
 * 32 pages in flight that come back one by one by chance, and are taken again 8 at a time: most
 * of those 8 still follow one another.
 */
static void rows_under_load(void)
{
	static struct rdda_buddy_page mem[512];
	unsigned int round, i, k, behind = 0, taken = 0, seed = 7;
	u32 off[32], last;
	struct rdda_buddy b;

	CU_ASSERT_EQUAL_FATAL(rdda_buddy_init(&b, mem, 512 * 4096, 512 * 4096, RDDA_ORDER_MAX), 0);
	CU_ASSERT_EQUAL(b.nr_rows, RDDA_BUDDY_ROWS);
	for (i = 0; i < 32; i++)
		CU_ASSERT_EQUAL_FATAL(rdda_buddy_alloc(&b, 0, &off[i]), 0);
	for (round = 0; round < 1000; round++) {
		for (i = 0; i < 8; i++) {
			k = i + rand_r(&seed) % (32 - i);
			CU_ASSERT_EQUAL_FATAL(rdda_buddy_free(&b, off[k]), 0);
			off[k] = off[i];
		}
		for (i = 0, last = 0; i < 8; i++, taken++) {
			CU_ASSERT_EQUAL_FATAL(rdda_buddy_alloc(&b, 0, &off[i]), 0);
			behind += off[i] == last + 4096;
			last = off[i];
		}
	}
	CU_ASSERT_TRUE(behind > taken / 2);
}

static const struct suite_test tests[] = {
	{ "sizes", sizes },
	{ "what is refused", refusals },
	{ "a block behind a page", behind },
	{ "a run of one block", whole_run },
	{ "random use", random_use },
	{ "pages that are kept", kept_pages },
	{ "pairs that are kept", kept_pairs },
	{ "pages in order", rows_in_order },
	{ "all pages of all rows", rows_all },
	{ "one page at a time", rows_alone },
	{ "pages in order under load", rows_under_load },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("buddy", tests);
}
