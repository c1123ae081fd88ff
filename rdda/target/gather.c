// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gathering: results wait to go out together, where a drive ends commands one by one.
 *
 * Most drives end commands in another order than submitted, and each command by an interrupt. A
 * post for each result costs both sides a message. Reads that are pushed together have to lie side
 * by side in the client's bounce arena, as only reads submitted together do. So where the CPU has
 * more to do than it can, results wait for results of the channel's other commands:
 *
 *   a command ends ---> CPU was idle of late, or nothing else is in flight,
 *         |             or 16 wait ---> posted
 *         v
 *       waits ---> gather_us: some came ---> waits again, three times in all
 *                             none -------> posted; the next ones do not wait
 *
 * No result waits on a CPU that has nothing to do: the CPU was idle when one of the last commands
 * ended. If waiting leaves the CPU idle, the waiting ends in the same way.
 */
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>

#include "rdda/common/gather.h"
#include "rdda/target/channel.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define GATHER_BUSY	16U	/* commands in a row that found their CPU busy */
#define GATHER_TIMES	3	/* gather_us in all, at most */
#define GATHER_MUTE	8U	/* results that do not wait after a wait in vain, ... */
#define GATHER_MUTE_MAX	128U	/* ... or after several such waits */

enum gather_load { LOAD_IDLE, LOAD_BUSY, LOAD_UNKNOWN };

static unsigned int gather_us = 50;
module_param(gather_us, uint, 0644);
MODULE_PARM_DESC(gather_us, "while the CPU is busy, results wait so long for others (50; 0: never)");

/* With busy polling no result waits: the administrator wants no wait. */
static u64 gather_ns(void)
{
	return READ_ONCE(tgt_busy_poll_us) ? 0 : rdda_gather_ns(READ_ONCE(gather_us));
}

/* Return: the number of results that wait to be posted or are being posted. */
static u32 gather_waiting(const struct tgt_channel *ch)
{
	return atomic_read(&ch->gather.ended) - READ_ONCE(ch->tx.collected);
}

/* Return: the load of this CPU apart from the code that ends a command here. */
static enum gather_load gather_load(void)
{
	if (is_idle_task(current))
		return LOAD_IDLE;
	if (in_hardirq() || !single_task_running())
		return LOAD_BUSY;
	if (in_task())
		return LOAD_IDLE;
	/* a softirq may have a thread for itself */
	return current->flags & PF_KTHREAD ? LOAD_UNKNOWN : LOAD_BUSY;
}

/*
 * True if results should wait: the CPU is busy and waits are not muted. Several CPUs write the
 * counts: a lost update changes when results go out, not which ones.
 */
static bool gather_bound(struct tgt_channel *ch)
{
	u32 busy = READ_ONCE(ch->gather.busy), mute;
	enum gather_load load = gather_load();

	if (load != LOAD_BUSY) {
		if (load == LOAD_IDLE && busy)
			WRITE_ONCE(ch->gather.busy, 0);
		return false;
	}
	if (busy < GATHER_BUSY) {
		WRITE_ONCE(ch->gather.busy, busy + 1);
		return false;
	}
	mute = READ_ONCE(ch->gather.mute);
	if (mute)
		WRITE_ONCE(ch->gather.mute, mute - 1);
	return !mute;
}

static void gather_start(struct tgt_channel *ch, u64 ns)
{
	WRITE_ONCE(ch->gather.seen, gather_waiting(ch));
	WRITE_ONCE(ch->gather.due, ktime_add_ns(ktime_get(), ns));
	hrtimer_start(&ch->gather.timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

/*
 * True if a result in @ch->cmd.done waits for others. The timer then ensures that the result is
 * posted in time, even if an earlier result relies on a turn or a task, which may be late. @ended:
 * commands that had ended by then, including this one. @first: cmd.done was empty before. Any
 * context.
 */
bool tgt_gather_waits(struct tgt_channel *ch, u32 ended, bool first)
{
	u64 ns = gather_ns();

	if (!ns || !gather_bound(ch) || ended == READ_ONCE(ch->cmd.taken) ||
	    gather_waiting(ch) >= RDDA_RUN_MAX)
		return false;
	if (first)
		WRITE_ONCE(ch->gather.until, ktime_add_ns(ktime_get(), (GATHER_TIMES - 1) * ns));
	if (first || !hrtimer_is_queued(&ch->gather.timer))
		gather_start(ch, ns);
	else if (ktime_after(ktime_get(), READ_ONCE(ch->gather.due)))
		return false;	/* the timer's softirq is late */
	return true;
}

/*
 * Stop the wait: right after this, the caller collects all results. The first of the next results
 * sets the timer again. @ch: tx.lock held.
 */
void tgt_gather_over(struct tgt_channel *ch)
{
	lockdep_assert_held(&ch->tx.lock);
	if (!hrtimer_is_queued(&ch->gather.timer))
		return;
	if (gather_waiting(ch) > 1)
		WRITE_ONCE(ch->gather.mute_next, GATHER_MUTE);
	hrtimer_try_to_cancel(&ch->gather.timer);
}

/*
 * Decide how many of the next results do not wait: none if other results came while the first one
 * waited; else the more, the more often the wait was in vain.
 */
static void gather_judge(struct tgt_channel *ch, u32 waiting)
{
	u32 next = READ_ONCE(ch->gather.mute_next);

	if (waiting > 1) {
		WRITE_ONCE(ch->gather.mute_next, GATHER_MUTE);
		return;
	}
	WRITE_ONCE(ch->gather.mute, next);
	WRITE_ONCE(ch->gather.mute_next, min(2 * next, GATHER_MUTE_MAX));
}

static enum hrtimer_restart gather_timer(struct hrtimer *timer)
{
	struct tgt_channel *ch = container_of(timer, struct tgt_channel, gather.timer);
	u32 waiting = gather_waiting(ch);

	if (waiting > READ_ONCE(ch->gather.seen) &&
	    ktime_before(ktime_get(), READ_ONCE(ch->gather.until))) {
		gather_start(ch, gather_ns());
		return HRTIMER_NORESTART;
	}
	/* a turn may have posted the results */
	if (waiting)
		gather_judge(ch, waiting);
	tgt_push_run(ch);
	return HRTIMER_NORESTART;
}

/* Set up a new channel. */
void tgt_gather_init(struct tgt_channel *ch)
{
	hrtimer_init(&ch->gather.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	ch->gather.timer.function = gather_timer;
	ch->gather.mute_next = GATHER_MUTE;
}

/* Stop the timer for good. @ch: no command of it is left. Sleeps. */
void tgt_gather_stop(struct tgt_channel *ch)
{
	hrtimer_cancel(&ch->gather.timer);
}
