// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "userspace/store/secret.h"

#define LABEL_MAX	32	/* bytes of a label with its end */
#define CONTEXT_MAX	32	/* bytes behind the label */
#define PRK_BYTES	32

static const char salt[] = "meshblk keys 1";

void secret_hkdf(const void *ikm, size_t ikm_len, const void *salt_bytes, size_t salt_len,
		 const void *info, size_t info_len, void *out, size_t out_len)
{
	u8 prk[PRK_BYTES];
	gnutls_datum_t from = { (void *)ikm, ikm_len };
	gnutls_datum_t salted = { (void *)salt_bytes, salt_len };
	gnutls_datum_t middle = { prk, sizeof(prk) };
	gnutls_datum_t about = { (void *)info, info_len };

	if (gnutls_hkdf_extract(GNUTLS_MAC_SHA256, &from, &salted, prk) < 0 ||
	    gnutls_hkdf_expand(GNUTLS_MAC_SHA256, &middle, &about, out, out_len) < 0) {
		fprintf(stderr, "the TLS library has no HKDF-SHA256\n");
		abort();
	}
	explicit_bzero(prk, sizeof(prk));
}

/* The label's end divides it from the context, so no two labels give the same bytes. */
static void derive(const struct secret *from, const char *label, const void *context, size_t len,
		   void *out, size_t out_len)
{
	u8 info[LABEL_MAX + CONTEXT_MAX];
	size_t at = strlen(label) + 1;

	memcpy(info, label, at);
	if (len)
		memcpy(info + at, context, len);
	secret_hkdf(from->b, SECRET_BYTES, salt, sizeof(salt) - 1, info, at + len, out, out_len);
}

void secret_host(const struct secret_master *m, const struct muuid *host, enum plan_role role,
		 struct secret *out)
{
	u8 context[sizeof(host->b) + 1];

	memcpy(context, host->b, sizeof(host->b));
	context[sizeof(host->b)] = role;
	derive(&m->key, "host", context, sizeof(context), out->b, SECRET_BYTES);
}

void secret_token(const struct secret_master *m, const struct muuid *token, struct secret *out)
{
	derive(&m->key, "token", token->b, sizeof(token->b), out->b, SECRET_BYTES);
}

void secret_tls(const struct secret *from, struct secret *out)
{
	derive(from, "tls", NULL, 0, out->b, SECRET_BYTES);
}

void secret_login(const struct secret *host_key, struct secret *out)
{
	derive(host_key, "login", NULL, 0, out->b, SECRET_BYTES);
}

void secret_drive(const struct secret *label_key, const struct muuid *drive, struct secret *out)
{
	derive(label_key, "drive", drive->b, sizeof(drive->b), out->b, SECRET_BYTES);
}

void secret_cluster(const struct secret *label_key, const struct muuid *cluster, u8 out[SECRET_CLUSTER])
{
	derive(label_key, "cluster", cluster->b, sizeof(cluster->b), out, SECRET_CLUSTER);
}

void secret_lease(const struct secret *label_key, const struct muuid *host, u64 lease,
		  struct secret_proof *out)
{
	u8 context[sizeof(host->b) + 8];

	memcpy(context, host->b, sizeof(host->b));
	for (int i = 0; i < 8; i++)
		context[sizeof(host->b) + i] = lease >> 8 * i;
	derive(label_key, "lease", context, sizeof(context), out->b, sizeof(out->b));
}

void secret_fingerprint(const struct secret *key, char out[SECRET_FINGERPRINT])
{
	u8 b[4];

	derive(key, "fingerprint", NULL, 0, b, sizeof(b));
	snprintf(out, SECRET_FINGERPRINT, "%02x%02x-%02x%02x", b[0], b[1], b[2], b[3]);
}

int secret_random(struct secret *out)
{
	return getrandom(out->b, SECRET_BYTES, 0) == SECRET_BYTES ? 0 : -EIO;
}

int secret_rotate(struct secret_masters *m)
{
	struct secret_master next = { .id = m->now.id % 0xffff + 1 };

	if (secret_random(&next.key))
		return -EIO;
	m->before = m->now;
	m->now = next;
	explicit_bzero(&next, sizeof(next));
	return 0;
}

const struct secret_master *secret_find(const struct secret_masters *m, u16 id)
{
	if (!id)
		return NULL;
	return m->now.id == id ? &m->now : m->before.id == id ? &m->before : NULL;
}

bool secret_proof_equal(const struct secret_proof *a, const struct secret_proof *b)
{
	return !gnutls_memcmp(a->b, b->b, sizeof(a->b));
}

bool secret_equal(const struct secret *a, const struct secret *b)
{
	return !gnutls_memcmp(a->b, b->b, SECRET_BYTES);
}
