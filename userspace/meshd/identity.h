/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This host's identity and the cluster's key, both in the state folder:
 *   host          the host's UUID, made at the first start
 *   machine       where it is at home: home.c
 *   key, key.old  meshkey1:ID:CLUSTER-UUID:HEX, the present and the last one
 *
 *   key set                 both count for login and for the links of meshd
 *   none                    this host alone: its kernels share a random key that
 *                           is never shown (alone_key.h); no link is served or made
 *   none, insecure = yes    any host: key id 0, which proves nothing
 */
#ifndef MESHD_IDENTITY_H
#define MESHD_IDENTITY_H

#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/meshd.h"

#define KEY_LINE	256

int identity_load(void);
/* Another host UUID; only before the old one was given to anything. */
int identity_renew(void);
/* Replace a file of the state folder so that it is whole after a crash. */
int state_write(const char *name, const char *text);
/* Pass them to the kernel modules; one that is not loaded is skipped. */
int identity_push(struct mesh *m);

u16 key_id(void);		/* 0: no key is set */
/* What no key, or none and insecure, means; NULL with a key. */
const char *key_warning(void);
/* The line to carry to other hosts; "" without a key. Return: its id. */
u16 key_line(char out[KEY_LINE]);
/* "key 3, fingerprint 1f6a…" */
void key_words(char *out, size_t size);
int key_generate(void);
/* A whole line, or bare hex digits with an @id; -EINVAL: neither. */
int key_set(const char *text, u16 id);
int key_clear(void);

#endif
