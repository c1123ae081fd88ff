// SPDX-License-Identifier: GPL-2.0-only
/*
 * window DISK|FILE MILLISECONDS: opens and closes a window of the profiler (plugin.c).
 *
 * Runs in the guest beside fio. Waits until the disk is busy, lets that settle, and
 * prints the requests that the disk completed in the window and its nanoseconds. A file
 * holds a number, of requests completed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUSY		64		/* requests after which a disk is busy */
#define SETTLE_MS	50
#define PATIENCE_MS	60000

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static unsigned long completed(const char *disk)
{
	unsigned long reads, writes = 0;
	bool file = strchr(disk, '/');
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), file ? "%s" : "/sys/block/%s/stat", disk);
	f = fopen(path, "r");
	if (!f || (file ? fscanf(f, "%lu", &reads) != 1 :
		   fscanf(f, "%lu %*u %*u %*u %lu", &reads, &writes) != 2)) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return reads + writes;
}

static void wait_busy(const char *disk)
{
	unsigned long from = completed(disk);

	for (int ms = 0; completed(disk) - from < BUSY; ms += 10) {
		if (ms > PATIENCE_MS) {
			fprintf(stderr, "%s stays idle\n", disk);
			exit(1);
		}
		sleep_ms(10);
	}
	sleep_ms(SETTLE_MS);
}

int main(int argc, char **argv)
{
	struct timespec from, to;
	unsigned long requests;

	if (argc != 3) {
		fprintf(stderr, "usage: window DISK|FILE MILLISECONDS\n");
		return 2;
	}
	wait_busy(argv[1]);
	requests = completed(argv[1]);
	clock_gettime(CLOCK_MONOTONIC, &from);
	asm volatile("nopl 0x4d455301(%rax)");
	sleep_ms(atol(argv[2]));
	asm volatile("nopl 0x4d455302(%rax)");
	clock_gettime(CLOCK_MONOTONIC, &to);
	requests = completed(argv[1]) - requests;
	printf("%lu %lld\n", requests, (to.tv_sec - from.tv_sec) * 1000000000LL +
	       to.tv_nsec - from.tv_nsec);
	return 0;
}
