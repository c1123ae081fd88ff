/* SPDX-License-Identifier: GPL-2.0-only */
/* Layout records on this host's drives, read and written; any thread reads. */
#ifndef MESHD_RECORDS_H
#define MESHD_RECORDS_H

#include "userspace/meshd/serve.h"

/* record_put.c */

/* One copy at byte @at. @buf: LAYOUT_COPY_BYTES bytes, aligned. As layout_decode(), or -EIO. */
int record_read(int fd, u64 at, void *buf, struct layout *l);
/* Which copy is the record that the label means, or -ENODATA, -EIO: a copy cannot be read. */
int record_counts(int fd, const struct label_extent *e, void *buf, struct layout *l);

#endif
