/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout of a volume in memory: where each of its bytes is.
 *
 *   volume     0 ................................................ size
 *              | segment 0: ec:4+2, 2 groups | segment 1: stripe:3 |
 *              '-> places: 12, group by group  '-> places: 3
 *                    '-> { member, byte of it where data begins }
 *
 * Flat and without pointers: header, segments, places, member sizes and a
 * scratch area for the check lie one behind the other in memory that the
 * caller owns. To build one: prot_layout_bytes(), prot_layout_init(), fill
 * in segments, places and sizes, prot_layout_check(). After that it is read
 * only and may be used from anywhere.
 */
#ifndef PROTECT_LAYOUT_H
#define PROTECT_LAYOUT_H

#include <linux/types.h>

#include "driver/uapi/meshblk.h"

/* As many as fit a layout record, of which each extent has two copies. */
#define PROT_SEGMENTS_MAX	512U
#define PROT_PLACES_MAX		2048U
#define PROT_MEMBERS_MAX	1024U
#define PROT_STRIP_MIN		4096U
#define PROT_STRIP_MAX		(1U << 20)
#define PROT_EC_STRIP_MAX	(512U << 10)	/* a record is an LBA longer, and one bio's pages */
#define PROT_COPIES_MAX		4
#define PROT_DATA_MAX		32	/* K of ec:K+M */
#define PROT_PARITY_MAX		4	/* M */
#define PROT_WIDTH_MAX		(PROT_DATA_MAX + PROT_PARITY_MAX)
#define PROT_SIZE_MAX		0x7fffffffffffffffULL	/* bytes, an loff_t */

/* The netlink interface has the numbers. */
enum prot_level {
	PROT_LINEAR = MESHBLK_LEVEL_LINEAR,	/* 1 group of 1 */
	PROT_STRIPE = MESHBLK_LEVEL_STRIPE,	/* groups x data columns of one member each */
	PROT_MIRROR = MESHBLK_LEVEL_MIRROR,	/* 1 group of @data copies */
	PROT_RAID10 = MESHBLK_LEVEL_RAID10,	/* @groups of @data copies */
	PROT_EC = MESHBLK_LEVEL_EC,		/* @groups of @data + @parity */
	PROT_LEVELS
};

/* A run of the volume, striped over equal groups. */
struct prot_segment {
	u64	start;		/* byte of the volume; segments lie in order and without gaps */
	u64	length;		/* bytes; whole rows of all groups, but for linear and mirror */
	u32	strip;		/* bytes of one member in a row, a power of two */
	u8	level;		/* enum prot_level */
	u8	data;		/* data members of a group (ec), copies (mirror, raid10), columns */
	u8	parity;		/* parity members of a group (ec), else 0 */
	u8	width;		/* members of a group: 1 where there is no redundancy */
	u16	groups;		/* how many equal groups */
	u16	reserved;
	u32	first;		/* index of its first place; places lie group after group */
	u32	columns;	/* groups side by side; set by the check, as @unit and @width */
	u32	unit;		/* bytes of the volume that one group holds of a row */
};

/* A place of a segment, on one member; a column has @width places. */
struct prot_place {
	u32	member;	/* index in the volume's member table */
	u32	reserved;
	u64	offset;	/* byte of the member where the segment's data begins */
};

/* Bytes of a member used by a place; scratch of the check. */
struct prot_span {
	u64	member;
	u64	start;
	u64	end;
};

/* Header of the flat layout. */
struct prot_layout {
	u64	size;		/* bytes of the volume; set by prot_layout_check() */
	u32	bytes;		/* of this whole structure */
	u32	lba;		/* 512 or 4096, of the volume */
	u32	nr_segments;	/* entries of prot_segments() */
	u32	nr_places;	/* entries of prot_places() */
	u32	nr_members;	/* entries of prot_member_sizes() */
	u32	max_bytes;	/* largest READ or WRITE of an op; set by the check */
};

static inline struct prot_segment *prot_segments(const struct prot_layout *l)
{
	return (struct prot_segment *)(l + 1);
}

static inline struct prot_place *prot_places(const struct prot_layout *l)
{
	return (struct prot_place *)(prot_segments(l) + l->nr_segments);
}

/* Bytes of each member available to a volume, from byte 0 on. */
static inline u64 *prot_member_sizes(const struct prot_layout *l)
{
	return (u64 *)(prot_places(l) + l->nr_places);
}

/* Number of places of a segment. The shape of @s is set. */
static inline u32 prot_segment_places(const struct prot_segment *s)
{
	return s->columns * s->width;
}

/* Bytes of data that each member of a segment holds, whose shape is set. */
u64 prot_segment_member_bytes(const struct prot_segment *s);

/*
 * Set @columns, @width and @unit of a segment with known level and a strip other than 0. A part
 * of prot_layout_check(). Return: NULL, or the reason for a wrong shape.
 */
const char *prot_segment_shape(struct prot_segment *s);

/* Bytes of a layout with that many entries; 0 when a count is out of bounds. */
size_t prot_layout_bytes(u32 nr_segments, u32 nr_places, u32 nr_members);

/**
 * prot_layout_init() - begin a layout in @mem
 * @mem: prot_layout_bytes() bytes, aligned for u64; zeroed here
 * @lba: of the volume
 * @nr_segments: as given to prot_layout_bytes()
 * @nr_places: likewise
 * @nr_members: likewise
 */
struct prot_layout *prot_layout_init(void *mem, u32 lba, u32 nr_segments, u32 nr_places,
				     u32 nr_members);

/**
 * prot_layout_check() - check a layout; sets what fields say that it sets
 * @l: filled in
 *
 * Sorts the scratch area, so it is called once, before other code sees @l.
 * Return: NULL, or why not, as a static string (for netlink's extack).
 */
const char *prot_layout_check(struct prot_layout *l);

/* The segment with byte @offset of the volume; @offset is below the size. */
u32 prot_segment_at(const struct prot_layout *l, u64 offset);

/* Queue limits of a volume. */
struct prot_limits {
	u32	max_bytes;	/* largest READ or WRITE */
	u32	max_zeroes;	/* largest ZEROES; 0: any */
	u32	io_min;		/* bytes, the largest strip; 0 where nothing is striped */
	bool	discard;	/* discarding is worth its price on all levels */
	u64	io_opt;		/* bytes of a full stripe when all segments agree, else 0 */
};

void prot_layout_limits(const struct prot_layout *l, struct prot_limits *limits);

#endif
