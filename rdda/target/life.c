// SPDX-License-Identifier: GPL-2.0-only
/*
 * States, references and the order to end of sessions and channels: the parts of their lives that
 * all files use. Works in session.c and channel.c carry out the end.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include "rdda/target/channel.h"
#include "rdda/target/netlink.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"

/* Drop a reference; the last one frees the session and its channels. Context: process. */
void tgt_session_put(struct tgt_session *s)
{
	kref_put(&s->ref, s->release);
}

/* Change a session's state; no other function does. Return: true if state.c allows the change. */
bool tgt_session_set(struct tgt_session *s, enum tgt_state to, int err)
{
	bool ok;

	spin_lock_bh(&s->lock);
	ok = tgt_state_may(s->state, to);
	if (ok) {
		s->state = to;
		if (err)
			s->err = err;
	}
	spin_unlock_bh(&s->lock);
	if (ok && to != TGT_DYING && s->client.proved)
		tgt_nl_session(s, tgt_state_name(to));
	return ok;
}

/* Return: the state of a session. */
enum tgt_state tgt_session_state(struct tgt_session *s)
{
	enum tgt_state state;

	spin_lock_bh(&s->lock);
	state = s->state;
	spin_unlock_bh(&s->lock);
	return state;
}

/*
 * End a session; a second time does nothing. @err: why, negative errno; 0: the client said
 * good-bye. Any context but hard interrupt. Returns at once.
 */
void tgt_session_kill(struct tgt_session *s, int err)
{
	if (!tgt_session_set(s, TGT_DYING, err))
		return;
	pr_info_ratelimited("session %u of %pUb: ends: %d\n", s->id, &s->client.host, err);
	tgt_session_get(s);
	queue_work(tgt_wq, &s->end.kill);
}

/* Queue the free work of a draining session once its sdrives are gone. Context: tgt_lock held. */
void tgt_session_drained(struct tgt_session *s)
{
	lockdep_assert_held(&tgt_lock);
	if (s->grants.undrained || s->end.freeing || tgt_session_state(s) != TGT_DRAINING)
		return;
	s->end.freeing = true;
	queue_work(tgt_wq, &s->end.free);
}

/*
 * End a channel, and its session with it. @err: why, negative errno; 0: in order. Any context but
 * hard interrupt. Returns at once.
 */
void tgt_channel_kill(struct tgt_channel *ch, int err)
{
	tgt_session_kill(ch->s, err);
}

/* The client sent a message that no honest client sends: log it and end the session. */
void tgt_bad_peer(struct tgt_channel *ch, const char *why)
{
	pr_warn_ratelimited("session %u of %pUb: %s; ended\n", ch->s->id, &ch->s->client.host, why);
	tgt_channel_kill(ch, -EPROTO);
}

/*
 * Give a receive buffer to the NIC. @rb: its message has been handled. Return: 0, or a negative
 * errno after the channel was killed.
 */
int tgt_rbuf_post(struct tgt_channel *ch, struct rdda_buf *rb)
{
	int ret;

	if (READ_ONCE(ch->dead))
		return -ESHUTDOWN;
	ret = rdda_buf_post(&ch->q, rb);
	if (ret)
		tgt_channel_kill(ch, ret);
	return ret;
}
