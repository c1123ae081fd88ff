// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives: block devices that are exported, held exclusively.
 *
 * Whether a device is still there is polled four times a second, and checked at
 * once when an I/O fails: both kernels can answer that, only one of them can call.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/blk-integrity.h>
#include <linux/blk-mq.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/listen.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"

#define CHECK_MS	250

LIST_HEAD(tgt_drives);			/* tgt_lock */
static void drive_check_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(checker, drive_check_work);

static void drive_close_work(struct work_struct *work)
{
	struct tgt_drive *d = container_of(work, struct tgt_drive, close);

	tgt_sched_exit(d);
	mesh_compat_close_bdev(&d->handle);
	if (d->closed)
		complete(d->closed);
	kfree(d->path);
	kfree(d);
}

/* The last reference may go under tgt_lock; closing a device can take long. */
static void drive_release(struct kref *ref)
{
	struct tgt_drive *d = container_of(ref, struct tgt_drive, ref);

	queue_work(tgt_wq, &d->close);
}

/* Drop a reference. */
void tgt_drive_put(struct tgt_drive *d)
{
	kref_put(&d->ref, drive_release);
}

/* A drive by UUID, without a reference. Context: tgt_lock held. */
struct tgt_drive *tgt_drive_find(const uuid_t *uuid)
{
	struct tgt_drive *d;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(d, &tgt_drives, node)
		if (uuid_equal(&d->uuid, uuid))
			return d;
	return NULL;
}

/*
 * Whether the device is there, and not about to be removed. One that is pulled out fails I/O
 * before it is no more.
 */
bool tgt_drive_there(const struct tgt_drive *d)
{
	struct gendisk *disk = d->bd->bd_disk;

	return disk_live(disk) && !test_bit(GD_DEAD, &disk->state);
}

/* If this drive was unplugged, notify all that use it. Context: tgt_lock held. */
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

/* Why a device cannot be exported, human-readable. */
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

/* Check that a table can be that of a drive. Return: 0 or -EINVAL. */
int tgt_table_check(const struct tgt_drive *d, const struct list_head *extents,
		    struct netlink_ext_ack *extack)
{
	u64 end = 0, size = bdev_nr_bytes(d->bd), mask = (1ULL << d->lba_shift) - 1;
	const struct tgt_extent *e, *o;

	list_for_each_entry(e, extents, node) {
		if (!e->len || (e->start | e->len) & mask || e->start + e->len < e->start ||
		    e->start + e->len > size) {
			NL_SET_ERR_MSG(extack, "an extent does not fit the drive or its blocks");
			return -EINVAL;
		}
		if (e->start < end) {
			NL_SET_ERR_MSG(extack, "extents overlap, or are not in order of START");
			return -EINVAL;
		}
		end = e->start + e->len;
		list_for_each_entry(o, extents, node) {
			if (o == e)
				break;
			if (uuid_equal(&o->uuid, &e->uuid)) {
				NL_SET_ERR_MSG(extack, "two extents have the same UUID");
				return -EINVAL;
			}
		}
	}
	return 0;
}

/* What follows from the device's queue. Return: 0 or -ENOMEM. */
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

static struct tgt_drive *drive_open(const uuid_t *uuid, const char *path,
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

static void drive_remove(struct tgt_drive *d)
{
	lockdep_assert_held(&tgt_lock);
	tgt_grant_drive_forget(d);
	tgt_extents_free(&d->extents);
	list_del(&d->node);
	tgt_drive_put(d);
}

/* A drive that was unplugged makes room for itself once its commands are back; not with @check. */
static int drive_replace(const uuid_t *uuid, bool check, struct netlink_ext_ack *extack)
{
	struct tgt_drive *old = tgt_drive_find(uuid);

	if (!old)
		return 0;
	tgt_drive_check(old);
	if (old->state == TGT_DRIVE_UP) {
		NL_SET_ERR_MSG(extack, "a drive with this UUID is exported already");
		return -EEXIST;
	}
	if (old->removing || !tgt_grant_drained(old)) {
		NL_SET_ERR_MSG(extack, "commands to the unplugged drive are not back yet");
		return -EBUSY;
	}
	if (!check)
		drive_remove(old);
	return 0;
}

/* Drop a drive that is in no list. When this returns the device can be used by others. */
static void drive_drop(struct tgt_drive *d)
{
	DECLARE_COMPLETION_ONSTACK(closed);

	d->closed = &closed;
	tgt_drive_put(d);
	wait_for_completion(&closed);
}

/*
 * Export a block device. @extents: its table, in order of start; taken over on success. @check:
 * only answer as without it. Context: process; sleeps.
 */
int tgt_drive_add(const uuid_t *uuid, const char *path, struct list_head *extents, bool check,
		  struct netlink_ext_ack *extack)
{
	struct tgt_drive *d;
	struct tgt_extent *e;
	int ret;

	/* First the old one lets go of its device, then the new one takes it. */
	mutex_lock(&tgt_lock);
	ret = drive_replace(uuid, check, extack);
	mutex_unlock(&tgt_lock);
	if (ret)
		return ret;
	d = drive_open(uuid, path, extack);
	if (IS_ERR(d))
		return PTR_ERR(d);
	ret = tgt_table_check(d, extents, extack);
	if (ret || check)
		goto drop;
	mutex_lock(&tgt_lock);
	if (tgt_drive_find(uuid)) {
		mutex_unlock(&tgt_lock);
		NL_SET_ERR_MSG(extack, "a drive with this UUID is exported already");
		ret = -EEXIST;
		goto drop;
	}
	list_splice_init(extents, &d->extents);
	list_for_each_entry(e, &d->extents, node)
		e->drive = d;
	list_add_tail(&d->node, &tgt_drives);
	tgt_grant_drive_back(&d->uuid);
	queue_delayed_work(tgt_wq, &checker, msecs_to_jiffies(CHECK_MS));
	mutex_unlock(&tgt_lock);
	pr_info("drive %pUb (%s) is exported\n", uuid, path);
	return 0;
drop:
	drive_drop(d);
	return ret;
}

static bool drive_opened(const struct tgt_drive *d)
{
	const struct tgt_extent *e;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(e, &d->extents, node)
		if (!list_empty(&e->opens))
			return true;
	return false;
}

/*
 * Stop exporting it. @force: take opened extents away from their sessions. @gone: only what is
 * left of a drive that is gone; the caller cannot see whether it is back. Answers when every
 * command is back, and the device can be used by others. Context: process; sleeps. Return: 0,
 * -ENOENT, -EEXIST, -EBUSY, -EINPROGRESS (call again), or -EINTR.
 */
int tgt_drive_del(const uuid_t *uuid, bool force, bool gone, struct netlink_ext_ack *extack)
{
	DECLARE_COMPLETION_ONSTACK(closed);
	struct tgt_drive *d;
	int ret = 0;

	mutex_lock(&tgt_lock);
	d = tgt_drive_find(uuid);
	if (!d) {
		NL_SET_ERR_MSG(extack, "no such drive");
		ret = -ENOENT;
	} else if (d->removing) {
		NL_SET_ERR_MSG(extack, "the drive is being unexported already");
		ret = -EBUSY;
	} else if (gone && d->state == TGT_DRIVE_UP) {
		NL_SET_ERR_MSG(extack, "the drive is not gone");
		ret = -EEXIST;
	} else if (!force && drive_opened(d)) {
		NL_SET_ERR_MSG(extack, "extents are open; use FORCE to take them away");
		ret = -EBUSY;
	}
	if (ret) {
		mutex_unlock(&tgt_lock);
		return ret;
	}
	d->removing = true;
	WRITE_ONCE(d->state, TGT_DRIVE_GONE);
	kref_get(&d->ref);
	tgt_grant_drive_lost(d);
	mutex_unlock(&tgt_lock);

	ret = tgt_grant_wait(d);
	mutex_lock(&tgt_lock);
	d->removing = false;
	if (ret)
		NL_SET_ERR_MSG(extack, "commands are still with the device; try again");
	else
		d->closed = &closed;
	if (!ret)
		drive_remove(d);
	mutex_unlock(&tgt_lock);
	tgt_drive_put(d);
	if (!ret)
		wait_for_completion(&closed);
	return ret;
}

/* Give all devices back; no session is left. */
void tgt_drive_exit(void)
{
	struct tgt_drive *d, *next;

	mutex_lock(&tgt_lock);
	list_for_each_entry_safe(d, next, &tgt_drives, node)
		drive_remove(d);
	mutex_unlock(&tgt_lock);
	cancel_delayed_work_sync(&checker);
	flush_workqueue(tgt_wq);
}
