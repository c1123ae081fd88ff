/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tokens in the store: token/ID is on a lease, and names the host that has used it.
 *
 *   issue      token/ID = { role }           on a lease: it ends, the token has expired
 *   bind       token/ID = { role, host }     and host/H is made, in one transaction
 *   repeat     the same host, the same role: the same answer
 */
#ifndef STORE_JOIN_H
#define STORE_JOIN_H

#include "userspace/store/store.h"
#include "userspace/store/token.h"

#define JOIN_WHY	256

/**
 * join_issue() - make a token
 * @t: role, key_id and addresses are set; becomes whole, but for the secret and the fingerprint
 */
int join_issue(struct store *s, struct token *t, unsigned int seconds, char why[JOIN_WHY]);

/**
 * join_bind() - admit a host by a token
 *
 * -ENOENT: the token has expired; -EACCES: another host has used it, it is for another role, or a
 * host with this UUID is known already; errors of the store.
 */
int join_bind(struct store *s, const struct muuid *token, const struct muuid *host, u8 role,
	      char why[JOIN_WHY]);

#endif
