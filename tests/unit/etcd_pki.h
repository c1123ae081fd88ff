/* SPDX-License-Identifier: GPL-2.0-only */
/* Certificates for members of etcd and their clients, in files of a folder. */
#ifndef TESTS_UNIT_ETCD_PKI_H
#define TESTS_UNIT_ETCD_PKI_H

#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

struct pair {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
};

static inline void pki_must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "certificates for the test: %s: %s\n", what, gnutls_strerror(ret));
	exit(3);
}

static inline void pki_write(const char *dir, const char *name, const char *end, const gnutls_datum_t *d)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, end);
	f = fopen(path, "w");
	if (!f || fwrite(d->data, d->size, 1, f) != 1 || fclose(f) || chmod(path, 0600))
		pki_must(GNUTLS_E_FILE_ERROR, path);
}

/* @ca NULL: it signs itself. @ip: four bytes, or NULL for a client. */
static inline void pki_make(const char *dir, const char *name, const struct pair *ca, const u8 *ip,
			    struct pair *out)
{
	static unsigned char serial;
	gnutls_datum_t d;

	serial++;
	pki_must(gnutls_x509_crt_init(&out->crt), "memory");
	pki_must(gnutls_x509_privkey_init(&out->key), "memory");
	pki_must(gnutls_x509_privkey_generate(out->key, GNUTLS_PK_ECDSA,
			GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), "key");
	gnutls_x509_crt_set_version(out->crt, 3);
	gnutls_x509_crt_set_serial(out->crt, &serial, 1);
	gnutls_x509_crt_set_activation_time(out->crt, time(NULL) - 3600);
	gnutls_x509_crt_set_expiration_time(out->crt, time(NULL) + 24 * 3600);
	gnutls_x509_crt_set_dn_by_oid(out->crt, GNUTLS_OID_X520_COMMON_NAME, 0, name, strlen(name));
	gnutls_x509_crt_set_basic_constraints(out->crt, !ca, -1);
	gnutls_x509_crt_set_key_usage(out->crt, ca ? GNUTLS_KEY_DIGITAL_SIGNATURE : GNUTLS_KEY_KEY_CERT_SIGN);
	gnutls_x509_crt_set_key(out->crt, out->key);
	if (ca) {
		gnutls_x509_crt_set_key_purpose_oid(out->crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
		gnutls_x509_crt_set_key_purpose_oid(out->crt, GNUTLS_KP_TLS_WWW_CLIENT, 0);
	}
	if (ip)
		gnutls_x509_crt_set_subject_alt_name(out->crt, GNUTLS_SAN_IPADDRESS, ip, 4, GNUTLS_FSAN_SET);
	pki_must(gnutls_x509_crt_sign2(out->crt, ca ? ca->crt : out->crt, ca ? ca->key : out->key,
				       GNUTLS_DIG_SHA256, 0), "signature");
	pki_must(gnutls_x509_crt_export2(out->crt, GNUTLS_X509_FMT_PEM, &d), "certificate");
	pki_write(dir, name, "crt", &d);
	gnutls_free(d.data);
	pki_must(gnutls_x509_privkey_export2(out->key, GNUTLS_X509_FMT_PEM, &d), "key");
	pki_write(dir, name, "key", &d);
	gnutls_free(d.data);
}

static inline void pki_free(struct pair *p)
{
	gnutls_x509_crt_deinit(p->crt);
	gnutls_x509_privkey_deinit(p->key);
}

/* ca, member (127.0.0.1), client; elsewhere (another address); other-ca, stranger (of that CA). */
static inline void pki_all(const char *dir)
{
	struct pair ca, other, p;

	pki_make(dir, "ca", NULL, NULL, &ca);
	pki_make(dir, "other-ca", NULL, NULL, &other);
	pki_make(dir, "member", &ca, (const u8[]) { 127, 0, 0, 1 }, &p);
	pki_free(&p);
	pki_make(dir, "elsewhere", &ca, (const u8[]) { 127, 0, 0, 2 }, &p);
	pki_free(&p);
	pki_make(dir, "client", &ca, NULL, &p);
	pki_free(&p);
	pki_make(dir, "stranger", &other, NULL, &p);
	pki_free(&p);
	pki_free(&ca);
	pki_free(&other);
}

#endif
