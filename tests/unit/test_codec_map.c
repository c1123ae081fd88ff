// SPDX-License-Identifier: GPL-2.0-only
/* A map that is kept from one call of the codec to the next: made once, and never the wrong one. */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "protect/codec/codec.h"
#include "protect/engine/group_priv.h"
#include "suite.h"

static struct prot_codec_ops counting, other;
static u32 prepared;

static void prepare(u8 c, u8 *tbl)
{
	prepared++;
	prot_codec_portable.prepare(c, tbl);
}

static void setup(void)
{
	counting = prot_codec_portable;
	counting.prepare = prepare;
	other = counting;
	prepared = 0;
}

/* @map is the one that was wanted, and was made only if it was not there. */
static void keep(struct prot_map *map, const struct prot_codec_ops *ops, u8 k, u8 m,
		 prot_strips_t have, prot_strips_t want, bool made)
{
	struct prot_code code;
	struct prot_map fresh = { 0 };
	u32 before;

	CU_ASSERT_EQUAL_FATAL(prot_code_init(&code, k, m), 0);
	CU_ASSERT_EQUAL_FATAL(prot_map_init(&fresh, ops, &code, have, want), 0);
	before = prepared;
	CU_ASSERT_EQUAL(prot_map_keep(map, ops, &code, have, want), 0);
	CU_ASSERT_EQUAL(prepared != before, made);
	CU_ASSERT_EQUAL(map->nsrc, fresh.nsrc);
	CU_ASSERT_EQUAL(map->ndst, fresh.ndst);
	CU_ASSERT_EQUAL(map->shape, fresh.shape);
	CU_ASSERT(!memcmp(map->coef, fresh.coef, sizeof(fresh.coef)));
	CU_ASSERT(!memcmp(map->tbl, fresh.tbl, fresh.nsrc * fresh.ndst * ops->coef_size));
}

static void test_keep(void)
{
	struct prot_map map = { 0 };
	struct prot_code code;

	setup();
	keep(&map, &counting, 4, 2, 0x0f, 0x30, true);
	keep(&map, &counting, 4, 2, 0x0f, 0x30, false);
	keep(&map, &counting, 4, 2, 0x0f, 0x20, true);
	keep(&map, &counting, 4, 2, 0x1e, 0x20, true);
	keep(&map, &counting, 4, 3, 0x1e, 0x20, true);	/* of another code: other rows */
	keep(&map, &other, 4, 3, 0x1e, 0x20, true);
	keep(&map, &counting, 5, 3, 0x1f, 0x20, true);
	keep(&map, &counting, 5, 3, 0x1f, 0x20, false);
	CU_ASSERT_EQUAL(prot_code_init(&code, 4, 2), 0);
	prot_map_encode(&map, &counting, &code);
	keep(&map, &counting, 4, 2, 0x0f, 0x30, false);
	/* what cannot be made leaves what was there */
	CU_ASSERT_NOT_EQUAL(prot_map_keep(&map, &counting, &code, 0x07, 0x30), 0);
	keep(&map, &counting, 4, 2, 0x0f, 0x30, false);
}

static struct prot_group *group(u8 k, u8 m)
{
	struct prot_group_config c = { .level = PROT_EC, .k = k, .m = m, .width = k + m,
				       .lba = 512, .strip = 4096, .slot_bytes = 4096,
				       .slot_head = 4096, .rings = 1, .slots = 8, .region = 8192,
				       .bytes = 1 << 20, .ops = 16, .bufs = 8, .epoch = 1,
				       .attach = 1, .fresh = 1 };

	c.in_sync = PROT_BIT(c.width) - 1;
	return prot_group_init(calloc(1, prot_group_bytes(&c)), &c);
}

static void run(struct prot_group *g, struct prot_map *map)
{
	struct prot_event ev;

	do {
		prot_group_next(g, &ev);
		if (ev.kind == PROT_EV_CODEC)
			prot_group_codec(g, ev.op, &counting, map, 0,
					 prot_group_codec_bytes(g, ev.op));
		if (ev.kind == PROT_EV_IO || ev.kind == PROT_EV_COPY || ev.kind == PROT_EV_CODEC)
			prot_group_result(g, ev.io.tag, 0);
	} while (ev.kind != PROT_EV_NONE);
}

/* The second write makes no tables, whether it takes a delta or all data. */
static void test_writes(void)
{
	struct prot_group *g = group(8, 3);
	struct prot_map map = { 0 };
	u32 first, addr;

	setup();
	run(g, &map);
	CU_ASSERT(prot_group_submit(g, PROT_WRITE, 0, 0, 512, 0) >= 0);
	run(g, &map);
	first = prepared;
	CU_ASSERT_EQUAL(first, 8 * 3);
	for (addr = 8 * 4096; addr < 4 * 8 * 4096; addr += 8 * 4096) {
		CU_ASSERT(prot_group_submit(g, PROT_WRITE, 0, addr, 512, 0) >= 0);
		run(g, &map);
		CU_ASSERT(prot_group_submit(g, PROT_WRITE, 0, addr, 8 * 4096, 0) >= 0);
		run(g, &map);
	}
	CU_ASSERT_EQUAL(prepared, first);
	free(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "kept", test_keep },
		{ "of writes", test_writes },
		{ NULL, NULL },
	};

	return suite_main("codec_map", tests);
}
