// SPDX-License-Identifier: GPL-2.0-only
/*
 * The speed of a group's background work: resynchronisation, catch-up, rebuild, scrub.
 *
 *   requests in the last PACE_RECENT:  sync_min    none:  sync_max (0: no limit)
 *
 * in MB/s of each member. A timer gives allowances out chunk by chunk, and evenly: the work of an
 * allowance begins at once, and requests that come then wait behind the work.
 */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "driver/group/group.h"
#include "driver/volume/volume.h"

#define PACE_RECENT	(HZ / 4)
#define PACE_MB		1000000
#define PACE_PART	SZ_64K			/* bytes given out at a time */
#define PACE_LEAST_NS	(100 * NSEC_PER_USEC)	/* ... and more bytes, not more often */
#define PACE_MOST_NS	(4 * NSEC_PER_MSEC + TICK_NSEC)	/* time beyond adds no allowance */

/* A request comes; any context. */
void mesh_group_used(struct mesh_group *g)
{
	unsigned long now = jiffies;

	/* requests of all CPUs come here: written once a tick of the clock */
	if (READ_ONCE(g->used_at) ^ now)
		WRITE_ONCE(g->used_at, now);
}

static bool pace_beside(struct mesh_group *g)
{
	return time_before(jiffies, READ_ONCE(g->used_at) + PACE_RECENT);
}

/* MB/s, 0: no limit. */
static u32 pace_rate(struct mesh_group *g)
{
	return pace_beside(g) ? READ_ONCE(g->vol->sync_min) : READ_ONCE(g->vol->sync_max);
}

u64 mesh_group_rate(struct mesh_group *g)
{
	return (u64)pace_rate(g) * PACE_MB;
}

/* Nanoseconds in which PACE_PART is allowed. */
static u64 pace_period(u32 rate)
{
	return clamp_t(u64, div_u64((u64)PACE_PART * 1000, rate), PACE_LEAST_NS, PACE_MOST_NS);
}

/* True: there is background work to be paced. */
static bool pace_work(const struct mesh_group *g)
{
	const struct prot_group *e = g->engine;

	if (g->state != MESH_GROUP_ACTIVE || test_bit(MESH_G_ENDING, &g->flags))
		return false;
	return e->scrubbing || ((e->joining || e->unsynced) && !e->sync.stalled);
}

/* A request comes: background work without a limit gets a limit at once. The runner's. */
void mesh_group_pace_request(struct mesh_group *g)
{
	if (g->engine->allowance == PROT_NO_LIMIT && pace_work(g) && READ_ONCE(g->vol->sync_min))
		set_bit(MESH_G_PACE, &g->flags);
}

/* Set the timer for the next part, if background work waits for the part. The runner's. */
void mesh_group_pace_arm(struct mesh_group *g)
{
	u32 rate = pace_rate(g);

	if (rate && g->engine->allowance != PROT_NO_LIMIT && pace_work(g))
		hrtimer_start(&g->pacer, ns_to_ktime(g->paced_at + pace_period(rate)),
			      HRTIMER_MODE_ABS_SOFT);
}

/* Give an allowance: time has passed, or the engine has begun. */
void mesh_group_pace(struct mesh_group *g)
{
	u64 now = ktime_get_ns(), ns = now - g->paced_at;
	struct prot_group *e = g->engine;
	u32 rate = pace_rate(g);

	/* a detach waits for copies to be in sync, and for no rebuild */
	if (test_bit(MESH_G_ENDING, &g->flags)) {
		prot_group_allow(e, e->unsynced && !e->joining ? PROT_NO_LIMIT : 0, false);
		return;
	}
	/* too early: the time so far still counts at the next call */
	if (rate && e->allowance != PROT_NO_LIMIT && ns < pace_period(rate))
		return;
	/* there was no limit until now: no allowance is due for the time before */
	if (e->allowance == PROT_NO_LIMIT)
		ns = 0;
	g->paced_at = now;
	prot_group_allow(e, rate ? div_u64(rate * min_t(u64, ns, PACE_MOST_NS), 1000) :
			 PROT_NO_LIMIT, pace_beside(g));
}

static enum hrtimer_restart pace_over(struct hrtimer *t)
{
	mesh_group_flag(container_of(t, struct mesh_group, pacer), MESH_G_PACE);
	return HRTIMER_NORESTART;
}

void mesh_group_pace_init(struct mesh_group *g)
{
	hrtimer_init(&g->pacer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	g->pacer.function = pace_over;
	g->paced_at = ktime_get_ns();
	g->used_at = jiffies;
}
