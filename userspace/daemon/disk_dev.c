// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <limits.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/daemon/disk_dev.h"
#include "userspace/machine/below.h"
#include "userspace/machine/guard.h"

int disk_dev_open(const char *path, int flags, struct disk_dev *dev)
{
	unsigned int lba = 0;
	char real[PATH_MAX];
	struct stat st;
	int fd;

	memset(dev, 0, sizeof(*dev));
	if (!realpath(path, real) || stat(real, &st))
		return -errno;
	if (!S_ISBLK(st.st_mode))
		return -ENOTBLK;
	/* Without udev a node is called otherwise than its device: /dev/mapper/NAME. */
	if (!below_name(SYSFS, st.st_rdev, dev->name, sizeof(dev->name)))
		snprintf(dev->name, sizeof(dev->name), "%.63s", strrchr(real, '/') + 1);
	fd = open(real, flags | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return errno == EBUSY ? -ETXTBSY : -errno;
	if (ioctl(fd, BLKGETSIZE64, &dev->size))
		dev->size = 0;
	if (!ioctl(fd, BLKSSZGET, &lba))
		dev->lba = lba;
	if (ioctl(fd, BLKGETDISKSEQ, &dev->number))
		dev->number = 0;
	return fd;
}

static int write_zeroes(int fd, u64 at, u64 n)
{
	static const size_t piece = 1 << 20;
	void *buf __free(free) = aligned_alloc(4096, piece);

	if (!buf)
		return -ENOMEM;
	memset(buf, 0, piece);
	for (; n; at += piece, n -= piece) {
		errno = 0;
		if (pwrite(fd, buf, piece, at) != (ssize_t)piece)
			return errno ? -errno : -EIO;
	}
	return 0;
}

/*
 * A discard promises nothing: a drive may keep what it likes. The block layer's own promise counts,
 * that what was punched reads zero: Write Zeroes that may deallocate where the drive has it, or
 * refused; then zeroes that may be written by the drive or by the kernel; then by this program.
 */
int disk_dev_zero(int fd, u64 at, u64 n)
{
	u64 range[2] = { at, n };

	if (!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n))
		return 0;
	if (!ioctl(fd, BLKZEROOUT, range))
		return 0;
	return write_zeroes(fd, at, n);
}

unsigned int disk_dev_metadata(int fd)
{
	struct nvme_id_ns *ns __free(free) = NULL;
	u32 nsid;

	if (nvme_get_nsid(fd, &nsid))
		return 0;
	ns = aligned_alloc(4096, sizeof(*ns));
	if (!ns || nvme_identify_ns(fd, nsid, ns))
		return 0;
	return le16toh(ns->lbaf[ns->flbas & 15].ms);
}

/* A counter of 128 bits; no drive reaches the upper half. */
static u64 low_half(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	v = le64toh(v);
	return v > INT64_MAX ? INT64_MAX : v;
}

void disk_dev_smart(int fd, struct obj_smart *out)
{
	struct nvme_smart_log log;
	int kelvin;

	memset(out, 0, sizeof(*out));
	if (nvme_get_log_smart(fd, NVME_NSID_ALL, true, &log))
		return;
	kelvin = log.temperature[0] | log.temperature[1] << 8;
	out->known = true;
	out->warning = log.critical_warning;
	out->temperature = kelvin > 273 ? kelvin - 273 : 0;
	out->used = log.percent_used;
	out->spare = log.avail_spare;
	out->media_errors = low_half(log.media_errors);
}

void disk_dev_cache_off(int fd, const char *name)
{
	u32 result;

	if (!strncmp(name, "nvme", 4))
		(void)nvme_set_features_volatile_wc(fd, false, false, &result);
}
