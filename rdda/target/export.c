// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRIVE_ADD and DRIVE_DEL. A device that hangs takes any time to open or close, so works open and
 * close devices. The message's handler waits for a work, killably and within TGT_WAIT_MS.
 *
 *   DRIVE_ADD -> struct opening -> work: open, check ----> tgt_drive_insert()
 *                                        '- CHECK, unfit, or the handler has gone -> closed again
 *   DRIVE_DEL -> tgt_drive_remove() -> last reference -> work: tgt_drive_close()
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/tgt.h"

/* A DRIVE_ADD whose device is being opened. */
struct opening {
	struct kref		ref;		/* held by the work and each handler that waits */
	struct list_head	node;		/* in openings until @over; tgt_lock */
	struct work_struct	work;
	uuid_t			uuid;		/* of the drive, or null with @check */
	struct list_head	extents;	/* the drive's table */
	bool			check;		/* only answer */
	bool			left;		/* the handler has gone; tgt_lock */
	struct completion	over;		/* completed under tgt_lock */
	int			err;		/* result; valid once @over */
	struct netlink_ext_ack	ack;		/* and why */
	char			path[];		/* as meshd gave it */
};

static LIST_HEAD(openings);			/* tgt_lock */

static void opening_free(struct kref *ref)
{
	struct opening *o = container_of(ref, struct opening, ref);

	tgt_extents_free(&o->extents);
	kfree(o);
	module_put(THIS_MODULE);
}

static void opening_put(struct opening *o)
{
	kref_put(&o->ref, opening_free);
}

/*
 * Open the device, and check the table. Return: a drive to be served; NULL: @o->err is the result.
 */
static struct tgt_drive *opening_take(struct opening *o)
{
	struct tgt_drive *d = tgt_drive_open(&o->uuid, o->path, &o->ack);

	if (IS_ERR(d)) {
		o->err = PTR_ERR(d);
		return NULL;
	}
	o->err = tgt_table_check(d, &o->extents, &o->ack);
	if (!o->err && !o->check)
		return d;
	tgt_drive_close(d);
	return NULL;
}

static void opening_work(struct work_struct *work)
{
	struct opening *o = container_of(work, struct opening, work);
	/* any opener of a disk holds the disk's lock over reclaim */
	unsigned int noio = memalloc_noio_save();
	struct tgt_drive *d = opening_take(o);

	mutex_lock(&tgt_lock);
	if (d && o->left) {
		mutex_unlock(&tgt_lock);
		tgt_drive_close(d);
		d = NULL;
		mutex_lock(&tgt_lock);
	}
	if (d)
		tgt_drive_insert(d, &o->extents);
	list_del(&o->node);
	complete_all(&o->over);
	mutex_unlock(&tgt_lock);
	memalloc_noio_restore(noio);
	opening_put(o);
}

/*
 * Create an opening, which holds the module: an unload is refused rather than begun and never
 * ended.
 */
static struct opening *opening_create(const uuid_t *uuid, const char *path,
				      struct list_head *extents, bool check)
{
	size_t len = strlen(path) + 1;
	struct opening *o = kzalloc(struct_size(o, path, len), GFP_KERNEL);

	if (!o)
		return ERR_PTR(-ENOMEM);
	if (!try_module_get(THIS_MODULE)) {
		kfree(o);
		return ERR_PTR(-ENODEV);
	}
	kref_init(&o->ref);
	INIT_WORK(&o->work, opening_work);
	init_completion(&o->over);
	uuid_copy(&o->uuid, uuid);
	memcpy(o->path, path, len);
	o->check = check;
	INIT_LIST_HEAD(&o->extents);
	list_splice_init(extents, &o->extents);
	return o;
}

/*
 * Find an opening of the same drive, or of the same device: a second opening would hang behind it.
 */
static struct opening *opening_find(const uuid_t *uuid, const char *path)
{
	struct opening *o;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(o, &openings, node)
		if ((!uuid_is_null(uuid) && uuid_equal(&o->uuid, uuid)) || !strcmp(o->path, path))
			return o;
	return NULL;
}

/*
 * Remove an unplugged drive with the same UUID once its commands are back; with @check only check.
 * Return: 0, -EEXIST or -EBUSY.
 */
static int export_replace(const uuid_t *uuid, bool check, struct netlink_ext_ack *extack)
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
		tgt_drive_remove(old);
	return 0;
}

/*
 * Begin to open, once no other opening is in the way. Return: 0, -EINPROGRESS at @until, -EINTR
 * when killed, or as export_replace().
 */
static int opening_begin(struct opening *o, unsigned long until, struct netlink_ext_ack *extack)
{
	struct opening *other;
	int ret;

	do {
		mutex_lock(&tgt_lock);
		other = opening_find(&o->uuid, o->path);
		/* First the old drive closes the device, then the new one opens it. */
		ret = other ? 0 : export_replace(&o->uuid, o->check, extack);
		if (other) {
			kref_get(&other->ref);
		} else if (!ret) {
			kref_get(&o->ref);
			list_add_tail(&o->node, &openings);
			queue_work(tgt_wq, &o->work);
		}
		mutex_unlock(&tgt_lock);
		if (!other)
			return ret;
		ret = tgt_await(&other->over, until);
		opening_put(other);
	} while (!ret);
	if (ret == -EINPROGRESS)
		NL_SET_ERR_MSG(extack,
			       "the device is being opened for an earlier request; try again");
	return ret;
}

/* Wait for an opening. If the handler stops waiting, the work undoes the opening. */
static int opening_wait(struct opening *o, unsigned long until, struct netlink_ext_ack *extack)
{
	int ret = tgt_await(&o->over, until);

	mutex_lock(&tgt_lock);
	if (completion_done(&o->over)) {
		ret = o->err;
		extack->_msg = o->ack._msg;
	} else {
		o->left = true;
		if (ret == -EINPROGRESS)
			NL_SET_ERR_MSG(extack, "the device takes long to be opened; try again");
	}
	mutex_unlock(&tgt_lock);
	return ret;
}

/*
 * Export a block device. @extents: the drive's table, in order of start; taken over. @check: answer
 * as without @check, but export nothing. Context: process; sleeps. Return: 0, -EINPROGRESS (call
 * again), -EINTR when killed, or another negative errno.
 */
int tgt_export(const uuid_t *uuid, const char *path, struct list_head *extents, bool check,
	       struct netlink_ext_ack *extack)
{
	unsigned long until = jiffies + msecs_to_jiffies(TGT_WAIT_MS);
	struct opening *o = opening_create(uuid, path, extents, check);
	int ret;

	if (IS_ERR(o))
		return PTR_ERR(o);
	ret = opening_begin(o, until, extack);
	if (!ret)
		ret = opening_wait(o, until, extack);
	opening_put(o);
	return ret;
}

static bool export_opened(const struct tgt_drive *d)
{
	const struct tgt_extent *e;

	lockdep_assert_held(&tgt_lock);
	list_for_each_entry(e, &d->extents, node)
		if (!list_empty(&e->opens))
			return true;
	return false;
}

/* True while a DRIVE_ADD is at work: the device is in use before the drive exists. */
static bool export_begun(const uuid_t *uuid)
{
	const struct opening *o = opening_find(uuid, "");

	return o && !o->check;
}

/*
 * Take a drive from all sessions. @dp: set to the drive, referenced. Return: 0, -ENOENT, -EEXIST or
 * -EBUSY.
 */
static int export_end(const uuid_t *uuid, bool force, bool gone, struct tgt_drive **dp,
		      struct netlink_ext_ack *extack)
{
	struct tgt_drive *d;
	int ret = 0;

	mutex_lock(&tgt_lock);
	d = tgt_drive_find(uuid);
	if (!d && export_begun(uuid)) {
		NL_SET_ERR_MSG(extack, "the device of the drive is being opened");
		ret = -EBUSY;
	} else if (!d) {
		ret = -ENOENT;
	} else if (d->removing) {
		NL_SET_ERR_MSG(extack, "the drive is being unexported already");
		ret = -EBUSY;
	} else if (gone && d->state == TGT_DRIVE_UP) {
		NL_SET_ERR_MSG(extack, "the drive is not gone");
		ret = -EEXIST;
	} else if (!force && export_opened(d)) {
		NL_SET_ERR_MSG(extack, "extents are open; use FORCE to take them away");
		ret = -EBUSY;
	} else {
		d->removing = true;
		WRITE_ONCE(d->state, TGT_DRIVE_GONE);
		kref_get(&d->ref);
		tgt_grant_drive_lost(d);
		*dp = d;
	}
	mutex_unlock(&tgt_lock);
	return ret;
}

/*
 * Stop exporting a drive. @force: revoke opened extents. @gone: only if the drive is gone; the
 * caller cannot see if the drive is back. Answers when every command is back, and others can use
 * the device. Context: process; sleeps. Return: 0, -ENOENT, -EEXIST, -EBUSY, -EINPROGRESS (call
 * again), or -EINTR.
 */
int tgt_unexport(const uuid_t *uuid, bool force, bool gone, struct netlink_ext_ack *extack)
{
	unsigned long until = jiffies + msecs_to_jiffies(TGT_WAIT_MS);
	struct tgt_drive *d;
	bool closing;
	int err, ret;

	ret = export_end(uuid, force, gone, &d, extack);
	if (ret && ret != -ENOENT)
		return ret;
	if (!ret) {
		ret = tgt_grant_wait(d, until);
		mutex_lock(&tgt_lock);
		d->removing = false;
		if (ret)
			NL_SET_ERR_MSG(extack, "commands are still with the device; try again");
		else
			tgt_drive_remove(d);
		mutex_unlock(&tgt_lock);
		tgt_drive_put(d);
		if (ret)
			return ret;
	}
	/* also for a drive that an earlier message has removed */
	err = tgt_drive_await_closed(uuid, until, &closing);
	if (err == -EINPROGRESS)
		NL_SET_ERR_MSG(extack, "the device takes long to be closed; try again");
	if (closing)
		return err;
	if (ret)
		NL_SET_ERR_MSG(extack, "no such drive");
	return ret;
}
