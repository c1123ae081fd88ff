/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What travels between two meshds inside TLS: frames of a header and at most one
 * page of a message.
 *
 *   byte  0  magic       "MLNK"
 *         4  version     1
 *         5  type        enum link_type
 *         6  zero
 *         8  id          of the request; its answer carries the same
 *        16  total       bytes of the whole message
 *        20  offset      of this page in it
 *        24  length      of this page, behind the header
 *        28  zero
 *
 * Every page of a message but its last is LINK_PAGE_MAX long, and they come in
 * order; pages of different messages are mixed, so that a long answer holds up
 * no short one. Numbers are little endian.
 */
#ifndef FORMAT_LINK_FRAME_H
#define FORMAT_LINK_FRAME_H

#include <linux/types.h>

#include "userspace/format/uuid.h"

#define LINK_PAGE_MAX	(1U << 20)	/* bytes of one frame's payload */
#define LINK_MSG_MAX	(64U << 20)	/* of a whole message */
#define LINK_VERSION	1
#define LINK_HDR	32
#define LINK_HELLO_LEN	48

/* What one side may have outstanding with the other; beyond is a protocol error. */
#define LINK_WINDOW		64			/* requests without an answer */
#define LINK_WINDOW_BYTES	(2 * LINK_MSG_MAX)	/* of these requests */
#define LINK_PARTS_BYTES	(2 * LINK_MSG_MAX)	/* of begun messages of several pages */

enum link_type {
	LINK_HELLO = 1,		/* id 0: the sender's identity, once, first of all */
	LINK_REQUEST,
	LINK_ANSWER,
	LINK_REFUSE,		/* instead of an answer: an errno in 4 bytes */
	LINK_PING,		/* no payload; PONG with the same id comes back */
	LINK_PONG,
	LINK_TYPES,
};

struct link_frame {
	enum link_type type;
	u64	id;
	u32	total;
	u32	off;
	u32	len;
};

struct link_hello {
	struct muuid host;
	struct muuid machine;	/* the machine's boot */
	u64	boot;		/* of this meshd: a random number of this start */
	u32	flags;		/* none yet */
	u16	port;		/* where it listens, 0: nowhere */
};

void link_frame_encode(const struct link_frame *f, u8 out[LINK_HDR]);
/* 0, -EBADMSG, or -EPROTONOSUPPORT: the magic is right, the version is not. */
int link_frame_decode(const u8 in[LINK_HDR], struct link_frame *f);
void link_hello_encode(const struct link_hello *h, u8 out[LINK_HELLO_LEN]);
int link_hello_decode(const void *in, size_t len, struct link_hello *h);
/* Bytes of the page of a message of @total at @off. */
u32 link_page(u32 total, u32 off);

/* A message that is being put together. */
struct link_part {
	enum link_type type;
	u64	id;
	u32	total;
	u32	got;
	u32	room;
	u8	*buf;
};

/* The receiving side of a connection. All-zero is its first state. */
struct link_rx {
	u8	hdr[LINK_HDR];
	u32	hdr_got;
	u32	page_got;		/* of the page behind a whole header */
	struct link_frame f;
	struct link_part *cur;		/* whose page it is */
	struct link_part *part;		/* begun and not ended */
	u32	parts;
	u32	parts_room;
	u64	bytes;			/* sum of their totals */
	bool	hello;			/* the first frame was one */
};

struct link_msg {
	enum link_type type;
	u64	id;
	u8	*buf;			/* malloc()ed, never NULL; the caller frees it */
	u32	len;
};

/**
 * link_rx_feed() - take bytes of a connection
 * @used: set to how many were taken; the rest is to be given again
 * @m: set to a message, a PING or PONG when it returns 1
 * Return: 1: @m is whole; 0: more bytes are needed; -EBADMSG, -EPROTONOSUPPORT,
 * -EPROTO (pages in wrong order, more than may be outstanding), -ENOMEM: the
 * connection is of no further use.
 *
 * Memory grows with the bytes that came, not with what a header promises.
 */
int link_rx_feed(struct link_rx *rx, const void *buf, size_t len, size_t *used, struct link_msg *m);
void link_rx_free(struct link_rx *rx);

#endif
