/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A local drive is open exclusively while this host's kernel does not have it: mkfs, mount and other
 * programs that respect that are refused.
 *
 *            the number of an attach is noted         the kernel has it, or OPEN_MS have passed
 *      held ----------------------------------> let go -----------------------------> tried when idle
 *        ^                                                                                  |
 *        '-------------------- nothing else has it: the volume was detached ----------------'
 */
#ifndef DAEMON_DISK_LOCAL_H
#define DAEMON_DISK_LOCAL_H

#include "userspace/daemon/disk_own.h"

/* At its take: 0, and it is held, unless this host's kernel has it; -EBUSY: something else has it. */
int disk_local_take(struct disk *d);
/* On the drive's thread: hold it, where that is possible again. */
void disk_local_keep(struct disk *d);
/* No event reports it: the device has gone, or another one has its name. */
bool disk_local_gone(const struct disk *d);
/* On the drive's thread: the kernel opens it next. 0; -EBUSY: something else has it by now. */
int disk_local_let_go(struct disk *d);

#endif
