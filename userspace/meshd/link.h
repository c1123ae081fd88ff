/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests and answers between two meshds: TLS 1.3 over TCP with the cluster's
 * key as external pre-shared key. One connection per peer is kept and used both
 * ways. It knows bytes, hosts and keys; its users interpret the messages.
 *
 *   link.c         the state of all links, keys, calls
 *   link_conn.c    one connection: its thread, frames in and out, keep-alive
 *   link_dial.c    the side that connects: addresses, errors in words
 *   link_serve.c   requests of peers: worker threads and replies
 *   link_listen.c  the port: strangers until they have proved the key
 *   link_tls.c     the TLS library, link_key.c the derivation of its keys
 *   format/link_frame.c   frames, and pages put together
 *
 * Threads: one per connection, one for the port, up to 128 workers. One lock
 * (links.lock); it is never held across I/O or a call of a link_serve_fn.
 */
#ifndef MESHD_LINK_H
#define MESHD_LINK_H

#include "userspace/format/link_frame.h"
#include "userspace/meshd/meshd.h"

#define LINK_REASON	256
#define LINK_KEYS	4	/* in force at a time, at most */

struct link_key {
	u16	id;		/* 0: insecure */
	u8	psk[32];
};

struct link_peer {
	struct muuid host;	/* as it says in TLS: a holder of the key is believed */
	struct muuid machine;	/* boot id of its machine; zero: unknown */
	u64	boot;		/* of its meshd: a random number of each start */
};

struct links;			/* the state of one host's links: meshd has one, tests have several */

/* meshd's own, made when it is first used: D.host must be known then. */
struct links *links_own(void);

struct link_req;		/* a request of a peer that waits for its answer */

/* @msg is valid until link_reply(). The answer may come later, from any thread. */
typedef void (*link_serve_fn)(struct link_req *r, const void *msg, size_t len);

const struct link_peer *link_req_peer(const struct link_req *r);
/*
 * Answer and free @r; exactly once, since a request without an answer takes one
 * of the peer's LINK_WINDOW places for as long as its connection lives. A
 * connection that is gone meanwhile is no error.
 */
void link_reply(struct link_req *r, const void *msg, size_t len);

/* What HKDF-SHA256 makes of a cluster's key. @id 0: of 32 zero bytes, whatever @key is. */
void link_psk(const void *key, size_t len, u16 id, struct link_key *out);

/*
 * The keys in force, the newest first. n = 0: nothing listens, every call fails
 * with -ENOKEY. Connections of keys that are gone are closed. Two keys of one id
 * cannot be distinguished by the called side: only the first counts there.
 */
void links_keys(struct links *l, const struct link_key *keys, size_t n);

/**
 * links_listen() - serve requests
 * @addr: NULL: every address of this host, IPv4 and IPv6
 * @fn: called on a worker thread, up to 16 at once for a peer, 128 in all
 * Return: 0, also without a key (the port opens when one comes), or -EADDRINUSE...
 */
int links_listen(struct links *l, const char *addr, u16 port, link_serve_fn fn);

/**
 * links_call() - one request and its answer
 * @expect: NULL, or the host that must be there
 * @deadline_ms: for all of it: connecting, waiting for a place, the answer
 * @rsp: set to the answer, malloc()ed
 * @why: LINK_REASON bytes, set to words when it fails
 * Return: 0 or
 *   -ENOKEY        this host has no key
 *   -EHOSTDOWN     nothing listens there: no meshd, or it has no key
 *   -EHOSTUNREACH  no route to that address
 *   -EKEYREJECTED  that host has another key, or none
 *   -EXDEV         another host than @expect is there
 *   -ENOTUNIQ      another machine with the UUID of this host is there
 *   -ETIMEDOUT     the deadline; the request may be carried out yet
 *   -ECONNRESET    the connection ended first; the request may have been carried out
 *   -EPROTONOSUPPORT, -EPROTO, -EOPNOTSUPP (it serves nothing), -EMSGSIZE, -EINVAL,
 *   -ENOMEM
 * Context: any thread but a link_serve_fn that holds what the answer needs.
 */
int links_call(struct links *l, const char *addr, u16 port, const struct muuid *expect,
	       const void *msg, size_t len, unsigned int deadline_ms, void **rsp, size_t *rsp_len,
	       char *why);
/* This host is @host now: connections made under its old UUID end. */
void links_host(struct links *l, const struct muuid *host);
/* Close the connections to an address. */
void links_forget(struct links *l, const char *addr, u16 port);

#endif
