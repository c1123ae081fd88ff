/* SPDX-License-Identifier: GPL-2.0-only */
/* Proof of the cluster's key, the same on both sides of a connection. */
#ifndef RDDA_AUTH_H
#define RDDA_AUTH_H

#include "rdda/wire.h"

struct rdma_cm_id;

/* One of the cluster's keys. */
struct rdda_key {
	u16	id;		/* RDDA_KEY_NONE: no key, @len is then 0 and @key zeroes */
	u8	len;		/* bytes of @key */
	u8	key[64];	/* the secret itself */
};

int rdda_hmac(const void *key, size_t key_len, const void *bytes, size_t len,
	      u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_make(const struct rdda_key *key, const struct rdda_proof *p, bool by_client,
		   u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_check(const struct rdda_key *key, const struct rdda_proof *p, bool by_client,
		    const u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_join_make(const struct rdda_key *key, const struct rdda_join_proof *p,
			bool by_client, u8 hmac[RDDA_HMAC_LEN]);
int rdda_auth_join_check(const struct rdda_key *key, const struct rdda_join_proof *p,
			 bool by_client, const u8 hmac[RDDA_HMAC_LEN]);
void rdda_auth_gids(struct rdma_cm_id *id, bool client, u8 gid[2][16]);

#endif
