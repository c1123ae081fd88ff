/* SPDX-License-Identifier: GPL-2.0-only */
/* Volumes that a command or the reconciler works on: one of these at a time each. */
#ifndef MESHD_BUSY_H
#define MESHD_BUSY_H

#include "userspace/meshd/meshd.h"

/* The reconciler is soon done; another command may take longer than a caller waits. */
bool busy_take_wait(const struct muuid *volume, unsigned int ms);
bool busy_take(const struct muuid *volume);
bool busy_is(const struct muuid *volume);
/* Request that the work on it stops; false: it has not within @ms. */
bool busy_cancel(const struct muuid *volume, unsigned int ms);
bool busy_cancelled(const struct muuid *volume);
void busy_drop(const struct muuid *volume);

#endif
