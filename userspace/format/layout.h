/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout record: what a volume is, stored in each of its extents.
 *
 *   byte 0        256 KiB       512 KiB       1 MiB
 *   +-------------+-------------+-------------+---------------------+-------
 *   | copy 0      | copy 1      | unused      | records of a group  | data
 *   +-------------+-------------+-------------+---------------------+-------
 *                                              '- prot_geometry_area(), nothing
 *                                                 where there is no redundancy
 *
 * Every extent of a volume carries the whole layout, so that any one of them
 * shows where the others are. Copy 0 is durable before copy 1 is begun; the
 * highest version whose checksum is right counts.
 */
#ifndef FORMAT_LAYOUT_H
#define FORMAT_LAYOUT_H

#include <linux/types.h>

#include "protect/layout/layout.h"
#include "userspace/format/layout_text.h"
#include "userspace/format/uuid.h"

#define LAYOUT_MAGIC		0x4c4f564853454d42ULL	/* "BMESHVOL" */
#define LAYOUT_VERSION		3
#define LAYOUT_COPIES		2
#define LAYOUT_COPY_BYTES	(256U << 10)
#define LAYOUT_PEEK		4096U
#define LAYOUT_DATA		(1ULL << 20)	/* where data, or records, begin in an extent */
#define LAYOUT_NO_STRIP		65536	/* of a linear segment, which has none */
#define LAYOUT_NAME		64
#define LAYOUT_ADDR		64

struct layout_disk_head {
	__le64	magic;
	__le32	version;
	__le32	bytes;		/* of the whole record */
	__le64	csum;		/* xxh64 of the rest, seeded with that of this
				 * header in which this field is zero
				 */
	__le64	layout_version;
	u8	volume[16];
	__le64	size;		/* of the volume, in bytes */
	__le32	lba;
	__le32	flags;		/* none yet */
	__le32	members;
	__le32	segments;
	__le32	refs;
	__le32	reserved0;
	__le64	created;	/* seconds since 1970 */
	char	name[LAYOUT_NAME];
	__le64	commit;		/* random, another for each attempt at a version */
	__le64	head_csum;	/* xxh64 of this header, both checksums taken as zero */
	u8	level;		/* of the first segment, for lists that read no more */
	u8	columns;
	u8	parity;
	u8	reserved1;
	__le16	groups;
	u8	reserved2[2];
	__le64	salt;		/* random, made with the volume, never changed */
	__le16	spares;		/* members that may be replaced by themselves ... */
	__le16	spares_used;	/* ... and that were */
	__le32	reserved[17];
};

struct layout_disk_member {
	u8	target[16];
	u8	drive[16];
	u8	extent[16];
	__le64	size;		/* of the extent, in bytes */
	__le16	port;
	u8	kind;		/* enum layout_kind */
	u8	flags;		/* LAYOUT_LATE */
	u8	reserved[4];
	char	addr[LAYOUT_ADDR];	/* of the target when this was written */
};

struct layout_disk_segment {
	__le64	start;
	__le64	length;
	u8	level;
	u8	data;
	u8	parity;
	u8	domain;
	__le32	strip;
	__le16	groups;
	__le16	flags;		/* LAYOUT_FRESH */
	__le32	first_ref;
	__le32	refs;
	__le32	reserved[7];
};

struct layout_disk_ref {
	__le32	member;
	__le32	reserved;
	__le64	offset;
};

_Static_assert(sizeof(struct layout_disk_head) == 256, "layout header");
_Static_assert(sizeof(struct layout_disk_member) == 128, "layout member");
_Static_assert(sizeof(struct layout_disk_segment) == 64, "layout segment");
_Static_assert(sizeof(struct layout_disk_ref) == 16, "layout reference");

#define LAYOUT_BYTES_MAX (sizeof(struct layout_disk_head) +			\
	PROT_MEMBERS_MAX * sizeof(struct layout_disk_member) +		\
	PROT_SEGMENTS_MAX * sizeof(struct layout_disk_segment) +		\
	PROT_PLACES_MAX * sizeof(struct layout_disk_ref))
_Static_assert(LAYOUT_BYTES_MAX <= LAYOUT_COPY_BYTES, "a record fits its copy");

/* Of a segment: its members are zeroed, and no host has attached its groups yet. */
#define LAYOUT_FRESH	1U

/*
 * Of a member: it was away when this version was made, and its group went on without it. It gets
 * the record when it is back; until then its older label says nothing against this version.
 */
#define LAYOUT_LATE	1U

/* How a member is reached. */
enum layout_kind {
	LAYOUT_KIND_RDDA = 0,
	LAYOUT_KIND_BDEV = 1,	/* a local drive of its host, at which alone the volume is attached */
};

/* What no two members of a group shared when their drives were chosen. */
enum layout_domain {
	LAYOUT_DOMAIN_DRIVE = 0,
	LAYOUT_DOMAIN_HOST = 1,
};

struct layout_member {
	struct muuid target;
	struct muuid drive;
	struct muuid extent;
	u64	size;
	u16	port;
	u8	kind;		/* enum layout_kind */
	bool	late;		/* LAYOUT_LATE */
	char	addr[LAYOUT_ADDR];
};

struct layout_ref {
	u32	member;		/* index into members */
	u64	offset;		/* byte of the member where its data begins */
};

struct layout_segment {
	u64	start;		/* byte of the volume */
	u64	length;
	u8	level;		/* enum prot_level */
	u8	data;		/* members that hold data, in a group */
	u8	parity;
	u8	domain;		/* for the next segment: drives move */
	bool	fresh;		/* LAYOUT_FRESH */
	u16	groups;
	u32	strip;
	u32	first_ref;	/* of its run in refs */
	u32	refs;
};

struct layout {
	struct muuid volume;
	char	name[LAYOUT_NAME];
	u64	version;
	u64	commit;
	u64	size;
	u64	created;
	u64	salt;		/* seeds the checksums of records; not 0 where there are any */
	u16	spares;		/* members that meshd may replace by itself ... */
	u16	spares_used;	/* ... and that it has: more than those, if configured so */
	u32	lba;
	u32	members;
	u32	segments;
	u32	refs;
	struct layout_member member[PROT_MEMBERS_MAX];
	struct layout_segment segment[PROT_SEGMENTS_MAX];
	struct layout_ref ref[PROT_PLACES_MAX];
};

/**
 * layout_check() - whether a layout is valid
 * prot_layout_check() and what is of records: that data lies behind the metadata area, and that
 * of a group right behind the group's records, in extents that nothing else has a part of.
 * Return: 0 or -EUCLEAN.
 */
int layout_check(const struct layout *l);

/* Bytes of the record, or a negative errno. @buf: LAYOUT_BYTES_MAX bytes. */
int layout_encode(const struct layout *l, void *buf, size_t len);

/**
 * layout_decode() - one copy
 * Return: 0, -ENODATA: there is none, -EPROTONOSUPPORT: another version,
 * -EBADMSG: wrong checksum, -EUCLEAN: its content is invalid.
 */
int layout_decode(const void *buf, size_t len, struct layout *l);

/* What a list needs of a record: its header alone. */
struct layout_head {
	struct muuid volume;
	char	name[LAYOUT_NAME];
	u64	version;
	u64	commit;
	u64	size;
	u64	created;
	u32	members;
	struct layout_shape shape;	/* of the first segment */
};

/**
 * layout_peek() - the header of one copy, from its first LAYOUT_PEEK bytes
 * Return: as layout_decode(); what follows the header is not checked.
 */
int layout_peek(const void *buf, size_t len, struct layout_head *h);

static inline struct layout_shape layout_shape(const struct layout_segment *s)
{
	return (struct layout_shape) { s->level, s->data, s->parity, s->groups };
}

/* How often a member may still be replaced without a command. */
static inline u32 layout_spares_left(const struct layout *l)
{
	return l->spares > l->spares_used ? l->spares - l->spares_used : 0;
}

/* Bytes of data that each member of @s holds. */
u64 layout_member_bytes(const struct layout_segment *s);

/* Byte of each of its extents where the data of @s begins, by its length; 0: it cannot be. */
u64 layout_data_at(const struct layout_segment *s, u32 lba);

/* Members that hold data side by side: each has the same part of the segment. */
u32 layout_columns(const struct layout_shape *s);
/* Bytes of an extent with @each of data and its metadata, whatever block size the volume gets. */
u64 layout_extent_bytes(const struct layout_segment *s, u64 each);
/* Whether a layout has room for a segment of @more members. */
bool layout_has_room(const struct layout *l, u32 more);
/**
 * layout_append() - a segment at the end of a layout that has room for it
 * @s: .start and .first_ref are set here
 * @first_member: of its .refs members, which are in the layout already, one behind the other
 */
void layout_append(struct layout *l, const struct layout_segment *s, u32 first_member);
/* The segment of a member, and the first of the places of its group; NULL: it is in no group. */
const struct layout_segment *layout_group_of(const struct layout *l, u32 member, u32 *first);

/* Whether a segment is one of groups that outlive the loss of members. */
bool layout_protected(const struct layout *l);
/* Whether one of them was never attached. */
bool layout_fresh(const struct layout *l);

/* Whether a member of it was away when it was made. */
bool layout_late(const struct layout *l);
/* No member of it is late: the next version is to be written to all. */
void layout_none_late(struct layout *l);

/* Whether an extent is one of its members. */
bool layout_names(const struct layout *l, const struct muuid *extent);

#endif
