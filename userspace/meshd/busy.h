/* SPDX-License-Identifier: GPL-2.0-only */
/* Volumes that somebody works on: one at a time each, the reconciler included. */
#ifndef MESHD_BUSY_H
#define MESHD_BUSY_H

#include "userspace/meshd/meshd.h"

bool busy_take(const struct muuid *volume);
void busy_drop(const struct muuid *volume);

#endif
