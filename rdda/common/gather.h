/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits of the wait, on client and target, for more to go in one message. */
#ifndef _RDDA_GATHER_H
#define _RDDA_GATHER_H

#include <linux/hrtimer.h>
#include <linux/minmax.h>

#define RDDA_GATHER_MOST_US	1000U

/*
 * Convert a setting of @us to ns, 1 ms at most. Return: 0, so nothing waits, if the kernel's timers
 * are coarser than the time.
 */
static inline u64 rdda_gather_ns(u32 us)
{
	u64 ns = min(us, RDDA_GATHER_MOST_US) * NSEC_PER_USEC;

	return ns >= hrtimer_resolution ? ns : 0;
}

#endif
