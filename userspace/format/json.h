/* SPDX-License-Identifier: GPL-2.0-only */
/* Typed members of JSON objects; getters refuse what is not of their type. */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include <jansson.h>
#include <linux/types.h>

#include "userspace/format/uuid.h"

/* Setters never fail loudly: out of memory shows as a missing member. */
void jset_u64(json_t *j, const char *key, u64 v);
void jset_bool(json_t *j, const char *key, bool v);
void jset_str(json_t *j, const char *key, const char *v);
void jset_uuid(json_t *j, const char *key, const struct muuid *u);

/* 0 or -EINVAL. Numbers are 0 to 2^63 - 1; text must fit @size with its end. */
int jget_u64(const json_t *j, const char *key, u64 *v);
int jget_u32(const json_t *j, const char *key, u32 *v);
int jget_bool(const json_t *j, const char *key, bool *v);
int jget_str(const json_t *j, const char *key, char *v, size_t size);
int jget_uuid(const json_t *j, const char *key, struct muuid *u);

#endif
