/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small cluster for the tasks of plan/task.h: a store whose objects have revisions, two controllers
 * and an agent per drive, each with a view of the store that may be old, one host that attaches.
 * Every transaction compares what the decision says, and nothing else.
 */
#ifndef UNIT_TASK_WORLD_H
#define UNIT_TASK_WORLD_H

#include "userspace/plan/task.h"

#define DRIVES	4
#define SLOTS	6	/* extents of a drive */
#define PLACES	4
#define TASKS	4

/* The store. Each object's revision rises with each change of it. */
struct tstore {
	u32	rev_volume, rev_access, rev_roster, rev_leader, rev_task[TASKS], rev_drive[DRIVES];
	bool	exists;
	struct plan_volume volume;
	struct plan_place place[PLACES];
	u16	bar[PLACES];
	struct plan_access access;
	struct plan_rosters rosters;
	struct plan_roster roster;
	u16	rbar[PLACES];
	struct plan_drive drive[DRIVES];
	struct plan_extent extent[DRIVES][SLOTS];
	u32	tasks;
	struct plan_task task[TASKS];
	struct plan_task_put put[TASKS][PLACES];
};

struct tlabel {
	u32	nr;
	struct plan_slot slot[SLOTS];
};

struct tkernel {
	bool	serves;
	u64	number, version;
	struct plan_place place[PLACES];
	u32	places;
	u32	in_sync;	/* places of the committed roster */
	u32	barred;		/* places */
};

struct tworld {
	struct tstore s;
	struct tstore view[2];		/* of the controllers */
	struct tstore agent[DRIVES];	/* of the agents */
	struct tstore host;		/* of the host's agent */
	bool	fresh[DRIVES];
	struct tlabel label[DRIVES];
	struct tkernel k;
	bool	group;			/* a mirror of two; else two members without redundancy */
	u32	ids;			/* extents so far */
	u64	seed;
	const char *bad;
};

/* Members that have left, in all runs. */
extern unsigned int tworld_left;

/* Run @steps random steps, then everything to its end. Return: NULL, or what is wrong. */
const char *tworld_run(u64 seed, bool group, unsigned int steps, bool *done);

#endif
