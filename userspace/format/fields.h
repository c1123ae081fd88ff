/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Structures to JSON objects and back, by tables of fields.
 *
 *   { "size": 4096, "lba": 512 }   <->   struct { u64 size; u32 lba; }   by
 *   { INT("size", struct drive, size, 1, ~0), INT("lba", struct drive, lba, 512, 4096), { NULL } }
 *
 * A table is the one place that says which members an object has, of which type and in which
 * bounds. Members that no table knows are left in the JSON object that a structure is written
 * into, also in nested objects and in elements of lists: so an older meshd changes a value
 * without losing the members of a newer one.
 */
#ifndef FORMAT_FIELDS_H
#define FORMAT_FIELDS_H

#include <jansson.h>
#include <linux/types.h>
#include <stddef.h>

enum field_kind {
	FIELD_INT = 1,	/* an unsigned integer of C; in JSON below 2^63 */
	FIELD_BOOL,
	FIELD_WORD,	/* an unsigned integer; in JSON a word of a list */
	FIELD_TEXT,	/* char[] */
	FIELD_UUID,	/* struct muuid; in JSON in lower case and never null */
	FIELD_BITS,	/* u64, all 64 bits; in JSON 16 hexadecimal digits */
	FIELD_HEX,	/* u8[]; in JSON hexadecimal without the zeroes at the end */
	FIELD_KEEP,	/* json_t *, a reference: an object with members of its own rules, plain text */
	FIELD_PART,	/* a structure inside, a nested object */
	FIELD_OWN,	/* pointer to a structure that is allocated, a nested object */
	FIELD_LIST,	/* array and its count */
};

enum field_flag {
	FIELD_MAY	= 1 << 0,	/* left out where zero, empty or null, and only then */
	FIELD_BARE	= 1 << 1,	/* elements of the list are values, described by one field */
	FIELD_INSIDE	= 1 << 2,	/* the array is in the structure, else it is allocated */
	FIELD_ALL	= 1 << 3,	/* no elements are written as the text "all" */
};

struct field {
	const char *name;	/* NULL: the table ends */
	u8	kind;		/* enum field_kind */
	u8	flags;		/* enum field_flag */
	u32	at;		/* byte of the structure */
	u32	bytes;		/* of the C member */
	u64	min, max;	/* value; length of a text, bytes of hex, elements of a list */
	const char *const *words;	/* FIELD_WORD: by number, NULL where there is none; @max is the last */
	bool	(*ok)(const char *text);	/* FIELD_TEXT: a further rule; may be NULL */
	const struct field *of;	/* table of PART, OWN and LIST */
	u32	each;		/* bytes of an element, or of the structure of OWN */
	u32	count_at, count_bytes;	/* FIELD_LIST */
	/* FIELD_LIST: the member by which an element is found again; NULL: its index */
	const char *key;
};

#define FIELD_AT(s, m)	.at = offsetof(s, m), .bytes = sizeof(((s *)0)->m)
#define FIELD_COUNT(s, m) .count_at = offsetof(s, m), .count_bytes = sizeof(((s *)0)->m)

#define FIELD_INT(n, s, m, lo, hi, ...) \
	{ .name = n, .kind = FIELD_INT, FIELD_AT(s, m), .min = lo, .max = hi, __VA_ARGS__ }
#define FIELD_BOOL(n, s, m, ...) \
	{ .name = n, .kind = FIELD_BOOL, FIELD_AT(s, m), __VA_ARGS__ }
#define FIELD_WORD(n, s, m, list, ...) \
	{ .name = n, .kind = FIELD_WORD, FIELD_AT(s, m), .words = list, \
	  .max = sizeof(list) / sizeof((list)[0]) - 1, __VA_ARGS__ }
#define FIELD_TEXT(n, s, m, rule, ...) \
	{ .name = n, .kind = FIELD_TEXT, FIELD_AT(s, m), .min = 1, .ok = rule, \
	  .max = sizeof(((s *)0)->m) - 1, __VA_ARGS__ }
#define FIELD_UUID(n, s, m, ...) \
	{ .name = n, .kind = FIELD_UUID, FIELD_AT(s, m), __VA_ARGS__ }
#define FIELD_BITS(n, s, m, ...) \
	{ .name = n, .kind = FIELD_BITS, FIELD_AT(s, m), __VA_ARGS__ }
#define FIELD_HEX(n, s, m, ...) \
	{ .name = n, .kind = FIELD_HEX, FIELD_AT(s, m), .max = sizeof(((s *)0)->m), __VA_ARGS__ }
#define FIELD_KEEP(n, s, m, ...) \
	{ .name = n, .kind = FIELD_KEEP, FIELD_AT(s, m), __VA_ARGS__ }
#define FIELD_PART(n, s, m, table) \
	{ .name = n, .kind = FIELD_PART, FIELD_AT(s, m), .of = table }
#define FIELD_OWN(n, s, m, table) \
	{ .name = n, .kind = FIELD_OWN, FIELD_AT(s, m), .of = table, .each = sizeof(*((s *)0)->m) }
/* Lists of objects; @c: the count, @k: the member that identifies an element, or NULL. */
#define FIELD_LIST(n, s, m, c, table, k, hi, ...) \
	{ .name = n, .kind = FIELD_LIST, FIELD_AT(s, m), FIELD_COUNT(s, c), .of = table, .key = k, \
	  .each = sizeof(((s *)0)->m[0]), .max = hi, __VA_ARGS__ }

/* Where something is wrong, for the sentence that says why. */
struct field_at {
	char	path[192];	/* "layout.members[3].size" */
	size_t	len;
	char	*why;
	size_t	size;
	int	err;		/* of the last field_wrong() */
};

/* Begin: @noun is named first in each sentence. @why may be NULL. */
void field_begin(struct field_at *a, const char *noun, char *why, size_t size);
/* @err, after a sentence about the place that was reached. */
int field_wrong(struct field_at *a, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * fields_get() - read the members of an object
 * @base: zeroed, and in any case given to fields_free()
 *
 * Return: 0; -EINVAL: a member is missing, of another type or out of bounds; -ENOMEM.
 */
int fields_get(struct field_at *a, const struct field *table, const json_t *j, void *base);
/* Write them into @into, whose other members stay. -EINVAL: a text is no UTF-8, a number no JSON. */
int fields_put(struct field_at *a, const struct field *table, const void *base, json_t *into);
/* Free what fields_get() allocated in a structure, but not the structure. */
void fields_free(const struct field *table, void *base);

/* True if a text may go to a terminal as it is. */
bool field_plain(const char *text);

#endif
