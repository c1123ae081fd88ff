/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A token admits one host to the cluster: one word without spaces, which a person carries.
 *
 *   meshjoin1/ROLE/KEYID/ID/SECRET/CLUSTER/ADDRESS[,ADDRESS...]/CHECK
 *
 *   meshjoin1  the version of this format
 *   ROLE       client, storage or store
 *   KEYID      id of the master that the secret is derived from
 *   ID         32 hexadecimal digits: token/ID is its key in the store, on a lease
 *   SECRET     64 hexadecimal digits
 *   CLUSTER    16 hexadecimal digits: fingerprint of the cluster
 *   ADDRESS    a store host: NAME, or NAME~PORT where the port is not the usual one
 *   CHECK      8 hexadecimal digits: begin of the SHA-256 of all before it
 *
 * No character needs quotes in a shell. Each token has one text: the parser refuses all others.
 */
#ifndef STORE_TOKEN_H
#define STORE_TOKEN_H

#include "userspace/store/address.h"
#include "userspace/store/secret.h"

#define TOKEN_TEXT	(256 + ADDRESS_MAX * ADDRESS_TEXT)

struct token {
	u8	role;		/* enum plan_role */
	u16	key_id;
	struct muuid id;
	struct secret secret;
	u8	cluster[SECRET_CLUSTER];
	size_t	addresses;	/* 1 to ADDRESS_MAX */
	struct address address[ADDRESS_MAX];
};

/* 0; -EINVAL: a member is not as above. */
int token_print(const struct token *t, char out[TOKEN_TEXT]);
/* 0; -EPROTONOSUPPORT: a later version; -EBADMSG: damaged or cut; -EINVAL: no token. */
int token_parse(const char *text, struct token *t);

/* "client", "storage", "store"; NULL: none of them. */
const char *token_role(u8 role);
/* 0: no such role. */
u8 token_role_of(const char *word);

#endif
