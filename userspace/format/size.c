// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "userspace/format/size.h"

static int shift_of(const char *suffix)
{
	static const char letters[] = "kMGTPE";
	const char *p;
	int shift;

	if (!*suffix || !strcmp(suffix, "B"))
		return 0;
	p = strchr(letters, *suffix == 'K' ? 'k' : *suffix == 'm' ? 'M' :
		   *suffix == 'g' ? 'G' : *suffix == 't' ? 'T' : *suffix);
	if (!p)
		return -EINVAL;
	shift = 10 * (p - letters + 1);
	suffix++;
	return !*suffix || !strcmp(suffix, "iB") || !strcmp(suffix, "B") || !strcmp(suffix, "i") ?
	       shift : -EINVAL;
}

int size_parse(const char *text, u64 *out)
{
	u64 whole = 0, fraction = 0, unit = 1;
	const char *p = text;
	int shift;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (whole > 1ULL << 59)
			return -ERANGE;
		whole = whole * 10 + (*p - '0');
	}
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++) {
			if (unit >= 1000000)
				continue;
			fraction = fraction * 10 + (*p - '0');
			unit *= 10;
		}
		if (unit == 1)
			return -EINVAL;
	}
	shift = shift_of(p);
	if (shift < 0 || (fraction && !shift))
		return -EINVAL;
	if (whole > (1ULL << 62) >> shift)
		return -ERANGE;
	*out = (whole << shift) + (u64)((double)fraction / unit * (double)(1ULL << shift));
	return 0;
}

void size_text(u64 bytes, char *out)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = bytes;
	int i = 0;

	while (v >= 1023.95 && i < 6) {
		v /= 1024;
		i++;
	}
	if (v == (u64)v || !i)
		snprintf(out, SIZE_TEXT, "%llu %s", (unsigned long long)v, unit[i]);
	else
		snprintf(out, SIZE_TEXT, "%.1f %s", v, unit[i]);
}
