/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a store host listens: a name or a numeric address, and a port.
 *
 *   store1   store1.example.net:4500   192.0.2.7   192.0.2.7:4500   2001:db8::7   [2001:db8::7]:4500
 */
#ifndef STORE_ADDRESS_H
#define STORE_ADDRESS_H

#include <linux/types.h>
#include <stddef.h>

#define ADDRESS_PORT	4421	/* unless another one is given */
#define ADDRESS_NAME	256	/* bytes with the end */
#define ADDRESS_TEXT	(ADDRESS_NAME + 8)
#define ADDRESS_MAX	8	/* store hosts that are tried in turn */

struct address {
	char	name[ADDRESS_NAME];
	u16	port;
};

/* 0 or -EINVAL. */
int address_parse(const char *text, struct address *out);
/* The shortest text that address_parse() turns into @a. */
void address_text(const struct address *a, char out[ADDRESS_TEXT]);
/* True if the name is one that can stand in an address: letters, digits and ".-_:%". */
bool address_name_ok(const char *name);

#endif
