// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "userspace/format/printable.h"

/* The bytes of the character at @p, with its number; 0: no UTF-8. */
static size_t decode(const u8 *p, u32 *c)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *p < 0x80 ? 1 : (*p & 0xe0) == 0xc0 ? 2 : (*p & 0xf0) == 0xe0 ? 3 :
		   (*p & 0xf8) == 0xf0 ? 4 : 0;

	if (n < 2)
		return *c = *p, n;
	*c = *p & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)	/* the end of the string, too */
			return 0;
		*c = *c << 6 | (p[i] & 0x3f);
	}
	return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0 : n;
}

static bool harmless(u32 c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return false;
	/* marks of direction, separators of lines, invisible and byte order marks, tags */
	if (c == 0x61c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe0000 && c < 0xe1000))
		return false;
	return true;
}

bool printable_ok(const char *text)
{
	const u8 *p = (const u8 *)text;
	size_t n;
	u32 c;

	for (; *p; p += n) {
		n = decode(p, &c);
		if (!n || !harmless(c))
			return false;
	}
	return true;
}

void printable(const char *text, char *out, size_t size)
{
	const u8 *p = (const u8 *)text;
	size_t at = 0, n, take;
	u32 c;

	for (; *p; p += take) {
		n = decode(p, &c);
		take = n ? n : 1;
		if (n && harmless(c)) {
			if (at + n >= size)
				break;
			for (size_t i = 0; i < n; i++)
				out[at++] = p[i];
			continue;
		}
		if (at + 4 * take >= size)
			break;
		for (size_t i = 0; i < take; i++)
			at += snprintf(out + at, size - at, "\\x%02x", p[i]);
	}
	out[at] = 0;
}
