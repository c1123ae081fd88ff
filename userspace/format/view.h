/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What decisions see of formats: a layout record by places, an extent of a label, a roster of the
 * kernel.
 *
 *   layout record                                        plan_layout
 *     member 0, member 1, ..                               place 0, place 1, ..: a place is the index
 *     segment: its groups <- references <- members         of a member; groups are numbered through
 *                                                          all segments that have redundancy
 */
#ifndef FORMAT_VIEW_H
#define FORMAT_VIEW_H

#include "userspace/format/label.h"
#include "userspace/format/objects.h"

/**
 * view_layout() - the places and groups of a layout that layout_check() accepts
 * @leaving: evictions; the layout record has none
 * @out: its arrays are allocated; view_layout_free()
 * Return: 0 or -ENOMEM.
 */
int view_layout(const struct layout *l, const struct obj_leaving *leaving, u32 leavings,
		struct plan_layout *out);
void view_layout_free(struct plan_layout *v);

/* Number of groups, as in plan_layout. */
u32 view_groups(const struct layout *l);
/* MESHBLK_A_PLACE of each group: its first reference. @first: view_groups() numbers. */
void view_firsts(const struct layout *l, u32 *first);

/**
 * view_slot() - an extent of a label
 * @head: of the layout record in the extent; NULL: there is none, or it is of another volume
 *
 * The label has all but the record's version and commit.
 */
void view_slot(const struct label_extent *e, const struct layout_head *head, struct plan_slot *s);

/**
 * view_roster() - a roster in the kernel's format, without its checksum, which needs the salt
 * @first: MESHBLK_A_PLACE of its group
 * Return: 0, also where all bytes are zero (no roster); -EBADMSG: it is no roster of that group.
 */
int view_roster(const u8 kernel[MESHBLK_ROSTER_BYTES], const struct muuid *volume, u32 first,
		struct plan_roster *out);

#endif
