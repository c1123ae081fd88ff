/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHIM_LINUX_XXHASH_H
#define SHIM_LINUX_XXHASH_H

#include <linux/types.h>
#include <xxhash.h>

/* The kernel's name for the same function of libxxhash. */
static inline uint64_t xxh64(const void *input, size_t length, uint64_t seed)
{
	return XXH64(input, length, seed);
}

#endif
