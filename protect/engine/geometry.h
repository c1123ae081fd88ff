/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a group's records take of its members, and where they lie.
 *
 *   member   .. | roster 0 | roster 1 | bitmaps, rings | rest | data of the segment ..
 *               '------------ prot_geometry_area() ----------'^ prot_place.offset
 *
 * All follows from the segment and the block size, so a host that attaches a volume and the one
 * that made it agree without saying it to each other.
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

/* Bytes before the data of each member of a segment, a multiple of 1 MiB; 0: it has no records. */
u64 prot_geometry_area(const struct prot_segment *s, u32 lba);

/* Byte of a member where the records behind the rosters begin, its data being at @data. */
static inline u64 prot_geometry_records(u64 data, u64 area)
{
	return data - area + 2 * PROT_ROSTER_BLOCK;
}

/*
 * ec: the member that holds @strip (data 0..k-1, parity k..) of @stripe; all drives take their turn
 * at being parity.
 */
static inline u32 prot_geometry_member(u32 width, u64 stripe, u32 strip)
{
	u32 rot;

	div_u64_rem(stripe, width, &rot);
	rot += strip;
	return rot < width ? rot : rot - width;
}

#endif
