// SPDX-License-Identifier: GPL-2.0-only
/* Dying, or waiting, on demand; linked into the test build alone. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userspace/agent/deal.h"
#include "userspace/daemon/crash.h"
#include "userspace/daemon/log.h"
#include "userspace/machine/guard.h"
#include "userspace/machine/label_io.h"
#include "userspace/machine/line.h"

#ifdef MESHD_CRASH_POINTS
#define PAUSE_NS	20000000
#define NAME		64

struct order {
	const char *file;
	char	line[NAME];	/* that @left is of */
	unsigned int left;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct order die, wait_here;

void crash_at(const char *file)
{
	die.file = file;
}

void crash_pause_at(const char *file)
{
	wait_here.file = file;
}

/* True if the order is for this passage. */
static bool ordered(struct order *o, const char *name)
{
	char line[NAME] = "";
	size_t n;

	guard(&lock);
	if (!o->file || read_line(line, sizeof(line), "%s", o->file)) {
		o->line[0] = 0;
		return false;
	}
	n = strcspn(line, ":");
	if (strcmp(o->line, line)) {
		memcpy(o->line, line, sizeof(line));
		o->left = line[n] ? atoi(line + n + 1) : 1;
	}
	return strlen(name) == n && !strncmp(line, name, n) && o->left && !--o->left;
}

/* A daemon that is to end does not wait. */
static bool ends(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1);
}

static void pause_while(const char *file)
{
	const struct timespec ts = { .tv_nsec = PAUSE_NS };
	char here[128];
	int fd;

	snprintf(here, sizeof(here), "%s.here", file);
	fd = open(here, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	while (!access(file, F_OK) && !ends())
		nanosleep(&ts, NULL);
	unlink(here);
}

/* The order is removed before the daemon dies by it: the next daemon lives. */
void crash_point(const char *name)
{
	if (ordered(&wait_here, name)) {
		log_info("waits at \"%s\", as ordered", name);
		pause_while(wait_here.file);
	}
	if (!ordered(&die, name) || unlink(die.file))
		return;
	log_info("dies at \"%s\", as ordered", name);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

void label_first_written(void)
{
	crash_point("between labels");
}

/* Each kind counts once, however many keys of it the transaction writes. */
void deal_passes(const struct deal *d, bool done)
{
	char name[NAME];

	for (size_t i = 0; i < d->ops; i++) {
		size_t n = strcspn(d->op[i].key, "/"), k = 0;

		while (k < i && (strncmp(d->op[k].key, d->op[i].key, n) || strcspn(d->op[k].key, "/") != n))
			k++;
		snprintf(name, sizeof(name), "%s %.*s", done ? "after" : "before", (int)n, d->op[i].key);
		if (k == i)
			crash_point(name);
	}
}
#endif
