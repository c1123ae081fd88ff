// SPDX-License-Identifier: GPL-2.0-only
/* Members that are late: what is read instead of them, by hand. */
#include "prot_rig.h"
#include "protect/engine/group_priv.h"

#define LBA	512
#define STRIP	(4 * LBA)
#define DATA	(8 * STRIP)

static u64 read_from;		/* members */
static u64 meta;

static void note(const struct prot_event *ev)
{
	if (ev->io.kind == PROT_READ && ev->io.addr >= meta)
		read_from |= PROT_BIT(ev->io.member);
}

static struct prot_group *make(struct prot_group_config c)
{

	c.bytes = DATA;
	c.epoch = 1;
	c.region = 2 * STRIP;
	c.lba = LBA;
	c.fresh = 1;
	c.in_sync = PROT_BIT(c.width) - 1;
	meta = rig_members(&c);
	memset(disk, 0, sizeof(disk));
	saw = note;
	return rig_start(&c);
}

static struct prot_group *make_ec(void)
{
	return make((struct prot_group_config){ .level = PROT_EC, .width = 6, .k = 4, .m = 2,
						.ops = 8, .bufs = 7, .strip = STRIP,
						.slot_bytes = STRIP, .slot_head = 4096,
						.rings = 2, .slots = 4 });
}

/* Members that a request read while @late were late; of @length bytes from @addr on. */
static u64 reads(struct prot_group *g, u64 late, u8 kind, u64 addr, u32 length)
{
	read_from = 0;
	prot_group_avoid(g, late);
	CU_ASSERT_EQUAL(rig_request(g, kind, addr, length), 0);
	prot_group_avoid(g, 0);
	return read_from;
}

static void test_mirror(void)
{
	struct prot_group *g = make((struct prot_group_config){ .level = PROT_MIRROR, .width = 3,
								.ops = 8, .bufs = 4,
								.buf_bytes = STRIP });

	CU_ASSERT_EQUAL(reads(g, 3, PROT_READ, 0, LBA), 4);
	CU_ASSERT_EQUAL(reads(g, 6, PROT_READ, LBA, LBA), 1);
	CU_ASSERT_NOT_EQUAL(reads(g, 7, PROT_READ, 0, LBA), 0);	/* all: any of them */
	/* the one that is left is late */
	broken = 3;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, LBA), 1);
	prot_group_epoch(g, 2, 4);
	run(g);
	CU_ASSERT_EQUAL(reads(g, 4, PROT_READ, 0, LBA), 4);
	free(g);
}

/* Strip s of stripe 0 is on member s. */
static void test_read(void)
{
	struct prot_group *g = make_ec();
	u32 i;

	for (i = 0; i < 4 * STRIP; i++)
		payload[i] = i * 7 + (i >> 8) * 13;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, 0, 4 * STRIP), 0);
	memset(payload, 0, STRIP);
	CU_ASSERT_EQUAL(reads(g, 0, PROT_READ, 0, STRIP), 1);
	CU_ASSERT_EQUAL(prot_weight(reads(g, 1, PROT_READ, 0, STRIP) & ~1ULL), 4);
	CU_ASSERT_EQUAL(read_from & 1, 0);
	CU_ASSERT_EQUAL(reads(g, 3, PROT_READ, 0, STRIP), 0x3c);
	for (i = 0; i < STRIP; i++)
		CU_ASSERT_EQUAL_FATAL(payload[i], (u8)(i * 7 + (i >> 8) * 13));
	/* those that answer are too few, or hold what is read */
	CU_ASSERT_EQUAL(reads(g, 7, PROT_READ, 0, STRIP), 1);
	CU_ASSERT_EQUAL(reads(g, 0x3e, PROT_READ, 0, STRIP), 1);
	CU_ASSERT_EQUAL(reads(g, 0x30, PROT_READ, 0, STRIP), 1);
	free(g);
}

static void test_write(void)
{
	struct prot_group *g = make_ec();

	/* parity from what differs, or from the other data: that which needs no late member */
	CU_ASSERT_EQUAL(reads(g, 0, PROT_WRITE, 0, LBA), 0x0e);
	CU_ASSERT_EQUAL(reads(g, 2, PROT_WRITE, 0, LBA), 0x31);
	CU_ASSERT_EQUAL(reads(g, 0x20, PROT_WRITE, 0, LBA), 0x0e);
	CU_ASSERT_EQUAL(reads(g, 0, PROT_WRITE, 0, 3 * STRIP), 0x08);
	/* the strip is rebuilt */
	CU_ASSERT_EQUAL(prot_weight(reads(g, 8, PROT_WRITE, 0, 3 * STRIP) & ~8ULL), 4);
	CU_ASSERT_EQUAL(read_from & 8, 0);
	free(g);
}

/* A read that began to wait for rows it had to rebuild from needs only its own any more. */
static void test_prompt(void)
{
	struct prot_group *g = make_ec();

	hold = true;
	CU_ASSERT_EQUAL(rig_request(g, PROT_WRITE, STRIP, LBA), 1);
	while (!done && nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 1);	/* acknowledged, and not in place yet */
	read_from = 0;
	prot_group_avoid(g, 1);
	CU_ASSERT_EQUAL(rig_request(g, PROT_READ, 0, LBA), 1);
	CU_ASSERT_EQUAL(read_from, 0);
	prot_group_avoid(g, 0);
	run(g);
	CU_ASSERT_EQUAL(read_from, 1);
	while (nr_held)
		let_go(g);
	CU_ASSERT_EQUAL(done, 2);
	free(g);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "copies", test_mirror },
		{ "strips", test_read },
		{ "old values", test_write },
		{ "answers again", test_prompt },
		{ NULL, NULL },
	};

	return suite_main("prot_late", tests);
}
