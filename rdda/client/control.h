/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages that are not I/O: calls, the room for them, keep-alive. */
#ifndef RDDA_CLIENT_CONTROL_H
#define RDDA_CLIENT_CONTROL_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>

struct rdda_chan;
struct rdda_hdr;
struct rdda_session;
struct rdda_target;
struct timer_list;

/* Of those that may be unanswered: PING for life and for order, and PONG. */
#define RDDA_PING_ROOM		3
#define RDDA_CLOSE_ROOM		2	/* the same: CLOSE */

/* A request that waits for its answer. */
struct rdda_call {
	struct list_head node;	/* on the session's calls, under calls.lock */
	u64	tag;		/* in both */
	u8	type;		/* the answer must have */
	void	*rsp;		/* where the answer goes */
	u32	rsp_max;	/* room there */
	int	err;		/* 0 when answered */
	/* target whose work item takes the answer; NULL: a caller waits for @done */
	struct rdda_target *waiter;
	struct completion done;	/* completed under calls.lock after @node was taken off */
};

int rdda_control_send(struct rdda_chan *ch, const void *msg, size_t len);
int rdda_control_recv(struct rdda_chan *ch, const void *msg, size_t len);
void rdda_call_close(struct rdda_session *s, u32 handle, unsigned int timeout_ms);
void rdda_alive_timer(struct timer_list *timer);

/* session.c */
bool rdda_room_try(struct rdda_session *s);
bool rdda_room_close(struct rdda_session *s);
void rdda_room_give(struct rdda_session *s);
void rdda_call_start(struct rdda_session *s, struct rdda_call *c);
int rdda_call_end(struct rdda_session *s, struct rdda_call *c);
int rdda_call_answer(struct rdda_session *s, const struct rdda_hdr *hdr, size_t len);

#endif
