/* SPDX-License-Identifier: GPL-2.0-only */
/* Secrets of a netlink message, which names a key of the kernel's keyrings for each. */
#ifndef RDDA_SECRET_H
#define RDDA_SECRET_H

#include <linux/types.h>

#include "rdda/key.h"

struct netlink_ext_ack;
struct nlattr;

int rdda_secret_read(s32 serial, const char *name, void *bytes, size_t size,
		     struct netlink_ext_ack *extack);
int rdda_keys_get(struct nlattr *const attrs[], int first, struct rdda_key key[2],
		  struct netlink_ext_ack *extack);

#endif
