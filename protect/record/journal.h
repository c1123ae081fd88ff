/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The journal of an erasure-coded group: a transaction has records on members, durable before the
 * first byte in place changes: of its content, on each changed member; of a stripe of zeroes, a
 * header on enough members for one to survive. Little endian.
 *
 *   rings, behind the bitmaps of a member (record.h), at a multiple of @head:
 *   | ring 0: slot 0 | slot 1 | .. | slot R-1 | ring 1: slot 0 | ..
 *
 *   slot:  |  ....  | header, 1 LBA | payload .............. |
 *          0                        head                     head + slot bytes
 *
 * ring = stripe mod rings; slot = transaction id mod slots, on every member, so there is no
 * allocator and nothing to lose. Header and payload are one write; no torn write gives a valid
 * record: the header's checksum covers the payload's checksum, which is seeded with salt, attach
 * number, transaction and member. Headers lie at one place of each slot and the salt is secret: no
 * user data can pass for a record.
 *
 * A valid record of the newest attach number counts. In a ring, records below the highest
 * @watermark are dead: already in place. Another record is complete when each of the @holders
 * still in sync has a copy.
 */
#ifndef PROTECT_JOURNAL_H
#define PROTECT_JOURNAL_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "protect/record/record.h"

#define PROT_SLOT_MAGIC		0x544f4c53	/* "SLOT" */
#define PROT_RINGS_MAX		64
#define PROT_SLOTS_MIN		2
#define PROT_SLOTS_MAX		64

/* The numbers are on disk. */
enum prot_slot_kind {
	PROT_SLOT_PAYLOAD	= 1,	/* the payload is what the rows become */
	PROT_SLOT_ZERO		= 2,	/* the whole stripe becomes zero, on all members */
	PROT_SLOT_SUMMED	= 3,	/* reserved: mode `sums` */
	PROT_SLOT_BARRIER	= 4,	/* no rows: carries a watermark */
	PROT_SLOT_RECOVER	= 5,	/* reserved: mode `sums` */
	PROT_SLOT_KINDS
};

/* Header of a record; the rest of its LBA is zero. */
struct prot_slot_hdr {
	__le32	magic;			/* PROT_SLOT_MAGIC */
	u8	version;		/* PROT_RECORD_VERSION */
	u8	kind;			/* enum prot_slot_kind */
	u8	member;			/* index in the group */
	u8	strip;			/* PAYLOAD: which strip of the stripe the member holds */
	__le32	group;			/* which group of the volume */
	__le32	ring;			/* which ring */
	__le64	attach;			/* number of the attachment */
	__le64	txid;	/* of the transaction, counted per ring, from 1 with each attach number */
	__le64	watermark;		/* every transaction of the ring below it is in place */
	__le64	epoch;			/* of the roster; informative */
	__le64	participants;		/* members whose strips change */
	__le64	holders;		/* members that hold a record of it */
	__le64	stripe;			/* number in the group */
	__le32	first;			/* byte of the strip where the payload goes */
	__le32	length;			/* of the payload; 0: the member holds the header only */
	u8	volume[PROT_UUID_LEN];	/* its UUID */
	__le64	payload_sum;	/* xxh64 of the payload, seeded as said above; 0 without one */
	__le64	reserved;		/* zero */
	__le64	sum;			/* over all before it, seeded with the salt */
};

static_assert(sizeof(struct prot_slot_hdr) == 120, "on disk");
static_assert(offsetof(struct prot_slot_hdr, attach) == 16, "on disk");
static_assert(offsetof(struct prot_slot_hdr, sum) == 112, "on disk");

/* The place of a record, with bounds for the record's fields. */
struct prot_slot_place {
	u64	attach;		/* the newest; 0: any */
	u64	stripes;	/* of the group */
	u32	strip_bytes;
	u32	slot_bytes;
	u32	ring;
	u32	rings;
	u32	slot;
	u32	slots;
	u32	lba;
	u8	member;
	u8	width;
};

/* Checksum of a payload. */
u64 prot_slot_payload_sum(const void *payload, u32 length, const struct prot_owner *o,
			  u64 attach, u64 txid, u8 member);

/* Fill in magic, version, owner and checksum; all else is the caller's. */
void prot_slot_seal(struct prot_slot_hdr *h, const struct prot_owner *o);

/**
 * prot_slot_check() - check that this is the header of a record that belongs here
 * @h: as read
 * @o: its owner
 * @at: where it was read
 *
 * What passes may be used without a further check: its numbers are in bounds.
 * Return: 0, or -EBADMSG: there is no record.
 */
int prot_slot_check(const struct prot_slot_hdr *h, const struct prot_owner *o,
		    const struct prot_slot_place *at);

/* The same for the payload; the header has passed. */
int prot_slot_check_payload(const struct prot_slot_hdr *h, const void *payload,
			    const struct prot_owner *o);

#endif
