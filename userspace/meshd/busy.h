/* SPDX-License-Identifier: GPL-2.0-only */
/* Volumes that somebody works on: one at a time each, the reconciler included. */
#ifndef MESHD_BUSY_H
#define MESHD_BUSY_H

#include "userspace/meshd/meshd.h"

/* The reconciler is soon done; another command may take longer than anybody waits. */
bool busy_take_wait(const struct muuid *volume, unsigned int ms);
bool busy_take(const struct muuid *volume);
bool busy_is(const struct muuid *volume);
/* Ask the one who works on it to stop; false: it has not within @ms. */
bool busy_cancel(const struct muuid *volume, unsigned int ms);
bool busy_cancelled(const struct muuid *volume);
void busy_drop(const struct muuid *volume);

#endif
