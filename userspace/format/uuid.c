// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/string.h>

#include "userspace/format/uuid.h"

static bool dash_after(unsigned int byte)
{
	return byte == 3 || byte == 5 || byte == 7 || byte == 9;
}

void muuid_text(const struct muuid *u, char out[MUUID_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	unsigned int i;

	for (i = 0; i < 16; i++) {
		*out++ = hex[u->b[i] >> 4];
		*out++ = hex[u->b[i] & 15];
		if (dash_after(i))
			*out++ = '-';
	}
	*out = 0;
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -EINVAL;
}

int muuid_parse(const char *text, struct muuid *u)
{
	unsigned int i;
	int hi, lo;

	for (i = 0; i < 16; i++) {
		hi = nibble(text[0]);
		lo = hi < 0 ? hi : nibble(text[1]);
		if (lo < 0)
			return -EINVAL;
		u->b[i] = hi << 4 | lo;
		text += 2;
		if (dash_after(i) && *text++ != '-')
			return -EINVAL;
	}
	return *text ? -EINVAL : 0;
}

bool muuid_null(const struct muuid *u)
{
	static const struct muuid zero;

	return muuid_equal(u, &zero);
}

bool muuid_equal(const struct muuid *a, const struct muuid *b)
{
	return !memcmp(a->b, b->b, 16);
}

int muuid_cmp(const struct muuid *a, const struct muuid *b)
{
	return memcmp(a->b, b->b, 16);
}

void muuid_mark_random(struct muuid *u)
{
	u->b[6] = (u->b[6] & 0x0f) | 0x40;
	u->b[8] = (u->b[8] & 0x3f) | 0x80;
}
