// SPDX-License-Identifier: GPL-2.0-only
/*
 * acks load DEVICE LOG BYTES SECONDS SEED [THREADS]: writes, zeroes and reads at random and logs,
 * sector by sector, what was acknowledged and what is in flight. Ends when the time is over, at a
 * SIGTERM, which is as good, or when a request has failed.
 * acks verify DEVICE LOG BYTES: each sector reads as what was acknowledged last, or as what was in
 * flight then; from now on as that and nothing else.
 *
 * A read beside writes of the same sectors returns one of the two as well, and no later one returns
 * an older write. Exit status: 0 fine, 1 a sector reads wrong, 2 the device cannot be used.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <time.h>

#include "tests/nbd/acklog.h"

#define MOST	512		/* sectors of a request */

static struct acklog *sectors;
static uint8_t *busy;		/* sectors with a write in flight */
static uint64_t *zeroed;	/* writes that had begun when this one was last begun to be zeroed */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of all that is here */
static uint64_t unit, wrong, acked, reads;
static double until;
static int dev, failed;
static volatile sig_atomic_t ended;

struct worker {
	pthread_t t;
	uint64_t seed;
	uint8_t *buf;
};

struct request {
	enum { READ, WRITE, ZERO } kind;
	uint64_t first, count, write;
	uint64_t begun;		/* READ: writes that had, when it began */
	uint64_t floor[MOST];	/* READ: acknowledged when it began, 0: zeroes, or these in flight */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t rnd(struct worker *w, uint64_t below)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return (w->seed >> 11) % below;
}

/* Return: whether it can be sent now; it is in the log then. */
static bool pick(struct worker *w, struct request *r)
{
	static const uint32_t most[] = { 1, 8, 8, 16, 128, 128, 256, MOST };
	uint64_t kind = rnd(w, 100), i;

	r->count = (1 + rnd(w, most[rnd(w, 8)]) + unit - 1) / unit * unit;
	r->first = rnd(w, sectors->sectors) / unit * unit;
	if (r->count > sectors->sectors - r->first)
		r->count = sectors->sectors - r->first;
	r->kind = kind < 65 ? WRITE : kind < 92 ? READ : ZERO;
	if (r->kind == READ) {
		r->begun = sectors->writes;
		for (i = 0; i < r->count; i++)
			r->floor[i] = sectors->of[r->first + i].maybe ?
				      sectors->of[r->first + i].now : 0;
		return true;
	}
	for (i = 0; i < r->count; i++)
		if (busy[r->first + i])
			return false;
	memset(busy + r->first, 1, r->count);
	r->write = ++sectors->writes;
	for (i = 0; i < r->count; i++) {
		sectors->of[r->first + i].maybe = r->kind == WRITE ? r->write : 0;
		if (r->kind == ZERO)
			zeroed[r->first + i] = r->write;
	}
	if (r->kind == ZERO)
		r->write = 0;
	return true;
}

static int send(struct worker *w, struct request *r)
{
	uint64_t at = r->first * SECTOR, bytes = r->count * SECTOR, range[2] = { at, bytes };
	ssize_t n;

	if (r->kind == ZERO)
		return ioctl(dev, BLKZEROOUT, range);
	for (uint64_t i = 0; i < r->count && r->kind == WRITE; i++)
		stamp_fill(w->buf + i * SECTOR, r->first + i, r->write);
	n = r->kind == WRITE ? pwrite(dev, w->buf, bytes, at) : pread(dev, w->buf, bytes, at);
	return n == (ssize_t)bytes ? 0 : -1;
}

/*
 * What the read returned was written in the meantime or before, and not before what was
 * acknowledged when it began. What was in flight counts as acknowledged by that.
 */
static void check(struct request *r, const uint8_t *buf)
{
	for (uint64_t i = 0; i < r->count; i++) {
		struct ack *e = &sectors->of[r->first + i];
		uint64_t of = r->first + i, is = stamp_read(buf + i * SECTOR, &of);

		/* zeroes were there or in flight at first, or have come meanwhile */
		if (is == 0 && (!r->floor[i] || zeroed[r->first + i] > r->begun))
			continue;
		if (is != STAMP_NONE && of == r->first + i && is && is >= r->floor[i] &&
		    (is <= e->now || !e->now || is == e->maybe)) {
			if (is == e->maybe)
				e->now = is;
			continue;
		}
		if (wrong++ < 10)
			fprintf(stderr, "sector %ju: write %jd, acknowledged %ju at first, now %ju or %jd\n",
				(uintmax_t)(r->first + i), (intmax_t)is, (uintmax_t)r->floor[i],
				(uintmax_t)e->now, (intmax_t)e->maybe);
	}
	reads++;
}

static void finish(struct request *r, const uint8_t *buf)
{
	if (r->kind == READ) {
		check(r, buf);
		return;
	}
	memset(busy + r->first, 0, r->count);
	for (uint64_t i = 0; i < r->count; i++) {
		sectors->of[r->first + i].now = r->write;
		sectors->of[r->first + i].maybe = STAMP_NONE;
	}
	acked++;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct request r;
	bool go;
	int err;

	pthread_mutex_lock(&lock);
	while (!failed && !wrong && !ended && now() < until) {
		go = pick(w, &r);
		pthread_mutex_unlock(&lock);
		err = go ? send(w, &r) : 0;
		pthread_mutex_lock(&lock);
		if (err && !failed)
			failed = errno ?: EIO;
		else if (!err && go)
			finish(&r, w->buf);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void end(int signal)
{
	ended = signal;
}

static void load(double seconds, uint64_t seed, int threads)
{
	struct worker *w = calloc(threads, sizeof(*w));

	until = now() + seconds;
	signal(SIGTERM, end);
	for (int i = 0; i < threads; i++) {
		w[i].seed = (seed * 64 + i) * 0x9e3779b97f4a7c15ULL | 1;
		w[i].buf = aligned_alloc(4096, MOST * SECTOR);
		if (!w[i].buf || pthread_create(&w[i].t, NULL, work, &w[i]))
			exit(2);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(w[i].t, NULL);
		free(w[i].buf);
	}
	free(w);
	printf("acks: %ju changes acknowledged, %ju reads, %s\n", (uintmax_t)acked,
	       (uintmax_t)reads, failed ? strerror(failed) : "time is over");
}

static int verify(void)
{
	uint8_t *buf = aligned_alloc(4096, MOST * SECTOR);
	uint64_t maybe = 0;

	for (uint64_t i = 0; i < sectors->sectors; i += MOST) {
		uint64_t n = sectors->sectors - i < MOST ? sectors->sectors - i : MOST;

		if (!buf || pread(dev, buf, n * SECTOR, i * SECTOR) != (ssize_t)(n * SECTOR)) {
			perror("acks: read");
			return 2;
		}
		for (uint64_t k = 0; k < n; k++) {
			maybe += sectors->of[i + k].maybe != STAMP_NONE;
			acklog_check(sectors, i + k, buf + k * SECTOR, &wrong);
		}
	}
	printf("acks: %ju sectors, %ju of them old or new, %ju wrong\n",
	       (uintmax_t)sectors->sectors, (uintmax_t)maybe, (uintmax_t)wrong);
	free(buf);
	return 0;
}

int main(int argc, char **argv)
{
	int lba = SECTOR, err = 0;

	if (argc < 5 || (!strcmp(argv[1], "load") && argc < 7)) {
		fprintf(stderr, "acks load DEVICE LOG BYTES SECONDS SEED [THREADS] | "
			"verify DEVICE LOG BYTES\n");
		return 2;
	}
	dev = open(argv[2], O_RDWR | O_DIRECT | O_CLOEXEC);
	if (dev < 0 || ioctl(dev, BLKSSZGET, &lba)) {
		perror(argv[2]);
		return 2;
	}
	unit = lba / SECTOR;
	sectors = acklog_open(argv[3], strtoull(argv[4], NULL, 0) / SECTOR);
	busy = calloc(sectors->sectors, 1);
	zeroed = calloc(sectors->sectors, sizeof(*zeroed));
	if (!strcmp(argv[1], "verify"))
		err = verify();
	else
		load(atof(argv[5]), strtoull(argv[6], NULL, 0), argc > 7 ? atoi(argv[7]) : 8);
	return wrong ? 1 : err;
}
