/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Target and client role: started on a thread, since modules are loaded and
 * drives probed, and systemd and meshctl get their answers meanwhile.
 */
#ifndef MESHD_ROLES_H
#define MESHD_ROLES_H

#include "userspace/meshd/control.h"

/* Open the store and start both; 0 or a negative errno, which is logged. */
int roles_start(void);
/* For a command that uses them: waits for their start; -1 after req_fail(). */
int roles_need(struct req *r);
/* Whether this host's kernel has any drives or volumes. */
bool roles_in_use(void);

#endif
