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

	wait_event(s->wait, rdda_room_close(s) || rdda_session_dead(s));
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
		s->t->event(s, ev);
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
		return rdda_call_answer(s, hdr, len);
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
