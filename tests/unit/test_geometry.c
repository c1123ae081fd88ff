// SPDX-License-Identifier: GPL-2.0-only
/* Where a group's records lie: for every level, strip and size they fit before the data. */
#include "protect/engine/geometry.h"
#include "tests/unit/suite.h"

#define GIB	(1ULL << 30)

static struct prot_segment segment(u8 level, u8 k, u8 m, u32 strip, u64 member)
{
	bool ec = level == PROT_EC;

	return (struct prot_segment){ .level = level, .data = k, .parity = m, .strip = strip,
		.groups = 1, .columns = 1, .width = k + m, .unit = ec ? k * strip : strip,
		.length = ec ? k * member : member };
}

static void check_segment(const struct prot_segment *s, u32 lba, u64 member)
{
	u64 area = prot_geometry_area(s, lba);
	struct prot_group_config c = { .ops = 1024, .bufs = 64, .depth = 4 };
	struct prot_geometry geo;

	prot_geometry_init(&geo, s, lba);
	prot_geometry_config(&geo, &c);
	CU_ASSERT_EQUAL(geo.bytes, member);
	/* what the engine does with it, with other numbers of ops and buffers, needs no more */
	CU_ASSERT(prot_group_bytes(&c) > 0);
	CU_ASSERT(area >= 2 * PROT_ROSTER_BLOCK + prot_group_meta_bytes(&c));
	CU_ASSERT_EQUAL(area & ((1 << 20) - 1), 0);
	CU_ASSERT(area <= 64 << 20);
	CU_ASSERT_EQUAL(prot_geometry_records(area, area), 2 * PROT_ROSTER_BLOCK);
}

static void test_fits(void)
{
	static const u64 sizes[] = { 64 << 20, GIB, 100 * GIB, 16384 * GIB, 65536 * GIB };
	u32 strip, i, lba;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (lba = 512; lba <= 4096; lba *= 8)
			for (strip = PROT_STRIP_MIN; strip <= PROT_STRIP_MAX; strip *= 2) {
				struct prot_segment s[] = {
					segment(PROT_MIRROR, 2, 0, strip, sizes[i]),
					segment(PROT_RAID10, 4, 0, strip, sizes[i]),
					segment(PROT_EC, 2, 1, strip, sizes[i]),
					segment(PROT_EC, 8, 3, strip, sizes[i]),
				};
				u32 n;

				for (n = 0; n < (strip > PROT_EC_STRIP_MAX ? 2 : 4); n++)
					check_segment(&s[n], lba, sizes[i]);
			}
}

static void test_none(void)
{
	struct prot_segment s = { .level = PROT_STRIPE, .width = 1, .strip = 65536, .columns = 2,
				  .unit = 65536, .length = GIB };

	CU_ASSERT_EQUAL(prot_geometry_area(&s, 512), 0);
}

/* The numbers are on members: a change of them needs a new record version. */
static void test_numbers(void)
{
	struct prot_segment ec = segment(PROT_EC, 4, 2, 65536, 100 * GIB);
	struct prot_geometry geo;

	prot_geometry_init(&geo, &ec, 4096);
	CU_ASSERT_EQUAL(geo.region, 2 << 20);
	CU_ASSERT_EQUAL(geo.rings, 8);
	CU_ASSERT_EQUAL(geo.slots, 16);
	CU_ASSERT_EQUAL(geo.slot_bytes, 65536);
	CU_ASSERT_EQUAL(geo.slot_head, 4096);
	CU_ASSERT_EQUAL(geo.k, 4);
	CU_ASSERT_EQUAL(geo.width, 6);
	CU_ASSERT_EQUAL(prot_geometry_area(&ec, 4096), 9 << 20);
}

static const struct suite_test tests[] = {
	{ "records fit before the data", test_fits },
	{ "a stripe has none", test_none },
	{ "the numbers", test_numbers },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("geometry", tests);
}
