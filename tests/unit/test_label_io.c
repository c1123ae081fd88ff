// SPDX-License-Identifier: GPL-2.0-only
/* Labels on a drive that is a plain file: what is compared before it is written. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kernel.h>
#include <stdarg.h>

#include "userspace/machine/label_io.c"
#include "suite.h"

#define MIB	(1ULL << 20)
#define SIZE	(16 * MIB)

static struct label a, b;
static struct label_disk disk;
static int fd, each[2];

static void begin(void)
{
	if (fd > 0)
		close(fd);
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, SIZE));
	memset(&a, 0, sizeof(a));
	memset(&disk, 0, sizeof(disk));
	a.drive.b[0] = 1;
	a.owner.b[0] = 2;
	a.size = SIZE;
	a.lba = 512;
	a.sequence = 1;
	CU_ASSERT_EQUAL(label_write(fd, &a, &disk, each), 0);
}

static void flip(u64 at)
{
	u8 c;

	CU_ASSERT_EQUAL(pread(fd, &c, 1, at), 1);
	c ^= 0x40;
	CU_ASSERT_EQUAL(pwrite(fd, &c, 1, at), 1);
}

static int next(void)
{
	a.sequence = disk.tried + 1;
	return label_write(fd, &a, &disk, each);
}

static void test_round_trip(void)
{
	struct label_disk found;

	begin();
	CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &found, each), 0);
	CU_ASSERT_EQUAL(b.sequence, 1);
	CU_ASSERT(found.known[0] && found.known[1] && found.tried == 1);
	disk = found;
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT(!each[0] && !each[1]);
	CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &found, each), 0);
	CU_ASSERT_EQUAL(b.sequence, 2);
}

/* Another host that took the drive over has written since. */
static void test_other_writer(void)
{
	struct label_disk theirs;
	struct label l;

	for (int what = 0; what < 3; what++) {
		begin();
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &l, &theirs, each), 0);
		if (what == 0)
			l.owner.b[0] = 9;
		if (what < 2)
			l.sequence++;
		else
			l.flags = LABEL_F_UNEXPORTED;	/* the same number, other content */
		CU_ASSERT_EQUAL(label_write(fd, &l, &theirs, each), 0);
		CU_ASSERT_EQUAL(next(), -EBADE);
		/* Nothing of theirs was touched. */
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &theirs, each), 0);
		CU_ASSERT_EQUAL(b.sequence, l.sequence);
		CU_ASSERT_EQUAL(b.flags, l.flags);
		CU_ASSERT(!each[0] && !each[1]);
	}
}

static void put_at(u64 at, const struct label *l)
{
	static u8 buf[LABEL_AREA];
	int n = label_encode(l, buf, sizeof(buf));

	CU_ASSERT_EQUAL(pwrite(fd, buf, n, at), n);
}

static void put_copy(int copy, const struct label *l)
{
	put_at(copy ? l->size - MIB : 0, l);
}

/* One copy that is no label any more is written again; a whole one of another is enough to stop. */
static void test_one_copy(void)
{
	struct label_disk found;
	struct label l;

	for (int copy = 0; copy < 2; copy++) {
		begin();
		flip((copy ? SIZE - MIB : 0) + 30);
		CU_ASSERT_EQUAL(label_same(fd, &a, &disk), 0);
		CU_ASSERT(disk.known[!copy] && !disk.known[copy]);
		CU_ASSERT_EQUAL(next(), 0);
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &found, each), 0);
		CU_ASSERT(!each[0] && !each[1] && b.sequence == 2);
		/* The one after the other: both are gone. */
		flip((copy ? SIZE - MIB : 0) + 30);
		CU_ASSERT_EQUAL(label_same(fd, &a, &disk), 0);
		flip((copy ? 0 : SIZE - MIB) + 30);
		CU_ASSERT_EQUAL(label_same(fd, &a, &disk), -EBADE);

		begin();
		l = a;
		l.owner.b[0] = 9;
		put_copy(copy, &l);
		CU_ASSERT_EQUAL(next(), -EBADE);
		flip((copy ? 0 : SIZE - MIB) + 30);
		CU_ASSERT_EQUAL(next(), -EBADE);
	}
	begin();
	CU_ASSERT_EQUAL(label_wipe(fd, SIZE), 0);
	CU_ASSERT_EQUAL(next(), -EBADE);
}

/* A copy whose write failed may have become anything that was ever tried. */
static void test_after_failure(void)
{
	struct label_disk found;

	begin();
	disk.known[1] = false;
	disk.tried = 5;			/* four writes to copy 1 have failed */
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(a.sequence, 6);
	CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &found, each), 0);
	CU_ASSERT_EQUAL(b.sequence, 6);
	CU_ASSERT(!each[0] && !each[1]);
	/* But not a higher one. */
	disk.known[1] = false;
	disk.tried = 5;
	a.sequence = 7;
	CU_ASSERT_EQUAL(label_write(fd, &a, &disk, each), -EBADE);
}

/* A copy that rotted is put right from the other, whatever it says now. */
static void test_rotten(void)
{
	struct label_disk found;

	for (u64 at = 0; at < 100; at += 4) {
		begin();
		flip(at);
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &found, each), 0);
		CU_ASSERT(each[0] && !each[1]);
		b.sequence = found.tried + 1;
		CU_ASSERT_EQUAL(label_write(fd, &b, &found, each), 0);
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &found, each), 0);
		CU_ASSERT(!each[0] && !each[1]);
	}
}

/* A read-only drive: nothing lands, and the number is used up. */
static void test_failed_write(void)
{
	char path[64];
	int ro;

	begin();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY);
	CU_ASSERT_FATAL(ro >= 0);
	a.sequence = 2;
	CU_ASSERT(label_write(ro, &a, &disk, each) < 0);
	CU_ASSERT(each[0] && each[1]);
	CU_ASSERT_EQUAL(disk.tried, 2);
	CU_ASSERT(!disk.known[0] && !disk.known[1]);
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(a.sequence, 3);
	close(ro);
}

/* A device that has grown has both copies still, and its label stays as it is. */
static void test_grown(void)
{
	struct label_disk found;

	begin();
	CU_ASSERT_FATAL(!ftruncate(fd, 2 * SIZE));
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &b, &found, each), 0);
	CU_ASSERT(!each[0] && !each[1] && found.known[1]);
	CU_ASSERT_EQUAL(b.size, SIZE);
	/* Written at that end, and found there. */
	b.sequence = 2;
	CU_ASSERT_EQUAL(label_write(fd, &b, &found, each), 0);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &a, &found, each), 0);
	CU_ASSERT(!each[0] && !each[1] && found.head[1].sequence == htole64(2));
	/* One that is damaged is seen. */
	flip(SIZE - LABEL_AREA + 100);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &a, &found, each), 0);
	CU_ASSERT(!each[0] && each[1] == -EBADMSG);
	/* Another label there than the one that was read. */
	begin();
	CU_ASSERT_FATAL(!ftruncate(fd, 2 * SIZE));
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &b, &found, each), 0);
	a.sequence = 7;
	put_copy(1, &a);
	CU_ASSERT_EQUAL(label_same(fd, &b, &found), -EBADE);
	/* A smaller device than the label says is a part of a copy. */
	CU_ASSERT_EQUAL(label_read(fd, SIZE / 2, &a, &found, each), -EUCLEAN);
}

/* The ends of a label that grows, after each of its writes. */
static void test_grow(void)
{
	struct label_disk found;
	u8 old;

	begin();
	CU_ASSERT_FATAL(!ftruncate(fd, 2 * SIZE));
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &b, &found, each), 0);
	b.sequence = 2;
	b.size = SIZE + LABEL_AREA - 4096;
	CU_ASSERT_EQUAL(label_grow(fd, &b, SIZE, &found, each), -EINVAL);
	b.size = 2 * SIZE;
	CU_ASSERT_EQUAL(label_grow(fd, &b, SIZE, &found, each), 0);
	CU_ASSERT(!each[0] && !each[1]);
	CU_ASSERT_EQUAL(label_same(fd, &b, &found), 0);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &a, &found, each), 0);
	CU_ASSERT(!each[0] && !each[1] && a.size == 2 * SIZE && a.sequence == 2);
	CU_ASSERT(found.head[0].sequence == found.head[1].sequence);
	/* No copy stands in the middle of free room. */
	CU_ASSERT_EQUAL(pread(fd, &old, 1, SIZE - LABEL_AREA), 1);
	CU_ASSERT_EQUAL(old, 0);
	b.sequence = 3;
	CU_ASSERT_EQUAL(label_write(fd, &b, &found, each), 0);
}

static void test_grow_crash(void)
{
	struct label_disk found;
	struct label was;

	/* The new end is written, and nothing else: that label counts, and both copies become it. */
	begin();
	CU_ASSERT_FATAL(!ftruncate(fd, 2 * SIZE));
	b = a;
	b.size = 2 * SIZE;
	b.sequence = 2;
	put_copy(1, &b);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &was, &found, each), 0);
	CU_ASSERT(was.size == 2 * SIZE && was.sequence == 2 && found.tried == 2);
	CU_ASSERT(found.head[0].sequence != found.head[1].sequence);
	was.sequence = 3;
	CU_ASSERT_EQUAL(label_write(fd, &was, &found, each), 0);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &a, &found, each), 0);
	CU_ASSERT(!each[0] && !each[1] && a.size == 2 * SIZE && found.head[0].sequence == found.head[1].sequence);
	/* Copy 0 was being written: it is torn, and the new end is found without it. */
	flip(100);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &a, &found, each), 0);
	CU_ASSERT(each[0] == -EBADMSG && !each[1] && a.size == 2 * SIZE);
	/* The new end was given up, and the label written since at its own: that one counts. */
	begin();
	CU_ASSERT_FATAL(!ftruncate(fd, 2 * SIZE));
	b = a;
	b.size = 2 * SIZE;
	b.sequence = 2;
	put_copy(1, &b);
	disk.tried = 2;
	CU_ASSERT_EQUAL(next(), 0);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &b, &found, each), 0);
	CU_ASSERT(!each[0] && !each[1] && b.size == SIZE && b.sequence == 3);
	/* A stale copy that names another end than the one where it stands is none. */
	b.sequence = 9;
	was = b;
	was.size = 2 * SIZE - LABEL_AREA;
	put_at(2 * SIZE - LABEL_AREA, &was);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &b, &found, each), 0);
	CU_ASSERT(!each[0] && !each[1] && b.sequence == 3);
}

/* The new end cannot be written: nothing has changed. */
static void test_grow_fails(void)
{
	struct label_disk found;
	char path[64];
	int ro;

	begin();
	CU_ASSERT_FATAL(!ftruncate(fd, 2 * SIZE));
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &b, &found, each), 0);
	b.size = 2 * SIZE;
	b.sequence = 2;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY);
	CU_ASSERT_FATAL(ro >= 0);
	CU_ASSERT_EQUAL(label_grow(ro, &b, SIZE, &found, each), -EBADF);
	close(ro);
	CU_ASSERT_EQUAL(found.tried, 2);
	CU_ASSERT_EQUAL(label_same(fd, &a, &found), 0);
	CU_ASSERT_EQUAL(label_read(fd, 2 * SIZE, &b, &found, each), 0);
	CU_ASSERT(b.size == SIZE && !each[0] && !each[1]);
}

/* An image of another, smaller drive was written over this one. */
static void test_two_drives(void)
{
	struct label_disk found, theirs;
	struct label l;
	int small;

	for (u64 sequence = 100; sequence <= 1900; sequence += 1800) {
		begin();
		a.sequence = 900;
		CU_ASSERT_EQUAL(label_write(fd, &a, &disk, each), 0);
		small = open("/tmp", O_TMPFILE | O_RDWR, 0600);
		CU_ASSERT_FATAL(small >= 0 && !ftruncate(small, SIZE / 2));
		l = a;
		l.drive.b[0] = 7;
		l.size = SIZE / 2;
		l.sequence = sequence;
		memset(&theirs, 0, sizeof(theirs));
		CU_ASSERT_EQUAL(label_write(small, &l, &theirs, each), 0);
		for (u64 at = 0; at < SIZE / 2; at += sizeof(l)) {
			ssize_t n = pread(small, &l, sizeof(l), at);

			CU_ASSERT_EQUAL(pwrite(fd, &l, n, at), n);
		}
		close(small);
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &b, &found, each), -EUCLEAN);
		CU_ASSERT(!each[0] && !each[1]);
	}
}

/* What was there before a label is there again, to the byte. */
static void test_ends(void)
{
	u8 *was = malloc(SIZE), *is = malloc(SIZE), *ends;

	CU_ASSERT_FATAL(was && is);
	begin();
	for (u64 i = 0; i < SIZE; i++)
		was[i] = i * 7 + (i >> 12);
	CU_ASSERT_EQUAL(pwrite(fd, was, SIZE, 0), SIZE);
	ends = label_ends_read(fd, SIZE);
	CU_ASSERT_FATAL(!!ends);
	CU_ASSERT_EQUAL(label_forget(fd, SIZE), 0);
	memset(&disk, 0, sizeof(disk));
	CU_ASSERT_EQUAL(label_write(fd, &a, &disk, each), 0);
	CU_ASSERT(pread(fd, is, SIZE, 0) == SIZE && memcmp(was, is, SIZE));
	CU_ASSERT_EQUAL(label_ends_write(fd, SIZE, ends), 0);
	CU_ASSERT(pread(fd, is, SIZE, 0) == SIZE && !memcmp(was, is, SIZE));
	free(ends);
	/* A device that cannot be read whole there. */
	CU_ASSERT(!label_ends_read(fd, 2 * SIZE));
	free(was);
	free(is);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "round trip", test_round_trip },
		{ "another writer", test_other_writer },
		{ "one copy", test_one_copy },
		{ "after a failure", test_after_failure },
		{ "rotten", test_rotten },
		{ "failed write", test_failed_write },
		{ "grown", test_grown },
		{ "a label grows", test_grow },
		{ "... and ends half-way", test_grow_crash },
		{ "... and cannot be written", test_grow_fails },
		{ "two drives", test_two_drives },
		{ "ends", test_ends },
		{ NULL, NULL },
	};

	return suite_main("label_io", tests);
}
