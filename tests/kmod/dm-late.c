// SPDX-License-Identifier: GPL-2.0-only
/*
 * dm-late: a drive that takes its time, another one for each I/O.
 *
 *      dmsetup create slow --table "0 SECTORS late PATH LEAST MOST"
 *      dmsetup message slow 0 LEAST MOST        from now on
 *
 * Each I/O ends LEAST to MOST microseconds after the device below has ended it, and so out of
 * order, which a RAM drive never does; with 0 and 0 it ends with that one. The times come from a
 * generator that begins with the same seed each time. For benches, never installed.
 */
#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define LATE_SEED	0x6c617465
#define LATE_MOST_US	10000000

struct late {
	struct dm_dev	*dev;
	spinlock_t	lock;		/* guards what follows */
	struct rnd_state rnd;
	u32		least_us;
	u32		most_us;
};

struct late_io {
	struct hrtimer	timer;
	bool		over;		/* has waited */
};

static struct bio *late_bio(struct late_io *io)
{
	return dm_bio_from_per_bio_data(io, sizeof(*io));
}

/* Return: 0, or -EINVAL. */
static int late_times(struct late *l, char **argv)
{
	u32 least, most;

	if (kstrtou32(argv[0], 10, &least) || kstrtou32(argv[1], 10, &most) ||
	    least > most || most > LATE_MOST_US)
		return -EINVAL;
	spin_lock_irq(&l->lock);
	l->least_us = least;
	l->most_us = most;
	spin_unlock_irq(&l->lock);
	return 0;
}

static int late_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct late *l;
	int ret = -EINVAL;

	ti->error = "PATH LEAST MOST, the times in microseconds";
	if (argc != 3)
		return ret;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	spin_lock_init(&l->lock);
	prandom_seed_state(&l->rnd, LATE_SEED);
	ret = late_times(l, argv + 1);
	if (ret)
		goto free;
	ret = dm_get_device(ti, argv[0], dm_table_get_mode(ti->table), &l->dev);
	if (ret) {
		ti->error = "no such device";
		goto free;
	}
	ti->num_flush_bios = 1;
	ti->per_io_data_size = sizeof(struct late_io);
	ti->private = l;
	return 0;
free:
	kfree(l);
	return ret;
}

static void late_dtr(struct dm_target *ti)
{
	struct late *l = ti->private;

	dm_put_device(ti, l->dev);
	kfree(l);
}

static int late_map(struct dm_target *ti, struct bio *bio)
{
	struct late_io *io = dm_per_bio_data(bio, sizeof(*io));
	struct late *l = ti->private;

	io->over = false;
	bio_set_dev(bio, l->dev->bdev);
	bio->bi_iter.bi_sector = dm_target_offset(ti, bio->bi_iter.bi_sector);
	return DM_MAPIO_REMAPPED;
}

static u64 late_time_ns(struct late *l)
{
	unsigned long flags;
	u32 us;

	spin_lock_irqsave(&l->lock, flags);
	us = l->least_us + prandom_u32_state(&l->rnd) % (l->most_us - l->least_us + 1);
	spin_unlock_irqrestore(&l->lock, flags);
	return (u64)us * NSEC_PER_USEC;
}

/* Ends the bio a second time: late_end_io() lets it pass now. */
static enum hrtimer_restart late_over(struct hrtimer *timer)
{
	struct late_io *io = container_of(timer, struct late_io, timer);

	io->over = true;
	bio_endio(late_bio(io));
	return HRTIMER_NORESTART;
}

static int late_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *error)
{
	struct late_io *io = dm_per_bio_data(bio, sizeof(*io));
	u64 ns;

	if (io->over)
		return DM_ENDIO_DONE;
	ns = late_time_ns(ti->private);
	if (!ns)
		return DM_ENDIO_DONE;
	hrtimer_init(&io->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	io->timer.function = late_over;
	hrtimer_start(&io->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
	return DM_ENDIO_INCOMPLETE;
}

static int late_message(struct dm_target *ti, unsigned int argc, char **argv,
			char *result, unsigned int maxlen)
{
	return argc == 2 ? late_times(ti->private, argv) : -EINVAL;
}

static void late_status(struct dm_target *ti, status_type_t type, unsigned int flags,
			char *result, unsigned int maxlen)
{
	struct late *l = ti->private;
	unsigned int sz = 0;

	*result = '\0';
	if (type == STATUSTYPE_INFO)
		DMEMIT("%u %u", l->least_us, l->most_us);
	else if (type == STATUSTYPE_TABLE)
		DMEMIT("%s %u %u", l->dev->name, l->least_us, l->most_us);
}

static int late_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct late *l = ti->private;

	return fn(ti, l->dev, 0, ti->len, data);
}

static struct target_type late_target = {
	.name		= "late",
	.version	= { 1, 0, 0 },
	.module		= THIS_MODULE,
	.ctr		= late_ctr,
	.dtr		= late_dtr,
	.map		= late_map,
	.end_io		= late_end_io,
	.message	= late_message,
	.status		= late_status,
	.iterate_devices = late_iterate_devices,
};

static int __init late_init(void)
{
	return dm_register_target(&late_target);
}
module_init(late_init);

static void __exit late_exit(void)
{
	dm_unregister_target(&late_target);
}
module_exit(late_exit);

MODULE_DESCRIPTION("Device that ends its I/O late and out of order, for benches");
MODULE_LICENSE("GPL");
