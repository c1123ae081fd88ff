/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checksum of a host's own files: the last member of the JSON object, over each byte before it.
 *
 *   { ...      ,"sum":"0123456789abcdef"}
 *   '- xxh64 -'
 */
#ifndef FORMAT_OBJECTS_SUM_H
#define FORMAT_OBJECTS_SUM_H

#include <linux/types.h>

#define SUM_MEMBER	"sum"

/* @text: malloc()ed, an object with members, taken over. NULL: no memory. */
char *sum_append(char *text);
bool sum_ok(const void *text, size_t len);

#endif
