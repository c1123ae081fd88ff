/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The roster of a protection group: the members in sync. The host with the group attached writes
 * the roster, on each member, to one of two blocks in turn, so that a torn block leaves the
 * earlier one. Little endian.
 *
 *   block:  | header, 128 bytes | member 0: left, UUID | .. | member 35 | zeroes .. |
 *           0                   128                                  992
 *
 * The higher of two rosters is the one of the later attachment, then of the higher epoch: a host
 * that was fenced may have gone on counting epochs. membership.h has the rules for the next
 * roster and for reads.
 */
#ifndef PROTECT_ROSTER_H
#define PROTECT_ROSTER_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "protect/layout/layout.h"
#include "protect/record/record.h"

#define PROT_ROSTER_MAGIC	0x5453524d	/* "MRST" */
#define PROT_ROSTER_BLOCK	4096		/* one for each of the two */

/* The numbers are on disk. */
enum prot_roster_flag {
	PROT_ROSTER_CLEAN	= 1 << 0,	/* all is in place: nothing to be recovered */
	PROT_ROSTER_WITNESS	= 1 << 1,	/* each removal was noted by its store first */
	PROT_ROSTER_AUTONOMOUS	= 1 << 2,	/* never again WITNESS */
	PROT_ROSTER_FLAGS	= (1 << 3) - 1
};

/* Constant while a group lives; records are read by these numbers. */
struct prot_geometry {
	u64	bytes;		/* of data on each member */
	u32	region;
	u32	strip;
	u32	slot_bytes;
	u32	slot_head;
	u32	lba;
	u16	rings;
	u16	slots;
	u8	level;
	u8	k;		/* members that suffice; mirrors: 1 */
	u8	width;
};

/* A roster in memory. */
struct prot_roster {
	/*
	 * number of the attachment of this roster, never 0; numbered: with generation and restart
	 */
	u64	attach;
	u64	epoch;			/* grows with each roster of the group */
	u64	in_sync;		/* bit i: member i has every acknowledged write */
	u32	flags;			/* enum prot_roster_flag */
	u8	host[PROT_UUID_LEN];	/* host that wrote the roster */
	struct prot_geometry geo;
	u64	left[PROT_WIDTH_MAX];	/* epoch at which member i left, if not in sync */
	u8	uuid[PROT_WIDTH_MAX][PROT_UUID_LEN];	/* extent that is member i */
};

struct prot_roster_entry {
	__le64	left;
	u8	uuid[PROT_UUID_LEN];
};

/* A roster on a member. */
struct prot_roster_rec {
	__le32	magic;
	u8	version;
	u8	member;	/* index of the member with the block */
	__le16	length;	/* of the record, without the zeroes behind it */
	__le64	attach;
	__le64	epoch;
	__le64	in_sync;
	__le32	flags;
	__le32	group;
	u8	host[PROT_UUID_LEN];
	u8	volume[PROT_UUID_LEN];
	__le64	bytes;
	__le32	region;
	__le32	strip;
	__le32	slot_bytes;
	__le32	slot_head;
	__le32	lba;
	__le16	rings;
	__le16	slots;
	u8	level;
	u8	k;
	u8	width;
	u8	reserved[5];
	__le64	reserved2;
	/* xxh64 of @entry; seed: the checksum of all before @sum, seeded with the volume's salt */
	__le64	sum;
	struct prot_roster_entry entry[PROT_WIDTH_MAX];
};

static_assert(sizeof(struct prot_roster_entry) == 24, "on disk");
static_assert(offsetof(struct prot_roster_rec, bytes) == 72, "on disk");
static_assert(offsetof(struct prot_roster_rec, sum) == 120, "on disk");
static_assert(offsetof(struct prot_roster_rec, entry) == 128, "on disk");
static_assert(sizeof(struct prot_roster_rec) <= PROT_ROSTER_BLOCK, "on disk");

/* More than 0: @a is the higher one. Only of one group. */
int prot_roster_cmp(const struct prot_roster *a, const struct prot_roster *b);

/* @block is PROT_ROSTER_BLOCK bytes; all of it is written. */
void prot_roster_seal(void *block, const struct prot_roster *r, const struct prot_owner *o,
		      u8 member);

/**
 * prot_roster_parse() - read a roster
 * @block: PROT_ROSTER_BLOCK bytes, as read
 * @r: filled on success; its numbers are in bounds
 * @o: its owner
 * @member: whose block it is
 *
 * Return: 0, or -EBADMSG: there is none.
 */
int prot_roster_parse(const void *block, struct prot_roster *r, const struct prot_owner *o,
		      u8 member);

/**
 * prot_roster_pick() - the one that counts of a member's two blocks
 * @blocks: both, one behind the other
 * @r: filled on success
 * @o: their owner
 * @member: whose they are
 *
 * Return: its index, and the other block is the next to be written; or -EBADMSG.
 */
int prot_roster_pick(const void *blocks, struct prot_roster *r, const struct prot_owner *o,
		     u8 member);

#endif
