// SPDX-License-Identifier: GPL-2.0-only
/*
 * nbd-volatile: an nbdkit plugin that is a drive with a volatile write cache.
 *
 *      write ──► cache ──(flush, FUA)──► file          read ◄── cache over file
 *                  │
 *      SIGUSR1, the power cut: each sector that is only in the cache is, on a
 *      throw of the dice, written to the file or lost. A sector is never torn;
 *      a request of several sectors may well be.
 *
 * Requests are served one at a time, so a read never sees half of a write.
 *
 *      nbdkit -f -U SOCK nbd-volatile.so file=PATH [sector=512] [keep=50]
 *             [seed=N] [log=PATH]
 *
 * Trim and write-zeroes are cached writes of zeroes. The log gets one line for
 * each cut, so that a test can assert that something was lost.
 */
#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_SERIALIZE_ALL_REQUESTS

#define PAGE		4096u
#define UNIT		512u		/* grain of the dirty bits */
#define ALL_DIRTY	0xffu
#define BUCKETS		65536u

/* What a page has in the cache; data is NULL while all of it is zeroes. */
struct page {
	struct page *next;
	uint64_t index;
	uint8_t dirty;			/* a bit for each UNIT */
	uint8_t *data;
};

static char *file_path, *log_path;
static unsigned int sector = 512, keep = 50;
static uint64_t rng;
static int file_fd = -1;
static uint64_t file_size;
static struct page *buckets[BUCKETS];
static volatile sig_atomic_t cut_requested;

static void on_usr1(int sig)
{
	(void)sig;
	cut_requested = 1;
}

/* splitmix64 */
static uint64_t rnd(void)
{
	uint64_t z = (rng += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int file_io(bool write, void *buf, uint64_t len, uint64_t at)
{
	while (len) {
		ssize_t n = write ? pwrite(file_fd, buf, len, (off_t)at)
				  : pread(file_fd, buf, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			nbdkit_error("%s: %m", file_path);
			if (!n)
				errno = EIO;
			return -1;
		}
		buf = (char *)buf + n;
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

static struct page *find(uint64_t index)
{
	struct page *p = buckets[index % BUCKETS];

	while (p && p->index != index)
		p = p->next;
	return p;
}

static struct page *find_or_make(uint64_t index)
{
	struct page *p = find(index);

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->index = index;
		p->next = buckets[index % BUCKETS];
		buckets[index % BUCKETS] = p;
	}
	return p;
}

static int write_unit(struct page *p, unsigned int u)
{
	static uint8_t zeroes[UNIT];
	uint8_t *from = p->data ? p->data + u * UNIT : zeroes;

	return file_io(true, from, UNIT, p->index * PAGE + u * UNIT);
}

/* Everything to the file (all) or to the dice; the cache is empty after. */
static int empty_cache(bool all, uint64_t *kept, uint64_t *lost)
{
	unsigned int per = sector / UNIT, b, u, i;

	for (b = 0; b < BUCKETS; b++) {
		struct page *p;

		while ((p = buckets[b])) {
			for (u = 0; u < PAGE / UNIT; u += per) {
				bool write = all || rnd() % 100 < keep;

				if (!(p->dirty & (1u << u)))
					continue;
				for (i = u; write && i < u + per; i++)
					if (write_unit(p, i))
						return -1;
				if (write)
					++*kept;
				else
					++*lost;
			}
			buckets[b] = p->next;
			free(p->data);
			free(p);
		}
	}
	return 0;
}

/* A cut that was requested happens before anything else is served. */
static int maybe_cut(void)
{
	uint64_t kept = 0, lost = 0;
	FILE *f;

	if (!cut_requested)
		return 0;
	cut_requested = 0;
	if (empty_cache(false, &kept, &lost))
		return -1;
	nbdkit_debug("cut: %llu kept, %llu lost", (unsigned long long)kept,
		     (unsigned long long)lost);
	if (log_path) {
		f = fopen(log_path, "a");
		if (f) {
			fprintf(f, "cut kept=%llu lost=%llu\n",
				(unsigned long long)kept, (unsigned long long)lost);
			fclose(f);
		}
	}
	return 0;
}

/* Put one run within a page into the cache; data NULL means zeroes. */
static int cache_run(uint64_t at, const uint8_t *data, uint32_t len)
{
	struct page *p = find_or_make(at / PAGE);
	uint32_t off = at % PAGE, u;

	if (!p)
		return -1;
	if (!data && len == PAGE) {
		free(p->data);
		p->data = NULL;
	} else if (data || p->data) {
		if (!p->data)
			p->data = calloc(1, PAGE);
		if (!p->data)
			return -1;
		if (data)
			memcpy(p->data + off, data, len);
		else
			memset(p->data + off, 0, len);
	}
	for (u = off / UNIT; u < (off + len) / UNIT; u++)
		p->dirty |= (uint8_t)(1u << u);
	return 0;
}

/* Write one run within a page through to the file; it is cached no more. */
static int through(uint64_t at, const uint8_t *data, uint32_t len)
{
	static uint8_t zeroes[PAGE];
	struct page *p = find(at / PAGE);
	uint32_t off = at % PAGE, u;

	if (file_io(true, data ? (void *)(uintptr_t)data : zeroes, len, at))
		return -1;
	if (p)
		for (u = off / UNIT; u < (off + len) / UNIT; u++)
			p->dirty &= (uint8_t)~(1u << u);
	return 0;
}

static int put(const uint8_t *data, uint64_t len, uint64_t at, bool fua)
{
	if (maybe_cut())
		return -1;
	if (at % sector || len % sector) {
		nbdkit_error("not whole sectors");
		errno = EINVAL;
		return -1;
	}
	while (len) {
		uint32_t n = PAGE - at % PAGE;

		if (n > len)
			n = (uint32_t)len;
		if (fua ? through(at, data, n) : cache_run(at, data, n)) {
			nbdkit_error("write at %llu failed", (unsigned long long)at);
			return -1;
		}
		at += n;
		len -= n;
		if (data)
			data += n;
	}
	return 0;
}

static int vol_pread(void *h, void *buf, uint32_t count, uint64_t at, uint32_t flags)
{
	uint8_t *out = buf;

	(void)h;
	(void)flags;
	if (maybe_cut() || file_io(false, buf, count, at))
		return -1;
	while (count) {
		uint32_t n = UNIT - at % UNIT;
		struct page *p = find(at / PAGE);

		if (n > count)
			n = count;
		if (p && (p->dirty & (1u << (at % PAGE / UNIT)))) {
			if (p->data)
				memcpy(out, p->data + at % PAGE, n);
			else
				memset(out, 0, n);
		}
		at += n;
		out += n;
		count -= n;
	}
	return 0;
}

static int vol_pwrite(void *h, const void *buf, uint32_t count, uint64_t at, uint32_t flags)
{
	(void)h;
	return put(buf, count, at, flags & NBDKIT_FLAG_FUA);
}

static int vol_zero(void *h, uint32_t count, uint64_t at, uint32_t flags)
{
	(void)h;
	return put(NULL, count, at, flags & NBDKIT_FLAG_FUA);
}

static int vol_flush(void *h, uint32_t flags)
{
	uint64_t kept = 0, lost = 0;

	(void)h;
	(void)flags;
	if (maybe_cut())
		return -1;
	return empty_cache(true, &kept, &lost);
}

static int vol_config(const char *key, const char *value)
{
	if (!strcmp(key, "file")) {
		file_path = nbdkit_absolute_path(value);
		return file_path ? 0 : -1;
	}
	if (!strcmp(key, "log")) {
		log_path = nbdkit_absolute_path(value);
		return log_path ? 0 : -1;
	}
	if (!strcmp(key, "sector"))
		return nbdkit_parse_unsigned(key, value, &sector);
	if (!strcmp(key, "keep"))
		return nbdkit_parse_unsigned(key, value, &keep);
	if (!strcmp(key, "seed"))
		return nbdkit_parse_uint64_t(key, value, &rng);
	nbdkit_error("unknown parameter %s", key);
	return -1;
}

static int vol_config_complete(void)
{
	if (!file_path) {
		nbdkit_error("file=PATH is missing");
		return -1;
	}
	if ((sector != 512 && sector != 4096) || keep > 100) {
		nbdkit_error("sector is 512 or 4096, keep a percentage");
		return -1;
	}
	return 0;
}

static int vol_get_ready(void)
{
	struct stat st;

	file_fd = open(file_path, O_RDWR | O_CLOEXEC);
	if (file_fd < 0 || fstat(file_fd, &st)) {
		nbdkit_error("%s: %m", file_path);
		return -1;
	}
	file_size = (uint64_t)st.st_size / PAGE * PAGE;
	return 0;
}

static int vol_after_fork(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

	return sigaction(SIGUSR1, &sa, NULL);
}

static void *vol_open(int readonly)
{
	(void)readonly;
	return NBDKIT_HANDLE_NOT_NEEDED;
}

static int64_t vol_get_size(void *h)
{
	(void)h;
	return (int64_t)file_size;
}

static int vol_can_fua(void *h)
{
	(void)h;
	return NBDKIT_FUA_NATIVE;
}

static int vol_yes(void *h)
{
	(void)h;
	return 1;
}

static int vol_block_size(void *h, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
	(void)h;
	*minimum = sector;
	*preferred = PAGE;
	*maximum = 32u << 20;
	return 0;
}

static struct nbdkit_plugin plugin = {
	.name = "volatile",
	.longname = "a drive with a volatile write cache",
	.config = vol_config,
	.config_complete = vol_config_complete,
	.config_help = "file=PATH [sector=512|4096] [keep=PERCENT] [seed=N] [log=PATH]",
	.magic_config_key = "file",
	.get_ready = vol_get_ready,
	.after_fork = vol_after_fork,
	.open = vol_open,
	.get_size = vol_get_size,
	.block_size = vol_block_size,
	.can_fua = vol_can_fua,
	.can_flush = vol_yes,
	.can_trim = vol_yes,
	.can_zero = vol_yes,
	.pread = vol_pread,
	.pwrite = vol_pwrite,
	.zero = vol_zero,
	.trim = vol_zero,
	.flush = vol_flush,
	.errno_is_preserved = 1,
};

NBDKIT_REGISTER_PLUGIN(plugin)
