// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of another host's meshd, on arbitrary bytes: headers alone, a whole
 * connection after its HELLO, and sequences of good frames, which the input
 * chooses, in steps that it chooses. Messages that come out must be what went in.
 */
#include <linux/errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/format/link_frame.h"

static u8 page[LINK_HDR + LINK_PAGE_MAX];

static void check_msg(const struct link_msg *m)
{
	u8 sum = 0;

	if (!m->buf || m->len > LINK_MSG_MAX)
		abort();
	for (u32 i = 0; i < m->len; i++)
		sum ^= m->buf[i];		/* reads all of it: it is initialized memory */
	if (m->len && sum == 0xff && m->buf[0] == 0xee)
		page[LINK_HDR]++;
}

/* Until an error; memory stays in bounds of what came. */
static int feed(struct link_rx *rx, const u8 *in, size_t len, size_t step, u64 fed)
{
	struct link_hello h;
	struct link_msg m;
	size_t at = 0, used, n;
	u64 room = 0;
	int err = 0;

	while (at < len && err >= 0) {
		n = len - at < step ? len - at : step;
		err = link_rx_feed(rx, in + at, n, &used, &m);
		at += used;
		if (used > n || (!err && used != n))
			abort();
		if (err == 1) {
			check_msg(&m);
			if (m.type == LINK_HELLO)
				link_hello_decode(m.buf, m.len, &h);
			free(m.buf);
		}
	}
	for (u32 i = 0; i < rx->parts; i++)
		room += rx->part[i].room;
	if (rx->bytes > LINK_PARTS_BYTES || room > 2 * (fed + len) + (64ULL << 10) * (rx->parts + 1))
		abort();
	return err < 0 ? err : 0;
}

static void hello(struct link_rx *rx)
{
	struct link_frame f = { LINK_HELLO, 0, LINK_HELLO_LEN, 0, LINK_HELLO_LEN };
	u8 b[LINK_HDR + LINK_HELLO_LEN] = { 0 };

	link_frame_encode(&f, b);
	if (feed(rx, b, sizeof(b), 7, 0))
		abort();
}

/* Four bytes of the input: a frame that is good by itself. */
static void sequences(const u8 *data, size_t size)
{
	struct link_rx rx = { 0 };
	struct link_frame f;
	u64 fed = 0;
	int err = 0, big = 0;

	hello(&rx);
	for (; size >= 4 && !err && big < 6; data += 4, size -= 4) {
		f.type = 1 + data[0] % (LINK_TYPES - 1);
		f.id = data[1] & 7;
		f.total = data[2] & 1 ? (data[2] >> 1) * (LINK_PAGE_MAX / 16) : data[2];
		f.off = (u32)(data[3] >> 4) * LINK_PAGE_MAX;
		if (f.type == LINK_PING || f.type == LINK_PONG)
			f.total = 0;
		if (f.type == LINK_REFUSE)
			f.total = 4;
		if (f.off > f.total)
			f.off = 0;
		f.len = link_page(f.total, f.off);
		link_frame_encode(&f, page);
		big += f.len > 4096;
		err = feed(&rx, page, LINK_HDR + f.len, 1 + (data[3] & 15) * 4096, fed);
		fed += LINK_HDR + f.len;
	}
	link_rx_free(&rx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct link_rx rx = { 0 };
	struct link_frame f;
	struct link_hello h;
	u8 again[LINK_HDR];

	if (size >= LINK_HDR && !link_frame_decode(data, &f)) {
		link_frame_encode(&f, again);
		if (memcmp(again, data, LINK_HDR) || f.total > LINK_MSG_MAX || f.len > LINK_PAGE_MAX ||
		    f.off + f.len > f.total)
			abort();
	}
	link_hello_decode(data, size, &h);
	if (size) {
		feed(&rx, data, size, 1 + data[0], 0);
		link_rx_free(&rx);
		hello(&rx);
		feed(&rx, data, size, 1 + data[0], 0);
		link_rx_free(&rx);
		sequences(data, size);
	}
	return 0;
}
