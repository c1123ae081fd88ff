/* SPDX-License-Identifier: GPL-2.0-only */
/* Sizes as people write them: bytes, or with a binary suffix k, M, G, T, P. */
#ifndef FORMAT_SIZE_H
#define FORMAT_SIZE_H

#include <linux/types.h>

#define SIZE_TEXT	16

/* 0, -EINVAL: not a size, -ERANGE: too large. "64k", "1.5T", "10GiB", "4096". */
int size_parse(const char *text, u64 *out);
/* "1.5 TiB"; @out: SIZE_TEXT bytes. */
void size_text(u64 bytes, char *out);

#endif
