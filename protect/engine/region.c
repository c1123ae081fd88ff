// SPDX-License-Identifier: GPL-2.0-only
/* Sets of regions, changed in words where many regions change at once. */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

void prot_region_put(struct prot_group *g, u32 set, u32 region)
{
	if (set == PROT_SET_UNSYNCED)
		g->unsynced += !prot_region_in(g, set, region);
	prot_set_put(prot_regions(g, set), g->shape.nr_regions, region);
}

void prot_region_drop(struct prot_group *g, u32 set, u32 region)
{
	if (set == PROT_SET_UNSYNCED)
		g->unsynced -= prot_region_in(g, set, region);
	prot_set_drop(prot_regions(g, set), g->shape.nr_regions, region);
}

/* Put regions from @from on, 64 at most: the regions with a bit in @bits. */
void prot_regions_put(struct prot_group *g, u32 set, u32 from, u64 bits)
{
	u64 *s = prot_regions(g, set);

	if (set == PROT_SET_UNSYNCED)
		g->unsynced += prot_weight(bits & ~prot_set_word(s, g->shape.nr_regions, from));
	prot_set_put_word(s, g->shape.nr_regions, from, bits);
}

/*
 * Put all regions of set @from into @set. @set: not PROT_SET_UNSYNCED, because its regions are
 * counted.
 */
void prot_regions_add(struct prot_group *g, u32 set, u32 from)
{
	prot_set_add(prot_regions(g, set), prot_regions(g, from), g->shape.nr_regions);
}

void prot_regions_none(struct prot_group *g, u32 set)
{
	memset(prot_regions(g, set), 0, g->shape.set_words * sizeof(u64));
}

void prot_regions_all(struct prot_group *g, u32 set)
{
	u32 n = g->shape.nr_regions, i;

	for (i = 0; i < n; i += 64)
		prot_regions_put(g, set, i, n - i < 64 ? PROT_BIT(n - i) - 1 : ~0ULL);
}

/* Absent slots in use whose member lacks writes to @region. */
u64 prot_region_missed(const struct prot_group *g, u32 region)
{
	u64 slots = prot_absent(g), missed = 0;

	for (; slots; slots &= slots - 1) {
		u32 slot = prot_lowest(slots);

		if (prot_region_in(g, PROT_SET_MISSED + slot, region))
			missed |= PROT_BIT(slot);
	}
	return missed;
}

/* True: the INTENT bit of @region is set on the media of all @members. */
bool prot_durable_on(const struct prot_group *g, u32 region, u64 members)
{
	for (; members; members &= members - 1)
		if (!prot_region_in(g, prot_durable(g, prot_lowest(members)), region))
			return false;
	return true;
}

/* Nothing on the media of @members counts any more. */
void prot_durable_strike(struct prot_group *g, u64 members)
{
	if (!prot_policy(g)->intent)
		return;
	for (; members; members &= members - 1)
		prot_regions_none(g, prot_durable(g, prot_lowest(members)));
}
