// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/store/address.h"

bool address_name_ok(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%";
	size_t n = strlen(name);

	return n && n < ADDRESS_NAME && strspn(name, allowed) == n && name[0] != '-';
}

/* One spelling of each number: no sign, no leading zero. */
static int parse_port(const char *text, u16 *port)
{
	unsigned int v = 0;

	if (text[0] < '1' || text[0] > '9')
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || v > 6553)
			return -EINVAL;
		v = v * 10 + (*text - '0');
	}
	if (v > 0xffff)
		return -EINVAL;
	*port = v;
	return 0;
}

int address_parse(const char *text, struct address *out)
{
	const char *end, *port = NULL, *colon = strchr(text, ':');
	bool bracket = text[0] == '[';

	if (bracket) {
		end = strchr(++text, ']');
		if (!end || (end[1] && end[1] != ':') || !memchr(text, ':', end - text))
			return -EINVAL;
		port = end[1] ? end + 2 : NULL;
	} else if (colon && !strchr(colon + 1, ':')) {
		end = colon;
		port = colon + 1;
	} else {
		end = text + strlen(text);
	}
	if (end - text >= ADDRESS_NAME)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	memcpy(out->name, text, end - text);
	out->port = ADDRESS_PORT;
	if (!address_name_ok(out->name))
		return -EINVAL;
	return port ? parse_port(port, &out->port) : 0;
}

void address_text(const struct address *a, char out[ADDRESS_TEXT])
{
	if (a->port == ADDRESS_PORT)
		snprintf(out, ADDRESS_TEXT, "%s", a->name);
	else if (strchr(a->name, ':'))
		snprintf(out, ADDRESS_TEXT, "[%s]:%u", a->name, a->port);
	else
		snprintf(out, ADDRESS_TEXT, "%s:%u", a->name, a->port);
}
