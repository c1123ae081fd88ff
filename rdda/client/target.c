// SPDX-License-Identifier: GPL-2.0-only
/*
 * Targets: a session is kept up with each.
 *
 *   target_work()   runs when something is due: connect, open extents, end a
 *                   dead session, stop. No other function changes a target's state.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "rdda/client/channel.h"
#include "rdda/client/extent.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

#define PORT_LOOK_MS	100	/* poll interval for a port that is down */
#define RENEW_LEAST_MS	5000	/* a session lasts at least this long before a renewal */
#define RENEW_LOOK_MS	500	/* poll interval for a renewal that must wait */
#define PORT_WAIT_MS	1000	/* longest pause between logins while connections wait for a port */

static void target_set(struct rdda_target *t, enum rdda_target_event ev, int err,
		       const char *reason)
{
	/* A port that is down is polled often: one report to the user is enough. */
	bool same = err == -ENETDOWN && t->err == err;
	int next;

	spin_lock_irq(&t->lock);
	next = rdda_target_next(t->state, ev);
	if (!WARN_ON_ONCE(next < 0)) {
		t->state = next;
		t->err = err;
		if (reason)
			strscpy(t->reason, reason, sizeof(t->reason));
	}
	spin_unlock_irq(&t->lock);
	if (t->ops && t->ops->state && !same)
		t->ops->state(t->priv, t->state, err);
}

static void target_backoff(struct rdda_target *t)
{
	u32 ms = rdda_backoff_ms(t->attempt++, get_random_u32());

	if (!list_empty(&t->leaving))
		ms = min_t(u32, ms, PORT_WAIT_MS);
	t->next_try = jiffies + msecs_to_jiffies(ms);
}

/*
 * Release the connections of sessions that ended, if their port allows that. Nothing else waits for
 * the release: the target may be reached by another port by now.
 */
static void target_leave(struct rdda_target *t, bool force)
{
	struct rdda_session *s, *next;

	list_for_each_entry_safe(s, next, &t->leaving, end_node)
		rdda_session_leave(s, force);
}

/*
 * True if the teardown of a session is over. The check takes the lock under which @torn is
 * completed, as the last lines of the teardown may be running.
 */
static bool target_torn(struct rdda_target *t, struct rdda_session *s)
{
	bool torn;

	spin_lock_irq(&t->lock);
	torn = completion_done(&s->torn);
	spin_unlock_irq(&t->lock);
	return torn;
}

/* Collect sessions whose queue pairs are destroyed: only their connections are left. */
static void target_reap(struct rdda_target *t)
{
	struct rdda_session *s, *next;

	list_for_each_entry_safe(s, next, &t->ended, end_node) {
		if (!target_torn(t, s))
			continue;
		list_move_tail(&s->end_node, &t->leaving);
		t->nr_ended--;
		/* A session that came up meanwhile has its own pages. */
		if (t->session)
			rdda_pages_free(&t->pages);
	}
	t->pages.no_wait = t->nr_ended;
}

/* True while the NIC keeps queue pairs of as many earlier sessions as a target may have. */
static bool target_full(struct rdda_target *t)
{
	if (t->nr_ended < RDDA_ENDED_MAX)
		return false;
	spin_lock_irq(&t->lock);
	t->err = -EBUSY;
	strscpy(t->reason, "the NIC does not destroy the queue pairs of earlier sessions",
		sizeof(t->reason));
	spin_unlock_irq(&t->lock);
	return true;
}

static void target_connect(struct rdda_target *t)
{
	struct rdda_session *s;
	char reason[64];
	int err;

	/* All retries are one state for the user, with a reason. */
	target_set(t, RDDA_TEV_TRY, t->err, NULL);
	s = rdda_session_connect(t, &err, reason, sizeof(reason));
	if (!s) {
		if (t->err != err)
			pr_warn_ratelimited("%pISpc: %s (%d)\n", &t->addr, reason, err);
		/*
		 * The number of a queue pair was used again before the target knew of the earlier
		 * one's end. The target knows now, and is up: log in again soon.
		 */
		if (err == -ECONNRESET)
			t->attempt = 0;
		/* Nothing was sent: an early retry costs no host anything. */
		if (err == -ENETDOWN)
			t->next_try = jiffies + msecs_to_jiffies(PORT_LOOK_MS);
		else
			target_backoff(t);
		if (rdda_key_other(err))
			t->older_key = !t->older_key;
		target_set(t, RDDA_TEV_LOST, err, reason);
		target_leave(t, false);
		return;
	}
	pr_info("%pISpc: session %u, %u channels, %u KiB\n", &t->addr, s->login.id, s->nchan,
		s->arena.bytes >> 10);
	spin_lock_irq(&t->lock);
	t->session = s;
	if (!uuid_is_null(&t->uuid))		/* logged in before */
		t->reconnects++;
	memcpy(&t->uuid, s->chan[0]->login.accept.host_uuid, sizeof(t->uuid));
	spin_unlock_irq(&t->lock);
	rdda_identity_check(t);
	t->up_at = jiffies;
	target_set(t, RDDA_TEV_LOGGED_IN, 0, "");
}

/*
 * True if the session is to be replaced now by one of another size. A session must have lasted a
 * while: otherwise a target that misjudges shares would keep the client busy with logins.
 */
static bool target_renews(struct rdda_target *t)
{
	struct rdda_session *s = t->session;
	u32 ms = max_t(u32, s->alive.dead_ms, RENEW_LEAST_MS);

	return test_bit(SESSION_RENEW, &s->flags) && !rdda_session_dead(s) &&
	       time_after(jiffies, t->up_at + msecs_to_jiffies(ms)) && !rdda_extents_opening(t);
}

/* End the session, for whatever reason. @renew: log in again at once, for another share. */
static void target_lost(struct rdda_target *t, bool renew)
{
	struct rdda_session *s = t->session;
	struct rdda_counts c = {};
	char reason[64];
	int err = 0;

	rdda_extents_lost(t, s);
	spin_lock_irq(&t->lock);
	t->session = NULL;
	spin_unlock_irq(&t->lock);
	if (rdda_session_dead(s)) {
		err = s->end.err;
		strscpy(reason, s->end.reason, sizeof(reason));
		renew = false;
	} else {
		strscpy(reason, renew ? "logs in again for another share" : "", sizeof(reason));
	}
	/* A login alone proves nothing: only a session that lasted resets the backoff. */
	if (time_after(jiffies, t->up_at + msecs_to_jiffies(s->alive.dead_ms))) {
		t->attempt = 0;
		/* More channels may be available by now: try twice as many. */
		t->channels_most *= 2;
	}
	kref_get(&s->ref);
	rdda_session_end(s);
	rdda_counts_add(&c, s);
	rdda_session_put(s);
	spin_lock_irq(&t->lock);
	rdda_counts_sum(&t->counts, &c);
	spin_unlock_irq(&t->lock);
	target_backoff(t);
	if (renew)
		t->next_try = jiffies;
	target_set(t, RDDA_TEV_LOST, err, reason);
	rdda_extents_notify_lost(t);
	target_leave(t, false);
}

static void target_work(struct work_struct *work)
{
	struct rdda_target *t = container_of(work, struct rdda_target, work.work);
	unsigned long wait = MAX_JIFFY_OFFSET;
	unsigned int noio = memalloc_noio_save();
	bool renew, full;

	if (t->session) {
		renew = target_renews(t);
		if (READ_ONCE(t->stop) || rdda_session_dead(t->session) || renew)
			target_lost(t, renew);
	}
	target_reap(t);
	target_leave(t, READ_ONCE(t->stop));
	if (READ_ONCE(t->stop)) {
		if (list_empty(&t->ended))	/* else the teardown kicks the work item */
			complete(&t->stopped);
		goto out;
	}
	full = !t->session && target_full(t);
	if (!t->session && !full && time_after_eq(jiffies, t->next_try))
		target_connect(t);
	if (t->session)
		wait = rdda_extents_run(t, t->session);
	else if (!full)
		wait = max_t(long, t->next_try - jiffies, 0);
	if (t->session && test_bit(SESSION_RENEW, &t->session->flags))
		wait = min(wait, msecs_to_jiffies(RENEW_LOOK_MS));
	if (!list_empty(&t->leaving))
		wait = min(wait, msecs_to_jiffies(PORT_LOOK_MS));
	/* A kick that came meanwhile has queued the work already, without delay. */
	if (wait != MAX_JIFFY_OFFSET)
		queue_delayed_work(rdda_wq, &t->work, wait);
out:
	memalloc_noio_restore(noio);
}

/* rdda_target_create() - start keeping a session with a target; see rdda.h */
struct rdda_target *rdda_target_create(const struct sockaddr_storage *addr, const uuid_t *expect,
				       const struct rdda_target_ops *ops, void *priv)
{
	struct rdda_target *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return ERR_PTR(-ENOMEM);
	t->addr = *addr;
	t->expect_any = !expect;
	if (expect)
		t->expect = *expect;
	t->ops = ops;
	t->priv = priv;
	t->event = rdda_extent_event;
	t->err = -ENOTCONN;
	strscpy(t->reason, "not connected yet", sizeof(t->reason));
	t->next_try = jiffies;
	spin_lock_init(&t->lock);
	INIT_LIST_HEAD(&t->extents);
	INIT_LIST_HEAD(&t->leaving);
	INIT_LIST_HEAD(&t->ended);
	rdda_pages_init(&t->pages);
	init_completion(&t->stopped);
	INIT_DELAYED_WORK(&t->work, target_work);
	rdda_identity_join(t);
	rdda_target_kick(t);
	return t;
}

/* rdda_target_expect() - accept only the present host from now on; see rdda.h */
bool rdda_target_expect(struct rdda_target *t, const uuid_t *host)
{
	unsigned long flags;
	bool is;

	spin_lock_irqsave(&t->lock, flags);
	is = uuid_equal(&t->uuid, host);
	if (is && t->expect_any) {
		t->expect = *host;
		/* pairs with rdda_session_connect(): a reader of false sees @expect */
		smp_store_release(&t->expect_any, false);
	}
	spin_unlock_irqrestore(&t->lock, flags);
	return is;
}

/* rdda_target_destroy() - end the session, in order; see rdda.h */
void rdda_target_destroy(struct rdda_target *t)
{
	WARN_ON_ONCE(!list_empty(&t->extents));
	rdda_identity_leave(t);
	WRITE_ONCE(t->stop, true);
	rdda_target_kick(t);
	wait_for_completion(&t->stopped);
	cancel_delayed_work_sync(&t->work);
	rdda_identity_gone();
	rdda_pages_free(&t->pages);
	kfree(t);
}

