// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMAC-SHA256 over the data of a connection that both sides know (rdda_proof_bytes()), with a key
 * that all hosts share, or with the client's: see key.h. userspace/store/secret.c derives the same
 * keys.
 *
 * A client's key is under the proofs of both sides. A target derives it from the master, so that it
 * proves to each client that it has the master, without the client having it.
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

/*
 * Derive a key: HKDF-SHA256 (RFC 5869), extract and the first block of expand. @label: with its
 * end, which divides it from the context. @len: bytes of @context, 32 at most.
 */
static int auth_derive(const struct rdda_key *from, const char *label, const u8 *context,
		       size_t len, struct rdda_key *out)
{
	static const char salt[] = "meshblk keys 1";
	u8 prk[RDDA_HMAC_LEN], info[16 + 32 + 1];
	size_t at = strlen(label) + 1;
	int ret;

	memcpy(info, label, at);
	if (len)
		memcpy(info + at, context, len);
	info[at + len] = 1;
	ret = rdda_hmac(salt, sizeof(salt) - 1, from->key, from->len, prk);
	if (!ret)
		ret = rdda_hmac(prk, sizeof(prk), info, at + len + 1, out->key);
	out->len = RDDA_KEY_DERIVED;
	memzero_explicit(prk, sizeof(prk));
	return ret;
}

/*
 * Derive the key of a client's proofs. @from: a shared key, which is under them as it is; a master;
 * or the client's own key, where the caller is the client. @out: set; the caller wipes it.
 */
static int auth_key(const struct rdda_key *from, const u8 host[RDDA_UUID_LEN], u8 role,
		    struct rdda_key *out)
{
	u8 context[RDDA_UUID_LEN + 1];
	struct rdda_key own;
	int ret = 0;

	*out = *from;
	if (from->kind == RDDA_KEY_SHARED)
		return 0;
	own = *from;
	memset(out->key, 0, sizeof(out->key));
	memcpy(context, host, RDDA_UUID_LEN);
	context[RDDA_UUID_LEN] = role;
	if (from->kind == RDDA_KEY_MASTER)
		ret = auth_derive(from, "host", context, sizeof(context), &own);
	if (!ret)
		ret = auth_derive(&own, "login", NULL, 0, out);
	memzero_explicit(&own, sizeof(own));
	return ret;
}

/*
 * Derive the key under the proofs of a session. @key: @named is set, and fits the login:
 * rdda_key_find(); the caller wipes both. Context: process; sleeps; allocates as rdda_auth_make().
 * Return: 0, or a negative errno when the kernel has no hmac(sha256).
 */
int rdda_auth_key(struct rdda_session_key *key, const struct rdda_login *login)
{
	return auth_key(&key->named, login->host_uuid, login->role, &key->proof);
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
 * Return: 0; -EINVAL: a side of this role proves nothing; or a negative errno when the kernel has
 * no hmac(sha256).
 */
int rdda_auth_make(const struct rdda_key *key, const struct rdda_proof *p, bool by_client,
		   u8 hmac[RDDA_HMAC_LEN])
{
	u8 bytes[RDDA_PROOF_BYTES];

	if (rdda_proof_bytes(p, by_client, bytes))
		return -EINVAL;
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

/*
 * Check a client's proof at a target. Return: 0; -EKEYREJECTED; -EPERM: the client has proved a key
 * of its host, but of another role than the one that its login names; or another negative errno.
 */
int rdda_auth_login_check(const struct rdda_session_key *key, const struct rdda_proof *p,
			  const u8 hmac[RDDA_HMAC_LEN])
{
	int ret = rdda_auth_check(&key->proof, p, true, hmac), err = 0;
	struct rdda_key other;
	u8 role;

	if (ret != -EKEYREJECTED || key->named.kind != RDDA_KEY_MASTER)
		return ret;
	for (role = RDDA_ROLE_CLIENT; role <= RDDA_ROLE_STORE && !err; role++) {
		err = auth_key(&key->named, p->login.host_uuid, role, &other);
		if (!err && !rdda_auth_check(&other, p, true, hmac))
			ret = -EPERM;
	}
	memzero_explicit(&other, sizeof(other));
	return ret;
}

/* As rdda_auth_make(), for another channel. */
int rdda_auth_join_make(const struct rdda_key *key, const struct rdda_join_proof *p,
			bool by_client, u8 hmac[RDDA_HMAC_LEN])
{
	u8 bytes[RDDA_JOIN_BYTES];

	if (rdda_join_bytes(p, by_client, bytes))
		return -EINVAL;
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
