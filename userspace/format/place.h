/* SPDX-License-Identifier: GPL-2.0-only */
/* Which drives a segment's extents come from. */
#ifndef FORMAT_PLACE_H
#define FORMAT_PLACE_H

#include <linux/types.h>

#include "userspace/format/uuid.h"

enum place_domain {
	PLACE_DRIVE,		/* no two members of a group on one drive */
	PLACE_HOST,		/* ... nor on one host */
};

struct place_drive {
	struct muuid host;
	struct muuid drive;
	u64	free;
	u64	longest;	/* run that is free */
	u32	lba;
	bool	wanted;		/* named by the caller; set for all when none is */
	bool	local;		/* the members are of kind bdev; nothing else depends on it */
};

/* Groups of which each outlives the loss of members. */
struct place_groups {
	u64	bytes;		/* that each of the extents needs */
	u32	groups;
	u32	width;		/* members of each */
	enum place_domain domain;
};

/**
 * place_stripe() - choose drives for a group
 * @d: candidates
 * @n: how many
 * @bytes: that each of the extents needs
 * @members: extents wanted
 * @domain: what no two may share
 * @out: set to @members indexes into @d
 *
 * Spreads over hosts first and takes the drive with most room on each. Drives
 * of one block size only: the one most drives have that would do.
 *
 * Return: how many were found; fewer than @members means that it is impossible.
 */
u32 place_stripe(const struct place_drive *d, u32 n, u64 bytes, u32 members,
		 enum place_domain domain, u32 *out);

/**
 * place_groups() - choose drives for groups
 * @d: candidates
 * @n: how many
 * @p: what is wanted
 * @out: set to @groups * @width indexes into @d, group after group
 *
 * Where there is a choice it takes the drive that is used least, of those the one on the host that
 * is used least, of those the one with most room. A drive may serve several groups: its longest
 * run holds their extents. Drives of one block size only, 512 first.
 *
 * Return: 0; -ENOSPC: impossible; -ENOMEM.
 */
int place_groups(const struct place_drive *d, u32 n, const struct place_groups *p, u32 *out);

/*
 * A drive for one member of a group beside @taken, those of its others: on none of these drives
 * and, for PLACE_HOST, hosts. Where there is a choice, on another host, then the one with most room.
 * Return: index into @d, or -1.
 */
int place_spare(const struct place_drive *d, u32 n, u64 bytes, enum place_domain domain,
		const struct place_drive *taken, u32 nr_taken);

/* How many domains have a drive with room for one extent, of the block size that has most. */
u32 place_domains(const struct place_drive *d, u32 n, u64 bytes, enum place_domain domain);

/* The drive with the longest free run of at least @bytes, or -1. */
int place_one(const struct place_drive *d, u32 n, u64 bytes);

#endif
