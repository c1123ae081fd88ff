// SPDX-License-Identifier: GPL-2.0-only
/* A bar with the time left, on a terminal only. */
#include <time.h>
#include <unistd.h>

#include "userspace/format/printable.h"
#include "userspace/meshctl/meshctl.h"

#define BAR_CELLS	30

static bool drawn;
static struct timespec began;

static double seconds_since(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) / 1e9;
}

void progress_show(const json_t *progress)
{
	const char *what = json_string_value(json_object_get(progress, "what"));
	double done = json_number_value(json_object_get(progress, "done"));
	double total = json_number_value(json_object_get(progress, "total"));
	double part, left;
	char bar[BAR_CELLS + 1], words[160];

	if (!isatty(STDERR_FILENO) || total <= 0)
		return;
	if (!drawn)
		clock_gettime(CLOCK_MONOTONIC, &began);
	part = done < total ? done / total : 1;
	for (int i = 0; i < BAR_CELLS; i++)
		bar[i] = i < part * BAR_CELLS ? '#' : '.';
	bar[BAR_CELLS] = 0;
	printable(what ? what : "working", words, sizeof(words));
	fprintf(stderr, "\r%s [%s] %3.0f %%", words, bar, part * 100);
	left = part > 0 ? seconds_since(&began) * (1 - part) / part : 0;
	if (left >= 1)
		fprintf(stderr, "  %ld:%02ld left", (long)left / 60, (long)left % 60);
	fprintf(stderr, "\033[K");
	fflush(stderr);
	drawn = true;
}

void progress_end(void)
{
	if (drawn)
		fprintf(stderr, "\r\033[K");
	drawn = false;
}
