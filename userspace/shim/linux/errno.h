/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_ERRNO_H
#define SHIM_LINUX_ERRNO_H

/* libc's <errno.h> includes this name itself, for the numbers: pass it on. */
#include_next <linux/errno.h>

#endif
