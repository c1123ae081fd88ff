// SPDX-License-Identifier: GPL-2.0-only
/* Consequences of failed I/O to members: the rules in group.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

/* A write of @op on @member is to be sent, and counts as never sent. */
static void error_unsend(struct prot_gop *op, u32 member)
{
	op->sent &= ~PROT_BIT(member);
	op->ended &= ~PROT_BIT(member);
}

/* True: the write of @op is sent once more, or its error used up the budget of @member. */
static bool error_write_again(struct prot_group *g, struct prot_gop *op, u32 member, int err)
{
	u64 bit = PROT_BIT(member);

	switch (prot_class(err)) {
	case PROT_C_MEDIUM:
		if (op->twice & bit || (g->failed & bit))
			return false;
		op->twice |= bit;
		prot_error_count(g, member);
		if (!((g->in_sync | g->joining) & ~g->failed & bit))
			return true;	/* the error was one too many for the budget */
		break;
	case PROT_C_UNSUPPORTED:
		if (op->kind <= PROT_WRITE || op->plain & bit)
			return false;
		g->no_zeroes |= bit;
		break;
	default:
		return false;
	}
	if (PROT_MUTANT(ERROR_DONE))
		op->ok |= bit;
	else
		error_unsend(op, member);
	return true;
}

void prot_write_failed(struct prot_group *g, struct prot_gop *op, u32 member, int err)
{
	if (!error_write_again(g, op, member, err))
		prot_member_failed(g, member);
}

/*
 * One more error of @member was made good. Past the budget the member fails, unless the others
 * are too few.
 */
void prot_error_count(struct prot_group *g, u32 member)
{
	u32 most = g->cfg.errors ? g->cfg.errors : PROT_ERRORS_HOUR;

	if (++g->errors[member] <= most)
		return;
	if ((u32)prot_weight(prot_live(g) & ~PROT_BIT(member)) >= g->shape.data)
		prot_member_failed(g, member);
}

void prot_group_hour(struct prot_group *g)
{
	memset(g->errors, 0, sizeof(g->errors));
}

/* True: @member answers, and only this range cannot be read. */
bool prot_read_failed(struct prot_group *g, u32 member, int err)
{
	if (prot_class(err) == PROT_C_MEDIUM)
		return true;
	prot_member_failed(g, member);
	return false;
}

/* The same for records. True: the I/O about to end is to be sent once more. */
bool prot_meta_again(struct prot_group *g, u32 member, int err)
{
	struct prot_meta *m = &g->meta[member];

	if (!err)
		m->twice = 0;
	switch (prot_class(err)) {
	case PROT_C_MEDIUM:
		if (m->kind == PROT_READ || m->twice)
			return false;
		m->twice = 1;
		return true;
	case PROT_C_UNSUPPORTED:
		if (m->kind <= PROT_WRITE)
			return false;
		g->no_zeroes |= PROT_BIT(member);
		return true;
	default:
		return false;
	}
}
