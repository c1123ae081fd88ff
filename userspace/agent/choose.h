/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which drives a volume's members get, and where on them: from the store's objects alone.
 *
 *    drive/D of all hosts --- choose_drive[]      what may be taken, with its domain and its holes
 *    what is requested    --- choose_request      level, bytes, strip, domain, drives by UUID
 *             |
 *    choose_segment(): a segment more            choose_member(): another drive for one member
 *             |                                            |
 *    struct layout with new members, plan_task_put[] (place, drive, extent, start, length)
 *
 * Pure: the caller gives the UUIDs of new extents. A refusal is a sentence with what to do.
 */
#ifndef AGENT_CHOOSE_H
#define AGENT_CHOOSE_H

#include "userspace/format/objects.h"
#include "userspace/format/place.h"

#define CHOOSE_WHY	400

/* A drive that may get an extent: in, not local or requested by UUID, its host not removed. */
struct choose_drive {
	const struct obj_drive *drive;
	const struct obj_host *host;
	bool	wanted;		/* the request names it, or names none */
};

struct choose_request {
	struct layout_shape shape;
	u64	bytes;		/* of the segment; CHOOSE_ALL: as much as fits */
	u32	strip;		/* bytes; LAYOUT_NO_STRIP of linear */
	u32	lba_max;	/* block size of the volume that is extended; 0: any */
	const char *domain;	/* "drive", "host", "rack", or a label of hosts */
};

#define CHOOSE_ALL	(~0ULL)

/**
 * choose_segment() - a new segment at the end of @l
 * @l: a layout that may have no segment yet
 * @id: UUIDs for new extents, PROT_MEMBERS_MAX of them
 * @put: becomes where they go, PROT_MEMBERS_MAX of them; @puts: their number
 *
 * Return: 0; -ENOSPC, with a sentence in @why; -ENOMEM.
 */
int choose_segment(const struct choose_drive *d, u32 n, const struct choose_request *r, struct layout *l,
		   const struct muuid *id, struct plan_task_put *put, u32 *puts, char why[CHOOSE_WHY]);

/* Another drive for member @slot of a group; as choose_segment(), with one put. */
int choose_member(const struct choose_drive *d, u32 n, const char *domain, u32 slot, struct layout *l,
		  const struct muuid *id, struct plan_task_put *put, char why[CHOOSE_WHY]);

/* A member of a layout, from the put that it is made of. */
void choose_set(struct layout_member *m, const struct obj_drive *d, const struct obj_host *h,
		const struct plan_task_put *put);

/**
 * choose_room() - the start of a hole of a drive
 * @put: extents of the same task that are not in @d yet
 *
 * The smallest hole that has @length bytes. Return: 0: there is none.
 */
u64 choose_room(const struct obj_drive *d, const struct plan_task_put *put, u32 puts, u64 length);

#endif
