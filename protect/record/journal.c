// SPDX-License-Identifier: GPL-2.0-only
/* Records of a journal: seal and check. See journal.h. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/xxhash.h>
#include <asm/byteorder.h>

#include "protect/record/journal.h"
#include "protect/layout/layout.h"
#include "protect/mutant.h"

u64 prot_slot_payload_sum(const void *payload, u32 length, const struct prot_owner *o,
			  u64 attach, u64 txid, u8 member)
{
	return xxh64(payload, length, o->salt ^ attach << 32 ^ txid << 8 ^ member);
}

void prot_slot_seal(struct prot_slot_hdr *h, const struct prot_owner *o)
{
	h->magic = cpu_to_le32(PROT_SLOT_MAGIC);
	h->version = PROT_RECORD_VERSION;
	h->group = cpu_to_le32(o->group);
	memcpy(h->volume, o->volume, PROT_UUID_LEN);
	h->reserved = 0;
	h->sum = cpu_to_le64(xxh64(h, offsetof(struct prot_slot_hdr, sum), o->salt));
}

static bool journal_place_fits(const struct prot_slot_hdr *h, const struct prot_slot_place *at)
{
	u64 txid = le64_to_cpu(h->txid), mark = le64_to_cpu(h->watermark);
	u32 slot;

	div_u64_rem(txid, at->slots, &slot);
	return h->member == at->member && le32_to_cpu(h->ring) == at->ring &&
	       (!at->attach || le64_to_cpu(h->attach) == at->attach) &&
	       txid && mark && mark <= txid && slot == at->slot;
}

static bool journal_rows_fit(const struct prot_slot_hdr *h, const struct prot_slot_place *at)
{
	u32 first = le32_to_cpu(h->first), length = le32_to_cpu(h->length), ring, rot;
	u64 stripe = le64_to_cpu(h->stripe);

	if (h->kind == PROT_SLOT_BARRIER)
		return !length;
	div_u64_rem(stripe, at->rings, &ring);
	if (stripe >= at->stripes || ring != at->ring)
		return false;
	if (h->kind == PROT_SLOT_ZERO)
		return !length;
	div_u64_rem(stripe, at->width, &rot);
	return h->kind == PROT_SLOT_PAYLOAD && h->strip < at->width &&
	       (h->strip + rot) % at->width == at->member &&
	       !length == !(le64_to_cpu(h->participants) >> at->member & 1) &&
	       !((first | length) & (at->lba - 1)) && length <= at->slot_bytes &&
	       first <= at->strip_bytes && length <= at->strip_bytes - first;
}

int prot_slot_check(const struct prot_slot_hdr *h, const struct prot_owner *o,
		    const struct prot_slot_place *at)
{
	u64 in = (1ULL << at->width) - 1;

	if (h->magic != cpu_to_le32(PROT_SLOT_MAGIC) || h->version != PROT_RECORD_VERSION)
		return -EBADMSG;
	if (memcmp(h->volume, o->volume, PROT_UUID_LEN) || h->group != cpu_to_le32(o->group))
		return -EBADMSG;
	if (!PROT_MUTANT(EC_NO_SUM) &&
	    le64_to_cpu(h->sum) != xxh64(h, offsetof(struct prot_slot_hdr, sum), o->salt))
		return -EBADMSG;
	if (!journal_place_fits(h, at) || !journal_rows_fit(h, at))
		return -EBADMSG;
	if (!(le64_to_cpu(h->holders) >> at->member & 1) ||
	    (le64_to_cpu(h->holders) | le64_to_cpu(h->participants)) & ~in)
		return -EBADMSG;
	return 0;
}

int prot_slot_check_payload(const struct prot_slot_hdr *h, const void *payload,
			    const struct prot_owner *o)
{
	if (!h->length || PROT_MUTANT(EC_NO_SUM))
		return 0;
	if (le64_to_cpu(h->payload_sum) !=
	    prot_slot_payload_sum(payload, le32_to_cpu(h->length), o, le64_to_cpu(h->attach),
				  le64_to_cpu(h->txid), h->member))
		return -EBADMSG;
	return 0;
}
