// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "userspace/format/layout.h"
#include "userspace/format/layout_text.h"

const char *const layout_levels[PROT_LEVELS] = {
	[PROT_LINEAR] = "linear",
	[PROT_STRIPE] = "stripe",
	[PROT_MIRROR] = "mirror",
	[PROT_RAID10] = "raid10",
	[PROT_EC] = "ec",
};

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

/* udev links partition 1 of "db" as db-part1, beside the link of each volume's name. */
static bool name_of_partition(const char *name, size_t len)
{
	size_t digits = 0;

	while (digits < len && name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9')
		digits++;
	return digits && len - digits >= 5 && !memcmp(name + len - digits - 5, "-part", 5);
}

bool layout_name_ok(const char *name)
{
	size_t i;

	if (!*name || *name == '.' || *name == '-')
		return false;
	for (i = 0; name[i]; i++)
		if (i == LAYOUT_NAME - 1 || !name_char(name[i]))
			return false;
	return !name_of_partition(name, i);
}

const char *layout_level(u8 level)
{
	return level < PROT_LEVELS && layout_levels[level] ? layout_levels[level] : "?";
}

void layout_text(const struct layout_shape *s, char text[LAYOUT_TEXT])
{
	const char *level = layout_level(s->level);

	switch (s->level) {
	case PROT_STRIPE:
	case PROT_MIRROR:
		snprintf(text, LAYOUT_TEXT, "%s:%u", level, s->data);
		break;
	case PROT_RAID10:
		snprintf(text, LAYOUT_TEXT, "%s:%ux%u", level, s->groups, s->data);
		break;
	case PROT_EC:
		snprintf(text, LAYOUT_TEXT, "%s:%u+%u", level, s->data, s->parity);
		break;
	default:
		snprintf(text, LAYOUT_TEXT, "%s", level);
	}
}

bool layout_mirrors(u8 level)
{
	return level == PROT_MIRROR || level == PROT_RAID10;
}

u32 layout_width(const struct layout_shape *s)
{
	return s->level == PROT_EC ? s->data + s->parity : layout_mirrors(s->level) ? s->data : 1;
}

u32 layout_needs(const struct layout_shape *s)
{
	return s->level == PROT_EC ? s->data : 1;
}

u32 layout_members(const struct layout_shape *s)
{
	return s->groups * (s->level == PROT_STRIPE ? s->data : layout_width(s));
}

/* Decimal digits up to the character @end, that is behind them; 0: there are none of them. */
static u32 number(const char **text, char end)
{
	u32 n = 0;

	for (; **text >= '0' && **text <= '9' && n < 10000; ++*text)
		n = n * 10 + (u32)(**text - '0');
	if (**text != end)
		return 0;
	*text += end != 0;
	return n;
}

static const char *parse_raid10(const char *text, struct layout_shape *s)
{
	u32 groups = number(&text, 'x'), copies = groups ? number(&text, 0) : 0;

	if (groups < 2 || copies < 2 || copies > PROT_COPIES_MAX ||
	    groups * copies > LAYOUT_COLUMNS_MAX)
		return "raid10:NxC is N mirrors of C copies: 2 to 4 copies, 2 mirrors or more, "
		       "255 members at most";
	s->groups = groups;
	s->data = copies;
	return NULL;
}

static const char *parse_ec(const char *text, struct layout_shape *s)
{
	u32 data = number(&text, '+'), parity = data ? number(&text, 0) : 0;

	if (data < 2 || data > PROT_DATA_MAX || !parity || parity > PROT_PARITY_MAX)
		return "ec:K+M has 2 to 32 members for data and survives the loss of 1 to 4";
	s->data = data;
	s->parity = parity;
	return NULL;
}

static const char *parse_count(const char *text, struct layout_shape *s)
{
	u32 n = number(&text, 0);

	if (s->level == PROT_STRIPE && (n < 2 || n > LAYOUT_COLUMNS_MAX))
		return "a stripe goes over 2 to 255 drives";
	if (s->level == PROT_MIRROR && (n < 2 || n > PROT_COPIES_MAX))
		return "a mirror has 2 to 4 copies";
	s->data = n;
	return NULL;
}

const char *layout_parse(const char *text, struct layout_shape *s)
{
	static const char wanted[] = "say linear, stripe:N, mirror:C, raid10:NxC or ec:K+M";
	size_t len = strcspn(text, ":");

	*s = (struct layout_shape) { .data = 1, .groups = 1 };
	for (s->level = PROT_LINEAR; s->level < PROT_LEVELS; s->level++)
		if (strlen(layout_levels[s->level]) == len && !strncmp(layout_levels[s->level], text, len))
			break;
	if (s->level == PROT_LEVELS || (s->level == PROT_LINEAR) == !!text[len])
		return wanted;
	text += len + 1;
	switch (s->level) {
	case PROT_LINEAR:
		return NULL;
	case PROT_RAID10:
		return parse_raid10(text, s);
	case PROT_EC:
		return parse_ec(text, s);
	default:
		return parse_count(text, s);
	}
}

const char *layout_regroup(struct layout_shape *s, u32 groups)
{
	if (s->level == PROT_RAID10)
		return groups == s->groups ? NULL : "--groups: raid10:NxC says it, with N";
	if (s->level != PROT_MIRROR && s->level != PROT_EC)
		return "--groups: a layout without redundancy has none";
	if (!groups || groups > LAYOUT_COLUMNS_MAX || groups * layout_width(s) > LAYOUT_COLUMNS_MAX)
		return "--groups: at most 255 members in all";
	s->groups = groups;
	if (s->level == PROT_MIRROR && groups > 1)
		s->level = PROT_RAID10;
	return NULL;
}
