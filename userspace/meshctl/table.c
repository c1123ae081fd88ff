// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "userspace/format/printable.h"
#include "userspace/format/size.h"
#include "userspace/meshctl/table.h"

#define CELL_MAX	160
#define TEXT_MAX	512

const char *safe(const char *s)
{
	static char text[8][TEXT_MAX];
	static unsigned int turn;
	char *out = text[turn++ % 8];

	printable(s && *s ? s : "-", out, TEXT_MAX);
	return out;
}

const char *str(const json_t *o, const char *key)
{
	return safe(json_string_value(json_object_get(o, key)));
}

static void cell(const json_t *row, const struct column *c, char out[CELL_MAX])
{
	const json_t *v = json_object_get(row, c->key);

	if (json_is_number(v) && c->shape == SIZE)
		size_text((u64)json_number_value(v), out);
	else if (json_is_number(v))
		snprintf(out, CELL_MAX, "%lld", (long long)json_number_value(v));
	else
		snprintf(out, CELL_MAX, "%.159s", str(row, c->key));
}

/* 0: the column is left out. */
static int width_of(const json_t *rows, const struct column *c)
{
	int width = (int)strlen(c->heading);
	bool some = c->shape != SOME;
	char text[CELL_MAX];
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row) {
		cell(row, c, text);
		if ((int)strlen(text) > width)
			width = (int)strlen(text);
		some = some || json_object_get(row, c->key);
	}
	return some ? width : 0;
}

/* The last column ends the line, and is never left out. */
static void put(const char *text, int width, const struct column *c)
{
	if (width)
		printf("%*s%s", c->shape == TEXT ? -width : width, text, c[1].heading ? "  " : "\n");
}

void table(const json_t *rows, const struct column *cols, const char *none)
{
	int width[16] = { 0 };
	char text[CELL_MAX];
	const json_t *row;
	size_t i, c;

	if (!json_array_size(rows)) {
		printf("%s\n", none);
		return;
	}
	for (c = 0; cols[c].heading; c++)
		width[c] = width_of(rows, &cols[c]);
	for (c = 0; cols[c].heading; c++)
		put(cols[c].heading, width[c], &cols[c]);
	json_array_foreach((json_t *)rows, i, row)
		for (c = 0; cols[c].heading; c++) {
			cell(row, &cols[c], text);
			put(text, width[c], &cols[c]);
		}
}
