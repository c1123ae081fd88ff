// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layout records on a drive that is a plain file: which copy counts, which is
 * written first, and what is refused.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kernel.h>
#include <stdarg.h>
#include <unistd.h>

#include "userspace/format/layout.h"
#include "suite.h"

#define MIB	(1ULL << 20)
#define START	MIB

static unsigned int bad_reads;	/* copies of the record that cannot be read, as bits */

static ssize_t test_pread(int fd, void *buf, size_t n, off_t at)
{
	errno = EIO;
	return bad_reads & 1U << (at >= (off_t)(START + LAYOUT_COPY_BYTES)) ? -1 : pread(fd, buf, n, at);
}

#define pread	test_pread
#include "userspace/meshd/record_put.c"
#undef pread

static struct tdrive d;
static struct label table;
static struct layout l, got;
static int label_err, settled_err, current_err, pushes;
static const struct muuid me = { { 1 } }, other = { { 2 } }, vol = { { 3 } }, ext = { { 4 } };

/* What drive.c does with a label, without a drive. */
struct label *tdrive_edit(struct tdrive *drive)
{
	struct label *copy = malloc(sizeof(*copy));

	memcpy(copy, drive->label, sizeof(*copy));
	return copy;
}

int tdrive_commit(struct tdrive *drive, struct label *copy)
{
	if (!label_err)
		memcpy(drive->label, copy, sizeof(*copy));
	free(copy);
	return label_err;
}

int tdrive_settled(struct tdrive *drive)
{
	(void)drive;
	return settled_err;
}

int tdrive_current(struct tdrive *drive)
{
	(void)drive;
	return current_err;
}

int tdrive_push(struct tdrive *drive)
{
	(void)drive;
	pushes++;
	return 0;
}

bool alloc_believed(const struct label_extent *e, const struct mgmt_believed *b,
		    char why[MGMT_REASON])
{
	snprintf(why, MGMT_REASON, "not as believed");
	return muuid_equal(&e->holder, &b->holder) && e->version == b->version &&
	       e->commit == b->commit;
}

void log_warn(const char *fmt, ...)
{
	(void)fmt;
}

static void begin(void)
{
	if (d.fd > 0)
		close(d.fd);
	d.fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	CU_ASSERT_FATAL(d.fd >= 0 && !ftruncate(d.fd, 8 * MIB));
	memset(&table, 0, sizeof(table));
	table.extents = 1;
	table.extent[0] = (struct label_extent) { .uuid = ext, .volume = vol, .start = START,
						  .length = 4 * MIB, .state = LABEL_READY };
	d.label = &table;
	label_err = settled_err = current_err = pushes = 0;
	memset(&l, 0, sizeof(l));
	l.volume = vol;
	strcpy(l.name, "v");
	l.lba = 512;
	l.size = MIB;
	l.members = l.segments = l.refs = 1;
	l.member[0] = (struct layout_member) { .extent = ext, .size = 4 * MIB };
	l.segment[0] = (struct layout_segment) { .length = MIB, .level = PROT_LINEAR,
						 .data = 1, .groups = 1, .refs = 1 };
	l.ref[0].offset = LAYOUT_DATA;
}

static int put_as(const struct muuid *host, u64 version, u64 commit)
{
	struct mgmt_req q = { .op = MGMT_RECORD_PUT, .extent = ext, .volume = vol, .record = &l };
	char why[MGMT_REASON];

	l.version = version;
	l.commit = commit;
	q.believed = (struct mgmt_believed) { table.extent[0].holder, table.extent[0].version,
					      table.extent[0].commit };
	return record_put(&d, &q, host, why);
}

/* What is said of the drive's extents is what the volume is called now. */
static void test_renamed(void)
{
	begin();
	CU_ASSERT(!put_as(&me, 1, 11));
	CU_ASSERT_STRING_EQUAL(table.extent[0].name, "v");
	memset(l.name, 'n', sizeof(l.name) - 1);
	CU_ASSERT(!put_as(&me, 2, 12));
	CU_ASSERT_EQUAL(strnlen(table.extent[0].name, LABEL_NAME), LABEL_NAME - 1);
	strcpy(l.name, "w");
	CU_ASSERT(!put_as(&me, 3, 13));
	CU_ASSERT_STRING_EQUAL(table.extent[0].name, "w");
}

static int copy_has(int copy)
{
	static u8 buf[LAYOUT_COPY_BYTES];
	int err = record_read(d.fd, START + copy * LAYOUT_COPY_BYTES, buf, &got);

	return err ? err : (int)got.version;
}

static int counts(void)
{
	static u8 buf[LAYOUT_COPY_BYTES];

	return record_current(d.fd, &table.extent[0], buf, &got);
}

static void test_life(void)
{
	begin();
	CU_ASSERT_EQUAL(counts(), -ENODATA);
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), 0);
	CU_ASSERT(muuid_equal(&table.extent[0].holder, &me));
	CU_ASSERT_EQUAL(table.extent[0].version, 1);
	CU_ASSERT_EQUAL(table.extent[0].commit, 11);
	CU_ASSERT_EQUAL(copy_has(0), 1);
	CU_ASSERT_EQUAL(copy_has(1), 1);
	CU_ASSERT_EQUAL(put_as(&me, 2, 22), 0);
	CU_ASSERT_EQUAL(copy_has(0), 2);
	CU_ASSERT_EQUAL(copy_has(1), 2);
	CU_ASSERT_EQUAL(pushes, 2);
	/* Sent twice. */
	CU_ASSERT_EQUAL(put_as(&me, 2, 22), 0);
	CU_ASSERT_EQUAL(pushes, 2);
	/* The first time may have reached one copy of the label alone. */
	settled_err = -EIO;
	CU_ASSERT_EQUAL(put_as(&me, 2, 22), -EIO);
}

/* The label does not say so yet: what counted before is still whole. */
static void test_torn(void)
{
	begin();
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), 0);
	for (u64 i = 0; i < 3; i++) {
		label_err = -EIO;
		CU_ASSERT_EQUAL(put_as(&me, 2, 20 + i), -EIO);
		CU_ASSERT_EQUAL(counts(), 0);
		CU_ASSERT_EQUAL(got.version, 1);
		CU_ASSERT_EQUAL(copy_has(1), 2);
	}
	label_err = 0;
	CU_ASSERT_EQUAL(put_as(&me, 2, 29), 0);
	CU_ASSERT(counts() >= 0);
	CU_ASSERT_EQUAL(got.commit, 29);
	/* The same with the other copy: the first one rotted. */
	CU_ASSERT_EQUAL(pwrite(d.fd, "rot", 3, START), 3);
	CU_ASSERT_EQUAL(counts(), 1);
	label_err = -EIO;
	CU_ASSERT_EQUAL(put_as(&me, 3, 33), -EIO);
	CU_ASSERT_EQUAL(counts(), 1);
	CU_ASSERT_EQUAL(got.commit, 29);
	CU_ASSERT_EQUAL(copy_has(0), 3);
}

static void test_refused(void)
{
	begin();
	table.extent[0].state = LABEL_ZEROING;
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), -EAGAIN);
	table.extent[0].state = LABEL_READY;
	l.member[0].extent = other;
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), -EINVAL);
	l.member[0].extent = ext;
	l.volume = other;
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), -EINVAL);
	l.volume = vol;
	table.extent[0].volume = other;
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), -EPERM);
	table.extent[0].volume = vol;
	CU_ASSERT_EQUAL(put_as(&me, 5, 11), 0);
	CU_ASSERT_EQUAL(put_as(&other, 6, 12), -EBUSY);
	CU_ASSERT_EQUAL(put_as(&me, 5, 12), -ESTALE);
	CU_ASSERT_EQUAL(put_as(&me, 4, 12), -ESTALE);
	table.extent[0].uuid = other;
	CU_ASSERT_EQUAL(put_as(&me, 6, 12), -ENOENT);
	CU_ASSERT_EQUAL(table.extent[0].version, 5);
}

static void test_believed(void)
{
	struct mgmt_req q = { .op = MGMT_RECORD_PUT, .extent = ext, .volume = vol, .record = &l };
	char why[MGMT_REASON];

	begin();
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), 0);
	l.version = 2;
	l.commit = 22;
	for (int i = 0; i < 4; i++) {
		q.believed = (struct mgmt_believed) { me, 1, 11 };
		if (i == 0)
			q.believed.holder = other;
		else if (i == 1)
			q.believed.version = 0;
		else if (i == 2)
			q.believed.commit = 12;
		CU_ASSERT_EQUAL(record_put(&d, &q, &me, why), i == 3 ? 0 : -ESTALE);
	}
}

/* Another host has the drive by now: what stands where the extent was is its own. */
static void test_taken_over(void)
{
	static u8 was[MIB], is[MIB];

	begin();
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), 0);
	memset(was, 0x5a, sizeof(was));
	CU_ASSERT_EQUAL(pwrite(d.fd, was, MIB, START), (ssize_t)MIB);
	label_err = current_err = -EBADE;
	CU_ASSERT_EQUAL(put_as(&me, 2, 22), -EBADE);
	CU_ASSERT_EQUAL(pread(d.fd, is, MIB, START), (ssize_t)MIB);
	CU_ASSERT(!memcmp(was, is, MIB));
	CU_ASSERT_EQUAL(table.extent[0].version, 1);
}

/* A record that names another volume or extent does not count, whatever it says. */
static void test_counts(void)
{
	begin();
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), 0);
	table.extent[0].volume = other;
	CU_ASSERT_EQUAL(counts(), -ENODATA);
	table.extent[0].volume = vol;
	table.extent[0].uuid = other;
	CU_ASSERT_EQUAL(counts(), -ENODATA);
	table.extent[0].uuid = ext;
	table.extent[0].commit = 12;
	CU_ASSERT_EQUAL(counts(), -ENODATA);
	table.extent[0].commit = 11;
	CU_ASSERT_EQUAL(counts(), 0);
	table.extent[0].version = 0;
	CU_ASSERT_EQUAL(counts(), -ENODATA);
}

/* What cannot be read may be the record, whichever copy it is, and whatever the other one is. */
static void test_bad_block(void)
{
	begin();
	CU_ASSERT_EQUAL(put_as(&me, 1, 11), 0);
	bad_reads = 1;
	CU_ASSERT_EQUAL(counts(), 1);
	bad_reads = 2;
	CU_ASSERT_EQUAL(counts(), 0);
	bad_reads = 3;
	CU_ASSERT_EQUAL(counts(), -EIO);
	table.extent[0].commit = 12;
	for (bad_reads = 1; bad_reads <= 3; bad_reads++)
		CU_ASSERT_EQUAL(counts(), -EIO);
	bad_reads = 0;
	CU_ASSERT_EQUAL(counts(), -ENODATA);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "life", test_life },
		{ "torn", test_torn },
		{ "refused", test_refused },
		{ "believed", test_believed },
		{ "renamed", test_renamed },
		{ "which counts", test_counts },
		{ "a bad block", test_bad_block },
		{ "taken over", test_taken_over },
		{ NULL, NULL },
	};

	return suite_main("record_put", tests);
}
