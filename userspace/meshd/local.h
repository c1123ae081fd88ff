/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Local drives: block devices of this host that volumes of this host use without RDMA.
 *
 *   bdev:/dev/disk/by-id/X --probed, labelled--> local drive --allocate--> one extent --free--> device
 *                                                 (struct tdrive)
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
#include "userspace/meshd/volume.h"

/*
 * @names: drives as typed, or NULL. @out: a new list, where local ones have the UUID that their
 * devices had or were given. @force: what a device carries is erased. local_end() it whatever is
 * returned: what is labelled then, and has no extent, is given back. -1 after req_fail().
 */
int local_begin(struct req *r, const json_t *names, bool force, json_t **out);
void local_end(json_t *names);

/* Every now and then: local drives that nothing has or is to have a part of are devices again. */
void local_tidy(void);

/* Whether members of one group would be parts of one disk: -1 after req_fail(). */
int local_apart(struct req *r, const struct layout *l);

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

/* Whether this host's kernel has the device at @path open as a member on @drive. */
bool local_held(const char *path, const struct muuid *drive);
/* Whether it has that extent, open or away. */
bool local_opens(const struct muuid *extent);

/* Whether the kernel does without a local drive that is here again. */
bool local_returned(const struct meshblk_volume *k);
/* Have it open such drives. */
int local_reopen(struct store_volume *v, const struct layout *l, char *why);

#endif
