/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Members: opened extents or local devices, behind one ops table.
 *
 *   layout --link--> member --ops--> rdda.c | bdev.c | a module's
 *                       ^
 *                       '-- registry by extent UUID: an extent that is open
 *                           already is shared
 *
 * A member I/O (mesh_mio) is submitted, committed with others to the same
 * member and queue, and ends once with done(). Payloads may be staged: written
 * with RDDA_IO_STAGE, then written again to another place from the stage, so
 * that they cross a network once. A stage is a cache: a write from it may end
 * with -ESTALE, and is then sent again with its own scatterlist. A kind that gains
 * nothing by it gives none.
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
	uuid_t	drive;			/* that the extent is on; BDEV: null if not known */
	u64	epoch;	/* RDDA: passed on when it grows; not part of the comparison */
	u64	size;			/* bytes that may be used; the largest requested counts */
	/*
	 * BDEV: not part of the comparison where @drive is known; MEM: a name, to be reached by
	 * another "path"
	 */
	char	path[MESH_PATH_MAX];
};

/* What an open member can do; set while it is not UP, but for @attach. */
struct mesh_member_info {
	u64	bytes;		/* its size */
	u32	lba;		/* 512 or 4096 */
	u32	phys;		/* physical block */
	u32	queues;		/* hardware queues worth having */
	u32	discard_bytes;	/* granularity, 0: none */
	bool	write_zeroes;	/* it can */
	bool	rotational;	/* it is */
	/* highest attach number that the extent has noted; 0: none, or a kind without numbers */
	u64	attach;
	/* RDDA: of silence, and a host that is cut off has noticed; else 0 */
	u32	dead_ms;
	/* bits that must be zero in the address and length of each page's part; 0: no such limit */
	u32	dma_mask;
};

/*
 * Counters, one set per CPU; sums are taken by readers. @last is no sum: jiffies of
 * the newest I/O that ended well, 0: none.
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
	struct mesh_member *member;	/* where */
	/*
	 * where in the member, pages, queue and flags, for members of any kind; its own op, stage
	 * and done are RDDA's. The length is 0 with @op FLUSH
	 */
	struct rdda_io io;
	u8	op;			/* enum prot_kind */
	u32	tag;			/* of the prot_io, for the submitter */
	int	err;			/* how it ended; for the submitter */
	/*
	 * WRITE: a stage of this member to write from, NULL: the pages travel; set when done() is
	 * called for a successful RDDA_IO_STAGE
	 */
	void	*stage;
	/* where the payload begins in the stage; RDDA_IO_STAGE: what is kept, in the payload */
	u32	stage_offset;
	/* RDDA_IO_STAGE: as those of struct rdda_io; the first NULL and the last 0 for none */
	void	*behind;
	u32	stage_at;
	u32	stage_room;
	/* any context, hard interrupts of local devices too; may free the I/O */
	void	(*done)(struct mesh_mio *mio, int err);
	struct mesh_mio *next;		/* the submitter's */
	void	*priv;			/* the submitter's */
	struct llist_node node;		/* of a kind on this host, while in flight */
	struct bio *bio;		/* the same */
};

/**
 * struct mesh_member_ops - a kind of member
 * @kind: its name
 * @posts: it knows RDDA_IO_POST, with which a @submit needs no @commit
 * @keeps: nothing ends I/O but the device, so it may be abandoned (abandoned.h)
 * @owner: the module that registered it, which each member pins; NULL: meshblk
 * @open: begin to open; may come UP later, by mesh_member_set_state(). May
 *	sleep, but not for a device or a target, and is called without a lock. An error refuses
 *	the layout that wants it, @extack says why; -EINPROGRESS: mesh_member_opened() says how
 *	that went
 * @close: all I/O has ended and no new one comes. Sleeps
 * @submit: any context but hard interrupt, does not sleep; nothing needs to
 *	move before @commit. Ends with mesh_mio_end()
 * @commit: move what was submitted with this queue
 * @poll: end what can be, of I/O submitted with this queue; process context, does not sleep.
 *	Return: what was found. NULL: interrupts alone report
 * @stage_get: one more reference to a stage; any context; NULL: none is kept behind others
 * @stage_put: give a stage back; any context; NULL: a kind that gives none
 * @release: give the member back, without I/O, until @retry; NULL: cannot; sleeps
 * @retry: open what was released, and what was refused as well if @refused; with
 *	@release; does not sleep
 * @kick: end I/O in flight that is stuck, where that is possible; process
 *	context. NULL: it ends when it ends
 * @epoch: the conf's epoch grew
 * @moved: a layout names the path of a member whose drive is known; does not sleep. It may be open
 *	already, at that path or at another one
 * @attach: have the extent note an attach number, and carry it whenever it is opened again;
 *	process context, sleeps until that is answered; NULL: a kind without numbers. It
 *	returns what mesh_member_attach() does
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
	int (*attach)(struct mesh_member *m, u64 number);
};

extern const struct mesh_member_ops mesh_rdda_ops, mesh_bdev_ops;

/* An open member. */
struct mesh_member {
	const struct mesh_member_ops *ops;	/* its kind */
	void			*priv;		/* of the kind */
	struct mesh_member_info	info;	/* written under @lock; while it is UP, @attach alone */
	enum mesh_member_state	state;	/* written under @lock, read anywhere with READ_ONCE() */
	int			err;		/* why it is not UP; like @state */
	struct mesh_member_stats __percpu *stats;	/* counters */

	/* fixed but for epoch and size, which mesh_members_lock guards, and path */
	struct mesh_member_conf	conf ____cacheline_aligned_in_smp;
	spinlock_t		path_lock;	/* of conf.path */
	uuid_t			volume;		/* the one whose layouts share it */
	struct mutex		attach_lock;	/* one number is noted at a time; @lock is inside */
	/* serialises state changes; guards @state, @info, and what follows up to @links */
	struct mutex		lock;
	bool			there;	/* the kind says UP: what is REFUSED then is unfit */
	/* REFUSED, and tried again since: there is no answer yet */
	bool			retrying;
	/* layouts that have given the member back for a while */
	unsigned int		suspended;
	struct list_head	links;		/* layouts to notify */
	refcount_t		refs;		/* layouts, and the kick that is queued */
	struct list_head	node;		/* in the registry, under mesh_members_lock */
	bool			opening;	/* ops->open is at work; under mesh_members_lock */
	struct completion	opened;		/* that it was tried, or needs no wait; then: */
	int			open_err;	/* why it could not be opened, or 0 */
	const char		*open_why;	/* the same, a static string */
	/* BDEV: the device, once it is known; under mesh_members_lock */
	dev_t			dev;
	struct work_struct	kick_work;	/* runs ops->kick; holds a reference while queued */
	struct work_struct	put_work;	/* gives back that reference when it was the last */
	atomic_t		abandoned;	/* I/O that was left, and has a reference each */
	struct llist_head	returned;	/* of that, what has ended */
	struct work_struct	abandoned_work;	/* frees it */
	bool			said;		/* that there is some; the work's own */
};

/**
 * struct mesh_member_link - a layout's interest in a member
 * @node: in member->links, under its lock
 * @changed: the state changed; called with the member's lock held, may sleep,
 *	must not take a lock under which members are opened or put
 * @unfit: whether the member, whose info is known, cannot serve the layout: then it
 *	does not come UP; like @changed
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
int mesh_member_attach(struct mesh_member *m, u64 number);
void mesh_member_stats(struct mesh_member *m, struct mesh_member_stats *sum);
u64 mesh_member_inflight(struct mesh_member *m);
u64 mesh_member_wanted(struct mesh_member *m);
bool mesh_member_moves(struct mesh_member *m, unsigned long recent);

static inline void mesh_member_commit(struct mesh_member *m, unsigned int queue)
{
	m->ops->commit(m, queue);
}

/* In an RCU read section, which keeps the member. */
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
