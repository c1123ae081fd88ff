/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller's work: each task/T that has not ended, one step after another.
 *
 *   the copy -> task_facts.c -> plan_task() -> task_steps.c: one transaction -> the copy -> ..
 *                                   '- waits: until an agent has changed an object
 *
 * A step is decided from the copy alone, and compares what it was decided from, the task and the
 * leader's key: a controller that lost its lead, or whose copy is behind, changes nothing. So a
 * task may be left at any point, and the next controller goes on with it.
 */
#ifndef AGENT_TASKS_H
#define AGENT_TASKS_H

#include "userspace/agent/lead.h"
#include "userspace/plan/task.h"

struct tasks {
	struct copy *copy;	/* follows all kinds that tasks_follow() names */
	struct lead *lead;
	bool	stopped;	/* plan/setback.h: nothing is decided */
	u64	now;		/* seconds since 1970, for what people read */
	/* Called before each transaction; true: stop here, as if the power went. Tests set it. */
	bool	(*crash)(void *arg);
	void	*arg;
};

/* Follow what tasks are decided from. */
int tasks_follow(struct copy *c);

/**
 * tasks_turn() - do what can be done now
 *
 * A task whose step cannot be made, as one that is too large for a transaction, waits and says so:
 * those behind it have their turn. Return: number of transactions that were made; 0: every task
 * waits, or has ended; negative: the store's error.
 */
int tasks_turn(struct tasks *t);

/* Done, failed or cancelled. */
bool task_ended(const struct obj_task *task);
/* The tasks that it is to follow have ended, or are no longer kept. */
bool task_is_due(const struct copy *c, const struct obj_task *task);

/*
 * task_facts.c: what plan_task() decides from. -ENOMEM; -EUCLEAN: an object that concerns the task
 * is refused by the codec, with the sentence in @why.
 */
struct task_facts {
	struct plan_task_facts f;
	const struct obj_task *task;
	const struct obj_volume *volume;	/* NULL: none */
	struct plan_drive *drive;
};

int task_facts_get(const struct tasks *t, const struct obj_task *task, struct task_facts *out,
		   char *why, size_t size);
void task_facts_free(struct task_facts *f);

/* task_drain.c: one step of "drive drain", which has no step table. Return: as task_step(). */
int task_drain(struct tasks *t, const struct obj_task *task);
/* task_forget.c: likewise "drive forget" */
int task_forget(struct tasks *t, const struct obj_task *task);
/* task_remove.c: likewise "host remove" */
int task_remove(struct tasks *t, const struct obj_task *task);

/**
 * task_step() - carry out one step of plan_task()
 * Return: 1: done; 0: something had changed; negative: the store's error.
 */
int task_step(struct tasks *t, const struct task_facts *f, const struct plan_task_step *s);

/* task_make.c: the objects that steps write. Sentences of refusals in @why: -ENOSPC, -EINVAL. */
struct task_made {
	struct layout *layout;		/* of the volume, with the puts in their places */
	struct plan_task_put *put;
	u32	puts;
	char	why[OBJ_WORDS];
};

int task_make_place(const struct tasks *t, const struct task_facts *f, struct task_made *m);
int task_make_layout(const struct tasks *t, const struct task_facts *f, struct task_made *m);
void task_made_free(struct task_made *m);

#endif
