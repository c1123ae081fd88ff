/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Labels to and from both ends of a drive (userspace/format/label.h).
 *
 * A drive has one writer. Before each write what is on the drive is compared with what was written
 * last: a label that was written elsewhere is not touched again.
 */
#ifndef MACHINE_LABEL_IO_H
#define MACHINE_LABEL_IO_H

#include "userspace/format/label.h"

/* What is known of the two copies on a drive. */
struct label_disk {
	struct label_disk_head head[2];	/* as they were written or read last */
	bool	known[2];		/* ... and that succeeded */
	u64	tried;			/* the highest sequence that was ever written */
};

/*
 * Read the better copy of a drive's label, the second one at the end that the first one names: a device
 * may have grown since, to @size. @disk: set to what is on the drive, for label_write(). @err: what
 * each copy is. Return: as label_decode(), or -EUCLEAN with both copies good: of two drives.
 */
int label_read(int fd, u64 size, struct label *l, struct label_disk *disk, int err[2]);
/*
 * Write both copies, the first durable before the second is begun. @disk: what is known of them;
 * noted before and after. @err: what became of each copy. Return: 0 when at least one is durable;
 * -EBADE: they are not what was written last, nothing was written; another errno: none may be
 * durable.
 */
int label_write(int fd, const struct label *l, struct label_disk *disk, int err[2]);
/*
 * Write a label whose size is above @was, that of both copies: the second copy at its new end, then the
 * first, then the former end is wiped. A crash in between leaves one label that label_read() finds.
 * Before it, label_same(). @err, return: as label_write(); -EINVAL: less than LABEL_AREA more.
 */
int label_grow(int fd, const struct label *l, u64 was, struct label_disk *disk, int err[2]);
/*
 * Whether they are what was written or read last: 0, -EBADE, or -EIO: neither can be read.
 * A copy that is damaged beside a good one is not known any more.
 */
int label_same(int fd, const struct label *l, struct label_disk *disk);
/* Neither copy is one any more. */
int label_wipe(int fd, u64 size);
/* The same for a drive without extents: nothing shows any more that it was one. */
int label_forget(int fd, u64 size);
/*
 * All that label_forget() and label_write() may change, malloc()ed; NULL: it cannot be read. Written
 * again, the device is what it was.
 */
void *label_ends_read(int fd, u64 size);
int label_ends_write(int fd, u64 size, const void *ends);

#ifdef MESHD_CRASH_POINTS
/* Of a test build, which defines it: copy 0 is written, copy 1 not. */
void label_first_written(void);
#else
static inline void label_first_written(void)
{
}
#endif

#endif
