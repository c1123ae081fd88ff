/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of members and volumes. Pure: tables only; the setter of a state holds
 * the lock named at its field.
 *
 * Member (mesh_member_set_state() is the one setter)
 *
 *              +------------------- UP <---+
 *              |                  / |      |
 *              v                 /  v      |
 *   (open) -> DOWN -------------'  GONE ---+   the drive was unplugged
 *              ^ |   \              |  ^
 *              | |    '-------------|--'
 *              | +---> REFUSED      |          held, stale, revoked, unfit
 *              |        | ^ (UP)    |
 *              '--------+-----------'
 *
 * Volume (mesh_volume_set_why() is the one setter)
 *
 *   OPENING -----> ACTIVE <------> WAITING      a member is DOWN, or waits for a
 *    |              |   ^           ^    |      newer layout: so does I/O to it
 *    |              v   |           |    |
 *    |             BROKEN <---------'    |      a member is GONE or REFUSED:
 *    |              |                    |      I/O that needs it fails
 *    '--------------+---> REMOVING <-----'      from anywhere, for good
 *                            ^
 *   any but REMOVING --> FENCED                 another host has the volume, under
 *                                               a higher access number: for good
 */
#ifndef DRIVER_STATES_H
#define DRIVER_STATES_H

#include <linux/types.h>

enum mesh_member_state {
	MESH_MEMBER_DOWN,
	MESH_MEMBER_UP,
	MESH_MEMBER_GONE,
	MESH_MEMBER_REFUSED,
	MESH_MEMBER_STATES
};

enum mesh_volume_state {
	MESH_VOLUME_OPENING,
	MESH_VOLUME_ACTIVE,
	MESH_VOLUME_WAITING,
	MESH_VOLUME_BROKEN,
	MESH_VOLUME_REMOVING,
	MESH_VOLUME_FENCED,
	MESH_VOLUME_STATES
};

/* Names of the states, as shown in sysfs, events and answers. */
const char *mesh_member_state_name(enum mesh_member_state s);
const char *mesh_volume_state_name(enum mesh_volume_state s);

bool mesh_member_may(enum mesh_member_state from, enum mesh_member_state to);
bool mesh_volume_may(enum mesh_volume_state from, enum mesh_volume_state to);

/*
 * Return: the error that I/O to a member in this state ends with; 0: the I/O is sent. @err: why the
 * member is not UP. -ENOLINK: the I/O waits, for a member that is DOWN, or for a layout as new as
 * the one that a target has seen.
 */
int mesh_member_errno(enum mesh_member_state s, int err);

/*
 * Return: the state that a volume's members require. @now: the state now. @down: members whose I/O
 * waits. @lost: members GONE or REFUSED, whose I/O fails. A volume leaves OPENING only when every
 * member is up at once, and REMOVING and FENCED never by its members' states.
 */
enum mesh_volume_state mesh_volume_wants(enum mesh_volume_state now, unsigned int down,
					 unsigned int lost);

#endif
