// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/machine/line.h"

int read_line(char *out, size_t size, const char *fmt, ...)
{
	char path[512];
	va_list ap;
	FILE *f;
	int err = 0;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	out[0] = 0;
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (!fgets(out, size, f)) {
		err = ferror(f) ? -errno : -ENODATA;
		out[0] = 0;
	}
	fclose(f);
	out[strcspn(out, "\n")] = 0;
	for (size_t n = strlen(out); n && out[n - 1] == ' '; n--)
		out[n - 1] = 0;
	return err;
}
