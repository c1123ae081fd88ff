/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gRPC in the body and the headers of an HTTP/2 response; pure, for bytes of any origin.
 *
 *	HTTP/2 200, content-type: application/grpc
 *	| 0 | length, 4 bytes, big endian | message |	any number of these, in pieces of any size
 *	grpc-status: 0, grpc-message: percent%20encoded	  as trailers; as headers if nothing else comes
 */
#ifndef STORE_ET_GRPC_H
#define STORE_ET_GRPC_H

#include <linux/types.h>

#define GRPC_PREFIX	5
#define GRPC_WORDS	200

/* Status codes that decide something here. */
enum {
	GRPC_OK = 0,
	GRPC_CANCELED = 1,
	GRPC_INVALID = 3,
	GRPC_DEADLINE = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_PERMISSION = 7,
	GRPC_EXHAUSTED = 8,
	GRPC_PRECONDITION = 9,
	GRPC_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
	GRPC_NONE = -1,			/* the response ended without one */
};

/* What headers and trailers say. */
struct grpc_head {
	int	http;			/* 0: no response */
	int	status;
	bool	grpc;			/* the content is gRPC's */
	char	words[GRPC_WORDS];	/* of grpc-message, printable */
};

void grpc_head_begin(struct grpc_head *h);
/* One line of headers or trailers, with or without its end; a status line begins a response. */
void grpc_header(struct grpc_head *h, const char *line, size_t len);

/* Messages, gathered from pieces. @max is set by the caller. */
struct grpc_rx {
	size_t	max;
	u8	prefix[GRPC_PREFIX];
	size_t	prefix_got;
	u8	*msg;			/* @len bytes once grpc_feed() has returned 1 */
	size_t	len;
	size_t	got;
	size_t	room;
};

/**
 * grpc_feed() - the next piece
 * @used: bytes taken
 *
 * Memory grows with the bytes that have come, not with the length that is claimed. Return: 1: a
 * message is whole, grpc_next() comes before the next piece; 0: all is used; -EMSGSIZE: @rx->len is
 * above the maximum; -EPROTO: compressed, which was not offered; -ENOMEM.
 */
int grpc_feed(struct grpc_rx *rx, const u8 *bytes, size_t n, size_t *used);
void grpc_next(struct grpc_rx *rx);
/* True in the middle of a message: a response that ends there was cut off. */
bool grpc_cut(const struct grpc_rx *rx);
void grpc_rx_end(struct grpc_rx *rx);

void grpc_prefix(u8 prefix[GRPC_PREFIX], size_t len);

#endif
