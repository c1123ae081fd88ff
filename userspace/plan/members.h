/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The extents that an attach opens beside the members of the layout.
 *
 *     a layout named it once     its drive/D has the version of a record
 *     it is not freeing          so an agent has not removed it, and a host may still use it
 *
 * An eviction shows why neither the layout nor roster/V suffices. The layout names the copy, and the
 * store has noted the removal of the member, when the host dies before it writes that roster. By its
 * record the host attaches again with the member in sync, and acknowledges writes there. Without
 * redundancy a holder that is cut off from the store reads an extent that a later layout lacks, until
 * that extent is opened under the number of the next holder.
 */
#ifndef PLAN_MEMBERS_H
#define PLAN_MEMBERS_H

#include "userspace/plan/objects.h"

struct plan_member {
	const struct plan_drive *drive;
	const struct plan_extent *extent;	/* ->place: where it was in the layout */
};

/**
 * plan_attach_members() - extents that the layout does not name, and an attach opens nevertheless
 * @drive: as they were read with the volume; those of other volumes do no harm
 * @out: becomes the first @max of them
 *
 * None of them has to be there for the attach: the rosters that are found say which count. They are
 * probed before the attach as members are.
 *
 * Return: how many there are.
 */
u32 plan_attach_members(const struct plan_volume *volume, const struct plan_drive *drive, u32 drives,
			struct plan_member *out, u32 max);

#endif
