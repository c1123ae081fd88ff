// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is known of regions, and the sets that find those with something to do.
 * A set's membership is a function of the region's fields, so each change of
 * them goes through here.
 */
#include <linux/kernel.h>

#include "protect/group_priv.h"

static void region_place(struct prot_group *g, u32 set, u32 region, bool in)
{
	if (in)
		prot_set_put(prot_regions(g, set), g->shape.nr_regions, region);
	else
		prot_set_drop(prot_regions(g, set), g->shape.nr_regions, region);
}

static void region_set_flags(struct prot_group *g, u32 region, u8 flags)
{
	struct prot_region *r = prot_region(g, region);

	if (r->flags == flags)
		return;
	g->unsynced += !!(flags & PROT_R_UNSYNCED) - !!(r->flags & PROT_R_UNSYNCED);
	r->flags = flags;
	region_place(g, PROT_SET_CLEARABLE, region, flags == PROT_R_INTENT ||
		     (flags & PROT_R_INTENT && PROT_MUTANT(CLEAR_DIRTY)));
	region_place(g, PROT_SET_UNSYNCED, region, flags & PROT_R_UNSYNCED);
}

void prot_region_flag(struct prot_group *g, u32 region, u8 flag)
{
	region_set_flags(g, region, prot_region(g, region)->flags | flag);
}

void prot_region_unflag(struct prot_group *g, u32 region, u8 flag)
{
	region_set_flags(g, region, prot_region(g, region)->flags & ~flag);
}

void prot_region_miss(struct prot_group *g, u32 region, u32 slot)
{
	prot_region(g, region)->missed |= PROT_BIT(slot);
	region_place(g, PROT_SET_MISSED + slot, region, true);
}

void prot_region_got(struct prot_group *g, u32 region, u32 slot)
{
	prot_region(g, region)->missed &= ~PROT_BIT(slot);
	region_place(g, PROT_SET_MISSED + slot, region, false);
}
