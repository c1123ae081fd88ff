/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was acknowledged of each sector and what is in flight there, in a mapped file, which
 * outlives the program that writes it. A sector reads as one of the two; from then on as that.
 */
#ifndef TESTS_NBD_ACKLOG_H
#define TESTS_NBD_ACKLOG_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/nbd/stamp.h"

struct ack {
	uint64_t now;		/* the write that it holds, 0: zeroes */
	uint64_t maybe;		/* in flight, or STAMP_NONE */
};

struct acklog {
	uint64_t sectors, writes;
	struct ack of[];
};

/* @n sectors; a file that is new: all zeroes, nothing in flight. */
static inline struct acklog *acklog_open(const char *path, uint64_t n)
{
	size_t bytes = sizeof(struct acklog) + n * sizeof(struct ack);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	struct acklog *l;

	if (fd < 0 || ftruncate(fd, bytes)) {
		perror(path);
		exit(2);
	}
	l = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (l == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	if (!l->sectors) {
		l->sectors = n;
		for (uint64_t i = 0; i < n; i++)
			l->of[i].maybe = STAMP_NONE;
	}
	if (l->sectors != n) {
		fprintf(stderr, "%s is of another volume\n", path);
		exit(2);
	}
	return l;
}

/* Return: whether @sector may read as it did; the first @wrong that do not are printed. */
static inline int acklog_check(struct acklog *l, uint64_t sector, const uint8_t *at,
			       uint64_t *wrong)
{
	struct ack *e = &l->of[sector];
	uint64_t of = sector, is = stamp_read(at, &of);

	if (is != STAMP_NONE && of == sector &&
	    (is == e->now || (e->maybe != STAMP_NONE && is == e->maybe))) {
		e->now = is;
		e->maybe = STAMP_NONE;
		return 1;
	}
	if ((*wrong)++ >= 10)
		return 0;
	fprintf(stderr, "sector %ju reads as ", (uintmax_t)sector);
	if (is == STAMP_NONE)
		fprintf(stderr, "garbage");
	else
		fprintf(stderr, "write %ju of sector %ju", (uintmax_t)is, (uintmax_t)of);
	fprintf(stderr, ", not as write %ju", (uintmax_t)e->now);
	if (e->maybe != STAMP_NONE)
		fprintf(stderr, " or %ju", (uintmax_t)e->maybe);
	fprintf(stderr, "\n");
	return 0;
}

#endif
