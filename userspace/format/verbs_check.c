// SPDX-License-Identifier: GPL-2.0-only
/* Requests against the table of verbs: which one it is, and what each argument may be. */
#include <stdio.h>
#include <string.h>

#include "userspace/format/layout_text.h"
#include "userspace/format/uuid.h"
#include "userspace/format/verbs.h"

const struct verb *verb_find(const char *words)
{
	const struct verb *v;

	for (v = verbs; v->words; v++)
		if (!strcmp(v->words, words))
			return v;
	return NULL;
}

bool arg_required(const struct verb_arg *a)
{
	return a->name[0] == '-' ? a->kind == ARG_SIZE || a->kind == ARG_LAYOUT : a->name[0] != '[';
}

/* Whether @word is one of @words, "a|b|c". */
static bool among(const char *words, const char *word)
{
	size_t n;

	for (; *words; words += n + !!words[n]) {
		n = strcspn(words, "|");
		if (strlen(word) == n && !strncmp(word, words, n))
			return true;
	}
	return false;
}

static const char *list_wrong(const json_t *list, const char *none)
{
	size_t i, named = 0, n = json_array_size(list);
	const json_t *item;

	if (!json_is_array(list))
		return "a list of texts is wanted";
	json_array_foreach((json_t *)list, i, item) {
		if (!json_is_string(item))
			return "a list of texts is wanted";
		named += json_string_length(item) > 0;
	}
	return !named ? none : named < n ? "a name in it is empty" : NULL;
}

/* Labels of hosts: a name, and a text that may be empty. */
static const char *pairs_wrong(const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item) {
		const char *equals = strchr(json_string_value(item), '=');

		if (!equals || equals == json_string_value(item))
			return "NAME=VALUE is wanted";
	}
	return NULL;
}

static const char *uuid_wrong(const char *text)
{
	struct muuid u;

	return muuid_parse(text, &u) || muuid_null(&u) ? "a whole UUID is wanted, as uuidgen prints" : NULL;
}

static const char *size_wrong(const struct verb_arg *a, const char *text, json_int_t n)
{
	if (a->kind == ARG_STRIP)
		return n <= 0 ? "a size like 64k, 10G or 1.5T is wanted" :
		       n < PROT_STRIP_MIN || n > PROT_STRIP_MAX || n & (n - 1) ?
		       "a power of two from 4k to 1m is wanted" : NULL;
	if (n <= 0)
		return !strcmp(text, "max") ? NULL : "a size like 64k, 10G or 1.5T is wanted, or max";
	return n > 1LL << 60 ? "that is too large: up to 1024P, or max" : NULL;
}

const char *arg_wrong(const struct verb_arg *a, const json_t *value)
{
	const char *text = json_is_string(value) ? json_string_value(value) : "";
	json_int_t n = json_integer_value(value);
	struct layout_shape shape;

	switch (a->kind) {
	case ARG_FLAG:
	case ARG_OFF:
		return json_is_boolean(value) ? NULL : "true or false is wanted";
	case ARG_NAME:
		return layout_name_ok(text) ? NULL : "that cannot be a name: up to 63 letters, digits, "
			"'.', '_', '-', and not ending like a partition's (-part1)";
	case ARG_SIZE:
	case ARG_STRIP:
		return size_wrong(a, text, n);
	case ARG_NUMBER:
		return n >= 1 && n <= 65535 ? NULL : "a number from 1 to 65535 is wanted";
	case ARG_SECONDS:
		return n >= 1 && n <= 9999999 ? NULL : "a number from 1 to 9999999 is wanted";
	case ARG_LIST:
	case ARG_ITEM:
		return list_wrong(value, "name at least one drive");
	case ARG_HOSTS:
		return list_wrong(value, "name at least one host");
	case ARG_PAIRS:
		return list_wrong(value, "NAME=VALUE is wanted") ?: pairs_wrong(value);
	case ARG_LAYOUT:
		return layout_parse(text, &shape);
	case ARG_DOMAIN:
		return among("host|drive", text) ? NULL : "host or drive is wanted (racks are not known yet)";
	case ARG_COUNT:
		return json_is_integer(value) && n >= 0 && n <= 1024 ? NULL : "a number from 0 to 1024 is wanted";
	case ARG_PERIOD:
		return n >= 1 && n <= VERB_PERIOD_MAX ? NULL : "a time like 90s, 30m, 1h or 2d is wanted, up to 30d";
	case ARG_ROLE:
		return among("client|storage|store", text) ? NULL : "client, storage or store is wanted";
	case ARG_LABEL:
		return *text && strlen(text) < 64 &&
		       !text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz._-")] ? NULL :
		       "drive, host, rack or a label of hosts is wanted";
	case ARG_ID:
		return uuid_wrong(text);
	case ARG_WORD:
		return among(a->name, text) ? NULL : "one of these is wanted";
	default:
		return json_is_string(value) ? NULL : "a text in UTF-8 is wanted";
	}
}

static bool one_ok(const struct verb_arg *a, const json_t *args, char *why, size_t size)
{
	const json_t *value = json_object_get(args, a->key);
	const char *wrong = value ? arg_wrong(a, value) : arg_required(a) ? "is missing" : NULL;

	if (wrong)
		snprintf(why, size, "%s%s %s", a->name, value ? ":" : "", wrong);
	return !wrong;
}

/* NULL, or what is wrong with arguments that are good one by one. */
static const char *together_wrong(const json_t *args)
{
	const char *layout = json_string_value(json_object_get(args, "layout"));
	const json_t *groups = json_object_get(args, "groups");
	bool strip = json_object_get(args, "strip");
	struct layout_shape shape;
	const char *wrong;

	if (!layout || layout_parse(layout, &shape))
		return NULL;
	wrong = groups ? layout_regroup(&shape, (u32)json_integer_value(groups)) : NULL;
	if (wrong)
		return wrong;
	if (json_object_get(args, "spares") && layout_width(&shape) < 2)
		return "--spares: a layout without redundancy has no use for them";
	if (strip && shape.level == PROT_LINEAR)
		return "--strip: a linear volume has no strips";
	if (shape.level == PROT_EC &&
	    json_integer_value(json_object_get(args, "strip")) > PROT_EC_STRIP_MAX)
		return "--strip: strips of erasure coding are 512k at most";
	return strip && shape.level == PROT_MIRROR ? "--strip: a single mirror has no strips" : NULL;
}

bool verb_ok(const struct verb *v, const json_t *args, char *why, size_t size)
{
	const struct verb_arg *a;
	const char *wrong;

	for (a = v->operand; a < v->operand + VERB_OPERANDS && a->name; a++)
		if (!one_ok(a, args, why, size))
			return false;
	for (a = v->opts; a->name; a++)
		if (!one_ok(a, args, why, size))
			return false;
	wrong = together_wrong(args) ?: verbs_wrong(v, args);
	if (wrong)
		snprintf(why, size, "%s", wrong);
	return !wrong;
}
