// SPDX-License-Identifier: GPL-2.0-only
/* Dying, or waiting, on demand; linked into the test build alone. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/machine/label_io.h"
#include "userspace/machine/line.h"
#include "userspace/meshd/crash.h"
#include "userspace/meshd/meshd.h"

#ifdef MESHD_CRASH_POINTS
#define PAUSE_MS	20

static const char *orders, *pauses;

void crash_at(const char *file)
{
	orders = file;
}

void pause_at(const char *file)
{
	pauses = file;
}

static bool ordered(const char *file, enum crash_step step)
{
	char line[16];

	return file && !read_line(line, sizeof(line), "%s", file) && atoi(line) == (int)step;
}

/* FILE.here says that the step is reached; the thread goes on when FILE is gone. */
static void pause_while(const char *file, enum crash_step step)
{
	char here[128];
	int fd;

	snprintf(here, sizeof(here), "%s.here", file);
	fd = open(here, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	log_info("waits at step %d, as requested", step);
	while (!access(file, F_OK) && !stopping())
		sleep_ms(PAUSE_MS);
	unlink(here);
}

/* The order is removed before meshd dies by it: the next meshd lives. */
void crash_point(enum crash_step step)
{
	if (ordered(pauses, step))
		pause_while(pauses, step);
	if (!ordered(orders, step) || unlink(orders))
		return;
	log_info("dies at step %d, as requested", step);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

void label_first_written(void)
{
	crash_point(CRASH_LABEL_FIRST);
}
#endif
