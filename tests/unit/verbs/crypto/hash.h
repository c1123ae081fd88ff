/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's hashes, as far as rdda/common/auth.c uses them: hmac(sha256) of the TLS library. */
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <linux/types.h>

#ifndef TESTS_UNIT_HASH_H
#define TESTS_UNIT_HASH_H

struct crypto_shash {
	u8	key[64];
	unsigned int len;
};

static inline struct crypto_shash *crypto_alloc_shash(const char *name, u32 type, u32 mask)
{
	(void)name, (void)type, (void)mask;
	return calloc(1, sizeof(struct crypto_shash));
}

static inline void crypto_free_shash(struct crypto_shash *tfm)
{
	free(tfm);
}

static inline int crypto_shash_setkey(struct crypto_shash *tfm, const u8 *key, unsigned int len)
{
	if (len > sizeof(tfm->key))
		return -EINVAL;
	memcpy(tfm->key, key, len);
	tfm->len = len;
	return 0;
}

static inline int crypto_shash_tfm_digest(struct crypto_shash *tfm, const u8 *data,
					  unsigned int len, u8 *out)
{
	return gnutls_hmac_fast(GNUTLS_MAC_SHA256, tfm->key, tfm->len, data, len, out) ? -EIO : 0;
}

#endif
