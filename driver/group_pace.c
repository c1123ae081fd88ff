// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast a group's background work may be: resynchronisation, catch-up, rebuild, scrub.
 *
 *   requests in the last PACE_RECENT:  sync_min    none:  sync_max (0: any)
 *
 * in MB/s of each member, given out at each tick of the timer, without what was left over.
 */
#include "driver/group.h"
#include "driver/volume.h"

#define PACE_RECENT	(HZ / 4)
#define PACE_MB		1000000

/* A request comes; any context. */
void mesh_group_used(struct mesh_group *g)
{
	unsigned long now = jiffies;

	/* requests of all CPUs come here: written once a tick of the clock */
	if (READ_ONCE(g->used_at) ^ now)
		WRITE_ONCE(g->used_at, now);
}

u64 mesh_group_rate(struct mesh_group *g)
{
	bool used = time_before(jiffies, READ_ONCE(g->used_at) + PACE_RECENT);
	u64 rate = used ? READ_ONCE(g->vol->sync_min) : READ_ONCE(g->vol->sync_max);

	return rate * PACE_MB;
}

/* Time has passed, or the engine has begun. */
void mesh_group_pace(struct mesh_group *g)
{
	u64 rate = mesh_group_rate(g);
	u64 ms = jiffies_to_msecs(min_t(unsigned long, jiffies - g->paced_at, HZ));

	g->paced_at = jiffies;
	/* what a detach waits for, and nothing else */
	if (test_bit(MESH_G_ENDING, &g->flags)) {
		prot_group_allow(g->engine, g->engine->unsynced ? PROT_NO_LIMIT : 0);
		return;
	}
	prot_group_allow(g->engine, rate ? div_u64(rate * ms, 1000) : PROT_NO_LIMIT);
}
