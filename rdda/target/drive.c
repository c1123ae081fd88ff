// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives: block devices that are exported, held exclusively.
 *
 * A work checks four times a second if each device is still there, and a failed I/O checks at once:
 * the kernels 6.1 and 6.12 both answer such a check, but only 6.12 could call when a device goes.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/blk-integrity.h>
#include <linux/blk-mq.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"

#define CHECK_MS	250

static LIST_HEAD(drives_closing);	/* removed, devices not yet closed; tgt_lock */
static void drive_check_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(checker, drive_check_work);

static void drive_free(struct kref *mem)
{
	struct tgt_drive *d = container_of(mem, struct tgt_drive, mem);

	kfree(d->path);
	kfree(d);
}

/* Close a drive's device. @d: not in tgt_drives. Context: a work; takes any time. */
void tgt_drive_close(struct tgt_drive *d)
{
	tgt_sched_exit(d);
	mesh_compat_close_bdev(&d->handle);
	mutex_lock(&tgt_lock);
	list_del(&d->node);
	complete_all(&d->closed);
	mutex_unlock(&tgt_lock);
	kref_put(&d->mem, drive_free);
}

static void drive_close_work(struct work_struct *work)
{
	tgt_drive_close(container_of(work, struct tgt_drive, close));
}

static struct tgt_drive *drive_closing(const uuid_t *uuid)
{
	struct tgt_drive *d;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(d, &drives_closing, node)
		if (uuid_equal(&d->uuid, uuid))
			return d;
	return NULL;
}

/*
 * Wait until others can use the device of a removed drive. @found: set if there was a drive to wait
 * for. Context: process; takes tgt_lock. Return: 0, -EINPROGRESS at @until, or -EINTR when killed.
 */
int tgt_drive_await_closed(const uuid_t *uuid, unsigned long until, bool *found)
{
	struct tgt_drive *d;
	int ret;

	*found = false;
	do {
		mutex_lock(&tgt_lock);
		d = drive_closing(uuid);
		if (d)
			kref_get(&d->mem);
		mutex_unlock(&tgt_lock);
		if (!d)
			return 0;
		*found = true;
		ret = tgt_await(&d->closed, until);
		kref_put(&d->mem, drive_free);
	} while (!ret);
	return ret;
}

/*
 * If this drive was unplugged, notify all sessions that use the drive, and meshd. Context: tgt_lock
 * held.
 */
void tgt_drive_check(struct tgt_drive *d)
{
	lockdep_assert_held(&tgt_lock);
	if (d->state != TGT_DRIVE_UP || tgt_drive_there(d))
		return;
	WRITE_ONCE(d->state, TGT_DRIVE_GONE);
	pr_warn("drive %pUb (%s) is gone\n", &d->uuid, d->path);
	tgt_grant_drive_lost(d);
	tgt_nl_drive_gone(&d->uuid, d->path);
}

static void drive_check_work(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();
	struct tgt_drive *d;

	mutex_lock(&tgt_lock);
	list_for_each_entry(d, &tgt_drives, node)
		tgt_drive_check(d);
	if (!list_empty(&tgt_drives))
		queue_delayed_work(tgt_wq, &checker, msecs_to_jiffies(CHECK_MS));
	mutex_unlock(&tgt_lock);
	memalloc_noio_restore(noio);
}

/* Return: why a device cannot be exported, human-readable; NULL: the device can be exported. */
static const char *drive_unfit(struct block_device *bd)
{
	unsigned int lba = bdev_logical_block_size(bd);

	if (lba != 512 && lba != 4096)
		return "its block size is neither 512 nor 4096 bytes";
	if (bdev_is_zoned(bd))
		return "zoned devices cannot be exported";
	if (bdev_read_only(bd))
		return "it is read-only";
	if (blk_get_integrity(bd->bd_disk))
		return "it carries protection information";
	return NULL;
}

/* Set the limits of a drive that follow from the device's queue. Return: 0 or -ENOMEM. */
static int drive_queue(struct tgt_drive *d)
{
	struct request_queue *q = bdev_get_queue(d->bd);

	d->most = RDDA_CMD_BYTES_MAX;
	if (!queue_is_mq(q))
		return tgt_sched_init(d, 0, false);
	/* a bio that has to be split goes the slow way */
	d->most = clamp(round_down(queue_max_bytes(q), RDDA_PAGE), RDDA_PAGE, d->most);
	d->may_sleep = q->tag_set->flags & BLK_MQ_F_BLOCKING;
	return tgt_sched_init(d, q->nr_requests, q->nr_hw_queues >= num_online_cpus() &&
			      !(q->tag_set->flags & BLK_MQ_F_TAG_HCTX_SHARED));
}

/*
 * Open a device for export. Context: a work; takes any time. Return: a drive in no list, for
 * tgt_drive_insert() or tgt_drive_close(), or an ERR_PTR().
 */
struct tgt_drive *tgt_drive_open(const uuid_t *uuid, const char *path,
				 struct netlink_ext_ack *extack)
{
	struct tgt_drive *d = kzalloc(sizeof(*d), GFP_KERNEL);
	const char *unfit;
	int ret = -ENOMEM;

	if (!d)
		return ERR_PTR(-ENOMEM);
	d->path = kstrdup(path, GFP_KERNEL);
	if (!d->path)
		goto err;
	ret = mesh_compat_open_bdev(&d->handle, path, true, d);
	if (ret) {
		if (ret == -EBUSY)
			NL_SET_ERR_MSG(extack, "the device is in use");
		else
			NL_SET_ERR_MSG(extack, "the device cannot be opened");
		goto err;
	}
	d->bd = d->handle.bdev;
	unfit = drive_unfit(d->bd);
	if (unfit) {
		ret = -EOPNOTSUPP;
		extack->_msg = unfit;
		goto err_close;
	}
	ret = drive_queue(d);
	if (ret)
		goto err_close;
	kref_init(&d->ref);
	kref_init(&d->mem);
	init_completion(&d->closed);
	INIT_LIST_HEAD(&d->node);
	uuid_copy(&d->uuid, uuid);
	tgt_identity(&d->host);
	d->lba_shift = ilog2(bdev_logical_block_size(d->bd));
	INIT_LIST_HEAD(&d->extents);
	INIT_LIST_HEAD(&d->sdrives);
	INIT_LIST_HEAD(&d->waiters);
	INIT_WORK(&d->close, drive_close_work);
	return d;
err_close:
	mesh_compat_close_bdev(&d->handle);
err:
	kfree(d->path);
	kfree(d);
	return ERR_PTR(ret);
}

/*
 * Stop serving a drive; the device is closed once nothing uses the drive. Context: tgt_lock held.
 */
void tgt_drive_remove(struct tgt_drive *d)
{
	lockdep_assert_held(&tgt_lock);
	tgt_grant_drive_forget(d);
	tgt_extents_free(&d->extents);
	list_move_tail(&d->node, &drives_closing);
	tgt_drive_put(d);
}

/*
 * Serve a drive. @d: from tgt_drive_open(). @extents: the drive's table, in order of start; taken
 * over. Context: tgt_lock held.
 */
void tgt_drive_insert(struct tgt_drive *d, struct list_head *extents)
{
	struct tgt_extent *e;

	lockdep_assert_held(&tgt_lock);
	list_splice_init(extents, &d->extents);
	list_for_each_entry(e, &d->extents, node)
		e->drive = d;
	list_add_tail(&d->node, &tgt_drives);
	tgt_grant_drive_back(&d->uuid);
	queue_delayed_work(tgt_wq, &checker, msecs_to_jiffies(CHECK_MS));
	pr_info("drive %pUb (%s) is exported\n", &d->uuid, d->path);
}

/* Close all devices. No session is left. */
void tgt_drive_exit(void)
{
	struct tgt_drive *d, *next;

	mutex_lock(&tgt_lock);
	list_for_each_entry_safe(d, next, &tgt_drives, node)
		tgt_drive_remove(d);
	mutex_unlock(&tgt_lock);
	cancel_delayed_work_sync(&checker);
	flush_workqueue(tgt_wq);
}
