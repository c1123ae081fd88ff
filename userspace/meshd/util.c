// SPDX-License-Identifier: GPL-2.0-only
/* Logging, time, threads, small files. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "userspace/meshd/meshd.h"

#define STACK_BYTES	(512 << 10)

struct meshd D = { .stop = -1 };

static void say(int level, const char *fmt, va_list ap)
{
	char line[1024];

	vsnprintf(line, sizeof(line), fmt, ap);
	/* journald takes the level from the prefix and the name from the unit. */
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", level, line);
	else
		fprintf(stderr, "meshd: %s\n", line);
}

#define LOGGER(name, level, when)			\
void name(const char *fmt, ...)				\
{							\
	va_list ap;					\
							\
	if (!(when))					\
		return;					\
	va_start(ap, fmt);				\
	say(level, fmt, ap);				\
	va_end(ap);					\
}

LOGGER(log_error, 3, true)
LOGGER(log_warn, 4, true)
LOGGER(log_info, 6, true)
LOGGER(log_debug, 7, D.debug)

u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

void sleep_ms(unsigned int ms)
{
	struct pollfd p = { .fd = D.stop, .events = POLLIN };

	poll(&p, 1, ms);
}

bool stopping(void)
{
	struct pollfd p = { .fd = D.stop, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

void uuid_random(struct muuid *u)
{
	/* 16 bytes come whole once the pool is ready, which it waits for. */
	while (getrandom(u->b, sizeof(u->b), 0) != sizeof(u->b))
		;
	muuid_mark_random(u);
}

int thread_start(void *(*fn)(void *), void *arg)
{
	pthread_attr_t a;
	pthread_t t;
	int err;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK_BYTES);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&t, &a, fn, arg);
	pthread_attr_destroy(&a);
	return -err;
}

u16 port_parse(const char *text)
{
	unsigned int port = 0;

	for (; *text >= '0' && *text <= '9' && port <= 0xffff; text++)
		port = port * 10 + (*text - '0');
	return *text || port > 0xffff ? 0 : port;
}

bool address_ok(const char *text)
{
	char bare[64];
	u8 raw[16];

	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(text, "%"), text);
	return inet_pton(AF_INET, bare, raw) == 1 || inet_pton(AF_INET6, bare, raw) == 1;
}
