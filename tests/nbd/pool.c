// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that do member I/O, copies and codec work. They take any job that
 * waits, not the oldest, and may hold it back: I/O ends in any order, and a kill
 * finds some copies written and others not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/nbd/volume.h"
#include "userspace/codec.h"

static pthread_t threads[64];
static unsigned int nr_threads;

void pool_add(struct job *j)
{
	j->next = NULL;
	*vol.jobs_tail = j;
	vol.jobs_tail = &j->next;
	vol.nr_jobs++;
	pthread_cond_signal(&vol.work);
}

static uint32_t rnd(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static struct job *take(uint32_t *seed)
{
	struct job **link = &vol.jobs, *j;

	for (uint32_t skip = rnd(seed, vol.nr_jobs < 8 ? vol.nr_jobs : 8); skip; skip--)
		link = &(*link)->next;
	j = *link;
	*link = j->next;
	if (!j->next)
		vol.jobs_tail = link;
	vol.nr_jobs--;
	return j;
}

static int zero(int fd, uint64_t addr, uint64_t length)
{
	static const uint8_t nothing[65536];

	if (!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, addr, length))
		return 0;
	while (length) {
		size_t n = length < sizeof(nothing) ? length : sizeof(nothing);

		if (pwrite(fd, nothing, n, addr) != (ssize_t)n)
			return -EIO;
		addr += n;
		length -= n;
	}
	return 0;
}

static int transfer(const struct job *j, int fd)
{
	uint64_t addr = j->addr;

	for (uint32_t i = 0; i < j->nr; i++) {
		uint8_t *at = j->vec[i].at;
		size_t left = j->vec[i].length;

		while (left) {
			ssize_t n = j->kind == PROT_READ ? pread(fd, at, left, addr) :
							   pwrite(fd, at, left, addr);

			if (n <= 0)
				return -EIO;
			at += n;
			left -= n;
			addr += n;
		}
	}
	return 0;
}

/* Without the lock: no thread closes a file while it has jobs. */
static int do_io(const struct job *j, int fd)
{
	if (fd < 0)
		return -ENXIO;
	if (j->kind > PROT_WRITE)
		return zero(fd, j->addr, j->length);
	return transfer(j, fd);
}

/* With the lock: what a drive with a bad sector says, and that a write repairs it. */
static int medium(const struct job *j, uint32_t *seed)
{
	struct group *grp = j->grp;

	if (!vol.medium || j->addr < vol.st.data_at)
		return 0;
	if (!grp->bad && j->kind == PROT_READ && !rnd(seed, vol.medium)) {
		grp->bad = true;
		grp->bad_member = j->member;
		grp->bad_addr = j->addr + (uint64_t)rnd(seed, j->length / vol.st.lba) * vol.st.lba;
	}
	if (!grp->bad || grp->bad_member != j->member || grp->bad_addr < j->addr ||
	    grp->bad_addr >= j->addr + j->length)
		return 0;
	grp->bad = j->kind == PROT_READ;
	return grp->bad ? -ENODATA : 0;
}

static void do_copy(const struct job *j)
{
	uint8_t *mine = j->rq->data + j->copy.request;
	uint8_t *theirs = (uint8_t *)prot_group_buffer(j->grp->g, j->copy.buffer) + j->copy.offset;

	if (j->copy.out)
		memcpy(mine, theirs, j->copy.length);
	else
		memcpy(theirs, mine, j->copy.length);
}

static void *work(void *arg)
{
	uint32_t seed = (uintptr_t)arg * 2654435761U;
	struct prot_map *map = calloc(1, sizeof(*map));

	pthread_mutex_lock(&vol.lock);
	for (;;) {
		struct job *j;
		int err = 0, fd = -1;

		while (!vol.jobs && !vol.over)
			pthread_cond_wait(&vol.work, &vol.lock);
		if (!vol.jobs)
			break;
		j = take(&seed);
		if (j->what == PROT_EV_IO) {
			struct member *m = &vol.member[j->member];

			fd = m->gone ? -1 : m->fd;
		}
		pthread_mutex_unlock(&vol.lock);
		if (j->what == PROT_EV_COPY) {
			do_copy(j);
		} else if (j->what == PROT_EV_CODEC) {
			prot_group_codec(j->grp->g, j->op, codec_best(), map, 0,
					 prot_group_codec_bytes(j->grp->g, j->op));
		} else {
			/* reads less, so that they overtake a resynchronisation */
			if (vol.delay_us)
				usleep(rnd(&seed, vol.delay_us) / (j->kind == PROT_READ ? 8 : 1));
			err = do_io(j, fd);
		}
		pthread_mutex_lock(&vol.lock);
		if (j->what == PROT_EV_IO)
			vol.member[j->member].jobs--;
		if (j->what == PROT_EV_IO && !err)
			err = medium(j, &seed);
		j->grp->jobs--;
		j->grp->kick = true;
		prot_group_result(j->grp->g, j->tag, err);
		volume_drive();
		volume_job_done(j);
	}
	pthread_mutex_unlock(&vol.lock);
	free(map);
	return NULL;
}

int pool_start(unsigned int threads_wanted)
{
	codec_best();
	vol.jobs_tail = &vol.jobs;
	for (; nr_threads < threads_wanted && nr_threads < 64; nr_threads++)
		if (pthread_create(&threads[nr_threads], NULL, work,
				   (void *)(uintptr_t)(nr_threads + 1)))
			return -1;
	return 0;
}

void pool_stop(void)
{
	pthread_mutex_lock(&vol.lock);
	vol.over = true;
	pthread_cond_broadcast(&vol.work);
	pthread_mutex_unlock(&vol.lock);
	while (nr_threads)
		pthread_join(threads[--nr_threads], NULL);
}
