// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pre-shared key of the links is not the cluster's key: HKDF-SHA256 with a
 * label makes it, so that nothing of TLS says anything of the RDMA login, which
 * uses the same key in its own way.
 */
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/meshd/link.h"

static const char salt_text[] = "meshblk management";
static const char label[] = "meshblk link psk 1";

void link_psk(const void *key, size_t len, u16 id, struct link_key *out)
{
	static const u8 zero[32];
	u8 prk[32], info_bytes[sizeof(label) + 1];
	gnutls_datum_t ikm = { (void *)(id ? key : zero), id ? len : sizeof(zero) };
	gnutls_datum_t salt = { (void *)salt_text, sizeof(salt_text) - 1 };
	gnutls_datum_t middle = { prk, sizeof(prk) };
	gnutls_datum_t info = { info_bytes, sizeof(info_bytes) };

	memcpy(info_bytes, label, sizeof(label) - 1);
	info_bytes[sizeof(label) - 1] = id & 0xff;
	info_bytes[sizeof(label)] = id >> 8;
	out->id = id;
	/* SHA-256 is always there; a key that is not what it says must never be used. */
	if (gnutls_hkdf_extract(GNUTLS_MAC_SHA256, &ikm, &salt, prk) < 0 ||
	    gnutls_hkdf_expand(GNUTLS_MAC_SHA256, &middle, &info, out->psk, sizeof(out->psk)) < 0) {
		log_error("links: no HKDF-SHA256 in the TLS library");
		abort();
	}
	gnutls_memset(prk, 0, sizeof(prk));
}
