// SPDX-License-Identifier: GPL-2.0-only
/*
 * A group attaches to members whose records are any bytes: it must come to
 * serve, with whatever regions it takes for dirty.
 */
#include <stdlib.h>
#include <string.h>

#include "protect/engine/group.h"

static void attach(struct prot_group *g, const uint8_t *data, size_t size)
{
	struct prot_event ev;
	size_t at = 0;
	int i;

	for (i = 0; i < 2000; i++) {
		prot_group_next(g, &ev);
		if (ev.kind == PROT_EV_SERVING)
			return;
		if (ev.kind != PROT_EV_IO)
			abort();
		if (ev.io.kind == PROT_READ) {
			uint8_t *to = prot_group_buffer(g, ev.runs[0].buffer);
			size_t n = size - at < ev.io.length ? size - at : ev.io.length;

			memcpy(to, data + at, n);
			at += n;
			/* the check would refuse nearly everything: seal what we have */
			if (n && data[at - 1] & 1) {
				struct prot_bitmap_hdr *h = (struct prot_bitmap_hdr *)to;

				h->member = ev.io.member;
				h->block = 0;
				h->kind = (ev.io.addr / 512 - 2) % PROT_BITMAPS;
				prot_bitmap_seal(to, 512, &g->cfg.owner);
			}
		}
		prot_group_result(g, ev.io.tag, 0);
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prot_group_config c = { .bytes = 64 * 512, .in_sync = 3, .epoch = 9, .region = 512,
				       .lba = 512, .buf_bytes = 512, .ops = 4, .bufs = 4,
				       .level = PROT_MIRROR, .width = 3 };
	void *mem = calloc(1, prot_group_bytes(&c));

	attach(prot_group_init(mem, &c), data, size);
	free(mem);
	return 0;
}
