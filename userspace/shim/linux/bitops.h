/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_BITOPS_H
#define SHIM_LINUX_BITOPS_H

/* The lowest bit that is set; @x is not 0. */
#define __ffs64(x)		((unsigned long)__builtin_ctzll(x))
#define hweight64(x)		((unsigned int)__builtin_popcountll(x))

#endif
