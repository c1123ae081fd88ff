// SPDX-License-Identifier: GPL-2.0-only
/*
 * A scrub of an erasure-coded group: consequences of the codec's findings in the rows of an op.
 * If all strips can be read, the whole chunk is verified at once. Otherwise the op goes on row by
 * row, so that readable rows are not overwritten.
 */
#include <linux/kernel.h>

#include "protect/ec/ec_priv.h"

/* The row at @at has strip @found - 1 wrong, or more than one. Return: strips to be rewritten. */
static u64 scrub_row(struct prot_group *g, struct prot_gop *op, u32 at, u8 found)
{
	u64 addr = op->addr + at;

	if (found != PROT_ROW_UNEXPLAINED) {
		prot_scrub_found(g, prot_ec_member(g, prot_ecop(g, op), found - 1), addr);
		return PROT_BIT(found - 1);
	}
	g->unexplained++;
	prot_scrub_found(g, PROT_NO_SOURCE, addr);
	return prot_ec_all_parity(g);
}

static void scrub_verified(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);
	const u8 *rows = prot_ec_frame(g, op) + prot_ec_old(g, op, 0);
	u32 at;

	for (at = e->from; at < e->from + e->length; at += g->cfg.lba) {
		u64 strips = rows[at] == PROT_ROW_RIGHT ? 0 : scrub_row(g, op, at, rows[at]);

		if (!e->remake || !prot_scrub_repairs(g, op))
			continue;
		g->repaired += prot_weight(strips);
		e->fix |= prot_ec_members(g, e, strips);
	}
}

/* The codec is done: findings are counted, and @fix has the members to be rewritten. */
void prot_ec_scrub_computed(struct prot_group *g, struct prot_gop *op)
{
	struct prot_ecop *e = prot_ecop(g, op);

	if (e->plan == PROT_PLAN_REBUILD)
		e->fix = prot_scrub_unread(g, op, e->fix);
	else if (prot_scrub_counts(g, op))
		scrub_verified(g, op);
}

/* @op is through with the rows in hand. @all: the rows were compared. */
enum prot_ec_verdict prot_ec_scrub_next(struct prot_group *g, struct prot_gop *op, bool all)
{
	prot_scrub_compared(g, op, op->chunk, all);
	op->pos += op->chunk;
	if (op->pos >= op->length)
		return PROT_EC_END;
	/* if the phase stays the same, only @again makes the op ready once more */
	op->again = 1;
	op->tried = 0;
	return PROT_EC_AGAIN;
}
