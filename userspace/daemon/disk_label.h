/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Labels to and from both ends of a drive (userspace/format/label.h).
 *
 * A drive has one writer. Before each write what is on the drive is compared with what was written
 * last: a label that was written elsewhere is not touched again.
 */
#ifndef DAEMON_DISK_LABEL_H
#define DAEMON_DISK_LABEL_H

#include "userspace/format/label.h"

/* The two copies on a drive, as far as they are known. */
struct disk_label {
	struct label_disk_head head[2];	/* as they were written or read last */
	bool	known[2];		/* ... and that succeeded */
	u64	tried;			/* the highest sequence that was ever written */
};

/*
 * Read the better copy of a drive's label. @on: set to what is on the drive, for disk_label_write().
 * @err: what each copy is. Return: as label_decode(), or -EUCLEAN with both copies good: of two
 * drives; -EIO; -ENOMEM.
 */
int disk_label_read(int fd, u64 size, struct label *l, struct disk_label *on, int err[2]);

/*
 * Write both copies, the first durable before the second is begun. @on: what is known of them;
 * noted before and after. @err: what became of each copy. Return: 0 when at least one is durable;
 * -EBADE: they are not what was written last, nothing was written; another errno: none may be
 * durable.
 */
int disk_label_write(int fd, const struct label *l, struct disk_label *on, int err[2]);

/*
 * 0: they are what was written or read last; -EBADE; -EIO: neither can be read. A copy that is
 * damaged beside a good one is not known any more.
 */
int disk_label_same(int fd, const struct label *l, struct disk_label *on);

/* Nothing shows any more that the device was a drive: both copies, and records in a first extent. */
int disk_label_forget(int fd, u64 size);

/**
 * disk_label_merge() - what the agent wants, with what others wrote meanwhile
 * @want: made from an older state of @now; becomes what is to be written
 *
 * Number and attacher are always those of @now: grants write them, and a grant that was answered
 * must not be undone. Zeroes that were written stay known. Pure.
 */
void disk_label_merge(struct label *want, const struct label *now);

/* True if two labels are equal but for their sequence. */
bool disk_label_equal(const struct label *a, const struct label *b);

#endif
