/* SPDX-License-Identifier: GPL-2.0-only */
/* An extent that is kept open, and its grant. */
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
	u32	number;			/* session number of @s; @s may be gone */
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
 * An extent that is kept open; under its target's lock. Written by extent.c; the comment of a part
 * says if opened.c or number.c writes the part, too.
 */
struct rdda_extent {
	struct rdda_target *t;
	struct list_head node;
	uuid_t	uuid;

	/*
	 * set by its user; @preempt counts until an OPEN succeeds, and again after a release;
	 * @number and @served: number.c; opened.c clears @served when an OPEN succeeds
	 */
	struct rdda_want want;
	/*
	 * another host or a later access of this host has the extent: no OPEN is sent any more;
	 * opened.c
	 */
	bool	fenced;

	/*
	 * result of the OPEN with @want.number: 0 or a negative errno; -EINPROGRESS: no answer yet,
	 * and rdda_extent_number() waits for one
	 */
	int	attach_err;

	/* user of the extent */
	struct {
		const struct rdda_extent_ops *ops;
		void	*priv;
		enum rdda_extent_state reported;	/* last state reported; used while @busy */
	} user;

	/* not NULL while I/O may be sent */
	struct rdda_grant __rcu *grant;
	struct rdda_extent_info info;
	int	io_err;	/* errno of I/O while there is no grant; read in any context */
	bool	busy;		/* in use by the work item or rdda_extent_release() */
	bool	closing;
	bool	released;	/* not to be opened before rdda_extent_retry() */
	unsigned int reports;	/* EXTENT_* bits for the work item */
	wait_queue_head_t wait;
	/*
	 * a grant that was taken away because its drive was stuck, or OPEN was answered with a
	 * refusal or GONE; the target has the opening until CLOSE or the next OPEN; opened.c writes
	 * @kept, too
	 */
	struct rdda_grant *kept;

	/* the next OPEN: extent.c; opened.c when the OPEN before was answered */
	struct {
		bool	pending;	/* OPEN is to be sent ... */
		unsigned long due;	/* ... at these jiffies */
		unsigned int attempt;
		bool	preempt;
		bool	again;		/* was open in any session, and not released since */
		bool	excused;	/* OPEN goes without AGAIN: the user makes that safe */
	} next;

	/* the OPEN in flight; used by the work item only, but for @in_flight */
	struct {
		struct rdda_call call;
		struct rdda_opened answer;
		u64	attach;		/* attach number in this OPEN */
		u64	served;		/* and the number served so far */
		unsigned long end;	/* jiffies: the answer is late after these */
		bool	in_flight;	/* the extent is not freed meanwhile */
	} open;

	/*
	 * commands and I/O left by a grant that was taken away; used by the work item, and by
	 * rdda_extent_release() and rdda_extent_close(), which keep the work item from the extent
	 */
	struct {
		bool	active;		/* some commands have not ended: no OPEN is sent */
		bool	ending;		/* nor has some I/O: the user is notified after it */
		bool	stuck;		/* I/O ends if no request names its pages, ... */
		unsigned long stuck_at;	/* ... since these jiffies */
		unsigned long due;	/* jiffies of the next check */
		unsigned long end;	/* jiffies: the session ends if commands are left, ... */
		bool	ends;		/* ... once this is set */
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
struct rdda_grant *rdda_opened_apply(struct rdda_extent *e, const struct rdda_session *s,
				     const struct rdda_opened *m, struct rdda_grant *g);

#endif
