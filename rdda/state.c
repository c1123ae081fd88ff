// SPDX-License-Identifier: GPL-2.0-only
/* States of targets and extents; meaning of refusals. Pure; see state.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "driver/uapi/number.h"
#include "rdda/state.h"
#include "rdda/wire.h"

#define NO	(-1)

/*
 *          TRY                LOGGED_IN
 *   DOWN --------> CONNECTING ---------> UP
 *    ^                 | LOST            | LOST
 *    '-----------------'-----------------'
 */
static const s8 target_next[3][RDDA_TEV_NR] = {
	[RDDA_TARGET_DOWN] = {
		[RDDA_TEV_TRY]		= RDDA_TARGET_CONNECTING,
		[RDDA_TEV_LOGGED_IN]	= NO,
		[RDDA_TEV_LOST]		= NO,
	},
	[RDDA_TARGET_CONNECTING] = {
		[RDDA_TEV_TRY]		= NO,
		[RDDA_TEV_LOGGED_IN]	= RDDA_TARGET_UP,
		[RDDA_TEV_LOST]		= RDDA_TARGET_DOWN,
	},
	[RDDA_TARGET_UP] = {
		[RDDA_TEV_TRY]		= NO,
		[RDDA_TEV_LOGGED_IN]	= NO,
		[RDDA_TEV_LOST]		= RDDA_TARGET_DOWN,
	},
};

/*
 *         OPEN            OPENED
 *   DOWN ------> OPENING --------> UP      LATER: OPENING stays (backoff)
 *    ^              | REFUSED       |      LOST: any but REFUSED to DOWN
 *    |              '---> REFUSED <-'      GONE: OPENING, UP to GONE
 *    '-- RENEW ------ GONE, REFUSED        RENEW of UP: OPEN again while UP
 *
 * OPEN is also sent for an extent that is GONE, which stays GONE until it is opened: LATER does not
 * mean that the drive is back.
 */
static const s8 extent_next[5][RDDA_EEV_NR] = {
	[RDDA_EXTENT_DOWN] = {
		[RDDA_EEV_OPEN]		= RDDA_EXTENT_OPENING,
		[RDDA_EEV_OPENED]	= NO,
		[RDDA_EEV_LATER]	= NO,
		[RDDA_EEV_REFUSED]	= NO,
		[RDDA_EEV_GONE]		= NO,
		[RDDA_EEV_LOST]		= RDDA_EXTENT_DOWN,
		[RDDA_EEV_RENEW]	= RDDA_EXTENT_DOWN,
	},
	[RDDA_EXTENT_OPENING] = {
		[RDDA_EEV_OPEN]		= RDDA_EXTENT_OPENING,
		[RDDA_EEV_OPENED]	= RDDA_EXTENT_UP,
		[RDDA_EEV_LATER]	= RDDA_EXTENT_OPENING,
		[RDDA_EEV_REFUSED]	= RDDA_EXTENT_REFUSED,
		[RDDA_EEV_GONE]		= RDDA_EXTENT_GONE,
		[RDDA_EEV_LOST]		= RDDA_EXTENT_DOWN,
		[RDDA_EEV_RENEW]	= RDDA_EXTENT_OPENING,
	},
	[RDDA_EXTENT_UP] = {
		[RDDA_EEV_OPEN]		= RDDA_EXTENT_UP,
		[RDDA_EEV_OPENED]	= RDDA_EXTENT_UP,
		[RDDA_EEV_LATER]	= RDDA_EXTENT_UP,
		[RDDA_EEV_REFUSED]	= RDDA_EXTENT_REFUSED,
		[RDDA_EEV_GONE]		= RDDA_EXTENT_GONE,
		[RDDA_EEV_LOST]		= RDDA_EXTENT_DOWN,
		[RDDA_EEV_RENEW]	= RDDA_EXTENT_UP,
	},
	[RDDA_EXTENT_GONE] = {
		[RDDA_EEV_OPEN]		= RDDA_EXTENT_GONE,
		[RDDA_EEV_OPENED]	= RDDA_EXTENT_UP,
		[RDDA_EEV_LATER]	= RDDA_EXTENT_GONE,
		[RDDA_EEV_REFUSED]	= RDDA_EXTENT_REFUSED,
		[RDDA_EEV_GONE]		= RDDA_EXTENT_GONE,
		[RDDA_EEV_LOST]		= RDDA_EXTENT_DOWN,
		[RDDA_EEV_RENEW]	= RDDA_EXTENT_DOWN,
	},
	[RDDA_EXTENT_REFUSED] = {
		[RDDA_EEV_OPEN]		= NO,
		[RDDA_EEV_OPENED]	= NO,
		[RDDA_EEV_LATER]	= NO,
		[RDDA_EEV_REFUSED]	= RDDA_EXTENT_REFUSED,
		[RDDA_EEV_GONE]		= RDDA_EXTENT_REFUSED,
		[RDDA_EEV_LOST]		= RDDA_EXTENT_REFUSED,
		[RDDA_EEV_RENEW]	= RDDA_EXTENT_DOWN,
	},
};

/* Find a target's state after an event. Return: -1 when @ev cannot happen in @state. */
int rdda_target_next(unsigned int state, enum rdda_target_event ev)
{
	if (state >= ARRAY_SIZE(target_next) || ev >= RDDA_TEV_NR)
		return NO;
	return target_next[state][ev];
}

/* Find an extent's state after an event. Return: -1 when @ev cannot happen in @state. */
int rdda_extent_next(unsigned int state, enum rdda_extent_event ev)
{
	if (state >= ARRAY_SIZE(extent_next) || ev >= RDDA_EEV_NR)
		return NO;
	return extent_next[state][ev];
}

/*
 * Milliseconds to wait before the next attempt. @attempt: failed attempts so far, from 0. @random:
 * any number; spreads many clients of one target. The limit doubles from 200 ms to 5 s; the wait is
 * between half of the limit and the limit.
 */
u32 rdda_backoff_ms(unsigned int attempt, u32 random)
{
	u32 most = RDDA_BACKOFF_MAX_MS;

	if (attempt < 6)
		most = min_t(u32, RDDA_BACKOFF_MIN_MS << (attempt + 1), most);
	return max_t(u32, most / 2 + random % (most / 2 + 1), RDDA_BACKOFF_MIN_MS);
}

/*
 * Find the event that an answer to OPEN is for the extent. @status: enum rdda_open_status, from the
 * wire: any number. @err: set to the reason for not being UP, negative; 0 when UP.
 */
enum rdda_extent_event rdda_open_event(unsigned int status, int *err)
{
	switch (status) {
	case RDDA_OPEN_OK:
		*err = 0;
		return RDDA_EEV_OPENED;
	case RDDA_OPEN_DRAINING:
		*err = -EBUSY;
		return RDDA_EEV_LATER;
	case RDDA_OPEN_GRACE:
	case RDDA_OPEN_UNKNOWN:
	case RDDA_OPEN_NOT_READY:
		*err = -EAGAIN;
		return RDDA_EEV_LATER;
	case RDDA_OPEN_NO_DAEMON:
		*err = -EHOSTDOWN;
		return RDDA_EEV_LATER;
	case RDDA_OPEN_DRIVE_GONE:
	case RDDA_OPEN_NO_EXTENT:	/* the drive may be away and come back */
		*err = -ENODEV;
		return RDDA_EEV_GONE;
	case RDDA_OPEN_HELD:
		*err = -EBUSY;
		return RDDA_EEV_REFUSED;
	case RDDA_OPEN_STALE:
	case RDDA_OPEN_OLD_ATTACH:
		*err = -ESTALE;
		return RDDA_EEV_REFUSED;
	case RDDA_OPEN_LIMIT:
		*err = -ENOSPC;
		return RDDA_EEV_REFUSED;
	case RDDA_OPEN_NOT_ALLOWED:
		*err = -EPERM;
		return RDDA_EEV_REFUSED;
	case RDDA_OPEN_FAR:
		*err = -ERANGE;
		return RDDA_EEV_REFUSED;
	default:
		*err = -EPROTO;
		return RDDA_EEV_REFUSED;
	}
}

/*
 * True if a refused access number is refused for good. @number: of the OPEN. @served: number under
 * which the host served before it took the volume again, 0: it did not. @noted: number in the
 * label. @self: @noted is this host's, or the OPEN was a reader's. A host that serves must see
 * each number of another host in between: its state is older than what that host wrote.
 */
bool rdda_number_fenced(u64 number, u64 served, u64 noted, bool self)
{
	return mesh_number_fences(number, noted, self) || (served && !self);
}

/*
 * Convert the NVMe status of a completion to a negative errno, or 0. @status: enum rdda_status,
 * from the wire: any number.
 */
int rdda_status_errno(u16 status)
{
	switch (status) {
	case RDDA_ST_OK:
		return 0;
	case RDDA_ST_READ_ERROR:
		return -ENODATA;
	case RDDA_ST_RO:
	case RDDA_ST_ACCESS_DENIED:
		return -EACCES;
	case RDDA_ST_INVALID_NS:
	case RDDA_ST_GONE:
		return -ENODEV;
	default:
		return -EIO;
	}
}

/*
 * Convert the reason of a refused login to a negative errno. @reason: enum rdda_reject_reason, from
 * the wire; 0: refused without a reason.
 */
int rdda_reject_errno(unsigned int reason)
{
	switch (reason) {
	case RDDA_REJ_MALFORMED:
		return -EPROTO;
	case RDDA_REJ_VERSION:
		return -EPROTONOSUPPORT;
	case RDDA_REJ_KEY:
		return -EKEYREJECTED;
	case RDDA_REJ_BUSY:
		return -EBUSY;
	case RDDA_REJ_CHANNEL:
		return -ENOLINK;
	case RDDA_REJ_STALE:
		return -ESTALE;
	case RDDA_REJ_NOT_READY:
		return -EAGAIN;
	case RDDA_REJ_TWIN:
		return -ENOTUNIQ;
	case RDDA_REJ_ROLE:
		return -EPERM;
	case RDDA_REJ_REMOVED:
		return -EKEYREVOKED;
	default:
		return -ECONNREFUSED;
	}
}

/* Human-readable reason of a refused login. @reason: enum rdda_reject_reason, from the wire. */
const char *rdda_reject_text(unsigned int reason)
{
	switch (reason) {
	case RDDA_REJ_MALFORMED:
		return "the target calls our login malformed";
	case RDDA_REJ_VERSION:
		return "the target speaks another protocol version";
	case RDDA_REJ_KEY:
		return "the target has another cluster key, or needs one";
	case RDDA_REJ_BUSY:
		return "the target is out of budget for clients";
	case RDDA_REJ_CHANNEL:
		return "the target does not grant this channel";
	case RDDA_REJ_STALE:
		return "the target has seen a newer session of this host";
	case RDDA_REJ_NOT_READY:
		return "the target has no identity yet: meshd is not running there";
	case RDDA_REJ_TWIN:
		return "another host lives under this host's UUID";
	case RDDA_REJ_ROLE:
		return "the target says that this host's key is not of its role";
	case RDDA_REJ_REMOVED:
		return "this host was removed from the cluster, and has to join again";
	default:
		return "nothing there serves RDDA";
	}
}
