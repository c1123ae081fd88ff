// SPDX-License-Identifier: GPL-2.0-only
/* Dying on demand; linked into the test build alone. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/meshd.h"

#ifdef MESHD_CRASH_POINTS
static const char *orders;

void crash_at(const char *file)
{
	orders = file;
}

/* The order is gone with the one who followed it: the next meshd lives. */
void crash_point(enum crash_step step)
{
	char line[16];

	if (!orders || read_line(line, sizeof(line), "%s", orders) || atoi(line) != (int)step ||
	    unlink(orders))
		return;
	log_info("dies at step %d, as told", step);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}
#endif
