// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of the link to the store, on arbitrary bytes: a payload under each type, and a stream in
 * pieces that the input chooses, as each side takes it. A frame that is taken is written back the
 * same.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/store/link_wire.h"

static void taken(struct frame *f, const u8 *payload, size_t len)
{
	size_t again_len;
	u8 *again;

	if (frame_encode(f, &again, &again_len) || again_len != len + FRAME_HDR ||
	    (len && memcmp(again + FRAME_HDR, payload, len)))
		abort();
	free(again);
}

static void payload(u8 type, const u8 *data, size_t size)
{
	u8 hdr[FRAME_HDR] = { 'M', 'S', 'T', 'R', FRAME_VERSION, type };
	bool requests = type < FRAME_REQUESTS;
	struct frame f;
	u32 n;

	hdr[8] = type != FRAME_UNWATCH && type != FRAME_EVENT;
	hdr[16] = size & 0xff;
	hdr[17] = size >> 8;
	if (frame_header(hdr, requests, &f, &n))
		return;
	if (!frame_decode(&f, data, size))
		taken(&f, data, size);
	frame_end(&f);
}

static void stream(bool requests, const u8 *data, size_t size, size_t step)
{
	struct frame_rx rx = { 0 };
	size_t at = 0, used, n;
	int err = 0;

	while (at < size && err >= 0) {
		n = size - at < step ? size - at : step;
		err = frame_feed(&rx, requests, data + at, n, &used);
		if (used > n || (!err && used != n) || rx.room > 2 * size + 4096)
			abort();
		at += used;
		if (err != 1)
			continue;
		if (!frame_decode(&rx.f, rx.payload, rx.len))
			taken(&rx.f, rx.payload, rx.len);
		frame_end(&rx.f);
		frame_next(&rx, false);
	}
	frame_rx_end(&rx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 60000)
		return 0;
	payload(data[0], data + 1, size - 1);
	stream(true, data + 1, size - 1, data[0] + 1);
	stream(false, data + 1, size - 1, data[0] + 1);
	return 0;
}
