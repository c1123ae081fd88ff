/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The label of an exported drive: which drive it is, and which runs of it were given out.
 *
 *   byte 0          1 MiB                                   size - 1 MiB
 *   +---------------+-----------------------------------------+---------------+
 *   | label, copy 0 | extents, each aligned to 1 MiB          | label, copy 1 |
 *   +---------------+-----------------------------------------+---------------+
 *
 * A copy is a header of 512 bytes and one record of 160 bytes for each extent,
 * under one xxh64. Copy 0 is written and durable before copy 1 is begun, both
 * with a sequence one higher than before: a torn copy fails its checksum and
 * loses to the other, a stale one loses by its sequence. Only the meshd of the
 * host that owns the drive writes it. A sequence that was tried once is never
 * given to another content: a write that failed may have reached the drive.
 *
 * An extent's life:
 *
 *   (none) --allocate--> ZEROING --zeroed up to its length--> READY --free--> (none)
 *                           `-----------------free-------------------------'
 */
#ifndef FORMAT_LABEL_H
#define FORMAT_LABEL_H

#include <linux/types.h>

#include "userspace/format/uuid.h"

#define LABEL_MAGIC		0x4556495244534d42ULL	/* "BMSDRIVE" */
#define LABEL_VERSION		3
#define LABEL_AREA		(1ULL << 20)	/* of each copy; extents align to it */
#define LABEL_EXTENTS_MAX	4000
#define LABEL_NAME		32		/* of the volume, human-readable */
#define LABEL_ATTACH_MAX	(~0ULL >> 1)

struct label_disk_head {
	__le64	magic;
	__le32	version;
	__le32	bytes;		/* header and records, without padding */
	__le64	csum;		/* xxh64 of the records, seeded with that of the
				 * header in which this field is zero
				 */
	__le64	sequence;
	u8	drive[16];
	u8	cluster[16];	/* zero: exported while no key was set */
	u8	owner[16];	/* host whose meshd writes this label */
	__le64	size;		/* of the drive, in bytes */
	__le32	lba;
	__le32	flags;		/* LABEL_F_* */
	__le32	extents;
	__le32	generation;	/* of the cluster store that its writer followed */
	__le32	reserved[102];
};

struct label_disk_extent {
	u8	uuid[16];
	u8	volume[16];
	u8	holder[16];
	__le64	start;
	__le64	length;
	__le64	version;
	__le64	zeroed;
	__le64	commit;
	u8	state;
	u8	reserved[7];
	char	name[LABEL_NAME];
	__le64	attach;
	u8	attacher[16];
	u8	reserved2[8];
};

_Static_assert(sizeof(struct label_disk_head) == 512, "label header");
_Static_assert(sizeof(struct label_disk_extent) == 160, "label extent");

#define LABEL_BYTES_MAX	(sizeof(struct label_disk_head) + \
			 LABEL_EXTENTS_MAX * sizeof(struct label_disk_extent))
_Static_assert(LABEL_BYTES_MAX <= LABEL_AREA, "a label fits its area");

#define LABEL_F_UNEXPORTED	1	/* not to be taken up by itself */
#define LABEL_F_LOCAL		2	/* not exported: volumes of its own host use it */

enum label_extent_state {
	LABEL_ZEROING = 1,
	LABEL_READY = 2,
};

/* A run of the drive that was given out. */
struct label_extent {
	struct muuid uuid;	/* made by the host that requested it */
	struct muuid volume;	/* the one it belongs to, and @name, for display and for import */
	/* host that was last granted writing; zero: none was, or that host gave it back */
	struct muuid holder;
	u64	start;		/* byte on the drive, a multiple of LABEL_AREA */
	u64	length;		/* bytes, a multiple of LABEL_AREA */
	/*
	 * of the volume's layout: that of the record that counts here; 0: none was written yet, so
	 * no host can have opened it
	 */
	u64	version;
	/*
	 * of that record. A record with another version or commit than these was being written when
	 * its writer stopped
	 */
	u64	commit;
	u64	zeroed;		/* bytes known to read zero while @state is LABEL_ZEROING */
	/* highest number of a host that attached the volume with it; 0: none, and no @attacher */
	u64	attach;
	struct muuid attacher;	/* that host: another one with the same number came too late */
	u8	state;
	char	name[LABEL_NAME];
};

struct label {
	struct muuid drive;
	struct muuid cluster;
	struct muuid owner;
	u64	sequence;
	u64	size;
	u32	lba;
	u32	flags;
	u32	generation;	/* of the cluster store; a store with a lower one was put back */
	u32	extents;
	struct label_extent extent[LABEL_EXTENTS_MAX];	/* ascending @start */
};

/* Whether @buf, at least 8 bytes, begins like a label. */
bool label_magic(const void *buf, size_t len);

/**
 * label_encode() - bytes of one copy
 * @l: checked with label_check() first
 * @buf: at least LABEL_BYTES_MAX bytes
 *
 * Return: bytes used, or the negative errno of label_check().
 */
int label_encode(const struct label *l, void *buf, size_t len);

/**
 * label_decode() - one copy
 * Return: 0, -ENODATA when there is no label, -EPROTONOSUPPORT for another
 * version, -EBADMSG when its checksum is wrong, -EUCLEAN when its
 * content is invalid.
 */
int label_decode(const void *buf, size_t len, struct label *l);

/* 0, or -EUCLEAN: overlaps, order, alignment, range, states, equal UUIDs. */
int label_check(const struct label *l);

/**
 * label_pick() - which of the two copies counts
 * @err0: what label_decode() said of copy 0, @seq0 its sequence
 * Return: 0 or 1, or the errno that says more when neither is good.
 */
int label_pick(int err0, u64 seq0, int err1, u64 seq1);

/* NULL: not there. Who may write to the label may write to the extent. */
struct label_extent *label_find(const struct label *l, const struct muuid *uuid);

/**
 * label_alloc() - give out a run: the smallest hole that holds it
 * Return: the extent, in state ZEROING, or NULL: no hole is large enough, or
 * the table is full.
 */
struct label_extent *label_alloc(struct label *l, const struct muuid *uuid, u64 length);
void label_free(struct label *l, struct label_extent *e);

/*
 * Whether a host may open the extent with an attach number; 0, no number, always may.
 * A number above @e->attach is to be noted first.
 */
bool label_attach_may(const struct label_extent *e, const struct muuid *host, u64 number);

/* Bytes that no extent has, and the longest run of them. */
u64 label_room(const struct label *l, u64 *longest);

#endif
