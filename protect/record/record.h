/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of protection on each member, before the member's data. Little endian. A block is one
 * LBA, so written whole or not at all; a block torn nevertheless fails its checksum.
 *
 *   metadata area of a member, from the offset that the layout record names:
 *   | ATTACH 0 | ATTACH 1 | INTENT blocks | MISSED 0 | .. | MISSED n | rings |
 *
 * INTENT (mirrors): a bit per region, set on a copy before data changes there. MISSED i: a bit
 * per region that member i did not get, when it is out; n is 3 for mirrors, the last member of an
 * erasure-coded group; valid only for that member's UUID and the epoch at which it left. ATTACH
 * (erasure coding): the attach number that records of a ring carry; of two valid blocks the one
 * with the higher attach number counts. Rings (erasure coding): see journal.h.
 *
 * A bitmap block that is not valid counts as all ones. The checksum is xxh64, seeded with the
 * owner's salt, so no user data can pass for a record.
 */
#ifndef PROTECT_RECORD_H
#define PROTECT_RECORD_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define PROT_UUID_LEN		16
#define PROT_ABSENT_MAX		4	/* of mirrors; ec has one for each member */
#define PROT_BITMAP_MAGIC	0x50414d4d	/* "MMAP" */
#define PROT_ATTACH_MAGIC	0x4854544d	/* "MTTH" */
#define PROT_RECORD_VERSION	1

enum prot_bitmap_kind {
	PROT_INTENT	= 0,
	PROT_MISSED	= 1,	/* of member 0, and so on */
	PROT_BITMAPS	= PROT_MISSED + PROT_ABSENT_MAX
};

/* Begins a bitmap block; the bits follow. */
struct prot_bitmap_hdr {
	__le32	magic;			/* PROT_BITMAP_MAGIC */
	u8	version;		/* PROT_RECORD_VERSION */
	u8	kind;			/* enum prot_bitmap_kind */
	u8	member;			/* index in the group of the member with the block */
	u8	absent;			/* MISSED: index in the group of the absent member */
	__le64	seq;			/* counts block writes of an attachment; not read */
	__le64	epoch;			/* MISSED: at which @absent left */
	u8	volume[PROT_UUID_LEN];	/* its UUID */
	u8	uuid[PROT_UUID_LEN];	/* MISSED: of the member that is out */
	__le32	group;			/* which group of the volume */
	__le32	block;			/* which block of the bitmap */
	__le64	reserved;		/* zero */
	__le64	sum;			/* over the header before this field and the bits behind */
};

static_assert(sizeof(struct prot_bitmap_hdr) == 80, "on disk");

/* Which attachment of the volume wrote the rings last. */
struct prot_attach_rec {
	__le32	magic;			/* PROT_ATTACH_MAGIC */
	u8	version;		/* PROT_RECORD_VERSION */
	u8	member;			/* index in the group */
	__le16	reserved;		/* zero */
	__le64	seq;			/* the same as @attach; not read */
	__le64	attach;			/* number of the attachment, always growing */
	__le64	epoch;			/* of the roster, at that time */
	u8	volume[PROT_UUID_LEN];	/* its UUID */
	__le32	group;			/* which group of the volume */
	__le32	reserved2;		/* zero */
	__le64	sum;			/* over all before it */
};

static_assert(sizeof(struct prot_attach_rec) == 64, "on disk");

/* The volume and group of records; blocks must name the same. */
struct prot_owner {
	u8	volume[PROT_UUID_LEN];
	u64	salt;
	u32	group;
};

#ifdef PROT_MUTANTS
extern u32 prot_bitmap_few;	/* the simulator: number of bits, for several blocks; 0: all */
#endif

/* Bits of one bitmap block of @lba bytes. */
static inline u32 prot_bitmap_bits(u32 lba)
{
#ifdef PROT_MUTANTS
	if (prot_bitmap_few)
		return prot_bitmap_few;
#endif
	return (lba - sizeof(struct prot_bitmap_hdr)) * 8;
}

static inline u8 *prot_bitmap_bytes(void *block)
{
	return (u8 *)block + sizeof(struct prot_bitmap_hdr);
}

/* Fill in magic, version, owner and checksum; all else is the caller's. */
void prot_bitmap_seal(void *block, u32 lba, const struct prot_owner *o);

/**
 * prot_bitmap_check() - check that a block is what it should be
 * @block: as read
 * @lba: its bytes
 * @o: its owner
 * @want: kind, member, block, and for MISSED: absent, epoch, uuid
 *
 * Return: 0, or -EBADMSG: the block counts as all ones.
 */
int prot_bitmap_check(const void *block, u32 lba, const struct prot_owner *o,
		      const struct prot_bitmap_hdr *want);

/* @r: at the start of a block; the caller zeroes the rest. */
void prot_attach_seal(struct prot_attach_rec *r, const struct prot_owner *o);
int prot_attach_check(const struct prot_attach_rec *r, const struct prot_owner *o, u8 member);

#endif
