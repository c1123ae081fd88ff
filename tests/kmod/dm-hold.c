// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-hold: a drive that sits on some writes while it lets later ones pass.
 *
 *      dmsetup create slow --table "0 SECTORS hold PATH"
 *      dmsetup message slow 0 hold      writes that come from now on stay here
 *      dmsetup message slow 0 hang      reads, too, but those of labels: of the ends of the drive
 *      dmsetup message slow 0 pass      later ones pass again, those stay
 *      dmsetup message slow 0 release   and now they are written
 *      dmsetup message slow 0 spare N   the oldest go, but for the last N; later ones stay here
 *      dmsetup message slow 0 again     they are written, and later ones stay here
 *      dmsetup status slow              says how many are held, and which: sector+sectors of PATH,
 *                                       those that are read with an R before
 *
 * A suspended device keeps all its I/O in order; this does not, so a write of
 * long ago lands on what was written since, as drives and their controllers
 * may do it. For tests of fencing only, never installed.
 */
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define HOLD_LABELS	2048		/* sectors at either end */

struct hold {
	struct dm_dev	*dev;
	spinlock_t	lock;		/* guards what follows */
	struct bio_list	held;
	bool		holding;
	bool		reads;		/* these, too */
};

static int hold_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct hold *h;
	int ret;

	if (argc != 1) {
		ti->error = "hold PATH";
		return -EINVAL;
	}
	h = kzalloc(sizeof(*h), GFP_KERNEL);
	if (!h)
		return -ENOMEM;
	spin_lock_init(&h->lock);
	bio_list_init(&h->held);
	ret = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &h->dev);
	if (ret) {
		ti->error = "no such device";
		kfree(h);
		return ret;
	}
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->private = h;
	return 0;
}

static void hold_dtr(struct dm_target *ti)
{
	struct hold *h = ti->private;

	dm_put_device(ti, h->dev);
	kfree(h);
}

/* Whether it is of what is held: a write with data, or a read of what is no label. */
static bool hold_wants(const struct dm_target *ti, const struct hold *h, struct bio *bio)
{
	sector_t at = bio->bi_iter.bi_sector;

	if (op_is_write(bio_op(bio)))
		return bio_sectors(bio);
	return h->reads && at >= HOLD_LABELS && at < ti->len - HOLD_LABELS;
}

static int hold_map(struct dm_target *ti, struct bio *bio)
{
	struct hold *h = ti->private;
	bool keep;

	bio_set_dev(bio, h->dev->bdev);
	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	spin_lock_irq(&h->lock);
	keep = h->holding && hold_wants(ti, h, bio);
	if (keep)
		bio_list_add(&h->held, bio);
	spin_unlock_irq(&h->lock);
	return keep ? DM_MAPIO_SUBMITTED : DM_MAPIO_REMAPPED;
}

static void hold_set(struct hold *h, bool holding, bool release)
{
	struct bio_list out = BIO_EMPTY_LIST;
	struct bio *bio;

	spin_lock_irq(&h->lock);
	h->holding = holding;
	h->reads = false;
	if (release) {
		bio_list_merge(&out, &h->held);
		bio_list_init(&h->held);
	}
	spin_unlock_irq(&h->lock);
	while ((bio = bio_list_pop(&out)))
		submit_bio_noacct(bio);
}

/* The oldest go, all but @keep. */
static void hold_spare(struct hold *h, unsigned int keep)
{
	struct bio_list out = BIO_EMPTY_LIST;
	struct bio *bio;

	spin_lock_irq(&h->lock);
	while (bio_list_size(&h->held) > keep)
		bio_list_add(&out, bio_list_pop(&h->held));
	spin_unlock_irq(&h->lock);
	while ((bio = bio_list_pop(&out)))
		submit_bio_noacct(bio);
}

static void hold_hang(struct hold *h)
{
	spin_lock_irq(&h->lock);
	h->holding = true;
	h->reads = true;
	spin_unlock_irq(&h->lock);
}

/* Else nothing that waits for the I/O of this device would ever end. */
static void hold_presuspend(struct dm_target *ti)
{
	hold_set(ti->private, false, true);
}

static int hold_message(struct dm_target *ti, unsigned int argc, char **argv,
			char *result, unsigned int maxlen)
{
	struct hold *h = ti->private;
	unsigned int keep;

	if (argc == 2 && !strcmp(argv[0], "spare") && !kstrtouint(argv[1], 0, &keep)) {
		hold_spare(h, keep);
		return 0;
	}
	if (argc != 1)
		return -EINVAL;
	if (!strcmp(argv[0], "hold"))
		hold_set(h, true, false);
	else if (!strcmp(argv[0], "hang"))
		hold_hang(h);
	else if (!strcmp(argv[0], "pass"))
		hold_set(h, false, false);
	else if (!strcmp(argv[0], "release"))
		hold_set(h, false, true);
	else if (!strcmp(argv[0], "again"))
		hold_set(h, true, true);
	else
		return -EINVAL;
	return 0;
}

static void hold_status(struct dm_target *ti, status_type_t type, unsigned int flags,
			char *result, unsigned int maxlen)
{
	struct hold *h = ti->private;
	unsigned int sz = 0;
	struct bio *bio;

	switch (type) {
	case STATUSTYPE_INFO:
		spin_lock_irq(&h->lock);
		DMEMIT("held %u", bio_list_size(&h->held));
		bio_list_for_each(bio, &h->held)
			DMEMIT(" %s%llu+%u", op_is_write(bio_op(bio)) ? "" : "R",
			       (unsigned long long)bio->bi_iter.bi_sector, bio_sectors(bio));
		spin_unlock_irq(&h->lock);
		break;
	case STATUSTYPE_TABLE:
		DMEMIT("%s", h->dev->name);
		break;
	default:
		*result = '\0';
	}
}

static int hold_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct hold *h = ti->private;

	return fn(ti, h->dev, 0, ti->len, data);
}

static struct target_type hold_target = {
	.name		= "hold",
	.version	= { 1, 0, 0 },
	.module		= THIS_MODULE,
	.ctr		= hold_ctr,
	.dtr		= hold_dtr,
	.map		= hold_map,
	.presuspend	= hold_presuspend,
	.message	= hold_message,
	.status		= hold_status,
	.iterate_devices = hold_iterate_devices,
};

static int __init hold_init(void)
{
	return dm_register_target(&hold_target);
}
module_init(hold_init);

static void __exit hold_exit(void)
{
	dm_unregister_target(&hold_target);
}
module_exit(hold_exit);

MODULE_DESCRIPTION("Device that sits on some writes, for tests");
MODULE_LICENSE("GPL");
