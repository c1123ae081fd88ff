/* SPDX-License-Identifier: GPL-2.0-only */
/* What fields.c and fields_put.c share: the path of a member, and integers of C by their size. */
#ifndef FORMAT_FIELDS_RAW_H
#define FORMAT_FIELDS_RAW_H

#include "userspace/format/fields.h"
#include "userspace/format/uuid.h"

/* Append to the path; the length before, for field_leave(). */
size_t field_enter(struct field_at *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
size_t field_enter_member(struct field_at *a, const char *name);
void field_leave(struct field_at *a, size_t had);

/* @bytes: 1, 2, 4 or 8 */
u64 field_number(const void *at, u32 bytes);
void field_number_set(void *at, u32 bytes, u64 v);

#endif
