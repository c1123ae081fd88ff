// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members that are a local block device: a local drive, or one that the kernel
 * connected over NVMe/TCP or NVMe/RDMA.
 *
 *   submit -> bio -> queue -> worker -> submit_bio -> end_io -> mesh_mio_end
 *                                                       '-> flush first, after
 *                                                           zeroes and discards
 *
 * A worker sends the bios, since submit_bio() may sleep and the submitter must not. Writes carry
 * FUA: the block layer drops the flag for a device without a cache, and makes a flush of it for a
 * device without FUA. Nothing is staged: the device is local.
 *
 * There is no kick: a bio in the device may still read or write the request's pages, and the
 * device's sectors, so a request must not end before its bios. A copy of each payload would free
 * the pages and not the sectors: the late bio could overwrite newer data. So each I/O ends when the
 * device ends it; the lower driver decides how long that takes (docs/sysfs.md). A group may leave
 * I/O to the member, which does not serve until that I/O has ended (abandoned.h). Left I/O that
 * uses a request's pages still holds the request (group/leave.c).
 *
 * An open, and the read of the label, may take any time as well: a separate work does both, and
 * outlives a member that goes meanwhile.
 *
 * A member with a drive UUID is the drive whose label has that UUID, whatever name the device has.
 * The label is read when the device is exclusively open, for its name may be another device's by
 * then. Such a drive may be away, and come back as another device:
 *
 *   open without a path -> GONE <---- the device goes ---- UP
 *                           '--- a layout names a path ---->'
 *   open with a path -> DOWN --it is open----------------->'
 *                        '--it cannot be opened--> GONE
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "driver/compat/bdev.h"
#include "driver/member/member.h"
#include "driver/work.h"

/* How often an idle device is polled; a device with I/O reports by errors of the I/O. */
#define MESH_BDEV_LOOK_MS	1000

/* A device that was opened. Kept until the member is closed: bios may still name the device. */
struct mesh_bdev_dev {
	struct mesh_bdev_handle	handle;
	struct mesh_bdev_dev	*before;	/* the drive's former device, which has gone */
};

/* A device that is being opened, in a separate work. */
struct bdev_opening {
	struct work_struct	work;
	struct mesh_bdev	*mb;	/* the member; NULL: none any more; under bdev_openings */
	char			path[MESH_PATH_MAX];
	uuid_t			drive;		/* UUID that the label must have, or null */
	bool			rw;
	u64			start;		/* byte of the device where the member begins */
	/* the result: */
	struct mesh_bdev_dev	*dev;		/* NULL: failed, with: */
	int			err;
	const char		*why;
	struct mesh_member_info	info;		/* properties of the device */
};

/* A member. */
struct mesh_bdev {
	struct mesh_member	*member;	/* back */
	/*
	 * the device; NULL: none was opened yet. Written by look_work and by the close; read
	 * anywhere
	 */
	struct mesh_bdev_dev	*dev;
	char			next[MESH_PATH_MAX];	/* path to be opened; under path_lock */
	struct bdev_opening	*opening;	/* the open in progress; under bdev_openings */
	struct bdev_opening	*opened;	/* the finished open, for look_work; likewise */
	bool			closing;	/* no open begins any more; likewise */
	/* the first open goes on, or is repeated; private to look_work */
	bool			first;
	struct llist_head	queue;		/* bios to be sent, newest first */
	struct work_struct	work;		/* sends the bios of @queue */
	/*
	 * checks if the device has gone. Kernels before 6.5 do not notify the holder of a device,
	 * so all devices are polled
	 */
	struct delayed_work	look_work;
	/* not shared, so that a device that blocks delays no other */
	struct workqueue_struct	*wq;
};

static struct bio_set mesh_bios;

/* Opens devices. An open may take any time, and delays no other open. */
static struct workqueue_struct *bdev_open_wq;

/* Guards the links between members and opens of their devices: @mb, @opening, @opened, @closing. */
static DEFINE_MUTEX(bdev_openings);

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

static struct bio *bdev_bio(const struct mesh_bdev_dev *dev, struct mesh_mio *mio)
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
	bio = bio_alloc_bioset(dev->handle.bdev, mio->io.nents, opf, GFP_NOWAIT | __GFP_NOWARN,
			       &mesh_bios);
	if (!bio)
		return NULL;
	bio->bi_iter.bi_sector = (mio->member->conf.start + mio->io.addr) >> SECTOR_SHIFT;
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

/*
 * Return: the device that a bio in flight was sent to: no other device is opened before all bios
 * are back. The bio itself may name another device by now, a lower one.
 */
static struct block_device *bdev_of(const struct mesh_bdev *mb)
{
	return READ_ONCE(mb->dev)->handle.bdev;
}

static bool bdev_is_gone(struct block_device *bdev)
{
	return test_bit(GD_DEAD, &bdev->bd_disk->state) || blk_queue_dying(bdev_get_queue(bdev));
}

/* Zeroes and discards, which have no FUA, are durable after this flush. */
static void bdev_flush_after(struct mesh_bdev *mb, struct mesh_mio *mio, struct bio *bio)
{
	bio_reset(bio, bdev_of(mb), REQ_OP_WRITE | REQ_PREFLUSH);
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

	if (unlikely(err && bdev_is_gone(bdev_of(mb)))) {
		mod_delayed_work(mb->wq, &mb->look_work, 0);
		err = -ENODEV;
	}
	if (!err && (mio->op == PROT_DISCARD || mio->op == PROT_ZEROES) &&
	    (bio_op(bio) == REQ_OP_DISCARD || bio_op(bio) == REQ_OP_WRITE_ZEROES) &&
	    bdev_write_cache(bdev_of(mb))) {
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

static void bdev_submit(struct mesh_member *m, struct mesh_mio *mio)
{
	struct mesh_bdev *mb = m->priv;
	/* pairs with bdev_use() */
	struct mesh_bdev_dev *dev = smp_load_acquire(&mb->dev);
	struct bio *bio = dev ? bdev_bio(dev, mio) : NULL;

	if (!dev)
		mesh_mio_end(mio, -ENODEV);
	else if (!bio)
		mesh_mio_end(mio, -ENOMEM);
	else
		bdev_queue(mb, mio, bio);
}

static void bdev_commit(struct mesh_member *m, unsigned int queue)
{
	struct mesh_bdev *mb = m->priv;

	queue_work(mb->wq, &mb->work);
}

static void bdev_fill_info(struct block_device *bdev, u64 start, struct mesh_member_info *info)
{
	unsigned int discard = bdev_max_discard_sectors(bdev);

	*info = (struct mesh_member_info) {
		.bytes = bdev_nr_bytes(bdev) - min_t(u64, start, bdev_nr_bytes(bdev)),
		.lba = bdev_logical_block_size(bdev),
		.phys = bdev_physical_block_size(bdev),
		.queues = num_online_cpus(),
		.discard_bytes = discard ? max(bdev_discard_granularity(bdev), 512U) : 0,
		.write_zeroes = bdev_write_zeroes_sectors(bdev),
		.rotational = !bdev_nonrot(bdev),
		.dma_mask = bdev_dma_alignment(bdev),
	};
}

/*
 * Check that the copy of the label at byte @at names the drive. Return: 0; -ESTALE: the copy names
 * another drive; -ENODATA: there is no label; or the error of the read.
 */
static int bdev_label(struct block_device *bdev, u64 at, struct page *page, const uuid_t *drive)
{
	struct bio_vec vec;
	struct bio bio;
	const u8 *label = page_address(page);
	__le64 magic;
	int err;

	bio_init(&bio, bdev, &vec, 1, REQ_OP_READ);
	bio.bi_iter.bi_sector = at >> SECTOR_SHIFT;
	__bio_add_page(&bio, page, PAGE_SIZE, 0);
	err = submit_bio_wait(&bio);
	bio_uninit(&bio);
	if (err)
		return err;
	memcpy(&magic, label, sizeof(magic));
	if (le64_to_cpu(magic) != MESHBLK_LABEL_MAGIC)
		return -ENODATA;
	return memcmp(label + MESHBLK_LABEL_DRIVE, drive, UUID_SIZE) ? -ESTALE : 0;
}

/*
 * Check the label, with the device exclusively open: no other program overwrites the label any
 * more.
 */
static int bdev_identity(struct block_device *bdev, const uuid_t *drive, const char **why)
{
	u64 bytes = bdev_nr_bytes(bdev);
	struct page *page;
	int err, last;

	if (uuid_is_null(drive))
		return 0;
	if (bytes < 2 * MESHBLK_LABEL_AREA) {
		*why = "the device is smaller than the labels of a drive: it is another one";
		return -ESTALE;
	}
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	err = bdev_label(bdev, 0, page, drive);
	last = bdev_label(bdev, bytes - MESHBLK_LABEL_AREA, page, drive);
	/*
	 * One good copy is enough where the other was torn. If a copy names another drive, the
	 * device is that drive by now, or a copy of that drive was written over a part of the
	 * device.
	 */
	if (err == -ESTALE || last == -ESTALE || (err == -ENODATA && last == -ENODATA))
		err = -ESTALE;
	else if (!last)
		err = 0;
	__free_page(page);
	if (err == -ESTALE)
		*why = "not the label of this drive: it is another one";
	else if (err)
		*why = "the label of the device cannot be read";
	return err;
}

static int bdev_check(const struct bdev_opening *o, struct block_device *bdev, const char **why)
{
	if (o->info.lba != 512 && o->info.lba != 4096) {
		*why = "the device's logical block is neither 512 nor 4096 bytes";
		return -EINVAL;
	}
	if (bdev_is_zoned(bdev)) {
		*why = "the device is zoned";
		return -EINVAL;
	}
	if (o->rw && bdev_read_only(bdev)) {
		*why = "the device is read-only";
		return -EROFS;
	}
	return bdev_identity(bdev, &o->drive, why);
}

static void bdev_dev_close(struct mesh_bdev_dev *dev)
{
	if (!dev)
		return;
	mesh_compat_close_bdev(&dev->handle);
	kfree(dev);
}

/* Open a device and check it. Return: 0 or a negative errno, with o->why set; NULL: no memory. */
static int bdev_take(struct bdev_opening *o)
{
	struct mesh_bdev_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int err;

	if (!dev)
		return -ENOMEM;
	err = mesh_compat_open_bdev(&dev->handle, o->path, o->rw, &mesh_bdev_holder);
	if (err) {
		o->why = "cannot open the device; is it in use?";
		kfree(dev);
		return err;
	}
	bdev_fill_info(dev->handle.bdev, o->start, &o->info);
	err = bdev_check(o, dev->handle.bdev, &o->why);
	if (err)
		bdev_dev_close(dev);
	else
		o->dev = dev;
	return err;
}

static void bdev_opening_free(struct bdev_opening *o)
{
	if (!o)
		return;
	bdev_dev_close(o->dev);
	kfree(o);
	module_put(THIS_MODULE);
}

static void bdev_opening_work(struct work_struct *work)
{
	struct bdev_opening *o = container_of(work, struct bdev_opening, work);
	/* not mesh_noio_begin(): any opener of the disk holds the disk's lock over reclaim */
	unsigned int noio = memalloc_noio_save();
	struct mesh_bdev *mb;

	o->err = bdev_take(o);
	mutex_lock(&bdev_openings);
	mb = o->mb;
	if (mb) {
		mb->opening = NULL;
		mb->opened = o;
		mod_delayed_work(mb->wq, &mb->look_work, 0);
	}
	mutex_unlock(&bdev_openings);
	if (!mb)
		bdev_opening_free(o);
	memalloc_noio_restore(noio);
}

/* Begin to open a device for a member. Return: 0 or -ENOMEM. */
static int bdev_begin(struct mesh_bdev *mb, const char *path)
{
	const struct mesh_member_conf *conf = &mb->member->conf;
	struct bdev_opening *o = kzalloc(sizeof(*o), GFP_KERNEL);
	bool closing;

	if (!o)
		return -ENOMEM;
	INIT_WORK(&o->work, bdev_opening_work);
	/* the open may outlive the member, which pins the module, too */
	__module_get(THIS_MODULE);
	o->mb = mb;
	strscpy(o->path, path, sizeof(o->path));
	o->drive = conf->drive;
	o->rw = conf->rw;
	o->start = conf->start;
	mutex_lock(&bdev_openings);
	closing = mb->closing;
	if (!closing)
		mb->opening = o;
	mutex_unlock(&bdev_openings);
	if (closing)
		bdev_opening_free(o);
	else
		queue_work(bdev_open_wq, &o->work);
	return 0;
}

/* Send I/O to @dev from now on. The former device has gone, and all its I/O is back. */
static void bdev_use(struct mesh_bdev *mb, struct mesh_bdev_dev *dev,
		     const struct mesh_member_info *info)
{
	mutex_lock(&mb->member->lock);
	mb->member->info = *info;
	mutex_unlock(&mb->member->lock);
	dev->before = mb->dev;
	/* pairs with bdev_submit(): a submitter that sees the device sees it open */
	smp_store_release(&mb->dev, dev);
	mesh_member_set_state(mb->member, MESH_MEMBER_UP, 0);
}

/* The open of @path has ended: do not try that path again, but try a path that was named since. */
static void bdev_tried(struct mesh_bdev *mb, const char *path, bool open)
{
	struct mesh_member *m = mb->member;

	spin_lock(&m->path_lock);
	if (!strcmp(mb->next, path))
		mb->next[0] = 0;
	if (open)
		strscpy(m->conf.path, path, sizeof(m->conf.path));
	spin_unlock(&m->path_lock);
}

/* Take the result of an open. Return: true if the same path is to be tried again, later. */
static bool bdev_took(struct mesh_bdev *mb, struct bdev_opening *o)
{
	struct mesh_member *m = mb->member;
	int err = o->err;

	/* Last: this call notes the device as the member's; a refused device must not be noted. */
	if (!err)
		err = mesh_member_bdev_taken(m, o->dev->handle.bdev->bd_dev, &o->why);
	if (err == -EAGAIN) {
		/* the member comes up when the abandoned I/O at the device has ended */
		mesh_member_set_state(m, MESH_MEMBER_DOWN, -EBUSY);
		mesh_member_opened(m, 0, NULL);
		return true;
	}
	bdev_tried(mb, o->path, !err);
	if (!err) {
		bdev_use(mb, o->dev, &o->info);
		o->dev = NULL;
	} else {
		mesh_member_set_state(m, MESH_MEMBER_GONE, err);
		pr_warn("%s: not taken as a member: %s: error %d\n", o->path, o->why ?: "no memory",
			err);
	}
	mb->first = false;
	mesh_member_opened(m, err, o->why);
	return false;
}

/* Open the path at which the drive is said to be. No I/O to the former device may be in flight. */
static void bdev_return(struct mesh_bdev *mb)
{
	struct mesh_member *m = mb->member;
	char path[MESH_PATH_MAX];

	spin_lock(&m->path_lock);
	strscpy(path, mb->next, sizeof(path));
	spin_unlock(&m->path_lock);
	if (!path[0] || READ_ONCE(mb->opening))
		return;
	if (mesh_member_inflight(m) || bdev_begin(mb, path))
		bdev_look_later(mb);
}

static struct bdev_opening *bdev_opened(struct mesh_bdev *mb)
{
	struct bdev_opening *o;

	mutex_lock(&bdev_openings);
	o = mb->opened;
	mb->opened = NULL;
	mutex_unlock(&bdev_openings);
	return o;
}

/*
 * Take a finished open, and check the device. A device that has gone does not come back: another
 * device takes its place.
 */
static void bdev_look_work(struct work_struct *work)
{
	struct mesh_bdev *mb = container_of(to_delayed_work(work), struct mesh_bdev, look_work);
	unsigned int noio = memalloc_noio_save();
	struct bdev_opening *o = bdev_opened(mb);
	bool later = o && bdev_took(mb, o);

	bdev_opening_free(o);
	if (mb->dev && !bdev_is_gone(mb->dev->handle.bdev)) {
		spin_lock(&mb->member->path_lock);
		mb->next[0] = 0;
		spin_unlock(&mb->member->path_lock);
		later = true;
	} else {
		if (!mb->first)
			mesh_member_set_state(mb->member, MESH_MEMBER_GONE, -ENODEV);
		if (!later)
			bdev_return(mb);
	}
	if (later)
		bdev_look_later(mb);
	memalloc_noio_restore(noio);
}

static void bdev_moved(struct mesh_member *m, const char *path)
{
	struct mesh_bdev *mb = m->priv;

	spin_lock(&m->path_lock);
	strscpy(mb->next, path, sizeof(mb->next));
	spin_unlock(&m->path_lock);
	mod_delayed_work(mb->wq, &mb->look_work, 0);
}

static int bdev_open(struct mesh_member *m, struct netlink_ext_ack *extack)
{
	struct mesh_bdev *mb = kzalloc(sizeof(*mb), GFP_KERNEL);

	if (!mb)
		return -ENOMEM;
	mb->member = m;
	init_llist_head(&mb->queue);
	INIT_WORK(&mb->work, bdev_work);
	INIT_DELAYED_WORK(&mb->look_work, bdev_look_work);
	mb->wq = alloc_workqueue("meshbdev", WQ_MEM_RECLAIM | WQ_UNBOUND, 2);
	if (!mb->wq) {
		kfree(mb);
		return -ENOMEM;
	}
	m->priv = mb;
	if (!m->conf.path[0]) {
		mesh_member_set_state(m, MESH_MEMBER_GONE, -ENODEV);
		return 0;
	}
	mb->first = true;
	strscpy(mb->next, m->conf.path, sizeof(mb->next));
	queue_delayed_work(mb->wq, &mb->look_work, 0);
	return -EINPROGRESS;
}

static void bdev_close(struct mesh_member *m)
{
	struct mesh_bdev *mb = m->priv;
	struct mesh_bdev_dev *dev;

	/*
	 * a device that is being opened is closed after its open, whenever that ends; look_work,
	 * which may be running, begins no other open, so nothing queues look_work again
	 */
	mutex_lock(&bdev_openings);
	mb->closing = true;
	if (mb->opening)
		mb->opening->mb = NULL;
	mutex_unlock(&bdev_openings);
	cancel_delayed_work_sync(&mb->look_work);
	bdev_opening_free(mb->opened);
	destroy_workqueue(mb->wq);
	while ((dev = mb->dev)) {
		mb->dev = dev->before;
		bdev_dev_close(dev);
	}
	kfree(mb);
}

const struct mesh_member_ops mesh_bdev_ops = {
	.kind = "bdev",
	.keeps = true,
	.open = bdev_open,
	.close = bdev_close,
	.submit = bdev_submit,
	.commit = bdev_commit,
	.moved = bdev_moved,
};

int mesh_bdev_init(void)
{
	int err;

	bdev_open_wq = alloc_workqueue("meshbdev_open", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!bdev_open_wq)
		return -ENOMEM;
	err = bioset_init(&mesh_bios, 64, 0, BIOSET_NEED_BVECS);
	if (err)
		destroy_workqueue(bdev_open_wq);
	return err;
}

void mesh_bdev_exit(void)
{
	destroy_workqueue(bdev_open_wq);
	bioset_exit(&mesh_bios);
}
