// SPDX-License-Identifier: GPL-2.0-only
/* Dying on demand; linked into the test build alone. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/meshd/crash.h"
#include "userspace/meshd/meshd.h"

#ifdef MESHD_CRASH_POINTS
static int wanted;

void crash_at(const char *step)
{
	wanted = atoi(step);
}

void crash_point(enum crash_step step)
{
	if ((int)step != wanted)
		return;
	log_info("dies at step %d, as told", step);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}
#endif
