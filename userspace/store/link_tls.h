/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS 1.3 of the link, on a socket that does not block: an external pre-shared key, and no other
 * way in. The identity of the key names the host and its role:
 *
 *   meshblk KEYID ROLE UUID     ROLE: client, storage, store; token: UUID is the token's id
 *
 * The key is derived from all three, so the handshake proves them.
 */
#ifndef STORE_LINK_TLS_H
#define STORE_LINK_TLS_H

#include <sys/types.h>

#include "userspace/store/secret.h"

#define LINK_TOKEN		0	/* role of a connection that a token proves */
#define LINK_IDENTITY		64	/* bytes of the text with its end */
#define LINK_TLS_SHAKE		(16U << 10)	/* bytes that a stranger may send before the proof */
#define LINK_TLS_READ		(16U << 10)	/* a buffer of this size leaves nothing behind */

struct link_identity {
	u16	key_id;
	u8	role;		/* enum plan_role or LINK_TOKEN */
	struct muuid uuid;
};

void link_identity_text(const struct link_identity *i, char out[LINK_IDENTITY]);
/* The exact text of link_identity_text(): 0, else -EINVAL. */
int link_identity_parse(const char *text, size_t len, struct link_identity *i);

struct link_tls;

/* 0: @psk is the key of @who; negative: no such key is valid. */
typedef int (*link_tls_find)(void *priv, const struct link_identity *who, struct secret *psk);

/* NULL: no memory. */
struct link_tls *link_tls_client(int fd, const struct link_identity *self, const struct secret *psk);
struct link_tls *link_tls_server(int fd, link_tls_find find, void *priv);
/* 0: both sides have proved the key; -EAGAIN: poll for link_tls_wants(); else it failed. */
int link_tls_shake(struct link_tls *t);
/* POLLIN or POLLOUT. */
short link_tls_wants(const struct link_tls *t);
/* Bytes; 0: the other side has closed; -EAGAIN; or an error. */
ssize_t link_tls_read(struct link_tls *t, void *buf, size_t len);
/* Bytes; -EAGAIN: repeat with the same bytes; or an error. */
ssize_t link_tls_write(struct link_tls *t, const void *buf, size_t len);
/* The identity that was proved; before that: what was offered. */
const struct link_identity *link_tls_who(const struct link_tls *t);
/* A server that has answered: the first message of the peer proved the key. */
bool link_tls_answered(const struct link_tls *t);
/* The socket stays open. */
void link_tls_free(struct link_tls *t);

#endif
