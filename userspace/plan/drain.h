/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drive is emptied: each member on it leaves by an eviction, one after another.
 *
 *     in --BEGIN--> draining --EVICT: a task of its own--> .. --no extent is left--> OUT: out, ended
 *                      '--- cancelled: BACK ---> in, ended; an eviction that runs goes on
 *
 * A drive that is draining gets nothing new. Members of volumes that are not attached, and those
 * without redundancy, stay until that is another way: the drain waits, and names one of them.
 */
#ifndef PLAN_DRAIN_H
#define PLAN_DRAIN_H

#include "userspace/plan/change.h"

enum plan_drain_what {
	PLAN_D_WAIT,		/* for what ->why says, of ->volume */
	PLAN_D_FAIL,		/* there is no such drive, or it is forgotten */
	PLAN_D_BEGIN,
	PLAN_D_EVICT,		/* the member at ->place of ->volume */
	PLAN_D_OUT,
	PLAN_D_BACK,
};

enum plan_drain_why {
	PLAN_D_RUNS,		/* an eviction of this drain, or another task of the volume */
	PLAN_D_DETACHED,	/* the volume is not attached, or its holder has not reported yet */
	PLAN_D_ALONE,		/* the member has no redundancy */
	PLAN_D_REFUSED,		/* an eviction of it has failed */
	PLAN_D_FREED,		/* the extent is no member: it is freed, or a task allocated it */
	PLAN_D_STOPPED,
};

/* A volume with an extent on the drive. */
struct plan_drain_volume {
	const struct plan_volume *volume;
	const struct plan_access *access;
	const struct plan_rosters *rosters;	/* NULL: none */
	bool	busy;		/* a task of it has not ended */
	bool	refused;	/* an eviction of this drain has failed a moment ago */
};

struct plan_drain {
	const struct plan_drive *drive;		/* NULL: there is none */
	bool	cancel, stopped;
	bool	running;			/* an eviction of this drain has not ended */
	u32	volumes;
	const struct plan_drain_volume *volume;
};

struct plan_drain_step {
	enum plan_drain_what what;
	enum plan_drain_why why;
	struct muuid volume;
	u32	place;
};

void plan_drain(const struct plan_drain *d, struct plan_drain_step *s);

#endif
