/* SPDX-License-Identifier: GPL-2.0-only */
/* Members that are lost, and replaced without a command. */
#ifndef MESHD_SPARE_H
#define MESHD_SPARE_H

#include "userspace/meshd/volume.h"

/* Whether one more of its members may be replaced so. */
bool spare_allowed(const struct layout *l);
/**
 * spare_due() - the member that is to be replaced now
 * @since: of each member of the volume, when it went out on the clock of @now; 0: it is not out
 *
 * One at a time: none while another is given data, or waits for its place, or a group is scrubbed. The group that lacks
 * most members comes first, and in it the member that has been out longest.
 *
 * Return: its index, or MESH_NO_MEMBER.
 */
u32 spare_due(const struct meshblk_volume *k, const u64 *since, u64 now, u64 delay_ms);
/* By the reconciler's thread, after watch_volume(): begin what is due. */
void spare_check(const struct store_volume *v, const struct meshblk_volume *k, u64 now);
/* After each pass: volumes that were not in it are forgotten. */
void spare_done(void);
/* Drives may have come: what was not to be had may be now. From any thread. */
void spare_again(void);

#endif
