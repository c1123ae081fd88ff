/* SPDX-License-Identifier: GPL-2.0-only */
/* Exclusive opens of a block device: a file on 6.12, the device itself on 6.1. */
#ifndef DRIVER_COMPAT_BDEV_H
#define DRIVER_COMPAT_BDEV_H

#include <linux/blkdev.h>
#include <linux/err.h>

/* An exclusively opened block device, by the handle that the kernel has for it. */
struct mesh_bdev_handle {
	struct block_device *bdev;
#ifdef BLK_OPEN_READ
	struct file *file;
#else
	fmode_t mode;
#endif
};

static inline int mesh_compat_open_bdev(struct mesh_bdev_handle *h, const char *path,
					bool rw, void *holder)
{
#ifdef BLK_OPEN_READ
	struct file *file = bdev_file_open_by_path(path, BLK_OPEN_READ | (rw ? BLK_OPEN_WRITE : 0),
						   holder, NULL);

	if (IS_ERR(file))
		return PTR_ERR(file);
	h->file = file;
	h->bdev = file_bdev(file);
#else
	struct block_device *bdev;

	h->mode = FMODE_READ | FMODE_EXCL | (rw ? FMODE_WRITE : 0);
	bdev = blkdev_get_by_path(path, h->mode, holder);
	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	h->bdev = bdev;
#endif
	return 0;
}

/* The device is free for others when this returns. Sleeps. */
static inline void mesh_compat_close_bdev(struct mesh_bdev_handle *h)
{
#ifdef BLK_OPEN_READ
	bdev_fput(h->file);
#else
	blkdev_put(h->bdev, h->mode);
#endif
	h->bdev = NULL;
}

#endif
