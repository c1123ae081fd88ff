/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MACHINE_LINE_H
#define MACHINE_LINE_H

#include <stddef.h>

/*
 * First line of a small file, as those of sysfs, without blanks at its end; 0 or a negative errno;
 * -ENODATA: it is empty.
 */
int read_line(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
