// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that are not I/O: sending them, calls that wait for an answer, what
 * arrives, and keep-alive.
 *
 * Only a message that the target's CPU made renews a session: its NIC
 * acknowledges and serves READs for a dead host too.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "rdda/client/channel.h"
#include "rdda/client/control.h"
#include "rdda/client/extent.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/target.h"
#include "rdda/wire.h"

#define SEND_LOOK_MS	10	/* for one more buffer */

/*
 * Post a control message. @msg: whole; copied. Any context. Return: 0, -EAGAIN when no buffer is
 * free now, -ENOLINK.
 */
int rdda_control_send(struct rdda_chan *ch, const void *msg, size_t len)
{
	struct rdda_buf *b;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&ch->lock, flags);
	if (rdda_session_dead(ch->s)) {
		ret = -ENOLINK;
	} else if (!ch->ctl.nfree || !ch->sq.free) {
		ret = -EAGAIN;
	} else {
		b = &ch->ctl.msg.buf[ch->ctl.free[--ch->ctl.nfree]];
		ib_dma_sync_single_for_cpu(ch->s->dev, b->sge.addr, len, DMA_TO_DEVICE);
		memcpy(b->data, msg, len);
		rdda_chain_send(ch, b, len);
		rdda_sq_arm(ch);
	}
	spin_unlock_irqrestore(&ch->lock, flags);
	return ret;
}

static bool room_try(struct rdda_session *s, unsigned int keep)
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
	return room_try(s, RDDA_CLOSE_ROOM);
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

/* The call is over: under calls.lock, after which its owner may free it. */
static void call_finish(struct rdda_call *c, int err)
{
	list_del_init(&c->node);
	c->err = err;
	complete(&c->done);
	if (c->waiter)
		rdda_target_kick(c->waiter);
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

/* End all calls: the session is dead, no answer will come. @s: marked dead. */
void rdda_calls_abort(struct rdda_session *s)
{
	struct rdda_call *c, *next;
	unsigned long flags;

	spin_lock_irqsave(&s->calls.lock, flags);
	list_for_each_entry_safe(c, next, &s->calls.list, node)
		call_finish(c, -ENOLINK);
	spin_unlock_irqrestore(&s->calls.lock, flags);
	wake_up_all(&s->wait);
}

/*
 * Have the target close an extent. Sending it waits as long as it has to: nothing but that or the
 * session's end closes the extent. Sleeps.
 */
void rdda_call_close(struct rdda_session *s, u32 handle, unsigned int timeout_ms)
{
	struct rdda_close a, m = {
		.hdr.type = RDDA_CLOSE,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.handle = cpu_to_le32(handle),
	};
	struct rdda_call c = { .type = RDDA_CLOSED, .rsp = &a, .rsp_max = sizeof(a) };
	int ret;

	wait_event(s->wait, room_try(s, 0) || rdda_session_dead(s));
	rdda_call_start(s, &c);
	m.hdr.tag = cpu_to_le64(c.tag);
	while ((ret = rdda_control_send(s->chan[0], &m, sizeof(m))) == -EAGAIN)
		msleep(SEND_LOOK_MS);
	if (!ret)
		wait_for_completion_timeout(&c.done, msecs_to_jiffies(timeout_ms));
	ret = rdda_call_end(s, &c) ?: ret;
	rdda_room_give(s);
	/*
	 * Not answered yet: its drive holds others' commands. The target takes none
	 * under it any more and gives it to no host before they are back, so leave it.
	 */
	if (ret && ret != -ETIMEDOUT)
		rdda_session_fail(s, ret, "closing an extent failed: %d", ret);
}

/* An answer: to a call that is there, with the type and size it expects. */
static int control_recv_answer(struct rdda_session *s, const struct rdda_hdr *hdr, size_t len)
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
	/* A drive may take its time to let go of an extent: CLOSE may have been given up. */
	if (hdr->type == RDDA_CLOSED && le64_to_cpu(hdr->tag) - 1 < s->calls.next_tag)
		ret = 0;
out:
	spin_unlock_irqrestore(&s->calls.lock, flags);
	return ret;
}

static void control_reply(struct rdda_chan *ch, u8 type, __le64 tag, int err)
{
	struct rdda_note m = {
		.hdr.type = type,
		.hdr.tag = tag,
		.err = cpu_to_le32(err),
	};
	size_t len = type == RDDA_PONG ? sizeof(m.hdr) : sizeof(m);

	m.hdr.len = cpu_to_le32(len);
	/* Out of buffers: the peer repeats its request, or gives us up. */
	rdda_control_send(ch, &m, len);
}

/* Login, on channel 0: PROVED once, then ARENA once. Only stored here. */
static int control_recv_login(struct rdda_chan *ch, const struct rdda_hdr *hdr, size_t len)
{
	struct rdda_session *s = ch->s;

	if (ch->index)
		return -EPROTO;
	if (hdr->type == RDDA_PROVED) {
		if (ch->login.got_proved)
			return -EPROTO;
		memcpy(&ch->login.proved, hdr, sizeof(ch->login.proved));
		ch->login.got_proved = true;
	} else {
		if (!ch->login.got_proved || s->arena.got)
			return -EPROTO;
		s->arena.nr = le16_to_cpu(hdr->count);
		memcpy(s->arena.pieces, hdr + 1, len - sizeof(*hdr));
		s->arena.got = true;
	}
	complete(&ch->login.cm_done);
	return 0;
}

/* During the login it may be refused: then a reason is there, as in a CM REJ. */
static void control_recv_bye(struct rdda_session *s, const struct rdda_note *m, bool up)
{
	u32 reason = le32_to_cpu(m->reason);

	if (up || !reason)
		rdda_session_fail(s, -ESHUTDOWN, "the target ended the session (%u)",
				  le32_to_cpu(m->err));
	else
		rdda_session_fail(s, rdda_reject_errno(reason), "%s", rdda_reject_text(reason));
}

static void control_recv_event(struct rdda_session *s, const struct rdda_event *ev, bool up)
{
	if (le32_to_cpu(ev->kind) == RDDA_EV_SHARE)
		rdda_session_renew(s);
	else if (up)
		rdda_extent_event(s, ev);
}

/*
 * A control message came. @msg: a private copy of it; rdda_msg_check() passed, or did not know its
 * type. CQ handler. Return: 0; a negative errno ends the session.
 */
int rdda_control_recv(struct rdda_chan *ch, const void *msg, size_t len)
{
	const struct rdda_hdr *hdr = msg;
	struct rdda_session *s = ch->s;
	bool up = test_bit(SESSION_UP, &s->flags);

	switch (hdr->type) {
	case RDDA_PROVED:
	case RDDA_ARENA:
		return control_recv_login(ch, hdr, len);
	case RDDA_BYE:
		control_recv_bye(s, msg, up);
		return 0;
	case RDDA_DONE:
		return -EPROTO;
	}
	if (!ch->login.got_proved)
		return -EPROTO;
	switch (hdr->type) {
	case RDDA_PING:
		control_reply(ch, RDDA_PONG, hdr->tag, 0);
		return 0;
	case RDDA_PONG:
		/* Of keep-alive, without a tag: it has served by arriving. */
		if (le64_to_cpu(hdr->tag) == READ_ONCE(ch->settle.tag))
			WRITE_ONCE(ch->settle.seen, le64_to_cpu(hdr->tag));
		return 0;
	case RDDA_OPENED:
	case RDDA_CLOSED:
	case RDDA_ERROR:
		return control_recv_answer(s, hdr, len);
	case RDDA_EVENT:
		control_recv_event(s, msg, up);
		return 0;
	default:
		control_reply(ch, RDDA_ERROR, hdr->tag, EOPNOTSUPP);
		return 0;
	}
}

/*
 * One at a time: while nothing has come since the last, another would only take
 * one more receive over there.
 */
static void control_ping(struct rdda_chan *ch, unsigned long every)
{
	struct rdda_hdr ping = { .type = RDDA_PING, .len = cpu_to_le32(sizeof(ping)) };
	unsigned long last = ch->alive.last_ping;

	if (time_before(jiffies, last + every) || time_before(READ_ONCE(ch->alive.last_rx), last))
		return;
	/* Before it is sent: its answer must not be older. */
	ch->alive.last_ping = jiffies;
	if (rdda_control_send(ch, &ping, sizeof(ping)))
		ch->alive.last_ping = last;
}

/*
 * Ping every channel, and give a silent target up. A timer, not work: connecting to targets that
 * do not answer blocks workers for seconds, and without new ones work would come too late to keep
 * a healthy session alive. Whatever is locked in here is locked with interrupts off elsewhere. It
 * sets itself again until the session is dead. Until all channels are joined it is about the
 * first: the target waits for a join no longer than dead_ms. Context: softirq.
 */
void rdda_alive_timer(struct timer_list *timer)
{
	struct rdda_session *s = container_of(timer, struct rdda_session, alive.timer);
	unsigned long every = msecs_to_jiffies(s->alive.every_ms);
	unsigned long dead = msecs_to_jiffies(s->alive.dead_ms);
	unsigned int i, n = test_bit_acquire(SESSION_UP, &s->flags) ? s->nchan : 1;

	for (i = 0; i < n; i++) {
		struct rdda_chan *ch = s->chan[i];

		if (time_after(jiffies, READ_ONCE(ch->alive.last_rx) + dead)) {
			rdda_session_fail(s, -ETIMEDOUT, "no message for %u ms", s->alive.dead_ms);
			return;
		}
		control_ping(ch, every);
	}
	if (!rdda_session_dead(s))
		mod_timer(&s->alive.timer, jiffies + max(every / 2, 1UL));
}
