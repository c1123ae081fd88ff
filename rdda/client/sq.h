/* SPDX-License-Identifier: GPL-2.0-only */
/* Send completions of a channel. */
#ifndef RDDA_CLIENT_SQ_H
#define RDDA_CLIENT_SQ_H

#include "rdda/client/channel.h"

#define RDDA_LOCAL_BUDGET	256	/* budget of a softirq, the same as the RDMA core's */
void rdda_batch_sent(struct ib_cq *cq, struct ib_wc *wc);
void rdda_mark_sent(struct ib_cq *cq, struct ib_wc *wc);
void rdda_control_sent(struct ib_cq *cq, struct ib_wc *wc);
void rdda_read_done(struct ib_cq *cq, struct ib_wc *wc);
void rdda_sq_poll(struct rdda_chan *ch, struct list_head *ended);
void rdda_sq_check(struct rdda_chan *ch);
void rdda_sq_arm(struct rdda_chan *ch);
void rdda_sq_event(struct ib_cq *cq, void *context);
int rdda_sq_softirq(struct irq_poll *iop, int budget);
void rdda_sq_stop(struct rdda_chan *ch);

/*
 * Let the softirq run the channel and end finished I/O. @ch: with a queue pair, locked. If the
 * softirq is running and already past that work, its end sees @again and schedules another run.
 */
static inline void rdda_sq_later(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	ch->poll.again = true;
	irq_poll_sched(&ch->poll.irq);
}

/* As rdda_sq_poll(), if a signalled request has not completed. @ch: locked. */
static inline void rdda_sq_scan(struct rdda_chan *ch, struct list_head *ended)
{
	if (ch->sq.sig_posted != ch->sq.sig_done)
		rdda_sq_poll(ch, ended);
}

#endif
