// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends: pushed data, completions, control messages.
 *
 * Commands end in any context and land in ch->cmd.done. One post then takes all results there: a
 * WRITE with immediate for each small read, straight from the arena page, and one SEND of up to 64
 * completions for the rest. If the send queue is full by the target's own count, or all buffers are
 * in flight, results wait and so grow into larger messages.
 *
 * Few sends are signalled: one in a quarter of the queue or in half of the buffers. Their
 * completions are taken when the rest is being used: sq.c.
 */
#define pr_fmt(fmt) "meshtgt: " fmt
#include <linux/mempool.h>

#include "rdda/common/fault.h"
#include "rdda/target/arena.h"
#include "rdda/target/channel.h"
#include "rdda/target/cmd.h"
#include "rdda/target/grant.h"
#include "rdda/target/session.h"
#include "rdda/wire.h"

#define TGT_CTL_MAX		256	/* answers that wait to be sent */

/* A control message to be sent. */
struct ctl {
	struct list_head	node;	/* in tgt_channel.tx.ctl */
	u32			len;	/* bytes */
	/* not an answer to a request: not counted in tgt_channel.tx.nr_ctl */
	bool			event;
	u8			msg[RDDA_MSG_MAX] __aligned(8);
};

/*
 * A reserve: a PONG must go out without free memory, too, or the client takes the target for dead.
 */
static mempool_t *ctl_pool;

static unsigned int chain_bufs(void)
{
	return rdda_fault(RDDA_FAULT_BUFS) ? 1 : TGT_TX_BUFS;
}

/*
 * End a work request of the chain. One in half of the buffers is signalled, too: the other half
 * goes out meanwhile.
 */
static void chain_end(struct tgt_channel *ch, struct ib_rdma_wr *wr, unsigned int bufs)
{
	bool half = ch->sq.unsig_held + bufs >= chain_bufs() / 2;

	rdda_sq_end(&ch->sq, wr, bufs, half ? &ch->sq.mark : NULL);
}

/*
 * True if three quarters of the buffers, or half of the queue, are in use: poll for send
 * completions.
 */
static bool chain_low(const struct tgt_channel *ch)
{
	return ch->tx.head - ch->tx.tail >= chain_bufs() * 3 / 4 || ch->sq.free < ch->sq.size / 2;
}

static bool chain_room(const struct tgt_channel *ch, unsigned int wrs)
{
	return ch->sq.nr + wrs <= TGT_CHAIN && wrs <= ch->sq.free;
}

/* Return: the buffer of the next SEND; NULL: all are in flight. */
static struct rdda_buf *chain_buf(struct tgt_channel *ch)
{
	return ch->tx.head - ch->tx.tail < chain_bufs() ?
	       &ch->tx.msg.buf[ch->tx.head % TGT_TX_BUFS] : NULL;
}

/* Add the SEND of a buffer to the chain. */
static void chain_send(struct tgt_channel *ch, struct rdda_buf *b, u32 len)
{
	ch->tx.head++;
	chain_end(ch, rdda_sq_send(&ch->sq, b, len), 1);
	tgt_count(ch, TGT_SENDS, 1);
}

static void chain_controls(struct tgt_channel *ch)
{
	struct ctl *c, *next;
	struct rdda_buf *b;

	list_for_each_entry_safe(c, next, &ch->tx.ctl, node) {
		b = chain_buf(ch);
		if (!b || !chain_room(ch, 1))
			break;
		memcpy(b->data, c->msg, c->len);
		chain_send(ch, b, c->len);
		list_del(&c->node);
		ch->tx.nr_ctl -= !c->event;
		mempool_free(c, ctl_pool);
	}
}

static noinline unsigned int push_sges(struct tgt_session *s, struct ib_sge *sge,
				       unsigned int max, const struct tgt_cmd *c)
{
	unsigned int nr = tgt_arena_sge(s, sge, max, c->p.off[0], c->p.len[0]);

	if (nr <= max && c->p.len[1])
		nr += tgt_arena_sge(s, sge + nr, max - nr, c->p.off[1], c->p.len[1]);
	return nr;
}

/*
 * Fill scatter entries with a read's data in the arena, both runs. @max: not 0. Return: as
 * tgt_arena_sge().
 */
static __always_inline unsigned int push_sge(struct tgt_session *s, struct ib_sge *sge,
					     unsigned int max, const struct tgt_cmd *c)
{
	const struct tgt_piece *piece;
	u32 at;

	piece = tgt_arena_piece(&s->arena, &c->p, &at);
	if (likely(piece)) {
		sge->addr = sg_dma_address(&piece->sg) + at;
		sge->length = c->p.bytes;
		sge->lkey = s->pd->local_dma_lkey;
		return 1;
	}
	return push_sges(s, sge, max, c);
}

/* True if @next is a pushed read without an error, whose bounce pages follow the pages of @last. */
static bool push_follows(const struct tgt_cmd *last, const struct tgt_cmd *next)
{
	return next->p.push && !next->status && next->p.bounce == last->p.bounce + last->p.bytes;
}

static void push_release_cmd(struct tgt_channel *ch, struct tgt_cmd *c)
{
	list_del(&c->node);
	llist_add(&c->done, &ch->cmd.free);
}

/*
 * Push a read, and the reads behind it whose bounce pages follow. @ch: tx.lock held. @c: first of
 * @ch->tx.pend; released, as are the reads pushed together. Reads go together only where one work
 * request carries all of them. A single read takes several work requests if the device has few
 * scatter entries: the last one carries the immediate, and its receive completion makes all of them
 * visible.
 */
static void chain_push(struct tgt_channel *ch, struct tgt_cmd *c)
{
	unsigned int i = 0, nr, more = 0, gens = 0, add, at = c->p.bounce;
	bool runs = ch->login.features & RDDA_FEAT_RUNS;
	u16 cid = c->p.cid;
	struct ib_sge sge[TGT_SGES];
	struct tgt_cmd *next;

	nr = push_sge(ch->s, sge, TGT_VECS, c);
	while (runs && more < RDDA_RUN_MAX - 1 && !list_is_last(&c->node, &ch->tx.pend)) {
		next = list_next_entry(c, node);
		if (!push_follows(c, next) || nr >= ch->sq.sge_max)
			break;
		add = push_sge(ch->s, sge + nr, ch->sq.sge_max - nr, next);
		if (nr + add > ch->sq.sge_max)
			break;
		nr += add;
		gens += RDDA_CID_GEN(next->p.cid);
		more++;
		push_release_cmd(ch, c);
		c = next;
	}
	push_release_cmd(ch, c);
	while (i < nr) {
		struct ib_rdma_wr *wr = rdda_sq_add(&ch->sq, IB_WR_RDMA_WRITE);
		unsigned int k;

		wr->remote_addr = at;
		wr->rkey = ch->s->bounce.rkey;
		for (k = 0; k < ch->sq.sge_max && i < nr; k++, i++) {
			wr->wr.sg_list[k] = sge[i];
			at += sge[i].length;
		}
		wr->wr.num_sge = k;
		if (i == nr) {
			wr->wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
			wr->wr.ex.imm_data = cpu_to_be32(RDDA_IMM(cid, more, gens));
		}
		chain_end(ch, wr, 0);
	}
	tgt_count(ch, TGT_PUSHES, more + 1);
}

/* Push small reads, and collect the other results in the next buffer. */
static void chain_results(struct tgt_channel *ch)
{
	struct rdda_buf *b = NULL;
	struct rdda_dones *m = NULL;
	struct tgt_cmd *c;
	unsigned int k = 0;

	while ((c = list_first_entry_or_null(&ch->tx.pend, struct tgt_cmd, node))) {
		if (c->p.push && !c->status) {
			if (!chain_room(ch, TGT_VECS + !!m))
				break;
			chain_push(ch, c);
			continue;
		}
		if (!m) {
			b = chain_buf(ch);
			if (!b || !chain_room(ch, 1))
				break;
			m = b->data;
		}
		m->done[k].cid = cpu_to_le16(c->p.cid);
		m->done[k].status = cpu_to_le16(c->status);
		m->done[k].reserved = 0;
		push_release_cmd(ch, c);
		if (++k == RDDA_DONES_MAX)
			break;
	}
	if (!m)
		return;
	memset(&m->hdr, 0, sizeof(m->hdr));
	m->hdr.type = RDDA_DONE;
	m->hdr.count = cpu_to_le16(k);
	m->hdr.len = cpu_to_le32(sizeof(*m) + k * sizeof(m->done[0]));
	chain_send(ch, b, sizeof(*m) + k * sizeof(m->done[0]));
}

/*
 * Find a result's place in @ch->tx.pend. Pushed reads are kept in the order of their bounce pages,
 * as far back as one push reaches, so that one push may take several. Return: the entry to insert
 * behind.
 */
static struct list_head *push_place(struct tgt_channel *ch, const struct tgt_cmd *c)
{
	struct list_head *at = ch->tx.pend.prev;
	const struct tgt_cmd *last;
	unsigned int i;

	if (!(ch->login.features & RDDA_FEAT_RUNS) || !c->p.push || c->status)
		return at;
	for (i = 0; i < RDDA_RUN_MAX && at != &ch->tx.pend; i++, at = at->prev) {
		last = list_entry(at, struct tgt_cmd, node);
		if (!last->p.push || last->status || last->p.bounce < c->p.bounce)
			break;
	}
	return at;
}

static void push_collect(struct tgt_channel *ch)
{
	struct tgt_cmd *c, *next;
	struct llist_node *l;

	tgt_gather_over(ch);
	l = llist_reverse_order(llist_del_all(&ch->cmd.done));
	llist_for_each_entry_safe(c, next, l, done) {
		if (unlikely(c->status))
			tgt_count(ch, TGT_ERRORS, 1);
		list_add(&c->node, push_place(ch, c));
		WRITE_ONCE(ch->tx.collected, ch->tx.collected + 1);
	}
}

/* True if results or control messages wait for room. */
static bool push_left(const struct tgt_channel *ch)
{
	return !list_empty(&ch->tx.pend) || !list_empty(&ch->tx.ctl);
}

/* Post all that is ready. Context: process or softirq. */
void tgt_push_flush(struct tgt_channel *ch)
{
	int ret = 0;

	if (llist_empty(&ch->cmd.done) && !push_left(ch))
		return;
	spin_lock_bh(&ch->tx.lock);
	push_collect(ch);
	if (chain_low(ch))
		tgt_sq_poll(ch);
	while (!ret && !READ_ONCE(ch->dead)) {
		chain_controls(ch);
		chain_results(ch);
		if (ch->sq.nr)
			ret = rdda_sq_post(&ch->sq);
		else if (!push_left(ch) || !tgt_sq_await(ch))
			break;
	}
	spin_unlock_bh(&ch->tx.lock);
	if (ret)
		tgt_channel_kill(ch, ret);
}

/* Post results of commands that ended outside of the channel's turns. Context: softirq. */
void tgt_push_run(struct tgt_channel *ch)
{
	if (!rdda_fault(RDDA_FAULT_DEAF))
		tgt_push_flush(ch);
}

/* Tasklet: the same. */
void tgt_push_kick(struct tasklet_struct *t)
{
	struct tgt_channel *ch = from_tasklet(ch, t, kick);

	tgt_push_run(ch);
}

/*
 * A command ended: the next post reports the result to the client. @c: its status set; the caller
 * gives up @c and its view. Any context.
 */
void tgt_push_end(struct tgt_cmd *c)
{
	struct tgt_channel *ch = c->ch;
	u32 ended = atomic_inc_return(&ch->gather.ended);
	struct tgt_view *v = c->view;
	bool first;

	c->view = NULL;
	first = llist_add(&c->done, &ch->cmd.done);
	if (READ_ONCE(ch->batcher) != current && !tgt_gather_waits(ch, ended, first))
		tasklet_schedule(&ch->kick);
	/* Last: a dead session's memory goes with the last view. */
	if (v)
		tgt_view_put(v);
}

/* Free control messages that were not sent. @ch: stopped. */
void tgt_push_drop(struct tgt_channel *ch)
{
	struct ctl *c, *next;
	LIST_HEAD(drop);

	spin_lock_bh(&ch->tx.lock);
	list_splice_init(&ch->tx.ctl, &drop);
	spin_unlock_bh(&ch->tx.lock);
	list_for_each_entry_safe(c, next, &drop, node)
		mempool_free(c, ctl_pool);
}

static int push_send_ctl(struct tgt_channel *ch, const void *msg, size_t len, bool event)
{
	struct ctl *c = NULL;
	bool dead;

	/* A peer that sends requests and never takes an answer is no client. */
	if (event || READ_ONCE(ch->tx.nr_ctl) < TGT_CTL_MAX)
		c = mempool_alloc(ctl_pool, GFP_NOWAIT | __GFP_NOWARN);
	if (!c) {
		tgt_channel_kill(ch, -ENOMEM);
		return -ENOMEM;
	}
	c->len = len;
	c->event = event;
	memcpy(c->msg, msg, len);
	spin_lock_bh(&ch->tx.lock);
	dead = READ_ONCE(ch->dead);
	if (!dead) {
		list_add_tail(&c->node, &ch->tx.ctl);
		ch->tx.nr_ctl += !event;
	}
	spin_unlock_bh(&ch->tx.lock);
	if (dead) {
		mempool_free(c, ctl_pool);
		return -ESHUTDOWN;
	}
	if (READ_ONCE(ch->batcher) != current)
		tgt_push_flush(ch);
	return 0;
}

/*
 * Send a control message. @msg: copied. Any context but hard interrupt. Return: 0, -ESHUTDOWN, or
 * -ENOMEM after the channel was killed: a client that waits for an answer must not wait forever.
 */
int tgt_ctl_send(struct tgt_channel *ch, const void *msg, size_t len)
{
	return push_send_ctl(ch, msg, len, false);
}

/*
 * Send a control message that answers no request. As tgt_ctl_send(), but without a limit: many
 * events are no fault of the client, since a new table may revoke all its openings.
 */
int tgt_ctl_event(struct tgt_channel *ch, const void *msg, size_t len)
{
	return push_send_ctl(ch, msg, len, true);
}

/* Answer a PING. Context and Return: as tgt_ctl_send(). */
int tgt_ctl_pong(struct tgt_channel *ch, u64 tag)
{
	struct rdda_hdr h = {
		.type = RDDA_PONG,
		.len = cpu_to_le32(sizeof(h)),
		.tag = cpu_to_le64(tag),
	};

	return tgt_ctl_send(ch, &h, sizeof(h));
}

/* Make a reserve of control messages. Return: 0 or -ENOMEM. */
int tgt_push_init(void)
{
	ctl_pool = mempool_create_kmalloc_pool(64, sizeof(struct ctl));
	return ctl_pool ? 0 : -ENOMEM;
}

/* Free the reserve of control messages. */
void tgt_push_exit(void)
{
	mempool_destroy(ctl_pool);
}
