/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * number.h: the access number of a volume, which says who may write to it, in one integer that only
 * rises.
 *
 *    63   62        51 50                          16 15           0
 *   +---+------------+------------------------------+--------------+
 *   | 0 | generation |           counter            |   restart    |
 *   +---+------------+------------------------------+--------------+
 *         recover      each attach for writing, and   the kernel of
 *         raises it    each retake: + 1, by the txn   the holder alone
 *                      that takes access/V
 *
 * A label keeps the highest number under which its extent was opened for writing. The number
 * orders the OPENs of all writers: a lower one is refused, a higher one ends the former
 * holder's. The restart orders one writer's own OPENs: it never carries into the counter,
 * and counts neither against the store nor for readers nor between hosts.
 */
#ifndef _UAPI_MESHBLK_NUMBER_H
#define _UAPI_MESHBLK_NUMBER_H

#include <linux/types.h>

#define MESH_NUMBER_RESTART_BITS	16
#define MESH_NUMBER_COUNTER_BITS	35
#define MESH_NUMBER_GENERATION_BITS	12

#define MESH_NUMBER_RESTART_MAX		((1ULL << MESH_NUMBER_RESTART_BITS) - 1)
#define MESH_NUMBER_COUNTER_MAX		((1ULL << MESH_NUMBER_COUNTER_BITS) - 1)
#define MESH_NUMBER_GENERATION_MAX	((1ULL << MESH_NUMBER_GENERATION_BITS) - 1)
/* The highest number there is; it orders nothing, so no label takes it. */
#define MESH_NUMBER_MAX			((1ULL << 63) - 1)

/*
 * How far each field may be above a label's at once: a wrong or forged number must not use it up.
 */
#define MESH_NUMBER_GENERATION_STEP	16ULL
#define MESH_NUMBER_COUNTER_STEP	(1ULL << 20)

static inline __u64 mesh_number(__u64 generation, __u64 counter, __u64 restart)
{
	return generation << (MESH_NUMBER_COUNTER_BITS + MESH_NUMBER_RESTART_BITS) |
	       counter << MESH_NUMBER_RESTART_BITS | restart;
}

static inline __u64 mesh_number_generation(__u64 number)
{
	return number >> (MESH_NUMBER_COUNTER_BITS + MESH_NUMBER_RESTART_BITS);
}

static inline __u64 mesh_number_counter(__u64 number)
{
	return number >> MESH_NUMBER_RESTART_BITS & MESH_NUMBER_COUNTER_MAX;
}

static inline __u64 mesh_number_restart(__u64 number)
{
	return number & MESH_NUMBER_RESTART_MAX;
}

/* Generation and counter, which the store gives: what is compared between hosts and for readers. */
static inline __u64 mesh_number_access(__u64 number)
{
	return number & ~MESH_NUMBER_RESTART_MAX;
}

/*
 * True if a number seen in a label ends the access under a writer's own number for good. Another
 * host has an equal number only by an error: of the two, the one that is noted has the volume. A
 * higher restart of the same host is a later OPEN of the same writer. @seen_self: @seen was noted
 * for the host of @own; true for a reader too, which another host's equal number does not end.
 */
static inline _Bool mesh_number_fences(__u64 own, __u64 seen, _Bool seen_self)
{
	if (mesh_number_access(seen) == mesh_number_access(own))
		return !seen_self;
	return mesh_number_access(seen) > mesh_number_access(own);
}

#endif
