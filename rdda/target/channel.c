// SPDX-License-Identifier: GPL-2.0-only
/*
 * A channel: its queue pair and buffers, its proof or the refusal after it, its end.
 *
 * The target moves the queue pair through its states, not the CM: before the client has proved the
 * key, the queue pair must have no remote rights, and the CM would grant them at rdma_accept().
 *
 * Some NICs (irdma) grant remote rights when a queue pair is made, and ignore later requests. So an
 * unproven queue pair never shares a protection domain with a memory region. Channel 0 is alone in
 * its session's domain until the proof, after which the arena is registered; the other channels
 * prove themselves inside their connect request, before anything is made for them.
 *
 * Receives: credits + controls + 2. The completion queues hold every work request that can be
 * outstanding, signalled or not, since all of them make a completion when a queue pair fails.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/slab.h>

#include "rdda/common/fault.h"
#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/cmd.h"
#include "rdda/target/listen.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define TGT_REFUSE_MS		200	/* time for a client to read the reason of a refusal */

static int buffers_alloc(struct tgt_channel *ch)
{
	const struct rdda_accept *a = &ch->login.proof.accept;
	unsigned int nr = le16_to_cpu(a->credits) + le16_to_cpu(a->controls) + 2, i;
	struct ib_pd *pd = ch->s->pd;
	int ret;

	ch->cmd.all = kvcalloc(ch->cmd.nr, sizeof(*ch->cmd.all), GFP_NOIO);
	if (!ch->cmd.all)
		return -ENOMEM;
	for (i = 0; i < ch->cmd.nr; i++) {
		ch->cmd.all[i].ch = ch;
		llist_add(&ch->cmd.all[i].done, &ch->cmd.free);
	}
	ret = rdda_bufs_alloc(&ch->rx.msg, pd, NULL, nr, DMA_FROM_DEVICE, tgt_recv_done);
	return ret ?: rdda_bufs_alloc(&ch->tx.msg, pd, NULL, TGT_TX_BUFS, DMA_TO_DEVICE, NULL);
}

static void buffers_free(struct tgt_channel *ch)
{
	rdda_bufs_free(&ch->rx.msg);
	rdda_bufs_free(&ch->tx.msg);
}

/* Return: the memory of a channel, in bytes, without its arena. */
unsigned int tgt_channel_memory(const struct tgt_channel *ch)
{
	return sizeof(*ch) + ch->cmd.nr * sizeof(struct tgt_cmd) + rdda_sq_memory(&ch->sq) +
	       rdda_bufs_memory(&ch->rx.msg) + rdda_bufs_memory(&ch->tx.msg);
}

static void channel_fail_work(struct work_struct *work)
{
	tgt_channel_kill(container_of(work, struct tgt_channel, fail), -EIO);
}

/* A NIC reports these errors from its interrupt, where meshtgt's locks must not be taken. */
static void channel_qp_event(struct ib_event *ev, void *ctx)
{
	struct tgt_channel *ch = ctx;

	if (ev->event != IB_EVENT_COMM_EST && ev->event != IB_EVENT_QP_LAST_WQE_REACHED)
		queue_work(tgt_wq, &ch->fail);
}

static void channel_cq_event(struct ib_event *ev, void *ctx)
{
	struct tgt_channel *ch = ctx;

	pr_warn_ratelimited("completion queue error %d\n", ev->event);
	queue_work(tgt_wq, &ch->fail);
}

/*
 * Move the queue pair to a state with the CM's attributes; only a proven channel gets remote
 * rights.
 */
static int qp_state(struct tgt_channel *ch, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, ret;

	ret = rdma_init_qp_attr(ch->cm, &attr, &mask);
	if (ret)
		return ret;
	attr.qp_access_flags = ch->proven ? IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE : 0;
	attr.max_dest_rd_atomic = ch->login.reads;
	attr.max_rd_atomic = 0;		/* the target makes no READs */
	return ib_modify_qp(ch->q.qp, &attr, mask);
}

static int qp_create(struct tgt_channel *ch)
{
	const struct rdda_limits *lim = &ch->s->lim;
	struct rdda_qp_attr attr = {
		.send_wr = min(ch->cmd.nr + TGT_TX_BUFS + TGT_CHAIN, lim->max_wr),
		.recv_wr = ch->rx.msg.nr,
		.sge = min(lim->send_sge, TGT_SGES + 0U),
		.cq_event = tgt_queue_event,
		.send_event = tgt_sq_event,
		.by_hand = true,
		.qp_failed = channel_qp_event,
		.cq_failed = channel_cq_event,
	};
	int ret;

	ch->sq.size = attr.send_wr;
	ch->sq.sge_max = attr.sge;
	ret = rdda_sq_init(&ch->sq, &ch->q, TGT_CHAIN, tgt_sq_done);
	if (!ret)
		ret = rdda_qp_create(&ch->q, ch->cm, ch->s->pd, &attr, ch);
	return ret ?: qp_state(ch, IB_QPS_INIT);
}

/*
 * End a queue pair. Only the drain may still post or poll. The event of a CQ, on a delayed CPU, may
 * give the channel another turn afterwards: the turn sees @drained and leaves the CQ alone. No
 * event comes after the CQ is destroyed.
 */
static void channel_qp_end(struct tgt_channel *ch)
{
	WRITE_ONCE(ch->drained, true);
	tgt_poller_quiet(ch);
	rdda_qp_destroy(&ch->q);
	tgt_poller_quiet(ch);
	cancel_work_sync(&ch->fail);
}

/* Nothing is polled, and so nothing answered, before the session has the channel. */
static int qp_start(struct tgt_channel *ch)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ch->rx.msg.nr; i++) {
		ret = tgt_rbuf_post(ch, &ch->rx.msg.buf[i]);
		if (ret)
			return ret;
	}
	ret = qp_state(ch, IB_QPS_RTR);
	return ret ? ret : qp_state(ch, IB_QPS_RTS);
}

/* The proof did not come in time, or a refused client has had time to read the reason. */
static void channel_deadline_work(struct work_struct *work)
{
	struct tgt_channel *ch = container_of(work, struct tgt_channel, login.deadline.work);

	int refused = READ_ONCE(ch->refused);

	if (!refused)
		tgt_refused(RDDA_REJ_KEY);
	tgt_channel_kill(ch, refused ?: -ETIMEDOUT);
}

static void channel_setup(struct tgt_channel *ch)
{
	spin_lock_init(&ch->rx.ctl_lock);
	spin_lock_init(&ch->tx.lock);
	INIT_LIST_HEAD(&ch->rx.ctl);
	INIT_LIST_HEAD(&ch->tx.ctl);
	INIT_LIST_HEAD(&ch->tx.pend);
	init_llist_head(&ch->cmd.free);
	init_llist_head(&ch->cmd.done);
	INIT_WORK(&ch->rx.ctl_work, tgt_ctl_work);
	INIT_WORK(&ch->fail, channel_fail_work);
	INIT_DELAYED_WORK(&ch->login.deadline, channel_deadline_work);
	tasklet_setup(&ch->kick, tgt_push_kick);
	tgt_gather_init(ch);
}

/* Get a channel's part of the session's arena. @s: granted. */
static void channel_part(const struct tgt_session *s, unsigned int index, u32 *off, u32 *len)
{
	*len = round_down(s->arena.bytes / s->nr_channels, RDDA_PAGE);
	*off = *len * index;
}

static struct tgt_channel *channel_alloc(struct rdma_cm_id *cm, struct tgt_session *s,
					 unsigned int index, const struct rdda_proof *p)
{
	struct tgt_channel *ch = kzalloc(sizeof(*ch), GFP_NOIO);
	const struct rdda_accept *a = &p->accept;

	if (!ch)
		return NULL;
	channel_setup(ch);
	ch->s = s;
	ch->cm = cm;
	ch->index = index;
	ch->login.proof = *p;
	ch->proven = index;
	ch->login.features = le32_to_cpu(a->features);
	ch->cmd.nr = le16_to_cpu(a->cmds);
	if (index)
		channel_part(s, index, &ch->arena_off, &ch->arena_len);
	return ch;
}

/*
 * Make a connection ready to be accepted. @cm: id of the connect request; the channel's from
 * success on. @s: owns the channel from success on. @index: in the session; any but 0 has proved
 * the key. @p: login and answer of the session; for channel 0 with the client's QPN. @key: for
 * channel 0, the keys of the session; else NULL. @reads: READs in flight that the client
 * requests. Context: CM work queue. Return: channel or ERR_PTR().
 */
struct tgt_channel *tgt_channel_create(struct rdma_cm_id *cm, struct tgt_session *s,
				       unsigned int index, const struct rdda_proof *p,
				       const struct rdda_session_key *key, u8 reads)
{
	struct tgt_channel *ch = channel_alloc(cm, s, index, p);
	int ret;

	if (!ch)
		return ERR_PTR(-ENOMEM);
	if (!refcount_inc_not_zero(&s->pd_users)) {
		tgt_channel_free(ch);
		return ERR_PTR(-ESTALE);
	}
	ch->login.reads = min_t(u32, reads, s->lim.rd_in);
	ret = rdda_cm_tune(cm);
	if (!ret)
		ret = buffers_alloc(ch);
	if (!ret)
		ret = qp_create(ch);
	if (!ret)
		ret = qp_start(ch);
	if (ret)
		goto err;
	ch->login.proof.qpn[1] = ch->q.qp->qp_num;
	if (!index) {
		ch->login.key = *key;
		rdda_auth_gids(cm, false, ch->login.proof.gid);
	}
	cm->context = ch;
	ret = tgt_session_attach(ch);
	if (!ret)
		return ch;
err:
	WRITE_ONCE(ch->dead, true);
	channel_qp_end(ch);
	cancel_work_sync(&ch->rx.ctl_work);
	buffers_free(ch);
	tgt_session_pd_put(s);
	cm->context = NULL;
	tgt_channel_free(ch);
	return ERR_PTR(ret);
}

/* Make the session's arena and let the client reach its memory regions. Channel 0 only. */
static int channel_open_memory(struct tgt_channel *ch)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	struct tgt_session *s = ch->s;
	int ret;

	ret = tgt_session_grant(s, ch->login.proof.boot_id, ch->login.proof.login.channels);
	if (ret)
		return ret;
	do {
		ret = tgt_arena_alloc(s);
	} while (ret == -ENOMEM && tgt_session_halve(s));
	channel_part(s, 0, &ch->arena_off, &ch->arena_len);
	if (!ret)
		ret = tgt_arena_register(s, ch);
	if (ret)
		return ret;
	tgt_sysfs_add(s);
	ret = tgt_session_live(s);
	return ret ?: ib_modify_qp(ch->q.qp, &attr, IB_QP_STATE | IB_QP_ACCESS_FLAGS);
}

/* Send the client the pieces of the arena and their keys. @ch: channel 0. */
static void channel_send_arena(struct tgt_session *s, struct tgt_channel *ch)
{
	size_t len = sizeof(struct rdda_hdr) + s->arena.nr * sizeof(struct rdda_piece);
	struct rdda_piece *p;
	struct rdda_hdr *h;
	unsigned int i;

	h = kzalloc(len, GFP_NOIO);
	if (!h) {
		tgt_channel_kill(ch, -ENOMEM);
		return;
	}
	h->type = RDDA_ARENA;
	h->count = cpu_to_le16(s->arena.nr);
	h->len = cpu_to_le32(len);
	p = (struct rdda_piece *)(h + 1);
	for (i = 0; i < s->arena.nr; i++) {
		p[i].off = cpu_to_le32(i << s->arena.shift);
		p[i].len = cpu_to_le32(1U << s->arena.shift);
		p[i].rkey = cpu_to_le32(s->arena.piece[i].mr->rkey);
	}
	tgt_ctl_send(ch, h, len);
	kfree(h);
}

static int channel_send_proved(struct tgt_channel *ch)
{
	struct tgt_session *s = ch->s;
	struct rdda_proved m = {
		.hdr.type = RDDA_PROVED,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.arena_bytes = cpu_to_le32(s->arena.bytes),
		.arena_len = cpu_to_le32(ch->arena_len),
		.channels = cpu_to_le16(s->nr_channels),
		.pieces = cpu_to_le16(s->arena.nr),
	};
	int ret;

	ch->login.proof.arena_bytes = s->arena.bytes;
	ch->login.proof.arena_len = ch->arena_len;
	ch->login.proof.channels = s->nr_channels;
	ret = rdda_auth_make(&ch->login.key.proof, &ch->login.proof, false, m.hmac);
	if (ret)
		return ret;
	/* An event comes after PROVED, or not at all: see tgt_session_event(). */
	mutex_lock(&tgt_lock);
	WRITE_ONCE(ch->proven, true);
	ret = tgt_ctl_send(ch, &m, sizeof(m));
	mutex_unlock(&tgt_lock);
	if (!ret)
		channel_send_arena(s, ch);
	return ret;
}

/*
 * Check the proof, the client's first message, and answer with the target's proof. Context: control
 * work of @ch. Return: 0, or a negative errno: the channel has to end.
 */
int tgt_channel_prove(struct tgt_channel *ch, const struct rdda_prove *m)
{
	int ret;

	if (ch->proven || ch->refused)
		return -EPROTO;
	memcpy(ch->login.proof.boot_id, m->boot_id, RDDA_UUID_LEN);
	ret = rdda_auth_login_check(&ch->login.key, &ch->login.proof, m->hmac);
	if (rdda_key_other(ret) && rdda_fault(RDDA_FAULT_PROOF))
		ret = 0;
	if (!ret && memcmp(m->boot_id, &ch->login.proof.login.boot,
			   sizeof(ch->login.proof.login.boot)))
		ret = -EPROTO;
	if (ret)
		return ret;
	cancel_delayed_work_sync(&ch->login.deadline);
	tgt_unproven_put(ch->s);
	ret = channel_open_memory(ch);
	return ret ?: channel_send_proved(ch);
}

static int channel_refuse_reason(int err)
{
	switch (err) {
	case -EBUSY:
	case -ENOMEM:
		return RDDA_REJ_BUSY;
	case -ESTALE:
		return RDDA_REJ_STALE;
	case -ENOTUNIQ:
		return RDDA_REJ_TWIN;
	case -EPERM:
		return RDDA_REJ_ROLE;
	case -EKEYREVOKED:
		return RDDA_REJ_REMOVED;
	default:
		return RDDA_REJ_KEY;
	}
}

/*
 * Say why a login is refused, then end the channel: if the connection just ended, the client would
 * not know the reason. @ch: channel 0, not proven. @err: why, negative errno. Context: control work
 * of @ch.
 */
void tgt_channel_refuse(struct tgt_channel *ch, int err)
{
	int reason = channel_refuse_reason(err);
	struct rdda_note m = {
		.hdr.type = RDDA_BYE,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.err = cpu_to_le32(-err),
		.reason = cpu_to_le32(reason),
	};

	if (ch->proven || ch->refused) {	/* a second proof */
		tgt_channel_kill(ch, err);
		return;
	}
	pr_info_ratelimited("host %pUb: login refused: %s (%d)\n", &ch->s->client.host,
			    tgt_refused_text(reason), err);
	tgt_refused(reason);
	WRITE_ONCE(ch->refused, err);
	tgt_ctl_send(ch, &m, sizeof(m));
	/* The client reads the BYE and disconnects, or the deadline ends the connection. */
	mod_delayed_work(tgt_wq, &ch->login.deadline, msecs_to_jiffies(TGT_REFUSE_MS));
}

/*
 * Stop a channel: afterwards no RDMA of the channel touches memory. Commands may still be with
 * their drives; they end in @ch->cmd.all, which stays. tgt_session_pd_put() and tgt_channel_leave()
 * are still to be called. Context: process, not a handler or work of @ch; sleeps.
 */
void tgt_channel_stop(struct tgt_channel *ch)
{
	WRITE_ONCE(ch->dead, true);
	/* A post checks @dead under this lock: the post is over by now, or will see @dead. */
	spin_lock_bh(&ch->tx.lock);
	spin_unlock_bh(&ch->tx.lock);
	tgt_poller_kick(ch);	/* a deaf channel must wake up, and send completions be awaited */
	rdda_fault_stay(RDDA_FAULT_QP_STAYS);
	rdda_qp_drain(&ch->q);
	cancel_work_sync(&ch->rx.ctl_work);
	cancel_delayed_work_sync(&ch->login.deadline);
	channel_qp_end(ch);
	if (!ch->index)
		tgt_unproven_put(ch->s);
	tgt_push_drop(ch);
	buffers_free(ch);
}

/*
 * Destroy a stopped channel's connection, which also disconnects. @ch: its session's protection
 * domain and regions are given back. A device that is being removed waits for the ids of its
 * connections only: so all else on the device is destroyed before.
 */
void tgt_channel_leave(struct tgt_channel *ch)
{
	rdma_destroy_id(ch->cm);
	ch->cm = NULL;
}

/* Free the memory of a stopped channel. @ch: none of its commands is with a drive. */
void tgt_channel_free(struct tgt_channel *ch)
{
	tgt_gather_stop(ch);
	tasklet_kill(&ch->kick);
	tgt_push_drop(ch);
	kvfree(ch->cmd.all);
	rdda_sq_free(&ch->sq);
	kfree_sensitive(ch);
}
