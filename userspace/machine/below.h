/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a block device stands on: the disk of a partition, the devices below dm and md, the file or
 * device behind a loop device. @sysfs: where that is mounted, @name: as in its class/block.
 */
#ifndef MACHINE_BELOW_H
#define MACHINE_BELOW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SYSFS	"/sys"

/* @name: NULL where the devices are too many to follow. Return: true ends the walk. */
typedef bool (*below_fn)(const char *sysfs, const char *name, void *arg);

/* Calls @fn for the device and all below it. Return: true if one call did. */
bool below_any(const char *sysfs, const char *name, below_fn fn, void *arg);
/* True if what is written to it goes over a network, of which @what says the kind. */
bool below_network(const char *sysfs, const char *name, char *what, size_t size);
/* True if it is a volume or stands on one: as a member that would be a circle, or nearly one. */
bool below_volume(const char *sysfs, const char *name);
/* The name in sysfs of a device number: a node in /dev may be called otherwise. */
bool below_name(const char *sysfs, dev_t dev, char *name, size_t size);

#endif
