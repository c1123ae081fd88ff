/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's two modules: loaded, given identity and keys, then used. Each may come late, go, and
 * come again; none is tried once alone.
 *
 *     absent --modprobe, every 5 s--> there --cluster_identity()--> known --+-- disks_serve()
 *       ^                               ^                             |     '-- volumes_begin()
 *       '--- its family is gone         '--- the keys have changed ---'
 *
 * A family that comes again has another number: the module was loaded again and knows nothing.
 */
#ifndef DAEMON_KERNEL_H
#define DAEMON_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>

struct cluster;
struct disks;
struct volumes;
struct kernel;

struct kernel_config {
	struct cluster *cluster;
	struct disks *disks;		/* NULL: no target here */
	struct volumes *volumes;
};

/* NULL: no memory, or no netlink. */
struct kernel *kernel_open(const struct kernel_config *config);
void kernel_close(struct kernel *k);
/* Each turn; does something once a second. */
void kernel_turn(struct kernel *k, u64 now_ms);
/* True if the volumes' module is there and has been begun with. */
bool kernel_there(const struct kernel *k);

#endif
