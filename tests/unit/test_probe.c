// SPDX-License-Identifier: GPL-2.0-only
/* What is left of a drive of ours is distinguished from a disk that carries something else. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <linux/kernel.h>
#include <stdlib.h>
#include <unistd.h>

#include "userspace/machine/label_io.c"
#undef ALIGN
#include "userspace/meshd/probe.c"
#include "suite.h"

#define MIB	(1ULL << 20)
#define SIZE	(64 * MIB)

struct meshd D;
static const struct muuid me = { { 1 } }, id = { { 5 } };
static const char *carries;	/* what libblkid finds; NULL: nothing */
static bool noted;		/* the device was exported, says the state folder */
static int fd = -1;

blkid_probe blkid_new_probe_from_filename(const char *path) { return (void *)path; }
int blkid_probe_enable_superblocks(blkid_probe p, int on) { (void)p, (void)on; return 0; }
int blkid_probe_set_superblocks_flags(blkid_probe p, int flags) { (void)p, (void)flags; return 0; }
int blkid_probe_enable_partitions(blkid_probe p, int on) { (void)p, (void)on; return 0; }
int blkid_do_safeprobe(blkid_probe p) { (void)p; return carries ? 0 : 1; }
void blkid_free_probe(blkid_probe p) { (void)p; }

int blkid_probe_lookup_value(blkid_probe p, const char *name, const char **value, size_t *len)
{
	(void)p, (void)len;
	if (!carries || strcmp(name, "TYPE"))
		return -1;
	*value = carries;
	return 0;
}

struct muuid *backup_list_of(const struct twin_id *is, size_t *n)
{
	static const struct twin_id was = { .wwid = "w" };
	struct muuid *all = calloc(1, sizeof(*all));

	*n = noted && twin_match(&was, is) == TWIN_SAME;
	*all = id;
	return all;
}

int backup_read(const struct muuid *drive, struct label *l)
{
	(void)drive;
	l->extents = 1;
	return 0;
}

bool below_name(const char *sysfs, dev_t dev, char *name, size_t size) { (void)sysfs, (void)dev, (void)name, (void)size; return false; }
bool below_volume(const char *sysfs, const char *name) { (void)sysfs, (void)name; return false; }

bool below_network(const char *sysfs, const char *name, char *what, size_t size)
{
	(void)sysfs, (void)name, (void)size;
	what[0] = 0;
	return false;
}

static const char *unserved = "";	/* why the kernel would not export a device */
static int kernel_err;

int kernel_check(const char *path, char *why, size_t size)
{
	(void)path;
	snprintf(why, size, "%s", unserved);
	return kernel_err;
}

bool unexported_noted(const struct muuid *drive) { (void)drive; return false; }
struct tdrive *tdrive_by_path(const char *path) { (void)path; return NULL; }
void tdrive_put(struct tdrive *d) { (void)d; }
static bool local;	/* the client's kernel has the device as a member */
bool local_held(const char *path, const struct muuid *drive) { (void)path, (void)drive; return local; }

static const char *served = "";	/* the kernel's device of a drive */
struct mesh *mesh_open(void) { return malloc(1); }
void mesh_close(struct mesh *m) { free(m); }
void meshtgt_drives_free(struct meshtgt_drive *all, size_t n) { (void)n; free(all); }

int meshtgt_drives(struct mesh *m, struct meshtgt_drive **out, size_t *n)
{
	(void)m;
	*n = 1;
	*out = calloc(1, sizeof(**out));
	(*out)->uuid = id;
	strcpy((*out)->path, served);
	return 0;
}

void log_error(const char *fmt, ...) { (void)fmt; }
void log_warn(const char *fmt, ...) { (void)fmt; }

static const char *dm_uuid;	/* of what stands on others; NULL: it is no device mapper's */
static bool zoned;		/* the disk "zoned", of which "zoned1" is a partition */

int read_line(char *out, size_t size, const char *fmt, ...)
{
	char path[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (!strcmp(path, "/sys/class/block/zoned1/partition")) {
		snprintf(out, size, "1");
		return 0;
	}
	if (!strcmp(path, "/sys/class/block/zoned/queue/zoned") ||
	    !strcmp(path, "/sys/class/block/zoned1/../queue/zoned")) {
		snprintf(out, size, zoned ? "host-managed" : "none");
		return 0;
	}
	if (!dm_uuid || strcmp(path, "/sys/class/block/stacked/dm/uuid"))
		return -ENOENT;
	snprintf(out, size, "%s", dm_uuid);
	return 0;
}

/* One device stands on others. */
DIR *opendir(const char *path)
{
	int dir = open(strcmp(path, "/sys/class/block/stacked/slaves") ? path : "/", O_RDONLY | O_DIRECTORY);

	return dir < 0 ? NULL : fdopendir(dir);
}

/* A drive of this host, and @bad copies of its label with one bit flipped, as bits. */
static void begin(unsigned int bad)
{
	struct label *l = calloc(1, sizeof(*l));
	struct label_disk disk = { 0 };
	int each[2], copy;
	char c;

	if (fd >= 0)
		close(fd);
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	CU_ASSERT_FATAL(l && fd >= 0 && !ftruncate(fd, SIZE));
	*l = (struct label) { .drive = id, .owner = me, .size = SIZE, .lba = 512, .sequence = 1 };
	CU_ASSERT_FATAL(!label_write(fd, l, &disk, each));
	free(l);
	for (copy = 0; copy < 2; copy++) {
		off_t at = (copy ? SIZE - MIB : 0) + 30;

		if (!(bad & 1 << copy))
			continue;
		CU_ASSERT(pread(fd, &c, 1, at) == 1);
		c ^= 4;
		CU_ASSERT(pwrite(fd, &c, 1, at) == 1);
	}
	carries = NULL;
	noted = false;
}

/* What is said of it, and into @p what it is taken for. */
static enum probe_verdict is(u64 size)
{
	struct probe p = { .size = size, .path = "/dev/test", .name = "test", .id.wwid = "w" };

	if (!check_label(&p, fd))
		check_signature(&p);
	CU_ASSERT(p.verdict == PROBE_OURS ? !!p.label : !p.label);
	probe_clear(&p);
	return p.verdict;
}

static void wipe(void)
{
	CU_ASSERT(!ftruncate(fd, 0) && !ftruncate(fd, SIZE));
}

static void test_left(void)
{
	D.host = me;
	begin(0);
	CU_ASSERT(is(SIZE) == PROBE_OURS);
	begin(1);
	CU_ASSERT(is(SIZE) == PROBE_OURS);
	begin(3);
	CU_ASSERT(is(SIZE) == PROBE_DAMAGED);
	/* A file system over one copy, or over both where the other says nothing. */
	begin(1);
	carries = "xfs";
	CU_ASSERT(is(SIZE) == PROBE_DAMAGED);
	begin(3);
	carries = "xfs";
	CU_ASSERT(is(SIZE) == PROBE_DAMAGED);
	/* Known by its device alone. */
	begin(0);
	wipe();
	noted = true;
	CU_ASSERT(is(SIZE) == PROBE_DAMAGED);
	carries = "xfs";
	CU_ASSERT(is(SIZE) == PROBE_DAMAGED);
}

/* It has grown: its last copy is where no probe reads, and the first one is rotten. */
static void test_grown(void)
{
	begin(0);
	CU_ASSERT(!ftruncate(fd, SIZE + 16 * MIB));
	CU_ASSERT(is(SIZE + 16 * MIB) == PROBE_OURS);
	begin(1);
	CU_ASSERT(!ftruncate(fd, SIZE + 16 * MIB));
	CU_ASSERT(is(SIZE + 16 * MIB) == PROBE_DAMAGED);
}

static void test_foreign(void)
{
	begin(0);
	wipe();
	CU_ASSERT(is(SIZE) == PROBE_OK);
	carries = "xfs";
	CU_ASSERT(is(SIZE) == PROBE_FOREIGN);
}

/* No device here has that name, as if it were held: by our own kernel, as a drive that it serves. */
static void test_held(void)
{
	static const struct muuid another = { { 6 } };
	static struct label l;

	for (int i = 0; i < 4; i++) {
		bool labelled = i & 1, ours = i & 2;
		struct probe p = { .path = "/dev/no-such", .drive = id, .label = labelled ? &l : NULL };

		served = ours ? "/dev/no-such" : "/dev/other";
		check_free(&p);
		CU_ASSERT_EQUAL(p.verdict, labelled && ours ? PROBE_OK : PROBE_USED);
		CU_ASSERT_EQUAL(!!strstr(p.why, "drive unexport /dev/no-such"), ours && !labelled);
		p.drive = another;
		check_free(&p);
		CU_ASSERT_EQUAL(p.verdict, PROBE_USED);
		CU_ASSERT_EQUAL(!!strstr(p.why, "drive unexport /dev/no-such"), ours);
	}
}

/* The client's kernel would refuse a zoned one as well, after its label was written. */
static void test_zoned(void)
{
	for (int i = 0; i < 4; i++) {
		struct probe p = { .size = SIZE, .lba = 512, .path = "/dev/zoned" };

		strcpy(p.name, i & 1 ? "zoned1" : "zoned");
		zoned = i & 2;
		CU_ASSERT_EQUAL(!!check_fit(&p, -1), zoned);
		CU_ASSERT_EQUAL(p.partition, i & 1);
		CU_ASSERT_EQUAL(p.verdict, zoned ? PROBE_UNFIT : PROBE_OK);
	}
}

/* The kernel checks what would be exported, and the verdict is not changed by that. */
static void test_unserved(void)
{
	static struct label l;
	struct probe p = { .path = "/proc/self/exe" };

	unserved = "it carries protection information";
	kernel_err = -EOPNOTSUPP;
	check_free(&p);
	CU_ASSERT_EQUAL(p.verdict, PROBE_OK);
	CU_ASSERT_STRING_EQUAL(p.unserved, unserved);
	/* Without the module nothing is known. */
	p.unserved[0] = 0;
	kernel_err = -ENOPKG;
	check_free(&p);
	CU_ASSERT_STRING_EQUAL(p.unserved, "");
	/* It does not check what the client's kernel opens itself. */
	kernel_err = -EOPNOTSUPP;
	p.partition = true;
	check_free(&p);
	CU_ASSERT_STRING_EQUAL(p.unserved, "");
	p.partition = false;
	l.flags = LABEL_F_LOCAL;
	p.label = &l;
	check_free(&p);
	CU_ASSERT_STRING_EQUAL(p.unserved, "");
	kernel_err = 0;
}

/* The client's kernel holds a local drive, and that is no reason to leave it alone. */
static void test_held_local(void)
{
	static struct label l;

	for (int i = 0; i < 4; i++) {
		struct probe p = { .path = "/dev/no-such", .drive = id, .label = &l };

		l.flags = i & 1 ? LABEL_F_LOCAL : 0;
		local = i & 2;
		served = "/dev/other";
		check_free(&p);
		CU_ASSERT_EQUAL(p.verdict, i == 3 ? PROBE_OK : PROBE_USED);
	}
	local = false;
}

/* What is not found again is no local drive. */
static void test_stacked(void)
{
	char why[160];

	dm_uuid = NULL;
	CU_ASSERT(probe_searched("/dev/plain", why, sizeof(why)));
	CU_ASSERT(!probe_passed_over("/dev/plain"));
	CU_ASSERT(!probe_searched("/dev/stacked", why, sizeof(why)));
	CU_ASSERT(!!strstr(why, "stands on other devices"));
	CU_ASSERT(probe_passed_over("/dev/stacked"));
	dm_uuid = "LVM-x";
	CU_ASSERT(probe_searched("/dev/stacked", why, sizeof(why)));
	CU_ASSERT(probe_passed_over("/dev/stacked"));
	dm_uuid = "mpath-x";
	CU_ASSERT(probe_searched("/dev/stacked", why, sizeof(why)));
	CU_ASSERT(!probe_passed_over("/dev/stacked"));
	dm_uuid = NULL;
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "what is left of a label", test_left },
		{ "a drive that has grown", test_grown },
		{ "something else", test_foreign },
		{ "held", test_held },
		{ "zoned", test_zoned },
		{ "not to be exported", test_unserved },
		{ "a local drive that is held", test_held_local },
		{ "stacked on others", test_stacked },
		{ NULL, NULL },
	};

	return suite_main("probe", tests);
}
