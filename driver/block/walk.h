/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of a request: scatterlists of its pieces, copies from and to its pages. */
#ifndef DRIVER_WALK_H
#define DRIVER_WALK_H

#include <linux/blk-mq.h>
#include <linux/mempool.h>
#include <linux/scatterlist.h>

#include "protect/layout/prot.h"

/* A place in a request's pages. */
struct mesh_walk {
	struct bio *bio;
	struct bvec_iter iter;
	u32 at;
};

void mesh_walk_start(struct mesh_walk *w, struct request *rq);
struct scatterlist *mesh_walk_sg(struct mesh_walk *w, const struct prot_run *run,
				 struct scatterlist *sg);
void mesh_walk_copy(struct mesh_walk *w, const struct prot_run *run, void *buf, bool out);

struct kmem_cache *mesh_walk_sgs_cache(const char *name, unsigned int entries);
int mesh_walk_sgs_reserve(mempool_t *pool, unsigned int nr, struct kmem_cache *cache);

/* Allow pieces of a request in any order: start again if the piece at @at is before @w. */
static inline void mesh_walk_seek(struct mesh_walk *w, struct request *rq, u32 at)
{
	if (at < w->at)
		mesh_walk_start(w, rq);
}

#endif
