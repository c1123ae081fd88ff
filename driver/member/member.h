/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Members: opened extents or local devices, behind one ops table.
 *
 *   layout --link--> member --ops--> rdda.c | bdev.c | a module's
 *                       ^
 *                       '-- registry by extent UUID: an extent that is open
 *                           already is shared
 *
 * A member I/O (mesh_mio) is submitted, committed with others to the same member and queue, and
 * ends once with done(). A payload may be staged: written with RDDA_IO_STAGE, then written again to
 * another place from the stage, so that the payload crosses a network once. A stage is a cache: a
 * write from a stage may end with -ESTALE, and the submitter then sends the write again with its
 * own scatterlist. A kind that gains nothing by stages gives none.
 */
#ifndef DRIVER_MEMBER_H
#define DRIVER_MEMBER_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "driver/member/abandoned.h"
#include "driver/states.h"
#include "driver/uapi/meshblk.h"
#include "protect/layout/prot.h"
#include "rdda/rdda.h"

struct mesh_member;
struct mesh_mio;
struct netlink_ext_ack;

#define MESH_PATH_MAX	256

/* How a member is reached; equal confs share a member. */
struct mesh_member_conf {
	u8	kind;			/* enum meshblk_member_kind */
	bool	rw;			/* opened for writing */
	bool	preempt;		/* RDDA: fence another holder; not part of the comparison */
	u32	target;			/* RDDA: id */
	u32	lba;			/* MEM: block size to show */
	u64	start;			/* BDEV: byte of the device where the member begins */
	uuid_t	uuid;			/* of the extent */
	uuid_t	drive;			/* UUID of the extent's drive; BDEV: null if not known */
	u64	epoch;	/* RDDA: a later conf may raise the epoch; not part of the comparison */
	/*
	 * of the volume's access (uapi/number.h); the numbers are those of the first OPEN; none is
	 * part of the comparison
	 */
	bool	numbered;
	u64	number;
	u64	served;
	u64	size;			/* bytes that may be used; the largest requested counts */
	/*
	 * BDEV: not part of the comparison if @drive is known; MEM: a name, so that a test reaches
	 * one member by several "paths"
	 */
	char	path[MESH_PATH_MAX];
};

/*
 * Properties of an open member; set while the member is not UP, except @attach, @attacher and
 * @dead_ms. @attach, @attacher and @holder are also known of a refused member.
 */
struct mesh_member_info {
	u64	bytes;		/* size of the member */
	u32	lba;		/* 512 or 4096 */
	u32	phys;		/* physical block */
	u32	queues;		/* hardware queues worth having */
	u32	discard_bytes;	/* granularity, 0: none */
	bool	write_zeroes;	/* zeroes can be written */
	bool	rotational;	/* the medium is rotational */
	/* highest attach number that the extent has noted; 0: none, or a kind without numbers */
	u64	attach;
	uuid_t	attacher;	/* host that @attach was noted for */
	uuid_t	holder;		/* refused, as another host has it open: that host */
	/*
	 * RDDA: milliseconds of silence after which a host that is cut off has noticed; other
	 * kinds: 0
	 */
	u32	dead_ms;
	/* bits that must be zero in the address and length of each page's part; 0: no such limit */
	u32	dma_mask;
};

/*
 * Counters, one set per CPU; readers add them up. @last is not a sum: jiffies of the newest I/O
 * that ended well, 0: none.
 */
struct mesh_member_stats {
	u64	started;
	u64	ended;
	u64	reads;
	u64	read_bytes;
	u64	writes;
	u64	write_bytes;
	u64	discards;
	u64	errors;
	u64	retries;
	u64	staged;
	u64	stale;
	u64	polled;
	u64	last;
};

/* One I/O to a member. */
struct mesh_mio {
	struct mesh_member *member;	/* the member that the I/O goes to */
	/*
	 * address in the member, pages, queue and flags, for members of any kind; @io's own op,
	 * stage and done are RDDA's. With @op FLUSH the length is 0
	 */
	struct rdda_io io;
	u8	op;			/* enum prot_kind */
	u32	tag;			/* tag of the prot_io, for the submitter */
	int	err;			/* result, for the submitter */
	/*
	 * WRITE: a stage of this member to write from; NULL: the pages travel. Set when done() is
	 * called for a successful RDDA_IO_STAGE
	 */
	void	*stage;
	/*
	 * byte of the stage where the payload begins; RDDA_IO_STAGE: byte of the payload where the
	 * kept part begins
	 */
	u32	stage_offset;
	/* RDDA_IO_STAGE: as the fields of struct rdda_io; none: @behind NULL, @stage_room 0 */
	void	*behind;
	u32	stage_at;
	u32	stage_room;
	/* any context, hard interrupts of local devices too; may free the I/O */
	void	(*done)(struct mesh_mio *mio, int err);
	struct mesh_mio *next;		/* the submitter's */
	void	*priv;			/* the submitter's */
	struct llist_node node;		/* for kinds on this host, while the I/O is in flight */
	struct bio *bio;		/* likewise */
};

/**
 * struct mesh_member_ops - a kind of member
 * @kind: name of the kind
 * @posts: the kind supports RDDA_IO_POST, with which a @submit needs no @commit
 * @keeps: only the device ends I/O, so I/O may be abandoned (abandoned.h)
 * @owner: the module that registered the kind, pinned by each member; NULL: meshblk
 * @open: begin to open; the member may come UP later, by mesh_member_set_state(). Called without a
 *	lock; may sleep, but not for a device or a target. An error refuses the layout with the
 *	member, @extack says why; -EINPROGRESS: mesh_member_opened() reports the result
 * @close: all I/O has ended and no new I/O comes. Sleeps
 * @submit: any context but hard interrupt, does not sleep; the I/O need not move before
 *	@commit. Ends with mesh_mio_end()
 * @commit: move the I/O that was submitted with this queue
 * @poll: end the I/O of this queue that is ready; process context, does not sleep. Return: number
 *	of events found. NULL: only interrupts report
 * @stage_get: take one more reference to a stage; any context; NULL: the kind keeps no payload
 *	behind others
 * @stage_put: give a stage back; any context; NULL: the kind gives no stages
 * @release: give the member back, without I/O, until @retry; NULL: the kind cannot; sleeps
 * @retry: open a released member, and if @refused also a refused one; set where @release is set;
 *	does not sleep
 * @kick: end stuck I/O in flight, as far as possible; process context. NULL: only the device ends
 *	I/O
 * @epoch: the conf's epoch has grown
 * @moved: a layout names the path of a member whose drive is known; does not sleep. The member may
 *	be open already, at that path or at another one
 * @attach: make the extent note an attach number, and carry the number in every later open;
 *	@served: as in struct rdda_want; process context, sleeps until the answer. Return: as
 *	mesh_member_attach(). NULL: a kind without numbers
 */
struct mesh_member_ops {
	const char *kind;
	bool posts;
	bool keeps;
	struct module *owner;
	int (*open)(struct mesh_member *m, struct netlink_ext_ack *extack);
	void (*close)(struct mesh_member *m);
	void (*submit)(struct mesh_member *m, struct mesh_mio *mio);
	void (*commit)(struct mesh_member *m, unsigned int queue);
	int (*poll)(struct mesh_member *m, unsigned int queue);
	void (*stage_get)(struct mesh_member *m, void *stage);
	void (*stage_put)(struct mesh_member *m, void *stage);
	void (*release)(struct mesh_member *m);
	void (*retry)(struct mesh_member *m, bool refused);
	void (*kick)(struct mesh_member *m);
	void (*epoch)(struct mesh_member *m, u64 epoch);
	void (*moved)(struct mesh_member *m, const char *path);
	int (*attach)(struct mesh_member *m, u64 number, u64 served);
};

extern const struct mesh_member_ops mesh_rdda_ops, mesh_bdev_ops;

/* An open member. */
struct mesh_member {
	const struct mesh_member_ops *ops;	/* the member's kind */
	void			*priv;		/* private data of the kind */
	struct mesh_member_info	info;	/* written under @lock; see there what while UP */
	enum mesh_member_state	state;	/* written under @lock, read anywhere with READ_ONCE() */
	int			err;		/* why the member is not UP; like @state */
	struct mesh_member_stats __percpu *stats;	/* counters */

	/* fixed, except path, and epoch and size, which mesh_members_lock guards */
	struct mesh_member_conf	conf ____cacheline_aligned_in_smp;
	spinlock_t		path_lock;	/* guards conf.path */
	uuid_t			volume;		/* volume whose layouts share the member */
	struct mutex		attach_lock;	/* serialises attach numbers; @lock is inside */
	/* the last number that the extent was to note; under @attach_lock, READ_ONCE() */
	u64			number;
	/* serialises state changes; guards @state, @info, and what follows up to @links */
	struct mutex		lock;
	/* the kind says UP; a member that is REFUSED then cannot serve one of its layouts */
	bool			there;
	/* REFUSED, and opened again without an answer yet */
	bool			retrying;
	/* layouts that have given the member back for a while */
	unsigned int		suspended;
	struct list_head	links;		/* layouts, groups, evictions to notify */
	refcount_t		refs;		/* layouts, groups, a queued kick, abandoned I/O */
	struct list_head	node;		/* in the registry, under mesh_members_lock */
	bool			opening;	/* ops->open is at work; under mesh_members_lock */
	struct completion	opened;		/* the open was tried, or needs no wait; then: */
	int			open_err;	/* why the open failed, or 0 */
	const char		*open_why;	/* the same, a static string */
	/* BDEV: the device, once known; under mesh_members_lock */
	dev_t			dev;
	struct work_struct	kick_work;	/* runs ops->kick; holds a reference while queued */
	/* puts the last reference; mesh_member_put_later() */
	struct work_struct	put_work;
	/* number of abandoned I/Os, each with a reference */
	atomic_t		abandoned;
	struct llist_head	returned;	/* abandoned I/Os that have ended */
	struct work_struct	abandoned_work;	/* frees @returned and reports */
	/* abandoned I/O was reported; private to the work */
	bool			said;
};

/**
 * struct mesh_member_link - interest of a layout, group or eviction in a member
 * @node: in member->links, under its lock
 * @changed: the state changed; called with the member's lock held, may sleep,
 *	must not take a lock under which members are opened or put
 * @unfit: return true if the member, whose info is known, cannot serve the layout: the member
 *	then does not come UP; like @changed
 */
struct mesh_member_link {
	struct list_head node;
	bool (*unfit)(struct mesh_member_link *link);
	void (*changed)(struct mesh_member_link *link, enum mesh_member_state state, int err);
};

/* member.c */
void mesh_member_set_kind(u8 kind, const struct mesh_member_ops *ops);
int mesh_member_get(const struct mesh_member_conf *conf, const uuid_t *volume,
		    struct mesh_member **mp, struct netlink_ext_ack *extack);
int mesh_member_await(struct mesh_member *m, unsigned long until, struct netlink_ext_ack *extack);
void mesh_member_opened(struct mesh_member *m, int err, const char *why);
void mesh_member_put(struct mesh_member *m);
struct mesh_member *mesh_member_next_abandoned(unsigned int skip);
int mesh_member_bdev_taken(struct mesh_member *m, dev_t dev, const char **why);
void mesh_members_exit(void);

/* state.c */
void mesh_member_path(struct mesh_member *m, char path[MESH_PATH_MAX]);
void mesh_member_link(struct mesh_member *m, struct mesh_member_link *link);
void mesh_member_unlink(struct mesh_member *m, struct mesh_member_link *link);
void mesh_member_set_state(struct mesh_member *m, enum mesh_member_state state, int err);
void mesh_member_refit(struct mesh_member *m);
void mesh_member_suspend(struct mesh_member *m);
void mesh_member_resume(struct mesh_member *m);
void mesh_member_retry(struct mesh_member *m);

/* io.c */
void mesh_member_submit(struct mesh_member *m, struct mesh_mio *mio);
void mesh_mio_end(struct mesh_mio *mio, int err);
void mesh_member_kick(struct mesh_member *m);
void mesh_member_put_later(struct mesh_member *m);
int mesh_member_attach(struct mesh_member *m, u64 number, u64 served);
void mesh_member_stats(struct mesh_member *m, struct mesh_member_stats *sum);
u64 mesh_member_inflight(struct mesh_member *m);
u64 mesh_member_wanted(struct mesh_member *m);
bool mesh_member_moves(struct mesh_member *m, unsigned long recent);

static inline void mesh_member_commit(struct mesh_member *m, unsigned int queue)
{
	m->ops->commit(m, queue);
}

/* Context: an RCU read section, which keeps the member. */
static inline int mesh_member_poll(struct mesh_member *m, unsigned int queue)
{
	int n = m->ops->poll ? m->ops->poll(m, queue) : 0;

	if (n)
		this_cpu_add(m->stats->polled, n);
	return n;
}

/* bdev.c */
int mesh_bdev_init(void);
void mesh_bdev_exit(void);

#endif
