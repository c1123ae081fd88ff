// SPDX-License-Identifier: GPL-2.0-only
/* A label put together again from a backup and from records on the drive. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "userspace/format/restore.h"
#include "suite.h"

#define MIB	(1ULL << 20)
#define LINES	64

static struct label backup, out;
static struct layout l;
static struct restore_scan scan;
static struct restore_line line[LINES];
static u32 made;

static struct muuid uuid(u32 n)
{
	struct muuid u = { { 0x30 } };

	memcpy(u.b + 8, &n, sizeof(n));
	return u;
}

static const struct muuid *drive(void)
{
	static struct muuid d;

	d = uuid(1);
	return &d;
}

static void fresh(struct muuid *u)
{
	*u = uuid(90000 + made++);
}

static void begin(void)
{
	restore_scan_free(&scan);
	memset(&backup, 0, sizeof(backup));
	backup.drive = *drive();
	backup.owner = uuid(2);
	backup.sequence = 40;
	backup.size = 1000 * MIB;
	backup.lba = 512;
	made = 0;
}

static struct label_extent *give(u32 id, u32 volume, u64 mib, u64 version)
{
	struct muuid u = uuid(id);
	struct label_extent *e = label_alloc(&backup, &u, mib * MIB);

	e->volume = uuid(volume);
	e->version = e->commit = version;
	e->state = version ? LABEL_READY : LABEL_ZEROING;
	return e;
}

/* A record with members on this drive and, if @other, on another. */
static void record(u64 start, u32 volume, u64 version, const u32 *extents, u64 mib, bool other)
{
	u32 n = 0;

	memset(&l, 0, sizeof(l));
	l.volume = uuid(volume);
	strcpy(l.name, "vol");
	l.version = l.commit = version;
	for (; extents[n]; n++)
		l.member[n] = (struct layout_member) { .drive = *drive(), .extent = uuid(extents[n]),
						       .size = mib * MIB };
	if (other)
		l.member[n++] = (struct layout_member) { .drive = uuid(7), .extent = uuid(777),
							 .size = mib * MIB };
	l.members = n;
	CU_ASSERT_EQUAL(restore_add(&scan, start * MIB, &l, drive()), 0);
}

static int build(u64 sequence)
{
	return restore_build(&backup, &scan, sequence, &out, line, LINES, fresh);
}

static const struct restore_line *said(u64 start, int n)
{
	for (int i = 0; i < n; i++)
		if (line[i].extent.start == start * MIB)
			return &line[i];
	return NULL;
}

#define E(...)	((const u32[]){ __VA_ARGS__, 0 })

static void test_confirmed(void)
{
	int n;

	begin();
	give(10, 100, 10, 3)->holder = uuid(5);
	give(11, 101, 20, 4);
	record(1, 100, 3, E(10), 10, true);
	record(11, 101, 6, E(11), 20, false);	/* extended since the backup */
	n = build(30);
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_EQUAL(said(1, n)->what, RESTORE_CONFIRMED);
	CU_ASSERT_EQUAL(said(11, n)->what, RESTORE_CONFIRMED);
	CU_ASSERT_EQUAL(out.extents, 2);
	CU_ASSERT(muuid_equal(&out.extent[0].holder, &backup.extent[0].holder));
	CU_ASSERT_EQUAL(out.extent[0].version, 3);
	CU_ASSERT_EQUAL(out.extent[1].version, 6);
	CU_ASSERT_EQUAL(out.extent[1].commit, 6);
	CU_ASSERT_EQUAL(out.sequence, 41);
	CU_ASSERT_EQUAL(build(99), 2);
	CU_ASSERT_EQUAL(out.sequence, 100);
}

/* The record of the backup's version was torn, and an older one is there still. */
static void test_older(void)
{
	begin();
	give(10, 100, 10, 5)->commit = 9;
	record(1, 100, 3, E(10), 10, true);
	CU_ASSERT_EQUAL(build(0), 1);
	CU_ASSERT_EQUAL(line[0].what, RESTORE_CONFIRMED);
	CU_ASSERT_EQUAL(out.extent[0].version, 5);
	CU_ASSERT_EQUAL(out.extent[0].commit, 9);
}

/* Up to where the last copy of the label begins, and not a byte further. */
static void test_end(void)
{
	for (u32 mib = 19; mib <= 20; mib++) {
		begin();
		give(10, 100, 10, 3);
		record(1, 100, 3, E(10), 10, false);
		record(980, 102, 2, E(12), mib, true);
		CU_ASSERT_EQUAL(build(0), 2);
		CU_ASSERT_EQUAL(line[1].what, mib == 19 ? RESTORE_FOUND : RESTORE_DROPPED);
		CU_ASSERT_EQUAL(out.extents, mib == 19 ? 2 : 1);
	}
}

static void test_found(void)
{
	struct muuid u = uuid(12);
	int n;

	begin();
	give(10, 100, 10, 3);
	record(1, 100, 3, E(10), 10, false);
	record(50, 102, 2, E(12), 30, true);
	n = build(0);
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_EQUAL(said(50, n)->what, RESTORE_FOUND);
	CU_ASSERT(muuid_equal(&out.extent[1].uuid, &u));
	CU_ASSERT_EQUAL(out.extent[1].length, 30 * MIB);
	CU_ASSERT_EQUAL(out.extent[1].version, 2);
	CU_ASSERT_EQUAL(out.extent[1].state, LABEL_READY);
	CU_ASSERT(muuid_null(&out.extent[1].holder));
}

/* Two members of one volume that the backup lacks: which is which is not guessed. */
static void test_nameless(void)
{
	int n;

	begin();
	give(9, 99, 1, 1);
	record(1, 99, 1, E(9), 1, false);
	record(50, 102, 2, E(12, 13), 30, false);
	record(80, 102, 2, E(12, 13), 30, false);
	n = build(0);
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_EQUAL(said(50, n)->what, RESTORE_NAMELESS);
	CU_ASSERT_EQUAL(said(80, n)->what, RESTORE_NAMELESS);
	CU_ASSERT_EQUAL(out.extents, 3);
	for (u32 id = 12; id <= 13; id++) {
		struct muuid u = uuid(id);

		CU_ASSERT_PTR_NULL(label_find(&out, &u));
	}
	/* Two places and one name: either could be the old one, of before it was freed. */
	begin();
	record(50, 102, 2, E(12), 30, false);
	record(80, 102, 1, E(12), 30, false);
	n = build(0);
	CU_ASSERT_EQUAL(said(50, n)->what, RESTORE_NAMELESS);
	CU_ASSERT_EQUAL(said(80, n)->what, RESTORE_NAMELESS);
	/* One of two known: the other is certain. */
	begin();
	give(12, 102, 30, 2);
	record(1, 102, 2, E(12, 13), 30, false);
	record(80, 102, 2, E(12, 13), 30, false);
	n = build(0);
	CU_ASSERT_EQUAL(said(80, n)->what, RESTORE_FOUND);
	/* Both names free, one place found: either could be here. */
	begin();
	record(80, 102, 2, E(12, 13), 30, false);
	n = build(0);
	CU_ASSERT_EQUAL(said(80, n)->what, RESTORE_NAMELESS);
}

static void test_kept_and_dropped(void)
{
	int n;

	begin();
	give(10, 100, 10, 3);		/* its record rotted: kept */
	give(11, 101, 10, 0);		/* never recorded: nothing is lost */
	give(12, 102, 10, 5);		/* freed since, and given to another */
	record(21, 103, 1, E(13), 40, false);
	n = build(0);
	CU_ASSERT_EQUAL(said(1, n)->what, RESTORE_KEPT);
	CU_ASSERT_EQUAL(said(11, n)->what, RESTORE_DROPPED);
	CU_ASSERT_EQUAL(out.extents, 2);
	CU_ASSERT_EQUAL(out.extent[1].start, 21 * MIB);
	CU_ASSERT_EQUAL(out.extent[1].length, 40 * MIB);
}

/* The record of a freed extent whose room was given out again in part. */
static void test_last_trace(void)
{
	int n;

	begin();
	give(9, 99, 9, 1);
	give(10, 100, 10, 3);
	record(1, 99, 1, E(9), 9, false);
	record(10, 100, 3, E(10), 10, false);
	record(15, 55, 1, E(50), 4, false);	/* data of a volume that looks so */
	record(30, 56, 1, E(51), 2000, false);	/* larger than the drive */
	n = build(0);
	CU_ASSERT_EQUAL(out.extents, 2);
	CU_ASSERT_EQUAL(said(30, n)->what, RESTORE_DROPPED);
	CU_ASSERT_PTR_NULL(said(15, n));
}

static void test_foreign(void)
{
	memset(&l, 0, sizeof(l));
	begin();
	l.members = 1;
	l.member[0].drive = uuid(7);
	CU_ASSERT_EQUAL(restore_add(&scan, MIB, &l, drive()), -ENOENT);
	CU_ASSERT_EQUAL(build(0), 0);
	CU_ASSERT_EQUAL(out.extents, 0);
	backup.lba = 5;
	CU_ASSERT_EQUAL(build(0), -EUCLEAN);
	restore_scan_free(&scan);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "confirmed", test_confirmed },
		{ "an older record", test_older },
		{ "the end", test_end },
		{ "found", test_found },
		{ "nameless", test_nameless },
		{ "kept and dropped", test_kept_and_dropped },
		{ "last trace", test_last_trace },
		{ "foreign", test_foreign },
		{ NULL, NULL },
	};

	return suite_main("restore", tests);
}
