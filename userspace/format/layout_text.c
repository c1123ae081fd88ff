// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/layout.h"
#include "userspace/format/layout_text.h"

static const char *const levels[PROT_LEVELS] = {
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
	return level < PROT_LEVELS && levels[level] ? levels[level] : "?";
}

void layout_text(u8 level, u32 columns, char text[LAYOUT_TEXT])
{
	if (level == PROT_STRIPE)
		snprintf(text, LAYOUT_TEXT, "stripe:%u", (u8)columns);
	else
		snprintf(text, LAYOUT_TEXT, "%s", layout_level(level));
}

const char *layout_parse(const char *text, u8 *level, u32 *columns)
{
	const char *number = strchr(text, ':');
	size_t len = strcspn(text, ":");
	char *end;
	long n;

	for (*level = PROT_LINEAR; *level < PROT_LEVELS; ++*level)
		if (strlen(levels[*level]) == len && !strncmp(levels[*level], text, len))
			break;
	if (*level == PROT_LINEAR && !number) {
		*columns = 1;
		return NULL;
	}
	if (*level > PROT_STRIPE && *level < PROT_LEVELS)
		return "volumes with redundancy are not served by this version yet; "
		       "say linear or stripe:N";
	if (*level != PROT_STRIPE || !number)
		return "say linear or stripe:N";
	n = strtol(number + 1, &end, 10);
	if (end == number + 1 || *end || n < 2 || n > LAYOUT_COLUMNS_MAX)
		return "a stripe goes over 2 to 255 drives";
	*columns = n;
	return NULL;
}
