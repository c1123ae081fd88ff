/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of the link, inside TLS: a header and a payload each.
 *
 *   byte  0  magic      "MSTR"
 *         4  version    1
 *         5  type       enum frame_type
 *         6  zero       2 bytes
 *         8  id         of the request; its answer has the same; 0: no answer is expected
 *        16  length     bytes of the payload
 *        20  zero       4 bytes
 *        24  payload
 *
 *   host ---- RANGE, GET, TXN, WATCH, GRANT, ... ----> store host
 *        <--- PAGE, DONE, OK, LEASE, ..., ERROR ------
 *        <--- EVENT ------------------------------- (id 0, at any time)
 *
 * Numbers are little endian. A text is its length with its end in 2 bytes, then bytes that end
 * with a zero; a value is its length in 4 bytes, then bytes. The decoder refuses a frame with a
 * byte too many, a count above its limit, a text with a zero inside, and unknown words: one
 * description of each type serves both directions, so what is read is written back the same.
 */
#ifndef STORE_LINK_WIRE_H
#define STORE_LINK_WIRE_H

#include "userspace/store/secret.h"
#include "userspace/store/store.h"

#define FRAME_HDR	24
#define FRAME_VERSION	1
#define FRAME_MAX	(4U << 20)	/* bytes of a payload */
#define FRAME_WORDS	384		/* of an error, with its end */

/* Limits of one connection; the host's side keeps to them, beyond the store host ends it. */
#define LINK_WINDOW	16		/* requests without an answer */
#define LINK_WATCHES	256

enum frame_type {
	FRAME_RANGE = 1,
	FRAME_GET,
	FRAME_TXN,
	FRAME_WATCH,
	FRAME_UNWATCH,		/* id 0 */
	FRAME_GRANT,		/* a lease */
	FRAME_KEEP,
	FRAME_REVOKE,
	FRAME_IDENTITY,
	FRAME_JOIN,		/* the one request of a connection that a token proved */
	FRAME_RENEW,		/* this host's key under the present master */
	FRAME_PING,
	FRAME_REQUESTS,		/* all above come from the host, all below from the store host */
	FRAME_PAGE = 32,	/* of RANGE and GET */
	FRAME_DONE,		/* of TXN */
	FRAME_OK,
	FRAME_LEASE,
	FRAME_IS,		/* of IDENTITY */
	FRAME_KEYS,		/* of JOIN and RENEW */
	FRAME_ERROR,
	FRAME_EVENT,
	FRAME_PONG,
	FRAME_TYPES,
};

/* The keys of a host, as it gets them by JOIN and RENEW. */
struct link_keys {
	u16	key_id;		/* of the present master */
	u8	role;		/* enum plan_role */
	struct muuid cluster;
	u8	fingerprint[SECRET_CLUSTER];
	struct secret host;	/* the host key */
	bool	knows;		/* a storage or store host: it has what follows, too */
	struct secret_masters masters;
	struct secret label;
};

/* A frame, decoded. Members that its type does not have are zero. */
struct frame {
	enum frame_type type;
	u64	id;
	u32	ms;		/* requests: the time in which the answer is useful */
	const char *text;	/* prefix, key, identity, words of an error */
	const char *after;	/* RANGE; NULL: none */
	u32	limit, seconds;
	u64	at;		/* RANGE; of WATCH the revision after which it begins */
	u64	watch, lease, term, revision;
	bool	more, done;
	int	err;		/* ERROR: negative errno */
	enum store_event_kind kind;
	struct secret_proof owner;	/* of @lease */
	struct muuid host;
	u8	role;
	struct store_txn txn;	/* arrays: @compare and @op */
	struct store_compare *compare;
	struct store_op *op;
	struct secret_proof *proof;	/* of the lease of each operation; NULL: all zero */
	struct store_kv *kv;	/* PAGE; EVENT has one */
	size_t	nr;
	struct link_keys keys;
};

/**
 * frame_encode() - header and payload in one block
 * @out: becomes malloc()ed bytes
 *
 * Return: 0, -E2BIG, -EINVAL (beyond a limit of the format), -ENOMEM. The bytes of FRAME_KEYS are
 * secret: overwrite them before they are freed.
 */
int frame_encode(const struct frame *f, u8 **out, size_t *len);

/**
 * frame_header() - type, id and length of the payload
 * @requests: true: accept what a host sends; false: what a store host sends
 *
 * Return: 0, -EBADMSG, -EPROTONOSUPPORT: the magic is right, the version is not.
 */
int frame_header(const u8 in[FRAME_HDR], bool requests, struct frame *f, u32 *len);

/**
 * frame_decode() - the payload of a frame whose header was decoded
 *
 * Strings and values of @f point into @payload. Release @f with frame_end() in any case.
 * Return: 0, -EBADMSG, -ENOMEM.
 */
int frame_decode(struct frame *f, const void *payload, size_t len);
void frame_end(struct frame *f);

/* The receiving side of a connection. All-zero is its first state. */
struct frame_rx {
	u8	hdr[FRAME_HDR];
	u32	hdr_got, len, got, room;
	u8	*payload;	/* memory grows with the bytes that came */
	struct frame f;
};

/**
 * frame_feed() - take bytes of a connection
 * @used: becomes the number of bytes that were taken; the rest is to be given again
 *
 * Return: 1: rx->f and rx->payload are whole, until frame_next(); 0: more bytes are needed;
 * negative: the connection is of no further use.
 */
int frame_feed(struct frame_rx *rx, bool requests, const void *buf, size_t len, size_t *used);
/* Begin the next frame; @keep: the caller has taken the payload over. */
void frame_next(struct frame_rx *rx, bool keep);
void frame_rx_end(struct frame_rx *rx);

#endif
