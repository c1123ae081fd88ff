/* SPDX-License-Identifier: GPL-2.0-only */
/* A target that is kept connected. */
#ifndef RDDA_CLIENT_TARGET_H
#define RDDA_CLIENT_TARGET_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "rdda/client/channel.h"
#include "rdda/rdda.h"

struct rdda_event;
struct rdda_session;

/* Sessions of a target whose queue pairs the NIC does not let go of: no login before that. */
#define RDDA_ENDED_MAX	2

/* A target that is kept connected. */
struct rdda_target {
	struct sockaddr_storage addr;
	uuid_t	expect;			/* the host it must show, where not @expect_any */
	bool	expect_any;		/* rdda_target_expect() ends it, with @lock */
	const struct rdda_target_ops *ops;
	void	*priv;
	/* an EVENT about an extent or a drive came; CQ handler */
	void (*event)(struct rdda_session *s, const struct rdda_event *ev);

	/*
	 * the one place where states change; @lock guards what others read: @state, @err, @reason,
	 * @session, @extents, @stop, @counts
	 */
	struct delayed_work work;
	struct completion stopped;
	struct list_head identity_node;	/* in identity_users: identity.c */
	/*
	 * logins since a session lasted; used by the work item only, as all that follows up to
	 * @lock
	 */
	unsigned int attempt;
	/* channels that were to be had when a session could not have all; 0: not known */
	unsigned int channels_most;
	unsigned long next_try;		/* jiffies */
	unsigned long up_at;		/* jiffies when @session came up */
	/* log in with the key before the newest: the target refused that one */
	bool	older_key;
	struct list_head ended;		/* sessions that ended, but for their queue pairs ... */
	unsigned int nr_ended;		/* ... how many; RDDA_ENDED_MAX at most */
	struct list_head leaving;	/* sessions that ended, but for their connections */
	/*
	 * for messages and bounce blocks, kept from one session to the next: many sessions are made
	 * again at once when memory can be got by their I/O only. Its own lock: a teardown works
	 * beside the work item
	 */
	struct rdda_pages pages;

	spinlock_t lock;		/* all that follows, and the extents */
	enum rdda_target_state state;
	int	err;
	char	reason[64];
	struct rdda_session *session;
	struct list_head extents;	/* by drive UUID, unknown ones last */
	bool	stop;
	uuid_t	uuid;
	u64	reconnects;
	struct rdda_counts counts;	/* of sessions that ended */
};

/* identity.c */
void rdda_identity_get(uuid_t *host, struct rdda_key *key, bool older);
u32 rdda_session_number(void);
unsigned int rdda_targets(void);
const u8 *rdda_boot_id(void);
void rdda_identity_check(struct rdda_target *t);
void rdda_identity_join(struct rdda_target *t);
void rdda_identity_leave(struct rdda_target *t);
void rdda_identity_gone(void);

/* session.c */
extern struct workqueue_struct *rdda_wq;
void rdda_target_kick(struct rdda_target *t);
struct rdda_session *rdda_session_get(struct rdda_target *t);

/* stats.c */
void rdda_counts_sum(struct rdda_counts *to, const struct rdda_counts *from);
void rdda_counts_add(struct rdda_counts *to, struct rdda_session *s);

#endif
