/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Volumes, their layouts and the requests to them.
 *
 *   netlink_volume.c   message -> mesh_volume_conf, mesh_layout
 *   volume.c           registry, attach, replace, detach, states
 *   layout.c           a layout: members and policy; pinned, swapped, freed
 *   open_order.c       members that another host has: give back, try again
 *   disk.c             gendisk, tag set, limits
 *   request.c          blk-mq's calls, time-outs, ends of requests
 *   retry.c            requests that wait: a member is down, or memory is short
 *   plan.c             an op run: member I/Os, scatterlists
 *   sysfs.c events.c   what users and meshd see
 *
 * Life of a request
 *
 *   queue_rq -> pin layout -> plan a batch -> member I/O ... -> last one ended
 *                  ^            ^   '-- more to plan -----------------'  |
 *                  |            '--------------------------------------  |
 *                  '---- requeued: a member is down, try again later <-----+
 *                                                                        '-> end
 *
 * Locks: inside vol->lock there may be one of mesh_volumes_lock, member->lock,
 * vol->event_lock and vol->layouts_lock; these, mesh_members_lock and
 * vol->retry_lock have none inside them but member->lock, which may have
 * vol->retry_lock. Members are opened and closed under none of them, and a
 * reader (netlink, sysfs) takes mesh_volumes_lock and vol->event_lock alone, under
 * which no code waits for I/O or a target. No request in flight takes any of them
 * unless it was requeued.
 */
#ifndef DRIVER_VOLUME_H
#define DRIVER_VOLUME_H

#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/mempool.h>
#include <linux/percpu-refcount.h>

#include "driver/member.h"
#include "protect/prot.h"

#define MESH_DEPTH_DEFAULT	128
#define MESH_DEPTH_MAX		1024
#define MESH_TIMEOUT_MS		60000
#define MESH_TIMEOUT_MS_MIN	1000
#define MESH_TIMEOUT_MS_MAX	3600000
#define MESH_SEGMENTS		128	/* max_segments of a disk */
/* max_segment_size: what a bounce buffer behind a DMA API can map in one piece. */
#define MESH_SEGMENT_BYTES	((unsigned int)SZ_128K)
#define MESH_SG_INLINE		4	/* scatter entries within a request */
#define MESH_SG_MAX		(MESH_SEGMENTS + PROT_RUNS_MAX)
#define MESH_MIO_RUNNING	1	/* mio->err of a request's I/O that has not ended */
#define MESH_RETRY_MS_MIN	20	/* a requeued request is tried after ... */
#define MESH_RETRY_MS_MAX	1000	/* ... doubling up to this */

/**
 * struct mesh_order - members of a layout that another host has; open_order.c's own
 * @work: handles them
 * @retry_at: jiffies when they are tried again, while @waiting
 * @tries: so far
 * @waiting: for @retry_at
 * @released: all members are given back for that time; @work's own
 */
struct mesh_order {
	struct delayed_work	work;
	unsigned long		retry_at;
	unsigned int		tries;
	bool			waiting;
	bool			released;
};

/**
 * struct mesh_layout - one epoch of a volume
 * @ref: a pin for each request in flight, one for being the current one
 * @vol: a counted reference
 * @epoch: of the message
 * @prot: the policy's view
 * @free_work: does what the release of @ref must not
 * @node: in vol->layouts while its requests have not all ended
 * @order: members that are refused
 * @nr: entries of @member_slots
 * @member_slots: the members, in the message's order
 */
struct mesh_layout {
	struct percpu_ref	ref;
	struct mesh_volume	*vol;
	u64			epoch;
	struct prot_layout	*prot;
	struct work_struct	free_work;
	struct list_head	node;
	struct mesh_order	order;
	u32			nr;
	struct mesh_member_slot {
		struct mesh_member	*member;
		struct mesh_member_link	link;
		struct mesh_layout	*layout;
		u64			size;	/* bytes that it must have */
	} member_slots[];
};

/**
 * struct mesh_volume_conf - what a message says of a volume beside its layout
 * @uuid: key
 * @name: human-readable; empty: keep
 * @lba: 512 or 4096
 * @ro: read-only
 * @depth: requests per hardware queue, 0: default
 * @timeout_ms: io_timeout, 0: default or keep
 */
struct mesh_volume_conf {
	uuid_t	uuid;
	char	name[MESHBLK_NAME_MAX + 1];
	u32	lba;
	bool	ro;
	u32	depth;
	u32	timeout_ms;
};

/**
 * struct mesh_volume - a volume and its disk
 * @layout: current; RCU, written under @lock; NULL when removed
 * @timeout: io_timeout in jiffies; READ_ONCE
 * @dying: being removed: requests end at once, opens of the disk fail; set once
 * @mios: reserve for requests that are split
 * @sgs: reserve for long scatterlists
 * @retry_lock: guards @retry; any context
 * @retry: requests that wait to be tried again
 * @woken: all of them are to be tried now
 * @retry_work: tries them
 * @ready: requests to go on with from @ready_work
 * @ready_work: goes on with what must not run in a hard interrupt
 * @wq: for @retry_work alone
 * @lock: attach, replace, detach; guards what follows
 * @conf: as set; name is written under @event_lock too
 * @state: written under @event_lock too, read with READ_ONCE()
 * @event_lock: for readers; orders states and their events
 * @err: why it is not attached, or a member is refused; written under @event_lock too
 * @reason: the same, human-readable, a static string; likewise
 * @disk: once its members were up
 * @live: @disk is there to be seen; written under @event_lock too
 * @set: its tag set
 * @index: N of meshN
 * @kobj: /sys/block/meshN/mesh
 * @members_dir: below it
 * @members: one directory for each member
 * @nr_members: of those
 * @state_work: sets @state by the members', attaches
 * @ref: registry, layouts, disk
 * @node: in the registry, under mesh_volumes_lock
 * @layouts_lock: guards @layouts; taken alone or inside @lock
 * @layouts: that have requests in flight, or may get some
 * @draining: those, and one until the volume is removed
 * @closing: layouts whose members are not closed, and one as above
 * @drained: @draining came to 0
 * @closed: @closing came to 0
 * @removed: the disk has gone
 * @remove_work: takes it away
 * @free_work: last of all
 */
struct mesh_volume {
	struct mesh_layout __rcu *layout;
	unsigned long		timeout;
	bool			dying;
	mempool_t		mios;
	mempool_t		sgs;

	spinlock_t		retry_lock ____cacheline_aligned_in_smp;
	struct list_head	retry;
	bool			woken;
	struct delayed_work	retry_work;
	struct llist_head	ready;
	struct work_struct	ready_work;
	struct workqueue_struct	*wq;

	struct mutex		lock;	/* what follows */
	struct mesh_volume_conf	conf;
	enum mesh_volume_state	state;
	struct mutex		event_lock;	/* state, conf.name, err, reason, live */
	int			err;
	const char		*reason;
	struct gendisk		*disk;
	bool			live;
	struct blk_mq_tag_set	set;
	int			index;
	struct kobject		*kobj;
	struct kobject		*members_dir;
	struct kobject		**members;
	u32			nr_members;
	struct work_struct	state_work;
	struct kref		ref;
	struct list_head	node;
	struct mutex		layouts_lock;	/* layouts */
	struct list_head	layouts;
	atomic_t		draining;
	atomic_t		closing;
	struct completion	drained;
	struct completion	closed;
	struct completion	removed;
	struct work_struct	remove_work;
	struct work_struct	free_work;
};

/**
 * struct mesh_req - what a request carries, blk-mq's per-request data
 * @op: the policy's state
 * @layout: pinned while @op runs
 * @left: I/Os of the batch that have not ended, many more while it is planned,
 *	and one while the time-out handler checks; the context that brings it
 *	to 0 goes on with the request
 * @queue: hardware queue
 * @mios: I/Os of the batch, newest first; @mio when it is in use is the last
 * @busy: @mio is in use
 * @tries: times that it was requeued
 * @deadline: jiffies
 * @retry_at: jiffies, while in vol->retry
 * @node: in vol->retry, under its lock
 * @ready: in vol->ready
 * @mio: the first I/O, or the only one
 * @sg: of @mio, when that is enough
 */
struct mesh_req {
	struct prot_op		op;
	struct mesh_layout	*layout;
	atomic_t		left;
	u16			queue;
	bool			busy;
	u32			tries;
	struct mesh_mio		*mios;
	unsigned long		deadline;
	unsigned long		retry_at;
	union {
		struct list_head	node;
		struct llist_node	ready;
	};
	struct mesh_mio		mio;
	struct scatterlist	sg[MESH_SG_INLINE];
};

/**
 * struct mesh_batch - members that were given I/O and want a commit
 * @n: entries
 * @to: these members, pinned by each context that added one
 */
struct mesh_batch {
	unsigned int n;
	struct {
		struct mesh_member *member;
		u16 queue;
	} to[8];
};

/* layout.c */
struct mesh_layout *mesh_layout_alloc(struct mesh_volume *vol, u64 epoch, u32 members);
int mesh_layout_open(struct mesh_layout *l, const struct mesh_member_conf *confs,
		     struct netlink_ext_ack *extack);
void mesh_layout_discard(struct mesh_layout *l);
const char *mesh_layout_unfit(struct mesh_layout *l, u32 lba);
const char *mesh_layout_refit(struct mesh_layout *l, u32 lba);
bool mesh_layout_same(const struct mesh_layout *a, const struct mesh_layout *b);
void mesh_layout_states(struct mesh_layout *l, unsigned int *down, unsigned int *lost);
void mesh_layout_swap(struct mesh_volume *vol, struct mesh_layout *new);
void mesh_layout_kick(struct mesh_volume *vol);
struct mesh_layout *mesh_layout_pin(struct mesh_volume *vol);

static inline void mesh_layout_unpin(struct mesh_layout *l)
{
	percpu_ref_put(&l->ref);
}

/* open_order.c */
void mesh_order_init(struct mesh_order *o);
void mesh_order_refused(struct mesh_layout *l);
void mesh_order_end(struct mesh_layout *l);

/* plan.c */
bool mesh_plan_batch(struct mesh_req *req, struct mesh_batch *batch,
		     void (*done)(struct mesh_mio *mio, int err), int *sent);
void mesh_plan_collect(struct mesh_req *req);
void mesh_batch_flush(struct mesh_batch *batch);
void mesh_batch_add(struct mesh_batch *batch, struct mesh_member *m, u16 queue);
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

/* disk.c */
int mesh_disk_alloc(struct mesh_volume *vol);
int mesh_disk_add(struct mesh_volume *vol);
int mesh_disk_claim(struct mesh_volume *vol);
void mesh_disk_kill(struct mesh_volume *vol);
void mesh_disk_remove(struct mesh_volume *vol);
void mesh_disk_free(struct mesh_volume *vol);
void mesh_disk_announce(struct mesh_volume *vol);
const char *mesh_disk_unfit(struct mesh_volume *vol, const struct prot_layout *prot);

/* volume.c */
int mesh_volume_set(const struct mesh_volume_conf *conf, u64 epoch, struct prot_layout *prot,
		    const struct mesh_member_conf *members, struct netlink_ext_ack *extack);
int mesh_volume_del(const uuid_t *uuid, bool force, struct netlink_ext_ack *extack);
struct mesh_volume *mesh_volume_find(const uuid_t *uuid);
struct mesh_volume *mesh_volume_next(unsigned int skip);
void mesh_volume_set_timeout(struct mesh_volume *vol, u32 ms);
void mesh_volume_get(struct mesh_volume *vol);
void mesh_volume_put(struct mesh_volume *vol);
void mesh_volume_changed(struct mesh_volume *vol);
int mesh_volumes_init(void);
void mesh_volumes_exit(void);

/* sysfs.c */
void mesh_sysfs_add(struct mesh_volume *vol);
void mesh_sysfs_members(struct mesh_volume *vol, u32 nr);
void mesh_sysfs_remove(struct mesh_volume *vol);

/* events.c */
void mesh_event_member(struct mesh_volume *vol, u32 index, enum mesh_member_state s, int err);
void mesh_event_volume(struct mesh_volume *vol, enum mesh_volume_state s, u64 epoch);
void mesh_event_layout_freed(struct mesh_volume *vol, u64 epoch);
void mesh_event_target(u32 id, const char *state, int err, const char *reason);

#endif
