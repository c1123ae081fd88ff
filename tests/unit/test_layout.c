// SPDX-License-Identifier: GPL-2.0-only
/* Layout records: round trips, damage, and what a layout must not be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/kernel.h>
#include <linux/xxhash.h>

#include "userspace/format/layout.h"
#include "userspace/format/layout_text.h"
#include "suite.h"

#define MIB	(1ULL << 20)

static struct layout a, b;
static u8 raw[LAYOUT_BYTES_MAX], other[LAYOUT_BYTES_MAX];

static struct muuid uuid(u32 n)
{
	struct muuid u = { { 0x20 } };

	memcpy(u.b + 8, &n, sizeof(n));
	return u;
}

/* stripe:4 of 64 MiB a member, and a linear segment appended on a fifth. */
static int two_segments(void)
{
	memset(&a, 0, sizeof(a));
	a.volume = uuid(1);
	strcpy(a.name, "data-1");
	a.version = 3;
	a.commit = 0x1122334455667788ULL;
	a.created = 1700000000;
	a.lba = 512;
	a.members = 5;
	for (u32 i = 0; i < 5; i++) {
		a.member[i].target = uuid(100 + i / 2);
		a.member[i].drive = uuid(200 + i);
		a.member[i].extent = uuid(300 + i);
		a.member[i].size = 65 * MIB;
		a.member[i].port = 4421;
		strcpy(a.member[i].addr, "10.0.0.1");
		a.ref[i] = (struct layout_ref) { i, MIB };
	}
	a.refs = 5;
	a.segment[0] = (struct layout_segment) {
		.length = 256 * MIB, .level = PROT_STRIPE, .data = 4, .groups = 1,
		.strip = 65536, .refs = 4, .domain = LAYOUT_DOMAIN_HOST,
	};
	a.segment[1] = (struct layout_segment) {
		.start = 256 * MIB, .length = 32 * MIB, .level = PROT_LINEAR, .data = 1,
		.groups = 1, .first_ref = 4, .refs = 1,
	};
	a.segments = 2;
	a.size = 288 * MIB;
	return layout_encode(&a, raw, sizeof(raw));
}

static void test_round_trip(void)
{
	int n = two_segments();

	CU_ASSERT_EQUAL_FATAL(n, 256 + 5 * 128 + 2 * 64 + 5 * 16);
	CU_ASSERT_EQUAL_FATAL(layout_decode(raw, sizeof(raw), &b), 0);
	CU_ASSERT_EQUAL(layout_encode(&b, other, sizeof(other)), n);
	CU_ASSERT(!memcmp(raw, other, n));
	CU_ASSERT(b.segment[0].domain == LAYOUT_DOMAIN_HOST && !b.segment[1].domain);
	CU_ASSERT_EQUAL(layout_member_bytes(&b.segment[0]), 64 * MIB);
	CU_ASSERT_EQUAL(layout_member_bytes(&b.segment[1]), 32 * MIB);
	CU_ASSERT(!memcmp(raw, "BMESHVOL\3\0\0\0", 12));
}

/* The head alone has what a list needs, and the tail may be anything. */
static void test_peek(void)
{
	struct layout_head h;
	int n = two_segments();

	memset(&h, 0xff, sizeof(h));
	CU_ASSERT_EQUAL(layout_peek(raw, 256, &h), 0);
	CU_ASSERT(muuid_equal(&h.volume, &a.volume));
	CU_ASSERT_STRING_EQUAL(h.name, "data-1");
	CU_ASSERT_EQUAL(h.version, 3);
	CU_ASSERT_EQUAL(h.commit, 0x1122334455667788ULL);
	CU_ASSERT_EQUAL(h.size, 288 * MIB);
	CU_ASSERT_EQUAL(h.created, 1700000000);
	CU_ASSERT_EQUAL(h.members, 5);
	CU_ASSERT_EQUAL(h.shape.level, PROT_STRIPE);
	CU_ASSERT_EQUAL(h.shape.data, 4);
	CU_ASSERT_EQUAL(h.shape.groups, 1);
	memset(raw + 256, 0xaa, n - 256);
	CU_ASSERT_EQUAL(layout_peek(raw, LAYOUT_PEEK, &h), 0);
	CU_ASSERT_EQUAL(layout_decode(raw, sizeof(raw), &b), -EBADMSG);
	for (int len = 8; len < 256; len++)
		CU_ASSERT_EQUAL(layout_peek(raw, len, &h), -EBADMSG);
	CU_ASSERT_EQUAL(layout_peek(raw, 7, &h), -ENODATA);
}

/* No bit of the head may flip unseen, but for the checksum of the whole. */
static void test_peek_flipped(void)
{
	struct layout_head h;

	two_segments();
	for (int i = 0; i < 256 * 8; i++) {
		raw[i / 8] ^= 1 << i % 8;
		if (!layout_peek(raw, 256, &h) && (i / 8 < 16 || i / 8 >= 24))
			CU_FAIL("a flipped bit of the head passed");
		raw[i / 8] ^= 1 << i % 8;
	}
}

static void test_every_flipped_bit(void)
{
	int n = two_segments();

	for (int i = 0; i < n * 8; i++) {
		raw[i / 8] ^= 1 << i % 8;
		if (!layout_decode(raw, sizeof(raw), &b))
			CU_FAIL("a flipped bit passed");
		raw[i / 8] ^= 1 << i % 8;
	}
}

static void test_truncated(void)
{
	int n = two_segments();
	u8 *exact;

	for (int len = 0; len < n; len++) {
		exact = malloc(len ? len : 1);
		memcpy(exact, raw, len);
		CU_ASSERT(layout_decode(exact, len, &b) < 0);
		free(exact);
	}
	CU_ASSERT_EQUAL(layout_decode(raw, n, &b), 0);
	CU_ASSERT_EQUAL(layout_encode(&a, other, n - 1), -ENOSPC);
}

/* Each change makes a layout that cannot be. */
static void test_meaning(void)
{
#define REFUSED(change) do {						\
		two_segments();						\
		CU_ASSERT_EQUAL(layout_check(&a), 0);			\
		change;							\
		CU_ASSERT_EQUAL(layout_check(&a), -EUCLEAN);		\
		CU_ASSERT_EQUAL(layout_encode(&a, raw, sizeof(raw)), -EUCLEAN); \
	} while (0)

	REFUSED(a.version = 0);
	REFUSED(a.commit = 0);
	REFUSED(a.commit = 1ULL << 63);
	REFUSED(a.volume = (struct muuid) { { 0 } });
	REFUSED(a.lba = 520);
	REFUSED(a.size += 512);
	REFUSED(a.size = 0);
	REFUSED(a.name[0] = 0);
	REFUSED(strcpy(a.name, "a/b"));
	REFUSED(memset(a.name, 'x', sizeof(a.name)));
	REFUSED(a.members = 0);
	REFUSED(a.members = 4);
	REFUSED(a.members = PROT_MEMBERS_MAX + 1);
	REFUSED(a.segments = 0);
	REFUSED(a.segments = 1);
	REFUSED(a.refs = 6);
	REFUSED(a.refs = PROT_PLACES_MAX + 1);
	REFUSED(a.member[1].extent = a.member[0].extent);
	REFUSED(a.member[1].extent = (struct muuid) { { 0 } });
	REFUSED(a.member[1].size = 65 * MIB - 512);
	REFUSED(a.member[1].size = MIB);
	REFUSED(memset(a.member[1].addr, 'x', LAYOUT_ADDR));
	REFUSED(a.segment[0].level = 0);
	REFUSED(a.segment[0].level = 9);
	REFUSED(a.segment[0].strip = 65537);
	REFUSED(a.segment[0].strip = 2048);
	REFUSED(a.segment[0].strip = 2 << 20);
	REFUSED(a.segment[0].data = 3);
	REFUSED(a.segment[0].groups = 2);
	REFUSED(a.segment[0].groups = 0);
	REFUSED(a.segment[0].parity = 1);
	REFUSED(a.segment[0].domain = 2);
	REFUSED(a.segment[0].fresh = true);
	REFUSED(a.member[1].kind = LAYOUT_KIND_BDEV + 1);
	REFUSED(a.segment[0].length -= 65536);
	REFUSED(a.segment[0].refs = 3);
	REFUSED(a.segment[1].start += 512);
	REFUSED(a.segment[1].length = 0);
	REFUSED(a.segment[1].length = ~511ULL);
	REFUSED(a.segment[1].first_ref = 3);
	REFUSED(a.ref[4].member = 5);
	REFUSED(a.ref[4].member = 0);			/* bytes used twice */
	REFUSED(a.ref[4].offset = 0);			/* in the metadata */
	REFUSED(a.ref[4].offset = MIB + 100);
	REFUSED(a.ref[4].offset = 33 * MIB + 512);	/* behind the end */
	REFUSED(a.ref[4].offset = ~511ULL);
}

/* A member may serve two segments when their bytes are apart. */
static void test_shared_member(void)
{
	two_segments();
	a.member[0].size = 97 * MIB;
	a.ref[4] = (struct layout_ref) { 0, 65 * MIB };
	CU_ASSERT_EQUAL(layout_check(&a), 0);
	a.ref[4].offset -= 512;
	CU_ASSERT_EQUAL(layout_check(&a), -EUCLEAN);
}

static void test_petabyte(void)
{
	two_segments();
	for (u32 i = 0; i < 4; i++)
		a.member[i].size = (1ULL << 48) + MIB;
	a.segment[0].length = 1ULL << 50;
	a.segment[1].start = 1ULL << 50;
	a.size = (1ULL << 50) + 32 * MIB;
	CU_ASSERT(layout_encode(&a, raw, sizeof(raw)) > 0);
	CU_ASSERT_EQUAL(layout_decode(raw, sizeof(raw), &b), 0);
	CU_ASSERT_EQUAL(b.size, a.size);
}

/* Groups of @level over one extent a member, each with @each bytes of data. */
static void groups(u8 level, u8 data, u8 parity, u16 groups, u64 each, u32 lba)
{
	u32 width = data + parity;
	u64 at;

	memset(&a, 0, sizeof(a));
	a.volume = uuid(1);
	strcpy(a.name, "safe");
	a.version = a.commit = 1;
	a.salt = 0x5a17;
	a.spares = 258;
	a.spares_used = 3;
	a.lba = lba;
	a.segments = 1;
	a.members = a.refs = groups * width;
	a.segment[0] = (struct layout_segment) {
		.length = each * groups * (parity ? data : 1), .level = level, .data = data,
		.parity = parity, .groups = groups, .strip = 65536, .refs = a.refs, .fresh = true,
	};
	a.size = a.segment[0].length;
	at = layout_data_at(&a.segment[0], lba);
	for (u32 i = 0; i < a.members; i++) {
		a.member[i].extent = uuid(300 + i);
		a.member[i].size = at + each;
		a.ref[i] = (struct layout_ref) { i, at };
	}
}

static void test_groups(void)
{
	static const struct { u8 level, data, parity; u16 groups; } s[] = {
		{ PROT_MIRROR, 2, 0, 1 }, { PROT_MIRROR, 4, 0, 1 }, { PROT_RAID10, 3, 0, 5 },
		{ PROT_EC, 2, 1, 1 }, { PROT_EC, 8, 3, 2 }, { PROT_EC, 32, 4, 7 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		for (u32 lba = 512; lba <= 4096; lba *= 8) {
			struct layout_head h;
			int n;

			groups(s[i].level, s[i].data, s[i].parity, s[i].groups, 64 * MIB, lba);
			n = layout_encode(&a, raw, sizeof(raw));
			CU_ASSERT_FATAL(n > 0);
			CU_ASSERT(!layout_decode(raw, n, &b) && !layout_peek(raw, n, &h));
			CU_ASSERT(b.salt == 0x5a17 && b.segment[0].fresh && layout_fresh(&b));
			CU_ASSERT(b.spares == 258 && b.spares_used == 3 && layout_spares_left(&b) == 255);
			CU_ASSERT(layout_protected(&b));
			CU_ASSERT(h.shape.groups == s[i].groups && h.shape.parity == s[i].parity);
			CU_ASSERT_EQUAL(layout_member_bytes(&b.segment[0]), 64 * MIB);
			CU_ASSERT(b.ref[0].offset >= 2 * MIB && !(b.ref[0].offset % MIB));
			a.segment[0].fresh = false;
			CU_ASSERT(layout_encode(&a, other, sizeof(other)) == n && memcmp(raw, other, n));
		}
	}
	groups(PROT_MIRROR, 2, 0, 1, 64 * MIB, 512);
	layout_encode(&a, raw, sizeof(raw));
	CU_ASSERT_FALSE(two_segments() < 0 || layout_protected(&a) || layout_fresh(&a));
}

static void further(void)
{
	for (u32 i = 0; i < a.members; i++) {
		a.ref[i].offset += MIB;
		a.member[i].size += MIB;
	}
}

/* A linear segment behind a group's data. */
static void linear_behind(void)
{
	a.ref[a.refs] = (struct layout_ref) { 0, a.member[0].size };
	a.member[0].size += MIB;
	a.segment[a.segments++] = (struct layout_segment) {
		.start = a.size, .length = MIB, .level = PROT_LINEAR, .data = 1, .groups = 1,
		.first_ref = a.refs++, .refs = 1,
	};
	a.size += MIB;
}

static void test_groups_meaning(void)
{
#define REFUSED_GROUPS(change) do {					\
		groups(PROT_EC, 2, 1, 2, 64 * MIB, 512);		\
		CU_ASSERT_EQUAL(layout_check(&a), 0);			\
		change;							\
		CU_ASSERT_EQUAL(layout_check(&a), -EUCLEAN);		\
	} while (0)

	REFUSED_GROUPS(a.salt = 0);
	REFUSED_GROUPS(a.segment[0].parity = 0);
	REFUSED_GROUPS(a.segment[0].parity = 5);
	REFUSED_GROUPS(a.segment[0].groups = 1);
	REFUSED_GROUPS(a.segment[0].level = PROT_MIRROR);
	REFUSED_GROUPS(a.segment[0].strip = 0);
	REFUSED_GROUPS(a.ref[0].offset -= MIB);		/* in the records */
	REFUSED_GROUPS(further());			/* room that no records have */
	REFUSED_GROUPS(a.ref[1].member = 0);		/* twice in a group */
	REFUSED_GROUPS(a.ref[3].member = 0);		/* in two groups */
	REFUSED_GROUPS(a.member[2].size -= 512);
	REFUSED_GROUPS(linear_behind());
}

static void sum_again(int n)
{
	struct layout_disk_head h;

	memcpy(&h, raw, sizeof(h));
	h.csum = 0;
	h.csum = cpu_to_le64(xxh64(raw + 256, n - 256, xxh64(&h, sizeof(h), 0)));
	memcpy(raw, &h, sizeof(h));
}

/* A flag of a later version, with all checksums right. */
static void test_unknown_flag(void)
{
	struct layout_disk_segment s;
	struct layout_disk_member m;
	int n;

	groups(PROT_MIRROR, 2, 0, 1, 64 * MIB, 512);
	n = layout_encode(&a, raw, sizeof(raw));
	memcpy(&s, raw + 256 + 2 * 128, sizeof(s));
	s.flags = cpu_to_le16(le16_to_cpu(s.flags) | 2);
	memcpy(raw + 256 + 2 * 128, &s, sizeof(s));
	sum_again(n);
	CU_ASSERT_EQUAL(layout_decode(raw, n, &b), -EUCLEAN);
	n = layout_encode(&a, raw, sizeof(raw));
	memcpy(&m, raw + 256, sizeof(m));
	m.flags = 2;
	memcpy(raw + 256, &m, sizeof(m));
	sum_again(n);
	CU_ASSERT_EQUAL(layout_decode(raw, n, &b), -EUCLEAN);
}

/* Members that were away when it was made. */
static void test_late(void)
{
	int n;

	groups(PROT_MIRROR, 2, 0, 1, 64 * MIB, 512);
	CU_ASSERT(!layout_late(&a));
	a.member[1].late = true;
	n = layout_encode(&a, raw, sizeof(raw));
	CU_ASSERT(n > 0 && !layout_decode(raw, n, &b));
	CU_ASSERT(b.member[1].late && !b.member[0].late && layout_late(&b));
	layout_none_late(&b);
	CU_ASSERT(!layout_late(&b));
}

static void test_largest(void)
{
	memset(&a, 0, sizeof(a));
	a.volume = uuid(1);
	strcpy(a.name, "big");
	a.version = 1;
	a.commit = 1;
	a.lba = 4096;
	a.members = PROT_MEMBERS_MAX;
	a.refs = PROT_PLACES_MAX;
	a.segments = PROT_SEGMENTS_MAX;
	for (u32 i = 0; i < a.members; i++) {
		a.member[i].extent = uuid(1000 + i);
		a.member[i].size = 10 * MIB;
	}
	for (u32 i = 0; i < a.refs; i++)
		a.ref[i] = (struct layout_ref) { i / 2, i % 2 ? 2 * MIB : MIB };
	for (u32 i = 0; i < a.segments; i++) {
		a.segment[i] = (struct layout_segment) {
			.start = i * 4 * MIB, .length = 4 * MIB, .level = PROT_STRIPE,
			.data = 4, .groups = 1, .strip = 4096, .first_ref = 4 * i, .refs = 4,
		};
	}
	a.size = a.segments * 4 * MIB;
	CU_ASSERT_EQUAL(layout_encode(&a, raw, sizeof(raw)), (int)LAYOUT_BYTES_MAX);
	CU_ASSERT_EQUAL(layout_decode(raw, sizeof(raw), &b), 0);
}

static void test_names(void)
{
	char name[LAYOUT_NAME + 1];

	CU_ASSERT_TRUE(layout_name_ok("a"));
	CU_ASSERT_TRUE(layout_name_ok("Data_1.x-y"));
	CU_ASSERT_TRUE(layout_name_ok("0"));
	CU_ASSERT_TRUE(layout_name_ok("db-part"));
	CU_ASSERT_TRUE(layout_name_ok("part1"));
	CU_ASSERT_TRUE(layout_name_ok("db-part1x"));
	CU_ASSERT_FALSE(layout_name_ok("db-part1"));
	CU_ASSERT_FALSE(layout_name_ok("db-part1-part12"));
	CU_ASSERT_FALSE(layout_name_ok(""));
	CU_ASSERT_FALSE(layout_name_ok("-x"));
	CU_ASSERT_FALSE(layout_name_ok(".x"));
	CU_ASSERT_FALSE(layout_name_ok("a b"));
	CU_ASSERT_FALSE(layout_name_ok("a/b"));
	CU_ASSERT_FALSE(layout_name_ok("\xc3\xa9"));
	memset(name, 'n', sizeof(name));
	name[LAYOUT_NAME - 1] = 0;
	CU_ASSERT_TRUE(layout_name_ok(name));
	name[LAYOUT_NAME - 1] = 'n';
	name[LAYOUT_NAME] = 0;
	CU_ASSERT_FALSE(layout_name_ok(name));
}

static void test_uuid_text(void)
{
	static const char text[] = "00112233-4455-6677-8899-aabbccddeeff";
	char out[MUUID_TEXT], bad[64];
	struct muuid u;

	CU_ASSERT_EQUAL(muuid_parse(text, &u), 0);
	CU_ASSERT_EQUAL(u.b[0], 0);
	CU_ASSERT_EQUAL(u.b[15], 0xff);
	muuid_text(&u, out);
	CU_ASSERT_STRING_EQUAL(out, text);
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		strcpy(bad, text);
		bad[n] = 0;
		CU_ASSERT_EQUAL(muuid_parse(bad, &u), -EINVAL);
		strcpy(bad, text);
		bad[n] = 'g';
		CU_ASSERT_EQUAL(muuid_parse(bad, &u), -EINVAL);
	}
	strcpy(bad, text);
	strcat(bad, "0");
	CU_ASSERT_EQUAL(muuid_parse(bad, &u), -EINVAL);
	CU_ASSERT_EQUAL(muuid_parse("00112233-4455-6677-8899-AABBCCDDEEFF", &u), 0);
	CU_ASSERT_EQUAL(u.b[10], 0xaa);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "round trip", test_round_trip },
		{ "peek", test_peek },
		{ "flipped head", test_peek_flipped },
		{ "every flipped bit", test_every_flipped_bit },
		{ "truncated", test_truncated },
		{ "meaning", test_meaning },
		{ "shared member", test_shared_member },
		{ "petabyte", test_petabyte },
		{ "groups", test_groups },
		{ "groups: meaning", test_groups_meaning },
		{ "unknown flag", test_unknown_flag },
		{ "members that are late", test_late },
		{ "largest", test_largest },
		{ "names", test_names },
		{ "UUID text", test_uuid_text },
		{ NULL, NULL },
	};

	return suite_main("layout", tests);
}
