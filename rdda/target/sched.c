// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fairness between sessions, a drive at a time, without a cache line that all of them write.
 *
 *   below the cap    a command goes straight to the device and is counted on its CPU. The sum takes
 *                    in a CPU's count when the count is large: so the sum is about right
 *   above it         a session has a share with the device: the cap divided by the number of
 *                    sessions that share the drive, or one command if that is more. The next
 *                    commands wait in the session's queue until commands of the session end. A
 *                    session that has more, from before the others came, waits until its commands
 *                    are within the share again
 *
 *   command --> drive below the cap? ------------------------------> device, not counted as taken
 *                 | no, or half of it while the session has taken
 *                 v
 *               session within its share, or drive below the cap? -> device, counted as taken
 *                 | no
 *                 v                     one of the session's ends, or SCHED_LOOK is over
 *               its queue ------------> its own work -------------> device, counted as taken
 *
 * So a queue has commands only while its session has some with the device, and a client with many
 * channels gets one share, not many. The session's commands with the device may take long, or never
 * end, while commands of other sessions end and leave the drive idle. The others write no cache
 * line of this session, so the session's work checks the drive by itself.
 *
 * A command counts for at least cost_min bytes, so that many small commands never take the last of
 * the device's tags: a CPU's poller, which serves other drives too, must not sleep for a tag.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/sched/mm.h>

#include "rdda/target/cmd.h"
#include "rdda/target/drive.h"
#include "rdda/target/grant.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define SCHED_LOOK	msecs_to_jiffies(10)	/* longest wait of a queue on an idle drive */

static u32 sched_cost(const struct tgt_cmd *c, const struct tgt_drive *d)
{
	return max(c->p.bytes, d->cost_min);
}

static void sched_add(struct tgt_drive *d, s64 cost)
{
	percpu_counter_add_batch(&d->inflight, cost, d->cost_batch);
}

static void sched_go(struct tgt_drive *d, struct tgt_cmd *c)
{
	sched_add(d, c->cost);
	tgt_cmd_submit(c);
}

/* True if @d has room for any session. @part: bytes of the cap. */
static bool sched_room(struct tgt_drive *d, s64 part)
{
	return percpu_counter_read(&d->inflight) <= part;
}

/* True if a command of @cost may go to the device now; the command is then counted as taken. */
static bool sched_take(struct tgt_sdrive *sd, u32 cost)
{
	struct tgt_drive *d = sd->d;

	lockdep_assert_held(&sd->lock);
	if (!sd->taken)
		atomic_inc(&d->sharing);
	else if (sd->taken + cost > TGT_DRIVE_CAP / (u32)atomic_read(&d->sharing) &&
		 !sched_room(d, TGT_DRIVE_CAP))
		return false;
	WRITE_ONCE(sd->taken, sd->taken + cost);
	return true;
}

/* Set the timer that checks the queue of @sd. @sd: its queue has commands. */
static void sched_look(struct tgt_sdrive *sd)
{
	lockdep_assert_held(&sd->lock);
	if (!timer_pending(&sd->look))
		mod_timer(&sd->look, jiffies + SCHED_LOOK);
}

static void sched_timer(struct timer_list *t)
{
	struct tgt_sdrive *sd = from_timer(sd, t, look);

	queue_work(tgt_wq, &sd->work);
}

/* The drive is busy: submit a command within the session's share, or queue the command. */
static void sched_turn(struct tgt_sdrive *sd, struct tgt_cmd *c)
{
	bool go;

	c->taken = true;
	spin_lock_irq(&sd->lock);
	go = list_empty(&sd->queue) && sched_take(sd, c->cost);
	if (!go) {
		list_add_tail(&c->node, &sd->queue);
		sched_look(sd);
	}
	spin_unlock_irq(&sd->lock);
	if (go)
		sched_go(sd->d, c);
}

/*
 * Submit a checked command to its device, or let the command wait for a turn. @c: with its view.
 * Context: process; does not sleep for a device, see tgt_cmd_submit().
 */
void tgt_sched_submit(struct tgt_cmd *c)
{
	struct tgt_sdrive *sd = c->view->sd;
	struct tgt_drive *d = sd->d;

	c->cost = sched_cost(c, d);
	if (unlikely(!sched_room(d, READ_ONCE(sd->taken) ? TGT_DRIVE_CAP / 2 : TGT_DRIVE_CAP))) {
		sched_turn(sd, c);
		return;
	}
	c->taken = false;
	sched_go(d, c);
}

/* A command left its device. @c: still with its view. Any context. */
void tgt_sched_done(struct tgt_cmd *c)
{
	struct tgt_sdrive *sd = c->view->sd;
	unsigned long flags;

	sched_add(sd->d, -(s64)c->cost);
	if (likely(!c->taken))
		return;
	spin_lock_irqsave(&sd->lock, flags);
	WRITE_ONCE(sd->taken, sd->taken - c->cost);
	if (!sd->taken)
		atomic_dec(&sd->d->sharing);
	if (!list_empty(&sd->queue))
		queue_work(tgt_wq, &sd->work);
	spin_unlock_irqrestore(&sd->lock, flags);
}

/* A command needs its next bio: leave the command to the drive's work. Any context. */
void tgt_sched_slow(struct tgt_drive *d, struct tgt_cmd *c)
{
	unsigned long flags;

	spin_lock_irqsave(&d->slow_lock, flags);
	list_add_tail(&c->node, &d->slow);
	/* Under the lock: afterwards the command, and then the drive, may be gone. */
	queue_work(tgt_wq, &d->slow_work);
	spin_unlock_irqrestore(&d->slow_lock, flags);
}

static struct tgt_cmd *sched_slow_next(struct tgt_drive *d)
{
	struct tgt_cmd *c;

	spin_lock_irq(&d->slow_lock);
	c = list_first_entry_or_null(&d->slow, struct tgt_cmd, node);
	if (c)
		list_del(&c->node);
	spin_unlock_irq(&d->slow_lock);
	return c;
}

/* Submit the next bios of a drive's slow commands. */
static void sched_slow_work(struct work_struct *work)
{
	struct tgt_drive *d = container_of(work, struct tgt_drive, slow_work);
	unsigned int noio = memalloc_noio_save();
	struct blk_plug plug;
	struct tgt_cmd *c;

	blk_start_plug(&plug);
	while ((c = sched_slow_next(d)))
		tgt_cmd_step(c);
	blk_finish_plug(&plug);
	memalloc_noio_restore(noio);
}

/* Take the next command off the session's queue, if the command may go now. */
static struct tgt_cmd *sched_next(struct tgt_sdrive *sd)
{
	struct tgt_cmd *c;

	spin_lock_irq(&sd->lock);
	c = list_first_entry_or_null(&sd->queue, struct tgt_cmd, node);
	if (c && sched_take(sd, c->cost)) {
		list_del(&c->node);
	} else if (c) {
		sched_look(sd);
		c = NULL;
	}
	spin_unlock_irq(&sd->lock);
	return c;
}

/* Submit commands of a session's queue for a drive, as many as may go. */
static void sched_work(struct work_struct *work)
{
	struct tgt_sdrive *sd = container_of(work, struct tgt_sdrive, work);
	unsigned int noio = memalloc_noio_save();
	struct blk_plug plug;
	struct tgt_cmd *c;

	blk_start_plug(&plug);
	while ((c = sched_next(sd)))
		sched_go(sd->d, c);
	blk_finish_plug(&plug);
	memalloc_noio_restore(noio);
}

/* Set up a new session's part of a drive. */
void tgt_sched_join(struct tgt_sdrive *sd)
{
	spin_lock_init(&sd->lock);
	INIT_LIST_HEAD(&sd->queue);
	INIT_WORK(&sd->work, sched_work);
	timer_setup(&sd->look, sched_timer, 0);
}

/* Stop the timer and the work for good. @sd: no command of it is left. Sleeps. */
void tgt_sched_leave(struct tgt_sdrive *sd)
{
	timer_shutdown_sync(&sd->look);
	cancel_work_sync(&sd->work);
}

/* End the commands that wait for their turn: the session is over. Context: process. */
void tgt_sched_purge(struct tgt_sdrive *sd)
{
	struct tgt_cmd *c, *next;
	LIST_HEAD(drop);

	spin_lock_irq(&sd->lock);
	list_splice_init(&sd->queue, &drop);
	spin_unlock_irq(&sd->lock);
	list_for_each_entry_safe(c, next, &drop, node)
		tgt_cmd_abort(c);
}

/*
 * Set the cost of @d's commands. @tags: of one queue of the device, 0: no tags. @own: each CPU has
 * such a queue. Context: process. Return: 0 or -ENOMEM.
 */
int tgt_sched_init(struct tgt_drive *d, unsigned int tags, bool own)
{
	/* the sum is wrong by half of the cap at most, unless each CPU has tags for itself */
	u32 batch = TGT_DRIVE_CAP / 2 / num_online_cpus();

	/* not 0: a session that has taken something shows in tgt_sdrive.taken */
	d->cost_min = tags ? TGT_DRIVE_CAP / max(tags / 2, 4U) : SECTOR_SIZE;
	if (own)
		batch = max(batch, 8 * d->cost_min);
	/* with few tags a command costs more than this: each command is counted at once */
	d->cost_batch = min(batch, TGT_DRIVE_CAP / 16U);
	spin_lock_init(&d->slow_lock);
	INIT_LIST_HEAD(&d->slow);
	INIT_WORK(&d->slow_work, sched_slow_work);
	return percpu_counter_init(&d->inflight, 0, GFP_KERNEL);
}

/* Release the resources of tgt_sched_init(). @d: no session has it. Sleeps. */
void tgt_sched_exit(struct tgt_drive *d)
{
	cancel_work_sync(&d->slow_work);
	percpu_counter_destroy(&d->inflight);
}
