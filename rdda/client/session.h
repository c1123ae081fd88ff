/* SPDX-License-Identifier: GPL-2.0-only */
/* One login at a target, with its connections. connect.c makes and ends it. */
#ifndef RDDA_CLIENT_SESSION_H
#define RDDA_CLIENT_SESSION_H

#include <linux/completion.h>
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

/*
 * One incarnation at a target. Memory lives as long as @ref (staged payloads hold one); what
 * belongs to the device dies in @teardown. A part names the file that writes it.
 */
struct rdda_session {
	struct kref ref;
	struct rdda_target *t;
	struct ib_device *dev;
	struct ib_pd *pd;
	struct rdda_limits lim;
	/* SESSION_*, atomic bits; once up, a lost connection is the session's end */
	unsigned long flags;
	wait_queue_head_t wait;		/* for room, and for buffers */

	/* connect.c */
	struct {
		u32	number;
		u32	id;			/* the target's number for it */
		struct rdda_session_key key;
		uuid_t	host;
	} login;

	/* set once, by rdda_session_fail(), before SESSION_DEAD: session.c */
	struct {
		int	err;
		char	reason[64];
	} end;

	unsigned int nchan;
	struct rdda_chan *chan[RDDA_CHANNELS_MAX];

	/* of the target: control.c, CQ handler of channel 0, until @got; then constant */
	struct {
		struct rdda_piece pieces[RDDA_PIECES_MAX];
		unsigned int nr;
		bool	got;
		u32	bytes;			/* as granted: connect.c */
		u32	max_order;		/* what the borders of pieces allow: arena.c */
	} arena;

	/* arena.c */
	struct {
		u32	push_bytes;		/* of one block */
		u32	bytes;
		u16	blocks;			/* of each channel */
		struct page **page;
		struct sg_table sgt;
		u64	*dma;
		struct ib_mr *mr;
	} bounce;

	/* drives by the number of their queue: opened.c, from the work item only */
	struct {
		uuid_t	drive[RDDA_DRIVE_QUEUES];
		unsigned int nr;
	} queues;

	/* keep-alive: control.c, with the times that connect.c was granted */
	struct {
		u32	every_ms;
		u32	dead_ms;
		struct timer_list timer;
	} alive;

	/* requests that wait for an answer: session.c */
	struct {
		spinlock_t lock;		/* this part */
		struct list_head list;
		u64	next_tag;
		unsigned int room;		/* OPENs and CLOSEs that may be sent unanswered */
	} calls;

	struct list_head end_node;	/* in @t's ended, then in its leaving */
	struct work_struct teardown;	/* destroys the queue pairs, ends the I/O that they name */
	struct completion torn;		/* that is done */
	struct work_struct free_work;
};

#define SESSION_FAILING	0	/* err and reason are being written */
#define SESSION_DEAD	1
#define SESSION_UP	2
#define SESSION_LEAVING	3	/* we end it: nothing to log */
#define SESSION_REMOVED	4	/* its device goes, and waits for us */
#define SESSION_RENEW	5	/* another login is granted more, or is to have less */

static inline bool rdda_session_dead(struct rdda_session *s)
{
	return test_bit(SESSION_DEAD, &s->flags);
}

struct rdda_session *rdda_session_connect(struct rdda_target *t, int *err, char *reason,
					  size_t reason_len);
void rdda_session_end(struct rdda_session *s);
void rdda_session_leave(struct rdda_session *s, bool force);

/* session.c */
void rdda_session_put(struct rdda_session *s);
void rdda_session_renew(struct rdda_session *s);
void rdda_session_close(struct rdda_session *s);
__printf(3, 4)
void rdda_session_fail(struct rdda_session *s, int err, const char *fmt, ...);

#endif
