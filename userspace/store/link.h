/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store of another host, reached through its meshd: an engine behind store.h.
 *
 *   link.c          handles: calls that wait for their answers, events, leases
 *   link_watch.c    watches over reconnects, and their events
 *   link_dial.c     addresses, connecting, the handshake
 *   link_line.c     the connection's thread: frames out and in, keep-alive, fail-over
 *   link_client.h   what these files share
 *
 * One thread for each engine, one connection for all its handles: the thread reads events and
 * answers pings also while no handle is in a call. Addresses are tried in turn, beginning at one
 * that the host's UUID chooses; a store host whose engine fails twice running is left for the next.
 *
 *   read, watch, lease   sent again over a new connection, within the handle's time-out
 *   transaction          sent once: -EIO or -ETIMEDOUT leave its outcome unknown
 *   watch                begun again one revision back; what had come is left out
 *
 * store_next() reports -EIO once the connection has been away for the handle's time-out.
 */
#ifndef STORE_LINK_H
#define STORE_LINK_H

#include "userspace/store/link_tls.h"
#include "userspace/store/link_wire.h"
#include "userspace/store/token.h"

#define LINK_WHY	384

struct store_link;

struct store_link_config {
	struct address address[ADDRESS_MAX];
	size_t	addresses;		/* 1 to ADDRESS_MAX */
	struct link_identity self;
	struct secret psk;		/* secret_tls() of the host key */
	/* Milliseconds; 0: the default. */
	unsigned int dial_ms;		/* for one address: 2000 */
	unsigned int ping_ms;		/* silence after which the store host is probed: 5000; in a call 1000 */
	unsigned int dead_ms;		/* a probe without an answer: 2000 */
	unsigned int pause_ms;		/* longest pause after all addresses have failed: 2000 */
};

/* 0, -EINVAL, -ENOMEM, -EAGAIN: no thread. The connection is made later. */
int store_link_open(const struct store_link_config *config, struct store_link **out);
/* All handles are closed before. Waits for a name that is being resolved. */
void store_link_close(struct store_link *l);

/* A handle; NULL: no memory, or no descriptor. */
struct store *store_link_handle(struct store_link *l);

/* The next key of this host, or other addresses: the connection is made again with them. */
void store_link_identity(struct store_link *l, const struct link_identity *self, const struct secret *psk);
void store_link_addresses(struct store_link *l, const struct address *address, size_t nr);

/**
 * store_link_keys() - this host's keys under the present master
 * @s: a handle of store_link_handle()
 *
 * 0; -EACCES: this connection is a token's; errors of a read. Overwrite @out after use.
 */
int store_link_keys(struct store *s, struct link_keys *out);

/**
 * link_join() - join the cluster by a token
 * @ms: for all of it
 * @why: becomes a sentence on error
 *
 * May be repeated with the same UUID. 0; -ENOENT: the token has expired; -EACCES: another host has
 * used it, or a host with this UUID is known; -EXDEV: that cluster is not the token's; -ETIMEDOUT.
 */
int link_join(const struct token *t, const struct muuid *host, unsigned int ms, struct link_keys *out,
	      char why[LINK_WHY]);

#endif
