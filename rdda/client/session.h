/* SPDX-License-Identifier: GPL-2.0-only */
/* One login at a target, with its connections. connect.c makes and ends it. */
#ifndef RDDA_CLIENT_SESSION_H
#define RDDA_CLIENT_SESSION_H

#include <linux/kref.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "rdda/common/auth.h"
#include "rdda/common/verbs.h"
#include "rdda/wire.h"

struct rdda_chan;
struct rdda_target;

#define RDDA_CHANNELS_MAX	16
#define RDDA_DRIVE_QUEUES		64	/* drives of a target with their own queues */

/**
 * struct rdda_session - one incarnation at a target
 *
 * Memory lives as long as @ref (staged payloads hold one); what belongs to the
 * device dies in rdda_session_end(), in the target's work item.
 *
 * @dead: set once, by rdda_session_fail(); @err and @reason before it, by the
 *	same
 * @up: logged in; from then on a lost connection is the session's end
 * @queue_drive: drives by the number of their queue; used by the work item only
 * @nr_drive_queues: how many; written by the work item
 * @calls: under @call_lock
 * @next_tag: under @call_lock
 * @room: OPENs and CLOSEs that may be sent unanswered, under @call_lock
 */
struct rdda_session {
	struct kref ref;
	struct rdda_target *t;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct rdda_limits lim;
	u32	number;
	u32	id;			/* the target's number for it */
	struct rdda_key key;
	uuid_t	host;

	unsigned long flags;		/* SESSION_*, atomic bits */
	int	err;
	char	reason[64];
	wait_queue_head_t wait;		/* room, buffers */

	unsigned int nchan;
	struct rdda_chan *chan[RDDA_CHANNELS_MAX];

	struct rdda_piece pieces[RDDA_PIECES_MAX];
	unsigned int nr_pieces;
	bool	got_arena;		/* CQ handler of channel 0, then constant */
	u32	arena_bytes;
	u32	max_order;		/* what the borders of pieces allow */

	u32	push_bytes;		/* of one bounce block */
	u32	bounce_bytes;
	struct page **bounce_page;
	struct sg_table bounce_sgt;
	u64	*bounce_dma;
	struct ib_mr *bounce_mr;

	uuid_t	queue_drive[RDDA_DRIVE_QUEUES];
	unsigned int nr_drive_queues;

	u32	keepalive_ms;
	u32	dead_ms;
	struct timer_list alive;

	spinlock_t call_lock;		/* calls, next_tag, room */
	struct list_head calls;
	u64	next_tag;
	unsigned int room;

	struct list_head leave_node;	/* in @t's leaving */
	struct work_struct free_work;
};

#define SESSION_FAILING	0	/* err and reason are being written */
#define SESSION_DEAD	1
#define SESSION_UP	2
#define SESSION_LEAVING	3	/* we end it: nothing to log */
#define SESSION_REMOVED	4	/* its device goes, and waits for us */

static inline bool rdda_session_dead(struct rdda_session *s)
{
	return test_bit(SESSION_DEAD, &s->flags);
}

struct rdda_session *rdda_session_connect(struct rdda_target *t, int *err, char *reason,
					  size_t reason_len);
void rdda_session_end(struct rdda_session *s);
void rdda_session_leave(struct rdda_session *s, bool force);
void rdda_session_put(struct rdda_session *s);
__printf(3, 4)
void rdda_session_fail(struct rdda_session *s, int err, const char *fmt, ...);

#endif
