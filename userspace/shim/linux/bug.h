/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_BUG_H
#define SHIM_LINUX_BUG_H

#include <stdio.h>
#include <stdlib.h>

/* Our own bug, which in a program means: stop here. */
#define WARN_ON_ONCE(c) ({ \
	int c_ = !!(c); \
	if (c_) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); \
		abort(); \
	} \
	c_; })

#endif
