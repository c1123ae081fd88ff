// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness between sessions, a drive at a time.
 *
 * While less than the cap is with the device, a command goes straight there:
 * one atomic addition. Above it commands wait in their session's queue, and
 * the drive's work serves the queues round robin, by bytes: a client with many
 * channels gets one share, not many.
 *
 * A command counts for at least cost_min bytes, so that a queue of small ones
 * never takes the last of the device's tags: a CPU's poller, which serves other
 * drives too, must not sleep for one.
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

static u32 sched_cost(const struct tgt_cmd *c, const struct tgt_drive *d)
{
	return max(c->p.bytes, d->cost_min);
}

static bool sched_take(struct tgt_drive *d, u32 cost)
{
	s64 now = atomic64_add_return(cost, &d->inflight);

	if (now <= TGT_DRIVE_CAP || now == cost)
		return true;
	atomic64_sub(cost, &d->inflight);
	return false;
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
	if (likely(!READ_ONCE(d->waiting)) && sched_take(d, c->cost)) {
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
	/* A full barrier, pairs with sched_take(): we see what waits, or it sees the room. */
	atomic64_sub_return(cost, &d->inflight);
	if (READ_ONCE(d->waiting))
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
	c = list_first_entry_or_null(&d->slow, struct tgt_cmd, node);
	if (c) {
		list_del(&c->node);
		return c;
	}
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

/* Serve the queues of a drive while it has room. */
void tgt_sched_work(struct work_struct *work)
{
	struct tgt_drive *d = container_of(work, struct tgt_drive, dispatch);
	unsigned int noio = memalloc_noio_save();
	struct blk_plug plug;
	struct tgt_cmd *c;
	bool step;

	blk_start_plug(&plug);
	for (;;) {
		spin_lock_irq(&d->sched_lock);
		step = !list_empty(&d->slow);
		c = sched_next(d);
		spin_unlock_irq(&d->sched_lock);
		if (!c)
			break;
		if (step)
			tgt_cmd_step(c);
		else
			tgt_cmd_submit(c);
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
