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

/* Whether the groups from @at on can be placed at all: every choice is tried. */
static bool possible(u32 n, const struct place_groups *p, u32 lba, u32 at, u32 *out)
{
	u32 first = at - at % p->width, i, k, used;

	if (at == p->groups * p->width)
		return true;
	/* Members of a group in rising order: the order is of no matter. */
	for (i = at > first ? out[at - 1] + 1 : 0; i < n; i++) {
		for (k = used = 0; k < at; k++)
			used += out[k] == i;
		if (drives[i].lba != lba || !drives[i].wanted || drives[i].longest / p->bytes <= used)
			continue;
		for (k = first; k < at; k++)
			if (p->domain == PLACE_HOST && muuid_equal(&drives[out[k]].host, &drives[i].host))
				break;
		out[at] = i;
		if (k == at && possible(n, p, lba, at + 1, out))
			return true;
	}
	return false;
}

/* What was chosen keeps all that is wanted. */
static bool lawful(const struct place_groups *p, const u32 *out)
{
	u32 n = p->groups * p->width, i, k, used;

	for (i = 0; i < n; i++) {
		for (k = used = 0; k < n; k++) {
			used += out[k] == out[i];
			if (k == i || k / p->width != i / p->width)
				continue;
			if (out[k] == out[i] || (p->domain == PLACE_HOST &&
			    muuid_equal(&drives[out[k]].host, &drives[out[i]].host)))
				return false;
		}
		if (drives[out[i]].longest < used * p->bytes || !drives[out[i]].wanted ||
		    drives[out[i]].lba != drives[out[0]].lba)
			return false;
	}
	return true;
}

/* All shapes over random drives: what is chosen is lawful, what is refused impossible. */
static void test_groups(void)
{
	u32 seed = 1, out[12], none[12], n, yes = 0, no = 0;

	for (u32 round = 0; round < 4000; round++) {
		struct place_groups p;
		bool can;
		int err;

		memset(drives, 0, sizeof(drives));
		for (u32 i = 0; i < 6; i++) {
			seed = seed * 1103515245 + 12345;
			drives[i].host.b[0] = (seed >> 16) % 4;
			drives[i].drive.b[0] = i + 1;
			drives[i].longest = drives[i].free = (seed >> 20) % 4 * G;
			drives[i].lba = (seed >> 24) % 6 ? 512 : 4096;
			drives[i].wanted = (seed >> 27) % 8;
		}
		n = 2 + (seed >> 12) % 5;
		p = (struct place_groups) { G, 1 + round % 3, 2 + round / 3 % 3,
					    round & 1 ? PLACE_HOST : PLACE_DRIVE };
		err = place_groups(drives, n, &p, out);
		can = possible(n, &p, 512, 0, none) || possible(n, &p, 4096, 0, none);
		CU_ASSERT_EQUAL(err, can ? 0 : -ENOSPC);
		CU_ASSERT(err || lawful(&p, out));
		yes += can;
		no += !can;
	}
	CU_ASSERT(yes > 500 && no > 500);
}

/* Load goes where there is least of it. */
static void test_groups_spread(void)
{
	struct place_groups p = { G, 3, 2, PLACE_HOST };
	u32 out[12], used[6] = { 0 }, i;

	six();
	CU_ASSERT_EQUAL_FATAL(place_groups(drives, 6, &p, out), 0);
	for (i = 0; i < 6; i++)
		used[out[i]]++;
	for (i = 0; i < 6; i++)
		CU_ASSERT(used[i] <= 2);
	CU_ASSERT(lawful(&p, out));
	p = (struct place_groups) { G, 1, 4, PLACE_HOST };
	CU_ASSERT_EQUAL(place_groups(drives, 6, &p, out), -ENOSPC);
	CU_ASSERT_EQUAL(place_domains(drives, 6, G, PLACE_HOST), 3);
	CU_ASSERT_EQUAL(place_domains(drives, 6, G, PLACE_DRIVE), 6);
	CU_ASSERT_EQUAL(place_domains(drives, 6, 16 * G, PLACE_HOST), 2);
	p.domain = PLACE_DRIVE;
	CU_ASSERT(!place_groups(drives, 6, &p, out) && lawful(&p, out));
	/* All of 12 members on 6 drives, two of each. */
	p = (struct place_groups) { 5 * G, 2, 6, PLACE_DRIVE };
	CU_ASSERT_EQUAL(place_groups(drives, 6, &p, out), -ENOSPC);
	p.bytes = 2 * G;
	CU_ASSERT(!place_groups(drives, 6, &p, out) && lawful(&p, out));
}

static void test_spare(void)
{
	struct place_drive taken[2];

	six();
	taken[0] = drives[4];
	taken[1] = drives[1];
	/* On none of these drives; on another host if there is one; with most room. */
	CU_ASSERT_EQUAL(place_spare(drives, 6, G, PLACE_DRIVE, taken, 2), 5);
	CU_ASSERT_EQUAL(place_spare(drives, 6, G, PLACE_HOST, taken, 2), 5);
	drives[5].longest = G / 2;
	CU_ASSERT_EQUAL(place_spare(drives, 6, G, PLACE_DRIVE, taken, 2), 2);
	CU_ASSERT_EQUAL(place_spare(drives, 6, G, PLACE_HOST, taken, 2), -1);
	CU_ASSERT_EQUAL(place_spare(drives, 6, G, PLACE_HOST, taken, 1), 1);
	drives[1].wanted = drives[2].wanted = false;
	CU_ASSERT_EQUAL(place_spare(drives, 6, G, PLACE_HOST, taken, 1), 0);
	CU_ASSERT_EQUAL(place_spare(drives, 6, 100 * G, PLACE_DRIVE, taken, 1), -1);
	CU_ASSERT_EQUAL(place_spare(drives, 0, G, PLACE_DRIVE, taken, 1), -1);
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
		{ "groups: every choice", test_groups },
		{ "groups: spread", test_groups_spread },
		{ "a spare", test_spare },
		{ "sizes", test_sizes },
		{ NULL, NULL },
	};

	return suite_main("place", tests);
}
