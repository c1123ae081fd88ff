// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members of a group: in sync or not, and the regions missed by members that are out.
 *
 *   in sync --write fails--> failed --epoch without it--> absent <-.
 *      ^                        ^                           | join, replace
 *      '-epoch with it-announced' <- promoting <----- joining --fails--'
 *                                  misses nothing,     what it missed is
 *                                  gets its bitmaps    copied (sync.c)
 *
 * Nothing is decided without a committed epoch: an op with a write to a failed member waits for
 * the epoch. A joining member is written to but never read.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "protect/engine/group_priv.h"

/* @member is out since epoch @left: the member's absent slot is in use. */
void prot_absent_take(struct prot_group *g, u32 member, u64 left)
{
	g->cfg.left[member] = left;
	g->kept |= PROT_BIT(PROT_MISSED + member);
}

/* Members written in a region: in sync, or joining and whole there. */
u64 prot_targets(const struct prot_group *g, u32 region)
{
	u64 missed = prot_region_missed(g, region);

	if (PROT_MUTANT(SKIP_BELOW))
		return g->in_sync;
	/* new writes reach the destination of a copy while the region is being copied */
	missed &= ~prot_sync_hand(g, region)->slots;
	return g->in_sync | (g->joining & ~missed);
}

static void member_stop(struct prot_group *g)
{
	g->state = PROT_G_STOPPED;
	prot_ready_all(g);
}

/* Any write in flight counts as missed by the member of this absent slot. */
static void member_miss_unfinished(struct prot_group *g, u32 slot)
{
	if (!PROT_MUTANT(MISSED_EMPTY))
		prot_policy(g)->miss_unfinished(g, slot);
	prot_bitmap_touch_all(g, PROT_MISSED + slot);
}

static void member_strike(struct prot_group *g, u64 left)
{
	u32 i;

	for (i = 0; i < g->cfg.ops; i++)
		prot_gop(g, i)->targets &= ~left;
	prot_durable_strike(g, left);
	prot_sync_strike(g, left);
	if (prot_policy(g)->strike)
		prot_policy(g)->strike(g, left);
	prot_ready_all(g);
}

/* A joining member has failed or left: regions that may be missing there are marked missed. */
static void member_drop_joining(struct prot_group *g, u32 member)
{
	u64 bit = PROT_BIT(member);

	g->joining &= ~bit;
	g->promoting &= ~bit;
	g->announced &= ~bit;
	prot_sync_forget(g, member);
	member_miss_unfinished(g, member);
	member_strike(g, bit);
}

void prot_member_failed(struct prot_group *g, u32 member)
{
	u64 bit = PROT_BIT(member);

	/*
	 * An epoch in flight may call an announced member in sync. A failed announced member
	 * therefore needs an epoch without the member, like members in sync.
	 */
	if (g->joining & ~g->announced & bit) {
		member_drop_joining(g, member);
	} else if ((g->in_sync | g->announced) & ~g->failed & bit) {
		g->failed |= bit;
		if (!prot_enough(g) || g->state != PROT_G_SERVING)
			member_stop(g);
		prot_ready_all(g);
	}
}

/* A mutant: the failed writes of @member count as done. */
void prot_member_believe(struct prot_group *g, u32 member)
{
	u32 i;

	g->failed &= ~PROT_BIT(member);
	g->requested &= ~PROT_BIT(member);
	for (i = 0; i < g->cfg.ops; i++)
		prot_gop(g, i)->ok |= prot_gop(g, i)->ended & PROT_BIT(member);
	prot_ready_all(g);
}

void prot_group_leave(struct prot_group *g, u8 member)
{
	if (g->joining >> member & 1)
		prot_member_failed(g, member);
}

void prot_group_fail(struct prot_group *g, u8 member)
{
	prot_member_failed(g, member);
}

void prot_group_avoid(struct prot_group *g, u64 members)
{
	if (g->avoid == members)
		return;
	g->avoid = members;
	prot_ready_all(g);	/* a read planned with a rebuild may need fewer strips now */
}

u64 prot_group_behind(const struct prot_group *g, u8 member)
{
	const u64 *set = prot_regions(g, PROT_SET_MISSED + member);
	u64 n = 0;
	u32 i;

	if (!(prot_absent(g) >> member & 1))
		return 0;
	for (i = 0; i < g->shape.nr_regions; i += 64)
		n += prot_weight(prot_set_word(set, g->shape.nr_regions, i));
	return min(n << g->shape.region_shift, g->cfg.bytes);
}

static void member_depart(struct prot_group *g, u32 member, u64 epoch)
{
	prot_absent_take(g, member, epoch);
	member_miss_unfinished(g, member);
}

/* @member has all data now, also sectors unreadable before the member was out. */
static void member_arrive(struct prot_group *g, u32 member)
{
	u64 bit = PROT_BIT(member);
	u32 i;

	for (i = 0; i < g->cfg.ops; i++)
		prot_gop(g, i)->tried &= ~bit;
	prot_regions_none(g, PROT_SET_MISSED + member);
	g->kept &= ~PROT_BIT(PROT_MISSED + member);
	g->taken &= ~bit;
	g->joining &= ~bit;
	g->promoting &= ~bit;
	g->announced &= ~bit;
}

void prot_group_epoch(struct prot_group *g, u64 epoch, u64 in_sync)
{
	u64 left = g->in_sync & ~in_sync, came = in_sync & ~g->in_sync;
	u32 i;

	if (WARN_ON_ONCE(came & ~g->announced))
		return;
	g->cfg.epoch = epoch;
	for (i = 0; i < g->cfg.width; i++) {
		if (left >> i & 1)
			member_depart(g, i, epoch);
		if (g->announced & g->failed & ~in_sync & PROT_BIT(i)) {
			member_drop_joining(g, i);
			g->cfg.left[i] = epoch;
		}
		if (came >> i & 1)
			member_arrive(g, i);
	}
	g->in_sync = in_sync;
	g->failed &= in_sync;
	g->requested &= in_sync;
	g->sync.stalled = 0;
	g->sync.unread = PROT_NO_REGION;
	member_strike(g, left);
	if (!prot_enough(g))
		member_stop(g);
}

static bool member_io_out(const struct prot_group *g, u32 member)
{
	u32 i;

	if (PROT_MUTANT(REPLACE_EARLY))
		return false;
	for (i = 0; i < g->cfg.ops; i++)
		if ((prot_gop(g, i)->sent & ~prot_gop(g, i)->ended) >> member & 1)
			return true;
	return g->meta[member].busy || prot_bitmap_busy(g, member);
}

int prot_group_join(struct prot_group *g, u8 member)
{
	if (!((prot_absent(g) & ~g->joining) >> member & 1) || g->state != PROT_G_SERVING)
		return -EINVAL;
	if (member_io_out(g, member))
		return -EBUSY;
	prot_durable_strike(g, PROT_BIT(member));
	g->joining |= PROT_BIT(member);
	g->sync.stalled = 0;
	prot_bitmap_forget(g, member);
	if (PROT_MUTANT(STALE_BACK))
		prot_regions_none(g, PROT_SET_MISSED + member);
	return 0;
}

int prot_group_replace(struct prot_group *g, u8 member, const u8 *uuid, u64 epoch)
{
	u32 i;

	if (!((prot_absent(g) & ~g->joining) >> member & 1) || g->state != PROT_G_SERVING)
		return -EINVAL;
	if (member_io_out(g, member))
		return -EBUSY;
	memcpy(g->cfg.uuid[member], uuid, PROT_UUID_LEN);
	g->cfg.epoch = max(g->cfg.epoch, epoch);
	g->cfg.left[member] = epoch;
	/* sectors found by a scrub there belong to the old member */
	for (i = 0; i < min_t(u32, g->nr_diffs, PROT_DIFFS); i++)
		if (g->diffs[i].member == member)
			g->diffs[i].member = PROT_NO_SOURCE;
	prot_regions_all(g, PROT_SET_MISSED + member);
	prot_bitmap_touch_all(g, PROT_MISSED + member);
	return prot_group_join(g, member);
}

static bool member_report(struct prot_event *ev, u8 kind, u64 members)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = kind;
	ev->members = members;
	return true;
}

/* Report a change of members or of the group to the caller. True: @ev is filled in. */
bool prot_member_event(struct prot_group *g, struct prot_event *ev)
{
	const struct prot_policy *policy = prot_policy(g);
	u64 lost = g->failed & ~g->requested;
	u64 left = g->promoting & ~g->announced;

	if (g->state == PROT_G_STOPPED && !g->stopped_reported) {
		g->stopped_reported = 1;
		return member_report(ev, PROT_EV_STOPPED, g->failed);
	}
	if (g->state == PROT_G_SERVING && !g->serving_reported) {
		g->serving_reported = 1;
		return member_report(ev, PROT_EV_SERVING, g->replayed);
	}
	/* with too few left in sync no epoch can help */
	if (lost && prot_enough(g)) {
		g->requested |= lost;
		return member_report(ev, PROT_EV_EPOCH, lost);
	}
	for (; left; left &= left - 1) {
		u32 i = prot_lowest(left);

		if (prot_bitmap_has(g, i) && (!policy->may_join || policy->may_join(g, i))) {
			g->announced |= PROT_BIT(i);
			return member_report(ev, PROT_EV_CAUGHT_UP, PROT_BIT(i));
		}
	}
	return false;
}
