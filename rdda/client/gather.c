// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many commands go in one message, where more of them are about to come.
 *
 *   3 end at once    the application is behind: it takes them together, and
 *                    submits 3 again, one by one
 *   1, 2 submitted   they wait for it
 *   3 submitted      one message
 *
 * So a channel expects as many commands as have ended since its last message, if the
 * last of them ended just now. They are waited for gather_us at a time, as long as some
 * came in that time, and eight times that in all: an application needs its CPU for
 * each, and on a busy one all of them take longer. What has not come then is not waited
 * for, and where that is most of it, none is expected for a while, ever longer: an
 * application that is not behind, or does something else, pays for it rarely. One command
 * at a time never waits, and what a drive does not end is not expected.
 *
 * Where a message is in flight what comes waits for it, too (io.c): it is not known to be late
 * then, but may be lost, and only another one would have the NIC find out at once. So that is for
 * two jiffies at most.
 *
 *   (nothing) ---> waits: fewer than expected ---> all are there: sent
 *                   ^  \--- gather_us, none came ---> sent; none of the next messages waits
 *                   `--------- some came
 */
#include <linux/moduleparam.h>

#include "rdda/client/channel.h"
#include "rdda/client/io.h"
#include "rdda/common/gather.h"
#include "rdda/wire.h"

#define GATHER_MUTE	32	/* messages that do not wait after one that did in vain, */
#define GATHER_MUTE_MAX	1024U	/* ... or after several */
#define GATHER_TIMES	8	/* gather_us in all, at most */

static unsigned int gather_us = 50;
module_param(gather_us, uint, 0644);
MODULE_PARM_DESC(gather_us, "commands wait so long for the next one that is likely to follow (50; 0: never)");

static u64 gather_ns(void)
{
	return rdda_gather_ns(READ_ONCE(gather_us));
}

static u32 gather_expected(const struct rdda_chan *ch)
{
	return min_t(u32, ch->gather.ended, RDDA_CMDS_MAX);
}

/*
 * Not all have come: those that have go now, and are not expected once more. Where most have not
 * it was in vain.
 */
static void gather_over(struct rdda_chan *ch)
{
	bool vain = 2 * ch->pending.nr < gather_expected(ch);

	ch->gather.waits = false;
	ch->gather.ended = 0;
	if (!vain)
		return;
	ch->gather.mute = ch->gather.mute_next;
	ch->gather.mute_next = min(2 * ch->gather.mute_next, GATHER_MUTE_MAX);
}

static void gather_wait(struct rdda_chan *ch)
{
	ch->gather.seen = ch->pending.nr;
	hrtimer_start(&ch->gather.timer, ns_to_ktime(gather_ns()), HRTIMER_MODE_REL_SOFT);
}

/* The time is over. Return: whether it begins again, as others are still coming. */
static bool gather_again(struct rdda_chan *ch)
{
	if (ch->pending.nr <= ch->gather.seen || ktime_after(ktime_get(), ch->gather.until))
		return false;
	gather_wait(ch);
	return true;
}

static enum hrtimer_restart gather_timer(struct hrtimer *timer)
{
	struct rdda_chan *ch = container_of(timer, struct rdda_chan, gather.timer);
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	/* while this one waited for the lock the next may have been set */
	if (ch->gather.waits && !hrtimer_is_queued(timer) && !gather_again(ch)) {
		gather_over(ch);
		if (ch->open)
			rdda_chan_flush(ch);
	}
	spin_unlock_irqrestore(&ch->lock, flags);
	return HRTIMER_NORESTART;
}

/* Whether the last message was sent so long ago that nothing waits for it any more. */
bool rdda_gather_late(const struct rdda_chan *ch)
{
	return time_after(jiffies, ch->gather.sent + 1);
}

/* Something stays pending: it is seen to that it does not for long. @ch: open, locked. */
void rdda_gather_held(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	if (!timer_pending(&ch->gather.held))
		mod_timer(&ch->gather.held, jiffies + 2);
}

static void gather_held_timer(struct timer_list *timer)
{
	struct rdda_chan *ch = from_timer(ch, timer, gather.held);
	unsigned long flags;

	spin_lock_irqsave(&ch->lock, flags);
	if (ch->open && ch->pending.nr)
		rdda_chan_flush(ch);
	spin_unlock_irqrestore(&ch->lock, flags);
}

/* Set up a new channel. */
void rdda_gather_init(struct rdda_chan *ch)
{
	timer_setup(&ch->gather.held, gather_held_timer, 0);
	hrtimer_init(&ch->gather.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	ch->gather.timer.function = gather_timer;
	ch->gather.mute_next = GATHER_MUTE;
}

/* Nothing of ours runs after this. @ch: closed. Sleeps. */
void rdda_gather_stop(struct rdda_chan *ch)
{
	hrtimer_cancel(&ch->gather.timer);
	timer_delete_sync(&ch->gather.held);
}

static bool gather_old(const struct rdda_chan *ch)
{
	return time_after(jiffies, ch->gather.last + 1);
}

/* A command was answered, whose I/O is about to end. @ch: locked. */
void rdda_gather_ended(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	/* to those of long ago the application has done what it does */
	if (gather_old(ch))
		ch->gather.ended = 0;
	ch->gather.last = jiffies;
	ch->gather.ended++;
}

/* Whether the command that comes next is not to be sent alone. @ch: locked, with none pending. */
bool rdda_gather_expects(const struct rdda_chan *ch)
{
	return ch->gather.ended > 1 && !ch->gather.mute && !gather_old(ch) && gather_ns();
}

/* All are there that were expected. */
static void gather_done(struct rdda_chan *ch)
{
	ch->gather.waits = false;
	ch->gather.mute_next = GATHER_MUTE;
	/* one that runs now waits for the lock, and finds nothing to do */
	hrtimer_try_to_cancel(&ch->gather.timer);
}

/* Whether what is pending waits for more; then it is seen to that it does not for long. */
bool rdda_gather_waits(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	if (ch->pending.nr >= gather_expected(ch)) {
		if (ch->gather.waits)
			gather_done(ch);
	} else if (ch->gather.waits) {
		/* its softirq may be late */
		if (hrtimer_expires_remaining(&ch->gather.timer) <= 0 && !gather_again(ch))
			gather_over(ch);
	} else if (rdda_gather_expects(ch)) {
		ch->gather.waits = true;
		ch->gather.until = ktime_add_ns(ktime_get(), (GATHER_TIMES - 1) * gather_ns());
		gather_wait(ch);
	}
	return ch->gather.waits;
}

/* A message of commands was sent. @ch: locked. */
void rdda_gather_sent(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	ch->gather.ended = 0;
	ch->gather.sent = jiffies;
	if (ch->gather.mute)
		ch->gather.mute--;
}
