// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many honest clients: on each connection some 4 KiB reads are always in flight,
 * at random, pushed.
 *
 *   completion ---> ready ---> tasklet: up to 16 commands a message ---> target
 *       '--- load_ended() under the connection's lock
 *
 * What ended in one run of the softirq goes in one message, as the product's
 * client gathers it.
 */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/slab.h>

#include "peer.h"

#define LOAD_DEPTH	(PEER_BUF / RDDA_PAGE)	/* a page of the bounce arena for each */

struct peer_load {
	struct peer_conn	*c;
	struct tasklet_struct	kick;
	struct ib_cqe		sent;
	atomic_t		sends;		/* in flight */
	struct rdda_bufs	msg;		/* a message for each slot, used when it is first */
	struct rnd_state	rnd;		/* the tasklet's */
	u32			nsid;
	u64			slba;
	u32			pages;		/* of the extent */
	u32			shift;		/* of a logical block */

	/* the connection's lock */
	bool			stop;
	u32			ended;		/* reads */
	u32			flying;		/* slots that are not ready */
	u32			nr_ready;
	u16			ready[LOAD_DEPTH];
	u32			credits;
	u16			first[LOAD_DEPTH];	/* of the message that has each slot ... */
	bool			owes[LOAD_DEPTH];	/* ... whose credit is not back yet */
};

atomic64_t peer_loaded;

/**
 * peer_load_ended() - a read of a load ended
 * @c: connection that has one; its lock is held
 * @slot: of the first
 * @more: how many others the same push carried
 * @status: enum rdda_status of them all
 */
void peer_load_ended(struct peer_conn *c, u32 slot, u32 more, u16 status)
{
	struct peer_load *l = c->load;
	u32 i;

	for (i = slot; i <= slot + more; i++) {
		if (status || i >= LOAD_DEPTH || !l->flying) {
			pr_err_once("a read of slot %u ended with status %u\n", i, status);
			return;
		}
		l->ready[l->nr_ready++] = i;
		l->flying--;
		l->credits += l->owes[l->first[i]];
		l->owes[l->first[i]] = false;
	}
	l->ended += more + 1;
	atomic64_add(more + 1, &peer_loaded);
	tasklet_schedule(&l->kick);
}

static void load_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct peer_load *l = container_of(wc->wr_cqe, struct peer_load, sent);

	atomic_dec(&l->sends);
	tasklet_schedule(&l->kick);
}

static void load_command(struct peer_load *l, struct rdda_cmd *cmd, u16 slot)
{
	u32 page = prandom_u32_state(&l->rnd) % l->pages;

	memset(cmd, 0, sizeof(*cmd));
	cmd->opcode = RDDA_OP_READ;
	cmd->cid = cpu_to_le16(RDDA_CID(slot, 1));
	cmd->nsid = cpu_to_le32(l->nsid);
	cmd->mptr = cpu_to_le64((u64)slot * RDDA_PAGE | RDDA_MPTR_PUSH);
	cmd->prp1 = cpu_to_le64(l->c->arena_off + slot * RDDA_PAGE);
	cmd->slba = cpu_to_le64(l->slba + ((u64)page * RDDA_PAGE >> l->shift));
	cmd->nlb = cpu_to_le16((RDDA_PAGE >> l->shift) - 1);
}

/* Up to a message of what is ready. */
static u32 load_take(struct peer_load *l, u16 *slot)
{
	struct peer_conn *c = l->c;
	unsigned long flags;
	u32 n = 0;

	spin_lock_irqsave(&c->lock, flags);
	while (!l->stop && !c->lost && l->credits && l->nr_ready && n < RDDA_CMDS_MAX) {
		slot[n] = l->ready[--l->nr_ready];
		l->first[slot[n++]] = slot[0];
	}
	l->flying += n;
	l->credits -= !!n;
	if (n)
		l->owes[slot[0]] = true;
	spin_unlock_irqrestore(&c->lock, flags);
	return n;
}

static void load_send(struct peer_load *l, const u16 *slot, u32 n)
{
	struct rdda_buf *b = &l->msg.buf[slot[0]];
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = &b->sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED, .wr_cqe = &l->sent,
	};
	struct rdda_hdr *h = b->data;
	struct rdda_cmd *cmd = (void *)(h + 1);
	u32 i;

	memset(h, 0, sizeof(*h));
	h->type = RDDA_CMDS;
	h->count = cpu_to_le16(n);
	h->len = cpu_to_le32(sizeof(*h) + n * sizeof(*cmd));
	for (i = 0; i < n; i++)
		load_command(l, &cmd[i], slot[i]);
	b->sge.length = le32_to_cpu(h->len);
	ib_dma_sync_single_for_device(l->c->pd->device, b->sge.addr, b->sge.length,
				      DMA_TO_DEVICE);
	atomic_inc(&l->sends);
	if (ib_post_send(l->c->q.qp, &wr, NULL)) {
		atomic_dec(&l->sends);
		pr_err_once("a send of a load failed\n");
	}
}

static void load_kick(struct tasklet_struct *t)
{
	struct peer_load *l = from_tasklet(l, t, kick);
	u16 slot[RDDA_CMDS_MAX];
	u32 n;

	/* PINGs and PONGs need some of it, too */
	while (atomic_read(&l->sends) < PEER_SENDS - 8) {
		n = load_take(l, slot);
		if (!n)
			break;
		load_send(l, slot, n);
	}
}

/**
 * peer_load() - begin
 * @c: connection that gave a bounce arena
 * @argc: words
 * @argv: NSID SLBA PAGES SHIFT DEPTH
 */
int peer_load(struct peer_conn *c, int argc, char **argv)
{
	struct peer_load *l;
	u32 i, depth;

	if (c->load || argc < 5 || !c->bounce_mr)
		return -EINVAL;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	if (kstrtou32(argv[0], 0, &l->nsid) || kstrtou64(argv[1], 0, &l->slba) ||
	    kstrtou32(argv[2], 0, &l->pages) || kstrtou32(argv[3], 0, &l->shift) ||
	    kstrtou32(argv[4], 0, &depth) || !depth || depth > LOAD_DEPTH || !l->pages) {
		kfree(l);
		return -EINVAL;
	}
	l->c = c;
	l->sent.done = load_sent;
	tasklet_setup(&l->kick, load_kick);
	prandom_seed_state(&l->rnd, c->q.qp->qp_num);
	if (rdda_bufs_alloc(&l->msg, c->pd, NULL, LOAD_DEPTH, DMA_TO_DEVICE, NULL)) {
		rdda_bufs_free(&l->msg);
		kfree(l);
		return -ENOMEM;
	}
	l->credits = le16_to_cpu(c->proof.accept.credits);
	for (i = 0; i < depth; i++)
		l->ready[l->nr_ready++] = i;
	spin_lock_irq(&c->lock);
	c->load = l;
	spin_unlock_irq(&c->lock);
	tasklet_schedule(&l->kick);
	return 0;
}

static bool load_over(struct peer_conn *c, long arg)
{
	return c->lost || (!c->load->flying && !atomic_read(&c->load->sends));
}

/**
 * peer_load_stop() - no more reads; free it
 * @c: any connection: without a load, too
 *
 * Return: how many ended, U32_MAX without one.
 */
u32 peer_load_stop(struct peer_conn *c)
{
	struct peer_load *l = c->load;
	u32 ended = U32_MAX;

	if (!l)
		return ended;
	spin_lock_irq(&c->lock);
	l->stop = true;
	ended = l->ended;
	spin_unlock_irq(&c->lock);
	/* a lost one keeps its memory until its queue pair is drained: peer_load_free() */
	if (peer_wait(c, load_over, 0, PEER_MS) && !c->lost)
		peer_load_free(c);
	return ended;
}

/**
 * peer_load_free() - nothing of it is in flight
 * @c: any connection
 */
void peer_load_free(struct peer_conn *c)
{
	struct peer_load *l = c->load;

	if (!l)
		return;
	tasklet_kill(&l->kick);
	spin_lock_irq(&c->lock);
	c->load = NULL;
	spin_unlock_irq(&c->lock);
	rdda_bufs_free(&l->msg);
	kfree(l);
}
