// SPDX-License-Identifier: GPL-2.0-only
/*
 * One work for each CPU polls the completion queues of all channels that have completions.
 *
 *   event of a CQ ---> ready list of this CPU ---> its work: each channel a turn
 *        (tgt_poller_kick)                          (turns.c: tgt_queue_poll)
 *
 * With few clients a message wakes the work; with many, messages of other channels meanwhile only
 * add to the work's list. Shared completion queues would save arming each queue as well, but then
 * one client that overruns its share ends all sessions.
 *
 * A channel is in one list, or has a turn, at a time:
 *
 *             kick            turn begins           turn ends
 *   (nothing) ----> QUEUED ----------------> RUNS ------------> (nothing)
 *                     ^                       | kick, or more to do
 *                     '--- turn ends --- QUEUED|RUNS
 *
 * If one turn sleeps, all channels of the CPU wait: so a turn sleeps for no device
 * (tgt_cmd_submit()).
 */
#include <linux/percpu.h>
#include <linux/wait.h>

#include "rdda/target/channel.h"
#include "rdda/target/tgt.h"

static struct tgt_poller __percpu *pollers;
/* tgt_poller_quiet() waits here, not in a channel: the channel may be gone when the waiter wakes */
static DECLARE_WAIT_QUEUE_HEAD(poller_idle);

/* Add a channel that needs a turn. @p: of this CPU. Any context. */
void tgt_poller_add(struct tgt_poller *p, struct tgt_channel *ch)
{
	if (llist_add(&ch->poll.node, &p->ready))
		queue_work(tgt_io_wq, &p->work);
}

/*
 * A channel's completion queue has completions, or is to be armed. Any context. A full barrier,
 * paired with the one in turns_give(): the turn that follows sees all writes before the kick.
 */
void tgt_poller_kick(struct tgt_channel *ch)
{
	if (atomic_fetch_or(POLLER_QUEUED, &ch->poll.state) & (POLLER_QUEUED | POLLER_RUNS))
		return;		/* in a list, or its turn adds it again */
	tgt_poller_add(get_cpu_ptr(pollers), ch);
	put_cpu_ptr(pollers);
}

/*
 * Wait until a channel is in no list and has no turn. @ch: drained is set, so a turn that begins
 * now does nothing; an event of a delayed CPU may still add the channel once more. Sleeps.
 */
void tgt_poller_quiet(struct tgt_channel *ch)
{
	/*
	 * A full barrier, paired with the one in turns_give(): a turn that is not seen here sees
	 * all earlier writes.
	 */
	atomic_fetch_or(POLLER_WAITED, &ch->poll.state);
	wait_event(poller_idle,
		   !(atomic_read_acquire(&ch->poll.state) & (POLLER_QUEUED | POLLER_RUNS)));
}

/*
 * Wake tgt_poller_quiet(): a channel's turn is over, with nothing more to do. The channel may be
 * gone.
 */
void tgt_poller_rests(void)
{
	wake_up_all(&poller_idle);
}

/* Set up the works of all CPUs. @work: gives turns. Return: 0 or -ENOMEM. */
int tgt_poller_init(work_func_t work)
{
	unsigned int cpu;

	pollers = alloc_percpu(struct tgt_poller);
	if (!pollers)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct tgt_poller *p = per_cpu_ptr(pollers, cpu);

		init_llist_head(&p->ready);
		INIT_WORK(&p->work, work);
	}
	return 0;
}

/* Free the works of all CPUs. No channel is left, and tgt_io_wq is destroyed. */
void tgt_poller_exit(void)
{
	free_percpu(pollers);
}
