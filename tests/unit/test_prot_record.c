// SPDX-License-Identifier: GPL-2.0-only
/* Records on members: sealed, checked, and refused when anything differs. */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>
#include <asm/byteorder.h>

#include "protect/record.h"
#include "suite.h"

static const struct prot_owner owner = { .volume = { 1, 2, 3 }, .salt = 77, .group = 5 };

static struct prot_bitmap_hdr want(u8 kind)
{
	struct prot_bitmap_hdr h = { .kind = kind, .member = 2, .block = cpu_to_le32(9) };

	if (kind >= PROT_MISSED) {
		h.absent = 3;
		h.epoch = cpu_to_le64(41);
		h.uuid[0] = 0xaa;
	}
	return h;
}

static void sealed(u64 *block, u32 lba, u8 kind)
{
	memset(block, 0, lba);
	*(struct prot_bitmap_hdr *)block = want(kind);
	memset(prot_bitmap_bytes(block), 0x81, prot_bitmap_bits(lba) / 8);
	prot_bitmap_seal(block, lba, &owner);
}

/* Every bit of a block counts: none may flip unseen. */
static void test_flips(void)
{
	u64 block[4096 / 8];
	static const u32 lbas[] = { 512, 4096 };
	u8 kind;
	u32 l, i;

	for (kind = 0; kind < PROT_BITMAPS; kind++)
		for (l = 0; l < ARRAY_SIZE(lbas); l++) {
			struct prot_bitmap_hdr w = want(kind);

			sealed(block, lbas[l], kind);
			CU_ASSERT_EQUAL(prot_bitmap_check(block, lbas[l], &owner, &w), 0);
			for (i = 0; i < lbas[l] * 8; i++) {
				((u8 *)block)[i / 8] ^= 1 << (i & 7);
				CU_ASSERT_EQUAL_FATAL(prot_bitmap_check(block, lbas[l], &owner, &w),
						      -EBADMSG);
				((u8 *)block)[i / 8] ^= 1 << (i & 7);
			}
		}
}

/* A valid block of something else is not valid here. */
static void test_others(void)
{
	u64 block[512 / 8];
	struct prot_bitmap_hdr w = want(PROT_MISSED);
	struct prot_owner o = owner;

	sealed(block, 512, PROT_MISSED);
	CU_ASSERT_EQUAL(prot_bitmap_check(block, 512, &owner, &w), 0);
#define OTHER(field, value) do { \
	typeof(field) keep_ = field; \
	field = value; \
	CU_ASSERT_EQUAL(prot_bitmap_check(block, 512, &o, &w), -EBADMSG); \
	field = keep_; \
	} while (0)
	OTHER(w.kind, PROT_MISSED + 1);
	OTHER(w.kind, PROT_INTENT);
	OTHER(w.member, 1);
	OTHER(w.block, cpu_to_le32(8));
	OTHER(w.absent, 2);
	OTHER(w.epoch, cpu_to_le64(40));
	OTHER(w.uuid[0], 0xab);
	OTHER(o.salt, 78);
	OTHER(o.group, 4);
	OTHER(o.volume[15], 1);
#undef OTHER
	/* truncated: the rest of an older block behind it */
	memset((u8 *)block + 256, 0, 256);
	CU_ASSERT_EQUAL(prot_bitmap_check(block, 512, &owner, &w), -EBADMSG);
}

static void test_attach(void)
{
	struct prot_attach_rec r = { .member = 4, .seq = cpu_to_le64(1),
				     .attach = cpu_to_le64(12), .epoch = cpu_to_le64(3) };
	struct prot_owner o = owner;
	u32 i;

	prot_attach_seal(&r, &owner);
	CU_ASSERT_EQUAL(prot_attach_check(&r, &owner, 4), 0);
	CU_ASSERT_EQUAL(prot_attach_check(&r, &owner, 3), -EBADMSG);
	o.salt++;
	CU_ASSERT_EQUAL(prot_attach_check(&r, &o, 4), -EBADMSG);
	for (i = 0; i < sizeof(r) * 8; i++) {
		((u8 *)&r)[i / 8] ^= 1 << (i & 7);
		CU_ASSERT_EQUAL_FATAL(prot_attach_check(&r, &owner, 4), -EBADMSG);
		((u8 *)&r)[i / 8] ^= 1 << (i & 7);
	}
}

/* On disk it is little endian, whoever wrote it. */
static void test_bytes(void)
{
	u64 block[512 / 8] = { 0 };
	const u8 *b = (const u8 *)block;

	sealed(block, 512, PROT_MISSED);
	CU_ASSERT(!memcmp(b, "MMAP", 4));
	CU_ASSERT_EQUAL(b[4], 1);
	CU_ASSERT_EQUAL(b[16], 41);
	CU_ASSERT_EQUAL(b[60], 9);
	CU_ASSERT_EQUAL(b[56], 5);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "flipped bits", test_flips },
		{ "records of others", test_others },
		{ "attach record", test_attach },
		{ "bytes", test_bytes },
		{ NULL, NULL },
	};

	return suite_main("prot_record", tests);
}
