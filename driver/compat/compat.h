/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver is written for kernel 6.12; differences in 6.1 are adapted in driver/compat/ and
 * nowhere else. probe.sh writes its results to config.h.
 */
#ifndef DRIVER_COMPAT_H
#define DRIVER_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/err.h>

#include "driver/compat/config.h"

/* The argument of queue_rqs(); rq_list_pop() takes either type. */
#ifdef HAVE_RQ_LIST
typedef struct rq_list mesh_rq_list_t;
#else
typedef struct request *mesh_rq_list_t;
#endif

/* Declares the open method @name of a disk; its disk is called @disk. */
#ifdef HAVE_DISK_OPEN
#define MESH_DISK_OPEN(name, disk) \
	static int name(struct gendisk *disk, blk_mode_t mode)
#else
#define MESH_DISK_OPEN(name, disk) \
	static int name##_disk(struct gendisk *disk, fmode_t mode); \
	static int name(struct block_device *bdev, fmode_t mode) \
	{ return name##_disk(bdev->bd_disk, mode); } \
	static int name##_disk(struct gendisk *disk, fmode_t mode)
#endif

/*
 * blk_mq_alloc_disk() with limits and features. @lim: zero fields keep their defaults. @stable:
 * pages must not change under a write. @data: queuedata.
 */
static inline struct gendisk *mesh_compat_alloc_disk(struct blk_mq_tag_set *set,
						     struct queue_limits *lim,
						     bool rotational, bool stable, void *data)
{
#if defined(HAVE_ALLOC_DISK_LIMITS) && defined(HAVE_BLK_FEATURES)
	if (rotational)
		lim->features |= BLK_FEAT_ROTATIONAL;
	if (stable)
		lim->features |= BLK_FEAT_STABLE_WRITES;
	return blk_mq_alloc_disk(set, lim, data);
#else
	struct gendisk *disk = blk_mq_alloc_disk(set, data);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, lim->logical_block_size);
	blk_queue_physical_block_size(q, lim->physical_block_size);
	blk_queue_max_hw_sectors(q, lim->max_hw_sectors);
	blk_queue_max_segments(q, lim->max_segments);
	blk_queue_max_segment_size(q, lim->max_segment_size);
	blk_queue_dma_alignment(q, lim->dma_alignment);
	blk_queue_io_min(q, lim->io_min);
	blk_queue_io_opt(q, lim->io_opt);
	blk_queue_max_discard_sectors(q, lim->max_hw_discard_sectors);
	blk_queue_max_write_zeroes_sectors(q, lim->max_write_zeroes_sectors);
	q->limits.discard_granularity = lim->discard_granularity;
	if (!rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	if (stable)
		blk_queue_flag_set(QUEUE_FLAG_STABLE_WRITES, q);
	return disk;
#endif
}

#endif
