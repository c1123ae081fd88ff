/* SPDX-License-Identifier: GPL-2.0-only */
/* What every part of meshd sees: this host's identity, logging, time. */
#ifndef MESHD_H
#define MESHD_H

#include <jansson.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "userspace/format/uuid.h"
#include "userspace/format/verbs.h"

#define MESHD_STATE	"/var/lib/meshd"
#define MESHD_CONF	"/etc/meshblk/meshd.conf"

struct meshd {
	const char *state;	/* folder */
	const char *socket;
	const char *listen;	/* address of the target role; NULL: not a target */
	u16	port;
	bool	debug;
	bool	insecure;	/* without a key every host may log in */
	bool	scrub_never;	/* the timer scrubs nothing */
	bool	spare_auto;	/* lost members of every volume are replaced */
	u32	spare_delay;	/* seconds until then */
	const char *hook;	/* run at events of volumes; NULL: none */
	u64	started;	/* now_ms() */
	int	stop;		/* eventfd: readable when all shall end */
	struct muuid host;
	struct muuid cluster;	/* zero: no key was ever set */
	char	hostname[64];
};

extern struct meshd D;

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

u64 now_ms(void);		/* monotonic */
static inline struct timespec ms_from_now(unsigned int ms)
{
	u64 ns;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns = t.tv_nsec + ms % 1000 * 1000000ULL;
	return (struct timespec) { t.tv_sec + ms / 1000 + ns / 1000000000, ns % 1000000000 };
}

void sleep_ms(unsigned int ms);
bool stopping(void);
void uuid_random(struct muuid *u);
/* A thread that is never joined; its stack is small, since memory is locked. */
int thread_start(void *(*fn)(void *), void *arg);
u16 port_parse(const char *text);	/* 0: it is no port */
/* Whether @text is an IP address, with a zone ("fe80::1%eth0") or without. */
bool address_ok(const char *text);

/*
 * durable.c: make @path the @n bytes of @buf, durably, or leave it as it was; what was there
 * becomes @old, unless that is NULL. @path has a folder.
 */
int file_replace(const char *path, const char *old, const void *buf, size_t n);
/* The two steps of that, without what makes the second one durable: folder_sync(). */
int file_prepare(const char *path, const void *buf, size_t n);
int file_commit(const char *path, const char *old);
/* All of @buf, durably but for the file's name. */
int file_write(int fd, const void *buf, size_t n);
/* What was made, renamed or removed in a folder stays so. */
int folder_sync(const char *path);

#endif
