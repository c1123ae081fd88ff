// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session, as all parts have to do with it: references, its end, and calls that wait for an
 * answer. connect.c makes sessions and tears them down.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include "rdda/client/channel.h"
#include "rdda/client/control.h"
#include "rdda/client/session.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

struct workqueue_struct *rdda_wq;

/* Run the work item now; any context. */
void rdda_target_kick(struct rdda_target *t)
{
	mod_delayed_work(rdda_wq, &t->work, 0);
}

/* The session, when it is up, with a reference; or NULL. */
struct rdda_session *rdda_session_get(struct rdda_target *t)
{
	struct rdda_session *s;
	unsigned long flags;

	spin_lock_irqsave(&t->lock, flags);
	s = t->session;
	if (s)
		kref_get(&s->ref);
	spin_unlock_irqrestore(&t->lock, flags);
	return s;
}

static void session_release(struct kref *ref)
{
	struct rdda_session *s = container_of(ref, struct rdda_session, ref);

	/* A staged payload may be given back where memory cannot be. */
	queue_work(rdda_wq, &s->free_work);
}

/* Any context. */
void rdda_session_put(struct rdda_session *s)
{
	kref_put(&s->ref, session_release);
}

/* The call is over: under calls.lock, after which its owner may free it. */
static void call_finish(struct rdda_call *c, int err)
{
	list_del_init(&c->node);
	c->err = err;
	complete(&c->done);
	if (c->waiter)
		rdda_target_kick(c->waiter);
}

/* End all calls: the session is dead, no answer will come. @s: marked dead. */
static void calls_abort(struct rdda_session *s)
{
	struct rdda_call *c, *next;
	unsigned long flags;

	spin_lock_irqsave(&s->calls.lock, flags);
	list_for_each_entry_safe(c, next, &s->calls.list, node)
		call_finish(c, -ENOLINK);
	spin_unlock_irqrestore(&s->calls.lock, flags);
	wake_up_all(&s->wait);
}

static void session_dead(struct rdda_session *s)
{
	/* A reader that sees the bit sees err and reason too. */
	smp_mb__before_atomic();
	set_bit(SESSION_DEAD, &s->flags);
	/* A call that started before this is on the list; later ones see the bit. */
	smp_mb__after_atomic();
	calls_abort(s);
}

/*
 * A session is over. @s: only the first call counts. @err: why, negative. @fmt: the same,
 * human-readable, short: it is cut to end.reason. Any context, locks held or not. The target's
 * work item does the rest.
 */
void rdda_session_fail(struct rdda_session *s, int err, const char *fmt, ...)
{
	va_list args;

	if (test_and_set_bit(SESSION_FAILING, &s->flags))
		return;
	s->end.err = err;
	va_start(args, fmt);
	vscnprintf(s->end.reason, sizeof(s->end.reason), fmt, args);
	va_end(args);
	session_dead(s);
	if (test_bit(SESSION_UP, &s->flags) && !test_bit(SESSION_LEAVING, &s->flags))
		pr_warn_ratelimited("%pISpc: session %u lost: %s\n", &s->t->addr, s->login.id,
				    s->end.reason);
	rdda_target_kick(s->t);
}

/*
 * The target would grant much more now, or is to be left more: log in again, soon. CQ handler.
 */
void rdda_session_renew(struct rdda_session *s)
{
	if (!test_and_set_bit(SESSION_RENEW, &s->flags))
		rdda_target_kick(s->t);
}

/* An orderly end: the session is dead, without a line in the log. */
void rdda_session_close(struct rdda_session *s)
{
	if (test_and_set_bit(SESSION_FAILING, &s->flags))
		return;
	s->end.err = -ENOLINK;
	session_dead(s);
}

static bool call_room(struct rdda_session *s, unsigned int keep)
{
	unsigned long flags;
	bool got;

	spin_lock_irqsave(&s->calls.lock, flags);
	got = s->calls.room > keep;
	if (got)
		s->calls.room--;
	spin_unlock_irqrestore(&s->calls.lock, flags);
	return got;
}

/* Take room for an OPEN, but none that is kept for CLOSE: OPENs may all wait for one thing. */
bool rdda_room_try(struct rdda_session *s)
{
	return call_room(s, RDDA_CLOSE_ROOM);
}

/* Take room for a CLOSE. */
bool rdda_room_close(struct rdda_session *s)
{
	return call_room(s, 0);
}

/* It was answered, or given up. */
void rdda_room_give(struct rdda_session *s)
{
	unsigned long flags;

	spin_lock_irqsave(&s->calls.lock, flags);
	s->calls.room++;
	spin_unlock_irqrestore(&s->calls.lock, flags);
	wake_up_all(&s->wait);
}

/* Expect an answer. @c: with @type, @rsp and @rsp_max set; gets a tag. */
void rdda_call_start(struct rdda_session *s, struct rdda_call *c)
{
	unsigned long flags;

	init_completion(&c->done);
	c->err = -ENOLINK;
	spin_lock_irqsave(&s->calls.lock, flags);
	c->tag = ++s->calls.next_tag;
	if (rdda_session_dead(s)) {
		INIT_LIST_HEAD(&c->node);
		complete(&c->done);
	} else {
		list_add_tail(&c->node, &s->calls.list);
	}
	spin_unlock_irqrestore(&s->calls.lock, flags);
}

/*
 * Take the answer, or give up the call without one. Any context. Return: 0, -ETIMEDOUT, -ENOLINK,
 * or what the target answered.
 */
int rdda_call_end(struct rdda_session *s, struct rdda_call *c)
{
	unsigned long flags;

	spin_lock_irqsave(&s->calls.lock, flags);
	if (!list_empty(&c->node)) {
		list_del_init(&c->node);
		c->err = -ETIMEDOUT;
	}
	spin_unlock_irqrestore(&s->calls.lock, flags);
	return c->err;
}

/* An answer: to a call that is there, with the type and size it expects. */
int rdda_call_answer(struct rdda_session *s, const struct rdda_hdr *hdr, size_t len)
{
	struct rdda_call *c;
	unsigned long flags;
	int ret = -EPROTO;

	spin_lock_irqsave(&s->calls.lock, flags);
	list_for_each_entry(c, &s->calls.list, node) {
		if (c->tag != le64_to_cpu(hdr->tag))
			continue;
		if (hdr->type == RDDA_ERROR) {
			call_finish(c, -EREMOTEIO);
		} else if (hdr->type == c->type && len <= c->rsp_max) {
			memcpy(c->rsp, hdr, len);
			call_finish(c, 0);
		} else {
			break;
		}
		ret = 0;
		goto out;
	}
	/*
	 * A drive may take its time to let go of an extent: CLOSE may have been given up. So may a
	 * probe whose caller was killed.
	 */
	if ((hdr->type == RDDA_CLOSED || hdr->type == RDDA_OPENED) &&
	    le64_to_cpu(hdr->tag) - 1 < s->calls.next_tag)
		ret = 0;
out:
	spin_unlock_irqrestore(&s->calls.lock, flags);
	return ret;
}
