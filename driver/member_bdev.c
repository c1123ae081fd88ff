// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members that are a local block device: a local drive, or one that the kernel
 * connected over NVMe/TCP or NVMe/RDMA.
 *
 *   submit -> bio -> queue -> worker -> submit_bio -> end_io -> mesh_mio_end
 *                                                       '-> flush first, after
 *                                                           zeroes and discards
 *
 * Bios are sent by a worker since submit_bio() may sleep and the submitter
 * must not. Writes carry FUA: the block layer drops it where there is no cache
 * and makes a flush of it where the device has none. Nothing is staged: the
 * device is local.
 *
 * There is no kick: a bio in the device may yet read or write the request's
 * pages, and its sectors, so a request must not end before it. A copy of each
 * payload would free the pages and not the sectors: what is written there next
 * could be overwritten by it. So each I/O ends when the device ends it; how
 * long that takes is up to the lower driver (docs/sysfs.md).
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/netlink.h>
#include <linux/slab.h>

#include "driver/compat/bdev.h"
#include "driver/member.h"

/* How often an idle device is polled; one with I/O reports by itself. */
#define MESH_BDEV_LOOK_MS	1000

/* A member. */
struct mesh_bdev {
	struct mesh_member	*member;	/* back */
	struct mesh_bdev_handle	handle;		/* the open device */
	struct llist_head	queue;		/* bios to be sent, newest first */
	struct work_struct	work;		/* sends them */
	/*
	 * checks whether the device has gone. Kernels before 6.5 do not notify its holder, so all
	 * are polled
	 */
	struct delayed_work	look_work;
	/* not shared, so that a device that blocks delays no other */
	struct workqueue_struct	*wq;
};

static struct bio_set mesh_bios;

/* The holder of all our exclusive opens, see mesh_member_bdev_taken(). */
static int mesh_bdev_holder;

static void bdev_end_io(struct bio *bio);

static const blk_opf_t bdev_req_ops[] = {
	[PROT_READ] = REQ_OP_READ,
	[PROT_WRITE] = REQ_OP_WRITE,
	[PROT_DISCARD] = REQ_OP_DISCARD,
	[PROT_ZEROES] = REQ_OP_WRITE_ZEROES,
	[PROT_FLUSH] = REQ_OP_FLUSH,
};

static struct bio *bdev_bio(struct mesh_bdev *mb, struct mesh_mio *mio)
{
	blk_opf_t opf = bdev_req_ops[mio->op];
	struct scatterlist *sg;
	struct bio *bio;
	unsigned int i;

	if (mio->op == PROT_WRITE)
		opf |= REQ_FUA | REQ_SYNC | REQ_IDLE;
	else if (mio->op == PROT_ZEROES && !(mio->io.flags & RDDA_IO_UNMAP))
		opf |= REQ_NOUNMAP;
	else if (mio->op == PROT_FLUSH)
		opf = REQ_OP_WRITE | REQ_PREFLUSH;
	bio = bio_alloc_bioset(mb->handle.bdev, mio->io.nents, opf, GFP_NOWAIT | __GFP_NOWARN,
			       &mesh_bios);
	if (!bio)
		return NULL;
	bio->bi_iter.bi_sector = mio->io.addr >> SECTOR_SHIFT;
	bio->bi_private = mio;
	bio->bi_end_io = bdev_end_io;
	for_each_sg(mio->io.sg, sg, mio->io.nents, i)
		__bio_add_page(bio, sg_page(sg), sg->length, sg->offset);
	if (!mio->io.nents)
		bio->bi_iter.bi_size = mio->io.len;
	return bio;
}

static void bdev_queue(struct mesh_bdev *mb, struct mesh_mio *mio, struct bio *bio)
{
	mio->bio = bio;
	llist_add(&mio->node, &mb->queue);
}

static bool bdev_is_gone(struct mesh_bdev *mb)
{
	return test_bit(GD_DEAD, &mb->handle.bdev->bd_disk->state) ||
	       blk_queue_dying(bdev_get_queue(mb->handle.bdev));
}

/* Zeroes and discards, which know no FUA, are durable after this flush. */
static void bdev_flush_after(struct mesh_bdev *mb, struct mesh_mio *mio, struct bio *bio)
{
	bio_reset(bio, mb->handle.bdev, REQ_OP_WRITE | REQ_PREFLUSH);
	bio->bi_private = mio;
	bio->bi_end_io = bdev_end_io;
	bdev_queue(mb, mio, bio);
	queue_work(mb->wq, &mb->work);
}

static void bdev_end_io(struct bio *bio)
{
	struct mesh_mio *mio = bio->bi_private;
	struct mesh_bdev *mb = mio->member->priv;
	int err = blk_status_to_errno(bio->bi_status);

	if (unlikely(err && bdev_is_gone(mb))) {
		mod_delayed_work(mb->wq, &mb->look_work, 0);
		err = -ENODEV;
	}
	if (!err && (mio->op == PROT_DISCARD || mio->op == PROT_ZEROES) &&
	    (bio_op(bio) == REQ_OP_DISCARD || bio_op(bio) == REQ_OP_WRITE_ZEROES) &&
	    bdev_write_cache(mb->handle.bdev)) {
		bdev_flush_after(mb, mio, bio);
		return;
	}
	bio_put(bio);
	mesh_mio_end(mio, err);
}

static void bdev_work(struct work_struct *work)
{
	struct mesh_bdev *mb = container_of(work, struct mesh_bdev, work);
	struct llist_node *list = llist_reverse_order(llist_del_all(&mb->queue));
	struct mesh_mio *mio, *next;
	struct blk_plug plug;

	blk_start_plug(&plug);
	llist_for_each_entry_safe(mio, next, list, node)
		submit_bio(mio->bio);
	blk_finish_plug(&plug);
}

static void bdev_look_later(struct mesh_bdev *mb)
{
	queue_delayed_work(mb->wq, &mb->look_work,
			   round_jiffies_relative(msecs_to_jiffies(MESH_BDEV_LOOK_MS)));
}

/* One that has gone does not come back: another device takes its place. */
static void bdev_look_work(struct work_struct *work)
{
	struct mesh_bdev *mb = container_of(to_delayed_work(work), struct mesh_bdev, look_work);

	if (bdev_is_gone(mb))
		mesh_member_set_state(mb->member, MESH_MEMBER_GONE, -ENODEV);
	else
		bdev_look_later(mb);
}

static void bdev_submit(struct mesh_member *m, struct mesh_mio *mio)
{
	struct mesh_bdev *mb = m->priv;
	struct bio *bio = bdev_bio(mb, mio);

	if (!bio)
		mesh_mio_end(mio, -ENOMEM);
	else
		bdev_queue(mb, mio, bio);
}

static void bdev_commit(struct mesh_member *m, unsigned int queue)
{
	struct mesh_bdev *mb = m->priv;

	queue_work(mb->wq, &mb->work);
}

static void bdev_fill_info(struct mesh_bdev *mb, struct mesh_member_info *info)
{
	struct block_device *bdev = mb->handle.bdev;
	unsigned int discard = bdev_max_discard_sectors(bdev);

	*info = (struct mesh_member_info) {
		.bytes = bdev_nr_bytes(bdev),
		.lba = bdev_logical_block_size(bdev),
		.phys = bdev_physical_block_size(bdev),
		.queues = num_online_cpus(),
		.discard_bytes = discard ? max(bdev_discard_granularity(bdev), 512U) : 0,
		.write_zeroes = bdev_write_zeroes_sectors(bdev),
		.rotational = !bdev_nonrot(bdev),
		.dma_mask = bdev_dma_alignment(bdev),
	};
}

static int bdev_check(struct mesh_bdev *mb, struct netlink_ext_ack *extack)
{
	struct mesh_member *m = mb->member;
	struct mesh_member_info *info = &m->info;

	if (mesh_member_bdev_taken(m, mb->handle.bdev->bd_dev)) {
		NL_SET_ERR_MSG(extack, "the device is another member already");
		return -EBUSY;
	}
	if (info->lba != 512 && info->lba != 4096) {
		NL_SET_ERR_MSG(extack, "the device's logical block is neither 512 nor 4096 bytes");
		return -EINVAL;
	}
	if (bdev_is_zoned(mb->handle.bdev)) {
		NL_SET_ERR_MSG(extack, "the device is zoned");
		return -EINVAL;
	}
	if (m->conf.rw && bdev_read_only(mb->handle.bdev)) {
		NL_SET_ERR_MSG(extack, "the device is read-only");
		return -EROFS;
	}
	return 0;
}

static int bdev_open(struct mesh_member *m, struct netlink_ext_ack *extack)
{
	struct mesh_bdev *mb = kzalloc(sizeof(*mb), GFP_KERNEL);
	int err;

	if (!mb)
		return -ENOMEM;
	mb->member = m;
	init_llist_head(&mb->queue);
	INIT_WORK(&mb->work, bdev_work);
	INIT_DELAYED_WORK(&mb->look_work, bdev_look_work);
	mb->wq = alloc_workqueue("meshbdev", WQ_MEM_RECLAIM | WQ_UNBOUND, 2);
	if (!mb->wq) {
		err = -ENOMEM;
		goto free;
	}
	err = mesh_compat_open_bdev(&mb->handle, m->conf.path, m->conf.rw, &mesh_bdev_holder);
	if (err) {
		NL_SET_ERR_MSG(extack, "cannot open the device; is it in use?");
		goto destroy;
	}
	bdev_fill_info(mb, &m->info);
	err = bdev_check(mb, extack);
	if (err)
		goto close;
	m->priv = mb;
	mesh_member_set_state(m, MESH_MEMBER_UP, 0);
	bdev_look_later(mb);
	return 0;
close:
	mesh_compat_close_bdev(&mb->handle);
destroy:
	destroy_workqueue(mb->wq);
free:
	kfree(mb);
	return err;
}

static void bdev_close(struct mesh_member *m)
{
	struct mesh_bdev *mb = m->priv;

	cancel_delayed_work_sync(&mb->look_work);
	destroy_workqueue(mb->wq);
	mesh_compat_close_bdev(&mb->handle);
	kfree(mb);
}

const struct mesh_member_ops mesh_bdev_ops = {
	.kind = "bdev",
	.open = bdev_open,
	.close = bdev_close,
	.submit = bdev_submit,
	.commit = bdev_commit,
};

int mesh_bdev_init(void)
{
	return bioset_init(&mesh_bios, 64, 0, BIOSET_NEED_BVECS);
}

void mesh_bdev_exit(void)
{
	bioset_exit(&mesh_bios);
}
