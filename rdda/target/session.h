/* SPDX-License-Identifier: GPL-2.0-only */
/* One incarnation of one client, and its connections. */
#ifndef TGT_SESSION_H
#define TGT_SESSION_H

#include <linux/kref.h>
#include <linux/refcount.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "rdda/common/auth.h"
#include "rdda/common/verbs.h"
#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/state.h"
#include "rdda/wire.h"

struct device;
struct tgt_channel;
struct tgt_past;
struct tgt_unproven;

#define TGT_CHANNELS_MAX	16	/* of a session */

/*
 * One incarnation of one client. Each group of fields names the file that writes the group;
 * session.c sets all of them up.
 */
struct tgt_session {
	/* held by the list, sdrives, grants requested from meshd, the works in @end, and callers */
	struct kref		ref;
	void			(*release)(struct kref *ref);	/* frees the session */
	struct list_head	node;		/* in tgt_sessions; tgt_lock */
	u32			id;		/* number on the wire and in netlink */

	/* session.c */
	struct {
		uuid_t			host;
		u8			role;	/* enum rdda_role; the proof is of it and @host */
		struct sockaddr_storage	addr;	/* address of channel 0's client; for the log */
		u32			boot;	/* first 32 bits of its boot id */
		u32			number;	/* of the session within the client's boot */
		u8			boot_id[RDDA_UUID_LEN];	/* whole; of the proof, tgt_lock */
		/*
		 * the client proved the key: from then on the session counts for others; set under
		 * tgt_lock, with LIVE; never cleared
		 */
		bool			proved;
		/*
		 * good-bye said (queue.c), or replaced by a newer session: @heard is no evidence
		 * any more that the host lives
		 */
		bool			left;
		/*
		 * jiffies of the last message that the client's CPU made: queue.c; for a join:
		 * listen.c
		 */
		unsigned long		heard;
		unsigned int		dead_ms;	/* dead_ms at the login; constant */
	} client;

	/* the session's place among connections without a proof; reasons.c clears it */
	struct tgt_unproven	*unproven;
	spinlock_t		lock;		/* @state, @err, @channel, @taken */
	enum tgt_state		state;		/* see state.h */
	int			err;		/* why the session ended, negative errno */
	struct ib_device	*dev;		/* RDMA device of all channels */
	struct rdda_limits	lim;		/* limits of @dev */
	/*
	 * protection domain of this session alone: keys of other sessions do not reach the arena.
	 * Once the arena exists, each queue pair on @pd has proved the key
	 */
	struct ib_pd		*pd;
	/* users of @pd: the arena and each channel; the last user frees @pd */
	refcount_t		pd_users;
	/* memory given to the client; reserved and built once before LIVE, read only afterwards */
	struct tgt_arena	arena;

	/* the client's bounce arena: queue.c */
	struct {
		u32			rkey;	/* valid once @len is not 0 */
		u32			len;	/* set once with release, read with acquire */
	} bounce;

	unsigned int		nr_channels;	/* granted; 0 before the proof */
	struct tgt_channel	*channel[TGT_CHANNELS_MAX];	/* by index */
	/* indexes of channels that have proved the key, as bits; never cleared */
	unsigned long		taken;

	/* tgt_lock: grant.c */
	struct {
		struct xarray		drives;	/* nsid -> struct tgt_sdrive; read under RCU */
		struct xarray		opens;	/* handle -> struct tgt_open */
		unsigned int		nr_opens;
		u32			next_nsid;	/* for cyclic allocation */
		u32			next_handle;
		unsigned int		undrained;	/* sdrives not yet freed */
	} grants;

	/*
	 * compares the session's share with the share of a login now; tgt_lock: share.c, but for
	 * @use and @channels, which session.c sets
	 */
	struct {
		unsigned int		use;	/* channels that the client has a use for */
		unsigned int		channels;	/* share at the login */
		unsigned int		turns;	/* in a row with a large difference */
		bool			sent;	/* the client was notified */
	} share;

	/* session.c */
	struct {
		struct delayed_work	watch;	/* ends the session when @client.heard is too old */
		struct work_struct	kill;	/* tears down queue pairs and regions */
		struct delayed_work	leave;	/* destroys the connections, after @kill */
		bool			removed;	/* @dev waits for @leave: listen.c */
		struct work_struct	free;	/* frees the memory once all bios are back */
		bool			freeing;	/* @free is queued or runs; tgt_lock */
		struct tgt_past		*past;	/* kept when the session ends without a good-bye */
	} end;

	/* device in sysfs; set before LIVE is announced, cleared by @end.free */
	struct device		*shown;
};

extern struct list_head tgt_sessions;
struct tgt_session *tgt_session_login(struct rdma_cm_id *cm, const struct rdda_login *l,
				      const struct rdda_limits *lim, int *reason);
struct tgt_session *tgt_session_joined(struct rdma_cm_id *cm, const struct rdda_join *j);
bool tgt_session_take(struct tgt_session *s, unsigned int channel);
int tgt_session_attach(struct tgt_channel *ch);
int tgt_session_grant(struct tgt_session *s, const u8 *boot_id, unsigned int use);
unsigned int tgt_session_clients(const struct tgt_session *s);
bool tgt_session_halve(struct tgt_session *s);
int tgt_session_live(struct tgt_session *s);
void tgt_session_kill_all(int err);
void tgt_session_rekeyed(void);
unsigned int tgt_session_dead_most(void);
void tgt_session_quiet(unsigned int ms);
struct tgt_session *tgt_session_find(u32 id);
void tgt_session_event(struct tgt_session *s, u32 kind, const uuid_t *drive, u32 nsid, u32 handle);
void tgt_session_pd_put(struct tgt_session *s);
u64 tgt_session_memory(struct tgt_session *s);
u64 tgt_session_count(struct tgt_session *s, enum tgt_count which);
void tgt_session_init(void);
void tgt_session_exit(void);

static inline void tgt_session_get(struct tgt_session *s)
{
	kref_get(&s->ref);
}

/* life.c */
void tgt_session_put(struct tgt_session *s);
bool tgt_session_set(struct tgt_session *s, enum tgt_state to, int err);
enum tgt_state tgt_session_state(struct tgt_session *s);
void tgt_session_kill(struct tgt_session *s, int err);
void tgt_session_drained(struct tgt_session *s);

/* share.c */
void tgt_share_init(void);
void tgt_share_exit(void);

/* sysfs.c */
void tgt_sysfs_add(struct tgt_session *s);
void tgt_sysfs_del(struct tgt_session *s);
int tgt_sysfs_init(void);
void tgt_sysfs_exit(void);

#endif
