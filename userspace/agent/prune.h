/* SPDX-License-Identifier: GPL-2.0-only */
/* What has ended is deleted after a while, as plan/prune.h has it. */
#ifndef AGENT_PRUNE_H
#define AGENT_PRUNE_H

#include "userspace/agent/tasks.h"

/*
 * Return, both: 1: some went, more may be left; 0: nothing is to go, or the store had changed;
 * negative: the store's error.
 */
int prune_tasks(struct tasks *t);
/* This host's own events. */
int prune_events(struct copy *c, const struct muuid *host);

#endif
