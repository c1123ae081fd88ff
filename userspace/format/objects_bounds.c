// SPDX-License-Identifier: GPL-2.0-only
/* Bounds of a value's text, before a tree is made of it. See objects.h. */
#include <errno.h>
#include <string.h>

#include "userspace/format/objects_kind.h"

struct scan {
	u32	depth, deepest;
	u32	values;		/* begun: the first one, and one behind each '[', '{' and ',' */
	bool	text;		/* inside of quotes */
	bool	escaped;	/* the byte before was a backslash */
};

static void scan_text(struct scan *s, char c)
{
	if (s->escaped)
		s->escaped = false;
	else if (c == '\\')
		s->escaped = true;
	else if (c == '"')
		s->text = false;
}

static void scan_byte(struct scan *s, char c)
{
	if (s->text) {
		scan_text(s, c);
		return;
	}
	switch (c) {
	case '"':
		s->text = true;
		break;
	case '[':
	case '{':
		s->depth++;
		s->deepest = s->depth > s->deepest ? s->depth : s->deepest;
		s->values++;
		break;
	case ']':
	case '}':
		/* One that closes nothing is no JSON, and the parser refuses it. */
		s->depth -= !!s->depth;
		break;
	case ',':
		s->values++;
		break;
	}
}

int obj_check_bounds(struct field_at *a, const void *text, size_t len)
{
	struct scan s = { .values = 1 };

	/* jansson skips a zero byte behind a number. */
	if (memchr(text, 0, len))
		return field_wrong(a, -EINVAL, "has a zero byte in its text");
	for (size_t i = 0; i < len; i++)
		scan_byte(&s, ((const char *)text)[i]);
	if (s.deepest > OBJ_DEPTH_MAX)
		return field_wrong(a, -EINVAL, "has objects or lists inside of each other at %u levels, at "
				   "most %u are allowed", s.deepest, OBJ_DEPTH_MAX);
	if (s.values > OBJ_VALUES_MAX)
		return field_wrong(a, -EINVAL, "has %u values, at most %u are allowed", s.values,
				   OBJ_VALUES_MAX);
	return 0;
}
