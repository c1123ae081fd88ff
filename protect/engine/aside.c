// SPDX-License-Identifier: GPL-2.0-only
/*
 * I/O of a member that is out, and whose device neither ends nor fails the I/O: the op goes on
 * without.
 *
 *   write   the result is given early; any content may land (prot_group_lets_go())
 *   read    into a private buffer: the op gets another one
 *
 *             op: buffer 7 <-- read            op: buffer 9, planned again
 *             spares: 9           --------->   hung: 7 <-- read
 *                                                    '-- the read is back --> spares
 *
 * Spares are in no set of free buffers. Without a spare the op gets a free buffer under the rules
 * of a new op, or the next buffer put back: a group whose buffers are all stuck replaces one
 * after the other.
 */
#include <linux/kernel.h>

#include "protect/engine/group_priv.h"

/* A buffer for @op in place of @buf, where a read hangs; or PROT_NONE16. */
u16 prot_aside_take(struct prot_group *g, const struct prot_gop *op, u32 buf)
{
	bool small = prot_buf_small(g, buf);
	u64 *from = prot_spare_bufs(g);
	u32 i, n = prot_nr_bufs(&g->cfg);

	if (!g->cfg.spares[small] || g->hung_bufs[small] >= prot_buf_may_hang(g, small))
		return PROT_NONE16;
	if (g->spares[small]) {
		i = prot_set_next(from, n, small ? g->cfg.bufs : 0);
		g->spares[small]--;
	} else {
		from = prot_free_bufs(g);
		i = prot_buf_next(g, op, small);
		if (i == PROT_SET_NONE)
			return PROT_NONE16;
	}
	prot_set_drop(from, n, i);
	g->hung_bufs[small]++;
	return i;
}

void prot_aside_init(struct prot_group *g)
{
	const struct prot_group_config *c = &g->cfg;
	u32 i;

	for (i = 0; i < g->shape.first_buf; i++)
		prot_own_bufs(g)[i] = i;
	for (i = g->shape.first_buf; i < prot_nr_bufs(c); i++) {
		bool small = prot_buf_small(g, i);
		u32 end = small ? prot_nr_bufs(c) : c->bufs;

		if (i >= end - c->spares[small])
			prot_buf_spare(g, i);
		else
			prot_set_put(prot_free_bufs(g), prot_nr_bufs(c), i);
	}
}

bool prot_group_lets_go(const struct prot_group *g, u32 tag)
{
	const struct prot_gop *op;

	if (tag & PROT_TAG_META)
		return false;
	op = prot_gop(g, tag >> PROT_TAG_SHIFT);
	return op->kind != PROT_READ &&
	       (op->purpose == PROT_FOR_REQUEST || op->purpose == PROT_FOR_LEVEL);
}

bool prot_group_set_aside(struct prot_group *g, u32 tag, u32 buffer)
{
	u32 buf = buffer - PROT_BUFFER_PRIVATE;

	if (tag & PROT_TAG_META || buffer < PROT_BUFFER_PRIVATE || buffer >= PROT_BUFFER_META ||
	    !prot_policy(g)->set_aside ||
	    !prot_policy(g)->set_aside(g, prot_gop(g, tag >> PROT_TAG_SHIFT), buf))
		return false;
	(*prot_hung(g, buf))++;
	if (PROT_MUTANT(EC_ASIDE_FREE))
		prot_group_returned(g, buffer);
	return true;
}

void prot_group_returned(struct prot_group *g, u32 buffer)
{
	u32 buf = buffer - PROT_BUFFER_PRIVATE;

	/* the cache's buffers come behind the others and have no spares */
	if (!*prot_hung(g, buf) || --*prot_hung(g, buf) || buf >= prot_nr_bufs(&g->cfg))
		return;
	g->hung_bufs[prot_buf_small(g, buf)]--;
	if (g->spares[prot_buf_small(g, buf)] < g->cfg.spares[prot_buf_small(g, buf)])
		prot_buf_spare(g, buf);
	else
		prot_buf_free(g, buf);
}
