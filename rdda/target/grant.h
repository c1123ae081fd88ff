/* SPDX-License-Identifier: GPL-2.0-only */
/* Which session holds what: extents, openings, views. */
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

/**
 * struct tgt_extent - a line of a drive's table
 * @node: in tgt_drive.extents, by start; tgt_lock for all
 * @drive: where it is
 * @uuid: name
 * @start: byte
 * @len: bytes
 * @holder: host last granted rw, as noted in the label
 * @epoch: highest granted
 * @ready: zeroed
 * @opens: struct tgt_open
 * @pending: a grant was requested from meshd, which has not answered
 * @claim: host that is preempting, no other host gets it ...
 * @claim_until: ... before that, in jiffies
 */
struct tgt_extent {
	struct list_head	node;
	struct tgt_drive	*drive;
	uuid_t			uuid;
	u64			start;
	u64			len;
	uuid_t			holder;
	u64			epoch;
	bool			ready;
	struct list_head	opens;
	bool			pending;
	uuid_t			claim;
	unsigned long		claim_until;
};

/**
 * struct tgt_open - an opened extent of a session
 * @on_extent: in tgt_extent.opens; tgt_lock for all
 * @on_sdrive: in tgt_sdrive.opens by slba, or .closing
 * @sd: session and drive
 * @ext: NULL once revoked
 * @handle: on the wire
 * @slba: first block
 * @blocks: length
 * @rw: access
 * @closing: no command is admitted any more
 * @cut: commands of views older than this may still run
 * @ch: to be answered with CLOSED, may be NULL
 * @tag: of that answer
 */
struct tgt_open {
	struct list_head	on_extent;
	struct list_head	on_sdrive;
	struct tgt_sdrive	*sd;
	struct tgt_extent	*ext;
	u32			handle;
	u64			slba;
	u64			blocks;
	bool			rw;
	bool			closing;
	u64			cut;
	struct tgt_channel	*ch;
	u64			tag;
};

/**
 * struct tgt_view - the extents that a session may reach on a drive
 * @ref: 1 while in force, and one for each command admitted under it
 * @node: in tgt_sdrive.views, whether in force or not; tgt_lock
 * @seq: grows with each view made, on any drive
 * @killed: not in force any more; tgt_lock
 */
struct tgt_view {
	struct percpu_ref	ref;
	struct list_head	node;
	struct tgt_sdrive	*sd;
	u64			seq;
	bool			killed;
	struct work_struct	work;
	struct rcu_head		rcu;
	unsigned int		nr;
	struct rdda_extent_view	ext[];
};

/**
 * struct tgt_sdrive - a drive as one session sees it
 * @s: session, referenced
 * @d: drive, referenced
 * @nsid: its handle on the wire
 * @view: in force; NULL when nothing is open
 * @views: all that live; tgt_lock, as all lists here
 * @opens: by slba
 * @closing: waiting for views
 * @on_drive: in tgt_drive.sdrives
 * @gone: the drive was lost; its commands end with that status
 * @queue: commands waiting for their turn; sched_lock
 * @turn: in tgt_drive.turns; sched_lock
 * @deficit: bytes it may submit in this round; sched_lock
 */
struct tgt_sdrive {
	struct tgt_session	*s;
	struct tgt_drive	*d;
	u32			nsid;
	struct tgt_view __rcu	*view;
	struct list_head	views;
	struct list_head	opens;
	struct list_head	closing;
	struct list_head	on_drive;
	bool			gone;
	struct list_head	queue;
	struct list_head	turn;
	s64			deficit;
	struct rcu_head		rcu;
};

struct tgt_open_request {
	uuid_t	extent;
	u64	epoch;
	bool	rw;
	bool	preempt;
	bool	again;
};

int tgt_grant_open(struct tgt_channel *ch, const struct tgt_open_request *req, bool noted,
		   struct rdda_opened *out);
void tgt_grant_clear_pending(const uuid_t *extent);
int tgt_grant_close(struct tgt_channel *ch, u32 handle, u64 tag);
void tgt_grant_session_end(struct tgt_session *s);
int tgt_grant_table(const uuid_t *uuid, struct list_head *extents,
		    struct netlink_ext_ack *extack);
void tgt_grant_drive_lost(struct tgt_drive *d);
void tgt_grant_drive_forget(struct tgt_drive *d);
void tgt_grant_drive_back(const uuid_t *drive);
bool tgt_grant_drained(struct tgt_drive *d);
int tgt_grant_wait(struct tgt_drive *d);
struct tgt_view *tgt_view_get(struct tgt_session *s, u32 nsid, bool *gone);
void tgt_extents_free(struct list_head *extents);

static inline void tgt_view_put(struct tgt_view *v)
{
	percpu_ref_put(&v->ref);
}

/* holders.c */
int tgt_holders_decide(struct tgt_session *s, const struct tgt_open_request *req, bool noted,
		       struct tgt_extent *e, struct tgt_open **self, struct rdda_opened *out);
void tgt_holders_fence(const struct tgt_session *s, const struct tgt_extent *e);

/* open.c */
void tgt_open_msg(struct tgt_channel *ch, const struct rdda_open *m);
void tgt_close_msg(struct tgt_channel *ch, const struct rdda_close *m);
int tgt_open_answered(u64 request, int err);
int tgt_open_init(void);
void tgt_open_exit(void);

#endif
