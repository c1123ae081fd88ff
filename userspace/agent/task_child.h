/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that the controller itself requests, for a drain or for a spare: replace and evict of one
 * member. Each is as one that was typed, and is listed and cancelled so.
 */
#ifndef AGENT_TASK_CHILD_H
#define AGENT_TASK_CHILD_H

#include "userspace/agent/tasks.h"

/* A failed one is requested again after that many seconds. */
#define TASK_CHILD_AGAIN	600

/* True if a task of the volume has not ended. */
bool task_child_busy(const struct tasks *t, const struct muuid *volume);
/* True if an eviction of the drain has not ended. */
bool task_child_runs(const struct tasks *t, const struct muuid *drain);
/* True if one of the volume failed a moment ago. @drain: of that drain; NULL: by a spare. */
bool task_child_refused(const struct tasks *t, const struct muuid *volume, const struct muuid *drain);
/* True if a task that forgets the drive has not ended. */
bool task_child_forgets(const struct tasks *t, const struct muuid *drive);
/* Into a deal: a new task. Return: 0 or a negative errno; the deal keeps its own. */
int task_child_put(const struct tasks *t, struct deal *d, const char *verb, const struct muuid *volume,
		   json_t *args);
/* A transaction: the task has failed. Return: as task_step(). */
int task_child_fail(struct tasks *t, const struct obj_task *task, const char *why);

#endif
