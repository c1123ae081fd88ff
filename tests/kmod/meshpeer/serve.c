// SPDX-License-Identifier: GPL-2.0-only
/*
 * The other role: a target that keeps to the protocol most of the time and then
 * lies. It has no drives; what is read from it is what its arena holds. Each
 * connection has its own seed, and lies as often as its throw of
 * dice says; liar.c has the lies.
 */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/inet.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "peer.h"

#define INBOX_MAX	256

/* A message that came, to be answered where one may sleep. */
struct in_msg {
	struct list_head	node;
	u32			len;
	u8			data[] __aligned(8);
};

static LIST_HEAD(listeners);		/* the verbs' lock */
static struct workqueue_struct *serve_wq;
static DECLARE_WAIT_QUEUE_HEAD(all_gone);

/**
 * peer_serve_rx() - a message for a connection that serves
 * @c: connection, locked
 * @msg: message
 * @len: bytes
 *
 * Softirq.
 */
void peer_serve_rx(struct peer_conn *c, const void *msg, u32 len)
{
	struct peer_serve *sv = c->sv;
	struct in_msg *m;

	if (sv->inbox_nr >= INBOX_MAX)
		return;
	m = kmalloc(struct_size(m, data, len), GFP_ATOMIC);
	if (!m)
		return;
	m->len = len;
	memcpy(m->data, msg, len);
	list_add_tail(&m->node, &sv->inbox);
	sv->inbox_nr++;
}

static bool inbox_has(struct peer_conn *c, long arg)
{
	return c->sv->inbox_nr || c->lost || c->sv->li->stop;
}

static struct in_msg *inbox_get(struct peer_conn *c)
{
	struct in_msg *m;

	peer_wait(c, inbox_has, 0, 250);
	spin_lock_irq(&c->lock);
	m = list_first_entry_or_null(&c->sv->inbox, struct in_msg, node);
	if (m) {
		list_del(&m->node);
		c->sv->inbox_nr--;
	}
	spin_unlock_irq(&c->lock);
	return m;
}

static int arena_register(struct peer_conn *c)
{
	struct peer_serve *sv = c->sv;

	if (sv->arena_mr)
		return -EEXIST;
	sg_init_one(&sv->arena_sg, c->buf, PEER_BUF);
	if (ib_dma_map_sg(c->pd->device, &sv->arena_sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -EIO;
	sv->arena_mr = rdda_mr_register(c->q.qp, &sv->arena_sg, 1, PEER_BUF, IB_ACCESS_LOCAL_WRITE |
					IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE);
	if (!IS_ERR(sv->arena_mr))
		return 0;
	sv->arena_mr = NULL;
	return -EIO;
}

static void prove(struct peer_conn *c)
{
	struct rdda_proved p = {
		.hdr.type = RDDA_PROVED,
		.hdr.len = cpu_to_le32(sizeof(p)),
		.arena_bytes = cpu_to_le32(PEER_BUF),
		.arena_len = cpu_to_le32(PEER_BUF),
		.channels = cpu_to_le16(1),
		.pieces = cpu_to_le16(1),
	};
	struct {
		struct rdda_hdr hdr;
		struct rdda_piece piece;
	} a = {
		.hdr.type = RDDA_ARENA,
		.hdr.count = cpu_to_le16(1),
		.hdr.len = cpu_to_le32(sizeof(a)),
		.piece.len = cpu_to_le32(PEER_BUF),
	};

	if (arena_register(c))
		return;
	a.piece.rkey = cpu_to_le32(c->sv->arena_mr->rkey);
	peer_out(c, &p, sizeof(p));
	peer_out(c, &a, sizeof(a));
}

static void opened(struct peer_conn *c, const struct rdda_open *m)
{
	struct rdda_opened a = {
		.hdr.type = RDDA_OPENED,
		.hdr.len = cpu_to_le32(sizeof(a)),
		.hdr.tag = m->hdr.tag,
		.blocks = cpu_to_le64(1 << 16),
		.nsid = cpu_to_le32(1),
		.handle = cpu_to_le32(++c->sv->handle),
		.max_bytes = cpu_to_le32(RDDA_CMD_BYTES_MAX),
		.discard_blocks = cpu_to_le32(8),
		.lba_shift = 9,
		.flags = cpu_to_le16(RDDA_DRIVE_WRITE_ZEROES | RDDA_DRIVE_DISCARD),
		.phys_bytes = cpu_to_le32(512),
	};

	memcpy(a.extent, m->extent, sizeof(a.extent));
	memcpy(a.drive, m->extent, sizeof(a.drive));
	a.drive[0] ^= 0xff;
	peer_out(c, &a, sizeof(a));
}

static void note(struct peer_conn *c, u8 type, __le64 tag)
{
	struct rdda_hdr h = { .type = type, .len = cpu_to_le32(sizeof(h)), .tag = tag };

	peer_out(c, &h, sizeof(h));
}

static void closed(struct peer_conn *c, const struct rdda_close *m)
{
	struct rdda_close a = *m;

	a.hdr.type = RDDA_CLOSED;
	a.status = 0;
	peer_out(c, &a, sizeof(a));
}

/* Small reads are pushed, the rest goes into one DONE. */
static void commands(struct peer_conn *c, const struct rdda_cmds *m)
{
	struct {
		struct rdda_hdr hdr;
		struct rdda_done done[RDDA_CMDS_MAX];
	} d = { .hdr.type = RDDA_DONE };
	unsigned int i, n = 0;

	for (i = 0; i < le16_to_cpu(m->hdr.count); i++) {
		const struct rdda_cmd *cmd = &m->cmd[i];
		u64 mptr = le64_to_cpu(cmd->mptr);

		c->sv->cid = le16_to_cpu(cmd->cid);
		if (cmd->opcode == RDDA_OP_READ && mptr & RDDA_MPTR_PUSH)
			peer_push(c, mptr & ~(u64)RDDA_MPTR_PUSH,
				  (le16_to_cpu(cmd->nlb) + 1U) << 9, RDDA_IMM(c->sv->cid, 0, 0));
		else
			d.done[n++].cid = cmd->cid;
	}
	if (!n)
		return;
	d.hdr.count = cpu_to_le16(n);
	d.hdr.len = cpu_to_le32(sizeof(d.hdr) + n * sizeof(d.done[0]));
	peer_out(c, &d, sizeof(d.hdr) + n * sizeof(d.done[0]));
}

static void answer(struct peer_conn *c, const struct in_msg *m)
{
	const struct rdda_hdr *h = (const void *)m->data;

	atomic_inc(&c->sv->li->messages);
	if (rdda_msg_check(h, m->len, true)) {
		atomic_inc(&c->sv->li->malformed);
		pr_err("malformed message of type %u from the client\n", h->type);
		return;
	}
	switch (h->type) {
	case RDDA_PROVE:
		prove(c);
		break;
	case RDDA_BOUNCE:
		c->sv->bounce_rkey = le32_to_cpu(((const struct rdda_bounce *)h)->rkey);
		c->sv->bounce_len = le32_to_cpu(((const struct rdda_bounce *)h)->len);
		break;
	case RDDA_OPEN:
		opened(c, (const void *)h);
		break;
	case RDDA_CLOSE:
		closed(c, (const void *)h);
		break;
	case RDDA_PING:
		note(c, RDDA_PONG, h->tag);
		break;
	case RDDA_CMDS:
		commands(c, (const void *)h);
		break;
	}
}

static void serve_free(struct peer_conn *c)
{
	struct peer_serve *sv = c->sv;
	struct in_msg *m, *next;

	list_for_each_entry_safe(m, next, &sv->inbox, node)
		kfree(m);
	kfree(sv);
}

static void serve_work(struct work_struct *work)
{
	struct peer_serve *sv = container_of(work, struct peer_serve, work);
	struct peer_listener *li = sv->li;
	struct peer_conn *c = sv->c;
	struct in_msg *m;

	while (!READ_ONCE(c->lost) && !READ_ONCE(li->stop)) {
		m = inbox_get(c);
		if (m)
			answer(c, m);
		kfree(m);
		if (sv->bounce_len && peer_lies(c))
			peer_lie_unasked(c);
	}
	peer_conn_end(c, true);
	serve_free(c);
	peer_conn_free(c);
	if (atomic_dec_and_test(&li->live))
		wake_up_all(&all_gone);
}

static int serve_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct peer_conn *c = id->context;

	if (ev->event != RDMA_CM_EVENT_ESTABLISHED && ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT)
		peer_conn_lost(c);
	return 0;
}

static struct peer_conn *serve_new(struct peer_listener *li, struct rdma_cm_id *id)
{
	struct peer_conn *c = peer_conn_new("served");
	struct peer_serve *sv = kzalloc(sizeof(*sv), GFP_KERNEL);
	u32 nr = atomic_inc_return(&li->conns);
	static const u16 often[] = { 4, 15, 60, 300 };

	if (!c || !sv) {
		kfree(sv);
		if (c)
			peer_conn_free(c);
		return NULL;
	}
	c->sv = sv;
	c->q.id = id;
	sv->c = c;
	sv->li = li;
	INIT_LIST_HEAD(&sv->inbox);
	INIT_WORK(&sv->work, serve_work);
	prandom_seed_state(&sv->rnd, li->seed + nr * 7919ULL);
	sv->permille = min_t(u32, often[nr % ARRAY_SIZE(often)], li->permille);
	return c;
}

static void accept_make(struct peer_conn *c, const struct rdda_login *l)
{
	struct rdda_accept *a = &c->proof.accept;

	a->magic = cpu_to_le32(RDDA_MAGIC);
	a->version = RDDA_VERSION;
	a->key_id = l->key_id;
	a->session = cpu_to_le32(atomic_read(&c->sv->li->conns));
	a->credits = cpu_to_le16(16);
	a->cmds = cpu_to_le16(64);
	a->controls = cpu_to_le16(16);
	a->cmd_bytes = cpu_to_le32(RDDA_CMD_BYTES_MAX);
	a->keepalive_ms = cpu_to_le32(500);
	a->dead_ms = cpu_to_le32(3000);
	a->host_uuid[0] = 0x77;
	a->boot_id[0] = 0x78;
	if (peer_lies(c))
		peer_lie_accept(c, a);
}

/* The CM's context; what fails here is destroyed by it. */
static int serve_accept(struct peer_listener *li, struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	const struct rdda_login *l = ev->param.conn.private_data;
	struct rdma_conn_param param = {
		.responder_resources = 16,
		.retry_count = RDDA_RETRIES,
		.rnr_retry_count = 3,
	};
	struct peer_conn *c;
	int ret;

	if (li->stop || !l || rdda_login_check(l, ev->param.conn.private_data_len))
		return -EINVAL;
	c = serve_new(li, id);
	if (!c)
		return -ENOMEM;
	ret = peer_conn_setup(c);
	if (!ret) {
		accept_make(c, l);
		param.private_data = &c->proof.accept;
		param.private_data_len = sizeof(c->proof.accept);
		id->context = c;
		id->event_handler = serve_event;
		ret = rdma_accept(id, &param);
	}
	if (ret) {
		peer_conn_end(c, false);
		serve_free(c);
		peer_conn_free(c);
		return ret;
	}
	atomic_inc(&li->live);
	queue_work(serve_wq, &c->sv->work);
	return 0;
}

static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	return serve_accept(id->context, id, ev);
}

/**
 * peer_serve() - be a target that lies
 * @argc: words
 * @argv: ADDR PORT PERMILLE SEED
 */
int peer_serve(int argc, char **argv)
{
	struct sockaddr_storage ss = { };
	struct peer_listener *li;
	int ret;

	li = kzalloc(sizeof(*li), GFP_KERNEL);
	if (!li)
		return -ENOMEM;
	ret = -EINVAL;
	if (argc < 4 || inet_pton_with_scope(&init_net, AF_UNSPEC, argv[0], argv[1], &ss) ||
	    kstrtou32(argv[2], 0, &li->permille) || kstrtou32(argv[3], 0, &li->seed))
		goto err;
	li->id = rdma_create_id(&init_net, listen_event, li, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(li->id)) {
		ret = PTR_ERR(li->id);
		goto err;
	}
	ret = rdma_bind_addr(li->id, (struct sockaddr *)&ss);
	if (!ret)
		ret = rdma_listen(li->id, 64);
	if (ret) {
		rdma_destroy_id(li->id);
		goto err;
	}
	list_add_tail(&li->node, &listeners);
	return 0;
err:
	kfree(li);
	return ret;
}

/**
 * peer_served() - what came of it
 */
void peer_served(void)
{
	unsigned int conns = 0, live = 0, messages = 0, lies = 0, malformed = 0;
	struct peer_listener *li;

	list_for_each_entry(li, &listeners, node) {
		conns += atomic_read(&li->conns);
		live += atomic_read(&li->live);
		messages += atomic_read(&li->messages);
		lies += atomic_read(&li->lies);
		malformed += atomic_read(&li->malformed);
	}
	peer_say("conns=%u live=%u messages=%u lies=%u malformed=%u\n", conns, live, messages,
		 lies, malformed);
}

/**
 * peer_unserve() - end all that serves; waits for it
 */
void peer_unserve(void)
{
	struct peer_listener *li, *next;

	list_for_each_entry(li, &listeners, node) {
		WRITE_ONCE(li->stop, true);
		rdma_destroy_id(li->id);
	}
	list_for_each_entry(li, &listeners, node)
		wait_event(all_gone, !atomic_read(&li->live));
	/* Those that said so may still be ending. */
	flush_workqueue(serve_wq);
	list_for_each_entry_safe(li, next, &listeners, node) {
		list_del(&li->node);
		kfree(li);
	}
}

/* Before any verb. */
int peer_serve_init(void)
{
	serve_wq = alloc_workqueue("meshpeer", WQ_UNBOUND, 256);
	return serve_wq ? 0 : -ENOMEM;
}

/* After the last. */
void peer_serve_exit(void)
{
	peer_unserve();
	destroy_workqueue(serve_wq);
}
