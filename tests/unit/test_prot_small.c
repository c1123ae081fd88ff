// SPDX-License-Identifier: GPL-2.0-only
/* Private buffers of two sizes: which one an erasure-coded write takes, and what that holds up. */
#include "prot_rig.h"
#include "protect/engine/group_priv.h"

#define STRIP	65536
#define PAGE	4096
#define STRIPE	(4 * STRIP)

static const struct prot_group *watched;
static u32 writes, crooked;	/* payloads that do not begin with a page */

static void watch(const struct prot_event *ev)
{
	const u8 *at;

	if (ev->io.kind != PROT_WRITE || ev->op == PROT_NONE16 || !watched)
		return;
	at = (u8 *)prot_group_buffer((struct prot_group *)watched, ev->runs[0].buffer) +
	     ev->runs[0].offset;
	/* a record's header is before it */
	if (ev->io.addr < watched->cfg.data[0])
		at += watched->cfg.lba;
	writes++;
	crooked += (uintptr_t)(at - (const u8 *)watched) % PAGE != 0;
}

static struct prot_group_config config(u32 lba, u16 bufs, u16 smalls)
{
	struct prot_group_config c = { .level = PROT_EC, .k = 4, .m = 2, .width = 6, .lba = lba,
				       .strip = STRIP, .slot_bytes = STRIP, .slot_head = PAGE,
				       .rings = 2, .slots = 4, .region = 1 << 18,
				       .bytes = 16 * STRIP, .ops = 128, .bufs = bufs,
				       .small = PAGE, .smalls = smalls, .in_sync = 0x3f,
				       .epoch = 1, .attach = 1, .fresh = 1 };
	u32 i;

	for (i = 0; i < c.width; i++)
		c.data[i] = round_up(prot_group_meta_bytes(&c), PAGE);
	return c;
}

static struct prot_group *make(u32 lba, u16 bufs, u16 smalls)
{
	struct prot_group_config c = config(lba, bufs, smalls);
	struct prot_group *g;

	memset(disk, 0, sizeof(disk[0]) * c.width);
	saw = watch;
	watched = NULL;
	g = rig_start(&c);
	watched = g;
	writes = crooked = 0;
	return g;
}

static const struct prot_gop *submit(struct prot_group *g, u8 kind, u64 addr, u32 length)
{
	int op = prot_group_submit(g, kind, 0, addr, length, 0);

	CU_ASSERT_FATAL(op >= 0);
	return prot_gop(g, op);
}

static void test_config(void)
{
	struct prot_group_config c = config(4096, 8, 16);

	CU_ASSERT(prot_group_bytes(&c) > 0);
#define BAD(field, value) do { \
	c = config(4096, 8, 16); \
	c.field = value; \
	CU_ASSERT_EQUAL(prot_group_bytes(&c), 0); \
	} while (0)
	BAD(small, 0);
	BAD(small, 512);
	BAD(small, 3 * PAGE);
	BAD(small, 2 * STRIP);
	BAD(smalls, 1);
	BAD(smalls, 4097);
#undef BAD
	c = (struct prot_group_config){ .level = PROT_MIRROR, .width = 2, .lba = 512,
					.bytes = 1 << 20, .region = 1 << 20, .ops = 8, .bufs = 4,
					.buf_bytes = 4096, .in_sync = 3 };
	CU_ASSERT(prot_group_bytes(&c) > 0);
	c.smalls = 8;
	CU_ASSERT_EQUAL(prot_group_bytes(&c), 0);
}

/* By rows; and what goes to a drive begins with a page. */
static void test_size(void)
{
	static const u32 lbas[] = { 512, 4096 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lbas); i++) {
		struct prot_group *g = make(lbas[i], 8, 4);
		const struct prot_gop *op;

		hold = true;
		op = submit(g, PROT_WRITE, 0, PAGE);
		run(g);
		CU_ASSERT(op->buf >= g->cfg.bufs && op->buf < prot_nr_bufs(&g->cfg));
		op = submit(g, PROT_WRITE, STRIPE, 2 * PAGE);
		run(g);
		CU_ASSERT(op->buf < g->cfg.bufs);
		op = submit(g, PROT_WRITE, 2 * STRIPE, STRIPE);
		run(g);
		CU_ASSERT(op->buf < g->cfg.bufs);
		while (nr_held)
			let_go(g);
		CU_ASSERT_EQUAL(done, 3);
		/* records and places of 3, 3 and 6 members */
		CU_ASSERT_EQUAL(writes, 24);
		CU_ASSERT_EQUAL(crooked, 0);
		free(g);
	}
}

/* Bytes come back as they were written, also those that a later write found in a buffer. */
static void test_bytes(void)
{
	struct prot_group *g = make(512, 8, 4);
	u32 i;

	for (i = 0; i < STRIPE; i++)
		payload[i] = i * 5 + (i >> 8) * 11;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, STRIPE), 0);
	/* of the same rows: a whole window, then two small ones that begin elsewhere in it */
	hold = true;
	memset(payload, 1, 4 * PAGE);
	submit(g, PROT_WRITE, PAGE, 4 * PAGE);
	run(g);
	memset(payload, 2, 512);
	while (!done)
		let_go(g);
	submit(g, PROT_WRITE, 2 * PAGE, 512);
	run(g);
	while (nr_held)
		let_go(g);
	hold = false;
	broken = 1;	/* the strip's member: it is rebuilt from the rest */
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, PAGE), 0);
	CU_ASSERT_EQUAL(payload[PAGE - 1], (u8)((PAGE - 1) * 5 + ((PAGE - 1) >> 8) * 11));
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 2 * PAGE, PAGE), 0);
	CU_ASSERT_EQUAL(payload[0], 2);
	CU_ASSERT_EQUAL(payload[511], 2);
	CU_ASSERT_EQUAL(payload[512], 1);
	free(g);
}

/* Large writes that wait for ever hold up no small one, and the other way round. */
static void test_apart(void)
{
	struct prot_group *g = make(4096, 6, 3);
	const struct prot_gop *op;
	u32 i;

	hold = true;
	for (i = 0; i < 6; i++)
		submit(g, PROT_WRITE, i * STRIPE, STRIPE);
	run(g);
	op = submit(g, PROT_WRITE, 8 * STRIPE, STRIPE);
	run(g);
	CU_ASSERT_EQUAL(op->phase, PROT_P_BUF);
	op = submit(g, PROT_WRITE, 12 * STRIPE, PAGE);
	run(g);
	CU_ASSERT_NOT_EQUAL(op->phase, PROT_P_BUF);
	submit(g, PROT_WRITE, 10 * STRIPE, PAGE);
	op = submit(g, PROT_WRITE, 11 * STRIPE, PAGE);	/* the third is for reads */
	run(g);
	CU_ASSERT_EQUAL(op->phase, PROT_P_BUF);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 10);
	free(g);
}

/* Side by side and queued together: one transaction, in a buffer that has room for it. */
static void test_join(void)
{
	struct prot_group *g = make(4096, 8, 8);
	u32 i;

	for (i = 0; i < 16; i++)
		submit(g, PROT_WRITE, i * PAGE, PAGE);
	run(g);
	CU_ASSERT_EQUAL(done, 16);
	CU_ASSERT_EQUAL(g->counts.joined, 15);
	CU_ASSERT_EQUAL(writes, 6);
	/* the same rows of all strips: a small one is enough */
	for (i = 0; i < 4; i++)
		submit(g, PROT_WRITE, STRIPE + i * STRIP, PAGE);
	run(g);
	CU_ASSERT_EQUAL(g->counts.joined, 18);
	CU_ASSERT_EQUAL(writes, 18);
	free(g);
}

/* With no large one free, what fits the small one goes with it and the rest by itself. */
static void test_no_room(void)
{
	struct prot_group *g = make(4096, 6, 8);
	u32 i;

	hold = true;
	for (i = 0; i < 6; i++)
		submit(g, PROT_WRITE, (i + 8) * STRIPE, STRIPE);
	run(g);
	for (i = 0; i < 3; i++)
		submit(g, PROT_WRITE, i * PAGE, PAGE);
	run(g);
	CU_ASSERT_EQUAL(g->counts.joined, 0);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 9);
	free(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "arguments", test_config },
		{ "size", test_size },
		{ "bytes", test_bytes },
		{ "apart", test_apart },
		{ "joined", test_join },
		{ "no room", test_no_room },
		{ NULL, NULL },
	};

	return suite_main("prot_small", tests);
}
