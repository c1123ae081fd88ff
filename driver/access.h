/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access numbers of a volume (uapi/number.h): messages, numbers seen elsewhere, restarts. Pure.
 *
 *   VOLUME_SET ------> mesh_access_unfit()   is the message one?
 *                  '-> mesh_access_step()    beside the number in use: nothing new, or a retake
 *   OPEN refused ----> mesh_access_judge()   another host has the volume; or an own, later restart
 *   roster read ---'       '-> mesh_access_raise()
 *   UP --------------> mesh_access_is()      the member counts for this number
 */
#ifndef DRIVER_ACCESS_H
#define DRIVER_ACCESS_H

#include <linux/types.h>

/* The access that a VOLUME_SET names. */
struct mesh_access_want {
	bool	numbered;
	bool	ro;
	bool	has_attach, has_served;
	bool	has_facts;		/* BARS and what else is of NUMBERED alone */
	bool	stale;
	u64	attach;			/* the volume's number */
	u64	served;			/* the number served so far */
};

/* Return: why the message is refused, a static string; or NULL. */
const char *mesh_access_unfit(const struct mesh_access_want *want);

/* The access of a volume that is attached, or being attached. */
struct mesh_access_now {
	bool	numbered;
	bool	live;			/* it has a disk */
	u64	number;			/* in use */
	u64	served;			/* the first number in use since the attach */
};

/*
 * Compare a fit message with the access in use. Return: 0: the volume goes on under the number in
 * use; 1: a retake, the volume goes on under @want->attach; or a negative errno, and @why is set.
 */
int mesh_access_step(const struct mesh_access_now *now, const struct mesh_access_want *want,
		     const char **why);

/* Meaning of a number that a label, or a roster, has. */
enum mesh_access_verdict {
	MESH_ACCESS_FINE,
	MESH_ACCESS_RESTART,	/* an earlier restart of this host had it: raise the restart */
	MESH_ACCESS_FENCED,	/* another host has the volume, for good */
};

/*
 * @seen: the number; @self: it was noted for this host; @ro: the volume is attached for reading. A
 * number of another host between the first number in use and the present one fences, too: after a
 * retake that host has written what this one has not seen.
 */
enum mesh_access_verdict mesh_access_judge(const struct mesh_access_now *now, u64 seen, bool self,
					   bool ro);

/*
 * Return: the number to go on with, above the number in use, @own, and above @highest of this
 * host's; 0: the restarts are used up, since a restart never carries into the counter.
 */
u64 mesh_access_raise(u64 own, u64 highest);

/* True: a member that has noted @noted is open for writing under @number, restarts apart. */
bool mesh_access_is(u64 number, u64 noted);

#endif
