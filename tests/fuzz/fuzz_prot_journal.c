// SPDX-License-Identifier: GPL-2.0-only
/*
 * An erasure-coded group attaches to members whose attach records, bitmaps and
 * rings are any bytes, some of them sealed by us: it must come to serve, with
 * bounded work, and write nowhere but where records may send it.
 */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>

#include "protect/engine/group.h"

#define LBA 512

static const struct prot_group_config config = {
	.owner = { .salt = 7 }, .bytes = 16 * LBA, .in_sync = 0xb, .epoch = 9, .region = 2 * LBA,
	.lba = LBA, .ops = 4, .bufs = 5, .level = PROT_EC, .width = 4, .k = 2, .m = 2,
	.strip = 2 * LBA, .slot_bytes = 2 * LBA, .slot_head = LBA, .rings = 2, .slots = 3,
};

/* What the check would refuse nearly always: make it pass that far. */
static void seal(uint8_t *to, const struct prot_event *ev, uint8_t how)
{
	struct prot_slot_hdr *h = (struct prot_slot_hdr *)to;
	struct prot_attach_rec *a = (struct prot_attach_rec *)to;
	uint64_t meta = prot_group_meta_bytes(&config);
	uint32_t n;

	if (ev->io.addr < 2 * LBA) {
		a->member = ev->io.member;
		memset(a->volume, 0, sizeof(a->volume));
		a->attach = cpu_to_le64(5 + (how >> 1 & 1));
		a->group = 0;
		prot_attach_seal(a, &config.owner);
		return;
	}
	if (ev->io.length != 3 * LBA)
		return;
	n = (ev->io.addr - (meta - 6 * 3 * LBA)) / (3 * LBA);
	h->member = ev->io.member;
	h->ring = cpu_to_le32(n / 3);
	h->attach = cpu_to_le64(5 + (how >> 2 & 1));
	if (how & 8)
		h->txid = cpu_to_le64(n % 3 + 3 * (how >> 4));
	if (how & 16) {
		h->kind = 1 + (how >> 5);
		h->strip &= 3;
		h->stripe = cpu_to_le64(n / 3 + 2 * (how >> 6));
		h->holders = cpu_to_le64((le64_to_cpu(h->holders) & 15) | 1ULL << h->member);
		h->participants = cpu_to_le64(le64_to_cpu(h->participants) & 15);
		h->watermark = cpu_to_le64(1 + (how & 3));
		h->first = cpu_to_le32((how & 1) * LBA);
		h->length = cpu_to_le32((how >> 1 & 1) * LBA);
	}
	if (how & 32)
		h->payload_sum = cpu_to_le64(prot_slot_payload_sum(to + LBA,
						le32_to_cpu(h->length) & LBA, &config.owner,
						le64_to_cpu(h->attach), le64_to_cpu(h->txid),
						h->member));
	prot_slot_seal(h, &config.owner);
}

static void bounds(const struct prot_group *g, const struct prot_event *ev)
{
	if (ev->io.addr + ev->io.length > g->cfg.data[0] + g->cfg.bytes || !ev->io.length ||
	    (ev->io.addr | ev->io.length) & (LBA - 1))
		abort();
}

static void attach(struct prot_group *g, const uint8_t *data, size_t size)
{
	static uint8_t slots[4][64 * LBA];
	struct prot_event ev;
	size_t at = 0;
	int i;

	memset(slots, 0, sizeof(slots));
	for (i = 0; i < 2000; i++) {
		uint8_t *mem;

		prot_group_next(g, &ev);
		if (ev.kind == PROT_EV_SERVING)
			return;
		if (ev.kind != PROT_EV_IO)
			abort();
		bounds(g, &ev);
		mem = slots[ev.io.member] + ev.io.addr;
		if (ev.io.kind == PROT_READ) {
			uint8_t *to = prot_group_buffer(g, ev.runs[0].buffer);
			size_t n = size - at < 16 ? size - at : 16, j;

			/* sixteen bytes of input a read, repeated; read twice, the same twice */
			if (n) {
				for (j = 0; j < ev.io.length; j++)
					mem[j] = data[at + j % n];
				if (data[at] & 1)
					seal(mem, &ev, data[at] >> 1 ^ data[at + n - 1]);
				at += n;
			}
			memcpy(to + ev.runs[0].offset, mem, ev.io.length);
		}
		prot_group_result(g, ev.io.tag, 0);
	}
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prot_group_config c = config;
	void *mem = calloc(1, prot_group_bytes(&c));
	int i;

	for (i = 0; i < 4; i++)
		c.data[i] = prot_group_meta_bytes(&c);
	attach(prot_group_init(mem, &c), data, size);
	free(mem);
	return 0;
}
