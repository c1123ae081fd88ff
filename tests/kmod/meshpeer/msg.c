// SPDX-License-Identifier: GPL-2.0-only
/* Sends, receives, and waits for answers. */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/slab.h>

#include "peer.h"

/*
 * struct tx - a SEND in flight
 */
struct tx {
	struct ib_cqe		cqe;
	struct completion	done;
	enum ib_wc_status	status;
};

static void tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct tx *t = container_of(wc->wr_cqe, struct tx, cqe);

	t->status = wc->status;
	complete(&t->done);
}

/**
 * peer_post() - post a chain and wait for its end
 * @c: connection
 * @first: of the chain
 * @last: of the chain; it alone is signalled
 *
 * Return: 0, a negative errno, or the positive enum ib_wc_status it failed with.
 */
int peer_post(struct peer_conn *c, struct ib_send_wr *first, struct ib_send_wr *last)
{
	struct ib_qp_attr err = { .qp_state = IB_QPS_ERR };
	struct tx t = { .cqe.done = tx_done };
	int ret, tries = 0;

	init_completion(&t.done);
	last->wr_cqe = &t.cqe;
	last->send_flags |= IB_SEND_SIGNALED;
	ret = ib_post_send(c->q.qp, first, NULL);
	if (ret)
		return ret;
	/* Messages to a dead target's NIC are repeated; an error flushes the queue. */
	for (; !wait_for_completion_timeout(&t.done, HZ / 10); tries++)
		if (c->lost || tries == 10 * PEER_MS / 1000)
			ib_modify_qp(c->q.qp, &err, IB_QP_STATE);
	return t.status;
}

/**
 * peer_send() - SEND bytes and wait until they went
 * @c: connection
 * @msg: bytes, up to 4096
 * @len: how many
 */
int peer_send(struct peer_conn *c, const void *msg, size_t len)
{
	struct ib_device *dev = c->pd->device;
	struct ib_sge sge = { .length = len, .lkey = c->pd->local_dma_lkey };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	void *copy = kmemdup(msg, len, GFP_KERNEL);
	int ret = -EIO;

	if (!copy)
		return -ENOMEM;
	sge.addr = ib_dma_map_single(dev, copy, len, DMA_TO_DEVICE);
	if (!ib_dma_mapping_error(dev, sge.addr)) {
		ret = peer_post(c, &wr, &wr);
		ib_dma_unmap_single(dev, sge.addr, len, DMA_TO_DEVICE);
	}
	kfree(copy);
	return ret > 0 ? -ECONNRESET : ret;
}

/**
 * peer_wait() - until something is so
 * @c: connection
 * @cond: called under its lock
 * @arg: for @cond
 * @ms: at most
 *
 * Return: what @cond said last.
 */
bool peer_wait(struct peer_conn *c, bool (*cond)(struct peer_conn *c, long arg), long arg,
	       unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	DEFINE_WAIT(wait);
	bool is;

	for (;;) {
		prepare_to_wait(&c->wake, &wait, TASK_UNINTERRUPTIBLE);
		spin_lock_irq(&c->lock);
		is = cond(c, arg);
		spin_unlock_irq(&c->lock);
		if (is || time_after_eq(jiffies, end))
			break;
		schedule_timeout(end - jiffies);
	}
	finish_wait(&c->wake, &wait);
	return is;
}

static bool has_answer(struct peer_conn *c, long arg)
{
	return c->answered || c->lost;
}

/**
 * peer_request() - SEND a control message and wait for its answer
 * @c: connection
 * @msg: message; its tag is set here
 * @len: bytes
 * @answer: filled in
 * @size: bytes the answer must have
 */
int peer_request(struct peer_conn *c, void *msg, size_t len, void *answer, size_t size)
{
	struct rdda_hdr *h = msg;
	int ret;

	spin_lock_irq(&c->lock);
	c->answered = false;
	c->answer_tag = ++c->next_tag;
	spin_unlock_irq(&c->lock);
	/* A proof has no tag to find its answer by: PROVED carries zero or the same. */
	h->tag = h->type == RDDA_PROVE ? 0 : cpu_to_le64(c->answer_tag);
	ret = peer_send(c, msg, len);
	if (ret)
		return ret;
	if (!peer_wait(c, has_answer, 0, 2 * PEER_MS))
		return -ETIMEDOUT;
	if (!c->answered)
		return -ECONNRESET;
	h = (struct rdda_hdr *)c->answer;
	if (le32_to_cpu(h->len) != size)
		return -EPROTO;
	memcpy(answer, c->answer, size);
	return 0;
}

static void rx_dones(struct peer_conn *c, const struct rdda_dones *m)
{
	unsigned int i;

	for (i = 0; i < le16_to_cpu(m->hdr.count); i++) {
		u32 slot = RDDA_CID_SLOT(le16_to_cpu(m->done[i].cid));
		struct peer_cmd *cmd = &c->cmd[slot];

		cmd->status = le16_to_cpu(m->done[i].status);
		if (c->load)
			peer_load_ended(c, slot, 0, cmd->status);
		cmd->ended = true;
	}
}

static void rx_msg(struct peer_conn *c, const struct rdda_hdr *h)
{
	const struct rdda_event *ev = (const void *)h;

	switch (h->type) {
	case RDDA_DONE:
		rx_dones(c, (const void *)h);
		break;
	case RDDA_ARENA:
		c->nr_pieces = le16_to_cpu(h->count);
		memcpy(c->piece, h + 1, c->nr_pieces * sizeof(c->piece[0]));
		break;
	case RDDA_EVENT:
		c->events++;
		c->last_event = le32_to_cpu(ev->kind);
		break;
	case RDDA_BYE:
		c->bye = le32_to_cpu(((const struct rdda_note *)h)->reason);
		c->lost = true;
		break;
	default:
		if (h->type != RDDA_PROVED && le64_to_cpu(h->tag) != c->answer_tag)
			break;
		memcpy(c->answer, h, le32_to_cpu(h->len));
		c->answered = true;
	}
}

static void rx_done(struct ib_cq *cq, struct ib_wc *wc);

static int rx_post(struct peer_conn *c, struct peer_rx *rx)
{
	struct ib_recv_wr wr = { .wr_cqe = &rx->cqe, .sg_list = &rx->sge, .num_sge = 1 };

	rx->cqe.done = rx_done;
	return ib_post_recv(c->q.qp, &wr, NULL);
}

/* Softirq. A PING is answered from here, without waiting for its completion. */
struct pong {
	struct ib_cqe	cqe;
	u64		dma;
	struct peer_conn *c;
	struct rdda_hdr	h;
};

static void pong_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pong *p = container_of(wc->wr_cqe, struct pong, cqe);

	ib_dma_unmap_single(p->c->pd->device, p->dma, sizeof(p->h), DMA_TO_DEVICE);
	kfree(p);
}

static void pong_send(struct peer_conn *c, __le64 tag)
{
	struct pong *p = kzalloc(sizeof(*p), GFP_ATOMIC);
	struct ib_sge sge = { .length = sizeof(p->h), .lkey = c->pd->local_dma_lkey };
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};

	if (!p)
		return;
	p->c = c;
	p->cqe.done = pong_done;
	p->h.type = RDDA_PONG;
	p->h.len = cpu_to_le32(sizeof(p->h));
	p->h.tag = tag;
	p->dma = ib_dma_map_single(c->pd->device, &p->h, sizeof(p->h), DMA_TO_DEVICE);
	sge.addr = p->dma;
	wr.wr_cqe = &p->cqe;
	if (ib_post_send(c->q.qp, &wr, NULL))
		kfree(p);
}

static void rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct peer_rx *rx = container_of(wc->wr_cqe, struct peer_rx, cqe);
	struct peer_conn *c = cq->cq_context;
	const struct rdda_hdr *h = rx->msg;
	struct peer_cmd *cmd;
	unsigned long flags;
	u32 imm;

	spin_lock_irqsave(&c->lock, flags);
	if (wc->status != IB_WC_SUCCESS) {
		c->lost = true;
	} else if (c->sv && wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
		/* a write with its command, to a liar that granted the feature: not answered */
	} else if (c->sv) {
		peer_serve_rx(c, h, wc->byte_len);
	} else if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
		imm = be32_to_cpu(wc->ex.imm_data);
		cmd = &c->cmd[RDDA_CID_SLOT(imm)];
		if (c->load)
			peer_load_ended(c, RDDA_CID_SLOT(imm), RDDA_IMM_MORE(imm), 0);
		cmd->status = 0;
		cmd->pushed = true;
		cmd->ended = true;
	} else if (rdda_msg_check(h, wc->byte_len, false)) {
		pr_err("malformed message of type %u from the target\n", h->type);
		c->lost = true;
	} else {
		rx_msg(c, h);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	wake_up_all(&c->wake);
	if (wc->status == IB_WC_SUCCESS) {
		if (!c->sv && wc->opcode == IB_WC_RECV && h->type == RDDA_PING)
			pong_send(c, h->tag);
		rx_post(c, rx);
	}
}

/**
 * peer_rx_setup() - post receives
 * @c: connection
 * @nr: how many
 */
int peer_rx_setup(struct peer_conn *c, unsigned int nr)
{
	unsigned int i;
	int ret;

	c->rx = kcalloc(nr, sizeof(*c->rx), GFP_KERNEL);
	if (!c->rx)
		return -ENOMEM;
	c->nr_rx = nr;
	for (i = 0; i < nr; i++) {
		struct peer_rx *rx = &c->rx[i];

		rx->msg = kmalloc(RDDA_MSG_MAX, GFP_KERNEL);
		if (!rx->msg)
			return -ENOMEM;
		rx->sge.addr = ib_dma_map_single(c->pd->device, rx->msg, RDDA_MSG_MAX,
						 DMA_FROM_DEVICE);
		rx->sge.length = RDDA_MSG_MAX;
		rx->sge.lkey = c->pd->local_dma_lkey;
		ret = rx_post(c, rx);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * peer_rx_free() - undo peer_rx_setup(), after the queue pair is destroyed
 * @c: connection
 */
void peer_rx_free(struct peer_conn *c)
{
	unsigned int i;

	for (i = 0; c->rx && i < c->nr_rx && c->rx[i].msg; i++) {
		ib_dma_unmap_single(c->pd->device, c->rx[i].sge.addr, RDDA_MSG_MAX,
				    DMA_FROM_DEVICE);
		kfree(c->rx[i].msg);
	}
	kfree(c->rx);
}
