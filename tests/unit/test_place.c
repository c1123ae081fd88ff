// SPDX-License-Identifier: GPL-2.0-only
/* Choice of drives, and sizes as users write them. */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/place.h"
#include "userspace/format/size.h"
#include "suite.h"

#define G	(1ULL << 30)

static struct place_drive drives[6];

/* Hosts 1, 1, 1, 2, 2, 3 with 10, 30, 20, 5, 40, 15 GiB free. */
static void six(void)
{
	static const u8 host[] = { 1, 1, 1, 2, 2, 3 };
	static const u8 room[] = { 10, 30, 20, 5, 40, 15 };

	memset(drives, 0, sizeof(drives));
	for (int i = 0; i < 6; i++) {
		drives[i].host.b[0] = host[i];
		drives[i].drive.b[0] = i + 1;
		drives[i].free = drives[i].longest = room[i] * G;
		drives[i].lba = 512;
		drives[i].wanted = true;
	}
}

static void test_spread(void)
{
	u32 out[6];

	six();
	CU_ASSERT_EQUAL_FATAL(place_stripe(drives, 6, G, 3, PLACE_DRIVE, out), 3);
	CU_ASSERT_EQUAL(out[0], 4);
	CU_ASSERT_EQUAL(out[1], 1);
	CU_ASSERT_EQUAL(out[2], 5);
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 6, PLACE_DRIVE, out), 6);
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 7, PLACE_DRIVE, out), 6);
}

static void test_domain_host(void)
{
	u32 out[6];

	six();
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 3, PLACE_HOST, out), 3);
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 4, PLACE_HOST, out), 3);
}

static void test_room(void)
{
	u32 out[6];

	six();
	CU_ASSERT_EQUAL(place_stripe(drives, 6, 20 * G, 3, PLACE_DRIVE, out), 3);
	CU_ASSERT_EQUAL(place_stripe(drives, 6, 20 * G, 4, PLACE_DRIVE, out), 3);
	drives[4].longest = G;
	CU_ASSERT_EQUAL(place_stripe(drives, 6, 20 * G, 3, PLACE_DRIVE, out), 2);
	CU_ASSERT_EQUAL(place_one(drives, 6, 20 * G), 1);
	CU_ASSERT_EQUAL(place_one(drives, 6, 31 * G), -1);
}

static void test_wanted_and_lba(void)
{
	u32 out[6];

	six();
	for (int i = 0; i < 4; i++)
		drives[i].wanted = false;
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 3, PLACE_DRIVE, out), 2);
	six();
	drives[0].lba = drives[1].lba = 4096;
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 4, PLACE_DRIVE, out), 4);
	for (int i = 0; i < 4; i++)
		CU_ASSERT(out[i] >= 2);
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 5, PLACE_DRIVE, out) < 5, true);
	/* There are more of one kind, but the other is on more hosts. */
	six();
	drives[3].lba = drives[5].lba = 4096;
	drives[4].wanted = false;
	CU_ASSERT_EQUAL(place_stripe(drives, 6, G, 2, PLACE_HOST, out), 2);
	CU_ASSERT(out[0] + out[1] == 3 + 5);
}

static void test_sizes(void)
{
	static const struct { const char *text; int err; u64 v; } s[] = {
		{ "0", 0, 0 }, { "4096", 0, 4096 }, { "64k", 0, 65536 }, { "64K", 0, 65536 },
		{ "10G", 0, 10 * G }, { "10GiB", 0, 10 * G }, { "10Gi", 0, 10 * G },
		{ "1.5T", 0, 1536 * G }, { "100B", 0, 100 }, { "1P", 0, 1ULL << 50 },
		{ "", -EINVAL, 0 }, { "G", -EINVAL, 0 }, { "-1", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 }, { "1.G", -EINVAL, 0 }, { "1x", -EINVAL, 0 },
		{ "1Gx", -EINVAL, 0 }, { " 1", -EINVAL, 0 }, { "0x10", -EINVAL, 0 },
		{ "8E", -ERANGE, 0 }, { "99999999999999999999", -ERANGE, 0 },
	};
	char text[SIZE_TEXT];
	u64 v;

	for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
		CU_ASSERT_EQUAL(size_parse(s[i].text, &v), s[i].err);
		if (!s[i].err)
			CU_ASSERT_EQUAL(v, s[i].v);
	}
	size_text(1536, text);
	CU_ASSERT_STRING_EQUAL(text, "1.5 KiB");
	size_text(10 * G, text);
	CU_ASSERT_STRING_EQUAL(text, "10 GiB");
	size_text(1023, text);
	CU_ASSERT_STRING_EQUAL(text, "1023 B");
	size_text(~0ULL, text);
	CU_ASSERT_STRING_EQUAL(text, "16 EiB");
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "spread over hosts", test_spread },
		{ "domain host", test_domain_host },
		{ "room", test_room },
		{ "wanted drives, block sizes", test_wanted_and_lba },
		{ "sizes", test_sizes },
		{ NULL, NULL },
	};

	return suite_main("place", tests);
}
