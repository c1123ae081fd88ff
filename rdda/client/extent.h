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

/**
 * struct rdda_grant - an opened extent in one session; read under RCU
 */
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

/**
 * struct rdda_extent - an extent that is kept open; under its target's lock
 *
 * @grant: not NULL while I/O may be sent; written by the work item
 * @io_err: what I/O ends with while there is no grant; read in any context
 * @busy: the work item uses it or calls its user
 * @pending: an OPEN is to be sent
 * @due: jiffies of the next OPEN
 * @reports: EXTENT_* bits of what the target reported, for the work item
 * @again: it was open before, in this session or another, and not given back since
 * @excused: the next OPEN does not say so: its user still holds what makes that safe;
 *	@lock
 * @reported: state that its user was notified of; used by the work item only, as all
 *	that follows
 * @draining: commands of a grant that was taken away have not ended; no
 *	OPEN is sent before they have
 * @ending: nor has I/O of it, and the user is notified of its state when it has
 * @stuck: since @stuck_at: I/O ends where its pages allow it, whatever the drive does
 * @kept: a grant that was taken away, when stuck or REFUSED; the target has it open
 *	until it is closed or opened again; @lock
 * @drain_due: jiffies of the next check
 * @drain_end: the session ends if they have not ended by then
 * @drain_ends: @drain_end counts
 * @open: the OPEN in flight, while @opening
 * @opened: its answer
 * @opening: an OPEN is in flight; @lock. The extent is not freed meanwhile
 * @open_end: jiffies when the target has had time enough for it
 * @released: not to be opened before rdda_extent_retry(); @lock
 * @preempts: @preempt as the user wants it, whenever it begins again
 */
struct rdda_extent {
	struct rdda_target *t;
	struct list_head node;
	uuid_t	uuid;
	bool	rw;
	bool	preempt;
	u64	epoch;
	const struct rdda_extent_ops *ops;
	void	*priv;

	struct rdda_grant __rcu *grant;
	struct rdda_extent_info info;
	int	io_err;
	bool	busy;
	bool	closing;
	bool	pending;
	unsigned int attempt;
	unsigned long due;
	unsigned int reports;
	wait_queue_head_t wait;
	bool	again;
	bool	excused;
	enum rdda_extent_state reported;
	bool	draining;
	bool	ending;
	bool	stuck;
	unsigned long stuck_at;
	struct rdda_grant *kept;
	unsigned long drain_due;
	unsigned long drain_end;
	bool	drain_ends;
	struct rdda_call open;
	struct rdda_opened opened;
	bool	opening;
	unsigned long open_end;
	bool	released;
	bool	preempts;
};

#define EXTENT_GONE	1
#define EXTENT_BACK	2
#define EXTENT_REVOKED	4
#define EXTENT_RENEW	8
#define EXTENT_STUCK	16

void rdda_extent_set(struct rdda_extent *e, enum rdda_extent_event ev, int err);
void rdda_extent_sort(struct rdda_extent *e);
struct rdda_grant *rdda_grant_swap(struct rdda_extent *e, struct rdda_grant *g);
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
