/* SPDX-License-Identifier: GPL-2.0-only */
/* Exported drives, and the turns that sessions take on them. */
#ifndef TGT_DRIVE_H
#define TGT_DRIVE_H

#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/percpu_counter.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "driver/compat/bdev.h"

struct netlink_ext_ack;
struct tgt_cmd;
struct tgt_sdrive;

/*
 * The longest wait in a message's handler: other generic netlink messages may wait behind the
 * handler.
 */
#define TGT_WAIT_MS	5000
#define TGT_DRIVE_CAP	(8 << 20)	/* bytes with a device before sessions take turns */

enum tgt_drive_state {
	TGT_DRIVE_UP,
	TGT_DRIVE_GONE,
};

/* A block device that is exported. */
struct tgt_drive {
	struct kref		ref;		/* held by the list, sdrives and netlink handlers */
	struct kref		mem;		/* held by @ref, and by waiters for @closed */
	struct list_head	node;		/* in tgt_drives or drives_closing; tgt_lock */
	uuid_t			uuid;		/* from its label */
	/* host UUID of this target when meshd set the table; tgt_lock */
	uuid_t			host;
	char			*path;		/* as meshd gave it */
	struct mesh_bdev_handle	handle;		/* how @bd was opened */
	struct block_device	*bd;		/* held exclusively */
	u32			lba_shift;	/* 9 or 12 */
	/*
	 * least cost of a command, in bytes, not 0. Small commands must not use up the device's
	 * tags: a submitter, which has commands of other drives too, would sleep for a tag
	 */
	u32			cost_min;
	bool			may_sleep;	/* the driver may sleep in submit_bio() */
	u32			most;		/* bytes of the largest command */
	struct work_struct	close;		/* closes @bd */
	struct completion	closed;		/* completed once @bd is closed */
	enum tgt_drive_state	state;		/* written under tgt_lock */
	bool			removing;	/* DRIVE_DEL is at work; tgt_lock */
	struct list_head	extents;	/* by start; tgt_lock */
	struct list_head	sdrives;	/* of sessions with this drive; tgt_lock */
	struct list_head	waiters;	/* for views to be gone; tgt_lock */
	/* sched.c */
	u32			cost_batch;	/* bytes that one CPU counts by itself */
	struct percpu_counter	inflight;	/* bytes given to the device, approximately */
	atomic_t		sharing;	/* sdrives whose @taken is not 0 */
	spinlock_t		slow_lock;	/* guards @slow */
	struct list_head	slow;		/* commands that take several bios, or may sleep */
	struct work_struct	slow_work;	/* submits the commands of @slow */
};

/* Wait in a message's handler. Return: 0, -EINPROGRESS at @until, or -EINTR when killed. */
static inline int tgt_await(struct completion *done, unsigned long until)
{
	long left = time_before(jiffies, until) ? until - jiffies : 1;

	left = wait_for_completion_killable_timeout(done, left);
	return left > 0 ? 0 : left ? -EINTR : -EINPROGRESS;
}

/* drive_tab.c */
extern struct list_head tgt_drives;
struct tgt_drive *tgt_drive_find(const uuid_t *uuid);
void tgt_drive_put(struct tgt_drive *d);
bool tgt_drive_there(const struct tgt_drive *d);
int tgt_table_check(const struct tgt_drive *d, const struct list_head *extents,
		    struct netlink_ext_ack *extack);

/* drive.c */
struct tgt_drive *tgt_drive_open(const uuid_t *uuid, const char *path,
				 struct netlink_ext_ack *extack);
void tgt_drive_close(struct tgt_drive *d);
int tgt_drive_await_closed(const uuid_t *uuid, unsigned long until, bool *found);
void tgt_drive_insert(struct tgt_drive *d, struct list_head *extents);
void tgt_drive_remove(struct tgt_drive *d);
void tgt_drive_check(struct tgt_drive *d);
void tgt_drive_exit(void);

/* export.c */
int tgt_export(const uuid_t *uuid, const char *path, struct list_head *extents, bool check,
	       struct netlink_ext_ack *extack);
int tgt_unexport(const uuid_t *uuid, bool force, bool gone, struct netlink_ext_ack *extack);

/* sched.c */
void tgt_sched_submit(struct tgt_cmd *c);
void tgt_sched_done(struct tgt_cmd *c);
void tgt_sched_slow(struct tgt_drive *d, struct tgt_cmd *c);
void tgt_sched_join(struct tgt_sdrive *sd);
void tgt_sched_leave(struct tgt_sdrive *sd);
void tgt_sched_purge(struct tgt_sdrive *sd);
int tgt_sched_init(struct tgt_drive *d, unsigned int tags, bool own);
void tgt_sched_exit(struct tgt_drive *d);

#endif
