// SPDX-License-Identifier: GPL-2.0-only
/* Keys of the calling thread, for the kernel. */
#include <errno.h>
#include <keyutils.h>
#include <stdio.h>
#include <string.h>

#include "userspace/libmesh/secret.h"

int put_secret(struct mesh *m, struct nl_msg *msg, int attr, const char *name, const void *bytes,
	       size_t len)
{
	key_serial_t serial = add_key("logon", name, bytes, len, KEY_SPEC_THREAD_KEYRING);
	int err = -errno;

	if (serial < 0) {
		snprintf(m->why, sizeof(m->why), "cannot add a key to the kernel's keyrings: %s",
			 strerror(-err));
		return err;
	}
	nla_put_s32(msg, attr, serial);
	return 0;
}

int put_keys(struct mesh *m, struct nl_msg *msg, int first, const struct mesh_key *keys, size_t n)
{
	static const char *const kinds[] = {
		[MESH_KEY_SHARED] = MESHBLK_KEY_NAME,
		[MESH_KEY_MASTER] = MESHBLK_MASTER_NAME,
		[MESH_KEY_OWN] = MESHBLK_OWN_NAME,
	};
	char name[sizeof(MESHBLK_MASTER_NAME) + 8];
	u8 role = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		role = role ? role : keys[i].role;
		snprintf(name, sizeof(name), "%s%u", kinds[keys[i].kind], keys[i].id);
		nla_put_u16(msg, first + 2 * i, keys[i].id);
		err = put_secret(m, msg, first + 2 * i + 1, name, keys[i].key, keys[i].len);
	}
	if (role)
		nla_put_u8(msg, first + 4, role);
	return err;
}

int call_secret(struct mesh *m, enum mesh_family f, struct nl_msg *msg, int err)
{
	if (err)
		nlmsg_free(msg);
	else
		err = mesh_call(m, f, msg, NULL, NULL);
	keyctl_clear(KEY_SPEC_THREAD_KEYRING);
	return err;
}
