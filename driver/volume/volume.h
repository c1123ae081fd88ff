/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Volumes and their layouts.
 *
 *   volume.c      attach, replace, detach
 *   state.c       the state, and the reason for it
 *   registry.c    volumes by UUID, references, pins of layouts
 *   access.c      the access number in use, and numbers seen
 *   fence.c       ... another host has the volume
 *   raise.c       ... a higher number under a live volume
 *   kept.c        last rosters, of groups that have ended
 *   layout.c      a layout: members and policy; pinned, swapped, freed
 *   open_order.c  members that another host has: give back, try again
 *   disk.c        gendisk, tag set, limits
 *   sysfs.c       what users see
 *
 * Requests: block/request.h. From a message to mesh_volume_conf: netlink/volume.c.
 *
 * Locks: inside vol->lock one of mesh_volumes_lock, member->lock, vol->event_lock and
 * vol->layouts_lock may be taken. None of these locks, mesh_members_lock and vol->retry_lock has
 * another one inside, with one exception: member->lock may have vol->retry_lock inside. Members are
 * opened and closed under none of these locks. A reader (netlink, sysfs) takes mesh_volumes_lock,
 * vol->event_lock and member->lock, under which no code waits for I/O or a target. A request in
 * flight takes none of these locks unless it was requeued.
 */
#ifndef DRIVER_VOLUME_H
#define DRIVER_VOLUME_H

#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/mempool.h>
#include <linux/percpu-refcount.h>

#include "driver/access.h"
#include "driver/group/group.h"
#include "driver/member/member.h"
#include "protect/layout/prot.h"

/*
 * A kernel that clears every local variable would clear hundreds of bytes for each request, though
 * all bytes that are read are written first.
 */
#if __has_attribute(__uninitialized__)
#define __mesh_uninit	__attribute__((__uninitialized__))
#else
#define __mesh_uninit
#endif

#define MESH_DEPTH_DEFAULT	128
#define MESH_DEPTH_MAX		1024
#define MESH_TIMEOUT_MS		60000
#define MESH_TIMEOUT_MS_MIN	1000
#define MESH_TIMEOUT_MS_MAX	3600000
#define MESH_SEGMENTS		128	/* max_segments of a disk */
/* max_segment_size: the largest piece that a bounce buffer behind a DMA API can map. */
#define MESH_SEGMENT_BYTES	((unsigned int)SZ_128K)

/* Handling of a layout's members that another host has; private to open_order.c. */
struct mesh_order {
	struct delayed_work	work;		/* handles these members */
	/* jiffies of the next try, while @waiting */
	unsigned long		retry_at;
	unsigned int		tries;		/* tries so far */
	bool			waiting;	/* until @retry_at */
	/* all members are given back until @retry_at; private to @work */
	bool			released;
	/*
	 * with access numbers: another host has a member, and no try follows by itself; written by
	 * @work, READ_ONCE()
	 */
	bool			held;
	bool			again;		/* ... until this is set */
};

/* One epoch of a volume. */
struct mesh_layout {
	/* one pin for each request in flight, one while the layout is the current one */
	struct percpu_ref	ref;
	struct mesh_volume	*vol;		/* a counted reference */
	u64			epoch;		/* epoch of the message */
	struct prot_layout	*prot;		/* the policy's view */
	/* frees the layout; the release of @ref must not sleep */
	struct work_struct	free_work;
	struct list_head	node;	/* in vol->layouts until all its requests have ended */
	struct mesh_order	order;		/* members that are refused */
	/* by the index of a group's first place; NULL: no redundancy, or no group begins there */
	struct mesh_group	**groups;
	/* a bit for each segment whose groups were never attached; owned by the layout */
	unsigned long		*fresh;
	/* a bit for each place where no member may join, NULL: none; owned by the layout */
	unsigned long		*bars;
	unsigned long		*forgotten;	/* ... whose extents were forgotten; likewise */
	u32			nr;		/* entries of @member_slots */
	struct mesh_member_slot {
		struct mesh_member	*member;
		struct mesh_member_link	link;
		struct mesh_layout	*layout;
		u64			size;	/* bytes that the member must have */
		/* a group decides what the member's loss means */
		bool			grouped;
		/* the layout waits until the member is open */
		bool			opens;
	} member_slots[];			/* the members, in the message's order */
};

/* Parameters of a volume in a message, apart from the layout. */
struct mesh_volume_conf {
	uuid_t	uuid;				/* key */
	char	name[MESHBLK_NAME_MAX + 1];	/* human-readable; empty: keep */
	u32	lba;				/* 512 or 4096 */
	bool	ro;				/* read-only */
	u32	depth;				/* requests per hardware queue, 0: default */
	u32	timeout_ms;			/* io_timeout, 0: default or keep */
	struct mesh_access_want access;		/* of the message */
};

/* A layout in a message; each pointer is to be freed with kvfree(). */
struct mesh_volume_layout {
	u64			epoch;
	struct prot_layout	*prot;		/* checked */
	struct mesh_member_conf	*members;	/* one for each member of @prot */
	unsigned long		*fresh;		/* a bit for each segment that was never attached */
	unsigned long		*bars;		/* a bit for each place of @prot, or NULL */
	unsigned long		*forgotten;	/* likewise */
};

/* The access number of a volume: access.c. @lock guards all but @spent, and is taken alone. */
struct mesh_access {
	spinlock_t	lock;			/* any context */
	bool		numbered;		/* fixed; else nothing here counts */
	bool		spent;			/* the restarts are used up; READ_ONCE() */
	u64		number;			/* in use; only rises */
	u64		served;			/* the first number in use; fixed */
	u64		before;		/* the last one before a retake that goes on, or 0 */
	u64		highest;		/* of this host, seen in labels that refused it */
	/* the number that fenced the volume, and its host; fixed once vol->fenced is seen */
	u64		fence_number;
	uuid_t		fence_host;
};

/* A volume and its disk. */
struct mesh_volume {
	/* the current layout; RCU, written under @lock; NULL when removed */
	struct mesh_layout __rcu *layout;
	unsigned long		timeout;	/* io_timeout in jiffies; READ_ONCE */
	/* number of @set's hardware queues that are for polled requests, the last ones */
	u32			polled_queues;
	u32			sync_min, sync_max;	/* MB/s, 0: any; READ_ONCE; group/pace.c */
	/* being removed: requests end at once, opens of the disk fail; set once */
	bool			dying;
	/* ... without force: groups finish the work that they have begun; set before @dying */
	bool			orderly;
	/* with force, or fenced: groups start nothing more; set before @dying and @fenced */
	bool			forced;
	/* another host has the volume: requests end at once, opens fail; set once */
	bool			fenced;
	bool			dead;		/* @disk is; set once */
	mempool_t		mios;		/* reserve for requests that are split */
	mempool_t		sgs;		/* reserve for long scatterlists */
	mempool_t		parts;		/* reserve for parts, a request's I/O to groups */

	/* guards @retry; any context */
	spinlock_t		retry_lock ____cacheline_aligned_in_smp;
	struct list_head	retry;		/* requests that wait to be tried again */
	bool			woken;		/* all requests of @retry are to be tried now */
	struct delayed_work	retry_work;	/* tries the requests of @retry */
	struct llist_head	ready;		/* requests to go on with from @ready_work */
	/* goes on with requests whose batch ended in a hard interrupt */
	struct work_struct	ready_work;
	struct workqueue_struct	*wq;		/* for @retry_work and @ready_work */

	struct mesh_access	access;
	struct work_struct	fence_work;	/* ends the use of a fenced volume */
	struct delayed_work	raise_work;	/* gives members a higher access number */

	struct mutex		lock;		/* attach, replace, detach; guards what follows */
	struct mesh_volume_conf	conf;		/* as set; name is written under @event_lock too */
	enum mesh_volume_state	state;	/* written under @event_lock too, read with READ_ONCE() */
	/* for readers: guards @state, conf.name, @err, @reason, @live; orders states and events */
	struct mutex		event_lock;
	/* why the volume is not attached, or a member is refused; written under @event_lock too */
	int			err;
	/* the same, human-readable, a static string; likewise */
	const char		*reason;
	struct gendisk		*disk;		/* set once all members were up */
	/* @disk is visible to readers; written under @event_lock too */
	bool			live;
	struct blk_mq_tag_set	set;		/* the disk's tag set */
	int			index;		/* N of meshN */
	struct kobject		*kobj;		/* /sys/block/meshN/mesh */
	struct kobject		*members_dir, *counters_dir;	/* directories below @kobj */
	struct kobject		**members;	/* one directory for each member */
	u32			nr_members;	/* number of @members */
	struct work_struct	state_work;	/* sets @state by the members' states, attaches */
	struct kref		ref;		/* registry, layouts, disk */
	struct list_head	node;		/* in the registry, under mesh_volumes_lock */
	struct mutex		layouts_lock;	/* guards @layouts; taken alone or inside @lock */
	/* layouts that have requests in flight, or may get some */
	struct list_head	layouts;
	bool			taken;		/* a layout was in use; under @lock */
	bool			ended;		/* no layout follows; under @lock */
	spinlock_t		kept_lock;	/* guards @kept */
	struct list_head	kept;		/* last rosters of groups that have ended */
	/* number of @layouts, plus one until the volume is removed */
	atomic_t		draining;
	/* number of layouts whose members are not closed, plus one as above */
	atomic_t		closing;
	struct completion	drained;	/* @draining came to 0 */
	struct completion	closed;		/* @closing came to 0 */
	struct completion	removed;	/* the disk has gone */
	struct work_struct	remove_work;	/* removes the disk */
	struct work_struct	free_work;	/* frees the volume */
};

/* layout.c */
struct mesh_layout *mesh_layout_alloc(struct mesh_volume *vol, u64 epoch, u32 members);
int mesh_layout_open(struct mesh_layout *l, const struct mesh_member_conf *confs,
		     const struct mesh_group_conf *groups, struct netlink_ext_ack *extack);
void mesh_layout_discard(struct mesh_layout *l);
void mesh_layout_drop(struct mesh_layout *l);
const char *mesh_layout_unfit(struct mesh_layout *l, u32 lba);
const char *mesh_layout_refit(struct mesh_layout *l, u32 lba);
bool mesh_layout_same(const struct mesh_layout *a, const struct mesh_layout *b);
void mesh_layout_states(struct mesh_layout *l, unsigned int *down, unsigned int *lost);
void mesh_layout_swap(struct mesh_volume *vol, struct mesh_layout *new);
void mesh_layout_end(struct mesh_volume *vol);
void mesh_layout_kick(struct mesh_volume *vol);

static inline void mesh_layout_unpin(struct mesh_layout *l)
{
	percpu_ref_put(&l->ref);
}

/* True: requests to the volume fail at once, since it is removed or fenced. */
static inline bool mesh_volume_over(const struct mesh_volume *vol)
{
	return READ_ONCE(vol->dying) || READ_ONCE(vol->fenced);
}

/* open_order.c */
void mesh_order_init(struct mesh_order *o);
void mesh_order_refused(struct mesh_layout *l);
void mesh_order_again(struct mesh_layout *l);
void mesh_order_end(struct mesh_layout *l);

/* disk.c */
int mesh_disk_alloc(struct mesh_volume *vol);
int mesh_disk_add(struct mesh_volume *vol);
int mesh_disk_claim(struct mesh_volume *vol);
void mesh_disk_kill(struct mesh_volume *vol);
void mesh_disk_remove(struct mesh_volume *vol);
void mesh_disk_free(struct mesh_volume *vol);
void mesh_disk_announce(struct mesh_volume *vol);
void mesh_disk_set_timeout(struct mesh_volume *vol, u32 ms);
const char *mesh_disk_unfit(struct mesh_volume *vol, const struct prot_layout *prot);

/* state.c */
void mesh_volume_set_why(struct mesh_volume *vol, enum mesh_volume_state state, int err,
			 const char *reason);
void mesh_volume_set_live(struct mesh_volume *vol, bool live);

/* access.c */
void mesh_access_init(struct mesh_volume *vol, const struct mesh_access_want *want);
struct mesh_access_now mesh_access_get(struct mesh_volume *vol);
void mesh_access_conf(struct mesh_volume *vol, struct mesh_member_conf *conf);
int mesh_access_note(struct mesh_volume *vol, struct mesh_member *m, u64 number);
bool mesh_access_seen(struct mesh_volume *vol, u64 number, const uuid_t *host, bool roster);
void mesh_access_refused(struct mesh_volume *vol, struct mesh_member *m);
u64 mesh_access_restart(struct mesh_volume *vol);
void mesh_access_raised(struct mesh_volume *vol, u64 number);
void mesh_access_retake(struct mesh_volume *vol, u64 number);
void mesh_access_settled(struct mesh_volume *vol);
u64 mesh_access_before(struct mesh_volume *vol);
bool mesh_access_spent(struct mesh_volume *vol);
bool mesh_access_fenced(struct mesh_volume *vol, u64 *number, uuid_t *host);

/* fence.c, raise.c */
void mesh_volume_fence_work(struct work_struct *work);
void mesh_volume_raise_work(struct work_struct *work);
bool mesh_raise_ready(struct mesh_volume *vol, struct mesh_layout *l);
void mesh_raise_begin(struct mesh_volume *vol);

/* The last committed roster of a group that has ended. */
struct mesh_kept {
	struct list_head	node;
	u32			place;
	u8			roster[MESHBLK_ROSTER_BYTES];
};

/* kept.c */
void mesh_kept_init(struct mesh_volume *vol);
void mesh_kept_add(struct mesh_volume *vol, struct mesh_kept *kept);
void mesh_kept_exit(struct mesh_volume *vol);
int mesh_kept_each(struct mesh_volume *vol, int (*fn)(void *arg, u32 place, const void *roster),
		   void *arg);

/* volume.c */
int mesh_volume_set(const struct mesh_volume_conf *conf, struct mesh_volume_layout *layout,
		    const struct mesh_group_conf *groups, struct netlink_ext_ack *extack);
int mesh_volume_del(const uuid_t *uuid, bool force, struct netlink_ext_ack *extack);

/* registry.c */
int mesh_volume_take_index(struct mesh_volume *vol);
void mesh_volume_free_index(struct mesh_volume *vol);
struct mesh_volume *mesh_volume_find(const uuid_t *uuid);
struct mesh_volume *mesh_volume_next(unsigned int skip);
struct mesh_volume *mesh_volume_register(struct mesh_volume *new);
void mesh_volume_unregister(struct mesh_volume *vol);
void mesh_volume_get(struct mesh_volume *vol);
void mesh_volume_put(struct mesh_volume *vol);
void mesh_volume_changed(struct mesh_volume *vol);
struct mesh_layout *mesh_layout_pin(struct mesh_volume *vol);
void mesh_volumes_exit(void);

/* sysfs.c */
void mesh_sysfs_add(struct mesh_volume *vol);
void mesh_sysfs_members(struct mesh_volume *vol, u32 nr);
void mesh_sysfs_remove(struct mesh_volume *vol);

#endif
