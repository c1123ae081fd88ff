/* SPDX-License-Identifier: GPL-2.0-only */
/* TLS as the links use it, on a socket that does not block. */
#ifndef MESHD_LINK_TLS_H
#define MESHD_LINK_TLS_H

#include <sys/types.h>

#include "userspace/meshd/link.h"

/* What a stranger may send before its key is proved. */
#define TLS_SHAKE_BYTES	(16U << 10)
#define TLS_READ_BYTES	(16U << 10)	/* a buffer of this size leaves nothing behind */

struct tls;

/* The side that connects offers keys[0] alone, the other one takes any of them. */
struct tls *tls_new(int fd, bool server, const struct link_key *keys, size_t n);
/* 0: both have proved the key; -EAGAIN: poll for tls_wants(); else it failed. */
int tls_shake(struct tls *t);
/* POLLIN or POLLOUT. */
short tls_wants(const struct tls *t);
/* Bytes, 0: the other side has closed, -EAGAIN, or an error. */
ssize_t tls_read(struct tls *t, void *buf, size_t len);
/* Bytes, -EAGAIN (then repeat with the same bytes), or an error. */
ssize_t tls_write(struct tls *t, const void *buf, size_t len);
/* The key that was proved. */
const struct link_key *tls_key(const struct tls *t);
/* The id that a refused peer offered, -1: none that could be read. */
int tls_offered(const struct tls *t);
/* A server that has answered: the first message of the peer proved the key. */
bool tls_answered(const struct tls *t);
/* The socket stays open. */
void tls_free(struct tls *t);

#endif
