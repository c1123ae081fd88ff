/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * I/O of local drives that groups of this host's kernel gave up and that its devices have not ended:
 *
 *   a member's --- given up by its group ---> in the kernel's list --- ended, or the device is gone ---> over
 *
 * Such a write may land at any time until then. So its extent stays as it is: in its label, held by this
 * host, and opened by nothing. Only the kernel knows the list. Each decision queries it, and a meshd that
 * has just begun knows as much as the one before. A machine that has just begun has no such I/O.
 */
#ifndef MESHD_ABANDONED_H
#define MESHD_ABANDONED_H

#include "userspace/format/mgmt.h"
#include "userspace/libmesh/mesh.h"

/* The kernel's list at one moment. @err: it could not be had, and anything may be in it. */
struct abandoned {
	struct meshblk_abandoned *io;
	size_t	n;
	int	err;
};

void abandoned_get(struct abandoned *a);
void abandoned_free(struct abandoned *a);

/**
 * abandoned_bars() - the decision: whether an extent has to stay as it is
 * @extent: NULL: whichever is on @drive
 * @drive: NULL: whichever has @extent; both NULL: any extent at all
 *
 * An extent that has to stay is not freed, zeroed, reused, granted, released by its holder or opened as a
 * member again, and its drive keeps its label.
 *
 * Return: 0; -EAGAIN and words: it stays until its device ends the I/O; -EIO and words: the kernel does not say.
 */
int abandoned_bars(const struct abandoned *a, const struct muuid *extent, const struct muuid *drive,
		   char why[MGMT_REASON]);
/* The same by the kernel's list of now. */
int abandoned_bars_now(const struct muuid *extent, const struct muuid *drive, char why[MGMT_REASON]);

/* "drive X (/dev/X) has not ended 3 I/O that were given up" */
void abandoned_words(const struct meshblk_abandoned *io, char out[MGMT_REASON]);
/* Whether the kernel has the device at @path open for such I/O alone, as a member on @drive. */
bool abandoned_at(const char *path, const struct muuid *drive);

/* By the reconciler's thread, with the list of each pass: log what is new in it, and what is over. */
void abandoned_pass(const struct abandoned *now);
/*
 * What was left undone because of such I/O is done when it is over: abandoned_owe() notes that there is
 * something, as abandoned_pass() does when I/O of the volume comes to its end.
 */
void abandoned_owe(const struct muuid *volume);
/* Whether something is noted, and by @now the volume has no such I/O. */
bool abandoned_over(const struct abandoned *now, const struct muuid *volume);
void abandoned_settled(const struct muuid *volume);

#endif
