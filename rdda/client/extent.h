/* SPDX-License-Identifier: GPL-2.0-only */
/* An extent that is kept open, and what it was granted. */
#ifndef RDDA_CLIENT_EXTENT_H
#define RDDA_CLIENT_EXTENT_H

#include <linux/rcupdate.h>
#include <linux/wait.h>

#include "rdda/client/control.h"
#include "rdda/rdda.h"
#include "rdda/wire.h"

struct rdda_session;
struct rdda_target;

/* An opened extent in one session; read under RCU. */
struct rdda_grant {
	struct rcu_head rcu;
	struct rdda_session *s;
	u32	number;			/* of @s, which may be gone */
	u32	nsid;
	u32	handle;
	u64	slba;
	u64	bytes;
	u32	max_bytes;
	u8	lba_shift;
	u8	dq;
	bool	rw;
};

/*
 * An extent that is kept open; under its target's lock. Written by extent.c, and by opened.c where
 * a part says so.
 */
struct rdda_extent {
	struct rdda_target *t;
	struct list_head node;
	uuid_t	uuid;

	/* what its user wants; constant, but for @epoch and @attach */
	struct {
		bool	rw;
		bool	preempt;		/* whenever it begins again */
		u64	epoch;
		u64	attach;			/* number in every OPEN; 0: none */
	} want;

	/*
	 * how the OPEN with @want.attach ended: 0, or a negative errno; -EINPROGRESS: not yet, and
	 * rdda_extent_attach() waits for it
	 */
	int	attach_err;

	/* its user */
	struct {
		const struct rdda_extent_ops *ops;
		void	*priv;
		enum rdda_extent_state reported;	/* to it; used by the work item only */
	} user;

	/* not NULL while I/O may be sent; written by the work item */
	struct rdda_grant __rcu *grant;
	struct rdda_extent_info info;
	int	io_err;	/* what I/O ends with while there is no grant; read in any context */
	bool	busy;		/* the work item uses it or calls its user */
	bool	closing;
	bool	released;	/* not to be opened before rdda_extent_retry() */
	unsigned int reports;	/* EXTENT_* bits for the work item */
	wait_queue_head_t wait;
	/*
	 * a grant that was taken away, when stuck or REFUSED; the target has it open until it is
	 * closed or opened again; opened.c writes it, too
	 */
	struct rdda_grant *kept;

	/* the next OPEN: extent.c, and opened.c by the answer to the one before */
	struct {
		bool	pending;	/* it is to be sent ... */
		unsigned long due;	/* ... at these jiffies */
		unsigned int attempt;
		bool	preempt;
		bool	again;		/* was open before, in any session, and not given back */
		bool	excused;	/* does not say so: its user holds what makes that safe */
	} next;

	/* the OPEN in flight; used by the work item only, but for @in_flight */
	struct {
		struct rdda_call call;
		struct rdda_opened answer;
		u64	attach;		/* number that it carries */
		unsigned long end;	/* jiffies when the target has had time enough */
		bool	in_flight;	/* the extent is not freed meanwhile */
	} open;

	/* what a grant that was taken away has left; used by the work item only */
	struct {
		bool	active;		/* commands have not ended: no OPEN is sent before */
		bool	ending;		/* nor has I/O: its user is notified when it has */
		bool	stuck;		/* I/O ends where its pages allow it, whatever the ... */
		unsigned long stuck_at;	/* ... drive does, since these jiffies */
		unsigned long due;	/* jiffies of the next check */
		unsigned long end;	/* the session ends if they have not ended by then; ... */
		bool	ends;		/* ... this says that it counts */
	} drain;
};

#define EXTENT_GONE	1
#define EXTENT_BACK	2
#define EXTENT_REVOKED	4
#define EXTENT_RENEW	8
#define EXTENT_STUCK	16

void rdda_extent_set(struct rdda_extent *e, enum rdda_extent_event ev, int err);
void rdda_extent_sort(struct rdda_extent *e);
void rdda_attach_end(struct rdda_extent *e, int err);
struct rdda_grant *rdda_grant_swap(struct rdda_extent *e, struct rdda_grant *g);
bool rdda_extents_opening(struct rdda_target *t);
void rdda_extents_lost(struct rdda_target *t, struct rdda_session *s);
void rdda_extents_notify_lost(struct rdda_target *t);
unsigned long rdda_extents_run(struct rdda_target *t, struct rdda_session *s);
void rdda_extent_event(struct rdda_session *s, const struct rdda_event *ev);

/* opened.c */
#define RDDA_GONE_RETRY_MS	5000
int rdda_opened_check(const struct rdda_extent *e, const struct rdda_opened *m);
struct rdda_grant *rdda_grant_make(struct rdda_extent *e, struct rdda_session *s,
				   const struct rdda_opened *m);
struct rdda_grant *rdda_opened_apply(struct rdda_extent *e, const struct rdda_opened *m,
				     struct rdda_grant *g);

#endif
