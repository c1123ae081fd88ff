/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A label whose two copies are gone, put together again from a backup and from
 * the layout records that stand where extents begin.
 *
 * The backup says what was given out when it was made; the records say what is
 * there. An extent of the backup whose record names it is confirmed. What only
 * the drive shows is kept as an extent of no holder: nothing that may be data
 * becomes free room. What is invalid is left out, with the reason.
 */
#ifndef FORMAT_RESTORE_H
#define FORMAT_RESTORE_H

#include <linux/types.h>

#include "userspace/format/label.h"
#include "userspace/format/layout.h"

/* A layout record found at @start, and which members of it may begin there. */
struct restore_hit {
	u64	start;
	struct muuid volume;
	char	name[LAYOUT_NAME];
	u64	version;
	u64	commit;
	u32	first;		/* of the candidates, in restore_scan.member */
	u32	members;
};

/* A member of a found record that is on the drive in question. */
struct restore_member {
	struct muuid extent;
	u64	size;
};

struct restore_scan {
	struct restore_hit *hit;	/* ascending start */
	u32	hits;
	struct restore_member *member;
	u32	nr_members;
};

enum restore_what {
	RESTORE_CONFIRMED,	/* in the backup, and its record names it */
	RESTORE_KEPT,		/* in the backup, but no record names it: an orphan perhaps */
	RESTORE_FOUND,		/* not in the backup, but a record shows it */
	RESTORE_NAMELESS,	/* ... and which of several members it is, is unknown */
	RESTORE_DROPPED,	/* never recorded, or in the place of another */
};

struct restore_line {
	enum restore_what what;
	struct label_extent extent;
};

/**
 * restore_add() - note what was read at a place
 * @l: the record, decoded
 * @drive: members on other drives are no candidates
 * Return: 0, -ENOENT: it names nothing of this drive, or -ENOMEM.
 */
int restore_add(struct restore_scan *s, u64 start, const struct layout *l,
		const struct muuid *drive);
void restore_scan_free(struct restore_scan *s);

/**
 * restore_build() - the label
 * @backup: drive, owner, cluster, size and lba are taken from it
 * @sequence: the highest that was seen anywhere
 * @out: the label, with a sequence above @sequence and the backup's
 * @line: what became of everything, up to @max of them
 * @fresh: makes UUIDs for what has none
 * Return: how many lines there are, or -EUCLEAN, -E2BIG: it cannot be a label.
 */
int restore_build(const struct label *backup, const struct restore_scan *s, u64 sequence,
		  struct label *out, struct restore_line *line, u32 max,
		  void (*fresh)(struct muuid *u));

#endif
