// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness between sessions, a drive at a time.
 *
 * While less than the cap is with the device, a command goes straight there.
 * Above it commands wait in their session's queue, and the drive's work serves
 * the queues round robin, by bytes: a client with many channels gets one share,
 * not many.
 *
 * Room is what may still be given to the device. Most of it is the drive's, a
 * little lies with each CPU:
 *
 *   submit    from this CPU's, without a line that others write; else the drive's
 *   end       to this CPU's, until that is full; the rest, and all of it while
 *             commands wait, to the drive's
 *
 * The sum is the cap and what CPUs may hold. With nothing at the device the CPUs
 * are full at most, so the drive has the cap, and the largest command goes.
 *
 * A command counts for at least cost_min bytes, so that a queue of small ones
 * never takes the last of the device's tags: the channel's work, which serves
 * other drives too, must not sleep for one.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "rdda/target/cmd.h"
#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define QUANTUM		(RDDA_CMD_BYTES_MAX)
#define BATCH		16	/* commands taken from the queues at once */

static u32 sched_cost(const struct tgt_cmd *c, const struct tgt_drive *d)
{
	return max(c->p.bytes, d->cost_min);
}

/* Room for a drive with nothing submitted. Return: 0 or -ENOMEM. */
int tgt_sched_init(struct tgt_drive *d)
{
	int cpu;

	d->cpu_room = alloc_percpu(long);
	if (!d->cpu_room)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		long *room = per_cpu_ptr(d->cpu_room, cpu);

		*room = TGT_CPU_ROOM;
	}
	atomic64_set(&d->room, TGT_DRIVE_CAP);
	return 0;
}

/* Release what tgt_sched_init() made. */
void tgt_sched_exit(struct tgt_drive *d)
{
	free_percpu(d->cpu_room);
}

/* The task may move on to another CPU meanwhile: only the sum matters. */
static bool sched_take_cpu(struct tgt_drive *d, u32 cost)
{
	if (likely(this_cpu_sub_return(*d->cpu_room, (long)cost) >= 0))
		return true;
	this_cpu_add(*d->cpu_room, (long)cost);
	return false;
}

static bool sched_take(struct tgt_drive *d, u32 cost)
{
	if (atomic64_sub_return(cost, &d->room) >= 0)
		return true;
	atomic64_add(cost, &d->room);
	return false;
}

/* Fill this CPU's, which is never above its limit for longer than this. Return: the rest. */
static long sched_give_cpu(struct tgt_drive *d, u32 cost)
{
	long over;

	preempt_disable();
	over = this_cpu_add_return(*d->cpu_room, (long)cost) - TGT_CPU_ROOM;
	if (over > 0)
		this_cpu_sub(*d->cpu_room, over);
	preempt_enable();
	return max(over, 0L);
}

/*
 * A checked command goes to its device, or waits its turn. @c: with its view. Context: process;
 * does not sleep for a device, see tgt_cmd_submit().
 */
void tgt_sched_submit(struct tgt_cmd *c)
{
	struct tgt_sdrive *sd = c->view->sd;
	struct tgt_drive *d = sd->d;

	c->cost = sched_cost(c, d);
	if (likely(!READ_ONCE(d->waiting)) &&
	    (sched_take_cpu(d, c->cost) || sched_take(d, c->cost))) {
		tgt_cmd_submit(c);
		return;
	}
	spin_lock_irq(&d->sched_lock);
	list_add_tail(&c->node, &sd->queue);
	if (list_empty(&sd->turn))
		list_add_tail(&sd->turn, &d->turns);
	d->waiting++;
	/* Under the lock: afterwards the command, and then the drive, may be gone. */
	queue_work(tgt_wq, &d->dispatch);
	spin_unlock_irq(&d->sched_lock);
}

/* A command left its device. @cost: what it counted for. Any context. */
void tgt_sched_done(struct tgt_drive *d, u32 cost)
{
	long give = unlikely(READ_ONCE(d->waiting)) ? cost : sched_give_cpu(d, cost);

	if (likely(!give))
		return;
	/*
	 * A full barrier, pairs with sched_take(): we see what waits, or it sees the room. One
	 * that gave nothing need not check: what waits could not be served while the CPUs had
	 * their room, so others are with the device, of which one gives.
	 */
	atomic64_add_return(give, &d->room);
	/* One that is queued begins after this, and sees the room, too. */
	if (READ_ONCE(d->waiting) && !work_pending(&d->dispatch))
		queue_work(tgt_wq, &d->dispatch);
}

/* A command needs its next bio: leave it to the drive's work. Any context. */
void tgt_sched_slow(struct tgt_drive *d, struct tgt_cmd *c)
{
	unsigned long flags;

	spin_lock_irqsave(&d->sched_lock, flags);
	list_add_tail(&c->node, &d->slow);
	queue_work(tgt_wq, &d->dispatch);	/* as above */
	spin_unlock_irqrestore(&d->sched_lock, flags);
}

/* The next command whose turn it is, when there is room for it. */
static struct tgt_cmd *sched_next(struct tgt_drive *d)
{
	struct tgt_sdrive *sd;
	struct tgt_cmd *c;

	lockdep_assert_held(&d->sched_lock);
	while ((sd = list_first_entry_or_null(&d->turns, struct tgt_sdrive, turn))) {
		c = list_first_entry(&sd->queue, struct tgt_cmd, node);
		if (sd->deficit < c->cost) {
			sd->deficit += QUANTUM;
			list_move_tail(&sd->turn, &d->turns);
			continue;
		}
		if (!sched_take(d, c->cost))
			return NULL;
		sd->deficit -= c->cost;
		list_del(&c->node);
		WRITE_ONCE(d->waiting, d->waiting - 1);
		if (list_empty(&sd->queue)) {
			list_del_init(&sd->turn);
			sd->deficit = 0;
		}
		return c;
	}
	return NULL;
}

/*
 * What to submit next: a command that may sleep, alone, or those whose turn it is. Return: it may
 * sleep.
 */
static bool sched_batch(struct tgt_drive *d, struct list_head *batch)
{
	bool step = !list_empty(&d->slow);
	struct tgt_cmd *c;
	unsigned int n;

	lockdep_assert_held(&d->sched_lock);
	if (step)
		list_move(d->slow.next, batch);
	for (n = 0; !step && n < BATCH; n++) {
		c = sched_next(d);
		if (!c)
			break;
		list_add_tail(&c->node, batch);
	}
	return step;
}

/* Serve the queues of a drive while it has room. */
void tgt_sched_work(struct work_struct *work)
{
	struct tgt_drive *d = container_of(work, struct tgt_drive, dispatch);
	unsigned int noio = memalloc_noio_save();
	struct tgt_cmd *c, *next;
	struct blk_plug plug;
	LIST_HEAD(batch);
	bool step;

	blk_start_plug(&plug);
	for (;;) {
		spin_lock_irq(&d->sched_lock);
		step = sched_batch(d, &batch);
		spin_unlock_irq(&d->sched_lock);
		if (list_empty(&batch))
			break;
		list_for_each_entry_safe(c, next, &batch, node) {
			list_del(&c->node);
			if (step)
				tgt_cmd_step(c);
			else
				tgt_cmd_submit(c);
		}
	}
	blk_finish_plug(&plug);
	memalloc_noio_restore(noio);
}

/* End what waits for its turn: the session is over. Context: process. */
void tgt_sched_purge(struct tgt_sdrive *sd)
{
	struct tgt_drive *d = sd->d;
	struct tgt_cmd *c, *next;
	unsigned int n = 0;
	LIST_HEAD(drop);

	spin_lock_irq(&d->sched_lock);
	list_splice_init(&sd->queue, &drop);
	list_del_init(&sd->turn);
	list_for_each_entry(c, &drop, node)
		n++;
	WRITE_ONCE(d->waiting, d->waiting - n);
	spin_unlock_irq(&d->sched_lock);
	list_for_each_entry_safe(c, next, &drop, node)
		tgt_cmd_abort(c);
}
