/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of tasks: @args of task/T, which meshctl writes.
 *
 *   volume create    name layout bytes|all [strip] [domain] [spares] [allow] [drives] [io]
 *   volume extend    [layout] bytes|all [strip] [drives]
 *   volume replace   place [drives: one] [spare: by the controller, a spare is used]
 *   volume evict     place [drives: one] [drain: by the controller, the drain's task]
 *   drive drain      drive
 *   drive forget     drive
 *   host remove      host [lost]
 *   volume set       [name] [spares|no_spares] [allow]
 *   volume delete    [preempt]
 *   drive export     [host] path [force] [erase_label] [local] [name]
 *   drive unexport   [host] drive [force] [preempt]
 */
#ifndef AGENT_TASK_ARGS_H
#define AGENT_TASK_ARGS_H

#include "userspace/format/objects.h"

struct task_args {
	char	name[LAYOUT_NAME];	/* empty: not given */
	char	layout[LAYOUT_TEXT];	/* "ec:4+2"; empty: as the last segment */
	u32	groups;			/* of ec, 0: one */
	u64	bytes;			/* 0: all */
	bool	all;
	u32	strip;			/* 0: the level's usual one */
	char	domain[OBJ_TEXT];
	u16	spares;			/* 0: not given */
	bool	no_spares;
	bool	allow_given;		/* @allows 0 then: all hosts */
	u32	allows;
	struct muuid *allow;
	u32	drives;			/* 0: any */
	struct muuid *drive;
	u32	place;
	bool	spare;
	struct muuid drain, on;		/* on: the drive that is drained, or forgotten */
	struct muuid host;
	bool	lost;
	struct obj_io io;
};

/**
 * task_args_read() - the arguments of a task's verb
 * @why: becomes a sentence
 *
 * Return: 0; -EINVAL: one is missing, not of this verb, or out of bounds; -ENOMEM. To be given to
 * task_args_free() in any case.
 */
int task_args_read(const struct obj_task *t, struct task_args *a, char *why, size_t size);
void task_args_free(struct task_args *a);

#define TASK_EXPORT	"drive export"
#define TASK_UNEXPORT	"drive unexport"

/* Of the two, which the agent of a host carries out: no decision of plan/task.h is for them. */
struct drive_args {
	struct muuid host;		/* null: where the task was requested */
	char	path[OBJ_PATH];
	char	name[OBJ_TEXT];		/* empty: none */
	bool	force, erase_label, local, preempt;
	struct muuid drive;
};

/* True if the task is one of both. */
bool drive_args_are(const struct obj_task *t);
/* As task_args_read(); there is nothing to free. */
int drive_args_read(const struct obj_task *t, struct drive_args *a, char *why, size_t size);

#endif
