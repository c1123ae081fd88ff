/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of a target and of an extent, as a client sees them, and a client's reaction to refusals.
 * Pure: tables and arithmetic.
 */
#ifndef RDDA_STATE_H
#define RDDA_STATE_H

#include <linux/types.h>

enum rdda_target_state {
	RDDA_TARGET_DOWN,
	RDDA_TARGET_CONNECTING,
	RDDA_TARGET_UP,
};

enum rdda_extent_state {
	RDDA_EXTENT_DOWN,
	RDDA_EXTENT_OPENING,
	RDDA_EXTENT_UP,
	RDDA_EXTENT_GONE,
	RDDA_EXTENT_REFUSED,
};

/* Events of a target: see target_next[] in state.c. */
enum rdda_target_event {
	RDDA_TEV_TRY,		/* time to connect */
	RDDA_TEV_LOGGED_IN,	/* proved both ways, arena known, all channels there */
	RDDA_TEV_LOST,		/* refused, unreachable, silent, hostile, or ended */
	RDDA_TEV_NR,
};

/* Events of an extent: see extent_next[] in state.c. */
enum rdda_extent_event {
	RDDA_EEV_OPEN,		/* OPEN is being sent */
	RDDA_EEV_OPENED,
	RDDA_EEV_LATER,		/* the target answered: try again; or no memory for its grant */
	RDDA_EEV_REFUSED,
	RDDA_EEV_GONE,		/* the drive is away */
	RDDA_EEV_LOST,		/* the session ended, I/O is stuck, or the extent was released */
	RDDA_EEV_RENEW,		/* OPEN again: drive back, new epoch or attach number, or retry */
	RDDA_EEV_NR,
};

int rdda_target_next(unsigned int state, enum rdda_target_event ev);
int rdda_extent_next(unsigned int state, enum rdda_extent_event ev);

/* Pauses between attempts, milliseconds. */
#define RDDA_BACKOFF_MIN_MS	100
#define RDDA_BACKOFF_MAX_MS	5000

u32 rdda_backoff_ms(unsigned int attempt, u32 random);

enum rdda_extent_event rdda_open_event(unsigned int status, int *err);
int rdda_status_errno(u16 status);
bool rdda_number_fenced(u64 number, u64 served, u64 noted, bool self);

/**
 * rdda_share_may() - decide if one of several users may take more of a shared resource
 * @used: units that this user has
 * @avail: free units
 * @all: all units
 * @alone: there has been no other user so far
 *
 * A user may take more while its share is less than twice the free units: one that never gives
 * any back leaves a third to the others, and n that began together leave one part in 2n + 1. A
 * user that is alone leaves a sixteenth to later ones. A user without any units may take the
 * last one, too.
 *
 * Return: true if the user may take more.
 */
static inline bool rdda_share_may(u32 used, u32 avail, u32 all, bool alone)
{
	if (!used)
		return avail;
	return alone ? avail > all / 16 : used < 2 * avail;
}

int rdda_reject_errno(unsigned int reason);
const char *rdda_reject_text(unsigned int reason);

#endif
