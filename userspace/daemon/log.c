// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "userspace/daemon/daemon.h"
#include "userspace/daemon/log.h"

static bool debug;

void log_debug_too(bool on)
{
	debug = on;
}

/* journald takes the level from the prefix; by hand, the line has the program's name. One write. */
static void line(int level, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", level, text);
	else
		fprintf(stderr, "meshd: %s\n", text);
}

#define LOGGER(name, level, when)			\
void name(const char *fmt, ...)				\
{							\
	va_list ap;					\
							\
	if (!(when))					\
		return;					\
	va_start(ap, fmt);				\
	line(level, fmt, ap);				\
	va_end(ap);					\
}

LOGGER(log_error, 3, true)
LOGGER(log_warn, 4, true)
LOGGER(log_info, 6, true)
LOGGER(log_debug, 7, debug)

/* Agents and the machine below them report what an administrator has to know. */
void daemon_log(void *priv, const char *words)
{
	(void)priv;
	log_warn("%s", words);
}

void daemon_note(void *priv, const char *words)
{
	(void)priv;
	log_info("%s", words);
}
