/* SPDX-License-Identifier: GPL-2.0-only */
/* How long client and target may wait for more to go in a message. */
#ifndef _RDDA_GATHER_H
#define _RDDA_GATHER_H

#include <linux/hrtimer.h>
#include <linux/minmax.h>

#define RDDA_GATHER_MOST_US	1000U

/*
 * In ns, what is set as @us: 0 where nothing waits, as the kernel's timers are coarser than
 * what they are to measure.
 */
static inline u64 rdda_gather_ns(u32 us)
{
	u64 ns = min(us, RDDA_GATHER_MOST_US) * NSEC_PER_USEC;

	return ns >= hrtimer_resolution ? ns : 0;
}

#endif
