/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables with a heading, one line a thing, and texts that may go to a terminal. */
#ifndef MESHCTL_TABLE_H
#define MESHCTL_TABLE_H

#include <jansson.h>

/* How a column's values are shown. SOME: a number, and no column where no row has one. */
enum shape { TEXT, NUMBER, SIZE, SOME };

struct column {
	const char *heading;
	const char *key;
	enum shape shape;
};

/* Words of other hosts among them: never raw. As many at a time as a line has. */
const char *safe(const char *s);
/* A text of an object; "-" where there is none. */
const char *str(const json_t *o, const char *key);
/* A table as wide as its widest cells; numbers to the right. @cols: ends with a NULL heading. */
void table(const json_t *rows, const struct column *cols, const char *none);

#endif
