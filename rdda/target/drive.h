/* SPDX-License-Identifier: GPL-2.0-only */
/* Exported drives, and the turns that sessions take on them. */
#ifndef TGT_DRIVE_H
#define TGT_DRIVE_H

#include <linux/blkdev.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "driver/compat/bdev.h"

struct netlink_ext_ack;
struct tgt_cmd;
struct tgt_sdrive;

#define TGT_DRIVE_CAP	(8 << 20)	/* bytes with a device before sessions take turns */

enum tgt_drive_state {
	TGT_DRIVE_UP,
	TGT_DRIVE_GONE,
};

/**
 * struct tgt_drive - a block device that is exported
 * @ref: the list, sdrives and netlink hold it
 * @node: in tgt_drives; tgt_lock
 * @uuid: from its label
 * @host: host UUID of this target when it was given the table; tgt_lock
 * @path: as meshd gave it
 * @handle: how @bd was opened
 * @bd: held exclusively
 * @lba_shift: 9 or 12
 * @cost_min: what the smallest command counts for; keeps the device's tags from
 *	running out, which would make a submitter of other drives' commands sleep
 * @close: gives @bd back
 * @closed: completed by it, may be NULL; tgt_lock
 * @state: written under tgt_lock
 * @removing: DRIVE_DEL is at work; tgt_lock
 * @extents: by start; tgt_lock
 * @sdrives: sessions that use it; tgt_lock
 * @waiters: for views to be gone; tgt_lock
 * @inflight: bytes given to the device
 * @waiting: commands queued; written under sched_lock
 * @sched_lock: @turns and what hangs there
 * @turns: sdrives with queued commands, round robin
 * @dispatch: submits them
 * @slow: commands that take several bios; sched_lock
 */
struct tgt_drive {
	struct kref		ref;
	struct list_head	node;
	uuid_t			uuid;
	uuid_t			host;
	char			*path;
	struct mesh_bdev_handle	handle;
	struct block_device	*bd;
	u32			lba_shift;
	u32			cost_min;
	struct work_struct	close;
	struct completion	*closed;
	enum tgt_drive_state	state;
	bool			removing;
	struct list_head	extents;
	struct list_head	sdrives;
	struct list_head	waiters;
	atomic64_t		inflight ____cacheline_aligned_in_smp;
	unsigned int		waiting;
	spinlock_t		sched_lock;	/* waiting, turns, slow */
	struct list_head	turns;
	struct list_head	slow;
	struct work_struct	dispatch;
};

extern struct list_head tgt_drives;
struct tgt_drive *tgt_drive_find(const uuid_t *uuid);
void tgt_drive_put(struct tgt_drive *d);
int tgt_drive_add(const uuid_t *uuid, const char *path, struct list_head *extents,
		  struct netlink_ext_ack *extack);
int tgt_drive_del(const uuid_t *uuid, bool force, struct netlink_ext_ack *extack);
int tgt_table_check(const struct tgt_drive *d, const struct list_head *extents,
		    struct netlink_ext_ack *extack);
bool tgt_drive_there(const struct tgt_drive *d);
void tgt_drive_check(struct tgt_drive *d);
int tgt_drive_init(void);
void tgt_drive_exit(void);

/* sched.c */
void tgt_sched_submit(struct tgt_cmd *c);
void tgt_sched_done(struct tgt_drive *d, u32 cost);
void tgt_sched_slow(struct tgt_drive *d, struct tgt_cmd *c);
void tgt_sched_work(struct work_struct *work);
void tgt_sched_purge(struct tgt_sdrive *sd);

#endif
