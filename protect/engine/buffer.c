// SPDX-License-Identifier: GPL-2.0-only
/* Private buffers: the buffer of an op, in the op's turn, and spares (aside.c). */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "protect/engine/group_priv.h"

bool prot_buf_small(const struct prot_group *g, u32 buf)
{
	return buf >= g->cfg.bufs;
}

void prot_buf_spare(struct prot_group *g, u32 buf)
{
	prot_set_put(prot_spare_bufs(g), prot_nr_bufs(&g->cfg), buf);
	g->spares[prot_buf_small(g, buf)]++;
}

/* Buffers of one size in which reads may hang: the spares are not among the number. */
u32 prot_buf_may_hang(const struct prot_group *g, bool small)
{
	const struct prot_group_config *c = &g->cfg;

	return (small ? c->smalls : c->bufs - g->shape.first_buf) - c->spares[small];
}

/* Where the private buffer of a background op is noted. */
u16 *prot_own_buf(const struct prot_group *g, const struct prot_gop *op)
{
	u32 i = prot_gop_index(g, op);

	if (i < g->shape.next_ops)
		return prot_own_bufs(g) + i;
	i -= g->shape.next_ops;
	return prot_own_bufs(g) + PROT_BUF_FIRST * (i / 2 + 1) + i % 2;
}

static u32 buffer_queue(const struct prot_gop *op, bool small)
{
	if (op->kind == PROT_READ)
		return small ? PROT_Q_SMALL_READ : PROT_Q_READ_BUF;
	return small ? PROT_Q_SMALL : PROT_Q_BUF;
}

/* A free one, from @i on. */
static u32 buffer_next(const struct prot_group *g, u32 i, bool small)
{
	i = prot_set_next(prot_free_bufs(g), prot_nr_bufs(&g->cfg), i);
	return small || i < g->cfg.bufs ? i : PROT_SET_NONE;
}

/*
 * A buffer for @op, in the op's turn. All buffers of writes may wait for an epoch, and then no
 * read could be rebuilt: reads have a share of the buffers, left alone by writes, and a queue for
 * themselves. Beyond the share, waiting writes come first.
 */
u32 prot_buf_next(const struct prot_group *g, const struct prot_gop *op, bool small)
{
	u32 keep = g->shape.kept_bufs[small];
	u32 i = buffer_next(g, small ? g->cfg.bufs : 0, small);

	keep -= min(keep, g->read_bufs[small]);
	if (!prot_turn(g, op, buffer_queue(op, small)))
		return PROT_SET_NONE;
	if (op->kind == PROT_READ)
		return keep || prot_queue(g, small ? PROT_Q_SMALL : PROT_Q_BUF)->head ==
			       PROT_NONE16 ? i : PROT_SET_NONE;
	if (PROT_MUTANT(NO_RESERVE))
		return i;
	for (; keep && i != PROT_SET_NONE; keep--)
		i = buffer_next(g, i + 1, small);
	return i;
}

/*
 * A small request waits for a small buffer alone, so large requests never hold a small one up. A
 * small request that @grows also takes a large buffer, if one is free at once: other writes could
 * go with the request then.
 */
bool prot_buf_get(struct prot_group *g, struct prot_gop *op, bool grows)
{
	bool small = g->cfg.smalls && op->length <= g->cfg.small;
	u32 i = PROT_SET_NONE;

	if (op->purpose != PROT_FOR_REQUEST) {
		op->buf = *prot_own_buf(g, op);
		return true;
	}
	if (!small || grows)
		i = prot_buf_next(g, op, false);
	if (small && i == PROT_SET_NONE)
		i = prot_buf_next(g, op, true);
	if (i == PROT_SET_NONE) {
		g->counts.buffer_waits += prot_wait(g, op, buffer_queue(op, small));
		return false;
	}
	prot_set_drop(prot_free_bufs(g), prot_nr_bufs(&g->cfg), i);
	g->read_bufs[i >= g->cfg.bufs] += op->kind == PROT_READ;
	op->buf = i;
	return true;
}

/* Ops may have @i. */
void prot_buf_free(struct prot_group *g, u32 i)
{
	bool small = i >= g->cfg.bufs;

	prot_set_put(prot_free_bufs(g), prot_nr_bufs(&g->cfg), i);
	prot_wake(g, small ? PROT_Q_SMALL : PROT_Q_BUF);
	prot_wake(g, small ? PROT_Q_SMALL_READ : PROT_Q_READ_BUF);
}

/*
 * No op has @buf any more. True: the buffer is kept as a spare and not free for the next op. One
 * spare is in stock as long as reads may hang in more buffers; without a spare a second hanging
 * drive would stop all ops.
 */
static bool buffer_keep(struct prot_group *g, u32 buf)
{
	bool small = prot_buf_small(g, buf);

	if (!g->cfg.spares[small] || g->spares[small] ||
	    g->hung_bufs[small] >= prot_buf_may_hang(g, small))
		return false;
	prot_buf_spare(g, buf);
	return true;
}

void prot_buf_put(struct prot_group *g, struct prot_gop *op)
{
	if (op->buf != PROT_NONE16 && op->purpose == PROT_FOR_REQUEST) {
		g->read_bufs[op->buf >= g->cfg.bufs] -= op->kind == PROT_READ;
		if (!buffer_keep(g, op->buf))
			prot_buf_free(g, op->buf);
	}
	op->buf = PROT_NONE16;
}
