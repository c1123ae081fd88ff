// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "userspace/format/conf.h"

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The run [@from, @to) without blanks at its ends, as a string; false: it is too long. */
static bool cut(const char *from, const char *to, char *out, size_t size)
{
	while (from < to && blank(*from))
		from++;
	while (to > from && blank(to[-1]))
		to--;
	if ((size_t)(to - from) >= size)
		return false;
	memcpy(out, from, to - from);
	out[to - from] = 0;
	return true;
}

static const char *parse_line(const char *from, const char *to, conf_fn fn, void *priv)
{
	char key[CONF_KEY], value[CONF_VALUE];
	const char *equal;

	/* Also behind a value: none of them contains a '#'. */
	for (const char *p = from; p < to; p++)
		if (*p == '#')
			to = p;
	while (from < to && blank(*from))
		from++;
	if (from == to)
		return NULL;
	for (const char *p = from; p < to; p++)
		if ((unsigned char)*p < ' ' && !blank(*p))
			return "a control character";
	for (equal = from; equal < to && *equal != '='; equal++)
		;
	if (equal == to)
		return "no 'key = value'";
	if (!cut(from, equal, key, sizeof(key)) || !cut(equal + 1, to, value, sizeof(value)))
		return "too long";
	if (!key[0])
		return "no key before '='";
	if (!value[0])
		return "no value after '='";
	return fn(priv, key, value);
}

const char *conf_parse(const char *text, conf_fn fn, void *priv, unsigned int *line)
{
	const char *end, *why;

	for (*line = 1; *text; ++*line, text = *end ? end + 1 : end) {
		end = text;
		while (*end && *end != '\n')
			end++;
		why = parse_line(text, end, fn, priv);
		if (why)
			return why;
	}
	return NULL;
}

int conf_bool(const char *value, bool *out)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(value, words[i]))
			continue;
		*out = i & 1;
		return 0;
	}
	return -EINVAL;
}
