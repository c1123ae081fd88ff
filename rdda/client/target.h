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

/*
 * Most ended sessions of a target with queue pairs that the NIC has not destroyed yet. There is no
 * login while a target has that many.
 */
#define RDDA_ENDED_MAX	2

/* A target that is kept connected. */
struct rdda_target {
	struct sockaddr_storage addr;
	uuid_t	expect;			/* host that the target must show, unless @expect_any */
	bool	expect_any;		/* cleared by rdda_target_expect(), under @lock */
	const struct rdda_target_ops *ops;
	void	*priv;
	/* an EVENT about an extent or a drive came; CQ handler */
	void (*event)(struct rdda_session *s, const struct rdda_event *ev);

	/*
	 * the only place where states change; @lock guards the fields that others read: @state,
	 * @err, @reason, @session, @extents, @counts
	 */
	struct delayed_work work;
	struct completion stopped;
	struct list_head identity_node;	/* in identity_users: identity.c */
	/* logins since a session lasted; used by the work item only, like all fields up to @lock */
	unsigned int attempt;
	/* channels to request, after a session could not have all; 0: no limit */
	unsigned int channels_most;
	unsigned long next_try;		/* jiffies */
	unsigned long up_at;		/* jiffies when @session came up */
	/* log in with the key before the newest: the target refused the newest */
	bool	older_key;
	struct list_head ended;		/* ended sessions with queue pairs left ... */
	unsigned int nr_ended;		/* ... number of them; RDDA_ENDED_MAX at most */
	struct list_head leaving;	/* ended sessions with only connections left */
	/*
	 * pages for messages and bounce blocks, kept from one session to the next: when many lost
	 * sessions are made again at once, only their own I/O may be able to free memory. Has its
	 * own lock: a teardown runs beside the work item
	 */
	struct rdda_pages pages;

	spinlock_t lock;		/* guards all fields below but @stop, and the extents */
	enum rdda_target_state state;
	int	err;
	char	reason[64];
	struct rdda_session *session;
	struct list_head extents;	/* by drive UUID, unknown drives last */
	bool	stop;			/* set once, by rdda_target_destroy() */
	uuid_t	uuid;
	u64	reconnects;
	struct rdda_counts counts;	/* sums of ended sessions */
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
