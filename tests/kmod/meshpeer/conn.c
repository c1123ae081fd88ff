// SPDX-License-Identifier: GPL-2.0-only
/* Connections: login, proof, bounce arena, end. */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/inet.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "peer.h"

LIST_HEAD(peer_conns);

/**
 * peer_conn_lost() - it is over; wake the waiters
 * @c: connection
 */
void peer_conn_lost(struct peer_conn *c)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->lost = true;
	spin_unlock_irqrestore(&c->lock, flags);
	wake_up_all(&c->wake);
}

static int cm_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct peer_conn *c = id->context;

	c->event = ev->event;
	c->event_status = ev->status;
	switch (ev->event) {
	case RDMA_CM_EVENT_REJECTED:
		if (ev->param.conn.private_data_len >= sizeof(c->reject))
			memcpy(&c->reject, ev->param.conn.private_data, sizeof(c->reject));
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (c->join.channel)
			memcpy(&c->joined, ev->param.conn.private_data, sizeof(c->joined));
		else if (!rdda_accept_check(ev->param.conn.private_data,
					    ev->param.conn.private_data_len,
					    &c->proof.login))
			memcpy(&c->proof.accept, ev->param.conn.private_data,
			       sizeof(c->proof.accept));
		c->proof.qpn[1] = ev->param.conn.qp_num;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		peer_conn_lost(c);
		break;
	default:
		break;
	}
	complete(&c->cm_event);
	return 0;
}

static int cm_step(struct peer_conn *c, int ret, int want)
{
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&c->cm_event, msecs_to_jiffies(PEER_MS)))
		return -ETIMEDOUT;
	return c->event == want ? 0 : -ECONNREFUSED;
}

static void ping_work(struct work_struct *work)
{
	struct peer_conn *c = container_of(work, struct peer_conn, ping.work);
	struct rdda_hdr h = {
		.type = RDDA_PING,
		.len = cpu_to_le32(sizeof(h)),
		.tag = cpu_to_le64(~0ULL),
	};

	if (c->lost || c->quiet)
		return;
	peer_send(c, &h, sizeof(h));
	schedule_delayed_work(&c->ping,
			      msecs_to_jiffies(le32_to_cpu(c->proof.accept.keepalive_ms)));
}

static int buffers_setup(struct peer_conn *c)
{
	struct ib_device *dev = c->pd->device;

	c->buf = alloc_pages_exact(PEER_BUF, GFP_KERNEL | __GFP_ZERO);
	c->bounce = alloc_pages_exact(PEER_BUF, GFP_KERNEL | __GFP_ZERO);
	if (!c->buf || !c->bounce)
		return -ENOMEM;
	c->buf_dma = ib_dma_map_single(dev, c->buf, PEER_BUF, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(dev, c->buf_dma))
		return -EIO;
	return 0;
}

/**
 * peer_conn_setup() - queue pair, buffers, receives
 * @c: connection with an id that has a device
 *
 * Return: 0, or a negative errno: peer_conn_end() frees what is there.
 */
int peer_conn_setup(struct peer_conn *c)
{
	struct rdma_cm_id *id = c->q.id;
	struct rdda_qp_attr size = {
		.send_wr = PEER_SENDS,
		.recv_wr = 512,
	};
	int ret;

	ret = rdda_device_limits(id->device, id->port_num, &c->lim);
	if (ret)
		return ret;
	c->pd = ib_alloc_pd(id->device, 0);
	if (IS_ERR(c->pd)) {
		ret = PTR_ERR(c->pd);
		c->pd = NULL;
		return ret;
	}
	size.sge = 1;
	if (c->light)
		size.recv_wr = 4;
	ret = rdda_qp_create(&c->q, id, c->pd, &size, c);
	if (c->light)
		return ret;
	if (!ret)
		ret = buffers_setup(c);
	if (!ret)
		ret = peer_rx_setup(c, size.recv_wr);
	return ret;
}

static struct sockaddr *conn_from(struct peer_conn *c)
{
	return c->from.ss_family ? (struct sockaddr *)&c->from : NULL;
}

/* Up to where both sides know each other's identity. */
static int conn_route(struct peer_conn *c)
{
	int ret;

	c->q.id = rdma_create_id(&init_net, cm_event, c, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(c->q.id)) {
		ret = PTR_ERR(c->q.id);
		c->q.id = NULL;
		return ret;
	}
	ret = rdda_cm_tune(c->q.id);
	if (!ret)
		ret = cm_step(c, rdma_resolve_addr(c->q.id, conn_from(c),
						   (struct sockaddr *)&c->addr, PEER_MS),
			      RDMA_CM_EVENT_ADDR_RESOLVED);
	if (!ret)
		ret = cm_step(c, rdma_resolve_route(c->q.id, PEER_MS),
			      RDMA_CM_EVENT_ROUTE_RESOLVED);
	if (!ret)
		ret = peer_conn_setup(c);
	if (ret)
		return ret;
	c->proof.qpn[0] = c->q.qp->qp_num;
	rdda_auth_gids(c->q.id, true, c->proof.gid);
	return 0;
}

static int conn_connect(struct peer_conn *c, const void *data, u8 len)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.initiator_depth = 16,
		.responder_resources = 1,
		.retry_count = 6,	/* 7 is without end on Soft-RoCE */
		.rnr_retry_count = RDDA_RNR_RETRIES,
	};

	return cm_step(c, rdma_connect(c->q.id, &param), RDMA_CM_EVENT_ESTABLISHED);
}

/* Return: 1 when @word is an option and was taken, 0 when it is none. */
static int login_option(struct peer_conn *c, const char *word)
{
	struct rdda_login *l = &c->proof.login;
	u32 features;

	if (!strncmp(word, "features=", 9)) {
		if (kstrtou32(word + 9, 0, &features))
			return -EINVAL;
		l->features = cpu_to_le32(features);
		return 1;
	}
	if (!strncmp(word, "channels=", 9))
		return kstrtou8(word + 9, 0, &l->channels) ?: 1;
	if (!strncmp(word, "role=", 5)) {
		c->key.named.kind = RDDA_KEY_OWN;
		return kstrtou8(word + 5, 0, &l->role) ?: 1;
	}
	if (!strncmp(word, "from=", 5))
		return inet_pton_with_scope(&init_net, AF_UNSPEC, word + 5, "0", &c->from) ?: 1;
	return 0;
}

static int login_parse(struct peer_conn *c, int argc, char **argv)
{
	struct rdda_login *l = &c->proof.login;
	u32 boot, number;
	uuid_t host;
	u16 key_id = 0;
	int n = 1;

	while (argc > 6 && n > 0) {
		n = login_option(c, argv[argc - 1]);
		argc -= n > 0;
	}
	if (n < 0)
		return -EINVAL;
	if (argc < 6 || inet_pton_with_scope(&init_net, AF_UNSPEC, argv[1], argv[2], &c->addr) ||
	    uuid_parse(argv[3], &host) || kstrtou32(argv[4], 0, &boot) ||
	    kstrtou32(argv[5], 0, &number))
		return -EINVAL;
	if (argc > 7) {
		n = strlen(argv[7]) / 2;
		if (kstrtou16(argv[6], 0, &key_id) || n > (int)sizeof(c->key.named.key) ||
		    hex2bin(c->key.named.key, argv[7], n))
			return -EINVAL;
		c->key.named.id = key_id;
		c->key.named.len = n;
	}
	l->magic = cpu_to_le32(RDDA_MAGIC);
	l->version_min = RDDA_VERSION;
	l->version_max = RDDA_VERSION;
	l->key_id = cpu_to_le16(key_id);
	export_uuid(l->host_uuid, &host);
	get_random_bytes(l->nonce, sizeof(l->nonce));
	l->boot = cpu_to_le32(boot);
	l->number = cpu_to_le32(number);
	memcpy(c->proof.boot_id, &l->boot, sizeof(l->boot));
	return rdda_auth_key(&c->key, l);
}

/**
 * peer_conn_new() - nothing but its structure
 * @name: of the connection
 */
struct peer_conn *peer_conn_new(const char *name)
{
	struct peer_conn *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	spin_lock_init(&c->lock);
	init_waitqueue_head(&c->wake);
	init_completion(&c->cm_event);
	INIT_DELAYED_WORK(&c->ping, ping_work);
	INIT_LIST_HEAD(&c->node);
	strscpy(c->name, name, sizeof(c->name));
	return c;
}

static struct peer_conn *conn_add(const char *name)
{
	struct peer_conn *c = peer_find(name) ? NULL : peer_conn_new(name);

	if (c)
		list_add_tail(&c->node, &peer_conns);
	return c;
}

static int conn_refused(struct peer_conn *c, int err)
{
	if (c->event == RDMA_CM_EVENT_REJECTED)
		peer_say("rejected reason=%u\n", le16_to_cpu(c->reject.reason));
	peer_drop(c);
	return err;
}

/**
 * peer_conn_login() - the same of a connection that is there
 * @c: connection
 * @argc: words
 * @argv: of peer_login()
 */
int peer_conn_login(struct peer_conn *c, int argc, char **argv)
{
	int ret = login_parse(c, argc, argv);

	if (!ret)
		ret = conn_route(c);
	return ret ?: conn_connect(c, &c->proof.login, sizeof(c->proof.login));
}

/**
 * peer_login() - connect as channel 0 of a new session
 * @argc: words
 * @argv: NAME ADDR PORT HOST BOOT NUMBER [KEYID KEYHEX] [OPTION...]; with the option
 *	role=NUMBER the key is taken for the host's own one
 */
int peer_login(int argc, char **argv)
{
	struct peer_conn *c = conn_add(argv[0]);
	int ret;

	if (!c)
		return -EEXIST;
	ret = peer_conn_login(c, argc, argv);
	if (ret)
		return conn_refused(c, ret);
	peer_say("session=%u credits=%u cmds=%u\n", le32_to_cpu(c->proof.accept.session),
		 le16_to_cpu(c->proof.accept.credits), le16_to_cpu(c->proof.accept.cmds));
	return 0;
}

static void join_proof(struct peer_conn *c, const struct peer_conn *first,
		       struct rdda_join_proof *p)
{
	p->session = le32_to_cpu(first->proof.accept.session);
	p->channel = c->join.channel;
	p->role[0] = first->proof.login.role;
	p->role[1] = first->proof.accept.role;
	memcpy(p->nonce[0], first->proof.login.nonce, RDDA_NONCE_LEN);
	memcpy(p->nonce[1], first->proof.accept.nonce, RDDA_NONCE_LEN);
	memcpy(p->qpn, c->proof.qpn, sizeof(p->qpn));
	memcpy(p->gid, c->proof.gid, sizeof(p->gid));
	p->arena_off = le32_to_cpu(c->joined.arena_off);
	p->arena_len = le32_to_cpu(c->joined.arena_len);
}

static int join_connect(struct peer_conn *c, const struct peer_conn *first, const char *how)
{
	struct rdda_join_proof p = { };
	const struct peer_conn *other;
	int ret;

	ret = conn_route(c);
	if (ret)
		return ret;
	c->join.magic = cpu_to_le32(RDDA_MAGIC_JOIN);
	c->join.session = first->proof.accept.session;
	join_proof(c, first, &p);
	ret = rdda_auth_join_make(&first->key.proof, &p, true, c->join.hmac);
	if (ret)
		return ret;
	c->join.hmac[31] ^= !strcmp(how, "bad");
	if (!strncmp(how, "of=", 3)) {
		other = peer_find(how + 3);
		if (!other)
			return -ENOENT;
		memcpy(c->join.hmac, other->join.hmac, sizeof(c->join.hmac));
	}
	ret = conn_connect(c, &c->join, sizeof(c->join));
	if (ret)
		return ret;
	join_proof(c, first, &p);
	return rdda_auth_join_check(&first->key.proof, &p, false, c->joined.hmac);
}

/**
 * peer_join() - connect as another channel of a session
 * @argc: words
 * @argv: NAME FIRST CHANNEL [bad|of=OTHER]
 */
int peer_join(int argc, char **argv)
{
	const struct peer_conn *first = argc > 1 ? peer_find(argv[1]) : NULL;
	struct peer_conn *c;
	u8 channel;
	int ret;

	if (!first || argc < 3 || kstrtou8(argv[2], 0, &channel))
		return -EINVAL;
	c = conn_add(argv[0]);
	if (!c)
		return -EEXIST;
	c->addr = first->addr;
	c->from = first->from;
	c->join.channel = channel;
	ret = join_connect(c, first, argc > 3 ? argv[3] : "");
	if (ret)
		return conn_refused(c, ret);
	c->arena_off = le32_to_cpu(c->joined.arena_off);
	c->arena_len = le32_to_cpu(c->joined.arena_len);
	c->nr_pieces = first->nr_pieces;
	memcpy(c->piece, first->piece, sizeof(c->piece));
	c->proof.accept = first->proof.accept;
	schedule_delayed_work(&c->ping, 0);
	peer_say("arena_off=%u arena_len=%u\n", c->arena_off, c->arena_len);
	return 0;
}

static bool has_pieces(struct peer_conn *c, long arg)
{
	return c->lost || c->nr_pieces == arg;
}

/**
 * peer_prove() - prove the key, check the target's proof, take the arena
 * @c: connection
 * @argc: words
 * @argv: [bad|boot]
 */
int peer_prove(struct peer_conn *c, int argc, char **argv)
{
	struct rdda_prove m = {
		.hdr.type = RDDA_PROVE,
		.hdr.len = cpu_to_le32(sizeof(m)),
	};
	struct rdda_proved a;
	int ret;

	if (argc && !strcmp(argv[0], "boot"))
		c->proof.boot_id[0] ^= 1;
	memcpy(m.boot_id, c->proof.boot_id, sizeof(m.boot_id));
	ret = rdda_auth_make(&c->key.proof, &c->proof, true, m.hmac);
	if (ret)
		return ret;
	if (argc && strcmp(argv[0], "boot"))
		m.hmac[5] ^= 1;
	ret = peer_request(c, &m, sizeof(m), &a, sizeof(a));
	if (c->bye)
		peer_say("refused reason=%u\n", c->bye);
	if (ret)
		return ret;
	ret = rdda_proved_check(&a);
	if (ret)
		return ret;
	c->arena_len = le32_to_cpu(a.arena_len);
	c->proof.arena_bytes = le32_to_cpu(a.arena_bytes);
	c->proof.arena_len = c->arena_len;
	c->proof.channels = le16_to_cpu(a.channels);
	ret = rdda_auth_check(&c->key.proof, &c->proof, false, a.hmac);
	if (ret)
		return ret;
	if (!peer_wait(c, has_pieces, le16_to_cpu(a.pieces), PEER_MS) || c->lost)
		return -ETIMEDOUT;
	schedule_delayed_work(&c->ping, 0);
	peer_say("channels=%u arena=%u arena_off=%u arena_len=%u pieces=%u\n", c->proof.channels,
		 c->proof.arena_bytes, c->arena_off, c->arena_len, c->nr_pieces);
	return 0;
}

/**
 * peer_bounce() - give the target a bounce arena
 * @c: connection, proven
 */
int peer_bounce(struct peer_conn *c)
{
	struct rdda_bounce m = {
		.hdr.type = RDDA_BOUNCE,
		.hdr.len = cpu_to_le32(sizeof(m)),
		.len = cpu_to_le32(PEER_BUF),
	};

	sg_init_one(&c->bounce_sg, c->bounce, PEER_BUF);
	if (ib_dma_map_sg(c->pd->device, &c->bounce_sg, 1, DMA_FROM_DEVICE) != 1)
		return -EIO;
	c->bounce_mr = rdda_mr_register(c->q.qp, &c->bounce_sg, 1, PEER_BUF,
					IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	if (IS_ERR(c->bounce_mr)) {
		int ret = PTR_ERR(c->bounce_mr);

		c->bounce_mr = NULL;
		return ret;
	}
	m.rkey = cpu_to_le32(c->bounce_mr->rkey);
	return peer_send(c, &m, sizeof(m));
}

/**
 * peer_conn_end() - end a connection without a message, free what it has
 * @c: connection, in any state
 * @id: destroy its id too; false where the CM does that
 */
void peer_conn_end(struct peer_conn *c, bool id)
{
	struct ib_device *dev = c->pd ? c->pd->device : NULL;

	c->quiet = true;
	cancel_delayed_work_sync(&c->ping);
	if (c->q.id && id)
		rdma_disconnect(c->q.id);
	peer_conn_lost(c);
	rdda_qp_drain(&c->q);
	peer_load_free(c);
	rdda_qp_destroy(&c->q);
	if (c->bounce_mr)
		ib_dereg_mr(c->bounce_mr);
	if (dev && c->bounce_sg.length)
		ib_dma_unmap_sg(dev, &c->bounce_sg, 1, DMA_FROM_DEVICE);
	if (c->sv && c->sv->arena_mr)
		ib_dereg_mr(c->sv->arena_mr);
	if (dev && c->sv && c->sv->arena_sg.length)
		ib_dma_unmap_sg(dev, &c->sv->arena_sg, 1, DMA_BIDIRECTIONAL);
	if (dev && c->buf_dma)
		ib_dma_unmap_single(dev, c->buf_dma, PEER_BUF, DMA_BIDIRECTIONAL);
	peer_rx_free(c);
	if (c->pd)
		ib_dealloc_pd(c->pd);
	if (c->q.id && id)
		rdma_destroy_id(c->q.id);
	if (c->buf)
		free_pages_exact(c->buf, PEER_BUF);
	if (c->bounce)
		free_pages_exact(c->bounce, PEER_BUF);
}

/**
 * peer_conn_free() - the last of it
 * @c: connection, ended
 */
void peer_conn_free(struct peer_conn *c)
{
	kfree_sensitive(c);
}

/**
 * peer_drop() - end a connection without a message, free all of it
 * @c: connection, in any state
 */
void peer_drop(struct peer_conn *c)
{
	peer_conn_end(c, true);
	list_del(&c->node);
	peer_conn_free(c);
}
