/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The link's side on a store host: hosts without an engine reach the store through it.
 *
 *   link_server.c   start, stop, keys of connections
 *   link_serve.h    what these files share: connections, requests, watches
 *   link_accept.c   the port, and strangers until they have proved a key
 *   link_io.c       connections: frames in and out
 *   link_work.c     requests, on worker threads with a handle of the engine each
 *   link_join.c     JOIN and RENEW: keys for hosts
 *   link_events.c   watches of all connections, on one thread with one handle
 *
 * Threads: one for the port and all connections (epoll, TLS), so an idle host costs memory for a
 * TLS session and no stack; four workers, since a call of the engine may wait for a disk or for
 * etcd; one for watches, since store_next() waits. Each has 1 MiB of stack at most.
 *
 * One lock guards what threads share; it is not held over I/O or a call of the engine or of the
 * configuration's functions.
 */
#ifndef STORE_LINK_SERVER_H
#define STORE_LINK_SERVER_H

#include "userspace/store/link_tls.h"
#include "userspace/store/store.h"

/* Secrets of a store host. */
struct link_secrets {
	struct muuid cluster;
	struct secret_masters masters;
	struct secret label;
};

struct link_server_config {
	const char *addr;	/* NULL: every address of this host, IPv4 and IPv6 */
	u16	port;		/* 0: the kernel chooses */
	/* A handle of the local engine, for one thread; NULL: no memory. */
	struct store *(*handle)(void *priv);
	/* Called on any thread; must not wait. */
	void	(*secrets)(void *priv, struct link_secrets *out);
	bool	(*removed)(void *priv, const struct muuid *host);	/* a tombstone: refuse it */
	void	(*log)(void *priv, const char *words);
	void	*priv;
	/* Limits; 0: the default. */
	unsigned int conns;		/* connections with a proved key: 2048 */
	unsigned int conns_host;	/* of one host: 8; the oldest one ends for a ninth */
	unsigned int strangers;		/* connections without a proved key: 128 */
	unsigned int strangers_addr;	/* of one address: 16 */
	unsigned int shake_ms;		/* time for the proof: 5000 */
	unsigned int silent_ms;		/* a peer that neither sends nor reads in it is dead: 30000 */
	size_t	events;			/* bytes of events that wait for one connection: 1 MiB */
	size_t	events_all;		/* ... for all connections: 64 MiB */
};

struct link_server;

/* 0; -EADDRINUSE and other errors of the port; -ENOMEM; -EAGAIN: no thread. */
int link_server_start(const struct link_server_config *config, struct link_server **out);
u16 link_server_port(const struct link_server *s);
/* Keys or tombstones have changed: connections whose key is not valid any more end soon. */
void link_server_check(struct link_server *s);
/* Ends all connections; requests that have begun are finished first, without an answer. */
void link_server_stop(struct link_server *s);

/* For status and tests. */
struct link_server_count {
	unsigned int conns, strangers, watches, jobs;
	size_t	events;
};

void link_server_count(struct link_server *s, struct link_server_count *out);

#endif
