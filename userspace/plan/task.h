/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller's work that takes several machines, one task each. A task is never "at" a step:
 * plan_task() finds the next one from the objects, so a controller that dies, or loses its lead
 * in mid-step, is followed by another one that goes on.
 *
 *   create    PLACE -> ALLOCATE.. -> (zeroed, record 1) -> READY -> END
 *   extend    PLACE -> ALLOCATE.. -> (zeroed) -> CHANGE -> (records) -> (kernel has it) -> END
 *   replace   PLACE -> ALLOCATE.. -> (zeroed) -> BAR -> (barred) -> CHANGE -> (records)
 *             -> (kernel has it) -> FREE the old extent -> END
 *   evict     PLACE -> ALLOCATE.. -> (zeroed) -> CHANGE, the old extent is leaving -> (records)
 *             -> (copied, kernel has it) -> LEFT -> FREE the old extent -> END;
 *             of a member that is out: as replace
 *   set       CHANGE -> (records) -> (kernel has it) -> END
 *   delete    DOOM -> FREE.. -> (freed) -> ERASE -> END
 *   cancelled create: as delete; other: FREE what was allocated -> END
 *
 * In brackets: what agents do meanwhile, which the task waits for. Steps with ".." take several
 * transactions where there are many drives.
 */
#ifndef PLAN_TASK_H
#define PLAN_TASK_H

#include "userspace/plan/change.h"

/* Drives in one transaction: etcd takes 128 operations. */
#define PLAN_TASK_DRIVES	120

enum plan_task_what {
	PLAN_T_WAIT,		/* for what ->why, ->drive and ->place say */
	PLAN_T_FAIL,		/* it cannot be done: ->why; the task is cancelled */
	PLAN_T_PLACE,		/* choose drives and write task/T with its puts; create: volume/V, too */
	PLAN_T_ALLOCATE,	/* write puts [first, first + nr) to their drive/D as wanted */
	PLAN_T_BAR,		/* write volume/V: nothing is to join at these places */
	PLAN_T_READY,		/* the volume is ready at version 1 */
	PLAN_T_CHANGE,		/* version + 1 is decided */
	PLAN_T_LEFT,		/* write volume/V: the extent that leaves ->place is named no more */
	PLAN_T_DOOM,		/* the volume is deleting, access none */
	PLAN_T_FREE,		/* extents of up to PLAN_TASK_DRIVES drives become freeing */
	PLAN_T_ERASE,		/* all keys of the volume go */
	PLAN_T_END,		/* the task has ended */
};

/* What a task waits for; shown, and compared by tests. */
enum plan_task_why {
	PLAN_WHY_NONE,
	PLAN_WHY_ZERO,		/* ->drive: its extent is not ready */
	PLAN_WHY_RECORD,	/* ->drive: the record is not durable there */
	PLAN_WHY_BARRED,	/* the holder's kernel, at ->place */
	PLAN_WHY_KERNEL,	/* the holder's kernel, to get the version */
	PLAN_WHY_COPIED,	/* the holder's kernel copies the member at ->place, or swaps */
	PLAN_WHY_FREED,		/* ->drive: its extent is not freed */
	PLAN_WHY_VERDICT,	/* ->verdict */
};

/* All that concerns a task, as it was read at one revision. */
struct plan_task_facts {
	const struct plan_task *task;
	const struct plan_volume *volume;	/* NULL: there is none (yet, or any more) */
	const struct plan_access *access;	/* NULL: likewise */
	const struct plan_rosters *rosters;	/* NULL: likewise */
	u32	readers;
	bool	stopped;
	u32	drives;		/* those with an extent of the volume, and those of the puts */
	const struct plan_drive *drive;
};

struct plan_task_step {
	enum plan_task_what what;
	enum plan_task_why why;
	enum plan_verdict verdict;
	u32	first, nr;	/* puts of PLAN_T_ALLOCATE */
	u32	place;
	bool	evict;		/* of PLAN_T_CHANGE: the members of the puts' places are leaving */
	struct muuid drive;
	struct plan_txn txn;	/* besides task/T and the leader's key, which all of them compare */
	struct plan_access access;	/* of PLAN_T_DOOM */
};

void plan_task(const struct plan_task_facts *f, struct plan_task_step *s);

/* True if PLAN_T_FREE makes this extent of the task's volume freeing. */
bool plan_task_frees(const struct plan_task_facts *f, const struct plan_extent *x);

#endif
