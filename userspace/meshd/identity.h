/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who this host is, and the cluster's key, both in the state folder:
 *   host          the host's UUID, made at the first start
 *   key, key.old  meshkey1:ID:CLUSTER-UUID:HEX, the present and the last one
 */
#ifndef MESHD_IDENTITY_H
#define MESHD_IDENTITY_H

#include "userspace/libmesh/mesh.h"
#include "userspace/meshd/meshd.h"

#define KEY_LINE	256

int identity_load(void);
/* Tell the kernels; a module that is not there is skipped. */
int identity_push(struct mesh *m);

u16 key_id(void);		/* 0: no key is set */
/* The line to carry to other hosts; "" without a key. */
void key_line(char out[KEY_LINE]);
/* "key 3, fingerprint 1f6a…" */
void key_words(char *out, size_t size);
int key_generate(void);
/* A whole line, or bare hex digits with an @id; -EINVAL: neither. */
int key_set(const char *text, u16 id);
int key_clear(void);

#endif
