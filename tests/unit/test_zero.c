// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fresh extents are zeroed while the drive is this host's, and no longer; by what is
 * promised to read zero, and their label says so when that is durable.
 */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "drive_rig.h"

/* What the drive refuses, and what becomes of its flushes. */
static bool no_punch, no_zeroout, no_flush;
static int unflushed;		/* pieces that were zeroed since the last one */

static int rig_fallocate(int fd, int mode, off_t at, off_t n)
{
	errno = EOPNOTSUPP;
	if (no_punch)
		return -1;
	unflushed++;
	return fallocate(fd, mode, at, n);
}

/* A discard succeeds and keeps what was there, as it may. */
static int rig_ioctl(int fd, unsigned long what, const u64 range[2])
{
	errno = EOPNOTSUPP;
	if (what == BLKDISCARD)
		return 0;
	if (what != BLKZEROOUT || no_zeroout)
		return -1;
	unflushed++;
	return fallocate(fd, FALLOC_FL_ZERO_RANGE, range[0], range[1]);
}

static int rig_fsync(int fd)
{
	(void)fd;
	errno = EIO;
	if (no_flush)
		return -1;
	unflushed = 0;
	return 0;
}

#define fallocate	rig_fallocate
#define ioctl		rig_ioctl
#define fsync		rig_fsync
#include "userspace/meshd/zero.c"
#undef fallocate
#undef ioctl
#undef fsync

/* The rest of meshd */

static int rests;

void sleep_ms(unsigned int ms) { (void)ms; rests++; }
bool stopping(void) { return rests > 300; }

static u8 state_now(void)
{
	u8 state;

	pthread_mutex_lock(&d->lock);
	state = d->label->extent[0].state;
	pthread_mutex_unlock(&d->lock);
	return state;
}

static bool works(void)
{
	bool zeroing;

	pthread_mutex_lock(&d->lock);
	zeroing = d->zeroing;
	pthread_mutex_unlock(&d->lock);
	return zeroing;
}

static void zero_kicked(void)
{
	rests = 0;
	zero_kick(d);
	for (int i = 0; i < 3000 && works() && !stopping(); i++)
		usleep(10000);
}

static void zero_all(void)
{
	zero_kicked();
	CU_ASSERT(!works());
	CU_ASSERT_EQUAL(rests, 0);
}

/* By each of the ways, the whole of it, and nothing beside it. */
static void test_zeroes(void)
{
	static u8 data[6 * MIB], none[4 * MIB];
	size_t i, beside = 0;

	for (int way = 0; way < 3; way++) {
		no_punch = way > 0;
		no_zeroout = way > 1;
		rig_begin(LABEL_ZEROING);
		memset(data, 0x5a, sizeof(data));
		CU_ASSERT_EQUAL(pwrite(d->fd, data, 5 * MIB, MIB), (ssize_t)(5 * MIB));
		zero_all();
		CU_ASSERT_EQUAL(unflushed, 0);
		CU_ASSERT_EQUAL(state_now(), LABEL_READY);
		CU_ASSERT_EQUAL(pread(d->fd, data, 5 * MIB, MIB), (ssize_t)(5 * MIB));
		CU_ASSERT(!memcmp(data, none, sizeof(none)));
		for (beside = 0, i = 4 * MIB; i < 5 * MIB; i++)
			beside += data[i] != 0x5a;
		CU_ASSERT_EQUAL(beside, 0);
	}
	no_punch = no_zeroout = false;
}

/* A position before the end is not the end: zeroing goes on from there. */
static void test_goes_on(void)
{
	struct note n = { ext, 2 * MIB };
	static u8 data[4 * MIB];

	rig_begin(LABEL_ZEROING);
	memset(data, 0x5a, sizeof(data));
	CU_ASSERT_EQUAL(pwrite(d->fd, data, sizeof(data), MIB), (ssize_t)sizeof(data));
	CU_ASSERT_EQUAL(tdrive_run(d, note_job, &n), 0);
	CU_ASSERT_EQUAL(state_now(), LABEL_ZEROING);
	zero_all();
	CU_ASSERT_EQUAL(state_now(), LABEL_READY);
	CU_ASSERT_EQUAL(pread(d->fd, data, sizeof(data), MIB), (ssize_t)sizeof(data));
	CU_ASSERT(data[2 * MIB - 1] == 0x5a && !data[2 * MIB] && !data[4 * MIB - 1]);
}

/* Zeroes that may be gone after a power cut are none, and are not noted as such. */
static void test_not_durable(void)
{
	struct label_disk disk;
	struct label l;
	int each[2];

	rig_begin(LABEL_ZEROING);
	no_flush = true;
	zero_kicked();
	CU_ASSERT_EQUAL(state_now(), LABEL_ZEROING);
	CU_ASSERT_EQUAL(label_read(d->fd, SIZE, &l, &disk, each), 0);
	CU_ASSERT(l.extent[0].state == LABEL_ZEROING && !l.extent[0].zeroed);
	rig_end();
	no_flush = false;
}

/* Another host gave the room to a volume since: not a byte of that is touched. */
static void test_taken_over(void)
{
	rig_begin(LABEL_ZEROING);
	rig_take_over();
	for (int i = 0; i < 2; i++) {
		zero_all();
		CU_ASSERT_EQUAL(rig_damage(d->fd), 0);
		CU_ASSERT(rig_theirs(d->fd));
		CU_ASSERT_EQUAL(state_now(), LABEL_ZEROING);
	}
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "zeroes", test_zeroes },
		{ "goes on", test_goes_on },
		{ "not durable", test_not_durable },
		{ "taken over", test_taken_over },
		{ NULL, NULL },
	};

	alarm(120);
	return suite_main("zero", tests);
}
