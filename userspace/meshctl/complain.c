// SPDX-License-Identifier: GPL-2.0-only
/* What went wrong: in words on standard error, for scripts as the one object. */
#include <stdarg.h>

#include "userspace/format/printable.h"
#include "userspace/meshctl/meshctl.h"

#define LINE_BYTES	1024

bool json_errors;
json_t *json_more;

/* It may be words of another host, or of a drive from elsewhere. */
static void line(const char *text)
{
	char safe[LINE_BYTES];

	printable(text, safe, sizeof(safe));
	fprintf(stderr, "meshctl: %s\n", safe);
}

int complain(int status, const char *fmt, ...)
{
	json_t *j;
	va_list ap;
	char text[LINE_BYTES];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!json_errors) {
		line(text);
		return status;
	}
	/* A word of the command line need not be UTF-8. */
	j = json_pack("{s:s, s:i}", "error", text, "code", status);
	if (!j) {
		char safe[LINE_BYTES];

		printable(text, safe, sizeof(safe));
		j = json_pack("{s:s, s:i}", "error", safe, "code", status);
	}
	if (j && json_more)
		json_object_update(j, json_more);
	json_show(j);
	json_decref(j);
	return status;
}

void note_show(const char *text)
{
	if (text)
		line(text);
}
