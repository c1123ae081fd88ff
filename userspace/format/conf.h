/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A configuration file: lines of "key = value"; '#' begins a comment, empty
 * lines are ignored.
 */
#ifndef FORMAT_CONF_H
#define FORMAT_CONF_H

#include <linux/types.h>

#define CONF_KEY	32
#define CONF_VALUE	192

/* 0, or what is wrong with it in words. */
typedef const char *(*conf_fn)(void *priv, const char *key, const char *value);

/**
 * conf_parse() - give each line of @text to @fn
 * @line: set to the number of the bad line, from 1
 * Return: NULL, or what is wrong with that line in words; nothing after it is read.
 */
const char *conf_parse(const char *text, conf_fn fn, void *priv, unsigned int *line);
/* "yes" or "no"; also true, on, 1 and false, off, 0. 0, or -EINVAL. */
int conf_bool(const char *value, bool *out);

#endif
