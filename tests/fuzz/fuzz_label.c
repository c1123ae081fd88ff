// SPDX-License-Identifier: GPL-2.0-only
/*
 * Labels from arbitrary bytes. The checksum is put right first, else nothing
 * would ever get behind it; what then passes must survive a round trip.
 */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/xxhash.h>

#include "userspace/format/label.h"

static struct label l, again;
static u8 out[LABEL_BYTES_MAX];

static void seal(struct label_disk_head *h)
{
	u32 bytes = le32_to_cpu(h->bytes);

	h->csum = 0;
	h->csum = cpu_to_le64(xxh64(h + 1, bytes - sizeof(*h), xxh64(h, sizeof(*h), 0)));
}

static void judge(const u8 *buf, size_t size)
{
	static const struct muuid mine = { { 0xff } };
	u64 longest;
	int bytes;

	if (label_decode(buf, size, &l))
		return;
	bytes = label_encode(&l, out, sizeof(out));
	if (bytes < 0 || label_decode(out, bytes, &again))
		abort();
	if (label_room(&l, &longest) > l.size)
		abort();
	if (longest && label_alloc(&l, &mine, longest) && label_check(&l) &&
	    !label_find(&again, &mine))
		abort();
}

/* The input is a whole label, or the records of one under a good header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size / sizeof(struct label_disk_extent);
	struct label_disk_head *h;
	u8 *buf;

	judge(data, size);
	buf = calloc(1, sizeof(*h) + size);
	h = (void *)buf;
	h->magic = cpu_to_le64(LABEL_MAGIC);
	h->version = cpu_to_le32(LABEL_VERSION);
	h->bytes = cpu_to_le32(sizeof(*h) + n * sizeof(struct label_disk_extent));
	h->size = cpu_to_le64(1ULL << 40);
	h->lba = cpu_to_le32(512);
	h->extents = cpu_to_le32(n);
	h->drive[0] = 1;
	memcpy(h + 1, data, size);
	seal(h);
	judge(buf, sizeof(*h) + size);
	if (size >= sizeof(*h)) {
		memcpy(buf, data, size);
		h->magic = cpu_to_le64(LABEL_MAGIC);
		h->version = cpu_to_le32(LABEL_VERSION);
		h->bytes = cpu_to_le32(size);
		seal(h);
		judge(buf, size);
	}
	free(buf);
	return 0;
}
