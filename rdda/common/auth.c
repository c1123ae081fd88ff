// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMAC-SHA256 over the data of a connection that both sides know (rdda_proof_bytes()).
 *
 * The proof keeps out hosts without the key, and mistakes. The proof does not protect from an
 * attacker who injects packets into the fabric, and data travels in clear.
 */
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include <linux/string.h>
#include <rdma/rdma_cm.h>

#include "rdda/common/auth.h"

/*
 * Compute HMAC-SHA256. Context: process; sleeps. Return: 0, or a negative errno when the kernel has
 * no hmac(sha256).
 */
int rdda_hmac(const void *key, size_t key_len, const void *bytes, size_t len,
	      u8 hmac[RDDA_HMAC_LEN])
{
	struct crypto_shash *tfm;
	int ret;

	tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	ret = crypto_shash_setkey(tfm, key, key_len);
	if (!ret)
		ret = crypto_shash_tfm_digest(tfm, bytes, len, hmac);
	crypto_free_shash(tfm);
	return ret;
}

/* Compute a proof. Without a key, a key of zeroes takes the same path. */
static int auth_digest(const struct rdda_key *key, const u8 *bytes, size_t len,
		       u8 hmac[RDDA_HMAC_LEN])
{
	return rdda_hmac(key->key, key->len ?: sizeof(key->key), bytes, len, hmac);
}

/* Compare in constant time. @ret: result of making @want; @want is wiped. */
static int auth_compare(u8 want[RDDA_HMAC_LEN], const u8 hmac[RDDA_HMAC_LEN], int ret)
{
	if (!ret && crypto_memneq(want, hmac, RDDA_HMAC_LEN))
		ret = -EKEYREJECTED;
	memzero_explicit(want, RDDA_HMAC_LEN);
	return ret;
}

/*
 * Make one side's proof of the key, for channel 0. @key: RDDA_KEY_NONE is a key of zeroes. Context:
 * process; sleeps. Allocates: call it under memalloc_noio_save() if reclaim could come back here.
 * Return: 0, or a negative errno when the kernel has no hmac(sha256).
 */
int rdda_auth_make(const struct rdda_key *key, const struct rdda_proof *p, bool by_client,
		   u8 hmac[RDDA_HMAC_LEN])
{
	u8 bytes[RDDA_PROOF_BYTES];

	rdda_proof_bytes(p, by_client, bytes);
	return auth_digest(key, bytes, sizeof(bytes), hmac);
}

/*
 * Check the proof of the other side. @key: the key that opened this connection. @by_client: side
 * that should have made the proof. Context: process; sleeps. Return: 0, -EKEYREJECTED, or another
 * negative errno.
 */
int rdda_auth_check(const struct rdda_key *key, const struct rdda_proof *p, bool by_client,
		    const u8 hmac[RDDA_HMAC_LEN])
{
	u8 want[RDDA_HMAC_LEN];

	return auth_compare(want, hmac, rdda_auth_make(key, p, by_client, want));
}

/* As rdda_auth_make(), for another channel. */
int rdda_auth_join_make(const struct rdda_key *key, const struct rdda_join_proof *p,
			bool by_client, u8 hmac[RDDA_HMAC_LEN])
{
	u8 bytes[RDDA_JOIN_BYTES];

	rdda_join_bytes(p, by_client, bytes);
	return auth_digest(key, bytes, sizeof(bytes), hmac);
}

/* As rdda_auth_check(), for another channel. */
int rdda_auth_join_check(const struct rdda_key *key, const struct rdda_join_proof *p,
			 bool by_client, const u8 hmac[RDDA_HMAC_LEN])
{
	u8 want[RDDA_HMAC_LEN];

	return auth_compare(want, hmac, rdda_auth_join_make(key, p, by_client, want));
}

/*
 * Fill in the GIDs of a connection. @id: after route resolution (client) or in a connect request
 * (target). @client: true on the client. @gid: of client and target, in this order.
 */
void rdda_auth_gids(struct rdma_cm_id *id, bool client, u8 gid[2][16])
{
	union ib_gid sgid, dgid;

	memset(&sgid, 0, sizeof(sgid));
	memset(&dgid, 0, sizeof(dgid));
	rdma_read_gids(id, &sgid, &dgid);
	memcpy(gid[!client], sgid.raw, sizeof(sgid.raw));
	memcpy(gid[client], dgid.raw, sizeof(dgid.raw));
}
