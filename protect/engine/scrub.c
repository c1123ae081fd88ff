// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scrub: chunk by chunk, each under a row lock, all copies are read and compared (mirror.c,
 * ec_scrub.c). Unreadable sectors are always rewritten. Differing sectors are counted and named
 * here, and changed if the scrub was begun to repair. The first of the scrub's ops also goes to
 * rows that could not be read elsewhere (repair.c). The op compares nothing there: those rows
 * have a turn in a scrub.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

/*
 * True: copies of the region may differ until resynchronised (M5), through no fault of the
 * members.
 */
bool prot_scrub_unsynced(const struct prot_group *g, u32 region)
{
	return prot_region_in(g, PROT_SET_UNSYNCED, region) && !PROT_MUTANT(SCRUB_UNSYNCED);
}

/*
 * Go on to rows that can be compared; false: none, or the step is over. A region to be
 * resynchronised is made equal then, and a single member has nothing to be compared with: rows
 * left out are counted.
 */
static bool scrub_rows(struct prot_group *g)
{
	u32 steps;

	for (steps = 0; steps < PROT_SYNC_STEPS; steps++) {
		u64 end = g->cfg.bytes;

		if (g->scrub_pos >= end) {
			g->scrubbing = !!g->scrub_out;
			return false;
		}
		if (prot_weight(g->in_sync) > 1) {
			u32 region = prot_region_of(g, g->scrub_pos);

			if (!prot_scrub_unsynced(g, region))
				return true;
			end = min(end, (u64)(region + 1) << g->shape.region_shift);
		}
		g->skipped += end - g->scrub_pos;
		g->scrub_pos = end;
	}
	g->sync.more = 1;
	return false;
}

/* The scrub's first op goes to unreadable rows, before all else; false: there are none. */
static bool scrub_start_repair(struct prot_group *g, struct prot_gop *op)
{
	struct prot_rows rows;

	if (!prot_repair_next(g, &rows))
		return false;
	op->kind = PROT_READ;
	op->purpose = PROT_FOR_SCRUB;
	g->repairing = 1;
	prot_sync_start_rows(g, op, rows.addr, rows.narrow);
	prot_repair_began(g, op->length);
	return true;
}

/* As many chunks as may be in flight. */
void prot_scrub_start(struct prot_group *g)
{
	u32 i;

	for (i = 0; i < g->chunks; i++) {
		struct prot_gop *op = prot_sync_op(g, PROT_OP_SCRUB, i);

		if (op->phase != PROT_P_FREE)
			continue;
		if (!i && scrub_start_repair(g, op))
			continue;
		if (!g->scrubbing || g->scrub_stop || !g->allowance || !scrub_rows(g))
			return;
		op->kind = PROT_READ;
		op->purpose = PROT_FOR_SCRUB;
		op->turn = g->scrub_turn;
		prot_sync_start_rows(g, op, g->scrub_pos, false);
		prot_pace_used(g, op->length);
		g->scrub_pos += op->length;
		g->scrub_out++;
	}
}

void prot_scrub_ended(struct prot_group *g, const struct prot_gop *op)
{
	if (prot_repairing(g, op)) {
		g->repairing = 0;
		prot_repair_ended(g);
		return;
	}
	g->scrub_out--;
	if (g->state != PROT_G_SERVING ||
	    (!g->scrub_out && (g->scrub_stop || g->scrub_pos >= g->cfg.bytes)))
		g->scrubbing = 0;
}

void prot_group_scrub(struct prot_group *g, const struct prot_scrub *how)
{
	g->scrub = *how;
	g->scrubbing = 1;
	g->scrub_stop = 0;
	g->scrub_pos = how->from & ~(u64)(g->cfg.lba - 1);
	if (g->scrub_pos)
		return;
	g->scrub_turn++;
	g->compared = 0;
	g->skipped = 0;
	g->mismatches = 0;
	g->unexplained = 0;
	g->repaired = 0;
	g->nr_diffs = 0;
	memset(g->diffs, 0, sizeof(g->diffs));
}

void prot_group_scrub_stop(struct prot_group *g)
{
	g->scrub_stop = 1;
	if (!g->scrub_out)
		g->scrubbing = 0;
}

/* True: findings of @op belong to the scrub in hand, not to an earlier scrub begun again since. */
bool prot_scrub_counts(const struct prot_group *g, const struct prot_gop *op)
{
	return !prot_repairing(g, op) && op->turn == g->scrub_turn;
}

/* True: @op changes readable sectors that differ. */
bool prot_scrub_repairs(const struct prot_group *g, const struct prot_gop *op)
{
	return prot_scrub_counts(g, op) && (g->scrub.repair || PROT_MUTANT(SCRUB_REWRITES));
}

/* @op is through with @bytes; @all: the bytes could be compared. */
void prot_scrub_compared(struct prot_group *g, const struct prot_gop *op, u32 bytes, bool all)
{
	if (!prot_scrub_counts(g, op))
		return;
	if (all)
		g->compared += bytes;
	else
		g->skipped += bytes;
}

/* Add the sector at @addr of @member to @d; false: not next to @d, or another member's. */
static bool scrub_joins(struct prot_diff *d, u8 member, u64 addr, u32 lba)
{
	if (d->member != member || ((u64)d->length + lba) >> 32)
		return false;
	if (addr + lba == d->addr)
		d->addr = addr;
	else if (addr != d->addr + d->length)
		return false;
	d->length += lba;
	return true;
}

/* The sector at @addr of @member has the wrong content. */
void prot_scrub_found(struct prot_group *g, u8 member, u64 addr)
{
	u32 kept = min_t(u32, g->nr_diffs, PROT_DIFFS), i;
	struct prot_diff *d = &g->diff_beyond;

	g->mismatches++;
	for (i = 0; i < kept; i++)
		if (scrub_joins(&g->diffs[i], member, addr, g->cfg.lba))
			return;
	if (g->nr_diffs > PROT_DIFFS && scrub_joins(d, member, addr, g->cfg.lba))
		return;
	if (kept < PROT_DIFFS)
		d = &g->diffs[kept];
	*d = (struct prot_diff){ .addr = addr, .length = g->cfg.lba, .member = member };
	g->nr_diffs++;
}

/*
 * @members cannot read a sector about to be rewritten by @op. An op is one error of a member,
 * however many of its sectors are unreadable. Return: the members not failed by then.
 */
u64 prot_scrub_unread(struct prot_group *g, struct prot_gop *op, u64 members)
{
	u64 now = members & ~op->unread;

	op->unread |= now;
	for (; now; now &= now - 1) {
		g->rewritten++;
		prot_error_count(g, prot_lowest(now));
	}
	members &= prot_live(g);
	g->repaired += prot_weight(members);
	return members;
}
