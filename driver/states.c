// SPDX-License-Identifier: GPL-2.0-only
/* States of members and volumes: the tables. Diagrams are in states.h. */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "driver/states.h"
#include "driver/uapi/meshblk.h"

#define B(s)	(1U << (s))

static const struct {
	const char *name;
	int err;
	unsigned int next;
} members[MESH_MEMBER_STATES] = {
	[MESH_MEMBER_DOWN] = { MESHBLK_STATE_DOWN, -ENOLINK,
		B(MESH_MEMBER_UP) | B(MESH_MEMBER_GONE) | B(MESH_MEMBER_REFUSED) },
	[MESH_MEMBER_UP] = { MESHBLK_STATE_UP, 0,
		B(MESH_MEMBER_DOWN) | B(MESH_MEMBER_GONE) | B(MESH_MEMBER_REFUSED) },
	[MESH_MEMBER_GONE] = { MESHBLK_STATE_GONE, -ENODEV,
		B(MESH_MEMBER_DOWN) | B(MESH_MEMBER_UP) },
	[MESH_MEMBER_REFUSED] = { MESHBLK_STATE_REFUSED, -EACCES,
		B(MESH_MEMBER_DOWN) },
};

static const struct {
	const char *name;
	unsigned int next;
} volumes[MESH_VOLUME_STATES] = {
	[MESH_VOLUME_OPENING] = { MESHBLK_STATE_OPENING,
		B(MESH_VOLUME_ACTIVE) | B(MESH_VOLUME_FENCED) |
		B(MESH_VOLUME_REMOVING) },
	[MESH_VOLUME_ACTIVE] = { MESHBLK_STATE_ACTIVE,
		B(MESH_VOLUME_WAITING) | B(MESH_VOLUME_BROKEN) | B(MESH_VOLUME_FENCED) |
		B(MESH_VOLUME_REMOVING) },
	[MESH_VOLUME_WAITING] = { MESHBLK_STATE_WAITING,
		B(MESH_VOLUME_ACTIVE) | B(MESH_VOLUME_BROKEN) | B(MESH_VOLUME_FENCED) |
		B(MESH_VOLUME_REMOVING) },
	[MESH_VOLUME_BROKEN] = { MESHBLK_STATE_BROKEN,
		B(MESH_VOLUME_ACTIVE) | B(MESH_VOLUME_WAITING) | B(MESH_VOLUME_FENCED) |
		B(MESH_VOLUME_REMOVING) },
	[MESH_VOLUME_REMOVING] = { MESHBLK_STATE_REMOVING, 0 },
	[MESH_VOLUME_FENCED] = { MESHBLK_STATE_FENCED, B(MESH_VOLUME_REMOVING) },
};

const char *mesh_member_state_name(enum mesh_member_state s)
{
	return (unsigned int)s < MESH_MEMBER_STATES ? members[s].name : "?";
}

const char *mesh_volume_state_name(enum mesh_volume_state s)
{
	return (unsigned int)s < MESH_VOLUME_STATES ? volumes[s].name : "?";
}

bool mesh_member_may(enum mesh_member_state from, enum mesh_member_state to)
{
	return (unsigned int)from < MESH_MEMBER_STATES &&
	       (unsigned int)to < MESH_MEMBER_STATES && members[from].next & B(to);
}

bool mesh_volume_may(enum mesh_volume_state from, enum mesh_volume_state to)
{
	return (unsigned int)from < MESH_VOLUME_STATES &&
	       (unsigned int)to < MESH_VOLUME_STATES && volumes[from].next & B(to);
}

int mesh_member_errno(enum mesh_member_state s, int err)
{
	/*
	 * -ESTALE waits for a newer layout. -ENOLINK or 0 belongs to the next state, which the
	 * member entered after the caller read @s.
	 */
	if (s == MESH_MEMBER_REFUSED && (err == -ESTALE || err == -ENOLINK || !err))
		return -ENOLINK;
	return (unsigned int)s < MESH_MEMBER_STATES ? members[s].err : -EIO;
}

enum mesh_volume_state mesh_volume_wants(enum mesh_volume_state now, unsigned int down,
					 unsigned int lost)
{
	if (now == MESH_VOLUME_REMOVING || now == MESH_VOLUME_FENCED)
		return now;
	if (now == MESH_VOLUME_OPENING)
		return down || lost ? now : MESH_VOLUME_ACTIVE;
	if (lost)
		return MESH_VOLUME_BROKEN;
	return down ? MESH_VOLUME_WAITING : MESH_VOLUME_ACTIVE;
}
