// SPDX-License-Identifier: GPL-2.0-only
/* Layout records from arbitrary bytes, with the checksum put right first. */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/xxhash.h>

#include "userspace/format/layout.h"

static struct layout l, again;
static struct layout_head head;
static u8 out[LAYOUT_BYTES_MAX];

static void judge(u8 *buf, size_t size)
{
	struct layout_disk_head *h = (void *)buf;
	int bytes;

	h->magic = cpu_to_le64(LAYOUT_MAGIC);
	h->version = cpu_to_le32(LAYOUT_VERSION);
	h->bytes = cpu_to_le32(size);
	h->flags = 0;
	h->csum = 0;
	h->head_csum = 0;
	h->head_csum = cpu_to_le64(xxh64(h, sizeof(*h), 0));
	h->csum = cpu_to_le64(xxh64(h + 1, size - sizeof(*h), xxh64(h, sizeof(*h), 0)));
	if (layout_decode(buf, size, &l))
		return;
	if (layout_peek(buf, size, &head) || head.version != l.version ||
	    head.commit != l.commit || head.members != l.members)
		abort();
	bytes = layout_encode(&l, out, sizeof(out));
	if (bytes < 0 || layout_decode(out, bytes, &again))
		abort();
}

/* A whole record; or one member, segments and references under a good header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t tail = sizeof(struct layout_disk_segment) + sizeof(struct layout_disk_ref);
	size_t n = size / tail;
	struct layout_disk_head *h;
	struct layout_disk_member *m;
	u8 *buf;

	layout_decode(data, size, &l);
	layout_peek(data, size, &head);
	buf = calloc(1, sizeof(*h) + sizeof(*m) + size);
	if (size >= sizeof(*h)) {
		memcpy(buf, data, size);
		judge(buf, size);
		memset(buf, 0, size);
	}
	h = (void *)buf;
	m = (void *)(h + 1);
	h->layout_version = h->members = cpu_to_le32(1);
	h->commit = cpu_to_le64(1);
	h->volume[0] = h->name[0] = 'v';
	h->lba = cpu_to_le32(512);
	h->segments = h->refs = cpu_to_le32(n);
	m->extent[0] = 1;
	m->size = cpu_to_le64(1ULL << 40);
	memcpy(m + 1, data, n * tail);
	for (size_t i = 0; i < n; i++) {
		struct layout_disk_segment s;

		memcpy(&s, (u8 *)(m + 1) + i * sizeof(s), sizeof(s));
		h->size = cpu_to_le64(le64_to_cpu(h->size) + le64_to_cpu(s.length));
	}
	judge(buf, sizeof(*h) + sizeof(*m) + n * tail);
	free(buf);
	return 0;
}
