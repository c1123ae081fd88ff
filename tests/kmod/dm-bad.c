// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-bad: a drive with sectors that cannot be read until they are written, as those of real ones.
 *
 *      dmsetup create worn --table "0 SECTORS bad PATH"
 *      dmsetup message worn 0 bad SECTOR COUNT     these cannot be read from now on
 *      dmsetup status worn                         says how many sectors are left of them
 *
 * A read of any of them ends as an error of the medium, and a write gives them back. For tests
 * only, never installed.
 */
#include <linux/atomic.h>
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>

struct bad {
	struct dm_dev	*dev;
	struct xarray	sectors;	/* those that cannot be read */
	atomic_t	left;		/* of them */
};

static int bad_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct bad *b;
	int ret;

	if (argc != 1) {
		ti->error = "bad PATH";
		return -EINVAL;
	}
	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	xa_init_flags(&b->sectors, XA_FLAGS_LOCK_IRQ);
	ret = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &b->dev);
	if (ret) {
		ti->error = "no such device";
		kfree(b);
		return ret;
	}
	ti->num_flush_bios = 1;
	ti->num_discard_bios = 1;
	ti->num_write_zeroes_bios = 1;
	ti->private = b;
	return 0;
}

static void bad_dtr(struct dm_target *ti)
{
	struct bad *b = ti->private;

	dm_put_device(ti, b->dev);
	xa_destroy(&b->sectors);
	kfree(b);
}

static void bad_written(struct bad *b, sector_t from, sector_t to)
{
	unsigned long at = from;

	while (xa_find(&b->sectors, &at, to - 1, XA_PRESENT))
		if (xa_erase_irq(&b->sectors, at))
			atomic_dec(&b->left);
}

static int bad_map(struct dm_target *ti, struct bio *bio)
{
	struct bad *b = ti->private;
	sector_t from = dm_target_offset(ti, bio->bi_iter.bi_sector);
	sector_t to = from + bio_sectors(bio);
	unsigned long at = from;

	bio_set_dev(bio, b->dev->bdev);
	bio->bi_iter.bi_sector = from;
	if (from == to)
		return DM_MAPIO_REMAPPED;
	if (op_is_write(bio_op(bio))) {
		bad_written(b, from, to);
		return DM_MAPIO_REMAPPED;
	}
	if (!xa_find(&b->sectors, &at, to - 1, XA_PRESENT))
		return DM_MAPIO_REMAPPED;
	bio->bi_status = BLK_STS_MEDIUM;
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

static int bad_message(struct dm_target *ti, unsigned int argc, char **argv,
		       char *result, unsigned int maxlen)
{
	struct bad *b = ti->private;
	unsigned long at, count;
	int ret;

	if (argc != 3 || strcmp(argv[0], "bad") || kstrtoul(argv[1], 0, &at) ||
	    kstrtoul(argv[2], 0, &count) || at >= ti->len || count > ti->len - at)
		return -EINVAL;
	for (; count; count--, at++) {
		ret = xa_insert_irq(&b->sectors, at, b, GFP_KERNEL);
		if (!ret)
			atomic_inc(&b->left);
		else if (ret != -EBUSY)
			return ret;
	}
	return 0;
}

static void bad_status(struct dm_target *ti, status_type_t type, unsigned int flags,
		       char *result, unsigned int maxlen)
{
	struct bad *b = ti->private;
	unsigned int sz = 0;

	if (type == STATUSTYPE_INFO)
		DMEMIT("%d", atomic_read(&b->left));
	else if (type == STATUSTYPE_TABLE)
		DMEMIT("%s", b->dev->name);
	else
		*result = '\0';
}

static int bad_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct bad *b = ti->private;

	return fn(ti, b->dev, 0, ti->len, data);
}

static struct target_type bad_target = {
	.name		= "bad",
	.version	= { 1, 0, 0 },
	.module		= THIS_MODULE,
	.ctr		= bad_ctr,
	.dtr		= bad_dtr,
	.map		= bad_map,
	.message	= bad_message,
	.status		= bad_status,
	.iterate_devices = bad_iterate_devices,
};

static int __init bad_init(void)
{
	return dm_register_target(&bad_target);
}
module_init(bad_init);

static void __exit bad_exit(void)
{
	dm_unregister_target(&bad_target);
}
module_exit(bad_exit);

MODULE_DESCRIPTION("Device with sectors that cannot be read until they are written, for tests");
MODULE_LICENSE("GPL");
