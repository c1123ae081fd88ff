/* SPDX-License-Identifier: GPL-2.0-only */
/* The drives that could have a new extent, and those that get one. */
#ifndef MESHD_CHOOSE_H
#define MESHD_CHOOSE_H

#include "userspace/format/place.h"
#include "userspace/meshd/volume.h"

struct named;

struct choice {
	struct query all;
	struct place_drive *d;		/* candidates ... */
	u32	*host;			/* ... and whose: index into the hosts */
	size_t	n;
	size_t	misfit;			/* drives left out for their block size */
	struct shown shown;
	char	twice[REASON];		/* of one left out since it may be a copy; "" */
	struct named *named;		/* by index into the names in struct segment_req */
	char	deaf[REASON];		/* why some host could not be queried; "" */
};

/* What all known hosts export, and @q does not rule out. choice_free() it whatever is returned. */
int choice_get(struct req *r, struct choice *c, const struct segment_req *q);
void choice_free(struct choice *c);
/* Members and a segment for @q, appended to @l. */
int choice_plan(struct req *r, struct layout *l, struct choice *c, const struct segment_req *q);
/*
 * A new extent in the place of member @slot of @l, which is in a group: on another drive than its
 * own and the group's, and in another failure domain than the other members.
 */
int choice_swap(struct req *r, struct layout *l, u32 slot, struct choice *c, const struct segment_req *q);

#endif
