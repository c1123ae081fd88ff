/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys and prefixes: text without control characters, in segments that '/' divides.
 *
 *	drive/0b6f...	key; prefix too: of itself and of each key that begins so
 *	drive/		prefix: the segment is not finished
 *	dri		prefix: cut within a segment
 *	(empty)		prefix of all keys
 *
 * Refused in both: an empty segment, STORE_KEY_MAX bytes or more, and bytes that printable()
 * would escape. So no byte of a key is above 0xf4.
 */
#ifndef STORE_KEY_H
#define STORE_KEY_H

#include "userspace/store/store.h"

bool store_key_valid(const char *key);
bool store_prefix_valid(const char *prefix);
bool store_key_begins(const char *key, const char *prefix);
/* The least text behind all keys that begin with @prefix. */
void store_prefix_end(const char *prefix, char end[STORE_KEY_MAX]);

#endif
