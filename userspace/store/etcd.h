/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The store in a cluster of etcd, 3.4 and later, reached by endpoints of its members: an engine
 * behind store.h, for store hosts where the store must survive the loss of one.
 *
 * The transport is gRPC over libcurl's HTTP/2. etcd's JSON gateway would need less code, but takes
 * ten times as long for a list (2.6 s for 10,000 volumes, where gRPC takes 0.25 s) at twice the
 * CPU time, and ignores a misspelt field: a transaction whose compare is misspelt is done always.
 *
 *   read, watch, lease   tried at other endpoints too, within the handle's time-out
 *   transaction          sent once, unless an answer says that it was not done: -EIO or -ETIMEDOUT
 *                        leave its outcome unknown
 *   watch                begun again where it was; store_next() reports -EIO once it has been away
 *                        for the handle's time-out
 *
 * docs/etcd.md says how members are set up. Authentication by users is not supported: with it,
 * etcd answers -EACCES; members know hosts by their certificates.
 */
#ifndef STORE_ETCD_H
#define STORE_ETCD_H

#include "userspace/store/store.h"

#define ETCD_ENDPOINTS_MAX	9
#define ETCD_ENDPOINT_LEN	288
#define ETCD_ROOT_MAX		64

struct store_etcd;

/* Strings are copied. */
struct store_etcd_config {
	/* "https://HOST:PORT", all with TLS; or all "http://...": without, see @plain. */
	const char *endpoint[ETCD_ENDPOINTS_MAX];
	size_t	endpoints;
	/* PEM files: the CA of the members, which alone is trusted; this host's certificate and key. */
	const char *ca, *cert, *key;
	bool	plain;		/* allow http:// : the store is then open to all that reach it */
	/* Before each key, so that others may use the same etcd: "meshblk/"; NULL or "": nothing. */
	const char *root;
	/* Milliseconds; 0: the default. */
	unsigned int dial_ms;	/* connection and first answer of a stream of watches: 3000 */
	unsigned int ping_ms;	/* silence after which a stream is probed: 5000 */
	unsigned int dead_ms;	/* a probe without an answer: 3000 */
	unsigned int pause_ms;	/* longest pause after all endpoints have failed: 1000 */
	size_t	events;		/* bytes of events that wait for a handle: 8 MiB */
};

/**
 * store_etcd_open() - check the settings and files; members are reached later
 * @why: becomes a sentence on error
 *
 * -EINVAL; -EACCES: others than the owner can read the key file; -ENOENT and other errors of
 * files; -EPROTONOSUPPORT: libcurl without HTTP/2; -ENOMEM; -EAGAIN: no thread.
 */
int store_etcd_open(const struct store_etcd_config *config, struct store_etcd **out, char *why,
		    size_t size);
/* All handles are closed before. */
void store_etcd_close(struct store_etcd *e);

/* A handle; NULL: no memory, or no descriptor. */
struct store *store_etcd_handle(struct store_etcd *e);

#endif
