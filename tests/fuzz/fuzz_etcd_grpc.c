// SPDX-License-Identifier: GPL-2.0-only
/*
 * gRPC from a member of etcd, on arbitrary bytes: headers line by line, and a body in pieces that
 * the input chooses, whose messages are the same as in one piece.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/store/et_verdict.h"

static size_t messages(const u8 *data, size_t size, size_t step, u64 *sum)
{
	struct grpc_rx rx = { .max = 4096 };
	size_t at = 0, used, n, nr = 0;
	int ret = 0;

	while (at < size && ret >= 0) {
		n = size - at < step ? size - at : step;
		ret = grpc_feed(&rx, data + at, n, &used);
		if (used > n || (!ret && used != n) || rx.room > 2 * size + 4096 || rx.got > rx.len)
			abort();
		at += used;
		if (ret != 1)
			continue;
		for (size_t i = 0; i < rx.len; i++)
			*sum = *sum * 31 + rx.msg[i];
		nr++;
		grpc_next(&rx);
	}
	grpc_rx_end(&rx);
	return nr;
}

static void headers(const u8 *data, size_t size)
{
	struct et_answer a = { .sent = true, .reply = true };
	struct grpc_head h;
	const u8 *end;

	grpc_head_begin(&h);
	while (size) {
		end = memchr(data, '\n', size);
		end = end ? end + 1 : data + size;
		grpc_header(&h, (const char *)data, end - data);
		size -= end - data;
		data = end;
	}
	if (strlen(h.words) >= sizeof(h.words))
		abort();
	for (const char *c = h.words; *c; c++)
		if ((u8)*c < ' ')
			abort();
	a.head = &h;
	/* Done is what has all of it alone. */
	if (!et_verdict(&a).err && (h.http != 200 || h.status || !h.grpc))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u64 whole = 0, pieces = 0;

	if (size < 2)
		return 0;
	headers(data + 1, size - 1);
	if (messages(data + 1, size - 1, size, &whole) !=
	    messages(data + 1, size - 1, data[0] + 1, &pieces) || whole != pieces)
		abort();
	return 0;
}
