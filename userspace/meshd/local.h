/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Local drives: block devices of this host that volumes of this host use without RDMA.
 *
 *   bdev:/dev/disk/by-id/X --probed--> candidate --planned, labelled--> local drive --allocate--> one extent
 *                                                                      (struct tdrive)      --free--> device
 *
 * Such a drive is a drive of this host in all but one thing: the target's kernel does not get it,
 * so no other host reaches it. The client's kernel opens its device alone, by the path that the
 * drive has now, and checks the label then. What that kernel is to have noted in the label, which
 * the target's kernel requests for exported drives, is requested here. With its extent the label
 * goes, too, and the device is what it was before, without its content.
 */
#ifndef MESHD_LOCAL_H
#define MESHD_LOCAL_H

#include "userspace/meshd/control.h"
#include "userspace/meshd/drive.h"
#include "userspace/meshd/export.h"
#include "userspace/meshd/volume.h"

/* What a command names. */
struct locals {
	struct segment_req q;	/* its drives are named by UUID where they are local ones */
	struct probe *p;	/* devices without a label; as the drives that they are to be */
	size_t	n;
};

/*
 * @q: its drives as typed, or none. Nothing is written: devices that are no drives yet are candidates
 * with the UUIDs that they get. local_end() it whatever is returned. -1 after req_fail().
 */
int local_begin(struct req *r, const struct segment_req *q, struct locals *of);
/* Whether members of one group would be parts of one disk: -1 after req_fail(). */
int local_apart(struct req *r, const struct locals *of, const struct layout *l);
/*
 * Label those that the plan @l uses; what they carry is erased. They are given back, when they have no
 * extent at local_end(). -1 after req_fail().
 */
int local_label(struct req *r, struct locals *of, const struct layout *l);
void local_end(struct locals *of);

/* Every now and then: local drives that nothing has or is to have a part of are devices again. */
void local_tidy(void);

/*
 * Where a local drive is, into @path; "": it is not here, or does not do. For writing, this host is
 * noted in the label as holder first. -ESTALE, -EAGAIN and words: its label does not allow that;
 * -EBUSY and words: something else on this host has it open alone.
 */
int local_hold(const struct meshblk_member *m, bool readonly, char *path, size_t size, char *why);
/*
 * Note the attach numbers of groups in the labels of their local members: before anything is written
 * for exported ones, which hosts may take from one another, and soon after for these.
 */
void local_note(const struct meshblk_volume *k);

/*
 * Whether this host's kernel has the device at @path open, as a member on @drive or for I/O of one that
 * has not ended.
 */
bool local_held(const char *path, const struct muuid *drive);
/* Whether it has that extent, open or away. */
bool local_opens(const struct muuid *extent);

/* Whether the kernel does without a local drive that is here again. */
bool local_returned(const struct meshblk_volume *k);
/* Have it open such drives. */
int local_reopen(struct store_volume *v, const struct layout *l, char *why);

#endif
