// SPDX-License-Identifier: GPL-2.0-only
/* OPEN on the wire: its size and OPENED's, every set of flags, numbers around each border. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <asm/byteorder.h>

#include "rdda/wire.h"
#include "suite.h"

static void layout(void)
{
	CU_ASSERT_EQUAL(sizeof(struct rdda_open), 64);
	CU_ASSERT_EQUAL(offsetof(struct rdda_open, attach), 40);
	CU_ASSERT_EQUAL(offsetof(struct rdda_open, served), 48);
	CU_ASSERT_EQUAL(offsetof(struct rdda_open, access), 56);
	CU_ASSERT_EQUAL(sizeof(struct rdda_opened), 136);
	CU_ASSERT_EQUAL(offsetof(struct rdda_opened, attacher), 112);
	CU_ASSERT_EQUAL(offsetof(struct rdda_opened, writers), 128);
	CU_ASSERT_EQUAL(offsetof(struct rdda_opened, readers), 132);
}

/* 0: a restart alone is no access; then two accesses; the highest number; one more. */
static const u64 numbers[] = {
	0, 1, 0xffff, 0x10000, 0x1ffff, 0x20000, ~0ULL >> 1, 1ULL << 63, ~0ULL,
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static struct rdda_open message(u8 flags, u8 access, u64 epoch, u64 attach, u64 served)
{
	return (struct rdda_open) {
		.hdr.flags = flags, .access = access, .epoch = cpu_to_le64(epoch),
		.attach = cpu_to_le64(attach), .served = cpu_to_le64(served),
	};
}

/* What docs/wire.md says, once more. */
static bool fits(u8 flags, u8 access, u64 epoch, u64 attach, u64 served)
{
	bool rw = access == 2, numbered = flags & 4, probe = flags & 8, retake = flags & 16;

	if (flags >= 32 || access < 1 || access > 2 || attach >> 63)
		return false;
	if (probe && (flags != 8 || rw || epoch || attach || served))
		return false;
	if (!numbered && !rw && attach)
		return false;
	if (numbered && (epoch || (rw && attach < 0x10000)))
		return false;
	if (retake && (!numbered || !rw || served < 0x10000 || served >> 16 >= attach >> 16))
		return false;
	return retake || !served;
}

static void every_flag(void)
{
	unsigned int flags, access, i, j, bad = 0, good = 0;
	u64 epoch;

	for (flags = 0; flags < 256; flags++)
		for (access = 0; access < 4; access++)
			for (epoch = 0; epoch < 2; epoch++)
				for (i = 0; i < NUMBERS; i++)
					for (j = 0; j < NUMBERS; j++) {
						u64 n = numbers[i], s = numbers[j];
						struct rdda_open m = message(flags, access, epoch, n, s);
						int want = fits(flags, access, epoch, n, s) ? 0 : -EPROTO;

						good += !want;
						bad += rdda_open_check(&m) != want;
					}
	CU_ASSERT_EQUAL(bad, 0);
	CU_ASSERT(good > 100);
}

static void reserved(void)
{
	unsigned int i;

	for (i = 0; i < 7; i++) {
		struct rdda_open m = message(0, RDDA_RW, 1, 0, 0);

		CU_ASSERT_EQUAL(rdda_open_check(&m), 0);
		m.reserved[i] = 1;
		CU_ASSERT_EQUAL(rdda_open_check(&m), -EPROTO);
	}
}

static const struct suite_test tests[] = {
	{ "layout", layout },
	{ "every set of flags", every_flag },
	{ "reserved bytes", reserved },
	{ NULL, NULL },
};

int main(void)
{
	return suite_main("OPEN on the wire", tests);
}
