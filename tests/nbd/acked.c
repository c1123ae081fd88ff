// SPDX-License-Identifier: GPL-2.0-only
/*
 * acked load URI LOG SECONDS SEED [DEPTH]: writes, reads, zeroes and discards at
 * random and remembers, sector by sector, what was acknowledged and what is in
 * flight. Ends when the time is over or the server has died.
 * acked verify URI LOG: each sector reads as what was acknowledged last, or as
 * what was in flight then; from now on as that and nothing else.
 *
 * Exit status: 0 fine, 1 a sector reads wrong, 2 a request failed though the
 * server lives, or it cannot be reached.
 */
#include <errno.h>
#include <libnbd.h>
#include <time.h>

#include "tests/nbd/acklog.h"

#define DEPTH_MAX	64
#define REQUEST_MAX	(1U << 20)

struct request {
	uint8_t *buf;
	uint64_t first, count, write;
	int used, ended, err;
	enum { READ, WRITE, ZERO, TRIM } kind;
};

static struct acklog *sectors;
static struct request requests[DEPTH_MAX];
static uint8_t *busy;		/* sectors with a request in flight */
static uint64_t acked, reads, wrong, failed;
static uint64_t unit = 1;	/* sectors that requests are multiples of */
static uint64_t seed;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

static int on_end(void *data, int *error)
{
	struct request *s = data;

	s->ended = 1;
	s->err = *error;
	return 1;
}

static int pick(struct request *s)
{
	static const uint32_t most[] = { 1, 8, 8, 16, 128, 128, 512, REQUEST_MAX / SECTOR };
	uint64_t kind = rnd(100);

	s->count = 1 + rnd(most[rnd(8)]);
	s->first = rnd(sectors->sectors);
	s->count = (s->count + unit - 1) / unit * unit;
	s->first -= s->first % unit;
	if (s->count > sectors->sectors - s->first)
		s->count = sectors->sectors - s->first;
	for (uint64_t i = 0; i < s->count; i++)
		if (busy[s->first + i])
			return 0;
	s->kind = kind < 60 ? WRITE : kind < 86 ? READ : kind < 93 ? ZERO : TRIM;
	return 1;
}

/* Log first, then send: a write that was never sent is allowed, not wanted. */
static int start(struct nbd_handle *nbd, struct request *s)
{
	nbd_completion_callback cb = { .callback = on_end, .user_data = s };
	uint64_t at = s->first * SECTOR, bytes = s->count * SECTOR;

	s->used = 1;
	s->ended = 0;
	memset(busy + s->first, 1, s->count);
	s->write = s->kind == WRITE ? ++sectors->writes : 0;
	for (uint64_t i = 0; i < s->count && s->kind != READ; i++) {
		sectors->of[s->first + i].maybe = s->write;
		if (s->kind == WRITE)
			stamp_fill(s->buf + i * SECTOR, s->first + i, s->write);
	}
	switch (s->kind) {
	case READ:
		return nbd_aio_pread(nbd, s->buf, bytes, at, cb, 0) < 0;
	case WRITE:
		return nbd_aio_pwrite(nbd, s->buf, bytes, at, cb, 0) < 0;
	case ZERO:
		return nbd_aio_zero(nbd, bytes, at, cb, 0) < 0;
	default:
		return nbd_aio_trim(nbd, bytes, at, cb, 0) < 0;
	}
}

static int dead(struct nbd_handle *nbd)
{
	return nbd_aio_is_dead(nbd) || nbd_aio_is_closed(nbd);
}

static void finish(struct nbd_handle *nbd, struct request *s)
{
	s->used = 0;
	memset(busy + s->first, 0, s->count);
	if (s->err) {
		if (!dead(nbd) && failed++ < 10)
			fprintf(stderr, "acked: request at sector %ju+%ju failed: %s\n",
				(uintmax_t)s->first, (uintmax_t)s->count, strerror(s->err));
		return;
	}
	for (uint64_t i = 0; i < s->count; i++) {
		if (s->kind == READ) {
			acklog_check(sectors, s->first + i, s->buf + i * SECTOR, &wrong);
			continue;
		}
		sectors->of[s->first + i].now = s->write;
		sectors->of[s->first + i].maybe = STAMP_NONE;
	}
	if (s->kind == READ)
		reads++;
	else
		acked++;
}

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void load(struct nbd_handle *nbd, double seconds, int depth)
{
	double end = clock_now() + seconds;
	int flying = 0;

	for (int i = 0; i < depth; i++)
		requests[i].buf = malloc(REQUEST_MAX);
	while (flying || clock_now() < end) {
		for (int i = 0; i < depth && clock_now() < end && !dead(nbd); i++)
			if (!requests[i].used && pick(&requests[i])) {
				flying++;
				if (start(nbd, &requests[i]))
					requests[i].ended = requests[i].err = EIO;
			}
		if (!dead(nbd))
			nbd_poll(nbd, 100);
		for (int i = 0; i < depth; i++)
			if (requests[i].used && (requests[i].ended || dead(nbd))) {
				if (!requests[i].ended)
					requests[i].err = ENOTCONN;
				finish(nbd, &requests[i]);
				flying--;
			}
		if (dead(nbd))
			break;
	}
	printf("acked: %ju changes acknowledged, %ju reads right, %s\n", (uintmax_t)acked,
	       (uintmax_t)reads, dead(nbd) ? "the server died" : "time is over");
}

static int verify(struct nbd_handle *nbd)
{
	uint8_t *buf = malloc(65536);
	uint64_t maybe = 0;

	for (uint64_t i = 0; i < sectors->sectors; i += 128) {
		uint64_t n = sectors->sectors - i < 128 ? sectors->sectors - i : 128;

		if (nbd_pread(nbd, buf, n * SECTOR, i * SECTOR, 0)) {
			fprintf(stderr, "acked: %s\n", nbd_get_error());
			return 2;
		}
		for (uint64_t k = 0; k < n; k++) {
			maybe += sectors->of[i + k].maybe != STAMP_NONE;
			acklog_check(sectors, i + k, buf + k * SECTOR, &wrong);
		}
	}
	printf("acked: %ju sectors, %ju of them old or new, %ju wrong\n",
	       (uintmax_t)sectors->sectors, (uintmax_t)maybe, (uintmax_t)wrong);
	free(buf);
	return 0;
}

int main(int argc, char **argv)
{
	struct nbd_handle *nbd;
	int64_t size;
	int err = 0, depth = 16;

	if (argc < 4 || (!strcmp(argv[1], "load") && argc < 6)) {
		fprintf(stderr, "acked load URI LOG SECONDS SEED [DEPTH] | verify URI LOG\n");
		return 2;
	}
	nbd = nbd_create();
	if (!nbd || nbd_connect_uri(nbd, argv[2]) || (size = nbd_get_size(nbd)) < 0) {
		fprintf(stderr, "acked: %s\n", nbd_get_error());
		return 2;
	}
	if (nbd_get_block_size(nbd, LIBNBD_SIZE_MINIMUM) > SECTOR)
		unit = nbd_get_block_size(nbd, LIBNBD_SIZE_MINIMUM) / SECTOR;
	sectors = acklog_open(argv[3], size / SECTOR);
	busy = calloc(sectors->sectors, 1);
	if (!strcmp(argv[1], "verify")) {
		err = verify(nbd);
	} else {
		seed = strtoull(argv[5], NULL, 0) * 0x9e3779b97f4a7c15ULL | 1;
		if (argc > 6)
			depth = atoi(argv[6]);
		if (depth < 1 || depth > DEPTH_MAX)
			depth = DEPTH_MAX;
		printf("acked: connected\n");
		fflush(stdout);
		load(nbd, atof(argv[4]), depth);
	}
	nbd_close(nbd);
	return wrong ? 1 : err ? err : failed ? 2 : 0;
}
