// SPDX-License-Identifier: GPL-2.0-only
/* Writing JSON by a table of fields, into an object whose other members stay. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/fields.h"
#include "userspace/format/fields_raw.h"

static json_t *int_put(struct field_at *a, u64 v)
{
	if (v >> 63) {
		field_wrong(a, -EINVAL, "is above 2^63 - 1");
		return NULL;
	}
	return json_integer(v);
}

static json_t *word_put(struct field_at *a, const struct field *f, u64 v)
{
	if (v > f->max || !f->words[v]) {
		field_wrong(a, -EINVAL, "is %llu, which has no word", (unsigned long long)v);
		return NULL;
	}
	return json_string(f->words[v]);
}

static json_t *text_put(struct field_at *a, const struct field *f, const char *text)
{
	json_t *j = NULL;

	if (memchr(text, 0, f->bytes))
		j = json_string(text);
	if (!j)
		field_wrong(a, -EINVAL, "is not UTF-8, or has no end");
	return j;
}

static json_t *hex_put(const u8 *raw, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	char *text = malloc(2 * n + 1);
	json_t *j;

	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = hex[raw[i] >> 4];
		text[2 * i + 1] = hex[raw[i] & 15];
	}
	j = json_stringn_nocheck(text, 2 * n);
	free(text);
	return j;
}

static json_t *bytes_put(const struct field *f, const u8 *raw)
{
	size_t n = f->bytes;

	while (n && !raw[n - 1])
		n--;
	return hex_put(raw, n);
}

static json_t *bits_put(u64 v)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)v);
	return json_string(text);
}

static json_t *nested_put(struct field_at *a, const struct field *table, const void *base, json_t *had)
{
	json_t *j = json_is_object(had) ? json_incref(had) : json_object();

	if (!j || !fields_put(a, table, base, j))
		return j;
	json_decref(j);
	return NULL;
}

static const u8 *elements_of(const struct field *f, const u8 *base)
{
	const u8 *at = base + f->at;

	if (!(f->flags & FIELD_INSIDE))
		memcpy(&at, base + f->at, sizeof(at));
	return at;
}

static json_t *value_put(struct field_at *a, const struct field *f, const void *base, json_t *had);

static const struct field *field_named(const struct field *table, const char *name)
{
	while (table->name && strcmp(table->name, name))
		table++;
	return table;
}

/* The text by which an element is found again; NULL: it has none. */
static const char *id_text(const json_t *id, char number[24])
{
	if (json_is_string(id))
		return json_string_value(id);
	if (!json_is_integer(id))
		return NULL;
	snprintf(number, 24, "%lld", (long long)json_integer_value(id));
	return number;
}

/*
 * The elements of the list as it was read, by their identity: in any order, a list of thousands is
 * written in a time that grows with its length. NULL: no memory.
 */
static json_t *index_of(const struct field *f, const json_t *list)
{
	json_t *index = json_object(), *e;
	char number[24];
	const char *id;
	size_t i;

	json_array_foreach(list, i, e) {
		id = id_text(json_object_get(e, f->key), number);
		if (index && id && json_object_set(index, id, e)) {
			json_decref(index);
			index = NULL;
		}
	}
	return index;
}

/* The element that is the same as the one at @at, or NULL. */
static json_t *element_had(struct field_at *a, const struct field *f, const u8 *at, const json_t *index)
{
	json_t *id = value_put(a, field_named(f->of, f->key), at, NULL), *had = NULL;
	char number[24];
	const char *text = id_text(id, number);

	if (text)
		had = json_object_get(index, text);
	json_decref(id);
	return had;
}

/* @had: the list as it was read, by index or, where elements have an identity, index_of() it. */
static json_t *elements_put(struct field_at *a, const struct field *f, const u8 *at, u64 n, json_t *had)
{
	json_t *j = json_array(), *element, *was;

	for (u64 i = 0; j && i < n; i++, at += f->each) {
		size_t len = field_enter(a, "[%llu]", (unsigned long long)i);

		if (f->flags & FIELD_BARE) {
			element = value_put(a, f->of, at, NULL);
		} else {
			was = f->key ? element_had(a, f, at, had) : json_array_get(had, i);
			element = nested_put(a, f->of, at, was);
		}
		if (!element || json_array_append_new(j, element)) {
			json_decref(j);
			return NULL;
		}
		field_leave(a, len);
	}
	return j;
}

static json_t *list_put(struct field_at *a, const struct field *f, const u8 *base, json_t *list)
{
	u64 n = field_number(base + f->count_at, f->count_bytes);
	json_t *j, *index;

	if (!n && f->flags & FIELD_ALL)
		return json_string("all");
	if (n > f->max) {
		field_wrong(a, -EINVAL, "has %llu elements, at most %llu are allowed",
			    (unsigned long long)n, (unsigned long long)f->max);
		return NULL;
	}
	if (!f->key)
		return elements_put(a, f, elements_of(f, base), n, list);
	index = index_of(f, list);
	j = index ? elements_put(a, f, elements_of(f, base), n, index) : NULL;
	json_decref(index);
	return j;
}

static json_t *keep_put(json_t *kept)
{
	return kept ? json_deep_copy(kept) : json_object();
}

static json_t *own_put(struct field_at *a, const struct field *f, const u8 *at, json_t *had)
{
	const void *own;

	memcpy(&own, at, sizeof(own));
	if (own)
		return nested_put(a, f->of, own, had);
	field_wrong(a, -EINVAL, "is not there");
	return NULL;
}

/* A new reference; NULL: after field_wrong(), or without memory. */
static json_t *value_put(struct field_at *a, const struct field *f, const void *base, json_t *had)
{
	const u8 *at = (const u8 *)base + f->at;
	u64 v;

	switch (f->kind) {
	case FIELD_INT:
		return int_put(a, field_number(at, f->bytes));
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_WORD:
		return word_put(a, f, field_number(at, f->bytes));
	case FIELD_TEXT:
		return text_put(a, f, (const char *)at);
	case FIELD_UUID:
		return json_string(muuid_str((const struct muuid *)at).s);
	case FIELD_BITS:
		memcpy(&v, at, sizeof(v));
		return bits_put(v);
	case FIELD_HEX:
		return bytes_put(f, at);
	case FIELD_KEEP:
		return keep_put(*(json_t *const *)at);
	case FIELD_PART:
		return nested_put(a, f->of, at, had);
	case FIELD_OWN:
		return own_put(a, f, at, had);
	default:
		return list_put(a, f, base, had);
	}
}

static bool all_zero(const u8 *at, size_t n)
{
	while (n && !at[n - 1])
		n--;
	return !n;
}

/* True if a member that may be left out is. */
static bool left_out(const struct field *f, const u8 *base)
{
	const u8 *at = base + f->at;

	if (!(f->flags & FIELD_MAY))
		return false;
	switch (f->kind) {
	case FIELD_TEXT:
		return !*at;
	case FIELD_LIST:
		return !field_number(base + f->count_at, f->count_bytes);
	case FIELD_KEEP:
		return !json_object_size(*(json_t *const *)at);
	default:
		return all_zero(at, f->bytes);
	}
}

int fields_put(struct field_at *a, const struct field *table, const void *base, json_t *into)
{
	for (const struct field *f = table; f->name; f++) {
		size_t had = field_enter_member(a, f->name);
		json_t *j;

		if (left_out(f, base)) {
			json_object_del(into, f->name);
			field_leave(a, had);
			continue;
		}
		j = value_put(a, f, base, json_object_get(into, f->name));
		if (!j || json_object_set_new(into, f->name, j))
			return a->err ? a->err : -ENOMEM;
		field_leave(a, had);
	}
	return 0;
}
