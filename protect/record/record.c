// SPDX-License-Identifier: GPL-2.0-only
/* Bitmap blocks and attach records: seal and check. See record.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/xxhash.h>
#include <asm/byteorder.h>

#include "protect/record/record.h"

#ifdef PROT_MUTANTS
u32 prot_bitmap_few;
#endif

static u64 record_bitmap_sum(const void *block, u32 lba, u64 salt)
{
	u64 seed = xxh64(block, offsetof(struct prot_bitmap_hdr, sum), salt);

	return xxh64((const u8 *)block + sizeof(struct prot_bitmap_hdr),
		     lba - sizeof(struct prot_bitmap_hdr), seed);
}

void prot_bitmap_seal(void *block, u32 lba, const struct prot_owner *o)
{
	struct prot_bitmap_hdr *h = block;

	h->magic = cpu_to_le32(PROT_BITMAP_MAGIC);
	h->version = PROT_RECORD_VERSION;
	memcpy(h->volume, o->volume, PROT_UUID_LEN);
	h->group = cpu_to_le32(o->group);
	h->reserved = 0;
	h->sum = cpu_to_le64(record_bitmap_sum(block, lba, o->salt));
}

int prot_bitmap_check(const void *block, u32 lba, const struct prot_owner *o,
		      const struct prot_bitmap_hdr *want)
{
	const struct prot_bitmap_hdr *h = block;

	if (h->magic != cpu_to_le32(PROT_BITMAP_MAGIC) || h->version != PROT_RECORD_VERSION)
		return -EBADMSG;
	if (h->kind != want->kind || h->member != want->member || h->block != want->block)
		return -EBADMSG;
	if (memcmp(h->volume, o->volume, PROT_UUID_LEN) || h->group != cpu_to_le32(o->group))
		return -EBADMSG;
	if (h->kind >= PROT_MISSED &&
	    (h->absent != want->absent || h->epoch != want->epoch ||
	     memcmp(h->uuid, want->uuid, PROT_UUID_LEN)))
		return -EBADMSG;
	return le64_to_cpu(h->sum) == record_bitmap_sum(block, lba, o->salt) ? 0 : -EBADMSG;
}

void prot_attach_seal(struct prot_attach_rec *r, const struct prot_owner *o)
{
	r->magic = cpu_to_le32(PROT_ATTACH_MAGIC);
	r->version = PROT_RECORD_VERSION;
	r->reserved = 0;
	memcpy(r->volume, o->volume, PROT_UUID_LEN);
	r->group = cpu_to_le32(o->group);
	r->reserved2 = 0;
	r->sum = cpu_to_le64(xxh64(r, offsetof(struct prot_attach_rec, sum), o->salt));
}

int prot_attach_check(const struct prot_attach_rec *r, const struct prot_owner *o, u8 member)
{
	if (r->magic != cpu_to_le32(PROT_ATTACH_MAGIC) || r->version != PROT_RECORD_VERSION)
		return -EBADMSG;
	if (r->member != member || r->group != cpu_to_le32(o->group) ||
	    memcmp(r->volume, o->volume, PROT_UUID_LEN))
		return -EBADMSG;
	if (le64_to_cpu(r->sum) != xxh64(r, offsetof(struct prot_attach_rec, sum), o->salt))
		return -EBADMSG;
	return 0;
}
