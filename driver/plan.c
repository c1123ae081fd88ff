// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a request's op: gets member I/O from the policy, gives each its share of
 * the request's pages, sends it, and feeds the results back.
 *
 * A request has room for one I/O of few pages in itself, which is all that
 * most ever need. Others come from the volume's mempools without waiting; when
 * those are empty the batch ends early and more is planned when it has ended.
 * When not even one can be sent the request is requeued.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "driver/trace.h"
#include "driver/volume.h"

#define MESH_RESERVE_MIOS	32
#define MESH_RESERVE_SGS	8

static struct kmem_cache *mesh_mio_cache, *mesh_sg_cache;

/*
 * Kernels that clear every local variable would clear 800 bytes here for each
 * request; prot_op_next() writes what is read.
 */
#if __has_attribute(__uninitialized__)
#define __mesh_uninit	__attribute__((__uninitialized__))
#else
#define __mesh_uninit
#endif

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

/* A place in a request's pages. */
struct mesh_walk {
	struct bio *bio;
	struct bvec_iter iter;
	u32 at;
};

static void mesh_walk_start(struct mesh_walk *w, struct request *rq)
{
	w->bio = rq->bio;
	w->iter = rq->bio->bi_iter;
	w->at = 0;
}

static void mesh_walk_on(struct mesh_walk *w, u32 n)
{
	w->at += n;
	bvec_iter_advance(w->bio->bi_io_vec, &w->iter, n);
	if (!w->iter.bi_size && w->bio->bi_next) {
		w->bio = w->bio->bi_next;
		w->iter = w->bio->bi_iter;
	}
}

static void mesh_walk_to(struct mesh_walk *w, u32 at)
{
	while (w->at < at)
		mesh_walk_on(w, min(at - w->at, w->iter.bi_size));
}

static struct scatterlist *mesh_walk_sg(struct mesh_walk *w, const struct prot_run *run,
					struct scatterlist *sg)
{
	u32 left = run->length;

	mesh_walk_to(w, run->offset);
	while (left) {
		struct bio_vec bv = mp_bvec_iter_bvec(w->bio->bi_io_vec, w->iter);
		u32 n = min3(left, bv.bv_len, MESH_SEGMENT_BYTES);

		sg_set_page(sg++, nth_page(bv.bv_page, bv.bv_offset >> PAGE_SHIFT), n,
			    offset_in_page(bv.bv_offset));
		mesh_walk_on(w, n);
		left -= n;
	}
	return sg;
}

/* The pages of an I/O; its sg has room for them. */
static void mesh_plan_sg(struct request *rq, struct mesh_mio *mio, const struct prot_io *io,
			 const struct prot_run *runs)
{
	struct scatterlist *sg = mio->io.sg;
	struct mesh_walk w;
	unsigned int i;

	if (!io->nr_runs) {
		mio->io.nents = 0;
		return;
	}
	mesh_walk_start(&w, rq);
	for (i = 0; i < io->nr_runs; i++) {
		if (runs[i].offset < w.at)
			mesh_walk_start(&w, rq);
		sg = mesh_walk_sg(&w, &runs[i], sg);
	}
	mio->io.nents = sg - mio->io.sg;
	sg_mark_end(sg - 1);
}

/* An I/O with @entries scatter entries, or NULL when there is none to be had. */
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
		sg_init_table(sg, entries);
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

static void mesh_plan_fill(struct mesh_req *req, struct mesh_mio *mio, const struct prot_io *io,
			   void (*done)(struct mesh_mio *mio, int err))
{
	mio->member = req->layout->member_slots[io->member].member;
	mio->io.addr = io->addr;
	mio->io.len = io->length;
	mio->io.queue = req->queue;
	mio->op = io->kind;
	mio->io.flags = io->kind == PROT_ZEROES && !(io->flags & PROT_NOUNMAP) ? RDDA_IO_UNMAP : 0;
	mio->tag = io->tag;
	mio->err = MESH_MIO_RUNNING;
	mio->stage = NULL;
	mio->done = done;
	mio->priv = req;
	mio->next = req->mios;
	/* the time-out handler walks these while more are planned */
	smp_store_release(&req->mios, mio);
}

/*
 * Plan and send what the op requests. @req: planned with its layout pinned; the caller holds
 * req->left. @batch: gets the members that want a commit. @done: how each I/O ends; sets mio->err.
 * @sent: set to the number of I/Os sent. In an RCU read section. Nothing is sent in a hard
 * interrupt, where a local device may end the batch before: members cannot be given I/O there.
 * Return: true when the op is over; op.err says how. False with nothing sent: to be called again
 * from elsewhere.
 */
bool mesh_plan_batch(struct mesh_req *req, struct mesh_batch *batch,
		     void (*done)(struct mesh_mio *mio, int err), int *sent)
{
	struct request *rq = blk_mq_rq_from_pdu(req);
	struct mesh_volume *vol = rq->q->queuedata;
	struct prot_run runs[PROT_RUNS_MAX] __mesh_uninit;
	struct prot_io io __mesh_uninit;

	for (*sent = 0;; ++*sent) {
		struct prot_op saved = req->op;
		enum prot_verdict v = prot_op_next(&req->op, req->layout->prot, &io, runs);
		unsigned int entries = 0;
		struct mesh_member *m;
		struct mesh_mio *mio;

		if (v != PROT_IO)
			return v == PROT_DONE;
		if (unlikely(in_hardirq())) {
			req->op = saved;
			return false;
		}
		/* runs are cut out of segments: each end may cut one in two */
		if (io.nr_runs)
			entries = blk_rq_nr_phys_segments(rq) + io.nr_runs - 1;
		mio = mesh_plan_mio(vol, req, entries);
		if (unlikely(!mio)) {
			/* later, when an I/O of this batch has ended */
			req->op = saved;
			if (!*sent)
				req->op.err = -ENOMEM;
			return !*sent;
		}
		mesh_plan_sg(rq, mio, &io, runs);
		mesh_plan_fill(req, mio, &io, done);
		m = mio->member;
		mesh_member_submit(m, mio);
		mesh_batch_add(batch, m, req->queue);
	}
}

/* All I/Os of the batch have ended: give the op the results, in the order of sending. */
void mesh_plan_collect(struct mesh_req *req)
{
	struct mesh_volume *vol = blk_mq_rq_from_pdu(req)->q->queuedata;
	struct mesh_mio *mio = req->mios, *next;

	for (req->mios = NULL; mio; mio = next) {
		next = mio->next;
		prot_op_result(&req->op, mio->tag, mio->err);
		mesh_plan_free(vol, req, mio);
	}
}

void mesh_batch_flush(struct mesh_batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->n; i++)
		mesh_member_commit(batch->to[i].member, batch->to[i].queue);
	/* pairs with mesh_hctx_flush(): a CPU that sees it empty may let the members go */
	smp_store_release(&batch->n, 0);
}

/*
 * Remember that a member wants a commit. @batch: of the caller, in an RCU read section until it is
 * flushed: that is what keeps the members there.
 */
void mesh_batch_add(struct mesh_batch *batch, struct mesh_member *m, u16 queue)
{
	unsigned int i;

	for (i = batch->n; i--;)
		if (batch->to[i].member == m && batch->to[i].queue == queue)
			return;
	if (batch->n == ARRAY_SIZE(batch->to))
		mesh_batch_flush(batch);
	batch->to[batch->n].member = m;
	batch->to[batch->n++].queue = queue;
}

int mesh_plan_pools(struct mesh_volume *vol)
{
	int err = mempool_init_slab_pool(&vol->mios, MESH_RESERVE_MIOS, mesh_mio_cache);

	if (err)
		return err;
	err = mempool_init_slab_pool(&vol->sgs, MESH_RESERVE_SGS, mesh_sg_cache);
	if (err)
		mempool_exit(&vol->mios);
	return err;
}

void mesh_plan_pools_exit(struct mesh_volume *vol)
{
	mempool_exit(&vol->sgs);
	mempool_exit(&vol->mios);
}

int mesh_plan_init(void)
{
	mesh_mio_cache = KMEM_CACHE(mesh_mio, SLAB_HWCACHE_ALIGN);
	if (!mesh_mio_cache)
		return -ENOMEM;
	mesh_sg_cache = kmem_cache_create("mesh_sg", sizeof(struct scatterlist) * MESH_SG_MAX,
					  0, SLAB_HWCACHE_ALIGN, NULL);
	if (!mesh_sg_cache) {
		kmem_cache_destroy(mesh_mio_cache);
		return -ENOMEM;
	}
	return 0;
}

void mesh_plan_exit(void)
{
	kmem_cache_destroy(mesh_sg_cache);
	kmem_cache_destroy(mesh_mio_cache);
}
