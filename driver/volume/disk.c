// SPDX-License-Identifier: GPL-2.0-only
/* The gendisk of a volume: tag set, limits, creation and removal. */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "driver/block/request.h"
#include "driver/compat/compat.h"
#include "driver/volume/volume.h"

/*
 * Largest zeroing and discard in one request. A drive may take long for either (zeroes may have to
 * be written), and a request must be done within io_timeout.
 */
#define MESH_ZEROES_BYTES	SZ_64M
#define MESH_DISCARD_BYTES	SZ_1G

/*
 * How long a detach waits for openers: MESH_CLAIM_ALONE_MS while one has the disk alone, else
 * MESH_CLAIM_MS. Openers may then be udev's, which reads the disk whenever a program that wrote to
 * the disk ends.
 */
#define MESH_CLAIM_ALONE_MS	2000
#define MESH_CLAIM_MS		5000

/* Called with disk->open_mutex, under which mesh_disk_claim() sets @dying. */
MESH_DISK_OPEN(mesh_disk_open, disk)
{
	struct mesh_volume *vol = disk->private_data;

	return mesh_volume_over(vol) ? -ENXIO : 0;
}

static void mesh_disk_release_data(struct gendisk *disk)
{
	mesh_volume_put(disk->private_data);
}

static const struct block_device_operations mesh_disk_ops = {
	.owner = THIS_MODULE,
	.open = mesh_disk_open,
	.free_disk = mesh_disk_release_data,
};

/* Combine the properties of all members that were up. */
static void mesh_disk_members(struct mesh_layout *l, struct mesh_member_info *all)
{
	struct mesh_member_info info;
	bool first = true;
	u32 i;

	*all = (struct mesh_member_info) { .queues = 1 };
	for (i = 0; i < l->nr; i++) {
		struct mesh_member *m = l->member_slots[i].member;

		/* A member that is lost just now may come up with other properties. */
		mutex_lock(&m->lock);
		info = m->info;
		mutex_unlock(&m->lock);
		if (!info.lba)	/* the member's group does without it */
			continue;
		if (first)
			*all = info;
		first = false;
		all->phys = max(all->phys, info.phys);
		all->queues = max(all->queues, info.queues);
		if (!info.discard_bytes || !all->discard_bytes)
			all->discard_bytes = 0;
		else
			all->discard_bytes = max(all->discard_bytes, info.discard_bytes);
		all->write_zeroes &= info.write_zeroes;
		all->rotational |= info.rotational;
		all->dma_mask |= info.dma_mask;
	}
}

static void mesh_disk_limits(struct mesh_volume *vol, struct mesh_layout *l,
			     const struct mesh_member_info *all, struct queue_limits *lim)
{
	struct prot_limits pl;

	prot_layout_limits(l->prot, &pl);
	*lim = (struct queue_limits) {
		.logical_block_size = vol->conf.lba,
		.physical_block_size = max(vol->conf.lba, all->phys),
		.io_min = pl.io_min ?: max(vol->conf.lba, all->phys),
		.io_opt = pl.io_opt <= UINT_MAX ? pl.io_opt : 0,
		.max_hw_sectors = pl.max_bytes >> SECTOR_SHIFT,
		.max_segments = MESH_SEGMENTS,
		.max_segment_size = MESH_SEGMENT_BYTES,
		.dma_alignment = all->dma_mask | (SECTOR_SIZE - 1),
	};
	if (all->discard_bytes && pl.discard) {
		lim->max_hw_discard_sectors = MESH_DISCARD_BYTES >> SECTOR_SHIFT;
		lim->discard_granularity = max(vol->conf.lba, all->discard_bytes);
	}
	if (all->write_zeroes)
		lim->max_write_zeroes_sectors =
			(pl.max_zeroes ?: MESH_ZEROES_BYTES) >> SECTOR_SHIFT;
}

static int mesh_disk_tags(struct mesh_volume *vol, const struct mesh_member_info *all)
{
	vol->set.ops = &mesh_mq_ops;
	vol->polled_queues = min(rdda_poll_queues(), num_online_cpus());
	vol->set.nr_maps = vol->polled_queues ? HCTX_MAX_TYPES : 1;
	vol->set.nr_hw_queues = clamp(all->queues, 1U, num_online_cpus()) + vol->polled_queues;
	vol->set.queue_depth = vol->conf.depth ?: MESH_DEPTH_DEFAULT;
	vol->set.numa_node = NUMA_NO_NODE;
	vol->set.cmd_size = sizeof(struct mesh_req);
	vol->set.flags = BLK_MQ_F_SHOULD_MERGE | BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	vol->set.timeout = vol->timeout;
	vol->set.driver_data = vol;
	return blk_mq_alloc_tag_set(&vol->set);
}

/* Make the disk of a volume whose members are all up. @vol: locked. Sleeps. */
int mesh_disk_alloc(struct mesh_volume *vol)
{
	struct mesh_layout *l = rcu_dereference_protected(vol->layout,
							  lockdep_is_held(&vol->lock));
	struct mesh_member_info all;
	struct queue_limits lim;
	struct gendisk *disk;
	int err;

	mesh_disk_members(l, &all);
	mesh_disk_limits(vol, l, &all, &lim);
	err = mesh_disk_tags(vol, &all);
	if (err)
		return err;
	/* pages must not change while copies and parity are made of them */
	disk = mesh_compat_alloc_disk(&vol->set, &lim, all.rotational, mesh_groups_any(l), vol);
	if (IS_ERR(disk)) {
		blk_mq_free_tag_set(&vol->set);
		return PTR_ERR(disk);
	}
	snprintf(disk->disk_name, DISK_NAME_LEN, "mesh%d", vol->index);
	disk->fops = &mesh_disk_ops;
	disk->private_data = vol;
	set_capacity(disk, l->prot->size >> SECTOR_SHIFT);
	set_disk_ro(disk, vol->conf.ro);
	vol->disk = disk;
	return 0;
}

/*
 * Make the disk visible, which reads its partition table. Called without vol->lock: a member that
 * is lost meanwhile may need a new layout to go on.
 */
int mesh_disk_add(struct mesh_volume *vol)
{
	int err;

	mesh_volume_get(vol);
	err = device_add_disk(NULL, vol->disk, NULL);
	/* free_disk() puts the reference, but only of a disk that was added */
	if (err)
		mesh_volume_put(vol);
	return err;
}

/* Free a disk that was not added, or that was removed. */
void mesh_disk_free(struct mesh_volume *vol)
{
	put_disk(vol->disk);
	vol->disk = NULL;
	blk_mq_free_tag_set(&vol->set);
}

/*
 * Set @orderly and @dying. Without openers all requests have ended: groups finish the work that
 * they have begun for these.
 */
static void disk_retire(struct mesh_volume *vol)
{
	WRITE_ONCE(vol->orderly, vol->live);
	smp_wmb();	/* pairs with mesh_group_abandoned() */
	WRITE_ONCE(vol->dying, true);
}

/*
 * Refuse further opens of the disk, unless it is open. @vol: locked. A partition scan holds
 * open_mutex for as long as its reads are requeued, so open_mutex is only tried. A forced detach
 * does not call this: it sets @dying at once, and later openers get errors. Return: 0, or -EBUSY.
 */
int mesh_disk_claim(struct mesh_volume *vol)
{
	int waited;

	lockdep_assert_held(&vol->lock);
	if (!vol->disk) {
		WRITE_ONCE(vol->dying, true);
		return 0;
	}
	for (waited = 0; !READ_ONCE(vol->dying); waited += 50) {
		bool claimed = false;

		if (mutex_trylock(&vol->disk->open_mutex)) {
			claimed = !disk_openers(vol->disk);
			if (claimed)
				disk_retire(vol);
			mutex_unlock(&vol->disk->open_mutex);
		}
		if (claimed)
			return 0;
		if (waited >= (READ_ONCE(vol->disk->part0->bd_holders) ? MESH_CLAIM_ALONE_MS :
			       MESH_CLAIM_MS))
			break;
		msleep(50);
	}
	return -EBUSY;		/* also when a forced detach came meanwhile */
}

/*
 * Make every further bio to the disk fail, also bios of earlier openers. A kernel with
 * bdev_mark_dead() calls it in here for the disk and its partitions: file systems shut down.
 */
void mesh_disk_kill(struct mesh_volume *vol)
{
	if (vol->live && !xchg(&vol->dead, true))
		blk_mark_disk_dead(vol->disk);
}

/* Remove the disk. All requests have ended; new ones fail. Readers do not see the disk any more. */
void mesh_disk_remove(struct mesh_volume *vol)
{
	del_gendisk(vol->disk);
	mesh_disk_free(vol);
}

/*
 * Notify udev of the disk, then of its partitions, which take the volume's names over from the
 * disk. @vol: live. Sleeps.
 */
void mesh_disk_announce(struct mesh_volume *vol)
{
	unsigned int noio = memalloc_noio_save();	/* I/O may wait for the volume's state */

	disk_uevent(vol->disk, KOBJ_CHANGE);
	memalloc_noio_restore(noio);
}

/* Return: why a disk in use cannot go on with another layout, or NULL. */
const char *mesh_disk_unfit(struct mesh_volume *vol, const struct prot_layout *prot)
{
	if (!vol->disk)
		return NULL;
	if (prot->size < get_capacity(vol->disk) << SECTOR_SHIFT)
		return "a volume that is attached cannot shrink";
	if (prot->max_bytes < queue_max_hw_sectors(vol->disk->queue) << SECTOR_SHIFT)
		return "the layout takes smaller requests than the disk says";
	return NULL;
}

/* Set io_timeout, for requests that are taken from now on. */
void mesh_disk_set_timeout(struct mesh_volume *vol, u32 ms)
{
	WRITE_ONCE(vol->timeout, msecs_to_jiffies(ms));
	if (vol->disk)
		blk_queue_rq_timeout(vol->disk->queue, vol->timeout);
}
