// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "userspace/format/printable.h"
#include "userspace/store/key.h"

/* printable() writes at most four bytes for one. */
static bool text_valid(const char *text)
{
	char plain[4 * STORE_KEY_MAX];

	if (!text || strnlen(text, STORE_KEY_MAX) == STORE_KEY_MAX)
		return false;
	printable(text, plain, sizeof(plain));
	return !strcmp(text, plain);
}

bool store_prefix_valid(const char *prefix)
{
	return text_valid(prefix) && prefix[0] != '/' && !strstr(prefix, "//");
}

bool store_key_valid(const char *key)
{
	return store_prefix_valid(key) && key[0] && key[strlen(key) - 1] != '/';
}

bool store_key_begins(const char *key, const char *prefix)
{
	return !strncmp(key, prefix, strlen(prefix));
}

/* The last byte is below 0xff, so that one more never overflows. */
void store_prefix_end(const char *prefix, char end[STORE_KEY_MAX])
{
	size_t n = strlen(prefix);

	memcpy(end, prefix, n + 1);
	if (n)
		end[n - 1]++;
	else
		memcpy(end, "\xff", 2);
}
