/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who this host is, and the cluster's key, both in the state folder:
 *   host          the host's UUID, made at the first start
 *   machine       where it is at home: home.c
 *   key, key.old  meshkey1:ID:CLUSTER-UUID:HEX, the present and the last one
 *
 *   key set                 both count for login and for the links of meshd
 *   none                    this host alone: its kernels share a random key that
 *                           nobody is told, and no link is served or made
 *   none, insecure = yes    everybody: key id 0, which proves nothing
 */
#ifndef MESHD_IDENTITY_H
#define MESHD_IDENTITY_H

#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/meshd.h"

#define KEY_LINE	256

int identity_load(void);
/* Another host UUID; before anything was told the old one. */
int identity_renew(void);
/* Replace a file of the state folder so that it is whole after a crash. */
int state_write(const char *name, const char *text);
/* Tell the kernels; a module that is not there is skipped. */
int identity_push(struct mesh *m);

u16 key_id(void);		/* 0: no key is set */
/* What no key, or none and insecure, means; NULL with a key. */
const char *key_warning(void);
/* The line to carry to other hosts; "" without a key. */
void key_line(char out[KEY_LINE]);
/* "key 3, fingerprint 1f6a…" */
void key_words(char *out, size_t size);
int key_generate(void);
/* A whole line, or bare hex digits with an @id; -EINVAL: neither. */
int key_set(const char *text, u16 id);
int key_clear(void);

#endif
