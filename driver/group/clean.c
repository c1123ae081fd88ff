// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a group by a detach: all acknowledged data is in place on all members in sync, and a
 * last roster says so. Only such a group is attached for reading, because such an attach recovers
 * nothing.
 *
 *   no request comes any more -> regions are in sync, all other background work ends
 *                             -> no intent bit is set, no record would be replayed
 *                             -> the engine is quiet -> roster CLEAN
 *
 * If the end takes too long, or members fail, the next attach for writing recovers as ever. Intent
 * bits that stay set do not make the group unclean: copies are the same below the bits.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/delay.h>

#include "driver/group/group.h"
#include "driver/trace.h"
#include "driver/volume/volume.h"

#define CLEAN_WAIT	(8 * HZ)	/* within the wait of mesh_volume_await() */
#define CLEAN_POLL_MS	10
#define CLEAN_NOTED	(2 * HZ)

/* True: no acknowledged data is left to be put in place; with the engine owned. */
static bool clean_quiet(struct mesh_group *g)
{
	return !g->flying && list_empty(&g->waiting) && list_empty(&g->active) &&
	       llist_empty(&g->inbox) && prot_group_quiet(g->engine);
}

/* Return: NULL, or the reason why the group will not be clean, however long the wait. */
static const char *clean_unfit(struct mesh_group *g)
{
	const struct prot_group *e = g->engine;

	if (g->state != MESH_GROUP_ACTIVE)
		return "it does not serve";
	/* a rebuild goes through the same regions, and has no end in time */
	return e->unsynced && (e->joining || e->sync.stalled) ? "copies may differ" : NULL;
}

/*
 * Return: the work that has to end first, or NULL. After NULL, @why is NULL if nothing is left to
 * be done, else the reason why the group will not be clean.
 */
static const char *clean_left(struct mesh_group *g, const char **why)
{
	struct prot_group *e = g->engine;
	const char *left = NULL;
	bool settled;

	mesh_group_own(g);
	*why = clean_unfit(g);
	if (*why)
		goto out;
	prot_group_hurry(e);
	/* late clears are not begun, so the roster still has time to be written */
	settled = time_after_eq(jiffies, g->clean_by - CLEAN_NOTED) || prot_group_settle(e);
	if (e->unsynced || e->repairs)
		left = "copies may differ";
	else if (!clean_quiet(g) || e->failed)	/* a failed member is out soon */
		left = "writes in flight do not end";
	else if (!settled)
		left = "intent bits are still to be cleared";
	mesh_group_pace(g); /* without regions to resynchronise, background work stops at once */
out:
	mesh_group_release(g);
	return left;
}

/* Wait until the group is quiet. Return: NULL, or the reason why the group is not quiet. */
static const char *clean_wait(struct mesh_group *g)
{
	const char *left, *why;

	do {
		if (READ_ONCE(g->vol->forced))
			return "the detach is forced";
		left = clean_left(g, &why);
		if (!left)
			return why;
		msleep(CLEAN_POLL_MS);
	} while (time_before(jiffies, g->clean_by));
	return left;
}

/* With group->lock. Return: NULL, or the reason why the roster is not written. */
static const char *clean_roster(struct mesh_group *g)
{
	unsigned long until = min_t(unsigned long, g->clean_by, jiffies + CLEAN_NOTED);
	const char *left, *why;
	u64 broken, good;

	/* once more: an attach after a stop may have come before the lock was taken */
	left = clean_left(g, &why);
	if (left || why)
		return left ?: why;
	if (prot_membership_clean(&g->ms))
		return "a roster is not written yet";
	good = mesh_roster_write(g, prot_membership_unwritten(&g->ms), &broken);
	trace_mesh_group_roster(g, &g->ms.pend, good, !(g->ms.pend.in_sync & ~good));
	if (!prot_membership_written(&g->ms, good))
		return "a member does not take its roster";
	mesh_group_committed(g);
	/*
	 * without this note, the next attach that lacks a member takes the roster for one unknown
	 * to this host
	 */
	if (g->ms.cur.flags & PROT_ROSTER_WITNESS)
		mesh_group_noted(g, &g->ms.cur, time_before(jiffies, until) ? until - jiffies : 0);
	return NULL;
}

static bool clean_may(const struct mesh_group *g)
{
	return !g->cfg.ro && READ_ONCE(g->vol->orderly) && !READ_ONCE(g->vol->forced);
}

/* Start settling every group first, so that all settle in parallel. */
static void clean_begin(struct mesh_group *g)
{
	mesh_group_own(g);
	if (g->state == MESH_GROUP_ACTIVE)
		prot_group_settle(g->engine);
	mesh_group_release(g);
}

/* All groups of the volume have the same time to end. */
void mesh_groups_ending(struct mesh_layout *l)
{
	u32 i;

	for (i = 0; l->groups && i < l->prot->nr_places; i++) {
		struct mesh_group *g = l->groups[i];

		if (!g || !clean_may(g))
			continue;
		g->clean_by = jiffies + CLEAN_WAIT;
		set_bit(MESH_G_ENDING, &g->flags);
		mesh_group_flag(g, MESH_G_TICK);	/* no more background work */
		clean_begin(g);
	}
}

void mesh_group_clean(struct mesh_group *g)
{
	const char *why;

	if (!clean_may(g) || !test_bit(MESH_G_ENDING, &g->flags))
		return;
	why = clean_wait(g);
	if (!why) {
		mutex_lock(&g->lock);
		why = clean_roster(g);
		mutex_unlock(&g->lock);
	}
	if (why)
		pr_info("%s: group %u.%u is not detached cleanly, as %s: before it is attached for reading it has to be attached for writing\n",
			g->vol->conf.name, g->segment, g->column, why);
}
