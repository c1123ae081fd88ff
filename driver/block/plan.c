// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a request's op: gets member I/O from the policy, gives each I/O a share of the request's
 * pages, sends the I/O, and feeds the results back.
 *
 * A request structure has room for one I/O of few pages, which is enough for most requests. Further
 * I/Os come from the volume's mempools without waiting; when a mempool is empty the batch ends
 * early, and the rest is planned after the batch has ended. A request of which not even one I/O can
 * be sent is requeued.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "driver/block/request.h"
#include "driver/block/walk.h"
#include "driver/volume/volume.h"

#define MESH_RESERVE_MIOS	32
#define MESH_RESERVE_SGS	8

#define MESH_RESERVE_PARTS	16

static struct kmem_cache *mesh_mio_cache, *mesh_sg_cache, *mesh_part_cache;

#ifdef MESH_FAULTS
static unsigned int mesh_starve;
module_param_named(starve, mesh_starve, uint, 0644);
MODULE_PARM_DESC(starve, "every Nth member I/O finds no memory, for tests; 0: none");

static bool mesh_plan_starved(void)
{
	unsigned int every = READ_ONCE(mesh_starve);
	static atomic_t n = ATOMIC_INIT(0);

	return every && !((unsigned int)atomic_inc_return(&n) % every);
}
#else
static bool mesh_plan_starved(void)
{
	return false;
}
#endif

/*
 * Fill in @sg for an I/O of all bytes of a request, if these are one piece of memory. Return: true
 * if they are.
 */
static bool plan_sg_one(struct request *rq, struct scatterlist *sg, u32 bytes)
{
	struct bio *bio = rq->bio;
	struct bio_vec bv;

	if (bytes != bio->bi_iter.bi_size || bio->bi_next || bytes > MESH_SEGMENT_BYTES)
		return false;
	bv = mp_bvec_iter_bvec(bio->bi_io_vec, bio->bi_iter);
	if (bv.bv_len != bytes)
		return false;
	sg_set_page(sg, nth_page(bv.bv_page, bv.bv_offset >> PAGE_SHIFT), bytes,
		    offset_in_page(bv.bv_offset));
	return true;
}

/* Put the pages of an I/O into its scatterlist, which has room for them. */
static void mesh_plan_sg(struct request *rq, struct mesh_mio *mio, const struct prot_io *io,
			 const struct prot_run *runs)
{
	struct scatterlist *sg = mio->io.sg;
	struct mesh_walk w;
	unsigned int i;

	mio->io.nents = io->nr_runs;
	if (!io->nr_runs)
		return;
	if (likely(io->nr_runs == 1) && plan_sg_one(rq, sg, runs->length)) {
		sg_mark_end(sg);
		return;
	}
	mesh_walk_start(&w, rq);
	for (i = 0; i < io->nr_runs; i++) {
		mesh_walk_seek(&w, rq, runs[i].offset);
		sg = mesh_walk_sg(&w, &runs[i], sg);
	}
	mio->io.nents = sg - mio->io.sg;
	sg_mark_end(sg - 1);
}

/* sg_init_table(), without its two calls for one entry, the usual case. */
static void plan_sg_init(struct scatterlist *sg, unsigned int entries)
{
	if (likely(entries == 1)) {
		*sg = (struct scatterlist){};
		sg_init_marker(sg, 1);
	} else {
		sg_init_table(sg, entries);
	}
}

/* Get an I/O with @entries scatter entries. Return: NULL if there is no memory. */
static struct mesh_mio *mesh_plan_mio(struct mesh_volume *vol, struct mesh_req *req,
				      unsigned int entries)
{
	struct mesh_mio *mio = &req->mio;
	struct scatterlist *sg = NULL;

	if (mesh_plan_starved())
		return NULL;
	if (unlikely(req->busy)) {
		mio = mempool_alloc(&vol->mios, GFP_ATOMIC | __GFP_NOWARN);
		if (!mio)
			return NULL;
	}
	if (likely(entries <= MESH_SG_INLINE && !req->busy)) {
		sg = req->sg;
	} else if (entries) {
		sg = mempool_alloc(&vol->sgs, GFP_ATOMIC | __GFP_NOWARN);
		if (!sg) {
			if (req->busy)
				mempool_free(mio, &vol->mios);
			return NULL;
		}
	}
	if (entries)
		plan_sg_init(sg, entries);
	req->busy = true;
	mio->io.sg = sg;
	return mio;
}

static void mesh_plan_free(struct mesh_volume *vol, struct mesh_req *req, struct mesh_mio *mio)
{
	if (mio->io.sg && mio->io.sg != req->sg)
		mempool_free(mio->io.sg, &vol->sgs);
	if (likely(mio == &req->mio))
		req->busy = false;
	else
		mempool_free(mio, &vol->mios);
}

static void mesh_plan_fill(struct mesh_req *req, struct mesh_mio *mio, struct mesh_member *m,
			   const struct prot_io *io)
{
	mio->member = m;
	mio->io.addr = io->addr;
	mio->io.len = io->length;
	mio->io.queue = req->queue;
	mio->op = io->kind;
	mio->io.flags = io->kind == PROT_ZEROES && !(io->flags & PROT_NOUNMAP) ? RDDA_IO_UNMAP : 0;
	if (blk_mq_rq_from_pdu(req)->cmd_flags & REQ_POLLED)
		mio->io.flags |= RDDA_IO_POLLED;
	mio->tag = io->tag;
	mio->err = MESH_MIO_RUNNING;
	mio->stage = NULL;
	mio->next = req->mios;
	/* pairs with mesh_mq_timeout(), which walks the list while more I/Os are planned */
	smp_store_release(&req->mios, mio);
}

/*
 * Send a member I/O of the request. @done: called with @priv set at the end of the I/O; sets
 * mio->err. @single: the request has no other I/O, and may be over before this returns. Return:
 * false if there is no memory.
 */
static __always_inline bool plan_send(struct mesh_req *req, struct mesh_member *m,
				      const struct prot_io *io, const struct prot_run *runs,
				      void (*done)(struct mesh_mio *mio, int err), void *priv,
				      bool single, struct mesh_batch *batch)
{
	struct request *rq = blk_mq_rq_from_pdu(req);
	unsigned int entries = 0;
	u16 queue = req->queue;
	struct mesh_mio *mio;
	bool post;

	/* runs are cut out of segments: each end of a run may cut a segment in two */
	if (io->nr_runs)
		entries = blk_rq_nr_phys_segments(rq) + io->nr_runs - 1;
	mio = mesh_plan_mio(rq->q->queuedata, req, entries);
	if (unlikely(!mio))
		return false;
	mesh_plan_sg(rq, mio, io, runs);
	mio->done = done;
	mio->priv = priv;
	if (single) {
		req->single = true;
		atomic_set(&req->left, 1);
	}
	mesh_plan_fill(req, mio, m, io);
	/* a lone request: one call submits and commits */
	post = single && batch->last && !batch->n && m->ops->posts;
	if (post)
		mio->io.flags |= RDDA_IO_POST;
	mesh_member_submit(m, mio);
	if (!post)
		mesh_batch_add(batch, m, queue);
	return true;
}

/* Run the group after all requests of the batch are in its inbox, so that writes may join. */
static void plan_run_later(struct mesh_batch *batch, struct mesh_group *g)
{
	unsigned int i;

	for (i = batch->nr_groups; i--;)
		if (batch->groups[i] == g)
			return;
	if (batch->nr_groups == ARRAY_SIZE(batch->groups))
		mesh_batch_run(batch);
	batch->groups[batch->nr_groups++] = g;
}

static void plan_read_done(struct mesh_mio *mio, int err)
{
	struct mesh_part *part = mio->priv;

	if (unlikely(err))
		mesh_group_read_failed(part->group, mio->member, err);
	WRITE_ONCE(mio->err, err);
	mesh_group_read_ended(part, err);
}

/* Send a piece of a read around the group's engine. Return: 0 or -ENOMEM. */
static int plan_read_piece(struct mesh_part *part, struct mesh_member *m, struct prot_io *io,
			   struct mesh_batch *batch)
{
	struct prot_run runs[PROT_RUNS_MAX] __mesh_uninit;

	io->nr_runs = prot_runs_cut(part->runs, part->nr_runs, part->pos - io->length, io->length,
				    runs);
	io->kind = PROT_READ;
	io->flags = part->flags;
	io->tag = part->tag;
	return plan_send(part->req, m, io, runs, plan_read_done, part, false, batch) ? 0 : -ENOMEM;
}

/* Send a read's pieces directly to the members. Return: false: the engine must do the read. */
static bool plan_read(struct mesh_part *part, struct mesh_batch *batch)
{
	struct mesh_member *m;
	struct prot_io io;
	int err = 0;

	if (!mesh_group_read_begin(part))
		return false;
	while (!err && (m = mesh_group_read_next(part, &io))) {
		err = plan_read_piece(part, m, &io, batch);
		if (err)
			mesh_group_read_ended(part, err);
	}
	mesh_group_read_ended(part, err);
	return true;
}

/* Hand an I/O of the batch to its group. Return: false if there is no memory. */
static bool mesh_plan_part(struct mesh_req *req, const struct prot_io *io,
			   const struct prot_run *runs,
			   void (*done)(struct mesh_part *part, int err), struct mesh_batch *batch)
{
	struct mesh_volume *vol = blk_mq_rq_from_pdu(req)->q->queuedata;
	struct mesh_part *part;

	part = mesh_plan_starved() ? NULL : mempool_alloc(&vol->parts, GFP_ATOMIC | __GFP_NOWARN);
	if (!part)
		return false;
	part->msg.kind = MESH_MSG_PART;
	part->group = req->layout->groups[io->member];
	part->req = req;
	part->done = done;
	part->addr = io->addr;
	part->length = io->length;
	part->pos = 0;
	part->out = 0;
	part->tag = io->tag;
	part->err = MESH_MIO_RUNNING;
	part->worst = 0;
	part->kind = io->kind;
	part->flags = io->flags;
	part->nr_runs = io->nr_runs;
	memcpy(part->runs, runs, io->nr_runs * sizeof(*runs));
	part->next = req->parts;
	req->parts = part;
	/* the engine does a read whose direct try was not right */
	if (part->kind == PROT_READ && !req->direct && plan_read(part, batch))
		return true;
	llist_add(&part->msg.node, &part->group->inbox);
	plan_run_later(batch, part->group);
	return true;
}

/* Return: true if an I/O of the request's op covers the whole request. */
static bool plan_is_all(struct mesh_req *req, const struct prot_io *io)
{
	return io->kind <= PROT_WRITE && io->length == blk_rq_bytes(blk_mq_rq_from_pdu(req));
}

/*
 * Send a request that is one I/O by prot_single(). @req: owned by the caller until this call, with
 * its layout pinned. @batch, @done and the context: as for mesh_plan_batch(), but never in a hard
 * interrupt. Return: false, with nothing sent, if there is no memory.
 */
bool mesh_plan_single(struct mesh_req *req, const struct prot_io *io, struct mesh_batch *batch,
		      void (*done)(struct mesh_mio *mio, int err))
{
	struct mesh_member *m = req->layout->member_slots[io->member].member;
	struct prot_run run = { .length = io->length };

	return plan_send(req, m, io, &run, done, req, true, batch);
}

/*
 * As mesh_plan_single(), for a read of a group: sent if one member has all of it and the group's
 * engine need not take part. The caller checks the result by mesh_group_read_right(). Return:
 * false, with nothing sent, if the engine must do the read or there is no memory.
 */
bool mesh_plan_direct(struct mesh_req *req, const struct prot_io *io, struct mesh_batch *batch,
		      void (*done)(struct mesh_mio *mio, int err))
{
	struct mesh_group *g = req->layout->groups[io->member];
	struct prot_run run = { .length = io->length };
	struct prot_io piece = *io;
	struct mesh_member *m = mesh_group_read_single(g, &piece, &req->seen);

	if (!m)
		return false;
	req->direct = g;
	req->direct_at = io->addr;
	if (likely(plan_send(req, m, &piece, &run, done, req, true, batch)))
		return true;
	req->direct = NULL;
	return false;
}

/*
 * Plan a batch of the op and send it. @req: its layout is pinned; the caller holds req->left.
 * @batch: gets the members that need a commit. @done: called at the end of each I/O; sets mio->err.
 * @part_done: called at the end of each part of a group; sets part->err. @sent: set to the number
 * of I/Os sent. Context: an RCU read section. Nothing is sent in a hard interrupt, where a local
 * device may have ended the batch before: members take no I/O there. Return: true: the op is over,
 * with its result in op.err. False with nothing sent: call again from another context.
 */
bool mesh_plan_batch(struct mesh_req *req, struct mesh_batch *batch,
		     void (*done)(struct mesh_mio *mio, int err),
		     void (*part_done)(struct mesh_part *part, int err), int *sent)
{
	struct prot_run runs[PROT_RUNS_MAX] __mesh_uninit;
	struct prot_io io __mesh_uninit;

	for (*sent = 0;; ++*sent) {
		struct prot_op saved = req->op;
		enum prot_verdict v = prot_op_next(&req->op, req->layout->prot, &io, runs);
		struct mesh_member *m;

		if (v != PROT_IO)
			return v == PROT_DONE;
		if (unlikely(in_hardirq())) {
			req->op = saved;
			return false;
		}
		if (unlikely(io.group_io)) {
			if (mesh_plan_part(req, &io, runs, part_done, batch)) {
				if (!plan_is_all(req, &io))
					continue;
				req->planned = true;
				++*sent;
				return false;
			}
			req->op = saved;
			if (!*sent)
				req->op.err = -ENOMEM;
			return !*sent;
		}
		m = req->layout->member_slots[io.member].member;
		if (unlikely(!plan_send(req, m, &io, runs, done, req, false, batch))) {
			/* the rest is planned when this batch has ended */
			req->op = saved;
			if (!*sent)
				req->op.err = -ENOMEM;
			return !*sent;
		}
	}
}

/* All I/Os of the batch have ended: give their results to the op, newest first. */
void mesh_plan_collect(struct mesh_req *req)
{
	struct mesh_volume *vol = blk_mq_rq_from_pdu(req)->q->queuedata;
	struct mesh_part *part = req->parts, *next_part;
	struct mesh_mio *mio = req->mios, *next;

	for (req->parts = NULL; unlikely(part); part = next_part) {
		next_part = part->next;
		prot_op_result(&req->op, part->tag, part->err);
		mempool_free(part, &vol->parts);
	}
	for (req->mios = NULL; mio; mio = next) {
		next = mio->next;
		/* pieces of a read report by their part */
		if (likely(mio->done != plan_read_done))
			prot_op_result(&req->op, mio->tag, mio->err);
		mesh_plan_free(vol, req, mio);
	}
}

/* The only I/O of a single request has ended: its result is the request's. */
void mesh_plan_single_end(struct mesh_req *req)
{
	req->single = false;
	req->op.err = req->mio.err;
	req->mios = NULL;
	mesh_plan_free(blk_mq_rq_from_pdu(req)->q->queuedata, req, &req->mio);
}

int mesh_plan_pools(struct mesh_volume *vol)
{
	int err = mempool_init_slab_pool(&vol->mios, MESH_RESERVE_MIOS, mesh_mio_cache);

	if (err)
		return err;
	err = mesh_walk_sgs_reserve(&vol->sgs, MESH_RESERVE_SGS, mesh_sg_cache);
	if (err)
		goto exit_mios;
	err = mempool_init_slab_pool(&vol->parts, MESH_RESERVE_PARTS, mesh_part_cache);
	if (err)
		goto exit_sgs;
	return 0;
exit_sgs:
	mempool_exit(&vol->sgs);
exit_mios:
	mempool_exit(&vol->mios);
	return err;
}

void mesh_plan_pools_exit(struct mesh_volume *vol)
{
	mempool_exit(&vol->parts);
	mempool_exit(&vol->sgs);
	mempool_exit(&vol->mios);
}

int mesh_plan_init(void)
{
	mesh_mio_cache = KMEM_CACHE(mesh_mio, SLAB_HWCACHE_ALIGN);
	mesh_part_cache = KMEM_CACHE(mesh_part, 0);
	mesh_sg_cache = mesh_walk_sgs_cache("mesh_sg", MESH_SG_MAX);
	if (mesh_mio_cache && mesh_part_cache && mesh_sg_cache)
		return 0;
	mesh_plan_exit();
	return -ENOMEM;
}

void mesh_plan_exit(void)
{
	kmem_cache_destroy(mesh_sg_cache);
	kmem_cache_destroy(mesh_part_cache);
	kmem_cache_destroy(mesh_mio_cache);
}
