/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A spare takes the place of a member that is lost for longer than the administrator waits.
 *
 *     out of its committed roster, and its drive is away --- delay ---> due: a task "volume replace"
 *
 * A member that is out on a drive that is there catches up: a spare would undo that work.
 */
#ifndef PLAN_SPARE_H
#define PLAN_SPARE_H

#include "userspace/plan/change.h"

#define PLAN_NO_PLACE	(~0U)

struct plan_spare {
	const struct plan_volume *volume;
	const struct plan_access *access;
	const struct plan_rosters *rosters;	/* NULL: none */
	bool	stopped;
	u32	left;		/* spares that the volume may use yet */
	bool	busy;		/* a task of the volume has not ended, or one failed a moment ago */
	/* By places: since when the drive is away, in the clock of @now; 0: it is not, or in maintenance. */
	const u64 *away;
	u64	now, delay;
};

/* True if the holder has reported that the member at @place is out of its group. */
bool plan_spare_out(const struct plan_spare *s, u32 place);

/**
 * plan_spare() - the place that is to be replaced now
 * Return: of the group that lacks most members the one that is lost for longest; or PLAN_NO_PLACE.
 */
u32 plan_spare(const struct plan_spare *s);

#endif
