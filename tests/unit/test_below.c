// SPDX-License-Identifier: GPL-2.0-only
/* A network among what a device stands on is found in sysfs: trees as kernels make them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/statfs.h>
#include <unistd.h>

static unsigned int fs_type;

static int test_statfs(const char *path, struct statfs *fs)
{
	(void)path;
	fs->f_type = fs_type;
	return 0;
}

#define statfs(path, fs)	test_statfs(path, fs)
#include "userspace/machine/below.c"
#undef statfs
#include "suite.h"

static char top[] = "/tmp/below.XXXXXX";

int read_line(char *out, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	f = fopen(path, "r");
	if (!f || !fgets(out, size, f))
		out[0] = 0;
	if (f)
		fclose(f);
	out[strcspn(out, "\n")] = 0;
	return f ? 0 : -ENOENT;
}

/* A folder of the tree with all above it. */
static void folder(const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	size_t at;
	int n = snprintf(path, sizeof(path), "%s/", top);

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - n, fmt, ap);
	va_end(ap);
	for (at = n; path[at]; at++) {
		if (path[at] != '/')
			continue;
		path[at] = 0;
		mkdir(path, 0755);
		path[at] = '/';
	}
	mkdir(path, 0755);
	CU_ASSERT_FATAL(!access(path, F_OK));
}

static void file(const char *text, const char *at)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, at);
	f = fopen(path, "w");
	CU_ASSERT_FATAL(!!f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

/* A link from one place of the tree to another. */
static void leads(const char *from, const char *to)
{
	char path[PATH_MAX], target[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, from);
	snprintf(target, sizeof(target), "%s/%s", top, to);
	CU_ASSERT_FATAL(!symlink(target, path));
}

/* A block device in the folder @at, whose last part is its name. */
static void block(const char *at)
{
	char class[PATH_MAX];

	folder("%s/slaves", at);
	snprintf(class, sizeof(class), "class/block/%s", strrchr(at, '/') + 1);
	leads(class, at);
}

static void on(const char *at, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];

	snprintf(from, sizeof(from), "%s/slaves/%s", at, name);
	snprintf(to, sizeof(to), "class/block/%s", name);
	leads(from, to);
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void begin(void)
{
	strcpy(top + strlen(top) - 6, "XXXXXX");
	CU_ASSERT_FATAL(!!mkdtemp(top));
	folder("class/block");
	folder("dev/block");
	fs_type = 0;
}

static void end(void)
{
	nftw(top, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *network(const char *name)
{
	static char what[64];

	CU_ASSERT_EQUAL(below_network(top, name, what, sizeof(what)), !!what[0]);
	return what;
}

#define NET(name, want)	CU_ASSERT_STRING_EQUAL(network(name), want)

#define PCI	"devices/pci0000:00/0000:00:04.0"

/* Without native multipath a namespace is its controller's. */
static void test_controller(void)
{
	begin();
	block(PCI "/nvme/nvme0/nvme0n1");
	file("pcie", PCI "/nvme/nvme0/transport");
	leads(PCI "/nvme/nvme0/nvme0n1/device", PCI "/nvme/nvme0");
	NET("nvme0n1", "");
	block(PCI "/nvme/nvme0/nvme0n1/nvme0n1p1");
	file("1", PCI "/nvme/nvme0/nvme0n1/nvme0n1p1/partition");
	NET("nvme0n1p1", "");
	file("rdma", PCI "/nvme/nvme0/transport");
	NET("nvme0n1", "NVMe over rdma");
	NET("nvme0n1p1", "NVMe over rdma");
	end();
}

#define SUBSYS	"devices/virtual/nvme-subsystem/nvme-subsys1"
#define CTL	"devices/virtual/nvme-fabrics/ctl"

/* With it the paths say how it is reached. */
static void test_multipath(void)
{
	begin();
	block(SUBSYS "/nvme1n1");
	leads(SUBSYS "/nvme1n1/device", SUBSYS);
	NET("nvme1n1", "NVMe without a controller");
	folder(PCI "/nvme/nvme1");
	file("pcie", PCI "/nvme/nvme1/transport");
	leads(SUBSYS "/nvme1", PCI "/nvme/nvme1");
	NET("nvme1n1", "");
	folder(CTL "/nvme2");
	file("tcp", CTL "/nvme2/transport");
	leads(SUBSYS "/nvme2", CTL "/nvme2");
	NET("nvme1n1", "NVMe over tcp");
	/* A volume group on a partition of it. */
	block(SUBSYS "/nvme1n1/nvme1n1p3");
	file("3", SUBSYS "/nvme1n1/nvme1n1p3/partition");
	block("devices/virtual/block/dm-0");
	on("devices/virtual/block/dm-0", "nvme1n1p3");
	NET("dm-0", "NVMe over tcp");
	end();
}

#define HOST	PCI "/host6"

static void test_scsi(void)
{
	begin();
	block(HOST "/target6:0:0/6:0:0:0/block/sda");
	leads(HOST "/target6:0:0/6:0:0:0/block/sda/device", HOST "/target6:0:0/6:0:0:0");
	folder(HOST "/scsi_host/host6");
	file("megaraid_sas", HOST "/scsi_host/host6/proc_name");
	NET("sda", "");
	file("ib_srp", HOST "/scsi_host/host6/proc_name");
	NET("sda", "SRP");
	block("devices/platform/host7/session1/target7:0:0/7:0:0:1/block/sdb");
	leads("devices/platform/host7/session1/target7:0:0/7:0:0:1/block/sdb/device",
	      "devices/platform/host7/session1/target7:0:0/7:0:0:1");
	NET("sdb", "iSCSI or Fibre Channel");
	block(PCI "/host8/rport-8:0-1/target8:0:0/8:0:0:0/block/sdc");
	leads(PCI "/host8/rport-8:0-1/target8:0:0/8:0:0:0/block/sdc/device",
	      PCI "/host8/rport-8:0-1/target8:0:0/8:0:0:0");
	NET("sdc", "iSCSI or Fibre Channel");
	/* Multipath over two of them, in an array, under a map. */
	block("devices/virtual/block/dm-1");
	on("devices/virtual/block/dm-1", "sdc");
	block("devices/virtual/block/md127");
	on("devices/virtual/block/md127", "dm-1");
	block("devices/virtual/block/dm-2");
	on("devices/virtual/block/dm-2", "md127");
	NET("dm-2", "iSCSI or Fibre Channel");
	end();
}

static void test_drivers(void)
{
	static const struct {
		const char *name, *want;
	} all[] = {
		{ "nbd0", "nbd" }, { "rbd3", "rbd" }, { "drbd1", "drbd" }, { "rnbd0", "rnbd" },
		{ "etherd!e0.1", "ATA over Ethernet" }, { "ublkb0", "a program's disk, ublk" },
		{ "mesh0", "meshblk" }, { "vda", "" }, { "ram0", "" }, { "pmem0", "" }, { "mmcblk0", "" },
	};
	char at[PATH_MAX], dm[PATH_MAX];
	size_t i;

	begin();
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		snprintf(at, sizeof(at), "devices/virtual/block/%s", all[i].name);
		block(at);
		NET(all[i].name, all[i].want);
		snprintf(dm, sizeof(dm), "devices/virtual/block/dm-%zu", i);
		block(dm);
		on(dm, all[i].name);
		NET(strrchr(dm, '/') + 1, all[i].want);
		CU_ASSERT_EQUAL(below_volume(top, strrchr(dm, '/') + 1), !strcmp(all[i].name, "mesh0"));
	}
	end();
}

/* A loop device is its file's file system, and the disk of that. */
static void test_loop(void)
{
	char backing[PATH_MAX], number[64];
	struct stat st;

	begin();
	block("devices/virtual/block/loop0");
	folder("devices/virtual/block/loop0/loop");
	file("x", "image");
	snprintf(backing, sizeof(backing), "%s/image", top);
	file(backing, "devices/virtual/block/loop0/loop/backing_file");
	NET("loop0", "");
	fs_type = NFS_SUPER_MAGIC;
	NET("loop0", "a file on a network");
	fs_type = 0;
	block("devices/virtual/block/nbd5");
	CU_ASSERT_FATAL(!stat(backing, &st));
	snprintf(number, sizeof(number), "dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
	leads(number, "devices/virtual/block/nbd5");
	NET("loop0", "nbd");
	end();
}

/* A stack that does not end is no local disk. */
static void test_deep(void)
{
	char at[PATH_MAX];
	int i;

	begin();
	block("devices/virtual/block/dm-0");
	for (i = 1; i < 40; i++) {
		snprintf(at, sizeof(at), "devices/virtual/block/dm-%d", i);
		block(at);
		snprintf(at + 512, 64, "dm-%d", i - 1);
		on(at, at + 512);
	}
	NET("dm-10", "");
	CU_ASSERT(!below_volume(top, "dm-10"));
	CU_ASSERT(!!strstr(network("dm-39"), "too many"));
	CU_ASSERT(below_volume(top, "dm-39"));
	end();
}

int main(void)
{
	static const struct suite_test tests[] = {
		{ "an NVMe controller", test_controller },
		{ "NVMe multipath", test_multipath },
		{ "SCSI", test_scsi },
		{ "drivers", test_drivers },
		{ "loop", test_loop },
		{ "deep", test_deep },
		{ NULL, NULL },
	};

	return suite_main("below", tests);
}
