// SPDX-License-Identifier: GPL-2.0-only
/* The turns of channels in the ready list of poller.c: the work of each CPU. */
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "rdda/common/fault.h"
#include "rdda/target/channel.h"

/* After the turn the channel may be gone, unless it was kicked again. */
static void turns_give(struct tgt_poller *p, struct tgt_channel *ch)
{
	int state;

	/* From queued to running; a full barrier, for tgt_poller_kick() and tgt_poller_quiet(). */
	atomic_fetch_xor(POLLER_QUEUED | POLLER_RUNS, &ch->poll.state);
	if (tgt_queue_poll(ch))
		atomic_or(POLLER_QUEUED, &ch->poll.state);
	if (rdda_fault(RDDA_FAULT_LINGER))
		usleep_range(300, 600);
	state = atomic_fetch_andnot(POLLER_RUNS, &ch->poll.state);
	if (state & POLLER_QUEUED)
		tgt_poller_add(p, ch);
	else if (state & POLLER_WAITED)
		tgt_poller_rests();
}

/* Give each channel in the ready list a turn. */
void tgt_turns_work(struct work_struct *work)
{
	struct tgt_poller *p = container_of(work, struct tgt_poller, work);
	struct llist_node *l = llist_reverse_order(llist_del_all(&p->ready));
	unsigned int noio = memalloc_noio_save();
	struct tgt_channel *ch, *next;

	llist_for_each_entry_safe(ch, next, l, poll.node) {
		turns_give(p, ch);
		cond_resched();		/* there may be hundreds */
	}
	if (rdda_fault(RDDA_FAULT_DEAF) || rdda_fault(RDDA_FAULT_DEAF_1))
		msleep(20);	/* the deaf have a turn again soon */
	memalloc_noio_restore(noio);
}
