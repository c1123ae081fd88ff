/* SPDX-License-Identifier: GPL-2.0-only */
/* Extents, the openings that sessions hold, and the views of commands. */
#ifndef TGT_GRANT_H
#define TGT_GRANT_H

#include <linux/list.h>
#include <linux/percpu-refcount.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "rdda/wire.h"

struct netlink_ext_ack;
struct tgt_channel;
struct tgt_drive;
struct tgt_session;

/* The hosts that a volume is for. */
struct tgt_allow {
	bool			all;	/* any host */
	unsigned int		nr;	/* entries of @host */
	uuid_t			host[];
};

/* A line of a drive's table. */
struct tgt_extent {
	struct list_head	node;	/* in tgt_drive.extents, by start; tgt_lock for all */
	struct tgt_drive	*drive;		/* drive with the extent */
	uuid_t			uuid;		/* name */
	u64			start;		/* byte */
	u64			len;		/* bytes */
	uuid_t			holder;		/* host last granted rw, as noted in the label */
	u64			epoch;		/* highest granted */
	u64			attach;		/* highest number noted in the label */
	uuid_t			attacher;	/* host for which @attach was noted */
	bool			ready;		/* zeroed */
	/* hosts that may open it with an access number; NULL: only @attacher */
	struct tgt_allow	*allow;
	struct list_head	opens;		/* struct tgt_open */
	/* meshd was requested to note a grant and has not answered yet */
	bool			pending;
	/* host that preempts or renews: no other host gets the extent before @claim_until */
	uuid_t			claim;
	unsigned long		claim_until;	/* in jiffies */
};

/* An opened extent of a session. */
struct tgt_open {
	struct list_head	on_extent;	/* in tgt_extent.opens; tgt_lock for all */
	struct list_head	on_sdrive;	/* in tgt_sdrive.opens by slba, or .closing */
	struct tgt_sdrive	*sd;		/* session and drive */
	struct tgt_extent	*ext;		/* NULL once revoked */
	u32			handle;		/* on the wire */
	u64			slba;		/* first block */
	u64			blocks;		/* length */
	bool			rw;		/* access */
	bool			closing;	/* no command is admitted any more */
	u64			cut;	/* commands of views with a lower seq may still run */
	struct tgt_channel	*ch;		/* channel for the CLOSED answer, or NULL */
	u64			tag;		/* of the CLOSED answer */
};

/* The extents that a session may reach on a drive. */
struct tgt_view {
	/* one reference while in force, and one for each command admitted under the view */
	struct percpu_ref	ref;
	struct list_head	node;	/* in tgt_sdrive.views, whether in force or not; tgt_lock */
	struct tgt_sdrive	*sd;
	u64			seq;	/* grows with each view made, on any drive */
	bool			killed;	/* not in force any more; tgt_lock */
	struct work_struct	work;
	struct rcu_head		rcu;
	unsigned int		nr;
	struct rdda_extent_view	ext[];
};

/* A drive as one session uses the drive. */
struct tgt_sdrive {
	struct tgt_session	*s;		/* session, referenced */
	struct tgt_drive	*d;		/* drive, referenced */
	u32			nsid;		/* handle on the wire */
	struct tgt_view __rcu	*view;		/* in force; NULL when nothing is open */
	struct list_head	views;		/* all not yet freed; tgt_lock, as all lists here */
	struct list_head	opens;		/* by slba */
	struct list_head	closing;	/* openings that wait for older views */
	struct list_head	on_drive;	/* in tgt_drive.sdrives */
	bool			gone;	/* the drive was lost; new commands end with RDDA_ST_GONE */
	/* sched.c */
	spinlock_t		lock;		/* guards the fields below */
	u32			taken;	/* bytes with the device, of commands with @taken */
	struct list_head	queue;		/* commands waiting for their turn */
	struct work_struct	work;		/* submits the commands of @queue */
	struct timer_list	look;		/* queues @work, while @queue has commands */
	struct rcu_head		rcu;
};

struct tgt_open_request {
	uuid_t	extent;
	u64	epoch;
	u64	attach;
	u64	served;
	bool	rw;
	bool	preempt;
	bool	again;
	bool	numbered;
	bool	probe;
};

int tgt_grant_open(struct tgt_channel *ch, const struct tgt_open_request *req, bool noted,
		   struct rdda_opened *out);
void tgt_grant_clear_pending(const uuid_t *extent, struct rdda_opened *out);
int tgt_grant_close(struct tgt_channel *ch, u32 handle, u64 tag);
void tgt_grant_session_end(struct tgt_session *s);
int tgt_grant_table(const uuid_t *uuid, struct list_head *extents,
		    struct netlink_ext_ack *extack);
void tgt_grant_drive_lost(struct tgt_drive *d);
void tgt_grant_drive_forget(struct tgt_drive *d);
void tgt_grant_drive_back(const uuid_t *drive);
bool tgt_grant_drained(struct tgt_drive *d);
int tgt_grant_wait(struct tgt_drive *d, unsigned long until);
void tgt_extents_free(struct list_head *extents);
void tgt_extent_counts(const struct tgt_extent *e, u32 *writers, u32 *readers);

static inline void tgt_view_put(struct tgt_view *v)
{
	percpu_ref_put(&v->ref);
}

/* holders.c */
int tgt_holders_decide(struct tgt_session *s, const struct tgt_open_request *req, bool noted,
		       struct tgt_extent *e, struct tgt_open **self, struct rdda_opened *out);
void tgt_holders_renew(struct tgt_session *s);
void tgt_holders_fence(const struct tgt_session *s, const struct tgt_extent *e);

/* open.c */
void tgt_open_msg(struct tgt_channel *ch, const struct rdda_open *m);
void tgt_close_msg(struct tgt_channel *ch, const struct rdda_close *m);
int tgt_open_answered(u64 request, int err);
void tgt_open_exit(void);

#endif
