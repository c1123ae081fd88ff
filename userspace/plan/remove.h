/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host leaves the cluster: its key host/H stays as a tombstone, and its drives are forgotten.
 *
 *     in --TOMB: no target lets it in--> removed --WANTS..--> --FORGET: a task for each drive--> .. --> END
 *
 * Drives with data want "lost": the administrator says that the host never comes back.
 */
#ifndef PLAN_REMOVE_H
#define PLAN_REMOVE_H

#include "userspace/plan/objects.h"

enum plan_remove_what {
	PLAN_R_WAIT,		/* a drive is being forgotten, or the store was put back */
	PLAN_R_FAIL,		/* ->why */
	PLAN_R_TOMB,		/* host/H becomes the tombstone, its wants go */
	PLAN_R_WANTS,		/* those that had no room in one transaction go */
	PLAN_R_FORGET,		/* a task for ->drive */
	PLAN_R_END,		/* cancelled, if the host is not removed */
};

enum plan_remove_why {
	PLAN_R_NONE,		/* there is no such host */
	PLAN_R_DATA,		/* it has drives with data, and is not said to be lost */
	PLAN_R_ALIVE,		/* it is said to be lost, and is alive */
	PLAN_R_LAST,		/* it is the last store host */
};

struct plan_remove {
	const struct plan_host *host;	/* NULL: there is none */
	bool	lost, cancel, stopped;
	bool	alive;			/* alive/H is there */
	bool	wants;			/* volumes are wanted there */
	bool	forgets;		/* a task "drive forget" of one of its drives has not ended */
	u32	stores;			/* other store hosts that are not removed */
	u32	drives;			/* of the host */
	const struct plan_drive *drive;
};

struct plan_remove_step {
	enum plan_remove_what what;
	enum plan_remove_why why;
	struct muuid drive;
};

void plan_remove(const struct plan_remove *r, struct plan_remove_step *s);

#endif
