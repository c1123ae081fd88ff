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
#include "userspace/machine/label_io.c"
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
static bool force, dry, signature;

/* The rest of meshd */

void log_warn(const char *fmt, ...) { (void)fmt; }
struct label *tdrive_edit(struct tdrive *d) { (void)d; return NULL; }
int tdrive_commit(struct tdrive *d, struct label *l) { (void)d, (void)l; return -ENOSYS; }
int tdrive_settled(struct tdrive *d) { (void)d; return -ENOSYS; }
int tdrive_current(struct tdrive *d) { (void)d; return -ENOSYS; }
int tdrive_push(struct tdrive *d) { (void)d; return -ENOSYS; }
u64 now_ms(void) { return 1; }
void uuid_random(struct muuid *u) { memset(u, 7, sizeof(*u)); }
void export_rescan(void) { }
void probe_clear(struct probe *p) { (void)p; }

static struct tdrive served;	/* by this host, if it has a path */
static int forgotten;

struct tdrive *tdrive_by_path(const char *path) { return strcmp(path, served.path) ? NULL : &served; }
void tdrive_put(struct tdrive *d) { (void)d; }
void unexported_forget(const struct muuid *u) { forgotten += muuid_equal(u, &drive); }

int take_probe(const char *path, struct probe *p)
{
	(void)path;
	p->verdict = PROBE_EXPORTED;
	return served.path[0] ? 0 : -ENOSYS;
}

bool probe_same_disk(const struct probe *p, int disk) { (void)p, (void)disk; return true; }
void req_note(struct req *q, const char *fmt, ...) { (void)q, (void)fmt; }
bool req_cancelled(const struct req *q) { (void)q; return false; }
const char *arg_str(const struct req *q, const char *key) { (void)q, (void)key; return ""; }

bool arg_bool(const struct req *q, const char *key)
{
	(void)q;
	return !strcmp(key, "force") ? force : dry;
}

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
	(void)path;
	snprintf(what, size, "xfs");
	return signature;
}

static bool erased;		/* the device was another drive, too, without extents here */

int backup_read(const struct muuid *u, struct label *l)
{
	*l = backup;
	l->drive = *u;
	if (!muuid_equal(u, &drive))
		l->extents = 0;
	return 0;
}

struct muuid *backup_list(size_t *n)
{
	struct muuid *all = malloc(2 * sizeof(*all));

	*n = erased ? 2 : 1;
	all[0] = drive;
	all[1] = (struct muuid) { { 6 } };
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
	l.segment[0] = (struct layout_segment) { .length = MIB, .level = PROT_LINEAR,
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

static const char *unserved = "";	/* why the kernel would not export the device */

static int restore_it(void)
{
	struct probe p = { .path = "/dev/test", .id = { .wwid = "w" } };
	struct work w = { .r = &r, .fd = -1, .size = SIZE };
	struct label_disk disk;
	int each[2], err;

	r = (struct req) { .status = 0 };
	strcpy(p.unserved, unserved);
	CU_ASSERT_EQUAL(work_begin(&w, &p), -ENOENT);	/* no such device: the file is it */
	w.fd = dup(fd);
	err = restore(&w, &p);
	work_free(&w);
	json_decref(r.result);
	bad_at = -1;
	if (!err && !dry)
		CU_ASSERT_EQUAL(label_read(fd, SIZE, &out, &disk, each), 0);
	return err;
}

static u8 was[SIZE];

static void remember(void)
{
	CU_ASSERT_EQUAL(pread(fd, was, SIZE, 0), (ssize_t)SIZE);
}

static bool untouched(void)
{
	static u8 is[SIZE];

	CU_ASSERT_EQUAL(pread(fd, is, SIZE, 0), (ssize_t)SIZE);
	return !memcmp(was, is, SIZE);
}

/* It is written with --force, and neither without nor by a dry run, which says why. */
static void forced(const char *words)
{
	remember();
	CU_ASSERT_EQUAL(restore_it(), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, words));
	CU_ASSERT(untouched());
	for (int i = 0; i < 2; i++) {
		dry = true;
		force = i;
		CU_ASSERT_EQUAL(restore_it(), 0);
		CU_ASSERT(untouched());
		dry = false;
	}
	CU_ASSERT_EQUAL(restore_it(), 0);
	CU_ASSERT(!untouched());
	force = false;
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

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		begin();
		remember();
		bad_at = at[i];
		CU_ASSERT_EQUAL(restore_it(), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "cannot be read now"));
		CU_ASSERT(untouched());
	}
}

/* The label of @of at @sequence, as one copy. */
static void put_copy(int copy, const struct muuid *of, u64 sequence)
{
	static struct label l;
	static u8 buf[LABEL_AREA];
	int n;

	l = backup;
	l.drive = *of;
	l.sequence = sequence;
	n = label_encode(&l, buf, sizeof(buf));
	CU_ASSERT_FATAL(n > 0);
	CU_ASSERT_EQUAL(pwrite(fd, buf, n, copy ? SIZE - MIB : 0), n);
}

static void rot(int copy)
{
	CU_ASSERT_EQUAL(pwrite(fd, "rot", 3, (copy ? SIZE - MIB : 0) + sizeof(struct label_disk_head)), 3);
}

/* One copy that is whole is the label, and nothing is to be restored. */
static void test_readable(void)
{
	for (int copy = 0; copy < 2; copy++) {
		begin();
		put_copy(0, &drive, 57);
		put_copy(1, &drive, 57);
		rot(copy);
		remember();
		force = true;
		CU_ASSERT_EQUAL(restore_it(), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "can be read"));
		CU_ASSERT(untouched());
		force = false;
	}
}

/* It goes on above what the damaged copies were, and not above what rot made of that. */
static void test_sequence(void)
{
	for (int copy = 0; copy < 2; copy++) {
		begin();
		put_copy(copy, &drive, 57);
		put_copy(!copy, &drive, 1ULL << 50);
		rot(0);
		rot(1);
		CU_ASSERT_EQUAL(restore_it(), 0);
		CU_ASSERT_EQUAL(out.sequence, 58);
	}
}

static void test_objections(void)
{
	static const u8 none[LAYOUT_PEEK];

	begin();
	put_copy(0, &drive, 57);
	put_copy(1, &vol, 58);
	forced("labels of two drives");
	begin();
	signature = true;
	forced("carries xfs");
	signature = false;
	begin();
	for (int copy = 0; copy < LAYOUT_COPIES; copy++)
		CU_ASSERT_EQUAL(pwrite(fd, none, sizeof(none), 2 * MIB + copy * LAYOUT_COPY_BYTES),
				(ssize_t)sizeof(none));
	forced("no layout record");
}

/* It was erased and used again: no record can show which of the two it is. */
static void test_erased(void)
{
	begin();
	remember();
	force = erased = true;
	CU_ASSERT_EQUAL(restore_it(), -1);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "drive 05000000-"));
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "drive 06000000-"));
	CU_ASSERT(untouched());
	force = erased = false;
}

/* The label of a device that the kernel would refuse then. */
static void test_unserved(void)
{
	begin();
	unserved = "it carries protection information";
	remember();
	for (int i = 0; i < 4; i++) {
		dry = i & 1;
		force = i & 2;
		CU_ASSERT_EQUAL(restore_it(), -1);
		CU_ASSERT_PTR_NOT_NULL(strstr(r.error, unserved));
		CU_ASSERT(untouched());
	}
	dry = force = false;
	unserved = "";
	CU_ASSERT_EQUAL(restore_it(), 0);
}

static void test_served(void)
{
	struct probe p;

	strcpy(served.path, "/dev/test");
	for (int sick = 0; sick < 2; sick++) {
		served.sick = sick;
		CU_ASSERT_EQUAL(may_restore(&r, "/dev/test", &p), -1);
		CU_ASSERT_EQUAL(!!strstr(r.error, "written again by itself"), !sick);
		CU_ASSERT_EQUAL(!!strstr(r.error, "drive unexport /dev/test --force"), sick);
	}
	served.path[0] = 0;
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "restored", test_restored },
		{ "cannot be read", test_unread },
		{ "not to be exported", test_unserved },
		{ "can be read", test_readable },
		{ "sequence", test_sequence },
		{ "objections", test_objections },
		{ "erased", test_erased },
		{ "exported", test_served },
		{ NULL, NULL },
	};

	return suite_main("restore_label", tests);
}
