// SPDX-License-Identifier: GPL-2.0-only
/*
 * Listeners and logins.
 *
 * This file checks, answers and connects a login; the client gets nothing before it has proved the
 * key (queue.c hands the PROVE to channel.c). The reject's private data says why. A wrong key, a
 * second machine with one host UUID and an old incarnation show with the proof: for these,
 * tgt_channel_refuse() answers with a BYE. reasons.c counts all refusals.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "rdda/common/fault.h"
#include "rdda/target/channel.h"
#include "rdda/target/listen.h"
#include "rdda/target/session.h"
#include "rdda/target/tgt.h"
#include "rdda/wire.h"

#define TGT_CONTROLS		16	/* control messages in flight, each way */

/* One bound address. */
struct listener {
	struct list_head	node;	/* in listeners; listen_lock */
	struct sockaddr_storage	ss;	/* address and port */
	/* NULL after the device was removed, until a LISTEN for this address comes again */
	struct rdma_cm_id	*cm;
};

static DEFINE_MUTEX(listen_lock);
static LIST_HEAD(listeners);
static bool listen_any;			/* there was a listener; listen_lock */

static int listen_refuse(struct rdma_cm_id *cm, int reason)
{
	struct rdda_reject rej = {
		.magic = cpu_to_le32(RDDA_MAGIC),
		.reason = cpu_to_le16(reason),
		.version_min = RDDA_VERSION,
		.version_max = RDDA_VERSION,
	};

	tgt_refused(reason);
	pr_info_ratelimited("login from %pIS refused: %s\n", &cm->route.addr.dst_addr,
			    tgt_refused_text(reason));
	rdma_reject(cm, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
	return -ECONNREFUSED;	/* the CM destroys this id */
}

/* @role: of this target. */
static void accept_fill(struct rdda_accept *a, const struct rdda_login *l, u8 role,
			const struct tgt_session *s, const uuid_t *host)
{
	memset(a, 0, sizeof(*a));
	a->magic = cpu_to_le32(RDDA_MAGIC);
	a->version = RDDA_VERSION;
	a->role = role;
	a->key_id = l->key_id;
	if (!rdda_fault(RDDA_FAULT_PLAIN))
		a->features = l->features & cpu_to_le32(RDDA_FEATURES);
	if (rdda_fault(RDDA_FAULT_OLDER))
		a->features &= ~cpu_to_le32(RDDA_FEAT_INLINE_HEAD);
	a->session = cpu_to_le32(s->id);
	a->cmds = cpu_to_le16(clamp(tgt_cmds, 2U, RDDA_CMD_SLOTS_MAX));
	a->credits = cpu_to_le16(clamp_t(unsigned int, tgt_credits, 1, le16_to_cpu(a->cmds)));
	a->controls = cpu_to_le16(TGT_CONTROLS);
	a->cmd_bytes = cpu_to_le32(RDDA_CMD_BYTES_MAX);
	a->keepalive_ms = cpu_to_le32(tgt_keepalive());
	a->dead_ms = cpu_to_le32(s->client.dead_ms);
	get_random_bytes(a->nonce, sizeof(a->nonce));
	export_uuid(a->host_uuid, host);
	export_uuid(a->boot_id, &tgt_boot_id);
}

/* From here on the channel owns its id: both end by tgt_channel_kill() only. */
static void channel_accept(struct tgt_channel *ch, const void *data, u8 len)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = ch->login.reads,
		.initiator_depth = 0,
		/* The CM has no queue pair for this id; the channel's may be gone already. */
		.qp_num = ch->login.proof.qpn[1],
		.retry_count = RDDA_RETRIES,
		.rnr_retry_count = RDDA_RNR_RETRIES,
	};

	if (rdma_accept(ch->cm, &param))
		tgt_channel_kill(ch, -ECONNABORTED);
}

/* Check a login before anything is made for it. Return: 0 or an enum rdda_reject_reason. */
static int listen_check_login(const struct rdda_login *l, size_t len, uuid_t *host,
			      struct rdda_session_key *key)
{
	int reason = rdda_login_check(l, len);
	uuid_t client;

	if (reason)
		return reason;
	if (!tgt_identity(host))
		return RDDA_REJ_NOT_READY;
	import_uuid(&client, l->host_uuid);
	if (tgt_identity_removed(&client))
		return RDDA_REJ_REMOVED;
	reason = tgt_identity_key(le16_to_cpu(l->key_id), l->role, &key->named);
	if (!reason && rdda_auth_key(key, l))
		reason = RDDA_REJ_BUSY;
	return reason;
}

/* Make a session for a login that was checked, and answer. @host: of this target. */
static int listen_make(struct rdma_cm_id *cm, struct rdma_cm_event *ev,
		       const struct rdda_limits *lim, const uuid_t *host,
		       const struct rdda_session_key *key)
{
	const struct rdda_login *l = ev->param.conn.private_data;
	struct rdda_proof p = { .qpn = { ev->param.conn.qp_num } };
	struct tgt_unproven *u;
	struct tgt_channel *ch;
	struct tgt_session *s;
	int reason;

	u = tgt_unproven_get(cm);
	if (!u)
		return listen_refuse(cm, RDDA_REJ_BUSY);
	s = tgt_session_login(cm, l, lim, &reason);
	if (!s) {
		tgt_unproven_free(u);
		return listen_refuse(cm, reason);
	}
	tgt_unproven_set(u, s);
	p.login = *l;
	accept_fill(&p.accept, l, key->named.role, s, host);
	ch = tgt_channel_create(cm, s, 0, &p, key, ev->param.conn.responder_resources);
	if (IS_ERR(ch)) {
		tgt_unproven_put(s);
		tgt_session_kill(s, PTR_ERR(ch));
		/* Here, since the device may go when @cm has gone. */
		tgt_session_pd_put(s);
		tgt_session_put(s);
		return listen_refuse(cm, RDDA_REJ_BUSY);
	}
	channel_accept(ch, &p.accept, sizeof(p.accept));
	tgt_session_put(s);
	return 0;
}

/* CM context: another login may run at the same time, on another device. */
static int listen_login(struct rdma_cm_id *cm, struct rdma_cm_event *ev,
			const struct rdda_limits *lim)
{
	struct rdda_session_key key;
	uuid_t host;
	int ret;

	ret = listen_check_login(ev->param.conn.private_data, ev->param.conn.private_data_len,
				 &host, &key);
	if (ret)
		ret = listen_refuse(cm, ret);
	else
		ret = listen_make(cm, ev, lim, &host, &key);
	memzero_explicit(&key, sizeof(key));
	return ret;
}

/* Another channel of @s: check that its request proves the key. */
static int listen_check_join(struct rdma_cm_id *cm, struct rdma_cm_event *ev, struct tgt_session *s,
			     struct rdda_join_proof *p)
{
	const struct rdda_join *j = ev->param.conn.private_data;
	const struct tgt_channel *first = s->channel[0];
	int ret;

	p->session = s->id;
	p->channel = j->channel;
	p->role[0] = first->login.proof.login.role;
	p->role[1] = first->login.proof.accept.role;
	p->qpn[0] = ev->param.conn.qp_num;
	memcpy(p->nonce[0], first->login.proof.login.nonce, RDDA_NONCE_LEN);
	memcpy(p->nonce[1], first->login.proof.accept.nonce, RDDA_NONCE_LEN);
	rdda_auth_gids(cm, false, p->gid);
	if (!tgt_identity_counts(&first->login.key.named))
		return -EKEYREJECTED;
	ret = rdda_auth_join_check(&first->login.key.proof, p, true, j->hmac);
	return ret == -EKEYREJECTED && rdda_fault(RDDA_FAULT_PROOF) ? 0 : ret;
}

static int listen_accept_join(struct tgt_channel *ch, struct rdda_join_proof *p)
{
	struct rdda_joined m = {
		.magic = cpu_to_le32(RDDA_MAGIC_JOIN),
		.session = cpu_to_le32(p->session),
		.channel = p->channel,
		.arena_off = cpu_to_le32(ch->arena_off),
		.arena_len = cpu_to_le32(ch->arena_len),
	};
	int ret;

	p->qpn[1] = ch->login.proof.qpn[1];
	p->arena_off = ch->arena_off;
	p->arena_len = ch->arena_len;
	ret = rdda_auth_join_make(&ch->s->channel[0]->login.key.proof, p, false, m.hmac);
	if (!ret)
		channel_accept(ch, &m, sizeof(m));
	return ret;
}

/*
 * CM context. A channel after the first is proved before anything is made for the channel. Its
 * place is taken for good, so an error after that ends the session.
 */
static int listen_join(struct rdma_cm_id *cm, struct rdma_cm_event *ev)
{
	const struct rdda_join *j = ev->param.conn.private_data;
	int ret, reason = RDDA_REJ_CHANNEL;
	struct rdda_join_proof p = { };
	struct tgt_channel *ch;
	struct tgt_session *s;

	if (rdda_join_check(j, ev->param.conn.private_data_len))
		return listen_refuse(cm, RDDA_REJ_MALFORMED);
	s = tgt_session_joined(cm, j);
	if (!s)
		return listen_refuse(cm, reason);
	if (listen_check_join(cm, ev, s, &p)) {
		reason = RDDA_REJ_KEY;
		goto refuse;
	}
	/* The client's CPU made the proof; PINGs begin after the last one. */
	WRITE_ONCE(s->client.heard, jiffies);
	if (!tgt_session_take(s, j->channel))
		goto refuse;
	if (rdda_fault(RDDA_FAULT_JOIN))
		msleep(2 * tgt_dead());
	ch = tgt_channel_create(cm, s, j->channel, &s->channel[0]->login.proof, NULL,
				ev->param.conn.responder_resources);
	if (IS_ERR(ch)) {
		tgt_session_kill(s, PTR_ERR(ch));
		reason = RDDA_REJ_BUSY;
		goto refuse;
	}
	ret = listen_accept_join(ch, &p);
	if (ret)
		tgt_session_kill(s, ret);
	tgt_session_put(s);
	return 0;
refuse:
	tgt_session_put(s);
	return listen_refuse(cm, reason);
}

/* CM context. */
static int listen_request(struct rdma_cm_id *cm, struct rdma_cm_event *ev)
{
	const __le32 *magic = ev->param.conn.private_data;
	struct rdda_limits lim;

	if (rdda_device_limits(cm->device, cm->port_num, &lim) || !magic ||
	    ev->param.conn.private_data_len < sizeof(*magic))
		return listen_refuse(cm, RDDA_REJ_MALFORMED);
	if (tgt_stopping)
		return listen_refuse(cm, RDDA_REJ_NOT_READY);
	if (le32_to_cpu(*magic) == RDDA_MAGIC_JOIN)
		return listen_join(cm, ev);
	return listen_login(cm, ev, &lim);
}

/*
 * Context: the CM's worker. No I/O from its allocations: on a host that is its own
 * client, reclaim may wait for the very login that is being answered.
 */
static int listen_request_noio(struct rdma_cm_id *cm, struct rdma_cm_event *ev)
{
	unsigned int noio = memalloc_noio_save();
	int ret = listen_request(cm, ev);

	memalloc_noio_restore(noio);
	return ret;
}

/* Context: the CM's work queue; @cm's handler mutex is held. */
static int listen_cm_event(struct rdma_cm_id *cm, struct rdma_cm_event *ev)
{
	struct tgt_channel *ch = cm->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return listen_request_noio(cm, ev);
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		WRITE_ONCE(ch->s->end.removed, true);
		tgt_channel_kill(ch, -ENODEV);
		return 0;	/* the CM waits until the channel has destroyed @cm */
	default:
		tgt_channel_kill(ch, -ECONNRESET);
		return 0;
	}
}

static int listen_event(struct rdma_cm_id *cm, struct rdma_cm_event *ev)
{
	struct listener *li = cm->context;
	bool ours;

	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		/* A new id inherits context and handler; from now on the id is a channel's. */
		cm->context = NULL;
		cm->event_handler = listen_cm_event;
		return listen_request_noio(cm, ev);
	}
	/* ADDR_CHANGE: the address has moved to another port of a bond. */
	if (ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL ||
	    ev->event == RDMA_CM_EVENT_ADDR_CHANGE) {
		pr_warn("listener on %pISpc lost its device: no login there before it is listened on again\n",
			&li->ss);
		mutex_lock(&listen_lock);
		ours = li->cm == cm;
		li->cm = NULL;
		mutex_unlock(&listen_lock);
		return ours;	/* the CM destroys this id, or tgt_listen_exit() does */
	}
	return 0;
}

static int listener_start(struct listener *li, struct rdma_cm_id *cm)
{
	int ret = rdma_set_afonly(cm, 1);

	if (!ret)
		ret = rdma_bind_addr(cm, (struct sockaddr *)&li->ss);
	return ret ?: rdma_listen(cm, TGT_UNPROVEN_MAX);
}

static struct listener *listener_find(const struct sockaddr_storage *ss)
{
	struct listener *li;

	list_for_each_entry(li, &listeners, node)
		if (!memcmp(&li->ss, ss, sizeof(*ss)))
			return li;
	return NULL;
}

/*
 * Take logins on an address. @addr: "0.0.0.0", "::", an address, or an address with a scope. May be
 * repeated at any time: the same address again is no error, and makes a listener again after a
 * reset of its NIC. Return: 0 or a negative errno.
 */
int tgt_listen(const char *addr, u16 port, struct netlink_ext_ack *extack)
{
	struct sockaddr_storage ss = { };
	char service[8];
	struct listener *li;
	struct rdma_cm_id *cm;
	int ret;

	snprintf(service, sizeof(service), "%u", port);
	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, addr, service, &ss);
	if (ret) {
		NL_SET_ERR_MSG(extack, "not an IP address of this host");
		return ret;
	}
	mutex_lock(&listen_lock);
	li = listener_find(&ss);
	if (!li) {
		li = kzalloc(sizeof(*li), GFP_KERNEL);
		if (!li) {
			ret = -ENOMEM;
			goto out;
		}
		li->ss = ss;
		list_add_tail(&li->node, &listeners);
	}
	if (li->cm)
		goto out;
	if (!listen_any)	/* before the first login can come */
		WRITE_ONCE(tgt_listened, jiffies);
	cm = rdma_create_id(&init_net, listen_event, li, RDMA_PS_TCP, IB_QPT_RC);
	ret = PTR_ERR_OR_ZERO(cm) ?: listener_start(li, cm);
	if (ret)
		goto err;
	li->cm = cm;
	listen_any = true;
	pr_info("listening on %pISpc\n", &ss);
out:
	mutex_unlock(&listen_lock);
	return ret;
err:
	NL_SET_ERR_MSG(extack, "no RDMA device has this address, or the port is taken");
	list_del(&li->node);
	mutex_unlock(&listen_lock);
	/* Not under listen_lock, as in tgt_listen_exit(): its device may be going. */
	if (!IS_ERR(cm))
		rdma_destroy_id(cm);
	kfree(li);
	return ret;
}

/* Take no more logins. Waits until logins in progress are answered. */
void tgt_listen_exit(void)
{
	struct listener *li;

	/*
	 * Not under listen_lock: destroying an id waits for its handler, and the handler takes
	 * listen_lock when a device goes.
	 */
	for (;;) {
		struct rdma_cm_id *cm;

		mutex_lock(&listen_lock);
		li = list_first_entry_or_null(&listeners, struct listener, node);
		cm = li ? li->cm : NULL;
		if (li) {
			li->cm = NULL;
			list_del(&li->node);
		}
		mutex_unlock(&listen_lock);
		if (!li)
			return;
		if (cm)
			rdma_destroy_id(cm);
		kfree(li);
	}
}
