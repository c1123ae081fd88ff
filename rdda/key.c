// SPDX-License-Identifier: GPL-2.0-only
/* See key.h. */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "rdda/key.h"

/* Return: name of a role in sysfs. @role: enum rdda_role. */
const char *rdda_role_name(unsigned int role)
{
	switch (role) {
	case RDDA_ROLE_NONE:
		return "none";
	case RDDA_ROLE_CLIENT:
		return "client";
	case RDDA_ROLE_STORAGE:
		return "storage";
	case RDDA_ROLE_STORE:
		return "store";
	default:
		return "unknown";
	}
}

/* Return: NULL; or why a host must not take the key, human-readable. */
const char *rdda_key_refuse(const struct rdda_key *key)
{
	if (key->id == RDDA_KEY_NONE)
		return key->len || key->kind || key->role ? "a key has a number" : NULL;
	if (key->kind == RDDA_KEY_SHARED) {
		if (key->role != RDDA_ROLE_NONE)
			return "a role goes with a master or a host's own key";
		if (key->len < RDDA_KEY_MIN)
			return "a cluster's key has at least 16 bytes";
		return key->len > RDDA_KEY_MAX ? "a cluster's key has 64 bytes at most" : NULL;
	}
	if (key->len != RDDA_KEY_DERIVED)
		return "a master and a host's own key have 32 bytes";
	if (key->role < RDDA_ROLE_CLIENT || key->role > RDDA_ROLE_STORE)
		return "a master and a host's own key go with the host's role";
	if (key->kind == RDDA_KEY_MASTER && key->role == RDDA_ROLE_CLIENT)
		return "a client does not have the master";
	return NULL;
}

/*
 * Find the key with which a target checks a login. @table: the target's keys, the newest first;
 * without a newest key there is no authentication. @id, @role: as the login names them. A host's
 * own key checks no other host, so a target that has no more admits none. @key: set on success.
 * Return: 0, or the enum rdda_reject_reason to refuse with.
 */
int rdda_key_find(const struct rdda_key table[2], u16 id, u8 role, const struct rdda_key **key)
{
	int i, reason = RDDA_REJ_KEY;

	for (i = 0; i < 2; i++) {
		if (table[i].id != id || table[i].kind == RDDA_KEY_OWN)
			continue;
		if (id == RDDA_KEY_NONE && table[0].id != RDDA_KEY_NONE)
			continue;
		if ((table[i].kind == RDDA_KEY_MASTER) != (role != RDDA_ROLE_NONE)) {
			reason = RDDA_REJ_ROLE;
			continue;
		}
		*key = &table[i];
		return 0;
	}
	return reason;
}

static bool key_same(const struct rdda_key *a, const struct rdda_key *b)
{
	unsigned int i, differ = (a->id ^ b->id) | (a->kind ^ b->kind) | (a->role ^ b->role) |
				 (a->len ^ b->len);

	for (i = 0; i < sizeof(a->key); i++)	/* to the end, whatever differs: constant time */
		differ |= a->key[i] ^ b->key[i];
	return !differ;
}

/*
 * True if a session that logged in with @key may go on. @table: the keys in use, the newest first;
 * without a newest key there is no authentication. @key: the session's; RDDA_KEY_NONE: the session
 * logged in without a key.
 */
bool rdda_key_counts(const struct rdda_key table[2], const struct rdda_key *key)
{
	if (key->id == RDDA_KEY_NONE)
		return table[0].id == RDDA_KEY_NONE;
	return key_same(&table[0], key) || key_same(&table[1], key);
}

/*
 * True if the next login should use the other one of two keys. @err: why the last login failed, as
 * rdda_reject_errno() or the check of a proof gave it.
 */
bool rdda_key_other(int err)
{
	return err == -EKEYREJECTED || err == -EPERM;
}
