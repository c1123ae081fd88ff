// SPDX-License-Identifier: GPL-2.0-only
/* The table of exported drives, for all parts; drive.c opens, closes and watches the drives. */
#include <linux/netlink.h>

#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/tgt.h"

LIST_HEAD(tgt_drives);			/* tgt_lock */

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

/* The last reference may go under tgt_lock, but closing a device can take long: a work closes. */
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

/*
 * True if the device is there, and not about to be removed. A device that is pulled out fails I/O
 * before its disk is gone.
 */
bool tgt_drive_there(const struct tgt_drive *d)
{
	struct gendisk *disk = d->bd->bd_disk;

	return disk_live(disk) && !test_bit(GD_DEAD, &disk->state);
}

/* Check that a table fits a drive. Return: 0 or -EINVAL. */
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
