// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents are opened, one of a drive at a time, and kept open over reconnects and over drives that
 * go and come back. Only the target's work item changes states; it waits for no answer. Messages
 * from the target leave their content in @reports and @open.answer for the work item.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/sizes.h>
#include <linux/slab.h>

#include "rdda/client/control.h"
#include "rdda/client/extent.h"
#include "rdda/client/io.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

#define OPEN_TIMEOUT_MS		15000	/* a label may have to be written first */
#define CLOSE_TIMEOUT_MS	15000	/* the target ends every command of the opening first */
#define CLOSE_STUCK_MS		500	/* the drive hangs: CLOSED would come late */
#define DRAIN_LOOK_MS		5
#define ORPHAN_LOOK_MS		50	/* the same, when only commands are left */
#define ROOM_LOOK_MS		10	/* room for a message, or settled channels */

/*
 * Errno for I/O without a grant, kept in one word: a reader of state and reason, one after the
 * other, could get values from before and after a change. A layout that is too old (-ESTALE) counts
 * as DOWN: the layout that the target wants may follow. A fenced extent is not opened again.
 */
static int extent_io_err(const struct rdda_extent *e, enum rdda_extent_state state, int err)
{
	switch (state) {
	case RDDA_EXTENT_GONE:
		return -ENODEV;
	case RDDA_EXTENT_REFUSED:
		return err == -ESTALE && !e->fenced ? -ENOLINK : -EACCES;
	default:
		return -ENOLINK;
	}
}

/* Wake the waiter of rdda_extent_number(), if there is one, with its result. */
void rdda_attach_end(struct rdda_extent *e, int err)
{
	lockdep_assert_held(&e->t->lock);
	if (e->attach_err != -EINPROGRESS)
		return;
	e->attach_err = err;
	wake_up_all(&e->wait);
}

void rdda_extent_set(struct rdda_extent *e, enum rdda_extent_event ev, int err)
{
	int next = rdda_extent_next(e->info.state, ev);

	lockdep_assert_held(&e->t->lock);
	if (WARN_ON_ONCE(next < 0))
		return;
	if (ev == RDDA_EEV_LOST)
		rdda_attach_end(e, -ENOLINK);
	e->info.err = err;
	e->info.state = next;
	WRITE_ONCE(e->io_err, extent_io_err(e, next, err));
}

/*
 * Notify the user of a new state, unless I/O must end first. The extent is busy, so it is not freed
 * meanwhile.
 */
static void extent_notify(struct rdda_extent *e)
{
	if (e->drain.ending || e->info.state == e->user.reported)
		return;
	e->user.reported = e->info.state;
	if (e->user.ops && e->user.ops->state)
		e->user.ops->state(e->user.priv, e->info.state, e->info.err);
}

/* Insert an extent in the target's list: ascending drive UUID, extents with unknown drives last. */
void rdda_extent_sort(struct rdda_extent *e)
{
	struct rdda_target *t = e->t;
	struct rdda_extent *at;

	lockdep_assert_held(&t->lock);
	list_del_init(&e->node);
	list_for_each_entry(at, &t->extents, node) {
		if (uuid_is_null(&e->info.drive))
			continue;
		if (uuid_is_null(&at->info.drive) ||
		    memcmp(&at->info.drive, &e->info.drive, sizeof(uuid_t)) > 0)
			break;
	}
	list_add_tail(&e->node, &at->node);
}

struct rdda_grant *rdda_grant_swap(struct rdda_extent *e, struct rdda_grant *g)
{
	lockdep_assert_held(&e->t->lock);
	return rcu_replace_pointer(e->grant, g, lockdep_is_held(&e->t->lock));
}

/*
 * Check commands in flight under a grant that was taken away. They end when the drive has ended
 * them, which can take as long as the drive likes; nothing else waits for that. Once the target
 * reports the drive back, no command can be left: after a deadline (drain.end) the session ends.
 */
static void extent_check_drain(struct rdda_extent *e, struct rdda_session *s)
{
	bool uses = false, io = false;
	unsigned int i;
	LIST_HEAD(ended);

	for (i = 0; e->drain.stuck && i < s->nchan; i++)
		rdda_chan_abandon(s->chan[i], e, &ended);
	rdda_ios_end(&ended);
	for (i = 0; i < s->nchan; i++)
		uses |= rdda_chan_uses(s->chan[i], e, &io);
	e->drain.ending = io;
	e->drain.active = uses;
	e->drain.stuck &= uses;
	e->drain.due = jiffies + msecs_to_jiffies(io ? DRAIN_LOOK_MS : ORPHAN_LOOK_MS);
	if (uses && e->drain.ends && time_after(jiffies, e->drain.end))
		rdda_session_fail(s, -ETIMEDOUT, "commands to a lost drive did not end");
	else if (io && e->drain.stuck &&
		 time_after(jiffies, e->drain.stuck_at + msecs_to_jiffies(s->alive.dead_ms)))
		rdda_session_fail(s, -ETIMEDOUT, "I/O did not end in time");
	extent_notify(e);
}

/* End I/O that was never sent, and begin to wait for the target to end the I/O in flight. */
static void extent_drain(struct rdda_extent *e, struct rdda_session *s, int err)
{
	unsigned int i;
	LIST_HEAD(ended);

	synchronize_rcu();
	for (i = 0; i < s->nchan; i++)
		rdda_chan_fail_extent(s->chan[i], e, err, &ended);
	rdda_ios_end(&ended);
	e->drain.active = true;
	e->drain.ending = true;
	e->drain.ends = false;
	extent_check_drain(e, s);
}

static void open_over(struct rdda_extent *e)
{
	lockdep_assert_held(&e->t->lock);
	e->open.in_flight = false;
	wake_up_all(&e->wait);
}

/* Send OPEN. Return: false when OPEN was not sent; the work item retries. */
static bool extent_send_open(struct rdda_extent *e, struct rdda_session *s)
{
	struct rdda_target *t = e->t;
	struct rdda_open m = {
		.hdr.type = RDDA_OPEN,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.hdr.flags = (e->next.preempt ? RDDA_OPEN_PREEMPT : 0) |
			     (e->next.again && !e->next.excused ? RDDA_OPEN_AGAIN : 0) |
			     (e->want.numbered ? RDDA_OPEN_NUMBERED : 0),
		.access = e->want.rw ? RDDA_RW : RDDA_RO,
	};
	int ret;

	if (!rdda_session_settled(s) || !rdda_room_try(s))
		return false;
	memcpy(m.extent, &e->uuid, sizeof(m.extent));
	spin_lock_irq(&t->lock);
	rdda_extent_set(e, RDDA_EEV_OPEN, e->info.err);
	m.epoch = cpu_to_le64(e->want.numbered ? 0 : e->want.epoch);
	m.attach = cpu_to_le64(e->want.number);
	m.served = cpu_to_le64(e->want.served);
	m.hdr.flags |= m.served ? RDDA_OPEN_RETAKE : 0;
	e->open.attach = e->want.number;
	e->open.served = e->want.served;
	e->open.in_flight = true;
	spin_unlock_irq(&t->lock);
	extent_notify(e);
	e->open.end = jiffies + msecs_to_jiffies(OPEN_TIMEOUT_MS);
	e->open.call = (struct rdda_call) {
		.type = RDDA_OPENED,
		.rsp = &e->open.answer,
		.rsp_max = sizeof(e->open.answer),
		.waiter = t,
	};
	rdda_call_start(s, &e->open.call);
	m.hdr.tag = cpu_to_le64(e->open.call.tag);
	ret = rdda_control_send(s->chan[0], &m, sizeof(m));
	if (!ret)
		return true;
	rdda_call_end(s, &e->open.call);
	rdda_room_give(s);
	spin_lock_irq(&t->lock);
	open_over(e);
	spin_unlock_irq(&t->lock);
	if (ret != -EAGAIN)
		rdda_session_fail(s, ret, "opening an extent failed: %d", ret);
	return false;
}

/* Handle the answer to OPEN, or the end of its time. */
static void extent_answered(struct rdda_extent *e, struct rdda_session *s)
{
	const struct rdda_opened *a = &e->open.answer;
	struct rdda_target *t = e->t;
	struct rdda_grant *g = NULL;
	bool drain = false;
	int ret;

	ret = rdda_call_end(s, &e->open.call);
	rdda_room_give(s);
	if (!ret && a->status == RDDA_OPEN_OK)
		ret = rdda_opened_check(e, a);
	if (!ret && a->status == RDDA_OPEN_OK)
		g = rdda_grant_make(e, s, a);
	spin_lock_irq(&t->lock);
	open_over(e);
	/* Kicked since: e->kept stays, and OPEN is sent again after the drain. */
	if (!ret && !e->drain.active) {
		g = rdda_opened_apply(e, s, a, g);
		drain = g && !rcu_access_pointer(e->grant);
	}
	if (drain) {		/* the target still has the extent open */
		e->kept = g;
		g = NULL;
	}
	spin_unlock_irq(&t->lock);
	if (ret) {		/* the end of the session notifies the user */
		rdda_session_fail(s, ret, "opening an extent failed: %d", ret);
		return;
	}
	if (drain)
		extent_drain(e, s, e->io_err);
	if (g)
		kfree_rcu(g, rcu);
	extent_notify(e);
}

/*
 * True if stuck I/O can belong to this session; I/O of an earlier session ends with its queue
 * pairs.
 */
static bool extent_has(struct rdda_extent *e, struct rdda_session *s)
{
	bool has = e->drain.active;
	unsigned int i;

	for (i = 0; i < s->nchan && !has; i++)
		has = rdda_chan_has(s->chan[i], e);
	return has;
}

/*
 * Handle a drive that holds commands longer than the volume waits. The session stays, since other
 * extents use it. I/O of the extent ends now if no posted request names its pages. Nothing goes to
 * the extent again before the drive has ended all of its commands, so no older write overwrites a
 * newer one.
 */
static void extent_stuck(struct rdda_extent *e, struct rdda_session *s)
{
	struct rdda_target *t = e->t;
	struct rdda_grant *g;

	spin_lock_irq(&t->lock);
	g = rdda_grant_swap(e, NULL);
	if (g) {
		rdda_extent_set(e, RDDA_EEV_LOST, -ENOLINK);
		if (e->open.in_flight)		/* the answer is still to come */
			rdda_extent_set(e, RDDA_EEV_OPEN, -ENOLINK);
		e->kept = g;	/* e->kept was NULL: it is set only while there is no grant */
		e->next.pending = true;
		e->next.again = true;
		e->next.due = jiffies;
	}
	spin_unlock_irq(&t->lock);
	if (!e->drain.stuck)
		e->drain.stuck_at = jiffies;
	e->drain.stuck = true;
	if (!g)
		return;
	pr_warn_ratelimited("%pISpc: drive %pUb does not end its commands\n", &t->addr,
			    &e->info.drive);
	extent_drain(e, s, -ENOLINK);
}

static void extent_reports(struct rdda_extent *e, struct rdda_session *s, unsigned int reports)
{
	struct rdda_target *t = e->t;
	struct rdda_grant *g = NULL;
	bool revoked = reports & EXTENT_REVOKED;
	int err = revoked ? -EACCES : -ENODEV;

	if (reports & (EXTENT_GONE | EXTENT_REVOKED)) {
		spin_lock_irq(&t->lock);
		g = rdda_grant_swap(e, NULL);
		rdda_attach_end(e, -ENOLINK);
		/* New I/O must fail with the right error from now on. */
		if (e->info.state == RDDA_EXTENT_UP)
			rdda_extent_set(e, revoked ? RDDA_EEV_REFUSED : RDDA_EEV_GONE, err);
		/*
		 * An extent that is drained sends OPEN afterwards: the answer gives the state, too.
		 */
		if (e->info.state == RDDA_EXTENT_GONE)
			e->next.pending = true;
		else if (e->info.state == RDDA_EXTENT_REFUSED)
			e->next.pending = false;
		/*
		 * A revoked writer keeps AGAIN, so the target refuses it if another host wrote
		 * since; a revoked reader had to give way.
		 */
		e->next.again &= !revoked || e->want.rw;
		e->next.due = jiffies + msecs_to_jiffies(RDDA_GONE_RETRY_MS);
		spin_unlock_irq(&t->lock);
		if (g)
			extent_drain(e, s, err);
	}
	if (reports & (EXTENT_BACK | EXTENT_RENEW)) {
		spin_lock_irq(&t->lock);
		/* A pending OPEN may have waited for this drive. */
		if (!e->fenced &&
		    (reports & EXTENT_RENEW || e->info.state == RDDA_EXTENT_GONE ||
		     e->info.state == RDDA_EXTENT_OPENING)) {
			rdda_extent_set(e, RDDA_EEV_RENEW, e->info.err);
			e->next.pending = true;
			e->next.attempt = 0;
			e->next.due = jiffies;
		}
		spin_unlock_irq(&t->lock);
	}
	if (reports & EXTENT_STUCK && (rcu_access_pointer(e->grant) || e->drain.active) &&
	    extent_has(e, s))
		extent_stuck(e, s);
	if (reports & EXTENT_BACK && e->drain.active && !e->drain.ends) {
		e->drain.end = jiffies + msecs_to_jiffies(s->alive.dead_ms);
		e->drain.ends = true;
	}
	if (g)
		kfree_rcu(g, rcu);
	extent_notify(e);
}

enum extent_todo { TODO_NOTHING, TODO_ANSWER, TODO_REPORT, TODO_DRAIN, TODO_OPEN };

/*
 * Reports to handle now. While OPEN is in flight, which may take as long as the write of a label,
 * only a kick (EXTENT_STUCK) is handled.
 */
static unsigned int extent_reports_now(const struct rdda_extent *e)
{
	return e->open.in_flight ? e->reports & EXTENT_STUCK : e->reports;
}

/*
 * Find the work that is due now for an extent, except OPEN. *wait shrinks to the time until the
 * next work is due.
 */
static enum extent_todo extent_todo(struct rdda_extent *e, unsigned long *wait)
{
	unsigned long now = jiffies;

	if (e->open.in_flight) {
		if (completion_done(&e->open.call.done) || time_after_eq(now, e->open.end))
			return TODO_ANSWER;
		*wait = min(*wait, e->open.end - now);
	} else if (e->closing || e->released) {
		return TODO_NOTHING;
	}
	if (extent_reports_now(e))
		return TODO_REPORT;
	if (!e->drain.active)
		return TODO_NOTHING;
	if (time_after_eq(now, e->drain.due))
		return TODO_DRAIN;
	*wait = min(*wait, e->drain.due - now);
	return TODO_NOTHING;
}

/* The extent whose OPEN has been due longer; either may be NULL. */
static struct rdda_extent *extent_older(struct rdda_extent *a, struct rdda_extent *b)
{
	return a && (!b || time_before_eq(a->next.due, b->next.due)) ? a : b;
}

/*
 * Find the OPEN that has been due longest, among drives without an OPEN in flight: a drive whose
 * label takes long must not keep the others waiting. Extents of a drive are neighbours in the list.
 * *wait shrinks to the time until the next OPEN is due.
 */
static struct rdda_extent *extent_due(struct rdda_target *t, unsigned long *wait)
{
	struct rdda_extent *e, *prev = NULL, *of_drive = NULL, *best = NULL;
	unsigned long now = jiffies;
	bool busy = false;

	lockdep_assert_held(&t->lock);
	list_for_each_entry(e, &t->extents, node) {
		if (prev && !uuid_equal(&prev->info.drive, &e->info.drive)) {
			best = extent_older(best, busy ? NULL : of_drive);
			of_drive = NULL;
			busy = false;
		}
		prev = e;
		busy |= e->open.in_flight;
		if (e->closing || e->released || !e->next.pending || e->drain.active ||
		    e->open.in_flight)
			continue;
		if (time_after_eq(now, e->next.due))
			of_drive = extent_older(of_drive, e);
		else
			*wait = min(*wait, e->next.due - now);
	}
	return extent_older(best, busy ? NULL : of_drive);
}

/* Pick the next extent with work: answers, reports and drains come before OPEN. */
static struct rdda_extent *extent_pick(struct rdda_target *t, enum extent_todo *todo,
				       unsigned long *wait)
{
	struct rdda_extent *e;

	lockdep_assert_held(&t->lock);
	list_for_each_entry(e, &t->extents, node) {
		*todo = extent_todo(e, wait);
		if (*todo != TODO_NOTHING)
			return e;
	}
	*todo = TODO_OPEN;
	return extent_due(t, wait);
}

static bool extent_do(struct rdda_extent *e, struct rdda_session *s, enum extent_todo todo,
		      unsigned int reports)
{
	switch (todo) {
	case TODO_ANSWER:
		extent_answered(e, s);
		break;
	case TODO_REPORT:
		extent_reports(e, s, reports);
		break;
	case TODO_DRAIN:
		extent_check_drain(e, s);
		break;
	default:
		return extent_send_open(e, s);
	}
	return true;
}

/*
 * Send OPENs, and handle their answers, reports and drains. The target's work item; never waits for
 * an answer. Return: jiffies until the work item should run again.
 */
unsigned long rdda_extents_run(struct rdda_target *t, struct rdda_session *s)
{
	unsigned long wait = MAX_JIFFY_OFFSET;
	enum extent_todo todo;
	struct rdda_extent *e;
	unsigned int reports;
	bool room = true;

	spin_lock_irq(&t->lock);
	while (room && !t->stop && !rdda_session_dead(s)) {
		wait = MAX_JIFFY_OFFSET;
		e = extent_pick(t, &todo, &wait);
		if (!e)
			break;
		e->busy = true;
		reports = extent_reports_now(e);
		if (todo == TODO_REPORT)
			e->reports &= ~reports;
		spin_unlock_irq(&t->lock);
		room = extent_do(e, s, todo, reports);
		spin_lock_irq(&t->lock);
		e->busy = false;
		wake_up_all(&e->wait);
	}
	spin_unlock_irq(&t->lock);
	return room ? wait : max(msecs_to_jiffies(ROOM_LOOK_MS), 1UL);
}

/*
 * Drop every grant: the session is dead. The target's work item. No new I/O reaches the session
 * after the return.
 */
void rdda_extents_lost(struct rdda_target *t, struct rdda_session *s)
{
	struct rdda_extent *e;
	struct rdda_grant *g;

	spin_lock_irq(&t->lock);
	list_for_each_entry(e, &t->extents, node) {
		if (e->open.in_flight) {
			rdda_call_end(s, &e->open.call);
			open_over(e);
		}
		rdda_attach_end(e, -ENOLINK);
		g = rdda_grant_swap(e, NULL);
		if (g)
			kfree_rcu(g, rcu);
		kfree(e->kept);
		e->kept = NULL;
	}
	spin_unlock_irq(&t->lock);
	synchronize_rcu();
}

/*
 * Report extents as DOWN: every I/O has ended, except I/O that rdda_session_end() leaves to the
 * queue pairs. The target's work item.
 */
void rdda_extents_notify_lost(struct rdda_target *t)
{
	struct rdda_extent *e;
	bool more = true;

	spin_lock_irq(&t->lock);
	list_for_each_entry(e, &t->extents, node)
		e->next.excused = false;	/* the user may lose more before the next OPEN */
	while (more) {
		more = false;
		list_for_each_entry(e, &t->extents, node) {
			if (e->closing || e->released)
				continue;
			if (e->info.state == e->user.reported &&
			    (e->user.reported == RDDA_EXTENT_DOWN ||
			     e->user.reported == RDDA_EXTENT_REFUSED))
				continue;
			e->drain.active = false;
			e->drain.ending = false;
			e->drain.stuck = false;
			if (e->info.state != RDDA_EXTENT_REFUSED) {
				rdda_extent_set(e, RDDA_EEV_LOST, -ENOLINK);
				e->next.pending = true;
				e->next.due = jiffies;
				e->next.attempt = 0;
				e->reports = 0;
			}
			e->busy = true;
			spin_unlock_irq(&t->lock);
			extent_notify(e);
			spin_lock_irq(&t->lock);
			e->busy = false;
			wake_up_all(&e->wait);
			more = true;	/* the list may have changed while unlocked */
			break;
		}
	}
	spin_unlock_irq(&t->lock);
}

/* True while an extent is being opened: opening would fail if the session ended now. */
bool rdda_extents_opening(struct rdda_target *t)
{
	struct rdda_extent *e;
	bool opening = false;

	spin_lock_irq(&t->lock);
	list_for_each_entry(e, &t->extents, node)
		opening |= e->open.in_flight || e->attach_err == -EINPROGRESS;
	spin_unlock_irq(&t->lock);
	return opening;
}

static unsigned int event_reports(const struct rdda_extent *e, const struct rdda_event *ev,
				  u32 kind)
{
	const struct rdda_grant *g = rcu_dereference_protected(e->grant,
							       lockdep_is_held(&e->t->lock));

	/* The event may concern an OPENED that the work item has not handled yet. */
	unsigned int unsure = e->busy || e->open.in_flight ? EXTENT_RENEW : 0;

	switch (kind) {
	case RDDA_EV_DRIVE_GONE:
		return g && g->nsid == le32_to_cpu(ev->nsid) ? EXTENT_GONE : unsure;
	case RDDA_EV_REVOKED:
		return g && g->handle == le32_to_cpu(ev->handle) ? EXTENT_REVOKED : unsure;
	case RDDA_EV_DRIVE_BACK:
		/*
		 * The drive of an extent that was never opened may be unknown: any drive may be the
		 * one.
		 */
		if (memcmp(&e->info.drive, ev->drive, sizeof(uuid_t)) &&
		    !uuid_is_null(&e->info.drive))
			return 0;
		return EXTENT_BACK;
	default:
		return 0;
	}
}

/*
 * Note an event of a drive or an extent for the work item. @ev: a private copy; unknown kinds are
 * ignored. CQ handler.
 */
void rdda_extent_event(struct rdda_session *s, const struct rdda_event *ev)
{
	u32 kind = le32_to_cpu(ev->kind);
	struct rdda_target *t = s->t;
	struct rdda_extent *e;
	unsigned long flags;

	spin_lock_irqsave(&t->lock, flags);
	list_for_each_entry(e, &t->extents, node)
		e->reports |= event_reports(e, ev, kind);
	spin_unlock_irqrestore(&t->lock, flags);
	rdda_target_kick(t);
}

/* rdda_extent_open() - open an extent and keep it open; see rdda.h */
struct rdda_extent *rdda_extent_open(struct rdda_target *t, const uuid_t *extent,
				     const uuid_t *drive, const struct rdda_want *want,
				     const struct rdda_extent_ops *ops, void *priv)
{
	struct rdda_extent *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e)
		return ERR_PTR(-ENOMEM);
	e->t = t;
	e->uuid = *extent;
	e->want = *want;
	e->next.preempt = want->preempt;
	e->user.ops = ops;
	e->user.priv = priv;
	e->info.state = RDDA_EXTENT_DOWN;
	e->io_err = -ENOLINK;
	e->info.drive = *drive;
	e->next.pending = true;
	e->next.due = jiffies;
	init_waitqueue_head(&e->wait);
	INIT_LIST_HEAD(&e->node);
	spin_lock_irq(&t->lock);
	rdda_extent_sort(e);
	spin_unlock_irq(&t->lock);
	rdda_target_kick(t);
	return e;
}

/*
 * End an extent's use of its session and close the opening. @g: grant that was dropped, or NULL.
 * Sleeps.
 */
static void extent_leave(struct rdda_extent *e, struct rdda_grant *g)
{
	/* If the drive hangs, the wait for CLOSED is short: the target finishes by itself. */
	unsigned int i, ms = e->drain.stuck ? CLOSE_STUCK_MS : CLOSE_TIMEOUT_MS;
	struct rdda_session *s = rdda_session_get(e->t);

	for (i = 0; s && i < s->nchan; i++)
		rdda_chan_forget(s->chan[i], e);
	if (s && g && s->login.number == g->number)
		rdda_call_close(s, g->handle, ms);
	if (s)
		rdda_session_put(s);
	if (g)
		kfree_rcu(g, rcu);
}

/* rdda_extent_close() - let an extent go; see rdda.h */
void rdda_extent_close(struct rdda_extent *e)
{
	struct rdda_target *t = e->t;
	struct rdda_grant *g;

	spin_lock_irq(&t->lock);
	e->closing = true;
	/* An OPEN in flight must be answered first, as the extent that it opens must be closed. */
	wait_event_lock_irq(e->wait, !e->busy && !e->open.in_flight, t->lock);
	list_del(&e->node);
	g = rdda_grant_swap(e, NULL) ?: e->kept;
	spin_unlock_irq(&t->lock);
	extent_leave(e, g);
	kfree(e);
}

/* rdda_extent_release() - give an extent back for a while; see rdda.h */
void rdda_extent_release(struct rdda_extent *e)
{
	struct rdda_target *t = e->t;
	struct rdda_grant *g;

	spin_lock_irq(&t->lock);
	e->released = true;
	wait_event_lock_irq(e->wait, !e->busy && !e->open.in_flight, t->lock);
	e->busy = true;
	g = rdda_grant_swap(e, NULL) ?: e->kept;
	e->kept = NULL;
	if (e->info.state != RDDA_EXTENT_REFUSED)
		rdda_extent_set(e, RDDA_EEV_LOST, -EBUSY);
	e->next.again = false;
	spin_unlock_irq(&t->lock);
	extent_leave(e, g);
	e->drain.active = false;
	e->drain.ending = false;
	e->drain.stuck = false;
	extent_notify(e);
	spin_lock_irq(&t->lock);
	e->busy = false;
	wake_up_all(&e->wait);
	spin_unlock_irq(&t->lock);
}

/* rdda_extent_retry() - open what was released or refused; see rdda.h */
void rdda_extent_retry(struct rdda_extent *e, bool refused)
{
	struct rdda_target *t = e->t;
	unsigned long flags;

	spin_lock_irqsave(&t->lock, flags);
	if (e->released || (refused && e->info.state == RDDA_EXTENT_REFUSED)) {
		if (e->released)
			e->next.preempt = e->want.preempt;
		/* Without a session the OPEN is sent later: other extents may be lost by then. */
		e->next.excused = refused && e->info.err == -EBUSY && t->session;
		e->released = false;
		e->reports |= EXTENT_RENEW;
	}
	spin_unlock_irqrestore(&t->lock, flags);
	rdda_target_kick(t);
}

/* rdda_extent_info() - the state of an extent; see rdda.h */
void rdda_extent_info(struct rdda_extent *e, struct rdda_extent_info *info)
{
	unsigned long flags;

	spin_lock_irqsave(&e->t->lock, flags);
	*info = e->info;
	spin_unlock_irqrestore(&e->t->lock, flags);
}

/* rdda_extent_set_epoch() - open with a new epoch from now on; see rdda.h */
void rdda_extent_set_epoch(struct rdda_extent *e, u64 epoch)
{
	unsigned long flags;

	spin_lock_irqsave(&e->t->lock, flags);
	e->want.epoch = epoch;
	if (!e->want.numbered)
		e->reports |= EXTENT_RENEW;
	spin_unlock_irqrestore(&e->t->lock, flags);
	rdda_target_kick(e->t);
}

/* rdda_extent_kick() - end in-flight I/O that is stuck; see rdda.h */
void rdda_extent_kick(struct rdda_extent *e)
{
	struct rdda_target *t = e->t;
	unsigned long flags;

	spin_lock_irqsave(&t->lock, flags);
	e->reports |= EXTENT_STUCK;
	spin_unlock_irqrestore(&t->lock, flags);
	rdda_target_kick(t);
}
