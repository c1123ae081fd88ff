/* SPDX-License-Identifier: GPL-2.0-only */
/* Labels in memory: of the agent, and of the disk, whose numbers grants write. Pure. */
#ifndef DAEMON_DISK_LABEL_H
#define DAEMON_DISK_LABEL_H

#include "userspace/format/label.h"

/**
 * disk_label_merge() - what the agent wants, with what others wrote meanwhile
 * @want: made from an older state of @now; becomes what is to be written
 *
 * Number and attacher are always those of @now: grants write them, and a grant that was answered
 * must not be undone. Zeroes that were written stay known, and so does the size. Pure.
 */
void disk_label_merge(struct label *want, const struct label *now);

/* True if two labels are equal but for their sequence. */
bool disk_label_equal(const struct label *a, const struct label *b);

#endif
