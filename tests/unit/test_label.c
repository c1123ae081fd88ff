// SPDX-License-Identifier: GPL-2.0-only
/* Labels: round trips, every damage refused, and the table's bookkeeping. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/kernel.h>
#include <linux/xxhash.h>

#include "userspace/format/label.h"
#include "suite.h"

#define MIB	(1ULL << 20)
#define EXTENT	160	/* bytes of a record */

static struct label a, b;
static u8 raw[LABEL_BYTES_MAX], other[LABEL_BYTES_MAX];

static struct muuid uuid(u32 n)
{
	struct muuid u = { { 0x10 } };

	memcpy(u.b + 8, &n, sizeof(n));
	return u;
}

static void fresh(u64 size)
{
	memset(&a, 0, sizeof(a));
	a.drive = uuid(1);
	a.owner = uuid(2);
	a.sequence = 7;
	a.size = size;
	a.lba = 512;
}

static struct label_extent *give(u32 id, u64 mib)
{
	struct muuid u = uuid(id);

	return label_alloc(&a, &u, mib * MIB);
}

/* Three extents, as a used drive has them. */
static int used(void)
{
	struct label_extent *e;

	fresh(100 * MIB);
	give(10, 10);
	give(11, 20);
	e = give(12, 5);
	e->state = LABEL_READY;
	e->holder = uuid(3);
	e->version = 0x123456789abcULL;
	e->commit = 0x7edcba9876543210ULL;
	e->attach = 0x0fedcba987654321ULL;
	e->attacher = uuid(5);
	e->volume = uuid(4);
	strcpy(e->name, "scratch");
	return label_encode(&a, raw, sizeof(raw));
}

static void test_round_trip(void)
{
	int n = used();

	CU_ASSERT_EQUAL_FATAL(n, 512 + 3 * EXTENT);
	CU_ASSERT_EQUAL(label_decode(raw, sizeof(raw), &b), 0);
	CU_ASSERT_EQUAL(label_encode(&b, other, sizeof(other)), n);
	CU_ASSERT(!memcmp(raw, other, n));
	CU_ASSERT_EQUAL(b.extent[2].version, 0x123456789abcULL);
	CU_ASSERT_EQUAL(b.extent[2].commit, 0x7edcba9876543210ULL);
	CU_ASSERT_EQUAL(b.extent[2].attach, 0x0fedcba987654321ULL);
	CU_ASSERT(muuid_equal(&b.extent[2].attacher, &a.extent[2].attacher));
	CU_ASSERT_STRING_EQUAL(b.extent[2].name, "scratch");
	CU_ASSERT(muuid_equal(&b.extent[2].holder, &a.extent[2].holder));
}

/* The bytes on the drive are little endian whatever the machine is. */
static void test_bytes(void)
{
	used();
	CU_ASSERT(!memcmp(raw, "BMSDRIVE\3\0\0\0", 12));
	CU_ASSERT_EQUAL(raw[12], 0xe0);
	CU_ASSERT_EQUAL(raw[13], 0x03);
	CU_ASSERT_EQUAL(raw[24], 7);
	CU_ASSERT_EQUAL(raw[512 + 48 + 2], 0x10);	/* start: 1 MiB */
	CU_ASSERT_EQUAL(raw[512 + 2 * EXTENT + 80], 0x10);	/* commit, low byte */
	CU_ASSERT_EQUAL(raw[512 + 2 * EXTENT + 88], LABEL_READY);
	CU_ASSERT_EQUAL(raw[512 + 2 * EXTENT + 128], 0x21);	/* attach, low byte */
}

static void test_every_flipped_bit(void)
{
	int n = used();

	for (int i = 0; i < n * 8; i++) {
		raw[i / 8] ^= 1 << i % 8;
		if (!label_decode(raw, sizeof(raw), &b))
			CU_FAIL("a flipped bit passed");
		raw[i / 8] ^= 1 << i % 8;
	}
	CU_ASSERT_EQUAL(label_decode(raw, sizeof(raw), &b), 0);
}

static void test_truncated(void)
{
	int n = used();
	u8 *exact;

	for (int len = 0; len < n; len++) {
		exact = malloc(len ? len : 1);	/* so that ASan sees a read beyond */
		memcpy(exact, raw, len);
		CU_ASSERT(label_decode(exact, len, &b) < 0);
		free(exact);
	}
	CU_ASSERT_EQUAL(label_decode(raw, n, &b), 0);
}

/* A write torn at a sector: new sectors before old ones, and old before new. */
static void test_torn(void)
{
	static u8 old[LABEL_BYTES_MAX], torn[LABEL_BYTES_MAX];
	int n, m;

	fresh(1000 * MIB);
	for (u32 i = 0; i < 40; i++)
		give(100 + i, 2);
	n = label_encode(&a, old, sizeof(old));
	a.sequence++;
	for (u32 i = 0; i < 40; i++)
		a.extent[i].version = 5;
	m = label_encode(&a, raw, sizeof(raw));
	CU_ASSERT_EQUAL_FATAL(n, m);
	for (int at = 512; at < n; at += 512) {
		memcpy(torn, raw, n);
		memcpy(torn + at, old + at, n - at);
		CU_ASSERT_EQUAL(label_decode(torn, n, &b), -EBADMSG);
		memcpy(torn, old, n);
		memcpy(torn + at, raw + at, n - at);
		CU_ASSERT_EQUAL(label_decode(torn, n, &b), -EBADMSG);
	}
}

static void test_pick(void)
{
	CU_ASSERT_EQUAL(label_pick(0, 5, 0, 5), 0);
	CU_ASSERT_EQUAL(label_pick(0, 5, 0, 4), 0);
	CU_ASSERT_EQUAL(label_pick(0, 4, 0, 5), 1);
	CU_ASSERT_EQUAL(label_pick(-EBADMSG, 9, 0, 5), 1);
	CU_ASSERT_EQUAL(label_pick(0, 5, -EBADMSG, 9), 0);
	CU_ASSERT_EQUAL(label_pick(-ENODATA, 0, -ENODATA, 0), -ENODATA);
	CU_ASSERT_EQUAL(label_pick(-ENODATA, 0, -EBADMSG, 0), -EBADMSG);
	CU_ASSERT_EQUAL(label_pick(-EBADMSG, 0, -ENODATA, 0), -EBADMSG);
	CU_ASSERT_EQUAL(label_pick(-EPROTONOSUPPORT, 0, -EBADMSG, 0), -EPROTONOSUPPORT);
}

/* Re-seal damaged bytes, so that only the check of their meaning is left. */
static int resealed(void)
{
	struct label_disk_head h;
	u32 n;

	memcpy(&h, raw, sizeof(h));
	n = le32_to_cpu(h.bytes);
	h.csum = 0;
	h.csum = cpu_to_le64(xxh64(raw + 512, n - 512, xxh64(&h, sizeof(h), 0)));
	memcpy(raw, &h, sizeof(h));
	return label_decode(raw, sizeof(raw), &b);
}

static void test_meaning(void)
{
	static const struct { size_t at; u8 value; } bad[] = {
		{ 8, 1 },			/* version */
		{ 8, 2 },
		{ 80 + 1, 3 },			/* size: hardly anything */
		{ 88, 1 },			/* block size */
		{ 92, 4 },			/* unknown flag */
		{ 96, 2 },			/* count and bytes disagree */
		{ 512 + 48, 1 },		/* start not aligned */
		{ 512 + 48 + 2, 0 },		/* start in the label */
		{ 512 + 56 + 2, 0 },		/* length zero */
		{ 512 + 56 + 2, 0xf0 },		/* length runs into the next */
		{ 512 + 2 * EXTENT + 48 + 7, 0x80 },	/* start far away */
		{ 512 + 72 + 7, 1 },		/* more zeroed than there is */
		{ 512 + 88, 0 },		/* state */
		{ 512 + 88, 3 },
		{ 512 + 96 + 31, 'x' },		/* name without an end */
		{ 512 + 128, 1 },		/* attach number of no host */
		{ 512 + 136, 1 },		/* host without an attach number */
		{ 512 + 2 * EXTENT + 128 + 7, 0x80 },	/* the last one: none is higher */
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		used();
		CU_ASSERT_EQUAL(resealed(), 0);
		raw[bad[i].at] = bad[i].value;
		if (bad[i].at == 80 + 1)
			memset(raw + 80 + 2, 0, 6);
		CU_ASSERT_NOT_EQUAL(resealed(), 0);
	}
	/* As long as the drive itself: where it may begin must not wrap. */
	used();
	memset(raw + 512 + 2 * EXTENT + 56, 0, 8);
	raw[512 + 2 * EXTENT + 56 + 2] = 0x40;
	raw[512 + 2 * EXTENT + 56 + 3] = 0x06;		/* 100 MiB */
	CU_ASSERT_EQUAL(resealed(), -EUCLEAN);
	used();
	memcpy(raw + 512, raw + 512 + EXTENT, 16);		/* one UUID twice */
	CU_ASSERT_EQUAL(resealed(), -EUCLEAN);
	used();
	memset(raw + 512, 0, 16);
	CU_ASSERT_EQUAL(resealed(), -EUCLEAN);
}

/* Every pair of small numbers, and of the attacher and another host. */
static void test_attach(void)
{
	static const struct muuid none;
	struct muuid host[] = { uuid(1), uuid(2) };

	for (u64 number = 0; number < 4; number++)
		for (u64 noted = 0; noted < 4; noted++)
			for (int who = 0; who < 2; who++) {
				struct label_extent e = { .attach = noted,
							  .attacher = noted ? host[0] : none };
				bool want = !number || number > noted || (number == noted && !who);

				CU_ASSERT_EQUAL(label_attach_may(&e, &host[who], number), want);
			}
}

static void test_foreign(void)
{
	memset(raw, 0, sizeof(raw));
	CU_ASSERT_EQUAL(label_decode(raw, sizeof(raw), &b), -ENODATA);
	CU_ASSERT_FALSE(label_magic(raw, sizeof(raw)));
	strcpy((char *)raw, "EFI PART");
	CU_ASSERT_EQUAL(label_decode(raw, sizeof(raw), &b), -ENODATA);
	used();
	CU_ASSERT_TRUE(label_magic(raw, 8));
	CU_ASSERT_FALSE(label_magic(raw, 7));
}

static void test_alloc(void)
{
	u64 longest;

	fresh(100 * MIB);
	CU_ASSERT_EQUAL(label_room(&a, &longest), 98 * MIB);
	CU_ASSERT_EQUAL(longest, 98 * MIB);
	CU_ASSERT_PTR_NULL(give(1, 99));
	CU_ASSERT_PTR_NULL(give(1, 0));
	give(1, 10);
	give(2, 10);
	give(3, 10);
	CU_ASSERT_EQUAL(a.extent[1].start, 11 * MIB);
	label_free(&a, &a.extent[1]);
	CU_ASSERT_EQUAL(a.extents, 2);
	CU_ASSERT_EQUAL(label_room(&a, &longest), 78 * MIB);
	CU_ASSERT_EQUAL(longest, 68 * MIB);
	/* The smallest hole that holds it, and order is kept. */
	CU_ASSERT_EQUAL(give(4, 8)->start, 11 * MIB);
	/* What the last tenant left is there until it is zeroed. */
	CU_ASSERT_EQUAL(a.extent[1].state, LABEL_ZEROING);
	CU_ASSERT_EQUAL(a.extent[1].zeroed, 0);
	CU_ASSERT_EQUAL(give(5, 3)->start, 31 * MIB);
	CU_ASSERT_EQUAL(give(6, 2)->start, 19 * MIB);
	CU_ASSERT_EQUAL(give(7, 65)->start, 34 * MIB);
	CU_ASSERT_PTR_NULL(give(8, 1));
	CU_ASSERT_EQUAL(label_room(&a, &longest), 0);
	CU_ASSERT_EQUAL(label_check(&a), 0);
}

/* A drive whose size is no multiple of a MiB keeps its last copy clear. */
static void test_odd_size(void)
{
	struct label_extent *e;

	fresh(10 * MIB + 512 * 3);
	e = give(1, 8);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT(e->start + e->length <= a.size - MIB);
	CU_ASSERT_EQUAL(label_check(&a), 0);
	CU_ASSERT_PTR_NULL(give(2, 1));
	fresh(4 * MIB - 512);
	CU_ASSERT_PTR_NULL(give(1, 2));
	CU_ASSERT_PTR_NOT_NULL(give(1, 1));
	CU_ASSERT_EQUAL(label_check(&a), 0);
}

static void test_full_table(void)
{
	struct muuid u;

	fresh(5000 * MIB);
	for (u32 i = 0; i < LABEL_EXTENTS_MAX; i++)
		CU_ASSERT_PTR_NOT_NULL_FATAL(give(100 + i, 1));
	CU_ASSERT_PTR_NULL(give(99, 1));
	CU_ASSERT_EQUAL(label_encode(&a, raw, sizeof(raw)), (int)LABEL_BYTES_MAX);
	CU_ASSERT_EQUAL(label_decode(raw, sizeof(raw), &b), 0);
	u = uuid(100 + 2345);
	CU_ASSERT(label_find(&b, &u) == &b.extent[2345]);
	u = uuid(5);
	CU_ASSERT_PTR_NULL(label_find(&b, &u));
	/* One UUID twice is found wherever the two stand. */
	for (u32 i = 1; i < LABEL_EXTENTS_MAX; i += 333) {
		u = a.extent[i].uuid;
		a.extent[i].uuid = a.extent[LABEL_EXTENTS_MAX - 1 - i / 2].uuid;
		CU_ASSERT_EQUAL(label_check(&a), -EUCLEAN);
		a.extent[i].uuid = u;
	}
	CU_ASSERT_EQUAL(label_check(&a), 0);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "round trip", test_round_trip },
		{ "bytes", test_bytes },
		{ "every flipped bit", test_every_flipped_bit },
		{ "truncated", test_truncated },
		{ "torn", test_torn },
		{ "which copy", test_pick },
		{ "meaning", test_meaning },
		{ "attach numbers", test_attach },
		{ "foreign", test_foreign },
		{ "allocation", test_alloc },
		{ "odd size", test_odd_size },
		{ "full table", test_full_table },
		{ NULL, NULL },
	};

	return suite_main("label", tests);
}
