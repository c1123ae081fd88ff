/* SPDX-License-Identifier: GPL-2.0-only */
/* Proofs of a connection's two sides, and the keys that are under them. */
#ifndef RDDA_AUTH_H
#define RDDA_AUTH_H

#include "rdda/key.h"
#include "rdda/wire.h"

struct rdma_cm_id;

/* Keys of one session. */
struct rdda_session_key {
	struct rdda_key named;	/* by the login; of this host: rdda_key_counts() judges it */
	struct rdda_key proof;	/* of the client, in its role: under the proofs of both sides */
};

int rdda_hmac(const void *key, size_t key_len, const void *bytes, size_t len,
	      u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_key(struct rdda_session_key *key, const struct rdda_login *login);
int rdda_auth_make(const struct rdda_key *key, const struct rdda_proof *p, bool by_client,
		   u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_check(const struct rdda_key *key, const struct rdda_proof *p, bool by_client,
		    const u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_login_check(const struct rdda_session_key *key, const struct rdda_proof *p,
			  const u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_join_make(const struct rdda_key *key, const struct rdda_join_proof *p,
			bool by_client, u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_join_check(const struct rdda_key *key, const struct rdda_join_proof *p,
			 bool by_client, const u8 hmac[RDDA_HMAC_LEN]);
void rdda_auth_gids(struct rdma_cm_id *id, bool client, u8 gid[2][16]);

#endif
