// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking the completions of a channel's receives when submitters may poll. The channel then has the
 * CQ to itself, and walks the CQ
 *
 *   in the softirq, after an event            \  one walk at a time, so that
 *   in rdda_poll(), in the submitter's task   /  messages are taken in order
 *
 * A walk calls the handlers of complete.c, as the RDMA core does for other channels. The softirq
 * arms the CQ at the end of each walk. So no poller has to come: the softirq of the event takes the
 * completions left by pollers.
 *
 *   event -> pollers are at work, all I/O in flight is theirs -> left to them, unarmed
 *            no                                               -> softirq
 *   left  -> I/O that is not polled begins, or a tick has gone by -> softirq, armed
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/moduleparam.h>

#include "rdda/client/channel.h"
#include "rdda/client/extent.h"
#include "rdda/client/io.h"
#include "rdda/client/recv.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"

static unsigned int poll_queues;
module_param(poll_queues, uint, 0644);
MODULE_PARM_DESC(poll_queues, "queues of a disk for I/O that its submitter polls for (0: none)");

/* A poller is gone after this many ticks without a poll. */
#define RECV_POLLER_TICKS	2

/* Take up to @most completions. @ch: its walk is locked, in the softirq or with softirqs off. */
static int recv_walk(struct rdda_chan *ch, int most)
{
	struct ib_wc *wc = ch->walk.wc;
	int i, n, room, sum = 0;

	lockdep_assert_held(&ch->walk.lock);
	do {
		room = min_t(int, ARRAY_SIZE(ch->walk.wc), most - sum);
		n = ib_poll_cq(ch->q.cq, room, wc);
		for (i = 0; i < n; i++)
			wc[i].wr_cqe->done(ch->q.cq, &wc[i]);
		sum += max(n, 0);
	} while (n == room && sum < most);
	return sum;
}

static void recv_arm(struct rdda_chan *ch)
{
	if (ib_req_notify_cq(ch->q.cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		irq_poll_sched(&ch->walk.irq);
}

static int recv_softirq(struct irq_poll *iop, int budget)
{
	struct rdda_chan *ch = container_of(iop, struct rdda_chan, walk.irq);
	int n;

	spin_lock(&ch->walk.lock);
	WRITE_ONCE(ch->walk.left, false);
	n = recv_walk(ch, budget);
	if (n < budget) {
		irq_poll_complete(iop);
		recv_arm(ch);
	}
	/* rdda_recv_stop() waits for this unlock: no code of the softirq runs after it. */
	spin_unlock(&ch->walk.lock);
	return n;
}

static void recv_timer(struct timer_list *timer)
{
	struct rdda_chan *ch = container_of(timer, struct rdda_chan, walk.timer);

	irq_poll_sched(&ch->walk.irq);
}

/* True if pollers take the completions. A closed channel has no pollers. */
static bool recv_polled(const struct rdda_chan *ch)
{
	return READ_ONCE(ch->open) && !READ_ONCE(ch->walk.others) &&
	       time_before(jiffies, READ_ONCE(ch->walk.last) + RECV_POLLER_TICKS);
}

/*
 * Event: the CQ has completions. Context: may be the NIC's interrupt, or a post within the
 * channel's lock, so the handler does not take that lock.
 */
static void recv_event(struct ib_cq *cq, void *context)
{
	struct rdda_chan *ch = context;

	if (!recv_polled(ch)) {
		irq_poll_sched(&ch->walk.irq);
		return;
	}
	WRITE_ONCE(ch->walk.left, true);
	mod_timer(&ch->walk.timer, jiffies + 1);
	smp_mb();	/* pairs with rdda_recv_begin(): at least one side sees the other's write */
	if (READ_ONCE(ch->walk.others))
		irq_poll_sched(&ch->walk.irq);
}

/*
 * Set up the walks of a new channel. If polled queues are wanted, this file polls the channel's CQ
 * (walk.own is true); else the core does.
 */
void rdda_recv_init(struct rdda_chan *ch)
{
	spin_lock_init(&ch->walk.lock);
	timer_setup(&ch->walk.timer, recv_timer, 0);
	ch->walk.own = READ_ONCE(poll_queues);
	ch->walk.last = jiffies - RECV_POLLER_TICKS;	/* no poll yet */
	irq_poll_init(&ch->walk.irq, RDDA_LOCAL_BUDGET, recv_softirq);
}

/* Event handler for the receives' CQ; NULL: the core polls the CQ. */
ib_comp_handler rdda_recv_handler(const struct rdda_chan *ch)
{
	return ch->walk.own ? recv_event : NULL;
}

/* Begin to take completions: the CQ was created. */
void rdda_recv_start(struct rdda_chan *ch)
{
	if (ch->walk.own)
		recv_arm(ch);
}

/*
 * Stop the walks: none runs afterwards. @ch: its queue pair is drained, or it has none, and no
 * extent has a grant of the session. Sleeps. The timer may still run; its owner deletes it after
 * the CQ is destroyed.
 */
void rdda_recv_stop(struct rdda_chan *ch)
{
	if (!ch->walk.own || !ch->q.qp)
		return;
	irq_poll_disable(&ch->walk.irq);
	/* The softirq's last lines may be running. */
	spin_lock_bh(&ch->walk.lock);
	spin_unlock_bh(&ch->walk.lock);
}

/* Count I/O that begins on a channel. @ch: locked. */
void rdda_recv_begin(struct rdda_chan *ch, const struct rdda_io *io)
{
	if (likely(!ch->walk.own) || io->flags & RDDA_IO_POLLED)
		return;
	WRITE_ONCE(ch->walk.others, ch->walk.others + 1);
	smp_mb();	/* pairs with recv_event() */
	if (READ_ONCE(ch->walk.left))
		irq_poll_sched(&ch->walk.irq);
}

/*
 * Take send completions: large reads end with them, and so do writes that were answered early. The
 * CQ of the send queue is armed while a send completion is waited for. @ch: its walk is locked.
 */
static int recv_sends(struct rdda_chan *ch)
{
	unsigned long flags;
	LIST_HEAD(ended);
	u32 done;

	if (!READ_ONCE(ch->poll.armed))
		return 0;
	spin_lock_irqsave(&ch->lock, flags);
	done = ch->sq.sig_done;
	rdda_sq_scan(ch, &ended);
	done = ch->sq.sig_done - done;
	if (done)
		rdda_chan_run(ch, &ended);
	spin_unlock_irqrestore(&ch->lock, flags);
	rdda_ios_end(&ended);
	return done;
}

static int recv_poll(struct rdda_chan *ch)
{
	unsigned long now = jiffies;
	int n;

	/* Without commands in flight no completion can come. */
	if (!ch->walk.own || READ_ONCE(ch->slot.nfree) == ch->slot.nr)
		return 0;
	if (READ_ONCE(ch->walk.last) != now)
		WRITE_ONCE(ch->walk.last, now);
	if (!spin_trylock_bh(&ch->walk.lock))
		return 0;
	n = recv_walk(ch, ARRAY_SIZE(ch->walk.wc));
	n += recv_sends(ch);
	spin_unlock_bh(&ch->walk.lock);
	return n;
}

/* Number of queues for polled I/O; see rdda.h. */
unsigned int rdda_poll_queues(void)
{
	return READ_ONCE(poll_queues);
}

/* Take completions of a queue's channel; see rdda.h. The RCU section keeps the channel. */
int rdda_poll(struct rdda_extent *e, unsigned int queue)
{
	const struct rdda_grant *g;
	int n = 0;

	rcu_read_lock();
	g = rcu_dereference(e->grant);
	if (g)
		n = recv_poll(g->s->chan[queue % g->s->nchan]);
	rcu_read_unlock();
	return n;
}
