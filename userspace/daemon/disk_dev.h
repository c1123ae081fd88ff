/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What only a block device has. Tests, whose drives are files, have these functions of their own.
 */
#ifndef DAEMON_DISK_DEV_H
#define DAEMON_DISK_DEV_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "userspace/format/objects.h"

struct disk_dev {
	char	name[64];	/* in sysfs */
	u64	size;
	u32	lba;
	u64	number;		/* the kernel numbers every disk that it sees: a name may be another's later */
};

/* An fd with O_DIRECT and O_CLOEXEC beside @flags; -ENOTBLK; -ETXTBSY: held, with O_EXCL. */
int disk_dev_open(const char *path, int flags, struct disk_dev *dev);
/* The range reads as zeroes, once fsync() has returned. */
int disk_dev_zero(int fd, u64 at, u64 n);
/* Bytes of metadata in each block of an NVMe namespace. */
unsigned int disk_dev_metadata(int fd);
/* SMART values; of a device that is no NVMe none is known. */
void disk_dev_smart(int fd, struct obj_smart *out);
/* Cheap insurance: the target's writes carry FUA anyway. */
void disk_dev_cache_off(int fd, const char *name);

#endif
