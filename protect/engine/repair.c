// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows that members could not read: the scrub's op goes there first, and rewrites the rows. First
 * come requests with rows unreadable on too many members: each row may be readable from others.
 * Such an op is an entry by itself, so there is always room. The ops take turns; each is checked
 * row by row to the end of its rows, and begins again then. An op thus waits for no more than the
 * other waiting ops. Then comes a set of rows readable from other members: rows that meet are one
 * entry, and the oldest goes first. Rows without room are left to the next scrub. A scrub
 * rewrites unreadable rows on the way itself.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "protect/engine/group_priv.h"

/* @op could not read these rows of a member. An op of the scrub rewrites them without a note. */
void prot_repair_note(struct prot_group *g, const struct prot_gop *op, u64 addr, u32 length)
{
	struct prot_rows *r = g->repair;

	if (op->purpose == PROT_FOR_SCRUB || g->cfg.ro || PROT_MUTANT(NO_REPAIR))
		return;
	for (; r < g->repair + g->repairs; r++) {
		u64 first = min(r->addr, addr), end = max(r->addr + r->length, addr + length);

		if (addr > r->addr + r->length || r->addr > addr + length ||
		    (end - first) >> 32)
			continue;
		r->addr = first;
		r->length = end - first;
		return;
	}
	if (g->repairs < PROT_REPAIRS)
		g->repair[g->repairs++] = (struct prot_rows){ .addr = addr, .length = length };
}

/* True: @op may begin again, after a repair of its rows. */
bool prot_repair_wait(struct prot_gop *op)
{
	if (op->retried == PROT_RETRIES || PROT_MUTANT(NO_REPAIR))
		return false;
	op->retried++;
	return true;
}

/* @op has entered its waiting phase: its rows are to be checked one by one. */
void prot_repair_queue(struct prot_group *g, struct prot_gop *op)
{
	op->repair = 1;
	op->pos = 0;
	g->repair_ops++;
}

/* The waiting op in hand, or the next one. */
static struct prot_gop *repair_op(struct prot_group *g)
{
	u32 i;

	for (i = 0; g->repair_ops && i < g->cfg.ops; i++) {
		if (prot_gop(g, g->repair_at)->repair)
			return prot_gop(g, g->repair_at);
		g->repair_at = (g->repair_at + 1) % g->cfg.ops;
	}
	return NULL;
}

/* The next rows to repair; false: none. */
bool prot_repair_next(struct prot_group *g, struct prot_rows *rows)
{
	const struct prot_gop *op = repair_op(g);

	if (op)
		*rows = (struct prot_rows){ .addr = op->addr + op->pos,
					    .length = op->length - op->pos, .narrow = 1 };
	else if (g->repairs)
		*rows = g->repair[0];
	return op || g->repairs;
}

/* @length bytes of the next rows are in hand. */
void prot_repair_began(struct prot_group *g, u32 length)
{
	struct prot_gop *op = repair_op(g);
	struct prot_rows *r = g->repair;
	u32 i;

	if (op) {
		op->pos += length;
	} else if (r->length > length) {
		r->addr += length;
		r->length -= length;
	} else {
		g->repairs--;
		for (i = 0; i < g->repairs; i++)
			r[i] = r[i + 1];
	}
}

/* The rows in hand are over. */
void prot_repair_ended(struct prot_group *g)
{
	struct prot_gop *op = repair_op(g);

	if (!op || op->pos < op->length)
		return;
	g->repair_at = (g->repair_at + 1) % g->cfg.ops;
	prot_policy(g)->repaired(g, op);
}
