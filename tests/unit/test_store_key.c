// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys and prefixes of the store: all texts of up to four letters of an alphabet that has one byte
 * of each kind, all two-byte texts, all characters of Unicode, all lengths, and random pairs.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/store/key.h"
#include "suite.h"

/* The rule again, by words: apart by '/', and no segment is empty. */
static bool segments_valid(const char *text, bool prefix)
{
	char copy[STORE_KEY_MAX], *s, *rest = copy;

	strcpy(copy, text);
	while ((s = strsep(&rest, "/")))
		if (!*s && !(prefix && !rest))
			return false;
	return true;
}

static bool plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

static void key_short(void)
{
	static const char alphabet[] = { 0, '/', 'a', '0', '.', ' ', '~', '\\', 0x7f, 0x1f, '\n',
					 (char)0x80, (char)0xff };
	unsigned int wrong = 0, valid = 0, n = sizeof(alphabet);
	char text[5] = "";

	for (unsigned int i = 0; i < n * n * n * n; i++) {
		for (unsigned int k = 0, rest = i; k < 4; k++, rest /= n)
			text[k] = alphabet[rest % n];
		wrong += store_key_valid(text) != (plain(text) && segments_valid(text, false));
		wrong += store_prefix_valid(text) != (plain(text) && segments_valid(text, true));
		valid += store_key_valid(text);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(valid > 1000);
	CU_ASSERT_FALSE(store_key_valid(NULL));
	CU_ASSERT_FALSE(store_prefix_valid(NULL));
	CU_ASSERT_FALSE(store_key_valid(""));
	CU_ASSERT(store_prefix_valid(""));
}

static size_t utf8(unsigned int c, char *out)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = 0x80 | (c & 0x3f);
	out[0] = n == 1 ? c : (0xf0 << (4 - n) & 0xff) | c;
	out[n] = 0;
	return n;
}

/* Each character, each two bytes, and each character that is cut short. */
static void key_unicode(void)
{
	unsigned int wrong = 0, valid = 0;
	char text[8];
	size_t n;

	for (unsigned int c = 1; c < 0x110000; c++) {
		n = utf8(c, text);
		valid += store_key_valid(text);
		if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000) || c == '/')
			wrong += store_key_valid(text);
		for (size_t i = 0; i < n && store_key_valid(text); i++)
			wrong += (unsigned char)text[i] > 0xf4;
		if (n > 1) {
			text[n - 1] = 0;
			wrong += store_key_valid(text) + store_prefix_valid(text);
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(valid > 1100000 && valid < 1112064);
	for (unsigned int i = 0x100; i < 0x10000; i++) {
		text[0] = i >> 8;
		text[1] = i;
		text[2] = 0;
		wrong += store_key_valid(text) && (text[0] & 0x80) != (text[1] & 0x80) && text[1];
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void key_lengths(void)
{
	char text[2 * STORE_KEY_MAX];

	for (unsigned int n = 1; n < sizeof(text); n++) {
		memset(text, 'k', n);
		text[n] = 0;
		CU_ASSERT_EQUAL(store_key_valid(text), n < STORE_KEY_MAX);
		CU_ASSERT_EQUAL(store_prefix_valid(text), n < STORE_KEY_MAX);
		/* the longest escapes: nothing is written behind its end */
		memset(text, 0x80, n);
		CU_ASSERT_FALSE(store_key_valid(text));
	}
}

static void random_text(char *text, unsigned int max)
{
	static const char *const piece[] = { "a", "b", "/", "~", "\xc3\xa9", "\xf4\x8f\xbf\xbd", "\xc3\xbf" };
	unsigned int n = rand() % max;

	*text = 0;
	while (n--)
		strcat(text, piece[rand() % 7]);
}

/* A key is between prefix and end exactly if it begins with the prefix: what engines rely on. */
static void key_ends(void)
{
	unsigned int wrong = 0, pairs = 0, within = 0;
	char key[64], prefix[64], end[STORE_KEY_MAX];
	bool begins;

	srand(1);
	while (pairs < 200000) {
		random_text(key, 6);
		random_text(prefix, 4);
		if (!store_key_valid(key) || !store_prefix_valid(prefix))
			continue;
		store_prefix_end(prefix, end);
		begins = store_key_begins(key, prefix);
		wrong += begins != (strcmp(key, prefix) >= 0 && strcmp(key, end) < 0);
		within += begins;
		pairs++;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT(within > 10000);
	CU_ASSERT(store_key_begins("drive", "drive"));
	CU_ASSERT_FALSE(store_key_begins("driv", "drive"));
}

static const struct suite_test tests[] = {
	{ "all short texts", key_short },
	{ "all characters", key_unicode },
	{ "all lengths", key_lengths },
	{ "ends of prefixes", key_ends },
	{ NULL, NULL }
};

int main(void)
{
	return suite_main("keys of the store", tests);
}
