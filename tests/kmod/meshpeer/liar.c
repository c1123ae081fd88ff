// SPDX-License-Identifier: GPL-2.0-only
/* What no honest target says. */
#define pr_fmt(fmt) "meshpeer: " fmt
#include <linux/slab.h>

#include "peer.h"

#define LIE_MAX	4096

static u32 below(struct peer_conn *c, u32 n)
{
	return prandom_u32_state(&c->sv->rnd) % n;
}

/* Numbers that are near where something changes, and some that are not. */
static u64 odd_number(struct peer_conn *c)
{
	static const u64 some[] = {
		0, 1, 7, 511, 512, 4095, 4096, 4097, 65535, 65536, 1 << 17, 1 << 20, 1U << 31,
		U32_MAX - 4095, U32_MAX, 1ULL << 32, 1ULL << 52, S64_MAX, U64_MAX - 4095, U64_MAX,
	};
	u64 r = prandom_u32_state(&c->sv->rnd);

	if (below(c, 3))
		return some[below(c, ARRAY_SIZE(some))];
	return (r << 32 | prandom_u32_state(&c->sv->rnd)) >> below(c, 64);
}

/**
 * peer_lies() - whether it is time for one
 * @c: connection that serves
 */
bool peer_lies(struct peer_conn *c)
{
	if (below(c, 1000) >= c->sv->permille)
		return false;
	atomic_inc(&c->sv->li->lies);
	return true;
}

/**
 * peer_lie_accept() - in the answer to a login
 * @c: connection
 * @a: the honest answer
 */
void peer_lie_accept(struct peer_conn *c, struct rdda_accept *a)
{
	u8 *bytes = (u8 *)a;

	switch (below(c, 9)) {
	case 0:
		bytes[below(c, sizeof(*a))] ^= 1 << below(c, 8);
		break;
	case 1:
		prandom_bytes_state(&c->sv->rnd, a, sizeof(*a));
		break;
	case 2:
		a->credits = cpu_to_le16(odd_number(c));
		break;
	case 3:
		a->cmds = cpu_to_le16(odd_number(c));
		break;
	case 4:
		a->controls = cpu_to_le16(odd_number(c));
		break;
	case 5:
		a->cmd_bytes = cpu_to_le32(odd_number(c));
		break;
	case 6:
		a->keepalive_ms = cpu_to_le32(odd_number(c));
		break;
	case 7:
		a->dead_ms = cpu_to_le32(odd_number(c));
		break;
	case 8:
		a->features = cpu_to_le32(odd_number(c));
		break;
	}
}

/* The client uses each field of OPENED as a size, shift or address. */
static void lie_opened(struct peer_conn *c, struct rdda_opened *a)
{
	switch (below(c, 10)) {
	case 0:
		a->slba = cpu_to_le64(odd_number(c));
		break;
	case 1:
		a->blocks = cpu_to_le64(odd_number(c));
		break;
	case 2:
		a->nsid = cpu_to_le32(odd_number(c));
		break;
	case 3:
		a->max_bytes = cpu_to_le32(odd_number(c));
		break;
	case 4:
		a->discard_blocks = cpu_to_le32(odd_number(c));
		break;
	case 5:
		a->lba_shift = below(c, 2) ? 12 : odd_number(c);
		break;
	case 6:
		a->status = odd_number(c);
		break;
	case 7:
		a->phys_bytes = cpu_to_le32(odd_number(c));
		break;
	case 8:
		a->status = below(c, 15);
		break;
	case 9:
		prandom_bytes_state(&c->sv->rnd, a->extent, sizeof(*a) - sizeof(a->hdr));
		break;
	}
}

static void lie_proved(struct peer_conn *c, struct rdda_proved *p)
{
	switch (below(c, 5)) {
	case 0:
		p->arena_bytes = cpu_to_le32(odd_number(c));
		break;
	case 1:
		p->arena_len = cpu_to_le32(odd_number(c));
		break;
	case 2:
		p->channels = cpu_to_le16(odd_number(c));
		break;
	case 3:
		p->channels = cpu_to_le16(1 + below(c, 16));	/* that are never there */
		break;
	case 4:
		p->pieces = cpu_to_le16(odd_number(c));
		break;
	}
}

static void lie_fields(struct peer_conn *c, struct rdda_hdr *h)
{
	struct rdda_piece *piece = (struct rdda_piece *)(h + 1);
	struct rdda_dones *d = (struct rdda_dones *)h;
	__le32 *of[] = { &piece->off, &piece->len, &piece->rkey };
	unsigned int i;

	switch (h->type) {
	case RDDA_PROVED:
		lie_proved(c, (struct rdda_proved *)h);
		break;
	case RDDA_ARENA:
		*of[below(c, 3)] = cpu_to_le32(odd_number(c));
		break;
	case RDDA_OPENED:
		lie_opened(c, (struct rdda_opened *)h);
		break;
	case RDDA_DONE:
		i = below(c, le16_to_cpu(h->count));
		if (below(c, 2))	/* another command, or an older use of this one */
			d->done[i].cid ^= cpu_to_le16(1 << below(c, 16));
		else
			d->done[i].status = cpu_to_le16(odd_number(c));
		break;
	default:
		h->tag ^= cpu_to_le64(1ULL << below(c, 64));
	}
}

/* A frame that holds, of any type that a target sends, with anything in it. */
static size_t random_message(struct peer_conn *c, u8 *msg)
{
	static const struct {
		u8 type;
		u16 len;
	} of[] = {
		{ RDDA_DONE, 24 }, { RDDA_PROVED, 64 }, { RDDA_ARENA, 32 }, { RDDA_PING, 16 },
		{ RDDA_PONG, 16 }, { RDDA_OPENED, 104 }, { RDDA_CLOSED, 24 }, { RDDA_EVENT, 48 },
		{ RDDA_ERROR, 24 }, { RDDA_BYE, 24 }, { 40, 16 },
	};
	unsigned int i = below(c, ARRAY_SIZE(of));
	struct rdda_hdr *h = (struct rdda_hdr *)msg;

	prandom_bytes_state(&c->sv->rnd, msg, of[i].len);
	h->type = of[i].type;
	h->count = cpu_to_le16(h->type == RDDA_DONE || h->type == RDDA_ARENA);
	h->len = cpu_to_le32(of[i].len);
	h->tag = cpu_to_le64(below(c, 8));
	if (h->type == RDDA_EVENT) {
		((struct rdda_event *)h)->kind = cpu_to_le32(below(c, 5));
		((struct rdda_event *)h)->nsid = cpu_to_le32(1);
		((struct rdda_event *)h)->handle = cpu_to_le32(c->sv->handle);
	}
	return of[i].len;
}

static void lie(struct peer_conn *c, u8 *msg, size_t len)
{
	unsigned int i;

	switch (below(c, 9)) {
	case 0:
		for (i = below(c, 4) + 1; i; i--)
			msg[below(c, len)] ^= 1 << below(c, 8);
		break;
	case 1:
		len = below(c, RDDA_MSG_MAX) + 1;
		break;
	case 2:
		peer_send(c, msg, len);		/* twice */
		break;
	case 3:
		return;				/* never */
	case 4:
		len = below(c, RDDA_MSG_MAX) + 1;
		prandom_bytes_state(&c->sv->rnd, msg, len);
		break;
	case 5:
		peer_send(c, msg, len);
		len = random_message(c, msg);
		break;
	case 6:
		len = RDDA_MSG_MAX + 1 + below(c, LIE_MAX - RDDA_MSG_MAX);
		break;
	default:
		lie_fields(c, (struct rdda_hdr *)msg);
	}
	peer_send(c, msg, len);
}

/**
 * peer_out() - an answer, or a lie in its place
 * @c: connection that serves
 * @msg: the honest answer
 * @len: bytes
 */
void peer_out(struct peer_conn *c, const void *msg, size_t len)
{
	u8 *copy;

	if (!peer_lies(c)) {
		peer_send(c, msg, len);
		return;
	}
	copy = kzalloc(LIE_MAX, GFP_KERNEL);
	if (!copy)
		return;
	memcpy(copy, msg, len);
	lie(c, copy, len);
	kfree(copy);
}

static void write_imm(struct peer_conn *c, u32 rkey, u64 to, u32 len, u32 imm, bool read)
{
	struct ib_sge sge = {
		.addr = c->buf_dma, .length = len, .lkey = c->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE_WITH_IMM,
		.wr.sg_list = &sge,
		.wr.num_sge = !!len,
		.wr.ex.imm_data = cpu_to_be32(imm),
		.remote_addr = to,
		.rkey = rkey,
	};

	peer_post(c, &wr.wr, &wr.wr);
}

/**
 * peer_push() - a pushed read, or a lie in its place
 * @c: connection
 * @to: bounce offset
 * @len: bytes
 * @imm: immediate
 */
void peer_push(struct peer_conn *c, u64 to, u32 len, u32 imm)
{
	u32 rkey = c->sv->bounce_rkey;

	if (len > PEER_BUF)
		return;
	if (peer_lies(c)) {
		switch (below(c, 8)) {
		case 0:
			imm ^= 1U << below(c, 32);
			break;
		case 1:
			imm = odd_number(c);
			break;
		case 2:
			to = odd_number(c);
			break;
		case 3:
			len = odd_number(c) % PEER_BUF;
			break;
		case 4:
			rkey ^= 1U << below(c, 32);
			break;
		case 5:
			write_imm(c, rkey, to, len, imm, false);	/* twice */
			break;
		case 6:
			len = 0;
			break;
		case 7:
			return;
		}
	}
	write_imm(c, rkey, to, len, imm, false);
}

static void flood(struct peer_conn *c)
{
	struct rdda_hdr h = { .type = RDDA_PING, .len = cpu_to_le32(sizeof(h)) };
	unsigned int i;

	for (i = 0; i < 200 && !c->lost; i++)
		peer_send(c, &h, sizeof(h));
}

/**
 * peer_lie_unasked() - send a message that the client does not expect
 * @c: connection, with a bounce arena
 */
void peer_lie_unasked(struct peer_conn *c)
{
	struct {
		struct rdda_hdr hdr;
		struct rdda_done done;
	} d = {
		.hdr.type = RDDA_DONE,
		.hdr.count = cpu_to_le16(1),
		.hdr.len = cpu_to_le32(sizeof(d)),
		.done.cid = cpu_to_le16(c->sv->cid),
	};
	u32 rkey = c->sv->bounce_rkey;
	u8 *msg;

	switch (below(c, 9)) {
	case 0:			/* once more what is done */
		peer_send(c, &d, sizeof(d));
		break;
	case 1:
		d.done.cid = cpu_to_le16(odd_number(c));
		peer_send(c, &d, sizeof(d));
		break;
	case 2:
		write_imm(c, rkey, 0, 512, RDDA_IMM(c->sv->cid, 0, 0), false);
		break;
	case 3:
		write_imm(c, rkey, 0, 0, odd_number(c), false);
		break;
	case 4:			/* beyond its end */
		write_imm(c, rkey, c->sv->bounce_len - 512, 4096,
			  RDDA_IMM(c->sv->cid, 0, 0), false);
		break;
	case 5:			/* which we have no right to */
		write_imm(c, rkey, 0, 4096, 0, true);
		break;
	case 6:
		flood(c);
		break;
	default:
		msg = kzalloc(LIE_MAX, GFP_KERNEL);
		if (msg)
			peer_send(c, msg, random_message(c, msg));
		kfree(msg);
	}
}
