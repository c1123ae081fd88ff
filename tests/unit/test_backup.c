// SPDX-License-Identifier: GPL-2.0-only
/* Backups of labels in a state folder. */
#define _GNU_SOURCE
#include <linux/kernel.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t test_write(int fd, const void *buf, size_t n);

static int test_fsync(int fd);
static int test_rename(const char *from, const char *to);

#define write	test_write
#define fsync	test_fsync
#define rename	test_rename
#include "userspace/meshd/durable.c"
#include "userspace/meshd/backup.c"
#undef write
#undef fsync
#undef rename
#include "userspace/libmesh/grow.c"
#include "suite.h"

struct meshd D;
static char folder[] = "/tmp/meshd-backup-XXXXXX";
static const struct muuid id = { { 5 } };
static struct tdrive d = { .uuid = { { 5 } }, .path = "/dev/test" };
static struct label l, kept;
static bool full;
static size_t at_once = SIZE_MAX;	/* bytes that a write takes */
static char steps[32];			/* f: a file is synced, d: a folder, r: renamed */

static void step(char c)
{
	size_t n = strlen(steps);

	if (n + 1 < sizeof(steps))
		steps[n] = c;
}

static int test_fsync(int fd)
{
	struct stat st;

	step(!fstat(fd, &st) && S_ISDIR(st.st_mode) ? 'd' : 'f');
	return fsync(fd);
}

static int test_rename(const char *from, const char *to)
{
	step('r');
	return rename(from, to);
}

static bool home, written_home;		/* the drive's job is said to wait for the folder; while it did */
static u64 clock_ms = 1;

static ssize_t test_write(int fd, const void *buf, size_t n)
{
	written_home = home;
	if (!full)
		return write(fd, buf, n < at_once ? n : at_once);
	errno = ENOSPC;
	return -1;
}

void log_error(const char *fmt, ...) { (void)fmt; }
void log_warn(const char *fmt, ...) { (void)fmt; }
void log_debug(const char *fmt, ...) { (void)fmt; }
u64 now_ms(void) { return clock_ms; }
void tdrive_home_begin(struct tdrive *t) { (void)t; home = true; }
void tdrive_home_end(struct tdrive *t) { (void)t; home = false; }

static void wrote(u64 sequence)
{
	l.sequence = sequence;
	backup_label(&d, &l, true);
}

static u64 reads(void)
{
	return backup_read(&id, &kept) ? 0 : kept.sequence;
}

static int clean(const char *what)
{
	char run[300];

	snprintf(run, sizeof(run), "rm -rf %s%s", folder, what);
	return system(run);
}

static void begin(void)
{
	full = false;
	CU_ASSERT_EQUAL(clean("/labels"), 0);
	l = (struct label) { .drive = id, .size = 64ULL << 20, .lba = 512 };
}

/* What the drive was seen at counts against an older state of it. */
static void test_newer(void)
{
	char path[256];

	begin();
	l.sequence = 12;
	CU_ASSERT_EQUAL(backup_newer(&l), 0);		/* no backup */
	wrote(57);
	CU_ASSERT_EQUAL(backup_newer(&l), 0);
	l.sequence = 58;
	CU_ASSERT_EQUAL(backup_newer(&l), 0);
	l.sequence = 56;
	CU_ASSERT_EQUAL(backup_newer(&l), 57);
	l.sequence = 12;
	CU_ASSERT_EQUAL(backup_newer(&l), 57);
	/* Taken up by hand: what was known of it is kept through all that follows. */
	backup_aside(&id);
	/* The label's write may fail: then the drive is as old as before. */
	CU_ASSERT_EQUAL(backup_newer(&l), 57);
	backup_aside(&id);
	wrote(58);
	wrote(59);
	wrote(60);
	CU_ASSERT_EQUAL(reads(), 60);
	snprintf(path, sizeof(path), "%s/labels/05000000-0000-0000-0000-000000000000.newer", folder);
	CU_ASSERT_EQUAL(access(path, R_OK), 0);
}

/* Files were copied: a backup that names another drive is not this one's. */
static void test_other_name(void)
{
	const struct muuid other = { { 6 } };
	char from[256], to[256];

	begin();
	wrote(5);
	file_of(from, sizeof(from), &id, "");
	file_of(to, sizeof(to), &other, "");
	CU_ASSERT_EQUAL(rename(from, to), 0);
	CU_ASSERT(backup_read(&other, &kept) < 0);
	CU_ASSERT(backup_read(&id, &kept) < 0);
}

/* The copy that alone has it rots: what the other one has is not older than the backup. */
static void test_half(void)
{
	begin();
	wrote(56);
	d.sick = true;
	wrote(57);
	d.backup_due = true;
	d.label = &l;
	backup_idle(&d);
	CU_ASSERT_EQUAL(reads(), 56);
	l.sequence = 56;
	CU_ASSERT_EQUAL(backup_newer(&l), 0);
	d.sick = false;
	l.sequence = 58;
	backup_label(&d, &l, false);
	CU_ASSERT_EQUAL(reads(), 58);
	/* The same when nothing else is written. */
	d.sick = true;
	wrote(59);
	d.sick = false;
	backup_idle(&d);
	CU_ASSERT_EQUAL(reads(), 59);
	CU_ASSERT(!d.backup_due);
}

static size_t listed(void)
{
	struct muuid *all;
	size_t n, i, is = 0;

	all = backup_list(&n);
	for (i = 0; i < n; i++)
		is += muuid_equal(&all[i], &id);
	CU_ASSERT_EQUAL(n, is);
	free(all);
	return n;
}

/* The last backup that could be written is still the drive's backup. */
static void test_full(void)
{
	char path[256];

	begin();
	wrote(1);
	wrote(2);
	CU_ASSERT_EQUAL(listed(), 1);
	full = true;
	wrote(3);
	wrote(4);
	CU_ASSERT_EQUAL(reads(), 2);
	CU_ASSERT_EQUAL(listed(), 1);
	full = false;
	wrote(5);
	CU_ASSERT_EQUAL(reads(), 5);
	file_of(path, sizeof(path), &id, "");
	CU_ASSERT_EQUAL(unlink(path), 0);	/* between the two renames */
	CU_ASSERT_EQUAL(reads(), 2);
	CU_ASSERT_EQUAL(listed(), 1);
}

/* What a device was before it was erased is no drive's backup any more, but is kept. */
static void test_erased(void)
{
	static const char *const suffixes[] = { ".erased", ".old.erased", ".device.erased" };
	const struct twin_id was = { .wwid = "w" }, another = { .wwid = "x" };
	struct twin_id noted;
	char path[256];

	begin();
	wrote(1);
	wrote(2);
	CU_ASSERT_EQUAL(device_note(&id, &was), 0);
	CU_ASSERT_EQUAL(backup_erased(&another), 0);
	CU_ASSERT(reads() == 2 && !device_noted(&id, &noted));
	/* Where it cannot be moved. */
	file_of(path, sizeof(path), &id, ".erased");
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
	CU_ASSERT(backup_erased(&was) < 0);
	CU_ASSERT_EQUAL(reads(), 2);
	CU_ASSERT_EQUAL(rmdir(path), 0);
	CU_ASSERT_EQUAL(backup_erased(&was), 0);
	CU_ASSERT_EQUAL(listed(), 0);
	CU_ASSERT(backup_read(&id, &kept) < 0 && device_noted(&id, &noted) < 0);
	for (size_t i = 0; i < 3; i++) {
		file_of(path, sizeof(path), &id, suffixes[i]);
		CU_ASSERT_EQUAL(access(path, R_OK), 0);
	}
}

/* A folder's entries are durable once it is synced itself, after they were made. */
static void test_durable(void)
{
	begin();
	memset(steps, 0, sizeof(steps));
	CU_ASSERT_EQUAL(unexported_note(&id), 0);
	CU_ASSERT_STRING_EQUAL(steps, "dfrd");
	memset(steps, 0, sizeof(steps));
	CU_ASSERT_EQUAL(unexported_note(&id), 0);
	CU_ASSERT_STRING_EQUAL(steps, "frd");
	/* Not all at once, and no error of another call. */
	at_once = 100;
	wrote(7);
	CU_ASSERT_EQUAL(reads(), 7);
	at_once = 0;
	errno = ENOENT;
	CU_ASSERT_EQUAL(device_note(&id, &(struct twin_id) { .wwid = "w" }), -EIO);
	at_once = SIZE_MAX;
}

/* The host's own disk may hang: that is no silence of the drive. */
static void test_home(void)
{
	begin();
	written_home = false;
	wrote(5);
	CU_ASSERT_EQUAL(reads(), 5);
	CU_ASSERT(written_home && !home);
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "newer", test_newer },
		{ "another drive's", test_other_name },
		{ "one copy alone", test_half },
		{ "no space", test_full },
		{ "erased", test_erased },
		{ "durable", test_durable },
		{ "written as the state folder's", test_home },
		{ NULL, NULL },
	};
	int err;

	D.state = mkdtemp(folder);
	err = suite_main("backup", tests);
	return clean("") ? 2 : err;
}
