// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast a group's background work may be: resynchronisation, catch-up, rebuild, scrub.
 *
 *   requests in the last PACE_RECENT:  sync_min    none:  sync_max (0: any)
 *
 * in MB/s of each member, without what was left over. It is given out in small parts: what a large
 * one allows is begun at once, and requests that come then wait behind it.
 */
#include "driver/group.h"
#include "driver/volume.h"

#define PACE_RECENT	(HZ / 4)
#define PACE_MB		1000000
#define PACE_TICK_MS	4

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

/* Jiffies until the next part of what is allowed; 0: no part is waited for. The runner's. */
unsigned long mesh_group_pace_tick(const struct mesh_group *g)
{
	const struct prot_group *e = g->engine;

	if (g->state != MESH_GROUP_ACTIVE || e->allowance == PROT_NO_LIMIT ||
	    test_bit(MESH_G_ENDING, &g->flags))
		return 0;
	return e->scrubbing || ((e->joining || e->unsynced) && !e->sync.stalled) ?
	       msecs_to_jiffies(PACE_TICK_MS) : 0;
}

/* Time has passed, or the engine has begun. */
void mesh_group_pace(struct mesh_group *g)
{
	u64 rate = mesh_group_rate(g);
	u64 ms = jiffies_to_msecs(min_t(unsigned long, jiffies - g->paced_at, HZ));

	g->paced_at = jiffies;
	/* a detach waits for copies to be in sync, and for no rebuild */
	if (test_bit(MESH_G_ENDING, &g->flags)) {
		prot_group_allow(g->engine, g->engine->unsynced && !g->engine->joining ?
				 PROT_NO_LIMIT : 0);
		return;
	}
	prot_group_allow(g->engine, rate ? div_u64(rate * ms, 1000) : PROT_NO_LIMIT);
}
