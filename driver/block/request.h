/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to a volume.
 *
 *   request.c   blk-mq's calls, time-outs, ends of requests
 *   retry.c     requests that wait: a member is down, or memory is short
 *   plan.c      an op run: member I/Os, scatterlists
 *   walk.[ch]   pages of a request
 *   batch.c     commits, until the last request of several
 *
 * Life of a request
 *
 *   queue_rq -> pin layout -> plan a batch -> member I/O ... -> last one ended
 *                  ^            ^   '-- more to plan -----------------'  |
 *                  |            '--------------------------------------  |
 *                  '---- requeued: a member is down, try again later <-----+
 *                                                                        '-> end
 */
#ifndef DRIVER_REQUEST_H
#define DRIVER_REQUEST_H

#include "driver/group/group.h"
#include "driver/volume/volume.h"

#define MESH_SG_INLINE		4	/* scatter entries within a request */
#define MESH_SG_MAX		(MESH_SEGMENTS + PROT_RUNS_MAX)
#define MESH_MIO_RUNNING	1	/* mio->err of a request's I/O that has not ended */
#define MESH_RETRY_MS_MIN	20	/* a requeued request is tried after ... */
#define MESH_RETRY_MS_MAX	1000	/* ... doubling up to this */

/* The state of a request: blk-mq's per-request data. */
struct mesh_req {
	struct prot_op		op;		/* the policy's state */
	struct mesh_layout	*layout;	/* pinned while @op runs */
	/*
	 * I/Os of the batch that have not ended; far more (MESH_PLANNING) while the batch is
	 * planned, and one more while the time-out handler checks. The context that brings the
	 * count to 0 goes on with the request
	 */
	atomic_t		left;
	u16			queue;		/* hardware queue */
	bool			busy;		/* @mio is in use */
	bool			single;		/* the request is @mio alone, without an op */
	/* the whole request is in the batch: the op has nothing more to plan */
	bool			planned;
	u32			tries;		/* how often the request was requeued */
	/* I/Os of the batch, newest first; @mio, if in use, is the last */
	struct mesh_mio		*mios;
	struct mesh_part	*parts;		/* I/Os of the batch to groups, newest first */
	/* group whose engine a single read goes around; kept until the request is planned again: */
	struct mesh_group	*direct;
	u64			direct_at;	/* where the read begins in the group's data */
	u32			seen;		/* sum of the read's buckets before the read */
	unsigned long		deadline;	/* jiffies */
	unsigned long		retry_at;	/* jiffies, while in vol->retry */
	union {
		struct list_head	node;	/* in vol->retry, under vol->retry_lock */
		struct llist_node	ready;	/* in vol->ready */
	};
	struct mesh_mio		mio;		/* the first I/O, or the only one */
	struct scatterlist	sg[MESH_SG_INLINE];	/* of @mio, if large enough */
};

/* Members with submitted I/O that need a commit. */
struct mesh_batch {
	unsigned int n;	/* entries */
	unsigned int nr_groups;	/* groups that received parts and must be run; pinned as @to is */
	bool last;		/* the request in hand is the last one before the flush */
	struct mesh_group *groups[4];
	struct {
		struct mesh_member *member;
		u16 queue;
	} to[8];	/* members to commit, pinned by each context that added one */
};

static inline void mesh_batch_init(struct mesh_batch *batch)
{
	batch->n = 0;
	batch->nr_groups = 0;
	batch->last = false;
}

/* batch.c */
void mesh_batch_add(struct mesh_batch *batch, struct mesh_member *m, u16 queue);
void mesh_batch_run(struct mesh_batch *batch);
void mesh_batch_flush(struct mesh_batch *batch);

/* plan.c */
bool mesh_plan_batch(struct mesh_req *req, struct mesh_batch *batch,
		     void (*done)(struct mesh_mio *mio, int err),
		     void (*part_done)(struct mesh_part *part, int err), int *sent);
bool mesh_plan_single(struct mesh_req *req, const struct prot_io *io, struct mesh_batch *batch,
		      void (*done)(struct mesh_mio *mio, int err));
bool mesh_plan_direct(struct mesh_req *req, const struct prot_io *io, struct mesh_batch *batch,
		      void (*done)(struct mesh_mio *mio, int err));
void mesh_plan_single_end(struct mesh_req *req);
void mesh_plan_collect(struct mesh_req *req);
int mesh_plan_init(void);
void mesh_plan_exit(void);
int mesh_plan_pools(struct mesh_volume *vol);
void mesh_plan_pools_exit(struct mesh_volume *vol);

/* request.c */
extern const struct blk_mq_ops mesh_mq_ops;
void mesh_req_init_volume(struct mesh_volume *vol);

/* retry.c */
void mesh_retry_init(struct mesh_volume *vol);
void mesh_retry_add(struct mesh_volume *vol, struct mesh_req *req);
void mesh_retry_take(struct mesh_volume *vol, struct list_head *due, struct list_head *later);
void mesh_retry_put(struct mesh_volume *vol, struct list_head *later);
void mesh_retry_wake(struct mesh_volume *vol);

#endif
