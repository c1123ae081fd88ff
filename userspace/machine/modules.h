/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel modules by name, as modprobe loads them. */
#ifndef MACHINE_MODULES_H
#define MACHINE_MODULES_H

#include <stddef.h>

/* May block. 0, or a negative errno with a sentence in @why; -ENOENT: it is not installed. */
int modules_load(const char *name, char *why, size_t size);

#endif
