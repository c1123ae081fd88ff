/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of a host: their kinds, the key that a login is checked with, the sessions that a change of
 * keys ends. Pure.
 *
 *   master --HKDF "host", UUID, role--> key of that host in that role --HKDF "login"--> proofs
 *
 * Storage and store hosts have the master; a client has its own key alone. A key that all hosts
 * share is under the proofs as it is.
 */
#ifndef RDDA_KEY_H
#define RDDA_KEY_H

#include <linux/types.h>

#include "rdda/wire.h"

#define RDDA_KEY_MIN		16	/* bytes of a shared key, at least */
#define RDDA_KEY_MAX		64
#define RDDA_KEY_DERIVED	32	/* bytes of a master, and of each key that is derived */

enum rdda_key_kind {
	RDDA_KEY_SHARED,	/* all hosts have it; also RDDA_KEY_NONE */
	RDDA_KEY_MASTER,	/* derives the key of each host */
	RDDA_KEY_OWN,		/* of this host, derived from the master with the same id */
};

/* One key of this host. */
struct rdda_key {
	u16	id;		/* RDDA_KEY_NONE: no key, all else is then zero */
	u8	kind;		/* enum rdda_key_kind */
	u8	role;		/* enum rdda_role: of this host; none with a shared key */
	u8	len;		/* bytes of @key */
	u8	key[RDDA_KEY_MAX];	/* the secret itself */
};

const char *rdda_role_name(unsigned int role);
const char *rdda_key_refuse(const struct rdda_key *key);
int rdda_key_find(const struct rdda_key table[2], u16 id, u8 role, const struct rdda_key **key);
bool rdda_key_counts(const struct rdda_key table[2], const struct rdda_key *key);
bool rdda_key_other(int err);

#endif
