/* SPDX-License-Identifier: GPL-2.0-only */
/* One disk: what it is, what is on it, and why it must not become a drive. */
#ifndef DAEMON_DISK_PROBE_H
#define DAEMON_DISK_PROBE_H

#include "userspace/agent/export.h"
#include "userspace/machine/label_io.h"

/*
 * May take as long as the disk does. 0, with @out; or a negative errno of a disk that cannot be
 * opened, with a sentence in @out->what.
 */
int disk_probe(const char *path, struct export_disk *out);
/* Model, serial number and world-wide id, as sysfs has them. */
void disk_identify(const char *name, struct obj_disk *out);

/*
 * Paths of all disks and partitions of the machine that may be drives, malloc()ed: no volumes, and
 * nothing on which something stands. Maps come last. Does not wait for a disk.
 */
char **disk_paths(size_t *n);
/*
 * True for a map, as of a logical volume; false for that of several paths to one drive, which stands in
 * their place. One that is a drive is found again, and one that is empty becomes one by its name alone.
 */
bool disk_stacked(const char *path);

#endif
