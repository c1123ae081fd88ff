/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is typed and shown of a volume: its name and its layout.
 *
 *   linear   stripe:N   mirror:C   raid10:NxC (N mirrors of C)   ec:K+M
 */
#ifndef FORMAT_LAYOUT_TEXT_H
#define FORMAT_LAYOUT_TEXT_H

#include <linux/types.h>

#include "protect/layout/layout.h"

#define LAYOUT_TEXT	16
#define LAYOUT_COLUMNS_MAX	255	/* members of a segment */

/* The level of a segment with its numbers, as struct prot_segment has them. */
struct layout_shape {
	u8	level;		/* enum prot_level */
	u8	data;		/* columns (stripe), copies (mirror, raid10), K of ec:K+M */
	u16	parity;		/* M */
	u16	groups;
};

/* A name: 1 to 63 of letters, digits, '.', '_', '-', not starting with one of
 * the last two, and not ending like the link of a partition ("-part1").
 */
bool layout_name_ok(const char *name);

/* Words by enum prot_level, NULL where there is no level. */
extern const char *const layout_levels[PROT_LEVELS];
/* "linear" and so on, "?" where there is no such level. */
const char *layout_level(u8 level);

/* The groups of ec are not in it. */
void layout_text(const struct layout_shape *s, char text[LAYOUT_TEXT]);

/* NULL, or what is wanted instead. */
const char *layout_parse(const char *text, struct layout_shape *s);

/* Take over `--groups` for @s; NULL, or why it cannot be. */
const char *layout_regroup(struct layout_shape *s, u32 groups);

/* Whether a group's members are copies. */
bool layout_mirrors(u8 level);
/* Members of a group, 1 where there is no redundancy; of all groups. */
u32 layout_width(const struct layout_shape *s);
u32 layout_members(const struct layout_shape *s);
/* Members that a group serves with, whichever these are. */
u32 layout_needs(const struct layout_shape *s);

#endif
