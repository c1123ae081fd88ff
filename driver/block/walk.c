// SPDX-License-Identifier: GPL-2.0-only
/* Pages of a request. See walk.h. */
#include <linux/highmem.h>
#include <linux/slab.h>

#include "driver/block/walk.h"
#include "driver/volume/volume.h"

void mesh_walk_start(struct mesh_walk *w, struct request *rq)
{
	w->bio = rq->bio;
	w->iter = rq->bio->bi_iter;
	w->at = 0;
}

/* Count @n bytes of @w's iterator as done. */
static void walk_past(struct mesh_walk *w, u32 n)
{
	w->at += n;
	if (!w->iter.bi_size && w->bio->bi_next) {
		w->bio = w->bio->bi_next;
		w->iter = w->bio->bi_iter;
	}
}

static void walk_on(struct mesh_walk *w, u32 n)
{
	bvec_iter_advance(w->bio->bi_io_vec, &w->iter, n);
	walk_past(w, n);
}

static void walk_to(struct mesh_walk *w, u32 at)
{
	while (w->at < at)
		walk_on(w, min(at - w->at, w->iter.bi_size));
}

/*
 * Put the next @left bytes of @w's bio, which has that many, into @sg. Return: the next free entry.
 */
static struct scatterlist *walk_bio_sg(struct mesh_walk *w, u32 left, struct scatterlist *sg)
{
	const struct bio_vec *bv = w->bio->bi_io_vec + w->iter.bi_idx;
	u32 done = w->iter.bi_bvec_done;	/* of *bv */

	w->iter.bi_size -= left;
	while (left) {
		u32 n = min3(left, bv->bv_len - done, MESH_SEGMENT_BYTES);
		u32 at = bv->bv_offset + done;

		sg_set_page(sg++, nth_page(bv->bv_page, at >> PAGE_SHIFT), n, offset_in_page(at));
		left -= n;
		done += n;
		if (done == bv->bv_len) {
			done = 0;
			bv++;
		}
	}
	w->iter.bi_idx = bv - w->bio->bi_io_vec;
	w->iter.bi_bvec_done = done;
	return sg;
}

/* Put the pages of @run, which does not begin before @w, into @sg. Return: the next free entry. */
struct scatterlist *mesh_walk_sg(struct mesh_walk *w, const struct prot_run *run,
				 struct scatterlist *sg)
{
	u32 left = run->length;

	walk_to(w, run->offset);
	while (left) {
		u32 part = min(left, w->iter.bi_size);

		sg = walk_bio_sg(w, part, sg);
		walk_past(w, part);
		left -= part;
	}
	return sg;
}

/* Copy the bytes of @run from the request to @buf, or with @out from @buf to the request. */
void mesh_walk_copy(struct mesh_walk *w, const struct prot_run *run, void *buf, bool out)
{
	u32 left = run->length;

	walk_to(w, run->offset);
	while (left) {
		struct bio_vec bv = bvec_iter_bvec(w->bio->bi_io_vec, w->iter);
		u32 n = min(left, bv.bv_len);

		if (out)
			memcpy_to_page(bv.bv_page, bv.bv_offset, buf, n);
		else
			memcpy_from_page(buf, bv.bv_page, bv.bv_offset, n);
		buf += n;
		walk_on(w, n);
		left -= n;
	}
}

/*
 * A constructor: slabs with one are neither cleared nor poisoned. A kernel that clears allocations
 * would clear KiB for each large I/O, which uses a few entries and initializes these itself.
 */
static void walk_sgs_new(void *sgs)
{
}

/*
 * Make a cache of scatterlists of @entries entries each, not initialized. Return: the cache or
 * NULL.
 */
struct kmem_cache *mesh_walk_sgs_cache(const char *name, unsigned int entries)
{
	return kmem_cache_create(name, entries * sizeof(struct scatterlist), 0, SLAB_HWCACHE_ALIGN,
				 IS_ENABLED(CONFIG_KASAN) ? NULL : walk_sgs_new);
}

/* mempool_init_slab_pool() takes no cache with a constructor: so the pool has these functions. */
static void *walk_sgs_alloc(gfp_t gfp, void *cache)
{
	return kmem_cache_alloc(cache, gfp);
}

static void walk_sgs_free(void *sgs, void *cache)
{
	kmem_cache_free(cache, sgs);
}

/*
 * Make a pool of the cache's scatterlists. @cache: of mesh_walk_sgs_cache(). @nr: kept in reserve.
 * Return: 0 or -ENOMEM. Sleeps.
 */
int mesh_walk_sgs_reserve(mempool_t *pool, unsigned int nr, struct kmem_cache *cache)
{
	return mempool_init(pool, nr, walk_sgs_alloc, walk_sgs_free, cache);
}
