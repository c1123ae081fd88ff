/* SPDX-License-Identifier: GPL-2.0-only */
/* A secret of a netlink message: a key of this process, which ends with it. */
#ifndef TESTS_TOOLS_SECRET_H
#define TESTS_TOOLS_SECRET_H

#include <keyutils.h>
#include <netlink/attr.h>
#include <stdio.h>
#include <string.h>

#include "driver/uapi/meshblk.h"

/* Put the serial number of a new key, described by @kind and @of, as @attr; false: no key. */
static inline int put_secret(struct nl_msg *m, int attr, const char *kind, const char *of,
			     const void *bytes, size_t len)
{
	key_serial_t serial;
	char name[128];

	snprintf(name, sizeof(name), "%s%s", kind, of);
	serial = add_key("logon", name, bytes, len, KEY_SPEC_THREAD_KEYRING);
	return serial > 0 && !nla_put_s32(m, attr, serial);
}

/* What a key is described by. @id: "7", "master:7" or "own:7"; becomes the number alone. */
static inline const char *key_kind(const char **id)
{
	const char *number = strchr(*id, ':');
	const char *kind = !number ? MESHBLK_KEY_NAME :
			   **id == 'm' ? MESHBLK_MASTER_NAME : MESHBLK_OWN_NAME;

	*id = number ? number + 1 : *id;
	return kind;
}

#endif
