// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for more commands, so that one message carries several.
 *
 *   3 end at once    the application is behind: it takes them together, and
 *                    submits 3 again, one by one
 *   1, 2 submitted   the commands wait for the next one
 *   3 submitted      one message
 *
 * A channel expects as many commands as have ended since its last message, if the last of them
 * ended just now. Pending commands wait gather_us at a time, as long as some command came in that
 * time, and eight times gather_us in all: an application needs its CPU for each command, and a busy
 * CPU makes all of them later. When the time is over, the channel sends the pending commands and
 * expects no more. If most of the expected commands are missing, the next messages do not wait, and
 * their number grows with each vain wait: so an application that is not behind, or does something
 * else, rarely pays for waiting. An application with one command at a time never waits. A command
 * is expected only after another one has ended, so a drive that ends none causes no wait.
 *
 * While a message is in flight, new commands wait for its completion, too (io.c). The message is
 * not known to be late then, but may be lost, and only another message would make the NIC find out
 * at once. So this wait is bounded to two jiffies.
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

#define GATHER_MUTE	32	/* messages without a wait after one vain wait, ... */
#define GATHER_MUTE_MAX	1024U	/* ... after several, at most */
#define GATHER_TIMES	8	/* longest wait, in units of gather_us */

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
 * End the wait before all commands came: the caller sends the pending ones, and no more are
 * expected. If less than half of them came, the wait was in vain.
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

/*
 * One gather_us is over. Return: true if the wait goes on, since more commands came in that time.
 */
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
	/* the next timer may have been set while this handler waited for the lock */
	if (ch->gather.waits && !hrtimer_is_queued(timer) && !gather_again(ch)) {
		gather_over(ch);
		if (ch->open)
			rdda_chan_flush(ch);
	}
	spin_unlock_irqrestore(&ch->lock, flags);
	return HRTIMER_NORESTART;
}

/* True if the last message of commands was sent so long ago that commands no longer wait for it. */
bool rdda_gather_late(const struct rdda_chan *ch)
{
	return time_after(jiffies, ch->gather.sent + 1);
}

/* Commands stay pending: set a timer, so that they wait two jiffies at most. @ch: open, locked. */
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

/* Stop both timers: neither handler runs afterwards. @ch: closed. Sleeps. */
void rdda_gather_stop(struct rdda_chan *ch)
{
	hrtimer_cancel(&ch->gather.timer);
	timer_delete_sync(&ch->gather.held);
}

static bool gather_old(const struct rdda_chan *ch)
{
	return time_after(jiffies, ch->gather.last + 1);
}

/* Count a command that was answered and whose I/O is about to end. @ch: locked. */
void rdda_gather_ended(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	/* the application has long since reacted to the earlier ends */
	if (gather_old(ch))
		ch->gather.ended = 0;
	ch->gather.last = jiffies;
	ch->gather.ended++;
}

/* True if the next command should wait for others. @ch: locked, with no command pending. */
bool rdda_gather_expects(const struct rdda_chan *ch)
{
	return ch->gather.ended > 1 && !ch->gather.mute && !gather_old(ch) && gather_ns();
}

/* End the wait: all expected commands came. */
static void gather_done(struct rdda_chan *ch)
{
	ch->gather.waits = false;
	ch->gather.mute_next = GATHER_MUTE;
	/* a running handler waits for the lock, and then finds nothing to do */
	hrtimer_try_to_cancel(&ch->gather.timer);
}

/*
 * True if the pending commands wait for more commands; the timer that bounds the wait is then set.
 * @ch: locked.
 */
bool rdda_gather_waits(struct rdda_chan *ch)
{
	lockdep_assert_held(&ch->lock);
	if (ch->pending.nr >= gather_expected(ch)) {
		if (ch->gather.waits)
			gather_done(ch);
	} else if (ch->gather.waits) {
		/* the softirq of the timer may be late */
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
