/* SPDX-License-Identifier: GPL-2.0-only */
/* What is typed and shown of a volume: its name and its layout, "linear" or "stripe:4". */
#ifndef FORMAT_LAYOUT_TEXT_H
#define FORMAT_LAYOUT_TEXT_H

#include <linux/types.h>

#include "protect/layout.h"

#define LAYOUT_TEXT	16
#define LAYOUT_COLUMNS_MAX	255

/* A name: 1 to 63 of letters, digits, '.', '_', '-', not starting with one of
 * the last two, and not ending like the link of a partition ("-part1").
 */
bool layout_name_ok(const char *name);

/* "linear" and so on, "?" where there is no such level. */
const char *layout_level(u8 level);

void layout_text(u8 level, u32 columns, char text[LAYOUT_TEXT]);

/* NULL, or what is wanted instead. */
const char *layout_parse(const char *text, u8 *level, u32 *columns);

#endif
