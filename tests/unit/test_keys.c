// SPDX-License-Identifier: GPL-2.0-only
/* Keys of the store: one text for each object, and no other one. */
#include <errno.h>
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/keys.h"
#include "suite.h"

#define H "11111111-1111-4111-8111-1111111111ab"
#define D "22222222-2222-4222-8222-2222222222cd"
#define V "33333333-3333-4333-8333-3333333333ef"
#define T "44444444-4444-4444-8444-44444444440f"
#define I "55555555-5555-4555-8555-555555555501"
#define NULL_UUID "00000000-0000-0000-0000-000000000000"

/* The table of the contract, by hand. */
static const struct {
	enum key_kind kind;
	const char *text;
	const char *prefix[2];	/* with no segment given, and with one */
} known[] = {
	{ KEY_CLUSTER, "cluster", { NULL } },
	{ KEY_LEADER, "leader", { NULL } },
	{ KEY_HOST, "host/" H, { "host/" } },
	{ KEY_ALIVE, "alive/" H, { "alive/" } },
	{ KEY_DEVICE, "device/" H, { "device/" } },
	{ KEY_DRIVE, "drive/" D, { "drive/" } },
	{ KEY_VOLUME, "volume/" V, { "volume/" } },
	{ KEY_NAME, "name/db.1_a-b", { "name/" } },
	{ KEY_ACCESS, "access/" V, { "access/" } },
	{ KEY_READER, "reader/" V "/" H, { "reader/", "reader/" V "/" } },
	{ KEY_WANT, "want/" H "/" V, { "want/", "want/" H "/" } },
	{ KEY_WRITER, "writer/" V, { "writer/" } },
	{ KEY_ROSTER, "roster/" V, { "roster/" } },
	{ KEY_TASK, "task/" T, { "task/" } },
	{ KEY_EVENT, "event/" H "/7fffffffffffffff", { "event/", "event/" H "/" } },
	{ KEY_STATUS, "status/" H "/" V, { "status/", "status/" H "/" } },
	{ KEY_TOKEN, "token/" I, { "token/" } },
	{ KEY_RECOVER, "recover", { NULL } },
	{ KEY_REPORT, "report/" H "/" V, { "report/", "report/" H "/" } },
};

static struct key key_of(enum key_kind kind)
{
	struct key k = { .kind = kind, .serial = ~0ULL >> 1, .name = "db.1_a-b" };

	CU_ASSERT(!muuid_parse(H, &k.host));
	CU_ASSERT(!muuid_parse(D, &k.drive));
	CU_ASSERT(!muuid_parse(V, &k.volume));
	CU_ASSERT(!muuid_parse(V, &k.about));
	CU_ASSERT(!muuid_parse(T, &k.task));
	CU_ASSERT(!muuid_parse(I, &k.token));
	return k;
}

static void test_table(void)
{
	char text[STORE_KEY_MAX];
	struct key k, back;

	CU_ASSERT_EQUAL(ARRAY_SIZE(known), KEY_KINDS - 1);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		k = key_of(known[i].kind);
		CU_ASSERT_EQUAL(key_text(&k, text), 0);
		CU_ASSERT_STRING_EQUAL(text, known[i].text);
		CU_ASSERT_EQUAL(key_parse(text, &back), 0);
		CU_ASSERT_EQUAL(back.kind, known[i].kind);
		CU_ASSERT(key_equal(&k, &back));
		CU_ASSERT(!strncmp(text, key_word(k.kind), strlen(key_word(k.kind))));
		for (unsigned int n = 0; n < 2; n++) {
			if (known[i].prefix[n]) {
				CU_ASSERT_EQUAL(key_prefix(&k, n, text), 0);
				CU_ASSERT_STRING_EQUAL(text, known[i].prefix[n]);
			} else {
				CU_ASSERT_EQUAL(key_prefix(&k, n, text), -EINVAL);
			}
		}
		CU_ASSERT_EQUAL(key_prefix(&k, 2, text), -EINVAL);
		CU_ASSERT_EQUAL(key_prefix(&k, ~0U, text), -EINVAL);
	}
	CU_ASSERT_PTR_NULL(key_word(0));
	CU_ASSERT_PTR_NULL(key_word(KEY_KINDS));
	k = key_of(KEY_KINDS);
	CU_ASSERT_EQUAL(key_text(&k, text), -EINVAL);
	k.kind = 0;
	CU_ASSERT_EQUAL(key_text(&k, text), -EINVAL);
	CU_ASSERT_EQUAL(key_prefix(&k, 0, text), -EINVAL);
}

/* A segment counts: keys that differ in one are different. */
static void test_equal(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct key a = key_of(known[i].kind), b = a;

		b.host.b[0] ^= 1;
		b.drive.b[15] ^= 1;
		b.volume.b[3] ^= 1;
		b.task.b[4] ^= 1;
		b.token.b[6] ^= 1;
		b.about.b[5] ^= 1;
		b.serial ^= 1;
		b.name[0] ^= 1;
		CU_ASSERT_EQUAL(key_equal(&a, &b), !strchr(known[i].text, '/'));
		for (size_t n = 0; n < ARRAY_SIZE(known); n++) {
			b = key_of(known[n].kind);
			CU_ASSERT_EQUAL(key_equal(&a, &b), n == i);
		}
	}
}

/* Whatever is parsed has this very text. */
static bool one_text(const char *text)
{
	char back[STORE_KEY_MAX];
	struct key k;

	return key_parse(text, &k) == -EINVAL || (!key_text(&k, back) && !strcmp(text, back));
}

static void test_every_byte(void)
{
	char text[STORE_KEY_MAX + 8];
	struct key k;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t n = strlen(known[i].text);
		bool name = known[i].kind == KEY_NAME;

		for (size_t at = 0; at < n; at++) {
			strcpy(text, known[i].text);
			for (int c = 1; c < 256; c++) {
				text[at] = c;
				CU_ASSERT(one_text(text));
			}
			strcpy(text, known[i].text);
			text[at] = 0;
			CU_ASSERT(one_text(text));
			/* All but names have one length. */
			CU_ASSERT(name || key_parse(text, &k) == -EINVAL);
			memmove(text + at, known[i].text + at + 1, n - at);
			CU_ASSERT(one_text(text));
			CU_ASSERT(name || key_parse(text, &k) == -EINVAL);
		}
		for (int c = 1; c < 256; c++) {
			snprintf(text, sizeof(text), "%s%c", known[i].text, c);
			CU_ASSERT(one_text(text));
			CU_ASSERT(name || key_parse(text, &k) == -EINVAL);
			snprintf(text, sizeof(text), "%c%s", c, known[i].text);
			CU_ASSERT_EQUAL(key_parse(text, &k), -EINVAL);
		}
	}
}

static void test_bad(void)
{
	static const char *const bad[] = {
		"", "/", "Cluster", "cluster/", "clusters", "host", "host/", "hosts/" H, "host//" H,
		"host/" H "/", "host/" H "/" V, "host/" NULL_UUID, "access/" NULL_UUID,
		"host/11111111-1111-4111-8111-1111111111AB", "want/" H, "want//" V, "want/" H "/",
		"want/" NULL_UUID "/" V, "want/" H "/" NULL_UUID, "want/" H "/" V "/" V,
		"status/" H "/" NULL_UUID, "name/", "name/.a", "name/-a", "name/a/b", "name/a b",
		"name/db-part1", "name/\xc3\xa4",
		"name/a234567890123456789012345678901234567890123456789012345678901234",
		"event/" H, "event/" H "/0", "event/" H "/8000000000000000",
		"event/" H "/000000000000000A", "event/" H "/00000000000000001", "task/x", "token/", "token/x",
		"token/" I "/" I, "token/" NULL_UUID,
		"device/" H "x", "session/" H,
	};
	char text[2 * STORE_KEY_MAX];
	struct key k;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CU_ASSERT_EQUAL(key_parse(bad[i], &k), -EINVAL);
	memset(text, 'a', sizeof(text));
	memcpy(text, "name/", 5);
	for (size_t n = 1; n < sizeof(text) - 5; n++) {
		text[5 + n] = 0;
		CU_ASSERT_EQUAL(key_parse(text, &k), n < KEY_NAME_MAX ? 0 : -EINVAL);
		text[5 + n] = 'a';
	}
}

/* What has no text: null UUIDs, names that are not allowed, serials beyond 63 bits. */
static void test_unmakeable(void)
{
	char text[STORE_KEY_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct key k = { .kind = known[i].kind };

		CU_ASSERT_EQUAL(key_text(&k, text), strchr(known[i].text, '/') ? -EINVAL : 0);
		if (known[i].prefix[1])
			CU_ASSERT_EQUAL(key_prefix(&k, 1, text), -EINVAL);
	}
	struct key k = key_of(KEY_EVENT);

	k.serial = 1ULL << 63;
	CU_ASSERT_EQUAL(key_text(&k, text), -EINVAL);
	k = key_of(KEY_NAME);
	strcpy(k.name, "a/b");
	CU_ASSERT_EQUAL(key_text(&k, text), -EINVAL);
	memset(k.name, 'a', sizeof(k.name));
	CU_ASSERT_EQUAL(key_text(&k, text), -EINVAL);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "table", test_table },
		{ "equal", test_equal },
		{ "every byte", test_every_byte },
		{ "bad keys", test_bad },
		{ "objects without a key", test_unmakeable },
		{ NULL, NULL },
	};

	return suite_main("keys", tests);
}
