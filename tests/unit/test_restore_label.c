// SPDX-License-Identifier: GPL-2.0-only
/* drive restore-label on a plain file of which parts cannot be read. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static off_t bad_at = -1;	/* the block that cannot be read */

static ssize_t test_pread(int fd, void *buf, size_t n, off_t at)
{
	errno = EIO;
	return bad_at >= at && bad_at < at + (off_t)n ? -1 : pread(fd, buf, n, at);
}

#define pread	test_pread
#include "userspace/meshd/label_io.c"
#define write_copy	record_write_copy
#include "userspace/meshd/record_put.c"
#undef write_copy
#include "userspace/meshd/restore_label.c"
#undef pread
#include "req_rig.h"
#include "suite.h"

#define MIB	(1ULL << 20)
#define SIZE	(32 * MIB)

struct meshd D = { .state = "/nowhere" };
static const struct muuid drive = { { 5 } }, vol = { { 3 } }, ext = { { 4 } };
static struct label backup;
static struct req r;
static int fd;

/* The rest of meshd */

void log_warn(const char *fmt, ...) { (void)fmt; }
struct label *tdrive_edit(struct tdrive *d) { (void)d; return NULL; }
int tdrive_commit(struct tdrive *d, struct label *l) { (void)d, (void)l; return -ENOSYS; }
int tdrive_settled(struct tdrive *d) { (void)d; return -ENOSYS; }
int tdrive_current(struct tdrive *d) { (void)d; return -ENOSYS; }
int tdrive_push(struct tdrive *d) { (void)d; return -ENOSYS; }
u64 now_ms(void) { return 1; }
void uuid_random(struct muuid *u) { memset(u, 7, sizeof(*u)); }
void lend_rescan(void) { }
void probe_clear(struct probe *p) { (void)p; }

static struct tdrive served;	/* by this host, if it has a path */
static int forgotten;

struct tdrive *tdrive_by_path(const char *path) { return strcmp(path, served.path) ? NULL : &served; }
void tdrive_put(struct tdrive *d) { (void)d; }
void withdrawn_forget(const struct muuid *u) { forgotten += muuid_equal(u, &drive); }

int take_probe(const char *path, struct probe *p)
{
	(void)path;
	p->verdict = PROBE_LENT;
	return served.path[0] ? 0 : -ENOSYS;
}

bool probe_same_disk(const struct probe *p, int disk) { (void)p, (void)disk; return true; }
void req_note(struct req *q, const char *fmt, ...) { (void)q, (void)fmt; }
bool req_cancelled(const struct req *q) { (void)q; return false; }
const char *arg_str(const struct req *q, const char *key) { (void)q, (void)key; return ""; }
bool arg_bool(const struct req *q, const char *key) { (void)q, (void)key; return false; }

void req_progress(struct req *q, const char *what, u64 done, u64 total)
{
	(void)q, (void)what, (void)done, (void)total;
}

bool alloc_believed(const struct label_extent *e, const struct mgmt_believed *b,
		    char why[MGMT_REASON])
{
	(void)e, (void)b, (void)why;
	return false;
}

void dry_begin(struct req *q)
{
	q->result = json_object();
}

int probe_signature(const char *path, char *what, size_t size)
{
	(void)path, (void)what, (void)size;
	return 0;
}

int backup_read(const struct muuid *u, struct label *l)
{
	(void)u;
	*l = backup;
	return 0;
}

struct muuid *backup_list(size_t *n)
{
	struct muuid *all = malloc(sizeof(*all));

	*n = 1;
	*all = drive;
	return all;
}

int device_noted(const struct muuid *u, struct twin_id *t)
{
	(void)u;
	memset(t, 0, sizeof(*t));
	strcpy(t->wwid, "w");
	return 0;
}

static void put_record(u64 version)
{
	static struct layout l;
	static u8 buf[LAYOUT_COPY_BYTES];
	int n, copy;

	memset(&l, 0, sizeof(l));
	l.volume = vol;
	strcpy(l.name, "v");
	l.version = l.commit = version;
	l.lba = 512;
	l.size = MIB;
	l.members = l.segments = l.refs = 1;
	l.member[0] = (struct layout_member) { .drive = drive, .extent = ext, .size = 4 * MIB };
	l.segment[0] = (struct layout_segment) { .length = MIB, .level = LAYOUT_LINEAR,
						 .data = 1, .groups = 1, .refs = 1 };
	l.ref[0].offset = LAYOUT_DATA;
	n = layout_encode(&l, buf, sizeof(buf));
	CU_ASSERT_FATAL(n > 0);
	for (copy = 0; copy < 2; copy++)
		CU_ASSERT_EQUAL(pwrite(fd, buf, n, 2 * MIB + copy * LAYOUT_COPY_BYTES), n);
}

/* A backup that knows version 1 of what has version 2, and a drive without a label. */
static void begin(void)
{
	if (fd > 0)
		close(fd);
	bad_at = -1;
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, SIZE));
	backup = (struct label) { .drive = drive, .owner = { { 1 } }, .size = SIZE, .lba = 512,
				  .sequence = 40, .extents = 1 };
	backup.extent[0] = (struct label_extent) { .uuid = ext, .volume = vol, .version = 1, .commit = 1,
						   .start = 2 * MIB, .length = 4 * MIB,
						   .state = LABEL_READY };
	put_record(2);
}

static struct label out;

static int restore_it(void)
{
	struct probe p = { .path = "/dev/test", .id = { .wwid = "w" } };
	struct work w = { .r = &r, .fd = -1, .size = SIZE };
	struct label_disk disk;
	int each[2], err;

	r = (struct req) { .status = 0 };
	CU_ASSERT_EQUAL(work_begin(&w, &p), -ENOENT);	/* no such device: the file is it */
	w.fd = dup(fd);
	err = restore(&w, &p);
	work_free(&w);
	json_decref(r.result);
	bad_at = -1;
	if (!err)
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &out, &disk, each), 0);
	return err;
}

static void test_restored(void)
{
	begin();
	forgotten = 0;
	CU_ASSERT_EQUAL(restore_it(), 0);
	CU_ASSERT_EQUAL(forgotten, 1);
	CU_ASSERT_EQUAL(out.sequence, 41);
	CU_ASSERT_EQUAL(out.extent[0].version, 2);
}

/* What does not answer now may be good: the label that is there, or a newer record. */
static void test_unread(void)
{
	static const off_t at[] = { 0, SIZE - MIB, 2 * MIB, 2 * MIB + LAYOUT_COPY_BYTES, 9 * MIB };
	static u8 was[SIZE], is[SIZE];

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		begin();
		CU_ASSERT_EQUAL(pread(fd, was, SIZE, 0), (ssize_t)SIZE);
		bad_at = at[i];
		CU_ASSERT_EQUAL(restore_it(), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "cannot be read now"));
		CU_ASSERT_EQUAL(pread(fd, is, SIZE, 0), (ssize_t)SIZE);
		CU_ASSERT(!memcmp(was, is, SIZE));
	}
}

static void test_served(void)
{
	struct probe p;

	strcpy(served.path, "/dev/test");
	for (int sick = 0; sick < 2; sick++) {
		served.sick = sick;
		CU_ASSERT_EQUAL(may_restore(&r, "/dev/test", &p), -1);
		CU_ASSERT_EQUAL(!!strstr(r.error, "written again by itself"), !sick);
		CU_ASSERT_EQUAL(!!strstr(r.error, "drive withdraw /dev/test --force"), sick);
	}
	served.path[0] = 0;
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "restored", test_restored },
		{ "cannot be read", test_unread },
		{ "exported", test_served },
		{ NULL, NULL },
	};

	return suite_main("restore_label", tests);
}
