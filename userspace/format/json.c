// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "userspace/format/json.h"

void jset_u64(json_t *j, const char *key, u64 v)
{
	json_object_set_new(j, key, json_integer(v));
}

void jset_bool(json_t *j, const char *key, bool v)
{
	json_object_set_new(j, key, json_boolean(v));
}

void jset_str(json_t *j, const char *key, const char *v)
{
	json_t *s = json_string(v);

	/* Names of drives come from hardware and need not be UTF-8. */
	json_object_set_new(j, key, s ? s : json_string("?"));
}

void jset_uuid(json_t *j, const char *key, const struct muuid *u)
{
	json_object_set_new(j, key, json_string(muuid_str(u).s));
}

int jget_u64(const json_t *j, const char *key, u64 *v)
{
	const json_t *n = json_object_get(j, key);

	if (!json_is_integer(n) || json_integer_value(n) < 0)
		return -EINVAL;
	*v = json_integer_value(n);
	return 0;
}

int jget_u32(const json_t *j, const char *key, u32 *v)
{
	u64 n;

	if (jget_u64(j, key, &n) || n > UINT32_MAX)
		return -EINVAL;
	*v = n;
	return 0;
}

int jget_bool(const json_t *j, const char *key, bool *v)
{
	const json_t *b = json_object_get(j, key);

	if (!json_is_boolean(b))
		return -EINVAL;
	*v = json_is_true(b);
	return 0;
}

int jget_str(const json_t *j, const char *key, char *v, size_t size)
{
	const json_t *s = json_object_get(j, key);

	if (!json_is_string(s) || json_string_length(s) >= size ||
	    strlen(json_string_value(s)) != json_string_length(s))
		return -EINVAL;
	memcpy(v, json_string_value(s), json_string_length(s) + 1);
	return 0;
}

int jget_uuid(const json_t *j, const char *key, struct muuid *u)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? muuid_parse(s, u) : -EINVAL;
}
