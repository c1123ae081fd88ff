// SPDX-License-Identifier: GPL-2.0-only
/* Reading JSON by a table of fields: types, bounds, lengths. fields_put.c is the other way. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/fields.h"
#include "userspace/format/fields_raw.h"
#include "userspace/format/printable.h"

void field_begin(struct field_at *a, const char *noun, char *why, size_t size)
{
	a->why = why;
	a->size = size;
	a->len = 0;
	a->err = 0;
	field_enter(a, "%s: ", noun);
	if (why && size)
		why[0] = 0;
}

size_t field_enter(struct field_at *a, const char *format, ...)
{
	size_t had = a->len, room = sizeof(a->path) - had;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(a->path + had, room, format, args);
	va_end(args);
	a->len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
	return had;
}

void field_leave(struct field_at *a, size_t had)
{
	a->len = had;
	a->path[had] = 0;
}

size_t field_enter_member(struct field_at *a, const char *name)
{
	bool first = a->len >= 2 && !strcmp(a->path + a->len - 2, ": ");

	return field_enter(a, "%s%s", first ? "" : ".", name);
}

int field_wrong(struct field_at *a, int err, const char *format, ...)
{
	bool first = a->len >= 2 && !strcmp(a->path + a->len - 2, ": ");
	char words[160];
	va_list args;
	size_t at;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (a->why && a->size) {
		at = snprintf(a->why, a->size, "%s%s", a->path, first ? "" : " ");
		/* The parser of JSON repeats bytes of the value, which a stranger chose. */
		if (at < a->size)
			printable(words, a->why + at, a->size - at);
	}
	a->err = err;
	return err;
}

bool field_plain(const char *text)
{
	return printable_ok(text);
}

void field_number_set(void *at, u32 bytes, u64 v)
{
	u8 a = v;
	u16 b = v;
	u32 c = v;

	memcpy(at, bytes == 1 ? (void *)&a : bytes == 2 ? (void *)&b : bytes == 4 ? (void *)&c :
	       (void *)&v, bytes);
}

u64 field_number(const void *at, u32 bytes)
{
	u8 a;
	u16 b;
	u32 c;
	u64 v;

	switch (bytes) {
	case 1:
		return memcpy(&a, at, 1), a;
	case 2:
		return memcpy(&b, at, 2), b;
	case 4:
		return memcpy(&c, at, 4), c;
	default:
		return memcpy(&v, at, 8), v;
	}
}

static int int_get(struct field_at *a, const struct field *f, const json_t *j, void *at)
{
	u64 min = f->flags & FIELD_MAY && !f->min ? 1 : f->min, v;

	if (!json_is_integer(j))
		return field_wrong(a, -EINVAL, "is not a whole number");
	if (json_integer_value(j) < 0)
		return field_wrong(a, -EINVAL, "is below zero");
	v = json_integer_value(j);
	if (v < min || v > f->max)
		return field_wrong(a, -EINVAL, "is %llu, and not between %llu and %llu",
				   (unsigned long long)v, (unsigned long long)min,
				   (unsigned long long)f->max);
	field_number_set(at, f->bytes, v);
	return 0;
}

static int bool_get(struct field_at *a, const struct field *f, const json_t *j, void *at)
{
	if (!json_is_boolean(j))
		return field_wrong(a, -EINVAL, "is neither true nor false");
	if (f->flags & FIELD_MAY && json_is_false(j))
		return field_wrong(a, -EINVAL, "is false, which is said by leaving it out");
	*(bool *)at = json_is_true(j);
	return 0;
}

/* NULL after field_wrong(): no text, or one with a zero byte inside. */
static const char *text_of(struct field_at *a, const json_t *j)
{
	if (!json_is_string(j) || strlen(json_string_value(j)) != json_string_length(j)) {
		field_wrong(a, -EINVAL, "is not a text");
		return NULL;
	}
	return json_string_value(j);
}

static int word_get(struct field_at *a, const struct field *f, const json_t *j, void *at)
{
	const char *text = text_of(a, j);

	if (!text)
		return -EINVAL;
	for (u64 i = 0; i <= f->max; i++) {
		if (f->words[i] && !strcmp(f->words[i], text)) {
			field_number_set(at, f->bytes, i);
			return 0;
		}
	}
	return field_wrong(a, -EINVAL, "has a word that is not known there");
}

static int text_get(struct field_at *a, const struct field *f, const json_t *j, void *at)
{
	const char *text = text_of(a, j);

	if (!text)
		return -EINVAL;
	if (strlen(text) < f->min || strlen(text) > f->max)
		return field_wrong(a, -EINVAL, "has %zu bytes, and not %llu to %llu", strlen(text),
				   (unsigned long long)f->min, (unsigned long long)f->max);
	if (f->ok && !f->ok(text))
		return field_wrong(a, -EINVAL, "has a character or a form that is not allowed there");
	memcpy(at, text, strlen(text) + 1);
	return 0;
}

static int uuid_get(struct field_at *a, const json_t *j, struct muuid *u)
{
	const char *text = text_of(a, j);

	if (!text)
		return -EINVAL;
	if (muuid_parse(text, u) || strcmp(text, muuid_str(u).s))
		return field_wrong(a, -EINVAL, "is not a UUID in lower case");
	if (muuid_null(u))
		return field_wrong(a, -EINVAL, "is the null UUID");
	return 0;
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal digits of @bytes bytes at most; the number of bytes, or -EINVAL after the words. */
static int hex_get(struct field_at *a, const json_t *j, u8 *out, size_t bytes)
{
	const char *text = text_of(a, j);
	size_t n = text ? strlen(text) / 2 : 0;

	if (!text)
		return -EINVAL;
	if (strlen(text) % 2 || n > bytes)
		return field_wrong(a, -EINVAL, "has %zu digits, and not an even number up to %zu",
				   strlen(text), 2 * bytes);
	for (size_t i = 0; i < n; i++) {
		int hi = nibble(text[2 * i]), lo = nibble(text[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return field_wrong(a, -EINVAL, "has a character that is no hexadecimal digit");
		out[i] = hi << 4 | lo;
	}
	return n;
}

static int bits_get(struct field_at *a, const struct field *f, const json_t *j, void *at)
{
	u8 raw[sizeof(u64)];
	u64 v = 0;
	int n = hex_get(a, j, raw, sizeof(raw));

	if (n < 0)
		return n;
	if (n != sizeof(raw))
		return field_wrong(a, -EINVAL, "has not 16 digits");
	for (size_t i = 0; i < sizeof(raw); i++)
		v = v << 8 | raw[i];
	if (!v && f->flags & FIELD_MAY)
		return field_wrong(a, -EINVAL, "is zero");
	memcpy(at, &v, sizeof(v));
	return 0;
}

static int bytes_get(struct field_at *a, const struct field *f, const json_t *j, void *at)
{
	u8 *raw = at;
	int n = hex_get(a, j, raw, f->bytes);

	if (n < 0)
		return n;
	if (!n || !raw[n - 1])
		return field_wrong(a, -EINVAL, "is empty, or ends with zero bytes");
	return 0;
}

/* Names and texts go to terminals and logs as they are, at any depth. The parser has bounded that. */
static bool plain_inside(const json_t *j)
{
	const char *name;
	json_t *one;
	size_t i;

	if (json_is_string(j))
		return field_plain(json_string_value(j));
	json_array_foreach(j, i, one) {
		if (!plain_inside(one))
			return false;
	}
	json_object_foreach((json_t *)j, name, one) {
		if (!field_plain(name) || !plain_inside(one))
			return false;
	}
	return true;
}

static int keep_get(struct field_at *a, const struct field *f, json_t *j, void *at)
{
	if (!json_is_object(j))
		return field_wrong(a, -EINVAL, "is not an object");
	if (!json_object_size(j) && f->flags & FIELD_MAY)
		return field_wrong(a, -EINVAL, "is empty");
	if (!plain_inside(j))
		return field_wrong(a, -EINVAL, "has a name or a text with characters that are not allowed");
	*(json_t **)at = json_incref(j);
	return 0;
}

static int value_get(struct field_at *a, const struct field *f, json_t *j, void *base);

static int elements_get(struct field_at *a, const struct field *f, const json_t *j, u8 *at)
{
	size_t n = json_array_size(j);

	for (size_t i = 0; i < n; i++, at += f->each) {
		size_t had = field_enter(a, "[%zu]", i);
		json_t *element = json_array_get(j, i);
		int err;

		if (f->flags & FIELD_BARE)
			err = value_get(a, f->of, element, at);
		else
			err = fields_get(a, f->of, element, at);
		if (err)
			return err;
		field_leave(a, had);
	}
	return 0;
}

static int list_get(struct field_at *a, const struct field *f, const json_t *j, u8 *base)
{
	size_t n = json_array_size(j);
	u8 *at = base + f->at;

	if (f->flags & FIELD_ALL && json_is_string(j) && !strcmp(json_string_value(j), "all"))
		return 0;
	if (!json_is_array(j))
		return field_wrong(a, -EINVAL, "is not a list%s", f->flags & FIELD_ALL ? " nor \"all\"" : "");
	if (n > f->max || n < f->min || (!n && f->flags & (FIELD_ALL | FIELD_MAY)))
		return field_wrong(a, -EINVAL, "has %zu elements, at most %llu are allowed%s", n,
				   (unsigned long long)f->max, n ? "" : ", and none is not");
	if (!n)
		return 0;
	if (!(f->flags & FIELD_INSIDE)) {
		at = calloc(n, f->each);
		if (!at)
			return -ENOMEM;
		memcpy(base + f->at, &at, sizeof(at));
	}
	field_number_set(base + f->count_at, f->count_bytes, n);
	return elements_get(a, f, j, at);
}

static int own_get(struct field_at *a, const struct field *f, const json_t *j, u8 *base)
{
	void *own;

	if (!json_is_object(j))
		return field_wrong(a, -EINVAL, "is not an object");
	own = calloc(1, f->each);
	if (!own)
		return -ENOMEM;
	memcpy(base + f->at, &own, sizeof(own));
	return fields_get(a, f->of, j, own);
}

static int value_get(struct field_at *a, const struct field *f, json_t *j, void *base)
{
	u8 *at = (u8 *)base + f->at;

	switch (f->kind) {
	case FIELD_INT:
		return int_get(a, f, j, at);
	case FIELD_BOOL:
		return bool_get(a, f, j, at);
	case FIELD_WORD:
		return word_get(a, f, j, at);
	case FIELD_TEXT:
		return text_get(a, f, j, at);
	case FIELD_UUID:
		return uuid_get(a, j, (struct muuid *)at);
	case FIELD_BITS:
		return bits_get(a, f, j, at);
	case FIELD_HEX:
		return bytes_get(a, f, j, at);
	case FIELD_KEEP:
		return keep_get(a, f, j, at);
	case FIELD_PART:
		return fields_get(a, f->of, j, at);
	case FIELD_OWN:
		return own_get(a, f, j, base);
	default:
		return list_get(a, f, j, base);
	}
}

int fields_get(struct field_at *a, const struct field *table, const json_t *j, void *base)
{
	if (!json_is_object(j))
		return field_wrong(a, -EINVAL, "is not an object");
	for (const struct field *f = table; f->name; f++) {
		size_t had = field_enter_member(a, f->name);
		json_t *value = json_object_get(j, f->name);
		int err = 0;

		if (value)
			err = value_get(a, f, value, base);
		else if (!(f->flags & FIELD_MAY))
			err = field_wrong(a, -EINVAL, "is missing");
		if (err)
			return err;
		field_leave(a, had);
	}
	return 0;
}

static void list_free(const struct field *f, u8 *base)
{
	u64 n = field_number(base + f->count_at, f->count_bytes);
	u8 *at, *none = NULL;

	if (f->flags & FIELD_INSIDE)
		return;
	memcpy(&at, base + f->at, sizeof(at));
	for (u64 i = 0; at && i < n && !(f->flags & FIELD_BARE); i++)
		fields_free(f->of, at + i * f->each);
	free(at);
	memcpy(base + f->at, &none, sizeof(none));
	field_number_set(base + f->count_at, f->count_bytes, 0);
}

void fields_free(const struct field *table, void *base)
{
	for (const struct field *f = table; f->name; f++) {
		u8 *at = (u8 *)base + f->at;
		void *own;

		switch (f->kind) {
		case FIELD_KEEP:
			json_decref(*(json_t **)at);
			*(json_t **)at = NULL;
			break;
		case FIELD_PART:
			fields_free(f->of, at);
			break;
		case FIELD_OWN:
			memcpy(&own, at, sizeof(own));
			if (own)
				fields_free(f->of, own);
			free(own);
			memset(at, 0, sizeof(own));
			break;
		case FIELD_LIST:
			list_free(f, base);
			break;
		}
	}
}
