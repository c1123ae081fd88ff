/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keys of the cluster, each derived by HKDF-SHA256 (RFC 5869) under its own label:
 *
 *   master (id 1 to 65535)                     label key
 *     |-- "host", UUID, role --> host key        |-- "drive", UUID ------> MAC of a label
 *     |                            |-- "tls"     |-- "cluster", UUID ----> cluster fingerprint
 *     |                            +-- "login"   +-- "lease", UUID, id --> proof of a lease's owner
 *     +-- "token", id ---------> token secret
 *                                  +-- "tls"
 *
 *   "tls"     pre-shared key of the link to a store host
 *   "login"   key of the RDMA login
 *
 * A host that has only its own host key can derive neither the master nor another host's key, nor
 * its own key under another role. The label key is independent of the master: a rotation of the
 * master leaves labels valid.
 */
#ifndef STORE_SECRET_H
#define STORE_SECRET_H

#include <stddef.h>

#include "userspace/plan/objects.h"

#define SECRET_BYTES		32
#define SECRET_FINGERPRINT	10	/* bytes of "0123-4567" with its end */
#define SECRET_CLUSTER		8	/* bytes of the cluster fingerprint */

struct secret {
	u8	b[SECRET_BYTES];
};

struct secret_proof {
	u8	b[16];
};

struct secret_master {
	u16	id;		/* 0: none */
	struct secret key;
};

/* The master, and the former one until every host has a key of the present one. */
struct secret_masters {
	struct secret_master now, before;
};

/**
 * secret_hkdf() - extract and expand of RFC 5869 with SHA-256
 * @out_len: at most 255 * 32
 *
 * Ends the process if the TLS library has no SHA-256: no wrong key may ever be used.
 */
void secret_hkdf(const void *ikm, size_t ikm_len, const void *salt, size_t salt_len, const void *info,
		 size_t info_len, void *out, size_t out_len);

void secret_host(const struct secret_master *m, const struct muuid *host, enum plan_role role,
		 struct secret *out);
void secret_token(const struct secret_master *m, const struct muuid *token, struct secret *out);
/* @from: a host key or a token secret. */
void secret_tls(const struct secret *from, struct secret *out);
void secret_login(const struct secret *host_key, struct secret *out);
void secret_drive(const struct secret *label_key, const struct muuid *drive, struct secret *out);
void secret_cluster(const struct secret *label_key, const struct muuid *cluster, u8 out[SECRET_CLUSTER]);

/* Proof that the host was granted the lease: another host may guess the id, and not this. */
void secret_lease(const struct secret *label_key, const struct muuid *host, u64 lease,
		  struct secret_proof *out);

/* Short text by which people compare keys; it does not help to find the key. */
void secret_fingerprint(const struct secret *key, char out[SECRET_FINGERPRINT]);

/* 0, or -EIO: the system has no random bytes. */
int secret_random(struct secret *out);
/* A first master, or the next one: the present one becomes the former one. 0 or -EIO. */
int secret_rotate(struct secret_masters *m);
/* NULL: no master has this id. */
const struct secret_master *secret_find(const struct secret_masters *m, u16 id);
/* True in a time that does not depend on the bytes. */
bool secret_proof_equal(const struct secret_proof *a, const struct secret_proof *b);
bool secret_equal(const struct secret *a, const struct secret *b);

#endif
