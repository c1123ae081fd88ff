/* SPDX-License-Identifier: GPL-2.0-only */
/* Volumes with redundancy as the reconciler saw them last: what changed is an event. */
#ifndef MESHD_WATCH_H
#define MESHD_WATCH_H

#include "userspace/meshd/volume.h"

/* By the reconciler's thread alone, once a pass for each volume that the kernel has. */
void watch_volume(const struct store_volume *v, const struct meshblk_volume *k, u64 now);
/* After each pass: volumes that were not in it are forgotten. */
void watch_done(void);
/*
 * When a member went out, as this meshd saw it, on the clock of now_ms(); 0: it is not out. Of the
 * reconciler's thread, too.
 */
u64 watch_out_since(const struct muuid *volume, const struct muuid *extent);
/* "member 2 (drive ..., host ...)" of a layout. */
void watch_words(const struct layout *l, u32 member, char *out, size_t size);

#endif
