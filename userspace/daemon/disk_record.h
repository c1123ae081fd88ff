/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layout records in extents (userspace/format/layout.h): two copies, of which the one with the highest
 * version counts, if its checksum is right and it is of the extent's volume.
 *
 *   label: n       copies: n, n     disk_record_put(n + 1): over the copy that is not the label's
 *   label: n       copies: n, n+1   the agent rolls the label
 *   label: n + 1   copies: n, n+1   disk_record_both(): over the other one
 */
#ifndef DAEMON_DISK_RECORD_H
#define DAEMON_DISK_RECORD_H

#include "userspace/format/label.h"
#include "userspace/format/layout.h"

/* -ENODATA: no copy is a record of its volume; -EIO: a copy cannot be read, and no other is; -ENOMEM. */
int disk_record_head(int fd, const struct label_extent *e, struct layout_head *head);
/* The same, but the whole of it. */
int disk_record_get(int fd, const struct label_extent *e, struct layout *out);
/* Durable when it returns; the copy that the label names is left. */
int disk_record_put(int fd, const struct label_extent *e, const struct layout *l);
/* Both copies are the one that the label names. */
int disk_record_both(int fd, const struct label_extent *e);

#endif
