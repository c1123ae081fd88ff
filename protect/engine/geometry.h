/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Space for a group's records on the members, and the places of the records.
 *
 *   member   .. | roster 0 | roster 1 | bitmaps, rings | rest | data of the segment ..
 *               '------------ prot_geometry_area() ----------'^ prot_place.offset
 *
 * All numbers follow from the segment and the block size, so the host attaching a volume and the
 * host that made the volume agree without a message.
 */
#ifndef PROTECT_GEOMETRY_H
#define PROTECT_GEOMETRY_H

#include <linux/math64.h>

#include "protect/engine/group.h"
#include "protect/roster/roster.h"

/* @s: has passed prot_layout_check(), with a level that has a policy. @lba: of the volume. */
void prot_geometry_init(struct prot_geometry *geo, const struct prot_segment *s, u32 lba);

/* The shape of a group; all else of @c is the caller's. */
void prot_geometry_config(const struct prot_geometry *geo, struct prot_group_config *c);

/* Bytes before the data of each member of a segment, a multiple of 1 MiB; 0: no records. */
u64 prot_geometry_area(const struct prot_segment *s, u32 lba);

/* Byte of a member where the records behind the rosters begin, its data being at @data. */
static inline u64 prot_geometry_records(u64 data, u64 area)
{
	return data - area + 2 * PROT_ROSTER_BLOCK;
}

/*
 * ec: the member with @strip (data 0..k-1, parity k..) of @stripe; parity rotates over all
 * drives.
 */
static inline u32 prot_geometry_member(u32 width, u64 stripe, u32 strip)
{
	u32 rot;

	div_u64_rem(stripe, width, &rot);
	rot += strip;
	return rot < width ? rot : rot - width;
}

#endif
