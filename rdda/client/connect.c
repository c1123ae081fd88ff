// SPDX-License-Identifier: GPL-2.0-only
/*
 * One session: connections, login, proofs, memory; and its end.
 *
 *   channel 0: address - route - connect(login) - accept - PROVE - PROVED - ARENA
 *   1..n:      address - route - connect(join, proved) - joined, proved
 *   then:      memory of each, BOUNCE
 *
 * Nothing that the target says is used before its proof was checked. No memory
 * is registered for it before each channel is proved: some NICs grant remote
 * rights to a queue pair when it is made.
 */
#define pr_fmt(fmt) "rdda: " fmt
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "rdda/client/arena.h"
#include "rdda/client/channel.h"
#include "rdda/client/control.h"
#include "rdda/client/debug.h"
#include "rdda/client/io.h"
#include "rdda/client/recv.h"
#include "rdda/client/session.h"
#include "rdda/client/sq.h"
#include "rdda/client/stage.h"
#include "rdda/client/target.h"
#include "rdda/common/fault.h"
#include "rdda/wire.h"

static unsigned int channels;
module_param(channels, uint, 0644);
MODULE_PARM_DESC(channels, "most channels of a session, 0: one a CPU, fewer with many targets");

#define CHANNELS_SHARED		256	/* of all targets, if at least ... */
#define CHANNELS_LEAST		4	/* ... are left for each */

#define PROVE_TIMEOUT_MS	5000
#define BYE_TIMEOUT_MS		200
#define CM_SLICE_MS		100
#define TEARDOWN_MS		200	/* nearly always it is over by then */

static void cm_finish(struct rdda_chan *ch, int err)
{
	ch->login.cm_err = err;
	complete(&ch->login.cm_done);
}

static int cm_established(struct rdda_chan *ch, struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	int ret;

	if (ch->index) {
		ret = rdda_joined_check(p->private_data, p->private_data_len, &ch->login.join);
		if (ret)
			return ret;
		memcpy(&ch->login.joined, p->private_data, sizeof(ch->login.joined));
	} else {
		ret = rdda_accept_check(p->private_data, p->private_data_len,
					&ch->login.proof.login);
		if (ret)
			return ret;
		memcpy(&ch->login.accept, p->private_data, sizeof(ch->login.accept));
	}
	ch->login.peer_qpn = p->qp_num;
	ch->reads.max = clamp_t(u32, p->initiator_depth, 1, ch->s->lim.rd_out);
	ch->reads.free = ch->reads.max;
	return 0;
}

static int cm_rejected(struct rdda_chan *ch, struct rdma_cm_event *ev)
{
	const struct rdda_reject *r;
	u8 len = 0;

	if (ev->status == IB_CM_REJ_STALE_CONN)
		return -ECONNRESET;
	r = rdma_consumer_reject_data(ch->login.id, ev, &len);
	if (r && len >= sizeof(*r) && le32_to_cpu(r->magic) == RDDA_MAGIC)
		ch->login.cm_reason = le16_to_cpu(r->reason);
	return rdda_reject_errno(ch->login.cm_reason);
}

static int cm_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rdda_chan *ch = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		cm_finish(ch, 0);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		cm_finish(ch, cm_established(ch, ev));
		break;
	case RDMA_CM_EVENT_REJECTED:
		cm_finish(ch, cm_rejected(ch, ev));
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		cm_finish(ch, ev->status < 0 ? ev->status : -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		set_bit(SESSION_REMOVED, &ch->s->flags);
		rdda_target_kick(ch->s->t);
		fallthrough;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rdda_session_fail(ch->s, -ENOLINK, "channel %u: %s", ch->index,
				  rdma_event_msg(ev->event));
		cm_finish(ch, -ENOLINK);
		break;
	default:
		break;
	}
	return 0;
}

/* Whether a device waits for the connections of a session that ended; for the work item. */
static bool leaving_removed(struct rdda_target *t)
{
	struct rdda_session *s;

	list_for_each_entry(s, &t->leaving, end_node)
		if (test_bit(SESSION_REMOVED, &s->flags))
			return true;
	list_for_each_entry(s, &t->ended, end_node)
		if (test_bit(SESSION_REMOVED, &s->flags) && completion_done(&s->torn))
			return true;
	return false;
}

/*
 * Our own bound on a step, whatever the fabric's is. In slices, since what ends the
 * session, or wants the work item for something else, completes no step.
 */
static int cm_wait(struct rdda_chan *ch, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	struct rdda_target *t = ch->s->t;

	while (!wait_for_completion_timeout(&ch->login.cm_done, msecs_to_jiffies(CM_SLICE_MS))) {
		if (rdda_session_dead(ch->s))
			return ch->s->end.err;
		if (READ_ONCE(t->stop) || leaving_removed(t) || time_after(jiffies, end))
			return -ETIMEDOUT;
	}
	return rdda_session_dead(ch->s) ? ch->s->end.err : ch->login.cm_err;
}

static struct rdda_chan *chan_new(struct rdda_session *s, unsigned int index)
{
	struct rdda_chan *ch = kzalloc(sizeof(*ch), GFP_KERNEL);

	if (!ch)
		return NULL;
	ch->s = s;
	ch->index = index;
	spin_lock_init(&ch->lock);
	INIT_LIST_HEAD(&ch->queues.turns);
	INIT_LIST_HEAD(&ch->pending.cmds);
	INIT_LIST_HEAD(&ch->reads.todo);
	INIT_LIST_HEAD(&ch->poll.waiting);
	INIT_LIST_HEAD(&ch->poll.finished);
	INIT_LIST_HEAD(&ch->stage.free);
	INIT_LIST_HEAD(&ch->stage.idle);
	rdda_recv_init(ch);
	rdda_gather_init(ch);
	init_completion(&ch->login.cm_done);
	ch->alive.last_rx = jiffies;
	ch->alive.last_ping = ch->alive.last_rx;	/* none yet */
	s->chan[index] = ch;
	return ch;
}

static int chan_route(struct rdda_chan *ch)
{
	struct sockaddr *addr = (struct sockaddr *)&ch->s->t->addr;
	struct rdda_session *s = ch->s;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, cm_event, ch, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ch->login.id = id;
	ret = rdda_cm_tune(id);
	if (!ret)
		ret = rdma_resolve_addr(id, NULL, addr, RDDA_CM_TIMEOUT_MS);
	if (!ret)
		ret = cm_wait(ch, RDDA_CM_TIMEOUT_MS);
	if (ret)
		return ret;
	if (!rdda_port_active(id))
		return -ENETDOWN;
	if (!s->dev) {
		ret = rdda_device_limits(id->device, id->port_num, &s->lim);
		if (ret)
			return ret;
		s->pd = ib_alloc_pd(id->device, 0);
		if (IS_ERR(s->pd)) {
			ret = PTR_ERR(s->pd);
			s->pd = NULL;
			return ret;
		}
		s->dev = id->device;
	} else if (s->dev != id->device) {
		return -EXDEV;
	}
	reinit_completion(&ch->login.cm_done);
	ret = rdma_resolve_route(id, RDDA_CM_TIMEOUT_MS);
	return ret ?: cm_wait(ch, RDDA_CM_TIMEOUT_MS);
}

static int chan_request(struct rdda_chan *ch, const void *data, u8 len)
{
	struct rdma_conn_param p = {
		.private_data = data,
		.private_data_len = len,
		.initiator_depth = ch->s->lim.rd_out,
		.responder_resources = 1,
		.retry_count = RDDA_RETRIES,
		.rnr_retry_count = RDDA_RNR_RETRIES,
	};
	int ret;

	reinit_completion(&ch->login.cm_done);
	ret = rdma_connect(ch->login.id, &p);
	return ret ?: cm_wait(ch, rdda_cm_connect_ms());
}

/*
 * Channels that are of use. Each costs memory here too: with many targets fewer of each suffice, as
 * all of them together carry what the CPUs here have.
 */
static unsigned int chan_use(const struct rdda_target *t)
{
	unsigned int most = READ_ONCE(channels);

	if (!most)
		most = min(num_online_cpus(),
			   max(CHANNELS_SHARED / rdda_targets(), CHANNELS_LEAST + 0U));
	if (t->channels_most)
		most = min(most, t->channels_most);
	return min(most, RDDA_CHANNELS_MAX + 0U);
}

static int chan_login(struct rdda_chan *ch)
{
	struct rdda_session *s = ch->s;
	struct rdda_login *l = &ch->login.proof.login;
	int ret;

	l->magic = cpu_to_le32(RDDA_MAGIC);
	l->version_min = RDDA_VERSION;
	l->version_max = RDDA_VERSION;
	l->features = cpu_to_le32(RDDA_FEATURES);
	l->key_id = cpu_to_le16(s->login.key.named.id);
	l->role = s->login.key.named.role;
	memcpy(l->host_uuid, &s->login.host, sizeof(l->host_uuid));
	get_random_bytes(l->nonce, sizeof(l->nonce));
	memcpy(&l->boot, rdda_boot_id(), sizeof(l->boot));
	l->number = cpu_to_le32(s->login.number);
	l->channels = chan_use(s->t);
	ret = rdda_auth_key(&s->login.key, l);
	if (!ret)
		ret = chan_request(ch, l, sizeof(*l));
	if (!ret && le16_to_cpu(ch->login.accept.controls) <= RDDA_PING_ROOM + RDDA_CLOSE_ROOM)
		ret = -EPROTO;
	return ret;
}

static int chan_prove(struct rdda_chan *ch)
{
	struct rdda_session *s = ch->s;
	struct rdda_prove m = {
		.hdr.type = RDDA_PROVE,
		.hdr.len = cpu_to_le32(sizeof(m)),
	};
	struct rdda_proof *p = &ch->login.proof;
	int ret;

	p->accept = ch->login.accept;
	memcpy(p->boot_id, rdda_boot_id(), sizeof(p->boot_id));
	p->qpn[0] = ch->q.qp->qp_num;
	p->qpn[1] = ch->login.peer_qpn;
	rdda_auth_gids(ch->login.id, true, p->gid);
	memcpy(m.boot_id, p->boot_id, sizeof(m.boot_id));
	ret = rdda_auth_make(&s->login.key.proof, p, true, m.hmac);
	if (!ret)
		ret = rdda_control_send(ch, &m, sizeof(m));
	/* PROVED completes this, and ARENA the next one in session_granted(). */
	if (!ret)
		ret = cm_wait(ch, PROVE_TIMEOUT_MS);
	if (!ret)
		ret = rdda_proved_check(&ch->login.proved);
	if (ret)
		return ret;
	p->arena_bytes = le32_to_cpu(ch->login.proved.arena_bytes);
	p->arena_len = le32_to_cpu(ch->login.proved.arena_len);
	p->channels = le16_to_cpu(ch->login.proved.channels);
	return rdda_auth_check(&s->login.key.proof, p, false, ch->login.proved.hmac);
}

/* What the proven target says about the whole session; channel 0. */
static int session_granted(struct rdda_session *s)
{
	struct rdda_chan *ch = s->chan[0];
	const struct rdda_accept *a = &ch->login.accept;
	int ret;

	s->login.id = le32_to_cpu(a->session);
	s->alive.every_ms = le32_to_cpu(a->keepalive_ms);
	s->alive.dead_ms = le32_to_cpu(a->dead_ms);
	s->arena.bytes = ch->login.proof.arena_bytes;
	s->calls.room = min_t(u32, le16_to_cpu(a->controls), RDDA_CLIENT_CONTROLS) -
		  RDDA_PING_ROOM;
	s->nchan = min_t(unsigned int, ch->login.proof.channels, ch->login.proof.login.channels);
	ch->arena.len = ch->login.proof.arena_len;
	ret = cm_wait(ch, PROVE_TIMEOUT_MS);
	if (!ret)
		ret = rdda_arena_check(s);
	/* Joining the other channels may take longer than dead_ms, on either side. */
	if (!ret)
		mod_timer(&s->alive.timer, jiffies + 1);
	return ret;
}

/* A channel after the first: proof and answer travel in the CM's messages. */
static int chan_join(struct rdda_chan *ch)
{
	const struct rdda_proof *first = &ch->s->chan[0]->login.proof;
	struct rdda_join *j = &ch->login.join;
	struct rdda_join_proof p = {
		.session = ch->s->login.id,
		.channel = ch->index,
		.role = { first->login.role, first->accept.role },
		.qpn[0] = ch->q.qp->qp_num,
	};
	int ret;

	memcpy(p.nonce[0], first->login.nonce, RDDA_NONCE_LEN);
	memcpy(p.nonce[1], first->accept.nonce, RDDA_NONCE_LEN);
	rdda_auth_gids(ch->login.id, true, p.gid);
	j->magic = cpu_to_le32(RDDA_MAGIC_JOIN);
	j->session = cpu_to_le32(p.session);
	j->channel = p.channel;
	ret = rdda_auth_join_make(&ch->s->login.key.proof, &p, true, j->hmac);
	if (!ret)
		ret = chan_request(ch, j, sizeof(*j));
	if (ret)
		return ret;
	p.qpn[1] = ch->login.peer_qpn;
	p.arena_off = le32_to_cpu(ch->login.joined.arena_off);
	p.arena_len = le32_to_cpu(ch->login.joined.arena_len);
	ret = rdda_auth_join_check(&ch->s->login.key.proof, &p, false, ch->login.joined.hmac);
	if (ret)
		return ret;
	ch->login.accept = first->accept;
	ch->arena.off = p.arena_off;
	ch->arena.len = p.arena_len;
	ch->login.got_proved = true;
	return rdda_chan_setup(ch);
}

static int chan_connect(struct rdda_session *s, unsigned int index)
{
	struct rdda_chan *ch = chan_new(s, index);
	int ret;

	if (!ch)
		return -ENOMEM;
	ret = chan_route(ch);
	if (!ret)
		ret = index > 1 && rdda_fault(RDDA_FAULT_TWO) ? -ENOMEM : rdda_chan_qp(ch);
	if (ret)
		return ret;
	if (index)
		return chan_join(ch);
	ret = chan_login(ch);
	if (!ret)
		ret = rdda_chan_setup(ch);
	if (!ret)
		ret = chan_prove(ch);
	return ret ?: session_granted(s);
}

/* The target gets the key of the bounce arena. @ch: channel 0. */
static int chan_send_bounce(struct rdda_chan *ch)
{
	struct rdda_bounce m = {
		.hdr.type = RDDA_BOUNCE,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.rkey = cpu_to_le32(ch->s->bounce.mr->rkey),
		.len = cpu_to_le32(ch->s->bounce.bytes),
	};

	return rdda_control_send(ch, &m, sizeof(m));
}

/* All channels are proved: only now is anything registered for the target. */
static int chan_memory(struct rdda_chan *ch)
{
	int ret;

	ret = rdda_arena_setup(ch);
	if (!ret)
		ret = rdda_bounce_setup(ch->s, ch);
	if (!ret && !ch->index)
		ret = chan_send_bounce(ch);
	if (!ret)
		ret = rdda_stage_setup(ch);
	return ret;
}

static const char *session_reason(struct rdda_session *s, int err)
{
	unsigned int i, last = 0;

	for (i = 0; i < RDDA_CHANNELS_MAX && s->chan[i]; i++)
		last = i;
	if (s->chan[last] && s->chan[last]->login.cm_reason)
		return rdda_reject_text(s->chan[last]->login.cm_reason);
	if (err == -EKEYREJECTED)
		return "the cluster's key was not proved";
	if (s->end.reason[0])
		return s->end.reason;
	switch (err) {
	case -ECONNREFUSED:
		return rdda_reject_text(0);
	case -ECONNRESET:
		return "the target still has an older connection";
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
		return "no answer from the target";
	case -EPROTO:
		return "the target's answer makes no sense";
	case -ENODEV:
	case -EADDRNOTAVAIL:
	case -ENETUNREACH:
		return "no RDMA device leads there";
	case -ENETDOWN:
		return "the RDMA port is down";
	case -EOPNOTSUPP:
		return "the RDMA device cannot do this";
	case -EADDRINUSE:
		return "that is another host than the one expected";
	default:
		return "connecting failed";
	}
}

static void session_free(struct work_struct *work)
{
	struct rdda_session *s = container_of(work, struct rdda_session, free_work);
	unsigned int i;

	for (i = 0; i < RDDA_CHANNELS_MAX; i++)
		if (s->chan[i])
			rdda_chan_free(s->chan[i]);
	memzero_explicit(&s->login.key, sizeof(s->login.key));
	kfree(s);
}

/*
 * A session of several channels could not be made, for @err. Where that may be for want of what a
 * NIC has, or of memory, at either side, the next login wants half of them, and comes soon.
 */
static void session_fewer(struct rdda_session *s, int err)
{
	if (s->nchan < 2 || (err != -ENOMEM && err != -EBUSY && err != -ENOSPC && err != -EINVAL))
		return;
	s->t->channels_most = s->nchan / 2;
	s->t->attempt = 0;
}

/*
 * Tear a session down, in order, behind rdda_session_end(). Every I/O of it has ended after this,
 * and only its connections are left.
 */
static void session_teardown(struct work_struct *work)
{
	struct rdda_session *s = container_of(work, struct rdda_session, teardown);
	struct rdda_target *t = s->t;
	unsigned int i, n, noio = memalloc_noio_save();
	LIST_HEAD(ended);

	for (n = 0; n < RDDA_CHANNELS_MAX && s->chan[n]; n++)
		;
	rdda_fault_stay(RDDA_FAULT_QP_STAYS);
	/* From here to the destruction nothing of ours is touched by the NIC ... */
	for (i = 0; i < n; i++) {
		rdda_qp_drain(&s->chan[i]->q);
		rdda_sq_stop(s->chan[i]);
		rdda_recv_stop(s->chan[i]);
		rdda_gather_stop(s->chan[i]);
		rdda_qp_destroy(&s->chan[i]->q);
		timer_delete_sync(&s->chan[i]->walk.timer);
		rdda_dbg_destroyed(s->chan[i]);
	}
	/* ... and only now may pages go back to their owners. */
	for (i = 0; i < n; i++)
		rdda_chan_fail_all(s->chan[i], &ended);
	rdda_ios_end(&ended);
	rdda_bounce_free(s);
	for (i = 0; i < n; i++)
		rdda_chan_release(s->chan[i]);
	if (s->pd)
		ib_dealloc_pd(s->pd);
	memalloc_noio_restore(noio);
	/* The work item that sees it may free both, once it has had the lock. */
	spin_lock_irq(&t->lock);
	complete_all(&s->torn);
	rdda_target_kick(t);
	spin_unlock_irq(&t->lock);
}

static struct rdda_session *session_new(struct rdda_target *t)
{
	struct rdda_session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	kref_init(&s->ref);
	s->t = t;
	s->nchan = 1;
	s->login.number = rdda_session_number();
	init_waitqueue_head(&s->wait);
	spin_lock_init(&s->calls.lock);
	INIT_LIST_HEAD(&s->calls.list);
	INIT_WORK(&s->teardown, session_teardown);
	INIT_WORK(&s->free_work, session_free);
	init_completion(&s->torn);
	timer_setup(&s->alive.timer, rdda_alive_timer, 0);
	rdda_identity_get(&s->login.host, &s->login.key.named, t->older_key);
	return s;
}

/*
 * Log in at a target. @err: why not, negative. The target's work item, in noio scope; sleeps for
 * some seconds at most. Return: a session that is up; or NULL: what there was of it has ended as
 * by rdda_session_end().
 */
struct rdda_session *rdda_session_connect(struct rdda_target *t, int *err, char *reason,
					  size_t reason_len)
{
	struct rdda_session *s = session_new(t);
	unsigned int i;
	int ret;

	*err = -ENOMEM;
	strscpy(reason, "out of memory", reason_len);
	if (!s)
		return NULL;
	ret = chan_connect(s, 0);
	/* pairs with rdda_target_expect() */
	if (!ret && !smp_load_acquire(&t->expect_any) &&
	    memcmp(s->chan[0]->login.accept.host_uuid, &t->expect, sizeof(t->expect)))
		ret = -EADDRINUSE;
	for (i = 1; !ret && i < s->nchan; i++)
		ret = chan_connect(s, i);
	for (i = 0; !ret && i < s->nchan; i++)
		ret = chan_memory(s->chan[i]);
	if (!ret && rdda_session_dead(s))
		ret = s->end.err;
	if (ret) {
		strscpy(reason, session_reason(s, ret), reason_len);
		*err = ret;
		session_fewer(s, ret);
		rdda_session_end(s);
		return NULL;
	}
	for (i = 0; i < s->nchan; i++) {
		spin_lock_irq(&s->chan[i]->lock);
		/* It may have waited for the last one longer than dead_ms. */
		WRITE_ONCE(s->chan[i]->alive.last_rx, jiffies);
		s->chan[i]->open = true;
		spin_unlock_irq(&s->chan[i]->lock);
	}
	/* Pairs with the acquire in rdda_alive_timer(): from here on for all channels. */
	smp_mb__before_atomic();
	set_bit(SESSION_UP, &s->flags);
	return s;
}

/* Send a goodbye, when the target can receive it. */
static void session_bye(struct rdda_session *s)
{
	struct rdda_note m = { .hdr.type = RDDA_BYE, .hdr.len = cpu_to_le32(sizeof(m)) };
	struct rdda_chan *ch = s->chan[0];

	set_bit(SESSION_LEAVING, &s->flags);
	if (rdda_session_dead(s) || !ch->login.got_proved || rdda_control_send(ch, &m, sizeof(m)))
		return;
	wait_event_timeout(s->wait, READ_ONCE(ch->ctl.nfree) == ch->ctl.nr || rdda_session_dead(s),
			   msecs_to_jiffies(BYE_TIMEOUT_MS));
}

/*
 * End a session. @s: any, also one that never came up; no extent has a grant of it any more. The
 * target's work item; sleeps. What no queue pair names the pages of has ended when this returns.
 * The rest ends with the queue pairs, in the teardown's work, which takes as long as the NIC does:
 * no other session waits for that. @s is in the target's @ended then, with the caller's reference.
 */
void rdda_session_end(struct rdda_session *s)
{
	unsigned int i;
	LIST_HEAD(ended);

	if (s->chan[0])
		session_bye(s);
	rdda_session_close(s);
	/* The session is dead by now: it does not set itself again. */
	timer_delete_sync(&s->alive.timer);
	for (i = 0; i < RDDA_CHANNELS_MAX && s->chan[i]; i++)
		rdda_chan_close(s->chan[i], &ended);
	rdda_ios_end(&ended);
	list_add_tail(&s->end_node, &s->t->ended);
	s->t->nr_ended++;
	queue_work(rdda_wq, &s->teardown);
	/* The next session finds the pages of this one. */
	if (!wait_for_completion_timeout(&s->torn, msecs_to_jiffies(TEARDOWN_MS)))
		pr_notice_ratelimited("%pISpc: session %u: its queue pairs are being destroyed still\n",
				      &s->t->addr, s->login.id);
}

/* Whether its connect request has left, so that letting it go sends a message. */
static bool chan_requested(const struct rdda_chan *ch)
{
	return ch->login.proof.login.magic || ch->login.join.magic;
}

/*
 * Let go of the connections of a session that ended. @force: also when its port is down. That
 * sends a message for each that was begun, also the one that disconnects it: the check whether the
 * port may send it can hang in firmware, so nothing of a session's end waits for this. The
 * target's work item; sleeps. Drops the reference, or leaves the session where it is until its
 * port is back.
 */
void rdda_session_leave(struct rdda_session *s, bool force)
{
	unsigned int i;

	force |= test_bit(SESSION_REMOVED, &s->flags);
	for (i = 0; !force && i < RDDA_CHANNELS_MAX && s->chan[i]; i++)
		if (chan_requested(s->chan[i]) && !rdda_port_active(s->chan[i]->login.id))
			return;
	for (i = 0; i < RDDA_CHANNELS_MAX && s->chan[i]; i++)
		if (s->chan[i]->login.id)
			rdma_destroy_id(s->chan[i]->login.id);
	list_del(&s->end_node);
	rdda_session_put(s);
}
