/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's list of I/O that devices have not ended, for programs that include files of meshd. */
#ifndef TESTS_UNIT_ABANDONED_RIG_H
#define TESTS_UNIT_ABANDONED_RIG_H

#include <stdlib.h>
#include <string.h>

#include "userspace/libmesh/mesh.h"

static struct meshblk_abandoned rig_io[4];
static size_t rig_ios;
static int rig_io_err;

int meshblk_abandoned_get(struct mesh *m, struct meshblk_abandoned **out, size_t *n)
{
	(void)m;
	*out = NULL;
	*n = 0;
	if (rig_io_err)
		return rig_io_err;
	*out = malloc(sizeof(rig_io));
	memcpy(*out, rig_io, sizeof(rig_io));
	*n = rig_ios;
	return 0;
}

static inline void rig_abandon(struct muuid volume, struct muuid drive, struct muuid extent, u32 ios)
{
	struct meshblk_abandoned *io = &rig_io[rig_ios++];

	*io = (struct meshblk_abandoned) { .volume = volume };
	io->member = (struct meshblk_member) { .kind = MESHBLK_KIND_BDEV, .extent = extent, .drive = drive,
					       .abandoned = ios, .path = "/dev/test" };
}

#include "userspace/meshd/abandoned.c"

#endif
